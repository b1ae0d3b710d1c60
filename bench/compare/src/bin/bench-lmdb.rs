//! LMDB, a B-tree in a memory map, through the crate `heed`.

use std::hint::black_box;
use std::ops::Bound;
use std::path::Path;
use std::process::ExitCode;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, RoTxn, WithTls};

use bench_worker::data::KEY_SIZE;
use bench_worker::engine::{Engine, Feature, Kind, Row, Scan, Settings, Walked};
use bench_worker::worker;

/// The largest size of a database, in bytes. The file grows to the size of its data alone.
const MAP_SIZE: usize = 64 << 30;

/// LMDB with its defaults. Its cache is the kernel's. Without syncs each commit still passes its pages to the
/// kernel, so that they survive the death of the process.
pub struct Lmdb {
    env: Env,
    rows: Database<'static, Bytes, Bytes>,
}

impl Lmdb {
    fn read(&self) -> RoTxn<'_, WithTls> {
        self.env.read_txn().expect("begin a read")
    }

    fn len(&self, txn: &RoTxn<'_>, key: &[u8]) -> Option<usize> {
        self.rows.get(txn, key).expect("get").map(<[u8]>::len)
    }
}

/// Reads entries until there are no more, or `most` are read.
fn walk<'a>(entries: impl Iterator<Item = heed::Result<(&'a [u8], &'a [u8])>>, most: u64) -> Walked {
    let mut walked = Walked::default();
    for entry in entries.take(usize::try_from(most).unwrap_or(usize::MAX)) {
        let (key, value) = entry.expect("scan");
        walked.take(key, value);
    }
    walked
}

impl Engine for Lmdb {
    const LACKS: &'static [Feature] = &[
        Feature::Compression,
        Feature::DirectReads,
        Feature::Log,
        Feature::Compaction,
    ];

    fn open(dir: &Path, settings: &Settings) -> Lmdb {
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP_SIZE).max_readers(128);
        if !settings.sync {
            // SAFETY: a loss of power may then damage the database, which a benchmark accepts.
            unsafe { options.flags(EnvFlags::NO_SYNC) };
        }
        // SAFETY: no other program changes the mapped file: the directory is this run's own.
        let env = unsafe { options.open(dir) }.expect("open lmdb");
        let txn = env.write_txn().expect("begin a write");
        let created = env.create_databases_and_commit(txn, |opener, txn| {
            let rows = opener.create_database::<Bytes, Bytes>(txn, None)?;
            heed::Result::Ok(CommitOrAbort::<_, ()>::Commit(rows))
        });
        let rows = created.expect("create the tree").unwrap_commit();
        Lmdb { env, rows }
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        let mut txn = self.env.write_txn().expect("begin a write");
        self.rows.put(&mut txn, key, value).expect("put");
        txn.commit().expect("commit");
    }

    fn put_all(&self, rows: &[Row<'_>]) {
        let mut txn = self.env.write_txn().expect("begin a write");
        for (key, value) in rows {
            self.rows.put(&mut txn, key, value).expect("put");
        }
        txn.commit().expect("commit");
    }

    fn get(&self, key: &[u8]) -> Option<usize> {
        self.len(&self.read(), key)
    }

    /// Reads the keys in one transaction.
    fn multi_get(&self, keys: &[[u8; KEY_SIZE]]) -> u64 {
        let txn = self.read();
        keys.iter()
            .filter(|key| black_box(self.len(&txn, &key[..])).is_some())
            .count() as u64
    }

    /// Removes each key, in one transaction: LMDB has no range tombstones.
    fn delete_range(&self, from: &[u8], to: &[u8]) {
        let mut txn = self.env.write_txn().expect("begin a write");
        let range = (Bound::Included(from), Bound::Excluded(to));
        self.rows.delete_range(&mut txn, &range).expect("delete range");
        txn.commit().expect("commit");
    }

    fn scan(&self, scan: Scan<'_>, most: u64) -> Walked {
        let txn = self.read();
        match scan {
            Scan::Forward => walk(self.rows.iter(&txn).expect("scan"), most),
            Scan::Backward => walk(self.rows.rev_iter(&txn).expect("scan"), most),
            Scan::From(key) => {
                let range = (Bound::Included(key), Bound::Unbounded);
                walk(self.rows.range(&txn, &range).expect("scan"), most)
            }
            Scan::BackFrom(key) => {
                let range = (Bound::Unbounded, Bound::Included(key));
                walk(self.rows.rev_range(&txn, &range).expect("scan"), most)
            }
        }
    }

    fn flush(&self) {
        self.env.force_sync().expect("sync");
    }

    /// Returns at once: a B-tree has one level.
    fn compact(&self) {}

    /// Returns at once: LMDB has no background work.
    fn settle(&self) {}

    /// `None`: LMDB does not count the bytes that it writes.
    fn write_amplification(&self) -> Option<f64> {
        None
    }

    fn live_file_bytes(&self) -> Option<u64> {
        let stat = self.rows.stat(&self.read()).ok()?;
        let pages = stat.branch_pages + stat.leaf_pages + stat.overflow_pages;
        Some(pages as u64 * u64::from(stat.page_size))
    }
}

fn main() -> ExitCode {
    worker::main(|kind| match kind {
        Kind::Lmdb => Some(worker::run::<Lmdb>),
        _ => None,
    })
}
