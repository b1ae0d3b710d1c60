//! Everything except the plain case: timestamps, filters, blobs, deletions, range tombstones.

use std::cmp::Ordering;

use base::internal_key::{self, TRAILER_LEN};
use base::{Cursor, Error, Kind, SeqNo};

use super::filter::Filtered;
use super::state::{CompactionCursor, NO_STRIPE, Relation, ValueAt};
use crate::filter::may_refer_to_blobs;

impl<C: Cursor> CompactionCursor<C> {
    /// Handles the input's entry where bytes alone do not tell keys apart, or an entry needs more than its
    /// kind. True if the cursor is at an entry to be yielded, or failed.
    #[inline(never)]
    pub(super) fn advance_slowly(&mut self, trailer: u64) -> bool {
        if self.next_start < self.starts.len() && self.show_tombstone_start(false) {
            return true;
        }
        let internal = self.input.key();
        self.stats.num_input_records += 1;
        self.stats.total_input_raw_key_bytes += internal.len() as u64;
        self.stats.total_input_raw_value_bytes += self.input.value().len() as u64;
        if self.blobs.is_some() && may_refer_to_blobs(trailer as u8) && !self.enter_blob() {
            return true;
        }
        let user_key = internal_key::user_key(self.input.key());
        if let Some(trim_ts) = &self.trim_ts
            && self.cmp.compare_timestamp(self.cmp.timestamp(user_key), trim_ts) == Ordering::Greater
        {
            // Newer versions come first, so a look ahead from another version of the key never meets an entry
            // newer than `trim_ts`.
            return self.drop_hidden();
        }
        let relation = self.relation(user_key);
        if relation != Relation::Same {
            let was_below = self.has_key && self.below_low;
            let user_key = internal_key::user_key(self.input.key());
            self.below_low = match &self.full_history_ts_low {
                Some(low) => self.cmp.compare_timestamp(self.cmp.timestamp(user_key), low) == Ordering::Less,
                None => false,
            };
            // Versions older than `full_history_ts_low` are versions of one key. Every other timestamp makes
            // a key of its own.
            if relation == Relation::OtherKey || !self.below_low || !was_below {
                self.last_ceiling = NO_STRIPE;
                self.unmerged = false;
            }
            if relation == Relation::OtherKey {
                self.shown_user_key = false;
            }
            if self.older_versions.matter() {
                let newer = &self.key[..self.key.len().saturating_sub(TRAILER_LEN)];
                let is_version = self.has_key && self.cmp.is_older_version(newer, user_key);
                self.older_versions.begin_key(is_version);
            }
            self.key.clear();
            self.key.extend_from_slice(self.input.key());
            self.has_key = true;
            self.shown = false;
            self.zeroed = false;
        }
        self.consider(relation != Relation::Same, trailer)
    }

    /// Decides about the input's entry, whose user key is in `key`. `first`: the entry is the newest version
    /// of its key. True if the cursor is at an entry to be yielded, or failed; otherwise the input has moved
    /// to the next entry to consider.
    #[inline(never)]
    pub(super) fn consider(&mut self, first: bool, trailer: u64) -> bool {
        let seqno = trailer >> 8;
        let mut kind = match Kind::from_byte(trailer as u8) {
            Some(kind) if kind != Kind::RangeDeletion => kind,
            _ => return self.unknown_kind(trailer),
        };
        let mut value = ValueAt::Input;
        if kind.is_tombstone() {
            self.stats.num_input_deletion_records += 1;
        }
        if first && self.filter.is_some() {
            match self.apply_filter(&mut kind, &mut value) {
                Filtered::Kept => {}
                Filtered::Skipped => return self.error.is_some(),
            }
        }

        let ceiling = self.stripes.of(seqno);
        let last_ceiling = std::mem::replace(&mut self.last_ceiling, ceiling);
        if last_ceiling != ceiling {
            self.unmerged = false;
        }
        if self.clear_next {
            // The entry is the value that the single deletion just yielded hides. No reader sees it, so it is
            // yielded empty.
            self.clear_next = false;
            return self.show(seqno, Kind::Value, ValueAt::Empty, false);
        }
        if kind == Kind::SingleDeletion {
            return self.single_delete(seqno, last_ceiling);
        }
        if last_ceiling <= ceiling && !self.unmerged {
            return self.drop_hidden();
        }
        match kind {
            Kind::Deletion => self.delete(seqno, kind),
            Kind::DeletionWithTimestamp if self.below_low => self.delete(seqno, kind),
            Kind::ValuePreferredSeqno => self.prefer_seqno(seqno),
            Kind::Merge => self.merge(seqno),
            _ if self.covered(seqno) => self.drop_covered(),
            _ => self.show(seqno, kind, value, false),
        }
    }

