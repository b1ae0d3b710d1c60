//! The statistics of jobs by level, and RocksDB's table of them, column for column: scripts read it by
//! position.

use std::fmt::Write;
use std::ops::{AddAssign, Sub};
use std::time::Duration;

use compact::score::Scores;
use compact::stall::{StallCause, StallCondition};
use compact::{CompactionReason, Plan};
use manifest::{FileMetadata, Version};

use crate::stats::StallTotals;

/// The statistics of jobs that wrote to one level.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LevelStats {
    /// Bytes read from the levels above.
    read_above: u64,
    /// Bytes read from this level.
    read_here: u64,
    written: u64,
    /// Bytes of blobs that were read.
    blobs_read: u64,
    /// Bytes of blob files that were written.
    blobs_written: u64,
    /// Bytes of files that were moved unchanged.
    moved: u64,
    took: Duration,
    cpu: Duration,
    jobs: u64,
    entries_in: u64,
    entries_out: u64,
}

impl AddAssign for LevelStats {
    fn add_assign(&mut self, other: LevelStats) {
        self.read_above += other.read_above;
        self.read_here += other.read_here;
        self.written += other.written;
        self.blobs_read += other.blobs_read;
        self.blobs_written += other.blobs_written;
        self.moved += other.moved;
        self.took += other.took;
        self.cpu += other.cpu;
        self.jobs += other.jobs;
        self.entries_in += other.entries_in;
        self.entries_out += other.entries_out;
    }
}

impl Sub for LevelStats {
    type Output = LevelStats;

    fn sub(self, earlier: LevelStats) -> LevelStats {
        LevelStats {
            read_above: self.read_above - earlier.read_above,
            read_here: self.read_here - earlier.read_here,
            written: self.written - earlier.written,
            blobs_read: self.blobs_read - earlier.blobs_read,
            blobs_written: self.blobs_written - earlier.blobs_written,
            moved: self.moved - earlier.moved,
            took: self.took.saturating_sub(earlier.took),
            cpu: self.cpu.saturating_sub(earlier.cpu),
            jobs: self.jobs - earlier.jobs,
            entries_in: self.entries_in - earlier.entries_in,
            entries_out: self.entries_out - earlier.entries_out,
        }
    }
}

/// The number of entries of `files`. Tables that were never opened are not counted, because their numbers of
/// entries are not known.
pub(crate) fn entries<'a>(files: impl IntoIterator<Item = &'a FileMetadata>) -> u64 {
    let counts = files.into_iter().filter_map(|file| file.stats.get());
    counts.map(|stats| stats.num_entries).sum()
}

/// The totals of ingested and imported files.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IngestedStats {
    /// The bytes of the files.
    pub bytes: u64,
    pub files: u64,
    /// The number of files placed in L0.
    pub l0_files: u64,
    /// The number of entries of the files.
    pub keys: u64,
}

impl AddAssign for IngestedStats {
    fn add_assign(&mut self, other: IngestedStats) {
        self.bytes += other.bytes;
        self.files += other.files;
        self.l0_files += other.l0_files;
        self.keys += other.keys;
    }
}

/// The totals at the last dump, where an interval begins.
#[derive(Clone, Copy, Debug, Default)]
struct Dumped {
    /// The time that the database had been open.
    up: Duration,
    sum: LevelStats,
    flushed: u64,
    ingested: IngestedStats,
}

/// The jobs of one family since the database was opened. Guarded by the database mutex.
#[derive(Debug, Default)]
pub(crate) struct FamilyStats {
    /// The statistics by output level.
    levels: Vec<LevelStats>,
    /// Bytes of tables and blob files that flushes wrote.
    flushed: u64,
    /// Files that were ingested or imported.
    ingested: IngestedStats,
    /// The waits of writers for this family.
    pub stalls: StallTotals,
    /// The statistics by RocksDB's thread priorities: flushes are of high priority, automatic compactions of
    /// low; manual operations run on their callers' threads.
    low: LevelStats,
    high: LevelStats,
    user: LevelStats,
    dumped: Dumped,
}

impl FamilyStats {
    /// Counts a flush of `bytes`. The bytes count as written to L0, whatever the level of the tables.
    pub fn flushed(&mut self, bytes: u64, took: Duration, cpu: Duration) {
        let job = self.wrote_memtables(bytes, took, cpu);
        self.high += job;
    }

