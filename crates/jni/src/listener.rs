//! `org.rocksdb.AbstractEventListener`: an object of Java's that hears of the background work of a database.
//!
//! It is called by the thread on which the event occurs; an exception in it is printed, and changes nothing.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base::filename::{self, FileKind};
use base::sync::Mutex;
use esker::{Clock, SystemClock};
use esker::{
    CompactionReason, Error, Event, EventListener, FileOperation, FileOperationType, FlushReason,
    IngestedFile, Options, StallCondition, TableProperties,
};
use jni_sys::{jlong, jobject, jvalue};

use crate::callback::{Classes, Global, attached};
use crate::compaction_job_info::{self, JobInfo, reason_number};
use crate::compaction_job_stats::JobStats;
use crate::env::{Env, JLongArray, JObjects};
use crate::fail::{Result, status_of};
use crate::frame::{native, natives};
use crate::handles;
use crate::settings::Settings;
use crate::table_properties;

/// Bits of the methods that a listener's object has bodies of its own for, in RocksJava's order.
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

/// Classes whose objects listeners are given. Threads of ours cannot look them up.
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
    "org/rocksdb/Status",
    "org/rocksdb/AbstractEventListener",
    table_properties::CLASS,
];

/// `org.rocksdb.AbstractEventListener`.
pub struct JavaListener {
    object: Global,
    classes: Classes,
    enabled: i64,
}

/// A listener of a handle's.
struct ListenerObject(Arc<JavaListener>);

native!("AbstractEventListener_createNewEventListener" "J" fn(env, enabled: i64) -> i64 {
    Ok(handles::insert(ListenerObject(Arc::new(JavaListener {
        object: Global::strong(&env, env.this)?,
        classes: Classes::of(&env, CLASSES)?,
        enabled,
    }))))
});

natives!("Options_setEventListeners" "DBOptions_setEventListeners"; { "J_3J" fn(
    env, options: i64, listeners: JLongArray
) {
    let given = env
        .longs(listeners)?
        .into_iter()
        .map(|listener| Ok(Arc::clone(&handles::get::<ListenerObject>(listener)?.0)))
        .collect::<Result<Vec<_>>>()?;
    handles::get::<Settings>(options)?.change(|inner| inner.parts.listeners = given);
    Ok(())
}});

natives!("Options_eventListeners" "DBOptions_eventListeners"; { "J" fn(env, options: i64) -> JObjects {
    let listeners = handles::get::<Settings>(options)?.look(|inner| inner.parts.listeners.clone());
    let array = env.object_array("org/rocksdb/AbstractEventListener", listeners.len())?;
    for (at, listener) in listeners.iter().enumerate() {
        env.set_element(array, at, listener.object.reference())?;
    }
    Ok(JObjects(array))
}});

impl JavaListener {
    fn wants(&self, callback: Callback) -> bool {
        self.enabled & (1 << callback as i64) != 0
    }

    /// Calls a method whose last parameter is an object that `make` makes.
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
        // Where Java cannot be called any more, it cannot be told either.
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

    /// Calls a method that answers; `otherwise` where it throws.
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

/// The listeners of one database: what each event needs of earlier ones, and the handle that Java has of the database.
pub struct Listeners {
    list: Vec<Arc<JavaListener>>,
    /// 0 until Java has it.
    db: AtomicI64,
    dir: Mutex<String>,
    seen: Mutex<Seen>,
}

/// Numbers of tables by level.
type Inputs = Vec<(usize, Vec<u64>)>;

/// Facts of earlier events that later ones report.
#[derive(Default)]
struct Seen {
    /// The properties of tables made since the database was opened, until they are deleted.
    tables: HashMap<u64, TableProperties>,
    flushes: HashMap<u64, FlushReason>,
    /// Inputs by level, and the reason, of compactions under way.
    compactions: HashMap<u64, (Inputs, CompactionReason)>,
}

/// Adds the listeners of Java's options to the engine's. None if there are none.
pub fn join(handle: jlong, options: &mut Options, dir: &Path) -> Result<Option<Arc<Listeners>>> {
    let list = handles::get::<Settings>(handle)?.look(|inner| inner.parts.listeners.clone());
    if list.is_empty() {
        return Ok(None);
    }
    let listeners = Arc::new(Listeners {
        list,
        db: AtomicI64::new(0),
        dir: Mutex::new(dir.display().to_string()),
        seen: Mutex::default(),
    });
    options
        .listeners
        .push(Arc::clone(&listeners) as Arc<dyn EventListener>);
    Ok(Some(listeners))
}

impl Listeners {
    /// Tells it the database's handle.
    pub fn attach(&self, db: jlong) {
        self.db.store(db, Ordering::Release);
    }

