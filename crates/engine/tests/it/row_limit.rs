//! Rows above the limit of 2 GiB - 1 are refused before they are copied. They consist of zeros, which occupy
//! no memory.

use std::path::Path;
use std::sync::Arc;

use esker::{
    ColumnFamily, Db, Error, ErrorKind, IngestExternalFileOptions, Options, ReadOptions, RowLimit,
    SstFileWriter, WriteBatch, WriteBatchWithIndex, WriteOptions,
};
use vfs::{CreateOptions, FileSystem, MemFs, PosixFs};

const DIR: &str = "/db";

fn options() -> Options {
    Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    }
}

fn refused(what: &str, result: Result<(), Error>, part: &str) {
    let error = result.expect_err(what);
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{what}: {error}");
    let text = format!("Invalid argument: {part} is too large: ");
    assert!(error.to_string().contains(&text), "{what}: {error}");
}

fn keys(db: &Db) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut iter = db.iter();
    iter.seek_to_first();
    while iter.valid() {
        keys.push(iter.key().to_vec());
        iter.next();
    }
    iter.status().unwrap();
    keys
}

/// A batch in wire format with one operation, whose value is `value_len` zeros. Log data has no key and takes
/// no sequence number.
fn operation(tag: u8, key: Option<&[u8]>, value_len: usize) -> Vec<u8> {
    let mut head = vec![0; 12];
    head[8] = u8::from(key.is_some());
    head.push(tag);
    if let Some(key) = key {
        base::coding::put_length_prefixed(&mut head, key);
    }
    base::coding::put_varint64(&mut head, value_len as u64);
    // Zeroed memory occupies no page until it is written.
    let mut data = vec![0; head.len() + value_len];
    data[..head.len()].copy_from_slice(&head);
    data
}

