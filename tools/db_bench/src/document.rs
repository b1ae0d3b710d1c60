//! The file of `--json`: everything that was measured, and on what. `docs/benchmark.md` explains the fields; where one
//! is missing it reads as 0 or empty, so that other programs can write the part they know.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use base::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::histogram::Percentiles;

/// What `format` is in documents of this kind.
pub const FORMAT: u64 = 1;

/// A run of the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Document {
    /// [`FORMAT`].
    pub format: u64,
    /// The program that measured.
    pub program: String,
    /// The engine that was measured.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// True if it was built without optimisation, so that the figures say nothing.
    pub debug_assertions: bool,
    /// When the run began, in seconds since 1970.
    pub unix_seconds: u64,
    /// Directory of the database.
    pub db: String,
    /// What all seeds are counted from; `--seed` of this value repeats the run.
    pub seed: i64,
    /// Flags that were given, in that order.
    pub flags_given: Vec<(String, String)>,
    /// Every flag.
    pub flags: BTreeMap<String, String>,
    /// Every option of the engine.
    pub options: BTreeMap<String, String>,
    /// What it ran on.
    pub machine: Machine,
    /// What the harness itself takes.
    pub harness: Harness,
    /// What was run, in that order.
    pub benchmarks: Vec<Benchmark>,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: String,
    /// Processors the program may use.
    pub cores: u64,
    /// Bytes.
    pub memory_bytes: u64,
    /// Name and release.
    pub kernel: String,
    /// Type of the file system the database is on.
    pub file_system: String,
    /// Its device, and options that matter.
    pub mount: String,
}

/// A loop with everything in it but the operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Harness {
    /// Nanoseconds an operation takes that does nothing: median of `rounds`.
    pub nanos_per_operation: f64,
    /// The fastest round.
    pub least: f64,
    /// The slowest round.
    pub most: f64,
    /// Rounds.
    pub rounds: u64,
}

/// One run of one workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Benchmark {
    /// The workload.
    pub name: String,
    /// True for a run that only warms up.
    pub warm_up: bool,
    /// Threads that were counted.
    pub threads: u64,
    /// Operations.
    pub operations: u64,
    /// Seconds from the first thread's start to the last one's end.
    pub seconds: f64,
    /// Operations a second.
    pub operations_per_second: f64,
    /// Microseconds a thread took for an operation.
    pub micros_per_operation: f64,
    /// Bytes of keys and values, of found ones in reads.
    pub bytes: u64,
    /// The same in MiB a second.
    pub mib_per_second: f64,
    /// What the workload said.
    pub message: String,
    /// Where latencies count from: `start` of the operation, or `due`, when the rate asked for it.
    pub latency_from: String,
    /// Microseconds by kind of operation.
    pub latency_micros: BTreeMap<String, Percentiles>,
    /// The writer beside readers.
    pub background: Background,
    /// What the rate asked for and the run ended without.
    pub overdue: Overdue,
    /// Bytes written.
    pub writes: Writes,
    /// Bytes read.
    pub reads: Reads,
    /// Processor time.
    pub cpu: CpuUse,
    /// Writers held back, by reason.
    pub stalls: Vec<Stall>,
    /// Resident memory.
    pub memory: Memory,
    /// Block cache.
    pub block_cache: CacheUse,
    /// Levels at the start, from L0 on; `null` where nobody looked.
    pub levels_before: Option<Vec<Level>>,
    /// Levels at the end.
    pub levels: Vec<Level>,
    /// What happened when.
    pub intervals: Vec<IntervalRow>,
}

/// A writer in the background.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Background {
    /// Its operations, not counted among the others.
    pub operations: u64,
    /// Microseconds by kind of operation.
    pub latency_micros: BTreeMap<String, Percentiles>,
}

/// What was due and not done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overdue {
    /// Bytes to write.
    pub write_bytes: u64,
    /// Reads.
    pub reads: u64,
}

/// Bytes written in the run, by the operations and by jobs in the background while it lasted.
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
    /// Files moved down as they are.
    pub trivial_moves: u64,
    /// Bytes the kernel counts as sent to storage.
    pub storage_bytes: u64,
    /// WAL, flushes and compactions over user bytes; `null` where nothing was written.
    pub write_amplification: Option<f64>,
}

/// Bytes read in the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reads {
    /// Reads from files that operations did themselves.
    pub calls: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes an operation.
    pub bytes_per_operation: f64,
    /// Bytes fetched from storage by the whole process, through mappings too.
    pub storage_bytes: u64,
    /// Bytes an operation.
    pub storage_bytes_per_operation: f64,
    /// Pages that were fetched where a mapping was touched.
    pub major_faults: u64,
}

/// Processor time of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuUse {
    /// Of the whole process.
    pub user_seconds: f64,
    /// Of the whole process, in the kernel.
    pub system_seconds: f64,
    /// Both, in microseconds an operation.
    pub micros_per_operation: f64,
    /// Both, of the threads that were counted alone, in microseconds an operation.
    pub foreground_micros_per_operation: f64,
    /// Processors in use on average.
    pub busy: f64,
    /// Times a thread was taken off its processor.
    pub involuntary_switches: u64,
}

/// One reason why writers waited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stall {
    /// RocksDB's name, as `l0-file-count-limit-delays`.
    pub reason: String,
    /// Waits.
    pub count: u64,
    /// Their time together.
    pub seconds: f64,
}

/// Resident memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Bytes at the end.
    pub resident: u64,
    /// Bytes at most in this run; in the program's life where the kernel cannot tell.
    pub peak: u64,
    /// Bytes of memtables at the end.
    pub memtables: u64,
    /// Bytes of open tables' indexes and filters outside the cache at the end.
    pub table_readers: u64,
}

/// The block cache. Counts are of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheUse {
    /// Bytes it may hold.
    pub capacity: u64,
    /// Bytes it holds at the end.
    pub usage: u64,
    /// Bytes of them in use at the end.
    pub pinned: u64,
    /// Lookups that missed.
    pub misses: u64,
    /// Blocks added.
    pub inserts: u64,
    /// Blocks that went to make room.
    pub evictions: u64,
}

/// A level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Level {
    /// Files.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
}

/// An interval of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IntervalRow {
    /// Its end, from the start of the run.
    pub seconds: f64,
    /// Operations that ended in it.
    pub operations: u64,
    /// Operations of a writer in the background that ended in it.
    pub background_operations: u64,
    /// Microseconds by kind of operation.
    pub latency_micros: BTreeMap<String, Percentiles>,
    /// The same of a writer in the background.
    pub background_latency_micros: BTreeMap<String, Percentiles>,
    /// Levels at its end.
    pub levels: Vec<Level>,
    /// Seconds writers were held back in it, summed over writers.
    pub stall_seconds: f64,
    /// Bytes flushes and compactions that ended in it wrote.
    pub job_bytes: u64,
    /// Processor seconds.
    pub cpu_seconds: f64,
    /// Bytes resident at its end.
    pub resident: u64,
}

impl Document {
    /// From the text of a file.
    pub fn parse(text: &str) -> Result<Document, String> {
        // A list would be taken for the fields in their order.
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

    /// Replaces the file at `path`, so that there is a whole document at any time.
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
