//! Writes of WAL and MANIFEST.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Error, Result};
use codec::CompressionType;
use vfs::{FileSync, WritableFile};

#[cfg(feature = "zstd")]
use crate::compression::FrameWriter;
use crate::format::{
    BLOCK_SIZE, HEADER_LEN, PredecessorWal, RECYCLABLE_HEADER_LEN, RecordType, TIMESTAMP_SIZE_ENTRY_LEN,
    put_record, put_timestamp_size,
};
#[cfg(not(feature = "zstd"))]
use crate::no_compression::FrameWriter;

/// The maximum number of bytes that the scratch buffer keeps between records, so that the memory of a huge
/// batch is freed.
const SCRATCH_KEPT: usize = 1 << 20;

/// The maximum number of bytes of records that are kept until a flush: RocksDB's
/// `writable_file_max_buffer_size`.
const BUFFER: usize = 1 << 20;

/// The longest fragment of a compressed record. RocksDB 7.8 mistakes a fragment for the previous one if both
/// fill a block from its start; none of ours does.
const COMPRESSED_FRAGMENT: usize = 16 << 10;

/// The options of a log writer. The default is a MANIFEST: classic headers, no compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// The number in the file's name; its low half goes into recyclable headers.
    pub log_number: u64,
    /// Whether to write recyclable headers, by which a reader distinguishes these records from the file's
    /// former contents. Required if an old file is overwritten. Default: false.
    pub recyclable: bool,
    /// `None` (the default) or `Zstd`; RocksDB supports no other for a WAL.
    pub compression: CompressionType,
    /// Whether records stay in the writer's memory until [`flush`](Writer::flush), or until there are 1 MiB
    /// of them; process death loses them. Default: false.
    pub manual_flush: bool,
}

impl Default for WriterOptions {
    fn default() -> WriterOptions {
        WriterOptions {
            log_number: 0,
            recyclable: false,
            compression: CompressionType::None,
            manual_flush: false,
        }
    }
}

/// Appends logical records to a log.
///
/// A record reaches the file by one [`append`](WritableFile::append), so a failed one has not changed the
/// writer's state: where the file allows it (`NoSpace` on a log), the same record may be tried again. After
/// other errors the file cannot be written any more, as `vfs` documents.
#[derive(Debug)]
pub struct Writer {
    file: Box<dyn WritableFile>,
    log_number: u32,
    recyclable: bool,
    /// The number of used bytes in the current block; a whole block if it is full.
    block_used: usize,
    /// The physical records of one logical record.
    scratch: Vec<u8>,
    frames: Option<FrameWriter>,
    manual_flush: bool,
    /// The physical records that were not passed to the file yet.
    unflushed: Vec<u8>,
    announced: BTreeMap<u32, u16>,
}

impl Writer {
    /// Writes to `file` from its current end, first a compression record if one is due. `NotSupported` for
    /// compression other than none and ZSTD.
    pub fn new(file: Box<dyn WritableFile>, options: WriterOptions) -> Result<Writer> {
        let frames = match options.compression {
            CompressionType::None => None,
            CompressionType::Zstd => Some(FrameWriter::new()?),
            other => {
                return Err(Error::not_supported(format!(
                    "WAL compression by {}",
                    other.property_name()
                )));
            }
        };
        let mut writer = Writer {
            block_used: (file.len() % BLOCK_SIZE as u64) as usize,
            file,
            log_number: options.log_number as u32,
            recyclable: options.recyclable,
            scratch: Vec::new(),
            frames,
            manual_flush: options.manual_flush,
            unflushed: Vec::new(),
            announced: BTreeMap::new(),
        };
        if writer.frames.is_some() && writer.file.is_empty() {
            let ty = (CompressionType::Zstd as u32).to_le_bytes();
            writer.add_unfragmented(RecordType::SetCompressionType, &ty)?;
        }
        Ok(writer)
    }

