//! Calls of a listener's methods, each with the object that the method takes.

use std::collections::BTreeMap;

use esker::{CompactionReason, Error, FlushReason, IngestedFile, StallCondition, TableProperties};
use jni_sys::{jlong, jvalue};

use super::java::{Callback, Listeners, STATUS};
use crate::compaction_job_info::{self, JobInfo, reason_number};
use crate::compaction_job_stats::JobStats;
use crate::env::Env;
use crate::handles;
use crate::status::status_of;
use crate::table_properties;

impl Listeners {
    /// Notifies the listeners that a handle of a family is closed.
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

    pub(super) fn notify_flush(
        &self,
        callback: Callback,
        family: &str,
        job: u64,
        file: Option<u64>,
        reason: FlushReason,
    ) {
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
                        // Threads of the engine have no IDs, and a flush alone delays no writes.
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

    pub(super) fn compaction(&self, family: &str, job: u64, output_level: usize, outputs: &[u64]) -> JobInfo {
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

    pub(super) fn notify_compaction(&self, callback: Callback, name: &str, info: &JobInfo) {
        for listener in &self.list {
            listener.call(
                callback,
                name,
                "(JLorg/rocksdb/CompactionJobInfo;)V",
                |env, classes| {
                    // The Java object owns the handle, and closes it when it is collected.
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

    pub(super) fn notify_ingested(&self, family: &str, files: &[IngestedFile]) {
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

    /// Notifies the listeners that the creation of a table begins, succeeds or fails.
    pub(super) fn notify_table(
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
                        l: env.new_string(&self.dir)?.0,
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
                                l: status_of(env, classes.class(STATUS), error)?,
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

    pub(super) fn notify_deleted(&self, path: &str) {
        for listener in &self.list {
            listener.call(
                Callback::TableFileDeleted,
                "onTableFileDeleted",
                "(Lorg/rocksdb/TableFileDeletionInfo;)V",
                |env, classes| {
                    let arguments = [
                        jvalue {
                            l: env.new_string(&self.dir)?.0,
                        },
                        jvalue {
                            l: env.new_string(path)?.0,
                        },
                        // The engine deletes files outside of jobs.
                        jvalue { i: 0 },
                        jvalue {
                            l: status_of(env, classes.class(STATUS), None)?,
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

    pub(super) fn notify_sealed(&self, family: &str, numbers: [u64; 4]) {
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

    pub(super) fn notify_stall(&self, family: &str, previous: StallCondition, condition: StallCondition) {
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

    pub(super) fn notify_error(&self, action: &str, error: &Error) {
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
                            l: status_of(env, classes.class(STATUS), Some(error))?,
                        },
                    ])
                },
            );
        }
    }
}

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

/// Returns the number of the failed job: a flush, a compaction, or otherwise a write.
fn error_reason_number(action: &str) -> i8 {
    match action {
        "flush" => 0,
        "compaction" => 1,
        _ => 2,
    }
}
