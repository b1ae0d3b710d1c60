use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use base::internal_key::{self, encode, pack_trailer, trailer, user_key};
use base::{Comparator, Cursor, InternalComparator, Kind, MAX_SEQNO, SeqNo, UserComparator};
use testkit::TestRng;

use crate::{FilterOptions, Memtable, MemtableOptions};

fn memtable(cmp: UserComparator, options: MemtableOptions) -> Arc<Memtable> {
    Arc::new(Memtable::new(InternalComparator::new(cmp), options))
}

fn bytewise() -> Arc<Memtable> {
    memtable(UserComparator::Bytewise, MemtableOptions::default())
}

/// All entries that `get` visits.
fn versions(table: &Memtable, user_key: &[u8], snapshot: SeqNo) -> Vec<(SeqNo, Kind, Vec<u8>)> {
    let mut out = Vec::new();
    table
        .get(user_key, snapshot, |seqno, kind, value| {
            out.push((seqno, kind, value.to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
    out
}

#[test]
fn get_visits_what_the_snapshot_sees_newest_first_until_it_breaks() {
    let table = bytewise();
    assert!(table.add(1, Kind::Value, b"a", b"one"));
    assert!(table.add(3, Kind::Merge, b"a", b"three"));
    assert!(table.add(2, Kind::Deletion, b"a", b""));
    assert!(table.add(4, Kind::Value, b"ab", b"other"));
    assert!(table.add(5, Kind::Value, b"", b"empty key"));
    let all = [
        (3, Kind::Merge, b"three".to_vec()),
        (2, Kind::Deletion, vec![]),
        (1, Kind::Value, b"one".to_vec()),
    ];
    for snapshot in [3, 4, MAX_SEQNO, u64::MAX] {
        assert_eq!(versions(&table, b"a", snapshot), all);
    }
    assert_eq!(versions(&table, b"a", 2), all[1..]);
    assert_eq!(versions(&table, b"a", 0), []);
    assert_eq!(
        versions(&table, b"", 5),
        [(5, Kind::Value, b"empty key".to_vec())]
    );
    assert_eq!(versions(&table, b"b", 9), []);
    assert_eq!(versions(&table, b"a\0", 9), []);
    let mut visits = 0;
    table
        .get(b"a", 9, |_, _, _| {
            visits += 1;
            ControlFlow::Break(())
        })
        .unwrap();
    assert_eq!(visits, 1);
}

#[test]
fn it_knows_whether_something_was_written_over_a_range_tombstone() {
    let table = bytewise();
    table.add(1, Kind::Value, b"b", b"");
    table.add(5, Kind::RangeDeletion, b"a", b"m");
    table.add(6, Kind::Value, b"m", b"");
    assert!(!table.has_entries_over(5, MAX_SEQNO), "beside it");
    table.add(8, Kind::Deletion, b"c", b"");
    assert!(table.has_entries_over(5, MAX_SEQNO) && table.has_entries_over(5, 8));
    assert!(!table.has_entries_over(5, 7), "not seen");
    table.add(9, Kind::RangeDeletion, b"a", b"z");
    assert!(!table.has_entries_over(9, MAX_SEQNO), "all of it is older");
    assert!(table.has_entries_over(5, MAX_SEQNO));

    // After an addition out of order the answer is unknown.
    let table = bytewise();
    table.add(8, Kind::Value, b"b", b"");
    table.add(5, Kind::RangeDeletion, b"a", b"m");
    assert!(table.has_entries_over(5, 8));
    // The answer is unknown, too, if keys have timestamps.
    let table = memtable(UserComparator::BytewiseU64Ts, MemtableOptions::default());
    let stamped = |key: &[u8]| [key, &[1, 0, 0, 0, 0, 0, 0, 0]].concat();
    table.add(5, Kind::RangeDeletion, &stamped(b"a"), &stamped(b"m"));
    table.add(6, Kind::Value, &stamped(b"z"), b"");
    assert!(table.has_entries_over(5, MAX_SEQNO));
}

#[test]
fn a_key_and_sequence_number_is_taken_once() {
    let table = bytewise();
    assert!(table.add(7, Kind::Value, b"k", b"first"));
    assert!(!table.add(7, Kind::Value, b"k", b"second"));
    assert!(!table.add(7, Kind::Deletion, b"k", b""));
    assert!(!table.add(7, Kind::ValuePreferredSeqno, b"k", b""));
    assert!(table.add(8, Kind::Deletion, b"k", b""));
    assert!(!table.add(8, Kind::Value, b"k", b""));
    assert!(table.add(7, Kind::Value, b"k\0", b""));
    assert_eq!(
        versions(&table, b"k", 9),
        [(8, Kind::Deletion, vec![]), (7, Kind::Value, b"first".to_vec())]
    );
    assert_eq!((table.num_entries(), table.num_deletes()), (3, 1));
    // A key is also found again if its node has just become full.
    for i in 0..100u8 {
        assert!(table.add(1, Kind::Value, &[i], b""));
        assert!(!table.add(1, Kind::Value, &[i], b""));
    }
}

#[test]
fn counts_are_of_what_was_added() {
    let table = bytewise();
    assert!(table.is_empty());
    assert_eq!(
        (table.first_seqno(), table.num_entries(), table.data_size()),
        (None, 0, 0)
    );
    table.add(9, Kind::Value, b"key", b"value");
    table.add(8, Kind::SingleDeletion, b"key", b"");
    assert_eq!(
        (table.first_seqno(), table.num_entries(), table.num_deletes()),
        (Some(8), 2, 1)
    );
    assert_eq!(table.data_size(), 3 + 8 + 5 + 3 + 8);
    assert!(table.add(4, Kind::RangeDeletion, b"a", b"m"));
    assert_eq!((table.num_range_deletes(), table.num_entries()), (1, 2));
    assert_eq!(table.range_tombstones().covering_seqno(b"key", MAX_SEQNO), 4);
    assert_eq!(table.first_seqno(), Some(4));
    assert_eq!(versions(&table, b"a", MAX_SEQNO), []);

    let table = bytewise();
    table.add(1, Kind::RangeDeletion, b"a", b"m");
    assert!(!table.is_empty());
}

#[test]
fn memory_is_what_was_taken_and_small_tables_take_little() {
    let table = bytewise();
    assert!(table.memory_usage() <= 4 << 10);
    table.add(1, Kind::Value, b"k", b"v");
    assert!(table.memory_usage() <= 8 << 10);
    let mut written = 0;
    for seqno in 2..20_000 {
        table.add(seqno, Kind::Value, &seqno.to_be_bytes(), &[7; 200]);
        written += 8 + 8 + 200;
    }
    let usage = table.memory_usage();
    assert!(
        (written..written * 5 / 4 + (4 << 20)).contains(&usage),
        "{usage} for {written}"
    );
    // An entry too large for a block takes just its own size, and leaves the block to others.
    table.add(MAX_SEQNO, Kind::Value, b"large", &vec![1; 5 << 20]);
    assert_eq!(table.memory_usage(), usage + (5 << 20) + (2 + 8 + 5 + 8 + 1));
    let allocated = table.memory_allocated();
    table.add(MAX_SEQNO - 1, Kind::Value, b"small", b"");
    assert_eq!(table.memory_allocated(), allocated);
    assert!(table.memory_usage() <= allocated && allocated <= table.memory_usage() + (2 << 20));
}

/// Lengths, key, sequence number and value are 126 bytes. The rest of the memory is nodes, of which few are
/// unused.
#[test]
fn a_row_takes_few_bytes_more_than_it_has() {
    let mut rng = testkit::rng();
    let count = 350_000u64;
    let ascending: Vec<u64> = (0..count).collect();
    let mut shuffled = ascending.clone();
    for i in (1..shuffled.len()).rev() {
        shuffled.swap(i, rng.usize(0..=i));
    }
    let binary = |key: u64| [key.to_be_bytes(), *b"00000000"].concat();
    let decimal = |key: u64| format!("{key:016}").into_bytes();
    let key_of: [&dyn Fn(u64) -> Vec<u8>; 2] = [&binary, &decimal];
    let overwritten = (0..count).map(|_| rng.u64(0..count)).collect();
    for (order, most) in [(&ascending, 138), (&shuffled, 150), (&overwritten, 150)] {
        for key_of in key_of {
            let table = bytewise();
            for (seqno, &key) in (1..).zip(order) {
                assert!(table.add(seqno, Kind::Value, &key_of(key), &[7; 100]));
            }
            let used = table.memory_usage() as u64;
            assert!((count * 126..count * most).contains(&used), "{used}");
        }
    }
}

#[test]
fn values_may_be_pinned_beyond_the_table() {
    let table = bytewise();
    table.add(1, Kind::Value, b"k", b"value");
    let mut pinned = None;
    table
        .get(b"k", 1, |_, _, value| {
            assert_eq!((value.user_key(), value.bytes()), (&b"k"[..], &b"value"[..]));
            pinned = Some(value.pin(&table));
            ControlFlow::Break(())
        })
        .unwrap();
    let mut cursor = table.cursor();
    cursor.seek_to_first();
    let other = cursor.pin_value();
    assert!(Arc::ptr_eq(other.table(), cursor.table()));
    drop((table, cursor));
    let pinned = pinned.unwrap();
    thread::spawn(move || assert_eq!(&*pinned, b"value"))
        .join()
        .unwrap();
    assert_eq!(&*other.clone(), b"value");
}

#[test]
#[should_panic(expected = "its own memtable")]
fn values_are_not_pinned_through_another_table() {
    let (one, other) = (bytewise(), bytewise());
    one.add(1, Kind::Value, b"k", b"v");
    one.get(b"k", 1, |_, _, value| {
        value.pin(&other);
        ControlFlow::Break(())
    })
    .unwrap();
}

/// In reverse order of the last byte, then in order of the rest: not a built-in order, and one without
/// information.
struct LastByteFirst;

impl Comparator for LastByteFirst {
    fn name(&self) -> &str {
        "last byte first"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        b.last().cmp(&a.last()).then_with(|| a.cmp(b))
    }
}

/// In reverse order of the last two bytes, after the rest.
struct EndsBackwards;

impl Comparator for EndsBackwards {
    fn name(&self) -> &str {
        "ends backwards"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        let parts = |key| self.leading_parts(key).unwrap();
        parts(a).cmp(&parts(b)).then_with(|| a.cmp(b))
    }
    fn leading_parts<'a>(&self, key: &'a [u8]) -> Option<(&'a [u8], u64)> {
        let (leading, end) = key.split_at(key.len().saturating_sub(2));
        Some((
            leading,
            end.first_chunk()
                .map_or(0, |end| !u64::from(u16::from_be_bytes(*end))),
        ))
    }
}

fn orders() -> [UserComparator; 6] {
    [
        UserComparator::Bytewise,
        UserComparator::ReverseBytewise,
        UserComparator::BytewiseU64Ts,
        UserComparator::ReverseBytewiseU64Ts,
        UserComparator::Custom(Arc::new(LastByteFirst)),
        UserComparator::Custom(Arc::new(EndsBackwards)),
    ]
}

/// Similar keys: shared beginnings, prefixes of one another, zeros, all lengths around eight.
fn random_key(rng: &mut TestRng, timestamp: usize) -> Vec<u8> {
    let start: &[u8] = [&b""[..], b"abcdefg", b"abcdefgh", b"abcdefghijklmnopq"][rng.usize(0..4)];
    let mut key = start.to_vec();
    let len = rng.usize(0..4);
    key.extend((0..len).map(|_| *rng.pick(&[0, 1, b'a', 0xff])));
    if timestamp > 0 {
        key.extend(rng.u64(0..4).to_le_bytes());
    }
    key
}

/// A key of a `BTreeMap` that an internal comparator orders.
struct Ordered(InternalComparator, Vec<u8>);

impl PartialEq for Ordered {
    fn eq(&self, other: &Ordered) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Ordered {}
impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Ordered) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ordered {
    fn cmp(&self, other: &Ordered) -> std::cmp::Ordering {
        self.0.compare(&self.1, &other.1)
    }
}

fn random_filter(rng: &mut TestRng) -> Option<FilterOptions> {
    let extractor = *rng.pick(&["fixed:2", "capped:3", "noop", "none"]);
    rng.bool().then(|| FilterOptions {
        bytes: rng.usize(1..4000),
        whole_keys: rng.bool(),
        prefix_extractor: base::prefix::builtin(extractor),
    })
}

/// Rows are added one after the other; a reader finds all that were added before.
#[test]
fn a_vector_is_sorted_for_whoever_reads() {
    const ROWS: u64 = 20_000;
    let table = memtable(
        UserComparator::Bytewise,
        MemtableOptions {
            vector: Some(10),
            ..MemtableOptions::default()
        },
    );
    let key = |row: u64| row.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    let added = AtomicU64::new(0);
    thread::scope(|scope| {
        for reader in 0..3 {
            let (table, added) = (&table, &added);
            scope.spawn(move || {
                let mut rng = base::env::Rng::with_seed(reader);
                loop {
                    let upto = added.load(Ordering::Acquire);
                    if upto > 0 {
                        let row = rng.u64(..upto);
                        assert_eq!(
                            versions(table, &key(row), MAX_SEQNO).len(),
                            1,
                            "row {row} of {upto}"
                        );
                    }
                    if upto == ROWS {
                        break;
                    }
                }
            });
        }
        for row in 0..ROWS {
            assert!(table.add(row + 1, Kind::Value, &key(row), b"value"));
            added.store(row + 1, Ordering::Release);
        }
    });
    let mut cursor = table.cursor();
    cursor.seek_to_first();
    let mut keys: Vec<[u8; 8]> = (0..ROWS).map(key).collect();
    keys.sort_unstable();
    for key in keys {
        assert_eq!(user_key(cursor.key()), key);
        cursor.next();
    }
    assert!(!cursor.valid() && table.num_entries() == ROWS);
}

/// Threads that fill lines together do not lose each other's bits.
#[test]
fn threads_fill_a_filter_together() {
    let table = memtable(
        UserComparator::Bytewise,
        MemtableOptions {
            filter: Some(FilterOptions {
                bytes: 4096,
                whole_keys: true,
                prefix_extractor: None,
            }),
            ..MemtableOptions::default()
        },
    );
    let key = |thread: u32, number: u32| [thread.to_be_bytes(), number.to_be_bytes()].concat();
    let start = std::sync::Barrier::new(4);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (table, start) = (&table, &start);
            scope.spawn(move || {
                start.wait();
                for number in 0..2000 {
                    table.add(1, Kind::Value, &key(thread, number), b"");
                }
            });
        }
    });
    for (thread, number) in (0..4).flat_map(|thread| (0..2000).map(move |number| (thread, number))) {
        assert_eq!(table.may_contain(&key(thread, number)), Some(true));
    }
    assert!(table.memory_usage() > 4096 + 8000 * 8);
}

