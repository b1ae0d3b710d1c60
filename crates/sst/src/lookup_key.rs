//! The key of a point lookup, as memtables and tables need it.

use std::fmt;

use base::UserComparator;
use base::internal_key::{KIND_FOR_SEEK, SeqNo, TRAILER_LEN, pack_trailer};
use codec::hash::{hash32, xxph3_64};

use crate::filter::LEGACY_SEED;

/// The longest internal key that is stored inline.
const INLINE: usize = 128;

/// A user key and the sequence number to read it at, with its hash for filters.
///
/// User keys of up to 120 bytes are on the stack; longer ones take one allocation. The constructor hashes the
/// key once for all tables in which it is looked up.
#[derive(Clone)]
pub struct LookupKey {
    inline: [u8; INLINE],
    heap: Vec<u8>,
    len: usize,
    seqno: SeqNo,
    timestamp_size: usize,
    filter_hash: u64,
}

impl LookupKey {
    /// A lookup of `user_key` at `seqno`. In families with timestamps the user key ends in its timestamp.
    #[inline]
    pub fn new(user_key: &[u8], seqno: SeqNo, order: &UserComparator) -> LookupKey {
        let len = user_key.len() + TRAILER_LEN;
        let mut key = LookupKey {
            inline: [0; INLINE],
            heap: Vec::new(),
            len,
            seqno,
            timestamp_size: order.timestamp_size().min(user_key.len()),
            filter_hash: xxph3_64(order.strip_timestamp(user_key)),
        };
        let trailer = pack_trailer(seqno, KIND_FOR_SEEK).to_le_bytes();
        if len <= INLINE {
            key.inline[..user_key.len()].copy_from_slice(user_key);
            key.inline[user_key.len()..len].copy_from_slice(&trailer);
        } else {
            key.heap.reserve_exact(len);
            key.heap.extend_from_slice(user_key);
            key.heap.extend_from_slice(&trailer);
        }
        key
    }

    /// The seek target. It sorts before every version visible at the sequence number and after all newer
    /// ones.
    #[inline]
    pub fn internal_key(&self) -> &[u8] {
        if self.len <= INLINE {
            &self.inline[..self.len]
        } else {
            &self.heap
        }
    }

    /// The user key with its timestamp.
    #[inline]
    pub fn user_key(&self) -> &[u8] {
        &self.internal_key()[..self.len - TRAILER_LEN]
    }

    /// The user key without its timestamp.
    #[inline]
    pub fn user_key_without_timestamp(&self) -> &[u8] {
        &self.internal_key()[..self.len - TRAILER_LEN - self.timestamp_size]
    }

    /// The sequence number to read at.
    #[inline]
    pub fn seqno(&self) -> SeqNo {
        self.seqno
    }

    /// The XXPH3-64 hash of the user key without its timestamp.
    #[inline]
    pub fn filter_hash(&self) -> u64 {
        self.filter_hash
    }

    /// The hash of the user key without its timestamp for filters of format versions below 5. Computed on
    /// each call.
    pub fn legacy_filter_hash(&self) -> u32 {
        hash32(self.user_key_without_timestamp(), LEGACY_SEED)
    }
}

impl fmt::Debug for LookupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LookupKey({:02x?} @ {})", self.user_key(), self.seqno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::internal_key;

    #[test]
    fn short_and_long_keys_have_the_same_parts() {
        for len in [0, 1, 8, 119, 120, 121, 500] {
            let user_key = vec![b'k'; len];
            for order in [UserComparator::Bytewise, UserComparator::BytewiseU64Ts] {
                let key = LookupKey::new(&user_key, 77, &order);
                assert_eq!(key.user_key(), user_key);
                assert_eq!(key.seqno(), 77);
                let mut target = Vec::new();
                internal_key::set_seek_target(&mut target, &user_key, 77);
                assert_eq!(key.internal_key(), target);
                let plain = order.strip_timestamp(&user_key);
                assert_eq!(key.user_key_without_timestamp(), plain);
                assert_eq!(key.filter_hash(), xxph3_64(plain));
                assert_eq!(key.legacy_filter_hash(), hash32(plain, LEGACY_SEED));
            }
        }
    }
}
