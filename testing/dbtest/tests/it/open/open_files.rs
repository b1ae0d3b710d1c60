//! The option `max_open_files`, checked by the descriptors of the process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::env::Rng;
use dbtest::by_hand::{flush, rewrite};
use dbtest::files;
use esker::{
    Cache, CacheOptions, ColumnFamilyOptions, CompactionFilter, CompactionFilterFactory, CompressionType, Db,
    Decision, FilterContext, Options, ReadOptions, ValueType,
};
use tempfile::TempDir;
use vfs::{FileSystem, MemFs, UnsyncedPolicy};

const FILES: u32 = 60;

/// The number of descriptors of this process for tables, and for blob files, in `dir`.
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

/// A filter that records, at each row, the number of open blob files.
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
        assert_eq!(db.get(key(file, row)).unwrap(), Some(value(file, row)));
    }
}

/// Sixty tables and as many blob files. Readers have as many open as the option permits; a compaction that
/// reads all values has at most a quarter of that in addition.
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
            db.put(key(file, row), value(file, row)).unwrap();
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
    // The compaction filter reads the values, so blob files are open.
    let most = most.load(Ordering::Relaxed);
    assert!((1..=25).contains(&most), "{most}");
    read_all(&db);
}

/// Iterators share the tables that they hold: the number of open tables is at most that of the files.
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
        db.put(key(file, 0), value(file, 0)).unwrap();
        flush(&db);
    }
    let read = ReadOptions::default();
    let mut iterators: Vec<_> = (0..20).map(|_| db.iter_opt(&read)).collect();
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
    // Opening another table closes the tables that no iterator holds any more.
    db.put(b"z", b"z").unwrap();
    flush(&db);
    assert_eq!(db.get(b"z").unwrap(), Some(b"z".to_vec()));
    let left = descriptors(dir).0;
    assert!(left < FILES as usize - 5, "{left}");
}

