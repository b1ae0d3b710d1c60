//! Databases that Esker and RocksDB use in turn.
//!
//! `ldb` and `sst_dump` are those of Debian (RocksDB 7.8), which read format versions up to 5; the Python
//! wheel `rocksdict` (RocksDB 9.8) reads version 6. If they are missing, a test prints that and is skipped;
//! with `ESKER_REQUIRE_TOOLS=1` it fails.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use dbtest::by_hand::rewrite_family;
use dbtest::files;
use esker::{
    BlockBasedOptions, ChecksumType, ColumnFamily, ColumnFamilyOptions, CompressionType, Db, ErrorKind,
    FilterPolicy, MergeOperator, Options, ReadOptions, UserComparator, WriteBatch,
};
use tempfile::TempDir;
use testkit::{TestRng, judges, oracle};

use crate::fixtures::{assert_same, copy, expected, hex, names, rows, unhex};

const COMPRESSIONS: [CompressionType; 7] = [
    CompressionType::None,
    CompressionType::Snappy,
    CompressionType::Zlib,
    CompressionType::Bzip2,
    CompressionType::Lz4,
    CompressionType::Lz4Hc,
    CompressionType::Zstd,
];

const CHECKSUMS: [ChecksumType; 5] = [
    ChecksumType::None,
    ChecksumType::Crc32c,
    ChecksumType::XxHash,
    ChecksumType::XxHash64,
    ChecksumType::Xxh3,
];

/// The expected rows of each family, in the form that `expected.tsv` has after the key.
struct Rows {
    families: Vec<FamilyRows>,
}

struct FamilyRows {
    name: String,
    cmp: UserComparator,
    merge: Option<std::sync::Arc<dyn MergeOperator>>,
    rows: HashMap<Vec<u8>, String>,
}

impl Rows {
    fn new(db: &Db, merge: Option<&str>) -> Rows {
        let of = |family: ColumnFamily| FamilyRows {
            name: family.name().to_owned(),
            cmp: family.comparator().clone(),
            merge: merge.and_then(dbtest::settings::merge_operator),
            rows: HashMap::new(),
        };
        Rows {
            families: db.column_families().into_iter().map(of).collect(),
        }
    }

    fn load(&mut self, text: &str) {
        for line in text.lines() {
            let mut fields = line.splitn(3, '\t');
            let (family, key, rest) = (
                fields.next().unwrap(),
                fields.next().unwrap(),
                fields.next().unwrap(),
            );
            let family = self.families.iter_mut().find(|own| own.name == family).unwrap();
            family.rows.insert(unhex(key), rest.to_owned());
        }
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for family in &self.families {
            let mut keys: Vec<&Vec<u8>> = family.rows.keys().collect();
            keys.sort_by(|a, b| {
                family
                    .cmp
                    .compare_without_timestamp(&stamped(&family.cmp, a), &stamped(&family.cmp, b))
            });
            for key in keys {
                out.push_str(&format!("{}\t{}\t{}\n", family.name, hex(key), family.rows[key]));
            }
        }
        out
    }
}

/// A key with the timestamp that its comparator requires.
fn stamped(cmp: &UserComparator, key: &[u8]) -> Vec<u8> {
    let mut key = key.to_vec();
    key.resize(key.len() + cmp.timestamp_size(), 0);
    key
}

impl FamilyRows {
    fn delete_range(&mut self, start: &[u8], end: &[u8]) {
        let cmp = self.cmp.clone();
        let (start, end) = (stamped(&cmp, start), stamped(&cmp, end));
        self.rows.retain(|key, _| {
            let key = stamped(&cmp, key);
            cmp.compare_without_timestamp(&key, &start).is_lt()
                || cmp.compare_without_timestamp(&key, &end).is_ge()
        });
    }

    fn merge(&mut self, key: &[u8], operand: &[u8]) {
        let operator = self.merge.as_ref().unwrap();
        let existing = self.rows.get(key).map(|value| unhex(value));
        let merged = operator.full_merge(key, existing.as_deref(), &[operand]).unwrap();
        self.rows.insert(key.to_vec(), hex(&merged));
    }
}

