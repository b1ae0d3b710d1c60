//! The memory ledger, compared with the kernel's count for the process.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use dbtest::by_hand::{flush, rewrite};
use esker::{
    BlockBasedOptions, Cache, CacheEntryRole, CacheOptions, CacheType, CacheUsageOptions,
    ColumnFamilyOptions, CompressionType, Db, EntryRole, ErrorKind, FilterPolicy, MemoryLedger, Options,
    WriteOptions,
};
use vfs::MemFs;

/// The environment variable with the child's database.
const DIR: &str = "ESKER_MEMORY_LEDGER_DIR";

const ROWS: u32 = 300_000;

fn key(row: u32) -> Vec<u8> {
    format!("key{row:013}").into_bytes()
}

fn options(parts: bool, cache_type: CacheType) -> Options {
    Options {
        create_if_missing: true,
        column_family: ColumnFamilyOptions {
            write_buffer_size: 256 << 20,
            disable_auto_compactions: true,
            compression: CompressionType::None,
            table: BlockBasedOptions {
                filter_policy: FilterPolicy::Bloom(10.0),
                cache_index_and_filter_blocks: parts,
                block_cache: Some(Cache::new(CacheOptions {
                    capacity: 256 << 20,
                    cache_type,
                    ..CacheOptions::default()
                })),
                ..BlockBasedOptions::default()
            },
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
}

fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes: u64 = line
        .unwrap()
        .trim_start_matches(':')
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kilobytes << 10
}

/// The private memory of the process in bytes, including swapped pages.
fn resident() -> u64 {
    status("RssAnon") + status("VmSwap")
}

#[test]
fn the_ledger_is_what_the_process_has_grown_by() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let db = Db::open(&options(false, CacheType::Lru), dir).unwrap();
    let unlogged = WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    };
    for row in 0..ROWS {
        db.put_cf_opt(&db.default_column_family(), key(row), [7; 100], &unlogged)
            .unwrap();
    }
    flush(&db);
    db.close().unwrap();
    for child in ["owned lru", "cached lru", "owned clock", "cached clock"] {
        run_child(dir, child);
    }
}

/// The ledger includes replaced memtables and tables that readers hold, and the WAL.
#[test]
fn the_ledger_knows_what_iterators_hold() {
    let dir = tempfile::tempdir().unwrap();
    run_child(dir.path(), "held");
}

/// Runs the test in a process of its own, where no freed memory is reused and no other test allocates. The
/// allocator keeps freed memory for each thread; it is configured to keep little.
fn run_child(dir: &Path, how: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "report::memory::child", "--nocapture"])
        .env(DIR, format!("{}|{how}", dir.display()))
        .envs([
            ("MALLOC_ARENA_MAX", "1"),
            ("MALLOC_TRIM_THRESHOLD_", "0"),
            ("MALLOC_TOP_PAD_", "0"),
        ])
        .env("MALLOC_MMAP_THRESHOLD_", "65536")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{how}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("the ledger is right"), "{text}");
}

/// The body of the memory tests, which they run in a child process.
#[test]
#[ignore = "other tests run it in a process of its own"]
fn child() {
    let task = std::env::var(DIR).expect("another test sets the task");
    let (dir, how) = task.split_once('|').unwrap();
    match how {
        "held" => hold(Path::new(dir)),
        _ => fill_and_read(dir, how),
    }
    println!("the ledger is right");
}

