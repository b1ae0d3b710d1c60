//! Tests of blob files against RocksDB's own, and with corruption.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::coding::{put_u32, put_u64};
use base::{InternalComparator, Kind, ParsedInternalKey, UserComparator};
use codec::checksum::{crc32c, mask};
use codec::{CompressionOptions, CompressionType};
use esker_blob::format::{FOOTER_LEN, HEADER_LEN, RECORD_HEADER_LEN};
use esker_blob::{BlobFile, BlobIndex, BlobLocation, BlobWriter, BlobWriterOptions};
use serde_json::Value;
use sst::{BlockReadOptions, Table, TableReadOptions};
use tempfile::TempDir;
use vfs::{CreateOptions, FileSystem, OpenOptions, PosixFs};

const TESTDATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata");

fn open(path: &Path, mmap: bool) -> base::Result<BlobFile> {
    let options = OpenOptions {
        mmap,
        ..OpenOptions::default()
    };
    BlobFile::open(PosixFs::new().open_random(path, &options)?)
}

fn options(compression: CompressionType) -> BlobWriterOptions {
    BlobWriterOptions {
        file_number: 9,
        column_family_id: 0,
        compression,
        compression_options: CompressionOptions::default(),
    }
}

fn write(path: &Path, compression: CompressionType, values: &[(Vec<u8>, Vec<u8>)]) -> Vec<BlobLocation> {
    let file = PosixFs::new().create(path, &CreateOptions::default()).unwrap();
    let mut writer = BlobWriter::new(file, options(compression)).unwrap();
    let locations = values
        .iter()
        .map(|(key, value)| location(writer.add(key, value).unwrap()))
        .collect();
    assert_eq!(writer.blob_count(), values.len() as u64);
    let summary = writer.finish().unwrap();
    assert_eq!(summary.file_size, fs::metadata(path).unwrap().len());
    assert_eq!(
        summary.blob_bytes,
        summary.file_size - (HEADER_LEN + FOOTER_LEN) as u64
    );
    locations
}

fn location(index: BlobIndex<'_>) -> BlobLocation {
    match index {
        BlobIndex::Blob {
            location,
            expiration: None,
        } => location,
        other => panic!("not in a blob file for good: {other:?}"),
    }
}

