//! The fields of the C objects, with RocksDB's defaults.

// Written by `cargo xtask gen` from crates/capi/fields.tsv and crates/capi/functions.tsv; do not edit.

use std::ffi::{c_char, c_int};

use super::{apply, parse};
use crate::generation::at;
use crate::generation::Generation::*;

/// Fields of `rocksdb_backup_engine_options_t`.
#[derive(Clone)]
pub struct BackupEngineOptionsFields {
    pub io_buffer_size: u64,
    pub backup_rate_limit: u64,
    pub max_background_operations: c_int,
    pub share_table_files: u8,
    pub sync: u8,
    pub destroy_old_data: u8,
    pub backup_log_files: u8,
    pub restore_rate_limit: u64,
    pub share_files_with_checksum: u8,
    pub callback_trigger_interval_size: u64,
    pub max_valid_backups_to_open: c_int,
    pub share_files_with_checksum_naming: c_int,
    pub schema_version: c_int,
    pub current_temperatures_override_manifest: u8,
}

impl Default for BackupEngineOptionsFields {
    fn default() -> BackupEngineOptionsFields {
        BackupEngineOptionsFields {
            io_buffer_size: 0,
            backup_rate_limit: 0,
            max_background_operations: 1,
            share_table_files: 1,
            sync: 1,
            destroy_old_data: 0,
            backup_log_files: 1,
            restore_rate_limit: 0,
            share_files_with_checksum: 1,
            callback_trigger_interval_size: 4194304,
            max_valid_backups_to_open: c_int::MAX,
            share_files_with_checksum_naming: -2147483646,
            schema_version: 1,
            current_temperatures_override_manifest: 0,
        }
    }
}

/// Fields of `rocksdb_blob_file_addition_info_t`.
#[derive(Clone)]
pub struct BlobFileAdditionInfoFields {
    pub blob_file_path: Vec<u8>,
    pub blob_file_number: u64,
    pub total_blob_count: u64,
    pub total_blob_bytes: u64,
}

impl Default for BlobFileAdditionInfoFields {
    fn default() -> BlobFileAdditionInfoFields {
        BlobFileAdditionInfoFields {
            blob_file_path: Vec::new(),
            blob_file_number: 0,
            total_blob_count: 0,
            total_blob_bytes: 0,
        }
    }
}

/// Fields of `rocksdb_blob_file_garbage_info_t`.
#[derive(Clone)]
pub struct BlobFileGarbageInfoFields {
    pub blob_file_path: Vec<u8>,
    pub blob_file_number: u64,
    pub garbage_blob_count: u64,
    pub garbage_blob_bytes: u64,
}

impl Default for BlobFileGarbageInfoFields {
    fn default() -> BlobFileGarbageInfoFields {
        BlobFileGarbageInfoFields {
            blob_file_path: Vec::new(),
            blob_file_number: 0,
            garbage_blob_count: 0,
            garbage_blob_bytes: 0,
        }
    }
}

/// Fields of `rocksdb_block_based_table_options_t`.
#[derive(Clone)]
pub struct BlockBasedTableOptionsFields {
    pub top_level_index_pinning_tier: c_int,
    pub partition_pinning_tier: c_int,
    pub unpartitioned_pinning_tier: c_int,
    pub cache_index_and_filter_blocks: u8,
    pub cache_index_and_filter_blocks_with_high_priority: u8,
    pub pin_l0_filter_and_index_blocks_in_cache: u8,
    pub pin_top_level_index_and_filter: u8,
    pub index_type: c_int,
    pub index_block_search_type: c_int,
    pub data_block_index_type: c_int,
    pub data_block_hash_table_util_ratio: f64,
    pub checksum: c_char,
    pub no_block_cache: u8,
    pub block_size: usize,
    pub block_size_deviation: c_int,
    pub block_restart_interval: c_int,
    pub index_block_restart_interval: c_int,
    pub metadata_block_size: u64,
    pub partition_filters: u8,
    pub decouple_partitioned_filters: u8,
    pub optimize_filters_for_memory: u8,
    pub use_delta_encoding: u8,
    pub use_udi_as_primary_index: u8,
    pub fail_if_no_udi_on_open: u8,
    pub whole_key_filtering: u8,
    pub detect_filter_construct_corruption: u8,
    pub verify_compression: u8,
    pub read_amp_bytes_per_bit: u32,
    pub format_version: c_int,
    pub separate_key_value_in_data_block: u8,
    pub uniform_cv_threshold: f64,
    pub enable_index_compression: u8,
    pub block_align: u8,
    pub super_block_alignment_size: usize,
    pub super_block_alignment_space_overhead_ratio: usize,
    pub index_shortening: c_int,
    pub max_auto_readahead_size: usize,
    pub prepopulate_block_cache: c_int,
    pub initial_auto_readahead_size: usize,
    pub num_file_reads_for_auto_readahead: u64,
}

impl Default for BlockBasedTableOptionsFields {
    fn default() -> BlockBasedTableOptionsFields {
        BlockBasedTableOptionsFields {
            top_level_index_pinning_tier: 0,
            partition_pinning_tier: 0,
            unpartitioned_pinning_tier: 0,
            cache_index_and_filter_blocks: 0,
            cache_index_and_filter_blocks_with_high_priority: 1,
            pin_l0_filter_and_index_blocks_in_cache: 0,
            pin_top_level_index_and_filter: 1,
            index_type: 0,
            index_block_search_type: 0,
            data_block_index_type: 0,
            data_block_hash_table_util_ratio: 0.75,
            checksum: 4,
            no_block_cache: 0,
            block_size: 4096,
            block_size_deviation: 10,
            block_restart_interval: 16,
            index_block_restart_interval: 1,
            metadata_block_size: 4096,
            partition_filters: 0,
            decouple_partitioned_filters: at(1, &[(V10_4, 0)]),
            optimize_filters_for_memory: at(1, &[(V7_8, 0)]),
            use_delta_encoding: 1,
            use_udi_as_primary_index: 0,
            fail_if_no_udi_on_open: 0,
            whole_key_filtering: 1,
            detect_filter_construct_corruption: 0,
            verify_compression: 0,
            read_amp_bytes_per_bit: 0,
            format_version: at(7, &[(V7_8, 5), (V10_9, 6)]),
            separate_key_value_in_data_block: 0,
            uniform_cv_threshold: -1.0,
            enable_index_compression: 1,
            block_align: 0,
            super_block_alignment_size: 0,
            super_block_alignment_space_overhead_ratio: 128,
            index_shortening: 1,
            max_auto_readahead_size: 262144,
            prepopulate_block_cache: 0,
            initial_auto_readahead_size: 8192,
            num_file_reads_for_auto_readahead: 2,
        }
    }
}

impl BlockBasedTableOptionsFields {
    /// Sets the field with RocksDB's name `name` from text. `None` if there is none, or the text has another
    /// type.
    pub fn set(&mut self, name: &str, text: &str) -> Option<()> {
        match name {
            "top_level_index_pinning_tier" => self.top_level_index_pinning_tier = parse(text)?,
            "partition_pinning_tier" => self.partition_pinning_tier = parse(text)?,
            "unpartitioned_pinning_tier" => self.unpartitioned_pinning_tier = parse(text)?,
            "cache_index_and_filter_blocks" => self.cache_index_and_filter_blocks = parse(text)?,
            "cache_index_and_filter_blocks_with_high_priority" => self.cache_index_and_filter_blocks_with_high_priority = parse(text)?,
            "pin_l0_filter_and_index_blocks_in_cache" => self.pin_l0_filter_and_index_blocks_in_cache = parse(text)?,
            "pin_top_level_index_and_filter" => self.pin_top_level_index_and_filter = parse(text)?,
            "index_type" => self.index_type = parse(text)?,
            "index_block_search_type" => self.index_block_search_type = parse(text)?,
            "data_block_index_type" => self.data_block_index_type = parse(text)?,
            "data_block_hash_table_util_ratio" => self.data_block_hash_table_util_ratio = parse(text)?,
            "checksum" => self.checksum = parse(text)?,
            "no_block_cache" => self.no_block_cache = parse(text)?,
            "block_size" => self.block_size = parse(text)?,
            "block_size_deviation" => self.block_size_deviation = parse(text)?,
            "block_restart_interval" => self.block_restart_interval = parse(text)?,
            "index_block_restart_interval" => self.index_block_restart_interval = parse(text)?,
            "metadata_block_size" => self.metadata_block_size = parse(text)?,
            "partition_filters" => self.partition_filters = parse(text)?,
            "decouple_partitioned_filters" => self.decouple_partitioned_filters = parse(text)?,
            "optimize_filters_for_memory" => self.optimize_filters_for_memory = parse(text)?,
            "use_delta_encoding" => self.use_delta_encoding = parse(text)?,
            "use_udi_as_primary_index" => self.use_udi_as_primary_index = parse(text)?,
            "fail_if_no_udi_on_open" => self.fail_if_no_udi_on_open = parse(text)?,
            "whole_key_filtering" => self.whole_key_filtering = parse(text)?,
            "detect_filter_construct_corruption" => self.detect_filter_construct_corruption = parse(text)?,
            "verify_compression" => self.verify_compression = parse(text)?,
            "read_amp_bytes_per_bit" => self.read_amp_bytes_per_bit = parse(text)?,
            "format_version" => self.format_version = parse(text)?,
            "separate_key_value_in_data_block" => self.separate_key_value_in_data_block = parse(text)?,
            "uniform_cv_threshold" => self.uniform_cv_threshold = parse(text)?,
            "enable_index_compression" => self.enable_index_compression = parse(text)?,
            "block_align" => self.block_align = parse(text)?,
            "super_block_alignment_size" => self.super_block_alignment_size = parse(text)?,
            "super_block_alignment_space_overhead_ratio" => self.super_block_alignment_space_overhead_ratio = parse(text)?,
            "index_shortening" => self.index_shortening = parse(text)?,
            "max_auto_readahead_size" => self.max_auto_readahead_size = parse(text)?,
            "prepopulate_block_cache" => self.prepopulate_block_cache = parse(text)?,
            "initial_auto_readahead_size" => self.initial_auto_readahead_size = parse(text)?,
            "num_file_reads_for_auto_readahead" => self.num_file_reads_for_auto_readahead = parse(text)?,
            _ => return None,
        }
        Some(())
    }
}

impl BlockBasedTableOptionsFields {
    /// Passes the fields that are rows of `esker::BlockBasedOptions`.
    pub fn apply_table(&self, options: &mut esker::BlockBasedOptions) -> esker::Result<()> {
        apply(options, "cache_index_and_filter_blocks", self.cache_index_and_filter_blocks)?;
        apply(options, "cache_index_and_filter_blocks_with_high_priority", self.cache_index_and_filter_blocks_with_high_priority)?;
        apply(options, "pin_l0_filter_and_index_blocks_in_cache", self.pin_l0_filter_and_index_blocks_in_cache)?;
        apply(options, "pin_top_level_index_and_filter", self.pin_top_level_index_and_filter)?;
        apply(options, "data_block_hash_table_util_ratio", self.data_block_hash_table_util_ratio)?;
        apply(options, "no_block_cache", self.no_block_cache)?;
        apply(options, "block_size", self.block_size)?;
        apply(options, "block_size_deviation", self.block_size_deviation)?;
        apply(options, "block_restart_interval", self.block_restart_interval)?;
        apply(options, "index_block_restart_interval", self.index_block_restart_interval)?;
        apply(options, "metadata_block_size", self.metadata_block_size)?;
        apply(options, "partition_filters", self.partition_filters)?;
        apply(options, "decouple_partitioned_filters", self.decouple_partitioned_filters)?;
        apply(options, "optimize_filters_for_memory", self.optimize_filters_for_memory)?;
        apply(options, "use_delta_encoding", self.use_delta_encoding)?;
        apply(options, "whole_key_filtering", self.whole_key_filtering)?;
        apply(options, "format_version", self.format_version)?;
        apply(options, "separate_key_value_in_data_block", self.separate_key_value_in_data_block)?;
        apply(options, "enable_index_compression", self.enable_index_compression)?;
        apply(options, "block_align", self.block_align)?;
        apply(options, "max_auto_readahead_size", self.max_auto_readahead_size)?;
        apply(options, "initial_auto_readahead_size", self.initial_auto_readahead_size)?;
        apply(options, "num_file_reads_for_auto_readahead", self.num_file_reads_for_auto_readahead)?;
        Ok(())
    }
}

/// Fields of `rocksdb_block_cache_trace_options_t`.
#[derive(Clone)]
pub struct BlockCacheTraceOptionsFields {
    pub sampling_frequency: u64,
}

impl Default for BlockCacheTraceOptionsFields {
    fn default() -> BlockCacheTraceOptionsFields {
        BlockCacheTraceOptionsFields {
            sampling_frequency: 1,
        }
    }
}

/// Fields of `rocksdb_block_cache_trace_writer_options_t`.
#[derive(Clone)]
pub struct BlockCacheTraceWriterOptionsFields {
    pub max_trace_file_size: u64,
}

impl Default for BlockCacheTraceWriterOptionsFields {
    fn default() -> BlockCacheTraceWriterOptionsFields {
        BlockCacheTraceWriterOptionsFields {
            max_trace_file_size: 68719476736,
        }
    }
}

