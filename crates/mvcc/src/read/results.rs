//! The options and the results of reads.

use crate::error::{Error, Result};
use crate::key::span::Span;
use crate::key::timestamp::Timestamp;
use crate::key::value::{Value, is_tombstone};
use crate::read::counters::ReadCounters;
use crate::read::rows::Rows;

/// The options of a read: which rows it returns, and when it stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct MvccReadOptions {
    /// The maximum number of rows returned; with `Some(0)` none, and the whole span is left. Default: no
    /// limit.
    pub max_keys: Option<u64>,
    /// The maximum bytes of rows ([`Rows::bytes`]): a scan stops at the first row that would exceed them,
    /// however many deleted keys it skips on the way there. The first row is returned however large it is,
    /// unless `allow_empty`; with `Some(0)` no row is returned. Default: no limit.
    pub target_bytes: Option<u64>,
    /// True to leave out even the first row if it exceeds `target_bytes`. Default: false.
    pub allow_empty: bool,
    /// True to return deletions, too. A key whose version a range tombstone hides is returned as a deletion
    /// at the time of the newest range tombstone that hides the version. A get returns such a deletion also
    /// for a key that has no version but is in the span of a range tombstone. Default: false.
    pub tombstones: bool,
    /// True to fail with [`Error::WriteTooOld`] if any key read has a version at or above the read's time, or
    /// a range tombstone of such a time covers any part that is read: a read before a write at that time
    /// needs this. The error names the key with the newest such time, or the start of the range tombstone
    /// with that time in the span; among equal times the first that the scan meets. Default: false.
    pub fail_on_more_recent: bool,
    /// True to read from the last key to the first. Default: false.
    pub reverse: bool,
    /// Returns the length of the prefix of a user key that all keys of its row share, as the columns of a
    /// table's row do; at most the key's length. A scan that a limit stops then does not split a row: it
    /// leaves out the part of the last row and resumes at its first key. If that is the first row, it
    /// continues to the row's end past the limit, or with `allow_empty` leaves it out, too. Gets ignore it.
    /// Default: `None`, each key is a row.
    pub whole_rows: Option<RowPrefix>,
}

/// The length of the row prefix of a user key, see [`MvccReadOptions::whole_rows`].
pub type RowPrefix = fn(&[u8]) -> usize;

/// Why a read stopped before the end of its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeReason {
    /// The read stopped at [`MvccReadOptions::max_keys`].
    KeyLimit,
    /// The read stopped at [`MvccReadOptions::target_bytes`].
    ByteLimit,
}

/// The part of a span that a read, or another operation, has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The first key of the rest.
    pub start: Vec<u8>,
    /// The exclusive end of the rest of the span; `None` if it is unbounded.
    pub end: Option<Vec<u8>>,
    /// Why the operation stopped.
    pub reason: ResumeReason,
    /// Bytes of the row that was too large, or of the part of a [whole row](MvccReadOptions::whole_rows) that
    /// a limit would have split; 0 if there was none.
    pub next_bytes: u64,
}

impl Resume {
    /// The rest of the read as a span.
    pub fn span(&self) -> Span<'_> {
        Span {
            start: &self.start,
            end: self.end.as_deref(),
        }
    }

    pub(crate) fn of(span: Span<'_>, reason: ResumeReason) -> Resume {
        Resume {
            start: span.start.to_vec(),
            end: span.end.map(<[u8]>::to_vec),
            reason,
            next_bytes: 0,
        }
    }
}

/// The result of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanResult {
    /// The rows.
    pub rows: Rows,
    /// The rest of the span, if a limit was reached and anything is left.
    pub resume: Option<Resume>,
    /// The cost of the scan.
    pub counters: ReadCounters,
}

/// A version that a get found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned {
    /// The time of the version; [`Timestamp::ZERO`] for an inline value.
    pub timestamp: Timestamp,
    /// The value as it is stored; empty for a deletion.
    pub stored: Vec<u8>,
}

impl Versioned {
    /// The value of `user_key`, with its checksum verified; `None` for a deletion.
    pub fn value(&self, user_key: &[u8]) -> base::Result<Option<Value<'_>>> {
        if is_tombstone(&self.stored) {
            return Ok(None);
        }
        Value::decode_checked(&self.stored, user_key).map(Some)
    }
}

/// The result of a get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetResult {
    /// The newest version at or below the time, if it is to be returned.
    pub found: Option<Versioned>,
    /// The key itself, if a limit forbade returning the version found.
    pub resume: Option<Resume>,
    /// The cost of the get.
    pub counters: ReadCounters,
}

/// `InvalidArgument` for the empty key, which users may not use.
pub(crate) fn check_key(user_key: &[u8]) -> Result<()> {
    if user_key.is_empty() {
        return Err(Error::invalid_argument("attempted access to empty key"));
    }
    Ok(())
}
