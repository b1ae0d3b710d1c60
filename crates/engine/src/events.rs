//! Events of the background work, reported as they happen.

use std::fmt;

use base::{Error, SeqNo};
use codec::compression::CompressionType;
use compact::stall::{StallCause, StallCondition};
use compact::{CompactionReason, TableFileCreationReason};
use memtable::Memtable;
use sst::properties::TableProperties;
use vfs::FileOperation;

use crate::options::loss::LostOption;
use crate::stats::StallTotal;

/// The reason for a flush.
///
/// ```
/// use esker::{Event, FlushReason};
///
/// /// Counts the flushes that memory was short for.
/// fn is_for_memory(event: &Event) -> bool {
///     matches!(event, Event::FlushBegun { reason: FlushReason::WriteBufferManager, .. })
/// }
/// assert_eq!(FlushReason::ManualFlush.name(), "Manual Flush");
/// # assert!(!is_for_memory(&Event::WalCreated { wal: 7 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushReason {
    /// Memtables are full.
    WriteBufferFull,
    /// All families' memtables together are too large
    /// ([`db_write_buffer_size`](crate::Options::db_write_buffer_size)).
    WriteBufferManager,
    /// The memtables keep WALs that are too large together.
    WalFull,
    /// A user requested the flush, or the database closes.
    ManualFlush,
    /// The database recovers from a background error.
    ErrorRecovery,
}

impl FlushReason {
    /// RocksDB's text for the reason.
    pub fn name(self) -> &'static str {
        match self {
            FlushReason::WriteBufferFull => "Write Buffer Full",
            FlushReason::WriteBufferManager => "Write Buffer Manager",
            FlushReason::WalFull => "WAL Full",
            FlushReason::ManualFlush => "Manual Flush",
            FlushReason::ErrorRecovery => "Error Recovery",
        }
    }
}

/// A file that was ingested.
///
/// See the example of [`Event`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestedFile {
    /// The path of the ingested file before the ingestion.
    pub external_path: String,
    /// The number of the file in the database.
    pub file: u64,
    /// The level the file was placed in.
    pub level: usize,
    /// The sequence number of all entries of the file; 0: none.
    pub global_seqno: SeqNo,
    /// The size in bytes.
    pub bytes: u64,
    /// The number of entries, range deletions included.
    pub entries: u64,
    /// True if the file was copied and not linked.
    pub copied: bool,
}

