//! Files that a range tombstone covers as a whole: nobody sees anything of them any more, so that they are dropped unread.

use std::sync::Arc;

use base::SeqNo;
use manifest::FileMetadata;
use rangedel::FragmentedTombstones;

use super::{Files, PickContext};
use crate::order;
use crate::plan::{CompactionReason, LevelFiles, Parts, Plan};

/// Questions of one pick at most: a family of very many tombstones and files is looked through bit by bit, as its files change.
const MAX_QUESTIONS: usize = 20_000;

/// Files of one level, each wholly covered by the range tombstones of one table that are newer than all that is in it. Every snapshot
/// must be newer than the tombstones. Files whose tables are not open are not opened for it.
pub(crate) fn pick_covered(context: &PickContext<'_>) -> Option<Plan> {
    let visible_to_all = context.facts.visible_to_all();
    let cmp = context.version.cmp().user();
    if visible_to_all == 0 || cmp.timestamp_size() > 0 || context.running.is_exclusive() {
        return None;
    }
    let files = Files::of(context.version);
    let deleting = context.version.all_files().map(|(_, file)| file).filter(|file| {
        file.stats
            .get()
            .is_some_and(|stats| stats.num_range_deletions > 0)
    });
    let mut questions = 0;
    for holder in deleting {
        let Some(tombstones) = context.facts.range_tombstones(holder) else {
            continue;
        };
        let tombstones = tombstones.truncate_shared(cmp, &holder.smallest, &holder.largest);
        let bounds = (Some(holder.smallest_user_key()), Some(holder.largest_user_key()));
        for level in 0..context.version.num_levels() {
            let candidates: Vec<&Arc<FileMetadata>> = match level {
                0 => files.level(0).iter().collect(),
                _ => {
                    let range = context.version.overlapping_range(level, bounds.0, bounds.1);
                    files.level(level)[range].iter().collect()
                }
            };
            questions += candidates.len();
            if questions > MAX_QUESTIONS {
                return None;
            }
            let covered: Vec<Arc<FileMetadata>> = candidates
                .into_iter()
                .filter(|file| {
                    !file.is_being_compacted()
                        && file.number != holder.number
                        && covers(&files, &tombstones, file, visible_to_all)
                })
                .cloned()
                .collect();
            if !covered.is_empty() {
                return Some(drop_files(context, level, covered));
            }
        }
    }
    None
}

fn drop_files(context: &PickContext<'_>, level: usize, files: Vec<Arc<FileMetadata>>) -> Plan {
    let mut plan = Plan::new(Parts {
        version: context.version,
        inputs: vec![LevelFiles { level, files }],
        output_level: level,
        grandparents: Vec::new(),
        trivial_move: false,
        target_file_size: u64::MAX,
        max_compaction_bytes: u64::MAX,
        reason: CompactionReason::FilesCoveredByRangeTombstone,
        score: 0.0,
    });
    plan.deletion = true;
    plan
}

/// True if `tombstones`, one fragment after the other without a gap, cover every key that may be in `file`, each with a tombstone newer
/// than the file and not newer than `visible`.
fn covers(files: &Files<'_>, tombstones: &FragmentedTombstones, file: &FileMetadata, visible: SeqNo) -> bool {
    let cmp = files.cmp;
    let mut from = order::bare_user_key(cmp, &file.smallest);
    let last = order::bare_user_key(cmp, &file.largest);
    for at in tombstones.seek(cmp, from)..tombstones.len() {
        let fragment = tombstones.fragment(at);
        let hides = fragment
            .seqnos
            .iter()
            .any(|&seqno| file.largest_seqno < seqno && seqno <= visible);
        if !hides || order::bare(cmp, fragment.start, from).is_gt() {
            return false;
        }
        // The end of a tombstone is not covered, but a file that ends with a sentinel does not hold its last key either.
        let reached = order::bare(cmp, fragment.end, last);
        if reached.is_gt() || (reached.is_eq() && file.largest_is_sentinel()) {
            return true;
        }
        from = fragment.end;
    }
    false
}
