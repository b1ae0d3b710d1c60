//! An arena: threads allocate pieces of memory from it, and all are freed at once.
//!
//! The newest block is divided by a `fetch_add`: into entries, of which a search reads few, and into chunks
//! for the nodes of the tree, which searches walk. Kept apart, nodes are dense in cache lines and pages.
//! Chunks for nodes are small, so the unused memory is little more than the rest of one block.
//!
//! Blocks start small and grow with the memory allocated before, so that the memtable of an idle column
//! family costs next to nothing, and at most a third of a memtable is unused. Blocks of whole huge pages
//! request huge pages: pages of 4 KiB cost more to allocate and free, one fault each, than to fill. They come
//! from the system and are returned to it, because an allocator retains memory once other allocations have
//! taken places between them.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::{self, NonNull};

use crate::sync::{AtomicPtr, AtomicUsize, Mutex, Ordering};

/// Alignment of node pieces, and of chunks: a cache line.
const NODE_ALIGN: usize = 64;
/// Alignment of entry pieces.
const ENTRY_ALIGN: usize = 2;

const FIRST_BLOCK: usize = 2 << 10;
const FIRST_NODE_CHUNK: usize = 512;
/// The maximum size of a chunk for nodes, in bytes.
const NODE_CHUNK: usize = 32 << 10;

/// An upper bound of all addresses: a process gets only 48 bits unless it asks for more.
const ADDRESS_END: u64 = 1 << 48;

const HUGE_PAGE: usize = 2 << 20;
/// The length of a mapped block is a multiple of this, which is at least the page size of every supported
/// platform.
#[cfg(target_os = "linux")]
const SMALL_PAGE: usize = 64 << 10;

/// The header of each block, and of each chunk for nodes.
struct Chunk {
    /// The offset of the first free byte; beyond `len` when the chunk is used up.
    used: AtomicUsize,
    len: usize,
    /// The sum of the lengths of all chunks of the region up to this one.
    total: usize,
}

const HEADER: usize = size_of::<Chunk>().next_multiple_of(NODE_ALIGN);

/// A list of chunks that are divided one after the other.
struct Region {
    /// The chunk from which pieces are cut; null before the first chunk.
    current: AtomicPtr<Chunk>,
}

impl Region {
    /// The sum of the lengths of all chunks in the list.
    fn total(&self) -> usize {
        // SAFETY: chunks are published with Release after their header was written, and live as long as the
        // arena.
        unsafe { self.current.load(Ordering::Acquire).as_ref() }.map_or(0, |header| header.total)
    }

    /// Makes `memory` the newest chunk and returns its first `first` bytes.
    ///
    /// # Safety
    /// The memory is aligned to a cache line, exclusively the caller's, lives as long as the arena, and has
    /// `len` bytes, with room for a header and the first piece.
    unsafe fn begin(&self, memory: NonNull<u8>, len: usize, total: usize, first: usize) -> NonNull<u8> {
        let chunk = memory.cast::<Chunk>();
        let header = Chunk {
            used: AtomicUsize::new(HEADER + first),
            len,
            total,
        };
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe { chunk.write(header) };
        self.current.store(chunk.as_ptr(), Ordering::Release);
        // SAFETY: within the chunk.
        unsafe { memory.add(HEADER) }
    }
}

/// Memory that the arena owns.
struct Block {
    start: NonNull<u8>,
    layout: Layout,
    /// True if the memory was mapped from the system, and false if it was allocated.
    mapped: bool,
}

pub(crate) struct Arena {
    /// Blocks, which are divided into entries.
    entries: Region,
    /// Chunks for nodes, which are allocated from blocks.
    nodes: Region,
    /// Bytes allocated.
    allocated: AtomicUsize,
    block_size: usize,
    huge_pages: bool,
    /// All blocks. A new block is allocated under this lock.
    blocks: Mutex<Vec<Block>>,
}

// SAFETY: the blocks are owned by the arena, handed out piece by piece through atomics, and listed under the
// lock.
unsafe impl Send for Arena {}
// SAFETY: the type is `Sync` for the same reason as it is `Send`.
unsafe impl Sync for Arena {}

