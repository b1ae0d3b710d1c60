//! Long work is stopped at each of its steps, and the same command completes it.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use esker::{Db, Options};
use tempfile::TempDir;

use super::*;
use crate::args::{Args, Command};
use crate::output::Out;
use crate::{backup, checkpoint, repair, salvage, verify};

#[test]
fn how_far_it_is() {
    let mib = 1 << 20;
    for (done, total, seconds, expected) in [
        (0, 0, 0, "0 B of 0 B, 100%"),
        (0, 10 * mib, 3, "0 B of 10.0 MiB, 0%"),
        (
            5 * mib,
            10 * mib,
            5,
            "5.0 MiB of 10.0 MiB, 50%, 1.0 MiB/s, 5 s left",
        ),
        (
            mib,
            100 * mib,
            1,
            "1.0 MiB of 100.0 MiB, 1%, 1.0 MiB/s, 1 min 39 s left",
        ),
        (
            mib,
            100 * mib,
            60,
            "1.0 MiB of 100.0 MiB, 1%, 17.1 KiB/s, 1 h 39 min left",
        ),
        // The test processes more bytes than the expected total.
        (
            11 * mib,
            10 * mib,
            11,
            "11.0 MiB of 11.0 MiB, 100%, 1.0 MiB/s, 0 s left",
        ),
        (10 * mib, 10 * mib, 0, "10.0 MiB of 10.0 MiB, 100%"),
    ] {
        let text = describe(done, total, Duration::from_secs(seconds));
        assert_eq!(text, expected);
    }
}

/// A database of some tables, and rows in a WAL.
fn database(place: &Path) -> PathBuf {
    let dir = place.join("db");
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, &dir).unwrap();
    for round in 0..6 {
        for at in 0..50 {
            let key = format!("key{:03}", (at * 7 + round * 13) % 120);
            db.put(key.as_bytes(), format!("{round}").repeat(100).as_bytes())
                .unwrap();
        }
        if round < 5 {
            db.flush().unwrap();
        }
    }
    db.close().unwrap();
    dir
}

fn rows(dir: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let db = Db::open_read_only(&Options::default(), dir).unwrap();
    let mut rows = Vec::new();
    let mut iter = db.iter();
    iter.seek_to_first();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    rows
}

/// Runs a command line; returns its output.
fn run(line: &[&str], progress: &Arc<Progress>) -> Result<String, Failure> {
    let printed = TempDir::new().unwrap();
    let path = printed.path().join("out");
    let mut out = Out::to(fs::File::create(&path).unwrap());
    let args = Args::try_parse_from(std::iter::once(&"esker").chain(line)).unwrap();
    let result = match &args.command {
        Command::Verify(args) => verify::verify(args, &mut out, progress),
        Command::Salvage(args) => salvage::salvage(args, &mut out, progress),
        Command::Repair(args) => repair::repair(args, &mut out, progress),
        Command::Checkpoint(args) => checkpoint::checkpoint(args, &mut out, progress),
        Command::Backup(args) => backup::backup(args, &mut out, progress),
        Command::Restore(args) => backup::restore(args, &mut out, progress),
        other => panic!("{other:?} is not long work"),
    };
    out.finish().unwrap();
    result.map(|()| fs::read_to_string(&path).unwrap())
}

/// Runs a command that is stopped at its first step, at its second, and so on, each time in a place that
/// `prepare` fills, and then runs it again to its end. `check` gets the place, the output of the second run,
/// and the step at which the first one was stopped.
fn at_each_step(
    least: u64,
    prepare: impl Fn(&Path),
    line: &dyn Fn(&Path) -> Vec<String>,
    check: impl Fn(&Path, &str, u64),
) {
    for step in 1.. {
        let place = TempDir::new().unwrap();
        prepare(place.path());
        let words = line(place.path());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let stopping = Arc::new(Progress::with_hook(move |progress| {
            if progress.steps() == step {
                progress.stop();
            }
        }));
        match run(&words, &stopping) {
            Ok(_) => {
                assert!(step > least, "only {step} steps");
                assert_eq!(stopping.done(), stopping.total(), "{words:?}");
                return;
            }
            Err(Failure::Error(error)) if error.kind() == ErrorKind::Aborted => {}
            Err(error) => panic!("at step {step}: {error:?}"),
        }
        let printed = run(&words, &Arc::new(Progress::new())).unwrap();
        check(place.path(), &printed, step);
    }
}

fn path(place: &Path, name: &str) -> String {
    place.join(name).display().to_string()
}

fn line(words: &[&str], place: &Path) -> Vec<String> {
    let word = |word: &&str| match word.strip_prefix('@') {
        Some(name) => path(place, name),
        None => (*word).to_owned(),
    };
    words.iter().map(word).collect()
}