/// An event of the engine. Its `Display` is one line, the same everywhere.
///
/// ```
/// use esker::{Event, EventListener};
///
/// struct Prints;
///
/// impl EventListener for Prints {
///     fn on_event(&self, event: &Event) {
///         match event {
///             Event::Flushed { family, bytes, .. } => println!("{family}: flushed {bytes} bytes"),
///             Event::Ingested { files, .. } => files.iter().for_each(|file| println!("{}", file.external_path)),
///             Event::RowTooLarge { path, outcome, .. } => println!("{path}: {outcome:?}"),
///             other => println!("{other}"), // the line of the info log
///         }
///     }
/// }
///
/// Prints.on_event(&Event::WalCreated { wal: 7 });
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "the fields are what their names say; units stand in the names"
)]
pub enum Event {
    /// A memtable became immutable and will be flushed. `data_bytes` is the size of its keys and values. Sent
    /// while writers wait.
    MemtableSealed {
        family: String,
        first_seqno: SeqNo,
        entries: u64,
        deletes: u64,
        range_deletes: u64,
        data_bytes: u64,
    },
    /// A flush of memtables begins. `memory_bytes` is their memory.
    FlushBegun {
        family: String,
        job: u64,
        memtables: usize,
        entries: u64,
        deletes: u64,
        memory_bytes: u64,
        reason: FlushReason,
    },
    /// Memtables, or a stream of their keys, were written to a table. `level_files` has the new number of
    /// files of each level.
    Flushed {
        family: String,
        job: u64,
        file: u64,
        level: usize,
        entries: u64,
        bytes: u64,
        micros: u64,
        compression: CompressionType,
        level_files: Vec<usize>,
        immutable_memtables: usize,
    },
    /// A compaction of the files `inputs`, by level, begins.
    CompactionBegun {
        family: String,
        job: u64,
        plan: String,
        reason: CompactionReason,
        inputs: Vec<(usize, Vec<u64>)>,
        output_level: usize,
        score: f64,
        bytes: u64,
        oldest_snapshot: Option<SeqNo>,
    },
    /// A thread begins to write one key range of a compaction, with index `subcompaction` in the job, from 0;
    /// every compaction that writes has at least one. Sent by that thread.
    SubcompactionBegun {
        family: String,
        job: u64,
        subcompaction: usize,
        reason: CompactionReason,
        base_input_level: usize,
        output_level: usize,
        compression: CompressionType,
    },
    /// The thread has finished or failed its key range; nothing is installed yet.
    SubcompactionCompleted {
        family: String,
        job: u64,
        subcompaction: usize,
        reason: CompactionReason,
        base_input_level: usize,
        output_level: usize,
        compression: CompressionType,
        output_files: usize,
        bytes_written: u64,
        micros: u64,
        cpu_micros: u64,
        error: Option<Error>,
    },
    /// A compaction has installed its outputs. `level_files` has the new number of files of each level,
    /// `score` is the score of the level most in need of compaction.
    Compacted {
        family: String,
        job: u64,
        plan: String,
        output_level: usize,
        outputs: Vec<u64>,
        bytes_read: u64,
        bytes_written: u64,
        entries_read: u64,
        entries_written: u64,
        subcompactions: usize,
        micros: u64,
        cpu_micros: u64,
        compression: CompressionType,
        level_files: Vec<usize>,
        score: f64,
        level_summary: String,
    },
    /// Files were moved down a level unchanged. `level_summary` is the text of RocksDB's LOG about the levels
    /// afterwards.
    Moved {
        family: String,
        job: u64,
        plan: String,
        output_level: usize,
        files: usize,
        bytes: u64,
        level_summary: String,
        /// The numbers of the files by their previous level.
        inputs: Vec<(usize, Vec<u64>)>,
    },
    /// Files were dropped unread, with all their data.
    Dropped {
        family: String,
        job: u64,
        plan: String,
        reason: CompactionReason,
        files: Vec<u64>,
        bytes: u64,
    },
    /// External files became part of a family. `level_files` has the new number of files of each level.
    Ingested {
        family: String,
        job: u64,
        files: Vec<IngestedFile>,
        level_files: Vec<usize>,
    },
    /// A job ended without a result: it failed, its result is no longer needed or, without an error, nothing
    /// was left to write. A failure that stops the database is also reported by
    /// [`BackgroundError`](Event::BackgroundError).
    JobEnded {
        family: String,
        job: u64,
        action: &'static str,
        error: Option<Error>,
    },
    /// A job begins a table. [`TableCreated`](Event::TableCreated) or
    /// [`TableCreationFailed`](Event::TableCreationFailed) follows.
    TableCreationStarted {
        family: String,
        job: u64,
        file: u64,
        path: String,
        reason: TableFileCreationReason,
    },
    /// A table that was begun is abandoned: it, or another of its job, could not be written, or the job was
    /// cancelled. The file is deleted.
    TableCreationFailed {
        family: String,
        job: u64,
        file: u64,
        path: String,
        reason: TableFileCreationReason,
        error: Error,
    },
    /// A table was written, and will be installed. The checksum is that of the whole file, empty without one.
    TableCreated {
        family: String,
        job: u64,
        file: u64,
        bytes: u64,
        smallest_seqno: SeqNo,
        largest_seqno: SeqNo,
        file_checksum: Vec<u8>,
        file_checksum_func_name: String,
        oldest_blob_file: Option<u64>,
        properties: Box<TableProperties>,
    },
    /// A job begins a blob file. [`BlobFileCreated`](Event::BlobFileCreated) or
    /// [`BlobFileCreationFailed`](Event::BlobFileCreationFailed) follows.
    BlobFileCreationStarted {
        family: String,
        job: u64,
        file: u64,
        path: String,
        reason: TableFileCreationReason,
    },
    /// A blob file that was begun is abandoned: its job failed, or was cancelled. The file is deleted.
    BlobFileCreationFailed {
        family: String,
        job: u64,
        file: u64,
        path: String,
        reason: TableFileCreationReason,
        error: Error,
    },
    /// A blob file was written, and will be installed with the tables that refer to it. The checksum is that
    /// of the whole file, empty without one.
    BlobFileCreated {
        family: String,
        job: u64,
        file: u64,
        total_blob_count: u64,
        total_blob_bytes: u64,
        file_checksum: Vec<u8>,
        file_checksum_func_name: String,
    },
    /// A WAL was begun: rows are written to it from now on.
    WalCreated { wal: u64 },
    /// Recovery begins to read these WALs.
    RecoveryBegun { job: u64, wals: Vec<u64> },
    /// The MANIFEST ends in bytes that are no edit: its writer died, or a part of the file is lost. Recovery
    /// continues without them.
    ManifestTorn { path: String, offset: u64, bytes: u64 },
    /// Recovery lacked edits or a WAL, and has set aside files that it does not use and that may have the
    /// missing data.
    FilesSetAside { job: u64, files: Vec<String> },
    /// Recovery has finished.
    Recovered { job: u64 },
    /// Writes are slowed or stopped, or no longer are. Sent once when a condition begins, and once when it
    /// ends, with the number and the duration of the waits. The condition names the limit; the numbers are
    /// the current amount and the limits at which writes are slowed and stopped (0: none). `family` is the
    /// family that has reached the limit or, for low priority, the one whose compactions are behind; it is
    /// empty for the limit of a write buffer manager and for a locked WAL, which are reported once a writer
    /// waits for them. `delayed_write_rate` is the rate of slowed writes in bytes per second.
    Stall {
        family: String,
        previous: StallCondition,
        condition: StallCondition,
        waits: u64,
        waited_micros: u64,
        immutable_memtables: usize,
        max_write_buffer_number: usize,
        l0_files: usize,
        level0_slowdown_writes_trigger: usize,
        level0_stop_writes_trigger: usize,
        pending_compaction_bytes: u64,
        soft_pending_compaction_bytes_limit: u64,
        hard_pending_compaction_bytes_limit: u64,
        memtable_bytes: u64,
        write_buffer_manager_limit: u64,
        delayed_write_rate: u64,
    },
    /// A background job failed. `stops_writes`: the database takes no more writes, RocksDB's hard error;
    /// otherwise writes continue, as after a compaction without disk space, its soft error.
    BackgroundError {
        action: &'static str,
        error: Error,
        stops_writes: bool,
    },
    /// [`Db::resume`](crate::Db::resume) begins to repeat the operation that failed with `background_error`;
    /// or, if `automatic`, the database has begun to try so by itself.
    ErrorRecoveryBegun {
        background_error: Error,
        automatic: bool,
    },
    /// The recovery has ended: the database takes writes again, or the recovery failed with `new_error`. An
    /// `automatic` recovery fails after the maximum number of attempts (`Aborted`), after an error that
    /// cannot be resumed from, and when the database closes; a successful `Db::resume` ends it too.
    ErrorRecoveryEnded {
        background_error: Error,
        new_error: Option<Error>,
        automatic: bool,
    },
    /// The background verification has found corruption. The keys are user keys: those of the corrupt block
    /// if it is a data block (the first may precede it), else those of the file.
    CorruptionFound {
        family: String,
        path: String,
        offset: u64,
        smallest_key: Vec<u8>,
        largest_key: Vec<u8>,
        error: Error,
    },
    /// A file was deleted.
    FileDeleted { path: String },
    /// Recovery dropped bytes of a WAL that it could not use.
    WalDropped { path: String, reason: String },
    /// A row larger than the maximum ([`RowLimit`](crate::RowLimit)) was found: RocksDB writes such rows, and
    /// earlier releases of this engine did.
    RowTooLarge {
        family: String,
        /// The path of the file that holds the row.
        path: String,
        /// The user key with its timestamp; for a long key its first 256 bytes.
        key: Vec<u8>,
        seqno: SeqNo,
        /// The error that names the key or value that is too large.
        error: Error,
        outcome: RowTooLargeOutcome,
    },
    /// A compaction filter returned a value that no row can hold; the row stays unchanged. Sent for the first
    /// 100 rows of a job.
    FilterValueTooLarge {
        family: String,
        job: u64,
        /// The user key with its timestamp; for a long key its first 256 bytes.
        key: Vec<u8>,
        /// The error that names the key or value that is too large.
        error: Error,
    },
    /// The OPTIONS file has an option that no release of RocksDB known to Esker has, or an option of ours
    /// with an invalid value; or (section `file`) it cannot be read.
    UnknownOption { section: String, name: String },
    /// An option without effect is not at RocksDB's default: one in the OPTIONS file, reported at each open,
    /// or one of the caller, reported whenever it is set.
    OptionLost(LostOption),
}

