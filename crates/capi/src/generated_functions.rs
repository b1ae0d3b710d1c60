//! Constructors and destructors of C objects, and setters and getters of their fields.

// Written by `cargo xtask gen` from crates/capi/fields.tsv and crates/capi/functions.tsv; do not edit.

use std::ffi::{c_char, c_int};

use crate::ffi::*;
use crate::generated::structs::*;
use crate::objects::{rocksdb_backup_engine_options_t, rocksdb_block_based_table_options_t, rocksdb_cache_t, rocksdb_column_family_handle_t, rocksdb_column_family_metadata_options_t, rocksdb_column_family_metadata_t, rocksdb_compaction_options_t, rocksdb_compactionfilter_t, rocksdb_compactionfiltercontext_t, rocksdb_compactionjobinfo_t, rocksdb_compactoptions_t, rocksdb_comparator_t, rocksdb_create_backup_options_t, rocksdb_dbpath_t, rocksdb_env_t, rocksdb_envoptions_t, rocksdb_eventlistener_t, rocksdb_externalfileingestioninfo_t, rocksdb_file_checksum_gen_factory_t, rocksdb_filterpolicy_t, rocksdb_flushjobinfo_t, rocksdb_hyper_clock_cache_options_t, rocksdb_level_metadata_t, rocksdb_livefiles_storage_info_t, rocksdb_logger_t, rocksdb_lru_cache_options_t, rocksdb_memory_allocator_t, rocksdb_memory_consumers_t, rocksdb_mergeoperator_t, rocksdb_open_and_compact_options_t, rocksdb_options_t, rocksdb_perfcontext_t, rocksdb_pinnable_multi_get_t, rocksdb_ratelimiter_t, rocksdb_readoptions_t, rocksdb_slicetransform_t, rocksdb_sst_file_manager_t, rocksdb_sst_partitioner_factory_t, rocksdb_sstfilewriter_t, rocksdb_subcompactionjobinfo_t, rocksdb_table_properties_t, rocksdb_wal_file_t, rocksdb_wal_files_t, rocksdb_write_buffer_manager_t, rocksdb_writebatch_t, rocksdb_writestallinfo_t};

api!(fn rocksdb_create_backup_options_destroy(object: *mut rocksdb_create_backup_options_t) { free_box(object) });

api!(fn rocksdb_restore_options_create() -> *mut rocksdb_restore_options_t { boxed(rocksdb_restore_options_t::default()) });

api!(fn rocksdb_restore_options_destroy(object: *mut rocksdb_restore_options_t) { free_box(object) });

api!(fn rocksdb_backup_engine_options_destroy(object: *mut rocksdb_backup_engine_options_t) { free_box(object) });

api!(fn rocksdb_column_family_handle_destroy(object: *mut rocksdb_column_family_handle_t) { free_box(object) });

api!(fn rocksdb_pinnable_multi_get_destroy(object: *mut rocksdb_pinnable_multi_get_t) { free_box(object) });

api!(fn rocksdb_size_approximation_options_create() -> *mut rocksdb_size_approximation_options_t { boxed(rocksdb_size_approximation_options_t::default()) });

api!(fn rocksdb_size_approximation_options_destroy(object: *mut rocksdb_size_approximation_options_t) { free_box(object) });

api!(fn rocksdb_wal_readoptions_create() -> *mut rocksdb_wal_readoptions_t { boxed(rocksdb_wal_readoptions_t::default()) });

api!(fn rocksdb_wal_readoptions_destroy(object: *mut rocksdb_wal_readoptions_t) { free_box(object) });

api!(fn rocksdb_wal_file_destroy(object: *mut rocksdb_wal_file_t) { free_box(object) });

api!(fn rocksdb_wal_files_destroy(object: *mut rocksdb_wal_files_t) { free_box(object) });

api!(fn rocksdb_writebatch_destroy(object: *mut rocksdb_writebatch_t) { free_box(object) });

api!(fn rocksdb_block_based_options_destroy(object: *mut rocksdb_block_based_table_options_t) { free_box(object) });

api!(fn rocksdb_compactionjobinfo_destroy(object: *mut rocksdb_compactionjobinfo_t) { free_box(object) });

api!(fn rocksdb_eventlistener_destroy(object: *mut rocksdb_eventlistener_t) { free_box(object) });

api!(fn rocksdb_cuckoo_options_create() -> *mut rocksdb_cuckoo_table_options_t { boxed(rocksdb_cuckoo_table_options_t::default()) });

api!(fn rocksdb_cuckoo_options_destroy(object: *mut rocksdb_cuckoo_table_options_t) { free_box(object) });

api!(fn rocksdb_options_destroy(object: *mut rocksdb_options_t) { free_box(object) });

api!(fn rocksdb_logger_destroy(object: *mut rocksdb_logger_t) { free_box(object) });

api!(fn rocksdb_file_checksum_gen_factory_destroy(object: *mut rocksdb_file_checksum_gen_factory_t) { free_box(object) });

api!(fn rocksdb_sst_partitioner_factory_destroy(object: *mut rocksdb_sst_partitioner_factory_t) { free_box(object) });

api!(fn rocksdb_ratelimiter_destroy(object: *mut rocksdb_ratelimiter_t) { free_box(object) });

api!(fn rocksdb_perfcontext_destroy(object: *mut rocksdb_perfcontext_t) { free_box(object) });

api!(fn rocksdb_compactionfilter_destroy(object: *mut rocksdb_compactionfilter_t) { free_box(object) });

api!(fn rocksdb_comparator_destroy(object: *mut rocksdb_comparator_t) { free_box(object) });

api!(fn rocksdb_filterpolicy_destroy(object: *mut rocksdb_filterpolicy_t) { free_box(object) });

api!(fn rocksdb_mergeoperator_destroy(object: *mut rocksdb_mergeoperator_t) { free_box(object) });

api!(fn rocksdb_readoptions_destroy(object: *mut rocksdb_readoptions_t) { free_box(object) });

api!(fn rocksdb_writeoptions_create() -> *mut rocksdb_writeoptions_t { boxed(rocksdb_writeoptions_t::default()) });

api!(fn rocksdb_writeoptions_destroy(object: *mut rocksdb_writeoptions_t) { free_box(object) });

api!(fn rocksdb_compaction_options_destroy(object: *mut rocksdb_compaction_options_t) { free_box(object) });

api!(fn rocksdb_flushoptions_create() -> *mut rocksdb_flushoptions_t { boxed(rocksdb_flushoptions_t::default()) });

api!(fn rocksdb_flushoptions_destroy(object: *mut rocksdb_flushoptions_t) { free_box(object) });

api!(fn rocksdb_flushwaloptions_create() -> *mut rocksdb_flushwaloptions_t { boxed(rocksdb_flushwaloptions_t::default()) });

api!(fn rocksdb_flushwaloptions_destroy(object: *mut rocksdb_flushwaloptions_t) { free_box(object) });

api!(fn rocksdb_memory_allocator_destroy(object: *mut rocksdb_memory_allocator_t) { free_box(object) });

api!(fn rocksdb_lru_cache_options_destroy(object: *mut rocksdb_lru_cache_options_t) { free_box(object) });

api!(fn rocksdb_cache_destroy(object: *mut rocksdb_cache_t) { free_box(object) });

api!(fn rocksdb_write_buffer_manager_destroy(object: *mut rocksdb_write_buffer_manager_t) { free_box(object) });

api!(fn rocksdb_sst_file_manager_destroy(object: *mut rocksdb_sst_file_manager_t) { free_box(object) });

api!(fn rocksdb_hyper_clock_cache_options_destroy(object: *mut rocksdb_hyper_clock_cache_options_t) { free_box(object) });

api!(fn rocksdb_dbpath_destroy(object: *mut rocksdb_dbpath_t) { free_box(object) });

api!(fn rocksdb_env_destroy(object: *mut rocksdb_env_t) { free_box(object) });

api!(fn rocksdb_envoptions_destroy(object: *mut rocksdb_envoptions_t) { free_box(object) });

api!(fn rocksdb_trace_options_create() -> *mut rocksdb_trace_options_t { boxed(rocksdb_trace_options_t::default()) });

api!(fn rocksdb_trace_options_destroy(object: *mut rocksdb_trace_options_t) { free_box(object) });

api!(fn rocksdb_replay_options_create() -> *mut rocksdb_replay_options_t { boxed(rocksdb_replay_options_t::default()) });

api!(fn rocksdb_replay_options_destroy(object: *mut rocksdb_replay_options_t) { free_box(object) });

api!(fn rocksdb_block_cache_trace_options_create() -> *mut rocksdb_block_cache_trace_options_t { boxed(rocksdb_block_cache_trace_options_t::default()) });

api!(fn rocksdb_block_cache_trace_options_destroy(object: *mut rocksdb_block_cache_trace_options_t) { free_box(object) });

api!(fn rocksdb_block_cache_trace_writer_options_create() -> *mut rocksdb_block_cache_trace_writer_options_t { boxed(rocksdb_block_cache_trace_writer_options_t::default()) });

api!(fn rocksdb_block_cache_trace_writer_options_destroy(object: *mut rocksdb_block_cache_trace_writer_options_t) { free_box(object) });

api!(fn rocksdb_sstfilewriter_destroy(object: *mut rocksdb_sstfilewriter_t) { free_box(object) });

api!(fn rocksdb_ingestexternalfileoptions_create() -> *mut rocksdb_ingestexternalfileoptions_t { boxed(rocksdb_ingestexternalfileoptions_t::default()) });

api!(fn rocksdb_ingestexternalfileoptions_destroy(object: *mut rocksdb_ingestexternalfileoptions_t) { free_box(object) });

api!(fn rocksdb_slicetransform_destroy(object: *mut rocksdb_slicetransform_t) { free_box(object) });

api!(fn rocksdb_universal_compaction_options_create() -> *mut rocksdb_universal_compaction_options_t { boxed(rocksdb_universal_compaction_options_t::default()) });

api!(fn rocksdb_universal_compaction_options_destroy(object: *mut rocksdb_universal_compaction_options_t) { free_box(object) });

api!(fn rocksdb_fifo_compaction_options_create() -> *mut rocksdb_fifo_compaction_options_t { boxed(rocksdb_fifo_compaction_options_t::default()) });

api!(fn rocksdb_fifo_compaction_options_destroy(object: *mut rocksdb_fifo_compaction_options_t) { free_box(object) });

api!(fn rocksdb_livefiles_storage_info_options_create() -> *mut rocksdb_livefiles_storage_info_options_t { boxed(rocksdb_livefiles_storage_info_options_t::default()) });

api!(fn rocksdb_livefiles_storage_info_options_destroy(object: *mut rocksdb_livefiles_storage_info_options_t) { free_box(object) });

api!(fn rocksdb_livefiles_storage_info_destroy(object: *mut rocksdb_livefiles_storage_info_t) { free_box(object) });

api!(fn rocksdb_column_family_metadata_options_destroy(object: *mut rocksdb_column_family_metadata_options_t) { free_box(object) });

api!(fn rocksdb_import_column_family_options_create() -> *mut rocksdb_import_column_family_options_t { boxed(rocksdb_import_column_family_options_t::default()) });

api!(fn rocksdb_import_column_family_options_destroy(object: *mut rocksdb_import_column_family_options_t) { free_box(object) });

api!(fn rocksdb_column_family_metadata_destroy(object: *mut rocksdb_column_family_metadata_t) { free_box(object) });

api!(fn rocksdb_level_metadata_destroy(object: *mut rocksdb_level_metadata_t) { free_box(object) });

api!(fn rocksdb_sst_file_metadata_destroy(object: *mut rocksdb_sst_file_metadata_t) { free_box(object) });

api!(fn rocksdb_transactiondb_options_create() -> *mut rocksdb_transactiondb_options_t { boxed(rocksdb_transactiondb_options_t::default()) });

api!(fn rocksdb_transactiondb_options_destroy(object: *mut rocksdb_transactiondb_options_t) { free_box(object) });

api!(fn rocksdb_transaction_options_create() -> *mut rocksdb_transaction_options_t { boxed(rocksdb_transaction_options_t::default()) });

api!(fn rocksdb_transaction_options_destroy(object: *mut rocksdb_transaction_options_t) { free_box(object) });

api!(fn rocksdb_optimistictransaction_options_create() -> *mut rocksdb_optimistictransaction_options_t { boxed(rocksdb_optimistictransaction_options_t::default()) });

api!(fn rocksdb_optimistictransactiondb_options_create() -> *mut rocksdb_optimistictransactiondb_options_t { boxed(rocksdb_optimistictransactiondb_options_t::default()) });

api!(fn rocksdb_optimistictransactiondb_options_destroy(object: *mut rocksdb_optimistictransactiondb_options_t) { free_box(object) });

api!(fn rocksdb_optimistictransaction_options_destroy(object: *mut rocksdb_optimistictransaction_options_t) { free_box(object) });

api!(fn rocksdb_memory_consumers_destroy(object: *mut rocksdb_memory_consumers_t) { free_box(object) });

api!(fn rocksdb_statistics_histogram_data_create() -> *mut rocksdb_statistics_histogram_data_t { boxed(rocksdb_statistics_histogram_data_t::default()) });

api!(fn rocksdb_statistics_histogram_data_destroy(object: *mut rocksdb_statistics_histogram_data_t) { free_box(object) });

api!(fn rocksdb_wait_for_compact_options_create() -> *mut rocksdb_wait_for_compact_options_t { boxed(rocksdb_wait_for_compact_options_t::default()) });

api!(fn rocksdb_wait_for_compact_options_destroy(object: *mut rocksdb_wait_for_compact_options_t) { free_box(object) });

api!(fn rocksdb_open_and_compact_options_destroy(object: *mut rocksdb_open_and_compact_options_t) { free_box(object) });

api!(fn rocksdb_wal_readoptions_set_verify_checksums(object: *mut rocksdb_wal_readoptions_t, value: u8) { (*object).fields.verify_checksums = u8::from(value != 0); });

api!(fn rocksdb_wal_readoptions_get_verify_checksums(object: *const rocksdb_wal_readoptions_t) -> u8 { u8::from((*object).fields.verify_checksums != 0) });

api!(fn rocksdb_block_based_options_set_top_level_index_pinning_tier(object: *mut rocksdb_block_based_table_options_t, value: c_int) { (*object).fields.top_level_index_pinning_tier = value; });

api!(fn rocksdb_block_based_options_set_partition_pinning_tier(object: *mut rocksdb_block_based_table_options_t, value: c_int) { (*object).fields.partition_pinning_tier = value; });

api!(fn rocksdb_block_based_options_set_unpartitioned_pinning_tier(object: *mut rocksdb_block_based_table_options_t, value: c_int) { (*object).fields.unpartitioned_pinning_tier = value; });

api!(fn rocksdb_cuckoo_options_set_hash_ratio(object: *mut rocksdb_cuckoo_table_options_t, value: f64) { (*object).fields.hash_ratio = value; });

api!(fn rocksdb_options_set_allow_ingest_behind(object: *mut rocksdb_options_t, value: u8) { (*object).fields.allow_ingest_behind = u8::from(value != 0); });

api!(fn rocksdb_options_get_allow_ingest_behind(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.allow_ingest_behind != 0) });

api!(fn rocksdb_options_set_create_if_missing(object: *mut rocksdb_options_t, value: u8) { (*object).fields.create_if_missing = u8::from(value != 0); });

api!(fn rocksdb_options_get_create_if_missing(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.create_if_missing != 0) });

api!(fn rocksdb_options_set_create_missing_column_families(object: *mut rocksdb_options_t, value: u8) { (*object).fields.create_missing_column_families = u8::from(value != 0); });

api!(fn rocksdb_options_get_create_missing_column_families(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.create_missing_column_families != 0) });

api!(fn rocksdb_options_set_error_if_exists(object: *mut rocksdb_options_t, value: u8) { (*object).fields.error_if_exists = u8::from(value != 0); });

api!(fn rocksdb_options_get_error_if_exists(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.error_if_exists != 0) });

api!(fn rocksdb_options_set_paranoid_checks(object: *mut rocksdb_options_t, value: u8) { (*object).fields.paranoid_checks = u8::from(value != 0); });

api!(fn rocksdb_options_get_paranoid_checks(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.paranoid_checks != 0) });

api!(fn rocksdb_options_set_open_files_async(object: *mut rocksdb_options_t, value: u8) { (*object).fields.open_files_async = u8::from(value != 0); });

api!(fn rocksdb_options_get_open_files_async(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.open_files_async != 0) });

api!(fn rocksdb_options_set_info_log_level(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.info_log_level = value; });

api!(fn rocksdb_options_get_info_log_level(object: *const rocksdb_options_t) -> c_int { (*object).fields.info_log_level });

api!(fn rocksdb_options_set_write_buffer_size(object: *mut rocksdb_options_t, value: usize) { (*object).fields.write_buffer_size = value; });

api!(fn rocksdb_options_get_write_buffer_size(object: *const rocksdb_options_t) -> usize { (*object).fields.write_buffer_size });

api!(fn rocksdb_options_set_db_write_buffer_size(object: *mut rocksdb_options_t, value: usize) { (*object).fields.db_write_buffer_size = value; });

api!(fn rocksdb_options_get_db_write_buffer_size(object: *const rocksdb_options_t) -> usize { (*object).fields.db_write_buffer_size });

api!(fn rocksdb_options_set_max_open_files(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.max_open_files = value; });

api!(fn rocksdb_options_get_max_open_files(object: *const rocksdb_options_t) -> c_int { (*object).fields.max_open_files });

api!(fn rocksdb_options_set_max_file_opening_threads(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.max_file_opening_threads = value; });

api!(fn rocksdb_options_get_max_file_opening_threads(object: *const rocksdb_options_t) -> c_int { (*object).fields.max_file_opening_threads });

api!(fn rocksdb_options_set_max_total_wal_size(object: *mut rocksdb_options_t, value: u64) { (*object).fields.max_total_wal_size = value; });

api!(fn rocksdb_options_get_max_total_wal_size(object: *const rocksdb_options_t) -> u64 { (*object).fields.max_total_wal_size });

api!(fn rocksdb_options_set_compression_options_zstd_max_train_bytes(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.compression_options_zstd_max_train_bytes = value; });

api!(fn rocksdb_options_get_compression_options_zstd_max_train_bytes(object: *const rocksdb_options_t) -> c_int { (*object).fields.compression_options_zstd_max_train_bytes });

api!(fn rocksdb_options_set_compression_options_use_zstd_dict_trainer(object: *mut rocksdb_options_t, value: u8) { (*object).fields.compression_options_use_zstd_dict_trainer = u8::from(value != 0); });

api!(fn rocksdb_options_get_compression_options_use_zstd_dict_trainer(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.compression_options_use_zstd_dict_trainer != 0) });

api!(fn rocksdb_options_set_compression_options_parallel_threads(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.compression_options_parallel_threads = value; });

api!(fn rocksdb_options_get_compression_options_parallel_threads(object: *const rocksdb_options_t) -> c_int { (*object).fields.compression_options_parallel_threads });

api!(fn rocksdb_options_set_compression_options_max_dict_buffer_bytes(object: *mut rocksdb_options_t, value: u64) { (*object).fields.compression_options_max_dict_buffer_bytes = value; });

api!(fn rocksdb_options_get_compression_options_max_dict_buffer_bytes(object: *const rocksdb_options_t) -> u64 { (*object).fields.compression_options_max_dict_buffer_bytes });

api!(fn rocksdb_options_set_num_levels(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.num_levels = value; });

api!(fn rocksdb_options_get_num_levels(object: *const rocksdb_options_t) -> c_int { (*object).fields.num_levels });

api!(fn rocksdb_options_set_level0_file_num_compaction_trigger(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.level0_file_num_compaction_trigger = value; });

api!(fn rocksdb_options_get_level0_file_num_compaction_trigger(object: *const rocksdb_options_t) -> c_int { (*object).fields.level0_file_num_compaction_trigger });

api!(fn rocksdb_options_set_level0_slowdown_writes_trigger(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.level0_slowdown_writes_trigger = value; });

api!(fn rocksdb_options_get_level0_slowdown_writes_trigger(object: *const rocksdb_options_t) -> c_int { (*object).fields.level0_slowdown_writes_trigger });

api!(fn rocksdb_options_set_level0_stop_writes_trigger(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.level0_stop_writes_trigger = value; });

api!(fn rocksdb_options_get_level0_stop_writes_trigger(object: *const rocksdb_options_t) -> c_int { (*object).fields.level0_stop_writes_trigger });

api!(fn rocksdb_options_set_target_file_size_base(object: *mut rocksdb_options_t, value: u64) { (*object).fields.target_file_size_base = value; });

api!(fn rocksdb_options_get_target_file_size_base(object: *const rocksdb_options_t) -> u64 { (*object).fields.target_file_size_base });

api!(fn rocksdb_options_set_target_file_size_multiplier(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.target_file_size_multiplier = value; });

api!(fn rocksdb_options_get_target_file_size_multiplier(object: *const rocksdb_options_t) -> c_int { (*object).fields.target_file_size_multiplier });

api!(fn rocksdb_options_set_max_bytes_for_level_base(object: *mut rocksdb_options_t, value: u64) { (*object).fields.max_bytes_for_level_base = value; });

api!(fn rocksdb_options_get_max_bytes_for_level_base(object: *const rocksdb_options_t) -> u64 { (*object).fields.max_bytes_for_level_base });

api!(fn rocksdb_options_set_level_compaction_dynamic_level_bytes(object: *mut rocksdb_options_t, value: u8) { (*object).fields.level_compaction_dynamic_level_bytes = u8::from(value != 0); });