/// Fields of `rocksdb_column_family_metadata_t`.
#[derive(Clone)]
pub struct ColumnFamilyMetadataFields {
    pub size: u64,
    pub file_count: usize,
    pub name: Vec<u8>,
    pub level_count: usize,
}

impl Default for ColumnFamilyMetadataFields {
    fn default() -> ColumnFamilyMetadataFields {
        ColumnFamilyMetadataFields {
            size: 0,
            file_count: 0,
            name: Vec::new(),
            level_count: 0,
        }
    }
}

/// Fields of `rocksdb_column_family_metadata_options_t`.
#[derive(Clone)]
pub struct ColumnFamilyMetadataOptionsFields {
    pub level: c_int,
}

impl Default for ColumnFamilyMetadataOptionsFields {
    fn default() -> ColumnFamilyMetadataOptionsFields {
        ColumnFamilyMetadataOptionsFields {
            level: -1,
        }
    }
}

/// Fields of `rocksdb_compaction_file_info_t`.
#[derive(Clone)]
pub struct CompactionFileInfoFields {
    pub level: c_int,
    pub file_number: u64,
    pub oldest_blob_file_number: u64,
}

impl Default for CompactionFileInfoFields {
    fn default() -> CompactionFileInfoFields {
        CompactionFileInfoFields {
            level: 0,
            file_number: 0,
            oldest_blob_file_number: 0,
        }
    }
}

/// Fields of `rocksdb_compaction_job_stats_t`.
#[derive(Clone)]
pub struct CompactionJobStatsFields {
    pub elapsed_micros: u64,
    pub cpu_micros: u64,
    pub has_accurate_num_input_records: u8,
    pub num_input_records: u64,
    pub num_blobs_read: u64,
    pub num_input_files: usize,
    pub num_input_files_trivially_moved: usize,
    pub num_input_files_at_output_level: usize,
    pub num_filtered_input_files: usize,
    pub num_filtered_input_files_at_output_level: usize,
    pub num_output_records: u64,
    pub num_output_files: usize,
    pub num_output_files_blob: usize,
    pub is_full_compaction: u8,
    pub is_manual_compaction: u8,
    pub is_remote_compaction: u8,
    pub total_input_bytes: u64,
    pub total_blob_bytes_read: u64,
    pub total_output_bytes: u64,
    pub total_output_bytes_blob: u64,
    pub total_skipped_input_bytes: u64,
    pub num_records_replaced: u64,
    pub total_input_raw_key_bytes: u64,
    pub total_input_raw_value_bytes: u64,
    pub num_input_deletion_records: u64,
    pub num_expired_deletion_records: u64,
    pub num_corrupt_keys: u64,
    pub file_write_nanos: u64,
    pub file_range_sync_nanos: u64,
    pub file_fsync_nanos: u64,
    pub file_prepare_write_nanos: u64,
    pub smallest_output_key_prefix: Vec<u8>,
    pub largest_output_key_prefix: Vec<u8>,
    pub num_single_del_fallthru: u64,
    pub num_single_del_mismatch: u64,
}

impl Default for CompactionJobStatsFields {
    fn default() -> CompactionJobStatsFields {
        CompactionJobStatsFields {
            elapsed_micros: 0,
            cpu_micros: 0,
            has_accurate_num_input_records: 0,
            num_input_records: 0,
            num_blobs_read: 0,
            num_input_files: 0,
            num_input_files_trivially_moved: 0,
            num_input_files_at_output_level: 0,
            num_filtered_input_files: 0,
            num_filtered_input_files_at_output_level: 0,
            num_output_records: 0,
            num_output_files: 0,
            num_output_files_blob: 0,
            is_full_compaction: 0,
            is_manual_compaction: 0,
            is_remote_compaction: 0,
            total_input_bytes: 0,
            total_blob_bytes_read: 0,
            total_output_bytes: 0,
            total_output_bytes_blob: 0,
            total_skipped_input_bytes: 0,
            num_records_replaced: 0,
            total_input_raw_key_bytes: 0,
            total_input_raw_value_bytes: 0,
            num_input_deletion_records: 0,
            num_expired_deletion_records: 0,
            num_corrupt_keys: 0,
            file_write_nanos: 0,
            file_range_sync_nanos: 0,
            file_fsync_nanos: 0,
            file_prepare_write_nanos: 0,
            smallest_output_key_prefix: Vec::new(),
            largest_output_key_prefix: Vec::new(),
            num_single_del_fallthru: 0,
            num_single_del_mismatch: 0,
        }
    }
}

/// Fields of `rocksdb_compaction_options_t`.
#[derive(Clone)]
pub struct CompactionOptionsFields {
    pub compression: c_int,
    pub output_file_size_limit: u64,
    pub max_subcompactions: u32,
    pub output_temperature_override: c_int,
    pub allow_trivial_move: u8,
}

impl Default for CompactionOptionsFields {
    fn default() -> CompactionOptionsFields {
        CompactionOptionsFields {
            compression: 255,
            output_file_size_limit: u64::MAX,
            max_subcompactions: 0,
            output_temperature_override: 0,
            allow_trivial_move: 0,
        }
    }
}

/// Fields of `rocksdb_compactionfiltercontext_t`.
#[derive(Clone)]
pub struct CompactionfiltercontextFields {
    pub is_full_compaction: u8,
    pub is_manual_compaction: u8,
}

impl Default for CompactionfiltercontextFields {
    fn default() -> CompactionfiltercontextFields {
        CompactionfiltercontextFields {
            is_full_compaction: 0,
            is_manual_compaction: 0,
        }
    }
}

/// Fields of `rocksdb_compactionjobinfo_t`.
#[derive(Clone)]
pub struct CompactionjobinfoFields {
    pub cf_id: u32,
    pub cf_name: Vec<u8>,
    pub thread_id: u64,
    pub job_id: c_int,
    pub num_l0_files: c_int,
    pub base_input_level: c_int,
    pub output_level: c_int,
    pub compaction_reason: u32,
    pub compression: u32,
    pub blob_compression_type: u32,
    pub aborted: u8,
    pub elapsed_micros: u64,
    pub num_corrupt_keys: u64,
    pub input_records: u64,
    pub output_records: u64,
    pub total_input_bytes: u64,
    pub total_output_bytes: u64,
    pub num_input_files: usize,
    pub num_input_files_at_output_level: usize,
}

impl Default for CompactionjobinfoFields {
    fn default() -> CompactionjobinfoFields {
        CompactionjobinfoFields {
            cf_id: 0,
            cf_name: Vec::new(),
            thread_id: 0,
            job_id: 0,
            num_l0_files: 0,
            base_input_level: 0,
            output_level: 0,
            compaction_reason: 0,
            compression: 0,
            blob_compression_type: 0,
            aborted: 0,
            elapsed_micros: 0,
            num_corrupt_keys: 0,
            input_records: 0,
            output_records: 0,
            total_input_bytes: 0,
            total_output_bytes: 0,
            num_input_files: 0,
            num_input_files_at_output_level: 0,
        }
    }
}

/// Fields of `rocksdb_compactionservice_jobinfo_t`.
#[derive(Clone)]
pub struct CompactionserviceJobinfoFields {
    pub db_name: Vec<u8>,
    pub db_id: Vec<u8>,
    pub db_session_id: Vec<u8>,
    pub cf_name: Vec<u8>,
    pub cf_id: u32,
    pub job_id: u64,
    pub priority: c_int,
    pub compaction_reason: c_int,
    pub base_input_level: c_int,
    pub output_level: c_int,
    pub is_full_compaction: u8,
    pub is_manual_compaction: u8,
    pub is_bottommost_level: u8,
}

impl Default for CompactionserviceJobinfoFields {
    fn default() -> CompactionserviceJobinfoFields {
        CompactionserviceJobinfoFields {
            db_name: Vec::new(),
            db_id: Vec::new(),
            db_session_id: Vec::new(),
            cf_name: Vec::new(),
            cf_id: 0,
            job_id: 0,
            priority: 0,
            compaction_reason: 0,
            base_input_level: 0,
            output_level: 0,
            is_full_compaction: 0,
            is_manual_compaction: 0,
            is_bottommost_level: 0,
        }
    }
}

/// Fields of `rocksdb_compactoptions_t`.
#[derive(Clone)]
pub struct CompactoptionsFields {
    pub exclusive_manual_compaction: u8,
    pub bottommost_level_compaction: u8,
    pub change_level: u8,
    pub target_level: c_int,
    pub target_path_id: c_int,
    pub allow_write_stall: u8,
    pub max_subcompactions: c_int,
    pub blob_garbage_collection_policy: c_int,
    pub blob_garbage_collection_age_cutoff: f64,
}

impl Default for CompactoptionsFields {
    fn default() -> CompactoptionsFields {
        CompactoptionsFields {
            exclusive_manual_compaction: 0,
            bottommost_level_compaction: 1,
            change_level: 0,
            target_level: -1,
            target_path_id: 0,
            allow_write_stall: 0,
            max_subcompactions: 0,
            blob_garbage_collection_policy: 2,
            blob_garbage_collection_age_cutoff: -1.0,
        }
    }
}

/// Fields of `rocksdb_create_backup_options_t`.
#[derive(Clone)]
pub struct CreateBackupOptionsFields {
    pub decrease_background_thread_cpu_priority: u8,
    pub background_thread_cpu_priority: c_int,
    pub flush_before_backup: u8,
    pub atomic_flush: u8,
}

impl Default for CreateBackupOptionsFields {
    fn default() -> CreateBackupOptionsFields {
        CreateBackupOptionsFields {
            decrease_background_thread_cpu_priority: 0,
            background_thread_cpu_priority: 2,
            flush_before_backup: 0,
            atomic_flush: 0,
        }
    }
}

/// Fields of `rocksdb_cuckoo_table_options_t`.
#[derive(Clone)]
pub struct CuckooTableOptionsFields {
    pub hash_ratio: f64,
    pub hash_table_ratio: f64,
    pub max_search_depth: u32,
    pub cuckoo_block_size: u32,
    pub identity_as_first_hash: u8,
    pub use_module_hash: u8,
}

impl Default for CuckooTableOptionsFields {
    fn default() -> CuckooTableOptionsFields {
        CuckooTableOptionsFields {
            hash_ratio: 0.9,
            hash_table_ratio: 0.9,
            max_search_depth: 100,
            cuckoo_block_size: 5,
            identity_as_first_hash: 0,
            use_module_hash: 1,
        }
    }
}

/// Fields of `rocksdb_envoptions_t`.
#[derive(Clone)]
pub struct EnvoptionsFields {
    pub use_mmap_reads: u8,
    pub use_mmap_writes: u8,
    pub use_direct_reads: u8,
    pub use_direct_writes: u8,
    pub allow_fallocate: u8,
    pub fd_cloexec: u8,
    pub bytes_per_sync: u64,
    pub strict_bytes_per_sync: u8,
    pub fallocate_with_keep_size: u8,
    pub compaction_readahead_size: usize,
    pub writable_file_max_buffer_size: usize,
}

impl Default for EnvoptionsFields {
    fn default() -> EnvoptionsFields {
        EnvoptionsFields {
            use_mmap_reads: 0,
            use_mmap_writes: 1,
            use_direct_reads: 0,
            use_direct_writes: 0,
            allow_fallocate: 1,
            fd_cloexec: 1,
            bytes_per_sync: 0,
            strict_bytes_per_sync: 0,
            fallocate_with_keep_size: 1,
            compaction_readahead_size: 0,
            writable_file_max_buffer_size: 1048576,
        }
    }
}

/// Fields of `rocksdb_externalfileingestioninfo_t`.
#[derive(Clone)]
pub struct ExternalfileingestioninfoFields {
    pub cf_name: Vec<u8>,
    pub external_file_path: Vec<u8>,
    pub internal_file_path: Vec<u8>,
    pub global_seqno: u64,
}

impl Default for ExternalfileingestioninfoFields {
    fn default() -> ExternalfileingestioninfoFields {
        ExternalfileingestioninfoFields {
            cf_name: Vec::new(),
            external_file_path: Vec::new(),
            internal_file_path: Vec::new(),
            global_seqno: 0,
        }
    }
}

/// Fields of `rocksdb_fifo_compaction_options_t`.
#[derive(Clone)]
pub struct FifoCompactionOptionsFields {
    pub allow_compaction: u8,
    pub max_table_files_size: u64,
    pub max_data_files_size: u64,
    pub use_kv_ratio_compaction: u8,
    pub age_for_warm: u64,
    pub allow_trivial_copy_when_change_temperature: u8,
    pub trivial_copy_buffer_size: u64,
}

impl Default for FifoCompactionOptionsFields {
    fn default() -> FifoCompactionOptionsFields {
        FifoCompactionOptionsFields {
            allow_compaction: 0,
            max_table_files_size: 1073741824,
            max_data_files_size: 0,
            use_kv_ratio_compaction: 0,
            age_for_warm: 0,
            allow_trivial_copy_when_change_temperature: 0,
            trivial_copy_buffer_size: 4096,
        }
    }
}

