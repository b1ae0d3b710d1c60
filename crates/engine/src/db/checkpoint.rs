//! Checkpoints: a second database that is this one as it was at a moment, made of the same files.

use std::path::{Path, PathBuf};

use base::{Error, Result, SeqNo, filename};
use manifest::ManifestState;
use vfs::{CreateOptions, FileSystem};

use super::{Db, DbInner};
use crate::options::file::OptionsFile;
use crate::options::{FlushOptions, WriteOptions};
use crate::version_set::{VersionSet, manifest_state};

/// How a checkpoint is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointOptions {
    /// Bytes of WAL from which on memtables are flushed first; with fewer the WALs are copied instead. 0 always flushes.
    /// Default: 0. Rows no WAL holds are flushed in any case.
    pub log_size_for_flush: u64,
}

/// Bytes of a WAL copied at a time.
const COPIED_AT_A_TIME: usize = 1 << 20;

impl Db {
    /// Makes `dir`, which must not exist, a database of its own that is this one as it is now, over all column families at once.
    /// Gives the sequence number of its last row.
    ///
    /// Tables and blob files are linked where the file system can, and copied where `dir` lies on another; WALs are copied.
    /// Writers wait while a WAL is begun, no longer. Everything is on the disk when this returns; a crash before leaves `dir.tmp`
    /// at most, which the next checkpoint of that name removes.
    ///
    /// # Errors
    /// `InvalidArgument` if `dir` exists; those of the file system.
    pub fn create_checkpoint(&self, dir: impl AsRef<Path>, options: &CheckpointOptions) -> Result<SeqNo> {
        self.inner().create_checkpoint(dir.as_ref(), options)
    }
}

/// What lies in a checkpoint.
struct Contents {
    manifest: ManifestState,
    /// Files that change no more.
    linked: Vec<PathBuf>,
    /// WALs that are complete.
    wals: Vec<u64>,
}

/// Takes [`ObsoleteFiles::hold`](crate::jobs::obsolete_files::ObsoleteFiles::hold) back when dropped.
struct NothingIsDeleted<'a>(&'a DbInner);

impl<'a> NothingIsDeleted<'a> {
    fn now(db: &'a DbInner) -> NothingIsDeleted<'a> {
        db.obsolete.hold();
        NothingIsDeleted(db)
    }
}

impl Drop for NothingIsDeleted<'_> {
    fn drop(&mut self) {
        self.0.obsolete.release();
    }
}

impl DbInner {
    fn create_checkpoint(&self, dir: &Path, options: &CheckpointOptions) -> Result<SeqNo> {
        if self.read_only {
            return Err(Error::not_supported("the database is open for reading only"));
        }
        let fs = &*self.options.fs;
        if fs.exists(dir)? {
            return Err(Error::invalid_argument("Directory exists").in_file(dir));
        }
        let _held = NothingIsDeleted::now(self);
        self.flush_for_checkpoint(options)?;
        let contents = self.contents_now()?;
        let seqno = contents.manifest.last_sequence;
        let mut temporary = dir.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        remove_dir(fs, &temporary)?;
        fs.create_dir_all(&temporary)?;
        let written = self.write_checkpoint(&temporary, contents);
        if let Err(error) = written.and_then(|()| publish(fs, &temporary, dir)) {
            // What failed is what the user is to hear of.
            let _ = remove_dir(fs, &temporary);
            return Err(error);
        }
        Ok(seqno)
    }

    fn flush_for_checkpoint(&self, options: &CheckpointOptions) -> Result<()> {
        let (unlogged, current) = {
            let writer = self.writer.lock();
            (writer.unlogged, writer.wal.as_ref().map_or(0, wal::Writer::len))
        };
        let logged = self.older_wal_bytes.load(std::sync::atomic::Ordering::Relaxed) + current;
        if !unlogged && logged < options.log_size_for_flush {
            return Ok(());
        }
        let families: Vec<_> = self.index.load().by_id.values().cloned().collect();
        match self.flush(&FlushOptions::default(), &families) {
            // One that was dropped meanwhile is not in the checkpoint.
            Err(error) if error.kind() == base::ErrorKind::ColumnFamilyDropped => Ok(()),
            outcome => outcome,
        }
    }

