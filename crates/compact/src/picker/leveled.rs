//! Leveled compaction, as in RocksDB: the most urgent level first, and from it the file that is cheapest to
//! compact.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use manifest::{BlobFileMetadata, FileMetadata, Version};

use super::context::PickContext;
use super::inputs::{
    Files, any_busy, cheap_level0, conflicts, grandparents, is_trivial_move, keys_are_reserved, level_inputs,
    setup_other_inputs,
};
use crate::due::{is_past, is_past_period};
use crate::options::CompactionPri;
use crate::order;
use crate::plan::{CompactionReason, LevelFiles, Parts, Plan};
use crate::score::{Scores, Weights};

/// The number of files that an automatic trivial move may take along, so that the next level does not get too
/// much at once.
const MAX_MULTI_TRIVIAL_MOVE: usize = 4;

/// The minimum number of files of a compaction within L0.
const MIN_FILES_FOR_INTRA_L0: usize = 4;

/// The most urgent compaction; `None` if none is needed or all conflict with running ones.
///
/// Pure: after the result was [`start`](super::Running::start)ed, the next call finds a further one. Cost: a
/// pass over the metadata of all files, and a sort of the files of each level that is too large.
pub fn pick_leveled(context: &PickContext<'_>) -> Option<Plan> {
    if context.version.num_levels() < 2 || context.running.is_exclusive() {
        return None;
    }
    Picker::new(context).pick()
}

