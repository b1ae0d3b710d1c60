//! Options of a whole database.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use base::RowLimit;
use base::env::{Clock, SystemClock};
use base::statistics::Statistics;
use codec::compression::CompressionType;
use vfs::{Access, FileSystem, OpenOptions, PosixFs, RateLimiter};
use wal::RecoveryMode;

use crate::db::wal_filter::WalFilter;
use crate::events::EventListener;
use crate::jobs::compaction_service::CompactionService;
use crate::jobs::thread_pool::ThreadPool;
use crate::log::{InfoLogLevel, Logger};
use crate::options::table::{OptionValue, enum_option, option_table};
use crate::options::{ColumnFamilyOptions, DbPath, TablePaths};
use crate::write::write_buffer_manager::WriteBufferManager;

/// `bytes_per_sync` where a rate limiter paces what is written, and it is 0.
const PACED_BYTES_PER_SYNC: u64 = 1 << 20;

/// What makes checksums over whole files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChecksumGenFactory {
    /// Nothing: files have none.
    None,
    /// CRC-32C, under RocksDB's name `FileChecksumCrc32c`.
    Crc32c,
}

enum_option!(FileChecksumGenFactory, "file checksum generator",
    "nullptr" => FileChecksumGenFactory::None,
    "FileChecksumGenCrc32cFactory" => FileChecksumGenFactory::Crc32c,
);

