//! What happens in the background, told as it happens.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::sync::Mutex;
use base::user_code::{call, catch};
use base::{Error, SeqNo};
use codec::compression::CompressionType;
use compact::stall::{StallCause, StallCondition};
use compact::{CompactionReason, TableFileCreationReason};
use memtable::Memtable;
use sst::properties::TableProperties;
use vfs::{FileObserver, FileOperation, ObservedFs};

use crate::log::InfoLog;
use crate::options::{LostOption, Options};
use crate::stats::{Counter, StallTotal};

/// Why memtables are flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushReason {
    /// They are full.
    WriteBufferFull,
    /// All families' memtables together are too large ([`db_write_buffer_size`](Options::db_write_buffer_size)).
    WriteBufferManager,
    /// They hold back WALs that are too large together.
    WalFull,
    /// A user asked for it, or the database closes.
    ManualFlush,
    /// The database recovers from a background error.
    ErrorRecovery,
}

impl FlushReason {
    /// RocksDB's words for it.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestedFile {
    /// Where it came from.
    pub external_path: String,
    /// Its number in the database.
    pub file: u64,
    /// The level it went to.
    pub level: usize,
    /// The sequence number all its entries were given; 0: none.
    pub global_seqno: SeqNo,
    /// Bytes.
    pub bytes: u64,
    /// Entries, range deletions included.
    pub entries: u64,
    /// It was copied, not linked.
    pub copied: bool,
}

