//! Options of a whole database.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use base::RowLimit;
use base::env::{Clock, SystemClock};
use base::statistics::Statistics;
use codec::compression::CompressionType;
use sst::BlockCache;
use vfs::{Access, FileSystem, OpenOptions, PosixFs, RateLimiter};
use wal::RecoveryMode;

use crate::events::EventListener;
use crate::options::compaction_service::CompactionService;
use crate::options::logger::{InfoLogLevel, Logger};
use crate::options::sst_file_manager::SstFileManager;
use crate::options::table::{OptionValue, enum_option, option_table};
use crate::options::thread_pool::ThreadPool;
use crate::options::wal_filter::WalFilter;
use crate::options::write_buffer_manager::WriteBufferManager;
use crate::options::{ColumnFamilyOptions, DbPath, TablePaths};

/// The value of `bytes_per_sync` if that is 0 and there is a rate limiter.
const PACED_BYTES_PER_SYNC: u64 = 1 << 20;

/// The generator of checksums of whole files.
///
/// ```
/// use esker::{Db, FileChecksumGenFactory, Options};
///
/// # let dir = tempfile::tempdir()?;
/// let options = Options {
///     create_if_missing: true,
///     file_checksum_gen_factory: FileChecksumGenFactory::Crc32c,
///     ..Default::default()
/// };
/// let db = Db::open(&options, dir.path())?;
/// db.put(b"a", b"1")?;
/// db.flush()?;
/// db.verify_file_checksums()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChecksumGenFactory {
    /// Whole files have no checksums.
    None,
    /// Each file has a CRC-32C, under RocksDB's name `FileChecksumCrc32c`.
    Crc32c,
}

enum_option!(FileChecksumGenFactory, "file checksum generator",
    "nullptr" => FileChecksumGenFactory::None,
    "FileChecksumGenCrc32cFactory" => FileChecksumGenFactory::Crc32c,
);

