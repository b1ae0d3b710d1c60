//! Filters that see WAL records during a recovery.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::sync::Mutex;
use dbtest::crash::dump;
use esker::{
    ColumnFamilyOptions, Db, Error, ErrorKind, Operation, Options, RecoveryMode, Result, WalFilter,
    WalProcessingOption, WriteBatch, WriteOptions,
};
use vfs::MemFs;

const DIR: &str = "/db";

/// The decision of a test's filter about a record, by its first key.
type Decide = dyn Fn(&[u8], &WriteBatch) -> Result<WalProcessingOption> + Send + Sync;

struct Filter {
    decide: Box<Decide>,
    seen: Mutex<Vec<String>>,
    families: Mutex<Vec<(String, u32, u64)>>,
}

impl Filter {
    fn new(
        decide: impl Fn(&[u8], &WriteBatch) -> Result<WalProcessingOption> + Send + Sync + 'static,
    ) -> Arc<Filter> {
        Arc::new(Filter {
            decide: Box::new(decide),
            seen: Mutex::default(),
            families: Mutex::default(),
        })
    }
}

fn first_key(batch: &WriteBatch) -> Vec<u8> {
    let rows = batch.operations().map(Result::unwrap);
    let mut keys = rows.filter_map(|row| match row {
        Operation::Put { key, .. } => Some(key.to_vec()),
        Operation::Commit { .. } => Some(b"commit".to_vec()),
        _ => None,
    });
    keys.next().unwrap_or_default()
}

impl WalFilter for Filter {
    fn name(&self) -> &str {
        "test.filter"
    }

    fn column_family_log_number_map(&self, log_numbers: &BTreeMap<u32, u64>, ids: &BTreeMap<String, u32>) {
        let families = ids.iter().map(|(name, id)| (name.clone(), *id, log_numbers[id]));
        *self.families.lock() = families.collect();
    }

    fn log_record_found(&self, number: u64, file: &str, batch: &WriteBatch) -> Result<WalProcessingOption> {
        assert!(file.ends_with(&format!("{number:06}.log")), "{file}");
        let key = first_key(batch);
        self.seen.lock().push(String::from_utf8_lossy(&key).into_owned());
        (self.decide)(&key, batch)
    }
}

fn options(fs: &MemFs) -> Options {
    Options {
        create_if_missing: true,
        avoid_flush_during_recovery: true,
        avoid_flush_during_shutdown: true,
        fs: Arc::new(fs.clone()),
        ..Options::default()
    }
}

fn with(fs: &MemFs, filter: &Arc<Filter>) -> Options {
    Options {
        wal_filter: Some(filter.clone()),
        ..options(fs)
    }
}

/// The keys of the default family.
fn keys(db: &Db) -> String {
    let rows = dump(db).unwrap().remove("default").unwrap();
    let keys = rows.keys().map(|key| String::from_utf8_lossy(key).into_owned());
    keys.collect()
}

/// A closed database with the rows a to f in two WALs, three each.
fn two_wals() -> MemFs {
    let fs = MemFs::new();
    for rows in ["abc", "def"] {
        let db = Db::open(&options(&fs), DIR).unwrap();
        for row in rows.bytes() {
            db.put([row], b"value").unwrap();
        }
        db.close().unwrap();
    }
    fs
}

#[test]
fn records_are_left_out_and_changed_for_good() {
    let fs = two_wals();
    let filter = Filter::new(|key, _| {
        Ok(match key {
            b"b" | b"f" => WalProcessingOption::IgnoreCurrentRecord,
            b"d" => {
                let mut other = WriteBatch::new();
                other.put(b"x", b"value");
                WalProcessingOption::ChangeBatch(other)
            }
            _ => WalProcessingOption::ContinueProcessing,
        })
    });
    let db = Db::open(&with(&fs, &filter), DIR).unwrap();
    assert_eq!(filter.seen.lock().concat(), "abcdef");
    assert_eq!(filter.families.lock().len(), 1);
    assert_eq!(keys(&db), "acex");
    // The sequence numbers of skipped rows must not be reused.
    let before = db.latest_sequence_number();
    db.put(b"g", b"value").unwrap();
    assert_eq!((before, db.latest_sequence_number()), (6, 7));
    db.close().unwrap();
    let db = Db::open(&options(&fs), DIR).unwrap();
    assert_eq!(keys(&db), "acegx");
}

#[test]
fn a_replay_that_is_stopped_leaves_the_rest_out_for_good() {
    for last in [b"c", b"e"] {
        let fs = two_wals();
        let filter = Filter::new(move |key, _| {
            Ok(match key == last {
                true => WalProcessingOption::StopReplay,
                false => WalProcessingOption::ContinueProcessing,
            })
        });
        let db = Db::open(&with(&fs, &filter), DIR).unwrap();
        let left: String = ('a'..char::from(last[0])).collect();
        assert_eq!(keys(&db), left);
        db.close().unwrap();
        let db = Db::open(&options(&fs), DIR).unwrap();
        assert_eq!(keys(&db), left);
    }
}

