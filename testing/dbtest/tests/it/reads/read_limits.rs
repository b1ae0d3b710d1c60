//! Reads that stop early, after a deadline or a timeout, and rows that iterators keep in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dbtest::by_hand::flush;
use esker::{Clock, Db, ErrorKind, ManualClock, Options, ReadOptions};
use vfs::{Call, FileSystem, Layer, MemFs, RandomAccessFile, read_timeout};

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
        db.put(key(number), b"in a table").unwrap();
    }
    flush(&db);
    db.put(key(5), b"in memory").unwrap();
    let deadline = Duration::from_micros(clock.unix_micros() + 1000);
    let options = ReadOptions {
        deadline: Some(deadline),
        ..ReadOptions::default()
    };
    let timed_out = |error: esker::Error| assert_eq!(error.kind(), ErrorKind::TimedOut);
    let mut iter = db.iter_opt(&options);
    iter.seek(&key(10));
    iter.next();
    iter.prev();
    assert_eq!(iter.key(), key(10));
    let keys: Vec<Vec<u8>> = (0..100).map(key).collect();
    assert!(
        db.multi_get_cf_opt(&family, &keys, &options)
            .iter()
            .all(Result::is_ok)
    );
    clock.advance(Duration::from_micros(1000));
    assert!(
        db.get_cf_opt(&family, key(1), &options).is_ok(),
        "it is the last moment"
    );
    clock.advance(Duration::from_micros(1));
    timed_out(db.get_cf_opt(&family, key(1), &options).unwrap_err());
    timed_out(db.get_entity_cf_opt(&family, &key(1), &options).unwrap_err());
    let found = db.get_cf_opt(&family, key(5), &options).unwrap();
    assert_eq!(found.unwrap(), b"in memory", "no table was asked");
    iter.next();
    assert!(!iter.valid());
    timed_out(iter.status().unwrap_err());
    iter.seek(&key(1));
    timed_out(iter.status().unwrap_err());
    let found = db.multi_get_cf_opt(&family, &keys, &options);
    found.into_iter().for_each(|found| timed_out(found.unwrap_err()));
    // An iterator over a snapshot also checks for newer super versions as it moves.
    let later = ReadOptions {
        deadline: Some(deadline + Duration::from_secs(1)),
        snapshot: Some(db.snapshot()),
        ..ReadOptions::default()
    };
    let mut iter = db.iter_opt(&later);
    iter.seek_to_last();
    flush(&db);
    iter.prev();
    assert_eq!(iter.key(), key(98));
    clock.advance(Duration::from_secs(2));
    iter.prev();
    timed_out(iter.status().unwrap_err());
}

/// A file system whose reads of tables take three seconds, unless they are given up before.
#[derive(Clone, Debug)]
struct Slow {
    inner: Arc<dyn FileSystem>,
    given_up: Arc<AtomicU64>,
}

impl Layer for Slow {
    fn below(&self) -> &dyn FileSystem {
        &*self.inner
    }

    fn around<T>(&self, _call: &Call<'_>, perform: impl FnOnce() -> base::Result<T>) -> base::Result<T> {
        perform()
    }

    fn read(
        &self,
        _call: &Call<'_>,
        file: &dyn RandomAccessFile,
        offset: u64,
        buf: &mut [u8],
    ) -> base::Result<usize> {
        match read_timeout() {
            Some(timeout) if timeout < Duration::from_secs(3) => {
                self.given_up.fetch_add(1, Ordering::Relaxed);
                Err(esker::Error::new(ErrorKind::TimedOut, "a slow read"))
            }
            _ => file.read_at(offset, buf),
        }
    }
}