api!(fn rocksdb_options_get_level_compaction_dynamic_level_bytes(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.level_compaction_dynamic_level_bytes != 0) });

api!(fn rocksdb_options_set_max_bytes_for_level_multiplier(object: *mut rocksdb_options_t, value: f64) { (*object).fields.max_bytes_for_level_multiplier = value; });

api!(fn rocksdb_options_get_max_bytes_for_level_multiplier(object: *const rocksdb_options_t) -> f64 { (*object).fields.max_bytes_for_level_multiplier });

api!(fn rocksdb_options_set_ttl(object: *mut rocksdb_options_t, value: u64) { (*object).fields.ttl = value; });

api!(fn rocksdb_options_get_ttl(object: *const rocksdb_options_t) -> u64 { (*object).fields.ttl });

api!(fn rocksdb_options_set_periodic_compaction_seconds(object: *mut rocksdb_options_t, value: u64) { (*object).fields.periodic_compaction_seconds = value; });

api!(fn rocksdb_options_get_periodic_compaction_seconds(object: *const rocksdb_options_t) -> u64 { (*object).fields.periodic_compaction_seconds });

api!(fn rocksdb_options_set_memtable_op_scan_flush_trigger(object: *mut rocksdb_options_t, value: u32) { (*object).fields.memtable_op_scan_flush_trigger = value; });

api!(fn rocksdb_options_get_memtable_op_scan_flush_trigger(object: *const rocksdb_options_t) -> u32 { (*object).fields.memtable_op_scan_flush_trigger });

api!(fn rocksdb_options_set_memtable_avg_op_scan_flush_trigger(object: *mut rocksdb_options_t, value: u32) { (*object).fields.memtable_avg_op_scan_flush_trigger = value; });

api!(fn rocksdb_options_get_memtable_avg_op_scan_flush_trigger(object: *const rocksdb_options_t) -> u32 { (*object).fields.memtable_avg_op_scan_flush_trigger });

api!(fn rocksdb_options_set_min_tombstones_for_range_conversion(object: *mut rocksdb_options_t, value: u32) { (*object).fields.min_tombstones_for_range_conversion = value; });

api!(fn rocksdb_options_get_min_tombstones_for_range_conversion(object: *const rocksdb_options_t) -> u32 { (*object).fields.min_tombstones_for_range_conversion });

api!(fn rocksdb_options_set_statistics_level(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.statistics_level = value; });

api!(fn rocksdb_options_get_statistics_level(object: *const rocksdb_options_t) -> c_int { (*object).fields.statistics_level });

api!(fn rocksdb_options_set_skip_stats_update_on_db_open(object: *mut rocksdb_options_t, value: u8) { (*object).fields.skip_stats_update_on_db_open = u8::from(value != 0); });

api!(fn rocksdb_options_get_skip_stats_update_on_db_open(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.skip_stats_update_on_db_open != 0) });

api!(fn rocksdb_options_set_enable_blob_files(object: *mut rocksdb_options_t, value: u8) { (*object).fields.enable_blob_files = u8::from(value != 0); });

api!(fn rocksdb_options_get_enable_blob_files(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.enable_blob_files != 0) });

api!(fn rocksdb_options_set_min_blob_size(object: *mut rocksdb_options_t, value: u64) { (*object).fields.min_blob_size = value; });

api!(fn rocksdb_options_get_min_blob_size(object: *const rocksdb_options_t) -> u64 { (*object).fields.min_blob_size });

api!(fn rocksdb_options_set_blob_file_size(object: *mut rocksdb_options_t, value: u64) { (*object).fields.blob_file_size = value; });

api!(fn rocksdb_options_get_blob_file_size(object: *const rocksdb_options_t) -> u64 { (*object).fields.blob_file_size });

api!(fn rocksdb_options_set_blob_compression_type(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.blob_compression_type = value; });

api!(fn rocksdb_options_get_blob_compression_type(object: *const rocksdb_options_t) -> c_int { (*object).fields.blob_compression_type });

api!(fn rocksdb_options_set_enable_blob_gc(object: *mut rocksdb_options_t, value: u8) { (*object).fields.enable_blob_gc = u8::from(value != 0); });

api!(fn rocksdb_options_get_enable_blob_gc(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.enable_blob_gc != 0) });

api!(fn rocksdb_options_set_blob_gc_age_cutoff(object: *mut rocksdb_options_t, value: f64) { (*object).fields.blob_gc_age_cutoff = value; });

api!(fn rocksdb_options_get_blob_gc_age_cutoff(object: *const rocksdb_options_t) -> f64 { (*object).fields.blob_gc_age_cutoff });

api!(fn rocksdb_options_set_blob_gc_force_threshold(object: *mut rocksdb_options_t, value: f64) { (*object).fields.blob_gc_force_threshold = value; });

api!(fn rocksdb_options_get_blob_gc_force_threshold(object: *const rocksdb_options_t) -> f64 { (*object).fields.blob_gc_force_threshold });

api!(fn rocksdb_options_set_read_triggered_compaction_threshold(object: *mut rocksdb_options_t, value: f64) { (*object).fields.read_triggered_compaction_threshold = value; });

api!(fn rocksdb_options_get_read_triggered_compaction_threshold(object: *const rocksdb_options_t) -> f64 { (*object).fields.read_triggered_compaction_threshold });

api!(fn rocksdb_options_set_max_compaction_trigger_wakeup_seconds(object: *mut rocksdb_options_t, value: u64) { (*object).fields.max_compaction_trigger_wakeup_seconds = value; });

api!(fn rocksdb_options_get_max_compaction_trigger_wakeup_seconds(object: *const rocksdb_options_t) -> u64 { (*object).fields.max_compaction_trigger_wakeup_seconds });

api!(fn rocksdb_options_set_blob_compaction_readahead_size(object: *mut rocksdb_options_t, value: u64) { (*object).fields.blob_compaction_readahead_size = value; });

api!(fn rocksdb_options_get_blob_compaction_readahead_size(object: *const rocksdb_options_t) -> u64 { (*object).fields.blob_compaction_readahead_size });

api!(fn rocksdb_options_set_blob_file_starting_level(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.blob_file_starting_level = value; });

api!(fn rocksdb_options_get_blob_file_starting_level(object: *const rocksdb_options_t) -> c_int { (*object).fields.blob_file_starting_level });

api!(fn rocksdb_options_set_prepopulate_blob_cache(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.prepopulate_blob_cache = value; });

api!(fn rocksdb_options_get_prepopulate_blob_cache(object: *const rocksdb_options_t) -> c_int { (*object).fields.prepopulate_blob_cache });

api!(fn rocksdb_options_set_max_write_buffer_number(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.max_write_buffer_number = value; });

api!(fn rocksdb_options_get_max_write_buffer_number(object: *const rocksdb_options_t) -> c_int { (*object).fields.max_write_buffer_number });

api!(fn rocksdb_options_set_min_write_buffer_number_to_merge(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.min_write_buffer_number_to_merge = value; });

api!(fn rocksdb_options_get_min_write_buffer_number_to_merge(object: *const rocksdb_options_t) -> c_int { (*object).fields.min_write_buffer_number_to_merge });

api!(fn rocksdb_options_set_max_write_buffer_size_to_maintain(object: *mut rocksdb_options_t, value: i64) { (*object).fields.max_write_buffer_size_to_maintain = value; });

api!(fn rocksdb_options_get_max_write_buffer_size_to_maintain(object: *const rocksdb_options_t) -> i64 { (*object).fields.max_write_buffer_size_to_maintain });

api!(fn rocksdb_options_set_enable_pipelined_write(object: *mut rocksdb_options_t, value: u8) { (*object).fields.enable_pipelined_write = u8::from(value != 0); });

api!(fn rocksdb_options_get_enable_pipelined_write(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.enable_pipelined_write != 0) });

api!(fn rocksdb_options_set_unordered_write(object: *mut rocksdb_options_t, value: u8) { (*object).fields.unordered_write = u8::from(value != 0); });

api!(fn rocksdb_options_get_unordered_write(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.unordered_write != 0) });

api!(fn rocksdb_options_set_max_subcompactions(object: *mut rocksdb_options_t, value: u32) { (*object).fields.max_subcompactions = value; });

api!(fn rocksdb_options_get_max_subcompactions(object: *const rocksdb_options_t) -> u32 { (*object).fields.max_subcompactions });

api!(fn rocksdb_options_set_max_background_jobs(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.max_background_jobs = value; });

api!(fn rocksdb_options_get_max_background_jobs(object: *const rocksdb_options_t) -> c_int { (*object).fields.max_background_jobs });

api!(fn rocksdb_options_set_max_background_compactions(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.max_background_compactions = value; });

api!(fn rocksdb_options_get_max_background_compactions(object: *const rocksdb_options_t) -> c_int { (*object).fields.max_background_compactions });

api!(fn rocksdb_options_set_max_background_flushes(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.max_background_flushes = value; });

api!(fn rocksdb_options_get_max_background_flushes(object: *const rocksdb_options_t) -> c_int { (*object).fields.max_background_flushes });

api!(fn rocksdb_options_set_max_log_file_size(object: *mut rocksdb_options_t, value: usize) { (*object).fields.max_log_file_size = value; });

api!(fn rocksdb_options_get_max_log_file_size(object: *const rocksdb_options_t) -> usize { (*object).fields.max_log_file_size });

api!(fn rocksdb_options_set_log_file_time_to_roll(object: *mut rocksdb_options_t, value: usize) { (*object).fields.log_file_time_to_roll = value; });

api!(fn rocksdb_options_get_log_file_time_to_roll(object: *const rocksdb_options_t) -> usize { (*object).fields.log_file_time_to_roll });

api!(fn rocksdb_options_set_keep_log_file_num(object: *mut rocksdb_options_t, value: usize) { (*object).fields.keep_log_file_num = value; });

api!(fn rocksdb_options_get_keep_log_file_num(object: *const rocksdb_options_t) -> usize { (*object).fields.keep_log_file_num });

api!(fn rocksdb_options_set_recycle_log_file_num(object: *mut rocksdb_options_t, value: usize) { (*object).fields.recycle_log_file_num = value; });

api!(fn rocksdb_options_get_recycle_log_file_num(object: *const rocksdb_options_t) -> usize { (*object).fields.recycle_log_file_num });

api!(fn rocksdb_options_set_soft_pending_compaction_bytes_limit(object: *mut rocksdb_options_t, value: usize) { (*object).fields.soft_pending_compaction_bytes_limit = value; });

api!(fn rocksdb_options_get_soft_pending_compaction_bytes_limit(object: *const rocksdb_options_t) -> usize { (*object).fields.soft_pending_compaction_bytes_limit });

api!(fn rocksdb_options_set_hard_pending_compaction_bytes_limit(object: *mut rocksdb_options_t, value: usize) { (*object).fields.hard_pending_compaction_bytes_limit = value; });

api!(fn rocksdb_options_get_hard_pending_compaction_bytes_limit(object: *const rocksdb_options_t) -> usize { (*object).fields.hard_pending_compaction_bytes_limit });

api!(fn rocksdb_options_set_max_manifest_file_size(object: *mut rocksdb_options_t, value: usize) { (*object).fields.max_manifest_file_size = value; });

api!(fn rocksdb_options_get_max_manifest_file_size(object: *const rocksdb_options_t) -> usize { (*object).fields.max_manifest_file_size });

api!(fn rocksdb_options_set_table_cache_numshardbits(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.table_cache_numshardbits = value; });

api!(fn rocksdb_options_get_table_cache_numshardbits(object: *const rocksdb_options_t) -> c_int { (*object).fields.table_cache_numshardbits });

api!(fn rocksdb_options_set_arena_block_size(object: *mut rocksdb_options_t, value: usize) { (*object).fields.arena_block_size = value; });

api!(fn rocksdb_options_get_arena_block_size(object: *const rocksdb_options_t) -> usize { (*object).fields.arena_block_size });

api!(fn rocksdb_options_set_use_fsync(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.use_fsync = value; });

api!(fn rocksdb_options_get_use_fsync(object: *const rocksdb_options_t) -> c_int { (*object).fields.use_fsync });

api!(fn rocksdb_options_set_WAL_ttl_seconds(object: *mut rocksdb_options_t, value: u64) { (*object).fields.WAL_ttl_seconds = value; });

api!(fn rocksdb_options_get_WAL_ttl_seconds(object: *const rocksdb_options_t) -> u64 { (*object).fields.WAL_ttl_seconds });

api!(fn rocksdb_options_set_WAL_size_limit_MB(object: *mut rocksdb_options_t, value: u64) { (*object).fields.WAL_size_limit_MB = value; });

api!(fn rocksdb_options_get_WAL_size_limit_MB(object: *const rocksdb_options_t) -> u64 { (*object).fields.WAL_size_limit_MB });

api!(fn rocksdb_options_set_manifest_preallocation_size(object: *mut rocksdb_options_t, value: usize) { (*object).fields.manifest_preallocation_size = value; });

api!(fn rocksdb_options_get_manifest_preallocation_size(object: *const rocksdb_options_t) -> usize { (*object).fields.manifest_preallocation_size });

api!(fn rocksdb_options_set_allow_mmap_reads(object: *mut rocksdb_options_t, value: u8) { (*object).fields.allow_mmap_reads = u8::from(value != 0); });

api!(fn rocksdb_options_get_allow_mmap_reads(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.allow_mmap_reads != 0) });

api!(fn rocksdb_options_set_allow_mmap_writes(object: *mut rocksdb_options_t, value: u8) { (*object).fields.allow_mmap_writes = u8::from(value != 0); });

api!(fn rocksdb_options_get_allow_mmap_writes(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.allow_mmap_writes != 0) });

api!(fn rocksdb_options_set_use_direct_reads(object: *mut rocksdb_options_t, value: u8) { (*object).fields.use_direct_reads = u8::from(value != 0); });

api!(fn rocksdb_options_get_use_direct_reads(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.use_direct_reads != 0) });

api!(fn rocksdb_options_set_use_direct_io_for_flush_and_compaction(object: *mut rocksdb_options_t, value: u8) { (*object).fields.use_direct_io_for_flush_and_compaction = u8::from(value != 0); });

api!(fn rocksdb_options_get_use_direct_io_for_flush_and_compaction(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.use_direct_io_for_flush_and_compaction != 0) });

api!(fn rocksdb_options_set_is_fd_close_on_exec(object: *mut rocksdb_options_t, value: u8) { (*object).fields.is_fd_close_on_exec = u8::from(value != 0); });

api!(fn rocksdb_options_get_is_fd_close_on_exec(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.is_fd_close_on_exec != 0) });

api!(fn rocksdb_options_set_stats_dump_period_sec(object: *mut rocksdb_options_t, value: u32) { (*object).fields.stats_dump_period_sec = value; });

api!(fn rocksdb_options_get_stats_dump_period_sec(object: *const rocksdb_options_t) -> u32 { (*object).fields.stats_dump_period_sec });

api!(fn rocksdb_options_set_stats_persist_period_sec(object: *mut rocksdb_options_t, value: u32) { (*object).fields.stats_persist_period_sec = value; });

api!(fn rocksdb_options_get_stats_persist_period_sec(object: *const rocksdb_options_t) -> u32 { (*object).fields.stats_persist_period_sec });

api!(fn rocksdb_options_set_advise_random_on_open(object: *mut rocksdb_options_t, value: u8) { (*object).fields.advise_random_on_open = u8::from(value != 0); });

api!(fn rocksdb_options_get_advise_random_on_open(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.advise_random_on_open != 0) });

api!(fn rocksdb_options_set_use_adaptive_mutex(object: *mut rocksdb_options_t, value: u8) { (*object).fields.use_adaptive_mutex = u8::from(value != 0); });

api!(fn rocksdb_options_get_use_adaptive_mutex(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.use_adaptive_mutex != 0) });

api!(fn rocksdb_options_set_bytes_per_sync(object: *mut rocksdb_options_t, value: u64) { (*object).fields.bytes_per_sync = value; });

api!(fn rocksdb_options_get_bytes_per_sync(object: *const rocksdb_options_t) -> u64 { (*object).fields.bytes_per_sync });

api!(fn rocksdb_options_set_wal_bytes_per_sync(object: *mut rocksdb_options_t, value: u64) { (*object).fields.wal_bytes_per_sync = value; });

api!(fn rocksdb_options_get_wal_bytes_per_sync(object: *const rocksdb_options_t) -> u64 { (*object).fields.wal_bytes_per_sync });

api!(fn rocksdb_options_set_writable_file_max_buffer_size(object: *mut rocksdb_options_t, value: u64) { (*object).fields.writable_file_max_buffer_size = value; });

api!(fn rocksdb_options_get_writable_file_max_buffer_size(object: *const rocksdb_options_t) -> u64 { (*object).fields.writable_file_max_buffer_size });

api!(fn rocksdb_options_set_allow_concurrent_memtable_write(object: *mut rocksdb_options_t, value: u8) { (*object).fields.allow_concurrent_memtable_write = u8::from(value != 0); });

api!(fn rocksdb_options_get_allow_concurrent_memtable_write(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.allow_concurrent_memtable_write != 0) });

api!(fn rocksdb_options_set_enable_write_thread_adaptive_yield(object: *mut rocksdb_options_t, value: u8) { (*object).fields.enable_write_thread_adaptive_yield = u8::from(value != 0); });

api!(fn rocksdb_options_get_enable_write_thread_adaptive_yield(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.enable_write_thread_adaptive_yield != 0) });

api!(fn rocksdb_options_set_max_sequential_skip_in_iterations(object: *mut rocksdb_options_t, value: u64) { (*object).fields.max_sequential_skip_in_iterations = value; });

api!(fn rocksdb_options_get_max_sequential_skip_in_iterations(object: *const rocksdb_options_t) -> u64 { (*object).fields.max_sequential_skip_in_iterations });

api!(fn rocksdb_options_set_disable_auto_compactions(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.disable_auto_compactions = value; });

api!(fn rocksdb_options_get_disable_auto_compactions(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.disable_auto_compactions != 0) });

api!(fn rocksdb_options_set_optimize_filters_for_hits(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.optimize_filters_for_hits = value; });

api!(fn rocksdb_options_get_optimize_filters_for_hits(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.optimize_filters_for_hits != 0) });

api!(fn rocksdb_options_set_delete_obsolete_files_period_micros(object: *mut rocksdb_options_t, value: u64) { (*object).fields.delete_obsolete_files_period_micros = value; });

api!(fn rocksdb_options_get_delete_obsolete_files_period_micros(object: *const rocksdb_options_t) -> u64 { (*object).fields.delete_obsolete_files_period_micros });

api!(fn rocksdb_options_set_memtable_prefix_bloom_size_ratio(object: *mut rocksdb_options_t, value: f64) { (*object).fields.memtable_prefix_bloom_size_ratio = value; });

api!(fn rocksdb_options_get_memtable_prefix_bloom_size_ratio(object: *const rocksdb_options_t) -> f64 { (*object).fields.memtable_prefix_bloom_size_ratio });

api!(fn rocksdb_options_set_max_compaction_bytes(object: *mut rocksdb_options_t, value: u64) { (*object).fields.max_compaction_bytes = value; });

api!(fn rocksdb_options_get_max_compaction_bytes(object: *const rocksdb_options_t) -> u64 { (*object).fields.max_compaction_bytes });

api!(fn rocksdb_options_set_write_dbid_to_manifest(object: *mut rocksdb_options_t, value: u8) { (*object).fields.write_dbid_to_manifest = u8::from(value != 0); });

api!(fn rocksdb_options_get_write_dbid_to_manifest(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.write_dbid_to_manifest != 0) });

api!(fn rocksdb_options_set_write_identity_file(object: *mut rocksdb_options_t, value: u8) { (*object).fields.write_identity_file = u8::from(value != 0); });

api!(fn rocksdb_options_get_write_identity_file(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.write_identity_file != 0) });

api!(fn rocksdb_options_set_track_and_verify_wals_in_manifest(object: *mut rocksdb_options_t, value: u8) { (*object).fields.track_and_verify_wals_in_manifest = u8::from(value != 0); });

api!(fn rocksdb_options_get_track_and_verify_wals_in_manifest(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.track_and_verify_wals_in_manifest != 0) });

api!(fn rocksdb_options_set_memtable_huge_page_size(object: *mut rocksdb_options_t, value: usize) { (*object).fields.memtable_huge_page_size = value; });

api!(fn rocksdb_options_get_memtable_huge_page_size(object: *const rocksdb_options_t) -> usize { (*object).fields.memtable_huge_page_size });

api!(fn rocksdb_options_set_max_successive_merges(object: *mut rocksdb_options_t, value: usize) { (*object).fields.max_successive_merges = value; });

api!(fn rocksdb_options_get_max_successive_merges(object: *const rocksdb_options_t) -> usize { (*object).fields.max_successive_merges });

api!(fn rocksdb_options_set_bloom_locality(object: *mut rocksdb_options_t, value: u32) { (*object).fields.bloom_locality = value; });

api!(fn rocksdb_options_get_bloom_locality(object: *const rocksdb_options_t) -> u32 { (*object).fields.bloom_locality });

api!(fn rocksdb_options_set_inplace_update_support(object: *mut rocksdb_options_t, value: u8) { (*object).fields.inplace_update_support = u8::from(value != 0); });

api!(fn rocksdb_options_get_inplace_update_support(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.inplace_update_support != 0) });

