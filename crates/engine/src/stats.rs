//! Counters, under RocksDB's names. Counting is off unless asked for; stalls and bytes of jobs are always counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

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
    /// Bytes of keys and values written.
    BytesWritten = "rocksdb.bytes.written";
    /// Bytes of values that Gets returned.
    BytesRead = "rocksdb.bytes.read";
    /// Gets answered by a memtable.
    MemtableHit = "rocksdb.memtable.hit";
    /// Gets that no memtable answered.
    MemtableMiss = "rocksdb.memtable.miss";
    /// Gets answered by L0.
    GetHitL0 = "rocksdb.l0.hit";
    /// Gets answered by L1.
    GetHitL1 = "rocksdb.l1.hit";
    /// Gets answered below L1.
    GetHitL2AndUp = "rocksdb.l2andup.hit";
    /// Bytes appended to WALs.
    WalBytes = "rocksdb.wal.bytes";
    /// Syncs of the WAL.
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
}

/// The counters of one database.
pub struct Stats {
    enabled: bool,
    tickers: Vec<CachePadded<AtomicU64>>,
    /// Microseconds writers waited, by cause.
    stalls: [AtomicU64; 3],
}

impl Stats {
    pub(crate) fn new(enabled: bool) -> Stats {
        Stats {
            enabled,
            tickers: Ticker::ALL.iter().map(|_| CachePadded::default()).collect(),
            stalls: Default::default(),
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
        self.tickers[ticker as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn stalled(&self, condition: StallCondition, waited: Duration) {
        let micros = waited.as_micros() as u64;
        self.add(Ticker::StallMicros, micros);
        if let StallCondition::Delayed { cause } | StallCondition::Stopped { cause } = condition {
            self.stalls[cause_index(cause)].fetch_add(micros, Ordering::Relaxed);
        }
    }

    /// Microseconds writers waited for `cause`.
    pub fn stall_micros(&self, cause: StallCause) -> u64 {
        self.stalls[cause_index(cause)].load(Ordering::Relaxed)
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
