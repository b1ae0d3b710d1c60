//! Table files from outside: written ([`sst_file_writer`]), taken up, exported and imported again.
//!
//! Taking files up has two phases. `prepare` looks at them and puts copies or links of them into the directory, under numbers
//! of their own and in no version; it disturbs nobody. `commit` stops the writers, flushes memtables that overlap, finds each
//! file its level and its sequence number, and records all of them, of all families, in one step of the MANIFEST. The way of a
//! file stands in `docs/flow/08_ingest.md`.

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

use crate::db::column_family::ColumnFamily;
use crate::db::{Db, Handle};
use prepare::PreparedFamily;
pub use replace::RangeOpt;

/// How files are ingested. Names and defaults are RocksDB's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestExternalFileOptions {
    /// Files are moved into the database: linked where the file system can, and their old names removed once they are in. Default:
    /// false, files are copied.
    pub move_files: bool,
    /// Files are linked into the database and keep their old names: whoever writes to such a file afterwards damages the
    /// database. Not together with [`move_files`](Self::move_files). Default: false.
    pub link_files: bool,
    /// A file that cannot be linked, because it lies on another file system, is copied. Default: true.
    pub failed_move_fall_back_to_copy: bool,
    /// Snapshots taken before do not show what is ingested: with one alive each file gets a sequence number, and with none
    /// whoever takes one meanwhile waits until the files are in. Default: true.
    pub snapshot_consistency: bool,
    /// A file may be given a sequence number, which it needs where it overlaps what is in the database, or a snapshot is alive.
    /// Without it such a file is refused. Default: true.
    pub allow_global_seqno: bool,
    /// Memtables that overlap the files, or hold anything while a file goes to L0, are flushed while writers wait. Without it the files are
    /// refused then. Default: true.
    pub allow_blocking_flush: bool,
    /// Files go below all that is there, to the last level: where the database has a key of theirs, its own stays. Takes a family
    /// with [`cf_allow_ingest_behind`](crate::ColumnFamilyOptions::cf_allow_ingest_behind). Snapshots show them. Default: false.
    pub ingest_behind: bool,
    /// A sequence number that is given to a file is written into it, for RocksDB before 5.16. The file is written once more for
    /// it, while writers wait. Default: false, the MANIFEST alone has it.
    pub write_global_seqno: bool,
    /// Reads files through first and verifies the checksum of each block, and the order, kind and sequence number of each entry.
    /// Without it a file's ends, index and range deletions alone are looked at. Default: false.
    pub verify_checksums_before_ingest: bool,
    /// Bytes read at a time for it; 0: as many as iterators read ahead at most. Default: 0.
    pub verify_checksums_readahead_size: usize,
    /// Where the database has checksums over whole files, that of each file is made, and compared with the one that came
    /// along, if one did. Without it one that came along is believed. Default: true.
    pub verify_file_checksum: bool,
    /// Files that cannot go to the last level are refused with `TryAgain`. Default: false.
    pub fail_if_not_bottommost_level: bool,
    /// Files may be tables of a database, with entries of any sequence number, which they keep, and of any column family. They must
    /// not overlap what is in the database. They may overlap one another: of one key, a later file must then have the newer
    /// entry. Files are read through to see what they hold; those that refer to blob files are refused. Default: false.
    pub allow_db_generated_files: bool,
    /// Blocks of the database's own tables that are read to see whether they overlap stay in the block cache. Default: true.
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

/// Files for one column family.
#[derive(Clone, Debug)]
pub struct IngestExternalFileArg {
    /// The family.
    pub column_family: ColumnFamily,
    /// Where the files lie. Where they have the same key, a later one has the newer entry.
    pub external_files: Vec<PathBuf>,
    /// How.
    pub options: IngestExternalFileOptions,
    /// The checksum over each file, in their order; empty: none are known.
    pub files_checksums: Vec<Vec<u8>>,
    /// The names of the functions that made them; empty: none are known.
    pub files_checksum_func_names: Vec<String>,
    /// The temperature the files are recorded with: how they are read, and where they should lie. Default: kUnknown.
    pub file_temperature: Temperature,
    /// All rows that the family has in this range go, in the same step: tables that lie in it are dropped, unread, and what is ingested is
    /// all there is of it then. Every file must lie in it. Rows of it in memory are flushed first, and compactions of the family
    /// waited for, while writers wait. A table that lies in it with a part of its keys only makes the ingestion fail: compact the range
    /// before, or keep its keys apart by an `sst_partitioner`. Snapshots see the range as it is then:
    /// [`snapshot_consistency`](IngestExternalFileOptions::snapshot_consistency) must be false. It takes a sequence number: a transaction that is validated
    /// by an older one finds each key of the range written.
    pub atomic_replace_range: Option<RangeOpt>,
    /// What [`SstFileWriter::finish`](crate::SstFileWriter::finish) said of each file, in their order, so that none of them is opened to
    /// find out; empty: they are. A file that has another size is refused, what else it says is believed, unless
    /// [`verify_checksums_before_ingest`](IngestExternalFileOptions::verify_checksums_before_ingest) has the file read all the same.
    pub file_infos: Vec<Arc<PreparedFileInfo>>,
}

