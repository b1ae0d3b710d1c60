//! Blocks: sorted entries with prefix-compressed keys.
//!
//! ```text
//! entry*                                 keys share what they can with the key before
//! restart offset u32 × num_restarts      where entries with whole keys begin
//! [hash index]                           of no use here: see below
//! packed word u32                        bits 0-27 num_restarts, 28 separated sections, 29 a hint (uniform keys), 31 hash index
//! ```
//!
//! * [`Block`]: the bytes, checked once when parsed, and an entry index (`entry_index`) from the second
//!   search on
//! * `cursor`: walks the entries of a data block, and holds the block meanwhile
//! * `search`: the path of a point lookup, which assembles no keys
//! * `protection`: checksums of the entries of a block in memory
//! * `entries`: a sequential walk over the small blocks (properties, metaindex, index, range deletions)
//! * [`builder`]: builds blocks
//!
//! Features of a file that make searches cheaper on disk (the hash index, separated keys and values) are
//! undone or ignored when a block is parsed: the entry index has the same effect for every file.

pub mod builder;
pub(crate) mod cursor;
pub(crate) mod entries;
mod entry;
mod entry_index;
mod hash_index;
mod key_buffer;
mod key_form;
#[expect(unsafe_code, reason = "a cursor holds the block it points into")]
mod pin;
mod protection;
mod saved;
pub(crate) mod search;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use base::coding;
use base::{Error, Result};
use cache::{Buffer, prefetch};

use crate::metadata_block::MetadataBlock;
use protection::BlockProtection;

pub(crate) use cursor::BlockCursor;
pub(crate) use entry::Entry;
pub(crate) use entry_index::EntryIndex;
pub(crate) use key_form::{KeyForm, Target};
pub(crate) use pin::BlockPin;
pub use pin::PinnedBytes;

/// The bits of the packed word that count restarts.
const NUM_RESTARTS_MASK: u32 = (1 << 28) - 1;
/// Keys and values are in separate sections.
const SEPARATED: u32 = 1 << 28;
/// A bit of the packed word that is never set.
const RESERVED: u32 = 1 << 30;
/// The bit of the packed word that is set if the block has a hash index, between the restart array and the
/// packed word.
const HASH_INDEX: u32 = 1 << 31;

/// The number of bytes of the next block that a walk prefetches. The processor would detect the walk by
/// itself, but only after several misses, and again in each page.
const WALK_PREFETCH: usize = 4096;

/// The number of bytes of its result entry that a lookup prefetches: its key, and the beginning of its value.
const ENTRY_PREFETCH: usize = 128;

/// The size of a restart offset, and of the packed word.
const WORD: usize = 4;

/// A parsed, uncompressed block. The value type of the block cache.
///
/// It has 56 bytes, so that together with the state word of a cache frame it is one cache line: a hit touches
/// only that line.
pub struct Block {
    data: Data,
    /// The end of the entries, where the restart array begins.
    entries_end: u32,
    num_restarts: u32,
    /// The bytes of the entry index, once it has been built. `None` inside if the block can have none.
    index: OnceLock<Option<Buffer>>,
    /// The counts of the entry index; set before `index`.
    index_counts: AtomicU32,
    searched: AtomicBool,
    /// True if the block was read without verification of its checksum.
    unverified: bool,
}

const _: () = assert!(size_of::<Block>() <= 56);

/// Memory that begins with the bytes of a block; more may follow.
enum Data {
    Owned(Buffer),
    /// A block in other memory, or with more attached to it, behind a pointer so that the usual case stays
    /// small.
    Apart(Box<Apart>),
}

/// The memory of a block that is not simply owned, or that has checksums attached.
struct Apart {
    bytes: Bytes,
    protection: Option<BlockProtection>,
}

enum Bytes {
    Owned(Buffer),
    /// A range of a mapped file.
    Mapped {
        file: Arc<dyn vfs::RandomAccessFile>,
        offset: usize,
        len: usize,
    },
    /// Not a block, but another part of a table in the cache.
    Metadata(MetadataBlock),
    /// Not a block, but a value of a blob file.
    Blob(Vec<u8>),
}

impl Bytes {
    #[inline]
    fn get(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Mapped { file, offset, len } => {
                let mapped = file.mapped().expect("a mapped file stays mapped");
                &mapped[*offset..*offset + *len]
            }
            Bytes::Metadata(_) => &[],
            Bytes::Blob(value) => value,
        }
    }
}