/// The treatment of a row that is too large.
///
/// See the example of [`Event`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowTooLargeOutcome {
    /// Recovery drops the row, and keeps the whole WAL at this path.
    SetAside {
        /// A path in the directory `lost` in the directory of the WAL. The engine never deletes the file.
        path: String,
    },
    /// A read-only or secondary database does not return the row.
    PassedOver,
    /// The compaction that found it changes nothing, and compactions exclude its file until the database is
    /// reopened.
    FileLeftAlone,
}

/// The maximum number of bytes of a key in an event.
const MAX_SHOWN_KEY: usize = 256;

/// The prefix of a key that events contain.
pub(crate) fn shown_key(user_key: &[u8]) -> Vec<u8> {
    user_key[..user_key.len().min(MAX_SHOWN_KEY)].to_vec()
}

impl Event {
    /// The beginning or end of a stall that concerns no single family. `memory`: the bytes of memtables and
    /// their limit, if that is the reason.
    pub(crate) fn stall_of_database(
        previous: StallCondition,
        condition: StallCondition,
        stalled: StallTotal,
        memory: (u64, u64),
    ) -> Event {
        Event::Stall {
            family: String::new(),
            previous,
            condition,
            waits: stalled.count,
            waited_micros: stalled.micros,
            immutable_memtables: 0,
            max_write_buffer_number: 0,
            l0_files: 0,
            level0_slowdown_writes_trigger: 0,
            level0_stop_writes_trigger: 0,
            pending_compaction_bytes: 0,
            soft_pending_compaction_bytes_limit: 0,
            hard_pending_compaction_bytes_limit: 0,
            memtable_bytes: memory.0,
            write_buffer_manager_limit: memory.1,
            delayed_write_rate: 0,
        }
    }

