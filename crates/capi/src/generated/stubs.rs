//! Functions that are not implemented: each reports that.

// Written by `cargo xtask gen` from crates/capi/fields.tsv and crates/capi/functions.tsv; do not edit.

use std::ffi::{c_char, c_int, c_void};

use crate::ffi::*;

api!(fn rocksdb_open_with_ttl(_0: *mut c_void, _1: *mut c_void, _2: c_int, errptr: *mut *mut c_char) -> *mut c_void { absent_error("rocksdb_open_with_ttl", errptr) });

api!(fn rocksdb_open_and_trim_history(_0: *mut c_void, _1: *mut c_void, _2: c_int, _3: *mut c_void, _4: *mut c_void, _5: *mut c_void, _6: *mut c_void, _7: usize, errptr: *mut *mut c_char) -> *mut c_void { absent_error("rocksdb_open_and_trim_history", errptr) });

api!(fn rocksdb_open_column_families_with_ttl(_0: *mut c_void, _1: *mut c_void, _2: c_int, _3: *mut c_void, _4: *mut c_void, _5: *mut c_void, _6: *mut c_void, errptr: *mut *mut c_char) -> *mut c_void { absent_error("rocksdb_open_column_families_with_ttl", errptr) });

api!(fn rocksdb_create_column_family_with_ttl(_0: *mut c_void, _1: *mut c_void, _2: *mut c_void, _3: c_int, errptr: *mut *mut c_char) -> *mut c_void { absent_error("rocksdb_create_column_family_with_ttl", errptr) });

api!(fn rocksdb_writebatch_update_timestamps(_0: *mut c_void, _1: *mut c_void, _2: usize, _3: *mut c_void, _4: *mut c_void, errptr: *mut *mut c_char) { absent_error("rocksdb_writebatch_update_timestamps", errptr) });

api!(fn rocksdb_writebatch_wi_update_timestamps(_0: *mut c_void, _1: *mut c_void, _2: usize, _3: *mut c_void, _4: *mut c_void, errptr: *mut *mut c_char) { absent_error("rocksdb_writebatch_wi_update_timestamps", errptr) });

api!(fn rocksdb_flushjobinfo_blob_file_addition_info_at(_0: *mut c_void, _1: usize) -> *mut c_void { absent("rocksdb_flushjobinfo_blob_file_addition_info_at") });

api!(fn rocksdb_compactionjobinfo_blob_file_addition_info_at(_0: *mut c_void, _1: usize) -> *mut c_void { absent("rocksdb_compactionjobinfo_blob_file_addition_info_at") });

api!(fn rocksdb_compactionjobinfo_blob_file_garbage_info_at(_0: *mut c_void, _1: usize) -> *mut c_void { absent("rocksdb_compactionjobinfo_blob_file_garbage_info_at") });

api!(fn rocksdb_subcompactionjobinfo_stats(_0: *mut c_void) -> *mut c_void { absent("rocksdb_subcompactionjobinfo_stats") });

api!(fn rocksdb_table_properties_collector_factory_destroy(_0: *mut c_void) { absent("rocksdb_table_properties_collector_factory_destroy") });

api!(fn rocksdb_options_add_table_properties_collector_factory(_0: *mut c_void, _1: *mut c_void) { absent("rocksdb_options_add_table_properties_collector_factory") });

api!(fn rocksdb_readoptions_set_iter_start_ts(_0: *mut c_void, _1: *mut c_void, _2: usize) { absent("rocksdb_readoptions_set_iter_start_ts") });

api!(fn rocksdb_cache_get_table_address_count(_0: *mut c_void) -> usize { absent("rocksdb_cache_get_table_address_count") });

api!(fn rocksdb_sst_file_manager_set_max_allowed_space_usage(_0: *mut c_void, _1: u64) { absent("rocksdb_sst_file_manager_set_max_allowed_space_usage") });

api!(fn rocksdb_sst_file_manager_set_compaction_buffer_size(_0: *mut c_void, _1: u64) { absent("rocksdb_sst_file_manager_set_compaction_buffer_size") });

api!(fn rocksdb_sst_file_manager_is_max_allowed_space_reached(_0: *mut c_void) -> bool { absent("rocksdb_sst_file_manager_is_max_allowed_space_reached") });

api!(fn rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(_0: *mut c_void) -> bool { absent("rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions") });

api!(fn rocksdb_sst_file_manager_get_total_size(_0: *mut c_void) -> u64 { absent("rocksdb_sst_file_manager_get_total_size") });

api!(fn rocksdb_sst_file_manager_get_total_trash_size(_0: *mut c_void) -> u64 { absent("rocksdb_sst_file_manager_get_total_trash_size") });

api!(fn rocksdb_hyper_clock_cache_options_set_memory_allocator(_0: *mut c_void, _1: *mut c_void) { absent("rocksdb_hyper_clock_cache_options_set_memory_allocator") });

api!(fn rocksdb_env_lower_thread_pool_io_priority(_0: *mut c_void) { absent("rocksdb_env_lower_thread_pool_io_priority") });

api!(fn rocksdb_env_lower_high_priority_thread_pool_io_priority(_0: *mut c_void) { absent("rocksdb_env_lower_high_priority_thread_pool_io_priority") });

api!(fn rocksdb_env_lower_thread_pool_cpu_priority(_0: *mut c_void) { absent("rocksdb_env_lower_thread_pool_cpu_priority") });

api!(fn rocksdb_env_lower_high_priority_thread_pool_cpu_priority(_0: *mut c_void) { absent("rocksdb_env_lower_high_priority_thread_pool_cpu_priority") });

api!(fn rocksdb_transaction_set_commit_timestamp(_0: *mut c_void, _1: u64) { absent("rocksdb_transaction_set_commit_timestamp") });

api!(fn rocksdb_transaction_set_read_timestamp_for_validation(_0: *mut c_void, _1: u64) { absent("rocksdb_transaction_set_read_timestamp_for_validation") });

api!(fn rocksdb_compaction_service_options_override_add_table_properties_collector_factory(_0: *mut c_void, _1: *mut c_void) { absent("rocksdb_compaction_service_options_override_add_table_properties_collector_factory") });

api!(fn rocksdb_open_and_compact(_0: *mut c_void, _1: *mut c_void, _2: *mut c_void, _3: usize, _4: *mut c_void, _5: *mut c_void, errptr: *mut *mut c_char) -> *mut c_void { absent_error("rocksdb_open_and_compact", errptr) });

api!(fn rocksdb_open_and_compact_with_options(_0: *mut c_void, _1: *mut c_void, _2: *mut c_void, _3: *mut c_void, _4: usize, _5: *mut c_void, _6: *mut c_void, errptr: *mut *mut c_char) -> *mut c_void { absent_error("rocksdb_open_and_compact_with_options", errptr) });
