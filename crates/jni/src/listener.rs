//! `org.rocksdb.AbstractEventListener`: a Java object that is notified of the background work of a database.
//!
//! The thread of the event calls it. An exception in it is printed, and has no other effect.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base::filename::{self, FileKind};
use base::sync::Mutex;
use esker::{Clock, SystemClock};
use esker::{
    CompactionReason, Error, Event, EventListener, FileOperation, FileOperationType, FlushReason, Options,
    TableProperties,
};
use jni_sys::{jlong, jobject, jvalue};

use crate::callback::{Classes, Global, attached};
use crate::env::Env;
use crate::fail::{Result, status_of};
use crate::frame::native;
use crate::handles;
use crate::table_properties;

mod tell;

/// The bits of the methods that a listener overrides, in RocksJava's order.
#[derive(Clone, Copy)]
enum Callback {
    FlushCompleted = 0,
    FlushBegin = 1,
    TableFileDeleted = 2,
    CompactionBegin = 3,
    CompactionCompleted = 4,
    TableFileCreated = 5,
    TableFileCreationStarted = 6,
    MemtableSealed = 7,
    FamilyHandleDeletionStarted = 8,
    ExternalFileIngested = 9,
    BackgroundError = 0xA,
    StallConditionsChanged = 0xB,
    FileReadFinish = 0xC,
    FileWriteFinish = 0xD,
    FileFlushFinish = 0xE,
    FileSyncFinish = 0xF,
    FileTruncateFinish = 0x11,
    FileCloseFinish = 0x12,
    ShouldBeNotifiedOnFileIo = 0x13,
    ErrorRecoveryBegin = 0x14,
    ErrorRecoveryCompleted = 0x15,
}

/// The class of statuses.
const STATUS: &str = "org/rocksdb/Status";

/// The classes of the objects that listeners receive. Threads of the library cannot look them up.
const CLASSES: &[&str] = &[
    "org/rocksdb/FlushJobInfo",
    "org/rocksdb/TableFileDeletionInfo",
    "org/rocksdb/CompactionJobInfo",
    "org/rocksdb/TableFileCreationInfo",
    "org/rocksdb/TableFileCreationBriefInfo",
    "org/rocksdb/MemTableInfo",
    "org/rocksdb/ColumnFamilyHandle",
    "org/rocksdb/ExternalFileIngestionInfo",
    "org/rocksdb/WriteStallInfo",
    "org/rocksdb/FileOperationInfo",
    STATUS,
    "org/rocksdb/AbstractEventListener",
    table_properties::CLASS,
];

/// `org.rocksdb.AbstractEventListener`.
pub struct JavaListener {
    /// The Java object.
    pub object: Global,
    classes: Classes,
    enabled: i64,
}

/// The listener of a handle.
pub struct ListenerObject(pub Arc<JavaListener>);

native!("AbstractEventListener_createNewEventListener" "J" fn(env, enabled: i64) -> i64 {
    Ok(handles::insert(ListenerObject(Arc::new(JavaListener {
        object: Global::strong(&env, env.this)?,
        classes: Classes::of(&env, CLASSES)?,
        enabled,
    }))))
});

impl JavaListener {
    fn wants(&self, callback: Callback) -> bool {
        self.enabled & (1 << callback as i64) != 0
    }

