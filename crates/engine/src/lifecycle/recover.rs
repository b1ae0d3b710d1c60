//! Recovery: rows in WALs that are in no table yet are replayed, and a session begins.
//!
//! 1. Replay the WALs that some family may need, in order, into memtables ([`replay`]). A full memtable
//!    becomes a table of L0 at once.
//! 2. Flush the remaining memtables to tables, except with `avoid_flush_during_recovery` if no table was
//!    written yet and every WAL is intact with its beginning. A row that is too large for a table is skipped,
//!    and its WAL is kept in `lost` ([`set_aside`](super::set_aside)).
//! 3. Begin a MANIFEST with the recovered state, which needs no old WAL, and make CURRENT name it.
//! 4. Begin a WAL; delete every file that is not part of the database.
//!
//! Until step 3 is durable, no existing file is changed. A crash before that repeats the recovery from the
//! same files; the tables that the first one wrote belong to no version, and step 4 of the second deletes
//! them.

pub(super) mod replay;

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::env::thread_cpu;
use base::filename::{self, FileKind};
use base::statistics::Ticker;
use base::sync::MutexGuard;
use base::user_code::catch_or_fail;
use base::{Error, ErrorKind, Result, SeqNo};
use manifest::{ManifestState, VersionBuilder, VersionEdit};
use wal::PredecessorWal;

use crate::batch::operation::set_sequence;
use crate::events::{Event, RowTooLargeOutcome};
use crate::files::lost::Lost;
use crate::lifecycle::manifest_tail::{ManifestTail, read_manifest};
use crate::lifecycle::moment::{Moment, write_identity};
use crate::lifecycle::recover::replay::Replayed;
use crate::lifecycle::wal_dir;
use crate::log::log_line;
use crate::state::db_inner::DbInner;
use crate::state::db_inner::RECOVERY_JOB;
use crate::state::db_state::PreparedSection;
use crate::state::db_state::{DbState, LiveWal};
use crate::state::log_and_apply::manifest_state;
use crate::state::section_rows::SectionRows;
use crate::state::sections::Sections;
use crate::write::predecessor::Predecessor;
use crate::write::two_phase::encode_section;

impl DbInner {
    /// Recovers for writing: see the module's documentation. `manifest` is the current MANIFEST, already
    /// read.
    pub(crate) fn recover(&self, manifest: &ManifestTail) -> Result<()> {
        self.versions.mark_used(manifest.number());
        if let Some(torn) = manifest.torn() {
            self.notify(&Event::ManifestTorn {
                path: torn.path.display().to_string(),
                offset: torn.offset,
                bytes: torn.bytes,
            });
        }
        let there = self.wals_to_replay()?;
        let wals = self.wals_to_recover(manifest, &there)?;
        let job = RECOVERY_JOB;
        self.notify(&Event::RecoveryBegun {
            job,
            wals: wals.clone(),
        });
        let mut replayed = self.replay(self.open_wals(&wals)?, None)?;
        replayed.damaged |= manifest.gave_up();
        self.set_aside(&replayed.large.rows)?;
        let wal = self.versions.new_file_number();
        self.sync_for_cursors(&wals)?;
        let mut state = self.state.lock();
        let mut predecessor = (Predecessor::NONE, None);
        // Damage is read only once: later recoveries must not depend on finding it unchanged. With two-phase
        // commit no older WAL is kept: outstanding sections are written to the new WAL.
        let keeps_wals = self.options.avoid_flush_during_recovery && !self.options.allow_2pc;
        if !keeps_wals || replayed.flushed || replayed.damaged {
            let flushed = catch_or_fail(|| self.flush_recovered(&mut state));
            flushed.map_err(|error| match (error.kind(), wals.last()) {
                (ErrorKind::Panicked, Some(&last)) => error.in_file(&filename::wal(&self.wal_dir, last)),
                _ => error,
            })?;
            state.families.values_mut().for_each(|family| {
                family.log_number = wal;
                family.mem.first_wal = wal;
            });
            state.wals.clear();
        } else {
            self.sync_wals(&wals)?;
            predecessor = (replayed.end, replayed.observed);
            self.keep_wals(&mut state, &wals);
        }
        let begun = self.options.clock.now();
        state.wals.push_back(LiveWal {
            number: wal,
            size: 0,
            begun,
        });
        state.first_own_wal = wal;
        self.check_identity(&mut state)?;
        state.families.values_mut().for_each(|family| {
            family.install_super_version();
            family.update_stall();
        });
        drop(state);
        self.set_orphans_aside(manifest, &replayed)?;
        if let Some(archive) = self.obsolete.archive() {
            let left_out = there.iter().filter(|number| !replayed.wals.contains(number));
            archive.leave_unread(&there, left_out.copied().collect())?;
        }
        let first = self.write.queue.lock().last_seqno + 1;
        let carried = self.carry_sections(&replayed.sections, wal, predecessor, first)?;
        self.begin_session_manifest()?;
        let mut writer = self.write.queue.lock();
        let log = match carried {
            Some(log) => log,
            None => self.create_wal(wal, None, predecessor, first)?,
        };
        self.wal_tail.begin(wal, &log);
        writer.begin(log);
        drop(writer);
        self.notify(&Event::WalCreated { wal });
        self.write.attention.store(true, Ordering::Relaxed);
        self.track_files()?;
        self.delete_orphans()?;
        self.notify(&Event::Recovered { job });
        Ok(())
    }