#[test]
fn it_answers_as_a_sorted_map_would() {
    let mut rng = testkit::rng();
    for order in orders() {
        let cmp = InternalComparator::new(order.clone());
        let timestamp = order.timestamp_size();
        for entries in [0, 1, 10, 100, 1000] {
            let vector = *rng.pick(&[None, Some(0), Some(300), Some(usize::MAX)]);
            let table = memtable(
                order.clone(),
                MemtableOptions {
                    arena_block_size: *rng.pick(&[1, 4 << 10, 1 << 20]),
                    huge_pages: rng.bool(),
                    protection_bytes_per_key: *rng.pick(&[0, 0, 1, 2, 4, 8]),
                    verify_on_seek: rng.bool(),
                    check_order: rng.bool(),
                    filter: random_filter(&mut rng),
                    vector,
                },
            );
            let mut model = BTreeMap::new();
            for _ in 0..entries {
                let key = random_key(&mut rng, timestamp);
                let seqno = rng.u64(1..50);
                let kind = *rng.pick(&[Kind::Value, Kind::Deletion, Kind::Merge]);
                let len = *rng.pick(&[0, 1, 20, 3000]);
                let value = rng.bytes(len);
                let taken = model.keys().any(|Ordered(_, other): &Ordered| {
                    user_key(other) == key && internal_key::seqno(other) == seqno
                });
                if vector.is_some() && taken {
                    // The memtable already has an entry with this key and sequence number, which no filter
                    // excludes.
                    continue;
                }
                assert_eq!(table.add(seqno, kind, &key, &value), !taken);
                if rng.u8(..30) == 0 {
                    let newest = versions(&table, &key, seqno).into_iter().next();
                    assert_eq!(newest.unwrap().0, seqno);
                }
                if !taken {
                    model.insert(Ordered(cmp.clone(), encode(&key, seqno, kind)), value);
                }
            }
            let expected: Vec<_> = model.into_iter().map(|(key, value)| (key.1, value)).collect();
            assert_eq!(table.num_entries(), expected.len() as u64);
            for _ in 0..100 {
                let key = random_key(&mut rng, timestamp);
                let snapshot = rng.u64(0..55);
                let seen: Vec<_> = expected
                    .iter()
                    .filter(|(other, _)| {
                        order.compare_without_timestamp(user_key(other), &key).is_eq()
                            && order.compare(user_key(other), &key).is_ge()
                            && internal_key::seqno(other) <= snapshot
                    })
                    .map(|(other, value)| {
                        let kind = Kind::from_byte(trailer(other) as u8).unwrap();
                        (internal_key::seqno(other), kind, value.clone())
                    })
                    .collect();
                assert_eq!(versions(&table, &key, snapshot), seen);
            }
            if let UserComparator::Custom(_) = order {
                continue;
            }
            testkit::check_cursor(|| table.cursor(), &expected, &cmp, rng.seed());
        }
    }
}

