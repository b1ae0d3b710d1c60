//! Memory that is handed out piece by piece from any thread and given back all at once.
//!
//! Two regions, each a list of chunks of which the newest is cut up by a `fetch_add`: one for the nodes of the
//! tree, which searches walk, and one for entries, of which a search reads few. Kept apart, nodes are dense in
//! cache lines and pages.
//!
//! Chunks start small and grow with what was taken before, so that the memtable of an idle column family costs next
//! to nothing, and that at most a third of a memtable is unused. Chunks of whole huge pages are asked for as such:
//! pages of 4 KiB cost more to take and give back, one fault each, than to fill.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::{self, NonNull};

use crate::sync::{AtomicPtr, AtomicUsize, Mutex, Ordering};

/// Alignment of pieces for nodes, and of chunks: a cache line.
const NODE_ALIGN: usize = 64;
/// Alignment of pieces for entries.
const ENTRY_ALIGN: usize = 4;

const FIRST_CHUNK: usize = 2 << 10;

const HUGE_PAGE: usize = 2 << 20;

/// At the start of each chunk.
struct Chunk {
    /// Offset of the first byte not handed out; beyond `len` when the chunk is used up.
    used: AtomicUsize,
    len: usize,
    /// Length of all chunks of the region up to this one.
    total: usize,
}

const HEADER: usize = size_of::<Chunk>().next_multiple_of(NODE_ALIGN);

/// Chunks cut up one after the other.
struct Region {
    /// The chunk being cut up; null before the first.
    current: AtomicPtr<Chunk>,
}

pub(crate) struct Arena {
    nodes: Region,
    entries: Region,
    /// Bytes taken from the allocator.
    allocated: AtomicUsize,
    block_size: usize,
    huge_pages: bool,
    /// Every block taken, and the lock under which one is.
    blocks: Mutex<Vec<(NonNull<u8>, Layout)>>,
}

// SAFETY: the blocks are owned by the arena, handed out piece by piece through atomics, and listed under the lock.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Takes chunks of up to `block_size` bytes, and pieces larger than a quarter of it on their own. With
    /// `huge_pages` a block size that is at least half a huge page counts as the next multiple of one.
    pub(crate) fn new(block_size: usize, huge_pages: bool) -> Arena {
        let block_size = match huge_pages && block_size >= HUGE_PAGE / 2 {
            true => block_size.next_multiple_of(HUGE_PAGE),
            false => block_size.max(FIRST_CHUNK),
        };
        Arena {
            nodes: Region {
                current: AtomicPtr::new(ptr::null_mut()),
            },
            entries: Region {
                current: AtomicPtr::new(ptr::null_mut()),
            },
            allocated: AtomicUsize::new(0),
            block_size,
            huge_pages,
            blocks: Mutex::new(Vec::new()),
        }
    }

    /// Bytes taken from the allocator. One relaxed load.
    #[inline]
    pub(crate) fn memory_usage(&self) -> usize {
        self.allocated.load(Ordering::Relaxed)
    }

    /// `len` bytes, aligned to a cache line, that nobody else has and that stay until the arena drops. Uninitialised.
    #[inline]
    pub(crate) fn allocate_node(&self, len: usize) -> NonNull<u8> {
        self.allocate(&self.nodes, len.next_multiple_of(NODE_ALIGN))
    }

    /// `len` bytes, aligned to four, otherwise as for nodes.
    #[inline]
    pub(crate) fn allocate_entry(&self, len: usize) -> NonNull<u8> {
        self.allocate(&self.entries, len.next_multiple_of(ENTRY_ALIGN))
    }

    #[inline]
    fn allocate(&self, region: &Region, len: usize) -> NonNull<u8> {
        if len > self.block_size / 4 {
            return self.take_block(&mut self.blocks.lock(), len);
        }
        self.cut(region.current.load(Ordering::Acquire), len)
            .unwrap_or_else(|| self.allocate_slow(region, len))
    }

    /// Cuts `len` bytes off `chunk`, if there is one and it has them.
    #[inline]
    fn cut(&self, chunk: *mut Chunk, len: usize) -> Option<NonNull<u8>> {
        // SAFETY: chunks are published with Release after their header was written, and live as long as the arena.
        let header = unsafe { chunk.as_ref() }?;
        let offset = header.used.fetch_add(len, Ordering::Relaxed);
        // `used` cannot wrap: who found too little room takes a new chunk, so it exceeds `len` by at most a piece a
        // thread.
        if offset + len > header.len {
            return None;
        }
        // SAFETY: within the chunk, as just checked.
        NonNull::new(unsafe { chunk.cast::<u8>().add(offset) })
    }

    #[cold]
    fn allocate_slow(&self, region: &Region, len: usize) -> NonNull<u8> {
        let mut blocks = self.blocks.lock();
        let current = region.current.load(Ordering::Acquire);
        // Another thread may have brought a new chunk meanwhile.
        if let Some(piece) = self.cut(current, len) {
            return piece;
        }
        // SAFETY: as in `cut`.
        let total = unsafe { current.as_ref() }.map_or(0, |header| header.total);
        let grown = 1 << (total / 2).checked_ilog2().unwrap_or(0);
        let size = grown
            .max((HEADER + len).next_multiple_of(NODE_ALIGN))
            .clamp(FIRST_CHUNK, self.block_size);
        let chunk = self.take_block(&mut blocks, size).cast::<Chunk>();
        let header = Chunk {
            used: AtomicUsize::new(HEADER + len),
            len: size,
            total: total + size,
        };
        // SAFETY: the block is ours alone until it is published below, aligned, and at least `HEADER + len` long:
        // `len` is at most a quarter of the block size, and a header fits the rest.
        unsafe { chunk.write(header) };
        region.current.store(chunk.as_ptr(), Ordering::Release);
        // SAFETY: within the chunk.
        unsafe { chunk.cast::<u8>().add(HEADER) }
    }

    fn take_block(&self, blocks: &mut Vec<(NonNull<u8>, Layout)>, size: usize) -> NonNull<u8> {
        let huge = self.huge_pages && size >= HUGE_PAGE;
        let align = if huge { HUGE_PAGE } else { NODE_ALIGN };
        let layout = Layout::from_size_align(size.max(1), align).expect("less than the address space");
        // SAFETY: the layout is not empty.
        let Some(block) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout);
        };
        if huge {
            ask_for_huge_pages(block, size / HUGE_PAGE * HUGE_PAGE);
        }
        blocks.push((block, layout));
        self.allocated.fetch_add(layout.size(), Ordering::Relaxed);
        block
    }
}

/// A wish, not more: where the system does not grant it, the memory is as good as any.
fn ask_for_huge_pages(block: NonNull<u8>, len: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: whole pages of memory that is ours; the advice changes nothing about what it holds.
    unsafe {
        libc::madvise(block.as_ptr().cast(), len, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (block, len);
}

impl Drop for Arena {
    fn drop(&mut self) {
        for (block, layout) in self.blocks.lock().drain(..) {
            // SAFETY: allocated with this layout, and nothing that was cut from it outlives the arena.
            unsafe { dealloc(block.as_ptr(), layout) };
        }
    }
}