impl FifoCompactionOptionsFields {
    /// Sets the field with RocksDB's name `name` from text. `None` if there is none, or the text has another
    /// type.
    pub fn set(&mut self, name: &str, text: &str) -> Option<()> {
        match name {
            "allow_compaction" => self.allow_compaction = parse(text)?,
            "max_table_files_size" => self.max_table_files_size = parse(text)?,
            "max_data_files_size" => self.max_data_files_size = parse(text)?,
            "use_kv_ratio_compaction" => self.use_kv_ratio_compaction = parse(text)?,
            "age_for_warm" => self.age_for_warm = parse(text)?,
            "allow_trivial_copy_when_change_temperature" => self.allow_trivial_copy_when_change_temperature = parse(text)?,
            "trivial_copy_buffer_size" => self.trivial_copy_buffer_size = parse(text)?,
            _ => return None,
        }
        Some(())
    }
}

/// Fields of `rocksdb_flushjobinfo_t`.
#[derive(Clone)]
pub struct FlushjobinfoFields {
    pub cf_id: u32,
    pub cf_name: Vec<u8>,
    pub file_path: Vec<u8>,
    pub file_number: u64,
    pub oldest_blob_file_number: u64,
    pub thread_id: u64,
    pub job_id: c_int,
    pub triggered_writes_slowdown: u8,
    pub triggered_writes_stop: u8,
    pub smallest_seqno: u64,
    pub largest_seqno: u64,
    pub flush_reason: u32,
    pub blob_compression_type: u32,
}

impl Default for FlushjobinfoFields {
    fn default() -> FlushjobinfoFields {
        FlushjobinfoFields {
            cf_id: 0,
            cf_name: Vec::new(),
            file_path: Vec::new(),
            file_number: 0,
            oldest_blob_file_number: 0,
            thread_id: 0,
            job_id: 0,
            triggered_writes_slowdown: 0,
            triggered_writes_stop: 0,
            smallest_seqno: 0,
            largest_seqno: 0,
            flush_reason: 0,
            blob_compression_type: 0,
        }
    }
}

/// Fields of `rocksdb_flushoptions_t`.
#[derive(Clone)]
pub struct FlushoptionsFields {
    pub wait: u8,
    pub allow_write_stall: u8,
    pub force_atomic_flush: u8,
    pub listener_wait: u8,
}

impl Default for FlushoptionsFields {
    fn default() -> FlushoptionsFields {
        FlushoptionsFields {
            wait: 1,
            allow_write_stall: 0,
            force_atomic_flush: 0,
            listener_wait: 0,
        }
    }
}

/// Fields of `rocksdb_flushwaloptions_t`.
#[derive(Clone)]
pub struct FlushwaloptionsFields {
    pub sync: u8,
    pub rate_limiter_priority: c_int,
}

impl Default for FlushwaloptionsFields {
    fn default() -> FlushwaloptionsFields {
        FlushwaloptionsFields {
            sync: 0,
            rate_limiter_priority: 4,
        }
    }
}

/// Fields of `rocksdb_hyper_clock_cache_options_t`.
#[derive(Clone)]
pub struct HyperClockCacheOptionsFields {
    pub capacity: usize,
    pub estimated_entry_charge: usize,
    pub num_shard_bits: c_int,
}

impl Default for HyperClockCacheOptionsFields {
    fn default() -> HyperClockCacheOptionsFields {
        HyperClockCacheOptionsFields {
            capacity: 0,
            estimated_entry_charge: 0,
            num_shard_bits: -1,
        }
    }
}

/// Fields of `rocksdb_import_column_family_options_t`.
#[derive(Clone)]
pub struct ImportColumnFamilyOptionsFields {
    pub move_files: u8,
}

impl Default for ImportColumnFamilyOptionsFields {
    fn default() -> ImportColumnFamilyOptionsFields {
        ImportColumnFamilyOptionsFields {
            move_files: 0,
        }
    }
}

/// Fields of `rocksdb_ingestexternalfileoptions_t`.
#[derive(Clone)]
pub struct IngestexternalfileoptionsFields {
    pub move_files: u8,
    pub snapshot_consistency: u8,
    pub allow_global_seqno: u8,
    pub allow_blocking_flush: u8,
    pub ingest_behind: u8,
    pub fail_if_not_bottommost_level: u8,
    pub link_files: u8,
    pub failed_move_fall_back_to_copy: u8,
    pub write_global_seqno: u8,
    pub verify_checksums_before_ingest: u8,
    pub verify_checksums_readahead_size: usize,
    pub verify_file_checksum: u8,
    pub allow_db_generated_files: u8,
    pub fill_cache: u8,
    pub prefetch_lmax_index_and_filter_blocks: u8,
    pub file_opening_threads: c_int,
}

impl Default for IngestexternalfileoptionsFields {
    fn default() -> IngestexternalfileoptionsFields {
        IngestexternalfileoptionsFields {
            move_files: 0,
            snapshot_consistency: 1,
            allow_global_seqno: 1,
            allow_blocking_flush: 1,
            ingest_behind: 0,
            fail_if_not_bottommost_level: 0,
            link_files: 0,
            failed_move_fall_back_to_copy: 1,
            write_global_seqno: at(0, &[(V7_8, 1)]),
            verify_checksums_before_ingest: 0,
            verify_checksums_readahead_size: 0,
            verify_file_checksum: 1,
            allow_db_generated_files: 0,
            fill_cache: 1,
            prefetch_lmax_index_and_filter_blocks: 1,
            file_opening_threads: 1,
        }
    }
}

/// Fields of `rocksdb_level_metadata_t`.
#[derive(Clone)]
pub struct LevelMetadataFields {
    pub level: c_int,
    pub size: u64,
    pub file_count: usize,
}

impl Default for LevelMetadataFields {
    fn default() -> LevelMetadataFields {
        LevelMetadataFields {
            level: 0,
            size: 0,
            file_count: 0,
        }
    }
}

/// Fields of `rocksdb_livefiles_storage_info_options_t`.
#[derive(Clone)]
pub struct LivefilesStorageInfoOptionsFields {
    pub include_checksum_info: u8,
    pub wal_size_for_flush: u64,
    pub atomic_flush: u8,
}

impl Default for LivefilesStorageInfoOptionsFields {
    fn default() -> LivefilesStorageInfoOptionsFields {
        LivefilesStorageInfoOptionsFields {
            include_checksum_info: 0,
            wal_size_for_flush: 0,
            atomic_flush: 0,
        }
    }
}

/// Fields of `rocksdb_lru_cache_options_t`.
#[derive(Clone)]
pub struct LruCacheOptionsFields {
    pub capacity: usize,
    pub num_shard_bits: c_int,
}

impl Default for LruCacheOptionsFields {
    fn default() -> LruCacheOptionsFields {
        LruCacheOptionsFields {
            capacity: 0,
            num_shard_bits: -1,
        }
    }
}

/// Fields of `rocksdb_memory_usage_t`.
#[derive(Clone)]
pub struct MemoryUsageFields {
    pub mem_table_total: u64,
    pub mem_table_unflushed: u64,
    pub mem_table_readers_total: u64,
    pub cache_total: u64,
}

impl Default for MemoryUsageFields {
    fn default() -> MemoryUsageFields {
        MemoryUsageFields {
            mem_table_total: 0,
            mem_table_unflushed: 0,
            mem_table_readers_total: 0,
            cache_total: 0,
        }
    }
}

/// Fields of `rocksdb_memtableinfo_t`.
#[derive(Clone)]
pub struct MemtableinfoFields {
    pub cf_name: Vec<u8>,
    pub first_seqno: u64,
    pub earliest_seqno: u64,
    pub num_entries: u64,
    pub num_deletes: u64,
    pub newest_udt: Vec<u8>,
}

impl Default for MemtableinfoFields {
    fn default() -> MemtableinfoFields {
        MemtableinfoFields {
            cf_name: Vec::new(),
            first_seqno: 0,
            earliest_seqno: 0,
            num_entries: 0,
            num_deletes: 0,
            newest_udt: Vec::new(),
        }
    }
}

/// Fields of `rocksdb_open_and_compact_options_t`.
#[derive(Clone)]
pub struct OpenAndCompactOptionsFields {
    pub allow_resumption: u8,
}

impl Default for OpenAndCompactOptionsFields {
    fn default() -> OpenAndCompactOptionsFields {
        OpenAndCompactOptionsFields {
            allow_resumption: 0,
        }
    }
}

/// Fields of `rocksdb_optimistictransaction_options_t`.
#[derive(Clone)]
pub struct OptimistictransactionOptionsFields {
    pub set_snapshot: u8,
}

impl Default for OptimistictransactionOptionsFields {
    fn default() -> OptimistictransactionOptionsFields {
        OptimistictransactionOptionsFields {
            set_snapshot: 0,
        }
    }
}

/// Fields of `rocksdb_optimistictransactiondb_options_t`.
#[derive(Clone)]
pub struct OptimistictransactiondbOptionsFields {
    pub validate_policy: c_int,
    pub occ_lock_buckets: u32,
}

impl Default for OptimistictransactiondbOptionsFields {
    fn default() -> OptimistictransactiondbOptionsFields {
        OptimistictransactiondbOptionsFields {
            validate_policy: 1,
            occ_lock_buckets: 1048576,
        }
    }
}

/// Fields of `rocksdb_options_t`.
#[derive(Clone)]
pub struct OptionsFields {
    pub allow_ingest_behind: u8,
    pub create_if_missing: u8,
    pub create_missing_column_families: u8,
    pub error_if_exists: u8,
    pub paranoid_checks: u8,
    pub open_files_async: u8,
    pub info_log_level: c_int,
    pub write_buffer_size: usize,
    pub db_write_buffer_size: usize,
    pub max_open_files: c_int,
    pub max_file_opening_threads: c_int,
    pub max_total_wal_size: u64,
    pub compression_options_zstd_max_train_bytes: c_int,
    pub compression_options_use_zstd_dict_trainer: u8,
    pub compression_options_parallel_threads: c_int,
    pub compression_options_max_dict_buffer_bytes: u64,
    pub num_levels: c_int,
    pub level0_file_num_compaction_trigger: c_int,
    pub level0_slowdown_writes_trigger: c_int,
    pub level0_stop_writes_trigger: c_int,
    pub target_file_size_base: u64,
    pub target_file_size_multiplier: c_int,
    pub max_bytes_for_level_base: u64,
    pub level_compaction_dynamic_level_bytes: u8,
    pub max_bytes_for_level_multiplier: f64,
    pub ttl: u64,
    pub periodic_compaction_seconds: u64,
    pub memtable_op_scan_flush_trigger: u32,
    pub memtable_avg_op_scan_flush_trigger: u32,
    pub min_tombstones_for_range_conversion: u32,
    pub statistics_level: c_int,
    pub skip_stats_update_on_db_open: u8,
    pub enable_blob_files: u8,
    pub min_blob_size: u64,
    pub blob_file_size: u64,
    pub blob_compression_type: c_int,
    pub enable_blob_gc: u8,
    pub blob_gc_age_cutoff: f64,
    pub blob_gc_force_threshold: f64,
    pub read_triggered_compaction_threshold: f64,
    pub max_compaction_trigger_wakeup_seconds: u64,
    pub blob_compaction_readahead_size: u64,
    pub blob_file_starting_level: c_int,
    pub prepopulate_blob_cache: c_int,
    pub max_write_buffer_number: c_int,
    pub min_write_buffer_number_to_merge: c_int,
    pub max_write_buffer_size_to_maintain: i64,
    pub enable_pipelined_write: u8,
    pub unordered_write: u8,
    pub max_subcompactions: u32,
    pub max_background_jobs: c_int,
    pub max_background_compactions: c_int,
    pub max_background_flushes: c_int,
    pub max_log_file_size: usize,
    pub log_file_time_to_roll: usize,
    pub keep_log_file_num: usize,
    pub recycle_log_file_num: usize,
    pub soft_pending_compaction_bytes_limit: usize,
    pub hard_pending_compaction_bytes_limit: usize,
    pub max_manifest_file_size: usize,
    pub table_cache_numshardbits: c_int,
    pub arena_block_size: usize,
    pub use_fsync: c_int,
    pub WAL_ttl_seconds: u64,
    pub WAL_size_limit_MB: u64,
    pub manifest_preallocation_size: usize,
    pub allow_mmap_reads: u8,
    pub allow_mmap_writes: u8,
    pub use_direct_reads: u8,
    pub use_direct_io_for_flush_and_compaction: u8,
    pub is_fd_close_on_exec: u8,
    pub stats_dump_period_sec: u32,
    pub stats_persist_period_sec: u32,
    pub advise_random_on_open: u8,
    pub use_adaptive_mutex: u8,
    pub bytes_per_sync: u64,
    pub wal_bytes_per_sync: u64,
    pub writable_file_max_buffer_size: u64,
    pub allow_concurrent_memtable_write: u8,
    pub enable_write_thread_adaptive_yield: u8,
    pub max_sequential_skip_in_iterations: u64,
    pub disable_auto_compactions: c_int,
    pub optimize_filters_for_hits: c_int,
    pub delete_obsolete_files_period_micros: u64,
    pub memtable_prefix_bloom_size_ratio: f64,
    pub max_compaction_bytes: u64,
    pub write_dbid_to_manifest: u8,
    pub write_identity_file: u8,
    pub track_and_verify_wals_in_manifest: u8,
    pub memtable_huge_page_size: usize,
    pub max_successive_merges: usize,
    pub bloom_locality: u32,
    pub inplace_update_support: u8,
    pub inplace_update_num_locks: usize,
    pub report_bg_io_stats: c_int,
    pub avoid_unnecessary_blocking_io: u8,
    pub experimental_mempurge_threshold: f64,
    pub wal_recovery_mode: c_int,
    pub compression: c_int,
    pub bottommost_compression: c_int,
    pub compaction_style: c_int,
    pub atomic_flush: u8,
    pub manual_wal_flush: u8,
    pub wal_compression: c_int,
    pub compaction_pri: c_int,
    pub dump_malloc_stats: u8,
    pub memtable_whole_key_filtering: u8,
    pub flush_verify_memtable_count: u8,
    pub compaction_verify_record_count: u8,
    pub track_and_verify_wals: u8,
    pub verify_sst_unique_id_in_manifest: u8,
    pub read_io_executor_threads: c_int,
    pub async_wal_precreate: u8,
    pub verify_manifest_content_on_close: u8,
    pub optimize_manifest_for_recovery: u8,
    pub reuse_manifest_on_open: u8,
    pub max_manifest_space_amp_pct: c_int,
    pub use_direct_io_for_compaction_reads: u8,
    pub allow_fallocate: u8,
    pub persist_stats_to_disk: u8,
    pub stats_history_buffer_size: usize,
    pub strict_bytes_per_sync: u8,
    pub enable_thread_tracking: u8,
    pub delayed_write_rate: u64,
    pub max_write_batch_group_size_bytes: u64,
    pub write_thread_max_yield_usec: u64,
    pub write_thread_slow_yield_usec: u64,
    pub allow_2pc: u8,
    pub avoid_flush_during_recovery: u8,
    pub enforce_write_buffer_manager_during_recovery: u8,
    pub avoid_flush_during_shutdown: u8,
    pub two_write_queues: u8,
    pub background_close_inactive_wals: u8,
    pub prefix_seek_opt_in_only: u8,
    pub log_readahead_size: usize,
    pub best_efforts_recovery: u8,
    pub max_bgerror_resume_count: c_int,
    pub bgerror_resume_retry_interval: u64,
    pub allow_data_in_errors: u8,
    pub lowest_used_cache_tier: c_int,
    pub enforce_single_del_contracts: u8,
    pub follower_refresh_catchup_period_ms: u64,
    pub follower_catchup_retry_count: u64,
    pub follower_catchup_retry_wait_ms: u64,
    pub metadata_write_temperature: c_int,
    pub wal_write_temperature: c_int,
    pub fast_sst_open: u8,
    pub target_file_size_is_upper_bound: u8,
    pub strict_max_successive_merges: u8,
    pub paranoid_file_checks: u8,
    pub verify_output_flags: c_int,
    pub force_consistency_checks: u8,
    pub disallow_memtable_writes: u8,
    pub sample_for_compression: u64,
    pub last_level_temperature: c_int,
    pub default_write_temperature: c_int,
    pub default_temperature: c_int,
    pub preclude_last_level_data_seconds: u64,
    pub preserve_internal_time_seconds: u64,
    pub enable_blob_direct_write: u8,
    pub blob_direct_write_partitions: u32,
    pub memtable_protection_bytes_per_key: u32,
    pub persist_user_defined_timestamps: u8,
    pub block_protection_bytes_per_key: u8,
    pub bottommost_file_compaction_delay: u32,
    pub paranoid_memory_checks: u8,
    pub memtable_verify_per_key_checksum_on_seek: u8,
    pub cf_allow_ingest_behind: u8,
    pub memtable_batch_lookup_optimization: u8,
    pub memtable_max_range_deletions: u32,
    pub uncache_aggressiveness: u32,
    pub compaction_readahead_size: usize,
    pub skip_checking_sst_file_sizes_on_db_open: u8,
    pub max_write_buffer_number_to_maintain: c_int,
    pub access_hint_on_compaction_start: c_int,
}

