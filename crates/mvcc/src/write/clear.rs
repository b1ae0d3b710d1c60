//! Removal of whole spans without a trace.

use crate::error::Result;
use crate::key::mvcc_key::{MvccKey, next_user_key};
use crate::key::span::Span;
use crate::key::timestamp::Timestamp;
use crate::read::count_stats::count_versions;
use crate::write::batch::MvccBatch;

impl MvccBatch<'_> {
    /// Removes every version and every inline value in `span`, and the parts of range tombstones in it, as if
    /// they had never been written: no read at any time finds them afterwards. A few entries are deleted one
    /// by one, more by one range deletion. With statistics this reads the span; without, a few entries.
    pub fn clear_range(&mut self, span: Span<'_>) -> Result<()> {
        if span.is_empty() {
            return Ok(());
        }
        let now = self.stats().last_update_nanos;
        let (before, latest) = match self.options().statistics {
            true => count_versions(&self.reader(), span, now)?,
            // Without statistics the span was not read.
            false => (crate::MvccStats::at(now), Timestamp::MAX),
        };
        self.remove_span(span, before, latest)
    }

    /// Removes all of `span`. `before` are the statistics of its versions, and `latest` is the time of the
    /// latest one. A few entries are deleted one by one.
    pub(crate) fn remove_span(
        &mut self,
        span: Span<'_>,
        before: crate::MvccStats,
        latest: Timestamp,
    ) -> Result<()> {
        let min = self.options().min_range_entries;
        let mut iter = self.reader().versions(span)?;
        iter.seek_to_first();
        let mut few = Vec::new();
        while few.len() < min && iter.current()?.is_some() {
            few.push(iter.engine_key().to_vec());
            iter.next();
        }
        let is_empty = few.is_empty() && iter.current()?.is_none();
        self.counters += iter.counters;
        drop(iter);
        let family = self.family();
        let (start, end) = span.bounds();
        let end = match end {
            Some(end) => end,
            None => self.end_of_all()?,
        };
        self.clear_ranges(span);
        if is_empty {
            return Ok(());
        }
        self.touch_all();
        self.record_removed(latest);
        self.account(before, crate::MvccStats::at(before.last_update_nanos));
        match few.len() < min {
            true => few.iter().for_each(|key| self.batch.delete_cf(family, key)),
            false => self.batch.delete_range_cf(family, &start, &end),
        }
        Ok(())
    }

    fn clear_ranges(&mut self, span: Span<'_>) {
        if self.remove_ranges(span, |_| true) > 0 {
            self.touch_all();
        }
    }

    /// Returns an engine key that is greater than all existing keys.
    fn end_of_all(&self) -> Result<Vec<u8>> {
        let mut iter = self.reader().versions(Span::ALL)?;
        iter.seek_to_last();
        let last = iter.current()?.map(|version| next_user_key(version.user_key));
        Ok(bare(&last.unwrap_or_default()))
    }
}

impl MvccBatch<'_> {
    pub(crate) fn delete_runs(&mut self, runs: Runs) {
        let family = self.family();
        for run in runs.done {
            match run.end {
                Some(end) => self.batch.delete_range_cf(family, &run.keys[0], &end),
                None => run.keys.iter().for_each(|key| self.batch.delete_cf(family, key)),
            }
        }
    }
}

/// The engine key of `user_key` without a version.
pub(crate) fn bare(user_key: &[u8]) -> Vec<u8> {
    MvccKey {
        user_key,
        timestamp: Timestamp::ZERO,
    }
    .encode()
}

/// Consecutive entries to remove: one by one, or as a range if they are many.
pub(crate) struct Runs {
    /// The number of entries from which a run is removed as a range.
    min: usize,
    done: Vec<ClearedRun>,
    open: ClearedRun,
    /// The number of entries of the open run.
    len: usize,
}

#[derive(Default)]
struct ClearedRun {
    /// The keys of the entries; only the first key if the run is removed as a range.
    keys: Vec<Vec<u8>>,
    /// The end of the range.
    end: Option<Vec<u8>>,
}

impl Runs {
    pub fn new(min: usize) -> Runs {
        Runs {
            min,
            done: Vec::new(),
            open: ClearedRun::default(),
            len: 0,
        }
    }

    pub fn add(&mut self, key: &[u8]) {
        self.len += 1;
        if self.len >= self.min && self.len > 1 {
            self.open.keys.truncate(1);
        } else {
            self.open.keys.push(key.to_vec());
        }
    }

    /// Ends the open run: the next entry, at or after `key`, stays, or it is not known whether it is removed.
    pub fn end(&mut self, key: &[u8]) {
        let mut run = std::mem::take(&mut self.open);
        let len = std::mem::take(&mut self.len);
        if len > 0 && len >= self.min {
            run.end = Some(key.to_vec());
        }
        if len > 0 {
            self.done.push(run);
        }
    }
}