/// Writes `count` random operations to the database and the model, over existing and new keys, in batches of
/// about ten.
fn write_randomly(rng: &mut TestRng, db: &Db, rows: &mut Rows, count: usize, timestamp: u64) {
    let known: Vec<Vec<Vec<u8>>> = rows
        .families
        .iter()
        .map(|family| {
            let mut keys: Vec<Vec<u8>> = family.rows.keys().cloned().collect();
            keys.sort();
            keys
        })
        .collect();
    let mut written = 0;
    while written < count {
        let mut batch = WriteBatch::new();
        for _ in 0..rng.usize(1..20).min(count - written) {
            let at = rng.usize(..rows.families.len());
            let own = &mut rows.families[at];
            let family = db.column_family(&own.name).unwrap();
            let key = random_key(rng, &known[at]);
            let stamp = timestamp.to_le_bytes();
            let stamp = if own.cmp.timestamp_size() > 0 {
                &stamp[..]
            } else {
                &[]
            };
            match rng.u32(..10) {
                0..5 => {
                    let len = rng.usize(..120);
                    let value = rng.bytes(len);
                    batch.put_at(&family, &key, stamp, &value);
                    own.rows.insert(key, hex(&value));
                }
                5..7 => {
                    batch.delete_at(&family, &key, stamp);
                    own.rows.remove(&key);
                }
                7..9 if own.merge.is_some() => {
                    let operand = [b"m", &rng.bytes(3)[..]].concat();
                    batch.merge_cf(&family, &key, &operand);
                    own.merge(&key, &operand);
                }
                7..9 => {
                    batch.put_at(&family, &key, stamp, b"");
                    own.rows.insert(key, String::new());
                }
                _ => {
                    let mut bounds = [key.clone(), random_key(rng, &known[at])];
                    if !rng.one_in(8) {
                        bounds[1] = key;
                        bounds[1].push(b'5');
                    }
                    let cmp = &own.cmp;
                    bounds.sort_by(|a, b| cmp.compare_without_timestamp(&stamped(cmp, a), &stamped(cmp, b)));
                    let [start, end] = bounds;
                    batch.delete_range_at(&family, &start, &end, stamp);
                    own.delete_range(&start, &end);
                }
            }
            written += 1;
        }
        db.write(batch).unwrap();
    }
}

fn random_key(rng: &mut TestRng, known: &[Vec<u8>]) -> Vec<u8> {
    if !known.is_empty() && !rng.one_in(3) {
        return rng.pick(known).clone();
    }
    format!("new{:06}", rng.u32(..5000)).into_bytes()
}

fn compact_all(db: &Db) {
    for family in db.column_families() {
        rewrite_family(db, &family);
    }
}