api!(fn rocksdb_options_set_inplace_update_num_locks(object: *mut rocksdb_options_t, value: usize) { (*object).fields.inplace_update_num_locks = value; });

api!(fn rocksdb_options_get_inplace_update_num_locks(object: *const rocksdb_options_t) -> usize { (*object).fields.inplace_update_num_locks });

api!(fn rocksdb_options_set_report_bg_io_stats(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.report_bg_io_stats = value; });

api!(fn rocksdb_options_get_report_bg_io_stats(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.report_bg_io_stats != 0) });

api!(fn rocksdb_options_set_avoid_unnecessary_blocking_io(object: *mut rocksdb_options_t, value: u8) { (*object).fields.avoid_unnecessary_blocking_io = u8::from(value != 0); });

api!(fn rocksdb_options_get_avoid_unnecessary_blocking_io(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.avoid_unnecessary_blocking_io != 0) });

api!(fn rocksdb_options_set_experimental_mempurge_threshold(object: *mut rocksdb_options_t, value: f64) { (*object).fields.experimental_mempurge_threshold = value; });

api!(fn rocksdb_options_get_experimental_mempurge_threshold(object: *const rocksdb_options_t) -> f64 { (*object).fields.experimental_mempurge_threshold });

api!(fn rocksdb_options_set_wal_recovery_mode(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.wal_recovery_mode = value; });

api!(fn rocksdb_options_get_wal_recovery_mode(object: *const rocksdb_options_t) -> c_int { (*object).fields.wal_recovery_mode });

api!(fn rocksdb_options_set_compression(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.compression = value; });

api!(fn rocksdb_options_get_compression(object: *const rocksdb_options_t) -> c_int { (*object).fields.compression });

api!(fn rocksdb_options_set_bottommost_compression(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.bottommost_compression = value; });

api!(fn rocksdb_options_get_bottommost_compression(object: *const rocksdb_options_t) -> c_int { (*object).fields.bottommost_compression });

api!(fn rocksdb_options_set_compaction_style(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.compaction_style = value; });

api!(fn rocksdb_options_get_compaction_style(object: *const rocksdb_options_t) -> c_int { (*object).fields.compaction_style });

api!(fn rocksdb_options_set_atomic_flush(object: *mut rocksdb_options_t, value: u8) { (*object).fields.atomic_flush = u8::from(value != 0); });

api!(fn rocksdb_options_get_atomic_flush(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.atomic_flush != 0) });

api!(fn rocksdb_options_set_manual_wal_flush(object: *mut rocksdb_options_t, value: u8) { (*object).fields.manual_wal_flush = u8::from(value != 0); });

api!(fn rocksdb_options_get_manual_wal_flush(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.manual_wal_flush != 0) });

api!(fn rocksdb_options_set_wal_compression(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.wal_compression = value; });

api!(fn rocksdb_options_get_wal_compression(object: *const rocksdb_options_t) -> c_int { (*object).fields.wal_compression });

api!(fn rocksdb_options_set_compaction_pri(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.compaction_pri = value; });

api!(fn rocksdb_options_get_compaction_pri(object: *const rocksdb_options_t) -> c_int { (*object).fields.compaction_pri });

api!(fn rocksdb_readoptions_set_deadline(object: *mut rocksdb_readoptions_t, value: u64) { (*object).changed(); (*object).fields.deadline = value; });

api!(fn rocksdb_readoptions_get_deadline(object: *const rocksdb_readoptions_t) -> u64 { (*object).fields.deadline });

api!(fn rocksdb_readoptions_set_io_timeout(object: *mut rocksdb_readoptions_t, value: u64) { (*object).changed(); (*object).fields.io_timeout = value; });

api!(fn rocksdb_readoptions_get_io_timeout(object: *const rocksdb_readoptions_t) -> u64 { (*object).fields.io_timeout });

api!(fn rocksdb_readoptions_set_read_tier(object: *mut rocksdb_readoptions_t, value: c_int) { (*object).changed(); (*object).fields.read_tier = value; });

api!(fn rocksdb_readoptions_get_read_tier(object: *const rocksdb_readoptions_t) -> c_int { (*object).fields.read_tier });

api!(fn rocksdb_readoptions_set_rate_limiter_priority(object: *mut rocksdb_readoptions_t, value: c_int) { (*object).changed(); (*object).fields.rate_limiter_priority = value; });

api!(fn rocksdb_readoptions_get_rate_limiter_priority(object: *const rocksdb_readoptions_t) -> c_int { (*object).fields.rate_limiter_priority });

api!(fn rocksdb_readoptions_set_value_size_soft_limit(object: *mut rocksdb_readoptions_t, value: u64) { (*object).changed(); (*object).fields.value_size_soft_limit = value; });

api!(fn rocksdb_readoptions_get_value_size_soft_limit(object: *const rocksdb_readoptions_t) -> u64 { (*object).fields.value_size_soft_limit });

api!(fn rocksdb_readoptions_set_verify_checksums(object: *mut rocksdb_readoptions_t, value: u8) { (*object).changed(); (*object).fields.verify_checksums = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_verify_checksums(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.verify_checksums != 0) });

api!(fn rocksdb_readoptions_set_fill_cache(object: *mut rocksdb_readoptions_t, value: u8) { (*object).changed(); (*object).fields.fill_cache = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_fill_cache(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.fill_cache != 0) });

api!(fn rocksdb_readoptions_set_ignore_range_deletions(object: *mut rocksdb_readoptions_t, value: u8) { (*object).changed(); (*object).fields.ignore_range_deletions = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_ignore_range_deletions(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.ignore_range_deletions != 0) });

api!(fn rocksdb_readoptions_set_async_io(object: *mut rocksdb_readoptions_t, value: u8) { (*object).changed(); (*object).fields.async_io = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_async_io(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.async_io != 0) });

api!(fn rocksdb_readoptions_set_optimize_multiget_for_io(object: *mut rocksdb_readoptions_t, value: u8) { (*object).fields.optimize_multiget_for_io = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_optimize_multiget_for_io(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.optimize_multiget_for_io != 0) });

api!(fn rocksdb_readoptions_set_readahead_size(object: *mut rocksdb_readoptions_t, value: usize) { (*object).changed(); (*object).fields.readahead_size = value; });

api!(fn rocksdb_readoptions_get_readahead_size(object: *const rocksdb_readoptions_t) -> usize { (*object).fields.readahead_size });

api!(fn rocksdb_readoptions_set_max_skippable_internal_keys(object: *mut rocksdb_readoptions_t, value: u64) { (*object).changed(); (*object).fields.max_skippable_internal_keys = value; });

api!(fn rocksdb_readoptions_get_max_skippable_internal_keys(object: *const rocksdb_readoptions_t) -> u64 { (*object).fields.max_skippable_internal_keys });

api!(fn rocksdb_readoptions_set_tailing(object: *mut rocksdb_readoptions_t, value: u8) { (*object).changed(); (*object).fields.tailing = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_tailing(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.tailing != 0) });

api!(fn rocksdb_readoptions_set_total_order_seek(object: *mut rocksdb_readoptions_t, value: u8) { (*object).changed(); (*object).fields.total_order_seek = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_total_order_seek(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.total_order_seek != 0) });

api!(fn rocksdb_readoptions_set_auto_prefix_mode(object: *mut rocksdb_readoptions_t, value: u8) { (*object).changed(); (*object).fields.auto_prefix_mode = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_auto_prefix_mode(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.auto_prefix_mode != 0) });

api!(fn rocksdb_readoptions_set_prefix_same_as_start(object: *mut rocksdb_readoptions_t, value: u8) { (*object).changed(); (*object).fields.prefix_same_as_start = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_prefix_same_as_start(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.prefix_same_as_start != 0) });

api!(fn rocksdb_readoptions_set_pin_data(object: *mut rocksdb_readoptions_t, value: u8) { (*object).changed(); (*object).fields.pin_data = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_pin_data(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.pin_data != 0) });

api!(fn rocksdb_readoptions_set_adaptive_readahead(object: *mut rocksdb_readoptions_t, value: u8) { (*object).changed(); (*object).fields.adaptive_readahead = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_adaptive_readahead(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.adaptive_readahead != 0) });

api!(fn rocksdb_readoptions_set_background_purge_on_iterator_cleanup(object: *mut rocksdb_readoptions_t, value: u8) { (*object).fields.background_purge_on_iterator_cleanup = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_background_purge_on_iterator_cleanup(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.background_purge_on_iterator_cleanup != 0) });

api!(fn rocksdb_readoptions_set_auto_readahead_size(object: *mut rocksdb_readoptions_t, value: u8) { (*object).changed(); (*object).fields.auto_readahead_size = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_auto_readahead_size(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.auto_readahead_size != 0) });

api!(fn rocksdb_readoptions_set_allow_unprepared_value(object: *mut rocksdb_readoptions_t, value: u8) { (*object).changed(); (*object).fields.allow_unprepared_value = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_allow_unprepared_value(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.allow_unprepared_value != 0) });

api!(fn rocksdb_readoptions_set_auto_refresh_iterator_with_snapshot(object: *mut rocksdb_readoptions_t, value: u8) { (*object).changed(); (*object).fields.auto_refresh_iterator_with_snapshot = u8::from(value != 0); });

api!(fn rocksdb_readoptions_get_auto_refresh_iterator_with_snapshot(object: *const rocksdb_readoptions_t) -> u8 { u8::from((*object).fields.auto_refresh_iterator_with_snapshot != 0) });

api!(fn rocksdb_readoptions_set_io_activity(object: *mut rocksdb_readoptions_t, value: c_int) { (*object).fields.io_activity = value; });

api!(fn rocksdb_readoptions_get_io_activity(object: *const rocksdb_readoptions_t) -> c_int { (*object).fields.io_activity });

api!(fn rocksdb_readoptions_get_merge_operand_count_threshold(object: *const rocksdb_readoptions_t) -> usize { (*object).fields.merge_operand_count_threshold });

api!(fn rocksdb_compactoptions_set_exclusive_manual_compaction(object: *mut rocksdb_compactoptions_t, value: u8) { (*object).fields.exclusive_manual_compaction = u8::from(value != 0); });

api!(fn rocksdb_compactoptions_get_exclusive_manual_compaction(object: *const rocksdb_compactoptions_t) -> u8 { u8::from((*object).fields.exclusive_manual_compaction != 0) });

api!(fn rocksdb_compactoptions_set_bottommost_level_compaction(object: *mut rocksdb_compactoptions_t, value: u8) { (*object).fields.bottommost_level_compaction = value; });

api!(fn rocksdb_compactoptions_get_bottommost_level_compaction(object: *const rocksdb_compactoptions_t) -> u8 { (*object).fields.bottommost_level_compaction });

api!(fn rocksdb_compactoptions_set_change_level(object: *mut rocksdb_compactoptions_t, value: u8) { (*object).fields.change_level = u8::from(value != 0); });

api!(fn rocksdb_compactoptions_get_change_level(object: *const rocksdb_compactoptions_t) -> u8 { u8::from((*object).fields.change_level != 0) });

api!(fn rocksdb_compactoptions_set_target_level(object: *mut rocksdb_compactoptions_t, value: c_int) { (*object).fields.target_level = value; });

api!(fn rocksdb_compactoptions_get_target_level(object: *const rocksdb_compactoptions_t) -> c_int { (*object).fields.target_level });

api!(fn rocksdb_compactoptions_set_target_path_id(object: *mut rocksdb_compactoptions_t, value: c_int) { (*object).fields.target_path_id = value; });

api!(fn rocksdb_compactoptions_get_target_path_id(object: *const rocksdb_compactoptions_t) -> c_int { (*object).fields.target_path_id });

api!(fn rocksdb_compactoptions_set_allow_write_stall(object: *mut rocksdb_compactoptions_t, value: u8) { (*object).fields.allow_write_stall = u8::from(value != 0); });

api!(fn rocksdb_compactoptions_get_allow_write_stall(object: *const rocksdb_compactoptions_t) -> u8 { u8::from((*object).fields.allow_write_stall != 0) });

api!(fn rocksdb_compactoptions_set_max_subcompactions(object: *mut rocksdb_compactoptions_t, value: c_int) { (*object).fields.max_subcompactions = value; });

api!(fn rocksdb_compactoptions_get_max_subcompactions(object: *const rocksdb_compactoptions_t) -> c_int { (*object).fields.max_subcompactions });

api!(fn rocksdb_lru_cache_options_set_capacity(object: *mut rocksdb_lru_cache_options_t, value: usize) { (*object).fields.capacity = value; });

api!(fn rocksdb_lru_cache_options_set_num_shard_bits(object: *mut rocksdb_lru_cache_options_t, value: c_int) { (*object).fields.num_shard_bits = value; });

api!(fn rocksdb_hyper_clock_cache_options_set_capacity(object: *mut rocksdb_hyper_clock_cache_options_t, value: usize) { (*object).fields.capacity = value; });

api!(fn rocksdb_hyper_clock_cache_options_set_estimated_entry_charge(object: *mut rocksdb_hyper_clock_cache_options_t, value: usize) { (*object).fields.estimated_entry_charge = value; });

api!(fn rocksdb_hyper_clock_cache_options_set_num_shard_bits(object: *mut rocksdb_hyper_clock_cache_options_t, value: c_int) { (*object).fields.num_shard_bits = value; });

api!(fn rocksdb_replay_options_set_num_threads(object: *mut rocksdb_replay_options_t, value: u32) { (*object).fields.num_threads = value; });

api!(fn rocksdb_replay_options_get_num_threads(object: *const rocksdb_replay_options_t) -> u32 { (*object).fields.num_threads });

api!(fn rocksdb_replay_options_set_fast_forward(object: *mut rocksdb_replay_options_t, value: f64) { (*object).fields.fast_forward = value; });

api!(fn rocksdb_replay_options_get_fast_forward(object: *const rocksdb_replay_options_t) -> f64 { (*object).fields.fast_forward });

api!(fn rocksdb_ingestexternalfileoptions_set_move_files(object: *mut rocksdb_ingestexternalfileoptions_t, value: u8) { (*object).fields.move_files = u8::from(value != 0); });

api!(fn rocksdb_ingestexternalfileoptions_get_move_files(object: *const rocksdb_ingestexternalfileoptions_t) -> u8 { u8::from((*object).fields.move_files != 0) });

api!(fn rocksdb_ingestexternalfileoptions_set_snapshot_consistency(object: *mut rocksdb_ingestexternalfileoptions_t, value: u8) { (*object).fields.snapshot_consistency = u8::from(value != 0); });

api!(fn rocksdb_ingestexternalfileoptions_get_snapshot_consistency(object: *const rocksdb_ingestexternalfileoptions_t) -> u8 { u8::from((*object).fields.snapshot_consistency != 0) });

api!(fn rocksdb_ingestexternalfileoptions_set_allow_global_seqno(object: *mut rocksdb_ingestexternalfileoptions_t, value: u8) { (*object).fields.allow_global_seqno = u8::from(value != 0); });

api!(fn rocksdb_ingestexternalfileoptions_get_allow_global_seqno(object: *const rocksdb_ingestexternalfileoptions_t) -> u8 { u8::from((*object).fields.allow_global_seqno != 0) });

api!(fn rocksdb_ingestexternalfileoptions_set_allow_blocking_flush(object: *mut rocksdb_ingestexternalfileoptions_t, value: u8) { (*object).fields.allow_blocking_flush = u8::from(value != 0); });

api!(fn rocksdb_ingestexternalfileoptions_get_allow_blocking_flush(object: *const rocksdb_ingestexternalfileoptions_t) -> u8 { u8::from((*object).fields.allow_blocking_flush != 0) });

api!(fn rocksdb_ingestexternalfileoptions_set_ingest_behind(object: *mut rocksdb_ingestexternalfileoptions_t, value: u8) { (*object).fields.ingest_behind = u8::from(value != 0); });

api!(fn rocksdb_ingestexternalfileoptions_get_ingest_behind(object: *const rocksdb_ingestexternalfileoptions_t) -> u8 { u8::from((*object).fields.ingest_behind != 0) });

api!(fn rocksdb_ingestexternalfileoptions_set_fail_if_not_bottommost_level(object: *mut rocksdb_ingestexternalfileoptions_t, value: u8) { (*object).fields.fail_if_not_bottommost_level = u8::from(value != 0); });

api!(fn rocksdb_ingestexternalfileoptions_get_fail_if_not_bottommost_level(object: *const rocksdb_ingestexternalfileoptions_t) -> u8 { u8::from((*object).fields.fail_if_not_bottommost_level != 0) });

api!(fn rocksdb_universal_compaction_options_set_size_ratio(object: *mut rocksdb_universal_compaction_options_t, value: c_int) { (*object).fields.size_ratio = value; });

api!(fn rocksdb_universal_compaction_options_get_size_ratio(object: *const rocksdb_universal_compaction_options_t) -> c_int { (*object).fields.size_ratio });

api!(fn rocksdb_universal_compaction_options_set_min_merge_width(object: *mut rocksdb_universal_compaction_options_t, value: c_int) { (*object).fields.min_merge_width = value; });

api!(fn rocksdb_universal_compaction_options_get_min_merge_width(object: *const rocksdb_universal_compaction_options_t) -> c_int { (*object).fields.min_merge_width });

api!(fn rocksdb_universal_compaction_options_set_max_merge_width(object: *mut rocksdb_universal_compaction_options_t, value: c_int) { (*object).fields.max_merge_width = value; });

api!(fn rocksdb_universal_compaction_options_get_max_merge_width(object: *const rocksdb_universal_compaction_options_t) -> c_int { (*object).fields.max_merge_width });

api!(fn rocksdb_universal_compaction_options_set_max_size_amplification_percent(object: *mut rocksdb_universal_compaction_options_t, value: c_int) { (*object).fields.max_size_amplification_percent = value; });

api!(fn rocksdb_universal_compaction_options_get_max_size_amplification_percent(object: *const rocksdb_universal_compaction_options_t) -> c_int { (*object).fields.max_size_amplification_percent });

api!(fn rocksdb_universal_compaction_options_set_compression_size_percent(object: *mut rocksdb_universal_compaction_options_t, value: c_int) { (*object).fields.compression_size_percent = value; });

api!(fn rocksdb_universal_compaction_options_get_compression_size_percent(object: *const rocksdb_universal_compaction_options_t) -> c_int { (*object).fields.compression_size_percent });

api!(fn rocksdb_universal_compaction_options_set_stop_style(object: *mut rocksdb_universal_compaction_options_t, value: c_int) { (*object).fields.stop_style = value; });

api!(fn rocksdb_universal_compaction_options_get_stop_style(object: *const rocksdb_universal_compaction_options_t) -> c_int { (*object).fields.stop_style });

api!(fn rocksdb_fifo_compaction_options_set_allow_compaction(object: *mut rocksdb_fifo_compaction_options_t, value: u8) { (*object).fields.allow_compaction = u8::from(value != 0); });

api!(fn rocksdb_fifo_compaction_options_get_allow_compaction(object: *const rocksdb_fifo_compaction_options_t) -> u8 { u8::from((*object).fields.allow_compaction != 0) });

api!(fn rocksdb_fifo_compaction_options_set_max_table_files_size(object: *mut rocksdb_fifo_compaction_options_t, value: u64) { (*object).fields.max_table_files_size = value; });

api!(fn rocksdb_fifo_compaction_options_get_max_table_files_size(object: *const rocksdb_fifo_compaction_options_t) -> u64 { (*object).fields.max_table_files_size });

api!(fn rocksdb_fifo_compaction_options_set_max_data_files_size(object: *mut rocksdb_fifo_compaction_options_t, value: u64) { (*object).fields.max_data_files_size = value; });

api!(fn rocksdb_fifo_compaction_options_get_max_data_files_size(object: *const rocksdb_fifo_compaction_options_t) -> u64 { (*object).fields.max_data_files_size });

api!(fn rocksdb_fifo_compaction_options_set_use_kv_ratio_compaction(object: *mut rocksdb_fifo_compaction_options_t, value: u8) { (*object).fields.use_kv_ratio_compaction = u8::from(value != 0); });

api!(fn rocksdb_fifo_compaction_options_get_use_kv_ratio_compaction(object: *const rocksdb_fifo_compaction_options_t) -> u8 { u8::from((*object).fields.use_kv_ratio_compaction != 0) });

api!(fn rocksdb_import_column_family_options_set_move_files(object: *mut rocksdb_import_column_family_options_t, value: u8) { (*object).fields.move_files = u8::from(value != 0); });

api!(fn rocksdb_import_column_family_options_get_move_files(object: *const rocksdb_import_column_family_options_t) -> u8 { u8::from((*object).fields.move_files != 0) });

api!(fn rocksdb_options_set_dump_malloc_stats(object: *mut rocksdb_options_t, value: u8) { (*object).fields.dump_malloc_stats = u8::from(value != 0); });

api!(fn rocksdb_options_get_dump_malloc_stats(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.dump_malloc_stats != 0) });

api!(fn rocksdb_options_set_memtable_whole_key_filtering(object: *mut rocksdb_options_t, value: u8) { (*object).fields.memtable_whole_key_filtering = u8::from(value != 0); });

api!(fn rocksdb_options_get_memtable_whole_key_filtering(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.memtable_whole_key_filtering != 0) });

api!(fn rocksdb_wait_for_compact_options_set_abort_on_pause(object: *mut rocksdb_wait_for_compact_options_t, value: u8) { (*object).fields.abort_on_pause = u8::from(value != 0); });

api!(fn rocksdb_wait_for_compact_options_get_abort_on_pause(object: *const rocksdb_wait_for_compact_options_t) -> u8 { u8::from((*object).fields.abort_on_pause != 0) });

