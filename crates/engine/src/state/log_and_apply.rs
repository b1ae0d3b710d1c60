//! Changes of the MANIFEST and of versions, one at a time.
//!
//! A change of files is one [`VersionEdit`]: the next version is built and checked, the edit is appended and
//! synced, then the version is installed. Building and writing happen without the database mutex;
//! `DbState::manifest_busy` prevents a second change meanwhile, so the version that a change starts from is
//! still the current one when it is installed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::filename::FileKind;
use base::sync::MutexGuard;
use base::user_code::{catch, catch_or_fail};
use base::{Result, SeqNo, filename};
use manifest::{ManifestState, Version, VersionBuilder, VersionEdit};

use crate::events::Event;
use crate::options::TablePaths;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{BEGIN_MANIFEST, DbState, FamilyState, WRITE_MANIFEST};

impl DbInner {
    /// Records a change of files of the family that it names, and installs the resulting version. Releases
    /// the database mutex while it writes. A failed write latches the database, because it is unknown whether
    /// the MANIFEST holds the edit.
    ///
    /// `install` makes the changes that must happen at the same moment: rows that enter a table leave the
    /// memtables, or readers would see them twice.
    pub(crate) fn log_and_apply(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        edit: VersionEdit,
        install: impl FnOnce(&mut FamilyState),
    ) -> Result<()> {
        self.claim_manifest(state)
            .inspect_err(|_| self.doubt_files_of(state, &edit))?;
        let mut install = Some(install);
        self.apply_claimed(state, vec![edit], None, |family| {
            if let Some(install) = install.take() {
                install(family);
            }
        })
    }

    /// Records the files that the failed `edit` adds: the next resume deletes those that no version has.
    pub(crate) fn doubt_files_of(&self, state: &mut DbState, edit: &VersionEdit) {
        let family = state.families.get(&edit.column_family);
        let paths = family.map(|own| own.family.paths.clone());
        let paths = paths.unwrap_or_else(|| TablePaths::new(&[], &self.dir));
        let dir = paths.dir(0);
        let tables = edit.new_files.iter();
        let tables = tables.map(|(_, file)| paths.table(file));
        let blobs = edit.blob_file_additions.iter();
        let blobs = blobs.map(|blob| filename::blob(dir, blob.number));
        state.files_in_doubt.extend(tables.chain(blobs));
    }

    /// Waits until no thread changes versions, and reserves changes for the caller until
    /// [`apply_claimed`](Self::apply_claimed) or [`disclaim_manifest`](Self::disclaim_manifest).
    pub(crate) fn claim_manifest(&self, state: &mut MutexGuard<'_, DbState>) -> Result<()> {
        self.wait_for_manifest(state)?;
        state.manifest_busy = true;
        Ok(())
    }

    /// Undoes a [`claim_manifest`](Self::claim_manifest).
    pub(crate) fn disclaim_manifest(&self, state: &mut MutexGuard<'_, DbState>) {
        state.manifest_busy = false;
        self.changed.notify_all();
    }

    /// Records changes as [`log_and_apply`](Self::log_and_apply) does, for a caller that has claimed the
    /// MANIFEST, and for several families at once, with one edit each: the MANIFEST gets all edits or none.
    /// `last_seqno` is the last sequence number once they are installed.
    pub(crate) fn apply_claimed(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        mut edits: Vec<VersionEdit>,
        last_seqno: Option<SeqNo>,
        mut install: impl FnMut(&mut FamilyState),
    ) -> Result<()> {
        let before: Result<Vec<(Arc<Version>, Arc<Family>)>> = edits
            .iter()
            .map(|edit| {
                let family = state.family_mut(edit.column_family)?;
                Ok((family.version.clone(), family.family.clone()))
            })
            .collect();
        let before = before.and_then(|before| {
            let families = before.iter().map(|(_, family)| &family.tables);
            edits.iter().zip(families).try_for_each(|(edit, tables)| {
                tables.charge_records(edit.new_files.iter().map(|(_, file)| file))
            })?;
            Ok(before)
        });
        let before = before.inspect_err(|_| {
            edits.iter().for_each(|edit| self.doubt_files_of(state, edit));
            self.disclaim_manifest(state);
        })?;
        let deletion = state.wal_deletion_with(&edits);
        let grouped = edits.len() > 1;
        let count = edits.len() + usize::from(deletion.is_some());
        let following = (0..count as u32).rev();
        for (edit, following) in edits.iter_mut().zip(following) {
            self.stamp(edit);
            edit.last_sequence = edit.last_sequence.max(last_seqno);
            edit.atomic_group_remaining = grouped.then_some(following);
        }
        let build = || -> Result<Vec<Arc<Version>>> {
            let mut versions = Vec::with_capacity(edits.len());
            for (edit, (old, _)) in edits.iter().zip(&before) {
                let mut builder = VersionBuilder::new(old);
                builder.apply(edit)?;
                versions.push(Arc::new(builder.build()?));
            }
            self.append_with(&edits, deletion.as_ref(), grouped)?;
            Ok(versions)
        };
        let built = MutexGuard::unlocked(state, || catch_or_fail(build));
        if built.is_err() {
            edits.iter().for_each(|edit| self.doubt_files_of(state, edit));
        }
        let versions = self.release_manifest(state, WRITE_MANIFEST, built)?;
        deletion
            .iter()
            .for_each(|deletion| state.forget_recorded_wals(deletion));
        let installed = catch(|| self.install_versions(state, &edits, &before, versions, &mut install));
        // After a panic the MANIFEST has a change that readers do not see.
        installed.unwrap_or_else(|error| self.release_manifest(state, WRITE_MANIFEST, Err(error)))?;
        if let Some(last_seqno) = last_seqno {
            // The number is published after the installation: a snapshot of this number must show the
            // installed files.
            self.published.fetch_max(last_seqno, Ordering::AcqRel);
        }
        self.rotate_manifest(state)
    }

