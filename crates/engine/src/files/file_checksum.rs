//! Checksums of whole files: computed while a file is written, compared when it is read again.

use std::path::Path;
use std::sync::Arc;

use base::sync::Mutex;
use base::{Error, Result};
use codec::file_checksum::{self, FileCrc32c};
use manifest::FileChecksum;
use vfs::{FileSync, RandomAccessFile, WritableFile};

use crate::options::FileChecksumGenFactory;

/// The checksum of a file that is being written; updated by each append.
#[derive(Default)]
pub(crate) struct FileSum(Option<Arc<Mutex<FileCrc32c>>>);

/// Passes everything to the file, and adds the written bytes to its checksum.
#[derive(Debug)]
struct SummedFile {
    file: Box<dyn WritableFile>,
    sum: Arc<Mutex<FileCrc32c>>,
}

impl WritableFile for SummedFile {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.file.append(data)?;
        self.sum.lock().update(data);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }

    fn sync_all(&mut self) -> Result<()> {
        self.file.sync_all()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn close(&mut self) -> Result<()> {
        self.file.close()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }

    fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        self.file.syncer()
    }
}

impl FileSum {
    /// Returns a file to write to in place of `file`, which must be empty, and its checksum.
    pub fn over(
        factory: FileChecksumGenFactory,
        file: Box<dyn WritableFile>,
    ) -> (Box<dyn WritableFile>, FileSum) {
        match factory {
            FileChecksumGenFactory::None => (file, FileSum(None)),
            FileChecksumGenFactory::Crc32c => {
                let sum = Arc::new(Mutex::new(FileCrc32c::new()));
                let summed = SummedFile {
                    file,
                    sum: sum.clone(),
                };
                (Box::new(summed), FileSum(Some(sum)))
            }
        }
    }

    /// The checksum of the bytes written so far, for the MANIFEST.
    pub fn checksum(&self) -> Option<FileChecksum> {
        self.0.as_ref().map(|sum| recorded(*sum.lock()))
    }
}

fn recorded(sum: FileCrc32c) -> FileChecksum {
    FileChecksum {
        func_name: file_checksum::CRC32C_NAME.to_owned(),
        value: sum.value().into(),
    }
}

/// The checksum of an existing file. Reads the whole file.
pub(crate) fn of_file(
    factory: FileChecksumGenFactory,
    file: &dyn RandomAccessFile,
) -> Result<Option<FileChecksum>> {
    if factory == FileChecksumGenFactory::None {
        return Ok(None);
    }
    let mut sum = FileCrc32c::new();
    file.for_each_piece(&mut |bytes| {
        sum.update(bytes);
        Ok(())
    })?;
    Ok(Some(recorded(sum)))
}

/// `Corruption` unless the checksum of a file's bytes equals the one recorded in the MANIFEST.
pub(crate) fn compare(sum: FileCrc32c, recorded: &[u8], path: &Path) -> Result<()> {
    let computed = sum.value();
    if computed[..] == *recorded {
        return Ok(());
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Err(Error::corruption(format!(
        "file checksum mismatch: the MANIFEST says 0x{}, computed 0x{}",
        hex(recorded),
        hex(&computed)
    ))
    .in_file(path))
}