api!(fn rocksdb_wait_for_compact_options_set_flush(object: *mut rocksdb_wait_for_compact_options_t, value: u8) { (*object).fields.flush = u8::from(value != 0); });

api!(fn rocksdb_wait_for_compact_options_get_flush(object: *const rocksdb_wait_for_compact_options_t) -> u8 { u8::from((*object).fields.flush != 0) });

api!(fn rocksdb_wait_for_compact_options_set_close_db(object: *mut rocksdb_wait_for_compact_options_t, value: u8) { (*object).fields.close_db = u8::from(value != 0); });

api!(fn rocksdb_wait_for_compact_options_get_close_db(object: *const rocksdb_wait_for_compact_options_t) -> u8 { u8::from((*object).fields.close_db != 0) });

api!(fn rocksdb_wait_for_compact_options_set_timeout(object: *mut rocksdb_wait_for_compact_options_t, value: u64) { (*object).fields.timeout = value; });

api!(fn rocksdb_wait_for_compact_options_get_timeout(object: *const rocksdb_wait_for_compact_options_t) -> u64 { (*object).fields.timeout });

api!(fn rocksdb_open_and_compact_options_set_allow_resumption(object: *mut rocksdb_open_and_compact_options_t, value: u8) { (*object).fields.allow_resumption = u8::from(value != 0); });

api!(fn rocksdb_open_and_compact_options_get_allow_resumption(object: *const rocksdb_open_and_compact_options_t) -> u8 { u8::from((*object).fields.allow_resumption != 0) });

api!(fn rocksdb_options_set_flush_verify_memtable_count(object: *mut rocksdb_options_t, value: u8) { (*object).fields.flush_verify_memtable_count = u8::from(value != 0); });

api!(fn rocksdb_options_get_flush_verify_memtable_count(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.flush_verify_memtable_count != 0) });

api!(fn rocksdb_options_set_compaction_verify_record_count(object: *mut rocksdb_options_t, value: u8) { (*object).fields.compaction_verify_record_count = u8::from(value != 0); });

api!(fn rocksdb_options_get_compaction_verify_record_count(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.compaction_verify_record_count != 0) });

api!(fn rocksdb_options_set_track_and_verify_wals(object: *mut rocksdb_options_t, value: u8) { (*object).fields.track_and_verify_wals = u8::from(value != 0); });

api!(fn rocksdb_options_get_track_and_verify_wals(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.track_and_verify_wals != 0) });

api!(fn rocksdb_options_set_verify_sst_unique_id_in_manifest(object: *mut rocksdb_options_t, value: u8) { (*object).fields.verify_sst_unique_id_in_manifest = u8::from(value != 0); });

api!(fn rocksdb_options_get_verify_sst_unique_id_in_manifest(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.verify_sst_unique_id_in_manifest != 0) });

api!(fn rocksdb_options_set_read_io_executor_threads(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.read_io_executor_threads = value; });

api!(fn rocksdb_options_get_read_io_executor_threads(object: *const rocksdb_options_t) -> c_int { (*object).fields.read_io_executor_threads });

api!(fn rocksdb_options_set_async_wal_precreate(object: *mut rocksdb_options_t, value: u8) { (*object).fields.async_wal_precreate = u8::from(value != 0); });

api!(fn rocksdb_options_get_async_wal_precreate(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.async_wal_precreate != 0) });

api!(fn rocksdb_options_set_verify_manifest_content_on_close(object: *mut rocksdb_options_t, value: u8) { (*object).fields.verify_manifest_content_on_close = u8::from(value != 0); });

api!(fn rocksdb_options_get_verify_manifest_content_on_close(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.verify_manifest_content_on_close != 0) });

api!(fn rocksdb_options_set_optimize_manifest_for_recovery(object: *mut rocksdb_options_t, value: u8) { (*object).fields.optimize_manifest_for_recovery = u8::from(value != 0); });

api!(fn rocksdb_options_get_optimize_manifest_for_recovery(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.optimize_manifest_for_recovery != 0) });

api!(fn rocksdb_options_set_reuse_manifest_on_open(object: *mut rocksdb_options_t, value: u8) { (*object).fields.reuse_manifest_on_open = u8::from(value != 0); });

api!(fn rocksdb_options_get_reuse_manifest_on_open(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.reuse_manifest_on_open != 0) });

api!(fn rocksdb_options_set_max_manifest_space_amp_pct(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.max_manifest_space_amp_pct = value; });

api!(fn rocksdb_options_get_max_manifest_space_amp_pct(object: *const rocksdb_options_t) -> c_int { (*object).fields.max_manifest_space_amp_pct });

api!(fn rocksdb_options_set_use_direct_io_for_compaction_reads(object: *mut rocksdb_options_t, value: u8) { (*object).fields.use_direct_io_for_compaction_reads = u8::from(value != 0); });

api!(fn rocksdb_options_get_use_direct_io_for_compaction_reads(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.use_direct_io_for_compaction_reads != 0) });

api!(fn rocksdb_options_set_allow_fallocate(object: *mut rocksdb_options_t, value: u8) { (*object).fields.allow_fallocate = u8::from(value != 0); });

api!(fn rocksdb_options_get_allow_fallocate(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.allow_fallocate != 0) });

api!(fn rocksdb_options_set_persist_stats_to_disk(object: *mut rocksdb_options_t, value: u8) { (*object).fields.persist_stats_to_disk = u8::from(value != 0); });

api!(fn rocksdb_options_get_persist_stats_to_disk(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.persist_stats_to_disk != 0) });

api!(fn rocksdb_options_set_stats_history_buffer_size(object: *mut rocksdb_options_t, value: usize) { (*object).fields.stats_history_buffer_size = value; });

api!(fn rocksdb_options_get_stats_history_buffer_size(object: *const rocksdb_options_t) -> usize { (*object).fields.stats_history_buffer_size });

api!(fn rocksdb_options_set_strict_bytes_per_sync(object: *mut rocksdb_options_t, value: u8) { (*object).fields.strict_bytes_per_sync = u8::from(value != 0); });

api!(fn rocksdb_options_get_strict_bytes_per_sync(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.strict_bytes_per_sync != 0) });

api!(fn rocksdb_options_set_enable_thread_tracking(object: *mut rocksdb_options_t, value: u8) { (*object).fields.enable_thread_tracking = u8::from(value != 0); });

api!(fn rocksdb_options_get_enable_thread_tracking(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.enable_thread_tracking != 0) });

api!(fn rocksdb_options_set_delayed_write_rate(object: *mut rocksdb_options_t, value: u64) { (*object).fields.delayed_write_rate = value; });

api!(fn rocksdb_options_get_delayed_write_rate(object: *const rocksdb_options_t) -> u64 { (*object).fields.delayed_write_rate });

api!(fn rocksdb_options_set_max_write_batch_group_size_bytes(object: *mut rocksdb_options_t, value: u64) { (*object).fields.max_write_batch_group_size_bytes = value; });

api!(fn rocksdb_options_get_max_write_batch_group_size_bytes(object: *const rocksdb_options_t) -> u64 { (*object).fields.max_write_batch_group_size_bytes });

api!(fn rocksdb_options_set_write_thread_max_yield_usec(object: *mut rocksdb_options_t, value: u64) { (*object).fields.write_thread_max_yield_usec = value; });

api!(fn rocksdb_options_get_write_thread_max_yield_usec(object: *const rocksdb_options_t) -> u64 { (*object).fields.write_thread_max_yield_usec });

api!(fn rocksdb_options_set_write_thread_slow_yield_usec(object: *mut rocksdb_options_t, value: u64) { (*object).fields.write_thread_slow_yield_usec = value; });

api!(fn rocksdb_options_get_write_thread_slow_yield_usec(object: *const rocksdb_options_t) -> u64 { (*object).fields.write_thread_slow_yield_usec });

api!(fn rocksdb_options_set_allow_2pc(object: *mut rocksdb_options_t, value: u8) { (*object).fields.allow_2pc = u8::from(value != 0); });

api!(fn rocksdb_options_get_allow_2pc(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.allow_2pc != 0) });

api!(fn rocksdb_options_set_avoid_flush_during_recovery(object: *mut rocksdb_options_t, value: u8) { (*object).fields.avoid_flush_during_recovery = u8::from(value != 0); });

api!(fn rocksdb_options_get_avoid_flush_during_recovery(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.avoid_flush_during_recovery != 0) });

api!(fn rocksdb_options_set_enforce_write_buffer_manager_during_recovery(object: *mut rocksdb_options_t, value: u8) { (*object).fields.enforce_write_buffer_manager_during_recovery = u8::from(value != 0); });

api!(fn rocksdb_options_get_enforce_write_buffer_manager_during_recovery(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.enforce_write_buffer_manager_during_recovery != 0) });

api!(fn rocksdb_options_set_avoid_flush_during_shutdown(object: *mut rocksdb_options_t, value: u8) { (*object).fields.avoid_flush_during_shutdown = u8::from(value != 0); });

api!(fn rocksdb_options_get_avoid_flush_during_shutdown(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.avoid_flush_during_shutdown != 0) });

api!(fn rocksdb_options_set_two_write_queues(object: *mut rocksdb_options_t, value: u8) { (*object).fields.two_write_queues = u8::from(value != 0); });

api!(fn rocksdb_options_get_two_write_queues(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.two_write_queues != 0) });

api!(fn rocksdb_options_set_background_close_inactive_wals(object: *mut rocksdb_options_t, value: u8) { (*object).fields.background_close_inactive_wals = u8::from(value != 0); });

api!(fn rocksdb_options_get_background_close_inactive_wals(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.background_close_inactive_wals != 0) });

api!(fn rocksdb_options_set_prefix_seek_opt_in_only(object: *mut rocksdb_options_t, value: u8) { (*object).fields.prefix_seek_opt_in_only = u8::from(value != 0); });

api!(fn rocksdb_options_get_prefix_seek_opt_in_only(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.prefix_seek_opt_in_only != 0) });

api!(fn rocksdb_options_set_log_readahead_size(object: *mut rocksdb_options_t, value: usize) { (*object).fields.log_readahead_size = value; });

api!(fn rocksdb_options_get_log_readahead_size(object: *const rocksdb_options_t) -> usize { (*object).fields.log_readahead_size });

api!(fn rocksdb_options_set_best_efforts_recovery(object: *mut rocksdb_options_t, value: u8) { (*object).fields.best_efforts_recovery = u8::from(value != 0); });

api!(fn rocksdb_options_get_best_efforts_recovery(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.best_efforts_recovery != 0) });

api!(fn rocksdb_options_set_max_bgerror_resume_count(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.max_bgerror_resume_count = value; });

api!(fn rocksdb_options_get_max_bgerror_resume_count(object: *const rocksdb_options_t) -> c_int { (*object).fields.max_bgerror_resume_count });

api!(fn rocksdb_options_set_bgerror_resume_retry_interval(object: *mut rocksdb_options_t, value: u64) { (*object).fields.bgerror_resume_retry_interval = value; });

api!(fn rocksdb_options_get_bgerror_resume_retry_interval(object: *const rocksdb_options_t) -> u64 { (*object).fields.bgerror_resume_retry_interval });

api!(fn rocksdb_options_set_allow_data_in_errors(object: *mut rocksdb_options_t, value: u8) { (*object).fields.allow_data_in_errors = u8::from(value != 0); });

api!(fn rocksdb_options_get_allow_data_in_errors(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.allow_data_in_errors != 0) });

api!(fn rocksdb_options_set_lowest_used_cache_tier(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.lowest_used_cache_tier = value; });

api!(fn rocksdb_options_get_lowest_used_cache_tier(object: *const rocksdb_options_t) -> c_int { (*object).fields.lowest_used_cache_tier });

api!(fn rocksdb_options_set_enforce_single_del_contracts(object: *mut rocksdb_options_t, value: u8) { (*object).fields.enforce_single_del_contracts = u8::from(value != 0); });

api!(fn rocksdb_options_get_enforce_single_del_contracts(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.enforce_single_del_contracts != 0) });

api!(fn rocksdb_options_set_follower_refresh_catchup_period_ms(object: *mut rocksdb_options_t, value: u64) { (*object).fields.follower_refresh_catchup_period_ms = value; });

api!(fn rocksdb_options_get_follower_refresh_catchup_period_ms(object: *const rocksdb_options_t) -> u64 { (*object).fields.follower_refresh_catchup_period_ms });

api!(fn rocksdb_options_set_follower_catchup_retry_count(object: *mut rocksdb_options_t, value: u64) { (*object).fields.follower_catchup_retry_count = value; });

api!(fn rocksdb_options_get_follower_catchup_retry_count(object: *const rocksdb_options_t) -> u64 { (*object).fields.follower_catchup_retry_count });

api!(fn rocksdb_options_set_follower_catchup_retry_wait_ms(object: *mut rocksdb_options_t, value: u64) { (*object).fields.follower_catchup_retry_wait_ms = value; });

api!(fn rocksdb_options_get_follower_catchup_retry_wait_ms(object: *const rocksdb_options_t) -> u64 { (*object).fields.follower_catchup_retry_wait_ms });

api!(fn rocksdb_options_set_metadata_write_temperature(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.metadata_write_temperature = value; });

api!(fn rocksdb_options_get_metadata_write_temperature(object: *const rocksdb_options_t) -> c_int { (*object).fields.metadata_write_temperature });

api!(fn rocksdb_options_set_wal_write_temperature(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.wal_write_temperature = value; });

api!(fn rocksdb_options_get_wal_write_temperature(object: *const rocksdb_options_t) -> c_int { (*object).fields.wal_write_temperature });

api!(fn rocksdb_options_set_fast_sst_open(object: *mut rocksdb_options_t, value: u8) { (*object).fields.fast_sst_open = u8::from(value != 0); });

api!(fn rocksdb_options_get_fast_sst_open(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.fast_sst_open != 0) });

api!(fn rocksdb_options_set_target_file_size_is_upper_bound(object: *mut rocksdb_options_t, value: u8) { (*object).fields.target_file_size_is_upper_bound = u8::from(value != 0); });

api!(fn rocksdb_options_get_target_file_size_is_upper_bound(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.target_file_size_is_upper_bound != 0) });

api!(fn rocksdb_options_set_strict_max_successive_merges(object: *mut rocksdb_options_t, value: u8) { (*object).fields.strict_max_successive_merges = u8::from(value != 0); });

api!(fn rocksdb_options_get_strict_max_successive_merges(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.strict_max_successive_merges != 0) });

api!(fn rocksdb_options_set_paranoid_file_checks(object: *mut rocksdb_options_t, value: u8) { (*object).fields.paranoid_file_checks = u8::from(value != 0); });

api!(fn rocksdb_options_get_paranoid_file_checks(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.paranoid_file_checks != 0) });

api!(fn rocksdb_options_set_verify_output_flags(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.verify_output_flags = value; });

api!(fn rocksdb_options_get_verify_output_flags(object: *const rocksdb_options_t) -> c_int { (*object).fields.verify_output_flags });

api!(fn rocksdb_options_set_force_consistency_checks(object: *mut rocksdb_options_t, value: u8) { (*object).fields.force_consistency_checks = u8::from(value != 0); });

api!(fn rocksdb_options_get_force_consistency_checks(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.force_consistency_checks != 0) });

api!(fn rocksdb_options_set_disallow_memtable_writes(object: *mut rocksdb_options_t, value: u8) { (*object).fields.disallow_memtable_writes = u8::from(value != 0); });

api!(fn rocksdb_options_get_disallow_memtable_writes(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.disallow_memtable_writes != 0) });

api!(fn rocksdb_options_set_sample_for_compression(object: *mut rocksdb_options_t, value: u64) { (*object).fields.sample_for_compression = value; });

api!(fn rocksdb_options_get_sample_for_compression(object: *const rocksdb_options_t) -> u64 { (*object).fields.sample_for_compression });

api!(fn rocksdb_options_set_last_level_temperature(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.last_level_temperature = value; });

api!(fn rocksdb_options_get_last_level_temperature(object: *const rocksdb_options_t) -> c_int { (*object).fields.last_level_temperature });

api!(fn rocksdb_options_set_default_write_temperature(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.default_write_temperature = value; });

api!(fn rocksdb_options_get_default_write_temperature(object: *const rocksdb_options_t) -> c_int { (*object).fields.default_write_temperature });

api!(fn rocksdb_options_set_default_temperature(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.default_temperature = value; });

api!(fn rocksdb_options_get_default_temperature(object: *const rocksdb_options_t) -> c_int { (*object).fields.default_temperature });

api!(fn rocksdb_options_set_preclude_last_level_data_seconds(object: *mut rocksdb_options_t, value: u64) { (*object).fields.preclude_last_level_data_seconds = value; });

api!(fn rocksdb_options_get_preclude_last_level_data_seconds(object: *const rocksdb_options_t) -> u64 { (*object).fields.preclude_last_level_data_seconds });

api!(fn rocksdb_options_set_preserve_internal_time_seconds(object: *mut rocksdb_options_t, value: u64) { (*object).fields.preserve_internal_time_seconds = value; });

api!(fn rocksdb_options_get_preserve_internal_time_seconds(object: *const rocksdb_options_t) -> u64 { (*object).fields.preserve_internal_time_seconds });

api!(fn rocksdb_options_set_enable_blob_direct_write(object: *mut rocksdb_options_t, value: u8) { (*object).fields.enable_blob_direct_write = u8::from(value != 0); });

api!(fn rocksdb_options_get_enable_blob_direct_write(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.enable_blob_direct_write != 0) });

api!(fn rocksdb_options_set_blob_direct_write_partitions(object: *mut rocksdb_options_t, value: u32) { (*object).fields.blob_direct_write_partitions = value; });

api!(fn rocksdb_options_get_blob_direct_write_partitions(object: *const rocksdb_options_t) -> u32 { (*object).fields.blob_direct_write_partitions });

api!(fn rocksdb_options_set_memtable_protection_bytes_per_key(object: *mut rocksdb_options_t, value: u32) { (*object).fields.memtable_protection_bytes_per_key = value; });

api!(fn rocksdb_options_get_memtable_protection_bytes_per_key(object: *const rocksdb_options_t) -> u32 { (*object).fields.memtable_protection_bytes_per_key });

api!(fn rocksdb_options_set_persist_user_defined_timestamps(object: *mut rocksdb_options_t, value: u8) { (*object).fields.persist_user_defined_timestamps = u8::from(value != 0); });

api!(fn rocksdb_options_get_persist_user_defined_timestamps(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.persist_user_defined_timestamps != 0) });

api!(fn rocksdb_options_set_block_protection_bytes_per_key(object: *mut rocksdb_options_t, value: u8) { (*object).fields.block_protection_bytes_per_key = value; });

api!(fn rocksdb_options_get_block_protection_bytes_per_key(object: *const rocksdb_options_t) -> u8 { (*object).fields.block_protection_bytes_per_key });

api!(fn rocksdb_options_set_bottommost_file_compaction_delay(object: *mut rocksdb_options_t, value: u32) { (*object).fields.bottommost_file_compaction_delay = value; });

api!(fn rocksdb_options_get_bottommost_file_compaction_delay(object: *const rocksdb_options_t) -> u32 { (*object).fields.bottommost_file_compaction_delay });

api!(fn rocksdb_options_set_paranoid_memory_checks(object: *mut rocksdb_options_t, value: u8) { (*object).fields.paranoid_memory_checks = u8::from(value != 0); });

api!(fn rocksdb_options_get_paranoid_memory_checks(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.paranoid_memory_checks != 0) });

api!(fn rocksdb_options_set_memtable_verify_per_key_checksum_on_seek(object: *mut rocksdb_options_t, value: u8) { (*object).fields.memtable_verify_per_key_checksum_on_seek = u8::from(value != 0); });

api!(fn rocksdb_options_get_memtable_verify_per_key_checksum_on_seek(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.memtable_verify_per_key_checksum_on_seek != 0) });

api!(fn rocksdb_options_set_cf_allow_ingest_behind(object: *mut rocksdb_options_t, value: u8) { (*object).fields.cf_allow_ingest_behind = u8::from(value != 0); });

api!(fn rocksdb_options_get_cf_allow_ingest_behind(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.cf_allow_ingest_behind != 0) });

api!(fn rocksdb_options_set_memtable_batch_lookup_optimization(object: *mut rocksdb_options_t, value: u8) { (*object).fields.memtable_batch_lookup_optimization = u8::from(value != 0); });

api!(fn rocksdb_options_get_memtable_batch_lookup_optimization(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.memtable_batch_lookup_optimization != 0) });

api!(fn rocksdb_options_set_memtable_max_range_deletions(object: *mut rocksdb_options_t, value: u32) { (*object).fields.memtable_max_range_deletions = value; });

api!(fn rocksdb_options_get_memtable_max_range_deletions(object: *const rocksdb_options_t) -> u32 { (*object).fields.memtable_max_range_deletions });

api!(fn rocksdb_options_set_uncache_aggressiveness(object: *mut rocksdb_options_t, value: u32) { (*object).fields.uncache_aggressiveness = value; });

api!(fn rocksdb_options_get_uncache_aggressiveness(object: *const rocksdb_options_t) -> u32 { (*object).fields.uncache_aggressiveness });

api!(fn rocksdb_writeoptions_set_sync(object: *mut rocksdb_writeoptions_t, value: u8) { (*object).fields.sync = u8::from(value != 0); });

api!(fn rocksdb_writeoptions_get_sync(object: *const rocksdb_writeoptions_t) -> u8 { u8::from((*object).fields.sync != 0) });