/// The shape of a block, from its last bytes.
struct Shape {
    entries_end: usize,
    num_restarts: usize,
    /// The values section, if there is one. The entries then end where the section begins.
    values: Option<Range<usize>>,
}

impl Shape {
    /// Checks everything except the entries themselves.
    fn parse(data: &[u8]) -> Result<Shape> {
        let bad =
            |what: &str, at: usize| Error::corruption(format!("bad block contents: {what}")).at(at as u64);
        let Some(mut rest) = data.len().checked_sub(WORD) else {
            return Err(bad("no packed word", 0));
        };
        if u32::try_from(data.len()).is_err() {
            return Err(bad("block of 4 GiB", 0));
        }
        let word = coding::u32_at(data, rest);
        if word & RESERVED != 0 {
            return Err(bad("reserved bit in the packed word", rest));
        }
        let values_offset = if word & SEPARATED != 0 {
            rest = rest.checked_sub(WORD).ok_or_else(|| bad("no values offset", 0))?;
            Some(coding::u32_at(data, rest) as usize)
        } else {
            None
        };
        if word & HASH_INDEX != 0 {
            let at = rest.checked_sub(2).ok_or_else(|| bad("no hash index", 0))?;
            let buckets = usize::from(u16::from_le_bytes([data[at], data[at + 1]]));
            rest = at
                .checked_sub(buckets)
                .ok_or_else(|| bad("hash index too long", at))?;
        }
        let num_restarts = (word & NUM_RESTARTS_MASK) as usize;
        let restarts = rest
            .checked_sub(num_restarts * WORD)
            .ok_or_else(|| bad("restart array too long", data.len() - WORD))?;
        let values = values_offset.map(|start| start..restarts);
        if values.as_ref().is_some_and(|values| values.start > values.end) {
            return Err(bad("values offset beyond the values", data.len() - 2 * WORD));
        }
        let entries_end = values.as_ref().map_or(restarts, |values| values.start);
        if num_restarts == 0 && entries_end != 0 {
            return Err(bad("entries without a restart", data.len() - WORD));
        }
        let mut last = None;
        for (i, offset) in data[restarts..][..num_restarts * WORD]
            .chunks_exact(WORD)
            .enumerate()
        {
            let offset = coding::u32_at(offset, 0) as usize;
            let follows = last.map_or(offset == 0, |last| last < offset && offset < entries_end);
            if !follows {
                return Err(bad("restart offset out of order", restarts + i * WORD));
            }
            last = Some(offset);
        }
        Ok(Shape {
            entries_end,
            num_restarts,
            values,
        })
    }
}

impl Block {
    /// Takes the contents of a block, uncompressed and without trailer. Checks every restart point but no
    /// entry: entries are checked when they are read.
    ///
    /// Errors: `Corruption` with the offset within the block.
    pub fn parse(contents: impl Into<Buffer>) -> Result<Block> {
        let bytes = contents.into();
        let shape = Shape::parse(&bytes)?;
        match shape.values.clone() {
            None => Ok(Block::new(Data::Owned(bytes), &shape)),
            Some(values) => Block::parse(join_sections(&bytes, &shape, values)?),
        }
    }

    /// Parses a block as [`Block::parse`] does, over `len` bytes at `offset` of a mapped file, without a
    /// copy. `None` if the file is not mapped that far, or the block there must be copied.
    pub(crate) fn parse_mapped(
        file: &Arc<dyn vfs::RandomAccessFile>,
        offset: usize,
        len: usize,
    ) -> Option<Result<Block>> {
        let data = file.mapped()?.get(offset..offset.checked_add(len)?)?;
        match Shape::parse(data) {
            Ok(shape) if shape.values.is_some() => None,
            Ok(shape) => {
                let bytes = Bytes::Mapped {
                    file: file.clone(),
                    offset,
                    len,
                };
                let apart = Apart {
                    bytes,
                    protection: None,
                };
                Some(Ok(Block::new(Data::Apart(Box::new(apart)), &shape)))
            }
            Err(error) => Some(Err(error)),
        }
    }

    fn new(data: Data, shape: &Shape) -> Block {
        Block {
            data,
            entries_end: shape.entries_end as u32,
            num_restarts: shape.num_restarts as u32,
            index: OnceLock::new(),
            index_counts: AtomicU32::new(0),
            searched: AtomicBool::new(false),
            unverified: false,
        }
    }

