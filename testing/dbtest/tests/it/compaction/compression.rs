//! The compression of tables at each level, and moves of tables with another compression than their new
//! level.

use std::sync::Arc;

use dbtest::by_hand::{compact, flush};
use esker::{ColumnFamilyOptions, CompressionType, Db, Histogram, Options, Statistics, StatsLevel, Ticker};
use vfs::{LogFs, MemFs, RateLimiter};

const DIR: &str = "/db";

fn options(mem: &MemFs, column_family: ColumnFamilyOptions) -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(mem.clone()),
        column_family,
        ..Options::default()
    }
}

/// Puts compressible rows with adjacent keys.
fn put(db: &Db, from: u32, to: u32) {
    for key in from..to {
        db.put(format!("key{key:06}").as_bytes(), [b'v'; 100]).unwrap();
    }
}

#[test]
fn what_is_compressed_is_counted() {
    for threads in [1, 3] {
        for (compression, compresses) in [
            (CompressionType::None, false),
            (CompressionType::Lz4, true),
            (CompressionType::Zstd, true),
        ] {
            let mut options = options(
                &MemFs::new(),
                ColumnFamilyOptions {
                    compression,
                    ..ColumnFamilyOptions::default()
                },
            );
            options.column_family.compression_opts.parallel_threads = threads;
            options.statistics = Some(Statistics::new());
            let db = Db::open(&options, DIR).unwrap();
            put(&db, 0, 1000);
            flush(&db);
            let ticker = |ticker| db.statistics().get(ticker);
            let blocks = ticker(Ticker::BlocksCompressed);
            let (from, to) = (
                ticker(Ticker::BytesCompressedFrom),
                ticker(Ticker::BytesCompressedTo),
            );
            if compresses {
                // Blocks have four kibibytes, rows 109 bytes.
                assert!((27..40).contains(&blocks), "{compression:?} {blocks}");
                assert!((100_000..130_000).contains(&from), "{compression:?} {from}");
                assert!((100..from / 2).contains(&to), "{compression:?} {to}");
            } else {
                assert_eq!((blocks, from, to), (0, 0, 0));
            }
        }
    }
}

/// Incompressible blocks and blocks without compression are counted too, and times from the statistics level
/// of detailed timers on.
#[test]
fn what_compression_takes_and_what_it_leaves_is_counted() {
    let rows = |level: StatsLevel, compression: CompressionType, threads: u32, noise: bool| {
        let mut options = options(
            &MemFs::new(),
            ColumnFamilyOptions {
                compression,
                ..ColumnFamilyOptions::default()
            },
        );
        options.column_family.table.enable_index_compression = false;
        options.column_family.compression_opts.parallel_threads = threads;
        let statistics = Statistics::of_level(level);
        options.statistics = Some(statistics.clone());
        let db = Db::open(&options, DIR).unwrap();
        let mut rng = testkit::TestRng::with_seed(7);
        for number in 0..1_000u32 {
            let value: Vec<u8> = match noise {
                true => (0..100).map(|_| rng.u8(..)).collect(),
                false => vec![b'v'; 100],
            };
            db.put(format!("{number:09}").as_bytes(), &value).unwrap();
        }
        flush(&db);
        let of = |ticker| statistics.get_ticker_count(ticker);
        (
            of(Ticker::BlocksCompressed),
            (
                of(Ticker::BlocksCompressionRejected),
                of(Ticker::BytesCompressionRejected),
            ),
            (
                of(Ticker::BlocksCompressionBypassed),
                of(Ticker::BytesCompressionBypassed),
            ),
            statistics.histogram_data(Histogram::CompressionTimesNanos),
        )
    };
    for threads in [1, 3] {
        let (compressed, rejected, bypassed, times) = rows(
            StatsLevel::ExceptTimeForMutex,
            CompressionType::Zstd,
            threads,
            false,
        );
        assert!(
            compressed > 20 && times.count == compressed && times.sum > 0,
            "{times:?}"
        );
        // The bypassed block is the index.
        assert_eq!((rejected, bypassed.0), ((0, 0), 1));
        let (compressed, rejected, bypassed, times) = rows(
            StatsLevel::ExceptTimeForMutex,
            CompressionType::Zstd,
            threads,
            true,
        );
        assert_eq!((compressed, bypassed.0, times.count), (0, 1, rejected.0));
        assert!(rejected.0 > 20 && rejected.1 > 100_000, "{rejected:?}");
    }
    let (compressed, _, _, times) = rows(StatsLevel::ExceptDetailedTimers, CompressionType::Zstd, 1, false);
    assert!(compressed > 20 && times.count == 0, "{times:?}");
    let (compressed, rejected, bypassed, times) =
        rows(StatsLevel::ExceptTimeForMutex, CompressionType::None, 1, false);
    assert_eq!((compressed, rejected, times.count), (0, (0, 0), 0));
    assert!(bypassed.0 > 20 && bypassed.1 > 100_000, "{bypassed:?}");
}

