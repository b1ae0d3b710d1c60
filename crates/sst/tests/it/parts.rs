//! Tables whose index and filter are in the block cache.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use base::{Cursor, ErrorKind, MAX_SEQNO, Result};
use cache::{EntryRole, MetadataChargePolicy};
use sst::{BlockCache, BlockReadOptions, LookupKey, MetadataCaching, Table, TableReadOptions};
use testkit::conformance::check_cursor;
use testkit::rng;
use vfs::RandomAccessFile;

use crate::common::{Entries, Fixture, backwards, fixtures, forwards, new_cache};
use crate::fixtures::check_lookups;

const PINNED: MetadataCaching = MetadataCaching {
    high_priority: true,
    pin_top_level: true,
    pin_partitions: true,
    pin_unpartitioned: true,
};

const CACHED: BlockReadOptions = BlockReadOptions {
    verify_checksums: true,
    fill_cache: true,
    caches_first_reads: false,
    cache_only: false,
    readahead_size: 0,
    adaptive_readahead: false,
    auto_readahead_size: true,
    async_io: false,
    caller: sst::TableReaderCaller::Uncategorized,
};

/// A file whose bytes can change and whose reads are counted.
#[derive(Debug)]
struct Changing {
    path: PathBuf,
    bytes: Mutex<Vec<u8>>,
    reads: AtomicU64,
}