    /// Passes the scratch buffer to the file, or keeps it until a flush. On failure nothing was added.
    #[inline]
    fn put(&mut self) -> Result<()> {
        match self.manual_flush {
            false => self.file.append(&self.scratch),
            true => self.keep(),
        }
    }

    #[cold]
    fn keep(&mut self) -> Result<()> {
        if self.unflushed.len() + self.scratch.len() > BUFFER {
            self.hand_over()?;
        }
        self.unflushed.extend_from_slice(&self.scratch);
        Ok(())
    }

    /// Passes all kept records to the file; on failure they stay kept. After a panic of user code in the
    /// append they do not: an observer of the file panics when the records are in it, and they must not get
    /// there twice.
    fn hand_over(&mut self) -> Result<()> {
        let mut records = std::mem::take(&mut self.unflushed);
        let mut appended = Ok(());
        if !records.is_empty() {
            appended = self.file.append(&records);
        }
        if appended.is_ok() {
            records.clear();
            records.shrink_to(BUFFER);
        }
        self.unflushed = records;
        appended
    }

    fn typed(&self, ty: RecordType) -> RecordType {
        if self.recyclable { ty.recyclable() } else { ty }
    }

    #[inline]
    fn header_len(&self) -> usize {
        if self.recyclable {
            RECYCLABLE_HEADER_LEN
        } else {
            HEADER_LEN
        }
    }

    /// Appends a logical record of any length, including 0. Hot: a copy, a CRC and one append; no allocation
    /// once the scratch buffer has grown.
    #[inline]
    pub fn add_record(&mut self, payload: &[u8]) -> Result<()> {
        let used = self.block_used + self.header_len() + payload.len();
        if self.frames.is_none() && used <= BLOCK_SIZE {
            self.scratch.clear();
            let ty = if self.recyclable {
                RecordType::RecyclableFull
            } else {
                RecordType::Full
            };
            put_record(&mut self.scratch, ty, self.log_number, payload);
            self.put()?;
            self.block_used = used;
            return Ok(());
        }
        self.add_fragments(payload)
    }

    /// Appends a logical record after all kept ones and passes it to the file, regardless of
    /// [`manual_flush`](WriterOptions::manual_flush).
    pub fn add_record_and_flush(&mut self, payload: &[u8]) -> Result<()> {
        self.hand_over()?;
        let manual_flush = std::mem::take(&mut self.manual_flush);
        let added = self.add_record(payload);
        self.manual_flush = manual_flush;
        added
    }

    /// The general case of [`add_record`](Writer::add_record): compressed, or too long for the rest of the
    /// block.
    fn add_fragments(&mut self, payload: &[u8]) -> Result<()> {
        let header_len = self.header_len();
        let (ty_of_full, ty_of_first, ty_of_middle, ty_of_last) = (
            self.typed(RecordType::Full),
            self.typed(RecordType::First),
            self.typed(RecordType::Middle),
            self.typed(RecordType::Last),
        );
        let (mut rest, longest) = match &mut self.frames {
            None => (payload, BLOCK_SIZE),
            Some(frames) => (frames.compress(payload)?, COMPRESSED_FRAGMENT),
        };
        self.scratch.clear();
        let mut used = self.block_used;
        let mut begin = true;
        loop {
            if BLOCK_SIZE - used < header_len {
                self.scratch.resize(self.scratch.len() + BLOCK_SIZE - used, 0);
                used = 0;
            }
            // If the block has room for exactly one header, the first fragment is empty, as RocksDB writes
            // it.
            let room = (BLOCK_SIZE - used - header_len).min(longest);
            let (fragment, after) = rest.split_at(rest.len().min(room));
            let ty = match (begin, after.is_empty()) {
                (true, true) => ty_of_full,
                (true, false) => ty_of_first,
                (false, false) => ty_of_middle,
                (false, true) => ty_of_last,
            };
            put_record(&mut self.scratch, ty, self.log_number, fragment);
            used += header_len + fragment.len();
            (rest, begin) = (after, false);
            if rest.is_empty() {
                break;
            }
        }
        self.put()?;
        self.block_used = used;
        if self.scratch.capacity() > SCRATCH_KEPT {
            self.scratch.clear();
            self.scratch.shrink_to(SCRATCH_KEPT);
            if let Some(frames) = &mut self.frames {
                frames.shrink_to(SCRATCH_KEPT);
            }
        }
        Ok(())
    }

