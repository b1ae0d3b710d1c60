//! A scan of the whole history of a span: every remaining version, including deletions and inline values.

use crate::error::Result;
use crate::key::mvcc_key::MvccKey;
use crate::key::span::Span;
use crate::key::timestamp::Timestamp;
use crate::read::counters::ReadCounters;
use crate::read::reader::Reader;
use crate::read::results::{ResumeReason, check_key};
use crate::read::rows::Rows;

/// The options of a scan of versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionScanOptions {
    /// Where to continue; a position before the span's start has no effect. Default: the start of the span.
    pub from: Option<VersionPosition>,
    /// The maximum number of versions and inline values returned; with `Some(0)` none. Default: no limit.
    pub max_versions: Option<u64>,
    /// The maximum bytes of rows ([`Rows::bytes`]), which only the first row may exceed; with `Some(0)` no
    /// row is returned. Default: no limit.
    pub target_bytes: Option<u64>,
}

/// A position in the order of versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionPosition {
    /// The key.
    pub user_key: Vec<u8>,
    /// The time of a version; [`Timestamp::ZERO`] is the position of an inline value, before all versions of
    /// the key.
    pub timestamp: Timestamp,
}

/// The result of a scan of versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionScan {
    /// The rows in key order, the newest version of each key first.
    pub rows: Rows,
    /// The first version that is left, and the limit that was reached, if one was and anything is left.
    pub resume: Option<(VersionPosition, ResumeReason)>,
    /// The cost of the scan.
    pub counters: ReadCounters,
}

impl Reader<'_> {
    /// Every version in `span`, including those that others or range tombstones hide, deletions and inline
    /// values. In a store with a threshold it includes the remaining history at or below it. The range
    /// tombstones themselves are returned by [`range_tombstones`](Self::range_tombstones), and both together
    /// by [`iter`](Self::iter). The scan may stop between versions of a key.
    ///
    /// # Errors
    /// `InvalidArgument` for a span whose end is the empty key; errors of the engine.
    pub fn scan_versions(&self, span: Span<'_>, options: &VersionScanOptions) -> Result<VersionScan> {
        if let Some(end) = span.end {
            check_key(end)?;
        }
        let mut result = VersionScan::default();
        if span.is_empty() {
            return Ok(result);
        }
        let mut iter = self.versions(span)?;
        match options.from.as_ref().filter(|from| *from.user_key >= *span.start) {
            Some(from) if from.timestamp.is_zero() => iter.seek_key(&from.user_key),
            Some(from) => {
                from.timestamp.check()?;
                iter.seek(&from.user_key, from.timestamp);
            }
            None => iter.seek_to_first(),
        }
        while let Some(at) = iter.current()? {
            let (user_key, timestamp) = (at.user_key.to_vec(), at.timestamp);
            let key = MvccKey {
                user_key: &user_key,
                timestamp,
            };
            let value_len = iter.value_len()?;
            if let Some(reason) = reached(&result.rows, Rows::size_of(key, value_len), options) {
                result.resume = Some((VersionPosition { user_key, timestamp }, reason));
                break;
            }
            result.rows.push(&user_key, timestamp, iter.version()?.stored);
            iter.next();
        }
        result.counters = iter.counters;
        result.counters.rows = result.rows.len();
        Ok(result)
    }
}

/// The limit that a row of `size` bytes would exceed.
fn reached(rows: &Rows, size: u64, options: &VersionScanOptions) -> Option<ResumeReason> {
    if options.max_versions.is_some_and(|most| rows.len() >= most) {
        return Some(ResumeReason::KeyLimit);
    }
    let exceeds = |target| target == 0 || !rows.is_empty() && rows.bytes() + size > target;
    options
        .target_bytes
        .is_some_and(exceeds)
        .then_some(ResumeReason::ByteLimit)
}