option_table! {
    /// Options of a whole database. Names, units and defaults are RocksDB's where a field does not say otherwise.
    pub struct Options {
        /// Creates the database if there is none. Default: false.
        create_if_missing: bool = false;
        /// Creates the column families named at open that do not exist. Default: false.
        create_missing_column_families: bool = false;
        /// Gives every family with universal compaction and three levels or more
        /// `cf_allow_ingest_behind`. Default: false.
        allow_ingest_behind: bool = false;
        /// Fails the open if the database exists. Default: false.
        error_if_exists: bool = false;
        /// Tables and blob files kept open at most, all families' together; each thread of a compaction may have a quarter as many blob
        /// files open besides. -1 keeps all of them open. Default: -1.
        max_open_files: i32 = -1, range(-1, i32::MAX), domain["-1", "16", "100"];
        /// Background threads: a quarter of them, at least one, flush; the others, at least one, compact. Default: 2.
        max_background_jobs: i32 = 2, mutable = true, range(1, 256), domain["1", "2", "4"];
        /// Threads that may write one compaction out of L0, each a range of its keys. Automatic compactions between other levels
        /// run side by side as it is and are never divided, except in the universal style; what a user asks for is. Default: 1.
        max_subcompactions: u32 = 1, mutable = true, range(1, 256), domain["1", "2", "4"];
        /// Bytes of WAL beyond which the family that holds back the oldest WAL is flushed. 0 chooses four times
        /// the sum of all families' `write_buffer_size * max_write_buffer_number`. Default: 0.
        /// Unlike RocksDB the limit counts with one family too, so a forgotten option never fills a disk.
        max_total_wal_size: u64 = 0, mutable = true, domain["0", "65536", "1048576"];
        /// Bytes that all families' memtables may take: from seven eighths of it in memtables that are written to, or from all of it with those
        /// that wait for their flush, the largest is flushed. 0 sets no limit. Of no effect beside a
        /// `write_buffer_manager`, which limits several databases. Default: 0.
        db_write_buffer_size: u64 = 0, domain["0", "262144"];
        /// What recovery does with damaged records of the WAL. Default: kPointInTimeRecovery.
        wal_recovery_mode: RecoveryMode = RecoveryMode::PointInTime;
        /// Compression of the WAL: none or zstd (RocksDB 7.4 and later read it). Default: kNoCompression.
        wal_compression: CompressionType = CompressionType::None, domain["kNoCompression", "kZSTD"];
        /// WALs that are kept when nobody needs them any more, to be written over instead of a new one being created: the disk space is
        /// there, so a sync has no metadata to write. Their records carry the number of the WAL (RocksDB reads them), which tells them
        /// from those of before. As with RocksDB it is 0 whatever it says where `wal_recovery_mode` is
        /// kTolerateCorruptedTailRecords or kAbsoluteConsistency, which could not tell the end of a WAL from damage. Default: 0.
        recycle_log_file_num: usize = 0, domain["0", "0", "1", "4"];
        /// Writers who get in each other's way with batches or large values insert into memtables at the same time, once they have appended to the WAL
        /// one after the other. What they write becomes visible in the order of the WAL, so each waits for those before it. Single small rows go in
        /// one after the other, which is faster, and a write with a range deletion goes alone. Every `memtable_factory` must allow it: vector is refused with it, as RocksDB does. Without it
        /// rows go into memtables one write after the other. Default: true.
        allow_concurrent_memtable_write: bool = true, domain["true", "false"];
        /// Records of the WAL stay in memory of the process until `Db::flush_wal`, a write with `sync` or `Db::sync_wal`, or until a MiB of them
        /// has come together, the WAL is switched, or the database is closed. The death of the process takes what was not flushed, the
        /// newest writes first, and other processes do not see it. Saves nothing where the WAL is mapped, and a system call a write
        /// where it is not (see `PosixFs`). Default: false.
        manual_wal_flush: bool = false;
        /// Directory of the WALs, of this database alone; empty for the database's own. Default: empty.
        wal_dir: String = String::new();
        /// Leaves the recovered WAL's rows in memtables instead of writing them to tables at open. Default: false.
        avoid_flush_during_recovery: bool = false, domain["true", "false"];
        /// Transactions may be prepared, and prepared ones are found again: recovery reads every WAL that may hold one, and
        /// puts those that are outstanding into the WAL it begins. Then `avoid_flush_during_recovery` has no effect. `TransactionDB` sets it. Default: false.
        allow_2pc: bool = false, domain["true", "false"];
        /// Flushes all families together, and records their tables in the MANIFEST in one step: of a batch over several families that was
        /// written with `disable_wal` a crash leaves all rows or none. A flush that begins by itself is of every family that holds
        /// rows, and so is one that a compaction or an ingestion asks for; `Db::flush_cf` flushes the families it is given, together.
        /// Families wait for no second memtable then: `min_write_buffer_number_to_merge` becomes 1. Not together with
        /// `enable_pipelined_write`. Where every write has a WAL it adds nothing. Default: false.
        atomic_flush: bool = false, domain["false", "false", "true"];
        /// Closes without flushing rows that no WAL holds (written with `disable_wal`). Default: false.
        avoid_flush_during_shutdown: bool = false, mutable = true;
        /// Records the database's id in the MANIFEST, so that copies of the database, checkpoints and restored backups, have the same. Without it
        /// the id is in the file IDENTITY alone, which no copy gets: each makes an id of its own when it is opened. Default: true.
        write_dbid_to_manifest: bool = true, domain["true", "true", "false"];
        /// Writes the database's id to the file IDENTITY. Without it no file is written, and one that is there stays; it must not be
        /// false together with `write_dbid_to_manifest`. Default: true.
        write_identity_file: bool = true;
        /// Bytes of MANIFEST beyond which a fresh one is begun. Default: 1 GiB.
        max_manifest_file_size: u64 = 1 << 30, range(0, u64::MAX), domain["4096", "1073741824"];
        /// Asks the kernel to write table files out each time this many bytes were appended, so that the final
        /// sync finds little to do (`sync_file_range`). 0: never; with a `rate_limiter` 1 MiB is set in its
        /// place, as RocksDB does, so that the disk sees the rate too, and not all of a file at its sync. Default: 0.
        bytes_per_sync: u64 = 0, mutable = true, domain["0", "65536"];
        /// The same of WALs. The kernel is asked for what came in up to a mebibyte before the end; it is looked at each 32 KiB. A
        /// change counts from the next WAL on. No promise that anything survives. 0: never. Default: 0.
        wal_bytes_per_sync: u64 = 0, mutable = true, domain["0", "0", "65536", "1048576"];
        /// Each time `bytes_per_sync` or `wal_bytes_per_sync` asks the kernel to write out, waits first until it is done with what it
        /// was asked for before (`SYNC_FILE_RANGE_WAIT_BEFORE`; an fdatasync where the file system knows no such call), so that no more
        /// than about that many bytes are under way at a time, and no sync finds much to do. Who writes waits then. Default: false.
        strict_bytes_per_sync: bool = false, domain["false", "false", "true"];
        /// The rate, in bytes a second, to which writes are held when compaction falls behind. Default: 16 MiB/s.
        delayed_write_rate: u64 = 16 << 20, mutable = true, range(1, u64::MAX), domain["1000000", "16777216"];
        /// How often the database tries by itself to resume after an I/O error that left every file in a known state, as
        /// `Db::resume` does. 0: never. Lack of room does not count: then the free space is asked for each five seconds, as RocksDB's
        /// SstFileManager does. Nor does what cannot be resumed from, like a failed sync of a WAL. Default: 2147483647.
        max_bgerror_resume_count: i32 = i32::MAX, range(0, i32::MAX), domain["0", "1", "2147483647"];
        /// Microseconds before the first and each other of these attempts. Unlike RocksDB the first waits, too: what has just failed fails
        /// again. Default: 1000000.
        bgerror_resume_retry_interval: u64 = 1_000_000, domain["1000", "1000000"];
        /// Milliseconds after which a follower looks what its leader has written (`Db::open_as_follower`). Default: 10000.
        follower_refresh_catchup_period_ms: u64 = 10_000;
        /// How often a follower's catch-up that fails is tried again before the next period. Default: 10.
        follower_catchup_retry_count: u64 = 10;
        /// Milliseconds between these tries. Default: 100.
        follower_catchup_retry_wait_ms: u64 = 100;
        /// Reads table files past the kernel's cache (`O_DIRECT`). Default: false.
        use_direct_reads: bool = false, domain["false", "false", "true"];
        /// Flushes and compactions write table files past the kernel's cache (`O_DIRECT`). Default: false.
        use_direct_io_for_flush_and_compaction: bool = false, domain["true", "false"];
        /// Compactions read tables and blob files past the kernel's cache (`O_DIRECT`), whatever reads of users do, so that they
        /// push nothing out of it. `use_direct_reads` does so too. Default: false.
        use_direct_io_for_compaction_reads: bool = false, domain["true", "false"];
        /// Reads table files through a memory map. Not together with `use_direct_reads`. Default: false.
        allow_mmap_reads: bool = false, domain["true", "false"];
        /// Tells the kernel that table and blob files opened for reads of users are read here and there, so that a Get fetches what
        /// it needs and no more; what is read ahead is read ahead by iterators. Without it the kernel guesses, and fetches up to
        /// its own readahead around each block. Compactions and verifications read through descriptors of their own, sequentially.
        /// Default: true.
        advise_random_on_open: bool = true, domain["true", "false"];
        /// Bytes that compactions read of each input at a time, and as many that the kernel is asked to have ready. Costs that much
        /// memory for each file of L0 and each level in a compaction; 0 reads ahead as iterators do. Default: 2 MiB.
        compaction_readahead_size: usize = 2 << 20, mutable = true, domain["0", "16384", "2097152"];
        /// Bytes that recovery, secondaries and followers read of a WAL at a time; 0: 256 KiB. Default: 0.
        log_readahead_size: usize = 0, domain["0", "32768", "1048576"];
        /// Checks the checksum of blocks that compactions read. Default: true.
        verify_checksums_in_compaction: bool = true;
        /// The checksum over each whole table file that is made while it is written and recorded in the MANIFEST, for
        /// `Db::verify_file_checksums`, `esker verify` and whoever copies files:
        /// FileChecksumGenCrc32cFactory, or nullptr for none. Default: nullptr.
        file_checksum_gen_factory: FileChecksumGenFactory = FileChecksumGenFactory::None,
            domain["nullptr", "FileChecksumGenCrc32cFactory"];
        /// Compares the unique id that the MANIFEST has of a table, made of the database, the session and the number it was written
        /// as, with the table's properties whenever the table is opened: one put in another's place is not read. Default: true.
        verify_sst_unique_id_in_manifest: bool = true, domain["true", "true", "false"];
        /// Looks through the tables and blob files in use in the background, the one not looked at for longest first, and verifies
        /// their checksums, reading so many bytes a second past the kernel's cache where it can. What is damaged is told by
        /// the event `CorruptionFound`. 0: never. Changed while the database is open by `Db::set_verify_rate`. Default: 0.
        verify_rate_bytes_per_sec: u64 = 0, mutable = true, domain["0", "1048576", "1073741824"];
        /// Takes no more writes once looking through the files has found damage. Default: false.
        verify_stops_writes: bool = false;
        /// Bytes of the info log `LOG` from which on it is put away as `LOG.old.MICROS` and another one begun; 0: never. Default: 0.
        max_log_file_size: u64 = 0, domain["0", "4096", "1048576"];
        /// Seconds after which the same happens; 0: never. Default: 0.
        log_file_time_to_roll: u64 = 0, domain["0", "1"];
        /// Info logs kept, the one written to among them; each open begins one. Default: 1000.
        keep_log_file_num: usize = 1000, range(1, u32::MAX), domain["1", "3", "1000"];
        /// Directory of the info log, which is named by the database's path there; empty for the database's own. Default: empty.
        db_log_dir: String = String::new();
        /// What is left out of the info log: what matters less. Default: INFO_LEVEL.
        info_log_level: InfoLogLevel = InfoLogLevel::Info, domain["DEBUG_LEVEL", "INFO_LEVEL", "ERROR_LEVEL"];
        /// Seconds between dumps of statistics into the info log: what the property `rocksdb.stats` of each family says. 0: never.
        /// Default: 600.
        stats_dump_period_sec: u64 = 600, mutable = true, domain["0", "1", "600"];
        /// Seconds between looks at the tickers of `statistics` whose differences `Db::get_stats_history`
        /// tells. 0: never. Default: 600.
        stats_persist_period_sec: u64 = 600, mutable = true, domain["0", "1", "600"];
        /// Bytes of memory for these differences; the oldest go. Default: 1 MiB.
        stats_history_buffer_size: usize = 1 << 20, mutable = true, domain["0", "16384", "1048576"];
        /// Keeps these differences on disk instead, in the column family `___rocksdb_stats_history___`, where RocksDB looks for them, too.
        /// About 10 KB a look, and none goes by itself. Default: false.
        persist_stats_to_disk: bool = false;
        /// Refuses to open a database whose OPTIONS file cannot be read, or has an option that Esker does not have, is not at RocksDB's
        /// default and makes a difference to results, durability or space (`OptionsFile::lost`): with `NotSupported`, which names all of
        /// them. Without it they are told, each by an event and a line in the LOG, and the database opens. Default: false.
        strict_options_file: bool = false, domain["false", "true"];
    }
    components {
        /// Options of families that are not given their own in [`column_families`](Options::column_families).
        column_family: ColumnFamilyOptions = ColumnFamilyOptions::default();
        /// Options of families by name. Families of the database that are not named here are opened all the same.
        column_families: BTreeMap<String, ColumnFamilyOptions> = BTreeMap::new();
        /// The directories of tables of families that have no [`cf_paths`](ColumnFamilyOptions::cf_paths), each with the bytes it should hold: up
        /// to four, and of several a family makes use with leveled and universal compaction alone. Flushes and ingestions write to the first,
        /// and so do blob files; compactions put upper levels, or small runs, into the first that have room for what those levels should
        /// hold, so that the first may be the fastest. `level_compaction_dynamic_level_bytes` is off where there are several. Must be the same, in
        /// the same order, at each open, and no other database's. Default: none, the database's own directory.
        db_paths: Vec<DbPath> = Vec::new();
        /// Where files live. Default: the operating system's file system.
        fs: Arc<dyn FileSystem> = Arc::new(PosixFs::new());
        /// Where time comes from. Default: the machine's clock.
        clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        /// Counts operations, bytes, events and times; may be given to several databases, and read at any time. Costs an addition
        /// to memory of the thread for each of them, and at its usual [level](base::statistics::StatsLevel) two looks at the
        /// clock an operation. Default: none.
        statistics: Option<Arc<Statistics>> = None;
        /// The threads that work for the database in the background. Each kind of work has up to as many of them as `max_background_jobs` says, and
        /// shares those of the pool with the other databases that have it. Default: none, those that all databases of the process share
        /// ([`ThreadPool::of_process`]).
        thread_pool: Option<ThreadPool> = None;
        /// Limits what flushes and compactions write, and, by its [mode](vfs::rate_limiter::RateLimiterMode), what compactions read; may be given
        /// to several databases, and to backups of them. Flushes come before compactions, and both before everything else while
        /// writes are delayed or stopped. Costs a lock each time a table hands 64 KiB or so to the kernel. A rate below what is
        /// written in the long run ends in stalls. Default: none.
        rate_limiter: Option<Arc<RateLimiter>> = None;
        /// Limits the memory of memtables of all databases it is given to, in the place of
        /// [`db_write_buffer_size`](Options::db_write_buffer_size). Default: none.
        write_buffer_manager: Option<Arc<WriteBufferManager>> = None;
        /// The longest key and value that the database takes; see [`RowLimit`]. Can only be lowered, which is of use to tests of what
        /// happens at the limit. Default: 2 GiB - 1.
        row_limit: RowLimit = RowLimit::MAX;
        /// Sees each record of the WALs that recovery reads, and decides what is done with it: see [`WalFilter`]. Rows that it leaves out are
        /// gone. Default: none.
        wal_filter: Option<Arc<dyn WalFilter>> = None;
        /// Is asked to take compactions before they are run here: see [`CompactionService`]. Default: none.
        compaction_service: Option<Arc<dyn CompactionService>> = None;
        /// Told of flushes, compactions, stalls and errors. Default: none.
        listeners: Vec<Arc<dyn EventListener>> = Vec::new();
        /// Takes the lines of the info log, of a database open for reading too. Default: none; a database that is open for writing writes
        /// them to the file `LOG`, a secondary to that in its own directory.
        info_log: Option<Arc<dyn Logger>> = None;
        /// Options of RocksDB that Esker has nothing behind, and the values a program has set them to: by name, for the header of the info
        /// log, which says that they are kept. They stand in no OPTIONS file. Default: none.
        kept_options: BTreeMap<String, String> = BTreeMap::new();
    }
}

impl Options {
    /// How compactions open what they read: each a descriptor of its own, so that what it tells the kernel about the order of its
    /// reads is nobody else's.
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

    /// Sets what follows from other options, as RocksDB's `SanitizeOptions` does. Gives what a user is to hear of that.
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

    /// The directories of the tables of a family with these options, of the database in `dir`.
    pub(crate) fn table_paths(&self, family: &ColumnFamilyOptions, dir: &std::path::Path) -> TablePaths {
        match family.cf_paths.is_empty() {
            true => TablePaths::new(&self.db_paths, dir),
            false => TablePaths::new(&family.cf_paths, dir),
        }
    }

    /// Every directory in which tables may lie, the database's own `dir` apart.
    pub(crate) fn other_table_directories(&self, dir: &std::path::Path) -> BTreeSet<PathBuf> {
        let families = self.column_families.values().chain([&self.column_family]);
        let given = families.flat_map(|family| &family.cf_paths).chain(&self.db_paths);
        let given = given.map(|given| given.path.clone());
        given.filter(|given| given != dir).collect()
    }

    /// WALs kept to be written over.
    pub(crate) fn recycled_wals(&self) -> usize {
        match self.wal_recovery_mode {
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
