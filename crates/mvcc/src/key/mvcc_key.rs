//! Versioned keys: the engine key of a user key at a time.
//!
//! ```text
//! user key | 0x00 | wall u64 BE | logical u32 BE, unless 0 | length u8
//!          ^      '----------------- suffix ---------------'
//!          sentinel: ends the prefix
//! ```
//!
//! The last byte is the length of the suffix, including itself: 9 with a wall time alone, 13 with a logical
//! counter. A key without a version has no suffix, so its last byte is the sentinel. So the last byte alone
//! determines where a key splits, which is all that filters and block searches need.
//!
//! The suffix of a timestamp is *canonical*: a counter of 0 is never encoded. Keys are equal if and only if
//! their bytes are, so hashes and byte comparisons anywhere in the engine are correct without knowledge of
//! the encoding.
//!
//! The order ([`MvccComparator`](crate::MvccComparator)) is that of the prefixes as bytes, then the key
//! without a version, then versions from the newest to the oldest.

use base::{Error, Result};

use crate::key::timestamp::Timestamp;

/// The byte that ends the user key.
pub(crate) const SENTINEL: u8 = 0;
/// The length in bytes of a key suffix with a wall time alone.
const WALL_SUFFIX: usize = 9;
/// The length in bytes of a key suffix with a wall time and a logical counter.
const FULL_SUFFIX: usize = 13;

/// The maximum number of bytes that an engine key has besides the user key: sentinel and suffix.
pub(crate) const MAX_ADDED_TO_KEY: usize = 1 + FULL_SUFFIX;

/// Bytes that statistics count for the time of each version, however many are stored: an absent counter must
/// not make two versions of one value differ in size.
pub const VERSION_SIZE: usize = 12;

/// A decoded key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MvccKey<'a> {
    /// The user's key.
    pub user_key: &'a [u8],
    /// The version of the key; [`Timestamp::ZERO`] for none.
    pub timestamp: Timestamp,
}

impl<'a> MvccKey<'a> {
    /// Decodes an engine key. `Corruption` if it is not a versioned key: without a sentinel, with a suffix of
    /// another length, or with one that is not canonical.
    #[inline]
    pub fn decode(key: &'a [u8]) -> Result<MvccKey<'a>> {
        let (prefix, suffix) = split(key);
        let Some((&SENTINEL, user_key)) = prefix.split_last() else {
            return Err(malformed(key));
        };
        let timestamp = decode_suffix(suffix).ok_or_else(|| malformed(key))?;
        Ok(MvccKey { user_key, timestamp })
    }

    /// The engine key.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.user_key.len() + 1 + FULL_SUFFIX);
        encode_key(&mut out, self.user_key, self.timestamp);
        out
    }
}

/// Appends the engine key for `user_key` at `timestamp`; at [`Timestamp::ZERO`] the key without a version. A
/// timestamp with a negative part, which [`Timestamp::check`] refuses, gives bytes that do not decode.
#[inline]
pub fn encode_key(out: &mut Vec<u8>, user_key: &[u8], timestamp: Timestamp) {
    out.reserve(user_key.len() + 1 + FULL_SUFFIX);
    out.extend_from_slice(user_key);
    out.push(SENTINEL);
    encode_suffix(out, timestamp);
}

/// The length of the engine key for `user_key` at `timestamp`.
#[inline]
pub(crate) fn encoded_len(user_key: &[u8], timestamp: Timestamp) -> usize {
    user_key.len() + 1 + encoded_suffix_len(timestamp)
}

/// The length of the suffix of `timestamp`.
#[inline]
pub(crate) fn encoded_suffix_len(timestamp: Timestamp) -> usize {
    match timestamp {
        Timestamp::ZERO => 0,
        Timestamp { logical: 0, .. } => WALL_SUFFIX,
        _ => FULL_SUFFIX,
    }
}

/// Appends the suffix of `timestamp`: nothing for [`Timestamp::ZERO`].
#[inline]
pub fn encode_suffix(out: &mut Vec<u8>, timestamp: Timestamp) {
    if timestamp.is_zero() {
        return;
    }
    out.extend_from_slice(&timestamp.wall.to_be_bytes());
    if timestamp.logical == 0 {
        out.push(WALL_SUFFIX as u8);
    } else {
        out.extend_from_slice(&timestamp.logical.to_be_bytes());
        out.push(FULL_SUFFIX as u8);
    }
}

/// The time of a suffix, which is empty or includes its length byte; `None` if it is not canonical.
#[inline]
pub fn decode_suffix(suffix: &[u8]) -> Option<Timestamp> {
    let (wall, logical) = match suffix.len() {
        0 => return Some(Timestamp::ZERO),
        WALL_SUFFIX => (suffix.first_chunk()?, 0),
        FULL_SUFFIX => {
            let (wall, rest) = suffix.split_first_chunk()?;
            let logical = i32::from_be_bytes(*rest.first_chunk()?);
            if logical == 0 {
                return None;
            }
            (wall, logical)
        }
        _ => return None,
    };
    if usize::from(*suffix.last()?) != suffix.len() {
        return None;
    }
    let wall = i64::from_be_bytes(*wall);
    let timestamp = Timestamp { wall, logical };
    (wall >= 0 && logical >= 0 && !timestamp.is_zero()).then_some(timestamp)
}

