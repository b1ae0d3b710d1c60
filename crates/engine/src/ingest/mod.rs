//! External table files: written ([`sst_file_writer`]), ingested, exported and imported.
//!
//! An ingestion has two phases. `prepare` inspects the files and puts copies or links of them into the
//! directory, under numbers of their own and in no version; reads and writes go on meanwhile. `commit` stops
//! the writers, flushes memtables that overlap, determines the level and sequence number of each file, and
//! records all files of all families in one step of the MANIFEST. `docs/flow/08_ingest.md` describes the path
//! of a file.

mod commit;
pub mod export;
pub mod import;
mod inspect;
mod levels;
mod prepare;
mod replace;
pub mod sst_file_writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::user_code::catch_or_fail;
use base::{Error, Result, SeqNo, Temperature};
use sst::properties::TableProperties;

use crate::state::column_family::ColumnFamily;
use crate::state::handle::{Db, Handle};
use prepare::PreparedFamily;
pub use replace::RangeOpt;

/// The options of an ingestion. Names and defaults are RocksDB's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestExternalFileOptions {
    /// Files are moved into the database: linked if the file system supports that, and their original names
    /// removed after the ingestion. Otherwise files are copied. Default: false.
    pub move_files: bool,
    /// Files are linked into the database and keep their original names: a later write to such a file damages
    /// the database. Not together with [`move_files`](Self::move_files). Default: false.
    pub link_files: bool,
    /// A file that cannot be linked, because it is on another file system, is copied. Default: true.
    pub failed_move_fall_back_to_copy: bool,
    /// Snapshots taken before do not show the ingested data: with an open snapshot each file gets a sequence
    /// number, and without one new snapshots wait until the files are installed. Default: true.
    pub snapshot_consistency: bool,
    /// A file may get a sequence number, which it needs if it overlaps data of the database or if a snapshot
    /// is open. Otherwise such a file is refused. Default: true.
    pub allow_global_seqno: bool,
    /// Memtables that overlap the files, or have rows while a file goes to L0, are flushed while writers
    /// wait. Otherwise the files are refused in this case. Default: true.
    pub allow_blocking_flush: bool,
    /// Files go to the last level, below all existing data: for a key that the database has already, its own
    /// value stays. Requires a family with
    /// [`cf_allow_ingest_behind`](crate::ColumnFamilyOptions::cf_allow_ingest_behind). Snapshots show the
    /// files. Default: false.
    pub ingest_behind: bool,
    /// The sequence number of a file is written into it, for RocksDB before 5.16. The file is copied for
    /// that, while writers wait. Otherwise only the MANIFEST has the number. Default: false.
    pub write_global_seqno: bool,
    /// Files are read completely first, to verify the checksum of each block and the order, kind and sequence
    /// number of each entry. Otherwise only a file's first and last entries, its index and its range
    /// deletions are read. Default: false.
    pub verify_checksums_before_ingest: bool,
    /// The readahead of that verification in bytes; 0: the maximum readahead of iterators. Default: 0.
    pub verify_checksums_readahead_size: usize,
    /// If the database has checksums of whole files, the checksum of each file is computed, and compared with
    /// the given one, if there is one. Otherwise a given checksum is accepted unverified. Default: true.
    pub verify_file_checksum: bool,
    /// Files that cannot go to the last level are refused with `TryAgain`. Default: false.
    pub fail_if_not_bottommost_level: bool,
    /// Files may be tables of a database, of any column family, with entries of any sequence number, which
    /// they keep. They must not overlap data of the database. They may overlap one another: for a common key,
    /// a later file must have the newer entry. Files are read completely to determine their contents; files
    /// that refer to blob files are refused. Default: false.
    pub allow_db_generated_files: bool,
    /// Blocks of the database's own tables that are read to determine whether they overlap stay in the block
    /// cache. Default: true.
    pub fill_cache: bool,
}

