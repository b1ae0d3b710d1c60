//! Each part of the interface once, over a database on the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use esker_rocksdb as rocksdb;
use rocksdb::checkpoint::Checkpoint;
use rocksdb::perf::{MemoryUsageBuilder, PerfContext, set_perf_stats};
use rocksdb::statistics::{Histogram, Ticker};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, CompactOptions, DB, DBWithThreadMode, Direction, Env,
    ErrorKind, IngestExternalFileOptions, IteratorMode, MergeOperands, MultiThreaded, Options, PerfMetric,
    PerfStatsLevel, PrefixRange, Range, ReadOptions, SliceTransform, SstFileWriter, WriteBatch,
    WriteBatchIteratorCf, WriteBufferManager, WriteOptions, properties,
};

fn created() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options
}

fn keys<I: Iterator<Item = Result<(Box<[u8]>, Box<[u8]>), rocksdb::Error>>>(rows: I) -> Vec<String> {
    rows.map(|row| String::from_utf8(row.unwrap().0.into_vec()).unwrap())
        .collect()
}

#[test]
fn rows_are_written_read_and_walked() {
    let dir = tempfile::tempdir().unwrap();
    let db = DB::open(&created(), dir.path().join("db")).unwrap();
    for key in ["a", "b", "c", "d"] {
        db.put(key, format!("of {key}")).unwrap();
    }
    db.delete("d").unwrap();
    assert_eq!(db.get("b").unwrap().unwrap(), b"of b");
    assert_eq!(&*db.get_pinned("c").unwrap().unwrap(), b"of c");
    assert!(db.get("d").unwrap().is_none());
    assert!(!db.key_may_exist("d"));
    let many = db.multi_get(["a", "x"]);
    assert_eq!(many[0].as_ref().unwrap().as_deref(), Some(&b"of a"[..]));
    assert!(many[1].as_ref().unwrap().is_none());

    assert_eq!(keys(db.iterator(IteratorMode::Start)), ["a", "b", "c"]);
    assert_eq!(keys(db.iterator(IteratorMode::End)), ["c", "b", "a"]);
    let from = IteratorMode::From(b"bb", Direction::Reverse);
    assert_eq!(keys(db.iterator(from)), ["b", "a"]);
    let mut bounded = ReadOptions::default();
    bounded.set_iterate_range("b".."c");
    assert_eq!(keys(db.iterator_opt(IteratorMode::Start, bounded)), ["b"]);
    let mut bounded = ReadOptions::default();
    bounded.set_iterate_range(PrefixRange("a"));
    assert_eq!(keys(db.iterator_opt(IteratorMode::Start, bounded)), ["a"]);

    let mut raw = db.raw_iterator();
    assert!(!raw.valid() && raw.item().is_none());
    raw.seek_for_prev("bb");
    assert_eq!(raw.item(), Some((&b"b"[..], &b"of b"[..])));
    raw.seek_to_last();
    raw.next();
    raw.next();
    assert!(!raw.valid() && raw.status().is_ok());
    assert_eq!(db.latest_sequence_number(), 5);
}

#[test]
fn a_snapshot_and_what_was_pinned_stay_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = DB::open(&created(), &path).unwrap();
    db.put("key", "before").unwrap();
    let snapshot = db.snapshot();
    let mut options = ReadOptions::default();
    options.set_snapshot(&snapshot);
    db.put("key", "after").unwrap();
    db.flush().unwrap();
    assert_eq!(snapshot.get("key").unwrap().unwrap(), b"before");
    assert_eq!(db.get_opt("key", &options).unwrap().unwrap(), b"before");
    assert_eq!(snapshot.sequence_number(), 1);
    drop(snapshot);
    // A snapshot in read options does not keep the database open, so that it can be opened again.
    drop(db);
    let again = DB::open_default(&path).unwrap();
    assert_eq!(again.get("key").unwrap().unwrap(), b"after");
}

