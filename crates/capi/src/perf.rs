//! The perf context of the thread, by RocksDB's numbers.

use std::cell::Cell;
use std::ffi::{c_char, c_int};

use esker::PerfLevel;
use esker::perf;

use crate::ffi::*;

/// `rocksdb_perfcontext_t`: the context of the calling thread.
pub struct rocksdb_perfcontext_t(());

thread_local! {
    static WAS_LEVEL_SET: Cell<bool> = const { Cell::new(false) };
}

api!(
    fn rocksdb_set_perf_level(level: c_int) {
        if let Some(level) = PerfLevel::of_number(level) {
            WAS_LEVEL_SET.set(true);
            perf::set_level(level);
        }
    }
);

// RocksDB's threads count from their start. Here the first context that a thread creates starts the counts,
// unless the thread has set a level: without a context no count can be read, and threads without one do not
// pay for counts.
api!(
    fn rocksdb_perfcontext_create() -> *mut rocksdb_perfcontext_t {
        if !WAS_LEVEL_SET.get() {
            perf::set_level(PerfLevel::EnableCount);
        }
        boxed(rocksdb_perfcontext_t(()))
    }
);

api!(
    fn rocksdb_perfcontext_reset(_context: *mut rocksdb_perfcontext_t) {
        perf::reset();
    }
);

/// The names of the metrics, in the order of the numbers in `rocksdb/c.h`.
pub(crate) const METRICS: &[&str] = &[
    "user_key_comparison_count",
    "block_cache_hit_count",
    "block_read_count",
    "block_read_byte",
    "block_read_time",
    "block_checksum_time",
    "block_decompress_time",
    "get_read_bytes",
    "multiget_read_bytes",
    "iter_read_bytes",
    "internal_key_skipped_count",
    "internal_delete_skipped_count",
    "internal_recent_skipped_count",
    "internal_merge_count",
    "get_snapshot_time",
    "get_from_memtable_time",
    "get_from_memtable_count",
    "get_post_process_time",
    "get_from_output_files_time",
    "seek_on_memtable_time",
    "seek_on_memtable_count",
    "next_on_memtable_count",
    "prev_on_memtable_count",
    "seek_child_seek_time",
    "seek_child_seek_count",
    "seek_min_heap_time",
    "seek_max_heap_time",
    "seek_internal_seek_time",
    "find_next_user_entry_time",
    "write_wal_time",
    "write_memtable_time",
    "write_delay_time",
    "write_pre_and_post_process_time",
    "db_mutex_lock_nanos",
    "db_condition_wait_nanos",
    "merge_operator_time_nanos",
    "read_index_block_nanos",
    "read_filter_block_nanos",
    "new_table_block_iter_nanos",
    "new_table_iterator_nanos",
    "block_seek_nanos",
    "find_table_nanos",
    "bloom_memtable_hit_count",
    "bloom_memtable_miss_count",
    "bloom_sst_hit_count",
    "bloom_sst_miss_count",
    "key_lock_wait_time",
    "key_lock_wait_count",
    "env_new_sequential_file_nanos",
    "env_new_random_access_file_nanos",
    "env_new_writable_file_nanos",
    "env_reuse_writable_file_nanos",
    "env_new_random_rw_file_nanos",
    "env_new_directory_nanos",
    "env_file_exists_nanos",
    "env_get_children_nanos",
    "env_get_children_file_attributes_nanos",
    "env_delete_file_nanos",
    "env_create_dir_nanos",
    "env_create_dir_if_missing_nanos",
    "env_delete_dir_nanos",
    "env_get_file_size_nanos",
    "env_get_file_modification_time_nanos",
    "env_rename_file_nanos",
    "env_link_file_nanos",
    "env_lock_file_nanos",
    "env_unlock_file_nanos",
    "env_new_logger_nanos",
    "number_async_seek",
    "blob_cache_hit_count",
    "blob_read_count",
    "blob_read_byte",
    "blob_read_time",
    "blob_checksum_time",
    "blob_decompress_time",
    "internal_range_del_reseek_count",
    "block_read_cpu_time",
    "internal_merge_point_lookup_count",
    "data_block_read_byte",
    "index_block_read_byte",
    "filter_block_read_byte",
    "compression_dict_block_read_byte",
    "metadata_block_read_byte",
    "blob_cache_read_byte",
];

api!(
    fn rocksdb_perfcontext_metric(_context: *mut rocksdb_perfcontext_t, metric: c_int) -> u64 {
        let Some(name) = usize::try_from(metric)
            .ok()
            .and_then(|metric| METRICS.get(metric))
        else {
            return 0;
        };
        perf::context()
            .fields()
            .find(|(field, _)| field == name)
            .map_or(0, |(_, value)| value)
    }
);

api!(
    fn rocksdb_perfcontext_report(_context: *mut rocksdb_perfcontext_t, exclude_zero: u8) -> *mut c_char {
        let context = perf::context();
        let mut text = String::new();
        for name in METRICS {
            let value = context
                .fields()
                .find(|(field, _)| field == name)
                .map_or(0, |(_, value)| value);
            if value != 0 || exclude_zero == 0 {
                text.push_str(&format!("{name} = {value}, "));
            }
        }
        copied_string(text.trim_end_matches(", ").as_bytes())
    }
);