api!(fn rocksdb_writeoptions_set_ignore_missing_column_families(object: *mut rocksdb_writeoptions_t, value: u8) { (*object).fields.ignore_missing_column_families = u8::from(value != 0); });

api!(fn rocksdb_writeoptions_get_ignore_missing_column_families(object: *const rocksdb_writeoptions_t) -> u8 { u8::from((*object).fields.ignore_missing_column_families != 0) });

api!(fn rocksdb_writeoptions_set_no_slowdown(object: *mut rocksdb_writeoptions_t, value: u8) { (*object).fields.no_slowdown = u8::from(value != 0); });

api!(fn rocksdb_writeoptions_get_no_slowdown(object: *const rocksdb_writeoptions_t) -> u8 { u8::from((*object).fields.no_slowdown != 0) });

api!(fn rocksdb_writeoptions_set_low_pri(object: *mut rocksdb_writeoptions_t, value: u8) { (*object).fields.low_pri = u8::from(value != 0); });

api!(fn rocksdb_writeoptions_get_low_pri(object: *const rocksdb_writeoptions_t) -> u8 { u8::from((*object).fields.low_pri != 0) });

api!(fn rocksdb_writeoptions_set_memtable_insert_hint_per_batch(object: *mut rocksdb_writeoptions_t, value: u8) { (*object).fields.memtable_insert_hint_per_batch = u8::from(value != 0); });

api!(fn rocksdb_writeoptions_get_memtable_insert_hint_per_batch(object: *const rocksdb_writeoptions_t) -> u8 { u8::from((*object).fields.memtable_insert_hint_per_batch != 0) });

api!(fn rocksdb_writeoptions_set_rate_limiter_priority(object: *mut rocksdb_writeoptions_t, value: c_int) { (*object).fields.rate_limiter_priority = value; });

api!(fn rocksdb_writeoptions_get_rate_limiter_priority(object: *const rocksdb_writeoptions_t) -> c_int { (*object).fields.rate_limiter_priority });

api!(fn rocksdb_writeoptions_set_protection_bytes_per_key(object: *mut rocksdb_writeoptions_t, value: usize) { (*object).fields.protection_bytes_per_key = value; });

api!(fn rocksdb_writeoptions_get_protection_bytes_per_key(object: *const rocksdb_writeoptions_t) -> usize { (*object).fields.protection_bytes_per_key });

api!(fn rocksdb_writeoptions_set_io_activity(object: *mut rocksdb_writeoptions_t, value: c_int) { (*object).fields.io_activity = value; });

api!(fn rocksdb_writeoptions_get_io_activity(object: *const rocksdb_writeoptions_t) -> c_int { (*object).fields.io_activity });

api!(fn rocksdb_flushoptions_set_wait(object: *mut rocksdb_flushoptions_t, value: u8) { (*object).fields.wait = u8::from(value != 0); });

api!(fn rocksdb_flushoptions_get_wait(object: *const rocksdb_flushoptions_t) -> u8 { u8::from((*object).fields.wait != 0) });

api!(fn rocksdb_flushoptions_set_allow_write_stall(object: *mut rocksdb_flushoptions_t, value: u8) { (*object).fields.allow_write_stall = u8::from(value != 0); });

api!(fn rocksdb_flushoptions_get_allow_write_stall(object: *const rocksdb_flushoptions_t) -> u8 { u8::from((*object).fields.allow_write_stall != 0) });

api!(fn rocksdb_flushoptions_set_force_atomic_flush(object: *mut rocksdb_flushoptions_t, value: u8) { (*object).fields.force_atomic_flush = u8::from(value != 0); });

api!(fn rocksdb_flushoptions_get_force_atomic_flush(object: *const rocksdb_flushoptions_t) -> u8 { u8::from((*object).fields.force_atomic_flush != 0) });

api!(fn rocksdb_flushoptions_set_listener_wait(object: *mut rocksdb_flushoptions_t, value: u8) { (*object).fields.listener_wait = u8::from(value != 0); });

api!(fn rocksdb_flushoptions_get_listener_wait(object: *const rocksdb_flushoptions_t) -> u8 { u8::from((*object).fields.listener_wait != 0) });

api!(fn rocksdb_flushwaloptions_set_sync(object: *mut rocksdb_flushwaloptions_t, value: u8) { (*object).fields.sync = u8::from(value != 0); });

api!(fn rocksdb_flushwaloptions_get_sync(object: *const rocksdb_flushwaloptions_t) -> u8 { u8::from((*object).fields.sync != 0) });

api!(fn rocksdb_flushwaloptions_set_rate_limiter_priority(object: *mut rocksdb_flushwaloptions_t, value: c_int) { (*object).fields.rate_limiter_priority = value; });

api!(fn rocksdb_flushwaloptions_get_rate_limiter_priority(object: *const rocksdb_flushwaloptions_t) -> c_int { (*object).fields.rate_limiter_priority });

api!(fn rocksdb_envoptions_set_use_mmap_reads(object: *mut rocksdb_envoptions_t, value: u8) { (*object).fields.use_mmap_reads = u8::from(value != 0); });

api!(fn rocksdb_envoptions_get_use_mmap_reads(object: *const rocksdb_envoptions_t) -> u8 { u8::from((*object).fields.use_mmap_reads != 0) });

api!(fn rocksdb_envoptions_set_use_mmap_writes(object: *mut rocksdb_envoptions_t, value: u8) { (*object).fields.use_mmap_writes = u8::from(value != 0); });

api!(fn rocksdb_envoptions_get_use_mmap_writes(object: *const rocksdb_envoptions_t) -> u8 { u8::from((*object).fields.use_mmap_writes != 0) });

api!(fn rocksdb_envoptions_set_use_direct_reads(object: *mut rocksdb_envoptions_t, value: u8) { (*object).fields.use_direct_reads = u8::from(value != 0); });

api!(fn rocksdb_envoptions_get_use_direct_reads(object: *const rocksdb_envoptions_t) -> u8 { u8::from((*object).fields.use_direct_reads != 0) });

api!(fn rocksdb_envoptions_set_use_direct_writes(object: *mut rocksdb_envoptions_t, value: u8) { (*object).fields.use_direct_writes = u8::from(value != 0); });

api!(fn rocksdb_envoptions_get_use_direct_writes(object: *const rocksdb_envoptions_t) -> u8 { u8::from((*object).fields.use_direct_writes != 0) });

api!(fn rocksdb_envoptions_set_allow_fallocate(object: *mut rocksdb_envoptions_t, value: u8) { (*object).fields.allow_fallocate = u8::from(value != 0); });

api!(fn rocksdb_envoptions_get_allow_fallocate(object: *const rocksdb_envoptions_t) -> u8 { u8::from((*object).fields.allow_fallocate != 0) });

api!(fn rocksdb_envoptions_set_fd_cloexec(object: *mut rocksdb_envoptions_t, value: u8) { (*object).fields.fd_cloexec = u8::from(value != 0); });

api!(fn rocksdb_envoptions_get_fd_cloexec(object: *const rocksdb_envoptions_t) -> u8 { u8::from((*object).fields.fd_cloexec != 0) });

api!(fn rocksdb_envoptions_set_bytes_per_sync(object: *mut rocksdb_envoptions_t, value: u64) { (*object).fields.bytes_per_sync = value; });

api!(fn rocksdb_envoptions_get_bytes_per_sync(object: *const rocksdb_envoptions_t) -> u64 { (*object).fields.bytes_per_sync });

api!(fn rocksdb_envoptions_set_strict_bytes_per_sync(object: *mut rocksdb_envoptions_t, value: u8) { (*object).fields.strict_bytes_per_sync = u8::from(value != 0); });

api!(fn rocksdb_envoptions_get_strict_bytes_per_sync(object: *const rocksdb_envoptions_t) -> u8 { u8::from((*object).fields.strict_bytes_per_sync != 0) });

api!(fn rocksdb_envoptions_set_fallocate_with_keep_size(object: *mut rocksdb_envoptions_t, value: u8) { (*object).fields.fallocate_with_keep_size = u8::from(value != 0); });

api!(fn rocksdb_envoptions_get_fallocate_with_keep_size(object: *const rocksdb_envoptions_t) -> u8 { u8::from((*object).fields.fallocate_with_keep_size != 0) });

api!(fn rocksdb_envoptions_set_compaction_readahead_size(object: *mut rocksdb_envoptions_t, value: usize) { (*object).fields.compaction_readahead_size = value; });

api!(fn rocksdb_envoptions_get_compaction_readahead_size(object: *const rocksdb_envoptions_t) -> usize { (*object).fields.compaction_readahead_size });

api!(fn rocksdb_envoptions_set_writable_file_max_buffer_size(object: *mut rocksdb_envoptions_t, value: usize) { (*object).fields.writable_file_max_buffer_size = value; });

api!(fn rocksdb_envoptions_get_writable_file_max_buffer_size(object: *const rocksdb_envoptions_t) -> usize { (*object).fields.writable_file_max_buffer_size });

api!(fn rocksdb_trace_options_set_max_trace_file_size(object: *mut rocksdb_trace_options_t, value: u64) { (*object).fields.max_trace_file_size = value; });

api!(fn rocksdb_trace_options_get_max_trace_file_size(object: *const rocksdb_trace_options_t) -> u64 { (*object).fields.max_trace_file_size });

api!(fn rocksdb_trace_options_set_sampling_frequency(object: *mut rocksdb_trace_options_t, value: u64) { (*object).fields.sampling_frequency = value; });

api!(fn rocksdb_trace_options_get_sampling_frequency(object: *const rocksdb_trace_options_t) -> u64 { (*object).fields.sampling_frequency });

api!(fn rocksdb_trace_options_set_filter(object: *mut rocksdb_trace_options_t, value: u64) { (*object).fields.filter = value; });

api!(fn rocksdb_trace_options_get_filter(object: *const rocksdb_trace_options_t) -> u64 { (*object).fields.filter });

api!(fn rocksdb_trace_options_set_preserve_write_order(object: *mut rocksdb_trace_options_t, value: u8) { (*object).fields.preserve_write_order = u8::from(value != 0); });

api!(fn rocksdb_trace_options_get_preserve_write_order(object: *const rocksdb_trace_options_t) -> u8 { u8::from((*object).fields.preserve_write_order != 0) });

api!(fn rocksdb_block_cache_trace_options_set_sampling_frequency(object: *mut rocksdb_block_cache_trace_options_t, value: u64) { (*object).fields.sampling_frequency = value; });

api!(fn rocksdb_block_cache_trace_options_get_sampling_frequency(object: *const rocksdb_block_cache_trace_options_t) -> u64 { (*object).fields.sampling_frequency });

api!(fn rocksdb_block_cache_trace_writer_options_set_max_trace_file_size(object: *mut rocksdb_block_cache_trace_writer_options_t, value: u64) { (*object).fields.max_trace_file_size = value; });

api!(fn rocksdb_block_cache_trace_writer_options_get_max_trace_file_size(object: *const rocksdb_block_cache_trace_writer_options_t) -> u64 { (*object).fields.max_trace_file_size });

api!(fn rocksdb_compaction_options_set_compression(object: *mut rocksdb_compaction_options_t, value: c_int) { (*object).fields.compression = value; });

api!(fn rocksdb_compaction_options_get_compression(object: *const rocksdb_compaction_options_t) -> c_int { (*object).fields.compression });

api!(fn rocksdb_compaction_options_set_output_file_size_limit(object: *mut rocksdb_compaction_options_t, value: u64) { (*object).fields.output_file_size_limit = value; });

api!(fn rocksdb_compaction_options_get_output_file_size_limit(object: *const rocksdb_compaction_options_t) -> u64 { (*object).fields.output_file_size_limit });

api!(fn rocksdb_compaction_options_set_max_subcompactions(object: *mut rocksdb_compaction_options_t, value: u32) { (*object).fields.max_subcompactions = value; });

api!(fn rocksdb_compaction_options_get_max_subcompactions(object: *const rocksdb_compaction_options_t) -> u32 { (*object).fields.max_subcompactions });

api!(fn rocksdb_compaction_options_set_output_temperature_override(object: *mut rocksdb_compaction_options_t, value: c_int) { (*object).fields.output_temperature_override = value; });

api!(fn rocksdb_compaction_options_get_output_temperature_override(object: *const rocksdb_compaction_options_t) -> c_int { (*object).fields.output_temperature_override });

api!(fn rocksdb_compaction_options_set_allow_trivial_move(object: *mut rocksdb_compaction_options_t, value: u8) { (*object).fields.allow_trivial_move = u8::from(value != 0); });

api!(fn rocksdb_compaction_options_get_allow_trivial_move(object: *const rocksdb_compaction_options_t) -> u8 { u8::from((*object).fields.allow_trivial_move != 0) });

api!(fn rocksdb_compactoptions_set_blob_garbage_collection_policy(object: *mut rocksdb_compactoptions_t, value: c_int) { (*object).fields.blob_garbage_collection_policy = value; });

api!(fn rocksdb_compactoptions_get_blob_garbage_collection_policy(object: *const rocksdb_compactoptions_t) -> c_int { (*object).fields.blob_garbage_collection_policy });

api!(fn rocksdb_compactoptions_set_blob_garbage_collection_age_cutoff(object: *mut rocksdb_compactoptions_t, value: f64) { (*object).fields.blob_garbage_collection_age_cutoff = value; });

api!(fn rocksdb_compactoptions_get_blob_garbage_collection_age_cutoff(object: *const rocksdb_compactoptions_t) -> f64 { (*object).fields.blob_garbage_collection_age_cutoff });

api!(fn rocksdb_ingestexternalfileoptions_set_link_files(object: *mut rocksdb_ingestexternalfileoptions_t, value: u8) { (*object).fields.link_files = u8::from(value != 0); });

api!(fn rocksdb_ingestexternalfileoptions_get_link_files(object: *const rocksdb_ingestexternalfileoptions_t) -> u8 { u8::from((*object).fields.link_files != 0) });

api!(fn rocksdb_ingestexternalfileoptions_set_failed_move_fall_back_to_copy(object: *mut rocksdb_ingestexternalfileoptions_t, value: u8) { (*object).fields.failed_move_fall_back_to_copy = u8::from(value != 0); });

api!(fn rocksdb_ingestexternalfileoptions_get_failed_move_fall_back_to_copy(object: *const rocksdb_ingestexternalfileoptions_t) -> u8 { u8::from((*object).fields.failed_move_fall_back_to_copy != 0) });

api!(fn rocksdb_ingestexternalfileoptions_set_write_global_seqno(object: *mut rocksdb_ingestexternalfileoptions_t, value: u8) { (*object).fields.write_global_seqno = u8::from(value != 0); });

api!(fn rocksdb_ingestexternalfileoptions_get_write_global_seqno(object: *const rocksdb_ingestexternalfileoptions_t) -> u8 { u8::from((*object).fields.write_global_seqno != 0) });

api!(fn rocksdb_ingestexternalfileoptions_set_verify_checksums_before_ingest(object: *mut rocksdb_ingestexternalfileoptions_t, value: u8) { (*object).fields.verify_checksums_before_ingest = u8::from(value != 0); });

api!(fn rocksdb_ingestexternalfileoptions_get_verify_checksums_before_ingest(object: *const rocksdb_ingestexternalfileoptions_t) -> u8 { u8::from((*object).fields.verify_checksums_before_ingest != 0) });

api!(fn rocksdb_ingestexternalfileoptions_set_verify_checksums_readahead_size(object: *mut rocksdb_ingestexternalfileoptions_t, value: usize) { (*object).fields.verify_checksums_readahead_size = value; });

api!(fn rocksdb_ingestexternalfileoptions_get_verify_checksums_readahead_size(object: *const rocksdb_ingestexternalfileoptions_t) -> usize { (*object).fields.verify_checksums_readahead_size });

api!(fn rocksdb_ingestexternalfileoptions_set_verify_file_checksum(object: *mut rocksdb_ingestexternalfileoptions_t, value: u8) { (*object).fields.verify_file_checksum = u8::from(value != 0); });

api!(fn rocksdb_ingestexternalfileoptions_get_verify_file_checksum(object: *const rocksdb_ingestexternalfileoptions_t) -> u8 { u8::from((*object).fields.verify_file_checksum != 0) });

api!(fn rocksdb_ingestexternalfileoptions_set_allow_db_generated_files(object: *mut rocksdb_ingestexternalfileoptions_t, value: u8) { (*object).fields.allow_db_generated_files = u8::from(value != 0); });

api!(fn rocksdb_ingestexternalfileoptions_get_allow_db_generated_files(object: *const rocksdb_ingestexternalfileoptions_t) -> u8 { u8::from((*object).fields.allow_db_generated_files != 0) });

api!(fn rocksdb_ingestexternalfileoptions_set_fill_cache(object: *mut rocksdb_ingestexternalfileoptions_t, value: u8) { (*object).fields.fill_cache = u8::from(value != 0); });

api!(fn rocksdb_ingestexternalfileoptions_get_fill_cache(object: *const rocksdb_ingestexternalfileoptions_t) -> u8 { u8::from((*object).fields.fill_cache != 0) });

api!(fn rocksdb_ingestexternalfileoptions_set_prefetch_lmax_index_and_filter_blocks(object: *mut rocksdb_ingestexternalfileoptions_t, value: u8) { (*object).fields.prefetch_lmax_index_and_filter_blocks = u8::from(value != 0); });

api!(fn rocksdb_ingestexternalfileoptions_get_prefetch_lmax_index_and_filter_blocks(object: *const rocksdb_ingestexternalfileoptions_t) -> u8 { u8::from((*object).fields.prefetch_lmax_index_and_filter_blocks != 0) });

api!(fn rocksdb_ingestexternalfileoptions_set_file_opening_threads(object: *mut rocksdb_ingestexternalfileoptions_t, value: c_int) { (*object).fields.file_opening_threads = value; });

api!(fn rocksdb_ingestexternalfileoptions_get_file_opening_threads(object: *const rocksdb_ingestexternalfileoptions_t) -> c_int { (*object).fields.file_opening_threads });

api!(fn rocksdb_size_approximation_options_set_include_memtables(object: *mut rocksdb_size_approximation_options_t, value: u8) { (*object).fields.include_memtables = u8::from(value != 0); });

api!(fn rocksdb_size_approximation_options_get_include_memtables(object: *const rocksdb_size_approximation_options_t) -> u8 { u8::from((*object).fields.include_memtables != 0) });

api!(fn rocksdb_size_approximation_options_set_include_files(object: *mut rocksdb_size_approximation_options_t, value: u8) { (*object).fields.include_files = u8::from(value != 0); });

api!(fn rocksdb_size_approximation_options_get_include_files(object: *const rocksdb_size_approximation_options_t) -> u8 { u8::from((*object).fields.include_files != 0) });

api!(fn rocksdb_size_approximation_options_set_include_blob_files(object: *mut rocksdb_size_approximation_options_t, value: u8) { (*object).fields.include_blob_files = u8::from(value != 0); });

api!(fn rocksdb_size_approximation_options_get_include_blob_files(object: *const rocksdb_size_approximation_options_t) -> u8 { u8::from((*object).fields.include_blob_files != 0) });

api!(fn rocksdb_size_approximation_options_set_files_size_error_margin(object: *mut rocksdb_size_approximation_options_t, value: f64) { (*object).fields.files_size_error_margin = value; });

api!(fn rocksdb_size_approximation_options_get_files_size_error_margin(object: *const rocksdb_size_approximation_options_t) -> f64 { (*object).fields.files_size_error_margin });

api!(fn rocksdb_livefiles_storage_info_options_set_include_checksum_info(object: *mut rocksdb_livefiles_storage_info_options_t, value: u8) { (*object).fields.include_checksum_info = u8::from(value != 0); });

api!(fn rocksdb_livefiles_storage_info_options_get_include_checksum_info(object: *const rocksdb_livefiles_storage_info_options_t) -> u8 { u8::from((*object).fields.include_checksum_info != 0) });

api!(fn rocksdb_livefiles_storage_info_options_set_wal_size_for_flush(object: *mut rocksdb_livefiles_storage_info_options_t, value: u64) { (*object).fields.wal_size_for_flush = value; });

api!(fn rocksdb_livefiles_storage_info_options_get_wal_size_for_flush(object: *const rocksdb_livefiles_storage_info_options_t) -> u64 { (*object).fields.wal_size_for_flush });

api!(fn rocksdb_livefiles_storage_info_options_set_atomic_flush(object: *mut rocksdb_livefiles_storage_info_options_t, value: u8) { (*object).fields.atomic_flush = u8::from(value != 0); });

api!(fn rocksdb_livefiles_storage_info_options_get_atomic_flush(object: *const rocksdb_livefiles_storage_info_options_t) -> u8 { u8::from((*object).fields.atomic_flush != 0) });

api!(fn rocksdb_column_family_metadata_options_set_level(object: *mut rocksdb_column_family_metadata_options_t, value: c_int) { (*object).fields.level = value; });

api!(fn rocksdb_column_family_metadata_options_get_level(object: *const rocksdb_column_family_metadata_options_t) -> c_int { (*object).fields.level });

api!(fn rocksdb_wait_for_compact_options_set_wait_for_purge(object: *mut rocksdb_wait_for_compact_options_t, value: u8) { (*object).fields.wait_for_purge = u8::from(value != 0); });

api!(fn rocksdb_wait_for_compact_options_get_wait_for_purge(object: *const rocksdb_wait_for_compact_options_t) -> u8 { u8::from((*object).fields.wait_for_purge != 0) });

