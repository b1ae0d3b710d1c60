//! `track_and_verify_wals`: each WAL describes the one before it, and recovery compares.

use std::path::Path;
use std::sync::Arc;

use base::filename;
use esker::{CheckpointOptions, Db, ErrorKind, Options, RecoveryMode, WriteBatch};
use vfs::{FileSystem, MemFs, OpenOptions};
use wal::{PredecessorWal, ReaderOptions, WriterOptions};

const DIR: &str = "/db";

fn options(fs: &MemFs, mode: RecoveryMode) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        track_and_verify_wals: true,
        wal_recovery_mode: mode,
        ..Options::default()
    }
}

fn wals(fs: &MemFs) -> Vec<u64> {
    let names = fs.list(Path::new(DIR)).unwrap();
    names
        .iter()
        .filter_map(|name| name.strip_suffix(".log")?.parse().ok())
        .collect()
}

fn path(number: u64) -> std::path::PathBuf {
    filename::wal(Path::new(DIR), number)
}

fn keys(db: &Db) -> String {
    let mut iter = db.iter();
    let mut keys = String::new();
    iter.seek_to_first();
    while iter.valid() {
        keys += &String::from_utf8_lossy(iter.key());
        iter.next();
    }
    keys
}

/// The description of the preceding WAL in WAL `number`, and the sequence number of the last record of WAL
/// `number`.
fn read(fs: &MemFs, number: u64) -> (Option<PredecessorWal>, u64) {
    let file = fs.open_random(&path(number), &OpenOptions::default()).unwrap();
    let options = ReaderOptions {
        log_number: Some(number),
        mode: RecoveryMode::AbsoluteConsistency,
    };
    let mut reader = wal::Reader::new(file, options);
    let (mut record, mut last) = (Vec::new(), 0);
    while reader.read_record_into(&mut record).unwrap() {
        last = u64::from_le_bytes(record[..8].try_into().unwrap());
    }
    (reader.predecessor().copied(), last)
}

#[test]
fn each_wal_describes_the_one_before_it() {
    let fs = MemFs::new();
    let mut options = options(&fs, RecoveryMode::AbsoluteConsistency);
    options.avoid_flush_during_recovery = true;
    let db = Db::open(&options, DIR).unwrap();
    for (nth, key) in ["a", "b", "c"].into_iter().enumerate() {
        db.put(key.as_bytes(), b"value").unwrap();
        let mut batch = WriteBatch::new();
        batch.put(format!("{key}1").as_bytes(), b"value");
        batch.put(format!("{key}2").as_bytes(), b"value");
        db.write(batch).unwrap();
        // A checkpoint begins a WAL and flushes nothing.
        let with_wals = CheckpointOptions {
            log_size_for_flush: u64::MAX,
        };
        db.create_checkpoint(format!("/copy{nth}"), &with_wals).unwrap();
    }
    db.close().unwrap();
    // The first WAL of a session describes the last one that its recovery keeps.
    Db::open(&options, DIR).unwrap().close().unwrap();
    let numbers = wals(&fs);
    assert!(numbers.len() >= 4, "{numbers:?}");
    assert_eq!(read(&fs, numbers[0]).0, None);
    for pair in numbers.windows(2) {
        let described = read(&fs, pair[1]).0.unwrap();
        let expected = PredecessorWal {
            log_number: pair[0],
            size: fs.size(&path(pair[0])).unwrap(),
            last_seqno: read(&fs, pair[0]).1,
        };
        assert_eq!(described, expected);
    }
    let db = Db::open(&options, DIR).unwrap();
    assert_eq!(keys(&db), "aa1a2bb1b2cc1c2");
    db.close().unwrap();
}

/// A change of the record in which a WAL describes its predecessor.
type Change = fn(&mut PredecessorWal);

