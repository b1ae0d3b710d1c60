//! Estimates of the bytes that ranges of keys take.

use std::sync::Arc;

use base::cursor::Cursor;
use base::internal_key::{KIND_FOR_SEEK, pack_trailer};
use base::{Error, MAX_SEQNO, Result};
use memtable::Memtable;

use crate::read::approximate_size::approximate_size;
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::handle::Db;

/// Selects the parts that [`Db::approximate_sizes_with`] counts. These are RocksDB's options of that name,
/// without `files_size_error_margin`: the estimate is as exact as it is without a margin.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::SizeApproximationOptions;
///
/// db.put(b"a", [0; 1000])?;
/// let parts = SizeApproximationOptions { include_memtables: true, ..Default::default() };
/// let sizes = db.approximate_sizes_with(&db.default_column_family(), &[(b"a", b"b")], &parts)?;
/// assert_eq!(sizes.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SizeApproximationOptions {
    /// Count the keys and values of rows that are not in tables yet, in bytes. Costs one step for each such
    /// row in the ranges. Default: false.
    pub include_memtables: bool,
    /// Count the bytes of tables. Default: true.
    pub include_files: bool,
    /// Count the bytes of blob files, in the proportion of the range's table bytes to those of all tables.
    /// Default: false.
    pub include_blob_files: bool,
}

impl Default for SizeApproximationOptions {
    fn default() -> SizeApproximationOptions {
        SizeApproximationOptions {
            include_memtables: false,
            include_files: true,
            include_blob_files: false,
        }
    }
}

/// Rows of memtables: RocksDB's `GetApproximateMemTableStats`. Counted, not estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemtableStats {
    /// The number of entries, deletions and old versions included, range deletions not.
    pub count: u64,
    /// The bytes of the keys and values of these rows.
    pub size: u64,
}

impl Db {
    /// Returns the number and the size of the entries of `family` from `begin` (inclusive) to `end`
    /// (exclusive) that are not in tables yet: RocksDB's `GetApproximateMemTableStats`, which estimates them.
    /// Costs one step for each such entry.
    ///
    /// # Errors
    /// `Corruption` if an entry of a memtable is damaged.
    pub fn approximate_memtable_stats(
        &self,
        family: &ColumnFamily,
        begin: &[u8],
        end: &[u8],
    ) -> Result<MemtableStats> {
        self.inner().check_open()?;
        let super_version = family.0.super_version.load();
        let mut all = MemtableStats::default();
        for table in std::iter::once(&super_version.mem).chain(&super_version.immutable) {
            let rows = rows_in(table, &family.0, begin, end)?;
            all.count += rows.count;
            all.size += rows.size;
        }
        Ok(all)
    }

    /// Returns an estimate of the bytes that each of the key ranges `[begin, end)` takes, in the parts that
    /// `options` select.
    ///
    /// # Errors
    /// `InvalidArgument` if `options` select no part.
    pub fn approximate_sizes_with(
        &self,
        family: &ColumnFamily,
        ranges: &[(&[u8], &[u8])],
        options: &SizeApproximationOptions,
    ) -> Result<Vec<u64>> {
        self.inner().check_open()?;
        if !options.include_memtables && !options.include_files && !options.include_blob_files {
            return Err(Error::invalid_argument("Invalid options"));
        }
        let super_version = family.0.super_version.load();
        let version = &super_version.version;
        let blob_bytes: u64 = version.blob_files().values().map(|blob| blob.file_size()).sum();
        let size = |begin: &[u8], end: &[u8]| {
            let mut size = 0;
            if options.include_files || options.include_blob_files {
                let tables = approximate_size(&family.0, version, 0, begin, end)?;
                size += if options.include_files { tables } else { 0 };
                if options.include_blob_files && tables > 0 {
                    let share = u128::from(tables) * u128::from(blob_bytes);
                    size += (share / u128::from(version.total_bytes().max(1))) as u64;
                }
            }
            if options.include_memtables {
                let memtables = std::iter::once(&super_version.mem).chain(&super_version.immutable);
                for table in memtables {
                    size += rows_in(table, &family.0, begin, end)?.size;
                }
            }
            Ok(size)
        };
        ranges.iter().map(|(begin, end)| size(begin, end)).collect()
    }
}

/// The entries of a memtable from `begin` (inclusive) to `end` (exclusive).
fn rows_in(table: &Arc<Memtable>, family: &Family, begin: &[u8], end: &[u8]) -> Result<MemtableStats> {
    let user = family.cmp.user();
    let (first, behind) = (user.stamped(begin), user.stamped(end));
    let mut target = begin.to_vec();
    target.resize(begin.len() + user.timestamp_size(), 0xff);
    target.extend_from_slice(&pack_trailer(MAX_SEQNO, KIND_FOR_SEEK).to_le_bytes());
    let mut rows = MemtableStats::default();
    if user.compare_without_timestamp(&first, &behind).is_ge() {
        return Ok(rows);
    }
    let mut cursor = table.cursor();
    cursor.seek(&target);
    while cursor.valid() {
        let key = base::internal_key::user_key(cursor.key());
        if user.compare_without_timestamp(key, &behind).is_ge() {
            break;
        }
        rows.count += 1;
        rows.size += (cursor.key().len() + cursor.value().len()) as u64;
        cursor.next();
    }
    cursor.status()?;
    Ok(rows)
}
