//! A logical backup of a database during writes, and the memory and files that the backup keeps from being
//! freed.
//!
//! ```console
//! $ cargo run --release --example logical_backup             # releases replaced memtables and files
//! $ cargo run --release --example logical_backup -- --hold   # holds everything from its start
//! ```
//!
//! One thread overwrites every row repeatedly. The other scans a snapshot slowly, over a few seconds, and
//! prints the numbers of `Db::pins` twice a second: the bytes of flushed memtables and replaced files that it
//! holds. It checks that every row is that of the snapshot. `--seconds=N` makes the scan longer, `--rows=N`
//! the database larger.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use esker::{Db, Options, ReadOptions};

const VALUE_LEN: usize = 400;

fn value(row: u64, round: u64) -> Vec<u8> {
    let mut value = vec![0; VALUE_LEN];
    fastrand::Rng::with_seed(row << 32 | round).fill(&mut value);
    value
}

/// The number after `--NAME=` in the arguments.
fn number(name: &str, default: u64) -> u64 {
    let prefix = format!("--{name}=");
    std::env::args()
        .find_map(|arg| arg.strip_prefix(&prefix)?.parse().ok())
        .unwrap_or(default)
}

fn main() -> esker::Result<()> {
    let hold = std::env::args().any(|arg| arg == "--hold");
    let (rows, seconds) = (number("rows", 100_000).max(1), number("seconds", 5));
    let dir = std::env::temp_dir().join(format!("esker-logical-backup-{}", std::process::id()));
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.write_buffer_size = 4 << 20;
    let db = Db::open(&options, &dir)?;
    for row in 0..rows {
        db.put(row.to_be_bytes(), value(row, 0))?;
    }

    let snapshot = db.snapshot();
    let done = AtomicBool::new(false);
    let backed_up = std::thread::scope(|scope| {
        let writer = scope.spawn(|| -> esker::Result<u64> {
            for round in 1.. {
                for row in 0..rows {
                    if done.load(Ordering::Relaxed) {
                        return Ok(round);
                    }
                    db.put(row.to_be_bytes(), value(row, round))?;
                }
            }
            Ok(0)
        });
        let mut iter = db.iter_opt(&ReadOptions {
            snapshot: Some(snapshot),
            auto_refresh_iterator_with_snapshot: !hold,
            fill_cache: false,
            ..ReadOptions::default()
        });
        let start = Instant::now();
        let mut told = start;
        let mut found = 0u64;
        iter.seek_to_first();
        while iter.valid() {
            assert_eq!(iter.key(), found.to_be_bytes());
            assert_eq!(iter.value(), value(found, 0), "row {found} is not the snapshot's");
            found += 1;
            iter.next();
            // The target of a backup accepts rows at a limited rate.
            let due = Duration::from_secs(seconds).mul_f64(found as f64 / rows as f64);
            std::thread::park_timeout(due.saturating_sub(start.elapsed()));
            if told.elapsed() >= Duration::from_millis(500) {
                told = Instant::now();
                let pins = db.pins();
                println!(
                    "{:5.1} s: {found:7} rows; {} replaced super versions held, {:6.1} MiB of memtables, {:7.1} MiB of files",
                    start.elapsed().as_secs_f64(),
                    pins.super_versions.len(),
                    pins.memtable_bytes as f64 / 1048576.0,
                    pins.file_bytes as f64 / 1048576.0
                );
            }
        }
        iter.status()?;
        done.store(true, Ordering::Relaxed);
        let rounds = writer.join().expect("the writer panicked")?;
        println!("{found} rows backed up as of the snapshot, while each was overwritten some {rounds} times");
        esker::Result::Ok(found)
    })?;
    assert_eq!(backed_up, rows);
    db.close()?;
    std::fs::remove_dir_all(&dir).map_err(|error| esker::Error::io("remove directory", &dir, error))
}
