//! Writes table files outside of any database, for a later ingestion.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, ErrorKind, InternalComparator, Kind, Result, SeqNo, entity, internal_key};
use codec::CompressionType;
use sst::writer::{TableWriter, TableWriterOptions};
use vfs::{CreateOptions, FileSystem};

use super::PreparedFileInfo;
use crate::files::file_checksum::FileSum;
use crate::files::session_id::new_session_id;
use crate::jobs::output::table_format;
use crate::options::{ColumnFamilyOptions, FileChecksumGenFactory, Options};
use crate::state::column_family::ColumnFamily;

/// RocksDB's version number of external files with room for a global sequence number.
const VERSION: i32 = 2;

/// The description of a file that a [`SstFileWriter`] wrote.
///
/// See the example of [`SstFileWriter`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalSstFileInfo {
    /// The path of the file.
    pub file_path: PathBuf,
    /// The smallest user key of a put, merge or deletion; empty without one.
    pub smallest_key: Vec<u8>,
    /// The largest user key of a put, merge or deletion; empty without one.
    pub largest_key: Vec<u8>,
    /// The smallest start key of the range deletions; empty without one.
    pub smallest_range_del_key: Vec<u8>,
    /// The largest end key of the range deletions, exclusive; empty without one.
    pub largest_range_del_key: Vec<u8>,
    /// The checksum of the whole file, if [`file_checksum_gen_factory`](Options::file_checksum_gen_factory)
    /// makes one.
    pub file_checksum: Vec<u8>,
    /// The name of the checksum function; empty without one.
    pub file_checksum_func_name: String,
    /// The sequence number of every entry until the file is ingested: 0.
    pub sequence_number: SeqNo,
    /// The size in bytes.
    pub file_size: u64,
    /// The number of entries, without range deletions.
    pub num_entries: u64,
    /// The number of range deletions, as they were added.
    pub num_range_del_entries: u64,
    /// RocksDB's version number of external files: 2.
    pub version: i32,
    /// The information that saves an ingestion from opening the file: see
    /// [`IngestExternalFileArg::file_infos`](crate::IngestExternalFileArg::file_infos). `None` until the file
    /// is finished.
    pub prepared_file_info: Option<Arc<PreparedFileInfo>>,
}

/// Writes a table file for [`Db::ingest_external_file`](crate::Db::ingest_external_file), or for RocksDB's
/// `IngestExternalFile`. A file has one entry per key, in the family's order. Range deletions are added in
/// any order, and do not delete entries of the same file.
///
/// A file that was opened and not finished is removed when the writer is dropped. In families with timestamps
/// each key ends with its timestamp.
///
/// ```
/// use esker::{Db, IngestExternalFileOptions, Options, SstFileWriter};
///
/// # let dir = tempfile::tempdir().unwrap();
/// let options = Options { create_if_missing: true, ..Default::default() };
/// let mut writer = SstFileWriter::new(&options);
/// writer.open(dir.path().join("outside.sst")).unwrap();
/// writer.put(b"apple", b"1").unwrap();
/// writer.put(b"pear", b"2").unwrap();
/// let file = writer.finish().unwrap();
/// assert_eq!((file.num_entries, &file.smallest_key[..]), (2, &b"apple"[..]));
///
/// let db = Db::open(&options, dir.path().join("db")).unwrap();
/// db.ingest_external_file(&[file.file_path], &IngestExternalFileOptions::default()).unwrap();
/// assert_eq!(db.get(b"pear").unwrap().as_deref(), Some(&b"2"[..]));
/// ```
pub struct SstFileWriter {
    fs: Arc<dyn FileSystem>,
    checksums: FileChecksumGenFactory,
    create: CreateOptions,
    table: TableWriterOptions,
    /// The number of files opened so far: it makes the unique ids of the tables different.
    files: u64,
    open: Option<OpenFile>,
}

struct OpenFile {
    path: PathBuf,
    writer: TableWriter,
    sum: FileSum,
    info: ExternalSstFileInfo,
    /// The current or last internal key.
    key: Vec<u8>,
}

impl std::fmt::Debug for SstFileWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SstFileWriter")
            .field("open", &self.open.as_ref().map(|open| &open.path))
            .finish_non_exhaustive()
    }
}

