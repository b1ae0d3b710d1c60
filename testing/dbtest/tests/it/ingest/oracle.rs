//! Files written by one engine and ingested by the other, and databases with such files read by the other.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use dbtest::crash::dump;
use dbtest::files;
use esker::{CompressionType, Db, IndexType, IngestExternalFileOptions, Options, SstFileWriter};
use tempfile::TempDir;
use testkit::oracle;
use vfs::PosixFs;

use crate::fixtures::{assert_same, copy, expected, names, rows};
use crate::rocksdb::interop::{ldb, run};

/// Options whose files RocksDB 7.8 can read.
fn plain() -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(PosixFs::new()),
        ..Options::default()
    }
}

fn write(options: &Options, path: &Path, fill: impl FnOnce(&mut SstFileWriter)) -> PathBuf {
    let mut writer = SstFileWriter::new(options);
    writer.open(path).unwrap();
    fill(&mut writer);
    writer.finish().unwrap().file_path
}

fn text_rows(db: &Db) -> String {
    let found = dump(db).unwrap();
    let row = |(key, value): (&Vec<u8>, &Vec<u8>)| {
        format!(
            "{} : {}\n",
            String::from_utf8_lossy(key),
            String::from_utf8_lossy(value)
        )
    };
    found["default"].iter().map(row).collect()
}

/// RocksDB ingests files into a database it has begun, with overlaps and without.
#[test]
fn rocksdb_ingests_what_we_write() {
    if oracle::ldb().is_none() || oracle::sst_dump().is_none() {
        return;
    }
    for format_version in [2, 4, 5] {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("db");
        ldb(
            &path,
            &[
                "--create_if_missing",
                "batchput",
                "a",
                "old",
                "c",
                "old",
                "e",
                "old",
            ],
        );
        let mut options = plain();
        options.column_family.table.format_version = format_version;
        options.column_family.compression = CompressionType::Snappy;
        options.column_family.table.index_type = if format_version == 5 {
            IndexType::TwoLevel
        } else {
            IndexType::BinarySearch
        };
        let over = write(&options, &dir.path().join("over.sst"), |writer| {
            writer.delete_range(b"d", b"f").unwrap();
            writer.put(b"a", b"new").unwrap();
            writer.delete(b"c").unwrap();
            writer.put(b"d", b"new").unwrap();
        });
        let beside = write(&options, &dir.path().join("beside.sst"), |writer| {
            for i in 0..500 {
                writer.put(format!("k{i:04}").as_bytes(), &[b'v'; 40]).unwrap();
            }
        });
        for file in [&over, &beside] {
            let file_option = format!("--file={}", file.display());
            let sst_dump = |argument: &str| run(oracle::sst_dump().unwrap().arg(&file_option).arg(argument));
            sst_dump("--command=verify");
            let shown = sst_dump("--show_properties");
            assert!(shown.contains("rocksdb.external_sst_file.version"), "{shown}");
            ldb(&path, &["ingest_extern_sst", file.to_str().unwrap()]);
        }
        let scanned = ldb(&path, &["scan"]);
        assert!(scanned.starts_with("a : new\nd : new\nk0000 : vvv"), "{scanned}");
        assert_eq!(scanned.lines().count(), 502);
        // Esker reads and compacts files ingested by RocksDB, with the sequence numbers it assigned.
        let db = Db::open(&options, &path).unwrap();
        assert_eq!(text_rows(&db), scanned);
        assert_eq!(files::check(&db).unwrap(), "");
        let family = db.default_column_family();
        db.compact_range_cf(&family, None, None).unwrap();
        assert_eq!(text_rows(&db), scanned);
    }
}

