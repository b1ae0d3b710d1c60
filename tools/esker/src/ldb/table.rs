//! The commands in the order of the help, with their options.

use crate::ldb::command::Command;
use crate::ldb::{
    approxsize, backup, batchput, change_compaction_style, checkconsistency, checkpoint, column_families,
    compact, delete, dump, dump_live_files, dump_wal, file_checksum_dump, get, get_entity, get_property,
    idump, ingest_extern_sst, list_file_range_deletes, list_live_files_metadata, load, manifest_dump, put,
    put_entity, query, reduce_levels, remote_compaction, repair, scan, unsafe_remove_sst_file,
    update_manifest, write_extern_sst,
};

/// The options that nearly every command has.
const COMMON: &[&str] = &[
    "env_uri",
    "fs_uri",
    "db",
    "secondary_path",
    "leader_path",
    "bloom_bits",
    "block_size",
    "uniform_cv_threshold",
    "auto_compaction",
    "compression_type",
    "compression_max_dict_bytes",
    "write_buffer_size",
    "file_size",
    "fix_prefix_len",
    "try_load_options",
    "disable_consistency_checks",
    "enable_blob_files",
    "min_blob_size",
    "blob_file_size",
    "blob_compression_type",
    "enable_blob_garbage_collection",
    "blob_garbage_collection_age_cutoff",
    "blob_garbage_collection_force_threshold",
    "blob_compaction_readahead_size",
    "blob_file_starting_level",
    "prepopulate_blob_cache",
    "ignore_unknown_options",
    "column_family",
    "use_txn",
    "txn_write_policy",
];

/// True if `command` has option `name` because nearly every command has it. The two commands that create and
/// drop families have `db` alone.
pub fn is_common(command: &Command, name: &str) -> bool {
    match command.name {
        "create_column_family" | "drop_column_family" => name == "db",
        _ => COMMON.contains(&name),
    }
}

/// The number of commands that the help lists as those of data access.
pub const DATA_COMMANDS: usize = 15;

/// The options of the form of keys and values.
const HEX: &[&str] = &["hex", "key_hex", "value_hex"];

/// The options of a command that dumps a range of rows.
const DUMP: &[&str] = &[
    "from",
    "to",
    "max_keys",
    "count_only",
    "count_delim",
    "stats",
    "decode_blob_index",
];

/// The options of a command on a backup directory.
const BACKUP: &[&str] = &[
    "backup_env_uri",
    "backup_fs_uri",
    "backup_dir",
    "num_threads",
    "stderr_log_level",
];

/// A command that opens the database.
macro_rules! command {
    ($name:literal, $help:literal, $options:expr, $run:path) => {
        Command {
            name: $name,
            help: $help,
            options: &$options,
            needs_no_db: false,
            run: $run,
        }
    };
    ($name:literal, $help:literal, $options:expr, $run:path, needs_no_db) => {
        Command {
            name: $name,
            help: $help,
            options: &$options,
            needs_no_db: true,
            run: $run,
        }
    };
}