    /// The WALs among `there` whose rows are recovered: none, if the MANIFEST was read to an older state.
    fn wals_to_recover(&self, manifest: &ManifestTail, there: &[u64]) -> Result<Vec<u64>> {
        if manifest.gave_up() {
            let path = filename::manifest(&self.dir, manifest.number());
            log_line!(
                self.log,
                Warn,
                "best_efforts_recovery: files are missing, the database opens in an older state of {}; WALs are not replayed",
                path.display()
            );
            return Ok(Vec::new());
        }
        self.check_no_sections()?;
        // If both checks fail, the caller gets the error that names the directory of the WALs.
        self.check_unread_wals()?;
        self.check_any_wal(manifest.number())?;
        self.check_recorded_wals(manifest.wals())?;
        Ok(there.to_vec())
    }

    /// Counts `wals`, whose rows stay in memtables, as live.
    fn keep_wals(&self, state: &mut DbState, wals: &[u64]) {
        let begun = self.options.clock.now();
        let sizes = wals.iter().map(|&number| {
            let path = filename::wal(&self.wal_dir, number);
            let size = self.options.fs.size(&path).unwrap_or(0);
            LiveWal { number, size, begun }
        });
        state.wals = sizes.collect();
        if self.options.track_and_verify_wals_in_manifest {
            state.recorded.wals = state.wals.iter().map(|wal| (wal.number, wal.size)).collect();
        }
        let older_bytes = state.wals.iter().map(|wal| wal.size).sum();
        self.wal_tail.older_bytes.store(older_bytes, Ordering::Relaxed);
    }

    /// Begins WAL `number` with the outstanding prepared sections, if there are any, and makes it durable:
    /// the next MANIFEST needs no older WAL. After a crash in between, the sections are in both WALs.
    fn carry_sections(
        &self,
        sections: &Sections,
        number: u64,
        predecessor: (Predecessor, Option<PredecessorWal>),
        sequence: SeqNo,
    ) -> Result<Option<wal::Writer>> {
        if sections.is_empty() {
            return Ok(None);
        }
        let mut log = self.create_wal(number, None, predecessor, sequence)?;
        let mut state = self.state.lock();
        state.marked = true;
        for (name, batch) in sections.iter() {
            let mut record = encode_section(batch, name);
            set_sequence(&mut record, sequence);
            log.add_record_and_flush(&record)?;
            let section = PreparedSection {
                wal: number,
                rows: SectionRows::of(batch),
                recovered: Some(Arc::new(batch.clone())),
            };
            state.sections.insert(name.to_vec(), section);
        }
        drop(state);
        let fs = &*self.options.fs;
        fs.sync_file(&filename::wal(&self.wal_dir, number))?;
        fs.sync_dir(&self.wal_dir)?;
        Ok(Some(log))
    }

