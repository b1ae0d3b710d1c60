//! Failures of commands: one clear line, exit status 1, nothing changed.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use esker::{Db, Options};
use tempfile::TempDir;

use crate::common::*;

const READING: &[&str] = &["scan", "verify", "lsm", "properties", "sst", "manifest", "wal"];

#[test]
fn a_directory_that_is_no_database() {
    let dir = TempDir::new().unwrap();
    let nothing = dir.path().join("nothing");
    let empty = dir.path().join("empty");
    let foreign = dir.path().join("foreign");
    let file = dir.path().join("file");
    fs::create_dir(&empty).unwrap();
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("letter.txt"), "dear").unwrap();
    fs::write(&file, "text").unwrap();
    for db in [&nothing, &empty, &foreign, &file] {
        for verb in READING {
            let error = esker(verb, db, &[]).bad();
            assert!(error.contains(db.to_str().unwrap()), "{verb} {error}");
        }
        for (verb, args) in [
            ("get", &["k"][..]),
            ("put", &["k", "v"]),
            ("delete", &["k"]),
            ("deleterange", &["a", "b"]),
        ] {
            let error = esker(verb, db, args).bad();
            assert!(error.contains(db.to_str().unwrap()), "{verb} {error}");
        }
    }
    assert!(!nothing.exists());
    assert_eq!(listing(&empty).len(), 0);
    assert_eq!(listing(&foreign).len(), 1);
    for verb in ["sst", "manifest", "wal"] {
        let mut look = command();
        look.arg(verb).arg(&file);
        let ran = run(look);
        assert!(
            verb == "wal" || ran.bad().contains(file.to_str().unwrap()),
            "{verb}"
        );
    }
}

#[test]
fn a_database_in_use() {
    let dir = copy("fv5_zstd");
    let db = Db::open(&Options::default(), dir.path()).unwrap();
    db.put(b"zzz", b"new").unwrap();
    for (verb, args) in [
        ("put", &["k", "v"][..]),
        ("delete", &["k"]),
        ("deleterange", &["a", "b"]),
    ] {
        let error = esker(verb, dir.path(), args).bad();
        let lock = dir.path().join("LOCK");
        assert!(
            error.contains(&format!("process {}", std::process::id())),
            "{error}"
        );
        assert!(error.contains(lock.to_str().unwrap()), "{error}");
    }
    // The read commands take no lock, and see the writes of the process that has the database open.
    let rows = esker("scan", dir.path(), &[]).good();
    assert!(rows.ends_with("zzz\tnew\n"), "{}", &rows[rows.len() - 100..]);
    esker("verify", dir.path(), &[]).good();
    esker("wal", dir.path(), &["--physical"]).good();
    db.put(b"zzzz", b"newer").unwrap();
    db.close().unwrap();
    drop(db);
    esker("put", dir.path(), &["k", "v"]).good();
}

/// A user without privileges and without files.
const NOBODY: u32 = 65534;

/// The binary, run by a user to whom permissions apply. `place` is a directory that every user may read.
fn as_nobody(place: &Path) -> Command {
    let is_root = fs::metadata(place).unwrap().uid() == 0;
    if !is_root {
        return command();
    }
    let binary = place.join("esker");
    if !binary.exists() {
        // Another process copies the binary. If this process wrote it, a child that is forked meanwhile would
        // keep the file open for writing, and such a file cannot be executed.
        let copied = Command::new("cp")
            .arg(env!("CARGO_BIN_EXE_esker"))
            .arg(&binary)
            .status();
        assert!(copied.unwrap().success());
        chmod(&binary, 0o755);
    }
    let mut command = Command::new(binary);
    command
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/")
        .stdin(Stdio::null());
    command
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_database_without_permission() {
    let place = TempDir::new().unwrap();
    chmod(place.path(), 0o755);
    let db = place.path().join("db");
    fs::create_dir(&db).unwrap();
    copy_into(&fixture("fv5_zstd"), &db);
    let run_as_nobody = |verb: &str, args: &[&str]| {
        let mut command = as_nobody(place.path());
        command.arg(verb).arg("--db").arg(&db).args(args);
        run(command)
    };
    chmod(&db, 0o555);
    run_as_nobody("scan", &[]).good();
    let error = run_as_nobody("put", &["k", "v"]).bad();
    assert!(
        error.contains("Permission denied") && error.contains("LOCK"),
        "{error}"
    );

    let table = db.join("000042.sst");
    chmod(&table, 0o000);
    for verb in ["scan", "verify", "sst"] {
        let error = run_as_nobody(verb, &[]).bad();
        assert!(
            error.contains("Permission denied") && error.contains("000042.sst"),
            "{verb}: {error}"
        );
    }
    chmod(&table, 0o444);
    chmod(&db, 0o000);
    for verb in READING {
        let error = run_as_nobody(verb, &[]).bad();
        assert!(
            error.contains("Permission denied") && error.contains(db.to_str().unwrap()),
            "{verb}: {error}"
        );
    }
    let error = run_as_nobody("put", &["k", "v"]).bad();
    assert!(error.contains("Permission denied"), "{error}");
    chmod(&db, 0o755);
    assert_same("afterwards", &scan("fv5_zstd", &db).good(), &expected("fv5_zstd"));
}

#[test]
fn a_reader_that_has_seen_enough() {
    for args in [
        &["scan", "--hex"][..],
        &["sst", "--all"],
        &["wal"],
        &["manifest"],
        &["lsm", "--files"],
        &["properties"],
    ] {
        let mut look = command();
        look.arg(args[0])
            .arg("--db")
            .arg(fixture("wal_only"))
            .args(&args[1..]);
        let mut child = look
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let mut complaint = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut complaint)
            .unwrap();
        assert_eq!(complaint, "", "{args:?}");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
    }
}

