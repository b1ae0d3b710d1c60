//! The options of leveled compaction, with RocksDB's names, units and defaults.

use manifest::{FileMetadata, Version};

use crate::blob_gc::BlobGarbageCollection;
use crate::styles::Style;

/// The file of a level that is compacted first.
///
/// ```
/// # use esker_compact as esker;
///
/// use esker::CompactionPri;
///
/// assert_eq!(CompactionPri::from_name("kRoundRobin"), Some(CompactionPri::RoundRobin));
/// assert_eq!(CompactionPri::MinOverlappingRatio.name(), "kMinOverlappingRatio");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompactionPri {
    /// The largest file, where a file with many deletions counts for more.
    ByCompensatedSize,
    /// The file whose newest entry is the oldest: for workloads that overwrite few hot keys.
    OldestLargestSeqFirst,
    /// The file whose oldest entry is the oldest.
    OldestSmallestSeqFirst,
    /// The file that overlaps the fewest bytes of the next level in relation to its size: least write
    /// amplification. The default.
    #[default]
    MinOverlappingRatio,
    /// One file after the other by key, from where the level was compacted last; after each open, from its
    /// first file on.
    RoundRobin,
}

impl CompactionPri {
    /// The name in an OPTIONS file.
    pub fn name(self) -> &'static str {
        match self {
            CompactionPri::ByCompensatedSize => "kByCompensatedSize",
            CompactionPri::OldestLargestSeqFirst => "kOldestLargestSeqFirst",
            CompactionPri::OldestSmallestSeqFirst => "kOldestSmallestSeqFirst",
            CompactionPri::MinOverlappingRatio => "kMinOverlappingRatio",
            CompactionPri::RoundRobin => "kRoundRobin",
        }
    }

    /// All priorities, in the order of RocksDB's numbers.
    pub const ALL: [CompactionPri; 5] = [
        CompactionPri::ByCompensatedSize,
        CompactionPri::OldestLargestSeqFirst,
        CompactionPri::OldestSmallestSeqFirst,
        CompactionPri::MinOverlappingRatio,
        CompactionPri::RoundRobin,
    ];

    /// The priority called `name`.
    pub fn from_name(name: &str) -> Option<CompactionPri> {
        CompactionPri::ALL.into_iter().find(|pri| pri.name() == name)
    }
}

