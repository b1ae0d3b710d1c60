//! `rocksdb_sst_file_manager_t`. It is only stored: databases delete their files at once, and count their
//! disk space themselves.

use crate::env::rocksdb_env_t;
use crate::ffi::*;
use crate::options::rocksdb_options_t;

/// `rocksdb_sst_file_manager_t`.
pub struct rocksdb_sst_file_manager_t {
    delete_rate: i64,
    max_trash_ratio: f64,
}

api!(
    fn rocksdb_sst_file_manager_create(_env: *mut rocksdb_env_t) -> *mut rocksdb_sst_file_manager_t {
        boxed(rocksdb_sst_file_manager_t {
            delete_rate: 0,
            max_trash_ratio: 0.25,
        })
    }
);

api!(
    fn rocksdb_sst_file_manager_set_delete_rate_bytes_per_second(
        manager: *mut rocksdb_sst_file_manager_t,
        rate: i64,
    ) {
        (*manager).delete_rate = rate;
    }
);

api!(
    fn rocksdb_sst_file_manager_get_delete_rate_bytes_per_second(
        manager: *mut rocksdb_sst_file_manager_t,
    ) -> i64 {
        (*manager).delete_rate
    }
);

api!(
    fn rocksdb_sst_file_manager_set_max_trash_db_ratio(manager: *mut rocksdb_sst_file_manager_t, ratio: f64) {
        (*manager).max_trash_ratio = ratio;
    }
);

api!(
    fn rocksdb_sst_file_manager_get_max_trash_db_ratio(manager: *mut rocksdb_sst_file_manager_t) -> f64 {
        (*manager).max_trash_ratio
    }
);

api!(
    fn rocksdb_options_set_sst_file_manager(
        _options: *mut rocksdb_options_t,
        _manager: *mut rocksdb_sst_file_manager_t,
    ) {
    }
);