fn unhex(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap();
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

fn sample_values() -> Vec<(Vec<u8>, Vec<u8>)> {
    [0usize, 1, 60, 5000, 300_000]
        .iter()
        .map(|&len| {
            let key = format!("key{len}").into_bytes();
            let value = (0..len).map(|i| (i / 7 % 251) as u8).collect();
            (key, value)
        })
        .collect()
}

#[test]
fn the_worked_file_of_rocksdb_is_written_and_read() {
    let vectors: Value =
        serde_json::from_slice(&fs::read(format!("{TESTDATA}/format_vectors.json")).unwrap()).unwrap();
    let vector = &vectors["blob_file"];
    let bytes = unhex(&vector["file_hex"]);
    let key = vector["record"]["key"].as_str().unwrap().as_bytes();
    let value = vector["record"]["value_uncompressed_utf8"]
        .as_str()
        .unwrap()
        .as_bytes();
    let index = unhex(&vector["blob_index_hex"]);
    let decoded = location(BlobIndex::decode(&index).unwrap());

    let dir = TempDir::new().unwrap();
    let path = dir.path().join("000009.blob");
    let written = write(&path, decoded.compression, &[(key.to_vec(), value.to_vec())]);
    assert_eq!(written, [decoded]);
    assert_eq!(fs::read(&path).unwrap(), bytes);

    let file = open(&path, false).unwrap();
    assert_eq!(file.get(&decoded, key, true).unwrap(), value);
    assert_eq!(file.get(&decoded, key, false).unwrap(), value);
    assert_eq!(file.verify().unwrap(), 1);
}

#[test]
fn every_value_of_rocksdbs_blob_files_is_read() {
    let mut files: Vec<PathBuf> = fs::read_dir(format!("{TESTDATA}/rocksdb-11.9/blob_files"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "blob"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 17);
    for path in files {
        for mmap in [false, true] {
            let file = open(&path, mmap).unwrap();
            assert_eq!(file.header().compression, CompressionType::Lz4);
            assert_eq!(file.footer().unwrap().blob_count, file.verify().unwrap());
            let mut records = file.records();
            while let Some(record) = records.next().unwrap() {
                let location = BlobLocation {
                    file_number: 0,
                    offset: record.value_offset(),
                    size: record.stored.len() as u64,
                    compression: CompressionType::Lz4,
                };
                let value = record.value().unwrap();
                assert!(value.len() >= 50, "min_blob_size is 50");
                for verify in [false, true] {
                    assert_eq!(file.get(&location, record.key, verify).unwrap(), *value);
                }
                let error = file.get(&location, b"another key", true).unwrap_err();
                assert!(error.is_corruption() && error.file() == Some(&path), "{error}");
            }
        }
    }
}

fn unhex_str(text: &str) -> Vec<u8> {
    unhex(&Value::from(text))
}

#[test]
fn every_blob_index_in_rocksdbs_tables_resolves() {
    let dir = PathBuf::from(format!("{TESTDATA}/rocksdb-11.9/blob_files"));
    let expected = fs::read_to_string(format!("{TESTDATA}/rocksdb-11.9/blob_files.expected.tsv")).unwrap();
    let expected: BTreeMap<Vec<u8>, Vec<u8>> = expected
        .lines()
        .map(|line| {
            let mut fields = line.split('\t').skip(1);
            let mut field = || unhex_str(fields.next().unwrap_or_default());
            (field(), field())
        })
        .collect();
    let cmp = InternalComparator::new(UserComparator::Bytewise);
    let mut files: BTreeMap<u64, BlobFile> = BTreeMap::new();
    let (mut resolved, mut visible) = (0, 0);
    for number in [65, 67, 68] {
        let path = dir.join(format!("{number:06}.sst"));
        let file = PosixFs::new()
            .open_random(&path, &OpenOptions::default())
            .unwrap();
        let table = Table::open(file, TableReadOptions::new(cmp.clone())).unwrap();
        let mut cursor = table.cursor(BlockReadOptions::default());
        cursor.seek_to_first();
        while cursor.valid() {
            let key = ParsedInternalKey::parse(cursor.key()).unwrap();
            if key.kind == Kind::BlobIndex {
                let location = location(BlobIndex::decode(cursor.value()).unwrap());
                let file = files.entry(location.file_number).or_insert_with(|| {
                    let name = format!("{:06}.blob", location.file_number);
                    open(&dir.join(name), false).unwrap()
                });
                let value = file.get(&location, key.user_key, true).unwrap();
                resolved += 1;
                visible += usize::from(expected.get(key.user_key) == Some(&value));
            }
            cursor.next();
        }
        cursor.status().unwrap();
    }
    // Some of the rows are overwritten in the WAL.
    assert!(
        resolved > 500 && visible * 2 > resolved,
        "{visible} of {resolved}"
    );
}

#[test]
fn every_compression_round_trips() {
    let dir = TempDir::new().unwrap();
    let values = sample_values();
    for compression in CompressionType::ALL.into_iter().filter(|ty| ty.is_supported()) {
        let path = dir.path().join("000009.blob");
        let locations = write(&path, compression, &values);
        let file = open(&path, false).unwrap();
        assert_eq!(file.verify().unwrap(), values.len() as u64);
        for ((key, value), location) in values.iter().zip(&locations) {
            assert_eq!(file.get(location, key, true).unwrap(), *value, "{compression:?}");
            assert_eq!(file.get(location, key, false).unwrap(), *value, "{compression:?}");
        }
    }
    let file = PosixFs::new()
        .create(&dir.path().join("x"), &CreateOptions::default())
        .unwrap();
    assert!(BlobWriter::new(file, options(CompressionType::Xpress)).is_err());
}

#[test]
fn a_wrong_location_is_corruption() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("000009.blob");
    let values = [(b"k".to_vec(), vec![1; 100]), (b"l".to_vec(), vec![2; 100])];
    let right = write(&path, CompressionType::None, &values)[1];
    let file = open(&path, false).unwrap();
    for wrong in [
        BlobLocation { offset: 0, ..right },
        BlobLocation {
            offset: u64::MAX,
            ..right
        },
        BlobLocation {
            size: u64::MAX,
            ..right
        },
        BlobLocation {
            size: u64::MAX - right.offset,
            ..right
        },
        BlobLocation {
            size: right.size + 1,
            ..right
        },
        BlobLocation {
            size: right.size - 1,
            ..right
        },
        BlobLocation {
            offset: right.offset - 1,
            ..right
        },
        BlobLocation {
            offset: (HEADER_LEN + RECORD_HEADER_LEN) as u64,
            ..right
        },
        BlobLocation {
            compression: CompressionType::Lz4,
            ..right
        },
    ] {
        let error = file.get(&wrong, b"l", true).unwrap_err();
        assert!(error.is_corruption(), "{error}");
        assert!(error.file() == Some(&path) && error.offset().is_some(), "{error}");
    }
    assert_eq!(file.get(&right, b"l", true).unwrap(), [2; 100]);
}

/// The result of a whole iteration: the values it could read, and whether it ended without an error.
fn walk(path: &Path) -> (Vec<Vec<u8>>, bool) {
    let Ok(file) = open(path, false) else {
        return (Vec::new(), false);
    };
    let mut values = Vec::new();
    let mut records = file.records();
    loop {
        match records.next() {
            Ok(Some(record)) => match record.value() {
                Ok(value) => values.push(value.into_owned()),
                Err(_) => return (values, false),
            },
            Ok(None) => return (values, true),
            Err(error) => {
                assert!(error.is_corruption() && error.file().is_some() && error.offset().is_some());
                return (values, false);
            }
        }
    }
}

#[test]
fn every_flipped_bit_of_a_record_or_footer_is_found() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("000009.blob");
    let values: Vec<_> = (0..3u8).map(|i| (vec![b'k', i], vec![i; 40])).collect();
    write(&path, CompressionType::Zstd, &values);
    let good = fs::read(&path).unwrap();
    let magic_of_footer = good.len() - FOOTER_LEN..good.len() - FOOTER_LEN + 4;
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        fs::write(&path, &bad).unwrap();
        let (read, ended_well) = walk(&path);
        assert!(
            read.iter().zip(&values).all(|(read, (_, value))| read == value),
            "byte {at}: a wrong value"
        );
        // The header's flags, family and expirations have no checksum.
        let unprotected = (8..HEADER_LEN).contains(&at) && at != 13;
        assert!(unprotected || !ended_well, "byte {at} of {}", good.len());
        if magic_of_footer.contains(&at) {
            assert_eq!(
                read.len(),
                values.len(),
                "the records before a corrupt footer are read"
            );
        }
    }
}

