//! Comparisons of file boundaries and of user keys without their timestamps.

use std::cmp::Ordering;

use base::internal_key::{TRAILER_LEN, trailer, user_key};
use base::{Kind, MAX_SEQNO, UserComparator};

/// The trailer of the largest key of a file whose range tombstone ends at that user key, exclusive.
const SENTINEL: u64 = base::internal_key::pack_trailer(MAX_SEQNO, Kind::RangeDeletion as u8);

/// Compares two user keys without timestamps, even if the family's keys have them.
pub(crate) fn bare(cmp: &UserComparator, a: &[u8], b: &[u8]) -> Ordering {
    match cmp {
        UserComparator::Bytewise | UserComparator::BytewiseU64Ts => a.cmp(b),
        UserComparator::ReverseBytewise | UserComparator::ReverseBytewiseU64Ts => b.cmp(a),
        UserComparator::Custom(custom) => match custom.timestamp_size() {
            0 => cmp.compare(a, b),
            size => {
                let stamped = |key: &[u8]| [key, &vec![0; size]].concat();
                cmp.compare_without_timestamp(&stamped(a), &stamped(b))
            }
        },
    }
}

/// The user key of a boundary, without timestamp. Empty if the boundary is too short for an internal key.
pub(crate) fn bare_user_key<'a>(cmp: &UserComparator, internal: &'a [u8]) -> &'a [u8] {
    cmp.strip_timestamp(&internal[..internal.len().saturating_sub(TRAILER_LEN)])
}

/// True for a largest key that is not itself in the file.
pub(crate) fn is_sentinel(internal: &[u8]) -> bool {
    internal.len() >= TRAILER_LEN && trailer(internal) == SENTINEL
}

/// Compares two file boundaries by user key, timestamps ignored; a sentinel sorts before every other key with
/// its user key. Two files that are equal here share a user key and must be compacted together.
pub(crate) fn boundaries(cmp: &UserComparator, a: &[u8], b: &[u8]) -> Ordering {
    cmp.compare_without_timestamp(user_key(a), user_key(b))
        .then_with(|| is_sentinel(b).cmp(&is_sentinel(a)))
}

#[cfg(test)]
mod tests {
    use base::internal_key::encode;

    use super::*;

    #[test]
    fn a_sentinel_sorts_before_its_user_key() {
        let cmp = UserComparator::Bytewise;
        let sentinel = encode(b"b", MAX_SEQNO, Kind::RangeDeletion);
        let key = encode(b"b", 5, Kind::Value);
        assert_eq!(boundaries(&cmp, &sentinel, &key), Ordering::Less);
        assert_eq!(boundaries(&cmp, &key, &sentinel), Ordering::Greater);
        assert_eq!(
            boundaries(&cmp, &key, &encode(b"b", 9, Kind::Merge)),
            Ordering::Equal
        );
        assert_eq!(boundaries(&cmp, &sentinel, &sentinel), Ordering::Equal);
    }
}
