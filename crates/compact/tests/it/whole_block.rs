//! Whether entries are taken many at a time, as whole blocks, or one by one makes no difference to the
//! output, nor to where files end.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{InternalComparator, Kind, MAX_SEQNO, SeqNo, UserComparator, internal_key};
use esker_compact::{
    BeyondOutput, Border, CompactionCursor, CompactionRules, CompactionStats, OutputRange, OutputSplitter,
    SplitLimits, write_outputs,
};
use manifest::FileMetadata;
use testkit::{TestRng, VecCursor, rng};

use crate::text::{Collector, Pair};

struct Case {
    cmp: UserComparator,
    entries: Vec<Pair>,
    snapshots: Vec<SeqNo>,
    bottommost: bool,
    end: Option<Vec<u8>>,
    limits: SplitLimits,
}

fn key(i: usize) -> Vec<u8> {
    format!("key{i:03}").into_bytes()
}

/// Mostly values, each the only version of its key, and a few entries of every other kind. Values have up to
/// `most` bytes.
fn random_case(rng: &mut TestRng, most: usize) -> Case {
    let cmp = match rng.one_in(4) {
        true => UserComparator::ReverseBytewise,
        false => UserComparator::Bytewise,
    };
    let keys = rng.usize(1..120);
    let rare = rng.u64(2..60) as u32;
    let zeros = rng.one_in(2);
    let mut entries = BTreeMap::new();
    for i in 0..keys {
        let versions = if rng.one_in(rare) { rng.usize(2..4) } else { 1 };
        for _ in 0..versions {
            let seqno = if zeros && !rng.one_in(rare) {
                0
            } else {
                rng.u64(1..50)
            };
            let kind = match rng.one_in(rare) {
                true => *rng.pick(&[Kind::Deletion, Kind::SingleDeletion, Kind::Merge]),
                false => Kind::Value,
            };
            let entry = internal_key::encode(&key(i), seqno, kind);
            // Each sequence number of a key has one kind.
            let value = vec![b'v'; rng.usize(..=most)];
            entries.entry((i, seqno)).or_insert((entry, value));
        }
    }
    let mut places: Vec<usize> = (0..rng.usize(..8)).map(|_| rng.usize(..keys)).collect();
    places.sort_unstable();
    places.dedup();
    if matches!(cmp, UserComparator::ReverseBytewise) {
        places.reverse();
    }
    let bound = |i: usize| internal_key::encode(&key(i), 1, Kind::Value).into();
    let grandparents = places.chunks(2).map(|range| {
        Arc::new(FileMetadata {
            size: rng.u64(1..50),
            smallest: bound(range[0]),
            largest: bound(range[range.len() - 1]),
            ..FileMetadata::default()
        })
    });
    let grandparents = grandparents.collect();
    let mut borders = Vec::new();
    for &i in &places {
        if rng.one_in(4) {
            borders.push(Border {
                key: key(i).into(),
                behind: rng.one_in(2),
            });
        }
    }
    Case {
        entries: entries.into_values().collect(),
        snapshots: (0..rng.usize(..3)).map(|_| rng.u64(1..50)).collect(),
        bottommost: rng.one_in(2),
        end: rng.one_in(3).then(|| key(rng.usize(..keys))),
        limits: SplitLimits {
            borders: borders.into(),
            output_level: rng.usize(..2),
            grandparents,
            target_file_size: 100,
            max_output_file_size: 200,
            max_compaction_bytes: rng.u64(1..200),
        },
        cmp,
    }
}

/// Compacts as if `per_block` entries were in a block. With `copies`, blocks are taken whole where possible.
fn compact(case: &Case, per_block: usize, copies: bool) -> (Collector, CompactionStats) {
    let mut rules = CompactionRules::new(case.cmp.clone());
    rules.snapshots = case.snapshots.clone();
    rules.bottommost = case.bottommost;
    if case.bottommost {
        rules.beyond = BeyondOutput::nothing(case.cmp.clone());
    }
    rules.earliest_write_conflict_snapshot = MAX_SEQNO;
    rules.merge_operator = base::merge::builtin("stringappend");
    rules.end = case.end.clone();
    let order = InternalComparator::new(case.cmp.clone());
    let input = VecCursor::new(case.entries.clone(), order).in_blocks(per_block);
    let mut cursor = CompactionCursor::new(input, rules);
    cursor.seek_to_first();
    let range = OutputRange {
        start: None,
        end: case.end.as_deref(),
    };
    let splitter = OutputSplitter::new(case.cmp.clone(), case.limits.clone());
    let mut sink = Collector::new(0);
    sink.copies = copies;
    write_outputs(&mut cursor, range, splitter, &mut sink).unwrap();
    (sink, *cursor.stats())
}

#[test]
fn outputs_with_and_without_blocks_are_the_same() {
    let mut rng = rng();
    let (mut copied, mut files, mut kept_apart) = (0, 0, 0);
    for _ in 0..2000 {
        // If the size ends a file, a file of copied blocks may end later.
        let copies = rng.one_in(2);
        let case = random_case(&mut rng, if copies { 0 } else { 20 });
        let (plain, plain_stats) = compact(&case, 0, true);
        assert_eq!(plain.copied_entries, 0);
        let (blocks, stats) = compact(&case, rng.usize(1..9), copies);
        assert_eq!(stats, plain_stats);
        assert_eq!(blocks.files.len(), plain.files.len(), "{:?}", case.limits);
        for (found, expected) in blocks.files.iter().zip(&plain.files) {
            assert_eq!(found.bounds, expected.bounds);
            assert_eq!(found.points, expected.points);
        }
        copied += blocks.copied_entries;
        kept_apart += plain.files.iter().map(|file| file.points.len()).sum::<usize>() - blocks.copied_entries;
        files += plain.files.len();
    }
    assert!(
        copied > 5_000 && kept_apart > 20_000,
        "{copied} entries copied, {kept_apart} not"
    );
    assert!(files > 3_000, "{files} files");
}
