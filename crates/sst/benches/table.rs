//! The cost of a table and its blocks per entry, in nanoseconds.
//! `cargo bench -p esker-sst --bench table [-- FILTER]`.
//!
//! * `block_builder_add`: an entry added to a block while a table is written
//! * `block_parse`: a block parsed after it was read
//! * `seek`, `next`, `prev`: the cursor, over a table of one block (the cost of the block itself: there is
//!   nothing else to search) and over one of a million entries (with the index, the block cache and the
//!   processor's cache misses)
//! * `get`, `get_missing`: a point read in a million entries, including the filter
//!
//! Blocks have 4 KiB, uncompressed, in the block cache; keys have 16 bytes, values 100; no file is read
//! during the measurement. The block's own cursor is private to the crate, so blocks are measured through the
//! table's. The results show the table's part of a Get and of a Next.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use base::{InternalComparator, Kind, MAX_SEQNO, UserComparator, internal_key};
use cache::{Cache, CacheOptions};
use divan::{Bencher, black_box};
use esker_sst::block::builder::BlockBuilder;
use esker_sst::{
    Block, BlockReadOptions, FilterPolicy, LookupKey, Table, TableCursor, TableReadOptions, TableWriter,
    TableWriterOptions,
};
use testkit::bench::{KEY_LEN, Shuffled, key, size};
use vfs::{CreateOptions, FileSystem, MemFs, OpenOptions};

const VALUE: [u8; 100] = [b'v'; 100];
/// The number of entries that fit a block.
const ONE_BLOCK: usize = 30;
const MANY_BLOCKS: usize = 1_000_000;
/// The default number of keys between restart points.
const RESTART_INTERVAL: usize = 16;

fn main() {
    divan::main();
}

fn stored(i: usize) -> Vec<u8> {
    internal_key::encode(&key(i), 1, Kind::Value)
}

/// A table of the even ones of the first `2 * entries` keys.
fn table(entries: usize) -> Arc<Table> {
    let cmp = InternalComparator::new(UserComparator::Bytewise);
    let (fs, path) = (MemFs::new(), Path::new("/000007.sst"));
    let file = fs.create(path, &CreateOptions::default()).expect("a new file");
    let options = TableWriterOptions {
        compression: codec::CompressionType::None,
        filter: FilterPolicy::Bloom(10.0),
        ..TableWriterOptions::new(cmp.clone())
    };
    let mut writer = TableWriter::new(file, options).expect("plain options");
    for i in 0..entries {
        writer.add(&stored(2 * i), &VALUE).expect("keys in order");
    }
    let summary = writer.finish().expect("a file in memory");
    assert_eq!(summary.properties.num_data_blocks == 1, entries <= ONE_BLOCK);
    let cache = Cache::lru(CacheOptions {
        capacity: 1 << 30,
        ..CacheOptions::default()
    });
    let options = TableReadOptions {
        cache: Some(cache),
        ..TableReadOptions::new(cmp)
    };
    let file = fs
        .open_random(path, &OpenOptions::default())
        .expect("the file just written");
    let table = Table::open(file, options).expect("the table just written");
    // Loads all blocks into the cache, so that the slots in the index lead to them.
    for i in 0..entries {
        assert!(find(&table, &key(2 * i)));
    }
    table
}

/// Whether the table has the key.
#[inline]
fn find(table: &Table, user_key: &[u8; KEY_LEN]) -> bool {
    let key = LookupKey::new(user_key, MAX_SEQNO, table.comparator().user());
    let mut found = false;
    table
        .get(&key, &BlockReadOptions::default(), &mut |_, value| {
            found = value.bytes().len() == VALUE.len();
            ControlFlow::Break(())
        })
        .expect("a table in memory");
    found
}

#[divan::bench(sample_size = 1000)]
fn block_builder_add(bencher: Bencher) {
    let keys: Vec<Vec<u8>> = (0..ONE_BLOCK).map(stored).collect();
    let mut keys = keys.iter().cycle();
    let mut builder = BlockBuilder::new(RESTART_INTERVAL);
    let mut entries = 0;
    bencher.bench_local(|| {
        if entries == ONE_BLOCK {
            builder.finish();
            builder.reset();
            entries = 0;
        }
        entries += 1;
        builder.add(keys.next().expect("an endless iterator"), &VALUE)
    });
}

#[divan::bench(sample_size = 100)]
fn block_parse(bencher: Bencher) {
    let mut builder = BlockBuilder::new(RESTART_INTERVAL);
    for i in 0..ONE_BLOCK {
        builder.add(&stored(i), &VALUE);
    }
    let contents = builder.finish().0.clone();
    bencher
        .with_inputs(|| contents.clone())
        .bench_local_values(|contents| Block::parse(black_box(contents)).expect("the block just built"));
}

fn cursor(entries: usize) -> TableCursor {
    table(entries).cursor(BlockReadOptions::default())
}

fn entries(full: usize) -> usize {
    size(full, full.min(1000))
}

#[divan::bench(consts = [ONE_BLOCK, MANY_BLOCKS], sample_size = 1000)]
fn seek<const ENTRIES: usize>(bencher: Bencher) {
    let entries = entries(ENTRIES);
    let mut cursor = cursor(entries);
    let order = Shuffled::new(entries);
    bencher
        .with_inputs(|| internal_key::encode(&key(2 * order.next()), MAX_SEQNO, Kind::Value))
        .bench_local_refs(|target| {
            cursor.seek(target);
            assert!(cursor.valid());
        });
    cursor.status().expect("a table in memory");
}

#[divan::bench(consts = [ONE_BLOCK, MANY_BLOCKS], sample_size = 1000)]
fn next<const ENTRIES: usize>(bencher: Bencher) {
    let mut cursor = cursor(entries(ENTRIES));
    cursor.seek_to_first();
    bencher.bench_local(|| {
        cursor.next();
        if !cursor.valid() {
            cursor.seek_to_first();
        }
        cursor.key().len() + cursor.value().len()
    });
    cursor.status().expect("a table in memory");
}

#[divan::bench(consts = [ONE_BLOCK, MANY_BLOCKS], sample_size = 1000)]
fn prev<const ENTRIES: usize>(bencher: Bencher) {
    let mut cursor = cursor(entries(ENTRIES));
    cursor.seek_to_last();
    bencher.bench_local(|| {
        cursor.prev();
        if !cursor.valid() {
            cursor.seek_to_last();
        }
        cursor.key().len() + cursor.value().len()
    });
    cursor.status().expect("a table in memory");
}

#[divan::bench(sample_size = 1000)]
fn get(bencher: Bencher) {
    let entries = entries(MANY_BLOCKS);
    let table = table(entries);
    let order = Shuffled::new(entries);
    bencher
        .with_inputs(|| key(2 * order.next()))
        .bench_local_values(|key| assert!(find(&table, &key)));
}

#[divan::bench(sample_size = 1000)]
fn get_missing(bencher: Bencher) {
    let entries = entries(MANY_BLOCKS);
    let table = table(entries);
    let order = Shuffled::new(entries);
    bencher
        .with_inputs(|| key(2 * order.next() + 1))
        .bench_local_values(|key| assert!(!find(&table, &key)));
}
