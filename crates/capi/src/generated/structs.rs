//! C objects that consist of fields only.

// Written by `cargo xtask gen` from crates/capi/fields.tsv and crates/capi/functions.tsv; do not edit.

use super::fields::*;

/// The C object `rocksdb_blob_file_addition_info_t`.
#[derive(Clone, Default)]
pub struct rocksdb_blob_file_addition_info_t {
    pub fields: BlobFileAdditionInfoFields,
}

/// The C object `rocksdb_blob_file_garbage_info_t`.
#[derive(Clone, Default)]
pub struct rocksdb_blob_file_garbage_info_t {
    pub fields: BlobFileGarbageInfoFields,
}

/// The C object `rocksdb_block_cache_trace_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_block_cache_trace_options_t {
    pub fields: BlockCacheTraceOptionsFields,
}

/// The C object `rocksdb_block_cache_trace_writer_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_block_cache_trace_writer_options_t {
    pub fields: BlockCacheTraceWriterOptionsFields,
}

/// The C object `rocksdb_compaction_file_info_t`.
#[derive(Clone, Default)]
pub struct rocksdb_compaction_file_info_t {
    pub fields: CompactionFileInfoFields,
}

/// The C object `rocksdb_compaction_job_stats_t`.
#[derive(Clone, Default)]
pub struct rocksdb_compaction_job_stats_t {
    pub fields: CompactionJobStatsFields,
}

/// The C object `rocksdb_compactionservice_jobinfo_t`.
#[derive(Clone, Default)]
pub struct rocksdb_compactionservice_jobinfo_t {
    pub fields: CompactionserviceJobinfoFields,
}

/// The C object `rocksdb_cuckoo_table_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_cuckoo_table_options_t {
    pub fields: CuckooTableOptionsFields,
}

/// The C object `rocksdb_fifo_compaction_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_fifo_compaction_options_t {
    pub fields: FifoCompactionOptionsFields,
}

/// The C object `rocksdb_flushoptions_t`.
#[derive(Clone, Default)]
pub struct rocksdb_flushoptions_t {
    pub fields: FlushoptionsFields,
}

/// The C object `rocksdb_flushwaloptions_t`.
#[derive(Clone, Default)]
pub struct rocksdb_flushwaloptions_t {
    pub fields: FlushwaloptionsFields,
}

/// The C object `rocksdb_import_column_family_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_import_column_family_options_t {
    pub fields: ImportColumnFamilyOptionsFields,
}

/// The C object `rocksdb_ingestexternalfileoptions_t`.
#[derive(Clone, Default)]
pub struct rocksdb_ingestexternalfileoptions_t {
    pub fields: IngestexternalfileoptionsFields,
}

/// The C object `rocksdb_livefiles_storage_info_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_livefiles_storage_info_options_t {
    pub fields: LivefilesStorageInfoOptionsFields,
}

/// The C object `rocksdb_memory_usage_t`.
#[derive(Clone, Default)]
pub struct rocksdb_memory_usage_t {
    pub fields: MemoryUsageFields,
}

/// The C object `rocksdb_memtableinfo_t`.
#[derive(Clone, Default)]
pub struct rocksdb_memtableinfo_t {
    pub fields: MemtableinfoFields,
}

/// The C object `rocksdb_optimistictransaction_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_optimistictransaction_options_t {
    pub fields: OptimistictransactionOptionsFields,
}

/// The C object `rocksdb_optimistictransactiondb_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_optimistictransactiondb_options_t {
    pub fields: OptimistictransactiondbOptionsFields,
}

/// The C object `rocksdb_replay_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_replay_options_t {
    pub fields: ReplayOptionsFields,
}

/// The C object `rocksdb_restore_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_restore_options_t {
    pub fields: RestoreOptionsFields,
}

/// The C object `rocksdb_size_approximation_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_size_approximation_options_t {
    pub fields: SizeApproximationOptionsFields,
}

/// The C object `rocksdb_sst_file_metadata_t`.
#[derive(Clone, Default)]
pub struct rocksdb_sst_file_metadata_t {
    pub fields: SstFileMetadataFields,
}

/// The C object `rocksdb_statistics_histogram_data_t`.
#[derive(Clone, Default)]
pub struct rocksdb_statistics_histogram_data_t {
    pub fields: StatisticsHistogramDataFields,
}

/// The C object `rocksdb_trace_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_trace_options_t {
    pub fields: TraceOptionsFields,
}

/// The C object `rocksdb_transaction_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_transaction_options_t {
    pub fields: TransactionOptionsFields,
}

/// The C object `rocksdb_transactiondb_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_transactiondb_options_t {
    pub fields: TransactiondbOptionsFields,
}

/// The C object `rocksdb_universal_compaction_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_universal_compaction_options_t {
    pub fields: UniversalCompactionOptionsFields,
}

/// The C object `rocksdb_wait_for_compact_options_t`.
#[derive(Clone, Default)]
pub struct rocksdb_wait_for_compact_options_t {
    pub fields: WaitForCompactOptionsFields,
}

/// The C object `rocksdb_wal_readoptions_t`.
#[derive(Clone, Default)]
pub struct rocksdb_wal_readoptions_t {
    pub fields: WalReadoptionsFields,
}

/// The C object `rocksdb_writeoptions_t`.
#[derive(Clone, Default)]
pub struct rocksdb_writeoptions_t {
    pub fields: WriteoptionsFields,
}
