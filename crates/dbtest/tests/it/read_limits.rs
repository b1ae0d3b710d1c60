//! Reads that stop early: after a deadline, after a number of bytes; and reads that ignore range deletions.

use std::sync::Arc;
use std::time::Duration;

use dbtest::by_hand::flush;
use esker::{Clock, Db, ErrorKind, ManualClock, Options, ReadOptions, WriteOptions};
use vfs::MemFs;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:04}").into_bytes()
}

fn open() -> (Db, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    clock.advance(Duration::from_secs(1_500_000_000));
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        clock: clock.clone(),
        ..Options::default()
    };
    (Db::open(&options, "/db").unwrap(), clock)
}

#[test]
fn after_the_deadline_tables_are_not_searched_and_iterators_stand_nowhere() {
    let (db, clock) = open();
    let family = db.default_column_family();
    for number in 0..100 {
        db.put(&key(number), b"in a table").unwrap();
    }
    flush(&db);
    db.put(&key(5), b"in memory").unwrap();
    let deadline = Duration::from_micros(clock.unix_micros() + 1000);
    let options = ReadOptions {
        deadline: Some(deadline),
        ..ReadOptions::default()
    };
    let timed_out = |error: esker::Error| assert_eq!(error.kind(), ErrorKind::TimedOut);
    let mut iter = db.iter(&options);
    iter.seek(&key(10));
    iter.next();
    iter.prev();
    assert_eq!(iter.key(), key(10));
    let keys: Vec<Vec<u8>> = (0..100).map(key).collect();
    assert!(db.multi_get(&options, &family, &keys).iter().all(Result::is_ok));
    clock.advance(Duration::from_micros(1000));
    assert!(
        db.get_opt(&options, &family, &key(1)).is_ok(),
        "it is the last moment"
    );
    clock.advance(Duration::from_micros(1));
    timed_out(db.get_opt(&options, &family, &key(1)).unwrap_err());
    timed_out(db.get_entity(&options, &family, &key(1)).unwrap_err());
    let found = db.get_opt(&options, &family, &key(5)).unwrap();
    assert_eq!(found.unwrap(), b"in memory", "no table was asked");
    iter.next();
    assert!(!iter.valid());
    timed_out(iter.status().unwrap_err());
    iter.seek(&key(1));
    timed_out(iter.status().unwrap_err());
    let found = db.multi_get(&options, &family, &keys);
    found.into_iter().for_each(|found| timed_out(found.unwrap_err()));
    // An iterator of a snapshot, which also checks for newer super versions.
    let later = ReadOptions {
        deadline: Some(deadline + Duration::from_secs(1)),
        snapshot: Some(db.snapshot()),
        ..ReadOptions::default()
    };
    let mut iter = db.iter(&later);
    iter.seek_to_last();
    flush(&db);
    iter.prev();
    assert_eq!(iter.key(), key(98));
    clock.advance(Duration::from_secs(2));
    iter.prev();
    timed_out(iter.status().unwrap_err());
}

#[test]
fn a_multi_get_gives_up_after_so_many_bytes() {
    let (db, _) = open();
    let family = db.default_column_family();
    for number in 0..100 {
        db.put(&key(number), &[7; 10]).unwrap();
    }
    flush(&db);
    // The keys are requested in descending order; the limit applies in their sort order.
    let keys: Vec<Vec<u8>> = (0..100).rev().map(key).collect();
    for (limit, read) in [
        (0, 1),
        (9, 1),
        (10, 2),
        (495, 50),
        (989, 99),
        (990, 100),
        (5000, 100),
    ] {
        let options = ReadOptions {
            value_size_soft_limit: limit,
            ..ReadOptions::default()
        };
        let found = db.multi_get(&options, &family, &keys);
        for (at, found) in found.into_iter().rev().enumerate() {
            match found {
                Ok(value) => assert!(at < read && value.is_some(), "{limit}: {at}"),
                Err(error) => {
                    assert!(at >= read, "{limit}: {at}");
                    assert_eq!(error.kind(), ErrorKind::Aborted);
                }
            }
        }
    }
}

#[test]
fn range_deletions_can_be_ignored() {
    let (db, _) = open();
    let family = db.default_column_family();
    let write = WriteOptions::default();
    let ignoring = ReadOptions {
        ignore_range_deletions: true,
        ..ReadOptions::default()
    };
    let rows = |options: &ReadOptions| {
        let mut iter = db.iter(options);
        let mut keys = Vec::new();
        iter.seek_to_first();
        while iter.valid() {
            keys.push(iter.key().to_vec());
            iter.next();
        }
        iter.status().unwrap();
        let mut back = Vec::new();
        iter.seek_to_last();
        while iter.valid() {
            back.push(iter.key().to_vec());
            iter.prev();
        }
        back.reverse();
        assert_eq!(keys, back);
        keys
    };
    let tailing = ReadOptions {
        tailing: true,
        ..ignoring.clone()
    };
    let mut tail = db.iter(&tailing);
    let all: Vec<Vec<u8>> = (0..20).map(key).collect();
    for number in 0..20 {
        db.put(&key(number), b"value").unwrap();
    }
    flush(&db);
    db.compact_range(&family, &esker::CompactRangeOptions::default(), None, None)
        .unwrap();
    // The snapshot makes compactions keep rows and tombstones.
    let _held = db.snapshot();
    // The tombstones are first over a level, then in L0, then in memory.
    for round in 0..3 {
        db.delete_range(&write, &family, &key(round * 5), &key(round * 5 + 7))
            .unwrap();
        assert_eq!(rows(&ignoring), all);
        tail.seek(&key(round * 5));
        assert_eq!(tail.key(), key(round * 5));
        assert_eq!(rows(&ReadOptions::default()).len(), 13 - 5 * round as usize);
        let found = db.multi_get(&ignoring, &family, &all);
        for (key, found) in all.iter().zip(found) {
            assert!(found.unwrap().is_some());
            assert!(db.get_opt(&ignoring, &family, key).unwrap().is_some());
        }
        assert_eq!(db.get(&key(round * 5)).unwrap(), None);
        if round < 2 {
            flush(&db);
        }
    }
    flush(&db);
    db.compact_range(&family, &esker::CompactRangeOptions::default(), None, None)
        .unwrap();
    assert_eq!(rows(&ignoring), all, "with the tombstones in a level");
    assert_eq!(rows(&ReadOptions::default()).len(), 3);
}
