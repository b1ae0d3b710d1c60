//! An entry on its way to the output: the tombstones over it, the place of its value, its sequence number.

use std::cmp::Ordering;

use base::internal_key::{self, TRAILER_LEN};
use base::{Cursor, Kind, MAX_SEQNO, SeqNo};

use super::state::{CompactionCursor, Relation, ValueAt};
use crate::filter::{Relocation, may_refer_to_blobs};
use crate::order;

impl<C: Cursor> CompactionCursor<C> {
    /// The relation of `user_key` to that of the previous entry.
    pub(super) fn relation(&self, user_key: &[u8]) -> Relation {
        if !self.has_key {
            return Relation::OtherKey;
        }
        let current = &self.key[..self.key.len() - TRAILER_LEN];
        if current == user_key {
            Relation::Same
        } else if self.cmp.compare_without_timestamp(current, user_key) != Ordering::Equal {
            Relation::OtherKey
        } else if self.ts_size == 0 {
            Relation::Same
        } else {
            match self
                .cmp
                .compare_timestamp(self.cmp.timestamp(current), self.cmp.timestamp(user_key))
            {
                Ordering::Equal => Relation::Same,
                _ => Relation::OtherTimestamp,
            }
        }
    }

    /// Yields the entry of the current user key, as it is to be written. Always true.
    pub(super) fn show(&mut self, mut seqno: SeqNo, mut kind: Kind, mut value: ValueAt, ahead: bool) -> bool {
        self.value = value;
        self.ahead = ahead;
        if self.blobs.is_some() {
            if !self.place_value(&mut kind, &mut value) {
                return true;
            }
            self.older_versions.shown(kind, self.ts_size > 0);
        }
        if seqno < self.zero_below && kind != Kind::Merge && !kind.is_tombstone() {
            let at = self.key.len() - TRAILER_LEN;
            if self.ts_size == 0 {
                (seqno, self.zeroed) = (0, true);
            } else if self.below_low {
                // The timestamp is zeroed with the sequence number: no reader may ask for that time any more.
                // A blob file has the value under the key as it was written, which its readers compare.
                if !may_refer_to_blobs(kind as u8) {
                    self.key[at - self.ts_size..at].fill(0);
                }
                (seqno, self.zeroed) = (0, true);
            }
        }
        if kind != Kind::Merge {
            self.unmerged = false;
        }
        self.set_trailer(seqno, kind);
        self.starts_user_key = !self.shown_user_key;
        self.shown = true;
        self.shown_user_key = true;
        self.value = value;
        true
    }

    /// True if a range tombstone of the same stripe covers version `seqno` of the current user key.
    pub(super) fn covered(&mut self, seqno: SeqNo) -> bool {
        if !self.has_tombstones || (self.ts_size > 0 && !self.below_low) {
            return false;
        }
        let user_key = &self.key[..self.key.len() - TRAILER_LEN];
        self.covering.covering(user_key, self.stripes.of(seqno)) > seqno
    }

    /// True if the current user key does not exist below the output.
    pub(super) fn ends_here(&mut self) -> bool {
        !self.beyond.may_contain(&self.key[..self.key.len() - TRAILER_LEN])
    }

    pub(super) fn count_raw_bytes(&mut self) {
        self.stats.total_input_raw_key_bytes += self.input.key().len() as u64;
        self.stats.total_input_raw_value_bytes += self.input.value().len() as u64;
    }

