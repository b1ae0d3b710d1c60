//! Properties with numbers as values: each has the value that its name promises.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use base::env::ManualClock;
use dbtest::by_hand::{flush, rewrite_family};
use dbtest::gate::Gate;
use esker::{
    Cache, CacheOptions, ColumnFamily, ColumnFamilyOptions, Db, Event, FlushOptions, MemtableStats, Options,
    Property, PropertyKind, SizeApproximationOptions, Ticker,
};
use vfs::MemFs;

const DIR: &str = "/db";

struct TestDatabase {
    db: Db,
    family: ColumnFamily,
    clock: Arc<ManualClock>,
}

impl TestDatabase {
    fn new() -> TestDatabase {
        TestDatabase::with(|_| ())
    }

    fn with(adapt: impl FnOnce(&mut Options)) -> TestDatabase {
        let clock = Arc::new(ManualClock::default());
        clock.advance(Duration::from_secs(1_700_000_000));
        let mut options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            clock: clock.clone(),
            ..Options::default()
        };
        options.column_family.disable_auto_compactions = true;
        adapt(&mut options);
        let db = Db::open(&options, DIR).unwrap();
        let family = db.default_column_family();
        TestDatabase { db, family, clock }
    }

    fn number(&self, name: &str) -> u64 {
        let number = self.db.property_int(&self.family, &format!("rocksdb.{name}"));
        number.unwrap_or_else(|| panic!("{name}"))
    }

    /// Writes the keys `from..to` and flushes them to a table.
    fn table(&self, from: u32, to: u32) {
        for key in from..to {
            self.db.put(format!("{key:06}").as_bytes(), [b'v'; 50]).unwrap();
        }
        flush(&self.db);
    }

    fn compact(&self) {
        rewrite_family(&self.db, &self.family);
        self.db.wait_for_purge().unwrap();
    }
}

#[test]
fn every_row_answers_to_its_name() {
    let held = TestDatabase::new();
    held.table(0, 100);
    let mut names = BTreeSet::new();
    for row in Property::ALL {
        assert!(names.insert(row.name), "{} has two rows", row.name);
        let name = row.name.replace("<N>", "1");
        let found = Property::of_name(&name).map(|found| found.name);
        assert_eq!(found, Some(row.name));
        let number = held.db.property_int(&held.family, &name);
        let text = held.db.property(&held.family, &name);
        match row.kind {
            PropertyKind::Int => assert_eq!(number.map(|number| number.to_string()), text, "{name}"),
            _ => assert_eq!(number, None, "{name}"),
        }
        let lacks_value = row.name.contains("blob-cache") || row.name.contains("secondary");
        let lacks_value = lacks_value || row.name == "rocksdb.options-statistics";
        assert_eq!(text.is_none(), lacks_value, "{name}");
    }
    assert!(Property::of_name("rocksdb.num-files-at-level").is_none());
    assert!(Property::of_name("rocksdb.num-files-at-level1x").is_none());
}

#[test]
fn numbers_are_summed_over_families_and_a_shared_cache_counts_once() {
    let cache = |capacity| {
        Some(Cache::lru(CacheOptions {
            capacity,
            ..CacheOptions::default()
        }))
    };
    let held = TestDatabase::with(|options| options.column_family.table.block_cache = cache(1 << 20));
    let db = &held.db;
    let mut family = held.family.current_options();
    let other = db.create_column_family("other", &family).unwrap();
    family.table.block_cache = cache(2 << 20);
    db.create_column_family("own", &family).unwrap();
    db.put(b"a", b"1").unwrap();
    db.put_cf(&other, b"b", b"2").unwrap();
    let entries = "rocksdb.num-entries-active-mem-table";
    assert_eq!(db.aggregated_property_int(entries), Some(2));
    let capacity = "rocksdb.block-cache-capacity";
    assert_eq!(db.aggregated_property_int(capacity), Some(3 << 20));
    assert_eq!(db.aggregated_property_int("rocksdb.stats"), None);
    assert_eq!(db.aggregated_property_int("rocksdb.no-such-property"), None);
}

