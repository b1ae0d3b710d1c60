//! A closed database: each call fails with its error, and its directory is not accessed any more.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use esker::{
    CheckpointOptions, ColumnFamily, ColumnFamilyOptions, CompactFilesOptions, Db, ErrorKind,
    IngestExternalFileArg, LiveFilesStorageInfoOptions, MultiScanArgs, Options, ReadOptions, Result,
    SstFileWriter, WriteBatch, WriteBatchWithIndex, WriteOptions,
};
use vfs::{Action, FaultFs, FileSystem, LogFs, MemFs, Op, Rule};

const DIR: &str = "db";

fn options(fs: Arc<dyn FileSystem>) -> Options {
    Options {
        create_if_missing: true,
        file_checksum_gen_factory: esker::FileChecksumGenFactory::Crc32c,
        fs,
        ..Options::default()
    }
}

fn no_wal() -> WriteOptions {
    WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    }
}

/// Writes rows to a table and to a memtable.
fn fill(db: &Db) {
    for (key, value) in [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")] {
        db.put(key, value).unwrap();
    }
    db.flush().unwrap();
    db.put(b"d", b"4").unwrap();
}

type Calls<'a> = Vec<(&'static str, Box<dyn Fn() -> Result<()> + 'a>)>;

/// Every call that can fail, of a database, of `family`, and of `snapshot` in it.
fn calls<'a>(db: &'a Db, family: &'a ColumnFamily, options: &'a ReadOptions) -> Calls<'a> {
    let write = WriteOptions::default();
    let mut calls: Calls<'a> = reads(db, family, options);
    macro_rules! call {
        ($name:literal, $call:expr) => {
            calls.push(($name, Box::new(move || $call.map(drop))))
        };
    }
    call!("put", db.put(b"k", b"v"));
    call!("put_opt", db.put_cf_opt(family, b"k", b"v", &write));
    let write = WriteOptions::default();
    call!("delete", db.delete(b"k"));
    call!("delete_opt", db.delete_cf_opt(family, b"k", &write));
    let write = WriteOptions::default();
    call!("single_delete", db.single_delete_cf_opt(family, b"k", &write));
    let write = WriteOptions::default();
    call!("merge", db.merge_cf_opt(family, b"k", b"v", &write));
    let write = WriteOptions::default();
    call!("delete_range", db.delete_range_cf_opt(family, b"k", b"l", &write));
    call!("write", {
        let mut batch = WriteBatch::new();
        batch.put(b"k", b"v");
        db.write_opt(batch, &no_wal())
    });
    call!("write nothing", db.write_opt(WriteBatch::new(), &no_wal()));
    call!("flush", db.flush());
    call!("flush_cf", db.flush_cf(&[]));
    call!("compact_range", { db.compact_range_cf(family, None, None) });
    call!("compact_files", {
        db.compact_files(family, &[], 1, &CompactFilesOptions::default())
    });
    call!("wait_for_compact", db.wait_for_compact());
    call!(
        "suggest_compact_range",
        db.suggest_compact_range(family, None, None)
    );
    call!("suggest_compact_files", db.suggest_compact_files(family, &[]));
    call!("promote_l0", db.promote_l0(family, 1));
    call!("resume", db.resume());
    call!("pause_background_work", db.pause_background_work());
    call!("continue_background_work", db.continue_background_work());
    call!("enable_manual_compaction", db.enable_manual_compaction());
    call!("cancel_all_background_work", db.cancel_all_background_work(true));
    call!("create_column_family", {
        db.create_column_family("new", &ColumnFamilyOptions::default())
    });
    call!("drop_column_family", db.drop_column_family(family));
    call!("sync_wal", db.sync_wal());
    call!("flush_wal", db.flush_wal(false));
    call!("lock_wal", db.lock_wal());
    call!("unlock_wal", db.unlock_wal());
    call!(
        "set_options",
        db.set_options(family, &[("write_buffer_size", "100000")])
    );
    call!(
        "set_db_options",
        db.set_db_options(&[("max_total_wal_size", "1")])
    );
    call!("enable_auto_compaction", db.enable_auto_compaction(&[]));
    call!("enable_file_deletions", db.enable_file_deletions());
    call!("create_checkpoint", {
        db.create_checkpoint("copy", &CheckpointOptions::default())
    });
    call!("live_files_storage_info", {
        db.live_files_storage_info(&LiveFilesStorageInfoOptions::default())
    });
    call!("export_column_family", db.export_column_family(family, "export"));
    call!("create_column_family_with_import", {
        db.create_column_family_with_import(
            "imported",
            &ColumnFamilyOptions::default(),
            &[],
            &Default::default(),
        )
    });
    let none: [&Path; 0] = [];
    call!("ingest_external_file", {
        db.ingest_external_file(&none, &Default::default())
    });
    call!("ingest_external_files", {
        let outside = IngestExternalFileArg::new(family, ["outside.sst"], Default::default());
        db.ingest_external_files(&[outside])
    });
    call!(
        "commit_file_ingestion_handles",
        db.commit_file_ingestion_handles(Vec::new())
    );
    call!("verify_checksum", db.verify_checksum());
    call!("verify_file_checksums", db.verify_file_checksums());
    call!("set_verify_rate", db.set_verify_rate(1 << 20));
    call!("close", db.close());
    calls
}