    /// Wraps a part of a table for a cache of blocks. It has no entries.
    pub(crate) fn of_metadata(part: MetadataBlock) -> Block {
        let apart = Apart {
            bytes: Bytes::Metadata(part),
            protection: None,
        };
        let shape = Shape {
            entries_end: 0,
            num_restarts: 0,
            values: None,
        };
        Block::new(Data::Apart(Box::new(apart)), &shape)
    }

    /// Wraps a value of a blob file for a cache of blocks. It has no entries; its [`data`](Block::data) is
    /// the value.
    pub fn of_blob(value: Vec<u8>) -> Block {
        let apart = Apart {
            bytes: Bytes::Blob(value),
            protection: None,
        };
        let shape = Shape {
            entries_end: 0,
            num_restarts: 0,
            values: None,
        };
        Block::new(Data::Apart(Box::new(apart)), &shape)
    }

    /// The wrapped part of a table, if it is not a block.
    pub(crate) fn metadata(&self) -> Option<&MetadataBlock> {
        match &self.data {
            Data::Apart(apart) => match &apart.bytes {
                Bytes::Metadata(part) => Some(part),
                _ => None,
            },
            Data::Owned(_) => None,
        }
    }

    /// The bytes of the block; bytes that do not belong to it may follow.
    #[inline]
    pub fn data(&self) -> &[u8] {
        match &self.data {
            Data::Owned(bytes) => bytes,
            Data::Apart(apart) => apart.bytes.get(),
        }
    }

    /// The same block, marked as read without verification of its checksum.
    pub(crate) fn unverified(mut self) -> Block {
        self.unverified = true;
        self
    }

    /// True if a reader may use this block, given whether it requires verification.
    #[inline(always)]
    pub(crate) fn serves(&self, verify: bool) -> bool {
        !(self.unverified && verify)
    }

    /// The same block with a checksum of `width` bytes for each of its entries, which every read of the entry
    /// verifies; 0 for none. Searches of it assemble whole keys, and it has no entry index, which no checksum
    /// would cover.
    ///
    /// Errors: `Corruption` with the offset of an entry that does not decode.
    pub(crate) fn protect(mut self, width: u8) -> Result<Block> {
        if width == 0 {
            return Ok(self);
        }
        let protection = Some(BlockProtection::new(self.entries(), width)?);
        let bytes = match self.data {
            Data::Owned(bytes) => Bytes::Owned(bytes),
            Data::Apart(apart) => apart.bytes,
        };
        self.data = Data::Apart(Box::new(Apart { bytes, protection }));
        self.index = OnceLock::from(None);
        Ok(self)
    }

    #[cfg(test)]
    fn with_protection(mut self, protection: BlockProtection) -> Block {
        let protection = Some(protection);
        let bytes = Bytes::Owned(self.data().into());
        self.data = Data::Apart(Box::new(Apart { bytes, protection }));
        self.index = OnceLock::from(None);
        self
    }

    /// The checksums of the block's entries, if the block has them.
    #[inline]
    pub(crate) fn protection(&self) -> Option<&BlockProtection> {
        match &self.data {
            Data::Owned(_) => None,
            Data::Apart(apart) => apart.protection.as_ref(),
        }
    }

    /// The entries: the block up to its restart array.
    #[inline]
    pub(crate) fn entries(&self) -> &[u8] {
        &self.data()[..self.entries_end as usize]
    }

    /// The number of restart points; 0 only in a block without entries.
    #[inline]
    pub fn num_restarts(&self) -> usize {
        self.num_restarts as usize
    }

    /// The offset of a restart point: below the end of the entries, except for the one restart of an empty
    /// block.
    #[inline]
    pub(crate) fn restart(&self, i: usize) -> usize {
        coding::u32_at(self.data(), self.entries_end as usize + i * WORD) as usize
    }

