//! All versions of keys between two timestamps.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use dbtest::by_hand::flush;
use esker::{
    ColumnFamily, Db, ErrorKind, Options, ReadOptions, UserComparator, VersionsIterator, WriteBatch,
};
use vfs::MemFs;

/// The rows written at each timestamp; a deletion has no value.
type Model = BTreeMap<(Vec<u8>, Reverse<u64>), Option<Vec<u8>>>;
type Row = (Vec<u8>, u64, Option<Vec<u8>>);

fn open() -> (Options, Db, ColumnFamily) {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    options.column_family.comparator = UserComparator::BytewiseU64Ts;
    options.column_family.merge_operator = base::merge::builtin("stringappend");
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    (options, db, family)
}

fn between(from: u64, to: u64) -> ReadOptions {
    ReadOptions {
        iter_start_ts: Some(from.to_le_bytes().to_vec()),
        timestamp: Some(to.to_le_bytes().to_vec()),
        ..ReadOptions::default()
    }
}

fn row(iter: &VersionsIterator) -> Row {
    let timestamp = u64::from_le_bytes(iter.timestamp().try_into().unwrap());
    let value = (!iter.is_deletion()).then(|| iter.value().to_vec());
    assert!(!iter.is_deletion() || iter.value().is_empty());
    (iter.key().to_vec(), timestamp, value)
}

fn rows(model: &Model, options: &ReadOptions) -> Vec<Row> {
    let number = |bytes: &Option<Vec<u8>>| u64::from_le_bytes(bytes.as_deref().unwrap().try_into().unwrap());
    let times = number(&options.iter_start_ts)..=number(&options.timestamp);
    let bounds = (&options.iterate_lower_bound, &options.iterate_upper_bound);
    model
        .iter()
        .filter(|((_, Reverse(at)), _)| times.contains(at))
        .filter(|((key, _), _)| {
            bounds.0.as_ref().is_none_or(|lower| key >= lower)
                && bounds.1.as_ref().is_none_or(|upper| key < upper)
        })
        .map(|((key, Reverse(at)), value)| (key.clone(), *at, value.clone()))
        .collect()
}

#[test]
fn all_between_two_timestamps_are_shown_in_both_directions() {
    let mut rng = testkit::rng();
    let (_, db, family) = open();
    let mut model = Model::new();
    for step in 0..600 {
        let key = format!("key{:02}", rng.u32(..30)).into_bytes();
        let at = rng.u64(1..12);
        let mut batch = WriteBatch::new();
        let value = match rng.u32(..4) {
            0 => None,
            _ => Some(format!("value {step}").into_bytes()),
        };
        match &value {
            Some(value) => batch.put_at(&family, &key, &at.to_le_bytes(), value),
            None => batch.delete_at(&family, &key, &at.to_le_bytes()),
        }
        db.write(batch).unwrap();
        model.insert((key, Reverse(at)), value);
        match step % 100 {
            30 => flush(&db),
            60 => db.compact_range_cf(&family, None, None).unwrap(),
            _ => {}
        }
        if step % 25 != 0 {
            continue;
        }
        let from = rng.u64(..12);
        let mut options = between(from, from + rng.u64(..12));
        if rng.bool() {
            options.iterate_lower_bound = Some(b"key07".to_vec());
            options.iterate_upper_bound = Some(b"key23".to_vec());
        }
        let all = rows(&model, &options);
        let mut iter = db.iter_versions(&family, &options).unwrap();
        let mut shown = Vec::new();
        iter.seek_to_first();
        while iter.valid() {
            shown.push(row(&iter));
            iter.next();
        }
        iter.status().unwrap();
        assert_eq!(shown, all);
        shown.clear();
        iter.seek_to_last();
        while iter.valid() {
            shown.push(row(&iter));
            iter.prev();
        }
        shown.reverse();
        assert_eq!(shown, all);
        let mut at: Option<usize> = None;
        for _ in 0..60 {
            let sought = format!("key{:02}", rng.u32(..31)).into_bytes();
            at = match (rng.u32(..6), at) {
                (0 | 1, Some(at)) => {
                    iter.next();
                    Some(at + 1).filter(|&at| at < all.len())
                }
                (2 | 3, Some(at)) => {
                    iter.prev();
                    at.checked_sub(1)
                }
                (0..5, _) => {
                    iter.seek(&sought);
                    all.iter().position(|row| row.0 >= sought)
                }
                _ => {
                    iter.seek_for_prev(&sought);
                    all.iter().rposition(|row| row.0 <= sought)
                }
            };
            assert_eq!(iter.valid().then(|| row(&iter)), at.map(|at| all[at].clone()));
        }
    }
}

#[test]
fn a_snapshot_and_history_that_is_gone_are_heeded() {
    let (_, db, family) = open();
    let put = |value: &[u8]| {
        let mut batch = WriteBatch::new();
        batch.put_at(&family, b"k", &5u64.to_le_bytes(), value);
        db.write(batch).unwrap();
    };
    put(b"first");
    let old = ReadOptions {
        snapshot: Some(db.snapshot()),
        ..between(1, 9)
    };
    put(b"again");
    for (options, value) in [(&old, b"first"), (&between(1, 9), b"again")] {
        let mut iter = db.iter_versions(&family, options).unwrap();
        iter.seek(b"k");
        assert_eq!(row(&iter), (b"k".to_vec(), 5, Some(value.to_vec())));
        iter.next();
        assert!(!iter.valid());
    }
    let refused = |options: &ReadOptions| {
        let error = db.iter_versions(&family, options).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    };
    refused(&ReadOptions {
        timestamp: None,
        ..between(1, 2)
    });
    refused(&ReadOptions {
        iter_start_ts: None,
        ..between(1, 2)
    });
    refused(&ReadOptions {
        iter_start_ts: Some(b"short".to_vec()),
        ..between(1, 2)
    });
    assert!(db.iter_cf_opt(&family, &between(1, 9)).status().is_err());
    assert_eq!(
        db.get_cf_opt(&family, b"k", &between(1, 9)).unwrap().unwrap(),
        b"again"
    );
    db.increase_full_history_ts_low(&family, &3u64.to_le_bytes())
        .unwrap();
    refused(&between(2, 9));
    let mut open = db.iter_versions(&family, &between(3, 9)).unwrap();
    db.close().unwrap();
    open.seek(b"k");
    assert!(!open.valid() && open.status().is_err());
}
