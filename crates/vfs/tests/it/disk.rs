//! The use of disk space and pages by [`PosixFs`], seen from outside.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use esker_vfs::sync_together::BegunSync;
use esker_vfs::{CreateOptions, FaultFs, FileSystem, LogFs, OpenOptions, PosixFs, sync_together};

use crate::subjects::{disk_dir, memory_dir};

const LOG: CreateOptions = CreateOptions {
    log: true,
    direct: false,
    preallocate: 0,
    bytes_per_sync: 0,
    strict_bytes_per_sync: false,
    temperature: base::Temperature::UNKNOWN,
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
            assert!(direct, "not every file system writes past the page cache");
            testkit::skip("a file system with direct I/O");
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
            testkit::skip("a file system that claims space");
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

/// A reader of a reused log that was not closed comes from the data over zeros to the beginning of an old
/// block.
#[test]
fn old_bytes_follow_the_data_of_a_log_at_multiples_of_32_kib_alone() {
    const BLOCK: usize = 32 << 10;
    let mut rng = testkit::rng();
    for dir in [Some(disk_dir()), memory_dir()].into_iter().flatten() {
        for fs in [PosixFs::new(), PosixFs::without_mapped_logs()] {
            for longest in [300, 40_000, 200_000] {
                let (old, new) = (dir.path().join("old"), dir.path().join("new"));
                let old_len = rng.usize(0..2 << 20);
                fs.write_file(&old, &vec![0x55; old_len]).unwrap();
                let mut log = fs.reuse(&old, &new, &LOG).unwrap();
                let mut expected = Vec::new();
                let goal = rng.usize(0..1 << 20);
                while expected.len() < goal {
                    let data = vec![0xaa; rng.usize(1..longest)];
                    log.append(&data).unwrap();
                    expected.extend_from_slice(&data);
                    if rng.u8(..20) == 0 {
                        log.sync().unwrap();
                    }
                }
                drop(log);
                let bytes = fs.read_file(&new).unwrap();
                let (data, behind) = bytes.split_at(expected.len());
                assert!(data == expected);
                let zeros = behind.iter().take_while(|&&byte| byte == 0).count();
                let begin = data.len() + zeros;
                assert!(
                    begin == bytes.len() || data.is_empty() || begin.is_multiple_of(BLOCK),
                    "old bytes from {begin} on behind {} bytes of data",
                    data.len()
                );
                assert!(behind[zeros..].iter().all(|&byte| byte == 0x55));
            }
        }
    }
}

/// A log written alternately through the mapping and by system calls is one file.
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

#[test]
fn reading_leaves_the_time_of_last_access_as_it_is() {
    let dir = disk_dir();
    let fs = PosixFs::new();
    let path = dir.path().join("file");
    let mut file = fs.create(&path, &CreateOptions::default()).unwrap();
    file.append(&[1; 10_000]).unwrap();
    file.close().unwrap();
    // The access time is so old that a read would update it, if reads update it at all.
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let times = std::fs::FileTimes::new().set_accessed(long_ago);
    std::fs::File::open(&path).unwrap().set_times(times).unwrap();
    let reader = fs.open_random(&path, &OpenOptions::default()).unwrap();
    reader.read_exact_at(0, &mut [0; 100]).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().atime(), 1_000_000_000);
    std::fs::read(&path).unwrap();
    if std::fs::metadata(&path).unwrap().atime() == 1_000_000_000 {
        testkit::skip("a file system that keeps the time of the last access");
    }
}

/// Several threads sync the files of a disk, each result is returned once, and a file can be written on.
#[test]
fn files_are_synced_by_several_threads() {
    let dir = disk_dir();
    let fs = PosixFs::new();
    let create = |name: String, options: &CreateOptions| {
        let mut file = fs.create(&dir.path().join(name), options).unwrap();
        file.append(&[7; 5000]).unwrap();
        file.flush().unwrap();
        file
    };
    let mut files: Vec<_> = (0..40)
        .map(|at| create(format!("{at}"), &CreateOptions::default()))
        .collect();
    let syncers: Vec<_> = files.iter().map(|file| file.syncer().unwrap()).collect();
    assert!(syncers.iter().all(|file| file.clone().ahead().is_some()));
    let begun = syncers.iter().map(|file| BegunSync::begin(file.clone()));
    sync_together(begun.collect()).unwrap();
    for (file, syncer) in files.iter_mut().zip(&syncers) {
        file.append(b"more").unwrap();
        file.sync().unwrap();
        syncer.sync().unwrap();
        file.close().unwrap();
        // A file can be synced after its writer was closed.
        syncer.sync().unwrap();
    }
    // A log is not synced ahead together with other files, because threads write to it meanwhile.
    let mut log = create("log".to_owned(), &LOG);
    assert!(log.syncer().unwrap().ahead().is_none());
    log.close().unwrap();
}
