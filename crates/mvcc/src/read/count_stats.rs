//! The statistics of stored versions, counted.

use crate::error::Result;
use crate::key::ranges::Order;
use crate::key::span::Span;
use crate::key::stats::{KeyStats, MvccStats};
use crate::key::timestamp::Timestamp;
use crate::read::reader::Reader;

/// Counts the data in `span`, as of `now` nanoseconds, without garbage that a store has collected already.
/// Reads all of it.
pub fn compute_stats(reader: &Reader<'_>, span: Span<'_>, now: i64) -> Result<MvccStats> {
    let mut total = count_versions(reader, span, now)?.0;
    if let Some(ranges) = reader.ranges() {
        total += ranges.window(span, Timestamp::ZERO, Timestamp::MAX).weigh(now);
    }
    Ok(total)
}

/// Counts as `compute_stats` does, without the range tombstones themselves; also returns the latest time of a
/// version.
pub(crate) fn count_versions(
    reader: &Reader<'_>,
    span: Span<'_>,
    now: i64,
) -> Result<(MvccStats, Timestamp)> {
    let ([total], latest) = count_by(reader, span, now, [reader.collected()])?;
    Ok((total, latest))
}

/// The data in `span` that is garbage at `until` and was not at `from`. Reads all of it.
pub(crate) fn weigh_garbage(
    reader: &Reader<'_>,
    span: Span<'_>,
    now: i64,
    from: Timestamp,
    until: Timestamp,
) -> Result<MvccStats> {
    let ([mut garbage, left], _) = count_by(reader, span, now, [from, until])?;
    garbage -= left;
    Ok(garbage)
}

/// The statistics of versions in stores that have collected up to each of the times `collected`, and the
/// latest time of a version.
fn count_by<const N: usize>(
    reader: &Reader<'_>,
    span: Span<'_>,
    now: i64,
    collected: [Timestamp; N],
) -> Result<([MvccStats; N], Timestamp)> {
    let mut latest = Timestamp::ZERO;
    let mut iter = reader.versions(span)?;
    iter.seek_to_first();
    let mut stats = collected.map(|collected| KeyStats::new(&[], now, collected, None));
    let mut key: Option<Vec<u8>> = None;
    let mut cover = reader.cover(Order::Forwards);
    while iter.current()?.is_some() {
        let value_len = iter.value_len()?;
        let Some(version) = iter.current()? else { break };
        if key.as_ref().is_none_or(|key| key != version.user_key) {
            let key = key.get_or_insert_default();
            key.clear();
            key.extend_from_slice(version.user_key);
            let deleted = cover.as_mut().and_then(|cover| cover.stack(version.user_key));
            for stats in &mut stats {
                stats.begin_key(version.user_key, deleted);
            }
        }
        latest = latest.max(version.timestamp);
        for stats in &mut stats {
            match version.timestamp.is_zero() {
                true => stats.inline(value_len),
                false => stats.version(version.timestamp, value_len),
            }
        }
        iter.next();
    }
    Ok((stats.map(KeyStats::finish), latest))
}