#[test]
fn files_a_crash_left_over_are_no_damage() {
    let dir = copy("fv5_zstd");
    fs::write(dir.path().join("000090.sst"), "half a tab").unwrap();
    fs::write(dir.path().join("000091.blob"), "").unwrap();
    fs::write(dir.path().join("MANIFEST-000092"), "half").unwrap();
    fs::write(dir.path().join("000093.dbtmp"), "MANIF").unwrap();
    let said = esker("verify", dir.path(), &[]).good();
    for note in ["000090.sst", "000091.blob", "MANIFEST-000092"] {
        let line = said.lines().find(|line| line.contains(note)).unwrap();
        assert!(line.contains("not whole"), "{line}");
    }
    assert_same(
        "rows",
        &scan("fv5_zstd", dir.path()).good(),
        &expected("fv5_zstd"),
    );
}

#[test]
fn damage_is_told_by_the_exit_status_when_nobody_listens() {
    let dir = copy("fv5_zstd");
    let path = dir.path().join("000042.sst");
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 1;
    fs::write(&path, bytes).unwrap();
    let mut child = command();
    child.arg("verify").arg("--db").arg(dir.path());
    let mut child = child
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut complaint = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut complaint)
        .unwrap();
    assert!(complaint.contains("000042.sst, offset 0"), "{complaint}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn an_output_that_is_full() {
    let mut scan = command();
    scan.args(["scan", "--db"]).arg(fixture("fv5_zstd"));
    scan.stdout(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let output = scan.stderr(Stdio::piped()).output().unwrap();
    let error = Ran::new(&scan, output).bad();
    assert!(error.contains("While writing to standard output"), "{error}");
}

/// A put that fills its file system fails; once there is room again every row is there.
#[test]
fn a_full_disk() {
    let dir = TempDir::new().unwrap();
    let script = r#"
        mount -t tmpfs -o size=2m none "$1" || exit 77
        cp "$2"/* "$1" || exit 78
        dd if=/dev/zero of="$1"/ballast bs=4096 2>/dev/null
        "$3" put --db "$1" key value
        echo "status $?"
        rm "$1"/ballast
        "$3" verify --db "$1" --quiet >&2 || exit 79
        "$3" put --db "$1" key value || exit 80
        "$3" scan --db "$1" --hex --all_column_families
    "#;
    let is_root = fs::metadata(dir.path()).unwrap().uid() == 0;
    let mut command = Command::new("unshare");
    command
        .arg(if is_root { "-m" } else { "-Urm" })
        .args(["sh", "-c", script, "sh"]);
    command
        .arg(dir.path())
        .arg(fixture("fv5_zstd"))
        .arg(env!("CARGO_BIN_EXE_esker"));
    let Ok(output) = command.output() else {
        testkit::skip("unshare");
        return;
    };
    let complaint = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) || output.stdout.is_empty() && complaint.contains("unshare") {
        testkit::skip("a mount namespace with a tmpfs");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{complaint}");
    assert!(!complaint.contains("panicked"), "{complaint}");
    assert!(
        complaint.starts_with("esker: IO error: No space left on device"),
        "{complaint}"
    );
    assert!(
        complaint
            .lines()
            .next()
            .unwrap()
            .contains(dir.path().to_str().unwrap()),
        "{complaint}"
    );
    let said = String::from_utf8_lossy(&output.stdout);
    let rows = said.strip_prefix("status 1\n").unwrap();
    let mut wanted = expected("fv5_zstd");
    wanted.insert_str(0, "default\t6B6579\t76616C7565\n");
    assert_same("after the disk was full", rows, &wanted);
}

#[test]
fn a_wrong_command_line() {
    for args in [
        &[][..],
        &["scan"],
        &["scan", "--db=x", "--colour"],
        &["frobnicate"],
        &["get", "--db=x"],
        &["scan", "--db=x", "--all_column_families", "--column_family=y"],
    ] {
        let mut wrong = command();
        wrong.args(args);
        let ran = run(wrong);
        assert_eq!(ran.status, 2, "{args:?}: {}", ran.stderr);
    }
    let error = esker("get", &fixture("fv5_zstd"), &["--hex", "xyz"]);
    assert_eq!((error.status, error.stdout.as_str()), (2, ""));
    assert!(
        esker("scan", &fixture("cfs_fv7_lz4"), &["--column_family=gamma"])
            .bad()
            .contains("there are: default, alpha, beta")
    );
    let mut help = command();
    help.args(["scan", "--help"]);
    assert!(run(help).good().contains("--all_column_families"));
}
