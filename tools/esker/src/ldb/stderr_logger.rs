//! The info log on standard error.

use esker::{InfoLogLevel, Logger};

/// Writes the messages of at least this level, a line each.
pub struct StderrLogger {
    pub least: InfoLogLevel,
}

fn rank(level: InfoLogLevel) -> u8 {
    match level {
        InfoLogLevel::Debug => 0,
        InfoLogLevel::Info => 1,
        InfoLogLevel::Warn => 2,
        InfoLogLevel::Error => 3,
        InfoLogLevel::Fatal => 4,
        InfoLogLevel::Header => 5,
    }
}

/// The level of the info log that has this number in RocksDB's `InfoLogLevel`.
pub fn level(number: i32) -> Option<InfoLogLevel> {
    let levels = [
        InfoLogLevel::Debug,
        InfoLogLevel::Info,
        InfoLogLevel::Warn,
        InfoLogLevel::Error,
        InfoLogLevel::Fatal,
        InfoLogLevel::Header,
    ];
    levels.get(usize::try_from(number).ok()?).copied()
}

impl Logger for StderrLogger {
    fn log(&self, level: InfoLogLevel, message: &str) {
        let tag = match level {
            InfoLogLevel::Debug => "[DEBUG] ",
            InfoLogLevel::Info => "",
            InfoLogLevel::Warn => "[WARN] ",
            InfoLogLevel::Error => "[ERROR] ",
            InfoLogLevel::Fatal => "[FATAL] ",
            // The options are of no interest here.
            InfoLogLevel::Header => return,
        };
        if rank(level) >= rank(self.least) {
            eprintln!("{tag}{message}");
        }
    }
}
