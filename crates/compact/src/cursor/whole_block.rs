//! Many entries at once: blocks whose entries all survive unchanged, and entries of a block that are the
//! plain case.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use base::internal_key::{self, TRAILER_LEN};
use base::{BlockwiseCursor, Kind, SeqNo};

use super::state::{CompactionCursor, NO_STRIPE, ValueAt};
use crate::order;

/// A summary of the entries of a block that survives whole.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlockRun {
    pub entries: u64,
    pub smallest_seqno: SeqNo,
    pub largest_seqno: SeqNo,
    raw_key_bytes: u64,
    raw_value_bytes: u64,
    /// The stripe of the last entry.
    last_ceiling: SeqNo,
}

impl<C: BlockwiseCursor> CompactionCursor<C> {
    /// True if blocks may survive whole: no configured feature has to see each entry.
    pub(crate) fn may_keep_blocks(&self) -> bool {
        !self.slow
    }

    /// True if the current entry is the first of a block and unchanged.
    #[inline]
    pub(crate) fn at_block_start(&self) -> bool {
        self.input.at_block_start() && matches!(self.value, ValueAt::Input) && !self.ahead
    }

    /// A user key at or after the end of the block that the cursor is at the start of, if no entry of another
    /// source, nor the end of the range, comes before it.
    pub(crate) fn lone_block_bound(&self) -> Option<&[u8]> {
        let bound = self.input.lone_block_bound()?;
        let ends_before = |end: &Vec<u8>| order::bare(&self.cmp, bound, end) == Ordering::Less;
        self.end.as_ref().is_none_or(ends_before).then_some(bound)
    }

    /// The summary of the block that the cursor is at the start of, if every entry of it is to be written
    /// unchanged: only values, none hidden by the previous entry, none that gets another sequence number.
    pub(crate) fn surviving_block(&mut self) -> Option<BlockRun> {
        if self.unmerged || self.clear_next || self.key != self.input.key() {
            return None;
        }
        let mut run = BlockRun {
            smallest_seqno: SeqNo::MAX,
            last_ceiling: NO_STRIPE,
            ..BlockRun::default()
        };
        let (stripes, zero_below, ceiling) = (&mut self.stripes, self.zero_below, self.last_ceiling);
        let last = &mut self.block_key;
        last.clear();
        let survive = self.input.walk_block(|key, value| {
            let Some(user_len) = key.len().checked_sub(TRAILER_LEN) else {
                return ControlFlow::Break(());
            };
            let trailer = internal_key::trailer(key);
            let seqno = trailer >> 8;
            if trailer as u8 != Kind::Value as u8 || (seqno < zero_below && seqno != 0) {
                return ControlFlow::Break(());
            }
            if run.entries == 0 {
                // The current entry was already found to survive, and whether it is the first of its key is
                // known.
                run.last_ceiling = ceiling;
            } else {
                let is_same = last.len() == key.len() && last[..user_len] == key[..user_len];
                let ceiling = stripes.of(seqno);
                if is_same && run.last_ceiling <= ceiling {
                    return ControlFlow::Break(());
                }
                run.last_ceiling = ceiling;
            }
            last.clear();
            last.extend_from_slice(key);
            run.entries += 1;
            run.smallest_seqno = run.smallest_seqno.min(seqno);
            run.largest_seqno = run.largest_seqno.max(seqno);
            run.raw_key_bytes += key.len() as u64;
            run.raw_value_bytes += value.len() as u64;
            ControlFlow::Continue(())
        });
        (survive && run.entries > 0).then_some(run)
    }

    /// The last internal key of the block that [`surviving_block`](Self::surviving_block) found.
    pub(crate) fn last_of_block(&self) -> &[u8] {
        &self.block_key
    }

