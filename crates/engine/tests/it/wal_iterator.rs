//! Reads of updates from the WALs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use esker::file_system::{Call, FileSystem, Layer, MemFs, Op};
use esker::{Db, ErrorKind, Operation, Options, TransactionLogIterator, WriteBatch, WriteOptions};

fn open(dir: &std::path::Path, change: impl FnOnce(&mut Options)) -> Db {
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    change(&mut options);
    Db::open(&options, dir).unwrap()
}

/// The sequence number and the keys of each batch, from the iterator's position on.
fn rest(iter: &mut TransactionLogIterator) -> Vec<(u64, Vec<String>)> {
    let mut found = Vec::new();
    while let Some((sequence, batch)) = iter.batch() {
        let keys = batch.operations().map(|operation| match operation.unwrap() {
            Operation::Put { key, .. } | Operation::Delete { key, .. } => {
                String::from_utf8_lossy(key).into_owned()
            }
            other => format!("{other:?}"),
        });
        found.push((sequence, keys.collect()));
        iter.next();
    }
    iter.status().unwrap();
    found
}

fn pair(db: &Db, first: &str, second: &str) {
    let mut batch = WriteBatch::new();
    batch.put(first.as_bytes(), b"");
    batch.delete(second.as_bytes());
    db.write(batch).unwrap();
}

#[test]
fn batches_come_in_order_and_the_end_moves() {
    for recycled in [0, 2] {
        let dir = tempfile::tempdir().unwrap();
        let db = open(dir.path(), |options| options.recycle_log_file_num = recycled);
        assert!(
            !db.get_updates_since(0).unwrap().valid(),
            "an empty database has none"
        );
        db.put(b"a", b"").unwrap();
        pair(&db, "b", "c");
        db.put(b"d", b"").unwrap();
        let mut iter = db.get_updates_since(0).unwrap();
        let all = [
            (1, vec!["a".to_owned()]),
            (2, vec!["b".into(), "c".into()]),
            (4, vec!["d".into()]),
        ];
        assert_eq!(rest(&mut iter), all);
        // A sequence number within a batch is found in that batch.
        assert_eq!(rest(&mut db.get_updates_since(3).unwrap()), all[1..]);
        let error = db.get_updates_since(5).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        // At the end the iterator checks for new batches.
        db.put(b"e", b"").unwrap();
        iter.next();
        assert_eq!(rest(&mut iter), [(5, vec!["e".to_owned()])]);
    }
}

#[test]
fn it_goes_on_from_wal_to_wal() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path(), |_| {});
    db.put(b"a", b"").unwrap();
    let mut iter = db.get_updates_since(1).unwrap();
    db.disable_file_deletions();
    let other = db.create_column_family("other", &Default::default()).unwrap();
    db.put_cf(&other, b"kept", b"").unwrap();
    db.flush().unwrap();
    db.put(b"b", b"").unwrap();
    let files = db.get_sorted_wal_files().unwrap();
    assert!(
        files.len() >= 2 && files.windows(2).all(|pair| pair[0].number < pair[1].number),
        "{files:?}"
    );
    assert_eq!(db.get_current_wal_file().unwrap(), *files.last().unwrap());
    assert_eq!(files[0].start_sequence, 1);
    assert!(files.iter().all(|file| file.size > 0 && file.path.exists()));
    let found = rest(&mut iter);
    assert_eq!(
        found.iter().map(|(sequence, _)| *sequence).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    db.close().unwrap();
    iter.next();
    assert!(!iter.valid() && iter.status().is_err());
}

/// A file system that calls a function once, just before a chosen operation on a chosen file.
#[derive(Clone, Debug)]
struct ActsOnce {
    below: MemFs,
    at: Arc<Mutex<Option<At>>>,
}

struct At {
    /// The thread whose operation it is: background threads list and measure WALs too.
    thread: ThreadId,
    op: Op,
    path: PathBuf,
    act: Box<dyn FnOnce() -> esker::Result<()> + Send>,
}