    /// True if there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries_end == 0
    }

    /// True if the block has the layout that a builder with these options would create, as far as that can be
    /// seen without the next entry: no hash index, a restart point every `restart_interval` entries, prefixes
    /// shared or not, and no entry but the last ends after `block_size` bytes. Reads the entries up to the
    /// second restart point.
    pub(crate) fn is_laid_out(&self, restart_interval: usize, shares: bool, block_size: usize) -> bool {
        let entries = self.entries();
        let plain_len = entries.len() + self.num_restarts() * WORD + WORD;
        if self.data().len() != plain_len || entries.is_empty() {
            return false;
        }
        let interval_end = match self.num_restarts() {
            0 | 1 => entries.len(),
            _ => self.restart(1),
        };
        let (mut at, mut count, mut first_key) = (0, 0, &[][..]);
        while at < interval_end {
            let Some(entry) = Entry::decode(entries, at) else {
                return false;
            };
            match count {
                0 => first_key = entry.suffix(entries),
                1 => {
                    // The number of shared bytes, and the first byte that is not shared.
                    let common = entry.shared.min(first_key.len());
                    let differs = entry.suffix(entries).first() != first_key.get(common);
                    if entry.shared > 0 && !shares || shares && !differs {
                        return false;
                    }
                }
                _ => {}
            }
            (at, count) = (entry.end, count + 1);
        }
        let whole = at == interval_end && count <= restart_interval;
        let regular = self.num_restarts() <= 1 || count == restart_interval;
        whole
            && regular
            && (entries.len() <= block_size || self.last_entry().is_some_and(|last| last <= block_size))
    }

    /// The offset of the last entry. `None` if an entry before it does not decode.
    fn last_entry(&self) -> Option<usize> {
        let entries = self.entries();
        let mut last = self.restart(self.num_restarts().checked_sub(1)?);
        loop {
            match Entry::decode(entries, last)?.end {
                end if end < entries.len() => last = end,
                _ => return Some(last),
            }
        }
    }

    /// The last restart point at or before `offset`.
    pub(crate) fn restart_before(&self, offset: usize) -> usize {
        let (mut low, mut high) = (0, self.num_restarts());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.restart(middle) <= offset {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The entry index, built now if it does not exist yet, which costs two passes over the block. `None` for
    /// blocks that cannot have one: larger than 64 KiB, or with a corrupt entry, which the plain search will
    /// report.
    #[inline]
    pub(crate) fn entry_index(&self) -> Option<EntryIndex<'_>> {
        match self.index.get() {
            Some(bytes) => self.view_entry_index(bytes),
            None => self.view_entry_index(self.build_entry_index()),
        }
    }

    /// The entry index for a search. The second search builds it, so that a block that is searched once never
    /// pays for it; the first one does if more are [expected](Block::expect_searches).
    #[inline]
    pub(crate) fn entry_index_for_search(&self) -> Option<EntryIndex<'_>> {
        match self.index.get() {
            Some(bytes) => self.view_entry_index(bytes),
            None if self.searched.load(Ordering::Relaxed) => self.entry_index(),
            None => {
                self.searched.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    /// Makes the next search build the entry index: while the block is in the processor's cache that takes a
    /// third of the later time. For blocks that will be searched again.
    pub(crate) fn expect_searches(&self) {
        self.searched.store(true, Ordering::Relaxed);
    }

    #[inline(always)]
    fn view_entry_index<'a>(&self, bytes: &'a Option<Buffer>) -> Option<EntryIndex<'a>> {
        // The counts are stored before `index`: a thread that loads `index` also sees the counts.
        let counts = self.index_counts.load(Ordering::Relaxed);
        bytes
            .as_deref()
            .map(|bytes| EntryIndex::new(bytes, counts, self.entries_end))
    }

    /// The address of the entry index; 0 while there is none.
    #[inline(always)]
    pub(crate) fn entry_index_address(&self) -> usize {
        match self.index.get() {
            Some(Some(bytes)) => bytes.as_ptr().addr(),
            _ => 0,
        }
    }

    #[cold]
    #[inline(never)]
    fn build_entry_index(&self) -> &Option<Buffer> {
        self.index.get_or_init(|| {
            let zeroed = |len| match &self.data {
                Data::Owned(bytes) => bytes.zeroed_beside(len),
                Data::Apart(_) => Buffer::from(vec![0; len]),
            };
            let (bytes, counts) = EntryIndex::build(self.data(), self.entries_end as usize, zeroed)?;
            self.index_counts.store(counts, Ordering::Relaxed);
            Some(bytes)
        })
    }

    /// Prefetches the result entry of a search for `user_key`, if there is an entry index. Keys must be in
    /// bytewise order.
    #[inline]
    pub(crate) fn prefetch_entry(&self, user_key: &[u8]) {
        let Some(index) = self.index.get().and_then(|bytes| self.view_entry_index(bytes)) else {
            return;
        };
        let (i, _) = index.search(user_key);
        if i < index.len()
            && let Some(rest) = self.entries().get(index.offset(i)..)
        {
            prefetch(rest.as_ptr().addr(), ENTRY_PREFETCH.min(rest.len()));
        }
    }

    /// Prefetches the memory that a walk from the front reads.
    #[inline]
    pub(crate) fn prefetch_front(&self) {
        let len = WALK_PREFETCH.min(self.entries_end as usize);
        prefetch(self.data().as_ptr().addr(), len);
    }

    /// Prefetches the memory that a walk from the back reads.
    #[inline]
    pub(crate) fn prefetch_back(&self) {
        let end = self.entries_end as usize;
        let len = WALK_PREFETCH.min(end);
        prefetch(self.data().as_ptr().addr() + end - len, len);
        if let Some(Some(bytes)) = self.index.get() {
            prefetch(bytes.as_ptr().addr(), bytes.len());
        }
    }

    /// Bytes to charge to the block cache, besides this value itself: those of the block and of a possible
    /// entry index.
    pub fn charge(&self) -> usize {
        if let Some(part) = self.metadata() {
            return size_of::<Apart>() + part.memory_usage();
        }
        let data = match &self.data {
            Data::Owned(bytes) => bytes.len() + Buffer::OVERHEAD,
            Data::Apart(apart) => {
                let bytes = match &apart.bytes {
                    Bytes::Owned(bytes) => bytes.len() + Buffer::OVERHEAD,
                    Bytes::Mapped { .. } | Bytes::Metadata(_) => 0,
                    Bytes::Blob(value) => return size_of::<Apart>() + value.capacity(),
                };
                let protection = apart.protection.as_ref();
                size_of::<Apart>() + bytes + protection.map_or(0, BlockProtection::memory_usage)
            }
        };
        if self.protection().is_some() {
            return data;
        }
        data + EntryIndex::estimate(self.entries_end as usize, self.num_restarts())
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("entries_end", &self.entries_end)
            .field("num_restarts", &self.num_restarts)
            .finish_non_exhaustive()
    }
}

