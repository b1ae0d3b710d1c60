//! Merge operands: they are combined within their stripe, and resolved where their base value or the end of
//! their history is known.

use base::entity::{self, DefaultColumn};
use base::internal_key::{self, TRAILER_LEN};
use base::merge::MergeOperator;
use base::{Cursor, Kind, Result, SeqNo};

use super::operands::Operand;
use super::state::{CompactionCursor, NO_STRIPE, Relation, ValueAt};
use crate::filter::{Decision, ValueType};

/// Why the collection of operands ended.
enum Stop {
    /// The inputs have no further entry of the operands' key.
    KeyEnds,
    /// The next entry belongs to another stripe or another timestamp, or has an unknown kind.
    Unknown,
    /// The next entry is a deletion, or a range tombstone covers it: the operands have no base value.
    Deleted,
    /// The input is at the base value of the operands.
    Base(Kind),
}

impl<C: Cursor> CompactionCursor<C> {
    /// Collects the operand at the input's position and the further operands that belong to it. True if the
    /// cursor is at an entry to be yielded, or failed; the input has then moved past the collected operands.
    pub(super) fn merge(&mut self, seqno: SeqNo) -> bool {
        let Some(operator) = self.merge_operator.clone() else {
            if self.covered(seqno) {
                self.stats.num_record_drop_range_del += 1;
                return self.drop_hidden();
            }
            self.unmerged = true;
            return self.show(seqno, Kind::Merge, ValueAt::Input, false);
        };
        self.operands.clear();
        let mut filtered = false;
        let mut first = true;
        let stop = loop {
            match self.take_operand(first, &mut filtered) {
                Taken::Operand => first = false,
                Taken::Stop(stop) => break stop,
                Taken::Gone => return self.error.is_some(),
            }
        };
        if self.operands.items.is_empty() {
            if filtered {
                // The filter dropped the operands, and dropped entries hide nothing.
                self.last_ceiling = NO_STRIPE;
            }
            return false;
        }
        let resolved = match stop {
            Stop::Deleted => self.full_merge(&*operator, None),
            Stop::Base(kind) => self.merge_into_base(&*operator, kind),
            Stop::KeyEnds if (self.ts_size == 0 || self.below_low) && self.ends_here() => {
                self.full_merge(&*operator, None)
            }
            Stop::KeyEnds | Stop::Unknown => Resolved::Not,
        };
        self.take_time_of(0);
        match resolved {
            Resolved::Failed => true,
            Resolved::Into(kind) => {
                let seqno = self.operands.items[0].seqno;
                self.operands.clear();
                self.show(seqno, kind, ValueAt::Buffer, true)
            }
            Resolved::Not => {
                let user_len = self.key.len() - TRAILER_LEN;
                let key = &self.key[..user_len];
                self.operands
                    .combine(&*operator, key, self.ts_size, self.row_limit);
                self.unmerged = true;
                self.show_operand();
                true
            }
        }
    }

    /// Yields the next uncombined operand.
    pub(super) fn show_operand(&mut self) {
        let at = self.operands.shown;
        self.operands.shown += 1;
        self.take_time_of(at);
        let operand = self.operands.items[at];
        self.show(
            operand.seqno,
            Kind::Merge,
            ValueAt::Operand(operand.at, operand.len),
            true,
        );
    }

    /// Gives the current key the timestamp of operand `i`.
    fn take_time_of(&mut self, i: usize) {
        if self.ts_size > 0 {
            let to = self.key.len() - TRAILER_LEN;
            let at = self.operands.items[i].at;
            self.key[to - self.ts_size..to].copy_from_slice(&self.operands.bytes[at - self.ts_size..at]);
        }
    }

