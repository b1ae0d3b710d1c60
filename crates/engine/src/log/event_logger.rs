//! Events in RocksDB's log format: lines for people, and `EVENT_LOG_v1` lines for tools, with its names and
//! fields.

use std::fmt::Display;
use std::path::Path;

use base::filename::{self, FileKind};
use compact::stall::{StallCause, StallCondition};
use sst::properties::TableProperties;

use super::json::Json;
use super::{InfoLog, log_line};
use crate::events::{Event, EventListener, IngestedFile};
use crate::options::LostOption;
use crate::options::logger::InfoLogLevel;

impl InfoLog {
    /// Writes an event line: `fields` after those that every event has.
    fn event(&self, name: &str, job: u64, fields: impl FnOnce(Json) -> Json) {
        if !self.takes(InfoLogLevel::Info) {
            return;
        }
        let json = Json::new()
            .number("time_micros", self.clock.unix_micros())
            .number("job", job)
            .text("event", name);
        self.write(
            InfoLogLevel::Info,
            &format!("EVENT_LOG_v1 {}", fields(json).finish()),
        );
    }
}

impl EventListener for InfoLog {
    fn on_event(&self, event: &Event) {
        match event {
            Event::FlushBegun {
                family,
                job,
                memtables,
                entries,
                deletes,
                memory_bytes,
                reason,
            } => {
                log_line!(
                    self,
                    Info,
                    "[{family}] [JOB {job}] Flushing {memtables} memtables"
                );
                self.event("flush_started", *job, |json| {
                    json.text("cf_name", family)
                        .number("num_memtables", memtables)
                        .number("total_num_input_entries", entries)
                        .number("num_deletes", deletes)
                        .number("memory_usage", memory_bytes)
                        .text("flush_reason", reason.name())
                });
            }
            Event::Flushed {
                family,
                job,
                file,
                level,
                bytes,
                compression,
                level_files,
                immutable_memtables,
                ..
            } => {
                log_line!(
                    self,
                    Info,
                    "[{family}] [JOB {job}] Level-{level} flush table #{file}: {bytes} bytes OK"
                );
                self.event("flush_finished", *job, |json| {
                    json.text("cf_name", family)
                        .text("output_compression", compression.property_name())
                        .number("total_output_size", bytes)
                        .list("lsm_state", level_files)
                        .number("immutable_memtables", immutable_memtables)
                });
            }
            Event::MemtableSealed { .. }
            | Event::SubcompactionBegun { .. }
            | Event::SubcompactionCompleted { .. } => log_line!(self, Debug, "{event}"),
            Event::CompactionBegun { .. } | Event::Compacted { .. } | Event::Moved { .. } => {
                self.compaction(event)
            }
            Event::Dropped {
                family,
                job,
                reason,
                files,
                bytes,
                ..
            } => log_line!(
                self,
                Info,
                "[{family}] [JOB {job}] Deleted {} files, {bytes} bytes, reason {reason}: {files:?}",
                files.len()
            ),
            Event::Ingested {
                family,
                job,
                files,
                level_files,
            } => self.ingested(family, *job, files, level_files),
            Event::JobEnded {
                family,
                job,
                action,
                error: Some(error),
            } => log_line!(
                self,
                Warn,
                "[{family}] [JOB {job}] {action} ended without a result: {error}"
            ),
            Event::JobEnded {
                family, job, action, ..
            } => log_line!(
                self,
                Info,
                "[{family}] [JOB {job}] {action} ended without a result: nothing was left to write"
            ),
            // RocksDB's log mentions files only when they are complete.
            Event::TableCreationStarted { .. } | Event::BlobFileCreationStarted { .. } => {}
            Event::BlobFileCreationFailed {
                family,
                job,
                file,
                error,
                ..
            } => log_line!(
                self,
                Warn,
                "[{family}] [JOB {job}] Blob file #{file} was not written: {error}"
            ),
            Event::TableCreationFailed {
                family,
                job,
                file,
                error,
                ..
            } => log_line!(
                self,
                Warn,
                "[{family}] [JOB {job}] Table #{file} was not written: {error}"
            ),
            Event::TableCreated {
                family,
                job,
                file,
                bytes,
                smallest_seqno,
                largest_seqno,
                file_checksum,
                file_checksum_func_name,
                oldest_blob_file,
                properties,
            } => self.event("table_file_creation", *job, |json| {
                let json = json
                    .text("cf_name", family)
                    .number("file_number", file)
                    .number("file_size", bytes)
                    .text("file_checksum", &hex(file_checksum))
                    .text("file_checksum_func_name", checksum_name(file_checksum_func_name))
                    .number("smallest_seqno", smallest_seqno)
                    .number("largest_seqno", largest_seqno)
                    .object("table_properties", table_properties(properties));
                let json = match oldest_blob_file {
                    Some(number) => json.number("oldest_blob_file_number", number),
                    None => json,
                };
                json.text("status", "OK")
            }),
            Event::BlobFileCreated {
                family,
                job,
                file,
                total_blob_count,
                total_blob_bytes,
                file_checksum,
                file_checksum_func_name,
            } => self.event("blob_file_creation", *job, |json| {
                json.text("cf_name", family)
                    .number("file_number", file)
                    .number("total_blob_count", total_blob_count)
                    .number("total_blob_bytes", total_blob_bytes)
                    .text("file_checksum", &hex(file_checksum))
                    .text("file_checksum_func_name", checksum_name(file_checksum_func_name))
                    .text("status", "OK")
            }),
            Event::WalCreated { wal } => self.event("wal_created", 0, |json| json.number("wal", wal)),
            Event::RecoveryBegun { job, wals } => {
                self.event("recovery_started", *job, |json| json.list("wal_files", wals));
            }
            Event::Recovered { job } => {
                self.event("recovery_finished", *job, |json| json.text("status", "OK"));
            }
            Event::Stall {
                family,
                previous,
                condition,
                waits,
                waited_micros,
                immutable_memtables,
                max_write_buffer_number,
                l0_files,
                level0_slowdown_writes_trigger,
                level0_stop_writes_trigger,
                pending_compaction_bytes,
                soft_pending_compaction_bytes_limit,
                hard_pending_compaction_bytes_limit,
                memtable_bytes,
                write_buffer_manager_limit,
                delayed_write_rate,
            } => {
                // A stall event without a family name concerns all families.
                let family = match family.is_empty() {
                    true => "all",
                    false => family,
                };
                let ended = |cause: &StallCause| match cause {
                    // The family may still be stalled for another reason: the line does not deny that.
                    StallCause::LowPriority | StallCause::WriteBufferManagerLimit | StallCause::WalLocked => {
                        format!("Writes go on: they were {previous}")
                    }
                    _ => format!("Writes go on: nothing stalls them any more. They were {previous}"),
                };
                let (word, cause, files, bytes, rate) = match (condition, previous) {
                    (
                        StallCondition::Normal,
                        StallCondition::Delayed { cause } | StallCondition::Stopped { cause },
                    ) => {
                        let ended = ended(cause);
                        log_line!(
                            self,
                            Info,
                            "[{family}] {ended}: {waits} waits, {waited_micros} us"
                        );
                        return;
                    }
                    (StallCondition::Normal, StallCondition::Normal) => return,
                    (StallCondition::Delayed { cause }, _) => (
                        "Stalling",
                        cause,
                        format!("level0_slowdown_writes_trigger is set to {level0_slowdown_writes_trigger}"),
                        format!(
                            "soft_pending_compaction_bytes_limit is set to {soft_pending_compaction_bytes_limit}"
                        ),
                        format!(" rate {delayed_write_rate}"),
                    ),
                    (StallCondition::Stopped { cause }, _) => (
                        "Stopping",
                        cause,
                        format!("level0_stop_writes_trigger is set to {level0_stop_writes_trigger}"),
                        format!(
                            "hard_pending_compaction_bytes_limit is set to {hard_pending_compaction_bytes_limit}"
                        ),
                        String::new(),
                    ),
                };
                match cause {
                    StallCause::MemtableLimit => log_line!(
                        self,
                        Warn,
                        "[{family}] {word} writes because we have {immutable_memtables} immutable memtables (waiting for flush), \
                         max_write_buffer_number is set to {max_write_buffer_number}{rate}"
                    ),
                    StallCause::L0FileCountLimit => log_line!(
                        self,
                        Warn,
                        "[{family}] {word} writes because we have {l0_files} level-0 files, {files}{rate}"
                    ),
                    StallCause::WriteBufferManagerLimit => log_line!(
                        self,
                        Warn,
                        "[{family}] {word} writes because memtables take {memtable_bytes} bytes, of which the write buffer manager allows \
                         {write_buffer_manager_limit}"
                    ),
                    StallCause::LowPriority => log_line!(
                        self,
                        Warn,
                        "[{family}] {word} writes of low priority because compactions are behind: {l0_files} level-0 files, \
                         {pending_compaction_bytes} estimated pending compaction bytes{rate}"
                    ),
                    StallCause::WalLocked => {
                        log_line!(self, Warn, "[{family}] {word} writes because the WAL is locked");
                    }
                    StallCause::PendingCompactionBytes => log_line!(
                        self,
                        Warn,
                        "[{family}] {word} writes because of estimated pending compaction bytes {pending_compaction_bytes}, {bytes}{rate}"
                    ),
                }
            }
            Event::BackgroundError {
                action,
                error,
                stops_writes: true,
            } => log_line!(
                self,
                Error,
                "Background error: {action}: {error}. No more writes are taken"
            ),
            Event::BackgroundError { action, error, .. } => {
                log_line!(self, Error, "Background error: {action}: {error}. Writes go on");
            }
            Event::ErrorRecoveryEnded {
                new_error: Some(error),
                automatic: true,
                ..
            } => log_line!(self, Error, "ErrorHandler: auto recovery has ended: {error}"),
            // Each attempt logs lines of its own.
            Event::ErrorRecoveryBegun { .. } | Event::ErrorRecoveryEnded { .. } => {}
            Event::CorruptionFound { .. } => log_line!(self, Error, "{event}"),
            Event::FileDeleted { path } => self.file_deleted(path),
            Event::RowTooLarge { .. } => log_line!(self, Error, "{event}"),
            Event::OptionLost(lost) => self.option_lost(lost),
            Event::WalDropped { .. }
            | Event::FilterValueTooLarge { .. }
            | Event::UnknownOption { .. }
            | Event::ManifestTorn { .. }
            | Event::FilesSetAside { .. } => log_line!(self, Warn, "{event}"),
        }
    }
}

