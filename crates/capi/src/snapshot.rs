//! The C object `rocksdb_snapshot_t`.

use esker::Snapshot;

use crate::db::rocksdb_t;
use crate::ffi::*;

/// `rocksdb_snapshot_t`. Without a snapshot it reads the newest state: RocksDB returns no snapshot with
/// `inplace_update_support`.
///
/// The object is only a pointer, because `rocksdb_free` releases the object that a transaction returns, as in
/// RocksDB. The snapshot belongs to the database or the transaction.
pub struct rocksdb_snapshot_t {
    snapshot: *const Snapshot,
    /// True if the snapshot is the caller's; otherwise it is the transaction's.
    owned: bool,
}

impl rocksdb_snapshot_t {
    /// Returns the snapshot, if there is one.
    ///
    /// # Safety
    /// The snapshot was not released, and its transaction was not destroyed.
    pub unsafe fn get(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// Creates an object for a snapshot that its owner keeps; `rocksdb_free` releases the object.
    pub fn lent(snapshot: Option<&Snapshot>) -> *const rocksdb_snapshot_t {
        malloced(rocksdb_snapshot_t {
            snapshot: snapshot.map_or(std::ptr::null(), std::ptr::from_ref),
            owned: false,
        })
    }
}

api!(
    fn rocksdb_create_snapshot(db: *mut rocksdb_t) -> *const rocksdb_snapshot_t {
        let db = &*db;
        let snapshot = (!db.inplace_update).then(|| boxed(db.db.snapshot()));
        malloced(rocksdb_snapshot_t {
            snapshot: snapshot.map_or(std::ptr::null(), |own| own.cast_const()),
            owned: true,
        })
    }
);

api!(
    fn rocksdb_release_snapshot(db: *mut rocksdb_t, snapshot: *const rocksdb_snapshot_t) {
        let Some(object) = snapshot.as_ref() else {
            return;
        };
        let is_own = db.as_ref().is_none_or(|db| db.db.is_own());
        if object.owned && is_own {
            free_box(object.snapshot.cast_mut());
        }
        libc::free(snapshot.cast_mut().cast());
    }
);

api!(
    fn rocksdb_snapshot_get_sequence_number(snapshot: *const rocksdb_snapshot_t) -> u64 {
        (*snapshot).get().map_or(0, Snapshot::sequence_number)
    }
);
