//! The contents of backups, the files they share, and their deletion.

use std::path::Path;
use std::sync::Arc;

use esker::{
    Db, ErrorKind, ManualClock, Options, RateLimiter, RateLimiterMode, RateLimiterOptions, WriteBatch,
    WriteOptions,
};
use esker_backup::{
    BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreMode, RestoreOptions, ShareFilesNaming,
};
use vfs::{FileSystem, LogFs, MemFs};

use crate::fixtures::*;

#[test]
fn every_backup_is_the_database_as_it_was() {
    for threads in [1, 4] {
        for flush_before_backup in [true, false] {
            let fs = MemFs::new();
            let db = open(&fs);
            let mut engine = BackupEngine::open(BackupEngineOptions {
                max_background_operations: threads,
                schema_version: threads as u32 % 3,
                ..backup_options(&fs)
            })
            .unwrap();
            let mut expected = Vec::new();
            for round in 0..4 {
                fill(&db, round);
                if round == 2 {
                    db.compact_range(None, None).unwrap();
                    // These rows are written to no WAL.
                    let unlogged = WriteOptions {
                        disable_wal: true,
                        ..WriteOptions::default()
                    };
                    db.put_cf_opt(&db.default_column_family(), b"unlogged", b"there", &unlogged)
                        .unwrap();
                }
                let options = CreateBackupOptions {
                    flush_before_backup,
                    app_metadata: format!("round {round}").into_bytes(),
                    ..CreateBackupOptions::default()
                };
                let id = engine.create_new_backup(&db, &options).unwrap();
                assert_eq!(id, round as u32 + 1);
                expected.push(rows(&db));
            }
            db.close().unwrap();
            drop(engine);
            let engine = BackupEngine::open_read_only(backup_options(&fs)).unwrap();
            assert_eq!(engine.backups().len(), 4);
            assert!(engine.corrupted_backups().is_empty());
            for (round, expected) in expected.iter().enumerate() {
                let id = round as u32 + 1;
                let info = engine.backup(id).unwrap();
                assert_eq!(info.app_metadata, format!("round {round}").into_bytes());
                assert!(info.size() > 0 && info.sequence_number > 0);
                assert_eq!(&rows_of(&engine, &fs, id), expected, "backup {id}, opened");
                engine
                    .restore_db_from_backup(id, RESTORED, RESTORED, &restore_options(&fs))
                    .unwrap();
                let restored = Db::open(&options(Arc::new(fs.clone())), RESTORED).unwrap();
                assert_eq!(&rows(&restored), expected, "backup {id}, restored");
                // The restored database can be written to.
                restored.put(b"new", b"row").unwrap();
                restored.flush().unwrap();
                restored.close().unwrap();
            }
        }
    }
}

#[test]
fn a_reader_opens_the_newest_good_backups() {
    let fs = MemFs::new();
    let db = open(&fs);
    let mut engine = BackupEngine::open(backup_options(&fs)).unwrap();
    for round in 0..5 {
        fill(&db, round);
        engine
            .create_new_backup(&db, &CreateBackupOptions::default())
            .unwrap();
    }
    drop(engine);
    let limited = |limit| BackupEngineOptions {
        max_valid_backups_to_open: limit,
        ..backup_options(&fs)
    };
    let opened = |engine: &BackupEngine| -> Vec<u32> {
        let backups = engine.backups();
        backups.iter().map(|backup| backup.backup_id).collect()
    };
    let meta = |id: u32| backup_options(&fs).backup_dir.join(format!("meta/{id}"));
    // A corrupt backup does not count against the limit.
    fs.write_file(&meta(4), b"damaged").unwrap();
    for (limit, expected) in [(0, &[][..]), (1, &[5]), (2, &[3, 5]), (9, &[1, 2, 3, 5])] {
        let reader = BackupEngine::open_read_only(limited(limit)).unwrap();
        assert_eq!(opened(&reader), expected, "{limit}");
    }
    let reader = BackupEngine::open_read_only(limited(2)).unwrap();
    let unread = reader.backup(2).unwrap_err();
    assert_eq!(unread.kind(), ErrorKind::NotFound);
    assert_eq!(rows_of(&reader, &fs, 5), rows(&db));
    // An engine that writes ignores the limit: it must know all files in use.
    let writer = BackupEngine::open(limited(1)).unwrap();
    assert_eq!(opened(&writer), [1, 2, 3, 5]);
}

