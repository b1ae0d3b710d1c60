//! Backups without shared files that are elsewhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use esker::{Db, ErrorKind};
use esker_backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreMode, RestoreOptions};
use vfs::MemFs;

use crate::fixtures::*;

const OTHER: &str = "/place/other";

/// A backup engine in `dir` that writes schema 2.
fn engine_in(fs: &MemFs, dir: &str) -> BackupEngine {
    BackupEngine::open(BackupEngineOptions {
        backup_dir: dir.into(),
        schema_version: 2,
        ..backup_options(fs)
    })
    .unwrap()
}

/// The names of the tables that the newest backup of `engine` has.
fn tables(engine: &BackupEngine) -> BTreeSet<String> {
    let newest = engine.backups().pop().unwrap();
    let names = newest.files.into_iter().map(|file| file.relative_filename);
    names.filter(|name| name.ends_with(".sst")).collect()
}

fn excluding(exclude: impl Fn(&str) -> bool + Send + Sync + 'static) -> CreateBackupOptions {
    CreateBackupOptions {
        flush_before_backup: true,
        exclude_files_callback: Some(Arc::new(exclude)),
        ..CreateBackupOptions::default()
    }
}

/// A database of which one directory has a backup, and another one a backup without the first one's tables.
fn divided(fs: &MemFs) -> (Db, BackupEngine, BackupEngine) {
    let db = open(fs);
    fill(&db, 0);
    let mut whole = engine_in(fs, OTHER);
    whole.create_new_backup(&db, &excluding(|_| false)).unwrap();
    let there = tables(&whole);
    assert!(!there.is_empty());
    fill(&db, 1);
    let mut part = engine_in(fs, BACKUPS);
    let known = there.clone();
    part.create_new_backup(&db, &excluding(move |name| known.contains(name)))
        .unwrap();
    let info = part.backup(1).unwrap();
    assert_eq!(BTreeSet::from_iter(info.excluded_files), there);
    assert!(!tables(&part).is_empty() && tables(&part).is_disjoint(&there));
    part.verify_backup(1, true, None).unwrap();
    (db, whole, part)
}

#[test]
fn excluded_files_come_from_other_directories() {
    let fs = MemFs::new();
    let (db, whole, part) = divided(&fs);
    let expected = rows(&db);
    db.close().unwrap();
    // The meta file is read again.
    drop((whole, part));
    let part = engine_in(&fs, BACKUPS);
    let with = |dirs: &[&str]| RestoreOptions {
        alternate_dirs: dirs.iter().map(Into::into).collect(),
        ..restore_options(&fs)
    };
    for dirs in [&[][..], &[BACKUPS]] {
        let refused = part
            .restore_db_from_backup(1, RESTORED, RESTORED, &with(dirs))
            .unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
        assert!(
            refused
                .to_string()
                .contains("not found in any of the backup directories"),
            "{refused}"
        );
    }
    let missing = part.restore_db_from_backup(1, RESTORED, RESTORED, &with(&["/place/nowhere"]));
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
    part.restore_db_from_backup(1, RESTORED, RESTORED, &with(&[BACKUPS, OTHER]))
        .unwrap();
    let restored = Db::open(&options(Arc::new(fs.clone())), RESTORED).unwrap();
    assert_eq!(rows(&restored), expected);
    restored.close().unwrap();
}

#[test]
fn excluded_tables_may_exist_at_the_destination() {
    let fs = MemFs::new();
    let (db, _whole, part) = divided(&fs);
    let expected = rows(&db);
    db.close().unwrap();
    let keeping = RestoreOptions {
        mode: RestoreMode::KeepLatestDbSessionIdFiles,
        ..restore_options(&fs)
    };
    let elsewhere = part
        .restore_db_from_backup(1, RESTORED, RESTORED, &keeping)
        .unwrap_err();
    assert_eq!(elsewhere.kind(), ErrorKind::InvalidArgument);
    part.restore_db_from_backup(1, DB, DB, &keeping).unwrap();
    assert_eq!(rows(&open(&fs)), expected);
}

#[test]
fn a_callback_that_panics_or_has_no_schema_leaves_no_backup() {
    let fs = MemFs::new();
    let db = open(&fs);
    fill(&db, 0);
    let mut old = engine(&fs);
    let error = old.create_new_backup(&db, &excluding(|_| true)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    drop(old);
    let mut engine = engine_in(&fs, BACKUPS);
    let error = engine
        .create_new_backup(&db, &excluding(|_| panic!("a callback")))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    assert!(error.to_string().contains("a callback"), "{error}");
    assert!(engine.backups().is_empty());
    engine.create_new_backup(&db, &excluding(|_| false)).unwrap();
}