impl RandomAccessFile for Changing {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let bytes = self.bytes.lock().unwrap();
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(buf.len());
        buf[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
    fn len(&self) -> u64 {
        self.bytes.lock().unwrap().len() as u64
    }
    fn mapped(&self) -> Option<&[u8]> {
        None
    }
    fn prefetch(&self, _offset: u64, _len: u64) {}
    fn path(&self) -> &Path {
        &self.path
    }
}

fn open(fixture: &Fixture, cache: &Arc<BlockCache>, caching: MetadataCaching) -> (Arc<Table>, Arc<Changing>) {
    let file = Arc::new(Changing {
        path: PathBuf::from(&fixture.name),
        bytes: Mutex::new(fixture.bytes.clone()),
        reads: AtomicU64::new(0),
    });
    let options = TableReadOptions {
        metadata_caching: Some(caching),
        ..fixture.options(Some(cache.clone()))
    };
    (Table::open(file.clone(), options).unwrap(), file)
}

/// A few tables of every shape of index and filter.
fn shapes() -> Vec<Fixture> {
    let mut taken = std::collections::BTreeMap::new();
    let mut fixtures = fixtures();
    fixtures.retain(|fixture| {
        let table = fixture.open(None);
        let filter = sst::dump::filter(&table).unwrap();
        let shape = (
            table.properties().index_type as u32,
            filter.map(|filter| (filter.kind, filter.partitions > 1)),
            table.properties().index_key_is_user_key,
        );
        let count = taken.entry(shape).or_insert(0);
        *count += 1;
        *count <= 2 && table.properties().num_entries > 0
    });
    assert!(taken.len() >= 8, "{taken:?}");
    fixtures
}

fn charges(cache: &BlockCache, roles: &[EntryRole]) -> usize {
    let entries = cache.entries();
    let of_roles = entries.iter().filter(|entry| roles.contains(&entry.role));
    of_roles.map(|entry| entry.charge).sum()
}

const PARTS: &[EntryRole] = &[
    EntryRole::IndexBlock,
    EntryRole::FilterBlock,
    EntryRole::FilterMetaBlock,
];

/// Looks up a key that is in the table, so that the filter lets it through.
fn look_up(table: &Table, entries: &Entries, options: &BlockReadOptions) -> Result<()> {
    let user_key = base::internal_key::user_key(&entries[entries.len() / 2].0);
    let key = LookupKey::new(user_key, MAX_SEQNO, table.comparator().user());
    table
        .get(&key, options, &mut |_, _| std::ops::ControlFlow::Continue(()))
        .map(drop)
}

#[test]
fn every_table_reads_as_if_it_owned_them() {
    for fixture in fixtures() {
        let entries = forwards(&fixture.open(None), CACHED).unwrap();
        // The tables are read with a cache that keeps nothing, with a cache for a few blocks, and with a
        // cache for all.
        for (capacity, caching) in [
            (0, MetadataCaching::default()),
            (8 << 10, PINNED),
            (1 << 20, MetadataCaching::default()),
        ] {
            let cache = new_cache(capacity);
            let (table, _) = open(&fixture, &cache, caching);
            let own = table.memory_usage();
            assert_eq!(forwards(&table, CACHED).unwrap(), entries, "{}", fixture.name);
            let mut reversed = backwards(&table, CACHED).unwrap();
            reversed.reverse();
            assert_eq!(reversed, entries, "{}", fixture.name);
            check_lookups(&fixture, &table, &entries, &CACHED);
            let mut last = 0;
            for (key, _) in &entries {
                let offset = table.approximate_offset_of(key).unwrap();
                assert!(offset >= last && offset < table.properties().data_size);
                last = offset;
            }
            assert_eq!(table.memory_usage(), own, "{}: the table grows", fixture.name);
            let charged: usize = cache.entries().iter().map(|entry| entry.charge).sum();
            assert_eq!(charged, cache.usage());
        }
    }
}

#[test]
fn cursors_keep_their_contract_over_partitions_that_come_and_go() {
    let seed = rng::seed();
    for fixture in shapes() {
        for capacity in [0, 6 << 10, 1 << 20] {
            let cache = new_cache(capacity);
            let (table, _) = open(&fixture, &cache, MetadataCaching::default());
            let entries = forwards(&table, CACHED).unwrap();
            check_cursor(
                || Box::new(table.cursor(CACHED)) as Box<dyn Cursor>,
                &entries,
                &fixture.cmp(),
                seed,
            );
        }
    }
}

#[test]
fn they_are_charged_in_their_roles_and_read_again_once_evicted() {
    for fixture in shapes() {
        let cache = cache::Cache::lru(cache::CacheOptions {
            num_shard_bits: 0,
            metadata_charge_policy: MetadataChargePolicy::DontChargeCacheMetadata,
            ..cache::CacheOptions::default()
        });
        let (table, file) = open(&fixture, &cache, MetadataCaching::default());
        assert_eq!(cache.usage(), 0);
        table.load().unwrap();
        let owned = fixture.open(None);
        owned.load().unwrap();
        let index = charges(&cache, &[EntryRole::IndexBlock]);
        let plain = owned.index().unwrap().memory_usage();
        assert!(index >= plain, "{}: {index} for {plain}", fixture.name);
        let filter = charges(&cache, &[EntryRole::FilterBlock, EntryRole::FilterMetaBlock]);
        let plain = sst::dump::filter(&owned)
            .unwrap()
            .map(|filter| filter.memory_usage);
        assert!(filter >= plain.unwrap_or(0), "{}", fixture.name);
        assert_eq!(filter > 0, plain.is_some(), "{}", fixture.name);
        assert_eq!(index + filter, cache.usage(), "{}", fixture.name);

        let entries = forwards(&table, CACHED).unwrap();
        let reads = file.reads.load(Ordering::Relaxed);
        look_up(&table, &entries, &CACHED).unwrap();
        assert_eq!(
            file.reads.load(Ordering::Relaxed),
            reads,
            "all parts it needs are in the cache"
        );
        cache.erase_unreferenced();
        assert_eq!(cache.usage(), 0, "nothing of the table's is pinned");
        let only = BlockReadOptions {
            cache_only: true,
            ..CACHED
        };
        let error = look_up(&table, &entries, &only).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}");
        assert_eq!(file.reads.load(Ordering::Relaxed), reads);
        look_up(&table, &entries, &CACHED).unwrap();
        look_up(&table, &entries, &only).unwrap();
        assert!(file.reads.load(Ordering::Relaxed) > reads);
        // A cursor pins the parts of the index in which its position is.
        let mut cursor = table.cursor(CACHED);
        cursor.seek_to_first();
        cache.erase_unreferenced();
        assert!(charges(&cache, &[EntryRole::IndexBlock]) > 0);
        assert_eq!(cursor.key(), &entries[0].0[..]);
        drop(cursor);
        table.load().unwrap();
        table.uncache(0);
        assert!(cache.usage() > 0);
        table.uncache(10_000);
        assert_eq!(cache.usage(), 0, "{}", fixture.name);
    }
}

#[test]
fn what_is_pinned_stays() {
    for fixture in shapes() {
        let cache = new_cache(0);
        let (table, file) = open(&fixture, &cache, PINNED);
        assert_eq!(charges(&cache, PARTS), 0);
        let entries = forwards(&table, CACHED).unwrap();
        table.load().unwrap();
        let pinned = charges(&cache, PARTS);
        assert!(pinned > 0);
        assert_eq!(cache.pinned_usage(), cache.usage());
        file.reads.store(0, Ordering::Relaxed);
        look_up(&table, &entries, &CACHED).unwrap();
        assert!(
            file.reads.load(Ordering::Relaxed) <= 2,
            "only data blocks are read"
        );
        cache.erase_unreferenced();
        assert_eq!((charges(&cache, PARTS), cache.usage()), (pinned, pinned));
        drop(table);
        assert_eq!(cache.usage(), 0, "{}: they go with the table", fixture.name);

        // The test sets each kind of pinned metadata by itself.
        let partitioned = fixture.open(None).properties().index_type == sst::format::IndexType::TwoLevel;
        for (caching, stays) in [
            (
                MetadataCaching {
                    pin_top_level: true,
                    ..Default::default()
                },
                partitioned,
            ),
            (
                MetadataCaching {
                    pin_partitions: true,
                    ..Default::default()
                },
                partitioned,
            ),
            (
                MetadataCaching {
                    pin_unpartitioned: true,
                    ..Default::default()
                },
                !partitioned,
            ),
        ] {
            let (table, _) = open(&fixture, &cache, caching);
            table.load().unwrap();
            let index = charges(&cache, &[EntryRole::IndexBlock]);
            assert_eq!(index > 0, stays, "{} {caching:?}", fixture.name);
        }
    }
}

