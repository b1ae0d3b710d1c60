//! Backups that differ from their meta files.

use std::path::Path;
use std::sync::Arc;

use esker_backup::{BackupEngine, CreateBackupOptions};
use vfs::{FileSystem, MemFs};

use crate::fixtures::*;

/// Three backups, in memory, and their closed database.
fn three() -> MemFs {
    let fs = MemFs::new();
    let db = open(&fs);
    let mut engine = engine(&fs);
    for round in 0..3 {
        fill(&db, round);
        db.flush().unwrap();
        engine
            .create_new_backup(&db, &CreateBackupOptions::default())
            .unwrap();
    }
    db.close().unwrap();
    fs
}

fn flip(fs: &MemFs, path: &Path, at: usize) {
    let mut bytes = fs.read_file(path).unwrap();
    bytes[at] ^= 1;
    fs.write_file(path, &bytes).unwrap();
}

#[test]
fn a_flipped_bit_anywhere_is_found_and_not_restored() {
    let fs = three();
    let engine = BackupEngine::open_read_only(backup_options(&fs)).unwrap();
    let mut rng = testkit::rng();
    for file in engine.backup(3).unwrap().files {
        let path = Path::new(BACKUPS).join(&file.relative_filename);
        let at = rng.usize(..file.size as usize);
        flip(&fs, &path, at);
        engine.verify_backup(3, false, None).unwrap();
        let error = engine.verify_backup(3, true, None).unwrap_err();
        assert!(error.is_corruption(), "{error}");
        assert_eq!(error.file(), Some(&*path), "{error}");
        let error = engine
            .restore_db_from_backup(3, RESTORED, RESTORED, &restore_options(&fs))
            .unwrap_err();
        assert!(error.is_corruption(), "{error}");
        assert!(!fs.exists(&Path::new(RESTORED).join("CURRENT")).unwrap());
        flip(&fs, &path, at);
    }
    engine.verify_backup(3, true, None).unwrap();
}

#[test]
fn a_file_that_is_missing_or_cut_makes_its_backups_corrupt_and_no_others() {
    for cut in [false, true] {
        let fs = three();
        let engine = BackupEngine::open_read_only(backup_options(&fs)).unwrap();
        let own = |id: u32| engine.backup(id).unwrap().files;
        // This table belongs only to the third backup.
        let before: Vec<String> = own(2).into_iter().map(|file| file.relative_filename).collect();
        let files = own(3);
        let table = files
            .iter()
            .find(|file| {
                file.relative_filename.ends_with(".sst") && !before.contains(&file.relative_filename)
            })
            .unwrap();
        let path = Path::new(BACKUPS).join(&table.relative_filename);
        let whole = fs.read_file(&path).unwrap();
        match cut {
            true => fs.truncate(&path, table.size - 1).unwrap(),
            false => fs.remove(&path).unwrap(),
        }
        let error = engine.verify_backup(3, false, None).unwrap_err();
        assert!(error.is_corruption(), "{error}");

        // Schema 1 has no sizes: a truncated file is found when it is read, a missing file when the directory
        // is opened.
        let mut again = BackupEngine::open(backup_options(&fs)).unwrap();
        if !cut {
            assert_eq!(again.backups().len(), 2);
            let corrupt = again.corrupted_backups();
            assert_eq!(corrupt[0].0, 3);
            assert!(corrupt[0].1.is_corruption(), "{}", corrupt[0].1);
        }
        assert!(again.verify_backup(3, true, None).unwrap_err().is_corruption());
        // The other files of the corrupt backup are not garbage: the missing file may be restored.
        again.garbage_collect().unwrap();
        fs.write_file(&path, &whole).unwrap();
        drop(again);
        let mut again = BackupEngine::open(backup_options(&fs)).unwrap();
        again.verify_backup(3, true, None).unwrap();
        again.delete_backup(3).unwrap();
        assert!(!fs.exists(&path).unwrap());
        for id in [1, 2] {
            again.verify_backup(id, true, None).unwrap();
        }
    }
}

#[test]
fn a_damaged_meta_file_costs_no_shared_file() {
    let fs = three();
    let meta = Path::new(BACKUPS).join("meta/3");
    let bytes = fs.read_file(&meta).unwrap();
    fs.write_file(&meta, b"nonsense\n").unwrap();
    let mut engine = BackupEngine::open(backup_options(&fs)).unwrap();
    assert_eq!(engine.corrupted_backups().len(), 1);
    let shared = listing(&fs, "shared_checksum");
    engine.delete_backup(1).unwrap();
    engine.garbage_collect().unwrap();
    assert_eq!(listing(&fs, "private"), ["2", "3"]);
    // While the meta file of backup 3 is damaged, files that backup 1 alone had may be files of backup 3 too.
    let left = listing(&fs, "shared_checksum");
    assert!(left.len() >= shared.len() - 1, "{shared:?} {left:?}");
    drop(engine);
    fs.write_file(&meta, &bytes).unwrap();
    let mut engine = BackupEngine::open(backup_options(&fs)).unwrap();
    engine.verify_backup(3, true, None).unwrap();

    // A new backup gets a new number, and a corrupt one can be deleted.
    fs.write_file(&meta, b"").unwrap();
    drop(engine);
    engine = BackupEngine::open(backup_options(&fs)).unwrap();
    let db = open(&fs);
    let id = engine
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    assert_eq!(id, 4);
    engine.delete_backup(3).unwrap();
    assert!(engine.corrupted_backups().is_empty());
    assert_eq!(rows_of(&engine, &fs, 4), rows(&db));
    db.close().unwrap();
}

#[test]
fn a_database_file_that_is_not_as_the_manifest_says_is_not_backed_up() {
    let fs = MemFs::new();
    let db = open(&fs);
    fill(&db, 0);
    db.flush().unwrap();
    let table = db.live_files()[0].path.clone();
    let whole = fs.read_file(&table).unwrap();
    let mut engine = engine(&fs);
    fs.write_file(&table, &whole[..whole.len() - 1]).unwrap();
    let error = engine
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap_err();
    assert!(error.is_corruption() && error.file() == Some(&*table), "{error}");
    assert!(listing(&fs, "private").is_empty() && listing(&fs, "shared_checksum").is_empty());
    fs.write_file(&table, &whole).unwrap();
    engine
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    db.close().unwrap();
}

#[test]
fn a_disk_that_is_full_costs_no_other_backup() {
    let fs = MemFs::new();
    let db = open(&fs);
    let mut engine = engine(&fs);
    fill(&db, 0);
    engine
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    let expected = rows(&db);
    fill(&db, 1);
    db.flush().unwrap();
    let room = MemFs::new();
    // Only the backup directory is full.
    for name in ["meta", "private", "shared_checksum", "private/1"] {
        room.create_dir_all(&Path::new(BACKUPS).join(name)).unwrap();
        for file in listing(&fs, name) {
            let path = Path::new(BACKUPS).join(name).join(file);
            if let Ok(bytes) = fs.read_file(&path) {
                room.write_file(&path, &bytes).unwrap();
            }
        }
    }
    let used = room.used();
    for more in [0, 100, 3000] {
        room.set_budget(used + more);
        let mut options = backup_options(&room);
        options.fs = Arc::new(room.clone());
        let mut engine = BackupEngine::open(options).unwrap();
        let error = engine
            .create_new_backup(&db, &CreateBackupOptions::default())
            .unwrap_err();
        assert_eq!(error.kind(), esker::ErrorKind::NoSpace, "{error}");
        assert_eq!(room.used(), used);
        assert_eq!(rows_of(&engine, &room, 1), expected);
    }
    db.close().unwrap();
}
