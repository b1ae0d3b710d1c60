//! Passing over what a range tombstone hides without reading it.
//!
//! A scan that has met many hidden keys one after the other asks a second iterator for the next key of the fragment that has anything above
//! the range tombstone, or an inline value. That iterator passes over tables and runs of blocks that tell of nothing such
//! ([`TimeInterval`](crate::TimeInterval)), and so sees too much rather than too little: versions whose removal lies in what was passed over. All of
//! what it shows in vain is hidden, and the scan reads what it names by the iterator it has.

use std::sync::Arc;

use super::Fragment;
use crate::counters::ReadCounters;
use crate::error::Result;
use crate::key::next_user_key;
use crate::reader::{Reader, Span, VersionIter};
use crate::timestamp::Timestamp;
use crate::window::above;

/// Hidden keys after which it is worth a try, for each step that is tried before a seek: making the iterator costs some dozens of steps.
const KEYS_PER_STEP: u32 = 4;

/// Of one scan.
pub(crate) struct Mask<'a> {
    reader: &'a Reader<'a>,
    span: Span<'a>,
    /// Hidden keys that came last, one after the other.
    hidden: u32,
    /// How many there must be for a try.
    patience: u32,
    /// Of the fragment that begins there.
    candidates: Option<(Arc<[u8]>, VersionIter)>,
    /// Of fragments that were left.
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

    /// A key was found to be hidden, or not. True if the next are worth a try.
    pub fn note(&mut self, is_hidden: bool) -> bool {
        self.hidden = if is_hidden { self.hidden + 1 } else { 0 };
        self.hidden > self.patience
    }

    /// What it has cost.
    pub fn counters(&self) -> ReadCounters {
        let mut counters = self.counters;
        if let Some((_, iter)) = &self.candidates {
            counters += iter.counters;
        }
        counters
    }

    /// From `user_key`, which the range tombstone of `fragment` at `mask` hides, to the next key that it may not hide.
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

    /// The same to the key before, where the oldest version is what it is left at.
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

    /// It walked what it could not pass over, which the scan can do by itself.
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