option_table! {
    /// Options of a whole database. Names, units and defaults are RocksDB's unless a field says otherwise.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use esker::{ColumnFamilyOptions, Db, Options};
    ///
    /// let mut options = Options {
    ///     create_if_missing: true,
    ///     max_background_jobs: 4,
    ///     ..Default::default()
    /// };
    /// options.column_family.write_buffer_size = 16 << 20;
    /// options.create_missing_column_families = true;
    /// options.column_families.insert("users".to_owned(), ColumnFamilyOptions::default());
    /// let db = Db::open(&options, dir.path())?;
    /// assert!(db.column_family("users").is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Options {
        /// Creates the database if it does not exist. Default: false.
        create_if_missing: bool = false;
        /// Creates the column families named at open that do not exist. Default: false.
        create_missing_column_families: bool = false;
        /// Gives every family with universal compaction and three levels or more
        /// `cf_allow_ingest_behind`. Default: false.
        allow_ingest_behind: bool = false;
        /// Fails the open if the database exists. Default: false.
        error_if_exists: bool = false;
        /// The maximum number of open tables and blob files, of all families together; each thread of a
        /// compaction may have a quarter as many blob files open in addition. -1 keeps all of them open.
        /// Default: -1.
        max_open_files: i32 = -1, range(-1, i32::MAX), domain["-1", "16", "100"];
        /// The number of background threads: a quarter of them, at least one, flush; the others, at least
        /// one, compact. Default: 2.
        max_background_jobs: i32 = 2, mutable = true, range(1, 256), domain["1", "2", "4"];
        /// The maximum number of threads that write one compaction of L0, each a range of its keys. Automatic
        /// compactions between other levels run in parallel anyway and are never divided, except in the
        /// universal style; manual compactions are. Default: 1.
        max_subcompactions: u32 = 1, mutable = true, range(1, 256), domain["1", "2", "4"];
        /// The maximum number of threads that write one compaction while processors are idle, beyond
        /// `max_subcompactions` and at any level; 0: as many as there are idle processors; 1: none is added.
        /// A processor is idle if neither the program nor background work of its `ThreadPool` uses it. Each
        /// thread writes a range of at least 16 MiB and one output file. A family with a compaction filter,
        /// a partitioner or collectors of table properties is left alone: they may not expect several
        /// threads. Default: 0.
        max_idle_subcompactions: u32 = 0, mutable = true, range(0, 256), domain["0", "0", "1", "2"], esker = true;
        /// The bytes of WAL beyond which the family that keeps the oldest WAL is flushed. 0 means four times
        /// the sum of all families' `write_buffer_size * max_write_buffer_number`. Unlike in RocksDB the
        /// limit also applies with a single family, so that a forgotten option never fills a disk. Default:
        /// 0.
        max_total_wal_size: u64 = 0, mutable = true, domain["0", "65536", "1048576"];
        /// The memory limit of all families' memtables in bytes: when mutable memtables take seven eighths of
        /// it, or all memtables together take the limit, the largest is flushed. 0 sets no limit. No effect
        /// with a `write_buffer_manager`, which limits several databases. Default: 0.
        db_write_buffer_size: u64 = 0, domain["0", "262144"];
        /// The treatment of damaged WAL records by recovery. Default: kPointInTimeRecovery.
        wal_recovery_mode: RecoveryMode = RecoveryMode::PointInTime;
        /// The compression of the WAL: none or zstd (RocksDB 7.4 and later read it). Default: kNoCompression.
        wal_compression: CompressionType = CompressionType::None, domain["kNoCompression", "kZSTD"];
        /// The number of obsolete WALs that are kept and overwritten instead of creating new ones: the disk
        /// space is allocated, so a sync has no metadata to write. Their records carry the number of the WAL
        /// (RocksDB reads them), which distinguishes them from older records. As in RocksDB it counts as 0 if
        /// `wal_recovery_mode` is kTolerateCorruptedTailRecords or kAbsoluteConsistency, which could not
        /// distinguish the end of a WAL from damage. Default: 0.
        recycle_log_file_num: usize = 0, domain["0", "0", "1", "4"];
        /// Contending writers with batches or large values insert into memtables in parallel, after they have
        /// appended to the WAL one after the other. Their rows become visible in the order of the WAL, so
        /// each writer waits for the earlier ones. Single small rows are inserted one after the other, which
        /// is faster, and a write with a range deletion is inserted alone. Every `memtable_factory` must
        /// support it: as in RocksDB, vector is refused with it. Otherwise writes insert one after the other.
        /// Default: true.
        allow_concurrent_memtable_write: bool = true, domain["true", "false"];
        /// Keeps records of the WAL in the memory of the process until `Db::flush_wal`, a write with `sync`,
        /// or `Db::sync_wal`, or until there is 1 MiB of them, the WAL is switched, or the database is
        /// closed. The death of the process loses the records that were not flushed, the newest writes first,
        /// and other processes do not see them. Saves nothing if the WAL is mapped, and one system call per
        /// write if it is not (see `PosixFs`). Default: false.
        manual_wal_flush: bool = false;
        /// The directory of the WALs, of this database alone; empty for the database's own. Default: empty.
        wal_dir: String = String::new();
        /// Each WAL describes the one before it, in RocksDB's record, for which RocksDB 9.11 or later is
        /// needed: its number, its size and its last sequence number. Recovery compares this with what it has
        /// read: a WAL that is lost, cut at the end of a record or of another database is corruption, which
        /// the recovery mode handles, except kSkipAnyCorruptedRecords. A database that exists and has no WAL
        /// at all is refused, as after a repair, or a loss of power in the middle of an open; a copy without
        /// WALs is opened once without the option. A WAL that is missing is noticed without the option too.
        /// Default: false.
        track_and_verify_wals: bool = false, domain["false", "true"], since("9.11.0");
        /// Records each closed WAL in the MANIFEST, with its size, when a sync has made it durable, until no
        /// recovery needs it. An open for writing compares: a recorded WAL that is missing or shorter is
        /// `Corruption`, whatever `wal_recovery_mode` says. RocksDB from 6.15 on reads and writes the
        /// records; an open without the option removes them. The WAL that is written to is not recorded. A
        /// sync of a closed WAL, by `Db::sync_wal`, a write with `sync` or a flush, costs one write and sync
        /// of the MANIFEST. Default: false.
        track_and_verify_wals_in_manifest: bool = false, domain["false", "false", "true"];
        /// Opens a database some of whose files are missing or shorter than recorded, as an incomplete copy
        /// of a directory is. Each family gets the newest state whose tables and blob files exist, or that
        /// lacks only the newest tables of L0; it may be empty. Families that were flushed together
        /// (`atomic_flush`) go back together. The newest MANIFEST that can be read is used, even if CURRENT
        /// is missing; without any, the database does not exist. If the newest state of all is there, WALs
        /// are replayed, which RocksDB does not; otherwise they are not, and LOG says so: WALs and tables
        /// that are not used are moved to the directory `lost`. Damage other than missing ends of files is an
        /// error as ever. Secondaries ignore the option. Default: false.
        best_efforts_recovery: bool = false, domain["false", "false", "true"];
        /// The seconds for which WALs that no recovery needs are kept after their last change, for
        /// `Db::get_updates_since`, in the subdirectory `archive` of the directory of WALs. Their age is
        /// checked every half of that, and at least every ten minutes. With this option or
        /// `wal_size_limit_mb` WALs are not recycled. Its name in the OPTIONS file is `WAL_ttl_seconds`. 0:
        /// no limit, and without `wal_size_limit_mb` no archive. Default: 0.
        wal_ttl_seconds: u64 = 0, domain["0", "0", "1", "1000000"];
        /// The maximum size of these WALs together in MiB, beyond which the oldest are deleted. Its name in
        /// the OPTIONS file is `WAL_size_limit_MB`. 0: no limit, and without `wal_ttl_seconds` no archive.
        /// Default: 0.
        wal_size_limit_mb: u64 = 0, domain["0", "0", "1", "100"];
        /// Leaves the recovered rows of the WAL in memtables instead of writing them to tables at open.
        /// Default: false.
        avoid_flush_during_recovery: bool = false, domain["true", "false"];
        /// Allows transactions to be prepared, and recovers prepared ones: recovery reads every WAL that may
        /// hold one, and copies outstanding ones into the new WAL. `avoid_flush_during_recovery` then has no
        /// effect. `TransactionDB` sets it. Default: false.
        allow_2pc: bool = false, domain["true", "false"];
        /// Flushes all families together, and records their tables in the MANIFEST in one step: after a crash
        /// a batch over several families that was written with `disable_wal` has all its rows or none.
        /// Automatic flushes, and those for a compaction or an ingestion, include every family with rows;
        /// `Db::flush_cf` flushes the given families together. Families then wait for no second memtable:
        /// `min_write_buffer_number_to_merge` becomes 1. Not together with `enable_pipelined_write`. If every
        /// write uses the WAL it has no benefit. Default: false.
        atomic_flush: bool = false, domain["false", "false", "true"];
        /// Closes without flushing rows that are in no WAL (written with `disable_wal`). Default: false.
        avoid_flush_during_shutdown: bool = false, mutable = true;
        /// Records the database's id in the MANIFEST, so that copies of the database, such as checkpoints and
        /// restored backups, have the same id. Otherwise the id is only in the file IDENTITY, which copies do
        /// not get: each makes its own id when it is opened. Default: true.
        write_dbid_to_manifest: bool = true, domain["true", "true", "false"];
        /// Writes the database's id to the file IDENTITY. If false, no file is written, and an existing one
        /// stays; not false together with `write_dbid_to_manifest`. Default: true.
        write_identity_file: bool = true, since("9.7.0");
        /// The size of the MANIFEST in bytes at which a new one is begun. Default: 1 GiB.
        max_manifest_file_size: u64 = 1 << 30, range(0, u64::MAX), domain["4096", "1073741824"];
        /// Asks the kernel to write table files out each time this many bytes were appended, so that the
        /// final sync finds little to do (`sync_file_range`). 0: never; with a `rate_limiter` 0 becomes 1
        /// MiB, as in RocksDB, so that the disk writes at that rate too, and not the whole file at its sync.
        /// Default: 0.
        bytes_per_sync: u64 = 0, mutable = true, domain["0", "65536"];
        /// Asks the kernel to write WALs out each time this many bytes were appended: the bytes up to a
        /// mebibyte before the end, checked every 32 KiB. A change applies from the next WAL on. It does not
        /// guarantee that anything survives. 0: never. Default: 0.
        wal_bytes_per_sync: u64 = 0, mutable = true, domain["0", "0", "65536", "1048576"];
        /// Makes each request of `bytes_per_sync` or `wal_bytes_per_sync` wait for the previous one first
        /// (`SYNC_FILE_RANGE_WAIT_BEFORE`; an fdatasync if the file system has no such call), so that at most
        /// about that many bytes are in progress, and no sync finds much to do. The writing thread waits.
        /// Default: false.
        strict_bytes_per_sync: bool = false, domain["false", "false", "true"];
        /// The rate in bytes per second to which writes are limited when compaction falls behind. Default: 16
        /// MiB/s.
        delayed_write_rate: u64 = 16 << 20, mutable = true, range(1, u64::MAX), domain["1000000", "16777216"];
        /// The number of automatic attempts to resume after an I/O error that left every file in a known
        /// state, as `Db::resume` does. 0: none. A lack of disk space does not count: then the free space is
        /// checked every five seconds, as by RocksDB's SstFileManager. Errors that cannot be resumed from,
        /// like a failed sync of a WAL, do not count either. Default: 2147483647.
        max_bgerror_resume_count: i32 = i32::MAX, range(0, i32::MAX), domain["0", "1", "2147483647"];
        /// The delay before each of these attempts in microseconds. Unlike in RocksDB it applies to the first
        /// attempt too: an operation that has just failed fails again. Default: 1000000.
        bgerror_resume_retry_interval: u64 = 1_000_000, domain["1000", "1000000"];
        /// The period in milliseconds at which a follower reads its leader's new files
        /// (`Db::open_as_follower`). Default: 10000.
        follower_refresh_catchup_period_ms: u64 = 10_000, since("9.4.0");
        /// The number of retries of a failed catch-up of a follower before the next period. Default: 10.
        follower_catchup_retry_count: u64 = 10, since("9.4.0");
        /// The delay between the retries of a follower's failed catch-up, in milliseconds. Default: 100.
        follower_catchup_retry_wait_ms: u64 = 100, since("9.4.0");
        /// Reads table files bypassing the page cache (`O_DIRECT`). Default: false.
        use_direct_reads: bool = false, domain["false", "false", "true"];
        /// Flushes and compactions write table files bypassing the page cache (`O_DIRECT`). Default: false.
        use_direct_io_for_flush_and_compaction: bool = false, domain["true", "false"];
        /// Compactions read tables and blob files bypassing the page cache (`O_DIRECT`), independently of
        /// users' reads, so that they evict nothing from it. `use_direct_reads` implies it. Default: false.
        use_direct_io_for_compaction_reads: bool = false, domain["true", "false"], since("11.9.0");
        /// Reads table files through a memory map. Not together with `use_direct_reads`. Default: false.
        allow_mmap_reads: bool = false, domain["true", "false"];
        /// Advises the kernel that table and blob files for users' reads are accessed randomly, so that a Get
        /// reads only what it needs; iterators do their own readahead. Otherwise the kernel guesses, and
        /// reads up to its own readahead around each block. Compactions and verifications read sequentially
        /// through file descriptors of their own. Default: true.
        advise_random_on_open: bool = true, domain["true", "false"];
        /// The size in bytes of the reads of compactions from each input; the kernel is asked to prefetch as
        /// many. Costs that much memory for each L0 file and each level in a compaction; 0 reads ahead as
        /// iterators do. Default: 2 MiB.
        compaction_readahead_size: usize = 2 << 20, mutable = true, domain["0", "16384", "2097152"];
        /// The size in bytes of reads of WALs by recovery, secondaries and followers; 0: 256 KiB. Default: 0.
        log_readahead_size: usize = 0, domain["0", "32768", "1048576"];
        /// Verifies the checksums of blocks that compactions read. Default: true.
        verify_checksums_in_compaction: bool = true, esker = true;
        /// The checksum of each whole table file, which is computed while the file is written and recorded in
        /// the MANIFEST, for `Db::verify_file_checksums`, `esker verify` and programs that copy files:
        /// FileChecksumGenCrc32cFactory, or nullptr for none. Default: nullptr.
        file_checksum_gen_factory: FileChecksumGenFactory = FileChecksumGenFactory::None,
            domain["nullptr", "FileChecksumGenCrc32cFactory"];
        /// Compares the unique id of a table in the MANIFEST, made of the database, the session and the
        /// original file number, with the table's properties whenever the table is opened: a file swapped for
        /// another is not read. Default: true.
        verify_sst_unique_id_in_manifest: bool = true, domain["true", "true", "false"];
        /// Verifies the checksums of the tables and blob files in use in the background, the file verified
        /// longest ago first, reading at this rate in bytes per second, bypassing the page cache if possible.
        /// Corruption is reported by the event `CorruptionFound`. 0: never. `Db::set_verify_rate` changes it
        /// while the database is open. Default: 0.
        verify_rate_bytes_per_sec: u64 = 0, mutable = true, domain["0", "1048576", "1073741824"], esker = true;
        /// Stops writes once that verification has found corruption. Default: false.
        verify_stops_writes: bool = false, esker = true;
        /// The size in bytes of the info log `LOG` at which it is renamed to `LOG.old.MICROS` and another one
        /// begun; 0: no limit. Default: 0.
        max_log_file_size: u64 = 0, domain["0", "4096", "1048576"];
        /// The age in seconds of the info log at which it is renamed and another one begun; 0: no limit.
        /// Default: 0.
        log_file_time_to_roll: u64 = 0, domain["0", "1"];
        /// The number of info logs kept, including the current one; each open begins one. Default: 1000.
        keep_log_file_num: usize = 1000, range(1, u32::MAX as usize), domain["1", "3", "1000"];
        /// The directory of the info log, whose name there contains the database's path; empty for the
        /// database's own. Default: empty.
        db_log_dir: String = String::new();
        /// The lowest level of messages in the info log. Default: INFO_LEVEL.
        info_log_level: InfoLogLevel = InfoLogLevel::Info, domain["DEBUG_LEVEL", "INFO_LEVEL", "ERROR_LEVEL"];
        /// The period in seconds of dumps of statistics into the info log: the property `rocksdb.stats` of
        /// each family. 0: never. Default: 600.
        stats_dump_period_sec: u64 = 600, mutable = true, domain["0", "1", "600"];
        /// The period in seconds at which the differences of the tickers of `statistics` are recorded for
        /// `Db::get_stats_history`. 0: never. Default: 600.
        stats_persist_period_sec: u64 = 600, mutable = true, domain["0", "1", "600"];
        /// The memory in bytes for the recorded differences of tickers; the oldest are dropped. Default: 1
        /// MiB.
        stats_history_buffer_size: usize = 1 << 20, mutable = true, domain["0", "16384", "1048576"];
        /// Keeps the recorded differences of tickers on disk instead of in memory, in the column family
        /// `___rocksdb_stats_history___`, where RocksDB looks for them too. They take about 10 KB per period,
        /// and are never removed automatically. Default: false.
        persist_stats_to_disk: bool = false;
        /// Refuses to open a database whose OPTIONS file cannot be read, or has an option that Esker does not
        /// have, is not at RocksDB's default and affects results, durability or space (`OptionsFile::lost`):
        /// with `NotSupported`, which names all of them. Otherwise each is reported by an event and a line in
        /// the LOG, and the database opens. Default: false.
        strict_options_file: bool = false, domain["false", "true"], esker = true;
    }
    components {
        /// The options of families that are not in [`column_families`](Options::column_families).
        column_family: ColumnFamilyOptions = ColumnFamilyOptions::default();
        /// The options of families by name. Families of the database that are not named here are opened too.
        column_families: BTreeMap<String, ColumnFamilyOptions> = BTreeMap::new();
        /// The directories of the tables of families without [`cf_paths`](ColumnFamilyOptions::cf_paths),
        /// each with a target size in bytes: up to four, and more than one only with leveled and universal
        /// compaction. Flushes and ingestions write to the first, and so do blob files; compactions put upper
        /// levels, or small runs, into the first directory with room for the target sizes of those levels, so
        /// that the first may be the fastest. With several directories `level_compaction_dynamic_level_bytes`
        /// is off. The list must be the same, in the same order, at each open, and not shared with another
        /// database. Empty: the database's own directory. Default: none.
        db_paths: Vec<DbPath> = Vec::new();
        /// The file system. Default: the operating system's file system.
        fs: Arc<dyn FileSystem> = Arc::new(PosixFs::new());
        /// The clock. Default: the machine's clock.
        clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        /// Counts operations, bytes, events and times; may be shared by several databases, and read at any
        /// time. Each count costs an addition to memory of the thread, and each operation at the usual
        /// [level](base::statistics::StatsLevel) two reads of the clock. Default: none.
        statistics: Option<Arc<Statistics>> = None;
        /// Caches the entries that a table has for a key, so that the next Get of the key reads no block of
        /// that table. May be shared with other databases, and may be a block cache of
        /// [`BlockBasedOptions::block_cache`](crate::BlockBasedOptions::block_cache); a row costs its key and
        /// value, and an entry of the cache. Gets search and fill it, and so do MultiGets, which then look up
        /// one key after the other. Other reads, tables with range deletions and families with timestamps do
        /// not use it. [`ReadOptions::fill_cache`](crate::ReadOptions::fill_cache) applies to it, unlike in
        /// RocksDB. Default: none.
        row_cache: Option<Arc<BlockCache>> = None;
        /// The pool of background threads. Each kind of work uses up to the number of threads given by
        /// `max_background_jobs`, shared with the other databases of the pool. Without it the database uses
        /// the pool of the process ([`ThreadPool::of_process`]). Default: none.
        thread_pool: Option<ThreadPool> = None;
        /// Limits the writes of flushes and compactions and, depending on its
        /// [mode](vfs::rate_limiter::RateLimiterMode), the reads of compactions; may be shared by several
        /// databases, and by backups of them. Flushes have priority over compactions, and while writes are
        /// delayed or stopped the two have priority over everything else. Costs a lock each time a table
        /// passes about 64 KiB to the kernel. A rate below the long-term write rate ends in stalls. Default:
        /// none.
        rate_limiter: Option<Arc<RateLimiter>> = None;
        /// Tracks the table and blob files of all databases that share it, paces their deletion, and limits
        /// the space that they take: see [`SstFileManager`]. Without it files are deleted at once, and may
        /// take any space. Default: none.
        sst_file_manager: Option<Arc<SstFileManager>> = None;
        /// Limits the memory of memtables of all databases that share it, in place of
        /// [`db_write_buffer_size`](Options::db_write_buffer_size). Default: none.
        write_buffer_manager: Option<Arc<WriteBufferManager>> = None;
        /// The maximum size of a key and value of the database; see [`RowLimit`]. It can only be lowered, for
        /// tests of the limit. Default: 2 GiB - 1.
        row_limit: RowLimit = RowLimit::MAX;
        /// Sees each WAL record that recovery reads, and decides how it is handled: see [`WalFilter`]. Rows
        /// that it leaves out are lost. Default: none.
        wal_filter: Option<Arc<dyn WalFilter>> = None;
        /// A service that is offered compactions before they are run here: see [`CompactionService`].
        /// Default: none.
        compaction_service: Option<Arc<dyn CompactionService>> = None;
        /// The listeners that are notified of flushes, compactions, stalls and errors. Default: none.
        listeners: Vec<Arc<dyn EventListener>> = Vec::new();
        /// Receives the lines of the info log, also of a database that is open for reading only. Without it a
        /// database that is open for writing writes them to the file `LOG`, and a secondary to the `LOG` in
        /// its own directory. Default: none.
        info_log: Option<Arc<dyn Logger>> = None;
        /// Options of RocksDB without effect in Esker, with the values a program has set them to: by name,
        /// for the header of the info log, which says that they are kept. They are in no OPTIONS file.
        /// Default: none.
        kept_options: BTreeMap<String, String> = BTreeMap::new();
    }
}

