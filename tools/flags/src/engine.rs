//! The engine's options under their own names.

use base::{Error, Result};
use esker::option_table::OptionTable;
use esker::{BlockBasedOptions, ColumnFamilyOptions, CompactionStyle, CompressionType, Options};

/// What the help says of an option.
#[derive(Clone, Debug)]
pub struct EngineOption {
    /// RocksDB's name.
    pub name: &'static str,
    /// Kind of value.
    pub type_name: &'static str,
    /// As text.
    pub default: String,
    /// What it does.
    pub doc: &'static str,
}

/// Every option: of the database, of its column families, of their tables.
pub fn rows() -> Vec<EngineOption> {
    fn of<S: OptionTable + Default>() -> impl Iterator<Item = EngineOption> {
        let default = S::default();
        S::rows().iter().map(move |row| EngineOption {
            name: row.name,
            type_name: row.type_name,
            default: (row.get)(&default),
            doc: row.doc,
        })
    }
    of::<Options>()
        .chain(of::<ColumnFamilyOptions>())
        .chain(of::<BlockBasedOptions>())
        .collect()
}

/// Whether `name` is an option, and if so whether it is a boolean.
pub fn is_bool(name: &str) -> Option<bool> {
    let kind = |type_name: &str| type_name == "boolean";
    Options::row(name)
        .map(|row| kind(row.type_name))
        .or_else(|| ColumnFamilyOptions::row(name).map(|row| kind(row.type_name)))
        .or_else(|| BlockBasedOptions::row(name).map(|row| kind(row.type_name)))
}

/// Sets an option of the database, or of all families that are given none of their own.
///
/// # Errors
/// `InvalidArgument` if there is no such option, or it takes no such value.
pub fn set(options: &mut Options, name: &str, value: &str) -> Result<()> {
    // RocksDB's tools have names of their own for compressions.
    let own_name = match name {
        "blob_compression_type" => compression(value).ok().map(CompressionType::options_name),
        _ => None,
    };
    let value = own_name.unwrap_or(value);
    if Options::row(name).is_some() {
        OptionTable::set(options, name, value)
    } else if ColumnFamilyOptions::row(name).is_some() {
        OptionTable::set(&mut options.column_family, name, value)
    } else {
        OptionTable::set(&mut options.column_family.table, name, value)
    }
}

/// A compression by the name RocksDB's tools have for it.
///
/// # Errors
/// `InvalidArgument` if there is none of that name.
pub fn compression(name: &str) -> Result<CompressionType> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "none" => CompressionType::None,
        "snappy" => CompressionType::Snappy,
        "zlib" => CompressionType::Zlib,
        "bzip2" => CompressionType::Bzip2,
        "lz4" => CompressionType::Lz4,
        "lz4hc" => CompressionType::Lz4Hc,
        "zstd" => CompressionType::Zstd,
        _ => {
            return Err(Error::invalid_argument(format!(
                "--compression_type={name}: no compression of that name"
            )));
        }
    })
}

/// A way to merge files by the number RocksDB's tools have for it.
///
/// # Errors
/// `InvalidArgument` if there is none of that number.
pub fn compaction_style(number: i32) -> Result<CompactionStyle> {
    match number {
        0 => Ok(CompactionStyle::Level),
        3 => Ok(CompactionStyle::None),
        other => {
            let style = match other {
                1 => "universal compaction",
                2 => "FIFO compaction",
                _ => "a compaction style that is none of RocksDB's",
            };
            let message = format!("--compaction_style={other} needs {style}, which Esker does not have yet");
            Err(Error::invalid_argument(message))
        }
    }
}

/// The help about options.
pub fn help() -> String {
    let mut text = String::new();
    for row in rows() {
        let doc: Vec<&str> = row.doc.lines().map(str::trim).collect();
        text.push_str(&format!(
            "  --{} ({}, default {:?})\n     {}\n",
            row.name,
            row.type_name,
            row.default,
            doc.join(" ")
        ));
    }
    text
}
