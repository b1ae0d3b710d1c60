//! The levels of log messages, and a user's logger.

use crate::options::table::{OptionValue, enum_option};

/// The level of a log message.
///
/// See the example of [`Logger`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InfoLogLevel {
    /// Messages for debugging the engine.
    Debug,
    /// Messages about normal operation.
    Info,
    /// Messages about conditions that slow the database.
    Warn,
    /// Messages about errors.
    Error,
    /// Messages about errors after which the database cannot continue.
    Fatal,
    /// The header of the log: the version and the options. It is always logged.
    Header,
}

enum_option!(InfoLogLevel, "info log level",
    "DEBUG_LEVEL" => InfoLogLevel::Debug,
    "INFO_LEVEL" => InfoLogLevel::Info,
    "WARN_LEVEL" => InfoLogLevel::Warn,
    "ERROR_LEVEL" => InfoLogLevel::Error,
    "FATAL_LEVEL" => InfoLogLevel::Fatal,
    "HEADER_LEVEL" => InfoLogLevel::Header,
);

impl InfoLogLevel {
    /// The prefix of lines of this level; empty for most.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            InfoLogLevel::Debug => "[DEBUG] ",
            InfoLogLevel::Info | InfoLogLevel::Header => "",
            InfoLogLevel::Warn => "[WARN] ",
            InfoLogLevel::Error => "[ERROR] ",
            InfoLogLevel::Fatal => "[FATAL] ",
        }
    }
}

/// Receives the lines of an info log in place of the file `LOG`: see
/// [`Options::info_log`](crate::Options::info_log).
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use std::sync::Arc;
/// use esker::{Db, InfoLogLevel, Logger, Options};
///
/// struct Stderr;
/// impl Logger for Stderr {
///     fn log(&self, level: InfoLogLevel, message: &str) {
///         if level >= InfoLogLevel::Warn {
///             eprintln!("{message}");
///         }
///     }
/// }
///
/// let options = Options {
///     create_if_missing: true,
///     info_log: Some(Arc::new(Stderr)),
///     ..Default::default()
/// };
/// let db = Db::open(&options, dir.path())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Logger: Send + Sync {
    /// Receives one message, without time and thread. A message may have several lines: the lines of a header
    /// are independent, those of other messages belong together. Called from any thread, rarely, and never by
    /// a read or write of a row. It must return soon and must not call the database. A panic in it loses only
    /// the message.
    fn log(&self, level: InfoLogLevel, message: &str);
}

/// A logger that writes nothing.
///
/// ```
/// use esker::{NullLogger, Options};
/// use std::sync::Arc;
///
/// // No file `LOG` is written.
/// let options = Options { info_log: Some(Arc::new(NullLogger)), ..Default::default() };
/// # assert!(options.info_log.is_some());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct NullLogger;

impl Logger for NullLogger {
    fn log(&self, _level: InfoLogLevel, _message: &str) {}
}
