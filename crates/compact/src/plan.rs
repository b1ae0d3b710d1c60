//! One compaction, decided but not started.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use base::internal_key;
use base::{Result, SeqNo, Temperature, UserComparator};
use codec::compression::CompressionType;
use manifest::{FileMetadata, Version};
use rangedel::FragmentedTombstones;

use crate::beyond::{BeyondOutput, KeyRange};
use crate::blob_gc::BlobGarbageRequest;
use crate::cursor::CompactionRules;
use crate::options::LeveledOptions;
use crate::order;
use crate::split::{Border, SplitLimits};
use crate::styles::Style;
use crate::tombstones::CompactionTombstones;

/// Why files are compacted. The names are RocksDB's.
///
/// ```
/// # use esker_compact as esker;
///
/// use esker::CompactionReason;
///
/// assert_eq!(CompactionReason::LevelL0FilesNum.to_string(), "LevelL0FilesNum");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompactionReason {
    /// L0 has too many files, or too many bytes.
    LevelL0FilesNum,
    /// A level exceeds its target size.
    LevelMaxLevelSize,
    /// A user requested the compaction.
    ManualCompaction,
    /// A file is marked: a collector of table properties, or a user, asked for it.
    FilesMarkedForCompaction,
    /// A snapshot was released, and a file at the bottom holds versions that only this snapshot could see.
    BottommostFiles,
    /// A file's data is older than `ttl`.
    Ttl,
    /// A file is older than `periodic_compaction_seconds`.
    PeriodicCompaction,
    /// The file's values are in blob files that are mostly garbage.
    ForcedBlobGC,
    /// Files change their level at the end of a manual compaction.
    RefitLevel,
    /// Universal: too much data exists besides the oldest sorted run.
    UniversalSizeAmplification,
    /// Universal: several sorted runs are of similar size.
    UniversalSizeRatio,
    /// Universal: there are too many sorted runs.
    UniversalSortedRunNum,
    /// FIFO: the total size exceeds the limit, and the oldest files are dropped.
    FIFOMaxSize,
    /// FIFO: small files are merged.
    FIFOReduceNumFiles,
    /// FIFO: files are older than `ttl`, and are dropped.
    FIFOTtl,
    /// FIFO: a file is rewritten for storage of another temperature.
    ChangeTemperature,
    /// A range tombstone covers all of some files, which are dropped. Not one of RocksDB's.
    FilesCoveredByRangeTombstone,
}

impl fmt::Display for CompactionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The files of one level, in the level's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelFiles {
    /// The level of the files.
    pub level: usize,
    /// The files: in L0 the newest first, otherwise by key.
    pub files: Vec<Arc<FileMetadata>>,
}

impl LevelFiles {
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files
            .iter()
            .fold(0, |sum: u64, file| sum.saturating_add(file.size))
    }
}

/// The place of rows that are too recent for the last level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpperOutput {
    /// The level: the one above the last level.
    pub level: usize,
    /// Rows up to this sequence number go to the last level, whatever their age: some of them are there
    /// already, and must not move up past others.
    pub keep_through: SeqNo,
}

/// One compaction, decided but not started. Pass it to [`Running::start`](crate::Running::start) before the
/// next pick.
///
/// It displays as `L0 [000012 000015] + L4 [000007] -> L4, reason LevelL0FilesNum, 12.3 MB`, followed by
/// `, trivial move`, `, deletion` or `, bottommost` where that applies, and `, recent rows -> L3` with an
/// [`upper`](Plan::upper) output.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The inputs by ascending level, without empty levels. Leveled compactions have one level, or a level
    /// and the output level.
    pub inputs: Vec<LevelFiles>,
    /// The output level.
    pub output_level: usize,
    /// The output of rows that are too recent for the output level; `None`: all rows go to one level.
    pub upper: Option<UpperOutput>,
    /// The files that overlap the output in the first level below it that has any. The output is cut with
    /// regard to them.
    pub grandparents: Vec<Arc<FileMetadata>>,
    /// True if nothing is rewritten: the files are moved to the output level unchanged. Files that are in
    /// that level already stay.
    pub trivial_move: bool,
    /// True if nothing is read or written: the files are dropped with all their entries.
    pub deletion: bool,
    /// The compression of the output; `None`: the options decide by level.
    pub compression: Option<CompressionType>,
    /// The temperature of the output; `None`: the options decide by level.
    pub output_temperature: Option<Temperature>,
    /// The number of the output's directory; `None`: the directory that [fits](crate::path).
    pub output_path_id: Option<u32>,
    /// The blob garbage collection that the caller asked for.
    pub blob_garbage: BlobGarbageRequest,
    /// The caller's flag that cancels this compaction.
    pub canceled: Option<Arc<AtomicBool>>,
    /// Rows newer than this timestamp are dropped, as if they had never been written; `None`: none are.
    pub trim_ts: Option<Arc<[u8]>>,
    /// True if no older data exists in the key range of the inputs: deletions and sequence numbers may be
    /// dropped.
    pub bottommost: bool,
    /// True if every file of the version takes part in the compaction.
    pub is_full_compaction: bool,
    /// The size of an output file in bytes.
    pub target_file_size: u64,
    /// The size in bytes at which an output file is closed in any case.
    pub max_output_file_size: u64,
    /// The maximum bytes of an output file together with the grandparents it overlaps.
    pub max_compaction_bytes: u64,
    /// Why the files are compacted.
    pub reason: CompactionReason,
    /// The score of the level; 0 where no level's size is the reason.
    pub score: f64,
    /// The smallest user key of the inputs, as in the files' bounds.
    pub smallest_user_key: Box<[u8]>,
    /// Largest user key of the inputs.
    pub largest_user_key: Box<[u8]>,
    cmp: UserComparator,
    beyond: BeyondOutput,
}

