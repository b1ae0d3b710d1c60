//! Statistics as they were: how much each ticker rose in each period of
//! [`stats_persist_period_sec`](crate::Options::stats_persist_period_sec), in memory, or in a column family of their own under RocksDB's
//! name and in its form:
//!
//! | key | value |
//! |---|---|
//! | ten digits of Unix seconds, `#`, the name of a ticker | how much it rose, in decimal |
//! | `__persistent_stats_format_version__`, `__persistent_stats_compatible_version__` | `1` |

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use base::statistics::{Statistics, Ticker};
use base::{Error, Result};
use codec::CompressionType;

use super::column_family::{ColumnFamily, Family};
use super::state::closing;
use super::{Db, DbInner};
use crate::log::log_line;
use crate::options::{ColumnFamilyOptions, ReadOptions, WriteOptions};
use crate::read::db_iterator::DbIterator;
use crate::write::batch::WriteBatch;
use crate::write::pipeline::Commit;

/// RocksDB's name of the family.
pub(crate) const STATS_COLUMN_FAMILY: &str = "___rocksdb_stats_history___";

const FORMAT_VERSION_KEY: &str = "__persistent_stats_format_version__";
const COMPATIBLE_VERSION_KEY: &str = "__persistent_stats_compatible_version__";

/// The version of the form, and the lowest version of whoever can read it.
const VERSION: u64 = 1;

/// How much tickers rose between two looks at them, that of [`time`](StatsHistoryEntry::time) and the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatsHistoryEntry {
    /// Unix seconds.
    pub time: u64,
    /// By the name of the ticker.
    pub stats: BTreeMap<String, u64>,
}

/// Goes through the statistics as they were, from the oldest on: see [`Db::get_stats_history`]. After an error it ends.
pub struct StatsHistoryIterator(Source);

enum Source {
    Memory(VecDeque<StatsHistoryEntry>),
    Family {
        iter: Box<DbIterator>,
        end: u64,
    },
    /// The database was closed before it was asked.
    Closed,
    Ended,
}

impl std::fmt::Debug for StatsHistoryIterator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StatsHistoryIterator")
    }
}

impl Iterator for StatsHistoryIterator {
    type Item = Result<StatsHistoryEntry>;

    fn next(&mut self) -> Option<Result<StatsHistoryEntry>> {
        let read = match &mut self.0 {
            Source::Memory(entries) => return entries.pop_front().map(Ok),
            Source::Family { iter, end } => read_entry(iter, *end),
            Source::Closed => Err(closing()),
            Source::Ended => return None,
        };
        if !matches!(read, Ok(Some(_))) {
            self.0 = Source::Ended;
        }
        read.transpose()
    }
}

/// Reads all of one time, which is before `end`.
fn read_entry(iter: &mut DbIterator, end: u64) -> Result<Option<StatsHistoryEntry>> {
    let mut entry: Option<StatsHistoryEntry> = None;
    // The versions come behind all digits.
    while iter.valid() && !iter.key().starts_with(b"_") {
        let (time, name) = parse_key(iter.key())?;
        if time >= end || entry.as_ref().is_some_and(|entry| entry.time != time) {
            break;
        }
        let value = parse_number(iter.value())
            .ok_or_else(|| Error::corruption(format!("statistics of {time}: {name} has no number")))?;
        let entry = entry.get_or_insert_with(|| StatsHistoryEntry {
            time,
            stats: BTreeMap::new(),
        });
        entry.stats.insert(name.to_owned(), value);
        iter.next();
    }
    iter.status()?;
    Ok(entry)
}

fn parse_number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn parse_key(key: &[u8]) -> Result<(u64, &str)> {
    let parse = || {
        let (time, name) = std::str::from_utf8(key).ok()?.split_once('#')?;
        Some((time.parse().ok()?, name))
    };
    parse().ok_or_else(|| Error::corruption(format!("no key of statistics: {}", key.escape_ascii())))
}

/// What was seen of the tickers.
#[derive(Default)]
pub(crate) struct StatsHistory {
    /// All of them when they were last looked at.
    last: Option<Vec<u64>>,
    /// How much they rose until a time: in memory only.
    rises: BTreeMap<u64, Vec<u64>>,
}

impl StatsHistory {
    /// Looks at the tickers and tells how much they rose since the last look; `None` for the first.
    fn look(&mut self, statistics: &Statistics) -> Option<Vec<u64>> {
        let now: Vec<u64> = Ticker::ALL
            .iter()
            .map(|&ticker| statistics.get_ticker_count(ticker))
            .collect();
        let last = self.last.replace(now.clone())?;
        // A reset sets them back.
        Some(
            now.iter()
                .zip(last)
                .map(|(now, last)| now.saturating_sub(last))
                .collect(),
        )
    }

    /// Bytes that one look takes in memory, about.
    const ENTRY: usize = Ticker::ALL.len() * size_of::<u64>() + 64;

    /// Keeps a look in memory, and of those as many of the newest as `limit` bytes have room for.
    fn keep(&mut self, time: u64, rises: Vec<u64>, limit: usize) {
        self.rises.insert(time, rises);
        while self.rises.len() * StatsHistory::ENTRY > limit {
            self.rises.pop_first();
        }
    }
}

/// The options of the family: it holds little, and nobody waits for it.
pub(crate) fn family_options() -> ColumnFamilyOptions {
    ColumnFamilyOptions {
        write_buffer_size: 2 << 20,
        target_file_size_base: 2 << 20,
        max_bytes_for_level_base: 10 << 20,
        soft_pending_compaction_bytes_limit: 256 << 20,
        hard_pending_compaction_bytes_limit: 1 << 30,
        compression: CompressionType::None,
        ..ColumnFamilyOptions::default()
    }
}

