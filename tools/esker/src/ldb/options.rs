//! The options with which a command opens the database: those of the OPTIONS file, and the command line over
//! them.

use std::sync::Arc;

use codec::CompressionType;
use esker::option_table::OptionTable;
use esker::{
    BlockBasedOptions, ColumnFamilyOptions, DEFAULT_COLUMN_FAMILY, Db, FilterPolicy, Options, OptionsFile,
    PrepopulateBlobCache, merge_operators, prefix_extractors,
};

use crate::directory;
use crate::ldb::line::Line;
use crate::ldb::outcome::Failed;

/// The options of the database that `line` names.
///
/// The OPTIONS file is read unless the command line says otherwise: by default if `--db` is given, without
/// `--create_if_missing` and `--ttl`. Families without a merge operator get `StringAppendOperator` with a
/// colon. If there is an OPTIONS file, the command line changes the options of its family alone, else those
/// of all.
///
/// Errors: an option with a bad value; an OPTIONS file that cannot be read; a family that the file does not
/// have.
pub fn prepare(line: &Line) -> Result<Options, Failed> {
    refuse_environments(line)?;
    let loaded = match loads_options(line)? {
        true => stored(line)?,
        false => None,
    };
    let is_loaded = loaded.is_some();
    let mut options = loaded.unwrap_or_default();
    options.create_if_missing = false;
    options.error_if_exists = false;
    options.create_missing_column_families = false;
    if let Some(size) = line.int("db_write_buffer_size")? {
        options.db_write_buffer_size = not_negative("db_write_buffer_size", size)? as u64;
    }
    let name = line.column_family();
    match options.column_families.get_mut(&name) {
        Some(family) => change(family, line)?,
        None if is_loaded && name != DEFAULT_COLUMN_FAMILY => {
            return Err(Failed::said(format!("Non-existing column family {name}")));
        }
        None => change(&mut options.column_family, line)?,
    }
    // Merges and timestamps exclude each other.
    for family in families(&mut options).filter(|family| family.comparator.timestamp_size() == 0) {
        family
            .merge_operator
            .get_or_insert_with(|| Arc::new(merge_operators::StringAppend::new(":")));
    }
    Ok(options)
}

/// The options of every named family, and the options of all other families.
pub fn families(options: &mut Options) -> impl Iterator<Item = &mut ColumnFamilyOptions> {
    std::iter::once(&mut options.column_family).chain(options.column_families.values_mut())
}

/// The options of the family that `line` names.
pub fn family<'a>(options: &'a mut Options, line: &Line) -> &'a mut ColumnFamilyOptions {
    let name = line.column_family();
    match options.column_families.contains_key(&name) {
        true => options.column_families.entry(name).or_default(),
        false => &mut options.column_family,
    }
}

fn refuse_environments(line: &Line) -> Result<(), Failed> {
    match ["env_uri", "fs_uri"]
        .iter()
        .find(|name| line.value(name).is_some())
    {
        None => Ok(()),
        Some(name) => Err(Failed::said(format!(
            "Not implemented: --{name}: there is one file system, the disk"
        ))),
    }
}

/// Whether the OPTIONS file is read. Only in that case does an error of opening the database end the command.
pub fn loads_options(line: &Line) -> Result<bool, Failed> {
    let usual = line.value("db").is_some() && !line.flag("create_if_missing") && !line.flag("ttl");
    line.is_set("try_load_options", usual)
}

