//! The only writer of MANIFEST and CURRENT, and the counter that numbers files.
//!
//! A change of files is one [`VersionEdit`]: the next version is built and checked, the edit is appended and
//! synced, then the version is installed. Building and writing happen without the database mutex;
//! `DbState::manifest_busy` prevents a second change meanwhile, so the version that a change starts from is
//! still the current one when it is installed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::filename::FileKind;
use base::sync::{Mutex, MutexGuard};
use base::user_code::{catch, catch_or_fail};
use base::{Error, Result, SeqNo, filename};
use manifest::{ManifestState, Version, VersionBuilder, VersionEdit, snapshot_edits};
use vfs::{CreateOptions, FileSystem};
use wal::WriterOptions;

use crate::events::Event;
use crate::options::TablePaths;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{BEGIN_MANIFEST, DbState, FamilyState, WRITE_MANIFEST};

/// Numbers files and writes the MANIFEST.
pub(crate) struct VersionSet {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    next_file: FileNumbers,
    /// Locked only by the thread that has set `DbState::manifest_busy`, without the database mutex.
    manifest: Mutex<Option<Manifest>>,
    max_size: u64,
}

/// Allocates file numbers. Clones share one sequence.
#[derive(Clone)]
pub(crate) struct FileNumbers(Arc<AtomicU64>);

