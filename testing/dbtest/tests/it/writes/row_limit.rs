//! Rows at and above a lowered limit, from all sources. `crates/engine/tests/it/row_limit.rs` tests the real
//! limit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dbtest::by_hand::{compact, flush, rewrite};
use dbtest::events::Recorder;
use esker::{
    CompactionFilter, CompactionFilterFactory, Db, Decision, Error, ErrorKind, Event, FilterContext,
    MergeOperator, Options, ReadOptions, RowLimit, RowTooLargeOutcome, ValueType, WriteBatch,
    WriteBatchWithIndex, WriteOptions,
};
use testkit::rng::{self, TestRng};
use vfs::{FaultFs, FileSystem, MemFs, UnsyncedPolicy};

const DIR: &str = "/db";
/// The lowered limit of a value in bytes.
const LOW: usize = 100;
/// The longest user key under that limit.
const LOW_KEY: usize = LOW - 8;

fn options(fs: &MemFs) -> (Options, Arc<Recorder>) {
    let events = Recorder::events();
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        listeners: vec![events.clone()],
        ..Options::default()
    };
    (options, events)
}

fn lowered(options: &Options) -> Options {
    Options {
        row_limit: RowLimit::at_most(LOW),
        ..options.clone()
    }
}

fn refused(what: &str, result: Result<(), Error>, part: &str) {
    let error = result.expect_err(what);
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{what}: {error}");
    let text = format!("Invalid argument: {part} is too large: ");
    assert!(error.to_string().contains(&text), "{what}: {error}");
}

/// The lengths of values by their keys.
type Sizes = BTreeMap<Vec<u8>, usize>;

fn rows(db: &Db) -> Sizes {
    let mut rows = BTreeMap::new();
    let mut iter = db.iter();
    iter.seek_to_first();
    while iter.valid() {
        rows.insert(iter.key().to_vec(), iter.value().len());
        iter.next();
    }
    iter.status().unwrap();
    rows
}

/// The keys of the rows that were too large, with their outcome.
fn told(events: &Recorder) -> Vec<(Vec<u8>, RowTooLargeOutcome)> {
    let told = events.all().into_iter().filter_map(|event| match event {
        Event::RowTooLarge { key, outcome, .. } => Some((key, outcome)),
        _ => None,
    });
    told.collect()
}

#[test]
fn the_longest_row_is_taken_and_one_byte_more_is_not() {
    let fs = MemFs::new();
    let (options, _) = options(&fs);
    let options = lowered(&options);
    let db = Db::open(&options, DIR).unwrap();
    let family = &db.default_column_family();
    let write = &WriteOptions::default();
    let (key, value) = ([b'k'; LOW_KEY], [b'v'; LOW]);
    db.put(key, value).unwrap();
    db.delete_range_cf_opt(family, [b'a'; LOW_KEY], [b'b'; LOW_KEY], write)
        .unwrap();
    let mut batch = WriteBatch::new();
    batch.put(&[b'l'; LOW_KEY], &value);
    batch.delete(&[b'm'; LOW_KEY]);
    db.write_opt(batch, write).unwrap();
    let sequence = db.latest_sequence_number();
    refused("value", db.put(b"k", [0; LOW + 1]), "value");
    refused("key", db.put([0; LOW_KEY + 1], b"v"), "key");
    let mut batch = WriteBatch::new();
    batch.put(b"with it", b"nor this");
    batch.merge(b"k", &[0; LOW + 1]);
    refused("batch", db.write_opt(batch, write), "value");
    let mut batch = WriteBatch::new();
    batch.delete_range(b"a", &[b'b'; LOW_KEY + 1]);
    refused("batch", db.write_opt(batch.clone(), write), "key");
    let indexed = WriteBatchWithIndex::from(batch);
    let read = indexed.iter_with_base(&db, family, &ReadOptions::default());
    refused("indexed", read.map(drop), "key");
    assert_eq!(db.latest_sequence_number(), sequence);
    let expected = BTreeMap::from([(key.to_vec(), LOW), ([b'l'; LOW_KEY].to_vec(), LOW)]);
    assert_eq!(rows(&db), expected);
    flush(&db);
    rewrite(&db);
    assert_eq!(rows(&db), expected);
    db.close().unwrap();
    assert_eq!(rows(&Db::open(&options, DIR).unwrap()), expected);
}

/// A merge operator that concatenates all operands.
struct Append;

impl MergeOperator for Append {
    fn name(&self) -> &str {
        "test.Append"
    }

    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let parts: Vec<&[u8]> = existing.into_iter().chain(operands.iter().copied()).collect();
        Some(parts.concat())
    }

    fn partial_merge(&self, _key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        Some([older, newer].concat())
    }
}

/// A filter that makes values beginning with `l` longer than the limit, and others shorter.
struct Lengthen;

impl CompactionFilterFactory for Lengthen {
    fn name(&self) -> &str {
        "test.Lengthen"
    }

    fn should_filter_table_file_creation(&self, _reason: esker::TableFileCreationReason) -> bool {
        true
    }

    fn create(&self, _context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(Lengthen))
    }
}

