//! Work that is stopped at each of its steps, and continued.

use std::path::Path;
use std::sync::Arc;

use esker::{Db, ErrorKind, Progress};
use esker_backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreMode, RestoreOptions};
use vfs::{FileSystem, LogFs, MemFs};

use crate::fixtures::*;

/// Stops at step `step`.
fn stopping_at(step: u64) -> Arc<Progress> {
    Arc::new(Progress::with_hook(move |progress| {
        if progress.steps() == step {
            progress.stop();
        }
    }))
}

fn a_database(fs: &MemFs) -> Db {
    let db = open(fs);
    for round in 0..3 {
        fill(&db, round);
        let families = db.column_families();
        db.flush_cf(&families).unwrap();
    }
    db
}

/// The number of tables that were written, from a log of the calls.
fn copied(calls: &str) -> usize {
    let is_table = |line: &&str| line.starts_with("create ") && line.contains(".sst");
    calls.lines().filter(is_table).count()
}

#[test]
fn a_backup_that_is_stopped_is_taken_up_where_it_was() {
    for step in 1.. {
        let fs = MemFs::new();
        let db = a_database(&fs);
        let log = LogFs::new(Arc::new(fs.clone()), Path::new(BACKUPS));
        let options = BackupEngineOptions {
            fs: Arc::new(log.clone()),
            ..backup_options(&fs)
        };
        let mut engine = BackupEngine::open(options.clone()).unwrap();
        let progress = stopping_at(step);
        let creating = CreateBackupOptions {
            progress: Some(progress.clone()),
            ..CreateBackupOptions::default()
        };
        log.take();
        let error = match engine.create_new_backup(&db, &creating) {
            Ok(_) => {
                assert!(step > 8, "six tables and more");
                assert_eq!(progress.done(), progress.total());
                db.close().unwrap();
                return;
            }
            Err(error) => error,
        };
        let finished = listing(&fs, "shared_checksum").len();
        assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
        assert!(engine.backups().is_empty());
        assert!(listing(&fs, "private").is_empty() && listing(&fs, "meta").is_empty());
        // The stopped backup is made again, as by another process.
        drop(engine);
        let mut engine = BackupEngine::open(options).unwrap();
        log.take();
        let id = engine
            .create_new_backup(&db, &CreateBackupOptions::default())
            .unwrap();
        assert_eq!(copied(&log.take()), 6 - finished, "at step {step}");
        assert_eq!(rows_of(&engine, &fs, id), rows(&db));
        db.close().unwrap();
    }
}

#[test]
fn what_was_left_counts_only_with_the_same_bytes() {
    let fs = MemFs::new();
    let db = a_database(&fs);
    let mut engine = engine(&fs);
    let creating = CreateBackupOptions {
        progress: Some(stopping_at(6)),
        ..CreateBackupOptions::default()
    };
    engine.create_new_backup(&db, &creating).unwrap_err();
    let left = listing(&fs, "shared_checksum");
    assert!(left.len() > 1);
    let path = Path::new(BACKUPS).join("shared_checksum").join(&left[0]);
    let mut bytes = fs.read_file(&path).unwrap();
    bytes[9] ^= 0x40;
    fs.write_file(&path, &bytes).unwrap();
    let id = engine
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    assert_eq!(rows_of(&engine, &fs, id), rows(&db));
    db.close().unwrap();
}

#[test]
fn a_restoration_that_is_stopped_is_taken_up_where_it_was() {
    let fs = MemFs::new();
    let db = a_database(&fs);
    let mut engine = engine(&fs);
    let id = engine
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    let expected = rows(&db);
    db.close().unwrap();
    for step in 1.. {
        let target = MemFs::new();
        let log = LogFs::new(Arc::new(target.clone()), Path::new(RESTORED));
        let restoring = |progress| RestoreOptions {
            mode: RestoreMode::VerifyChecksum,
            fs: Arc::new(log.clone()),
            progress,
            ..RestoreOptions::default()
        };
        let stopped =
            engine.restore_db_from_backup(id, RESTORED, RESTORED, &restoring(Some(stopping_at(step))));
        let Err(error) = stopped else {
            assert!(step > 8);
            return;
        };
        assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
        assert!(!target.exists(&Path::new(RESTORED).join("CURRENT")).unwrap());
        let is_whole = |name: &String| {
            let original = Path::new(DB).join(name);
            name.ends_with(".sst")
                && fs.read_file(&original).unwrap()
                    == target.read_file(&Path::new(RESTORED).join(name)).unwrap()
        };
        let names = target.list(Path::new(RESTORED)).unwrap();
        let whole = names.iter().filter(|name| is_whole(name)).count();
        log.take();
        engine
            .restore_db_from_backup(id, RESTORED, RESTORED, &restoring(None))
            .unwrap();
        let calls = log.take();
        assert_eq!(copied(&calls), 6 - whole, "at step {step}\n{calls}");
        let restored = Db::open(&options(Arc::new(target.clone())), RESTORED).unwrap();
        assert_eq!(rows(&restored), expected);
        restored.close().unwrap();
    }
}

#[test]
fn verifying_can_be_stopped() {
    let fs = MemFs::new();
    let db = a_database(&fs);
    let mut engine = engine(&fs);
    let id = engine
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    let error = engine.verify_backup(id, true, Some(&stopping_at(2))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    let progress = Progress::new();
    engine.verify_backup(id, true, Some(&progress)).unwrap();
    assert_eq!(progress.done(), engine.backup(id).unwrap().size());
    db.close().unwrap();
}
