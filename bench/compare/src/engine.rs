//! The interface that is compared: the few operations that the workloads need, over each engine, with the
//! same settings.
//!
//! All engines have the same size of block cache and memtable, the same durability and two background threads
//! or jobs; all LSM trees but `rocksdb-default` have LZ4 and Bloom filters of 10 bits per key. Without
//! `--sync` a write survives the death of the process and no power loss: each engine but redb passes it to
//! the kernel.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::data::KEY_SIZE;
use crate::transaction::{Control, Transactions};

/// The settings of all engines.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The size of the block cache in bytes.
    pub cache_size: usize,
    /// The size of a memtable in bytes.
    pub write_buffer_size: usize,
    /// Compress blocks with LZ4.
    pub lz4: bool,
    /// Aligns data blocks to pages (`block_align`).
    pub block_align: bool,
    /// The bits per key of the Bloom filters.
    pub bloom_bits: f64,
    /// Syncs every write.
    pub sync: bool,
    /// Reads bypass the page cache.
    pub direct: bool,
    /// Reads use memory maps of the files.
    pub mmap: bool,
    /// Compacts only on request; engines other than Esker and RocksDB ignore this option.
    pub disable_auto_compactions: bool,
}

/// The result of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// The number of rows.
    pub entries: u64,
    /// The bytes of keys and values.
    pub bytes: u64,
}

impl Walked {
    /// Reads an entry and counts it.
    #[inline]
    pub fn take(&mut self, key: &[u8], value: &[u8]) {
        let (key, value) = std::hint::black_box((key.len(), value.len()));
        self.entries += 1;
        self.bytes += (key + value) as u64;
    }
}

/// The start and the direction of a scan.
#[derive(Clone, Copy, Debug)]
pub enum Scan<'a> {
    /// The scan goes forwards from the first key.
    Forward,
    /// The scan goes backwards from the last key.
    Backward,
    /// The scan goes forwards from the first key at or after this key.
    From(&'a [u8]),
    /// The scan goes backwards from the last key at or before this key.
    BackFrom(&'a [u8]),
}

/// A feature that not every engine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Compressed data.
    Compression,
    /// Reads that bypass the page cache.
    DirectReads,
    /// The choice to read through memory maps.
    MemoryMaps,
    /// A log that an open reads back.
    Log,
    /// The levels of an LSM-tree that were compacted.
    Compaction,
}

impl fmt::Display for Feature {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Feature::Compression => "compression: pass --no-compression",
            Feature::DirectReads => "direct reads",
            Feature::MemoryMaps => "reads through memory maps",
            Feature::Log => "log to recover from",
            Feature::Compaction => "compaction",
        })
    }
}

/// A key and its value.
pub type Row<'a> = ([u8; KEY_SIZE], &'a [u8]);

/// An open engine.
pub trait Engine: Sized + Sync {
    /// The features that the engine lacks: a run that needs one is refused.
    const LACKS: &'static [Feature] = &[];
    /// Opens or creates the database in `dir`.
    fn open(dir: &Path, settings: &Settings) -> Self;
    /// Opens or creates the database in `dir` for transactions with concurrency control `control`, if the
    /// engine has them.
    fn transactions(_dir: &Path, _settings: &Settings, _control: Control) -> Option<Box<dyn Transactions>> {
        None
    }
    /// Puts a row, as durable as the settings require.
    fn put(&self, key: &[u8], value: &[u8]);
    /// Puts rows in one batch or transaction, as durable as the settings require.
    fn put_all(&self, rows: &[Row<'_>]);
    /// Reads a key, without a copy if the engine can, and returns the length of the value.
    fn get(&self, key: &[u8]) -> Option<usize>;
    /// The number of the keys that have a value; the values are read as by [`get`](Engine::get).
    fn multi_get(&self, keys: &[[u8; KEY_SIZE]]) -> u64;
    /// Deletes the keys from `from` to before `to`.
    fn delete_range(&self, from: &[u8], to: &[u8]);
    /// Walks up to `most` entries with an iterator of its own, reads key and value of each, and counts them.
    fn scan(&self, scan: Scan<'_>, most: u64) -> Walked;
    /// Writes the memtables to tables.
    fn flush(&self);
    /// Compacts everything, including the last level.
    fn compact(&self);
    /// Returns when there is no background work left.
    fn settle(&self);
    /// The bytes that flushes and compactions wrote, divided by the bytes flushed, by the engine's own count,
    /// if it has one.
    fn write_amplification(&self) -> Option<f64>;
    /// The bytes of the files with the engine's data, without WALs and files that only wait for their
    /// deletion.
    fn live_file_bytes(&self) -> Option<u64>;
}

/// The engines, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Esker with its defaults.
    Esker,
    /// RocksDB with settings of an expert.
    RocksDbTuned,
    /// RocksDB with its defaults.
    RocksDbDefault,
    /// fjall, another LSM tree in Rust.
    Fjall,
    /// The B-tree in a memory map.
    Lmdb,
    /// redb, a B-tree in Rust.
    Redb,
    /// No engine: the file system alone.
    Device,
}

const KINDS: &[(&str, Kind)] = &[
    ("esker", Kind::Esker),
    ("rocksdb-tuned", Kind::RocksDbTuned),
    ("rocksdb-default", Kind::RocksDbDefault),
    ("fjall", Kind::Fjall),
    ("lmdb", Kind::Lmdb),
    ("redb", Kind::Redb),
    ("device", Kind::Device),
];

impl Kind {
    /// The program that runs workloads over the engine.
    pub fn program(self) -> &'static str {
        match self {
            Kind::Esker => "bench-esker",
            Kind::RocksDbTuned | Kind::RocksDbDefault => "bench-rocksdb",
            Kind::Fjall => "bench-fjall",
            Kind::Lmdb => "bench-lmdb",
            Kind::Redb => "bench-redb",
            Kind::Device => "bench-device",
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Kind, String> {
        let found = KINDS.iter().find(|(known, _)| *known == name);
        found.map(|(_, kind)| *kind).ok_or_else(|| {
            let names: Vec<&str> = KINDS.iter().map(|(known, _)| *known).collect();
            format!("unknown engine {name:?}; there are {}", names.join(", "))
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = KINDS.iter().find(|(_, kind)| kind == self);
        out.write_str(found.map_or("", |(name, _)| name))
    }
}
