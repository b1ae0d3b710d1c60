//! The inputs of a compaction: the queries of all pickers to a version.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use base::UserComparator;
use manifest::{FileMetadata, Version};

use super::context::PickContext;
use crate::order;
use crate::plan::LevelFiles;

/// The smallest and the largest internal key of some files.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<'a> {
    pub(crate) smallest: &'a [u8],
    pub(crate) largest: &'a [u8],
}

/// The queries of pickers to a version.
pub(crate) struct Files<'a> {
    pub(crate) version: &'a Version,
    pub(crate) cmp: &'a UserComparator,
}

impl<'a> Files<'a> {
    pub(crate) fn of(version: &'a Version) -> Files<'a> {
        Files {
            version,
            cmp: version.cmp().user(),
        }
    }

    pub(crate) fn level(&self, level: usize) -> &'a [Arc<FileMetadata>] {
        self.version.files(level)
    }

    /// The bounds of `files`, which must not be empty.
    pub(crate) fn bounds<'f>(&self, files: impl IntoIterator<Item = &'f Arc<FileMetadata>>) -> Bounds<'f> {
        let order = self.version.cmp();
        let mut files = files.into_iter();
        let first = files.next().expect("bounds are asked of files");
        let mut bounds = Bounds {
            smallest: &first.smallest,
            largest: &first.largest,
        };
        for file in files {
            if order.compare(&file.smallest, bounds.smallest) == Ordering::Less {
                bounds.smallest = &file.smallest;
            }
            if order.compare(&file.largest, bounds.largest) == Ordering::Greater {
                bounds.largest = &file.largest;
            }
        }
        bounds
    }

    /// Below L0: the files whose ranges overlap `bounds`.
    pub(crate) fn overlapping(&self, level: usize, bounds: Bounds<'_>) -> Range<usize> {
        if level >= self.version.num_levels() {
            return 0..0;
        }
        let user = |key| Some(base::internal_key::user_key(key));
        let mut range = self
            .version
            .overlapping_range(level, user(bounds.smallest), user(bounds.largest));
        // A sentinel means that its user key is not within the bounds.
        let files = self.level(level);
        while !range.is_empty()
            && order::boundaries(self.cmp, bounds.largest, &files[range.end - 1].smallest) == Ordering::Less
        {
            range.end -= 1;
        }
        range
    }

    /// Below L0: the files that are wholly within `bounds`, as many as a clean cut allows.
    pub(crate) fn within(&self, level: usize, bounds: Bounds<'_>) -> Range<usize> {
        let files = self.level(level);
        let mut start = files.partition_point(|file| {
            order::boundaries(self.cmp, &file.smallest, bounds.smallest) == Ordering::Less
        });
        let mut end = files.partition_point(|file| {
            order::boundaries(self.cmp, &file.largest, bounds.largest) != Ordering::Greater
        });
        while start < end && start > 0 && self.share_user_key(&files[start - 1], &files[start]) {
            start += 1;
        }
        while start < end && end < files.len() && self.share_user_key(&files[end - 1], &files[end]) {
            end -= 1;
        }
        start..end.max(start)
    }

    /// Below L0: `range`, extended by the files that share a user key with a file in it.
    pub(crate) fn clean_cut(&self, level: usize, mut range: Range<usize>) -> Range<usize> {
        let files = self.level(level);
        if range.is_empty() {
            return range;
        }
        while range.start > 0 && self.share_user_key(&files[range.start - 1], &files[range.start]) {
            range.start -= 1;
        }
        while range.end < files.len() && self.share_user_key(&files[range.end - 1], &files[range.end]) {
            range.end += 1;
        }
        range
    }

    /// True if one user key has versions in both of two adjacent files.
    pub(crate) fn share_user_key(&self, left: &FileMetadata, right: &FileMetadata) -> bool {
        order::boundaries(self.cmp, &left.largest, &right.smallest) == Ordering::Equal
    }

    /// In L0: the files whose ranges overlap the user keys from `begin` to `end`, both inclusive, and all
    /// files that overlap one of those.
    pub(crate) fn overlapping_level0(
        &self,
        mut begin: Option<&'a [u8]>,
        mut end: Option<&'a [u8]>,
    ) -> Vec<Arc<FileMetadata>> {
        let files = self.level(0);
        let mut chosen = vec![false; files.len()];
        let mut grown = true;
        while grown {
            grown = false;
            for (i, file) in files.iter().enumerate() {
                let (smallest, largest) = (file.smallest_user_key(), file.largest_user_key());
                let before = begin.is_some_and(|begin| self.compare(largest, begin) == Ordering::Less);
                let behind = end.is_some_and(|end| self.compare(smallest, end) == Ordering::Greater);
                if chosen[i] || before || behind {
                    continue;
                }
                chosen[i] = true;
                grown = true;
                begin = begin.map(|begin| {
                    if self.compare(smallest, begin) == Ordering::Less {
                        smallest
                    } else {
                        begin
                    }
                });
                end = end.map(|end| {
                    if self.compare(largest, end) == Ordering::Greater {
                        largest
                    } else {
                        end
                    }
                });
            }
        }
        let chosen = chosen.into_iter().zip(files).filter(|(chosen, _)| *chosen);
        chosen.map(|(_, file)| Arc::clone(file)).collect()
    }

    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.cmp.compare_without_timestamp(a, b)
    }
}

