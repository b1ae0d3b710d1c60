//! The text about a workload, in RocksDB's words and columns, so that programs which read RocksDB's output
//! can read it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::histogram::Histogram;
use crate::intervals::Interval;
use crate::op::Op;
use crate::resources::Cpu;

/// The work of all threads of a run together.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The number of operations.
    pub done: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// Time from the first thread's start to the last one's end.
    pub elapsed: Duration,
    /// The sum of the threads' times.
    pub busy: Duration,
    /// The text that the workload adds to its result line.
    pub message: String,
    /// The latencies by kind.
    pub latencies: BTreeMap<Op, Histogram>,
    /// True if the text shows the distributions.
    pub histogram: bool,
    /// The number of operations of a background writer. The other counts do not include them.
    pub background_done: u64,
    /// The latencies of the background writer.
    pub background: BTreeMap<Op, Histogram>,
    /// Bytes that were due by `--benchmark_write_rate_limit` and not written when the run ended.
    pub overdue_writes: u64,
    /// Reads that were due by `--benchmark_read_rate_limit` and not done when the run ended.
    pub overdue_reads: u64,
    /// The number of file reads that the threads did themselves.
    pub reads: u64,
    /// The bytes of the reads from files.
    pub bytes_read: u64,
    /// Processor time of the threads.
    pub cpu: Cpu,
    /// The course of the run, for `--json`.
    pub intervals: Vec<Interval>,
}

impl Summary {
    /// Operations a second.
    pub fn ops_per_second(&self) -> f64 {
        self.done.max(1) as f64 / self.seconds()
    }

    /// Mebibytes a second; `None` if no bytes were counted.
    pub fn mib_per_second(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.bytes as f64 / 1_048_576.0 / self.seconds())
    }

    fn seconds(&self) -> f64 {
        self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The note on work that was due by a rate and not done when the run ended; no latency includes it. Empty
    /// if there is none.
    pub fn overdue_text(&self) -> String {
        let mut text = String::new();
        for (what, overdue) in [
            ("bytes to write", self.overdue_writes),
            ("reads", self.overdue_reads),
        ] {
            if overdue > 0 {
                text.push_str(&format!(
                    "note: {overdue} {what} were due when the run ended and not done; their latencies are not known\n"
                ));
            }
        }
        text
    }

    /// The line of workload `name`, and its distributions if they were asked for.
    pub fn text(&self, name: &str) -> String {
        let done = self.done.max(1);
        let mut extra = self
            .mib_per_second()
            .map_or(String::new(), |rate| format!(" {rate:6.1} MB/s"));
        if !self.message.is_empty() {
            extra.push(' ');
            extra.push_str(&self.message);
        }
        let mut text = format!(
            "{name:<12} : {:>11.3} micros/op {} ops/sec {:.3} seconds {done} operations;{extra}\n",
            self.busy.as_secs_f64() * 1e6 / done as f64,
            self.ops_per_second() as u64,
            self.seconds(),
        );
        let shown = self.latencies.iter().filter(|_| self.histogram);
        for (op, latencies) in shown {
            text.push_str(&format!(
                "Microseconds per {}:\n{}\n",
                op.name(),
                latencies.text()
            ));
        }
        text
    }
}

/// The results of several runs of one workload, such as five for `name[X5]`.
#[derive(Debug, Default)]
pub struct Repetitions {
    ops: Vec<f64>,
    mib: Vec<f64>,
}

impl Repetitions {
    /// Adds a run.
    pub fn add(&mut self, run: &Summary) {
        self.ops.push(run.ops_per_second());
        self.mib.extend(run.mib_per_second());
    }

    fn has_bytes(&self) -> bool {
        self.ops.len() == self.mib.len()
    }

    /// The line after each run from the second on: averages so far, or 95% confidence intervals.
    pub fn text(&self, name: &str, intervals: bool) -> String {
        let runs = self.ops.len();
        if runs < 2 {
            return String::new();
        }
        let (ops, ops_error) = (mean(&self.ops), confidence(&self.ops));
        let mut text = if intervals {
            format!(
                "{name} [CI95 {runs} runs] : ({}, {}) ops/sec",
                (ops - ops_error) as i64,
                (ops + ops_error) as i64
            )
        } else {
            format!(
                "{name} [AVG {runs} runs] : {} (± {}) ops/sec",
                ops as i64, ops_error as i64
            )
        };
        if self.has_bytes() {
            let (mib, mib_error) = (mean(&self.mib), confidence(&self.mib));
            text.push_str(&if intervals {
                format!("; ({:.1}, {:.1}) MB/sec", mib - mib_error, mib + mib_error)
            } else {
                format!("; {mib:6.1} (± {mib_error:.1}) MB/sec")
            });
        }
        text + "\n"
    }

