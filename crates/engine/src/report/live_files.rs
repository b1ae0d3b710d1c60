//! The files that a database consists of at one moment: checkpoints link them, backups copy them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{Error, Result, SeqNo, filename};
use manifest::ManifestState;
use vfs::{FileSystem, MemFs};

use crate::options::FlushOptions;
use crate::options::file::OptionsFile;
use crate::state::db_inner::DbInner;
use crate::state::handle::Db;
use crate::state::log_and_apply::manifest_state;
use crate::state::version_set::VersionSet;

/// Options of [`Db::live_files_storage_info`].
///
/// See the example of [`LiveFilesStorageInfo`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveFilesStorageInfoOptions {
    /// If the WALs have at least this many bytes, memtables are flushed first; otherwise the WALs are among
    /// the files. 0 always flushes. Rows without a WAL are flushed in any case. Default: 0.
    pub wal_size_for_flush: u64,
}

/// A file that belongs to a database at one moment.
///
/// See the example of [`LiveFilesStorageInfo`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFileStorageInfo {
    /// The name in [`directory`](Self::directory), which also shows the kind of the file.
    pub relative_filename: String,
    /// The directory of the file: that of the database, of the WALs, or of the tables.
    pub directory: PathBuf,
    /// The size of the file in bytes at that moment. The file may have grown since.
    pub size: u64,
    /// The contents that a copy of the file must have instead of those on disk, if set.
    pub replacement_contents: Option<Vec<u8>>,
    /// The name of the checksum function of the whole file, from the MANIFEST; empty if there is none.
    pub file_checksum_func_name: String,
    /// The checksum of the whole file.
    pub file_checksum: Vec<u8>,
}

impl LiveFileStorageInfo {
    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        self.directory.join(&self.relative_filename)
    }

    fn new(path: PathBuf, size: u64) -> LiveFileStorageInfo {
        let name = path.file_name().unwrap_or_default();
        LiveFileStorageInfo {
            relative_filename: name.to_string_lossy().into_owned(),
            directory: path.parent().unwrap_or(Path::new("")).to_path_buf(),
            size,
            replacement_contents: None,
            file_checksum_func_name: String::new(),
            file_checksum: Vec::new(),
        }
    }

    fn replaced(path: PathBuf, contents: Vec<u8>) -> LiveFileStorageInfo {
        let size = contents.len() as u64;
        LiveFileStorageInfo {
            replacement_contents: Some(contents),
            ..LiveFileStorageInfo::new(path, size)
        }
    }
}

/// A database at one moment.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::LiveFilesStorageInfoOptions;
///
/// let hold = db.hold_file_deletions("copy"); // the files stay while they are copied
/// let options = LiveFilesStorageInfoOptions { wal_size_for_flush: u64::MAX };
/// for file in db.live_files_storage_info(&options)?.files {
///     match file.replacement_contents {
///         Some(bytes) => println!("{}: write {} bytes", file.relative_filename, bytes.len()),
///         None => println!("{}: copy the first {} bytes", file.path().display(), file.size),
///     }
/// }
/// # drop(hold);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFilesStorageInfo {
    /// Tables, blob files, WALs, MANIFEST, CURRENT and OPTIONS.
    pub files: Vec<LiveFileStorageInfo>,
    /// The sequence number of the last row.
    pub sequence_number: SeqNo,
}

impl Db {
    /// Returns the files that make up the database now, consistent over all column families. Call it between
    /// [`disable_file_deletions`](Db::disable_file_deletions) and
    /// [`enable_file_deletions`](Db::enable_file_deletions); otherwise files may be deleted before they are
    /// copied.
    ///
    /// The tables, blob files and WALs do not change any more. MANIFEST, CURRENT and OPTIONS (without its
    /// [`wal_dir`](crate::Options::wal_dir)) come as
    /// [`replacement_contents`](LiveFileStorageInfo::replacement_contents). Writers wait only while a new WAL
    /// is begun.
    pub fn live_files_storage_info(
        &self,
        options: &LiveFilesStorageInfoOptions,
    ) -> Result<LiveFilesStorageInfo> {
        self.inner().check_open()?;
        self.inner().live_files_storage_info(options.wal_size_for_flush)
    }
}

