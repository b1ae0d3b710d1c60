//! Internal keys: `user key ‖ u64 little-endian of (sequence << 8 | kind)`.
//!
//! They sort by user key ascending, then by the packed trailer descending, so the newest version of a key
//! comes first.

use std::cmp::Ordering;

use crate::comparator::UserComparator;
use crate::error::{Error, Result};

/// A sequence number: every write gets the next one; a reader at `s` sees writes up to and including `s`.
///
/// ```
/// # use esker_base as esker;
/// use esker::SeqNo;
///
/// fn is_visible(written: SeqNo, snapshot: SeqNo) -> bool {
///     written <= snapshot
/// }
///
/// assert!(is_visible(7, 7) && !is_visible(8, 7));
/// ```
pub type SeqNo = u64;

/// The highest sequence number: 56 bits.
pub const MAX_SEQNO: SeqNo = (1 << 56) - 1;

/// Bytes of the trailer.
pub const TRAILER_LEN: usize = 8;

/// The effect of an entry on its key. The numbers are stored on disk.
///
/// ```
/// # use esker_base as esker;
/// use esker::Kind;
///
/// assert_eq!(Kind::from_byte(0x02), Some(Kind::Merge));
/// assert!(Kind::SingleDeletion.is_tombstone());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Deletes the key.
    Deletion = 0x00,
    /// Sets the value of the key.
    Value = 0x01,
    /// An operand for the merge operator.
    Merge = 0x02,
    /// Deletes a key that was written once since the last deletion.
    SingleDeletion = 0x07,
    /// Deletes the keys from this one up to the value, exclusive. Only in range-deletion blocks.
    RangeDeletion = 0x0f,
    /// Sets the value, which is in a blob file; the entry holds its index.
    BlobIndex = 0x11,
    /// Deletes the key as of the timestamp at its end.
    DeletionWithTimestamp = 0x14,
    /// Sets a wide-column entity.
    WideColumnEntity = 0x16,
    /// Sets a value that is followed by its preferred sequence number (RocksDB's TimedPut).
    ValuePreferredSeqno = 0x18,
}

/// The largest kind byte in use: seek targets carry it so that they sort before every entry of their sequence
/// number.
pub const KIND_FOR_SEEK: u8 = Kind::ValuePreferredSeqno as u8;

impl Kind {
    /// The kind that the low byte of a trailer stands for.
    #[inline]
    pub fn from_byte(byte: u8) -> Option<Kind> {
        Some(match byte {
            0x00 => Kind::Deletion,
            0x01 => Kind::Value,
            0x02 => Kind::Merge,
            0x07 => Kind::SingleDeletion,
            0x0f => Kind::RangeDeletion,
            0x11 => Kind::BlobIndex,
            0x14 => Kind::DeletionWithTimestamp,
            0x16 => Kind::WideColumnEntity,
            0x18 => Kind::ValuePreferredSeqno,
            _ => return None,
        })
    }

    /// True for the kinds that hide older versions and have no value themselves.
    pub fn is_tombstone(self) -> bool {
        matches!(
            self,
            Kind::Deletion | Kind::SingleDeletion | Kind::DeletionWithTimestamp
        )
    }
}

/// Packs `seqno` and a kind byte into a trailer.
#[inline]
pub const fn pack_trailer(seqno: SeqNo, kind: u8) -> u64 {
    (seqno << 8) | kind as u64
}

/// The user key of an internal key, which must be at least [`TRAILER_LEN`] long.
#[inline]
pub fn user_key(internal_key: &[u8]) -> &[u8] {
    &internal_key[..internal_key.len() - TRAILER_LEN]
}

/// The first eight bytes of a user key as a big-endian number, padded with zeros. If the numbers of two keys
/// differ, they order the keys in bytewise order.
#[inline]
pub fn prefix(user_key: &[u8]) -> u64 {
    match user_key.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut padded = [0; 8];
            padded[..user_key.len()].copy_from_slice(user_key);
            u64::from_be_bytes(padded)
        }
    }
}

/// The packed trailer of an internal key, which must be at least [`TRAILER_LEN`] long.
#[inline]
pub fn trailer(internal_key: &[u8]) -> u64 {
    let bytes = &internal_key[internal_key.len() - TRAILER_LEN..];
    u64::from_le_bytes(bytes.try_into().expect("a slice of eight"))
}

/// The sequence number of an internal key, which must be at least [`TRAILER_LEN`] long.
#[inline]
pub fn seqno(internal_key: &[u8]) -> SeqNo {
    trailer(internal_key) >> 8
}