/// The options of the newest OPTIONS file; `None` if there is none.
fn stored(line: &Line) -> Result<Option<Options>, Failed> {
    let (fs, dir) = (directory::fs(), line.db());
    let file = match OptionsFile::newest(&fs, &dir) {
        Ok(None) => return Ok(None),
        Err(error) if error.kind() == base::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let Some((_, file)) = file else { return Ok(None) };
    let (mut options, _) = file.options();
    if let Ok(families) = Db::list_column_families(&Options::default(), &dir) {
        options.column_families.retain(|name, _| families.contains(name));
    }
    if !options.wal_dir.is_empty() && !std::path::Path::new(&options.wal_dir).exists() {
        eprintln!("wal_dir loaded from the option file doesn't exist. Ignore it.");
        options.wal_dir.clear();
    }
    Ok(Some(options))
}

fn at_least(least: i32, bound: &str, name: &str, value: i32) -> Result<i32, Failed> {
    match value >= least {
        true => Ok(value),
        false => Err(Failed::said(format!("{name} must be {bound} 0."))),
    }
}

fn not_negative(name: &str, value: i32) -> Result<i32, Failed> {
    at_least(0, ">=", name, value)
}

fn positive(name: &str, value: i32) -> Result<i32, Failed> {
    at_least(1, ">", name, value)
}

/// Sets the options of a family that the command line has.
fn change(family: &mut ColumnFamilyOptions, line: &Line) -> Result<(), Failed> {
    change_tables(family, line)?;
    change_blobs(family, line)?;
    if let Some(on) = line.boolean("auto_compaction")? {
        family.disable_auto_compactions = !on;
    }
    if let Some(compression) = compression(line, "compression_type")? {
        family.compression = compression;
    }
    if let Some(bytes) = line.int("compression_max_dict_bytes")? {
        family.compression_opts.max_dict_bytes = not_negative("compression_max_dict_bytes", bytes)? as u32;
    }
    if let Some(bytes) = line.int("write_buffer_size")? {
        family.write_buffer_size = positive("write_buffer_size", bytes)? as u64;
    }
    if let Some(bytes) = line.int("file_size")? {
        family.target_file_size_base = positive("file_size", bytes)? as u64;
    }
    if let Some(len) = line.int("fix_prefix_len")? {
        let len = positive("fix_prefix_len", len)?;
        family.prefix_extractor = Some(Arc::new(prefix_extractors::Fixed::new(len as usize)));
    }
    Ok(())
}

/// An option of tables replaces all options of tables.
fn change_tables(family: &mut ColumnFamilyOptions, line: &Line) -> Result<(), Failed> {
    let mut table = BlockBasedOptions::default();
    let mut changed = false;
    if let Some(bits) = line.int("bloom_bits")? {
        table.filter_policy = FilterPolicy::Bloom(positive("bloom_bits", bits)?.into());
        changed = true;
    }
    if let Some(size) = line.int("block_size")? {
        table.block_size = positive("block_size", size)? as u64;
        changed = true;
    }
    // The option has no effect, because indexes are always searched in the same way, whatever the distances
    // of their keys.
    if line.double("uniform_cv_threshold")?.is_some() {
        changed = true;
    }
    if changed {
        family.table = table;
    }
    Ok(())
}

fn change_blobs(family: &mut ColumnFamilyOptions, line: &Line) -> Result<(), Failed> {
    // Without the flags RocksDB turns blob files and their garbage collection off, which would move values
    // from blob files into tables.
    family.enable_blob_files |= line.flag("enable_blob_files");
    family.enable_blob_garbage_collection |= line.flag("enable_blob_garbage_collection");
    if let Some(bytes) = line.int("min_blob_size")? {
        family.min_blob_size = not_negative("min_blob_size", bytes)? as u64;
    }
    if let Some(bytes) = line.int("blob_file_size")? {
        family.blob_file_size = positive("blob_file_size", bytes)? as u64;
    }
    if let Some(compression) = compression(line, "blob_compression_type")? {
        family.blob_compression_type = compression;
    }
    if let Some(cutoff) = fraction(line, "blob_garbage_collection_age_cutoff")? {
        family.blob_garbage_collection_age_cutoff = cutoff;
    }
    if let Some(threshold) = fraction(line, "blob_garbage_collection_force_threshold")? {
        family.blob_garbage_collection_force_threshold = threshold;
    }
    if let Some(bytes) = line.int("blob_compaction_readahead_size")? {
        let bytes = positive("blob_compaction_readahead_size", bytes)?;
        family.blob_compaction_readahead_size = bytes as usize;
    }
    if let Some(level) = line.int("blob_file_starting_level")? {
        let level = not_negative("blob_file_starting_level", level)?;
        OptionTable::set(family, "blob_file_starting_level", &level.to_string())?;
    }
    match line.int("prepopulate_blob_cache")? {
        None => {}
        Some(0) => family.prepopulate_blob_cache = PrepopulateBlobCache::Disable,
        Some(1) => family.prepopulate_blob_cache = PrepopulateBlobCache::FlushOnly,
        Some(_) => {
            let text = "prepopulate_blob_cache must be 0 (disable) or 1 (flush only).";
            return Err(Failed::said(text));
        }
    }
    Ok(())
}

fn fraction(line: &Line, name: &str) -> Result<Option<f64>, Failed> {
    match line.double(name)? {
        Some(value) if !(0.0..=1.0).contains(&value) => {
            Err(Failed::said(format!("{name} must be >= 0 and <= 1.")))
        }
        value => Ok(value),
    }
}

fn compression(line: &Line, name: &str) -> Result<Option<CompressionType>, Failed> {
    let Some(text) = line.text(name) else {
        return Ok(None);
    };
    Ok(Some(match text.as_str() {
        "no" => CompressionType::None,
        "snappy" => CompressionType::Snappy,
        "zlib" => CompressionType::Zlib,
        "bzip2" => CompressionType::Bzip2,
        "lz4" => CompressionType::Lz4,
        "lz4hc" => CompressionType::Lz4Hc,
        "zstd" => CompressionType::Zstd,
        "xpress" => {
            let text = "xpress compression is not supported in this build.";
            return Err(Failed::said(text));
        }
        _ => return Err(Failed::said(format!("Unknown compression algorithm: {text}"))),
    }))
}