    /// The lines after the last run.
    pub fn closing_text(&self, name: &str) -> String {
        let runs = self.ops.len();
        if runs < 2 {
            return String::new();
        }
        let (ops, ops_error) = (mean(&self.ops), confidence(&self.ops));
        let average = format!(
            "{} (± {}) ops/sec; {:.3} ms/op",
            ops as i64,
            ops_error as i64,
            1e3 / ops
        );
        let mut lines = [
            format!("{name} [AVG    {runs} runs] : {average}"),
            format!(
                "{name} [MEDIAN {runs} runs] : {} ops/sec",
                median(&self.ops) as i64
            ),
        ];
        if self.has_bytes() {
            lines[0].push_str(&format!(
                "; {:6.1} (± {:.1}) MB/sec",
                mean(&self.mib),
                confidence(&self.mib)
            ));
            lines[1].push_str(&format!("; {:6.1} MB/sec", median(&self.mib)));
        }
        format!("\n{}\n", lines.join("\n"))
    }
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    }
}

/// Half the width of the 95% confidence interval of the mean, for samples of a normal distribution.
fn confidence(samples: &[f64]) -> f64 {
    let mean = mean(samples);
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    let deviation = (squares / (samples.len() - 1) as f64).sqrt();
    1.959_964 * deviation / (samples.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(done: u64, bytes: u64, millis: u64) -> Summary {
        let elapsed = Duration::from_millis(millis);
        Summary {
            done,
            bytes,
            elapsed,
            busy: elapsed,
            ..Default::default()
        }
    }

    #[test]
    fn lines_are_rocksdbs() {
        assert_eq!(
            run(1_000_000, 116_000_000, 1_874).text("fillseq"),
            "fillseq      :       1.874 micros/op 533617 ops/sec 1.874 seconds 1000000 operations;   59.0 MB/s\n"
        );
        let mut summary = run(1_000, 0, 2_000);
        summary.busy = Duration::from_secs(4);
        summary.message = "(500 of 1000 found)\n".to_owned();
        assert_eq!(
            summary.text("multireadrandom"),
            "multireadrandom :    4000.000 micros/op 500 ops/sec 2.000 seconds 1000 operations; (500 of 1000 found)\n\n"
        );
        assert!(run(0, 0, 0).text("compact").contains(" 1 operations;\n"));
    }

    #[test]
    fn distributions_follow_their_line() {
        let mut summary = run(1, 0, 1);
        summary.histogram = true;
        summary
            .latencies
            .entry(Op::Seek)
            .or_default()
            .record(Duration::from_micros(5));
        assert!(
            summary
                .text("seekrandom")
                .contains("operations;\nMicroseconds per seek:\nCount: 1 ")
        );
    }

    #[test]
    fn repetitions_are_averaged() {
        let mut runs = Repetitions::default();
        runs.add(&run(100, 0, 1_000));
        assert_eq!(runs.text("x", false), "");
        runs.add(&run(200, 0, 1_000));
        runs.add(&run(300, 0, 1_000));
        assert_eq!(runs.text("x", false), "x [AVG 3 runs] : 200 (± 113) ops/sec\n");
        assert_eq!(runs.text("x", true), "x [CI95 3 runs] : (86, 313) ops/sec\n");
        assert_eq!(
            runs.closing_text("x"),
            "\nx [AVG    3 runs] : 200 (± 113) ops/sec; 5.000 ms/op\nx [MEDIAN 3 runs] : 200 ops/sec\n"
        );
        let mut runs = Repetitions::default();
        runs.add(&run(1, 1 << 20, 1_000));
        runs.add(&run(1, 3 << 20, 1_000));
        assert_eq!(
            runs.text("x", false),
            "x [AVG 2 runs] : 1 (± 0) ops/sec;    2.0 (± 2.0) MB/sec\n"
        );
    }
}