/// Runs `ldb write_extern_sst`, which reads the output format of `ldb dump`.
fn ldb_writes(db: &Path, file: &Path, rows: &[(&str, &str)]) {
    let mut child = oracle::ldb()
        .unwrap()
        .arg(format!("--db={}", db.display()))
        .args(["write_extern_sst", file.to_str().unwrap()])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for (key, value) in rows {
        writeln!(input, "{key} ==> {value}").unwrap();
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn we_ingest_what_ldb_writes_and_rocksdb_reads_it_there() {
    if oracle::ldb().is_none() {
        return;
    }
    for write_global_seqno in [false, true] {
        let dir = TempDir::new().unwrap();
        let other = dir.path().join("other");
        ldb(&other, &["--create_if_missing", "put", "x", "y"]);
        let over = dir.path().join("over.sst");
        ldb_writes(&other, &over, &[("a", "new"), ("c", "new"), ("m", "new")]);
        let beside = dir.path().join("beside.sst");
        ldb_writes(&other, &beside, &[("p", "new"), ("q", "new")]);
        let path = dir.path().join("db");
        let db = Db::open(&plain(), &path).unwrap();
        for key in [b"a", b"b", b"m"] {
            db.put(key, b"old").unwrap();
        }
        let ingestion = IngestExternalFileOptions {
            write_global_seqno,
            verify_checksums_before_ingest: true,
            move_files: true,
            ..IngestExternalFileOptions::default()
        };
        db.ingest_external_file(&[&over, &beside], &ingestion).unwrap();
        assert!(!over.exists());
        db.put(b"c", b"newest").unwrap();
        let expected = "a : new\nb : old\nc : newest\nm : new\np : new\nq : new\n";
        assert_eq!(text_rows(&db), expected);
        drop(db);
        assert_eq!(ldb(&path, &["scan"]), expected);
        ldb(&path, &["compact"]);
        assert_eq!(ldb(&path, &["scan"]), expected);
        let db = Db::open(&plain(), &path).unwrap();
        assert_eq!(text_rows(&db), expected);
    }
}

const INGEST: &str = r#"
import sys, rocksdict
path, files = sys.argv[1], sys.argv[2:]
db = rocksdict.Rdict(path, rocksdict.Options(raw_mode=True))
db[b"k000"] = b"old"
db[b"k050"] = b"old"
db[b"k077"] = b"old"
for file in files:
    db.ingest_external_file([file])
for key, value in db.items():
    print(key.decode(), ":", value.decode())
db.close()
"#;

const WRITE: &str = r#"
import sys, rocksdict
path = sys.argv[1]
writer = rocksdict.SstFileWriter(rocksdict.Options(raw_mode=True))
writer.open(path)
for i in range(100, 200):
    writer[b"k%03d" % i] = b"python"
writer.finish()
"#;

/// RocksDB 9.8: format version 6, filters, and a file written by it.
#[test]
fn rocksdict_ingests_ours_and_we_ingest_its() {
    let Some(mut python) = oracle::rocksdict() else {
        return;
    };
    let dir = TempDir::new().unwrap();
    let mut options = plain();
    options.column_family.table.format_version = 6;
    options.column_family.table.filter_policy = esker::FilterPolicy::Bloom(10.0);
    options.column_family.compression = CompressionType::Zstd;
    let first = write(&options, &dir.path().join("1.sst"), |writer| {
        writer.delete_range(b"k040", b"k060").unwrap();
        for i in 0..30 {
            writer.put(format!("k{i:03}").as_bytes(), b"first").unwrap();
        }
    });
    let second = write(&options, &dir.path().join("2.sst"), |writer| {
        writer.put(b"k010", b"second").unwrap();
        writer.delete(b"k020").unwrap();
    });
    let path = dir.path().join("db");
    let paths = [&path, &first, &second];
    let found = run(python.args(["-c", INGEST]).args(paths));
    let mut expected: Vec<String> = (0..30)
        .filter(|&i| i != 20)
        .map(|i| format!("k{i:03} : {}", if i == 10 { "second" } else { "first" }))
        .collect();
    expected.push("k077 : old".to_owned());
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
    let db = Db::open(&options, &path).unwrap();
    assert_eq!(text_rows(&db), found);

    let theirs = dir.path().join("3.sst");
    run(oracle::rocksdict().unwrap().args(["-c", WRITE]).arg(&theirs));
    db.put(b"k150", b"old").unwrap();
    db.ingest_external_file(&[&theirs], &IngestExternalFileOptions::default())
        .unwrap();
    assert_eq!(db.get(b"k150").unwrap().as_deref(), Some(&b"python"[..]));
    assert_eq!(dump(&db).unwrap()["default"].len(), expected.len() + 100);
    assert_eq!(files::check(&db).unwrap(), "");
}

/// Databases written by RocksDB 11.9 ingest Esker's files: they have epoch numbers, comparators and formats
/// of all kinds.
#[test]
fn databases_of_rocksdb_take_files_of_ours() {
    for name in names() {
        let dir = copy(&name);
        let options = plain();
        let db = match Db::open(&options, dir.path()) {
            Ok(db) => db,
            Err(error) => panic!("{name}: {error}"),
        };
        let family = db.default_column_family();
        let stamped = |key: &[u8]| {
            let mut key = key.to_vec();
            key.resize(key.len() + family.comparator().timestamp_size(), 0);
            key
        };
        // The new keys are after all existing ones in the order of the family's comparator.
        let keys = match family.comparator().name().contains("Reverse") {
            true => [&b"\0\0b"[..], &b"\0\0a"[..]],
            false => [&b"\xff\xff\xffa"[..], &b"\xff\xff\xffb"[..]],
        };
        let outside = TempDir::new().unwrap();
        let mut writer = SstFileWriter::for_column_family(&options, &family);
        writer.open(outside.path().join("1.sst")).unwrap();
        for key in keys {
            writer.put(&stamped(key), b"ingested").unwrap();
        }
        let file = writer.finish().unwrap().file_path;
        db.ingest_external_file(&[&file], &IngestExternalFileOptions::default())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        if family.comparator().timestamp_size() > 0 {
            continue;
        }
        // The files are ingested once more over themselves, which needs a sequence number.
        db.ingest_external_file(&[&file], &IngestExternalFileOptions::default())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for key in keys {
            assert_eq!(db.get(key).unwrap().as_deref(), Some(&b"ingested"[..]), "{name}");
            db.delete(key).unwrap();
        }
        assert_same(&name, &rows(&db, &Default::default(), false), &expected(&name));
        db.compact_range_cf(&family, None, None).unwrap();
        assert_same(&name, &rows(&db, &Default::default(), true), &expected(&name));
    }
}

/// RocksDB reads and compacts a database whose tables were cut at the bounds of a replaced range.
#[test]
fn rocksdb_reads_tables_that_were_cut() {
    if oracle::ldb().is_none() {
        return;
    }
    let dir = TempDir::new().unwrap();
    let (path, options) = (dir.path().join("db"), plain());
    let db = Db::open(&options, &path).unwrap();
    let family = db.default_column_family();
    for i in 0..1000 {
        db.put(format!("k{i:04}").as_bytes(), b"deep").unwrap();
    }
    db.compact_range_cf(&family, None, None).unwrap();
    for i in (0..1000).step_by(7) {
        db.put(format!("k{i:04}").as_bytes(), b"above").unwrap();
    }
    db.delete_range_cf(&family, b"k0250", b"k0320").unwrap();
    let file = write(&options, &dir.path().join("1.sst"), |writer| {
        for i in (300..600).step_by(10) {
            writer.put(format!("k{i:04}").as_bytes(), b"new").unwrap();
        }
    });
    let ingestion = IngestExternalFileOptions {
        snapshot_consistency: false,
        ..IngestExternalFileOptions::default()
    };
    let mut arg = esker::IngestExternalFileArg::new(&family, [file], ingestion);
    arg.atomic_replace_range = Some(esker::RangeOpt {
        start: Some(b"k0300".to_vec()),
        limit: Some(b"k0600".to_vec()),
    });
    db.ingest_external_files(&[arg]).unwrap();
    let rows = text_rows(&db);
    assert_eq!(rows.lines().count(), 250 + 30 + 400);
    drop(db);
    assert_eq!(ldb(&path, &["scan"]), rows);
    assert!(ldb(&path, &["checkconsistency"]).contains("OK"));
    ldb(&path, &["compact"]);
    assert_eq!(ldb(&path, &["scan"]), rows);
    assert_eq!(text_rows(&Db::open(&options, &path).unwrap()), rows);
}
