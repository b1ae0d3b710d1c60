//! Creates a column family from exported tables.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::user_code::catch_or_fail;
use base::{Error, ErrorKind, Result, Temperature, filename};
use manifest::VersionEdit;

use super::IngestExternalFileOptions;
use super::commit::metadata;
use super::export::{ExportImportFilesMetaData, LiveFileMetaData};
use super::inspect::{ExternalFile, inspect_exported};
use super::levels::FilePlacement;
use super::prepare::{PreparedFamily, PreparedFile};
use crate::options::ColumnFamilyOptions;
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::db_inner::DbInner;
use crate::state::handle::Db;

/// The options of an import of a column family.
///
/// See the example of [`ExportImportFilesMetaData`](crate::ExportImportFilesMetaData).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportColumnFamilyOptions {
    /// Moves the files: links them if the file system supports that, and removes their original names after
    /// the import. If false, the files are copied. Default: false.
    pub move_files: bool,
}

impl Db {
    /// Creates the column family `name` from the files of one or several [exports](Db::export_column_family),
    /// which have no keys in common. Files keep their levels and sequence numbers; the database's last
    /// sequence number rises to the highest of them if that is higher.
    ///
    /// After an error the family does not exist, and no file was changed. A crash may leave the family empty.
    /// Rows that were written before are durable when the family has its files: costs a sync of the WAL.
    ///
    /// # Errors
    /// `InvalidArgument` for another comparator than that of `options`, for no files at all, for levels that
    /// do not exist, for exports that overlap, and for a name that is taken. `Corruption` for files that do
    /// not match the metadata.
    pub fn create_column_family_with_import(
        &self,
        name: &str,
        options: &ColumnFamilyOptions,
        metadatas: &[&ExportImportFilesMetaData],
        import_options: &ImportColumnFamilyOptions,
    ) -> Result<ColumnFamily> {
        self.inner().check_open()?;
        for metadata in metadatas {
            if metadata.db_comparator_name != options.comparator.name() {
                return Err(Error::invalid_argument(format!(
                    "Comparator name mismatch: the files are ordered by {}, the column family by {}",
                    metadata.db_comparator_name,
                    options.comparator.name()
                )));
            }
        }
        let family = self.create_column_family(name, options)?;
        let imported = self.inner().import(&family.0, import_options, metadatas);
        if let Err(error) = imported {
            // The caller gets the first error; later errors are dropped.
            let _ = self.drop_column_family(&family);
            return Err(error);
        }
        Ok(family)
    }
}

impl DbInner {
    fn import(
        &self,
        family: &Arc<Family>,
        options: &ImportColumnFamilyOptions,
        metadatas: &[&ExportImportFilesMetaData],
    ) -> Result<()> {
        let mut prepared = PreparedFamily {
            family: family.clone(),
            options: IngestExternalFileOptions {
                move_files: options.move_files,
                ..IngestExternalFileOptions::default()
            },
            replace: None,
            temperature: Temperature::UNKNOWN,
            files: Vec::new(),
        };
        let mut recorded = false;
        // A panic ends only this import: files and family are removed, as after every error.
        let imported = catch_or_fail(|| {
            self.stage_exports(&mut prepared, metadatas)?;
            // The family needs no WAL before its first. If the end of one were lost while the family's tables
            // survive, recovery would find tables ahead of WALs.
            self.sync_wal(self.wal_tail.records.load(Ordering::Acquire))?;
            self.install_exports(&prepared, metadatas, &mut recorded)
        });
        match imported {
            Ok(()) => {
                self.remove_originals(std::slice::from_ref(&prepared));
                Ok(())
            }
            Err(error) => {
                if !recorded {
                    // The caller gets the first error; later errors are dropped.
                    let _ = self.remove_prepared(vec![prepared]);
                }
                Err(error)
            }
        }
    }

    /// Inspects all files, and then moves or copies them into the database's directory.
    fn stage_exports(
        &self,
        prepared: &mut PreparedFamily,
        metadatas: &[&ExportImportFilesMetaData],
    ) -> Result<()> {
        let family = prepared.family.clone();
        let mut found: Vec<(PathBuf, ExternalFile)> = Vec::new();
        let mut ranges: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for metadata in metadatas {
            if metadata.files.is_empty() {
                return Err(Error::invalid_argument("The list of files is empty"));
            }
            let first = found.len();
            for file in &metadata.files {
                if file.level >= family.options.num_levels as usize {
                    return Err(Error::invalid_argument(format!(
                        "{} comes from level {}, and the column family has {}",
                        file.relative_filename, file.level, family.options.num_levels
                    )));
                }
                let path = file.directory.join(&file.relative_filename);
                if prepared.options.move_files && self.is_own_table(&path) {
                    return Err(
                        Error::invalid_argument("move_files would take a table out of the database")
                            .in_file(&path),
                    );
                }
                let external = inspect_exported(self, &family, file, &path)?;
                found.push((path, external));
            }
            ranges.extend(range(&family, &found[first..]));
        }
        if ranges.is_empty() {
            return Err(Error::invalid_argument("The list of files is empty"));
        }
        let user = family.cmp.user();
        ranges.sort_by(|a, b| user.compare_without_timestamp(&a.0, &b.0));
        if ranges
            .windows(2)
            .any(|pair| user.compare_without_timestamp(&pair[0].1, &pair[1].0).is_ge())
        {
            return Err(Error::invalid_argument("CFs have overlapping ranges"));
        }
        for (from, external) in found {
            let path = filename::table(&family.dir, external.number);
            let size = external.size;
            prepared.files.push(PreparedFile {
                external,
                from: from.clone(),
                path: path.clone(),
                copied: false,
                checksum: None,
            });
            let copied = self.stage(&from, &path, &prepared.options)?;
            if let Some(file) = prepared.files.last_mut() {
                file.copied = copied;
                file.checksum = self.checksum_of(&path)?;
            }
            if self.options.fs.size(&path)? != size {
                return Err(Error::corruption("the file has changed its size").in_file(&from));
            }
        }
        self.options.fs.sync_dir(&family.dir)
    }

