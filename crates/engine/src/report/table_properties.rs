//! The properties of many tables: of each one, or summed for `rocksdb.aggregated-table-properties`, over all
//! levels or one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;
use std::path::PathBuf;

use base::Result;
use manifest::Version;
use sst::TableProperties;

use crate::state::column_family::{ColumnFamily, Family};
use crate::state::handle::Db;

impl Db {
    /// Returns the properties of each table of `family`, by its path: RocksDB's `GetPropertiesOfAllTables`.
    /// Opens tables that are not open.
    ///
    /// # Errors
    /// The errors of opening a table.
    pub fn properties_of_all_tables(
        &self,
        family: &ColumnFamily,
    ) -> Result<BTreeMap<PathBuf, TableProperties>> {
        self.properties_of_tables(family, [(None, None)])
    }

    /// Returns the properties of the tables whose key range overlaps one of the ranges from `begin` to `end`,
    /// both inclusive: RocksDB's `GetPropertiesOfTablesInRange`.
    ///
    /// # Errors
    /// The errors of [`properties_of_all_tables`](Db::properties_of_all_tables).
    pub fn properties_of_tables_in_range(
        &self,
        family: &ColumnFamily,
        ranges: &[(&[u8], &[u8])],
    ) -> Result<BTreeMap<PathBuf, TableProperties>> {
        let ranges = ranges.iter().map(|&(begin, end)| (Some(begin), Some(end)));
        self.properties_of_tables(family, ranges)
    }

    fn properties_of_tables<'a>(
        &self,
        ColumnFamily(family): &ColumnFamily,
        ranges: impl IntoIterator<Item = (Option<&'a [u8]>, Option<&'a [u8]>)>,
    ) -> Result<BTreeMap<PathBuf, TableProperties>> {
        self.inner().check_open()?;
        self.inner().check_owns(family)?;
        let version = family.super_version.load().version.clone();
        let user = family.cmp.user();
        let mut found = BTreeMap::new();
        for (begin, end) in ranges {
            let (begin, end) = (
                begin.map(|key| user.stamped(key)),
                end.map(|key| user.stamped(key)),
            );
            for level in 0..version.num_levels() {
                for file in version.overlapping(level, begin.as_deref(), end.as_deref()) {
                    let path = family.paths.table(&file);
                    if let Entry::Vacant(entry) = found.entry(path) {
                        entry.insert(family.tables.table(&file)?.properties().clone());
                    }
                }
            }
        }
        Ok(found)
    }
}

/// The sums over the tables of `level`, or of all levels, in RocksDB's text form. Opens tables that are not
/// open.
pub(crate) fn aggregated(family: &Family, version: &Version, level: Option<usize>) -> Result<String> {
    Ok(text(&sum(family, version, level)?))
}

fn sum(family: &Family, version: &Version, level: Option<usize>) -> Result<TableProperties> {
    let mut sum = TableProperties::default();
    for (of, file) in version.all_files() {
        if level.is_some_and(|level| level != of) {
            continue;
        }
        family.tables.with_table(file, |table| {
            let one = table.properties();
            sum.num_data_blocks += one.num_data_blocks;
            sum.num_entries += one.num_entries;
            sum.num_deletions += one.num_deletions;
            sum.num_merge_operands += one.num_merge_operands;
            sum.num_range_deletions += one.num_range_deletions;
            sum.raw_key_size += one.raw_key_size;
            sum.raw_value_size += one.raw_value_size;
            sum.data_size += one.data_size;
            sum.index_size += one.index_size;
            sum.filter_size += one.filter_size;
            Ok(())
        })?;
    }
    Ok(sum)
}

/// The ratio of the bytes of keys and values to the stored bytes of data blocks, over the tables of `level`;
/// -1 if there are none, as in RocksDB.
pub(crate) fn compression_ratio(family: &Family, version: &Version, level: usize) -> Result<f64> {
    let sum = sum(family, version, Some(level))?;
    Ok(match sum.data_size {
        0 => -1.0,
        stored => (sum.raw_key_size + sum.raw_value_size) as f64 / stored as f64,
    })
}

fn text(sum: &TableProperties) -> String {
    let each = |bytes: u64| bytes as f64 / sum.num_entries.max(1) as f64;
    let mut text = String::new();
    for (name, number) in [
        ("# data blocks", sum.num_data_blocks),
        ("# entries", sum.num_entries),
        ("# deletions", sum.num_deletions),
        ("# merge operands", sum.num_merge_operands),
        ("# range deletions", sum.num_range_deletions),
        ("raw key size", sum.raw_key_size),
    ] {
        // Writing to a string does not fail.
        let _ = write!(text, "{name}={number}; ");
    }
    let _ = write!(
        text,
        "raw average key size={:.6}; raw value size={}; raw average value size={:.6}; data block size={}; \
         index block size={}; filter block size={}; (estimated) table size={}",
        each(sum.raw_key_size),
        sum.raw_value_size,
        each(sum.raw_value_size),
        sum.data_size,
        sum.index_size,
        sum.filter_size,
        sum.data_size + sum.index_size + sum.filter_size,
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_under_rocksdbs_names() {
        let sum = TableProperties {
            num_data_blocks: 2,
            num_entries: 4,
            raw_key_size: 20,
            raw_value_size: 10,
            data_size: 7,
            index_size: 5,
            ..TableProperties::default()
        };
        let text = text(&sum);
        assert!(
            text.starts_with("# data blocks=2; # entries=4; # deletions=0; "),
            "{text}"
        );
        assert!(
            text.contains("raw key size=20; raw average key size=5.000000; raw value size=10; raw average value size=2.500000; "),
            "{text}"
        );
        assert!(text.ends_with("; (estimated) table size=12"), "{text}");
    }
}