#[test]
fn a_file_cut_anywhere_gives_the_records_before_the_cut() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("000009.blob");
    let values: Vec<_> = (0..3u8).map(|i| (vec![b'k', i], vec![i; 40])).collect();
    let locations = write(&path, CompressionType::None, &values);
    let good = fs::read(&path).unwrap();
    let ends: Vec<usize> = locations
        .iter()
        .map(|location| (location.offset + location.size) as usize)
        .collect();
    for len in 0..good.len() {
        fs::write(&path, &good[..len]).unwrap();
        let (read, ended_well) = walk(&path);
        let whole = ends.iter().filter(|&&end| end <= len).count();
        assert_eq!(read.len(), whole, "cut to {len}");
        let between_records = len == HEADER_LEN || ends.contains(&len);
        assert_eq!(ended_well, between_records, "cut to {len}");
    }
}

#[test]
fn lengths_are_not_believed() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("000009.blob");
    write(&path, CompressionType::None, &[]);
    let header = fs::read(&path).unwrap()[..HEADER_LEN].to_vec();
    for (key_len, value_len) in [
        (u64::MAX, 1),
        (1, u64::MAX),
        (1 << 40, 0),
        (0, 1 << 40),
        (u64::MAX, u64::MAX),
    ] {
        let mut record = Vec::new();
        put_u64(&mut record, key_len);
        put_u64(&mut record, value_len);
        put_u64(&mut record, 0);
        let crc = mask(crc32c(&record));
        put_u32(&mut record, crc);
        put_u32(&mut record, 0);
        record.extend_from_slice(&[0; 100]);
        fs::write(&path, [header.clone(), record].concat()).unwrap();
        let (read, ended_well) = walk(&path);
        assert!(read.is_empty() && !ended_well);
    }
}

#[test]
fn files_are_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &Arc<T>) {}
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("000009.blob");
    write(&path, CompressionType::None, &sample_values());
    shared(&Arc::new(open(&path, false).unwrap()));
}
