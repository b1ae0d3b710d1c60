//! Reads blob files.

use std::borrow::Cow;
use std::sync::Arc;

use base::{Error, Result};
use codec::compression::{CompressionType, Decompressor};
use vfs::RandomAccessFile;

use crate::format::{FOOTER_LEN, Footer, HEADER_LEN, Header, RECORD_HEADER_LEN, RecordHeader, masked_crc};
use crate::index::BlobLocation;

/// The minimum number of bytes that a walk over all records reads at a time.
const READAHEAD: usize = 256 << 10;

/// An open blob file. Any number of threads may read at once.
pub struct BlobFile {
    file: Arc<dyn RandomAccessFile>,
    header: Header,
    footer: Option<Footer>,
    /// The end of the records: at the footer, or at the end of the file.
    records_end: u64,
    decompressor: Decompressor,
}

impl BlobFile {
    /// Reads header and footer. A file without a footer, left by a writer that died, can be opened too.
    ///
    /// Errors: `Corruption` with file and offset for a file that is not a blob file or whose footer is
    /// corrupt.
    pub fn open(file: Arc<dyn RandomAccessFile>) -> Result<BlobFile> {
        let len = file.len();
        let in_file = |error: Error| error.in_file(file.path());
        if len < HEADER_LEN as u64 {
            return Err(in_file(
                Error::corruption(format!("Malformed blob file: {len} bytes")).at(0),
            ));
        }
        let mut header = [0; HEADER_LEN];
        file.read_exact_at(0, &mut header)?;
        let header = Header::decode(&header).map_err(in_file)?;
        let footer_at = len
            .checked_sub(FOOTER_LEN as u64)
            .filter(|&at| at >= HEADER_LEN as u64);
        let footer = match footer_at {
            None => None,
            Some(at) => {
                let mut footer = [0; FOOTER_LEN];
                file.read_exact_at(at, &mut footer)?;
                Footer::decode(&footer).map_err(|error| in_file(error.offset_by(at)))?
            }
        };
        let records_end = footer.and(footer_at).unwrap_or(len);
        Ok(BlobFile {
            file,
            header,
            footer,
            records_end,
            decompressor: Decompressor::new(None),
        })
    }

    /// The header: properties of all values in the file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The footer; `None` if the writer died before it wrote one.
    pub fn footer(&self) -> Option<&Footer> {
        self.footer.as_ref()
    }

    /// Checks, as RocksDB does, a file that tables of this column family refer to: it belongs to that family,
    /// is finished, and has no times to live. The header has no checksum; its compression type is compared
    /// when a value is read.
    ///
    /// Errors: `Corruption` with file and offset.
    pub fn check_of_family(&self, column_family_id: u32) -> Result<()> {
        let Some(footer) = &self.footer else {
            return Err(self.bad("no footer", self.records_end));
        };
        if self.header.has_ttl || self.header.expirations != (0, 0) || footer.expirations != (0, 0) {
            return Err(self.bad("Unexpected TTL blob file", 0));
        }
        if self.header.column_family_id != column_family_id {
            let message = format!(
                "Column family ID mismatch: blob file of {}, its tables of {column_family_id}",
                self.header.column_family_id
            );
            return Err(self.bad(&message, 8));
        }
        Ok(())
    }

    /// The file as it was opened.
    pub fn file(&self) -> &Arc<dyn RandomAccessFile> {
        &self.file
    }

    /// The value of `user_key` at `location`, decompressed. One read.
    ///
    /// With `verify` the whole record is read, both its CRCs are checked, and the key is compared; without,
    /// only the value's bytes are read, and a wrong location returns wrong bytes.
    ///
    /// Errors: `Corruption` with file and offset for a location outside the file, and for every mismatch that
    /// `verify` finds.
    pub fn get(&self, location: &BlobLocation, user_key: &[u8], verify: bool) -> Result<Vec<u8>> {
        if location.compression != self.header.compression {
            return Err(self.bad("Compression type mismatch when reading blob", location.offset));
        }
        let before_value = (RECORD_HEADER_LEN + user_key.len()) as u64;
        let start = location
            .offset
            .checked_sub(before_value)
            .filter(|&start| start >= HEADER_LEN as u64);
        let end = location
            .offset
            .checked_add(location.size)
            .filter(|&end| end <= self.records_end);
        let (Some(start), Some(_)) = (start, end) else {
            return Err(self.bad("Invalid blob offset", location.offset));
        };
        // The location is within the file, so its size is at most the file's.
        let size = location.size as usize;
        if !verify {
            return self.value(self.read(location.offset, size)?, 0, location.offset);
        }
        let before_value = before_value as usize;
        let record = self.read(start, before_value + size)?;
        let header = self.record_header(&record, start)?;
        let (key, value) = record[RECORD_HEADER_LEN..].split_at(user_key.len());
        if header.key_len != key.len() as u64 {
            return Err(self.bad("Key size mismatch when reading blob", start));
        }
        if header.value_len != value.len() as u64 {
            return Err(self.bad("Value size mismatch when reading blob", start));
        }
        if key != user_key {
            return Err(self.bad("Key mismatch when reading blob", start));
        }
        if masked_crc(&record[RECORD_HEADER_LEN..]) != header.blob_crc {
            return Err(self.bad("Blob CRC mismatch", start));
        }
        self.value(record, before_value, location.offset)
    }