/// Iterators are RocksDB's by default: what one with a snapshot began to read is held until it is dropped.
#[test]
fn an_iterator_with_a_snapshot_holds_what_it_reads() {
    let dir = tempfile::tempdir().unwrap();
    let db = DB::open(&created(), dir.path().join("db")).unwrap();
    let size = |name: &str| db.property_int_value(name).unwrap().unwrap();
    let held = || size("rocksdb.size-all-mem-tables") - size("rocksdb.cur-size-all-mem-tables");
    db.put("a", "1").unwrap();
    db.put("b", "2").unwrap();
    let snapshot = db.snapshot();
    let mut options = ReadOptions::default();
    options.set_snapshot(&snapshot);
    let mut iter = db.raw_iterator_opt(options);
    iter.seek_to_first();
    db.flush().unwrap();
    iter.next();
    assert_eq!(iter.key(), Some(&b"b"[..]));
    assert!(held() > 0);
}

#[test]
fn batches_are_applied_whole_and_told_again() {
    #[derive(Default)]
    struct Told(Vec<String>);
    impl WriteBatchIteratorCf for Told {
        fn put_cf(&mut self, cf_id: u32, key: &[u8], value: &[u8]) {
            let (key, value) = (key.escape_ascii(), value.escape_ascii());
            self.0.push(format!("put {cf_id} {key} {value}"));
        }
        fn delete_cf(&mut self, cf_id: u32, key: &[u8]) {
            self.0.push(format!("delete {cf_id} {}", key.escape_ascii()));
        }
        fn merge_cf(&mut self, cf_id: u32, key: &[u8], value: &[u8]) {
            let (key, value) = (key.escape_ascii(), value.escape_ascii());
            self.0.push(format!("merge {cf_id} {key} {value}"));
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let db = DB::open_cf(&created(), dir.path().join("db"), ["other"]).unwrap();
    let other = db.cf_handle("other").unwrap();
    let mut batch = WriteBatch::default();
    batch.put("a", "1");
    batch.put_cf(&other, "b", "2");
    batch.delete("c");
    batch.put_log_data("log");
    batch.delete_range("x", "z");
    let mut told = Told::default();
    WriteBatch::from_data(batch.data()).iterate_cf(&mut told);
    assert_eq!(told.0, ["put 0 a 1", "put 1 b 2", "delete 0 c"]);
    assert_eq!(batch.len(), 4);
    db.put("y", "gone").unwrap();
    db.write(batch).unwrap();
    assert_eq!(db.get("a").unwrap().unwrap(), b"1");
    assert_eq!(db.get_cf(&other, "b").unwrap().unwrap(), b"2");
    assert!(db.get("y").unwrap().is_none());
    let damaged = WriteBatch::from_data(b"no batch");
    assert_eq!(db.write(damaged).unwrap_err().kind(), ErrorKind::Corruption);
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    db.put_opt("u", "v", &unlogged).unwrap();
}

#[test]
fn families_are_created_dropped_and_must_all_be_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    {
        let db = DBWithThreadMode::<MultiThreaded>::open_default(&path).unwrap();
        db.create_cf("one", &Options::default()).unwrap();
        db.create_cf("two", &Options::default()).unwrap();
        assert!(db.create_cf("two", &Options::default()).is_err());
        let two = db.cf_handle("two").unwrap();
        db.put_cf(&two, "key", "value").unwrap();
        db.drop_cf("two").unwrap();
        assert!(db.cf_handle("two").is_none());
        assert_eq!(db.get_cf(&two, "key").unwrap().unwrap(), b"value");
        assert!(db.put_cf(&two, "key", "value").is_err());
        assert!(db.drop_cf("two").is_err());
    }
    assert_eq!(
        DB::list_cf(&Options::default(), &path).unwrap(),
        ["default", "one"]
    );
    let unnamed = DB::open_default(&path).unwrap_err();
    assert_eq!(unnamed.kind(), ErrorKind::InvalidArgument);
    assert!(
        unnamed.to_string().contains("Column families not opened: one"),
        "{unnamed}"
    );
    let missing = DB::open_cf(&Options::default(), &path, ["one", "three"]).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::InvalidArgument, "{missing}");
    DB::open_cf(&Options::default(), &path, ["one"]).unwrap();
    DB::open_for_read_only(&Options::default(), &path, false).unwrap();
}

#[test]
fn errors_say_what_rocksdb_says() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let missing = DB::open(&Options::default(), &path).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::InvalidArgument, "{missing}");
    let db = DB::open_default(&path).unwrap();
    let held = DB::open_default(&path).unwrap_err();
    assert_eq!(held.kind(), ErrorKind::IOError);
    assert!(held.to_string().contains("/LOCK:"), "{held}");
    let mut options = ReadOptions::default();
    options.set_deadline(1);
    assert_eq!(
        db.get_opt("key", &options).unwrap_err().kind(),
        ErrorKind::TimedOut
    );
    options.set_deadline(0);
    options.set_read_tier(rocksdb::ReadTier::Persisted);
    assert_eq!(
        db.get_opt("key", &options).unwrap_err().kind(),
        ErrorKind::NotSupported
    );
    let mut iter = db.raw_iterator_opt(options);
    iter.seek_to_first();
    assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::NotSupported);
}

