//! Parses a LOG in RocksDB's form: running and completed jobs, stalls, and the last dump of statistics.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use base::date::Utc;
use base::{ErrorKind, Result, filename};
use vfs::{FileSystem, OpenOptions};

/// The number of bytes from the end of a LOG that are read the first time.
const LOOK_BACK: u64 = 8 << 20;

/// The number of jobs remembered for rates.
const MOST_JOBS: usize = 1000;

/// The number of lines about stalls, and about errors, that are remembered.
const MOST_LINES: usize = 5;

/// The first words of the lines about memory in a dump of statistics, which are kept.
const OF_MEMORY: [&str; 2] = ["Block cache", "Memory of "];

/// The first words of a line about the reads of a family's tables.
const READS: &str = "Sampled reads of tables of ";

/// The header of the lines about pins, which extend up to the next line with a time.
const PINS: &str = "** Pins **";

/// The part of a LOG read so far.
#[derive(Debug)]
pub struct InfoLog {
    path: PathBuf,
    offset: u64,
    /// The first bytes, by which another file is recognized.
    head: Vec<u8>,
    /// A line that is not complete yet.
    partial: Vec<u8>,
    told: Told,
}

/// The information in a LOG so far.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// True if the directory has a LOG.
    pub exists: bool,
    /// Jobs that have started and not ended.
    pub running: BTreeMap<u64, Job>,
    /// Jobs that have ended, the oldest first.
    pub done: VecDeque<Done>,
    /// The times at which WALs were begun, in Unix seconds, by number. RocksDB's LOG does not have them.
    pub wals: BTreeMap<u64, u64>,
    /// Lines about stalled writes with their time, the oldest first.
    pub stalls: VecDeque<String>,
    /// Lines about errors, the oldest first.
    pub errors: VecDeque<String>,
    /// Families whose writes are stalled now, with the line that reported it. RocksDB does not report the end
    /// of a stall, so for its databases this is empty.
    pub stalled: BTreeMap<String, String>,
    /// The lines of the last dump of statistics about memory and the block cache.
    pub cache: Vec<String>,
    /// The reads of tables in the last dump of statistics, by table number; tables without reads are left
    /// out. `None` for a LOG of RocksDB, which does not record them.
    pub reads: Option<BTreeMap<u64, u64>>,
    /// The lines of the last dump of statistics about pins.
    pub pins: Vec<String>,
    /// The time of the last dump of statistics.
    pub dumped: Option<String>,
    /// A dump is being read.
    dumping: bool,
    /// The next lines are about pins.
    pins_follow: bool,
}

/// A job that has started and not ended.
#[derive(Clone, Debug)]
pub struct Job {
    /// The column family.
    pub family: String,
    /// True for a compaction, false for a flush.
    pub compaction: bool,
    /// The number of input files of the job, by level.
    pub inputs: BTreeMap<usize, usize>,
    /// The file numbers of the job's input tables.
    pub files: Vec<u64>,
    /// The time it began, in Unix microseconds.
    pub begun_micros: u64,
}

/// A job that has ended.
#[derive(Clone, Debug)]
pub struct Done {
    /// The number of the job.
    pub id: u64,
    /// The column family.
    pub family: String,
    /// True for a compaction, false for a flush.
    pub compaction: bool,
    /// The time it ended, in Unix microseconds.
    pub micros: u64,
    /// The duration of the job, if its start was in the LOG.
    pub took_micros: Option<u64>,
    /// The output level of the job.
    pub output_level: u64,
    /// The size of the job's output in bytes.
    pub output_bytes: u64,
}

impl Told {
    /// The numbers of files of `family` that compactions read now, by level.
    pub fn compacting(&self, family: &str) -> BTreeMap<usize, usize> {
        let mut levels = BTreeMap::new();
        for job in self.running.values().filter(|job| job.family == family) {
            for (level, files) in &job.inputs {
                *levels.entry(*level).or_default() += files;
            }
        }
        levels
    }
}

