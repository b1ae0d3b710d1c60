//! The order of versioned keys, and the prefix of them that filters hold.

use std::cmp::Ordering;
use std::sync::Arc;

use esker::{ColumnFamilyOptions, Comparator, PrefixExtractor, UserComparator};

use crate::key::mvcc_key::{SENTINEL, split};
use crate::key::time_interval::TimeInterval;

/// The order of versioned keys: user keys as bytes; for each user key first the key without a version, then
/// its versions from the newest to the oldest.
///
/// Its name, `esker.MvccComparator`, is in every table and MANIFEST of such a family. In everything else the
/// files are RocksDB's: it opens such a database if it is given a comparator of this name. RocksDB's
/// `sst_dump`, which ends in an assertion at names it does not know, still verifies and shows the tables,
/// because they have the name in a property of ours ([`Comparator::is_told_to_rocksdb`]).
///
/// Any bytes have a place in the order, even those that are not a versioned key: they sort as prefixes. Keys
/// are equal exactly when their bytes are.
#[derive(Clone, Copy, Debug, Default)]
pub struct MvccComparator;

impl MvccComparator {
    /// The name of the comparator on disk.
    pub const NAME: &'static str = "esker.MvccComparator";
}

/// The order of [`MvccComparator`].
#[inline]
pub(crate) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let (prefix_a, suffix_a) = split(a);
    let (prefix_b, suffix_b) = split(b);
    prefix_a
        .cmp(prefix_b)
        .then_with(|| match (suffix_a.is_empty(), suffix_b.is_empty()) {
            // The length bytes are left out: a longer suffix of the same wall time has a counter, and is
            // newer.
            (false, false) => suffix_b[..suffix_b.len() - 1].cmp(&suffix_a[..suffix_a.len() - 1]),
            (a_is_bare, b_is_bare) => b_is_bare.cmp(&a_is_bare),
        })
}

impl Comparator for MvccComparator {
    fn name(&self) -> &str {
        MvccComparator::NAME
    }

    fn is_told_to_rocksdb(&self) -> bool {
        false
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        compare(a, b)
    }

    /// The user key, and the time mapped so that the newest is the least. A key without a version comes
    /// before all versions.
    #[inline]
    fn leading_parts<'a>(&self, key: &'a [u8]) -> Option<(&'a [u8], u64)> {
        let (prefix, suffix) = split(key);
        let wall = suffix.first_chunk().map(|wall| u64::from_be_bytes(*wall));
        Some((prefix, wall.map_or(0, |wall| !wall)))
    }

    /// True for versions of one user key, except inline values. The versions of the empty user key are range
    /// tombstones, and none is an older one of another.
    fn is_older_version(&self, newer: &[u8], key: &[u8]) -> bool {
        let ((prefix, suffix), (newer_prefix, newer_suffix)) = (split(key), split(newer));
        prefix == newer_prefix && prefix.len() > 1 && !suffix.is_empty() && !newer_suffix.is_empty()
    }

    /// Shortens the user key. The result has no version, and so comes before all versions of its user key.
    fn shorten_separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        let (Some(start_key), Some(limit_key)) = (user_key(start), user_key(limit)) else {
            return;
        };
        let mut shorter = start_key.to_vec();
        UserComparator::Bytewise.shorten_separator(&mut shorter, limit_key);
        replace(start, shorter);
    }

    fn shorten_successor(&self, key: &mut Vec<u8>) {
        let Some(bare) = user_key(key) else {
            return;
        };
        let mut shorter = bare.to_vec();
        UserComparator::Bytewise.shorten_successor(&mut shorter);
        replace(key, shorter);
    }
}

/// The user key in a versioned key; `None` if there is no sentinel.
#[inline]
fn user_key(key: &[u8]) -> Option<&[u8]> {
    match split(key).0.split_last() {
        Some((&SENTINEL, user_key)) => Some(user_key),
        _ => None,
    }
}

