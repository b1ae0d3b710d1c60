//! The blob files in the descriptions of flushes and compactions.

use crate::generated::structs::{rocksdb_blob_file_addition_info_t, rocksdb_blob_file_garbage_info_t};
use crate::listener::{Additions, rocksdb_compactionjobinfo_t, rocksdb_flushjobinfo_t};

fn at(files: &Additions, at: usize) -> *const rocksdb_blob_file_addition_info_t {
    files.get(at).map_or(std::ptr::null(), std::ptr::from_ref)
}

api!(
    fn rocksdb_flushjobinfo_blob_file_addition_infos_count(info: *const rocksdb_flushjobinfo_t) -> usize {
        (&(*info).blobs).len()
    }
);

api!(
    fn rocksdb_flushjobinfo_blob_file_addition_info_at(
        info: *const rocksdb_flushjobinfo_t,
        index: usize,
    ) -> *const rocksdb_blob_file_addition_info_t {
        at(&(*info).blobs, index)
    }
);

api!(
    fn rocksdb_compactionjobinfo_blob_file_addition_infos_count(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> usize {
        (&(*info).blobs).len()
    }
);

api!(
    fn rocksdb_compactionjobinfo_blob_file_addition_info_at(
        info: *const rocksdb_compactionjobinfo_t,
        index: usize,
    ) -> *const rocksdb_blob_file_addition_info_t {
        at(&(*info).blobs, index)
    }
);

// The engine counts the garbage in blob files when it installs a compaction, after the event: this list is
// empty.
api!(
    fn rocksdb_compactionjobinfo_blob_file_garbage_infos_count(
        _info: *const rocksdb_compactionjobinfo_t,
    ) -> usize {
        0
    }
);

api!(
    fn rocksdb_compactionjobinfo_blob_file_garbage_info_at(
        _info: *const rocksdb_compactionjobinfo_t,
        _index: usize,
    ) -> *const rocksdb_blob_file_garbage_info_t {
        std::ptr::null()
    }
);
