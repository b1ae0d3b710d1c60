//! RocksDB's tools over a database that Esker wrote, called as a user calls them: with the directory and
//! without flags that ignore errors.

use std::path::Path;
use std::process::Command;

use crate::oracle;

/// Makes each installed RocksDB tool open, list, dump, check and compact the closed database in `dir`.
/// `families` are all of its families with the number of rows of each. Returns the number of commands that
/// were run: 0 if there are no tools.
///
/// `ldb compact` changes the database itself. `sst_dump`, which writes next to the tables it reads, and
/// RocksDB 9 and later, whose OPTIONS file `ldb` does not read, get copies.
///
/// # Panics
/// If a command fails, complains, or shows another number of rows.
pub fn look_at(dir: &Path, families: &[(&str, usize)]) -> usize {
    sst_dump_reads_tables(dir) + rocksdict_opens(dir, families) + ldb_opens(dir, families)
}

/// Removes the OPTIONS files of a database that a later RocksDB than `ldb` wrote: they name options that
/// `ldb` refuses.
///
/// # Panics
/// If the directory cannot be read, or a file not removed.
pub fn forget_options(dir: &Path) {
    for entry in std::fs::read_dir(dir).expect("the database's directory") {
        let entry = entry.expect("an entry");
        if entry.file_name().to_string_lossy().starts_with("OPTIONS-") {
            std::fs::remove_file(entry.path()).expect("an OPTIONS file removed");
        }
    }
}

/// Returns the output of `command`.
fn said(command: &mut Command) -> String {
    let output = command.output().expect("a tool that is installed");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = format!("{printed}{complaint}");
    let refused = [
        "orruption",
        "nrecognized option",
        "nvalid argument",
        "Failed",
        "rror:",
    ]
    .into_iter()
    .find(|word| text.contains(word));
    assert!(
        output.status.success() && refused.is_none(),
        "{command:?}: {}\n{text}",
        output.status
    );
    printed
}

fn ldb_opens(dir: &Path, families: &[(&str, usize)]) -> usize {
    let mut commands = 0;
    let mut ldb = |arguments: &[&str]| {
        let mut ldb = oracle::ldb()?;
        commands += 1;
        Some(said(ldb.arg(format!("--db={}", dir.display())).args(arguments)))
    };
    let count = |text: String, divider: &str| text.lines().filter(|line| line.contains(divider)).count();
    let Some(listed) = ldb(&["list_column_families"]) else {
        return 0;
    };
    for (family, rows) in families {
        assert!(listed.contains(family), "{listed}");
        let column_family = format!("--column_family={family}");
        for (command, divider) in [("scan", " : "), ("dump", " ==> ")] {
            let text = ldb(&[command, "--hex", &column_family]).unwrap_or_default();
            assert_eq!(count(text, divider), *rows, "ldb {command} {column_family}");
        }
        ldb(&["idump", "--hex", &column_family]);
    }
    for command in [
        "checkconsistency",
        "manifest_dump",
        "list_live_files_metadata",
        "file_checksum_dump",
    ] {
        ldb(&[command]);
    }
    for (family, rows) in families {
        let column_family = format!("--column_family={family}");
        ldb(&["compact", &column_family]);
        let text = ldb(&["scan", "--hex", &column_family]).unwrap_or_default();
        assert_eq!(
            count(text, " : "),
            *rows,
            "ldb scan {column_family} after ldb compact"
        );
    }
    ldb(&["checkconsistency"]);
    commands
}

fn sst_dump_reads_tables(dir: &Path) -> usize {
    let copy = tempfile::TempDir::new().expect("a directory");
    let mut tables = 0;
    for entry in std::fs::read_dir(dir).expect("the database's directory") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "sst") {
            tables += 1;
            std::fs::copy(&path, copy.path().join(path.file_name().unwrap_or_default())).expect("a copy");
        }
    }
    if tables == 0 {
        return 0;
    }
    let commands = ["check", "scan", "raw", "verify"];
    for command in commands {
        let Some(mut sst_dump) = oracle::sst_dump() else {
            return 0;
        };
        let file = format!("--file={}", copy.path().display());
        let text = said(sst_dump.arg(file).arg(format!("--command={command}")));
        assert_eq!(
            text.matches("Process ").count(),
            tables,
            "sst_dump --command={command}: {text}"
        );
    }
    commands.len()
}

/// Opens every family with the stored options, as RocksDB's library does for a program that passes no
/// options.
const SCRIPT: &str = "\
import sys, rocksdict
path, families = sys.argv[1], [pair.rsplit('=', 1) for pair in sys.argv[2:]]
rocksdict.Options.load_latest(path)
db = rocksdict.Rdict(path)
assert sorted(rocksdict.Rdict.list_cf(path)) == sorted(name for name, rows in families)
for name, rows in families:
    family = db.get_column_family(name)
    assert len(list(family.items())) == int(rows), name
    family.compact_range(None, None)
    assert len(list(family.items())) == int(rows), name
db.close()
";

fn rocksdict_opens(dir: &Path, families: &[(&str, usize)]) -> usize {
    let Some(mut python) = oracle::rocksdict() else {
        return 0;
    };
    let copy = tempfile::TempDir::new().expect("a directory");
    for entry in std::fs::read_dir(dir).expect("the database's directory") {
        let path = entry.expect("an entry").path();
        std::fs::copy(&path, copy.path().join(path.file_name().unwrap_or_default())).expect("a copy");
    }
    let pairs = families.iter().map(|(family, rows)| format!("{family}={rows}"));
    said(python.args(["-c", SCRIPT]).arg(copy.path()).args(pairs));
    1
}