/// True if an automatic compaction cannot take all of the files: one is input of a running compaction, or is
/// excluded from automatic compactions.
pub(crate) fn any_busy(files: &[Arc<FileMetadata>]) -> bool {
    files.iter().any(|file| !file.is_idle())
}

/// True if a file is input of a running compaction. A user may compact files that are excluded from automatic
/// compactions.
pub(crate) fn any_being_compacted(files: &[Arc<FileMetadata>]) -> bool {
    files.iter().any(|file| file.is_being_compacted())
}

pub(crate) fn total_bytes(files: &[Arc<FileMetadata>]) -> u64 {
    files
        .iter()
        .fold(0, |sum: u64, file| sum.saturating_add(file.size))
}

/// Completes the inputs of a compaction from `level` to `output_level`: adds the files of the output level in
/// the range of `start`, then those files of `level` in the range of both that require no further files of
/// the output level. `None`: a file that is needed is busy, as `any_busy` defines it.
pub(crate) fn setup_other_inputs(
    context: &PickContext<'_>,
    level: usize,
    start: Vec<Arc<FileMetadata>>,
    output_level: usize,
    any_busy: fn(&[Arc<FileMetadata>]) -> bool,
) -> Option<Vec<LevelFiles>> {
    let files = Files::of(context.version);
    if level == output_level {
        return Some(level_inputs(level, start, output_level, &[]));
    }
    let output_range = files.clean_cut(
        output_level,
        files.overlapping(output_level, files.bounds(&start)),
    );
    let output = &files.level(output_level)[output_range.clone()];
    if any_busy(output) {
        return None;
    }
    if output.is_empty() {
        return Some(level_inputs(level, start, output_level, &[]));
    }
    let all = files.bounds(start.iter().chain(output));
    let limit = context
        .options
        .max_compaction_bytes()
        .saturating_mul(2)
        .saturating_sub(total_bytes(output));
    let worth_it = |grown: &[Arc<FileMetadata>]| {
        grown.len() > start.len() && !any_busy(grown) && total_bytes(grown) < limit
    };
    let grown = if level == 0 {
        let user = |key| Some(base::internal_key::user_key(key));
        files.overlapping_level0(user(all.smallest), user(all.largest))
    } else {
        files.level(level)[files.clean_cut(level, files.overlapping(level, all))].to_vec()
    };
    let spares_output = |grown: &[Arc<FileMetadata>]| {
        let range = files.overlapping(output_level, files.bounds(grown));
        files.clean_cut(output_level, range) == output_range
    };
    if worth_it(&grown) && spares_output(&grown) {
        return Some(level_inputs(level, grown, output_level, output));
    }
    if level > 0 {
        let grown = &files.level(level)[files.within(level, all)];
        if worth_it(grown) {
            return Some(level_inputs(level, grown.to_vec(), output_level, output));
        }
    }
    Some(level_inputs(level, start, output_level, output))
}

/// The inputs of both levels, without levels that have no files.
pub(crate) fn level_inputs(
    level: usize,
    start: Vec<Arc<FileMetadata>>,
    output_level: usize,
    output: &[Arc<FileMetadata>],
) -> Vec<LevelFiles> {
    let mut inputs = vec![LevelFiles { level, files: start }];
    if !output.is_empty() {
        inputs.push(LevelFiles {
            level: output_level,
            files: output.to_vec(),
        });
    }
    inputs
}

