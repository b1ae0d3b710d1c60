//! A range of keys that a transaction has locked.

use base::SeqNo;
use esker::UnchangedRange;

use crate::key_range::KeyRange;
use crate::lock::held_ranges::RangeLockId;

/// A range that a transaction has locked, or that its commit validates.
#[derive(Clone, Debug)]
pub(crate) struct TrackedRange {
    pub family: u32,
    pub range: KeyRange,
    /// No other transaction has written a key of the range since this sequence number.
    pub seqno: SeqNo,
    /// True if the lock is exclusive.
    pub exclusive: bool,
    /// The number of the lock on the range, if the transaction takes locks.
    pub lock: RangeLockId,
}

impl TrackedRange {
    /// The range, for validation.
    pub fn unchanged(&self) -> UnchangedRange<'_> {
        UnchangedRange {
            family: self.family,
            begin: self.range.begin.as_deref(),
            end: self.range.end(),
            since: self.seqno,
        }
    }
}