    /// Recovers into memory only. `moment` was read before the MANIFEST: `TryAgain` if the MANIFEST has been
    /// written to since.
    pub(crate) fn recover_read_only(&self, moment: &Moment, manifest: &ManifestTail) -> Result<()> {
        let gone = |error: Error| match error.kind() {
            ErrorKind::NotFound => error.with_kind(ErrorKind::TryAgain),
            _ => error,
        };
        // A writer of an earlier release deletes a WAL without a MANIFEST edit if the families that may need
        // it have no rows in it.
        let wals = match manifest.gave_up() {
            true => Vec::new(),
            false => {
                self.check_unread_wals()?;
                self.open_wals(&self.wals_to_replay()?).map_err(gone)?
            }
        };
        {
            let state = self.state.lock();
            let mut families = state.families.values();
            families
                .try_for_each(|own| self.hold_files(&own.family, &own.version))
                .map_err(gone)?;
        }
        // Every file that the MANIFEST needs is open now, and stays readable even if it is deleted.
        if *moment != Moment::of(&self.options, &self.dir)? {
            return Err(Error::new(ErrorKind::TryAgain, "the MANIFEST has changed").in_file(&self.dir));
        }
        let replayed = self.replay(wals, Some(moment))?;
        self.report_large_rows(&replayed.large.rows, |_| RowTooLargeOutcome::PassedOver);
        // A recycled WAL is renamed before it is overwritten, so a WAL that still has its name was read
        // intact.
        for &number in &replayed.recycled {
            if !self.options.fs.exists(&filename::wal(&self.wal_dir, number))? {
                return Err(Error::new(ErrorKind::TryAgain, "a WAL was written over").in_file(&self.dir));
            }
        }
        // A family that was created or dropped during the recovery was so before some of the rows, so the
        // rows may be incomplete.
        if *moment != Moment::of(&self.options, &self.dir)? {
            let (_, now) = read_manifest(&self.options, &self.dir)?;
            if !self.families_are_those_of(&now) {
                return Err(Error::new(ErrorKind::TryAgain, "the families have changed").in_file(&self.dir));
            }
        }
        self.state
            .lock()
            .families
            .values()
            .for_each(|family| family.install_super_version());
        Ok(())
    }

    /// True if no family was created or dropped up to the state `now` of the MANIFEST, not even one that was
    /// created and dropped since.
    fn families_are_those_of(&self, now: &ManifestState) -> bool {
        let state = self.state.lock();
        now.max_column_family == state.max_family && now.families.keys().eq(state.families.keys())
    }

    /// The numbers of the WALs that may hold rows of no table, in ascending order. Marks every number in use.
    fn wals_to_replay(&self) -> Result<Vec<u64>> {
        let fs = &*self.options.fs;
        let state = self.state.lock();
        let oldest = state.oldest_recorded_wal();
        let mut wals = BTreeSet::new();
        let others = self.options.other_table_directories(&self.dir);
        for dir in others.iter().chain([&self.dir, &self.wal_dir]) {
            for name in fs.list(dir)? {
                match filename::parse(&name) {
                    Some(FileKind::Wal(number)) => {
                        self.versions.mark_used(number);
                        if number >= oldest && dir == &self.wal_dir {
                            wals.insert(number);
                        }
                    }
                    Some(
                        FileKind::Table(number)
                        | FileKind::Blob(number)
                        | FileKind::Manifest(number)
                        | FileKind::Options(number),
                    ) => self.versions.mark_used(number),
                    _ => {}
                }
            }
        }
        Ok(wals.into_iter().collect())
    }

    /// Syncs the WALs of a former process that stay in use: rows that this process syncs later must not
    /// survive a crash without the rows before them.
    fn sync_wals(&self, wals: &[u64]) -> Result<()> {
        let fs = &*self.options.fs;
        wals.iter()
            .try_for_each(|&number| fs.sync_file(&filename::wal(&self.wal_dir, number)))?;
        fs.sync_dir(&self.wal_dir)
    }

