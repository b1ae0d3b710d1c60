//! Merge operators: how `Merge` operands and an older value become one value.

mod builtin;

use crate::user_code;

pub use builtin::{BytesXor, Max, Put, SortList, StringAppend, UInt64Add, builtin, field_of, from_text};

/// Combines operands. Must be deterministic: the engine calls it on reads and compactions, in any grouping.
pub trait MergeOperator: Send + Sync + 'static {
    /// Name stored in SST properties and the OPTIONS file.
    fn name(&self) -> &str;

    /// Its words in the OPTIONS file: the name, or `{id=NAME;...}` where a program that has the operator built in needs settings to make
    /// it. Default: the name.
    fn text(&self) -> String {
        self.name().to_owned()
    }

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
