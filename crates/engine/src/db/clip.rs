//! A family cut to a range of keys.

use base::{Error, Result};

use crate::options::{BottommostLevelCompaction, CompactRangeOptions, FlushOptions, RangeOpt, WriteOptions};
use crate::state::column_family::ColumnFamily;
use crate::state::handle::Db;

impl Db {
    /// Deletes all rows of `family` but those with keys from `begin`, inclusive, to `end`, exclusive:
    /// RocksDB's `ClipColumnFamily`. Tables below L0 without a key of the range are dropped as they are, the
    /// other rows are deleted by range, and the family is compacted. Rows that are written meanwhile outside
    /// the range may stay. After an error, or a crash, a part of the rows outside the range may be gone; the
    /// same call, repeated, deletes the others.
    ///
    /// Snapshots do not keep what is dropped. As in RocksDB it is meant for a family before it is exported,
    /// or merged with others.
    ///
    /// # Errors
    /// `InvalidArgument` if `end` sorts before `begin`, or the family has timestamps; those of a flush, of
    /// [`delete_files_in_ranges`](Db::delete_files_in_ranges), of a write and of a compaction.
    pub fn clip_column_family(
        &self,
        family: &ColumnFamily,
        begin: impl AsRef<[u8]>,
        end: impl AsRef<[u8]>,
    ) -> Result<()> {
        let (begin, end) = (begin.as_ref(), end.as_ref());
        let comparator = family.comparator();
        if comparator.timestamp_size() > 0 {
            return Err(Error::invalid_argument(
                "clip_column_family does not support column families with timestamps",
            ));
        }
        if comparator.compare(begin, end).is_gt() {
            return Err(Error::invalid_argument(
                "the range of clip_column_family ends before it begins",
            ));
        }
        self.inner().check_open()?;
        self.inner().flush_for(&FlushOptions::at_once(), &family.0)?;
        let before = RangeOpt {
            start: None,
            limit: Some(begin.to_vec()),
        };
        let behind = RangeOpt {
            start: Some(end.to_vec()),
            limit: None,
        };
        self.delete_files_in_ranges(family, &[before, behind], false)?;
        let Some((first, last)) = self.key_bounds(family) else {
            return Ok(());
        };
        let writes = WriteOptions::default();
        if comparator.compare(&first, begin).is_lt() {
            self.delete_range_cf_opt(family, &first, begin, &writes)?;
        }
        if comparator.compare(end, &last).is_le() {
            self.delete_range_cf_opt(family, end, &last, &writes)?;
            // The end of a range deletion is exclusive, so the last key is deleted by itself.
            self.delete_cf_opt(family, &last, &writes)?;
        }
        let thorough = CompactRangeOptions {
            exclusive_manual_compaction: true,
            bottommost_level_compaction: BottommostLevelCompaction::ForceOptimized,
            ..CompactRangeOptions::default()
        };
        self.compact_range_cf_opt(family, None, None, &thorough)
    }

    /// The first and the last key of the family's tables; `None` if it has no table.
    fn key_bounds(&self, family: &ColumnFamily) -> Option<(Vec<u8>, Vec<u8>)> {
        let comparator = family.comparator();
        let version = family.0.super_version.load_full().version.clone();
        let mut bounds: Option<(Vec<u8>, Vec<u8>)> = None;
        for (_, file) in version.all_files() {
            let smallest = base::internal_key::user_key(&file.smallest);
            let largest = base::internal_key::user_key(&file.largest);
            let (first, last) = bounds.get_or_insert_with(|| (smallest.to_vec(), largest.to_vec()));
            if comparator.compare(smallest, first).is_lt() {
                *first = smallest.to_vec();
            }
            if comparator.compare(largest, last).is_gt() {
                *last = largest.to_vec();
            }
        }
        bounds
    }
}
