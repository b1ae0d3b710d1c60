//! The ways in which files are opened and read under various options, counted in a log of file-system calls.

use std::sync::Arc;

use dbtest::by_hand::{flush, rewrite, rewrite_family};
use esker::{
    BlockBasedOptions, ColumnFamilyOptions, CompactionFilter, CompactionFilterFactory, CompressionType, Db,
    Decision, ErrorKind, FilterContext, FilterPolicy, IndexType, IngestExternalFileOptions, Options,
    ReadOptions, SstFileWriter, ValueType,
};
use vfs::{Action, FaultFs, FileSystem, LogFs, MemFs, Op, PosixFs, Rule};

const DB: &str = "/db";
const KEYS: u64 = 400;

fn key(number: u64) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

fn value(number: u64) -> Vec<u8> {
    vec![number as u8; 980]
}

/// A database with one table whose entries are blocks of 1014 bytes each, and the log of its file-system
/// calls.
struct Stage {
    fs: LogFs,
    options: Options,
    db: Db,
}

impl Stage {
    fn new(change: impl FnOnce(&mut Options)) -> Stage {
        let fs = LogFs::new(Arc::new(MemFs::new()), DB).with_queries();
        let mut options = Options {
            create_if_missing: true,
            fs: Arc::new(fs.clone()),
            column_family: ColumnFamilyOptions {
                compression: CompressionType::None,
                table: BlockBasedOptions {
                    block_size: 900,
                    no_block_cache: true,
                    ..BlockBasedOptions::default()
                },
                ..ColumnFamilyOptions::default()
            },
            ..Options::default()
        };
        change(&mut options);
        let db = Db::open(&options, DB).unwrap();
        for number in 0..KEYS {
            db.put(key(number), value(number)).unwrap();
        }
        flush(&db);
        assert_eq!(db.get(key(7)).unwrap(), Some(value(7)));
        fs.take();
        Stage { fs, options, db }
    }

    /// The lines of the log that begin with the word `word` and concern files with `file` in their names.
    fn lines(&self, word: &str, file: &str) -> Vec<String> {
        let log = self.fs.take();
        let lines = log.lines().filter(|line| {
            let mut words = line.split(' ');
            words.next() == Some(word) && words.next().is_some_and(|name| name.ends_with(file))
        });
        lines.map(str::to_owned).collect()
    }

    /// The lengths of the reads of tables.
    fn reads(&self) -> Vec<u64> {
        let lines = self.lines("read", ".sst");
        let len = |line: &String| line.rsplit('+').next().unwrap().parse().unwrap();
        lines.iter().map(len).collect()
    }
}

const BLOCK: u64 = 1014;

/// `verify_checksums_readahead_size` of an ingestion sets the bytes read of an external file at a time during
/// its verification.
#[test]
fn an_ingestion_reads_as_much_as_it_is_told() {
    let stage = Stage::new(|_| {});
    let mut next = 0;
    let mut largest = |verify_checksums_before_ingest: bool, verify_checksums_readahead_size: usize| {
        let path = format!("{DB}/outside{next}.sst");
        let mut writer = SstFileWriter::new(&stage.options);
        writer.open(&path).unwrap();
        for number in 0..KEYS {
            let number = (next + 1) * 1_000 + number;
            writer.put(&key(number), &value(number)).unwrap();
        }
        writer.finish().unwrap();
        stage.fs.take();
        next += 1;
        let told = IngestExternalFileOptions {
            move_files: true,
            verify_checksums_before_ingest,
            verify_checksums_readahead_size,
            ..IngestExternalFileOptions::default()
        };
        stage.db.ingest_external_file(&[path], &told).unwrap();
        assert_eq!(
            stage.db.get(key(next * 1_000 + 7)).unwrap(),
            Some(value(next * 1_000 + 7))
        );
        stage.reads()
    };
    let most = |reads: Vec<u64>| reads.into_iter().max().unwrap();
    assert_eq!(most(largest(true, 0)), (256 << 10) / BLOCK * BLOCK);
    for size in [32 << 10, 100 << 10] {
        // The entries are read block by block, with the configured bytes of readahead.
        let expected = (size as u64 / BLOCK + 1) * BLOCK;
        assert_eq!(most(largest(true, size)), expected, "{size}");
    }
    // Without verification only the first and last block, the index and the properties are read.
    let bytes: u64 = largest(false, 32 << 10).iter().sum();
    assert!(bytes < 150 << 10, "{bytes}");
}

