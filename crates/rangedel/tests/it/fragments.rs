//! Tests of fragments and of cursors over them.

use std::sync::Arc;

use base::internal_key::encode;
use base::{Kind, MAX_SEQNO, SeqNo, UserComparator};
use rangedel::{FragmentedTombstones, RangeTombstone, TombstoneCursor};
use testkit::TestRng;

use crate::model::{
    comparators, covering, random_key, random_tombstone, reaches_over, timestamp, with_timestamp,
};

fn random_tombstones(rng: &mut TestRng, cmp: &UserComparator, most: usize) -> Vec<RangeTombstone> {
    (0..rng.usize(..=most))
        .map(|_| {
            let (seqno, ts) = (rng.u64(1..30), rng.u16(..6));
            random_tombstone(rng, cmp, seqno, ts)
        })
        .collect()
}

/// Checks that no fragment is empty, overlaps the next, or equals a neighbour it adjoins; and that entries
/// are newest first without duplicates.
fn check_shape(cmp: &UserComparator, set: &FragmentedTombstones) {
    let whole = |key: &[u8]| with_timestamp(cmp, key, 0);
    let fragments: Vec<_> = set.iter().collect();
    for fragment in &fragments {
        let order = cmp.compare_without_timestamp(&whole(fragment.start), &whole(fragment.end));
        assert!(
            order.is_lt() || fragment.end_is_covered && fragment.start_is_covered && order.is_eq(),
            "{fragment:?}"
        );
        assert!(!fragment.seqnos.is_empty());
        assert!(
            fragment
                .seqnos
                .is_sorted_by(|a, b| if cmp.timestamp_size() > 0 { a >= b } else { a > b })
        );
    }
    for pair in fragments.windows(2) {
        let order = cmp.compare_without_timestamp(&whole(pair[0].end), &whole(pair[1].start));
        assert!(order.is_le(), "{pair:?}");
        let touch = order.is_eq() && pair[0].end_is_covered != pair[1].start_is_covered;
        let alike = pair[0].seqnos == pair[1].seqnos
            && (0..pair[0].seqnos.len()).all(|i| pair[0].timestamp(i) == pair[1].timestamp(i));
        assert!(!(touch && alike), "{pair:?}");
    }
}

fn check_answers(
    rng: &mut TestRng,
    cmp: &UserComparator,
    set: &FragmentedTombstones,
    tombstones: &[RangeTombstone],
) {
    for _ in 0..25 {
        let key = with_timestamp(cmp, &random_key(rng), rng.u16(..7));
        let snapshot = if rng.bool() { MAX_SEQNO } else { rng.u64(..32) };
        let read_ts = rng.bool().then(|| timestamp(cmp, rng.u16(..7)));
        let read_ts = read_ts.as_deref().filter(|ts| !ts.is_empty());
        assert_eq!(
            set.covering_seqno_at(cmp, &key, snapshot, read_ts),
            covering(cmp, tombstones, &key, snapshot, read_ts),
            "{key:?} at {snapshot} and {read_ts:?} over {tombstones:?}"
        );
        assert_eq!(
            set.covering_seqno(cmp, &key, snapshot),
            covering(cmp, tombstones, &key, snapshot, None)
        );
        // A Get knows the key and the read timestamp, but not the entry yet, which may have the oldest
        // possible timestamp.
        let oldest = with_timestamp(cmp, cmp.strip_timestamp(&key), 0);
        let read_at = (cmp.timestamp_size() > 0).then(|| cmp.timestamp(&key));
        assert_eq!(
            set.covering_seqno_for_get(cmp, &key, snapshot),
            covering(cmp, tombstones, &oldest, snapshot, read_at)
        );
        let first = set.seek(cmp, &key);
        let ends = set.iter().position(|fragment| {
            let order = cmp.compare_without_timestamp(&with_timestamp(cmp, fragment.end, 0), &key);
            order.is_gt() || order.is_eq() && fragment.end_is_covered
        });
        assert_eq!(first, ends.unwrap_or(set.len()));
    }
}