#[test]
fn what_an_earlier_backup_has_is_not_copied_again() {
    let fs = MemFs::new();
    let db = open(&fs);
    let log = LogFs::new(Arc::new(fs.clone()), Path::new(BACKUPS));
    let mut engine = BackupEngine::open(BackupEngineOptions {
        fs: Arc::new(log.clone()),
        ..backup_options(&fs)
    })
    .unwrap();
    let flushed = CreateBackupOptions {
        flush_before_backup: true,
        ..CreateBackupOptions::default()
    };
    fill(&db, 0);
    engine.create_new_backup(&db, &flushed).unwrap();
    let first = listing(&fs, "shared_checksum");
    assert_eq!(first.len(), 2);
    let form = |name: &String| name.contains("_s") && name.ends_with(".sst");
    assert!(first.iter().all(form), "{first:?}");
    fill(&db, 1);
    log.take();
    engine.create_new_backup(&db, &flushed).unwrap();
    let calls = log.take();
    let created: Vec<&str> = calls
        .lines()
        .filter(|line| line.starts_with("create shared_checksum"))
        .collect();
    assert_eq!(created.len(), 2, "{calls}");
    let second = listing(&fs, "shared_checksum");
    assert_eq!(second.len(), 4);
    assert!(first.iter().all(|name| second.contains(name)));
    db.close().unwrap();
}

