//! A simple model of range tombstones, and the orders to test.

use std::cmp::Ordering;
use std::sync::Arc;

use base::{Comparator, SeqNo, UserComparator};
use rangedel::RangeTombstone;
use testkit::TestRng;

/// By length, then bytewise: an order in which prefixes of bytes have no meaning.
struct ByLength;

impl Comparator for ByLength {
    fn name(&self) -> &str {
        "test.ByLength"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.len().cmp(&b.len()).then(a.cmp(b))
    }
}

/// Bytewise with a timestamp of two bytes, big-endian, newest first.
struct ShortTimestamps;

impl Comparator for ShortTimestamps {
    fn name(&self) -> &str {
        "test.ShortTimestamps"
    }
    fn timestamp_size(&self) -> usize {
        2
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let split = |key: &'_ [u8]| key.len().saturating_sub(2);
        let by_key = self.compare_without_timestamp(a, b);
        by_key.then_with(|| b[split(b)..].cmp(&a[split(a)..]))
    }
    fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        a[..a.len().saturating_sub(2)].cmp(&b[..b.len().saturating_sub(2)])
    }
}

/// All key orders to test.
pub fn comparators() -> Vec<UserComparator> {
    vec![
        UserComparator::Bytewise,
        UserComparator::ReverseBytewise,
        UserComparator::BytewiseU64Ts,
        UserComparator::ReverseBytewiseU64Ts,
        UserComparator::Custom(Arc::new(ByLength)),
        UserComparator::Custom(Arc::new(ShortTimestamps)),
    ]
}

/// A timestamp of the comparator's size; empty without timestamps. Larger values are newer.
pub fn timestamp(cmp: &UserComparator, ts: u16) -> Vec<u8> {
    match cmp.timestamp_size() {
        2 => ts.to_be_bytes().to_vec(),
        8 => u64::from(ts).to_le_bytes().to_vec(),
        _ => Vec::new(),
    }
}

/// `key` with a timestamp if the order has timestamps.
pub fn with_timestamp(cmp: &UserComparator, key: &[u8], ts: u16) -> Vec<u8> {
    [key, &timestamp(cmp, ts)].concat()
}

/// Few keys, many with equal first bytes, so that ranges overlap.
pub fn random_key(rng: &mut TestRng) -> Vec<u8> {
    let mut key = match rng.u8(..8) {
        0 => Vec::new(),
        1 => b"z".to_vec(),
        _ => b"common-prefix".to_vec(),
    };
    let len = rng.usize(..=3) * rng.usize(..=3);
    key.extend((0..len).map(|_| *rng.pick(b"\0abc\xff")));
    key
}

/// A tombstone over a range of random keys, with start and end swapped in one of twenty.
pub fn random_tombstone(rng: &mut TestRng, cmp: &UserComparator, seqno: SeqNo, ts: u16) -> RangeTombstone {
    let (mut a, mut b) = (
        with_timestamp(cmp, &random_key(rng), ts),
        with_timestamp(cmp, &random_key(rng), ts),
    );
    if cmp.compare_without_timestamp(&a, &b).is_gt() && !rng.one_in(20) {
        std::mem::swap(&mut a, &mut b);
    }
    RangeTombstone {
        start: a,
        end: b,
        seqno,
    }
}

/// True if the range of `tombstone` contains the entry `key`, timestamps ignored.
pub fn reaches_over(cmp: &UserComparator, tombstone: &RangeTombstone, key: &[u8]) -> bool {
    cmp.compare_without_timestamp(&tombstone.start, key).is_le()
        && cmp.compare_without_timestamp(key, &tombstone.end).is_lt()
}

/// The newest of `tombstones` over the entry `key` for a reader at `snapshot` and `read_ts`.
pub fn covering(
    cmp: &UserComparator,
    tombstones: &[RangeTombstone],
    key: &[u8],
    snapshot: SeqNo,
    read_ts: Option<&[u8]>,
) -> SeqNo {
    let newer = |a: &[u8], b: &[u8]| cmp.timestamp_size() > 0 && cmp.compare_timestamp(a, b).is_gt();
    let counts = |one: &&RangeTombstone| {
        let ts = cmp.timestamp(&one.start);
        one.seqno <= snapshot
            && reaches_over(cmp, one, key)
            && !newer(cmp.timestamp(key), ts)
            && !read_ts.is_some_and(|read| newer(ts, read))
    };
    let counting = tombstones.iter().filter(counts);
    counting.map(|one| one.seqno).max().unwrap_or(0)
}
