//! The order of user keys. RocksDB's four built-in orders are an enum so that hot paths compare without an
//! indirect call.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::user_code;

/// The suffix of names of comparators with timestamps of 8 bytes, least significant byte first; the rest of
/// the name is that of the same order without timestamps.
pub const TIMESTAMP_SUFFIX: &str = ".u64ts";

/// An order that a user supplies. It must be total, and must never change for a database: MANIFEST and SSTs
/// store its name.
///
/// ```
/// # use esker_base::comparator as esker;
/// use esker::Comparator;
/// use std::cmp::Ordering;
///
/// struct ByLength;
///
/// impl Comparator for ByLength {
///     fn name(&self) -> &str {
///         "example.ByLength"
///     }
///
///     fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
///         a.len().cmp(&b.len()).then_with(|| a.cmp(b))
///     }
/// }
///
/// assert!(ByLength.compare(b"z", b"aa").is_lt());
/// ```
pub trait Comparator: Send + Sync + 'static {
    /// The name that is stored with the data. A database that is opened with another name is refused.
    fn name(&self) -> &str;

    /// True if tables store the name in the property where RocksDB's programs look for it. `sst_dump` stops
    /// at a name that it does not know, but verifies and shows a table that has none, whatever its order. If
    /// false, the name is in `esker.comparator`, a property of Esker's own; the MANIFEST has it in any case.
    /// Return false for an order that RocksDB's programs are not built with. The answer must never change for
    /// a database. Default: true.
    fn is_told_to_rocksdb(&self) -> bool {
        true
    }

    /// Compares two user keys, timestamps included. Keys of the same bytes are equal: the engine may not ask.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// The part of a key that is compared first, as unsigned bytes with a prefix first, and a number that is
    /// compared if those bytes are equal. If the numbers are equal too, [`compare`](Self::compare) decides.
    /// Memtables keep some bits of the two parts in their nodes and read keys only if the bits are equal;
    /// without these parts each step of a search reads a key, which in a large memtable is a cache miss.
    /// Returns `Some` for every key or for none. Not for orders with timestamps. Default: `None`.
    fn leading_parts<'a>(&self, _key: &'a [u8]) -> Option<(&'a [u8], u64)> {
        None
    }

    /// The size in bytes of the timestamp at the end of every key; 0 without timestamps.
    fn timestamp_size(&self) -> usize {
        0
    }

    /// Compares two user keys and ignores their timestamps.
    fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.compare(a, b)
    }

    /// True if `key` and `newer` are versions of the same thing and `key` is the older one. `newer` precedes
    /// `key` in this order, with only versions of the same thing between them. A compaction asks this of
    /// neighbours to estimate how much garbage there will soon be; it drops no entry for it. Default: true if
    /// they differ in their timestamps alone.
    fn is_older_version(&self, newer: &[u8], key: &[u8]) -> bool {
        self.compare_without_timestamp(newer, key).is_eq()
    }

    /// Shortens `start` to a key `k` with `start <= k < limit`, where `start < limit`, as an index entry
    /// between two blocks: RocksDB's `FindShortestSeparator`. A result outside that range is ignored.
    /// Default: leaves `start` as it is.
    fn shorten_separator(&self, _start: &mut Vec<u8>, _limit: &[u8]) {}

    /// Shortens `key` to a key at or after it, as the index entry after the last block: RocksDB's
    /// `FindShortSuccessor`. A result that precedes `key` is ignored. Default: leaves `key` as it is.
    fn shorten_successor(&self, _key: &mut Vec<u8>) {}
}

/// The order of a column family's user keys.
///
/// ```
/// # use esker_base::comparator as esker;
/// use esker::UserComparator;
///
/// let order = UserComparator::builtin("rocksdb.ReverseBytewiseComparator").unwrap();
/// assert_eq!(order, UserComparator::ReverseBytewise);
/// assert!(order.compare(b"b", b"a").is_lt());
/// ```
#[derive(Clone)]
pub enum UserComparator {
    /// Keys are compared as unsigned bytes, a prefix first. The default.
    Bytewise,
    /// The exact inverse of `Bytewise`.
    ReverseBytewise,
    /// Bytewise, then the trailing 8-byte little-endian timestamp descending.
    BytewiseU64Ts,
    /// Reverse bytewise, then the timestamp descending.
    ReverseBytewiseU64Ts,
    /// An order of the user's own.
    Custom(Arc<dyn Comparator>),
}