api!(fn rocksdb_block_based_options_set_cache_index_and_filter_blocks(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.cache_index_and_filter_blocks = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_cache_index_and_filter_blocks(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.cache_index_and_filter_blocks != 0) });

api!(fn rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.cache_index_and_filter_blocks_with_high_priority = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_cache_index_and_filter_blocks_with_high_priority(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.cache_index_and_filter_blocks_with_high_priority != 0) });

api!(fn rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.pin_l0_filter_and_index_blocks_in_cache = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_pin_l0_filter_and_index_blocks_in_cache(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.pin_l0_filter_and_index_blocks_in_cache != 0) });

api!(fn rocksdb_block_based_options_set_pin_top_level_index_and_filter(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.pin_top_level_index_and_filter = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_pin_top_level_index_and_filter(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.pin_top_level_index_and_filter != 0) });

api!(fn rocksdb_block_based_options_set_index_type(object: *mut rocksdb_block_based_table_options_t, value: c_int) { (*object).fields.index_type = value; });

api!(fn rocksdb_block_based_options_get_index_type(object: *const rocksdb_block_based_table_options_t) -> c_int { (*object).fields.index_type });

api!(fn rocksdb_block_based_options_set_index_block_search_type(object: *mut rocksdb_block_based_table_options_t, value: c_int) { (*object).fields.index_block_search_type = value; });

api!(fn rocksdb_block_based_options_get_index_block_search_type(object: *const rocksdb_block_based_table_options_t) -> c_int { (*object).fields.index_block_search_type });

api!(fn rocksdb_block_based_options_set_data_block_index_type(object: *mut rocksdb_block_based_table_options_t, value: c_int) { (*object).fields.data_block_index_type = value; });

api!(fn rocksdb_block_based_options_get_data_block_index_type(object: *const rocksdb_block_based_table_options_t) -> c_int { (*object).fields.data_block_index_type });

api!(fn rocksdb_block_based_options_set_data_block_hash_table_util_ratio(object: *mut rocksdb_block_based_table_options_t, value: f64) { (*object).fields.data_block_hash_table_util_ratio = value; });

api!(fn rocksdb_block_based_options_get_data_block_hash_table_util_ratio(object: *const rocksdb_block_based_table_options_t) -> f64 { (*object).fields.data_block_hash_table_util_ratio });

api!(fn rocksdb_block_based_options_set_checksum(object: *mut rocksdb_block_based_table_options_t, value: c_char) { (*object).fields.checksum = value; });

api!(fn rocksdb_block_based_options_get_checksum(object: *const rocksdb_block_based_table_options_t) -> c_int { (*object).fields.checksum as c_int });

api!(fn rocksdb_block_based_options_set_no_block_cache(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.no_block_cache = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_no_block_cache(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.no_block_cache != 0) });

api!(fn rocksdb_block_based_options_set_block_size(object: *mut rocksdb_block_based_table_options_t, value: usize) { (*object).fields.block_size = value; });

api!(fn rocksdb_block_based_options_get_block_size(object: *const rocksdb_block_based_table_options_t) -> u64 { (*object).fields.block_size as u64 });

api!(fn rocksdb_block_based_options_set_block_size_deviation(object: *mut rocksdb_block_based_table_options_t, value: c_int) { (*object).fields.block_size_deviation = value; });

api!(fn rocksdb_block_based_options_get_block_size_deviation(object: *const rocksdb_block_based_table_options_t) -> c_int { (*object).fields.block_size_deviation });

api!(fn rocksdb_block_based_options_set_block_restart_interval(object: *mut rocksdb_block_based_table_options_t, value: c_int) { (*object).fields.block_restart_interval = value; });

api!(fn rocksdb_block_based_options_get_block_restart_interval(object: *const rocksdb_block_based_table_options_t) -> c_int { (*object).fields.block_restart_interval });

api!(fn rocksdb_block_based_options_set_index_block_restart_interval(object: *mut rocksdb_block_based_table_options_t, value: c_int) { (*object).fields.index_block_restart_interval = value; });

api!(fn rocksdb_block_based_options_get_index_block_restart_interval(object: *const rocksdb_block_based_table_options_t) -> c_int { (*object).fields.index_block_restart_interval });

api!(fn rocksdb_block_based_options_set_metadata_block_size(object: *mut rocksdb_block_based_table_options_t, value: u64) { (*object).fields.metadata_block_size = value; });

api!(fn rocksdb_block_based_options_get_metadata_block_size(object: *const rocksdb_block_based_table_options_t) -> u64 { (*object).fields.metadata_block_size });

api!(fn rocksdb_block_based_options_set_partition_filters(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.partition_filters = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_partition_filters(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.partition_filters != 0) });

api!(fn rocksdb_block_based_options_set_decouple_partitioned_filters(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.decouple_partitioned_filters = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_decouple_partitioned_filters(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.decouple_partitioned_filters != 0) });

api!(fn rocksdb_block_based_options_set_optimize_filters_for_memory(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.optimize_filters_for_memory = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_optimize_filters_for_memory(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.optimize_filters_for_memory != 0) });

api!(fn rocksdb_block_based_options_set_use_delta_encoding(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.use_delta_encoding = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_use_delta_encoding(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.use_delta_encoding != 0) });

api!(fn rocksdb_block_based_options_set_use_udi_as_primary_index(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.use_udi_as_primary_index = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_use_udi_as_primary_index(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.use_udi_as_primary_index != 0) });

api!(fn rocksdb_block_based_options_set_fail_if_no_udi_on_open(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.fail_if_no_udi_on_open = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_fail_if_no_udi_on_open(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.fail_if_no_udi_on_open != 0) });

api!(fn rocksdb_block_based_options_set_whole_key_filtering(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.whole_key_filtering = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_whole_key_filtering(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.whole_key_filtering != 0) });

api!(fn rocksdb_block_based_options_set_detect_filter_construct_corruption(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.detect_filter_construct_corruption = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_detect_filter_construct_corruption(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.detect_filter_construct_corruption != 0) });

api!(fn rocksdb_block_based_options_set_verify_compression(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.verify_compression = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_verify_compression(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.verify_compression != 0) });

api!(fn rocksdb_block_based_options_set_read_amp_bytes_per_bit(object: *mut rocksdb_block_based_table_options_t, value: u32) { (*object).fields.read_amp_bytes_per_bit = value; });

api!(fn rocksdb_block_based_options_get_read_amp_bytes_per_bit(object: *const rocksdb_block_based_table_options_t) -> u32 { (*object).fields.read_amp_bytes_per_bit });

api!(fn rocksdb_block_based_options_set_format_version(object: *mut rocksdb_block_based_table_options_t, value: c_int) { (*object).fields.format_version = value; });

api!(fn rocksdb_block_based_options_get_format_version(object: *const rocksdb_block_based_table_options_t) -> u32 { (*object).fields.format_version as u32 });

api!(fn rocksdb_block_based_options_set_separate_key_value_in_data_block(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.separate_key_value_in_data_block = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_separate_key_value_in_data_block(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.separate_key_value_in_data_block != 0) });

api!(fn rocksdb_block_based_options_set_uniform_cv_threshold(object: *mut rocksdb_block_based_table_options_t, value: f64) { (*object).fields.uniform_cv_threshold = value; });

api!(fn rocksdb_block_based_options_get_uniform_cv_threshold(object: *const rocksdb_block_based_table_options_t) -> f64 { (*object).fields.uniform_cv_threshold });

api!(fn rocksdb_block_based_options_set_enable_index_compression(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.enable_index_compression = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_enable_index_compression(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.enable_index_compression != 0) });

api!(fn rocksdb_block_based_options_set_block_align(object: *mut rocksdb_block_based_table_options_t, value: u8) { (*object).fields.block_align = u8::from(value != 0); });

api!(fn rocksdb_block_based_options_get_block_align(object: *const rocksdb_block_based_table_options_t) -> u8 { u8::from((*object).fields.block_align != 0) });

api!(fn rocksdb_block_based_options_set_super_block_alignment_size(object: *mut rocksdb_block_based_table_options_t, value: usize) { (*object).fields.super_block_alignment_size = value; });

api!(fn rocksdb_block_based_options_get_super_block_alignment_size(object: *const rocksdb_block_based_table_options_t) -> usize { (*object).fields.super_block_alignment_size });

api!(fn rocksdb_block_based_options_set_super_block_alignment_space_overhead_ratio(object: *mut rocksdb_block_based_table_options_t, value: usize) { (*object).fields.super_block_alignment_space_overhead_ratio = value; });

api!(fn rocksdb_block_based_options_get_super_block_alignment_space_overhead_ratio(object: *const rocksdb_block_based_table_options_t) -> usize { (*object).fields.super_block_alignment_space_overhead_ratio });

api!(fn rocksdb_block_based_options_set_index_shortening(object: *mut rocksdb_block_based_table_options_t, value: c_int) { (*object).fields.index_shortening = value; });

api!(fn rocksdb_block_based_options_get_index_shortening(object: *const rocksdb_block_based_table_options_t) -> c_int { (*object).fields.index_shortening });

api!(fn rocksdb_block_based_options_set_max_auto_readahead_size(object: *mut rocksdb_block_based_table_options_t, value: usize) { (*object).fields.max_auto_readahead_size = value; });

api!(fn rocksdb_block_based_options_get_max_auto_readahead_size(object: *const rocksdb_block_based_table_options_t) -> usize { (*object).fields.max_auto_readahead_size });

api!(fn rocksdb_block_based_options_set_prepopulate_block_cache(object: *mut rocksdb_block_based_table_options_t, value: c_int) { (*object).fields.prepopulate_block_cache = value; });

api!(fn rocksdb_block_based_options_get_prepopulate_block_cache(object: *const rocksdb_block_based_table_options_t) -> c_int { (*object).fields.prepopulate_block_cache });

api!(fn rocksdb_block_based_options_set_initial_auto_readahead_size(object: *mut rocksdb_block_based_table_options_t, value: usize) { (*object).fields.initial_auto_readahead_size = value; });

api!(fn rocksdb_block_based_options_get_initial_auto_readahead_size(object: *const rocksdb_block_based_table_options_t) -> usize { (*object).fields.initial_auto_readahead_size });

api!(fn rocksdb_block_based_options_set_num_file_reads_for_auto_readahead(object: *mut rocksdb_block_based_table_options_t, value: u64) { (*object).fields.num_file_reads_for_auto_readahead = value; });

api!(fn rocksdb_block_based_options_get_num_file_reads_for_auto_readahead(object: *const rocksdb_block_based_table_options_t) -> u64 { (*object).fields.num_file_reads_for_auto_readahead });

api!(fn rocksdb_cuckoo_options_set_hash_table_ratio(object: *mut rocksdb_cuckoo_table_options_t, value: f64) { (*object).fields.hash_table_ratio = value; });

api!(fn rocksdb_cuckoo_options_get_hash_table_ratio(object: *const rocksdb_cuckoo_table_options_t) -> f64 { (*object).fields.hash_table_ratio });

api!(fn rocksdb_cuckoo_options_set_max_search_depth(object: *mut rocksdb_cuckoo_table_options_t, value: u32) { (*object).fields.max_search_depth = value; });

api!(fn rocksdb_cuckoo_options_get_max_search_depth(object: *const rocksdb_cuckoo_table_options_t) -> u32 { (*object).fields.max_search_depth });

api!(fn rocksdb_cuckoo_options_set_cuckoo_block_size(object: *mut rocksdb_cuckoo_table_options_t, value: u32) { (*object).fields.cuckoo_block_size = value; });

api!(fn rocksdb_cuckoo_options_get_cuckoo_block_size(object: *const rocksdb_cuckoo_table_options_t) -> u32 { (*object).fields.cuckoo_block_size });

api!(fn rocksdb_cuckoo_options_set_identity_as_first_hash(object: *mut rocksdb_cuckoo_table_options_t, value: u8) { (*object).fields.identity_as_first_hash = u8::from(value != 0); });

api!(fn rocksdb_cuckoo_options_get_identity_as_first_hash(object: *const rocksdb_cuckoo_table_options_t) -> u8 { u8::from((*object).fields.identity_as_first_hash != 0) });

api!(fn rocksdb_cuckoo_options_set_use_module_hash(object: *mut rocksdb_cuckoo_table_options_t, value: u8) { (*object).fields.use_module_hash = u8::from(value != 0); });

api!(fn rocksdb_cuckoo_options_get_use_module_hash(object: *const rocksdb_cuckoo_table_options_t) -> u8 { u8::from((*object).fields.use_module_hash != 0) });

api!(fn rocksdb_universal_compaction_options_set_max_read_amp(object: *mut rocksdb_universal_compaction_options_t, value: c_int) { (*object).fields.max_read_amp = value; });

api!(fn rocksdb_universal_compaction_options_get_max_read_amp(object: *const rocksdb_universal_compaction_options_t) -> c_int { (*object).fields.max_read_amp });

api!(fn rocksdb_universal_compaction_options_set_allow_trivial_move(object: *mut rocksdb_universal_compaction_options_t, value: u8) { (*object).fields.allow_trivial_move = u8::from(value != 0); });

api!(fn rocksdb_universal_compaction_options_get_allow_trivial_move(object: *const rocksdb_universal_compaction_options_t) -> u8 { u8::from((*object).fields.allow_trivial_move != 0) });

api!(fn rocksdb_universal_compaction_options_set_incremental(object: *mut rocksdb_universal_compaction_options_t, value: u8) { (*object).fields.incremental = u8::from(value != 0); });

api!(fn rocksdb_universal_compaction_options_get_incremental(object: *const rocksdb_universal_compaction_options_t) -> u8 { u8::from((*object).fields.incremental != 0) });

api!(fn rocksdb_universal_compaction_options_set_reduce_file_locking(object: *mut rocksdb_universal_compaction_options_t, value: u8) { (*object).fields.reduce_file_locking = u8::from(value != 0); });

api!(fn rocksdb_universal_compaction_options_get_reduce_file_locking(object: *const rocksdb_universal_compaction_options_t) -> u8 { u8::from((*object).fields.reduce_file_locking != 0) });

api!(fn rocksdb_fifo_compaction_options_set_age_for_warm(object: *mut rocksdb_fifo_compaction_options_t, value: u64) { (*object).fields.age_for_warm = value; });

api!(fn rocksdb_fifo_compaction_options_get_age_for_warm(object: *const rocksdb_fifo_compaction_options_t) -> u64 { (*object).fields.age_for_warm });

api!(fn rocksdb_fifo_compaction_options_set_allow_trivial_copy_when_change_temperature(object: *mut rocksdb_fifo_compaction_options_t, value: u8) { (*object).fields.allow_trivial_copy_when_change_temperature = u8::from(value != 0); });

api!(fn rocksdb_fifo_compaction_options_get_allow_trivial_copy_when_change_temperature(object: *const rocksdb_fifo_compaction_options_t) -> u8 { u8::from((*object).fields.allow_trivial_copy_when_change_temperature != 0) });

api!(fn rocksdb_fifo_compaction_options_set_trivial_copy_buffer_size(object: *mut rocksdb_fifo_compaction_options_t, value: u64) { (*object).fields.trivial_copy_buffer_size = value; });

api!(fn rocksdb_fifo_compaction_options_get_trivial_copy_buffer_size(object: *const rocksdb_fifo_compaction_options_t) -> u64 { (*object).fields.trivial_copy_buffer_size });

api!(fn rocksdb_backup_engine_options_set_io_buffer_size(object: *mut rocksdb_backup_engine_options_t, value: u64) { (*object).fields.io_buffer_size = value; });

api!(fn rocksdb_backup_engine_options_get_io_buffer_size(object: *const rocksdb_backup_engine_options_t) -> u64 { (*object).fields.io_buffer_size });

api!(fn rocksdb_backup_engine_options_set_backup_rate_limit(object: *mut rocksdb_backup_engine_options_t, value: u64) { (*object).fields.backup_rate_limit = value; });

api!(fn rocksdb_backup_engine_options_get_backup_rate_limit(object: *const rocksdb_backup_engine_options_t) -> u64 { (*object).fields.backup_rate_limit });

api!(fn rocksdb_backup_engine_options_set_max_background_operations(object: *mut rocksdb_backup_engine_options_t, value: c_int) { (*object).fields.max_background_operations = value; });

api!(fn rocksdb_backup_engine_options_get_max_background_operations(object: *const rocksdb_backup_engine_options_t) -> c_int { (*object).fields.max_background_operations });

api!(fn rocksdb_backup_engine_options_set_share_table_files(object: *mut rocksdb_backup_engine_options_t, value: u8) { (*object).fields.share_table_files = u8::from(value != 0); });

api!(fn rocksdb_backup_engine_options_get_share_table_files(object: *const rocksdb_backup_engine_options_t) -> u8 { u8::from((*object).fields.share_table_files != 0) });

api!(fn rocksdb_backup_engine_options_set_sync(object: *mut rocksdb_backup_engine_options_t, value: u8) { (*object).fields.sync = u8::from(value != 0); });

api!(fn rocksdb_backup_engine_options_get_sync(object: *const rocksdb_backup_engine_options_t) -> u8 { u8::from((*object).fields.sync != 0) });

api!(fn rocksdb_backup_engine_options_set_destroy_old_data(object: *mut rocksdb_backup_engine_options_t, value: u8) { (*object).fields.destroy_old_data = u8::from(value != 0); });

api!(fn rocksdb_backup_engine_options_get_destroy_old_data(object: *const rocksdb_backup_engine_options_t) -> u8 { u8::from((*object).fields.destroy_old_data != 0) });

api!(fn rocksdb_backup_engine_options_set_backup_log_files(object: *mut rocksdb_backup_engine_options_t, value: u8) { (*object).fields.backup_log_files = u8::from(value != 0); });

api!(fn rocksdb_backup_engine_options_get_backup_log_files(object: *const rocksdb_backup_engine_options_t) -> u8 { u8::from((*object).fields.backup_log_files != 0) });

api!(fn rocksdb_backup_engine_options_set_restore_rate_limit(object: *mut rocksdb_backup_engine_options_t, value: u64) { (*object).fields.restore_rate_limit = value; });

api!(fn rocksdb_backup_engine_options_get_restore_rate_limit(object: *const rocksdb_backup_engine_options_t) -> u64 { (*object).fields.restore_rate_limit });

api!(fn rocksdb_backup_engine_options_set_share_files_with_checksum(object: *mut rocksdb_backup_engine_options_t, value: u8) { (*object).fields.share_files_with_checksum = u8::from(value != 0); });

api!(fn rocksdb_backup_engine_options_get_share_files_with_checksum(object: *const rocksdb_backup_engine_options_t) -> u8 { u8::from((*object).fields.share_files_with_checksum != 0) });

api!(fn rocksdb_backup_engine_options_set_callback_trigger_interval_size(object: *mut rocksdb_backup_engine_options_t, value: u64) { (*object).fields.callback_trigger_interval_size = value; });

api!(fn rocksdb_backup_engine_options_get_callback_trigger_interval_size(object: *const rocksdb_backup_engine_options_t) -> u64 { (*object).fields.callback_trigger_interval_size });

api!(fn rocksdb_backup_engine_options_set_max_valid_backups_to_open(object: *mut rocksdb_backup_engine_options_t, value: c_int) { (*object).fields.max_valid_backups_to_open = value; });

api!(fn rocksdb_backup_engine_options_get_max_valid_backups_to_open(object: *const rocksdb_backup_engine_options_t) -> c_int { (*object).fields.max_valid_backups_to_open });

api!(fn rocksdb_backup_engine_options_set_share_files_with_checksum_naming(object: *mut rocksdb_backup_engine_options_t, value: c_int) { (*object).fields.share_files_with_checksum_naming = value; });

api!(fn rocksdb_backup_engine_options_get_share_files_with_checksum_naming(object: *const rocksdb_backup_engine_options_t) -> c_int { (*object).fields.share_files_with_checksum_naming });

api!(fn rocksdb_backup_engine_options_set_schema_version(object: *mut rocksdb_backup_engine_options_t, value: c_int) { (*object).fields.schema_version = value; });

api!(fn rocksdb_backup_engine_options_get_schema_version(object: *const rocksdb_backup_engine_options_t) -> c_int { (*object).fields.schema_version });

api!(fn rocksdb_backup_engine_options_set_current_temperatures_override_manifest(object: *mut rocksdb_backup_engine_options_t, value: u8) { (*object).fields.current_temperatures_override_manifest = u8::from(value != 0); });

api!(fn rocksdb_backup_engine_options_get_current_temperatures_override_manifest(object: *const rocksdb_backup_engine_options_t) -> u8 { u8::from((*object).fields.current_temperatures_override_manifest != 0) });

api!(fn rocksdb_create_backup_options_set_decrease_background_thread_cpu_priority(object: *mut rocksdb_create_backup_options_t, value: u8) { (*object).fields.decrease_background_thread_cpu_priority = u8::from(value != 0); });

api!(fn rocksdb_create_backup_options_get_decrease_background_thread_cpu_priority(object: *const rocksdb_create_backup_options_t) -> u8 { u8::from((*object).fields.decrease_background_thread_cpu_priority != 0) });

api!(fn rocksdb_create_backup_options_set_background_thread_cpu_priority(object: *mut rocksdb_create_backup_options_t, value: c_int) { (*object).fields.background_thread_cpu_priority = value; });

api!(fn rocksdb_create_backup_options_get_background_thread_cpu_priority(object: *const rocksdb_create_backup_options_t) -> c_int { (*object).fields.background_thread_cpu_priority });

