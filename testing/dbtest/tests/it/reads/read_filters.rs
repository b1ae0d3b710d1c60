//! Iterators that skip tables and runs of data blocks excluded by a filter.

use std::collections::BTreeMap;
use std::sync::Arc;

use dbtest::by_hand::{compact, flush};
use esker::{
    BlockPropertyCollector, BlockPropertyCollectorFactory, BlockPropertyFilter, CompressionType, Db,
    DbIterator, EntryType, IndexType, Options, ReadOptions, SeqNo, TableFilter, io_stats,
};
use testkit::oracle;
use vfs::{FileSystem, MemFs, PosixFs};

const DIR: &str = "/db";

/// A collector of the smallest and the largest time at the beginning of values.
struct Times;

#[derive(Default)]
struct TimesCollector {
    blocks: Option<(u64, u64)>,
    table: Option<(u64, u64)>,
}

fn widen(a: Option<(u64, u64)>, b: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

fn put(times: Option<(u64, u64)>, property: &mut Vec<u8>) {
    let (first, last) = times.unwrap_or((u64::MAX, 0));
    property.extend(first.to_le_bytes());
    property.extend(last.to_le_bytes());
}

impl BlockPropertyCollector for TimesCollector {
    fn add(&mut self, _key: &[u8], value: &[u8], entry: EntryType, _seqno: SeqNo) {
        assert_eq!(entry, EntryType::Put);
        let time = time_of(value);
        self.blocks = widen(self.blocks, Some((time, time)));
    }

    fn finish_blocks(&mut self, property: &mut Vec<u8>) {
        let blocks = self.blocks.take();
        assert!(blocks.is_some(), "no entry in a run of blocks");
        self.table = widen(self.table, blocks);
        put(blocks, property);
    }

    fn finish_table(&mut self, property: &mut Vec<u8>) {
        put(self.table, property);
    }
}

impl BlockPropertyCollectorFactory for Times {
    fn name(&self) -> &str {
        "times"
    }

    fn create(&self) -> Box<dyn BlockPropertyCollector> {
        Box::<TimesCollector>::default()
    }
}

/// A filter for entries whose time may be in the window, both ends inclusive.
struct Window {
    first: u64,
    last: u64,
}

impl BlockPropertyFilter for Window {
    fn name(&self) -> &str {
        "times"
    }

    fn may_match(&self, property: &[u8]) -> bool {
        let (first, last) = property.split_at(8);
        let (first, last) = (time_of(first), time_of(last));
        first <= self.last && last >= self.first
    }
}

fn time_of(value: &[u8]) -> u64 {
    u64::from_le_bytes(value[..8].try_into().unwrap())
}

fn window(first: u64, last: u64) -> ReadOptions {
    ReadOptions {
        block_property_filter: Some(Arc::new(Window { first, last })),
        ..ReadOptions::default()
    }
}

fn options(fs: Arc<dyn FileSystem>) -> Options {
    let mut options = Options {
        create_if_missing: true,
        fs,
        ..Options::default()
    };
    let family = &mut options.column_family;
    family.disable_auto_compactions = true;
    family.block_property_collector_factories = vec![Arc::new(Times)];
    options
}

fn value(time: u64, len: usize) -> Vec<u8> {
    let mut value = time.to_le_bytes().to_vec();
    value.resize(len, b'.');
    value
}

fn forwards(iter: &mut DbIterator) -> BTreeMap<Vec<u8>, u64> {
    let mut found = BTreeMap::new();
    iter.seek_to_first();
    while iter.valid() {
        found.insert(iter.key().to_vec(), time_of(iter.value()));
        iter.next();
    }
    iter.status().unwrap();
    found
}

fn backwards(iter: &mut DbIterator) -> BTreeMap<Vec<u8>, u64> {
    let mut found = BTreeMap::new();
    iter.seek_to_last();
    while iter.valid() {
        found.insert(iter.key().to_vec(), time_of(iter.value()));
        iter.prev();
    }
    iter.status().unwrap();
    found
}

#[test]
fn runs_without_what_is_wanted_are_passed_over() {
    let mut rng = testkit::rng();
    for _ in 0..12 {
        let mut options = options(Arc::new(MemFs::new()));
        let family = &mut options.column_family;
        family.compression = [CompressionType::None, CompressionType::Lz4][rng.usize(..2)];
        family.compression_opts.max_dict_bytes = [0, 4096][rng.usize(..2)];
        family.table.index_type = [
            IndexType::BinarySearch,
            IndexType::TwoLevel,
            IndexType::BinarySearchWithFirstKey,
        ][rng.usize(..3)];
        family.table.cache_index_and_filter_blocks = rng.bool();
        family.target_file_size_base = 512 << 10;
        let db = Db::open(&options, DIR).unwrap();
        // Keys with the same time are adjacent, so that runs of blocks have different times.
        let mut model: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for round in 0..3u64 {
            for i in 0..4_000u64 {
                let (key, time) = (format!("{i:05}.{round}").into_bytes(), i / 400 * 3 + round);
                db.put(&key, value(time, 300)).unwrap();
                model.insert(key, time);
            }
            flush(&db);
            if round == rng.u64(..3) {
                compact(&db);
            }
        }
        for _ in 0..12 {
            let first = rng.u64(..32);
            let last = first + rng.u64(..2);
            let mut iter = db.iter_opt(&window(first, last));
            let wanted = |time: u64| (first..=last).contains(&time);
            let found = forwards(&mut iter);
            assert_eq!(found, backwards(&mut iter));
            assert!(found.iter().all(|(key, time)| model[key] == *time));
            for (key, time) in &model {
                assert!(
                    !wanted(*time) || found.contains_key(key),
                    "{} at {time}",
                    key.escape_ascii()
                );
            }
            assert!(
                found.len() < model.len() / 2,
                "{} of {}",
                found.len(),
                model.len()
            );
            // With the filter, a seek must find the same rows as a scan.
            for _ in 0..200 {
                let target = format!("{:05}.{}", rng.u64(..4_100), rng.u64(..4)).into_bytes();
                iter.seek(&target);
                let ahead = found.range(target.clone()..).next();
                assert_eq!(iter.valid().then(|| iter.key()), ahead.map(|(key, _)| &key[..]));
                iter.seek_for_prev(&target);
                let behind = found.range(..=target).next_back();
                assert_eq!(iter.valid().then(|| iter.key()), behind.map(|(key, _)| &key[..]));
                if iter.valid() && rng.bool() {
                    let key = iter.key().to_vec();
                    iter.next();
                    let ahead = found.range(key.clone()..).nth(1);
                    assert_eq!(iter.valid().then(|| iter.key()), ahead.map(|(key, _)| &key[..]));
                    if iter.valid() {
                        iter.prev();
                        assert_eq!(iter.key(), key);
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_passed_over_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(Arc::new(PosixFs::new()));
    options.column_family.compression = CompressionType::None;
    let db = Db::open(&options, dir.path()).unwrap();
    for i in 0..20_000u64 {
        db.put(format!("{i:06}").as_bytes(), value(i / 1000, 400))
            .unwrap();
    }
    flush(&db);
    drop(db);
    let read = |read: &ReadOptions| {
        let db = Db::open(&options, dir.path()).unwrap();
        let before = io_stats::current();
        let found = forwards(&mut db.iter_opt(read)).len();
        (found, (io_stats::current() - before).bytes_read)
    };
    let (rows, bytes) = read(&ReadOptions::default());
    assert_eq!(rows, 20_000);
    let (found, fewer) = read(&window(7, 7));
    assert!((1_000..2_000).contains(&found), "{found}");
    assert!(fewer * 8 < bytes, "{fewer} of {bytes}");
    assert_eq!(read(&window(30, 40)).0, 0);
}

#[test]
fn tables_are_passed_over_by_their_properties_and_their_range_deletions_are_not() {
    let db = Db::open(&options(Arc::new(MemFs::new())), DIR).unwrap();
    for key in ["a", "b", "c", "d"] {
        db.put(key.as_bytes(), value(1, 8)).unwrap();
    }
    flush(&db);
    db.put(b"e", value(2, 8)).unwrap();
    db.delete_range(b"b", b"d").unwrap();
    flush(&db);
    let one_at_most = ReadOptions {
        table_filter: Some(TableFilter::new(|table| table.num_entries > 2)),
        ..ReadOptions::default()
    };
    let keys: Vec<_> = forwards(&mut db.iter_opt(&one_at_most)).into_keys().collect();
    assert_eq!(keys, [b"a", b"d"]);
    let keys: Vec<_> = forwards(&mut db.iter_opt(&window(2, 9))).into_keys().collect();
    assert_eq!(keys, [b"e"]);
    // Rows in memory are always visible.
    db.put(b"f", value(1, 8)).unwrap();
    assert_eq!(forwards(&mut db.iter_opt(&window(2, 9))).len(), 2);
}

#[test]
fn rocksdb_reads_tables_with_them() {
    let Some(mut sst_dump) = oracle::sst_dump() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(&options(Arc::new(PosixFs::new())), dir.path()).unwrap();
    for i in 0..1_000u64 {
        db.put(format!("{i:06}").as_bytes(), value(i, 400)).unwrap();
    }
    flush(&db);
    let file = dir.path().join(format!("{:06}.sst", db.live_files()[0].number));
    drop(db);
    sst_dump.arg(format!("--file={}", file.display()));
    let said = sst_dump
        .args(["--command=check", "--show_properties"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&said.stdout);
    assert!(said.contains("# entries: 1000"), "{said}");
    assert!(said.contains("esker.block.properties.times"), "{said}");
}