/// With `allow_mmap_reads`, compactions still read through a descriptor and not through a map.
#[test]
fn compactions_read_no_maps() {
    let stage = Stage::new(|options| options.allow_mmap_reads = true);
    let family = stage.db.default_column_family();
    rewrite_family(&stage.db, &family);
    let reads = stage.reads();
    assert!(reads.contains(&(KEYS * BLOCK)), "{reads:?}");
    stage.db.get(key(5)).unwrap();
    assert!(stage.reads().is_empty(), "users read the map");
}

/// A filter that reads every value and keeps it.
struct Reads;

impl CompactionFilterFactory for Reads {
    fn name(&self) -> &str {
        "Reads"
    }

    fn create(&self, _: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(Reads))
    }
}

impl CompactionFilter for Reads {
    fn filter(&mut self, _: usize, _: &[u8], _: ValueType, _: &[u8]) -> Decision {
        Decision::Keep
    }
}

#[test]
fn compactions_read_blobs_ahead_through_descriptors_of_their_own() {
    let database = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/rocksdb-11.9/blob_files"
    );
    let mut most = Vec::new();
    for size in [0, 256 << 10] {
        let dir = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(database).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
        }
        let fs = LogFs::new(Arc::new(PosixFs::new()), dir.path()).with_queries();
        let mut options = Options {
            fs: Arc::new(fs.clone()),
            ..Options::default()
        };
        options.column_family.disable_auto_compactions = true;
        options.column_family.blob_compaction_readahead_size = size;
        options.column_family.compaction_filter_factory = Some(Arc::new(Reads));
        let db = Db::open(&options, dir.path()).unwrap();
        let rows = || {
            let mut iter = db.iter();
            iter.seek_to_first();
            let mut rows = Vec::new();
            while iter.valid() {
                rows.push((iter.key().to_vec(), iter.value().to_vec()));
                iter.next();
            }
            iter.status().unwrap();
            rows
        };
        let before = rows();
        fs.take();
        rewrite(&db);
        let log = fs.take();
        let of_blobs: Vec<&str> = log.lines().filter(|line| line.contains(".blob")).collect();
        assert!(
            of_blobs
                .iter()
                .any(|line| line.starts_with("open ") && line.ends_with(" sequential")),
            "{log}"
        );
        most.push(of_blobs.iter().filter(|line| line.starts_with("read ")).count());
        assert_eq!(rows(), before);
        db.close().unwrap();
    }
    assert!(most[1] > 0 && most[1] * 2 < most[0], "{most:?}");
}