#[test]
fn fixtures_take_a_thousand_writes() {
    let have_tools = oracle::ldb().is_some() && oracle::sst_dump().is_some();
    for name in names() {
        let mut rng = testkit::rng();
        let dir = copy(&name);
        let timestamps = name == "user_timestamps";
        let read = |timestamp: u64| ReadOptions {
            timestamp: timestamps.then(|| timestamp.to_le_bytes().to_vec()),
            ..ReadOptions::default()
        };
        let merge = (name == "merge_stringappend").then_some("stringappend");
        let options = Options::default();
        let now = (1 << 40) + 2;
        let mut model;
        {
            let db = Db::open(&options, dir.path()).unwrap();
            model = Rows::new(&db, merge);
            // With timestamps, the latest rows differ from the rows expected at timestamp 400.
            let start = if timestamps {
                rows(&db, &read(1 << 40), false)
            } else {
                expected(&name)
            };
            model.load(&start);
            write_randomly(&mut rng, &db, &mut model, 500, (1 << 40) + 1);
            assert_same(
                &format!("{name} in memory"),
                &rows(&db, &read(now), false),
                &model.text(),
            );
            db.flush_cf(&db.column_families()).unwrap();
            write_randomly(&mut rng, &db, &mut model, 500, now);
            assert_same(
                &format!("{name} half flushed"),
                &rows(&db, &read(now), false),
                &model.text(),
            );
            db.flush_cf(&db.column_families()).unwrap();
            assert_same(
                &format!("{name} flushed"),
                &rows(&db, &read(now), true),
                &model.text(),
            );
            compact_all(&db);
            assert_same(
                &format!("{name} compacted"),
                &rows(&db, &read(now), false),
                &model.text(),
            );
            assert_eq!(files::check(&db).unwrap(), "", "{name}");
        }
        let db = Db::open(&options, dir.path()).unwrap();
        assert_same(
            &format!("{name} reopened"),
            &rows(&db, &read(now), false),
            &model.text(),
        );
        assert_same(
            &format!("{name} reopened, backwards"),
            &rows(&db, &read(now), true),
            &model.text(),
        );
        if timestamps {
            assert_same("the past", &rows(&db, &read(400), false), &expected(&name));
        }
        let families: Vec<String> = db
            .column_families()
            .iter()
            .map(|family| family.name().to_owned())
            .collect();
        let mut all = db.column_families().into_iter();
        let has_default_order = all.all(|family| family.comparator().name() == "leveldb.BytewiseComparator");
        drop(db);
        // After a compaction all tables are written by Esker, in a format that older releases of RocksDB can
        // read.
        if have_tools {
            // ldb cannot scan at a timestamp.
            if !timestamps {
                // The OPTIONS file keeps options of RocksDB 11.9, so users of 7.8 must remove it.
                judges::forget_options(dir.path());
                if !has_default_order {
                    // An OPTIONS file is the only way to pass a comparator to ldb: an open writes a new one,
                    // without those options.
                    Db::open(&options, dir.path()).unwrap().close().unwrap();
                }
                let families: Vec<&str> = families.iter().map(String::as_str).collect();
                assert_same(
                    &format!("{name}: ldb"),
                    &ldb_rows(dir.path(), &families),
                    &without_columns(&model.text()),
                );
            }
            sst_dump_verifies([dir.path()]);
        }
    }
}

/// The rows without their columns.
fn without_columns(rows: &str) -> String {
    let row = |row: &str| format!("{}\n", row.split_once("\tcolumns").map_or(row, |(row, _)| row));
    rows.lines().map(row).collect()
}

// Calls of RocksDB's tools.

/// The output of `command`; panics unless it succeeded.
pub fn run(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let stdout = String::from_utf8(stdout).unwrap();
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(
        status.success() && !stderr.contains("orruption"),
        "{command:?}: {status}\n{stdout}{stderr}"
    );
    stdout
}

pub fn ldb(dir: &Path, arguments: &[&str]) -> String {
    run(oracle::ldb()
        .unwrap()
        .arg(format!("--db={}", dir.display()))
        .args(arguments))
}

/// Every row as read by RocksDB, in the form of `expected.tsv`.
fn ldb_rows(dir: &Path, families: &[&str]) -> String {
    let mut out = String::new();
    for family in families {
        let column_family = format!("--column_family={family}");
        for line in ldb(dir, &["--hex", "scan", &column_family]).lines() {
            let (key, value) = line
                .split_once(" : ")
                .unwrap_or_else(|| panic!("ldb scan printed {line}"));
            let digits = |text: &str| text.trim().strip_prefix("0x").unwrap().to_owned();
            out.push_str(&format!("{family}\t{}\t{}\n", digits(key), digits(value)));
        }
    }
    out
}

/// Makes RocksDB read every table of `dirs` and verify its checksums.
fn sst_dump_verifies<'a>(dirs: impl IntoIterator<Item = &'a Path>) {
    let all = TempDir::new().unwrap();
    let mut count = 0;
    for dir in dirs {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "sst") {
                count += 1;
                fs::copy(&path, all.path().join(format!("{count:06}.sst"))).unwrap();
            }
        }
    }
    for arguments in [
        &["--command=verify"][..],
        &["--command=check", "--verify_checksum"],
    ] {
        let file = format!("--file={}", all.path().display());
        let printed = run(oracle::sst_dump().unwrap().arg(file).args(arguments));
        assert_eq!(printed.matches("Process ").count(), count, "{printed}");
        assert!(!printed.contains("orruption"), "{printed}");
    }
}

