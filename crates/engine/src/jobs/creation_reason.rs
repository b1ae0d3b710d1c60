//! The reasons for which jobs create files.

use crate::state::db_inner::RECOVERY_JOB;
use compact::TableFileCreationReason;

/// The reason for files that job `job` writes, which is a flush if `flushes`, else a compaction.
pub(crate) fn creation_reason(flushes: bool, job: u64) -> TableFileCreationReason {
    match (flushes, job) {
        (false, _) => TableFileCreationReason::Compaction,
        (true, RECOVERY_JOB) => TableFileCreationReason::Recovery,
        (true, _) => TableFileCreationReason::Flush,
    }
}