/// Something the engine did or met. Its `Display` is one line, the same everywhere.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "the fields are what their names say; units stand in the names"
)]
pub enum Event {
    /// A memtable takes no more rows and is going to be flushed. `data_bytes` are those of its keys and values. Told while writers wait.
    MemtableSealed {
        family: String,
        first_seqno: SeqNo,
        entries: u64,
        deletes: u64,
        range_deletes: u64,
        data_bytes: u64,
    },
    /// Memtables are about to be written to a table. `memory_bytes` is what they take in memory.
    FlushBegun {
        family: String,
        job: u64,
        memtables: usize,
        entries: u64,
        deletes: u64,
        memory_bytes: u64,
        reason: FlushReason,
    },
    /// Memtables, or a stream of their keys, were written to a table. `level_files` is how many files each level has now.
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
    /// Files are about to be merged into others: those of `inputs`, by level.
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
    /// A thread is about to write one key range of a compaction, the `subcompaction`th of its job, from 0; every compaction that writes has
    /// one at least. Told by that thread.
    SubcompactionBegun {
        family: String,
        job: u64,
        subcompaction: usize,
        reason: CompactionReason,
        base_input_level: usize,
        output_level: usize,
        compression: CompressionType,
    },
    /// The thread is done with it, or failed; nothing is in place yet.
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
    /// Files were merged into others. `level_files` is how many files each level has now, `score` that of the level most in need of
    /// compaction.
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
    /// Files went down a level as they are. `level_summary` is what RocksDB's LOG says of the levels after it.
    Moved {
        family: String,
        job: u64,
        plan: String,
        output_level: usize,
        files: usize,
        bytes: u64,
        level_summary: String,
        /// Numbers of the files by the level they were on.
        inputs: Vec<(usize, Vec<u64>)>,
    },
    /// Files were dropped, unread, with all that was in them.
    Dropped {
        family: String,
        job: u64,
        plan: String,
        reason: CompactionReason,
        files: Vec<u64>,
        bytes: u64,
    },
    /// Files from outside became part of a family. `level_files` is how many files each level has now.
    Ingested {
        family: String,
        job: u64,
        files: Vec<IngestedFile>,
        level_files: Vec<usize>,
    },
    /// A job ended without a result: it failed, or nobody needs it any more, or, without an error, nothing was left to write. Of a
    /// failure that stops the database [`BackgroundError`](Event::BackgroundError) tells too.
    JobEnded {
        family: String,
        job: u64,
        action: &'static str,
        error: Option<Error>,
    },
    /// A table is about to be begun by a job. What becomes of it is told by [`TableCreated`](Event::TableCreated) or
    /// [`TableCreationFailed`](Event::TableCreationFailed).
    TableCreationStarted {
        family: String,
        job: u64,
        file: u64,
        path: String,
        reason: TableFileCreationReason,
    },
    /// A table that was begun will not be: it, or another of its job, could not be written, or the job was cancelled. The file is deleted.
    TableCreationFailed {
        family: String,
        job: u64,
        file: u64,
        path: String,
        reason: TableFileCreationReason,
        error: Error,
    },
    /// A table was written, and is about to be put in place. The checksum is that over the whole file, empty without one.
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
    /// A blob file is about to be begun by a job. What becomes of it is told by [`BlobFileCreated`](Event::BlobFileCreated) or
    /// [`BlobFileCreationFailed`](Event::BlobFileCreationFailed).
    BlobFileCreationStarted {
        family: String,
        job: u64,
        file: u64,
        path: String,
        reason: TableFileCreationReason,
    },
    /// A blob file that was begun will not be: its job failed, or was cancelled. The file is deleted.
    BlobFileCreationFailed {
        family: String,
        job: u64,
        file: u64,
        path: String,
        reason: TableFileCreationReason,
        error: Error,
    },
    /// A blob file was written, and is about to be put in place with the tables that refer to it. The checksum is that over the whole
    /// file, empty without one.
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
    /// Recovery is about to read these WALs.
    RecoveryBegun { job: u64, wals: Vec<u64> },
    /// The MANIFEST ends in bytes that are no edit: its writer died, or a part of the file is lost. Recovery goes on without them.
    ManifestTorn { path: String, offset: u64, bytes: u64 },
    /// Recovery was without edits or a WAL that are lost, and has moved files there that it does not use and that may hold what is missing.
    FilesSetAside { job: u64, files: Vec<String> },
    /// Recovery is over.
    Recovered { job: u64 },
    /// Writes are slowed or stopped, or no longer are: once when a condition begins, and once when it ends, with how often and how long writers
    /// waited in it. The condition names the limit; the numbers are how much there is of what it limits, and the limits, those at which writes are
    /// slowed and those at which they stop (0: none). `family` is the one that has reached it, of low priority the one whose compactions are
    /// behind; it is empty where the limit is that of a write buffer manager, or the WAL is locked, which are told once a writer waits for
    /// them. `delayed_write_rate`: bytes a second to which writes are slowed.
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
    /// A background job failed. `stops_writes`: the database takes no more of them, RocksDB's hard error; without it they go on, as after a
    /// compaction that had no room, its soft error.
    BackgroundError {
        action: &'static str,
        error: Error,
        stops_writes: bool,
    },
    /// [`Db::resume`](crate::Db::resume) is about to have done again what failed with `background_error`; or, `automatic`, the database
    /// has begun to try so by itself.
    ErrorRecoveryBegun {
        background_error: Error,
        automatic: bool,
    },
    /// It is over: the database takes writes again, or it failed with `new_error`. An `automatic` one fails where it was tried often
    /// enough (`Aborted`), where something has failed that cannot be resumed from, and where the database closes; `Db::resume` ends it,
    /// too, when it succeeds.
    ErrorRecoveryEnded {
        background_error: Error,
        new_error: Option<Error>,
        automatic: bool,
    },
    /// Looking through the files in the background found a damaged place. The keys, user keys both, are those of the damaged
    /// block (the first may itself lie in front of it) where the damage is in one of data, else those of the file.
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
    /// Recovery left out bytes of a WAL that it could not use.
    WalDropped { path: String, reason: String },
    /// A row was met that is longer than any may be ([`RowLimit`](crate::RowLimit)): RocksDB writes such rows, and earlier releases of
    /// this engine did.
    RowTooLarge {
        family: String,
        /// The file that holds it.
        path: String,
        /// The user key with its timestamp; of a long one the first 256 bytes.
        key: Vec<u8>,
        seqno: SeqNo,
        /// The key or value that is too large.
        error: Error,
        outcome: RowTooLargeOutcome,
    },
    /// A compaction filter gave a value that no row can hold; the row stays as it was. Told of the first 100 rows of a job.
    FilterValueTooLarge {
        family: String,
        job: u64,
        /// As in `RowTooLarge`.
        key: Vec<u8>,
        /// The key or value that is too large.
        error: Error,
    },
    /// The OPTIONS file has an option that no release of RocksDB has that Esker knows, or an option of ours at a value that is none of
    /// ours; or (section `file`) it cannot be read.
    UnknownOption { section: String, name: String },
    /// An option has no effect and is not at RocksDB's default: one in the OPTIONS file, told at each open, or one that is given, told
    /// whenever it is.
    OptionLost(LostOption),
}

/// The outcome for a row that is too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowTooLargeOutcome {
    /// Recovery leaves it out, and keeps the whole WAL under this path.
    SetAside {
        /// In the directory `lost` beside the WAL. The engine never deletes it.
        path: String,
    },
    /// A database that is opened for reading, or a secondary, does not show it.
    PassedOver,
    /// The compaction that met it changes nothing, and compactions leave its file alone until the database is reopened.
    FileLeftAlone,
}

/// Bytes of a key in an event.
const MAX_SHOWN_KEY: usize = 256;

/// As much of a key as events tell.
pub(crate) fn shown_key(user_key: &[u8]) -> Vec<u8> {
    user_key[..user_key.len().min(MAX_SHOWN_KEY)].to_vec()
}

impl Event {
    /// What is no family's, and slows or stops writes, begins or ends. `memory`: bytes of memtables, and what is allowed of them, where that is
    /// the limit.
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

    /// `table` of `family` takes no more rows.
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

    /// True of a stall that comes and goes with flushes, which depends on how the threads run.
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

/// Told of events, on the thread they happen on and with no lock held but, where writers wait for memtables to be flushed or begin
/// a WAL, that of the writers, and where a blob file is begun or given up that of the job's blob files. Must return soon and must not call the database.
///
/// A panic in it stops the database: nothing more is written until [`Db::resume`](crate::Db::resume) or the next open. What the event is about goes on,
/// and other listeners are told.
pub trait EventListener: Send + Sync {
    /// Called once an event.
    fn on_event(&self, event: &Event);

