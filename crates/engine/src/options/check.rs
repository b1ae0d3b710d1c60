//! The checks of the options of a database and of its families.

use base::comparator::TIMESTAMP_SUFFIX;
use base::{Error, Result, UserComparator, protection};
use codec::compression::{CompressionOptions, CompressionType};
use sst::format::IndexType;

use crate::options::names::DEFAULT_COLUMN_FAMILY;
use crate::options::option_errors::OptionErrors;
use crate::options::table::{OptionTable, OptionValue};
use crate::options::{ColumnFamilyOptions, CompactionStyle, Options};

/// `InvalidArgument` for impossible options of a family, by themselves or in this database, or `NotSupported`
/// for unsupported ones. The error names each of them.
pub(crate) fn check_family_options(
    options: &Options,
    name: &str,
    family: &ColumnFamilyOptions,
) -> Result<()> {
    let mut wrong = OptionErrors::default();
    wrong.take_all(wrong_with(family), &of_family(name));
    wrong.take(check_memtables(options, name, family));
    wrong.take(check_paths(options, family));
    let persists = family.persist_user_defined_timestamps;
    wrong.take(check_timestamps(options, &family.comparator, persists));
    wrong.result()
}

/// The name of a family's options in an error.
pub(crate) fn of_family(name: &str) -> String {
    format!("options of column family {name}")
}

/// The impossible or unsupported options of a family, each with its reason.
pub(crate) fn wrong_with(options: &ColumnFamilyOptions) -> OptionErrors {
    let mut wrong = OptionErrors::default();
    wrong.take(options.check());
    wrong.take(options.check_compaction());
    wrong.take(options.table.check());
    wrong.take(options.table.cache_usage_options.check(
        options.table.no_block_cache,
        options.table.block_cache.as_ref(),
        options.blob_cache.as_ref(),
    ));
    wrong.take(protection::check_width(
        "Memtable",
        options.memtable_protection_bytes_per_key,
    ));
    wrong.take(protection::check_width(
        "Block",
        options.block_protection_bytes_per_key,
    ));
    if options.table.cache_index_and_filter_blocks && options.table.no_block_cache {
        wrong.invalid("Enable cache_index_and_filter_blocks, but block cache is disabled (no_block_cache)");
    }
    if options.table.index_type == IndexType::HashSearch && options.prefix_extractor.is_none() {
        wrong.invalid(
            "Hash index (index_type) is specified for block-based table, but prefix_extractor is not given",
        );
    }
    let compressions = options
        .compression_per_level
        .iter()
        .chain(&options.bottommost_compression);
    for compression in compressions.chain([&options.compression]) {
        if options.table.block_align && *compression != CompressionType::None {
            wrong.invalid("Enable block_align, but compression enabled");
        }
        for opts in [&options.compression_opts, &options.bottommost_compression_opts] {
            wrong.take(codec::compression::Compressor::new(*compression, opts, None).map(drop));
        }
    }
    let of_blobs = codec::compression::Compressor::new(
        options.blob_compression_type,
        &CompressionOptions::default(),
        None,
    );
    wrong.take(of_blobs.map(drop));
    for opts in [&options.compression_opts, &options.bottommost_compression_opts] {
        if opts.zstd_max_train_bytes > 0 && opts.max_dict_bytes == 0 {
            wrong.invalid(
                "The dictionary size limit (`CompressionOptions::max_dict_bytes`) should be nonzero if we're using zstd's dictionary \
                 generator (zstd_max_train_bytes).",
            );
        }
        if opts.zstd_max_train_bytes > 0 && !opts.use_zstd_dict_trainer {
            wrong.unsupported(
                "use_zstd_dict_trainer=false: a dictionary is trained, or is made of the samples as they are",
            );
        }
    }
    wrong
}

/// `InvalidArgument` if the database's options do not allow this kind of memtable.
fn check_memtables(options: &Options, name: &str, family: &ColumnFamilyOptions) -> Result<()> {
    if options.allow_concurrent_memtable_write && !family.memtable_factory.is_insert_concurrently_supported()
    {
        return Err(Error::invalid_argument(format!(
            "Memtable doesn't concurrent writes (allow_concurrent_memtable_write): memtable_factory={} of column family {name}",
            family.memtable_factory.text()
        )));
    }
    Ok(())
}

