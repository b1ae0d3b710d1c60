//! `sst_dump --help`.

use codec::compression::CompressionType;

/// The help, up to the names of the compression types.
const BEFORE_TYPES: &str = "\
sst_dump <db_dirs_OR_sst_files...> [--command=check|scan|raw|verify|recompress|identify]
    --file=<db_dir_OR_sst_file>
      Path to SST file or directory containing SST files (old option syntax)

    --command=check|scan|raw|verify|recompress|identify
        check: Iterate over entries in files but print nothing except errors (default command).
               Without read_num, from and to, the number of entries is compared with the table's properties
        scan: Iterate over entries in files and print them
        raw: Dump all parts of a table to <file_name>_dump.txt
        verify: Read all blocks of files and verify their checksums; print nothing except corruption
        recompress: The sizes of a table written again with different compression types
        identify: Whether a file is a valid SST file, or the valid SST files of a directory

    --output_hex
      Keys and values of scan in hexadecimal

    --decode_blob_index
      The indexes of values in blob files are taken apart

    --show_sequence_number_type
      Sequence numbers and types in raw

    --from=<user_key>
      The key to begin with, in check|scan

    --to=<user_key>
      The key to end before, in check|scan

    --prefix=<user_key>
      The keys with this prefix alone, in check|scan
      Cannot be used together with --from

    --read_num=<num>
      The maximum number of entries to read, in check|scan

    --verify_checksum
      Verify the checksums of blocks, in check|scan

    --input_key_hex
      --from, --to and --prefix are in hexadecimal

    --show_properties
      The properties of a table, after check|scan|identify

    --show_summary
      The sums of all tables, at the end

    --list_meta_blocks
      The names and places of all meta blocks

    --readahead_size=<bytes>
      Bytes that are read ahead, in verify

    --parse_internal_key=<0xKEY>
      Takes an internal key apart: {'key' @ SN: type}

    --block_size=<block_size>
      The size of blocks in recompress

    --compression_types=<comma-separated list of CompressionType members, e.g., kSnappyCompression>
      The compression types in recompress
      Supported built-in compression types: ";

/// The help text after the list of compression types.
const AFTER_TYPES: &str = "

    --enable_index_compression=<bool>
      Index blocks are compressed too, in recompress

    --verify_compression=<bool>
      Compare what is decompressed with what was compressed, in recompress

    --compression_level=<compression_level>
      Both of the following

    --compression_level_from=<compression_level>
      The first level in recompress

    --compression_level_to=<compression_level>
      The last level in recompress

    --compression_max_dict_bytes=<uint32_t>
      The maximum size of dictionaries

    --compression_max_dict_buffer_bytes=<int64_t>
      The maximum size of samples from which a dictionary is built

    --compression_zstd_max_train_bytes=<uint32_t>
      The maximum size of data that trains a dictionary

    --compression_use_zstd_finalize_dict
      Dictionaries are finalized samples, and not trained

    --compression_parallel_threads=<uint32_t>
      The number of threads that compress
";

/// The whole help.
pub fn text() -> String {
    let types = CompressionType::ALL.into_iter();
    let names: Vec<&str> = types
        .filter(|ty| ty.is_supported())
        .map(CompressionType::options_name)
        .collect();
    format!("{BEFORE_TYPES}{}{AFTER_TYPES}", names.join(", "))
}