/// The Unix second of the time at the beginning of a line of Esker's LOG, which is in UTC:
/// `2026/11/22-07:30:00.000000`.
pub fn moment(stamp: &str) -> Option<u64> {
    let (date, time) = stamp.split('.').next()?.split_once('-')?;
    let three = |text: &str, separator: char| -> Option<[u64; 3]> {
        let parts: Result<Vec<u64>, _> = text.split(separator).map(str::parse).collect();
        parts.ok()?.try_into().ok()
    };
    let ([year, month, day], [hour, minute, second]) = (three(date, '/')?, three(time, ':')?);
    let utc = Utc {
        year,
        month,
        day,
        hour,
        minute,
        second,
    };
    utc.unix()
}

/// Returns the path of the LOG of the database in `dir`: there, or in `log_dir` under a name derived from
/// `dir`.
pub fn path_of(dir: &Path, log_dir: Option<&Path>) -> PathBuf {
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    match log_dir {
        None => filename::info_log(dir, None),
        Some(_) => filename::info_log(&absolute, log_dir),
    }
}

impl InfoLog {
    /// Returns a reader of the LOG at `path`, of which no line has been read yet.
    pub fn new(path: PathBuf) -> InfoLog {
        InfoLog {
            path,
            offset: 0,
            head: Vec::new(),
            partial: Vec::new(),
            told: Told::default(),
        }
    }

    /// Returns the information in the lines read so far.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// Reads the lines added since the last call. A missing LOG is not an error.
    pub fn read_on(&mut self, fs: &dyn FileSystem) -> Result<()> {
        let file = match fs.open_random(&self.path, &OpenOptions::default()) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Without a LOG, the lines read so far no longer describe the present.
                *self = InfoLog::new(std::mem::take(&mut self.path));
                return Ok(());
            }
            opened => opened?,
        };
        let mut head = vec![0; 256.min(file.len() as usize)];
        let read = file.read_at(0, &mut head)?;
        head.truncate(read);
        if self.offset > file.len() || !head.starts_with(&self.head) {
            // The process has begun another LOG.
            *self = InfoLog::new(std::mem::take(&mut self.path));
        }
        if self.offset == 0 {
            self.offset = file.len().saturating_sub(LOOK_BACK);
        }
        self.head = head;
        self.told.exists = true;
        let mut chunk = vec![0; 64 << 10];
        loop {
            let read = file.read_at(self.offset, &mut chunk)?;
            self.offset += read as u64;
            for piece in chunk[..read].split_inclusive(|&byte| byte == b'\n') {
                self.partial.extend_from_slice(piece);
                if piece.ends_with(b"\n") {
                    let line = std::mem::take(&mut self.partial);
                    self.told.take(String::from_utf8_lossy(&line).trim_end());
                }
            }
            if read < chunk.len() {
                return Ok(());
            }
        }
    }
}

impl Told {
    fn take(&mut self, line: &str) {
        // A line that begins with a date ends the lines about pins.
        self.pins_follow &= line.as_bytes().get(4) != Some(&b'/');
        if let Some((_, json)) = line.split_once("EVENT_LOG_v1 ") {
            self.take_event(json);
        } else if line.contains("------- DUMPING STATS -------") {
            self.cache.clear();
            self.pins.clear();
            self.reads = None;
            self.dumped = Some(line.split(' ').next().unwrap_or_default().to_owned());
            self.dumping = true;
        } else if line.contains("Stalling writes") || line.contains("Stopping writes") {
            // Esker reports the end of a stall.
            if line.contains(".rs:") {
                self.stalled
                    .extend(family_of(line).map(|family| (family, line.to_owned())));
            }
            remember(&mut self.stalls, line);
        } else if line.contains("] Writes go on: ") {
            family_of(line).map(|family| self.stalled.remove(&family));
            remember(&mut self.stalls, line);
        } else if line.contains(" [ERROR] ") || line.contains(" [FATAL] ") {
            remember(&mut self.errors, line);
        } else if let Some((before, _)) = line.split_once(" ended without a result: ") {
            let job = before
                .rsplit_once("[JOB ")
                .and_then(|(_, job)| job.split(']').next()?.parse().ok());
            job.map(|job: u64| self.running.remove(&job));
        } else if line == PINS {
            self.pins_follow = self.dumping;
        } else if self.pins_follow {
            self.pins.push(line.to_owned());
        } else if let Some(reads) = line.strip_prefix(READS).filter(|_| self.dumping) {
            let reads = reads.split_once("]: ").map_or("", |(_, reads)| reads).split(", ");
            let reads = reads.filter_map(|table| -> Option<(u64, u64)> {
                let (number, count) = table.split_once(' ')?;
                Some((number.parse().ok()?, count.parse().ok()?))
            });
            self.reads.get_or_insert_with(BTreeMap::new).extend(reads);
        } else if self.dumping && OF_MEMORY.iter().any(|word| line.starts_with(word)) {
            self.cache.push(line.to_owned());
        }
    }