impl Default for OptionsFields {
    fn default() -> OptionsFields {
        OptionsFields {
            allow_ingest_behind: 0,
            create_if_missing: 0,
            create_missing_column_families: 0,
            error_if_exists: 0,
            paranoid_checks: 1,
            open_files_async: 0,
            info_log_level: 1,
            write_buffer_size: 67108864,
            db_write_buffer_size: 0,
            max_open_files: -1,
            max_file_opening_threads: 16,
            max_total_wal_size: 0,
            compression_options_zstd_max_train_bytes: 0,
            compression_options_use_zstd_dict_trainer: 1,
            compression_options_parallel_threads: 1,
            compression_options_max_dict_buffer_bytes: 0,
            num_levels: 7,
            level0_file_num_compaction_trigger: 4,
            level0_slowdown_writes_trigger: 20,
            level0_stop_writes_trigger: 36,
            target_file_size_base: 67108864,
            target_file_size_multiplier: 1,
            max_bytes_for_level_base: 268435456,
            level_compaction_dynamic_level_bytes: at(1, &[(V7_8, 0)]),
            max_bytes_for_level_multiplier: 10.0,
            ttl: 18446744073709551614,
            periodic_compaction_seconds: 18446744073709551614,
            memtable_op_scan_flush_trigger: 0,
            memtable_avg_op_scan_flush_trigger: 0,
            min_tombstones_for_range_conversion: 0,
            statistics_level: 0,
            skip_stats_update_on_db_open: 0,
            enable_blob_files: 0,
            min_blob_size: 0,
            blob_file_size: 268435456,
            blob_compression_type: 0,
            enable_blob_gc: 0,
            blob_gc_age_cutoff: 0.25,
            blob_gc_force_threshold: 1.0,
            read_triggered_compaction_threshold: 0.0,
            max_compaction_trigger_wakeup_seconds: 43200,
            blob_compaction_readahead_size: 0,
            blob_file_starting_level: 0,
            prepopulate_blob_cache: 0,
            max_write_buffer_number: 2,
            min_write_buffer_number_to_merge: 1,
            max_write_buffer_size_to_maintain: 0,
            enable_pipelined_write: 0,
            unordered_write: 0,
            max_subcompactions: 1,
            max_background_jobs: 2,
            max_background_compactions: -1,
            max_background_flushes: -1,
            max_log_file_size: 0,
            log_file_time_to_roll: 0,
            keep_log_file_num: 1000,
            recycle_log_file_num: 0,
            soft_pending_compaction_bytes_limit: 68719476736,
            hard_pending_compaction_bytes_limit: 274877906944,
            max_manifest_file_size: 1073741824,
            table_cache_numshardbits: 6,
            arena_block_size: 0,
            use_fsync: 0,
            WAL_ttl_seconds: 0,
            WAL_size_limit_MB: 0,
            manifest_preallocation_size: 4194304,
            allow_mmap_reads: 0,
            allow_mmap_writes: 0,
            use_direct_reads: 0,
            use_direct_io_for_flush_and_compaction: 0,
            is_fd_close_on_exec: 1,
            stats_dump_period_sec: 600,
            stats_persist_period_sec: 600,
            advise_random_on_open: 1,
            use_adaptive_mutex: 0,
            bytes_per_sync: 0,
            wal_bytes_per_sync: 0,
            writable_file_max_buffer_size: 1048576,
            allow_concurrent_memtable_write: 1,
            enable_write_thread_adaptive_yield: 1,
            max_sequential_skip_in_iterations: 8,
            disable_auto_compactions: 0,
            optimize_filters_for_hits: 0,
            delete_obsolete_files_period_micros: 21600000000,
            memtable_prefix_bloom_size_ratio: 0.0,
            max_compaction_bytes: 0,
            write_dbid_to_manifest: at(1, &[(V7_8, 0)]),
            write_identity_file: 1,
            track_and_verify_wals_in_manifest: 0,
            memtable_huge_page_size: 0,
            max_successive_merges: 0,
            bloom_locality: 0,
            inplace_update_support: 0,
            inplace_update_num_locks: 10000,
            report_bg_io_stats: 0,
            avoid_unnecessary_blocking_io: 0,
            experimental_mempurge_threshold: 0.0,
            wal_recovery_mode: 2,
            compression: at(4, &[(V10_9, 1)]),
            bottommost_compression: 255,
            compaction_style: 0,
            atomic_flush: 0,
            manual_wal_flush: 0,
            wal_compression: 0,
            compaction_pri: 3,
            dump_malloc_stats: 0,
            memtable_whole_key_filtering: 0,
            flush_verify_memtable_count: 1,
            compaction_verify_record_count: 1,
            track_and_verify_wals: 0,
            verify_sst_unique_id_in_manifest: 1,
            read_io_executor_threads: 1,
            async_wal_precreate: 0,
            verify_manifest_content_on_close: 0,
            optimize_manifest_for_recovery: 0,
            reuse_manifest_on_open: 0,
            max_manifest_space_amp_pct: 500,
            use_direct_io_for_compaction_reads: 0,
            allow_fallocate: 1,
            persist_stats_to_disk: 0,
            stats_history_buffer_size: 1048576,
            strict_bytes_per_sync: 0,
            enable_thread_tracking: 0,
            delayed_write_rate: 0,
            max_write_batch_group_size_bytes: 1048576,
            write_thread_max_yield_usec: 100,
            write_thread_slow_yield_usec: 3,
            allow_2pc: 0,
            avoid_flush_during_recovery: 0,
            enforce_write_buffer_manager_during_recovery: 1,
            avoid_flush_during_shutdown: 0,
            two_write_queues: 0,
            background_close_inactive_wals: 0,
            prefix_seek_opt_in_only: 0,
            log_readahead_size: 0,
            best_efforts_recovery: 0,
            max_bgerror_resume_count: c_int::MAX,
            bgerror_resume_retry_interval: 1000000,
            allow_data_in_errors: 0,
            lowest_used_cache_tier: 2,
            enforce_single_del_contracts: 1,
            follower_refresh_catchup_period_ms: 10000,
            follower_catchup_retry_count: 10,
            follower_catchup_retry_wait_ms: 100,
            metadata_write_temperature: 0,
            wal_write_temperature: 0,
            fast_sst_open: 0,
            target_file_size_is_upper_bound: 0,
            strict_max_successive_merges: 0,
            paranoid_file_checks: 0,
            verify_output_flags: 0,
            force_consistency_checks: 1,
            disallow_memtable_writes: 0,
            sample_for_compression: 0,
            last_level_temperature: 0,
            default_write_temperature: 0,
            default_temperature: 0,
            preclude_last_level_data_seconds: 0,
            preserve_internal_time_seconds: 0,
            enable_blob_direct_write: 0,
            blob_direct_write_partitions: 1,
            memtable_protection_bytes_per_key: 0,
            persist_user_defined_timestamps: 1,
            block_protection_bytes_per_key: 0,
            bottommost_file_compaction_delay: 0,
            paranoid_memory_checks: 0,
            memtable_verify_per_key_checksum_on_seek: 0,
            cf_allow_ingest_behind: 0,
            memtable_batch_lookup_optimization: 0,
            memtable_max_range_deletions: 0,
            uncache_aggressiveness: 0,
            compaction_readahead_size: at(2097152, &[(V7_8, 0)]),
            skip_checking_sst_file_sizes_on_db_open: 0,
            max_write_buffer_number_to_maintain: 0,
            access_hint_on_compaction_start: 1,
        }
    }
}

