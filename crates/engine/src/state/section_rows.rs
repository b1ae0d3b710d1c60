//! The rows of a prepared section, by which the commit recognizes them.

use codec::hash::xxh3_64;

use crate::batch::operation::HEADER_LEN;
use crate::batch::write_batch::WriteBatch;

/// The size and the hash of the rows of a prepared section: the WAL has the rows, and so has the transaction,
/// so the database keeps no copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectionRows {
    /// The size of a batch with these rows in bytes, with its header.
    len: usize,
    count: u32,
    hash: u64,
}

impl SectionRows {
    /// The rows of `batch`.
    pub fn of(batch: &WriteBatch) -> SectionRows {
        SectionRows {
            len: batch.data_size(),
            count: batch.count(),
            hash: xxh3_64(&batch.data()[HEADER_LEN..]),
        }
    }

    /// The operations of `batch` after those of the section, in their wire format, and the number of rows
    /// among them. `None` if the batch does not begin with the operations of the section.
    pub fn behind<'a>(&self, batch: &'a WriteBatch) -> Option<(&'a [u8], u32)> {
        let (section, late) = batch.data().split_at_checked(self.len)?;
        let count = batch.count().checked_sub(self.count)?;
        (xxh3_64(&section[HEADER_LEN..]) == self.hash).then_some((late, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_batch_that_begins_with_the_rows_has_rows_behind_them() {
        let mut batch = WriteBatch::new();
        batch.put(b"a", b"1");
        batch.put_log_data(b"blob");
        let section = SectionRows::of(&batch);
        assert_eq!(section.behind(&batch), Some((&b""[..], 0)));
        let len = batch.data_size();
        batch.delete(b"b");
        batch.put_log_data(b"blob");
        assert_eq!(section.behind(&batch), Some((&batch.data()[len..], 1)));
        let mut other = WriteBatch::new();
        assert_eq!(section.behind(&other), None);
        other.put(b"a", b"2");
        other.put_log_data(b"blob");
        other.delete(b"b");
        assert_eq!(section.behind(&other), None);
        let empty = SectionRows::of(&WriteBatch::new());
        assert_eq!(empty.behind(&batch), Some((&batch.data()[HEADER_LEN..], 2)));
    }
}