#[test]
fn cursors_of_a_custom_order_conform() {
    let mut rng = testkit::rng();
    let orders: [Arc<dyn Comparator>; 2] = [Arc::new(LastByteFirst), Arc::new(EndsBackwards)];
    for order in orders.map(UserComparator::Custom) {
        let table = memtable(order.clone(), MemtableOptions::default());
        let cmp = InternalComparator::new(order);
        let mut expected = Vec::new();
        for seqno in 1..500 {
            let key = random_key(&mut rng, 0);
            table.add(seqno, Kind::Value, &key, &seqno.to_le_bytes());
            expected.push((encode(&key, seqno, Kind::Value), seqno.to_le_bytes().to_vec()));
        }
        expected.sort_by(|a, b| cmp.compare(&a.0, &b.0));
        testkit::check_cursor(|| table.cursor(), &expected, &cmp, rng.seed());
    }
}

/// Versions of some keys as versioned stores have them, written key by key or interleaved: searches and walks
/// find every one.
#[test]
fn keys_with_numbers_at_their_ends_are_found() {
    let mut rng = testkit::rng();
    let order = UserComparator::Custom(Arc::new(EndsBackwards));
    let cmp = InternalComparator::new(order.clone());
    for by_key in [true, false] {
        for keys in [1, 2, 40] {
            let table = memtable(order.clone(), MemtableOptions::default());
            let mut expected = Vec::new();
            let mut seqno = 0;
            for at in 0..keys * 200u16 {
                let (key, version) = if by_key {
                    (at / 200, at % 200)
                } else {
                    (at % keys, at / keys)
                };
                let mut bytes = vec![b'k'; usize::from(key % 7)];
                bytes.extend(key.to_be_bytes());
                bytes.extend((3 * version + 1).to_be_bytes());
                seqno += 1;
                assert!(table.add(seqno, Kind::Value, &bytes, b"value"));
                expected.push(encode(&bytes, seqno, Kind::Value));
            }
            expected.sort_by(|a, b| cmp.compare(a, b));
            let mut cursor = table.cursor();
            cursor.seek_to_first();
            for key in &expected {
                assert_eq!(cursor.key(), key);
                cursor.next();
            }
            assert!(!cursor.valid());
            for _ in 0..3000 {
                let picked: &Vec<u8> = rng.pick(&expected);
                let mut target = user_key(picked).to_vec();
                if rng.bool() {
                    let at = rng.usize(..target.len());
                    target[at] = target[at].wrapping_add(rng.u8(..3)).wrapping_sub(1);
                }
                let target = encode(&target, rng.u64(..2 * seqno), Kind::Value);
                let first = expected.partition_point(|key| cmp.compare(key, &target).is_lt());
                cursor.seek(&target);
                let found = cursor.valid().then(|| cursor.key());
                assert_eq!(found, expected.get(first).map(Vec::as_slice));
            }
        }
    }
}

