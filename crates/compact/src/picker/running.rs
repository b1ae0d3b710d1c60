//! The compactions of a family that are running.

use std::cmp::Ordering;
use std::sync::Arc;

use base::UserComparator;
use manifest::{FileMetadata, Version};

use super::rewritten::{Circumstances, RewrittenFiles};
use crate::plan::{CompactionReason, Plan};

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
    pub(super) rewritten: RewrittenFiles,
}

#[derive(Debug)]
struct Job {
    id: JobId,
    /// The input level; `None` if the job is not a compaction, but another job that adds files to a level.
    start_level: Option<usize>,
    output_level: usize,
    /// The second level that the job writes to, in the same key range, if there is one.
    upper_level: Option<usize>,
    smallest: Box<[u8]>,
    largest: Box<[u8]>,
    files: Vec<Arc<FileMetadata>>,
    /// True if the job moves files between levels out of order: it must be the only job, because files that
    /// another job put between the two levels meanwhile would be newer data below older data.
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
        if let Some(job) = self.jobs.last_mut() {
            job.exclusive = plan.reason == CompactionReason::RefitLevel;
            job.upper_level = plan.upper.map(|upper| upper.level);
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
            upper_level: None,
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
    pub fn record_rewritten(
        &mut self,
        plan: &Plan,
        circumstances: &Circumstances,
        outputs: &[u64],
        version: &Version,
    ) {
        if plan.is_in_place() {
            self.rewritten.add(plan, circumstances, outputs, version);
        }
    }

    /// Forgets the files of [`record_rewritten`](Running::record_rewritten): with other options a compaction
    /// may change them.
    pub fn forget_rewritten(&mut self) {
        self.rewritten.clear();
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
        jobs.any(|job| {
            (job.output_level == level || job.upper_level == Some(level)) && job.meets(cmp, smallest, largest)
        })
    }
}

impl Job {
    /// True if the job's range overlaps the user keys from `smallest` to `largest`, both inclusive.
    fn meets(&self, cmp: &UserComparator, smallest: &[u8], largest: &[u8]) -> bool {
        cmp.compare_without_timestamp(smallest, &self.largest) != Ordering::Greater
            && cmp.compare_without_timestamp(largest, &self.smallest) != Ordering::Less
    }
}
