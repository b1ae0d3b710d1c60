//! Tables read outside of any database: the rows are those of a database that consists of the table.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::entry_type::EntryType;
use dbtest::by_hand::flush;
use dbtest::settings;
use esker::{
    Db, DbIterator, ErrorKind, IngestExternalFileOptions, Options, ReadOptions, SstFileReader, SstFileWriter,
    UserComparator, WriteBatch,
};
use tempfile::TempDir;
use testkit::TestRng;
use vfs::MemFs;

use crate::fixtures;

fn in_memory() -> Options {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    options.column_family.merge_operator = base::merge::builtin("stringappend");
    options.column_family.disable_auto_compactions = true;
    options
}

/// The only table of the database in `/db`.
fn only_table(options: &Options) -> PathBuf {
    let names = options.fs.list(Path::new("/db")).unwrap();
    let mut tables = names.iter().filter(|name| name.ends_with(".sst"));
    let table = Path::new("/db").join(tables.next().unwrap());
    assert_eq!(tables.next(), None);
    table
}

fn rows(mut iter: DbIterator) -> Vec<(Vec<u8>, Vec<u8>)> {
    let row = |iter: &DbIterator| (iter.key().to_vec(), iter.value().to_vec());
    let mut forwards = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        forwards.push(row(&iter));
        iter.next();
    }
    iter.status().unwrap();
    let mut backwards = Vec::new();
    iter.seek_to_last();
    while iter.valid() {
        backwards.push(row(&iter));
        iter.prev();
    }
    iter.status().unwrap();
    backwards.reverse();
    assert_eq!(forwards, backwards);
    forwards
}

fn write(rng: &mut TestRng, db: &Db) {
    let mut batch = WriteBatch::new();
    let key = format!("key{:03}", rng.u32(..200));
    match rng.u32(..12) {
        0..5 => batch.put(key.as_bytes(), &rng.bytes(30)),
        5..8 => batch.merge(key.as_bytes(), &rng.bytes(10)),
        8..11 => batch.delete(key.as_bytes()),
        _ => batch.delete_range(key.as_bytes(), format!("{key}9").as_bytes()),
    }
    if rng.one_in(40) {
        batch.delete_range(key.as_bytes(), format!("{}9", &key[..5]).as_bytes());
    }
    db.write(batch).unwrap();
}

#[test]
fn the_rows_are_those_of_the_database() {
    let mut rng = testkit::rng();
    for _ in 0..8 {
        let mut options = in_memory();
        let family = &mut options.column_family;
        settings::draw(&mut rng, &mut family.table);
        family.enable_blob_files = rng.one_in(3);
        family.min_blob_size = 20;
        family.prefix_extractor = rng
            .bool()
            .then(|| esker::prefix_extractors::builtin("fixed:5").unwrap());
        let db = Db::open(&options, "/db").unwrap();
        // The snapshots keep old versions in the table.
        let mut snapshots = Vec::new();
        for _ in 0..400 {
            write(&mut rng, &db);
            if rng.one_in(100) {
                snapshots.push(db.snapshot());
            }
        }
        flush(&db);
        let reader = SstFileReader::open(&options, only_table(&options)).unwrap();
        reader.verify_checksum().unwrap();
        reader.verify_num_entries().unwrap();
        let mut reads = vec![ReadOptions::default()];
        reads.extend(snapshots.into_iter().map(|snapshot| ReadOptions {
            snapshot: Some(snapshot),
            ..ReadOptions::default()
        }));
        for read in reads {
            assert_eq!(rows(reader.iter_opt(&read)), rows(db.iter_opt(&read)));
            let keys: Vec<String> = (0..200).map(|key| format!("key{key:03}")).collect();
            let found = reader.multi_get_opt(&keys, &read);
            for (key, found) in keys.iter().zip(found) {
                let expected = db
                    .get_cf_opt(&db.default_column_family(), key.as_bytes(), &read)
                    .unwrap();
                assert_eq!(found.unwrap().map(|value| value.to_vec()), expected, "{key}");
            }
            let bounded = ReadOptions {
                iterate_lower_bound: Some(b"key050".to_vec()),
                iterate_upper_bound: Some(b"key150".to_vec()),
                ..read.clone()
            };
            assert_eq!(rows(reader.iter_opt(&bounded)), rows(db.iter_opt(&bounded)));
        }
        // An iterator outlives its reader.
        let mut iter = reader.iter();
        drop(reader);
        iter.seek_to_first();
        assert!(iter.valid());
    }
}

