//! `org.rocksdb.AbstractTableFilter` and `AbstractWalFilter`: Java objects that choose which tables and WAL
//! records are read.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker::{Error, TableFilter, WalFilter, WalProcessingOption, WriteBatch};
use jni_sys::{jlong, jvalue};

use crate::batch::{BatchObject, BatchOf};
use crate::callback::{Classes, Global, Method, attached};
use crate::env::{Env, JString};
use crate::fail::Result;
use crate::frame::native;
use crate::handles;
use crate::table_properties;

struct JavaTableFilter {
    object: Global,
    classes: Classes,
    filter: Method,
}

struct TableFilterObject(Arc<JavaTableFilter>);

native!("AbstractTableFilter_createNewTableFilter" "" fn(env) -> i64 {
    let class = env.class_of(env.this)?;
    Ok(handles::insert(TableFilterObject(Arc::new(JavaTableFilter {
        object: Global::strong(&env, env.this)?,
        classes: Classes::of(&env, &[table_properties::CLASS])?,
        filter: Method(env.method(class, "filter", "(Lorg/rocksdb/TableProperties;)Z")?),
    }))))
});

/// Returns the engine's table filter of a handle.
pub fn table_filter(handle: jlong) -> Result<TableFilter> {
    let filter = Arc::clone(&handles::get::<TableFilterObject>(handle)?.0);
    Ok(TableFilter::new(move |properties| {
        let wanted = attached(|env| {
            env.in_frame(|| {
                let class = filter.classes.class(table_properties::CLASS);
                let properties = table_properties::object(env, class, properties)?;
                let arguments = [jvalue { l: properties }];
                let wanted = env.call_bool(filter.object.reference(), filter.filter.0, &arguments);
                env.describe();
                wanted
            })
        });
        // If the Java filter throws an exception, the table is read.
        wanted.unwrap_or(true)
    }))
}

/// A filter of the records that recovery reads.
struct JavaWalFilter {
    name: String,
    object: Global,
    families: Method,
    found: Method,
}

struct WalFilterObject(Arc<JavaWalFilter>);

native!("AbstractWalFilter_createNewWalFilter" "" fn(env) -> i64 {
    let class = env.class_of(env.this)?;
    let name = env.method(class, "name", "()Ljava/lang/String;")?;
    let base = env.class("org/rocksdb/AbstractWalFilter")?;
    Ok(handles::insert(WalFilterObject(Arc::new(JavaWalFilter {
        name: env.string(JString(env.call_object(env.this, name, &[])?))?,
        families: Method(env.method(class, "columnFamilyLogNumberMap", "(Ljava/util/Map;Ljava/util/Map;)V")?),
        found: Method(env.method(base, "logRecordFoundProxy", "(JLjava/lang/String;JJ)S")?),
        object: Global::strong(&env, env.this)?,
    }))))
});

/// Returns the engine's WAL filter of a handle.
pub fn wal_filter(handle: jlong) -> Result<Arc<dyn WalFilter>> {
    Ok(Arc::clone(&handles::get::<WalFilterObject>(handle)?.0) as Arc<dyn WalFilter>)
}

impl JavaWalFilter {
    fn notify_families(
        &self,
        env: &Env<'_>,
        log_numbers: &BTreeMap<u32, u64>,
        ids: &BTreeMap<String, u32>,
    ) -> Result<()> {
        let integer = |number: u32| env.object("java/lang/Integer", "(I)V", &[jvalue { i: number as i32 }]);
        let numbers = env.object("java/util/HashMap", "()V", &[])?;
        for (id, number) in log_numbers {
            let number = env.object("java/lang/Long", "(J)V", &[jvalue { j: *number as i64 }])?;
            env.map_put(numbers, integer(*id)?, number)?;
        }
        let names = env.object("java/util/HashMap", "()V", &[])?;
        for (name, id) in ids {
            env.map_put(names, env.new_string(name)?.0, integer(*id)?)?;
        }
        let arguments = [jvalue { l: numbers }, jvalue { l: names }];
        env.call_void(self.object.reference(), self.families.0, &arguments)
    }

    /// Asks the filter about a batch. `new` is a batch that the filter may fill as the replacement.
    fn ask(&self, log_number: u64, file: &str, batch: i64, new: i64) -> Result<i16> {
        attached(|env| {
            env.in_frame(|| {
                let arguments = [
                    jvalue { j: log_number as i64 },
                    jvalue {
                        l: env.new_string(file)?.0,
                    },
                    jvalue { j: batch },
                    jvalue { j: new },
                ];
                let answer = env.call_short(self.object.reference(), self.found.0, &arguments);
                env.describe();
                answer
            })
        })
    }

    fn threw(&self) -> Error {
        Error::not_supported(format!("the WAL filter {} threw an exception", self.name))
    }
}

impl WalFilter for JavaWalFilter {
    fn name(&self) -> &str {
        &self.name
    }

    fn column_family_log_number_map(&self, log_numbers: &BTreeMap<u32, u64>, ids: &BTreeMap<String, u32>) {
        // The Java method has no result, and an exception in it is printed.
        let _ = attached(|env| {
            env.in_frame(|| {
                let told = self.notify_families(env, log_numbers, ids);
                env.describe();
                told
            })
        });
    }

    fn log_record_found(
        &self,
        log_number: u64,
        log_file_name: &str,
        batch: &WriteBatch,
    ) -> esker::Result<WalProcessingOption> {
        // The Java objects that are created over these handles do not own them.
        let seen = handles::insert(BatchOf::new(batch.clone()));
        let new = handles::insert(BatchOf::new(WriteBatch::new()));
        let answer = self.ask(log_number, log_file_name, seen, new);
        let replacement = handles::get::<BatchObject>(new).map(|held| held.copy());
        [seen, new].into_iter().for_each(handles::close);
        let (Ok(answer), Ok(replacement)) = (answer, replacement) else {
            return Err(self.threw());
        };
        let [option, changed] = answer.to_be_bytes();
        Ok(match option {
            0 if changed != 0 => WalProcessingOption::ChangeBatch(replacement),
            0 => WalProcessingOption::ContinueProcessing,
            1 => WalProcessingOption::IgnoreCurrentRecord,
            2 => WalProcessingOption::StopReplay,
            3 => WalProcessingOption::CorruptedRecord,
            _ => return Err(self.threw()),
        })
    }
}
