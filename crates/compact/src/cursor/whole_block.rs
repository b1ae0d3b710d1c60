//! Blocks all of whose entries survive as they are.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use base::internal_key::{self, TRAILER_LEN};
use base::{BlockwiseCursor, Kind, SeqNo};

use super::{CompactionCursor, NO_STRIPE, ValueAt};
use crate::order;

/// The entries of a block that survive, summed up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlockRun {
    pub entries: u64,
    pub smallest_seqno: SeqNo,
    pub largest_seqno: SeqNo,
    raw_key_bytes: u64,
    raw_value_bytes: u64,
    /// Stripe of the last.
    last_ceiling: SeqNo,
}

impl<C: BlockwiseCursor> CompactionCursor<C> {
    /// True if blocks may survive whole at all: nothing configured has to see each entry.
    pub(crate) fn may_keep_blocks(&self) -> bool {
        !self.slow
    }

    /// True if the current entry is the first of a block and as it is there.
    #[inline]
    pub(crate) fn at_block_start(&self) -> bool {
        self.input.at_block_start() && matches!(self.value, ValueAt::Input) && !self.ahead
    }

    /// A user key at or behind the block it stands at the beginning of, if nothing of another source, nor the end of the range, comes before
    /// that.
    pub(crate) fn lone_block_bound(&self) -> Option<&[u8]> {
        let bound = self.input.lone_block_bound()?;
        let ends_before = |end: &Vec<u8>| order::bare(&self.cmp, bound, end) == Ordering::Less;
        self.end.as_ref().is_none_or(ends_before).then_some(bound)
    }

    /// Whether every entry of the block it stands at the beginning of is to be written as it is: values alone, none hidden by the one before
    /// it, none to get another sequence number.
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
                // That it survives is known, and whether it is the first of its key.
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

    /// To the first surviving entry behind the block, which was written as it is.
    pub(crate) fn leave_block(&mut self, run: &BlockRun) {
        // The first was counted when it was come to.
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

    /// The input, which stands where the cursor does.
    pub(crate) fn input_mut(&mut self) -> &mut C {
        &mut self.input
    }
}
