//! `max_open_files`, by the descriptors a process has.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dbtest::by_hand::{flush, rewrite};
use esker::{
    CompactionFilter, CompactionFilterFactory, Db, Decision, FilterContext, Options, ReadOptions, ValueType,
};
use tempfile::TempDir;

const FILES: u32 = 60;

/// Descriptors of this process that lead to tables, and to blob files, in `dir`.
fn descriptors(dir: &Path) -> (usize, usize) {
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let open: Vec<PathBuf> = open
        .filter_map(|descriptor| std::fs::read_link(descriptor.ok()?.path()).ok())
        .filter(|file| file.starts_with(dir))
        .collect();
    let of = |extension: &str| {
        let files = open
            .iter()
            .filter(|file| file.extension().is_some_and(|is| is == extension));
        files.count()
    };
    (of("sst"), of("blob"))
}

/// Looks at each row how many blob files are open.
struct Watch {
    dir: PathBuf,
    most: Arc<AtomicUsize>,
}

impl CompactionFilter for Watch {
    fn filter(&mut self, _: usize, _: &[u8], _: ValueType, value: &[u8]) -> Decision {
        assert_eq!(value.len(), 200);
        self.most.fetch_max(descriptors(&self.dir).1, Ordering::Relaxed);
        Decision::Keep
    }
}

impl CompactionFilterFactory for Watch {
    fn name(&self) -> &str {
        "Watch"
    }

    fn create(&self, _: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(Watch {
            dir: self.dir.clone(),
            most: self.most.clone(),
        }))
    }
}

fn key(file: u32, row: u32) -> Vec<u8> {
    format!("{row}-{file:04}").into_bytes()
}

fn value(file: u32, row: u32) -> Vec<u8> {
    let mut value = format!("{file}/{row}/").into_bytes();
    value.resize(200, b'v');
    value
}

fn read_all(db: &Db) {
    let mut rng = testkit::rng();
    for _ in 0..1000 {
        let (file, row) = (rng.u32(..FILES), rng.u32(..3));
        assert_eq!(db.get(&key(file, row)).unwrap(), Some(value(file, row)));
    }
}

/// Sixty tables and as many blob files. Readers have as many open as they may, or all; a compaction that reads all values no more than a
/// quarter of that besides.
#[test]
fn tables_and_blob_files_are_closed_when_too_many_are_open() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    let most = Arc::new(AtomicUsize::new(0));
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.enable_blob_files = true;
    options.column_family.min_blob_size = 100;
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, dir).unwrap();
    for file in 0..FILES {
        for row in 0..3 {
            db.put(&key(file, row), &value(file, row)).unwrap();
        }
        flush(&db);
    }
    read_all(&db);
    assert_eq!(descriptors(dir), (FILES as usize, FILES as usize));
    drop(db);

    options.max_open_files = 30;
    options.column_family.compaction_filter_factory = Some(Arc::new(Watch {
        dir: dir.to_path_buf(),
        most: most.clone(),
    }));
    let db = Db::open(&options, dir).unwrap();
    for _ in 0..3 {
        read_all(&db);
        let (tables, blobs) = descriptors(dir);
        assert!(tables + blobs <= 20 && blobs > 0, "{tables} and {blobs}");
    }
    rewrite(&db);
    // The filter sees values.
    let most = most.load(Ordering::Relaxed);
    assert!((1..=25).contains(&most), "{most}");
    read_all(&db);
}

/// Iterators hold the tables they read, all of them the same: no more are open than there are files.
#[test]
fn iterators_share_tables_that_are_more_than_may_be_open() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    let mut options = Options {
        create_if_missing: true,
        max_open_files: 20,
        ..Options::default()
    };
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, dir).unwrap();
    for file in 0..FILES {
        db.put(&key(file, 0), &value(file, 0)).unwrap();
        flush(&db);
    }
    let read = ReadOptions::default();
    let mut iterators: Vec<_> = (0..20).map(|_| db.iter(&read)).collect();
    for iter in &mut iterators {
        iter.seek_to_first();
        let mut rows = 0;
        while iter.valid() {
            assert_eq!(iter.value(), value(rows, 0));
            rows += 1;
            iter.next();
        }
        iter.status().unwrap();
        assert_eq!(rows, FILES);
    }
    assert_eq!(descriptors(dir).0, FILES as usize);
    drop(iterators);
    // Whoever opens another table closes those that are kept no more.
    db.put(b"z", b"z").unwrap();
    flush(&db);
    assert_eq!(db.get(b"z").unwrap(), Some(b"z".to_vec()));
    let left = descriptors(dir).0;
    assert!(left < FILES as usize - 5, "{left}");
}