impl Options {
    /// The options with which compactions open their inputs: each input has a file descriptor of its own, so
    /// that its access pattern does not affect other readers.
    pub(crate) fn compaction_reads(&self) -> OpenOptions {
        OpenOptions {
            direct: self.use_direct_reads || self.use_direct_io_for_compaction_reads,
            mmap: false,
            access: Access::Sequential,
            ..OpenOptions::default()
        }
    }

    /// The options of family `name`.
    pub fn family(&self, name: &str) -> &ColumnFamilyOptions {
        self.column_families.get(name).unwrap_or(&self.column_family)
    }

    /// Adjusts options that depend on other options, as RocksDB's `SanitizeOptions` does. Returns messages
    /// for the user about it.
    pub(crate) fn sanitize(&mut self) -> Vec<String> {
        if self.rate_limiter.is_some() && self.bytes_per_sync == 0 {
            self.bytes_per_sync = PACED_BYTES_PER_SYNC;
        }
        let atomic_flush = self.atomic_flush;
        let mut said = Vec::new();
        for (name, family) in &mut self.column_families {
            let own = family.sanitize(atomic_flush, &self.db_paths);
            said.extend(
                own.into_iter()
                    .map(|what| format!("column family {name}: {what}")),
            );
        }
        let others = self.column_family.sanitize(atomic_flush, &self.db_paths);
        said.extend(others.into_iter().map(str::to_owned));
        said
    }

