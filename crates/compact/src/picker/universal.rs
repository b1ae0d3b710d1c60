//! Universal compaction: the data is a sequence of *sorted runs*, the newest first (each file of L0, then
//! each level), and a compaction always takes a contiguous part of it. It writes less than leveled compaction
//! and needs more space.
//!
//! The rules are RocksDB's, in this order: data that is too old; too much data besides the oldest run (*size
//! amplification*); runs of similar size (*size ratio*); too many runs; files marked for compaction.

use std::ops::Range;
use std::sync::Arc;

use codec::compression::CompressionType;
use manifest::{FileMetadata, Version};

use super::context::PickContext;
use super::inputs::{
    Files, any_being_compacted, any_busy, conflicts, do_not_overlap, grandparents, keys_are_reserved,
    setup_other_inputs, total_bytes,
};
use crate::due::is_past_period;
use crate::options::LeveledOptions;
use crate::plan::{CompactionReason, LevelFiles, Parts, Plan};
use crate::score::Weights;
use crate::styles::{CompactionOptionsUniversal, CompactionStopStyle};

/// The most urgent compaction; `None` if none is needed or all conflict with running ones.
///
/// Pure, as [`pick_leveled`](super::leveled::pick_leveled). Cost: a pass over the metadata of all files.
pub fn pick_universal(context: &PickContext<'_>, options: &CompactionOptionsUniversal) -> Option<Plan> {
    if context.running.is_exclusive() {
        return None;
    }
    let picker = Picker {
        context,
        options,
        runs: sorted_runs(context.version),
    };
    let plan = picker.pick()?;
    Some(picker.moved_if_possible(plan))
}

/// The compaction of all files at once into the last level, as a manual compaction does it. `None` without
/// files.
pub(crate) fn pick_all(context: &PickContext<'_>) -> Result<Option<Plan>, Busy> {
    let version = context.version;
    let levels = (0..version.num_levels()).filter(|&level| !version.files(level).is_empty());
    let inputs: Vec<LevelFiles> = levels
        .map(|level| LevelFiles {
            level,
            files: version.files(level).to_vec(),
        })
        .collect();
    if inputs.is_empty() {
        return Ok(None);
    }
    let output_level = version.num_levels() - 1;
    let busy = inputs.iter().any(|input| any_being_compacted(&input.files));
    if busy || context.running.is_exclusive() || conflicts(context, &inputs, output_level) {
        return Err(Busy);
    }
    let reason = CompactionReason::ManualCompaction;
    Ok(Some(plan_of(
        context,
        inputs,
        output_level,
        Vec::new(),
        reason,
        0.0,
    )))
}

/// A file that is needed is in another compaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Busy;

/// The size of an output file at `level` in bytes: an output in L0 is one file.
pub(crate) fn target_file_size(options: &LeveledOptions, level: usize) -> u64 {
    match level {
        0 => u64::MAX,
        level => options.target_file_size(level, 1),
    }
}

fn plan_of(
    context: &PickContext<'_>,
    inputs: Vec<LevelFiles>,
    output_level: usize,
    grandparents: Vec<Arc<FileMetadata>>,
    reason: CompactionReason,
    score: f64,
) -> Plan {
    Plan::new(Parts {
        version: context.version,
        inputs,
        output_level,
        grandparents,
        trivial_move: false,
        target_file_size: target_file_size(context.options, output_level),
        max_compaction_bytes: u64::MAX,
        reason,
        score,
    })
}

/// A sorted run: a file of L0, or a level.
struct SortedRun {
    level: usize,
    /// The indexes of the run's files within the level.
    files: Range<usize>,
    bytes: u64,
    /// The bytes as [`Weights`] counts them.
    weight: u64,
    /// True if one of the run's files is in a compaction.
    busy: bool,
}