/// `NotSupported` if timestamps cannot be kept out of tables.
fn check_timestamps(options: &Options, comparator: &UserComparator, persists: bool) -> Result<()> {
    // The error texts are RocksDB's, in which some blanks are missing.
    let refuse = |why: &str| {
        Err(Error::not_supported(format!(
            "Not persisting user-defined timestamps{why}"
        )))
    };
    match comparator.timestamp_size() {
        0 => Ok(()),
        _ if persists => Ok(()),
        _ if options.atomic_flush => refuse(" feature is not supportedin combination with atomic flush."),
        _ if options.allow_concurrent_memtable_write => {
            refuse(" feature is not supported in combination with concurrent memtable write.")
        }
        8 if comparator.name().ends_with(TIMESTAMP_SUFFIX) => Ok(()),
        _ => refuse("feature only support user-defined timestamps formatted as uint64_t."),
    }
}

/// Same as [`check_family_options`] for timestamps, with the comparator of a family in a MANIFEST, and
/// `InvalidArgument` if its tables have timestamps where the options want none, or the other way round.
pub(crate) fn check_recorded_timestamps(
    options: &Options,
    recorded: &manifest::FamilyState,
    family: &ColumnFamilyOptions,
) -> Result<()> {
    let persists = family.persist_user_defined_timestamps;
    if recorded.comparator.timestamp_size() > 0 && recorded.persist_user_defined_timestamps != persists {
        return Err(Error::invalid_argument(
            "Cannot toggle the persist_user_defined_timestamps flag for a column family with user-defined timestamps feature enabled.",
        ));
    }
    check_timestamps(options, &recorded.comparator, persists)
}

/// `NotSupported` if there are too many directories of tables.
fn check_paths(options: &Options, family: &ColumnFamilyOptions) -> Result<()> {
    let (which, paths) = match family.cf_paths.is_empty() {
        true => ("DB", &options.db_paths),
        false => ("CF", &family.cf_paths),
    };
    if paths.len() > MOST_PATHS {
        return Err(Error::not_supported(format!(
            "More than four {which} paths are not supported yet. "
        )));
    }
    let has_use = matches!(
        family.compaction_style,
        CompactionStyle::Level | CompactionStyle::Universal
    );
    if paths.len() > 1 && !has_use {
        return Err(Error::not_supported(format!(
            "More than one {which} paths are only supported in universal and level compaction styles. "
        )));
    }
    Ok(())
}

/// The maximum number of directories of tables: a MANIFEST cannot distinguish more.
const MOST_PATHS: usize = 4;

/// Same as [`check_family_options`], for the options of a database and all its families.
pub(crate) fn check_options(options: &Options) -> Result<()> {
    let mut wrong = OptionErrors::default();
    wrong.take(options.check());
    if !matches!(
        options.wal_compression,
        CompressionType::None | CompressionType::Zstd
    ) {
        wrong.unsupported("wal_compression other than kNoCompression and kZSTD");
    } else if !options.wal_compression.is_supported() {
        wrong.unsupported("wal_compression: the crate was built without the feature \"zstd\"");
    }
    if !options.write_dbid_to_manifest && !options.write_identity_file {
        wrong.invalid("write_dbid_to_manifest and write_identity_file cannot both be false");
    }
    let pipelined = options.kept_options.get("enable_pipelined_write");
    if options.atomic_flush && pipelined.is_some_and(|value| value == "1" || value == "true") {
        wrong.invalid("atomic_flush is incompatible with enable_pipelined_write");
    }
    if options.db_paths.len() > MOST_PATHS {
        wrong.unsupported("More than four DB paths are not supported yet. ");
    }
    if options.allow_mmap_reads && options.use_direct_reads {
        wrong.invalid("Enable allow_mmap_reads, but reads are direct (use_direct_reads)");
    }
    let others = options
        .column_families
        .iter()
        .map(|(name, family)| (&**name, family));
    for (name, family) in std::iter::once((DEFAULT_COLUMN_FAMILY, &options.column_family)).chain(others) {
        wrong.take(check_family_options(options, name, family));
    }
    wrong.result()
}
