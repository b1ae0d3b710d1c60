//! The events of a database, each passed to the methods of its listeners.

use std::path::Path;
use std::sync::Arc;

use base::filename::{self, FileKind};
use esker::{Clock, SystemClock};
use esker::{
    CompactionReason, Error, Event, EventListener, FileOperation, FileOperationType, FlushReason, Options,
    TableProperties,
};
use jni_sys::{jobject, jvalue};

use super::java::{Callback, JavaListener, Listeners, STATUS};
use crate::status::status_of;

/// RocksJava's numbers of the reason for the creation of a table.
const FLUSH: i8 = 0;
const COMPACTION: i8 = 1;
const RECOVERY: i8 = 2;

/// Adds listeners of Java to the engine's options of a database in `dir`. Returns `None` if there are none.
pub fn join(list: Vec<Arc<JavaListener>>, options: &mut Options, dir: &Path) -> Option<Arc<Listeners>> {
    if list.is_empty() {
        return None;
    }
    let listeners = Arc::new(Listeners::new(list, dir));
    options
        .listeners
        .push(Arc::clone(&listeners) as Arc<dyn EventListener>);
    Some(listeners)
}

impl EventListener for Listeners {
    fn on_event(&self, event: &Event) {
        match event {
            Event::MemtableSealed {
                family,
                first_seqno,
                entries,
                deletes,
                ..
            } => self.notify_sealed(family, [*first_seqno, *first_seqno, *entries, *deletes]),
            Event::FlushBegun {
                family, job, reason, ..
            } => {
                self.seen.lock().flushes.insert(*job, *reason);
                self.notify_flush(Callback::FlushBegin, family, *job, None, *reason);
            }
            Event::Flushed {
                family, job, file, ..
            } => {
                let reason = self.seen.lock().flushes.get(job).copied();
                let reason = reason.unwrap_or(FlushReason::WriteBufferFull);
                self.notify_flush(Callback::FlushCompleted, family, *job, Some(*file), reason);
            }
            Event::JobEnded { job, .. } => {
                let mut seen = self.seen.lock();
                seen.flushes.remove(job);
                seen.compactions.remove(job);
            }
            Event::CompactionBegun { .. } => self.notify_compaction_begun(event),
            Event::Compacted { .. } => self.notify_compacted(event),
            Event::Moved { .. } => self.notify_moved(event),
            Event::Ingested { family, files, .. } => self.notify_ingested(family, files),
            Event::TableCreationStarted {
                family,
                job,
                path,
                reason,
                ..
            } => self.notify_table(family, *job, path, *reason as i8, None),
            Event::TableCreationFailed {
                family,
                job,
                path,
                reason,
                error,
                ..
            } => {
                let made = (0, &TableProperties::default(), Some(error));
                self.notify_table(family, *job, path, *reason as i8, Some(made));
            }
            Event::TableCreated { .. } => self.notify_table_created(event),
            Event::FileDeleted { path } => {
                let name = path.rsplit('/').next().unwrap_or(path);
                if let Some(FileKind::Table(number)) = filename::parse(name) {
                    self.seen.lock().tables.remove(&number);
                    self.notify_deleted(path);
                }
            }
            Event::Stall {
                family,
                previous,
                condition,
                ..
            } => self.notify_stall(family, *previous, *condition),
            Event::BackgroundError { action, error, .. } => self.notify_error(action, error),
            Event::ErrorRecoveryEnded { background_error, .. } => {
                self.notify_recovery_completed(background_error);
            }
            _ => {}
        }
    }

    fn on_error_recovery_begin(&self, background_error: &Error) -> bool {
        self.list.iter().fold(true, |all, listener| {
            all & listener.ask(
                Callback::ErrorRecoveryBegin,
                "onErrorRecoveryBeginProxy",
                "(BLorg/rocksdb/Status;)Z",
                true,
                |env, classes| {
                    let error = status_of(env, classes.class(STATUS), Some(background_error))?;
                    Ok(vec![jvalue { b: 0 }, jvalue { l: error }])
                },
            )
        })
    }

    fn should_be_notified_on_file_io(&self) -> bool {
        self.list.iter().any(|listener| {
            let wanted = Callback::ShouldBeNotifiedOnFileIo;
            listener.ask(wanted, "shouldBeNotifiedOnFileIO", "()Z", false, |_, _| {
                Ok(Vec::new())
            })
        })
    }

