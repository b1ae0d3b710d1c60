//! The commands about levels and files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use base::InternalComparator;
use base::filename::{self, FileKind};
use esker::option_table::OptionTable;
use esker::{
    BlobGarbageCollectionPolicy, BottommostLevelCompaction, ColumnFamily, ColumnFamilyOptions,
    CompactFilesOptions, CompactRangeOptions, CompressionType, LiveFile, RangeOpt, Result,
    SizeApproximationOptions, Temperature, UserComparator,
};
use sst::{BlockReadOptions, Table, TableReadOptions};
use testkit::datadriven::TestCase;
use testkit::keys::{Tombstone, escape, print_entry};
use vfs::FileSystem;

use super::session::Session;
use super::text::{
    LONG, bytes, flag, list, misuse, optional, optional_bytes, optional_timestamp, required, switch,
};

/// The temperature that `last_level_temperature=TEXT` names in an OPTIONS file.
pub(super) fn temperature(text: &str) -> Result<Temperature> {
    let mut options = ColumnFamilyOptions::default();
    options.set("last_level_temperature", text)?;
    Ok(options.last_level_temperature)
}

/// The text of a temperature in an OPTIONS file.
fn temperature_text(temperature: Temperature) -> String {
    let options = ColumnFamilyOptions {
        last_level_temperature: temperature,
        ..ColumnFamilyOptions::default()
    };
    let row = ColumnFamilyOptions::row("last_level_temperature").expect("an option of families");
    (row.get)(&options)
}

/// The policy that `blobs=collect` or `blobs=keep` names.
fn blob_policy(case: &mut TestCase) -> Result<BlobGarbageCollectionPolicy> {
    match optional::<String>(case, "blobs")?.as_deref() {
        None => Ok(BlobGarbageCollectionPolicy::UseDefault),
        Some("collect") => Ok(BlobGarbageCollectionPolicy::Force),
        Some("keep") => Ok(BlobGarbageCollectionPolicy::Disable),
        Some(other) => Err(misuse(format!("unknown blobs={other}"))),
    }
}

/// The compression that `compression=TEXT` names in an OPTIONS file.
fn compression(text: &str) -> Result<CompressionType> {
    let mut options = ColumnFamilyOptions::default();
    options.set("compression", text)?;
    Ok(options.compression)
}

impl Session {
    /// Compacts a range.
    pub(super) fn compact(&self, case: &mut TestCase) -> Result<()> {
        let family = self.family(case)?;
        let bottommost = match optional::<String>(case, "bottommost")?.as_deref() {
            None => BottommostLevelCompaction::IfHaveCompactionFilter,
            Some("skip") => BottommostLevelCompaction::Skip,
            Some("force") => BottommostLevelCompaction::Force,
            Some("force_optimized") => BottommostLevelCompaction::ForceOptimized,
            Some(other) => return Err(misuse(format!("unknown bottommost={other}"))),
        };
        let options = CompactRangeOptions {
            change_level: flag(case, "change_level"),
            target_level: optional(case, "target")?,
            bottommost_level_compaction: bottommost,
            max_subcompactions: optional(case, "subcompactions")?.unwrap_or(0),
            exclusive_manual_compaction: flag(case, "exclusive_manual_compaction"),
            allow_write_stall: flag(case, "allow_write_stall"),
            target_path_id: optional(case, "target_path_id")?,
            full_history_ts_low: optional_timestamp(case, "full_history_ts_low")?,
            blob_garbage_collection_policy: blob_policy(case)?,
            blob_garbage_collection_age_cutoff: optional(case, "blob_cutoff")?,
            ..CompactRangeOptions::default()
        };
        let (begin, end) = (optional_bytes(case, "begin")?, optional_bytes(case, "end")?);
        self.db()?
            .compact_range_cf_opt(&family, begin.as_deref(), end.as_deref(), &options)?;
        self.settle(case)
    }

    /// Deletes tables in ranges of keys, two a line with `-` for none, in one step.
    pub(super) fn delete_files_in_ranges(&self, case: &mut TestCase) -> Result<()> {
        let (family, include_end) = (self.family(case)?, flag(case, "include_end"));
        let bound = |word: &str| (word != "-").then(|| bytes(word)).transpose();
        let ranges = case.input.lines().map(|line| {
            let (start, limit) = line
                .split_once(' ')
                .ok_or_else(|| misuse("a range is two keys"))?;
            Ok(RangeOpt {
                start: bound(start)?,
                limit: bound(limit)?,
            })
        });
        let ranges = ranges.collect::<Result<Vec<_>>>()?;
        self.db()?.delete_files_in_ranges(&family, &ranges, include_end)
    }

