//! Memory for direct reads and writes.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// The alignment of buffers and offsets that every disk accepts for direct reads and writes, unless it
/// reports another.
pub(crate) const DIRECT_ALIGNMENT: usize = 4096;

/// Zeroed bytes at an address aligned for direct reads and writes.
#[derive(Debug)]
pub(crate) struct AlignedBuffer {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the buffer owns its bytes as a `Box<[u8]>` does.
unsafe impl Send for AlignedBuffer {}

// SAFETY: the type is `Sync` for the same reason as it is `Send`.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// A buffer of `len` bytes, not 0; `alignment` is a power of two.
    pub(crate) fn new(len: usize, alignment: usize) -> AlignedBuffer {
        assert!(len > 0);
        let layout =
            Layout::from_size_align(len, alignment).expect("buffers are small, alignments powers of two");
        // SAFETY: the layout's size is not 0.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        AlignedBuffer { start, layout }
    }

    /// The alignment of the buffer in bytes.
    pub(crate) fn alignment(&self) -> usize {
        self.layout.align()
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `layout.size()` bytes were allocated, zeroed, and are ours.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: `layout.size()` bytes were allocated, zeroed, and are ours alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this very layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_zero() {
        for (len, alignment) in [(1, 4096), (4096, 512), (100_000, 65536)] {
            let mut buffer = AlignedBuffer::new(len, alignment);
            assert_eq!(buffer.as_ptr() as usize % alignment, 0);
            assert_eq!(&buffer[..], vec![0; len]);
            buffer[len - 1] = 7;
            assert_eq!(buffer[len - 1], 7);
        }
    }
}
