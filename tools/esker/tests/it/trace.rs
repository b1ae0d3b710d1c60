//! `esker trace`: its report of each kind of trace, and the replay.

use std::path::{Path, PathBuf};

use esker::{
    BlockBasedOptions, BlockCacheTraceOptions, ColumnFamilyOptions, Db, FileTraceWriter, Options,
    TraceOptions,
};
use serde_json::Value;
use tempfile::TempDir;
use vfs::PosixFs;

use crate::common::{Ran, look};

fn trace(file: &Path, args: &[&str]) -> Ran {
    look("trace", file, args)
}

fn json(file: &Path, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    serde_json::from_str(&trace(file, &args).good()).unwrap()
}

fn writer(path: &Path) -> Box<FileTraceWriter> {
    Box::new(FileTraceWriter::create(&PosixFs::new(), path).unwrap())
}

fn open(dir: &Path) -> Db {
    let options = Options {
        create_if_missing: true,
        column_family: ColumnFamilyOptions {
            table: BlockBasedOptions {
                block_size: 512,
                cache_index_and_filter_blocks: true,
                ..BlockBasedOptions::default()
            },
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    };
    Db::open(&options, dir).unwrap()
}

fn key(row: u32) -> Vec<u8> {
    format!("key{row:04}").into_bytes()
}

/// The row of a table whose first cell is that text.
fn row<'a>(report: &'a Value, table: &str, column: &str, text: &str) -> &'a Value {
    let rows = report[table]
        .as_array()
        .unwrap_or_else(|| panic!("no table {table}: {report:#}"));
    let found = rows.iter().find(|row| row[column] == text);
    found.unwrap_or_else(|| panic!("{table} has no {text}: {report:#}"))
}

/// A trace of 20 puts of 100 bytes, 40 Gets (21 of one key), a MultiGet of 3 keys, a seek.
fn trace_queries(dir: &TempDir) -> PathBuf {
    let (db, file) = (open(&dir.path().join("db")), dir.path().join("trace"));
    db.start_trace(&TraceOptions::default(), writer(&file)).unwrap();
    for number in 0..20 {
        db.put(key(number), [b'v'; 100]).unwrap();
        drop(db.get(key(number)).unwrap());
        drop(db.get(key(7)).unwrap());
    }
    let keys = [1, 2, 999].map(key);
    db.multi_get(&keys);
    db.iter().seek(b"key0003");
    db.end_trace().unwrap();
    db.close().unwrap();
    file
}

#[test]
fn queries_are_summed_up() {
    let dir = TempDir::new().unwrap();
    let file = trace_queries(&dir);
    let report = json(&file, &["--top", "2"]);
    assert_eq!(report["trace"], "queries");
    assert_eq!(report["queries"], 62);
    assert_eq!(report["accesses_of_keys"], 64);
    assert_eq!(report["keys"], 21);
    let count = |kind| {
        row(&report, "by_operation", "operation", kind)["accesses"]
            .as_u64()
            .unwrap()
    };
    let kinds = ["put", "get", "multi get", "seek"];
    assert_eq!(kinds.map(count), [20, 40, 3, 1]);
    let put = row(&report, "by_operation", "operation", "put");
    assert_eq!(
        (put["mean_key"].as_f64(), put["mean_value"].as_f64()),
        (Some(7.0), Some(100.0))
    );
    let hot = report["hot_keys"].as_array().unwrap();
    assert_eq!(hot.len(), 2);
    assert_eq!(
        (&hot[0]["key"], &hot[0]["reads"], &hot[0]["writes"]),
        (&"key0007".into(), &21.into(), &1.into())
    );
    let ranges = report["ranges_of_as_many_keys"].as_array().unwrap();
    let in_ranges: u64 = ranges
        .iter()
        .map(|range| range["accesses"].as_u64().unwrap())
        .sum();
    assert_eq!(in_ranges, 64);
    assert_eq!(report["value_sizes"][0]["bytes"], 127);
    assert_eq!(report["multi_get_sizes"][0]["count"], 1);

    let text = trace(&file, &["--hex"]).good();
    assert!(text.starts_with("trace             queries\n"), "{text}");
    assert!(text.contains("6B657930303037"), "{text}");
    assert!(text.contains('█'), "{text}");
}

#[test]
fn queries_are_run_again() {
    let dir = TempDir::new().unwrap();
    let file = trace_queries(&dir);
    let to = dir.path().join("to");
    let to_text = to.to_str().unwrap();
    let args = [
        "--replay",
        "--db",
        to_text,
        "--fast_forward",
        "1000000",
        "--threads",
        "2",
    ];
    trace(&file, &args).bad();
    let with_create: Vec<&str> = args.iter().copied().chain(["--create_if_missing"]).collect();
    let report = json(&file, &with_create);
    assert_eq!(
        (&report["writes"], &report["reads"], &report["failed"]),
        (&20.into(), &44.into(), &0.into())
    );
    let db = open(&to);
    assert_eq!(db.get(key(19)).unwrap().unwrap().len(), 100);
    let other = dir.path().join("other");
    std::fs::write(&other, b"no trace").unwrap();
    trace(&other, &args).bad();
    assert_eq!(trace(&file, &["--replay"]).status, 2);
}