    fn db(&self) -> jvalue {
        jvalue {
            j: self.db.load(Ordering::Acquire),
        }
    }

    fn dir(&self) -> String {
        self.dir.lock().clone()
    }

    fn table_path(&self, number: u64) -> String {
        filename::table(Path::new(&self.dir()), number)
            .display()
            .to_string()
    }

    /// A handle of a family is closed.
    pub fn family_handle_closes(&self, family: jlong) {
        for listener in &self.list {
            let name = "onColumnFamilyHandleDeletionStarted";
            listener.call(
                Callback::FamilyHandleDeletionStarted,
                name,
                "(Lorg/rocksdb/ColumnFamilyHandle;)V",
                |env, classes| {
                    let handle = classes.object(
                        env,
                        "org/rocksdb/ColumnFamilyHandle",
                        "(J)V",
                        &[jvalue { j: family }],
                    )?;
                    Ok(vec![jvalue { l: handle }])
                },
            );
        }
    }

    fn tell_flush(&self, callback: Callback, family: &str, job: u64, file: Option<u64>, reason: FlushReason) {
        let properties = file.map(|file| {
            let seen = self.seen.lock();
            seen.tables.get(&file).cloned().unwrap_or_default()
        });
        let name = match file {
            None => "onFlushBeginProxy",
            Some(_) => "onFlushCompletedProxy",
        };
        for listener in &self.list {
            listener.call(
                callback,
                name,
                "(JLorg/rocksdb/FlushJobInfo;)V",
                |env, classes| {
                    let path = file.map_or_else(String::new, |file| self.table_path(file));
                    let properties = properties.clone().unwrap_or_default();
                    let class = classes.class(table_properties::CLASS);
                    let arguments = [
                        jvalue {
                            j: properties.column_family_id as i64,
                        },
                        jvalue {
                            l: env.new_string(family)?.0,
                        },
                        jvalue {
                            l: env.new_string(&path)?.0,
                        },
                        // Threads of the engine have no numbers, and a flush slows no writes by itself.
                        jvalue { j: 0 },
                        jvalue { i: job as i32 },
                        jvalue { z: false },
                        jvalue { z: false },
                        jvalue {
                            j: properties.key_smallest_seqno.unwrap_or(0) as i64,
                        },
                        jvalue {
                            j: properties.key_largest_seqno.unwrap_or(0) as i64,
                        },
                        jvalue {
                            l: table_properties::object(env, class, &properties)?,
                        },
                        jvalue {
                            b: flush_reason_number(reason),
                        },
                    ];
                    let signature =
                        "(JLjava/lang/String;Ljava/lang/String;JIZZJJLorg/rocksdb/TableProperties;B)V";
                    let info = classes.object(env, "org/rocksdb/FlushJobInfo", signature, &arguments)?;
                    Ok(vec![self.db(), jvalue { l: info }])
                },
            );
        }
    }

    fn compaction(&self, family: &str, job: u64, output_level: usize, outputs: &[u64]) -> JobInfo {
        let seen = self.seen.lock();
        let (inputs, reason) = seen
            .compactions
            .get(&job)
            .cloned()
            .unwrap_or((Vec::new(), CompactionReason::ManualCompaction));
        let numbers: Vec<u64> = inputs.iter().flat_map(|(_, files)| files).copied().collect();
        let at_output_level = inputs
            .iter()
            .filter(|(level, _)| *level == output_level)
            .map(|(_, files)| files.len())
            .sum::<usize>();
        let properties: BTreeMap<String, TableProperties> = numbers
            .iter()
            .chain(outputs)
            .filter_map(|number| Some((self.table_path(*number), seen.tables.get(number)?.clone())))
            .collect();
        JobInfo {
            family: family.to_owned(),
            job,
            base_level: inputs.first().map_or(0, |(level, _)| *level) as i32,
            output_level: output_level as i32,
            reason: reason_number(reason),
            stats: JobStats {
                num_input_files: numbers.len() as u64,
                num_input_files_at_output_level: at_output_level as u64,
                num_output_files: outputs.len() as u64,
                is_manual_compaction: reason == CompactionReason::ManualCompaction,
                ..JobStats::default()
            },
            properties,
            inputs: numbers.iter().map(|number| self.table_path(*number)).collect(),
            outputs: outputs.iter().map(|number| self.table_path(*number)).collect(),
            ..JobInfo::default()
        }
    }