/// The calls that a read-only database supports too.
fn reads<'a>(db: &'a Db, family: &'a ColumnFamily, options: &'a ReadOptions) -> Calls<'a> {
    let mut calls: Calls<'a> = Vec::new();
    macro_rules! call {
        ($name:literal, $call:expr) => {
            calls.push(($name, Box::new(move || $call.map(drop))))
        };
    }
    call!("get", db.get(b"a"));
    call!("get_opt", db.get_cf_opt(family, b"a", options));
    call!("get_pinned", db.get_pinned_cf_opt(family, b"a", options));
    call!("key_may_exist", db.key_may_exist_cf_opt(family, b"a", options));
    call!("multi_get", {
        db.multi_get_cf_opt(family, &[b"a", b"d"], options)
            .into_iter()
            .collect::<Result<Vec<_>>>()
    });
    call!("iter", {
        let mut iter = db.iter_opt(options);
        iter.seek_to_first();
        assert!(iter.status().is_ok() || !iter.valid());
        iter.status()
    });
    call!("iter_cf", {
        let mut iter = db.iter_cf_opt(family, options);
        iter.seek_to_last();
        iter.status()
    });
    call!("a tailing iterator", {
        let tailing = ReadOptions {
            tailing: true,
            ..ReadOptions::default()
        };
        let mut iter = db.iter_cf_opt(family, &tailing);
        iter.seek(b"a");
        iter.status()
    });
    call!("multi_scan", {
        let args = MultiScanArgs {
            ranges: vec![(b"a".to_vec(), None)],
            ..MultiScanArgs::default()
        };
        db.multi_scan(family, args, options)
    });
    call!("a batch over the database", {
        let mut batch = WriteBatchWithIndex::new();
        batch.put_cf(family, b"x", b"y");
        batch.get_from_batch_and_db(db, family, b"a", options)
    });
    call!("an iterator of a batch", {
        let mut batch = WriteBatchWithIndex::new();
        batch.put_cf(family, b"x", b"y");
        let mut iter = batch.iter_with_base(db, family, options)?;
        iter.seek_to_first();
        iter.status()
    });
    call!("approximate_sizes", db.approximate_sizes(family, &[(b"a", b"z")]));
    call!("properties_of_all_tables", db.properties_of_all_tables(family));
    call!("properties_of_tables_in_range", {
        db.properties_of_tables_in_range(family, &[(b"a", b"z")])
    });
    calls
}

fn check_closed(calls: Calls<'_>) {
    for (name, call) in calls {
        let kind = call().err().map(|error| error.kind());
        match name {
            "close" => assert_eq!(kind, None, "it returns the outcome of the first one"),
            _ => assert_eq!(kind, Some(ErrorKind::ShutdownInProgress), "{name}"),
        }
    }
}