/// The options of leveled compaction, and of the write stalls it may cause.
#[derive(Clone, Debug, PartialEq)]
pub struct LeveledOptions {
    /// Number of levels, including L0. Default: 7.
    pub num_levels: usize,
    /// Number of L0 files that triggers a compaction of L0. Default: 4.
    pub level0_file_num_compaction_trigger: usize,
    /// Number of L0 files from which writes are delayed; `None`: never. Default: 20.
    pub level0_slowdown_writes_trigger: Option<usize>,
    /// Number of L0 files from which writes stop. Default: 36.
    pub level0_stop_writes_trigger: usize,
    /// Target size of the base level in bytes. Default: 256 MiB.
    pub max_bytes_for_level_base: u64,
    /// Ratio of each level's target size to that of the level above. Default: 10.
    pub max_bytes_for_level_multiplier: f64,
    /// A further factor for each level, from L0; missing ones are 1. Unused with dynamic level bytes.
    /// Default: empty.
    pub max_bytes_for_level_multiplier_additional: Vec<u32>,
    /// Level sizes follow from the size of the last level, and L0 is compacted into the first level that is
    /// needed. Default: true, as since RocksDB 8.4.
    pub level_compaction_dynamic_level_bytes: bool,
    /// Size of an output file at the base level, in bytes. Default: 64 MiB.
    pub target_file_size_base: u64,
    /// Ratio of the file size of each level to that of the level above. Default: 1.
    pub target_file_size_multiplier: u64,
    /// The maximum size of one compaction, in bytes. 0 means 25 times `target_file_size_base`, or more where
    /// a level is more than ten times the one above: two and a half times the multiplier. Default: 0.
    pub max_compaction_bytes: u64,
    /// Estimated bytes of pending compaction from which writes are delayed; 0: never. Default: 64 GiB.
    pub soft_pending_compaction_bytes_limit: u64,
    /// Estimated bytes of pending compaction from which writes stop; 0: never. Default: 256 GiB.
    pub hard_pending_compaction_bytes_limit: u64,
    /// No compaction runs unless a user asks for it, and pending compaction does not stall writes. Default:
    /// false.
    pub disable_auto_compactions: bool,
    /// The file of a level that is compacted first. Default: `MinOverlappingRatio`.
    pub compaction_pri: CompactionPri,
    /// Age in seconds after which data is compacted down even where no level is too large; 0: never. Default:
    /// 30 days.
    pub ttl: u64,
    /// Age in seconds after which a file is rewritten, so that a compaction filter sees it again; 0: never.
    /// Default: 0.
    pub periodic_compaction_seconds: u64,
    /// Garbage collection in blob files; `None`: none. Default: `None`.
    pub blob_garbage_collection: Option<BlobGarbageCollection>,
    /// Age in seconds before a file at the bottom is rewritten to drop the tombstones and sequence numbers
    /// that a released snapshot no longer needs. Default: 0.
    pub bottommost_file_compaction_delay: u64,
    /// The compaction style. The fields above are those of leveled compaction; the other styles use the
    /// numbers of L0 files, the file sizes, and the ages. Default: `Level`.
    pub style: Style,
    /// Size of a memtable in bytes. Default: 64 MiB.
    pub write_buffer_size: u64,
    /// Age in seconds below which rows stay out of the last level; 0: all rows may be there. Leveled and
    /// universal compaction only. Default: 0.
    pub preclude_last_level_data_seconds: u64,
}

impl Default for LeveledOptions {
    fn default() -> LeveledOptions {
        LeveledOptions {
            num_levels: 7,
            level0_file_num_compaction_trigger: 4,
            level0_slowdown_writes_trigger: Some(20),
            level0_stop_writes_trigger: 36,
            max_bytes_for_level_base: 256 << 20,
            max_bytes_for_level_multiplier: 10.0,
            max_bytes_for_level_multiplier_additional: Vec::new(),
            level_compaction_dynamic_level_bytes: true,
            target_file_size_base: 64 << 20,
            target_file_size_multiplier: 1,
            max_compaction_bytes: 0,
            soft_pending_compaction_bytes_limit: 64 << 30,
            hard_pending_compaction_bytes_limit: 256 << 30,
            disable_auto_compactions: false,
            compaction_pri: CompactionPri::MinOverlappingRatio,
            ttl: 30 * 24 * 60 * 60,
            periodic_compaction_seconds: 0,
            blob_garbage_collection: None,
            bottommost_file_compaction_delay: 0,
            style: Style::Level,
            write_buffer_size: 64 << 20,
            preclude_last_level_data_seconds: 0,
        }
    }
}

impl LeveledOptions {
    /// The level that takes the rows of a compaction to `output_level` that are too recent for it; `None`:
    /// rows of any age may go there.
    pub fn upper_level(&self, output_level: usize) -> Option<usize> {
        let by_age = self.preclude_last_level_data_seconds > 0
            && matches!(self.style, Style::Level | Style::Universal(_))
            && output_level + 1 == self.num_levels;
        // Recent rows do not go back to L0.
        output_level.checked_sub(1).filter(|&upper| by_age && upper > 0)
    }

    /// True if a file of the level above the last one may have rows that are old enough for the last level,
    /// by a tenth of the age: it would be rewritten again and again, for the few rows that have become old
    /// enough meanwhile.
    pub fn may_have_old_rows(&self, file: &FileMetadata, now: u64) -> bool {
        let age = self.preclude_last_level_data_seconds;
        let oldest = file.oldest_ancestor_time;
        oldest <= now.saturating_sub(age.saturating_add(age.div_ceil(10)))
    }

