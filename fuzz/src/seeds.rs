//! Seeds: pieces of real RocksDB files, from the test data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::coding::{put_length_prefixed, put_u32, put_u64};
use esker::{BlockCacheTraceOptions, Db, FileTraceWriter, ManualClock, Options, ReadOptions, TraceOptions};
use mvcc::{MvccKey, Timestamp};
use serde_json::Value;
use vfs::{FileSystem, MemFs};

use crate::mutate::MOST_BYTES;
use crate::targets::{BACKUP_META, DATABASE_FILES, STEPS, TARGETS, number_of_files};
use crate::vectors::{base64, minimal_database, testdata, vectors};

/// The seeds of each target, by its name.
pub type Seeds = BTreeMap<&'static str, Vec<Vec<u8>>>;

/// Reads the test data. Panics if the test data is not as expected: it is part of the tree.
pub fn all() -> Seeds {
    let mut seeds = Seeds::new();
    from_vectors(&mut seeds, &vectors());
    from_databases(&mut seeds);
    add(&mut seeds, "backup_meta", BACKUP_META.as_bytes().to_vec());
    for trace in traced() {
        add(&mut seeds, "trace", trace);
    }
    for (at, name) in DATABASE_FILES.iter().enumerate() {
        let whole = minimal_database();
        let bytes = whole
            .iter()
            .find(|(found, _)| found == name)
            .map_or(&[][..], |(_, bytes)| bytes);
        for flags in [0, 4] {
            add(&mut seeds, "database", with_first(at as u8 | flags, bytes));
        }
    }
    from_versions(&mut seeds);
    for script in directory_scripts() {
        add(&mut seeds, "directory", script);
    }
    kept(&mut seeds);
    seeds
}

/// A trace with a query of each kind, and those of I/O and of the block cache meanwhile.
fn traced() -> Vec<Vec<u8>> {
    let (fs, clock) = (Arc::new(MemFs::new()), Arc::new(ManualClock::default()));
    let options = Options {
        create_if_missing: true,
        fs: fs.clone(),
        clock,
        ..Options::default()
    };
    let db = Db::open(&options, "/db").expect("a database in memory");
    let paths = ["/trace", "/io", "/blocks"].map(Path::new);
    let writer = |path: &Path| Box::new(FileTraceWriter::create(&*fs, path).expect("a file in memory"));
    let started = [
        db.start_trace(&TraceOptions::default(), writer(paths[0])),
        db.start_io_trace(&TraceOptions::default(), writer(paths[1])),
        db.start_block_cache_trace(&BlockCacheTraceOptions::default(), writer(paths[2])),
    ];
    started
        .into_iter()
        .for_each(|started| started.expect("memory does not run full"));
    db.put(b"key", b"value").expect("memory does not run full");
    db.flush().expect("memory does not run full");
    db.get(b"key").expect("a row in memory");
    let bounded = ReadOptions {
        iterate_lower_bound: Some(b"a".to_vec()),
        iterate_upper_bound: Some(b"z".to_vec()),
        ..ReadOptions::default()
    };
    let mut iter = db.iter_opt(&bounded);
    iter.seek(b"k");
    iter.seek_for_prev(b"k");
    db.multi_get(&[b"key", b"not"]);
    let ended = [db.end_trace(), db.end_io_trace(), db.end_block_cache_trace()];
    ended
        .into_iter()
        .for_each(|ended| ended.expect("memory does not run full"));
    let bytes = |path: &Path| fs.read_file(path).expect("a file in memory");
    paths.map(bytes).to_vec()
}

/// Keys, values, records and rows as `esker-mvcc` writes them.
fn from_versions(seeds: &mut Seeds) {
    let times = [(0, 0), (1, 0), (1, 7), (256, 0), (i64::MAX, i32::MAX)];
    let mut keys = Vec::new();
    for (user_key, (wall, logical)) in [&b""[..], b"a", b"a\0", b"a\0\0\0\0\0\0\0\0\x05\x09", b"b"]
        .into_iter()
        .zip(times)
    {
        let timestamp = Timestamp { wall, logical };
        add(seeds, "mvcc_key", MvccKey { user_key, timestamp }.encode());
        put_length_prefixed(&mut keys, user_key);
        put_u64(&mut keys, wall as u64);
        put_u32(&mut keys, logical as u32);
    }
    add(seeds, "mvcc_key", keys);
    for value in [
        mvcc::Value::Bytes(b"value"),
        mvcc::Value::Bytes(b""),
        mvcc::Value::Int(-300),
    ] {
        for checksum in [false, true] {
            let mut stored = vec![3];
            stored.extend_from_slice(b"key");
            value.encode(&mut stored, b"key", checksum);
            add(seeds, "mvcc_value", stored);
        }
    }
    for (version, fields) in [(1, 0), (1, 8), (2, 11)] {
        let mut record = vec![version];
        for wall in [30, 20, 10] {
            put_u64(&mut record, wall);
            put_u32(&mut record, 3);
        }
        record.push(u8::from(fields > 0));
        (0..fields).for_each(|field| put_u64(&mut record, 1000 * field));
        add(seeds, "mvcc_record", record);
    }
    let mut rows = Vec::new();
    for spans in [&[(b"a", b"m"), (b"n", b"z")][..], &[(b"f", b"q")]] {
        let mut row = vec![1];
        for (start, end) in spans {
            put_length_prefixed(&mut row, *start);
            put_length_prefixed(&mut row, *end);
        }
        put_length_prefixed(&mut rows, &row);
    }
    add(seeds, "mvcc_ranges", rows);
}

