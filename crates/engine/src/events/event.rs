//! The events: when each is sent, its fields, its text, its level, and its lines in the info log.
//!
//! Lines and objects that RocksDB's log has are RocksDB's, byte for byte: programs parse them.

use base::{Error, SeqNo};
use codec::compression::CompressionType;
use compact::stall::{StallCause, StallCondition};
use compact::{CompactionReason, TableFileCreationReason};
use memtable::Memtable;
use sst::properties::TableProperties;

use super::json::Json;
use super::parts::{FlushReason, IngestedFile, RowTooLargeOutcome};
use super::rows::event_rows;
use super::texts;
use crate::options::logger::InfoLogLevel;
use crate::options::loss::LostOption;
use crate::stats::StallTotal;

event_rows! {
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
    ///             Event::Ingested { files, .. } => {
    ///                 files.iter().for_each(|file| println!("{}", file.external_path));
    ///             }
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
        /// A memtable became immutable and will be flushed. `data_bytes` is the size of its keys and values.
        /// Sent while writers wait.
        MemtableSealed {
            family: String,
            first_seqno: SeqNo,
            entries: u64,
            deletes: u64,
            range_deletes: u64,
            data_bytes: u64,
        } => {
            text: ("[{family}] sealed a memtable of {entries} entries, {data_bytes} bytes"),
            level: Debug,
        }

        /// A flush of memtables begins. `memory_bytes` is their memory.
        FlushBegun {
            family: String,
            job: u64,
            memtables: usize,
            entries: u64,
            deletes: u64,
            memory_bytes: u64,
            reason: FlushReason,
        } => {
            text: ("[{family}] flushes {entries} entries of {memtables} memtables, {memory_bytes} bytes"),
            level: Info,
            log: [format!("[{family}] [JOB {job}] Flushing {memtables} memtables")],
            json: Json::event("flush_started")
                .text("cf_name", family)
                .number("num_memtables", memtables)
                .number("total_num_input_entries", entries)
                .number("num_deletes", deletes)
                .number("memory_usage", memory_bytes)
                .text("flush_reason", reason.name()),
        }

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
        } => {
            text: ("[{family}] flushed {entries} entries to {file:06}.sst: {bytes} bytes in {micros} us"),
            level: Info,
            log: [format!("[{family}] [JOB {job}] Level-{level} flush table #{file}: {bytes} bytes OK")],
            json: Json::event("flush_finished")
                .text("cf_name", family)
                .text("output_compression", compression.property_name())
                .number("total_output_size", bytes)
                .list("lsm_state", level_files)
                .number("immutable_memtables", immutable_memtables),
        }

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
        } => {
            text: ("[{family}] compacts {plan}: {bytes} bytes"),
            level: Info,
            log: [
                format!(
                    "[{family}] [JOB {job}] Compacting {} files to L{output_level}, score {score:.2}",
                    texts::files_by_level(inputs)
                ),
                format!("[{family}]: Compaction start summary: {plan}"),
            ],
            json: inputs
                .iter()
                .fold(
                    Json::event("compaction_started")
                        .text("cf_name", family)
                        .text("compaction_reason", &reason.to_string()),
                    |json, (level, files)| json.list(&format!("files_L{level}"), files),
                )
                .number("score", if score.is_finite() { *score } else { 0.0 })
                .number("input_data_size", bytes)
                .number("output_level", output_level)
                .number(
                    "oldest_snapshot_seqno",
                    oldest_snapshot.map_or("-1".to_owned(), |seqno| seqno.to_string()),
                ),
        }

        /// A thread begins to write one key range of a compaction, with index `subcompaction` in the job,
        /// from 0; every compaction that writes has at least one. Sent by that thread.
        SubcompactionBegun {
            family: String,
            job: u64,
            subcompaction: usize,
            reason: CompactionReason,
            base_input_level: usize,
            output_level: usize,
            compression: CompressionType,
        } => {
            text: ("[{family}] begins subcompaction {subcompaction} of job {job}"),
            level: Debug,
        }

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
        } => {
            text: (
                "[{family}] subcompaction {subcompaction} of job {job} {}",
                match error {
                    Some(error) => format!("failed: {error}"),
                    None => format!("wrote {bytes_written} bytes in {micros} us"),
                }
            ),
            level: Debug,
        }

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
        } => {
            text: (
                "[{family}] compacted {plan}: {bytes_read} bytes read, {bytes_written} written to {} files in \
                 {micros} us{}",
                outputs.len(),
                match subcompactions {
                    0 | 1 => String::new(),
                    several => format!(" by {several} subcompactions"),
                }
            ),
            level: Info,
            log: [format!(
                "[{family}] compacted to: {level_summary}, MB/sec: {:.1} rd, {:.1} wr, level {output_level}, \
                 records in: {entries_read}, records dropped: {} output_compression: {}",
                texts::megabytes_per_second(*bytes_read, *micros),
                texts::megabytes_per_second(*bytes_written, *micros),
                entries_read.saturating_sub(*entries_written),
                compression.property_name()
            )],
            json: Json::event("compaction_finished")
                .text("cf_name", family)
                .number("compaction_time_micros", micros)
                .number("compaction_time_cpu_micros", cpu_micros)
                .number("output_level", output_level)
                .number("num_output_files", outputs.len())
                .number("total_output_size", bytes_written)
                .number("num_input_records", entries_read)
                .number("num_output_records", entries_written)
                .number("num_subcompactions", subcompactions)
                .text("output_compression", compression.property_name())
                .list("lsm_state", level_files),
        }

        /// Files were moved down a level unchanged. `level_summary` is the text of RocksDB's LOG about the
        /// levels afterwards.
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
        } => {
            text: ("[{family}] moved {plan}"),
            level: Info,
            log: [format!(
                "[{family}] Moved #{files} files to level-{output_level} {bytes} bytes OK: {level_summary}"
            )],
            json: Json::event("trivial_move")
                .text("cf_name", family)
                .number("destination_level", output_level)
                .number("files", files)
                .number("total_files_size", bytes),
        }

        /// Files were dropped unread, with all their data.
        Dropped {
            family: String,
            job: u64,
            plan: String,
            reason: CompactionReason,
            files: Vec<u64>,
            bytes: u64,
        } => {
            text: ("[{family}] dropped {plan}"),
            level: Info,
            log: [format!(
                "[{family}] [JOB {job}] Deleted {} files, {bytes} bytes, reason {reason}: {files:?}",
                files.len()
            )],
        }

        /// External files became part of a family. `level_files` has the new number of files of each level.
        Ingested {
            family: String,
            job: u64,
            files: Vec<IngestedFile>,
            level_files: Vec<usize>,
        } => {
            text: ("[{family}] ingested{}", texts::ingested_files(files)),
            level: Info,
            log: files.iter().map(|file| {
                format!(
                    "[AddFile] External SST file {} was ingested in L{} with path {:06}.sst (global_seqno={})",
                    file.external_path, file.level, file.file, file.global_seqno
                )
            }),
            json: Json::event("ingest_finished")
                .text("cf_name", family)
                .list("files_ingested", files.iter().map(|file| file.file))
                .list("levels", files.iter().map(|file| file.level))
                .list("lsm_state", level_files),
        }

        /// A job ended without a result: it failed, its result is no longer needed or, without an error,
        /// nothing was left to write. A failure that stops the database is also reported by
        /// [`BackgroundError`](Event::BackgroundError).
        JobEnded {
            family: String,
            job: u64,
            action: &'static str,
            error: Option<Error>,
        } => {
            text: ("[{family}] {action} ended without a result: {}", texts::reason_to_end(error)),
            level: if error.is_some() { Warn } else { Info },
            log: [format!(
                "[{family}] [JOB {job}] {action} ended without a result: {}",
                texts::reason_to_end(error)
            )],
        }

        /// A job begins a table. [`TableCreated`](Event::TableCreated) or
        /// [`TableCreationFailed`](Event::TableCreationFailed) follows.
        TableCreationStarted {
            family: String,
            job: u64,
            file: u64,
            path: String,
            reason: TableFileCreationReason,
        } => {
            text: ("[{family}] begins {file:06}.sst"),
            level: Debug,
            // RocksDB's log mentions files only when they are complete.
            log: [],
        }

        /// A table that was begun is abandoned: it, or another of its job, could not be written, or the job
        /// was cancelled. The file is deleted.
        TableCreationFailed {
            family: String,
            job: u64,
            file: u64,
            path: String,
            reason: TableFileCreationReason,
            error: Error,
        } => {
            text: ("[{family}] did not write {file:06}.sst: {error}"),
            level: Warn,
            log: [format!("[{family}] [JOB {job}] Table #{file} was not written: {error}")],
        }

        /// A table was written, and will be installed. The checksum is that of the whole file, empty without
        /// one.
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
        } => {
            text: ("[{family}] wrote {file:06}.sst: {bytes} bytes"),
            level: Info,
            log: [],
            json: Json::event("table_file_creation")
                .text("cf_name", family)
                .number("file_number", file)
                .number("file_size", bytes)
                .text("file_checksum", &texts::hex(file_checksum))
                .text("file_checksum_func_name", texts::checksum_name(file_checksum_func_name))
                .number("smallest_seqno", smallest_seqno)
                .number("largest_seqno", largest_seqno)
                .object("table_properties", Json::table_properties(properties))
                .known_number("oldest_blob_file_number", *oldest_blob_file)
                .text("status", "OK"),
        }

        /// A job begins a blob file. [`BlobFileCreated`](Event::BlobFileCreated) or
        /// [`BlobFileCreationFailed`](Event::BlobFileCreationFailed) follows.
        BlobFileCreationStarted {
            family: String,
            job: u64,
            file: u64,
            path: String,
            reason: TableFileCreationReason,
        } => {
            text: ("[{family}] begins {file:06}.blob"),
            level: Debug,
            log: [],
        }

        /// A blob file that was begun is abandoned: its job failed, or was cancelled. The file is deleted.
        BlobFileCreationFailed {
            family: String,
            job: u64,
            file: u64,
            path: String,
            reason: TableFileCreationReason,
            error: Error,
        } => {
            text: ("[{family}] did not write {file:06}.blob: {error}"),
            level: Warn,
            log: [format!("[{family}] [JOB {job}] Blob file #{file} was not written: {error}")],
        }

        /// A blob file was written, and will be installed with the tables that refer to it. The checksum is
        /// that of the whole file, empty without one.
        BlobFileCreated {
            family: String,
            job: u64,
            file: u64,
            total_blob_count: u64,
            total_blob_bytes: u64,
            file_checksum: Vec<u8>,
            file_checksum_func_name: String,
        } => {
            text: ("[{family}] wrote {total_blob_count} blobs to {file:06}.blob: {total_blob_bytes} bytes"),
            level: Info,
            log: [],
            json: Json::event("blob_file_creation")
                .text("cf_name", family)
                .number("file_number", file)
                .number("total_blob_count", total_blob_count)
                .number("total_blob_bytes", total_blob_bytes)
                .text("file_checksum", &texts::hex(file_checksum))
                .text("file_checksum_func_name", texts::checksum_name(file_checksum_func_name))
                .text("status", "OK"),
        }

        /// A WAL was begun: rows are written to it from now on.
        WalCreated { wal: u64 } => {
            text: ("began {wal:06}.log"),
            level: Info,
            log: [],
            json: Json::event("wal_created").number("wal", wal),
        }

        /// Recovery begins to read these WALs.
        RecoveryBegun { job: u64, wals: Vec<u64> } => {
            text: ("recovers {} WALs", wals.len()),
            level: Info,
            log: [],
            json: Json::event("recovery_started").list("wal_files", wals),
        }

        /// The MANIFEST ends in bytes that are no edit: its writer died, or a part of the file is lost.
        /// Recovery continues without them.
        ManifestTorn { path: String, offset: u64, bytes: u64 } => {
            text: ("the end of {path} from {offset} on is torn: {bytes} bytes are no edit and do not count"),
            level: Warn,
        }

        /// Recovery lacked edits or a WAL, and has set aside files that it does not use and that may have the
        /// missing data.
        FilesSetAside { job: u64, files: Vec<String> } => {
            text: ("kept aside what may hold what is missing: {}", files.join(", ")),
            level: Warn,
        }

        /// Recovery has finished.
        Recovered { job: u64 } => {
            text: ("recovered"),
            level: Info,
            log: [],
            json: Json::event("recovery_finished").text("status", "OK"),
        }

        /// Writes are slowed or stopped, or no longer are. Sent once when a condition begins, and once when
        /// it ends, with the number and the duration of the waits. The condition names the limit; the numbers
        /// are the current amount and the limits at which writes are slowed and stopped (0: none). `family`
        /// is the family that has reached the limit or, for low priority, the one whose compactions are
        /// behind; it is empty for the limit of a write buffer manager and for a locked WAL, which are
        /// reported once a writer waits for them. `delayed_write_rate` is the rate of slowed writes in bytes
        /// per second.
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
        } => {
            text: ("{}writes {condition}", texts::prefix_of_family(family)),
            level: if *condition == StallCondition::Normal { Info } else { Warn },
            log: {
                // A stall event without a family name concerns all families.
                let family = if family.is_empty() { "all" } else { family };
                let option = condition.option();
                let (word, l0_trigger, bytes_limit, rate) = match condition {
                    StallCondition::Stopped { .. } => (
                        "Stopping",
                        level0_stop_writes_trigger,
                        hard_pending_compaction_bytes_limit,
                        String::new(),
                    ),
                    _ => (
                        "Stalling",
                        level0_slowdown_writes_trigger,
                        soft_pending_compaction_bytes_limit,
                        format!(" rate {delayed_write_rate}"),
                    ),
                };
                let text = match condition {
                    StallCondition::Normal => texts::end_of_stall(*previous)
                        .map(|ended| format!("{ended}: {waits} waits, {waited_micros} us")),
                    StallCondition::Delayed { cause } | StallCondition::Stopped { cause } => Some(match cause {
                        StallCause::MemtableLimit => format!(
                            "{word} writes because we have {immutable_memtables} immutable memtables (waiting for \
                             flush), {option} is set to {max_write_buffer_number}{rate}"
                        ),
                        StallCause::L0FileCountLimit => format!(
                            "{word} writes because we have {l0_files} level-0 files, {option} is set to \
                             {l0_trigger}{rate}"
                        ),
                        StallCause::PendingCompactionBytes => format!(
                            "{word} writes because of estimated pending compaction bytes \
                             {pending_compaction_bytes}, {option} is set to {bytes_limit}{rate}"
                        ),
                        StallCause::WriteBufferManagerLimit => format!(
                            "{word} writes because memtables take {memtable_bytes} bytes, of which the write \
                             buffer manager allows {write_buffer_manager_limit}"
                        ),
                        StallCause::LowPriority => format!(
                            "{word} writes of low priority because compactions are behind: {l0_files} level-0 \
                             files, {pending_compaction_bytes} estimated pending compaction bytes{rate}"
                        ),
                        StallCause::WalLocked => format!("{word} writes because the WAL is locked"),
                    }),
                };
                text.map(|text| format!("[{family}] {text}"))
            },
        }

        /// A background job failed. `stops_writes`: the database takes no more writes, RocksDB's hard error;
        /// otherwise writes continue, as after a compaction without disk space, its soft error.
        BackgroundError {
            action: &'static str,
            error: Error,
            stops_writes: bool,
        } => {
            text: ("{action} failed: {error}"),
            level: Error,
            log: [format!(
                "Background error: {action}: {error}. {}",
                if *stops_writes { "No more writes are taken" } else { "Writes go on" }
            )],
        }

        /// [`Db::resume`](crate::Db::resume) begins to repeat the operation that failed with
        /// `background_error`; or, if `automatic`, the database has begun to try so by itself.
        ErrorRecoveryBegun {
            background_error: Error,
            automatic: bool,
        } => {
            text: ("resumes after {background_error}"),
            level: Info,
            // Each attempt logs lines of its own.
            log: [],
        }

        /// The recovery has ended: the database takes writes again, or the recovery failed with `new_error`.
        /// An `automatic` recovery fails after the maximum number of attempts (`Aborted`), after an error
        /// that cannot be resumed from, and when the database closes; a successful `Db::resume` ends it too.
        ErrorRecoveryEnded {
            background_error: Error,
            new_error: Option<Error>,
            automatic: bool,
        } => {
            text: (
                "{}",
                match new_error {
                    Some(error) => format!("did not resume: {error}"),
                    None => "resumed".to_owned(),
                }
            ),
            level: if *automatic && new_error.is_some() { Error } else { Info },
            // Each attempt logs lines of its own; this line is about the end of them all.
            log: new_error
                .iter()
                .filter(|_| *automatic)
                .map(|error| format!("ErrorHandler: auto recovery has ended: {error}")),
        }

        /// The background verification has found corruption. The keys are user keys: those of the corrupt
        /// block if it is a data block (the first may precede it), else those of the file.
        CorruptionFound {
            family: String,
            path: String,
            offset: u64,
            smallest_key: Vec<u8>,
            largest_key: Vec<u8>,
            error: Error,
        } => {
            text: (
                "[{family}] damage in {path} at {offset}, keys {} to {}: {error}",
                smallest_key.escape_ascii(),
                largest_key.escape_ascii()
            ),
            level: Error,
        }

        /// A file was deleted.
        FileDeleted { path: String } => {
            text: ("deleted {path}"),
            level: if texts::deletion(path).is_some() { Debug } else { Info },
            log: match texts::deletion(path) {
                Some(_) => None,
                None => Some(format!("[JOB 0] Delete {path}: OK")),
            },
            json: texts::deletion(path)
                .map(|(name, number)| Json::event(name).number("file_number", number).text("status", "OK")),
        }

        /// Recovery dropped bytes of a WAL that it could not use.
        WalDropped { path: String, reason: String } => {
            text: ("recovery dropped part of {path}: {reason}"),
            level: Warn,
        }

        /// A row larger than the maximum ([`RowLimit`](crate::RowLimit)) was found: RocksDB writes such rows,
        /// and earlier releases of this engine did.
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
        } => {
            text: (
                "[{family}] row '{}' with sequence number {seqno} in {path}: {}: {}",
                key.escape_ascii(),
                error.message(),
                match outcome {
                    RowTooLargeOutcome::SetAside { path } => format!("left out; the WAL is kept as {path}"),
                    RowTooLargeOutcome::PassedOver => "not shown".to_owned(),
                    RowTooLargeOutcome::FileLeftAlone => "compactions leave the file alone".to_owned(),
                }
            ),
            level: Error,
        }

        /// A compaction filter returned a value that no row can hold; the row stays unchanged. Sent for the
        /// first 100 rows of a job.
        FilterValueTooLarge {
            family: String,
            job: u64,
            /// The user key with its timestamp; for a long key its first 256 bytes.
            key: Vec<u8>,
            /// The error that names the key or value that is too large.
            error: Error,
        } => {
            text: (
                "[{family}] job {job}: the compaction filter's value of '{}' is not used: {}",
                key.escape_ascii(),
                error.message()
            ),
            level: Warn,
        }

        /// The OPTIONS file has an option that no release of RocksDB known to Esker has, or an option of ours
        /// with an invalid value; or (section `file`) it cannot be read.
        UnknownOption { section: String, name: String } => {
            text: ("OPTIONS [{section}] {name}: unknown option, kept"),
            level: Warn,
        }

        /// An option without effect is not at RocksDB's default: one in the OPTIONS file, reported at each
        /// open, or one of the caller, reported whenever it is set.
        OptionLost(lost: LostOption) => {
            text: ("{lost}"),
            level: if lost.loss.is_refused() { Warn } else { Info },
            json: Json::event("option_lost")
                .text("section", &lost.section)
                .text("option", &lost.name)
                .text("value", &lost.value)
                .text("loss", lost.loss.name()),
        }
    }
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
