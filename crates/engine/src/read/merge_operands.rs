//! Reads of unmerged values: the merge operands of a key.

use base::internal_key::ParsedInternalKey;
use base::{Cursor, Error, ErrorKind, Kind, Result, SeqNo};

use crate::files::blob_cache::BlobRead;
use crate::read::db_iterator::newest_visible;
use crate::read::get::{Answer, GetContext};
use crate::read::scan::check_timestamp;
use crate::read::sources::{self, SourceOptions};
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::error_state::closing;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;
use crate::state::super_version::SuperVersion;

impl Db {
    /// Returns the base value of `key`, if it has one, followed by its merge operands from the oldest on:
    /// RocksDB's `GetMergeOperands`. For a key that was put and not merged since, this is its value; for an
    /// entity, its unnamed column. The result is empty if the key does not exist. The merge operator is not
    /// called, but compactions may have combined operands already.
    ///
    /// # Errors
    /// `Incomplete`, with the number of operands, if there are more than `expected_max_number_of_operands`;
    /// those of [`get_pinned`](Db::get_pinned).
    pub fn get_merge_operands(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        expected_max_number_of_operands: usize,
        options: &ReadOptions,
    ) -> Result<Vec<Vec<u8>>> {
        let key = key.as_ref();
        let inner = self.inner();
        inner.check_owns(&family.0)?;
        let _charged = inner.charged_reads(options);
        let (super_version, seqno) = family.0.view(options.snapshot.as_ref());
        if super_version.is_closed() {
            return Err(closing());
        }
        let has_timestamps = family.comparator().timestamp_size() > 0 || options.timestamp.is_some();
        let operands = match has_timestamps {
            true => operands_at(&family.0, &super_version, seqno, options, key)?,
            false => {
                let context = GetContext::new(&family.0, key, BlobRead::from(options)).reading(options);
                let mut context = context.answering(Answer::Operands);
                inner.search(&super_version, seqno, options, &mut context)?;
                context.into_operands()?
            }
        };
        match operands.len() > expected_max_number_of_operands {
            true => Err(Error::new(
                ErrorKind::Incomplete,
                format!("Insufficient capacity for merge operands: {}", operands.len()),
            )),
            false => Ok(operands),
        }
    }
}

/// The base value and the operands of `key` as of the timestamp of `options`, oldest first.
fn operands_at(
    family: &Family,
    super_version: &SuperVersion,
    seqno: SeqNo,
    options: &ReadOptions,
    key: &[u8],
) -> Result<Vec<Vec<u8>>> {
    let options = &ReadOptions {
        iter_start_ts: None,
        ..options.clone()
    };
    check_timestamp(family, super_version, options)?;
    let timestamp = options.timestamp.as_deref();
    let sources = SourceOptions::of(options);
    let (mut cursor, missing) = sources::merged(family, super_version, seqno, None, timestamp, &sources);
    if let Some(error) = missing {
        return Err(error);
    }
    let user = family.cmp.user();
    let mut target = Vec::new();
    newest_visible(&mut target, key, timestamp, seqno);
    let sought = user.stamped(key);
    let mut operands = Vec::new();
    cursor.seek(&target);
    while cursor.valid() {
        let entry = ParsedInternalKey::parse(cursor.key())?;
        if user.compare_without_timestamp(entry.user_key, &sought).is_ne() {
            break;
        }
        if entry.seqno <= seqno {
            if entry.kind.is_tombstone() {
                break;
            }
            let mut plain = Vec::new();
            let read = BlobRead::from(options);
            let values = &family.values;
            values.plain(entry.kind, entry.user_key, cursor.value(), read, &mut plain)?;
            operands.push(plain);
            if entry.kind != Kind::Merge {
                break;
            }
        }
        cursor.next();
    }
    cursor.status()?;
    operands.reverse();
    Ok(operands)
}
