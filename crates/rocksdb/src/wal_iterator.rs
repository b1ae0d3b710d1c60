//! The contents of WALs, batch by batch.

use crate::{Error, WriteBatch, WriteBatchWithTransaction};

/// Batches in the order of their writes, each with the sequence number of its first row.
pub struct DBWALIterator {
    inner: esker::TransactionLogIterator,
    /// Batches that begin at this number or before are left out.
    behind: u64,
}

impl DBWALIterator {
    pub(crate) fn new(inner: esker::TransactionLogIterator, behind: u64) -> DBWALIterator {
        DBWALIterator { inner, behind }
    }

    /// True if it is at a batch.
    pub fn valid(&self) -> bool {
        self.inner.valid()
    }

    /// The error of the iterator.
    ///
    /// # Errors
    /// The error that stopped the iterator.
    pub fn status(&self) -> Result<(), Error> {
        Ok(self.inner.status()?)
    }
}

impl Iterator for DBWALIterator {
    type Item = Result<(u64, WriteBatch), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some((sequence, batch)) = self.inner.batch() {
            let found =
                (sequence > self.behind).then(|| (sequence, WriteBatchWithTransaction::of(batch.clone())));
            self.inner.next();
            if found.is_some() {
                return found.map(Ok);
            }
        }
        self.status().err().map(Err)
    }
}
