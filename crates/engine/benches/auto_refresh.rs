//! The cost of `auto_refresh_iterator_with_snapshot` for an iterator over an unchanged database: the ratio of
//! its time with the option to its time without. `cargo bench -p esker --bench auto_refresh`.
//!
//! One iterator runs in both modes, in turns of some milliseconds: refreshed with a snapshot it refreshes
//! itself automatically, refreshed without one it does not, and it reads the same rows. The placement of its
//! memory after a refresh still changes the ratio by up to a percent. The rows are those of RocksDB's pull
//! request 13354: keys of 32 bytes and values of 512 without compression, all of them in the block cache.
//!
//! The result shows whether there is a reason to turn the option off.

use std::hint::black_box;
use std::time::{Duration, Instant};

use esker::{
    BlockBasedOptions, Cache, CacheOptions, ColumnFamilyOptions, CompressionType, Db, DbIterator, Options,
    WriteOptions,
};
use paired::{Comparison, median};
use tempfile::TempDir;
use testkit::bench::size;

const KEY_LEN: usize = 32;
const VALUE_LEN: usize = 512;

/// A ratio within this distance of 1 counts as equal.
const MARGIN: f64 = 0.01;

/// The moves of the iterator in one measurement.
struct Walk {
    name: &'static str,
    steps: usize,
    backwards: bool,
    /// The number of seeks in a turn.
    seeks: usize,
    /// The number of turns in a round, for each mode.
    turns: usize,
}

const fn walk(name: &'static str, steps: usize, backwards: bool, seeks: usize, turns: usize) -> Walk {
    Walk {
        name,
        steps,
        backwards,
        seeks,
        turns,
    }
}

const WALKS: [Walk; 6] = [
    walk("seek", 0, false, 2_000, 8),
    walk("seek, 10 steps", 10, false, 1_000, 8),
    walk("seek, 100 steps", 100, false, 300, 8),
    walk("seek, 100 steps back", 100, true, 200, 8),
    walk("seek, 20,000 steps", 20_000, false, 4, 8),
    walk("seek, 400,000 steps", 400_000, false, 1, 2),
];

/// A database and its directory, which is dropped after it.
struct Scratch {
    db: Db,
    rows: usize,
    _dir: TempDir,
}

fn key(row: usize) -> [u8; KEY_LEN] {
    let mut key = [b'0'; KEY_LEN];
    key[..8].copy_from_slice(&(row as u64).to_be_bytes());
    key
}

impl Scratch {
    /// Creates a database with rows in one level, and loads every block into the cache.
    fn new(rows: usize) -> Scratch {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let table = BlockBasedOptions {
            block_cache: Some(Cache::lru(CacheOptions {
                capacity: 2 << 30,
                ..CacheOptions::default()
            })),
            ..BlockBasedOptions::default()
        };
        let options = Options {
            create_if_missing: true,
            column_family: ColumnFamilyOptions {
                compression: CompressionType::None,
                table,
                ..ColumnFamilyOptions::default()
            },
            ..Options::default()
        };
        let db = Db::open(&options, dir.path()).expect("a database");
        let family = db.default_column_family();
        let unlogged = WriteOptions {
            disable_wal: true,
            ..WriteOptions::default()
        };
        let mut rng = fastrand::Rng::with_seed(13354);
        let mut value = [0; VALUE_LEN];
        for row in 0..rows {
            rng.fill(&mut value);
            db.put_cf_opt(&family, key(row), value, &unlogged)
                .expect("a write");
        }
        db.compact_range_cf(&family, None, None).expect("one level");
        let mut all = db.iter();
        all.seek_to_first();
        while all.valid() {
            all.next();
        }
        all.status().expect("a scan");
        Scratch { db, rows, _dir: dir }
    }

    /// Runs one turn and returns its time.
    fn turn(&self, walk: &Walk, iterator: &mut DbIterator, rng: &mut fastrand::Rng) -> Duration {
        let steps = walk.steps.min(self.rows - 1);
        let begin = Instant::now();
        for _ in 0..size(walk.seeks, 1) {
            let row = rng.usize(..self.rows - steps);
            iterator.seek(&key(if walk.backwards { row + steps } else { row }));
            for _ in 0..steps {
                black_box(iterator.value());
                if walk.backwards {
                    iterator.prev();
                } else {
                    iterator.next();
                }
            }
            assert!(iterator.valid(), "a row on which {} end", walk.name);
            black_box(iterator.key());
        }
        begin.elapsed()
    }

    /// The nanoseconds of a seek with its steps, without the option and with it, for each round.
    fn measure(&self, walk: &Walk) -> Vec<[f64; 2]> {
        let snapshot = self.db.snapshot();
        let mut iterator = self.db.iter();
        let mut rng = fastrand::Rng::with_seed(13354);
        let mut round = || {
            let mut times = [Duration::ZERO; 2];
            for turn in 0..2 * walk.turns {
                // The modes alternate as off, on, on, off, so that each mode follows each equally often.
                let on = turn % 4 == 1 || turn % 4 == 2;
                iterator
                    .refresh(on.then_some(&snapshot))
                    .expect("nothing has changed");
                times[usize::from(on)] += self.turn(walk, &mut iterator, &mut rng);
            }
            times.map(|time| time.as_nanos() as f64 / (walk.turns * size(walk.seeks, 1)) as f64)
        };
        (0..size(200, 1)).map(|_| round()).collect()
    }
}

fn main() {
    let scratch = Scratch::new(size(500_000, 100));
    println!(
        "{:<22} {:>12} {:>12}   on to off (95% interval)",
        "", "off, ns", "on, ns"
    );
    for walk in &WALKS {
        let rounds = scratch.measure(walk);
        let ratios: Vec<f64> = rounds.iter().map(|[off, on]| on / off).collect();
        let comparison = Comparison::new(&ratios, MARGIN).expect("a round");
        let (low, high) = comparison
            .interval
            .unwrap_or((comparison.least, comparison.greatest));
        let of = |which: usize| median(&rounds.iter().map(|times| times[which]).collect::<Vec<_>>());
        println!(
            "{:<22} {:>12.1} {:>12.1}   {:.4} ({low:.4}..{high:.4})  {}",
            walk.name,
            of(0),
            of(1),
            comparison.median,
            comparison.words("off", "on")
        );
    }
}