#[test]
fn a_part_that_rots_later_is_named_and_never_enters_the_cache() {
    for fixture in shapes() {
        let cache = new_cache(1 << 20);
        let (table, file) = open(&fixture, &cache, MetadataCaching::default());
        let entries = forwards(&table, CACHED).unwrap();
        look_up(&table, &entries, &CACHED).unwrap();
        let mut parts = Vec::new();
        table
            .verify(0, &mut |check| {
                let of_a_lookup = check.what.contains("index") || check.what.contains("filter");
                if of_a_lookup && check.what != "metaindex" && !check.what.contains("hashindex") {
                    // The test damages a byte of the block, and a byte of its checksum. The second leaves the
                    // block's contents intact, so that only the checksum shows the damage.
                    for changed in [check.offset, check.offset + check.size + 4] {
                        parts.push((changed, check.offset, check.what.to_owned()));
                    }
                }
            })
            .unwrap();
        assert!(!parts.is_empty());
        for (changed, offset, what) in parts {
            file.bytes.lock().unwrap()[changed as usize] ^= 1;
            cache.erase_unreferenced();
            let mut errors = 0;
            for (key, _) in &entries {
                let user_key = base::internal_key::user_key(key);
                let lookup = LookupKey::new(user_key, MAX_SEQNO, table.comparator().user());
                let found = table.get(&lookup, &CACHED, &mut |_, _| std::ops::ControlFlow::Break(()));
                if let Err(error) = found {
                    assert!(error.is_corruption(), "{error}");
                    assert_eq!(
                        (error.file(), error.offset()),
                        (Some(Path::new(&fixture.name)), Some(offset)),
                        "{what}: {error}"
                    );
                    errors += 1;
                }
            }
            assert!(errors > 0, "{}: no read needs the {what}", fixture.name);
            let charged = charges(&cache, PARTS);
            file.bytes.lock().unwrap()[changed as usize] ^= 1;
            for (key, _) in &entries {
                let user_key = base::internal_key::user_key(key);
                let lookup = LookupKey::new(user_key, MAX_SEQNO, table.comparator().user());
                table
                    .get(&lookup, &CACHED, &mut |_, _| std::ops::ControlFlow::Break(()))
                    .unwrap();
            }
            assert!(
                charges(&cache, PARTS) > charged,
                "{}: it was in the cache",
                fixture.name
            );
        }
    }
}

#[test]
fn a_footer_that_was_read_wrong_costs_an_error_at_most() {
    const FOOTER: usize = 53;
    let (mut refused, mut opened) = (0, 0);
    for fixture in shapes() {
        let entries = forwards(&fixture.open(None), CACHED).unwrap();
        for bit in 0..8 * FOOTER {
            let flip = |file: &Changing| {
                let mut bytes = file.bytes.lock().unwrap();
                let at = bytes.len() - FOOTER + bit / 8;
                bytes[at] ^= 1 << (bit % 8);
            };
            let file = Arc::new(Changing {
                path: PathBuf::from(&fixture.name),
                bytes: Mutex::new(fixture.bytes.clone()),
                reads: AtomicU64::new(0),
            });
            flip(&file);
            let options_of_table = TableReadOptions {
                metadata_caching: bit.is_multiple_of(2).then_some(PINNED),
                ..fixture.options(Some(new_cache(1 << 20)))
            };
            let Ok(table) = Table::open(file.clone(), options_of_table) else {
                refused += 1;
                continue;
            };
            flip(&file);
            opened += 1;
            let found = forwards(&table, CACHED)
                .unwrap_or_else(|error| panic!("{} bit {bit}: {error}", fixture.name));
            assert_eq!(found, entries, "{} bit {bit}", fixture.name);
        }
    }
    assert!(refused > 1000 && opened > 50, "{refused} {opened}");
}
