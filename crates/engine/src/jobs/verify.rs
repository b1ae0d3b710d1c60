//! Verification of live files: reads them from disk, bypassing all caches, and checks their checksums.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result, filename};
use blob::BlobFile;
use codec::file_checksum::{self, FileCrc32c};
use manifest::{BlobFileMetadata, FileMetadata, Version};
use sst::{Table, TableReadOptions};
use vfs::{Access, OpenOptions, RandomAccessFile};

use crate::files::file_checksum::compare;
use crate::files::table_cache::check_unique_id;
use crate::files::timed_file::TimedFile;
use crate::options::FileChecksumGenFactory;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;

impl Db {
    /// Reads every live table and blob file from disk and verifies the checksum of each block and each blob.
    /// The block cache is neither read nor filled.
    ///
    /// # Errors
    /// `Corruption` with file and offset for the first damage; the order of the files is undefined. The call
    /// reads the whole database.
    pub fn verify_checksum(&self) -> Result<()> {
        self.verify_checksum_opt(&ReadOptions::default())
    }

    /// Same as [`verify_checksum`](Db::verify_checksum), with options for the reads.
    /// [`readahead_size`](ReadOptions::readahead_size) is the number of bytes read of a table at a time; 0
    /// means [`max_auto_readahead_size`](crate::BlockBasedOptions::max_auto_readahead_size).
    /// [`rate_limiter_priority`](ReadOptions::rate_limiter_priority) charges the reads to the rate limiter.
    /// Other read options are ignored.
    ///
    /// # Errors
    /// The errors of [`verify_checksum`](Db::verify_checksum).
    pub fn verify_checksum_opt(&self, options: &ReadOptions) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        let (charged, _timeout) = inner.charged_reads(options);
        inner.live().iter().try_for_each(|live| {
            let mut file = inner.open_to_verify(live)?;
            if charged.is_some() {
                file = TimedFile::over(
                    file,
                    &inner.stats,
                    &inner.options.rate_limiter,
                    Access::Normal,
                    None,
                );
            }
            live.check_size(&*file)?;
            live.verify_pieces(file, options.readahead_size)
        })
    }

    /// Reads every live table and blob file from disk and compares each with the checksum of the whole file
    /// in the MANIFEST. Files without one, or with that of an unknown function, are skipped.
    ///
    /// # Errors
    /// `InvalidArgument` without [`file_checksum_gen_factory`](crate::Options::file_checksum_gen_factory);
    /// `Corruption`, with the file, for the first mismatch. The call reads the whole database.
    pub fn verify_file_checksums(&self) -> Result<()> {
        self.inner().check_open()?;
        let inner = self.inner();
        if inner.options.file_checksum_gen_factory == FileChecksumGenFactory::None {
            return Err(Error::invalid_argument(
                "Cannot verify file checksum if options.file_checksum_gen_factory is null",
            ));
        }
        inner.live().iter().try_for_each(|live| {
            let file = inner.open_to_verify(live)?;
            live.check_size(&*file)?;
            live.verify_whole(&*file).map(drop)
        })
    }

    /// Changes [`verify_rate_bytes_per_sec`](crate::Options::verify_rate_bytes_per_sec), the rate in bytes
    /// per second at which files are verified in the background; 0 stops the verification. A file in progress
    /// when the rate is set to 0 is verified again from its start.
    ///
    /// # Errors
    /// The errors of starting a thread, at the first call.
    pub fn set_verify_rate(&self, bytes_per_sec: u64) -> Result<()> {
        self.inner().check_open()?;
        self.0.inner.set_verify_rate(bytes_per_sec)
    }
}

/// A file of the current version of its family, protected from deletion.
pub(crate) struct Live {
    pub family: Arc<Family>,
    pub what: What,
    /// Keeps the file's metadata alive, and thus the file.
    _version: Arc<Version>,
}

/// The kind of the file, with its metadata.
pub(crate) enum What {
    Table(Arc<FileMetadata>),
    Blob(Arc<BlobFileMetadata>),
}

impl Live {
    /// The file number, which is unique among tables and blob files.
    pub fn number(&self) -> u64 {
        match &self.what {
            What::Table(file) => file.number,
            What::Blob(file) => file.number(),
        }
    }