api!(fn rocksdb_create_backup_options_set_flush_before_backup(object: *mut rocksdb_create_backup_options_t, value: u8) { (*object).fields.flush_before_backup = u8::from(value != 0); });

api!(fn rocksdb_create_backup_options_get_flush_before_backup(object: *const rocksdb_create_backup_options_t) -> u8 { u8::from((*object).fields.flush_before_backup != 0) });

api!(fn rocksdb_create_backup_options_set_atomic_flush(object: *mut rocksdb_create_backup_options_t, value: u8) { (*object).fields.atomic_flush = u8::from(value != 0); });

api!(fn rocksdb_create_backup_options_get_atomic_flush(object: *const rocksdb_create_backup_options_t) -> u8 { u8::from((*object).fields.atomic_flush != 0) });

api!(fn rocksdb_restore_options_set_keep_log_files(object: *mut rocksdb_restore_options_t, value: c_int) { (*object).fields.keep_log_files = value; });

api!(fn rocksdb_restore_options_get_keep_log_files(object: *const rocksdb_restore_options_t) -> u8 { u8::from((*object).fields.keep_log_files != 0) });

api!(fn rocksdb_restore_options_set_mode(object: *mut rocksdb_restore_options_t, value: c_int) { (*object).fields.mode = value; });

api!(fn rocksdb_restore_options_get_mode(object: *const rocksdb_restore_options_t) -> c_int { (*object).fields.mode });

api!(fn rocksdb_transactiondb_options_set_max_num_locks(object: *mut rocksdb_transactiondb_options_t, value: i64) { (*object).fields.max_num_locks = value; });

api!(fn rocksdb_transactiondb_options_get_max_num_locks(object: *const rocksdb_transactiondb_options_t) -> i64 { (*object).fields.max_num_locks });

api!(fn rocksdb_transactiondb_options_set_max_num_deadlocks(object: *mut rocksdb_transactiondb_options_t, value: u32) { (*object).fields.max_num_deadlocks = value; });

api!(fn rocksdb_transactiondb_options_get_max_num_deadlocks(object: *const rocksdb_transactiondb_options_t) -> u32 { (*object).fields.max_num_deadlocks });

api!(fn rocksdb_transactiondb_options_set_num_stripes(object: *mut rocksdb_transactiondb_options_t, value: usize) { (*object).fields.num_stripes = value; });

api!(fn rocksdb_transactiondb_options_get_num_stripes(object: *const rocksdb_transactiondb_options_t) -> usize { (*object).fields.num_stripes });

api!(fn rocksdb_transactiondb_options_set_transaction_lock_timeout(object: *mut rocksdb_transactiondb_options_t, value: i64) { (*object).fields.transaction_lock_timeout = value; });

api!(fn rocksdb_transactiondb_options_get_transaction_lock_timeout(object: *const rocksdb_transactiondb_options_t) -> i64 { (*object).fields.transaction_lock_timeout });

api!(fn rocksdb_transactiondb_options_set_default_lock_timeout(object: *mut rocksdb_transactiondb_options_t, value: i64) { (*object).fields.default_lock_timeout = value; });

api!(fn rocksdb_transactiondb_options_get_default_lock_timeout(object: *const rocksdb_transactiondb_options_t) -> i64 { (*object).fields.default_lock_timeout });

api!(fn rocksdb_transactiondb_options_set_write_policy(object: *mut rocksdb_transactiondb_options_t, value: c_int) { (*object).fields.write_policy = value; });

api!(fn rocksdb_transactiondb_options_get_write_policy(object: *const rocksdb_transactiondb_options_t) -> c_int { (*object).fields.write_policy });

api!(fn rocksdb_transactiondb_options_set_rollback_merge_operands(object: *mut rocksdb_transactiondb_options_t, value: u8) { (*object).fields.rollback_merge_operands = u8::from(value != 0); });

api!(fn rocksdb_transactiondb_options_get_rollback_merge_operands(object: *const rocksdb_transactiondb_options_t) -> u8 { u8::from((*object).fields.rollback_merge_operands != 0) });

api!(fn rocksdb_transactiondb_options_set_use_per_key_point_lock_mgr(object: *mut rocksdb_transactiondb_options_t, value: u8) { (*object).fields.use_per_key_point_lock_mgr = u8::from(value != 0); });

api!(fn rocksdb_transactiondb_options_get_use_per_key_point_lock_mgr(object: *const rocksdb_transactiondb_options_t) -> u8 { u8::from((*object).fields.use_per_key_point_lock_mgr != 0) });

api!(fn rocksdb_transactiondb_options_set_skip_concurrency_control(object: *mut rocksdb_transactiondb_options_t, value: u8) { (*object).fields.skip_concurrency_control = u8::from(value != 0); });

api!(fn rocksdb_transactiondb_options_get_skip_concurrency_control(object: *const rocksdb_transactiondb_options_t) -> u8 { u8::from((*object).fields.skip_concurrency_control != 0) });

api!(fn rocksdb_transactiondb_options_set_default_write_batch_flush_threshold(object: *mut rocksdb_transactiondb_options_t, value: i64) { (*object).fields.default_write_batch_flush_threshold = value; });

api!(fn rocksdb_transactiondb_options_get_default_write_batch_flush_threshold(object: *const rocksdb_transactiondb_options_t) -> i64 { (*object).fields.default_write_batch_flush_threshold });

api!(fn rocksdb_transactiondb_options_set_enable_udt_validation(object: *mut rocksdb_transactiondb_options_t, value: u8) { (*object).fields.enable_udt_validation = u8::from(value != 0); });

api!(fn rocksdb_transactiondb_options_get_enable_udt_validation(object: *const rocksdb_transactiondb_options_t) -> u8 { u8::from((*object).fields.enable_udt_validation != 0) });

api!(fn rocksdb_transactiondb_options_set_txn_commit_bypass_memtable_threshold(object: *mut rocksdb_transactiondb_options_t, value: u32) { (*object).fields.txn_commit_bypass_memtable_threshold = value; });

api!(fn rocksdb_transactiondb_options_get_txn_commit_bypass_memtable_threshold(object: *const rocksdb_transactiondb_options_t) -> u32 { (*object).fields.txn_commit_bypass_memtable_threshold });

api!(fn rocksdb_transaction_options_set_set_snapshot(object: *mut rocksdb_transaction_options_t, value: u8) { (*object).fields.set_snapshot = u8::from(value != 0); });

api!(fn rocksdb_transaction_options_get_set_snapshot(object: *const rocksdb_transaction_options_t) -> u8 { u8::from((*object).fields.set_snapshot != 0) });

api!(fn rocksdb_transaction_options_set_deadlock_detect(object: *mut rocksdb_transaction_options_t, value: u8) { (*object).fields.deadlock_detect = u8::from(value != 0); });

api!(fn rocksdb_transaction_options_get_deadlock_detect(object: *const rocksdb_transaction_options_t) -> u8 { u8::from((*object).fields.deadlock_detect != 0) });

api!(fn rocksdb_transaction_options_set_use_only_the_last_commit_time_batch_for_recovery(object: *mut rocksdb_transaction_options_t, value: u8) { (*object).fields.use_only_the_last_commit_time_batch_for_recovery = u8::from(value != 0); });

api!(fn rocksdb_transaction_options_get_use_only_the_last_commit_time_batch_for_recovery(object: *const rocksdb_transaction_options_t) -> u8 { u8::from((*object).fields.use_only_the_last_commit_time_batch_for_recovery != 0) });

api!(fn rocksdb_transaction_options_set_lock_timeout(object: *mut rocksdb_transaction_options_t, value: i64) { (*object).fields.lock_timeout = value; });

api!(fn rocksdb_transaction_options_get_lock_timeout(object: *const rocksdb_transaction_options_t) -> i64 { (*object).fields.lock_timeout });

api!(fn rocksdb_transaction_options_set_deadlock_timeout_us(object: *mut rocksdb_transaction_options_t, value: i64) { (*object).fields.deadlock_timeout_us = value; });

api!(fn rocksdb_transaction_options_get_deadlock_timeout_us(object: *const rocksdb_transaction_options_t) -> i64 { (*object).fields.deadlock_timeout_us });

api!(fn rocksdb_transaction_options_set_expiration(object: *mut rocksdb_transaction_options_t, value: i64) { (*object).fields.expiration = value; });

api!(fn rocksdb_transaction_options_get_expiration(object: *const rocksdb_transaction_options_t) -> i64 { (*object).fields.expiration });

api!(fn rocksdb_transaction_options_set_deadlock_detect_depth(object: *mut rocksdb_transaction_options_t, value: i64) { (*object).fields.deadlock_detect_depth = value; });

api!(fn rocksdb_transaction_options_get_deadlock_detect_depth(object: *const rocksdb_transaction_options_t) -> i64 { (*object).fields.deadlock_detect_depth });

api!(fn rocksdb_transaction_options_set_max_write_batch_size(object: *mut rocksdb_transaction_options_t, value: usize) { (*object).fields.max_write_batch_size = value; });

api!(fn rocksdb_transaction_options_get_max_write_batch_size(object: *const rocksdb_transaction_options_t) -> usize { (*object).fields.max_write_batch_size });

api!(fn rocksdb_transaction_options_set_skip_concurrency_control(object: *mut rocksdb_transaction_options_t, value: u8) { (*object).fields.skip_concurrency_control = u8::from(value != 0); });

api!(fn rocksdb_transaction_options_get_skip_concurrency_control(object: *const rocksdb_transaction_options_t) -> u8 { u8::from((*object).fields.skip_concurrency_control != 0) });

api!(fn rocksdb_transaction_options_set_skip_prepare(object: *mut rocksdb_transaction_options_t, value: u8) { (*object).fields.skip_prepare = u8::from(value != 0); });

api!(fn rocksdb_transaction_options_get_skip_prepare(object: *const rocksdb_transaction_options_t) -> u8 { u8::from((*object).fields.skip_prepare != 0) });

api!(fn rocksdb_transaction_options_set_write_batch_flush_threshold(object: *mut rocksdb_transaction_options_t, value: i64) { (*object).fields.write_batch_flush_threshold = value; });

api!(fn rocksdb_transaction_options_get_write_batch_flush_threshold(object: *const rocksdb_transaction_options_t) -> i64 { (*object).fields.write_batch_flush_threshold });

api!(fn rocksdb_transaction_options_set_write_batch_track_timestamp_size(object: *mut rocksdb_transaction_options_t, value: u8) { (*object).fields.write_batch_track_timestamp_size = u8::from(value != 0); });

api!(fn rocksdb_transaction_options_get_write_batch_track_timestamp_size(object: *const rocksdb_transaction_options_t) -> u8 { u8::from((*object).fields.write_batch_track_timestamp_size != 0) });

api!(fn rocksdb_transaction_options_set_commit_bypass_memtable(object: *mut rocksdb_transaction_options_t, value: u8) { (*object).fields.commit_bypass_memtable = u8::from(value != 0); });

api!(fn rocksdb_transaction_options_get_commit_bypass_memtable(object: *const rocksdb_transaction_options_t) -> u8 { u8::from((*object).fields.commit_bypass_memtable != 0) });

api!(fn rocksdb_transaction_options_set_large_txn_commit_optimize_threshold(object: *mut rocksdb_transaction_options_t, value: u32) { (*object).fields.large_txn_commit_optimize_threshold = value; });

api!(fn rocksdb_transaction_options_get_large_txn_commit_optimize_threshold(object: *const rocksdb_transaction_options_t) -> u32 { (*object).fields.large_txn_commit_optimize_threshold });

api!(fn rocksdb_transaction_options_set_large_txn_commit_optimize_byte_threshold(object: *mut rocksdb_transaction_options_t, value: u64) { (*object).fields.large_txn_commit_optimize_byte_threshold = value; });

api!(fn rocksdb_transaction_options_get_large_txn_commit_optimize_byte_threshold(object: *const rocksdb_transaction_options_t) -> u64 { (*object).fields.large_txn_commit_optimize_byte_threshold });

api!(fn rocksdb_optimistictransaction_options_set_set_snapshot(object: *mut rocksdb_optimistictransaction_options_t, value: u8) { (*object).fields.set_snapshot = u8::from(value != 0); });

api!(fn rocksdb_optimistictransaction_options_get_set_snapshot(object: *const rocksdb_optimistictransaction_options_t) -> u8 { u8::from((*object).fields.set_snapshot != 0) });

api!(fn rocksdb_optimistictransactiondb_options_set_validate_policy(object: *mut rocksdb_optimistictransactiondb_options_t, value: c_int) { (*object).fields.validate_policy = value; });

api!(fn rocksdb_optimistictransactiondb_options_get_validate_policy(object: *const rocksdb_optimistictransactiondb_options_t) -> c_int { (*object).fields.validate_policy });

api!(fn rocksdb_optimistictransactiondb_options_set_occ_lock_buckets(object: *mut rocksdb_optimistictransactiondb_options_t, value: u32) { (*object).fields.occ_lock_buckets = value; });

api!(fn rocksdb_optimistictransactiondb_options_get_occ_lock_buckets(object: *const rocksdb_optimistictransactiondb_options_t) -> u32 { (*object).fields.occ_lock_buckets });

api!(fn rocksdb_wal_file_log_number(object: *const rocksdb_wal_file_t) -> u64 { (*object).fields.log_number });

api!(fn rocksdb_wal_file_type(object: *const rocksdb_wal_file_t) -> c_int { (*object).fields.kind });

api!(fn rocksdb_wal_file_start_sequence(object: *const rocksdb_wal_file_t) -> u64 { (*object).fields.start_sequence });

api!(fn rocksdb_wal_file_size_file_bytes(object: *const rocksdb_wal_file_t) -> u64 { (*object).fields.size_file_bytes });

api!(fn rocksdb_flushjobinfo_cf_id(object: *const rocksdb_flushjobinfo_t) -> u32 { (*object).fields.cf_id });

api!(fn rocksdb_flushjobinfo_cf_name(object: *const rocksdb_flushjobinfo_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.cf_name, length) });

api!(fn rocksdb_flushjobinfo_file_path(object: *const rocksdb_flushjobinfo_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.file_path, length) });

api!(fn rocksdb_flushjobinfo_file_number(object: *const rocksdb_flushjobinfo_t) -> u64 { (*object).fields.file_number });

api!(fn rocksdb_flushjobinfo_oldest_blob_file_number(object: *const rocksdb_flushjobinfo_t) -> u64 { (*object).fields.oldest_blob_file_number });

api!(fn rocksdb_flushjobinfo_thread_id(object: *const rocksdb_flushjobinfo_t) -> u64 { (*object).fields.thread_id });

api!(fn rocksdb_flushjobinfo_job_id(object: *const rocksdb_flushjobinfo_t) -> c_int { (*object).fields.job_id });

api!(fn rocksdb_flushjobinfo_triggered_writes_slowdown(object: *const rocksdb_flushjobinfo_t) -> u8 { (*object).fields.triggered_writes_slowdown });

api!(fn rocksdb_flushjobinfo_triggered_writes_stop(object: *const rocksdb_flushjobinfo_t) -> u8 { (*object).fields.triggered_writes_stop });

api!(fn rocksdb_flushjobinfo_smallest_seqno(object: *const rocksdb_flushjobinfo_t) -> u64 { (*object).fields.smallest_seqno });

api!(fn rocksdb_flushjobinfo_largest_seqno(object: *const rocksdb_flushjobinfo_t) -> u64 { (*object).fields.largest_seqno });

api!(fn rocksdb_flushjobinfo_flush_reason(object: *const rocksdb_flushjobinfo_t) -> u32 { (*object).fields.flush_reason });

api!(fn rocksdb_flushjobinfo_blob_compression_type(object: *const rocksdb_flushjobinfo_t) -> u32 { (*object).fields.blob_compression_type });

api!(fn rocksdb_compactionjobinfo_cf_id(object: *const rocksdb_compactionjobinfo_t) -> u32 { (*object).fields.cf_id });

api!(fn rocksdb_compactionjobinfo_cf_name(object: *const rocksdb_compactionjobinfo_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.cf_name, length) });

api!(fn rocksdb_compactionjobinfo_thread_id(object: *const rocksdb_compactionjobinfo_t) -> u64 { (*object).fields.thread_id });

api!(fn rocksdb_compactionjobinfo_job_id(object: *const rocksdb_compactionjobinfo_t) -> c_int { (*object).fields.job_id });

api!(fn rocksdb_compactionjobinfo_num_l0_files(object: *const rocksdb_compactionjobinfo_t) -> c_int { (*object).fields.num_l0_files });

api!(fn rocksdb_compactionjobinfo_base_input_level(object: *const rocksdb_compactionjobinfo_t) -> c_int { (*object).fields.base_input_level });

api!(fn rocksdb_compactionjobinfo_output_level(object: *const rocksdb_compactionjobinfo_t) -> c_int { (*object).fields.output_level });

api!(fn rocksdb_compactionjobinfo_compaction_reason(object: *const rocksdb_compactionjobinfo_t) -> u32 { (*object).fields.compaction_reason });

api!(fn rocksdb_compactionjobinfo_compression(object: *const rocksdb_compactionjobinfo_t) -> u32 { (*object).fields.compression });

api!(fn rocksdb_compactionjobinfo_blob_compression_type(object: *const rocksdb_compactionjobinfo_t) -> u32 { (*object).fields.blob_compression_type });

api!(fn rocksdb_compactionjobinfo_aborted(object: *const rocksdb_compactionjobinfo_t) -> u8 { (*object).fields.aborted });

api!(fn rocksdb_subcompactionjobinfo_cf_id(object: *const rocksdb_subcompactionjobinfo_t) -> u32 { (*object).fields.cf_id });

api!(fn rocksdb_subcompactionjobinfo_cf_name(object: *const rocksdb_subcompactionjobinfo_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.cf_name, length) });

api!(fn rocksdb_subcompactionjobinfo_thread_id(object: *const rocksdb_subcompactionjobinfo_t) -> u64 { (*object).fields.thread_id });

api!(fn rocksdb_subcompactionjobinfo_job_id(object: *const rocksdb_subcompactionjobinfo_t) -> c_int { (*object).fields.job_id });

api!(fn rocksdb_subcompactionjobinfo_subcompaction_job_id(object: *const rocksdb_subcompactionjobinfo_t) -> c_int { (*object).fields.subcompaction_job_id });

api!(fn rocksdb_subcompactionjobinfo_base_input_level(object: *const rocksdb_subcompactionjobinfo_t) -> c_int { (*object).fields.base_input_level });

api!(fn rocksdb_subcompactionjobinfo_output_level(object: *const rocksdb_subcompactionjobinfo_t) -> c_int { (*object).fields.output_level });

api!(fn rocksdb_subcompactionjobinfo_compaction_reason(object: *const rocksdb_subcompactionjobinfo_t) -> u32 { (*object).fields.compaction_reason });

api!(fn rocksdb_subcompactionjobinfo_compression(object: *const rocksdb_subcompactionjobinfo_t) -> u32 { (*object).fields.compression });

api!(fn rocksdb_subcompactionjobinfo_blob_compression_type(object: *const rocksdb_subcompactionjobinfo_t) -> u32 { (*object).fields.blob_compression_type });

api!(fn rocksdb_externalfileingestioninfo_cf_name(object: *const rocksdb_externalfileingestioninfo_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.cf_name, length) });

api!(fn rocksdb_externalfileingestioninfo_external_file_path(object: *const rocksdb_externalfileingestioninfo_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.external_file_path, length) });

api!(fn rocksdb_externalfileingestioninfo_internal_file_path(object: *const rocksdb_externalfileingestioninfo_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.internal_file_path, length) });

api!(fn rocksdb_externalfileingestioninfo_global_seqno(object: *const rocksdb_externalfileingestioninfo_t) -> u64 { (*object).fields.global_seqno });

api!(fn rocksdb_memtableinfo_cf_name(object: *const rocksdb_memtableinfo_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.cf_name, length) });

api!(fn rocksdb_memtableinfo_first_seqno(object: *const rocksdb_memtableinfo_t) -> u64 { (*object).fields.first_seqno });

api!(fn rocksdb_memtableinfo_earliest_seqno(object: *const rocksdb_memtableinfo_t) -> u64 { (*object).fields.earliest_seqno });

api!(fn rocksdb_memtableinfo_num_entries(object: *const rocksdb_memtableinfo_t) -> u64 { (*object).fields.num_entries });

api!(fn rocksdb_memtableinfo_num_deletes(object: *const rocksdb_memtableinfo_t) -> u64 { (*object).fields.num_deletes });

api!(fn rocksdb_memtableinfo_newest_udt(object: *const rocksdb_memtableinfo_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.newest_udt, length) });

api!(fn rocksdb_compactionjobinfo_elapsed_micros(object: *const rocksdb_compactionjobinfo_t) -> u64 { (*object).fields.elapsed_micros });

api!(fn rocksdb_compactionjobinfo_num_corrupt_keys(object: *const rocksdb_compactionjobinfo_t) -> u64 { (*object).fields.num_corrupt_keys });

api!(fn rocksdb_compactionjobinfo_input_records(object: *const rocksdb_compactionjobinfo_t) -> u64 { (*object).fields.input_records });

api!(fn rocksdb_compactionjobinfo_output_records(object: *const rocksdb_compactionjobinfo_t) -> u64 { (*object).fields.output_records });

api!(fn rocksdb_compactionjobinfo_total_input_bytes(object: *const rocksdb_compactionjobinfo_t) -> u64 { (*object).fields.total_input_bytes });

