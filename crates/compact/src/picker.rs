//! The choice of files to compact: the parts that all pickers share.
//!
//! A picker is a pure function from a version, options and the running compactions to a [`Plan`]. Two rules
//! keep compactions from interfering: a file is input of at most one compaction
//! (`FileMetadata::being_compacted`), and no two compactions write overlapping key ranges to one level
//! ([`Running`]). A third rule keeps the versions of a user key in order: inputs are cut only where the user
//! key changes (a *clean cut*).

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use base::{SeqNo, UserComparator};
use manifest::{FileMetadata, Version};
use rangedel::FragmentedTombstones;

use crate::options::LeveledOptions;
use crate::order;
use crate::plan::{CompactionReason, LevelFiles, Plan};
use crate::styles::Style;
use settled::{Circumstances, SettledFiles};

mod covered;
pub mod fifo;
pub mod files;
pub mod leveled;
pub mod range;
pub mod settled;
pub mod universal;

/// The most urgent compaction in the style of the options; `None` if none is needed or all conflict with
/// running ones. Pure: after the result was [`start`](Running::start)ed, the next call finds a further one.
pub fn pick(context: &PickContext<'_>) -> Option<Plan> {
    let plan = match &context.options.style {
        Style::Level => covered::pick_covered(context).or_else(|| leveled::pick_leveled(context)),
        Style::Universal(options) => {
            covered::pick_covered(context).or_else(|| universal::pick_universal(context, options))
        }
        Style::Fifo(options) => fifo::pick_fifo(context, options),
        Style::None => None,
    };
    plan.filter(|plan| !context.running.settled.repeats(context, plan))
}

/// The caller's knowledge of files beyond their metadata.
pub trait FileFacts {
    /// True if `file` may be moved to `output_level` unchanged: it has the compression and the path that a
    /// new file there would have.
    fn can_move(&self, _file: &FileMetadata, _output_level: usize) -> bool {
        true
    }

    /// The range tombstones of `file`, if they are known without reading it.
    fn range_tombstones(&self, _file: &FileMetadata) -> Option<Arc<FragmentedTombstones>> {
        None
    }

    /// The highest sequence number that all snapshots and all readers without a snapshot see: no reader sees
    /// entries that it hides. 0: unknown.
    fn visible_to_all(&self) -> SeqNo {
        0
    }

    /// True if the caller suggests that `file` be compacted when nothing is more urgent, besides the marks in
    /// its metadata.
    fn is_suggested(&self, _file: &FileMetadata) -> bool {
        false
    }

    /// True if the caller asks that `file` be rewritten in its level when nothing is more urgent.
    fn is_to_be_rewritten(&self, _file: &FileMetadata) -> bool {
        false
    }

    /// The highest timestamp of `file`, in a family with timestamps, if it is known without reading the file.
    fn max_timestamp(&self, _file: &FileMetadata) -> Option<Box<[u8]>> {
        None
    }

    /// False if rewriting `file` at the bottom would not change it although its sequence numbers suggest so,
    /// because its merge operands cannot be combined. Such a file would otherwise be picked again and again.
    fn worth_rewriting(&self, _file: &FileMetadata) -> bool {
        true
    }
}

/// Knows nothing beyond the metadata.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFacts;

impl FileFacts for NoFacts {}

/// The inputs of a picker.
#[derive(Clone, Copy)]
pub struct PickContext<'a> {
    /// The newest version.
    pub version: &'a Version,
    /// The options in force.
    pub options: &'a LeveledOptions,
    /// The running compactions.
    pub running: &'a Running,
    /// The oldest snapshot, or the last sequence number if there is no snapshot.
    pub oldest_snapshot: SeqNo,
    /// The current time in Unix seconds.
    pub now: u64,
    /// For families with timestamps: history older than this may be dropped.
    pub full_history_ts_low: Option<&'a [u8]>,
    /// The caller's knowledge of files.
    pub facts: &'a dyn FileFacts,
}

/// The id of a running compaction within its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(u64);

/// The compactions of one column family that are running or about to start. Guarded by the caller's mutex.
#[derive(Debug, Default)]
pub struct Running {
    jobs: Vec<Job>,
    next_id: u64,
    /// For each level, the largest key of the last compaction that its size caused. Empty: there was none.
    cursors: Vec<Box<[u8]>>,
    /// Files whose compaction for the same reason would change nothing.
    settled: SettledFiles,
}

#[derive(Debug)]
struct Job {
    id: JobId,
    /// `None`: not a compaction, but another job that adds files to a level.
    start_level: Option<usize>,
    output_level: usize,
    smallest: Box<[u8]>,
    largest: Box<[u8]>,
    files: Vec<Arc<FileMetadata>>,
    /// The job moves files between levels out of order: files that another job put between the two levels
    /// meanwhile would be newer data below older data.
    exclusive: bool,
}

impl Running {
    /// No running compactions.
    pub fn new() -> Running {
        Running::default()
    }

