//! Skips keys that a range tombstone hides, without reading them.
//!
//! A scan that has met many hidden keys in a row asks a second iterator for the next key of the fragment that
//! has a version above the range tombstone, or an inline value. That iterator skips tables and runs of blocks
//! whose properties rule this out ([`TimeInterval`](crate::TimeInterval)), and so sees too much rather than
//! too little: it may see versions whose removal is in a skipped table. Everything it shows wrongly is
//! hidden, and the scan reads the named key with its own iterator.

use std::sync::Arc;

use crate::error::Result;
use crate::key::mvcc_key::next_user_key;
use crate::key::ranges::Fragment;
use crate::key::span::Span;
use crate::key::time_interval::above;
use crate::key::timestamp::Timestamp;
use crate::read::counters::ReadCounters;
use crate::read::reader::Reader;
use crate::read::version_iter::VersionIter;

/// The scan skips hidden keys once it has met this number of them for each step that it tries before a seek:
/// the creation of the second iterator costs some dozens of steps.
const KEYS_PER_STEP: u32 = 4;

/// The state of one scan.
pub(crate) struct Mask<'a> {
    reader: &'a Reader<'a>,
    span: Span<'a>,
    /// The number of hidden keys in a row, up to the last key.
    hidden: u32,
    /// An attempt to skip keys is made after more hidden keys in a row than this number.
    patience: u32,
    /// The start of a fragment, and the second iterator over it.
    candidates: Option<(Arc<[u8]>, VersionIter)>,
    /// The cost of the iterators of earlier fragments.
    counters: ReadCounters,
}

impl<'a> Mask<'a> {
    pub fn new(reader: &'a Reader<'a>, span: Span<'a>) -> Mask<'a> {
        Mask {
            reader,
            span,
            hidden: 0,
            patience: KEYS_PER_STEP * reader.max_steps(),
            candidates: None,
            counters: ReadCounters::default(),
        }
    }

    /// Records whether a key was hidden. True if an attempt to skip the next ones is worthwhile.
    pub fn note(&mut self, is_hidden: bool) -> bool {
        self.hidden = if is_hidden { self.hidden + 1 } else { 0 };
        self.hidden > self.patience
    }

    /// The cost of skipping.
    pub fn counters(&self) -> ReadCounters {
        let mut counters = self.counters;
        if let Some((_, iter)) = &self.candidates {
            counters += iter.counters;
        }
        counters
    }

    /// Moves from `user_key`, which the range tombstone of `fragment` at `mask` hides, to the next key that
    /// it may not hide.
    pub fn skip_forwards(
        &mut self,
        iter: &mut VersionIter,
        fragment: &Fragment,
        mask: Timestamp,
        user_key: &[u8],
    ) -> Result<()> {
        let candidates = self.candidates(fragment, mask)?;
        let before = candidates.counters.steps;
        candidates.seek_key(&next_user_key(user_key));
        while let Some(version) = candidates.current()? {
            if version.timestamp.is_zero() || version.timestamp > mask {
                iter.seek_key(version.user_key);
                break;
            }
            candidates.next_key();
        }
        if candidates.current()?.is_none() {
            iter.seek_key(&fragment.end);
        }
        let in_vain = candidates.counters.steps > before;
        self.learn(in_vain);
        Ok(())
    }

    /// Moves from `user_key`, which the range tombstone of `fragment` at `mask` hides, to the previous key
    /// that it may not hide, and leaves the iterator at the oldest version of that key.
    pub fn skip_backwards(
        &mut self,
        iter: &mut VersionIter,
        fragment: &Fragment,
        mask: Timestamp,
        user_key: &[u8],
    ) -> Result<()> {
        let candidates = self.candidates(fragment, mask)?;
        candidates.seek_before(user_key)?;
        let before = candidates.counters.steps;
        while let Some(version) = candidates.current()? {
            if version.timestamp.is_zero() || version.timestamp > mask {
                iter.seek_before(&next_user_key(version.user_key))?;
                break;
            }
            candidates.prev();
        }
        if candidates.current()?.is_none() {
            iter.seek_before(&fragment.start)?;
        }
        let in_vain = candidates.counters.steps > before;
        self.learn(in_vain);
        Ok(())
    }

    /// Adapts the number of hidden keys that triggers an attempt. `in_vain`: the second iterator stepped over
    /// keys that it could not skip, which the scan can do by itself.
    fn learn(&mut self, in_vain: bool) {
        self.hidden = 0;
        if in_vain {
            self.patience = self.patience.saturating_mul(2);
        }
    }

    fn candidates(&mut self, fragment: &Fragment, mask: Timestamp) -> Result<&mut VersionIter> {
        let (start, iter) = match self.candidates.take() {
            Some(of) if Arc::ptr_eq(&of.0, &fragment.start) => of,
            left => {
                if let Some((_, iter)) = left {
                    self.counters += iter.counters;
                }
                let span = Span {
                    start: self.span.start.max(&fragment.start),
                    end: Some(self.span.end.map_or(&*fragment.end, |end| end.min(&fragment.end))),
                };
                let iter = self.reader.filtered(above(mask)).versions(span)?;
                (fragment.start.clone(), iter)
            }
        };
        Ok(&mut self.candidates.insert((start, iter)).1)
    }
}