#[test]
fn built_sets_answer_as_the_list_does() {
    let mut rng = testkit::rng();
    for cmp in comparators() {
        for _ in 0..150 {
            let tombstones = random_tombstones(&mut rng, &cmp, 14);
            let set = FragmentedTombstones::build(tombstones.clone(), &cmp);
            check_shape(&cmp, &set);
            check_answers(&mut rng, &cmp, &set, &tombstones);
            assert_eq!(
                set.max_seqno(),
                set.iter().map(|f| f.seqnos[0]).max().unwrap_or(0)
            );

            // The tombstones are built again in the order in which a file stores them, which is the linear
            // path to the same set.
            let stored: Vec<_> = set.tombstones().collect();
            assert_eq!(stored.len(), set.num_tombstones());
            assert_eq!(FragmentedTombstones::build(stored, &cmp), set);
        }
    }
}

#[test]
fn merging_is_building_from_all() {
    let mut rng = testkit::rng();
    for cmp in comparators() {
        for _ in 0..120 {
            let lists: Vec<_> = (0..rng.usize(..6))
                .map(|_| random_tombstones(&mut rng, &cmp, 8))
                .collect();
            let sets: Vec<_> = lists
                .iter()
                .map(|list| FragmentedTombstones::build(list.clone(), &cmp))
                .collect();
            let merged = FragmentedTombstones::merge(&cmp, &sets.iter().collect::<Vec<_>>());
            check_shape(&cmp, &merged);
            let all = lists.concat();
            assert_eq!(merged, FragmentedTombstones::build(all, &cmp));
        }
    }
}

/// A file's bounds, and the parts of `tombstones` within them: truncated, or with the flag up to and
/// including the end.
fn random_bounds(rng: &mut TestRng, cmp: &UserComparator) -> (Vec<u8>, Vec<u8>, bool) {
    let (mut a, mut b) = (random_key(rng), random_key(rng));
    if cmp
        .compare_without_timestamp(&with_timestamp(cmp, &a, 0), &with_timestamp(cmp, &b, 0))
        .is_gt()
    {
        std::mem::swap(&mut a, &mut b);
    }
    (a, b, rng.bool())
}

fn internal_bounds(cmp: &UserComparator, bounds: &(Vec<u8>, Vec<u8>, bool)) -> (Vec<u8>, Vec<u8>) {
    let (low, high, sentinel) = bounds;
    let smallest = encode(&with_timestamp(cmp, low, 3), 9, Kind::Value);
    let largest = if *sentinel {
        encode(
            &with_timestamp(cmp, high, u16::MAX),
            MAX_SEQNO,
            Kind::RangeDeletion,
        )
    } else {
        encode(&with_timestamp(cmp, high, 2), 4, Kind::Merge)
    };
    (smallest, largest)
}

fn within(cmp: &UserComparator, bounds: &(Vec<u8>, Vec<u8>, bool), key: &[u8]) -> bool {
    let (low, high, sentinel) = bounds;
    let to_high = cmp.compare_without_timestamp(key, &with_timestamp(cmp, high, 0));
    cmp.compare_without_timestamp(&with_timestamp(cmp, low, 0), key)
        .is_le()
        && (to_high.is_lt() || !sentinel && to_high.is_eq())
}

#[test]
fn truncated_sets_answer_within_the_bounds_alone() {
    let mut rng = testkit::rng();
    for cmp in comparators() {
        for _ in 0..200 {
            let tombstones = random_tombstones(&mut rng, &cmp, 8);
            let whole = Arc::new(FragmentedTombstones::build(tombstones.clone(), &cmp));
            let bounds = random_bounds(&mut rng, &cmp);
            let (smallest, largest) = internal_bounds(&cmp, &bounds);
            let cut = whole.truncate(&cmp, &smallest, &largest);
            check_shape(&cmp, &cut);
            let shared = whole.truncate_shared(&cmp, &smallest, &largest);
            assert_eq!(*shared, cut);
            assert_eq!(Arc::ptr_eq(&shared, &whole), whole == shared);
            for _ in 0..25 {
                let key = with_timestamp(&cmp, &random_key(&mut rng), rng.u16(..7));
                let snapshot = rng.u64(..32);
                let want = if within(&cmp, &bounds, &key) {
                    covering(&cmp, &tombstones, &key, snapshot, None)
                } else {
                    0
                };
                assert_eq!(
                    cut.covering_seqno(&cmp, &key, snapshot),
                    want,
                    "{key:?} in {bounds:?}"
                );
            }
        }
    }
}