#[test]
fn a_multi_get_reads_the_blocks_of_its_keys_side_by_side() {
    // Direct reads are side by side without being asked to: the page cache cannot be told to start them.
    for (no_cache, fill_cache, direct) in [
        (false, true, false),
        (false, false, false),
        (true, true, false),
        (false, true, true),
        (true, true, true),
    ] {
        let stage = Stage::new(|options| {
            options.column_family.table.no_block_cache = no_cache;
            options.use_direct_reads = direct;
        });
        let reading = ReadOptions {
            async_io: !direct,
            fill_cache,
            ..ReadOptions::default()
        };
        let family = stage.db.default_column_family();
        let numbers = [42, 10, 11, 12, 40, 300, 999_999, 200, 10];
        let keys = numbers.map(key);
        let check = || {
            let found = stage.db.multi_get_cf_opt(&family, &keys, &reading);
            for (number, found) in numbers.iter().zip(found) {
                let expected = (*number < KEYS).then(|| value(*number));
                assert_eq!(found.unwrap(), expected, "{number}");
            }
            let log = stage.fs.take();
            let of_tables = log.lines().filter(|line| line.contains(".sst "));
            let reads = of_tables.map(|line| {
                let (what, range) = (line.split(' ').next().unwrap(), line.rsplit(' ').next().unwrap());
                let (offset, len) = range.split_once('+').unwrap();
                let (offset, len): (u64, u64) = (offset.parse().unwrap(), len.parse().unwrap());
                assert_eq!(what, "start_read", "{log}");
                (offset / BLOCK, len / BLOCK)
            });
            reads.collect::<Vec<_>>()
        };
        // Blocks are read together if the gaps between them are at most 16 KiB.
        let expected = [(10, 3), (40, 3), (200, 1), (300, 1)];
        let first = check();
        assert_eq!(first, expected);
        let again = check();
        match fill_cache && !no_cache {
            true => assert!(again.is_empty(), "{again:?}"),
            false => assert_eq!(again, first),
        }
    }
}

/// MultiGet reads blocks concurrently if indexes and filters are in the cache, as one block or in partitions.
#[test]
fn a_multi_get_by_cached_indexes_reads_side_by_side() {
    for (index_type, fill_cache) in [
        (IndexType::BinarySearch, true),
        (IndexType::TwoLevel, true),
        (IndexType::BinarySearch, false),
        (IndexType::TwoLevel, false),
    ] {
        let stage = Stage::new(|options| {
            let table = &mut options.column_family.table;
            table.no_block_cache = false;
            table.cache_index_and_filter_blocks = true;
            table.filter_policy = FilterPolicy::Bloom(10.0);
            table.metadata_block_size = 200;
            table.partition_filters = true;
            table.index_type = index_type;
        });
        let reading = ReadOptions {
            async_io: true,
            fill_cache,
            ..ReadOptions::default()
        };
        let family = stage.db.default_column_family();
        // Loads indexes and filters into the cache.
        let numbers = [43, 13, 303, 203];
        for found in stage.db.multi_get_cf(&family, &numbers.map(key)) {
            assert!(found.unwrap().is_some());
        }
        stage.fs.take();
        let numbers = [42, 10, 11, 12, 40, 300, 999_999, 200, 10];
        let found = stage.db.multi_get_cf_opt(&family, &numbers.map(key), &reading);
        for (number, found) in numbers.iter().zip(found) {
            let expected = (*number < KEYS).then(|| value(*number));
            assert_eq!(found.unwrap(), expected, "{number}");
        }
        let log = stage.fs.take();
        let count = |what: &str| {
            log.lines()
                .filter(|line| line.starts_with(what) && line.contains(".sst "))
                .count()
        };
        // The keys are in blocks 10 to 12, 40 and 42, 200 and 300. The number of reads varies, because some
        // of these blocks may belong to two partitions of the index.
        assert!((4..=7).contains(&count("start_read ")), "{log}");
        assert_eq!(count("read "), 0, "{log}");
    }
}

