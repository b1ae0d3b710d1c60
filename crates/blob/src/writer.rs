//! Writes blob files.

use base::Result;
use codec::checksum::{crc32c, crc32c_extend, mask};
use codec::compression::{CompressionOptions, CompressionType, Compressor};
use vfs::WritableFile;

use crate::format::{FOOTER_LEN, Footer, HEADER_LEN, Header, RecordHeader};
use crate::index::{BlobIndex, BlobLocation};

/// The options of a blob file.
#[derive(Clone, Debug)]
pub struct BlobWriterOptions {
    /// The number of the file, which every blob index has.
    pub file_number: u64,
    /// The family whose tables will refer to the file.
    pub column_family_id: u32,
    /// The compression of every value in the file, whether or not it shrinks the value: the format has no
    /// exceptions.
    pub compression: CompressionType,
    /// The compression options. A dictionary is never used.
    pub compression_options: CompressionOptions,
}

/// A summary of the file for the MANIFEST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobSummary {
    /// The number of the file.
    pub file_number: u64,
    /// The number of records.
    pub blob_count: u64,
    /// The bytes of the records: the file without header and footer.
    pub blob_bytes: u64,
    /// The size of the file in bytes.
    pub file_size: u64,
}

/// Writes one blob file, value by value. If it is dropped unfinished it leaves a file without a footer, which
/// must be removed.
pub struct BlobWriter {
    file: Box<dyn WritableFile>,
    options: BlobWriterOptions,
    /// `None` if values are stored uncompressed.
    compressor: Option<Compressor>,
    compressed: Vec<u8>,
    /// A buffer for the header and key of a record.
    head: Vec<u8>,
    blob_count: u64,
}

impl BlobWriter {
    /// Writes the header to `file`, which must be empty.
    ///
    /// Errors: those of the file, and `NotSupported` for a compression type that cannot be written.
    pub fn new(mut file: Box<dyn WritableFile>, options: BlobWriterOptions) -> Result<BlobWriter> {
        let compressor = match options.compression {
            CompressionType::None => None,
            compression => Some(Compressor::new(compression, &options.compression_options, None)?),
        };
        let header = Header {
            column_family_id: options.column_family_id,
            has_ttl: false,
            compression: options.compression,
            expirations: (0, 0),
        };
        file.append(&header.encode())?;
        Ok(BlobWriter {
            file,
            options,
            compressor,
            compressed: Vec::new(),
            head: Vec::new(),
            blob_count: 0,
        })
    }

    /// Writes a value and returns its index: encode it as the value of the key's entry in the table.
    pub fn add(&mut self, user_key: &[u8], value: &[u8]) -> Result<BlobIndex<'static>> {
        let stored = match &mut self.compressor {
            None => value,
            Some(compressor) => {
                compressor.compress(value, &mut self.compressed)?;
                &self.compressed
            }
        };
        let header = RecordHeader {
            key_len: user_key.len() as u64,
            value_len: stored.len() as u64,
            expiration: 0,
            blob_crc: mask(crc32c_extend(crc32c(user_key), stored)),
        };
        self.head.clear();
        header.encode(&mut self.head);
        self.head.extend_from_slice(user_key);
        self.file.append(&self.head)?;
        let offset = self.file.len();
        self.file.append(stored)?;
        self.blob_count += 1;
        Ok(BlobIndex::Blob {
            location: BlobLocation {
                file_number: self.options.file_number,
                offset,
                size: stored.len() as u64,
                compression: self.options.compression,
            },
            expiration: None,
        })
    }

    /// The size of the file so far, in bytes.
    pub fn file_size(&self) -> u64 {
        self.file.len()
    }

    /// The number of values written so far.
    pub fn blob_count(&self) -> u64 {
        self.blob_count
    }

    /// Writes the footer, syncs and closes.
    pub fn finish(mut self) -> Result<BlobSummary> {
        let footer = Footer {
            blob_count: self.blob_count,
            expirations: (0, 0),
        };
        self.file.append(&footer.encode())?;
        self.file.sync()?;
        self.file.close()?;
        let file_size = self.file.len();
        Ok(BlobSummary {
            file_number: self.options.file_number,
            blob_count: self.blob_count,
            blob_bytes: file_size - (HEADER_LEN + FOOTER_LEN) as u64,
            file_size,
        })
    }
}
