//! The file `LOG`: begun at each open, rolled when it is too large or too old. A limited number of old files
//! is kept.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::date::Utc;
use base::env::Clock;
use base::sync::Mutex;
use base::{Result, filename};
use vfs::{CreateOptions, FileSystem, WritableFile};

use super::Logger;
use crate::options::Options;
use crate::options::logger::InfoLogLevel;

/// Writes each message to a file at once: logged messages survive the death of the process.
///
/// Errors of the log fail no operation. If no file can be begun, or the old one cannot be renamed, there is
/// no log until the next roll is due; a message that cannot be written is lost.
pub(crate) struct AutoRollLogger {
    fs: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    path: PathBuf,
    /// The size in bytes at which another file is begun; 0: no limit.
    max_size: u64,
    /// The age in seconds at which another file is begun; 0: no limit.
    time_to_roll: u64,
    /// The number of files kept, including the current one.
    keep: usize,
    state: Mutex<RollState>,
}

#[derive(Default)]
struct RollState {
    file: Option<Box<dyn WritableFile>>,
    /// The time at which the file was begun, in seconds since 1970.
    begun: u64,
    bytes: u64,
    /// The header of each file.
    header: String,
    closed: bool,
}

impl AutoRollLogger {
    /// Renames an existing file at `path` and begins another one.
    pub fn open(options: &Options, path: &Path) -> AutoRollLogger {
        let logger = AutoRollLogger {
            fs: options.fs.clone(),
            clock: options.clock.clone(),
            path: path.to_path_buf(),
            max_size: options.max_log_file_size,
            time_to_roll: options.log_file_time_to_roll,
            keep: options.keep_log_file_num,
            state: Mutex::default(),
        };
        if let Some(dir) = path.parent().filter(|_| !options.db_log_dir.is_empty()) {
            // Without the directory no file can be created either.
            let _ = logger.fs.create_dir_all(dir);
        }
        logger.begin(&mut logger.state.lock());
        logger
    }

    /// Closes the file permanently.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        if let Some(mut file) = state.file.take() {
            let _ = file.close();
        }
    }

    fn begin(&self, state: &mut RollState) {
        if let Some(mut file) = state.file.take() {
            let _ = file.close();
        }
        state.begun = self.clock.unix_seconds();
        state.bytes = 0;
        state.file = self.begin_file().ok();
    }

    fn begin_file(&self) -> Result<Box<dyn WritableFile>> {
        let dir = self.path.parent().unwrap_or(Path::new(""));
        let paths: Vec<PathBuf> = self.fs.list(dir)?.iter().map(|name| dir.join(name)).collect();
        let times = paths.iter().filter_map(|path| put_away_at(&self.path, path));
        let mut old: Vec<u64> = times.collect();
        old.sort_unstable();
        if paths.contains(&self.path) {
            // File names stay in the order of creation even if the clock goes back.
            let after_all = old.last().map_or(0, |newest| newest.saturating_add(1));
            let now = self.clock.unix_micros().max(after_all);
            self.fs
                .rename(&self.path, &filename::old_info_log(&self.path, now))?;
            old.push(now);
        }
        // Leaves at most the allowed number of files, including the new one. A failed deletion does not
        // prevent a new file.
        let excess = (old.len() + 1).saturating_sub(self.keep);
        for &time in &old[..excess] {
            let _ = self.fs.remove(&filename::old_info_log(&self.path, time));
        }
        self.fs.create(&self.path, &CreateOptions::default())
    }

    fn is_due(&self, state: &RollState) -> bool {
        let old = || self.clock.unix_seconds() >= state.begun + self.time_to_roll;
        (self.max_size > 0 && state.bytes >= self.max_size) || (self.time_to_roll > 0 && old())
    }

    fn append(&self, state: &mut RollState, text: &str) {
        let Some(file) = &mut state.file else { return };
        state.bytes += text.len() as u64;
        // A failed write of the log does not fail the operation that logs: see [`AutoRollLogger`].
        let _ = file.append(text.as_bytes()).and_then(|()| file.flush());
    }

    fn stamped(&self, level: InfoLogLevel, message: &str) -> String {
        let mut out = String::with_capacity(message.len() + 64);
        let stamp = Stamp(self.clock.unix_micros());
        let thread = thread_id();
        let mut line = |text: &str| {
            // Writing to a string cannot fail.
            let _ = match level == InfoLogLevel::Header && continues(text) {
                true => writeln!(out, "{text}"),
                false => writeln!(out, "{stamp} {thread} {}{text}", level.tag()),
            };
        };
        match level {
            InfoLogLevel::Header => message.lines().for_each(line),
            _ => line(message.strip_suffix('\n').unwrap_or(message)),
        }
        out
    }
}

/// True for a line of the header that belongs to the line before it, as those of a table's options, which
/// RocksDB writes in one piece: two or four blanks and a name.
fn continues(line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    [2, 4].contains(&(line.len() - text.len())) && text.starts_with(|first: char| first.is_ascii_lowercase())
}

impl Logger for AutoRollLogger {
    fn log(&self, level: InfoLogLevel, message: &str) {
        let text = self.stamped(level, message);
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        if self.is_due(&state) {
            self.begin(&mut state);
            let header = self.stamped(InfoLogLevel::Header, &state.header);
            self.append(&mut state, &header);
        }
        if level == InfoLogLevel::Header {
            state.header.push_str(message);
            state.header.push('\n');
        }
        self.append(&mut state, &text);
    }
}