#[test]
fn files_go_when_the_last_backup_that_needs_them_does() {
    let fs = MemFs::new();
    let db = open(&fs);
    let mut engine = engine(&fs);
    let flushed = CreateBackupOptions {
        flush_before_backup: true,
        ..CreateBackupOptions::default()
    };
    let mut expected = Vec::new();
    for round in 0..4 {
        fill(&db, round);
        if round == 2 {
            for family in db.column_families() {
                db.compact_range_cf(&family, None, None).unwrap();
            }
        }
        engine.create_new_backup(&db, &flushed).unwrap();
        expected.push(rows(&db));
    }
    db.close().unwrap();
    let files = listing(&fs, "shared_checksum").len();
    engine.delete_backup(2).unwrap();
    // The tables that were flushed for the second backup were compacted before the third one, so that
    // deleting the second backup deletes them.
    assert_eq!(listing(&fs, "shared_checksum").len(), files - 2);
    assert_eq!(rows_of(&engine, &fs, 1), expected[0]);
    assert_eq!(engine.delete_backup(2).unwrap_err().kind(), ErrorKind::NotFound);
    engine.purge_old_backups(1).unwrap();
    assert_eq!(listing(&fs, "meta"), ["4"]);
    assert_eq!(listing(&fs, "private"), ["4"]);
    assert_eq!(rows_of(&engine, &fs, 4), expected[3]);
    engine.purge_old_backups(0).unwrap();
    assert!(listing(&fs, "shared_checksum").is_empty());
    assert_eq!(engine.latest_backup(), None);
    let error = engine
        .restore_db_from_latest_backup(RESTORED, RESTORED, &restore_options(&fs))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn files_are_named_as_the_options_say() {
    for (naming, by_session) in [
        (ShareFilesNaming::LegacyCrc32cAndFileSize, false),
        (ShareFilesNaming::UseDbSessionId, true),
    ] {
        let fs = MemFs::new();
        let db = open(&fs);
        fill(&db, 0);
        let mut engine = BackupEngine::open(BackupEngineOptions {
            share_files_with_checksum_naming: naming,
            ..backup_options(&fs)
        })
        .unwrap();
        let flushed = CreateBackupOptions {
            flush_before_backup: true,
            ..CreateBackupOptions::default()
        };
        engine.create_new_backup(&db, &flushed).unwrap();
        engine.create_new_backup(&db, &flushed).unwrap();
        let names = listing(&fs, "shared_checksum");
        assert_eq!(names.len(), 2);
        for name in names {
            assert_eq!(name.contains("_s"), by_session, "{name}");
            assert_eq!(
                name.matches('_').count(),
                if by_session { 1 } else { 2 },
                "{name}"
            );
        }
        assert_eq!(rows_of(&engine, &fs, 2), rows(&db));
        db.close().unwrap();
    }
    let fs = MemFs::new();
    let db = open(&fs);
    fill(&db, 0);
    db.flush().unwrap();
    for (share_table_files, share_files_with_checksum) in [(true, false), (false, true)] {
        let mut engine = BackupEngine::open(BackupEngineOptions {
            share_table_files,
            share_files_with_checksum,
            ..backup_options(&fs)
        })
        .unwrap();
        let id = engine
            .create_new_backup(&db, &CreateBackupOptions::default())
            .unwrap();
        assert_eq!(rows_of(&engine, &fs, id), rows(&db));
    }
    assert_eq!(
        listing(&fs, "shared"),
        ["000012.sst"].map(|_| listing(&fs, "shared")[0].clone())
    );
    let private = listing(&fs, "private/2");
    assert!(private.iter().any(|name| name.ends_with(".sst")), "{private:?}");
    db.close().unwrap();
}

#[test]
fn wals_may_be_left_out_and_those_there_kept() {
    let fs = MemFs::new();
    let db = open(&fs);
    fill(&db, 0);
    db.flush().unwrap();
    let flushed = rows(&db);
    fill(&db, 1);
    let all = rows(&db);
    let mut engine = BackupEngine::open(BackupEngineOptions {
        backup_log_files: false,
        ..backup_options(&fs)
    })
    .unwrap();
    let id = engine
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    assert!(
        listing(&fs, &format!("private/{id}"))
            .iter()
            .all(|name| !name.ends_with(".log"))
    );
    db.close().unwrap();
    // Only rows of the default family are compared: the other family was not flushed.
    let of_default = |rows: &std::collections::BTreeMap<(String, Vec<u8>), Vec<u8>>| {
        let own = rows.iter().filter(|((family, _), _)| family == "default");
        own.map(|(key, value)| (key.clone(), value.clone()))
            .collect::<Vec<_>>()
    };
    engine
        .restore_db_from_backup(id, RESTORED, RESTORED, &restore_options(&fs))
        .unwrap();
    let restored = Db::open_read_only(&options(Arc::new(fs.clone())), RESTORED).unwrap();
    assert_eq!(of_default(&rows(&restored)), of_default(&flushed));
    let options_of = RestoreOptions {
        keep_log_files: true,
        ..restore_options(&fs)
    };
    engine.restore_db_from_backup(id, DB, DB, &options_of).unwrap();
    let restored = Db::open_read_only(&options(Arc::new(fs.clone())), DB).unwrap();
    assert_eq!(rows(&restored), all);
}

#[test]
fn restoring_keeps_what_it_is_told_to_and_what_is_no_databases() {
    for mode in [
        RestoreMode::PurgeAllFiles,
        RestoreMode::VerifyChecksum,
        RestoreMode::KeepLatestDbSessionIdFiles,
    ] {
        let fs = MemFs::new();
        let db = open(&fs);
        fill(&db, 0);
        let flushed = CreateBackupOptions {
            flush_before_backup: true,
            ..CreateBackupOptions::default()
        };
        let mut engine = engine(&fs);
        engine.create_new_backup(&db, &flushed).unwrap();
        let expected = rows(&db);
        fill(&db, 1);
        db.flush().unwrap();
        fs.write_file(&Path::new(DB).join("notes.txt"), b"mine").unwrap();
        let restoring = RestoreOptions {
            mode,
            fs: Arc::new(fs.clone()),
            ..RestoreOptions::default()
        };
        let error = engine.restore_db_from_backup(1, DB, DB, &restoring).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LockHeld);
        db.close().unwrap();
        drop(db);

        // One table of the backup is corrupt at the destination, the other is not.
        let tables: Vec<String> = engine
            .backup(1)
            .unwrap()
            .files
            .into_iter()
            .map(|file| file.relative_filename)
            .collect();
        let tables: Vec<&String> = tables.iter().filter(|name| name.ends_with(".sst")).collect();
        assert_eq!(tables.len(), 2);
        let in_db = |name: &str| {
            let number = name
                .rsplit('/')
                .next()
                .unwrap()
                .split('_')
                .next()
                .unwrap()
                .to_owned();
            Path::new(DB).join(format!("{number}.sst"))
        };
        let damaged = in_db(tables[0]);
        let mut bytes = fs.read_file(&damaged).unwrap();
        bytes[3] ^= 1;
        fs.write_file(&damaged, &bytes).unwrap();

        let log = LogFs::new(Arc::new(fs.clone()), Path::new(DB));
        let restoring = RestoreOptions {
            fs: Arc::new(log.clone()),
            ..restoring
        };
        engine.restore_db_from_backup(1, DB, DB, &restoring).unwrap();
        let calls = log.take();
        let created = calls
            .lines()
            .filter(|line| line.starts_with("create ") && line.contains(".sst"))
            .count();
        let expected_created = match mode {
            RestoreMode::PurgeAllFiles => 2,
            RestoreMode::VerifyChecksum => 1,
            RestoreMode::KeepLatestDbSessionIdFiles => 0,
        };
        assert_eq!(created, expected_created, "{mode:?}\n{calls}");
        if mode == RestoreMode::KeepLatestDbSessionIdFiles {
            // The damage is in the contents of a table, which a restoration that compares only sessions does
            // not read.
            bytes[3] ^= 1;
            fs.write_file(&damaged, &bytes).unwrap();
        }
        assert_eq!(fs.read_file(&Path::new(DB).join("notes.txt")).unwrap(), b"mine");
        let db = Db::open(&options(Arc::new(fs.clone())), DB).unwrap();
        assert_eq!(rows(&db), expected, "{mode:?}");
        db.close().unwrap();
    }
}

