//! A batch that is read before it is written: over a snapshot it shows the rows that the database has after
//! the write.

use std::path::Path;
use std::sync::Arc;

use esker::{
    BatchValue, ColumnFamily, Db, DbIterator, ErrorKind, Options, ReadOptions, UserComparator, WriteBatch,
    WriteBatchWithIndex, WriteOptions,
};
use testkit::rng::{self, TestRng};
use vfs::MemFs;

fn open(options: impl FnOnce(&mut Options)) -> Db {
    let mut opened = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    opened.column_family.merge_operator = base::merge::builtin("stringappend");
    // The limit of skips is small, so that iterators also skip hidden versions by seeks.
    opened.column_family.max_sequential_skip_in_iterations = 2;
    options(&mut opened);
    Db::open(&opened, Path::new("/db")).unwrap()
}

fn key(rng: &mut TestRng) -> Vec<u8> {
    format!("k{:02}", rng.u32(..40)).into_bytes()
}

/// Adds an operation on `family`, the same to both batches.
fn operate(rng: &mut TestRng, family: &ColumnFamily, batch: &mut WriteBatchWithIndex, number: usize) {
    let (name, value) = (key(rng), format!("v{number}").into_bytes());
    match rng.u32(..12) {
        0..6 => batch.put_cf(family, &name, &value),
        6 | 7 => batch.delete_cf(family, &name),
        8 | 9 => batch.merge_cf(family, &name, &value),
        10 => batch.put_log_data(b"note"),
        _ => {
            let end = key(rng);
            let (begin, end) = if name <= end { (name, end) } else { (end, name) };
            batch.delete_range_cf(family, &begin, &end);
        }
    }
}

fn random_batch(rng: &mut TestRng, family: &ColumnFamily, most: usize) -> WriteBatchWithIndex {
    let mut batch = WriteBatchWithIndex::new();
    for number in 0..rng.usize(1..most) {
        operate(rng, family, &mut batch, number);
    }
    batch
}

fn place(iter: &DbIterator) -> Option<(Vec<u8>, Vec<u8>)> {
    iter.status().unwrap();
    iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec()))
}

/// Moves both iterators at random and checks that they have the same position.
fn walk(rng: &mut TestRng, iter: &mut DbIterator, expected: &mut DbIterator) {
    for _ in 0..60 {
        let target = key(rng);
        let step = rng.u32(..10);
        for iter in [&mut *iter, &mut *expected] {
            match step {
                0 => iter.seek_to_first(),
                1 => iter.seek_to_last(),
                2 => iter.seek(&target),
                3 => iter.seek_for_prev(&target),
                4..7 if iter.valid() => iter.next(),
                _ if iter.valid() => iter.prev(),
                _ => iter.seek(&target),
            }
        }
        assert_eq!(place(iter), place(expected));
    }
}

#[test]
fn a_batch_shows_what_it_will_be() {
    let mut rng = rng::rng();
    for _ in 0..40 {
        let (db, written) = (open(|_| ()), open(|_| ()));
        let (family, written_family) = (db.default_column_family(), written.default_column_family());
        for _ in 0..rng.u32(..8) {
            let rows = random_batch(&mut rng, &family, 30).into_write_batch();
            db.write(rows.clone()).unwrap();
            written.write(rows).unwrap();
            if rng.one_in(3) {
                db.flush().unwrap();
            }
        }
        let as_it_was = ReadOptions {
            snapshot: Some(db.snapshot()),
            ..ReadOptions::default()
        };
        let mut batch = random_batch(&mut rng, &family, 60);
        // Rows that the snapshot does not show are written to the database before the batch is read over the
        // snapshot.
        for _ in 0..rng.u32(..4) {
            let rows = random_batch(&mut rng, &family, 30).into_write_batch();
            db.write(rows).unwrap();
        }
        let mut iter = batch.iter_with_base(&db, &family, &as_it_was).unwrap();
        written.write(batch.write_batch().clone()).unwrap();
        let mut expected = written.iter();
        walk(&mut rng, &mut iter, &mut expected);
        // Operations that are rolled back have no effect, and an iterator does not see operations added after
        // it.
        batch.set_save_point();
        for number in 0..20 {
            operate(&mut rng, &family, &mut batch, number);
        }
        if rng.bool() {
            let mut later = batch.iter_with_base(&db, &family, &as_it_was).unwrap();
            later.seek_to_first();
        }
        walk(&mut rng, &mut iter, &mut expected);
        batch.rollback_to_save_point().unwrap();
        db.flush().unwrap();
        walk(&mut rng, &mut iter, &mut expected);
        for number in 0..40 {
            let name = format!("k{number:02}").into_bytes();
            let found = batch
                .get_from_batch_and_db(&db, &family, &name, &as_it_was)
                .unwrap();
            let expected = written.get_cf(&written_family, &name).unwrap();
            assert_eq!(found.as_deref(), expected.as_deref(), "{number}");
        }
    }
}