    pub fn path(&self) -> PathBuf {
        match &self.what {
            What::Table(file) => self.family.paths.table(file),
            What::Blob(file) => filename::blob(&self.family.dir, file.number()),
        }
    }

    pub fn size(&self) -> u64 {
        match &self.what {
            What::Table(file) => file.size,
            What::Blob(file) => file.file_size(),
        }
    }

    /// The name of the checksum function of the whole file, and the checksum.
    fn checksum(&self) -> Option<(&str, &[u8])> {
        match &self.what {
            What::Table(file) => {
                let checksum = file.file_checksum.as_ref()?;
                Some((&checksum.func_name, &checksum.value))
            }
            What::Blob(file) => {
                let addition = &file.shared.addition;
                Some((&addition.checksum_method, &addition.checksum_value))
            }
        }
    }

    /// `Corruption` unless the file has the size in the MANIFEST.
    pub fn check_size(&self, file: &dyn RandomAccessFile) -> Result<()> {
        let (size, recorded) = (file.len(), self.size());
        if size == recorded {
            return Ok(());
        }
        let message = format!("file size mismatch: {size} bytes, the MANIFEST recorded {recorded}");
        Err(Error::corruption(message)
            .in_file(file.path())
            .at(size.min(recorded)))
    }

    /// Compares the file with its checksum. False if it has none, or that of an unknown function.
    pub fn verify_whole(&self, file: &dyn RandomAccessFile) -> Result<bool> {
        let Some((file_checksum::CRC32C_NAME, recorded)) = self.checksum() else {
            return Ok(false);
        };
        let mut sum = FileCrc32c::new();
        file.for_each_piece(&mut |bytes| {
            sum.update(bytes);
            Ok(())
        })?;
        compare(sum, recorded, file.path())?;
        Ok(true)
    }

    /// Opens the table again.
    pub fn open_table(&self, metadata: &FileMetadata, file: Arc<dyn RandomAccessFile>) -> Result<Arc<Table>> {
        let options = TableReadOptions {
            file_number: metadata.number,
            largest_seqno: Some(metadata.largest_seqno),
            auto_readahead: self.family.options.table.auto_readahead(),
            ..TableReadOptions::new(self.family.cmp.clone())
        };
        let table = Table::open(file, options)?;
        // The ids are checked independently of the options, because this is a verification.
        check_unique_id(metadata, &table)?;
        Ok(table)
    }

    /// Verifies every block or blob of the file.
    pub fn verify_pieces(&self, file: Arc<dyn RandomAccessFile>, readahead_size: usize) -> Result<()> {
        match &self.what {
            What::Table(metadata) => self
                .open_table(metadata, file)?
                .verify(readahead_size, &mut |_| {}),
            What::Blob(_) => {
                let blobs = BlobFile::open(file)?;
                blobs.check_of_family(self.family.id)?;
                blobs.verify().map(drop)
            }
        }
    }
}

impl DbInner {
    /// The live files of all families.
    pub(crate) fn live(&self) -> Vec<Live> {
        let state = self.state.lock();
        let mut files = Vec::new();
        for own in state.families.values() {
            let live = |what| Live {
                family: own.family.clone(),
                what,
                _version: own.version.clone(),
            };
            let tables = own.version.all_files();
            files.extend(tables.map(|(_, file)| live(What::Table(file.clone()))));
            let blobs = own.version.blob_files().values();
            files.extend(blobs.map(|file| live(What::Blob(file.clone()))));
        }
        files
    }

    fn open_to_verify(&self, live: &Live) -> Result<Arc<dyn RandomAccessFile>> {
        let options = OpenOptions {
            direct: self.options.use_direct_reads,
            access: Access::Sequential,
            ..OpenOptions::default()
        };
        self.open_live(live, &options)
    }

    /// Opens the file, which may have LevelDB's name.
    pub(crate) fn open_live(&self, live: &Live, options: &OpenOptions) -> Result<Arc<dyn RandomAccessFile>> {
        let path = live.path();
        let open = |path: &Path| self.options.fs.open_random(path, options);
        match (open(&path), &live.what) {
            (Err(error), What::Table(_)) if error.kind() == base::ErrorKind::NotFound => {
                open(&path.with_extension("ldb")).map_err(|_| error)
            }
            (opened, _) => opened,
        }
    }
}
