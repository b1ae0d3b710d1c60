mod copy;
mod formats;
mod oracle;
mod parallel;
mod rewrite;
mod shapes;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{InternalComparator, Kind, UserComparator, internal_key};
use codec::{ChecksumType, CompressionType};
use tempfile::TempDir;
use testkit::TestRng;
use vfs::{CreateOptions, FileSystem, OpenOptions, PosixFs};

use super::*;
use crate::filter::FilterPolicy;
use crate::lookup_key::LookupKey;
use crate::read_options::{BlockReadOptions, TableReadOptions};
use crate::reader::Table;

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn bytewise() -> InternalComparator {
    InternalComparator::new(UserComparator::Bytewise)
}

/// Options with small blocks, so that small tables have many of them, a filter, and the names that a table of
/// a database has.
fn options(cmp: InternalComparator) -> TableWriterOptions {
    TableWriterOptions {
        block_size: 512,
        filter: FilterPolicy::Bloom(10.0),
        cf_id: 0,
        cf_name: b"default".to_vec(),
        db_id: "a database".into(),
        session_id: "ABCDEFGHIJKLMNOPQRST".into(),
        file_number: 7,
        creation_time: 1_700_000_000,
        file_creation_time: 1_700_000_001,
        ..TableWriterOptions::new(cmp)
    }
}

/// A file in a directory of its own, which is removed when this value is dropped.
struct Scratch {
    dir: TempDir,
}

