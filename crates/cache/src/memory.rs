//! Memory for cached values: allocated from the system in large pieces, which huge pages may back.
//!
//! A point read touches five or six places of a cache, each in another page. With pages of 4 KiB, a cache of
//! some hundred megabytes has many more pages than the TLB has entries, so that most of these accesses also
//! wait for a page table walk, which in a virtual machine takes longer than the data. Therefore blocks of all
//! sizes are allocated next to each other in pieces of the size of a huge page, and the system is asked to
//! back them so (Linux: `madvise(MADV_HUGEPAGE)`, where `/sys/kernel/mm/transparent_hugepage/enabled` is not
//! `never`). This also separates the cache's memory from all other memory: an evicted block leaves room for
//! the next block, not holes in the program's heap.
//!
//! An empty piece is returned to the system, except for the first piece of each part. All memory is freed
//! with the cache and the last buffer.

use std::alloc::{GlobalAlloc, Layout, handle_alloc_error};
use std::cell::Cell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use talc::DefaultBinning;
use talc::base::Talc;
use talc::source::GlobalAllocSource;

use crate::sync::Mutex;

/// The size of one request to the system and its alignment, in bytes: a huge page of x86-64 and usually of
/// AArch64.
const PIECE: usize = 2 << 20;
/// Caches of a smaller capacity take ordinary pages: a barely used huge page would be a large fraction of the
/// cache.
const HUGE_FROM: usize = 32 << 20;
/// The capacity that one part serves. Several parts keep the threads that fill the cache from contending for
/// one lock.
const PART_CAPACITY: usize = 64 << 20;
const MAX_PARTS: usize = 8;
/// The owner of a buffer's bytes is stored in front of them.
const HEADER: usize = size_of::<*const LockedHeap>();
/// A thread keeps the last piece of the heap that it freed for the next buffer, unless the piece is larger
/// than this.
const SPARE_LIMIT: usize = 64 << 10;
/// Pieces of the heap are multiples of this size, so that the spare one also fits a block of about the same
/// size.
const HEAP_STEP: usize = 512;

/// The memory of a cache's blocks, which [`Buffer`]s are allocated from.
pub struct BlockMemory {
    parts: Box<[Arc<LockedHeap>]>,
    claimed: Arc<AtomicUsize>,
}

/// A heap with its own lock.
struct LockedHeap {
    heap: Mutex<Talc<GlobalAllocSource<Pieces>, DefaultBinning>>,
}

/// The system as a source of memory.
#[derive(Debug)]
struct Pieces {
    huge: bool,
    claimed: Arc<AtomicUsize>,
}

// SAFETY: memory comes from a mapping of its own, aligned to `PIECE`, of which the caller gets all the bytes
// that it asks for.
unsafe impl GlobalAlloc for Pieces {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(start) = map(layout.size(), self.huge) else {
            return std::ptr::null_mut();
        };
        self.claimed.fetch_add(layout.size(), Ordering::Relaxed);
        start.as_ptr()
    }

    // SAFETY: the caller keeps the contract of the trait.
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        self.claimed.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller frees memory that `alloc` returned, of that size.
        unsafe { unmap(start, layout.size()) };
    }
}