impl DbInner {
    pub(crate) fn live_files_storage_info(&self, wal_size_for_flush: u64) -> Result<LiveFilesStorageInfo> {
        if self.read_only {
            return Err(Error::not_supported("the database is open for reading only"));
        }
        self.flush_if_logged(wal_size_for_flush)?;
        let fs = &*self.options.fs;
        let (manifest, mut files, wals) = self.contents_now()?;
        for file in &mut files {
            find_older_name(fs, file)?;
        }
        for number in wals {
            let path = filename::wal(&self.wal_dir, number);
            let size = fs.size(&path)?;
            files.push(LiveFileStorageInfo::new(path, size));
        }
        if let Some((path, file)) = OptionsFile::newest(fs, &self.dir)? {
            // A copy has its WALs in the directory of the other files, and `wal_dir` would name those of this
            // database.
            let text = file.without("wal_dir").text();
            files.push(LiveFileStorageInfo::replaced(path, text.into_bytes()));
        }
        let sequence_number = manifest.last_sequence;
        files.extend(self.manifest_files(manifest)?);
        Ok(LiveFilesStorageInfo {
            files,
            sequence_number,
        })
    }

    fn flush_if_logged(&self, bytes: u64) -> Result<()> {
        let (unlogged, current) = {
            let writer = self.write.queue.lock();
            (writer.unlogged, writer.wal.as_ref().map_or(0, wal::Writer::len))
        };
        let logged = self.wal_tail.older_bytes.load(Ordering::Relaxed) + current;
        if !unlogged && logged < bytes {
            return Ok(());
        }
        self.flush_all(&FlushOptions::at_once())
    }

    /// The current contents of the database: the state for its MANIFEST, the files that no longer change, and
    /// the numbers of the complete WALs. Every row that was written is in one of them.
    fn contents_now(&self) -> Result<(ManifestState, Vec<LiveFileStorageInfo>, Vec<u64>)> {
        let mut writer = self.write.queue.lock();
        self.state.lock().check_writable()?;
        self.switch_wal(&mut writer)?;
        // Under the write queue's lock no row is written, no family is created or dropped, and no WAL begins.
        let state = self.state.lock();
        let mut manifest = manifest_state(&state, writer.last_seqno);
        // A copy has all its files in one directory.
        manifest.put_in_one_directory()?;
        let mut files = Vec::new();
        for own in state.families.values() {
            for (_, table) in own.version.all_files() {
                let path = own.family.paths.table(table);
                let mut file = LiveFileStorageInfo::new(path, table.size);
                if let Some(checksum) = &table.file_checksum {
                    file.file_checksum_func_name = checksum.func_name.clone();
                    file.file_checksum = checksum.value.to_vec();
                }
                files.push(file);
            }
            for (&number, blob) in own.version.blob_files() {
                let path = filename::blob(&own.family.dir, number);
                let addition = &blob.shared.addition;
                files.push(LiveFileStorageInfo {
                    file_checksum_func_name: addition.checksum_method.clone(),
                    file_checksum: addition.checksum_value.to_vec(),
                    ..LiveFileStorageInfo::new(path, blob.file_size())
                });
            }
        }
        let current = state.current_wal();
        let needed = state.oldest_needed_wal();
        let wals = state.wals.iter().map(|wal| wal.number);
        let wals: Vec<u64> = wals
            .filter(|&number| number >= needed && number < current)
            .collect();
        if wals.is_empty() {
            // In this case no row is in a WAL. But programs look for a WAL in a copy, because RocksDB's
            // copies contain the current one.
            let begun = filename::wal(&self.wal_dir, current);
            files.push(LiveFileStorageInfo::replaced(begun, Vec::new()));
        }
        Ok((manifest, files, wals))
    }

    /// Encodes a MANIFEST with exactly this state, and the CURRENT that names it.
    fn manifest_files(&self, state: ManifestState) -> Result<[LiveFileStorageInfo; 2]> {
        // The only writer of the record format writes to files, so the MANIFEST is written to a file system
        // in memory.
        let fs = Arc::new(MemFs::new());
        fs.create_dir_all(&self.dir)?;
        // The MANIFEST of the copy gets a file number larger than all existing ones.
        let versions = VersionSet::new(fs.clone(), &self.dir, self.versions.next_file_number(), u64::MAX);
        versions.begin_manifest(|next_file_number| ManifestState {
            next_file_number,
            ..state
        })?;
        let manifest = filename::manifest(&self.dir, versions.manifest_number());
        versions.close()?;
        let current = filename::current(&self.dir);
        let manifest_bytes = fs.read_file(&manifest)?;
        let current_bytes = fs.read_file(&current)?;
        Ok([
            LiveFileStorageInfo::replaced(manifest, manifest_bytes),
            LiveFileStorageInfo::replaced(current, current_bytes),
        ])
    }
}

/// Renames a table in the list to LevelDB's `.ldb`, if the file has that name on disk.
fn find_older_name(fs: &dyn FileSystem, file: &mut LiveFileStorageInfo) -> Result<()> {
    let Some(stem) = file.relative_filename.strip_suffix(".sst") else {
        return Ok(());
    };
    let older = format!("{stem}.ldb");
    if !fs.exists(&file.path())? && fs.exists(&file.directory.join(&older))? {
        file.relative_filename = older;
    }
    Ok(())
}
