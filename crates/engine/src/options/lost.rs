//! Options in an OPTIONS file that Esker does not have, or whose value it does not have, and the losses from
//! opening the database with Esker.
//!
//! Such options stay in the file, for RocksDB. An option at RocksDB's default is no loss, so each row has
//! that default.

use codec::compression::CompressionOptions;
use sst::format::IndexType;

use super::file::{COMPONENTS, OptionsFile, Section, right_name};
use super::table::{OptionTable, OptionValue};
use super::{BlockBasedOptions, ColumnFamilyOptions, DataBlockIndexType, MemtableFactory, Options};
use crate::options::loss::LostOption;
use crate::options::loss::OptionLoss;

impl LostOption {
    /// True if the caller's options have a replacement for this option of the file, so that it is not lost.
    pub(crate) fn is_given(&self, options: &Options) -> bool {
        let family = self.column_family.as_deref().map(|name| options.family(name));
        let is_filter = ["compaction_filter", "compaction_filter_factory"].contains(&&*self.name);
        is_filter && family.is_some_and(|family| family.compaction_filter_factory.is_some())
    }
}

impl OptionsFile {
    /// The options in the file without effect in Esker that are not at RocksDB's defaults, in the order of
    /// the file. Options that Esker has are not included, whatever their value: the caller sets those.
    pub fn lost(&self) -> Vec<LostOption> {
        let mut lost = Vec::new();
        for section in &self.sections {
            let takes: fn(&str, &str) -> bool = match &*section.title {
                "DBOptions" => takes::<Options>,
                "CFOptions" => takes::<ColumnFamilyOptions>,
                "TableOptions/BlockBasedTable" => takes::<BlockBasedOptions>,
                _ => continue,
            };
            let entries = section.entries.iter();
            let not_ours = entries.filter(|(name, value)| !takes(right_name(name), value));
            lost.extend(not_ours.filter_map(|(name, value)| section.lost(name, value)));
        }
        lost
    }
}

impl ColumnFamilyOptions {
    /// The options in effect for family `name` that are kept for RocksDB only.
    pub(crate) fn without_effect(&self, name: &str) -> Vec<LostOption> {
        let universal = &self.compaction_options_universal;
        let has_lookahead =
            matches!(self.memtable_factory, MemtableFactory::SkipList { lookahead } if lookahead > 0);
        let strategies = [
            ("compression_opts", &self.compression_opts),
            ("bottommost_compression_opts", &self.bottommost_compression_opts),
        ];
        let with_strategy = strategies.into_iter().filter(|(_, opts)| opts.strategy != 0);
        let is_hashed = self.table.data_block_index_type == DataBlockIndexType::BinaryAndHash;
        let has_hints = self.table.index_type == IndexType::HashSearch;
        let table = "TableOptions/BlockBasedTable";
        let in_memory = "Esker searches by what it keeps in memory: it is written, for RocksDB alone";
        let of_family = with_strategy
            .map(|(name, opts)| (name, opts.text(), "zlib's default strategy is used"))
            .chain(has_lookahead.then(|| {
                let what = "Esker's memtable is a tree, which nothing is looked ahead in";
                ("memtable_factory", self.memtable_factory.text(), what)
            }))
            .chain((!universal.reduce_file_locking).then(|| {
                let what =
                    "a compaction that waits for a thread for the last level holds its files in any case";
                ("compaction_options_universal", universal.text(), what)
            }))
            .map(|lost| ("CFOptions", lost));
        let of_table = (is_hashed.then(|| {
            let value = self.table.data_block_index_type.text();
            ("data_block_index_type", value, in_memory)
        }))
        .into_iter()
        .chain(has_hints.then(|| ("index_type", self.table.index_type.text(), in_memory)))
        .map(|lost| (table, lost));
        of_family
            .chain(of_table)
            .map(|(title, (option, value, what))| LostOption {
                section: format!("{title} \"{name}\""),
                column_family: Some(name.to_owned()),
                name: option.to_owned(),
                value,
                loss: OptionLoss::Cost,
                what,
            })
            .collect()
    }
}