/// The sorted runs, the newest first.
fn sorted_runs(version: &Version) -> Vec<SortedRun> {
    let weights = Weights::new(version);
    let run = |level: usize, files: Range<usize>| {
        let of = &version.files(level)[files.clone()];
        SortedRun {
            level,
            files,
            bytes: total_bytes(of),
            weight: of
                .iter()
                .fold(0u64, |sum, file| sum.saturating_add(weights.of(file))),
            busy: any_busy(of),
        }
    };
    let level0 = (0..version.files(0).len()).map(|at| run(0, at..at + 1));
    let levels = (1..version.num_levels()).filter(|&level| !version.files(level).is_empty());
    level0
        .chain(levels.map(|level| run(level, 0..version.files(level).len())))
        .collect()
}

struct Picker<'a> {
    context: &'a PickContext<'a>,
    options: &'a CompactionOptionsUniversal,
    runs: Vec<SortedRun>,
}

/// The percentage by which a run may be larger than the newer ones and still be taken in; `None`: any size.
type Ratio = Option<u32>;

impl Picker<'_> {
    fn trigger(&self) -> usize {
        self.context.options.level0_file_num_compaction_trigger
    }

    fn score(&self) -> f64 {
        let idle = self.runs.iter().filter(|run| !run.busy).count();
        idle as f64 / self.trigger().max(1) as f64
    }

    fn pick(&self) -> Option<Plan> {
        if self.runs.is_empty() {
            return None;
        }
        if let Some(plan) = self.pick_periodic() {
            return Some(plan);
        }
        let mut plan = None;
        if self.runs.len() >= self.trigger() {
            let least = (self.options.min_merge_width as usize).max(2);
            plan = self
                .reduce_size_amplification()
                .or_else(|| self.reduce_sorted_runs(Some(self.options.size_ratio), usize::MAX, least))
                .or_else(|| self.reduce_to(self.limit(), least))
                .or_else(|| self.reduce_to(self.undelayed_runs(), 2));
        }
        plan.or_else(|| self.pick_marked())
            .or_else(|| self.pick_rewrite())
    }

    /// The compaction of all runs from the oldest one up to the first busy one, if a file is older than
    /// `periodic_compaction_seconds`.
    fn pick_periodic(&self) -> Option<Plan> {
        let context = self.context;
        let is_old =
            |file: &FileMetadata| file.is_idle() && is_past_period(file, context.options, context.now);
        if !context.version.all_files().any(|(_, file)| is_old(file)) {
            return None;
        }
        let start = self.first_idle(self.runs.len());
        let taken = self.runs.get(start..).filter(|taken| !taken.is_empty())?;
        // A compaction of the oldest run alone would change nothing, unless that run is too old itself.
        if let [only] = taken
            && !self.files(only).iter().any(|file| is_old(file))
        {
            return None;
        }
        self.merge(start..self.runs.len(), true, CompactionReason::PeriodicCompaction)
    }

    /// The first of the idle runs directly before `end`.
    fn first_idle(&self, end: usize) -> usize {
        let idle = self.runs[..end].iter().rev().take_while(|run| !run.busy).count();
        end - idle
    }

    fn files(&self, run: &SortedRun) -> &[Arc<FileMetadata>] {
        &self.context.version.files(run.level)[run.files.clone()]
    }

    /// All data newer than the oldest run counts as space amplification.
    fn reduce_size_amplification(&self) -> Option<Plan> {
        // If recent rows stay out of the last level, its size says nothing about their garbage.
        let skips_last = self
            .context
            .options
            .upper_level(self.runs[self.runs.len() - 1].level)
            .is_some();
        let last = self.runs.len() - 1 - usize::from(skips_last && self.runs.len() > 1);
        let base = self.runs[last].bytes;
        if self.runs[last].busy {
            return None;
        }
        let start = self.first_idle(last);
        let newer = &self.runs[start..last];
        if newer.is_empty() {
            return None;
        }
        let weight = sum(newer.iter().map(|run| run.weight));
        let (left_out, weight) = self.leave_newest(start, last, weight);
        let limit = u64::from(self.options.max_size_amplification_percent);
        if u128::from(weight) * 100 < u128::from(limit) * u128::from(base) {
            return None;
        }
        let reason = CompactionReason::UniversalSizeAmplification;
        self.merge(start + left_out..last + 1, true, reason)
    }

    /// The number of the newest files of L0 that a compaction of `start..=last` should leave out, so that
    /// they can be merged meanwhile and writes need not stop; and the weight of the remaining runs besides
    /// the oldest.
    fn leave_newest(&self, start: usize, last: usize, weight: u64) -> (usize, u64) {
        let level0 = self.runs[start..last].iter().filter(|run| run.level == 0).count();
        if level0 == 0 {
            return (0, weight);
        }
        // The compaction must keep one file of L0 and two runs.
        let most = (level0 - 1).min(last - start - 1);
        let stop = self.context.options.level0_stop_writes_trigger;
        let before_stop = stop.saturating_sub(last - start + 1);
        let out_of = |width: u32| (width as usize).saturating_sub(before_stop).min(most);
        let base = u128::from(self.runs[last].bytes);
        let limit = u128::from(self.options.max_size_amplification_percent);
        let (mut left_out, mut left) = (0, weight);
        let candidates = out_of(self.options.min_merge_width)..=out_of(self.options.max_merge_width);
        for candidate in candidates {
            let without = sum(self.runs[start + left_out..start + candidate]
                .iter()
                .map(|run| run.weight));
            let smaller = left.saturating_sub(without);
            // The smaller compaction must still exceed the limit and keep nine tenths of the weight.
            if u128::from(smaller) * 100 < limit * base || u128::from(smaller) < u128::from(weight) * 9 / 10 {
                break;
            }
            (left_out, left) = (candidate, smaller);
        }
        (left_out, left)
    }

    /// The maximum number of sorted runs.
    fn limit(&self) -> usize {
        match self.options.max_read_amp {
            0 if self.options.stop_style == CompactionStopStyle::TotalSize => self.expected_runs(),
            limit @ 1.. => limit as usize,
            _ => self.trigger(),
        }
    }

    /// The number of sorted runs at which no write is delayed or stopped. More runs are always reduced to it,
    /// whatever the other options say. RocksDB has no such rule, and its writes may stall indefinitely.
    fn undelayed_runs(&self) -> usize {
        let options = self.context.options;
        let slowdown = options.level0_slowdown_writes_trigger.unwrap_or(usize::MAX);
        slowdown.min(options.level0_stop_writes_trigger).saturating_sub(1)
    }

    /// Where there are more runs than `limit`: a compaction of as many newer runs as exceed it, but not fewer
    /// than `least`.
    fn reduce_to(&self, limit: usize, least: usize) -> Option<Plan> {
        let idle = self.runs.iter().filter(|run| !run.busy).count();
        let too_many = idle.checked_sub(limit).filter(|&more| more > 0)?;
        self.reduce_sorted_runs(None, too_many + 1, least)
    }

    /// The number of runs if each is as large as it may be without a compaction by size ratio, from memtables
    /// on.
    fn expected_runs(&self) -> usize {
        let largest = self.runs.iter().map(|run| run.bytes).max().unwrap_or(0) as f64;
        let mut size = (self.context.options.write_buffer_size as f64).max(1.0);
        let (mut total, mut runs) = (0.0, 1);
        while size < largest {
            total += size;
            size = (100.0 + f64::from(self.options.size_ratio)) / 100.0 * total;
            runs += 1;
        }
        runs
    }

    /// The first sequence of `least` or more idle runs, from the newest, in which each run is small enough in
    /// relation to those before it.
    fn reduce_sorted_runs(&self, ratio: Ratio, max_runs: usize, least: usize) -> Option<Plan> {
        let most = (self.options.max_merge_width as usize).min(max_runs);
        let mut start = 0;
        while start < self.runs.len() {
            if self.runs[start].busy {
                start += 1;
                continue;
            }
            let taken = self.similar(start, ratio, most);
            if taken >= least {
                let reason = match ratio {
                    Some(_) => CompactionReason::UniversalSizeRatio,
                    None => CompactionReason::UniversalSortedRunNum,
                };
                let range = start..start + taken;
                let compress = self.is_old_enough_to_compress(range.end);
                return self.merge(range, compress, reason);
            }
            start += 1;
        }
        None
    }

    /// The number of runs from the idle run `start` on that are merged together.
    fn similar(&self, start: usize, ratio: Ratio, most: usize) -> usize {
        let larger = |bytes: u64| {
            ratio.map_or(f64::INFINITY, |ratio| {
                bytes as f64 * (100.0 + f64::from(ratio)) / 100.0
            })
        };
        let mut weight = self.runs[start].weight;
        let mut taken = 1;
        for next in &self.runs[start + 1..] {
            if taken >= most || next.busy || larger(weight) < next.bytes as f64 {
                break;
            }
            match self.options.stop_style {
                CompactionStopStyle::SimilarSize if larger(next.bytes) < weight as f64 => break,
                CompactionStopStyle::SimilarSize => weight = next.weight,
                CompactionStopStyle::TotalSize => weight = weight.saturating_add(next.weight),
            }
            taken += 1;
        }
        taken
    }

    /// False if enough of the data is older than the runs before `end`, and therefore compressed already.
    fn is_old_enough_to_compress(&self, end: usize) -> bool {
        let Ok(percent) = u128::try_from(self.options.compression_size_percent) else {
            return true;
        };
        let total = sum(self.runs.iter().map(|run| run.weight));
        let older = &self.runs[end..];
        older.is_empty()
            || u128::from(sum(older.iter().map(|run| run.bytes))) * 100 < u128::from(total) * percent
    }

    /// The merge of some runs. Its output takes their place among the other runs: L0 if the next older run is
    /// there, otherwise the level above the next older run.
    fn merge(&self, range: Range<usize>, compress: bool, reason: CompactionReason) -> Option<Plan> {
        let context = self.context;
        let output_level = match self.runs.get(range.end) {
            None => context.version.num_levels() - 1,
            Some(next) => next.level.saturating_sub(1),
        };
        let mut inputs: Vec<LevelFiles> = Vec::new();
        let by_age = reason == CompactionReason::PeriodicCompaction;
        if !by_age && !self.changes_something(&self.runs[range.clone()], output_level) {
            return None;
        }
        for run in &self.runs[range] {
            let files = self.files(run).iter().cloned();
            match inputs.last_mut().filter(|last| last.level == run.level) {
                Some(last) => last.files.extend(files),
                None => inputs.push(LevelFiles {
                    level: run.level,
                    files: files.collect(),
                }),
            }
        }
        let is_in_the_way = match output_level {
            0 => keys_are_reserved(context, &inputs),
            _ => conflicts(context, &inputs, output_level),
        };
        if is_in_the_way {
            return None;
        }
        let mut plan = plan_of(context, inputs, output_level, Vec::new(), reason, self.score());
        plan.compression = (!compress).then_some(CompressionType::None);
        Some(plan)
    }

    /// False for a merge of the last level with the one above it that would leave all rows where they are,
    /// because they are too recent for the last level.
    fn changes_something(&self, runs: &[SortedRun], output_level: usize) -> bool {
        let (options, now) = (self.context.options, self.context.now);
        let Some(upper) = options.upper_level(output_level) else {
            return true;
        };
        let mut above = runs.iter().filter(|run| run.level < output_level);
        above.any(|run| {
            let mut files = self.files(run).iter();
            run.level < upper || files.any(|file| options.may_have_old_rows(file, now))
        })
    }

    /// A file marked for compaction, together with the files it overlaps in the next level that has files.
    fn pick_marked(&self) -> Option<Plan> {
        let version = self.context.version;
        if version.num_levels() == 1 {
            return self.pick_marked_run();
        }
        let last_non_empty = version.num_non_empty_levels().checked_sub(1)?;
        // A file in the last level with files has no level to be compacted into.
        (0..last_non_empty.max(1)).find_map(|level| {
            let marked = version
                .files(level)
                .iter()
                .enumerate()
                .filter(|(_, file)| self.is_marked(file));
            marked
                .map(|(at, _)| at)
                .find_map(|at| self.compact_marked(level, at))
        })
    }

    /// With one level: all idle runs from the marked file on. The oldest run alone would not change.
    fn pick_marked_run(&self) -> Option<Plan> {
        let files = self.context.version.files(0);
        let newest = files
            .split_last()?
            .1
            .iter()
            .position(|file| self.is_marked(file))?;
        let busy = self.runs[newest..].iter().position(|run| run.busy);
        let end = busy.map_or(self.runs.len(), |busy| newest + busy);
        (end - newest > 1)
            .then(|| self.merge(newest..end, true, CompactionReason::FilesMarkedForCompaction))
            .flatten()
    }

    /// A file that is to be rewritten in its level: in L0 alone, in another level with the files that share a
    /// key with it.
    fn pick_rewrite(&self) -> Option<Plan> {
        let context = self.context;
        let files = Files::of(context.version);
        let reason = CompactionReason::FilesMarkedForCompaction;
        (0..context.version.num_levels()).find_map(|level| {
            let own = context.version.files(level);
            (0..own.len()).find_map(|at| {
                if !context.facts.is_to_be_rewritten(&own[at]) {
                    return None;
                }
                let range = match level {
                    0 => at..at + 1,
                    _ => files.clean_cut(level, at..at + 1),
                };
                if any_busy(&own[range.clone()]) {
                    return None;
                }
                let inputs = vec![LevelFiles {
                    level,
                    files: own[range].to_vec(),
                }];
                if level > 0 && conflicts(context, &inputs, level) {
                    return None;
                }
                Some(plan_of(context, inputs, level, Vec::new(), reason, self.score()))
            })
        })
    }

    fn is_marked(&self, file: &FileMetadata) -> bool {
        let marked = file.marked_for_compaction || self.context.facts.is_suggested(file);
        marked && file.is_idle()
    }

    fn compact_marked(&self, level: usize, at: usize) -> Option<Plan> {
        let context = self.context;
        let version = context.version;
        let files = Files::of(version);
        let below = (level + 1..version.num_levels()).find(|&below| !version.files(below).is_empty());
        let start = match level {
            0 if context.running.level0_busy() => return None,
            0 => {
                let file = &version.files(0)[at];
                files.overlapping_level0(Some(file.smallest_user_key()), Some(file.largest_user_key()))
            }
            _ => version.files(level)[files.clean_cut(level, at..at + 1)].to_vec(),
        };
        if any_busy(&start) {
            return None;
        }
        let output_level = match below {
            Some(below) => below,
            None if level == 0 => version.num_levels() - 1,
            None => return None,
        };
        let may_sink = |file: &Arc<FileMetadata>| context.options.may_have_old_rows(file, context.now);
        if context.options.upper_level(output_level) == Some(level) && !start.iter().any(may_sink) {
            return None;
        }
        let inputs = setup_other_inputs(context, level, start, output_level, any_busy)?;
        if conflicts(context, &inputs, output_level) {
            return None;
        }
        let grandparents = grandparents(version, &inputs, output_level);
        let reason = CompactionReason::FilesMarkedForCompaction;
        Some(plan_of(
            context,
            inputs,
            output_level,
            grandparents,
            reason,
            self.score(),
        ))
    }

    /// The same plan, as a move if no two files overlap and moves are allowed.
    fn moved_if_possible(&self, mut plan: Plan) -> Plan {
        let movable = self.options.allow_trivial_move
            && plan.output_level > 0
            && plan.reason != CompactionReason::PeriodicCompaction
            && plan.files().all(|(level, file)| {
                level == plan.output_level || self.context.facts.can_move(file, plan.output_level)
            });
        if movable && plan.files().any(|(level, _)| level != plan.output_level) {
            plan.trivial_move = do_not_overlap(self.context.version, plan.files().map(|(_, file)| file));
        }
        plan
    }
}

fn sum(bytes: impl Iterator<Item = u64>) -> u64 {
    bytes.fold(0, u64::saturating_add)
}
