//! `get_property`: a property, by name.

use std::collections::BTreeMap;
use std::io::Write;

use sst::TableProperties;

use crate::ldb::line::Line;
use crate::ldb::open;
use crate::ldb::open::Session;
use crate::ldb::outcome::{Failed, Outcome};
use crate::output::Out;

pub fn run(line: &Line, out: &mut Out) -> Outcome {
    let [name] = line.params() else {
        return Err(Failed::said("property name must be specified"));
    };
    let name = String::from_utf8_lossy(name).into_owned();
    let session = open::read_only(line)?;
    if name == "rocksdb.aggregated-table-properties" {
        for (part, value) in aggregated(&session)? {
            writeln!(out, "{name}.{part}: {value}")?;
        }
        return Ok(String::new());
    }
    match session.db.property(&session.family, &name) {
        Some(value) => writeln!(out, "{name}: {value}")?,
        None => return Err(Failed::said(format!("failed to get property: {name}"))),
    }
    Ok(String::new())
}

/// The sums of the properties of all tables of the family.
fn aggregated(session: &Session) -> Result<BTreeMap<&'static str, u64>, Failed> {
    let tables = session.db.properties_of_all_tables(&session.family)?;
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, _) in parts(&TableProperties::default()) {
        sums.insert(name, 0);
    }
    for table in tables.values() {
        for (name, value) in parts(table) {
            *sums.entry(name).or_default() += value;
        }
    }
    Ok(sums)
}

/// The properties of tables that can be summed up, under RocksDB's names.
fn parts(table: &TableProperties) -> [(&'static str, u64); 19] {
    let known = |value: Option<u64>| value.unwrap_or(0);
    [
        ("data_size", table.data_size),
        ("uncompressed_data_size", 0),
        ("index_size", table.index_size),
        ("index_partitions", known(table.index_partitions)),
        ("top_level_index_size", known(table.top_level_index_size)),
        ("filter_size", table.filter_size),
        ("raw_key_size", table.raw_key_size),
        ("raw_value_size", table.raw_value_size),
        ("num_data_blocks", table.num_data_blocks),
        (
            "num_data_blocks_compression_rejected",
            known(table.num_data_blocks_compression_rejected),
        ),
        (
            "num_data_blocks_compression_bypassed",
            known(table.num_data_blocks_compression_bypassed),
        ),
        ("num_uniform_blocks", known(table.num_uniform_blocks)),
        ("num_entries", table.num_entries),
        ("num_filter_entries", table.num_filter_entries),
        ("num_deletions", table.num_deletions),
        ("num_merge_operands", table.num_merge_operands),
        ("num_range_deletions", table.num_range_deletions),
        (
            "slow_compression_estimated_data_size",
            table.slow_compression_estimated_data_size,
        ),
        (
            "fast_compression_estimated_data_size",
            table.fast_compression_estimated_data_size,
        ),
    ]
}