    /// True if all rows of a file are old enough for the last level.
    pub fn has_old_rows_only(&self, file: &FileMetadata, now: u64) -> bool {
        let created = file.file_creation_time;
        created > 0 && created <= now.saturating_sub(self.preclude_last_level_data_seconds)
    }

    /// The maximum size of one compaction, in bytes, with the default resolved.
    pub fn max_compaction_bytes(&self) -> u64 {
        match self.max_compaction_bytes {
            0 => {
                let files = (2.5 * self.max_bytes_for_level_multiplier).max(25.0);
                multiply(self.target_file_size_base, files)
            }
            bytes => bytes,
        }
    }

    /// The number of files that may stall writes: the files of L0, or with universal compaction the sorted
    /// runs, which every read looks into.
    pub fn files_that_stall(&self, version: &Version) -> usize {
        match self.style {
            Style::Universal(_) => num_sorted_runs(version),
            _ => version.files(0).len(),
        }
    }

    /// The target size of an output file at `level`, in bytes. With dynamic level bytes the multiplier counts
    /// from `base_level`.
    pub fn target_file_size(&self, level: usize, base_level: usize) -> u64 {
        let depth = if self.level_compaction_dynamic_level_bytes && level >= base_level {
            level - base_level
        } else {
            level
        };
        // The first two levels have the same size: RocksDB counts L0 and L1 as one.
        (1..depth).fold(self.target_file_size_base, |size, _| {
            size.saturating_mul(self.target_file_size_multiplier)
        })
    }
}

/// `bytes * factor`, or `bytes` if that overflows, as RocksDB multiplies level sizes.
pub(crate) fn multiply(bytes: u64, factor: f64) -> u64 {
    if bytes == 0 || factor <= 0.0 {
        return 0;
    }
    if u64::MAX as f64 / bytes as f64 <= factor {
        return bytes;
    }
    (bytes as f64 * factor) as u64
}

/// The number of sorted runs of `version`: files of L0, and levels with files.
pub fn num_sorted_runs(version: &Version) -> usize {
    let levels = 1..version.num_levels();
    version.files(0).len() + levels.filter(|&level| !version.files(level).is_empty()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_sizes_grow_from_the_base_level() {
        let options = LeveledOptions {
            target_file_size_base: 8,
            target_file_size_multiplier: 10,
            ..LeveledOptions::default()
        };
        let sizes: Vec<u64> = (3..7).map(|level| options.target_file_size(level, 3)).collect();
        assert_eq!(sizes, [8, 8, 80, 800]);
        let fixed = LeveledOptions {
            level_compaction_dynamic_level_bytes: false,
            ..options
        };
        let sizes: Vec<u64> = (0..4).map(|level| fixed.target_file_size(level, 1)).collect();
        assert_eq!(sizes, [8, 8, 80, 800]);
        assert_eq!(fixed.max_compaction_bytes(), 200);
        for (multiplier, bytes) in [(4.0, 200), (20.0, 400), (40.0, 800)] {
            let of = LeveledOptions {
                max_bytes_for_level_multiplier: multiplier,
                ..fixed.clone()
            };
            assert_eq!(of.max_compaction_bytes(), bytes);
        }
    }

    #[test]
    fn names_are_those_of_the_options_file() {
        for pri in CompactionPri::ALL {
            assert_eq!(CompactionPri::from_name(pri.name()), Some(pri));
        }
        assert_eq!(
            CompactionPri::from_name("kRoundRobin"),
            Some(CompactionPri::RoundRobin)
        );
        assert_eq!(CompactionPri::from_name("kRandom"), None);
    }

    #[test]
    fn a_product_that_does_not_fit_is_the_size_itself() {
        assert_eq!(multiply(7, 2.5), 17);
        assert_eq!(multiply(1 << 62, 10.0), 1 << 62);
    }
}
