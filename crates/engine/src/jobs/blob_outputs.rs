//! The blob files that a flush or a compaction writes, and the treatment of the blobs that it reads.
//!
//! A blob file is finished, with footer and sync, before the MANIFEST gets the tables that refer to it; one
//! edit adds both. A crash before that leaves unreferenced files, which the next open deletes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::entity::{self, ColumnValue, Entity};
use base::statistics::Ticker;
use base::sync::Mutex;
use base::{Error, Kind, Result, filename};
use blob::{BlobIndex, BlobWriter, BlobWriterOptions};
use codec::compression::{CompressionOptions, CompressionType};
use compact::{BlobHook, Relocation, TableFileCreationReason};
use manifest::BlobFileAddition;
use vfs::{CreateOptions, FileSystem};

use super::blob_garbage::BlobGarbage;
use super::blob_inputs::BlobInputs;
use super::creation_reason::creation_reason;
use crate::events::Event;
use crate::files::blob_cache::BlobFileCache;
use crate::files::file_checksum::FileSum;
use crate::log::listeners::Listeners;
use crate::options::sst_file_manager::SstFileManager;
use crate::options::{BlobSizes, FileChecksumGenFactory, PrepopulateBlobCache};
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::version_set::FileNumbers;
use crate::stats::Stats;

/// Writes blob files one after the other.
pub(crate) struct BlobOutputs {
    fs: Arc<dyn FileSystem>,
    manager: Option<Arc<SstFileManager>>,
    /// True if a flush writes the files: a flush does not fail when the space limit is reached.
    flush: bool,
    dir: PathBuf,
    family: u32,
    numbers: FileNumbers,
    create: CreateOptions,
    checksums: FileChecksumGenFactory,
    stats: Arc<Stats>,
    blob_file_size: u64,
    compression: CompressionType,
    /// The cache that written values are inserted into; `None` if they are not cached.
    warm: Option<Arc<BlobFileCache>>,
    open: Option<(BlobWriter, FileSum)>,
    /// The finished files, in the order they were written.
    additions: Vec<BlobFileAddition>,
    /// The paths of all files begun.
    paths: Vec<PathBuf>,
    teller: Teller,
}

/// Notifies listeners when a blob file is begun and when it is abandoned.
struct Teller {
    listeners: Listeners,
    family: String,
    job: u64,
    reason: TableFileCreationReason,
    /// The numbers and paths of begun files whose end was not reported.
    untold: Vec<(u64, String)>,
}

impl Teller {
    fn begun(&mut self, file: u64, path: &Path) {
        let path = path.display().to_string();
        self.listeners.notify(&Event::BlobFileCreationStarted {
            family: self.family.clone(),
            job: self.job,
            file,
            path: path.clone(),
            reason: self.reason,
        });
        self.untold.push((file, path));
    }

    fn failed(&mut self, error: &Error) {
        for (file, path) in self.untold.drain(..) {
            self.listeners.notify(&Event::BlobFileCreationFailed {
                family: self.family.clone(),
                job: self.job,
                file,
                path,
                reason: self.reason,
                error: error.clone(),
            });
        }
    }
}

impl BlobOutputs {
    /// The blob outputs of tables of `family` at `level`, written by flush or compaction `job`; `None` if
    /// values stay in tables.
    pub fn new(
        db: &DbInner,
        family: &Family,
        level: usize,
        flush: bool,
        job: u64,
    ) -> Option<Arc<Mutex<BlobOutputs>>> {
        let options = family.current();
        let warms = flush && options.prepopulate_blob_cache == PrepopulateBlobCache::FlushOnly;
        options.writes_blobs_at(level).then(|| {
            Arc::new(Mutex::new(BlobOutputs {
                fs: db.options.fs.clone(),
                manager: db.sst_file_manager().cloned(),
                flush,
                dir: family.dir.clone(),
                family: family.id,
                numbers: db.versions.file_numbers(),
                create: CreateOptions {
                    bytes_per_sync: db.current.load().bytes_per_sync,
                    strict_bytes_per_sync: db.options.strict_bytes_per_sync,
                    direct: db.options.use_direct_io_for_flush_and_compaction,
                    ..CreateOptions::default()
                },
                checksums: db.options.file_checksum_gen_factory,
                stats: db.stats.clone(),
                blob_file_size: options.blob_file_size,
                compression: options.blob_compression_type,
                warm: warms.then(|| family.values.blobs.clone()),
                open: None,
                additions: Vec::new(),
                paths: Vec::new(),
                teller: Teller {
                    listeners: db.listeners.clone(),
                    family: family.name.clone(),
                    job,
                    reason: creation_reason(flush, job),
                    untold: Vec::new(),
                },
            }))
        })
    }

