//! The blob files a flush or a compaction writes, and what becomes of the blobs it reads.
//!
//! A blob file is finished, footer and sync, before the MANIFEST is told of the tables that refer to it; both come into being by
//! one edit. A crash before leaves files that belong to nothing, and that the next open deletes.

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

use super::blob_inputs::BlobInputs;
use super::file_checksum::FileSum;
use super::output::{BlobGarbage, creation_reason};
use crate::db::DbInner;
use crate::db::column_family::Family;
use crate::events::{Event, Listeners};
use crate::options::{BlobSizes, FileChecksumGenFactory, PrepopulateBlobCache};
use crate::read::blob_cache::BlobFileCache;
use crate::stats::Stats;
use crate::version_set::FileNumbers;

/// Writes blob files one after the other.
pub(crate) struct BlobOutputs {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    family: u32,
    numbers: FileNumbers,
    create: CreateOptions,
    checksums: FileChecksumGenFactory,
    stats: Arc<Stats>,
    blob_file_size: u64,
    compression: CompressionType,
    /// Where values go that are written; `None`: nowhere.
    warm: Option<Arc<BlobFileCache>>,
    open: Option<(BlobWriter, FileSum)>,
    /// Finished files, in the order they were written.
    additions: Vec<BlobFileAddition>,
    /// Every file begun.
    paths: Vec<PathBuf>,
    teller: Teller,
}

/// Tells of blob files that are begun, and of those that come to nothing.
struct Teller {
    listeners: Listeners,
    family: String,
    job: u64,
    reason: TableFileCreationReason,
    /// Files begun, with their paths, of whose end nobody was told.
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
    /// For tables of `family` at `level`, which a flush writes or a compaction, job `job`; `None` where values stay in tables.
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
        // It may be there although it could not be created.
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

    /// Makes the contents of the open file durable and ends it.
    fn finish(&mut self) -> Result<()> {
        let Some((writer, sum)) = self.open.take() else {
            return Ok(());
        };
        let summary = writer.finish()?;
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

    /// Ends the last file. Gives what the MANIFEST is to be told of all of them, and the caller the listeners.
    pub fn finish_all(&mut self) -> Result<Vec<BlobFileAddition>> {
        self.finish()?;
        self.teller.untold.clear();
        Ok(std::mem::take(&mut self.additions))
    }

    /// The files that were begun; none of them is written to any more. For whoever deletes them: the job failed with `error`.
    pub fn abandon(&mut self, error: &Error) -> Vec<PathBuf> {
        self.open = None;
        self.teller.failed(error);
        std::mem::take(&mut self.paths)
    }
}

/// What one thread of a flush or compaction does with blobs.
pub(crate) struct Blobs {
    /// Where blobs are read; `None` in a flush, which meets none.
    pub inputs: Option<BlobInputs>,
    pub outputs: Option<Arc<Mutex<BlobOutputs>>>,
    /// Bytes of a value from which on it goes to the outputs.
    pub sizes: BlobSizes,
    /// Blobs in files of lower numbers are moved.
    pub cutoff: u64,
    pub garbage: Arc<Mutex<BlobGarbage>>,
    /// File and offset of the blob that entered last.
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

    /// Bytes from which on something goes to the outputs, of which `size` says so.
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
        // One that went out as an older version is one still, though what is newer may not be among the inputs.
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
        // All of them: entities are written with their columns in them.
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
            // A repair that found tables together with those they were compacted to has left an entry twice: the blob is one.
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