#[test]
fn every_byte_asks_the_limiter() {
    let fs = MemFs::new();
    let db = open(&fs);
    fill(&db, 0);
    db.flush().unwrap();
    let limiter = |mode| {
        let options = RateLimiterOptions {
            rate_bytes_per_sec: 1 << 30,
            mode,
            ..RateLimiterOptions::default()
        };
        Arc::new(RateLimiter::with_options(options, Arc::new(ManualClock::default())).unwrap())
    };
    let (backing, restoring) = (
        limiter(RateLimiterMode::WritesOnly),
        limiter(RateLimiterMode::AllIo),
    );
    let mut engine = BackupEngine::open(BackupEngineOptions {
        backup_rate_limiter: Some(backing.clone()),
        restore_rate_limiter: Some(restoring.clone()),
        ..backup_options(&fs)
    })
    .unwrap();
    let id = engine
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    let size = engine.backup(id).unwrap().size();
    assert_eq!(backing.total_bytes_through(None), size);
    engine
        .restore_db_from_backup(id, RESTORED, RESTORED, &restore_options(&fs))
        .unwrap();
    assert_eq!(restoring.total_bytes_through(None), 2 * size);
    db.close().unwrap();
}

#[test]
fn one_at_a_time_writes_to_a_directory() {
    let fs = MemFs::new();
    let db = open(&fs);
    let mut first = engine(&fs);
    let second = BackupEngine::open(backup_options(&fs));
    assert_eq!(second.unwrap_err().kind(), ErrorKind::LockHeld);
    let mut looking = BackupEngine::open_read_only(backup_options(&fs)).unwrap();
    let error = looking.create_new_backup(&db, &CreateBackupOptions::default());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotSupported);
    assert!(looking.delete_backup(1).is_err());
    first
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    let too_much = CreateBackupOptions {
        app_metadata: vec![0; esker_backup::MAX_APP_METADATA + 1],
        ..CreateBackupOptions::default()
    };
    let error = first.create_new_backup(&db, &too_much).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(first.backups().len(), 1);
    db.close().unwrap();
}

#[test]
fn files_that_are_deleted_meanwhile_stay_until_they_are_copied() {
    let fs = MemFs::new();
    let db = open(&fs);
    fill(&db, 0);
    db.flush().unwrap();
    let expected = rows(&db);
    // The database is compacted in the middle of the backup: its tables are obsolete before they are copied.
    let compacted = std::sync::atomic::AtomicBool::new(false);
    let inside = db.clone();
    let progress = esker::Progress::with_hook(move |_| {
        if !compacted.swap(true, std::sync::atomic::Ordering::SeqCst) {
            let holders = inside.pins().file_deletions.into_iter();
            assert_eq!(holders.map(|hold| hold.holder).collect::<Vec<_>>(), ["backup 1"]);
            fill(&inside, 1);
            for family in inside.column_families() {
                inside.compact_range_cf(&family, None, None).unwrap();
            }
        }
    });
    let mut engine = engine(&fs);
    let options = CreateBackupOptions {
        progress: Some(Arc::new(progress)),
        ..CreateBackupOptions::default()
    };
    let id = engine.create_new_backup(&db, &options).unwrap();
    drop(options);
    assert_eq!(rows_of(&engine, &fs, id), expected);
    // The backup releases its hold on file deletions: obsolete files are deleted afterwards.
    assert!(db.pins().file_deletions.is_empty());
    db.close().unwrap();
}

