//! Objects that have only fields.

// Written by `cargo xtask gen` from crates/capi/fields.tsv and crates/capi/functions.tsv; do not edit.

use super::fields::*;

/// `rocksdb_blob_file_addition_info_t`.
#[derive(Clone, Default)]
pub struct rocksdb_blob_file_addition_info_t {
    pub fields: BlobFileAdditionInfoFields,
}

/// `rocksdb_blob_file_garbage_info_t`.
#[derive(Clone, Default)]
pub struct rocksdb_blob_file_garbage_info_t {
    pub fields: BlobFileGarbageInfoFields,
}

/// `rocksdb_block_cache_trace_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_block_cache_trace_options_t {
    pub fields: BlockCacheTraceOptionsFields,
}

/// `rocksdb_block_cache_trace_writer_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_block_cache_trace_writer_options_t {
    pub fields: BlockCacheTraceWriterOptionsFields,
}

/// `rocksdb_compaction_file_info_t`.
#[derive(Clone, Default)]
pub struct rocksdb_compaction_file_info_t {
    pub fields: CompactionFileInfoFields,
}

/// `rocksdb_compaction_job_stats_t`.
#[derive(Clone, Default)]
pub struct rocksdb_compaction_job_stats_t {
    pub fields: CompactionJobStatsFields,
}

/// `rocksdb_compactionservice_jobinfo_t`.
#[derive(Clone, Default)]
pub struct rocksdb_compactionservice_jobinfo_t {
    pub fields: CompactionserviceJobinfoFields,
}

/// `rocksdb_cuckoo_table_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_cuckoo_table_options_t {
    pub fields: CuckooTableOptionsFields,
}

/// `rocksdb_fifo_compaction_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_fifo_compaction_options_t {
    pub fields: FifoCompactionOptionsFields,
}

/// `rocksdb_flushoptions_t`.
#[derive(Clone, Default)]
pub struct rocksdb_flushoptions_t {
    pub fields: FlushoptionsFields,
}

/// `rocksdb_flushwaloptions_t`.
#[derive(Clone, Default)]
pub struct rocksdb_flushwaloptions_t {
    pub fields: FlushwaloptionsFields,
}

/// `rocksdb_import_column_family_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_import_column_family_options_t {
    pub fields: ImportColumnFamilyOptionsFields,
}

/// `rocksdb_ingestexternalfileoptions_t`.
#[derive(Clone, Default)]
pub struct rocksdb_ingestexternalfileoptions_t {
    pub fields: IngestexternalfileoptionsFields,
}

/// `rocksdb_livefiles_storage_info_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_livefiles_storage_info_options_t {
    pub fields: LivefilesStorageInfoOptionsFields,
}

/// `rocksdb_memory_usage_t`.
#[derive(Clone, Default)]
pub struct rocksdb_memory_usage_t {
    pub fields: MemoryUsageFields,
}

/// `rocksdb_memtableinfo_t`.
#[derive(Clone, Default)]
pub struct rocksdb_memtableinfo_t {
    pub fields: MemtableinfoFields,
}

/// `rocksdb_optimistictransaction_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_optimistictransaction_options_t {
    pub fields: OptimistictransactionOptionsFields,
}

/// `rocksdb_optimistictransactiondb_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_optimistictransactiondb_options_t {
    pub fields: OptimistictransactiondbOptionsFields,
}

/// `rocksdb_replay_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_replay_options_t {
    pub fields: ReplayOptionsFields,
}

/// `rocksdb_restore_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_restore_options_t {
    pub fields: RestoreOptionsFields,
}

/// `rocksdb_size_approximation_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_size_approximation_options_t {
    pub fields: SizeApproximationOptionsFields,
}

/// `rocksdb_sst_file_metadata_t`.
#[derive(Clone, Default)]
pub struct rocksdb_sst_file_metadata_t {
    pub fields: SstFileMetadataFields,
}

/// `rocksdb_statistics_histogram_data_t`.
#[derive(Clone, Default)]
pub struct rocksdb_statistics_histogram_data_t {
    pub fields: StatisticsHistogramDataFields,
}

/// `rocksdb_trace_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_trace_options_t {
    pub fields: TraceOptionsFields,
}

/// `rocksdb_transaction_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_transaction_options_t {
    pub fields: TransactionOptionsFields,
}

/// `rocksdb_transactiondb_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_transactiondb_options_t {
    pub fields: TransactiondbOptionsFields,
}

/// `rocksdb_universal_compaction_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_universal_compaction_options_t {
    pub fields: UniversalCompactionOptionsFields,
}

/// `rocksdb_wait_for_compact_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_wait_for_compact_options_t {
    pub fields: WaitForCompactOptionsFields,
}

/// `rocksdb_wal_readoptions_t`.
#[derive(Clone, Default)]
pub struct rocksdb_wal_readoptions_t {
    pub fields: WalReadoptionsFields,
}

/// `rocksdb_writeoptions_t`.
#[derive(Clone, Default)]
pub struct rocksdb_writeoptions_t {
    pub fields: WriteoptionsFields,
}
