//! The choice of a directory for a new table: `db_paths` and `cf_paths` list directories, each with a
//! target size.
//!
//! Files of upper levels, and small files of universal compactions, go to the first directories, which
//! may be faster. Files that do not fit there go to later directories, and the last one takes the rest. A
//! target size is not a limit: the choice depends on the target sizes of levels, not on the bytes they
//! hold.

use crate::options::LeveledOptions;

/// The directory of files of `level`. Levels are placed in order, L0 with the size of L1, each as a whole in
/// the first directory that has room for it besides the levels above it. `targets` are the target sizes of
/// the directories.
pub fn leveled(targets: &[u64], options: &LeveledOptions, level: usize) -> u32 {
    let last = targets.len().saturating_sub(1);
    let (mut path, mut current) = (0, 0);
    let mut room = targets.first().copied().unwrap_or(u64::MAX);
    let mut level_bytes = options.max_bytes_for_level_base;
    while path < last {
        if level_bytes > room {
            path += 1;
            room = targets[path];
            continue;
        }
        if current == level {
            break;
        }
        room -= level_bytes;
        if current > 0 {
            let additional = options.max_bytes_for_level_multiplier_additional.get(current);
            let additional = additional.map_or(1.0, |&factor| f64::from(factor));
            level_bytes = (level_bytes as f64 * options.max_bytes_for_level_multiplier * additional) as u64;
        }
        current += 1;
    }
    path as u32
}

/// Returns the directory for a file of `bytes` that a universal compaction writes. It is the first directory
/// with room for the file, if this directory and the earlier ones then still have room for the files that
/// will be written until this file is compacted again. The bytes of those later files are estimated as
/// `bytes` less `size_ratio` percent.
pub fn universal(targets: &[u64], size_ratio: u32, bytes: u64) -> u32 {
    let last = targets.len().saturating_sub(1);
    let to_come = (u128::from(bytes) * u128::from(100u32.saturating_sub(size_ratio)) / 100) as u64;
    let mut before = 0u64;
    for (path, &target) in targets[..last].iter().enumerate() {
        if target > bytes && before.saturating_add(target - bytes) > to_come {
            return path as u32;
        }
        before = before.saturating_add(target);
    }
    last as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> LeveledOptions {
        LeveledOptions {
            max_bytes_for_level_base: 100,
            max_bytes_for_level_multiplier: 10.0,
            ..LeveledOptions::default()
        }
    }

    /// The directory of each level from L0 to L6.
    fn levels(targets: &[u64]) -> Vec<u32> {
        (0..7).map(|level| leveled(targets, &options(), level)).collect()
    }

    #[test]
    fn levels_fill_one_directory_after_the_other() {
        assert_eq!(levels(&[u64::MAX]), [0; 7]);
        assert_eq!(levels(&[0]), [0; 7], "the last takes what there is");
        // L0 and L1 have 100 bytes each, L2 1,000, L3 10,000.
        assert_eq!(levels(&[99, 0]), [1; 7]);
        assert_eq!(levels(&[199, 0]), [0, 1, 1, 1, 1, 1, 1]);
        assert_eq!(levels(&[200, 0]), [0, 0, 1, 1, 1, 1, 1]);
        assert_eq!(levels(&[200, 999, 11_000, 0]), [0, 0, 2, 2, 3, 3, 3]);
        assert_eq!(levels(&[200, 1_000, 10_000, 0]), [0, 0, 1, 2, 3, 3, 3]);
    }

    #[test]
    fn a_run_leaves_room_for_those_that_come_before_it_is_compacted() {
        assert_eq!(universal(&[u64::MAX], 1, 1 << 40), 0);
        // The directory has room for the run and for as much again, less 1 percent.
        assert_eq!(universal(&[200, 0], 1, 100), 0);
        assert_eq!(universal(&[199, 0], 1, 100), 1);
        assert_eq!(universal(&[160, 0], 50, 100), 0);
        // A file that does not fit into the first directory leaves the room there to smaller files.
        assert_eq!(universal(&[90, 120, 0], 1, 100), 1);
        assert_eq!(universal(&[90, 100, 0], 1, 100), 2, "it must have more than that");
        assert_eq!(universal(&[1, 2, 3, u64::MAX], 1, 1 << 50), 3);
        assert_eq!(universal(&[10, 0], 1, u64::MAX), 1);
    }
}
