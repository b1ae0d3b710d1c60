//! Filters of memtables: no read misses a row because of a filter, and searches are avoided.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use base::merge::StringAppend;
use dbtest::by_hand::flush;
use esker::{ColumnFamilyOptions, Db, Options, ReadOptions, Snapshot, Statistics, Ticker, WriteOptions};
use testkit::rng::TestRng;
use vfs::MemFs;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// A random key; every second prefix is only used by keys that are not written.
fn key(rng: &mut TestRng, written: bool) -> Vec<u8> {
    let prefix = rng.u32(..40);
    let prefix = if written { 2 * (prefix / 2) } else { prefix };
    let tail = *rng.pick(&["", "a", "ab", "b", "bcd"]);
    // Some keys are shorter than a prefix.
    match rng.one_in(20) {
        true => format!("{}", prefix % 10).into_bytes(),
        false => format!("{prefix:03}{tail}").into_bytes(),
    }
}

/// The rows that a scan within the prefix of `key` shows.
fn within<'a>(rows: &'a Rows, extractor: &str, key: &[u8]) -> Vec<(&'a Vec<u8>, &'a Vec<u8>)> {
    let extractor = base::prefix::builtin(extractor);
    let prefix = |key: &[u8]| extractor.as_ref()?.prefix(key).map(<[u8]>::to_vec);
    let sought = prefix(key);
    rows.iter()
        .filter(|(key, _)| sought.is_none() || prefix(key) == sought)
        .collect()
}

struct Reader<'a> {
    db: &'a Db,
    extractor: &'a str,
    rows: &'a Rows,
    snapshot: Option<Snapshot>,
}

impl Reader<'_> {
    fn options(&self) -> ReadOptions {
        ReadOptions {
            snapshot: self.snapshot.clone(),
            ..ReadOptions::default()
        }
    }

    fn check(&self, rng: &mut TestRng) {
        let family = self.db.default_column_family();
        let keys: Vec<Vec<u8>> = (0..10).map(|_| key(rng, false)).collect();
        let found = self.db.multi_get_cf_opt(&family, &keys, &self.options());
        for (key, found) in keys.iter().zip(found) {
            let expected = self.rows.get(key);
            assert_eq!(
                found.unwrap().as_ref(),
                expected,
                "multi_get {}",
                key.escape_ascii()
            );
            let found = self.db.get_cf_opt(&family, key, &self.options()).unwrap();
            assert_eq!(found.as_ref(), expected, "get {}", key.escape_ascii());
        }
        let whole = self.options();
        let within_prefix = ReadOptions {
            prefix_same_as_start: true,
            ..self.options()
        };
        for (options, extractor) in [(whole, "none"), (within_prefix, self.extractor)] {
            let mut iter = self.db.iter_cf_opt(&family, &options);
            for key in &keys {
                let rows = within(self.rows, extractor, key);
                let behind = rows.partition_point(|row| row.0 < key);
                let up_to = rows.partition_point(|row| row.0 <= key);
                iter.seek(key);
                for (at, row) in rows[behind..].iter().enumerate().take(5) {
                    assert!(iter.valid(), "seek {} with {extractor}", key.escape_ascii());
                    assert_eq!((iter.key(), iter.value()), (&row.0[..], &row.1[..]));
                    if at > 0 && rng.one_in(4) {
                        iter.prev();
                        assert_eq!(iter.key(), rows[behind + at - 1].0);
                        iter.next();
                    }
                    iter.next();
                }
                assert_eq!(iter.valid(), rows.len() - behind > 5);
                iter.seek_for_prev(key);
                for row in rows[..up_to].iter().rev().take(5) {
                    assert!(iter.valid(), "seek_for_prev {}", key.escape_ascii());
                    assert_eq!((iter.key(), iter.value()), (&row.0[..], &row.1[..]));
                    iter.prev();
                }
                assert_eq!(iter.valid(), up_to > 5);
                iter.status().unwrap();
            }
            // The iterator's bounds have other prefixes than the key of the seek.
            let (from, to) = (key(rng, false), key(rng, false));
            let (from, to) = (from.clone().min(to.clone()), from.max(to));
            iter.set_bounds(Some(&from), Some(&to));
            let between = |rows: &[(&Vec<u8>, &Vec<u8>)]| {
                let row = rows.iter().find(|row| *row.0 >= from && *row.0 < to);
                row.map(|row| row.0.clone())
            };
            for key in &keys {
                let mut rows = within(self.rows, extractor, key);
                let sought = rows.partition_point(|row| row.0 < key);
                iter.seek(key);
                let found = iter.valid().then(|| iter.key().to_vec());
                assert_eq!(found, between(&rows[sought..]), "seek {}", key.escape_ascii());
                rows.truncate(rows.partition_point(|row| row.0 <= key));
                rows.reverse();
                iter.seek_for_prev(key);
                let found = iter.valid().then(|| iter.key().to_vec());
                assert_eq!(found, between(&rows), "seek_for_prev {}", key.escape_ascii());
            }
        }
    }
}