    /// What the database consists of now, with everything that was written in a WAL that is complete, or in a table.
    fn contents_now(&self) -> Result<Contents> {
        let mut writer = self.writer.lock();
        self.make_room(&mut writer, &WriteOptions::default())?;
        self.switch_wal(&mut writer)?;
        // Under the write queue's lock nothing is written, no family comes or goes, no WAL is begun.
        let state = self.state.lock();
        let manifest = manifest_state(&state, writer.last_seqno);
        let mut linked = Vec::new();
        for own in state.families.values() {
            let tables = own.version.all_files();
            linked.extend(tables.map(|(_, file)| filename::table(&own.family.dir, file.number)));
            let blobs = own.version.blob_files().keys();
            linked.extend(blobs.map(|&number| filename::blob(&own.family.dir, number)));
        }
        let current = state.current_wal();
        let needed = state.oldest_needed_wal();
        let wals = state.wals.iter().map(|wal| wal.number);
        let wals = wals
            .filter(|&number| number >= needed && number < current)
            .collect();
        Ok(Contents {
            manifest,
            linked,
            wals,
        })
    }

    fn write_checkpoint(&self, to: &Path, contents: Contents) -> Result<()> {
        let fs = &*self.options.fs;
        for from in &contents.linked {
            link_or_copy(fs, from, to)?;
        }
        for &number in &contents.wals {
            copy(
                fs,
                &filename::wal(&self.wal_dir, number),
                &filename::wal(to, number),
            )?;
        }
        if let Some((path, file)) = OptionsFile::newest(fs, &self.dir)? {
            fs.write_file(
                &to.join(path.file_name().unwrap_or_default()),
                file.text().as_bytes(),
            )?;
        }
        fs.write_file(&filename::identity(to), self.db_id.as_bytes())?;
        // Numbers files beyond all that is there.
        let versions = VersionSet::new(
            self.options.fs.clone(),
            to,
            self.versions.next_file_number(),
            u64::MAX,
        );
        versions.begin_manifest(|next_file_number| ManifestState {
            next_file_number,
            ..contents.manifest
        })?;
        versions.close()
    }
}

/// Makes a finished directory durable and gives it its name.
fn publish(fs: &dyn FileSystem, temporary: &Path, dir: &Path) -> Result<()> {
    fs.sync_dir(temporary)?;
    fs.rename(temporary, dir)?;
    match dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => fs.sync_dir(parent),
        None => fs.sync_dir(Path::new(".")),
    }
}

/// Removes a directory of files, if it is there.
fn remove_dir(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    if !fs.exists(dir)? {
        return Ok(());
    }
    for name in fs.list(dir)? {
        fs.remove(&dir.join(name))?;
    }
    fs.remove_dir(dir)
}

/// Gives a file that changes no more a second name in `to`, or a copy where that cannot be.
fn link_or_copy(fs: &dyn FileSystem, from: &Path, to: &Path) -> Result<()> {
    // LevelDB's name for tables.
    let older = from.with_extension("ldb");
    let from = match from.extension().is_some_and(|extension| extension == "sst") && !fs.exists(from)? {
        true => &older,
        false => from,
    };
    let to = to.join(from.file_name().unwrap_or_default());
    match fs.link(from, &to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == base::ErrorKind::NoSpace => Err(error),
        // On another file system.
        Err(_) => copy(fs, from, &to),
    }
}

pub(super) fn copy(fs: &dyn FileSystem, from: &Path, to: &Path) -> Result<()> {
    let reader = fs.open_random(from, &vfs::OpenOptions::default())?;
    let mut writer = fs.create(to, &CreateOptions::default())?;
    let mut buffer = vec![0; COPIED_AT_A_TIME];
    let mut offset = 0;
    while offset < reader.len() {
        let len = (reader.len() - offset).min(buffer.len() as u64) as usize;
        reader.read_exact_at(offset, &mut buffer[..len])?;
        writer.append(&buffer[..len])?;
        offset += len as u64;
    }
    writer.sync()?;
    writer.close()
}
