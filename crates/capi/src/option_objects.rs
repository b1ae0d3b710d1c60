//! Options whose values are objects that several databases share.

use crate::cache::rocksdb_cache_t;
use crate::options::rocksdb_options_t;
use crate::sst_file_manager::rocksdb_sst_file_manager_t;

api!(
    fn rocksdb_options_set_row_cache(options: *mut rocksdb_options_t, cache: *mut rocksdb_cache_t) {
        (*options).row_cache = cache.as_ref().cloned();
    }
);

api!(
    fn rocksdb_options_set_blob_cache(options: *mut rocksdb_options_t, cache: *mut rocksdb_cache_t) {
        (*options).blob_cache = cache.as_ref().cloned();
    }
);

api!(
    fn rocksdb_options_set_sst_file_manager(
        options: *mut rocksdb_options_t,
        manager: *mut rocksdb_sst_file_manager_t,
    ) {
        (*options).sst_file_manager = manager.as_ref().cloned();
    }
);
