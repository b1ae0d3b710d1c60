//! A database of versions that RocksDB opens, with their order and nothing else.

use std::fs;
use std::path::Path;
use std::time::Duration;

use esker::{Db, Options, WriteOptions};
use mvcc::{BatchOptions, MvccComparator, MvccReadOptions, MvccStore, Span, Timestamp, Value};
use rocksdb::{DB, IteratorMode, ReadOptions};
use tempfile::TempDir;
use testkit::TestRng;

const KEYS: u64 = 300;

/// A key and its value, as the engine stores them.
type Row = (Vec<u8>, Vec<u8>);

/// Options under which older versions of at least `min_older` bytes go to blob files; 0: none do.
fn ours(min_older: u64) -> Options {
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    mvcc::configure(&mut options.column_family);
    options.column_family.write_buffer_size = 64 << 10;
    options.column_family.target_file_size_base = 64 << 10;
    options.column_family.enable_blob_files = min_older > 0;
    options.column_family.min_blob_size = u64::MAX;
    options.column_family.min_older_version_blob_size = min_older;
    options
}

fn theirs() -> rocksdb::Options {
    let mut options = rocksdb::Options::default();
    options.set_comparator(
        MvccComparator::NAME,
        Box::new(|a, b| esker::Comparator::compare(&MvccComparator, a, b)),
    );
    options.set_paranoid_checks(true);
    options
}

/// Every row as RocksDB reads it, with each block's checksum verified.
fn read_by_rocksdb(db: &DB) -> Result<Vec<Row>, rocksdb::Error> {
    let mut options = ReadOptions::default();
    options.set_verify_checksums(true);
    let rows = db.iterator_opt(IteratorMode::Start, options);
    rows.map(|row| row.map(|(key, value)| (key.into_vec(), value.into_vec())))
        .collect()
}

fn read_by_esker(db: &Db) -> Vec<Row> {
    let mut iter = db.iter();
    let mut rows = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    rows
}

/// Versions in several levels, collected in part, the last of them in the WAL alone.
fn write(dir: &Path, rng: &mut TestRng, min_older: u64) -> Vec<Row> {
    let db = Db::open(&ours(min_older), dir).unwrap();
    let family = db.default_column_family();
    let store = MvccStore::open(&db, &family, BatchOptions::default(), 0).unwrap();
    for second in 1..20 {
        let mut batch = store.begin(Timestamp::from_secs(second).wall);
        for _ in 0..KEYS {
            let key = format!("key{:05}", rng.u64(..KEYS));
            let at = Timestamp::from_secs(second);
            // A write of a key that was drawn before fails, because its timestamp is too old.
            let _ = match rng.one_in(5) {
                true => batch.delete(key.as_bytes(), at).map(drop),
                false => batch
                    .put(key.as_bytes(), at, Value::Bytes(&[second as u8; 60]))
                    .map(drop),
            };
        }
        batch.commit(&WriteOptions::default()).unwrap();
        if second == 15 {
            let now = Timestamp::from_secs(second).wall;
            let report = store.collect_garbage(Duration::from_secs(5), now, &Default::default());
            assert!(report.unwrap().removed.versions > 0);
        }
        if second < 18 && second % 3 == 0 {
            db.flush().unwrap();
        }
    }
    db.wait_for_compact().unwrap();
    let rows = read_by_esker(&db);
    let blobs = db.blob_files(&family);
    let blobs: u64 = blobs.iter().map(|file| file.total_blob_count).sum();
    assert_eq!(blobs > KEYS, min_older > 0, "{blobs}");
    drop(store);
    db.close().unwrap();
    rows
}

#[test]
fn rocksdb_verifies_versions_and_writes_them() {
    verify_and_write(0);
}

#[test]
fn rocksdb_reads_older_versions_in_blob_files() {
    verify_and_write(30);
}

fn verify_and_write(min_older: u64) {
    let dir = TempDir::new().unwrap();
    let rng = &mut testkit::rng();
    let rows = write(dir.path(), rng, min_older);
    assert!(
        DB::open(&rocksdb::Options::default(), dir.path()).is_err(),
        "their order is another"
    );
    let db = DB::open(&theirs(), dir.path()).unwrap();
    assert_eq!(read_by_rocksdb(&db).unwrap(), rows);
    // Compactions keep the order and every version.
    let mut newest = Vec::new();
    mvcc::encode_key(&mut newest, b"key00007", Timestamp::from_secs(100));
    let value = rows.iter().find(|(_, value)| value.len() > 60).unwrap();
    db.put(&newest, &value.1).unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(read_by_rocksdb(&db).unwrap().len(), rows.len() + 1);
    drop(db);
    let db = Db::open(&ours(min_older), dir.path()).unwrap();
    assert_eq!(read_by_esker(&db).len(), rows.len() + 1);
    let family = db.default_column_family();
    let reader = mvcc::Reader::new(&db, &family);
    let found = reader
        .get(
            b"key00007",
            Timestamp::from_secs(100),
            &MvccReadOptions::default(),
        )
        .unwrap();
    assert_eq!(found.found.unwrap().timestamp, Timestamp::from_secs(100));
    let scanned = reader
        .scan(Span::ALL, Timestamp::from_secs(100), &MvccReadOptions::default())
        .unwrap();
    assert!(scanned.rows.len() > KEYS / 2);
}

#[test]
fn rocksdb_finds_a_flipped_bit_in_versions() {
    let dir = TempDir::new().unwrap();
    let rng = &mut testkit::rng();
    write(dir.path(), rng, 0);
    let files = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let tables = files.filter(|path| path.extension().is_some_and(|extension| extension == "sst"));
    let table = tables
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .unwrap();
    let mut bytes = fs::read(&table).unwrap();
    // The first 1000 bytes of the table are in its first data block.
    bytes[rng.usize(..1000)] ^= 1 << rng.u8(..8);
    fs::write(&table, bytes).unwrap();
    let found = DB::open_for_read_only(&theirs(), dir.path(), false).and_then(|db| read_by_rocksdb(&db));
    let error = found.unwrap_err().to_string();
    assert!(
        error.starts_with("Corruption: block checksum mismatch"),
        "{error}"
    );
}
