//! Reads figures from db_bench's output, whose format is the same for RocksDB and Esker.

use paired::{Finished, Line};

use super::table::Metric;

/// The figures of one side, or the reason why there are none.
pub type Side = Result<f64, String>;

/// The reason why a level has no time per job, or why there is no ratio of moves to compactions.
pub const NO_JOB: &str = "no job";

/// The duration of a run, for releases of db_bench that do not print the number of operations.
const UNKNOWN: f64 = f64::NAN;

/// Reads a figure from a run.
pub fn figure(finished: &Finished, workload: &str, metric: Metric) -> Side {
    let lines = paired::lines(&finished.output);
    let line = lines
        .iter()
        .find(|line| line.name == workload)
        .ok_or_else(|| format!("no result line of {workload}"))?;
    let missing = || format!("{} not in the output", metric.name());
    match metric {
        Metric::OpsPerSecond => Ok(line.ops_per_second),
        // The time per operation is read and not the rate, which db_bench prints as a whole number.
        Metric::MillisPerOp => Ok(line.micros / 1_000.0),
        Metric::MicrosPerOp => Ok(line.micros),
        Metric::MbPerSecond => line.mb_per_second.ok_or_else(missing),
        Metric::WritesPerSecond => writes_per_second(finished, line).ok_or_else(missing),
        Metric::MegabytesIngested => ingested(&finished.output).ok_or_else(missing),
        Metric::MegabytesFlushed => after(&finished.output, "Flush(GB): cumulative")
            .map(|gib| gib * 1_024.0)
            .ok_or_else(missing),
        Metric::MegabytesCompacted => compacted(&finished.output).ok_or_else(missing),
        Metric::CompactionSeconds => of_sum(&finished.output, "Comp(sec)").ok_or_else(missing),
        Metric::CompactionCpuSeconds => of_sum(&finished.output, "CompMergeCPU(sec)").ok_or_else(missing),
        Metric::CompactionCpuPerWrite => of_sum(&finished.output, "CompMergeCPU(sec)")
            .map(|cpu_seconds| cpu_seconds / writes_per_second(finished, line).unwrap_or(line.ops_per_second))
            .ok_or_else(missing),
        Metric::CacheHitPercent => hit_percent(&finished.output).ok_or_else(missing),
        Metric::MoveRatio => move_ratio(&finished.output).unwrap_or_else(|| Err(missing())),
        Metric::WriteAmplification => paired::write_amplification(&finished.output).ok_or_else(missing),
        Metric::StallPercent => stall_percent(&finished.output, seconds(line)).ok_or_else(missing),
        Metric::KilobytesReadPerOp => line
            .operations
            .map(|operations| finished.cost.read as f64 / 1_024.0 / operations.max(1) as f64)
            .ok_or_else(missing),
        Metric::SecondsPerJob(level) => seconds_per_job(&finished.output, level),
        Metric::MicrosPerCall | Metric::InstructionsPerCall | Metric::TableMegabytes => Err(missing()),
    }
}

/// The writes of a second, in a workload that reads too.
fn writes_per_second(finished: &Finished, line: &Line) -> Option<f64> {
    keys_written(&finished.output).map(|keys| keys / seconds(line))
}

fn seconds(line: &Line) -> f64 {
    line.operations.map_or(UNKNOWN, |operations| {
        operations as f64 / line.ops_per_second.max(1.0)
    })
}

/// The percentage of `seconds`, in which the benchmark wrote, that writers were stopped: from the time in
/// `Cumulative stall: 00:00:1.5 H:M:S, 12.3 percent`, and not from its percentage, which is of the time since
/// the open, with the wait for compactions.
fn stall_percent(output: &str, seconds: f64) -> Option<f64> {
    let stalled = output
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("Cumulative stall:"))?;
    let (time, _) = stalled.trim().split_once(" H:M:S")?;
    let in_seconds = |sum: Option<f64>, part: &str| Some(sum? * 60.0 + part.parse::<f64>().ok()?);
    Some(time.split(':').fold(Some(0.0), in_seconds)? * 100.0 / seconds)
}

