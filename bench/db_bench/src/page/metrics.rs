//! The figures of a run that the page shows: their names, units and values, by subject.

use self::Better::{Less, More, Neither};
use super::svg;
use crate::document::Benchmark;
use crate::histogram::Percentiles;

/// The direction, higher or lower, in which a figure is better.
#[derive(Clone, Copy, PartialEq)]
pub enum Better {
    More,
    Less,
    Neither,
}

/// A function that returns a figure of a run, or `None` if the run does not have it.
type Value = dyn Fn(&Benchmark) -> Option<f64>;

/// A name, and the figure of a distribution that it denotes.
type OfLatency = (&'static str, fn(&Percentiles) -> f64);

/// A figure of a run.
pub struct Metric {
    pub name: String,
    /// Writes a value with its unit.
    pub unit: fn(f64) -> String,
    pub better: Better,
    pub value: Box<Value>,
}

fn metric(
    name: &str,
    unit: fn(f64) -> String,
    better: Better,
    value: impl Fn(&Benchmark) -> Option<f64> + 'static,
) -> Metric {
    Metric {
        name: name.to_owned(),
        unit,
        better,
        value: Box::new(value),
    }
}

fn seconds(value: f64) -> String {
    svg::micros(value * 1e6)
}

fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

fn count(value: u64) -> Option<f64> {
    Some(value as f64)
}

/// True if the run counts operations.
fn operations(run: &Benchmark) -> bool {
    run.operations > 0
}

/// The figures that most readers look for first.
pub fn first_metrics(op: Option<&str>) -> Vec<Metric> {
    let mut all = vec![metric("operations a second", svg::short, More, |run| {
        operations(run).then_some(run.operations_per_second)
    })];
    let latencies: [OfLatency; 4] = [
        ("p50", |latency| latency.p50),
        ("p99", |latency| latency.p99),
        ("p99.9", |latency| latency.p99_9),
        ("max", |latency| latency.max),
    ];
    for (name, of) in latencies {
        if let Some(op) = op {
            let op = op.to_owned();
            all.push(metric(name, svg::micros, Less, move |run| {
                run.latency_micros
                    .get(&op)
                    .filter(|latency| latency.count > 0)
                    .map(of)
            }));
        }
    }
    all.push(metric("CPU an operation", svg::micros, Less, |run| {
        operations(run).then_some(run.cpu.micros_per_operation)
    }));
    all.push(metric("write amplification", ratio, Less, |run| {
        run.writes.write_amplification
    }));
    all.push(metric("bytes read an operation", svg::bytes, Less, |run| {
        (operations(run) && run.reads.calls > 0).then_some(run.reads.bytes_per_operation)
    }));
    all.push(metric("stalled", seconds, Less, |run| {
        let stalled: f64 = run.stalls.iter().map(|stall| stall.seconds).sum();
        (stalled > 0.0).then_some(stalled)
    }));
    all.push(metric("memory, peak", svg::bytes, Less, |run| {
        (run.memory.peak > 0).then_some(run.memory.peak as f64)
    }));
    all
}

/// Every figure. Totals of a run are neither good nor bad: a run that did more work also reads more.
pub fn all_metrics(runs: &[&Benchmark]) -> Vec<Metric> {
    let mut all = rates();
    all.extend(latencies(runs));
    all.extend(background());
    all.extend(processors());
    all.extend(writes());
    all.extend(reads());
    all.extend(stalls(runs));
    all.extend(memory());
    all.extend(block_cache());
    all.extend(levels(runs));
    all
}

fn rates() -> Vec<Metric> {
    vec![
        metric("operations", svg::short, Neither, |run| count(run.operations)),
        metric("seconds", seconds, Neither, |run| Some(run.seconds)),
        metric("operations a second", svg::short, More, |run| {
            Some(run.operations_per_second)
        }),
        metric("a thread's time an operation", svg::micros, Less, |run| {
            Some(run.micros_per_operation)
        }),
        metric("keys and values", svg::bytes, Neither, |run| count(run.bytes)),
        metric("keys and values a second", svg::bytes, More, |run| {
            Some(run.mib_per_second * 1_048_576.0)
        }),
    ]
}

/// The latencies of each operation that a run counted, those of the background last.
fn latencies(runs: &[&Benchmark]) -> Vec<Metric> {
    let mut all = Vec::new();
    let mut ops: Vec<(String, bool)> = Vec::new();
    for run in runs {
        ops.extend(run.latency_micros.keys().map(|op| (op.clone(), false)));
        ops.extend(run.background.latency_micros.keys().map(|op| (op.clone(), true)));
    }
    ops.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    ops.dedup();
    let latencies: [OfLatency; 10] = [
        ("mean", |latency| latency.mean),
        ("standard deviation", |latency| latency.stdev),
        ("min", |latency| latency.min),
        ("p50", |latency| latency.p50),
        ("p75", |latency| latency.p75),
        ("p90", |latency| latency.p90),
        ("p99", |latency| latency.p99),
        ("p99.9", |latency| latency.p99_9),
        ("p99.99", |latency| latency.p99_99),
        ("max", |latency| latency.max),
    ];
    for (op, behind) in ops {
        let title = if behind {
            format!("{op} in the background")
        } else {
            op.clone()
        };
        for (name, of) in latencies {
            let op = op.clone();
            all.push(metric(
                &format!("{title}: {name}"),
                svg::micros,
                Less,
                move |run| {
                    let latencies = if behind {
                        &run.background.latency_micros
                    } else {
                        &run.latency_micros
                    };
                    latencies.get(&op).filter(|latency| latency.count > 0).map(of)
                },
            ));
        }
    }
    all
}

/// The work of threads in the background, and the work that was not done in time.
fn background() -> Vec<Metric> {
    vec![
        metric("operations in the background", svg::short, Neither, |run| {
            count(run.background.operations)
        }),
        metric("due and not done: reads", svg::short, Less, |run| {
            count(run.overdue.reads)
        }),
        metric("due and not done: bytes written", svg::bytes, Less, |run| {
            count(run.overdue.write_bytes)
        }),
    ]
}

fn processors() -> Vec<Metric> {
    vec![
        metric("user time", seconds, Neither, |run| Some(run.cpu.user_seconds)),
        metric("system time", seconds, Neither, |run| {
            Some(run.cpu.system_seconds)
        }),
        metric("CPU an operation", svg::micros, Less, |run| {
            Some(run.cpu.micros_per_operation)
        }),
        metric("CPU an operation, in the foreground", svg::micros, Less, |run| {
            Some(run.cpu.foreground_micros_per_operation)
        }),
        metric("processors in use", ratio, Neither, |run| Some(run.cpu.busy)),
        metric("switches forced on threads", svg::short, Neither, |run| {
            count(run.cpu.involuntary_switches)
        }),
    ]
}

fn writes() -> Vec<Metric> {
    vec![
        metric("bytes of write batches", svg::bytes, Neither, |run| {
            count(run.writes.user_bytes)
        }),
        metric("written to WALs", svg::bytes, Neither, |run| {
            count(run.writes.wal_bytes)
        }),
        metric("written by flushes", svg::bytes, Neither, |run| {
            count(run.writes.flush_bytes)
        }),
        metric("read by compactions", svg::bytes, Neither, |run| {
            count(run.writes.compaction_read_bytes)
        }),
        metric("written by compactions", svg::bytes, Neither, |run| {
            count(run.writes.compaction_bytes)
        }),
        metric("files moved as they are", svg::short, Neither, |run| {
            count(run.writes.trivial_moves)
        }),
        metric("write amplification", ratio, Less, |run| {
            run.writes.write_amplification
        }),
        metric("sent to storage", svg::bytes, Neither, |run| {
            count(run.writes.storage_bytes)
        }),
    ]
}

fn reads() -> Vec<Metric> {
    vec![
        metric("reads from files", svg::short, Neither, |run| {
            count(run.reads.calls)
        }),
        metric("bytes read", svg::bytes, Neither, |run| count(run.reads.bytes)),
        metric("bytes read an operation", svg::bytes, Less, |run| {
            Some(run.reads.bytes_per_operation)
        }),
        metric("bytes from storage", svg::bytes, Neither, |run| {
            count(run.reads.storage_bytes)
        }),
        metric("bytes from storage an operation", svg::bytes, Less, |run| {
            Some(run.reads.storage_bytes_per_operation)
        }),
        metric("major page faults", svg::short, Neither, |run| {
            count(run.reads.major_faults)
        }),
    ]
}

/// The time and number of stalls, for each reason that a run had.
fn stalls(runs: &[&Benchmark]) -> Vec<Metric> {
    let mut all = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    for stall in runs.iter().flat_map(|run| &run.stalls) {
        if !reasons.contains(&stall.reason) {
            reasons.push(stall.reason.clone());
        }
    }
    for reason in reasons {
        let (of_time, of_count) = (reason.clone(), reason.clone());
        all.push(metric(&format!("stalled: {reason}"), seconds, Less, move |run| {
            run.stalls
                .iter()
                .find(|stall| stall.reason == of_time)
                .map(|stall| stall.seconds)
        }));
        all.push(metric(
            &format!("stalls: {reason}"),
            svg::short,
            Less,
            move |run| {
                run.stalls
                    .iter()
                    .find(|stall| stall.reason == of_count)
                    .map(|stall| stall.count as f64)
            },
        ));
    }
    all
}

fn memory() -> Vec<Metric> {
    vec![
        metric("memory", svg::bytes, Neither, |run| count(run.memory.resident)),
        metric("memory, peak", svg::bytes, Less, |run| count(run.memory.peak)),
        metric("memtables", svg::bytes, Neither, |run| {
            count(run.memory.memtables)
        }),
        metric("indexes and filters of open tables", svg::bytes, Less, |run| {
            count(run.memory.table_readers)
        }),
    ]
}

fn block_cache() -> Vec<Metric> {
    vec![
        metric("block cache, capacity", svg::bytes, Neither, |run| {
            count(run.block_cache.capacity)
        }),
        metric("block cache, used", svg::bytes, Neither, |run| {
            count(run.block_cache.usage)
        }),
        metric("block cache, pinned", svg::bytes, Neither, |run| {
            count(run.block_cache.pinned)
        }),
        metric("block cache, misses an operation", ratio, Less, |run| {
            operations(run).then(|| run.block_cache.misses as f64 / run.operations as f64)
        }),
        metric("block cache, misses", svg::short, Neither, |run| {
            count(run.block_cache.misses)
        }),
        metric("block cache, blocks added", svg::short, Neither, |run| {
            count(run.block_cache.inserts)
        }),
        metric("block cache, evictions", svg::short, Neither, |run| {
            count(run.block_cache.evictions)
        }),
    ]
}

/// The files and bytes of each level at the end of a run.
fn levels(runs: &[&Benchmark]) -> Vec<Metric> {
    let mut all = Vec::new();
    let levels = runs.iter().map(|run| run.levels.len()).max().unwrap_or(0);
    for level in 0..levels {
        all.push(metric(
            &format!("L{level}, files"),
            svg::short,
            Neither,
            move |run| Some(run.levels.get(level).map_or(0.0, |level| level.files as f64)),
        ));
        all.push(metric(&format!("L{level}"), svg::bytes, Neither, move |run| {
            Some(run.levels.get(level).map_or(0.0, |level| level.bytes as f64))
        }));
    }
    all
}
