//! fjall, the other LSM tree in Rust.

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use fjall::config::{BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry};
use fjall::{CompressionType, Database, Guard, Keyspace, KeyspaceCreateOptions, PersistMode};

use bench_worker::data::KEY_SIZE;
use bench_worker::engine::{Engine, Kind, Row, Scan, Settings, Walked};
use bench_worker::worker;

/// fjall with its defaults, except the common settings. Its cache holds blocks, and pins indexes and filters
/// of the upper levels.
pub struct Fjall {
    db: Database,
    keys: Keyspace,
    sync: bool,
}

impl Engine for Fjall {
    fn open(dir: &Path, settings: &Settings) -> Fjall {
        let db = Database::builder(dir)
            .cache_size(settings.cache_size as u64)
            .worker_threads(2)
            .open()
            .expect("open fjall");
        let bloom = BloomConstructionPolicy::BitsPerKey(settings.bloom_bits as f32);
        let compression = if settings.lz4 {
            CompressionType::Lz4
        } else {
            CompressionType::None
        };
        let options = || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(settings.write_buffer_size as u64)
                .filter_policy(FilterPolicy::all(FilterPolicyEntry::Bloom(bloom)))
                .data_block_compression_policy(CompressionPolicy::all(compression))
        };
        let keys = db.keyspace("default", options).expect("open a keyspace");
        Fjall {
            db,
            keys,
            sync: settings.sync,
        }
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        self.keys.insert(key, value).expect("put");
        if self.sync {
            self.db.persist(PersistMode::SyncData).expect("sync");
        }
    }

    fn put_all(&self, rows: &[Row<'_>]) {
        let mut batch = self.db.batch();
        if self.sync {
            batch = batch.durability(Some(PersistMode::SyncData));
        }
        for (key, value) in rows {
            batch.insert(&self.keys, &key[..], *value);
        }
        batch.commit().expect("put");
    }

    fn get(&self, key: &[u8]) -> Option<usize> {
        self.keys.get(key).expect("get").map(|value| value.len())
    }

    /// Reads the keys one after the other, because fjall has no call for several keys.
    fn multi_get(&self, keys: &[[u8; KEY_SIZE]]) -> u64 {
        keys.iter()
            .filter(|key| black_box(self.get(&key[..])).is_some())
            .count() as u64
    }

    /// Removes each key: fjall has no range tombstones.
    fn delete_range(&self, from: &[u8], to: &[u8]) {
        let doomed = self.keys.range(from..to).map(|guard| guard.key().expect("scan"));
        for key in doomed.collect::<Vec<_>>() {
            self.keys.remove(key).expect("delete");
        }
    }

    fn scan(&self, scan: Scan<'_>, most: u64) -> Walked {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut walked = Walked::default();
        let look = |guard: Guard| {
            let (key, value) = guard.into_inner().expect("scan");
            walked.take(&key, &value);
        };
        match scan {
            Scan::Forward => self.keys.iter().take(most).for_each(look),
            Scan::Backward => self.keys.iter().rev().take(most).for_each(look),
            Scan::From(key) => self.keys.range(key..).take(most).for_each(look),
            Scan::BackFrom(key) => self.keys.range(..=key).rev().take(most).for_each(look),
        }
        walked
    }

    fn flush(&self) {
        self.keys.rotate_memtable_and_wait().expect("flush");
    }

    fn compact(&self) {
        self.keys.major_compact().expect("compact");
    }

    /// fjall has no call to wait for background work: it counts as idle if it reports so ten times in a row.
    fn settle(&self) {
        let mut idle = 0;
        while idle < 10 {
            let busy = self.db.outstanding_flushes() > 0
                || self.db.active_compactions() > 0
                || self.keys.sealed_memtable_count() > 0;
            idle = if busy { 0 } else { idle + 1 };
            std::thread::park_timeout(Duration::from_millis(2));
        }
    }

    /// `None`: fjall does not count the bytes that it writes.
    fn write_amplification(&self) -> Option<f64> {
        None
    }

    fn live_file_bytes(&self) -> Option<u64> {
        Some(self.keys.disk_space())
    }
}

fn main() -> ExitCode {
    worker::main(|kind| match kind {
        Kind::Fjall => Some(worker::run::<Fjall>),
        _ => None,
    })
}
