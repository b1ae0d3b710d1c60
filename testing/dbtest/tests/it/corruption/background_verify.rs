//! Background verification: it finds and reports corruption, keeps its rate, and does not disturb other work.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use base::env::ManualClock;
use dbtest::events::Recorder;
use dbtest::small::{self, DIR, SmallDatabase};
use esker::{Db, Event, FileChecksumGenFactory, Options};
use vfs::{FileSystem, MemFs};

fn place(checksums: FileChecksumGenFactory) -> (SmallDatabase, MemFs, Options, Arc<Recorder>) {
    let whole = SmallDatabase::make(checksums).unwrap();
    let fs = MemFs::new();
    whole.put(&fs, Path::new(DIR)).unwrap();
    let mut options = small::options(Arc::new(fs.clone()), checksums);
    let events = Recorder::selected(|event| matches!(event, Event::CorruptionFound { .. }));
    options.listeners = vec![events.clone()];
    options.verify_rate_bytes_per_sec = 1 << 30;
    (whole, fs, options, events)
}

fn wait_for(done: impl Fn() -> bool) {
    testkit::wait_until("the files were read", done);
}

#[test]
fn a_whole_database_is_gone_through() {
    for checksums in [FileChecksumGenFactory::None, FileChecksumGenFactory::Crc32c] {
        let (whole, _, options, events) = place(checksums);
        let db = Db::open(&options, DIR).unwrap();
        let cache = options.column_family.table.block_cache.clone().unwrap();
        let before = cache.usage();
        wait_for(|| db.verify_progress().passes > 0);
        let progress = db.verify_progress();
        assert_eq!(progress.faults, 0);
        assert!(progress.bytes_read >= progress.bytes, "{progress}");
        assert_eq!(cache.usage(), before, "it asks the cache for room");
        // The comparison is repeated, because the next pass of the verification may begin between the two
        // reads of its progress.
        wait_for(|| {
            let told = db.property(&db.default_column_family(), "esker.verify");
            told.unwrap() == db.verify_progress().to_string()
        });
        assert_eq!(small::rows(&db).unwrap(), *whole.rows());
        db.close().unwrap();
        assert_eq!(events.count(), 0);
    }
}

#[test]
fn rot_is_found_and_told() {
    for checksums in [FileChecksumGenFactory::None, FileChecksumGenFactory::Crc32c] {
        for (suffix, at) in [(".sst", 20), (".blob", 100)] {
            let (whole, fs, options, events) = place(checksums);
            let (name, good) = whole
                .files
                .iter()
                .rfind(|(name, _)| name.ends_with(suffix))
                .unwrap();
            let db = Db::open(&options, DIR).unwrap();
            let live = db.live_files();
            let file = live.iter().find(|file| file.path.ends_with(name));
            let mut bad = good.clone();
            bad[at] ^= 4;
            fs.write_file(&Path::new(DIR).join(name), &bad).unwrap();
            let event = events.wait_next();
            let Event::CorruptionFound {
                path,
                offset,
                smallest_key,
                largest_key,
                error,
                ..
            } = event
            else {
                panic!("{event}");
            };
            assert!(path.ends_with(name) && error.is_corruption(), "{path} {error}");
            if let Some(file) = file {
                // The first block contains part of the file's keys.
                assert_eq!((offset, &smallest_key), (0, &file.smallest_key));
                assert!(
                    smallest_key <= largest_key && largest_key < file.largest_key,
                    "{largest_key:?}"
                );
            } else {
                assert!(offset <= 100 && offset > 0, "{offset}");
            }
            assert!(db.verify_progress().faults > 0);
            db.put(b"still", b"written").unwrap();
            db.close().unwrap();
        }
    }
}

#[test]
fn rot_stops_writes_where_that_is_asked_for() {
    let (whole, fs, mut options, events) = place(FileChecksumGenFactory::None);
    options.verify_stops_writes = true;
    let (name, good) = whole
        .files
        .iter()
        .rfind(|(name, _)| name.ends_with(".sst"))
        .unwrap();
    let db = Db::open(&options, DIR).unwrap();
    let mut bad = good.clone();
    bad[20] ^= 1;
    fs.write_file(&Path::new(DIR).join(name), &bad).unwrap();
    events.wait_next();
    wait_for(|| db.put(b"key", b"value").is_err());
    let error = db.put(b"key", b"value").unwrap_err();
    assert!(
        error.to_string().contains("verify live files") && error.to_string().contains(name),
        "{error}"
    );
}

#[test]
fn it_reads_no_faster_than_it_may_and_can_be_changed_and_stopped() {
    let (_, _, mut options, _events) = place(FileChecksumGenFactory::Crc32c);
    let clock = Arc::new(ManualClock::default());
    options.clock = clock.clone();
    options.verify_rate_bytes_per_sec = 10_000;
    let db = Db::open(&options, DIR).unwrap();
    // The verification may read a tenth of a second's bytes at the start, and as much in each tenth.
    let mut tenths = 1;
    while db.verify_progress().passes == 0 {
        let read = db.verify_progress().bytes_read;
        assert!(
            read <= 1000 * (tenths + 1),
            "{read} bytes in {tenths} tenths of a second"
        );
        clock.advance(Duration::from_millis(100));
        tenths += 1;
        thread::yield_now();
    }
    // A rate of 0 makes the verification abandon the current file.
    db.set_verify_rate(0).unwrap();
    db.set_verify_rate(1).unwrap();
    db.close().unwrap();
    // The clock stands still after the first file was read, so the thread waits indefinitely for the next
    // one; the close succeeds nevertheless.
    for _ in 0..3 {
        let db = Db::open(&options, DIR).unwrap();
        while db.verify_progress().bytes_read == 0 {
            clock.advance(Duration::from_millis(100));
            thread::yield_now();
        }
        db.close().unwrap();
    }
    // The verification begins while the database is open.
    options.verify_rate_bytes_per_sec = 0;
    options.clock = Arc::new(base::env::SystemClock::new());
    let db = Db::open(&options, DIR).unwrap();
    db.set_verify_rate(1 << 30).unwrap();
    wait_for(|| db.verify_progress().passes > 0);
}
