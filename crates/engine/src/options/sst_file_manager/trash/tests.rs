//! The pace of deletions, one run of the task at a time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::env::ManualClock;
use base::statistics::{Statistics, Ticker};
use vfs::{FileSystem, MemFs};

use super::{Trash, Unneeded, is_trash};
use crate::options::thread_pool::Next;

const KB: usize = 1000;

struct Bench {
    fs: Arc<dyn FileSystem>,
    clock: Arc<ManualClock>,
    statistics: Arc<Statistics>,
    trash: Trash,
}

impl Bench {
    /// A trash for tests, which deletes 1000 bytes a second, at most `max_chunk` bytes of a file at a time.
    fn new(max_ratio: f64, max_chunk: u64) -> Bench {
        let clock = Arc::new(ManualClock::default());
        clock.advance(Duration::from_secs(1_000_000));
        let fs = MemFs::new();
        fs.create_dir_all(Path::new("db")).unwrap();
        Bench {
            fs: Arc::new(fs),
            trash: Trash::new(clock.clone(), None, KB as i64, max_ratio, max_chunk),
            clock,
            statistics: Statistics::new(),
        }
    }

    fn file(&self, name: &str, bytes: usize) {
        self.fs.write_file(Path::new(name), &vec![b'v'; bytes]).unwrap();
        self.trash.tracked.add(name.into(), bytes as u64);
    }

    /// Deletes a tracked file. True if it is queued.
    fn delete(&self, name: &str) -> bool {
        self.trash.delete(&self.unneeded(name)).unwrap()
    }

    fn unneeded<'a>(&'a self, name: &'a str) -> Unneeded<'a> {
        Unneeded {
            fs: &self.fs,
            path: Path::new(name),
            statistics: Some(&self.statistics),
        }
    }

    fn files(&self) -> Vec<String> {
        self.fs.list(Path::new("db")).unwrap()
    }

    /// Deletes queued files as far as the rate allows by now. Returns the number of deletions.
    fn runs(&self) -> usize {
        let mut runs = 0;
        while self.trash.work_off() == Next::Again {
            runs += 1;
        }
        runs
    }

    fn ticker(&self, ticker: Ticker) -> u64 {
        self.statistics.get_ticker_count(ticker)
    }
}

#[test]
fn each_file_waits_for_the_bytes_before_it() {
    let bench = Bench::new(10.0, 0);
    for (name, kbytes) in [("db/000001.sst", 2), ("db/000002.sst", 3), ("db/000003.blob", 1)] {
        bench.file(name, kbytes * KB);
        assert!(bench.delete(name));
    }
    assert_eq!(
        bench.files(),
        ["000001.sst.trash", "000002.sst.trash", "000003.blob.trash"]
    );
    assert_eq!(bench.trash.bytes.load(std::sync::atomic::Ordering::Relaxed), 6000);
    assert_eq!(bench.trash.tracked.total(), 6000, "trash takes space");
    assert_eq!(bench.runs(), 1, "the first one has nothing to wait for");
    assert_eq!(bench.trash.tracked.total(), 4000);
    bench.clock.advance(Duration::from_micros(1_999_999));
    assert_eq!(bench.runs(), 0);
    bench.clock.advance(Duration::from_micros(1));
    assert_eq!(bench.runs(), 1);
    bench.clock.advance(Duration::from_secs(3));
    assert_eq!(bench.runs(), 1);
    assert_eq!(bench.files(), [""; 0]);
    assert_eq!(bench.trash.tracked.total(), 0);
    assert_eq!(bench.ticker(Ticker::FilesMarkedTrash), 3);
    assert_eq!(bench.ticker(Ticker::FilesDeletedFromTrashQueue), 3);
    assert_eq!(bench.ticker(Ticker::FilesDeletedImmediately), 0);
    // The time in which the queue was empty gives no credit, and the last deletion still counts against the
    // rate.
    bench.file("db/000004.sst", KB);
    assert!(bench.delete("db/000004.sst"));
    assert_eq!(bench.runs(), 0);
    bench.clock.advance(Duration::from_secs(1));
    assert_eq!(bench.runs(), 1);
}

