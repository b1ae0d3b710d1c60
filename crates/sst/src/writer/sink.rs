//! Writes blocks to the file: each is compressed if that saves enough, gets its trailer, and is written with
//! one append.

use std::sync::Arc;

use base::Result;
use base::env::Stopwatch;
use base::statistics::{Histogram, Statistics};
use codec::{ChecksumType, CompressionOptions, CompressionType, Compressor};
use vfs::{FileSync, WritableFile};

use super::options::CompressionTally;
use crate::format::{BLOCK_TRAILER_LEN, BlockHandle, block_trailer, moved_trailer};

/// The maximum size in bytes of a block that is compressed. Larger blocks are stored raw, as in RocksDB.
const MAX_COMPRESSED: usize = i32::MAX as usize;

/// The form in which a block is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// The block is stored compressed.
    Compressed,
    /// Compression saved too little; the block is stored raw.
    Rejected,
    /// Compression was not tried; the block is stored raw.
    Raw,
}

/// Compresses a block and decides how it is stored. `statistics` records the time, if timers are on.
pub(super) fn compress(
    compressor: &mut Compressor,
    options: &CompressionOptions,
    statistics: Option<&Statistics>,
    contents: &[u8],
    compressed: &mut Vec<u8>,
) -> Result<Stored> {
    if contents.len() >= MAX_COMPRESSED {
        return Ok(Stored::Raw);
    }
    let timed = statistics.filter(|statistics| statistics.times_details());
    let started = timed.map(|_| Stopwatch::start());
    compressor.compress(contents, compressed)?;
    if let (Some(statistics), Some(started)) = (timed, started) {
        statistics.record_in_histogram(Histogram::CompressionTimesNanos, started.nanos());
    }
    Ok(match options.keeps(contents.len(), compressed.len()) {
        true => Stored::Compressed,
        false => Stored::Rejected,
    })
}

/// The file being written, and the state that all its blocks share.
pub(super) struct BlockSink {
    file: Box<dyn WritableFile>,
    offset: u64,
    checksum: ChecksumType,
    base_context_checksum: u32,
    compression_opts: CompressionOptions,
    statistics: Option<Arc<Statistics>>,
    compressed: Vec<u8>,
    /// One bit for each compression type byte in the file.
    types_used: u128,
    tally: CompressionTally,
}

impl BlockSink {
    pub fn new(
        file: Box<dyn WritableFile>,
        checksum: ChecksumType,
        base_context_checksum: u32,
        compression_opts: CompressionOptions,
        statistics: Option<Arc<Statistics>>,
    ) -> BlockSink {
        BlockSink {
            offset: file.len(),
            file,
            checksum,
            base_context_checksum,
            compression_opts,
            statistics,
            compressed: Vec::new(),
            types_used: 0,
            tally: CompressionTally::default(),
        }
    }

    /// The compression results so far.
    pub fn tally(&self) -> CompressionTally {
        self.tally
    }

    /// The statistics that record the time of compression.
    pub fn statistics(&self) -> Option<&Arc<Statistics>> {
        self.statistics.as_ref()
    }

    /// The bytes written.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The compression types in the file, ascending, without the type of raw blocks.
    pub fn types_used(&self) -> impl Iterator<Item = CompressionType> {
        let used = self.types_used;
        CompressionType::ALL
            .into_iter()
            .filter(move |&ty| ty != CompressionType::None && used >> ty as u8 & 1 != 0)
    }

    /// Writes a block that is never compressed, such as a filter or the properties. `contents` is a work
    /// buffer, as in [`write`](BlockSink::write).
    pub fn write_plain(&mut self, contents: &mut Vec<u8>) -> Result<BlockHandle> {
        self.append(contents, CompressionType::None)
    }

