//! The info log: the history of a database, for people and for tools that know RocksDB's `LOG`.
//!
//! ```text
//! 2026/11/21-10:00:00.123456 140123 [/log/event_logger.rs:61] [default] [JOB 3] Flushing memtable ...
//! 2026/11/21-10:00:00.123999 140123 EVENT_LOG_v1 {"time_micros": 1795255200123999, "job": 3, "event": "flush_started", ...}
//! ```
//!
//! Lines are in RocksDB's format, with times in UTC. They come from [`Event`](crate::Event)s and from opens
//! and closes, never from reads and writes of rows. The log is never synced, and nothing depends on it:
//! messages that cannot be written are lost.

mod auto_roll_logger;
mod event_logger;
pub(crate) mod header;
pub(crate) mod level_summary;
pub(crate) mod listeners;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::user_code::catch;
use base::{Result, filename};

use self::auto_roll_logger::AutoRollLogger;
use crate::options::Options;
use crate::options::logger::InfoLogLevel;
use crate::options::logger::Logger;

/// The info log of one database.
pub(crate) struct InfoLog {
    sink: Sink,
    /// Messages below this level are not logged.
    level: InfoLogLevel,
    clock: Arc<dyn base::env::Clock>,
}

enum Sink {
    Nowhere,
    File(AutoRollLogger),
    User(Arc<dyn Logger>),
}

/// The path of the info log of the database in `dir`: in a separate log directory its name contains the
/// database's absolute path, so that databases in different directories never share one.
fn path(options: &Options, dir: &Path) -> PathBuf {
    if options.db_log_dir.is_empty() {
        return filename::info_log(dir, None);
    }
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    filename::info_log(&absolute, Some(Path::new(&options.db_log_dir)))
}

/// Deletes the info logs of the database in `dir` from the log directory, if there is one; those in `dir` are
/// files of the database.
pub(crate) fn destroy(options: &Options, dir: &Path) -> Result<()> {
    let log_dir = Path::new(&options.db_log_dir);
    if options.db_log_dir.is_empty() || !options.fs.exists(log_dir)? {
        return Ok(());
    }
    let path = path(options, dir);
    for name in options.fs.list(log_dir)? {
        let other = log_dir.join(name);
        if auto_roll_logger::put_away_at(&path, &other).is_some() || other == path {
            options.fs.remove(&other)?;
        }
    }
    Ok(())
}

impl InfoLog {
    /// The log of a database that is open for writing: `LOG` in `dir`, or the place given by the options.
    pub fn open(options: &Options, dir: &Path) -> InfoLog {
        if options.info_log.is_some() {
            return InfoLog::given(options);
        }
        InfoLog {
            sink: Sink::File(AutoRollLogger::open(options, &path(options, dir))),
            ..InfoLog::given(options)
        }
    }

    /// The log of a database that writes no files: the user's logger, if there is one.
    pub fn given(options: &Options) -> InfoLog {
        InfoLog {
            sink: match &options.info_log {
                Some(logger) => Sink::User(logger.clone()),
                None => Sink::Nowhere,
            },
            level: options.info_log_level,
            clock: options.clock.clone(),
        }
    }

    /// True if messages of `level` are logged.
    pub fn takes(&self, level: InfoLogLevel) -> bool {
        level >= self.level && !matches!(self.sink, Sink::Nowhere)
    }

    /// Writes a message unchanged.
    pub fn write(&self, level: InfoLogLevel, message: &str) {
        match &self.sink {
            Sink::Nowhere => {}
            Sink::File(file) => file.log(level, message),
            // A message that makes the logger panic is lost, like one that cannot be written.
            Sink::User(logger) => drop(catch(|| logger.log(level, message))),
        }
    }

    /// Writes a message with its place in the source code. Called by the macro [`log_line`].
    pub fn write_from(&self, level: InfoLogLevel, file: &str, line: u32, message: fmt::Arguments<'_>) {
        let file = file.rsplit_once("src").map_or(file, |(_, file)| file);
        self.write(level, &format!("[{file}:{line}] {message}"));
    }

    /// Stops writing and closes the file.
    pub fn close(&self) {
        if let Sink::File(file) = &self.sink {
            file.close();
        }
    }
}

impl fmt::Debug for InfoLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InfoLog({:?})", self.level)
    }
}

/// Writes a line to an [`InfoLog`] if it logs that level: `log_line!(log, Warn, "[{}] ...", family)`.
/// Otherwise nothing is formatted.
macro_rules! log_line {
    ($log:expr, $level:ident, $($message:tt)+) => {{
        let level = $crate::options::logger::InfoLogLevel::$level;
        if $log.takes(level) {
            $log.write_from(level, file!(), line!(), format_args!($($message)+));
        }
    }};
}
pub(crate) use log_line;