    /// Compacts files of a level, or of the numbers that the script has named.
    pub(super) fn compact_files(&self, case: &mut TestCase) -> Result<()> {
        let family = self.family(case)?;
        let files = self.chosen(case, &family)?;
        let mut options = CompactFilesOptions {
            output_file_size_limit: optional(case, "output_file_size_limit")?,
            output_path_id: optional(case, "output_path_id")?,
            compression: optional::<String>(case, "compression")?
                .map(|text| compression(&text))
                .transpose()?,
            output_temperature_override: optional::<String>(case, "temperature")?
                .map(|text| temperature(&text))
                .transpose()?,
            ..CompactFilesOptions::default()
        };
        switch(case, "allow_trivial_move", &mut options.allow_trivial_move)?;
        let output = required(case, "output")?;
        self.db()?.compact_files(&family, &files, output, &options)?;
        self.settle(case)
    }

    /// The numbers of the files that the case chooses: those of `level=`, with `smallest=` only that with this
    /// smallest key. Without both, all.
    pub(super) fn chosen(&self, case: &mut TestCase, family: &ColumnFamily) -> Result<Vec<u64>> {
        let (level, smallest) = (
            optional::<usize>(case, "level")?,
            optional_bytes(case, "smallest")?,
        );
        let mut files = self.db()?.live_files();
        files.retain(|file| {
            file.column_family == family.name()
                && level.is_none_or(|level| file.level == level)
                && smallest.as_ref().is_none_or(|key| file.smallest_key == *key)
        });
        let missing = list::<u64>(case, "missing")?;
        Ok(files.iter().map(|file| file.number).chain(missing).collect())
    }

    /// Prints levels and files.
    pub(super) fn lsm(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (family, stored) = (self.family(case)?, flag(case, "stored"));
        let entries = stored || flag(case, "entries");
        let [seqnos, compressions, temperatures, counts, rows, places] =
            ["seqnos", "compression", "temperature", "counts", "rows", "places"].map(|name| flag(case, name));
        let properties = match compressions {
            true => self.db()?.properties_of_all_tables(&family)?,
            false => BTreeMap::new(),
        };
        let mut files = self.db()?.live_files();
        files.retain(|file| file.column_family == family.name());
        if counts {
            let mut levels: BTreeMap<usize, usize> = BTreeMap::new();
            files
                .iter()
                .for_each(|file| *levels.entry(file.level).or_default() += 1);
            let line = |(level, count)| format!("L{level}: {count}\n");
            out.extend(levels.into_iter().map(line));
            return Ok(());
        }
        if places {
            let dir = |file: &LiveFile| Some(file.path.parent()?.display().to_string());
            let places = files.iter().filter_map(|file| Some((file.level, dir(file)?)));
            let places: BTreeSet<(usize, String)> = places.collect();
            out.extend(places.iter().map(|(level, dir)| format!("L{level}: {dir}\n")));
            return Ok(());
        }
        let mut level = None;
        for file in &files {
            if level != Some(file.level) {
                level = Some(file.level);
                out.push_str(&format!("L{}\n", file.level));
            }
            let (smallest, largest) = (escape(&file.smallest_key), escape(&file.largest_key));
            out.push_str(&format!("  {smallest}..{largest}"));
            if seqnos {
                out.push_str(&format!("@{}..{}", file.smallest_seqno, file.largest_seqno));
            }
            if let Some(properties) = properties.get(&file.path) {
                out.push_str(&format!(" {}", escape(&properties.compression)));
            }
            if temperatures {
                out.push_str(&format!(" {}", temperature_text(file.temperature)));
            }
            if rows {
                out.push_str(&format!(" {} entries", file.num_entries));
            }
            if entries {
                out.push(':');
                self.entries(&family, file, stored, out)?;
            }
            out.push('\n');
        }
        Ok(())
    }

    /// Prints the entries of a file: those that readers see, or with `stored` those in the file, which may lack
    /// timestamps.
    fn entries(&self, family: &ColumnFamily, file: &LiveFile, stored: bool, out: &mut String) -> Result<()> {
        let cmp = match stored {
            true => UserComparator::Bytewise,
            false => family.comparator().clone(),
        };
        let options = TableReadOptions {
            largest_seqno: Some(file.largest_seqno),
            ..TableReadOptions::new(InternalComparator::new(cmp))
        };
        let table = Table::open(self.fs.open_random(&file.path, &Default::default())?, options)?;
        if stored {
            let properties = table.properties();
            let with = properties.user_defined_timestamps_persisted;
            out.push_str(&format!(
                " {}, timestamps stored: {with}:",
                properties.comparator_name()
            ));
        }
        let mut cursor = table.cursor(BlockReadOptions::default());
        cursor.seek_to_first();
        while cursor.valid() {
            let long = format!("<{}>", cursor.value().len());
            let value = if cursor.value().len() > LONG {
                long.as_bytes()
            } else {
                cursor.value()
            };
            out.push_str(&format!(" {}", print_entry(cursor.key(), value)));
            cursor.next();
        }
        cursor.status()?;
        for tombstone in table.range_tombstones().tombstones() {
            out.push_str(&format!(
                " {}",
                Tombstone::new(tombstone.start, tombstone.end, tombstone.seqno)
            ));
        }
        Ok(())
    }

