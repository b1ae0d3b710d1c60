//! The properties of a table: RocksDB's `TableProperties::ToString`, and what `sst_dump` adds.

use std::io::{self, Write};

use esker::SeqnoToTimeMapping;
use sst::TableProperties;
use sst::properties::UNKNOWN_COLUMN_FAMILY;

use crate::rocksdb_text::unique_id;
use crate::text::Form;

/// The names and values of the properties of a table, in RocksDB's order.
pub fn lines(properties: &TableProperties) -> Vec<(String, Vec<u8>)> {
    let mut lines = Vec::new();
    counts(properties, &mut lines);
    names(properties, &mut lines);
    times_and_identity(properties, &mut lines);
    lines
}

/// The properties, with `between` between name and value, and `after` after each.
pub fn text(properties: &TableProperties, between: &str, after: &str) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, value) in lines(properties) {
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(between.as_bytes());
        text.extend(value);
        text.extend_from_slice(after.as_bytes());
    }
    text
}

type Lines = Vec<(String, Vec<u8>)>;

fn number(name: &str, value: u64, lines: &mut Lines) {
    lines.push((name.to_owned(), value.to_string().into_bytes()));
}

fn counts(properties: &TableProperties, lines: &mut Lines) {
    let average = |sum: u64| match properties.num_entries {
        0 => 0.0,
        entries => sum as f64 / entries as f64,
    };
    for (name, value) in [
        ("# data blocks", properties.num_data_blocks),
        (
            "# data blocks compression rejected",
            properties.num_data_blocks_compression_rejected.unwrap_or(0),
        ),
        (
            "# data blocks compression bypassed",
            properties.num_data_blocks_compression_bypassed.unwrap_or(0),
        ),
        ("# uniform blocks", properties.num_uniform_blocks.unwrap_or(0)),
        ("# entries", properties.num_entries),
        ("# deletions", properties.num_deletions),
        ("# merge operands", properties.num_merge_operands),
        ("# range deletions", properties.num_range_deletions),
        ("raw key size", properties.raw_key_size),
        ("raw average key size", 0),
        ("raw value size", properties.raw_value_size),
        ("raw average value size", 0),
        ("data block size", properties.data_size),
        // Tables do not store their uncompressed size.
        ("data uncompressed size", 0),
    ] {
        let mean = match name {
            "raw average key size" => Some(average(properties.raw_key_size)),
            "raw average value size" => Some(average(properties.raw_value_size)),
            _ => None,
        };
        let text = mean.map_or_else(|| value.to_string(), |mean| format!("{mean:.6}"));
        lines.push((name.to_owned(), text.into_bytes()));
    }
    let index = format!(
        "index block size (user-key? {}, delta-value? {})",
        u8::from(properties.index_key_is_user_key),
        u8::from(properties.index_value_is_delta_encoded)
    );
    number(&index, properties.index_size, lines);
    if let Some(partitions @ 1..) = properties.index_partitions {
        number("# index partitions", partitions, lines);
        number(
            "top-level index size",
            properties.top_level_index_size.unwrap_or(0),
            lines,
        );
    }
    number("filter block size", properties.filter_size, lines);
    number("# entries for filter", properties.num_filter_entries, lines);
    let size = properties.data_size + properties.index_size + properties.filter_size;
    number("(estimated) table size", size, lines);
}

fn names(properties: &TableProperties, lines: &mut Lines) {
    let or_none = |value: &[u8]| match value.is_empty() {
        true => b"N/A".to_vec(),
        false => value.to_vec(),
    };
    let mut add = |name: &str, value: Vec<u8>| lines.push((name.to_owned(), value));
    add("filter policy name", or_none(&properties.filter_policy));
    add(
        "prefix extractor name",
        or_none(&properties.prefix_extractor_name),
    );
    let id = properties.column_family_id;
    let id = match id == UNKNOWN_COLUMN_FAMILY {
        true => "N/A".to_owned(),
        false => id.to_string(),
    };
    add("column family ID", id.into_bytes());
    add("column family name", or_none(&properties.column_family_name));
    add("comparator name", or_none(&properties.comparator));
    let persisted = properties.user_defined_timestamps_persisted;
    add(
        "user defined timestamps persisted",
        persisted.to_string().into_bytes(),
    );
    let seqno = |value: Option<u64>| value.unwrap_or(u64::MAX).to_string().into_bytes();
    add(
        "largest sequence number in file",
        seqno(properties.key_largest_seqno),
    );
    add(
        "smallest sequence number in file",
        seqno(properties.key_smallest_seqno),
    );
    add("merge operator name", or_none(&properties.merge_operator));
    add(
        "property collectors names",
        or_none(&properties.property_collectors),
    );
    add("SST file compression algo", or_none(&properties.compression));
    add(
        "SST file compression options",
        or_none(&properties.compression_options),
    );
}

fn times_and_identity(properties: &TableProperties, lines: &mut Lines) {
    for (name, value) in [
        ("creation time", properties.creation_time),
        ("time stamp of earliest key", properties.oldest_key_time),
        (
            "time stamp of newest key",
            properties.newest_key_time.unwrap_or(0),
        ),
        ("file creation time", properties.file_creation_time),
        (
            "slow compression estimated data size",
            properties.slow_compression_estimated_data_size,
        ),
        (
            "fast compression estimated data size",
            properties.fast_compression_estimated_data_size,
        ),
    ] {
        number(name, value, lines);
    }
    let mut add = |name: &str, value: Vec<u8>| lines.push((name.to_owned(), value));
    add("DB identity", properties.db_id.clone());
    add("DB session identity", properties.db_session_id.clone());
    add("DB host id", properties.db_host_id.clone());
    add(
        "original file number",
        properties.orig_file_number.to_string().into_bytes(),
    );
    let id = properties.unique_id();
    let id = id.map_or_else(|| "N/A".to_owned(), |id| unique_id::public(&id));
    add("unique ID", id.into_bytes());
    let mapping = SeqnoToTimeMapping::decode(&properties.seqno_to_time_mapping);
    let mapping = mapping.map_or_else(
        |_| "N/A".to_owned(),
        |mapping| {
            let pairs = mapping.pairs().iter();
            pairs.map(|(seqno, time)| format!("{seqno}->{time},")).collect()
        },
    );
    add("Sequence number to time mapping", mapping.into_bytes());
}

/// The properties as `sst_dump --show_properties` prints them, with the ones of collectors. `stored` are the
/// entries of the properties block.
pub fn show(
    properties: &TableProperties,
    stored: &[(Vec<u8>, Vec<u8>)],
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(b"Table Properties:\n------------------------------\n  ")?;
    out.write_all(&text(properties, ": ", "\n  "))?;
    out.write_all(b"Raw user collected properties\n------------------------------\n")?;
    for (name, value) in stored.iter().filter(|(name, _)| is_collected(name)) {
        out.write_all(b"  # ")?;
        out.write_all(name)?;
        writeln!(out, ": 0x{}", Form::Hex.show(value))?;
    }
    Ok(())
}

/// True for the properties that RocksDB keeps by name, because a collector writes them.
fn is_collected(name: &[u8]) -> bool {
    const COLLECTED: [&str; 7] = [
        "rocksdb.block.based.table.",
        "rocksdb.deleted.keys",
        "rocksdb.embedded.blob.stats",
        "rocksdb.external_sst_file.",
        "rocksdb.merge.operands",
        "rocksdb.timestamp_max",
        "rocksdb.timestamp_min",
    ];
    let begins = |start: &&str| name.starts_with(start.as_bytes());
    !name.starts_with(b"rocksdb.") || COLLECTED.iter().any(begins)
}
