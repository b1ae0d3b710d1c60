//! Timestamps that are set when all rows of a batch are known.

use base::{Error, ErrorKind, Result};

use crate::batch::operation::Operation;
use crate::batch::write_batch::WriteBatch;

impl WriteBatch {
    /// Overwrites the timestamps at the end of all keys with `timestamp`: RocksDB's `UpdateTimestamps`.
    /// `size_of` returns the length of the timestamps of the family with that id: 0 for a family without
    /// timestamps, whose rows stay as they are, and `None` for one that is not known. The checksums of a
    /// [protected](WriteBatch::with_protection) batch are those of the new keys.
    ///
    /// # Errors
    /// `InvalidArgument` if a family's timestamps have another length than `timestamp`, or a key is shorter;
    /// `NotFound` for a family that is not known. The batch is then unchanged.
    pub fn update_timestamps(
        &mut self,
        timestamp: &[u8],
        mut size_of: impl FnMut(u32) -> Option<usize>,
    ) -> Result<()> {
        let mut ends = Vec::new();
        for operation in self.operations() {
            let operation = operation?;
            let Some((family, _, key, value)) = operation.row() else {
                continue;
            };
            let size = size_of(family).ok_or_else(|| {
                Error::new(
                    ErrorKind::NotFound,
                    format!("the timestamps of family {family} are not known"),
                )
            })?;
            if size == 0 {
                continue;
            }
            if size != timestamp.len() {
                return Err(Error::invalid_argument("timestamp size mismatch"));
            }
            let end = match operation {
                Operation::DeleteRange { .. } => Some(value),
                _ => None,
            };
            for stamped in std::iter::once(key).chain(end) {
                if stamped.len() < size {
                    return Err(Error::invalid_argument("a key is shorter than its timestamp"));
                }
                // The keys of an operation are slices of the batch's wire format, so their addresses give
                // offsets in it.
                ends.push(stamped.as_ptr_range().end.addr() - self.data().as_ptr().addr());
            }
        }
        for end in ends {
            self.overwrite(end - timestamp.len(), timestamp);
        }
        self.protect_again();
        Ok(())
    }
}
