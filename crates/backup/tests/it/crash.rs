//! Power is lost at every file operation of creating, deleting and restoring backups.

use std::path::Path;
use std::sync::{Arc, Mutex};

use base::ErrorKind;
use base::env::Rng;
use esker::Db;
use esker_backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreOptions};
use vfs::{Action, FaultFs, FileSystem, MemFs, Op, Rule, UnsyncedPolicy};

use crate::fixtures::*;

/// Runs `work` over `mem`, and `check` on the state after each possible loss of power, and after the end,
/// for which the flag is true.
fn at_every_operation(
    mem: &MemFs,
    work: impl FnOnce(FaultFs),
    check: impl Fn(&MemFs, bool) + Send + Sync + 'static,
) -> u64 {
    let seed = testkit::rng().seed();
    let fs = FaultFs::new(Arc::new(mem.clone()));
    let images: Arc<Mutex<Vec<(String, MemFs)>>> = Arc::default();
    let hook = {
        let (mem, images) = (mem.clone(), images.clone());
        move |op: Op, path: &Path| {
            if !op.is_change() {
                return;
            }
            let mut images = images.lock().unwrap();
            let at = images.len() as u64;
            let mut rng = Rng::with_seed(seed ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let policy = match rng.u8(..4) {
                0 => UnsyncedPolicy::Lose,
                1 => UnsyncedPolicy::Keep,
                _ => UnsyncedPolicy::Random,
            };
            let image = mem.crash_clone(&mut rng, policy);
            images.push((format!("before {op} of {}, {policy:?}", path.display()), image));
        }
    };
    fs.add(Rule::new(Action::Call(Arc::new(hook))));
    work(fs.clone());
    fs.clear_rules();
    let mut images = std::mem::take(&mut *images.lock().unwrap());
    let count = images.len() as u64;
    let end = mem.crash_clone(&mut Rng::with_seed(seed), UnsyncedPolicy::Lose);
    images.push(("at its end".to_owned(), end));
    for (at, (what, image)) in images.into_iter().enumerate() {
        let checked =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&image, at as u64 == count)));
        if let Err(panic) = checked {
            eprintln!("operation {at}, {what}; ESKER_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
    count
}

fn over(fs: impl FileSystem + 'static) -> BackupEngineOptions {
    BackupEngineOptions {
        fs: Arc::new(fs),
        ..BackupEngineOptions::new(BACKUPS)
    }
}

/// Returns a file system with a database, another one with its backup, and the database, which has newer
/// rows.
fn one_backup() -> (MemFs, MemFs, Db) {
    let (place, backups) = (MemFs::new(), MemFs::new());
    let db = open(&place);
    fill(&db, 0);
    db.flush().unwrap();
    let mut engine = engine(&backups);
    engine
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    fill(&db, 1);
    db.flush().unwrap();
    fill(&db, 2);
    (place, backups, db)
}

/// For each change of a file in turn, that change and all later ones fail, with or without taking effect, and
/// then power is lost or not.
#[test]
fn a_backup_is_whole_or_absent_whatever_fails() {
    let (_place, backups, db) = one_backup();
    let first = rows_of(&engine(&backups), &backups, 1);
    let second = rows(&db);
    let check = |left: &MemFs, done: bool, what: &str| {
        let engine = BackupEngine::open(over(left.clone())).unwrap();
        let corrupt = engine.corrupted_backups();
        assert!(corrupt.is_empty(), "{what}: {corrupt:?}");
        assert_eq!(rows_of(&engine, left, 1), first, "{what}");
        let there = engine.backups().len();
        assert!(there == 2 || !done, "{what}");
        if there == 2 {
            assert_eq!(rows_of(&engine, left, 2), second, "{what}");
        }
    };
    // The backup flushes: otherwise each attempt would begin a WAL, and the next attempt would have more to
    // copy.
    let flushed = CreateBackupOptions {
        flush_before_backup: true,
        ..CreateBackupOptions::default()
    };
    for action in [Action::Fail(ErrorKind::Io), Action::FailAfter(ErrorKind::Io)] {
        for step in 0.. {
            let mem = backups.process_death_clone();
            let fs = FaultFs::new(Arc::new(mem.clone()));
            let mut engine = BackupEngine::open(over(fs.clone())).unwrap();
            let rule = fs.add(Rule::new(action.clone()).on(CHANGES).skip(step));
            let made = engine.create_new_backup(&db, &flushed);
            drop(engine);
            if fs.fired(rule) == 0 {
                made.unwrap();
                assert!(step > 20);
                break;
            }
            let what = format!("{action:?} from {step} on, {made:?}");
            check(&mem, made.is_ok(), &what);
            let mut rng = Rng::with_seed(testkit::rng().seed() ^ step);
            for policy in [UnsyncedPolicy::Lose, UnsyncedPolicy::Random] {
                check(&mem.crash_clone(&mut rng, policy), made.is_ok(), &what);
            }
        }
    }
    db.close().unwrap();
}

#[test]
fn a_backup_is_whole_or_absent_whenever_power_is_lost() {
    let (place, backups, db) = one_backup();
    let first = rows_of(&engine(&backups), &backups, 1);
    let second = rows(&db);
    assert_ne!(first, second);
    let db = Arc::new(db);
    let seen = Arc::new(Mutex::new([0u64; 2]));
    let operations = {
        let (db, again, seen) = (db.clone(), db.clone(), seen.clone());
        at_every_operation(
            &backups,
            move |fs| {
                let mut engine = BackupEngine::open(over(fs)).unwrap();
                engine
                    .create_new_backup(&db, &CreateBackupOptions::default())
                    .unwrap();
            },
            move |image, done| {
                let mut engine = BackupEngine::open(over(image.clone())).unwrap();
                let corrupt = engine.corrupted_backups();
                assert!(corrupt.is_empty(), "{corrupt:?}");
                assert_eq!(rows_of(&engine, image, 1), first);
                let there = engine.backups().len();
                assert!((1..=2).contains(&there) && (there == 2 || !done));
                seen.lock().unwrap()[there - 1] += 1;
                if there == 2 {
                    assert_eq!(rows_of(&engine, image, 2), second);
                }
                // The next backup removes the leftovers of the failed one.
                let id = engine
                    .create_new_backup(&again, &CreateBackupOptions::default())
                    .unwrap();
                assert_eq!(rows_of(&engine, image, id), second);
                engine.purge_old_backups(0).unwrap();
                for part in ["meta", "private", "shared_checksum"] {
                    assert!(listing(image, part).is_empty(), "{:?}", listing(image, part));
                }
            },
        )
    };
    let [absent, whole] = *seen.lock().unwrap();
    assert!(operations > 30 && absent > 10 && whole > 0, "{absent} {whole}");
    assert_eq!(
        rows_of(
            &BackupEngine::open_read_only(over(backups.clone())).unwrap(),
            &backups,
            2
        ),
        rows(&db)
    );
    db.close().unwrap();
    drop(place);
}

#[test]
fn a_deleted_backup_is_whole_or_gone_whenever_power_is_lost() {
    let (_place, backups, db) = one_backup();
    let mut making = engine(&backups);
    let first = rows_of(&making, &backups, 1);
    making
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    let second = rows(&db);
    db.close().unwrap();
    drop(making);
    let operations = at_every_operation(
        &backups,
        |fs| {
            let mut engine = BackupEngine::open(over(fs)).unwrap();
            engine.delete_backup(1).unwrap();
        },
        move |image, done| {
            let mut engine = BackupEngine::open(over(image.clone())).unwrap();
            let corrupt = engine.corrupted_backups();
            assert!(corrupt.is_empty(), "{corrupt:?}");
            assert_eq!(rows_of(&engine, image, 2), second);
            if engine.backups().len() == 2 {
                assert!(!done);
                assert_eq!(rows_of(&engine, image, 1), first);
            }
            engine.purge_old_backups(1).unwrap();
            assert_eq!(rows_of(&engine, image, 2), second);
            let named = engine.backup(2).unwrap().files;
            let shared = |name: &String| named.iter().any(|file| file.relative_filename.ends_with(name));
            assert!(listing(image, "shared_checksum").iter().all(shared));
            assert_eq!(listing(image, "private"), ["2"]);
        },
    );
    assert!(operations > 5);
}

#[test]
fn a_database_is_restored_as_a_whole_or_not_at_all_whenever_power_is_lost() {
    let (_place, backups, db) = one_backup();
    let mut making = engine(&backups);
    making
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    db.close().unwrap();
    let first = rows_of(&making, &backups, 1);
    let second = rows_of(&making, &backups, 2);
    drop(making);
    // The destination has the restored second backup, and the first backup is restored over it.
    let target = MemFs::new();
    let restore = |fs: Arc<dyn FileSystem>, id| {
        let engine = BackupEngine::open_read_only(over(backups.clone())).unwrap();
        let options = RestoreOptions {
            fs,
            ..RestoreOptions::default()
        };
        engine
            .restore_db_from_backup(id, RESTORED, RESTORED, &options)
            .unwrap();
    };
    restore(Arc::new(target.clone()), 2);
    let backups = backups.clone();
    let seen = Arc::new(Mutex::new([0u64; 3]));
    let counted = seen.clone();
    let expected = first.clone();
    let operations = at_every_operation(
        &target,
        |fs| restore(Arc::new(fs), 1),
        move |image, done| {
            let current = image.exists(&Path::new(RESTORED).join("CURRENT")).unwrap();
            let at = match current {
                false => 0,
                true => {
                    let db = Db::open_read_only(&options(Arc::new(image.clone())), RESTORED).unwrap();
                    let found = rows(&db);
                    assert!(found == first || found == second);
                    1 + usize::from(found == first)
                }
            };
            assert!(at == 2 || !done);
            counted.lock().unwrap()[at] += 1;
            let engine = BackupEngine::open_read_only(over(backups.clone())).unwrap();
            let again = restore_options(image);
            engine
                .restore_db_from_backup(1, RESTORED, RESTORED, &again)
                .unwrap();
            let db = Db::open(&options(Arc::new(image.clone())), RESTORED).unwrap();
            assert_eq!(rows(&db), first);
            db.close().unwrap();
        },
    );
    let [none, old, new] = *seen.lock().unwrap();
    assert!(
        operations > 20 && none > 10 && old > 0 && new > 0,
        "{none} {old} {new}"
    );
    let db = Db::open_read_only(&options(Arc::new(target)), RESTORED).unwrap();
    assert_eq!(rows(&db), expected);
}

const CHANGES: [Op; 9] = [
    Op::Create,
    Op::Rename,
    Op::Remove,
    Op::CreateDir,
    Op::RemoveDir,
    Op::SyncDir,
    Op::Append,
    Op::Sync,
    Op::Close,
];

/// Each change of a file in turn fails, with or without taking effect.
#[test]
fn a_backup_that_failed_is_none() {
    for action in [Action::Fail(ErrorKind::Io), Action::FailAfter(ErrorKind::Io)] {
        for step in 0.. {
            let (_place, backups, db) = one_backup();
            let first = rows_of(&engine(&backups), &backups, 1);
            let fs = FaultFs::new(Arc::new(backups.clone()));
            let mut engine = BackupEngine::open(over(fs.clone())).unwrap();
            let rule = fs.add(Rule::new(action.clone()).on(CHANGES).nth(step));
            let made = engine.create_new_backup(&db, &CreateBackupOptions::default());
            let failed = fs.fired(rule) > 0;
            fs.clear_rules();
            assert!(failed || made.is_ok(), "{made:?}");
            // The creation of a backup may succeed although a file could not be deleted.
            let expected = 1 + usize::from(made.is_ok());
            assert_eq!(engine.backups().len(), expected, "{action:?} at {step}");
            drop(engine);
            let mut image = backups.clone();
            for policy in [UnsyncedPolicy::Keep, UnsyncedPolicy::Lose] {
                let engine = BackupEngine::open(over(image.clone())).unwrap();
                let corrupt = engine.corrupted_backups();
                assert!(corrupt.is_empty(), "{action:?} at {step}: {corrupt:?}");
                assert_eq!(engine.backups().len(), expected, "{action:?} at {step}");
                assert_eq!(rows_of(&engine, &image, 1), first);
                image = backups.crash_clone(&mut Rng::with_seed(step), policy);
            }
            if !failed {
                assert!(step > 10);
                break;
            }
        }
    }
}
