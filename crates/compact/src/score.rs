//! The scores of levels, and the bytes of pending compaction. Cost: one pass over the files' metadata.

use manifest::{FileMetadata, FileStats, Version};

use crate::levels::LevelTargets;
use crate::options::LeveledOptions;
use crate::styles::Style;

/// The score of a level, which shows how urgent a compaction out of the level is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelScore {
    /// The level to which the score belongs.
    pub level: usize,
    /// From 1 on the level is to be compacted; a higher score comes first.
    pub score: f64,
}

/// The scores of all levels, and the bytes of pending compaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// All levels that files may be compacted out of, the most urgent first.
    pub levels: Vec<LevelScore>,
    /// The target sizes of the levels.
    pub targets: LevelTargets,
    /// The estimated bytes that must be rewritten until no level is too large.
    pub pending_compaction_bytes: u64,
}

/// Scores above 1 are multiplied by this, so that they can be lowered again without falling below 1.
const SCALE: f64 = 10.0;

impl Scores {
    /// The scores of `version`, without files in running compactions. In styles other than leveled all files
    /// count as one level, L0, and no bytes are pending.
    pub fn new(version: &Version, options: &LeveledOptions) -> Scores {
        let targets = LevelTargets::new(version, options);
        if options.style != Style::Level {
            let score = style_score(version, options);
            return Scores {
                levels: score
                    .map(|score| LevelScore { level: 0, score })
                    .into_iter()
                    .collect(),
                targets,
                pending_compaction_bytes: 0,
            };
        }
        let weights = Weights::new(version);
        let mut levels = level_scores(version, options, &targets, &weights);
        levels.sort_by(|a, b| b.score.total_cmp(&a.score));
        Scores {
            levels,
            pending_compaction_bytes: pending_compaction_bytes(version, options, &targets),
            targets,
        }
    }

    /// True if some level is too large.
    pub fn needs_compaction(&self) -> bool {
        self.levels.first().is_some_and(|first| first.score >= 1.0)
    }
}

/// The score in a style other than leveled; `None`: no automatic compaction.
fn style_score(version: &Version, options: &LeveledOptions) -> Option<f64> {
    let idle = |level: usize| {
        let files = version.files(level).iter();
        files.filter(|file| file.is_idle())
    };
    let trigger = options.level0_file_num_compaction_trigger.max(1) as f64;
    match &options.style {
        Style::Level | Style::None => None,
        Style::Universal(_) => {
            let levels = (1..version.num_levels()).filter(|&level| idle(level).next().is_some());
            Some((idle(0).count() + levels.count()) as f64 / trigger)
        }
        Style::Fifo(fifo) => {
            let (limit, with_blobs) = fifo.limit();
            let bytes = fifo_bytes(version, with_blobs) as f64 / limit.max(1) as f64;
            let files = if fifo.allow_compaction {
                idle(0).count() as f64 / trigger
            } else {
                0.0
            };
            Some(if bytes < 1.0 { bytes.max(files) } else { bytes })
        }
    }
}

/// The bytes of all tables, and of blob files if `with_blobs`.
pub(crate) fn fifo_bytes(version: &Version, with_blobs: bool) -> u64 {
    let blobs = version.blob_files().values().filter(|_| with_blobs);
    blobs.fold(version.total_bytes(), |sum, blob| {
        sum.saturating_add(blob.file_size())
    })
}

fn level_scores(
    version: &Version,
    options: &LeveledOptions,
    targets: &LevelTargets,
    weights: &Weights,
) -> Vec<LevelScore> {
    let dynamic = options.level_compaction_dynamic_level_bytes;
    let unnecessary = |level| {
        targets
            .lowest_unnecessary_level
            .is_some_and(|lowest| level <= lowest)
    };
    // Bytes about to be compacted down into the current level.
    let mut incoming = 0.0;
    let mut scores = Vec::new();
    for level in 0..version.num_levels().saturating_sub(1) {
        let files = version.files(level);
        let idle = || files.iter().filter(|file| file.is_idle());
        let idle_bytes = idle().fold(0u64, |sum, file| sum.saturating_add(weights.of(file)));
        let score = if level == 0 {
            incoming = version.level_bytes(0) as f64;
            level0_score(idle().count(), idle_bytes, version, options, targets, weights)
        } else {
            let max = targets.max_bytes[level];
            let fill = idle_bytes as f64 / max as f64;
            let mut score = if dynamic && idle_bytes >= max {
                // Data about to come down is cheaper to compact down together with this level than after it.
                idle_bytes as f64 / (max as f64 + incoming) * SCALE
            } else {
                fill
            };
            if idle_bytes > 0 && unnecessary(level) {
                let below = targets.lowest_unnecessary_level.unwrap_or(level) - level;
                score = score.max(SCALE * (1.001 + 0.001 * below as f64));
            }
            let bytes = version.level_bytes(level);
            if unnecessary(level) {
                incoming += bytes as f64;
            } else {
                incoming += bytes.saturating_sub(max) as f64;
            }
            score
        };
        scores.push(LevelScore { level, score });
    }
    scores
}