    fn drop_covered(&mut self) -> bool {
        self.stats.num_record_drop_range_del += 1;
        self.drop_hidden()
    }

    /// The sequence number and kind byte of the input's entry, if it has the current user key, timestamps
    /// ignored.
    fn same_user_key(&self) -> Option<(SeqNo, u8)> {
        if !self.input.valid() {
            return None;
        }
        let internal = self.input.key();
        let user_key = internal.get(..internal.len().checked_sub(TRAILER_LEN)?)?;
        let current = &self.key[..self.key.len() - TRAILER_LEN];
        (self.cmp.compare_without_timestamp(current, user_key) == Ordering::Equal).then(|| {
            let trailer = internal_key::trailer(internal);
            (trailer >> 8, trailer as u8)
        })
    }

    /// Skips an entry found by looking ahead: the entry is hidden, and hides no other entry.
    fn pass_hidden(&mut self, kind: u8) -> bool {
        self.stats.num_input_records += 1;
        self.stats.num_record_drop_hidden += 1;
        self.count_raw_bytes();
        if Kind::from_byte(kind).is_some_and(Kind::is_tombstone) {
            self.stats.num_input_deletion_records += 1;
        }
        if may_refer_to_blobs(kind) && !self.enter_blob() {
            return true;
        }
        self.skip_entry()
    }

    fn delete(&mut self, seqno: SeqNo, kind: Kind) -> bool {
        let ends_here = self.ends_here();
        if ends_here && seqno <= self.stripes.earliest() {
            // The entries that the deletion hides are in the same stripe, and are dropped with it.
            self.drop_deletion();
            self.unmerged = false;
            return self.skip_entry();
        }
        if !ends_here {
            if self.covered(seqno) {
                return self.drop_covered();
            }
            return self.show(seqno, kind, ValueAt::Empty, false);
        }
        // A snapshot may see older versions of the key: the deletion is needed if such versions exist.
        let floor = self.stripes.floor();
        self.input.next();
        while let Some((older, kind)) = self.same_user_key() {
            if older < floor {
                break;
            }
            if self.pass_hidden(kind) {
                return true;
            }
        }
        if self.same_user_key().is_some() {
            return self.show(seqno, kind, ValueAt::Empty, true);
        }
        self.drop_deletion();
        false
    }

    fn drop_deletion(&mut self) {
        self.stats.num_record_drop_obsolete += 1;
        if !self.bottommost {
            self.stats.num_optimized_del_drop_obsolete += 1;
        }
    }

