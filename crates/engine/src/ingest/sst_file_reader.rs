//! Table files read outside of any database.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use base::entry_type::EntryType;
use base::internal_key::{self, TRAILER_LEN};
use base::{Cursor, Error, ErrorKind, InternalComparator, MAX_SEQNO, Result, SeqNo};
use cache::{Cache, CacheOptions};
use manifest::{FileMetadata, Version, VersionBuilder, VersionEdit};
use sst::{BlockReadOptions, LookupKey, Table, TableCursor, TableProperties, TableReaderCaller};

use crate::files::blob_cache::BlobRead;
use crate::files::deletion::Deletion;
use crate::files::obsolete_files::ObsoleteFiles;
use crate::files::open_limit::OpenLimit;
use crate::files::pinned_value::PinnedValue;
use crate::ingest::inspect::check_comparator;
use crate::jobs::families::{Shared, assemble};
use crate::log::listeners::Listeners;
use crate::options::{Options, ReadTier};
use crate::read::db_iterator::DbIterator;
use crate::read::deadline::check_deadline;
use crate::read::get::{GetContext, block_read_options, search_table};
use crate::read::scan::check_timestamp;
use crate::state::column_family::Family;
use crate::state::read_options::{ReadOptions, TAILING_WITH_SNAPSHOT};
use crate::state::super_version::SuperVersion;
use crate::stats::Stats;
use crate::trace::{BlockCacheTrace, QueryTrace};

/// The capacity in bytes of the reader's block cache, if the options have none.
const BLOCK_CACHE: usize = 32 << 20;

/// Reads one table file outside of any database: RocksDB's `SstFileReader`. The file may come from an
/// [`SstFileWriter`](crate::SstFileWriter), from a backup, or from a database that is open meanwhile; it is
/// never changed. Values in blob files are read if these are in the directory of the table.
///
/// The rows are those of a database that consists of the file: its range deletions and deletions apply, and
/// merges are resolved. An ingested file shows the sequence numbers that it records. The reader is `Sync`,
/// and its iterators may outlive it.
///
/// ```
/// use esker::{Options, ReadOptions, SstFileReader, SstFileWriter};
///
/// # let dir = tempfile::tempdir()?;
/// let options = Options::default();
/// let mut writer = SstFileWriter::new(&options);
/// writer.open(dir.path().join("fruit.sst"))?;
/// writer.put(b"apple", b"1")?;
/// writer.put(b"pear", b"2")?;
/// writer.finish()?;
///
/// let reader = SstFileReader::open(&options, dir.path().join("fruit.sst"))?;
/// assert_eq!(reader.table_properties().num_entries, 2);
/// reader.verify_checksum()?;
/// assert_eq!(reader.get(b"pear")?.as_deref(), Some(&b"2"[..]));
/// let mut iter = reader.iter();
/// iter.seek(b"b");
/// assert_eq!(iter.key(), b"pear");
/// let mut entries = reader.entries(); // deletions and operands too
/// entries.seek_to_first();
/// assert_eq!((entries.user_key(), entries.seqno()), (&b"apple"[..], 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SstFileReader {
    options: Options,
    family: Arc<Family>,
    file: Arc<FileMetadata>,
    table: Arc<Table>,
    super_version: Arc<SuperVersion>,
}

impl fmt::Debug for SstFileReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SstFileReader({})", self.table.path().display())
    }
}

