//! The reads of a table, to the byte: the ranges that cursors read ahead, and when.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use base::internal_key::{self, MAX_SEQNO};
use base::{InternalComparator, Kind, UserComparator};
use codec::compression::CompressionType;
use sst::writer::{TableWriter, TableWriterOptions};
use sst::{AutoReadahead, BlockCache, BlockReadOptions, ScanBounds, Table, TableCursor, TableReadOptions};
use vfs::{CreateOptions, FileSystem, LogFs, MemFs, OpenOptions};

use crate::common::new_cache;

fn key(number: u64) -> Vec<u8> {
    internal_key::encode(format!("key{number:06}").as_bytes(), 1, Kind::Value)
}

/// A table of entries in blocks of about 1 KiB, and the log of the reads of it.
struct Stage {
    fs: LogFs,
    table: Arc<Table>,
}

/// The number of entries, one in each block: a block is closed when it has its bytes.
const ENTRIES: u64 = 400;

impl Stage {
    fn new(cache: Option<Arc<BlockCache>>, auto_readahead: AutoReadahead, mmap: bool) -> Stage {
        let fs = LogFs::new(Arc::new(MemFs::new()), "/").with_queries();
        let cmp = InternalComparator::new(UserComparator::Bytewise);
        let path = Path::new("/t.sst");
        let file = fs.create(path, &CreateOptions::default()).unwrap();
        let options = TableWriterOptions {
            block_size: 900,
            compression: CompressionType::None,
            ..TableWriterOptions::new(cmp.clone())
        };
        let mut writer = TableWriter::new(file, options).unwrap();
        for number in 0..ENTRIES {
            writer.add(&key(number), &[number as u8; 980]).unwrap();
        }
        writer.finish().unwrap();
        let open = OpenOptions {
            mmap,
            ..OpenOptions::default()
        };
        let options = TableReadOptions {
            cache,
            auto_readahead,
            ..TableReadOptions::new(cmp)
        };
        let table = Table::open(fs.open_random(path, &open).unwrap(), options).unwrap();
        assert_eq!(table.index().unwrap().len(), ENTRIES as usize);
        fs.take();
        Stage { fs, table }
    }

    /// The operations since the last call: `read` and `prefetch`, each with its range of blocks.
    fn blocks(&self) -> Vec<(String, Range<usize>)> {
        let index = self.table.index().unwrap();
        let starts_at = |offset: u64| (0..index.len()).find(|&block| index.handle(block).offset == offset);
        let ends_at = |end: u64| (0..index.len()).find(|&block| index.handle(block).end() == Some(end));
        let lines = self.fs.take();
        lines
            .lines()
            .map(|line| {
                let words: Vec<&str> = line.split(' ').collect();
                let (offset, len) = words[2].split_once('+').unwrap();
                let (offset, len): (u64, u64) = (offset.parse().unwrap(), len.parse().unwrap());
                let first = starts_at(offset).unwrap_or_else(|| panic!("begins in a block: {line}"));
                let last = ends_at(offset + len).unwrap_or_else(|| panic!("ends in a block: {line}"));
                (words[0].to_owned(), first..last + 1)
            })
            .collect()
    }

    fn reads(&self) -> Vec<Range<usize>> {
        let reads = self.blocks().into_iter().filter(|(what, _)| what == "read");
        reads.map(|(_, blocks)| blocks).collect()
    }
}

/// Moves the cursor `times` times, or until the end, and checks that each entry is the right one.
fn step(cursor: &mut TableCursor, times: u64, backwards: bool) {
    for _ in 0..times {
        if !cursor.valid() {
            break;
        }
        let number: usize = std::str::from_utf8(&cursor.key()[3..9]).unwrap().parse().unwrap();
        assert_eq!(cursor.value(), [number as u8; 980]);
        if backwards { cursor.prev() } else { cursor.next() }
    }
    cursor.status().unwrap();
}

fn uncached() -> BlockReadOptions {
    BlockReadOptions {
        fill_cache: false,
        ..BlockReadOptions::default()
    }
}

#[test]
fn a_scan_reads_ahead_after_two_reads_and_doubles() {
    let stage = Stage::new(None, AutoReadahead::default(), false);
    let mut cursor = stage.table.cursor(uncached());
    cursor.seek_to_first();
    step(&mut cursor, 40, false);
    // Blocks are 1013 bytes: 8 fit into 8 KiB besides the requested one.
    let expected = [
        ("read", 0..1),
        ("read", 1..2),
        ("read", 2..11),
        ("prefetch", 11..20),
        ("read", 11..28),
        ("prefetch", 28..45),
        ("read", 28..61),
        ("prefetch", 61..94),
    ];
    assert_eq!(
        stage.blocks(),
        expected.map(|(what, blocks)| (what.to_owned(), blocks))
    );
    step(&mut cursor, ENTRIES, false);
    let rest = stage.reads();
    // Windows of 64 KiB, 128 KiB, and the rest of the file, which is less than 256 KiB.
    assert_eq!(rest, [61..126, 126..256, 256..400]);
}