/// The size of the built-in timestamps in bytes.
const U64_TS: usize = 8;

impl UserComparator {
    /// The built-in order called `name`, if there is one.
    pub fn builtin(name: &str) -> Option<UserComparator> {
        Some(match name {
            "leveldb.BytewiseComparator" => UserComparator::Bytewise,
            "rocksdb.ReverseBytewiseComparator" => UserComparator::ReverseBytewise,
            "leveldb.BytewiseComparator.u64ts" => UserComparator::BytewiseU64Ts,
            "rocksdb.ReverseBytewiseComparator.u64ts" => UserComparator::ReverseBytewiseU64Ts,
            _ => return None,
        })
    }

    /// The name that is stored on disk.
    pub fn name(&self) -> &str {
        match self {
            UserComparator::Bytewise => "leveldb.BytewiseComparator",
            UserComparator::ReverseBytewise => "rocksdb.ReverseBytewiseComparator",
            UserComparator::BytewiseU64Ts => "leveldb.BytewiseComparator.u64ts",
            UserComparator::ReverseBytewiseU64Ts => "rocksdb.ReverseBytewiseComparator.u64ts",
            UserComparator::Custom(custom) => custom.name(),
        }
    }

    /// True if the order is that of unsigned bytes, so that 8-byte big-endian prefixes can represent keys.
    #[inline]
    pub fn is_bytewise(&self) -> bool {
        matches!(self, UserComparator::Bytewise)
    }

    /// The size in bytes of the timestamp at the end of every key; 0 without timestamps.
    #[inline]
    pub fn timestamp_size(&self) -> usize {
        match self {
            UserComparator::Bytewise | UserComparator::ReverseBytewise => 0,
            UserComparator::BytewiseU64Ts | UserComparator::ReverseBytewiseU64Ts => U64_TS,
            UserComparator::Custom(custom) => custom.timestamp_size(),
        }
    }

