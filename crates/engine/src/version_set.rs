//! The only writer of MANIFEST and CURRENT, and the counter that numbers files.
//!
//! A change of files is one [`VersionEdit`]: the next version is built and checked, the edit is appended and synced, then the
//! version is installed. Building and writing happen without the database mutex; `DbState::manifest_busy` keeps a second
//! change from starting meanwhile, so the version a change starts from is still the current one when it is installed.

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

use crate::db::DbInner;
use crate::db::column_family::Family;
use crate::db::state::{BEGIN_MANIFEST, DbState, FamilyState, WRITE_MANIFEST};
use crate::events::Event;
use crate::options::TablePaths;

/// Numbers files and writes the MANIFEST.
pub(crate) struct VersionSet {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    next_file: FileNumbers,
    /// Taken only by whoever set `DbState::manifest_busy`, without the database mutex.
    manifest: Mutex<Option<Manifest>>,
    max_size: u64,
}

/// Gives numbers to files. Clones give from the same.
#[derive(Clone)]
pub(crate) struct FileNumbers(Arc<AtomicU64>);

impl FileNumbers {
    /// A number no file has.
    pub fn new_file_number(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

struct Manifest {
    number: u64,
    log: wal::Writer,
}

impl VersionSet {
    /// Of the database in `dir`; files below `next_file` exist or have existed.
    pub fn new(fs: Arc<dyn FileSystem>, dir: &Path, next_file: u64, max_size: u64) -> VersionSet {
        VersionSet {
            fs,
            dir: dir.to_path_buf(),
            next_file: FileNumbers(Arc::new(AtomicU64::new(next_file))),
            manifest: Mutex::new(None),
            max_size,
        }
    }

    /// A number no file has.
    pub fn new_file_number(&self) -> u64 {
        self.next_file.new_file_number()
    }

    /// Where numbers come from, for whoever outlives the borrow.
    pub fn file_numbers(&self) -> FileNumbers {
        self.next_file.clone()
    }

    /// Takes note that a file of that number exists.
    pub fn mark_used(&self, number: u64) {
        self.next_file
            .0
            .fetch_max(number.saturating_add(1), Ordering::Relaxed);
    }

    /// The number the next file will get.
    pub fn next_file_number(&self) -> u64 {
        self.next_file.0.load(Ordering::Relaxed)
    }

    /// The number of the MANIFEST being written, 0 before there is one.
    pub fn manifest_number(&self) -> u64 {
        self.manifest
            .lock()
            .as_ref()
            .map_or(0, |manifest| manifest.number)
    }

    /// Begins a MANIFEST that holds `state`, makes it durable, and makes CURRENT name it. Until CURRENT is renamed the old
    /// one is in force, so a crash anywhere leaves one of the two. Gives the old one, which is needed no more.
    pub fn begin_manifest(&self, state: impl FnOnce(u64) -> ManifestState) -> Result<Option<PathBuf>> {
        let number = self.new_file_number();
        let path = filename::manifest(&self.dir, number);
        let log = self
            .write_manifest(&path, &state(self.next_file_number()))
            .inspect_err(|_| {
                // It may be tried again and again, on a disk that is full.
                let _ = self.fs.remove(&path);
            })?;
        set_current(&*self.fs, &self.dir, number)?;
        let old = self.manifest.lock().replace(Manifest { number, log });
        Ok(old.map(|mut old| {
            // All it should hold is in the new one, whatever becomes of it.
            let _ = old.log.close();
            filename::manifest(&self.dir, old.number)
        }))
    }

    /// Writes `state` into a file that nothing names yet, and syncs it.
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

/// Makes CURRENT name MANIFEST `number`: written beside it, synced, renamed over it, and the directory synced. Before that the names of
/// the MANIFEST and of the files it lists are made durable: a loss of power may keep the rename and lose any other change of names.
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

/// Puts a small file in place so that a crash leaves the old content or the new.
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
            // Nothing else would before the next open. Where it was renamed nothing is there.
            let _ = fs.remove(temp);
        })?;
    fs.sync_dir(dir)
}

