//! Reads blocks from the file: locates, verifies and uncompresses them.

use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::env::Stopwatch;
use base::perf;
use base::statistics::{Histogram, Statistics, Ticker};
use base::{Error, Result};
use cache::{BlockMemory, Buffer};
use codec::checksum::ChecksumType;
use codec::compression::{CompressionType, Decompressor};
use vfs::{PendingRead, RandomAccessFile, ReadBuffer};

use crate::block::Block;
use crate::format::{self, BLOCK_TRAILER_LEN, BlockHandle, Footer};

/// Reads the blocks of one table. All readers of the table share it.
pub(crate) struct BlockFetcher {
    file: Arc<dyn RandomAccessFile>,
    checksum: ChecksumType,
    base_context: u32,
    /// The offset of the footer: no block ends beyond.
    limit: u64,
    /// The last bytes of the file, which one read returned while the table was opened.
    tail: Span,
    /// The decompressor of data blocks, with the table's dictionary.
    data: Decompressor,
    meta: Decompressor,
    /// True if the last data block read was not compressed: the next one is read directly into its final
    /// memory.
    plain: AtomicBool,
    statistics: Option<Arc<Statistics>>,
}

/// Bytes of the file that are in memory.
#[derive(Default)]
pub(crate) struct Span {
    pub offset: u64,
    pub bytes: ReadBuffer,
}

impl Span {
    /// `len` bytes from `offset` of the file on, if the span has them.
    pub fn get(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let start = offset.checked_sub(self.offset)?;
        self.bytes.get(usize::try_from(start).ok()?..)?.get(..len)
    }

    /// True if the span has the block with its trailer.
    pub fn holds(&self, handle: BlockHandle) -> bool {
        let len = (handle.size as usize).saturating_add(BLOCK_TRAILER_LEN);
        self.get(handle.offset, len).is_some()
    }
}

/// A block in its stored form.
#[derive(Clone, Copy)]
pub(crate) struct StoredBlock<'a> {
    /// The contents, compressed if the block is.
    pub contents: &'a [u8],
    /// The type byte of the block's trailer, which is its compression.
    pub type_byte: u8,
    /// The type of the block's checksum.
    pub checksum: ChecksumType,
    /// The block's checksum, without the part that depends on the block's position.
    pub placeless: u32,
}

/// The decompressor that a block needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Data,
    Meta,
}