/// The parts of a plan that its picker decides; the other fields follow from the version.
pub(crate) struct Parts<'a> {
    pub(crate) version: &'a Version,
    pub(crate) inputs: Vec<LevelFiles>,
    pub(crate) output_level: usize,
    pub(crate) grandparents: Vec<Arc<FileMetadata>>,
    pub(crate) trivial_move: bool,
    pub(crate) target_file_size: u64,
    pub(crate) max_compaction_bytes: u64,
    pub(crate) reason: CompactionReason,
    pub(crate) score: f64,
}

impl Plan {
    /// Sets the output's directory, if `path_id` names one. Inputs in other directories are rewritten,
    /// not moved.
    pub fn write_to(&mut self, path_id: Option<u32>) {
        let Some(path_id) = path_id else { return };
        self.output_path_id = Some(path_id);
        let stays = self.files().all(|(_, file)| file.path_id == path_id);
        self.trivial_move &= stays;
    }

    /// True if the compression or the temperature of the output is not that of the options.
    pub fn overrides_output(&self) -> bool {
        self.compression.is_some() || self.output_temperature.is_some()
    }

    pub(crate) fn new(parts: Parts<'_>) -> Plan {
        let version = parts.version;
        let cmp = version.cmp().user().clone();
        let (smallest, largest) = user_key_range(&cmp, &parts.inputs);
        let output_level = parts.output_level;
        // A move between levels drops no entries, so it never counts as bottommost.
        let bottommost = parts.reason != CompactionReason::RefitLevel
            && is_bottommost(version, &parts.inputs, output_level, smallest, largest);
        let beyond = if bottommost {
            BeyondOutput::nothing(cmp.clone())
        } else if output_level == 0 {
            BeyondOutput::anything(cmp.clone())
        } else {
            let runs = (output_level + 1..version.num_levels()).map(|level| {
                let range = version.overlapping_range(level, Some(smallest), Some(largest));
                let key = |internal: &[u8]| order::bare_user_key(&cmp, internal).into();
                let files = version.files(level)[range].iter();
                let range = |file: &Arc<FileMetadata>| KeyRange {
                    smallest: key(&file.smallest),
                    largest: key(&file.largest),
                };
                files.map(range).collect()
            });
            BeyondOutput::new(cmp.clone(), runs.collect())
        };
        let num_inputs: usize = parts.inputs.iter().map(|input| input.files.len()).sum();
        let aligned = !bottommost && !parts.grandparents.is_empty();
        Plan {
            output_level,
            upper: None,
            trivial_move: parts.trivial_move,
            deletion: false,
            compression: None,
            output_temperature: None,
            output_path_id: None,
            blob_garbage: BlobGarbageRequest::default(),
            canceled: None,
            trim_ts: None,
            bottommost,
            is_full_compaction: num_inputs == version.num_files(),
            target_file_size: parts.target_file_size,
            // Above the bottom a file may exceed the target until a grandparent's boundary comes.
            max_output_file_size: parts.target_file_size.saturating_mul(if aligned { 2 } else { 1 }),
            max_compaction_bytes: parts.max_compaction_bytes,
            reason: parts.reason,
            score: parts.score,
            smallest_user_key: smallest.into(),
            largest_user_key: largest.into(),
            grandparents: parts.grandparents,
            inputs: parts.inputs,
            cmp,
            beyond,
        }
    }

    /// The order of user keys.
    pub fn comparator(&self) -> &UserComparator {
        &self.cmp
    }

    /// The topmost input level.
    pub fn start_level(&self) -> usize {
        self.inputs[0].level
    }

