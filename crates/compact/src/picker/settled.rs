//! Files that a compaction wrote in the level of its inputs. If the reason of that compaction persists,
//! because a merge operator fails or because nothing more is known of a file, the same compaction would be
//! picked again and again.
//!
//! A file is compacted again for the same reason only after something has changed that the reason depends on:
//! a snapshot was released that the compaction still had to respect, `full_history_ts_low` rose, a period
//! passed, or more blob files became old. This knowledge is only in memory: after each open of a database one
//! attempt is made.

use std::collections::{BTreeSet, HashMap};

use base::{SeqNo, Temperature};
use manifest::{FileMetadata, Version};

use super::PickContext;
use crate::due::is_past;
use crate::plan::{CompactionReason, Plan};

/// The circumstances of a compaction besides the rows that it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstances {
    oldest_snapshot: SeqNo,
    full_history_ts_low: Box<[u8]>,
    /// The time in Unix seconds.
    now: u64,
    /// Compactions relocate values of blob files with lower numbers.
    blob_cutoff: u64,
}

impl Circumstances {
    /// The circumstances in which `context` picks a plan.
    pub fn of(context: &PickContext<'_>) -> Circumstances {
        let garbage = context.options.blob_garbage_collection;
        Circumstances {
            oldest_snapshot: context.oldest_snapshot,
            full_history_ts_low: context.full_history_ts_low.unwrap_or_default().into(),
            now: context.now,
            blob_cutoff: garbage.map_or(0, |garbage| garbage.cutoff(context.version)),
        }
    }
}

/// A file that was rewritten in its level.
#[derive(Debug)]
struct Settled {
    /// The id of the compaction within its family.
    by: u64,
    reason: CompactionReason,
    level: usize,
    temperature: Option<Temperature>,
    circumstances: Circumstances,
}

/// The files of one family that were rewritten in their level, by number.
#[derive(Debug, Default)]
pub(super) struct SettledFiles {
    files: HashMap<u64, Settled>,
    compactions: u64,
}

impl SettledFiles {
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
            let settled = Settled {
                by: self.compactions,
                reason: plan.reason,
                level: plan.output_level,
                temperature: plan.output_temperature,
                circumstances: circumstances.clone(),
            };
            self.files.insert(*number, settled);
        }
    }

    pub(super) fn clear(&mut self) {
        self.files.clear();
    }

    /// True if compacting `file` in its level for `reason` would repeat the compaction that wrote it.
    pub(super) fn contains(
        &self,
        context: &PickContext<'_>,
        level: usize,
        file: &FileMetadata,
        reason: CompactionReason,
    ) -> bool {
        self.settled(context, level, file, reason).is_some()
    }

    /// True if `plan` would repeat, on all outputs of one compaction, what that compaction did.
    pub(super) fn repeats(&self, context: &PickContext<'_>, plan: &Plan) -> bool {
        if !plan.is_in_place() || self.files.is_empty() {
            return false;
        }
        let mut by = plan.files().map(|(level, file)| {
            self.settled(context, level, file, plan.reason)
                .filter(|settled| settled.temperature == plan.output_temperature)
                .map(|settled| settled.by)
        });
        let first = by.next().flatten();
        first.is_some() && by.all(|by| by == first)
    }

    fn settled(
        &self,
        context: &PickContext<'_>,
        level: usize,
        file: &FileMetadata,
        reason: CompactionReason,
    ) -> Option<&Settled> {
        let settled = self.files.get(&file.number)?;
        if (settled.reason, settled.level) != (reason, level) {
            return None;
        }
        let before = &settled.circumstances;
        let is_same = match reason {
            CompactionReason::BottommostFiles => {
                // No snapshot older than the file's newest row was in the way.
                file.largest_seqno <= before.oldest_snapshot
                    && *before.full_history_ts_low == *context.full_history_ts_low.unwrap_or_default()
            }
            CompactionReason::PeriodicCompaction => !is_past(
                context.now,
                before.now,
                context.options.periodic_compaction_seconds,
            ),
            CompactionReason::ForcedBlobGC => {
                let due = context
                    .options
                    .blob_garbage_collection
                    .and_then(|garbage| garbage.due(context.version));
                due.is_some_and(|blob| blob.number() < before.blob_cutoff)
            }
            // A user or a collector asks again, for this very file.
            CompactionReason::FilesMarkedForCompaction => false,
            _ => true,
        };
        is_same.then_some(settled)
    }
}