#[test]
fn merges_filters_orders_and_prefixes_are_the_users() {
    fn concat(_key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
        let mut value = existing.unwrap_or_default().to_vec();
        operands
            .iter()
            .for_each(|operand| value.extend_from_slice(operand));
        Some(value)
    }
    let dir = tempfile::tempdir().unwrap();
    let mut options = created();
    options.set_merge_operator_associative("concat", concat);
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = seen.clone();
    options.set_compaction_filter("drops x", move |_level, key: &[u8], _value: &[u8]| {
        counter.fetch_add(1, Ordering::Relaxed);
        match key.first() {
            Some(b'x') => rocksdb::CompactionDecision::Remove,
            Some(b'c') => rocksdb::CompactionDecision::Change(b"changed"),
            _ => rocksdb::CompactionDecision::Keep,
        }
    });
    options.set_prefix_extractor(SliceTransform::create_fixed_prefix(1));
    let db = DB::open(&options, dir.path().join("db")).unwrap();
    db.put("m1", "a").unwrap();
    db.merge("m1", "b").unwrap();
    db.merge("m1", "c").unwrap();
    for key in ["c1", "k1", "k2", "x1"] {
        db.put(key, "value").unwrap();
    }
    assert_eq!(keys(db.prefix_iterator("k")), ["k1", "k2"]);
    let mut compact = CompactOptions::default();
    compact.set_bottommost_level_compaction(rocksdb::BottommostLevelCompaction::Force);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &compact);
    assert!(seen.load(Ordering::Relaxed) >= 4);
    assert_eq!(db.get("m1").unwrap().unwrap(), b"abc");
    assert_eq!(db.get("c1").unwrap().unwrap(), b"changed");
    assert!(db.get("x1").unwrap().is_none());

    let mut reversed = created();
    reversed.set_comparator("reversed", Box::new(|a: &[u8], b: &[u8]| b.cmp(a)));
    let path = dir.path().join("reversed");
    {
        let db = DB::open(&reversed, &path).unwrap();
        db.put("a", "1").unwrap();
        db.put("b", "2").unwrap();
        assert_eq!(keys(db.iterator(IteratorMode::Start)), ["b", "a"]);
    }
    assert_eq!(
        DB::open_default(&path).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
}

#[test]
fn tables_from_outside_are_ingested() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default();
    let file = dir.path().join("outside.sst");
    let mut writer = SstFileWriter::create(&options);
    writer.open(&file).unwrap();
    writer.put("a", "1").unwrap();
    writer.put("b", "2").unwrap();
    assert!(writer.put("a", "late").is_err());
    writer.finish().unwrap();
    assert!(writer.file_size() > 0);
    let db = DB::open_default(dir.path().join("db")).unwrap();
    let mut ingest = IngestExternalFileOptions::default();
    ingest.set_move_files(true);
    db.ingest_external_file_opts(&ingest, vec![&file]).unwrap();
    assert_eq!(db.get("b").unwrap().unwrap(), b"2");
    assert!(!file.exists());
    let files = db.live_files().unwrap();
    assert_eq!((files.len(), files[0].start_key.as_deref()), (1, Some(&b"a"[..])));
    let metadata = db.get_column_family_metadata();
    assert_eq!((metadata.file_count, metadata.name.as_str()), (1, "default"));
    assert!(db.get_approximate_sizes(&[Range::new(b"a", b"c")])[0] > 0);
}

