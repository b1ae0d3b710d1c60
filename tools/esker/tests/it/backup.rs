//! `esker backup` and `esker restore`: backups of every kind of database, and their output.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use esker::{Db, Options};
use tempfile::TempDir;

use crate::common::*;

/// Runs `esker backup --backup_dir DIR ARGS...`.
fn backups(dir: &Path, args: &[&str]) -> Ran {
    let mut command = command();
    command.arg("backup").arg("--backup_dir").arg(dir).args(args);
    run(command)
}

/// Makes a backup of `db`.
fn back_up(db: &Path, dir: &Path, args: &[&str]) -> Ran {
    let db = format!("--db={}", db.display());
    backups(dir, &[&[&*db], args].concat())
}

/// Runs `esker restore --backup_dir DIR --db DB ARGS...`.
fn restore(dir: &Path, db: &Path, args: &[&str]) -> Ran {
    let mut command = command();
    command.arg("restore").arg("--backup_dir").arg(dir);
    command.arg("--db").arg(db).args(args);
    run(command)
}

#[test]
fn every_database_comes_back() {
    for name in fixtures() {
        let db = copy(&name);
        let place = TempDir::new().unwrap();
        let (dir, to) = (place.path().join("backups"), place.path().join("new"));
        back_up(db.path(), &dir, &[]).good();
        backups(&dir, &["--verify"]).good();
        restore(&dir, &to, &[]).good();
        esker("verify", &to, &[]).good();
        assert_same(&name, &scan(&name, &to).good(), &expected(&name));
    }
}

#[test]
fn backups_are_listed_verified_and_deleted() {
    let db = copy("cfs_fv7_lz4");
    let place = TempDir::new().unwrap();
    let dir = place.path().join("backups");
    let error = backups(&dir, &["--list"]).bad();
    assert!(error.contains("not a backup directory"), "{error}");
    assert!(!dir.exists());

    let said = back_up(db.path(), &dir, &["--metadata=before", "--num_threads=3"]).good();
    assert!(said.starts_with("backup 1 in"), "{said}");
    esker("put", db.path(), &["new", "row"]).good();
    back_up(db.path(), &dir, &["--flush_before_backup"]).good();
    back_up(db.path(), &dir, &[]).good();
    let listed = backups(&dir, &["--list"]).good();
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(listed.lines().next().unwrap().ends_with("before"), "{listed}");
    assert_eq!(backups(&dir, &["--verify"]).good(), "ok   1\nok   2\nok   3\n");
    assert_eq!(backups(&dir, &["--verify", "--backup_id=2"]).good(), "ok   2\n");

    let to = place.path().join("new");
    restore(&dir, &to, &["--backup_id=1"]).good();
    assert_same("1", &scan("cfs_fv7_lz4", &to).good(), &expected("cfs_fv7_lz4"));
    // A restoration does not overwrite a database without `--overwrite`.
    let error = restore(&dir, &to, &[]).bad();
    assert!(error.contains("--overwrite"), "{error}");
    assert!(esker("get", &to, &["new"]).status == 1);
    restore(&dir, &to, &["--overwrite", "--num_threads=2"]).good();
    assert_eq!(esker("get", &to, &["new"]).good(), "row\n");

    backups(&dir, &["--delete=2"]).good();
    let error = backups(&dir, &["--delete=2"]).bad();
    assert!(error.contains("Backup not found: 2"), "{error}");
    let error = restore(&dir, &to, &["--overwrite", "--backup_id=2"]).bad();
    assert!(error.contains("Backup not found: 2"), "{error}");

    // Corruption is reported, and no database is replaced from an incomplete backup.
    let meta = fs::read_to_string(dir.join("meta/3")).unwrap();
    let table = meta.lines().find(|line| line.contains(".sst")).unwrap();
    let table = dir.join(table.split(' ').next().unwrap());
    let whole = fs::read(&table).unwrap();
    let mut bytes = whole.clone();
    bytes[20] ^= 1;
    fs::write(&table, bytes).unwrap();
    let error = backups(&dir, &["--verify", "--backup_id=3"]).bad();
    assert!(
        error.contains("Checksum mismatch") && error.contains(table.to_str().unwrap()),
        "{error}"
    );
    fs::remove_file(&table).unwrap();
    let ran = backups(&dir, &["--list"]);
    assert!(ran.stdout.contains("BAD"), "{}", ran.stdout);
    ran.bad();
    fs::write(&table, whole).unwrap();
    backups(&dir, &["--purge=1"]).good();
    assert_eq!(backups(&dir, &["--list"]).good().lines().count(), 1);
    assert_eq!(backups(&dir, &["--verify"]).good(), "ok   3\n");
}