    /// Appends `edits` to the MANIFEST, and after them `deletion`, of their group if they are `grouped`.
    fn append_with(
        &self,
        edits: &[VersionEdit],
        deletion: Option<&VersionEdit>,
        grouped: bool,
    ) -> Result<()> {
        let Some(deletion) = deletion else {
            return self.versions.append(edits);
        };
        let mut all = edits.to_vec();
        all.push(VersionEdit {
            atomic_group_remaining: grouped.then_some(0),
            ..deletion.clone()
        });
        self.versions.append(&all)
    }

    /// Makes `versions` visible to readers: the versions that result from `before` by `edits`.
    fn install_versions(
        &self,
        state: &mut DbState,
        edits: &[VersionEdit],
        before: &[(Arc<Version>, Arc<Family>)],
        versions: Vec<Arc<Version>>,
        mut install: impl FnMut(&mut FamilyState),
    ) -> Result<()> {
        for ((edit, (old, family)), version) in edits.iter().zip(before).zip(versions) {
            let family_state = state.family_mut(edit.column_family)?;
            if let Some(log_number) = edit.log_number {
                family_state.log_number = family_state.log_number.max(log_number);
            }
            let kept = edit.min_log_number_to_keep.unwrap_or(0);
            for number in manifest::obsolete_blob_files(old, &version) {
                if let Some(file) = old.blob_files().get(&number) {
                    family.values.blobs.mark_obsolete(file, &self.obsolete);
                }
            }
            for (level, number) in &edit.deleted_files {
                let stays = edit.new_files.iter().any(|(_, file)| file.number == *number);
                let file = old
                    .files(*level as usize)
                    .iter()
                    .find(|file| file.number == *number);
                if let Some(file) = file.filter(|_| !stays) {
                    family.tables.mark_obsolete(file);
                }
            }
            self.obsolete.deletion().track(&family.paths, edit, &version);
            family_state.version = version;
            install(family_state);
            family_state.install_super_version();
            let recorded = &mut state.recorded;
            recorded.min_log_number_to_keep = recorded.min_log_number_to_keep.max(kept);
        }
        Ok(())
    }

    /// Records an edit that changes no files. After the caller has updated `state` accordingly, it must call
    /// [`rotate_manifest`](Self::rotate_manifest), which writes `state`.
    pub(crate) fn log_edit(&self, state: &mut MutexGuard<'_, DbState>, edit: VersionEdit) -> Result<()> {
        self.claim_manifest(state)?;
        self.log_claimed(state, edit)
    }

    /// Records an edit as [`log_edit`](Self::log_edit) does, for a caller that has claimed the MANIFEST.
    pub(crate) fn log_claimed(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        mut edit: VersionEdit,
    ) -> Result<()> {
        edit.max_column_family = Some(state.max_family);
        self.stamp(&mut edit);
        let edits = std::slice::from_ref(&edit);
        let deletion = state.wal_deletion_with(edits);
        let append = || self.append_with(edits, deletion.as_ref(), false);
        let written = MutexGuard::unlocked(state, || catch_or_fail(append));
        self.release_manifest(state, WRITE_MANIFEST, written)?;
        deletion
            .iter()
            .for_each(|deletion| state.forget_recorded_wals(deletion));
        Ok(())
    }

    /// Returns when no thread writes the MANIFEST; the latched error if a write has failed, because the
    /// contents are then unknown.
    fn wait_for_manifest(&self, state: &mut MutexGuard<'_, DbState>) -> Result<()> {
        while state.manifest_busy {
            self.changed.wait(state);
        }
        state.check_job()
    }

    /// Allows the next change, unless this one failed: that latches the database before any other thread gets
    /// the mutex.
    fn release_manifest<T>(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        action: &'static str,
        result: Result<T>,
    ) -> Result<T> {
        state.manifest_busy = false;
        if let Err(error) = &result {
            state.manifest_in_doubt = true;
            self.latch_in(state, action, error);
        }
        self.changed.notify_all();
        if let Err(error) = &result {
            MutexGuard::unlocked(state, || {
                self.notify(&Event::BackgroundError {
                    action,
                    error: error.clone(),
                    stops_writes: true,
                })
            });
        }
        result
    }