impl Scratch {
    fn new() -> Scratch {
        Scratch {
            dir: TempDir::new().unwrap(),
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("000007.sst")
    }

    fn writer(&self, options: TableWriterOptions) -> TableWriter {
        writer_at(&self.path(), options)
    }

    fn write(&self, options: TableWriterOptions, entries: &Entries) -> TableSummary {
        let mut writer = self.writer(options);
        for (key, value) in entries {
            writer.add(key, value).unwrap();
        }
        writer.finish().unwrap()
    }

    fn open(&self, cmp: InternalComparator) -> Arc<Table> {
        open(&self.path(), TableReadOptions::new(cmp))
    }
}

fn writer_at(path: &Path, options: TableWriterOptions) -> TableWriter {
    let file = PosixFs::new().create(path, &CreateOptions::default()).unwrap();
    TableWriter::new(file, options).unwrap()
}

fn open(path: &Path, options: TableReadOptions) -> Arc<Table> {
    let file = PosixFs::new().open_random(path, &OpenOptions::default()).unwrap();
    Table::open(file, options).unwrap()
}

fn scan(table: &Arc<Table>) -> Entries {
    let mut cursor = table.cursor(BlockReadOptions::default());
    let mut entries = Vec::new();
    cursor.seek_to_first();
    while cursor.valid() {
        entries.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.next();
    }
    cursor.status().unwrap();
    entries
}

/// Panics unless every checksum of the table is right.
fn verify(table: &Table) {
    table
        .verify(0, &mut |check| {
            if let Err(error) = &check.result {
                panic!("{} at {}: {error}", check.what, check.offset);
            }
        })
        .unwrap();
}

/// The newest version of a key in a table; the lookup asks the filter first.
fn get(table: &Table, user_key: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let key = LookupKey::new(user_key, base::MAX_SEQNO, table.comparator().user());
    let mut found = None;
    table
        .get(&key, &BlockReadOptions::default(), &mut |internal_key, value| {
            found = Some((internal_key.to_vec(), value.bytes().to_vec()));
            std::ops::ControlFlow::Break(())
        })
        .unwrap();
    found
}

/// Entries of every kind: several versions of some keys, values that compress and values that do not.
fn sample(rng: &mut TestRng, keys: usize) -> Entries {
    let kinds = [
        Kind::Value,
        Kind::Value,
        Kind::Value,
        Kind::Deletion,
        Kind::SingleDeletion,
        Kind::Merge,
        Kind::BlobIndex,
        Kind::WideColumnEntity,
    ];
    let mut entries = Vec::new();
    let mut seqno = keys as u64 * 4;
    for i in 0..keys {
        let key = format!("key{:06}{}", i * 3, "x".repeat(i % 5));
        for _ in 0..1 + usize::from(rng.one_in(8)) * rng.usize(..30) {
            seqno -= 1;
            let kind = *rng.pick(&kinds);
            let len = rng.usize(..60);
            let value = if kind == Kind::Deletion || kind == Kind::SingleDeletion {
                Vec::new()
            } else if rng.bool() {
                rng.bytes(len)
            } else {
                format!("value{i}").repeat(len / 6).into_bytes()
            };
            entries.push((
                internal_key::encode(key.as_bytes(), seqno % (1 << 40), kind),
                value,
            ));
            seqno = seqno.max(1);
        }
        seqno = keys as u64 * 4 - i as u64;
    }
    let cmp = bytewise();
    entries.sort_by(|a, b| cmp.compare(&a.0, &b.0));
    entries.dedup_by(|a, b| a.0 == b.0);
    entries
}

fn supported_compressions() -> impl Iterator<Item = CompressionType> {
    CompressionType::ALL.into_iter().filter(|ty| ty.is_supported())
}

#[test]
fn every_version_checksum_and_compression_is_read_back() {
    let mut rng = testkit::rng();
    let entries = sample(&mut rng, 200);
    let user_keys: Vec<&[u8]> = entries.iter().map(|entry| user_key(&entry.0)).collect();
    for format_version in 2..=7 {
        for checksum in ChecksumType::ALL {
            for compression in supported_compressions() {
                let scratch = Scratch::new();
                let mut writer = scratch.writer(TableWriterOptions {
                    format_version,
                    checksum,
                    compression,
                    ..options(bytewise())
                });
                for (key, value) in &entries {
                    writer.add(key, value).unwrap();
                }
                writer.add_range_tombstone(b"key000100", b"key000200", 5).unwrap();
                let estimate = writer.file_size();
                let summary = writer.finish().unwrap();
                assert_eq!(summary.file_size, scratch.path().metadata().unwrap().len());
                assert!(estimate < summary.file_size + 4096 && summary.file_size < estimate + 4096);

                let table = scratch.open(bytewise());
                assert_eq!(table.properties(), &summary.properties);
                assert_eq!(
                    scan(&table),
                    entries,
                    "{format_version} {checksum:?} {compression:?}"
                );
                assert_eq!(table.range_tombstones().len(), 1);
                verify(&table);
                for &user_key in user_keys.iter().step_by(17) {
                    let first = entries
                        .iter()
                        .find(|entry| internal_key::user_key(&entry.0) == user_key);
                    assert_eq!(get(&table, user_key).as_ref(), first);
                }
                assert_eq!(get(&table, b"absent"), None);
            }
        }
    }
}

#[test]
fn random_tables_round_trip() {
    let mut rng = testkit::rng();
    for round in 0..60 {
        let keys = rng.usize(..300);
        let entries = sample(&mut rng, keys);
        let scratch = Scratch::new();
        let block_align = rng.one_in(4);
        let written = TableWriterOptions {
            format_version: rng.u32(2..=7),
            checksum: *rng.pick(&ChecksumType::ALL),
            compression: if block_align {
                CompressionType::None
            } else {
                *rng.pick(&supported_compressions().collect::<Vec<_>>())
            },
            enable_index_compression: rng.bool(),
            block_align,
            block_size: if block_align {
                256 << rng.u32(..6)
            } else {
                rng.usize(1..3000)
            },
            block_size_deviation: rng.u32(..=100),
            block_restart_interval: rng.usize(1..20),
            index_block_restart_interval: rng.usize(1..20),
            whole_key_filtering: rng.bool(),
            prefix_extractor: rng.bool().then(|| base::prefix::builtin("fixed:8").unwrap()),
            ..options(bytewise())
        };
        let summary = scratch.write(written, &entries);
        let table = scratch.open(bytewise());
        assert_eq!(scan(&table), entries, "round {round}");
        verify(&table);
        assert_eq!(table.properties(), &summary.properties);
        assert_eq!(summary.properties.num_entries, entries.len() as u64);
        if let (Some(first), Some(last)) = (entries.first(), entries.last()) {
            assert_eq!((&summary.smallest, &summary.largest), (&first.0, &last.0));
            let seqnos = entries.iter().map(|entry| internal_key::seqno(&entry.0));
            assert_eq!(Some(summary.smallest_seqno), seqnos.clone().min());
            assert_eq!(Some(summary.largest_seqno), seqnos.max());
        }
    }
}