impl SstFileWriter {
    /// A writer for files of any family with the options [`options.column_family`](Options::column_family):
    /// their comparator and table options apply. Files are compressed like the last level.
    pub fn new(options: &Options) -> SstFileWriter {
        let family = &options.column_family;
        SstFileWriter::with(
            options,
            family,
            InternalComparator::new(family.comparator.clone()),
        )
    }

    /// A writer for files that can be ingested into `family` only, with that family's options.
    pub fn for_column_family(options: &Options, family: &ColumnFamily) -> SstFileWriter {
        let mut writer = SstFileWriter::with(options, &family.0.options, family.0.cmp.clone());
        writer.table.prefix_extractor = family.0.prefix_extractor.clone();
        writer.table.cf_id = family.id();
        writer.table.cf_name = family.name().as_bytes().to_vec();
        writer
    }

    fn with(options: &Options, family: &ColumnFamilyOptions, cmp: InternalComparator) -> SstFileWriter {
        SstFileWriter {
            fs: options.fs.clone(),
            checksums: options.file_checksum_gen_factory,
            create: CreateOptions {
                bytes_per_sync: options.bytes_per_sync,
                strict_bytes_per_sync: options.strict_bytes_per_sync,
                ..CreateOptions::default()
            },
            table: TableWriterOptions {
                compression: compression(family),
                compression_opts: family
                    .compression_opts_for(family.bottommost_compression.is_some())
                    .clone(),
                prefix_extractor: family.prefix_extractor.clone(),
                merge_operator: family
                    .merge_operator
                    .as_ref()
                    .map(|operator| operator.name().to_owned()),
                db_id: "SST Writer".to_owned(),
                session_id: new_session_id(),
                external: true,
                statistics: options.statistics.clone(),
                row_limit: options.row_limit,
                ..table_format(family, &cmp)
            },
            files: 0,
            open: None,
        }
    }

    /// Begins a file. An existing file is removed and not overwritten: if a database ingested it with
    /// `link_files`, or `move_files` could not remove its name, it is one of the database's own files.
    ///
    /// # Errors
    /// `InvalidArgument` while another file is open, and for options that contradict each other; the errors
    /// of the file system.
    pub fn open(&mut self, path: impl AsRef<Path>) -> Result<()> {
        if self.open.is_some() {
            return Err(Error::invalid_argument("File is already opened"));
        }
        let path = path.as_ref();
        match self.fs.remove(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = self.fs.create(path, &self.create)?;
        let (file, sum) = FileSum::over(self.checksums, file);
        self.files += 1;
        let options = TableWriterOptions {
            file_number: self.files,
            ..self.table.clone()
        };
        let writer = TableWriter::new(file, options).inspect_err(|_| {
            // The caller gets the first error; later errors are dropped.
            let _ = self.fs.remove(path);
        })?;
        self.open = Some(OpenFile {
            path: path.to_path_buf(),
            writer,
            sum,
            info: ExternalSstFileInfo {
                file_path: path.to_path_buf(),
                version: VERSION,
                ..ExternalSstFileInfo::default()
            },
            key: Vec::new(),
        });
        Ok(())
    }

    /// Adds `key` with `value`.
    ///
    /// # Errors
    /// `InvalidArgument` if no file is open, if `key` does not sort after the previous one, or if key or
    /// value is too large, as for [`Db::put`](crate::Db::put); the errors of the file.
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.add(key.as_ref(), Kind::Value, value.as_ref())
    }

    /// Adds `key` as of `timestamp` with `value`, for a family with timestamps: the same as
    /// [`put`](SstFileWriter::put) of the key followed by its timestamp. For one key the newest timestamp
    /// must be added first.
    ///
    /// # Errors
    /// The errors of `put`; `InvalidArgument` for a timestamp that does not have the family's size.
    pub fn put_at(
        &mut self,
        key: impl AsRef<[u8]>,
        timestamp: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        let (key, timestamp, value) = (key.as_ref(), timestamp.as_ref(), value.as_ref());
        let key = self.stamped(key, timestamp)?;
        self.put(&key, value)
    }