    /// The bytes of all inputs.
    pub fn input_bytes(&self) -> u64 {
        self.inputs
            .iter()
            .fold(0, |sum: u64, input| sum.saturating_add(input.bytes()))
    }

    /// True if the plan rewrites files in the single level of its inputs, and no user asked for it.
    pub fn is_in_place(&self) -> bool {
        let is_automatic = !matches!(
            self.reason,
            CompactionReason::ManualCompaction | CompactionReason::RefitLevel
        );
        is_automatic
            && !self.trivial_move
            && !self.deletion
            && self.inputs.iter().all(|input| input.level == self.output_level)
    }

    /// All input files with their levels.
    pub fn files(&self) -> impl Iterator<Item = (usize, &Arc<FileMetadata>)> {
        self.inputs
            .iter()
            .flat_map(|input| input.files.iter().map(|file| (input.level, file)))
    }

    /// In a trivial move: the files that change their level, with the level they leave.
    pub fn moved_files(&self) -> impl Iterator<Item = (usize, &Arc<FileMetadata>)> {
        self.files().filter(|(level, _)| *level != self.output_level)
    }

    /// Number of input files.
    pub fn num_input_files(&self) -> usize {
        self.inputs.iter().map(|input| input.files.len()).sum()
    }

    /// The limits for cutting the output, with `borders` among the places.
    pub fn split_limits(&self, borders: Arc<[Border]>) -> SplitLimits {
        SplitLimits {
            output_level: self.output_level,
            grandparents: self.grandparents.clone(),
            target_file_size: self.target_file_size,
            max_output_file_size: self.max_output_file_size,
            max_compaction_bytes: self.max_compaction_bytes,
            borders,
        }
    }

    /// Lets recent rows go to the level above the last one, if the options say so and no other file of
    /// `version` has keys of their range in that level, as in RocksDB. Rows of the last level move up only in
    /// universal compactions, and only if all files of the upper level take part.
    pub fn place_by_age(&mut self, options: &LeveledOptions, version: &Version) {
        let Some(level) = options.upper_level(self.output_level) else {
            return;
        };
        if self.trivial_move || self.deletion || self.is_in_place() {
            return;
        }
        let is_input = |file: &FileMetadata| {
            self.files()
                .any(|(at, input)| at == level && input.number == file.number)
        };
        let others: Vec<_> = version
            .files(level)
            .iter()
            .filter(|file| !is_input(file))
            .collect();
        let may_rise = others.is_empty() && matches!(options.style, Style::Universal(_));
        let movable: Vec<LevelFiles> = (self.inputs.iter())
            .filter(|input| may_rise || input.level != self.output_level)
            .cloned()
            .collect();
        if movable.is_empty() {
            return;
        }
        let cmp = &self.cmp;
        let (smallest, largest) = user_key_range(cmp, &movable);
        let is_in_the_way = |file: &&Arc<FileMetadata>| {
            let (first, last) = (file.smallest_user_key(), internal_key::user_key(&file.largest));
            cmp.compare_without_timestamp(first, largest).is_le()
                && cmp.compare_without_timestamp(smallest, last).is_le()
        };
        if others.iter().any(is_in_the_way) {
            return;
        }
        let stay = self
            .files()
            .filter(|(at, _)| *at == self.output_level && !may_rise);
        let keep_through = stay.map(|(_, file)| file.largest_seqno).max().unwrap_or(0);
        self.upper = Some(UpperOutput { level, keep_through });
    }

    /// Records that any data may be below the output, whatever the version says: deletions and sequence
    /// numbers stay.
    pub fn keep_for_what_comes_below(&mut self) {
        self.bottommost = false;
        self.is_full_compaction = false;
        self.beyond = BeyondOutput::anything(self.cmp.clone());
    }

    /// The keys that may exist below the output.
    pub fn beyond(&self) -> BeyondOutput {
        self.beyond.clone()
    }

    /// The bounds, both internal keys, that the tombstones of file `file` of `inputs[input]` are truncated
    /// to.
    ///
    /// They are those of the file, or, where older releases let the versions of one user key span files,
    /// those of all the files so connected: tombstone coverage has no gap between them.
    pub fn tombstone_bounds(&self, input: usize, file: usize) -> (&[u8], &[u8]) {
        let LevelFiles { level, files } = &self.inputs[input];
        let connected = |left: usize| {
            *level > 0
                && order::boundaries(&self.cmp, &files[left].largest, &files[left + 1].smallest)
                    == Ordering::Equal
        };
        let (mut first, mut last) = (file, file);
        while first > 0 && connected(first - 1) {
            first -= 1;
        }
        while last + 1 < files.len() && connected(last) {
            last += 1;
        }
        (&files[first].smallest, &files[last].largest)
    }
}