#[test]
fn command_lines_that_make_no_sense() {
    let place = TempDir::new().unwrap();
    for args in [
        &[][..],
        &["--list", "--db=x"],
        &["--list", "--verify"],
        &["--delete=1", "--purge=1"],
        &["--backup_id=1"],
        &["--list", "--flush_before_backup"],
    ] {
        let ran = backups(place.path(), args);
        assert_eq!(ran.status, 2, "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_database_in_use_is_left_alone() {
    let db = copy("fv5_zstd");
    let place = TempDir::new().unwrap();
    let dir = place.path().join("backups");
    let opened = Db::open(&Options::default(), db.path()).unwrap();
    let owner = format!("process {}", std::process::id());
    let error = back_up(db.path(), &dir, &[]).bad();
    assert!(error.contains(&owner), "{error}");
    assert!(!dir.exists());
    opened.close().unwrap();
    drop(opened);
    back_up(db.path(), &dir, &[]).good();
    let opened = Db::open(&Options::default(), db.path()).unwrap();
    let error = restore(&dir, db.path(), &["--overwrite"]).bad();
    assert!(error.contains(&owner), "{error}");
    opened.put(b"still", b"there").unwrap();
    opened.close().unwrap();
}

#[test]
fn wals_of_another_directory() {
    let place = TempDir::new().unwrap();
    let name = |name: &str| place.path().join(name);
    let wal_dir = name("wals").display().to_string();
    let options = Options {
        create_if_missing: true,
        wal_dir: wal_dir.clone(),
        ..Options::default()
    };
    let db = Db::open(&options, name("db")).unwrap();
    db.put(b"key", b"in a WAL").unwrap();
    db.close().unwrap();
    drop(db);
    let wals = format!("--wal_dir={wal_dir}");
    back_up(&name("db"), &name("backups"), &[&wals]).good();
    let to = format!("--wal_dir={}", name("new_wals").display());
    restore(&name("backups"), &name("new"), &[&to]).good();
    assert_eq!(esker("get", &name("new"), &[&to, "key"]).good(), "in a WAL\n");
}

/// Writes a megabyte, in tables.
fn megabyte(dir: &Path) {
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(&options, dir).unwrap();
    let mut rng = testkit::rng();
    for round in 0..4 {
        for at in 0..64 {
            let value: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(4096).collect();
            db.put(format!("{round}-{at}").as_bytes(), &value).unwrap();
        }
        db.flush().unwrap();
    }
    db.close().unwrap();
}

#[test]
fn an_interrupt_stops_it_and_the_same_command_goes_on() {
    let place = TempDir::new().unwrap();
    let (db, dir) = (place.path().join("db"), place.path().join("backups"));
    megabyte(&db);
    let mut slow = command();
    slow.arg("backup")
        .arg("--progress")
        .arg("--backup_rate_limit=50000");
    slow.arg("--db").arg(&db).arg("--backup_dir").arg(&dir);
    let mut child = slow
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The whole backup would take twenty seconds; the first line of progress comes after one second.
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    stderr.read_line(&mut first).unwrap();
    assert!(first.starts_with("backup: ") && first.contains(" of "), "{first}");
    let killed = Command::new("kill")
        .arg("-INT")
        .arg(child.id().to_string())
        .status();
    assert!(killed.unwrap().success());
    let status = child.wait().unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(status.code(), Some(130), "{first}{rest}");
    let last = rest.lines().last().unwrap();
    assert!(
        last.starts_with("esker: Operation aborted: stopped; the same command"),
        "{rest}"
    );
    assert!(fs::read_dir(dir.join("meta")).unwrap().next().is_none());
    assert!(fs::read_dir(dir.join("private")).unwrap().next().is_none());

    back_up(&db, &dir, &[]).good();
    assert_eq!(backups(&dir, &["--verify"]).good(), "ok   1\n");
    let to = place.path().join("new");
    restore(&dir, &to, &[]).good();
    let all = &["--hex", "--all_column_families"];
    assert_same(
        "rows",
        &esker("scan", &to, all).good(),
        &esker("scan", &db, all).good(),
    );
}