    /// Sets the counters that every edit carries.
    fn stamp(&self, edit: &mut VersionEdit) {
        edit.next_file_number = Some(self.versions.next_file_number());
        edit.last_sequence = Some(self.published.load(Ordering::Acquire));
    }

    /// Begins a new MANIFEST if the current one has grown too large.
    pub(crate) fn rotate_manifest(&self, state: &mut MutexGuard<'_, DbState>) -> Result<()> {
        if !self.versions.too_large() {
            return Ok(());
        }
        self.wait_for_manifest(state)?;
        state.manifest_busy = true;
        let last_sequence = self.published.load(Ordering::Acquire);
        let mut snapshot = manifest_state(state, last_sequence);
        let begin = || {
            self.versions.begin_manifest(|next_file_number| {
                snapshot.next_file_number = next_file_number;
                snapshot
            })
        };
        let begun = MutexGuard::unlocked(state, || catch_or_fail(begin));
        if let Some(old) = self.release_manifest(state, BEGIN_MANIFEST, begun)? {
            self.obsolete.add(old);
        }
        Ok(())
    }

    /// Writes `state` to another MANIFEST, because the contents of the current one are unknown: it has the
    /// failed change, a part of it, or none of it. Until CURRENT names the new one, the MANIFEST it names can
    /// be recovered from, because no file was deleted since. Then unfinished MANIFESTs are deleted. While the
    /// database is latched no other thread writes one.
    pub(crate) fn replace_manifest(&self, state: &mut MutexGuard<'_, DbState>) -> Result<()> {
        while state.manifest_busy {
            self.changed.wait(state);
        }
        state.manifest_busy = true;
        let mut snapshot = manifest_state(state, self.published.load(Ordering::Acquire));
        let replace = || {
            self.versions.begin_manifest(|next_file_number| {
                snapshot.next_file_number = next_file_number;
                snapshot
            })?;
            let number = self.versions.manifest_number();
            let mut stale = Vec::new();
            for name in self.options.fs.list(&self.dir)? {
                if let Some(FileKind::Manifest(other)) = filename::parse(&name)
                    && other != number
                {
                    stale.push(self.dir.join(name));
                    stale.push(filename::temp(&self.dir, other));
                }
            }
            Ok(stale)
        };
        let replaced = MutexGuard::unlocked(state, || catch_or_fail(replace));
        self.disclaim_manifest(state);
        replaced?.into_iter().for_each(|path| self.obsolete.add(path));
        state.manifest_in_doubt = false;
        Ok(())
    }

    /// Deletes the files that are named only by failed changes of the MANIFEST, once the contents of the
    /// MANIFEST are known.
    pub(crate) fn delete_files_in_doubt(&self, state: &mut DbState) {
        let mut live = BTreeSet::new();
        for own in state.families.values() {
            live.extend(own.version.all_files().map(|(_, file)| file.number));
            live.extend(own.version.blob_files().keys().copied());
        }
        let in_doubt = std::mem::take(&mut state.files_in_doubt).into_iter();
        let is_stray = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            match name.and_then(filename::parse) {
                Some(FileKind::Table(number) | FileKind::Blob(number)) => !live.contains(&number),
                _ => false,
            }
        };
        in_doubt.filter(is_stray).for_each(|path| self.obsolete.add(path));
    }
}

/// The contents of a MANIFEST for `state`.
pub(crate) fn manifest_state(state: &DbState, last_sequence: SeqNo) -> ManifestState {
    let families: BTreeMap<u32, manifest::FamilyState> = state
        .families
        .iter()
        .map(|(&id, family)| {
            let recorded = manifest::FamilyState {
                id,
                name: family.family.name.clone(),
                comparator: family.family.cmp.user().clone(),
                persist_user_defined_timestamps: family.persist_user_defined_timestamps,
                log_number: family.log_number,
                full_history_ts_low: family.full_history_ts_low.clone(),
                version: Version::clone(&family.version),
            };
            (id, recorded)
        })
        .collect();
    let needed = state.oldest_needed_wal();
    ManifestState {
        families,
        db_id: state.recorded.db_id.clone(),
        next_file_number: 0,
        last_sequence,
        max_column_family: state.max_family,
        min_log_number_to_keep: needed.max(state.recorded.min_log_number_to_keep),
        wals: state
            .recorded
            .wals
            .range(needed..)
            .map(|(&number, &size)| (number, Some(size)))
            .collect(),
        last_compacted_manifest_file_size: None,
        unknown_fields: state.recorded.unknown_fields.clone(),
        incomplete_group_edits: 0,
        warnings: Vec::new(),
    }
}