impl CompactionFilter for Lengthen {
    fn filter(&mut self, _level: usize, _key: &[u8], _value_type: ValueType, value: &[u8]) -> Decision {
        Decision::ChangeValue(match value.first() {
            Some(b'l') => vec![b'l'; LOW + 1],
            _ => b"short".to_vec(),
        })
    }
}

#[test]
fn a_filter_that_makes_a_row_too_large_is_overruled() {
    let fs = MemFs::new();
    let (options, events) = options(&fs);
    let mut options = lowered(&options);
    options.column_family.compaction_filter_factory = Some(Arc::new(Lengthen));
    options.column_family.merge_operator = Some(Arc::new(Append));
    let db = Db::open(&options, DIR).unwrap();
    let family = &db.default_column_family();
    db.put(b"a", b"long").unwrap();
    db.put(b"b", b"brief").unwrap();
    db.merge_cf(family, b"c", b"lasts").unwrap();
    // The filter runs in flushes too, which must not write the long values.
    flush(&db);
    rewrite(&db);
    let expect = |key: &[u8], value: &[u8]| assert_eq!(db.get(key).unwrap().as_deref(), Some(value));
    expect(b"a", b"long");
    expect(b"b", b"short");
    expect(b"c", b"lasts");
    let mut told = Vec::new();
    for event in events.all() {
        if let Event::FilterValueTooLarge { key, error, .. } = event {
            assert!(error.to_string().contains("value is too large"), "{error}");
            told.push(key);
        }
    }
    told.dedup();
    assert!(
        told.contains(&b"a".to_vec()) && told.contains(&b"c".to_vec()),
        "{told:?}"
    );
    db.put(b"d", b"after").unwrap();
}

/// Writes rows to a database under `options` and closes it without a flush: they are in its WAL.
fn log(options: &Options, batches: &[WriteBatch]) {
    let db = Db::open(options, DIR).unwrap();
    for batch in batches {
        db.write(batch.clone()).unwrap();
    }
    db.sync_wal().unwrap();
    db.close().unwrap();
}

/// Batches of small rows and some large ones, the small rows, and the keys of the large ones.
fn batches() -> (Vec<WriteBatch>, Sizes, Vec<Vec<u8>>) {
    let rng = &mut TestRng::with_seed(rng::seed());
    let (mut batches, mut small, mut large) = (Vec::new(), BTreeMap::new(), Vec::new());
    for number in 0..40u32 {
        let mut batch = WriteBatch::new();
        for row in 0..rng.u32(1..4) {
            let mut key = format!("{number:03}-{row}").into_bytes();
            let len = *rng.pick(&[0, 1, LOW - 1, LOW, LOW + 1, 2 * LOW]);
            // Every tenth row is above the limit, and the row after it has exactly the limit.
            let len = match number % 10 {
                3 => LOW + 1,
                4 => LOW,
                _ => len,
            };
            if number == 20 {
                key.resize(LOW_KEY + row as usize % 2, b'k');
            }
            batch.put(&key, &vec![b'v'; len]);
            if len <= LOW && key.len() <= LOW_KEY {
                small.insert(key, len);
            } else {
                large.push(key);
            }
        }
        batches.push(batch);
    }
    (batches, small, large)
}

fn lost(fs: &MemFs, dir: &str) -> Vec<String> {
    let lost = Path::new(dir).join("lost");
    match fs.exists(&lost).unwrap() {
        true => fs.list(&lost).unwrap(),
        false => Vec::new(),
    }
}

#[test]
fn a_wal_with_rows_that_are_too_large_opens_and_is_kept() {
    for (wal_dir, keeps_wals) in [("", false), ("/wals", false), ("", true)] {
        let fs = MemFs::new();
        let (mut wide, events) = options(&fs);
        wide.wal_dir = wal_dir.to_owned();
        wide.avoid_flush_during_recovery = keeps_wals;
        let (batches, small, large) = batches();
        log(&wide, &batches);
        let home = if wal_dir.is_empty() { DIR } else { wal_dir };
        let db = Db::open(&lowered(&wide), DIR).unwrap();
        assert_eq!(rows(&db), small);
        let [kept] = &lost(&fs, home)[..] else {
            panic!("{:?}", lost(&fs, home));
        };
        let kept = Path::new(home).join("lost").join(kept);
        let aside = RowTooLargeOutcome::SetAside {
            path: kept.display().to_string(),
        };
        let expected: Vec<_> = large.iter().map(|key| (key.clone(), aside.clone())).collect();
        assert_eq!(told(&events), expected);
        db.close().unwrap();
        // A second open does not report the rows above the limit again, even if there was no flush since the
        // first.
        let db = Db::open(&lowered(&wide), DIR).unwrap();
        assert_eq!(told(&events).len(), large.len());
        db.put(b"more", b"1").unwrap();
        flush(&db);
        rewrite(&db);
        assert_eq!(rows(&db).len(), small.len() + 1);
        db.close().unwrap();
        // The WAL that was kept aside has the large rows, and can be replayed under a higher limit.
        let number = kept.file_stem().unwrap().to_string_lossy().into_owned();
        fs.create_dir_all(Path::new("/again")).unwrap();
        let again = PathBuf::from(format!("/again/{number}.log"));
        fs.link(&kept, &again).unwrap();
        let again = Options {
            wal_dir: String::new(),
            ..wide.clone()
        };
        Db::repair(&again, "/again").unwrap();
        let rows = rows(&Db::open(&again, "/again").unwrap());
        assert_eq!(rows.len(), small.len() + large.len());
        assert!(large.iter().all(|key| rows.contains_key(key)));
    }
}

