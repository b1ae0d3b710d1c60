//! Whole files that RocksDB wrote, a few hundred bytes each.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::internal_key::{self, encode};
use base::{InternalComparator, Kind, MAX_SEQNO, Result, UserComparator};
use vfs::{CreateOptions, FileSystem, MemFs, RandomAccessFile};

use super::open::global_seqno;
use super::*;
use crate::block::builder::BlockBuilder;
use crate::format::{Footer, block_trailer, meta};
use crate::properties::TableProperties;
use crate::read_options::{BlockReadOptions, TableReadOptions};
use crate::vectors::{unbase64, vectors};
use crate::writer::{TableWriter, TableWriterOptions};

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

fn numbered(number: u32) -> Vec<u8> {
    format!("{number:05}").into_bytes()
}

/// A file whose range-deletion block holds these tombstones, each from one key to before another, in this
/// order, whatever it is. Old releases wrote such files.
fn file_of_old(tombstones: &[(u32, u32, u64)]) -> Vec<u8> {
    let fs = MemFs::new();
    let path = Path::new("/old.sst");
    let file = fs.create(path, &CreateOptions::default()).unwrap();
    let cmp = InternalComparator::new(UserComparator::Bytewise);
    let mut writer = TableWriter::new(file, TableWriterOptions::new(cmp)).unwrap();
    let mut block = BlockBuilder::new(1);
    for (number, (start, end, seqno)) in (0..).zip(tombstones) {
        // The table is first written with other range tombstones, in order and without overlap, as many as
        // `tombstones`. The block of `tombstones`, which has the same length, then replaces their block.
        let place = (numbered(2 * number), numbered(2 * number + 1));
        writer.add_range_tombstone(&place.0, &place.1, 1).unwrap();
        block.add(
            &encode(&numbered(*start), *seqno, Kind::RangeDeletion),
            &numbered(*end),
        );
    }
    writer.finish().unwrap();
    let mut bytes = fs.read_file(path).unwrap();
    let table = open("old.sst", bytes.clone()).unwrap();
    let mut metaindex = table.metaindex.iter();
    let handle = metaindex
        .find(|entry| entry.0 == meta::RANGE_DEL.as_bytes())
        .unwrap()
        .1;
    let contents = block.finish().0;
    assert_eq!(contents.len() as u64, handle.size);
    let Footer {
        checksum,
        base_context_checksum: context,
        ..
    } = table.footer;
    let trailer = block_trailer(checksum, contents, 0, context, handle.offset);
    let place = &mut bytes[handle.offset as usize..][..contents.len() + trailer.len()];
    place.copy_from_slice(&[&contents[..], &trailer].concat());
    bytes
}

#[test]
fn a_range_deletion_block_in_any_order_is_read() {
    let mut rng = testkit::rng();
    for _ in 0..20 {
        let draw = |_| {
            let start = rng.u32(..999);
            (start, rng.u32(start + 1..1000), rng.u64(1..100))
        };
        let tombstones: Vec<_> = (0..200).map(draw).collect();
        assert!(!tombstones.is_sorted());
        let table = open("old.sst", file_of_old(&tombstones)).unwrap();
        table.verify(0, &mut |check| check.result.unwrap()).unwrap();
        let found = table.range_tombstones();
        for number in 0..1000 {
            for snapshot in [0, 1, 50, 99, MAX_SEQNO] {
                let over = tombstones
                    .iter()
                    .filter(|(start, end, seqno)| (*start..*end).contains(&number) && *seqno <= snapshot);
                let newest = over.map(|(_, _, seqno)| *seqno).max().unwrap_or(0);
                let covering = found.covering_seqno(&UserComparator::Bytewise, &numbered(number), snapshot);
                assert_eq!(covering, newest, "{number} at {snapshot}");
            }
        }
    }
}

/// However deeply tombstones are nested, their fragments stay within the limit.
#[test]
fn range_deletions_nested_deeply_are_read() {
    const DEPTH: u32 = 10_000;
    let nested: Vec<_> = (1..DEPTH).map(|i| (20_000 - i, 20_000 + i, i.into())).collect();
    let table = open("old.sst", file_of_old(&nested)).unwrap();
    let found = table.range_tombstones();
    let newest = u64::from(DEPTH) - 1;
    for (number, expected) in [
        (20_000 - DEPTH, 0),
        (20_001 - DEPTH, newest),
        (20_000, newest),
        (19_998 + DEPTH, newest),
        (19_999 + DEPTH, 0),
    ] {
        let covering = found.covering_seqno(&UserComparator::Bytewise, &numbered(number), MAX_SEQNO);
        assert_eq!(covering, expected, "{number}");
    }
    assert!(found.memory_usage() < 64 << 20, "{}", found.memory_usage());
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
