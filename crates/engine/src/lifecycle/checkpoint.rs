//! Checkpoints: a second database with the contents of this one at one moment, made of the same files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base::filename::{self, FileKind};
use base::{Error, ErrorKind, Progress, Result, SeqNo};
use vfs::FileSystem;

use crate::files::copy::copy;
use crate::files::copy::link_or_copy;
use crate::files::copy::publish;
use crate::files::copy::remove_dir;
use crate::report::live_files::{LiveFileStorageInfo, LiveFilesStorageInfo};
use crate::state::db_inner::DbInner;
use crate::state::file_deletions::FileDeletionGuard;
use crate::state::handle::Db;

/// Options of [`Db::create_checkpoint`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{CheckpointOptions, Db};
///
/// db.put(b"a", b"1")?;
/// // Copies the WAL instead of flushing if it has at most 1 MiB.
/// let options = CheckpointOptions { log_size_for_flush: 1 << 20 };
/// db.create_checkpoint(dir.path().join("copy"), &options)?;
/// let copy = Db::open_read_only(&Default::default(), dir.path().join("copy"))?;
/// assert!(copy.get(b"a")?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointOptions {
    /// If the WALs have at least this many bytes, memtables are flushed first; otherwise the WALs are copied.
    /// 0 always flushes. Rows without a WAL are flushed in any case. Default: 0.
    pub log_size_for_flush: u64,
}

impl Db {
    /// Creates a database in `dir`, which must not exist, with the current contents of this one, consistent
    /// over all column families. Returns the sequence number of its last row.
    ///
    /// Tables and blob files are hard-linked if possible, and copied if `dir` is on another file system; WALs
    /// are copied. Writers wait only while a new WAL is begun. Everything is durable when the call returns. A
    /// crash before that leaves at most `dir.tmp`, which the next checkpoint of that name reuses.
    ///
    /// # Errors
    /// `InvalidArgument` if `dir` exists; the errors of the file system.
    pub fn create_checkpoint(&self, dir: impl AsRef<Path>, options: &CheckpointOptions) -> Result<SeqNo> {
        self.create_checkpoint_with_progress(dir, options, &Progress::new())
    }

    /// Same as [`create_checkpoint`](Db::create_checkpoint), and reports its progress. If `progress` requests
    /// a stop, the call fails with `Aborted` and leaves `dir.tmp`; the next checkpoint of that name does not
    /// copy a table again if the copy there is complete and equal.
    pub fn create_checkpoint_with_progress(
        &self,
        dir: impl AsRef<Path>,
        options: &CheckpointOptions,
        progress: &Progress,
    ) -> Result<SeqNo> {
        self.inner().check_open()?;
        self.inner()
            .create_checkpoint(dir.as_ref(), options.log_size_for_flush, progress)
    }
}

impl DbInner {
    fn create_checkpoint(&self, dir: &Path, log_size_for_flush: u64, progress: &Progress) -> Result<SeqNo> {
        let fs = &*self.options.fs;
        if fs.exists(dir)? {
            return Err(Error::invalid_argument("Directory exists").in_file(dir));
        }
        let _held = FileDeletionGuard::for_holder(self, &format!("checkpoint {}", dir.display()));
        let contents = self.live_files_storage_info(log_size_for_flush)?;
        let mut temporary = dir.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        let written = self
            .write_checkpoint(&temporary, &contents, progress)
            .and_then(|()| publish(fs, &temporary, dir));
        match written {
            Ok(()) => Ok(contents.sequence_number),
            Err(error) if error.kind() == ErrorKind::Aborted => Err(error),
            Err(error) => {
                // The caller gets the first failure, not that of the cleanup.
                let _ = remove_dir(fs, &temporary);
                Err(error)
            }
        }
    }

    fn write_checkpoint(
        &self,
        to: &Path,
        contents: &LiveFilesStorageInfo,
        progress: &Progress,
    ) -> Result<()> {
        let fs = &*self.options.fs;
        fs.create_dir_all(to)?;
        keep_tables(fs, to, &contents.files)?;
        progress.expect(contents.files.iter().map(|file| file.size).sum());
        for file in &contents.files {
            let from = file.path();
            let path = to.join(&file.relative_filename);
            match &file.replacement_contents {
                Some(bytes) => {
                    fs.write_file(&path, bytes)?;
                    progress.advance(file.size)?;
                }
                None if is_shared(file) => link_or_copy(fs, &from, &path, progress)?,
                None => copy(fs, &from, &path, progress)?,
            }
        }
        let has_same_id = self.options.write_dbid_to_manifest && self.options.write_identity_file;
        if has_same_id {
            fs.write_file(&filename::identity(to), self.identity.db_id.as_bytes())?;
        }
        Ok(())
    }
}

/// True if the file may have two names: tables and blob files are never written to again.
fn is_shared(file: &LiveFileStorageInfo) -> bool {
    matches!(
        filename::parse(&file.relative_filename),
        Some(FileKind::Table(_) | FileKind::Blob(_))
    )
}

/// Removes the remains of an interrupted checkpoint, except tables and blob files of the right name and size.
fn keep_tables(fs: &dyn FileSystem, dir: &Path, files: &[LiveFileStorageInfo]) -> Result<()> {
    let shared = files.iter().filter(|file| is_shared(file));
    let wanted: BTreeSet<(&str, u64)> = shared.map(|file| (&*file.relative_filename, file.size)).collect();
    for name in fs.list(dir)? {
        let path = dir.join(&name);
        if !wanted.contains(&(&*name, fs.size(&path)?)) {
            fs.remove(&path)?;
        }
    }
    Ok(())
}
