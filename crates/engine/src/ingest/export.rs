//! A column family's tables as files with their metadata, for another database to import.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Progress, Result, SeqNo, filename};
use manifest::Version;

use crate::db::checkpoint::{link_or_copy, publish, remove_dir};
use crate::db::column_family::{ColumnFamily, Family};
use crate::db::file_deletions::NothingIsDeleted;
use crate::db::{Db, DbInner};
use crate::options::FlushOptions;

/// A table that [`Db::export_column_family`] gave away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveFileMetaData {
    /// The column family it is from.
    pub column_family_name: String,
    /// Its level there.
    pub level: usize,
    /// Its name in [`directory`](Self::directory).
    pub relative_filename: String,
    /// Where it lies.
    pub directory: PathBuf,
    /// Bytes; 0: not known.
    pub size: u64,
    /// Lowest sequence number of its entries.
    pub smallest_seqno: SeqNo,
    /// Highest one. Of an ingested table, that of all its entries.
    pub largest_seqno: SeqNo,
    /// Smallest user key.
    pub smallestkey: Vec<u8>,
    /// Largest user key.
    pub largestkey: Vec<u8>,
    /// Smallest internal key: range deletions are cut to this and to [`largest`](Self::largest). Empty: as the file has it.
    pub smallest: Vec<u8>,
    /// Largest internal key.
    pub largest: Vec<u8>,
    /// In L0 a larger one is newer; 0: by sequence numbers.
    pub epoch_number: u64,
    /// The checksum over the file; empty without one.
    pub file_checksum: Vec<u8>,
    /// The name of its function; empty without one.
    pub file_checksum_func_name: String,
}

/// A column family as files: what [`Db::create_column_family_with_import`] makes another of. RocksDB's, field by field, as far as
/// the import needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportImportFilesMetaData {
    /// The name of its comparator.
    pub db_comparator_name: String,
    /// Its tables.
    pub files: Vec<LiveFileMetaData>,
}

impl Db {
    /// Flushes `family` and puts its tables into the directory `dir`, which must not exist: linked where the file system can, copied
    /// elsewhere. A crash leaves `dir.tmp` at most. The files belong to the caller.
    ///
    /// # Errors
    /// `InvalidArgument` if `dir` exists; `NotSupported` for a family with blob files; those of the file system.
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
        let _held = NothingIsDeleted::for_holder(self, &format!("export {}", dir.display()));
        let version = family.super_version.load().version.clone();
        if !version.blob_files().is_empty() {
            return Err(Error::not_supported(
                "export of a column family that has blob files",
            ));
        }
        let mut temporary = dir.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        // Of an export that was cut off.
        remove_dir(fs, &temporary)?;
        let written = self
            .write_export(family, &version, &temporary)
            .and_then(|()| publish(fs, &temporary, dir));
        if let Err(error) = written {
            // What failed is what the user is to hear of.
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
                // LevelDB's name.
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