    fn take_event(&mut self, json: &str) {
        let Some(job) = number(json, "job") else { return };
        let micros = number(json, "time_micros").unwrap_or(0);
        let begun = |compaction: bool, inputs: BTreeMap<usize, Vec<u64>>| Job {
            family: text(json, "cf_name").unwrap_or("default").to_owned(),
            compaction,
            inputs: inputs
                .iter()
                .map(|(level, files)| (*level, files.len()))
                .collect(),
            files: inputs.into_values().flatten().collect(),
            begun_micros: micros,
        };
        match text(json, "event") {
            Some("flush_started") => drop(self.running.insert(job, begun(false, BTreeMap::new()))),
            Some("compaction_started") => {
                let inputs = (0..64).filter_map(|level| {
                    let files = list(json, &format!("files_L{level}"))?;
                    Some((level, files))
                });
                let begun = begun(true, inputs.collect());
                self.running.insert(job, begun);
            }
            Some(event @ ("flush_finished" | "compaction_finished")) => {
                let begun = self.running.remove(&job);
                let told = text(json, "cf_name").map(str::to_owned);
                self.done.push_back(Done {
                    id: job,
                    family: told
                        .or(begun.as_ref().map(|job| job.family.clone()))
                        .unwrap_or_default(),
                    compaction: event == "compaction_finished",
                    micros,
                    took_micros: begun.map(|job| micros.saturating_sub(job.begun_micros)),
                    output_level: number(json, "output_level").unwrap_or(0),
                    output_bytes: number(json, "total_output_size").unwrap_or(0),
                });
                if self.done.len() > MOST_JOBS {
                    self.done.pop_front();
                }
            }
            Some("wal_created") => {
                self.wals
                    .extend(number(json, "wal").map(|wal| (wal, micros / 1_000_000)));
                // The oldest WALs are forgotten when more are listed than can be in use.
                while self.wals.len() > MOST_JOBS {
                    self.wals.pop_first();
                }
            }
            // The jobs of a process that died while they ran have no end in the LOG.
            Some("recovery_started") => self.running.clear(),
            _ => {}
        }
    }
}

fn remember(lines: &mut VecDeque<String>, line: &str) {
    lines.push_back(line.to_owned());
    if lines.len() > MOST_LINES {
        lines.pop_front();
    }
}

/// The family that a line is about: `... [/place.rs:7] [default] Stalling writes ...`.
fn family_of(line: &str) -> Option<String> {
    let before = line
        .split_once("] Stalling writes")
        .or_else(|| line.split_once("] Stopping writes"))
        .or_else(|| line.split_once("] Writes go on"));
    let (_, family) = before?.0.rsplit_once('[')?;
    Some(family.to_owned())
}

/// Returns the value after `"name": `.
fn value<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = json.split_once(&format!("\"{name}\": "))?;
    Some(rest)
}

fn number(json: &str, name: &str) -> Option<u64> {
    let rest = value(json, name)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

fn text<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    value(json, name)?.strip_prefix('"')?.split('"').next()
}

/// Returns the numbers in the list.
fn list(json: &str, name: &str) -> Option<Vec<u64>> {
    let inside = value(json, name)?.strip_prefix('[')?.split(']').next()?;
    let members = inside
        .split(',')
        .map(str::trim)
        .filter(|member| !member.is_empty());
    // A member of a list of files that is not a number still counts as a file.
    Some(members.map(|member| member.parse().unwrap_or(0)).collect())
}