impl InfoLog {
    fn compaction(&self, event: &Event) {
        match event {
            Event::CompactionBegun {
                family,
                job,
                plan,
                reason,
                inputs,
                output_level,
                score,
                bytes,
                oldest_snapshot,
            } => {
                let read: Vec<String> = inputs
                    .iter()
                    .map(|(level, files)| format!("{}@{level}", files.len()))
                    .collect();
                log_line!(
                    self,
                    Info,
                    "[{family}] [JOB {job}] Compacting {} files to L{output_level}, score {score:.2}",
                    read.join(" + ")
                );
                log_line!(self, Info, "[{family}]: Compaction start summary: {plan}");
                self.event("compaction_started", *job, |json| {
                    let json = json
                        .text("cf_name", family)
                        .text("compaction_reason", &reason.to_string());
                    let json = inputs.iter().fold(json, |json, (level, files)| {
                        json.list(&format!("files_L{level}"), files)
                    });
                    let json = json
                        .number("score", if score.is_finite() { *score } else { 0.0 })
                        .number("input_data_size", bytes)
                        .number("output_level", output_level);
                    match oldest_snapshot {
                        Some(seqno) => json.number("oldest_snapshot_seqno", seqno),
                        None => json.number("oldest_snapshot_seqno", -1),
                    }
                });
            }
            Event::Compacted {
                family,
                job,
                output_level,
                outputs,
                bytes_read,
                bytes_written,
                entries_read,
                entries_written,
                subcompactions,
                micros,
                cpu_micros,
                compression,
                level_files,
                level_summary,
                ..
            } => {
                let rate = |bytes: u64| bytes as f64 / 1_048_576.0 / (*micros as f64 / 1e6).max(1e-6);
                log_line!(
                    self,
                    Info,
                    "[{family}] compacted to: {level_summary}, MB/sec: {:.1} rd, {:.1} wr, level {output_level}, \
                     records in: {entries_read}, records dropped: {} output_compression: {}",
                    rate(*bytes_read),
                    rate(*bytes_written),
                    entries_read.saturating_sub(*entries_written),
                    compression.property_name()
                );
                self.event("compaction_finished", *job, |json| {
                    json.text("cf_name", family)
                        .number("compaction_time_micros", micros)
                        .number("compaction_time_cpu_micros", cpu_micros)
                        .number("output_level", output_level)
                        .number("num_output_files", outputs.len())
                        .number("total_output_size", bytes_written)
                        .number("num_input_records", entries_read)
                        .number("num_output_records", entries_written)
                        .number("num_subcompactions", subcompactions)
                        .text("output_compression", compression.property_name())
                        .list("lsm_state", level_files)
                });
            }
            Event::Moved {
                family,
                job,
                output_level,
                files,
                bytes,
                level_summary,
                ..
            } => {
                log_line!(
                    self,
                    Info,
                    "[{family}] Moved #{files} files to level-{output_level} {bytes} bytes OK: {level_summary}"
                );
                self.event("trivial_move", *job, |json| {
                    json.text("cf_name", family)
                        .number("destination_level", output_level)
                        .number("files", files)
                        .number("total_files_size", bytes)
                });
            }
            _ => {}
        }
    }

