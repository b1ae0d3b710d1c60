//! Histories that are drawn from seeds.

use std::collections::{BTreeMap, BTreeSet};

use base::simulation::Strategy;
use simulate::{History, generate, run};

#[test]
fn a_seed_repeats_everything_and_so_do_its_turns() {
    let first = testkit::rng::seed();
    let mut hashes = BTreeSet::new();
    for seed in (0..60).map(|more| first.wrapping_add(more)) {
        let history = generate(seed);
        let report = run(&history, true);
        assert_eq!(report.failure, None, "seed {seed}");
        let again = run(&history, true);
        assert_eq!(report.log, again.log, "seed {seed}");
        assert_eq!(report.hash, again.hash, "seed {seed}");
        let turns = Some(Strategy::Turns(report.turns.clone()));
        let text = History {
            schedule: turns,
            ..history
        }
        .to_string();
        let replayed = run(&text.parse().unwrap(), true);
        assert_eq!(report.log, replayed.log, "seed {seed}, by turns");
        assert_eq!((report.points, report.micros), (replayed.points, replayed.micros));
        hashes.insert(report.hash);
    }
    assert_eq!(hashes.len(), 60);
}

#[test]
fn everything_goes_wrong_that_can() {
    let mut happened: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..150 {
        let report = run(&generate(seed), false);
        assert_eq!(report.failure, None, "seed {seed}");
        for (kind, count) in report.faults {
            *happened.entry(kind).or_default() += count;
        }
    }
    for (kind, least) in [
        ("power_losses", 100),
        ("process_deaths", 50),
        ("full_disks", 10),
        ("failed_operations", 20),
        ("torn_operations", 5),
        ("partial_operations", 1),
        ("short_reads", 2),
        ("flipped_bits", 2),
    ] {
        assert!(
            happened.get(kind).is_some_and(|&count| count >= least),
            "{kind}: {happened:?}"
        );
    }
}
