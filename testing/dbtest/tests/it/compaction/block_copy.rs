//! Data blocks that compactions copy in their stored form: rows stay the same, RocksDB reads them, and
//! corruption is detected.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base::filename;
use base::statistics::Ticker;
use dbtest::by_hand::{compact, flush, rewrite};
use dbtest::{files, settings};
use esker::{
    ColumnFamilyOptions, CompressionType, DataBlockIndexType, Db, Error, FilterPolicy, Options,
    PrepopulateBlockCache, ReadOptions, Statistics, WriteBatch,
};
use sst::{Table, TableReadOptions};
use tempfile::TempDir;
use testkit::{TestRng, oracle};
use vfs::{FileSystem, MemFs, OpenOptions, PosixFs};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(fs: Arc<dyn FileSystem>, family: ColumnFamilyOptions) -> Options {
    Options {
        create_if_missing: true,
        fs,
        column_family: family,
        statistics: Some(Statistics::new()),
        ..Options::default()
    }
}

fn key(i: u32) -> Vec<u8> {
    format!("key{i:06}").into_bytes()
}

fn rows(db: &Db) -> Rows {
    let mut rows = Rows::new();
    let mut iter = db.iter();
    iter.seek_to_first();
    while iter.valid() {
        rows.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().unwrap();
    rows
}

/// The number of copied blocks so far, and their bytes.
fn copied(db: &Db) -> (u64, u64) {
    let stats = db.statistics();
    (
        stats.get(Ticker::CompactionBlocksCopied),
        stats.get(Ticker::CompactionBytesCopied),
    )
}

/// Changes a few neighbouring rows by puts, deletions and the other kinds of writes.
fn change(rng: &mut TestRng, db: &Db, rows: &mut Rows, keys: u32) {
    let mut batch = WriteBatch::new();
    let from = rng.u32(..keys);
    for _ in 0..rng.u32(1..60) {
        let key = key(from + rng.u32(..50));
        match rng.u32(..12) {
            0 | 1 => {
                batch.delete(&key);
                rows.remove(&key);
            }
            2 if rng.one_in(30) => {
                let end = self::key(from + 60);
                batch.delete_range(&key, &end);
                rows.retain(|row, _| *row < key || *row >= end);
            }
            _ => {
                let value = random_value(rng);
                batch.put(&key, &value);
                rows.insert(key, value);
            }
        }
    }
    db.write(batch).unwrap();
}

fn random_value(rng: &mut TestRng) -> Vec<u8> {
    match rng.u32(..3) {
        0 => vec![b'v'; rng.usize(..200)],
        _ => rng.bytes(30),
    }
}

fn drawn(rng: &mut TestRng) -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions {
        compression: *rng.pick(&[CompressionType::None, CompressionType::Lz4, CompressionType::Zstd]),
        target_file_size_base: 16 << 10,
        max_bytes_for_level_base: 64 << 10,
        ..ColumnFamilyOptions::default()
    };
    settings::draw(rng, &mut family.table);
    family.table.separate_key_value_in_data_block = false;
    family.table.data_block_index_type = DataBlockIndexType::BinarySearch;
    family.table.block_align = false;
    // `prepopulate_block_cache` keeps its default, because some of the tested releases of RocksDB do not know
    // its other values.
    family.table.prepopulate_block_cache = PrepopulateBlockCache::Disable;
    family.table.block_size = *rng.pick(&[256, 1024]);
    family.paranoid_file_checks = rng.one_in(2);
    family
}

#[test]
fn rows_are_the_same_whether_blocks_are_copied_or_not() {
    let mut rng = testkit::rng();
    let (mut blocks, mut written) = (0, 0);
    for round in 0..12 {
        let family = drawn(&mut rng);
        let [with, without] = [true, false].map(|copy_untouched_blocks| {
            let family = ColumnFamilyOptions {
                copy_untouched_blocks,
                ..family.clone()
            };
            Db::open(&options(Arc::new(MemFs::new()), family), Path::new("/db")).unwrap()
        });
        let keys = 2000;
        let seed = rng.u64(..);
        let mut expected = Vec::new();
        for db in [&with, &without] {
            let mut rng = TestRng::with_seed(seed);
            let mut model = Rows::new();
            for i in 0..keys {
                let value = random_value(&mut rng);
                db.put(key(i), &value).unwrap();
                model.insert(key(i), value);
            }
            rewrite(db);
            let mut snapshots = Vec::new();
            for _ in 0..8 {
                change(&mut rng, db, &mut model, keys);
                if rng.one_in(3) {
                    snapshots.push((db.snapshot(), model.clone()));
                }
                flush(db);
                match rng.u32(..3) {
                    0 => compact(db),
                    1 => rewrite(db),
                    _ => db.wait_for_compact().unwrap(),
                }
                if rng.one_in(4) {
                    snapshots.clear();
                }
                assert!(rows(db) == model, "round {round}");
            }
            for (snapshot, model) in &snapshots {
                let read = ReadOptions {
                    snapshot: Some(snapshot.clone()),
                    ..ReadOptions::default()
                };
                for i in 0..keys {
                    let found = db.get_cf_opt(&db.default_column_family(), key(i), &read).unwrap();
                    assert_eq!(found.as_deref(), model.get(&key(i)).map(|value| &value[..]));
                }
            }
            db.verify_checksum().unwrap();
            files::check(db).unwrap();
            expected.push(model);
        }
        assert!(expected[0] == expected[1]);
        assert_eq!(copied(&without), (0, 0));
        blocks += copied(&with).0;
        written += with.statistics().get(Ticker::CompactWriteBytes);
        assert!(copied(&with).1 <= with.statistics().get(Ticker::CompactWriteBytes));
    }
    assert!(blocks > 500, "{blocks} blocks copied, {written} bytes written");
}

