//! Backups: each holds the database as of a moment, shares its tables with the others, and is restored to
//! any directory.
//!
//! `cargo run --example backup -p esker-backup -- DIR`

use esker::{Db, Options};
use esker_backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreOptions};

fn main() -> esker::Result<()> {
    let dir = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "backed_up.db".to_owned());
    let (backups, restored) = (format!("{dir}.backups"), format!("{dir}.restored"));
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(&options, &dir)?;
    let mut engine = BackupEngine::open(BackupEngineOptions::new(&backups))?;

    // Writers continue during a backup. Tables that an earlier backup has are not copied again.
    db.put(b"key", b"first")?;
    let first = engine.create_new_backup(&db, &CreateBackupOptions::default())?;
    db.put(b"key", b"second")?;
    let second = engine.create_new_backup(&db, &CreateBackupOptions::default())?;
    println!("backups {first} and {second} of {}", db.path().display());

    // Verifies every byte against its checksum, so that damage is found before the backup is needed.
    engine.verify_backup(first, true, None)?;
    engine.restore_db_from_backup(first, &restored, &restored, &RestoreOptions::default())?;
    let as_of_first = Db::open(&options, &restored)?;
    assert_eq!(as_of_first.get(b"key")?.as_deref(), Some(&b"first"[..]));
    as_of_first.close()?;

    // The two newest backups stay.
    engine.purge_old_backups(2)?;
    db.close()
}