#[test]
fn backups_and_restorations() {
    let make = [
        "backup",
        "--db",
        "@db",
        "--backup_dir",
        "@backups",
        "--flush_before_backup",
    ];
    at_each_step(
        6,
        |place| drop(database(place)),
        &|place| line(&make, place),
        |place, _, _| {
            let words = line(&["restore", "--backup_dir", "@backups", "--db", "@new"], place);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            run(&words, &Arc::default()).unwrap();
            assert_eq!(rows(&place.join("new")), rows(&place.join("db")));
        },
    );
    at_each_step(
        6,
        |place| {
            database(place);
            let words = line(&make, place);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            run(&words, &Arc::default()).unwrap();
        },
        &|place| line(&["restore", "--backup_dir", "@backups", "--db", "@new"], place),
        |place, _, _| assert_eq!(rows(&place.join("new")), rows(&place.join("db"))),
    );
}

#[test]
fn checkpoints() {
    at_each_step(
        6,
        |place| drop(database(place)),
        &|place| line(&["checkpoint", "--db", "@db", "--to", "@new"], place),
        |place, _, _| {
            assert_eq!(rows(&place.join("new")), rows(&place.join("db")));
            assert!(!place.join("new.tmp").exists());
        },
    );
}

#[test]
fn verifying() {
    at_each_step(
        6,
        |place| drop(database(place)),
        &|place| line(&["verify", "--db", "@db", "--resume", "@notes"], place),
        |place, printed, step| {
            assert!(!place.join("notes").exists());
            assert!(printed.contains("all good"), "{printed}");
            // Verification reads CURRENT, IDENTITY, MANIFEST, OPTIONS and the WAL first, in every run. LOCK
            // comes last.
            let before = printed.matches("checked before").count() as u64;
            let tables = printed.lines().filter(|line| line.contains(".sst")).count() as u64;
            let others = printed.lines().count() as u64 - tables - 1;
            let done = step.saturating_sub(others).min(tables);
            assert_eq!(before, done, "at step {step}: {printed}");
        },
    );
    // A file that has changed since it was noted as good is read again.
    let place = TempDir::new().unwrap();
    let dir = database(place.path());
    let words = line(&["verify", "--db", "@db", "--resume", "@notes"], place.path());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let last = Arc::new(Progress::with_hook(|progress| {
        if progress.done() == progress.total() {
            progress.stop();
        }
    }));
    run(&words, &last).unwrap_err();
    let table = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let table = table
        .filter(|path| path.extension().is_some_and(|extension| extension == "sst"))
        .min();
    let table = table.unwrap();
    let mut bytes = fs::read(&table).unwrap();
    bytes.push(0);
    fs::write(&table, bytes).unwrap();
    let error = run(&words, &Arc::default()).unwrap_err();
    assert!(matches!(error, Failure::Error(error) if error.is_corruption()));
    // Notes of other work are not changed.
    let notes = place.path().join("notes");
    fs::write(&notes, "dear diary\n").unwrap();
    run(&words, &Arc::default()).unwrap_err();
    assert_eq!(fs::read_to_string(&notes).unwrap(), "dear diary\n");
}

#[test]
fn salvaging() {
    at_each_step(
        13,
        |place| drop(database(place)),
        &|place| line(&["salvage", "--db", "@db", "--to", "@new"], place),
        |place, _, step| {
            assert_eq!(
                rows(&place.join("new")),
                rows(&place.join("db")),
                "at step {step}"
            );
            assert!(!place.join("new/SALVAGE").exists() && !place.join("new/lost").exists());
        },
    );
    // The run that completes the work reports all corruption, wherever the earlier run was stopped.
    for step in [1, 3, 5, 7, 9, 11] {
        let place = TempDir::new().unwrap();
        let dir = database(place.path());
        let mut tables: Vec<PathBuf> = fs::read_dir(&dir)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "sst"))
            .collect();
        tables.sort();
        let mut bytes = fs::read(&tables[1]).unwrap();
        bytes[10] ^= 1;
        fs::write(&tables[1], bytes).unwrap();
        let words = line(&["salvage", "--db", "@db", "--to", "@new"], place.path());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let stopping = Arc::new(Progress::with_hook(move |progress| {
            if progress.steps() == step {
                progress.stop();
            }
        }));
        let Failure::Error(error) = run(&words, &stopping).unwrap_err() else {
            panic!("stopped");
        };
        assert_eq!(error.kind(), ErrorKind::Aborted, "at step {step}: {error}");
        let Failure::Error(error) = run(&words, &Arc::default()).unwrap_err() else {
            panic!("one table is damaged");
        };
        assert!(error.is_corruption(), "at step {step}: {error}");
        assert_eq!(error.file(), Some(&*tables[1]), "at step {step}: {error}");
        assert!(!rows(&place.path().join("new")).is_empty());
    }
}

#[test]
fn repairing() {
    let expected = {
        let place = TempDir::new().unwrap();
        rows(&database(place.path()))
    };
    at_each_step(
        6,
        |place| {
            let dir = database(place);
            fs::remove_file(dir.join("CURRENT")).unwrap();
        },
        &|place| line(&["repair", "--db", "@db"], place),
        |place, _, step| assert_eq!(rows(&place.join("db")), expected, "at step {step}"),
    );
}
