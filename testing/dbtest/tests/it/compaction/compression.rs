//! The compression of tables at each level, and moves of tables with another compression than their new
//! level.

use std::path::Path;
use std::sync::Arc;

use dbtest::by_hand::{compact, flush};
use esker::{
    ColumnFamilyOptions, CompactFilesOptions, CompressionType, Db, ErrorKind, Histogram, Options, Statistics,
    StatsLevel, Temperature, Ticker,
};
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

/// The level of each table and its recorded compression, sorted.
fn compressions(db: &Db) -> Vec<(usize, String)> {
    let properties = db.properties_of_all_tables(&db.default_column_family()).unwrap();
    let mut found: Vec<_> = db
        .live_files()
        .iter()
        .map(|file| {
            let named = |path: &Path| path.ends_with(format!("{:06}.sst", file.number));
            let (_, properties) = properties.iter().find(|(path, _)| named(path)).unwrap();
            (
                file.level,
                String::from_utf8(properties.compression.to_vec()).unwrap(),
            )
        })
        .collect();
    found.sort();
    found
}

fn expect(found: Vec<(usize, String)>, expected: &[(usize, &str)]) {
    let found: Vec<_> = found.iter().map(|(level, name)| (*level, &**name)).collect();
    assert_eq!(found, expected);
}

#[test]
fn each_level_has_its_compression() {
    use CompressionType::{Lz4, None, Snappy, Zstd};
    for (bottommost, last) in [(Option::None, "ZSTD"), (Some(CompressionType::Zlib), "Zlib")] {
        let mem = MemFs::new();
        let options = options(
            &mem,
            ColumnFamilyOptions {
                level_compaction_dynamic_level_bytes: false,
                disable_auto_compactions: true,
                streams_bypass_level0: false,
                compression_per_level: vec![None, Snappy, Lz4, Zstd],
                bottommost_compression: bottommost,
                ..ColumnFamilyOptions::default()
            },
        );
        let db = Db::open(&options, DIR).unwrap();
        let family = db.default_column_family();
        // Levels are filled from the lowest one up, so that each file is merged into an empty level. The last
        // compression in the list applies to all lower levels.
        for level in (0..7).rev() {
            put(&db, 0, 100);
            flush(&db);
            if level > 0 {
                let of_level_0 = db
                    .live_files()
                    .iter()
                    .find(|file| file.level == 0)
                    .unwrap()
                    .number;
                db.compact_files(&family, &[of_level_0], level, &CompactFilesOptions::default())
                    .unwrap();
            }
        }
        expect(
            compressions(&db),
            &[
                (0, "NoCompression"),
                (1, "Snappy"),
                (2, "LZ4"),
                (3, "ZSTD"),
                (4, "ZSTD"),
                (5, "ZSTD"),
                (6, last),
            ],
        );
    }
}

/// The caller of a compaction of named files chooses their compression and temperature, and then they are not
/// moved.
#[test]
fn named_files_are_written_as_the_caller_says() {
    let options = options(
        &MemFs::new(),
        ColumnFamilyOptions {
            compression: CompressionType::Lz4,
            level_compaction_dynamic_level_bytes: false,
            disable_auto_compactions: true,
            streams_bypass_level0: false,
            ..ColumnFamilyOptions::default()
        },
    );
    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    put(&db, 0, 100);
    flush(&db);
    let rewrite = |level, options: &CompactFilesOptions| {
        let numbers: Vec<u64> = db.live_files().iter().map(|file| file.number).collect();
        db.compact_files(&family, &numbers, level, options).map(drop)
    };
    let chosen = CompactFilesOptions {
        allow_trivial_move: true,
        compression: Some(CompressionType::Snappy),
        ..CompactFilesOptions::default()
    };
    rewrite(1, &chosen).unwrap();
    expect(compressions(&db), &[(1, "Snappy")]);
    let warm = CompactFilesOptions {
        allow_trivial_move: true,
        output_temperature_override: Some(Temperature::WARM),
        ..CompactFilesOptions::default()
    };
    rewrite(2, &warm).unwrap();
    expect(compressions(&db), &[(2, "LZ4")]);
    assert_eq!(db.live_files()[0].temperature, Temperature::WARM);
    let impossible = CompactFilesOptions {
        compression: Some(CompressionType::Xpress),
        ..CompactFilesOptions::default()
    };
    let refused = rewrite(3, &impossible).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
}

/// With dynamic level sizes, the second compression in the list is that of the first non-empty level below
/// L0.
#[test]
fn levels_are_counted_from_the_base_level() {
    let mem = MemFs::new();
    let options = options(
        &mem,
        ColumnFamilyOptions {
            disable_auto_compactions: true,
            streams_bypass_level0: false,
            compression_per_level: vec![CompressionType::None, CompressionType::Lz4, CompressionType::Zstd],
            ..ColumnFamilyOptions::default()
        },
    );
    let db = Db::open(&options, DIR).unwrap();
    put(&db, 0, 100);
    flush(&db);
    put(&db, 0, 100);
    flush(&db);
    compact(&db);
    expect(compressions(&db), &[(6, "LZ4")]);
    put(&db, 0, 100);
    flush(&db);
    expect(compressions(&db), &[(0, "NoCompression"), (6, "LZ4")]);
}

/// A database with one file in L0 with compression `is`, which will go to L6, where `wanted` is configured.
/// It is reopened, so that the file is not open.
fn about_to_move(is: CompressionType, wanted: CompressionType, any: bool, max_open_files: i32) -> Db {
    let mem = MemFs::new();
    let mut options = options(
        &mem,
        ColumnFamilyOptions {
            compression: is,
            streams_bypass_level0: false,
            level0_file_num_compaction_trigger: 1,
            disable_auto_compactions: true,
            move_files_of_any_compression: any,
            ..ColumnFamilyOptions::default()
        },
    );
    let db = Db::open(&options, DIR).unwrap();
    put(&db, 0, 100);
    flush(&db);
    db.close().unwrap();
    options.max_open_files = max_open_files;
    options.column_family.compression_per_level = vec![CompressionType::None, wanted];
    options.column_family.compression = wanted;
    options.column_family.disable_auto_compactions = false;
    let db = Db::open(&options, DIR).unwrap();
    db.wait_for_compact().unwrap();
    db
}

/// The number of files moved until the close of the database: a job is counted after other threads see its
/// end.
fn moves(db: &Db) -> u64 {
    db.close().unwrap();
    db.statistics().get(Ticker::TrivialMoves)
}

#[test]
fn a_file_moves_where_its_own_compression_is_that_of_the_level() {
    use CompressionType::{Lz4, None};
    for max_open_files in [-1, 16] {
        for (is, moved) in [(Lz4, 1), (None, 0)] {
            let db = about_to_move(is, Lz4, false, max_open_files);
            expect(compressions(&db), &[(6, "LZ4")]);
            assert_eq!(moves(&db), moved, "{is:?}, max_open_files={max_open_files}");
        }
    }
}

#[test]
fn files_of_any_compression_move_by_option_and_are_compressed_when_merged() {
    let db = about_to_move(CompressionType::None, CompressionType::Lz4, true, -1);
    expect(compressions(&db), &[(6, "NoCompression")]);
    // The keys of the new rows are between those of the files that were moved.
    put(&db, 50, 60);
    flush(&db);
    db.wait_for_compact().unwrap();
    expect(compressions(&db), &[(6, "LZ4")]);
    assert_eq!(moves(&db), 1);
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