/// L0 is bounded by its number of files, each of which costs every read, and by its size, so that it is not
/// compacted in one giant step later.
fn level0_score(
    idle_files: usize,
    idle_bytes: u64,
    version: &Version,
    options: &LeveledOptions,
    targets: &LevelTargets,
    weights: &Weights,
) -> f64 {
    let mut score = idle_files as f64 / options.level0_file_num_compaction_trigger.max(1) as f64;
    let base_max = options.max_bytes_for_level_base.max(1);
    if version.num_levels() < 2 {
        return score;
    }
    if !options.level_compaction_dynamic_level_bytes {
        return score.max(idle_bytes as f64 / base_max as f64);
    }
    if idle_bytes >= base_max {
        // A level that counts as pending must be eligible for compaction; otherwise writes could stop without
        // a compaction that ends the stop.
        score = score.max(1.01);
    }
    let base = targets.base_level;
    if idle_bytes > targets.max_bytes[base] {
        // L0 is larger than the base level: it is compacted first, or it would never get its turn.
        let base_bytes = version
            .files(base)
            .iter()
            .fold(0u64, |sum, file| sum.saturating_add(weights.of(file)));
        score = score.max(idle_bytes as f64 / base_bytes.max(targets.max_bytes[base]) as f64);
    }
    if score > 1.0 { score * SCALE } else { score }
}

/// Every level that is too large pushes its excess down. That rewrites an amount of the level below that
/// follows from the ratio of the two levels' sizes.
fn pending_compaction_bytes(version: &Version, options: &LeveledOptions, targets: &LevelTargets) -> u64 {
    let mut due = 0u64;
    let mut incoming = 0;
    let level0 = version.level_bytes(0);
    let level0_due = version.files(0).len() >= options.level0_file_num_compaction_trigger
        || level0 >= options.max_bytes_for_level_base;
    if level0_due {
        due = level0;
        incoming = level0;
    }
    for level in targets.base_level.max(1)..version.num_levels().saturating_sub(1) {
        let bytes = version.level_bytes(level);
        if level == targets.base_level && level0_due {
            due = due.saturating_add(bytes);
        }
        let size = bytes.saturating_add(incoming);
        incoming = size.saturating_sub(targets.max_bytes[level]);
        let next = version.level_bytes(level + 1);
        if incoming > 0 && next > 0 {
            due = due.saturating_add((incoming as f64 * (next as f64 / size as f64 + 1.0)) as u64);
        }
    }
    due
}

/// The sizes of files, increased by the bytes that their deletions will free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights {
    average_value_size: u64,
}

/// The weight of a surplus deletion in relation to the value it deletes.
const DELETION_WEIGHT: u64 = 2;

impl Weights {
    pub(crate) fn new(version: &Version) -> Weights {
        let mut values = 0u128;
        let mut raw_values = 0u128;
        let mut raw = 0u128;
        let mut size = 0u128;
        for (_, file) in version.all_files() {
            if let Some(stats) = file.stats.get() {
                values += u128::from(stats.num_entries.saturating_sub(stats.num_deletions));
                raw_values += u128::from(stats.raw_value_size);
                raw += u128::from(stats.raw_key_size) + u128::from(stats.raw_value_size);
                size += u128::from(file.size);
            }
        }
        let average = (raw_values.checked_div(values).unwrap_or(0))
            .saturating_mul(size)
            .checked_div(raw)
            .unwrap_or(0);
        Weights {
            average_value_size: u64::try_from(average).unwrap_or(u64::MAX),
        }
    }

    /// RocksDB's compensated file size: in a file with more deletions than other entries each surplus
    /// deletion counts.
    pub(crate) fn of(&self, file: &FileMetadata) -> u64 {
        let surplus = file.stats.get().map_or(0, |stats: &FileStats| {
            let deletions = stats.num_deletions.saturating_sub(stats.num_range_deletions);
            deletions.saturating_mul(2).saturating_sub(stats.num_entries)
        });
        let freed = surplus
            .saturating_mul(self.average_value_size)
            .saturating_mul(DELETION_WEIGHT);
        file.size
            .saturating_add(freed)
            .saturating_add(file.compensated_range_deletion_size)
    }
}
