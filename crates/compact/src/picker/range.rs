//! Manual compaction of a key range, level by level.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Error, ErrorKind, Result};

use super::context::PickContext;
use super::inputs::{
    Files, any_being_compacted, conflicts, do_not_overlap, grandparents, is_trivial_move, level_inputs,
    setup_other_inputs, total_bytes,
};
use super::universal::{Busy, pick_all};
use crate::blob_gc::{BlobGarbageCollectionPolicy, BlobGarbageRequest};
use crate::levels::LevelTargets;
use crate::plan::{CompactionReason, Parts, Plan};
use crate::styles::Style;

/// The output level of a manual compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputLevel {
    /// The compaction writes to this level.
    Level(usize),
    /// The base level at the time of the pick, for files of L0.
    Base,
}

/// The files of one level to compact.
#[derive(Clone, Copy, Debug)]
pub struct RangeRequest<'a> {
    /// The level of the files.
    pub input_level: usize,
    /// The output level; the input level itself to rewrite its files.
    pub output: OutputLevel,
    /// First user key, without timestamp; `None`: from the start.
    pub begin: Option<&'a [u8]>,
    /// Last user key, inclusive, without timestamp; `None`: to the end.
    pub end: Option<&'a [u8]>,
    /// Files with this number or a higher one were written since the manual compaction began, and are left
    /// out.
    pub max_file_num_to_ignore: Option<u64>,
    /// True if the compaction may move files instead of rewriting them.
    pub allow_trivial_move: bool,
}

/// The result of [`pick_range`].
#[derive(Debug)]
pub enum RangePick {
    /// A compaction of the range or its first part.
    Plan {
        /// The compaction.
        plan: Box<Plan>,
        /// The user key, without timestamp, at which the next compaction of the range begins; `None`: this
        /// one covers the whole range.
        rest: Option<Vec<u8>>,
    },
    /// No file is in the range.
    Nothing,
    /// A file that is needed is in another compaction: the caller tries again when that compaction has ended.
    Conflict,
}

/// The next compaction of a key range of one level, of at most `max_compaction_bytes` where possible.
pub fn pick_range(context: &PickContext<'_>, request: &RangeRequest<'_>) -> RangePick {
    if context.running.is_exclusive() {
        return RangePick::Conflict;
    }
    let files = Files::of(context.version);
    let level = request.input_level;
    let output_level = match request.output {
        OutputLevel::Level(level) => level,
        OutputLevel::Base => LevelTargets::new(context.version, context.options).base_level,
    };
    if level == 0 {
        let begin = request.begin.map(|begin| stamped(&files, begin, 0xff));
        let end = request.end.map(|end| stamped(&files, end, 0));
        let start = overlapping_level0(&files, begin.as_deref(), end.as_deref());
        if start.is_empty() {
            return RangePick::Nothing;
        }
        if context.running.level0_busy() || any_being_compacted(&start) {
            return RangePick::Conflict;
        }
        return complete(context, request, start, output_level, None);
    }

    let all = files.level(level);
    let begin = request.begin.map(|begin| stamped(&files, begin, 0xff));
    let end = request.end.map(|end| stamped(&files, end, 0));
    let mut todo = context
        .version
        .overlapping_range(level, begin.as_deref(), end.as_deref());
    let is_old = |at: &usize| {
        request
            .max_file_num_to_ignore
            .is_none_or(|first_new| all[*at].number < first_new)
    };
    while !todo.is_empty() {
        let taken = within_limit(context, &files, level, output_level, todo.clone());
        let rest = taken.end..todo.end;
        let Some(start) = taken.clone().find(is_old) else {
            todo = rest;
            continue;
        };
        let end = (start..taken.end).find(|at| !is_old(at)).unwrap_or(taken.end);
        let more = (end..todo.end).any(|at| is_old(&at));
        let range = files.clean_cut(level, start..end);
        let next = all.get(range.end).filter(|_| more);
        let next = next.map(|next| files.cmp.strip_timestamp(next.smallest_user_key()).to_vec());
        if any_being_compacted(&all[range.clone()]) {
            return RangePick::Conflict;
        }
        return complete(context, request, all[range].to_vec(), output_level, next);
    }
    RangePick::Nothing
}

