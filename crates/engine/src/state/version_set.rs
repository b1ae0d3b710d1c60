//! The only writer of MANIFEST and CURRENT, and the counter that numbers files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::sync::Mutex;
use base::{Error, Result, filename};
use manifest::{ManifestState, VersionEdit, snapshot_edits};
use vfs::{CreateOptions, FileSystem};
use wal::WriterOptions;

/// Numbers files and writes the MANIFEST.
pub(crate) struct VersionSet {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    next_file: FileNumbers,
    /// The MANIFEST. Only the thread that has set `DbState::manifest_busy` locks it, without the database
    /// mutex.
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

    /// The source of file numbers, for callers that take numbers without a borrow of the version set.
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

    /// The number of the current MANIFEST; 0 before the first one is begun.
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
                // The incomplete MANIFEST is removed: on a full disk the write may be retried many times.
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
    pub fn append(&self, edits: &[VersionEdit]) -> Result<()> {
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

    /// True if the MANIFEST has grown past its maximum size, so that another is due.
    pub fn too_large(&self) -> bool {
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
