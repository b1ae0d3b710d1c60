//! The record of calls, as exact text.

use std::path::Path;
use std::sync::Arc;

use esker_vfs::{Access, CreateOptions, FileSystem, LogFs, MemFs, OpenOptions};

fn scenario(fs: &dyn FileSystem) {
    let dir = Path::new("/db");
    fs.create_dir_all(dir).unwrap();
    let _lock = fs.lock(&dir.join("LOCK")).unwrap();
    let options = CreateOptions {
        log: true,
        bytes_per_sync: 4096,
        strict_bytes_per_sync: true,
        ..CreateOptions::default()
    };
    let mut log = fs.create(&dir.join("000004.log"), &options).unwrap();
    log.append(b"record").unwrap();
    log.sync().unwrap();
    log.syncer().unwrap().sync().unwrap();
    fs.replace_file(&dir.join("CURRENT"), &dir.join("1.dbtmp"), b"MANIFEST-000001\n")
        .unwrap();
    log.close().unwrap();
    drop(
        fs.reuse(
            &dir.join("000004.log"),
            &dir.join("000009.log"),
            &CreateOptions::default(),
        )
        .unwrap(),
    );
    let options = OpenOptions {
        mmap: true,
        access: Access::Random,
        ..OpenOptions::default()
    };
    let file = fs.open_random(&dir.join("CURRENT"), &options).unwrap();
    file.read_at(3, &mut [0; 5]).unwrap();
    assert!(
        fs.open_random(&dir.join("000007.sst"), &OpenOptions::default())
            .is_err()
    );
    assert!(!fs.exists(Path::new("/elsewhere")).unwrap());
    fs.remove(&dir.join("000009.log")).unwrap();
}

#[test]
fn changes_opens_and_locks_are_recorded() {
    let fs = LogFs::new(Arc::new(MemFs::new()), "/db");
    scenario(&fs);
    assert_eq!(
        fs.take(),
        "\
create_dir .
lock LOCK
create 000004.log log bytes_per_sync=4096 strict_bytes_per_sync
sync 000004.log
sync 000004.log
create 1.dbtmp
sync 1.dbtmp
close 1.dbtmp
rename 1.dbtmp -> CURRENT
sync_dir .
close 000004.log
reuse 000004.log -> 000009.log
open CURRENT mmap random
open 000007.sst: NotFound
remove 000009.log
"
    );
    assert_eq!(fs.take(), "");
}

#[test]
fn more_is_recorded_if_asked_for() {
    let fs = LogFs::new(Arc::new(MemFs::new()), "/db")
        .with_appends()
        .with_queries();
    scenario(&fs);
    let text = fs.take();
    for line in [
        "append 000004.log 6\n",
        "append 1.dbtmp 16\n",
        "read CURRENT 3+5\n",
        "exists /elsewhere\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}