/// Scripts with every step on every file, in the middle of it, for writable and read-only opens.
fn directory_scripts() -> Vec<Vec<u8>> {
    let mut scripts = Vec::new();
    for step in 0..STEPS.len() as u8 {
        for file in 0..number_of_files() as u8 {
            scripts.push(vec![step & 1, step, file, 0, 100 + file, 9, 0x40]);
        }
    }
    // Each seed has one bit of the log's first type byte flipped.
    for file in 0..number_of_files() as u8 {
        scripts.extend((0..8).map(|bit| vec![1, 0, file, 0, 6, bit, 0]));
    }
    scripts
}

/// The corpus under version control: `fuzz/kept/TARGET/`, with a file for each input. It has inputs that once
/// broke a target, and inputs that reach code which the other seeds do not.
fn kept(seeds: &mut Seeds) {
    for (target, _) in TARGETS {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("kept").join(target);
        if !dir.is_dir() {
            continue;
        }
        for path in sorted(&dir) {
            let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            add(seeds, target, bytes);
        }
    }
}

fn add(seeds: &mut Seeds, target: &'static str, seed: Vec<u8>) {
    if seed.len() <= MOST_BYTES {
        seeds.entry(target).or_default().push(seed);
    }
}

fn with_first(first: u8, rest: &[u8]) -> Vec<u8> {
    [&[first], rest].concat()
}

fn from_vectors(seeds: &mut Seeds, vectors: &Value) {
    for varint in list(vectors, "varint") {
        add(seeds, "coding", hex(&varint["hex"]));
    }
    for batch in list(vectors, "write_batch") {
        add(seeds, "coding", hex(&batch["hex"]));
        add(seeds, "write_batch", hex(&batch["hex"]));
    }
    for block in list(vectors, "compressed_block") {
        let ty = block["type_byte"].as_u64().expect("a type byte") as u8;
        add(seeds, "decompress", with_first(ty, &hex(&block["stored_hex"])));
    }
    for block in list(vectors, "data_block") {
        add(seeds, "data_block", hex(&block["block_hex"]));
    }
    for block in list(vectors, "index_block") {
        for coding in 0..8 {
            add(
                seeds,
                "index_block",
                with_first(coding, &hex(&block["block_hex"])),
            );
        }
    }
    for filter in list(vectors, "filter") {
        // For larger filters the vectors keep the first line and the metadata, which decode as a smaller
        // filter.
        let bytes = match (filter.get("filter_hex"), filter.get("filter_b64")) {
            (Some(digits), _) => hex(digits),
            (None, Some(digits)) => base64(digits),
            (None, None) => [hex(&filter["filter_first64_hex"]), hex(&filter["trailer_hex"])].concat(),
        };
        add(seeds, "filter", bytes);
    }
    for footer in list(vectors, "footer") {
        let offset = footer["footer_offset"].as_u64().expect("an offset");
        add(
            seeds,
            "footer",
            with_first((offset >> 4) as u8, &hex(&footer["footer_hex"])),
        );
    }
    for record in list(vectors, "log_record") {
        for how in [0, 2, 0x83] {
            add(seeds, "log", with_first(how, &hex(&record["record_hex"])));
        }
    }
    for edit in list(vectors, "version_edit") {
        add(seeds, "version_edit", hex(&edit["hex"]));
    }
    for file in list(vectors, "whole_file") {
        let bytes = base64(&file["b64"]);
        if file["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("MANIFEST"))
        {
            add(seeds, "manifest", bytes);
        } else {
            add(seeds, "properties", properties_of(&bytes));
            for how in [0, 1, 6] {
                add(seeds, "table", with_first(how, &bytes));
            }
        }
    }
    let blob = &vectors["blob_file"];
    add(seeds, "blob_file", hex(&blob["file_hex"]));
    add(seeds, "blob_file", hex(&blob["blob_index_hex"]));
}

/// Whole files of the databases that RocksDB wrote, if they are small enough.
fn from_databases(seeds: &mut Seeds) {
    let home = testdata().join("rocksdb-11.9");
    for dir in sorted(&home).into_iter().filter(|path| path.is_dir()) {
        for path in sorted(&dir) {
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or("")
                .to_owned();
            let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            match name.rsplit_once('.') {
                Some((_, "log")) => add(seeds, "log", with_first(2, &bytes)),
                Some((_, "sst")) => add(seeds, "table", with_first(1, &bytes)),
                Some((_, "blob")) => add(seeds, "blob_file", bytes),
                _ if name.starts_with("MANIFEST-") => add(seeds, "manifest", bytes),
                _ if name.starts_with("OPTIONS-") => add(seeds, "options_file", bytes),
                _ => {}
            }
        }
    }
}

/// The properties of a table in the form that the target takes.
fn properties_of(table: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    // Each name and value comes with its length: enough as a start for mutations.
    for name in [
        "rocksdb.num.entries",
        "rocksdb.comparator",
        "rocksdb.index.type",
        "rocksdb.format.version",
    ] {
        if table.windows(name.len()).any(|window| window == name.as_bytes()) {
            put_length_prefixed(&mut out, name.as_bytes());
            put_length_prefixed(&mut out, &[2]);
        }
    }
    out
}

fn sorted(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn list<'a>(vectors: &'a Value, name: &str) -> &'a [Value] {
    vectors[name]
        .as_array()
        .unwrap_or_else(|| panic!("no vectors {name}"))
}

fn hex(value: &Value) -> Vec<u8> {
    // Dots mark bytes that the vectors omit.
    let text = value.as_str().expect("hexadecimal digits").trim_end_matches('.');
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("a hexadecimal digit");
    (0..text.len()).step_by(2).map(digit).collect()
}