    /// Writes a data or index block. `contents` is a work buffer: it holds the contents at the call, and
    /// anything afterwards.
    pub fn write(
        &mut self,
        contents: &mut Vec<u8>,
        compressor: Option<&mut Compressor>,
    ) -> Result<(BlockHandle, Stored)> {
        let mut compressed = std::mem::take(&mut self.compressed);
        let (stored, ty) = match compressor {
            None => (Stored::Raw, CompressionType::None),
            Some(compressor) => {
                let statistics = self.statistics.as_deref();
                let options = &self.compression_opts;
                let stored = compress(compressor, options, statistics, contents, &mut compressed)?;
                (stored, compressor.compression_type())
            }
        };
        let handle = self.write_finished(contents, &mut compressed, stored, ty);
        self.compressed = compressed;
        Ok((handle?, stored))
    }

    /// Writes a block whose form is decided: `compressed` with compression `ty`, or raw. The two buffers are
    /// work space.
    pub fn write_finished(
        &mut self,
        contents: &mut Vec<u8>,
        compressed: &mut Vec<u8>,
        stored: Stored,
        ty: CompressionType,
    ) -> Result<BlockHandle> {
        match stored {
            Stored::Compressed => {
                self.tally.blocks += 1;
                self.tally.bytes_from += contents.len() as u64;
                self.tally.bytes_to += compressed.len() as u64;
                self.append(compressed, ty)
            }
            Stored::Rejected => {
                self.tally.rejected_blocks += 1;
                self.tally.rejected_bytes += contents.len() as u64;
                self.append(contents, CompressionType::None)
            }
            Stored::Raw => {
                self.tally.bypassed_blocks += 1;
                self.tally.bypassed_bytes += contents.len() as u64;
                self.append(contents, CompressionType::None)
            }
        }
    }

    /// Appends the bytes of a block and its trailer, which is built in the same buffer.
    fn append(&mut self, bytes: &mut Vec<u8>, ty: CompressionType) -> Result<BlockHandle> {
        let trailer = block_trailer(
            self.checksum,
            bytes,
            ty as u8,
            self.base_context_checksum,
            self.offset,
        );
        self.append_with(bytes, trailer)
    }

    fn append_with(&mut self, bytes: &mut Vec<u8>, trailer: [u8; BLOCK_TRAILER_LEN]) -> Result<BlockHandle> {
        let handle = BlockHandle::new(self.offset, bytes.len() as u64);
        bytes.extend_from_slice(&trailer);
        self.file.append(bytes)?;
        self.offset += handle.size + BLOCK_TRAILER_LEN as u64;
        self.types_used |= 1 << trailer[0];
        Ok(handle)
    }

    /// Appends a block of another table: its bytes, and the parts of which its trailer in this file is made.
    pub fn append_copied(
        &mut self,
        bytes: &mut Vec<u8>,
        type_byte: u8,
        placeless: u32,
    ) -> Result<BlockHandle> {
        let trailer = moved_trailer(type_byte, placeless, self.base_context_checksum, self.offset);
        self.append_with(bytes, trailer)
    }

    /// The checksum type of the file.
    pub fn checksum(&self) -> ChecksumType {
        self.checksum
    }

    /// Writes zeros up to the next multiple of `alignment`, a power of two.
    pub fn pad(&mut self, alignment: u64) -> Result<()> {
        let padding = self.offset.next_multiple_of(alignment) - self.offset;
        self.compressed.clear();
        self.compressed.resize(padding as usize, 0);
        self.file.append(&self.compressed)?;
        self.offset += padding;
        Ok(())
    }

    /// Writes the last bytes of the file and closes it. Returns its size, and a handle by which the caller
    /// must sync the file; `None`: it is synced, because `sync` is true or the file has no such handle.
    pub fn finish(mut self, footer: &[u8], sync: bool) -> Result<(u64, Option<Arc<dyn FileSync>>)> {
        self.file.append(footer)?;
        let unsynced = if sync { None } else { self.file.syncer() };
        if unsynced.is_none() {
            self.file.sync()?;
        }
        self.file.close()?;
        Ok((self.offset + footer.len() as u64, unsynced))
    }
}