/// The reads of all sorted runs begin before the thread waits for any of them, for every kind of seek and of
/// index.
#[test]
fn seeks_read_all_runs_side_by_side() {
    for (cached, index_type) in [
        (false, IndexType::BinarySearch),
        (true, IndexType::BinarySearch),
        (true, IndexType::TwoLevel),
        (false, IndexType::BinarySearchWithFirstKey),
    ] {
        let fs = LogFs::new(Arc::new(MemFs::new()), DB).with_queries();
        let options = Options {
            create_if_missing: true,
            fs: Arc::new(fs.clone()),
            column_family: ColumnFamilyOptions {
                compression: CompressionType::None,
                disable_auto_compactions: true,
                prefix_extractor: base::prefix::builtin("fixed:7"),
                table: BlockBasedOptions {
                    block_size: 8000,
                    no_block_cache: !cached,
                    cache_index_and_filter_blocks: cached,
                    metadata_block_size: 200,
                    filter_policy: FilterPolicy::Bloom(20.0),
                    index_type,
                    max_auto_readahead_size: 0,
                    ..BlockBasedOptions::default()
                },
                ..ColumnFamilyOptions::default()
            },
            ..Options::default()
        };
        let db = Db::open(&options, DB).unwrap();
        let family = db.default_column_family();
        // Three runs have all keys, except those of one prefix, which only the last run has.
        for run in 0..3 {
            for number in (0..KEYS).filter(|number| run == 2 || number / 100 != 3) {
                db.put(key(number), value(number)).unwrap();
            }
            flush(&db);
            if run == 0 {
                db.compact_range_cf(&family, None, None).unwrap();
            }
        }
        let reading = ReadOptions {
            async_io: true,
            fill_cache: false,
            ..ReadOptions::default()
        };
        let reads = || {
            let log = fs.take();
            let count = |what: &str| {
                log.lines()
                    .filter(|line| line.starts_with(what) && line.contains(".sst "))
                    .count()
            };
            (count("start_read "), count("read "))
        };
        let within = ReadOptions {
            prefix_same_as_start: true,
            ..reading.clone()
        };
        // These reads load the needed parts of indexes and filters into the cache, and data blocks that later
        // reads do not use.
        for number in [0, 70, 130, 330] {
            let mut iter = db.iter_opt(&ReadOptions {
                fill_cache: true,
                ..within.clone()
            });
            iter.seek(&key(number));
            iter.seek_for_prev(&key(number));
        }
        fs.take();
        for (number, options, forwards, expected) in [
            (11, &reading, true, 3),
            (50, &reading, false, 3),
            (151, &within, true, 3),
            (351, &within, true, 1),
        ] {
            let mut iter = db.iter_opt(options);
            match forwards {
                true => iter.seek(&key(number)),
                false => iter.seek_for_prev(&key(number)),
            }
            assert_eq!((iter.key(), iter.value()), (&key(number)[..], &value(number)[..]));
            let (begun, read) = reads();
            assert_eq!(begun, expected, "{number} {index_type:?}, {read} read one by one");
            // Partitions of the index are read synchronously.
            if index_type != IndexType::TwoLevel {
                assert_eq!(read, 0, "{number} {index_type:?}");
            }
        }
    }
}

#[test]
fn a_multi_get_whose_reads_fail_tells_those_who_need_them() {
    let mem = MemFs::new();
    let stage_on = |fs: Arc<dyn FileSystem>| {
        let mut options = Options {
            create_if_missing: true,
            fs,
            ..Options::default()
        };
        options.column_family.compression = CompressionType::None;
        options.column_family.table.block_size = 900;
        options.column_family.table.no_block_cache = true;
        Db::open(&options, DB).unwrap()
    };
    let db = stage_on(Arc::new(mem.clone()));
    for number in 0..KEYS {
        db.put(key(number), value(number)).unwrap();
    }
    flush(&db);
    db.close().unwrap();
    let faults = FaultFs::new(Arc::new(mem));
    let db = stage_on(Arc::new(faults.clone()));
    let family = db.default_column_family();
    let numbers = [10, 100, 200, 300];
    let keys = numbers.map(key);
    for verify_checksums in [false, true] {
        let reading = ReadOptions {
            async_io: true,
            verify_checksums,
            ..ReadOptions::default()
        };
        let get = || db.multi_get_cf_opt(&family, &keys, &reading);
        assert!(get().iter().all(Result::is_ok));
        for action in [
            Action::Fail(ErrorKind::Io),
            Action::FailAfter(ErrorKind::Io),
            Action::ShortRead,
        ] {
            // A read that fails once is repeated; a read that keeps failing is an error for its keys alone.
            let rule = faults.add(Rule::new(action.clone()).on([Op::Read]).nth(1));
            let found = get();
            assert_eq!(faults.fired(rule), 1);
            faults.clear_rules();
            for (number, found) in numbers.iter().zip(found) {
                assert_eq!(found.unwrap(), Some(value(*number)), "{action:?}");
            }
            faults.add(Rule::new(action.clone()).on([Op::Read]));
            for found in get() {
                assert!(found.is_err(), "{action:?}");
            }
            faults.clear_rules();
        }
    }
}

