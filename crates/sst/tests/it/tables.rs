//! Tables that the tests write, for cases that no fixture has.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::internal_key::{self, MAX_SEQNO};
use base::{InternalComparator, Kind, Result, UserComparator};
use codec::compression::CompressionType;
use sst::filter::FilterPolicy;
use sst::format::IndexType;
use sst::writer::{TableWriter, TableWriterOptions};
use sst::{BlockReadOptions, LookupKey, PinnedBytes, Table, TableReadOptions};
use testkit::conformance::check_cursor;
use testkit::rng;
use vfs::{CreateOptions, FileSystem, MemFs, OpenOptions, RandomAccessFile};

use crate::common::{Entries, file, forwards, mapped_file, new_cache};

fn cmp(order: &UserComparator) -> InternalComparator {
    InternalComparator::new(order.clone())
}

/// Options with small blocks and a filter.
fn options(order: &UserComparator) -> TableWriterOptions {
    TableWriterOptions {
        block_size: 512,
        filter: FilterPolicy::Bloom(10.0),
        ..TableWriterOptions::new(cmp(order))
    }
}

/// The bytes of a table.
fn write(options: TableWriterOptions, entries: &Entries, tombstones: &[(&[u8], &[u8], u64)]) -> Vec<u8> {
    let fs = MemFs::new();
    let path = Path::new("table.sst");
    let file = fs.create(path, &CreateOptions::default()).unwrap();
    let mut writer = TableWriter::new(file, options).unwrap();
    for (key, value) in entries {
        writer.add(key, value).unwrap();
    }
    for (start, end, seqno) in tombstones {
        writer.add_range_tombstone(start, end, *seqno).unwrap();
    }
    writer.finish().unwrap();
    let file = fs.open_random(path, &OpenOptions::default()).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read_exact_at(0, &mut bytes).unwrap();
    bytes
}

fn numbered(count: u64) -> Entries {
    (0..count)
        .map(|i| {
            let key = internal_key::encode(format!("key{i:06}").as_bytes(), i + 1, Kind::Value);
            (key, format!("value {i} {}", "x".repeat(40)).into_bytes())
        })
        .collect()
}