    /// Counts `bytes` that recovery wrote from WALs, for the caller of the open.
    pub fn recovered(&mut self, bytes: u64, took: Duration, cpu: Duration) {
        let job = self.wrote_memtables(bytes, took, cpu);
        self.user += job;
    }

    fn wrote_memtables(&mut self, bytes: u64, took: Duration, cpu: Duration) -> LevelStats {
        self.flushed += bytes;
        let job = LevelStats {
            written: bytes,
            took,
            cpu,
            jobs: 1,
            ..LevelStats::default()
        };
        *self.level(0) += job;
        job
    }

    /// Counts a compaction that wrote `outputs`.
    pub fn compacted<'a>(
        &mut self,
        plan: &Plan,
        outputs: impl IntoIterator<Item = &'a FileMetadata> + Clone,
        took: Duration,
        cpu: Duration,
    ) {
        let read = |here: bool| {
            let levels = plan.inputs.iter();
            let levels = levels.filter(|input| (input.level == plan.output_level) == here);
            levels.map(compact::LevelFiles::bytes).sum()
        };
        let job = LevelStats {
            read_above: read(false),
            read_here: read(true),
            written: outputs.clone().into_iter().map(|file| file.size).sum(),
            took,
            cpu,
            jobs: 1,
            entries_in: entries(plan.files().map(|(_, file)| &**file)),
            entries_out: entries(outputs),
            ..LevelStats::default()
        };
        *self.level(plan.output_level) += job;
        match plan.reason {
            CompactionReason::ManualCompaction => self.user += job,
            _ => self.low += job,
        }
    }

    /// The cost of the jobs that wrote to each level: jobs, duration, CPU time, bytes written.
    pub fn jobs(&self) -> impl Iterator<Item = (usize, u64, Duration, Duration, u64)> {
        let levels = self.levels.iter().enumerate().filter(|(_, stats)| stats.jobs > 0);
        levels.map(|(level, stats)| {
            let written = stats.written + stats.blobs_written;
            (level, stats.jobs, stats.took, stats.cpu, written)
        })
    }

    /// The bytes that flushes wrote.
    pub fn flushed_bytes(&self) -> u64 {
        self.flushed
    }

    /// Counts external files that were installed.
    pub fn ingested(&mut self, files: IngestedStats) {
        self.ingested += files;
    }

    /// Begins another interval, in a database that has been open for `up`.
    pub fn begin_interval(&mut self, up: Duration) {
        self.dumped = Dumped {
            up,
            sum: self.sum(),
            flushed: self.flushed,
            ingested: self.ingested,
        };
    }

    fn sum(&self) -> LevelStats {
        let mut sum = LevelStats::default();
        self.levels.iter().for_each(|level| sum += *level);
        sum
    }

    /// Counts `bytes` of blob files written by a flush.
    pub fn flushed_blobs(&mut self, bytes: u64) {
        self.flushed += bytes;
        self.level(0).blobs_written += bytes;
    }

    /// Counts a compaction to `level` that read `read` bytes of blobs, and wrote `written` bytes of blob
    /// files.
    pub fn compacted_blobs(&mut self, level: usize, read: u64, written: u64) {
        let stats = self.level(level);
        stats.blobs_read += read;
        stats.blobs_written += written;
    }

    /// Counts the move of the files of `plan`.
    pub fn moved(&mut self, plan: &Plan) {
        let bytes: u64 = plan.moved_files().map(|(_, file)| file.size).sum();
        self.level(plan.output_level).moved += bytes;
    }

    fn level(&mut self, level: usize) -> &mut LevelStats {
        if self.levels.len() <= level {
            self.levels.resize(level + 1, LevelStats::default());
        }
        &mut self.levels[level]
    }

    /// RocksDB's lines on the totals of flushes, ingestions and compactions, in a database that has been open
    /// for `up`.
    pub fn totals(&self, up: Duration) -> String {
        let sum = self.sum();
        let before = &self.dumped;
        let since = sum - before.sum;
        let interval = up.saturating_sub(before.up);
        let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
        let (ingested, earlier) = (&self.ingested, &before.ingested);
        let mut out = format!(
            "Uptime(secs): {:.1} total, {:.1} interval\n\
             Flush(GB): cumulative {:.3}, interval {:.3}\n\
             AddFile(GB): cumulative {:.3}, interval {:.3}\n",
            up.as_secs_f64(),
            interval.as_secs_f64(),
            gib(self.flushed),
            gib(self.flushed - before.flushed),
            gib(ingested.bytes),
            gib(ingested.bytes - earlier.bytes),
        );
        let counts = [
            ("Total Files", ingested.files, earlier.files),
            ("L0 Files", ingested.l0_files, earlier.l0_files),
            ("Keys", ingested.keys, earlier.keys),
        ];
        for (name, now, then) in counts {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "AddFile({name}): cumulative {now}, interval {}", now - then);
        }
        out.push_str(&traffic("Cumulative", &sum, up));
        out.push_str(&traffic("Interval", &since, interval));
        out
    }

    /// RocksDB's table of compaction statistics, for the family `name` with version `version`.
    pub fn table(&self, name: &str, version: &Version, scores: &Scores) -> String {
        let mut out = format!(
            "\n** Compaction Stats [{name}] **\n{HEAD}\n{}\n",
            "-".repeat(HEAD.len())
        );
        let mut sum = LevelStats::default();
        let (mut files, mut busy) = (0, 0);
        for level in 0..version.num_levels() {
            let stats = self.levels.get(level).copied().unwrap_or_default();
            let here = version.files(level);
            if here.is_empty() && stats.jobs == 0 && stats.moved == 0 {
                continue;
            }
            let busy_here = here.iter().filter(|file| file.is_being_compacted()).count();
            let score = scores.levels.iter().find(|score| score.level == level);
            let place = LevelRow {
                name: &format!("L{level}"),
                files: here.len(),
                busy: busy_here,
                bytes: version.level_bytes(level),
                score: score.map_or(0.0, |score| score.score),
                came_in: if level == 0 {
                    self.flushed + self.ingested.bytes
                } else {
                    stats.read_above
                },
            };
            row(&mut out, &place, &stats);
            sum += stats;
            files += here.len();
            busy += busy_here;
        }
        let before = &self.dumped;
        let came_in = self.flushed + self.ingested.bytes;
        let all = LevelRow {
            name: "Sum",
            files,
            busy,
            bytes: version.total_bytes(),
            score: 0.0,
            came_in,
        };
        row(&mut out, &all, &sum);
        let interval = LevelRow {
            name: "Int",
            files: 0,
            busy: 0,
            bytes: 0,
            score: 0.0,
            came_in: came_in - before.flushed - before.ingested.bytes,
        };
        row(&mut out, &interval, &(self.sum() - before.sum));
        out.push_str(&format!(
            "\n** Compaction Stats [{name}] **\n{}\n{}\n",
            HEAD.replacen("Level   ", "Priority", 1),
            "-".repeat(HEAD.len())
        ));
        for (name, stats) in [("Low", self.low), ("High", self.high), ("User", self.user)] {
            if stats.jobs > 0 {
                let place = LevelRow {
                    name,
                    files: 0,
                    busy: 0,
                    bytes: 0,
                    score: 0.0,
                    came_in: 0,
                };
                row(&mut out, &place, &stats);
            }
        }
        out.push_str(&blob_files(version));
        out
    }

    /// RocksDB 7's line of stalls by cause. Later releases write other lines; `benchmark.sh` of all releases
    /// counts stalls by the positions in this one. Stalls without a position are in the total only.
    pub fn stalls_by_position(&self) -> String {
        let delays = |cause| self.stalls.get(StallCondition::Delayed { cause }).count;
        let stops = |cause| self.stalls.get(StallCondition::Stopped { cause }).count;
        let (l0, bytes, memtables) = (
            StallCause::L0FileCountLimit,
            StallCause::PendingCompactionBytes,
            StallCause::MemtableLimit,
        );
        let total: u64 = StallCause::ALL
            .map(|cause| delays(cause) + stops(cause))
            .iter()
            .sum();
        format!(
            "Stalls(count): {} level0_slowdown, 0 level0_slowdown_with_compaction, {} level0_numfiles, \
             0 level0_numfiles_with_compaction, {} stop for pending_compaction_bytes, {} slowdown for pending_compaction_bytes, \
             {} memtable_compaction, {} memtable_slowdown, interval {total} total count\n",
            delays(l0),
            stops(l0),
            stops(bytes),
            delays(bytes),
            stops(memtables),
            delays(memtables),
        )
    }
}

