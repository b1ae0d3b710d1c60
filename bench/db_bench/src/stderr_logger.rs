//! `--use_stderr_info_logger`: the info log on standard error instead of in the file `LOG`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::date::Utc;
use esker::{InfoLogLevel, Logger};

/// Writes each message with its time, in UTC, and its thread, in the form of a line of `LOG`.
pub struct StderrLogger;

impl Logger for StderrLogger {
    fn log(&self, level: InfoLogLevel, message: &str) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let thread = format!("{:?}", std::thread::current().id());
        let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
        eprint!("{}", text(now, &thread, level, message));
    }
}

/// Each line of a header is a line of its own; the lines of other messages belong together.
fn text(now: Duration, thread: &str, level: InfoLogLevel, message: &str) -> String {
    let utc = Utc::from_unix(now.as_secs());
    let tag = match level {
        InfoLogLevel::Debug => "[DEBUG] ",
        InfoLogLevel::Info | InfoLogLevel::Header => "",
        InfoLogLevel::Warn => "[WARN] ",
        InfoLogLevel::Error => "[ERROR] ",
        InfoLogLevel::Fatal => "[FATAL] ",
    };
    let context = format!(
        "{:04}/{:02}/{:02}-{:02}:{:02}:{:02}.{:06} {thread} {tag}",
        utc.year,
        utc.month,
        utc.day,
        utc.hour,
        utc.minute,
        utc.second,
        now.subsec_micros()
    );
    match level {
        InfoLogLevel::Header => message.lines().map(|line| format!("{context}{line}\n")).collect(),
        _ => format!("{context}{message}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_log() {
        let now = Duration::new(951_782_400, 7_000);
        assert_eq!(
            text(
                now,
                "5",
                InfoLogLevel::Header,
                "RocksDB version: 7.8.3\nDB SUMMARY"
            ),
            "2000/02/29-00:00:00.000007 5 RocksDB version: 7.8.3\n2000/02/29-00:00:00.000007 5 DB SUMMARY\n"
        );
        assert_eq!(
            text(now, "5", InfoLogLevel::Warn, "a\nb"),
            "2000/02/29-00:00:00.000007 5 [WARN] a\nb\n"
        );
    }
}
