//! Reads of unmerged values: the merge operands of a key.

use base::{Error, ErrorKind, Result};

use crate::files::blob_cache::BlobRead;
use crate::read::get::{Answer, GetContext};
use crate::state::column_family::ColumnFamily;
use crate::state::db_state::closing;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;

impl Db {
    /// Returns the base value of `key`, if it has one, followed by its merge operands from the oldest on:
    /// RocksDB's `GetMergeOperands`. For a key that was put and not merged since, this is its value; for an
    /// entity, its unnamed column. The result is empty if the key does not exist. The merge operator is not
    /// called, but compactions may have combined operands already.
    ///
    /// # Errors
    /// `Incomplete`, with the number of operands, if there are more than `expected_max_number_of_operands`;
    /// `NotSupported` in families with timestamps; those of [`get_pinned`](Db::get_pinned).
    pub fn get_merge_operands(
        &self,
        options: &ReadOptions,
        family: &ColumnFamily,
        key: &[u8],
        expected_max_number_of_operands: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let inner = self.inner();
        inner.check_owns(&family.0)?;
        if family.comparator().timestamp_size() > 0 || options.timestamp.is_some() {
            return Err(Error::not_supported("merge operands as of a timestamp"));
        }
        let _charged = inner.charged_reads(options);
        let (super_version, seqno) = family.0.view(options.snapshot.as_ref());
        if super_version.is_closed() {
            return Err(closing());
        }
        let context = GetContext::new(&family.0, key, BlobRead::from(options)).reading(options);
        let mut context = context.answering(Answer::Operands);
        inner.search(&super_version, seqno, options, &mut context)?;
        let operands = context.into_operands()?;
        match operands.len() > expected_max_number_of_operands {
            true => Err(Error::new(
                ErrorKind::Incomplete,
                format!("Insufficient capacity for merge operands: {}", operands.len()),
            )),
            false => Ok(operands),
        }
    }
}