    /// `table` of `family` became immutable.
    pub(crate) fn sealed(family: &str, table: &Memtable) -> Event {
        Event::MemtableSealed {
            family: family.to_owned(),
            first_seqno: table.first_seqno().unwrap_or(0),
            entries: table.num_entries(),
            deletes: table.num_deletes(),
            range_deletes: table.num_range_deletes(),
            data_bytes: table.data_size(),
        }
    }

    /// True for a stall that begins and ends with flushes, whose occurrence depends on the scheduling of
    /// threads.
    pub fn is_memtable_stall(&self) -> bool {
        let is_of_memtables = |condition: &StallCondition| match condition {
            StallCondition::Normal => false,
            StallCondition::Delayed { cause } | StallCondition::Stopped { cause } => {
                *cause == StallCause::MemtableLimit
            }
        };
        matches!(self, Event::Stall { previous, condition, .. } if is_of_memtables(previous) || is_of_memtables(condition))
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::MemtableSealed {
                family,
                entries,
                data_bytes,
                ..
            } => write!(
                f,
                "[{family}] sealed a memtable of {entries} entries, {data_bytes} bytes"
            ),
            Event::FlushBegun {
                family,
                memtables,
                entries,
                memory_bytes,
                ..
            } => write!(
                f,
                "[{family}] flushes {entries} entries of {memtables} memtables, {memory_bytes} bytes"
            ),
            Event::Flushed {
                family,
                file,
                entries,
                bytes,
                micros,
                ..
            } => {
                write!(
                    f,
                    "[{family}] flushed {entries} entries to {file:06}.sst: {bytes} bytes in {micros} us"
                )
            }
            Event::CompactionBegun {
                family, plan, bytes, ..
            } => write!(f, "[{family}] compacts {plan}: {bytes} bytes"),
            Event::SubcompactionBegun {
                family,
                job,
                subcompaction,
                ..
            } => write!(f, "[{family}] begins subcompaction {subcompaction} of job {job}"),
            Event::SubcompactionCompleted {
                family,
                job,
                subcompaction,
                bytes_written,
                micros,
                error,
                ..
            } => {
                write!(f, "[{family}] subcompaction {subcompaction} of job {job} ")?;
                match error {
                    Some(error) => write!(f, "failed: {error}"),
                    None => write!(f, "wrote {bytes_written} bytes in {micros} us"),
                }
            }
            Event::Compacted {
                family,
                plan,
                outputs,
                bytes_read,
                bytes_written,
                subcompactions,
                micros,
                ..
            } => {
                write!(
                    f,
                    "[{family}] compacted {plan}: {bytes_read} bytes read, {bytes_written} written to {} files in {micros} us",
                    outputs.len()
                )?;
                match subcompactions {
                    0 | 1 => Ok(()),
                    several => write!(f, " by {several} subcompactions"),
                }
            }
            Event::Moved { family, plan, .. } => write!(f, "[{family}] moved {plan}"),
            Event::Dropped { family, plan, .. } => write!(f, "[{family}] dropped {plan}"),
            Event::Ingested { family, files, .. } => {
                write!(f, "[{family}] ingested")?;
                for (nth, file) in files.iter().enumerate() {
                    let separator = if nth > 0 { "," } else { "" };
                    let IngestedFile {
                        file, level, bytes, ..
                    } = file;
                    write!(f, "{separator} {file:06}.sst to L{level}: {bytes} bytes")?;
                }
                Ok(())
            }
            Event::JobEnded {
                family,
                action,
                error,
                ..
            } => {
                write!(f, "[{family}] {action} ended without a result: ")?;
                match error {
                    Some(error) => write!(f, "{error}"),
                    None => f.write_str("nothing was left to write"),
                }
            }
            Event::TableCreationStarted { family, file, .. } => write!(f, "[{family}] begins {file:06}.sst"),
            Event::TableCreationFailed {
                family, file, error, ..
            } => write!(f, "[{family}] did not write {file:06}.sst: {error}"),
            Event::TableCreated {
                family, file, bytes, ..
            } => write!(f, "[{family}] wrote {file:06}.sst: {bytes} bytes"),
            Event::BlobFileCreationStarted { family, file, .. } => {
                write!(f, "[{family}] begins {file:06}.blob")
            }
            Event::BlobFileCreationFailed {
                family, file, error, ..
            } => write!(f, "[{family}] did not write {file:06}.blob: {error}"),
            Event::BlobFileCreated {
                family,
                file,
                total_blob_count,
                total_blob_bytes,
                ..
            } => write!(
                f,
                "[{family}] wrote {total_blob_count} blobs to {file:06}.blob: {total_blob_bytes} bytes"
            ),
            Event::WalCreated { wal } => write!(f, "began {wal:06}.log"),
            Event::RecoveryBegun { wals, .. } => write!(f, "recovers {} WALs", wals.len()),
            Event::ManifestTorn { path, offset, bytes } => write!(
                f,
                "the end of {path} from {offset} on is torn: {bytes} bytes are no edit and do not count"
            ),
            Event::FilesSetAside { files, .. } => write!(
                f,
                "kept aside what may hold what is missing: {}",
                files.join(", ")
            ),
            Event::Recovered { .. } => write!(f, "recovered"),
            Event::Stall {
                family, condition, ..
            } if family.is_empty() => write!(f, "writes {condition}"),
            Event::Stall {
                family, condition, ..
            } => write!(f, "[{family}] writes {condition}"),
            Event::BackgroundError { action, error, .. } => write!(f, "{action} failed: {error}"),
            Event::ErrorRecoveryBegun { background_error, .. } => {
                write!(f, "resumes after {background_error}")
            }
            Event::ErrorRecoveryEnded { new_error, .. } => match new_error {
                Some(error) => write!(f, "did not resume: {error}"),
                None => write!(f, "resumed"),
            },
            Event::CorruptionFound {
                family,
                path,
                offset,
                smallest_key,
                largest_key,
                error,
            } => write!(
                f,
                "[{family}] damage in {path} at {offset}, keys {} to {}: {error}",
                smallest_key.escape_ascii(),
                largest_key.escape_ascii()
            ),
            Event::FileDeleted { path } => write!(f, "deleted {path}"),
            Event::WalDropped { path, reason } => write!(f, "recovery dropped part of {path}: {reason}"),
            Event::RowTooLarge {
                family,
                path,
                key,
                seqno,
                error,
                outcome,
            } => {
                let key = key.escape_ascii();
                let what = error.message();
                write!(
                    f,
                    "[{family}] row '{key}' with sequence number {seqno} in {path}: {what}: "
                )?;
                match outcome {
                    RowTooLargeOutcome::SetAside { path } => write!(f, "left out; the WAL is kept as {path}"),
                    RowTooLargeOutcome::PassedOver => write!(f, "not shown"),
                    RowTooLargeOutcome::FileLeftAlone => {
                        write!(f, "compactions leave the file alone")
                    }
                }
            }
            Event::FilterValueTooLarge {
                family,
                job,
                key,
                error,
            } => write!(
                f,
                "[{family}] job {job}: the compaction filter's value of '{}' is not used: {}",
                key.escape_ascii(),
                error.message()
            ),
            Event::UnknownOption { section, name } => {
                write!(f, "OPTIONS [{section}] {name}: unknown option, kept")
            }
            Event::OptionLost(lost) => lost.fmt(f),
        }
    }
}

