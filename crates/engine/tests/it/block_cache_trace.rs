//! Traces of the block cache: RocksDB's bytes, and the caller and the block of each lookup.

use std::path::Path;
use std::sync::Arc;

use esker::{
    BlockBasedOptions, BlockCacheTraceOptions, BlockCacheTraceReader, BlockCacheTraceRecord, ColumnFamily,
    ColumnFamilyOptions, Db, ErrorKind, FileTraceWriter, FilterPolicy, ManualClock, Options, ReadOptions,
    Result, TableReaderCaller, TraceKind, TracedBlock,
};
use vfs::{FileSystem, MemFs};

use crate::trace_files::{bytes_of, written};

/// A database in memory whose indexes and filters are in the cache.
struct World {
    fs: Arc<MemFs>,
    db: Db,
}

impl World {
    fn new() -> World {
        let fs = Arc::new(MemFs::new());
        let options = Options {
            create_if_missing: true,
            fs: fs.clone(),
            clock: Arc::new(ManualClock::default()),
            column_family: ColumnFamilyOptions {
                disable_auto_compactions: true,
                table: BlockBasedOptions {
                    block_size: 256,
                    filter_policy: FilterPolicy::Bloom(10.0),
                    cache_index_and_filter_blocks: true,
                    ..BlockBasedOptions::default()
                },
                ..ColumnFamilyOptions::default()
            },
            ..Options::default()
        };
        World {
            db: Db::open(&options, Path::new("db")).unwrap(),
            fs,
        }
    }

    fn fill(&self, from: usize) {
        for row in from..from + 100 {
            self.db.put(key(row), [b'v'; 50]).unwrap();
        }
        self.db.flush().unwrap();
    }

    fn default(&self) -> ColumnFamily {
        self.db.default_column_family()
    }

    fn start(&self, options: &BlockCacheTraceOptions) {
        let writer = FileTraceWriter::create(&*self.fs, Path::new("trace")).unwrap();
        self.db
            .start_block_cache_trace(options, Box::new(writer))
            .unwrap();
    }

    fn traced(&self, act: impl FnOnce(&Db)) -> Vec<BlockCacheTraceRecord> {
        self.start(&BlockCacheTraceOptions::default());
        act(&self.db);
        self.db.end_block_cache_trace().unwrap();
        records(&*self.fs, Path::new("trace")).unwrap()
    }
}

fn key(row: usize) -> Vec<u8> {
    format!("key{row:04}").into_bytes()
}

fn records(fs: &dyn FileSystem, path: &Path) -> Result<Vec<BlockCacheTraceRecord>> {
    let mut reader = BlockCacheTraceReader::open(fs, path)?;
    std::iter::from_fn(|| reader.next_record().transpose()).collect()
}

/// A trace by the format of RocksDB 11.8: a header, an index block that an iterator missed, a filter block
/// that a Get hit, a data block that a Get missed.
const GOLDEN: [&str; 4] = [
    "0100000000000000 01 19000000 10 66656564636166656465616462656566 0b000000 08000000",
    "0200000000000000 07 2a000000 02 0507 6400000000000000 0000000000000000 07 64656661756c74 01000000 0900000000000000 03 00 01",
    "0300000000000000 08 3f000000 02 0508 6500000000000000 0000000000000000 07 64656661756c74 06000000 0900000000000000 01 01 00 \
     0300000000000000 01 0b 6b6579 1801000000000000",
    "0400000000000000 09 50000000 02 0509 6600000000000000 0000000000000000 07 64656661756c74 06000000 0900000000000000 01 00 00 \
     0300000000000000 00 0b 6b6579 1801000000000000 2000000000000000 1000000000000000 01",
];

fn golden() -> Vec<u8> {
    GOLDEN.iter().flat_map(|record| bytes_of(record)).collect()
}

#[test]
fn rocksdbs_bytes_are_read() {
    let fs = MemFs::new();
    let path = written(&fs, &golden());
    assert_eq!(
        TraceKind::of_file(&fs, &path).unwrap(),
        Some(TraceKind::BlockCache)
    );
    let found = records(&fs, &path).unwrap();
    let data = BlockCacheTraceRecord {
        access_timestamp: 4,
        block_type: TracedBlock::Data,
        block_key: vec![5, 9],
        block_size: 0x66,
        cf_id: 0,
        cf_name: "default".to_owned(),
        level: 6,
        sst_fd_number: 9,
        caller: TableReaderCaller::UserGet,
        is_cache_hit: false,
        no_insert: false,
        get_id: 3,
        get_from_user_specified_snapshot: false,
        referenced_key: b"key\x18\x01\0\0\0\0\0\0".to_vec(),
        referenced_data_size: 0x20,
        num_keys_in_block: 0x10,
        referenced_key_exist_in_block: true,
    };
    assert_eq!(found[2], data);
    assert_eq!(data.block_offset(), Some(9));
    assert_eq!(
        (found[0].caller, found[0].level, found[0].no_insert),
        (TableReaderCaller::UserIterator, 1, true)
    );
    assert!(found[1].is_cache_hit && found[1].get_from_user_specified_snapshot);
}

