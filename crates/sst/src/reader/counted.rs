//! The counters of a table: in the statistics of its database, if it has some, and in the perf context of the
//! reading thread, if that is on.

use std::sync::Arc;

use base::env::Stopwatch;
use base::perf;
use base::statistics::{Histogram, Statistics, Ticker};
use cache::EntryRole;

use super::table::Table;
use crate::filter::table_filter::FilterHandle;

/// The tickers of a kind of block.
struct Of {
    hit: Ticker,
    miss: Ticker,
    add: Ticker,
    bytes_insert: Ticker,
}

fn of(role: EntryRole) -> Of {
    match role {
        EntryRole::DataBlock => Of {
            hit: Ticker::BlockCacheDataHit,
            miss: Ticker::BlockCacheDataMiss,
            add: Ticker::BlockCacheDataAdd,
            bytes_insert: Ticker::BlockCacheDataBytesInsert,
        },
        EntryRole::IndexBlock => Of {
            hit: Ticker::BlockCacheIndexHit,
            miss: Ticker::BlockCacheIndexMiss,
            add: Ticker::BlockCacheIndexAdd,
            bytes_insert: Ticker::BlockCacheIndexBytesInsert,
        },
        _ => Of {
            hit: Ticker::BlockCacheFilterHit,
            miss: Ticker::BlockCacheFilterMiss,
            add: Ticker::BlockCacheFilterAdd,
            bytes_insert: Ticker::BlockCacheFilterBytesInsert,
        },
    }
}

impl Table {
    /// The statistics in which the table counts reads.
    #[inline]
    pub fn statistics(&self) -> Option<&Arc<Statistics>> {
        self.fetcher.statistics()
    }

    /// True if statistics or a perf context count. If neither does, this check is the whole cost.
    #[inline(always)]
    fn counts(&self) -> bool {
        self.fetcher.statistics().is_some() || perf::counts()
    }

    /// Counts a block found in the cache. `charge` returns its bytes.
    #[inline(always)]
    pub(super) fn record_hit(&self, role: EntryRole, charge: impl FnOnce() -> usize) {
        if self.counts() {
            self.count_hit(role, charge());
        }
    }

    #[cold]
    #[inline(never)]
    fn count_hit(&self, role: EntryRole, charge: usize) {
        perf::count(|cells| &cells.block_cache_hit_count, 1);
        match role {
            EntryRole::DataBlock => {}
            EntryRole::IndexBlock => perf::count(|cells| &cells.block_cache_index_hit_count, 1),
            _ => perf::count(|cells| &cells.block_cache_filter_hit_count, 1),
        }
        if let Some(statistics) = self.statistics() {
            statistics.record_tick(Ticker::BlockCacheHit, 1);
            statistics.record_tick(of(role).hit, 1);
            statistics.record_tick(Ticker::BlockCacheBytesRead, charge as u64);
        }
    }

    /// Counts a block that was not in the cache.
    pub(super) fn record_miss(&self, role: EntryRole) {
        if let Some(statistics) = self.statistics() {
            statistics.record_tick(Ticker::BlockCacheMiss, 1);
            statistics.record_tick(of(role).miss, 1);
        }
    }

    /// Counts a block of `charge` bytes that was inserted into the cache, or refused.
    pub(super) fn record_insert(&self, role: EntryRole, charge: usize, taken: bool) {
        let Some(statistics) = self.statistics() else {
            return;
        };
        if !taken {
            return statistics.record_tick(Ticker::BlockCacheAddFailures, 1);
        }
        let of = of(role);
        statistics.record_tick(Ticker::BlockCacheAdd, 1);
        statistics.record_tick(Ticker::BlockCacheBytesWrite, charge as u64);
        statistics.record_tick(of.add, 1);
        statistics.record_tick(of.bytes_insert, charge as u64);
    }

    /// Starts the timer of a block read, if reads are timed.
    pub(super) fn start_of_read(&self) -> Option<Stopwatch> {
        let timed = self.statistics().is_some_and(|statistics| statistics.times());
        timed.then(Stopwatch::start)
    }

    /// Records the time of a finished block read.
    pub(super) fn record_read(&self, started: Option<Stopwatch>) {
        if let (Some(started), Some(statistics)) = (started, self.statistics()) {
            statistics.record_in_histogram(Histogram::ReadBlockGetMicros, started.nanos() / 1_000);
        }
    }

    /// Counts the answer of a filter for a whole key or for a prefix, and returns it.
    #[inline(always)]
    pub(super) fn record_filtered(&self, whole_key: bool, may_match: bool) -> bool {
        if self.counts() {
            self.count_filtered(whole_key, may_match);
        }
        may_match
    }

    #[cold]
    #[inline(never)]
    fn count_filtered(&self, whole_key: bool, may_match: bool) {
        match may_match {
            true => perf::count(|cells| &cells.bloom_sst_hit_count, 1),
            false => perf::count(|cells| &cells.bloom_sst_miss_count, 1),
        }
        let Some(statistics) = self.statistics() else {
            return;
        };
        match (whole_key, may_match) {
            (true, true) => statistics.record_tick(Ticker::BloomFilterFullPositive, 1),
            (true, false) => statistics.record_tick(Ticker::BloomFilterUseful, 1),
            (false, may_match) => {
                statistics.record_tick(Ticker::BloomFilterPrefixChecked, 1);
                if !may_match {
                    statistics.record_tick(Ticker::BloomFilterPrefixUseful, 1);
                }
            }
        }
    }

    /// Counts a key that a lookup found after a filter over whole keys let it through.
    pub fn record_true_positive(&self) {
        if let Some(statistics) = self.statistics()
            && self.has_whole_key_filter()
        {
            statistics.record_tick(Ticker::BloomFilterFullTruePositive, 1);
        }
    }

    fn has_whole_key_filter(&self) -> bool {
        self.filter_has_whole_keys && !matches!(self.filter_handle, FilterHandle::None)
    }
}