#[test]
fn a_large_file_is_cut_unless_it_has_another_name() {
    let bench = Bench::new(10.0, KB as u64);
    bench.file("db/000001.sst", 2 * KB + 500);
    bench.delete("db/000001.sst");
    let mut sizes = Vec::new();
    let trash = Path::new("db/000001.sst.trash");
    while bench.trash.work_off() == Next::Again {
        sizes.push(bench.fs.size(trash).unwrap_or(0));
        bench.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(sizes, [1500, 500, 0]);
    assert_eq!(bench.trash.bytes.load(std::sync::atomic::Ordering::Relaxed), 0);
    bench.file("db/000002.sst", 2 * KB);
    bench
        .fs
        .link(Path::new("db/000002.sst"), Path::new("checkpoint"))
        .unwrap();
    bench.delete("db/000002.sst");
    assert_eq!(bench.runs(), 1, "it is deleted whole");
    assert_eq!(bench.fs.size(Path::new("checkpoint")).unwrap(), 2000);
}

#[test]
fn too_much_trash_is_not_made() {
    let bench = Bench::new(0.25, 0);
    bench.file("db/000001.sst", 7 * KB);
    bench.file("db/000002.sst", 2 * KB);
    bench.file("db/000003.sst", KB);
    assert!(bench.delete("db/000002.sst"));
    assert!(bench.delete("db/000003.sst"), "a fifth is trash");
    assert!(!bench.delete("db/000001.sst"), "three tenths are");
    assert_eq!(bench.files(), ["000002.sst.trash", "000003.sst.trash"]);
    assert_eq!(bench.ticker(Ticker::FilesDeletedImmediately), 1);
    assert_eq!(bench.trash.tracked.total(), 3000);
}

#[test]
fn another_rate_counts_from_now_on() {
    let bench = Bench::new(10.0, 0);
    for name in ["db/000001.sst", "db/000002.sst", "db/000003.sst"] {
        bench.file(name, 100 * KB);
        bench.delete(name);
    }
    assert_eq!(bench.runs(), 1);
    bench
        .trash
        .rate
        .store(100 * KB as i64, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(bench.runs(), 1);
    bench.clock.advance(Duration::from_micros(999_999));
    assert_eq!(bench.runs(), 0);
    bench.trash.rate.store(0, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(bench.runs(), 1);
    bench.file("db/000004.sst", KB);
    assert!(!bench.delete("db/000004.sst"), "without a rate there is no trash");
}

#[test]
fn names_are_rocksdbs() {
    let bench = Bench::new(10.0, 0);
    for _ in 0..3 {
        bench.file("db/000001.sst", KB);
        bench.delete("db/000001.sst");
    }
    let names = bench.files();
    assert_eq!(
        names,
        ["000001.sst.trash", "000001.sst0.trash", "000001.sst1.trash"]
    );
    assert!(names.iter().all(|name| is_trash(name)));
    for name in [
        "000001.sst",
        "trash",
        ".trash",
        "notes.trash",
        "CURRENT.trash",
        "1.sstx.trash",
    ] {
        assert!(!is_trash(name), "{name}");
    }
    assert!(is_trash("000007.log.trash") && is_trash("000007.blob12.trash"));
}

#[test]
fn files_of_another_owner_end_with_their_bucket() {
    let bench = Bench::new(0.0, 0);
    bench.file("db/000001.sst", KB);
    bench.file("db/000002.sst", KB);
    bench
        .fs
        .link(Path::new("db/000002.sst"), Path::new("checkpoint"))
        .unwrap();
    let bucket = bench.trash.new_bucket();
    let delete = |name| {
        bench
            .trash
            .delete_unaccounted(&bench.unneeded(name), Some(bucket))
            .unwrap()
    };
    assert!(delete("db/000001.sst"), "the ratio is one of tracked files");
    assert!(!delete("db/000002.sst"), "another name keeps the bytes");
    assert_eq!(bench.runs(), 1);
    bench.trash.wait_for(Some(bucket));
    assert_eq!(bench.files(), [""; 0]);
}

/// Another process has opened the database meanwhile, and has deleted its trash.
#[test]
fn trash_that_is_gone_already_is_forgotten() {
    let bench = Bench::new(10.0, 0);
    bench.file("db/000001.sst", KB);
    bench.delete("db/000001.sst");
    bench.fs.remove(Path::new("db/000001.sst.trash")).unwrap();
    assert_eq!(bench.runs(), 1);
    assert_eq!(bench.trash.tracked.total(), 0);
    assert_eq!(bench.trash.bytes.load(std::sync::atomic::Ordering::Relaxed), 0);
}