impl Default for IngestExternalFileOptions {
    fn default() -> IngestExternalFileOptions {
        IngestExternalFileOptions {
            move_files: false,
            link_files: false,
            failed_move_fall_back_to_copy: true,
            snapshot_consistency: true,
            allow_global_seqno: true,
            allow_blocking_flush: true,
            ingest_behind: false,
            write_global_seqno: false,
            verify_checksums_before_ingest: false,
            verify_checksums_readahead_size: 0,
            verify_file_checksum: true,
            fail_if_not_bottommost_level: false,
            allow_db_generated_files: false,
            fill_cache: true,
        }
    }
}

/// The files to ingest into one column family.
#[derive(Clone, Debug)]
pub struct IngestExternalFileArg {
    /// The column family.
    pub column_family: ColumnFamily,
    /// The paths of the files. If files have a common key, a later file has the newer entry.
    pub external_files: Vec<PathBuf>,
    /// The options of the ingestion.
    pub options: IngestExternalFileOptions,
    /// The checksums of the files, in order; empty if not known.
    pub files_checksums: Vec<Vec<u8>>,
    /// The names of the checksum functions, in order; empty if not known.
    pub files_checksum_func_names: Vec<String>,
    /// The temperature recorded for the files, which determines how they are read and where they should be
    /// placed. Default: kUnknown.
    pub file_temperature: Temperature,
    /// All existing rows of the family in this range are replaced in the same step: tables within it are
    /// dropped unread, and the ingested files are then its only contents. Every file must be within the
    /// range. Rows of it in memory are flushed first, and compactions of the family awaited, while writers
    /// wait. If a table is partly within the range, the ingestion fails: compact the range first, or separate
    /// its keys by an `sst_partitioner`. Snapshots show the new contents:
    /// [`snapshot_consistency`](IngestExternalFileOptions::snapshot_consistency) must be false. The
    /// replacement takes a sequence number: a transaction that is validated by an older one finds every key
    /// of the range written.
    pub atomic_replace_range: Option<RangeOpt>,
    /// The results of [`SstFileWriter::finish`](crate::SstFileWriter::finish), in the order of the files, so
    /// that the files need not be opened; empty: they are opened. A file of another size is refused; the
    /// other information is accepted unverified, unless
    /// [`verify_checksums_before_ingest`](IngestExternalFileOptions::verify_checksums_before_ingest) requires
    /// the file to be read.
    pub file_infos: Vec<Arc<PreparedFileInfo>>,
}

/// The information about a finished table file that replaces opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedFileInfo {
    size: u64,
    /// The smallest internal key; with `largest` it bounds the file.
    smallest: Vec<u8>,
    largest: Vec<u8>,
    properties: TableProperties,
}

impl IngestExternalFileArg {
    /// An argument for files without checksums.
    pub fn new(
        column_family: &ColumnFamily,
        external_files: impl IntoIterator<Item = impl Into<PathBuf>>,
        options: IngestExternalFileOptions,
    ) -> IngestExternalFileArg {
        IngestExternalFileArg {
            column_family: column_family.clone(),
            external_files: external_files.into_iter().map(Into::into).collect(),
            options,
            files_checksums: Vec::new(),
            files_checksum_func_names: Vec::new(),
            file_temperature: Temperature::UNKNOWN,
            atomic_replace_range: None,
            file_infos: Vec::new(),
        }
    }
}

/// Prepared files that are in no family yet: pass it to
/// [`commit_file_ingestion_handle`](Db::commit_file_ingestion_handle). When it is dropped, the files are
/// removed from the directory. It keeps the database open; if the database is [closed](Db::close), the next
/// open removes the files.
pub struct FileIngestionHandle {
    /// Keeps the database open.
    db: Arc<Handle>,
    families: Vec<PreparedFamily>,
}

impl fmt::Debug for FileIngestionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files: usize = self.families.iter().map(|family| family.files.len()).sum();
        write!(f, "FileIngestionHandle({files} files)")
    }
}

impl FileIngestionHandle {
    /// Removes the files from the directory.
    ///
    /// # Errors
    /// The first error of the file system; the next open deletes the remaining files.
    pub fn abort(mut self) -> Result<()> {
        self.remove()
    }

