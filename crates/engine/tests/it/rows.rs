//! Ranges of rows as Rust iterators, against a sorted map.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use esker::{ColumnFamilyOptions, Db, ErrorKind, Options, ReadOptions, UserComparator, WriteBatch};
use testkit::TestRng;
use vfs::MemFs;

type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

fn options(comparator: UserComparator) -> Options {
    Options {
        create_if_missing: true,
        fs: std::sync::Arc::new(MemFs::new()),
        column_family: ColumnFamilyOptions {
            comparator,
            ..ColumnFamilyOptions::default()
        },
        ..Options::default()
    }
}

/// Keys of up to three bytes, many of them prefixes of others, with the largest byte among them.
fn key(rng: &mut TestRng) -> Vec<u8> {
    let len = rng.usize(0..4);
    (0..len).map(|_| [0, 1, b'a', 254, 255][rng.usize(..5)]).collect()
}

fn bound(rng: &mut TestRng) -> Bound<Vec<u8>> {
    match rng.u32(..3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(key(rng)),
        _ => Bound::Excluded(key(rng)),
    }
}

/// The keys within `bounds` in the order of the family: descending if it is `reversed`.
fn expected(model: &BTreeMap<Vec<u8>, Vec<u8>>, (start, end): &Bounds, reversed: bool) -> Vec<Vec<u8>> {
    let after = |key: &Vec<u8>, bound: &Bound<Vec<u8>>| match bound {
        Bound::Unbounded => true,
        Bound::Included(bound) => key >= bound,
        Bound::Excluded(bound) => key > bound,
    };
    let before = |key: &Vec<u8>, bound: &Bound<Vec<u8>>| match bound {
        Bound::Unbounded => true,
        Bound::Included(bound) => key <= bound,
        Bound::Excluded(bound) => key < bound,
    };
    match reversed {
        false => model
            .keys()
            .filter(|key| after(key, start) && before(key, end))
            .cloned()
            .collect(),
        true => model
            .keys()
            .rev()
            .filter(|key| before(key, start) && after(key, end))
            .cloned()
            .collect(),
    }
}

fn filled(rng: &mut TestRng, comparator: UserComparator) -> (Db, BTreeMap<Vec<u8>, Vec<u8>>) {
    let stamped = comparator.timestamp_size() > 0;
    let db = Db::open(&options(comparator), "/db").unwrap();
    let mut model = BTreeMap::new();
    for at in 0..rng.u64(..60) {
        let (key, value) = (key(rng), at.to_string().into_bytes());
        let mut batch = WriteBatch::new();
        match stamped {
            true => batch.put_at(&db.default_column_family(), &key, &at.to_le_bytes(), &value),
            false => batch.put(&key, &value),
        }
        db.write(batch).unwrap();
        model.insert(key, value);
        if rng.one_in(15) {
            db.flush().unwrap();
        }
    }
    (db, model)
}

#[test]
fn ranges_from_both_ends_are_those_of_a_sorted_map() {
    let orders = [
        (UserComparator::Bytewise, false),
        (UserComparator::ReverseBytewise, true),
        (UserComparator::BytewiseU64Ts, false),
        (UserComparator::ReverseBytewiseU64Ts, true),
    ];
    for seed in testkit::rng::seeds(6) {
        let mut rng = TestRng::with_seed(seed);
        for (order, reversed) in &orders {
            let (db, model) = filled(&mut rng, order.clone());
            let read = ReadOptions {
                timestamp: (order.timestamp_size() > 0).then(|| u64::MAX.to_le_bytes().into()),
                ..ReadOptions::default()
            };
            for _ in 0..20 {
                let bounds = (bound(&mut rng), bound(&mut rng));
                let mut rows = db.range_cf_opt::<Vec<u8>>(&db.default_column_family(), bounds.clone(), &read);
                let (mut front, mut back) = (Vec::new(), Vec::new());
                let favoured = rng.bool();
                loop {
                    let forward = favoured == (rng.u32(..4) > 0);
                    let row = if forward { rows.next() } else { rows.next_back() };
                    let Some(row) = row else { break };
                    let (key, value) = row.unwrap();
                    assert_eq!(model[&*key], *value);
                    let side = if forward { &mut front } else { &mut back };
                    side.push(key.to_vec());
                }
                assert!(
                    rows.next().is_none() && rows.next_back().is_none(),
                    "rows that ended go on"
                );
                front.extend(back.into_iter().rev());
                assert_eq!(
                    front,
                    expected(&model, &bounds, *reversed),
                    "{bounds:?} by {order:?}"
                );
            }
        }
    }
}

