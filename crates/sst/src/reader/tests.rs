//! Whole files RocksDB wrote, a few hundred bytes each.

use std::path::PathBuf;

use base::internal_key::{self, encode};
use base::{Kind, MAX_SEQNO};
use vfs::RandomAccessFile;

use super::open::global_seqno;
use super::*;
use crate::format::meta;
use crate::vectors::{unbase64, vectors};

#[derive(Debug)]
struct Bytes(PathBuf, Vec<u8>);

impl RandomAccessFile for Bytes {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let rest = self.1.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(buf.len());
        buf[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
    fn len(&self) -> u64 {
        self.1.len() as u64
    }
    fn mapped(&self) -> Option<&[u8]> {
        None
    }
    fn prefetch(&self, _offset: u64, _len: u64) {}
    fn path(&self) -> &Path {
        &self.0
    }
}

fn open(name: &str, bytes: Vec<u8>) -> Result<Arc<Table>> {
    let options = TableReadOptions::new(InternalComparator::new(UserComparator::Bytewise));
    Table::open(Arc::new(Bytes(PathBuf::from(name), bytes)), options)
}

#[test]
fn whole_files() {
    let mut seen = 0;
    for vector in vectors("whole_file") {
        let desc = vector["desc"].as_str().unwrap();
        let name = vector["name"].as_str().unwrap();
        let bytes = unbase64(&vector["b64"]);
        if !name.ends_with(".sst") {
            let error = open(name, bytes).unwrap_err();
            assert!(error.is_corruption() && error.file().is_some(), "{error}");
            continue;
        }
        assert_eq!(bytes.len() as u64, vector["size"].as_u64().unwrap());
        let table = open(name, bytes).unwrap_or_else(|error| panic!("{desc}: {error}"));
        table.verify(0, &mut |check| check.result.unwrap()).unwrap();
        let mut cursor = table.cursor(BlockReadOptions::default());
        let mut found = Vec::new();
        cursor.seek_to_first();
        while cursor.valid() {
            found.push((cursor.key().to_vec(), cursor.value().to_vec()));
            cursor.next();
        }
        cursor.status().unwrap();
        let tombstones = table.range_tombstones();
        let covered = tombstones.covering_seqno(&UserComparator::Bytewise, b"c", MAX_SEQNO);
        if desc.contains("range tombstone") {
            assert_eq!((found.len(), covered), (0, 6), "{desc}");
        } else if desc.contains("c@3=3") {
            let put = |key: &[u8], seqno| encode(key, seqno, Kind::Value);
            let expected = [(put(b"c", 3), b"3".to_vec()), (put(b"d", 4), b"4".to_vec())];
            assert_eq!(found, expected, "{desc}");
        } else if desc.contains("deletion b@5") {
            assert_eq!(found, [(encode(b"b", 5, Kind::Deletion), Vec::new())], "{desc}");
        } else {
            assert!(desc.contains("global seqno 2"));
            assert!(!found.is_empty());
            assert!(
                found.iter().all(|(key, _)| internal_key::seqno(key) == 2),
                "{desc}"
            );
        }
        seen += 1;
    }
    assert_eq!(seen, 7);
}

#[test]
fn a_patched_sequence_number_is_the_only_change_the_properties_checksum_forgives() {
    for vector in vectors("whole_file") {
        if !vector["desc"].as_str().unwrap().contains("global seqno 2") {
            continue;
        }
        let bytes = unbase64(&vector["b64"]);
        let table = open("p.sst", bytes.clone()).unwrap();
        let handle = table
            .metaindex
            .iter()
            .find(|entry| entry.0 == meta::PROPERTIES.as_bytes());
        let start = handle.unwrap().1.offset as usize;
        let block = &bytes[start..][..handle.unwrap().1.size as usize];
        let patched = [2, 0, 0, 0, 0, 0, 0, 0];
        let at = block.windows(8).position(|window| window == patched).unwrap();
        for i in 0..block.len() {
            let mut damaged = bytes.clone();
            damaged[start + i] ^= 0x10;
            let result = open("p.sst", damaged);
            match result {
                Ok(table) => {
                    assert!((at..at + 8).contains(&i), "byte {i}");
                    table.verify(0, &mut |check| check.result.unwrap()).unwrap();
                }
                Err(error) => assert!(error.is_corruption() || !(at..at + 8).contains(&i)),
            }
        }
    }
}

#[test]
fn the_global_sequence_number_follows_rocksdbs_rules() {
    let properties = |version, seqno| TableProperties {
        external_sst_file_version: version,
        external_sst_file_global_seqno: seqno,
        ..TableProperties::default()
    };
    let of = |version, seqno, largest| global_seqno(&properties(version, seqno), largest);
    assert_eq!(of(None, None, Some(9)).unwrap(), None);
    assert_eq!(of(Some(1), None, Some(9)).unwrap(), None);
    assert_eq!(of(Some(2), Some(0), Some(9)).unwrap(), Some(9));
    assert_eq!(of(Some(2), Some(9), Some(9)).unwrap(), Some(9));
    assert_eq!(of(Some(2), Some(9), None).unwrap(), Some(9));
    assert_eq!(of(Some(2), None, None).unwrap(), Some(0));
    for bad in [
        of(None, Some(1), None),
        of(Some(0), None, None),
        of(Some(1), Some(0), None),
        of(Some(2), Some(8), Some(9)),
        of(Some(2), Some(MAX_SEQNO + 1), None),
    ] {
        assert!(bad.unwrap_err().is_corruption());
    }
}
