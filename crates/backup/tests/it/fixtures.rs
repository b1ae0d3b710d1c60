//! Shared test support: small databases, their rows as text, and backup directories.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use esker::{Db, Options};
use esker_backup::{BackupEngine, BackupEngineOptions, RestoreOptions};
use vfs::{FileSystem, MemFs};

pub const DB: &str = "/place/db";
pub const BACKUPS: &str = "/place/backups";
pub const RESTORED: &str = "/place/restored";

/// The options of a database in `fs`.
pub fn options(fs: Arc<dyn FileSystem>) -> Options {
    let mut options = Options {
        fs,
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.disable_auto_compactions = true;
    options
}

/// A database in `fs` with two column families.
pub fn open(fs: &MemFs) -> Db {
    fs.create_dir_all(Path::new(DB)).unwrap();
    let db = Db::open(&options(Arc::new(fs.clone())), DB).unwrap();
    if db.column_family("two").is_none() {
        let of_family = db.options().column_family.clone();
        db.create_column_family("two", &of_family).unwrap();
    }
    db
}

/// Writes some rows named after `round` into both families.
pub fn fill(db: &Db, round: usize) {
    let two = db.column_family("two").unwrap();
    for at in 0..20 {
        let key = format!("key{:03}", (round * 7 + at * 3) % 100);
        db.put(key.as_bytes(), format!("{round}:{at}").repeat(20).as_bytes())
            .unwrap();
        db.put_cf(&two, key.as_bytes(), b"two").unwrap();
    }
    db.delete(format!("key{:03}", round % 100).as_bytes()).unwrap();
}

/// Every row of every family.
pub fn rows(db: &Db) -> BTreeMap<(String, Vec<u8>), Vec<u8>> {
    let mut rows = BTreeMap::new();
    for family in db.column_families() {
        let mut iter = db.iter_cf(&family);
        iter.seek_to_first();
        while iter.valid() {
            rows.insert(
                (family.name().to_owned(), iter.key().to_vec()),
                iter.value().to_vec(),
            );
            iter.next();
        }
        iter.status().unwrap();
    }
    rows
}

/// The options of the backup directory in `fs`, with sync.
pub fn backup_options(fs: &MemFs) -> BackupEngineOptions {
    BackupEngineOptions {
        fs: Arc::new(fs.clone()),
        ..BackupEngineOptions::new(BACKUPS)
    }
}

pub fn engine(fs: &MemFs) -> BackupEngine {
    BackupEngine::open(backup_options(fs)).unwrap()
}

pub fn restore_options(fs: &MemFs) -> RestoreOptions {
    RestoreOptions {
        fs: Arc::new(fs.clone()),
        ..RestoreOptions::default()
    }
}

/// Verifies each file of a backup, and returns the rows of the backup, which are read from its files.
pub fn rows_of(engine: &BackupEngine, fs: &MemFs, id: u32) -> BTreeMap<(String, Vec<u8>), Vec<u8>> {
    engine.verify_backup(id, true, None).unwrap();
    let db = engine.open_backup(id, &options(Arc::new(fs.clone()))).unwrap();
    rows(&db)
}

/// The files in a subdirectory of the backup directory.
pub fn listing(fs: &dyn FileSystem, part: &str) -> Vec<String> {
    let dir = Path::new(BACKUPS).join(part);
    match fs.exists(&dir).unwrap() {
        true => fs.list(&dir).unwrap(),
        false => Vec::new(),
    }
}