impl DbInner {
    /// Records a change of files of the family it names and installs the version that comes of it. Releases the database
    /// mutex while it writes. A failed write latches the database: whether the MANIFEST holds the edit is not known.
    ///
    /// `install` changes what must change in the same moment: rows that come into a table leave the memtables, or readers
    /// would meet them twice.
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

    /// Remembers the files that `edit` brings: it has failed, and whoever resumes deletes those that no version has.
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

    /// Waits until nobody changes versions, and lets nobody but the caller change them until [`apply_claimed`](Self::apply_claimed)
    /// or [`disclaim_manifest`](Self::disclaim_manifest).
    pub(crate) fn claim_manifest(&self, state: &mut MutexGuard<'_, DbState>) -> Result<()> {
        self.wait_for_manifest(state)?;
        state.manifest_busy = true;
        Ok(())
    }

    /// Takes a [`claim_manifest`](Self::claim_manifest) back.
    pub(crate) fn disclaim_manifest(&self, state: &mut MutexGuard<'_, DbState>) {
        state.manifest_busy = false;
        self.changed.notify_all();
    }

    /// As [`apply_edit`](Self::apply_edit), for one who has claimed the MANIFEST, and for several families at once, each named by one
    /// edit: the MANIFEST holds all of them or none. `last_seqno` is the last sequence number in use once they are installed.
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
        // After a panic the MANIFEST has what readers have not.
        installed.unwrap_or_else(|error| self.release_manifest(state, WRITE_MANIFEST, Err(error)))?;
        if let Some(last_seqno) = last_seqno {
            // Not before: a snapshot of it shows what was installed.
            self.published.fetch_max(last_seqno, Ordering::AcqRel);
        }
        self.rotate_manifest(state)
    }

    /// Makes readers see `versions`, to which `edits` lead from those `before`.
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

    /// Records an edit that changes no files. When the caller has brought `state` up to it, [`rotate_manifest`](Self::rotate_manifest)
    /// is due, which writes down what `state` says.
    pub(crate) fn log_edit(&self, state: &mut MutexGuard<'_, DbState>, mut edit: VersionEdit) -> Result<()> {
        self.wait_for_manifest(state)?;
        state.manifest_busy = true;
        edit.max_column_family = Some(state.max_family);
        self.stamp(&mut edit);
        let append = || self.versions.append(std::slice::from_ref(&edit));
        let written = MutexGuard::unlocked(state, || catch_or_fail(append));
        self.release_manifest(state, WRITE_MANIFEST, written)
    }

    /// Returns when nobody writes the MANIFEST; the latched error if a write has failed, since what it holds is not known then.
    fn wait_for_manifest(&self, state: &mut MutexGuard<'_, DbState>) -> Result<()> {
        while state.manifest_busy {
            self.changed.wait(state);
        }
        state.check_job()
    }

    /// Lets the next change begin, unless this one failed: that latches the database before anybody else gets the mutex.
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

    /// The counters every edit carries.
    fn stamp(&self, edit: &mut VersionEdit) {
        edit.next_file_number = Some(self.versions.next_file_number());
        edit.last_sequence = Some(self.published.load(Ordering::Acquire));
    }

    /// Begins a fresh MANIFEST if the current one has grown too large.
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
    /// Writes what `state` says into another MANIFEST, because nobody knows what the one in force holds: the change that failed, a part of it,
    /// or nothing. Whichever CURRENT names until it names the new one, what it says can be recovered: no file was deleted since. Then
    /// MANIFESTs that were not finished go. With the database latched nobody else writes one.
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

    /// Deletes what only changes of the MANIFEST named that have failed, once it is known what the MANIFEST holds.
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

/// What a MANIFEST of `state` says.
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
