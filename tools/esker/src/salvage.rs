//! Copies the readable data of a corrupt database into a new one, and names the keys of the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::filename::{self, FileKind};
use base::internal_key::user_key;
use base::{Error, InternalComparator, Kind, Progress, Result, UserComparator};
use blob::{BlobFile, BlobIndex};
use codec::compression::CompressionType;
use esker::{Db, Options, OptionsFile, RowLimit};
use manifest::{FileMetadata, ManifestState};
use sst::{Table, TableReadOptions, TableWriter, TableWriterOptions};
use vfs::{CreateOptions, FileSystem};

use crate::args::SalvageArgs;
use crate::directory::{self, DbFile};
use crate::notes::Notes;
use crate::output::{Failure, Out};
use crate::text::{Form, count};

/// Copies the readable data of a database, and reports the data that cannot be read.
pub fn salvage(args: &SalvageArgs, out: &mut Out, progress: &Progress) -> Result<(), Failure> {
    salvage_within(args, RowLimit::MAX, out, progress)
}

/// Salvages as [`salvage`] does; rows that are rewritten must respect `row_limit`.
fn salvage_within(
    args: &SalvageArgs,
    row_limit: RowLimit,
    out: &mut Out,
    progress: &Progress,
) -> Result<(), Failure> {
    let (dir, wal_dir) = (&*args.database.db, args.database.wal_dir.as_deref());
    let files = directory::files(dir, wal_dir)?;
    let notes_path = args.to.join(NOTES);
    if !notes_path.exists() {
        directory::check_is_new(&args.to)?;
    }
    directory::fs().create_dir_all(&args.to)?;
    let from = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    let notes = Notes::open(&notes_path, &format!("esker salvage {}", from.display()))?;
    let mut salvage = Salvage {
        to: &args.to,
        notes,
        progress,
        form: Form::new(args.hex),
        row_limit,
        out,
        live: BTreeMap::new(),
        bad_blobs: BTreeMap::new(),
        rows: 0,
        lost: 0,
        first: None,
    };
    let state = directory::current_manifest(dir).and_then(|path| directory::manifest_state(&path));
    let state = match state {
        Ok(state) => Some(state),
        Err(error) => {
            salvage.lost(&error, "the list of the database's files: all files are used")?;
            None
        }
    };
    salvage.clear()?;
    salvage.run(dir, &files, state.as_ref())?;
    salvage.finish()
}

/// The file in the new database that lists the copied files, until the database is complete.
const NOTES: &str = "SALVAGE";

/// The note of a copied file.
fn note_of(path: &Path, size: u64) -> String {
    format!("{} {size}", path.file_name().unwrap_or_default().display())
}

/// The MANIFEST's record of a table.
struct Live {
    file: Arc<FileMetadata>,
    cmp: UserComparator,
}

struct Salvage<'a> {
    to: &'a Path,
    /// Files that were copied whole, by this run or an interrupted one.
    notes: Notes,
    progress: &'a Progress,
    form: Form,
    row_limit: RowLimit,
    out: &'a mut Out,
    /// The live tables by number; empty if there is no MANIFEST.
    live: BTreeMap<u64, Live>,
    /// Blob files that are not entirely readable: not at all if there is no file.
    bad_blobs: BTreeMap<u64, Option<BlobFile>>,
    /// The number of entries rewritten.
    rows: u64,
    /// The number of faults.
    lost: u64,
    first: Option<Error>,
}

/// The result of an inspection of a table.
enum Look {
    /// The table can be copied unchanged.
    Good,
    /// The readable part of the table must be rewritten.
    Rewrite(Arc<Table>),
    /// No part of the table can be read.
    Bad(Error),
}

