//! redb, a B-tree in Rust.

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use redb::{
    AccessGuard, Database, Durability, ReadOnlyTable, ReadableDatabase, StorageError, Table, TableDefinition,
};

use bench_worker::data::KEY_SIZE;
use bench_worker::engine::{Engine, Feature, Kind, Row, Scan, Settings, Walked};
use bench_worker::worker;

const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");

/// Without syncs one in this number of transactions is durable: redb reuses the pages of the others only
/// then.
const DURABLE_SHARE: u64 = 1_000;

/// redb with its defaults, except the size of its cache. Without syncs it promises less than the other
/// engines: rows since its last durable commit are lost with the process.
pub struct Redb {
    db: Database,
    sync: bool,
    commits: AtomicU64,
}

type Entry<'a> = Result<(AccessGuard<'a, &'static [u8]>, AccessGuard<'a, &'static [u8]>), StorageError>;

/// Reads entries until there are no more, or `most` are read.
fn walk<'a>(entries: impl Iterator<Item = Entry<'a>>, most: u64) -> Walked {
    let mut walked = Walked::default();
    for entry in entries.take(usize::try_from(most).unwrap_or(usize::MAX)) {
        let (key, value) = entry.expect("scan");
        walked.take(key.value(), value.value());
    }
    walked
}

impl Redb {
    fn write(&self, durable: bool, change: impl FnOnce(&mut Table<'_, &[u8], &[u8]>)) {
        let mut txn = self.db.begin_write().expect("begin a write");
        let durability = match durable {
            true => Durability::Immediate,
            false => Durability::None,
        };
        txn.set_durability(durability).expect("a durability");
        change(&mut txn.open_table(ROWS).expect("open the table"));
        txn.commit().expect("commit");
    }

    /// Changes rows, as durable as the settings require.
    fn change(&self, change: impl FnOnce(&mut Table<'_, &[u8], &[u8]>)) {
        let commits = self.commits.fetch_add(1, Ordering::Relaxed);
        self.write(self.sync || commits.is_multiple_of(DURABLE_SHARE), change);
    }

    fn read(&self) -> ReadOnlyTable<&'static [u8], &'static [u8]> {
        let txn = self.db.begin_read().expect("begin a read");
        txn.open_table(ROWS).expect("open the table")
    }
}

fn len(rows: &ReadOnlyTable<&'static [u8], &'static [u8]>, key: &[u8]) -> Option<usize> {
    rows.get(key).expect("get").map(|value| value.value().len())
}

impl Engine for Redb {
    const LACKS: &'static [Feature] = &[
        Feature::Compression,
        Feature::DirectReads,
        Feature::MemoryMaps,
        Feature::Log,
        Feature::Compaction,
    ];

    fn open(dir: &Path, settings: &Settings) -> Redb {
        let mut builder = Database::builder();
        builder.set_cache_size(settings.cache_size);
        let redb = Redb {
            db: builder.create(dir.join("redb")).expect("open redb"),
            sync: settings.sync,
            commits: AtomicU64::new(0),
        };
        redb.write(true, |_| ()); // creates the table
        redb
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        self.change(|rows| {
            rows.insert(key, value).expect("put");
        });
    }

    fn put_all(&self, batch: &[Row<'_>]) {
        self.change(|rows| {
            for (key, value) in batch {
                rows.insert(&key[..], *value).expect("put");
            }
        });
    }

    fn get(&self, key: &[u8]) -> Option<usize> {
        len(&self.read(), key)
    }

    /// Reads the keys in one transaction.
    fn multi_get(&self, keys: &[[u8; KEY_SIZE]]) -> u64 {
        let rows = self.read();
        keys.iter()
            .filter(|key| black_box(len(&rows, &key[..])).is_some())
            .count() as u64
    }

    /// Removes each key, in one transaction: redb has no range tombstones.
    fn delete_range(&self, from: &[u8], to: &[u8]) {
        self.change(|rows| rows.retain_in(from..to, |_, _| false).expect("delete range"));
    }

    fn scan(&self, scan: Scan<'_>, most: u64) -> Walked {
        let rows = self.read();
        match scan {
            Scan::Forward => walk(rows.range::<&[u8]>(..).expect("scan"), most),
            Scan::Backward => walk(rows.range::<&[u8]>(..).expect("scan").rev(), most),
            Scan::From(key) => walk(rows.range(key..).expect("scan"), most),
            Scan::BackFrom(key) => walk(rows.range(..=key).expect("scan").rev(), most),
        }
    }

    fn flush(&self) {
        self.write(true, |_| ());
    }

    /// Returns at once: a B-tree has one level.
    fn compact(&self) {}

    /// Returns at once: redb has no background work.
    fn settle(&self) {}

    /// `None`: redb does not count the bytes that it writes.
    fn write_amplification(&self) -> Option<f64> {
        None
    }

    fn live_file_bytes(&self) -> Option<u64> {
        let txn = self.db.begin_write().ok()?;
        let stats = txn.stats().ok()?;
        Some((stats.leaf_pages() + stats.branch_pages()) * stats.page_size() as u64)
    }
}

fn main() -> ExitCode {
    worker::main(|kind| match kind {
        Kind::Redb => Some(worker::run::<Redb>),
        _ => None,
    })
}
