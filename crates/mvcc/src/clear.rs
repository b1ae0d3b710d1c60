//! Removing whole spans without a trace.

use crate::batch::MvccBatch;
use crate::error::Result;
use crate::key::{MvccKey, next_user_key};
use crate::reader::Span;
use crate::stats::count_versions;
use crate::timestamp::Timestamp;

impl MvccBatch<'_> {
    /// Removes every version and every inline value in `span`, and what range tombstones have in it, as if it had never been: nothing of it
    /// can be read at any time afterwards. A few are deleted one by one, more by one range deletion. With statistics it reads the span; without, a
    /// few entries.
    pub fn clear_range(&mut self, span: Span<'_>) -> Result<()> {
        if span.is_empty() {
            return Ok(());
        }
        let now = self.stats().last_update_nanos;
        let (before, latest) = match self.options().statistics {
            true => count_versions(&self.reader(), span, now)?,
            // Nobody has looked.
            false => (crate::MvccStats::at(now), Timestamp::MAX),
        };
        self.remove_span(span, before, latest)
    }

    /// Removes all of `span`, whose versions weigh `before`, the latest of them of the time `latest`; a few entries one by one.
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
        self.note_removed(latest);
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

    /// An engine's key behind all there are.
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

/// The engine's key of `user_key` without a version.
pub(crate) fn bare(user_key: &[u8]) -> Vec<u8> {
    MvccKey {
        user_key,
        timestamp: Timestamp::ZERO,
    }
    .encode()
}

/// Entries that follow each other and are to go: one by one, or as a range where they are many.
pub(crate) struct Runs {
    /// From so many entries on it is a range.
    min: usize,
    done: Vec<Run>,
    open: Run,
    /// Entries of the open run.
    len: usize,
}

#[derive(Default)]
struct Run {
    /// The entries; of a range the first alone.
    keys: Vec<Vec<u8>>,
    /// Where the range ends.
    end: Option<Vec<u8>>,
}

impl Runs {
    pub fn new(min: usize) -> Runs {
        Runs {
            min,
            done: Vec::new(),
            open: Run::default(),
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

    /// The next entry stays, or is not known: it is at or behind `key`.
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
