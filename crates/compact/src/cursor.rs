//! The compaction cursor: walks the merged entries of a compaction's inputs and yields those that must
//! survive it.
//!
//! Entries survive as in RocksDB. Snapshots divide sequence numbers into [stripes](crate::stripes). Readers
//! see only the newest version of a key within a stripe. So:
//!
//! * older versions in the same stripe are dropped;
//! * a deletion is dropped once nothing that it hides can be left: every snapshot sees it and its key is not
//!   [beyond the output](crate::beyond), or it is the last version of its key in its stripe and nothing is
//!   beyond;
//! * a single deletion is dropped together with the value it meets in its stripe, or as a deletion is;
//! * merge operands are combined within their stripe, with their value if it is there, and become a value
//!   where the history of their key ends; operands that cannot be combined stay as they are;
//! * entries that a range tombstone of the same stripe covers are dropped;
//! * at the bottom, entries that every snapshot sees get sequence number 0.
//!
//! In families with timestamps, every version of a key is a key of its own, except those older than
//! `full_history_ts_low`, which count as versions of one key.
//!
//! The plain case, a value with no configured feature that may change it, costs one comparison with the
//! previous key, one copy of the key and no allocation. Everything else is out of line.

mod filter;
mod merge;
mod older_versions;
mod operands;
mod rules;
mod show;
mod state;
#[cfg(test)]
mod tests;
mod whole_block;

use std::cmp::Ordering;

use base::internal_key::{self, TRAILER_LEN};
use base::{Cursor, Error, Kind, MAX_SEQNO};

use crate::order;
use state::{NO_STRIPE, ValueAt};

pub use state::{CompactionCursor, CompactionRules, CompactionStats};
pub(crate) use whole_block::BlockRun;

impl<C: Cursor> CompactionCursor<C> {
    /// Moves to the first surviving entry.
    pub fn seek_to_first(&mut self) {
        self.input.seek_to_first();
        self.restart(0);
    }

    /// Moves to the first surviving entry with a user key of at least `start`, which has no timestamp.
    pub fn seek(&mut self, start: &[u8]) {
        let mut target = start.to_vec();
        // The greatest timestamp sorts first.
        target.resize(start.len() + self.ts_size, 0xff);
        let mut seek = Vec::new();
        internal_key::set_seek_target(&mut seek, &target, MAX_SEQNO);
        self.input.seek(&seek);
        let at = self.starts.seek(&self.cmp, &target);
        self.restart(at);
    }

    fn restart(&mut self, next_start: usize) {
        self.next_start = next_start;
        self.has_key = false;
        self.clear_next = false;
        self.error = None;
        self.operands.clear();
        self.advance();
    }

    /// True where the current position is not an entry, but the user key at which a range tombstone starts:
    /// an output file may be cut there. It must not be written; a file's tombstones are written when the file
    /// is closed.
    #[inline]
    pub fn is_tombstone_start(&self) -> bool {
        self.is_tombstone_start
    }

    /// True at the first entry yielded of a user key (timestamps ignored): a file may only be cut before such
    /// an entry.
    #[inline]
    pub fn starts_user_key(&self) -> bool {
        self.starts_user_key
    }

    /// Moves to the next surviving entry. Requires [`valid`](CompactionCursor::valid).
    #[inline]
    pub fn next(&mut self) {
        base::invariant!(self.valid());
        if self.operands.pending() {
            return self.show_operand();
        }
        if !self.ahead {
            self.input.next();
        }
        self.advance();
    }

    /// Moves from the input's position to the next surviving entry.
    fn advance(&mut self) {
        self.ahead = false;
        self.is_tombstone_start = false;
        loop {
            if !self.input.valid() {
                return self.finish();
            }
            let internal = self.input.key();
            let Some(user_len) = internal.len().checked_sub(TRAILER_LEN) else {
                let len = internal.len();
                return self.fail(Error::corruption(format!(
                    "internal key of {len} bytes in a compaction"
                )));
            };
            let user_key = &internal[..user_len];
            if let Some(end) = &self.end
                && order::bare(&self.cmp, self.cmp.strip_timestamp(user_key), end) != Ordering::Less
            {
                return self.finish();
            }
            let trailer = internal_key::trailer(internal);
            if self.slow {
                if self.advance_slowly(trailer) {
                    return;
                }
                continue;
            }

            let same = self.has_key && self.key.len() == internal.len() && self.key[..user_len] == *user_key;
            self.stats.num_input_records += 1;
            self.stats.total_input_raw_key_bytes += internal.len() as u64;
            self.stats.total_input_raw_value_bytes += self.input.value().len() as u64;
            if !same {
                self.key.clear();
                self.key.extend_from_slice(internal);
                self.has_key = true;
                self.shown = false;
                self.shown_user_key = false;
                self.last_ceiling = NO_STRIPE;
                self.zeroed = false;
                self.unmerged = false;
            }
            if trailer as u8 != Kind::Value as u8 || self.unmerged || self.clear_next {
                if self.consider(!same, trailer) {
                    return;
                }
                continue;
            }
            let seqno = trailer >> 8;
            let ceiling = self.stripes.of(seqno);
            let hidden = self.last_ceiling <= ceiling;
            self.last_ceiling = ceiling;
            if hidden {
                if self.drop_hidden() {
                    return;
                }
                continue;
            }
            let zero = seqno < self.zero_below;
            self.zeroed = zero;
            if zero {
                self.set_trailer(0, Kind::Value);
            } else if same {
                self.set_trailer(seqno, Kind::Value);
            }
            self.starts_user_key = !self.shown_user_key;
            self.shown = true;
            self.shown_user_key = true;
            self.value = ValueAt::Input;
            return;
        }
    }

    /// The input has ended or failed: only starts of range tombstones remain.
    #[cold]
    fn finish(&mut self) {
        self.value = ValueAt::Nowhere;
        if !self.input.valid()
            && let Err(error) = self.input.status()
        {
            return self.fail(error);
        }
        self.show_tombstone_start(true);
    }
}