impl std::fmt::Debug for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of {}", self.op, self.path.display())
    }
}

impl ActsOnce {
    fn at(&self, op: Op, path: &Path, act: impl FnOnce() -> esker::Result<()> + Send + 'static) {
        *self.at.lock().unwrap() = Some(At {
            thread: thread::current().id(),
            op,
            path: path.to_path_buf(),
            act: Box::new(act),
        });
    }
}

impl Layer for ActsOnce {
    fn below(&self) -> &dyn FileSystem {
        &self.below
    }

    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> esker::Result<T>) -> esker::Result<T> {
        let mut at = self.at.lock().unwrap();
        let found =
            at.take_if(|at| at.thread == thread::current().id() && at.op == call.op && at.path == call.path);
        drop(at);
        if let Some(At { act, .. }) = found {
            act()?;
        }
        perform()
    }
}

#[test]
fn a_wal_that_moves_to_the_archive_is_listed() {
    let fs = ActsOnce {
        below: MemFs::new(),
        at: Arc::default(),
    };
    let dir = Path::new("/db");
    let db = open(dir, |options| {
        options.fs = Arc::new(fs.clone());
        options.wal_size_limit_mb = 64;
    });
    let flush = |db: &Db| {
        let db = db.clone();
        move || {
            db.flush()?;
            db.wait_for_purge()
        }
    };
    // The WAL moves between the listings of the two directories.
    db.put(b"a", b"").unwrap();
    fs.at(Op::List, &dir.join("archive"), flush(&db));
    let files = db.get_sorted_wal_files().unwrap();
    assert!(fs.at.lock().unwrap().is_none());
    assert_eq!(
        (files[0].start_sequence, files[0].archived),
        (1, true),
        "{files:?}"
    );
    // The WAL moves before the listing of the live ones.
    db.put(b"b", b"").unwrap();
    fs.at(Op::List, dir, flush(&db));
    let files = db.get_sorted_wal_files().unwrap();
    assert!(fs.at.lock().unwrap().is_none());
    let found = files.iter().map(|file| (file.start_sequence, file.archived));
    assert_eq!(found.collect::<Vec<_>>()[..2], [(1, true), (2, true)]);
    // The WAL moves after the listings of both directories.
    db.put(b"c", b"").unwrap();
    let live = db.get_current_wal_file().unwrap().path;
    fs.at(Op::Size, &live, flush(&db));
    let files = db.get_sorted_wal_files().unwrap();
    let found = files.iter().map(|file| (file.start_sequence, file.archived));
    assert_eq!(found.collect::<Vec<_>>(), [(1, true), (2, true), (3, true)]);
    // The current WAL moves before its size is read: the next one is the current WAL.
    db.put(b"d", b"").unwrap();
    let before = db.get_current_wal_file().unwrap();
    fs.at(Op::Size, &before.path, flush(&db));
    let current = db.get_current_wal_file().unwrap();
    assert!(current.number > before.number && !current.archived, "{current:?}");
    // If the size of a WAL cannot be read, the call returns an error rather than a list without that WAL.
    fs.at(Op::Size, &current.path, || {
        Err(esker::Error::new(ErrorKind::Io, "injected"))
    });
    let error = db.get_sorted_wal_files().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
}

/// A database whose WALs are archived for longer than any test.
fn archiving(dir: &std::path::Path) -> Db {
    open(dir, |options| {
        options.wal_ttl_seconds = 1_000_000;
        options.allow_2pc = true;
    })
}

