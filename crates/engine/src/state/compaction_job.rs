//! A compaction between its decision and its end.

use std::sync::Arc;
use std::time::Duration;

use compact::Plan;
use compact::picker::JobId;
use compact::picker::rewritten::Circumstances;

use super::column_family::Family;
use crate::options::sst_file_manager::Reserved;

/// A compaction in progress, or handed over to the threads of bottom priority.
pub(crate) struct CompactionJob {
    pub id: u32,
    pub family: Arc<Family>,
    pub plan: Plan,
    /// The maximum number of threads that write the compaction; 0: as many as the option allows.
    pub max_subcompactions: u32,
    /// The id of the compaction among the family's running jobs.
    pub running: JobId,
    pub l0_bytes: u64,
    /// The facts on which the picker's decision was based, for a compaction whose outputs stay at the level
    /// of its inputs.
    pub circumstances: Option<Circumstances>,
    pub job: u64,
    pub start: Duration,
    /// The room reserved for the outputs of a compaction that was handed over, until it ends.
    pub reserved: Option<Reserved>,
}