    /// Adds a merge operand for `key` as of `timestamp`. Same rules as for [`put_at`](SstFileWriter::put_at).
    pub fn merge_at(
        &mut self,
        key: impl AsRef<[u8]>,
        timestamp: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<()> {
        let (key, timestamp, operand) = (key.as_ref(), timestamp.as_ref(), operand.as_ref());
        let key = self.stamped(key, timestamp)?;
        self.merge(&key, operand)
    }

    /// Adds the deletion of `key` as of `timestamp`. Same rules as for [`put_at`](SstFileWriter::put_at).
    pub fn delete_at(&mut self, key: impl AsRef<[u8]>, timestamp: impl AsRef<[u8]>) -> Result<()> {
        let (key, timestamp) = (key.as_ref(), timestamp.as_ref());
        let key = self.stamped(key, timestamp)?;
        self.delete(&key)
    }

    /// Adds the deletion, as of `timestamp`, of all keys from `begin` (inclusive) to `end` (exclusive). Same
    /// rules as for [`put_at`](SstFileWriter::put_at) and [`delete_range`](SstFileWriter::delete_range).
    pub fn delete_range_at(
        &mut self,
        begin: impl AsRef<[u8]>,
        end: impl AsRef<[u8]>,
        timestamp: impl AsRef<[u8]>,
    ) -> Result<()> {
        let (begin, end, timestamp) = (begin.as_ref(), end.as_ref(), timestamp.as_ref());
        let (begin, end) = (self.stamped(begin, timestamp)?, self.stamped(end, timestamp)?);
        self.delete_range(&begin, &end)
    }

    fn stamped(&self, key: &[u8], timestamp: &[u8]) -> Result<Vec<u8>> {
        match timestamp.len() == self.table.cmp.user().timestamp_size() {
            true => Ok([key, timestamp].concat()),
            false => Err(Error::invalid_argument("Timestamp size mismatch")),
        }
    }

    /// Adds `key` with columns, in any order. Same rules as for [`put`](SstFileWriter::put); `Corruption`, as
    /// in RocksDB, if two columns have one name.
    pub fn put_entity(&mut self, key: impl AsRef<[u8]>, columns: &[(&[u8], &[u8])]) -> Result<()> {
        let key = key.as_ref();
        let lens = columns.iter().flat_map(|column| [column.0.len(), column.1.len()]);
        let bytes = lens.fold(0, usize::saturating_add);
        if !self.table.row_limit.allows(key.len(), bytes) {
            return Err(self.table.row_limit.error(key.len(), bytes));
        }
        let mut value = Vec::new();
        entity::encode_unsorted(columns, &mut value)?;
        self.add(key, Kind::WideColumnEntity, &value)
    }

    /// Adds a merge operand for `key`. Same rules as for [`put`](SstFileWriter::put).
    pub fn merge(&mut self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        self.add(key.as_ref(), Kind::Merge, operand.as_ref())
    }

    /// Adds the deletion of `key`: older values of the database are deleted by the ingestion. Same rules as
    /// for [`put`](SstFileWriter::put).
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> Result<()> {
        let key = key.as_ref();
        let kind = match self.table.cmp.user().timestamp_size() {
            0 => Kind::Deletion,
            _ => Kind::DeletionWithTimestamp,
        };
        self.add(key, kind, &[])
    }

    /// Adds a deletion of `key`, which was put once: see [`Db::single_delete`](crate::Db::single_delete).
    /// Same rules as for [`put`](SstFileWriter::put).
    pub fn single_delete(&mut self, key: impl AsRef<[u8]>) -> Result<()> {
        self.add(key.as_ref(), Kind::SingleDeletion, &[])
    }

    /// Adds the deletion of all older keys of the database from `begin` (inclusive) to `end` (exclusive); of
    /// none if they are equal.
    ///
    /// # Errors
    /// `InvalidArgument` if no file is open, if `end` sorts before `begin`, or if one of them is too large,
    /// as for [`Db::put`](crate::Db::put).
    pub fn delete_range(&mut self, begin: impl AsRef<[u8]>, end: impl AsRef<[u8]>) -> Result<()> {
        let (begin, end) = (begin.as_ref(), end.as_ref());
        let cmp = self.table.cmp.user();
        let open = self.open.as_mut().ok_or_else(not_opened)?;
        self.table.row_limit.check_key(begin)?;
        self.table.row_limit.check_key(end)?;
        if begin.len().min(end.len()) < cmp.timestamp_size() {
            return Err(Error::invalid_argument("Timestamp size mismatch"));
        }
        let stamps = [begin, end].into_iter().flat_map(|key| cmp.timestamp(key));
        if !self.table.persist_timestamps && stamps.into_iter().any(|byte| *byte != 0) {
            return Err(only_minimum());
        }
        match cmp.compare_without_timestamp(begin, end) {
            std::cmp::Ordering::Greater => {
                return Err(Error::invalid_argument("end key comes before start key"));
            }
            std::cmp::Ordering::Equal => return Ok(()),
            std::cmp::Ordering::Less => {}
        }
        open.writer.add_range_tombstone(begin, end, 0)?;
        let info = &mut open.info;
        if info.num_range_del_entries == 0 || cmp.compare(begin, &info.smallest_range_del_key).is_lt() {
            info.smallest_range_del_key = begin.to_vec();
        }
        if info.num_range_del_entries == 0 || cmp.compare(end, &info.largest_range_del_key).is_gt() {
            info.largest_range_del_key = end.to_vec();
        }
        info.num_range_del_entries += 1;
        Ok(())
    }

    fn add(&mut self, key: &[u8], kind: Kind, value: &[u8]) -> Result<()> {
        let cmp = self.table.cmp.user();
        let open = self.open.as_mut().ok_or_else(not_opened)?;
        self.table.row_limit.check(key, value)?;
        if key.len() < cmp.timestamp_size() {
            return Err(Error::invalid_argument("Timestamp size mismatch"));
        }
        if !self.table.persist_timestamps && cmp.timestamp(key).iter().any(|byte| *byte != 0) {
            return Err(only_minimum());
        }
        if open.info.num_entries > 0 && cmp.compare(key, internal_key::user_key(&open.key)).is_le() {
            return Err(Error::invalid_argument(
                "Keys must be added in strict ascending order.",
            ));
        }
        let mut internal = std::mem::take(&mut open.key);
        internal.clear();
        internal_key::append(&mut internal, key, 0, kind);
        let added = open.writer.add(&internal, value);
        open.key = internal;
        added?;
        if open.info.num_entries == 0 {
            open.info.smallest_key = key.to_vec();
        }
        open.info.num_entries += 1;
        Ok(())
    }

    /// The approximate size in bytes of the open file if it were finished now; 0 if none is open.
    pub fn file_size(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.writer.file_size())
    }