/// As many files from the front of `range` as one compaction may have; at least one, so that there is
/// progress.
fn within_limit(
    context: &PickContext<'_>,
    files: &Files<'_>,
    level: usize,
    output_level: usize,
    range: Range<usize>,
) -> Range<usize> {
    let all = files.level(level);
    let mut bytes = all[range.start].size;
    for at in range.start + 1..range.end {
        bytes = bytes.saturating_add(all[at].size);
        let output = if output_level == level {
            0
        } else {
            let below = files.overlapping(output_level, files.bounds(&all[range.start..=at]));
            total_bytes(&files.level(output_level)[below])
        };
        if bytes.saturating_add(output) > context.options.max_compaction_bytes() {
            return range.start..at;
        }
    }
    range
}

fn overlapping_level0(
    files: &Files<'_>,
    begin: Option<&[u8]>,
    end: Option<&[u8]>,
) -> Vec<Arc<manifest::FileMetadata>> {
    // First the files that overlap the range, then all that overlap those.
    let first = files.version.overlapping(0, begin, end);
    if first.is_empty() {
        return first;
    }
    let chosen: Vec<_> = files
        .level(0)
        .iter()
        .filter(|file| first.iter().any(|f| Arc::ptr_eq(f, file)))
        .collect();
    let bounds = files.bounds(chosen);
    let user = |key| Some(base::internal_key::user_key(key));
    files.overlapping_level0(user(bounds.smallest), user(bounds.largest))
}

/// `key` with a timestamp whose bytes are all `byte`, which comparisons ignore, if the family has
/// timestamps.
fn stamped(files: &Files<'_>, key: &[u8], byte: u8) -> Vec<u8> {
    let mut stamped = key.to_vec();
    stamped.resize(key.len() + files.cmp.timestamp_size(), byte);
    stamped
}

fn complete(
    context: &PickContext<'_>,
    request: &RangeRequest<'_>,
    start: Vec<Arc<manifest::FileMetadata>>,
    output_level: usize,
    rest: Option<Vec<u8>>,
) -> RangePick {
    let level = request.input_level;
    let Some(inputs) = setup_other_inputs(context, level, start, output_level, any_being_compacted) else {
        return RangePick::Conflict;
    };
    if conflicts(context, &inputs, output_level) {
        return RangePick::Conflict;
    }
    let trivial_move = request.allow_trivial_move && is_trivial_move(context, &inputs, output_level, true);
    let base_level = LevelTargets::new(context.version, context.options).base_level;
    let plan = Plan::new(Parts {
        version: context.version,
        grandparents: grandparents(context.version, &inputs, output_level),
        inputs,
        output_level,
        trivial_move,
        target_file_size: context.options.target_file_size(output_level, base_level),
        max_compaction_bytes: context.options.max_compaction_bytes(),
        reason: CompactionReason::ManualCompaction,
        score: 0.0,
    });
    RangePick::Plan {
        plan: Box::new(plan),
        rest,
    }
}

/// Whether a manual compaction also rewrites files that are at the bottom already.
///
/// See the example of [`CompactRangeOptions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BottommostLevelCompaction {
    /// Files at the bottom are not rewritten.
    Skip,
    /// Files at the bottom are rewritten if the family has a compaction filter. The default.
    #[default]
    IfHaveCompactionFilter,
    /// All files at the bottom are rewritten, including those that the compaction has just written.
    Force,
    /// All files at the bottom are rewritten that the compaction has not written itself.
    ForceOptimized,
}

