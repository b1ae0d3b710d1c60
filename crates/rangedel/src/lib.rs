//! Range tombstones, which `DeleteRange` writes: in the memtable, in tables and under iterators.
//!
//! * [`FragmentedTombstones`]: the tombstones of a table, fragmented so that none overlap; immutable
//! * [`MemTombstones`]: the tombstones of a memtable; readers take no lock while writers add
//! * [`TombstoneCursor`]: follows an iterator, over any number of both
//!
//! A tombstone hides entries of lower sequence numbers in its range of user keys. In families with timestamps
//! it has a timestamp, hides only entries whose timestamp is not newer, and is itself visible only to reads
//! at its timestamp or a newer one.
#![forbid(unsafe_code)]

mod bound;
mod build;
mod cursor;
mod entries;
mod fragments;
mod mem;
mod probe;
mod source;

pub use cursor::TombstoneCursor;
pub use fragments::{Fragment, FragmentedTombstones};
pub use mem::{MemTombstones, MemView};
pub use source::TombstoneSource;

use base::SeqNo;

/// One `DeleteRange`: deletes the versions below `seqno` of the keys from `start` up to `end`, exclusive.
///
/// In families with timestamps both keys end in the tombstone's timestamp, as they do in files; that of
/// `start` counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeTombstone {
    /// The first user key covered.
    pub start: Vec<u8>,
    /// The first user key no longer covered.
    pub end: Vec<u8>,
    /// The sequence number of the write.
    pub seqno: SeqNo,
}
