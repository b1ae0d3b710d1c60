//! Files that a range tombstone covers entirely: no reader sees any of their entries, so they are dropped
//! unread.

use std::ops::Range;
use std::sync::Arc;

use base::SeqNo;
use manifest::FileMetadata;
use rangedel::FragmentedTombstones;

use super::context::PickContext;
use super::inputs::Files;
use crate::order;
use crate::plan::{CompactionReason, LevelFiles, Parts, Plan};

/// The maximum number of files checked in one pick. With very many tombstones and files each pick checks only
/// a part, another one than the last pick.
const MAX_QUESTIONS: usize = 20_000;

/// Files of one level that the tombstones of one table may cover.
struct Candidates<'a> {
    holder: &'a Arc<FileMetadata>,
    level: usize,
    files: &'a [Arc<FileMetadata>],
}

/// Picks files of one level, each entirely covered by the range tombstones of one table that are newer than
/// all entries of the file. Every snapshot must be newer than the tombstones. Tables are not opened for this.
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
    let mut candidates = Vec::new();
    for holder in deleting {
        let bounds = (Some(holder.smallest_user_key()), Some(holder.largest_user_key()));
        for level in 0..context.version.num_levels() {
            let range = match level {
                0 => 0..files.level(0).len(),
                _ => context.version.overlapping_range(level, bounds.0, bounds.1),
            };
            if !range.is_empty() {
                candidates.push(Candidates {
                    holder,
                    level,
                    files: &files.level(level)[range],
                });
            }
        }
    }
    let lens: Vec<usize> = candidates.iter().map(|under| under.files.len()).collect();
    // The tombstones of the last table checked: the candidates that one table may cover follow each other,
    // whatever their level.
    let mut of: Option<(u64, Option<Arc<FragmentedTombstones>>)> = None;
    // Only a share of the candidates is checked. `visible_to_all` chooses the share, because it changes with
    // each write.
    for (at, range) in share(&lens, visible_to_all, MAX_QUESTIONS) {
        let Candidates {
            holder,
            level,
            files: candidates,
        } = candidates[at];
        if of.as_ref().is_none_or(|(number, _)| *number != holder.number) {
            let whole = context.facts.range_tombstones(holder);
            let cut = whole.map(|whole| whole.truncate_shared(cmp, &holder.smallest, &holder.largest));
            of = Some((holder.number, cut));
        }
        let Some((_, Some(tombstones))) = &of else {
            continue;
        };
        let covered: Vec<Arc<FileMetadata>> = candidates[range]
            .iter()
            .filter(|file| {
                !file.is_being_compacted()
                    && file.number != holder.number
                    && covers(&files, tombstones, file, visible_to_all)
            })
            .cloned()
            .collect();
        if !covered.is_empty() {
            return Some(drop_files(context, level, covered));
        }
    }
    None
}

/// The parts to check of lists of these lengths, as pairs of a list and a range in it: all elements, or
/// `most` consecutive ones that begin at a place that `number` determines.
fn share(lens: &[usize], number: u64, most: usize) -> Vec<(usize, Range<usize>)> {
    let total: usize = lens.iter().sum();
    if total <= most {
        return lens.iter().map(|&len| 0..len).enumerate().collect();
    }
    // The places are spread over all elements, however little the number changes.
    let mut skip = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % total as u64) as usize;
    let mut left = most;
    let mut parts = Vec::new();
    for (list, &len) in lens.iter().enumerate().cycle() {
        if left == 0 {
            break;
        }
        let begin = skip.min(len);
        skip -= begin;
        let end = len.min(begin + left);
        left -= end - begin;
        if begin < end {
            parts.push((list, begin..end));
        }
    }
    parts
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

/// True if fragments of `tombstones` without a gap cover every key that may be in `file`, each with a
/// tombstone newer than the file and at most `visible`.
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
        // A tombstone does not cover its end, but a file that ends with a sentinel does not hold its last key
        // either.
        let reached = order::bare(cmp, fragment.end, last);
        if reached.is_gt() || (reached.is_eq() && file.largest_is_sentinel()) {
            return true;
        }
        from = fragment.end;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_its_turn_where_there_are_too_many() {
        let lens = [7, 0, 300, 1, 92];
        assert_eq!(
            share(&lens, 5, 400),
            [(0, 0..7), (1, 0..0), (2, 0..300), (3, 0..1), (4, 0..92)]
        );
        let mut seen = lens.map(|len| vec![false; len]);
        for number in 0..200 {
            let parts = share(&lens, number, 30);
            assert_eq!(parts.iter().map(|(_, range)| range.len()).sum::<usize>(), 30);
            for (list, range) in parts {
                seen[list][range].fill(true);
            }
        }
        assert!(seen.iter().flatten().all(|seen| *seen));
    }
}