#[test]
fn sizes_of_tables_tell_which_are_live_held_and_obsolete() {
    let held = TestDatabase::new();
    held.table(0, 100);
    held.table(0, 100);
    let live = held.number("live-sst-files-size");
    assert_eq!(held.number("total-sst-files-size"), live);
    assert_eq!(held.number("num-live-versions"), 1);
    let mut iter = held.db.iter();
    iter.seek_to_first();
    held.compact();
    let now = held.number("live-sst-files-size");
    assert_eq!(
        held.number("total-sst-files-size"),
        now + live,
        "the iterator holds both"
    );
    assert_eq!(
        held.number("obsolete-sst-files-size"),
        0,
        "a table that is read is not obsolete"
    );
    assert_eq!(held.number("num-live-versions"), 2);
    // The iterator holds nothing of another family.
    let other = held
        .db
        .create_column_family("other", &held.family.current_options())
        .unwrap();
    assert_eq!(
        held.db.property_int(&other, "rocksdb.total-sst-files-size"),
        Some(0)
    );
    let hold = held.db.hold_file_deletions("a test");
    assert_eq!(held.number("is-file-deletions-enabled"), 0);
    drop(iter);
    assert_eq!(held.number("total-sst-files-size"), now);
    assert_eq!(held.number("num-live-versions"), 1);
    assert_eq!(held.number("obsolete-sst-files-size"), live);
    drop(hold);
    assert_eq!(held.number("is-file-deletions-enabled"), 1);
    held.db.wait_for_purge().unwrap();
    assert_eq!(held.number("obsolete-sst-files-size"), 0);
}

#[test]
fn a_slow_listener_of_a_flush_keeps_no_table_alive() {
    let gate = Arc::new(Gate::default());
    let held = TestDatabase::with(|options| {
        options
            .listeners
            .push(gate.listener(|event| matches!(event, Event::Flushed { .. })))
    });
    held.table(0, 100);
    held.db
        .flush_opt(&FlushOptions {
            listener_wait: true,
            ..FlushOptions::default()
        })
        .unwrap();
    gate.close();
    held.table(0, 100);
    gate.wait_for(1);
    held.compact();
    let sizes = ["total", "live"].map(|name| held.number(&format!("{name}-sst-files-size")));
    let tables = held.db.live_files().len();
    gate.open();
    assert_eq!((sizes[0], tables), (sizes[1], 1));
}

#[test]
fn a_flush_is_counted_before_its_listeners_are_notified() {
    let gate = Arc::new(Gate::default());
    let held = TestDatabase::with(|options| {
        options
            .listeners
            .push(gate.listener(|event| matches!(event, Event::Flushed { .. })));
        options.atomic_flush = true;
    });
    let other = ColumnFamilyOptions::default();
    let other = held.db.create_column_family("other", &other).unwrap();
    held.db.put(b"k", [b'v'; 50]).unwrap();
    held.db.put_cf(&other, b"k", [b'v'; 500]).unwrap();
    gate.close();
    // The listener holds the notification of the first family's table.
    held.db.flush_cf(&[held.family.clone(), other]).unwrap();
    gate.wait_for(1);
    let written = held.db.statistics().get(Ticker::FlushWriteBytes);
    let sizes: Vec<u64> = held.db.live_files().iter().map(|file| file.size).collect();
    gate.open();
    assert_eq!(sizes.len(), 2);
    assert_eq!(written, sizes.iter().sum::<u64>());
}