    /// Writes a value and appends its index to `index`.
    fn add(&mut self, user_key: &[u8], value: &[u8], index: &mut Vec<u8>) -> Result<()> {
        let (writer, _) = match &mut self.open {
            Some(open) => open,
            None => {
                let open = self.begin()?;
                self.open.insert(open)
            }
        };
        let written = writer.add(user_key, value)?;
        written.encode(index);
        if let (Some(cache), BlobIndex::Blob { location, .. }) = (&self.warm, &written) {
            cache.warm(location, value);
        }
        if writer.file_size() >= self.blob_file_size {
            self.finish()?;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(BlobWriter, FileSum)> {
        let file_number = self.numbers.new_file_number();
        let path = filename::blob(&self.dir, file_number);
        self.teller.begun(file_number, &path);
        // The file may exist even if its creation failed.
        self.paths.push(path.clone());
        let file = self.fs.create(&path, &self.create)?;
        let (file, sum) = FileSum::over(self.checksums, file);
        let options = BlobWriterOptions {
            file_number,
            column_family_id: self.family,
            compression: self.compression,
            compression_options: CompressionOptions::default(),
        };
        Ok((BlobWriter::new(file, options)?, sum))
    }

    /// Makes the contents of the open file durable and closes it.
    fn finish(&mut self) -> Result<()> {
        let Some((writer, sum)) = self.open.take() else {
            return Ok(());
        };
        let summary = writer.finish()?;
        if let Some(manager) = &self.manager {
            manager.on_add_file(filename::blob(&self.dir, summary.file_number), summary.file_size);
            if !self.flush {
                manager.check_space()?;
            }
        }
        self.stats
            .count(Ticker::BlobDbBlobFileBytesWritten, summary.file_size);
        self.stats.count(Ticker::BlobDbBlobFileSynced, 1);
        let checksum = sum.checksum();
        let checksum = checksum.map(|checksum| (checksum.func_name, checksum.value));
        let (checksum_method, checksum_value) = checksum.unwrap_or_default();
        self.additions.push(BlobFileAddition {
            number: summary.file_number,
            total_blob_count: summary.blob_count,
            total_blob_bytes: summary.blob_bytes,
            checksum_method,
            checksum_value,
            ..BlobFileAddition::default()
        });
        Ok(())
    }

    /// Finishes the last file. Returns the additions of all files for the MANIFEST; the caller then notifies
    /// the listeners.
    pub fn finish_all(&mut self) -> Result<Vec<BlobFileAddition>> {
        self.finish()?;
        self.teller.untold.clear();
        Ok(std::mem::take(&mut self.additions))
    }

    /// Returns the paths of the begun files, none of which is written to any more, for deletion: the job
    /// failed with `error`.
    pub fn abandon(&mut self, error: &Error) -> Vec<PathBuf> {
        self.open = None;
        self.teller.failed(error);
        std::mem::take(&mut self.paths)
    }
}

/// The handling of blobs by one thread of a flush or compaction.
pub(crate) struct Blobs {
    /// The blob files that are read; `None` in a flush, which reads no blobs.
    pub inputs: Option<BlobInputs>,
    pub outputs: Option<Arc<Mutex<BlobOutputs>>>,
    /// The minimum sizes in bytes of values that are written to blob files.
    pub sizes: BlobSizes,
    /// The number below which blob files are emptied: their blobs are written to new files.
    pub cutoff: u64,
    pub garbage: Arc<Mutex<BlobGarbage>>,
    /// The file number and offset of the last blob that was counted as an input.
    pub entered: Option<(u64, u64)>,
}

impl Blobs {
    fn read(&mut self, user_key: &[u8], index: &BlobIndex<'_>) -> Result<Vec<u8>> {
        match &mut self.inputs {
            Some(inputs) => {
                let value = inputs.get(user_key, index)?;
                inputs.count_read(index);
                self.garbage.lock().bytes_read += value.len() as u64;
                Ok(value)
            }
            None => Err(base::Error::corruption("a blob index in a memtable")),
        }
    }

    /// The minimum size in bytes for the outputs according to `size`; no value is that large without outputs.
    fn min_size(&self, size: u64) -> usize {
        match self.outputs {
            Some(_) => usize::try_from(size).unwrap_or(usize::MAX),
            None => usize::MAX,
        }
    }

    fn is_to_move(&self, index: &BlobIndex<'_>) -> bool {
        matches!(index, BlobIndex::Blob { location, expiration: None } if location.file_number < self.cutoff)
    }
}

impl BlobHook for Blobs {
    fn min_blob_size(&self) -> usize {
        self.min_size(self.sizes.newest)
    }

    fn min_older_version_blob_size(&self) -> usize {
        self.min_size(self.sizes.older)
    }

    fn extract(&mut self, user_key: &[u8], value: &[u8], index: &mut Vec<u8>) -> Result<bool> {
        match &self.outputs {
            Some(outputs) => outputs.lock().add(user_key, value, index).map(|()| true),
            None => Ok(false),
        }
    }

    fn relocate(&mut self, user_key: &[u8], index: &[u8], out: &mut Vec<u8>) -> Result<Relocation> {
        if self.cutoff == 0 {
            return Ok(Relocation::Keep);
        }
        let index = BlobIndex::decode(index)?;
        if !self.is_to_move(&index) {
            return Ok(Relocation::Keep);
        }
        let value = self.read(user_key, &index)?;
        if let Some(inputs) = &self.inputs {
            inputs.count_relocated(value.len());
        }
        // An older version that was written to a blob file stays there, though the newer version may not be
        // among the inputs.
        if value.len() >= self.min_older_version_blob_size() && self.extract(user_key, &value, out)? {
            return Ok(Relocation::Moved);
        }
        *out = value;
        Ok(Relocation::Inlined)
    }

    fn relocate_columns(&mut self, user_key: &[u8], value: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        if self.cutoff == 0 || !entity::may_have_blobs(value) {
            return Ok(false);
        }
        let decoded = Entity::decode(value)?;
        let mut any_moves = false;
        for (_, column) in decoded.columns(value) {
            if let ColumnValue::Blob(index) = column {
                any_moves |= self.is_to_move(&BlobIndex::decode(&value[index.clone()])?);
            }
        }
        if !any_moves {
            return Ok(false);
        }
        // All columns are read: entities are written with their column values inline.
        let mut columns = Vec::new();
        for (name, column) in decoded.columns(value) {
            columns.push((
                name,
                match column {
                    ColumnValue::Inline(range) => value[range.clone()].to_vec(),
                    ColumnValue::Blob(range) => {
                        self.read(user_key, &BlobIndex::decode(&value[range.clone()])?)?
                    }
                },
            ));
        }
        let columns: Vec<_> = columns.iter().map(|(name, value)| (*name, &value[..])).collect();
        entity::encode(&columns, out)?;
        Ok(true)
    }

    fn fetch(&mut self, user_key: &[u8], index: &[u8], out: &mut Vec<u8>) -> Result<()> {
        *out = self.read(user_key, &BlobIndex::decode(index)?)?;
        Ok(())
    }

    fn enter(&mut self, user_key: &[u8], kind: Kind, value: &[u8]) -> Result<()> {
        if kind == Kind::BlobIndex
            && let BlobIndex::Blob { location, .. } = BlobIndex::decode(value)?
        {
            // A repair may have found tables together with the tables they were compacted into. Then an entry
            // exists twice, but its blob once.
            let blob = Some((location.file_number, location.offset));
            if std::mem::replace(&mut self.entered, blob) == blob {
                return Ok(());
            }
        }
        self.garbage.lock().enter(user_key, kind, value)
    }

    fn leave(&mut self, user_key: &[u8], kind: Kind, value: &[u8]) -> Result<()> {
        self.garbage.lock().leave(user_key, kind, value)
    }
}