    /// The directories of the tables of a family with these options, in the database in `dir`.
    pub(crate) fn table_paths(&self, family: &ColumnFamilyOptions, dir: &std::path::Path) -> TablePaths {
        match family.cf_paths.is_empty() {
            true => TablePaths::new(&self.db_paths, dir),
            false => TablePaths::new(&family.cf_paths, dir),
        }
    }

    /// Every directory that may contain tables, except the database's own `dir`.
    pub(crate) fn other_table_directories(&self, dir: &std::path::Path) -> BTreeSet<PathBuf> {
        let families = self.column_families.values().chain([&self.column_family]);
        let given = families.flat_map(|family| &family.cf_paths).chain(&self.db_paths);
        let given = given.map(|given| given.path.clone());
        given.filter(|given| given != dir).collect()
    }

    /// The effective number of recycled WALs.
    pub(crate) fn recycled_wals(&self) -> usize {
        match self.wal_recovery_mode {
            _ if self.wal_ttl_seconds > 0 || self.wal_size_limit_mb > 0 => 0,
            RecoveryMode::TolerateCorruptedTailRecords | RecoveryMode::AbsoluteConsistency => 0,
            RecoveryMode::PointInTime | RecoveryMode::SkipAnyCorruptedRecords => self.recycle_log_file_num,
        }
    }

    /// The directory of the WALs of the database in `dir`.
    pub(crate) fn wal_directory(&self, dir: &std::path::Path) -> PathBuf {
        if self.wal_dir.is_empty() {
            dir.to_path_buf()
        } else {
            PathBuf::from(&self.wal_dir)
        }
    }
}