/// A database with an old last level, and an upper level with rows in a small part of its key range.
fn old_and_new(rng: &mut TestRng, db: &Db) -> Rows {
    let mut model = Rows::new();
    for i in 0..3000 {
        let value = random_value(rng);
        db.put(key(i), &value).unwrap();
        model.insert(key(i), value);
    }
    rewrite(db);
    for i in [7, 1500, 1501, 2990] {
        db.put(key(i), b"new").unwrap();
        model.insert(key(i), b"new".to_vec());
    }
    flush(db);
    model
}

#[test]
fn rocksdb_reads_what_was_copied() {
    let mut rng = testkit::rng();
    for format_version in 2..=7 {
        let place = TempDir::new().unwrap();
        let mut family = drawn(&mut rng);
        family.table.format_version = format_version;
        family.table.filter_policy = FilterPolicy::Bloom(10.0);
        settings::for_tools_of_7_8(&mut family.table);
        let db = Db::open(&options(Arc::new(PosixFs::new()), family), place.path()).unwrap();
        let model = old_and_new(&mut rng, &db);
        rewrite(&db);
        let (blocks, bytes) = copied(&db);
        assert!(
            blocks > 20 && bytes > blocks * 40,
            "{blocks} blocks, {bytes} bytes"
        );
        assert!(rows(&db) == model);
        drop(db);

        // RocksDB in Debian (7.8) reads format versions up to 5.
        if format_version <= 5
            && let (Some(mut ldb), Some(mut sst_dump)) = (oracle::ldb(), oracle::sst_dump())
        {
            let output = ldb
                .args(["scan", "--hex"])
                .arg(format!("--db={}", place.path().display()))
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            let found: Rows = text
                .lines()
                .map(|line| line.split_once(" : ").unwrap())
                .map(|(key, value)| (unhex(key), unhex(value)))
                .collect();
            assert!(found == model, "ldb reads other rows");
            let output = sst_dump
                .args(["--command=verify", "--verify_checksum"])
                .arg(format!("--file={}", place.path().display()))
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            let tables = text.matches("Process ").count();
            assert!(
                tables > 0 && text.matches("The file is ok").count() == tables,
                "{text}"
            );
        }
        if let Some(mut python) = oracle::rocksdict() {
            let script = "import sys, rocksdict as r\n\
                          options = r.Options(raw_mode=True)\n\
                          db = r.Rdict(sys.argv[1], options, access_type=r.AccessType.read_only())\n\
                          for key, value in db.items():\n    print(key.hex(), ':', value.hex())\n";
            let output = python.args(["-c", script]).arg(place.path()).output().unwrap();
            // RocksDB 9.8 does not know version 7.
            if format_version == 7 {
                continue;
            }
            assert!(output.status.success(), "{output:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            let found: Rows = text
                .lines()
                .map(|line| line.split_once(':').unwrap())
                .map(|(key, value)| {
                    let bytes = |hex: &str| unhex(&format!("0x{}", hex.trim()));
                    (bytes(key), bytes(value))
                })
                .collect();
            assert!(found == model, "RocksDB 9.8 reads other rows");
        }
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.strip_prefix("0x").unwrap().as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}

/// Opens the only table of the last level.
fn table(fs: &Arc<dyn FileSystem>, dir: &Path, number: u64) -> Arc<Table> {
    let file = fs
        .open_random(&filename::table(dir, number), &OpenOptions::default())
        .unwrap();
    let cmp = base::InternalComparator::new(base::UserComparator::Bytewise);
    Table::open(file, TableReadOptions::new(cmp)).unwrap()
}

#[test]
fn damage_in_a_block_to_be_copied_is_found() {
    let mut rng = testkit::rng();
    for verifies in [true, false] {
        let fs: Arc<dyn FileSystem> = Arc::new(PosixFs::new());
        let place = TempDir::new().unwrap();
        let family = ColumnFamilyOptions {
            compression: CompressionType::None,
            disable_auto_compactions: true,
            ..ColumnFamilyOptions::default()
        };
        let options = Options {
            verify_checksums_in_compaction: verifies,
            ..options(fs.clone(), family)
        };
        let db = Db::open(&options, place.path()).unwrap();
        old_and_new(&mut rng, &db);
        let largest = db.live_files().into_iter().max_by_key(|file| file.size);
        let number = largest.unwrap().number;
        drop(db);

        // The damage is in a byte of a value, in a block in the middle: no key changes.
        let path = filename::table(place.path(), number);
        let handle = {
            let table = table(&fs, place.path(), number);
            let index = table.index().unwrap();
            assert!(index.len() > 20);
            index.handle(index.len() / 4)
        };
        let mut bytes = std::fs::read(&path).unwrap();
        let block = &bytes[handle.offset as usize..][..handle.size as usize];
        let at = block.windows(10).position(|bytes| *bytes == [b'v'; 10]).unwrap();
        bytes[handle.offset as usize + at + 5] ^= 0x40;
        std::fs::write(&path, bytes).unwrap();

        let db = Db::open(&options, place.path()).unwrap();
        let error: Error = db
            .compact_range_cf_opt(
                &db.default_column_family(),
                None,
                None,
                &dbtest::by_hand::everything(),
            )
            .unwrap_err();
        assert!(error.is_corruption(), "{error}");
        assert_eq!(error.offset(), Some(handle.offset), "{error}");
        assert_eq!(error.file(), Some(&*path), "{error}");
    }
}
