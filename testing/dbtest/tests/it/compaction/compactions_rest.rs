//! Compactions come to an end in a database to which no rows are added, whatever the options are.

use std::sync::Arc;
use std::time::Duration;

use dbtest::events::Recorder;
use dbtest::settings;
use esker::option_table::OptionTable;
use esker::{
    BlockBasedOptions, ColumnFamily, ColumnFamilyOptions, CompactionReason, Db, Event, FlushOptions,
    ManualClock, MergeOperator, Options, WriteBatch,
};
use vfs::MemFs;

/// A number of jobs that no database of these tests reaches: the largest count is below 100.
const MOST: usize = 300;

/// The options of three families: with plain keys and a merge operator that refuses some merges, with
/// timestamps, and with a merge operator that refuses all.
const FAMILIES: [&str; 3] = ["default", "stamped", "refusing"];

/// True for a job on tables with timestamps that cannot change anything, because the history is kept
/// permanently. `None` for an event that is no job that changes the set of files.
fn is_in_vain(event: &Event) -> Option<bool> {
    match event {
        Event::CompactionBegun { family, reason, .. } => {
            Some(family == "stamped" && *reason == CompactionReason::BottommostFiles)
        }
        Event::Moved { .. } | Event::Dropped { .. } => Some(false),
        _ => None,
    }
}

struct Refuses;

impl MergeOperator for Refuses {
    fn name(&self) -> &str {
        "dbtest.Refuses"
    }

    fn full_merge(&self, _key: &[u8], _existing: Option<&[u8]>, _operands: &[&[u8]]) -> Option<Vec<u8>> {
        None
    }
}

struct Case {
    db: Db,
    clock: Arc<ManualClock>,
    /// The jobs that change the set of files, as [`is_in_vain`] returns them.
    jobs: Arc<Recorder<bool>>,
    /// The family with timestamps keeps its history permanently.
    keeps_history: bool,
    families: Vec<ColumnFamily>,
}

fn small() -> Options {
    let mut family = ColumnFamilyOptions {
        write_buffer_size: 64 << 10,
        target_file_size_base: 2 << 10,
        max_bytes_for_level_base: 4 << 10,
        level0_file_num_compaction_trigger: 2,
        ..ColumnFamilyOptions::default()
    };
    family.table.block_size = 512;
    settings::set_family(&mut family, "merge_operator", "max").unwrap();
    Options {
        column_family: family,
        ..Options::default()
    }
}

impl Case {
    fn open(mut options: Options) -> Case {
        let clock = Arc::new(ManualClock::default());
        clock.advance(Duration::from_secs(1_700_000_000));
        let jobs = Recorder::of(is_in_vain);
        options.create_if_missing = true;
        options.create_missing_column_families = true;
        options.fs = Arc::new(MemFs::new());
        options.clock = clock.clone();
        options.listeners.push(jobs.clone());
        let mut stamped = options.column_family.clone();
        stamped.merge_operator = None;
        settings::set_family(&mut stamped, "comparator", "u64ts").unwrap();
        // Timestamps that are only in memtables require that concurrent writes to memtables are off.
        let keeps_history = stamped.persist_user_defined_timestamps;
        options.allow_concurrent_memtable_write &= keeps_history;
        let mut refusing = options.column_family.clone();
        refusing.merge_operator = Some(Arc::new(Refuses));
        options.column_families.insert("stamped".to_owned(), stamped);
        options.column_families.insert("refusing".to_owned(), refusing);
        let db = Db::open(&options, "/db").unwrap();
        let families = FAMILIES.map(|name| db.column_family(name).unwrap());
        Case {
            db,
            clock,
            jobs,
            keeps_history,
            families: families.into(),
        }
    }