/// RocksDB's line on the bytes that compactions wrote and read in `time`.
fn traffic(title: &str, stats: &LevelStats, time: Duration) -> String {
    let seconds = time.as_secs_f64().max(0.001);
    let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
    let rate = |bytes: u64| bytes as f64 / (1u64 << 20) as f64 / seconds;
    let read = stats.read_above + stats.read_here + stats.blobs_read;
    let written = stats.written + stats.blobs_written;
    format!(
        "{title} compaction: {:.2} GB write, {:.2} MB/s write, {:.2} GB read, {:.2} MB/s read, {:.1} seconds\n",
        gib(written),
        rate(written),
        gib(read),
        rate(read),
        stats.took.as_secs_f64(),
    )
}

/// RocksDB's line on the blob files of `version`, between empty lines.
fn blob_files(version: &Version) -> String {
    let blobs = version.blob_files();
    let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
    let size: u64 = blobs.values().map(|blob| blob.file_size()).sum();
    let garbage: u64 = blobs.values().map(|blob| blob.garbage_blob_bytes).sum();
    let amplification = match size.saturating_sub(garbage) {
        0 => 0.0,
        live => size as f64 / live as f64,
    };
    format!(
        "\nBlob file count: {}, total size: {:.1} GB, garbage size: {:.1} GB, space amp: {amplification:.1}\n\n",
        blobs.len(),
        gib(size),
        gib(garbage),
    )
}

