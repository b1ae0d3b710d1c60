//! Positions between user keys, where ranges begin and end.

use std::cmp::Ordering;

use base::UserComparator;
use base::internal_key::TRAILER_LEN;

/// A position just before a key or just after it. Ranges are cut at positions rather than at keys, because a
/// file's largest key truncates a tombstone *after* that key, and not every order has a next key to name
/// instead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound<'a> {
    pub key: &'a [u8],
    pub after: bool,
}

impl<'a> Bound<'a> {
    pub fn before(key: &'a [u8]) -> Bound<'a> {
        Bound { key, after: false }
    }

    #[inline]
    pub fn compare(self, cmp: &UserComparator, other: Bound<'_>) -> Ordering {
        compare(cmp, self.key, other.key).then(self.after.cmp(&other.after))
    }
}

/// The part of a user key that is stored: without the timestamp for RocksDB's own orders; the whole key for
/// custom orders, which alone can ignore their timestamps.
#[inline]
pub(crate) fn stored<'a>(cmp: &UserComparator, user_key: &'a [u8]) -> &'a [u8] {
    match cmp {
        UserComparator::Bytewise | UserComparator::ReverseBytewise => user_key,
        UserComparator::BytewiseU64Ts | UserComparator::ReverseBytewiseU64Ts => cmp.strip_timestamp(user_key),
        UserComparator::Custom(_) => user_key,
    }
}

/// Bytes at the end of a stored key that are a timestamp and have no meaning.
pub(crate) fn stored_timestamp_size(cmp: &UserComparator) -> usize {
    match cmp {
        UserComparator::Custom(custom) => custom.timestamp_size(),
        _ => 0,
    }
}

/// Compares stored keys.
#[inline]
pub(crate) fn compare(cmp: &UserComparator, a: &[u8], b: &[u8]) -> Ordering {
    match cmp {
        UserComparator::Bytewise | UserComparator::BytewiseU64Ts => a.cmp(b),
        UserComparator::ReverseBytewise | UserComparator::ReverseBytewiseU64Ts => b.cmp(a),
        UserComparator::Custom(_) => compare_custom(cmp, a, b),
    }
}

#[cold]
fn compare_custom(cmp: &UserComparator, a: &[u8], b: &[u8]) -> Ordering {
    cmp.compare_without_timestamp(a, b)
}

/// The stored part of an internal key's user key. It is empty for a key that is too short, which only a
/// corrupt file has.
pub(crate) fn stored_of_internal<'a>(cmp: &UserComparator, internal_key: &'a [u8]) -> &'a [u8] {
    stored(
        cmp,
        &internal_key[..internal_key.len().saturating_sub(TRAILER_LEN)],
    )
}

/// The position just after `key`. If the order has a next key, it is the position before that key, which is
/// appended to `buffer`.
pub(crate) fn just_after<'a>(cmp: &UserComparator, key: &'a [u8], buffer: &'a mut Vec<u8>) -> Bound<'a> {
    match cmp {
        UserComparator::Bytewise | UserComparator::BytewiseU64Ts => {
            buffer.extend_from_slice(key);
            buffer.push(0);
            Bound::before(buffer)
        }
        _ => Bound { key, after: true },
    }
}

/// True if the stored `key` is from `start` up to `end`, exclusive.
pub(crate) fn contains(cmp: &UserComparator, start: &[u8], end: &[u8], key: &[u8]) -> bool {
    compare(cmp, start, key).is_le() && compare(cmp, key, end).is_lt()
}
