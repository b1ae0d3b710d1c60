//! `rocksdb_snapshot_t`.

use esker::Snapshot;

use crate::db::rocksdb_t;
use crate::ffi::*;

/// `rocksdb_snapshot_t`. Without a snapshot it reads what is newest: RocksDB has none to give with `inplace_update_support`.
pub struct rocksdb_snapshot_t(pub Option<Snapshot>);

api!(
    fn rocksdb_create_snapshot(db: *mut rocksdb_t) -> *const rocksdb_snapshot_t {
        let db = &*db;
        boxed(rocksdb_snapshot_t((!db.inplace_update).then(|| db.db.snapshot()))).cast_const()
    }
);

api!(
    fn rocksdb_release_snapshot(_db: *mut rocksdb_t, snapshot: *const rocksdb_snapshot_t) {
        free_box(snapshot.cast_mut())
    }
);

api!(
    fn rocksdb_snapshot_get_sequence_number(snapshot: *const rocksdb_snapshot_t) -> u64 {
        (*snapshot).0.as_ref().map_or(0, Snapshot::sequence_number)
    }
);
