//! The levels of a family in one line, as RocksDB's LOG shows them after compactions.

use std::fmt::Write;

use compact::LeveledOptions;
use compact::score::Scores;
use compact::styles::Style;
use manifest::Version;

/// RocksDB's summary of the levels of `version`: `base level 4 level multiplier 10.00 max bytes base
/// 268435456 files[0 0 0 0 1 0 2] max score 0.12, estimated pending compaction bytes 0`. For a tree without
/// data below L0, and for other compaction styles, it begins with `files[`.
pub(crate) fn level_summary(version: &Version, scores: &Scores, options: &LeveledOptions) -> String {
    let levels = version.num_levels();
    let max_bytes = &scores.targets.max_bytes;
    let mut out = match (&options.style, max_bytes.get(scores.targets.base_level)) {
        (Style::Level, Some(&max)) if levels > 1 && max < u64::MAX => format!(
            "base level {} level multiplier {:.2} max bytes base {max} ",
            scores.targets.base_level, options.max_bytes_for_level_multiplier
        ),
        _ => String::new(),
    };
    let files: Vec<String> = (0..levels)
        .map(|level| version.files(level).len().to_string())
        .collect();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "files[{}] max score {:.2}, estimated pending compaction bytes {}",
        files.join(" "),
        scores.levels.first().map_or(0.0, |level| level.score),
        scores.pending_compaction_bytes
    );
    let marked = version
        .all_files()
        .filter(|(_, file)| file.marked_for_compaction)
        .count();
    if marked > 0 {
        let _ = write!(out, " ({marked} files need compaction)");
    }
    out
}

#[cfg(test)]
mod tests {
    use manifest::{FileMetadata, VersionBuilder, VersionEdit};

    use super::*;

    fn summary(files: &[(u32, u64)], options: &LeveledOptions) -> String {
        let cmp = base::InternalComparator::new(base::UserComparator::Bytewise);
        let key = |number: usize| base::internal_key::encode(&[number as u8], 1, base::Kind::Value).into();
        let mut edit = VersionEdit::default();
        for (number, &(level, size)) in files.iter().enumerate() {
            let file = FileMetadata {
                number: number as u64 + 1,
                size,
                smallest: key(number),
                largest: key(number),
                ..FileMetadata::default()
            };
            edit.new_files.push((level, std::sync::Arc::new(file)));
        }
        let mut builder = VersionBuilder::new(&Version::empty(cmp, 7));
        builder.apply(&edit).unwrap();
        let version = builder.build().unwrap();
        level_summary(&version, &Scores::new(&version, options), options)
    }

    #[test]
    fn it_is_rocksdbs() {
        let mut options = LeveledOptions::default();
        assert_eq!(
            summary(&[], &options),
            "files[0 0 0 0 0 0 0] max score 0.00, estimated pending compaction bytes 0"
        );
        assert_eq!(
            summary(&[(0, 10), (6, 1 << 20)], &options),
            "base level 6 level multiplier 10.00 max bytes base 268435456 files[1 0 0 0 0 0 1] max score 0.25, \
             estimated pending compaction bytes 0"
        );
        options.style = Style::Universal(Default::default());
        assert!(summary(&[(0, 10)], &options).starts_with("files[1 0 0 0 0 0 0] max score "));
    }
}
