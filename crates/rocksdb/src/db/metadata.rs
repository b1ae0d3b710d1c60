//! Files of a database, and updates in its WALs.

use super::{DBCommon, DBInner, Range, ThreadMode};
use crate::wal_iterator::DBWALIterator;
use crate::{AsColumnFamilyRef, Error};

/// The size and the files of a column family.
#[derive(Clone, Debug)]
pub struct ColumnFamilyMetaData {
    /// The bytes of the family's tables.
    pub size: u64,
    /// The name of the column family.
    pub name: String,
    /// The number of the family's tables.
    pub file_count: usize,
}

/// A table of a database.
#[derive(Clone, Debug)]
pub struct LiveFile {
    /// The name of the table's family.
    pub column_family_name: String,
    /// The name of the file, after a slash.
    pub name: String,
    /// The size in bytes.
    pub size: usize,
    /// The level of the file.
    pub level: i32,
    /// The smallest key of the file.
    pub start_key: Option<Vec<u8>>,
    /// The largest key of the file.
    pub end_key: Option<Vec<u8>>,
    /// The number of rows, with deletions.
    pub num_entries: u64,
    /// The number of deletions.
    pub num_deletions: u64,
}

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// The sequence number of the last write.
    pub fn latest_sequence_number(&self) -> u64 {
        self.engine().latest_sequence_number()
    }

    /// The approximate bytes of tables of the default family in each range; 0 if unknown.
    pub fn get_approximate_sizes(&self, ranges: &[Range<'_>]) -> Vec<u64> {
        self.approximate_sizes(&self.engine().default_column_family(), ranges)
    }

    /// The approximate bytes of tables of a family in each range; 0 if unknown.
    pub fn get_approximate_sizes_cf(&self, cf: &impl AsColumnFamilyRef, ranges: &[Range<'_>]) -> Vec<u64> {
        self.approximate_sizes(cf.family(), ranges)
    }

    fn approximate_sizes(&self, family: &esker::ColumnFamily, ranges: &[Range<'_>]) -> Vec<u64> {
        let bounds: Vec<_> = ranges
            .iter()
            .map(|range| (range.start_key, range.end_key))
            .collect();
        let sizes = self.engine().approximate_sizes(family, &bounds);
        sizes.unwrap_or_else(|_| vec![0; ranges.len()])
    }

    /// The batches written after this sequence number, up to the present last one, as far as WALs have them.
    /// WALs of flushed rows are deleted: if the first batch begins after the next number, some are missing.
    ///
    /// # Errors
    /// `NotFound` if no row has that number yet; `Not implemented` if the database is open for reading only.
    pub fn get_updates_since(&self, seq_number: u64) -> Result<DBWALIterator, Error> {
        let inner = self.engine().get_updates_since(seq_number)?;
        Ok(DBWALIterator::new(inner, seq_number))
    }

    /// The size and the files of the default family.
    pub fn get_column_family_metadata(&self) -> ColumnFamilyMetaData {
        self.metadata(&self.engine().default_column_family())
    }

    /// The size and the files of a family.
    pub fn get_column_family_metadata_cf(&self, cf: &impl AsColumnFamilyRef) -> ColumnFamilyMetaData {
        self.metadata(cf.family())
    }

    fn metadata(&self, family: &esker::ColumnFamily) -> ColumnFamilyMetaData {
        let levels = self.engine().levels(family);
        ColumnFamilyMetaData {
            size: levels.iter().map(|level| level.size).sum(),
            name: family.name().to_owned(),
            file_count: levels.iter().map(|level| level.files).sum(),
        }
    }

    /// The tables of all families.
    ///
    /// # Errors
    /// Never fails.
    pub fn live_files(&self) -> Result<Vec<LiveFile>, Error> {
        let files = self.engine().live_files().into_iter();
        Ok(files.map(live_file).collect())
    }

    /// Drops tables of the default family below L0 whose keys are all in a range, both ends included. Other
    /// rows of the range stay.
    ///
    /// # Errors
    /// The errors of the MANIFEST.
    pub fn delete_file_in_range<K: AsRef<[u8]>>(&self, from: K, to: K) -> Result<(), Error> {
        let family = self.engine().default_column_family();
        self.delete_files(&family, from.as_ref(), to.as_ref())
    }

    /// Drops tables of a family below L0 whose keys are all in a range, both ends included.
    ///
    /// # Errors
    /// The errors of the MANIFEST.
    pub fn delete_file_in_range_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        from: K,
        to: K,
    ) -> Result<(), Error> {
        self.delete_files(cf.family(), from.as_ref(), to.as_ref())
    }

    fn delete_files(&self, family: &esker::ColumnFamily, from: &[u8], to: &[u8]) -> Result<(), Error> {
        Ok(self
            .engine()
            .delete_files_in_range(family, Some(from), Some(to))?)
    }

    /// The identity of the database, from its file `IDENTITY`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn get_db_identity(&self) -> Result<Vec<u8>, Error> {
        Ok(self.engine().identity().as_bytes().to_vec())
    }
}

fn live_file(file: esker::LiveFile) -> LiveFile {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    LiveFile {
        column_family_name: file.column_family,
        name: format!("/{name}"),
        size: usize::try_from(file.size).unwrap_or(usize::MAX),
        level: i32::try_from(file.level).unwrap_or(i32::MAX),
        start_key: Some(file.smallest_key),
        end_key: Some(file.largest_key),
        num_entries: file.num_entries,
        num_deletions: file.num_deletions,
    }
}
