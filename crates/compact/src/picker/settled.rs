//! Files that a compaction wrote in the level where its inputs lay. If the reason of that compaction stays, because a merge operator
//! refuses or because nothing more is known of a file, the same compaction would be picked again without end.
//!
//! A file is compacted again for the same reason only after something has changed that the reason depends on: an older snapshot was
//! released than the compaction knew, history ended later, a period passed, more blob files became old. What is known is in memory
//! alone: each life of a database may try once.

use std::collections::{BTreeSet, HashMap};

use base::{SeqNo, Temperature};
use manifest::{FileMetadata, Version};

use super::PickContext;
use crate::due::is_past;
use crate::plan::{CompactionReason, Plan};

/// The inputs of a compaction besides the rows that it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstances {
    oldest_snapshot: SeqNo,
    full_history_ts_low: Box<[u8]>,
    /// Seconds since 1970.
    now: u64,
    /// Compactions take values out of blob files of lower numbers.
    blob_cutoff: u64,
}

impl Circumstances {
    /// Those in which a plan was picked by `context`.
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

/// A file that was written in place.
#[derive(Debug)]
struct Settled {
    /// Names the compaction among those of its family.
    by: u64,
    reason: CompactionReason,
    level: usize,
    temperature: Option<Temperature>,
    circumstances: Circumstances,
}

/// The files of one family that were written in place, by number.
#[derive(Debug, Default)]
pub(super) struct SettledFiles {
    files: HashMap<u64, Settled>,
    compactions: u64,
}

impl SettledFiles {
    /// Takes note of the files that `plan`, which was picked in these circumstances, has put into `version` in the place of its inputs.
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

    /// True if compacting `file` where it lies for `reason` would do what was done when it was written.
    pub(super) fn contains(
        &self,
        context: &PickContext<'_>,
        level: usize,
        file: &FileMetadata,
        reason: CompactionReason,
    ) -> bool {
        self.settled(context, level, file, reason).is_some()
    }

    /// True if `plan` would do to all outputs of one compaction what that did.
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
                // No snapshot older than its newest row was in the way.
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
            // A user or a collector asks for it anew, of this very file.
            CompactionReason::FilesMarkedForCompaction => false,
            _ => true,
        };
        is_same.then_some(settled)
    }
}
