//! The decisions of the user's compaction filter about entries.

use std::borrow::Cow;

use base::entity::{self, ColumnValue, Entity};
use base::internal_key::{self, TRAILER_LEN};
use base::user_code::call;
use base::{Cursor, Error, Kind, Result};

use super::state::{CompactionCursor, ValueAt};
use crate::filter::{BlobHook, Decision, ValueType};

/// Names a compaction filter in the error of its panic.
const FILTER: &str = "compaction filter";

/// The number of rows remembered whose filter result was refused.
const MOST_REFUSED: usize = 100;

/// The outcome of [`CompactionCursor::apply_filter`].
pub(super) enum Filtered {
    /// The entry continues, perhaps with another value.
    Kept,
    /// The entry was dropped and the input moved on, or the filter failed.
    Skipped,
}

impl<C: Cursor> CompactionCursor<C> {
    /// Applies the filter to the input's entry, whose kind and value change with the decision.
    pub(super) fn apply_filter(&mut self, kind: &mut Kind, value: &mut ValueAt) -> Filtered {
        let decision = match self.ask_filter(*kind) {
            Ok(decision) => self.within_limit(decision),
            Err(error) => {
                self.fail(error);
                return Filtered::Skipped;
            }
        };
        match decision {
            Decision::Keep => {}
            Decision::Remove => {
                self.stats.num_record_drop_user += 1;
                *kind = Kind::Deletion;
                if self.ts_size > 0 {
                    *kind = Kind::DeletionWithTimestamp;
                }
                *value = ValueAt::Empty;
            }
            Decision::Purge => {
                if *kind == Kind::Merge {
                    return Filtered::Kept;
                }
                self.stats.num_record_drop_user += 1;
                *kind = Kind::SingleDeletion;
                *value = ValueAt::Empty;
            }
            Decision::ChangeValue(bytes) => {
                self.buffer = bytes;
                *kind = Kind::Value;
                *value = ValueAt::Buffer;
            }
            Decision::ChangeWideColumnEntity(columns) => {
                if self.encode_entity(&columns) {
                    *kind = Kind::WideColumnEntity;
                    *value = ValueAt::Buffer;
                }
            }
            Decision::RemoveAndSkipUntil(until) => {
                if self.skip_until(&until) {
                    return Filtered::Skipped;
                }
            }
        }
        Filtered::Kept
    }

    /// The filter's decision about the input's entry. The filter sees no deletions and, here, no operands.
    fn ask_filter(&mut self, kind: Kind) -> Result<Decision> {
        let Some(filter) = &mut self.filter else {
            return Ok(Decision::Keep);
        };
        let user_key = &self.key[..self.key.len() - TRAILER_LEN];
        let (level, input) = (self.level, self.input.value());
        let decision = match kind {
            Kind::Value => call(
                FILTER,
                || "",
                || filter.filter(level, user_key, ValueType::Value, input),
            ),
            Kind::WideColumnEntity => {
                let columns = columns_of(user_key, input, &mut self.blobs)?;
                let read = columns.iter().filter(|(_, value)| matches!(value, Cow::Owned(_)));
                self.stats.num_blobs_read += read.count() as u64;
                let columns: Vec<_> = columns.iter().map(|(name, value)| (*name, &**value)).collect();
                call(FILTER, || "", || filter.filter_entity(level, user_key, &columns))
            }
            Kind::BlobIndex => match call(FILTER, || "", || filter.filter_blob_by_key(level, user_key)) {
                Some(decision) => decision,
                None => {
                    fetch(user_key, input, &mut self.blobs, &mut self.buffer)?;
                    self.stats.num_blobs_read += 1;
                    call(
                        FILTER,
                        || "",
                        || filter.filter(level, user_key, ValueType::Value, &self.buffer),
                    )
                }
            },
            _ => Decision::Keep,
        };
        Ok(decision)
    }

    /// Encodes a filter's entity into `buffer`. False if the entry stays as it is: two columns have one name,
    /// or the entity exceeds the row limit.
    fn encode_entity(&mut self, columns: &[(Vec<u8>, Vec<u8>)]) -> bool {
        let columns: Vec<_> = columns
            .iter()
            .map(|(name, value)| (&name[..], &value[..]))
            .collect();
        let encoded = entity::encode_unsorted(&columns, &mut self.buffer)
            .and_then(|()| self.row_limit.check_value(&self.buffer));
        encoded.map_err(|error| self.refuse(error)).is_ok()
    }

    /// Returns the filter's decision about the current key; `Keep` where the new value exceeds the row limit.
    pub(super) fn within_limit(&mut self, decision: Decision) -> Decision {
        let Decision::ChangeValue(value) = &decision else {
            return decision;
        };
        match self.row_limit.check_value(value) {
            Ok(()) => decision,
            Err(error) => {
                self.refuse(error);
                Decision::Keep
            }
        }
    }

    /// Remembers that the filter's result for the current key was refused.
    fn refuse(&mut self, error: Error) {
        self.stats.num_filter_values_refused += 1;
        if self.refused.len() < MOST_REFUSED {
            let user_key = internal_key::user_key(&self.key).to_vec();
            self.refused.push((user_key, error));
        }
    }
}

type Blobs = Option<Box<dyn BlobHook>>;

/// Names and values.
type Columns<'a> = Vec<(&'a [u8], Cow<'a, [u8]>)>;

/// Reads the blob of `index` into `out`.
fn fetch(user_key: &[u8], index: &[u8], blobs: &mut Blobs, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    match blobs {
        Some(blobs) => blobs.fetch(user_key, index, out),
        None => Err(Error::not_supported("a compaction filter needs to read a blob")),
    }
}

/// The columns of `entity`; the values of those in blob files are read.
fn columns_of<'a>(user_key: &[u8], entity: &'a [u8], blobs: &mut Blobs) -> Result<Columns<'a>> {
    let decoded = Entity::decode(entity)?;
    let columns = decoded.columns(entity).map(|(name, value)| {
        Ok(match value {
            ColumnValue::Inline(range) => (name, Cow::Borrowed(&entity[range.clone()])),
            ColumnValue::Blob(range) => {
                let mut out = Vec::new();
                fetch(user_key, &entity[range.clone()], blobs, &mut out)?;
                (name, Cow::Owned(out))
            }
        })
    });
    columns.collect()
}