fn get(table: &Table, user_key: &[u8], seqno: u64, options: &BlockReadOptions) -> Vec<(u64, Vec<u8>)> {
    let mut found = Vec::new();
    let key = LookupKey::new(user_key, seqno, table.comparator().user());
    let kept = table
        .get(&key, options, &mut |key, value| {
            value.keep();
            found.push((internal_key::seqno(key), value.bytes().to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(kept.as_deref(), found.last().map(|(_, value)| &value[..]));
    // Repeats the lookup, and searches the index in two steps.
    let mut again = Vec::new();
    let index_seek = table.begin_index_seek(&key);
    table
        .get_with_seek(&key, index_seek, options, &mut |key, value| {
            again.push((internal_key::seqno(key), value.bytes().to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(found, again);
    found
}

#[test]
fn versions_of_one_key_over_many_blocks() {
    let order = UserComparator::Bytewise;
    // A thousand versions of `m` do not fit into a block, so that the index holds internal keys.
    let mut entries = numbered(20);
    for seqno in (1..=1000u64).rev() {
        entries.push((
            internal_key::encode(b"m", seqno, Kind::Merge),
            seqno.to_string().into_bytes(),
        ));
    }
    entries.push((internal_key::encode(b"z", 5, Kind::Value), b"last".to_vec()));
    let bytes = write(options(&order), &entries, &[]);
    let table = Table::open(file("m.sst", bytes), TableReadOptions::new(cmp(&order))).unwrap();
    assert!(!table.index().unwrap().has_user_keys());
    assert!(table.index().unwrap().len() > 5);
    let read = BlockReadOptions::default();
    for seqno in [0, 1, 2, 500, 999, 1000, 1001, MAX_SEQNO] {
        let found: Vec<u64> = get(&table, b"m", seqno, &read)
            .iter()
            .map(|version| version.0)
            .collect();
        let expected: Vec<u64> = (1..=seqno.min(1000)).rev().collect();
        assert_eq!(found, expected);
    }
    assert_eq!(get(&table, b"l", MAX_SEQNO, &read).len(), 0);
    assert_eq!(get(&table, b"z", MAX_SEQNO, &read).len(), 1);
    check_cursor(|| table.cursor(read), &entries, &cmp(&order), rng::seed());
}

#[test]
fn timestamps_that_were_not_persisted_are_put_back() {
    let pairs = [
        (UserComparator::Bytewise, UserComparator::BytewiseU64Ts),
        (
            UserComparator::ReverseBytewise,
            UserComparator::ReverseBytewiseU64Ts,
        ),
    ];
    for (stored_order, order) in pairs {
        let mut stored = numbered(300);
        stored.sort_by(|a, b| cmp(&stored_order).compare(&a.0, &b.0));
        let mut options = options(&order);
        options.persist_timestamps = false;
        let [start, end] = [7, 100].map(|at: usize| [&stored[at].0[..9], &[0; 8]].concat());
        let entries: Entries = stored
            .iter()
            .map(|(key, value)| {
                let user_key = [internal_key::user_key(key), &[0; 8]].concat();
                (
                    internal_key::encode(&user_key, internal_key::seqno(key), Kind::Value),
                    value.clone(),
                )
            })
            .collect();
        let bytes = write(options, &entries, &[(&start, &end, 1000)]);
        let table = Table::open(file("ts.sst", bytes), TableReadOptions::new(cmp(&order))).unwrap();
        let properties = table.properties();
        assert!(!properties.user_defined_timestamps_persisted);
        assert_eq!(properties.comparator_name(), order.name());
        let bare = stored.iter().map(|(key, _)| key.len() as u64).sum::<u64>();
        assert_eq!(properties.raw_key_size, bare + 9 + 8);
        let read = BlockReadOptions::default();
        check_cursor(|| table.cursor(read), &entries, &cmp(&order), rng::seed());
        for (key, _) in &entries {
            let mut user_key = internal_key::user_key(key).to_vec();
            assert_eq!(get(&table, &user_key, MAX_SEQNO, &read).len(), 1);
            let at = user_key.len() - 8;
            user_key[at..].copy_from_slice(&77u64.to_le_bytes());
            assert_eq!(
                get(&table, &user_key, MAX_SEQNO, &read).len(),
                1,
                "at a later timestamp"
            );
            assert_eq!(get(&table, &user_key, 0, &read).len(), 0);
        }
        let tombstones = table.range_tombstones();
        let covered = [&stored[50].0[..9], &[0; 8]].concat();
        assert_eq!(tombstones.covering_seqno(&order, &covered, MAX_SEQNO), 1000);
    }
}

#[test]
fn range_deletions_alone_make_a_table() {
    let order = UserComparator::Bytewise;
    let bytes = write(options(&order), &Vec::new(), &[(b"c", b"d", 6), (b"a", b"cc", 9)]);
    let table = Table::open(file("r.sst", bytes), TableReadOptions::new(cmp(&order))).unwrap();
    let tombstones = table.range_tombstones();
    for (key, seqno) in [(b"a", 9), (b"b", 9), (b"c", 9), (b"d", 0)] {
        assert_eq!(tombstones.covering_seqno(&order, key, MAX_SEQNO), seqno);
    }
    assert_eq!(tombstones.covering_seqno(&order, b"cd", MAX_SEQNO), 6);
    assert!(table.index().unwrap().is_empty());
    let read = BlockReadOptions::default();
    check_cursor(|| table.cursor(read), &[], &cmp(&order), rng::seed());
    assert_eq!(get(&table, b"c", MAX_SEQNO, &read).len(), 0);
    assert!(
        table
            .approximate_offset_of(&internal_key::encode(b"c", 1, Kind::Value))
            .is_ok()
    );
    table.verify(0, &mut |check| check.result.unwrap()).unwrap();
}

#[test]
fn pinned_values_outlive_block_cache_and_table() {
    let order = UserComparator::Bytewise;
    let entries = numbered(2000);
    let bytes = write(options(&order), &entries, &[]);
    let uncached = BlockReadOptions {
        fill_cache: false,
        ..BlockReadOptions::default()
    };
    for (read, capacity) in [(BlockReadOptions::default(), 4 << 10), (uncached, 4 << 10)] {
        for open in [file, mapped_file] {
            let cache = new_cache(capacity);
            let table = Table::open(
                open("p.sst", bytes.clone()),
                TableReadOptions {
                    cache: Some(cache.clone()),
                    ..TableReadOptions::new(cmp(&order))
                },
            )
            .unwrap();
            let mut pins = Vec::new();
            let mut cursor = table.cursor(read);
            cursor.seek_to_first();
            for (key, value) in &entries {
                if pins.len() % 2 == 0 {
                    pins.push((cursor.value_pin(), value));
                } else {
                    let order = table.comparator().user();
                    let lookup = LookupKey::new(internal_key::user_key(key), MAX_SEQNO, order);
                    let kept = table.get(&lookup, &read, &mut |_, value| {
                        value.keep();
                        ControlFlow::Break(())
                    });
                    pins.push((kept.unwrap().unwrap(), value));
                }
                cursor.next();
            }
            assert!(!cursor.valid());
            assert_eq!(cache.occupancy() == 0, !read.fill_cache);
            drop((cursor, table, cache));
            assert!(pins.iter().all(|(pin, value)| pin[..] == value[..]));
        }
    }
}

#[test]
fn threads_share_a_table_and_a_cache_too_small_for_it() {
    let order = UserComparator::Bytewise;
    let entries = Arc::new(numbered(3000));
    let table = Table::open(
        file("t.sst", write(options(&order), &entries, &[])),
        TableReadOptions {
            cache: Some(new_cache(20 << 10)),
            ..TableReadOptions::new(cmp(&order))
        },
    )
    .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (table, entries) = (&table, &entries);
            scope.spawn(move || {
                let mut rng = fastrand_of(thread);
                let read = BlockReadOptions::default();
                let mut cursor = table.cursor(read);
                for _ in 0..4000 {
                    let (key, value) = &entries[rng.usize(..entries.len())];
                    if rng.bool() {
                        let found = get(table, internal_key::user_key(key), MAX_SEQNO, &read);
                        assert_eq!(&found[0].1[..], value);
                    } else {
                        cursor.seek(key);
                        assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]));
                        if rng.bool() {
                            cursor.prev();
                        }
                    }
                }
            });
        }
    });
}

fn fastrand_of(thread: u64) -> testkit::TestRng {
    testkit::TestRng::with_seed(rng::seed() ^ thread)
}

/// Counts the operations on a file.
#[derive(Debug)]
struct Counting {
    file: Arc<dyn RandomAccessFile>,
    reads: AtomicU64,
    prefetched: AtomicU64,
}

impl RandomAccessFile for Counting {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.file.read_at(offset, buf)
    }
    fn len(&self) -> u64 {
        self.file.len()
    }
    fn mapped(&self) -> Option<&[u8]> {
        None
    }
    fn prefetch(&self, offset: u64, len: u64) {
        assert!(offset + len <= self.len(), "readahead beyond the end");
        self.prefetched.fetch_add(len, Ordering::Relaxed);
    }
    fn path(&self) -> &Path {
        self.file.path()
    }
}

#[test]
fn sequential_readers_read_ahead_and_others_do_not() {
    let order = UserComparator::Bytewise;
    let entries = numbered(20_000);
    let counting = Arc::new(Counting {
        file: file("s.sst", write(options(&order), &entries, &[])),
        reads: AtomicU64::new(0),
        prefetched: AtomicU64::new(0),
    });
    let table = Table::open(counting.clone(), TableReadOptions::new(cmp(&order))).unwrap();
    assert_eq!(
        counting.reads.swap(0, Ordering::Relaxed),
        1,
        "one read opens a table"
    );
    table.load().unwrap();
    let blocks = table.index().unwrap().len() as u64;
    for (readahead_size, most) in [(0, 20), (64 << 10, 30), (1 << 30, 1)] {
        counting.reads.store(0, Ordering::Relaxed);
        let options = BlockReadOptions {
            readahead_size,
            ..BlockReadOptions::default()
        };
        assert_eq!(forwards(&table, options).unwrap(), entries);
        let reads = counting.reads.swap(0, Ordering::Relaxed);
        assert!(reads <= most && blocks > 500, "{reads} reads of {blocks} blocks");
    }
    assert!(counting.prefetched.swap(0, Ordering::Relaxed) > 100 << 10);
    let mut cursor = table.cursor(BlockReadOptions::default());
    for i in 0..100 {
        cursor.seek(&entries[(i * 7919) % entries.len()].0);
    }
    assert_eq!(counting.reads.load(Ordering::Relaxed), 100);
    assert_eq!(counting.prefetched.load(Ordering::Relaxed), 0);
}

/// The range that is read for a block depends only on whether the previous block was compressed.
#[test]
fn blocks_compressed_and_not_stand_side_by_side() {
    let order = UserComparator::Bytewise;
    let mut rng = testkit::rng();
    let mut entries = numbered(2000);
    for (i, (_, value)) in entries.iter_mut().enumerate() {
        if i / 50 % 2 == 0 {
            value.fill_with(|| rng.u8(..));
        }
    }
    let options = TableWriterOptions {
        compression: CompressionType::Lz4,
        ..options(&order)
    };
    let mut bytes = write(options, &entries, &[]);
    let read = BlockReadOptions::default();
    let open = |bytes: &[u8]| {
        let options = TableReadOptions::new(cmp(&order));
        Table::open(file("t.sst", bytes.to_vec()), options).unwrap()
    };
    let look_up = |table: &Table, (key, value): &(Vec<u8>, Vec<u8>)| {
        let found = get(table, internal_key::user_key(key), MAX_SEQNO, &read);
        assert_eq!(&found[0].1, value);
    };
    let table = open(&bytes);
    for _ in 0..4000 {
        look_up(&table, &entries[rng.usize(..entries.len())]);
    }
    // Damage is detected whether the block is read in place or not.
    bytes[7] ^= 1;
    for before in [40, 90] {
        let table = open(&bytes);
        look_up(&table, &entries[before]);
        let key = LookupKey::new(b"key000000", MAX_SEQNO, &order);
        let error = table.get(&key, &read, &mut |_, _| ControlFlow::Break(()));
        let error = error.unwrap_err();
        assert!(error.is_corruption() && error.file().is_some(), "{error}");
        assert_eq!(error.offset(), Some(0));
    }
}

#[test]
fn what_a_table_left_in_the_cache_is_found_when_it_is_opened_again() {
    let order = UserComparator::Bytewise;
    let entries = numbered(1000);
    let cache = new_cache(1 << 20);
    let bytes = write(options(&order), &entries, &[]);
    let id = cache.new_id();
    let open = |cache_id_is_new| {
        let options = TableReadOptions {
            cache: Some(cache.clone()),
            cache_id: Some(id),
            cache_id_is_new,
            ..TableReadOptions::new(cmp(&order))
        };
        Table::open(file("t.sst", bytes.clone()), options).unwrap()
    };
    let misses = |cache_id_is_new| {
        let table = open(cache_id_is_new);
        let before = cache.stats().misses;
        for _ in 0..2 {
            for (key, value) in &entries {
                let read = BlockReadOptions::default();
                let found = get(&table, internal_key::user_key(key), MAX_SEQNO, &read);
                assert_eq!(&found[0].1, value);
            }
        }
        (cache.stats().misses - before) as usize
    };
    let blocks = open(false).index().unwrap().len();
    assert_eq!((misses(true), misses(false)), (blocks, 0));
    assert_eq!(cache.occupancy(), blocks);
}

#[test]
fn an_obsolete_table_leaves_the_cache() {
    let order = UserComparator::Bytewise;
    let entries = numbered(1000);
    let cache = new_cache(1 << 20);
    let open = |name| {
        let options = TableReadOptions {
            cache: Some(cache.clone()),
            ..TableReadOptions::new(cmp(&order))
        };
        Table::open(file(name, write(self::options(&order), &entries, &[])), options).unwrap()
    };
    let (obsolete, other) = (open("a.sst"), open("b.sst"));
    let read = BlockReadOptions::default();
    obsolete.uncache(10_000);
    for table in [&obsolete, &other] {
        forwards(table, read).unwrap();
    }
    let blocks = other.index().unwrap().len();
    assert_eq!(cache.occupancy(), 2 * blocks);
    let pinned = get(&obsolete, b"key000500", MAX_SEQNO, &read);
    obsolete.uncache(10_000);
    assert_eq!(cache.occupancy(), blocks);
    assert_eq!(&pinned[0].1[..], &entries[500].1[..]);
    assert_eq!(forwards(&obsolete, read).unwrap(), entries);
}

#[test]
fn cursors_and_values_go_from_thread_to_thread() {
    fn send<T: Send>() {}
    fn share<T: Send + Sync>() {}
    send::<sst::TableCursor>();
    share::<Table>();
    share::<PinnedBytes>();
    share::<LookupKey>();
}

#[test]
fn verify_names_the_block_and_goes_on() {
    let order = UserComparator::Bytewise;
    let entries = numbered(500);
    let mut bytes = write(options(&order), &entries, &[]);
    let table = Table::open(file("v.sst", bytes.clone()), TableReadOptions::new(cmp(&order))).unwrap();
    let index = table.index().unwrap();
    let damaged = [index.handle(3), index.handle(9)];
    for handle in damaged {
        bytes[handle.offset as usize + 20] ^= 4;
    }
    let table = Table::open(file("v.sst", bytes), TableReadOptions::new(cmp(&order))).unwrap();
    let mut bad = Vec::new();
    let mut good = 0;
    let error = table
        .verify(0, &mut |check| match check.result {
            Ok(()) => good += 1,
            Err(error) => {
                assert_eq!((check.what, error.offset()), ("data block", Some(check.offset)));
                assert_eq!(error.file(), Some(&*PathBuf::from("v.sst")));
                bad.push(check.offset);
            }
        })
        .unwrap_err();
    assert_eq!(bad, [damaged[0].offset, damaged[1].offset]);
    assert_eq!(error.offset(), Some(damaged[0].offset));
    assert_eq!(good, table.index().unwrap().len() - 2 + 4);
    // A cursor stops at the damage, reports its offset, and can continue elsewhere.
    let mut cursor = table.cursor(BlockReadOptions::default());
    cursor.seek_to_first();
    while cursor.valid() {
        cursor.next();
    }
    let error = cursor.status().unwrap_err();
    assert_eq!(
        (error.is_corruption(), error.offset()),
        (true, Some(damaged[0].offset))
    );
    cursor.seek_to_last();
    assert!(cursor.valid() && cursor.status().is_ok());
}

/// A cursor that stands on a first key of the index behaves as one that read the block.
#[test]
fn first_keys_stand_for_blocks_that_are_not_read() {
    let order = UserComparator::Bytewise;
    let options = TableWriterOptions {
        index_type: IndexType::BinarySearchWithFirstKey,
        checksum: codec::ChecksumType::None,
        compression: codec::CompressionType::None,
        enable_index_compression: false,
        ..options(&order)
    };
    let entries = numbered(300);
    let bytes = write(options, &entries, &[]);
    let table = Table::open(file("f.sst", bytes.clone()), TableReadOptions::new(cmp(&order))).unwrap();
    let mut cursor = table.cursor(BlockReadOptions::default());
    let mut firsts = Vec::new();
    for (key, value) in &entries {
        if cursor.seek_deferring(key) {
            assert!(!cursor.valid());
            assert_eq!(cursor.deferred_key(), key);
            cursor.load_deferred();
            firsts.push(key.clone());
        }
        assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]));
    }
    assert!(firsts.len() > 20);
    // Between two blocks the seek leads to the first key of the next block; after all blocks it leads
    // nowhere.
    let between = internal_key::encode(internal_key::user_key(&firsts[7]), MAX_SEQNO, Kind::Value);
    assert!(cursor.seek_deferring(&between));
    assert_eq!(cursor.deferred_key(), firsts[7]);
    cursor.load_deferred();
    cursor.next();
    assert!(cursor.valid() && cursor.key() > &firsts[7][..]);
    let behind = internal_key::encode(b"l", MAX_SEQNO, Kind::Value);
    assert!(!cursor.seek_deferring(&behind) && !cursor.valid());
    cursor.status().unwrap();
    // A wrong first key in the index is detected when the block is read.
    let mut damaged = bytes;
    let at = damaged
        .windows(firsts[7].len())
        .rposition(|window| window == firsts[7]);
    damaged[at.unwrap() + firsts[7].len() - 9] += 1;
    let table = Table::open(file("g.sst", damaged), TableReadOptions::new(cmp(&order))).unwrap();
    let mut cursor = table.cursor(BlockReadOptions::default());
    assert!(cursor.seek_deferring(&between));
    cursor.load_deferred();
    assert!(!cursor.valid());
    let error = cursor.status().unwrap_err();
    assert!(error.is_corruption() && error.offset().is_some(), "{error}");
}

