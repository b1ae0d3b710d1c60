//! Recovery from handwritten WALs: the result of each of the four recovery modes for every kind of damage,
//! compared with RocksDB if it is installed; then other requirements of an open.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::coding;
use base::filename;
use codec::checksum;
use esker::{ColumnFamilyOptions, Db, ErrorKind, Options, RecoveryMode, WriteBatch, WriteOptions};
use vfs::{FileSystem, MemFs};

/// The size of a block of a WAL in bytes.
const BLOCK: usize = 32 << 10;

/// The recovery modes in the order of their numbers, which is that of the expected results below.
const MODES: [RecoveryMode; 4] = [
    RecoveryMode::TolerateCorruptedTailRecords,
    RecoveryMode::AbsoluteConsistency,
    RecoveryMode::PointInTime,
    RecoveryMode::SkipAnyCorruptedRecords,
];

/// The expected result of an open that must fail.
const ERROR: &str = "error";

/// A batch that puts keys of one letter each, from sequence number `sequence` on.
fn batch(sequence: u64, keys: &str) -> Vec<u8> {
    sized_batch(sequence, keys, 1)
}

fn sized_batch(sequence: u64, keys: &str, value: usize) -> Vec<u8> {
    let mut batch = WriteBatch::new();
    keys.chars()
        .for_each(|key| batch.put(key.to_string().as_bytes(), &vec![b'v'; value]));
    stamped(batch, sequence)
}

fn stamped(batch: WriteBatch, sequence: u64) -> Vec<u8> {
    let mut data = batch.data().to_vec();
    data[..8].copy_from_slice(&sequence.to_le_bytes());
    data
}

/// The first record of WALs of earlier releases: the last sequence number of the previous WAL.
fn predecessor(sequence: u64, number: u64, next: u64) -> Vec<u8> {
    predecessor_with(sequence, number, next, &[])
}

/// The first record of WALs now. It records that the previous WAL is only removed after the MANIFEST permits
/// it.
fn kept_predecessor(sequence: u64, number: u64, next: u64) -> Vec<u8> {
    predecessor_with(sequence, number, next, &[1])
}

fn predecessor_with(sequence: u64, number: u64, next: u64, rest: &[u8]) -> Vec<u8> {
    let mut text = b"esker.predecessor-wal ".to_vec();
    coding::put_u64(&mut text, number);
    coding::put_u64(&mut text, next);
    text.extend_from_slice(rest);
    let mut batch = WriteBatch::new();
    batch.put_log_data(&text);
    stamped(batch, sequence)
}

/// A physical record with a correct checksum, of any type.
fn physical(ty: u8, payload: &[u8]) -> Vec<u8> {
    let mut body = vec![ty];
    body.extend_from_slice(payload);
    let mut out = checksum::mask(checksum::crc32c(&body)).to_le_bytes().to_vec();
    out.extend_from_slice(&(payload.len() as u16).to_le_bytes());
    out.extend(body);
    out
}

/// Returns the bytes of a WAL with these records.
fn wal(records: &[Vec<u8>]) -> Vec<u8> {
    let fs = MemFs::new();
    let path = Path::new("/wal");
    let file = fs.create(path, &vfs::CreateOptions::default()).unwrap();
    let mut writer = wal::Writer::new(file, wal::WriterOptions::default()).unwrap();
    records
        .iter()
        .for_each(|record| writer.add_record(record).unwrap());
    writer.close().unwrap();
    fs.read_file(path).unwrap()
}

fn cut(mut bytes: Vec<u8>, by: usize) -> Vec<u8> {
    bytes.truncate(bytes.len() - by);
    bytes
}

fn flipped(mut bytes: Vec<u8>, from_end: usize) -> Vec<u8> {
    let at = bytes.len() - from_end;
    bytes[at] ^= 0x10;
    bytes
}

fn joined(parts: &[Vec<u8>]) -> Vec<u8> {
    parts.concat()
}

