//! Tombstones of a memtable.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{MAX_SEQNO, SeqNo, UserComparator};
use rangedel::{FragmentedTombstones, MemTombstones, RangeTombstone, TombstoneCursor};

use crate::fragments::check_cursor;
use crate::model::{comparators, covering, random_key, random_tombstone, timestamp, with_timestamp};

#[test]
fn lookups_and_snapshots_agree_with_the_list() {
    let mut rng = testkit::rng();
    for cmp in comparators() {
        for round in 0..8 {
            let mem = MemTombstones::new(cmp.clone());
            let mut tombstones: Vec<RangeTombstone> = Vec::new();
            let mut frozen = (mem.source(), 0);
            let most = [20, 100, 400, 1500][round % 4];
            for seqno in 1..=most {
                // Timestamps grow with sequence numbers, as RocksDB requires.
                let one = random_tombstone(&mut rng, &cmp, seqno, (seqno / 4) as u16);
                mem.add(&one.start, &one.end, seqno);
                if cmp.compare_without_timestamp(&one.start, &one.end).is_lt() {
                    tombstones.push(one);
                }
                assert_eq!(mem.len(), tombstones.len());
                if rng.one_in(100) {
                    frozen = (mem.source(), tombstones.len());
                }
                if most > 100 && !rng.one_in(8) {
                    continue;
                }
                let key = with_timestamp(&cmp, &random_key(&mut rng), rng.u16(..=(most / 4) as u16));
                let snapshot = if rng.bool() { MAX_SEQNO } else { rng.u64(..=seqno) };
                assert_eq!(
                    mem.covering_seqno(&key, snapshot),
                    covering(&cmp, &tombstones, &key, snapshot, None),
                    "{key:?} at {snapshot}"
                );
                let oldest = with_timestamp(&cmp, cmp.strip_timestamp(&key), 0);
                let read_at = (cmp.timestamp_size() > 0).then(|| cmp.timestamp(&key));
                assert_eq!(
                    mem.covering_seqno_for_get(&key, snapshot),
                    covering(&cmp, &tombstones, &oldest, snapshot, read_at)
                );
                let read_ts = timestamp(&cmp, rng.u16(..=(most / 4) as u16));
                let read_ts = Some(&*read_ts).filter(|ts| !ts.is_empty());
                assert_eq!(
                    mem.covering_seqno_at(&key, snapshot, read_ts),
                    covering(&cmp, &tombstones, &key, snapshot, read_ts)
                );
            }
            let all = FragmentedTombstones::build(tombstones.clone(), &cmp);
            assert_eq!(*mem.snapshot(), all);
            assert!(Arc::ptr_eq(&mem.snapshot(), &mem.snapshot()));
            let cursor = TombstoneCursor::new(cmp.clone(), [mem.source()]);
            check_cursor(&mut rng, &cmp, cursor, &tombstones, None);
            let cursor = TombstoneCursor::new(cmp.clone(), [frozen.0]);
            check_cursor(&mut rng, &cmp, cursor, &tombstones[..frozen.1], None);
        }
    }
}

#[test]
fn snapshots_for_readers_keep_what_they_need() {
    let mut rng = testkit::rng();
    for cmp in comparators() {
        for _ in 0..20 {
            let mem = MemTombstones::new(cmp.clone());
            let mut tombstones: Vec<RangeTombstone> = Vec::new();
            for seqno in 1..=rng.u64(..150) {
                let one = random_tombstone(&mut rng, &cmp, seqno, (seqno / 4) as u16);
                mem.add(&one.start, &one.end, seqno);
                tombstones.push(one);
            }
            let mut snapshots: Vec<SeqNo> = (0..rng.usize(..4)).map(|_| rng.u64(..160)).collect();
            snapshots.sort_unstable();
            let kept = mem.snapshot_for(&snapshots);
            for _ in 0..40 {
                let key = with_timestamp(&cmp, &random_key(&mut rng), rng.u16(..40));
                for &snapshot in snapshots.iter().chain([&MAX_SEQNO]) {
                    assert_eq!(
                        kept.covering_seqno(&cmp, &key, snapshot),
                        covering(&cmp, &tombstones, &key, snapshot, None),
                        "{key:?} at {snapshot} of {snapshots:?}"
                    );
                }
            }
            if cmp.timestamp_size() == 0 {
                assert!(
                    kept.iter()
                        .all(|fragment| fragment.seqnos.len() <= snapshots.len() + 1)
                );
            } else {
                assert_eq!(kept, mem.snapshot());
            }
        }
    }
}