    fn remove(&mut self) -> Result<()> {
        // After a close another process may have files of these numbers.
        self.db.inner.check_open()?;
        self.db.inner.remove_prepared(std::mem::take(&mut self.families))
    }
}

impl Drop for FileIngestionHandle {
    fn drop(&mut self) {
        // A caller that needs the error calls `abort`.
        let _ = self.remove();
    }
}

impl Db {
    /// Ingests files of a [`SstFileWriter`](crate::SstFileWriter), RocksDB's or ours, into the default
    /// family. See [`ingest_external_files`](Db::ingest_external_files).
    pub fn ingest_external_file(
        &self,
        files: &[impl AsRef<Path>],
        options: &IngestExternalFileOptions,
    ) -> Result<SeqNo> {
        self.ingest_external_file_cf(&self.default_column_family(), files, options)
    }

    /// Same as [`ingest_external_file`](Db::ingest_external_file), into `family`.
    pub fn ingest_external_file_cf(
        &self,
        family: &ColumnFamily,
        files: &[impl AsRef<Path>],
        options: &IngestExternalFileOptions,
    ) -> Result<SeqNo> {
        let files = files.iter().map(AsRef::as_ref);
        self.ingest_external_files(&[IngestExternalFileArg::new(family, files, options.clone())])
    }

    /// Ingests files into several column families, each named once: all of them or, after an error or a
    /// crash, none. Their entries are newer than everything written before. When this returns, they are
    /// durable, and so is everything written before. Returns the last sequence number including them: rows
    /// written later have higher ones.
    ///
    /// Each file goes to the lowest level possible. Writers wait while memtables that overlap the files are
    /// flushed, the WAL is synced, tables that overlap are searched, and the MANIFEST is written.
    ///
    /// # Errors
    /// `InvalidArgument` for files that cannot be ingested: other comparators, other column families, unknown
    /// versions, options that contradict each other. `Corruption` for damaged or inconsistent files.
    /// `TryAgain` as described at the options. After an error the directory is unchanged.
    pub fn ingest_external_files(&self, args: &[IngestExternalFileArg]) -> Result<SeqNo> {
        let handle = self.prepare_file_ingestion(args)?;
        self.commit_file_ingestion_handle(handle)
    }

    /// Does the part of an ingestion that does not block writers: inspects the files and copies or links them
    /// into the directory, so that [`commit_file_ingestion_handle`](Db::commit_file_ingestion_handle) is
    /// short. Errors are those of [`ingest_external_files`](Db::ingest_external_files).
    pub fn prepare_file_ingestion(&self, args: &[IngestExternalFileArg]) -> Result<FileIngestionHandle> {
        let db = &self.0.inner;
        db.check_open()?;
        let mut handle = FileIngestionHandle {
            db: self.0.clone(),
            families: Vec::new(),
        };
        // After an error the handle is dropped, and removes the files prepared so far.
        catch_or_fail(|| db.prepare_ingestion(args, &mut handle.families))?;
        Ok(handle)
    }

    /// Makes the files of a prepared ingestion part of their families. Errors are those of
    /// [`ingest_external_files`](Db::ingest_external_files).
    pub fn commit_file_ingestion_handle(&self, handle: FileIngestionHandle) -> Result<SeqNo> {
        self.commit_file_ingestion_handles(vec![handle])
    }

    /// Makes the files of several prepared ingestions part of their families, all or none of them. Several
    /// may be for one family, with the same options: the files of a later handle are newer.
    pub fn commit_file_ingestion_handles(&self, mut handles: Vec<FileIngestionHandle>) -> Result<SeqNo> {
        let db = &self.0.inner;
        db.check_open()?;
        if !handles.iter().all(|handle| Arc::ptr_eq(&handle.db, &self.0)) {
            return Err(Error::invalid_argument(
                "a file ingestion handle is one of another database",
            ));
        }
        let families = handles
            .iter_mut()
            .flat_map(|handle| std::mem::take(&mut handle.families));
        db.commit_ingestion(families.collect())
    }
}
