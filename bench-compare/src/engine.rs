//! What is compared: the few operations the workloads need, over each engine, with the same settings.
//!
//! All engines get the same bytes of block cache and of memtable, the same durability and two background threads or
//! jobs; all but `rocksdb-default` get LZ4 and Bloom filters of 10 bits a key. Without `--sync` a write survives the
//! death of the process and not that of the machine: RocksDB and fjall hand it to the kernel, and so does Esker.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::data::KEY_SIZE;
use crate::transaction::{Control, Transactions};

/// Settings all engines get.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of block cache.
    pub cache_size: usize,
    /// Bytes of a memtable.
    pub write_buffer_size: usize,
    /// Compress blocks with LZ4.
    pub lz4: bool,
    /// No data block lies in more pages than it has to.
    pub block_align: bool,
    /// Bits a key of the Bloom filters.
    pub bloom_bits: f64,
    /// Sync every write.
    pub sync: bool,
    /// Read past the page cache.
    pub direct: bool,
    /// Read through mappings of the files.
    pub mmap: bool,
    /// Compact nothing unless asked to; fjall and the device take no notice.
    pub disable_auto_compactions: bool,
}

/// What a scan came by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Rows.
    pub entries: u64,
    /// Of keys and values.
    pub bytes: u64,
}

impl Walked {
    /// Looks at an entry and counts it.
    #[inline]
    pub fn take(&mut self, key: &[u8], value: &[u8]) {
        let (key, value) = std::hint::black_box((key.len(), value.len()));
        self.entries += 1;
        self.bytes += (key + value) as u64;
    }
}

/// Where a scan begins and which way it goes.
#[derive(Clone, Copy, Debug)]
pub enum Scan<'a> {
    /// From the first key on.
    Forward,
    /// From the last key back.
    Backward,
    /// From the first key at or behind this one.
    From(&'a [u8]),
    /// From the last key at or before this one, back.
    BackFrom(&'a [u8]),
}

/// An engine, opened.
pub trait Engine: Sized + Sync {
    /// Opens or creates the database in `dir`.
    fn open(dir: &Path, settings: &Settings) -> Self;
    /// The database in `dir`, opened or created for transactions of that kind, if the engine has them.
    fn transactions(_dir: &Path, _settings: &Settings, _control: Control) -> Option<Box<dyn Transactions>> {
        None
    }
    /// Puts a row, as durable as the settings say.
    fn put(&self, key: &[u8], value: &[u8]);
    /// Length of the value, looked at without a copy where the engine can.
    fn get(&self, key: &[u8]) -> Option<usize>;
    /// How many of the keys have a value; the values looked at as by [`get`](Engine::get).
    fn multi_get(&self, keys: &[[u8; KEY_SIZE]]) -> u64;
    /// Deletes the keys from `from` on before `to`.
    fn delete_range(&self, from: &[u8], to: &[u8]);
    /// Walks up to `most` entries with an iterator of its own, looks at key and value of each, and counts them.
    fn scan(&self, scan: Scan<'_>, most: u64) -> Walked;
    /// Brings what is in memtables into tables.
    fn flush(&self);
    /// Compacts everything, the last level too.
    fn compact(&self);
    /// Returns when background work has nothing left to do.
    fn settle(&self);
    /// What flushes and compactions wrote for each byte flushed, by the engine's own count, if it keeps one.
    fn write_amplification(&self) -> Option<f64>;
    /// Bytes of the files its data lie in, WAL and what is only waiting to be deleted left out.
    fn live_file_bytes(&self) -> Option<u64>;
}

/// An engine by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Esker with its defaults.
    Esker,
    /// RocksDB as somebody who knows it would set it up.
    RocksDbTuned,
    /// RocksDB as it comes.
    RocksDbDefault,
    /// The other LSM tree in Rust.
    Fjall,
    /// The file system alone.
    Device,
}

const KINDS: &[(&str, Kind)] = &[
    ("esker", Kind::Esker),
    ("rocksdb-tuned", Kind::RocksDbTuned),
    ("rocksdb-default", Kind::RocksDbDefault),
    ("fjall", Kind::Fjall),
    ("device", Kind::Device),
];

impl Kind {
    /// The program that runs workloads over it.
    pub fn program(self) -> &'static str {
        match self {
            Kind::Esker => "bench-esker",
            Kind::RocksDbTuned | Kind::RocksDbDefault => "bench-rocksdb",
            Kind::Fjall => "bench-fjall",
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