    /// Syncs the recovered WALs before tables with their rows are written, if a change feed has a cursor: the
    /// feed must not lose rows that a table has.
    pub(crate) fn sync_for_cursors(&self, wals: &[u64]) -> Result<()> {
        match self.has_cursors() {
            true => self.sync_wals(wals),
            false => Ok(()),
        }
    }

    /// Flushes the memtables that recovery has filled to tables. True if there were any.
    pub(crate) fn flush_full(&self, state: &mut MutexGuard<'_, DbState>) -> Result<bool> {
        let full: Vec<u32> = {
            let full = state.families.values().filter(|family| family.mem_is_full());
            full.map(|family| family.family.id).collect()
        };
        for &id in &full {
            self.flush_one_recovered(state, id)?;
        }
        Ok(!full.is_empty())
    }

    pub(crate) fn flush_recovered(&self, state: &mut MutexGuard<'_, DbState>) -> Result<()> {
        let ids: Vec<u32> = state.families.keys().copied().collect();
        ids.into_iter()
            .try_for_each(|id| self.flush_one_recovered(state, id))
    }

    /// Flushes a family's memtable to a table that is in its version but not in a MANIFEST yet.
    fn flush_one_recovered(&self, state: &mut MutexGuard<'_, DbState>, id: u32) -> Result<()> {
        let own = state.family_mut(id)?;
        if own.mem.table.is_empty() {
            return Ok(());
        }
        let (family, table) = (own.family.clone(), own.mem.table.clone());
        let epoch_number = own.version.next_epoch_number();
        let (start, before) = (self.options.clock.now(), thread_cpu());
        let flushed = self.write_memtables(&family, &[table], &[], epoch_number, RECOVERY_JOB)?;
        if let Some(low) = flushed.raised_low(&family, &own.full_history_ts_low) {
            own.full_history_ts_low = low;
        }
        if !flushed.tables.is_empty() {
            let bytes: u64 = flushed.tables.iter().map(|table| table.file.size).sum();
            let took = self.options.clock.now().saturating_sub(start);
            own.stats
                .recovered(bytes, took, thread_cpu().saturating_sub(before));
            let blob_bytes = flushed.blob_bytes();
            own.stats.flushed_blobs(blob_bytes);
            self.stats.add(Ticker::FlushWriteBytes, bytes + blob_bytes);
            let edit = VersionEdit {
                column_family: id,
                new_files: flushed.new_files(),
                blob_file_additions: flushed.blob_files,
                ..VersionEdit::default()
            };
            family
                .tables
                .charge_records(edit.new_files.iter().map(|(_, file)| file))?;
            let mut builder = VersionBuilder::new(&own.version);
            builder.apply(&edit)?;
            own.version = Arc::new(builder.build()?);
        }
        own.mem.table = self.new_memtable(&family);
        Ok(())
    }

    /// Checks that IDENTITY and MANIFEST have the same database id, if they have to record it.
    fn check_identity(&self, state: &mut DbState) -> Result<()> {
        state.recorded.db_id = self
            .options
            .write_dbid_to_manifest
            .then(|| self.identity.db_id.clone());
        if !self.options.write_identity_file {
            return Ok(());
        }
        let stored = crate::lifecycle::moment::read_identity(&*self.options.fs, &self.dir)?;
        if stored.as_deref() != Some(&self.identity.db_id) {
            write_identity(&*self.options.fs, &self.dir, &self.identity.db_id)?;
        }
        Ok(())
    }

    /// Begins the MANIFEST of this session with the recovered state.
    fn begin_session_manifest(&self) -> Result<()> {
        let state = self.state.lock();
        let last_sequence = self.published.load(std::sync::atomic::Ordering::Acquire);
        let mut snapshot = manifest_state(&state, last_sequence);
        drop(state);
        self.versions.begin_manifest(|next_file_number| {
            snapshot.next_file_number = next_file_number;
            snapshot
        })?;
        Ok(())
    }