impl OptionsFields {
    /// Sets the field with RocksDB's name `name` from text. `None` if there is none, or the text has another
    /// type.
    pub fn set(&mut self, name: &str, text: &str) -> Option<()> {
        match name {
            "allow_ingest_behind" => self.allow_ingest_behind = parse(text)?,
            "create_if_missing" => self.create_if_missing = parse(text)?,
            "create_missing_column_families" => self.create_missing_column_families = parse(text)?,
            "error_if_exists" => self.error_if_exists = parse(text)?,
            "paranoid_checks" => self.paranoid_checks = parse(text)?,
            "open_files_async" => self.open_files_async = parse(text)?,
            "info_log_level" => self.info_log_level = parse(text)?,
            "write_buffer_size" => self.write_buffer_size = parse(text)?,
            "db_write_buffer_size" => self.db_write_buffer_size = parse(text)?,
            "max_open_files" => self.max_open_files = parse(text)?,
            "max_file_opening_threads" => self.max_file_opening_threads = parse(text)?,
            "max_total_wal_size" => self.max_total_wal_size = parse(text)?,
            "compression_options_zstd_max_train_bytes" => self.compression_options_zstd_max_train_bytes = parse(text)?,
            "compression_options_use_zstd_dict_trainer" => self.compression_options_use_zstd_dict_trainer = parse(text)?,
            "compression_options_parallel_threads" => self.compression_options_parallel_threads = parse(text)?,
            "compression_options_max_dict_buffer_bytes" => self.compression_options_max_dict_buffer_bytes = parse(text)?,
            "num_levels" => self.num_levels = parse(text)?,
            "level0_file_num_compaction_trigger" => self.level0_file_num_compaction_trigger = parse(text)?,
            "level0_slowdown_writes_trigger" => self.level0_slowdown_writes_trigger = parse(text)?,
            "level0_stop_writes_trigger" => self.level0_stop_writes_trigger = parse(text)?,
            "target_file_size_base" => self.target_file_size_base = parse(text)?,
            "target_file_size_multiplier" => self.target_file_size_multiplier = parse(text)?,
            "max_bytes_for_level_base" => self.max_bytes_for_level_base = parse(text)?,
            "level_compaction_dynamic_level_bytes" => self.level_compaction_dynamic_level_bytes = parse(text)?,
            "max_bytes_for_level_multiplier" => self.max_bytes_for_level_multiplier = parse(text)?,
            "ttl" => self.ttl = parse(text)?,
            "periodic_compaction_seconds" => self.periodic_compaction_seconds = parse(text)?,
            "memtable_op_scan_flush_trigger" => self.memtable_op_scan_flush_trigger = parse(text)?,
            "memtable_avg_op_scan_flush_trigger" => self.memtable_avg_op_scan_flush_trigger = parse(text)?,
            "min_tombstones_for_range_conversion" => self.min_tombstones_for_range_conversion = parse(text)?,
            "statistics_level" => self.statistics_level = parse(text)?,
            "skip_stats_update_on_db_open" => self.skip_stats_update_on_db_open = parse(text)?,
            "enable_blob_files" => self.enable_blob_files = parse(text)?,
            "min_blob_size" => self.min_blob_size = parse(text)?,
            "blob_file_size" => self.blob_file_size = parse(text)?,
            "blob_compression_type" => self.blob_compression_type = parse(text)?,
            "enable_blob_gc" | "enable_blob_garbage_collection" => self.enable_blob_gc = parse(text)?,
            "blob_gc_age_cutoff" | "blob_garbage_collection_age_cutoff" => self.blob_gc_age_cutoff = parse(text)?,
            "blob_gc_force_threshold" | "blob_garbage_collection_force_threshold" => self.blob_gc_force_threshold = parse(text)?,
            "read_triggered_compaction_threshold" => self.read_triggered_compaction_threshold = parse(text)?,
            "max_compaction_trigger_wakeup_seconds" => self.max_compaction_trigger_wakeup_seconds = parse(text)?,
            "blob_compaction_readahead_size" => self.blob_compaction_readahead_size = parse(text)?,
            "blob_file_starting_level" => self.blob_file_starting_level = parse(text)?,
            "prepopulate_blob_cache" => self.prepopulate_blob_cache = parse(text)?,
            "max_write_buffer_number" => self.max_write_buffer_number = parse(text)?,
            "min_write_buffer_number_to_merge" => self.min_write_buffer_number_to_merge = parse(text)?,
            "max_write_buffer_size_to_maintain" => self.max_write_buffer_size_to_maintain = parse(text)?,
            "enable_pipelined_write" => self.enable_pipelined_write = parse(text)?,
            "unordered_write" => self.unordered_write = parse(text)?,
            "max_subcompactions" => self.max_subcompactions = parse(text)?,
            "max_background_jobs" => self.max_background_jobs = parse(text)?,
            "max_background_compactions" => self.max_background_compactions = parse(text)?,
            "max_background_flushes" => self.max_background_flushes = parse(text)?,
            "max_log_file_size" => self.max_log_file_size = parse(text)?,
            "log_file_time_to_roll" => self.log_file_time_to_roll = parse(text)?,
            "keep_log_file_num" => self.keep_log_file_num = parse(text)?,
            "recycle_log_file_num" => self.recycle_log_file_num = parse(text)?,
            "soft_pending_compaction_bytes_limit" => self.soft_pending_compaction_bytes_limit = parse(text)?,
            "hard_pending_compaction_bytes_limit" => self.hard_pending_compaction_bytes_limit = parse(text)?,
            "max_manifest_file_size" => self.max_manifest_file_size = parse(text)?,
            "table_cache_numshardbits" => self.table_cache_numshardbits = parse(text)?,
            "arena_block_size" => self.arena_block_size = parse(text)?,
            "use_fsync" => self.use_fsync = parse(text)?,
            "WAL_ttl_seconds" | "wal_ttl_seconds" => self.WAL_ttl_seconds = parse(text)?,
            "WAL_size_limit_MB" | "wal_size_limit_mb" => self.WAL_size_limit_MB = parse(text)?,
            "manifest_preallocation_size" => self.manifest_preallocation_size = parse(text)?,
            "allow_mmap_reads" => self.allow_mmap_reads = parse(text)?,
            "allow_mmap_writes" => self.allow_mmap_writes = parse(text)?,
            "use_direct_reads" => self.use_direct_reads = parse(text)?,
            "use_direct_io_for_flush_and_compaction" => self.use_direct_io_for_flush_and_compaction = parse(text)?,
            "is_fd_close_on_exec" => self.is_fd_close_on_exec = parse(text)?,
            "stats_dump_period_sec" => self.stats_dump_period_sec = parse(text)?,
            "stats_persist_period_sec" => self.stats_persist_period_sec = parse(text)?,
            "advise_random_on_open" => self.advise_random_on_open = parse(text)?,
            "use_adaptive_mutex" => self.use_adaptive_mutex = parse(text)?,
            "bytes_per_sync" => self.bytes_per_sync = parse(text)?,
            "wal_bytes_per_sync" => self.wal_bytes_per_sync = parse(text)?,
            "writable_file_max_buffer_size" => self.writable_file_max_buffer_size = parse(text)?,
            "allow_concurrent_memtable_write" => self.allow_concurrent_memtable_write = parse(text)?,
            "enable_write_thread_adaptive_yield" => self.enable_write_thread_adaptive_yield = parse(text)?,
            "max_sequential_skip_in_iterations" => self.max_sequential_skip_in_iterations = parse(text)?,
            "disable_auto_compactions" => self.disable_auto_compactions = parse(text)?,
            "optimize_filters_for_hits" => self.optimize_filters_for_hits = parse(text)?,
            "delete_obsolete_files_period_micros" => self.delete_obsolete_files_period_micros = parse(text)?,
            "memtable_prefix_bloom_size_ratio" => self.memtable_prefix_bloom_size_ratio = parse(text)?,
            "max_compaction_bytes" => self.max_compaction_bytes = parse(text)?,
            "write_dbid_to_manifest" => self.write_dbid_to_manifest = parse(text)?,
            "write_identity_file" => self.write_identity_file = parse(text)?,
            "track_and_verify_wals_in_manifest" => self.track_and_verify_wals_in_manifest = parse(text)?,
            "memtable_huge_page_size" => self.memtable_huge_page_size = parse(text)?,
            "max_successive_merges" => self.max_successive_merges = parse(text)?,
            "bloom_locality" => self.bloom_locality = parse(text)?,
            "inplace_update_support" => self.inplace_update_support = parse(text)?,
            "inplace_update_num_locks" => self.inplace_update_num_locks = parse(text)?,
            "report_bg_io_stats" => self.report_bg_io_stats = parse(text)?,
            "avoid_unnecessary_blocking_io" => self.avoid_unnecessary_blocking_io = parse(text)?,
            "experimental_mempurge_threshold" => self.experimental_mempurge_threshold = parse(text)?,
            "wal_recovery_mode" => self.wal_recovery_mode = parse(text)?,
            "compression" => self.compression = parse(text)?,
            "bottommost_compression" => self.bottommost_compression = parse(text)?,
            "compaction_style" => self.compaction_style = parse(text)?,
            "atomic_flush" => self.atomic_flush = parse(text)?,
            "manual_wal_flush" => self.manual_wal_flush = parse(text)?,
            "wal_compression" => self.wal_compression = parse(text)?,
            "compaction_pri" => self.compaction_pri = parse(text)?,
            "dump_malloc_stats" => self.dump_malloc_stats = parse(text)?,
            "memtable_whole_key_filtering" => self.memtable_whole_key_filtering = parse(text)?,
            "flush_verify_memtable_count" => self.flush_verify_memtable_count = parse(text)?,
            "compaction_verify_record_count" => self.compaction_verify_record_count = parse(text)?,
            "track_and_verify_wals" => self.track_and_verify_wals = parse(text)?,
            "verify_sst_unique_id_in_manifest" => self.verify_sst_unique_id_in_manifest = parse(text)?,
            "read_io_executor_threads" => self.read_io_executor_threads = parse(text)?,
            "async_wal_precreate" => self.async_wal_precreate = parse(text)?,
            "verify_manifest_content_on_close" => self.verify_manifest_content_on_close = parse(text)?,
            "optimize_manifest_for_recovery" => self.optimize_manifest_for_recovery = parse(text)?,
            "reuse_manifest_on_open" => self.reuse_manifest_on_open = parse(text)?,
            "max_manifest_space_amp_pct" => self.max_manifest_space_amp_pct = parse(text)?,
            "use_direct_io_for_compaction_reads" => self.use_direct_io_for_compaction_reads = parse(text)?,
            "allow_fallocate" => self.allow_fallocate = parse(text)?,
            "persist_stats_to_disk" => self.persist_stats_to_disk = parse(text)?,
            "stats_history_buffer_size" => self.stats_history_buffer_size = parse(text)?,
            "strict_bytes_per_sync" => self.strict_bytes_per_sync = parse(text)?,
            "enable_thread_tracking" => self.enable_thread_tracking = parse(text)?,
            "delayed_write_rate" => self.delayed_write_rate = parse(text)?,
            "max_write_batch_group_size_bytes" => self.max_write_batch_group_size_bytes = parse(text)?,
            "write_thread_max_yield_usec" => self.write_thread_max_yield_usec = parse(text)?,
            "write_thread_slow_yield_usec" => self.write_thread_slow_yield_usec = parse(text)?,
            "allow_2pc" => self.allow_2pc = parse(text)?,
            "avoid_flush_during_recovery" => self.avoid_flush_during_recovery = parse(text)?,
            "enforce_write_buffer_manager_during_recovery" => self.enforce_write_buffer_manager_during_recovery = parse(text)?,
            "avoid_flush_during_shutdown" => self.avoid_flush_during_shutdown = parse(text)?,
            "two_write_queues" => self.two_write_queues = parse(text)?,
            "background_close_inactive_wals" => self.background_close_inactive_wals = parse(text)?,
            "prefix_seek_opt_in_only" => self.prefix_seek_opt_in_only = parse(text)?,
            "log_readahead_size" => self.log_readahead_size = parse(text)?,
            "best_efforts_recovery" => self.best_efforts_recovery = parse(text)?,
            "max_bgerror_resume_count" => self.max_bgerror_resume_count = parse(text)?,
            "bgerror_resume_retry_interval" => self.bgerror_resume_retry_interval = parse(text)?,
            "allow_data_in_errors" => self.allow_data_in_errors = parse(text)?,
            "lowest_used_cache_tier" => self.lowest_used_cache_tier = parse(text)?,
            "enforce_single_del_contracts" => self.enforce_single_del_contracts = parse(text)?,
            "follower_refresh_catchup_period_ms" => self.follower_refresh_catchup_period_ms = parse(text)?,
            "follower_catchup_retry_count" => self.follower_catchup_retry_count = parse(text)?,
            "follower_catchup_retry_wait_ms" => self.follower_catchup_retry_wait_ms = parse(text)?,
            "metadata_write_temperature" => self.metadata_write_temperature = parse(text)?,
            "wal_write_temperature" => self.wal_write_temperature = parse(text)?,
            "fast_sst_open" => self.fast_sst_open = parse(text)?,
            "target_file_size_is_upper_bound" => self.target_file_size_is_upper_bound = parse(text)?,
            "strict_max_successive_merges" => self.strict_max_successive_merges = parse(text)?,
            "paranoid_file_checks" => self.paranoid_file_checks = parse(text)?,
            "verify_output_flags" => self.verify_output_flags = parse(text)?,
            "force_consistency_checks" => self.force_consistency_checks = parse(text)?,
            "disallow_memtable_writes" => self.disallow_memtable_writes = parse(text)?,
            "sample_for_compression" => self.sample_for_compression = parse(text)?,
            "last_level_temperature" => self.last_level_temperature = parse(text)?,
            "default_write_temperature" => self.default_write_temperature = parse(text)?,
            "default_temperature" => self.default_temperature = parse(text)?,
            "preclude_last_level_data_seconds" => self.preclude_last_level_data_seconds = parse(text)?,
            "preserve_internal_time_seconds" => self.preserve_internal_time_seconds = parse(text)?,
            "enable_blob_direct_write" => self.enable_blob_direct_write = parse(text)?,
            "blob_direct_write_partitions" => self.blob_direct_write_partitions = parse(text)?,
            "memtable_protection_bytes_per_key" => self.memtable_protection_bytes_per_key = parse(text)?,
            "persist_user_defined_timestamps" => self.persist_user_defined_timestamps = parse(text)?,
            "block_protection_bytes_per_key" => self.block_protection_bytes_per_key = parse(text)?,
            "bottommost_file_compaction_delay" => self.bottommost_file_compaction_delay = parse(text)?,
            "paranoid_memory_checks" => self.paranoid_memory_checks = parse(text)?,
            "memtable_verify_per_key_checksum_on_seek" => self.memtable_verify_per_key_checksum_on_seek = parse(text)?,
            "cf_allow_ingest_behind" => self.cf_allow_ingest_behind = parse(text)?,
            "memtable_batch_lookup_optimization" => self.memtable_batch_lookup_optimization = parse(text)?,
            "memtable_max_range_deletions" => self.memtable_max_range_deletions = parse(text)?,
            "uncache_aggressiveness" => self.uncache_aggressiveness = parse(text)?,
            "compaction_readahead_size" => self.compaction_readahead_size = parse(text)?,
            "skip_checking_sst_file_sizes_on_db_open" => self.skip_checking_sst_file_sizes_on_db_open = parse(text)?,
            "max_write_buffer_number_to_maintain" => self.max_write_buffer_number_to_maintain = parse(text)?,
            "access_hint_on_compaction_start" => self.access_hint_on_compaction_start = parse(text)?,
            _ => return None,
        }
        Some(())
    }
}

