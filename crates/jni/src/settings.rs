//! The objects of options. They hold the settings of Java, with RocksDB's defaults; the engine's options are
//! built from them at their use.
//!
//! The scalar settings of all classes come from `options.tsv`; `generated::options` has their fields and
//! functions. A setting that is an object is in [`Parts`].

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use base::sync::Mutex;
use esker::option_table::{OptionNumber, OptionRange, OptionTable};
use esker::{
    BlockBasedOptions, BlockCache, CompactionFilterFactory, Error, FileChecksumGenFactory, Logger,
    MergeOperator, PrefixExtractor, RateLimiter, ReadOptions, Snapshot, SstFileManager,
    SstPartitionerFactory, Statistics, TableFilter, UserComparator, WalFilter, WriteBufferManager,
    WriteOptions,
};
use jni_sys::jlong;

use crate::env::{Env, JString, JavaType};
use crate::fail::Result;
use crate::handles;

/// The use of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// The field sets the engine's option that the entry names.
    Row,
    /// The field is for an option that the engine does not have yet: any value but the default is an error.
    Later,
    /// Code of a module of this crate, not a table, translates the field for the engine.
    Hand,
    /// The field is kept, and has no effect.
    Kept,
}

/// A field of an options object.
pub struct Field {
    /// RocksDB's name of the field.
    pub name: &'static str,
    /// RocksDB's default, as text.
    pub default: &'static str,
    /// The use of the field.
    pub used: Use,
}

/// A value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number, or a boolean as 0 or 1.
    Int(i64),
    /// The value is a floating-point number.
    Float(f64),
    /// The value is a text.
    Text(String),
}