#[test]
fn every_write_of_a_row_beyond_the_limit_is_refused_before_the_wal() {
    let options = options();
    let db = Db::open(&options, DIR).unwrap();
    let family = &db.default_column_family();
    let write = &WriteOptions::default();
    let large = &vec![0; RowLimit::MAX.bytes() + 1][..];
    // With its trailer the key is a byte longer than the limit.
    let key = &large[..RowLimit::MAX.bytes() - 7];
    db.put(b"k", b"v").unwrap();
    let sequence = db.latest_sequence_number();

    refused("put", db.put(b"k", large), "value");
    refused("put", db.put(key, b"v"), "key");
    refused("put_opt", db.put_cf_opt(family, b"k", large, write), "value");
    refused("merge", db.merge_cf_opt(family, b"k", large, write), "value");
    refused("merge", db.merge_cf_opt(family, key, b"v", write), "key");
    refused("delete", db.delete(key), "key");
    refused("delete_opt", db.delete_cf_opt(family, key, write), "key");
    refused(
        "single_delete",
        db.single_delete_cf_opt(family, key, write),
        "key",
    );
    refused(
        "delete_range",
        db.delete_range_cf_opt(family, key, b"z", write),
        "key",
    );
    refused(
        "delete_range",
        db.delete_range_cf_opt(family, b"a", key, write),
        "key",
    );
    refused(
        "delete_range",
        db.delete_range_cf_opt(family, b"a", large, write),
        "key",
    );
    let protected = WriteOptions {
        protection_bytes_per_key: 8,
        ..WriteOptions::default()
    };
    refused(
        "protected",
        db.put_cf_opt(family, b"k", large, &protected),
        "value",
    );

    type Add = fn(&mut WriteBatch, &ColumnFamily, &[u8], &[u8]);
    let operations: [(&str, &str, Add); 12] = [
        ("put", "value", |batch, _, large, _| batch.put(b"k", large)),
        ("put", "key", |batch, _, _, key| batch.put(key, b"v")),
        ("put_cf", "value", |batch, family, large, _| {
            batch.put_cf(family, b"k", large);
        }),
        ("merge", "value", |batch, _, large, _| batch.merge(b"k", large)),
        ("merge_cf", "key", |batch, family, _, key| {
            batch.merge_cf(family, key, b"v");
        }),
        ("delete", "key", |batch, _, _, key| batch.delete(key)),
        ("delete_cf", "key", |batch, family, _, key| {
            batch.delete_cf(family, key);
        }),
        ("single_delete", "key", |batch, _, _, key| {
            batch.single_delete(key)
        }),
        ("delete_range", "key", |batch, _, _, key| {
            batch.delete_range(key, b"z");
        }),
        ("delete_range", "key", |batch, _, large, _| {
            batch.delete_range(b"a", large);
        }),
        ("put_at", "key", |batch, family, _, key| {
            // The keys are too long only with their timestamps.
            batch.put_at(family, &key[1..], &[0; 8], b"v");
        }),
        ("delete_range_at", "key", |batch, family, _, key| {
            batch.delete_range_at(family, b"a", &key[1..], &[0; 8]);
        }),
    ];
    for (what, part, add) in operations {
        let mut batch = WriteBatch::new();
        batch.put(b"small", b"1");
        batch.set_save_point();
        add(&mut batch, family, large, key);
        refused(what, batch.status(), part);
        assert!(!batch.is_empty() && batch.count() == 1, "{what}");
        refused(what, db.write_opt(batch.clone(), write), part);
        let mut other = WriteBatch::with_protection(8).unwrap();
        other.append(&batch);
        refused(what, db.write_opt(other, write), part);
        // A batch whose only operation was refused does not count as empty.
        let mut alone = WriteBatch::new();
        add(&mut alone, family, large, key);
        assert!(!alone.is_empty(), "{what}");
        refused(what, db.write_opt(alone.clone(), write), part);
        let indexed = WriteBatchWithIndex::from(alone.clone());
        let read = indexed.get_from_batch_and_db(&db, family, b"k", &ReadOptions::default());
        refused(what, read.map(drop), part);
        refused(what, db.write_opt(indexed.into_write_batch(), write), part);
        alone.clear();
        assert!(alone.status().is_ok() && alone.is_empty(), "{what}");
        batch.rollback_to_save_point().unwrap();
        assert!(batch.status().is_ok() && batch.count() == 1, "{what}");
    }
    let mut batch = WriteBatch::new();
    batch.put_log_data(large);
    refused("put_log_data", db.write_opt(batch, write), "value");
    assert_eq!(db.latest_sequence_number(), sequence);

    // The batches are given as bytes: put, merge, blob index, entity, a timed put, whose last eight bytes are
    // its time, and log data.
    let key = Some(&b"k"[..]);
    let data = [
        (0x01, key, 0),
        (0x02, key, 0),
        (0x11, key, 0),
        (0x16, key, 0),
        (0x18, key, 8),
        (0x03, None, 0),
    ];
    for (tag, key, more) in data {
        let data = operation(tag, key, large.len() + more);
        refused("bytes", WriteBatch::from_data(&data).map(drop), "value");
    }
    assert_eq!(db.latest_sequence_number(), sequence);
    db.close().unwrap();
    let db = Db::open(&options, DIR).unwrap();
    assert_eq!(keys(&db), [b"k"]);
}

#[test]
fn files_are_made_of_no_row_beyond_the_limit() {
    let options = options();
    let large = &vec![0; RowLimit::MAX.bytes() + 1][..];
    let key = &large[..RowLimit::MAX.bytes() - 7];
    let mut writer = SstFileWriter::new(&options);
    writer.open("/file.sst").unwrap();
    refused("put", writer.put(b"k", large), "value");
    refused("put", writer.put(key, b"v"), "key");
    refused("merge", writer.merge(b"k", large), "value");
    refused("delete", writer.delete(key), "key");
    refused("single_delete", writer.single_delete(key), "key");
    refused("delete_range", writer.delete_range(key, b"z"), "key");
    refused("delete_range", writer.delete_range(b"", key), "key");
    let half = &large[..large.len() / 2 + 1];
    let columns: [(&[u8], &[u8]); 2] = [(b"a", half), (b"b", half)];
    refused("put_entity", writer.put_entity(b"k", &columns), "value");
    // The writer continues as if the refused call had not been made.
    writer.put(b"k", b"v").unwrap();
    let file = writer.finish().unwrap();
    let db = Db::open(&options, DIR).unwrap();
    db.ingest_external_file(&[file.file_path], &IngestExternalFileOptions::default())
        .unwrap();
    assert_eq!(keys(&db), [b"k"]);
}