#[test]
fn keys_in_any_order_make_the_same_table() {
    let mut rng = testkit::rng();
    let keys: Vec<[u8; 8]> = (0..3000u64).map(u64::to_be_bytes).collect();
    let expected: Vec<Vec<u8>> = keys.iter().map(|key| encode(key, 1, Kind::Value)).collect();
    let mut shuffled = keys.clone();
    rng.shuffle(&mut shuffled);
    let interleaved: Vec<[u8; 8]> = (0..keys.len()).map(|i| keys[i % 3 * 1000 + i / 3]).collect();
    let backwards: Vec<[u8; 8]> = keys.iter().rev().copied().collect();
    for order in [keys.clone(), backwards, interleaved, shuffled] {
        let table = bytewise();
        for key in &order {
            assert!(table.add(1, Kind::Value, key, key));
        }
        let mut cursor = table.cursor();
        let mut seen = Vec::new();
        cursor.seek_to_first();
        while cursor.valid() {
            assert_eq!(cursor.value(), user_key(cursor.key()));
            seen.push(cursor.key().to_vec());
            cursor.next();
        }
        assert_eq!(seen, expected);
        cursor.seek_to_last();
        while cursor.valid() {
            assert_eq!(Some(cursor.key().to_vec()), seen.pop());
            cursor.prev();
        }
        assert!(seen.is_empty());
    }
}