const HEAD: &str = "Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) Wnew(GB) Moved(GB) W-Amp Rd(MB/s) Wr(MB/s) \
                    Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop Rblob(GB) Wblob(GB)";

/// The current state of a level, or of all levels.
struct LevelRow<'a> {
    name: &'a str,
    files: usize,
    busy: usize,
    bytes: u64,
    score: f64,
    /// The bytes that came into the level, or for the sum into the tree, from outside: the denominator of
    /// write amplification.
    came_in: u64,
}

fn row(out: &mut String, place: &LevelRow<'_>, stats: &LevelStats) {
    const GIB: f64 = (1u64 << 30) as f64;
    const MIB: f64 = (1u64 << 20) as f64;
    let gib = |bytes: u64| bytes as f64 / GIB;
    let took = stats.took.as_secs_f64();
    let rate = |bytes: u64| {
        if took > 0.0 {
            bytes as f64 / MIB / took
        } else {
            0.0
        }
    };
    let of = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let read = stats.read_above + stats.read_here + stats.blobs_read;
    let written = stats.written + stats.blobs_written;
    // The bytes read from this level were in it before, so they are not new.
    let new = stats.written as f64 - stats.read_here as f64;
    let shown = writeln!(
        out,
        "{:>4} {:6}/{:<3} {:>10} {:5.1} {:8.1} {:7.1} {:8.1} {:9.1} {:8.1} {:9.1} {:5.1} {:8.1} {:8.1} {:9.2} {:17.2} {:9} {:8.3} {:>7} {:>6} {:9.1} {:9.1}",
        place.name,
        place.files,
        place.busy,
        size(place.bytes),
        place.score,
        gib(read),
        gib(stats.read_above),
        gib(stats.read_here),
        gib(written),
        new / GIB,
        gib(stats.moved),
        of(written as f64, place.came_in as f64),
        rate(read),
        rate(written),
        took,
        stats.cpu.as_secs_f64(),
        stats.jobs,
        of(took, stats.jobs as f64),
        count(stats.entries_in),
        count(stats.entries_in.saturating_sub(stats.entries_out)),
        gib(stats.blobs_read),
        gib(stats.blobs_written),
    );
    // Writing to a string cannot fail.
    let _ = shown;
}

/// A size in RocksDB's format: `5.17 MB`.
pub(crate) fn size(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if size < 1024.0 {
            return format!("{size:.2} {unit}");
        }
        size /= 1024.0;
    }
    format!("{size:.2} TB")
}

/// A number in RocksDB's format: `876K`.
pub(crate) fn count(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..10_000_000 => format!("{}K", number / 1_000),
        10_000_000..10_000_000_000 => format!("{}M", number / 1_000_000),
        _ => format!("{}G", number / 1_000_000_000),
    }
}

#[cfg(test)]
mod tests;