#[test]
fn whoever_only_reads_passes_over_rows_that_are_too_large() {
    let fs = MemFs::new();
    let (wide, events) = options(&fs);
    let (batches, small, large) = batches();
    log(&wide, &batches);
    let files = fs.list(Path::new(DIR)).unwrap();
    let expected: Vec<_> = large
        .iter()
        .map(|key| (key.clone(), RowTooLargeOutcome::PassedOver))
        .collect();
    let db = Db::open_read_only(&lowered(&wide), DIR).unwrap();
    assert_eq!(rows(&db), small);
    assert_eq!(told(&events), expected);
    drop(db);
    let secondary = Db::open_as_secondary(&lowered(&wide), DIR, "/secondary").unwrap();
    assert_eq!(rows(&secondary), small);
    assert_eq!(told(&events).len(), 2 * large.len());
    // The read-only open under the lower limit has changed nothing: a database with a higher limit has all
    // rows.
    assert_eq!(fs.list(Path::new(DIR)).unwrap(), files);
    assert_eq!(
        rows(&Db::open(&wide, DIR).unwrap()).len(),
        small.len() + large.len()
    );
}

#[test]
fn a_repair_names_rows_that_are_too_large_and_keeps_the_others() {
    let fs = MemFs::new();
    let (wide, _) = options(&fs);
    let (batches, small, large) = batches();
    log(&wide, &batches);
    for name in fs.list(Path::new(DIR)).unwrap() {
        if name == "CURRENT" || name.starts_with("MANIFEST-") {
            fs.remove(&Path::new(DIR).join(name)).unwrap();
        }
    }
    let report = Db::repair(&lowered(&wide), DIR).unwrap();
    assert_eq!(report.wal_rows, small.len() as u64);
    assert_eq!(report.lost.len(), large.len());
    for (lost, key) in report.lost.iter().zip(&large) {
        let text = lost.error.to_string();
        let row = format!("row '{}' with sequence number", key.escape_ascii());
        assert!(text.contains(&row) && text.contains("is too large"), "{text}");
        assert!(fs.exists(&lost.path).unwrap(), "{}", lost.path.display());
    }
    assert_eq!(rows(&Db::open(&lowered(&wide), DIR).unwrap()), small);
}

/// Power is lost at any change of a file during the recovery of a WAL with rows above the limit: afterwards
/// all rows within the limit are there, and the WAL is kept, because it has the rows above the limit.
#[test]
fn a_crash_while_rows_are_set_aside_loses_none() {
    let (batches, small, _) = batches();
    let mut rng = base::env::Rng::with_seed(rng::seed());
    for step in 0.. {
        let fs = MemFs::new();
        let (wide, _) = options(&fs);
        log(&wide, &batches);
        let faults = FaultFs::new(Arc::new(fs.clone()));
        faults.crash_at(step);
        let first = Options {
            fs: Arc::new(faults.clone()),
            ..lowered(&wide)
        };
        let opened = Db::open(&first, DIR);
        let crashed = faults.is_crashed();
        drop(opened);
        for policy in [UnsyncedPolicy::Lose, UnsyncedPolicy::Random] {
            let after = fs.crash_clone(&mut rng, policy);
            let (again, _) = options(&after);
            let db = Db::open(&lowered(&again), DIR).unwrap();
            assert_eq!(rows(&db), small, "at {step}");
            assert_eq!(lost(&after, DIR).len(), 1, "at {step}");
        }
        if !crashed {
            assert!(step > 10);
            return;
        }
    }
}

#[test]
fn flushes_of_rows_at_the_limit_keep_a_database_writable() {
    let fs = MemFs::new();
    let (options, _) = options(&fs);
    let mut options = lowered(&options);
    options.column_family.write_buffer_size = 1 << 16;
    let db = Db::open(&options, DIR).unwrap();
    let rng = &mut TestRng::with_seed(rng::seed());
    let mut model = BTreeMap::new();
    for number in 0..2000u32 {
        let mut key = number.to_be_bytes().to_vec();
        key.resize(*rng.pick(&[4, LOW_KEY - 1, LOW_KEY, LOW_KEY + 1]), b'k');
        let len = *rng.pick(&[0, LOW - 1, LOW, LOW + 1]);
        let put = db.put(&key, vec![b'v'; len]);
        assert_eq!(put.is_ok(), key.len() <= LOW_KEY && len <= LOW);
        if put.is_ok() {
            model.insert(key, len);
        }
        if number % 500 == 499 {
            db.flush().unwrap();
        }
    }
    compact(&db);
    assert_eq!(rows(&db), model);
    db.close().unwrap();
    assert_eq!(rows(&Db::open(&options, DIR).unwrap()), model);
}
