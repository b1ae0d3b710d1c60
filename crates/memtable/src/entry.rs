//! An entry as it lies in the arena: lengths, internal key, value.

use std::cmp::Ordering;
use std::ptr::{self, NonNull};
use std::slice;

use base::internal_key::{TRAILER_LEN, trailer, user_key};
use base::{InternalComparator, SeqNo};

use crate::arena::Arena;

/// The lengths; behind them lie the internal key and then the value. Never written after it is published.
#[repr(C)]
pub(crate) struct Entry {
    key_len: u32,
    value_len: u32,
}

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
        let lengths = Entry {
            key_len: u32::try_from(user_key.len() + TRAILER_LEN).expect("a key shorter than 4 GiB"),
            value_len: u32::try_from(value.len()).expect("a value shorter than 4 GiB"),
        };
        let entry = arena
            .allocate_entry(size_of::<Entry>() + user_key.len() + TRAILER_LEN + value.len())
            .cast::<Entry>();
        // SAFETY: the block is ours alone, aligned for the lengths, and as long as the parts written one behind the
        // other.
        unsafe {
            entry.write(lengths);
            let key = entry.add(1).cast::<u8>().as_ptr();
            ptr::copy_nonoverlapping(user_key.as_ptr(), key, user_key.len());
            let trailer = key.add(user_key.len());
            ptr::copy_nonoverlapping(entry_trailer.to_le_bytes().as_ptr(), trailer, TRAILER_LEN);
            ptr::copy_nonoverlapping(value.as_ptr(), trailer.add(TRAILER_LEN), value.len());
        }
        entry
    }

    /// The internal key.
    ///
    /// # Safety
    /// `entry` comes from [`allocate`](Self::allocate), of an arena that lives for `'a`.
    #[inline]
    pub(crate) unsafe fn key<'a>(entry: *const Entry) -> &'a [u8] {
        // SAFETY: `allocate` wrote that many bytes there, and they are never written again.
        unsafe { slice::from_raw_parts(entry.add(1).cast(), (*entry).key_len as usize) }
    }

    /// The value.
    ///
    /// # Safety
    /// As for [`key`](Self::key).
    #[inline]
    pub(crate) unsafe fn value<'a>(entry: *const Entry) -> &'a [u8] {
        // SAFETY: as in `key`.
        unsafe {
            let start = entry.add(1).cast::<u8>().add((*entry).key_len as usize);
            slice::from_raw_parts(start, (*entry).value_len as usize)
        }
    }

    /// The place of the entry in the order.
    ///
    /// # Safety
    /// As for [`key`](Self::key).
    #[inline]
    pub(crate) unsafe fn target<'a>(entry: *const Entry) -> Target<'a> {
        // SAFETY: the caller's promise.
        Target::of(unsafe { Entry::key(entry) })
    }
}

/// A place in the order of internal keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) user_key: &'a [u8],
    pub(crate) trailer: u64,
}

impl<'a> Target<'a> {
    /// Of an internal key, at least eight bytes long.
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

    /// The order of this place and another.
    #[inline]
    pub(crate) fn compare(&self, other: &Target, cmp: &InternalComparator) -> Ordering {
        cmp.user()
            .compare(self.user_key, other.user_key)
            .then_with(|| other.trailer.cmp(&self.trailer))
    }
}