    /// Appends a record that must not be fragmented, after zeros that fill up the block if it does not fit.
    fn add_unfragmented(&mut self, ty: RecordType, payload: &[u8]) -> Result<()> {
        let len = payload.len()
            + if ty.is_recyclable() {
                RECYCLABLE_HEADER_LEN
            } else {
                HEADER_LEN
            };
        self.scratch.clear();
        let mut used = self.block_used;
        if BLOCK_SIZE - used < len {
            self.scratch.resize(BLOCK_SIZE - used, 0);
            used = 0;
        }
        put_record(&mut self.scratch, ty, self.log_number, payload);
        self.put()?;
        self.block_used = used + len;
        Ok(())
    }

    /// Announces the timestamp sizes of column families. Must be called before the first batch that touches
    /// them. Sizes announced before and sizes of 0 are skipped, so it may be called for every batch.
    /// `InvalidArgument` if a family has another size than before.
    pub fn add_timestamp_sizes(&mut self, sizes: &[(u32, u16)]) -> Result<()> {
        let mut fresh = BTreeMap::new();
        for &(family, size) in sizes {
            match self.announced.get(&family).or(fresh.get(&family)) {
                Some(&before) if before != size => {
                    return Err(Error::invalid_argument(format!(
                        "column family {family} has timestamps of {before} bytes in this WAL, not {size}"
                    )));
                }
                Some(_) => {}
                None if size == 0 => {}
                None => {
                    fresh.insert(family, size);
                }
            }
        }
        if fresh.is_empty() {
            return Ok(());
        }
        let ty = self.typed(RecordType::UserDefinedTimestampSize);
        let fresh: Vec<(u32, u16)> = fresh.into_iter().collect();
        for entries in fresh.chunks((BLOCK_SIZE - RECYCLABLE_HEADER_LEN) / TIMESTAMP_SIZE_ENTRY_LEN) {
            let mut payload = Vec::with_capacity(entries.len() * TIMESTAMP_SIZE_ENTRY_LEN);
            for &(family, size) in entries {
                put_timestamp_size(&mut payload, family, size);
            }
            self.add_unfragmented(ty, &payload)?;
            self.announced.extend(entries.iter().copied());
        }
        Ok(())
    }

    /// Describes the preceding WAL. RocksDB expects this record before all others except the compression one.
    pub fn add_predecessor(&mut self, predecessor: &PredecessorWal) -> Result<()> {
        let ty = self.typed(RecordType::PredecessorWalInfo);
        self.add_unfragmented(ty, &predecessor.encode())
    }

    /// Passes kept or buffered records to the kernel. A file created as a log buffers nothing.
    pub fn flush(&mut self) -> Result<()> {
        self.hand_over()?;
        self.file.flush()
    }

    /// True if records are kept that a [`flush`](Self::flush) would pass to the file.
    pub fn is_unflushed(&self) -> bool {
        !self.unflushed.is_empty()
    }

    /// Makes all records durable.
    pub fn sync(&mut self) -> Result<()> {
        self.hand_over()?;
        self.file.sync()
    }

    /// Passes kept records to the file, truncates everything after the data and closes the file. Syncs
    /// nothing.
    pub fn close(&mut self) -> Result<()> {
        self.hand_over()?;
        self.file.close()
    }

    /// Bytes written, including headers and fill, plus kept bytes.
    pub fn len(&self) -> u64 {
        self.file.len() + self.unflushed.len() as u64
    }

    /// True if nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The file. Direct appends to it break the log.
    pub fn file_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.file
    }

    /// A handle that syncs while the writer continues, if the file has one.
    pub fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        self.file.syncer()
    }
}

#[cfg(test)]
mod tests;
