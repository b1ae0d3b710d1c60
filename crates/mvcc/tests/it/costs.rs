//! The cost of a collection in steps and seeks: proportional to the versions removed, and independent of
//! those that stay.

use std::sync::Arc;

use esker::Db;
use mvcc::{BatchOptions, GcKey, MvccBatch, ReadCounters, Timestamp, Value};
use vfs::MemFs;

use super::model::{NOW, open};

/// Removes the oldest `removed` of `versions` versions of a key among others.
fn cost(db: &Db, versions: i64, removed: i64, options: BatchOptions) -> ReadCounters {
    let family = db.default_column_family();
    let mut batch = MvccBatch::new(db, &family, options, NOW);
    let mut keys = [GcKey {
        user_key: format!("key of {versions}").into_bytes(),
        timestamp: Timestamp::from_nanos(removed),
    }];
    let result = batch.garbage_collect(&mut keys).unwrap();
    assert_eq!((result.versions, result.keys), (removed as u64, 0));
    assert_eq!(u64::from(batch.count()), removed as u64);
    batch.counters()
}

fn total(counters: ReadCounters) -> u64 {
    counters.steps + counters.seeks
}

#[test]
fn what_stays_costs_nothing() {
    let db = open(Arc::new(MemFs::new()));
    let family = db.default_column_family();
    let counts = [2, 1024, 65_536];
    for versions in counts {
        let mut batch = MvccBatch::new(&db, &family, BatchOptions::default(), NOW);
        let key = format!("key of {versions}").into_bytes();
        for version in 1..=versions {
            let at = Timestamp::from_nanos(version);
            batch.put_blind(&key, at, Value::Bytes(b"value")).unwrap();
        }
        db.write(batch.into_write_batch()).unwrap();
    }
    for flushed in [false, true] {
        if flushed {
            db.flush().unwrap();
            db.compact_range_cf(&family, None, None).unwrap();
        }
        for statistics in [false, true] {
            let options = BatchOptions {
                statistics,
                ..BatchOptions::default()
            };
            let [few, many, most] = counts.map(|versions| cost(&db, versions, 1, options));
            assert_eq!(many, most);
            // One version is removed; the others are tried with some steps and skipped by a seek.
            assert!(total(most) <= 10, "{most:?}");
            assert!(few.steps >= 1 && total(few) >= 2, "{few:?}");
            assert!(
                total(most) <= 3 * total(few),
                "{most:?} for one of many, {few:?} of two"
            );
            // Each removed version costs a step more, until none stays above.
            for removed in [16, 512, 1023] {
                let [some, same] = [1024, 65_536].map(|versions| cost(&db, versions, removed, options));
                let more = (removed - 1) as u64;
                assert!(some == same || removed == 1023, "{some:?} {same:?}");
                assert!(total(some) <= total(most) + more, "{some:?} for {removed}");
            }
        }
    }
}

/// Removes the oldest version of each of many keys. If many versions of a key stay, a seek leads to the
/// oldest one, and also yields the time of the version above it.
#[test]
fn one_version_of_each_key_costs_the_same_however_many_stay() {
    const KEYS: i64 = 64;
    let cost = |versions: i64, statistics: bool| {
        let db = open(Arc::new(MemFs::new()));
        let family = db.default_column_family();
        let mut batch = MvccBatch::new(&db, &family, BatchOptions::default(), NOW);
        for key in 0..KEYS {
            for version in 1..=versions {
                let at = Timestamp::from_nanos(version);
                batch
                    .put_blind(&key.to_be_bytes(), at, Value::Bytes(b"value"))
                    .unwrap();
            }
        }
        db.write(batch.into_write_batch()).unwrap();
        let options = BatchOptions {
            statistics,
            ..BatchOptions::default()
        };
        let mut batch = MvccBatch::new(&db, &family, options, NOW);
        let mut keys: Vec<GcKey> = (0..KEYS)
            .map(|key| GcKey {
                user_key: key.to_be_bytes().to_vec(),
                timestamp: Timestamp::from_nanos(1),
            })
            .collect();
        let result = batch.garbage_collect(&mut keys).unwrap();
        assert_eq!((result.versions, result.keys), (KEYS as u64, 0));
        batch.counters()
    };
    for statistics in [false, true] {
        let [few, some, many] = [2, 16, 256].map(|versions| cost(versions, statistics));
        assert_eq!((few.seeks, few.steps), (1, 2 * KEYS as u64));
        assert_eq!(some, many);
        assert!(many.seeks <= KEYS as u64 + 6, "{many:?}");
        assert!(total(many) <= total(few) + total(few) / 2, "{many:?}, {few:?}");
    }
}

/// A history that is collected page by page is not walked again for each page.
#[test]
fn pages_of_one_key_cost_together_what_they_remove() {
    let db = open(Arc::new(MemFs::new()));
    let family = db.default_column_family();
    const VERSIONS: i64 = 4096;
    let mut batch = MvccBatch::new(&db, &family, BatchOptions::default(), NOW);
    for version in 1..=VERSIONS {
        let at = Timestamp::from_nanos(version);
        batch.put_blind(b"key", at, Value::Bytes(b"value")).unwrap();
    }
    db.write(batch.into_write_batch()).unwrap();
    let (mut all, pages) = (0, 64);
    for page in 1..=pages {
        let mut batch = MvccBatch::new(&db, &family, BatchOptions::default(), NOW);
        let mut keys = [GcKey {
            user_key: b"key".to_vec(),
            timestamp: Timestamp::from_nanos(page * VERSIONS / 2 / pages),
        }];
        batch.garbage_collect(&mut keys).unwrap();
        all += total(batch.counters());
        db.write(batch.into_write_batch()).unwrap();
    }
    let removed = (VERSIONS / 2) as u64;
    assert!(
        all <= removed + 10 * pages as u64,
        "{all} for {removed} in {pages} pages"
    );
}
