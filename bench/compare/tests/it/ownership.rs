//! One directory, two owners: Esker and RocksDB take turns. Each reads everything, writes, flushes and
//! compacts the other's files, and leaves a part in the WAL. Every result must be the model's.
//!
//! `ESKER_SEED` replays a directory; `ESKER_TURNS` is the number of turns, `ESKER_TURNS_PER_DIRECTORY` the
//! number in one directory.

use dbtest::files;
use dbtest::metamorphic::{EskerStore, Habits, Kind, ModelStore, difference, generate, run_phase};
use esker::Options;
use tempfile::TempDir;
use testkit::TestRng;

use crate::rocksdb_store::RocksDbStore;

/// The number of turns of a plain test run.
const TURNS: usize = 200;

/// The number of turns in one directory; the next directory has other families.
const TURNS_PER_DIRECTORY: usize = 50;

/// The number of levels, which an open database cannot change.
const LEVELS: &str = "4";

#[test]
fn a_directory_changes_hands() {
    let number = |name, usual: usize| testkit::rng::runs(name, usual as u64) as usize;
    let turns = number("ESKER_TURNS", TURNS);
    let at_once = number("ESKER_TURNS_PER_DIRECTORY", TURNS_PER_DIRECTORY);
    let (mut taken, mut operations, mut directories) = (0, 0, 0);
    for seed in testkit::rng::seeds(u64::MAX) {
        if taken >= turns {
            break;
        }
        let (turns, done) = share(seed, at_once);
        taken += turns;
        operations += done;
        directories += 1;
    }
    eprintln!("{taken} turns over {directories} directories, {operations} operations");
}

/// Runs up to `turns` turns in a directory of its own; returns the number of turns done and of their
/// operations.
fn share(seed: u64, turns: usize) -> (usize, usize) {
    let mut rng = TestRng::with_seed(seed);
    let phase = *rng.pick(&[20, 60]);
    let kind = Kind {
        operations: turns * 4 * phase as usize,
        phase,
        errors: false,
        scan_all: true,
        timestamps: false,
    };
    let plan = generate(&mut rng, kind);
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    let habits = Habits {
        meddles: true,
        without_wal: rng.one_in(4),
        redraws: true,
        ..Habits::default()
    };
    let (ours, theirs) = (rng.u64(..), rng.u64(..));
    let mut options = Options::default();
    dbtest::settings::set(&mut options, "num_levels", LEVELS).unwrap();
    let mut esker = EskerStore::new(&plan, options, path.clone(), habits, TestRng::with_seed(ours));
    esker.draw(true);
    let levels = LEVELS.parse().unwrap();
    let mut rocksdb = RocksDbStore::new(&plan, path, levels, TestRng::with_seed(theirs));
    let mut model = ModelStore::new(&plan);
    let rocksdb_begins = rng.bool();
    let (mut taken, mut done) = (0, 0);
    for (turn, operations) in plan.phases().take(turns).enumerate() {
        let mut expected = Vec::new();
        run_phase(model.open(), operations, &mut expected);
        let its_turn = turn.is_multiple_of(2) == rocksdb_begins;
        let owner = if its_turn { "RocksDB" } else { "Esker" };
        let at = format!("ESKER_SEED={seed}: turn {turn}, {owner}");
        let mut history = Vec::new();
        if its_turn {
            let db = rocksdb
                .open()
                .unwrap_or_else(|error| panic!("{at} opens it: {error}"));
            run_phase(&db, operations, &mut history);
            if rng.one_in(4) {
                db.settle();
            }
        } else {
            let db = esker
                .open()
                .unwrap_or_else(|error| panic!("{at} opens it: {error}"));
            let left = files::check(db.db()).unwrap();
            assert!(beyond_shared_keys(&left).is_empty(), "{at} finds: {left}");
            run_phase(&db, operations, &mut history);
            if rng.one_in(4) {
                db.db().wait_for_compact().unwrap();
            }
            let found = files::check(db.db()).unwrap();
            let wrong = match left.is_empty() {
                true => found.clone(),
                false => beyond_shared_keys(&found),
            };
            assert!(wrong.is_empty(), "{at}: {found}");
        }
        if let Some(found) = difference(&expected, &history) {
            panic!("{at}: one is the model, other {owner}\n{found}");
        }
        taken += 1;
        done += operations.len();
    }
    (taken, done)
}

/// Faults of files, except a user key in two files of one level: RocksDB cuts its files between versions of a
/// key that snapshots separate, Esker does not, and such files stay for a while. The tombstones of the second
/// file then begin after the versions in the first, which the check, by user keys, does not see.
fn beyond_shared_keys(found: &str) -> String {
    let covers_the_shared_key = |line: &str| {
        let start = line.strip_prefix('[').and_then(|line| line.split_once(','));
        start.is_some_and(|(start, rest)| rest.contains(&format!(" covers {start}@")))
    };
    found
        .lines()
        .filter(|line| {
            !line.starts_with("  ") && !line.ends_with(" overlap:") && !covers_the_shared_key(line)
        })
        .collect()
}
