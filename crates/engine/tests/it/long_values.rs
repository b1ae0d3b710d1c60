//! The memory needed by the recovery of a long value from a WAL.

use std::path::Path;
use std::process::Command;

use esker::{CompressionType, Db, Options};

/// The environment variable with the child's database and the compression of its tables.
const TASK: &str = "ESKER_LONG_VALUE_TASK";

/// The length of the value in bytes.
const LONG: u64 = 32 << 20;

fn options() -> Options {
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.disable_auto_compactions = true;
    // The value fills a memtable, which is flushed while the WAL is still being read.
    options.column_family.write_buffer_size = LONG / 4;
    options
}

fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    let kilobytes: u64 = line
        .trim_start_matches(':')
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kilobytes << 10
}

/// The upper bound of the memory: the value in the memtable, in the block built from it, and once more in
/// compressed form, if compression is tried.
#[test]
fn a_long_value_of_a_wal_is_in_memory_three_times_at_most() {
    if !Path::new("/proc/self/status").exists() {
        testkit::skip("/proc, for the peak of a process's memory");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    // Incompressible values need the most memory.
    let value = testkit::rng().bytes(LONG as usize);
    let mut roomy = options();
    roomy.column_family.write_buffer_size = 4 * LONG;
    let db = Db::open(&roomy, dir.path()).unwrap();
    db.put(b"long", &value).unwrap();
    drop(value);
    // The close flushes nothing: the row stays in the WAL.
    db.close().unwrap();
    for (compression, tenths) in [("none", 25), ("lz4", 35), ("zstd", 35), ("snappy", 35)] {
        let copied = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), copied.path().join(entry.file_name())).unwrap();
        }
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "long_values::child", "--nocapture"])
            .env(TASK, format!("{}|{compression}", copied.path().display()))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{compression}: {text}");
        let peak = text
            .split_once("peak ")
            .unwrap()
            .1
            .split_whitespace()
            .next()
            .unwrap();
        let peak: u64 = peak.parse().unwrap();
        println!("{compression}: {:.2} times", peak as f64 / LONG as f64);
        assert!(peak < LONG * tenths / 10, "{compression}: {peak} bytes");
    }
}

/// The body of the test above, in a process of its own, in which no other test allocates memory.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (dir, compression) = task.split_once('|').unwrap();
    let mut options = options();
    options.column_family.compression = match compression {
        "lz4" => CompressionType::Lz4,
        "zstd" => CompressionType::Zstd,
        "snappy" => CompressionType::Snappy,
        _ => CompressionType::None,
    };
    let before = status("VmRSS");
    let db = Db::open(&options, dir).unwrap();
    println!("peak {}", status("VmHWM") - before);
    let tables = db.live_files();
    assert!(tables.len() == 1 && tables[0].size > LONG, "{tables:?}");
}
