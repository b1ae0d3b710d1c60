//! Streams of ascending keys: their tables are written directly to their final level, and no row is lost.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::env::Rng;
use dbtest::by_hand::{flush, flush_and_settle};
use esker::{ColumnFamilyOptions, Db, Options, ReadOptions, Statistics, Ticker, WriteBatch};
use testkit::rng::TestRng;
use vfs::{LogFs, MemFs, UnsyncedPolicy};

const VALUE: usize = 100;

fn options(fs: &MemFs) -> Options {
    Options {
        create_if_missing: true,
        statistics: Some(Statistics::new()),
        fs: Arc::new(fs.clone()),
        column_family: ColumnFamilyOptions {
            // A full memtable is smaller than `max_compaction_bytes`, 25 files: larger ones go to L0.
            write_buffer_size: 3 << 19,
            target_file_size_base: 64 << 10,
            max_bytes_for_level_base: 256 << 10,
            max_bytes_for_level_multiplier: 4.0,
            compression: esker::CompressionType::None,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
}

/// A database and the rows that were written to it.
struct Writer {
    db: Db,
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    written: u64,
}

impl Writer {
    fn open(options: &Options) -> Writer {
        Writer {
            db: Db::open(options, "db").unwrap(),
            rows: BTreeMap::new(),
            written: 0,
        }
    }

    fn put(&mut self, key: String) {
        self.written += 1;
        let mut value = format!("{}", self.written).into_bytes();
        value.resize(VALUE, b'.');
        self.db.put(key.as_bytes(), &value).unwrap();
        self.rows.insert(key.into_bytes(), value);
    }

    /// Writes `keys` keys of each of `streams` streams from number `from` on, interleaved; every second
    /// stream descends if `falls`.
    fn streams(&mut self, streams: u64, from: u64, keys: u64, falls: bool) {
        for number in from..from + keys {
            for stream in 0..streams {
                let number = if falls && stream % 2 == 1 {
                    99_999_999 - number
                } else {
                    number
                };
                self.put(format!("{stream:03}:{number:08}"));
            }
        }
    }

    fn ticker(&self, ticker: Ticker) -> u64 {
        self.db.statistics().get(ticker)
    }

    /// The bytes that flushes and compactions wrote, divided by those that flushes wrote.
    fn write_amplification(&self) -> f64 {
        let flushed = self.ticker(Ticker::FlushWriteBytes);
        (flushed + self.ticker(Ticker::CompactWriteBytes)) as f64 / flushed as f64
    }

    fn settle(&self) {
        flush_and_settle(&self.db);
    }

    fn check(&self) {
        let mut iter = self.db.iter();
        let mut rows = self.rows.iter();
        iter.seek_to_first();
        while iter.valid() {
            let (key, value) = rows.next().expect("no more rows");
            assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
            iter.next();
        }
        iter.status().unwrap();
        assert_eq!(rows.next(), None);
        for (key, value) in self.rows.iter().step_by(97) {
            assert_eq!(self.db.get(key).unwrap().as_ref(), Some(value));
        }
        self.db.verify_checksum().unwrap();
    }
}

#[test]
fn tables_of_streams_are_never_rewritten() {
    for streams in [1, 2, 8, 64] {
        for falls in [false, true] {
            let fs = MemFs::new();
            let mut writer = Writer::open(&options(&fs));
            writer.streams(streams, 0, 96_000 / streams, falls);
            writer.settle();
            assert_eq!(
                writer.ticker(Ticker::CompactWriteBytes),
                0,
                "{streams} streams, falling: {falls}"
            );
            assert!(writer.ticker(Ticker::FlushWriteBytes) > 96_000 * VALUE as u64);
            writer.check();
        }
    }
}

/// A power loss right after the flush of many streams, whose tables are synced together, takes no row.
#[test]
fn tables_of_streams_are_durable_before_the_manifest_names_them() {
    let mem = MemFs::new();
    // One memtable gives more tables than are synced at a time.
    let mut options = options(&mem);
    options.column_family.write_buffer_size = 64 << 20;
    options.column_family.target_file_size_base = 1 << 20;
    let mut writer = Writer::open(&options);
    writer.streams(150, 0, 100, false);
    flush(&writer.db);
    let image = mem.crash_clone(&mut Rng::with_seed(testkit::rng::seed()), UnsyncedPolicy::Lose);
    let files = writer.db.live_files();
    assert_eq!(files.len(), 150);
    assert!(files.iter().all(|file| file.level > 0));
    let mut reopened = Writer::open(&Options {
        fs: Arc::new(image),
        ..options
    });
    reopened.rows = writer.rows;
    reopened.check();
}

/// Each table of a flush is synced once, after all of them are written, and their directory once.
#[test]
fn the_syncs_of_a_flush_come_together() {
    let log = LogFs::new(Arc::new(MemFs::new()), "db");
    let mut options = options(&MemFs::new());
    options.fs = Arc::new(log.clone());
    let mut writer = Writer::open(&options);
    writer.streams(8, 0, 1000, false);
    log.take();
    flush(&writer.db);
    let lines = log.take();
    let tables: Vec<(&str, &str)> = lines
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(op, name)| name.ends_with(".sst") && ["create", "sync"].contains(op))
        .collect();
    let (created, synced) = tables.split_at(tables.len() / 2);
    assert_eq!(created.len(), 8, "{lines}");
    assert!(created.iter().all(|(op, _)| *op == "create"), "{lines}");
    assert!(synced.iter().all(|(op, _)| *op == "sync"), "{lines}");
    assert!(
        created
            .iter()
            .zip(synced)
            .all(|(created, synced)| created.1 == synced.1)
    );
    assert_eq!(lines.matches("sync_dir").count(), 1, "{lines}");
}

#[test]
fn without_the_option_all_goes_to_level_0() {
    let fs = MemFs::new();
    let mut options = options(&fs);
    options.column_family.streams_bypass_level0 = false;
    let mut writer = Writer::open(&options);
    writer.streams(8, 0, 12_000, false);
    writer.settle();
    assert!(writer.write_amplification() > 1.5);
    writer.check();
}

#[test]
fn streams_that_come_to_tables_of_another_cut_get_through() {
    let fs = MemFs::new();
    let mut options = options(&fs);
    options.column_family.streams_bypass_level0 = false;
    let mut writer = Writer::open(&options);
    writer.streams(8, 0, 2000, false);
    writer.settle();
    writer.db.close().unwrap();
    options.column_family.streams_bypass_level0 = true;
    writer.db = Db::open(&options, "db").unwrap();
    // The first flushes find overlapping tables with keys of several streams, which are cut where the streams
    // continue.
    writer.streams(8, 2000, 6000, false);
    writer.settle();
    let written = |writer: &Writer| {
        let bytes = [Ticker::FlushWriteBytes, Ticker::CompactWriteBytes];
        bytes.map(|ticker| writer.ticker(ticker))
    };
    let before = written(&writer);
    writer.streams(8, 8000, 20_000, false);
    writer.settle();
    let [flushed, compacted] = [0, 1].map(|at| written(&writer)[at] - before[at]);
    assert!(
        compacted * 4 < flushed,
        "{flushed} flushed, {compacted} compacted"
    );
    writer.check();
}

#[test]
fn rows_in_no_order_beside_them_cost_what_they_would_alone() {
    let seed = testkit::rng::seed();
    let amplification = |streams_bypass_level0: bool| {
        let fs = MemFs::new();
        let mut options = options(&fs);
        options.column_family.streams_bypass_level0 = streams_bypass_level0;
        let mut writer = Writer::open(&options);
        let mut rng = TestRng::with_seed(seed);
        for from in (0..20_000).step_by(10) {
            writer.streams(4, from, 10, false);
            // The writer also puts keys outside of the streams, and keys among those that a stream has
            // written before.
            writer.put(format!("x{:08}", rng.u64(..100_000_000)));
            let late = rng.u64(..=from);
            writer.put(format!("{:03}:{late:08}", rng.u64(..4)));
        }
        writer.settle();
        writer.check();
        writer.write_amplification()
    };
    let (with, without) = (amplification(true), amplification(false));
    assert!(with < 0.8 * without, "{with} with, {without} without");
}

#[test]
fn streams_are_found_before_and_behind_rows_in_no_order() {
    let seed = testkit::rng::seed();
    let amplification = |streams_bypass_level0: bool, beside: char| {
        let fs = MemFs::new();
        let mut options = options(&fs);
        options.column_family.streams_bypass_level0 = streams_bypass_level0;
        let mut writer = Writer::open(&options);
        let mut rng = TestRng::with_seed(seed);
        // Half of the rows do not belong to a stream: thousands in each memtable.
        for from in (0..20_000).step_by(10) {
            writer.streams(4, from, 10, false);
            for _ in 0..40 {
                writer.put(format!("{beside}{:08}", rng.u64(..100_000_000)));
            }
        }
        writer.settle();
        writer.check();
        writer.write_amplification()
    };
    // The streams' keys begin with digits.
    for beside in ['!', 'x'] {
        let (with, without) = (amplification(true, beside), amplification(false, beside));
        assert!(with < 0.85 * without, "{beside}: {with} with, {without} without");
    }
}

#[test]
fn a_stream_stays_above_older_rows_of_its_keys() {
    let fs = MemFs::new();
    let mut writer = Writer::open(&options(&fs));
    let mut rng = testkit::rng::rng();
    // The keys are written in no order, so that their tables are in L0.
    let mut keys: Vec<u64> = (0..2000).collect();
    for at in (1..keys.len()).rev() {
        keys.swap(at, rng.usize(..=at));
    }
    keys.iter().for_each(|key| writer.put(format!("{key:08}")));
    writer.settle();
    (0..2000).for_each(|key| writer.put(format!("{key:08}")));
    writer.settle();
    writer.check();
    // The full compaction moves the older tables to lower levels, so that L0 has room for more.
    let family = writer.db.default_column_family();
    let everything = esker::CompactRangeOptions::default();
    writer
        .db
        .compact_range_cf_opt(&family, None, None, &everything)
        .unwrap();
    (500..1500).for_each(|key| writer.put(format!("{key:08}")));
    writer.settle();
    writer.check();
}

#[test]
fn snapshots_and_deletions_are_respected() {
    let fs = MemFs::new();
    let mut writer = Writer::open(&options(&fs));
    writer.streams(2, 0, 500, false);
    let snapshot = writer.db.snapshot();
    let before = writer.rows.clone();
    // The memtable has newer versions of a stream's keys in their order, and then deletions of them.
    writer.streams(2, 0, 500, false);
    for key in before.keys().step_by(2) {
        writer.db.delete(key).unwrap();
        writer.rows.remove(key);
    }
    writer.settle();
    writer.check();
    let read = ReadOptions {
        snapshot: Some(snapshot.clone()),
        ..ReadOptions::default()
    };
    let family = writer.db.default_column_family();
    for (key, value) in &before {
        let found = writer.db.get_cf_opt(&family, key, &read).unwrap();
        assert_eq!(found.as_ref(), Some(value));
    }
    // Deletions in ascending order form a stream: their tables go to a level without rows to delete, but
    // there are rows in the levels above.
    let mut batch = WriteBatch::new();
    before.keys().for_each(|key| batch.delete(key));
    writer.db.write(batch).unwrap();
    writer.rows.clear();
    writer.settle();
    writer.check();
    drop((read, snapshot));
}

#[test]
fn rocksdb_reads_what_flushes_put_below() {
    let Some(mut ldb) = testkit::oracle::ldb() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(&MemFs::new());
    options.fs = Options::default().fs;
    let path = dir.path().join("db");
    let mut writer = Writer {
        db: Db::open(&options, &path).unwrap(),
        rows: BTreeMap::new(),
        written: 0,
    };
    writer.streams(3, 0, 3000, true);
    writer.settle();
    writer.db.close().unwrap();
    let db = format!("--db={}", path.display());
    let output = ldb.args([&db, "scan"]).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let expected: Vec<String> = writer
        .rows
        .iter()
        .map(|(key, value)| {
            format!(
                "{} : {}",
                String::from_utf8_lossy(key),
                String::from_utf8_lossy(value)
            )
        })
        .collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}