impl OptionsFields {
    /// Passes the fields that are rows of `esker::Options`.
    pub fn apply_db(&self, options: &mut esker::Options) -> esker::Result<()> {
        apply(options, "allow_ingest_behind", self.allow_ingest_behind)?;
        apply(options, "create_if_missing", self.create_if_missing)?;
        apply(options, "create_missing_column_families", self.create_missing_column_families)?;
        apply(options, "error_if_exists", self.error_if_exists)?;
        apply(options, "db_write_buffer_size", self.db_write_buffer_size)?;
        apply(options, "max_open_files", self.max_open_files)?;
        apply(options, "max_total_wal_size", self.max_total_wal_size)?;
        apply(options, "max_subcompactions", self.max_subcompactions)?;
        apply(options, "max_background_jobs", self.max_background_jobs)?;
        apply(options, "max_log_file_size", self.max_log_file_size)?;
        apply(options, "log_file_time_to_roll", self.log_file_time_to_roll)?;
        apply(options, "keep_log_file_num", self.keep_log_file_num)?;
        apply(options, "recycle_log_file_num", self.recycle_log_file_num)?;
        apply(options, "max_manifest_file_size", self.max_manifest_file_size)?;
        apply(options, "wal_ttl_seconds", self.WAL_ttl_seconds)?;
        apply(options, "wal_size_limit_mb", self.WAL_size_limit_MB)?;
        apply(options, "allow_mmap_reads", self.allow_mmap_reads)?;
        apply(options, "use_direct_reads", self.use_direct_reads)?;
        apply(options, "use_direct_io_for_flush_and_compaction", self.use_direct_io_for_flush_and_compaction)?;
        apply(options, "stats_dump_period_sec", self.stats_dump_period_sec)?;
        apply(options, "stats_persist_period_sec", self.stats_persist_period_sec)?;
        apply(options, "advise_random_on_open", self.advise_random_on_open)?;
        apply(options, "bytes_per_sync", self.bytes_per_sync)?;
        apply(options, "wal_bytes_per_sync", self.wal_bytes_per_sync)?;
        apply(options, "allow_concurrent_memtable_write", self.allow_concurrent_memtable_write)?;
        apply(options, "write_dbid_to_manifest", self.write_dbid_to_manifest)?;
        apply(options, "write_identity_file", self.write_identity_file)?;
        apply(options, "track_and_verify_wals_in_manifest", self.track_and_verify_wals_in_manifest)?;
        apply(options, "atomic_flush", self.atomic_flush)?;
        apply(options, "manual_wal_flush", self.manual_wal_flush)?;
        apply(options, "track_and_verify_wals", self.track_and_verify_wals)?;
        apply(options, "verify_sst_unique_id_in_manifest", self.verify_sst_unique_id_in_manifest)?;
        apply(options, "use_direct_io_for_compaction_reads", self.use_direct_io_for_compaction_reads)?;
        apply(options, "persist_stats_to_disk", self.persist_stats_to_disk)?;
        apply(options, "stats_history_buffer_size", self.stats_history_buffer_size)?;
        apply(options, "strict_bytes_per_sync", self.strict_bytes_per_sync)?;
        apply(options, "allow_2pc", self.allow_2pc)?;
        apply(options, "avoid_flush_during_recovery", self.avoid_flush_during_recovery)?;
        apply(options, "avoid_flush_during_shutdown", self.avoid_flush_during_shutdown)?;
        apply(options, "log_readahead_size", self.log_readahead_size)?;
        apply(options, "best_efforts_recovery", self.best_efforts_recovery)?;
        apply(options, "max_bgerror_resume_count", self.max_bgerror_resume_count)?;
        apply(options, "bgerror_resume_retry_interval", self.bgerror_resume_retry_interval)?;
        apply(options, "follower_refresh_catchup_period_ms", self.follower_refresh_catchup_period_ms)?;
        apply(options, "follower_catchup_retry_count", self.follower_catchup_retry_count)?;
        apply(options, "follower_catchup_retry_wait_ms", self.follower_catchup_retry_wait_ms)?;
        apply(options, "compaction_readahead_size", self.compaction_readahead_size)?;
        Ok(())
    }

    /// Passes the fields that are rows of `esker::ColumnFamilyOptions`.
    pub fn apply_cf(&self, options: &mut esker::ColumnFamilyOptions) -> esker::Result<()> {
        apply(options, "write_buffer_size", self.write_buffer_size)?;
        apply(options, "num_levels", self.num_levels)?;
        apply(options, "level0_file_num_compaction_trigger", self.level0_file_num_compaction_trigger)?;
        apply(options, "level0_slowdown_writes_trigger", self.level0_slowdown_writes_trigger)?;
        apply(options, "level0_stop_writes_trigger", self.level0_stop_writes_trigger)?;
        apply(options, "target_file_size_base", self.target_file_size_base)?;
        apply(options, "target_file_size_multiplier", self.target_file_size_multiplier)?;
        apply(options, "max_bytes_for_level_base", self.max_bytes_for_level_base)?;
        apply(options, "level_compaction_dynamic_level_bytes", self.level_compaction_dynamic_level_bytes)?;
        apply(options, "max_bytes_for_level_multiplier", self.max_bytes_for_level_multiplier)?;
        apply(options, "ttl", self.ttl)?;
        apply(options, "periodic_compaction_seconds", self.periodic_compaction_seconds)?;
        apply(options, "enable_blob_files", self.enable_blob_files)?;
        apply(options, "min_blob_size", self.min_blob_size)?;
        apply(options, "blob_file_size", self.blob_file_size)?;
        apply(options, "enable_blob_garbage_collection", self.enable_blob_gc)?;
        apply(options, "blob_garbage_collection_age_cutoff", self.blob_gc_age_cutoff)?;
        apply(options, "blob_garbage_collection_force_threshold", self.blob_gc_force_threshold)?;
        apply(options, "blob_compaction_readahead_size", self.blob_compaction_readahead_size)?;
        apply(options, "blob_file_starting_level", self.blob_file_starting_level)?;
        apply(options, "max_write_buffer_number", self.max_write_buffer_number)?;
        apply(options, "min_write_buffer_number_to_merge", self.min_write_buffer_number_to_merge)?;
        apply(options, "soft_pending_compaction_bytes_limit", self.soft_pending_compaction_bytes_limit)?;
        apply(options, "hard_pending_compaction_bytes_limit", self.hard_pending_compaction_bytes_limit)?;
        apply(options, "max_sequential_skip_in_iterations", self.max_sequential_skip_in_iterations)?;
        apply(options, "disable_auto_compactions", self.disable_auto_compactions)?;
        apply(options, "optimize_filters_for_hits", self.optimize_filters_for_hits)?;
        apply(options, "memtable_prefix_bloom_size_ratio", self.memtable_prefix_bloom_size_ratio)?;
        apply(options, "max_compaction_bytes", self.max_compaction_bytes)?;
        apply(options, "memtable_whole_key_filtering", self.memtable_whole_key_filtering)?;
        apply(options, "paranoid_file_checks", self.paranoid_file_checks)?;
        apply(options, "preclude_last_level_data_seconds", self.preclude_last_level_data_seconds)?;
        apply(options, "preserve_internal_time_seconds", self.preserve_internal_time_seconds)?;
        apply(options, "memtable_protection_bytes_per_key", self.memtable_protection_bytes_per_key)?;
        apply(options, "persist_user_defined_timestamps", self.persist_user_defined_timestamps)?;
        apply(options, "block_protection_bytes_per_key", self.block_protection_bytes_per_key)?;
        apply(options, "paranoid_memory_checks", self.paranoid_memory_checks)?;
        apply(options, "memtable_verify_per_key_checksum_on_seek", self.memtable_verify_per_key_checksum_on_seek)?;
        apply(options, "cf_allow_ingest_behind", self.cf_allow_ingest_behind)?;
        apply(options, "uncache_aggressiveness", self.uncache_aggressiveness)?;
        Ok(())
    }