#[test]
fn lookups_of_blocks_are_summed_up() {
    let dir = TempDir::new().unwrap();
    let (db, file) = (open(&dir.path().join("db")), dir.path().join("trace"));
    for number in 0..100 {
        db.put(key(number), [b'v'; 100]).unwrap();
    }
    db.flush().unwrap();
    let options = BlockCacheTraceOptions::default();
    db.start_block_cache_trace(&options, writer(&file)).unwrap();
    for _ in 0..2 {
        for number in 0..100 {
            assert!(db.get(key(number)).unwrap().is_some());
        }
    }
    db.end_block_cache_trace().unwrap();
    db.close().unwrap();
    let report = json(&file, &["--cache_sizes", "100,1000000"]);
    assert_eq!(report["trace"], "block cache");
    assert_eq!((&report["lookups"], &report["gets"]), (&400.into(), &200.into()));
    let blocks = report["blocks"].as_u64().unwrap();
    assert_eq!(report["misses"].as_u64(), Some(blocks));
    let index = row(&report, "by_block_type", "block", "index");
    assert_eq!((&index["lookups"], &index["misses"]), (&200.into(), &1.into()));
    assert_eq!(row(&report, "by_caller", "caller", "Get")["lookups"], 400);
    assert_eq!(row(&report, "by_level", "level", "0")["lookups"], 400);
    // No block fits into a cache of 100 bytes; all blocks fit into a cache of a megabyte, and each is missed
    // once.
    let ratios: Vec<f64> = report["miss_ratio_by_cache_size"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["miss_ratio"].as_f64().unwrap())
        .collect();
    assert_eq!(ratios, [1.0, blocks as f64 / 400.0]);
    let reused: u64 = report["reuse_distance"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["count"].as_u64().unwrap())
        .sum();
    assert_eq!(reused, 400 - blocks);
    assert_eq!(report["lookups_per_get"][0]["lookups_of_a_get"], 3);
    let text = trace(&file, &[]).good();
    assert!(
        text.contains("reuse distance") && text.contains("64.0 KiB"),
        "{text}"
    );
}

#[test]
fn operations_on_files_are_summed_up() {
    let dir = TempDir::new().unwrap();
    let (db, file) = (open(&dir.path().join("db")), dir.path().join("trace"));
    db.start_io_trace(&TraceOptions::default(), writer(&file))
        .unwrap();
    for number in 0..10 {
        db.put(key(number), [b'v'; 100]).unwrap();
    }
    db.flush().unwrap();
    drop(db.get(key(3)).unwrap());
    db.end_io_trace().unwrap();
    db.close().unwrap();
    let report = json(&file, &["--top", "3"]);
    assert_eq!((&report["trace"], &report["errors"]), (&"I/O".into(), &0.into()));
    let kinds = report["by_kind_of_file"].as_array().unwrap();
    let of = |kind: &str, operation: &str| {
        let found = kinds
            .iter()
            .find(|row| row["kind"] == kind && row["operation"] == operation);
        found.unwrap_or_else(|| panic!("{kind} {operation}: {report:#}"))
    };
    // Each new WAL begins with a record about the WAL before it.
    assert!(of("WAL", "Append")["count"].as_u64() >= Some(10));
    assert!(of("WAL", "Append")["bytes"].as_u64() > Some(1000));
    for operation in ["NewWritableFile", "Append", "Sync", "Read"] {
        assert!(of("table", operation)["count"].as_u64() > Some(0));
    }
    let latency = of("table", "Read");
    assert!(
        latency["p50"].as_u64() <= latency["p99"].as_u64()
            && latency["p99"].as_u64() <= latency["max"].as_u64()
    );
    assert_eq!(report["slowest_operations"].as_array().unwrap().len(), 3);
    assert!(report["bytes_appended"].as_u64() > Some(1000));
    assert!(trace(&file, &[]).good().contains("latency of appends"));
}

#[test]
fn damaged_traces_are_reported_up_to_the_damage() {
    let dir = TempDir::new().unwrap();
    let file = trace_queries(&dir);
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 20]).unwrap();
    let ran = trace(&file, &[]);
    assert!(ran.stdout.contains("by operation"));
    let error = ran.bad();
    assert!(
        error.contains("Corruption") && error.contains("trace") && error.contains("offset"),
        "{error}"
    );
    for bytes in [&b""[..], b"no trace at all", &whole[..20]] {
        std::fs::write(&file, bytes).unwrap();
        let error = trace(&file, &[]).bad();
        assert!(error.contains("Corruption"), "{error}");
    }
    let missing = trace(&dir.path().join("none"), &[]).bad();
    assert!(missing.contains("NotFound"), "{missing}");
}