#[test]
fn backwards_too() {
    let stage = Stage::new(None, AutoReadahead::default(), false);
    let mut cursor = stage.table.cursor(uncached());
    cursor.seek_to_last();
    step(&mut cursor, 30, true);
    assert_eq!(stage.reads(), [399..400, 398..399, 389..398, 372..389, 339..372]);
    // A cursor that turns round uses the rest of its window, and starts again.
    step(&mut cursor, 60, false);
    assert_eq!(stage.reads(), [372..381, 381..398, 398..400]);
}

#[test]
fn seeks_read_one_block() {
    let stage = Stage::new(None, AutoReadahead::default(), false);
    let mut cursor = stage.table.cursor(uncached());
    for number in [7, 300, 20, 21, 90, 5, 91] {
        cursor.seek(&key(number));
        assert!(cursor.valid());
    }
    let expected = [7, 300, 20, 21, 90, 5, 91].map(|block| block..block + 1);
    assert_eq!(stage.reads(), expected);
}

#[test]
fn what_is_read_ahead_can_be_chosen() {
    let auto = |initial, max, after| AutoReadahead { initial, max, after };
    let reads = |auto, options| {
        let stage = Stage::new(None, auto, false);
        let mut cursor = stage.table.cursor(options);
        cursor.seek_to_first();
        step(&mut cursor, 20, false);
        stage.reads()
    };
    let singly: Vec<Range<usize>> = (0..21).map(|block| block..block + 1).collect();
    assert_eq!(reads(auto(0, 256 << 10, 2), uncached()), singly);
    assert_eq!(reads(auto(8192, 0, 2), uncached()), singly);
    assert_eq!(
        reads(auto(2048, 4096, 0), uncached()),
        [0..3, 3..8, 8..13, 13..18, 18..23]
    );
    // An initial size above the maximum is the maximum.
    assert_eq!(
        reads(auto(8192, 2048, 4), uncached())[..5],
        [0..1, 1..2, 2..3, 3..4, 4..7]
    );
    let fixed = BlockReadOptions {
        readahead_size: 10_240,
        ..uncached()
    };
    assert_eq!(reads(AutoReadahead::default(), fixed), [0..11, 11..22]);
}

#[test]
fn nothing_is_read_ahead_beyond_the_bounds() {
    for trimmed in [true, false] {
        let stage = Stage::new(None, AutoReadahead::default(), false);
        let options = BlockReadOptions {
            auto_readahead_size: trimmed,
            ..uncached()
        };
        let mut cursor = stage.table.cursor(options);
        let bound = |number| {
            let mut target = Vec::new();
            internal_key::set_seek_target(&mut target, &key(number)[..9], MAX_SEQNO);
            Some(target)
        };
        cursor.set_bounds(Some(Arc::new(ScanBounds {
            lower: bound(95),
            upper: bound(115),
        })));
        cursor.seek(&key(100));
        step(&mut cursor, 15, false);
        let forwards = stage.blocks();
        cursor.seek(&key(114));
        stage.blocks();
        step(&mut cursor, 18, true);
        let backwards = stage.reads();
        let beyond = |reads: &[Range<usize>]| reads.iter().any(|read| read.end > 116 || read.start < 95);
        let forward_reads: Vec<_> = forwards.iter().map(|(_, blocks)| blocks.clone()).collect();
        if trimmed {
            // The block with the bound shows that the scan is over.
            let expected = [
                ("read", 100..101),
                ("read", 101..102),
                ("read", 102..111),
                ("prefetch", 111..116),
                ("read", 111..116),
            ];
            assert_eq!(forwards, expected.map(|(what, blocks)| (what.to_owned(), blocks)));
            assert!(!beyond(&backwards), "{backwards:?}");
        } else {
            assert!(beyond(&forward_reads), "{forward_reads:?}");
            assert!(beyond(&backwards), "{backwards:?}");
        }
    }
}

#[test]
fn what_is_in_the_cache_is_not_read_again() {
    let stage = Stage::new(Some(new_cache(8 << 20)), AutoReadahead::default(), false);
    let mut warm = stage.table.cursor(BlockReadOptions::default());
    warm.seek(&key(7));
    step(&mut warm, 9, false);
    stage.fs.take();
    let mut cursor = stage.table.cursor(uncached());
    cursor.seek_to_first();
    step(&mut cursor, 30, false);
    // The window ends before the cached blocks; after them readahead starts again.
    let reads = stage.reads();
    assert_eq!(reads, [0..1, 1..2, 2..7, 17..18, 18..19, 19..28, 28..45]);
    let mut cursor = stage.table.cursor(BlockReadOptions {
        adaptive_readahead: true,
        ..uncached()
    });
    cursor.seek_to_first();
    step(&mut cursor, 30, false);
    // After the prefetched blocks, adaptive readahead continues with a smaller window.
    assert_eq!(stage.reads(), [0..1, 1..2, 2..7, 17..34]);
}