#[test]
fn keys_in_order_fill_their_leaves() {
    let ascending = bytewise();
    let descending = bytewise();
    for i in 0..60u8 {
        ascending.add(1, Kind::Value, &[i], b"");
        descending.add(1, Kind::Value, &[60 - i], b"");
    }
    assert_eq!(ascending.tree().shape(), "[13! 13! 13! 13! 8]");
    assert_eq!(descending.tree().shape(), "[8 13! 13! 13! 13!]");
}

#[test]
fn readers_see_all_that_was_added_before_they_looked() {
    const WRITERS: u64 = 2;
    const EACH: u64 = 8_000;
    let seed = testkit::rng().seed();
    for shared in [&b""[..], b"a beginning that all keys share"] {
        let table = bytewise();
        // The number of entries of each writer that were certainly added before.
        let done: [AtomicU64; WRITERS as usize] = Default::default();
        let key_of = |writer: u64, i: u64| {
            // Neighbours in the order come from different writers at different times.
            let mixed = (i * WRITERS + writer).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            [shared, &mixed.to_be_bytes()].concat()
        };
        let finished = AtomicBool::new(false);
        thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let (table, done) = (&table, &done);
                    scope.spawn(move || {
                        for i in 0..EACH {
                            let key = key_of(writer, i);
                            assert!(table.add(i * WRITERS + writer + 1, Kind::Value, &key, &key));
                            done[writer as usize].store(i + 1, Ordering::Release);
                        }
                    })
                })
                .collect();
            for reader in 0..2 {
                let (table, done, finished) = (&table, &done, &finished);
                scope.spawn(move || {
                    let mut rng = TestRng::with_seed(seed + reader);
                    while !finished.load(Ordering::Relaxed) {
                        let writer = rng.u64(0..WRITERS);
                        let there = done[writer as usize].load(Ordering::Acquire);
                        if there == 0 {
                            continue;
                        }
                        let key = key_of(writer, rng.u64(there.saturating_sub(50)..there));
                        match versions(table, &key, MAX_SEQNO).as_slice() {
                            [(_, Kind::Value, value)] => assert_eq!(*value, key),
                            other => panic!("{other:?}"),
                        }
                        let mut cursor = table.cursor();
                        let target = encode(&key, MAX_SEQNO, Kind::Value);
                        cursor.seek(&target);
                        assert_eq!(user_key(cursor.key()), key);
                        let mut last = cursor.key().to_vec();
                        for _ in 0..rng.u32(0..40) {
                            cursor.next();
                            if !cursor.valid() {
                                break;
                            }
                            assert!(user_key(cursor.key()) > user_key(&last));
                            assert_eq!(cursor.value(), user_key(cursor.key()));
                            last = cursor.key().to_vec();
                        }
                        cursor.seek_for_prev(&last);
                        assert_eq!(cursor.key(), last);
                        for _ in 0..rng.u32(0..40) {
                            cursor.prev();
                            if !cursor.valid() {
                                break;
                            }
                            assert!(user_key(cursor.key()) < user_key(&last));
                            last = cursor.key().to_vec();
                        }
                    }
                });
            }
            let results: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
            finished.store(true, Ordering::Relaxed);
            results.into_iter().for_each(|result| result.unwrap());
        });
        assert_eq!(table.num_entries(), WRITERS * EACH);
        let mut cursor = table.cursor();
        cursor.seek_to_first();
        let mut count = 0;
        let mut last: Option<Vec<u8>> = None;
        while cursor.valid() {
            assert!(last.is_none_or(|last| user_key(cursor.key()) > &last[..]));
            last = Some(user_key(cursor.key()).to_vec());
            count += 1;
            cursor.next();
        }
        assert_eq!(count, WRITERS * EACH);
    }
}