/// Fills a database with memtables and tables with tombstones, replaced while iterators hold them, and a WAL
/// that is written meanwhile.
fn hold(dir: &Path) {
    const ITERATORS: usize = 1000;
    let db = Db::open(&options(false, CacheType::Lru), dir).unwrap();
    let family = db.default_column_family();
    // The comparison leaves out pages of files: the windows of the WAL are such pages, and so are the pages
    // of the program, which are loaded when they first run.
    let counted = |ledger: &MemoryLedger| ledger.total() - ledger.wal_windows;
    let (mut before, mut ledger_before) = (0, 0);
    let mut held = Vec::with_capacity(4 * ITERATORS);
    for round in 0..4 {
        if round == 1 {
            // The first jobs grow the memory that the allocator keeps for later ones.
            rewrite(&db);
            (before, ledger_before) = (resident(), counted(&db.memory()));
        }
        for row in 0..ROWS {
            db.put(key(row), [round; 100]).unwrap();
        }
        // The tables keep these tombstones too, and once more clipped to the bounds of their files.
        for row in (0..ROWS).step_by(10) {
            let (start, end) = (key(row), key(row + 2));
            db.delete_range_cf(&family, &start, &end).unwrap();
        }
        for _ in 0..ITERATORS {
            let mut iter = db.iter();
            iter.seek(&key(ROWS / 2));
            assert!(iter.valid());
            held.push(iter);
        }
        flush(&db);
        for row in (0..ROWS).step_by(3) {
            db.get(key(row)).unwrap();
        }
    }
    rewrite(&db);
    let ledger = db.memory();
    let grown = resident() - before;
    let counted = counted(&ledger) - ledger_before;
    println!("grown by {grown}, counted {counted}\n{ledger}");
    let pins = db.pins();
    assert!(pins.super_versions.iter().any(|held| held.files > 0), "{pins}");
    assert!(ledger.pinned_memtables > 100 << 20, "{ledger}");
    assert!(ledger.wal_windows > 0, "{ledger}");
    assert!(
        grown.abs_diff(counted) * 20 <= grown,
        "grown by {grown}, counted {counted}\n{ledger}"
    );
    // The memory of the tables is freed with the last iterator.
    let tables = |ledger: &MemoryLedger| ledger.indexes + ledger.filters + ledger.tables;
    let with_old = tables(&ledger);
    drop(held);
    let ledger = db.memory();
    assert!(tables(&ledger) * 2 < with_old, "{with_old}, then {ledger}");
    assert_eq!(ledger.iterators, 0);
}

fn fill_and_read(dir: &str, how: &str) {
    let cache_type = match how.ends_with("lru") {
        true => CacheType::Lru,
        false => CacheType::HyperClock,
    };
    let db = Db::open(&options(how.starts_with("cached"), cache_type), dir).unwrap();
    let (before, ledger_before) = (resident(), db.memory().total());
    for _ in 0..2 {
        let mut iter = db.iter();
        iter.seek_to_first();
        while iter.valid() {
            iter.next();
        }
        for row in 0..ROWS {
            assert!(db.get(key(row)).unwrap().is_some());
        }
    }
    let family = db.default_column_family();
    let unlogged = WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    };
    for row in 0..ROWS {
        db.put_cf_opt(&family, key(row), [8; 100], &unlogged).unwrap();
    }
    let ledger = db.memory();
    let grown = resident() - before;
    let counted = ledger.total() - ledger_before;
    println!("grown by {grown}, counted {counted}\n{ledger}");
    assert!(counted > 60 << 20, "{ledger}");
    let part = |name: &str| {
        let lines = ledger.lines();
        let found = lines.iter().find(|(line, _)| line == name);
        found.map_or(0, |(_, bytes)| *bytes)
    };
    assert_eq!(
        part("block cache IndexBlock") > 0,
        how.starts_with("cached"),
        "{ledger}"
    );
    assert_eq!(part("indexes") > 0, how.starts_with("owned"), "{ledger}");
    assert!(
        grown.abs_diff(counted) * 20 <= grown,
        "{how}: grown by {grown}, counted {counted}\n{ledger}"
    );
    drop(db);
}

/// A separate cache for blobs is counted besides the one for blocks.
#[test]
fn values_in_a_blob_cache_are_in_the_ledger() {
    let cache = |capacity| {
        Cache::lru(CacheOptions {
            capacity,
            ..CacheOptions::default()
        })
    };
    let (blocks, blobs) = (cache(4 << 20), cache(8 << 20));
    for blob_cache in [&blocks, &blobs] {
        let mut options = options(false, CacheType::Lru);
        options.fs = Arc::new(MemFs::new());
        options.column_family.enable_blob_files = true;
        options.column_family.table.block_cache = Some(blocks.clone());
        options.column_family.blob_cache = Some(blob_cache.clone());
        let db = Db::open(&options, "/db").unwrap();
        for row in 0..100 {
            db.put(key(row), [3; 10_000]).unwrap();
        }
        flush(&db);
        let blobs_of = |ledger: &MemoryLedger| {
            let lines = ledger.lines();
            let of_blobs = lines.iter().filter(|(name, _)| name == "block cache BlobValue");
            of_blobs.map(|(_, bytes)| bytes).sum::<u64>()
        };
        assert_eq!(blobs_of(&db.memory()), 0);
        for row in 0..100 {
            assert!(db.get(key(row)).unwrap().is_some());
        }
        let ledger = db.memory();
        assert!(blobs_of(&ledger) > 1_000_000, "{ledger}");
        let caches = usize::from(!Arc::ptr_eq(blob_cache, &blocks)) + 1;
        assert_eq!(ledger.block_caches.len(), caches, "each is counted once");
        db.close().unwrap();
        drop(db);
        blob_cache.set_capacity(0);
        blob_cache.set_capacity(4 << 20);
    }
}