/// Every command.
pub const COMMANDS: &[Command] = &[
    command!(
        "put",
        "put <key> <value> [--create_if_missing] [--ttl]",
        [HEX, &["ttl", "create_if_missing"]],
        put::run
    ),
    command!(
        "put_entity",
        "put_entity <key> <column1_name>:<column1_value> <column2_name>:<column2_value> <...> [--create_if_missing] [--ttl]",
        [HEX, &["ttl", "create_if_missing"]],
        put_entity::run
    ),
    command!(
        "get",
        "get <key> [--read_timestamp=<uint64_ts>]  [--ttl]",
        [HEX, &["ttl", "read_timestamp"]],
        get::get
    ),
    command!(
        "get_entity",
        "get_entity <key> [--read_timestamp=<uint64_ts>]  [--ttl]",
        [HEX, &["ttl", "read_timestamp"]],
        get_entity::get_entity
    ),
    command!(
        "multi_get",
        "multi_get <key_1> <key_2> <key_3> ... [--read_timestamp=<uint64_ts>] ",
        [HEX, &["read_timestamp"]],
        get::multi_get
    ),
    command!(
        "multi_get_entity",
        "multi_get_entity <key_1> <key_2> <key_3> ... [--read_timestamp=<uint64_ts>] ",
        [HEX, &["read_timestamp"]],
        get_entity::multi_get_entity
    ),
    command!(
        "batchput",
        "batchput <key> <value> [<key> <value>] [..] [--create_if_missing] [--ttl]",
        [HEX, &["ttl", "create_if_missing"]],
        batchput::run
    ),
    command!(
        "scan",
        "scan [--from] [--to]  [--ttl] [--timestamp] [--max_keys=<N>q]  [--start_time=<N>:- is inclusive] [--end_time=<N>:- is exclusive] [--no_value] [--read_timestamp=<uint64_ts>]  [--get_write_unix_time]",
        [
            HEX,
            &[
                "ttl",
                "no_value",
                "from",
                "to",
                "timestamp",
                "max_keys",
                "start_time",
                "end_time",
                "read_timestamp",
                "get_write_unix_time"
            ]
        ],
        scan::run
    ),
    command!("delete", "delete <key>", [HEX], delete::delete),
    command!("singledelete", "singledelete <key>", [HEX], delete::single_delete),
    command!(
        "deleterange",
        "deleterange <begin key> <end key>",
        [HEX],
        delete::delete_range
    ),
    command!(
        "query",
        "query [--ttl]\n    Starts a REPL shell.  Type help for list of available commands.",
        [HEX, &["ttl"]],
        query::run
    ),
    command!(
        "approxsize",
        "approxsize [--from] [--to] ",
        [HEX, &["from", "to"]],
        approxsize::run
    ),
    command!(
        "checkconsistency",
        "checkconsistency",
        [],
        checkconsistency::run,
        needs_no_db
    ),
    command!(
        "list_file_range_deletes",
        "list_file_range_deletes [--max_keys=<N>] : print tombstones in SST files.",
        [&["max_keys"]],
        list_file_range_deletes::run
    ),
    command!(
        "dump_wal",
        "dump_wal --walfile=<write_ahead_log_file_path_or_directory> [--db=<db_path>] [--header]  [--print_value]  [--only_print_seqno_gaps] (only correct if not using pessimistic transactions) [--write_committed=true|false] ",
        [&[
            "walfile",
            "write_committed",
            "header",
            "print_value",
            "only_print_seqno_gaps"
        ]],
        dump_wal::run,
        needs_no_db
    ),
    command!(
        "compact",
        "compact [--from] [--to] ",
        [HEX, &["from", "to", "ttl"]],
        compact::run
    ),
    command!(
        "reduce_levels",
        "reduce_levels --new_levels=<New number of levels> [--print_old_levels]",
        [&["new_levels", "print_old_levels"]],
        reduce_levels::run,
        needs_no_db
    ),
    command!(
        "change_compaction_style",
        "change_compaction_style --old_compaction_style=<Old compaction style: 0 for level compaction, 1 for universal compaction> --new_compaction_style=<New compaction style: 0 for level compaction, 1 for universal compaction>",
        [&["old_compaction_style", "new_compaction_style"]],
        change_compaction_style::run
    ),
    command!(
        "dump",
        "dump [--from] [--to]  [--ttl] [--max_keys=<N>] [--timestamp] [--count_only] [--count_delim=<char>] [--stats] [--bucket=<N>] [--start_time=<N>:- is inclusive] [--end_time=<N>:- is exclusive] [--path=<path_to_a_file>] [--decode_blob_index] [--dump_uncompressed_blobs]",
        [
            HEX,
            DUMP,
            &[
                "ttl",
                "start_time",
                "end_time",
                "bucket",
                "timestamp",
                "path",
                "dump_uncompressed_blobs"
            ]
        ],
        dump::run
    ),
    command!(
        "load",
        "load [--create_if_missing] [--disable_wal] [--bulk_load] [--compact]",
        [
            HEX,
            &[
                "from",
                "to",
                "create_if_missing",
                "disable_wal",
                "bulk_load",
                "compact"
            ]
        ],
        load::run
    ),
    command!(
        "manifest_dump",
        "manifest_dump [--verbose] [--json] [--path=<path_to_manifest_file>]",
        [&["verbose", "path", "hex", "json"]],
        manifest_dump::run,
        needs_no_db
    ),
    command!(
        "compaction_progress_dump",
        "compaction_progress_dump [--path=<path_to_compaction_progress_file>]",
        [&["path"]],
        manifest_dump::compaction_progress,
        needs_no_db
    ),
    command!(
        "update_manifest",
        "update_manifest [--update_temperatures]      MUST NOT be used on a live DB.",
        [&["verbose", "update_temperatures"]],
        update_manifest::run,
        needs_no_db
    ),
    command!(
        "file_checksum_dump",
        "file_checksum_dump [--path=<path_to_manifest_file>]",
        [&["path", "hex"]],
        file_checksum_dump::run,
        needs_no_db
    ),
    command!(
        "get_property",
        "get_property <property_name>",
        [],
        get_property::run
    ),
    command!(
        "list_column_families",
        "list_column_families",
        [],
        column_families::list,
        needs_no_db
    ),
    command!(
        "create_column_family",
        "create_column_family --db=<db_path> <new_column_family_name>",
        [],
        column_families::create
    ),
    command!(
        "drop_column_family",
        "drop_column_family --db=<db_path> <column_family_name_to_drop>",
        [],
        column_families::drop_family
    ),
    command!(
        "dump_live_files",
        "dump_live_files [--decode_blob_index] [--dump_uncompressed_blobs]",
        [&["decode_blob_index", "dump_uncompressed_blobs"]],
        dump_live_files::run
    ),
    command!(
        "idump",
        "idump [--from] [--to]  [--input_key_hex] [--max_keys=<N>] [--count_only] [--count_delim=<char>] [--stats] [--decode_blob_index]",
        [HEX, DUMP, &["input_key_hex"]],
        idump::run
    ),
    command!(
        "list_live_files_metadata",
        "list_live_files_metadata [--sort_by_filename] ",
        [&["sort_by_filename"]],
        list_live_files_metadata::run
    ),
    command!(
        "repair",
        "repair [--verbose]",
        [&["verbose"]],
        repair::run,
        needs_no_db
    ),
    command!(
        "backup",
        "backup [--backup_env_uri | --backup_fs_uri]  [--backup_dir]  [--num_threads]  [--stderr_log_level=<int (InfoLogLevel)>] ",
        [BACKUP],
        backup::backup
    ),
    command!(
        "restore",
        "restore [--backup_env_uri | --backup_fs_uri]  [--backup_dir]  [--num_threads]  [--stderr_log_level=<int (InfoLogLevel)>] ",
        [BACKUP],
        backup::restore,
        needs_no_db
    ),
    command!(
        "checkpoint",
        "checkpoint [--checkpoint_dir] ",
        [&["checkpoint_dir"]],
        checkpoint::run
    ),
    command!(
        "write_extern_sst",
        "write_extern_sst <output_sst_path>",
        [HEX, &["from", "to", "create_if_missing"]],
        write_extern_sst::run
    ),
    command!(
        "ingest_extern_sst",
        "ingest_extern_sst <input_sst_path> [--move_files]  [--snapshot_consistency]  [--allow_global_seqno]  [--allow_blocking_flush]  [--ingest_behind]  [--write_global_seqno] ",
        [&[
            "move_files",
            "snapshot_consistency",
            "allow_global_seqno",
            "create_if_missing",
            "allow_blocking_flush",
            "ingest_behind",
            "write_global_seqno"
        ]],
        ingest_extern_sst::run
    ),
    command!(
        "unsafe_remove_sst_file",
        "unsafe_remove_sst_file <SST file number>      MUST NOT be used on a live DB.",
        [],
        unsafe_remove_sst_file::run,
        needs_no_db
    ),
    command!(
        "remote_compaction_primary",
        "remote_compaction_primary --db=<db_path> --job_dir=<dir>\n    Open an existing DB and run CompactRange() through LocalFileCompactionService.\n    Schedule() writes job_dir/input.bin (once). Wait() polls for job_dir/result.bin.\n    Must run with remote_compaction_worker in background on the same --db and --job_dir,\n    otherwise Wait() will hang until timeout.",
        [&["job_dir"]],
        remote_compaction::primary,
        needs_no_db
    ),
    command!(
        "remote_compaction_worker",
        "remote_compaction_worker --db=<db_path> --job_dir=<dir>\n    Read job_dir/input.bin, run DB::OpenAndCompact(), write job_dir/result.bin.",
        [&["job_dir"]],
        remote_compaction::worker,
        needs_no_db
    ),
];