    /// Moves files to `lost/` that the next open would delete although they may hold missing data: after a
    /// torn MANIFEST, every table and blob file that the lost edits may have named; after a missing WAL, the
    /// WALs that were not read; all of them, with the MANIFESTs, if newer states were given up. Called before
    /// the MANIFEST of this session is in force, which is intact and names none of them.
    fn set_orphans_aside(&self, manifest: &ManifestTail, replayed: &Replayed) -> Result<()> {
        let (torn, gave_up) = (manifest.torn(), manifest.gave_up());
        if torn.is_none() && replayed.missing.is_none() && !gave_up {
            return Ok(());
        }
        let fs = &*self.options.fs;
        let may_hold_rows = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            match name.and_then(filename::parse) {
                // A WAL that was replayed is not moved, because its rows are in tables.
                Some(FileKind::Wal(number)) => !replayed.wals.contains(&number),
                Some(FileKind::Table(_) | FileKind::Blob(_)) => torn.is_some() || gave_up,
                _ => false,
            }
        };
        let orphans = self.orphans()?;
        let (aside, others): (Vec<PathBuf>, Vec<PathBuf>) = orphans.into_iter().partition(may_hold_rows);
        if aside.is_empty() {
            return Ok(());
        }
        let lost = Lost::create(fs, &self.dir)?;
        if let Some(torn) = torn {
            lost.keep(&torn.path)?;
        }
        if gave_up {
            // Older MANIFESTs stay until this session's MANIFEST is in force: an open after a crash must find
            // one.
            let is_manifest = |path: &&PathBuf| {
                let name = path.file_name().and_then(|name| name.to_str());
                matches!(name.and_then(filename::parse), Some(FileKind::Manifest(_)))
            };
            for path in others.iter().filter(is_manifest) {
                lost.keep(path)?;
            }
        }
        let mut kept = Vec::with_capacity(aside.len());
        for path in &aside {
            kept.push(lost.keep(path)?.display().to_string());
        }
        lost.sync()?;
        aside.iter().try_for_each(|path| fs.remove(path))?;
        self.notify(&Event::FilesSetAside {
            job: RECOVERY_JOB,
            files: kept,
        });
        Ok(())
    }

    /// Queues the files of the engine that are not part of the database for deletion.
    fn delete_orphans(&self) -> Result<()> {
        let orphans = self.orphans()?;
        orphans.into_iter().for_each(|path| self.obsolete.add(path));
        Ok(())
    }

    /// The files of the engine that are not part of the database. All MANIFESTs count except the one that
    /// this session writes.
    fn orphans(&self) -> Result<Vec<PathBuf>> {
        let fs = &*self.options.fs;
        let state = self.state.lock();
        let wals: VecDeque<LiveWal> = state.wals.clone();
        let (mut tables, mut blobs) = (BTreeSet::new(), BTreeSet::new());
        for family in state.families.values() {
            tables.extend(family.version.all_files().map(|(_, file)| file.number));
            blobs.extend(family.version.blob_files().keys().copied());
        }
        drop(state);
        let manifest = self.versions.manifest_number();
        let mut orphans: Vec<PathBuf> = Vec::new();
        let others = self.options.other_table_directories(&self.dir);
        for dir in others.iter().chain([&self.dir, &self.wal_dir]) {
            let has_tables = dir == &self.dir || others.contains(dir);
            for name in fs.list(dir)? {
                let needed = match filename::parse(&name) {
                    // A WAL outside the WAL directory was not read, so it is kept.
                    Some(FileKind::Wal(_)) if dir != &self.wal_dir => true,
                    Some(FileKind::Wal(number)) => wals.iter().any(|wal| wal.number == number),
                    Some(FileKind::Table(number)) if has_tables => tables.contains(&number),
                    Some(FileKind::Blob(number)) if has_tables => blobs.contains(&number),
                    // Other files in a directory of WALs or tables do not belong to the database and are
                    // kept.
                    _ if dir != &self.dir => dir != &self.wal_dir || name != wal_dir::TEMPORARY,
                    Some(FileKind::Manifest(number)) => number == manifest,
                    Some(FileKind::Temp) => false,
                    _ => true,
                };
                if !needed {
                    orphans.push(dir.join(name));
                }
            }
        }
        orphans.sort();
        orphans.dedup();
        Ok(orphans)
    }
}