#[test]
fn wals_of_another_directory_are_put_back_there_and_no_newer_ones_stay() {
    let fs = MemFs::new();
    let wals = "/elsewhere/wals";
    fs.create_dir_all(Path::new(DB)).unwrap();
    let options = esker::Options {
        wal_dir: wals.to_owned(),
        ..options(Arc::new(fs.clone()))
    };
    let db = Db::open(&options, DB).unwrap();
    db.put(b"a", b"1").unwrap();
    let mut engine = engine(&fs);
    engine
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    let expected = rows(&db);
    db.put(b"a", b"2").unwrap();
    db.close().unwrap();
    fs.write_file(&Path::new(wals).join("notes"), b"mine").unwrap();
    engine
        .restore_db_from_backup(1, DB, wals, &restore_options(&fs))
        .unwrap();
    assert!(
        fs.list(Path::new(DB))
            .unwrap()
            .iter()
            .all(|name| !name.ends_with(".log"))
    );
    assert!(fs.exists(&Path::new(wals).join("notes")).unwrap());
    let db = Db::open(&options, DB).unwrap();
    assert_eq!(rows(&db), expected);
    db.close().unwrap();
}

#[test]
fn a_backup_is_not_restored_over_the_wals_of_another_database() {
    let fs = MemFs::new();
    let with = |wals: &str| esker::Options {
        wal_dir: wals.to_owned(),
        ..options(Arc::new(fs.clone()))
    };
    let put = |wals: &str, dir: &str, key: &[u8]| {
        let db = Db::open(&with(wals), dir).unwrap();
        db.put(key, b"value").unwrap();
        db
    };
    let db = put("/wals", DB, b"a");
    let mut engine = engine(&fs);
    engine
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    let backed_up = rows(&db);
    db.put(b"b", b"value").unwrap();
    let all = rows(&db);
    let restore = |dir: &str, wals: &str| engine.restore_db_from_backup(1, dir, wals, &restore_options(&fs));
    // A restoration to another directory may not use the WAL directory of the database while the database is
    // open or exists, and never that of another database.
    let held = restore("/new", "/wals").unwrap_err();
    assert_eq!(held.kind(), ErrorKind::LockHeld, "{held}");
    db.close().unwrap();
    let other = put("/others", "/other", b"x");
    other.close().unwrap();
    for (dir, wals, owner) in [
        ("/new", "/wals", DB),
        ("/new", "/others", "/other"),
        (DB, "/others", "/other"),
    ] {
        let refused = restore(dir, wals).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
        assert!(refused.to_string().contains(owner), "{refused}");
    }
    let opened = |wals: &str, dir: &str| {
        let db = Db::open(&with(wals), dir).unwrap();
        let rows = rows(&db);
        db.close().unwrap();
        rows
    };
    assert_eq!(opened("/wals", DB), all);
    assert_eq!(opened("/others", "/other").len(), 1);
    // The backup is restored over its own database, to an empty directory, and over another database with a
    // different id.
    restore(DB, "/wals").unwrap();
    assert_eq!(opened("/wals", DB), backed_up);
    restore("/new", "/new_wals").unwrap();
    restore("/other", "/others").unwrap();
    // The restored WAL directory belongs to the restored database even before that is opened.
    for wals in ["/new_wals", "/others"] {
        let error = Db::open(&with(wals), "/third").err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    assert_eq!(opened("/new_wals", "/new"), backed_up);
    assert_eq!(opened("/others", "/other"), backed_up);
    // The destination has the files and WALs of another database.
    fs.remove(&base::filename::current(Path::new("/new"))).unwrap();
    let fourth = put("", "/fourth", b"y");
    fourth.flush().unwrap();
    fourth.close().unwrap();
    let error = Db::open(&with("/new_wals"), "/fourth").err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("which was in /new"), "{error}");
}

#[test]
fn a_backup_has_what_is_prepared() {
    let fs = MemFs::new();
    let two_phases = Options {
        allow_2pc: true,
        ..options(Arc::new(fs.clone()))
    };
    let db = Db::open(&two_phases, DB).unwrap();
    let write = WriteOptions::default();
    let mut row = WriteBatch::new();
    row.put(b"prepared", b"1");
    db.prepare(b"section", &row, &write).unwrap();
    db.put(b"written", b"1").unwrap();
    // The rows beside it are in tables, so that the section alone needs its WAL.
    db.flush().unwrap();
    let mut engine = engine(&fs);
    let id = engine
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    db.close().unwrap();
    engine
        .restore_db_from_backup(id, RESTORED, RESTORED, &restore_options(&fs))
        .unwrap();
    let restored = Db::open(&two_phases, RESTORED).unwrap();
    assert_eq!(restored.get(b"prepared").unwrap(), None);
    restored
        .commit_prepared(b"section", &WriteBatch::new(), &row, &write)
        .unwrap();
    for key in [&b"prepared"[..], b"written"] {
        assert_eq!(restored.get(key).unwrap().as_deref(), Some(&b"1"[..]));
    }
}