/// `bytes`, padded with zeros to the end of the block.
fn to_block_end(mut bytes: Vec<u8>) -> Vec<u8> {
    let len = bytes.len().next_multiple_of(BLOCK);
    bytes.resize(len, 0);
    bytes
}

/// A compressed WAL of two blocks: the first block is lost, and the second begins with a complete record.
fn compressed_with_a_hole() -> Vec<u8> {
    let mut rng = base::env::Rng::with_seed(1);
    let mut random = |len: usize| -> Vec<u8> { (0..len).map(|_| rng.u8(..)).collect() };
    for len in 16_400..16_800 {
        let fs = MemFs::new();
        let path = Path::new("/wal");
        let file = fs.create(path, &vfs::CreateOptions::default()).unwrap();
        let options = wal::WriterOptions {
            compression: esker::CompressionType::Zstd,
            ..Default::default()
        };
        let mut writer = wal::Writer::new(file, options).unwrap();
        for (sequence, len) in [(1, 16_000), (2, len), (3, 100)] {
            let mut batch = WriteBatch::new();
            batch.put(b"k", &random(len));
            writer.add_record(&stamped(batch, sequence)).unwrap();
        }
        writer.close().unwrap();
        let mut bytes = fs.read_file(path).unwrap();
        if bytes.get(BLOCK + 6) == Some(&1) {
            bytes[..BLOCK].fill(0);
            return bytes;
        }
    }
    panic!("no record begins where the second block does");
}

