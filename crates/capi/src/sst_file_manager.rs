//! `rocksdb_sst_file_manager_t`: the files of several databases, the rate of their deletion, and their space.

use std::sync::Arc;

use esker::{SstFileManager, SstFileManagerOptions};

use crate::env::rocksdb_env_t;
use crate::ffi::*;

/// `rocksdb_sst_file_manager_t`. Databases that were opened with it share it, and keep it.
#[derive(Clone)]
pub struct rocksdb_sst_file_manager_t(pub Arc<SstFileManager>);

// The environment is not used, because the file system of each database deletes its files.
api!(
    fn rocksdb_sst_file_manager_create(_env: *mut rocksdb_env_t) -> *mut rocksdb_sst_file_manager_t {
        match SstFileManager::new(SstFileManagerOptions::default()) {
            Ok(manager) => boxed(rocksdb_sst_file_manager_t(manager)),
            Err(error) => {
                complain(&format!(
                    "rocksdb_sst_file_manager_create: {}",
                    error_text(&error)
                ));
                std::ptr::null_mut()
            }
        }
    }
);

/// Defines functions that call a method of the manager.
macro_rules! functions_of_manager {
    ($(fn $name:ident($($arg:ident: $type:ty)?) $(-> $ret:ty)? => $method:ident;)+) => { $(
        api!(fn $name(manager: *mut rocksdb_sst_file_manager_t, $($arg: $type)?) $(-> $ret)? {
            (&(*manager).0).$method($($arg)?)
        });
    )+ };
}

functions_of_manager! {
    fn rocksdb_sst_file_manager_set_max_allowed_space_usage(bytes: u64) => set_max_allowed_space_usage;
    fn rocksdb_sst_file_manager_set_compaction_buffer_size(bytes: u64) => set_compaction_buffer_size;
    fn rocksdb_sst_file_manager_is_max_allowed_space_reached() -> bool => is_max_allowed_space_reached;
    fn rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions() -> bool
        => is_max_allowed_space_reached_including_compactions;
    fn rocksdb_sst_file_manager_get_total_size() -> u64 => total_size;
    fn rocksdb_sst_file_manager_get_total_trash_size() -> u64 => total_trash_size;
    fn rocksdb_sst_file_manager_set_delete_rate_bytes_per_second(rate: i64)
        => set_delete_rate_bytes_per_second;
    fn rocksdb_sst_file_manager_get_delete_rate_bytes_per_second() -> i64 => delete_rate_bytes_per_second;
    fn rocksdb_sst_file_manager_get_max_trash_db_ratio() -> f64 => max_trash_db_ratio;
}

api!(
    fn rocksdb_sst_file_manager_set_max_trash_db_ratio(manager: *mut rocksdb_sst_file_manager_t, ratio: f64) {
        if let Err(error) = (&(*manager).0).set_max_trash_db_ratio(ratio) {
            complain(&format!(
                "rocksdb_sst_file_manager_set_max_trash_db_ratio: {}",
                error_text(&error)
            ));
        }
    }
);
