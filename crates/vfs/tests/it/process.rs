//! Tests that need a second process: death by signal, locks, limits and full disks.
//!
//! The second process is this test binary; environment variables tell it to run [`child`] with one of the
//! roles below.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use base::ErrorKind;
use esker_vfs::{CreateOptions, FileSystem, OpenOptions, PosixFs};

use crate::subjects::{disk_dir, memory_dir};

const ROLE: &str = "ESKER_VFS_TEST_ROLE";
const DIR: &str = "ESKER_VFS_TEST_DIR";
/// The prefix of each line for the parent: the test harness prints lines of its own.
const MARK: &str = "child: ";

const LOG: CreateOptions = CreateOptions {
    log: true,
    direct: false,
    preallocate: 0,
    bytes_per_sync: 0,
    strict_bytes_per_sync: false,
    temperature: base::Temperature::UNKNOWN,
};

/// Adds the test binary to `command` as its last arguments and starts it in `role`.
fn start(mut command: Command, role: &str, dir: &Path) -> (Child, BufReader<ChildStdout>) {
    command.args(["--ignored", "--exact", "process::child", "--nocapture"]);
    let mut child = command
        .env(ROLE, role)
        .env(DIR, dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdout)
}

fn myself() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

/// The next line from the child, `None` when it ends.
fn hear(stdout: &mut BufReader<ChildStdout>) -> Option<String> {
    let mut line = String::new();
    while stdout.read_line(&mut line).unwrap() > 0 {
        if let Some((_, said)) = line.split_once(MARK) {
            return Some(said.trim_end().to_owned());
        }
        line.clear();
    }
    None
}

fn say(what: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{MARK}{what}").unwrap();
    stdout.flush().unwrap();
}

/// Waits until the parent closes the pipe, or kills this process.
fn wait() {
    let _end = std::io::stdin().read(&mut [0]);
}

fn record(i: u64) -> Vec<u8> {
    let mut record = i.to_le_bytes().to_vec();
    record.resize(100 + (i % 100) as usize, i as u8 | 1);
    record
}

/// The number of records that a log begins with; after the last complete one there may be a part of one, and
/// then only zeros.
fn records_in(bytes: &[u8]) -> u64 {
    let mut rest = bytes;
    for i in 0.. {
        let expected = record(i);
        match rest.strip_prefix(&expected[..]) {
            Some(after) => rest = after,
            None => {
                let torn = rest.iter().zip(&expected).take_while(|(a, b)| a == b).count();
                assert!(
                    rest[torn..].iter().all(|&byte| byte == 0),
                    "neither record nor zeros after record {i}"
                );
                return i;
            }
        }
    }
    unreachable!("the numbers have no end")
}

/// The body of the second processes; not a test of its own.
#[test]
#[ignore = "the tests next to it run it in other processes"]
fn child() {
    let role = std::env::var(ROLE).expect("the parent test names the role");
    let dir = PathBuf::from(std::env::var(DIR).unwrap());
    let mapped = PosixFs::new();
    let unmapped = PosixFs::without_mapped_logs();
    match role.as_str() {
        "append mapped" => append_until_killed(&mapped, &dir),
        "append unmapped" => append_until_killed(&unmapped, &dir),
        "lock" => {
            let _lock = mapped.lock(&dir.join("LOCK")).unwrap();
            say("locked");
            wait();
        }
        "share" => share(&mapped, &dir),
        "fill mapped" => fill(&mapped, &dir),
        "fill unmapped" => fill(&unmapped, &dir),
        other => panic!("no role {other}"),
    }
}

fn append_until_killed(fs: &PosixFs, dir: &Path) {
    let mut log = fs.create(&dir.join("log"), &LOG).unwrap();
    for i in 0.. {
        log.append(&record(i)).unwrap();
        if i % 5000 == 4999 {
            say(&(i + 1).to_string());
        }
    }
}

