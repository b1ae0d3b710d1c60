//! Counters, under RocksDB's names. Counting is off unless asked for; stalls, bytes of jobs, and bytes written are always
//! counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cache::SecondaryTally;
use compact::stall::{StallCause, StallCondition};
use crossbeam_utils::CachePadded;

macro_rules! tickers {
    ($( $(#[$doc:meta])+ $ticker:ident = $name:literal; )+) => {
        /// Something counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Ticker {
            $( $(#[$doc])+ $ticker, )+
        }

        impl Ticker {
            /// Every ticker.
            pub const ALL: &'static [Ticker] = &[$(Ticker::$ticker),+];

            /// RocksDB's name.
            pub fn name(self) -> &'static str {
                match self {
                    $( Ticker::$ticker => $name, )+
                }
            }
        }
    };
}

tickers! {
    /// Rows written.
    KeysWritten = "rocksdb.number.keys.written";
    /// Gets.
    KeysRead = "rocksdb.number.keys.read";
    /// Bytes of write batches: keys, values, and what tells them apart. Always counted.
    BytesWritten = "rocksdb.bytes.written";
    /// Bytes of values that Gets returned.
    BytesRead = "rocksdb.bytes.read";
    /// Gets answered by a memtable.
    MemtableHit = "rocksdb.memtable.hit";
    /// Gets that no memtable answered.
    MemtableMiss = "rocksdb.memtable.miss";
    /// Searches of a memtable by Gets that its filter could not spare: RocksDB's `bloom_memtable_hit_count`.
    MemtableFilterHit = "esker.bloom.memtable.hit";
    /// Those it spared: `bloom_memtable_miss_count`.
    MemtableFilterMiss = "esker.bloom.memtable.miss";
    /// Gets answered by L0.
    GetHitL0 = "rocksdb.l0.hit";
    /// Gets answered by L1.
    GetHitL1 = "rocksdb.l1.hit";
    /// Gets answered below L1.
    GetHitL2AndUp = "rocksdb.l2andup.hit";
    /// Bytes appended to WALs, headers of records among them. Always counted.
    WalBytes = "rocksdb.wal.bytes";
    /// Syncs of the WAL, each for all writes that waited for it. Always counted.
    WalSynced = "rocksdb.wal.synced";
    /// Writes without WAL or with it.
    WriteDone = "rocksdb.write.self";
    /// Microseconds writers were held back.
    StallMicros = "rocksdb.stall.micros";
    /// Bytes flushes wrote.
    FlushWriteBytes = "rocksdb.flush.write.bytes";
    /// Bytes compactions read.
    CompactReadBytes = "rocksdb.compact.read.bytes";
    /// Bytes compactions wrote.
    CompactWriteBytes = "rocksdb.compact.write.bytes";
    /// Iterators made.
    IteratorsCreated = "rocksdb.num.iterator.created";
    /// Seeks.
    Seeks = "rocksdb.number.db.seek";
    /// Files moved down a level as they are.
    TrivialMoves = "rocksdb.compaction.trivial.moves";
    /// Bytes of them.
    TrivialMoveBytes = "rocksdb.compaction.trivial.move.bytes";
    /// Blocks that came back from a block cache's secondary cache. Always counted, as all that follow.
    SecondaryCacheHits = "rocksdb.secondary.cache.hits";
    /// Filters among them.
    SecondaryCacheFilterHits = "rocksdb.secondary.cache.filter.hits";
    /// Indexes among them.
    SecondaryCacheIndexHits = "rocksdb.secondary.cache.index.hits";
    /// Data blocks among them.
    SecondaryCacheDataHits = "rocksdb.secondary.cache.data.hits";
    /// Lookups in a secondary cache that found no more than that the block was evicted before.
    CompressedSecondaryCacheDummyHits = "rocksdb.compressed.secondary.cache.dummy.hits";
    /// Lookups in a secondary cache that found the block.
    CompressedSecondaryCacheHits = "rocksdb.compressed.secondary.cache.hits";
}

/// The counters of one database.
pub struct Stats {
    enabled: bool,
    tickers: Vec<CachePadded<AtomicU64>>,
    /// Delays and stops, by cause.
    stalls: [[StallCounter; 3]; 2],
    /// What the database's tables had back from secondary caches, which they count.
    pub(crate) secondary: Arc<SecondaryTally>,
}

/// How often writers waited for one reason, and how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallTotal {
    /// Waits.
    pub count: u64,
    /// Microseconds they took together.
    pub micros: u64,
}

#[derive(Default)]
struct StallCounter {
    count: AtomicU64,
    micros: AtomicU64,
}

impl Stats {
    pub(crate) fn new(enabled: bool) -> Stats {
        Stats {
            enabled,
            tickers: Ticker::ALL.iter().map(|_| CachePadded::default()).collect(),
            stalls: Default::default(),
            secondary: Arc::default(),
        }
    }

    /// Counts `amount`, if counting is on.
    #[inline]
    pub(crate) fn count(&self, ticker: Ticker, amount: u64) {
        if self.enabled {
            self.add(ticker, amount);
        }
    }

    /// Counts `amount` whether counting is on or not: for what happens seldom.
    pub(crate) fn add(&self, ticker: Ticker, amount: u64) {
        self.tickers[ticker as usize].fetch_add(amount, Ordering::Relaxed);
    }

    /// What `ticker` counted since the database was opened.
    pub fn get(&self, ticker: Ticker) -> u64 {
        match ticker {
            Ticker::SecondaryCacheHits | Ticker::CompressedSecondaryCacheHits => self.secondary.hits(),
            Ticker::SecondaryCacheFilterHits => self.secondary.filter_hits(),
            Ticker::SecondaryCacheIndexHits => self.secondary.index_hits(),
            Ticker::SecondaryCacheDataHits => self.secondary.data_hits(),
            Ticker::CompressedSecondaryCacheDummyHits => self.secondary.dummy_hits(),
            _ => self.tickers[ticker as usize].load(Ordering::Relaxed),
        }
    }

    /// Counts `amount` whether counting is on or not, for half of what [`add`](Stats::add) costs. The caller holds a lock
    /// that whoever else counts `ticker` holds as well.
    #[inline]
    pub(crate) fn add_locked(&self, ticker: Ticker, amount: u64) {
        let counter = &self.tickers[ticker as usize];
        counter.store(counter.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
    }

    pub(crate) fn stalled(&self, condition: StallCondition, waited: Duration) {
        let micros = waited.as_micros() as u64;
        self.add(Ticker::StallMicros, micros);
        if let Some(counter) = self.stall_counter(condition) {
            counter.count.fetch_add(1, Ordering::Relaxed);
            counter.micros.fetch_add(micros, Ordering::Relaxed);
        }
    }

    fn stall_counter(&self, condition: StallCondition) -> Option<&StallCounter> {
        match condition {
            StallCondition::Normal => None,
            StallCondition::Delayed { cause } => Some(&self.stalls[0][cause_index(cause)]),
            StallCondition::Stopped { cause } => Some(&self.stalls[1][cause_index(cause)]),
        }
    }

    /// How often and how long writers waited in `condition`; nothing for [`StallCondition::Normal`].
    pub fn stall(&self, condition: StallCondition) -> StallTotal {
        self.stall_counter(condition)
            .map_or(StallTotal::default(), |counter| StallTotal {
                count: counter.count.load(Ordering::Relaxed),
                micros: counter.micros.load(Ordering::Relaxed),
            })
    }

    /// Microseconds writers waited for `cause`, delayed or stopped.
    pub fn stall_micros(&self, cause: StallCause) -> u64 {
        self.stall(StallCondition::Delayed { cause }).micros
            + self.stall(StallCondition::Stopped { cause }).micros
    }

    /// One line a ticker, as RocksDB prints them.
    pub fn text(&self) -> String {
        Ticker::ALL
            .iter()
            .map(|&ticker| format!("{} COUNT : {}\n", ticker.name(), self.get(ticker)))
            .collect()
    }
}

fn cause_index(cause: StallCause) -> usize {
    match cause {
        StallCause::MemtableLimit => 0,
        StallCause::L0FileCountLimit => 1,
        StallCause::PendingCompactionBytes => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_told_apart() {
        let stats = Stats::new(false);
        let delayed = |cause| StallCondition::Delayed { cause };
        let stopped = |cause| StallCondition::Stopped { cause };
        stats.stalled(delayed(StallCause::L0FileCountLimit), Duration::from_micros(5));
        stats.stalled(delayed(StallCause::L0FileCountLimit), Duration::from_micros(6));
        stats.stalled(stopped(StallCause::L0FileCountLimit), Duration::from_micros(7));
        stats.stalled(stopped(StallCause::MemtableLimit), Duration::from_micros(1));
        stats.stalled(StallCondition::Normal, Duration::from_micros(100));
        let total = |count, micros| StallTotal { count, micros };
        assert_eq!(stats.stall(delayed(StallCause::L0FileCountLimit)), total(2, 11));
        assert_eq!(stats.stall(stopped(StallCause::L0FileCountLimit)), total(1, 7));
        assert_eq!(stats.stall(delayed(StallCause::MemtableLimit)), total(0, 0));
        assert_eq!(stats.stall(StallCondition::Normal), total(0, 0));
        assert_eq!(stats.stall_micros(StallCause::L0FileCountLimit), 18);
        assert_eq!(stats.stall_micros(StallCause::MemtableLimit), 1);
        assert_eq!(stats.stall_micros(StallCause::PendingCompactionBytes), 0);
    }
}