    /// The key without its timestamp. A key too short to hold one is returned whole.
    #[inline]
    pub fn strip_timestamp<'a>(&self, key: &'a [u8]) -> &'a [u8] {
        &key[..key.len().saturating_sub(self.timestamp_size())]
    }

    /// The timestamp at the end of a key.
    #[inline]
    pub fn timestamp<'a>(&self, key: &'a [u8]) -> &'a [u8] {
        &key[key.len().saturating_sub(self.timestamp_size())..]
    }

    /// Makes `key`, which carries no timestamp, an argument for
    /// [`compare_without_timestamp`](Self::compare_without_timestamp): appends some timestamp if the order's
    /// keys have one. Allocates only in that case.
    #[inline]
    pub fn stamped<'a>(&self, key: &'a [u8]) -> Cow<'a, [u8]> {
        match self.timestamp_size() {
            0 => Cow::Borrowed(key),
            size => Cow::Owned([key, &vec![0; size]].concat()),
        }
    }

    /// Compares two user keys, timestamps included.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            UserComparator::Bytewise => a.cmp(b),
            _ => self.compare_slow(a, b),
        }
    }

    #[inline(never)]
    fn compare_slow(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            UserComparator::Bytewise => a.cmp(b),
            UserComparator::ReverseBytewise => b.cmp(a),
            UserComparator::BytewiseU64Ts => {
                let (key_a, ts_a) = split_u64_ts(a);
                let (key_b, ts_b) = split_u64_ts(b);
                key_a.cmp(key_b).then_with(|| ts_b.cmp(&ts_a))
            }
            UserComparator::ReverseBytewiseU64Ts => {
                let (key_a, ts_a) = split_u64_ts(a);
                let (key_b, ts_b) = split_u64_ts(b);
                key_b.cmp(key_a).then_with(|| ts_b.cmp(&ts_a))
            }
            // A key that is written again and again, as a record is, meets its former versions.
            UserComparator::Custom(_) if a == b => Ordering::Equal,
            UserComparator::Custom(custom) => called(custom, || custom.compare(a, b)),
        }
    }

    /// Compares two user keys and ignores their timestamps. If the order's keys have timestamps, both
    /// arguments carry one; see [`stamped`](Self::stamped) for keys without.
    #[inline]
    pub fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            UserComparator::Bytewise => a.cmp(b),
            UserComparator::ReverseBytewise => b.cmp(a),
            UserComparator::BytewiseU64Ts => self.strip_timestamp(a).cmp(self.strip_timestamp(b)),
            UserComparator::ReverseBytewiseU64Ts => self.strip_timestamp(b).cmp(self.strip_timestamp(a)),
            UserComparator::Custom(custom) => called(custom, || custom.compare_without_timestamp(a, b)),
        }
    }

    /// Orders two timestamps: the greater is the newer.
    pub fn compare_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            UserComparator::Custom(custom) => called(custom, || custom.compare(b, a)),
            _ => u64_ts(a).cmp(&u64_ts(b)),
        }
    }

    /// The part that a user's order compares first; see [`Comparator::leading_parts`].
    #[inline]
    pub fn leading_parts<'a>(&self, key: &'a [u8]) -> Option<(&'a [u8], u64)> {
        match self {
            UserComparator::Custom(custom) if custom.timestamp_size() == 0 => {
                called(custom, || custom.leading_parts(key))
            }
            _ => None,
        }
    }

    /// True if tables store the name where RocksDB's programs look for it; see
    /// [`Comparator::is_told_to_rocksdb`].
    pub fn is_told_to_rocksdb(&self) -> bool {
        match self {
            UserComparator::Custom(order) => order.is_told_to_rocksdb(),
            _ => true,
        }
    }

    /// True if `key`, which comes after `newer`, is an older version of the same thing.
    pub fn is_older_version(&self, newer: &[u8], key: &[u8]) -> bool {
        match self {
            UserComparator::Custom(custom) => called(custom, || custom.is_older_version(newer, key)),
            _ => self.compare_without_timestamp(newer, key).is_eq(),
        }
    }

    /// Shortens `start` to a key `k` with `start <= k < limit`, as an index entry between two blocks. Leaves
    /// it as it is if there is no shorter key, or if the order is neither bytewise nor a user's that
    /// implements this.
    pub fn shorten_separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        if let UserComparator::Custom(custom) = self {
            let whole = start.clone();
            called(custom, || custom.shorten_separator(start, limit));
            if self.compare(&whole, start).is_gt() || self.compare(start, limit).is_ge() {
                *start = whole;
            }
            return;
        }
        if !self.is_bytewise() {
            return;
        }
        let common = shared_len(start, limit);
        if common == start.len() || common == limit.len() || start[common] >= limit[common] {
            return;
        }
        if limit.len() > common + 1 || start[common] + 1 < limit[common] {
            start[common] += 1;
            start.truncate(common + 1);
        } else if let Some(ahead) = start[common + 1..].iter().position(|&byte| byte != 0xff) {
            let at = common + 1 + ahead;
            start[at] += 1;
            start.truncate(at + 1);
        }
    }

    /// Shortens `key` to a key at or after it, as the index entry after the last block. Leaves it as it is if
    /// there is no shorter key, or if the order is neither bytewise nor a user's that implements this.
    pub fn shorten_successor(&self, key: &mut Vec<u8>) {
        if let UserComparator::Custom(custom) = self {
            let whole = key.clone();
            called(custom, || custom.shorten_successor(key));
            if self.compare(&whole, key).is_gt() {
                *key = whole;
            }
            return;
        }
        if !self.is_bytewise() {
            return;
        }
        if let Some(at) = key.iter().position(|&byte| byte != 0xff) {
            key[at] += 1;
            key.truncate(at + 1);
        }
    }
}

/// Calls a user's comparator. If it panics, the error names the comparator.
#[inline(always)]
fn called<T>(order: &Arc<dyn Comparator>, code: impl FnOnce() -> T) -> T {
    user_code::call("comparator", || order.name(), code)
}

impl fmt::Debug for UserComparator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for UserComparator {
    /// Two orders are equal if their names are: the name stands for the order.
    fn eq(&self, other: &UserComparator) -> bool {
        self.name() == other.name()
    }
}

fn split_u64_ts(key: &[u8]) -> (&[u8], u64) {
    let (key, ts) = key.split_at(key.len().saturating_sub(U64_TS));
    (key, u64_ts(ts))
}

/// A key shorter than a timestamp can only come from a corrupt file; it is ordered like any other and does
/// not panic.
fn u64_ts(ts: &[u8]) -> u64 {
    let mut bytes = [0; U64_TS];
    let len = ts.len().min(U64_TS);
    bytes[..len].copy_from_slice(&ts[..len]);
    u64::from_le_bytes(bytes)
}

