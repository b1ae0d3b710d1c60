//! The WAL under control of the user: `manual_wal_flush`, `flush_wal`, `sync_wal`, `lock_wal`.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;

use base::env::Rng;
use dbtest::by_hand::flush;
use dbtest::crash::{any_loss, dump};
use esker::{
    CheckpointOptions, ColumnFamilyOptions, Db, ErrorKind, IngestExternalFileOptions, Options, SstFileWriter,
    WriteOptions,
};
use testkit::{Task, receive};
use vfs::{Action, FaultFs, FileSystem, LogFs, MemFs, Op, Rule};

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

/// The buffer has one MiB: the oldest bytes beyond it are written to the kernel automatically.
#[test]
fn a_long_wait_for_a_flush_keeps_a_mebibyte_at_most() {
    let mem = MemFs::new();
    let db = Db::open(&options(Arc::new(mem.clone())), DIR).unwrap();
    let value = vec![7; 10_000];
    for number in 0..500 {
        db.put(key(number), &value).unwrap();
    }
    let survivors = survivors(mem.process_death_clone());
    assert!((390..500).contains(&survivors), "{survivors}");
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

#[test]
fn what_is_not_flushed_is_in_checkpoints() {
    let mem = MemFs::new();
    let db = Db::open(&options(Arc::new(mem.clone())), DIR).unwrap();
    put(&db, 0, 10);
    let logged = CheckpointOptions {
        log_size_for_flush: u64::MAX,
    };
    db.create_checkpoint("/checkpoint", &logged).unwrap();
    let copy = Db::open(&options(Arc::new(mem)), "/checkpoint").unwrap();
    assert_eq!(dump(&copy).unwrap(), dump(&db).unwrap());
}

#[test]
fn a_flush_of_the_wal_that_had_no_room_is_resumed_from() {
    for synced in [false, true] {
        let mem = MemFs::new();
        let faults = FaultFs::new(Arc::new(mem.clone()));
        let db = Db::open(&options(Arc::new(faults.clone())), DIR).unwrap();
        put(&db, 0, 50);
        let rule = Rule::new(Action::Fail(ErrorKind::NoSpace));
        faults.add(rule.on([Op::Append]).path_ends_with(".log"));
        if synced {
            let write = WriteOptions {
                sync: true,
                ..WriteOptions::default()
            };
            let error = db.put_cf_opt(&db.default_column_family(), b"never", b"", &write);
            assert_eq!(error.unwrap_err().kind(), ErrorKind::NoSpace);
        } else {
            assert_eq!(db.flush_wal(false).unwrap_err().kind(), ErrorKind::NoSpace);
        }
        assert_eq!(db.put(b"x", b"y").unwrap_err().kind(), ErrorKind::ReadOnly);
        assert_eq!(db.flush_wal(false).unwrap_err().kind(), ErrorKind::ReadOnly);
        db.resume().unwrap_err();
        faults.clear_rules();
        db.resume().unwrap();
        put(&db, 50, 60);
        db.flush_wal(true).unwrap();
        assert_eq!(survivors(mem.process_death_clone()), 60);
    }
}

#[test]
fn nobody_writes_while_the_wal_is_locked() {
    let mem = MemFs::new();
    let db = Db::open(&options(Arc::new(mem.clone())), DIR).unwrap();
    let family = db.default_column_family();
    assert_eq!(db.unlock_wal().unwrap_err().kind(), ErrorKind::Aborted);
    put(&db, 0, 10);
    db.lock_wal().unwrap();
    assert_eq!(
        survivors(mem.process_death_clone()),
        10,
        "what was written is flushed"
    );
    db.lock_wal().unwrap();
    let before = db.latest_sequence_number();
    let hurried = WriteOptions {
        no_slowdown: true,
        ..WriteOptions::default()
    };
    let error = db.put_cf_opt(&family, b"x", b"y", &hurried).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete);

    let path = Path::new("/outside.sst");
    let mut writer = SstFileWriter::new(&options(Arc::new(mem.clone())));
    writer.open(path).unwrap();
    writer.put(b"ingested", b"1").unwrap();
    writer.finish().unwrap();
    let (done, heard) = channel();
    let (begin, begun) = channel();
    std::thread::scope(|scope| {
        for number in 10..12 {
            let (db, done, begin) = (db.clone(), done.clone(), begin.clone());
            scope.spawn(move || {
                begin.send(Task::current()).unwrap();
                put(&db, number, number + 1);
                done.send(()).unwrap();
            });
        }
        let (ingesting, done) = (db.clone(), done.clone());
        scope.spawn(move || {
            begin.send(Task::current()).unwrap();
            let options = IngestExternalFileOptions::default();
            ingesting.ingest_external_file(&[path], &options).unwrap();
            done.send(()).unwrap();
        });
        // While the WAL is locked, operations other than writes continue.
        flush(&db);
        let logged = CheckpointOptions {
            log_size_for_flush: u64::MAX,
        };
        db.create_checkpoint("/checkpoint", &logged).unwrap();
        assert_eq!(db.get(key(3)).unwrap().unwrap(), b"value");
        let waiting: Vec<Task> = (0..3).map(|_| receive("a writer", &begun)).collect();
        waiting.iter().for_each(Task::wait_until_asleep);
        heard.try_recv().unwrap_err();
        db.unlock_wal().unwrap();
        waiting.iter().for_each(Task::wait_until_asleep);
        heard.try_recv().unwrap_err();
        assert_eq!(db.latest_sequence_number(), before);
        db.unlock_wal().unwrap();
        for _ in 0..3 {
            receive("the end of a write", &heard);
        }
    });
    assert_eq!(dump(&db).unwrap()["default"].len(), 13);
    assert_eq!(db.unlock_wal().unwrap_err().kind(), ErrorKind::Aborted);
}

#[test]
fn a_close_lets_those_go_who_wait_for_the_wal() {
    let db = Db::open(&options(Arc::new(MemFs::new())), DIR).unwrap();
    db.lock_wal().unwrap();
    std::thread::scope(|scope| {
        let writes = scope.spawn(|| db.put(b"x", b"y"));
        db.close().unwrap();
        writes.join().unwrap().unwrap_err();
    });
}