    fn ingested(&self, family: &str, job: u64, files: &[IngestedFile], level_files: &[usize]) {
        for file in files {
            log_line!(
                self,
                Info,
                "[AddFile] External SST file {} was ingested in L{} with path {:06}.sst (global_seqno={})",
                file.external_path,
                file.level,
                file.file,
                file.global_seqno
            );
        }
        self.event("ingest_finished", job, |json| {
            json.text("cf_name", family)
                .list("files_ingested", files.iter().map(|file| file.file))
                .list("levels", files.iter().map(|file| file.level))
                .list("lsm_state", level_files)
        });
    }

    fn option_lost(&self, lost: &LostOption) {
        match lost.loss.is_refused() {
            true => log_line!(self, Warn, "{lost}"),
            false => log_line!(self, Info, "{lost}"),
        }
        self.event("option_lost", 0, |json| {
            json.text("section", &lost.section)
                .text("option", &lost.name)
                .text("value", &lost.value)
                .text("loss", lost.loss.name())
        });
    }

    fn file_deleted(&self, path: &str) {
        let name = Path::new(path).file_name().unwrap_or_default();
        let (event, number) = match filename::parse(&name.to_string_lossy()) {
            Some(FileKind::Table(number)) => ("table_file_deletion", number),
            Some(FileKind::Blob(number)) => ("blob_file_deletion", number),
            _ => return log_line!(self, Info, "[JOB 0] Delete {path}: OK"),
        };
        self.event(event, 0, |json| {
            json.number("file_number", number).text("status", "OK")
        });
    }
}