#[test]
fn open_iterators_are_in_the_ledger_until_they_are_closed() {
    let dir = std::env::temp_dir().join(format!("esker-iterators-{}", std::process::id()));
    let db = Db::open(&options(false, CacheType::Lru), &dir).unwrap();
    let iterators = || db.memory().iterators;
    let add_table = || {
        db.put(b"k", b"v").unwrap();
        flush(&db);
    };
    assert_eq!(iterators(), 0);
    let one = db.iter();
    let small = iterators();
    assert!(small > 200, "{small}");
    (0..3).for_each(|_| add_table());
    let mut many: Vec<_> = (0..50).map(|_| db.iter()).collect();
    let all = iterators();
    assert!(
        all - small > 50 * small,
        "with three tables each holds more: {all}"
    );
    for iter in &mut many {
        iter.seek_to_first();
        assert!(iter.valid());
    }
    assert_eq!(iterators(), all, "it is not counted while they move");
    let each = (all - small) / 50;
    drop(many.split_off(10));
    assert_eq!(iterators(), small + 10 * each);
    // A refreshed iterator holds the same memory as the others.
    add_table();
    many[0].refresh(None).unwrap();
    assert!(iterators() > small + 10 * each);
    drop(many);
    assert_eq!(iterators(), small);
    assert!(db.memory().to_string().contains(&format!("iterators: {small}")));
    drop(one);
    assert_eq!(iterators(), 0);
    db.close().unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn open_tables_are_charged_to_the_cache() {
    let cache = |capacity, strict_capacity_limit| {
        Cache::lru(CacheOptions {
            capacity,
            strict_capacity_limit,
            num_shard_bits: 0,
            ..CacheOptions::default()
        })
    };
    let charged = |cache: &Arc<esker::BlockCache>| {
        let usage = cache.usage_by_role(None);
        let role = |usage: &&esker::RoleUsage| usage.role == EntryRole::BlockBasedTableReader;
        *usage.iter().find(role).unwrap()
    };
    let roomy = cache(1 << 20, true);
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    options.column_family.disable_auto_compactions = true;
    options.column_family.table.block_cache = Some(roomy.clone());
    let usage = CacheUsageOptions::charging(CacheEntryRole::BlockBasedTableReader);
    options.column_family.table.cache_usage_options = usage;
    let db = Db::open(&options, "/db").unwrap();
    for table in 0..3 {
        for key in 0..2000 {
            db.put(format!("key{key:05}").as_bytes(), [table; 50]).unwrap();
        }
        db.flush().unwrap();
    }
    let tables = charged(&roomy);
    assert_eq!(tables.entries, 3);
    let memory = db.memory();
    let held = memory.indexes + memory.filters + memory.tables;
    assert!(
        tables.usage as u64 >= held && held > 3000,
        "{tables:?} {memory:?}"
    );
    db.compact_range(None, None).unwrap();
    db.wait_for_purge().unwrap();
    testkit::wait_until("obsolete tables are charged no more", || {
        charged(&roomy).entries == 1
    });
    db.close().unwrap();
    drop(db);
    testkit::wait_until("closed tables are charged no more", || {
        charged(&roomy).entries == 0
    });

    // A strict block cache without room refuses the index of the table, and the read fails.
    options.column_family.table.block_cache = Some(cache(500, true));
    let opened = Db::open(&options, "/db").and_then(|db| db.get(b"key00001"));
    let error = opened.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    assert!(error.to_string().contains("Memory limit reached"), "{error}");
}
