//! Versioned keys in the engine's files.

use std::path::Path;
use std::sync::Arc;

use esker::{Db, FilterPolicy, Options, ReadOptions};
use mvcc::{MvccKey, Timestamp};
use vfs::MemFs;

fn key(user_key: &[u8], wall: i64) -> Vec<u8> {
    let timestamp = Timestamp::from_nanos(wall);
    MvccKey { user_key, timestamp }.encode()
}

fn options() -> Options {
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    mvcc::configure(&mut options.column_family);
    options
}

/// Seeks find versions in their order over memtables and files, and the filters over prefixes keep seeks
/// within a user key out of files that do not have it.
#[test]
fn versions_lie_in_files_from_new_to_old() {
    let mut options = options();
    options.fs = Arc::new(MemFs::new());
    options.column_family.table.filter_policy = FilterPolicy::Bloom(10.0);
    options.column_family.table.block_size = 256;
    let db = Db::open(&options, Path::new("/db")).unwrap();
    for wall in 1..=50 {
        for name in ["a", "b", "d"] {
            db.put(key(name.as_bytes(), wall), wall.to_be_bytes()).unwrap();
        }
    }
    db.flush().unwrap();
    let mut iter = db.iter_opt(&ReadOptions {
        prefix_same_as_start: true,
        ..ReadOptions::default()
    });
    for name in ["a", "b", "d"] {
        iter.seek(&key(name.as_bytes(), 0));
        for wall in (1..=50).rev() {
            assert_eq!(iter.key(), key(name.as_bytes(), wall));
            iter.next();
        }
        assert!(!iter.valid(), "the prefix ends with the user key");
        iter.seek(&key(name.as_bytes(), 20));
        assert_eq!(iter.value(), 20i64.to_be_bytes());
    }
    iter.seek(&key(b"c", 0));
    assert!(!iter.valid());
    iter.status().unwrap();
    drop(iter);
    drop(db);
    options.column_family.comparator = esker::UserComparator::Bytewise;
    assert!(
        Db::open(&options, Path::new("/db")).is_err(),
        "another order is refused"
    );
}
