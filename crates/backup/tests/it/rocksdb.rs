//! One backup directory, used by RocksDB (`ldb`, 7.8) and Esker alternately: each restores the other's
//! backups.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use esker::{ColumnFamilyOptions, Db, Options};
use esker_backup::{
    BackupEngine, BackupEngineOptions, BackupId, CreateBackupOptions, RestoreMode, RestoreOptions,
};
use tempfile::TempDir;
use testkit::oracle;

use crate::fixtures::{fill, rows};

struct BackupDirs {
    dir: TempDir,
}

impl BackupDirs {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs `ldb --db=DIR ARGS`; returns its output.
    fn ldb(&self, db: &Path, args: &[&str]) -> String {
        let mut ldb = oracle::ldb().expect("looked for before");
        let output = ldb
            .arg(format!("--db={}", db.display()))
            .args(args)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && !text.contains("Failed"),
            "{ldb:?}: {text}{error}"
        );
        text
    }

    fn backup_dir(&self) -> String {
        format!("--backup_dir={}", self.path("backups").display())
    }

    /// The rows that `ldb` reads in both families.
    fn ldb_rows(&self, db: &Path) -> String {
        let default = self.ldb(db, &["scan", "--hex"]);
        let two = self.ldb(db, &["--column_family=two", "scan", "--hex"]);
        format!("{default}-\n{two}")
    }

    fn engine(&self) -> BackupEngine {
        BackupEngine::open(BackupEngineOptions::new(self.path("backups"))).unwrap()
    }

    fn restore(&self, id: BackupId) -> PathBuf {
        let to = self.path(&format!("restored{id}"));
        let options = RestoreOptions {
            mode: RestoreMode::VerifyChecksum,
            ..RestoreOptions::default()
        };
        let engine = self.engine();
        engine.verify_backup(id, true, None).unwrap();
        engine.restore_db_from_backup(id, &to, &to, &options).unwrap();
        to
    }

    /// The files of a subdirectory of the backup directory with their bytes.
    fn files(&self, part: &str) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.path("backups").join(part)).unwrap();
        let file = |entry: fs::DirEntry| {
            (
                entry.file_name().into_string().unwrap(),
                fs::read(entry.path()).unwrap(),
            )
        };
        entries.map(|entry| file(entry.unwrap())).collect()
    }
}

fn write_to(db: &Path) -> Options {
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.disable_auto_compactions = true;
    if !db.exists() {
        let db = Db::open(&options, db).unwrap();
        db.create_column_family("two", &ColumnFamilyOptions::default())
            .unwrap();
        db.close().unwrap();
    }
    options
}

#[test]
fn by_turns_in_one_directory() {
    if oracle::ldb().is_none() {
        return;
    }
    let place = BackupDirs {
        dir: TempDir::new().unwrap(),
    };
    let path = place.path("db");
    let options = write_to(&path);
    let mut expected: Vec<String> = Vec::new();
    let mut shared = BTreeMap::new();
    for round in 0..3 {
        // Esker creates a backup with tables, and with rows in a WAL.
        let db = Db::open(&options, &path).unwrap();
        fill(&db, 2 * round);
        db.flush_cf(&db.column_families()).unwrap();
        fill(&db, 2 * round + 1);
        let id = place
            .engine()
            .create_new_backup(&db, &CreateBackupOptions::default())
            .unwrap();
        assert_eq!(id as usize, expected.len() + 1);
        let ours = rows(&db);
        db.close().unwrap();
        drop(db);
        expected.push(place.ldb_rows(&path));
        let opened = place.engine().open_backup(id, &Options::default()).unwrap();
        assert_eq!(rows(&opened), ours);
        drop(opened);

        // RocksDB's backup.
        place.ldb(&path, &["put", &format!("by ldb {round}"), "in its WAL"]);
        let said = place.ldb(&path, &["backup", &place.backup_dir()]);
        assert!(said.contains("create new backup OK"), "{said}");
        expected.push(place.ldb_rows(&path));

        // The earlier files are unchanged.
        let now = place.files("shared_checksum");
        for (name, bytes) in &shared {
            assert!(now.get(name) == Some(bytes), "{name}");
        }
        shared = now;
    }
    assert!(expected.iter().all(|rows| rows.lines().count() > 40));
    // RocksDB restores the newest backup, which RocksDB and Esker created alternately.
    for id in (1..=expected.len()).rev() {
        let engine = place.engine();
        assert!(
            engine.corrupted_backups().is_empty(),
            "{:?}",
            engine.corrupted_backups()
        );
        assert_eq!(engine.backups().len(), id);
        drop(engine);
        let by_us = place.restore(id as BackupId);
        assert_eq!(
            place.ldb_rows(&by_us),
            expected[id - 1],
            "backup {id}, restored by us"
        );
        let db = Db::open_read_only(&Options::default(), place.restore(id as BackupId)).unwrap();
        let by_ldb = place.path(&format!("ldb{id}"));
        fs::create_dir(&by_ldb).unwrap();
        let said = place.ldb(&by_ldb, &["restore", &place.backup_dir()]);
        assert!(said.contains("restore from backup OK"), "{said}");
        assert_eq!(
            place.ldb_rows(&by_ldb),
            expected[id - 1],
            "backup {id}, restored by ldb"
        );
        let theirs = Db::open(&options, &by_ldb).unwrap();
        assert_eq!(rows(&theirs), rows(&db));
        theirs.close().unwrap();
        place.engine().delete_backup(id as BackupId).unwrap();
    }
    assert!(place.files("shared_checksum").is_empty() && place.files("meta").is_empty());
}