/// The number after the last occurrence of `words` at the beginning of a line.
fn after(output: &str, words: &str) -> Option<f64> {
    let rest = output.lines().rev().find_map(|line| line.strip_prefix(words))?;
    let number = rest.split_whitespace().next()?;
    number.trim_end_matches(',').parse().ok()
}

/// The number that is `back` words before `word` in the last line that begins with `start`.
fn before_word(output: &str, start: &str, word: &str) -> Option<f64> {
    let line = output.lines().rev().find(|line| line.starts_with(start))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words
        .iter()
        .position(|found| found.trim_end_matches(',') == word)?;
    words.get(at.checked_sub(1)?)?.parse().ok()
}

/// The seconds that the database was open.
fn uptime(output: &str) -> Option<f64> {
    after(output, "Uptime(secs):")
}

/// The keys in `Cumulative writes: 242M writes, 242M keys, ...`, which is in thousands or millions for large
/// counts.
fn keys_written(output: &str) -> Option<f64> {
    let line = output
        .lines()
        .rev()
        .find(|line| line.starts_with("Cumulative writes:"))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "keys,")?;
    let count = words.get(at.checked_sub(1)?)?;
    let (digits, unit) = match count.strip_suffix(['K', 'M', 'G']) {
        Some(digits) => (digits, count.chars().last()),
        None => (*count, None),
    };
    let factor = match unit {
        Some('K') => 1e3,
        Some('M') => 1e6,
        Some(_) => 1e9,
        None => 1.0,
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

/// The megabytes of user writes: their rate multiplied by the time, which is more precise than gigabytes with
/// two decimals.
fn ingested(output: &str) -> Option<f64> {
    let line = output
        .lines()
        .rev()
        .find(|line| line.starts_with("Cumulative writes:"))?;
    let rate = line.trim().strip_suffix(" MB/s")?.rsplit(' ').next()?;
    Some(rate.parse::<f64>().ok()? * uptime(output)?)
}

/// The MB that compactions wrote: the writes of all jobs, without flushes.
fn compacted(output: &str) -> Option<f64> {
    let rates = "Cumulative compaction:";
    let line = output.lines().rev().find(|line| line.starts_with(rates))?;
    let written = before_word(line, rates, "MB/s")? * uptime(output)?;
    let flushed = after(output, "Flush(GB): cumulative")? * 1_024.0;
    Some((written - flushed).max(0.0))
}

/// A column of the row `Sum` in the last compaction statistics by level.
fn of_sum(output: &str, name: &str) -> Option<f64> {
    let (mut column, mut found) = (None, None);
    for text in output.lines() {
        // The column is the one whose time `seconds_per_job` counts.
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.first() {
            Some(&"Level") => column = words.iter().rev().position(|word| *word == name),
            Some(&"Sum") => {
                let value = column.and_then(|column| words.iter().rev().nth(column)?.parse().ok());
                found = value.or(found);
            }
            _ => {}
        }
    }
    found
}

/// The share of lookups that found their block in the cache, from the tickers of `--statistics`.
fn hit_percent(output: &str) -> Option<f64> {
    let ticker = |name: &str| after(output, &format!("rocksdb.block.cache.{name} COUNT :"));
    let (hits, misses) = (ticker("hit")?, ticker("miss")?);
    (hits + misses > 0.0).then(|| 100.0 * hits / (hits + misses))
}

const MOVED: &str = "moved and written below L0:";

/// The bytes that compactions moved and wrote, from the events of a LOG; RocksDB's statistics have them in
/// tenths of gigabytes.
pub fn moved_and_written(log: &str) -> String {
    let sum = |event: &str, field: &str| -> u64 {
        let events = log.lines().filter(|line| line.contains(event));
        let values = events.filter_map(|line| {
            let (_, rest) = line.split_once(field)?;
            let digits = rest
                .trim_start_matches([':', ' '])
                .split(|c: char| !c.is_ascii_digit())
                .next();
            digits?.parse::<u64>().ok()
        });
        values.sum()
    };
    format!(
        "{MOVED} {} {}\n",
        sum("\"event\": \"trivial_move\"", "\"total_files_size\""),
        sum("\"event\": \"compaction_finished\"", "\"total_output_size\"")
    )
}

/// The bytes moved for each byte written: infinite if everything was moved, [`NO_JOB`] if flushes wrote each
/// table where it belongs.
fn move_ratio(output: &str) -> Option<Side> {
    let line = output.lines().rev().find_map(|line| line.strip_prefix(MOVED))?;
    let mut numbers = line.split_whitespace().map(str::parse::<f64>);
    let (moved, written) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let ratio = moved / written;
    Some(if ratio.is_nan() {
        Err(NO_JOB.to_owned())
    } else {
        Ok(ratio)
    })
}

/// The column `Avg(sec)` of the level's row in the last compaction statistics.
fn seconds_per_job(output: &str, level: u8) -> Side {
    let mut column = None;
    let mut last = None;
    for text in output.lines() {
        // Sizes in the rows of the statistics by level have their unit in a separate word, so columns are
        // counted from the end.
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.first() {
            Some(&"Level") => {
                column = words.iter().rev().position(|word| *word == "Avg(sec)");
                last = None;
            }
            Some(first) if first.strip_prefix('L').and_then(|number| number.parse().ok()) == Some(level) => {
                last = column
                    .and_then(|column| words.iter().rev().nth(column)?.parse().ok())
                    .or(last);
            }
            _ => {}
        }
    }
    match (last, column) {
        (Some(seconds), _) => Ok(seconds),
        (None, Some(_)) => Err(NO_JOB.to_owned()),
        (None, None) => Err("the statistics tell no time per job: not in the output".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEIRS: &str = "\
overwrite    :       4.012 micros/op 250000 ops/sec 0.800 seconds 200000 operations;   27.6 MB/s
** Compaction Stats [default] **
Level    Files   Size     Score Read(GB)  Write(GB) W-Amp Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop
------
  L0      2/0    5.17 MB   0.5      0.0      0.1   1.0     0.5      0.4         8    0.063       0      0
  L2      4/0   60.14 MB   0.2      0.1      0.1   1.8     0.6      0.5         1    0.645    876K   350K
 Sum      6/0   65.31 MB   0.0      0.1      0.2   2.3     1.1      0.9         9    0.127    876K   350K
Cumulative stall: 00:00:0.200 H:M:S, 3.1 percent
Interval stall: 00:00:0.311 H:M:S, 1.0 percent
";

    fn finished(output: &str) -> Finished {
        Finished {
            output: output.to_owned(),
            errors: "RocksDB:    version 11.8.1\n".to_owned(),
            cost: paired::Cost {
                cpu_seconds: 2.0,
                read: 4_096_000,
                ..paired::Cost::default()
            },
        }
    }

    #[test]
    fn figures_of_both_programs() {
        let theirs = finished(THEIRS);
        let of = |metric| figure(&theirs, "overwrite", metric);
        assert_eq!(of(Metric::OpsPerSecond), Ok(250_000.0));
        assert_eq!(of(Metric::MillisPerOp), Ok(0.004_012));
        assert_eq!(of(Metric::WriteAmplification), Ok(2.3));
        assert_eq!(of(Metric::StallPercent), Ok(25.0));
        assert_eq!(of(Metric::SecondsPerJob(2)), Ok(0.645));
        assert_eq!(of(Metric::SecondsPerJob(1)), Err(NO_JOB.to_owned()));
        let silent = figure(
            &finished("fillseq : 1.0 micros/op 9 ops/sec;\nLevel Files\n L1 3\n"),
            "fillseq",
            Metric::SecondsPerJob(1),
        );
        assert!(silent.unwrap_err().contains("tell no time per job"));
        assert!(figure(&theirs, "readrandom", Metric::OpsPerSecond).is_err());
        let minutes = "fillseq : 1.0 micros/op 10 ops/sec;\noverwrite : 1.0 micros/op 10 ops/sec 100 seconds 1000 operations;\n\
                       Cumulative stall: 00:01:15.000 H:M:S, 1.0 percent\n";
        assert_eq!(
            figure(&finished(minutes), "overwrite", Metric::StallPercent),
            Ok(75.0)
        );
    }

    const STATISTICS: &str = "\
readwhilewriting :  4.0 micros/op 500 ops/sec 2.000 seconds 1000 operations;   27.6 MB/s
Level    Files   Size     Score Read(GB) Write(GB) W-Amp Comp(sec) CompMergeCPU(sec) Comp(cnt)
 Sum      6/0   65.31 MB   0.0      0.1      0.2   2.3     1.10      0.90         9
 Int      0/0    0.00 KB   0.0      0.1      0.2   2.3     0.10      0.10         1
Uptime(secs): 4.0 total, 1.0 interval
Flush(GB): cumulative 0.125, interval 0.000
Cumulative compaction: 0.24 GB write, 64.00 MB/s write, 0.11 GB read, 28.16 MB/s read, 1.1 seconds
Uptime(secs): 4.0 total, 1.0 interval
Cumulative writes: 20K writes, 30K keys, 20K commit groups, 1.0 writes per commit group, ingest: 0.03 GB, 8.25 MB/s
rocksdb.block.cache.miss COUNT : 25
rocksdb.block.cache.hit COUNT : 75
";

    #[test]
    fn columns_of_the_documents() {
        let printed = finished(STATISTICS);
        let of = |metric| figure(&printed, "readwhilewriting", metric);
        for (metric, expected) in [
            (Metric::MicrosPerOp, 4.0),
            (Metric::MbPerSecond, 27.6),
            (Metric::WritesPerSecond, 15_000.0),
            (Metric::MegabytesIngested, 33.0),
            (Metric::MegabytesFlushed, 128.0),
            (Metric::MegabytesCompacted, 128.0),
            (Metric::CompactionSeconds, 1.1),
            (Metric::CompactionCpuSeconds, 0.9),
            (Metric::CompactionCpuPerWrite, 0.9 / 15_000.0),
            (Metric::CacheHitPercent, 75.0),
            (Metric::KilobytesReadPerOp, 4.0),
        ] {
            assert_eq!(of(metric), Ok(expected), "{metric:?}");
        }
        assert!(
            of(Metric::MoveRatio)
                .unwrap_err()
                .contains("move-ratio not in the output")
        );
        let silent = finished("readwhilewriting : 1.0 micros/op 9 ops/sec;\n");
        for metric in [
            Metric::MegabytesCompacted,
            Metric::CacheHitPercent,
            Metric::WritesPerSecond,
        ] {
            assert!(figure(&silent, "readwhilewriting", metric).is_err(), "{metric:?}");
        }
    }

    #[test]
    fn moves_are_read_off_the_log() {
        let log = "a EVENT_LOG_v1 {\"time_micros\": 9, \"event\": \"trivial_move\", \"files\": 2, \"total_files_size\": 300}\n\
                   b EVENT_LOG_v1 {\"event\": \"trivial_move\", \"total_files_size\": 100}\n\
                   c EVENT_LOG_v1 {\"event\": \"flush_finished\", \"total_output_size\": 7}\n\
                   d EVENT_LOG_v1 {\"event\": \"compaction_finished\", \"total_output_size\": 200, \"x\": 1}\n";
        let line = "fillseq : 1.0 micros/op 9 ops/sec;\n";
        let of = |log: &str| {
            let output = format!("{line}{}", moved_and_written(log));
            figure(&finished(&output), "fillseq", Metric::MoveRatio)
        };
        assert_eq!(of(log), Ok(2.0));
        assert_eq!(of(log.lines().next().unwrap()), Ok(f64::INFINITY));
    }
}