    /// Calls a method whose last parameter is the object that `make` creates.
    fn call(
        &self,
        callback: Callback,
        name: &str,
        signature: &str,
        make: impl FnOnce(&Env<'_>, &Classes) -> Result<Vec<jvalue>>,
    ) {
        if !self.wants(callback) {
            return;
        }
        // If Java cannot be called any more, the event is lost.
        let _ = attached(|env| {
            env.in_frame(|| {
                let arguments = make(env, &self.classes)?;
                let class = self.classes.class("org/rocksdb/AbstractEventListener");
                let method = env.method(class, name, signature)?;
                let result = env.call_void(self.object.reference(), method, &arguments);
                env.describe();
                result
            })
        });
    }

    /// Calls a method with a result. Returns `otherwise` if it throws.
    fn ask(
        &self,
        callback: Callback,
        name: &str,
        signature: &str,
        otherwise: bool,
        make: impl FnOnce(&Env<'_>, &Classes) -> Result<Vec<jvalue>>,
    ) -> bool {
        if !self.wants(callback) {
            return otherwise;
        }
        let answer = attached(|env| {
            env.in_frame(|| {
                let arguments = make(env, &self.classes)?;
                let class = self.classes.class("org/rocksdb/AbstractEventListener");
                let method = env.method(class, name, signature)?;
                let answer = env.call_bool(self.object.reference(), method, &arguments);
                env.describe();
                answer
            })
        });
        answer.unwrap_or(otherwise)
    }
}

/// The listeners of one database, the facts of earlier events that later ones need, and Java's handle of the
/// database.
pub struct Listeners {
    list: Vec<Arc<JavaListener>>,
    /// Java's handle of the database; 0 until it exists.
    db: AtomicI64,
    dir: String,
    seen: Mutex<Seen>,
}

/// The numbers of tables by level.
type Inputs = Vec<(usize, Vec<u64>)>;

/// The facts of earlier events that later ones report.
#[derive(Default)]
struct Seen {
    /// The properties of tables created since the database was opened, until their deletion.
    tables: HashMap<u64, TableProperties>,
    flushes: HashMap<u64, FlushReason>,
    /// The inputs by level and the reason of each running compaction.
    compactions: HashMap<u64, (Inputs, CompactionReason)>,
}

/// Adds listeners of Java to the engine's options of a database in `dir`. Returns `None` if there are none.
pub fn join(list: Vec<Arc<JavaListener>>, options: &mut Options, dir: &Path) -> Option<Arc<Listeners>> {
    if list.is_empty() {
        return None;
    }
    let listeners = Arc::new(Listeners {
        list,
        db: AtomicI64::new(0),
        dir: dir.display().to_string(),
        seen: Mutex::default(),
    });
    options
        .listeners
        .push(Arc::clone(&listeners) as Arc<dyn EventListener>);
    Some(listeners)
}

impl Listeners {
    /// Sets Java's handle of the database.
    pub fn attach(&self, db: jlong) {
        self.db.store(db, Ordering::Release);
    }

    fn db(&self) -> jvalue {
        jvalue {
            j: self.db.load(Ordering::Acquire),
        }
    }

    fn table_path(&self, number: u64) -> String {
        filename::table(Path::new(&self.dir), number)
            .display()
            .to_string()
    }
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
            } => self.tell_sealed(family, [*first_seqno, *first_seqno, *entries, *deletes]),
            Event::FlushBegun {
                family, job, reason, ..
            } => {
                self.seen.lock().flushes.insert(*job, *reason);
                self.tell_flush(Callback::FlushBegin, family, *job, None, *reason);
            }
            Event::Flushed {
                family, job, file, ..
            } => {
                let reason = self.seen.lock().flushes.get(job).copied();
                let reason = reason.unwrap_or(FlushReason::WriteBufferFull);
                self.tell_flush(Callback::FlushCompleted, family, *job, Some(*file), reason);
            }
            Event::JobEnded { job, .. } => {
                let mut seen = self.seen.lock();
                seen.flushes.remove(job);
                seen.compactions.remove(job);
            }
            Event::CompactionBegun {
                family,
                job,
                inputs,
                reason,
                output_level,
                ..
            } => {
                let known = (inputs.clone(), *reason);
                self.seen.lock().compactions.insert(*job, known);
                let info = self.compaction(family, *job, *output_level, &[]);
                self.tell_compaction(Callback::CompactionBegin, "onCompactionBeginProxy", &info);
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
                micros,
                compression,
                ..
            } => {
                let mut info = self.compaction(family, *job, *output_level, outputs);
                info.compression = *compression as u8 as i8;
                info.stats.elapsed_micros = *micros;
                info.stats.num_input_records = *entries_read;
                info.stats.num_output_records = *entries_written;
                info.stats.total_input_bytes = *bytes_read;
                info.stats.total_output_bytes = *bytes_written;
                self.tell_compaction(Callback::CompactionCompleted, "onCompactionCompletedProxy", &info);
            }
            Event::Moved {
                family,
                job,
                output_level,
                inputs,
                ..
            } => {
                // The files are the same, in another level.
                let moved: Vec<u64> = inputs.iter().flat_map(|(_, files)| files).copied().collect();
                let known = (inputs.clone(), CompactionReason::ManualCompaction);
                self.seen.lock().compactions.entry(*job).or_insert(known);
                let info = self.compaction(family, *job, *output_level, &moved);
                self.tell_compaction(Callback::CompactionBegin, "onCompactionBeginProxy", &info);
                self.tell_compaction(Callback::CompactionCompleted, "onCompactionCompletedProxy", &info);
            }
            Event::Ingested { family, files, .. } => self.tell_ingested(family, files),
            Event::TableCreationStarted {
                family,
                job,
                path,
                reason,
                ..
            } => self.tell_table(family, *job, path, *reason as i8, None),
            Event::TableCreationFailed {
                family,
                job,
                path,
                reason,
                error,
                ..
            } => {
                let made = (0, &TableProperties::default(), Some(error));
                self.tell_table(family, *job, path, *reason as i8, Some(made));
            }
            Event::TableCreated {
                family,
                job,
                file,
                bytes,
                properties,
                ..
            } => {
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
                self.tell_table(family, *job, &path, reason, Some((*bytes, properties, None)));
            }
            Event::FileDeleted { path } => {
                let name = path.rsplit('/').next().unwrap_or(path);
                if let Some(FileKind::Table(number)) = filename::parse(name) {
                    self.seen.lock().tables.remove(&number);
                    self.tell_deleted(path);
                }
            }
            Event::Stall {
                family,
                previous,
                condition,
                ..
            } => self.tell_stall(family, *previous, *condition),
            Event::BackgroundError { action, error, .. } => self.tell_error(action, error),
            Event::ErrorRecoveryEnded { background_error, .. } => {
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

/// RocksJava's numbers of the reason for the creation of a table.
const FLUSH: i8 = 0;
const COMPACTION: i8 = 1;
const RECOVERY: i8 = 2;