#[test]
fn sequence_numbers_may_come_out_of_order() {
    let mut rng = testkit::rng();
    let cmp = UserComparator::Bytewise;
    for _ in 0..4 {
        let mem = MemTombstones::new(cmp.clone());
        let mut seqnos: Vec<SeqNo> = (1..=2000).collect();
        for i in 0..seqnos.len() {
            let other = if rng.one_in(40) {
                rng.usize(..seqnos.len())
            } else {
                (i + rng.usize(..5)).min(seqnos.len() - 1)
            };
            seqnos.swap(i, other);
        }
        let mut tombstones = Vec::new();
        for &seqno in &seqnos {
            // The tombstones are wide, so that they span whole nodes of the tree.
            let (start, end) = (rng.u32(..40), rng.u32(900..1000));
            let (start, end) = if rng.one_in(3) {
                (end, end + 1)
            } else {
                (start, end)
            };
            let [start, end] = [start, end].map(|key| format!("key{key:06}").into_bytes());
            mem.add(&start, &end, seqno);
            tombstones.push(RangeTombstone { start, end, seqno });
        }
        for _ in 0..400 {
            let key = format!("key{:06}", rng.u32(..1010)).into_bytes();
            let snapshot = rng.u64(..2100);
            assert_eq!(
                mem.covering_seqno(&key, snapshot),
                covering(&cmp, &tombstones, &key, snapshot, None)
            );
        }
        assert_eq!(*mem.snapshot(), FragmentedTombstones::build(tombstones, &cmp));
    }
}

/// Every tombstone covers all earlier ones, as when the front of a queue is deleted. Lists in fragments would
/// take the square of their number.
#[test]
fn nested_tombstones_take_little_memory() {
    let cmp = UserComparator::Bytewise;
    for shape in 0..4 {
        let mem = MemTombstones::new(cmp.clone());
        let count = 20_000u64;
        let range = |i: u64| match shape {
            0 => (0, i),
            1 => (count - i, count + i),
            2 => (7, 1000),
            _ => (i * 7919 % count, i * 7919 % count + 2),
        };
        for i in 1..=count {
            let (start, end) = range(i);
            mem.add(
                format!("q{start:09}").as_bytes(),
                format!("q{end:09}").as_bytes(),
                i,
            );
        }
        assert!(
            mem.memory_usage() < 2000 * count as usize,
            "shape {shape}: {} bytes",
            mem.memory_usage()
        );
        for key in (0..2 * count).step_by(997) {
            for snapshot in [count, count / 2, 5] {
                let newest = (1..=snapshot)
                    .rev()
                    .find(|&i| range(i).0 <= key && key < range(i).1);
                let found = mem.covering_seqno(format!("q{key:09}").as_bytes(), snapshot);
                assert_eq!(found, newest.unwrap_or(0), "shape {shape}, {key} at {snapshot}");
            }
        }
        let kept = mem.snapshot_for(&[count / 2]);
        assert!(kept.num_tombstones() <= 2 * kept.len());
    }
}

#[test]
fn readers_find_what_was_published_before_they_looked() {
    let cmp = UserComparator::Bytewise;
    let mem = MemTombstones::new(cmp.clone());
    let published = AtomicU64::new(0);
    let count = 6_000u64;
    let key = |i: u64| format!("user{:08}", i * 7919 % count).into_bytes();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 1..=count {
                let mut end = key(i);
                end.push(0);
                mem.add(&key(i), &end, i);
                published.store(i, Ordering::Release);
            }
        });
        for reader in 0..2 {
            let (mem, published, cmp) = (&mem, &published, &cmp);
            scope.spawn(move || {
                let mut rng = testkit::rng();
                loop {
                    let snapshot = published.load(Ordering::Acquire);
                    for _ in 0..20 {
                        let i = rng.u64(1..=count);
                        let want = if i <= snapshot { i } else { 0 };
                        assert_eq!(mem.covering_seqno(&key(i), snapshot), want);
                        if reader == 1 && rng.one_in(10) {
                            let mut cursor = TombstoneCursor::new(cmp.clone(), [mem.source()]);
                            assert_eq!(cursor.covering(&key(i), snapshot), want);
                        }
                    }
                    if snapshot == count {
                        break;
                    }
                }
            });
        }
    });
    assert_eq!(mem.snapshot().num_tombstones(), count as usize);
}

#[test]
fn many_writers_lose_nothing() {
    let mem = MemTombstones::new(UserComparator::Bytewise);
    std::thread::scope(|scope| {
        for writer in 0..4u64 {
            let mem = &mem;
            scope.spawn(move || {
                for i in 0..1000u64 {
                    let key = format!("{:05}", i * 4 + writer);
                    mem.add(key.as_bytes(), format!("{key}\0").as_bytes(), i * 4 + writer + 1);
                }
            });
        }
    });
    assert_eq!(mem.len(), 4000);
    let all = mem.snapshot();
    let seqnos: Vec<_> = all.iter().map(|fragment| fragment.seqnos.to_vec()).collect();
    assert_eq!(seqnos, (1..=4000).map(|seqno| vec![seqno]).collect::<Vec<_>>());
}
