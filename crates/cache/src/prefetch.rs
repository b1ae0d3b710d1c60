//! Asking the processor for memory ahead of time.

/// Bytes that travel together.
const LINE: usize = 64;

/// Starts to bring the `len` bytes at `address` close, all of them wherever in a line they begin. Any address will do, also one where nothing
/// is any more: this never fails and changes nothing but time.
#[inline(always)]
pub fn prefetch(address: usize, len: usize) {
    let mut at = address & !(LINE - 1);
    while at < address.wrapping_add(len) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch is a hint. It reads nothing the program can see, and an address that is not mapped is ignored.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(at as *const i8);
        }
        at += LINE;
    }
}
