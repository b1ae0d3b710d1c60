//! Collection of a span of which nothing is left but garbage, in one piece.

use crate::batch::MvccBatch;
use crate::error::{Error, Result, Shown};
use crate::reader::Span;
use crate::stats::{MvccStats, count_versions};
use crate::timestamp::Timestamp;

impl MvccBatch<'_> {
    /// Removes all of `span`, which needs an end, where all of it was deleted by range tombstones at or below `threshold` and nothing was written since:
    /// versions by one range deletion, or a few by one each, and the range tombstones. It reads what tables tell to be newer than the range tombstones, and with
    /// statistics all of the span, unless `known` says what it has: that must be exact. Returns what was removed; nothing without statistics.
    ///
    /// # Errors
    /// `InvalidArgument` for a span that is empty or has no end, and naming a key that is not garbage: no range tombstone deletes it, or a newer one does, or
    /// there is a version since, or an inline value. Nothing is removed then.
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
                // Range tombstones are accounted for where they are removed.
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
                "a collection of a whole span needs an end, behind its start",
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
                    "{} at {time} is no garbage: the range tombstone at {newest} does not hide it",
                    Shown(&key)
                )));
            }
            (done, latest) = (&*fragment.end, latest.max(newest));
        }
        match done >= end {
            true => Ok(latest),
            false => Err(Error::invalid_argument(format!(
                "what lies from {} on is no garbage: no range tombstone at or below {threshold} is its newest",
                Shown(done)
            ))),
        }
    }
}
