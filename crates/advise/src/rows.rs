//! Rows without their values: a key, a sequence number, a size.

use base::SeqNo;

/// The size of the value of a deletion.
pub(crate) const DELETION: u32 = u32::MAX;

/// A row of the sampled workload: one version of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) seqno: SeqNo,
    pub(crate) key: u32,
    /// The size of the row's value in bytes, or [`DELETION`].
    pub(crate) value: u32,
}

impl Row {
    /// True for a deletion.
    pub(crate) fn is_deletion(&self) -> bool {
        self.value == DELETION
    }

    /// The bytes of the row's value; 0 for a deletion.
    pub(crate) fn value_bytes(&self) -> u64 {
        if self.is_deletion() {
            0
        } else {
            u64::from(self.value)
        }
    }
}

/// The newest row of each key of `rows`, by key.
pub(crate) fn newest(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_unstable_by_key(|row| (row.key, std::cmp::Reverse(row.seqno)));
    rows.dedup_by_key(|row| row.key);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_row_of_a_key_stays() {
        let row = |key, seqno, value| Row { seqno, key, value };
        let rows = vec![row(2, 5, 1), row(1, 3, 1), row(2, 9, DELETION), row(1, 4, 2)];
        assert_eq!(newest(rows), [row(1, 4, 2), row(2, 9, DELETION)]);
    }
}