/// The kind byte of an internal key, which may be unknown.
#[inline]
pub fn kind_byte(internal_key: &[u8]) -> u8 {
    internal_key[internal_key.len() - TRAILER_LEN]
}

/// Appends `user_key` and its trailer to `out`.
#[inline]
pub fn append(out: &mut Vec<u8>, user_key: &[u8], seqno: SeqNo, kind: Kind) {
    out.extend_from_slice(user_key);
    out.extend_from_slice(&pack_trailer(seqno, kind as u8).to_le_bytes());
}

/// Makes an internal key.
pub fn encode(user_key: &[u8], seqno: SeqNo, kind: Kind) -> Vec<u8> {
    let mut out = Vec::with_capacity(user_key.len() + TRAILER_LEN);
    append(&mut out, user_key, seqno, kind);
    out
}

/// Sets `out` to the seek target that sorts before every version of `user_key` visible at `seqno` and after
/// all newer ones.
#[inline]
pub fn set_seek_target(out: &mut Vec<u8>, user_key: &[u8], seqno: SeqNo) {
    out.clear();
    out.extend_from_slice(user_key);
    out.extend_from_slice(&pack_trailer(seqno, KIND_FOR_SEEK).to_le_bytes());
}

/// The three parts of an internal key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedInternalKey<'a> {
    /// The user's key, including the timestamp if the family has them.
    pub user_key: &'a [u8],
    /// The sequence number.
    pub seqno: SeqNo,
    /// The effect on the key.
    pub kind: Kind,
}

impl<'a> ParsedInternalKey<'a> {
    /// Splits `internal_key`; `Corruption` if it is too short or its kind is unknown.
    #[inline]
    pub fn parse(internal_key: &'a [u8]) -> Result<ParsedInternalKey<'a>> {
        if internal_key.len() < TRAILER_LEN {
            return Err(Error::corruption(format!(
                "internal key of {} bytes",
                internal_key.len()
            )));
        }
        let trailer = trailer(internal_key);
        let kind = Kind::from_byte(trailer as u8).ok_or_else(|| {
            Error::corruption(format!("internal key of unknown kind {:#04x}", trailer as u8))
        })?;
        Ok(ParsedInternalKey {
            user_key: user_key(internal_key),
            seqno: trailer >> 8,
            kind,
        })
    }
}

/// The order of internal keys over an order of user keys.
#[derive(Clone, Debug)]
pub struct InternalComparator {
    user: UserComparator,
}

impl InternalComparator {
    /// The order of internal keys over the order `user` of user keys.
    pub fn new(user: UserComparator) -> InternalComparator {
        InternalComparator { user }
    }

    /// The order of user keys.
    #[inline]
    pub fn user(&self) -> &UserComparator {
        &self.user
    }

    /// Compares two internal keys, each at least [`TRAILER_LEN`] long.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.user
            .compare(user_key(a), user_key(b))
            .then_with(|| trailer(b).cmp(&trailer(a)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_version_sorts_first() {
        let order = InternalComparator::new(UserComparator::Bytewise);
        let keys = [
            encode(b"a", 9, Kind::Value),
            encode(b"a", 9, Kind::Deletion),
            encode(b"a", 3, Kind::Value),
            encode(b"b", 100, Kind::Value),
        ];
        assert!(keys.is_sorted_by(|a, b| order.compare(a, b) == Ordering::Less));
        let mut target = Vec::new();
        set_seek_target(&mut target, b"a", 9);
        assert_eq!(order.compare(&target, &keys[0]), Ordering::Less);
    }

    #[test]
    fn worked_bytes_of_the_format_document() {
        assert_eq!(encode(b"b", 5, Kind::Deletion), [0x62, 0x00, 5, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            encode(b"c", 6, Kind::RangeDeletion),
            [0x63, 0x0f, 6, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(
            encode(b"d", MAX_SEQNO, Kind::RangeDeletion)[1..],
            [0x0f, 255, 255, 255, 255, 255, 255, 255]
        );
    }

    #[test]
    fn short_keys_and_unknown_kinds_are_corruption() {
        assert!(ParsedInternalKey::parse(b"short").unwrap_err().is_corruption());
        assert!(
            ParsedInternalKey::parse(&[b'k', 0x55, 0, 0, 0, 0, 0, 0, 0])
                .unwrap_err()
                .is_corruption()
        );
    }
}