#[test]
fn files_that_share_a_user_key_answer_for_it_together() {
    let mut rng = testkit::rng();
    for cmp in comparators() {
        for _ in 0..60 {
            // Two files of a level. The second begins with an older version of the key that the first ends
            // with; both hold all tombstones.
            let tombstones = random_tombstones(&mut rng, &cmp, 6);
            let whole = FragmentedTombstones::build(tombstones.clone(), &cmp);
            let (low, middle, _) = random_bounds(&mut rng, &cmp);
            let first = internal_bounds(&cmp, &(low.clone(), middle.clone(), false));
            let first = whole.truncate(&cmp, &first.0, &first.1);
            let smallest = encode(&with_timestamp(&cmp, &middle, 1), 3, Kind::Value);
            let last = whole
                .iter()
                .next_back()
                .map_or(middle.clone(), |f| f.end.to_vec());
            let largest = encode(
                &with_timestamp(&cmp, &last, u16::MAX),
                MAX_SEQNO,
                Kind::RangeDeletion,
            );
            let second = whole.truncate(&cmp, &smallest, &largest);
            let merged = FragmentedTombstones::merge(&cmp, &[&first, &second]);
            check_shape(&cmp, &merged);
            for _ in 0..25 {
                let key = with_timestamp(&cmp, &random_key(&mut rng), rng.u16(..7));
                let in_reach = cmp
                    .compare_without_timestamp(&with_timestamp(&cmp, &low, 0), &key)
                    .is_le();
                let want = if in_reach {
                    covering(&cmp, &tombstones, &key, MAX_SEQNO, None)
                } else {
                    0
                };
                assert_eq!(merged.covering_seqno(&cmp, &key, MAX_SEQNO), want);
            }
        }
    }
}

/// Walks a cursor forwards, backwards and by jumps over sorted keys.
pub fn check_cursor(
    rng: &mut TestRng,
    cmp: &UserComparator,
    mut cursor: TombstoneCursor,
    tombstones: &[RangeTombstone],
    read_ts: Option<&[u8]>,
) {
    let mut keys: Vec<_> = (0..40)
        .map(|_| with_timestamp(cmp, &random_key(rng), rng.u16(..7)))
        .collect();
    keys.sort_by(|a, b| cmp.compare(a, b));
    let (mut at, mut snapshot) = (0, MAX_SEQNO);
    for _ in 0..80 {
        let step = |at: usize, forwards: bool| {
            if forwards {
                (at + 1) % keys.len()
            } else {
                at.checked_sub(1).unwrap_or(keys.len() - 1)
            }
        };
        at = match rng.u8(..10) {
            0 => rng.usize(..keys.len()),
            1..=5 => step(at, true),
            _ => step(at, false),
        };
        if rng.one_in(10) {
            snapshot = rng.u64(..32);
        }
        let key = &keys[at];
        let want = covering(cmp, tombstones, key, snapshot, read_ts);
        assert_eq!(cursor.covering(key, snapshot), want, "{key:?} at {snapshot}");
        match cursor.span() {
            Some((start, end)) => {
                let (start, end) = (with_timestamp(cmp, start, 0), with_timestamp(cmp, end, 0));
                let span = RangeTombstone {
                    start,
                    end,
                    seqno: want,
                };
                for other in &keys {
                    if reaches_over(cmp, &span, other) {
                        let hidden = tombstones
                            .iter()
                            .any(|one| one.seqno == want && reaches_over(cmp, one, other));
                        assert!(hidden, "{other:?} in the span {span:?} of {key:?}");
                    }
                }
            }
            None => assert!(want == 0 || !cmp.is_bytewise()),
        }
    }
}