    /// Writes the rest of the file and syncs it, but not its directory entry. The writer may then
    /// [`open`](SstFileWriter::open) another file.
    ///
    /// # Errors
    /// `InvalidArgument` if no file is open, or if nothing was added; the errors of the file, and `Aborted`
    /// if an earlier call failed. The file is then removed, unless entries may still be added to it.
    pub fn finish(&mut self) -> Result<ExternalSstFileInfo> {
        let open = self.open.take().ok_or_else(not_opened)?;
        if open.info.num_entries + open.info.num_range_del_entries == 0 {
            self.open = Some(open);
            return Err(Error::invalid_argument("Cannot create sst file with no entries"));
        }
        let mut info = open.info;
        let summary = open.writer.finish().inspect_err(|_| {
            let _ = self.fs.remove(&open.path);
        })?;
        if info.num_entries > 0 {
            info.largest_key = internal_key::user_key(&open.key).to_vec();
        }
        info.file_size = summary.file_size;
        info.prepared_file_info = Some(Arc::new(PreparedFileInfo {
            size: summary.file_size,
            smallest: summary.smallest,
            largest: summary.largest,
            properties: summary.properties,
        }));
        if let Some(checksum) = open.sum.checksum() {
            info.file_checksum = checksum.value.into();
            info.file_checksum_func_name = checksum.func_name;
        }
        Ok(info)
    }
}

/// The error for a timestamp in a file that stores no timestamps.
fn only_minimum() -> Error {
    Error::invalid_argument(
        "persist_user_defined_timestamps flag is set to false, only minimum timestamp is accepted.",
    )
}

impl Drop for SstFileWriter {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            open.writer.abandon();
            // A drop cannot report errors.
            let _ = self.fs.remove(&open.path);
        }
    }
}

/// The compression of the file. As in RocksDB it is that of the last level, where ingested files go if
/// possible.
fn compression(family: &ColumnFamilyOptions) -> CompressionType {
    family
        .bottommost_compression
        .or_else(|| family.compression_per_level.last().copied())
        .unwrap_or(family.compression)
}

#[cold]
fn not_opened() -> Error {
    Error::invalid_argument("File is not opened")
}
