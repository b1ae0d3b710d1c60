//! Checkpoints: a second database that is this one as it was at a moment, made of the same files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::filename::{self, FileKind};
use base::{Error, ErrorKind, Progress, Result, SeqNo};
use codec::checksum::crc32c_extend;
use vfs::{Access, CreateOptions, FileSystem, OpenOptions, RandomAccessFile};

use super::file_deletions::NothingIsDeleted;
use super::live_files::{LiveFileStorageInfo, LiveFilesStorageInfo};
use super::{Db, DbInner};

/// How a checkpoint is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointOptions {
    /// Bytes of WAL from which on memtables are flushed first; with fewer the WALs are copied instead. 0 always flushes.
    /// Default: 0. Rows no WAL holds are flushed in any case.
    pub log_size_for_flush: u64,
}

impl Db {
    /// Makes `dir`, which must not exist, a database of its own that is this one as it is now, over all column families at once.
    /// Gives the sequence number of its last row.
    ///
    /// Tables and blob files are linked where the file system can, and copied where `dir` lies on another; WALs are copied.
    /// Writers wait while a WAL is begun, no longer. Everything is on the disk when this returns; a crash before leaves `dir.tmp`
    /// at most, with which the next checkpoint of that name goes on.
    ///
    /// # Errors
    /// `InvalidArgument` if `dir` exists; those of the file system.
    pub fn create_checkpoint(&self, dir: impl AsRef<Path>, options: &CheckpointOptions) -> Result<SeqNo> {
        self.create_checkpoint_with_progress(dir, options, &Progress::new())
    }

    /// As [`create_checkpoint`](Db::create_checkpoint), telling how far it is. If it is asked to stop it ends with `Aborted` and
    /// leaves `dir.tmp`; the next one of that name copies no table again that lies there already, whole and with the same bytes.
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
        let _held = NothingIsDeleted::for_holder(self, &format!("checkpoint {}", dir.display()));
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
                // What failed is what the user is to hear of.
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
            fs.write_file(&filename::identity(to), self.db_id.as_bytes())?;
        }
        Ok(())
    }
}

/// True if the file may have two names, because nobody writes to it any more.
fn is_shared(file: &LiveFileStorageInfo) -> bool {
    matches!(
        filename::parse(&file.relative_filename),
        Some(FileKind::Table(_) | FileKind::Blob(_))
    )
}

/// Of what a checkpoint that was cut off has left, removes all but tables and blob files of the right name and size.
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

/// Makes a finished directory durable and gives it its name.
pub(crate) fn publish(fs: &dyn FileSystem, temporary: &Path, dir: &Path) -> Result<()> {
    fs.sync_dir(temporary)?;
    fs.rename(temporary, dir)?;
    match dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => fs.sync_dir(parent),
        None => fs.sync_dir(Path::new(".")),
    }
}

/// Removes a directory of files, if it is there.
pub(crate) fn remove_dir(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    if !fs.exists(dir)? {
        return Ok(());
    }
    for name in fs.list(dir)? {
        fs.remove(&dir.join(name))?;
    }
    fs.remove_dir(dir)
}

/// Gives a file that changes no more a second name, or a copy where that cannot be. A copy that is there already, of the same
/// size, is good if it has the same bytes.
pub(crate) fn link_or_copy(fs: &dyn FileSystem, from: &Path, to: &Path, progress: &Progress) -> Result<()> {
    let linked = to.with_extension("link");
    match fs.link(from, &linked) {
        Ok(()) => {
            // Renaming one name of a file to another does nothing.
            if fs.exists(to)? {
                fs.remove(to)?;
            }
            fs.rename(&linked, to)?;
            progress.advance(fs.size(to)?)
        }
        Err(error) if error.kind() == ErrorKind::NoSpace => Err(error),
        Err(_) => {
            // On another file system. A link that is there although it failed would be nobody's.
            if fs.exists(&linked)? {
                fs.remove(&linked)?;
            }
            if !fs.exists(to)? || !same_bytes(fs, from, to)? {
                return copy(fs, from, to, progress);
            }
            // Whoever was cut off may not have come to it.
            fs.sync_file(to)?;
            progress.advance(fs.size(to)?)
        }
    }
}

fn same_bytes(fs: &dyn FileSystem, a: &Path, b: &Path) -> Result<bool> {
    let checksum = |path: &Path| -> Result<(u64, u32)> {
        let file = open(fs, path)?;
        let mut crc = 0;
        file.for_each_piece(&mut |bytes| {
            crc = crc32c_extend(crc, bytes);
            Ok(())
        })?;
        Ok((file.len(), crc))
    };
    Ok(checksum(a)? == checksum(b)?)
}

fn open(fs: &dyn FileSystem, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
    let options = OpenOptions {
        access: Access::Sequential,
        ..OpenOptions::default()
    };
    fs.open_random(path, &options)
}

/// Copies a file into a new one, whose bytes are durable then. An existing `to` loses its name instead of its bytes: a link that reported an
/// error may have been made, and `to` is then a second name of `from`.
pub(crate) fn copy(fs: &dyn FileSystem, from: &Path, to: &Path, progress: &Progress) -> Result<()> {
    let reader = open(fs, from)?;
    if fs.exists(to)? {
        fs.remove(to)?;
    }
    let mut writer = fs.create(to, &CreateOptions::default())?;
    reader.for_each_piece(&mut |bytes| {
        writer.append(bytes)?;
        progress.advance(bytes.len() as u64)
    })?;
    writer.sync()?;
    writer.close()
}