#[test]
fn a_slow_listener_of_a_compaction_keeps_no_table_alive() {
    let gate = Gate::closed();
    let held = TestDatabase::with(|options| {
        options
            .listeners
            .push(gate.listener(|event| matches!(event, Event::Compacted { .. })));
        options.column_family.disable_auto_compactions = false;
        options.column_family.level0_file_num_compaction_trigger = 2;
    });
    held.table(0, 100);
    held.table(0, 100);
    gate.wait_for(1);
    held.db.wait_for_compact().unwrap();
    held.db.wait_for_purge().unwrap();
    let sizes = ["total", "live"].map(|name| held.number(&format!("{name}-sst-files-size")));
    let tables = held.db.live_files().len();
    let written = held.db.statistics().get(Ticker::CompactWriteBytes);
    gate.open();
    assert_eq!((sizes[0], tables), (sizes[1], 1));
    assert_eq!(
        written, sizes[1],
        "the compaction is counted before it counts as ended"
    );
}

#[test]
fn live_data_is_what_nothing_newer_overlaps() {
    let held = TestDatabase::new();
    held.table(0, 100);
    held.compact();
    let below = held.number("live-sst-files-size");
    assert_eq!(held.number("estimate-live-data-size"), below);
    held.table(0, 50);
    held.table(40, 99);
    assert_eq!(
        held.number("estimate-live-data-size"),
        below,
        "both overlap the level below"
    );
    let before = held.number("live-sst-files-size");
    held.table(1000, 1100);
    let apart = held.number("live-sst-files-size") - before;
    assert_eq!(held.number("estimate-live-data-size"), below + apart);
}

#[test]
fn the_oldest_snapshot_has_the_time_it_was_taken_at() {
    let held = TestDatabase::new();
    assert_eq!(held.number("oldest-snapshot-time"), 0);
    let now = |held: &TestDatabase| base::env::Clock::unix_micros(&*held.clock) / 1_000_000;
    held.db.put(b"a", b"1").unwrap();
    let taken = now(&held);
    let first = held.db.snapshot();
    held.clock.advance(Duration::from_secs(100));
    held.db.put(b"a", b"2").unwrap();
    let second = held.db.snapshot();
    held.clock.advance(Duration::from_secs(100));
    assert_eq!(held.number("oldest-snapshot-time"), taken);
    drop(first);
    assert_eq!(held.number("oldest-snapshot-time"), taken + 100);
    drop(second);
    assert_eq!(held.number("oldest-snapshot-time"), 0);
}

#[test]
fn options_that_are_kept_for_rocksdb_alone_are_told() {
    let events = dbtest::events::Recorder::events();
    let told = || {
        let all = events.all();
        let lost = all.iter().filter_map(|event| match event {
            Event::OptionLost(lost) => Some(format!("{} {}", lost.section, lost.name)),
            _ => None,
        });
        lost.collect::<Vec<_>>()
    };
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        listeners: vec![events.clone()],
        ..Options::default()
    };
    options.column_family.compression_opts.strategy = 2;
    options.column_family.memtable_factory = esker::MemtableFactory::SkipList { lookahead: 16 };
    let db = Db::open(&options, DIR).unwrap();
    let of_family = |name| format!("CFOptions \"default\" {name}");
    let first = [of_family("compression_opts"), of_family("memtable_factory")];
    assert_eq!(told(), first);
    let family = db.default_column_family();
    let change = [("data_block_index_type", "kDataBlockBinaryAndHash")];
    db.set_options(&family, &change).unwrap();
    db.set_options(&family, &[("write_buffer_size", "1048576")])
        .unwrap();
    let table = "TableOptions/BlockBasedTable \"default\" data_block_index_type".to_owned();
    assert_eq!(
        told(),
        [&first[..], &[table]].concat(),
        "what was told before is not told again"
    );
    let mut other = esker::ColumnFamilyOptions::default();
    other.compaction_options_universal.reduce_file_locking = false;
    db.create_column_family("b", &other).unwrap();
    assert_eq!(
        told().last().unwrap(),
        "CFOptions \"b\" compaction_options_universal"
    );
    assert_eq!(told().len(), 4);
}