    /// Iterates over all records from front to back, with readahead.
    pub fn records(&self) -> Records<'_> {
        Records {
            file: self,
            window: Cow::Borrowed(&[]),
            window_at: 0,
            at: HEADER_LEN as u64,
            count: 0,
        }
    }

    /// Checks every record and the footer's count; returns the number of records. Values are decompressed
    /// too.
    pub fn verify(&self) -> Result<u64> {
        let mut records = self.records();
        while let Some(record) = records.next()? {
            record.value()?;
        }
        Ok(records.count)
    }

    #[cold]
    fn bad(&self, what: &str, offset: u64) -> Error {
        Error::corruption(what).in_file(self.file.path()).at(offset)
    }

    /// Reads `len` bytes at `offset`, which the caller has checked to be within the file.
    fn read(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        if let Some(bytes) = self
            .file
            .mapped()
            .and_then(|mapped| mapped.get(offset as usize..)?.get(..len))
        {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut bytes = vec![0; len];
        self.file.read_exact_at(offset, &mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    /// Decodes the header at the start of `record`, whose offset in the file is `offset`.
    fn record_header(&self, record: &[u8], offset: u64) -> Result<RecordHeader> {
        let Some(header) = record.first_chunk::<RECORD_HEADER_LEN>() else {
            return Err(self.bad("truncated blob record", offset));
        };
        RecordHeader::decode(header).map_err(|error| error.offset_by(offset).in_file(self.file.path()))
    }

    /// The value stored in `record` from `start` on; `offset` is that of the value in the file.
    fn value(&self, record: Cow<'_, [u8]>, start: usize, offset: u64) -> Result<Vec<u8>> {
        if self.header.compression == CompressionType::None {
            let mut value = record.into_owned();
            value.drain(..start);
            return Ok(value);
        }
        self.decompress(&record[start..], offset)
    }

    fn decompress(&self, stored: &[u8], offset: u64) -> Result<Vec<u8>> {
        let mut value = Vec::new();
        self.decompressor
            .decompress(self.header.compression, stored, &mut value)
            .map_err(|error| error.context("blob").in_file(self.file.path()).at(offset))?;
        Ok(value)
    }
}

/// One record of a blob file.
pub struct Record<'a> {
    file: &'a BlobFile,
    /// The offset of the record in the file.
    pub offset: u64,
    /// Unix seconds after which the value expires; 0: never.
    pub expiration: u64,
    /// The user key.
    pub key: &'a [u8],
    /// The stored value.
    pub stored: &'a [u8],
}

impl Record<'_> {
    /// The offset of the value in the file, as a blob index has it.
    pub fn value_offset(&self) -> u64 {
        self.offset + (RECORD_HEADER_LEN + self.key.len()) as u64
    }

    /// The value, decompressed.
    pub fn value(&self) -> Result<Cow<'_, [u8]>> {
        if self.file.header.compression == CompressionType::None {
            return Ok(Cow::Borrowed(self.stored));
        }
        self.file
            .decompress(self.stored, self.value_offset())
            .map(Cow::Owned)
    }
}

/// Iterates over the records of a blob file; see [`BlobFile::records`].
pub struct Records<'a> {
    file: &'a BlobFile,
    /// The bytes of the file from `window_at` on.
    window: Cow<'a, [u8]>,
    window_at: u64,
    /// The start of the next record.
    at: u64,
    count: u64,
}

impl Records<'_> {
    /// The next record, with both its CRCs checked; `None` after the last.
    ///
    /// Errors: `Corruption` for a corrupt or truncated record, for one that extends beyond the file, and,
    /// after the last, for a footer with another number of records.
    #[expect(
        clippy::should_implement_trait,
        reason = "the record is borrowed until the next step"
    )]
    pub fn next(&mut self) -> Result<Option<Record<'_>>> {
        let (file, offset) = (self.file, self.at);
        if offset == file.records_end {
            return match &file.footer {
                Some(footer) if footer.blob_count != self.count => Err(file.bad(
                    &format!("footer counts {} blobs of {}", footer.blob_count, self.count),
                    offset,
                )),
                _ => Ok(None),
            };
        }
        let left = file.records_end - offset;
        if left < RECORD_HEADER_LEN as u64 {
            return Err(file.bad("truncated blob record", offset));
        }
        self.fill(RECORD_HEADER_LEN)?;
        let header = file.record_header(self.bytes(), offset)?;
        let len = header.record_len().filter(|&len| len <= left).ok_or_else(|| {
            file.bad(
                &format!(
                    "blob record claims {} + {} bytes beyond the end",
                    header.key_len, header.value_len
                ),
                offset,
            )
        })? as usize;
        self.fill(len)?;
        self.at += len as u64;
        self.count += 1;
        let blob = &self.window[(offset - self.window_at) as usize..][RECORD_HEADER_LEN..len];
        if masked_crc(blob) != header.blob_crc {
            return Err(file.bad("Blob CRC mismatch", offset));
        }
        let (key, stored) = blob.split_at(header.key_len as usize);
        Ok(Some(Record {
            file,
            offset,
            expiration: header.expiration,
            key,
            stored,
        }))
    }

    /// The bytes of the window from the next record on.
    fn bytes(&self) -> &[u8] {
        &self.window[(self.at - self.window_at) as usize..]
    }

    /// Makes the window hold `len` bytes from the next record on; the caller has checked that they exist.
    fn fill(&mut self, len: usize) -> Result<()> {
        let window_end = self.window_at + self.window.len() as u64;
        if self.at >= self.window_at && self.at + len as u64 <= window_end {
            return Ok(());
        }
        let left = (self.file.records_end - self.at) as usize;
        self.window = self.file.read(self.at, len.max(READAHEAD).min(left))?;
        self.window_at = self.at;
        Ok(())
    }
}