/// `len` fresh bytes, aligned to [`PIECE`].
fn map(len: usize, huge: bool) -> Option<NonNull<u8>> {
    let room = len.checked_add(PIECE)?;
    // SAFETY: the call makes a new mapping, which does not replace an existing one.
    let all = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            room,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if all == libc::MAP_FAILED {
        return None;
    }
    let all = all.cast::<u8>();
    let before = all.align_offset(PIECE);
    let start = all.wrapping_add(before);
    let behind = room - before - len;
    for (edge, len) in [(all, before), (start.wrapping_add(len), behind)] {
        if len > 0 {
            // SAFETY: the range is a part of the new mapping that no code uses.
            unsafe { unmap(edge, len) };
        }
    }
    #[cfg(target_os = "linux")]
    if huge {
        // The result is ignored, because the call only gives advice to the kernel. SAFETY: the mapping is
        // ours, and its contents stay unchanged.
        unsafe { libc::madvise(start.cast(), len, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = huge;
    NonNull::new(start)
}

/// # Safety
/// `start..start + len` are whole pages of a mapping that no code uses any more.
unsafe fn unmap(start: *mut u8, len: usize) {
    // SAFETY: the caller ensures the conditions under `# Safety`.
    let unmapped = unsafe { libc::munmap(start.cast(), len) };
    debug_assert_eq!(unmapped, 0, "munmap of our own mapping succeeds");
}

/// The part that the current thread allocates from.
fn place_of_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PLACE: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    PLACE.try_with(|place| *place).unwrap_or(0)
}

impl BlockMemory {
    /// Creates the memory of a cache of `capacity` bytes. It is allocated later, when blocks are inserted.
    pub fn new(capacity: usize) -> BlockMemory {
        let parts = (capacity / PART_CAPACITY).clamp(1, MAX_PARTS);
        let claimed = Arc::new(AtomicUsize::new(0));
        let part = |_| {
            let pieces = Pieces {
                huge: capacity >= HUGE_FROM,
                claimed: claimed.clone(),
            };
            let source = GlobalAllocSource::with_block_size(pieces, PIECE);
            Arc::new(LockedHeap {
                heap: Mutex::new(Talc::new(source)),
            })
        };
        BlockMemory {
            parts: (0..parts).map(part).collect(),
            claimed,
        }
    }

    /// Bytes allocated from the system and not returned. The bytes among them that no buffer uses are room
    /// for more buffers.
    pub fn claimed(&self) -> usize {
        self.claimed.load(Ordering::Relaxed)
    }

    fn part(&self) -> &Arc<LockedHeap> {
        &self.parts[place_of_thread() % self.parts.len()]
    }
}

impl fmt::Debug for BlockMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockMemory")
            .field("parts", &self.parts.len())
            .field("claimed", &self.claimed())
            .finish()
    }
}

/// A piece of the heap, which must be freed. All of its bytes have been initialised.
struct HeapPiece {
    start: NonNull<u8>,
    size: usize,
}

thread_local! {
    /// The piece of the heap that the thread freed last. A block that is read and not cached is freed as soon
    /// as the next one is read, which then takes its piece.
    static SPARE: Cell<Option<HeapPiece>> = const { Cell::new(None) };
}

impl HeapPiece {
    /// A piece with room for `size` bytes: the thread's spare piece if it is about as large.
    fn new(size: usize) -> HeapPiece {
        if size <= SPARE_LIMIT
            && let Some(spare) = SPARE.try_with(Cell::take).ok().flatten()
            && (size..=2 * size).contains(&spare.size)
        {
            return spare;
        }
        let size = size.checked_next_multiple_of(HEAP_STEP).unwrap_or(size);
        let layout = layout_of(size);
        // SAFETY: the layout has a size.
        match NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }) {
            Some(start) => HeapPiece { start, size },
            None => handle_alloc_error(layout),
        }
    }

    /// Makes this piece the thread's spare one.
    fn keep(self) {
        if self.size <= SPARE_LIMIT {
            // While the thread ends, its thread-local storage is gone; then the piece is freed.
            let _ = SPARE.try_with(|spare| spare.set(Some(self)));
        }
    }
}

impl Drop for HeapPiece {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), layout_of(self.size)) };
    }
}

/// Bytes of a fixed length with one owner, in a cache's memory or on the heap. A buffer takes two words.
pub struct Buffer {
    /// The first byte. The [`HEADER`] in front of it holds an `Arc<Part>`, or, for a piece of the heap, an
    /// odd number: twice the size of the piece plus one.
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: it is the only owner of its bytes, and a part may be used from any thread.
unsafe impl Send for Buffer {}
// SAFETY: a shared buffer gives out shared bytes only.
unsafe impl Sync for Buffer {}

fn layout_of(size: usize) -> Layout {
    Layout::from_size_align(size, HEADER).expect("bytes that are in memory already")
}

impl Buffer {
    /// The bytes that a buffer takes besides its contents.
    pub const OVERHEAD: usize = HEADER + size_of::<usize>();

