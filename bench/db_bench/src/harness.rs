//! The cost of the harness itself: the loop of an operation with nothing in it.

use std::hint::black_box;

use base::Result;

use crate::document::Harness;
use crate::flags::Flags;
use crate::keys::KeyFormat;
use crate::op::Op;
use crate::runner;
use crate::seeds::Seeds;

/// The number of rounds. Each is short, so that some are not interrupted; their median is reported.
const ROUNDS: u64 = 9;
const OPERATIONS: u64 = 20_000;

/// Measures the cost of the harness for every operation of a run with these flags: drawing a number, making a
/// key, the clock, histograms, counting. One thread, no rate.
pub fn measure(flags: &Flags) -> Result<Harness> {
    let flags = Flags {
        threads: 1,
        duration: 0,
        benchmark_read_rate_limit: 0,
        benchmark_write_rate_limit: 0,
        report_interval_seconds: 0,
        stats_interval: 0,
        progress_reports: false,
        ..flags.clone()
    };
    let keys = KeyFormat::new(
        flags.key_size as usize,
        flags.prefix_size.max(0) as usize,
        flags.num as u64,
        flags.keys_per_prefix.max(0) as u64,
    );
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        // The harness has its own seeds: the seeds of the workloads do not depend on whether the harness is
        // measured.
        let seeds = Seeds::new(1 + round as i64);
        let summary = runner::run(&flags, 1, 0, &seeds, &(), &|thread| {
            let mut key = keys.allocate();
            let mut pace = thread.pace(0, OPERATIONS as i64);
            while !pace.done(1) {
                let number = thread.rng.u64(..flags.num as u64);
                keys.write(number, &mut key);
                black_box(&key);
                thread.finished(1, Op::Other);
            }
            Ok(())
        })?;
        rounds.push(summary.elapsed.as_nanos() as f64 / OPERATIONS as f64);
    }
    rounds.sort_by(f64::total_cmp);
    Ok(Harness {
        nanos_per_operation: rounds[rounds.len() / 2],
        least: rounds[0],
        most: rounds[rounds.len() - 1],
        rounds: ROUNDS,
    })
}

/// The line about the harness.
pub fn text(harness: &Harness) -> String {
    format!(
        "Harness:    {:.3} micros/op ({:.3} to {:.3}) for key, clock and counting, which every figure below includes\n",
        harness.nanos_per_operation / 1e3,
        harness.least / 1e3,
        harness.most / 1e3,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_takes_some_time() {
        for json in ["", "x"] {
            let flags = Flags {
                json: json.to_owned(),
                histogram: json.is_empty(),
                // Flags that would make the measurement of the harness wait or print are reset.
                benchmark_read_rate_limit: 1,
                stats_interval: 1,
                ..Flags::default()
            };
            let harness = measure(&flags).unwrap();
            assert!(harness.least > 0.0 && harness.least <= harness.nanos_per_operation);
            assert!(harness.nanos_per_operation <= harness.most);
            assert!(text(&harness).starts_with("Harness:    "));
        }
    }
}
