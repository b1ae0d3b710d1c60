//! The merge operands of one key in one stripe.

use base::merge::MergeOperator;
use base::{RowLimit, SeqNo};

/// The operands of one key in one stripe, newest first. The memory is reused for the next key.
#[derive(Debug, Default)]
pub(super) struct Operands {
    /// Each operand, after its timestamp if the family has timestamps.
    pub(super) bytes: Vec<u8>,
    pub(super) items: Vec<Operand>,
    /// The number of operands yielded so far.
    pub(super) shown: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub(super) at: usize,
    pub(super) len: usize,
    pub(super) seqno: SeqNo,
}

impl Operands {
    /// True while uncombined operands remain to be yielded.
    #[inline]
    pub(super) fn pending(&self) -> bool {
        self.shown < self.items.len()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.items.clear();
        self.shown = 0;
    }

    pub(super) fn bytes(&self, at: usize, len: usize) -> &[u8] {
        &self.bytes[at..at + len]
    }

    pub(super) fn push(&mut self, timestamp: &[u8], operand: &[u8], seqno: SeqNo) {
        self.bytes.extend_from_slice(timestamp);
        self.items.push(Operand {
            at: self.bytes.len(),
            len: operand.len(),
            seqno,
        });
        self.bytes.extend_from_slice(operand);
    }

    pub(super) fn get(&self, i: usize) -> &[u8] {
        self.bytes(self.items[i].at, self.items[i].len)
    }

    pub(super) fn oldest_first(&self) -> Vec<&[u8]> {
        (0..self.items.len()).rev().map(|i| self.get(i)).collect()
    }

    /// Combines neighbours while the operator succeeds and its result stays within `limit`. It works in
    /// rounds of pairs, so that appending many short operands copies each of them a logarithmic number of
    /// times.
    pub(super) fn combine(
        &mut self,
        operator: &dyn MergeOperator,
        key: &[u8],
        ts_size: usize,
        limit: RowLimit,
    ) {
        loop {
            let mut kept = 0;
            let mut i = 0;
            while i < self.items.len() {
                let newer = self.items[i];
                self.items[kept] = newer;
                kept += 1;
                i += 1;
                if i == self.items.len() {
                    break;
                }
                let older = self.items[i];
                let combined = operator.combined(
                    key,
                    self.bytes(older.at, older.len),
                    self.bytes(newer.at, newer.len),
                );
                if let Some(combined) = combined.filter(|combined| limit.allows(0, combined.len())) {
                    // The combined operand takes the position and the timestamp of the newer one.
                    self.bytes.extend_from_within(newer.at - ts_size..newer.at);
                    self.items[kept - 1] = Operand {
                        at: self.bytes.len(),
                        len: combined.len(),
                        seqno: newer.seqno,
                    };
                    self.bytes.extend_from_slice(&combined);
                    i += 1;
                }
            }
            if kept == self.items.len() {
                return;
            }
            self.items.truncate(kept);
        }
    }
}