/// If indexes have the first key of each block, a seek over many sorted runs reads only the blocks that it
/// reaches. Each block has one row here, so that each step reads the block that it reaches.
#[test]
fn runs_that_a_scan_does_not_come_to_are_not_read() {
    const RUNS: u64 = 5;
    for (index_type, cached, reads) in [
        (IndexType::BinarySearch, false, [5, 6, 7, 8]),
        (IndexType::BinarySearchWithFirstKey, false, [1, 3, 5, 7]),
        (IndexType::BinarySearchWithFirstKey, true, [1, 3, 5, 7]),
    ] {
        let fs = LogFs::new(Arc::new(MemFs::new()), DB).with_queries();
        let options = Options {
            create_if_missing: true,
            fs: Arc::new(fs.clone()),
            column_family: ColumnFamilyOptions {
                compression: CompressionType::None,
                disable_auto_compactions: true,
                table: BlockBasedOptions {
                    block_size: 900,
                    no_block_cache: !cached,
                    cache_index_and_filter_blocks: cached,
                    index_type,
                    max_auto_readahead_size: 0,
                    ..BlockBasedOptions::default()
                },
                ..ColumnFamilyOptions::default()
            },
            ..Options::default()
        };
        let db = Db::open(&options, DB).unwrap();
        let family = db.default_column_family();
        // Neighbouring keys are in different runs: the oldest in a level, the others in L0.
        for run in (0..RUNS).rev() {
            for number in (run..KEYS).step_by(RUNS as usize) {
                db.put(key(number), value(number)).unwrap();
            }
            flush(&db);
            if run + 1 == RUNS {
                db.compact_range_cf(&family, None, None).unwrap();
            }
        }
        let count = || {
            let log = fs.take();
            let reads = log
                .lines()
                .filter(|line| line.starts_with("read") && line.contains(".sst"));
            reads.count()
        };
        let scan = |from: u64, steps: u64| {
            let mut iter = db.iter_opt(&ReadOptions {
                fill_cache: false,
                ..ReadOptions::default()
            });
            iter.seek(&key(from));
            for number in from..from + steps {
                assert_eq!((iter.key(), iter.value()), (&key(number)[..], &value(number)[..]));
                iter.next();
            }
            assert_eq!(
                (iter.key(), iter.value()),
                (&key(from + steps)[..], &value(from + steps)[..])
            );
            iter.status().unwrap();
        };
        // Indexes are loaded into memory; blocks do not stay there.
        if cached {
            db.get_cf(&family, key(KEYS)).unwrap();
            let mut iter = db.iter();
            iter.seek_for_prev(&key(KEYS));
            iter.seek(&key(KEYS - 10));
        } else {
            scan(0, RUNS);
        }
        fs.take();
        let counted = [0, 1, 2, 3].map(|steps| {
            scan(20, steps);
            count()
        });
        assert_eq!(counted, reads, "{index_type:?}");
        // Iterators that change direction or scan to the end see every row.
        let mut iter = db.iter();
        iter.seek(&key(23));
        iter.prev();
        assert_eq!(iter.key(), key(22));
        iter.seek(&key(20));
        for number in 20..KEYS {
            assert_eq!((iter.key(), iter.value()), (&key(number)[..], &value(number)[..]));
            iter.next();
        }
        assert!(!iter.valid());
        iter.status().unwrap();
    }
}