#[test]
fn a_record_that_is_called_damaged_is_treated_as_the_mode_says() {
    for (mode, left) in [
        (RecoveryMode::SkipAnyCorruptedRecords, Some("acdef")),
        (RecoveryMode::PointInTime, Some("a")),
        (RecoveryMode::AbsoluteConsistency, None),
        (RecoveryMode::TolerateCorruptedTailRecords, None),
    ] {
        let fs = two_wals();
        let filter = Filter::new(|key, _| {
            Ok(match key {
                b"b" => WalProcessingOption::CorruptedRecord,
                _ => WalProcessingOption::ContinueProcessing,
            })
        });
        let options = Options {
            wal_recovery_mode: mode,
            ..with(&fs, &filter)
        };
        match (Db::open(&options, DIR), left) {
            (Ok(db), Some(left)) => assert_eq!(keys(&db), left, "{mode:?}"),
            (Err(error), None) => {
                assert_eq!(error.kind(), ErrorKind::Corruption);
                assert!(error.message().contains("reported by Wal Filter : test.filter"));
            }
            (opened, _) => panic!("{mode:?}: {opened:?}"),
        }
    }
}

#[test]
fn a_filter_that_fails_fails_the_open_and_nothing_is_lost() {
    let fs = two_wals();
    let too_many = Filter::new(|_, batch| {
        let mut other = batch.clone();
        other.put(b"more", b"value");
        Ok(WalProcessingOption::ChangeBatch(other))
    });
    let error = Db::open(&with(&fs, &too_many), DIR).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    let failing = Filter::new(|_, _| Err(Error::invalid_argument("not this one")));
    let error = Db::open(&with(&fs, &failing), DIR).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let panicking = Filter::new(|_, _| panic!("test"));
    let error = Db::open(&with(&fs, &panicking), DIR).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert!(error.message().contains("test.filter"), "{error}");
    let db = Db::open(&options(&fs), DIR).unwrap();
    assert_eq!(keys(&db), "abcdef");
}

#[test]
fn an_open_for_reading_asks_it_and_changes_nothing() {
    let fs = two_wals();
    let filter = Filter::new(|key, _| {
        Ok(match key {
            b"f" => WalProcessingOption::IgnoreCurrentRecord,
            _ => WalProcessingOption::ContinueProcessing,
        })
    });
    let db = Db::open_read_only(&with(&fs, &filter), DIR).unwrap();
    assert_eq!(keys(&db), "abcde");
    drop(db);
    assert_eq!(keys(&Db::open(&options(&fs), DIR).unwrap()), "abcdef");
}

#[test]
fn families_are_told_with_the_wals_they_need() {
    let fs = two_wals();
    let db = Db::open(&options(&fs), DIR).unwrap();
    let other = db
        .create_column_family("other", &ColumnFamilyOptions::default())
        .unwrap();
    db.put_cf(&other, b"k", b"value").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let filter = Filter::new(|_, _| Ok(WalProcessingOption::ContinueProcessing));
    drop(Db::open(&with(&fs, &filter), DIR).unwrap());
    let families = filter.families.lock().clone();
    let names: Vec<(&str, u32)> = families.iter().map(|(name, id, _)| (&name[..], *id)).collect();
    assert_eq!(names, [("default", 0), ("other", other.id())]);
    assert!(
        families[0].2 > families[1].2,
        "the default family was flushed: {families:?}"
    );
}

#[test]
fn a_marker_that_is_left_out_leaves_its_section_prepared() {
    let fs = MemFs::new();
    let two_phase = |fs: &MemFs, filter: Option<Arc<dyn WalFilter>>| Options {
        allow_2pc: true,
        wal_filter: filter,
        ..options(fs)
    };
    let db = Db::open(&two_phase(&fs, None), DIR).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"p", b"value");
    db.prepare(b"xid", &batch, &WriteOptions::default()).unwrap();
    db.commit_prepared(b"xid", &WriteBatch::new(), &batch, &WriteOptions::default())
        .unwrap();
    db.put(b"q", b"value").unwrap();
    // The process dies instead of closing the database, because after a close the WAL would have no marker.
    let dead = fs.process_death_clone();
    let filter = Filter::new(|key, _| {
        Ok(match key {
            b"commit" => WalProcessingOption::IgnoreCurrentRecord,
            _ => WalProcessingOption::ContinueProcessing,
        })
    });
    let db = Db::open(&two_phase(&dead, Some(filter.clone())), DIR).unwrap();
    assert_eq!(filter.seen.lock()[..], ["p", "commit", "q"]);
    assert_eq!(keys(&db), "q");
    assert_eq!(db.recovered_transactions().len(), 1);
}
