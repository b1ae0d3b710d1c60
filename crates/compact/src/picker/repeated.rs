//! The question whether a plan would repeat a compaction that changed nothing.

use manifest::FileMetadata;

use super::context::PickContext;
use super::rewritten::{Circumstances, RewrittenFile, RewrittenFiles};
use crate::due::is_past;
use crate::plan::{CompactionReason, Plan};

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

impl RewrittenFiles {
    /// True if compacting `file` in its level for `reason` would repeat the compaction that wrote it.
    pub(super) fn contains(
        &self,
        context: &PickContext<'_>,
        level: usize,
        file: &FileMetadata,
        reason: CompactionReason,
    ) -> bool {
        self.rewritten(context, level, file, reason).is_some()
    }

    /// True if `plan` would repeat, on all outputs of one compaction, what that compaction did.
    pub(super) fn repeats(&self, context: &PickContext<'_>, plan: &Plan) -> bool {
        if !plan.is_in_place() || self.files.is_empty() {
            return false;
        }
        let mut by = plan.files().map(|(level, file)| {
            self.rewritten(context, level, file, plan.reason)
                .filter(|rewritten| rewritten.temperature == plan.output_temperature)
                .map(|rewritten| rewritten.by)
        });
        let first = by.next().flatten();
        first.is_some() && by.all(|by| by == first)
    }

    fn rewritten(
        &self,
        context: &PickContext<'_>,
        level: usize,
        file: &FileMetadata,
        reason: CompactionReason,
    ) -> Option<&RewrittenFile> {
        let rewritten = self.files.get(&file.number)?;
        if (rewritten.reason, rewritten.level) != (reason, level) {
            return None;
        }
        let before = &rewritten.circumstances;
        let is_same = match reason {
            CompactionReason::BottommostFiles => {
                // The earlier compaction respected no snapshot older than the file's newest row, so no
                // release of a snapshot changes its result.
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
            // The mark is a new request of a user or a collector for this very file.
            CompactionReason::FilesMarkedForCompaction => false,
            _ => true,
        };
        is_same.then_some(rewritten)
    }
}
