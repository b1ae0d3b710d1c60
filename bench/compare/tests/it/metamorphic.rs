//! RocksDB as one of the sets: Esker under drawn options and RocksDB under drawn options give the same
//! history of a plan.
//!
//! `ESKER_SEED` replays a plan; `ESKER_METAMORPHIC_PLANS` is the number of plans.

use dbtest::metamorphic::{EskerStore, Habits, Kind, difference, generate, run_phase};
use esker::Options;
use tempfile::TempDir;
use testkit::TestRng;

use crate::rocksdb_store::RocksDbStore;

/// The number of plans of a plain test run.
const PLANS: u64 = 20;

#[test]
fn rocksdb_tells_the_same_history() {
    let plans = testkit::rng::runs("ESKER_METAMORPHIC_PLANS", PLANS);
    let operations: usize = testkit::rng::seeds(plans).map(compare).sum();
    eprintln!("{plans} plans, {operations} operations by each engine");
}

fn compare(seed: u64) -> usize {
    let mut rng = TestRng::with_seed(seed);
    let kind = Kind {
        operations: *rng.pick(&[300, 1500]),
        phase: 150,
        errors: false,
        scan_all: true,
        timestamps: false,
    };
    let plan = generate(&mut rng, kind);
    let dir = TempDir::new().unwrap();
    let habits = Habits {
        meddles: rng.bool(),
        without_wal: false,
        redraws: true,
        ..Habits::default()
    };
    let (ours, theirs) = (rng.u64(..), rng.u64(..));
    let own = TestRng::with_seed(ours);
    let mut store = EskerStore::new(&plan, Options::default(), dir.path().join("esker"), habits, own);
    store.draw(false);
    let mut esker = Vec::new();
    for phase in plan.phases() {
        let db = store
            .open()
            .unwrap_or_else(|error| panic!("ESKER_SEED={seed}: {error}"));
        run_phase(&db, phase, &mut esker);
    }
    let own = TestRng::with_seed(theirs);
    let mut store = RocksDbStore::new(&plan, dir.path().join("rocksdb"), *rng.pick(&[2, 4, 7]), own);
    let mut rocksdb = Vec::new();
    for phase in plan.phases() {
        let db = store
            .open()
            .unwrap_or_else(|error| panic!("ESKER_SEED={seed}: {error}"));
        run_phase(&db, phase, &mut rocksdb);
    }
    if let Some(found) = difference(&rocksdb, &esker) {
        panic!("ESKER_SEED={seed}: one is RocksDB, other Esker\n{found}");
    }
    plan.operations.len()
}
