//! Files that a compaction wrote in the level of its inputs. If the reason of that compaction persists,
//! because a merge operator fails, or because a file was rewritten unchanged, the same compaction would be
//! picked again and again.
//!
//! A file is compacted again for the same reason only after something has changed that the reason depends on:
//! a snapshot was released that the compaction still had to respect, `full_history_ts_low` rose, a period
//! passed, or more blob files became old. This knowledge is only in memory: after each open of a database one
//! attempt is made.

use std::collections::{BTreeSet, HashMap};

use base::{SeqNo, Temperature};
use manifest::Version;

use crate::plan::{CompactionReason, Plan};

/// The circumstances of a compaction besides the rows that it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstances {
    pub(super) oldest_snapshot: SeqNo,
    pub(super) full_history_ts_low: Box<[u8]>,
    /// The time in Unix seconds.
    pub(super) now: u64,
    /// The number below which compactions relocate the values of blob files.
    pub(super) blob_cutoff: u64,
}

/// A file that was rewritten in its level.
#[derive(Debug)]
pub(super) struct RewrittenFile {
    /// The id of the compaction within its family.
    pub(super) by: u64,
    pub(super) reason: CompactionReason,
    pub(super) level: usize,
    pub(super) temperature: Option<Temperature>,
    pub(super) circumstances: Circumstances,
}

/// The files of one family that were rewritten in their level, by number.
#[derive(Debug, Default)]
pub(super) struct RewrittenFiles {
    pub(super) files: HashMap<u64, RewrittenFile>,
    compactions: u64,
}

impl RewrittenFiles {
    /// Records the files that `plan`, picked in these circumstances, has put into `version` in place of its
    /// inputs.
    pub(super) fn add(
        &mut self,
        plan: &Plan,
        circumstances: &Circumstances,
        outputs: &[u64],
        version: &Version,
    ) {
        let live: BTreeSet<u64> = version.all_files().map(|(_, file)| file.number).collect();
        self.files.retain(|number, _| live.contains(number));
        self.compactions += 1;
        for number in outputs {
            let rewritten = RewrittenFile {
                by: self.compactions,
                reason: plan.reason,
                level: plan.output_level,
                temperature: plan.output_temperature,
                circumstances: circumstances.clone(),
            };
            self.files.insert(*number, rewritten);
        }
    }

    pub(super) fn clear(&mut self) {
        self.files.clear();
    }
}