impl Value {
    /// Returns the value as the text of an option.
    fn text(&self, is_flag: bool, unsigned: bool) -> String {
        match self {
            Value::Int(number) if is_flag => (*number != 0).to_string(),
            Value::Int(number) if unsigned => (*number as u64).to_string(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Text(text) => text.clone(),
        }
    }
}

/// A type of a value in Java.
pub trait Scalar: JavaType + Sized {
    /// Converts a value from Java.
    fn take(self, env: &Env<'_>) -> Result<Value>;
    /// Converts a value that was set to Java's type.
    fn of(value: &Value, env: &Env<'_>) -> Result<Self>;
    /// Parses a default.
    fn of_text(text: &str, env: &Env<'_>) -> Result<Self>;
}

macro_rules! integers {
    ($($type:ty),+) => { $(
        impl Scalar for $type {
            fn take(self, _env: &Env<'_>) -> Result<Value> {
                Ok(Value::Int(i64::from(self)))
            }
            fn of(value: &Value, _env: &Env<'_>) -> Result<$type> {
                Ok(match value {
                    Value::Int(number) => *number as $type,
                    Value::Float(number) => *number as $type,
                    Value::Text(_) => 0,
                })
            }
            fn of_text(text: &str, _env: &Env<'_>) -> Result<$type> {
                // A number in the upper half of the unsigned range becomes negative: Java has no unsigned
                // types.
                Ok(text.parse::<i128>().unwrap_or_default() as $type)
            }
        }
    )+ };
}
integers!(i8, i32, i64);

impl Scalar for bool {
    fn take(self, _env: &Env<'_>) -> Result<Value> {
        Ok(Value::Int(i64::from(self)))
    }
    fn of(value: &Value, _env: &Env<'_>) -> Result<bool> {
        Ok(matches!(value, Value::Int(number) if *number != 0))
    }
    fn of_text(text: &str, _env: &Env<'_>) -> Result<bool> {
        Ok(text == "1")
    }
}

impl Scalar for f64 {
    fn take(self, _env: &Env<'_>) -> Result<Value> {
        Ok(Value::Float(self))
    }
    fn of(value: &Value, _env: &Env<'_>) -> Result<f64> {
        Ok(match value {
            Value::Float(number) => *number,
            Value::Int(number) => *number as f64,
            Value::Text(_) => 0.0,
        })
    }
    fn of_text(text: &str, _env: &Env<'_>) -> Result<f64> {
        Ok(text.parse().unwrap_or_default())
    }
}

impl Scalar for JString {
    fn take(self, env: &Env<'_>) -> Result<Value> {
        env.string(self).map(Value::Text)
    }
    fn of(value: &Value, env: &Env<'_>) -> Result<JString> {
        match value {
            Value::Text(text) => env.new_string(text),
            _ => env.new_string(""),
        }
    }
    fn of_text(text: &str, env: &Env<'_>) -> Result<JString> {
        env.new_string(text)
    }
}

/// An object of options, of any class.
#[derive(Default)]
pub struct Settings {
    inner: Mutex<Inner>,
    /// The engine's read options of the object, cached until a change.
    pub(crate) read: ArcSwapOption<ReadOptions>,
    pub(crate) write: ArcSwapOption<WriteOptions>,
}

/// The values by name, and the objects.
#[derive(Clone, Default)]
pub struct Inner {
    values: BTreeMap<&'static str, Value>,
    /// The objects that were set.
    pub parts: Parts,
}

/// The objects that options hold besides their settings.
#[derive(Clone, Default)]
pub struct Parts {
    pub comparator: Option<UserComparator>,
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    pub compaction_filter: Option<Arc<dyn CompactionFilterFactory>>,
    pub compaction_filter_factory: Option<Arc<dyn CompactionFilterFactory>>,
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    pub partitioner: Option<Arc<dyn SstPartitionerFactory>>,
    pub table: Option<Table>,
    pub memtable: Option<Memtable>,
    pub collectors: Vec<Arc<dyn esker::TablePropertiesCollectorFactory>>,
    pub statistics: Option<(Arc<Statistics>, jlong)>,
    pub rate_limiter: Option<Arc<RateLimiter>>,
    pub restore_rate_limiter: Option<Arc<RateLimiter>>,
    pub write_buffer_manager: Option<Arc<WriteBufferManager>>,
    pub sst_file_manager: Option<Arc<SstFileManager>>,
    pub row_cache: Option<Arc<BlockCache>>,
    pub info_log: Option<Arc<dyn Logger>>,
    pub compression: Option<Box<Inner>>,
    pub bottommost_compression: Option<Box<Inner>>,
    pub universal: Option<Box<Inner>>,
    pub fifo: Option<Box<Inner>>,
    pub compression_per_level: Vec<i8>,
    pub level_multipliers: Vec<i32>,
    pub db_paths: Vec<(String, jlong)>,
    pub cf_paths: Vec<(String, jlong)>,
    /// The environment, if one was set.
    pub env: Option<crate::environment::Environment>,
    pub snapshot: Option<(Snapshot, jlong)>,
    pub lower_bound: Option<(Vec<u8>, jlong)>,
    pub upper_bound: Option<(Vec<u8>, jlong)>,
    pub timestamp: Option<(Vec<u8>, jlong)>,
    pub iter_start_ts: Option<jlong>,
    /// The factory of file checksums, which a property string can name.
    pub file_checksum: Option<FileChecksumGenFactory>,
    /// The two numbers that form a timestamp in RocksJava.
    pub full_history_ts_low: Option<(u64, u64)>,
    pub table_filter: Option<TableFilter>,
    pub wal_filter: Option<Arc<dyn WalFilter>>,
    pub listeners: Vec<Arc<crate::listener::JavaListener>>,
    /// Option objects that Esker stores without effect, by the name of the option.
    pub kept: BTreeMap<&'static str, String>,
    /// True after Java has cancelled the compaction.
    pub canceled: Arc<std::sync::atomic::AtomicBool>,
}

/// The factory of the tables that the engine writes.
pub const BLOCK_BASED: &str = "BlockBasedTable";

/// A table factory.
#[derive(Clone)]
pub struct Table {
    /// RocksDB's name of the factory.
    pub name: &'static str,
    /// The options of block-based tables; `None` for a format that is not supported.
    pub options: Option<BlockBasedOptions>,
    /// True if a persistent cache was set. The engine has none: the setting is only kept.
    pub persistent_cache: bool,
}

impl Table {
    /// Returns a factory of block-based tables.
    pub fn block_based(options: BlockBasedOptions) -> Table {
        Table {
            name: BLOCK_BASED,
            options: Some(options),
            persistent_cache: false,
        }
    }
}

/// A memtable factory.
#[derive(Clone, Copy)]
pub struct Memtable {
    /// RocksDB's name of the factory.
    pub name: &'static str,
    /// The engine's memtable factory; `None` if the engine does not have this kind of memtables.
    pub factory: Option<esker::MemtableFactory>,
}

impl Parts {
    /// Overwrites the parts with those parts that `other` has.
    pub fn join(&mut self, other: Parts) {
        macro_rules! options {
            ($($field:ident),+) => { $( self.$field = other.$field.or(self.$field.take()); )+ };
        }
        options!(
            comparator,
            merge_operator,
            compaction_filter,
            compaction_filter_factory,
            prefix_extractor,
            partitioner,
            table,
            memtable,
            statistics,
            rate_limiter,
            write_buffer_manager,
            sst_file_manager,
            row_cache,
            info_log,
            compression,
            bottommost_compression,
            universal,
            fifo,
            env,
            snapshot,
            lower_bound,
            upper_bound,
            timestamp,
            iter_start_ts,
            table_filter,
            wal_filter,
            full_history_ts_low,
            file_checksum
        );
        macro_rules! lists {
            ($($field:ident),+) => { $( if !other.$field.is_empty() { self.$field = other.$field; } )+ };
        }
        lists!(
            collectors,
            listeners,
            compression_per_level,
            level_multipliers,
            db_paths,
            cf_paths
        );
        self.kept.extend(other.kept);
    }
}

impl Settings {
    /// Returns an object with the settings of `inner`.
    pub fn of(inner: Inner) -> Settings {
        Settings {
            inner: Mutex::new(inner),
            ..Settings::default()
        }
    }

    /// Returns a copy of the settings.
    pub fn copy(&self) -> Inner {
        self.inner.lock().clone()
    }

    /// Runs `change` with the settings, and discards the cached options.
    pub fn change<R>(&self, change: impl FnOnce(&mut Inner) -> R) -> R {
        let result = change(&mut self.inner.lock());
        self.read.store(None);
        self.write.store(None);
        result
    }

    /// Runs `look` with the settings.
    pub fn look<R>(&self, look: impl FnOnce(&Inner) -> R) -> R {
        look(&self.inner.lock())
    }
}

impl Inner {
    /// Overwrites the settings with those settings that `other` has.
    pub fn join(&mut self, other: Inner) {
        self.values.extend(other.values);
        self.parts.join(other.parts);
    }

    /// Sets a field.
    pub fn set(&mut self, name: &'static str, value: Value) {
        self.values.insert(name, value);
    }

    /// Returns the value of a field, if it was set.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Returns a whole number, or `default` if it was never set.
    pub fn int(&self, name: &str, default: i64) -> i64 {
        match self.values.get(name) {
            Some(Value::Int(number)) => *number,
            _ => default,
        }
    }

    /// Returns a boolean, or `default` if it was never set.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        self.int(name, i64::from(default)) != 0
    }

    /// Applies the fields to the engine's options. Fields that are only kept go to `kept` if they differ from
    /// their defaults.
    pub fn apply<S: OptionTable>(
        &self,
        fields: &[Field],
        options: &mut S,
        kept: &mut BTreeMap<String, String>,
    ) -> esker::Result<()> {
        for field in fields {
            let set = self.values.get(field.name);
            let row = S::row(field.name);
            let Some(row) = row else {
                let Some(value) = set.filter(|value| value.text(false, true) != field.default) else {
                    continue;
                };
                match field.used {
                    Use::Later => return Err(Error::not_supported(format!("option {}", field.name))),
                    Use::Kept => {
                        kept.insert(field.name.to_owned(), value.text(false, false));
                    }
                    Use::Row | Use::Hand => {}
                }
                continue;
            };
            if matches!(field.used, Use::Hand | Use::Kept) {
                continue;
            }
            let is_flag = row.type_name == "boolean";
            let (text, negative) = match set {
                Some(value) => {
                    // Java has no unsigned types: a negative number is in the upper half of the range if the
                    // option's type is unsigned.
                    let wraps =
                        matches!(row.range, Some(OptionRange::Integer(0.., high)) if high > i64::MAX as i128);
                    (
                        value.text(is_flag, wraps),
                        matches!(value, Value::Int(number) if *number < 0),
                    )
                }
                None if is_flag => ((field.default == "1").to_string(), false),
                None => (field.default.to_owned(), false),
            };
            // A value outside the row's range is clamped, as RocksDB does.
            let outside = row
                .range
                .zip(number(&text))
                .filter(|(range, number)| !range.contains(*number));
            match outside {
                Some((range, number)) => options.set(row.name, &range.nearest(number).to_string())?,
                None => match (options.set(row.name, &text), set) {
                    (Err(_), Some(value)) if negative => options.set(row.name, &value.text(is_flag, true))?,
                    (result, _) => result?,
                },
            }
        }
        Ok(())
    }
}

/// Sets a field of the object of a handle.
pub fn set<T: Scalar>(env: Env<'_>, handle: jlong, field: &'static Field, value: T) -> Result<()> {
    let settings = handles::get::<Settings>(handle)?;
    let value = value.take(&env)?;
    settings.change(|inner| inner.set(field.name, value));
    Ok(())
}

/// Returns a field of the object of a handle.
pub fn get<T: Scalar>(env: Env<'_>, handle: jlong, field: &'static Field) -> Result<T> {
    let settings = handles::get::<Settings>(handle)?;
    let value = settings.look(|inner| inner.value(field.name).cloned());
    match value {
        Some(value) => T::of(&value, &env),
        None => T::of_text(field.default, &env),
    }
}

/// Declares a setter or getter of a field.
macro_rules! setting {
    (set $export:literal $type:ty, $field:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("Java_org_rocksdb_", $export))]
            extern "system" fn set(
                env: *mut jni_sys::JNIEnv,
                this: jni_sys::jobject,
                handle: i64,
                value: $type,
            ) {
                $crate::frame::enter(env, this, $export, |env| {
                    $crate::settings::set(env, handle, $field, value)
                })
            }
        };
    };
    (get $export:literal $type:ty, $field:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("Java_org_rocksdb_", $export))]
            extern "system" fn get(env: *mut jni_sys::JNIEnv, this: jni_sys::jobject, handle: i64) -> $type {
                $crate::frame::enter(env, this, $export, |env| {
                    $crate::settings::get(env, handle, $field)
                })
            }
        };
    };
}
pub(crate) use setting;

/// Returns the number that `text` is; `None` if it is another value.
fn number(text: &str) -> Option<OptionNumber> {
    let integer = text.parse().ok().map(OptionNumber::Integer);
    integer.or_else(|| text.parse().ok().map(OptionNumber::Float))
}