impl Section {
    fn lost(&self, name: &str, value: &str) -> Option<LostOption> {
        let row = LOST
            .iter()
            .find(|row| row.section == self.title && row.name == name);
        let (loss, what) = match row {
            Some(row) if row.is_default(value) => return None,
            Some(_) if name == "compaction_filter_factory" && value.contains("Ttl") => {
                (OptionLoss::Results, WITHOUT_TTL)
            }
            Some(row) => (row.loss, row.what),
            None if COMPONENTS.contains(&name) || SAY_NOTHING.contains(&name) => return None,
            None => (OptionLoss::Unknown, "it is kept for releases that know it"),
        };
        Some(LostOption {
            section: self.name(),
            column_family: self.argument.clone(),
            name: name.to_owned(),
            value: value.to_owned(),
            loss,
            what,
        })
    }
}

fn takes<S: OptionTable>(name: &str, value: &str) -> bool {
    S::row(name).is_some_and(|row| (row.set)(&mut S::default(), value).is_some())
}

/// The loss of a database that [`DbWithTtl`](crate::DbWithTtl) opens, or RocksDB's `DBWithTTL`.
const WITHOUT_TTL: &str = "values end in a time to live, which nothing reads or heeds: the database is to be opened with it (DbWithTtl)";

/// An option that Esker does not have.
struct Row {
    /// The title of the option's section.
    section: &'static str,
    name: &'static str,
    /// The values without a loss: the defaults of RocksDB's releases, as text.
    defaults: &'static [&'static str],
    loss: OptionLoss,
    what: &'static str,
}

impl Row {
    fn is_default(&self, value: &str) -> bool {
        let value = match value {
            "1" if self.defaults == ["true"] => "true",
            "0" if self.defaults == ["false"] => "false",
            other => other,
        };
        let is = |default: &&str| {
            *default == value
                || default.parse::<f64>().is_ok_and(|default| value.parse() == Ok(default))
                // The form in which RocksDB writes objects with settings of their own.
                || value.strip_prefix("{id=").is_some_and(|id| id.trim_end_matches(['}', ';']) == *default)
        };
        self.defaults.iter().any(is)
            || self.name == "blob_compression_opts"
                && CompressionOptions::parse(value) == Some(CompressionOptions::default())
    }
}

macro_rules! lost_options {
    ($($section:literal { $($name:ident $defaults:tt $loss:ident $what:literal;)+ })+) => {
        &[$($(Row {
            section: $section,
            name: stringify!($name),
            defaults: &$defaults,
            loss: OptionLoss::$loss,
            what: $what,
        }),+),+]
    };
}