/// The options of a manual compaction. The names and defaults are RocksDB's.
///
/// ```
/// # use esker_compact as esker;
///
/// use esker::{BlobGarbageCollectionPolicy, BottommostLevelCompaction, CompactRangeOptions};
///
/// let options = CompactRangeOptions {
///     bottommost_level_compaction: BottommostLevelCompaction::Force,
///     blob_garbage_collection_policy: BlobGarbageCollectionPolicy::Force,
///     ..Default::default()
/// };
/// assert!(!options.is_canceled());
/// ```
#[derive(Clone, Debug, Default)]
pub struct CompactRangeOptions {
    /// No other compaction runs at the same time: this one waits for the running ones to end, and none
    /// starts before it has ended. Default: false.
    pub exclusive_manual_compaction: bool,
    /// Memtables are flushed first, even if that delays or stops writes. Otherwise the flush waits until it
    /// would not, as long as compactions or flushes that help are expected. Default: false.
    pub allow_write_stall: bool,
    /// Any thread may set this flag to cancel the compaction, which then fails with `Incomplete`. The
    /// flag is checked between steps and between blocks of the output, and, while the compaction waits
    /// for another job of the database, when a job ends. Completed steps stay. Default: `None`.
    pub canceled: Option<Arc<AtomicBool>>,
    /// The files end up in `target_level`, if it and the levels between are empty. Default: false.
    pub change_level: bool,
    /// The level for `change_level`; `None`: the highest level that can hold the files. Default: `None`.
    pub target_level: Option<usize>,
    /// Whether files at the bottom are rewritten. Default: `IfHaveCompactionFilter`.
    pub bottommost_level_compaction: BottommostLevelCompaction,
    /// The number of threads that may write one compaction; 0: the database's option. Default: 0.
    pub max_subcompactions: u32,
    /// The number of the output's directory in `cf_paths` or `db_paths`; `None`: the directory that
    /// compactions choose for each level. RocksDB's default is 0, which moves everything into the first
    /// directory however small its target size is. Default: `None`.
    pub target_path_id: Option<u32>,
    /// Whether values of old blob files are relocated, so that those files become obsolete. Files that are
    /// moved and not rewritten keep their values where they are: see `bottommost_level_compaction`. Default:
    /// `UseDefault`.
    pub blob_garbage_collection_policy: BlobGarbageCollectionPolicy,
    /// With `blob_garbage_collection_policy` at `Force`: the part of the blob files that counts as old,
    /// from 0 to 1. `None`: the family's `blob_garbage_collection_age_cutoff`. Default: `None`.
    pub blob_garbage_collection_age_cutoff: Option<f64>,
    /// The family's `full_history_ts_low` is raised to this timestamp first, so that the compaction drops
    /// older versions: see `Db::increase_full_history_ts_low`. `InvalidArgument` together with a range of
    /// keys. Default: `None`.
    pub full_history_ts_low: Option<Vec<u8>>,
}

impl CompactRangeOptions {
    /// Returns `InvalidArgument`, with the option's name, for a value out of range.
    pub fn check(&self) -> Result<()> {
        match self.blob_garbage_collection_age_cutoff {
            Some(cutoff) if !(0.0..=1.0).contains(&cutoff) => Err(Error::invalid_argument(format!(
                "blob_garbage_collection_age_cutoff={cutoff} is outside 0..=1"
            ))),
            _ => Ok(()),
        }
    }

    /// True if the caller has cancelled the compaction.
    pub fn is_canceled(&self) -> bool {
        let flag = self.canceled.as_ref();
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// The blob garbage collection that these options ask for.
    pub fn blob_garbage(&self) -> BlobGarbageRequest {
        BlobGarbageRequest {
            policy: self.blob_garbage_collection_policy,
            age_cutoff: self.blob_garbage_collection_age_cutoff,
        }
    }
}

/// The next step of a [`RangeCompaction`].
#[derive(Debug)]
pub enum RangeStep {
    /// The caller runs this compaction, and then asks again with the resulting version.
    Compact(Box<Plan>),
    /// Another compaction has files that are needed: the caller asks again when one has ended.
    Wait,
    /// The manual compaction is complete.
    Done,
}

/// A manual compaction of a key range, step by step: from the first level with files in it down to the last;
/// then, if asked for, the last level itself; and last the move to another level.
///
/// It only decides about steps. If a step fails, the whole compaction fails.
#[derive(Debug)]
pub struct RangeCompaction {
    options: CompactRangeOptions,
    begin: Option<Vec<u8>>,
    end: Option<Vec<u8>>,
    has_filter: bool,
    /// The number that the next file would have had when the compaction began.
    next_file_number: u64,
    phase: Phase,
    /// Where the compaction of the current level continues; the outer `None`: at `begin`.
    at: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Start,
    /// The range is compacted level by level.
    Levels,
    /// All files are compacted at once: to compact a part of a sorted run would create one more run.
    All,
    /// Files that FIFO compaction would drop anyway are dropped now.
    Fifo,
    /// Files of this level go one level down.
    Down(usize),
    /// Files of this level are rewritten.
    Bottom(usize),
    /// Files of this level are moved.
    Refit(usize),
    Done,
}

impl RangeCompaction {
    /// A manual compaction of the user keys from `begin` to `end`, both inclusive and without timestamps,
    /// `None`: unbounded. `has_filter`: the family has a compaction filter. `next_file_number`: that of the
    /// next new file.
    pub fn new(
        options: CompactRangeOptions,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        has_filter: bool,
        next_file_number: u64,
    ) -> RangeCompaction {
        RangeCompaction {
            options,
            begin: begin.map(<[u8]>::to_vec),
            end: end.map(<[u8]>::to_vec),
            has_filter,
            next_file_number,
            phase: Phase::Start,
            at: None,
        }
    }