#[test]
fn each_thread_finds_what_it_added_whatever_the_others_do() {
    const THREADS: u64 = 3;
    const EACH: u64 = 4_000;
    let seed = testkit::rng().seed();
    fn ascending(thread: u64, i: u64) -> u64 {
        i * THREADS + thread
    }
    type Pattern = dyn Fn(&mut TestRng, u64, u64) -> u64 + Sync;
    let patterns: [&Pattern; 4] = [
        &|rng, _, _| rng.u64(..),
        &|rng, _, _| rng.u64(0..500),
        &|_, thread, i| ascending(thread, i),
        &|_, thread, i| u64::MAX - ascending(thread, i),
    ];
    for pattern in patterns {
        let table = bytewise();
        let last_seqno = AtomicU64::new(0);
        thread::scope(|scope| {
            for number in 0..THREADS {
                let (table, last_seqno) = (&table, &last_seqno);
                scope.spawn(move || {
                    let mut rng = TestRng::with_seed(seed ^ number);
                    let mut cursor = table.cursor();
                    let mut mine = Vec::new();
                    for i in 0..EACH {
                        let key = pattern(&mut rng, number, i).to_be_bytes();
                        let seqno = last_seqno.fetch_add(1, Ordering::Relaxed) + 1;
                        assert!(table.add(seqno, Kind::Value, &key, &seqno.to_le_bytes()));
                        mine.push((key, seqno));
                        let (key, seqno) = mine[rng.usize(mine.len().saturating_sub(20)..mine.len())];
                        let newest = versions(table, &key, seqno).swap_remove(0);
                        assert_eq!(newest, (seqno, Kind::Value, seqno.to_le_bytes().to_vec()));
                        if i % 32 == 0 {
                            let target = encode(&key, seqno, Kind::Value);
                            cursor.seek(&target);
                            assert_eq!(cursor.key(), target);
                            cursor.seek_for_prev(&target);
                            assert_eq!(cursor.key(), target);
                        }
                    }
                    let mut expected: Vec<_> = mine
                        .iter()
                        .map(|(key, seqno)| encode(key, *seqno, Kind::Value))
                        .collect();
                    expected.sort_by(|a, b| table.comparator().compare(a, b));
                    let mut left = expected.iter().peekable();
                    cursor.seek_to_first();
                    while cursor.valid() {
                        left.next_if(|key| **key == cursor.key());
                        cursor.next();
                    }
                    assert_eq!(left.next(), None);
                    let mut left = expected.iter().rev().peekable();
                    cursor.seek_to_last();
                    while cursor.valid() {
                        left.next_if(|key| **key == cursor.key());
                        cursor.prev();
                    }
                    assert_eq!(left.next(), None);
                });
            }
        });
        assert_eq!(table.num_entries(), THREADS * EACH);
    }
}