    /// A single deletion hides exactly one value. It must not be dropped as hidden: its value would then stay
    /// visible, or an older value would reappear.
    fn single_delete(&mut self, seqno: SeqNo, last_ceiling: SeqNo) -> bool {
        let floor = self.stripes.floor();
        // Transactions look for the last write to a key that is newer than their snapshots.
        let no_conflict =
            self.shown || seqno <= self.earliest_write_conflict_snapshot || seqno <= self.stripes.earliest();
        let droppable = self.ts_size == 0 || self.below_low;
        self.input.next();
        match self.same_user_key() {
            Some((_, kind)) if self.zeroed => {
                self.stats.num_record_drop_obsolete += 1;
                self.pass_hidden(kind)
            }
            Some((older, _)) if older < floor => self.show(seqno, Kind::SingleDeletion, ValueAt::Empty, true),
            Some((_, kind)) => match Kind::from_byte(kind) {
                Some(Kind::SingleDeletion | Kind::Deletion | Kind::DeletionWithTimestamp) => {
                    // The older single deletion suffices, so the newer one is dropped.
                    self.stats.num_record_drop_obsolete += 1;
                    self.stats.num_single_del_mismatch += 1;
                    self.last_ceiling = last_ceiling;
                    false
                }
                _ if !droppable => self.show(seqno, Kind::SingleDeletion, ValueAt::Empty, true),
                Some(Kind::Value | Kind::BlobIndex | Kind::WideColumnEntity | Kind::ValuePreferredSeqno) => {
                    if no_conflict {
                        self.stats.num_record_drop_obsolete += 1;
                        return self.pass_hidden(kind);
                    }
                    self.clear_next = true;
                    self.show(seqno, Kind::SingleDeletion, ValueAt::Empty, true)
                }
                // Merge operands after a single deletion violate its contract. The single deletion stays: it
                // hides the operands, and the value below them for which it was written.
                _ => {
                    self.stats.num_single_del_mismatch += 1;
                    self.keep_single_delete(seqno, droppable)
                }
            },
            None => self.keep_single_delete(seqno, droppable),
        }
    }

    /// Keeps a single deletion whose value is not in its stripe, unless the key does not exist below the
    /// output.
    fn keep_single_delete(&mut self, seqno: SeqNo, droppable: bool) -> bool {
        if droppable && seqno <= self.stripes.earliest() && self.ends_here() {
            self.stats.num_single_del_fallthru += 1;
            self.drop_deletion();
            return false;
        }
        if self.zeroed {
            self.stats.num_record_drop_obsolete += 1;
            return false;
        }
        self.show(seqno, Kind::SingleDeletion, ValueAt::Empty, true)
    }

    /// A value with a preferred sequence number gets that number where no older entry is left that could come
    /// between. It then becomes a plain value.
    fn prefer_seqno(&mut self, seqno: SeqNo) -> bool {
        if self.covered(seqno) {
            return self.drop_covered();
        }
        let history_ended = self.ts_size == 0 || self.below_low;
        if seqno > self.stripes.earliest() || !history_ended || !self.ends_here() {
            return self.show(seqno, Kind::ValuePreferredSeqno, ValueAt::Input, false);
        }
        let value = self.input.value();
        let Some(len) = value.len().checked_sub(8) else {
            let len = value.len();
            self.fail(Error::corruption(format!(
                "value of {len} bytes with a preferred sequence number"
            )));
            return true;
        };
        let preferred = base::coding::u64_at(value, len).min(seqno);
        // With the lower sequence number, the value would be hidden by a range tombstone older than the
        // entry, unless the tombstone is dropped at the bottom anyway. With timestamps, that includes a
        // tombstone that hides nothing yet.
        let zeroed = seqno < self.zero_below && self.ts_size == 0;
        let stays = !zeroed && self.has_tombstones && (self.ts_size > 0 || self.covered(preferred));
        if stays {
            return self.show(seqno, Kind::ValuePreferredSeqno, ValueAt::Input, false);
        }
        self.stats.num_timed_put_swap_preferred_seqno += 1;
        self.show(preferred, Kind::Value, ValueAt::InputPrefix(len), false)
    }

    #[cold]
    fn unknown_kind(&mut self, trailer: u64) -> bool {
        self.stats.num_input_corrupt_records += 1;
        if !self.keep_unknown_kinds {
            self.fail(Error::corruption(format!(
                "internal key of unknown kind {:#04x} in a compaction",
                trailer as u8
            )));
            return true;
        }
        // The meaning of the entry is unknown, so neither it nor older entries may be dropped.
        let at = self.key.len() - TRAILER_LEN;
        self.key[at..].copy_from_slice(&trailer.to_le_bytes());
        self.starts_user_key = !self.shown_user_key;
        self.shown = true;
        self.shown_user_key = true;
        self.last_ceiling = NO_STRIPE;
        self.zeroed = false;
        self.value = ValueAt::Input;
        true
    }
}
