//! `esker ldb`: compared with RocksDB's `ldb` where the machine has it, and by itself.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use testkit::oracle;

use crate::common::{assert_same, copy, copy_into, fixture, fixtures, listing};

/// The result of a run: what it printed on both outputs, and its exit status.
#[derive(Debug, PartialEq, Eq)]
struct Ran {
    out: String,
    err: String,
    status: i32,
}

fn run(mut command: Command, dir: &Path, args: &[&str], input: &str) -> Ran {
    command
        .current_dir(dir)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that reads nothing may have ended.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!err.contains("panicked"), "{args:?}: {err}");
    Ran {
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err,
        status: output.status.code().unwrap_or(-1),
    }
}

/// Runs `esker ldb` in `dir`.
fn ours(dir: &Path, args: &[&str], input: &str) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_esker"));
    command.arg("ldb");
    run(command, dir, args, input)
}

/// Runs RocksDB's `ldb` in `dir`.
fn theirs(dir: &Path, args: &[&str], input: &str) -> Option<Ran> {
    Some(run(oracle::ldb()?, dir, args, input))
}

/// The output of a run that must succeed, with nothing on standard error.
fn good(dir: &Path, args: &[&str]) -> String {
    let ran = ours(dir, args, "");
    assert_eq!((ran.status, &*ran.err), (0, ""), "{args:?}: {}", ran.out);
    ran.out
}

/// The message of a run that must fail.
fn bad(dir: &Path, args: &[&str]) -> String {
    let ran = ours(dir, args, "");
    assert_eq!(ran.status, 1, "{args:?}: {}", ran.out);
    ran.err
}

/// The lines of output that RocksDB 11.8 has and 7.8 does not have, and the only separators that differ.
const ONLY_NEW: &[&str] = &[
    "# data blocks compression",
    "# uniform blocks",
    "(Column family id:",
    "By default, manifest file dump prints",
    "data uncompressed size",
    "largest sequence number in file",
    "smallest sequence number in file",
    "time stamp of newest key",
    "user defined timestamps persisted",
    "filter policy name",
    "slow compression estimated data size",
];

fn comparable(text: &str) -> String {
    let text = text.replace(" : ", " ==> ");
    let kept = text.lines().filter(|line| {
        let line = line.trim_start();
        let is_high_level = line.strip_prefix("--- level ").is_some_and(|rest| {
            let number = rest.split(' ').next().unwrap_or_default();
            number.parse::<u32>().is_ok_and(|level| level > 6)
        });
        !is_high_level && !ONLY_NEW.iter().any(|new| line.starts_with(new))
    });
    // The lines are sorted, because RocksDB lists the tables of a blob file in no order.
    let linked = |line: &str| line.split(" linked_ssts: ").next().unwrap_or_default().to_owned();
    kept.map(|line| linked(line) + "\n").collect()
}

/// The commands that are run on a database of RocksDB's, with their input.
const COMMANDS: &[(&str, &str)] = &[
    ("get b", ""),
    ("get 0x62 --hex", ""),
    ("get", ""),
    ("get b --foo", ""),
    ("get b --foo=1", ""),
    ("get b --column_family=nix", ""),
    ("scan", ""),
    ("scan --hex", ""),
    ("scan --no_value --from=c", ""),
    ("scan --from=b --to=d --max_keys=1", ""),
    ("scan --column_family=x", ""),
    ("dump", ""),
    ("dump --hex --max_keys=2", ""),
    ("dump --from=c --to=k", ""),
    ("dump --count_only", ""),
    ("dump --count_delim", ""),
    ("dump --count_delim=b", ""),
    ("idump", ""),
    ("idump --hex --from=c", ""),
    ("idump --from=0x63 --input_key_hex --max_keys=1", ""),
    ("idump --count_delim", ""),
    ("idump --count_only", ""),
    ("put q r", ""),
    ("put q", ""),
    ("put --bloom_bits=x a b", ""),
    ("put --bloom_bits=0 a b", ""),
    ("put --compression_type=foo a b", ""),
    ("batchput a b c", ""),
    ("batchput a b c d", ""),
    ("delete b", ""),
    ("delete", ""),
    ("deleterange b c", ""),
    ("deleterange b", ""),
    ("list_column_families", ""),
    ("create_column_family z", ""),
    ("create_column_family", ""),
    ("drop_column_family x", ""),
    ("drop_column_family nix", ""),
    ("list_live_files_metadata", ""),
    ("list_live_files_metadata --sort_by_filename", ""),
    ("list_file_range_deletes", ""),
    ("list_file_range_deletes --max_keys=1", ""),
    ("file_checksum_dump", ""),
    ("file_checksum_dump --hex", ""),
    ("approxsize --from=a --to=z", ""),
    ("approxsize", ""),
    ("checkconsistency", ""),
    ("get_property rocksdb.num-files-at-level0", ""),
    ("get_property rocksdb.estimate-num-keys", ""),
    ("get_property nix", ""),
    ("get_property", ""),
    ("compact", ""),
    ("compact --from=a --to=c", ""),
    ("checkpoint --checkpoint_dir=cp", ""),
    ("backup --backup_dir=bk", ""),
    ("backup", ""),
    ("reduce_levels", ""),
    ("reduce_levels --new_levels=1", ""),
    (
        "change_compaction_style --old_compaction_style=1 --new_compaction_style=1",
        "",
    ),
    (
        "change_compaction_style --old_compaction_style=1 --new_compaction_style=0",
        "",
    ),
    ("unsafe_remove_sst_file 99", ""),
    ("unsafe_remove_sst_file x", ""),
    ("update_manifest --update_temperatures", ""),
    ("update_manifest", ""),
    ("manifest_dump", ""),
    ("dump_live_files", ""),
    ("load", "nix\nKeys in range: 3\n"),
    ("write_extern_sst", ""),
    ("ingest_extern_sst", ""),
    ("ingest_extern_sst nix.sst --allow_global_seqno=false", ""),
    ("dump_wal", ""),
];