    /// Overwrites, deletes and merges some keys, and flushes.
    fn round(&self, round: u64) {
        let [default, stamped, refusing] = &self.families[..] else {
            panic!("three families");
        };
        for i in 0..30u64 {
            let key = format!("key{:03}", (i * 7 + round * 3) % 40).into_bytes();
            let value = format!("value {i} of round {round} ")
                .repeat(1 + (i % 4) as usize)
                .into_bytes();
            let stamp = (100 * round + i + 1).to_le_bytes();
            let mut batch = WriteBatch::new();
            match i % 6 {
                0 => {
                    batch.delete_cf(default, &key);
                    batch.delete_at(stamped, &key, &stamp);
                    batch.delete_cf(refusing, &key);
                }
                1 => {
                    let operand = if i % 12 == 1 { "refuse" } else { "operand" };
                    batch.merge_cf(default, &key, operand);
                    batch.merge_cf(refusing, &key, b"operand");
                }
                _ => {
                    batch.put_cf(default, &key, &value);
                    batch.put_at(stamped, &key, &stamp, &value);
                    batch.put_cf(refusing, &key, &value);
                }
            }
            if i == 17 {
                batch.delete_range_cf(default, b"key010", b"key013");
                batch.delete_range_cf(refusing, b"key010", b"key013");
            }
            self.db.write(batch).unwrap();
        }
        let at_once = FlushOptions {
            allow_write_stall: true,
            ..FlushOptions::default()
        };
        self.db.flush_cf_opt(&self.families, &at_once).unwrap();
    }

    /// Waits until no job is due. Returns the number of jobs so far; an error if they do not end.
    fn rest(&self) -> Result<usize, String> {
        loop {
            let jobs = self.jobs.count();
            if jobs > MOST {
                return Err(format!("{jobs} jobs and no end"));
            }
            let number = |family: &ColumnFamily, name: &str| self.db.property_int(family, name).unwrap();
            let is_busy = |family: &ColumnFamily| {
                [
                    "rocksdb.compaction-pending",
                    "rocksdb.num-running-compactions",
                    "rocksdb.mem-table-flush-pending",
                    "rocksdb.num-running-flushes",
                ]
                .into_iter()
                .any(|name| number(family, name) > 0)
            };
            assert_eq!(number(&self.families[0], "rocksdb.background-errors"), 0);
            if !self.families.iter().any(is_busy) {
                return Ok(jobs);
            }
            std::thread::yield_now();
        }
    }

    /// Writes rows with a snapshot and without, waits a long time, and writes rows again.
    fn run(self) -> Result<usize, String> {
        for round in 0..3 {
            self.round(round);
        }
        let snapshot = self.db.snapshot();
        self.round(3);
        self.rest()?;
        drop(snapshot);
        // The engine notices released snapshots at the end of a job.
        self.round(4);
        self.rest()?;
        self.clock.advance(Duration::from_secs(90 * 86_400));
        self.round(5);
        self.rest()?;
        drop(self.db.snapshot());
        self.round(6);
        let jobs = self.rest()?;
        match self.jobs.all().into_iter().filter(|in_vain| *in_vain).count() {
            0 => Ok(jobs),
            // A flush that leaves timestamps out raises `full_history_ts_low`.
            _ if !self.keeps_history => Ok(jobs),
            in_vain => Err(format!("{in_vain} jobs that could change nothing")),
        }
    }
}

/// Runs a case with each value of each option of one table.
fn each<S: OptionTable>(change: impl Fn(&mut Options, &str, &str)) {
    let mut values = 0;
    let mut most = 0;
    for row in S::rows() {
        for value in row.domain {
            let mut options = small();
            change(&mut options, row.name, value);
            match Case::open(options).run() {
                Ok(jobs) => most = most.max(jobs),
                Err(why) => panic!("{}={value}: {why}", row.name),
            }
            values += 1;
        }
    }
    assert!(values > 20, "{values} values");
    assert!(most > 5 && most < MOST / 3, "{most} jobs at most");
}

#[test]
fn with_every_option_of_a_family() {
    for style in ["kCompactionStyleLevel", "kCompactionStyleUniversal"] {
        each::<ColumnFamilyOptions>(|options, name, value| {
            options.column_family.set("compaction_style", style).unwrap();
            options.column_family.set(name, value).unwrap();
        });
    }
}

#[test]
fn with_every_option_of_tables() {
    each::<BlockBasedOptions>(|options, name, value| options.column_family.table.set(name, value).unwrap());
}

#[test]
fn with_every_option_of_a_database() {
    each::<Options>(|options, name, value| options.set(name, value).unwrap());
}
