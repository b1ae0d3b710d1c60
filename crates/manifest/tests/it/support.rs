//! The sources of test bytes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use manifest::{ManifestState, Replay, VersionEdit, builtin_comparator};
use vfs::{CreateOptions, FileSystem, OpenOptions, PosixFs};

/// A file or directory of the repository's test data.
pub fn testdata(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata")).join(name)
}

/// The format vectors.
pub fn vectors() -> serde_json::Value {
    let text = std::fs::read_to_string(testdata("format_vectors.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Bytes from hexadecimal, with or without `0x`.
pub fn hex(text: &str) -> Vec<u8> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let byte = |i: usize| u8::from_str_radix(&digits[i..i + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Bytes from base64.
pub fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let (mut bits, mut held, mut bytes) = (0u32, 0, Vec::new());
    for c in text.bytes().filter(|c| !b"=\n".contains(c)) {
        bits = bits << 6 | u32::from(value(c));
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

/// The records of a MANIFEST.
pub fn records(path: &Path) -> Vec<Vec<u8>> {
    let fs = PosixFs::new();
    let file = fs.open_random(path, &OpenOptions::default()).unwrap();
    let mut reader = wal::Reader::for_manifest(Arc::clone(&file));
    let mut records = Vec::new();
    while let Some(record) = reader.read_record().unwrap() {
        records.push(record.to_vec());
    }
    records
}

/// The MANIFEST that CURRENT names.
pub fn current_manifest(dir: &Path) -> PathBuf {
    let current = std::fs::read_to_string(dir.join("CURRENT")).unwrap();
    dir.join(current.trim_end())
}

/// The databases that RocksDB 11.9 wrote, with their names.
pub fn fixtures() -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(testdata("rocksdb-11.9")).unwrap();
    let mut dirs: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("CURRENT").is_file())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path))
        .collect();
    dirs.sort();
    assert_eq!(dirs.len(), 20);
    dirs
}

/// The state of a MANIFEST, with families opened by the names of their comparators.
pub fn replay(path: &Path) -> base::Result<ManifestState> {
    let mut replay = Replay::new();
    for record in records(path) {
        replay.apply_record(&record)?;
    }
    replay.finish(&mut builtin_comparator)
}

/// Writes `edits` as a MANIFEST.
pub fn write_manifest(path: &Path, edits: &[VersionEdit]) {
    let file = PosixFs::new().create(path, &CreateOptions::default()).unwrap();
    let mut writer = wal::Writer::new(file, wal::WriterOptions::default()).unwrap();
    let mut record = Vec::new();
    for edit in edits {
        record.clear();
        edit.encode(&mut record);
        writer.add_record(&record).unwrap();
    }
    writer.close().unwrap();
}
