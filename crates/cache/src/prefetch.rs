//! Prefetching of memory into the processor's caches.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches the `len` bytes at `address`, with every cache line they touch. Any address is allowed, even
/// one that is not mapped any more: the call never fails, and only affects timing.
#[inline(always)]
pub fn prefetch(address: usize, len: usize) {
    let mut at = address & !(LINE - 1);
    while at < address.wrapping_add(len) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch is a hint. It has no effect the program can see, and an address that is not
        // mapped is ignored.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(at as *const i8);
        }
        at += LINE;
    }
}
