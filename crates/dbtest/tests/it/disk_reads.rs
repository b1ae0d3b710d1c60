//! How files are opened and which parts of them are read, as the options say: counted in the log of calls.

use std::sync::Arc;

use esker::{
    BlockBasedOptions, BottommostLevelCompaction, ColumnFamilyOptions, CompactRangeOptions, CompressionType,
    Db, FlushOptions, Options, ReadOptions,
};
use vfs::{LogFs, MemFs};

const DB: &str = "/db";
const KEYS: u64 = 400;

fn key(number: u64) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

fn value(number: u64) -> Vec<u8> {
    vec![number as u8; 980]
}

/// A database of one table whose every entry is a block of 1014 bytes, and the log of what is done in it.
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
            db.put(&key(number), &value(number)).unwrap();
        }
        db.flush(&FlushOptions::default()).unwrap();
        assert_eq!(db.get(&key(7)).unwrap(), Some(value(7)));
        fs.take();
        Stage { fs, options, db }
    }

    /// The lines of tables, or of what the word names, that begin with the word.
    fn lines(&self, word: &str, file: &str) -> Vec<String> {
        let log = self.fs.take();
        let lines = log.lines().filter(|line| {
            let mut words = line.split(' ');
            words.next() == Some(word) && words.next().is_some_and(|name| name.ends_with(file))
        });
        lines.map(str::to_owned).collect()
    }

    /// Lengths of reads of tables.
    fn reads(&self) -> Vec<u64> {
        let lines = self.lines("read", ".sst");
        let len = |line: &String| line.rsplit('+').next().unwrap().parse().unwrap();
        lines.iter().map(len).collect()
    }

    fn scan(&self, options: &ReadOptions, from: u64, to: u64) -> Vec<u64> {
        let mut iter = self.db.iter(options);
        iter.seek(&key(from));
        for number in from..to {
            assert!(iter.valid(), "{number}: {:?}", iter.status());
            assert_eq!((iter.key(), iter.value()), (&key(number)[..], &value(number)[..]));
            iter.next();
        }
        iter.status().unwrap();
        self.reads()
    }
}

const BLOCK: u64 = 1014;

#[test]
fn iterators_read_ahead_as_they_are_told() {
    let stage = Stage::new(|_| {});
    let read = ReadOptions::default();
    assert_eq!(
        stage.scan(&read, 10, 40),
        [BLOCK, BLOCK, 9 * BLOCK, 17 * BLOCK, 33 * BLOCK]
    );
    let fixed = ReadOptions {
        readahead_size: 4096,
        ..ReadOptions::default()
    };
    assert_eq!(stage.scan(&fixed, 10, 18), [5 * BLOCK, 5 * BLOCK]);
    let bounded = ReadOptions {
        iterate_upper_bound: Some(key(20)),
        ..ReadOptions::default()
    };
    // The block of the bound is the last.
    assert_eq!(stage.scan(&bounded, 10, 20), [BLOCK, BLOCK, 9 * BLOCK]);
    let unbounded = ReadOptions {
        auto_readahead_size: false,
        iterate_upper_bound: Some(key(14)),
        ..ReadOptions::default()
    };
    assert_eq!(stage.scan(&unbounded, 10, 14), [BLOCK, BLOCK, 9 * BLOCK]);
    // Bounds changed on the way are those that count.
    let mut iter = stage.db.iter(&ReadOptions::default());
    iter.set_bounds(None, Some(&key(14)));
    iter.seek(&key(10));
    while iter.valid() {
        iter.next();
    }
    assert_eq!(stage.reads(), [BLOCK, BLOCK, 3 * BLOCK]);
    iter.set_bounds(None, None);
    iter.seek(&key(100));
    for _ in 0..3 {
        iter.next();
    }
    assert_eq!(stage.reads(), [BLOCK, BLOCK, 9 * BLOCK]);
}

#[test]
fn a_get_reads_one_block() {
    let stage = Stage::new(|options| options.column_family.table.num_file_reads_for_auto_readahead = 0);
    for number in 0..20 {
        assert_eq!(stage.db.get(&key(number)).unwrap(), Some(value(number)));
    }
    assert_eq!(stage.reads(), [BLOCK; 20]);
}

#[test]
fn options_of_the_table_say_how_much() {
    let stage = Stage::new(|options| {
        let table = &mut options.column_family.table;
        table.initial_auto_readahead_size = 2048;
        table.max_auto_readahead_size = 4096;
        table.num_file_reads_for_auto_readahead = 0;
    });
    assert_eq!(
        stage.scan(&ReadOptions::default(), 0, 12),
        [3 * BLOCK, 5 * BLOCK, 5 * BLOCK]
    );
    let stage = Stage::new(|options| options.column_family.table.max_auto_readahead_size = 0);
    assert_eq!(stage.scan(&ReadOptions::default(), 0, 12), [BLOCK; 13]);
}

#[test]
fn users_tables_are_opened_to_be_read_at_random() {
    for (advise, expected) in [(true, " random"), (false, "")] {
        let stage = Stage::new(|options| options.advise_random_on_open = advise);
        stage.db.close().unwrap();
        stage.fs.take();
        let db = Db::open(&stage.options, DB).unwrap();
        assert_eq!(db.get(&key(1)).unwrap(), Some(value(1)));
        let opened = stage.lines("open", ".sst");
        assert!(!opened.is_empty());
        for line in opened {
            assert!(line.ends_with(&format!(".sst{expected}")), "{line}");
        }
        db.close().unwrap();
    }
}

#[test]
fn compactions_read_as_much_as_they_are_told() {
    for (size, largest) in [(2 << 20, KEYS * BLOCK), (10 << 10, 11 * BLOCK), (0, 144 * BLOCK)] {
        let stage = Stage::new(|options| options.compaction_readahead_size = size);
        let everything = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        let family = stage.db.default_column_family();
        stage.db.compact_range(&family, &everything, None, None).unwrap();
        let reads = stage.reads();
        assert_eq!(reads.iter().max(), Some(&largest), "{size}: {reads:?}");
    }
}

#[test]
fn verification_reads_as_much_as_it_is_told() {
    let stage = Stage::new(|_| {});
    let largest = |options: &ReadOptions| {
        stage.db.verify_checksum_opt(options).unwrap();
        stage.reads().into_iter().max().unwrap()
    };
    assert_eq!(largest(&ReadOptions::default()), (256 << 10) / BLOCK * BLOCK);
    let told = ReadOptions {
        readahead_size: 32 << 10,
        ..ReadOptions::default()
    };
    // The index is one block.
    assert_eq!(largest(&told), (32 << 10) / BLOCK * BLOCK);
}

#[test]
fn recovery_reads_as_much_of_a_wal_as_it_is_told() {
    for (size, largest) in [(0, 256 << 10), (32 << 10, 32 << 10), (100_000, 128 << 10)] {
        let stage = Stage::new(|options| options.log_readahead_size = size);
        for number in 0..KEYS {
            stage.db.put(&key(number), &value(number)).unwrap();
        }
        stage.fs.take();
        let db = Db::open_read_only(&stage.options, DB).unwrap();
        let log = stage.fs.take();
        let reads = log
            .lines()
            .filter(|line| line.starts_with("read ") && line.contains(".log "));
        let lens = reads.map(|line| line.rsplit('+').next().unwrap().parse::<u64>().unwrap());
        assert_eq!(lens.max(), Some(largest), "{log}");
        assert_eq!(db.get(&key(1)).unwrap(), Some(value(1)));
    }
}
