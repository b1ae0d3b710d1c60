//! The conversion from stored entries to values for readers: blob values fetched, entities opened, merges
//! resolved.

use std::sync::Arc;

use base::entity::{self, ColumnValue, Entity};
use base::merge::MergeOperator;
use base::perf;
use base::{Error, ErrorKind, Kind, Result, RowLimit};
use blob::BlobIndex;

use crate::files::blob_cache::{BlobFileCache, BlobRead};
use crate::files::pinned_value::PinnedValue;
use crate::options::names::Merger;

/// Columns of a wide-column entity: name and value, in the order of the names.
///
/// See the example of [`AttributeGroup`](crate::AttributeGroup).
pub type Columns = Vec<(Vec<u8>, Vec<u8>)>;

/// The services that convert a family's stored entries to values for readers.
pub(crate) struct ValueResolver {
    pub merger: Merger,
    pub blobs: Arc<BlobFileCache>,
    /// The maximum size of a row of the family.
    pub row_limit: RowLimit,
}

impl ValueResolver {
    /// The merge operator, if it was supplied.
    pub fn operator(&self) -> Option<Arc<dyn MergeOperator>> {
        match &self.merger {
            Merger::Operator(operator) => Some(operator.clone()),
            Merger::Unknown(_) => None,
        }
    }

    /// Writes the result of a plain read of an entry to `out`. `user_key` is the user key of the entry, as it
    /// was written.
    pub fn plain(
        &self,
        kind: Kind,
        user_key: &[u8],
        value: &[u8],
        read: BlobRead,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        out.clear();
        match kind {
            Kind::ValuePreferredSeqno => out.extend_from_slice(without_preferred_seqno(value)?),
            Kind::BlobIndex => *out = self.blob(user_key, value, read)?.into_vec(),
            Kind::WideColumnEntity => {
                let entity = Entity::decode(value)?;
                if let Some(column) = entity.default_column() {
                    *out = self.column(user_key, value, column, read)?;
                }
            }
            _ => out.extend_from_slice(value),
        }
        Ok(())
    }

    /// The value of a blob, pinned in the blob cache if the cache has the value.
    pub fn blob(&self, user_key: &[u8], index: &[u8], read: BlobRead) -> Result<PinnedValue> {
        self.blobs.get(user_key, &BlobIndex::decode(index)?, read)
    }

    /// The columns of an entity.
    pub fn columns(&self, user_key: &[u8], entity: &[u8], read: BlobRead) -> Result<Columns> {
        let decoded = Entity::decode(entity)?;
        let column =
            |(name, value): (&[u8], &_)| Ok((name.to_vec(), self.column(user_key, entity, value, read)?));
        decoded.columns(entity).map(column).collect()
    }

    /// The columns of the result of a search for [`Answer::Columns`](crate::read::get::Answer::Columns): a
    /// plain value becomes the column without a name.
    pub fn columns_of(&self, user_key: &[u8], found: PinnedValue, read: BlobRead) -> Result<Columns> {
        match found.entity() {
            Some(entity) => self.columns(user_key, entity, read),
            None => Ok(vec![(Vec::new(), found.into_vec())]),
        }
    }

    fn column(&self, user_key: &[u8], entity: &[u8], value: &ColumnValue, read: BlobRead) -> Result<Vec<u8>> {
        match value {
            ColumnValue::Inline(range) => Ok(entity[range.clone()].to_vec()),
            ColumnValue::Blob(range) => self
                .blob(user_key, &entity[range.clone()], read)
                .map(PinnedValue::into_vec),
        }
    }

    /// Merges `operands`, oldest first, with `existing`.
    pub fn merge(&self, user_key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        match &self.merger {
            Merger::Operator(operator) => {
                let _timer = perf::time(|cells| &cells.merge_operator_time_nanos);
                let merged = operator.merged(user_key, existing, operands).ok_or_else(|| {
                    Error::new(
                        ErrorKind::MergeFailed,
                        format!("{} gave no value for a key", operator.name()),
                    )
                })?;
                self.row_limit.check_value(&merged).map_err(|error| {
                    let name = operator.name();
                    let message = format!("{name} gave a value that no row can hold: {}", error.message());
                    Error::new(ErrorKind::MergeFailed, message).caused_by(error)
                })?;
                Ok(merged)
            }
            Merger::Unknown(name) if name.is_empty() => Err(Error::invalid_argument(
                "merge_operator is not set, and an entry is a merge",
            )),
            Merger::Unknown(name) => Err(Error::invalid_argument(format!(
                "the column family was written with merge operator {name}, which is not built in; \
                 set ColumnFamilyOptions::merge_operator"
            ))),
        }
    }

    /// Merges `operands`, oldest first, with an existing entry. The result is a value, or an entity whose
    /// default column has changed.
    pub fn merge_over(
        &self,
        base: Base<'_>,
        user_key: &[u8],
        operands: &[&[u8]],
        read: BlobRead,
    ) -> Result<(Kind, Vec<u8>)> {
        self.merge_over_older(base, user_key, user_key, operands, read)
    }

    /// Same as [`merge_over`](Self::merge_over), for an existing entry with the user key `base_key`. In a
    /// family with timestamps it is older than `user_key`, the key of the newest operand.
    pub fn merge_over_older(
        &self,
        base: Base<'_>,
        base_key: &[u8],
        user_key: &[u8],
        operands: &[&[u8]],
        read: BlobRead,
    ) -> Result<(Kind, Vec<u8>)> {
        match base {
            Base::Nothing => Ok((Kind::Value, self.merge(user_key, None, operands)?)),
            Base::Entry(Kind::WideColumnEntity, entity) => {
                let mut columns = self.columns(base_key, entity, read)?;
                // For an entity the operator always gets a value, even if the default column is missing, as
                // in compactions.
                let existing = columns
                    .first()
                    .filter(|(name, _)| name.is_empty())
                    .map_or(&[][..], |(_, value)| value);
                let merged = self.merge(user_key, Some(existing), operands)?;
                match columns.first_mut() {
                    Some((name, value)) if name.is_empty() => *value = merged,
                    _ => columns.insert(0, (Vec::new(), merged)),
                }
                let borrowed: Vec<_> = columns
                    .iter()
                    .map(|(name, value)| (&name[..], &value[..]))
                    .collect();
                let mut entity = Vec::new();
                entity::encode(&borrowed, &mut entity)?;
                Ok((Kind::WideColumnEntity, entity))
            }
            Base::Entry(kind, value) => {
                let mut plain = Vec::new();
                self.plain(kind, base_key, value, read, &mut plain)?;
                Ok((Kind::Value, self.merge(user_key, Some(&plain), operands)?))
            }
        }
    }
}

/// The entry under a key's merge operands.
#[derive(Clone, Copy)]
pub(crate) enum Base<'a> {
    /// The key has no entry, or its newest entry is a deletion.
    Nothing,
    /// A value of kind `Kind`.
    Entry(Kind, &'a [u8]),
}

/// The value of a timed put without its trailing preferred sequence number.
fn without_preferred_seqno(value: &[u8]) -> Result<&[u8]> {
    let len = value.len().checked_sub(8);
    len.map(|len| &value[..len])
        .ok_or_else(|| Error::corruption("timed value of less than eight bytes"))
}
