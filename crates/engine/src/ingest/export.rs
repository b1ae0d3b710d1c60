//! A column family's tables exported as files with metadata, for another database to import.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Progress, Result, SeqNo, filename};
use manifest::Version;

use crate::files::copy::{link_or_copy, publish, remove_dir};
use crate::options::FlushOptions;
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::db_inner::DbInner;
use crate::state::file_deletions::FileDeletionGuard;
use crate::state::handle::Db;

/// A table that was exported by [`Db::export_column_family`].
///
/// See the example of [`ExportImportFilesMetaData`](crate::ExportImportFilesMetaData).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveFileMetaData {
    /// The name of the table's column family.
    pub column_family_name: String,
    /// The level of the table in that family.
    pub level: usize,
    /// The file name in [`directory`](Self::directory).
    pub relative_filename: String,
    /// The directory of the file.
    pub directory: PathBuf,
    /// The size in bytes; 0: not known.
    pub size: u64,
    /// The lowest sequence number of the table's entries.
    pub smallest_seqno: SeqNo,
    /// The highest sequence number of the table's entries. In an ingested table all entries have this
    /// sequence number.
    pub largest_seqno: SeqNo,
    /// The smallest user key.
    pub smallestkey: Vec<u8>,
    /// The largest user key.
    pub largestkey: Vec<u8>,
    /// The smallest internal key: range deletions are cut to the range from this to
    /// [`largest`](Self::largest). Empty: the bounds are those of the file's contents.
    pub smallest: Vec<u8>,
    /// The largest internal key.
    pub largest: Vec<u8>,
    /// The order in L0: a larger number is newer; 0: the order is that of sequence numbers.
    pub epoch_number: u64,
    /// The checksum of the whole file; empty without one.
    pub file_checksum: Vec<u8>,
    /// The name of the checksum function; empty without one.
    pub file_checksum_func_name: String,
}

/// A column family as files, which [`Db::create_column_family_with_import`] imports. The fields are those of
/// RocksDB that the import needs.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{ColumnFamilyOptions, ImportColumnFamilyOptions};
///
/// db.put(b"a", b"1")?;
/// let export = db.export_column_family(&db.default_column_family(), dir.path().join("export"))?;
/// for file in &export.files {
///     println!("{}: level {}, {} bytes", file.relative_filename, file.level, file.size);
/// }
///
/// let (family, import) = (ColumnFamilyOptions::default(), ImportColumnFamilyOptions { move_files: true });
/// let copy = db.create_column_family_with_import("copy", &family, &[&export], &import)?;
/// assert!(db.get_cf(&copy, b"a")?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportImportFilesMetaData {
    /// The name of the comparator.
    pub db_comparator_name: String,
    /// The tables.
    pub files: Vec<LiveFileMetaData>,
}

impl Db {
    /// Flushes `family` and exports its tables to the directory `dir`, which must not exist: linked if the
    /// file system supports that, else copied. A crash leaves at most `dir.tmp`. The files belong to the
    /// caller.
    ///
    /// # Errors
    /// `InvalidArgument` if `dir` exists; `NotSupported` for a family with blob files; the errors of the file
    /// system.
    pub fn export_column_family(
        &self,
        family: &ColumnFamily,
        dir: impl AsRef<Path>,
    ) -> Result<ExportImportFilesMetaData> {
        self.inner().check_open()?;
        self.inner().export_column_family(&family.0, dir.as_ref())
    }
}

impl DbInner {
    fn export_column_family(&self, family: &Arc<Family>, dir: &Path) -> Result<ExportImportFilesMetaData> {
        let fs = &*self.options.fs;
        if dir.as_os_str().is_empty() || fs.exists(dir)? {
            return Err(Error::invalid_argument("Specified export_dir exists").in_file(dir));
        }
        self.flush_for(&FlushOptions::at_once(), family)?;
        let _held = FileDeletionGuard::for_holder(self, &format!("export {}", dir.display()));
        let version = family.super_version.load().version.clone();
        if !version.blob_files().is_empty() {
            return Err(Error::not_supported(
                "export of a column family that has blob files",
            ));
        }
        let mut temporary = dir.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        // The remains of an interrupted export.
        remove_dir(fs, &temporary)?;
        let written = self
            .write_export(family, &version, &temporary)
            .and_then(|()| publish(fs, &temporary, dir));
        if let Err(error) = written {
            // The caller gets the first error; later errors are dropped.
            let _ = remove_dir(fs, &temporary);
            return Err(error);
        }
        Ok(ExportImportFilesMetaData {
            db_comparator_name: family.cmp.user().name().to_owned(),
            files: metadata(family, &version, dir),
        })
    }

    fn write_export(&self, family: &Family, version: &Version, to: &Path) -> Result<()> {
        let fs = &*self.options.fs;
        fs.create_dir_all(to)?;
        for (_, file) in version.all_files() {
            let mut from = family.paths.table(file);
            if !fs.exists(&from)? {
                // The extension of LevelDB's tables.
                from.set_extension("ldb");
            }
            link_or_copy(fs, &from, &filename::table(to, file.number), &Progress::new())?;
        }
        Ok(())
    }
}

fn metadata(family: &Family, version: &Version, dir: &Path) -> Vec<LiveFileMetaData> {
    let of_file = |(level, file): (usize, &Arc<manifest::FileMetadata>)| {
        let checksum = file.file_checksum.as_ref();
        let name = filename::table(Path::new(""), file.number);
        LiveFileMetaData {
            column_family_name: family.name.clone(),
            level,
            relative_filename: name.to_string_lossy().into_owned(),
            directory: dir.to_path_buf(),
            size: file.size,
            smallest_seqno: file.smallest_seqno,
            largest_seqno: file.largest_seqno,
            smallestkey: file.smallest_user_key().to_vec(),
            largestkey: file.largest_user_key().to_vec(),
            smallest: file.smallest.to_vec(),
            largest: file.largest.to_vec(),
            epoch_number: file.epoch_number.unwrap_or(0),
            file_checksum: checksum.map_or_else(Vec::new, |checksum| checksum.value.to_vec()),
            file_checksum_func_name: checksum.map_or_else(String::new, |checksum| checksum.func_name.clone()),
        }
    };
    version.all_files().map(of_file).collect()
}