/// The reasons for which single files are compacted if no level is too large, in order, with the mark of
/// each.
fn age_reasons(context: &PickContext<'_>) -> [(CompactionReason, MarkedBy); 6] {
    let dynamic = context.options.level_compaction_dynamic_level_bytes;
    [
        (CompactionReason::FilesMarkedForCompaction, MarkedBy::Collector),
        (CompactionReason::BottommostFiles, MarkedBy::Snapshot),
        (CompactionReason::Ttl, MarkedBy::Ttl),
        (
            CompactionReason::PeriodicCompaction,
            MarkedBy::Age { down: dynamic },
        ),
        (CompactionReason::ForcedBlobGC, MarkedBy::BlobGarbage),
        (CompactionReason::FilesMarkedForCompaction, MarkedBy::Rewrite),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkedBy {
    Collector,
    Snapshot,
    Ttl,
    Age { down: bool },
    BlobGarbage,
    Rewrite,
}

struct Picker<'a> {
    context: &'a PickContext<'a>,
    files: Files<'a>,
    scores: Scores,
    weights: Weights,
}

impl<'a> Picker<'a> {
    fn new(context: &'a PickContext<'a>) -> Picker<'a> {
        Picker {
            context,
            files: Files::of(context.version),
            scores: Scores::new(context.version, context.options),
            weights: Weights::new(context.version),
        }
    }

    fn base_level(&self) -> usize {
        self.scores.targets.base_level
    }

    fn pick(&self) -> Option<Plan> {
        let mut level0_waits = false;
        for due in &self.scores.levels {
            if due.score < 1.0 {
                break;
            }
            // A compaction out of the base level would make L0, which waits for the base level, wait longer.
            if level0_waits && due.level == self.base_level() {
                continue;
            }
            let plan = if due.level == 0 {
                level0_waits = true;
                self.pick_level0(due.score)
                    .or_else(|| self.pick_intra_level0(due.score))
            } else {
                self.pick_from(due.level, due.score)
            };
            if plan.is_some() {
                return plan;
            }
        }
        age_reasons(self.context)
            .into_iter()
            .find_map(|(reason, marked)| self.pick_marked(reason, marked))
    }

    /// A compaction out of L0: the files that can be moved, or all that overlap one file.
    fn pick_level0(&self, score: f64) -> Option<Plan> {
        let reason = CompactionReason::LevelL0FilesNum;
        if self.context.running.level0_busy() {
            return self.size_based_intra_level0(score);
        }
        if let Some(plan) = self.level0_trivial_move(score) {
            return Some(plan);
        }
        if let Some(plan) = self.size_based_intra_level0(score) {
            return Some(plan);
        }
        self.by_priority(0)
            .into_iter()
            .find_map(|at| self.compact_level0(&self.files.level(0)[at], reason, score))
    }

    /// The compaction of `file` and all files of L0 that overlap it into the base level.
    fn compact_level0(
        &self,
        file: &'a Arc<FileMetadata>,
        reason: CompactionReason,
        score: f64,
    ) -> Option<Plan> {
        if !file.is_idle() || self.context.running.level0_busy() {
            return None;
        }
        let start = self
            .files
            .overlapping_level0(Some(file.smallest_user_key()), Some(file.largest_user_key()));
        if any_busy(&start) {
            return None;
        }
        self.complete(0, start, self.base_level(), reason, score)
    }

    /// Moves the oldest files of L0 down, as long as they overlap neither each other nor the base level.
    fn level0_trivial_move(&self, score: f64) -> Option<Plan> {
        let base = self.base_level();
        // If the base level is empty, at least one file can be moved anyway.
        if base == 0 || self.files.level(base).is_empty() {
            return None;
        }
        let order = self.context.version.cmp();
        let mut moved: Vec<Arc<FileMetadata>> = Vec::new();
        for file in self.files.level(0).iter().rev() {
            if !moved.is_empty() {
                let bounds = self.files.bounds(&moved);
                // Two files that share a user key would separate its versions in the next level.
                let user = order.user();
                let apart = order::boundaries(user, &file.largest, bounds.smallest) == Ordering::Less
                    || order::boundaries(user, &file.smallest, bounds.largest) == Ordering::Greater;
                if !apart {
                    break;
                }
            }
            let bounds = self.files.bounds(moved.iter().chain([file]));
            if !self.files.overlapping(base, bounds).is_empty()
                || !file.is_idle()
                || !self.context.facts.can_move(file, base)
            {
                break;
            }
            moved.push(Arc::clone(file));
        }
        if moved.is_empty() {
            return None;
        }
        moved.sort_by(|a, b| order.compare(&a.smallest, &b.smallest));
        let inputs = level_inputs(0, moved, base, &[]);
        if conflicts(self.context, &inputs, base) {
            return None;
        }
        let trivial_move = is_trivial_move(self.context, &inputs, base, false);
        Some(self.plan(
            inputs,
            base,
            trivial_move,
            CompactionReason::LevelL0FilesNum,
            score,
        ))
    }

    /// While L0 cannot be compacted down: the longest run of its newest files in which each further file
    /// lowers the work per file.
    fn pick_intra_level0(&self, score: f64) -> Option<Plan> {
        let files = self.files.level(0);
        let trigger = self.context.options.level0_file_num_compaction_trigger;
        if files.len() < trigger.saturating_add(2) {
            return None;
        }
        let (end, _) = cheap_level0(files, self.context.options.max_compaction_bytes())?;
        match end >= MIN_FILES_FOR_INTRA_L0 {
            true => self.intra_level0(&files[..end], score),
            false => None,
        }
    }

    /// A compaction within L0, where the base level is so much larger than L0 that compacting into it would
    /// rewrite it for little.
    fn size_based_intra_level0(&self, score: f64) -> Option<Plan> {
        let options = self.context.options;
        let min_files = options.level0_file_num_compaction_trigger.max(2);
        let files = self.files.level(0);
        if self.base_level() == 0 || files.len() < min_files {
            return None;
        }
        let bytes = files
            .iter()
            .fold(0u64, |sum, file| sum.saturating_add(self.weights.of(file)));
        let factor = options.max_bytes_for_level_multiplier.max(10.0) * 2.0;
        if self.context.version.level_bytes(self.base_level()) <= crate::options::multiply(bytes, factor) {
            return None;
        }
        let idle = files.iter().take_while(|file| file.is_idle()).count();
        match idle >= min_files {
            true => self.intra_level0(&files[..idle], score),
            false => None,
        }
    }

    fn intra_level0(&self, files: &[Arc<FileMetadata>], score: f64) -> Option<Plan> {
        let inputs = level_inputs(0, files.to_vec(), 0, &[]);
        if keys_are_reserved(self.context, &inputs) {
            return None;
        }
        Some(self.plan(inputs, 0, false, CompactionReason::LevelL0FilesNum, score))
    }

    /// Out of a level below L0 that is too large: the first file, by priority, that conflicts with nothing.
    fn pick_from(&self, level: usize, score: f64) -> Option<Plan> {
        let reason = CompactionReason::LevelMaxLevelSize;
        self.by_priority(level).into_iter().find_map(|at| {
            let start = self.files.clean_cut(level, at..at + 1);
            let output_level = level + 1;
            let bounds = self.files.bounds(&self.files.level(level)[start.clone()]);
            if start.len() == 1 && self.files.overlapping(output_level, bounds).is_empty() {
                let extended = self.extend_trivial_move(level, start.clone());
                if extended != start
                    && let Some(plan) = self.compact_level(level, extended, output_level, reason, score)
                {
                    return Some(plan);
                }
            }
            self.compact_level(level, start, output_level, reason, score)
        })
    }

    /// Extends `start` by neighbours that may be moved together with it.
    fn extend_trivial_move(&self, level: usize, start: Range<usize>) -> Range<usize> {
        let files = self.files.level(level);
        let output_level = level + 1;
        let limit = self.context.options.max_compaction_bytes();
        let mut bytes = files[start.start].size;
        let mut range = start;
        let mut take = |at: usize, range: &Range<usize>| {
            let grown = range.start.min(at)..range.end.max(at + 1);
            let bounds = self.files.bounds(&files[grown.clone()]);
            let more = bytes.saturating_add(files[at].size);
            let fits = range.len() < MAX_MULTI_TRIVIAL_MOVE
                && files[at].is_idle()
                && self.files.overlapping(output_level, bounds).is_empty()
                && self.files.clean_cut(level, grown.clone()) == grown
                && more <= limit
                && self.context.facts.can_move(&files[at], output_level);
            if fits {
                bytes = more;
            }
            fits
        };
        while range.end < files.len() && take(range.end, &range) {
            range.end += 1;
        }
        while range.start > 0 && take(range.start - 1, &range) {
            range.start -= 1;
        }
        range
    }

    /// The compaction of `range` of `level` to `output_level`, if no file it needs is busy.
    fn compact_level(
        &self,
        level: usize,
        range: Range<usize>,
        output_level: usize,
        reason: CompactionReason,
        score: f64,
    ) -> Option<Plan> {
        let start = &self.files.level(level)[range];
        if any_busy(start) {
            return None;
        }
        self.complete(level, start.to_vec(), output_level, reason, score)
    }

    /// Adds the further inputs that a compaction of `start` needs.
    fn complete(
        &self,
        level: usize,
        start: Vec<Arc<FileMetadata>>,
        output_level: usize,
        reason: CompactionReason,
        score: f64,
    ) -> Option<Plan> {
        let options = self.context.options;
        let may_sink = |file: &Arc<FileMetadata>| options.may_have_old_rows(file, self.context.now);
        if options.upper_level(output_level) == Some(level) && !start.iter().any(may_sink) {
            return None;
        }
        let inputs = setup_other_inputs(self.context, level, start, output_level, any_busy)?;
        let level0_may_overlap = level == 0 && inputs[0].files.len() > 1;
        if output_level > 0 && conflicts(self.context, &inputs, output_level) {
            return None;
        }
        let trivial_move = is_trivial_move(self.context, &inputs, output_level, level0_may_overlap);
        Some(self.plan(inputs, output_level, trivial_move, reason, score))
    }

    /// Picks a file that is compacted for a property of its own, if no level is too large.
    fn pick_marked(&self, reason: CompactionReason, marked: MarkedBy) -> Option<Plan> {
        let version = self.context.version;
        let last_non_empty = version.num_non_empty_levels().checked_sub(1)?;
        let blob_file = match marked {
            MarkedBy::BlobGarbage => self
                .context
                .options
                .blob_garbage_collection
                .and_then(|gc| gc.due(version)),
            _ => None,
        };
        (0..=last_non_empty).find_map(|level| {
            // A file that a collector marked, or that is only old, is left where it is if no level below has
            // files.
            let at_bottom = level == last_non_empty;
            let (eligible, down) = match marked {
                MarkedBy::Collector => (!at_bottom || level == 0, true),
                MarkedBy::Snapshot | MarkedBy::Rewrite => (true, false),
                MarkedBy::Ttl => (!at_bottom, true),
                MarkedBy::Age { down } => (true, down && !at_bottom),
                MarkedBy::BlobGarbage => (blob_file.is_some(), false),
            };
            if !eligible || (level == 0 && self.context.running.level0_busy()) {
                return None;
            }
            self.files.level(level).iter().enumerate().find_map(|(at, file)| {
                if !file.is_idle() || !self.is_marked(level, at, file, marked, blob_file.as_deref()) {
                    return None;
                }
                if !down
                    && self
                        .context
                        .running
                        .rewritten
                        .contains(self.context, level, file, reason)
                {
                    return None;
                }
                match (level, down) {
                    (0, true) => self.compact_level0(file, reason, 0.0),
                    (0, false) => {
                        let inputs = level_inputs(0, vec![Arc::clone(file)], 0, &[]);
                        Some(self.plan(inputs, 0, false, reason, 0.0))
                    }
                    (_, true) => {
                        let range = self.files.clean_cut(level, at..at + 1);
                        self.compact_level(level, range, level + 1, reason, 0.0)
                    }
                    (_, false) => {
                        let range = self.files.clean_cut(level, at..at + 1);
                        self.compact_level(level, range, level, reason, 0.0)
                    }
                }
            })
        })
    }

    /// True if the file is marked for compaction by `marked`. `blob_file`: the blob file whose linked tables
    /// are compacted.
    fn is_marked(
        &self,
        level: usize,
        at: usize,
        file: &FileMetadata,
        marked: MarkedBy,
        blob_file: Option<&BlobFileMetadata>,
    ) -> bool {
        let context = self.context;
        let options = context.options;
        let older_than = |time: u64, seconds: u64| is_past(context.now, time, seconds);
        match marked {
            MarkedBy::Collector => file.marked_for_compaction || context.facts.is_suggested(file),
            MarkedBy::Rewrite => context.facts.is_to_be_rewritten(file),
            MarkedBy::Snapshot => {
                let delay = options.bottommost_file_compaction_delay;
                let created = file.file_creation_time;
                file.largest_seqno != 0
                    && file.largest_seqno <= context.oldest_snapshot
                    && (delay == 0 || created == 0 || created <= context.now.saturating_sub(delay))
                    && self.history_ended(file)
                    && is_bottommost(context.version, level, at, file)
                    && context.facts.worth_rewriting(file)
            }
            MarkedBy::BlobGarbage => blob_file.is_some_and(|blob| blob.linked_ssts.contains(&file.number)),
            MarkedBy::Ttl => options.ttl > 0 && older_than(file.oldest_ancestor_time, options.ttl),
            MarkedBy::Age { .. } => is_past_period(file, options, context.now),
        }
    }

    /// With timestamps, a rewrite only changes history older than `full_history_ts_low`. A file whose
    /// timestamps are unknown is left as it is.
    fn history_ended(&self, file: &FileMetadata) -> bool {
        if self.files.cmp.timestamp_size() == 0 {
            return true;
        }
        let Some(low) = self.context.full_history_ts_low else {
            return false;
        };
        let is_older = |newest: &[u8]| self.files.cmp.compare_timestamp(newest, low) == Ordering::Less;
        match file.max_timestamp.is_empty() {
            false => is_older(&file.max_timestamp),
            true => self
                .context
                .facts
                .max_timestamp(file)
                .is_some_and(|newest| is_older(&newest)),
        }
    }

    /// The indices of the files of `level`, beginning with the file that is to be compacted first.
    fn by_priority(&self, level: usize) -> Vec<usize> {
        let files = self.files.level(level);
        let mut indices: Vec<usize> = (0..files.len()).collect();
        match self.context.options.compaction_pri {
            CompactionPri::ByCompensatedSize => {
                indices.sort_by_key(|&at| std::cmp::Reverse(self.weights.of(&files[at])));
            }
            CompactionPri::OldestLargestSeqFirst => indices.sort_by_key(|&at| files[at].largest_seqno),
            CompactionPri::OldestSmallestSeqFirst => indices.sort_by_key(|&at| files[at].smallest_seqno),
            CompactionPri::RoundRobin => {
                let order = self.context.version.cmp();
                let behind = |cursor: &[u8]| {
                    files.partition_point(|file| order.compare(&file.smallest, cursor) != Ordering::Greater)
                };
                // All files of L0 are compacted together, so round robin does not apply to L0.
                if let Some(cursor) = self.context.running.cursor(level).filter(|_| level > 0) {
                    let first = behind(cursor) % files.len().max(1);
                    indices.rotate_left(first);
                }
            }
            CompactionPri::MinOverlappingRatio => {
                let ratios = self.overlapping_ratios(level);
                let order = self.context.version.cmp();
                indices.sort_by(|&a, &b| {
                    let (left, right) = (&files[a], &files[b]);
                    right
                        .marked_for_compaction
                        .cmp(&left.marked_for_compaction)
                        .then_with(|| ratios[a].cmp(&ratios[b]))
                        .then_with(|| order.compare(&left.smallest, &right.smallest))
                });
            }
        }
        indices
    }

    /// For each file of `level`: the bytes it overlaps in the next level in relation to its own, in 1024ths,
    /// and less for data that is near its `ttl`.
    fn overlapping_ratios(&self, level: usize) -> Vec<u64> {
        let files = self.files.level(level);
        let order = self.context.version.cmp();
        let booster = TtlBooster::new(self.context, level);
        // L0 is not in key order, so its files cannot be matched with the next level in one pass, and they
        // are compacted together.
        let next = if level == 0 {
            &[]
        } else {
            self.files.level(level + 1)
        };
        let mut at = 0;
        let ratio = |file: &Arc<FileMetadata>| {
            while at < next.len() && order.compare(&next[at].largest, &file.smallest) == Ordering::Less {
                at += 1;
            }
            let mut bytes = 0u64;
            while at < next.len() && order.compare(&next[at].smallest, &file.largest) == Ordering::Less {
                bytes = bytes.saturating_add(next[at].size);
                if order.compare(&next[at].largest, &file.largest) == Ordering::Greater {
                    // The file below extends into the range of the next file, too.
                    break;
                }
                at += 1;
            }
            bytes.saturating_mul(1024) / self.weights.of(file).max(1) / booster.boost(file)
        };
        files.iter().map(ratio).collect()
    }

    fn plan(
        &self,
        inputs: Vec<LevelFiles>,
        output_level: usize,
        trivial_move: bool,
        reason: CompactionReason,
        score: f64,
    ) -> Plan {
        let options = self.context.options;
        let grandparents = if output_level == 0 {
            Vec::new()
        } else {
            grandparents(self.context.version, &inputs, output_level)
        };
        Plan::new(Parts {
            version: self.context.version,
            inputs,
            output_level,
            grandparents,
            trivial_move,
            target_file_size: options.target_file_size(output_level, self.base_level()),
            max_compaction_bytes: options.max_compaction_bytes(),
            reason,
            score,
        })
    }
}