    /// Returns the names and values of the kept fields that are not at their defaults.
    pub fn kept(&self) -> Vec<(&'static str, String)> {
        let default = Self::default();
        let mut kept = Vec::new();
        if self.paranoid_checks != default.paranoid_checks { kept.push(("paranoid_checks", format!("{}", self.paranoid_checks))); }
        if self.open_files_async != default.open_files_async { kept.push(("open_files_async", format!("{}", self.open_files_async))); }
        if self.max_file_opening_threads != default.max_file_opening_threads { kept.push(("max_file_opening_threads", format!("{}", self.max_file_opening_threads))); }
        if self.compression_options_zstd_max_train_bytes != default.compression_options_zstd_max_train_bytes { kept.push(("compression_options_zstd_max_train_bytes", format!("{}", self.compression_options_zstd_max_train_bytes))); }
        if self.compression_options_use_zstd_dict_trainer != default.compression_options_use_zstd_dict_trainer { kept.push(("compression_options_use_zstd_dict_trainer", format!("{}", self.compression_options_use_zstd_dict_trainer))); }
        if self.compression_options_parallel_threads != default.compression_options_parallel_threads { kept.push(("compression_options_parallel_threads", format!("{}", self.compression_options_parallel_threads))); }
        if self.compression_options_max_dict_buffer_bytes != default.compression_options_max_dict_buffer_bytes { kept.push(("compression_options_max_dict_buffer_bytes", format!("{}", self.compression_options_max_dict_buffer_bytes))); }
        if self.memtable_op_scan_flush_trigger != default.memtable_op_scan_flush_trigger { kept.push(("memtable_op_scan_flush_trigger", format!("{}", self.memtable_op_scan_flush_trigger))); }
        if self.memtable_avg_op_scan_flush_trigger != default.memtable_avg_op_scan_flush_trigger { kept.push(("memtable_avg_op_scan_flush_trigger", format!("{}", self.memtable_avg_op_scan_flush_trigger))); }
        if self.min_tombstones_for_range_conversion != default.min_tombstones_for_range_conversion { kept.push(("min_tombstones_for_range_conversion", format!("{}", self.min_tombstones_for_range_conversion))); }
        if self.skip_stats_update_on_db_open != default.skip_stats_update_on_db_open { kept.push(("skip_stats_update_on_db_open", format!("{}", self.skip_stats_update_on_db_open))); }
        if self.read_triggered_compaction_threshold != default.read_triggered_compaction_threshold { kept.push(("read_triggered_compaction_threshold", format!("{:.6}", self.read_triggered_compaction_threshold))); }
        if self.max_compaction_trigger_wakeup_seconds != default.max_compaction_trigger_wakeup_seconds { kept.push(("max_compaction_trigger_wakeup_seconds", format!("{}", self.max_compaction_trigger_wakeup_seconds))); }
        if self.max_write_buffer_size_to_maintain != default.max_write_buffer_size_to_maintain { kept.push(("max_write_buffer_size_to_maintain", format!("{}", self.max_write_buffer_size_to_maintain))); }
        if self.enable_pipelined_write != default.enable_pipelined_write { kept.push(("enable_pipelined_write", format!("{}", self.enable_pipelined_write))); }
        if self.unordered_write != default.unordered_write { kept.push(("unordered_write", format!("{}", self.unordered_write))); }
        if self.max_background_compactions != default.max_background_compactions { kept.push(("max_background_compactions", format!("{}", self.max_background_compactions))); }
        if self.max_background_flushes != default.max_background_flushes { kept.push(("max_background_flushes", format!("{}", self.max_background_flushes))); }
        if self.table_cache_numshardbits != default.table_cache_numshardbits { kept.push(("table_cache_numshardbits", format!("{}", self.table_cache_numshardbits))); }
        if self.arena_block_size != default.arena_block_size { kept.push(("arena_block_size", format!("{}", self.arena_block_size))); }
        if self.use_fsync != default.use_fsync { kept.push(("use_fsync", format!("{}", self.use_fsync))); }
        if self.manifest_preallocation_size != default.manifest_preallocation_size { kept.push(("manifest_preallocation_size", format!("{}", self.manifest_preallocation_size))); }
        if self.allow_mmap_writes != default.allow_mmap_writes { kept.push(("allow_mmap_writes", format!("{}", self.allow_mmap_writes))); }
        if self.is_fd_close_on_exec != default.is_fd_close_on_exec { kept.push(("is_fd_close_on_exec", format!("{}", self.is_fd_close_on_exec))); }
        if self.use_adaptive_mutex != default.use_adaptive_mutex { kept.push(("use_adaptive_mutex", format!("{}", self.use_adaptive_mutex))); }
        if self.writable_file_max_buffer_size != default.writable_file_max_buffer_size { kept.push(("writable_file_max_buffer_size", format!("{}", self.writable_file_max_buffer_size))); }
        if self.enable_write_thread_adaptive_yield != default.enable_write_thread_adaptive_yield { kept.push(("enable_write_thread_adaptive_yield", format!("{}", self.enable_write_thread_adaptive_yield))); }
        if self.delete_obsolete_files_period_micros != default.delete_obsolete_files_period_micros { kept.push(("delete_obsolete_files_period_micros", format!("{}", self.delete_obsolete_files_period_micros))); }
        if self.memtable_huge_page_size != default.memtable_huge_page_size { kept.push(("memtable_huge_page_size", format!("{}", self.memtable_huge_page_size))); }
        if self.max_successive_merges != default.max_successive_merges { kept.push(("max_successive_merges", format!("{}", self.max_successive_merges))); }
        if self.bloom_locality != default.bloom_locality { kept.push(("bloom_locality", format!("{}", self.bloom_locality))); }
        if self.inplace_update_support != default.inplace_update_support { kept.push(("inplace_update_support", format!("{}", self.inplace_update_support))); }
        if self.inplace_update_num_locks != default.inplace_update_num_locks { kept.push(("inplace_update_num_locks", format!("{}", self.inplace_update_num_locks))); }
        if self.report_bg_io_stats != default.report_bg_io_stats { kept.push(("report_bg_io_stats", format!("{}", self.report_bg_io_stats))); }
        if self.avoid_unnecessary_blocking_io != default.avoid_unnecessary_blocking_io { kept.push(("avoid_unnecessary_blocking_io", format!("{}", self.avoid_unnecessary_blocking_io))); }
        if self.experimental_mempurge_threshold != default.experimental_mempurge_threshold { kept.push(("experimental_mempurge_threshold", format!("{:.6}", self.experimental_mempurge_threshold))); }
        if self.dump_malloc_stats != default.dump_malloc_stats { kept.push(("dump_malloc_stats", format!("{}", self.dump_malloc_stats))); }
        if self.flush_verify_memtable_count != default.flush_verify_memtable_count { kept.push(("flush_verify_memtable_count", format!("{}", self.flush_verify_memtable_count))); }
        if self.compaction_verify_record_count != default.compaction_verify_record_count { kept.push(("compaction_verify_record_count", format!("{}", self.compaction_verify_record_count))); }
        if self.read_io_executor_threads != default.read_io_executor_threads { kept.push(("read_io_executor_threads", format!("{}", self.read_io_executor_threads))); }
        if self.async_wal_precreate != default.async_wal_precreate { kept.push(("async_wal_precreate", format!("{}", self.async_wal_precreate))); }
        if self.verify_manifest_content_on_close != default.verify_manifest_content_on_close { kept.push(("verify_manifest_content_on_close", format!("{}", self.verify_manifest_content_on_close))); }
        if self.optimize_manifest_for_recovery != default.optimize_manifest_for_recovery { kept.push(("optimize_manifest_for_recovery", format!("{}", self.optimize_manifest_for_recovery))); }
        if self.reuse_manifest_on_open != default.reuse_manifest_on_open { kept.push(("reuse_manifest_on_open", format!("{}", self.reuse_manifest_on_open))); }
        if self.max_manifest_space_amp_pct != default.max_manifest_space_amp_pct { kept.push(("max_manifest_space_amp_pct", format!("{}", self.max_manifest_space_amp_pct))); }
        if self.allow_fallocate != default.allow_fallocate { kept.push(("allow_fallocate", format!("{}", self.allow_fallocate))); }
        if self.enable_thread_tracking != default.enable_thread_tracking { kept.push(("enable_thread_tracking", format!("{}", self.enable_thread_tracking))); }
        if self.max_write_batch_group_size_bytes != default.max_write_batch_group_size_bytes { kept.push(("max_write_batch_group_size_bytes", format!("{}", self.max_write_batch_group_size_bytes))); }
        if self.write_thread_max_yield_usec != default.write_thread_max_yield_usec { kept.push(("write_thread_max_yield_usec", format!("{}", self.write_thread_max_yield_usec))); }
        if self.write_thread_slow_yield_usec != default.write_thread_slow_yield_usec { kept.push(("write_thread_slow_yield_usec", format!("{}", self.write_thread_slow_yield_usec))); }
        if self.enforce_write_buffer_manager_during_recovery != default.enforce_write_buffer_manager_during_recovery { kept.push(("enforce_write_buffer_manager_during_recovery", format!("{}", self.enforce_write_buffer_manager_during_recovery))); }
        if self.two_write_queues != default.two_write_queues { kept.push(("two_write_queues", format!("{}", self.two_write_queues))); }
        if self.background_close_inactive_wals != default.background_close_inactive_wals { kept.push(("background_close_inactive_wals", format!("{}", self.background_close_inactive_wals))); }
        if self.prefix_seek_opt_in_only != default.prefix_seek_opt_in_only { kept.push(("prefix_seek_opt_in_only", format!("{}", self.prefix_seek_opt_in_only))); }
        if self.allow_data_in_errors != default.allow_data_in_errors { kept.push(("allow_data_in_errors", format!("{}", self.allow_data_in_errors))); }
        if self.lowest_used_cache_tier != default.lowest_used_cache_tier { kept.push(("lowest_used_cache_tier", format!("{}", self.lowest_used_cache_tier))); }
        if self.enforce_single_del_contracts != default.enforce_single_del_contracts { kept.push(("enforce_single_del_contracts", format!("{}", self.enforce_single_del_contracts))); }
        if self.metadata_write_temperature != default.metadata_write_temperature { kept.push(("metadata_write_temperature", format!("{}", self.metadata_write_temperature))); }
        if self.wal_write_temperature != default.wal_write_temperature { kept.push(("wal_write_temperature", format!("{}", self.wal_write_temperature))); }
        if self.fast_sst_open != default.fast_sst_open { kept.push(("fast_sst_open", format!("{}", self.fast_sst_open))); }
        if self.target_file_size_is_upper_bound != default.target_file_size_is_upper_bound { kept.push(("target_file_size_is_upper_bound", format!("{}", self.target_file_size_is_upper_bound))); }
        if self.strict_max_successive_merges != default.strict_max_successive_merges { kept.push(("strict_max_successive_merges", format!("{}", self.strict_max_successive_merges))); }
        if self.verify_output_flags != default.verify_output_flags { kept.push(("verify_output_flags", format!("{}", self.verify_output_flags))); }
        if self.force_consistency_checks != default.force_consistency_checks { kept.push(("force_consistency_checks", format!("{}", self.force_consistency_checks))); }
        if self.disallow_memtable_writes != default.disallow_memtable_writes { kept.push(("disallow_memtable_writes", format!("{}", self.disallow_memtable_writes))); }
        if self.sample_for_compression != default.sample_for_compression { kept.push(("sample_for_compression", format!("{}", self.sample_for_compression))); }
        if self.default_temperature != default.default_temperature { kept.push(("default_temperature", format!("{}", self.default_temperature))); }
        if self.enable_blob_direct_write != default.enable_blob_direct_write { kept.push(("enable_blob_direct_write", format!("{}", self.enable_blob_direct_write))); }
        if self.blob_direct_write_partitions != default.blob_direct_write_partitions { kept.push(("blob_direct_write_partitions", format!("{}", self.blob_direct_write_partitions))); }
        if self.bottommost_file_compaction_delay != default.bottommost_file_compaction_delay { kept.push(("bottommost_file_compaction_delay", format!("{}", self.bottommost_file_compaction_delay))); }
        if self.memtable_batch_lookup_optimization != default.memtable_batch_lookup_optimization { kept.push(("memtable_batch_lookup_optimization", format!("{}", self.memtable_batch_lookup_optimization))); }
        if self.memtable_max_range_deletions != default.memtable_max_range_deletions { kept.push(("memtable_max_range_deletions", format!("{}", self.memtable_max_range_deletions))); }
        if self.skip_checking_sst_file_sizes_on_db_open != default.skip_checking_sst_file_sizes_on_db_open { kept.push(("skip_checking_sst_file_sizes_on_db_open", format!("{}", self.skip_checking_sst_file_sizes_on_db_open))); }
        if self.max_write_buffer_number_to_maintain != default.max_write_buffer_number_to_maintain { kept.push(("max_write_buffer_number_to_maintain", format!("{}", self.max_write_buffer_number_to_maintain))); }
        if self.access_hint_on_compaction_start != default.access_hint_on_compaction_start { kept.push(("access_hint_on_compaction_start", format!("{}", self.access_hint_on_compaction_start))); }
        kept
    }
}

/// Fields of `rocksdb_readoptions_t`.
#[derive(Clone)]
pub struct ReadoptionsFields {
    pub deadline: u64,
    pub io_timeout: u64,
    pub read_tier: c_int,
    pub rate_limiter_priority: c_int,
    pub value_size_soft_limit: u64,
    pub verify_checksums: u8,
    pub fill_cache: u8,
    pub ignore_range_deletions: u8,
    pub async_io: u8,
    pub optimize_multiget_for_io: u8,
    pub readahead_size: usize,
    pub max_skippable_internal_keys: u64,
    pub tailing: u8,
    pub total_order_seek: u8,
    pub auto_prefix_mode: u8,
    pub prefix_same_as_start: u8,
    pub pin_data: u8,
    pub adaptive_readahead: u8,
    pub background_purge_on_iterator_cleanup: u8,
    pub auto_readahead_size: u8,
    pub allow_unprepared_value: u8,
    pub auto_refresh_iterator_with_snapshot: u8,
    pub io_activity: c_int,
    pub merge_operand_count_threshold: usize,
    pub managed: u8,
}

impl Default for ReadoptionsFields {
    fn default() -> ReadoptionsFields {
        ReadoptionsFields {
            deadline: 0,
            io_timeout: 0,
            read_tier: 0,
            rate_limiter_priority: 4,
            value_size_soft_limit: u64::MAX,
            verify_checksums: 1,
            fill_cache: 1,
            ignore_range_deletions: 0,
            async_io: 0,
            optimize_multiget_for_io: 1,
            readahead_size: 0,
            max_skippable_internal_keys: 0,
            tailing: 0,
            total_order_seek: 0,
            auto_prefix_mode: 0,
            prefix_same_as_start: 0,
            pin_data: 0,
            adaptive_readahead: 0,
            background_purge_on_iterator_cleanup: 0,
            auto_readahead_size: 1,
            allow_unprepared_value: 0,
            auto_refresh_iterator_with_snapshot: 0,
            io_activity: 255,
            merge_operand_count_threshold: 0,
            managed: 0,
        }
    }
}

/// Fields of `rocksdb_replay_options_t`.
#[derive(Clone)]
pub struct ReplayOptionsFields {
    pub num_threads: u32,
    pub fast_forward: f64,
}

impl Default for ReplayOptionsFields {
    fn default() -> ReplayOptionsFields {
        ReplayOptionsFields {
            num_threads: 1,
            fast_forward: 1.0,
        }
    }
}

/// Fields of `rocksdb_restore_options_t`.
#[derive(Clone)]
pub struct RestoreOptionsFields {
    pub keep_log_files: c_int,
    pub mode: c_int,
}

impl Default for RestoreOptionsFields {
    fn default() -> RestoreOptionsFields {
        RestoreOptionsFields {
            keep_log_files: 0,
            mode: 1,
        }
    }
}

/// Fields of `rocksdb_size_approximation_options_t`.
#[derive(Clone)]
pub struct SizeApproximationOptionsFields {
    pub include_memtables: u8,
    pub include_files: u8,
    pub include_blob_files: u8,
    pub files_size_error_margin: f64,
}

impl Default for SizeApproximationOptionsFields {
    fn default() -> SizeApproximationOptionsFields {
        SizeApproximationOptionsFields {
            include_memtables: 0,
            include_files: 1,
            include_blob_files: 0,
            files_size_error_margin: -1.0,
        }
    }
}

/// Fields of `rocksdb_sst_file_metadata_t`.
#[derive(Clone)]
pub struct SstFileMetadataFields {
    pub relative_filename: Vec<u8>,
    pub directory: Vec<u8>,
    pub size: u64,
    pub smallestkey: Vec<u8>,
    pub largestkey: Vec<u8>,
}

impl Default for SstFileMetadataFields {
    fn default() -> SstFileMetadataFields {
        SstFileMetadataFields {
            relative_filename: Vec::new(),
            directory: Vec::new(),
            size: 0,
            smallestkey: Vec::new(),
            largestkey: Vec::new(),
        }
    }
}

/// Fields of `rocksdb_statistics_histogram_data_t`.
#[derive(Clone)]
pub struct StatisticsHistogramDataFields {
    pub median: f64,
    pub p95: f64,
    pub p99: f64,
    pub average: f64,
    pub std_dev: f64,
    pub max: f64,
    pub count: u64,
    pub sum: u64,
    pub min: f64,
}

impl Default for StatisticsHistogramDataFields {
    fn default() -> StatisticsHistogramDataFields {
        StatisticsHistogramDataFields {
            median: 0.0,
            p95: 0.0,
            p99: 0.0,
            average: 0.0,
            std_dev: 0.0,
            max: 0.0,
            count: 0,
            sum: 0,
            min: 0.0,
        }
    }
}