#[test]
fn checkpoints_open_and_memory_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::new_lru_cache(1 << 20);
    let manager = WriteBufferManager::new_write_buffer_manager(64 << 20, false);
    let mut options = created();
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&cache);
    table.set_bloom_filter(10.0, false);
    options.set_block_based_table_factory(&table);
    options.set_write_buffer_manager(&manager);
    options.enable_statistics();
    let db = DB::open(&options, dir.path().join("db")).unwrap();
    db.put("key", "value").unwrap();
    let copy = dir.path().join("copy");
    let checkpoint = Checkpoint::new(&db).unwrap();
    checkpoint.create_checkpoint(&copy).unwrap();
    assert!(checkpoint.create_checkpoint(&copy).is_err());
    let copied = DB::open_default(&copy).unwrap();
    assert_eq!(copied.get("key").unwrap().unwrap(), b"value");

    set_perf_stats(PerfStatsLevel::EnableCount);
    let mut context = PerfContext::default();
    context.reset();
    assert_eq!(db.get("key").unwrap().unwrap(), b"value");
    assert!(context.metric(PerfMetric::BlockReadCount) > 0);
    assert!(context.report(true).contains("block_read_count = "));
    assert!(cache.get_usage() > 0);
    assert!(manager.enabled() && manager.get_buffer_size() == 64 << 20);
    manager.set_allow_stall(true);
    let mut memory = MemoryUsageBuilder::new().unwrap();
    memory.add_db(&db);
    memory.add_cache(&cache);
    let memory = memory.build().unwrap();
    assert!(memory.approximate_mem_table_total() > 0 && memory.approximate_cache_total() > 0);
    assert!(options.get_ticker_count(Ticker::BytesWritten) > 0);
    assert!(options.get_histogram_data(Histogram::DbWrite).count() > 0);
    assert!(
        options
            .get_statistics()
            .unwrap()
            .contains("rocksdb.bytes.written")
    );
    assert_eq!(
        db.property_int_value(properties::ESTIMATE_NUM_KEYS).unwrap(),
        Some(1)
    );
    assert!(
        db.property_value(properties::STATS)
            .unwrap()
            .unwrap()
            .contains("Compaction Stats")
    );
    assert!(db.property_value("rocksdb.no-such").unwrap().is_none());
}

#[test]
fn options_are_read_from_text_and_from_the_database() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut options = Options::default();
    let text = "create_if_missing=true;use_fsync=true;write_buffer_size=131072;\
                block_based_table_factory={format_version=5;block_size=8192}";
    let options = options.get_options_from_string(text).unwrap();
    assert!(options.get_use_fsync());
    let db = DB::open(&options, &path).unwrap();
    db.set_options(&[
        ("disable_auto_compactions", "true"),
        ("report_bg_io_stats", "true"),
    ])
    .unwrap();
    assert!(db.set_options(&[("no_such", "1")]).is_err());
    drop(db);
    let log = std::fs::read_to_string(path.join("LOG")).unwrap();
    assert!(log.contains("Options.use_fsync: 1"), "{log}");
    let cache = Cache::new_lru_cache(1 << 20);
    let (_, families) = Options::load_latest(&path, Env::new().unwrap(), true, cache).unwrap();
    assert_eq!(
        families
            .iter()
            .map(ColumnFamilyDescriptor::name)
            .collect::<Vec<_>>(),
        ["default"]
    );
    for wrong in [
        "no_such=1",
        "write_buffer_size",
        "write_buffer_size=many",
        "use_fsync=1\0",
    ] {
        assert!(
            Options::default().get_options_from_string(wrong).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn a_database_lives_in_memory() {
    let mut options = created();
    options.set_env(&Env::mem_env().unwrap());
    {
        let db = DB::open(&options, "/in/memory").unwrap();
        db.put("key", "value").unwrap();
        db.flush().unwrap();
    }
    let db = DB::open(&options, "/in/memory").unwrap();
    assert_eq!(db.get("key").unwrap().unwrap(), b"value");
    assert!(!std::path::Path::new("/in/memory").exists());
}

#[test]
fn rows_of_tables_are_in_the_row_cache() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::new_lru_cache(1 << 20);
    let mut options = created();
    options.set_row_cache(&cache);
    let db = DB::open(&options, dir.path().join("db")).unwrap();
    db.put("a", "1").unwrap();
    db.flush().unwrap();
    assert_eq!(cache.get_usage(), 0);
    let mut reads = ReadOptions::default();
    // The limit has no effect, because the operating system's file system does not end reads early.
    reads.set_io_timeout(1);
    reads.set_pin_data(true);
    assert_eq!(db.get_opt("a", &reads).unwrap().unwrap(), b"1");
    assert!(cache.get_usage() > 0);
    assert_eq!(keys(db.iterator_opt(IteratorMode::Start, reads)), ["a"]);
}