/// The time at which `path` was renamed, in microseconds since 1970, if it is an old file of the log at
/// `log`.
pub(super) fn put_away_at(log: &Path, path: &Path) -> Option<u64> {
    let old = path
        .file_name()?
        .to_str()?
        .strip_prefix(log.file_name()?.to_str()?)?;
    old.strip_prefix(".old.")?.parse().ok()
}

/// A time in microseconds since 1970, displayed as at the beginning of a log line.
struct Stamp(u64);

impl std::fmt::Display for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (seconds, micros) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let Utc {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = Utc::from_unix(seconds);
        write!(
            f,
            "{year:04}/{month:02}/{day:02}-{hour:02}:{minute:02}:{second:02}.{micros:06}"
        )
    }
}

/// The system's id of the calling thread. In a simulation all threads have one id, so that runs repeat
/// exactly.
fn thread_id() -> i32 {
    #[cfg(all(target_os = "linux", not(simulate)))]
    return rustix::thread::gettid().as_raw_nonzero().get();
    #[cfg(not(all(target_os = "linux", not(simulate))))]
    1
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base::env::ManualClock;
    use vfs::MemFs;

    use super::*;

    struct Bench {
        fs: MemFs,
        clock: Arc<ManualClock>,
        options: Options,
    }

    impl Bench {
        fn new() -> Bench {
            let (fs, clock) = (MemFs::new(), Arc::new(ManualClock::default()));
            fs.create_dir_all(Path::new("/db")).unwrap();
            // The time is 10 o'clock on the 21st of November 2026.
            clock.advance(Duration::from_micros(1_795_255_200_123_456));
            let options = Options {
                fs: Arc::new(fs.clone()),
                clock: clock.clone(),
                ..Options::default()
            };
            Bench { fs, clock, options }
        }

        fn open(&self) -> AutoRollLogger {
            AutoRollLogger::open(&self.options, Path::new("/db/LOG"))
        }

        fn names(&self) -> Vec<String> {
            self.fs.list(Path::new("/db")).unwrap()
        }

        fn text(&self, name: &str) -> String {
            String::from_utf8(self.fs.read_file(&Path::new("/db").join(name)).unwrap()).unwrap()
        }
    }

    /// Returns the lines without their thread ids.
    fn lines(text: &str) -> Vec<String> {
        let strip = |line: &str| {
            let (stamp, rest) = line.split_once(' ').unwrap();
            format!("{stamp} {}", rest.split_once(' ').unwrap().1)
        };
        text.lines().map(strip).collect()
    }

    #[test]
    fn days_have_dates() {
        let stamps = [0, 951_782_400, 951_868_800, 4_107_542_399, 1_795_255_200]
            .map(|seconds| Stamp(seconds * 1_000_000 + 7).to_string());
        assert_eq!(
            stamps,
            [
                "1970/01/01-00:00:00.000007",
                "2000/02/29-00:00:00.000007",
                "2000/03/01-00:00:00.000007",
                "2100/02/28-23:59:59.000007",
                "2026/11/21-10:00:00.000007"
            ]
        );
    }

    #[test]
    fn lines_have_the_shape_of_rocksdbs() {
        let bench = Bench::new();
        let logger = bench.open();
        logger.log(InfoLogLevel::Header, "one\ntwo");
        bench.clock.advance(Duration::from_secs(61));
        logger.log(InfoLogLevel::Warn, "[/x.rs:1] [default] Stalling writes");
        logger.log(InfoLogLevel::Info, "several\n** lines **\n");
        let text = bench.text("LOG");
        let (stamped, rest) = text.split_once("\n** lines **").unwrap();
        assert_eq!(rest, "\n");
        assert_eq!(
            lines(stamped),
            [
                "2026/11/21-10:00:00.123456 one",
                "2026/11/21-10:00:00.123456 two",
                "2026/11/21-10:01:01.123456 [WARN] [/x.rs:1] [default] Stalling writes",
                "2026/11/21-10:01:01.123456 several"
            ]
        );
    }

    #[test]
    fn a_file_that_is_there_is_put_away_and_so_many_are_kept() {
        let mut bench = Bench::new();
        bench.options.keep_log_file_num = 3;
        for run in 0..5 {
            bench.open().log(InfoLogLevel::Info, &format!("run {run}"));
        }
        // All renames are in the same microsecond.
        assert_eq!(
            bench.names(),
            ["LOG", "LOG.old.1795255200123458", "LOG.old.1795255200123459"]
        );
        assert!(bench.text("LOG").ends_with("run 4\n"));
        assert!(bench.text("LOG.old.1795255200123459").ends_with("run 3\n"));
    }

    #[test]
    fn another_one_is_begun_when_it_is_due_with_the_same_header() {
        let mut bench = Bench::new();
        bench.options.max_log_file_size = 150;
        bench.options.log_file_time_to_roll = 60;
        let logger = bench.open();
        logger.log(InfoLogLevel::Header, "header");
        logger.log(InfoLogLevel::Info, &"x".repeat(200));
        assert_eq!(bench.names().len(), 1);
        logger.log(InfoLogLevel::Info, "next");
        assert_eq!(bench.names().len(), 2);
        let texts: Vec<String> = lines(&bench.text("LOG"))
            .iter()
            .map(|line| line.split_once(' ').unwrap().1.to_owned())
            .collect();
        assert_eq!(texts, ["header", "next"]);
        bench.clock.advance(Duration::from_secs(60));
        logger.log(InfoLogLevel::Info, "later");
        assert_eq!(bench.names().len(), 3);
        logger.close();
        logger.log(InfoLogLevel::Info, "too late");
        assert!(!bench.text("LOG").contains("too late"));
    }
}