/// Rewrites a block with separated keys and values as an ordinary one: from here on there is only one layout.
///
/// At a restart point an entry has one more varint, the offset of its value in the values section; the values
/// of the entries in between follow each other.
fn join_sections(data: &[u8], shape: &Shape, values: Range<usize>) -> Result<Vec<u8>> {
    let keys = &data[..values.start];
    let restarts = &data[values.end..];
    let section = &data[values];
    let mut out = Vec::with_capacity(data.len());
    let mut new_restarts = Vec::with_capacity(shape.num_restarts);
    let mut next_value = 0usize;
    let mut reader = coding::Reader::new(keys);
    while !reader.is_empty() {
        let at = reader.position();
        let is_restart = new_restarts.len() < shape.num_restarts
            && coding::u32_at(restarts, new_restarts.len() * WORD) as usize == at;
        let shared = reader.varint32("shared length")?;
        let non_shared = reader.varint32("key length")?;
        let value_len = reader.varint32("value length")?;
        if is_restart {
            next_value = reader.varint32("value offset")? as usize;
            new_restarts.push(out.len() as u32);
        }
        let key = reader.bytes(non_shared as usize, "key")?;
        let value = section
            .get(next_value..)
            .and_then(|rest| rest.get(..value_len as usize))
            .ok_or_else(|| {
                Error::corruption("bad block contents: value beyond the values section").at(at as u64)
            })?;
        next_value += value.len();
        coding::put_varint32(&mut out, shared);
        coding::put_varint32(&mut out, non_shared);
        coding::put_varint32(&mut out, value_len);
        out.extend_from_slice(key);
        out.extend_from_slice(value);
        if out.len() > data.len() {
            return Err(Error::corruption("bad block contents: overlapping values").at(at as u64));
        }
    }
    if new_restarts.len() != shape.num_restarts {
        // An empty block has its one restart at 0, where no entry is.
        if !(keys.is_empty() && shape.num_restarts == 1) {
            return Err(Error::corruption(
                "bad block contents: restart offset inside an entry",
            ));
        }
        new_restarts.push(0);
    }
    for restart in &new_restarts {
        coding::put_u32(&mut out, *restart);
    }
    coding::put_u32(&mut out, new_restarts.len() as u32);
    Ok(out)
}

#[cfg(test)]
mod tests;