#[test]
fn each_call_after_a_close_fails_and_touches_no_file() {
    let mem = MemFs::new();
    let log = LogFs::new(Arc::new(mem.clone()), DIR);
    for latched in [false, true] {
        let faults = FaultFs::new(Arc::new(log.clone()));
        let db = Db::open(&options(Arc::new(faults.clone())), DIR).unwrap();
        fill(&db);
        let default = db.default_column_family();
        let other = match db.column_family("other") {
            Some(other) => other,
            None => db
                .create_column_family("other", &ColumnFamilyOptions::default())
                .unwrap(),
        };
        let gone = db
            .create_column_family("gone", &ColumnFamilyOptions::default())
            .unwrap();
        db.put_cf(&gone, b"a", b"1").unwrap();
        db.drop_column_family(&gone).unwrap();
        let snapshot = db.snapshot();
        let newest = ReadOptions::default();
        let at_snapshot = ReadOptions {
            snapshot: Some(snapshot.clone()),
            ..ReadOptions::default()
        };
        for (name, call) in reads(&db, &default, &at_snapshot) {
            call().unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        if latched {
            faults.add(
                Rule::new(Action::Fail(ErrorKind::Io))
                    .on([Op::Append])
                    .path_ends_with(".log"),
            );
            db.put(b"k", b"v").unwrap_err();
            faults.clear_rules();
        }
        db.close().unwrap();
        log.take();
        for family in [&default, &other, &gone] {
            for options in [&newest, &at_snapshot] {
                check_closed(calls(&db, family, options));
            }
        }
        assert_eq!(db.property(&default, "rocksdb.stats"), None);
        assert_eq!(db.property_int(&default, "rocksdb.background-errors"), None);
        assert!(db.column_family("other").is_none() && db.column_families().is_empty());
        assert!(db.live_files().is_empty() && db.levels(&default).is_empty());
        assert!(db.blob_files(&default).is_empty());
        let history: Vec<_> = db.get_stats_history(0, u64::MAX).collect();
        assert!(matches!(&history[..], [Err(error)] if error.kind() == ErrorKind::ShutdownInProgress));
        // After the close, calls that only concern the handle or memory still succeed.
        assert_eq!(db.path(), Path::new(DIR));
        assert_eq!(db.latest_sequence_number(), snapshot.sequence_number());
        assert_eq!(db.pins().snapshots.len(), 1);
        db.disable_manual_compaction();
        db.disable_file_deletions();
        drop(db.hold_file_deletions("nobody"));
        assert!(db.memory().total() < u64::MAX);
        assert_eq!(db.current_options().max_total_wal_size, 0);
        drop((snapshot, at_snapshot));
        drop(db);
        assert_eq!(log.take(), "", "the directory is another's");
    }
}

#[test]
fn who_reads_alone_or_follows_is_closed_alike() {
    let mem = MemFs::new();
    let options = options(Arc::new(mem.clone()));
    let primary = Db::open(&options, DIR).unwrap();
    fill(&primary);
    let open: [fn(&Options) -> Result<Db>; 3] = [
        |options| Db::open_read_only(options, DIR),
        |options| Db::open_as_secondary(options, DIR, "second"),
        |options| Db::open_as_follower(options, "third", DIR),
    ];
    for open in open {
        let db = open(&options).unwrap();
        let family = db.default_column_family();
        let at_snapshot = ReadOptions {
            snapshot: Some(db.snapshot()),
            ..ReadOptions::default()
        };
        let mut iter = db.iter_opt(&at_snapshot);
        iter.seek_to_first();
        db.close().unwrap();
        check_closed(calls(&db, &family, &at_snapshot));
        check_closed(calls(&db, &family, &ReadOptions::default()));
        assert_eq!(iter.key(), b"a");
        iter.next();
        assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::ShutdownInProgress);
        let caught_up = db.try_catch_up_with_primary().unwrap_err();
        assert_eq!(caught_up.kind(), ErrorKind::ShutdownInProgress);
        assert!(db.catch_up_status().is_none());
    }
    primary.put(b"e", b"5").unwrap();
}

#[test]
fn an_iterator_keeps_its_row_and_moves_no_more() {
    type Move = fn(&mut esker::DbIterator);
    let moves: [Move; 7] = [
        |iter| iter.next(),
        |iter| iter.prev(),
        |iter| iter.seek(b"a"),
        |iter| iter.seek_for_prev(b"d"),
        |iter| iter.seek_to_first(),
        |iter| iter.seek_to_last(),
        |iter| {
            iter.next_prefix();
        },
    ];
    for (at, move_it) in moves.into_iter().enumerate() {
        for refreshes in [false, true] {
            for blobs in [false, true] {
                let mut options = options(Arc::new(MemFs::new()));
                options.column_family.enable_blob_files = blobs;
                let db = Db::open(&options, DIR).unwrap();
                fill(&db);
                let read = ReadOptions {
                    snapshot: refreshes.then(|| db.snapshot()),
                    auto_refresh_iterator_with_snapshot: refreshes,
                    ..ReadOptions::default()
                };
                let family = db.default_column_family();
                let pinned = db.get_pinned_cf_opt(&family, b"c", &read).unwrap().unwrap();
                let mut iter = db.iter_opt(&read);
                iter.seek(b"b");
                let mut scan = db
                    .multi_scan(
                        &family,
                        MultiScanArgs {
                            ranges: vec![(b"a".to_vec(), Some(b"b".to_vec())), (b"c".to_vec(), None)],
                            ..MultiScanArgs::default()
                        },
                        &read,
                    )
                    .unwrap();
                assert!(scan.next_range().unwrap().valid());
                db.close().unwrap();
                drop(db);
                assert_eq!((iter.key(), iter.value()), (&b"b"[..], &b"2"[..]));
                let kept = iter.value_pinned();
                move_it(&mut iter);
                let context = format!("move {at}, {refreshes}, {blobs}");
                assert!(!iter.valid(), "{context}");
                let error = iter.status().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::ShutdownInProgress, "{context}");
                assert!(error.to_string().starts_with("Shutdown in progress"));
                let error = iter.refresh(None).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::ShutdownInProgress, "{context}");
                let range = scan.next_range().unwrap();
                assert!(!range.valid());
                assert_eq!(range.status().unwrap_err().kind(), ErrorKind::ShutdownInProgress);
                assert_eq!((&kept[..], &pinned[..]), (&b"2"[..], &b"3"[..]));
            }
        }
    }
}

