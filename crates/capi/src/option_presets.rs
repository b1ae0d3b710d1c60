//! The groups of options that RocksDB's presets set.

use std::ffi::c_int;

use esker::{CacheOptions, FilterPolicy};

use crate::block_based::rocksdb_block_based_table_options_t;
use crate::cache::rocksdb_cache_t;
use crate::options::{TableFactory, rocksdb_options_t};

api!(
    fn rocksdb_options_increase_parallelism(options: *mut rocksdb_options_t, threads: c_int) {
        (*options).fields.max_background_jobs = threads;
    }
);

api!(
    fn rocksdb_options_optimize_for_point_lookup(options: *mut rocksdb_options_t, cache_mb: u64) {
        let mut table = rocksdb_block_based_table_options_t::default();
        table.fields.data_block_index_type = 1;
        table.fields.data_block_hash_table_util_ratio = 0.75;
        table.filter_policy = FilterPolicy::Bloom(10.0);
        table.block_cache = Some(rocksdb_cache_t::new(CacheOptions {
            capacity: (cache_mb as usize) << 20,
            ..CacheOptions::default()
        }));
        (*options).table = TableFactory::BlockBased(table);
        (*options).fields.memtable_prefix_bloom_size_ratio = 0.02;
        (*options).fields.memtable_whole_key_filtering = 1;
    }
);

/// Sizes the memtables by a memory budget, for either compaction style.
fn memtables_of(options: &mut rocksdb_options_t, budget: u64) {
    options.fields.write_buffer_size = (budget / 4) as usize;
    options.fields.min_write_buffer_number_to_merge = 2;
    options.fields.max_write_buffer_number = 6;
}

api!(
    fn rocksdb_options_optimize_level_style_compaction(options: *mut rocksdb_options_t, budget: u64) {
        const LZ4: c_int = 4;
        let options = &mut *options;
        memtables_of(options, budget);
        options.fields.level0_file_num_compaction_trigger = 2;
        options.fields.target_file_size_base = budget / 8;
        options.fields.max_bytes_for_level_base = budget;
        options.fields.compaction_style = 0;
        let levels = options.fields.num_levels.max(0);
        options.compression_per_level = (0..levels).map(|level| if level < 2 { 0 } else { LZ4 }).collect();
    }
);

api!(
    fn rocksdb_options_optimize_universal_style_compaction(options: *mut rocksdb_options_t, budget: u64) {
        let options = &mut *options;
        memtables_of(options, budget);
        options.fields.compaction_style = 1;
        options.universal.compression_size_percent = 80;
    }
);

api!(
    fn rocksdb_options_prepare_for_bulk_load(options: *mut rocksdb_options_t) {
        const NEVER: c_int = 1 << 30;
        let fields = &mut (*options).fields;
        fields.level0_file_num_compaction_trigger = NEVER;
        fields.level0_slowdown_writes_trigger = NEVER;
        fields.level0_stop_writes_trigger = NEVER;
        fields.soft_pending_compaction_bytes_limit = 0;
        fields.hard_pending_compaction_bytes_limit = 0;
        fields.disable_auto_compactions = 1;
        fields.max_compaction_bytes = 1 << 60;
        fields.num_levels = 2;
        fields.max_write_buffer_number = 6;
        fields.min_write_buffer_number_to_merge = 1;
        fields.max_background_flushes = 4;
        fields.max_background_compactions = 2;
        fields.target_file_size_base = 256 << 20;
    }
);

api!(
    fn rocksdb_options_set_min_level_to_compress(options: *mut rocksdb_options_t, level: c_int) {
        let options = &mut *options;
        if level < 0 {
            return;
        }
        let levels = options.fields.num_levels.max(0);
        let compression = options.fields.compression;
        options.compression_per_level = (0..levels)
            .map(|at| if at < level { 0 } else { compression })
            .collect();
    }
);
