//! The kinds of errors, their sources, and the texts that programs parse.

use std::error::Error as _;
use std::path::Path;
use std::sync::Arc;

use esker::{Db, Error, ErrorKind, Options, UserComparator};
use vfs::{Action, FaultFs, FileSystem, MemFs, Op, Rule};

const DIR: &str = "/db";

fn options(fs: &MemFs) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        ..Options::default()
    }
}

#[test]
fn no_database_is_a_kind_of_its_own() {
    let fs = MemFs::new();
    let none = Options {
        create_if_missing: false,
        ..options(&fs)
    };
    let errors = [
        Db::open(&none, DIR).unwrap_err(),
        Db::open_read_only(&none, DIR).unwrap_err(),
        Db::open_as_secondary(&none, DIR, "/secondary").unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::NoDatabase, "{error}");
        assert_eq!(error.file(), Some(Path::new("/db/CURRENT")));
        assert!(
            format!("{error:#}").ends_with("; check the path, or set create_if_missing"),
            "{error:#}"
        );
    }
    // RocksDB's words, which programs parse.
    let error = Db::open(&none, DIR).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Invalid argument: does not exist (create_if_missing is false), file /db/CURRENT"
    );
    assert!(!fs.exists(Path::new("/db/CURRENT")).unwrap());
}

#[test]
fn a_locked_database_names_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let _db = Db::open(&options, dir.path()).unwrap();
    let error = Db::open(&options, dir.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LockHeld);
    assert!(
        error.message().contains(&std::process::id().to_string()),
        "{error}"
    );
    assert!(
        error.to_string().starts_with("IO error: While lock file"),
        "{error}"
    );
    assert!(format!("{error:#}").contains("read-only or as a secondary"));
}

#[test]
fn another_comparator_is_a_kind_of_its_own() {
    let fs = MemFs::new();
    Db::open(&options(&fs), DIR).unwrap().close().unwrap();
    let mut reversed = options(&fs);
    reversed.column_family.comparator = UserComparator::builtin("rocksdb.ReverseBytewiseComparator").unwrap();
    let error = Db::open(&reversed, DIR).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ComparatorMismatch);
    let text = "Invalid argument: rocksdb.ReverseBytewiseComparator: does not match existing comparator \
                leveldb.BytewiseComparator";
    assert!(error.to_string().starts_with(text), "{error}");
    assert!(format!("{error:#}").contains("set the comparator"), "{error:#}");
}

#[test]
fn a_failed_merge_is_a_kind_of_its_own() {
    let fs = MemFs::new();
    let mut merging = options(&fs);
    merging.column_family.merge_operator = Some(Arc::new(Refuses));
    let db = Db::open(&merging, DIR).unwrap();
    let family = db.default_column_family();
    db.merge_cf(&family, b"k", b"operand").unwrap();
    let error = db.get(b"k").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MergeFailed);
    assert!(
        error.to_string().starts_with("Corruption: Merge operator failed"),
        "{error}"
    );
    assert!(format!("{error:#}").contains("merge_operator"), "{error:#}");
}

struct Refuses;

impl esker::MergeOperator for Refuses {
    fn name(&self) -> &str {
        "Refuses"
    }

    fn full_merge(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]]) -> Option<Vec<u8>> {
        None
    }
}

/// Leaves a failed database as it is.
struct StaysFailed;

impl esker::EventListener for StaysFailed {
    fn on_event(&self, _: &esker::Event) {}

    fn on_error_recovery_begin(&self, _: &Error) -> bool {
        false
    }
}

#[test]
fn a_database_that_is_read_only_names_its_failure() {
    let fs = MemFs::new();
    let faults = FaultFs::new(Arc::new(fs.clone()));
    let faulty = Options {
        fs: Arc::new(faults.clone()),
        listeners: vec![Arc::new(StaysFailed)],
        ..options(&fs)
    };
    let db = Db::open(&faulty, DIR).unwrap();
    db.put(b"a", b"1").unwrap();
    faults.add(
        Rule::new(Action::Fail(ErrorKind::NoSpace))
            .on([Op::Append])
            .path_ends_with(".sst"),
    );
    db.flush().unwrap_err();
    let refused = db.put(b"b", b"2").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ReadOnly, "{refused}");
    let cause = refused.source().unwrap().downcast_ref::<Error>().unwrap();
    assert_eq!(cause.kind(), ErrorKind::NoSpace, "{cause}");
    assert!(format!("{refused:#}").contains("Db::resume"), "{refused:#}");
}