#[test]
fn what_was_appended_to_a_log_survives_a_kill() {
    for dir in [Some(disk_dir()), memory_dir()].into_iter().flatten() {
        for role in ["append mapped", "append unmapped"] {
            let (mut child, mut stdout) = start(myself(), role, dir.path());
            let mut said = 0;
            while said < 100_000 {
                said = hear(&mut stdout)
                    .expect("it continues until killed")
                    .parse()
                    .unwrap();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            while let Some(last) = hear(&mut stdout) {
                said = last.parse().unwrap();
            }
            let fs = PosixFs::new();
            let found = records_in(&fs.read_file(&dir.path().join("log")).unwrap());
            assert!(found >= said, "{role}: {found} records of {said}");
        }
    }
}

#[test]
fn a_lock_keeps_other_processes_out_until_they_die() {
    let dir = disk_dir();
    let path = dir.path().join("LOCK");
    let (mut child, mut stdout) = start(myself(), "lock", dir.path());
    assert_eq!(hear(&mut stdout).as_deref(), Some("locked"));
    let fs = PosixFs::new();
    let error = fs.lock(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LockHeld);
    assert_eq!(error.file(), Some(&*path));
    assert!(
        error
            .message()
            .ends_with(&format!("held by process {}", child.id())),
        "{error}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    drop(fs.lock(&path).unwrap());
}

/// Without a lock that belongs to the open file, any code of the process that opens and closes the file would
/// release it.
#[test]
fn a_lock_is_kept_by_a_process_that_opens_the_file_and_closes_it() {
    let dir = disk_dir();
    let path = dir.path().join("LOCK");
    let fs = PosixFs::new();
    let lock = fs.lock(&path).unwrap();
    assert!(!std::fs::read(&path).unwrap().is_empty());
    fs.size(&path).unwrap();
    // The child's attempt fails, and so does the child.
    let (mut child, mut stdout) = start(myself(), "lock", dir.path());
    assert_eq!(hear(&mut stdout), None);
    assert!(!child.wait().unwrap().success());
    drop(lock);
    let (mut child, mut stdout) = start(myself(), "lock", dir.path());
    assert_eq!(hear(&mut stdout).as_deref(), Some("locked"));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Appends to a log until the disk is full, then frees space and continues.
fn fill(fs: &PosixFs, dir: &Path) {
    let ballast = dir.join("ballast");
    fs.write_file(&ballast, &vec![1; 512 << 10]).unwrap();
    let path = dir.join("log");
    let mut log = fs.create(&path, &LOG).unwrap();
    let mut appended = 0;
    let error = loop {
        match log.append(&record(appended)) {
            Ok(()) => appended += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    assert_eq!(error.file(), Some(&*path));
    let long = log.append(&vec![7; 1 << 20]).unwrap_err();
    assert_eq!(long.kind(), ErrorKind::NoSpace);
    assert_eq!(
        log.len(),
        (0..appended).map(|i| record(i).len() as u64).sum::<u64>()
    );
    // All bytes that fitted are in the log, and the mapped pages can be accessed and synced.
    let mut bytes = vec![0; log.len() as usize];
    fs.open_random(&path, &OpenOptions::default())
        .unwrap()
        .read_exact_at(0, &mut bytes)
        .unwrap();
    assert_eq!(records_in(&bytes), appended);
    let behind = fs.read_file(&path).unwrap().split_off(log.len() as usize);
    assert!(behind.iter().all(|&byte| byte == 0), "a part of a record is left");
    say(&format!("full {appended}"));

    fs.remove(&ballast).unwrap();
    let mut more = appended;
    while more < appended + 100 {
        match log.append(&record(more)) {
            Ok(()) => more += 1,
            // Removing another file does not lift a limit on file size.
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace);
                say("still full");
                break;
            }
        }
    }
    log.sync().unwrap();
    log.close().unwrap();
    assert_eq!(records_in(&fs.read_file(&path).unwrap()), more);
    fs.remove(&path).unwrap();
    say("done");
}

/// Runs as [`run_after`] does, with both kinds of `fill`.
fn fill_after(before: &str, namespace: bool, dir: &Path) -> Option<Vec<Vec<String>>> {
    run_after(before, namespace, &["fill mapped", "fill unmapped"], dir)
}

/// Runs each of `roles` after the shell commands `before`, and returns the lines of each. `None` if `before`
/// fails.
fn run_after(before: &str, namespace: bool, roles: &[&str], dir: &Path) -> Option<Vec<Vec<String>>> {
    let mut said = Vec::new();
    for &role in roles {
        let mut command = if namespace {
            Command::new("unshare")
        } else {
            Command::new("sh")
        };
        if namespace {
            // A test without root privileges may still mount file systems in a user namespace.
            let root = Command::new("id")
                .arg("-u")
                .output()
                .ok()?
                .stdout
                .starts_with(b"0");
            command.arg(if root { "-m" } else { "-Urm" }).arg("sh");
        }
        command
            .arg("-c")
            .arg(format!("{before} || exit 77; exec \"$0\" \"$@\""))
            .arg(std::env::current_exe().unwrap());
        let (mut child, mut stdout) = start(command, role, dir);
        let lines: Vec<String> = std::iter::from_fn(|| hear(&mut stdout)).collect();
        let mut complaint = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut complaint)
            .unwrap();
        let status = child.wait().unwrap();
        if lines.is_empty() && (status.code() == Some(77) || complaint.contains("unshare")) {
            testkit::skip(&format!("{before} ({})", complaint.trim().replace('\n', "; ")));
            return None;
        }
        assert!(status.success(), "{role}: {status}, said {lines:?}\n{complaint}");
        said.push(lines);
    }
    Some(said)
}

fn records_before_full(said: &[String]) -> u64 {
    said[0].strip_prefix("full ").unwrap().parse().unwrap()
}

#[test]
fn a_full_file_system_in_memory_is_an_error() {
    let dir = disk_dir();
    let mount = format!("mount -t tmpfs -o size=3m none '{}'", dir.path().display());
    let Some(said) = fill_after(&mount, true, dir.path()) else {
        return;
    };
    for lines in &said {
        assert_eq!(lines[1..], ["done"]);
        // About this many records, of 150 bytes on average, fit 2.5 MiB.
        assert!(
            (16_000..18_000).contains(&records_before_full(lines)),
            "{lines:?}"
        );
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let dir = disk_dir();
    let image = dir.path().join("image");
    let mounted = dir.path().join("mounted");
    std::fs::create_dir(&mounted).unwrap();
    let prepare = format!(
        "truncate -s 8M '{image}' && mkfs.ext4 -q -O ^has_journal -m 0 '{image}' && mount -o loop '{image}' '{mounted}'",
        image = image.display(),
        mounted = mounted.display(),
    );
    let Some(said) = fill_after(&prepare, true, &mounted) else {
        return;
    };
    for lines in &said {
        assert_eq!(lines[1..], ["done"]);
        assert!(records_before_full(lines) > 20_000, "{lines:?}");
    }
}

/// Appends to a log whose blocks a copy shares, on a full disk.
fn share(fs: &PosixFs, dir: &Path) {
    let path = dir.join("log");
    let mut log = fs.create(&path, &LOG).unwrap();
    log.append(&record(0)).unwrap();
    let copied = Command::new("cp")
        .arg("--reflink=always")
        .args([&path, &dir.join("copy")])
        .status()
        .unwrap();
    if !copied.success() {
        say("no reflinks");
        return;
    }
    let mut ballast = std::fs::File::create(dir.join("ballast")).unwrap();
    for size in [1 << 20, 4096, 512] {
        while ballast.write(&vec![1; size]).is_ok() {}
        // Space that the disk reserved for delayed writes is free again.
        let _ = ballast.sync_all();
    }
    let mut appended = 1;
    let error = loop {
        match log.append(&record(appended)) {
            Ok(()) => appended += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    say("full");
    drop(ballast);
    fs.remove(&dir.join("ballast")).unwrap();
    log.append(&record(appended)).unwrap();
    log.sync().unwrap();
    log.close().unwrap();
    assert_eq!(records_in(&fs.read_file(&path).unwrap()), appended + 1);
    say("done");
}

/// A store into a page of a mapped file would need a new block, and kill the process if there is none.
#[test]
fn a_log_whose_blocks_a_copy_shares_meets_a_full_disk_as_an_error() {
    let dir = disk_dir();
    let image = dir.path().join("image");
    let mounted = dir.path().join("mounted");
    std::fs::create_dir(&mounted).unwrap();
    let prepare = format!(
        "truncate -s 320M '{image}' && mkfs.xfs -q -f -m reflink=1 '{image}' && mount -o loop '{image}' '{mounted}'",
        image = image.display(),
        mounted = mounted.display(),
    );
    let Some(said) = run_after(&prepare, true, &["share"], &mounted) else {
        return;
    };
    assert_eq!(said, [["full", "done"]]);
}

#[test]
fn a_limit_on_file_size_is_an_error() {
    let dir = disk_dir();
    // The limit is in blocks of 512 bytes. `trap` ignores the signal that comes with the error, as database
    // processes do.
    let Some(said) = fill_after("trap '' XFSZ && ulimit -f 4096", false, dir.path()) else {
        return;
    };
    for lines in &said {
        assert_eq!(lines[1..], ["still full", "done"]);
        assert_eq!(records_before_full(lines), records_before_full(&said[0]));
    }
}
