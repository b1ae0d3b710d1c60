//! The layout of an entry in the arena: lengths, internal key, value.
//!
//! ```text
//! lengths u16, internal key, value             key length in the upper 7 bits, value length in the lower 9
//! u16::MAX, key length u32, value length u32, internal key, value        where one of them has no room there
//! ```
//!
//! In a memtable with checksums, two fields precede the lengths, so that they are found without trusting the
//! lengths: the sum of the lengths (u32), and the checksum of the row, rounded up to whole words of four
//! bytes.

use std::cmp::Ordering;
use std::ptr::{self, NonNull};
use std::slice;

use base::internal_key::{TRAILER_LEN, trailer, user_key};
use base::{InternalComparator, Protection, SeqNo};

use crate::arena::Arena;

/// The lengths; the internal key and then the value follow. Never written after the entry is published.
#[repr(C)]
pub(crate) struct Entry {
    lengths: u16,
}

/// The number of bits for the value's length.
const VALUE_BITS: u32 = 9;
/// A mark in place of the lengths: each follows as a `u32`, aligned as the entry is. No short key has that
/// length.
const LONG: u16 = u16::MAX;
const MAX_SHORT_KEY: usize = (LONG >> VALUE_BITS) as usize - 1;
const MAX_SHORT_VALUE: usize = (1 << VALUE_BITS) - 1;

impl Entry {
    /// Copies an entry into the arena.
    ///
    /// # Panics
    /// If key or value have 4 GiB or more, which no write batch can hold.
    #[inline]
    pub(crate) fn allocate(
        arena: &Arena,
        user_key: &[u8],
        entry_trailer: u64,
        value: &[u8],
    ) -> NonNull<Entry> {
        let entry = arena.allocate_entry(Entry::size(user_key, value)).cast::<Entry>();
        // SAFETY: the block is exclusively ours, aligned for the lengths, and as long as the parts.
        unsafe { Entry::write(entry, user_key, entry_trailer, value) };
        entry
    }

    #[inline]
    fn size(user_key: &[u8], value: &[u8]) -> usize {
        let key_len = user_key.len() + TRAILER_LEN;
        let long = match is_short(key_len, value.len()) {
            true => 0,
            false => size_of::<[u32; 2]>(),
        };
        size_of::<Entry>() + long + key_len + value.len()
    }

    /// # Safety
    /// `entry` is aligned, exclusively the caller's, and has [`size`](Self::size) bytes.
    #[inline]
    unsafe fn write(entry: NonNull<Entry>, user_key: &[u8], entry_trailer: u64, value: &[u8]) {
        let key_len = u32::try_from(user_key.len() + TRAILER_LEN).expect("a key shorter than 4 GiB");
        let value_len = u32::try_from(value.len()).expect("a value shorter than 4 GiB");
        // SAFETY: the caller ensures the conditions under `# Safety`; the parts are written one after the
        // other.
        unsafe {
            let behind = entry.add(1);
            let (lengths, key) = match is_short(key_len as usize, value.len()) {
                true => ((key_len << VALUE_BITS | value_len) as u16, behind.cast::<u8>()),
                false => {
                    let long = behind.cast::<[u32; 2]>();
                    long.write_unaligned([key_len, value_len]);
                    (LONG, long.add(1).cast())
                }
            };
            entry.write(Entry { lengths });
            let key = key.as_ptr();
            ptr::copy_nonoverlapping(user_key.as_ptr(), key, user_key.len());
            let trailer = key.add(user_key.len());
            ptr::copy_nonoverlapping(entry_trailer.to_le_bytes().as_ptr(), trailer, TRAILER_LEN);
            ptr::copy_nonoverlapping(value.as_ptr(), trailer.add(TRAILER_LEN), value.len());
        }
    }