#[test]
fn archived_wals_are_read_across_reopenings() {
    let dir = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    for round in 0..4 {
        let db = archiving(dir.path());
        for key in 0..3 {
            let sequence = db.latest_sequence_number() + 1;
            let key = format!("{round}-{key}");
            db.put(key.as_bytes(), b"").unwrap();
            expected.push((sequence, vec![key]));
            db.flush().unwrap();
        }
        let mut iter = db.get_updates_since(1).unwrap();
        assert_eq!(rest(&mut iter), expected);
        assert_eq!(rest(&mut db.get_updates_since(0).unwrap()), expected);
        assert_eq!(
            rest(&mut db.get_updates_since(expected[2].0).unwrap()),
            expected[2..]
        );
        let files = db.get_sorted_wal_files().unwrap();
        assert!(files.iter().filter(|file| file.archived).count() >= 3 * round);
        assert!(files.is_sorted_by_key(|file| file.number));
        db.close().unwrap();
    }
}

#[test]
fn a_number_that_is_missing_is_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let db = archiving(dir.path());
    db.put(b"a", b"").unwrap();
    let unlogged = WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    };
    db.put_cf_opt(&db.default_column_family(), b"b", b"", &unlogged)
        .unwrap();
    db.put(b"c", b"").unwrap();
    let mut iter = db.get_updates_since(1).unwrap();
    assert_eq!(iter.batch().unwrap().0, 1);
    iter.next();
    let error = iter.status().unwrap_err();
    assert!(error.is_corruption() && !iter.valid(), "{error}");
    assert!(error.to_string().contains("Gap in sequence number"), "{error}");
    // After the error the iterator does not move, and an iterator that begins after the gap reads on.
    iter.next();
    assert!(!iter.valid());
    assert_eq!(
        rest(&mut db.get_updates_since(2).unwrap()),
        [(3, vec!["c".to_owned()])]
    );
    // A WAL that was deleted is a gap as well.
    db.flush().unwrap();
    db.put(b"d", b"").unwrap();
    db.flush().unwrap();
    db.put(b"e", b"").unwrap();
    db.wait_for_purge().unwrap();
    let mut iter = db.get_updates_since(3).unwrap();
    let files = db.get_sorted_wal_files().unwrap();
    let of_d = files.iter().find(|file| file.start_sequence == 4).unwrap();
    std::fs::remove_file(&of_d.path).unwrap();
    iter.next();
    assert!(
        iter.status()
            .unwrap_err()
            .to_string()
            .contains("Gap in sequence number")
    );
}

#[test]
fn a_two_phase_transaction_comes_at_its_commit() {
    let dir = tempfile::tempdir().unwrap();
    let db = archiving(dir.path());
    let writes = WriteOptions::default();
    let section = |key: &str| {
        let mut batch = WriteBatch::new();
        batch.put(key.as_bytes(), b"");
        batch.delete(b"gone");
        batch
    };
    db.put(b"a", b"").unwrap();
    let (kept, dropped) = (section("kept"), section("dropped"));
    db.prepare(b"kept", &kept, &writes).unwrap();
    db.prepare(b"dropped", &dropped, &writes).unwrap();
    db.put(b"b", b"").unwrap();
    db.rollback_prepared(b"dropped", &writes).unwrap();
    db.flush().unwrap();
    let mut own = WriteBatch::new();
    own.put(b"own", b"");
    db.commit_prepared(b"kept", &own, &kept, &writes).unwrap();
    db.put(b"c", b"").unwrap();
    let all = [
        (1, vec!["a".to_owned()]),
        (2, vec!["b".to_owned()]),
        (3, vec!["own".into(), "kept".into(), "gone".into()]),
        (6, vec!["c".to_owned()]),
    ];
    assert_eq!(rest(&mut db.get_updates_since(1).unwrap()), all);
    // The iterator begins after the WAL in which the transaction was prepared.
    assert_eq!(rest(&mut db.get_updates_since(3).unwrap()), all[2..]);
    db.flush().unwrap();
    db.close().unwrap();
    let db = archiving(dir.path());
    assert_eq!(rest(&mut db.get_updates_since(1).unwrap()), all);
    assert_eq!(rest(&mut db.get_updates_since(4).unwrap()), all[2..]);
}