#[test]
fn cursors_over_several_sets_find_the_newest() {
    let mut rng = testkit::rng();
    for cmp in comparators() {
        for _ in 0..100 {
            let lists: Vec<_> = (0..rng.usize(..4))
                .map(|_| random_tombstones(&mut rng, &cmp, 8))
                .collect();
            let sets = lists
                .iter()
                .map(|list| Arc::new(FragmentedTombstones::build(list.clone(), &cmp)));
            let read_ts = rng.bool().then(|| timestamp(&cmp, rng.u16(..7)));
            let read_ts = read_ts.as_deref().filter(|ts| !ts.is_empty());
            let cursor = TombstoneCursor::new(cmp.clone(), sets).with_read_timestamp(read_ts);
            assert_eq!(
                cursor.is_empty(),
                lists.iter().all(|list| {
                    list.iter()
                        .all(|one| cmp.compare_without_timestamp(&one.start, &one.end).is_ge())
                })
            );
            check_cursor(&mut rng, &cmp, cursor, &lists.concat(), read_ts);
        }
    }
}

#[test]
fn other_sources_make_a_cursor_forget() {
    let cmp = UserComparator::Bytewise;
    let set = |seqno: SeqNo| {
        let one = RangeTombstone {
            start: b"a".to_vec(),
            end: b"m".to_vec(),
            seqno,
        };
        Arc::new(FragmentedTombstones::build([one], &cmp))
    };
    let mut cursor = TombstoneCursor::new(cmp.clone(), [set(5)]);
    assert_eq!(cursor.covering(b"c", 9), 5);
    cursor.set_sources([set(7)]);
    assert_eq!(cursor.covering(b"c", 9), 7);
    assert_eq!(cursor.span(), Some((&b"a"[..], &b"m"[..])));
    assert_eq!(cursor.covering(b"m", 9), 0);
    assert_eq!(cursor.span(), None);
    cursor.set_sources(std::iter::empty::<Arc<FragmentedTombstones>>());
    assert_eq!((cursor.covering(b"c", 9), cursor.is_empty()), (0, true));
}

#[test]
fn ends_behind_a_key_are_told() {
    let one = |cmp: &UserComparator, start: &[u8], end: &[u8]| {
        let one = RangeTombstone {
            start: start.to_vec(),
            end: end.to_vec(),
            seqno: 5,
        };
        FragmentedTombstones::build([one], cmp)
    };
    let (a, k) = (encode(b"a", 9, Kind::Value), encode(b"k", 9, Kind::Value));
    // In bytewise order, the key directly after a key can be written.
    let cmp = UserComparator::Bytewise;
    let cut = one(&cmp, b"a", b"z").truncate(&cmp, &a, &k);
    let fragment = cut.fragment(0);
    assert_eq!((fragment.start, fragment.end), (&b"a"[..], &b"k\0"[..]));
    assert!(!fragment.end_is_covered && fragment.start_is_covered);
    // In reverse bytewise order, the key directly after a key cannot be written.
    let cmp = UserComparator::ReverseBytewise;
    let cut = one(&cmp, b"z", b"a").truncate(&cmp, &encode(b"y", 9, Kind::Value), &k);
    let fragment = cut.fragment(0);
    assert_eq!((fragment.start, fragment.end), (&b"y"[..], &b"k"[..]));
    assert!(fragment.end_is_covered);
    assert_eq!(cut.covering_seqno(&cmp, b"k", 9), 5);
    assert_eq!(cut.covering_seqno(&cmp, b"jzz", 9), 0);
}

#[test]
fn damaged_keys_do_no_harm() {
    let cmp = UserComparator::BytewiseU64Ts;
    let short = RangeTombstone {
        start: b"abc".to_vec(),
        end: b"x".to_vec(),
        seqno: 3,
    };
    let set = FragmentedTombstones::build([short], &cmp);
    assert!(set.is_empty());
    let whole = RangeTombstone {
        start: with_timestamp(&cmp, b"a", 1),
        end: b"z".to_vec(),
        seqno: 3,
    };
    let set = FragmentedTombstones::build([whole], &cmp);
    assert_eq!(set.covering_seqno(&cmp, b"short", 9), 0);
    assert!(set.truncate(&cmp, b"x", b"").is_empty());
}