    fn tell_compaction(&self, callback: Callback, name: &str, info: &JobInfo) {
        for listener in &self.list {
            listener.call(
                callback,
                name,
                "(JLorg/rocksdb/CompactionJobInfo;)V",
                |env, classes| {
                    // The object owns the handle, which the collector gives back with it.
                    let handle = compaction_job_info::insert(info.clone());
                    let object = classes.object(
                        env,
                        "org/rocksdb/CompactionJobInfo",
                        "(J)V",
                        &[jvalue { j: handle }],
                    );
                    if object.is_err() {
                        handles::close(handle);
                    }
                    Ok(vec![self.db(), jvalue { l: object? }])
                },
            );
        }
    }

    fn tell_ingested(&self, family: &str, files: &[IngestedFile]) {
        for (listener, file) in self
            .list
            .iter()
            .flat_map(|l| files.iter().map(move |file| (l, file)))
        {
            let signature = "(JLorg/rocksdb/ExternalFileIngestionInfo;)V";
            listener.call(
                Callback::ExternalFileIngested,
                "onExternalFileIngestedProxy",
                signature,
                |env, classes| {
                    let class = classes.class(table_properties::CLASS);
                    let properties = TableProperties {
                        num_entries: file.entries,
                        ..TableProperties::default()
                    };
                    let arguments = [
                        jvalue {
                            l: env.new_string(family)?.0,
                        },
                        jvalue {
                            l: env.new_string(&file.external_path)?.0,
                        },
                        jvalue {
                            l: env.new_string(&self.table_path(file.file))?.0,
                        },
                        jvalue {
                            j: file.global_seqno as i64,
                        },
                        jvalue {
                            l: table_properties::object(env, class, &properties)?,
                        },
                    ];
                    let signature =
                        "(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;JLorg/rocksdb/TableProperties;)V";
                    let info =
                        classes.object(env, "org/rocksdb/ExternalFileIngestionInfo", signature, &arguments)?;
                    Ok(vec![self.db(), jvalue { l: info }])
                },
            );
        }
    }

    /// A table is begun, or was made or given up.
    fn tell_table(
        &self,
        family: &str,
        job: u64,
        path: &str,
        reason: i8,
        made: Option<(u64, &TableProperties, Option<&Error>)>,
    ) {
        for listener in &self.list {
            let place = |env: &Env<'_>| {
                Ok::<_, crate::fail::Fail>([
                    jvalue {
                        l: env.new_string(&self.dir())?.0,
                    },
                    jvalue {
                        l: env.new_string(family)?.0,
                    },
                    jvalue {
                        l: env.new_string(path)?.0,
                    },
                    jvalue { i: job as i32 },
                    jvalue { b: reason },
                ])
            };
            match made {
                None => listener.call(
                    Callback::TableFileCreationStarted,
                    "onTableFileCreationStarted",
                    "(Lorg/rocksdb/TableFileCreationBriefInfo;)V",
                    |env, classes| {
                        let signature = "(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;IB)V";
                        let name = "org/rocksdb/TableFileCreationBriefInfo";
                        let info = classes.object(env, name, signature, &place(env)?)?;
                        Ok(vec![jvalue { l: info }])
                    },
                ),
                Some((bytes, properties, error)) => listener.call(
                    Callback::TableFileCreated,
                    "onTableFileCreated",
                    "(Lorg/rocksdb/TableFileCreationInfo;)V",
                    |env, classes| {
                        let class = classes.class(table_properties::CLASS);
                        let mut arguments = vec![
                            jvalue { j: bytes as i64 },
                            jvalue {
                                l: table_properties::object(env, class, properties)?,
                            },
                            jvalue {
                                l: status_of(env, classes, error)?,
                            },
                        ];
                        arguments.extend(place(env)?);
                        let signature = "(JLorg/rocksdb/TableProperties;Lorg/rocksdb/Status;Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;IB)V";
                        let name = "org/rocksdb/TableFileCreationInfo";
                        let info = classes.object(env, name, signature, &arguments)?;
                        Ok(vec![jvalue { l: info }])
                    },
                ),
            }
        }
    }

