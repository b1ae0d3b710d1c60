//! Optional integrity checks of a memtable's entries: they detect flipped bits.
//!
//! A search compares with entries whose corruption may mislead it, deep inside the tree, where no error can
//! be returned. A corrupt entry that a search meets is recorded for the thread, and the caller of the search
//! takes the record.

use std::cell::Cell;
use std::ptr;

use base::internal_key::{trailer, user_key};
use base::protection::{hex, mismatch};
use base::{Error, Result};

use crate::entry::{Entry, Target};

/// The checks of entries that a memtable makes. The default makes none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Checks {
    /// Bytes of the checksum in front of each entry; 0 for none.
    pub width: u8,
    /// True to verify every entry that a search compares with, not only the entries at its result.
    pub on_seek: bool,
    /// True to compare neighbours: each entry must sort after the previous one.
    pub order: bool,
    /// True if reads check anything.
    pub any: bool,
}

/// A stand-in for an entry that a search cannot compare with. Long enough for any timestamp.
pub(crate) const SOMEWHERE: Target<'static> = Target {
    user_key: &[0; 64],
    trailer: 0,
};

thread_local! {
    static DAMAGED: Cell<*const Entry> = const { Cell::new(ptr::null()) };
}

impl Checks {
    pub(crate) fn new(width: u8, on_seek: bool, order: bool) -> Checks {
        Checks {
            width,
            on_seek,
            order,
            any: width > 0 || order,
        }
    }

    /// `Corruption` if the entry has changed since it was added.
    ///
    /// # Safety
    /// The entry is one of a live tree with these checks.
    pub(crate) unsafe fn verify(self, entry: *const Entry) -> Result<()> {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        unsafe {
            if self.width == 0 || Entry::is_sound(entry, self.width) {
                Ok(())
            } else {
                Err(damage(entry, self.width))
            }
        }
    }

    /// True if a search may compare with the entry: its lengths are intact, and so is the rest if searches
    /// verify it. Otherwise the entry is recorded.
    ///
    /// # Safety
    /// The requirements of [`verify`](Self::verify), with checksums.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn admits(self, entry: *const Entry) -> bool {
        // SAFETY: the caller ensures the conditions under `# Safety`.
        let sound = unsafe {
            match self.on_seek {
                true => Entry::is_sound(entry, self.width),
                false => Entry::has_sound_lengths(entry, self.width),
            }
        };
        if !sound {
            note(entry);
        }
        sound
    }
}

/// Records that a search met a corrupt entry.
pub(crate) fn note(entry: *const Entry) {
    DAMAGED.set(entry);
}

/// Begins a search: clears the record of earlier ones.
pub(crate) fn begin() {
    DAMAGED.set(ptr::null());
}

/// `Corruption` if a search since [`begin`] met a corrupt entry.
///
/// # Safety
/// All searches of this thread since then were in a live tree with these checks.
pub(crate) unsafe fn end(checks: Checks) -> Result<()> {
    let entry = DAMAGED.replace(ptr::null());
    if entry.is_null() {
        return Ok(());
    }
    // SAFETY: the caller ensures the conditions under `# Safety`.
    Err(unsafe { damage(entry, checks.width) })
}

/// The error for a corrupt entry of a tree with checksums.
///
/// # Safety
/// The entry is one of a live tree with checksums of this width.
#[cold]
unsafe fn damage(entry: *const Entry, width: u8) -> Error {
    // SAFETY: the caller ensures the conditions under `# Safety`; the key is read only if the lengths are
    // intact.
    unsafe {
        if !Entry::has_sound_lengths(entry, width) {
            return Error::corruption(
                "per key-value checksum verification failed in the memtable: an entry's length has changed",
            );
        }
        let key = Entry::key(entry);
        let trailer = trailer(key);
        mismatch("the memtable", user_key(key), trailer >> 8, trailer as u8)
    }
}

/// The error for neighbours that are out of order.
#[cold]
pub(crate) fn disorder(before: &[u8], after: &[u8]) -> Error {
    let tell = |key: &[u8]| format!("{} @ {}", hex(user_key(key)), trailer(key) >> 8);
    Error::corruption(format!(
        "Out-of-order keys found in the memtable: {} before {}",
        tell(before),
        tell(after)
    ))
}
