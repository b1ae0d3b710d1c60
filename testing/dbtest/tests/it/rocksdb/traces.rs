//! Traces in both directions: RocksDB's analyzers read Esker's traces, and Esker reads those of RocksDB's
//! `db_bench`.

use std::path::Path;
use std::process::Command;

use esker::{
    BlockBasedOptions, BlockCacheTraceOptions, BlockCacheTraceReader, ColumnFamilyOptions, Db,
    FileTraceReader, FileTraceWriter, FilterPolicy, IoTraceReader, Options, QueryTraceReader,
    TableReaderCaller, TraceOptions, TracedBlock, TracedQuery,
};
use tempfile::TempDir;
use testkit::oracle;
use vfs::PosixFs;

/// Calls a function of RocksDB's library that takes a command line.
const CALL: &str = r#"
import ctypes, sys
lib = ctypes.CDLL("librocksdb.so.7.8")
argv = [b"tool"] + [word.encode() for word in sys.argv[2:]]
words = (ctypes.c_char_p * (len(argv) + 1))(*argv, None)
sys.exit(getattr(lib, sys.argv[1])(len(argv), words))
"#;

/// RocksDB's `io_tracer_parser`.
const IO_PARSER: &str = "_ZN7rocksdb16io_tracer_parserEiPPc";

/// RocksDB's `trace_analyzer`.
const QUERY_ANALYZER: &str = "_ZN7rocksdb19trace_analyzer_toolEiPPc";

/// RocksDB's `block_cache_trace_analyzer`.
const BLOCK_ANALYZER: &str = "_ZN7rocksdb31block_cache_trace_analyzer_toolEiPPc";

/// The output of a tool of RocksDB.
fn said(mut python: Command, tool: &str, args: &[String]) -> String {
    let output = python.args(["-c", CALL, tool]).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{tool} {args:?}: {output:?}");
    said
}

fn writer(path: &Path) -> Box<FileTraceWriter> {
    Box::new(FileTraceWriter::create(&PosixFs::new(), path).unwrap())
}

fn key(row: u32) -> Vec<u8> {
    format!("key{row:05}").into_bytes()
}