/// Every option of RocksDB up to 11.9 that Esker does not have, except those in [`SAY_NOTHING`].
const LOST: &[Row] = lost_options! {
    "DBOptions" {
        use_fsync ["false"] Durability "files are synced by fdatasync, which leaves out what no read needs, like times of modification";
        verify_manifest_content_on_close ["false"] Durability "the MANIFEST is not read again when the database closes";
        paranoid_checks ["true"] Results "damage that is met stops writes, and may keep the database from opening";
        wal_filter ["nullptr"] Results "recovery asks the filter that Options::wal_filter brings, and no other";
        max_manifest_space_amp_pct ["500"] Space "a fresh MANIFEST is begun at max_manifest_file_size alone";
        async_wal_precreate ["false"] Cost "a new WAL is made when it is needed";
        avoid_unnecessary_blocking_io ["false"] Cost "iterators let go of files themselves; the files are always deleted by a thread of their own";
        background_close_inactive_wals ["false"] Cost "a WAL that was switched is closed by the writer";
        daily_offpeak_time_utc [""] Cost "periodic compactions know no hours";
        delete_obsolete_files_period_micros ["21600000000"] Cost "obsolete files are deleted at once";
        dump_malloc_stats ["false"] Cost "the LOG has no figures of the allocator";
        enable_pipelined_write ["false"] Cost "a group of writers is one line for WAL and memtable";
        enable_thread_tracking ["false"] Cost "there is no list of threads";
        enable_write_thread_adaptive_yield ["true"] Cost "how writers wait for each other is Esker's own";
        fast_sst_open ["false"] Cost "a table is opened and its index checked before a version holds it";
        is_fd_close_on_exec ["true"] Cost "no child process inherits files of the database";
        lowest_used_cache_tier ["kNonVolatileBlockTier"] Cost "the cache that is given says whether it has a secondary one";
        manifest_preallocation_size ["4194304"] Cost "no room is claimed ahead of the MANIFEST's end";
        max_background_compactions ["-1"] Cost "max_background_jobs alone says how many threads there are";
        max_background_flushes ["-1"] Cost "max_background_jobs alone says how many threads there are";
        max_compaction_trigger_wakeup_seconds ["43200"] Cost "families are looked at for compactions that time makes due at intervals of Esker's own";
        max_file_opening_threads ["16"] Cost "how many threads open tables is Esker's own";
        max_write_batch_group_size_bytes ["1048576"] Cost "how many writers share a sync is Esker's own";
        metadata_write_temperature ["kUnknown"] Cost "the file system is not told a temperature of MANIFEST and OPTIONS";
        open_files_async ["false"] Cost "no table is opened in the background";
        optimize_manifest_for_recovery ["false"] Cost "the MANIFEST is written in the usual form";
        read_io_executor_threads ["1"] Cost "asynchronous reads are those of io_uring alone";
        reuse_manifest_on_open ["false"] Cost "each open for writing begins a MANIFEST";
        skip_stats_update_on_db_open ["false"] Cost "no table is read for statistics at open whatever it says";
        table_cache_numshardbits ["6", "4"] Cost "open tables hang on their versions, in no sharded cache";
        two_write_queues ["false"] Cost "writes that go to the WAL alone wait in the one queue";
        unordered_write ["false"] Cost "writes become visible in the order of the WAL, which is more than was asked for";
        use_adaptive_mutex ["false"] Cost "locks are parking_lot's";
        wal_write_temperature ["kUnknown"] Cost "the file system is not told a temperature of WALs";
        writable_file_max_buffer_size ["1048576"] Cost "buffers of files that are written have Esker's own size";
        write_thread_max_yield_usec ["100"] Cost "how writers wait for each other is Esker's own";
        write_thread_slow_yield_usec ["3"] Cost "how writers wait for each other is Esker's own";
    }
    "CFOptions" {
        compaction_filter ["nullptr"] Results "rows that it would drop or change stay as they are: the options given have no compaction filter";
        compaction_filter_factory ["nullptr"] Results "rows that its filters would drop or change stay as they are: the options given have no compaction filter";
        compression_manager ["nullptr", "BuiltinV2"] Results "tables that it has compressed in a way of its own are not read";
        disallow_memtable_writes ["false"] Results "the family takes writes that RocksDB refuses";
        inplace_update_support ["false"] Results "rows are not overwritten in memory: a snapshot keeps its values, and each overwrite takes room in the memtable";
        table_factory ["BlockBasedTable"] Results "tables that are not block-based are not read, and none are written";
        verify_output_flags ["0"] Durability "what is written is read back by paranoid_file_checks alone";
        blob_compression_opts [] Space "blobs are compressed at the default level";
        blob_direct_write_partitions ["1"] Cost "values go to blob files when memtables are flushed";
        bloom_locality ["0"] Cost "the memtable's filter has Esker's own layout";
        bottommost_file_compaction_delay ["0"] Cost "tables of the last level wait for no delay before they are compacted again";
        default_temperature ["kUnknown"] Cost "tables without a temperature have none";
        enable_blob_direct_write ["false"] Cost "values go to blob files when memtables are flushed";
        experimental_mempurge_threshold ["0"] Cost "a full memtable is always flushed to a table";
        force_consistency_checks ["true"] Cost "levels are checked all the same";
        inplace_update_num_locks ["10000"] Cost "no row is overwritten in memory";
        max_successive_merges ["0"] Cost "operands are merged by reads and compactions";
        max_write_buffer_size_to_maintain ["0"] Cost "memtables are let go of once they are in tables";
        memtable_avg_op_scan_flush_trigger ["0"] Cost "no memtable is flushed for what iterators pass over in it";
        memtable_batch_lookup_optimization ["false"] Cost "MultiGet searches memtables key by key";
        memtable_factory [] Cost "memtables of that kind are not built: those of the options given are used, and give the same rows";
        memtable_huge_page_size ["0"] Cost "memtables ask for no huge pages";
        memtable_insert_with_hint_prefix_extractor ["nullptr"] Cost "inserts find their place without hints";
        memtable_max_range_deletions ["0"] Cost "no memtable is flushed for its number of range deletions";
        memtable_op_scan_flush_trigger ["0"] Cost "no memtable is flushed for what iterators pass over in it";
        min_tombstones_for_range_conversion ["0"] Cost "iterators turn no run of deletions into a range deletion";
        read_triggered_compaction_threshold ["0"] Cost "reads make no compaction due";
        report_bg_io_stats ["false"] Cost "jobs do not tell how long they waited for files";
        sample_for_compression ["0"] Cost "nothing is compressed for figures alone";
        strict_max_successive_merges ["false"] Cost "operands are merged by reads and compactions";
        target_file_size_is_upper_bound ["false"] Cost "a table ends behind the row that fills it";
    }
    "TableOptions/BlockBasedTable" {
        use_udi_as_primary_index ["false"] Results "tables that have no index but the user's are not read";
        detect_filter_construct_corruption ["false"] Durability "a filter is not checked against its keys before it is written";
        verify_compression ["false"] Durability "a block is not decompressed again before it is written";
        fail_if_no_udi_on_open ["false"] Cost "tables are opened whether or not they have an index of the user's";
        flush_block_policy_factory ["FlushBlockBySizePolicyFactory"] Cost "block_size and block_size_deviation alone end a block";
        index_block_search_type ["kBinary"] Cost "indexes are searched as Esker does";
        persistent_cache ["nullptr"] Cost "there is no cache in files";
        read_amp_bytes_per_bit ["0"] Cost "how much of each block is read is not counted";
        super_block_alignment_size ["0"] Cost "blocks are aligned by block_align alone";
        super_block_alignment_space_overhead_ratio ["128"] Cost "blocks are aligned by block_align alone";
        uniform_cv_threshold ["-1"] Cost "indexes are searched as Esker does";
        user_defined_index_factory ["nullptr"] Cost "tables have RocksDB's own indexes alone";
    }
};

