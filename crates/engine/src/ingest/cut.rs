//! Border tables of a replaced range: a table with rows on both sides of a bound is rewritten without the
//! rows of the range, and the same version edit that adds the ingested files exchanges it for the result.
//!
//! No job of the family runs from the choice of the tables until the edit is installed. Flushes go on: the
//! range is latched, so their tables have no rows of the range.

use std::sync::Arc;

use base::Result;
use base::sync::MutexGuard;
use base::user_code::catch_or_fail;
use compact::picker::JobId;
use compact::{
    BlobHook, CompactionCursor, CompactionRules, CompactionTombstones, LevelTargets, OutputRange,
    OutputSplitter, write_outputs,
};
use manifest::{FileMetadata, Version, VersionEdit};
use sst::{BlockReadOptions, TableReaderCaller};

use super::prepare::PreparedFamily;
use super::replace::Replaced;
use crate::jobs::blob_inputs::BlobInputs;
use crate::jobs::blob_outputs::Blobs;
use crate::jobs::memtable_tables::OneTable;
use crate::jobs::output::{Destination, TableOutputs};
use crate::log::log_line;
use crate::options::RangeOpt;
use crate::read::merging_cursor::{MergingCursor, Source};
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::DbState;

/// The tables of replaced ranges, of all families of an ingestion, with the border tables rewritten. Until it
/// is dropped no job of these families begins.
pub(super) struct Borders<'a> {
    db: &'a DbInner,
    pub families: Vec<FamilyBorders>,
    /// True once the MANIFEST may name the tables that border tables were rewritten to.
    pub recorded: bool,
}

/// The border tables of one family.
pub(super) struct FamilyBorders {
    family: Arc<Family>,
    job: JobId,
    pub cuts: Vec<Cut>,
}

/// A border table, and its rows outside of the range.
pub(super) struct Cut {
    pub file: Arc<FileMetadata>,
    pub pieces: Vec<Arc<FileMetadata>>,
}

impl Drop for Borders<'_> {
    fn drop(&mut self) {
        let mut state = self.db.state.lock();
        for own in &self.families {
            if let Some(of) = state.families.get_mut(&own.family.id) {
                of.running.finish(own.job);
            }
        }
        drop(state);
        self.db.changed.notify_all();
        self.db.work.notify_all();
        if self.recorded {
            return;
        }
        for own in &self.families {
            let pieces = own.cuts.iter().flat_map(|cut| &cut.pieces);
            pieces.for_each(|piece| self.db.obsolete.add(own.family.paths.table(piece)));
        }
    }
}

impl Borders<'_> {
    /// The border tables of a family; `None` if no range of the family is replaced.
    pub fn of(&self, family: u32) -> Option<&FamilyBorders> {
        self.families.iter().find(|own| own.family.id == family)
    }
}

impl FamilyBorders {
    /// The change of `version` by the replacement: the tables that are deleted, and the rewritten border
    /// tables. A table that overlaps the range and was not rewritten has no row in the range: it had none
    /// when the border tables were rewritten, or it was flushed later, while the range was latched.
    pub fn change(&self, range: &RangeOpt, version: &Version) -> VersionEdit {
        let mut edit = VersionEdit::default();
        for (level, file, replaced) in range.touched(version) {
            let cut = self.cuts.iter().find(|cut| cut.file.number == file.number);
            match cut {
                _ if replaced == Replaced::Whole => {}
                Some(cut) => {
                    let pieces = cut.pieces.iter();
                    edit.new_files
                        .extend(pieces.map(|piece| (level as u32, piece.clone())));
                }
                None => continue,
            }
            edit.deleted_files.insert((level as u32, file.number));
        }
        edit
    }
}

