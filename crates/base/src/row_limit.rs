//! The limits on the length of keys and values.

use crate::error::{Error, Result};
use crate::internal_key::TRAILER_LEN;

/// The longest value, and the longest key including its timestamp and its trailer of eight bytes, in bytes.
///
/// RocksDB accepts keys and values of up to 4 GiB, but cannot write the longest of them into a table. This
/// limit suits every file format, compression and 32-bit length. It is checked before a row reaches the WAL.
///
/// ```
/// # use esker_base as esker;
/// use esker::RowLimit;
///
/// assert!(RowLimit::MAX.allows(b"key".len(), 1 << 30));
/// assert!(RowLimit::at_most(20).check(b"key", &[0; 21]).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLimit(usize);

impl RowLimit {
    /// The highest limit: 2 GiB - 1.
    pub const MAX: RowLimit = RowLimit(i32::MAX as usize);

    /// A lower limit, for tests of rows at the limit. [`MAX`](RowLimit::MAX) if `bytes` is more.
    pub fn at_most(bytes: usize) -> RowLimit {
        RowLimit(bytes.min(RowLimit::MAX.0))
    }

    /// The limit in bytes.
    #[inline]
    pub fn bytes(self) -> usize {
        self.0
    }

    /// True if a key of `key_len` bytes, including its timestamp, and a value of `value_len` bytes can be in
    /// one row.
    #[inline]
    pub fn allows(self, key_len: usize, value_len: usize) -> bool {
        key_len.saturating_add(TRAILER_LEN).max(value_len) <= self.0
    }

    /// `InvalidArgument` unless a user key, including its timestamp, and a value can be in one row.
    #[inline]
    pub fn check(self, user_key: &[u8], value: &[u8]) -> Result<()> {
        match self.allows(user_key.len(), value.len()) {
            true => Ok(()),
            false => Err(self.error(user_key.len(), value.len())),
        }
    }

    /// `InvalidArgument` unless a user key, including its timestamp, can be in a row.
    #[inline]
    pub fn check_key(self, user_key: &[u8]) -> Result<()> {
        self.check(user_key, &[])
    }

    /// `InvalidArgument` unless a value can be in a row.
    #[inline]
    pub fn check_value(self, value: &[u8]) -> Result<()> {
        self.check(&[], value)
    }

    /// The `InvalidArgument` that names the part that is too large.
    #[cold]
    #[inline(never)]
    pub fn error(self, key_len: usize, value_len: usize) -> Error {
        let RowLimit(limit) = self;
        Error::invalid_argument(if value_len > limit {
            format!("value is too large: {value_len} bytes, at most {limit}")
        } else {
            let len = key_len.saturating_add(TRAILER_LEN);
            format!("key is too large: {len} bytes with its timestamp and trailer, at most {limit}")
        })
    }
}

impl Default for RowLimit {
    fn default() -> RowLimit {
        RowLimit::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_key_and_value_are_allowed_and_no_larger_ones() {
        let max = RowLimit::MAX;
        let limit = max.bytes();
        assert_eq!(limit, (1 << 31) - 1);
        assert_eq!(RowLimit::default(), max);
        assert_eq!(RowLimit::at_most(usize::MAX), max);
        assert!(max.allows(limit - TRAILER_LEN, limit));
        assert!(!max.allows(limit - TRAILER_LEN + 1, 0));
        assert!(!max.allows(0, limit + 1));
        assert!(!max.allows(usize::MAX, 0));
    }

    #[test]
    fn an_error_names_what_is_too_large_and_the_limit() {
        let limit = RowLimit::at_most(20);
        limit.check(&[0; 12], &[0; 20]).unwrap();
        let text = |result: Result<()>| result.unwrap_err().to_string();
        assert_eq!(
            text(limit.check(&[0; 12], &[0; 21])),
            "Invalid argument: value is too large: 21 bytes, at most 20"
        );
        assert_eq!(
            text(limit.check(&[0; 13], &[])),
            "Invalid argument: key is too large: 21 bytes with its timestamp and trailer, at most 20"
        );
        assert_eq!(text(limit.check_key(&[0; 13])), text(limit.check(&[0; 13], b"v")));
        assert_eq!(
            text(limit.check_value(&[0; 21])),
            text(limit.check(b"k", &[0; 21]))
        );
    }
}