impl SstFileReader {
    /// Opens the table at `path`. Comparator, merge operator, prefix extractor and table options are those of
    /// [`options.column_family`](Options::column_family). Costs a few reads: the end of the file, the index,
    /// and the first and the last block.
    ///
    /// # Errors
    /// `InvalidArgument` if the file has another comparator; `Corruption`, `NotSupported` for tables of other
    /// kinds, and those of the file system.
    pub fn open(options: &Options, path: impl AsRef<Path>) -> Result<SstFileReader> {
        let path = path.as_ref();
        let mut options = options.clone();
        // Without this the limit of open files could close the only table of the reader.
        options.max_open_files = -1;
        options.db_paths.clear();
        options.column_family.cf_paths.clear();
        let cmp = InternalComparator::new(options.column_family.comparator.clone());
        let no_files = Arc::new(Version::empty(cmp, 1));
        let family = family_in(&options, path.parent().unwrap_or(Path::new("")), &no_files);
        let mut file = FileMetadata {
            // Any number: no other file is open.
            number: 1,
            largest_seqno: MAX_SEQNO,
            ..FileMetadata::default()
        };
        let table = family.tables.open_foreign(&file, path)?;
        let in_file = |error: Error| error.in_file(path);
        check_comparator(table.properties(), &family).map_err(in_file)?;
        file.size = table.file_size();
        let mut files = Vec::new();
        if let Some((smallest, largest)) = bounds(&table).map_err(in_file)? {
            (file.smallest, file.largest) = (smallest.into(), largest.into());
            files.push(file);
        }
        let file = Arc::new(files.pop().unwrap_or_default());
        let mut version = VersionBuilder::new(&no_files);
        if !file.largest.is_empty() {
            version.apply(&VersionEdit {
                new_files: vec![(0, file.clone())],
                ..VersionEdit::default()
            })?;
        }
        let mem = family.super_version.load().mem.clone();
        let version = Arc::new(version.build()?);
        let super_version = family.install(mem, Vec::new(), version, MAX_SEQNO, &[]);
        Ok(SstFileReader {
            options,
            family,
            file,
            table,
            super_version,
        })
    }