#[test]
fn a_trace_has_the_bytes_of_rocksdb() {
    let world = World::new();
    world.fill(0);
    let data = &world.traced(|db| drop(db.get(key(7)).unwrap()))[2];
    let bytes = world.fs.read_file(Path::new("trace")).unwrap();
    let header = "0000000000000000 01 19000000 10 66656564636166656465616462656566 0b000000 08000000";
    assert!(bytes.starts_with(&bytes_of(header)));
    let last = format!(
        "0000000000000000 09 57000000 {:02x}{} {:016x} 0000000000000000 07 64656661756c74 00000000 {:02x}00000000000000 01 00 00 \
         0100000000000000 00 0f 6b657930303037 1864000000000000 {:02x}00000000000000 {:02x}00000000000000 01",
        data.block_key.len(),
        data.block_key
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>(),
        data.block_size.swap_bytes(),
        data.sst_fd_number,
        data.referenced_data_size,
        data.num_keys_in_block,
    );
    let last = bytes_of(&last);
    let found = &bytes[bytes.len() - last.len()..];
    assert_eq!(found[13..], last[13..]);
    assert_eq!(
        (data.referenced_data_size, data.num_keys_in_block > 1),
        (7 + 8 + 50, true)
    );
}

/// Kind, purpose and hit of each lookup.
fn lookups(records: &[BlockCacheTraceRecord]) -> Vec<(TracedBlock, TableReaderCaller, bool)> {
    let lookups = records
        .iter()
        .map(|record| (record.block_type, record.caller, record.is_cache_hit));
    lookups.collect()
}

#[test]
fn a_get_has_one_id_and_its_key() {
    use TableReaderCaller::UserGet;
    let world = World::new();
    world.fill(0);
    let snapshot = world.db.snapshot();
    let records = world.traced(|db| {
        drop(db.get(key(7)).unwrap());
        drop(db.get(key(7)).unwrap());
        let options = ReadOptions {
            snapshot: Some(snapshot.clone()),
            fill_cache: false,
            ..ReadOptions::default()
        };
        drop(
            db.get_cf_opt(&db.default_column_family(), key(90), &options)
                .unwrap(),
        );
        drop(db.get(b"key0007+").unwrap());
    });
    let once =
        |hit| [TracedBlock::Filter, TracedBlock::Index, TracedBlock::Data].map(|block| (block, UserGet, hit));
    let found = lookups(&records);
    assert_eq!(found[..3], once(false));
    assert_eq!(found[3..6], once(true));
    assert_eq!(found[8], (TracedBlock::Data, UserGet, false));
    assert_eq!(
        found.last().unwrap().0,
        TracedBlock::Filter,
        "the filter excludes the last key"
    );
    let ids: Vec<u64> = records.iter().map(|record| record.get_id).collect();
    assert_eq!(ids, [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]);
    for record in &records[..9] {
        let row = if record.get_id == 3 { 90 } else { 7 };
        assert_eq!(record.referenced_key[..7], key(row));
        assert_eq!(record.referenced_key.len(), 15);
        assert_eq!(record.get_from_user_specified_snapshot, record.get_id == 3);
        let is_data = record.block_type == TracedBlock::Data;
        assert_eq!(record.referenced_key_exist_in_block, is_data);
        assert_eq!((record.level, &*record.cf_name), (0, "default"));
        assert!(record.block_size > 100 || record.block_type == TracedBlock::Filter);
    }
    assert!(records[8].no_insert && !records[2].no_insert);
    assert_eq!(records[2].block_key, records[5].block_key);
    assert_ne!(records[2].block_offset(), records[8].block_offset());
    let files = world.db.live_files();
    assert_eq!(records[0].sst_fd_number, files[0].number);
}

#[test]
fn a_multi_get_has_one_id_and_each_key() {
    let world = World::new();
    world.fill(0);
    let keys: Vec<Vec<u8>> = [4, 5, 90, 500].map(key).to_vec();
    let default = world.default();
    let records = world.traced(|db| drop(db.multi_get_cf(&default, &keys)));
    assert!(
        records
            .iter()
            .all(|record| record.caller == TableReaderCaller::UserMultiGet)
    );
    assert!(records.iter().all(|record| record.get_id == 1));
    let data = records
        .iter()
        .filter(|record| record.block_type == TracedBlock::Data);
    let found: Vec<_> = data
        .map(|record| {
            (
                record.referenced_key[..7].to_vec(),
                record.is_cache_hit,
                record.referenced_key_exist_in_block,
            )
        })
        .collect();
    // The lookup of the first key loaded the block that also has the second key.
    assert_eq!(
        found,
        [
            (key(4), false, true),
            (key(5), true, true),
            (key(90), false, true)
        ]
    );
}

