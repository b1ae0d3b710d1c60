//! Rows with a time to live.

use std::time::Duration;

use esker_rocksdb::{
    ColumnFamilyDescriptor, ColumnFamilyTtl, DB, IteratorMode, Options, WriteBatch, WriteOptions,
};

fn options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options
}

/// A value of May 2014, as a database with times to live stores it.
const OLD: &[u8] = b"old\x00\x4e\x72\x53";

#[test]
fn expired_rows_are_dropped_and_values_have_no_time() {
    let dir = tempfile::tempdir().unwrap();
    let hour = Duration::from_secs(3600);
    let families = || {
        let ttl = |name, ttl| ColumnFamilyDescriptor::new_with_ttl(name, Options::default(), ttl);
        [
            ttl("hour", ColumnFamilyTtl::Duration(hour)),
            ttl("same", ColumnFamilyTtl::SameAsDb),
            ttl("lasting", ColumnFamilyTtl::Disabled),
        ]
    };
    {
        let db = DB::open_cf_descriptors_with_ttl(&options(), dir.path(), families(), hour).unwrap();
        let lasting = db.cf_handle("lasting").unwrap();
        db.put(b"a", b"one").unwrap();
        db.put_cf(&lasting, b"a", b"two").unwrap();
        let mut batch = WriteBatch::default();
        batch.put(b"b", b"batch");
        batch.delete(b"none");
        db.write_opt(batch, &WriteOptions::default()).unwrap();
        assert_eq!(db.get(b"a").unwrap().unwrap(), b"one");
        assert_eq!(
            db.get_pinned_cf(&lasting, b"a").unwrap().unwrap().as_ref(),
            b"two"
        );
        let values: Vec<_> = db
            .multi_get([b"a", b"b"])
            .into_iter()
            .map(Result::unwrap)
            .collect();
        assert_eq!(values, [Some(b"one".to_vec()), Some(b"batch".to_vec())]);
        let rows: Vec<_> = db.iterator(IteratorMode::End).map(Result::unwrap).collect();
        assert_eq!(&*rows[0].1, b"batch");
        let snapshot = db.snapshot();
        let rows: Vec<_> = snapshot
            .iterator(IteratorMode::Start)
            .map(Result::unwrap)
            .collect();
        assert_eq!((&*rows[0].1, rows.len()), (&b"one"[..], 2));
    }
    {
        let names = ["hour", "same", "lasting"];
        let db = DB::open_cf(&options(), dir.path(), names).unwrap();
        assert_eq!(db.get(b"a").unwrap().unwrap().len(), 7);
        db.put(b"old", OLD).unwrap();
        for name in names {
            db.put_cf(&db.cf_handle(name).unwrap(), b"old", OLD).unwrap();
        }
    }
    let db = DB::open_cf_descriptors_with_ttl(&options(), dir.path(), families(), hour).unwrap();
    assert_eq!(db.get(b"old").unwrap().unwrap(), b"old");
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(db.get(b"old").unwrap(), None);
    assert_eq!(db.get(b"a").unwrap().unwrap(), b"one");
    for (name, expires) in [("hour", true), ("same", true), ("lasting", false)] {
        let family = db.cf_handle(name).unwrap();
        db.compact_range_cf(&family, None::<&[u8]>, None::<&[u8]>);
        assert_eq!(db.get_cf(&family, b"old").unwrap().is_none(), expires, "{name}");
    }
}
