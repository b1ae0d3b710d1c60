//! Pins that keep a block in memory during reads.

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use cache::Handle;

use super::Block;

/// Holds a block: a cached one, or one that only the holder has.
#[derive(Clone)]
pub(crate) enum BlockPin {
    Cached(Handle<Block>),
    Owned(Arc<Block>),
}

impl Deref for BlockPin {
    type Target = Block;

    #[inline]
    fn deref(&self) -> &Block {
        match self {
            BlockPin::Cached(handle) => handle,
            BlockPin::Owned(block) => block,
        }
    }
}

/// The entries of a block that is held meanwhile, at the cost of a plain slice.
///
/// Its default holds no block and has no entries.
#[derive(Default)]
pub(crate) struct HeldEntries {
    pin: Option<BlockPin>,
    entries: Option<NonNull<[u8]>>,
}

// SAFETY: `entries` is only ever read, and points into bytes that `pin` keeps alive and that are themselves
// Send and Sync.
unsafe impl Send for HeldEntries {}
// SAFETY: the type is `Sync` for the same reason as it is `Send`.
unsafe impl Sync for HeldEntries {}

impl HeldEntries {
    /// Holds the block of `pin`.
    pub fn new(pin: BlockPin) -> HeldEntries {
        let entries = NonNull::from(pin.entries());
        HeldEntries {
            pin: Some(pin),
            entries: Some(entries),
        }
    }

    /// The entries: the block up to its restart array.
    #[inline(always)]
    pub fn get(&self) -> &[u8] {
        match self.entries {
            // SAFETY: it comes from `pin.entries()`, in `new`. The block is in a cache frame or an `Arc`,
            // which `pin` holds as long as `self` exists; its bytes are on the heap or in a mapping, and
            // never move or change while the block exists. The result borrows `self`.
            Some(entries) => unsafe { entries.as_ref() },
            None => &[],
        }
    }

    /// The block, if there is one.
    #[inline(always)]
    pub fn block(&self) -> Option<&Block> {
        self.pin.as_deref()
    }

    /// The pin, if there is one.
    #[inline(always)]
    pub fn pin(&self) -> Option<&BlockPin> {
        self.pin.as_ref()
    }
}

/// Bytes that stay in place while this value exists: it keeps their block in memory.
///
/// Many of these values, or long-lived ones, prevent as many blocks from being evicted.
#[derive(Clone)]
pub struct PinnedBytes(Source);

#[derive(Clone)]
enum Source {
    Block { pin: BlockPin, start: u32, len: u32 },
    Copied(Arc<[u8]>),
}

impl PinnedBytes {
    /// The range `start..start + len` of the block's bytes, which must be within the block.
    pub(crate) fn in_block(pin: BlockPin, start: usize, len: usize) -> PinnedBytes {
        PinnedBytes(Source::Block {
            pin,
            start: start as u32,
            len: len as u32,
        })
    }

    /// A copy, if there is nothing to pin.
    pub fn copied(bytes: &[u8]) -> PinnedBytes {
        PinnedBytes(Source::Copied(bytes.into()))
    }
}

impl Deref for PinnedBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Source::Block { pin, start, len } => &pin.data()[*start as usize..][..*len as usize],
            Source::Copied(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for PinnedBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for PinnedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedBytes({} bytes)", self.len())
    }
}