#[test]
fn what_is_left_out_of_the_cache_is_found_there_first() {
    let cache = new_cache(8 << 20);
    let stage = Stage::new(Some(cache), AutoReadahead::default(), false);
    let read = BlockReadOptions::default();
    let mut cursor = stage.table.cursor(read);
    cursor.seek_to_first();
    step(&mut cursor, ENTRIES, false);
    stage.fs.take();
    cursor.seek_to_first();
    step(&mut cursor, ENTRIES, false);
    assert_eq!(stage.blocks(), []);
}

#[test]
fn a_mapped_file_is_made_ready_ahead() {
    let stage = Stage::new(None, AutoReadahead::default(), true);
    let mut cursor = stage.table.cursor(uncached());
    cursor.seek_to_first();
    step(&mut cursor, 40, false);
    let expected = [("prefetch", 2..11), ("prefetch", 11..28), ("prefetch", 28..61)];
    assert_eq!(
        stage.blocks(),
        expected.map(|(what, blocks)| (what.to_owned(), blocks))
    );
    let mut cursor = stage.table.cursor(uncached());
    cursor.seek(&key(300));
    assert!(cursor.valid());
    assert_eq!(stage.blocks(), []);
}

#[test]
fn verification_reads_many_blocks_at_a_time() {
    let stage = Stage::new(None, AutoReadahead::default(), false);
    let data_reads = |readahead_size| {
        let mut blocks = 0;
        stage
            .table
            .verify(readahead_size, &mut |check| {
                check.result.unwrap();
                blocks += usize::from(check.what == "data block");
            })
            .unwrap();
        assert_eq!(blocks, ENTRIES as usize);
        let index = stage.table.index().unwrap();
        let end_of_data = index.handle(index.len() - 1).end().unwrap();
        let offset_of = |line: &str| -> u64 {
            let range = line.split(' ').nth(2).unwrap();
            range.split('+').next().unwrap().parse().unwrap()
        };
        let log = stage.fs.take();
        log.lines().filter(|line| offset_of(line) < end_of_data).count()
    };
    assert_eq!(data_reads(0), 2);
    assert_eq!(data_reads(10_240), 40);
}

#[test]
fn the_next_window_is_under_way_while_one_is_walked_through() {
    let stage = Stage::new(None, AutoReadahead::default(), false);
    let options = BlockReadOptions {
        async_io: true,
        ..uncached()
    };
    let named = |expected: &[(&str, Range<usize>)]| -> Vec<(String, Range<usize>)> {
        let named = expected
            .iter()
            .map(|(what, blocks)| (what.to_string(), blocks.clone()));
        named.collect()
    };
    let mut cursor = stage.table.cursor(options);
    cursor.seek_to_first();
    step(&mut cursor, 3, false);
    let first = [
        ("read", 0..1),
        ("read", 1..2),
        ("read", 2..11),
        ("start_read", 11..28),
    ];
    assert_eq!(stage.blocks(), named(&first));
    step(&mut cursor, 9, false);
    assert_eq!(stage.blocks(), named(&[("start_read", 28..61)]));
    // A cursor that jumps away starts again.
    cursor.seek(&key(300));
    step(&mut cursor, 3, false);
    let jumped = [
        ("read", 300..301),
        ("read", 301..302),
        ("read", 302..311),
        ("start_read", 311..328),
    ];
    assert_eq!(stage.blocks(), named(&jumped));
    step(&mut cursor, ENTRIES, false);
    // The cursor reads all to the end, and no block twice.
    assert_eq!(
        stage.blocks(),
        named(&[("start_read", 328..361), ("start_read", 361..400)])
    );
    let mut cursor = stage.table.cursor(options);
    cursor.seek_to_last();
    step(&mut cursor, 12, true);
    let backwards = [
        ("read", 399..400),
        ("read", 398..399),
        ("read", 389..398),
        ("start_read", 372..389),
        ("start_read", 339..372),
    ];
    assert_eq!(stage.blocks(), named(&backwards));
    let mut cursor = stage.table.cursor(options);
    cursor.start_seek(&key(50), false);
    assert_eq!(stage.blocks(), named(&[("start_read", 50..51)]));
    cursor.seek(&key(50));
    step(&mut cursor, 0, false);
    assert!(cursor.valid() && stage.blocks().is_empty());
    // The target of the seek differs from the announced target.
    cursor.start_seek(&key(60), false);
    cursor.seek(&key(70));
    assert!(cursor.valid());
    assert_eq!(stage.blocks(), named(&[("start_read", 60..61), ("read", 70..71)]));
}