    /// Prints the approximate sizes of ranges.
    pub(super) fn approximate_sizes(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let family = self.family(case)?;
        let mut ranges = Vec::new();
        for line in case.input.lines() {
            let (begin, end) = line
                .split_once(' ')
                .ok_or_else(|| misuse("a range is two keys"))?;
            ranges.push((bytes(begin)?, bytes(end)?));
        }
        let borrowed: Vec<(&[u8], &[u8])> =
            ranges.iter().map(|(begin, end)| (&begin[..], &end[..])).collect();
        let mut options = SizeApproximationOptions::default();
        switch(case, "include_memtables", &mut options.include_memtables)?;
        switch(case, "include_files", &mut options.include_files)?;
        switch(case, "include_blob_files", &mut options.include_blob_files)?;
        let exact = flag(case, "bytes");
        let sizes = self.db()?.approximate_sizes_with(&family, &borrowed, &options)?;
        for (line, size) in case.input.lines().zip(sizes) {
            // Sizes are rounded to kilobytes: the properties of tables vary from run to run.
            match exact {
                true => out.push_str(&format!("{line}: {size}\n")),
                false => out.push_str(&format!("{line}: {} kB\n", size / 1000)),
            }
        }
        Ok(())
    }

    /// Prints the approximate contents of memtables in ranges.
    pub(super) fn memtable_stats(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let family = self.family(case)?;
        for line in case.input.lines() {
            let (begin, end) = line
                .split_once(' ')
                .ok_or_else(|| misuse("a range is two keys"))?;
            let stats = self
                .db()?
                .approximate_memtable_stats(&family, &bytes(begin)?, &bytes(end)?)?;
            out.push_str(&format!(
                "{line}: {} entries, {} bytes\n",
                stats.count, stats.size
            ));
        }
        Ok(())
    }

    /// Prints the blob files, and checks that they agree with the disk, the tables and the properties.
    pub(super) fn blob_files(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (family, db) = (self.family(case)?, self.db()?);
        let live: Vec<u64> = db.live_files().iter().map(|file| file.number).collect();
        let files = db.blob_files(&family);
        let (mut bytes, mut lines): (u64, Vec<(usize, String)>) = (0, Vec::new());
        for file in &files {
            bytes += file.size;
            let mut line = format!(
                "{} blobs of {} bytes, garbage: {} of {} bytes",
                file.total_blob_count,
                file.total_blob_bytes,
                file.garbage_blob_count,
                file.garbage_blob_bytes
            );
            if !file.linked_ssts.is_empty() {
                line.push_str(&format!(", tables: {}", file.linked_ssts.len()));
            }
            if !file.checksum_method.is_empty() {
                line.push_str(&format!(", {}", file.checksum_method));
            }
            if self.fs.size(&file.path)? != file.size {
                line.push_str(", its size on disk is another");
            }
            if !file.linked_ssts.iter().all(|table| live.contains(table)) {
                line.push_str(", it is linked to tables that are not live");
            }
            match lines.last_mut() {
                Some((times, last)) if *last == line => *times += 1,
                _ => lines.push((1, line)),
            }
        }
        for (times, line) in lines {
            out.push_str(&format!("{times} of {line}\n"));
        }
        let property = |name: &str| db.property_int(&family, &format!("rocksdb.{name}"));
        let expected = (Some(files.len() as u64), Some(bytes));
        if (property("num-blob-files"), property("live-blob-file-size")) != expected {
            out.push_str("the properties have other numbers\n");
        }
        Ok(())
    }

    /// Prints the number of files of each kind.
    pub(super) fn files(&self, out: &mut String) -> Result<()> {
        self.must_be_closed()?;
        let path = Path::new(&self.path);
        if !self.fs.exists(path)? {
            out.push_str("no directory");
            return Ok(());
        }
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        // Info logs are not counted: there are as many as opens.
        let mut names = self.fs.list(path)?;
        names.retain(|name| filename::parse(name) != Some(FileKind::InfoLog));
        for name in names {
            let kind = match name.split_once(['.', '-']) {
                Some((number, extension)) if number.bytes().all(|byte| byte.is_ascii_digit()) => extension,
                Some((kind, _)) => kind,
                None => &name,
            };
            *kinds.entry(kind.to_owned()).or_default() += 1;
        }
        out.push_str(
            &kinds
                .iter()
                .map(|(kind, count)| format!("{kind}: {count}"))
                .collect::<Vec<_>>()
                .join(", "),
        );
        Ok(())
    }
}
