//! The tables of a family, as the beginning of a workload.

use std::path::Path;
use std::sync::Arc;

use advise::WorkloadBuilder;
use base::entry_type::EntryType;
use base::{Progress, Result, filename};
use esker::{Options, SstFileReader};
use manifest::{FamilyState, FileMetadata};

use crate::output::Failure;

/// An open table with its level.
struct Table {
    level: usize,
    file: Arc<FileMetadata>,
    reader: SstFileReader,
}

/// The tables of a family, all open.
pub struct Start {
    tables: Vec<Table>,
}

impl Start {
    /// Opens the tables of `family`.
    pub fn new(dir: &Path, options: &Options, family: &FamilyState) -> Result<Start> {
        let own = options.column_families.get(&family.name);
        let own = own.unwrap_or(&options.column_family);
        let paths = match own.cf_paths.is_empty() {
            true => &options.db_paths,
            false => &own.cf_paths,
        };
        let mut readable = Options {
            column_family: own.clone(),
            ..Options::default()
        };
        readable.column_family.comparator = family.comparator.clone();
        let mut tables = Vec::new();
        for (level, file) in family.version.all_files() {
            let place = paths.get(file.path_id as usize);
            let place = place.map_or_else(|| dir.to_path_buf(), |place| place.path.clone());
            let path = filename::table(&place, file.number);
            tables.push(Table {
                level,
                file: Arc::clone(file),
                reader: SstFileReader::open(&readable, &path)?,
            });
        }
        Ok(Start { tables })
    }

    /// The entries of all tables.
    pub fn entries(&self) -> u64 {
        let entries = self
            .tables
            .iter()
            .map(|table| table.reader.table_properties().num_entries);
        entries.sum()
    }

    /// Bytes of a table for each byte of the keys and values in it; 1 without tables.
    pub fn table_bytes_per_raw_byte(&self) -> f64 {
        let (mut bytes, mut raw) = (0, 0);
        for table in &self.tables {
            let properties = table.reader.table_properties();
            // The keys of a table have eight bytes more than those of the user: the sequence number and the
            // kind.
            let keys = properties.raw_key_size.saturating_sub(8 * properties.num_entries);
            bytes += table.file.size;
            raw += keys + properties.raw_value_size;
        }
        if raw == 0 { 1.0 } else { bytes as f64 / raw as f64 }
    }

    /// Reads the keys of all tables into `builder`.
    pub fn read(&self, builder: &mut WorkloadBuilder, progress: &Progress) -> Result<(), Failure> {
        for table in &self.tables {
            progress.check()?;
            let file = &table.file;
            builder.table(
                table.level,
                file.size,
                file.epoch_number.unwrap_or(file.largest_seqno),
            );
            // The rows of an ingested table have the sequence number of the ingestion, which the table itself
            // does not contain.
            let ingested = (file.smallest_seqno == file.largest_seqno).then_some(file.largest_seqno);
            let mut entries = table.reader.entries();
            entries.seek_to_first();
            while entries.valid() {
                let deletes = matches!(entries.entry_type(), EntryType::Delete | EntryType::SingleDelete);
                let value = (!deletes).then(|| entries.value().len());
                let seqno = entries.seqno().max(ingested.unwrap_or(0));
                builder.row(entries.user_key(), seqno, value);
                entries.next();
            }
            entries.status()?;
        }
        Ok(())
    }
}