#[test]
fn families_are_kept_apart() {
    let db = open(|_| ());
    let family = db.default_column_family();
    let other = db.create_column_family("other", &Default::default()).unwrap();
    let mut batch = WriteBatchWithIndex::new();
    batch.put(b"a", b"1");
    batch.put_cf(&other, b"b", b"2");
    let options = ReadOptions::default();
    let get = |family: &ColumnFamily, key: &[u8]| {
        let value = batch.get_from_batch_and_db(&db, family, key, &options).unwrap();
        value.map(|value| value.to_vec())
    };
    assert_eq!(get(&family, b"a").as_deref(), Some(&b"1"[..]));
    assert_eq!(get(&family, b"b"), None);
    assert_eq!(get(&other, b"b").as_deref(), Some(&b"2"[..]));
    assert_eq!(get(&other, b"a"), None);
    let stranger = open(|_| ());
    let refused = batch.get_from_batch_and_db(&stranger, &family, b"a", &options);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn timestamps_are_read_through_a_batch() {
    let db = open(|options| {
        options.column_family.comparator = UserComparator::BytewiseU64Ts;
        options.column_family.merge_operator = None;
    });
    let family = db.default_column_family();
    let at = |ts: u64| ts.to_le_bytes();
    let mut rows = WriteBatch::new();
    rows.put_at(&family, b"a", &at(1), b"one");
    rows.put_at(&family, b"b", &at(1), b"one");
    db.write(rows).unwrap();
    let mut batch = WriteBatchWithIndex::new();
    batch.put_at(&family, b"a", &at(3), b"three");
    batch.delete_at(&family, b"b", &at(2));
    for (ts, a, b) in [(1, "one", Some("one")), (2, "one", None), (3, "three", None)] {
        let options = ReadOptions {
            timestamp: Some(at(ts).to_vec()),
            ..ReadOptions::default()
        };
        let get = |key: &[u8]| {
            let value = batch.get_from_batch_and_db(&db, &family, key, &options).unwrap();
            value.map(|value| String::from_utf8(value.to_vec()).unwrap())
        };
        assert_eq!(get(b"a").as_deref(), Some(a));
        assert_eq!(get(b"b").as_deref(), b);
    }
    let mut wrong = WriteBatchWithIndex::new();
    wrong.put_cf(&family, b"short", b"");
    let options = ReadOptions {
        timestamp: Some(at(1).to_vec()),
        ..ReadOptions::default()
    };
    for _ in 0..2 {
        let refused = wrong.get_from_batch_and_db(&db, &family, b"short", &options);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn save_points_nest() {
    for width in [0, 8] {
        let mut batch = WriteBatch::with_protection(width).unwrap();
        assert_eq!(
            batch.rollback_to_save_point().unwrap_err().kind(),
            ErrorKind::NotFound
        );
        assert_eq!(batch.pop_save_point().unwrap_err().kind(), ErrorKind::NotFound);
        batch.put(b"a", b"1");
        let first = batch.clone();
        batch.set_save_point();
        batch.put_log_data(b"note");
        batch.delete(b"b");
        let second = batch.clone();
        batch.set_save_point();
        batch.put(b"c", b"3");
        batch.verify_checksum().unwrap();
        batch.rollback_to_save_point().unwrap();
        assert_eq!(batch, second);
        batch.verify_checksum().unwrap();
        batch.set_save_point();
        batch.put(b"d", b"4");
        batch.pop_save_point().unwrap();
        batch.rollback_to_save_point().unwrap();
        assert_eq!(batch, first);
        assert_eq!(batch.count(), 1);
        batch.verify_checksum().unwrap();
        batch.set_save_point();
        batch.clear();
        assert!(batch.rollback_to_save_point().is_err());
    }
}

#[test]
fn a_tailing_iterator_reads_no_batch() {
    let db = open(|_| ());
    let batch = WriteBatchWithIndex::new();
    let options = ReadOptions {
        tailing: true,
        ..ReadOptions::default()
    };
    let refused = batch.iter_with_base(&db, &db.default_column_family(), &options);
    assert_eq!(refused.err().unwrap().kind(), ErrorKind::InvalidArgument);
}

/// The value of `name` in the batch alone, with its merges applied by an operator.
fn alone(batch: &WriteBatchWithIndex, family: Option<&ColumnFamily>, name: &[u8]) -> BatchValue {
    let operator = base::merge::builtin("stringappend");
    batch.get_from_batch(family, name, operator.as_deref()).unwrap()
}

#[test]
fn a_batch_alone_tells_what_it_can() {
    let mut rng = rng::rng();
    for _ in 0..8 {
        let (db, empty) = (open(|_| ()), open(|_| ()));
        let family = db.default_column_family();
        let mut batch = random_batch(&mut rng, &family, 60);
        for round in 0..2 {
            // A key can be read with its family and without it, in any order, with the same result.
            for number in 0..40 {
                let name = format!("k{number:02}").into_bytes();
                let named = alone(&batch, Some(&family), &name);
                assert_eq!(named, alone(&batch, None, &name));
                let over_nothing = batch
                    .get_from_batch_and_db(&db, &family, &name, &ReadOptions::default())
                    .unwrap();
                let (found, wanted) = match named {
                    BatchValue::Value(value) => (Some(value), over_nothing.map(|value| value.to_vec())),
                    BatchValue::Absent | BatchValue::Deleted => {
                        (None, over_nothing.map(|value| value.to_vec()))
                    }
                    // Without a base value, the merge operands alone have a merged value.
                    BatchValue::MergeInProgress => (None, over_nothing.is_none().then(Vec::new)),
                };
                assert_eq!(found, wanted, "{round}");
            }
            for number in 60..80 {
                operate(&mut rng, &family, &mut batch, number);
            }
        }
        // A batch written in place is unchanged, and can be written again.
        let count = batch.count();
        batch.write_to(&db, &WriteOptions::default()).unwrap();
        batch.write_to(&empty, &WriteOptions::default()).unwrap();
        assert_eq!(batch.count(), count);
        let (mut one, mut other) = (db.iter(), empty.iter());
        walk(&mut rng, &mut one, &mut other);
    }
}

#[test]
fn merges_without_base_or_operator_are_in_progress() {
    let mut batch = WriteBatchWithIndex::new();
    batch.merge(b"m", b"1");
    assert_eq!(alone(&batch, None, b"m"), BatchValue::MergeInProgress);
    batch.delete(b"m");
    batch.merge(b"m", b"2");
    batch.merge(b"m", b"3");
    assert_eq!(alone(&batch, None, b"m"), BatchValue::Value(b"2,3".to_vec()));
    let without = batch.get_from_batch(None, b"m", None).unwrap();
    assert_eq!(without, BatchValue::MergeInProgress);
    // The order of keys is that of the comparator given at the creation of the batch.
    let mut backwards = WriteBatchWithIndex::with_comparator(UserComparator::ReverseBytewise);
    backwards.put(b"a", b"1");
    backwards.delete_range(b"z", b"b");
    assert_eq!(alone(&backwards, None, b"a"), BatchValue::Value(b"1".to_vec()));
    assert_eq!(alone(&backwards, None, b"c"), BatchValue::Deleted);
}