#[test]
fn sizes_of_ranges_count_what_is_asked_for() {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    options.column_family.enable_blob_files = true;
    options.column_family.min_blob_size = 500;
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    let size = |memtables, files, blobs, begin: &[u8], end: &[u8]| {
        let options = SizeApproximationOptions {
            include_memtables: memtables,
            include_files: files,
            include_blob_files: blobs,
        };
        db.approximate_sizes_with(&family, &[(begin, end)], &options)
            .map(|sizes| sizes[0])
    };
    for number in 0..1000 {
        db.put(format!("k{number:04}").as_bytes(), [b'v'; 100]).unwrap();
    }
    // A row of a memtable has a key of 5 bytes with a trailer of 8, and its value.
    assert_eq!(size(true, false, false, b"k0100", b"k0200").unwrap(), 100 * 113);
    assert_eq!(size(true, true, true, b"k0100", b"k0200").unwrap(), 100 * 113);
    assert_eq!(size(true, false, false, b"k0200", b"k0100").unwrap(), 0);
    assert_eq!(size(false, true, true, b"a", b"z").unwrap(), 0);
    assert!(size(false, false, false, b"a", b"z").is_err());
    let entries = |begin: &[u8], end: &[u8]| db.approximate_memtable_stats(&family, begin, end).unwrap();
    db.delete(b"k0150").unwrap();
    let (count, size_of_deletion) = (101, 13);
    let wanted = MemtableStats {
        count,
        size: 100 * 113 + size_of_deletion,
    };
    assert_eq!(entries(b"k0100", b"k0200"), wanted);
    assert_eq!(entries(b"k0200", b"k0100"), MemtableStats::default());
    flush(&db);
    assert_eq!(entries(b"a", b"z"), MemtableStats::default());
    assert_eq!(size(true, false, false, b"a", b"z").unwrap(), 0);
    let tables = size(false, true, false, b"a", b"z").unwrap();
    assert_eq!(db.approximate_sizes(&family, &[(b"a", b"z")]).unwrap(), [tables]);
    assert!(tables > 0);
    assert_eq!(size(false, false, true, b"a", b"z").unwrap(), 0);
    for number in 0..1000 {
        db.put(format!("l{number:04}").as_bytes(), [b'v'; 1000]).unwrap();
    }
    flush(&db);
    let blobs = size(false, false, true, b"a", b"z").unwrap();
    assert!((900_000..1_200_000).contains(&blobs), "{blobs}");
    let part = size(false, false, true, b"l0000", b"z").unwrap();
    assert!(part > 0 && part < blobs, "{part}");
    let (all, tables) = (
        size(true, true, true, b"a", b"z").unwrap(),
        size(false, true, false, b"a", b"z").unwrap(),
    );
    assert_eq!(all, blobs + tables);
}

#[test]
fn reads_of_tables_are_estimated_by_samples() {
    let held = TestDatabase::new();
    held.table(0, 100);
    held.table(100, 200);
    held.table(200, 300);
    let reads = || -> Vec<u64> {
        let mut files = held.db.live_files();
        files.sort_by_key(|file| file.number);
        files.iter().map(|file| file.num_reads_sampled).collect()
    };
    assert_eq!(reads(), [0, 0, 0]);
    for _ in 0..30_000 {
        held.db.get(b"000150").unwrap();
    }
    let keys = [b"000210", b"000220", b"000230"];
    for _ in 0..20_000 {
        held.db.multi_get(&keys);
    }
    let after_gets = reads();
    let about = |found: u64, expected: u64| found > expected * 8 / 10 && found < expected * 12 / 10;
    assert_eq!(after_gets[0], 0);
    assert!(
        about(after_gets[1], 30_000) && about(after_gets[2], 60_000),
        "{after_gets:?}"
    );
    // An iterator that reaches a table reads it once; a compaction does not count as a read, and its output
    // tables begin with 0 reads.
    for _ in 0..20_000 {
        let mut iter = held.db.iter();
        iter.seek(b"000050");
    }
    let after_scans = reads();
    assert!(about(after_scans[0], 20_000), "{after_scans:?}");
    held.compact();
    assert_eq!(reads(), [0]);
}