#[test]
fn a_second_close_waits_for_the_first_and_has_its_outcome() {
    let faults = FaultFs::new(Arc::new(MemFs::new()));
    let db = Db::open(&options(Arc::new(faults.clone())), DIR).unwrap();
    db.put_cf_opt(&db.default_column_family(), b"a", b"1", &no_wal())
        .unwrap();
    // The flush of rows without a WAL waits, and then fails.
    let (begun, begins): (Sender<()>, Receiver<()>) = channel();
    let (goes_on, may_go_on): (Sender<()>, Receiver<()>) = channel();
    let (begun, may_go_on) = (Mutex::new(begun), Mutex::new(may_go_on));
    let wait = Action::Call(Arc::new(move |_, _| {
        let _ = begun.lock().unwrap().send(());
        let _ = may_go_on.lock().unwrap().recv();
    }));
    faults.add(Rule::new(wait).on([Op::Create]).path_ends_with(".sst"));
    faults.add(
        Rule::new(Action::Fail(ErrorKind::Io))
            .on([Op::Create])
            .path_ends_with(".sst"),
    );
    std::thread::scope(|scope| {
        let first = scope.spawn(|| db.close());
        begins.recv().unwrap();
        let second = scope.spawn(|| db.clone().close());
        drop(goes_on);
        let (first, second) = (first.join().unwrap(), second.join().unwrap());
        let first = first.unwrap_err().to_string();
        assert!(first.contains("injected fault"), "{first}");
        assert_eq!(second.unwrap_err().to_string(), first);
    });
    assert!(db.close().is_err());
}

/// The last handle closes the database; iterators, snapshots and prepared ingestions count as handles.
#[test]
fn what_reads_keeps_a_dropped_database_open() {
    type Keeper = Box<dyn std::any::Any>;
    type Keep = fn(&Db) -> Keeper;
    let keepers: [(&str, Keep); 5] = [
        ("an iterator", |db| {
            let mut iter = db.iter();
            iter.seek(b"b");
            Box::new(iter)
        }),
        ("a snapshot", |db| Box::new(db.snapshot())),
        ("a multi-scan", |db| {
            let args = MultiScanArgs {
                ranges: vec![(b"a".to_vec(), None)],
                ..MultiScanArgs::default()
            };
            let family = db.default_column_family();
            Box::new(db.multi_scan(&family, args, &ReadOptions::default()).unwrap())
        }),
        ("an iterator of a batch", |db| {
            let batch = WriteBatchWithIndex::new();
            let family = db.default_column_family();
            Box::new(
                batch
                    .iter_with_base(db, &family, &ReadOptions::default())
                    .unwrap(),
            )
        }),
        ("a prepared ingestion", |db| {
            let mut writer = SstFileWriter::new(db.options());
            writer.open("outside.sst").unwrap();
            writer.put(b"z", b"1").unwrap();
            writer.finish().unwrap();
            let family = db.default_column_family();
            let file = IngestExternalFileArg::new(&family, ["outside.sst"], Default::default());
            Box::new(db.prepare_file_ingestion(&[file]).unwrap())
        }),
    ];
    for (name, keeper) in keepers {
        let options = options(Arc::new(MemFs::new()));
        let db = Db::open(&options, DIR).unwrap();
        fill(&db);
        let family = db.default_column_family();
        let value = db.get_pinned_cf(&family, b"a").unwrap().unwrap();
        let mut kept = keeper(&db);
        drop((db, family));
        assert_eq!(
            Db::open(&options, DIR).unwrap_err().kind(),
            ErrorKind::LockHeld,
            "{name}"
        );
        if let Some(iter) = kept.downcast_mut::<esker::DbIterator>()
            && iter.valid()
        {
            iter.next();
            assert_eq!(iter.key(), b"c", "it reads on");
        }
        drop(kept);
        let db = Db::open(&options, DIR).unwrap();
        assert_eq!(&value[..], b"1", "{name}");
        assert_eq!(db.get(b"d").unwrap().as_deref(), Some(&b"4"[..]), "{name}");
        // The file of the prepared ingestion does not exist any more: the drop of the handle or this open has
        // removed it.
        assert_eq!(db.get(b"z").unwrap(), None);
    }
}

