//! Receivers of the lines of the info log.

use std::io::Write;
use std::sync::Arc;

use esker::InfoLogLevel;

use crate::LogLevel;

impl LogLevel {
    pub(crate) fn engine(self) -> InfoLogLevel {
        match self {
            LogLevel::Debug => InfoLogLevel::Debug,
            LogLevel::Info => InfoLogLevel::Info,
            LogLevel::Warn => InfoLogLevel::Warn,
            LogLevel::Error => InfoLogLevel::Error,
            LogLevel::Fatal => InfoLogLevel::Fatal,
            LogLevel::Header => InfoLogLevel::Header,
        }
    }

    fn of(level: InfoLogLevel) -> LogLevel {
        match level {
            InfoLogLevel::Debug => LogLevel::Debug,
            InfoLogLevel::Info => LogLevel::Info,
            InfoLogLevel::Warn => LogLevel::Warn,
            InfoLogLevel::Error => LogLevel::Error,
            InfoLogLevel::Fatal => LogLevel::Fatal,
            InfoLogLevel::Header => LogLevel::Header,
        }
    }
}

/// Receives the lines of the info log instead of a file. A clone is the same logger.
#[derive(Clone)]
pub struct InfoLogger {
    pub(crate) inner: Arc<dyn esker::Logger>,
}

impl InfoLogger {
    /// Writes lines of this level and above to standard error, each after the prefix.
    pub fn new_stderr_logger<S: AsRef<str>>(log_level: LogLevel, prefix: Option<S>) -> InfoLogger {
        let prefix = prefix.map_or(String::new(), |prefix| prefix.as_ref().to_owned());
        InfoLogger::new_callback_logger(log_level, move |_, message| {
            // If standard error is closed the line is lost.
            let _ = writeln!(std::io::stderr(), "{prefix}{message}");
        })
    }

    /// Calls a function with lines of this level and above.
    pub fn new_callback_logger<F>(level: LogLevel, callback: F) -> InfoLogger
    where
        F: Fn(LogLevel, &str) + Sync + Send + 'static,
    {
        InfoLogger {
            inner: Arc::new(Callback {
                least: level.engine(),
                callback,
            }),
        }
    }
}

struct Callback<F> {
    least: InfoLogLevel,
    callback: F,
}

impl<F: Fn(LogLevel, &str) + Sync + Send> esker::Logger for Callback<F> {
    fn log(&self, level: InfoLogLevel, message: &str) {
        if level >= self.least {
            (self.callback)(LogLevel::of(level), message);
        }
    }
}