#[test]
fn nesting_nobody_vouches_for_is_bounded() {
    let cmp = UserComparator::Bytewise;
    let tombstone = |start: u32, end: u32, seqno: u32| RangeTombstone {
        start: format!("{start:08}").into_bytes(),
        end: format!("{end:08}").into_bytes(),
        seqno: seqno.into(),
    };
    const DEPTH: u32 = 60_000;
    let covering = |set: &FragmentedTombstones, key: u32, snapshot: SeqNo| {
        set.covering_seqno(&cmp, format!("{key:08}").as_bytes(), snapshot)
    };
    let depths = || (1..DEPTH).step_by(97);
    // The tombstones nest with the newest innermost, and then with the newest outermost: each fragment keeps
    // its newest tombstone, and some more if the tombstone is in few fragments.
    for newest_within in [true, false] {
        let seqno = |i: u32| if newest_within { DEPTH - i } else { i };
        let nested = (1..DEPTH).map(|i| tombstone(100_000 - i, 100_000 + i, seqno(i)));
        let set = FragmentedTombstones::build_within(nested, &cmp, 1_000_000).unwrap();
        assert!(set.num_tombstones() <= 1_000_000, "{}", set.num_tombstones());
        for i in depths() {
            let newest = if newest_within { DEPTH - i } else { DEPTH - 1 };
            assert_eq!(covering(&set, 100_000 - i, MAX_SEQNO), newest.into());
            assert_eq!(covering(&set, 100_000 + i - 1, MAX_SEQNO), newest.into());
            // A few more tombstones than the limit are kept.
            let before = u64::from(newest) - 1;
            let covered = if newest_within {
                i < DEPTH - 1
            } else {
                before >= u64::from(i)
            };
            let expected = if covered { before } else { 0 };
            assert_eq!(covering(&set, 100_000 - i, before), expected);
        }
        assert_eq!(covering(&set, 100_000 - DEPTH, MAX_SEQNO), 0);
        assert_eq!(covering(&set, 100_000 + DEPTH, MAX_SEQNO), 0);
    }
    // Any number of tombstones with the same sequence number counts as one in a fragment.
    let same = (1..DEPTH).map(|i| tombstone(100_000 - i, 100_000 + i, 7));
    let set = FragmentedTombstones::build_within(same, &cmp, 5).unwrap();
    assert_eq!((set.len(), set.num_tombstones()), (1, 1));

    let few: Vec<_> = (1..4).map(|i| tombstone(10 - i, 10 + i, i)).collect();
    let set = FragmentedTombstones::build_within(few.clone(), &cmp, 9).unwrap();
    assert_eq!(set, FragmentedTombstones::build(few.clone(), &cmp));
    let set = FragmentedTombstones::build_within(few, &cmp, 8).unwrap();
    assert_eq!((set.len(), set.num_tombstones()), (1, 1), "the newest covers all");
    assert_eq!(covering(&set, 7, MAX_SEQNO), 3);
    // An older tombstone with another timestamp may matter to reads at that timestamp.
    let stamped = UserComparator::BytewiseU64Ts;
    let nested = (1..100_u8).map(|i| RangeTombstone {
        start: with_timestamp(&stamped, &[100 - i], i.into()),
        end: with_timestamp(&stamped, &[100 + i], i.into()),
        seqno: i.into(),
    });
    let error = FragmentedTombstones::build_within(nested, &stamped, 1_000).unwrap_err();
    assert!(error.is_corruption(), "{error}");
    let apart = (0..100).map(|i| tombstone(i, i + 1, i));
    assert_eq!(
        FragmentedTombstones::build_within(apart, &cmp, 5).unwrap().len(),
        100
    );
}