    /// The number of running compactions.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// True if no compaction is running.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Starts `plan`, which was picked from the current state: marks its inputs as being compacted.
    pub fn start(&mut self, plan: &Plan) -> JobId {
        let files: Vec<_> = plan.files().map(|(_, file)| Arc::clone(file)).collect();
        for file in &files {
            base::invariant!(
                !file.is_being_compacted(),
                "file {} is in two compactions",
                file.number
            );
            file.set_being_compacted(true);
        }
        let id = self.add(
            Some(plan.start_level()),
            plan.output_level,
            &plan.smallest_user_key,
            &plan.largest_user_key,
            files,
        );
        if plan.reason == CompactionReason::LevelMaxLevelSize
            && let Some(last) = plan.inputs[0].files.last()
        {
            let level = plan.start_level();
            self.cursors
                .resize(self.cursors.len().max(level + 1), Box::default());
            self.cursors[level] = last.largest.clone();
        }
        if plan.reason == CompactionReason::RefitLevel
            && let Some(job) = self.jobs.last_mut()
        {
            job.exclusive = true;
        }
        id
    }

    /// The largest key of the last compaction out of `level` that the level's size caused.
    pub fn cursor(&self, level: usize) -> Option<&[u8]> {
        self.cursors
            .get(level)
            .map(|key| &key[..])
            .filter(|key| !key.is_empty())
    }

    /// True while a job runs that must be the only one of its family.
    pub fn is_exclusive(&self) -> bool {
        self.jobs.iter().any(|job| job.exclusive)
    }

    /// Excludes all other jobs of the family, while `files`, none of which is being compacted, are about to
    /// be deleted.
    pub fn exclude(&mut self, files: Vec<Arc<FileMetadata>>) -> JobId {
        files.iter().for_each(|file| file.set_being_compacted(true));
        // The job adds no file to any level.
        let id = self.add(None, usize::MAX, &[], &[], files);
        if let Some(job) = self.jobs.last_mut() {
            job.exclusive = true;
        }
        id
    }

    /// Reserves the user keys from `smallest` to `largest`, both inclusive, of `level` for files that no
    /// compaction writes, such as ingested ones.
    pub fn reserve(&mut self, level: usize, smallest: &[u8], largest: &[u8]) -> JobId {
        self.add(None, level, smallest, largest, Vec::new())
    }

    fn add(
        &mut self,
        start_level: Option<usize>,
        output_level: usize,
        smallest: &[u8],
        largest: &[u8],
        files: Vec<Arc<FileMetadata>>,
    ) -> JobId {
        let id = JobId(self.next_id);
        self.next_id += 1;
        self.jobs.push(Job {
            id,
            start_level,
            output_level,
            smallest: smallest.into(),
            largest: largest.into(),
            files,
            exclusive: false,
        });
        id
    }

    /// Removes a compaction that ended or failed, once its result is installed: its inputs may be picked
    /// again.
    pub fn finish(&mut self, id: JobId) {
        if let Some(at) = self.jobs.iter().position(|job| job.id == id) {
            for file in self.jobs.swap_remove(at).files {
                file.set_being_compacted(false);
            }
        }
    }

    /// Records the `outputs` of `plan`, which are now in `version`, so that files which a compaction does not
    /// change are not compacted again and again. `circumstances`: those of the pick.
    pub fn settle(&mut self, plan: &Plan, circumstances: &Circumstances, outputs: &[u64], version: &Version) {
        if plan.is_in_place() {
            self.settled.add(plan, circumstances, outputs, version);
        }
    }

    /// Forgets the records of [`settle`](Running::settle): with other options a compaction may change those
    /// files.
    pub fn unsettle(&mut self) {
        self.settled.clear();
    }

    /// True if user keys from `smallest` to `largest`, both inclusive, are [reserved](Running::reserve) in
    /// any level.
    pub fn reserves(&self, cmp: &UserComparator, smallest: &[u8], largest: &[u8]) -> bool {
        let mut jobs = self.jobs.iter();
        jobs.any(|job| job.start_level.is_none() && !job.exclusive && job.meets(cmp, smallest, largest))
    }

    /// True while a compaction has inputs in L0. L0 allows only one at a time, because its files overlap.
    pub fn level0_busy(&self) -> bool {
        self.jobs.iter().any(|job| job.start_level == Some(0))
    }

    /// True if a running compaction writes to `level` within the user keys from `smallest` to `largest`, both
    /// inclusive.
    pub fn writes_to(&self, cmp: &UserComparator, level: usize, smallest: &[u8], largest: &[u8]) -> bool {
        let mut jobs = self.jobs.iter();
        jobs.any(|job| job.output_level == level && job.meets(cmp, smallest, largest))
    }
}

impl Job {
    /// True if the job's range overlaps the user keys from `smallest` to `largest`, both inclusive.
    fn meets(&self, cmp: &UserComparator, smallest: &[u8], largest: &[u8]) -> bool {
        cmp.compare_without_timestamp(smallest, &self.largest) != Ordering::Greater
            && cmp.compare_without_timestamp(largest, &self.smallest) != Ordering::Less
    }
}

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
/// the output level. `None`: a file needed is busy, as `any_busy` defines it.
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

/// True if a running compaction writes to `output_level` within the range of `inputs`.
pub(crate) fn conflicts(context: &PickContext<'_>, inputs: &[LevelFiles], output_level: usize) -> bool {
    let files = Files::of(context.version);
    let bounds = files.bounds(inputs.iter().flat_map(|input| &input.files));
    let user = base::internal_key::user_key;
    context.running.writes_to(
        files.cmp,
        output_level,
        user(bounds.smallest),
        user(bounds.largest),
    )
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