    /// False if the database must not try to resume by itself after `background_error`, which stops writes: `OnErrorRecoveryBegin` of
    /// RocksDB with its `auto_recovery`. Asked of each listener before
    /// [`ErrorRecoveryBegun`](Event::ErrorRecoveryBegun); [`Db::resume`](crate::Db::resume) is not asked for.
    fn on_error_recovery_begin(&self, _background_error: &Error) -> bool {
        true
    }

    /// True if it wants to be told of operations on files. Asked when a database is opened; where nobody wants it, it costs nothing.
    fn should_be_notified_on_file_io(&self) -> bool {
        false
    }

    /// A read, append, flush, sync, close or truncation of a file of the database is over, or failed: RocksDB's `OnFileReadFinish`,
    /// `OnFileWriteFinish` and so on, and `OnIOError`. On the thread that asked for it, with whatever locks that holds: it must not call
    /// the database, and who waits for it may be a writer. A panic in it is one in the operation, for whoever asked for it. Not told are reads of maps, and what becomes of the info log.
    fn on_file_operation(&self, _operation: &FileOperation<'_>) {}
}

/// Those of a database's listeners that want to be told of operations on files.
struct FileListeners(Vec<Arc<dyn EventListener>>);

impl fmt::Debug for FileListeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} listeners", self.0.len())
    }
}

impl FileObserver for FileListeners {
    fn finished(&self, operation: &FileOperation<'_>) {
        for listener in &self.0 {
            call("event listener", || "", || listener.on_file_operation(operation));
        }
    }
}

/// `options` with a file system that tells listeners of what is done to files, if any of them wants it.
pub(crate) fn with_file_listeners(options: &Options) -> Cow<'_, Options> {
    let mut listeners = options.listeners.clone();
    listeners.retain(|listener| listener.should_be_notified_on_file_io());
    if listeners.is_empty() {
        return Cow::Borrowed(options);
    }
    let fs = ObservedFs::new(
        options.fs.clone(),
        Arc::new(FileListeners(listeners)),
        options.clock.clone(),
    );
    Cow::Owned(Options {
        fs: Arc::new(fs),
        ..options.clone()
    })
}

/// Who is told of the events of a database: its info log, and those its user named.
#[derive(Clone)]
pub(crate) struct Listeners {
    all: Arc<[Arc<dyn EventListener>]>,
    panics: Arc<ListenerPanics>,
}

/// Panics of listeners, until the database takes note of them.
#[derive(Default)]
struct ListenerPanics {
    /// The database is open. Before that the open itself takes note.
    open: AtomicBool,
    any: AtomicBool,
    first: Mutex<Option<Error>>,
}

impl Listeners {
    pub fn new(log: Arc<InfoLog>, options: &Options) -> Listeners {
        let log: Arc<dyn EventListener> = log;
        let counter = options.statistics.as_ref().map(|statistics| {
            let counter: Arc<dyn EventListener> = Arc::new(Counter(statistics.clone()));
            counter
        });
        let listeners = std::iter::once(log).chain(counter);
        Listeners {
            all: listeners.chain(options.listeners.iter().cloned()).collect(),
            panics: Arc::default(),
        }
    }

    /// Nobody.
    #[cfg(test)]
    pub fn none() -> Listeners {
        Listeners {
            all: Arc::new([]),
            panics: Arc::default(),
        }
    }

    /// True if none of them forbids an automatic recovery. All are asked; one that panics forbids it.
    pub fn allow_recovery(&self, background_error: &Error) -> bool {
        let answers = self.all.iter().map(|listener| {
            let ask = || listener.on_error_recovery_begin(background_error);
            catch(|| call("event listener", || "", ask)).unwrap_or_else(|error| {
                self.note_panic(error);
                false
            })
        });
        answers.fold(true, |all, allows| all & allows)
    }

    /// Tells them, each of them even if one panics. Called with no lock held; see [`EventListener`].
    pub fn notify(&self, event: &Event) {
        for listener in &*self.all {
            let told = catch(|| call("event listener", || "", || listener.on_event(event)));
            if let Err(error) = told {
                self.note_panic(error);
            }
        }
    }

    /// Something that no caller hears of has panicked.
    #[cold]
    pub fn note_panic(&self, error: Error) {
        self.panics.first.lock().get_or_insert(error);
        self.panics.any.store(true, Ordering::Release);
    }

    /// True if there is a panic to take.
    #[inline]
    pub fn has_panicked(&self) -> bool {
        self.panics.any.load(Ordering::Acquire)
    }

    /// The first panic since this was asked last.
    pub fn take_panic(&self) -> Option<Error> {
        self.panics.any.store(false, Ordering::Release);
        self.panics.first.lock().take()
    }

    /// The database is open.
    pub fn set_open(&self) {
        self.panics.open.store(true, Ordering::Release);
    }

    /// True if the database is open.
    pub fn is_open(&self) -> bool {
        self.panics.open.load(Ordering::Acquire)
    }
}
