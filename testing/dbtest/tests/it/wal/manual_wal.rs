//! The WAL under control of the user: `manual_wal_flush`, `flush_wal`, `sync_wal`, `lock_wal`.

use std::sync::Arc;

use base::env::Rng;
use dbtest::crash::{any_loss, dump};
use esker::{ColumnFamilyOptions, Db, Options, WriteOptions};
use vfs::{FileSystem, LogFs, MemFs};

const DIR: &str = "/db";

fn options(fs: Arc<dyn FileSystem>) -> Options {
    Options {
        create_if_missing: true,
        manual_wal_flush: true,
        fs,
        listeners: vec![Arc::new(dbtest::events::NoAutoRecovery)],
        ..Options::default()
    }
}

fn key(number: u32) -> Vec<u8> {
    format!("key{number:05}").into_bytes()
}

fn put(db: &Db, from: u32, to: u32) {
    (from..to).for_each(|number| db.put(key(number), b"value").unwrap());
}

/// The number of keys that survived a crash; they must be a prefix of the written ones.
fn survivors(fs: MemFs) -> u32 {
    let db = Db::open(&options(Arc::new(fs)), DIR).unwrap();
    let rows = dump(&db).unwrap().remove("default").unwrap();
    let count = rows.len() as u32;
    assert!(
        (0..count).all(|number| rows.contains_key(&key(number))),
        "a hole before {count}"
    );
    count
}

#[test]
fn what_is_not_flushed_dies_with_the_process() {
    let mem = MemFs::new();
    let log = LogFs::new(Arc::new(mem.clone()), DIR).with_appends();
    let db = Db::open(&options(Arc::new(log.clone())), DIR).unwrap();
    let appends = || {
        log.take()
            .lines()
            .filter(|line| line.starts_with("append") && line.contains(".log"))
            .count()
    };
    appends();
    put(&db, 0, 100);
    assert_eq!(appends(), 0, "nothing is written");
    assert_eq!(survivors(mem.process_death_clone()), 0);
    db.flush_wal(false).unwrap();
    assert_eq!(appends(), 1);
    assert_eq!(survivors(mem.process_death_clone()), 100);
    put(&db, 100, 150);
    db.flush_wal(false).unwrap();
    db.flush_wal(false).unwrap();
    assert_eq!(appends(), 1, "the second has nothing to do");
    // A write with sync also syncs all writes before it.
    put(&db, 150, 200);
    let synced = WriteOptions {
        sync: true,
        ..WriteOptions::default()
    };
    db.put_cf_opt(&db.default_column_family(), key(200), b"value", &synced)
        .unwrap();
    let mut rng = testkit::rng();
    for _ in 0..20 {
        assert_eq!(survivors(any_loss(&mem, &mut Rng::with_seed(rng.u64(..)))), 201);
    }
    put(&db, 201, 300);
    db.close().unwrap();
    assert_eq!(survivors(mem), 300, "a close loses nothing");
}

/// Flushes of memtables sync WALs, but not the contents of the buffer.
#[test]
fn syncs_make_durable_what_was_not_flushed() {
    let mut rng = testkit::rng();
    for by_hand in [false, true] {
        let mem = MemFs::new();
        let db = Db::open(&options(Arc::new(mem.clone())), DIR).unwrap();
        let other = db
            .create_column_family("other", &ColumnFamilyOptions::default())
            .unwrap();
        let mut next = 0;
        for _ in 0..30 {
            let upto = next + rng.u32(1..5);
            put(&db, next, upto);
            next = upto;
            db.put_cf(&other, b"a", b"1").unwrap();
            db.flush_cf(std::slice::from_ref(&other)).unwrap();
            put(&db, next, next + 1);
            next += 1;
            if by_hand {
                db.flush_wal(false).unwrap();
            }
            db.sync_wal().unwrap();
            let left = any_loss(&mem, &mut Rng::with_seed(rng.u64(..)));
            assert_eq!(survivors(left), next);
        }
    }
}