/// True if a running compaction writes to `output_level`, or to the level that would take the recent rows,
/// within the range of `inputs`.
pub(crate) fn conflicts(context: &PickContext<'_>, inputs: &[LevelFiles], output_level: usize) -> bool {
    let files = Files::of(context.version);
    let bounds = files.bounds(inputs.iter().flat_map(|input| &input.files));
    let user = base::internal_key::user_key;
    let upper = context.options.upper_level(output_level);
    upper.into_iter().chain([output_level]).any(|level| {
        (context.running).writes_to(files.cmp, level, user(bounds.smallest), user(bounds.largest))
    })
}

/// True if a file is about to be added within the range of `inputs`, to L0 perhaps. L0 files are ordered by
/// their sequence numbers, so a compaction within L0 of an older and a newer file than that one must not be
/// installed after it.
pub(crate) fn keys_are_reserved(context: &PickContext<'_>, inputs: &[LevelFiles]) -> bool {
    let files = Files::of(context.version);
    let bounds = files.bounds(inputs.iter().flat_map(|input| &input.files));
    let user = base::internal_key::user_key;
    (context.running).reserves(files.cmp, user(bounds.smallest), user(bounds.largest))
}

/// The files in the range of `inputs` in the first level below `output_level` that has any.
pub(crate) fn grandparents(
    version: &Version,
    inputs: &[LevelFiles],
    output_level: usize,
) -> Vec<Arc<FileMetadata>> {
    let files = Files::of(version);
    let bounds = files.bounds(inputs.iter().flat_map(|input| &input.files));
    (output_level + 1..version.num_levels())
        .map(|level| &files.level(level)[files.overlapping(level, bounds)])
        .find(|files| !files.is_empty())
        .map_or(Vec::new(), <[_]>::to_vec)
}

/// True if the inputs may be moved instead of rewritten. `level0_may_overlap`: files of L0 among them may
/// overlap.
pub(crate) fn is_trivial_move(
    context: &PickContext<'_>,
    inputs: &[LevelFiles],
    output_level: usize,
    level0_may_overlap: bool,
) -> bool {
    let [LevelFiles { level, files: moved }] = inputs else {
        return false;
    };
    let files = Files::of(context.version);
    if *level == output_level
        || (*level == 0 && level0_may_overlap && !do_not_overlap(context.version, context.version.files(0)))
    {
        return false;
    }
    // A file that overlaps much of the next level would make its own next compaction very expensive.
    let limit = context.options.max_compaction_bytes();
    moved.iter().all(|file| {
        let below = files.overlapping(output_level + 1, files.bounds([file]));
        file.size
            .saturating_add(total_bytes(&files.level(output_level + 1)[below]))
            <= limit
            && context.facts.can_move(file, output_level)
    })
}

/// True if no two of `files` overlap or share a user key.
pub(crate) fn do_not_overlap<'a>(
    version: &Version,
    files: impl IntoIterator<Item = &'a Arc<FileMetadata>>,
) -> bool {
    let order = version.cmp();
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_by(|a, b| order.compare(&a.smallest, &b.smallest));
    files
        .windows(2)
        .all(|pair| order::boundaries(order.user(), &pair[0].largest, &pair[1].smallest) == Ordering::Less)
}

/// The number of files of L0, from the newest on, that are worth merging: as long as each further file lowers
/// the bytes per file removed; and the bytes of those files. `None`: fewer than two.
pub(crate) fn cheap_level0(files: &[Arc<FileMetadata>], max_bytes: u64) -> Option<(usize, u64)> {
    let newest = files.first().filter(|newest| newest.is_idle())?;
    let mut bytes = newest.size;
    let mut bytes_per_file = u64::MAX;
    let mut end = 1;
    while let Some(file) = files.get(end) {
        bytes = bytes.saturating_add(file.size);
        let with_it = bytes / end as u64;
        if !file.is_idle() || with_it > bytes_per_file || bytes > max_bytes {
            break;
        }
        bytes_per_file = with_it;
        end += 1;
    }
    (end > 1).then_some((end, bytes_per_file))
}
