//! What [`PosixFs`] does with disk space and pages, seen from outside.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use esker_vfs::{CreateOptions, FaultFs, FileSystem, LogFs, OpenOptions, PosixFs};

use crate::subjects::{disk_dir, memory_dir};

const LOG: CreateOptions = CreateOptions {
    log: true,
    direct: false,
    preallocate: 0,
    bytes_per_sync: 0,
};

/// Disk space in bytes.
fn space(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().blocks() * 512
}

#[test]
fn space_claimed_ahead_is_given_back() {
    let dir = disk_dir();
    let fs = PosixFs::new();
    let path = dir.path().join("file");
    for direct in [false, true] {
        let options = CreateOptions {
            direct,
            preallocate: 8 << 20,
            ..CreateOptions::default()
        };
        let Ok(mut file) = fs.create(&path, &options) else {
            continue;
        };
        file.append(&[1; 100_000]).unwrap();
        file.sync().unwrap();
        assert_eq!(fs.size(&path).unwrap(), 100_000);
        let claimed = space(&path);
        file.close().unwrap();
        if claimed >= 8 << 20 {
            assert!(space(&path) < 1 << 20, "{} bytes still claimed", space(&path));
        } else {
            eprintln!("skipped: this file system claims no space");
        }
    }
}

#[test]
fn a_log_in_memory_is_mapped_and_extended_ahead() {
    let Some(dir) = memory_dir() else { return };
    let path = dir.path().join("log");
    for (fs, ahead) in [(PosixFs::new(), true), (PosixFs::without_mapped_logs(), false)] {
        let mut file = fs.create(&path, &LOG).unwrap();
        file.append(&[1; 150]).unwrap();
        assert_eq!(fs.size(&path).unwrap() > 150, ahead);
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert_eq!(maps.contains(path.to_str().unwrap()), ahead);
        file.close().unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(!maps.contains(path.to_str().unwrap()));
    }
}

/// A log written to by turns through the mapping and by system calls is one file.
#[test]
fn syncs_and_long_appends_change_the_way_and_not_the_bytes() {
    let dir = disk_dir();
    let fs = PosixFs::new();
    let path = dir.path().join("log");
    let mut rng = testkit::rng();
    let mut file = fs.create(&path, &LOG).unwrap();
    let mut expected = Vec::new();
    for round in 0..300u32 {
        for _ in 0..rng.usize(..200) {
            let len = rng.usize(..400);
            let data = rng.bytes(len);
            file.append(&data).unwrap();
            expected.extend_from_slice(&data);
        }
        if round % 7 == 0 {
            let len = (64 << 10) + rng.usize(..200_000);
            let data = rng.bytes(len);
            file.append(&data).unwrap();
            expected.extend_from_slice(&data);
        }
        if round % 3 == 0 {
            file.sync().unwrap();
        }
    }
    file.close().unwrap();
    assert!(fs.read_file(&path).unwrap() == expected);
}

#[test]
fn wrappers_leave_the_disk_as_it_is() {
    let dir = disk_dir();
    let posix: Arc<dyn FileSystem> = Arc::new(PosixFs::new());
    let log = LogFs::new(Arc::new(FaultFs::new(posix.clone())), dir.path());
    let path = dir.path().join("file");
    log.write_file(&path, b"content").unwrap();
    assert_eq!(posix.read_file(&path).unwrap(), b"content");
    let options = OpenOptions {
        mmap: true,
        ..OpenOptions::default()
    };
    assert_eq!(
        posix.open_random(&path, &options).unwrap().mapped(),
        Some(&b"content"[..])
    );
    assert_eq!(log.take(), "create file\nsync file\nclose file\n");
}