/// A database of RocksDB's, with two families, a range deletion, tables in L0 and L1, and a WAL.
fn database_of_theirs() -> Option<TempDir> {
    let dir = TempDir::new().unwrap();
    for args in [
        &["--create_if_missing", "put", "a", "1"][..],
        &["put", "b", "2"],
        &["batchput", "c", "3", "d", "4"],
        &["create_column_family", "x"],
        &["compact"],
        &["put", "k", "v v"],
        &["deleterange", "d", "e"],
        &["--column_family=x", "put", "1", "2"],
    ] {
        let ran = theirs(dir.path(), &[&["--db=db"], args].concat(), "")?;
        assert_eq!(ran.status, 0, "{args:?}: {}", ran.err);
    }
    Some(dir)
}

/// A copy of the database in a new directory.
fn again(from: &TempDir) -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("db")).unwrap();
    copy_into(&from.path().join("db"), &dir.path().join("db"));
    dir
}

#[test]
fn output_and_exit_status_are_those_of_ldb() {
    let Some(database) = database_of_theirs() else {
        return;
    };
    for (command, input) in COMMANDS {
        let args: Vec<&str> = std::iter::once("--db=db").chain(command.split(' ')).collect();
        let expected = theirs(again(&database).path(), &args, input).unwrap();
        let got = ours(again(&database).path(), &args, input);
        assert_same(command, &comparable(&got.out), &comparable(&expected.out));
        assert_eq!(
            (&got.err, got.status),
            (&expected.err, expected.status),
            "{command}"
        );
    }
}