/// A case: WALs with some damage, and the keys that an open recovers.
struct Row {
    name: &'static str,
    /// Returns the WALs in the order of their numbers; `first` is the number of the first one.
    wals: fn(first: u64) -> Vec<Vec<u8>>,
    /// The recovered keys, by mode.
    expected: [&'static str; 4],
    /// The recovery modes in which RocksDB 7.8 recovers the same rows.
    judged: [bool; 4],
}

const ALL: [bool; 4] = [true; 4];
const NONE: [bool; 4] = [false; 4];

/// The cases: RocksDB's results, and Esker's where they are more precise.
fn table() -> Vec<Row> {
    let row = |name, wals, expected, judged| Row {
        name,
        wals,
        expected,
        judged,
    };
    vec![
        row(
            "clean",
            |_| vec![wal(&[batch(1, "a"), batch(2, "bc")]), wal(&[batch(4, "d")])],
            ["abcd"; 4],
            ALL,
        ),
        row("empty", |_| vec![Vec::new()], [""; 4], ALL),
        row(
            "zero tail",
            |_| vec![joined(&[wal(&[batch(1, "a")]), vec![0; 3 * BLOCK]])],
            ["a"; 4],
            ALL,
        ),
        row(
            "zero gap, nothing missing",
            |_| {
                vec![joined(&[
                    to_block_end(wal(&[batch(1, "a")])),
                    wal(&[batch(2, "b")]),
                ])]
            },
            ["ab"; 4],
            ALL,
        ),
        row(
            "body cut off",
            |_| vec![cut(wal(&[batch(1, "a"), batch(2, "b")]), 1)],
            ["a", ERROR, "a", "a"],
            ALL,
        ),
        row(
            "header cut off",
            |_| {
                vec![joined(&[
                    wal(&[batch(1, "a")]),
                    physical(1, &batch(2, "b"))[..3].to_vec(),
                ])]
            },
            ["a", ERROR, "a", "a"],
            ALL,
        ),
        row(
            "no last fragment",
            |_| {
                let mut bytes = wal(&[batch(1, "a"), sized_batch(2, "b", 40_000)]);
                bytes.truncate(BLOCK);
                vec![bytes]
            },
            ["a", ERROR, "a", "a"],
            ALL,
        ),
        row(
            "flipped bit in the middle",
            |_| {
                let mut bytes = wal(&[
                    batch(1, "a"),
                    batch(2, "b"),
                    batch(3, "c"),
                    sized_batch(4, "d", 40_000),
                    batch(5, "e"),
                ]);
                let b = physical(1, &batch(1, "a")).len();
                bytes[b + 20] ^= 1;
                vec![bytes]
            },
            [ERROR, ERROR, "a", "ae"],
            ALL,
        ),
        row(
            "flipped bit in the last record",
            |_| vec![flipped(wal(&[batch(1, "a"), batch(2, "b")]), 1)],
            [ERROR, ERROR, "a", "a"],
            ALL,
        ),
        row(
            "cut off, the next WAL goes on",
            |_| {
                vec![
                    cut(wal(&[batch(1, "a"), batch(2, "b")]), 1),
                    wal(&[batch(2, "c")]),
                ]
            },
            ["ac", ERROR, "ac", "ac"],
            ALL,
        ),
        row(
            "cut off, rows missing before the next WAL",
            |_| {
                vec![
                    cut(wal(&[batch(1, "a"), batch(2, "b")]), 1),
                    wal(&[batch(3, "c")]),
                ]
            },
            ["ac", ERROR, "a", "ac"],
            ALL,
        ),
        row(
            "flipped bit, the next WAL goes on",
            |_| {
                vec![
                    flipped(wal(&[batch(1, "a"), batch(2, "b")]), 1),
                    wal(&[batch(2, "c")]),
                ]
            },
            [ERROR, ERROR, "ac", "ac"],
            ALL,
        ),
        row(
            "numbers missing within",
            |_| vec![wal(&[batch(1, "a"), batch(5, "b")])],
            ["ab"; 4],
            ALL,
        ),
        row(
            "numbers missing between",
            |_| vec![wal(&[batch(1, "a")]), wal(&[batch(5, "b")])],
            ["ab"; 4],
            ALL,
        ),
        // RocksDB 7.8 fails an assertion, 11.9 returns an error.
        row(
            "numbers going back",
            |_| vec![wal(&[batch(5, "a"), batch(3, "b")])],
            [ERROR; 4],
            NONE,
        ),
        row(
            "unknown record type below 128",
            |_| {
                vec![joined(&[
                    wal(&[batch(1, "a")]),
                    physical(77, b"?"),
                    physical(1, &batch(2, "b")),
                ])]
            },
            [ERROR, ERROR, "a", "ab"],
            ALL,
        ),
        // RocksDB 7.8 reports a record of this type as corrupt, and later releases skip it.
        row(
            "unknown record type from 128 on",
            |_| {
                vec![joined(&[
                    wal(&[batch(1, "a")]),
                    physical(200, b"?"),
                    physical(1, &batch(2, "b")),
                ])]
            },
            ["ab"; 4],
            NONE,
        ),
        row(
            "middle without first",
            |_| {
                vec![joined(&[
                    wal(&[batch(1, "a")]),
                    physical(3, b"?"),
                    physical(1, &batch(2, "b")),
                ])]
            },
            [ERROR, ERROR, "a", "ab"],
            ALL,
        ),
        row(
            "first without last",
            |_| {
                vec![joined(&[
                    wal(&[batch(1, "a")]),
                    physical(2, b"?"),
                    physical(1, &batch(2, "b")),
                ])]
            },
            [ERROR, ERROR, "a", "ab"],
            ALL,
        ),
        row(
            "batch shorter than its header",
            |_| vec![wal(&[batch(1, "a"), b"short".to_vec(), batch(2, "b")])],
            [ERROR, ERROR, "a", "ab"],
            ALL,
        ),
        row(
            "batch with a wrong count",
            |_| {
                let mut wrong = batch(2, "b");
                wrong[8] = 2;
                vec![wal(&[batch(1, "a"), wrong, batch(4, "c")])]
            },
            [ERROR; 4],
            ALL,
        ),
        row(
            "batch with an unknown tag",
            |_| {
                let mut wrong = batch(2, "b");
                wrong[12] = 0x7f;
                vec![wal(&[batch(1, "a"), wrong, batch(3, "c")])]
            },
            [ERROR; 4],
            ALL,
        ),
        row(
            "a number too large",
            |_| vec![wal(&[batch(1, "a"), batch(u64::MAX, "b")])],
            [ERROR; 4],
            NONE,
        ),
        // In the following cases RocksDB, which writes its WALs from front to back, distinguishes less: it
        // accepts records after a hole, and treats a record torn in preallocated space as a flipped bit.
        row(
            "rows missing in a hole",
            |_| {
                vec![
                    joined(&[to_block_end(wal(&[batch(1, "a")])), wal(&[batch(3, "c")])]),
                    wal(&[batch(4, "d")]),
                ]
            },
            ["acd", "acd", "a", "acd"],
            [true, true, false, true],
        ),
        row(
            "rows missing in a hole at the start",
            |_| vec![joined(&[vec![0; BLOCK], wal(&[batch(2, "b")])])],
            ["b", "b", "", "b"],
            [true, true, false, true],
        ),
        // After the hole nothing shows that the WAL is compressed: the other modes report its record as no
        // batch.
        row(
            "a compressed WAL's first block lost",
            |_| vec![compressed_with_a_hole()],
            [ERROR, ERROR, "", ERROR],
            NONE,
        ),
        row(
            "torn in claimed space",
            |_| {
                let mut bytes = cut(wal(&[batch(1, "a"), batch(2, "b")]), 1);
                bytes.extend([0; 100]);
                vec![bytes]
            },
            ["a", ERROR, "a", "a"],
            [false, true, true, true],
        ),
        row(
            "the end of the WAL before is lost without a trace",
            |first| {
                vec![
                    wal(&[batch(1, "a")]),
                    wal(&[predecessor(3, first, 3), batch(3, "c")]),
                ]
            },
            ["ac", ERROR, "a", "ac"],
            [true, false, false, true],
        ),
        row(
            "rows without WAL between two WALs",
            |first| {
                vec![
                    wal(&[batch(1, "a")]),
                    wal(&[predecessor(9, first, 2), batch(9, "c")]),
                ]
            },
            ["ac"; 4],
            ALL,
        ),
        row(
            "a WAL in the middle is missing",
            |first| {
                vec![
                    wal(&[batch(1, "a")]),
                    wal(&[kept_predecessor(3, first + 50, 3), batch(3, "c")]),
                ]
            },
            [ERROR, ERROR, "a", "ac"],
            [false, false, false, true],
        ),
        row(
            "the first WAL is missing",
            |first| {
                vec![
                    Vec::new(),
                    wal(&[kept_predecessor(3, first + 50, 3), batch(3, "c")]),
                ]
            },
            [ERROR, ERROR, "", "c"],
            [false, false, false, true],
        ),
        row(
            "a WAL in the middle that an earlier release may have deleted",
            |first| {
                vec![
                    wal(&[batch(1, "a")]),
                    wal(&[predecessor(3, first + 50, 3), batch(3, "c")]),
                ]
            },
            ["ac"; 4],
            ALL,
        ),
        row(
            "the WAL before is not needed any more, and was kept until then",
            |first| vec![wal(&[kept_predecessor(7, first - 1, 7), batch(7, "c")])],
            ["c"; 4],
            ALL,
        ),
        row(
            "the WAL before is not needed any more",
            |first| vec![wal(&[predecessor(7, first - 1, 7), batch(7, "c")])],
            ["c"; 4],
            ALL,
        ),
    ]
}

/// A directory in memory if the machine supports it: these tests open many databases, which is slow on a
/// disk.
fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// Creates a database in `dir` with `options`, and replaces its WAL by `wals`.
fn lay_out(dir: &Path, options: &Options, wals: impl Fn(u64) -> Vec<Vec<u8>>) {
    let db = Db::open(
        &Options {
            create_if_missing: true,
            ..options.clone()
        },
        dir,
    )
    .unwrap();
    db.close().unwrap();
    drop(db);
    let own = wal_numbers(dir);
    assert_eq!(own.len(), 1);
    // Much higher numbers are free: RocksDB and Esker continue after the highest number found.
    for (at, bytes) in wals(own[0]).into_iter().enumerate() {
        fs::write(filename::wal(dir, own[0] + 100 * at as u64), bytes).unwrap();
    }
}

fn wal_numbers(dir: &Path) -> Vec<u64> {
    let names = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut numbers: Vec<u64> = names
        .filter_map(|name| name.strip_suffix(".log")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn content(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

/// The keys of the default family, concatenated.
fn keys(db: &Db) -> String {
    let mut keys = String::new();
    let mut iter = db.iter();
    iter.seek_to_first();
    while iter.valid() {
        keys.push_str(&String::from_utf8_lossy(iter.key()));
        iter.next();
    }
    iter.status().unwrap();
    keys
}

/// RocksDB's result for the directory, with the recovery mode in its OPTIONS file.
fn judged(ldb: Command, dir: &Path) -> String {
    let mut ldb = ldb;
    let output = ldb
        .arg(format!("--db={}", dir.display()))
        .args(["scan", "--no_value"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() || text.contains("Failed") || text.contains("Corruption") {
        return ERROR.to_owned();
    }
    text.lines().map(str::trim).collect()
}

#[test]
fn each_mode_has_rocksdbs_results() {
    for row in table() {
        for (mode, expected, judge) in (0..4).map(|at| (MODES[at], row.expected[at], row.judged[at])) {
            let what = format!("{}, {mode:?}", row.name);
            let dir = directory();
            let (dir, other) = (dir.path().join("db"), dir.path().join("judged"));
            let options = Options {
                wal_recovery_mode: mode,
                ..Options::default()
            };
            lay_out(&dir, &options, row.wals);
            if judge && let Some(ldb) = testkit::oracle::ldb() {
                copy(&dir, &other);
                assert_eq!(judged(ldb, &other), expected, "RocksDB: {what}");
            }
            let before = content(&dir);
            let answer = |db: Result<Db, esker::Error>| match db {
                Ok(db) => keys(&db),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
                    assert!(error.to_string().contains(".log"), "{what}: {error}");
                    ERROR.to_owned()
                }
            };
            assert_eq!(
                answer(Db::open_read_only(&options, &dir)),
                expected,
                "read only: {what}"
            );
            assert!(content(&dir) == before, "reading changed the directory: {what}");
            assert_eq!(answer(Db::open(&options, &dir)), expected, "{what}");
            if expected == ERROR {
                // The failed open must not change any file, because an open in another recovery mode must
                // find all of them.
                for (path, bytes) in &before {
                    let name = path.file_name().unwrap().to_string_lossy();
                    if name.ends_with(".log") || name.starts_with("MANIFEST") || name == "CURRENT" {
                        assert!(
                            &fs::read(path).unwrap() == bytes,
                            "{name} changed by a failed open: {what}"
                        );
                    }
                }
                continue;
            }
            assert_eq!(answer(Db::open(&options, &dir)), expected, "again: {what}");
            for mode in MODES {
                let options = Options {
                    wal_recovery_mode: mode,
                    ..Options::default()
                };
                assert_eq!(
                    answer(Db::open(&options, &dir)),
                    expected,
                    "the damage is no longer found: {what}"
                );
            }
        }
    }
}

#[test]
fn damage_is_gone_after_an_open_that_keeps_wals() {
    for row in table() {
        let expected = row.expected[2];
        if expected == ERROR {
            continue;
        }
        let dir = directory();
        let options = Options {
            avoid_flush_during_recovery: true,
            ..Options::default()
        };
        lay_out(dir.path(), &options, row.wals);
        let mut so_far = expected.to_owned();
        for key in ["x", "y", "z"] {
            let db = Db::open(&options, dir.path()).unwrap();
            assert_eq!(keys(&db), so_far, "{}", row.name);
            let sync = WriteOptions {
                sync: true,
                ..WriteOptions::default()
            };
            db.put_cf_opt(&db.default_column_family(), key.as_bytes(), b"", &sync)
                .unwrap();
            so_far.push_str(key);
        }
    }
}

fn small_buffers() -> Options {
    let family = ColumnFamilyOptions {
        write_buffer_size: 64 << 10,
        disable_auto_compactions: true,
        level0_slowdown_writes_trigger: 1000,
        level0_stop_writes_trigger: 1000,
        ..ColumnFamilyOptions::default()
    };
    Options {
        create_if_missing: true,
        column_family: family,
        ..Options::default()
    }
}

/// A WAL with `count` rows of 1000 bytes.
fn rows(count: u64) -> Vec<u8> {
    let row = |number: u64| {
        let mut batch = WriteBatch::new();
        batch.put(format!("{number:06}").as_bytes(), &[b'v'; 1000]);
        stamped(batch, number + 1)
    };
    wal(&(0..count).map(row).collect::<Vec<_>>())
}

fn count(db: &Db) -> usize {
    let mut iter = db.iter();
    iter.seek_to_first();
    let mut count = 0;
    while iter.valid() {
        count += 1;
        iter.next();
    }
    iter.status().unwrap();
    count
}

#[test]
fn a_wal_larger_than_a_memtable_is_flushed_as_it_is_read() {
    for avoid in [false, true] {
        let dir = directory();
        let options = Options {
            avoid_flush_during_recovery: avoid,
            ..small_buffers()
        };
        lay_out(dir.path(), &options, |_| vec![rows(1000)]);
        let db = Db::open(&options, dir.path()).unwrap();
        let files = db.live_files();
        assert!(files.len() >= 8, "{} files", files.len());
        assert!(files.iter().all(|file| file.level == 0 && file.size < 200 << 10));
        let memory = db
            .property_int(&db.default_column_family(), "rocksdb.cur-size-all-mem-tables")
            .unwrap();
        assert!(memory <= 64 << 10, "{memory} bytes in memory");
        assert_eq!(count(&db), 1000);
        db.close().unwrap();
        assert_eq!(wal_numbers(dir.path()).len(), 1, "the WAL read is gone");
    }
}

#[test]
fn without_a_flush_rows_stay_in_memory_and_their_wals_on_disk() {
    let dir = directory();
    let options = Options {
        avoid_flush_during_recovery: true,
        ..small_buffers()
    };
    lay_out(dir.path(), &options, |_| vec![rows(20)]);
    for opened in 1..4 {
        let db = Db::open(&options, dir.path()).unwrap();
        assert_eq!(count(&db), 20 + opened - 1);
        assert!(db.live_files().is_empty());
        assert_eq!(wal_numbers(dir.path()).len(), 1 + opened);
        db.put(format!("{:06}", 100 + opened).as_bytes(), b"").unwrap();
    }
    let db = Db::open(&options, dir.path()).unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    assert_eq!(wal_numbers(dir.path()).len(), 1, "flushed rows need no WAL");
    assert_eq!(count(&Db::open(&small_buffers(), dir.path()).unwrap()), 23);
}

#[test]
fn a_cold_family_does_not_keep_wals_for_ever() {
    let dir = directory();
    let options = small_buffers();
    let db = Db::open(&options, dir.path()).unwrap();
    let cold = db.create_column_family("cold", &options.column_family).unwrap();
    db.put_cf(&cold, b"one", b"row").unwrap();
    // The default limit is four times the capacity of the memtables of the families at the open, when there
    // was one family.
    let limit = 4 * 2 * (64 << 10);
    let bytes_of_wals = || -> u64 {
        let wals = wal_numbers(dir.path())
            .into_iter()
            .map(|number| filename::wal(dir.path(), number));
        // Preallocated space does not count, so the bytes after the data are not counted either.
        wals.map(|path| fs::metadata(path).map_or(0, |data| data.len().min(100 << 10)))
            .sum()
    };
    for number in 0..4000u64 {
        db.put(format!("{number:06}").as_bytes(), [b'v'; 1000]).unwrap();
        if number % 50 == 0 {
            // The flush and the deletion run in the background, which may be slow, but need no further
            // writes.
            testkit::wait_until("the WALs are below their limit", || bytes_of_wals() < 3 * limit);
        }
    }
    assert!(
        db.live_files().iter().any(|file| file.column_family == "cold"),
        "the cold family was flushed"
    );
    assert_eq!(db.get_cf(&cold, b"one").unwrap().as_deref(), Some(&b"row"[..]));
}

/// The environment variable with the directory that a child holds open.
const CHILD: &str = "ESKER_RECOVERY_CHILD";

/// Not a test: opens a database and holds it until the process is killed.
#[test]
#[ignore = "a_database_is_opened_for_writing_once runs it in a process of its own"]
fn child_that_holds_a_database() {
    let dir = std::env::var_os(CHILD).expect("the test says where");
    let dir = Path::new(&dir);
    let _db = Db::open(&small_buffers(), dir.join("db")).unwrap();
    fs::write(dir.join("ready"), b"").unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn a_database_is_opened_for_writing_once() {
    let dir = directory();
    let path = dir.path().join("db");
    let held_by = |pid: u32| {
        let error = Db::open(&small_buffers(), &path).expect_err("it is open already");
        assert_eq!(error.kind(), ErrorKind::LockHeld);
        let text = error.to_string();
        assert!(text.contains(&path.join("LOCK").display().to_string()), "{text}");
        assert!(text.contains(&pid.to_string()), "{pid} holds it: {text}");
        let destroyed = Db::destroy(&small_buffers(), &path);
        assert_eq!(destroyed.unwrap_err().kind(), ErrorKind::LockHeld);
    };
    let db = Db::open(&small_buffers(), &path).unwrap();
    db.put(b"key", b"value").unwrap();
    held_by(std::process::id());
    // The database can be opened for reading while another process has it open.
    assert_eq!(count(&Db::open_read_only(&small_buffers(), &path).unwrap()), 1);
    db.close().unwrap();

    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "recovery::child_that_holds_a_database"])
        .env(CHILD, dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    testkit::wait_until("the child has opened the database", || {
        dir.path().join("ready").exists()
    });
    held_by(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(count(&Db::open(&small_buffers(), &path).unwrap()), 1);
}

#[test]
fn reading_only_while_somebody_writes() {
    let dir = directory();
    let family = ColumnFamilyOptions {
        write_buffer_size: 64 << 10,
        level0_file_num_compaction_trigger: 2,
        target_file_size_base: 32 << 10,
        max_bytes_for_level_base: 64 << 10,
        ..ColumnFamilyOptions::default()
    };
    let options = Options {
        create_if_missing: true,
        max_manifest_file_size: 1000,
        column_family: family,
        ..Options::default()
    };
    let db = Db::open(&options, dir.path()).unwrap();
    let (written, done) = (AtomicU64::new(0), AtomicBool::new(false));
    // The number of rows that the writer may write: some for each open.
    let allowed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0u64;
            while !done.load(Ordering::Relaxed) {
                if number == allowed.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                    continue;
                }
                db.put(format!("{number:08}").as_bytes(), [b'v'; 300]).unwrap();
                number += 1;
                written.store(number, Ordering::Release);
            }
        });
        // The writer stops even if this thread panics.
        let _stop = Stop(&done);
        for opened in 0..30 {
            allowed.fetch_add(300, Ordering::Relaxed);
            let before = written.load(Ordering::Acquire) as usize;
            let reader = loop {
                match Db::open_read_only(&options, dir.path()) {
                    // The writer was faster than this open, but reaches its limit of rows.
                    Err(error) if error.kind() == ErrorKind::TryAgain => {}
                    reader => break reader.unwrap_or_else(|error| panic!("open {opened}: {error}")),
                }
            };
            let after = written.load(Ordering::Acquire) as usize + 1;
            // The rows stay readable, even if the writer deletes their files.
            allowed.fetch_add(300, Ordering::Relaxed);
            testkit::wait_until("the writer has gone on", || {
                written.load(Ordering::Acquire) == allowed.load(Ordering::Relaxed)
            });
            let found = count(&reader);
            assert!(
                (before..=after).contains(&found),
                "{found} rows, {before} to {after} written"
            );
            assert_eq!(count(&reader), found);
        }
    });
}

/// Stops a thread when dropped.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