/// A database with the rows a, b and c in two WALs without our own record, as RocksDB writes them. Unless
/// `whole` is true, the first one is cut after its first record; `describe` changes the description of the
/// first WAL in the second.
fn cut(describe: Change, whole: bool) -> MemFs {
    let fs = MemFs::new();
    Db::open(&options(&fs, RecoveryMode::PointInTime), DIR)
        .unwrap()
        .close()
        .unwrap();
    let first = *wals(&fs).last().unwrap();
    let write = |number: u64, before: Option<PredecessorWal>, rows: &[(u64, &str)]| {
        let file = fs.create(&path(number), &vfs::CreateOptions::default()).unwrap();
        let options = WriterOptions {
            log_number: number,
            ..WriterOptions::default()
        };
        let mut log = wal::Writer::new(file, options).unwrap();
        if let Some(before) = before {
            log.add_predecessor(&before).unwrap();
        }
        for (seqno, key) in rows {
            let mut batch = WriteBatch::new();
            batch.put(key.as_bytes(), b"value");
            let mut record = batch.data().to_vec();
            record[..8].copy_from_slice(&seqno.to_le_bytes());
            log.add_record(&record).unwrap();
        }
        log.sync().unwrap();
        log.close().unwrap();
    };
    write(first, None, &[(1, "a"), (2, "b")]);
    let mut before = PredecessorWal {
        log_number: first,
        size: fs.size(&path(first)).unwrap(),
        last_seqno: 2,
    };
    if !whole {
        write(first, None, &[(1, "a")]);
    }
    describe(&mut before);
    write(first + 1, Some(before), &[(3, "c")]);
    fs
}

#[test]
fn a_wal_that_is_cut_at_a_record_is_noticed() {
    let cases: [(&str, Change, bool); 3] = [
        (
            "Mismatched last sequence number recorded in the WAL of log number",
            |_| {},
            false,
        ),
        (
            "Mismatched size of the WAL of log number",
            |before| before.size += 1,
            true,
        ),
        (
            "Mismatched predecessor log number of WAL file",
            |before| before.log_number -= 1,
            true,
        ),
    ];
    for (text, describe, whole) in cases {
        for mode in [
            RecoveryMode::AbsoluteConsistency,
            RecoveryMode::TolerateCorruptedTailRecords,
        ] {
            let fs = cut(describe, whole);
            let error = Db::open(&options(&fs, mode), DIR).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption);
            assert!(error.to_string().contains(text), "{error}");
        }
        let fs = cut(describe, whole);
        let db = Db::open(&options(&fs, RecoveryMode::PointInTime), DIR).unwrap();
        assert_eq!(keys(&db), if whole { "ab" } else { "a" }, "{text}");
        db.close().unwrap();
        let fs = cut(describe, whole);
        let db = Db::open(&options(&fs, RecoveryMode::SkipAnyCorruptedRecords), DIR).unwrap();
        assert_eq!(keys(&db), if whole { "abc" } else { "ac" });
        db.close().unwrap();
    }
    // A second WAL whose description is right is accepted, and so is a first WAL with zeros after its
    // records.
    let fs = cut(|_| {}, true);
    let first = wals(&fs)[0];
    let size = fs.size(&path(first)).unwrap();
    fs.truncate(&path(first), size + 100).unwrap();
    let db = Db::open(&options(&fs, RecoveryMode::PointInTime), DIR).unwrap();
    assert_eq!(keys(&db), "abc");
    db.close().unwrap();
}

#[test]
fn a_database_without_any_wal_is_refused() {
    let fs = MemFs::new();
    let options = options(&fs, RecoveryMode::PointInTime);
    Db::open(&options, DIR).unwrap().close().unwrap();
    for number in wals(&fs) {
        fs.remove(&path(number)).unwrap();
    }
    let error = Db::open(&options, DIR).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(
        error
            .to_string()
            .contains("Opening an existing DB with no WAL files"),
        "{error}"
    );
    let untracked = Options {
        track_and_verify_wals: false,
        ..options.clone()
    };
    Db::open(&untracked, DIR).unwrap().close().unwrap();
    Db::open(&options, DIR).unwrap().close().unwrap();
}