    fn install_exports(
        &self,
        prepared: &PreparedFamily,
        metadatas: &[&ExportImportFilesMetaData],
        recorded: &mut bool,
    ) -> Result<()> {
        let family = &prepared.family;
        let files: Vec<&LiveFileMetaData> = metadatas.iter().flat_map(|metadata| &metadata.files).collect();
        let now = self.options.clock.unix_seconds();
        let epochs = epoch_numbers(metadatas);
        let mut edit = VersionEdit {
            column_family: family.id,
            ..VersionEdit::default()
        };
        let mut places = Vec::new();
        for (at, (file, exported)) in prepared.files.iter().zip(&files).enumerate() {
            let place = FilePlacement {
                level: exported.level,
                seqno: 0,
            };
            let epoch = epochs.as_ref().map(|epochs| epochs[at]);
            edit.new_files.push((
                exported.level as u32,
                Arc::new(metadata(family, file, place, epoch, now)),
            ));
            places.push(place);
        }
        let mut writer = self.write.queue.lock();
        let mut state = self.state.lock();
        state.check_writable()?;
        family.check_writable()?;
        let highest = edit.new_files.iter().map(|(_, file)| file.largest_seqno).max();
        let last = writer.last_seqno.max(highest.unwrap_or(0));
        self.claim_manifest(&mut state)?;
        let ready = catch_or_fail(|| {
            let own = state.family_mut(family.id)?;
            let empty = own.mem.table.is_empty() && own.immutable.is_empty() && own.version.num_files() == 0;
            if !empty {
                return Err(Error::new(
                    ErrorKind::Busy,
                    "the column family was written to before its files were in",
                ));
            }
            let mut builder = manifest::VersionBuilder::new(&own.version);
            builder
                .apply(&edit)
                .and_then(|()| builder.build())
                .map(drop)
                .map_err(|error| Error::invalid_argument(error.message().to_owned()))
        });
        if let Err(error) = ready {
            self.disclaim_manifest(&mut state);
            return Err(error);
        }
        for (_, file) in edit.new_files.iter().filter(|(level, _)| *level == 0) {
            family.tables.mark_level_0(file);
        }
        *recorded = true;
        self.apply_claimed(&mut state, vec![edit], Some(last), |_| ())?;
        writer.last_seqno = last;
        let (prepared, places) = (std::slice::from_ref(prepared), [places]);
        let shapes = self.record_installed(&mut state, prepared, &places);
        drop(state);
        drop(writer);
        self.notify_installed(prepared, &places, shapes);
        Ok(())
    }
}

/// The user-key range of the files of one export.
fn range(family: &Family, files: &[(PathBuf, ExternalFile)]) -> Option<(Vec<u8>, Vec<u8>)> {
    let user = family.cmp.user();
    let by_key = |a: &&[u8], b: &&[u8]| user.compare_without_timestamp(a, b);
    let start = files.iter().map(|(_, file)| file.start()).min_by(by_key)?;
    let limit = files.iter().map(|(_, file)| file.limit()).max_by(by_key)?;
    Some((start.to_vec(), limit.to_vec()))
}

/// Assigns new epoch numbers to L0 files if sequence numbers do not determine their order: the numbers of
/// different families are unrelated. `None` if sequence numbers determine it.
fn epoch_numbers(metadatas: &[&ExportImportFilesMetaData]) -> Option<Vec<u64>> {
    let files: Vec<&LiveFileMetaData> = metadatas.iter().flat_map(|metadata| &metadata.files).collect();
    if metadatas.len() == 1 && files.iter().all(|file| file.epoch_number == 0) {
        return None;
    }
    // The lowest level has the oldest data; its files do not overlap.
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|&at| {
        let file = files[at];
        let below = std::cmp::Reverse(file.level);
        (below, file.epoch_number, file.largest_seqno, file.smallest_seqno)
    });
    let mut numbers = vec![0; files.len()];
    for (number, at) in (1..).zip(order) {
        numbers[at] = number;
    }
    Some(numbers)
}