/// Receives events, on the thread where they occur and without locks, with these exceptions: while writers
/// wait for memtables to be flushed or begin a WAL, the writers' locks are held, and when a blob file is
/// begun or abandoned, the lock of the job's blob files. It must return soon and must not call the database.
///
/// A panic in it stops the database: nothing is written until [`Db::resume`](crate::Db::resume) or the next
/// open. The operation of the event continues, and other listeners are notified.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use std::sync::Arc;
/// use esker::{Db, Event, EventListener, Options};
///
/// struct Print;
/// impl EventListener for Print {
///     fn on_event(&self, event: &Event) {
///         println!("{event}");
///     }
/// }
///
/// let options = Options {
///     create_if_missing: true,
///     listeners: vec![Arc::new(Print)],
///     ..Default::default()
/// };
/// let db = Db::open(&options, dir.path())?;
/// db.put(b"key", b"value")?;
/// db.flush()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait EventListener: Send + Sync {
    /// The database calls this function once for each event.
    fn on_event(&self, event: &Event);

    /// Returns false to prevent the automatic recovery from `background_error`, which stops writes: RocksDB's
    /// `OnErrorRecoveryBegin` with its `auto_recovery`. Called for each listener before
    /// [`ErrorRecoveryBegun`](Event::ErrorRecoveryBegun), but not for [`Db::resume`](crate::Db::resume).
    fn on_error_recovery_begin(&self, _background_error: &Error) -> bool {
        true
    }

    /// True if the listener wants notifications of file operations. Called when a database is opened; if no
    /// listener wants them, they cost nothing.
    fn should_be_notified_on_file_io(&self) -> bool {
        false
    }

    /// Called when a read, append, flush, sync, close or truncation of a file of the database has finished or
    /// failed: RocksDB's `OnFileReadFinish`, `OnFileWriteFinish` and so on, and `OnIOError`. It runs on the
    /// thread of the operation, with the locks that the thread holds: it must not call the database, and
    /// writers may wait for it. A panic in it is a panic of the operation. Reads of memory maps and
    /// operations on the info log are not reported.
    fn on_file_operation(&self, _operation: &FileOperation<'_>) {}
}