    /// Moves to the first surviving entry after the block, which was written unchanged.
    pub(crate) fn leave_block(&mut self, run: &BlockRun) {
        // The first entry of the block was counted when the cursor reached the entry.
        self.stats.num_input_records += run.entries - 1;
        self.stats.total_input_raw_key_bytes += run.raw_key_bytes - self.key.len() as u64;
        self.stats.total_input_raw_value_bytes += run.raw_value_bytes - self.input.value().len() as u64;
        std::mem::swap(&mut self.key, &mut self.block_key);
        self.last_ceiling = run.last_ceiling;
        self.zeroed = internal_key::seqno(&self.key) < self.zero_below;
        self.shown = true;
        self.shown_user_key = true;
        self.input.leave_block();
        self.advance();
    }

    /// True if the current entry is unchanged in the input, except perhaps for its sequence number, and the
    /// input has not moved past it.
    #[inline]
    pub(crate) fn may_run(&self) -> bool {
        matches!(self.value, ValueAt::Input) && !self.ahead && !self.unmerged && !self.clear_next
    }

    /// Moves the input past the current entry, and passes the next entries to `add` as long as they are the
    /// plain case and in the same block. It stops at a user key whose prefix is not below `stop`, and at an
    /// entry that `add` refuses. `add` gets the internal key to write, the exact number of bytes it shares
    /// with the previous one, and the value. Requires [`may_run`](Self::may_run). Returns the number of
    /// entries added; [`resume`](Self::resume) must follow.
    #[inline]
    pub(crate) fn run(
        &mut self,
        stop: u64,
        mut add: impl FnMut(&[u8], usize, &[u8]) -> ControlFlow<()>,
    ) -> u64 {
        let stop = match &self.end {
            Some(end) => stop.min(internal_key::prefix(end)),
            None => stop,
        };
        let (stripes, zeroed_key) = (&mut self.stripes, &mut self.block_key);
        let (zero_below, mut last_len) = (self.zero_below, self.key.len());
        let (mut last_ceiling, mut zeroed) = (self.last_ceiling, self.zeroed);
        let (mut entries, mut key_bytes, mut value_bytes) = (0, 0, 0);
        self.input.run(stop, |internal, common, value| {
            let Some(user_len) = internal.len().checked_sub(TRAILER_LEN) else {
                return ControlFlow::Break(());
            };
            let trailer = internal_key::trailer(internal);
            let seqno = trailer >> 8;
            // The plain case excludes another version of the previous user key, and a key that has the
            // previous user key as a prefix.
            if trailer as u8 != Kind::Value as u8 || common + TRAILER_LEN >= last_len {
                return ControlFlow::Break(());
            }
            let zero = seqno < zero_below;
            if zero && seqno != 0 {
                zeroed_key.clear();
                zeroed_key.extend_from_slice(internal);
                let trailer = internal_key::pack_trailer(0, Kind::Value as u8);
                zeroed_key[user_len..].copy_from_slice(&trailer.to_le_bytes());
                add(zeroed_key, common, value)?;
            } else {
                add(internal, common, value)?;
            }
            (last_ceiling, zeroed, last_len) = (stripes.of(seqno), zero, internal.len());
            entries += 1;
            key_bytes += internal.len() as u64;
            value_bytes += value.len() as u64;
            ControlFlow::Continue(())
        });
        (self.last_ceiling, self.zeroed) = (last_ceiling, zeroed);
        self.stats.num_input_records += entries;
        self.stats.total_input_raw_key_bytes += key_bytes;
        self.stats.total_input_raw_value_bytes += value_bytes;
        entries
    }

    /// Moves to the next surviving entry after a [run](Self::run) whose last key was `last`, if it added any
    /// entries.
    pub(crate) fn resume(&mut self, last: Option<&[u8]>) {
        if let Some(last) = last {
            self.key.clear();
            self.key.extend_from_slice(last);
        }
        self.advance();
    }

    /// The input, at the cursor's position.
    pub(crate) fn input_mut(&mut self) -> &mut C {
        &mut self.input
    }
}
