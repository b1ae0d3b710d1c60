//! Merge operators: how `Merge` operands and an older value become one value.

use std::sync::Arc;

use crate::user_code;

/// Combines operands. Must be deterministic: the engine calls it on reads and compactions, in any grouping.
pub trait MergeOperator: Send + Sync + 'static {
    /// Name stored in SST properties and the OPTIONS file.
    fn name(&self) -> &str;

    /// The value of `key` from its older value, if there is one, and the operands from oldest to newest.
    /// `None` says the operands cannot be merged, which fails the read.
    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>>;

    /// One operand that does what `older` and then `newer` would. `None`: keep both.
    fn partial_merge(&self, _key: &[u8], _older: &[u8], _newer: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

impl dyn MergeOperator {
    /// [`full_merge`](MergeOperator::full_merge); a panic in it is known by the operator's name.
    #[inline]
    pub fn merged(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        user_code::call(
            MERGE_OPERATOR,
            || self.name(),
            || self.full_merge(key, existing, operands),
        )
    }

    /// The same of [`partial_merge`](MergeOperator::partial_merge).
    #[inline]
    pub fn combined(&self, key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        user_code::call(
            MERGE_OPERATOR,
            || self.name(),
            || self.partial_merge(key, older, newer),
        )
    }
}

const MERGE_OPERATOR: &str = "merge operator";

/// The built-in operator of that name, by RocksDB's class name or its short name.
pub fn builtin(name: &str) -> Option<Arc<dyn MergeOperator>> {
    Some(match name {
        "StringAppendOperator" | "stringappend" => Arc::new(StringAppend {
            name: "StringAppendOperator",
            delimiter: b",".to_vec(),
        }),
        "StringAppendTESTOperator" | "stringappendtest" => Arc::new(StringAppend {
            name: "StringAppendTESTOperator",
            delimiter: b",".to_vec(),
        }),
        "UInt64AddOperator" | "uint64add" => Arc::new(UInt64Add),
        "PutOperator" | "put" => Arc::new(Put),
        _ => return None,
    })
}

/// Joins value and operands with a delimiter.
#[derive(Debug)]
pub struct StringAppend {
    name: &'static str,
    delimiter: Vec<u8>,
}

impl StringAppend {
    /// With a delimiter of any length.
    pub fn new(delimiter: impl Into<Vec<u8>>) -> StringAppend {
        StringAppend {
            name: "StringAppendOperator",
            delimiter: delimiter.into(),
        }
    }
}

impl MergeOperator for StringAppend {
    fn name(&self) -> &str {
        self.name
    }

    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let parts: Vec<&[u8]> = existing.into_iter().chain(operands.iter().copied()).collect();
        Some(parts.join(&self.delimiter[..]))
    }

    fn partial_merge(&self, _key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        Some([older, newer].join(&self.delimiter[..]))
    }
}

/// Adds little-endian `u64`s, wrapping. A value of another length counts as 0, as in RocksDB.
#[derive(Debug)]
pub struct UInt64Add;

fn u64_or_zero(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

impl MergeOperator for UInt64Add {
    fn name(&self) -> &str {
        "UInt64AddOperator"
    }

    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let start = existing.map_or(0, u64_or_zero);
        let sum = operands
            .iter()
            .fold(start, |sum, operand| sum.wrapping_add(u64_or_zero(operand)));
        Some(sum.to_le_bytes().to_vec())
    }

    fn partial_merge(&self, _key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        Some(
            u64_or_zero(older)
                .wrapping_add(u64_or_zero(newer))
                .to_le_bytes()
                .to_vec(),
        )
    }
}

/// The newest operand wins: a merge that is a put.
#[derive(Debug)]
pub struct Put;

impl MergeOperator for Put {
    fn name(&self) -> &str {
        "PutOperator"
    }

    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        operands.last().copied().or(existing).map(<[u8]>::to_vec)
    }

    fn partial_merge(&self, _key: &[u8], _older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        Some(newer.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builtins_merge_as_rocksdb_does() {
        let append = builtin("stringappend").unwrap();
        assert_eq!(
            append.full_merge(b"k", Some(b"a"), &[b"b", b"c"]).unwrap(),
            b"a,b,c"
        );
        assert_eq!(append.full_merge(b"k", None, &[b"b"]).unwrap(), b"b");
        let add = builtin("UInt64AddOperator").unwrap();
        assert_eq!(
            add.full_merge(b"k", Some(b"odd"), &[&5u64.to_le_bytes(), &7u64.to_le_bytes()])
                .unwrap(),
            12u64.to_le_bytes()
        );
        assert_eq!(
            builtin("put")
                .unwrap()
                .full_merge(b"k", Some(b"old"), &[b"x", b"y"])
                .unwrap(),
            b"y"
        );
        assert!(builtin("unknown").is_none());
    }
}
