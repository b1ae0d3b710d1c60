//! Merge operators: how `Merge` operands and an older value become one value.

mod aggregation;
mod builtin;

use crate::user_code;

pub use aggregation::{
    AGGREGATION_ERROR, Aggregation, Aggregator, aggregation_list, aggregation_operand, aggregation_parts,
};

pub use builtin::{BytesXor, Max, Put, SortList, StringAppend, UInt64Add, builtin, field_of, from_text};

/// Combines operands. Must be deterministic: the engine calls it on reads and compactions, in any grouping.
///
/// ```
/// # use esker_base::merge as esker;
/// use esker::MergeOperator;
///
/// struct Longest;
///
/// impl MergeOperator for Longest {
///     fn name(&self) -> &str {
///         "example.Longest"
///     }
///
///     fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
///         let all = existing.into_iter().chain(operands.iter().copied());
///         all.max_by_key(|value| value.len()).map(<[u8]>::to_vec)
///     }
/// }
///
/// assert_eq!(Longest.full_merge(b"key", Some(b"aa"), &[b"b", b"ccc"]), Some(b"ccc".to_vec()));
/// ```
pub trait MergeOperator: Send + Sync + 'static {
    /// The name that SST properties and the OPTIONS file store.
    fn name(&self) -> &str;

    /// The operator's text in the OPTIONS file: the name, or `{id=NAME;...}` if a program that has the
    /// operator built in needs settings to make it. Default: the name.
    fn text(&self) -> String {
        self.name().to_owned()
    }

    /// The value of `key` from its older value, if there is one, and the operands from oldest to newest.
    /// `None` means that the operands cannot be merged; the read then fails.
    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>>;

    /// One operand with the effect of `older` followed by `newer`. `None`: keep the two operands.
    fn partial_merge(&self, _key: &[u8], _older: &[u8], _newer: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

impl dyn MergeOperator {
    /// Calls [`full_merge`](MergeOperator::full_merge). If it panics, the error names the operator.
    #[inline]
    pub fn merged(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        user_code::call(
            MERGE_OPERATOR,
            || self.name(),
            || self.full_merge(key, existing, operands),
        )
    }

    /// Calls [`partial_merge`](MergeOperator::partial_merge). If it panics, the error names the operator.
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