    /// Examines the input's entry, and skips it if it is a further operand.
    fn take_operand(&mut self, first: bool, filtered: &mut bool) -> Taken {
        if !self.input.valid() {
            let ended = self.input.status().is_ok();
            return Taken::Stop(if ended { Stop::KeyEnds } else { Stop::Unknown });
        }
        let internal = self.input.key();
        if internal.len() < TRAILER_LEN {
            return Taken::Stop(Stop::Unknown);
        }
        let user_key = internal_key::user_key(internal);
        match self.relation(user_key) {
            Relation::Same => {}
            Relation::OtherKey => return Taken::Stop(Stop::KeyEnds),
            // A reader may read as of a time between the timestamps of the two operands, unless both are
            // older than `full_history_ts_low`.
            Relation::OtherTimestamp if !self.below_low => return Taken::Stop(Stop::Unknown),
            Relation::OtherTimestamp => {}
        }
        let trailer = internal_key::trailer(internal);
        let seqno = trailer >> 8;
        if seqno < self.stripes.floor() {
            return Taken::Stop(Stop::Unknown);
        }
        if self.has_tombstones && (self.ts_size == 0 || self.below_low) {
            let ceiling = self.stripes.of(seqno);
            if self.covering.covering(user_key, ceiling) > seqno {
                if !self.operands.items.is_empty() {
                    return Taken::Stop(Stop::Deleted);
                }
                if trailer as u8 != Kind::Merge as u8 {
                    return Taken::Stop(Stop::Unknown);
                }
                self.stats.num_record_drop_range_del += 1;
                self.stats.num_record_drop_hidden += 1;
                self.pass_operand(first);
                return Taken::Operand;
            }
        }
        if self.is_cut_off(user_key, seqno) {
            return Taken::Stop(Stop::Unknown);
        }
        let kind = match Kind::from_byte(trailer as u8) {
            Some(Kind::Merge) => Kind::Merge,
            Some(Kind::Deletion | Kind::SingleDeletion | Kind::DeletionWithTimestamp) => {
                return Taken::Stop(Stop::Deleted);
            }
            Some(kind) if kind != Kind::RangeDeletion => return Taken::Stop(Stop::Base(kind)),
            _ => return Taken::Stop(Stop::Unknown),
        };
        base::invariant!(kind == Kind::Merge);
        let operand = self.input.value();
        let decision = match &mut self.filter {
            Some(filter) if seqno > self.stripes.latest() => {
                filter.filter(self.level, user_key, ValueType::MergeOperand, operand)
            }
            _ => Decision::Keep,
        };
        let decision = match decision {
            Decision::ChangeValue(_) => self.within_limit(decision),
            decision => decision,
        };
        let (user_key, operand) = (internal_key::user_key(self.input.key()), self.input.value());
        let timestamp = &user_key[user_key.len().saturating_sub(self.ts_size)..];
        match decision {
            Decision::Keep | Decision::Purge | Decision::ChangeWideColumnEntity(_) => {
                self.operands.push(timestamp, operand, seqno);
            }
            Decision::ChangeValue(operand) => self.operands.push(timestamp, &operand, seqno),
            Decision::Remove => {
                *filtered = true;
                self.stats.num_record_drop_user += 1;
            }
            Decision::RemoveAndSkipUntil(until) => {
                if self.skip_until(&until) {
                    self.operands.clear();
                    return Taken::Gone;
                }
                let (user_len, value) = (self.input.key().len() - TRAILER_LEN, self.input.value());
                let timestamp = &self.input.key()[user_len - self.ts_size..user_len];
                self.operands.push(timestamp, value, seqno);
            }
        }
        self.pass_operand(first);
        Taken::Operand
    }

    /// True if a range tombstone is between the entry and the operands taken so far, in a history that has
    /// not ended. The tombstone then has their timestamp, and stays: the reader merges.
    fn is_cut_off(&self, user_key: &[u8], seqno: SeqNo) -> bool {
        let history_ended = self.ts_size == 0 || self.below_low;
        if !self.has_tombstones || history_ended {
            return false;
        }
        let tombstones = self.tombstones.fragments();
        let between = |newer: &Operand| tombstones.covering_seqno(&self.cmp, user_key, newer.seqno) > seqno;
        self.operands.items.last().is_some_and(between)
    }

    /// Skips an operand. The first one was counted by the caller.
    fn pass_operand(&mut self, first: bool) {
        if !first {
            self.stats.num_input_records += 1;
            self.count_raw_bytes();
        }
        self.input.next();
    }