impl Db {
    /// How much the tickers of [`Options::statistics`](crate::Options::statistics) rose, period by period of
    /// [`stats_persist_period_sec`](crate::Options::stats_persist_period_sec), from the Unix second `start` up to `end`, exclusive. With
    /// [`persist_stats_to_disk`](crate::Options::persist_stats_to_disk) what earlier lives of the database have seen is there, too; without it
    /// what fits into [`stats_history_buffer_size`](crate::Options::stats_history_buffer_size). Empty without statistics.
    ///
    /// # Errors
    /// The iterator's: `Corruption` for rows of the family that are no statistics; those of reads.
    pub fn get_stats_history(&self, start: u64, end: u64) -> StatsHistoryIterator {
        let inner = self.inner();
        if let Some(family) = inner.stats_family() {
            let mut iter = self.iter_cf(&ReadOptions::default(), &ColumnFamily(family));
            iter.seek(format!("{start:010}").as_bytes());
            return StatsHistoryIterator(Source::Family {
                iter: Box::new(iter),
                end,
            });
        }
        if inner.is_closed() {
            return StatsHistoryIterator(Source::Closed);
        }
        let history = inner.stats_history.lock();
        let range = start..end.max(start);
        let entry = |(&time, rises): (&u64, &Vec<u64>)| StatsHistoryEntry {
            time,
            stats: Ticker::ALL
                .iter()
                .zip(rises)
                .map(|(ticker, &rise)| (ticker.name().to_owned(), rise))
                .collect(),
        };
        StatsHistoryIterator(Source::Memory(history.rises.range(range).map(entry).collect()))
    }
}

impl DbInner {
    /// The family of statistics, where they are kept in one.
    fn stats_family(&self) -> Option<Arc<Family>> {
        match self.options.persist_stats_to_disk {
            true => self.family_by_name(STATS_COLUMN_FAMILY),
            false => None,
        }
    }

    /// Sees to it that there is a family of statistics in a form we know, if there is to be one. One in another form is dropped: as
    /// RocksDB does.
    pub(crate) fn open_stats_history(&self) -> Result<()> {
        if !self.options.persist_stats_to_disk {
            return Ok(());
        }
        if let Some(family) = self.family_by_name(STATS_COLUMN_FAMILY) {
            let version = |key: &str| -> Result<Option<u64>> {
                let value = self.get(&ReadOptions::default(), &family, key.as_bytes())?;
                Ok(value.and_then(|value| parse_number(&value)))
            };
            let versions = (version(FORMAT_VERSION_KEY)?, version(COMPATIBLE_VERSION_KEY)?);
            let readable = |(format, compatible)| format <= VERSION || compatible <= VERSION;
            if versions.0.zip(versions.1).is_some_and(readable) {
                return Ok(());
            }
            log_line!(
                self.log,
                Warn,
                "Recreating persistent stats column family: its format version is {:?}, compatible since {:?}",
                versions.0,
                versions.1
            );
            self.drop_column_family(&family)?;
        }
        let family = ColumnFamily(self.add_column_family(STATS_COLUMN_FAMILY, &family_options())?);
        let mut batch = WriteBatch::new();
        for key in [FORMAT_VERSION_KEY, COMPATIBLE_VERSION_KEY] {
            batch.put_cf(&family, key.as_bytes(), VERSION.to_string().as_bytes());
        }
        self.commit(&WriteOptions::default(), Commit::Batch(&mut batch))
            .map(drop)
    }

    /// From now on what tickers rise counts.
    pub(crate) fn begin_stats_history(&self) {
        if let Some(statistics) = self.stats.shared() {
            self.stats_history.lock().look(statistics);
        }
    }

    /// Looks at the tickers if that is due, and gives the time until it is; `None` if it never is. `due` is that moment.
    pub(crate) fn persist_stats_when_due(&self, due: &mut Duration) -> Option<Duration> {
        let period = Duration::from_secs(self.current.load().stats_persist_period_sec);
        let statistics = self.stats.shared()?;
        if period.is_zero() {
            return None;
        }
        let now = self.options.clock.now();
        if now >= *due {
            self.persist_stats(statistics);
            *due = now + period;
        }
        // The period may have become shorter.
        *due = (*due).min(now + period);
        Some(due.saturating_sub(now))
    }

    fn persist_stats(&self, statistics: &Statistics) {
        let time = self.options.clock.unix_seconds();
        let rises = self.stats_history.lock().look(statistics);
        let Some(rises) = rises else { return };
        let Some(family) = self.stats_family() else {
            let limit = self.current.load().stats_history_buffer_size;
            return self.stats_history.lock().keep(time, rises, limit);
        };
        let family = ColumnFamily(family);
        let mut batch = WriteBatch::new();
        for (ticker, rise) in Ticker::ALL.iter().zip(rises) {
            let key = format!("{time:010}#{}", ticker.name());
            batch.put_cf(&family, key.as_bytes(), rise.to_string().as_bytes());
        }
        // Nobody is slowed, and what cannot be written now is missing.
        let options = WriteOptions {
            no_slowdown: true,
            ..WriteOptions::default()
        };
        if let Err(error) = self.commit(&options, Commit::Batch(&mut batch)) {
            log_line!(self.log, Info, "Writing to persistent stats CF failed -- {error}");
        }
    }
}