#[test]
fn a_file_system_learns_the_timeout_of_each_read() {
    let slow = Slow {
        inner: Arc::new(MemFs::new()),
        given_up: Arc::default(),
    };
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(slow.clone()),
        ..Options::default()
    };
    options.column_family.table.no_block_cache = true;
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    (0..100).for_each(|number| db.put(key(number), b"in a table").unwrap());
    flush(&db);
    db.get(key(1)).unwrap();
    let patient = |seconds| ReadOptions {
        io_timeout: Some(Duration::from_secs(seconds)),
        ..ReadOptions::default()
    };
    let timed_out = |error: esker::Error| assert_eq!(error.kind(), ErrorKind::TimedOut);
    timed_out(db.get_cf_opt(&family, key(1), &patient(1)).unwrap_err());
    timed_out(
        db.multi_get_cf_opt(&family, &[key(1)], &patient(1))
            .remove(0)
            .unwrap_err(),
    );
    let mut iter = db.iter_opt(&patient(1));
    iter.seek(&key(1));
    assert!(!iter.valid());
    timed_out(iter.status().unwrap_err());
    assert!(slow.given_up.load(Ordering::Relaxed) >= 3);

    // The timeout does not apply to later reads of the thread; a read with a longer timeout succeeds.
    assert!(db.get(key(1)).unwrap().is_some());
    let mut iter = db.iter_opt(&patient(9));
    iter.seek(&key(1));
    iter.next();
    assert_eq!(iter.key(), key(2));
}

#[test]
fn pinned_rows_stay_where_they_are() {
    let mut rng = testkit::rng();
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    options.column_family.merge_operator = base::merge::builtin("stringappend");
    options.column_family.enable_blob_files = true;
    options.column_family.min_blob_size = 30;
    options.column_family.table.block_size = 200;
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    for number in 0..300 {
        let len = rng.usize(..50);
        match rng.u32(..3) {
            0 => db.merge_cf(&family, key(number), b"operand").unwrap(),
            _ => db.put(key(number), rng.bytes(len)).unwrap(),
        }
        if number % 100 == 50 {
            flush(&db);
        }
    }
    let property = |iter: &esker::DbIterator, name: &str| {
        let property = iter.property(&format!("rocksdb.iterator.{name}"));
        String::from_utf8(property.unwrap()).unwrap()
    };
    for pin_data in [false, true] {
        let read = ReadOptions {
            pin_data,
            allow_unprepared_value: rng.bool(),
            ..ReadOptions::default()
        };
        let mut plain = db.iter();
        let mut iter = db.iter_opt(&read);
        assert_eq!(property(&iter, "is-key-pinned"), "Iterator is not valid.");
        assert_eq!(
            iter.property("other").unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
        let mut rows: Vec<(*const u8, *const u8)> = Vec::new();
        plain.seek_to_first();
        iter.seek_to_first();
        for _ in 0..400 {
            match rng.u32(..6) {
                0 => {
                    let sought = key(rng.u32(..300));
                    plain.seek(&sought);
                    iter.seek(&sought);
                }
                1 | 2 => {
                    plain.prev();
                    iter.prev();
                }
                _ => {
                    plain.next();
                    iter.next();
                }
            }
            if !plain.valid() {
                assert!(!iter.valid());
                plain.seek_to_first();
                iter.seek_to_first();
            }
            assert!(iter.prepare_value());
            assert_eq!((iter.key(), iter.value()), (plain.key(), plain.value()));
            assert_eq!(iter.value_pinned(), plain.value());
            let pinned = if pin_data { "1" } else { "0" };
            assert_eq!(property(&iter, "is-key-pinned"), pinned);
            assert_eq!(property(&iter, "is-value-pinned"), pinned);
            assert_eq!(
                iter.property("rocksdb.iterator.internal-key").unwrap(),
                plain.key()
            );
            rows.push((iter.key().as_ptr(), iter.value().as_ptr()));
        }
        // Rows that an iterator keeps in memory (`pin_data`) have different addresses.
        let keys: std::collections::BTreeSet<*const u8> = rows.iter().map(|row| row.0).collect();
        assert_eq!(keys.len() == rows.len(), pin_data);
    }
}