#[test]
fn iterators_and_compactions_are_callers_and_levels_are_those_of_now() {
    let world = World::new();
    world.fill(0);
    world.fill(50);
    let default = world.default();
    let records = world.traced(|db| {
        let mut iter = db.iter();
        iter.seek(&key(3));
        db.compact_range_cf(&default, None, None).unwrap();
        drop(db.get(key(3)).unwrap());
    });
    let of = |caller| {
        let of = records.iter().filter(|record| record.caller == caller).cloned();
        of.collect::<Vec<_>>()
    };
    let iterator = of(TableReaderCaller::UserIterator);
    assert_eq!(iterator.len(), 4, "index and data of two files");
    assert!(
        iterator
            .iter()
            .all(|record| record.get_id == 0 && record.referenced_key.is_empty())
    );
    let compaction = of(TableReaderCaller::Compaction);
    assert!(compaction.len() > 10);
    assert!(
        compaction
            .iter()
            .all(|record| record.no_insert && record.level == 0)
    );
    let get = of(TableReaderCaller::UserGet);
    assert!(
        get.len() >= 2 && get.iter().all(|record| record.level > 0),
        "{get:?}"
    );
}

#[test]
fn sampling_takes_all_lookups_of_a_block_or_none_and_a_size_ends_it() {
    let world = World::new();
    world.fill(0);
    let read = |db: &Db| {
        for row in (0..100).chain(0..100) {
            drop(db.get(key(row)).unwrap());
        }
    };
    let whole = world.traced(read);
    world.start(&BlockCacheTraceOptions {
        sampling_frequency: 3,
        ..BlockCacheTraceOptions::default()
    });
    read(&world.db);
    world.db.end_block_cache_trace().unwrap();
    let sampled = records(&*world.fs, Path::new("trace")).unwrap();
    assert!(!sampled.is_empty() && sampled.len() < whole.len());
    let count = |records: &[BlockCacheTraceRecord], key: &[u8]| {
        records.iter().filter(|record| record.block_key == key).count()
    };
    for record in &sampled {
        assert_eq!(
            count(&sampled, &record.block_key),
            count(&whole, &record.block_key)
        );
    }
    world.start(&BlockCacheTraceOptions {
        max_trace_file_size: 38,
        ..BlockCacheTraceOptions::default()
    });
    read(&world.db);
    world.db.end_block_cache_trace().unwrap();
    assert_eq!(records(&*world.fs, Path::new("trace")).unwrap().len(), 1);
}

#[test]
fn one_trace_at_a_time_of_one_database_and_closing_ends_it() {
    let (world, other) = (World::new(), World::new());
    world.fill(0);
    other.fill(0);
    world.db.end_block_cache_trace().unwrap();
    world.start(&BlockCacheTraceOptions::default());
    let second = FileTraceWriter::create(&*world.fs, Path::new("second")).unwrap();
    let options = BlockCacheTraceOptions::default();
    let busy = world.db.start_block_cache_trace(&options, Box::new(second));
    assert_eq!(busy.unwrap_err().kind(), ErrorKind::Busy);
    drop(other.db.get(key(1)).unwrap());
    drop(world.db.get(key(2)).unwrap());
    world.db.close().unwrap();
    let records = records(&*world.fs, Path::new("trace")).unwrap();
    assert_eq!(records.len(), 3);
    let third = FileTraceWriter::create(&*world.fs, Path::new("third")).unwrap();
    let closed = world.db.start_block_cache_trace(&options, Box::new(third));
    assert_eq!(closed.unwrap_err().kind(), ErrorKind::ShutdownInProgress);
}

#[test]
fn damaged_traces_are_errors_with_file_and_offset() {
    let (fs, whole) = (MemFs::new(), golden());
    let mut errors = 0;
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            let path = written(&fs, &damaged);
            if let Err(error) = records(&fs, &path) {
                assert!(error.is_corruption(), "{at}.{bit}: {error}");
                assert!(
                    error.offset().is_some() && error.file().is_some(),
                    "{at}.{bit}: {error}"
                );
                errors += 1;
            }
            drop(TraceKind::of_file(&fs, &path));
        }
        if let Err(error) = records(&fs, &written(&fs, &whole[..at])) {
            assert!(error.is_corruption() && error.offset().is_some(), "{at}: {error}");
        }
    }
    assert!(errors > 400, "{errors}");
}