/// The properties of a table, under RocksDB's names.
fn table_properties(properties: &TableProperties) -> Json {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let average = |bytes: u64| bytes.checked_div(properties.num_entries).unwrap_or(0);
    fn known(json: Json, name: &str, value: Option<impl Display>) -> Json {
        match value {
            Some(value) => json.number(name, value),
            None => json,
        }
    }
    let json = Json::new()
        .number("data_size", properties.data_size)
        .number("index_size", properties.index_size)
        .number("index_partitions", properties.index_partitions.unwrap_or(0))
        .number(
            "top_level_index_size",
            properties.top_level_index_size.unwrap_or(0),
        )
        .number(
            "index_key_is_user_key",
            u8::from(properties.index_key_is_user_key),
        )
        .number(
            "index_value_is_delta_encoded",
            u8::from(properties.index_value_is_delta_encoded),
        )
        .number("filter_size", properties.filter_size)
        .number("raw_key_size", properties.raw_key_size)
        .number("raw_average_key_size", average(properties.raw_key_size))
        .number("raw_value_size", properties.raw_value_size)
        .number("raw_average_value_size", average(properties.raw_value_size))
        .number("num_data_blocks", properties.num_data_blocks)
        .number("num_entries", properties.num_entries)
        .number("num_filter_entries", properties.num_filter_entries)
        .number("num_deletions", properties.num_deletions)
        .number("num_merge_operands", properties.num_merge_operands)
        .number("num_range_deletions", properties.num_range_deletions)
        .number("format_version", properties.format_version)
        .number("fixed_key_len", properties.fixed_key_len)
        .text("filter_policy", &text(&properties.filter_policy))
        .text("column_family_name", &text(&properties.column_family_name))
        .number("column_family_id", properties.column_family_id)
        .text("comparator", &properties.comparator_name())
        .number(
            "user_defined_timestamps_persisted",
            u8::from(properties.user_defined_timestamps_persisted),
        );
    let json = known(json, "key_largest_seqno", properties.key_largest_seqno);
    let json = known(json, "key_smallest_seqno", properties.key_smallest_seqno);
    let json = json
        .text("merge_operator", &text(&properties.merge_operator))
        .text("prefix_extractor_name", &text(&properties.prefix_extractor_name))
        .text("property_collectors", &text(&properties.property_collectors))
        .text("compression", &text(&properties.compression))
        .text("compression_options", &text(&properties.compression_options))
        .number("creation_time", properties.creation_time)
        .number("oldest_key_time", properties.oldest_key_time);
    let json = known(json, "newest_key_time", properties.newest_key_time);
    json.number("file_creation_time", properties.file_creation_time)
        .text("db_id", &text(&properties.db_id))
        .text("db_session_id", &text(&properties.db_session_id))
        .number("orig_file_number", properties.orig_file_number)
}

fn hex(checksum: &[u8]) -> String {
    checksum.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// RocksDB's name for a checksum function.
fn checksum_name(func_name: &str) -> &str {
    match func_name {
        "" => "Unknown",
        name => name,
    }
}