/// Options under which a few hundred rows make several tables.
fn small(format_version: u32, checksum: ChecksumType, compression: CompressionType) -> Options {
    let table = BlockBasedOptions {
        format_version,
        checksum,
        block_size: 512,
        filter_policy: FilterPolicy::Bloom(10.0),
        ..BlockBasedOptions::default()
    };
    let column_family = ColumnFamilyOptions {
        compression,
        table,
        target_file_size_base: 8 << 10,
        max_bytes_for_level_base: 32 << 10,
        ..ColumnFamilyOptions::default()
    };
    Options {
        create_if_missing: true,
        column_family,
        ..Options::default()
    }
}

/// A database with tables in two levels and a WAL with newer rows.
fn write_database(rng: &mut TestRng, options: &Options, dir: &Path, merge: Option<&str>) -> Rows {
    let db = Db::open(options, dir).unwrap();
    let mut model = Rows::new(&db, merge);
    write_randomly(rng, &db, &mut model, 250, 0);
    compact_all(&db);
    write_randomly(rng, &db, &mut model, 50, 0);
    db.flush_cf(&db.column_families()).unwrap();
    write_randomly(rng, &db, &mut model, 20, 0);
    model
}

fn combinations() -> impl Iterator<Item = (ChecksumType, CompressionType)> {
    CHECKSUMS.into_iter().flat_map(|checksum| {
        COMPRESSIONS
            .into_iter()
            .map(move |compression| (checksum, compression))
    })
}

#[test]
fn rocksdb_reads_every_format_we_write() {
    if oracle::ldb().is_none() || oracle::sst_dump().is_none() {
        return;
    }
    let mut rng = testkit::rng();
    let mut dirs = Vec::new();
    for format_version in 2..=5 {
        for (checksum, compression) in combinations() {
            let what = format!("version {format_version} {checksum:?} {compression:?}");
            let dir = TempDir::new().unwrap();
            let options = small(format_version, checksum, compression);
            let model = write_database(&mut rng, &options, dir.path(), None);
            assert_same(&what, &ldb_rows(dir.path(), &["default"]), &model.text());
            let db = Db::open(&options, dir.path()).unwrap();
            assert_same(&what, &rows(&db, &ReadOptions::default(), false), &model.text());
            dirs.push(dir);
        }
    }
    sst_dump_verifies(dirs.iter().map(TempDir::path));
}

#[test]
fn formats_newer_than_the_tools_are_read_back() {
    let mut rng = testkit::rng();
    for format_version in 6..=7 {
        for (checksum, compression) in combinations() {
            let dir = TempDir::new().unwrap();
            let options = small(format_version, checksum, compression);
            let model = write_database(&mut rng, &options, dir.path(), None);
            let db = Db::open(&options, dir.path()).unwrap();
            let what = format!("version {format_version} {checksum:?} {compression:?}");
            assert_same(&what, &rows(&db, &ReadOptions::default(), false), &model.text());
            assert_eq!(files::check(&db).unwrap(), "", "{what}");
        }
    }
}

/// Prints the rows of each database named on standard input, after a line with its name.
const ROCKSDICT: &str = r#"
import sys
from rocksdict import Rdict, Options, AccessType
for path in sys.stdin.read().splitlines():
    print("=" + path)
    db = Rdict(path, Options(raw_mode=True), access_type=AccessType.read_only())
    for key, value in db.items():
        print("default\t" + key.hex().upper() + "\t" + value.hex().upper())
    db.close()
"#;