    /// The value of `key`, or `None`; see [`get_opt`](SstFileReader::get_opt).
    ///
    /// # Errors
    /// The errors of `get_opt`.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<PinnedValue>> {
        self.get_opt(key, &ReadOptions::default())
    }

    /// The value of `key`, or `None`. `options` apply as in
    /// [`Db::get_pinned_cf_opt`](crate::Db::get_pinned_cf_opt).
    ///
    /// # Errors
    /// The errors of [`Db::get_pinned`](crate::Db::get_pinned).
    pub fn get_opt(&self, key: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Option<PinnedValue>> {
        let key = key.as_ref();
        check_timestamp(&self.family, &self.super_version, options)?;
        if let Some(deadline) = options.deadline {
            check_deadline(&*self.options.clock, deadline)?;
        }
        if options.read_tier == ReadTier::Memtable {
            return Err(Error::new(ErrorKind::Incomplete, "the memtables do not know"));
        }
        let user = self.family.cmp.user();
        if user.timestamp_size() > 0 {
            return Ok(self
                .row_at_timestamp(options, key)?
                .map(|iter| iter.value_pinned()));
        }
        let mut context = GetContext::new(&self.family, key, BlobRead::from(options)).reading(options);
        if !self.file.largest.is_empty() {
            let lookup = LookupKey::new(key, self.seqno(options), user);
            let read = BlockReadOptions {
                caller: TableReaderCaller::SstFileReader,
                ..block_read_options(options)
            };
            search_table(&self.file, &lookup, Default::default(), &read, &mut context)?;
        }
        context.into_answer()
    }

    /// The values of `keys`, in their order: for each the result of [`get`](SstFileReader::get).
    pub fn multi_get(&self, keys: &[impl AsRef<[u8]>]) -> Vec<Result<Option<PinnedValue>>> {
        self.multi_get_opt(keys, &ReadOptions::default())
    }

    /// The values of `keys`, in their order: for each the result of [`get_opt`](SstFileReader::get_opt).
    pub fn multi_get_opt(
        &self,
        keys: &[impl AsRef<[u8]>],
        options: &ReadOptions,
    ) -> Vec<Result<Option<PinnedValue>>> {
        keys.iter().map(|key| self.get_opt(key, options)).collect()
    }

    /// An iterator over the rows of the file, in either direction. Its errors are in its
    /// [`status`](DbIterator::status).
    pub fn iter(&self) -> DbIterator {
        self.iter_opt(&ReadOptions::default())
    }

    /// Same as [`iter`](SstFileReader::iter), with the options of iterators of a database.
    pub fn iter_opt(&self, options: &ReadOptions) -> DbIterator {
        let usable = check_timestamp(&self.family, &self.super_version, options).and_then(|()| {
            match options.tailing && options.snapshot.is_some() {
                true => Err(Error::invalid_argument(TAILING_WITH_SNAPSHOT)),
                false => Ok(()),
            }
        });
        let (super_version, seqno) = (self.super_version.clone(), self.seqno(options));
        DbIterator::new(super_version, self.family.clone(), seqno, None, options, usable)
    }

    /// All entries of the file as they are stored, deletions and old versions included, range deletions not:
    /// RocksDB's `NewTableIterator`. The block cache is not filled.
    pub fn entries(&self) -> SstEntries {
        SstEntries::over(self.table.cursor(BlockReadOptions {
            fill_cache: false,
            caller: TableReaderCaller::SstFileReader,
            ..BlockReadOptions::default()
        }))
    }

    /// The properties of the table.
    pub fn table_properties(&self) -> &TableProperties {
        self.table.properties()
    }

    /// Reads the whole file and verifies the checksum of each block.
    ///
    /// # Errors
    /// `Corruption` naming file and offset; the errors of the file.
    pub fn verify_checksum(&self) -> Result<()> {
        self.table
            .verify(0, &mut |_| {})
            .map_err(|error| error.in_file(self.table.path()))
    }

    /// Reads the whole file and compares the number of its entries, without range deletions, with its
    /// properties.
    ///
    /// # Errors
    /// `Corruption` if they differ; the errors of the reads.
    pub fn verify_num_entries(&self) -> Result<()> {
        let mut entries = self.entries();
        let mut read = 0;
        entries.seek_to_first();
        while entries.valid() {
            read += 1;
            entries.next();
        }
        entries.status()?;
        let properties = self.table_properties();
        let expected = properties
            .num_entries
            .saturating_sub(properties.num_range_deletions);
        match read == expected {
            true => Ok(()),
            false => Err(Error::corruption(format!(
                "Table property expects {expected} entries when excluding range deletions, but scanning the \
                 table returned {read} entries"
            ))
            .in_file(self.table.path())),
        }
    }

    fn seqno(&self, options: &ReadOptions) -> SeqNo {
        let snapshot = options.snapshot.as_ref();
        snapshot.map_or(MAX_SEQNO, |snapshot| snapshot.sequence_number())
    }

    /// An iterator at `key`, if it has a version as of the timestamp of `options`.
    fn row_at_timestamp(&self, options: &ReadOptions, key: &[u8]) -> Result<Option<DbIterator>> {
        let options = ReadOptions {
            iterate_lower_bound: None,
            iterate_upper_bound: None,
            ..options.clone()
        };
        let mut iter = self.iter_opt(&options);
        iter.seek(key);
        iter.status()?;
        let user = self.family.cmp.user();
        let found = iter.valid()
            && user
                .compare_without_timestamp(&user.stamped(iter.key()), &user.stamped(key))
                .is_eq();
        Ok(found.then_some(iter))
    }
}

/// The family of a reader of tables in `dir`, with no file yet.
fn family_in(options: &Options, dir: &Path, no_files: &Arc<Version>) -> Arc<Family> {
    let clock = &options.clock;
    let shared = Shared {
        options,
        dir,
        block_cache: &Cache::lru(CacheOptions {
            capacity: BLOCK_CACHE,
            ..CacheOptions::default()
        }),
        open_limit: &Arc::new(OpenLimit::new(-1)),
        obsolete: &Arc::new(ObsoleteFiles::new(Deletion::new(options, dir), Listeners::none())),
        published: &Arc::new(AtomicU64::new(MAX_SEQNO)),
        query_trace: &Arc::new(QueryTrace::new(clock.clone())),
        block_trace: &Arc::new(BlockCacheTrace::new(clock.clone())),
        stats: &Arc::new(Stats::new(options.statistics.clone(), clock.clone())),
    };
    let name = crate::options::names::DEFAULT_COLUMN_FAMILY;
    assemble(&shared, 0, name, &options.column_family, None, no_files)
}