#[test]
fn of_two_threads_adding_one_entry_one_succeeds() {
    const KEYS: u64 = 4_096;
    let table = bytewise();
    let added = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for i in 0..KEYS {
                    let key = (i ^ 0x55).to_be_bytes();
                    if table.add(1, Kind::Value, &key, &key) {
                        added.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!((added.into_inner(), table.num_entries()), (KEYS, KEYS));
    let mut cursor = table.cursor();
    cursor.seek_to_first();
    for i in 0..KEYS {
        assert_eq!(cursor.key(), encode(&i.to_be_bytes(), 1, Kind::Value));
        cursor.next();
    }
    assert!(!cursor.valid());
}

#[test]
fn one_thread_may_write_to_many_tables_in_turn() {
    let tables: Vec<_> = (0..6).map(|_| bytewise()).collect();
    for i in 0..2000u64 {
        let table = &tables[i as usize % tables.len()];
        assert!(table.add(i + 1, Kind::Value, &(i ^ 0xff).to_be_bytes(), b""));
    }
    for table in &tables {
        let mut cursor = table.cursor();
        cursor.seek_to_first();
        let mut keys = Vec::new();
        while cursor.valid() {
            keys.push(cursor.key().to_vec());
            cursor.next();
        }
        assert_eq!(keys.len() as u64, table.num_entries());
        assert!(keys.is_sorted());
    }
}

#[test]
fn cursors_take_targets_that_are_no_entries_keys() {
    let table = bytewise();
    table.add(5, Kind::Value, b"m", b"");
    let mut cursor = table.cursor();
    for (trailer, forwards, backwards) in [
        (u64::MAX, true, false),
        (pack_trailer(5, Kind::Merge as u8), true, false),
        (pack_trailer(5, Kind::Value as u8), true, true),
        (pack_trailer(5, Kind::Deletion as u8), false, true),
        (0, false, true),
    ] {
        let target = [&b"m"[..], &trailer.to_le_bytes()].concat();
        cursor.seek(&target);
        assert_eq!(cursor.valid(), forwards);
        cursor.seek_for_prev(&target);
        assert_eq!(cursor.valid(), backwards);
    }
    cursor.status().unwrap();
}