#[test]
fn a_newer_rocksdb_reads_version_6() {
    let Some(mut python) = oracle::rocksdict() else {
        return;
    };
    let mut rng = testkit::rng();
    let mut written = Vec::new();
    // The wheel is built without zlib.
    for (checksum, compression) in
        combinations().filter(|(_, compression)| *compression != CompressionType::Zlib)
    {
        let dir = TempDir::new().unwrap();
        let model = write_database(&mut rng, &small(6, checksum, compression), dir.path(), None);
        written.push((dir, model, format!("{checksum:?} {compression:?}")));
    }
    let mut child = python
        .args(["-c", ROCKSDICT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for (dir, ..) in &written {
        writeln!(input, "{}", dir.path().display()).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{:?}", printed.lines().last());
    let mut databases = printed.split('=').skip(1);
    for (dir, model, what) in &written {
        let (path, got) = databases.next().unwrap().split_once('\n').unwrap();
        assert_eq!(Path::new(path), dir.path());
        assert_same(what, got, &model.text());
    }
}

#[test]
fn a_database_changes_hands_and_comes_back() {
    if oracle::ldb().is_none() {
        return;
    }
    let merges = [None, Some("stringappend"), Some("uint64add"), Some("put")];
    let cases = merges.map(|merge| ("bytewise", merge, false)).into_iter();
    for (comparator, merge, zstd_wal) in cases.chain([("reverse", None, false), ("bytewise", None, true)]) {
        let mut rng = testkit::rng();
        let what = format!("{comparator} {merge:?}");
        let dir = TempDir::new().unwrap();
        let mut options = small(5, ChecksumType::Xxh3, CompressionType::Lz4);
        dbtest::settings::set(&mut options, "comparator", comparator).unwrap();
        dbtest::settings::set(&mut options, "merge_operator", merge.unwrap_or("nullptr")).unwrap();
        if zstd_wal {
            options.wal_compression = CompressionType::Zstd;
        }
        options.create_missing_column_families = true;
        options
            .column_families
            .insert("two".to_owned(), options.column_family.clone());
        let mut model = write_database(&mut rng, &options, dir.path(), merge);
        let families = ["default", "two"];
        for round in 0..3 {
            let what = format!("{what}, round {round}");
            // Some of Esker's rows are only in the WAL.
            assert_same(
                &format!("{what}: RocksDB"),
                &ldb_rows(dir.path(), &families),
                &model.text(),
            );
            for family in families {
                ldb(dir.path(), &["compact", &format!("--column_family={family}")]);
            }
            {
                let db = Db::open(&options, dir.path()).unwrap();
                assert_same(
                    &format!("{what}: compacted"),
                    &rows(&db, &ReadOptions::default(), false),
                    &model.text(),
                );
                assert_eq!(files::check(&db).unwrap(), "", "{what}");
                write_randomly(&mut rng, &db, &mut model, 60, 0);
            }
            ldb(dir.path(), &["checkconsistency"]);
            // Some of RocksDB's rows are only in the WAL too.
            ldb_writes(&mut rng, dir.path(), &mut model);
            let db = Db::open(&options, dir.path()).unwrap();
            assert_same(
                &format!("{what}: ours again"),
                &rows(&db, &ReadOptions::default(), true),
                &model.text(),
            );
            write_randomly(&mut rng, &db, &mut model, 60, 0);
            if round == 1 {
                compact_all(&db);
            }
        }
        sst_dump_verifies([dir.path()]);
    }
}

/// A copy of an open database has the state after a death of the process: a WAL with unused space at its end.
#[test]
fn a_database_left_open_is_recovered() {
    if oracle::ldb().is_none() {
        return;
    }
    let mut rng = testkit::rng();
    for wal_compression in [CompressionType::None, CompressionType::Zstd] {
        let dir = TempDir::new().unwrap();
        let options = Options {
            wal_compression,
            ..small(5, ChecksumType::Xxh3, CompressionType::Lz4)
        };
        let mut model = write_database(&mut rng, &options, dir.path(), None);
        let db = Db::open(&options, dir.path()).unwrap();
        write_randomly(&mut rng, &db, &mut model, 300, 0);
        let copies = [(); 3].map(|()| {
            let copy = TempDir::new().unwrap();
            for entry in fs::read_dir(dir.path()).unwrap() {
                let entry = entry.unwrap();
                match fs::copy(entry.path(), copy.path().join(entry.file_name())) {
                    // A file that does not exist any more was obsolete, and was deleted during the copy.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    copied => drop(copied.unwrap()),
                }
            }
            copy
        });
        let what = format!("WAL {wal_compression:?}");
        assert_same(&what, &ldb_rows(copies[0].path(), &["default"]), &model.text());
        ldb(copies[1].path(), &["compact"]);
        assert_same(
            &format!("{what}, compacted"),
            &ldb_rows(copies[1].path(), &["default"]),
            &model.text(),
        );
        for copy in &copies {
            let db = Db::open(&options, copy.path()).unwrap();
            assert_same(
                &format!("{what}, ours"),
                &rows(&db, &ReadOptions::default(), false),
                &model.text(),
            );
        }
    }
}

/// Writes a few rows with RocksDB.
fn ldb_writes(rng: &mut TestRng, dir: &Path, model: &mut Rows) {
    for family in &mut model.families {
        let column_family = format!("--column_family={}", family.name);
        let mut puts = vec!["--hex".to_owned(), "batchput".to_owned(), column_family.clone()];
        for _ in 0..10 {
            let (key, value) = (format!("new{:06}", rng.u32(..5000)).into_bytes(), rng.bytes(20));
            puts.extend([format!("0x{}", hex(&key)), format!("0x{}", hex(&value))]);
            family.rows.insert(key, hex(&value));
        }
        ldb(dir, &puts.iter().map(String::as_str).collect::<Vec<_>>());
        let key = family.rows.keys().min().unwrap().clone();
        ldb(
            dir,
            &["--hex", "delete", &format!("0x{}", hex(&key)), &column_family],
        );
        family.rows.remove(&key);
        let mut bounds = [b"new001000".to_vec(), b"new001500".to_vec()];
        bounds.sort_by(|a, b| family.cmp.compare(a, b));
        let [start, end] = bounds;
        let [from, to] = [&start, &end].map(|key| format!("0x{}", hex(key)));
        ldb(dir, &["--hex", "deleterange", &from, &to, &column_family]);
        family.delete_range(&start, &end);
    }
}

#[test]
fn what_ldb_wrote_is_recovered() {
    if oracle::ldb().is_none() {
        return;
    }
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    ldb(&path, &["put", "a", "1", "--create_if_missing"]);
    ldb(&path, &["create_column_family", "two"]);
    ldb(&path, &["put", "b", "2", "--column_family=two"]);
    ldb(&path, &["put", "c", "3"]);
    ldb(&path, &["deleterange", "a", "b"]);
    let expected = "default\t63\t33\ntwo\t62\t32\n";
    let db = Db::open_read_only(&Options::default(), &path).unwrap();
    assert_same("read only", &rows(&db, &ReadOptions::default(), false), expected);
    drop(db);
    let db = Db::open(&Options::default(), &path).unwrap();
    assert_same("recovered", &rows(&db, &ReadOptions::default(), false), expected);
    drop(db);
    assert_same("given back", &ldb_rows(&path, &["default", "two"]), expected);
}

/// Opens a database and keeps it open until its input ends.
const ROCKSDB_HOLDS: &str = r#"
import sys
import rocksdict
db = rocksdict.Rdict(sys.argv[1], rocksdict.Options(raw_mode=True))
print("open", flush=True)
sys.stdin.read()
db.close()
"#;

/// Only one of the two engines can have a database open for writing, also after the other has tried to take
/// the lock.
#[test]
fn rocksdb_is_kept_out_of_an_open_database_and_keeps_us_out() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(&options, &path).unwrap();
    db.put(b"k", b"v").unwrap();
    assert!(!fs::read(path.join("LOCK")).unwrap().is_empty());
    if let Some(mut ldb) = oracle::ldb() {
        let put = format!("--db={}", path.display());
        let output = ldb.args([&put, "put", "k", "theirs"]).output().unwrap();
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("lock"), "{said}");
    }
    assert_eq!(db.get(b"k").unwrap().unwrap(), b"v");
    drop(db);
    let Some(mut python) = oracle::rocksdict() else {
        return;
    };
    let mut holder = python
        .args(["-c", ROCKSDB_HOLDS])
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(holder.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert_eq!(said.trim(), "open");
    let error = Db::open(&options, &path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LockHeld);
    let by = format!("held by process {}", holder.id());
    assert!(error.to_string().contains(&by), "{error}");
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
    let db = Db::open(&options, &path).unwrap();
    assert_eq!(db.get(b"k").unwrap().unwrap(), b"v");
}
