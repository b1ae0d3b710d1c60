//! Secondaries over a primary of RocksDB, and its secondaries over ours.

use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dbtest::by_hand::flush;
use esker::{Db, ErrorKind, Options};
use tempfile::TempDir;

use super::round_of;

/// Writes a batch to its keys repeatedly with RocksDB, flushes, and prints its progress. Waits for a line
/// halfway.
const ROCKSDB_WRITES: &str = r#"
import sys
from rocksdict import Rdict, Options, WriteBatch
options = Options(raw_mode=True)
options.create_if_missing(True)
options.set_write_buffer_size(64 << 10)
options.set_max_write_buffer_number(4)
db = Rdict(sys.argv[1], options)
for round in range(1, int(sys.argv[2]) + 1):
    value = str(round).encode() + b"." * (round % 900)
    batch = WriteBatch(raw_mode=True)
    for key in range(8):
        batch.put(bytes([key]), value)
    db.write(batch)
    if round % 97 == 0:
        db.flush()
    if round % 10 == 0:
        print(round, flush=True)
    if round * 2 == int(sys.argv[2]):
        sys.stdin.readline()
db.close()
"#;

#[test]
fn rocksdb_is_followed_while_it_writes() {
    const ROUNDS: u64 = 4000;
    let Some(mut python) = testkit::oracle::rocksdict() else {
        return;
    };
    let dir = TempDir::new().unwrap();
    let (path, own) = (dir.path().join("db"), dir.path().join("own"));
    let mut writer = python
        .args(["-c", ROCKSDB_WRITES])
        .arg(&path)
        .arg(ROUNDS.to_string())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut acknowledged: u64 = said.next().unwrap().unwrap().parse().unwrap();
    let told = Arc::new(AtomicU64::new(acknowledged));
    let telling = told.clone();
    let reader = std::thread::spawn(move || {
        for line in said {
            telling.store(line.unwrap().parse().unwrap(), Ordering::Release);
        }
    });
    let secondary = Db::open_as_secondary(&Options::default(), &path, &own).unwrap();
    let (mut last, mut advances) = (0, 0);
    let mut halfway = writer.stdin.take();
    loop {
        let ended = reader.is_finished();
        acknowledged = acknowledged.max(told.load(Ordering::Acquire));
        match secondary.try_catch_up_with_primary() {
            Err(error) if error.kind() == ErrorKind::TryAgain => continue,
            result => result.unwrap(),
        }
        let mut rounds = BTreeSet::new();
        for key in 0..8u8 {
            rounds.insert(round_of(&secondary.get([key]).unwrap().unwrap()));
        }
        assert_eq!(rounds.len(), 1, "one batch is seen in part: {rounds:?}");
        let round = rounds.pop_first().unwrap();
        assert!(round >= last, "{round} after {last}");
        assert!(
            round >= acknowledged,
            "{round}, and {acknowledged} was there before"
        );
        advances += u64::from(round > last);
        last = round;
        if let Some(mut go_on) = halfway.take() {
            go_on.write_all(b"\n").unwrap();
        }
        if ended {
            break;
        }
    }
    assert!(writer.wait().unwrap().success());
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(round_of(&secondary.get([0]).unwrap().unwrap()), ROUNDS);
    assert!(advances > 1, "{advances}");
}

#[test]
fn rocksdb_follows_us() {
    let Some(mut ldb) = testkit::oracle::ldb() else {
        return;
    };
    let dir = TempDir::new().unwrap();
    let (path, own) = (dir.path().join("db"), dir.path().join("own"));
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.table.format_version = 5;
    let db = Db::open(&options, &path).unwrap();
    db.put(b"in-table", b"1").unwrap();
    flush(&db);
    db.put(b"in-wal", b"2").unwrap();
    let output = ldb
        .arg(format!("--db={}", path.display()))
        .arg(format!("--secondary_path={}", own.display()))
        .arg("scan")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        printed.contains("in-table : 1") && printed.contains("in-wal : 2"),
        "{printed} {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
