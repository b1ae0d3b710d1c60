//! Histories as text, each of which failed once. `history` runs one under its turns or schedule; with
//! `seeds=N`, also under N further seeds.

use simulate::{History, run};
use testkit::datadriven;

#[test]
fn scripts() {
    datadriven::run(
        "tests/testdata",
        |_| (),
        |(), case| {
            let seeds: u64 = case.try_take_arg("seeds").expect("a number").unwrap_or(0);
            let history: History = case.input.parse().expect("a history");
            let mut operations = 0;
            for more in 0..=seeds {
                let history = History {
                    seed: history.seed.wrapping_add(more),
                    ..history.clone()
                };
                let report = run(&history, false);
                if let Some(failure) = report.failure {
                    return format!("seed {}: {failure}", history.seed);
                }
                operations += report.operations;
            }
            format!("{operations} operations, all promises kept")
        },
    );
}