impl DbInner {
    /// Prevents jobs of the families whose ranges are replaced, and rewrites their border tables. The caller
    /// has latched the ranges, and no memtable has rows of them.
    pub(super) fn cut_borders(&self, families: &[PreparedFamily]) -> Result<Borders<'_>> {
        let mut borders = Borders {
            db: self,
            families: Vec::new(),
            recorded: false,
        };
        for own in families {
            let Some(range) = &own.replace else { continue };
            let mut state = self.state.lock();
            let version = self.keep_jobs_away(&mut state, &own.family, range, &mut borders)?;
            // A close waits for the rewrite of border tables as for a compaction, because it writes tables.
            state.running_compactions += 1;
            drop(state);
            let cut = catch_or_fail(|| match borders.families.last_mut() {
                Some(last) => self.cut_family(range, &version, last),
                None => Ok(()),
            });
            self.state.lock().running_compactions -= 1;
            self.changed.notify_all();
            cut?;
        }
        Ok(borders)
    }

    /// Waits for the jobs of the family, and prevents others from then on. Returns the version.
    fn keep_jobs_away(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        family: &Arc<Family>,
        range: &RangeOpt,
        borders: &mut Borders<'_>,
    ) -> Result<Arc<Version>> {
        loop {
            state.check_writable()?;
            let own = state.family_mut(family.id)?;
            if own.running.is_empty() {
                let version = own.version.clone();
                let touched = range.touched(&version);
                let files = touched.into_iter().map(|(_, file, _)| file).collect();
                borders.families.push(FamilyBorders {
                    family: family.clone(),
                    job: own.running.exclude(files),
                    cuts: Vec::new(),
                });
                return Ok(version);
            }
            self.wait_in_line(state, family.id);
        }
    }

    fn cut_family(&self, range: &RangeOpt, version: &Version, borders: &mut FamilyBorders) -> Result<()> {
        let job = self.new_job();
        for (level, file, replaced) in range.touched(version) {
            if replaced == Replaced::Whole || !range.has_rows(&borders.family, &file)? {
                continue;
            }
            let pieces = self.cut(range, version, &borders.family, (level, &file), job)?;
            let kept: Vec<u64> = pieces.iter().map(|piece| piece.number).collect();
            log_line!(
                self.log,
                Info,
                "[{}] [JOB {job}] Cut table #{} of level {level} at the bounds of the replaced range: kept as {kept:?}",
                borders.family.name,
                file.number
            );
            borders.cuts.push(Cut { file, pieces });
        }
        Ok(())
    }

    /// Writes the rows of a table that are outside of the range: to one table on each side, or in L0, where
    /// tables may overlap, to one table, which takes the place of the old one in the order of L0.
    fn cut(
        &self,
        range: &RangeOpt,
        version: &Version,
        family: &Arc<Family>,
        (level, file): (usize, &Arc<FileMetadata>),
        job: u64,
    ) -> Result<Vec<Arc<FileMetadata>>> {
        let options = family.current();
        let base_level = LevelTargets::new(version, &options.leveled()).base_level;
        let bottommost = level > 0 && level + 1 == version.num_levels();
        let destination = Destination {
            level: Some(level),
            flushed: false,
            bottommost,
            compression: options.compression_for(level, base_level, bottommost),
            path_id: file.path_id,
        };
        let mut outputs = TableOutputs::new(self, family, destination, file.oldest_ancestor_time, job);
        let (before, behind) = (range.start.as_deref(), range.limit.as_deref());
        let sides = [
            before.map(|end| OutputRange {
                start: None,
                end: Some(end),
            }),
            behind.map(|start| OutputRange {
                start: Some(start),
                end: None,
            }),
        ];
        let written = catch_or_fail(|| {
            let sides = sides.into_iter().flatten();
            if level == 0 {
                let mut one = OneTable::new(&mut outputs);
                for side in sides {
                    self.write_side(version, family, file, side, &mut one)?;
                }
                one.finish()?;
            } else {
                for side in sides {
                    self.write_side(version, family, file, side, &mut outputs)?;
                }
            }
            outputs.sync_dir()
        });
        if let Err(error) = written {
            outputs.discard(&error);
            return Err(error);
        }
        let pieces = outputs.files.drain(..).map(|piece| {
            let (smallest_seqno, largest_seqno) = match level {
                // The order of L0 must stay.
                0 => (file.smallest_seqno, file.largest_seqno),
                _ => (piece.smallest_seqno, piece.largest_seqno),
            };
            Arc::new(FileMetadata {
                smallest_seqno,
                largest_seqno,
                epoch_number: file.epoch_number,
                file_creation_time: file.file_creation_time,
                ..piece
            })
        });
        Ok(pieces.collect())
    }

    fn write_side(
        &self,
        version: &Version,
        family: &Arc<Family>,
        file: &Arc<FileMetadata>,
        side: OutputRange<'_>,
        sink: &mut impl compact::OutputSink<MergingCursor>,
    ) -> Result<()> {
        let user = family.cmp.user();
        let table = family.tables.table(file)?;
        let tombstones = family.tables.tombstones_within_bounds(file, &table);
        let read = BlockReadOptions {
            verify_checksums: self.options.verify_checksums_in_compaction,
            fill_cache: false,
            caller: TableReaderCaller::Compaction,
            readahead_size: self.current.load().compaction_readahead_size,
            ..BlockReadOptions::default()
        };
        let hook = (!version.blob_files().is_empty()).then(|| {
            Box::new(Blobs {
                inputs: Some(BlobInputs::new(self, family)),
                outputs: None,
                sizes: family.current().blob_sizes(),
                cutoff: 0,
                garbage: Arc::default(),
                entered: None,
            }) as Box<dyn BlobHook>
        });
        let rules = CompactionRules {
            snapshots: self.snapshots.seqnos(),
            tombstones: CompactionTombstones::new(user.clone(), &[tombstones]),
            blobs: hook,
            row_limit: family.values.row_limit,
            end: side.end.map(<[u8]>::to_vec),
            cancelled: vec![self.jobs.cancelled.clone()],
            ..CompactionRules::new(user.clone())
        };
        let source = Source::Table(table.cursor(read));
        let mut cursor = CompactionCursor::new(MergingCursor::over(family.cmp.clone(), vec![source]), rules);
        match side.start {
            Some(start) => cursor.seek(start),
            None => cursor.seek_to_first(),
        }
        write_outputs(&mut cursor, side, OutputSplitter::never(user.clone()), sink)
    }
}