    /// The next step. The plan of the previous step must have been run and
    /// [`finish`](super::Running::finish)ed.
    pub fn step(&mut self, context: &PickContext<'_>) -> Result<RangeStep> {
        loop {
            match self.phase {
                Phase::Start if context.options.style != Style::Level => {
                    self.phase = match (&context.options.style, context.version.num_levels()) {
                        (Style::Fifo(_), _) => Phase::Fifo,
                        (Style::Universal(_), 2..) => Phase::All,
                        // With one level, or without a compaction style, the files of L0 are merged into one
                        // file.
                        (_, 1) if !context.version.files(0).is_empty() => Phase::All,
                        _ => Phase::Levels,
                    };
                }
                Phase::All => match pick_all(context) {
                    Err(Busy) => return Ok(RangeStep::Wait),
                    Ok(plan) => {
                        self.phase = self.refit_or_done(context.version.num_levels() - 1);
                        if let Some(plan) = plan {
                            return Ok(RangeStep::Compact(Box::new(plan)));
                        }
                    }
                },
                Phase::Fifo => {
                    self.phase = Phase::Done;
                    if let Some(plan) = super::pick(context) {
                        return Ok(RangeStep::Compact(Box::new(plan)));
                    }
                }
                Phase::Start | Phase::Levels => {
                    let files = Files::of(context.version);
                    let begin = self.begin.as_ref().map(|begin| stamped(&files, begin, 0xff));
                    let end = self.end.as_ref().map(|end| stamped(&files, end, 0));
                    let overlaps =
                        |level: &usize| context.version.overlaps(*level, begin.as_deref(), end.as_deref());
                    let first = (0..context.version.num_levels()).find(overlaps);
                    self.phase = match first {
                        Some(level) => self.below(context, level),
                        None => Phase::Done,
                    };
                }
                Phase::Down(level) => {
                    let base = LevelTargets::new(context.version, context.options).base_level;
                    let (output, output_level) = match level {
                        0 => (OutputLevel::Base, base),
                        _ => (OutputLevel::Level(level + 1), level + 1),
                    };
                    let picked = self.pick(context, level, output, None);
                    if let Some(step) = self.took(picked, self.below(context, output_level)) {
                        return Ok(step);
                    }
                }
                Phase::Bottom(level) => {
                    let first_new = match self.options.bottommost_level_compaction {
                        BottommostLevelCompaction::Force => None,
                        _ => Some(self.next_file_number),
                    };
                    let picked = self.pick(context, level, OutputLevel::Level(level), first_new);
                    if let Some(step) = self.took(picked, self.refit_or_done(level)) {
                        return Ok(step);
                    }
                }
                Phase::Refit(level) => {
                    let step = refit(context, level, self.options.target_level)?;
                    if !matches!(step, RangeStep::Wait) {
                        self.phase = Phase::Done;
                    }
                    return Ok(step);
                }
                Phase::Done => return Ok(RangeStep::Done),
            }
        }
    }

    fn pick(
        &self,
        context: &PickContext<'_>,
        input_level: usize,
        output: OutputLevel,
        max_file_num_to_ignore: Option<u64>,
    ) -> RangePick {
        pick_range(
            context,
            &RangeRequest {
                input_level,
                output,
                begin: self.at.as_deref().or(self.begin.as_deref()),
                end: self.end.as_deref(),
                max_file_num_to_ignore,
                // With a filter, files are rewritten, because the filter must see every entry.
                allow_trivial_move: !self.has_filter && output != OutputLevel::Level(input_level),
            },
        )
    }

    /// Takes the pick of the current phase; `next` is the phase that follows when no files are left.
    fn took(&mut self, picked: RangePick, next: Phase) -> Option<RangeStep> {
        match picked {
            RangePick::Plan { plan, rest } => {
                if rest.is_none() {
                    self.phase = next;
                }
                self.at = rest;
                Some(RangeStep::Compact(plan))
            }
            RangePick::Conflict => Some(RangeStep::Wait),
            RangePick::Nothing => {
                self.phase = next;
                self.at = None;
                None
            }
        }
    }

