//! The file of `--json`: all measurements of a run and its setting. `docs/benchmark.md` explains the fields;
//! a missing field reads as 0 or empty, so that other programs can write the part that they know.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use base::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::histogram::Percentiles;

/// The value of `format` in documents of `--json`.
pub const FORMAT: u64 = 1;

/// A run of the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Document {
    /// The format: [`FORMAT`].
    pub format: u64,
    /// The program that measured.
    pub program: String,
    /// The engine that was measured.
    pub engine: String,
    /// The engine's version.
    pub version: String,
    /// True if the program was built without optimisation, so that the figures mean nothing.
    pub debug_assertions: bool,
    /// The start of the run, in seconds since 1970.
    pub unix_seconds: u64,
    /// The directory of the database.
    pub db: String,
    /// The base of all seeds; `--seed` with this value repeats the run.
    pub seed: i64,
    /// The flags that were given, in the order of the command line.
    pub flags_given: Vec<(String, String)>,
    /// The values of all flags.
    pub flags: BTreeMap<String, String>,
    /// Every option of the engine.
    pub options: BTreeMap<String, String>,
    /// The machine of the run.
    pub machine: Machine,
    /// The cost of the harness itself.
    pub harness: Harness,
    /// The workloads that were run, in order.
    pub benchmarks: Vec<Benchmark>,
}

/// The machine of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// The model of the processor.
    pub cpu: String,
    /// The number of processors that the program may use.
    pub cores: u64,
    /// The size of the memory in bytes.
    pub memory_bytes: u64,
    /// The name and release of the kernel.
    pub kernel: String,
    /// The type of the file system that holds the database.
    pub file_system: String,
    /// The device of the file system, and the mount options that matter.
    pub mount: String,
}

/// The cost of the loop of a workload without its operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Harness {
    /// Nanoseconds of an operation that does nothing: the median of the rounds.
    pub nanos_per_operation: f64,
    /// Nanoseconds of an operation in the fastest round.
    pub least: f64,
    /// Nanoseconds of an operation in the slowest round.
    pub most: f64,
    /// The number of rounds.
    pub rounds: u64,
}

/// One run of one workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Benchmark {
    /// The name of the workload.
    pub name: String,
    /// True for a run that only warms up.
    pub warm_up: bool,
    /// The number of threads that were counted.
    pub threads: u64,
    /// The number of operations.
    pub operations: u64,
    /// Seconds from the first thread's start to the last one's end.
    pub seconds: f64,
    /// Operations a second.
    pub operations_per_second: f64,
    /// Microseconds that a thread took for an operation.
    pub micros_per_operation: f64,
    /// Bytes of keys and values; in reads, of those found.
    pub bytes: u64,
    /// Mebibytes of keys and values a second.
    pub mib_per_second: f64,
    /// The message in the workload's line.
    pub message: String,
    /// The point from which latencies count: `start` of the operation, or `due`, the time at which the rate
    /// asked for it.
    pub latency_from: String,
    /// Latencies in microseconds by kind of operation.
    pub latency_micros: BTreeMap<String, Percentiles>,
    /// The writer that runs in the background of readers.
    pub background: Background,
    /// The work that was due by the rate and not done when the run ended.
    pub overdue: Overdue,
    /// Bytes written.
    pub writes: Writes,
    /// Bytes read.
    pub reads: Reads,
    /// Processor time.
    pub cpu: CpuUse,
    /// Stalls and delays of writers, by reason.
    pub stalls: Vec<Stall>,
    /// The resident memory.
    pub memory: Memory,
    /// The block cache.
    pub block_cache: CacheUse,
    /// The levels at the start, from L0 on; `null` if they were not recorded.
    pub levels_before: Option<Vec<Level>>,
    /// The levels at the end.
    pub levels: Vec<Level>,
    /// The course of the run, by intervals.
    pub intervals: Vec<IntervalRow>,
}

/// A writer in the background.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Background {
    /// The number of operations of the background writer, which are not counted among the others.
    pub operations: u64,
    /// The latencies of the workload in microseconds, by kind of operation.
    pub latency_micros: BTreeMap<String, Percentiles>,
}

/// Work that was due and not done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overdue {
    /// Bytes to write.
    pub write_bytes: u64,
    /// The number of reads.
    pub reads: u64,
}

/// Bytes written during the run by its operations and by background jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Writes {
    /// Bytes of write batches.
    pub user_bytes: u64,
    /// Bytes of WALs.
    pub wal_bytes: u64,
    /// Bytes of tables that flushes wrote.
    pub flush_bytes: u64,
    /// Bytes of tables that compactions read.
    pub compaction_read_bytes: u64,
    /// Bytes of tables that compactions wrote.
    pub compaction_bytes: u64,
    /// The number of files moved down as they are.
    pub trivial_moves: u64,
    /// Bytes sent to storage, as the kernel counts them.
    pub storage_bytes: u64,
    /// WAL, flush and compaction bytes divided by user bytes; `null` if nothing was written.
    pub write_amplification: Option<f64>,
}