/// Replaces `key` by `user_key` without a version, if that is another user key and takes fewer bytes.
fn replace(key: &mut Vec<u8>, user_key: Vec<u8>) {
    if user_key.len() + 1 < key.len() && !key.starts_with(&[&user_key[..], &[SENTINEL]].concat()) {
        *key = user_key;
        key.push(SENTINEL);
    }
}

/// The part of a versioned key that all versions of a user key share, sentinel included: filters hold it.
/// Bytes that are not a versioned key have none.
#[derive(Clone, Copy, Debug, Default)]
pub struct MvccPrefix;

impl MvccPrefix {
    /// The name of the comparator on disk.
    pub const NAME: &'static str = "esker.MvccPrefix";
}

impl PrefixExtractor for MvccPrefix {
    fn name(&self) -> &str {
        MvccPrefix::NAME
    }

    #[inline]
    fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        let (prefix, _) = split(key);
        (prefix.last() == Some(&SENTINEL)).then_some(prefix)
    }

    /// The next user key, without a version.
    fn successor(&self, key: &[u8], _comparator: &UserComparator, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(split(key).0);
        out.push(SENTINEL);
        true
    }
}

/// The size of a memtable's filter, as a part of the memtable: some 25 bits for each row of 150 bytes.
const MEMTABLE_FILTER: f64 = 0.02;