/// Random histories, reopened with other filters and extractors over replayed WALs, compared with a map.
#[test]
fn no_row_is_lost_to_a_memtables_filter() {
    let mut rng = testkit::rng();
    let mut spared = 0;
    for _ in 0..4 {
        let fs = Arc::new(MemFs::new());
        let mut rows = Rows::new();
        let mut extractor = "none";
        for _ in 0..5 {
            // An extractor or filter that is not set again stays in force.
            if rng.one_in(2) {
                extractor = *rng.pick(&["noop", "fixed:3", "capped:2", "fixed:2"]);
            }
            let options = Options {
                create_if_missing: true,
                avoid_flush_during_recovery: rng.bool(),
                statistics: Some(Statistics::new()),
                fs: fs.clone(),
                column_family: ColumnFamilyOptions {
                    write_buffer_size: 32 << 10,
                    memtable_prefix_bloom_size_ratio: *rng.pick(&[0.0, 0.01, 0.25]),
                    memtable_whole_key_filtering: rng.bool(),
                    memtable_protection_bytes_per_key: *rng.pick(&[0, 8]),
                    prefix_extractor: base::prefix::builtin(extractor),
                    merge_operator: Some(Arc::new(StringAppend::new(","))),
                    ..ColumnFamilyOptions::default()
                },
                ..Options::default()
            };
            let db = Db::open(&options, "/db").unwrap();
            let (write, family) = (WriteOptions::default(), db.default_column_family());
            let (mut snapshot, mut seen) = (db.snapshot(), rows.clone());
            for step in 0..300 {
                let (key, value) = (key(&mut rng, true), format!("{step}").into_bytes());
                match rng.u32(..20) {
                    0 => {
                        let end = self::key(&mut rng, false).max(key.clone());
                        db.delete_range_cf_opt(&family, &key, &end, &write).unwrap();
                        let range = (Bound::Included(&key), Bound::Excluded(&end));
                        let covered: Vec<_> = match key < end {
                            true => rows.range::<Vec<u8>, _>(range).map(|row| row.0.clone()).collect(),
                            false => Vec::new(),
                        };
                        rows.retain(|key, _| !covered.contains(key));
                    }
                    1..4 => {
                        db.delete(&key).unwrap();
                        rows.remove(&key);
                    }
                    4..8 => {
                        db.merge_cf_opt(&family, &key, &value, &write).unwrap();
                        let row = rows.entry(key).or_default();
                        if !row.is_empty() {
                            row.push(b',');
                        }
                        row.extend(value);
                    }
                    _ => {
                        db.put(&key, &value).unwrap();
                        rows.insert(key, value);
                    }
                }
                if rng.one_in(100) {
                    flush(&db);
                }
                if rng.one_in(50) {
                    (snapshot, seen) = (db.snapshot(), rows.clone());
                }
                if rng.one_in(20) {
                    let mut reader = Reader {
                        db: &db,
                        extractor,
                        rows: &rows,
                        snapshot: None,
                    };
                    reader.check(&mut rng);
                    (reader.rows, reader.snapshot) = (&seen, Some(snapshot.clone()));
                    reader.check(&mut rng);
                }
            }
            spared += db.statistics().get(Ticker::MemtableFilterMiss);
            drop(snapshot);
            db.close().unwrap();
        }
    }
    assert!(spared > 100, "{spared} searches were spared");
}
