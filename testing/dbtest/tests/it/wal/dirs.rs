//! A separate directory for the WALs: checkpoints, moves and copies of its database, and RocksDB over it.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use dbtest::crash::dump;
use esker::{CheckpointOptions, Db, Error, ErrorKind, Options, OptionsFile};
use tempfile::TempDir;
use testkit::oracle;
use vfs::{FileSystem, MemFs, PosixFs};

fn options(fs: &Arc<dyn FileSystem>, wal_dir: &str) -> Options {
    Options {
        create_if_missing: true,
        wal_dir: wal_dir.to_owned(),
        fs: fs.clone(),
        ..Options::default()
    }
}

fn memory() -> Arc<dyn FileSystem> {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("/")).unwrap();
    Arc::new(fs)
}

/// Opens a database, puts a row, and closes it: the row is only in a WAL.
fn put(options: &Options, dir: &str, key: &str) {
    let db = Db::open(options, dir).unwrap();
    db.put(key.as_bytes(), b"value").unwrap();
    db.close().unwrap();
}

fn keys(db: &Db) -> String {
    let rows = dump(db).unwrap();
    let keys = rows.values().flat_map(|rows| rows.keys());
    let keys: Vec<String> = keys
        .map(|key| String::from_utf8_lossy(key).into_owned())
        .collect();
    keys.join(" ")
}

/// The keys of a database, which is opened and closed.
fn keys_in(options: &Options, dir: &str) -> Result<String, Error> {
    let db = Db::open(options, dir)?;
    let keys = keys(&db);
    db.close()?;
    Ok(keys)
}

fn wals(fs: &Arc<dyn FileSystem>, dir: &str) -> Vec<(String, Vec<u8>)> {
    let names = fs.list(Path::new(dir)).unwrap_or_default();
    let names = names.into_iter().filter(|name| name.ends_with(".log"));
    names
        .map(|name| {
            let bytes = fs.read_file(&Path::new(dir).join(&name)).unwrap();
            (name, bytes)
        })
        .collect()
}

/// Asserts that `opened` failed with `InvalidArgument` and the given words.
fn assert_refused<T>(opened: Result<T, Error>, words: &[&str]) {
    let error = opened.err().expect("opened");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{error}: no {word}");
    }
}

#[test]
fn a_checkpoint_does_not_take_the_wals_of_its_source() {
    let fs = memory();
    let mut own = options(&fs, "/wals");
    own.db_log_dir = "/logs".to_owned();
    let db = Db::open(&own, "/db").unwrap();
    db.put(b"a", b"value").unwrap();
    let with_wals = CheckpointOptions {
        log_size_for_flush: u64::MAX,
    };
    db.create_checkpoint("/copy", &with_wals).unwrap();
    db.put(b"b", b"value").unwrap();
    let (_, stored) = OptionsFile::newest(&*fs, Path::new("/copy")).unwrap().unwrap();
    let stored = Options {
        fs: fs.clone(),
        ..stored.options().0
    };
    assert_eq!(stored.wal_dir, "");
    // The copy keeps the directory of the info logs, because the name of a log contains its database's path.
    assert_eq!(stored.db_log_dir, "/logs");
    let log = |name: &str| fs.read_file(&Path::new("/logs").join(name)).unwrap();
    let of_source = log("db_LOG");
    assert_eq!(keys_in(&stored, "/copy").unwrap(), "a");
    assert!(log("copy_LOG").ends_with(b"\n"));
    assert!(log("db_LOG").starts_with(&of_source));
    // A copy of a database is refused the source's directory of WALs, whether the source is open or not.
    let error = Db::open(&own, "/copy").expect_err("opened with its source's WALs");
    assert_eq!(error.kind(), ErrorKind::LockHeld, "{error}");
    db.close().unwrap();
    let before = wals(&fs, "/wals");
    assert_refused(Db::open(&own, "/copy"), &["/db", "copy"]);
    assert_refused(Db::open_read_only(&own, "/copy"), &["/db", "copy"]);
    assert_refused(Db::destroy(&own, "/copy"), &["/db", "copy"]);
    assert_eq!(wals(&fs, "/wals"), before);
    assert_eq!(keys_in(&own, "/db").unwrap(), "a b");
}