fn small(recycle_log_file_num: usize) -> Options {
    Options {
        create_if_missing: true,
        recycle_log_file_num,
        column_family: ColumnFamilyOptions {
            write_buffer_size: 64 << 10,
            level0_file_num_compaction_trigger: 4,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
}

/// Overwrites the same rows with about a megabyte of values, which fills and flushes memtables.
fn overwrite(db: &Db, family: &str) {
    let family = db.column_family(family).unwrap();
    for row in 0..5_000u32 {
        let key = (row % 50).to_be_bytes();
        db.put_cf(&family, key, [b'v'; 200]).unwrap();
    }
}

/// Writes without sync never sync a WAL: neither a WAL nor any other file stays open after its deletion.
#[test]
fn no_deleted_file_stays_open_at_rest() {
    for recycled in [0, 2] {
        for others in [0, 1] {
            let dir = TempDir::new().unwrap();
            let dir = dir.path();
            let db = Db::open(&small(recycled), dir).unwrap();
            for other in 0..others {
                db.create_column_family(&format!("{other}"), &ColumnFamilyOptions::default())
                    .unwrap();
            }
            for _ in 0..5 {
                overwrite(&db, "default");
            }
            files::come_to_rest(&db).unwrap();
            assert_eq!(files::deleted_but_open(dir), Vec::<String>::new());
            drop(db);
            assert_eq!(files::deleted_but_open(dir), Vec::<String>::new());
        }
    }
}

/// The blocks of a mapped table in the block cache are bytes of its mapping, which keeps the space of the file
/// as a descriptor does. They leave the cache with the table: when the file is obsolete, when it is closed for
/// others, and when the database is closed, whose cache others may share.
#[test]
fn no_block_in_the_cache_keeps_a_deleted_file_mapped() {
    for (max_open_files, in_cache) in [(-1, false), (-1, true), (20, false), (20, true)] {
        let mem = MemFs::new();
        let mut options = small(0);
        options.fs = Arc::new(mem.clone());
        options.allow_mmap_reads = true;
        options.max_open_files = max_open_files;
        let family = &mut options.column_family;
        family.compression = CompressionType::None;
        family.disable_auto_compactions = true;
        let table = &mut family.table;
        table.cache_index_and_filter_blocks = in_cache;
        table.block_cache = Some(Cache::lru(CacheOptions {
            capacity: 64 << 20,
            ..CacheOptions::default()
        }));
        let db = Db::open(&options, "/db").unwrap();
        for round in 0..2 {
            for file in 0..15u32 {
                for row in 0..20u32 {
                    let key = [row.to_be_bytes(), file.to_be_bytes()].concat();
                    db.put(&key, [b'v'; 600]).unwrap();
                }
                flush(&db);
            }
            // The first read of a block may leave the cache as it is.
            for _ in 0..2 {
                for row in 0..20u32 {
                    for file in 0..15u32 {
                        let key = [row.to_be_bytes(), file.to_be_bytes()].concat();
                        assert!(db.get(&key).unwrap().is_some());
                    }
                }
            }
            rewrite(&db);
            files::come_to_rest(&db).unwrap();
            assert_eq!(
                mem.open_without_name(),
                0,
                "{max_open_files}, {in_cache}: round {round}"
            );
        }
        db.close().unwrap();
        drop(db);
        Db::destroy(&options, "/db").unwrap();
        assert_eq!(mem.open_without_name(), 0, "{max_open_files}, {in_cache}: closed");
    }
}

/// The WALs of a dropped family are closed, although no flush shows that they are not needed.
#[test]
fn no_wal_of_dropped_families_stays_open() {
    let mem = MemFs::new();
    let mut options = small(0);
    options.fs = Arc::new(mem.clone());
    options.column_family.min_write_buffer_number_to_merge = 100;
    options.column_family.max_write_buffer_number = 200;
    let db = Db::open(&options, "/db").unwrap();
    for round in 0..10 {
        let name = format!("{round}");
        let family = db.create_column_family(&name, &options.column_family).unwrap();
        overwrite(&db, &name);
        db.drop_column_family(&family).unwrap();
        drop(family);
        files::come_to_rest(&db).unwrap();
        assert_eq!(mem.open_without_name(), 0, "in round {round}");
        let names = mem.list(Path::new("/db")).unwrap();
        let wals: Vec<_> = names.iter().filter(|name| name.ends_with(".log")).collect();
        assert_eq!(wals.len(), 1, "in round {round}: {wals:?}");
    }
}

/// A sync skips WALs whose rows are in tables. After a loss of power, such a WAL may exist again with any
/// part of its contents.
#[test]
fn a_sync_keeps_its_promise_without_the_wals_that_were_flushed() {
    let mut rng = testkit::rng();
    for round in 0..20 {
        let mem = MemFs::new();
        let mut options = small(0);
        options.fs = Arc::new(mem.clone());
        let db = Db::open(&options, "/db").unwrap();
        let other = db
            .create_column_family("other", &ColumnFamilyOptions::default())
            .unwrap();
        if round % 2 == 0 {
            db.put_cf(&other, b"o", b"o").unwrap();
            flush(&db);
            db.drop_column_family(&other).unwrap();
        }
        for row in 0..3u8 {
            db.put([row], [row]).unwrap();
            flush(&db);
        }
        db.put(b"last", b"last").unwrap();
        files::come_to_rest(&db).unwrap();
        db.sync_wal().unwrap();
        for policy in [
            UnsyncedPolicy::Lose,
            UnsyncedPolicy::Keep,
            UnsyncedPolicy::Random,
            UnsyncedPolicy::RandomPages,
        ] {
            let mut seed = Rng::with_seed(rng.u64(..));
            let mut options = options.clone();
            options.fs = Arc::new(mem.crash_clone(&mut seed, policy));
            let db = Db::open(&options, "/db").unwrap();
            for row in 0..3u8 {
                assert_eq!(db.get([row]).unwrap(), Some(vec![row]), "{policy:?}");
            }
            assert_eq!(db.get(b"last").unwrap(), Some(b"last".to_vec()), "{policy:?}");
        }
    }
}
