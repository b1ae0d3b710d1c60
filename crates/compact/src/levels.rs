//! The target sizes of the levels, and the level that L0 is compacted into.
//!
//! With `level_compaction_dynamic_level_bytes` the sizes are computed upwards from the largest level: the
//! target of each level is a tenth of the one below. Levels that would be smaller than needed stay empty, and
//! L0 is compacted into the first level that is needed, the *base level*. So nine tenths of the data are in
//! the last level, whatever the database's size.

use manifest::Version;

use crate::options::{LeveledOptions, multiply};

/// The target sizes of the levels, and the level that L0 is compacted into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelTargets {
    /// The base level, which L0 is compacted into: at least 1, unless L0 is the only level.
    pub base_level: usize,
    /// The target size of each level in bytes; `u64::MAX` above the base level. The element of L0 is not
    /// used.
    pub max_bytes: Vec<u64>,
    /// The lowest level that holds data although the sizes do not require it. It and all levels above it are
    /// drained.
    pub lowest_unnecessary_level: Option<usize>,
}

impl LevelTargets {
    /// The targets for the current sizes of the levels of `version`.
    pub fn new(version: &Version, options: &LeveledOptions) -> LevelTargets {
        let bytes: Vec<u64> = (0..version.num_levels())
            .map(|level| version.level_bytes(level))
            .collect();
        LevelTargets::of_sizes(&bytes, options)
    }

    /// The targets for levels of `bytes` each, L0 first.
    pub fn of_sizes(bytes: &[u64], options: &LeveledOptions) -> LevelTargets {
        if options.level_compaction_dynamic_level_bytes {
            LevelTargets::dynamic(bytes, options)
        } else {
            LevelTargets::fixed(bytes.len(), options)
        }
    }

    fn fixed(levels: usize, options: &LeveledOptions) -> LevelTargets {
        let mut max_bytes = vec![options.max_bytes_for_level_base; levels];
        for level in 2..levels {
            let additional = options.max_bytes_for_level_multiplier_additional.get(level - 1);
            max_bytes[level] = multiply(
                multiply(max_bytes[level - 1], options.max_bytes_for_level_multiplier),
                additional.map_or(1.0, |&factor| f64::from(factor)),
            );
        }
        LevelTargets {
            base_level: 1.min(levels.saturating_sub(1)),
            max_bytes,
            lowest_unnecessary_level: None,
        }
    }

    fn dynamic(bytes: &[u64], options: &LeveledOptions) -> LevelTargets {
        let levels = bytes.len();
        // A level without a target is not compacted.
        let mut targets = LevelTargets {
            base_level: levels.saturating_sub(1),
            max_bytes: vec![u64::MAX; levels],
            lowest_unnecessary_level: None,
        };
        // The last level may be empty, or smaller than a level above it.
        let largest = bytes.iter().skip(1).copied().max().unwrap_or(0);
        let Some(first_non_empty) = (1..levels).find(|&level| bytes[level] > 0) else {
            return targets;
        };
        let multiplier = options.max_bytes_for_level_multiplier.max(1.0);
        let shrink = |size: u64| (size as f64 / multiplier) as u64;
        let base_max = options.max_bytes_for_level_base;
        let base_min = shrink(base_max);

        // The target of the first level with data, if the last level may be as large as the largest level is.
        let mut size = largest;
        for level in (first_non_empty..levels - 1).rev() {
            size = shrink(size);
            // Rows that are too recent for the last level need the level above it.
            let is_needed = options.upper_level(levels - 1) == Some(level);
            if targets.lowest_unnecessary_level.is_none() && size <= base_min && !is_needed {
                targets.lowest_unnecessary_level = Some(level);
            }
        }
        targets.base_level = first_non_empty;
        let base_size = if size <= base_min {
            // There is only one level with data, which is smaller than a base level need be, or there are too
            // many levels.
            base_min + 1
        } else {
            while targets.base_level > 1 && size > base_max {
                targets.base_level -= 1;
                size = shrink(size);
            }
            size.clamp(1, base_max)
        };
        let mut size = base_size;
        for level in targets.base_level..levels {
            if level > targets.base_level {
                size = multiply(size, multiplier);
            }
            // A smaller target would make this level be compacted before L0, which would then fill up.
            targets.max_bytes[level] = size.max(base_max);
        }
        targets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn targets(mib: &[u64]) -> (usize, Vec<u64>, Option<usize>) {
        let bytes: Vec<u64> = mib.iter().map(|mib| mib * MIB).collect();
        let targets = LevelTargets::of_sizes(&bytes, &LeveledOptions::default());
        let max_mib = targets.max_bytes[targets.base_level..]
            .iter()
            .map(|bytes| bytes / MIB);
        (
            targets.base_level,
            max_mib.collect(),
            targets.lowest_unnecessary_level,
        )
    }

    #[test]
    fn an_empty_database_compacts_into_the_last_level() {
        assert_eq!(targets(&[900, 0, 0, 0, 0, 0, 0]), (6, vec![u64::MAX / MIB], None));
    }

    #[test]
    fn the_base_level_rises_as_the_last_level_grows() {
        assert_eq!(targets(&[0, 0, 0, 0, 0, 0, 200]), (6, vec![256], None));
        assert_eq!(targets(&[0, 0, 0, 0, 0, 0, 300]), (5, vec![256, 300], None));
        assert_eq!(
            targets(&[0, 0, 0, 0, 0, 30, 3000]),
            (4, vec![256, 300, 3000], None)
        );
    }

    #[test]
    fn levels_nobody_needs_are_drained() {
        assert_eq!(targets(&[0, 0, 0, 10, 10, 10, 100]).2, Some(5));
    }

    #[test]
    fn without_dynamic_sizes_each_level_has_ten_times_more() {
        let options = LeveledOptions {
            level_compaction_dynamic_level_bytes: false,
            max_bytes_for_level_base: 10,
            max_bytes_for_level_multiplier_additional: vec![1, 1, 2],
            ..LeveledOptions::default()
        };
        let targets = LevelTargets::of_sizes(&[0; 5], &options);
        assert_eq!(
            (targets.base_level, targets.max_bytes),
            (1, vec![10, 10, 100, 2000, 20000])
        );
    }

    #[test]
    fn one_level_is_no_reason_to_fail() {
        for dynamic in [true, false] {
            let options = LeveledOptions {
                level_compaction_dynamic_level_bytes: dynamic,
                ..LeveledOptions::default()
            };
            assert_eq!(LevelTargets::of_sizes(&[5], &options).base_level, 0);
        }
    }
}
