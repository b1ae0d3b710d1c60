//! External table files: written ([`sst_file_writer`]), ingested, exported and imported.
//!
//! An ingestion has two phases. `prepare` inspects the files and puts copies or links of them into the
//! directory, under numbers of their own and in no version; reads and writes continue meanwhile. `commit`
//! latches the ranges of the files, flushes memtables that overlap, determines the level and sequence number
//! of each file, and records all files of all families in one step of the MANIFEST. Writers of other keys go
//! on. `docs/flow/08_ingest.md` describes the path of a file.

mod arguments;
mod commit;
mod cut;
pub mod export;
pub mod import;
mod inspect;
mod latch;
mod levels;
mod prepare;
mod replace;
pub mod sst_file_reader;
pub mod sst_file_writer;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use base::user_code::catch_or_fail;
use base::{Error, Result, SeqNo};

use crate::state::column_family::ColumnFamily;
use crate::state::handle::{Db, Handle};
pub use arguments::{IngestExternalFileArg, IngestExternalFileOptions, PreparedFileInfo};
use prepare::PreparedFamily;

/// Prepared files that are in no family yet: pass it to
/// [`commit_file_ingestion_handle`](Db::commit_file_ingestion_handle). When it is dropped, the files are
/// removed from the directory. It keeps the database open; if the database is [closed](Db::close), the next
/// open removes the files.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{IngestExternalFileArg, IngestExternalFileOptions, SstFileWriter};
///
/// let path = dir.path().join("rows.sst");
/// let mut writer = SstFileWriter::new(&options);
/// writer.open(&path)?;
/// writer.put(b"a", b"1")?;
/// writer.finish()?;
///
/// let options = IngestExternalFileOptions::default();
/// let arg = IngestExternalFileArg::new(&db.default_column_family(), [&path], options);
/// let prepared = db.prepare_file_ingestion(&[arg])?; // files are checked and copied; nothing is visible
/// db.commit_file_ingestion_handle(prepared)?;
/// assert!(db.get(b"a")?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FileIngestionHandle {
    /// The reference that keeps the database open.
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
        // After a close another process may have created files with these numbers, which must not be removed.
        self.db.inner.check_open()?;
        self.db.inner.remove_prepared(std::mem::take(&mut self.families))
    }
}

impl Drop for FileIngestionHandle {
    fn drop(&mut self) {
        // A drop has no caller for the error; a caller that needs it calls `abort`.
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
    /// Each file goes to the lowest level possible. Writers of keys in the range of a file wait while
    /// memtables that overlap the files are flushed, the WAL is synced, tables that overlap are searched, and
    /// the MANIFEST is written; with [`no_slowdown`](crate::WriteOptions::no_slowdown) they fail with
    /// `Incomplete`. All other writers go on. Snapshots wait until the files are installed, if the options
    /// ask for [`snapshot_consistency`](IngestExternalFileOptions::snapshot_consistency).
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
                "a file ingestion handle belongs to another database",
            ));
        }
        let families = handles
            .iter_mut()
            .flat_map(|handle| std::mem::take(&mut handle.families));
        db.commit_ingestion(families.collect())
    }
}