    /// The phase that follows once the files of the range are in `level` or below.
    fn below(&self, context: &PickContext<'_>, level: usize) -> Phase {
        let version = context.version;
        // With fixed level sizes, files below the last level with files would only be moved further and
        // further.
        let levels = if context.options.level_compaction_dynamic_level_bytes {
            version.num_levels()
        } else {
            version.num_non_empty_levels()
        };
        if level == 0 && version.num_levels() > 1 {
            return Phase::Down(0);
        }
        if level > 0 && level + 1 < levels {
            return Phase::Down(level);
        }
        let rewrites = match self.options.bottommost_level_compaction {
            BottommostLevelCompaction::Skip => false,
            BottommostLevelCompaction::IfHaveCompactionFilter => self.has_filter,
            BottommostLevelCompaction::Force | BottommostLevelCompaction::ForceOptimized => true,
        };
        if rewrites {
            Phase::Bottom(level)
        } else {
            self.refit_or_done(level)
        }
    }

    fn refit_or_done(&self, level: usize) -> Phase {
        if self.options.change_level {
            Phase::Refit(level)
        } else {
            Phase::Done
        }
    }
}

/// Moves all files of L0 to `target_level`, where the levels from L1 to that one are empty and no two files
/// overlap.
///
/// # Errors
/// `InvalidArgument` if those conditions do not hold, or there is no such level below L0.
pub fn promote_level0(context: &PickContext<'_>, target_level: usize) -> Result<RangeStep> {
    let version = context.version;
    if target_level == 0 || target_level >= version.num_levels() {
        return Err(Error::invalid_argument(format!(
            "Target level does not exist: {target_level} of {}",
            version.num_levels()
        )));
    }
    if let Some(level) = (1..=target_level).find(|&level| !version.files(level).is_empty()) {
        return Err(Error::invalid_argument(format!(
            "Files in level {level} are in the way"
        )));
    }
    let files = version.files(0);
    if files.is_empty() {
        return Ok(RangeStep::Done);
    }
    if !do_not_overlap(version, files) {
        return Err(Error::invalid_argument("Files of L0 overlap"));
    }
    if !context.running.is_empty() {
        return Ok(RangeStep::Wait);
    }
    Ok(RangeStep::Compact(Box::new(Plan::new(Parts {
        version,
        inputs: level_inputs(0, files.to_vec(), target_level, &[]),
        output_level: target_level,
        grandparents: Vec::new(),
        trivial_move: true,
        target_file_size: u64::MAX,
        max_compaction_bytes: u64::MAX,
        reason: CompactionReason::RefitLevel,
        score: 0.0,
    }))))
}

/// Moves all files of `level` to `target_level` (`None`: to the highest empty level that may hold as much).
fn refit(context: &PickContext<'_>, level: usize, target_level: Option<usize>) -> Result<RangeStep> {
    let version = context.version;
    let files = version.files(level);
    if files.is_empty() {
        return Ok(RangeStep::Done);
    }
    let targets = LevelTargets::new(version, context.options);
    let to = match target_level {
        Some(to) if to >= version.num_levels() => {
            return Err(Error::invalid_argument("Target level exceeds number of levels"));
        }
        Some(to) => to,
        None => {
            let holds = |&to: &usize| {
                version.files(to).is_empty() && targets.max_bytes[to] >= version.level_bytes(level)
            };
            (1..level).rev().take_while(holds).last().unwrap_or(level)
        }
    };
    if to == level {
        return Ok(RangeStep::Done);
    }
    if level == 0 {
        return Err(Error::not_supported(
            "Cannot change from level 0 to other levels.",
        ));
    }
    if to == 0 && files.len() > 1 {
        return Err(Error::new(
            ErrorKind::Aborted,
            "Moving more than 1 file from non-L0 to L0 is not allowed as it does not bring any benefit to read nor \
             write throughput.",
        ));
    }
    let mut between = if to > level {
        level + 1..=to
    } else {
        to..=level - 1
    };
    if between.any(|between| !version.files(between).is_empty()) {
        return Err(Error::not_supported(
            "Levels between source and target are not empty for a move.",
        ));
    }
    let inputs = level_inputs(level, files.to_vec(), to, &[]);
    // A move between levels must be the only job until it is installed.
    if !context.running.is_empty() {
        return Ok(RangeStep::Wait);
    }
    Ok(RangeStep::Compact(Box::new(Plan::new(Parts {
        version,
        inputs,
        output_level: to,
        grandparents: Vec::new(),
        trivial_move: true,
        target_file_size: context.options.target_file_size(to, targets.base_level),
        max_compaction_bytes: u64::MAX,
        reason: CompactionReason::RefitLevel,
        score: 0.0,
    }))))
}
