//! The same operations under many sets of options give the same history.
//!
//! Plans without operations that must fail are compared with the model, all plans with Esker under its
//! default options. Half of the sets also run random background work, write without a WAL, or change their
//! options at each opening. `ESKER_SEED` replays a plan with its sets; `ESKER_METAMORPHIC_PLANS` is the
//! number of plans.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dbtest::metamorphic::{
    EskerStore, Habits, Kind, Layer, ModelStore, Plan, difference, generate, run_phase,
};
use esker::Options;
use tempfile::TempDir;
use testkit::{TestRng, Watchdog};
use vfs::{FileSystem, MemFs, PosixFs};

/// The number of plans in a normal test run.
const PLANS: u64 = 8;

/// The number of option sets for each plan.
const SETS: u64 = 6;

#[test]
fn option_sets_change_no_history() {
    let limit = Duration::from_secs(240);
    let watchdog = Watchdog::new("option_sets_change_no_history", limit, String::new);
    let (mut plans, mut sets, mut operations) = (0, 0, 0);
    let wanted = testkit::rng::runs("ESKER_METAMORPHIC_PLANS", PLANS);
    for seed in testkit::rng::seeds(wanted) {
        watchdog.beat();
        let plan = compare(seed);
        plans += 1;
        sets += SETS + 1;
        operations += plan.operations.len() as u64 * (SETS + 1);
    }
    assert_eq!(plans, testkit::rng::seeds_of(wanted));
    testkit::record(
        "metamorphic",
        &[
            ("plans", plans),
            ("seeds", plans),
            ("option_sets", sets),
            ("operations", operations),
        ],
    );
}

/// Runs the plan of `seed` under its option sets.
fn compare(seed: u64) -> Plan {
    let mut rng = TestRng::with_seed(seed);
    let kind = Kind {
        operations: *rng.pick(&[150, 400, 1500]),
        phase: 150,
        errors: rng.one_in(3),
        scan_all: true,
        timestamps: true,
    };
    let plan = generate(&mut rng, kind);
    let mem = || -> (Arc<dyn FileSystem>, PathBuf) { (Arc::new(MemFs::new()), PathBuf::from("/db")) };
    let with = |(fs, path): (Arc<dyn FileSystem>, PathBuf), habits, seed| {
        let options = Options {
            fs,
            ..Options::default()
        };
        EskerStore::new(&plan, options, path, habits, TestRng::with_seed(seed))
    };
    let defaults = history(&plan, with(mem(), Habits::default(), seed), "under the defaults");
    if !kind.errors {
        let mut model = Vec::new();
        let mut store = ModelStore::new(&plan);
        plan.phases()
            .for_each(|phase| run_phase(store.open(), phase, &mut model));
        if let Some(found) = difference(&model, &defaults) {
            panic!("ESKER_SEED={seed}: one is the model, other Esker under its defaults\n{found}");
        }
    }
    for set in 0..SETS {
        let seed_of_set = rng.u64(..);
        let without_wal = rng.one_in(4);
        let habits = Habits {
            meddles: rng.bool(),
            without_wal,
            redraws: rng.bool(),
            entities: rng.one_in(3),
            paths: rng.one_in(4),
            layer: *rng.pick(&[
                Layer::None,
                Layer::None,
                Layer::Locks,
                Layer::Optimistic,
                Layer::TimeToLive,
            ]),
            feed: !without_wal && rng.one_in(3),
        };
        // Most databases are in memory, which is faster.
        let directory = rng.one_in(20).then(|| TempDir::new().unwrap());
        let place = directory.as_ref().map_or_else(mem, |directory| {
            (
                Arc::new(PosixFs::new()) as Arc<dyn FileSystem>,
                directory.path().join("db"),
            )
        });
        let mut store = with(place, habits, seed_of_set);
        store.draw(false);
        let what = format!("set {set}, {}", store.describe());
        let history = history(&plan, store, &what);
        if let Some(found) = difference(&defaults, &history) {
            panic!("ESKER_SEED={seed}: one is under the defaults, other {what}\n{found}");
        }
    }
    plan
}

fn history(plan: &Plan, mut store: EskerStore, what: &str) -> Vec<String> {
    let mut history = Vec::new();
    for phase in plan.phases() {
        let db = store
            .open()
            .unwrap_or_else(|error| panic!("open {what}: {error}"));
        run_phase(&db, phase, &mut history);
    }
    history
}

#[test]
fn a_seed_draws_the_same_plan_again() {
    let seed = testkit::rng::seed();
    let kind = Kind {
        operations: 300,
        phase: 10,
        errors: true,
        timestamps: true,
        scan_all: true,
    };
    let draw = || generate(&mut TestRng::with_seed(seed), kind);
    assert_eq!(draw().operations, draw().operations, "seed {seed}");
    assert!(draw().phases().count() > 1);
}

/// A test of the comparison itself: a differing line is found and named.
#[test]
fn a_difference_is_found() {
    let line = |text: &str| text.to_owned();
    let one = [line("write -> ok"), line("get 0:'a' -> 'b'")];
    assert_eq!(difference(&one, &one.clone()), None);
    let found = difference(&one, &[line("write -> ok"), line("get 0:'a' -> none")]).unwrap();
    assert!(
        found.contains("operation 1 of 2") && found.contains("get 0:'a' -> none"),
        "{found}"
    );
    assert!(difference(&one, &one[..1]).unwrap().contains("(ends)"));
}
