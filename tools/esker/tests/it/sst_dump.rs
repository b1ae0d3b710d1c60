//! `esker sst_dump`: compared with RocksDB's `sst_dump` where the machine has it, and by itself.

use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::oracle;

use crate::common::{assert_same, copy, fixture, fixtures, tables};

struct Ran {
    out: String,
    err: String,
    status: i32,
}

fn run(mut command: Command, dir: &Path, args: &[&str]) -> Ran {
    let output = command.current_dir(dir).args(args).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!err.contains("panicked"), "{args:?}: {err}");
    Ran {
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err,
        status: output.status.code().unwrap_or(-1),
    }
}

fn ours(dir: &Path, args: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_esker"));
    command.arg("sst_dump");
    run(command, dir, args)
}

/// The lines of a dump that RocksDB 7.8 prints too, without the line with the address of its environment.
fn comparable(text: &str) -> String {
    const OTHERS: &[&str] = &[
        "options.env is",
        "# data blocks compression",
        "# uniform blocks",
        "data uncompressed size",
        "user defined timestamps persisted",
        "largest sequence number in file",
        "smallest sequence number in file",
        "time stamp of newest key",
        "filter policy name",
        "slow compression estimated data size",
    ];
    // RocksDB 7.8 takes properties of later releases for those of collectors.
    let is_known = |line: &str| {
        let known = ["block.based.table.", "deleted.keys", "merge.operands"];
        let property = line.strip_prefix("# rocksdb.");
        property.is_none_or(|property| known.iter().any(|name| property.starts_with(name)))
    };
    let is_kept = |line: &&str| {
        let line = line.trim_start();
        is_known(line) && !OTHERS.iter().any(|other| line.starts_with(other))
    };
    text.lines()
        .filter(is_kept)
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn output_and_exit_status_are_those_of_sst_dump() {
    let mut compared = 0;
    for name in fixtures() {
        let dir = fixture(&name);
        for file in tables(&dir).into_iter().take(1) {
            let place = format!("--file={file}");
            for args in [
                &[&*place][..],
                &[&place, "--command=scan", "--output_hex"],
                &[
                    &place,
                    "--command=scan",
                    "--output_hex",
                    "--from=key000000000100",
                    "--to=key000000000200",
                ],
                &[&place, "--command=scan", "--output_hex", "--prefix=key0000000001"],
                &[&place, "--command=scan", "--output_hex", "--read_num=7"],
                &[
                    &place,
                    "--command=check",
                    "--verify_checksum",
                    "--show_properties",
                ],
                &[&place, "--command=identify"],
                &[&place, "--command=verify"],
                &[&place, "--command=none", "--show_properties"],
            ] {
                let Some(oracle) = oracle::sst_dump() else {
                    return;
                };
                let expected = run(oracle, &dir, args);
                if !expected.out.contains("Sst file format: block-based") {
                    continue;
                }
                let got = ours(&dir, args);
                let what = format!("{name} {args:?}");
                assert_same(&what, &comparable(&got.out), &comparable(&expected.out));
                assert_eq!(got.status, expected.status, "{name} {args:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn a_raw_dump_has_every_part() {
    let dir = copy("fv5_zstd");
    let table = tables(dir.path()).remove(0);
    let said = ours(
        dir.path(),
        &[&table, "--command=raw", "--show_sequence_number_type"],
    );
    let written = table.replace(".sst", "_dump.txt");
    assert!(
        said.out
            .ends_with(&format!("raw dump written to file {written}\n")),
        "{}",
        said.out
    );
    let text = String::from_utf8_lossy(&fs::read(dir.path().join(&written)).unwrap()).into_owned();
    for part in [
        "Footer Details:\n",
        "  table_magic_number: 9863518390377041911\n  format version: 5\n",
        "Metaindex Details:\n",
        "  Properties block handle: ",
        "Table Properties:\n",
        "Index Details:\n",
        "Data Block # 1 @ ",
        "  Data block checksum type: ",
        "  seq: ",
        "Data Block Summary:\n",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn tables_are_written_again_with_other_compressions() {
    let dir = fixture("fv5_zstd");
    let table = tables(&dir).remove(0);
    let said = ours(
        &dir,
        &[
            &table,
            "--command=recompress",
            "--compression_types=kNoCompression,kZSTD,kXpressCompression",
            "--compression_level_from=1",
            "--compression_level_to=2",
            "--verify_compression=true",
            "--block_size=4096",
        ],
    );
    assert_eq!((said.status, &*said.err), (0, ""));
    let levels = said.out.matches("\nCx level: ").count();
    assert_eq!(levels, 4, "{}", said.out);
    let first = "Compression: kNoCompression           Block Size: 4096  Threads: 1\nCx level: 1 Cx size: ";
    assert!(said.out.contains(first), "{}", said.out);
    assert!(
        said.out
            .contains("Unsupported compression type: kXpressCompression.\n"),
        "{}",
        said.out
    );
}

#[test]
fn damage_is_reported_and_the_next_table_follows() {
    let dir = copy("fv5_zstd");
    let tables = tables(dir.path());
    let path = dir.path().join(&tables[0]);
    let mut bytes = fs::read(&path).unwrap();
    bytes[10] ^= 1;
    fs::write(&path, bytes).unwrap();
    let said = ours(dir.path(), &[".", "--command=verify"]);
    assert_eq!(said.status, 0);
    assert!(
        said.err
            .contains(&format!("{} is corrupted: Corruption: ", tables[0])),
        "{}",
        said.err
    );
    assert_eq!(said.out.matches("The file is ok\n").count(), tables.len() - 1);
    fs::write(&path, b"").unwrap();
    let said = ours(dir.path(), &[&tables[0]]);
    assert_eq!(said.status, 1);
    assert!(
        said.err
            .ends_with(&format!("{} is not a valid SST file\n", tables[0])),
        "{}",
        said.err
    );
}

#[test]
fn an_internal_key_is_taken_apart() {
    let dir = fixture("fv5_zstd");
    let said = ours(&dir, &["--parse_internal_key=0x610102000000000000"]);
    assert_eq!((said.status, &*said.out), (0, "key='61' seq:2, type:1\n"));
    assert_eq!(ours(&dir, &["--parse_internal_key=0x61"]).status, 255);
    let said = ours(&dir, &["--require_property_regex=x", "."]);
    assert_eq!(
        (said.status, &*said.err),
        (1, "Not implemented: --require_property_regex\n")
    );
}