#[test]
fn entries_are_shown_as_they_are_stored() {
    let options = in_memory();
    let db = Db::open(&options, "/db").unwrap();
    db.put(b"a", b"old").unwrap();
    let _snapshot = db.snapshot();
    db.put(b"a", b"new").unwrap();
    db.delete(b"b").unwrap();
    db.merge(b"c", b"operand").unwrap();
    flush(&db);
    let reader = SstFileReader::open(&options, only_table(&options)).unwrap();
    let mut entries = reader.entries();
    let mut shown = Vec::new();
    entries.seek_to_first();
    while entries.valid() {
        let key = String::from_utf8(entries.user_key().to_vec()).unwrap();
        let value = String::from_utf8(entries.value().to_vec()).unwrap();
        shown.push((key, entries.seqno(), entries.entry_type(), value));
        entries.next();
    }
    entries.status().unwrap();
    let entry = |key: &str, seqno, entry, value: &str| (key.to_owned(), seqno, entry, value.to_owned());
    assert_eq!(
        shown,
        [
            entry("a", 2, EntryType::Put, "new"),
            entry("a", 1, EntryType::Put, "old"),
            entry("b", 3, EntryType::Delete, ""),
            entry("c", 4, EntryType::Merge, "operand"),
        ]
    );
    entries.seek(b"b");
    assert_eq!(entries.user_key(), b"b");
    entries.prev();
    assert_eq!(entries.value(), b"old");
    entries.seek_to_last();
    assert_eq!(entries.user_key(), b"c");
}

#[test]
fn ingested_files_and_those_with_timestamps_are_read() {
    let mut options = in_memory();
    let mut writer = SstFileWriter::new(&options);
    writer.open("/outside.sst").unwrap();
    writer.put(b"a", b"1").unwrap();
    writer.delete_range(b"b", b"d").unwrap();
    writer.finish().unwrap();
    let db = Db::open(&options, "/db").unwrap();
    db.put(b"x", b"raises the sequence number").unwrap();
    db.ingest_external_file(&["/outside.sst"], &IngestExternalFileOptions::default())
        .unwrap();
    for path in [Path::new("/outside.sst"), &only_table(&options)] {
        let reader = SstFileReader::open(&options, path).unwrap();
        assert_eq!(rows(reader.iter()), [(b"a".to_vec(), b"1".to_vec())]);
        assert_eq!(reader.table_properties().num_range_deletions, 1);
        reader.verify_num_entries().unwrap();
    }

    options.column_family.comparator = UserComparator::BytewiseU64Ts;
    let mut writer = SstFileWriter::new(&options);
    writer.open("/timestamps.sst").unwrap();
    writer.put_at(b"a", &7u64.to_le_bytes(), b"seven").unwrap();
    writer.merge_at(b"a", &3u64.to_le_bytes(), b"three").unwrap();
    writer.finish().unwrap();
    let reader = SstFileReader::open(&options, "/timestamps.sst").unwrap();
    for (timestamp, value) in [(2u64, None), (3, Some(b"three")), (9, Some(b"seven"))] {
        let at = ReadOptions {
            timestamp: Some(timestamp.to_le_bytes().to_vec()),
            ..ReadOptions::default()
        };
        let found = reader.get_opt(b"a", &at).unwrap();
        assert_eq!(
            found.map(|value| value.to_vec()),
            value.map(|value| value.to_vec())
        );
    }
    let error = reader.get(b"a").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let error = SstFileReader::open(&in_memory_of(&options), "/timestamps.sst").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("/timestamps.sst"), "{error}");
}

/// The default options, in the file system of `options`.
fn in_memory_of(options: &Options) -> Options {
    Options {
        fs: options.fs.clone(),
        ..Options::default()
    }
}

#[test]
fn damage_is_found_and_named() {
    let dir = TempDir::new().unwrap();
    let table = dir.path().join("a.sst");
    let options = Options::default();
    let mut writer = SstFileWriter::new(&options);
    writer.open(&table).unwrap();
    for key in 0..5000 {
        writer.put(format!("key{key:04}").as_bytes(), b"value").unwrap();
    }
    writer.finish().unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 1;
    std::fs::write(&table, &bytes).unwrap();
    let reader = SstFileReader::open(&options, &table).unwrap();
    for found in [reader.verify_checksum(), reader.verify_num_entries()] {
        let error = found.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert!(error.to_string().contains("a.sst"), "{error}");
    }
    let missing = SstFileReader::open(&options, dir.path().join("b.sst")).unwrap_err();
    assert!(missing.to_string().contains("b.sst"), "{missing}");
}

#[test]
fn tables_that_rocksdb_wrote_are_read() {
    let mut tables = 0;
    for name in fixtures::names() {
        let dir = fixtures::copy(&name);
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "sst") {
                continue;
            }
            let properties = sst::Table::read_properties(
                Options::default()
                    .fs
                    .open_random(&path, &Default::default())
                    .unwrap(),
            )
            .unwrap();
            let mut options = Options::default();
            let order = UserComparator::builtin(&properties.comparator_name()).unwrap();
            let timestamp = (order.timestamp_size() > 0).then(|| u64::MAX.to_le_bytes().to_vec());
            options.column_family.comparator = order;
            options.column_family.merge_operator = base::merge::builtin("stringappend");
            let reader = SstFileReader::open(&options, &path).unwrap();
            reader.verify_checksum().unwrap();
            reader.verify_num_entries().unwrap();
            let read = ReadOptions {
                timestamp,
                ..ReadOptions::default()
            };
            for (key, value) in rows(reader.iter_opt(&read)) {
                let found = reader.get_opt(&key, &read).unwrap().unwrap();
                assert_eq!(&found[..], &value[..]);
            }
            tables += 1;
        }
    }
    assert!(tables > 50, "{tables} tables");
}