/// Splits a key into prefix, including the sentinel, and suffix, including its length byte. The prefix is the
/// key of the same user key without a version. Bytes that are not a versioned key are all prefix.
#[inline]
pub fn split(key: &[u8]) -> (&[u8], &[u8]) {
    let suffix = match key.last() {
        Some(9) => WALL_SUFFIX,
        Some(13) => FULL_SUFFIX,
        _ => 0,
    };
    key.split_at(key.len().checked_sub(suffix).unwrap_or(key.len()))
}

/// The first user key after `user_key`, as a start or an end of spans.
pub fn next_user_key(user_key: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(user_key.len() + 1);
    next.extend_from_slice(user_key);
    next.push(0);
    next
}

#[cold]
fn malformed(key: &[u8]) -> Error {
    let (shown, more) = (&key[..key.len().min(64)], if key.len() > 64 { "..." } else { "" });
    Error::corruption(format!("not a versioned key: {}{more}", shown.escape_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn worked_bytes() {
        let key = |logical| MvccKey {
            user_key: b"foo",
            timestamp: Timestamp {
                wall: Timestamp::from_secs(1_000_000).wall,
                logical,
            },
        };
        assert_eq!(hex(&key(0).encode()), "666f6f0000038d7ea4c6800009");
        assert_eq!(hex(&key(8).encode()), "666f6f0000038d7ea4c68000000000080d");
        let unversioned = MvccKey {
            user_key: b"foo",
            timestamp: Timestamp::ZERO,
        };
        assert_eq!(hex(&unversioned.encode()), "666f6f00");
        let newest = MvccKey {
            user_key: b"",
            timestamp: Timestamp::MAX,
        };
        assert_eq!(hex(&newest.encode()), "007fffffffffffffff7fffffff0d");
        for key in [key(0), key(8), unversioned, newest] {
            assert_eq!(MvccKey::decode(&key.encode()).unwrap(), key);
        }
    }

    #[test]
    fn the_prefix_is_a_key_itself() {
        let mut rng = testkit::rng();
        for _ in 0..1000 {
            let len = rng.usize(..6);
            let user_key = rng.bytes(len);
            let timestamp = Timestamp {
                wall: rng.i64(0..300),
                logical: rng.i32(0..3),
            };
            let key = MvccKey {
                user_key: &user_key,
                timestamp,
            };
            let bytes = key.encode();
            let (prefix, suffix) = split(&bytes);
            assert_eq!(decode_suffix(suffix), Some(timestamp));
            let bare = MvccKey::decode(prefix).unwrap();
            assert_eq!((bare.user_key, bare.timestamp), (&user_key[..], Timestamp::ZERO));
            assert_eq!(MvccKey::decode(&bytes).unwrap(), key);
            assert_eq!(bytes.len(), encoded_len(&user_key, timestamp));
        }
    }

    #[test]
    fn what_is_not_canonical_is_refused() {
        let refused = |bytes: &[u8]| {
            let error = MvccKey::decode(bytes).unwrap_err();
            assert!(error.is_corruption(), "{error}");
        };
        refused(b"");
        refused(b"foo");
        // The keys have suffix lengths that other systems use: for a synthetic bit, a lock, only the length.
        for length in [1, 2, 8, 10, 12, 14, 18, 255] {
            refused(&[&b"foo\0aaaaaaaaaaaaaaaaaaaa"[..], &[length]].concat());
        }
        // The first key is too short for its length byte; the second one has no sentinel before the suffix.
        refused(&[0, 0, 9]);
        refused(b"foo\x01\0\0\0\0\0\0\0\x01\x09");
        // The keys have an encoded counter of 0, an encoded time of 0, and negative parts.
        refused(b"foo\0\0\0\0\0\0\0\0\x01\0\0\0\0\x0d");
        refused(b"foo\0\0\0\0\0\0\0\0\0\x09");
        refused(b"foo\0\xff\0\0\0\0\0\0\x01\x09");
        refused(b"foo\0\0\0\0\0\0\0\0\x01\xff\0\0\0\x0d");
        let long = vec![b'x'; 1 << 20];
        assert!(MvccKey::decode(&long).unwrap_err().to_string().len() < 200);
        // Random bytes never panic, and bytes that decode encode to the same bytes.
        let mut rng = testkit::rng();
        for _ in 0..20_000 {
            let len = rng.usize(..20);
            let mut bytes = rng.bytes(len);
            if let Some(last) = bytes.last_mut().filter(|_| rng.bool()) {
                *last = *rng.pick(&[0, 9, 13]);
            }
            if let Ok(key) = MvccKey::decode(&bytes) {
                assert_eq!(key.encode(), bytes);
            }
        }
    }

    #[test]
    fn the_next_user_key_leaves_no_room() {
        assert_eq!(next_user_key(b"a"), b"a\0");
        assert_eq!(next_user_key(b""), b"\0");
    }
}