/// True if tests may use gigabytes of memory and disk, and minutes: with `ESKER_LIMITS` of 10 or more.
fn may_be_large() -> bool {
    let times = std::env::var("ESKER_LIMITS").map_or(1, |text| text.parse().unwrap());
    if times < 10 {
        testkit::skip("ESKER_LIMITS=10, for rows of gigabytes");
    }
    times >= 10
}

/// A value that is identified by its first and last bytes.
fn value(len: usize) -> Vec<u8> {
    let mut value = vec![0; len];
    (value[0], value[len - 1]) = (b'<', b'>');
    value
}

#[test]
fn the_longest_value_is_written_flushed_compacted_and_recovered() {
    if !may_be_large() {
        return;
    }
    let limit = RowLimit::MAX.bytes();
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let is_there = |db: &Db| {
        let found = db.get_pinned(b"k");
        let found = found.unwrap().unwrap();
        assert_eq!((found.len(), found[0], found[limit - 1]), (limit, b'<', b'>'));
    };
    let db = Db::open(&options, dir.path()).unwrap();
    db.put(b"k", value(limit)).unwrap();
    is_there(&db);
    db.close().unwrap();
    drop(db);
    let db = Db::open(&options, dir.path()).unwrap();
    is_there(&db);
    let family = db.default_column_family();
    db.put(b"l", b"1").unwrap();
    db.flush().unwrap();
    db.compact_range_cf(&family, None, None).unwrap();
    is_there(&db);
    db.close().unwrap();
}

/// Appends a WAL to a database: it puts a value of `value_len` bytes and then has the batches `more`.
fn append_wal(dir: &Path, sequence: u64, value_len: usize, more: Option<u64>) {
    let wals = std::fs::read_dir(dir).unwrap().filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.strip_suffix(".log")?.parse::<u64>().ok()
    });
    let number = wals.max().unwrap() + 1;
    let create = CreateOptions {
        log: true,
        ..CreateOptions::default()
    };
    let file = PosixFs::new()
        .create(&base::filename::wal(dir, number), &create)
        .unwrap();
    let options = wal::WriterOptions {
        log_number: number,
        ..wal::WriterOptions::default()
    };
    let mut wal = wal::Writer::new(file, options).unwrap();
    let mut data = operation(0x01, Some(b"large"), value_len);
    data[..8].copy_from_slice(&sequence.to_le_bytes());
    wal.add_record(&data).unwrap();
    if let Some(sequence) = more {
        let mut batch = WriteBatch::new();
        batch.put(b"more", b"1");
        let mut data = batch.data().to_vec();
        data[..8].copy_from_slice(&sequence.to_le_bytes());
        wal.add_record(&data).unwrap();
    }
    wal.close().unwrap();
}

#[test]
fn a_wal_with_a_row_of_gigabytes_opens_and_is_kept() {
    if !may_be_large() {
        return;
    }
    // A value of 4 GiB was never acknowledged, so the next write has its sequence number.
    for (value_len, next) in [(RowLimit::MAX.bytes() + 1, 1), (1 << 32, 0)] {
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            create_if_missing: true,
            ..Options::default()
        };
        let db = Db::open(&options, dir.path()).unwrap();
        db.put(b"k", b"v").unwrap();
        let sequence = db.latest_sequence_number() + 1;
        db.close().unwrap();
        drop(db);
        append_wal(dir.path(), sequence, value_len, Some(sequence + next));
        let db = Db::open(&options, dir.path()).unwrap();
        assert_eq!(keys(&db), [&b"k"[..], b"more"]);
        let kept = std::fs::read_dir(dir.path().join("lost")).unwrap().next();
        assert!(kept.unwrap().unwrap().metadata().unwrap().len() > value_len as u64);
        db.put(b"after", b"1").unwrap();
        db.flush().unwrap();
        db.close().unwrap();
    }
}
