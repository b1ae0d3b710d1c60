//! Keys with versions, their values, and the other rows of a store.

use std::cell::RefCell;
use std::cmp::{Ordering, Reverse};
use std::path::Path;
use std::sync::Arc;

use base::coding::Reader;
use esker::{Comparator, Db, Options, WriteOptions};
use mvcc::{BatchOptions, MvccComparator, MvccKey, MvccStore, Span, Timestamp, Value};
use vfs::MemFs;

/// The most keys that are compared with each other.
const MOST_KEYS: usize = 12;

/// The expected order of keys: user keys as bytes; for each user key first the entry without a version, then
/// the newest.
fn order_of<'a>(key: &MvccKey<'a>) -> (&'a [u8], bool, Reverse<Timestamp>) {
    (key.user_key, !key.timestamp.is_zero(), Reverse(key.timestamp))
}

fn timestamp(reader: &mut Reader<'_>) -> Option<Timestamp> {
    let timestamp = Timestamp {
        wall: reader.u64("wall").ok()? as i64,
        logical: reader.u32("logical").ok()? as i32,
    };
    (timestamp.is_zero() || timestamp.check().is_ok()).then_some(timestamp)
}

/// The input as a key; as keys of length-prefixed user keys and times, whose order must be the expected one;
/// and as bytes that are not keys, which must be ordered all the same.
pub fn mvcc_key(data: &[u8]) {
    let (prefix, suffix) = mvcc::split(data);
    assert_eq!([prefix, suffix].concat(), data);
    match MvccKey::decode(data) {
        Ok(key) => {
            assert_eq!(key.encode(), data, "a key that decodes is the one that encodes");
            assert_eq!(mvcc::decode_suffix(suffix), Some(key.timestamp));
        }
        Err(error) => assert!(error.to_string().len() < 500, "an error shows some of the key"),
    }
    let mut reader = Reader::new(data);
    let mut keys = Vec::new();
    while keys.len() < MOST_KEYS
        && let Ok(user_key) = reader.length_prefixed("user key")
        && let Some(timestamp) = timestamp(&mut reader)
    {
        keys.push(MvccKey { user_key, timestamp });
    }
    for a in &keys {
        let encoded = a.encode();
        assert_eq!(MvccKey::decode(&encoded).expect("what was encoded decodes"), *a);
        let mut successor = encoded.clone();
        MvccComparator.shorten_successor(&mut successor);
        assert!(MvccComparator.compare(&encoded, &successor).is_le());
        for b in &keys {
            let limit = b.encode();
            let order = MvccComparator.compare(&encoded, &limit);
            assert_eq!(order, order_of(a).cmp(&order_of(b)), "{a:?} {b:?}");
            assert_eq!(order.is_eq(), encoded == limit, "equal keys are equal bytes");
            if order.is_lt() {
                let mut separator = encoded.clone();
                MvccComparator.shorten_separator(&mut separator, &limit);
                assert!(MvccComparator.compare(&encoded, &separator).is_le());
                assert!(MvccComparator.compare(&separator, &limit).is_lt());
                assert!(MvccKey::decode(&separator).is_ok());
            }
        }
    }
    let third = data.len() / 3;
    let mut any = [&data[..third], &data[third..2 * third], &data[2 * third..]];
    any.sort_by(|a, b| MvccComparator.compare(a, b));
    for (a, b) in [(0, 1), (1, 2), (0, 2)] {
        let order = MvccComparator.compare(any[a], any[b]);
        assert_eq!(order.reverse(), MvccComparator.compare(any[b], any[a]));
        assert!(order.is_lt() || order == Ordering::Equal && any[a] == any[b]);
    }
}

/// A user key whose length is the first byte, and a stored value.
pub fn mvcc_value(data: &[u8]) {
    let Some((&len, rest)) = data.split_first() else {
        return;
    };
    let (user_key, stored) = rest.split_at(rest.len().min(usize::from(len)));
    let _ = mvcc::is_tombstone(stored);
    let checked = Value::decode_checked(stored, user_key);
    let Ok(value) = Value::decode(stored) else {
        assert!(checked.is_err());
        return;
    };
    for checksum in [false, true] {
        let mut again = Vec::new();
        value.encode(&mut again, user_key, checksum);
        assert!(again.len() <= stored.len(), "the shortest form is the shortest");
        let decoded = Value::decode_checked(&again, user_key);
        assert_eq!(decoded.expect("what was encoded decodes"), value);
        assert!(!mvcc::is_tombstone(&again));
    }
    if let Ok(checked) = checked {
        assert_eq!(checked, value);
    }
}

