//! Missing WALs: one that is missing in the middle of the sequence, and those that a MANIFEST still needs.

use std::path::Path;
use std::sync::Arc;

use base::filename;
use dbtest::crash::dump;
use esker::{ColumnFamilyOptions, Db, ErrorKind, Options, RecoveryMode, WriteOptions};
use vfs::{FileSystem, MemFs};

const DIR: &str = "/db";

fn options(fs: &MemFs) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(fs.clone()),
        ..Options::default()
    }
}

fn wals(fs: &dyn FileSystem, dir: &Path) -> Vec<u64> {
    let names = fs.list(dir).unwrap_or_default();
    let numbers = names
        .iter()
        .filter_map(|name| name.strip_suffix(".log")?.parse().ok());
    numbers.collect()
}

fn keys(db: &Db) -> String {
    let rows = dump(db).unwrap();
    let keys = rows.values().flat_map(|rows| rows.keys());
    keys.map(|key| String::from_utf8_lossy(key).into_owned())
        .collect()
}

/// A file system with a closed database and the rows a, b and c in one WAL each.
fn three_wals(recycled: usize) -> (MemFs, Vec<u64>) {
    let fs = MemFs::new();
    let options = Options {
        recycle_log_file_num: recycled,
        ..options(&fs)
    };
    let db = Db::open(&options, DIR).unwrap();
    for (nth, key) in ["a", "b", "c"].into_iter().enumerate() {
        if nth > 0 {
            // A checkpoint with this option begins a WAL and flushes nothing.
            let with_wals = esker::CheckpointOptions {
                log_size_for_flush: u64::MAX,
            };
            let to = format!("/copy{nth}");
            db.create_checkpoint(&to, &with_wals).unwrap();
        }
        db.put(key.as_bytes(), b"value").unwrap();
    }
    db.close().unwrap();
    let wals = wals(&fs, Path::new(DIR));
    assert_eq!(wals.len(), 3);
    (fs, wals)
}

#[test]
fn a_missing_wal_is_noticed_and_what_lies_behind_it_is_kept() {
    use RecoveryMode::{
        AbsoluteConsistency, PointInTime, SkipAnyCorruptedRecords, TolerateCorruptedTailRecords,
    };
    for recycled in [0, 2] {
        for (missing, prefix, rest) in [(0, "", "bc"), (1, "a", "ac"), (2, "ab", "ab")] {
            for mode in [
                TolerateCorruptedTailRecords,
                AbsoluteConsistency,
                PointInTime,
                SkipAnyCorruptedRecords,
            ] {
                let what = format!("{missing} of 3, {mode:?}, {recycled} recycled");
                let (fs, numbers) = three_wals(recycled);
                let gone = filename::wal(Path::new(DIR), numbers[missing]);
                fs.remove(&gone).unwrap();
                let left = |dir: &str| -> Vec<Vec<u8>> {
                    let wals = wals(&fs, Path::new(dir)).into_iter();
                    wals.map(|number| fs.read_file(&filename::wal(Path::new(dir), number)).unwrap())
                        .collect()
                };
                let behind = left(DIR).split_off(missing);
                let options = Options {
                    wal_recovery_mode: mode,
                    ..options(&fs)
                };
                let expected = match mode {
                    PointInTime => Ok(prefix),
                    SkipAnyCorruptedRecords => Ok(rest),
                    // A missing last WAL is not noticed, because no other WAL names it.
                    _ if missing == 2 => Ok(rest),
                    _ => Err(()),
                };
                let answer = |opened: Result<Db, esker::Error>| match opened {
                    Ok(db) => Ok(keys(&db)),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
                        let text = error.to_string();
                        let name = format!("{:06}.log", numbers[missing]);
                        assert!(
                            text.contains("Missing WAL") && text.contains(&name),
                            "{what}: {error}"
                        );
                        Err(())
                    }
                };
                let expected = expected.map(str::to_owned);
                assert_eq!(
                    answer(Db::open_read_only(&options, DIR)),
                    expected,
                    "{what}: read only"
                );
                let second = Db::open_as_secondary(&options, DIR, "/second");
                // A secondary continues at the end of a WAL, as `PointInTime` does, or fails.
                assert_eq!(second.is_ok(), missing == 2, "{what}: secondary");
                drop(second);
                assert_eq!(answer(Db::open(&options, DIR)), expected, "{what}");
                match (mode, &expected) {
                    (PointInTime, _) => assert_eq!(left("/db/lost"), behind, "{what}"),
                    (_, Err(())) => assert_eq!(left(DIR)[missing..], behind, "{what}"),
                    _ => {}
                }
                if let Ok(expected) = expected {
                    assert_eq!(keys(&Db::open(&options, DIR).unwrap()), expected, "{what}: again");
                }
            }
        }
    }
}

#[test]
fn a_wal_goes_only_when_the_manifest_says_that_it_is_not_needed() {
    let fs = MemFs::new();
    let options = Options {
        column_family: ColumnFamilyOptions {
            write_buffer_size: 64 << 10,
            ..ColumnFamilyOptions::default()
        },
        ..options(&fs)
    };
    let mut rng = testkit::rng();
    for life in 0..20 {
        let options = Options {
            avoid_flush_during_recovery: rng.bool(),
            recycle_log_file_num: rng.usize(..3),
            wal_recovery_mode: RecoveryMode::PointInTime,
            ..options.clone()
        };
        let db = Db::open(&options, DIR).unwrap();
        // The families `idle` and `cold` have no rows, and never record that they need no older WAL.
        for name in ["idle", "cold"] {
            if db.column_family(name).is_none() {
                db.create_column_family(name, &options.column_family).unwrap();
            }
        }
        for step in 0..rng.usize(1..30) {
            match rng.usize(..10) {
                0 => db.flush().unwrap(),
                1 => drop(
                    db.create_checkpoint(
                        format!("/copy{life}-{step}"),
                        &esker::CheckpointOptions {
                            log_size_for_flush: u64::MAX,
                        },
                    )
                    .unwrap(),
                ),
                2 => {
                    let family = db.column_family("cold").unwrap();
                    let options = WriteOptions::default();
                    db.put_cf_opt(&family, b"key", b"value", &options).unwrap();
                }
                3 => {
                    let family = db.column_family("cold").unwrap();
                    db.drop_column_family(&family).unwrap();
                    db.create_column_family("cold", &options.column_family).unwrap();
                }
                _ => db
                    .put(format!("{:06}", rng.usize(..100)).as_bytes(), [b'v'; 9000])
                    .unwrap(),
            }
        }
        let rows = dump(&db).unwrap();
        // The process dies. No file that recovery needs may have been deleted.
        let left = fs.process_death_clone();
        let survived = Db::open(
            &Options {
                fs: Arc::new(left.clone()),
                ..options
            },
            DIR,
        )
        .unwrap();
        assert_eq!(dump(&survived).unwrap(), rows, "life {life}");
        assert!(!left.exists(Path::new("/db/lost")).unwrap(), "life {life}");
        db.close().unwrap();
    }
}