/// Bytes read in the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reads {
    /// The number of file reads that the operations did themselves.
    pub calls: u64,
    /// The bytes of the reads from files.
    pub bytes: u64,
    /// The bytes of the reads from files, for each operation.
    pub bytes_per_operation: f64,
    /// Bytes that the whole process fetched from storage, also through mappings.
    pub storage_bytes: u64,
    /// Bytes that the whole process fetched from storage, for each operation.
    pub storage_bytes_per_operation: f64,
    /// The number of pages fetched because a mapping was touched.
    pub major_faults: u64,
}

/// Processor time of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuUse {
    /// Seconds of the whole process in user code.
    pub user_seconds: f64,
    /// Seconds of the whole process in the kernel.
    pub system_seconds: f64,
    /// Microseconds of the whole process, in user code and in the kernel, for each operation.
    pub micros_per_operation: f64,
    /// Microseconds of the counted threads alone, in user code and in the kernel, for each operation.
    pub foreground_micros_per_operation: f64,
    /// The number of processors in use on average.
    pub busy: f64,
    /// The number of times a thread was preempted.
    pub involuntary_switches: u64,
}

/// A reason for stalls and delays of writers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stall {
    /// RocksDB's name, such as `l0-file-count-limit-delays`.
    pub reason: String,
    /// The number of waits.
    pub count: u64,
    /// The sum of the waits in seconds.
    pub seconds: f64,
}

/// Resident memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Resident bytes at the end.
    pub resident: u64,
    /// The most resident bytes during this run, or during the program's life if the kernel cannot reset the
    /// peak.
    pub peak: u64,
    /// Bytes of memtables at the end.
    pub memtables: u64,
    /// Bytes of open tables' indexes and filters outside the block cache at the end.
    pub table_readers: u64,
}

/// The figures of the block cache; its counts are those of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheUse {
    /// The capacity in bytes.
    pub capacity: u64,
    /// The usage in bytes at the end.
    pub usage: u64,
    /// Bytes of pinned blocks at the end.
    pub pinned: u64,
    /// The number of lookups that missed.
    pub misses: u64,
    /// The number of blocks added.
    pub inserts: u64,
    /// The number of blocks evicted.
    pub evictions: u64,
}

/// A level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Level {
    /// The number of files.
    pub files: u64,
    /// The size in bytes.
    pub bytes: u64,
}

/// An interval of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IntervalRow {
    /// Seconds from the start of the run to the end of the interval.
    pub seconds: f64,
    /// The number of operations that ended in the interval.
    pub operations: u64,
    /// The number of operations of a background writer that ended in the interval.
    pub background_operations: u64,
    /// Latencies in microseconds by kind of operation.
    pub latency_micros: BTreeMap<String, Percentiles>,
    /// Latencies of a background writer in microseconds by kind of operation.
    pub background_latency_micros: BTreeMap<String, Percentiles>,
    /// The levels at the end of the interval.
    pub levels: Vec<Level>,
    /// Seconds that writers were stalled or delayed in the interval, summed over writers.
    pub stall_seconds: f64,
    /// Bytes written by the flushes and compactions that ended in the interval.
    pub job_bytes: u64,
    /// Seconds of processor time.
    pub cpu_seconds: f64,
    /// Resident bytes at the end of the interval.
    pub resident: u64,
}

impl Document {
    /// Parses the text of a file.
    pub fn parse(text: &str) -> Result<Document, String> {
        // Without this check a JSON list would be parsed as the fields in their order.
        if !text.trim_start().starts_with('{') {
            return Err("line 1, column 1: no JSON object".to_owned());
        }
        let document: Document = serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let message = error.to_string();
            let what = message.split(" at line ").next().unwrap_or(&message);
            format!("line {line}, column {column}: {what}")
        })?;
        if document.format != FORMAT {
            let found = document.format;
            return Err(format!(
                "no result of db_bench --json that this version reads: its format is {found}, not {FORMAT}"
            ));
        }
        Ok(document)
    }

    /// Replaces the file at `path` atomically, so that it is complete at any time.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).expect("keys are strings");
        let failed = |source| Error::io("write", path, source);
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let mut file = tempfile::NamedTempFile::new_in(dir.unwrap_or(Path::new("."))).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.write_all(b"\n").map_err(failed)?;
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        file.as_file().set_permissions(readable).map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        let mut document = Document {
            format: FORMAT,
            seed: i64::MIN,
            flags_given: vec![("num".to_owned(), "5".to_owned())],
            ..Document::default()
        };
        document.benchmarks.push(Benchmark {
            name: "readrandom".to_owned(),
            latency_micros: [("read".to_owned(), Percentiles::default())].into(),
            ..Benchmark::default()
        });
        document.write(&path).unwrap();
        document.write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(Document::parse(&text).unwrap(), document);
        assert!(document.write(&dir.path().join("missing/a.json")).is_err());
    }

    #[test]
    fn broken_documents_are_refused_with_their_place() {
        assert_eq!(
            Document::parse("{\"format\": 1,\n \"seed\": \"x\"}").unwrap_err(),
            "line 2, column 12: invalid type: string \"x\", expected i64"
        );
        let cut = Document::parse("{\"format\": 1,\n \"bench").unwrap_err();
        assert!(cut.starts_with("line 2, column 7: EOF"), "{cut}");
        assert!(Document::parse("{}").unwrap_err().contains("format is 0"));
        assert!(Document::parse("[1]").is_err() && Document::parse("").is_err());
    }
}
