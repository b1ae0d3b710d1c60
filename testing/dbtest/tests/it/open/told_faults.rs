//! The kinds and the effects of failures of an open.

use std::path::Path;
use std::sync::Arc;

use esker::{CheckpointOptions, Db, DbIterator, ErrorKind, Options, ReadOptions};
use vfs::{Action, FaultFs, FileSystem, MemFs, Op, Rule};

const DB: &str = "/db";

fn options(fs: Arc<dyn FileSystem>) -> Options {
    Options {
        create_if_missing: true,
        fs,
        ..Options::default()
    }
}

/// A closed database with a table and a row in its WAL.
fn a_database(mem: &MemFs) {
    let db = Db::open(&options(Arc::new(mem.clone())), DB).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"b", b"2").unwrap();
    db.close().unwrap();
}

/// Opens the database with each reading file operation failing in turn, until none fails.
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
fn an_iterator_whose_read_failed_reads_on_rightly() {
    let mem = MemFs::new();
    let mut small = options(Arc::new(mem.clone()));
    small.column_family.table.block_size = 512;
    small.column_family.table.no_block_cache = true;
    let db = Db::open(&small, DB).unwrap();
    let rows: Vec<(Vec<u8>, Vec<u8>)> = (0..2000u32)
        .map(|at| (at.to_be_bytes().to_vec(), vec![at as u8; 50]))
        .collect();
    for (key, value) in &rows {
        db.put(key, value).unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    let fs = FaultFs::new(Arc::new(mem));
    small.fs = Arc::new(fs.clone());
    let db = Db::open(&small, DB).unwrap();
    let scan = |iter: &mut DbIterator| {
        iter.seek_to_first();
        let mut found = Vec::new();
        while iter.valid() {
            found.push((iter.key().to_vec(), iter.value().to_vec()));
            iter.next();
        }
        iter.status().map(|()| found)
    };
    for drawn in 0..8 {
        let reading = ReadOptions {
            verify_checksums: drawn & 1 > 0,
            readahead_size: if drawn & 2 > 0 { 4096 } else { 0 },
            async_io: drawn & 4 > 0,
            ..ReadOptions::default()
        };
        for step in 0.. {
            let mut iter = db.iter_opt(&reading);
            let rule = fs.add(Rule::new(Action::Fail(ErrorKind::Io)).on([Op::Read]).nth(step));
            let first = scan(&mut iter);
            let failed = fs.fired(rule) > 0;
            fs.clear_rules();
            match first {
                Ok(found) => assert_eq!(found, rows),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "{error}"),
            }
            assert_eq!(scan(&mut iter).unwrap(), rows, "at {step}, {reading:?}");
            if !failed {
                assert!(step > 2);
                break;
            }
        }
    }
    db.close().unwrap();
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

/// A WAL exists when the directory is listed, and is deleted before it is opened.
#[test]
fn an_open_for_reading_begins_anew_when_a_wal_is_deleted_meanwhile() {
    let mem = MemFs::new();
    a_database(&mem);
    let fs = FaultFs::new(Arc::new(mem));
    let gone = Rule::new(Action::Fail(ErrorKind::NotFound)).on([Op::Open]);
    let rule = fs.add(gone.path_ends_with(".log").nth(0));
    let db = Db::open_read_only(&options(Arc::new(fs.clone())), DB).unwrap();
    assert_eq!(fs.fired(rule), 1);
    assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
}
