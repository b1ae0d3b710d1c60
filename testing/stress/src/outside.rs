//! Rows outside the expected state, behind all of its keys: values that operands are merged with, until no
//! row can hold the result.

use base::RowLimit;
use base::merge::{MergeOperator, Put};

use crate::keys::{self, KEY_LEN};

/// The values that are written before operands are merged with them. The compaction filter makes the first
/// one too long.
pub const BASES: [&[u8]; 2] = [b"grows", b"stays"];

/// The byte that operands consist of.
pub const OPERAND: u8 = b'm';

/// The key of row `number`.
pub fn key(number: u64) -> Vec<u8> {
    [keys::key(u64::MAX), keys::key(number)].concat()
}

fn is_outside(key: &[u8]) -> bool {
    key.len() == 2 * KEY_LEN && key.starts_with(&[0xff; KEY_LEN])
}

/// True if the compaction filter gives `value` of `key` a value that is longer than `limit`.
pub fn grows(key: &[u8], value: &[u8], limit: RowLimit) -> bool {
    limit != RowLimit::MAX && is_outside(key) && value == BASES[0]
}

/// RocksDB's `PutOperator`. For a row outside the expected state it appends, so that results exceed the limit
/// of rows.
pub struct AppendsOutside;

impl MergeOperator for AppendsOutside {
    fn name(&self) -> &str {
        Put.name()
    }

    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        if !is_outside(key) {
            return Put.full_merge(key, existing, operands);
        }
        let parts: Vec<&[u8]> = existing.into_iter().chain(operands.iter().copied()).collect();
        Some(parts.concat())
    }

    fn partial_merge(&self, key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        match is_outside(key) {
            true => Some([older, newer].concat()),
            false => Put.partial_merge(key, older, newer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_outside_the_expected_state_are_behind_it() {
        assert!(key(0)[..] > keys::key(u64::MAX)[..]);
        assert!(is_outside(&key(7)) && !is_outside(&keys::key(u64::MAX)));
        assert_eq!(keys::number(&key(7)), None);
        let limit = RowLimit::at_most(1000);
        assert!(grows(&key(7), BASES[0], limit) && !grows(&key(7), BASES[1], limit));
        assert!(!grows(&keys::key(7), BASES[0], limit) && !grows(&key(7), BASES[0], RowLimit::MAX));
    }
}