/// Fields of `rocksdb_subcompactionjobinfo_t`.
#[derive(Clone)]
pub struct SubcompactionjobinfoFields {
    pub cf_id: u32,
    pub cf_name: Vec<u8>,
    pub thread_id: u64,
    pub job_id: c_int,
    pub subcompaction_job_id: c_int,
    pub base_input_level: c_int,
    pub output_level: c_int,
    pub compaction_reason: u32,
    pub compression: u32,
    pub blob_compression_type: u32,
}

impl Default for SubcompactionjobinfoFields {
    fn default() -> SubcompactionjobinfoFields {
        SubcompactionjobinfoFields {
            cf_id: 0,
            cf_name: Vec::new(),
            thread_id: 0,
            job_id: 0,
            subcompaction_job_id: 0,
            base_input_level: 0,
            output_level: 0,
            compaction_reason: 0,
            compression: 0,
            blob_compression_type: 0,
        }
    }
}

/// Fields of `rocksdb_table_properties_t`.
#[derive(Clone)]
pub struct TablePropertiesFields {
    pub orig_file_number: u64,
    pub data_size: u64,
    pub uncompressed_data_size: u64,
    pub index_size: u64,
    pub index_partitions: u64,
    pub top_level_index_size: u64,
    pub index_key_is_user_key: u64,
    pub index_value_is_delta_encoded: u64,
    pub udi_is_primary_index: u64,
    pub filter_size: u64,
    pub raw_key_size: u64,
    pub raw_value_size: u64,
    pub num_data_blocks: u64,
    pub num_data_blocks_compression_rejected: u64,
    pub num_data_blocks_compression_bypassed: u64,
    pub num_uniform_blocks: u64,
    pub num_entries: u64,
    pub num_filter_entries: u64,
    pub num_deletions: u64,
    pub num_merge_operands: u64,
    pub num_range_deletions: u64,
    pub format_version: u64,
    pub fixed_key_len: u64,
    pub column_family_id: u64,
    pub creation_time: u64,
    pub oldest_key_time: u64,
    pub newest_key_time: u64,
    pub file_creation_time: u64,
    pub slow_compression_estimated_data_size: u64,
    pub fast_compression_estimated_data_size: u64,
    pub external_sst_file_global_seqno_offset: u64,
    pub tail_start_offset: u64,
    pub user_defined_timestamps_persisted: u64,
    pub key_largest_seqno: u64,
    pub key_smallest_seqno: u64,
    pub data_block_restart_interval: u64,
    pub index_block_restart_interval: u64,
    pub separate_key_value_in_data_block: u64,
    pub db_id: Vec<u8>,
    pub db_session_id: Vec<u8>,
    pub db_host_id: Vec<u8>,
    pub column_family_name: Vec<u8>,
    pub filter_policy_name: Vec<u8>,
    pub comparator_name: Vec<u8>,
    pub merge_operator_name: Vec<u8>,
    pub prefix_extractor_name: Vec<u8>,
    pub property_collectors_names: Vec<u8>,
    pub compression_name: Vec<u8>,
    pub compression_options: Vec<u8>,
    pub seqno_to_time_mapping: Vec<u8>,
    pub has_key_largest_seqno: u8,
    pub has_key_smallest_seqno: u8,
    pub user_collected_properties_count: usize,
    pub readable_properties_count: usize,
}

impl Default for TablePropertiesFields {
    fn default() -> TablePropertiesFields {
        TablePropertiesFields {
            orig_file_number: 0,
            data_size: 0,
            uncompressed_data_size: 0,
            index_size: 0,
            index_partitions: 0,
            top_level_index_size: 0,
            index_key_is_user_key: 0,
            index_value_is_delta_encoded: 0,
            udi_is_primary_index: 0,
            filter_size: 0,
            raw_key_size: 0,
            raw_value_size: 0,
            num_data_blocks: 0,
            num_data_blocks_compression_rejected: 0,
            num_data_blocks_compression_bypassed: 0,
            num_uniform_blocks: 0,
            num_entries: 0,
            num_filter_entries: 0,
            num_deletions: 0,
            num_merge_operands: 0,
            num_range_deletions: 0,
            format_version: 0,
            fixed_key_len: 0,
            column_family_id: 0,
            creation_time: 0,
            oldest_key_time: 0,
            newest_key_time: 0,
            file_creation_time: 0,
            slow_compression_estimated_data_size: 0,
            fast_compression_estimated_data_size: 0,
            external_sst_file_global_seqno_offset: 0,
            tail_start_offset: 0,
            user_defined_timestamps_persisted: 0,
            key_largest_seqno: 0,
            key_smallest_seqno: 0,
            data_block_restart_interval: 0,
            index_block_restart_interval: 0,
            separate_key_value_in_data_block: 0,
            db_id: Vec::new(),
            db_session_id: Vec::new(),
            db_host_id: Vec::new(),
            column_family_name: Vec::new(),
            filter_policy_name: Vec::new(),
            comparator_name: Vec::new(),
            merge_operator_name: Vec::new(),
            prefix_extractor_name: Vec::new(),
            property_collectors_names: Vec::new(),
            compression_name: Vec::new(),
            compression_options: Vec::new(),
            seqno_to_time_mapping: Vec::new(),
            has_key_largest_seqno: 0,
            has_key_smallest_seqno: 0,
            user_collected_properties_count: 0,
            readable_properties_count: 0,
        }
    }
}

/// Fields of `rocksdb_trace_options_t`.
#[derive(Clone)]
pub struct TraceOptionsFields {
    pub max_trace_file_size: u64,
    pub sampling_frequency: u64,
    pub filter: u64,
    pub preserve_write_order: u8,
}

impl Default for TraceOptionsFields {
    fn default() -> TraceOptionsFields {
        TraceOptionsFields {
            max_trace_file_size: 68719476736,
            sampling_frequency: 1,
            filter: 0,
            preserve_write_order: 0,
        }
    }
}

/// Fields of `rocksdb_transaction_options_t`.
#[derive(Clone)]
pub struct TransactionOptionsFields {
    pub set_snapshot: u8,
    pub deadlock_detect: u8,
    pub use_only_the_last_commit_time_batch_for_recovery: u8,
    pub lock_timeout: i64,
    pub deadlock_timeout_us: i64,
    pub expiration: i64,
    pub deadlock_detect_depth: i64,
    pub max_write_batch_size: usize,
    pub skip_concurrency_control: u8,
    pub skip_prepare: u8,
    pub write_batch_flush_threshold: i64,
    pub write_batch_track_timestamp_size: u8,
    pub commit_bypass_memtable: u8,
    pub large_txn_commit_optimize_threshold: u32,
    pub large_txn_commit_optimize_byte_threshold: u64,
}

impl Default for TransactionOptionsFields {
    fn default() -> TransactionOptionsFields {
        TransactionOptionsFields {
            set_snapshot: 0,
            deadlock_detect: 0,
            use_only_the_last_commit_time_batch_for_recovery: 0,
            lock_timeout: -1,
            deadlock_timeout_us: 500,
            expiration: -1,
            deadlock_detect_depth: 50,
            max_write_batch_size: 0,
            skip_concurrency_control: 0,
            skip_prepare: 1,
            write_batch_flush_threshold: -1,
            write_batch_track_timestamp_size: 0,
            commit_bypass_memtable: 0,
            large_txn_commit_optimize_threshold: 0,
            large_txn_commit_optimize_byte_threshold: 0,
        }
    }
}

/// Fields of `rocksdb_transactiondb_options_t`.
#[derive(Clone)]
pub struct TransactiondbOptionsFields {
    pub max_num_locks: i64,
    pub max_num_deadlocks: u32,
    pub num_stripes: usize,
    pub transaction_lock_timeout: i64,
    pub default_lock_timeout: i64,
    pub write_policy: c_int,
    pub rollback_merge_operands: u8,
    pub use_per_key_point_lock_mgr: u8,
    pub skip_concurrency_control: u8,
    pub default_write_batch_flush_threshold: i64,
    pub enable_udt_validation: u8,
    pub txn_commit_bypass_memtable_threshold: u32,
}

impl Default for TransactiondbOptionsFields {
    fn default() -> TransactiondbOptionsFields {
        TransactiondbOptionsFields {
            max_num_locks: -1,
            max_num_deadlocks: 5,
            num_stripes: 16,
            transaction_lock_timeout: 1000,
            default_lock_timeout: 1000,
            write_policy: 0,
            rollback_merge_operands: 0,
            use_per_key_point_lock_mgr: 0,
            skip_concurrency_control: 0,
            default_write_batch_flush_threshold: 0,
            enable_udt_validation: 1,
            txn_commit_bypass_memtable_threshold: u32::MAX,
        }
    }
}

/// Fields of `rocksdb_universal_compaction_options_t`.
#[derive(Clone)]
pub struct UniversalCompactionOptionsFields {
    pub size_ratio: c_int,
    pub min_merge_width: c_int,
    pub max_merge_width: c_int,
    pub max_size_amplification_percent: c_int,
    pub compression_size_percent: c_int,
    pub stop_style: c_int,
    pub max_read_amp: c_int,
    pub allow_trivial_move: u8,
    pub incremental: u8,
    pub reduce_file_locking: u8,
}

impl Default for UniversalCompactionOptionsFields {
    fn default() -> UniversalCompactionOptionsFields {
        UniversalCompactionOptionsFields {
            size_ratio: 1,
            min_merge_width: 2,
            max_merge_width: c_int::MAX,
            max_size_amplification_percent: 200,
            compression_size_percent: -1,
            stop_style: 1,
            max_read_amp: -1,
            allow_trivial_move: 0,
            incremental: 0,
            reduce_file_locking: at(1, &[(V10_9, 0)]),
        }
    }
}

impl UniversalCompactionOptionsFields {
    /// Sets the field with RocksDB's name `name` from text. `None` if there is none, or the text has another
    /// type.
    pub fn set(&mut self, name: &str, text: &str) -> Option<()> {
        match name {
            "size_ratio" => self.size_ratio = parse(text)?,
            "min_merge_width" => self.min_merge_width = parse(text)?,
            "max_merge_width" => self.max_merge_width = parse(text)?,
            "max_size_amplification_percent" => self.max_size_amplification_percent = parse(text)?,
            "compression_size_percent" => self.compression_size_percent = parse(text)?,
            "stop_style" => self.stop_style = parse(text)?,
            "max_read_amp" => self.max_read_amp = parse(text)?,
            "allow_trivial_move" => self.allow_trivial_move = parse(text)?,
            "incremental" => self.incremental = parse(text)?,
            "reduce_file_locking" => self.reduce_file_locking = parse(text)?,
            _ => return None,
        }
        Some(())
    }
}

/// Fields of `rocksdb_wait_for_compact_options_t`.
#[derive(Clone)]
pub struct WaitForCompactOptionsFields {
    pub abort_on_pause: u8,
    pub flush: u8,
    pub close_db: u8,
    pub timeout: u64,
    pub wait_for_purge: u8,
}

impl Default for WaitForCompactOptionsFields {
    fn default() -> WaitForCompactOptionsFields {
        WaitForCompactOptionsFields {
            abort_on_pause: 0,
            flush: 0,
            close_db: 0,
            timeout: 0,
            wait_for_purge: 0,
        }
    }
}

/// Fields of `rocksdb_wal_file_t`.
#[derive(Clone)]
pub struct WalFileFields {
    pub log_number: u64,
    pub kind: c_int,
    pub start_sequence: u64,
    pub size_file_bytes: u64,
}

impl Default for WalFileFields {
    fn default() -> WalFileFields {
        WalFileFields {
            log_number: 0,
            kind: 0,
            start_sequence: 0,
            size_file_bytes: 0,
        }
    }
}

/// Fields of `rocksdb_wal_readoptions_t`.
#[derive(Clone)]
pub struct WalReadoptionsFields {
    pub verify_checksums: u8,
}

impl Default for WalReadoptionsFields {
    fn default() -> WalReadoptionsFields {
        WalReadoptionsFields {
            verify_checksums: 1,
        }
    }
}

/// Fields of `rocksdb_writeoptions_t`.
#[derive(Clone)]
pub struct WriteoptionsFields {
    pub sync: u8,
    pub ignore_missing_column_families: u8,
    pub no_slowdown: u8,
    pub low_pri: u8,
    pub memtable_insert_hint_per_batch: u8,
    pub rate_limiter_priority: c_int,
    pub protection_bytes_per_key: usize,
    pub io_activity: c_int,
    pub disable_WAL: c_int,
}

impl Default for WriteoptionsFields {
    fn default() -> WriteoptionsFields {
        WriteoptionsFields {
            sync: 0,
            ignore_missing_column_families: 0,
            no_slowdown: 0,
            low_pri: 0,
            memtable_insert_hint_per_batch: 0,
            rate_limiter_priority: 4,
            protection_bytes_per_key: 0,
            io_activity: 255,
            disable_WAL: 0,
        }
    }
}

/// Fields of `rocksdb_writestallinfo_t`.
#[derive(Clone)]
pub struct WritestallinfoFields {
    pub cf_name: Vec<u8>,
}

impl Default for WritestallinfoFields {
    fn default() -> WritestallinfoFields {
        WritestallinfoFields {
            cf_name: Vec::new(),
        }
    }
}