/// Options without a loss at any value: RocksDB ignores them itself, or they describe Esker's behavior in any
/// case.
const SAY_NOTHING: &[&str] = &[
    // Options that describe Esker's behavior in any case, or name an object in another way.
    "allow_data_in_errors",
    "allow_fallocate",
    "allow_mmap_writes",
    "compaction_verify_record_count",
    "db_host_id",
    "enforce_single_del_contracts",
    "enforce_write_buffer_manager_during_recovery",
    "flush_verify_memtable_count",
    "prefix_seek_opt_in_only",
    "arena_block_size",
    "block_based_table_factory",
    "env",
    "memtable",
    "plain_table_factory",
    "rate_limiter",
    "statistics",
    // Options that RocksDB has removed.
    "access_hint_on_compaction_start",
    "allow_os_buffer",
    "base_background_compactions",
    "block_cache_compressed",
    "bottommost_temperature",
    "check_flush_compaction_key_order",
    "compaction_measure_io_stats",
    "concurrent_prepare",
    "disableDataSync",
    "disable_data_sync",
    "expanded_compaction_factor",
    "experimental_allow_mempurge",
    "experimental_mempurge_policy",
    "experimental_mempurge_threshold",
    "fail_if_options_file_error",
    "filter_deletes",
    "hard_rate_limit",
    "hash_index_allow_collision",
    "ignore_max_compaction_bytes_for_input",
    "index_per_partition",
    "level_compaction_dynamic_file_size",
    "max_grandparent_overlap_factor",
    "max_mem_compaction_level",
    "max_write_buffer_number_to_maintain",
    "memtable_prefix_bloom_bits",
    "memtable_prefix_bloom_huge_page_tlb_size",
    "memtable_prefix_bloom_probes",
    "min_partial_merge_operands",
    "new_table_reader_for_compaction_inputs",
    "preserve_deletes",
    "purge_redundant_kvs_while_flush",
    "random_access_max_buffer_size",
    "rate_limit_delay_max_milliseconds",
    "reserve_table_builder_memory",
    "reserve_table_reader_memory",
    "seq_per_batch",
    "skip_checking_sst_file_sizes_on_db_open",
    "skip_log_error_on_recovery",
    "skip_table_builder_flush",
    "snap_refresh_nanos",
    "soft_rate_limit",
    "source_compaction_factor",
    "use_direct_writes",
    "verify_checksums_in_compaction",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(text: &str) -> Vec<String> {
        let lost = OptionsFile::parse(text).unwrap().lost();
        lost.iter()
            .map(|lost| format!("{} {}", lost.name, lost.loss.name()))
            .collect()
    }

    #[test]
    fn each_option_is_lost_at_another_value_than_the_default() {
        for row in LOST {
            let file = |value: &str| {
                let argument = if row.section == "DBOptions" { "" } else { " \"f\"" };
                format!(
                    "[DBOptions]\n[CFOptions \"default\"]\n[{}{argument}]\n{}={value}\n",
                    row.section, row.name
                )
                .replace(
                    "[DBOptions]\n[CFOptions \"default\"]\n[DBOptions]\n",
                    "[CFOptions \"default\"]\n[DBOptions]\n",
                )
            };
            assert_eq!(
                lost(&file("another")),
                [format!("{} {}", row.name, row.loss.name())]
            );
            for default in row.defaults {
                assert!(lost(&file(default)).is_empty(), "{}={default}", row.name);
                assert!(row.is_default(default));
            }
        }
    }

    #[test]
    fn nothing_is_lost_of_what_rocksdb_writes_by_default() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/rocksdb-11.9");
        let mut files = 0;
        for database in std::fs::read_dir(dir).unwrap() {
            let path = database.unwrap().path();
            if !path.is_dir() {
                continue;
            }
            let newest = OptionsFile::newest(&vfs::PosixFs::new(), &path).unwrap();
            assert_eq!(newest.unwrap().1.lost(), [], "{}", path.display());
            files += 1;
        }
        assert_eq!(files, 20);
    }

    #[test]
    fn an_option_of_ours_is_on_no_list() {
        let ours = |name| {
            Options::row(name).is_some()
                || ColumnFamilyOptions::row(name).is_some()
                || BlockBasedOptions::row(name).is_some()
        };
        let names = LOST.iter().map(|row| row.name).chain(SAY_NOTHING.iter().copied());
        let both: Vec<&str> = names.filter(|name| ours(name)).collect();
        // Kinds of memtables that do not exist here, and an old name of a RocksDB option that is now one of
        // ours.
        assert_eq!(both, ["memtable_factory", "verify_checksums_in_compaction"]);
    }

    #[test]
    fn values_are_compared_as_what_they_say() {
        let db = |line: &str| lost(&format!("[DBOptions]\n{line}\n[CFOptions \"default\"]\n"));
        assert!(db("paranoid_checks=1").is_empty() && db("use_fsync=0").is_empty());
        assert_eq!(db("paranoid_checks=0"), ["paranoid_checks results"]);
        assert_eq!(db("use_fsync=1"), ["use_fsync durability"]);
        assert_eq!(db("an_option_of_tomorrow=1"), ["an_option_of_tomorrow unknown"]);
        assert_eq!(db("wal_recovery_mode=kNone"), ["wal_recovery_mode unknown"]);
        assert!(db("preserve_deletes=true").is_empty());
        let cf = |line: &str| lost(&format!("[DBOptions]\n[CFOptions \"default\"]\n{line}\n"));
        assert!(cf("experimental_mempurge_threshold=0.000000").is_empty());
        assert!(cf("compression_manager={id=BuiltinV2;}").is_empty());
        assert!(cf("blob_compression_opts={level=32767;window_bits=-14;}").is_empty());
        assert_eq!(
            cf("blob_compression_opts={level=9;}"),
            ["blob_compression_opts space"]
        );
        assert_eq!(cf("memtable_factory=prefix_hash:1000"), ["memtable_factory cost"]);
        assert_eq!(cf("table_factory=PlainTable"), ["table_factory results"]);
    }
}
