//! `ldb --help` and `ldb --version`.

use crate::ldb::table;

/// The options that select the database and the form of keys and values.
const INTRODUCTION: &str = "\
ldb - RocksDB Tool

commands MUST specify --db=<full_path_to_db_directory> when necessary

commands can optionally specify
  --env_uri=<uri_of_environment> or --fs_uri=<uri_of_filesystem> if necessary
  --secondary_path=<secondary_path> to open DB as secondary instance. Operations not supported in secondary instance will fail.

  --leader_path=<leader_path> to open DB as a follower instance. Operations not supported in follower instance will fail.

The following optional parameters control if keys/values are input/output as hex or as plain strings:
  --key_hex : Keys are input/output as hex
  --value_hex : Values are input/output as hex
  --hex : Both keys and values are input/output as hex

The following optional parameters control the database internals:
  --column_family=<string> : name of the column family to operate on. default: default column family
  --ttl with 'put','get','scan','dump','query','batchput' : DB supports ttl and value is internally timestamp-suffixed
  --use_txn : Open database as TransactionDB. Required for databases created with WritePrepared or WriteUnprepared transactions.
  --txn_write_policy=<0|1|2> : Transaction write policy. 0=WRITE_COMMITTED (default), 1=WRITE_PREPARED, 2=WRITE_UNPREPARED
  --try_load_options : Try to load option file from DB. Default to true if db is specified and not creating a new DB and not open as TTL DB. Can be set to false explicitly.
  --disable_consistency_checks : Set options.force_consistency_checks = false.
  --ignore_unknown_options : Ignore unknown options when loading option file.
  --bloom_bits=<int,e.g.:14>
  --fix_prefix_len=<int,e.g.:14>
  --compression_type=<no|snappy|zlib|bzip2|lz4|lz4hc|xpress|zstd>
  --compression_max_dict_bytes=<int,e.g.:16384>
  --block_size=<block_size_in_bytes>
  --uniform_cv_threshold=<double,e.g.:0.2>
  --auto_compaction=<true|false>
  --db_write_buffer_size=<int,e.g.:16777216>
  --write_buffer_size=<int,e.g.:4194304>
  --file_size=<int,e.g.:2097152>
  --enable_blob_files : Enable key-value separation using BlobDB
  --min_blob_size=<int,e.g.:2097152>
  --blob_file_size=<int,e.g.:2097152>
  --blob_compression_type=<no|snappy|zlib|bzip2|lz4|lz4hc|xpress|zstd>
  --enable_blob_garbage_collection : Enable blob garbage collection
  --blob_garbage_collection_age_cutoff=<double,e.g.:0.25>
  --blob_garbage_collection_force_threshold=<double,e.g.:0.25>
  --blob_compaction_readahead_size=<int,e.g.:2097152>
  --read_timestamp=<uint64_ts, e.g.:323> : read timestamp, required if column family enables timestamp, otherwise invalid if provided.


";

/// The whole help.
pub fn text() -> String {
    let mut text = INTRODUCTION.to_owned();
    let (data, admin) = table::COMMANDS.split_at(table::DATA_COMMANDS);
    for (title, commands) in [("Data Access Commands", data), ("\n\nAdmin Commands", admin)] {
        text += &format!("{title}:\n");
        for command in commands {
            text += &format!("  {}\n", command.help);
        }
    }
    text.push('\n');
    text
}

/// The version of RocksDB whose `ldb` this is.
pub fn version() -> String {
    "ldb from RocksDB 11.8.1".to_owned()
}