fn keys_of(rows: impl Iterator<Item = esker::Result<(Box<[u8]>, Box<[u8]>)>>) -> Vec<Vec<u8>> {
    rows.map(|row| row.unwrap().0.into_vec()).collect()
}

#[test]
fn prefixes_end_where_they_should() {
    for seed in testkit::rng::seeds(6) {
        let mut rng = TestRng::with_seed(seed);
        for order in [UserComparator::Bytewise, UserComparator::ReverseBytewise] {
            let reversed = !order.is_bytewise();
            let (db, model) = filled(&mut rng, order);
            for _ in 0..10 {
                let prefix = key(&mut rng);
                let mut keys: Vec<Vec<u8>> = model
                    .keys()
                    .filter(|key| key.starts_with(&prefix))
                    .cloned()
                    .collect();
                if reversed {
                    keys.reverse();
                }
                assert_eq!(keys_of(db.prefix(&prefix)), keys, "{prefix:?}");
                keys.reverse();
                assert_eq!(keys_of(db.prefix(&prefix).rev()), keys, "{prefix:?}");
            }
        }
    }
}

#[test]
fn both_ends_read_one_moment() {
    let db = Db::open(&options(UserComparator::Bytewise), "/db").unwrap();
    for key in ["a", "b", "c"] {
        db.put(key.as_bytes(), b"1").unwrap();
    }
    let mut rows = db.range::<&[u8]>(..);
    db.put(b"d", b"2").unwrap();
    db.delete(b"c").unwrap();
    assert_eq!(&*rows.next().unwrap().unwrap().0, b"a");
    db.delete(b"b").unwrap();
    db.flush().unwrap();
    assert_eq!(&*rows.next_back().unwrap().unwrap().0, b"c");
    assert_eq!(&*rows.next().unwrap().unwrap().0, b"b");
    assert!(rows.next_back().is_none());
}

#[test]
fn bounds_of_the_options_apply_as_well() {
    let db = Db::open(&options(UserComparator::Bytewise), "/db").unwrap();
    for key in ["a", "b", "c", "d"] {
        db.put(key.as_bytes(), b"1").unwrap();
    }
    let read = ReadOptions {
        iterate_lower_bound: Some(b"b".to_vec()),
        iterate_upper_bound: Some(b"d".to_vec()),
        ..ReadOptions::default()
    };
    let rows = db.range_cf_opt::<&str>(&db.default_column_family(), "a".."z", &read);
    let keys: Vec<_> = rows.rev().map(|row| row.unwrap().0).collect();
    assert_eq!(keys, [Box::from(&b"c"[..]), Box::from(&b"b"[..])]);
}

#[test]
fn rows_are_lent_until_the_caller_breaks() {
    let db = Db::open(&options(UserComparator::Bytewise), "/db").unwrap();
    for number in 0..10u8 {
        db.put([number], [number; 3]).unwrap();
    }
    let mut seen = Vec::new();
    db.range::<&[u8]>(..)
        .for_each_row(|key, value| {
            assert_eq!(value, [key[0]; 3]);
            seen.push(key[0]);
            if key[0] == 4 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap();
    assert_eq!(seen, [0, 1, 2, 3, 4]);
}

#[test]
fn an_error_is_the_last_row() {
    let db = Db::open(&options(UserComparator::Bytewise), "/db").unwrap();
    db.put(b"a", b"1").unwrap();
    let tailing = ReadOptions {
        tailing: true,
        ..ReadOptions::default()
    };
    let mut rows = db.range_cf_opt::<&str>(&db.default_column_family(), .., &tailing);
    assert_eq!(
        rows.next().unwrap().unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    assert!(rows.next().is_none());
    let mut rows = db.range::<&[u8]>(..);
    let lent = db.range::<&[u8]>(..);
    db.close().unwrap();
    assert_eq!(
        rows.next().unwrap().unwrap_err().kind(),
        ErrorKind::ShutdownInProgress
    );
    assert!(rows.next().is_none() && rows.next_back().is_none());
    let error = lent.for_each_row(|_, _| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShutdownInProgress);
}