    /// Merges the operands into `existing` and stores the result in `buffer`.
    fn full_merge(&mut self, operator: &dyn MergeOperator, existing: Option<&[u8]>) -> Resolved {
        let user_key = &self.key[..self.key.len() - TRAILER_LEN];
        let merged = operator.merged(user_key, existing, &self.operands.oldest_first());
        self.merged(merged)
    }

    fn merged(&mut self, value: Option<Vec<u8>>) -> Resolved {
        match value.filter(|value| self.row_limit.allows(0, value.len())) {
            Some(value) => {
                self.buffer = value;
                Resolved::Into(Kind::Value)
            }
            None => {
                self.stats.num_merge_failures += self.operands.items.len() as u64;
                Resolved::Not
            }
        }
    }

    /// Merges the operands into the value at the input's position. The input stays at that value, which the
    /// result then hides.
    fn merge_into_base(&mut self, operator: &dyn MergeOperator, kind: Kind) -> Resolved {
        let user_key = &self.key[..self.key.len() - TRAILER_LEN];
        let operands = self.operands.oldest_first();
        let value = self.input.value();
        // With timestamps the base value may have an older timestamp than the operands. Its blobs are stored
        // under its own key.
        let base_key = internal_key::user_key(self.input.key());
        let merged = match kind {
            Kind::ValuePreferredSeqno => match value.len().checked_sub(8) {
                Some(len) => operator.merged(user_key, Some(&value[..len]), &operands),
                None => return Resolved::Not,
            },
            Kind::BlobIndex => {
                let Some(blobs) = &mut self.blobs else {
                    return Resolved::Not;
                };
                let mut blob = Vec::new();
                if let Err(error) = blobs.fetch(base_key, value, &mut blob) {
                    self.fail(error);
                    return Resolved::Failed;
                }
                self.stats.num_blobs_read += 1;
                operator.merged(user_key, Some(&blob), &operands)
            }
            // The columns of the base in blob files are stored under the base's key, which is not that of the
            // result: the reader merges.
            Kind::WideColumnEntity if base_key != user_key => return Resolved::Not,
            Kind::WideColumnEntity => match merge_into_entity(operator, user_key, value, &operands) {
                Ok(Some(Some(entity))) if self.row_limit.allows(0, entity.len()) => {
                    self.buffer = entity;
                    return Resolved::Into(Kind::WideColumnEntity);
                }
                Ok(Some(_)) => None,
                Ok(None) => return Resolved::Not,
                Err(error) => {
                    self.fail(error);
                    return Resolved::Failed;
                }
            },
            _ => operator.merged(user_key, Some(value), &operands),
        };
        self.merged(merged)
    }
}

/// The entity with the operands merged into its default column. `Some(None)`: the operator failed. `None`:
/// some of its columns are in blob files, so the merge is left to the reader, which can fetch them.
fn merge_into_entity(
    operator: &dyn MergeOperator,
    user_key: &[u8],
    entity: &[u8],
    operands: &[&[u8]],
) -> Result<Option<Option<Vec<u8>>>> {
    let column = match entity::default_column(entity)? {
        DefaultColumn::Value(column) => column,
        DefaultColumn::Absent => &[],
        DefaultColumn::Blob(_) => return Ok(None),
    };
    let Some(column) = operator.merged(user_key, Some(column), operands) else {
        return Ok(Some(None));
    };
    let mut merged = Vec::new();
    Ok(entity::with_default_column(entity, &column, &mut merged)?.then_some(Some(merged)))
}

/// The outcome of a merge.
enum Resolved {
    /// The operands became one entry of this kind, whose value is in `buffer`.
    Into(Kind),
    /// The merge operands stay uncombined.
    Not,
    /// The cursor failed.
    Failed,
}

/// The result of [`CompactionCursor::take_operand`].
enum Taken {
    /// The entry was a further operand, possibly one that is dropped. The input has moved past it.
    Operand,
    /// The previous operand was the last.
    Stop(Stop),
    /// The filter skipped the key, or the cursor failed.
    Gone,
}
