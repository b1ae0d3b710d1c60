//! Keys and values that the engine would refuse once encoded are refused before they are copied. The tests
//! use zeros, which take no page of memory.

use std::sync::Arc;

use esker::{ErrorKind, RowLimit, WriteOptions};
use mvcc::{BatchOptions, Error, MvccStore, Result, Span, Timestamp, Value};
use vfs::MemFs;

use super::model::{NOW, open};

fn refused<T>(what: &str, result: Result<T>, part: &str) {
    let Err(Error::Engine(error)) = result else {
        panic!("{what}");
    };
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{what}: {error}");
    assert!(
        error.message().starts_with(&format!("{part} is too large: ")),
        "{what}: {error}"
    );
}

#[test]
fn versions_beyond_the_limit_are_refused() {
    let db = open(Arc::new(MemFs::new()));
    let options = BatchOptions {
        range_tombstones: true,
        ..BatchOptions::default()
    };
    let store = MvccStore::open(&db, &db.default_column_family(), options, NOW).unwrap();
    let now = Timestamp::from_secs(5);
    let limit = RowLimit::MAX.bytes();
    let zeros = &vec![0; limit][..];
    // The header of five bytes makes the value too long; time, sentinel and trailer make the key too long.
    let (key, bytes) = (&zeros[..limit - 21], Value::Bytes(&zeros[..limit - 4]));
    let small = Value::Bytes(b"v");
    let mut batch = store.begin(NOW);
    batch.put(b"k", now, small).unwrap();
    refused("put", batch.put(b"l", now, bytes), "value");
    refused("put", batch.put(key, now, small), "key");
    refused("put_blind", batch.put_blind(b"l", now, bytes), "value");
    refused("put_blind", batch.put_blind(key, now, small), "key");
    refused("delete", batch.delete(key, now), "key");
    let set = batch.conditional_put(b"l", now, bytes, None, true);
    refused("conditional_put", set, "value");
    refused("increment", batch.increment(key, now, 1), "key");
    refused("put_inline", batch.put_inline(b"l", Some(bytes)), "value");
    refused("put_inline", batch.put_inline(key, None), "key");
    for span in [Span::new(key, &zeros[..limit - 20]), Span::new(b"", key)] {
        let deleted = batch.delete_range_using_tombstone(span, now, &Default::default());
        refused("delete_range", deleted, "key");
    }
    // The batch holds the accepted writes, and nothing of the refused ones.
    batch.commit(&WriteOptions::default()).unwrap();
    let reader = store.reader(now).unwrap();
    let found = reader.get(b"k", now, &Default::default()).unwrap().found;
    assert!(found.is_some());
    let scan = reader
        .scan(Span::new(b"", b"z"), now, &Default::default())
        .unwrap();
    assert_eq!(scan.rows.len(), 1);
}