/// Raises the priority of files whose data is near its `ttl`, so that they are compacted before it expires:
/// from half of the `ttl` on, the lower levels earlier.
struct TtlBooster {
    now: u64,
    /// `None`: no file is boosted.
    start: Option<u64>,
    step: u64,
}

impl TtlBooster {
    fn new(context: &PickContext<'_>, level: usize) -> TtlBooster {
        let ttl = context.options.ttl;
        let levels = context.version.num_non_empty_levels();
        let mut booster = TtlBooster {
            now: context.now,
            start: None,
            step: 1,
        };
        if ttl > 0 && level > 0 && level + 1 < levels {
            let range = (ttl / 32 * 31).saturating_sub(ttl / 2) >> (levels - level - 1).min(63);
            booster.start = Some(ttl / 2 + range);
            booster.step = (range / 16).max(1);
        }
        booster
    }

    fn boost(&self, file: &FileMetadata) -> u64 {
        let age = self.now.saturating_sub(file.oldest_ancestor_time);
        match self.start {
            Some(start) if file.oldest_ancestor_time > 0 && age > start => (age - start) / self.step + 1,
            _ => 1,
        }
    }
}

/// The bytes of the files that have nothing older in their key range: the size a family would have after a
/// full compaction.
pub fn bottommost_bytes(version: &Version) -> u64 {
    let levels = 0..version.num_levels();
    let sizes = levels.flat_map(|level| {
        let files = version.files(level).iter().enumerate();
        files
            .filter(move |(at, file)| is_bottommost(version, level, *at, file))
            .map(|(_, file)| file.size)
    });
    sizes.fold(0, u64::saturating_add)
}

/// True if no older data exists in the key range of file `at` of `level`.
fn is_bottommost(version: &Version, level: usize, at: usize, file: &FileMetadata) -> bool {
    if level == 0 && at + 1 != version.files(0).len() {
        return false;
    }
    (level + 1..version.num_levels()).all(|below| {
        if level == 0 {
            version.files(below).is_empty()
        } else {
            !version.overlaps(
                below,
                Some(file.smallest_user_key()),
                Some(file.largest_user_key()),
            )
        }
    })
}
