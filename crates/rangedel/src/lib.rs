//! Range tombstones: what `DeleteRange` leaves behind, in the memtable, in tables and under iterators.
//!
//! * [`FragmentedTombstones`]: those of a table, cut where one begins or ends so that none overlap; immutable
//! * [`MemTombstones`]: those of a memtable; readers take no lock while writers add
//! * [`TombstoneCursor`]: follows an iterator over any number of both
//!
//! A tombstone hides entries of lower sequence numbers in its range of user keys. In families with timestamps it carries one, hides only
//! entries whose timestamp is not newer, and is itself seen only by reads at its timestamp or a newer one.
#![forbid(unsafe_code)]

mod bound;
mod build;
mod cursor;
mod entries;
mod fragments;
mod mem;
mod source;

pub use cursor::TombstoneCursor;
pub use fragments::{Fragment, FragmentedTombstones};
pub use mem::{MemTombstones, MemView};
pub use source::TombstoneSource;

use base::SeqNo;

/// One `DeleteRange`: versions below `seqno` of the keys from `start` to before `end` are gone.
///
/// In families with timestamps both keys end in the tombstone's timestamp, as they do in files; that of `start` counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeTombstone {
    /// First user key covered.
    pub start: Vec<u8>,
    /// First user key no longer covered.
    pub end: Vec<u8>,
    /// When it was written.
    pub seqno: SeqNo,
}