    /// Reports the input's entry to the blob hook. False if that failed.
    pub(super) fn enter_blob(&mut self) -> bool {
        let Some(blobs) = &mut self.blobs else { return true };
        let internal = self.input.key();
        let Some(kind) = Kind::from_byte(internal_key::kind_byte(internal)) else {
            return true;
        };
        match blobs.enter(internal_key::user_key(internal), kind, self.input.value()) {
            Ok(()) => true,
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    /// Moves the input to the first entry whose user key is at or after `until`. False if `until` is not
    /// ahead.
    pub(super) fn skip_until(&mut self, until: &[u8]) -> bool {
        let current = &self.key[..self.key.len() - TRAILER_LEN];
        if self.cmp.compare(until, current) != Ordering::Greater {
            return false;
        }
        let mut target = Vec::new();
        internal_key::set_seek_target(&mut target, until, MAX_SEQNO);
        self.has_key = false;
        if self.blobs.is_none() {
            if self.input.valid() && self.is_before(until) {
                self.input.seek(&target);
            }
            return true;
        }
        // Every skipped blob must be counted as garbage.
        self.input.next();
        while self.input.valid() && self.is_before(until) {
            if may_refer_to_blobs(internal_key::kind_byte(self.input.key())) && !self.enter_blob() {
                return true;
            }
            self.input.next();
        }
        true
    }

    pub(super) fn is_before(&self, until: &[u8]) -> bool {
        let internal = self.input.key();
        internal.len() >= TRAILER_LEN
            && self.cmp.compare(internal_key::user_key(internal), until) == Ordering::Less
    }

    /// Stores the value where it belongs: a large value goes to a blob file, and a value whose blob file is
    /// being collected goes to another one. False if that failed.
    pub(super) fn place_value(&mut self, kind: &mut Kind, value: &mut ValueAt) -> bool {
        if *kind == Kind::Value {
            if self.value().len() < self.older_versions.min_blob_size() {
                return true;
            }
            let mut index = Vec::new();
            let user_key = &self.key[..self.key.len() - TRAILER_LEN];
            let bytes = match *value {
                ValueAt::Input => self.input.value(),
                ValueAt::InputPrefix(len) => &self.input.value()[..len],
                ValueAt::Buffer => &self.buffer,
                ValueAt::Nowhere | ValueAt::Empty | ValueAt::Operand(..) => return true,
            };
            let Some(blobs) = &mut self.blobs else { return true };
            let extracted = blobs.extract(user_key, bytes, &mut index).and_then(|extracted| {
                if extracted {
                    blobs.leave(user_key, Kind::BlobIndex, &index)?;
                }
                Ok(extracted)
            });
            match extracted {
                Ok(true) => {
                    self.buffer = index;
                    (*kind, *value) = (Kind::BlobIndex, ValueAt::Buffer);
                }
                Ok(false) => {}
                Err(error) => {
                    self.fail(error);
                    return false;
                }
            }
        } else if *kind == Kind::BlobIndex {
            let user_key = &self.key[..self.key.len() - TRAILER_LEN];
            let Some(blobs) = &mut self.blobs else { return true };
            self.buffer.clear();
            let index = self.input.value();
            let moved = blobs
                .relocate(user_key, index, &mut self.buffer)
                .and_then(|moved| {
                    match moved {
                        Relocation::Keep => blobs.leave(user_key, Kind::BlobIndex, index)?,
                        Relocation::Moved => blobs.leave(user_key, Kind::BlobIndex, &self.buffer)?,
                        Relocation::Inlined => {}
                    }
                    Ok(moved)
                });
            match moved {
                Ok(Relocation::Keep) => {}
                Ok(Relocation::Moved) => {
                    self.stats.num_blobs_relocated += 1;
                    *value = ValueAt::Buffer;
                }
                Ok(Relocation::Inlined) => {
                    self.stats.num_blobs_read += 1;
                    (*kind, *value) = (Kind::Value, ValueAt::Buffer);
                }
                Err(error) => {
                    self.fail(error);
                    return false;
                }
            }
        } else if *kind == Kind::WideColumnEntity {
            return self.place_columns(value);
        }
        true
    }

    /// Relocates the columns of an entity that are in blob files under garbage collection. False if that
    /// failed.
    pub(super) fn place_columns(&mut self, value: &mut ValueAt) -> bool {
        let user_key = &self.key[..self.key.len() - TRAILER_LEN];
        let Some(blobs) = &mut self.blobs else { return true };
        let entity = match *value {
            ValueAt::Buffer => &self.buffer[..],
            _ => self.input.value(),
        };
        let mut out = Vec::new();
        let placed = blobs
            .relocate_columns(user_key, entity, &mut out)
            .and_then(|moved| {
                let entity = if moved { &out[..] } else { entity };
                blobs.leave(user_key, Kind::WideColumnEntity, entity)?;
                Ok(moved)
            });
        match placed {
            Ok(true) => {
                self.stats.num_blobs_read += 1;
                self.buffer = out;
                *value = ValueAt::Buffer;
                true
            }
            Ok(false) => true,
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    /// Moves to the start of the next range tombstone, if that is not after the input's entry. True if it
    /// moved.
    pub(super) fn show_tombstone_start(&mut self, at_end: bool) -> bool {
        if self.next_start >= self.starts.len() {
            return false;
        }
        let fragment = self.starts.fragment(self.next_start);
        let due = if at_end {
            self.end
                .as_ref()
                .is_none_or(|end| order::bare(&self.cmp, fragment.start, end) == Ordering::Less)
        } else {
            let user_key = internal_key::user_key(self.input.key());
            order::bare(&self.cmp, fragment.start, self.cmp.strip_timestamp(user_key)) != Ordering::Greater
        };
        if !due {
            return false;
        }
        self.key.clear();
        self.key.extend_from_slice(fragment.start);
        self.key.extend_from_slice(fragment.timestamp(0));
        let trailer = internal_key::pack_trailer(fragment.seqnos[0], Kind::RangeDeletion as u8);
        self.key.extend_from_slice(&trailer.to_le_bytes());
        self.next_start += 1;
        // The next entry is the first of its user key: this start was yielded before it.
        self.has_key = false;
        self.shown_user_key = false;
        self.starts_user_key = true;
        self.is_tombstone_start = true;
        self.value = ValueAt::Empty;
        self.ahead = true;
        true
    }
}
