//! A process that writes without sync at full speed is killed at random moments, repeatedly, on the real file
//! system: every acknowledged write survives.
//!
//! The child process runs this test binary. It records acknowledged writes as counters in a file whose
//! contents, like the tail of the WAL, are in the kernel when the call returns. `ESKER_CRASH_ROUNDS`
//! multiplies the rounds.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use base::env::Rng;
use esker::{ColumnFamilyOptions, Db, FlushOptions, Options, WriteBatch};
use testkit::{Watchdog, wait_until};

use crate::crash::rounds;

/// The environment variable with the child's directory.
const CHILD: &str = "ESKER_CRASH_CHILD";

/// The number of writing threads.
const WRITERS: usize = 2;

/// The number of rows that a writer overwrites in turn.
const SLOTS: u64 = 3000;

const OTHER: &str = "other";

fn options(avoid_flush_during_recovery: bool) -> Options {
    let family = ColumnFamilyOptions {
        write_buffer_size: 256 << 10,
        target_file_size_base: 64 << 10,
        max_bytes_for_level_base: 256 << 10,
        ..ColumnFamilyOptions::default()
    };
    Options {
        create_if_missing: true,
        create_missing_column_families: true,
        avoid_flush_during_recovery,
        recycle_log_file_num: 1,
        max_manifest_file_size: 4096,
        column_families: BTreeMap::from([(OTHER.to_owned(), family.clone())]),
        column_family: family,
        ..Options::default()
    }
}

fn key(writer: usize, count: u64) -> Vec<u8> {
    format!("{writer}-{:06}", count.wrapping_mul(7919) % SLOTS).into_bytes()
}

fn value(count: u64) -> Vec<u8> {
    let mut value = format!("{count:020}").into_bytes();
    value.resize(20 + (count % 300) as usize, b'a' + (count % 26) as u8);
    value
}

/// The contents of the file of counters: one for each writer.
fn counters(dir: &Path) -> [u64; WRITERS] {
    let bytes = std::fs::read(dir.join("acknowledged")).unwrap_or_default();
    std::array::from_fn(|writer| {
        let counter = bytes.get(writer * 8..writer * 8 + 8);
        counter.map_or(0, |counter| {
            u64::from_le_bytes(counter.try_into().expect("eight bytes"))
        })
    })
}

/// Not a test: the work of the child until it is killed.
#[test]
#[ignore = "killed_at_any_moment runs it in a process of its own"]
fn child() {
    let dir = std::env::var_os(CHILD).expect("the test says where");
    let dir = Path::new(&dir);
    let start = counters(dir);
    let db = Db::open(&options(start[0].is_multiple_of(2)), dir.join("db")).unwrap();
    let told = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(dir.join("acknowledged"))
        .unwrap();
    std::thread::scope(|scope| {
        for (writer, &done) in start.iter().enumerate() {
            let (db, told) = (&db, &told);
            scope.spawn(move || {
                let other = db.column_family(OTHER).unwrap();
                for count in done + 1.. {
                    let mut batch = WriteBatch::new();
                    batch.put(&key(writer, count), &value(count));
                    batch.put_cf(&other, &key(writer, count), &value(count));
                    db.write(batch).unwrap();
                    told.write_all_at(&count.to_le_bytes(), writer as u64 * 8)
                        .unwrap();
                    if count.is_multiple_of(1500) {
                        db.flush_cf_opt(
                            std::slice::from_ref(&other),
                            &FlushOptions {
                                wait: false,
                                allow_write_stall: true,
                                ..FlushOptions::default()
                            },
                        )
                        .unwrap();
                    }
                }
            });
        }
    });
}

/// The rows of the two families, which must be equal, by writer and key.
fn rows(db: &Db) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let of = |name: &str| {
        let family = db
            .column_family(name)
            .unwrap_or_else(|| panic!("family {name} is gone"));
        let mut rows = BTreeMap::new();
        let mut iter = db.iter_cf(&family);
        iter.seek_to_first();
        while iter.valid() {
            rows.insert(iter.key().to_vec(), iter.value().to_vec());
            iter.next();
        }
        iter.status().unwrap();
        rows
    };
    let (default, other) = (of("default"), of(OTHER));
    assert!(
        default == other,
        "a batch took place in one family and not in the other"
    );
    default
}

/// The rows of one writer after `count` writes.
fn expected(writer: usize, count: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    // Writers overwrite the rows in turn, so only the last [`SLOTS`] writes are still visible.
    (count.saturating_sub(SLOTS) + 1..=count)
        .map(|count| (key(writer, count), value(count)))
        .collect()
}

#[test]
fn killed_at_any_moment() {
    let mut rng = testkit::rng();
    let dir = tempfile::tempdir().unwrap();
    let _watchdog = Watchdog::new(
        "killed_at_any_moment",
        Duration::from_secs(240 + 60 * rounds()),
        String::new,
    );
    for round in 0..12 * rounds() {
        kill_once(dir.path(), round, &mut rng);
        testkit::record("crash_tests", &[("kills", 1)]);
    }
    assert!(
        counters(dir.path()).iter().all(|&count| count > 1000),
        "the children hardly wrote"
    );
}

fn kill_once(dir: &Path, round: u64, rng: &mut Rng) {
    let before = counters(dir);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "crash::kill::child"])
        .env(CHILD, dir)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // In one of three rounds the child writes many rows, in the second some; in the third it is killed at any
    // moment, including its recovery.
    let least = match round % 3 {
        0 => 300,
        1 => 1,
        _ => 0,
    };
    let written = || counters(dir).into_iter().zip(before);
    wait_until("the child has written", || {
        written().all(|(now, before)| now >= before + least)
    });
    // The delay before the kill is a number of reads of the counters, not a time.
    for _ in 0..rng.u64(0..10_000) {
        counters(dir);
    }
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(
        status.code().is_none(),
        "round {round}: the child ended by itself: {status}"
    );

    let acknowledged = counters(dir);
    if !dir.join("db/CURRENT").exists() {
        assert_eq!(acknowledged, [0; WRITERS], "round {round}: the database is gone");
        return;
    }
    let db = Db::open(&options(rng.bool()), dir.join("db"))
        .unwrap_or_else(|error| panic!("round {round}: {error}"));
    let found = rows(&db);
    for (writer, &count) in acknowledged.iter().enumerate() {
        let own = |(key, _): &(&Vec<u8>, &Vec<u8>)| key.starts_with(format!("{writer}-").as_bytes());
        let found: BTreeMap<Vec<u8>, Vec<u8>> = found
            .iter()
            .filter(own)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        // The last write may have taken effect without an acknowledgement.
        if found == expected(writer, count) {
            continue;
        }
        if found == expected(writer, count + 1) {
            let told = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(dir.join("acknowledged"))
                .unwrap();
            told.write_all_at(&(count + 1).to_le_bytes(), writer as u64 * 8)
                .unwrap();
            continue;
        }
        let should = expected(writer, count);
        let wrong = should.iter().find(|(key, value)| found.get(*key) != Some(value));
        panic!(
            "round {round}: writer {writer} got {count} acknowledgements, {} rows found, {} expected, the first wrong one {:?}",
            found.len(),
            should.len(),
            wrong.map(|(key, value)| {
                (
                    String::from_utf8_lossy(key).into_owned(),
                    String::from_utf8_lossy(&value[..20]).into_owned(),
                )
            })
        );
    }
}
