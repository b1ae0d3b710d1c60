//! Statistics that must be enabled by an option.

use std::path::Path;
use std::sync::Arc;

use esker::{
    BlockBasedOptions, BottommostLevelCompaction, ColumnFamilyOptions, CompactRangeOptions, CompactionFilter,
    CompactionFilterFactory, Db, Decision, FilterContext, FilterPolicy, Histogram, MergeOperator, Options,
    PerfContext, PerfLevel, Statistics, StatsLevel, Ticker, ValueType, perf,
};

fn options(statistics: &Arc<Statistics>) -> Options {
    Options {
        create_if_missing: true,
        statistics: Some(statistics.clone()),
        column_family: ColumnFamilyOptions {
            disable_auto_compactions: true,
            table: BlockBasedOptions {
                filter_policy: FilterPolicy::Bloom(10.0),
                block_size: 1024,
                ..BlockBasedOptions::default()
            },
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
}

fn key(number: u32) -> Vec<u8> {
    format!("key{number:05}").into_bytes()
}

/// A database with 1000 keys in a table; no table is open.
fn filled(options: &Options, dir: &Path) -> Db {
    let db = Db::open(options, dir).unwrap();
    for number in 0..1000 {
        db.put(key(number), [7; 100]).unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    drop(db);
    Db::open(options, dir).unwrap()
}

#[test]
fn two_databases_share_one() {
    let dir = tempfile::tempdir().unwrap();
    let statistics = Statistics::new();
    let count = |ticker| statistics.get_ticker_count(ticker);
    let one = Db::open(&options(&statistics), dir.path().join("one")).unwrap();
    let two = Db::open(&options(&statistics), dir.path().join("two")).unwrap();
    one.put(b"a", b"1").unwrap();
    two.put(b"a", b"22").unwrap();
    two.put(b"b", b"333").unwrap();
    assert_eq!(count(Ticker::KeysWritten), 3);
    assert_eq!(one.get(b"a").unwrap().unwrap(), b"1");
    assert_eq!(two.get(b"b").unwrap().unwrap(), b"333");
    assert_eq!(two.get(b"c").unwrap(), None);
    assert_eq!((count(Ticker::KeysRead), count(Ticker::BytesRead)), (3, 4));
    assert_eq!((count(Ticker::MemtableHit), count(Ticker::MemtableMiss)), (2, 1));
    // The counters that are always on count one database; the shared statistics count both databases.
    assert_eq!(
        one.statistics().get(Ticker::BytesWritten) + two.statistics().get(Ticker::BytesWritten),
        count(Ticker::BytesWritten)
    );
    assert_eq!(count(Ticker::WriteWithWal), 3);
    let written = statistics.histogram_data(Histogram::BytesPerWrite);
    assert_eq!((written.count, written.sum), (3, count(Ticker::BytesWritten)));
    one.sync_wal().unwrap();
    assert_eq!(statistics.histogram_data(Histogram::WalFileSyncMicros).count, 1);
    let get = statistics.histogram_data(Histogram::DbGet);
    assert_eq!(get.count, 3);
    assert_eq!(statistics.histogram_data(Histogram::DbWrite).count, 3);
    assert_eq!(statistics.histogram_data(Histogram::BytesPerRead).sum, 4);
    let family = two.default_column_family();
    two.multi_get_cf(&family, &[b"a", b"b", b"x"]);
    assert_eq!(
        (
            count(Ticker::MultiGetCalls),
            count(Ticker::MultiGetKeysRead),
            count(Ticker::MultiGetKeysFound),
            count(Ticker::MultiGetBytesRead)
        ),
        (1, 3, 2, 5)
    );
    one.close().unwrap();
    two.close().unwrap();
    drop((one, two));
    assert_eq!(
        count(Ticker::KeysWritten),
        3,
        "the statistics outlive the databases"
    );
}

#[test]
fn blocks_filters_and_bytes_of_gets() {
    let dir = tempfile::tempdir().unwrap();
    let statistics = Statistics::of_level(StatsLevel::All);
    let count = |ticker| statistics.get_ticker_count(ticker);
    let db = filled(&options(&statistics), &dir.path().join("db"));
    statistics.reset();

    assert!(db.get(key(500)).unwrap().is_some());
    assert_eq!(
        (
            count(Ticker::BlockCacheDataMiss),
            count(Ticker::BlockCacheDataHit)
        ),
        (1, 0)
    );
    assert_eq!(
        (count(Ticker::BlockCacheMiss), count(Ticker::BlockCacheAdd)),
        (1, 1)
    );
    assert!(count(Ticker::BlockCacheBytesWrite) >= 900);
    assert_eq!(
        (
            count(Ticker::BloomFilterFullPositive),
            count(Ticker::BloomFilterFullTruePositive)
        ),
        (1, 1)
    );
    assert_eq!(count(Ticker::GetHitL0), 1);
    let bytes = statistics.histogram_data(Histogram::BytesFromFilesPerGet);
    assert_eq!(bytes.count, 1);
    // The Gets have read the bytes of the data block, the index and the filter.
    assert!((1_000..20_000).contains(&bytes.sum), "{bytes:?}");
    assert_eq!(statistics.histogram_data(Histogram::ReadBlockGetMicros).count, 1);
    assert!(statistics.histogram_data(Histogram::SstReadMicros).count >= 1);
    assert!(count(Ticker::BlockChecksumComputeCount) >= 1);

    assert!(db.get(key(500)).unwrap().is_some());
    assert_eq!(
        (
            count(Ticker::BlockCacheDataMiss),
            count(Ticker::BlockCacheDataHit)
        ),
        (1, 1)
    );
    assert!(count(Ticker::BlockCacheBytesRead) >= 900);
    let again = statistics.histogram_data(Histogram::BytesFromFilesPerGet);
    assert_eq!((again.count, again.sum), (2, bytes.sum), "all was in memory");

    // The filter shows that the next keys do not exist.
    let before = count(Ticker::BloomFilterUseful);
    let missing = (0..50).filter(|number| db.get(format!("key00500x{number}").as_bytes()).unwrap().is_none());
    assert_eq!(missing.count(), 50);
    let useful = count(Ticker::BloomFilterUseful) - before;
    let positive = count(Ticker::BloomFilterFullPositive) - 2;
    assert_eq!(useful + positive, 50);
    assert!(useful > 40, "{useful}");
    assert_eq!(count(Ticker::BloomFilterFullTruePositive), 2);
}

#[test]
fn iterators_and_jobs() {
    let dir = tempfile::tempdir().unwrap();
    let statistics = Statistics::new();
    let count = |ticker| statistics.get_ticker_count(ticker);
    let db = filled(&options(&statistics), &dir.path().join("db"));
    assert_eq!(statistics.histogram_data(Histogram::FlushTime).count, 1);
    statistics.reset();
    let mut iter = db.iter();
    iter.seek(&key(998));
    iter.next();
    iter.next();
    assert!(!iter.valid());
    iter.seek_to_last();
    iter.prev();
    drop(iter);
    assert_eq!(
        [
            Ticker::IteratorsCreated,
            Ticker::IteratorsDeleted,
            Ticker::Seeks,
            Ticker::SeeksFound,
            Ticker::Nexts,
            Ticker::NextsFound,
            Ticker::Prevs,
            Ticker::PrevsFound,
        ]
        .map(count),
        [1, 1, 2, 2, 2, 1, 1, 1]
    );
    assert_eq!(count(Ticker::IterBytesRead), 4 * 108);
    assert_eq!(statistics.histogram_data(Histogram::DbSeek).count, 2);

    db.put(key(3), b"new").unwrap();
    db.delete(key(4)).unwrap();
    let force = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compact_range_cf_opt(&db.default_column_family(), None, None, &force)
        .unwrap();
    // The compaction drops the old value, the deletion, and the deleted value.
    assert_eq!(
        (
            count(Ticker::CompactionKeyDropNewerEntry),
            count(Ticker::CompactionKeyDropObsolete)
        ),
        (2, 1)
    );
    let compactions = statistics.histogram_data(Histogram::CompactionTime).count;
    assert!(compactions >= 1);
    assert_eq!(
        statistics.histogram_data(Histogram::CompactionCpuTime).count,
        compactions
    );
    assert!(
        statistics
            .histogram_data(Histogram::FileReadCompactionMicros)
            .count
            >= 1
    );
    assert_eq!(
        count(Ticker::CompactWriteBytes),
        db.statistics().get(Ticker::CompactWriteBytes)
    );
    db.reset_stats();
    assert_eq!(db.statistics().get(Ticker::CompactWriteBytes), 0);
    assert!(count(Ticker::CompactWriteBytes) > 0);
    let property = |name: &str| db.property(&db.default_column_family(), name);
    let all = property("rocksdb.aggregated-table-properties").unwrap();
    assert!(all.contains("# entries=999; # deletions=0; "), "{all}");
    let last = db.levels(&db.default_column_family());
    let level = last.iter().rposition(|level| level.files > 0).unwrap();
    assert_eq!(
        property(&format!("rocksdb.aggregated-table-properties-at-level{level}")).unwrap(),
        all
    );
    let ratio = property(&format!("rocksdb.compression-ratio-at-level{level}")).unwrap();
    assert!(ratio.parse::<f64>().unwrap() > 1.0, "{ratio}");
    assert_eq!(
        property("rocksdb.compression-ratio-at-level1").unwrap(),
        "-1.000000"
    );
    assert_eq!(property("rocksdb.aggregated-table-properties-at-level99"), None);
    // The deletion of the compaction's inputs is counted too.
    db.wait_for_purge().unwrap();
    let text = db
        .property(&db.default_column_family(), "rocksdb.options-statistics")
        .unwrap();
    assert_eq!(text, statistics.to_string());
}

#[test]
fn a_thread_counts_for_itself() {
    let dir = tempfile::tempdir().unwrap();
    let plain = Options {
        statistics: None,
        ..options(&Statistics::new())
    };
    let db = filled(&plain, &dir.path().join("db"));
    std::thread::scope(|scope| {
        let counted = scope.spawn(|| {
            db.get(key(1)).unwrap();
            assert_eq!(perf::context(), PerfContext::default(), "the perf level is off");
            perf::set_level(PerfLevel::EnableTime);
            db.get(key(900)).unwrap();
            let read = perf::context();
            db.get(key(900)).unwrap();
            let cached = perf::context() - read;
            let mut iter = db.iter();
            perf::reset();
            iter.seek(&key(900));
            iter.next();
            (read, cached, perf::context())
        });
        let (read, cached, iterated) = counted.join().unwrap();
        assert_eq!((read.block_read_count, read.block_cache_hit_count), (1, 0));
        assert!(read.block_read_byte > 50 && read.block_read_time > 0, "{read}");
        assert_eq!((read.bloom_sst_hit_count, read.get_read_bytes), (1, 100));
        assert!(read.get_from_output_files_time >= read.block_read_time, "{read}");
        assert_eq!((cached.block_read_count, cached.block_cache_hit_count), (0, 1));
        assert_eq!((iterated.iter_seek_count, iterated.iter_next_count), (1, 1));
        assert!(read.get_cpu_nanos > 0 && cached.get_cpu_nanos > 0, "{read}");
        assert!(
            iterated.iter_seek_cpu_nanos > 0 && iterated.iter_next_cpu_nanos > 0,
            "{iterated}"
        );
        assert_eq!((iterated.iter_prev_cpu_nanos, iterated.get_cpu_nanos), (0, 0));
        assert_eq!(iterated.iter_read_bytes, 2 * 108);
    });
}

/// A slow compaction filter that keeps everything.
struct Slow;

fn pass_a_microsecond() {
    let watch = base::env::Stopwatch::start();
    while watch.nanos() < 1_000 {
        std::hint::spin_loop();
    }
}

impl CompactionFilterFactory for Slow {
    fn name(&self) -> &str {
        "Slow"
    }

    fn create(&self, _: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(Slow))
    }
}

impl CompactionFilter for Slow {
    fn filter(&mut self, _: usize, _: &[u8], _: ValueType, _: &[u8]) -> Decision {
        pass_a_microsecond();
        Decision::Keep
    }
}

impl MergeOperator for Slow {
    fn name(&self) -> &str {
        "Slow"
    }

    fn full_merge(&self, _: &[u8], _: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        pass_a_microsecond();
        operands.last().map(|operand| operand.to_vec())
    }
}

#[test]
fn what_users_code_takes_is_timed_where_it_is_asked_for() {
    let of_level = |level: StatsLevel| {
        let dir = tempfile::tempdir().unwrap();
        let statistics = Statistics::of_level(level);
        let mut options = options(&statistics);
        options.column_family.compaction_filter_factory = Some(Arc::new(Slow));
        options.column_family.merge_operator = Some(Arc::new(Slow));
        let db = Db::open(&options, dir.path()).unwrap();
        let family = db.default_column_family();
        for number in 0..100 {
            db.put(key(number), b"value").unwrap();
            db.merge_cf(&family, key(200), b"operand").unwrap();
        }
        assert_eq!(db.get(key(200)).unwrap().as_deref(), Some(&b"operand"[..]));
        let merging = statistics.get_ticker_count(Ticker::MergeOperationTotalTime);
        db.flush().unwrap();
        let everything = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        db.compact_range_cf_opt(&family, None, None, &everything).unwrap();
        (
            merging,
            statistics.get_ticker_count(Ticker::FilterOperationTotalTime),
        )
    };
    assert_eq!(of_level(StatsLevel::ExceptTimers), (0, 0));
    let (merging, filtering) = of_level(StatsLevel::ExceptDetailedTimers);
    assert!(merging >= 1_000, "{merging}");
    assert_eq!(filtering, 0);
    let (_, filtering) = of_level(StatsLevel::ExceptTimeForMutex);
    assert!(filtering >= 100 * 1_000, "{filtering}");
}