/// The number of leading bytes that `a` and `b` share.
#[inline]
pub fn shared_len(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (words_a, tail_a) = a[..len].as_chunks::<8>();
    let (words_b, tail_b) = b[..len].as_chunks::<8>();
    for (i, (word_a, word_b)) in words_a.iter().zip(words_b).enumerate() {
        let difference = u64::from_le_bytes(*word_a) ^ u64::from_le_bytes(*word_b);
        if difference != 0 {
            return i * 8 + difference.trailing_zeros() as usize / 8;
        }
    }
    let tail = tail_a.iter().zip(tail_b).take_while(|(a, b)| a == b).count();
    len - tail_a.len() + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn separator(start: &[u8], limit: &[u8]) -> Vec<u8> {
        let mut out = start.to_vec();
        UserComparator::Bytewise.shorten_separator(&mut out, limit);
        assert!(
            start <= &out[..] && (&out[..] < limit || out == start),
            "{start:?} {out:?} {limit:?}"
        );
        out
    }

    #[test]
    fn separators_are_rocksdbs() {
        assert_eq!(separator(b"abc1xyz", b"abc9"), b"abc2");
        assert_eq!(separator(b"abc", b"abcd"), b"abc");
        assert_eq!(separator(b"abcAAAA", b"abcBBBB"), b"abcB");
        assert_eq!(separator(b"abcAAA", b"abcB"), b"abcAB");
        assert_eq!(separator(b"a\xff\xff", b"b"), b"a\xff\xff");
        assert_eq!(separator(b"b", b"a"), b"b");
    }

    #[test]
    fn successors_are_rocksdbs() {
        for (key, successor) in [
            (&b"abc"[..], &b"b"[..]),
            (b"\xff\xffa", b"\xff\xffb"),
            (b"\xff\xff", b"\xff\xff"),
            (b"", b""),
        ] {
            let mut out = key.to_vec();
            UserComparator::Bytewise.shorten_successor(&mut out);
            assert_eq!(out, successor);
            let mut out = key.to_vec();
            UserComparator::ReverseBytewise.shorten_successor(&mut out);
            assert_eq!(out, key);
        }
    }

    #[test]
    fn an_order_that_shortens_wrongly_is_not_followed() {
        struct Wrong(&'static [u8]);
        impl Comparator for Wrong {
            fn name(&self) -> &str {
                "wrong"
            }
            fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
                a.cmp(b)
            }
            fn shorten_separator(&self, start: &mut Vec<u8>, _limit: &[u8]) {
                *start = self.0.to_vec();
            }
            fn shorten_successor(&self, key: &mut Vec<u8>) {
                *key = self.0.to_vec();
            }
        }
        for (given, separator, successor) in [
            (&b"a"[..], &b"bb"[..], &b"bb"[..]),
            (b"c", b"c", b"c"),
            (b"d", b"bb", b"d"),
            (b"e", b"bb", b"e"),
        ] {
            let order = UserComparator::Custom(Arc::new(Wrong(given)));
            let (mut start, mut last) = (b"bb".to_vec(), b"bb".to_vec());
            order.shorten_separator(&mut start, b"d");
            order.shorten_successor(&mut last);
            assert_eq!((&start[..], &last[..]), (separator, successor), "{given:?}");
        }
    }

    #[test]
    fn timestamps_descend_within_a_key() {
        let order = UserComparator::BytewiseU64Ts;
        let at = |key: &[u8], ts: u64| [key, &ts.to_le_bytes()].concat();
        assert_eq!(order.compare(&at(b"a", 300), &at(b"a", 2)), Ordering::Less);
        assert_eq!(order.compare(&at(b"a", 1), &at(b"b", 900)), Ordering::Less);
        assert_eq!(
            order.compare_without_timestamp(&at(b"a", 1), &at(b"a", 2)),
            Ordering::Equal
        );
        assert!(order.is_older_version(&at(b"a", 2), &at(b"a", 1)));
        assert!(!order.is_older_version(&at(b"a", 2), &at(b"aa", 1)));
        assert!(!UserComparator::Bytewise.is_older_version(&at(b"a", 2), &at(b"a", 1)));
        let (bare, stamped) = (b"prefix".as_slice(), at(b"prefix", 7));
        assert!(
            order
                .compare_without_timestamp(&order.stamped(bare), &stamped)
                .is_eq()
        );
        assert_eq!(UserComparator::Bytewise.stamped(bare), bare);
        assert_eq!(
            order.compare(b"x", b"yy"),
            Ordering::Greater,
            "damaged keys have an order too"
        );
    }
}
