//! `rocksdb_snapshot_t`.

use esker::Snapshot;

use crate::db::rocksdb_t;
use crate::ffi::*;

/// `rocksdb_snapshot_t`. Without a snapshot it reads what is newest: RocksDB has none to give with `inplace_update_support`.
///
/// A pointer and no more, so that the object that a transaction gives out is released by `rocksdb_free`, as RocksDB's is. The snapshot is the
/// database's or the transaction's.
pub struct rocksdb_snapshot_t {
    snapshot: *const Snapshot,
    /// True of one that is the caller's; the other is its transaction's.
    owned: bool,
}

impl rocksdb_snapshot_t {
    /// The snapshot, if there is one.
    ///
    /// # Safety
    /// It was not released, and the transaction that it is from was not destroyed.
    pub unsafe fn get(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// An object over a snapshot that the caller of this keeps; released by `rocksdb_free`.
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
    fn rocksdb_release_snapshot(_db: *mut rocksdb_t, snapshot: *const rocksdb_snapshot_t) {
        let Some(object) = snapshot.as_ref() else {
            return;
        };
        if object.owned {
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
