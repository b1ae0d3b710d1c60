//! Allocations of reads, counted for each call on the calling thread. Reads of cached blocks allocate
//! nothing.

use std::hint::black_box;
use std::sync::Arc;

use allocation_counter::{AllocationInfo, measure};
use dbtest::by_hand::{flush, flush_and_settle, rewrite};
use esker::{
    Cache, CacheOptions, ColumnFamily, CompressionType, Db, DbIterator, FilterPolicy, Options, ReadOptions,
};
use vfs::MemFs;

const ROWS: u32 = 4_000;
/// Keys from this one on are covered by range tombstones in tables, of which there are many.
const COVERED: u32 = 3_000;
/// Keys from this one up to `COVERED` are covered by range tombstones in the memtable.
const COVERED_IN_MEMORY: u32 = 2_900;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:07}").into_bytes()
}

struct Stage {
    db: Db,
    family: ColumnFamily,
    read: ReadOptions,
}

/// Creates rows in L0 and below, in compressed blocks that are all in the cache, and some in the memtable.
fn stage() -> Stage {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    let family = &mut options.column_family;
    family.compression = CompressionType::Lz4;
    family.target_file_size_base = 64 << 10;
    family.disable_auto_compactions = true;
    family.table.filter_policy = FilterPolicy::Bloom(10.0);
    family.table.block_cache = Some(Cache::lru(CacheOptions {
        capacity: 64 << 20,
        ..CacheOptions::default()
    }));
    let db = Db::open(&options, "/db").unwrap();
    let put = |from: u32, step: usize| {
        for number in (from..ROWS).step_by(step) {
            db.put(key(number), [b'v'; 100]).unwrap();
        }
    };
    let family = db.default_column_family();
    put(0, 1);
    flush(&db);
    rewrite(&db);
    let delete = |from: u32, to: u32| {
        for first in (from..to).step_by(10) {
            let (from, to) = (key(first), key(first + 10));
            db.delete_range_cf(&family, &from, &to).unwrap();
        }
    };
    delete(COVERED, ROWS);
    db.put(key(1), [b'v'; 100]).unwrap();
    flush_and_settle(&db);
    delete(COVERED_IN_MEMORY, COVERED);
    db.put(key(2), [b'v'; 100]).unwrap();
    let read = ReadOptions::default();
    let stage = Stage { db, family, read };
    // The first reads fill the cache, and the buffers that a thread keeps for its next read.
    for number in 0..ROWS {
        black_box(stage.get(&key(number)));
    }
    let mut iter = stage.db.iter_opt(&stage.read);
    iter.seek_to_first();
    while iter.valid() {
        iter.next();
    }
    drop(iter);
    stage
}

impl Stage {
    fn get(&self, key: &[u8]) -> Option<usize> {
        let found = self.db.get_pinned_cf_opt(&self.family, key, &self.read).unwrap();
        found.map(|value| value.len())
    }

    fn iter(&self) -> DbIterator {
        self.db.iter_opt(&self.read)
    }
}

/// Counts the calls of the allocator, including frees.
fn calls(work: impl FnOnce()) -> AllocationInfo {
    measure(work)
}

#[test]
fn a_get_allocates_nothing() {
    let stage = stage();
    let of = |numbers: std::ops::Range<u32>, there: bool| {
        let keys: Vec<Vec<u8>> = numbers.map(key).collect();
        let counted = calls(|| {
            for key in &keys {
                assert_eq!(stage.get(key).is_some(), there);
            }
        });
        assert_eq!(counted.count_total, 0, "{counted:?}");
    };
    of(0..1, true);
    of(1..2, true);
    of(2..3, true);
    of(3..COVERED_IN_MEMORY, true);
    of(COVERED_IN_MEMORY..COVERED, false);
    of(COVERED..ROWS, false);
    let absent: Vec<Vec<u8>> = (0..ROWS)
        .map(|number| [&key(number)[..], b"x"].concat())
        .collect();
    let counted = calls(|| {
        for key in &absent {
            assert_eq!(stage.get(key), None);
        }
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
    // This checks the counter of allocations: copying a value is one allocation.
    let key = key(5);
    let counted = calls(|| drop(black_box(stage.db.get(&key).unwrap())));
    assert_eq!(counted.count_total, 1, "{counted:?}");
}

/// An iterator reuses the memory of the iterator that its thread dropped before. It only allocates for range
/// tombstones: twice for each source that has some, and once for the list of these sources.
#[test]
fn an_iterator_allocates_nothing_but_for_range_tombstones() {
    let stage = stage();
    let opened = calls(|| drop(black_box(stage.iter())));
    assert!(
        (1..=5).contains(&opened.count_total),
        "two such sources: {opened:?}"
    );
    // The rewritten levels and the memtable become tables without range tombstones.
    flush(&stage.db);
    rewrite(&stage.db);
    let all = || {
        let mut iter = stage.iter();
        iter.seek_to_first();
        while iter.valid() {
            iter.next();
        }
        iter.status().unwrap();
    };
    all();
    for in_memory in [false, true] {
        if in_memory {
            for number in 0..10 {
                stage.db.put(key(number), [b'v'; 100]).unwrap();
                if number % 4 == 3 {
                    flush(&stage.db);
                }
            }
            all();
        }
        let opened = calls(|| {
            let mut iter = stage.iter();
            iter.seek_to_first();
            assert!(iter.valid());
        });
        assert_eq!(opened.count_total, 0, "in memory {in_memory}: {opened:?}");
    }
}

#[test]
fn an_iterator_is_moved_without_allocating() {
    let stage = stage();
    let mut iter = stage.iter();
    iter.seek(&key(10));
    let keys: Vec<Vec<u8>> = (0..COVERED_IN_MEMORY).step_by(37).map(key).collect();
    let move_it = |iter: &mut DbIterator| {
        for key in &keys {
            iter.seek(key);
            assert!(iter.valid() && iter.key() == &key[..]);
            for _ in 0..5 {
                iter.next();
            }
            for _ in 0..3 {
                iter.prev();
            }
            iter.seek_for_prev(key);
            assert!(iter.valid() && iter.key() == &key[..]);
        }
    };
    // After the first moves, buffers have their final size.
    move_it(&mut iter);
    let moved = calls(|| move_it(&mut iter));
    iter.status().unwrap();
    assert_eq!(moved.count_total, 0, "{moved:?}");
}

/// A MultiGet allocates its result, and three arrays for all keys together: their order and the state of
/// their lookups.
#[test]
fn a_multi_get_allocates_for_the_batch_and_not_for_the_keys() {
    let stage = stage();
    let of = |keys: u32| {
        let keys: Vec<Vec<u8>> = (0..keys).map(|at| key(at * 17 % COVERED_IN_MEMORY)).collect();
        let read = || {
            stage
                .db
                .multi_get_pinned_cf_opt(&stage.family, &keys, &stage.read)
        };
        assert!(read().iter().all(|found| matches!(found, Ok(Some(_)))));
        calls(|| drop(black_box(read()))).count_total
    };
    let counts = [1, 10, 32].map(of);
    assert!(counts.iter().all(|count| *count <= 4), "{counts:?}");
}