impl Plan {
    /// The range tombstones of all inputs. `of_file` returns those of each file, which are truncated to its
    /// [bounds](Plan::tombstone_bounds).
    pub fn tombstones(
        &self,
        mut of_file: impl FnMut(&Arc<FileMetadata>) -> Result<Arc<FragmentedTombstones>>,
    ) -> Result<CompactionTombstones> {
        let mut sets = Vec::new();
        for (i, input) in self.inputs.iter().enumerate() {
            for (j, file) in input.files.iter().enumerate() {
                let set = of_file(file)?;
                if !set.is_empty() {
                    let (smallest, largest) = self.tombstone_bounds(i, j);
                    sets.push(set.truncate_shared(&self.cmp, smallest, largest));
                }
            }
        }
        let sets: Vec<&FragmentedTombstones> = sets.iter().map(|set| &**set).collect();
        let tombstones = CompactionTombstones::new(self.cmp.clone(), &sets);
        Ok(match &self.trim_ts {
            Some(trim_ts) => tombstones.trimmed_to(trim_ts.clone()),
            None => tombstones,
        })
    }

    /// The rules for the compaction cursor, as far as the plan decides them. The caller adds snapshots,
    /// tombstones, operator, filter and blobs.
    pub fn rules(&self) -> CompactionRules {
        CompactionRules {
            bottommost: self.bottommost,
            beyond: self.beyond.clone(),
            level: self.start_level(),
            trim_ts: self.trim_ts.clone(),
            ..CompactionRules::new(self.cmp.clone())
        }
    }
}

/// The smallest and the largest user key of the inputs.
fn user_key_range<'a>(cmp: &UserComparator, inputs: &'a [LevelFiles]) -> (&'a [u8], &'a [u8]) {
    let files = || inputs.iter().flat_map(|input| &input.files);
    let smallest = files()
        .map(|file| file.smallest_user_key())
        .min_by(|a, b| cmp.compare(a, b));
    let largest = files()
        .map(|file| internal_key::user_key(&file.largest))
        .max_by(|a, b| cmp.compare(a, b));
    (smallest.unwrap_or_default(), largest.unwrap_or_default())
}

/// True if no data older than the inputs exists in their key range. For L0, to keep it simple: no older data
/// at all.
fn is_bottommost(
    version: &Version,
    inputs: &[LevelFiles],
    output_level: usize,
    smallest: &[u8],
    largest: &[u8],
) -> bool {
    if output_level == 0 {
        let oldest = version.files(0).last().map(|file| file.number);
        let oldest_input = inputs
            .first()
            .and_then(|input| input.files.last())
            .map(|file| file.number);
        return oldest == oldest_input
            && (1..version.num_levels()).all(|level| version.files(level).is_empty());
    }
    (output_level + 1..version.num_levels())
        .all(|level| !version.overlaps(level, Some(smallest), Some(largest)))
}

/// Bytes in a readable form: a number and `B`, `KB`, `MB`, `GB` or `TB`, each 1024 times the one before.
pub(crate) struct HumanBytes(pub(crate) u64);

impl fmt::Display for HumanBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        let mut size = self.0 as f64 / 1024.0;
        let mut units = ["KB", "MB", "GB"].iter();
        let unit = loop {
            match units.next() {
                Some(unit) if size < 1000.0 => break unit,
                Some(_) => size /= 1024.0,
                None => break &"TB",
            }
        };
        write!(f, "{size:.1} {unit}")
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, input) in self.inputs.iter().enumerate() {
            let plus = if i > 0 { " + " } else { "" };
            write!(f, "{plus}L{} [", input.level)?;
            for (i, file) in input.files.iter().enumerate() {
                let blank = if i > 0 { " " } else { "" };
                write!(f, "{blank}{:06}", file.number)?;
            }
            f.write_str("]")?;
        }
        let size = HumanBytes(self.input_bytes());
        write!(f, " -> L{}, reason {}, {size}", self.output_level, self.reason)?;
        if self.deletion {
            f.write_str(", deletion")?;
        } else if self.trivial_move {
            f.write_str(", trivial move")?;
        } else if self.bottommost {
            f.write_str(", bottommost")?;
        }
        match self.upper {
            Some(upper) => write!(f, ", recent rows -> L{}", upper.level),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        let shown: Vec<String> = [0, 1023, 1024, 12_897_485, 1023 << 20, u64::MAX]
            .iter()
            .map(|&bytes| HumanBytes(bytes).to_string())
            .collect();
        assert_eq!(
            shown,
            ["0 B", "1023 B", "1.0 KB", "12.3 MB", "1.0 GB", "16777216.0 TB"]
        );
    }
}
