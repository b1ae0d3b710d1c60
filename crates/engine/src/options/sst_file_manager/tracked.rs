//! The files of the databases that share an SST file manager, and their bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use base::sync::Mutex;

/// The suffix of files that wait for their deletion, which RocksDB has too.
pub(super) const TRASH: &str = ".trash";

/// The tracked files, and the space that is allowed for them. Its lock is a leaf.
#[derive(Default)]
pub(super) struct TrackedFiles(Mutex<Tracked>);

#[derive(Default)]
struct Tracked {
    /// The size in bytes of each file.
    files: HashMap<PathBuf, u64>,
    /// The bytes of all files.
    total: u64,
    /// The bytes of the inputs of running compactions, which may write as many.
    compactions: u64,
    /// The bytes that a compaction leaves to logs and flushes.
    compaction_buffer: u64,
    /// The bytes that all files may have; 0: any number.
    max_allowed: u64,
}

impl Tracked {
    fn add(&mut self, path: PathBuf, bytes: u64) {
        let before = self.files.insert(path, bytes).unwrap_or(0);
        self.total = self.total - before + bytes;
    }

    fn remove(&mut self, path: &Path) -> Option<u64> {
        let bytes = self.files.remove(path)?;
        self.total -= bytes;
        Some(bytes)
    }

    /// True if the files, with `bytes` bytes more, exceed the allowed space.
    fn exceeds(&self, bytes: u64) -> bool {
        self.max_allowed > 0 && self.total.saturating_add(bytes) > self.max_allowed
    }
}

impl TrackedFiles {
    /// Tracks the file at `path`, or notes its new size.
    pub fn add(&self, path: PathBuf, bytes: u64) {
        self.0.lock().add(path, bytes);
    }

    pub fn remove(&self, path: &Path) {
        self.0.lock().remove(path);
    }

    /// A file that is not tracked has no size under its new name either.
    pub fn rename(&self, from: &Path, to: &Path) {
        let mut tracked = self.0.lock();
        let bytes = tracked.remove(from).unwrap_or(0);
        tracked.add(to.to_path_buf(), bytes);
    }

    /// Stops tracking the files of `dirs`, except those that wait for their deletion.
    pub fn remove_files_of(&self, dirs: &BTreeSet<PathBuf>) {
        let mut tracked = self.0.lock();
        let is_trash = |path: &Path| path.to_str().is_some_and(|path| path.ends_with(TRASH));
        let is_in = |path: &Path| path.parent().is_some_and(|dir| dirs.contains(dir));
        let mut freed = 0;
        tracked.files.retain(|path, bytes| {
            let stays = is_trash(path) || !is_in(path);
            freed += if stays { 0 } else { *bytes };
            stays
        });
        tracked.total -= freed;
    }

    pub fn all(&self) -> BTreeMap<PathBuf, u64> {
        let tracked = self.0.lock();
        tracked
            .files
            .iter()
            .map(|(path, &bytes)| (path.clone(), bytes))
            .collect()
    }

    pub fn total(&self) -> u64 {
        self.0.lock().total
    }

    pub fn set_max_allowed(&self, bytes: u64) {
        self.0.lock().max_allowed = bytes;
    }

    pub fn set_compaction_buffer(&self, bytes: u64) {
        self.0.lock().compaction_buffer = bytes;
    }

    pub fn compaction_buffer(&self) -> u64 {
        self.0.lock().compaction_buffer
    }

    /// True if the files have the allowed bytes or more; `compactions`: with the estimated outputs of running
    /// compactions.
    pub fn is_max_allowed_reached(&self, compactions: bool) -> bool {
        let tracked = self.0.lock();
        let more = if compactions { tracked.compactions } else { 0 };
        tracked.max_allowed > 0 && tracked.total.saturating_add(more) >= tracked.max_allowed
    }

    /// True if the files may take `bytes` bytes more.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        !self.0.lock().exceeds(bytes)
    }

    /// Reserves space for the output of a compaction with inputs of `bytes`. False if there is too little
    /// space.
    pub fn reserve(&self, bytes: u64) -> bool {
        let mut tracked = self.0.lock();
        let needed = tracked.compactions.saturating_add(bytes);
        if tracked.exceeds(needed.saturating_add(tracked.compaction_buffer)) {
            return false;
        }
        tracked.compactions = needed;
        true
    }

    /// Undoes a [`reserve`](Self::reserve).
    pub fn release(&self, bytes: u64) {
        self.0.lock().compactions -= bytes;
    }
}