api!(fn rocksdb_compactionjobinfo_total_output_bytes(object: *const rocksdb_compactionjobinfo_t) -> u64 { (*object).fields.total_output_bytes });

api!(fn rocksdb_compactionjobinfo_num_input_files(object: *const rocksdb_compactionjobinfo_t) -> usize { (*object).fields.num_input_files });

api!(fn rocksdb_compactionjobinfo_num_input_files_at_output_level(object: *const rocksdb_compactionjobinfo_t) -> usize { (*object).fields.num_input_files_at_output_level });

api!(fn rocksdb_writestallinfo_cf_name(object: *const rocksdb_writestallinfo_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.cf_name, length) });

api!(fn rocksdb_table_properties_orig_file_number(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.orig_file_number });

api!(fn rocksdb_table_properties_data_size(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.data_size });

api!(fn rocksdb_table_properties_uncompressed_data_size(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.uncompressed_data_size });

api!(fn rocksdb_table_properties_index_size(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.index_size });

api!(fn rocksdb_table_properties_index_partitions(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.index_partitions });

api!(fn rocksdb_table_properties_top_level_index_size(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.top_level_index_size });

api!(fn rocksdb_table_properties_index_key_is_user_key(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.index_key_is_user_key });

api!(fn rocksdb_table_properties_index_value_is_delta_encoded(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.index_value_is_delta_encoded });

api!(fn rocksdb_table_properties_udi_is_primary_index(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.udi_is_primary_index });

api!(fn rocksdb_table_properties_filter_size(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.filter_size });

api!(fn rocksdb_table_properties_raw_key_size(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.raw_key_size });

api!(fn rocksdb_table_properties_raw_value_size(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.raw_value_size });

api!(fn rocksdb_table_properties_num_data_blocks(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.num_data_blocks });

api!(fn rocksdb_table_properties_num_data_blocks_compression_rejected(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.num_data_blocks_compression_rejected });

api!(fn rocksdb_table_properties_num_data_blocks_compression_bypassed(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.num_data_blocks_compression_bypassed });

api!(fn rocksdb_table_properties_num_uniform_blocks(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.num_uniform_blocks });

api!(fn rocksdb_table_properties_num_entries(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.num_entries });

api!(fn rocksdb_table_properties_num_filter_entries(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.num_filter_entries });

api!(fn rocksdb_table_properties_num_deletions(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.num_deletions });

api!(fn rocksdb_table_properties_num_merge_operands(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.num_merge_operands });

api!(fn rocksdb_table_properties_num_range_deletions(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.num_range_deletions });

api!(fn rocksdb_table_properties_format_version(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.format_version });

api!(fn rocksdb_table_properties_fixed_key_len(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.fixed_key_len });

api!(fn rocksdb_table_properties_column_family_id(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.column_family_id });

api!(fn rocksdb_table_properties_creation_time(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.creation_time });

api!(fn rocksdb_table_properties_oldest_key_time(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.oldest_key_time });

api!(fn rocksdb_table_properties_newest_key_time(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.newest_key_time });

api!(fn rocksdb_table_properties_file_creation_time(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.file_creation_time });

api!(fn rocksdb_table_properties_slow_compression_estimated_data_size(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.slow_compression_estimated_data_size });

api!(fn rocksdb_table_properties_fast_compression_estimated_data_size(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.fast_compression_estimated_data_size });

api!(fn rocksdb_table_properties_external_sst_file_global_seqno_offset(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.external_sst_file_global_seqno_offset });

api!(fn rocksdb_table_properties_tail_start_offset(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.tail_start_offset });

api!(fn rocksdb_table_properties_user_defined_timestamps_persisted(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.user_defined_timestamps_persisted });

api!(fn rocksdb_table_properties_key_largest_seqno(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.key_largest_seqno });

api!(fn rocksdb_table_properties_key_smallest_seqno(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.key_smallest_seqno });

api!(fn rocksdb_table_properties_data_block_restart_interval(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.data_block_restart_interval });

api!(fn rocksdb_table_properties_index_block_restart_interval(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.index_block_restart_interval });

api!(fn rocksdb_table_properties_separate_key_value_in_data_block(object: *const rocksdb_table_properties_t) -> u64 { (*object).fields.separate_key_value_in_data_block });

api!(fn rocksdb_table_properties_db_id(object: *const rocksdb_table_properties_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.db_id, length) });

api!(fn rocksdb_table_properties_db_session_id(object: *const rocksdb_table_properties_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.db_session_id, length) });

api!(fn rocksdb_table_properties_db_host_id(object: *const rocksdb_table_properties_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.db_host_id, length) });

api!(fn rocksdb_table_properties_column_family_name(object: *const rocksdb_table_properties_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.column_family_name, length) });

api!(fn rocksdb_table_properties_filter_policy_name(object: *const rocksdb_table_properties_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.filter_policy_name, length) });

api!(fn rocksdb_table_properties_comparator_name(object: *const rocksdb_table_properties_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.comparator_name, length) });

api!(fn rocksdb_table_properties_merge_operator_name(object: *const rocksdb_table_properties_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.merge_operator_name, length) });

api!(fn rocksdb_table_properties_prefix_extractor_name(object: *const rocksdb_table_properties_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.prefix_extractor_name, length) });

api!(fn rocksdb_table_properties_property_collectors_names(object: *const rocksdb_table_properties_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.property_collectors_names, length) });

api!(fn rocksdb_table_properties_compression_name(object: *const rocksdb_table_properties_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.compression_name, length) });

api!(fn rocksdb_table_properties_compression_options(object: *const rocksdb_table_properties_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.compression_options, length) });

api!(fn rocksdb_table_properties_seqno_to_time_mapping(object: *const rocksdb_table_properties_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.seqno_to_time_mapping, length) });

api!(fn rocksdb_compaction_job_stats_elapsed_micros(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.elapsed_micros });

api!(fn rocksdb_compaction_job_stats_cpu_micros(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.cpu_micros });

api!(fn rocksdb_compaction_job_stats_has_accurate_num_input_records(object: *const rocksdb_compaction_job_stats_t) -> u8 { (*object).fields.has_accurate_num_input_records });

api!(fn rocksdb_compaction_job_stats_num_input_records(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.num_input_records });

api!(fn rocksdb_compaction_job_stats_num_blobs_read(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.num_blobs_read });

api!(fn rocksdb_compaction_job_stats_num_input_files(object: *const rocksdb_compaction_job_stats_t) -> usize { (*object).fields.num_input_files });

api!(fn rocksdb_compaction_job_stats_num_input_files_trivially_moved(object: *const rocksdb_compaction_job_stats_t) -> usize { (*object).fields.num_input_files_trivially_moved });

api!(fn rocksdb_compaction_job_stats_num_input_files_at_output_level(object: *const rocksdb_compaction_job_stats_t) -> usize { (*object).fields.num_input_files_at_output_level });

api!(fn rocksdb_compaction_job_stats_num_filtered_input_files(object: *const rocksdb_compaction_job_stats_t) -> usize { (*object).fields.num_filtered_input_files });

api!(fn rocksdb_compaction_job_stats_num_filtered_input_files_at_output_level(object: *const rocksdb_compaction_job_stats_t) -> usize { (*object).fields.num_filtered_input_files_at_output_level });

api!(fn rocksdb_compaction_job_stats_num_output_records(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.num_output_records });

api!(fn rocksdb_compaction_job_stats_num_output_files(object: *const rocksdb_compaction_job_stats_t) -> usize { (*object).fields.num_output_files });

api!(fn rocksdb_compaction_job_stats_num_output_files_blob(object: *const rocksdb_compaction_job_stats_t) -> usize { (*object).fields.num_output_files_blob });

api!(fn rocksdb_compaction_job_stats_is_full_compaction(object: *const rocksdb_compaction_job_stats_t) -> u8 { (*object).fields.is_full_compaction });

api!(fn rocksdb_compaction_job_stats_is_manual_compaction(object: *const rocksdb_compaction_job_stats_t) -> u8 { (*object).fields.is_manual_compaction });

api!(fn rocksdb_compaction_job_stats_is_remote_compaction(object: *const rocksdb_compaction_job_stats_t) -> u8 { (*object).fields.is_remote_compaction });

api!(fn rocksdb_compaction_job_stats_total_input_bytes(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.total_input_bytes });

api!(fn rocksdb_compaction_job_stats_total_blob_bytes_read(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.total_blob_bytes_read });

api!(fn rocksdb_compaction_job_stats_total_output_bytes(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.total_output_bytes });

api!(fn rocksdb_compaction_job_stats_total_output_bytes_blob(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.total_output_bytes_blob });

api!(fn rocksdb_compaction_job_stats_total_skipped_input_bytes(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.total_skipped_input_bytes });

api!(fn rocksdb_compaction_job_stats_num_records_replaced(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.num_records_replaced });

api!(fn rocksdb_compaction_job_stats_total_input_raw_key_bytes(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.total_input_raw_key_bytes });

api!(fn rocksdb_compaction_job_stats_total_input_raw_value_bytes(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.total_input_raw_value_bytes });

api!(fn rocksdb_compaction_job_stats_num_input_deletion_records(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.num_input_deletion_records });

api!(fn rocksdb_compaction_job_stats_num_expired_deletion_records(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.num_expired_deletion_records });

api!(fn rocksdb_compaction_job_stats_num_corrupt_keys(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.num_corrupt_keys });

api!(fn rocksdb_compaction_job_stats_file_write_nanos(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.file_write_nanos });

api!(fn rocksdb_compaction_job_stats_file_range_sync_nanos(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.file_range_sync_nanos });

api!(fn rocksdb_compaction_job_stats_file_fsync_nanos(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.file_fsync_nanos });

api!(fn rocksdb_compaction_job_stats_file_prepare_write_nanos(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.file_prepare_write_nanos });

api!(fn rocksdb_compaction_job_stats_smallest_output_key_prefix(object: *const rocksdb_compaction_job_stats_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.smallest_output_key_prefix, length) });

api!(fn rocksdb_compaction_job_stats_largest_output_key_prefix(object: *const rocksdb_compaction_job_stats_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.largest_output_key_prefix, length) });

api!(fn rocksdb_compaction_job_stats_num_single_del_fallthru(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.num_single_del_fallthru });

api!(fn rocksdb_compaction_job_stats_num_single_del_mismatch(object: *const rocksdb_compaction_job_stats_t) -> u64 { (*object).fields.num_single_del_mismatch });

api!(fn rocksdb_compaction_file_info_level(object: *const rocksdb_compaction_file_info_t) -> c_int { (*object).fields.level });

api!(fn rocksdb_compaction_file_info_file_number(object: *const rocksdb_compaction_file_info_t) -> u64 { (*object).fields.file_number });

api!(fn rocksdb_compaction_file_info_oldest_blob_file_number(object: *const rocksdb_compaction_file_info_t) -> u64 { (*object).fields.oldest_blob_file_number });

api!(fn rocksdb_blob_file_addition_info_blob_file_path(object: *const rocksdb_blob_file_addition_info_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.blob_file_path, length) });

api!(fn rocksdb_blob_file_addition_info_blob_file_number(object: *const rocksdb_blob_file_addition_info_t) -> u64 { (*object).fields.blob_file_number });

api!(fn rocksdb_blob_file_addition_info_total_blob_count(object: *const rocksdb_blob_file_addition_info_t) -> u64 { (*object).fields.total_blob_count });

api!(fn rocksdb_blob_file_addition_info_total_blob_bytes(object: *const rocksdb_blob_file_addition_info_t) -> u64 { (*object).fields.total_blob_bytes });

api!(fn rocksdb_blob_file_garbage_info_blob_file_path(object: *const rocksdb_blob_file_garbage_info_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.blob_file_path, length) });

api!(fn rocksdb_blob_file_garbage_info_blob_file_number(object: *const rocksdb_blob_file_garbage_info_t) -> u64 { (*object).fields.blob_file_number });

api!(fn rocksdb_blob_file_garbage_info_garbage_blob_count(object: *const rocksdb_blob_file_garbage_info_t) -> u64 { (*object).fields.garbage_blob_count });

api!(fn rocksdb_blob_file_garbage_info_garbage_blob_bytes(object: *const rocksdb_blob_file_garbage_info_t) -> u64 { (*object).fields.garbage_blob_bytes });

api!(fn rocksdb_table_properties_has_key_largest_seqno(object: *const rocksdb_table_properties_t) -> u8 { (*object).fields.has_key_largest_seqno });

api!(fn rocksdb_table_properties_has_key_smallest_seqno(object: *const rocksdb_table_properties_t) -> u8 { (*object).fields.has_key_smallest_seqno });

api!(fn rocksdb_table_properties_user_collected_properties_count(object: *const rocksdb_table_properties_t) -> usize { (*object).fields.user_collected_properties_count });

api!(fn rocksdb_table_properties_readable_properties_count(object: *const rocksdb_table_properties_t) -> usize { (*object).fields.readable_properties_count });

api!(fn rocksdb_compactionfiltercontext_is_full_compaction(object: *const rocksdb_compactionfiltercontext_t) -> u8 { (*object).fields.is_full_compaction });

api!(fn rocksdb_compactionfiltercontext_is_manual_compaction(object: *const rocksdb_compactionfiltercontext_t) -> u8 { (*object).fields.is_manual_compaction });

api!(fn rocksdb_column_family_metadata_get_size(object: *const rocksdb_column_family_metadata_t) -> u64 { (*object).fields.size });

api!(fn rocksdb_column_family_metadata_get_file_count(object: *const rocksdb_column_family_metadata_t) -> usize { (*object).fields.file_count });

api!(fn rocksdb_column_family_metadata_get_name(object: *const rocksdb_column_family_metadata_t) -> *mut c_char { copied_string(&(*object).fields.name) });

api!(fn rocksdb_column_family_metadata_get_level_count(object: *const rocksdb_column_family_metadata_t) -> usize { (*object).fields.level_count });

api!(fn rocksdb_level_metadata_get_level(object: *const rocksdb_level_metadata_t) -> c_int { (*object).fields.level });

api!(fn rocksdb_level_metadata_get_size(object: *const rocksdb_level_metadata_t) -> u64 { (*object).fields.size });

api!(fn rocksdb_level_metadata_get_file_count(object: *const rocksdb_level_metadata_t) -> usize { (*object).fields.file_count });

api!(fn rocksdb_sst_file_metadata_get_relative_filename(object: *const rocksdb_sst_file_metadata_t) -> *mut c_char { copied_string(&(*object).fields.relative_filename) });

api!(fn rocksdb_sst_file_metadata_get_directory(object: *const rocksdb_sst_file_metadata_t) -> *mut c_char { copied_string(&(*object).fields.directory) });

api!(fn rocksdb_sst_file_metadata_get_size(object: *const rocksdb_sst_file_metadata_t) -> u64 { (*object).fields.size });

api!(fn rocksdb_sst_file_metadata_get_smallestkey(object: *const rocksdb_sst_file_metadata_t, length: *mut usize) -> *mut c_char { copied(&(*object).fields.smallestkey, length) });

api!(fn rocksdb_sst_file_metadata_get_largestkey(object: *const rocksdb_sst_file_metadata_t, length: *mut usize) -> *mut c_char { copied(&(*object).fields.largestkey, length) });

api!(fn rocksdb_approximate_memory_usage_get_mem_table_total(object: *const rocksdb_memory_usage_t) -> u64 { (*object).fields.mem_table_total });

api!(fn rocksdb_approximate_memory_usage_get_mem_table_unflushed(object: *const rocksdb_memory_usage_t) -> u64 { (*object).fields.mem_table_unflushed });

api!(fn rocksdb_approximate_memory_usage_get_mem_table_readers_total(object: *const rocksdb_memory_usage_t) -> u64 { (*object).fields.mem_table_readers_total });

api!(fn rocksdb_approximate_memory_usage_get_cache_total(object: *const rocksdb_memory_usage_t) -> u64 { (*object).fields.cache_total });

api!(fn rocksdb_statistics_histogram_data_get_median(object: *const rocksdb_statistics_histogram_data_t) -> f64 { (*object).fields.median });

api!(fn rocksdb_statistics_histogram_data_get_p95(object: *const rocksdb_statistics_histogram_data_t) -> f64 { (*object).fields.p95 });

api!(fn rocksdb_statistics_histogram_data_get_p99(object: *const rocksdb_statistics_histogram_data_t) -> f64 { (*object).fields.p99 });

api!(fn rocksdb_statistics_histogram_data_get_average(object: *const rocksdb_statistics_histogram_data_t) -> f64 { (*object).fields.average });

api!(fn rocksdb_statistics_histogram_data_get_std_dev(object: *const rocksdb_statistics_histogram_data_t) -> f64 { (*object).fields.std_dev });

api!(fn rocksdb_statistics_histogram_data_get_max(object: *const rocksdb_statistics_histogram_data_t) -> f64 { (*object).fields.max });

api!(fn rocksdb_statistics_histogram_data_get_count(object: *const rocksdb_statistics_histogram_data_t) -> u64 { (*object).fields.count });

api!(fn rocksdb_statistics_histogram_data_get_sum(object: *const rocksdb_statistics_histogram_data_t) -> u64 { (*object).fields.sum });

api!(fn rocksdb_statistics_histogram_data_get_min(object: *const rocksdb_statistics_histogram_data_t) -> f64 { (*object).fields.min });

api!(fn rocksdb_compactionservice_jobinfo_t_get_db_name(object: *const rocksdb_compactionservice_jobinfo_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.db_name, length) });

api!(fn rocksdb_compactionservice_jobinfo_t_get_db_id(object: *const rocksdb_compactionservice_jobinfo_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.db_id, length) });

api!(fn rocksdb_compactionservice_jobinfo_t_get_db_session_id(object: *const rocksdb_compactionservice_jobinfo_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.db_session_id, length) });

api!(fn rocksdb_compactionservice_jobinfo_t_get_cf_name(object: *const rocksdb_compactionservice_jobinfo_t, length: *mut usize) -> *const c_char { borrowed(&(*object).fields.cf_name, length) });

api!(fn rocksdb_compactionservice_jobinfo_t_get_cf_id(object: *const rocksdb_compactionservice_jobinfo_t) -> u32 { (*object).fields.cf_id });

api!(fn rocksdb_compactionservice_jobinfo_t_get_job_id(object: *const rocksdb_compactionservice_jobinfo_t) -> u64 { (*object).fields.job_id });

api!(fn rocksdb_compactionservice_jobinfo_t_get_priority(object: *const rocksdb_compactionservice_jobinfo_t) -> c_int { (*object).fields.priority });

api!(fn rocksdb_compactionservice_jobinfo_t_get_compaction_reason(object: *const rocksdb_compactionservice_jobinfo_t) -> c_int { (*object).fields.compaction_reason });

api!(fn rocksdb_compactionservice_jobinfo_t_get_base_input_level(object: *const rocksdb_compactionservice_jobinfo_t) -> c_int { (*object).fields.base_input_level });

api!(fn rocksdb_compactionservice_jobinfo_t_get_output_level(object: *const rocksdb_compactionservice_jobinfo_t) -> c_int { (*object).fields.output_level });

api!(fn rocksdb_compactionservice_jobinfo_t_is_full_compaction(object: *const rocksdb_compactionservice_jobinfo_t) -> u8 { (*object).fields.is_full_compaction });

api!(fn rocksdb_compactionservice_jobinfo_t_is_manual_compaction(object: *const rocksdb_compactionservice_jobinfo_t) -> u8 { (*object).fields.is_manual_compaction });

api!(fn rocksdb_compactionservice_jobinfo_t_is_bottommost_level(object: *const rocksdb_compactionservice_jobinfo_t) -> u8 { (*object).fields.is_bottommost_level });

api!(fn rocksdb_writeoptions_disable_WAL(object: *mut rocksdb_writeoptions_t, value: c_int) { (*object).fields.disable_WAL = value; });

api!(fn rocksdb_writeoptions_get_disable_WAL(object: *const rocksdb_writeoptions_t) -> u8 { u8::from((*object).fields.disable_WAL != 0) });

api!(fn rocksdb_options_compaction_readahead_size(object: *mut rocksdb_options_t, value: usize) { (*object).fields.compaction_readahead_size = value; });

api!(fn rocksdb_options_get_compaction_readahead_size(object: *const rocksdb_options_t) -> usize { (*object).fields.compaction_readahead_size });

api!(fn rocksdb_options_set_skip_checking_sst_file_sizes_on_db_open(object: *mut rocksdb_options_t, value: u8) { (*object).fields.skip_checking_sst_file_sizes_on_db_open = u8::from(value != 0); });

api!(fn rocksdb_options_get_skip_checking_sst_file_sizes_on_db_open(object: *const rocksdb_options_t) -> u8 { u8::from((*object).fields.skip_checking_sst_file_sizes_on_db_open != 0) });

api!(fn rocksdb_options_set_max_write_buffer_number_to_maintain(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.max_write_buffer_number_to_maintain = value; });

api!(fn rocksdb_options_get_max_write_buffer_number_to_maintain(object: *const rocksdb_options_t) -> c_int { (*object).fields.max_write_buffer_number_to_maintain });

api!(fn rocksdb_options_set_access_hint_on_compaction_start(object: *mut rocksdb_options_t, value: c_int) { (*object).fields.access_hint_on_compaction_start = value; });

api!(fn rocksdb_options_get_access_hint_on_compaction_start(object: *const rocksdb_options_t) -> c_int { (*object).fields.access_hint_on_compaction_start });

api!(fn rocksdb_readoptions_set_managed(object: *mut rocksdb_readoptions_t, value: u8) { (*object).fields.managed = u8::from(value != 0); });
