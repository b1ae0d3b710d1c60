//! Divides one compaction into key ranges of similar size, so that several threads can write it.

use std::cmp::Ordering;

use base::UserComparator;

use crate::order;
use crate::plan::Plan;

/// A user key, without timestamp, and the bytes of one input file between the previous anchor and this one.
pub type Anchor = (Vec<u8>, u64);

/// The user keys, without timestamps, at which the range of `plan` is divided: at most `most - 1`, ascending,
/// each the first key of its range. `anchors` are those of all inputs, in any order. Empty if the ranges
/// would be smaller than an output file, or the output is L0, whose files are never cut.
pub fn cuts(plan: &Plan, mut anchors: Vec<Anchor>, most: usize) -> Vec<Vec<u8>> {
    if most < 2 || plan.output_level == 0 {
        return Vec::new();
    }
    let cmp = plan.comparator();
    let compare = |a: &[u8], b: &[u8]| order::bare(cmp, a, b);
    anchors.sort_by(|a, b| compare(&a.0, &b.0));
    let total = anchors
        .iter()
        .fold(0u64, |sum, anchor| sum.saturating_add(anchor.1));
    let ranges = (most as u64).min(total / plan.max_output_file_size.max(1)).max(1);
    let each = total / ranges;
    let first = first_key(cmp, plan);
    let mut cuts: Vec<Vec<u8>> = Vec::new();
    let mut passed = 0u64;
    for (key, bytes) in anchors {
        passed = passed.saturating_add(bytes);
        let before = cuts.last().map_or(first, Vec::as_slice);
        let due = (cuts.len() as u64 + 1).saturating_mul(each);
        if cuts.len() as u64 + 1 < ranges && passed >= due && compare(before, &key) == Ordering::Less {
            cuts.push(key);
        }
    }
    cuts
}

/// The smallest user key of the inputs: a cut there would leave the first range empty.
fn first_key<'a>(cmp: &UserComparator, plan: &'a Plan) -> &'a [u8] {
    cmp.strip_timestamp(&plan.smallest_user_key)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base::internal_key::encode;
    use base::{InternalComparator, Kind};
    use manifest::{FileMetadata, Version, VersionBuilder, VersionEdit};

    use super::*;
    use crate::LeveledOptions;
    use crate::picker::files::{CompactFilesOptions, pick_files};
    use crate::picker::{NoFacts, PickContext, Running};

    /// A compaction of one file of L0, with the keys `a` to `z`, whose outputs have `target` bytes.
    fn plan(target: u64, output_level: usize) -> Plan {
        let empty = Version::empty(InternalComparator::new(UserComparator::Bytewise), 7);
        let mut edit = VersionEdit::default();
        edit.new_files.push((
            0,
            Arc::new(FileMetadata {
                number: 1,
                size: 100,
                smallest: encode(b"a", 9, Kind::Value).into(),
                largest: encode(b"z", 1, Kind::Value).into(),
                ..FileMetadata::default()
            }),
        ));
        let mut builder = VersionBuilder::new(&empty);
        builder.apply(&edit).unwrap();
        let version = builder.build().unwrap();
        let context = PickContext {
            version: &version,
            options: &LeveledOptions::default(),
            running: &Running::new(),
            oldest_snapshot: 0,
            now: 0,
            full_history_ts_low: None,
            facts: &NoFacts,
        };
        let options = CompactFilesOptions {
            output_file_size_limit: Some(target),
            ..CompactFilesOptions::default()
        };
        pick_files(&context, &[1], output_level, &options).unwrap()
    }

    fn cut(plan: &Plan, anchors: &[(&str, u64)], most: usize) -> Vec<String> {
        let anchors = anchors
            .iter()
            .map(|&(key, bytes)| (key.as_bytes().to_vec(), bytes));
        let cuts = cuts(plan, anchors.collect(), most);
        cuts.into_iter()
            .map(|key| String::from_utf8(key).unwrap())
            .collect()
    }

    #[test]
    fn ranges_are_of_about_the_same_size() {
        let anchors = [("p", 25), ("c", 5), ("g", 25), ("h", 5), ("z", 25), ("t", 15)];
        assert_eq!(cut(&plan(1, 1), &anchors, 1), [""; 0]);
        assert_eq!(cut(&plan(1, 1), &anchors, 2), ["p"]);
        assert_eq!(cut(&plan(1, 1), &anchors, 3), ["h", "t"]);
        assert_eq!(cut(&plan(1, 1), &anchors, 4), ["g", "p", "t"]);
    }

    #[test]
    fn no_range_is_smaller_than_an_output_file() {
        let anchors = [("c", 25), ("g", 25), ("p", 25), ("z", 25)];
        assert_eq!(cut(&plan(50, 1), &anchors, 4), ["g"]);
        assert_eq!(cut(&plan(60, 1), &anchors, 4), [""; 0]);
        // Files of L0 are not cut.
        assert_eq!(cut(&plan(1, 0), &anchors, 4), [""; 0]);
    }

    #[test]
    fn a_key_is_cut_at_once_and_never_at_the_start() {
        let anchors = [("a", 50), ("a", 10), ("k", 20), ("k", 20)];
        assert_eq!(cut(&plan(1, 1), &anchors, 4), ["k"]);
    }
}