    fn on_file_operation(&self, operation: &FileOperation<'_>) {
        let (callback, name) = match operation.op {
            FileOperationType::Read => (Callback::FileReadFinish, "onFileReadFinish"),
            FileOperationType::Append => (Callback::FileWriteFinish, "onFileWriteFinish"),
            FileOperationType::Flush => (Callback::FileFlushFinish, "onFileFlushFinish"),
            FileOperationType::Sync | FileOperationType::SyncAll => {
                (Callback::FileSyncFinish, "onFileSyncFinish")
            }
            FileOperationType::Truncate => (Callback::FileTruncateFinish, "onFileTruncateFinish"),
            FileOperationType::Close => (Callback::FileCloseFinish, "onFileCloseFinish"),
            _ => return,
        };
        let took = operation.took.as_nanos() as i64;
        let ended = SystemClock::new().unix_micros() as i64 * 1000;
        for listener in &self.list {
            listener.call(
                callback,
                name,
                "(Lorg/rocksdb/FileOperationInfo;)V",
                |env, classes| {
                    let arguments = [
                        jvalue {
                            l: env.new_string(&operation.path.display().to_string())?.0,
                        },
                        jvalue {
                            j: operation.offset as i64,
                        },
                        jvalue {
                            j: operation.length as i64,
                        },
                        jvalue { j: ended - took },
                        jvalue { j: took },
                        jvalue {
                            l: status_of(env, classes.class(STATUS), operation.error)?,
                        },
                    ];
                    let signature = "(Ljava/lang/String;JJJJLorg/rocksdb/Status;)V";
                    let info: jobject =
                        classes.object(env, "org/rocksdb/FileOperationInfo", signature, &arguments)?;
                    Ok(vec![jvalue { l: info }])
                },
            );
        }
    }
}

/// The notifications that take several steps.
impl Listeners {
    fn notify_compaction_begun(&self, event: &Event) {
        let Event::CompactionBegun {
            family,
            job,
            inputs,
            reason,
            output_level,
            ..
        } = event
        else {
            return;
        };
        let known = (inputs.clone(), *reason);
        self.seen.lock().compactions.insert(*job, known);
        let info = self.compaction(family, *job, *output_level, &[]);
        self.notify_compaction(Callback::CompactionBegin, "onCompactionBeginProxy", &info);
    }

    fn notify_compacted(&self, event: &Event) {
        let Event::Compacted {
            family,
            job,
            output_level,
            outputs,
            bytes_read,
            bytes_written,
            entries_read,
            entries_written,
            micros,
            compression,
            ..
        } = event
        else {
            return;
        };
        let mut info = self.compaction(family, *job, *output_level, outputs);
        info.compression = *compression as u8 as i8;
        info.stats.elapsed_micros = *micros;
        info.stats.num_input_records = *entries_read;
        info.stats.num_output_records = *entries_written;
        info.stats.total_input_bytes = *bytes_read;
        info.stats.total_output_bytes = *bytes_written;
        self.notify_compaction(Callback::CompactionCompleted, "onCompactionCompletedProxy", &info);
    }

    /// Notifies of the begin and the end of a compaction that only moved files: its outputs are its inputs,
    /// in another level.
    fn notify_moved(&self, event: &Event) {
        let Event::Moved {
            family,
            job,
            output_level,
            inputs,
            ..
        } = event
        else {
            return;
        };
        let moved: Vec<u64> = inputs.iter().flat_map(|(_, files)| files).copied().collect();
        let known = (inputs.clone(), CompactionReason::ManualCompaction);
        self.seen.lock().compactions.entry(*job).or_insert(known);
        let info = self.compaction(family, *job, *output_level, &moved);
        self.notify_compaction(Callback::CompactionBegin, "onCompactionBeginProxy", &info);
        self.notify_compaction(Callback::CompactionCompleted, "onCompactionCompletedProxy", &info);
    }

    fn notify_table_created(&self, event: &Event) {
        let Event::TableCreated {
            family,
            job,
            file,
            bytes,
            properties,
            ..
        } = event
        else {
            return;
        };
        let reason = {
            let mut seen = self.seen.lock();
            seen.tables.insert(*file, (**properties).clone());
            match (seen.flushes.contains_key(job), seen.compactions.contains_key(job)) {
                (true, _) => FLUSH,
                (_, true) => COMPACTION,
                _ => RECOVERY,
            }
        };
        let path = self.table_path(*file);
        self.notify_table(family, *job, &path, reason, Some((*bytes, properties, None)));
    }

    fn notify_recovery_completed(&self, background_error: &Error) {
        for listener in &self.list {
            listener.call(
                Callback::ErrorRecoveryCompleted,
                "onErrorRecoveryCompleted",
                "(Lorg/rocksdb/Status;)V",
                |env, classes| {
                    Ok(vec![jvalue {
                        l: status_of(env, classes.class(STATUS), Some(background_error))?,
                    }])
                },
            );
        }
    }
}
