//! The history of statistics: the increase of each ticker in each period of
//! [`stats_persist_period_sec`](crate::Options::stats_persist_period_sec), in memory, or in a column family
//! with RocksDB's name and format:
//!
//! | key | value |
//! |---|---|
//! | ten digits of Unix seconds, `#`, the name of a ticker | its increase, in decimal |
//! | `__persistent_stats_format_version__`, `__persistent_stats_compatible_version__` | `1` |

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use base::statistics::{Statistics, Ticker};
use base::{Error, Result};
use codec::CompressionType;

use crate::batch::write_batch::WriteBatch;
use crate::log::log_line;
use crate::options::names::STATS_COLUMN_FAMILY;
use crate::options::{ColumnFamilyOptions, WriteOptions};
use crate::read::db_iterator::DbIterator;
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::db_inner::DbInner;
use crate::state::error_state::closing;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;
use crate::write::commit::Commit;

/// The keys under which the family of statistics has the versions of its format, as in RocksDB.
const FORMAT_VERSION_KEY: &str = "__persistent_stats_format_version__";
const COMPATIBLE_VERSION_KEY: &str = "__persistent_stats_compatible_version__";

/// The version of the format, and the lowest version of readers that can read it.
const VERSION: u64 = 1;

/// The increases of tickers between two samples, the one at [`time`](StatsHistoryEntry::time) and the
/// previous one.
///
/// See the example of [`StatsHistoryIterator`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatsHistoryEntry {
    /// The time of the sample in Unix seconds.
    pub time: u64,
    /// The increases by the name of the ticker.
    pub stats: BTreeMap<String, u64>,
}

/// Iterates over the history of statistics, from the oldest entry on: see [`Db::get_stats_history`]. It ends
/// after an error.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// // Recorded every `Options::stats_persist_period_sec` seconds.
/// for entry in db.get_stats_history(0, u64::MAX) {
///     let entry = entry?;
///     println!("{}: {:?}", entry.time, entry.stats.get("rocksdb.bytes.written"));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StatsHistoryIterator(Source);

enum Source {
    Memory(VecDeque<StatsHistoryEntry>),
    Family {
        iter: Box<DbIterator>,
        end: u64,
    },
    /// The database was closed when the history was requested.
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

/// Reads all statistics of one time, which must be before `end`.
fn read_entry(iter: &mut DbIterator, end: u64) -> Result<Option<StatsHistoryEntry>> {
    let mut entry: Option<StatsHistoryEntry> = None;
    // The keys of the format versions sort after the keys of statistics, which begin with digits.
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

/// The options of the family of statistics: it holds little data, and its reads are not urgent.
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
    /// Returns the increases of the tickers of [`Options::statistics`](crate::Options::statistics), one entry
    /// for each period of [`stats_persist_period_sec`](crate::Options::stats_persist_period_sec), from the
    /// Unix second `start` up to `end`, exclusive. With
    /// [`persist_stats_to_disk`](crate::Options::persist_stats_to_disk) the history includes earlier sessions
    /// of the database; without it, it is limited to
    /// [`stats_history_buffer_size`](crate::Options::stats_history_buffer_size). Empty without statistics.
    ///
    /// # Errors
    /// The iterator reports the errors: `Corruption` for rows of the family that are not statistics; the
    /// errors of the reads.
    pub fn get_stats_history(&self, start: u64, end: u64) -> StatsHistoryIterator {
        let inner = self.inner();
        if let Some(family) = inner.stats_family() {
            let mut iter = self.iter_cf(&ColumnFamily(family));
            iter.seek(format!("{start:010}").as_bytes());
            return StatsHistoryIterator(Source::Family {
                iter: Box::new(iter),
                end,
            });
        }
        if inner.is_closed() {
            return StatsHistoryIterator(Source::Closed);
        }
        let history = inner.report.history.lock();
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
    /// The column family of statistics, if statistics are stored in one.
    fn stats_family(&self) -> Option<Arc<Family>> {
        match self.options.persist_stats_to_disk {
            true => self.family_by_name(STATS_COLUMN_FAMILY),
            false => None,
        }
    }

    /// Creates the family of statistics if the options require it. If the family has an unknown format, it is
    /// dropped and created again, as in RocksDB.
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

    /// Takes the first sample: tickers are counted from now on.
    pub(crate) fn begin_stats_history(&self) {
        if let Some(statistics) = self.stats.shared() {
            self.report.history.lock().look(statistics);
        }
    }

    /// Samples the tickers if `due` has passed, and returns the time until the next sample; `None` if the
    /// history is off. `due` is updated.
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
        // The period may have been shortened meanwhile.
        *due = (*due).min(now + period);
        Some(due.saturating_sub(now))
    }

    fn persist_stats(&self, statistics: &Statistics) {
        let time = self.options.clock.unix_seconds();
        let rises = self.report.history.lock().look(statistics);
        let Some(rises) = rises else { return };
        let Some(family) = self.stats_family() else {
            let limit = self.current.load().stats_history_buffer_size;
            return self.report.history.lock().keep(time, rises, limit);
        };
        let family = ColumnFamily(family);
        let mut batch = WriteBatch::new();
        for (ticker, rise) in Ticker::ALL.iter().zip(rises) {
            let key = format!("{time:010}#{}", ticker.name());
            batch.put_cf(&family, key.as_bytes(), rise.to_string().as_bytes());
        }
        // The write must not slow other writers: if it would have to wait, the entry is lost.
        let options = WriteOptions {
            no_slowdown: true,
            ..WriteOptions::default()
        };
        if let Err(error) = self.commit(&options, Commit::Batch(&mut batch)) {
            log_line!(self.log, Info, "Writing to persistent stats CF failed -- {error}");
        }
    }
}