    /// A copy of `bytes`, in `memory` or on the heap.
    pub fn copy_of(memory: Option<&BlockMemory>, bytes: &[u8]) -> Buffer {
        Buffer::with(memory.map(BlockMemory::part), bytes.len(), |start| {
            // SAFETY: `start` is the first of `bytes.len()` bytes of a new allocation.
            unsafe {
                start
                    .as_ptr()
                    .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
            };
        })
    }

    /// `len` zeros, in the same memory as this buffer.
    pub fn zeroed_beside(&self, len: usize) -> Buffer {
        let part = self.part();
        // SAFETY: the header of a buffer in a part is an `Arc` of it, which the buffer holds meanwhile.
        let part = part.map(|part| unsafe { ManuallyDrop::new(Arc::from_raw(part.as_ptr())) });
        Buffer::with(part.as_deref(), len, |start| {
            // SAFETY: `start` has room for `len` bytes, as in `copy_of`.
            unsafe { start.as_ptr().write_bytes(0, len) };
        })
    }

    /// A buffer on the heap that `fill` writes. `fill` gets `len` bytes to write to, and returns how many of
    /// them, from the first on, the buffer keeps.
    ///
    /// # Errors
    /// The errors of `fill`.
    pub fn filled<E>(len: usize, fill: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Result<Buffer, E> {
        let mut buffer = Buffer::with(None, len, |_| {});
        let kept = fill(&mut buffer)?;
        // The header records the size of the piece, so the buffer's length may shrink.
        buffer.len = kept.min(len);
        Ok(buffer)
    }

    /// A buffer of `len` bytes. `fill` writes all of them; in a piece of the heap it may leave bytes as they
    /// are, because they are initialised.
    fn with(part: Option<&Arc<LockedHeap>>, len: usize, fill: impl FnOnce(NonNull<u8>)) -> Buffer {
        let size = len.saturating_add(HEADER);
        let (allocation, owner) = match part {
            Some(part) => {
                let layout = layout_of(size);
                // SAFETY: the layout has a size.
                let Some(allocation) = (unsafe { part.heap.lock().allocate(layout) }) else {
                    handle_alloc_error(layout);
                };
                (allocation, Arc::into_raw(part.clone()))
            }
            None => {
                let piece = ManuallyDrop::new(HeapPiece::new(size));
                (piece.start, std::ptr::without_provenance(piece.size << 1 | 1))
            }
        };
        // SAFETY: the allocation has room for the header and is aligned for it.
        let start = unsafe {
            allocation.cast().write(owner);
            allocation.add(HEADER)
        };
        fill(start);
        Buffer { start, len }
    }

    fn header(&self) -> *const LockedHeap {
        // SAFETY: the header was written when the buffer was made.
        unsafe { self.start.sub(HEADER).cast::<*const LockedHeap>().read() }
    }

    /// The part the buffer was allocated from.
    fn part(&self) -> Option<NonNull<LockedHeap>> {
        let header = self.header();
        NonNull::new(header.cast_mut()).filter(|_| header.addr() & 1 == 0)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: an allocation begins with its header.
        let allocation = unsafe { self.start.sub(HEADER) };
        match self.part() {
            Some(part) => {
                // SAFETY: the header is an `Arc` that this buffer owns, and is not read again.
                let part = unsafe { Arc::from_raw(part.as_ptr()) };
                let layout = layout_of(self.len + HEADER);
                // SAFETY: the buffer was allocated by that heap with this layout. `part` keeps the heap alive
                // during the call.
                unsafe { part.heap.lock().deallocate(allocation.as_ptr(), layout) };
            }
            None => HeapPiece {
                start: allocation,
                size: self.header().addr() >> 1,
            }
            .keep(),
        }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes from `start` on were written when it was made, and are its own.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the buffer owns `len` bytes from `start` on, and `&mut self` excludes all other users.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl From<&[u8]> for Buffer {
    fn from(bytes: &[u8]) -> Buffer {
        Buffer::copy_of(None, bytes)
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Buffer {
        Buffer::copy_of(None, &bytes)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn bytes(len: usize, mark: u8) -> Vec<u8> {
        (0..len).map(|i| (i as u8).wrapping_mul(31) ^ mark).collect()
    }

    #[test]
    fn buffers_come_and_go_in_any_order() {
        let mut rng = testkit::rng::rng();
        for capacity in [0, 1 << 20, 256 << 20] {
            let memory = BlockMemory::new(capacity);
            let mut held: Vec<(Buffer, Vec<u8>)> = Vec::new();
            for step in 0..4000 {
                if held.len() > 300 || !held.is_empty() && rng.one_in(3) {
                    let (buffer, expected) = held.swap_remove(rng.usize(..held.len()));
                    assert_eq!(buffer[..], expected[..]);
                } else {
                    let len = match rng.u32(..20) {
                        0 => 0,
                        1 => rng.usize(..3 << 20),
                        2..=8 => rng.usize(..300),
                        _ => 4000 + rng.usize(..400),
                    };
                    let memory = Some(&memory).filter(|_| !rng.one_in(5));
                    let expected = bytes(len, step as u8);
                    held.push((Buffer::copy_of(memory, &expected), expected));
                }
                if let Some((buffer, _)) = held.last()
                    && rng.one_in(4)
                {
                    let mut beside = buffer.zeroed_beside(rng.usize(..500));
                    assert!(beside.iter().all(|byte| *byte == 0));
                    beside.fill(0xff);
                    let expected = beside.to_vec();
                    held.push((beside, expected));
                }
            }
            assert!(memory.claimed() > 0);
            // The memory lives as long as the last buffer.
            drop(memory);
            assert!(held.iter().all(|(buffer, expected)| buffer[..] == expected[..]));
        }
    }

    #[test]
    fn the_last_piece_of_the_heap_is_the_next_buffers() {
        let block = |len| Buffer::copy_of(None, &bytes(len, 1));
        let first = block(4000);
        let address = first.as_ptr();
        drop(first);
        // The lengths are about as large as the spare piece, and as large as the piece allows.
        for len in [4087, 4088, 3000] {
            let again = block(len);
            assert_eq!((again.as_ptr(), again.len()), (address, len));
            assert_eq!(again[..], bytes(len, 1)[..]);
            // The thread keeps only one spare piece, and `again` has it.
            assert_ne!(block(4000).as_ptr(), address);
            drop(block(4000));
            drop(again);
        }
        // The lengths are too large for the spare piece, or far too small for it, or so large that the piece
        // is not kept.
        for len in [10_000, 100, SPARE_LIMIT, 1 << 20] {
            assert_eq!(block(len)[..], bytes(len, 1)[..]);
        }
    }

    #[test]
    fn what_is_empty_goes_back_to_the_system() {
        let memory = BlockMemory::new(64 << 20);
        let buffers: Vec<Buffer> = (0..8000)
            .map(|i| Buffer::copy_of(Some(&memory), &bytes(4100, i as u8)))
            .collect();
        let full = memory.claimed();
        assert!((32 << 20..35 << 20).contains(&full), "{full}");
        drop(buffers);
        assert_eq!(memory.claimed(), PIECE);
    }

    #[test]
    fn threads_take_and_give_back_each_others() {
        let memory = BlockMemory::new(256 << 20);
        let (give, take) = std::sync::mpsc::channel::<Buffer>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for buffer in take {
                    assert_eq!(buffer[..], bytes(buffer.len(), 7)[..]);
                }
            });
            for _ in 0..3 {
                let (give, memory) = (give.clone(), &memory);
                scope.spawn(move || {
                    for i in 0..2000 {
                        give.send(Buffer::copy_of(Some(memory), &bytes(i % 700, 7)))
                            .unwrap();
                    }
                });
            }
            drop(give);
        });
    }
}
