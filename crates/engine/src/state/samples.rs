//! The counters of a database at earlier moments, with which reports compare the current counters.

use std::collections::BTreeMap;
use std::time::Duration;

use base::statistics::{Statistics, Ticker};
use base::sync::Mutex;

/// The state of the database's reports, which only the modules of `report` use.
#[derive(Default)]
pub(crate) struct ReportSide {
    /// Samples of the counters, with which later values are compared for statistics.
    pub samples: Mutex<Samples>,
    /// The recorded history of the tickers.
    pub history: Mutex<StatsHistory>,
}

/// The counters of a whole database at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// The time since the database was opened.
    pub at: Duration,
    /// The sequence number of the last row.
    pub sequence: u64,
    pub writes: u64,
    pub bytes: u64,
    pub wal_writes: u64,
    pub wal_syncs: u64,
    pub wal_bytes: u64,
    pub stall_micros: u64,
}

/// Earlier samples, with which later samples are compared: that of the open or the last reset, and that of
/// the last dump.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Samples {
    pub opened: Sample,
    pub dumped: Sample,
}

/// The state of the history: the last sample, and the entries in memory.
#[derive(Default)]
pub(crate) struct StatsHistory {
    /// The values of all tickers at the last sample.
    pub last: Option<Vec<u64>>,
    /// The increases of the tickers by the time of their sample, if they are kept in memory.
    pub rises: BTreeMap<u64, Vec<u64>>,
}

impl StatsHistory {
    /// Samples the tickers and returns their increases since the last sample; `None` for the first.
    pub fn look(&mut self, statistics: &Statistics) -> Option<Vec<u64>> {
        let now: Vec<u64> = Ticker::ALL
            .iter()
            .map(|&ticker| statistics.get_ticker_count(ticker))
            .collect();
        let last = self.last.replace(now.clone())?;
        // A reset sets tickers back to 0.
        Some(
            now.iter()
                .zip(last)
                .map(|(now, last)| now.saturating_sub(last))
                .collect(),
        )
    }

    /// The approximate memory of one sample in bytes.
    const ENTRY: usize = Ticker::ALL.len() * size_of::<u64>() + 64;

    /// Adds an entry in memory, and drops the oldest entries beyond `limit` bytes.
    pub fn keep(&mut self, time: u64, rises: Vec<u64>, limit: usize) {
        self.rises.insert(time, rises);
        while self.rises.len() * StatsHistory::ENTRY > limit {
            self.rises.pop_first();
        }
    }
}