/// The smallest and largest internal key of a table, range deletions included; `None` without entries.
fn bounds(table: &Arc<Table>) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let cmp = table.comparator();
    let mut ranges: Vec<[Vec<u8>; 2]> = Vec::new();
    let mut cursor = table.cursor(BlockReadOptions::default());
    cursor.seek_to_first();
    if cursor.valid() {
        let first = cursor.key().to_vec();
        cursor.seek_to_last();
        let last = match cursor.valid() {
            true => cursor.key().to_vec(),
            false => first.clone(),
        };
        ranges.push([first, last]);
    }
    cursor.status()?;
    let tombstones = table.range_tombstones().tombstones();
    ranges.extend(tombstones.map(|tombstone| sst::writer::tombstone_bounds(cmp, &tombstone)));
    Ok(ranges
        .into_iter()
        .map(|[from, to]| (from, to))
        .reduce(|all, range| {
            let from = if cmp.compare(&range.0, &all.0).is_lt() {
                range.0
            } else {
                all.0
            };
            let to = if cmp.compare(&range.1, &all.1).is_gt() {
                range.1
            } else {
                all.1
            };
            (from, to)
        }))
}

/// Iterates over the stored entries of a table, in both directions: [`SstFileReader::entries`].
///
/// A new iterator has no position: seek first. The accessors and [`next`](SstEntries::next) and
/// [`prev`](SstEntries::prev) require [`valid`](SstEntries::valid) and panic otherwise.
///
/// See the example of [`SstFileReader`].
pub struct SstEntries {
    cursor: TableCursor,
    error: Option<Error>,
}

impl fmt::Debug for SstEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SstEntries")
    }
}

impl SstEntries {
    fn over(cursor: TableCursor) -> SstEntries {
        SstEntries { cursor, error: None }
    }

    /// True while the iterator is at an entry.
    pub fn valid(&self) -> bool {
        self.error.is_none() && self.cursor.valid()
    }

    /// The error that ended the iteration, if one did.
    pub fn status(&self) -> Result<()> {
        self.error.clone().map_or_else(|| self.cursor.status(), Err)
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self) {
        self.go(Cursor::seek_to_first);
    }

    /// Moves to the last entry.
    pub fn seek_to_last(&mut self) {
        self.go(Cursor::seek_to_last);
    }

    /// Moves to the first entry whose user key is at or after `user_key`, which ends with a timestamp if the
    /// comparator has them.
    pub fn seek(&mut self, user_key: &[u8]) {
        let mut target = Vec::new();
        internal_key::set_seek_target(&mut target, user_key, MAX_SEQNO);
        self.go(|cursor| cursor.seek(&target));
    }

    /// Moves to the next entry.
    pub fn next(&mut self) {
        assert!(self.valid(), "the iterator is not valid");
        self.go(Cursor::next);
    }

    /// Moves to the previous entry.
    pub fn prev(&mut self) {
        assert!(self.valid(), "the iterator is not valid");
        self.go(Cursor::prev);
    }

    /// The user key, which ends with a timestamp if the comparator has them.
    pub fn user_key(&self) -> &[u8] {
        assert!(self.valid(), "the iterator is not valid");
        internal_key::user_key(self.cursor.key())
    }

    /// The sequence number.
    pub fn seqno(&self) -> SeqNo {
        assert!(self.valid(), "the iterator is not valid");
        internal_key::seqno(self.cursor.key())
    }

    /// The type of the entry.
    pub fn entry_type(&self) -> EntryType {
        assert!(self.valid(), "the iterator is not valid");
        EntryType::of(internal_key::kind_byte(self.cursor.key()))
    }

    /// The value as it is stored: that of a deletion is empty, and a value in a blob file is a blob index.
    pub fn value(&self) -> &[u8] {
        assert!(self.valid(), "the iterator is not valid");
        self.cursor.value()
    }

    fn go(&mut self, step: impl FnOnce(&mut TableCursor)) {
        self.error = None;
        step(&mut self.cursor);
        if self.cursor.valid() && self.cursor.key().len() < TRAILER_LEN {
            let len = self.cursor.key().len();
            self.error = Some(Error::corruption(format!("an internal key of {len} bytes")));
        }
    }
}