    /// The start of the internal key, its length, and that of the value after it.
    ///
    /// # Safety
    /// The requirements of [`key`](Self::key).
    #[inline]
    unsafe fn parts(entry: *const Entry) -> (*const u8, usize, usize) {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            let lengths = (*entry).lengths;
            if lengths == LONG {
                let long = entry.add(1).cast::<[u32; 2]>();
                let [key_len, value_len] = long.read_unaligned();
                return (long.add(1).cast(), key_len as usize, value_len as usize);
            }
            let value_len = usize::from(lengths) & MAX_SHORT_VALUE;
            (entry.add(1).cast(), usize::from(lengths >> VALUE_BITS), value_len)
        }
    }

    /// Allocates an entry as [`allocate`](Self::allocate) does, with a checksum of `width` bytes in front of
    /// it; 0: without one.
    pub(crate) fn allocate_protected(
        arena: &Arena,
        width: u8,
        user_key: &[u8],
        entry_trailer: u64,
        value: &[u8],
        protection: Protection,
    ) -> NonNull<Entry> {
        if width == 0 {
            return Entry::allocate(arena, user_key, entry_trailer, value);
        }
        let front = front(width);
        let piece = arena.allocate_entry(front + Entry::size(user_key, value));
        // SAFETY: no other code uses the allocated memory. It is as long as the front and the entry together,
        // and aligned as entries are; the size of the front preserves the alignment.
        unsafe {
            let entry = piece.add(front).cast::<Entry>();
            Entry::write(entry, user_key, entry_trailer, value);
            let lengths = sum_of_lengths(entry.as_ptr());
            piece.cast::<u32>().write_unaligned(lengths);
            let mut stored = [0; 8];
            protection.store(&mut stored[..usize::from(width)]);
            ptr::copy_nonoverlapping(stored.as_ptr(), piece.add(WORD).as_ptr(), front - WORD);
            entry
        }
    }

    /// The checksum of the row as it is in memory.
    ///
    /// # Safety
    /// The requirements of [`key`](Self::key), and the lengths are intact.
    pub(crate) unsafe fn protection(entry: *const Entry) -> Protection {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            let Target { user_key, trailer } = Entry::target(entry);
            Protection::of_row(trailer as u8, user_key, Entry::value(entry)).toggle_seqno(trailer >> 8)
        }
    }

    /// True if the lengths are intact. May be called before any other check.
    ///
    /// # Safety
    /// `entry` comes from [`allocate_protected`](Self::allocate_protected) with this width, which is not 0,
    /// of a live arena.
    #[inline]
    pub(crate) unsafe fn has_sound_lengths(entry: *const Entry, width: u8) -> bool {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            let sum = entry
                .cast::<u8>()
                .sub(front(width))
                .cast::<u32>()
                .read_unaligned();
            sum == sum_of_lengths(entry)
        }
    }

    /// True if the whole row is intact.
    ///
    /// # Safety
    /// The requirements of [`has_sound_lengths`](Self::has_sound_lengths).
    pub(crate) unsafe fn is_sound(entry: *const Entry, width: u8) -> bool {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            if !Entry::has_sound_lengths(entry, width) {
                return false;
            }
            let stored = entry.cast::<u8>().sub(front(width) - WORD);
            let stored = slice::from_raw_parts(stored, usize::from(width));
            Entry::protection(entry).is_stored_as(stored)
        }
    }

    /// The internal key.
    ///
    /// # Safety
    /// `entry` comes from [`allocate`](Self::allocate), of an arena that lives for `'a`.
    #[inline]
    pub(crate) unsafe fn key<'a>(entry: *const Entry) -> &'a [u8] {
        // SAFETY: `allocate` wrote `key_len` bytes at `key`, and they are never written again.
        unsafe {
            let (key, key_len, _) = Entry::parts(entry);
            slice::from_raw_parts(key, key_len)
        }
    }

    /// The value.
    ///
    /// # Safety
    /// The requirements of [`key`](Self::key).
    #[inline]
    pub(crate) unsafe fn value<'a>(entry: *const Entry) -> &'a [u8] {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            let (key, key_len, value_len) = Entry::parts(entry);
            slice::from_raw_parts(key.add(key_len), value_len)
        }
    }

    /// The entry's place in the order.
    ///
    /// # Safety
    /// The requirements of [`key`](Self::key).
    #[inline]
    pub(crate) unsafe fn target<'a>(entry: *const Entry) -> Target<'a> {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        Target::of(unsafe { Entry::key(entry) })
    }
}

const WORD: usize = size_of::<u32>();

/// True if both lengths fit the entry's first two bytes.
#[inline]
fn is_short(key_len: usize, value_len: usize) -> bool {
    key_len <= MAX_SHORT_KEY && value_len <= MAX_SHORT_VALUE
}

/// The number of bytes before an entry that its checksum and their padding take.
#[inline]
fn front(width: u8) -> usize {
    WORD + usize::from(width).next_multiple_of(WORD)
}

/// A sum of the lengths. A change of one bit of either length changes it.
///
/// # Safety
/// There is an entry, whose lengths may be corrupt.
#[inline]
unsafe fn sum_of_lengths(entry: *const Entry) -> u32 {
    // SAFETY: the caller ensures the conditions under `# Safety`. Any entry has ten bytes: two of lengths,
    // and eight at least of its key.
    let both = unsafe {
        match (*entry).lengths {
            LONG => {
                let [key_len, value_len] = entry.add(1).cast::<[u32; 2]>().read_unaligned();
                u64::from(key_len) << 32 | u64::from(value_len)
            }
            lengths => u64::from(lengths),
        }
    };
    (both.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// A place in the order of internal keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) user_key: &'a [u8],
    pub(crate) trailer: u64,
}

impl<'a> Target<'a> {
    /// The place of an internal key, which has at least eight bytes.
    #[inline]
    pub(crate) fn of(internal_key: &'a [u8]) -> Target<'a> {
        Target {
            user_key: user_key(internal_key),
            trailer: trailer(internal_key),
        }
    }

    #[inline]
    pub(crate) fn seqno(&self) -> SeqNo {
        self.trailer >> 8
    }

    /// Compares this place with another.
    #[inline]
    pub(crate) fn compare(&self, other: &Target, cmp: &InternalComparator) -> Ordering {
        cmp.user()
            .compare(self.user_key, other.user_key)
            .then_with(|| other.trailer.cmp(&self.trailer))
    }
}