#[test]
fn a_database_that_moves_or_is_copied_with_its_wals_goes_on() {
    let place = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(PosixFs::new());
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let with = |name: &str| options(&fs, &path(name));
    put(&with("wals"), &path("db"), "a");
    // The test moves the directory of the database, or that of its WALs, or both.
    fs::rename(path("db"), path("moved")).unwrap();
    put(&with("wals"), &path("moved"), "b");
    fs::rename(path("wals"), path("moved_wals")).unwrap();
    put(&with("moved_wals"), &path("moved"), "c");
    fs::rename(path("moved"), path("db")).unwrap();
    fs::rename(path("moved_wals"), path("wals")).unwrap();
    put(&with("wals"), &path("db"), "d");
    // The directories are given under other names.
    std::os::unix::fs::symlink(path("db"), path("db_link")).unwrap();
    std::os::unix::fs::symlink(path("wals"), path("wals_link")).unwrap();
    put(&with("wals_link"), &path("db_link"), "e");
    put(&with("wals"), &path("db_link"), "f");
    // A copy of both directories is an independent database; a copy of one of them is not.
    for (from, to) in [("db", "copy"), ("wals", "copied_wals")] {
        fs::create_dir(path(to)).unwrap();
        for file in fs::read_dir(path(from)).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), Path::new(&path(to)).join(file.file_name())).unwrap();
        }
    }
    assert_refused(Db::open(&with("wals"), path("copy")), &[&path("db")]);
    put(&with("copied_wals"), &path("copy"), "g");
    assert_eq!(keys_in(&with("wals"), &path("db")).unwrap(), "a b c d e f");
    assert_eq!(
        keys_in(&with("copied_wals"), &path("copy")).unwrap(),
        "a b c d e f g"
    );
    // The directory of the database under another name is not a separate directory.
    put(&options(&fs, ""), &path("plain"), "p");
    std::os::unix::fs::symlink(path("plain"), path("plain_link")).unwrap();
    put(&with("plain_link"), &path("plain"), "q");
    assert_eq!(keys_in(&options(&fs, ""), &path("plain")).unwrap(), "p q");
    let read_only = Db::open_read_only(&with("plain_link"), path("plain")).unwrap();
    assert_eq!(keys(&read_only), "p q");
}

/// Opens a database with a directory of WALs, puts a row, and prints the keys.
const ROCKSDICT: &str = r#"
import sys
from rocksdict import Rdict, Options
options = Options(raw_mode=True)
options.set_wal_dir(sys.argv[2])
db = Rdict(sys.argv[1], options)
db[sys.argv[3].encode()] = b"value"
print(" ".join(key.decode() for key, _ in db.items()))
db.close()
"#;

#[test]
fn rocksdb_opens_such_a_directory_and_one_of_its_own_is_adopted() {
    let Some(python) = oracle::rocksdict() else {
        return;
    };
    let python = python.get_program().to_owned();
    let place = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(PosixFs::new());
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let rocksdb = |db: &str, wals: &str, key: &str| {
        let output = std::process::Command::new(&python)
            .args(["-c", ROCKSDICT, &path(db), &path(wals), key])
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let own = options(&fs, &path("wals"));
    put(&own, &path("db"), "a");
    let owner = fs::read(Path::new(&path("wals")).join("OWNER")).unwrap();
    assert_eq!(rocksdb("db", "wals", "b"), "a b");
    assert_eq!(rocksdb("db", "wals", "c"), "a b c");
    assert_eq!(fs::read(Path::new(&path("wals")).join("OWNER")).unwrap(), owner);
    put(&own, &path("db"), "d");
    assert_eq!(keys_in(&own, &path("db")).unwrap(), "a b c d");
    // A directory of WALs created by RocksDB has no owner.
    assert_eq!(rocksdb("theirs", "their_wals", "a"), "a");
    let theirs = options(&fs, &path("their_wals"));
    put(&theirs, &path("theirs"), "b");
    assert_eq!(keys_in(&theirs, &path("theirs")).unwrap(), "a b");
    assert_refused(Db::open(&theirs, path("db")), &["theirs"]);
    assert_eq!(rocksdb("theirs", "their_wals", "c"), "a b c");
}

#[test]
fn ldb_reads_rows_in_a_wal_dir_that_has_an_owner() {
    let Some(mut ldb) = oracle::ldb() else {
        return;
    };
    let place = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(PosixFs::new());
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    put(&options(&fs, &path("wals")), &path("db"), "a");
    let output = ldb
        .args([&format!("--db={}", path("db")), "scan"])
        .output()
        .unwrap();
    let rows = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        rows.contains("a : value") || rows.contains("a ==> value"),
        "{rows}"
    );
}