thread_local! {
    /// A buffer for the stored form of a block that is being uncompressed.
    static STORED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// A buffer for an uncompressed block, before it is copied to memory of its exact size.
    static PLAIN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The lowest type byte whose compression is defined by a custom compression manager of the database.
const FIRST_CUSTOM_COMPRESSION: u8 = 0x80;

/// The maximum size in bytes of the buffer that a thread keeps for later blocks.
const KEPT_LIMIT: usize = 256 << 10;

fn shorten(kept: &mut Vec<u8>) {
    if kept.capacity() > KEPT_LIMIT {
        *kept = Vec::new();
    }
}

impl BlockFetcher {
    pub fn new(file: Arc<dyn RandomAccessFile>, footer: &Footer, limit: u64, tail: Span) -> BlockFetcher {
        BlockFetcher {
            file,
            checksum: footer.checksum,
            base_context: footer.base_context_checksum,
            limit,
            tail,
            data: Decompressor::new(None),
            meta: Decompressor::new(None),
            plain: AtomicBool::new(false),
            statistics: None,
        }
    }

    /// Counts in `statistics` from now on.
    pub fn set_statistics(&mut self, statistics: Option<Arc<Statistics>>) {
        self.statistics = statistics;
    }

    #[inline]
    pub fn statistics(&self) -> Option<&Arc<Statistics>> {
        self.statistics.as_ref()
    }

    pub fn set_dictionary(&mut self, dictionary: Arc<[u8]>) {
        self.data = Decompressor::new(Some(dictionary));
    }

    /// Drops the end of the file.
    pub fn drop_tail(&mut self) {
        self.tail = Span::default();
    }

    pub fn file(&self) -> &Arc<dyn RandomAccessFile> {
        &self.file
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Adds the file and the offset of the block at `handle` to an error in that block. An offset that the
    /// error already has counts from the start of the uncompressed block, and moves into the text.
    #[cold]
    pub fn in_block(&self, error: Error, handle: BlockHandle) -> Error {
        match error.offset() {
            Some(inner) if error.is_corruption() && error.file().is_none() => {
                Error::corruption(format!("{}, byte {inner} of the block", error.message()))
            }
            _ => error,
        }
        .at(handle.offset)
        .in_file(self.path())
    }

    #[cold]
    fn corruption(&self, message: String, handle: BlockHandle) -> Error {
        Error::corruption(message).at(handle.offset).in_file(self.path())
    }

    /// The length of a stored block with its trailer, if all of it is before the footer.
    fn stored_len(&self, handle: BlockHandle) -> Result<usize> {
        match handle.end() {
            Some(end) if end <= self.limit => Ok(handle.size as usize + BLOCK_TRAILER_LEN),
            _ => Err(self.corruption(
                format!(
                    "block handle beyond the end of the file: offset {}, size {}",
                    handle.offset, handle.size
                ),
                handle,
            )),
        }
    }

    /// The stored bytes of a block if they are in memory already.
    fn in_memory<'a>(&'a self, handle: BlockHandle, len: usize, near: &'a Span) -> Option<&'a [u8]> {
        near.get(handle.offset, len)
            .or_else(|| self.file.mapped()?.get(handle.offset as usize..)?.get(..len))
    }

    #[inline]
    fn count(&self, ticker: Ticker, amount: u64) {
        if let Some(statistics) = &self.statistics {
            statistics.record_tick(ticker, amount);
        }
    }

    /// Reads a block in its stored form.
    fn read_stored(&self, handle: BlockHandle, stored: &mut [u8]) -> Result<()> {
        perf::count(|cells| &cells.block_read_count, 1);
        perf::count(|cells| &cells.block_read_byte, stored.len() as u64);
        let _timer = perf::time(|cells| &cells.block_read_time);
        self.file.read_exact_at(handle.offset, stored)
    }

    /// Splits off the trailer and verifies it on request; returns contents and type byte.
    fn check<'a>(&self, handle: BlockHandle, stored: &'a [u8], verify: bool) -> Result<(&'a [u8], u8)> {
        let (contents, trailer) = stored
            .split_last_chunk::<BLOCK_TRAILER_LEN>()
            .ok_or_else(|| self.corruption("block without trailer".to_owned(), handle))?;
        let verified = !verify || {
            let _timer = perf::time(|cells| &cells.block_checksum_time);
            self.count(Ticker::BlockChecksumComputeCount, 1);
            self.verifies(handle, contents, trailer)
        };
        if !verified {
            self.count(Ticker::BlockChecksumMismatchCount, 1);
            let computed = format::block_trailer(
                self.checksum,
                contents,
                trailer[0],
                self.base_context,
                handle.offset,
            );
            let sum = |trailer: &[u8; BLOCK_TRAILER_LEN]| {
                u32::from_le_bytes([trailer[1], trailer[2], trailer[3], trailer[4]])
            };
            return Err(self.corruption(
                format!(
                    "block checksum mismatch: stored {:#010x}, computed {:#010x}, type {}, size {}",
                    sum(trailer),
                    sum(&computed),
                    self.checksum.name(),
                    handle.size
                ),
                handle,
            ));
        }
        Ok((contents, trailer[0]))
    }

    fn compression_type(&self, handle: BlockHandle, byte: u8) -> Result<CompressionType> {
        CompressionType::from_byte(byte).ok_or_else(|| match byte {
            FIRST_CUSTOM_COMPRESSION.. => Error::not_supported(format!(
                "compression type {byte:#04x} of a custom compression manager"
            ))
            .at(handle.offset)
            .in_file(self.path()),
            _ => self.corruption(format!("unknown compression type {byte:#04x}"), handle),
        })
    }

    fn decompressor(&self, kind: BlockKind) -> &Decompressor {
        match kind {
            BlockKind::Data => &self.data,
            BlockKind::Meta => &self.meta,
        }
    }

    /// The contents of a block, uncompressed.
    pub fn contents(&self, handle: BlockHandle, kind: BlockKind, verify: bool) -> Result<Vec<u8>> {
        self.with_contents(handle, kind, verify, &self.tail, <[u8]>::to_vec)
    }

    /// Calls `take` with the contents of a block, which are in memory of the thread, or where they are
    /// already: in `near`, or in a mapping.
    fn with_contents<R>(
        &self,
        handle: BlockHandle,
        kind: BlockKind,
        verify: bool,
        near: &Span,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<R> {
        let len = self.stored_len(handle)?;
        if let Some(stored) = self.in_memory(handle, len, near) {
            return self.uncompress(handle, kind, verify, stored, take);
        }
        STORED.with_borrow_mut(|stored| {
            stored.resize(len, 0);
            self.read_stored(handle, stored)?;
            let result = self.uncompress(handle, kind, verify, stored, take);
            shorten(stored);
            result
        })
    }

    fn uncompress<R>(
        &self,
        handle: BlockHandle,
        kind: BlockKind,
        verify: bool,
        stored: &[u8],
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<R> {
        let (contents, byte) = self.check(handle, stored, verify)?;
        self.uncompress_checked(handle, kind, contents, byte, take)
    }

    fn uncompress_checked<R>(
        &self,
        handle: BlockHandle,
        kind: BlockKind,
        contents: &[u8],
        byte: u8,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<R> {
        let ty = self.compression_type(handle, byte)?;
        let is_plain = ty == CompressionType::None;
        if kind == BlockKind::Data && self.plain.load(Ordering::Relaxed) != is_plain {
            self.plain.store(is_plain, Ordering::Relaxed);
        }
        match ty {
            CompressionType::None => Ok(take(contents)),
            ty => PLAIN.with_borrow_mut(|plain| {
                self.decompress(kind, ty, contents, plain)
                    .map_err(|error| self.in_block(error, handle))?;
                let result = take(plain);
                shorten(plain);
                Ok(result)
            }),
        }
    }

    fn decompress(
        &self,
        kind: BlockKind,
        ty: CompressionType,
        contents: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<()> {
        let timed = self
            .statistics
            .as_ref()
            .filter(|statistics| statistics.times_details());
        let started = timed.map(|_| Stopwatch::start());
        let timer = perf::time(|cells| &cells.block_decompress_time);
        self.decompressor(kind).decompress(ty, contents, plain)?;
        drop(timer);
        perf::count(|cells| &cells.block_decompress_count, 1);
        if let (Some(statistics), Some(started)) = (timed, started) {
            statistics.record_in_histogram(Histogram::DecompressionTimesNanos, started.nanos());
        }
        self.count(Ticker::BlocksDecompressed, 1);
        self.count(Ticker::BytesDecompressedFrom, contents.len() as u64);
        self.count(Ticker::BytesDecompressedTo, plain.len() as u64);
        Ok(())
    }

    /// A parsed meta block.
    ///
    /// Errors: `Corruption` with file and offset; errors of the file system.
    pub fn meta_block(&self, handle: BlockHandle, verify: bool) -> Result<Block> {
        self.block(handle, BlockKind::Meta, verify, &self.tail, None)
    }

    /// A parsed data block, from `near` if it is there, otherwise from the file. It is stored in `memory`, or
    /// on the heap.
    ///
    /// Errors: as for [`meta_block`](BlockFetcher::meta_block).
    pub fn data_block(
        &self,
        handle: BlockHandle,
        verify: bool,
        near: &Span,
        memory: Option<&BlockMemory>,
    ) -> Result<Block> {
        self.block(handle, BlockKind::Data, verify, near, memory)
    }

    fn block(
        &self,
        handle: BlockHandle,
        kind: BlockKind,
        verify: bool,
        near: &Span,
        memory: Option<&BlockMemory>,
    ) -> Result<Block> {
        if self.file.mapped().is_some()
            && !near.holds(handle)
            && let Some(block) = self.mapped_block(handle, verify)?
        {
            return Ok(block);
        }
        let copy = |contents: &[u8]| Buffer::copy_of(memory, contents);
        let in_place = memory.is_none() && kind == BlockKind::Data && self.plain.load(Ordering::Relaxed);
        let contents = match in_place && self.file.mapped().is_none() && !near.holds(handle) {
            true => self.read_in_place(handle, verify)?,
            false => self.with_contents(handle, kind, verify, near, copy)?,
        };
        Block::parse(contents).map_err(|error| self.in_block(error, handle))
    }

    /// Reads the contents of a data block that is probably not compressed: then they stay in the memory they
    /// are read into.
    fn read_in_place(&self, handle: BlockHandle, verify: bool) -> Result<Buffer> {
        let len = self.stored_len(handle)?;
        let mut type_byte = 0;
        let stored = Buffer::filled(len, |stored| {
            self.read_stored(handle, stored)?;
            let (contents, byte) = self.check(handle, stored, verify)?;
            type_byte = byte;
            Ok(contents.len())
        })?;
        if type_byte == CompressionType::None as u8 {
            return Ok(stored);
        }
        let copy = |contents: &[u8]| Buffer::copy_of(None, contents);
        self.uncompress_checked(handle, BlockKind::Data, &stored, type_byte, copy)
    }

    /// A block that is uncompressed in a mapping: no copy is made.
    fn mapped_block(&self, handle: BlockHandle, verify: bool) -> Result<Option<Block>> {
        let len = self.stored_len(handle)?;
        let Some(stored) = self.in_memory(handle, len, &self.tail) else {
            return Ok(None);
        };
        let (contents, byte) = self.check(handle, stored, verify)?;
        if byte != CompressionType::None as u8 {
            return Ok(None);
        }
        Block::parse_mapped(&self.file, handle.offset as usize, contents.len())
            .transpose()
            .map_err(|error| self.in_block(error, handle))
    }

    /// Calls `take` with the contents of a block that does not consist of entries: a filter, a dictionary. No
    /// copy is made before.
    pub fn raw<R>(&self, handle: BlockHandle, verify: bool, take: impl FnOnce(&[u8]) -> R) -> Result<R> {
        self.with_contents(handle, BlockKind::Meta, verify, &self.tail, take)
    }

    /// The stored contents and the trailer of a block, unverified.
    pub fn stored(&self, handle: BlockHandle) -> Result<(Vec<u8>, [u8; BLOCK_TRAILER_LEN])> {
        let len = self.stored_len(handle)?;
        let mut stored = match self.in_memory(handle, len, &self.tail) {
            Some(stored) => stored.to_vec(),
            None => {
                let mut stored = vec![0; len];
                self.file.read_exact_at(handle.offset, &mut stored)?;
                stored
            }
        };
        let trailer = *stored
            .last_chunk::<BLOCK_TRAILER_LEN>()
            .expect("a length that counts the trailer");
        stored.truncate(len - BLOCK_TRAILER_LEN);
        Ok((stored, trailer))
    }

    /// Calls `take` with a block in its stored form, whose checksum was verified: from `near` if it is there,
    /// otherwise read from `file`, a descriptor of the table's file.
    pub fn with_stored<R>(
        &self,
        file: &dyn RandomAccessFile,
        handle: BlockHandle,
        near: &Span,
        take: impl FnOnce(StoredBlock<'_>) -> R,
    ) -> Result<R> {
        let len = self.stored_len(handle)?;
        let checked = |stored: &[u8]| {
            let (contents, type_byte) = self.check(handle, stored, true)?;
            let trailer = stored.last_chunk::<BLOCK_TRAILER_LEN>();
            let placeless = |trailer| format::placeless_checksum(trailer, self.base_context, handle.offset);
            Ok(take(StoredBlock {
                contents,
                type_byte,
                checksum: self.checksum,
                placeless: trailer.map_or(0, placeless),
            }))
        };
        if let Some(stored) = self.in_memory(handle, len, near) {
            return checked(stored);
        }
        STORED.with_borrow_mut(|stored| {
            stored.resize(len, 0);
            file.read_exact_at(handle.offset, stored)?;
            let result = checked(stored);
            shorten(stored);
            result
        })
    }

    /// True if `trailer` matches `contents` at this handle.
    pub fn verifies(&self, handle: BlockHandle, contents: &[u8], trailer: &[u8; BLOCK_TRAILER_LEN]) -> bool {
        format::trailer_verifies(self.checksum, contents, trailer, self.base_context, handle.offset)
    }

    /// Fills `span` with the bytes from `offset` on of `file`, a descriptor of the table's file: `len` of
    /// them, or those up to the footer.
    pub fn fill(&self, file: &dyn RandomAccessFile, span: &mut Span, offset: u64, len: u64) -> Result<()> {
        let len = len.min(self.limit.saturating_sub(offset)) as usize;
        span.offset = offset;
        let read = file.read_exact_at(offset, span.bytes.resize(len));
        if read.is_err() {
            // A retry must not mistake the previous bytes for the file's.
            span.bytes.clear();
        }
        read
    }

    /// Starts the read of [`fill`](BlockFetcher::fill), into the memory of `span`.
    pub fn start_fill(
        &self,
        file: &dyn RandomAccessFile,
        span: &mut Span,
        offset: u64,
        len: u64,
    ) -> (Range<u64>, PendingRead) {
        let len = len.min(self.limit.saturating_sub(offset));
        let memory = std::mem::take(&mut span.bytes);
        (
            offset..offset + len,
            file.start_read(offset, len as usize, memory),
        )
    }

    /// Only verifies the checksum of a block.
    pub fn verify(&self, handle: BlockHandle) -> Result<()> {
        self.verify_near(handle, &self.tail)
    }

    /// Verifies a block as [`verify`](BlockFetcher::verify) does, from `near` if that holds the block.
    pub fn verify_near(&self, handle: BlockHandle, near: &Span) -> Result<()> {
        let len = self.stored_len(handle)?;
        if let Some(stored) = self.in_memory(handle, len, near) {
            return self.check(handle, stored, true).map(|_| ());
        }
        STORED.with_borrow_mut(|stored| {
            stored.resize(len, 0);
            self.file.read_exact_at(handle.offset, stored)?;
            self.check(handle, stored, true).map(|_| ())
        })
    }
}