/// Sets `options` for a family of versioned keys: their order, filters over prefixes instead of whole keys,
/// which no reader looks up, and the table properties that record times. The filter policy stays as it is, as
/// does a size of the memtables' filters that is not 0.
pub fn configure(options: &mut ColumnFamilyOptions) {
    // Gets and puts look into memtables first, where most keys have no version.
    if options.memtable_prefix_bloom_size_ratio == 0.0 {
        options.memtable_prefix_bloom_size_ratio = MEMTABLE_FILTER;
    }
    options.comparator = UserComparator::Custom(Arc::new(MvccComparator));
    options.prefix_extractor = Some(Arc::new(MvccPrefix));
    options.table.whole_key_filtering = false;
    options
        .block_property_collector_factories
        .push(Arc::new(TimeInterval));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::mvcc_key::MvccKey;
    use crate::key::timestamp::Timestamp;

    /// The tuple that the encoded keys must be ordered by.
    type Tuple = (Vec<u8>, std::cmp::Reverse<Timestamp>);

    fn draw(rng: &mut testkit::TestRng) -> (Tuple, Vec<u8>) {
        let len = rng.usize(..4);
        // Bytes that look like sentinels and lengths could be misread.
        let mut user_key: Vec<u8> = (0..len).map(|_| *rng.pick(&[0, 1, 9, 13, b'a', 0xff])).collect();
        if rng.one_in(8) {
            user_key.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 9]);
        }
        let wall = *rng.pick(&[0, 1, 2, 9, 13, 256, 1 << 40, i64::MAX]);
        let logical = *rng.pick(&[0, 0, 1, 9, 13, i32::MAX]);
        let timestamp = Timestamp { wall, logical };
        let key = MvccKey {
            user_key: &user_key,
            timestamp,
        };
        let bytes = key.encode();
        // A key without a version sorts first, as the newest possible one.
        let order = if timestamp.is_zero() {
            Timestamp::MAX
        } else {
            timestamp
        };
        ((user_key, std::cmp::Reverse(order)), bytes)
    }

    #[test]
    fn the_order_is_that_of_the_tuples() {
        let mut rng = testkit::rng();
        for _ in 0..200_000 {
            let ((a, a_bytes), (b, b_bytes)) = (draw(&mut rng), draw(&mut rng));
            let order = compare(&a_bytes, &b_bytes);
            assert_eq!(order, compare(&b_bytes, &a_bytes).reverse());
            assert_eq!(order.is_eq(), a_bytes == b_bytes);
            let bare = |bytes: &[u8]| split(bytes).1.is_empty();
            // Tuples cannot distinguish "no version" from the newest possible version.
            if a != b || bare(&a_bytes) == bare(&b_bytes) {
                assert_eq!(order, a.cmp(&b), "{a_bytes:?} {b_bytes:?}");
            } else {
                assert_eq!(order.is_lt(), bare(&a_bytes));
            }
        }
    }

    #[test]
    fn versions_of_a_key_are_older_ones_of_the_first() {
        let key = |user_key: &[u8], wall| {
            let timestamp = Timestamp::from_nanos(wall);
            MvccKey { user_key, timestamp }.encode()
        };
        let order = UserComparator::Custom(Arc::new(MvccComparator));
        assert!(order.is_older_version(&key(b"k", 9), &key(b"k", 8)));
        assert!(!order.is_older_version(&key(b"k", 9), &key(b"k\0", 8)));
        assert!(
            !order.is_older_version(&key(b"k", 0), &key(b"k", 8)),
            "an inline value"
        );
        assert!(
            !order.is_older_version(&key(b"", 9), &key(b"", 8)),
            "range tombstones"
        );
        assert!(!order.is_older_version(b"", &key(b"k", 8)));
    }

    #[test]
    fn any_bytes_have_a_place() {
        let mut rng = testkit::rng();
        let mut keys: Vec<Vec<u8>> = (0..400)
            .map(|_| {
                let len = rng.usize(..16);
                let mut key = rng.bytes(len);
                key.iter_mut().for_each(|byte| *byte %= 14);
                key
            })
            .collect();
        keys.sort_by(|a, b| compare(a, b));
        keys.dedup();
        for (at, a) in keys.iter().enumerate() {
            for b in &keys[at + 1..] {
                assert!(compare(a, b).is_lt(), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn separators_and_successors_stand_between() {
        let mut rng = testkit::rng();
        let order = UserComparator::Custom(Arc::new(MvccComparator));
        let mut shortened = 0;
        for _ in 0..100_000 {
            let (mut a, mut b) = (draw(&mut rng).1, draw(&mut rng).1);
            if compare(&a, &b).is_gt() {
                std::mem::swap(&mut a, &mut b);
            }
            if a != b {
                let mut separator = a.clone();
                order.shorten_separator(&mut separator, &b);
                assert!(compare(&a, &separator).is_le() && compare(&separator, &b).is_lt());
                assert!(separator.len() <= a.len());
                assert!(MvccKey::decode(&separator).is_ok());
                shortened += usize::from(separator != a);
            }
            let mut successor = a.clone();
            order.shorten_successor(&mut successor);
            assert!(compare(&a, &successor).is_le() && successor.len() <= a.len());
        }
        assert!(shortened > 1000);
        let key = |user_key: &[u8], wall| {
            let timestamp = Timestamp::from_nanos(wall);
            MvccKey { user_key, timestamp }.encode()
        };
        let mut separator = key(b"apple", 7);
        order.shorten_separator(&mut separator, &key(b"cherry", 3));
        assert_eq!(separator, b"b\0");
        let mut within = key(b"apple", 7);
        order.shorten_separator(&mut within, &key(b"apple", 3));
        assert_eq!(
            within,
            key(b"apple", 7),
            "no shorter key comes between versions of one key"
        );
    }

    #[test]
    fn prefixes_are_shared_by_versions() {
        let key = |wall| {
            let timestamp = Timestamp::from_nanos(wall);
            MvccKey {
                user_key: b"k",
                timestamp,
            }
            .encode()
        };
        for wall in [0, 1, 1000] {
            assert_eq!(MvccPrefix.prefix(&key(wall)), Some(&b"k\0"[..]));
        }
        assert_eq!(MvccPrefix.prefix(b"plain"), None);
        assert_eq!(MvccPrefix.prefix(b""), None);
    }
}
