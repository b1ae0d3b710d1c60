//! Merge operators from functions.
//!
//! ```
//! use esker_rocksdb::{DB, MergeOperands, Options};
//!
//! fn concat(_key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
//!     let mut value = existing.unwrap_or_default().to_vec();
//!     operands.iter().for_each(|operand| value.extend_from_slice(operand));
//!     Some(value)
//! }
//!
//! # let dir = tempfile::tempdir().unwrap();
//! let mut options = Options::default();
//! options.create_if_missing(true);
//! options.set_merge_operator_associative("concat", concat);
//! let db = DB::open(&options, dir.path().join("db")).unwrap();
//! db.put(b"key", b"a").unwrap();
//! db.merge(b"key", b"b").unwrap();
//! db.merge(b"key", b"c").unwrap();
//! assert_eq!(db.get(b"key").unwrap().unwrap(), b"abc");
//! ```

/// A function that merges, with the key, the existing value if there is one, and the operands from oldest to
/// newest. Returns `None` if they cannot be merged.
pub trait MergeFn:
    Fn(&[u8], Option<&[u8]>, &MergeOperands<'_>) -> Option<Vec<u8>> + Send + Sync + 'static
{
}

impl<F> MergeFn for F where
    F: Fn(&[u8], Option<&[u8]>, &MergeOperands<'_>) -> Option<Vec<u8>> + Send + Sync + 'static
{
}

/// The operands of a merge, from oldest to newest.
pub struct MergeOperands<'a> {
    operands: &'a [&'a [u8]],
}

impl<'a> MergeOperands<'a> {
    /// The number of operands.
    pub fn len(&self) -> usize {
        self.operands.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.operands.is_empty()
    }

    /// An iterator over the operands.
    pub fn iter(&self) -> MergeOperandsIter<'a> {
        MergeOperandsIter(self.operands.iter())
    }
}

impl<'a> IntoIterator for &MergeOperands<'a> {
    type Item = &'a [u8];
    type IntoIter = MergeOperandsIter<'a>;

    fn into_iter(self) -> MergeOperandsIter<'a> {
        self.iter()
    }
}

/// An iterator over the operands of a merge.
pub struct MergeOperandsIter<'a>(std::slice::Iter<'a, &'a [u8]>);

impl<'a> Iterator for MergeOperandsIter<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.0.next().copied()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for MergeOperandsIter<'_> {}

/// A merge operator from two functions.
pub(crate) struct FunctionMerge<F, PF> {
    pub(crate) name: String,
    pub(crate) full: F,
    pub(crate) partial: PF,
}

impl<F: MergeFn, PF: MergeFn> esker::MergeOperator for FunctionMerge<F, PF> {
    fn name(&self) -> &str {
        &self.name
    }

    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        (self.full)(key, existing, &MergeOperands { operands })
    }

    fn partial_merge(&self, key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        let operands = &[older, newer];
        (self.partial)(key, None, &MergeOperands { operands })
    }
}