#[test]
fn files_are_dumped_as_ldb_dumps_them() {
    let mut compared = 0;
    // RocksDB 7.8 does not know the record of the sizes of timestamps.
    for name in fixtures().into_iter().filter(|name| name != "user_timestamps") {
        let dir = fixture(&name);
        // Without the comparator, RocksDB 7.8 lists the files of the reverse order in another one.
        let mut left = [1, 1, 1, u32::from(name != "reverse_comparator")];
        for file in listing(&dir).into_keys() {
            let kinds = [".sst", ".blob", ".log", "MANIFEST-000005"];
            let kind = kinds.iter().position(|end| file.ends_with(end));
            match kind.map(|kind| &mut left[kind]) {
                Some(left) if *left > 0 => *left -= 1,
                _ => continue,
            }
            let args = ["dump", &format!("--path={file}"), "--hex"];
            let Some(expected) = theirs(&dir, &args, "") else {
                return;
            };
            if !expected.err.is_empty() {
                continue;
            }
            let got = ours(&dir, &args, "");
            let what = format!("{name}/{file}");
            assert_same(&what, &comparable(&got.out), &comparable(&expected.out));
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn versions_of_keys_are_those_of_ldb() {
    let mut compared = 0;
    for name in fixtures() {
        let args = ["--db=.", "--try_load_options=false", "idump", "--hex"];
        let Some(expected) = theirs(copy(&name).path(), &args, "") else {
            return;
        };
        if expected.status != 0 {
            continue;
        }
        let got = ours(&fixture(&name), &args, "");
        assert_same(&name, &got.out, &expected.out);
        assert_eq!(got.status, expected.status, "{name}");
        compared += 1;
    }
    assert!(compared >= 4, "{compared}");
}

/// The commands whose success the oracle's release cannot show, and the files they leave.
#[test]
fn rows_go_from_one_database_to_another() {
    let dir = TempDir::new().unwrap();
    let at = dir.path();
    for args in [
        &["--db=a", "put", "--create_if_missing", "k1", "v1"][..],
        &["--db=a", "batchput", "k2", "v2", "k3", "v3"],
        &["--db=a", "delete", "k1"],
        &["--db=a", "put", "k4", "v4"],
        &["--db=a", "singledelete", "k4"],
    ] {
        assert_eq!(good(at, args), "OK\n");
    }
    assert_eq!(good(at, &["--db=a", "get", "k2"]), "v2\n");
    assert_eq!(good(at, &["--db=a", "get", "k1"]), "Key not found\n");
    assert_eq!(
        good(at, &["--db=a", "multi_get", "k2", "k9", "k3"]),
        "k2 ==> v2\nKey not found: k9\nk3 ==> v3\n"
    );
    let dump = good(at, &["--db=a", "dump", "--hex"]);
    assert_eq!(dump, "0x6B32 ==> 0x7632\n0x6B33 ==> 0x7633\nKeys in range: 2\n");
    let load = [
        "--db=b",
        "load",
        "--hex",
        "--create_if_missing",
        "--bulk_load",
        "--compact",
    ];
    assert_eq!(ours(at, &load, &dump).status, 0);
    assert_eq!(good(at, &["--db=b", "scan"]), "k2 ==> v2\nk3 ==> v3\n");
    let bad_line = ours(at, &["--db=b", "load"], "no row\n");
    assert_eq!(bad_line.out, "Warning: 1 bad lines ignored.\n");

    let written = ours(
        at,
        &["--db=c", "write_extern_sst", "--create_if_missing", "x.sst"],
        "a ==> 1\n",
    );
    assert_eq!(
        (written.status, &*written.err),
        (0, "external SST file written to x.sst\n")
    );
    let ingested = ours(at, &["--db=c", "ingest_extern_sst", "x.sst"], "");
    assert_eq!(
        (ingested.status, &*ingested.err),
        (0, "external SST files ingested\n")
    );
    assert_eq!(good(at, &["--db=c", "scan"]), "a ==> 1\n");

    good(at, &["--db=b", "checkpoint", "--checkpoint_dir=cp"]);
    assert_eq!(good(at, &["--db=cp", "scan", "--no_value"]), "k2\nk3\n");
    assert!(good(at, &["--db=b", "backup", "--backup_dir=bk"]).ends_with("create new backup OK\n"));
    let restored = good(at, &["--db=r", "restore", "--backup_dir=bk"]);
    assert_eq!(restored, "open restore engine OK\nrestore from backup OK\n");
    assert_eq!(good(at, &["--db=r", "scan", "--no_value"]), "k2\nk3\n");
}

#[test]
fn the_shell_answers_each_line() {
    let dir = TempDir::new().unwrap();
    good(dir.path(), &["--db=d", "put", "--create_if_missing", "z", "0"]);
    let input = "help\nput a b\nget a\ncount --to=b\ndelete a\nget a\nget --x\nput a\nfoo bar\ncount\n";
    let ran = ours(dir.path(), &["--db=d", "query"], input);
    let answers: Vec<&str> = ran.out.lines().skip(4).collect();
    let expected = [
        "put a => b succeeded",
        "a ==> b",
        "1",
        "delete a succeeded",
        "get a status: NotFound: ",
        "Bad command",
        "put gets invalid arguments",
        "Unknown command foo bar",
        "1",
    ];
    assert_eq!((ran.status, &answers[..]), (0, &expected[..]));
}

#[test]
fn the_manifest_is_changed_without_the_database() {
    let dir = TempDir::new().unwrap();
    let at = dir.path();
    for key in ["a", "b", "c"] {
        good(at, &["--db=d", "put", "--create_if_missing", key, "1"]);
        good(at, &["--db=d", "compact", "--from=a", "--to=z"]);
    }
    let levels = "change_compaction_style --old_compaction_style=0 --new_compaction_style=1";
    let args: Vec<&str> = std::iter::once("--db=d").chain(levels.split(' ')).collect();
    good(at, &["--db=d", "put", "b", "2"]);
    let said = ours(at, &args, "");
    assert!(
        said.out.starts_with("files per level before compaction: "),
        "{said:?}"
    );

    let said = good(
        at,
        &["--db=d", "reduce_levels", "--new_levels=2", "--print_old_levels"],
    );
    assert!(said.starts_with("The old number of levels in use is "), "{said}");
    assert_eq!(good(at, &["--db=d", "scan", "--no_value"]), "a\nb\nc\n");
    let files = good(at, &["--db=d", "list_live_files_metadata", "--sort_by_filename"]);
    assert!(
        !files.contains("level 2") && !files.contains("level 6"),
        "{files}"
    );

    let first = files.lines().nth(1).unwrap();
    let number = first.split(['/', '.']).nth(1).unwrap();
    assert_eq!(
        ours(at, &["--db=d", "unsafe_remove_sst_file", number], "").err,
        "unsafely removed SST file\n"
    );
    assert!(!good(at, &["--db=d", "list_live_files_metadata"]).contains(number));
    good(at, &["--db=d", "checkconsistency"]);
    fs::remove_file(at.join("d/CURRENT")).unwrap();
    assert!(bad(at, &["--db=d", "scan"]).starts_with("Failed: "));
    assert_eq!(ours(at, &["--db=d", "repair"], "").out, "OK\n");
    good(at, &["--db=d", "scan"]);
}

#[test]
fn entities_have_columns() {
    let dir = TempDir::new().unwrap();
    let at = dir.path();
    let put = ["--db=d", "put_entity", "--create_if_missing", "k", "b:2", "a:1"];
    assert_eq!(good(at, &put), "OK\n");
    let wal = good(at, &["dump_wal", "--walfile=d", "--print_value", "--db=d"]);
    assert!(
        wal.contains(",PUT_ENTITY(0) : 0x6B : 0x61:0x31 0x62:0x32 \n"),
        "{wal}"
    );
    assert_eq!(good(at, &["--db=d", "get_entity", "k"]), "a:1 b:2\n");
    assert_eq!(
        good(at, &["--db=d", "get_entity", "k", "--value_hex"]),
        "0x61:0x31 0x62:0x32\n"
    );
    good(at, &["--db=d", "put", "p", "v"]);
    assert_eq!(
        good(at, &["--db=d", "multi_get_entity", "k", "x", "p"]),
        "k ==> a:1 b:2\nKey not found: x\np ==> :v\n"
    );
    assert_eq!(good(at, &["--db=d", "scan"]), "k ==> a:1 b:2\np ==> v\n");
    assert!(good(at, &["--db=d", "idump"]).starts_with("'k' seq:1, type:22 => a:1 b:2\n"));
    assert!(bad(at, &["--db=d", "put_entity", "k", "a"]).contains("wide column format needs to be"));
}

/// RocksDB's `ldb --ttl` does its work, and then fails.
#[test]
fn rows_have_times_with_ttl() {
    let dir = TempDir::new().unwrap();
    let at = dir.path();
    good(at, &["--db=d", "--ttl", "put", "--create_if_missing", "k", "v"]);
    assert_eq!(good(at, &["--db=d", "--ttl", "get", "k"]), "v\n");
    assert_eq!(good(at, &["--db=d", "--ttl", "scan"]), "k ==> v\n");
    let dump = good(at, &["--db=d", "--ttl", "dump", "--timestamp"]);
    let first = "Dumping key-values from Fri May 10 00:40:02 2013 to Tue Jan 19 03:14:07 2038\n";
    assert!(
        dump.starts_with(first) && dump.ends_with("k ==> v\nKeys in range: 1\n"),
        "{dump}"
    );
    let none = ["--db=d", "--ttl", "dump", "--end_time=1368146403"];
    assert_eq!(good(at, &none), "Keys in range: 0\n");
    // Without `--ttl`, the suffix is a part of the value.
    assert!(good(at, &["--db=d", "scan", "--hex"]).starts_with("0x6B ==> 0x76"));
    assert_ne!(good(at, &["--db=d", "scan", "--hex"]), "0x6B ==> 0x76\n");
}

#[test]
fn transactions_lock_and_other_modes_refuse_them() {
    let dir = TempDir::new().unwrap();
    let at = dir.path();
    good(
        at,
        &["--db=d", "--use_txn", "put", "--create_if_missing", "k", "v"],
    );
    good(
        at,
        &["--db=d", "--use_txn", "--txn_write_policy=1", "delete", "k"],
    );
    for (args, message) in [
        (
            &["--use_txn", "get", "k"][..],
            "TransactionDB does not support read-only mode",
        ),
        (
            &["--use_txn", "--ttl", "put", "k", "v"],
            "Cannot use both --ttl and --use_txn flags together",
        ),
        (
            &["--use_txn", "--secondary_path=s", "put", "k", "v"],
            "TransactionDB does not support secondary or follower mode",
        ),
    ] {
        let said = bad(at, &[&["--db=d"], args].concat());
        assert_eq!(said, format!("Failed: {message}\n"));
    }
    good(at, &["--db=d", "put", "k", "v"]);
    assert_eq!(good(at, &["--db=d", "--secondary_path=s", "get", "k"]), "v\n");
    let said = bad(at, &["--db=d", "--secondary_path=s", "put", "k", "w"]);
    assert!(said.starts_with("Failed: Not implemented: "), "{said}");
}

#[test]
fn families_with_timestamps_are_read_at_one() {
    let dir = copy("user_timestamps");
    let at = dir.path();
    let said = bad(at, &["--db=.", "scan"]);
    assert!(
        said.contains("enables user-defined timestamp while --read_timestamp is not provided"),
        "{said}"
    );
    let rows = good(at, &["--db=.", "scan", "--read_timestamp=400", "--max_keys=1"]);
    assert!(rows.contains("|timestamp:") && rows.contains(" ==> "), "{rows}");
    let plain = copy("fv5_zstd");
    let said = bad(plain.path(), &["--db=.", "get", "k", "--read_timestamp=1"]);
    assert!(said.contains("does not enable user-defined timestamps"), "{said}");
}

#[test]
fn wrong_command_lines_end_with_1() {
    let dir = TempDir::new().unwrap();
    let at = dir.path();
    assert!(bad(at, &["nix", "--db=d"]).starts_with("Unknown command\nldb - RocksDB Tool\n"));
    assert!(bad(at, &["--db=d", "--hex"]).starts_with("Command not specified!"));
    assert_eq!(bad(at, &["get", "k"]), "Either db or path must be specified.\n");
    assert_eq!(
        bad(at, &["--db=d", "get", "k", "--hex"]),
        "Failed: Invalid hex input k.  Must start with 0x\n"
    );
    assert_eq!(good(at, &["--version"]), "ldb from RocksDB 11.8.1\n");
    let help = good(at, &["--help"]);
    assert!(
        help.contains("\n  unsafe_remove_sst_file <SST file number>"),
        "{help}"
    );
    for args in [
        &["--db=d", "compaction_progress_dump", "--path=p"][..],
        &["--db=d", "--env_uri=x", "get", "k"],
        &["--db=d", "scan", "--get_write_unix_time"],
    ] {
        assert!(bad(at, args).starts_with("Failed: Not implemented: "), "{args:?}");
    }
    // The refused commands have created no database.
    assert!(!PathBuf::from(at).join("d").exists());
}

#[test]
fn a_worker_does_the_compaction_of_a_primary() {
    let dir = TempDir::new().unwrap();
    let at = dir.path();
    for key in ["a", "b", "c"] {
        // Each open after a write adds a table to L0.
        good(at, &["--db=d", "--create_if_missing", "put", key, "1"]);
        good(at, &["--db=d", "put", "same", key]);
    }
    let jobs = at.join("jobs");
    fs::create_dir(&jobs).unwrap();
    // A result of an earlier job is not taken for that of the new one.
    fs::write(jobs.join("result.bin"), b"\x01\0\0\0stale").unwrap();
    let primary = ["--db=d", "--job_dir=jobs", "remote_compaction_primary"];
    let worker = ["--db=d", "--job_dir=jobs", "remote_compaction_worker"];
    let (asked, done) = std::thread::scope(|scope| {
        let primary = scope.spawn(|| good(at, &primary));
        (good(at, &worker), primary.join().unwrap())
    });
    assert!(
        asked.starts_with("remote_compaction_worker: OK (") && asked.ends_with(" bytes result)\n"),
        "{asked}"
    );
    assert_eq!(done, "remote_compaction_primary: OK\n");
    assert_eq!(
        good(at, &["--db=d", "scan"]),
        "a ==> 1\nb ==> 1\nc ==> 1\nsame ==> c\n"
    );
    // The table of the worker was moved into the database.
    let left: Vec<_> = fs::read_dir(jobs.join("output"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().ends_with(".sst"))
        .collect();
    assert!(left.is_empty(), "{left:?}");

    for command in ["remote_compaction_primary", "remote_compaction_worker"] {
        assert_eq!(bad(at, &["--db=d", command]), "Failed: --job_dir is required\n");
    }
    fs::write(jobs.join("input.bin"), b"not a job").unwrap();
    let said = bad(at, &worker);
    assert!(said.starts_with("Failed: OpenAndCompact: "), "{said}");
    let said = bad(at, &["--db=none", "--job_dir=jobs", "remote_compaction_primary"]);
    assert!(said.starts_with("Failed: Open: "), "{said}");
}