    fn tell_deleted(&self, path: &str) {
        for listener in &self.list {
            listener.call(
                Callback::TableFileDeleted,
                "onTableFileDeleted",
                "(Lorg/rocksdb/TableFileDeletionInfo;)V",
                |env, classes| {
                    let arguments = [
                        jvalue {
                            l: env.new_string(&self.dir())?.0,
                        },
                        jvalue {
                            l: env.new_string(path)?.0,
                        },
                        // The engine deletes files outside of jobs.
                        jvalue { i: 0 },
                        jvalue {
                            l: status_of(env, classes, None)?,
                        },
                    ];
                    let signature = "(Ljava/lang/String;Ljava/lang/String;ILorg/rocksdb/Status;)V";
                    let info =
                        classes.object(env, "org/rocksdb/TableFileDeletionInfo", signature, &arguments)?;
                    Ok(vec![jvalue { l: info }])
                },
            );
        }
    }

    fn tell_sealed(&self, family: &str, numbers: [u64; 4]) {
        for listener in &self.list {
            listener.call(
                Callback::MemtableSealed,
                "onMemTableSealed",
                "(Lorg/rocksdb/MemTableInfo;)V",
                |env, classes| {
                    let mut arguments = vec![jvalue {
                        l: env.new_string(family)?.0,
                    }];
                    arguments.extend(numbers.map(|number| jvalue { j: number as i64 }));
                    let info = classes.object(
                        env,
                        "org/rocksdb/MemTableInfo",
                        "(Ljava/lang/String;JJJJ)V",
                        &arguments,
                    )?;
                    Ok(vec![jvalue { l: info }])
                },
            );
        }
    }

    fn tell_stall(&self, family: &str, previous: StallCondition, condition: StallCondition) {
        for listener in &self.list {
            listener.call(
                Callback::StallConditionsChanged,
                "onStallConditionsChanged",
                "(Lorg/rocksdb/WriteStallInfo;)V",
                |env, classes| {
                    let arguments = [
                        jvalue {
                            l: env.new_string(family)?.0,
                        },
                        jvalue {
                            b: stall_number(condition),
                        },
                        jvalue {
                            b: stall_number(previous),
                        },
                    ];
                    let info = classes.object(
                        env,
                        "org/rocksdb/WriteStallInfo",
                        "(Ljava/lang/String;BB)V",
                        &arguments,
                    )?;
                    Ok(vec![jvalue { l: info }])
                },
            );
        }
    }

    fn tell_error(&self, action: &str, error: &Error) {
        for listener in &self.list {
            listener.call(
                Callback::BackgroundError,
                "onBackgroundErrorProxy",
                "(BLorg/rocksdb/Status;)V",
                |env, classes| {
                    Ok(vec![
                        jvalue {
                            b: error_reason_number(action),
                        },
                        jvalue {
                            l: status_of(env, classes, Some(error))?,
                        },
                    ])
                },
            );
        }
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
                                l: status_of(env, classes, Some(background_error))?,
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
                    let error = status_of(env, classes, Some(background_error))?;
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
                            l: status_of(env, classes, operation.error)?,
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

/// RocksJava's numbers of the reason why a table was made.
const FLUSH: i8 = 0;
const COMPACTION: i8 = 1;
const RECOVERY: i8 = 2;

fn flush_reason_number(reason: FlushReason) -> i8 {
    match reason {
        FlushReason::WriteBufferManager => 0x05,
        FlushReason::WriteBufferFull => 0x06,
        FlushReason::ManualFlush => 0x0A,
        FlushReason::ErrorRecovery => 0x0B,
        FlushReason::WalFull => 0x0D,
    }
}

fn stall_number(condition: StallCondition) -> i8 {
    match condition {
        StallCondition::Delayed { .. } => 0,
        StallCondition::Stopped { .. } => 1,
        StallCondition::Normal => 2,
    }
}

/// The number of the job that failed: a flush, a compaction, or else a write.
fn error_reason_number(action: &str) -> i8 {
    match action {
        "flush" => 0,
        "compaction" => 1,
        _ => 2,
    }
}