/// Threads within calls get the close as an error of a call, and no call is half done.
#[test]
fn calls_that_meet_a_close_end_by_it() {
    for round in 0..5u32 {
        let options = options(Arc::new(MemFs::new()));
        let db = Db::open(&options, DIR).unwrap();
        fill(&db);
        let family = db.default_column_family();
        let ended = |result: Result<()>| match result {
            Ok(()) => false,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ShutdownInProgress, "{error}");
                true
            }
        };
        let started = std::sync::Barrier::new(5);
        let (db, family) = (&db, &family);
        let (started, ended) = (&started, &ended);
        let written = std::thread::scope(|scope| {
            let writer = scope.spawn(move || {
                started.wait();
                let write = move |at: u32| db.put(at.to_be_bytes(), b"value");
                (0..).find(|&at| ended(write(at))).unwrap()
            });
            let gets = move || {
                let found = db.multi_get_cf(family, &[b"a", b"d"]);
                for (found, value) in found.into_iter().zip([b"1", b"4"]) {
                    assert_eq!(found?.as_deref(), Some(&value[..]));
                }
                Ok(())
            };
            let scans = move || {
                let mut iter = db.iter();
                iter.seek(b"a");
                let mut rows = 0;
                while iter.valid() && rows < 4 {
                    rows += 1;
                    iter.next();
                }
                assert!(rows == 4 || iter.status().is_err());
                iter.status()
            };
            let rewrites = move || {
                db.flush()?;
                db.compact_range_cf(family, None, None)
            };
            let calls: [Box<dyn Fn() -> Result<()> + Send>; 3] =
                [Box::new(gets), Box::new(scans), Box::new(rewrites)];
            for call in calls {
                scope.spawn(move || {
                    started.wait();
                    while !ended(call()) {}
                });
            }
            started.wait();
            for _ in 0..round * 20 {
                std::thread::yield_now();
            }
            db.close().unwrap();
            writer.join().unwrap()
        });
        // After the close the directory is unlocked, and has every acknowledged row.
        let again = Db::open(&options, DIR).unwrap();
        for at in 0..written {
            assert!(
                again.get(at.to_be_bytes()).unwrap().is_some(),
                "{at} of {written}"
            );
        }
    }
}

/// A panic of the file system during a close: the close completes, returns the error, and releases all
/// resources.
#[test]
fn a_panic_of_the_file_system_ends_no_close_half_way() {
    for (op, ending) in [
        (Op::Close, ".log"),
        (Op::Close, "MANIFEST"),
        (Op::Create, ".sst"),
        (Op::Create, ".log"),
        (Op::Remove, ".log"),
    ] {
        let what = format!("{op:?} {ending}");
        let mem = MemFs::new();
        let faults = FaultFs::new(Arc::new(mem.clone()));
        let db = Db::open(&options(Arc::new(faults.clone())), DIR).unwrap();
        fill(&db);
        let family = db.default_column_family();
        // The close flushes rows without a WAL.
        db.put_cf_opt(&family, b"e", b"5", &no_wal()).unwrap();
        let panics = Action::Call(Arc::new(|_, _| panic!("the file system panics")));
        let rule = Rule::new(panics).on([op]);
        let rule = faults.add(match ending {
            "MANIFEST" => rule.path_contains(ending),
            _ => rule.path_ends_with(ending),
        });
        let closed = db.close();
        assert!(faults.fired(rule) > 0, "{what}");
        // The thread that deletes files survives a panic, and the next open deletes the remaining files.
        if op != Op::Remove {
            let error = closed.as_ref().unwrap_err();
            // The close returns the error that a background job has left.
            let told = [ErrorKind::Panicked, ErrorKind::ReadOnly];
            assert!(told.contains(&error.kind()), "{what}: {error}");
            assert!(
                error.message().contains("the file system panics"),
                "{what}: {error}"
            );
        }
        assert_eq!(
            format!("{:?}", db.close().map_err(|error| error.kind())),
            format!("{:?}", closed.map_err(|error| error.kind())),
            "{what}: its outcome"
        );
        faults.clear_rules();
        // The close has released the lock, and no thread of the database remains.
        let again = Db::open(&options(Arc::new(mem)), DIR).unwrap();
        for key in [b"a", b"b", b"c", b"d"] {
            assert!(again.get(key).unwrap().is_some(), "{what}");
        }
    }
}
