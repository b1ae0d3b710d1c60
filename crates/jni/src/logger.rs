//! `org.rocksdb.Logger`, which Java implements, and `org.rocksdb.util.StdErrLogger`.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI8, Ordering};

use base::sync::Mutex;
use esker::{InfoLogLevel, Logger};
use jni_sys::{jlong, jvalue};

use crate::callback::{Global, Method, attached};
use crate::env::{Env, JString, Reference};
use crate::fail::Result;
use crate::frame::native;
use crate::handles;
use crate::settings::Settings;

/// A logger of either kind.
pub struct LoggerObject(pub Arc<AnyLogger>);

/// The sink of a logger, and the lowest level that it writes.
pub struct AnyLogger {
    level: AtomicI8,
    sink: Sink,
}

enum Sink {
    Java(Box<JavaSink>),
    StandardError(Mutex<String>),
}

/// A Java object whose method `log` takes lines.
struct JavaSink {
    logger: Global,
    method: Method,
    /// Java's constants of the levels, in the order of their numbers.
    levels: Vec<Global>,
}

impl Logger for AnyLogger {
    fn log(&self, level: InfoLogLevel, message: &str) {
        // RocksDB passes headers to a user's logger like any other line.
        let number = if level == InfoLogLevel::Header {
            INFO
        } else {
            number(level)
        };
        if number < self.level.load(Ordering::Relaxed) {
            return;
        }
        match &self.sink {
            // If the Java logger throws an exception, the exception and the line are dropped.
            Sink::Java(sink) => drop(attached(|env| sink.log(env, number, message))),
            Sink::StandardError(prefix) => {
                let prefix = prefix.lock();
                // An error is ignored: a failure to write to standard error cannot be reported.
                let _ = writeln!(std::io::stderr(), "{prefix}{message}");
            }
        }
    }
}

impl JavaSink {
    fn log(&self, env: &Env<'_>, number: i8, message: &str) -> Result<()> {
        let logger = env.local(self.logger.reference());
        if logger.is_null() {
            return Ok(());
        }
        let text = env.new_string(message)?;
        let arguments = [
            jvalue {
                l: self.levels[number as usize].reference(),
            },
            jvalue { l: text.0 },
        ];
        let result = env.call_void(logger, self.method.0, &arguments);
        env.clear();
        env.forget(text.0);
        env.forget(logger);
        result
    }
}

const INFO: i8 = 1;

fn number(level: InfoLogLevel) -> i8 {
    match level {
        InfoLogLevel::Debug => 0,
        InfoLogLevel::Info => 1,
        InfoLogLevel::Warn => 2,
        InfoLogLevel::Error => 3,
        InfoLogLevel::Fatal => 4,
        InfoLogLevel::Header => 5,
    }
}

fn java_logger(env: &Env<'_>, level: i8) -> Result<jlong> {
    let class = env.class("org/rocksdb/Logger")?;
    let method = env.method(class, "log", "(Lorg/rocksdb/InfoLogLevel;Ljava/lang/String;)V")?;
    let names = [
        "DEBUG_LEVEL",
        "INFO_LEVEL",
        "WARN_LEVEL",
        "ERROR_LEVEL",
        "FATAL_LEVEL",
        "HEADER_LEVEL",
    ];
    let levels = names
        .iter()
        .map(|name| {
            let constant = env.enum_constant("org/rocksdb/InfoLogLevel", name)?;
            Global::strong(env, constant)
        })
        .collect::<Result<Vec<_>>>()?;
    let sink = JavaSink {
        logger: Global::strong(env, env.this)?,
        method: Method(method),
        levels,
    };
    Ok(handles::insert(LoggerObject(Arc::new(AnyLogger {
        level: AtomicI8::new(level),
        sink: Sink::Java(Box::new(sink)),
    }))))
}

native!("Logger_newLogger" "J" fn(env, level: i64) -> i64 { java_logger(&env, level as i8) });

fn level_of_options(options: jlong) -> Result<i8> {
    Ok(handles::get::<Settings>(options)?.look(|inner| inner.int("info_log_level", 1)) as i8)
}

// The constructors of releases before 8.11.
native!("Logger_createNewLoggerOptions" "J" fn(env, options: i64) -> i64 {
    java_logger(&env, level_of_options(options)?)
});

native!("Logger_createNewLoggerDbOptions" "J" fn(env, options: i64) -> i64 {
    java_logger(&env, level_of_options(options)?)
});

native!("util_StdErrLogger_newStdErrLogger" "BLjava_lang_String_2" fn(env, level: i8, prefix: JString) -> i64 {
    let prefix = if prefix.is_null() { String::new() } else { env.string(prefix)? };
    Ok(handles::insert(LoggerObject(Arc::new(AnyLogger {
        level: AtomicI8::new(level),
        sink: Sink::StandardError(Mutex::new(prefix)),
    }))))
});

fn set_level(logger: jlong, level: i8) -> Result<()> {
    handles::get::<LoggerObject>(logger)?
        .0
        .level
        .store(level, Ordering::Relaxed);
    Ok(())
}

fn level(logger: jlong) -> Result<i8> {
    Ok(handles::get::<LoggerObject>(logger)?
        .0
        .level
        .load(Ordering::Relaxed))
}

native!("Logger_setInfoLogLevel" "JB" fn(env, logger: i64, number: i8) { set_level(logger, number) });

native!("Logger_infoLogLevel" "J" fn(env, logger: i64) -> i8 { level(logger) });

native!("util_StdErrLogger_setInfoLogLevel" "JB" fn(env, logger: i64, number: i8) { set_level(logger, number) });

native!("util_StdErrLogger_infoLogLevel" "J" fn(env, logger: i64) -> i8 { level(logger) });
