//! `advise`: predictions for the database of a trace.

use std::path::Path;

use esker::{
    CheckpointOptions, ColumnFamilyOptions, CompressionType, Db, FileTraceWriter, Options, TraceOptions,
};
use serde_json::Value;
use tempfile::TempDir;
use vfs::PosixFs;

use crate::common::{Ran, look};

const KEYS: u32 = 2_000;

fn options() -> Options {
    Options {
        create_if_missing: true,
        column_family: ColumnFamilyOptions {
            write_buffer_size: 64 << 10,
            target_file_size_base: 64 << 10,
            max_bytes_for_level_base: 128 << 10,
            compression: CompressionType::None,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
}

/// A database whose tables have each key, a checkpoint `begun` of it, and a trace of writes of each key, a
/// Get of each, and one seek.
fn traced(dir: &TempDir) -> std::path::PathBuf {
    let db = Db::open(&options(), dir.path().join("db")).unwrap();
    let put = |key: u32| db.put(format!("key{key:05}"), [b'v'; 100]).unwrap();
    (0..KEYS).for_each(put);
    // A full compaction puts all rows into one level, whichever compactions ran before.
    db.compact_range(None, None).unwrap();
    let begun = dir.path().join("begun");
    db.create_checkpoint(&begun, &CheckpointOptions::default())
        .unwrap();
    let file = dir.path().join("trace");
    let writer = Box::new(FileTraceWriter::create(&PosixFs::new(), &file).unwrap());
    db.start_trace(&TraceOptions::default(), writer).unwrap();
    (0..KEYS).map(|key| key * 7 % KEYS).for_each(put);
    for key in 0..KEYS {
        db.get(format!("key{key:05}")).unwrap().unwrap();
    }
    db.iter().seek(b"key00001");
    db.end_trace().unwrap();
    drop(db);
    file
}

fn advise(dir: &Path, args: &[&str]) -> Ran {
    look("advise", dir, args)
}

#[test]
fn a_trace_is_replayed_under_each_set() {
    let dir = tempfile::tempdir().unwrap();
    let trace = traced(&dir);
    let trace = trace.to_str().unwrap();
    let set = "compaction_style=kCompactionStyleUniversal;write_buffer_size=1048576";
    let args = ["--workload", trace, "--set", set, "--json"];
    let report: Value = serde_json::from_str(&advise(&dir.path().join("begun"), &args).good()).unwrap();
    assert_eq!(report["operations"], u64::from(2 * KEYS + 1), "{report:#}");
    let rows = report["amplification"].as_array().unwrap();
    let (own, other) = (&rows[0], &rows[1]);
    assert_eq!(
        (&own["options"], &other["options"]),
        (&"as they are".into(), &set.into())
    );
    // All writes fit into one memtable of the second set, which is written once.
    assert_eq!(other["write"], 1.0, "{report:#}");
    assert!(own["write"].as_f64() > Some(1.5), "{report:#}");
    for column in ["space", "tables_per_get", "blocks_per_get", "runs_per_seek"] {
        assert!(own[column].is_number(), "{column}: {report:#}");
    }
    // The directory is as it was: the database opens, and has its rows.
    let db = Db::open(&options(), dir.path().join("begun")).unwrap();
    assert_eq!(db.range::<&[u8]>(..).map(Result::unwrap).count(), KEYS as usize);
}

#[test]
fn mixgraph_takes_the_keys_of_the_tables() {
    let dir = tempfile::tempdir().unwrap();
    traced(&dir);
    let db = dir.path().join("db");
    let args = ["--workload", "mixgraph", "--operations", "20000"];
    let first = advise(&db, &args).good();
    assert!(
        first.contains("as they are") && first.contains("level0_file_num_compaction_trigger=8"),
        "{first}"
    );
    assert_eq!(advise(&db, &args).good(), first, "the same seed gives the same");
}

#[test]
fn wrong_asks_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let trace = traced(&dir);
    let db = dir.path().join("db");
    let current = db.join("CURRENT");
    for (args, words) in [
        (vec!["--workload", "mixgraph", "--set", "no_such=1"], "no_such"),
        (
            vec!["--workload", current.to_str().unwrap()],
            "Corrupted trace file",
        ),
        (
            vec!["--workload", "mixgraph", "--column_family", "none"],
            "no column family none",
        ),
    ] {
        let said = advise(&db, &args).bad();
        assert!(said.contains(words), "{said}");
    }
    std::fs::write(&trace, b"not a trace").unwrap();
    advise(&db, &["--workload", trace.to_str().unwrap()]).bad();
}