/// With a rate limiter, the kernel is asked to write back each mebibyte, unless an option says otherwise:
/// RocksDB sanitizes its options in the same way.
#[test]
fn a_rate_limiter_has_the_kernel_asked_as_well() {
    let created = |limited: bool, bytes_per_sync: u64, change: Option<&str>| {
        let mem = MemFs::new();
        let log = LogFs::new(Arc::new(mem.clone()), DIR);
        let mut options = options(&mem, ColumnFamilyOptions::default());
        options.fs = Arc::new(log.clone());
        options.bytes_per_sync = bytes_per_sync;
        options.rate_limiter = limited.then(|| Arc::new(RateLimiter::new(1 << 30).unwrap()));
        let db = Db::open(&options, DIR).unwrap();
        if let Some(change) = change {
            db.set_db_options(&[("bytes_per_sync", change)]).unwrap();
        }
        put(&db, 0, 100);
        flush(&db);
        let made = log.take();
        let table = made
            .lines()
            .find(|line| line.starts_with("create ") && line.contains(".sst"))
            .unwrap();
        let asked = table
            .split(' ')
            .find_map(|word| word.strip_prefix("bytes_per_sync="))
            .map_or(0, |bytes| bytes.parse().unwrap());
        assert_eq!(db.current_options().bytes_per_sync, asked, "{table}");
        asked
    };
    assert_eq!(created(false, 0, None), 0);
    assert_eq!(created(true, 0, None), 1 << 20);
    assert_eq!(created(true, 4096, None), 4096);
    assert_eq!(created(true, 4096, Some("0")), 1 << 20);
    assert_eq!(created(false, 4096, Some("0")), 0);
}

#[test]
fn the_file_system_is_told_how_many_bytes_may_be_dirty() {
    for strict in [false, true] {
        let mem = MemFs::new();
        let log = LogFs::new(Arc::new(mem.clone()), DIR);
        let mut options = options(
            &mem,
            ColumnFamilyOptions {
                enable_blob_files: true,
                min_blob_size: 50,
                disable_auto_compactions: true,
                ..ColumnFamilyOptions::default()
            },
        );
        options.fs = Arc::new(log.clone());
        options.bytes_per_sync = 1 << 20;
        options.wal_bytes_per_sync = 2 << 20;
        options.strict_bytes_per_sync = strict;
        let db = Db::open(&options, DIR).unwrap();
        put(&db, 0, 100);
        flush(&db);
        put(&db, 0, 100);
        flush(&db);
        compact(&db);
        let changes = [("bytes_per_sync", "3145728"), ("wal_bytes_per_sync", "4194304")];
        db.set_db_options(&changes).unwrap();
        put(&db, 0, 100);
        db.flush().unwrap();
        let made = log.take();
        let strict = if strict { " strict_bytes_per_sync" } else { "" };
        for (ending, files, expected) in [
            (".sst", 3, 1 << 20),
            (".sst", 1, 3 << 20),
            (".blob", 2, 1 << 20),
            (".blob", 1, 3 << 20),
            (".log", 3, 2 << 20),
            (".log", 1, 4 << 20),
        ] {
            let asked = format!(" bytes_per_sync={expected}{strict}");
            let created = made.lines().filter(|line| {
                let mut words = line.split(' ');
                let creates = words.next() == Some("create");
                creates && words.next().is_some_and(|path| path.ends_with(ending)) && line.contains(&asked)
            });
            assert_eq!(created.count(), files, "{ending}{asked} in\n{made}");
        }
    }
}