/// What is known of a finished table file without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedFileInfo {
    size: u64,
    /// As they bound the file.
    smallest: Vec<u8>,
    largest: Vec<u8>,
    properties: TableProperties,
}

impl IngestExternalFileArg {
    /// Files without checksums.
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

/// Files that were prepared and are in no family yet: give it to
/// [`commit_file_ingestion_handle`](Db::commit_file_ingestion_handle). Dropped, it takes them out of the directory again. It keeps the
/// database open; where that is [closed](Db::close), the next open takes them out.
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
    /// Takes the files out of the directory again.
    ///
    /// # Errors
    /// The first of the file system; the next open deletes what is left then.
    pub fn abort(mut self) -> Result<()> {
        self.remove()
    }

    fn remove(&mut self) -> Result<()> {
        // Another process may have files of these numbers then.
        self.db.inner.check_open()?;
        self.db.inner.remove_prepared(std::mem::take(&mut self.families))
    }
}

impl Drop for FileIngestionHandle {
    fn drop(&mut self) {
        // Who wants to know calls `abort`.
        let _ = self.remove();
    }
}

impl Db {
    /// Takes files of a [`SstFileWriter`](crate::SstFileWriter), RocksDB's or ours, up into the default family. See
    /// [`ingest_external_files`](Db::ingest_external_files).
    pub fn ingest_external_file(
        &self,
        files: &[impl AsRef<Path>],
        options: &IngestExternalFileOptions,
    ) -> Result<SeqNo> {
        self.ingest_external_file_cf(&self.default_column_family(), files, options)
    }

    /// As [`ingest_external_file`](Db::ingest_external_file), into `family`.
    pub fn ingest_external_file_cf(
        &self,
        family: &ColumnFamily,
        files: &[impl AsRef<Path>],
        options: &IngestExternalFileOptions,
    ) -> Result<SeqNo> {
        let files = files.iter().map(AsRef::as_ref);
        self.ingest_external_files(&[IngestExternalFileArg::new(family, files, options.clone())])
    }

    /// Takes files up into several column families, each named once: all of them or, after an error or a crash, none. What they
    /// hold is newer than all that was written before, and when this returns it is durable, and so is what was written before. Gives the
    /// last sequence number with them: rows written later have higher ones.
    ///
    /// Each file goes to the lowest level that has nothing in its way. Writers wait while memtables that overlap the files are flushed,
    /// the WAL is synced, tables that overlap are looked at, and the MANIFEST is written.
    ///
    /// # Errors
    /// `InvalidArgument` for what no file can be ingested with: other comparators, other column families, unknown versions, options
    /// that contradict each other. `Corruption` for files that are not what they say. `TryAgain` as the options say.
    /// The directory is as it was then.
    pub fn ingest_external_files(&self, args: &[IngestExternalFileArg]) -> Result<SeqNo> {
        let handle = self.prepare_file_ingestion(args)?;
        self.commit_file_ingestion_handle(handle)
    }

    /// Does all of an ingestion that disturbs nobody: looks at the files and copies or links them into the directory, so that
    /// [`commit_file_ingestion_handle`](Db::commit_file_ingestion_handle) is short. Errors as
    /// [`ingest_external_files`](Db::ingest_external_files).
    pub fn prepare_file_ingestion(&self, args: &[IngestExternalFileArg]) -> Result<FileIngestionHandle> {
        let db = &self.0.inner;
        db.check_open()?;
        let mut handle = FileIngestionHandle {
            db: self.0.clone(),
            families: Vec::new(),
        };
        // Dropped with an error, the handle removes what is there by then.
        catch_or_fail(|| db.prepare_ingestion(args, &mut handle.families))?;
        Ok(handle)
    }

    /// Makes the files of a prepared ingestion part of their families. Errors as
    /// [`ingest_external_files`](Db::ingest_external_files).
    pub fn commit_file_ingestion_handle(&self, handle: FileIngestionHandle) -> Result<SeqNo> {
        self.commit_file_ingestion_handles(vec![handle])
    }

    /// Makes the files of several prepared ingestions part of their families, all or none of them. Several may be for one family,
    /// with the same options: files of a later one are the newer ones.
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
