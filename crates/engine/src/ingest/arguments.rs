//! The files of an ingestion, and its options.

use std::path::PathBuf;
use std::sync::Arc;

use base::Temperature;
use sst::properties::TableProperties;

use crate::options::RangeOpt;
use crate::state::column_family::ColumnFamily;

/// The options of an ingestion. Names and defaults are RocksDB's.
///
/// See the example of [`IngestExternalFileArg`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestExternalFileOptions {
    /// Moves the files into the database: links them if the file system supports that, and removes their
    /// original names after the ingestion. Otherwise files are copied. Default: false.
    pub move_files: bool,
    /// Links the files into the database and keeps their original names: a later write to such a file damages
    /// the database. Not together with [`move_files`](Self::move_files). Default: false.
    pub link_files: bool,
    /// Copies a file that cannot be linked, for example because it is on another file system. If false, such
    /// a file is an error. Default: true.
    pub failed_move_fall_back_to_copy: bool,
    /// Hides the ingested data from snapshots taken before the ingestion: if a snapshot is open, each file
    /// gets a sequence number, and otherwise new snapshots wait until the files are installed. Default: true.
    pub snapshot_consistency: bool,
    /// Allows the ingestion to assign a sequence number to a file that overlaps data of the database, or if a
    /// snapshot is open. If false, such a file is refused. Default: true.
    pub allow_global_seqno: bool,
    /// Allows the ingestion to flush memtables that overlap the files, or that have rows while a file goes to
    /// L0; writers of the files' keys wait for the flush. If false, the files are refused in this case.
    /// Default: true.
    pub allow_blocking_flush: bool,
    /// Places the files in the last level, below all existing data: for a key that the database has already,
    /// its own value stays. Requires a family with
    /// [`cf_allow_ingest_behind`](crate::ColumnFamilyOptions::cf_allow_ingest_behind). Snapshots show the
    /// files. Default: false.
    pub ingest_behind: bool,
    /// Writes the sequence number of a file into the file, for RocksDB before 5.16. The file is copied for
    /// that, while writers of its keys wait. If false, only the MANIFEST has the number. Default: false.
    pub write_global_seqno: bool,
    /// Reads the files completely first, to verify the checksum of each block and the order, kind and
    /// sequence number of each entry. If false, only a file's first and last entries, its index and its range
    /// deletions are read. Default: false.
    pub verify_checksums_before_ingest: bool,
    /// The readahead in bytes of the verification by
    /// [`verify_checksums_before_ingest`](Self::verify_checksums_before_ingest); 0: the maximum readahead of
    /// iterators. Default: 0.
    pub verify_checksums_readahead_size: usize,
    /// Computes the checksum of each file, if the database has checksums of whole files, and compares it with
    /// the checksum in the argument, if there is one. If false, a checksum in the argument is accepted
    /// unverified. Default: true.
    pub verify_file_checksum: bool,
    /// Refuses files that cannot go to the last level, with `TryAgain`. Default: false.
    pub fail_if_not_bottommost_level: bool,
    /// Accepts tables of a database, of any column family, with entries of any sequence number, which they
    /// keep. They must not overlap data of the database. They may overlap one another: for a common key, a
    /// later file must have the newer entry. Files are read completely to determine their contents; files
    /// that refer to blob files are refused. Default: false.
    pub allow_db_generated_files: bool,
    /// Keeps blocks of the database's own tables in the block cache that are read to determine whether the
    /// files overlap them. Default: true.
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
/// let info = writer.finish()?;
///
/// let moved = IngestExternalFileOptions { move_files: true, ..Default::default() };
/// let mut arg = IngestExternalFileArg::new(&db.default_column_family(), [&path], moved);
/// arg.file_infos.extend(info.prepared_file_info); // the file need not be read again
/// db.ingest_external_files(&[arg])?;
/// assert!(db.get(b"a")?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// The range whose existing rows are replaced by the ingested files, in the same step: tables within the
    /// range are dropped unread, and the ingested files are then its only contents. Every file must be within
    /// the range. Rows of the range in memory are flushed first, and compactions of the family awaited, while
    /// writers of the range wait. A table that is partly within the range is rewritten without the rows of
    /// the range, where RocksDB refuses the ingestion. Snapshots show the new contents:
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
///
/// See the example of [`IngestExternalFileArg`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedFileInfo {
    pub(super) size: u64,
    /// The smallest internal key of the file: range deletions are included, and [`largest`](Self::largest) is
    /// the other bound.
    pub(super) smallest: Vec<u8>,
    pub(super) largest: Vec<u8>,
    pub(super) properties: TableProperties,
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