#[test]
fn rocksdbs_analyzers_read_ours() {
    let dir = TempDir::new().unwrap();
    let options = Options {
        create_if_missing: true,
        column_family: ColumnFamilyOptions {
            table: BlockBasedOptions {
                filter_policy: FilterPolicy::Bloom(10.0),
                cache_index_and_filter_blocks: true,
                ..BlockBasedOptions::default()
            },
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    };
    let db = Db::open(&options, dir.path().join("db")).unwrap();
    let place = |name: &str| dir.path().join(name);
    db.start_trace(&TraceOptions::default(), writer(&place("queries")))
        .unwrap();
    db.start_io_trace(&TraceOptions::default(), writer(&place("io")))
        .unwrap();
    for row in 0..1000 {
        db.put(key(row), [b'v'; 100]).unwrap();
    }
    db.flush().unwrap();
    let blocks = BlockCacheTraceOptions::default();
    db.start_block_cache_trace(&blocks, writer(&place("blocks")))
        .unwrap();
    for row in 0..300 {
        assert!(db.get(key(row)).unwrap().is_some());
    }
    let mut iter = db.iter();
    iter.seek(&key(500));
    let default = db.default_column_family();
    drop(db.multi_get_cf(&default, &[key(700), key(701)]));
    db.end_trace().unwrap();
    db.end_io_trace().unwrap();
    db.end_block_cache_trace().unwrap();

    let file = |name: &str| place(name).to_str().unwrap().to_owned();
    let Some(python) = oracle::librocksdb() else {
        return;
    };
    let mut operations = 0;
    let mut reader = IoTraceReader::open(&PosixFs::new(), &place("io")).unwrap();
    while reader.next_record().unwrap().is_some() {
        operations += 1;
    }
    let text = said(python, IO_PARSER, &[format!("--io_trace_file={}", file("io"))]);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("Access Time"))
        .collect();
    assert_eq!(lines.len(), operations, "{text}");
    let appends = lines
        .iter()
        .filter(|line| line.contains(".log") && line.contains("Append"));
    assert!(appends.count() >= 1000, "{text}");
    let read = lines
        .iter()
        .find(|line| line.contains(".sst") && line.contains("File Operation: Read"));
    assert!(
        read.is_some_and(|read| read.contains("Length:") && read.contains("Offset:")),
        "{read:?}"
    );

    let python = oracle::librocksdb().unwrap();
    let path = format!("--block_cache_trace_path={}", file("blocks"));
    let text = said(python, BLOCK_ANALYZER, &[path]);
    for line in [
        "Caller Get: Number of accesses 900 ",
        "Block Type Filter: Number of accesses: 300 ",
        "Caller Iterator: Number of accesses 2 ",
        "Caller MultiGet: Number of accesses 6 ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }

    let python = oracle::librocksdb().unwrap();
    let args = [
        format!("--trace_path={}", file("queries")),
        format!("--output_dir={}", dir.path().display()),
        "--output_prefix=ours".to_owned(),
        "--analyze_get".to_owned(),
        "--analyze_put".to_owned(),
    ];
    let text = said(python, QUERY_ANALYZER, &args);
    let totals =
        "Total_gets: 300 Total_write_batches: 1000 Total_seeks: 1 Total_seek_for_prevs: 0 Total_multigets: 1";
    assert!(text.contains(totals), "{text}");
    assert!(text.contains("Average value size: 100.000000"), "{text}");
}

#[test]
fn ours_read_what_rocksdb_writes() {
    let dir = TempDir::new().unwrap();
    let run = |args: &[&str]| {
        let mut bench = oracle::db_bench()?;
        let db = format!("--db={}", dir.path().join("db").display());
        let output = bench
            .arg(db)
            .args(["--num=2000", "--value_size=100"])
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        Some(())
    };
    let place = |name: &str| dir.path().join(name);
    let flag = |name: &str, file: &str| format!("--{name}={}", place(file).display());
    if run(&["--benchmarks=fillrandom"]).is_none() {
        return;
    }
    let blocks = flag("block_cache_trace_file", "blocks");
    let readrandom = [
        "--use_existing_db=1",
        "--benchmarks=readrandom",
        "--reads=500",
        "--bloom_bits=10",
    ];
    let cached = ["--cache_index_and_filter_blocks=1", &blocks];
    run(&[&readrandom[..], &cached[..]].concat()).unwrap();
    let queries = flag("trace_file", "queries");
    let mixed = [
        "--use_existing_db=1",
        "--benchmarks=readrandomwriterandom",
        "--reads=500",
        &queries,
    ];
    run(&mixed).unwrap();

    let mut reader = BlockCacheTraceReader::open(&PosixFs::new(), &place("blocks")).unwrap();
    let (mut filters, mut data, mut gets) = (0, 0, std::collections::BTreeSet::new());
    while let Some(record) = reader.next_record().unwrap() {
        assert_eq!(record.caller, TableReaderCaller::UserGet);
        assert_eq!(
            (&*record.cf_name, record.referenced_key.len()),
            ("default", 16 + 8)
        );
        filters += usize::from(record.block_type == TracedBlock::Filter);
        data += usize::from(record.block_type == TracedBlock::Data);
        gets.insert(record.get_id);
    }
    assert_eq!((filters, gets.len()), (500, 500));
    assert!(data > 100);

    let mut reader =
        QueryTraceReader::new(FileTraceReader::open(&PosixFs::new(), &place("queries")).unwrap());
    reader.prepare().unwrap();
    let (mut gets, mut writes) = (0, 0);
    while let Some(record) = reader.next_record().unwrap() {
        match record.query {
            TracedQuery::Get { key, .. } if key.len() == 16 => gets += 1,
            TracedQuery::Write(_) => writes += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((gets, writes), (450, 50));
}