#[test]
fn files_without_what_they_need_do_not_open() {
    let order = UserComparator::Bytewise;
    let open = |bytes: Vec<u8>| Table::open(file("o.sst", bytes), TableReadOptions::new(cmp(&order)));
    for version in [5, 6] {
        let options = TableWriterOptions {
            format_version: version,
            checksum: codec::ChecksumType::None,
            ..options(&order)
        };
        let bytes = write(options, &numbered(10), &[]);
        assert!(open(bytes.clone()).is_ok());
        for name in ["rocksdb.properties", "rocksdb.index"] {
            let mut bytes = bytes.clone();
            let Some(at) = bytes
                .windows(name.len())
                .rposition(|window| window == name.as_bytes())
            else {
                assert_eq!((version, name), (5, "rocksdb.index"));
                continue;
            };
            bytes[at] = b'q';
            assert!(open(bytes).unwrap_err().is_corruption());
        }
    }
    let mut primary = options(&order);
    primary
        .user_properties
        .insert(b"rocksdb.udi.is.primary.index".to_vec(), vec![1]);
    let error = open(write(primary, &numbered(10), &[])).unwrap_err();
    assert_eq!(error.kind(), base::ErrorKind::NotSupported);
}

#[test]
fn the_inspector_sees_what_a_cursor_sees() {
    let order = UserComparator::Bytewise;
    let entries = numbered(300);
    let bytes = write(options(&order), &entries, &[(b"a", b"b", 3)]);
    let table = Table::open(file("d.sst", bytes), TableReadOptions::new(cmp(&order))).unwrap();
    let lines = sst::dump::index(&table).unwrap();
    assert_eq!(lines.len(), table.index().unwrap().len());
    let mut seen = Entries::new();
    for (i, line) in lines.iter().enumerate() {
        assert_eq!(line.handle, table.index().unwrap().handle(i));
        let block = sst::dump::data_block(&table, line.handle).unwrap();
        assert!(block.num_restarts >= 1 && block.stored_size == line.handle.size);
        let last = &block.entries.last().unwrap().0;
        assert!(line.separator.as_slice() >= internal_key::user_key(last));
        seen.extend(block.entries);
    }
    assert_eq!(seen, entries);
    assert_eq!(sst::dump::footer(&table).format_version, table.format_version());
    let names: Vec<&[u8]> = sst::dump::metaindex(&table)
        .iter()
        .map(|entry| &entry.0[..])
        .collect();
    assert!(names.contains(&&b"rocksdb.range_del"[..]));
    let filter = sst::dump::filter(&table).unwrap().unwrap();
    assert_eq!((filter.kind, filter.partitions), ("FastLocalBloom", 0));
}
