//! What a failure is called, and what it leaves behind.

use std::path::Path;
use std::sync::Arc;

use esker::{CheckpointOptions, Db, ErrorKind, Options};
use vfs::{Action, FaultFs, FileSystem, MemFs, Op, Rule};

const DB: &str = "/db";

fn options(fs: Arc<dyn FileSystem>) -> Options {
    Options {
        create_if_missing: true,
        fs,
        ..Options::default()
    }
}

/// A database with a table and a row in its WAL, closed.
fn a_database(mem: &MemFs) {
    let db = Db::open(&options(Arc::new(mem.clone())), DB).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush(&Default::default()).unwrap();
    db.put(b"b", b"2").unwrap();
    db.close().unwrap();
}

/// Opens with each operation failing in turn that reads, until none does.
fn opened_with_each_failing(open: impl Fn(&Options) -> esker::Result<Db>) {
    let mem = MemFs::new();
    a_database(&mem);
    for step in 0.. {
        let fs = FaultFs::new(Arc::new(mem.clone()));
        let reads = [Op::Open, Op::Read, Op::Exists, Op::Size, Op::List];
        let rule = fs.add(Rule::new(Action::Fail(ErrorKind::Io)).on(reads).nth(step));
        let opened = open(&options(Arc::new(fs.clone())));
        let failed = fs.fired(rule) > 0;
        fs.clear_rules();
        match opened {
            Ok(db) => {
                assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]), "at {step}");
                assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"2"[..]), "at {step}");
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Io, "at {step}: {error}");
                assert!(error.to_string().contains("injected fault"), "at {step}: {error}");
            }
        }
        if !failed {
            assert!(step > 10);
            return;
        }
    }
}

#[test]
fn a_read_that_fails_is_not_taken_for_a_database_that_changes() {
    opened_with_each_failing(|options| Db::open_read_only(options, DB));
    opened_with_each_failing(|options| Db::open_as_secondary(options, DB, "/secondary"));
}

#[test]
fn a_link_that_was_made_although_it_failed_is_not_left_in_a_checkpoint() {
    let mem = MemFs::new();
    a_database(&mem);
    let fs = FaultFs::new(Arc::new(mem.clone()));
    let db = Db::open(&options(Arc::new(fs.clone())), DB).unwrap();
    fs.add(Rule::new(Action::FailAfter(ErrorKind::Io)).on([Op::Link]));
    db.create_checkpoint("/checkpoint", &CheckpointOptions::default())
        .unwrap();
    let names = mem.list(Path::new("/checkpoint")).unwrap();
    assert!(names.iter().any(|name| name.ends_with(".sst")), "{names:?}");
    assert!(!names.iter().any(|name| name.ends_with(".link")), "{names:?}");
    Db::destroy(&options(Arc::new(fs)), "/checkpoint").unwrap();
    assert!(!mem.exists(Path::new("/checkpoint")).unwrap());
    db.close().unwrap();
}