impl Salvage<'_> {
    /// Removes the leftovers of an interrupted run, except files that were copied whole: the files that were
    /// not are read and reported again.
    fn clear(&self) -> Result<()> {
        let fs = directory::fs();
        let lost = self.to.join("lost");
        if fs.exists(&lost)? {
            for name in fs.list(&lost)? {
                fs.remove(&lost.join(name))?;
            }
            fs.remove_dir(&lost)?;
        }
        for name in fs.list(self.to)? {
            let path = self.to.join(&name);
            let kept = name == NOTES || self.notes.has(&note_of(&path, fs.size(&path)?));
            if !kept {
                fs.remove(&path)?;
            }
        }
        Ok(())
    }

    fn run(&mut self, dir: &Path, files: &[DbFile], state: Option<&ManifestState>) -> Result<(), Failure> {
        let fs = directory::fs();
        let mut blobs = BTreeSet::new();
        let mut first_wal = 0;
        if let Some(state) = state {
            first_wal = state
                .families
                .values()
                .map(|family| family.log_number)
                .min()
                .unwrap_or(0);
            if state.min_log_number_to_keep > 0 {
                // An older WAL may hold a transaction that was prepared there and committed in a later one.
                first_wal = first_wal.min(state.min_log_number_to_keep);
            }
            for family in state.families.values() {
                for (_, file) in family.version.all_files() {
                    let live = Live {
                        file: file.clone(),
                        cmp: family.comparator.clone(),
                    };
                    self.live.insert(file.number, live);
                }
                blobs.extend(family.version.blob_files().keys().copied());
            }
        }
        for file in files {
            if let FileKind::Blob(number) = file.kind
                && (state.is_none() || blobs.remove(&number))
            {
                self.blob(file, number)?;
            }
        }
        for number in blobs {
            let path = filename::blob(dir, number);
            self.lost(
                &Error::corruption("the file is missing").in_file(&path),
                "its values, which are named below",
            )?;
            self.bad_blobs.insert(number, None);
        }
        let mut missing: BTreeSet<u64> = self.live.keys().copied().collect();
        for file in files {
            self.progress.check()?;
            match file.kind {
                FileKind::Table(number) if state.is_none() || missing.remove(&number) => {
                    self.table(file, number)?;
                }
                FileKind::Wal(number) if number >= first_wal => self.copy(&file.path)?,
                _ => {}
            }
        }
        for number in missing {
            let path = filename::table(dir, number);
            self.whole_table(&Error::corruption("the file is missing").in_file(&path), number)?;
        }
        if let Some((path, _)) = OptionsFile::newest(&fs, dir).unwrap_or_default() {
            self.copy(&path)?;
        }
        self.assemble(files)
    }

    /// Builds a database from the copied files. Corruption in WALs shows here.
    fn assemble(&mut self, files: &[DbFile]) -> Result<(), Failure> {
        let fs = directory::fs();
        let options = match OptionsFile::newest(&fs, self.to) {
            Ok(Some((_, file))) => Options {
                wal_dir: String::new(),
                create_if_missing: false,
                error_if_exists: false,
                row_limit: self.row_limit,
                ..file.options().0
            },
            _ => Options {
                row_limit: self.row_limit,
                ..Options::default()
            },
        };
        let report = Db::repair_with_progress(&options, self.to, self.progress)?;
        for lost in &report.lost {
            // The original path of the file.
            let name = lost.path.file_name().unwrap_or_default();
            let from = files.iter().find(|file| file.path.file_name() == Some(name));
            let mut error = Error::new(lost.error.kind(), lost.error.message());
            if let Some(offset) = lost.error.offset() {
                error = error.at(offset);
            }
            let error = error.in_file(from.map_or(&lost.path, |file| &file.path));
            // With this option a row that is too large is named, and the rest of its WAL is used.
            self.lost(
                &error,
                match lost.error.is_corruption() {
                    true => "the rows there; their keys are unknown",
                    false => "that row, which the WAL there still holds",
                },
            )?;
        }
        for warning in &report.warnings {
            writeln!(self.out, "note {warning}")?;
        }
        // The directory `lost` can be removed, because its files are copies of files that still exist.
        let lost = self.to.join("lost");
        for name in fs.list(&lost)? {
            fs.remove(&lost.join(name))?;
        }
        fs.remove_dir(&lost)?;
        writeln!(
            self.out,
            "{} in {}, {} of damaged ones written anew",
            count(report.tables.len() as u64, "table"),
            self.to.display(),
            count(self.rows, "entry")
        )?;
        Ok(())
    }

    /// Reports a fault, and the rows that are lost by it.
    fn lost(&mut self, error: &Error, what: &str) -> Result<(), Failure> {
        self.lost += 1;
        self.first.get_or_insert_with(|| error.clone());
        writeln!(self.out, "BAD  {error}")?;
        writeln!(self.out, "     lost: {what}")?;
        Ok(())
    }

    fn finish(self) -> Result<(), Failure> {
        self.notes.remove()?;
        match self.first {
            None => Ok(()),
            Some(first) => Err(first
                .context(&format!("{}, the first", count(self.lost, "fault")))
                .into()),
        }
    }

    fn whole_table(&mut self, error: &Error, number: u64) -> Result<(), Failure> {
        let what = match self.live.get(&number) {
            None => "all keys of the table, which are unknown".to_owned(),
            Some(live) => {
                let file = &live.file;
                format!(
                    "all of the table, keys from {} to {}{}",
                    self.form.show(file.smallest_user_key()),
                    self.form.show(file.largest_user_key()),
                    if file.largest_is_sentinel() {
                        ", exclusive"
                    } else {
                        ""
                    }
                )
            }
        };
        self.lost(error, &what)
    }

    fn table(&mut self, file: &DbFile, number: u64) -> Result<(), Failure> {
        let copied = note_of(&file.path, directory::fs().size(&file.path)?);
        if self.bad_blobs.is_empty() && self.notes.has(&copied) {
            // Only intact tables are copied.
            return self.copy(&file.path);
        }
        match self.look(file, number) {
            Look::Good => self.copy(&file.path),
            Look::Bad(error) => self.whole_table(&error, number),
            Look::Rewrite(table) => self.rewrite(&table, number),
        }
    }

    fn look(&self, file: &DbFile, number: u64) -> Look {
        let live = self.live.get(&number);
        let open = || -> Result<Arc<Table>> {
            let mut options = TableReadOptions::new(InternalComparator::new(
                live.map_or(UserComparator::Bytewise, |live| live.cmp.clone()),
            ));
            options.file_number = number;
            options.largest_seqno = live.map(|live| live.file.largest_seqno);
            let table = Table::open(directory::open(&file.path)?, options.clone())?;
            match UserComparator::builtin(&table.properties().comparator_name()) {
                Some(order) if live.is_none() => {
                    options.cmp = InternalComparator::new(order);
                    Table::open(directory::open(&file.path)?, options)
                }
                _ => Ok(table),
            }
        };
        let table = match open().and_then(|table| table.index().map(drop).map(|()| table)) {
            Ok(table) => table,
            Err(error) => return Look::Bad(error),
        };
        let external = table.properties().external_sst_file_version.is_some();
        if self.bad_blobs.is_empty() && !external && table.verify(0, &mut |_| {}).is_ok() {
            return Look::Good;
        }
        Look::Rewrite(table)
    }

    /// Writes the entries of all readable blocks to a table of the same number.
    fn rewrite(&mut self, table: &Arc<Table>, number: u64) -> Result<(), Failure> {
        let path = filename::table(self.to, number);
        let mut bad = Vec::new();
        let properties = table.properties();
        let compression = String::from_utf8_lossy(&properties.compression);
        let options = TableWriterOptions {
            compression: CompressionType::from_property_name(&compression).unwrap_or(CompressionType::None),
            cf_id: u32::try_from(properties.column_family_id).unwrap_or(0),
            cf_name: properties.column_family_name.clone(),
            creation_time: properties.creation_time,
            file_creation_time: properties.file_creation_time,
            file_number: number,
            ..TableWriterOptions::new(table.comparator().clone())
        };
        let file = directory::fs().create(&path, &CreateOptions::default())?;
        let mut writer = TableWriter::new(file, options)?;
        let mut written = 0u64;
        let index = table.index()?;
        // The last key read before the unreadable block, if there is one.
        let mut last: Option<Vec<u8>> = None;
        for block in 0..index.len() {
            let handle = index.handle(block);
            let separator = |i: usize| match index.has_user_keys() {
                true => index.separator(i).to_vec(),
                false => user_key(index.separator(i)).to_vec(),
            };
            match sst::dump::data_block(table, handle) {
                Ok(dump) => {
                    written += self.copy_entries(&dump.entries, &mut writer, &mut bad)?;
                    last = dump.entries.last().map(|(key, _)| user_key(key).to_vec());
                }
                Err(error) => {
                    let before = last.take().or_else(|| block.checked_sub(1).map(separator));
                    let from = self.first_lost(number, before, index.has_user_keys());
                    let to = separator(block);
                    let what = format!("keys {from} up to {}, inclusive", self.form.show(&to));
                    bad.push((error.at(handle.offset).in_file(table.path()), what));
                }
            }
        }
        for tombstone in table.range_tombstones().tombstones() {
            writer.add_range_tombstone(&tombstone.start, &tombstone.end, tombstone.seqno)?;
            written += 1;
        }
        if written == 0 {
            writer.abandon();
            directory::fs().remove(&path)?;
        } else {
            writer.finish()?;
        }
        self.rows += written;
        for (error, what) in bad {
            self.lost(&error, &what)?;
        }
        Ok(())
    }

    /// Adds to the table the entries whose values are readable and within the row limit, and the others to
    /// `bad`. Returns the number of entries that were added.
    fn copy_entries(
        &self,
        entries: &[(Vec<u8>, Vec<u8>)],
        writer: &mut TableWriter,
        bad: &mut Vec<(Error, String)>,
    ) -> Result<u64> {
        let mut written = 0;
        for (key, value) in entries {
            let fits = self.row_limit.check(user_key(key), value);
            match fits.and_then(|()| self.value(key, value)) {
                Ok(()) => {
                    writer.add(key, value)?;
                    written += 1;
                }
                Err(error) => bad.push((error, format!("key {}", self.form.show(user_key(key))))),
            }
        }
        Ok(written)
    }

    /// The first of the keys that an unreadable block of table `number` may have, in words. `before` is the
    /// last key before the block. If the index has user keys, all rows of that key are before the block.
    ///
    /// The range of lost keys includes the neighbouring keys, which may have older rows in the next block and
    /// newer ones in the previous block.
    fn first_lost(&self, number: u64, before: Option<Vec<u8>>, has_user_keys: bool) -> String {
        let first = self.live.get(&number).map(|live| live.file.smallest_user_key());
        match (before, first) {
            (Some(key), _) if has_user_keys => format!("after {}", self.form.show(&key)),
            (Some(key), _) => format!("from {} (of which some rows are left)", self.form.show(&key)),
            (None, Some(first)) => format!("from {}", self.form.show(first)),
            (None, None) => "from the beginning of the table".to_owned(),
        }
    }

    /// An error if the entry's value is in a blob file and cannot be read.
    fn value(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let parsed = base::ParsedInternalKey::parse(key)?;
        if parsed.kind != Kind::BlobIndex {
            return Ok(());
        }
        let BlobIndex::Blob { location, .. } = BlobIndex::decode(value)? else {
            return Ok(());
        };
        match self.bad_blobs.get(&location.file_number) {
            None => Ok(()),
            Some(None) => Err(Error::corruption(format!(
                "its value is in {:06}.blob, which cannot be read",
                location.file_number
            ))),
            Some(Some(blob)) => blob.get(&location, parsed.user_key, true).map(drop),
        }
    }

    fn blob(&mut self, file: &DbFile, number: u64) -> Result<(), Failure> {
        let opened = directory::open(&file.path)
            .and_then(BlobFile::open)
            .and_then(|blob| match blob.footer() {
                Some(_) => Ok(blob),
                None => Err(Error::corruption("no footer")
                    .in_file(&file.path)
                    .at(blob.file().len())),
            });
        match opened {
            Err(error) => {
                self.lost(&error, "its values, which are named below")?;
                self.bad_blobs.insert(number, None);
                Ok(())
            }
            Ok(blob) => {
                if let Err(error) = blob.verify() {
                    self.lost(&error, "values of it, named below")?;
                    self.bad_blobs.insert(number, Some(blob));
                }
                self.copy(&file.path)
            }
        }
    }

    fn copy(&mut self, from: &Path) -> Result<(), Failure> {
        let to: PathBuf = self.to.join(from.file_name().unwrap_or_default());
        let reader = directory::open(from)?;
        let note = note_of(&to, reader.len());
        self.progress.expect(reader.len());
        if self.notes.has(&note) && directory::fs().exists(&to)? {
            return Ok(self.progress.advance(reader.len())?);
        }
        let mut writer = directory::fs().create(&to, &CreateOptions::default())?;
        reader.for_each_piece(&mut |bytes| {
            writer.append(bytes)?;
            self.progress.advance(bytes.len() as u64)
        })?;
        writer.sync()?;
        writer.close()?;
        Ok(self.notes.add(&note)?)
    }
}

#[cfg(test)]
mod tests;
