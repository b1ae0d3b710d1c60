//! Garbage collection of a span that holds only garbage, in one piece.

use crate::error::{Error, Result, Shown};
use crate::key::span::Span;
use crate::key::stats::MvccStats;
use crate::key::timestamp::Timestamp;
use crate::read::count_stats::count_versions;
use crate::write::batch::MvccBatch;

impl MvccBatch<'_> {
    /// Removes all of `span`, which must have an end, if range tombstones at or below `threshold` deleted all
    /// of it and nothing was written since. Versions are removed by one range deletion, or a few by one each,
    /// and so are the range tombstones. Reads the entries that table properties show to be newer than the
    /// range tombstones, and with statistics all of the span, unless `known` gives its statistics, which must
    /// be exact. Returns the statistics removed; none without statistics.
    ///
    /// # Errors
    /// `InvalidArgument` for a span that is empty or has no end, and for a key that is not garbage, which is
    /// named: no range tombstone deletes it, or a newer one does, or there is a later version, or an inline
    /// value. Nothing is removed then.
    pub fn garbage_collect_whole_span(
        &mut self,
        span: Span<'_>,
        threshold: Timestamp,
        known: Option<MvccStats>,
    ) -> Result<MvccStats> {
        threshold.check_sign()?;
        let latest = self.check_all_garbage(span, threshold)?;
        let now = self.stats().last_update_nanos;
        let mut removed = MvccStats::at(now);
        if self.options().statistics {
            removed = match known {
                // The statistics of range tombstones are left out here, because the removal of the tombstones
                // accounts for them.
                Some(mut known) => {
                    if let Some(ranges) = &self.ranges {
                        known -= ranges.window(span, Timestamp::ZERO, Timestamp::MAX).weigh(now);
                    }
                    known
                }
                None => count_versions(&self.reader(), span, now)?.0,
            };
        }
        self.remove_span(span, removed, latest)?;
        Ok(removed)
    }

    /// Fails unless all of `span` is garbage. Returns the time of the newest range tombstone.
    fn check_all_garbage(&mut self, span: Span<'_>, threshold: Timestamp) -> Result<Timestamp> {
        let Some(end) = span.end.filter(|_| !span.is_empty()) else {
            return Err(Error::invalid_argument(
                "a collection of a whole span needs an end after its start",
            ));
        };
        let ranges = self.ranges.clone().unwrap_or_default();
        let (mut done, mut latest) = (span.start, Timestamp::ZERO);
        for fragment in ranges.overlapping(span) {
            let newest = fragment.stack[0];
            if *fragment.start > *done || newest > threshold {
                break;
            }
            let part = Span::new(done, end.min(&fragment.end));
            let mut since = self.reader().versions_alone(part, newest, Timestamp::MAX)?;
            let first = since.next()?.map(|row| (row.user_key.to_vec(), row.timestamp));
            self.counters += since.counters();
            if let Some((key, time)) = first {
                return Err(Error::invalid_argument(format!(
                    "{} at {time} is not garbage: the range tombstone at {newest} does not hide it",
                    Shown(&key)
                )));
            }
            (done, latest) = (&*fragment.end, latest.max(newest));
        }
        match done >= end {
            true => Ok(latest),
            false => Err(Error::invalid_argument(format!(
                "the keys from {} on are not garbage: their newest range tombstone is not at or below {threshold}",
                Shown(done)
            ))),
        }
    }
}