impl Arena {
    /// An arena with blocks of up to `block_size` bytes; pieces larger than a quarter of it get their own
    /// blocks. With `huge_pages`, a block size of at least half a huge page is rounded up to a multiple of
    /// one.
    pub(crate) fn new(block_size: usize, huge_pages: bool) -> Arena {
        let block_size = match huge_pages && block_size >= HUGE_PAGE / 2 {
            true => block_size.next_multiple_of(HUGE_PAGE),
            false => block_size.max(FIRST_BLOCK),
        };
        Arena {
            entries: Region {
                current: AtomicPtr::new(ptr::null_mut()),
            },
            nodes: Region {
                current: AtomicPtr::new(ptr::null_mut()),
            },
            allocated: AtomicUsize::new(0),
            block_size,
            huge_pages,
            blocks: Mutex::new(Vec::new()),
        }
    }

    /// Bytes allocated. One relaxed load.
    #[inline]
    pub(crate) fn allocated(&self) -> usize {
        self.allocated.load(Ordering::Relaxed)
    }

    /// Bytes allocated, without the free bytes of the newest block. A few loads.
    #[inline]
    pub(crate) fn used(&self) -> usize {
        let allocated = self.allocated();
        // SAFETY: the header of a chunk was written before the chunk was published, and it lives as long as
        // the arena.
        let Some(block) = (unsafe { self.entries.current.load(Ordering::Acquire).as_ref() }) else {
            return allocated;
        };
        let unused = block.len.saturating_sub(block.used.load(Ordering::Relaxed));
        allocated.saturating_sub(unused)
    }

    /// `len` uninitialised bytes, aligned to a cache line and exclusively the caller's, which stay until the
    /// arena drops.
    #[inline]
    pub(crate) fn allocate_node(&self, len: usize) -> NonNull<u8> {
        let len = len.next_multiple_of(NODE_ALIGN);
        self.cut(self.nodes.current.load(Ordering::Acquire), len)
            .unwrap_or_else(|| self.more_nodes(len))
    }

    /// `len` bytes, aligned to two, otherwise as for nodes.
    #[inline]
    pub(crate) fn allocate_entry(&self, len: usize) -> NonNull<u8> {
        let len = len.next_multiple_of(ENTRY_ALIGN);
        if len > self.block_size / 4 {
            return self.take_block(&mut self.blocks.lock(), len);
        }
        self.cut(self.entries.current.load(Ordering::Acquire), len)
            .unwrap_or_else(|| self.more_entries(&mut self.blocks.lock(), len))
    }

    /// Takes `len` bytes of `chunk`, if that is not null and has room for them.
    #[inline]
    fn cut(&self, chunk: *mut Chunk, len: usize) -> Option<NonNull<u8>> {
        // SAFETY: chunks are published with Release after their header was written, and chunks live as long
        // as the arena.
        let header = unsafe { chunk.as_ref() }?;
        let offset = header.used.fetch_add(len, Ordering::Relaxed);
        // `used` cannot wrap: a thread that finds too little room takes a new chunk, so `used` exceeds `len`
        // by at most one piece per thread.
        if offset + len > header.len {
            return None;
        }
        // SAFETY: within the chunk, as just checked.
        NonNull::new(unsafe { chunk.cast::<u8>().add(offset) })
    }

    /// `len` bytes of the newest block, or of a new one.
    #[cold]
    fn more_entries(&self, blocks: &mut Vec<Block>, len: usize) -> NonNull<u8> {
        // Another thread may have added a block meanwhile.
        if let Some(piece) = self.cut(self.entries.current.load(Ordering::Acquire), len) {
            return piece;
        }
        let total = self.entries.total();
        let grown = 1 << (total / 2).checked_ilog2().unwrap_or(0);
        let size = grown
            .max((HEADER + len).next_multiple_of(NODE_ALIGN))
            .clamp(FIRST_BLOCK, self.block_size);
        let block = self.take_block(blocks, size);
        // SAFETY: the block is exclusively ours, aligned, and at least `HEADER + len` long: `len` is at most
        // a quarter of the block size, and a header fits the rest.
        unsafe { self.entries.begin(block, size, total + size, len) }
    }