#[test]
fn one_table_has_one_name() {
    if oracle::ldb().is_none() {
        return;
    }
    let place = BackupDirs {
        dir: TempDir::new().unwrap(),
    };
    let path = place.path("db");
    place.ldb(
        &path,
        &[
            "--create_if_missing",
            "--enable_blob_files",
            "--min_blob_size=10",
            "put",
            "key",
            "a value that is long enough",
        ],
    );
    place.ldb(&path, &["--enable_blob_files", "--min_blob_size=10", "compact"]);
    place.ldb(&path, &["backup", &place.backup_dir()]);
    let shared = place.files("shared_checksum");
    assert!(
        shared.keys().any(|name| name.ends_with(".blob")),
        "{:?}",
        shared.keys()
    );
    assert!(
        shared.keys().any(|name| name.ends_with(".sst")),
        "{:?}",
        shared.keys()
    );

    let db = Db::open(&Options::default(), &path).unwrap();
    let id = place
        .engine()
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    db.close().unwrap();
    assert_eq!(id, 2);
    assert!(
        place.files("shared_checksum") == shared,
        "nothing is copied again"
    );
    let restored = place.restore(2);
    let db = Db::open_read_only(&Options::default(), &restored).unwrap();
    assert_eq!(
        db.get(b"key").unwrap().as_deref(),
        Some(&b"a value that is long enough"[..])
    );
    let by_ldb = place.path("by_ldb");
    fs::create_dir(&by_ldb).unwrap();
    place.ldb(&by_ldb, &["restore", &place.backup_dir()]);
    assert_eq!(
        place.ldb(&by_ldb, &["get", "key"]).trim(),
        "a value that is long enough"
    );
}

#[test]
fn the_second_schema_is_read_too() {
    if oracle::ldb().is_none() {
        return;
    }
    let place = BackupDirs {
        dir: TempDir::new().unwrap(),
    };
    let path = place.path("db");
    let db = Db::open(&write_to(&path), &path).unwrap();
    fill(&db, 0);
    let mut engine = BackupEngine::open(BackupEngineOptions {
        schema_version: 2,
        ..BackupEngineOptions::new(place.path("backups"))
    })
    .unwrap();
    let options = CreateBackupOptions {
        app_metadata: b"with words".to_vec(),
        ..CreateBackupOptions::default()
    };
    engine.create_new_backup(&db, &options).unwrap();
    db.close().unwrap();
    drop((db, engine));
    let by_ldb = place.path("by_ldb");
    fs::create_dir(&by_ldb).unwrap();
    place.ldb(&by_ldb, &["restore", &place.backup_dir()]);
    assert_eq!(place.ldb_rows(&by_ldb), place.ldb_rows(&path));
}
