//! The rows of a scan, in one buffer.
//!
//! ```text
//! row: u32 LE bytes of the value | u32 LE bytes of the key | key of the engine | stored value
//! ```

use base::coding;

use crate::key::mvcc_key::{MvccKey, encoded_len};
use crate::key::timestamp::Timestamp;
use crate::key::value::{Value, is_tombstone};

/// Bytes of the two lengths.
const HEADER: usize = 8;

/// Rows in the order in which a scan found them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    buffer: Vec<u8>,
    count: u64,
}

impl Rows {
    /// The size of a row in the buffer: the lengths of its engine key and of its stored value, plus eight.
    pub(crate) fn size_of(key: MvccKey<'_>, value_len: usize) -> u64 {
        (HEADER + encoded_len(key.user_key, key.timestamp) + value_len) as u64
    }

    /// The length of a row's engine key and stored value.
    pub(crate) fn bytes_of(row: &Row<'_>) -> u64 {
        (encoded_len(row.user_key, row.timestamp) + row.stored.len()) as u64
    }

    pub(crate) fn push(&mut self, user_key: &[u8], timestamp: Timestamp, stored: &[u8]) {
        let start = self.buffer.len();
        coding::put_u32(&mut self.buffer, stored.len() as u32);
        coding::put_u32(&mut self.buffer, 0);
        crate::key::mvcc_key::encode_key(&mut self.buffer, user_key, timestamp);
        let key_len = (self.buffer.len() - start - HEADER) as u32;
        self.buffer[start + 4..start + HEADER].copy_from_slice(&key_len.to_le_bytes());
        self.buffer.extend_from_slice(stored);
        self.count += 1;
    }

    /// Keeps only the first `count` rows.
    pub(crate) fn truncate(&mut self, count: u64) {
        let kept: usize = self
            .iter()
            .take(count as usize)
            .map(|row| HEADER + Rows::bytes_of(&row) as usize)
            .sum();
        self.buffer.truncate(kept);
        self.count = self.count.min(count);
    }

    /// Appends the rows of `other`.
    pub(crate) fn append(&mut self, other: &Rows) {
        self.buffer.extend_from_slice(&other.buffer);
        self.count += other.count;
    }

    /// The number of rows.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The size of the rows in bytes, which [`target_bytes`](crate::MvccReadOptions::target_bytes) limits.
    pub fn bytes(&self) -> u64 {
        self.buffer.len() as u64
    }

    /// Iterates over the rows without a copy.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        let mut rest = &self.buffer[..];
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let value_len = coding::u32_at(rest, 0) as usize;
            let key_len = coding::u32_at(rest, 4) as usize;
            let (key, stored) = rest[HEADER..HEADER + key_len + value_len].split_at(key_len);
            rest = &rest[HEADER + key_len + value_len..];
            let key = MvccKey::decode(key).expect("the key it was made with");
            Some(Row {
                user_key: key.user_key,
                timestamp: key.timestamp,
                stored,
            })
        })
    }
}

/// A version that a scan found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// The user key.
    pub user_key: &'a [u8],
    /// The time of the version; [`Timestamp::ZERO`] for an inline value.
    pub timestamp: Timestamp,
    /// The value as it is stored.
    pub stored: &'a [u8],
}

impl<'a> Row<'a> {
    /// The value, with its checksum verified; `None` for a deletion.
    pub fn value(&self) -> base::Result<Option<Value<'a>>> {
        if is_tombstone(self.stored) {
            return Ok(None);
        }
        Value::decode_checked(self.stored, self.user_key).map(Some)
    }
}