thread_local! {
    static FAMILY: Db = open();
    static WRITTEN: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

fn open() -> Db {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    mvcc::configure(&mut options.column_family);
    Db::open(&options, Path::new("/db")).expect("a database in memory")
}

/// Replaces the rows in a family of versioned keys by `rows`, and then calls `look`.
fn with_rows(rows: &[(Vec<u8>, &[u8])], look: impl FnOnce(&Db)) {
    FAMILY.with(|db| {
        let mut batch = esker::WriteBatch::new();
        WRITTEN.with_borrow_mut(|written| {
            written.drain(..).for_each(|key| batch.delete(&key));
            // `look` may have written this row.
            batch.delete(RECORD);
            for (key, value) in rows {
                batch.put(key, value);
                written.push(key.clone());
            }
        });
        let write = WriteOptions {
            disable_wal: true,
            ..WriteOptions::default()
        };
        db.write_opt(batch, &write).expect("a write to memory");
        look(db);
    });
}

/// The key of a store's record.
const RECORD: &[u8] = &[0];
const NOW: i64 = 1_700_000_000_000_000_000;

/// A store's record: if it opens, its contents must be possible.
pub fn mvcc_record(data: &[u8]) {
    with_rows(&[(RECORD.to_vec(), data)], |db| {
        let family = db.default_column_family();
        for statistics in [true, false] {
            let options = BatchOptions {
                statistics,
                ..BatchOptions::default()
            };
            let Ok(store) = MvccStore::open(db, &family, options, NOW) else {
                continue;
            };
            assert!(store.threshold() >= Timestamp::ZERO && store.threshold().logical >= 0);
            assert_eq!(store.stats(NOW).is_some(), statistics);
            for now in [0, NOW, i64::MAX, i64::MIN] {
                let _ = store.stats(now);
            }
            let batch = store.begin(NOW);
            let threshold = store.threshold();
            assert!(batch.get(b"key", threshold, &Default::default()).is_err());
            drop(batch);
            let repaired = store.repair_stats(NOW).expect("a write to memory");
            assert!(repaired.is_zero(), "the family is empty");
            let again = MvccStore::open(db, &family, options, NOW).expect("the record that was written");
            assert_eq!(again.threshold(), threshold);
        }
    });
}

/// The spans of a row of range tombstones; `None` if the row must be refused.
fn spans_of(row: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut reader = Reader::new(row);
    if reader.u8("version").ok()? != 1 {
        return None;
    }
    let mut spans: Vec<(&[u8], &[u8])> = Vec::new();
    while !reader.is_empty() {
        let start = reader.length_prefixed("start").ok()?;
        let end = reader.length_prefixed("end").ok()?;
        let is_behind = spans.last().is_none_or(|(_, before)| *before < start);
        if start >= end || !is_behind {
            return None;
        }
        spans.push((start, end));
    }
    (!spans.is_empty()).then_some(spans)
}

/// Rows of range tombstones, length-prefixed, at consecutive times: they delete exactly their spans, or are
/// refused.
pub fn mvcc_ranges(data: &[u8]) {
    let mut reader = Reader::new(data);
    let mut rows = Vec::new();
    while rows.len() < 4
        && let Ok(row) = reader.length_prefixed("row")
    {
        let key = MvccKey {
            user_key: b"",
            timestamp: Timestamp::from_nanos(rows.len() as i64 + 1),
        };
        rows.push((key.encode(), row));
    }
    let spans: Option<Vec<_>> = rows.iter().map(|(_, row)| spans_of(row)).collect();
    with_rows(&rows, |db| {
        let family = db.default_column_family();
        let read = mvcc::Reader::new(db, &family).with_range_tombstones();
        assert_eq!(read.is_ok(), spans.is_some());
        let (Ok(reader), Some(spans)) = (read, spans) else {
            return;
        };
        // Versions of a key are ordered from the newest to the oldest.
        let deleted = |key: &[u8]| -> Vec<Timestamp> {
            let rows = spans.iter().enumerate().rev();
            let over = rows.filter(|(_, spans)| spans.iter().any(|(start, end)| *start <= key && key < *end));
            over.map(|(at, _)| Timestamp::from_nanos(at as i64 + 1)).collect()
        };
        let found = reader.range_tombstones(Span::ALL, Timestamp::ZERO, Timestamp::MAX);
        let found = found.expect("a window of all times");
        let mut end: &[u8] = b"";
        for tombstone in &found {
            assert!(end <= &tombstone.start[..] && tombstone.start < tombstone.end);
            assert_eq!(tombstone.timestamps, deleted(&tombstone.start));
            end = &tombstone.end;
        }
        for (start, end) in spans.iter().flatten() {
            for bound in [start, end] {
                let over = found
                    .iter()
                    .find(|tombstone| &tombstone.start[..] <= *bound && *bound < &tombstone.end[..]);
                let times = over.map_or(&[][..], |tombstone| &tombstone.timestamps);
                assert_eq!(times, deleted(bound));
            }
        }
        let scanned = reader.scan(Span::ALL, Timestamp::MAX, &Default::default());
        assert!(scanned.expect("a read of memory").rows.is_empty());
    });
}