    /// `len` bytes, whole cache lines, of the newest chunk for nodes, or of a new one.
    #[cold]
    fn more_nodes(&self, len: usize) -> NonNull<u8> {
        let mut blocks = self.blocks.lock();
        if let Some(piece) = self.cut(self.nodes.current.load(Ordering::Acquire), len) {
            return piece;
        }
        let total = self.nodes.total();
        let grown = 1 << (total / 2).checked_ilog2().unwrap_or(0);
        let size = grown
            .max(FIRST_NODE_CHUNK)
            .min(NODE_CHUNK.min(self.block_size / 4 - NODE_ALIGN))
            .max(HEADER + len);
        // The extra line is for the alignment of the chunk, because the block's pieces are not aligned to a
        // line.
        let piece = size + NODE_ALIGN;
        let chunk = self
            .cut(self.entries.current.load(Ordering::Acquire), piece)
            .unwrap_or_else(|| self.more_entries(&mut blocks, piece));
        let off = chunk.align_offset(NODE_ALIGN);
        // SAFETY: the piece is exclusively ours, and longer by a line than the chunk that begins with the
        // first whole line. The chunk has room for a header and `len` bytes.
        unsafe { self.nodes.begin(chunk.add(off), size, total + size, len) }
    }

    fn take_block(&self, blocks: &mut Vec<Block>, size: usize) -> NonNull<u8> {
        let huge = self.huge_pages && size >= HUGE_PAGE;
        let align = if huge { HUGE_PAGE } else { NODE_ALIGN };
        let layout = Layout::from_size_align(size.max(1), align).expect("less than the address space");
        let mapped = huge.then(|| map(layout)).flatten();
        // SAFETY: the layout is not empty.
        let allocated = || NonNull::new(unsafe { alloc(layout) });
        let Some(block) = mapped.or_else(allocated) else {
            handle_alloc_error(layout);
        };
        let end = block.addr().get() as u64 + layout.size() as u64;
        assert!(end <= ADDRESS_END, "memory beyond the first 48 bits of addresses");
        if huge {
            ask_for_huge_pages(block, size / HUGE_PAGE * HUGE_PAGE);
        }
        blocks.push(Block {
            start: block,
            layout,
            mapped: mapped.is_some(),
        });
        self.allocated.fetch_add(layout.size(), Ordering::Relaxed);
        block
    }
}

/// Requests huge pages for the block. The system may ignore the request.
fn ask_for_huge_pages(block: NonNull<u8>, len: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: whole pages of memory that is ours; the advice does not change their contents.
    unsafe {
        libc::madvise(block.as_ptr().cast(), len, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (block, len);
}

/// Memory of the size and alignment of `layout`, in whole pages, mapped from the system; `None` if the system
/// refuses or mappings are not used.
fn map(layout: Layout) -> Option<NonNull<u8>> {
    #[cfg(target_os = "linux")]
    {
        let (size, align) = (layout.size().next_multiple_of(SMALL_PAGE), layout.align());
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory at an address of the system's choice. The whole pages before and after the
        // aligned part are unmapped, and no other code has them.
        unsafe {
            let start = libc::mmap(ptr::null_mut(), size + align, protection, flags, -1, 0);
            if start == libc::MAP_FAILED {
                return None;
            }
            let start = start.cast::<u8>();
            let before = start.align_offset(align);
            let block = start.add(before);
            if before > 0 {
                libc::munmap(start.cast(), before);
            }
            if before < align {
                libc::munmap(block.add(size).cast(), align - before);
            }
            NonNull::new(block)
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = layout;
        None
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for block in self.blocks.lock().drain(..) {
            let Block {
                start,
                layout,
                mapped,
            } = block;
            // SAFETY: the block was mapped or allocated with this layout, and no piece of it outlives the
            // arena.
            unsafe {
                #[cfg(target_os = "linux")]
                if mapped {
                    let size = layout.size().next_multiple_of(SMALL_PAGE);
                    libc::munmap(start.as_ptr().cast(), size);
                    continue;
                }
                debug_assert!(!mapped);
                dealloc(start.as_ptr(), layout);
            }
        }
    }
}