impl FileNumbers {
    /// Allocates a number that no file has.
    pub fn new_file_number(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

struct Manifest {
    number: u64,
    log: wal::Writer,
}

impl VersionSet {
    /// The version set of the database in `dir`; files with numbers below `next_file` exist or have existed.
    pub fn new(fs: Arc<dyn FileSystem>, dir: &Path, next_file: u64, max_size: u64) -> VersionSet {
        VersionSet {
            fs,
            dir: dir.to_path_buf(),
            next_file: FileNumbers(Arc::new(AtomicU64::new(next_file))),
            manifest: Mutex::new(None),
            max_size,
        }
    }

    /// Allocates a number that no file has.
    pub fn new_file_number(&self) -> u64 {
        self.next_file.new_file_number()
    }

    /// The source of file numbers, for users that outlive the borrow.
    pub fn file_numbers(&self) -> FileNumbers {
        self.next_file.clone()
    }

    /// Records that a file with that number exists.
    pub fn mark_used(&self, number: u64) {
        self.next_file
            .0
            .fetch_max(number.saturating_add(1), Ordering::Relaxed);
    }

    /// The number of the next file.
    pub fn next_file_number(&self) -> u64 {
        self.next_file.0.load(Ordering::Relaxed)
    }

    /// The number of the current MANIFEST, 0 before there is one.
    pub fn manifest_number(&self) -> u64 {
        self.manifest
            .lock()
            .as_ref()
            .map_or(0, |manifest| manifest.number)
    }

    /// Begins a MANIFEST that holds `state`, makes it durable, and makes CURRENT name it. Until CURRENT is
    /// renamed the old one is in force, so a crash at any point leaves one of the two. Returns the path of
    /// the old one, which is no longer needed.
    pub fn begin_manifest(&self, state: impl FnOnce(u64) -> ManifestState) -> Result<Option<PathBuf>> {
        let number = self.new_file_number();
        let path = filename::manifest(&self.dir, number);
        let log = self
            .write_manifest(&path, &state(self.next_file_number()))
            .inspect_err(|_| {
                // On a full disk this may be retried many times.
                let _ = self.fs.remove(&path);
            })?;
        set_current(&*self.fs, &self.dir, number)?;
        let old = self.manifest.lock().replace(Manifest { number, log });
        Ok(old.map(|mut old| {
            // The new MANIFEST has the whole state, so errors of the old one do not matter.
            let _ = old.log.close();
            filename::manifest(&self.dir, old.number)
        }))
    }

    /// Writes `state` to a file that no other file names yet, and syncs it.
    fn write_manifest(&self, path: &Path, state: &ManifestState) -> Result<wal::Writer> {
        let file = self.fs.create(path, &CreateOptions::default())?;
        let mut log = wal::Writer::new(file, WriterOptions::default())?;
        let mut record = Vec::new();
        for edit in snapshot_edits(state) {
            record.clear();
            edit.encode(&mut record);
            log.add_record(&record)?;
        }
        log.sync()?;
        Ok(log)
    }

    /// Appends edits and syncs them.
    fn append(&self, edits: &[VersionEdit]) -> Result<()> {
        let mut guard = self.manifest.lock();
        let manifest = guard
            .as_mut()
            .ok_or_else(|| Error::not_supported("the database is open for reading only"))?;
        let mut record = Vec::new();
        for edit in edits {
            record.clear();
            edit.encode(&mut record);
            manifest.log.add_record(&record)?;
        }
        manifest.log.sync()
    }

    fn too_large(&self) -> bool {
        self.manifest
            .lock()
            .as_ref()
            .is_some_and(|manifest| manifest.log.len() > self.max_size)
    }

    /// Closes the MANIFEST.
    pub fn close(&self) -> Result<()> {
        self.manifest
            .lock()
            .take()
            .map_or(Ok(()), |mut manifest| manifest.log.close())
    }
}

/// Makes CURRENT name MANIFEST `number`: a temporary file in the same directory is written, synced and
/// renamed to CURRENT, and the directory synced. Before that the directory entries of the MANIFEST and of the
/// files it lists are made durable: a power loss may keep the rename and lose any other change of names.
pub(crate) fn set_current(fs: &dyn FileSystem, dir: &Path, number: u64) -> Result<()> {
    fs.sync_dir(dir)?;
    let name = format!("MANIFEST-{number:06}\n");
    replace_file(
        fs,
        dir,
        &filename::temp(dir, number),
        &filename::current(dir),
        name.as_bytes(),
    )
}

/// Replaces a small file so that a crash leaves the old content or the new.
pub(crate) fn replace_file(
    fs: &dyn FileSystem,
    dir: &Path,
    temp: &Path,
    path: &Path,
    content: &[u8],
) -> Result<()> {
    fs.write_file(temp, content)
        .and_then(|()| fs.rename(temp, path))
        .inspect_err(|_| {
            // After a failure the temporary file would stay until the next open. After a successful rename it
            // does not exist.
            let _ = fs.remove(temp);
        })?;
    fs.sync_dir(dir)
}

impl DbInner {
    /// Records a change of files of the family that it names, and installs the resulting version. Releases
    /// the database mutex while it writes. A failed write latches the database, because it is unknown whether
    /// the MANIFEST holds the edit.
    ///
    /// `install` makes the changes that must happen at the same moment: rows that enter a table leave the
    /// memtables, or readers would see them twice.
    pub(crate) fn apply_edit(
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

    /// Like [`apply_edit`](Self::apply_edit), for a caller that has claimed the MANIFEST, and for several
    /// families at once, with one edit each: the MANIFEST gets all edits or none. `last_seqno` is the last
    /// sequence number once they are installed.
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
        let before = before.inspect_err(|_| self.disclaim_manifest(state))?;
        let following = (0..edits.len() as u32).rev();
        let grouped = edits.len() > 1;
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
            self.versions.append(&edits)?;
            Ok(versions)
        };
        let built = MutexGuard::unlocked(state, || catch_or_fail(build));
        if built.is_err() {
            edits.iter().for_each(|edit| self.doubt_files_of(state, edit));
        }
        let versions = self.release_manifest(state, WRITE_MANIFEST, built)?;
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

    /// Makes `versions` visible to readers; `edits` lead to them from the versions `before`.
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
    pub(crate) fn log_edit(&self, state: &mut MutexGuard<'_, DbState>, mut edit: VersionEdit) -> Result<()> {
        self.wait_for_manifest(state)?;
        state.manifest_busy = true;
        edit.max_column_family = Some(state.max_family);
        self.stamp(&mut edit);
        let append = || self.versions.append(std::slice::from_ref(&edit));
        let written = MutexGuard::unlocked(state, || catch_or_fail(append));
        self.release_manifest(state, WRITE_MANIFEST, written)
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
}

impl DbInner {
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
    ManifestState {
        families,
        db_id: state.recorded.db_id.clone(),
        next_file_number: 0,
        last_sequence,
        max_column_family: state.max_family,
        min_log_number_to_keep: state
            .oldest_needed_wal()
            .max(state.recorded.min_log_number_to_keep),
        wals: BTreeMap::new(),
        last_compacted_manifest_file_size: None,
        unknown_fields: state.recorded.unknown_fields.clone(),
        incomplete_group_edits: 0,
        warnings: Vec::new(),
    }
}
