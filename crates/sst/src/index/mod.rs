//! The index of an open table, decoded: which data block may hold a key.
//!
//! On disk an index is one block, or a block over partitions, whose entries must be decoded one after the
//! other. In memory it is flat arrays over all data blocks: the separators, and in `leaves` the end of each
//! separator, the offset of each block in the file and a cache slot for each block. So a block in the cache
//! is found by its number alone. In a bytewise order the search compares 63 bits of each separator after the
//! prefix common to all of them (`prefixes`, over the leaves). It compares whole separators only where those
//! bits are equal.
//!
//! | format | handled by |
//! |---|---|
//! | keys are user keys or internal keys | `Index::seek` |
//! | values delta-coded or not, first keys | [`decode_block`] |
//! | partitions | the caller, who adds the blocks of all of them to one [`IndexBuilder`] |
//! | hash index | its hints are not needed |

mod decode;
mod leaves;
mod prefixes;
mod saved;

use std::cmp;
use std::sync::atomic::{AtomicBool, Ordering};

use base::UserComparator;
use base::internal_key::{self, TRAILER_LEN};
use base::key_prefixes::{begins_with, leading_u64};
use base::{Error, Result, shared_len};

use crate::TableProperties;
use crate::block::{KeyForm, Target};
use crate::format::{BlockHandle, IndexType};

pub use decode::decode_block;
pub(crate) use leaves::CachePlace;
use leaves::Leaves;
use prefixes::{HIGHEST, PREFIX_BITS, Prefixes};

/// Separators may be this many times as long as the blocks they come from, plus [`KEYS_SLACK`]. Prefix
/// compression makes keys shorter, but a damaged block must not make the reader allocate without limit.
const KEYS_FACTOR: usize = 256;
/// Additional bytes of separators; see [`KEYS_FACTOR`].
const KEYS_SLACK: usize = 1 << 20;

/// The coding of the entries of a table's index blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexCoding {
    /// True if keys are user keys; false if they are internal keys.
    pub user_keys: bool,
    /// True if the values of index entries are coded as deltas where possible, without a length.
    pub delta: bool,
    /// True if the first internal key of the data block follows its handle in the index entry.
    pub first_keys: bool,
}

impl IndexCoding {
    /// The coding that the properties of a table declare.
    pub fn of(properties: &TableProperties) -> IndexCoding {
        IndexCoding {
            user_keys: properties.index_key_is_user_key,
            delta: properties.index_value_is_delta_encoded,
            first_keys: properties.index_type == IndexType::BinarySearchWithFirstKey,
        }
    }

    /// The coding of a top-level index, over partitions of the index or of the filter: the same without first
    /// keys.
    pub fn top_level(self) -> IndexCoding {
        IndexCoding {
            first_keys: false,
            ..self
        }
    }
}

/// An entry of an index block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry<'a> {
    /// A key at or after every key of the block and before every key of the next block.
    pub separator: &'a [u8],
    /// The location of the block.
    pub handle: BlockHandle,
    /// The first internal key of the block, if the index holds first keys.
    pub first_key: Option<&'a [u8]>,
}

/// One of this many data blocks records whether it is read past the block cache. If every block recorded it,
/// and half of them were read past the cache, threads would write shared memory all the time.
const TELLING: usize = 8;

/// The decoded index; see the module.
#[derive(Debug)]
pub struct Index {
    /// The separators, back to back.
    keys: Box<[u8]>,
    /// For each block its place in the file and in memory, the end of its separator in `keys`, and the prefix
    /// of the separator.
    leaves: Leaves,
    /// True if the last recorded block was read past the block cache; see [`TELLING`]. Lookups then prefetch
    /// the offsets of blocks in the file along with their places in memory.
    reads_past_cache: AtomicBool,
    user_keys: bool,
    /// The length of the prefix common to all separators, in a bytewise order. The searched prefixes begin
    /// after it.
    common_len: usize,
    /// The last prefix of each leaf, in a bytewise order.
    prefixes: Option<Prefixes>,
    /// The first internal key of each block, if the index holds them.
    first_keys: Option<Box<FirstKeys>>,
}

/// Keys, back to back, and the end of each.
#[derive(Debug, Default)]
struct FirstKeys {
    keys: Vec<u8>,
    ends: Vec<u32>,
}

impl Index {
    /// The number of data blocks.
    #[inline]
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// True for a table without data blocks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if separators are user keys. No user key is then in two blocks.
    #[inline]
    pub fn has_user_keys(&self) -> bool {
        self.user_keys
    }

    /// The separator after block `i`.
    #[inline]
    pub fn separator(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).map_or(0, |before| self.leaves.key_end(before));
        &self.keys[start..self.leaves.key_end(i)]
    }

    /// The location of block `i` in the file.
    #[inline]
    pub fn handle(&self, i: usize) -> BlockHandle {
        self.leaves.handle(i)
    }

    /// The first internal key of block `i`. `None` if the index does not hold it.
    pub(crate) fn first_key(&self, i: usize) -> Option<&[u8]> {
        let FirstKeys { keys, ends } = self.first_keys.as_deref()?;
        Some(separator(keys, ends, i))
    }

    /// The first block that begins at or after an offset of the file, or the number of blocks. If the blocks
    /// are not in the order of their keys, the result is any block.
    pub(crate) fn block_at_or_after(&self, offset: u64) -> usize {
        self.leaves.block_at_or_after(offset)
    }

    /// True if the last recorded block was [read past the cache](Index::record_read). The probability of true
    /// is the share of such reads.
    #[inline]
    pub(crate) fn reads_past_cache(&self) -> bool {
        self.reads_past_cache.load(Ordering::Relaxed)
    }

    /// Records that block `i` is read from the cache or past it. Only every [`TELLING`]th block is recorded,
    /// and memory is written only for a change.
    #[inline(always)]
    pub(crate) fn record_read(&self, i: usize, past_cache: bool) {
        if self.reads_past_cache() != past_cache && i.is_multiple_of(TELLING) {
            self.reads_past_cache.store(past_cache, Ordering::Relaxed);
        }
    }

    /// The last known place of block `i` in memory.
    #[inline]
    pub(crate) fn place(&self, i: usize) -> &CachePlace {
        self.leaves.place(i)
    }

    /// Prefetches the place of block `i` in memory.
    #[inline]
    pub(crate) fn prefetch_place(&self, i: usize) {
        self.leaves.prefetch_place(i, false);
    }

    /// The first block that can hold an entry at or after the target, or the number of blocks. All entries of
    /// earlier blocks are before the target.
    #[inline]
    pub(crate) fn seek(&self, target: &Target<'_>, stored_order: &UserComparator, form: &KeyForm) -> usize {
        match &self.prefixes {
            Some(prefixes) => self.seek_by_prefix(prefixes, target, form),
            None => self.seek_between(0, self.len(), target, stored_order, form),
        }
    }

    #[inline(always)]
    fn seek_by_prefix(&self, prefixes: &Prefixes, target: &Target<'_>, form: &KeyForm) -> usize {
        let Some(rest) = self.rest_of(target) else {
            let common = &self.keys[..self.common_len];
            return if target.user_key > common { self.len() } else { 0 };
        };
        let prefix = prefix_of(rest);
        let leaf = prefixes.lower_bound(prefix);
        self.leaves.prefetch_places(leaf, self.reads_past_cache());
        self.seek_in_leaf(leaf, prefixes, prefix, target, form)
    }

    #[inline(always)]
    fn seek_in_leaf(
        &self,
        leaf: usize,
        prefixes: &Prefixes,
        prefix: u64,
        target: &Target<'_>,
        form: &KeyForm,
    ) -> usize {
        let i = self.leaves.lower_bound_in(leaf, prefix);
        if i == self.len() || self.leaves.prefix(i) != prefix {
            return i;
        }
        if !self.is_before(i, target, &UserComparator::Bytewise, form) {
            return i;
        }
        let end = match prefix {
            HIGHEST => self.len(),
            _ => self
                .leaves
                .lower_bound_in(prefixes.lower_bound(prefix + 1), prefix + 1),
        };
        self.seek_between(i + 1, end, target, &UserComparator::Bytewise, form)
    }

    /// Searches as [`begin_seek_in_steps`](Index::begin_seek_in_steps) does, and also prefetches everything
    /// that the search reads next. Worth it if the caller waits for something else first.
    #[inline]
    pub(crate) fn begin_seek(&self, target: &Target<'_>) -> Option<usize> {
        let leaf = self.begin_seek_in_steps(target)?;
        self.leaves.prefetch_places(leaf, self.reads_past_cache());
        Some(leaf)
    }

    /// The first step of a [`seek`](Index::seek) in steps: prefetches the memory that [the
    /// second](Index::seek_from) reads. `None` if the search has no such step.
    #[inline]
    pub(crate) fn begin_seek_in_steps(&self, target: &Target<'_>) -> Option<usize> {
        let leaf = self.leaf_of(target)?;
        self.leaves.prefetch_prefixes(leaf);
        Some(leaf)
    }

    /// The second step of a seek: continues from the result of [the first step](Index::begin_seek_in_steps)
    /// for the same target, and returns the same as [`seek`](Index::seek). Prefetches the
    /// [place](Index::place).
    #[inline]
    pub(crate) fn seek_from(&self, leaf: usize, target: &Target<'_>, form: &KeyForm) -> usize {
        let i = match (&self.prefixes, self.rest_of(target)) {
            (Some(prefixes), Some(rest)) => self.seek_in_leaf(leaf, prefixes, prefix_of(rest), target, form),
            _ => self.len(),
        };
        self.leaves.prefetch_place(i, self.reads_past_cache());
        i
    }

    /// The rest of the user key after the prefix common to all separators. `None` if the user key does not
    /// begin with that prefix.
    #[inline(always)]
    fn rest_of<'a>(&self, target: &Target<'a>) -> Option<&'a [u8]> {
        let common = &self.keys[..self.common_len];
        begins_with(target.user_key, common).then(|| &target.user_key[common.len()..])
    }

    /// The leaf to search for the target.
    #[inline(always)]
    fn leaf_of(&self, target: &Target<'_>) -> Option<usize> {
        let prefixes = self.prefixes.as_ref()?;
        Some(prefixes.lower_bound(prefix_of(self.rest_of(target)?)))
    }

    /// Searches `low..high` by halves, comparing whole separators.
    fn seek_between(
        &self,
        mut low: usize,
        mut high: usize,
        target: &Target<'_>,
        stored_order: &UserComparator,
        form: &KeyForm,
    ) -> usize {
        while low < high {
            let middle = low + (high - low) / 2;
            if self.is_before(middle, target, stored_order, form) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    #[inline]
    fn is_before(
        &self,
        i: usize,
        target: &Target<'_>,
        stored_order: &UserComparator,
        form: &KeyForm,
    ) -> bool {
        separator_is_before(self.separator(i), self.user_keys, target, stored_order, form)
    }

    /// Bytes on the heap.
    pub fn memory_usage(&self) -> usize {
        self.keys.len()
            + self.leaves.memory_usage()
            + self.prefixes.as_ref().map_or(0, Prefixes::memory_usage)
            + self.first_keys.as_ref().map_or(0, |first_keys| {
                size_of::<FirstKeys>() + first_keys.keys.len() + size_of_val(&*first_keys.ends)
            })
    }
}

/// Key `i` of `keys`, which are back to back and end at `ends`.
#[inline]
fn separator<'a>(keys: &'a [u8], ends: &[u32], i: usize) -> &'a [u8] {
    let start = if i == 0 { 0 } else { ends[i - 1] as usize };
    &keys[start..ends[i] as usize]
}

/// True if every key up to and including `separator` is before the target.
#[inline]
pub(crate) fn separator_is_before(
    separator: &[u8],
    user_keys: bool,
    target: &Target<'_>,
    stored_order: &UserComparator,
    form: &KeyForm,
) -> bool {
    if user_keys {
        return stored_order.compare(separator, target.user_key) == cmp::Ordering::Less;
    }
    stored_order
        .compare(internal_key::user_key(separator), target.user_key)
        .then_with(|| {
            target
                .trailer
                .cmp(&form.trailer(internal_key::trailer(separator)))
        })
        == cmp::Ordering::Less
}

/// The first 63 bits, with zeros for missing bytes.
#[inline(always)]
fn prefix_of(rest: &[u8]) -> u64 {
    leading_u64(rest) >> (u64::BITS - PREFIX_BITS)
}

/// Collects the entries of one or more index blocks.
#[derive(Debug)]
pub struct IndexBuilder {
    user_keys: bool,
    /// The offset of the footer: no block may end after it.
    limit: u64,
    keys_limit: usize,
    keys: Vec<u8>,
    key_ends: Vec<u32>,
    offsets: Vec<u64>,
    sizes: Vec<u32>,
    first_keys: FirstKeys,
}

impl IndexBuilder {
    /// A builder for a table whose blocks end before `limit`.
    pub fn new(user_keys: bool, limit: u64) -> IndexBuilder {
        IndexBuilder {
            user_keys,
            limit,
            keys_limit: KEYS_SLACK,
            keys: Vec::new(),
            key_ends: Vec::new(),
            offsets: Vec::new(),
            sizes: Vec::new(),
            first_keys: FirstKeys::default(),
        }
    }

    fn push(&mut self, separator: &[u8], handle: BlockHandle) -> Result<()> {
        let size = match handle.end() {
            Some(end) if end <= self.limit => u32::try_from(handle.size).ok(),
            _ => None,
        };
        let size = size.ok_or_else(|| {
            Error::corruption(format!(
                "bad index entry: block of {} bytes at {} of a file of {}",
                handle.size, handle.offset, self.limit
            ))
        })?;
        if self.keys.len() + separator.len() > self.keys_limit {
            return Err(Error::corruption(
                "bad index block: separators are longer than possible",
            ));
        }
        self.keys.extend_from_slice(separator);
        self.key_ends.push(self.keys.len() as u32);
        self.offsets.push(handle.offset);
        self.sizes.push(size);
        Ok(())
    }

    fn push_first_key(&mut self, key: &[u8]) -> Result<()> {
        let FirstKeys { keys, ends } = &mut self.first_keys;
        if key.len() < TRAILER_LEN || keys.len() + key.len() > self.keys_limit {
            return Err(Error::corruption("bad index entry: first key is no internal key"));
        }
        keys.extend_from_slice(key);
        ends.push(keys.len() as u32);
        Ok(())
    }

    /// The user key of separator `i`.
    fn user_key(&self, i: usize) -> &[u8] {
        let separator = separator(&self.keys, &self.key_ends, i);
        match self.user_keys {
            true => separator,
            false => internal_key::user_key(separator),
        }
    }

    /// The length of the prefix common to all separators.
    fn common_len(&self) -> usize {
        // All separators are compared, not just the first and the last: those of a damaged index need not be
        // sorted.
        let common = |common: Option<usize>, i| {
            let first = &self.user_key(0)[..common.unwrap_or(self.user_key(0).len())];
            Some(shared_len(first, self.user_key(i)))
        };
        (0..self.offsets.len()).fold(None, common).unwrap_or(0)
    }

    /// The index, with prefixes if the stored user keys are in bytewise order.
    pub fn build(mut self, stored_order: &UserComparator) -> Index {
        self.first_keys.keys.shrink_to_fit();
        self.first_keys.ends.shrink_to_fit();
        // Either all blocks have a first key, or none is used.
        let has_first_keys = !self.offsets.is_empty() && self.first_keys.ends.len() == self.offsets.len();
        let mut common_len = 0;
        let mut prefixes = Vec::new();
        if stored_order.is_bytewise() {
            common_len = self.common_len();
            let prefix = |i| prefix_of(&self.user_key(i)[common_len..]);
            prefixes.extend((0..self.offsets.len()).map(prefix));
        }
        Index {
            leaves: Leaves::new(&prefixes, &self.offsets, &self.sizes, &self.key_ends),
            prefixes: stored_order
                .is_bytewise()
                .then(|| Prefixes::new(prefixes::lasts(&prefixes))),
            keys: self.keys.into(),
            reads_past_cache: AtomicBool::new(false),
            user_keys: self.user_keys,
            common_len,
            first_keys: has_first_keys.then(|| Box::new(self.first_keys)),
        }
    }
}

#[cfg(test)]
mod tests;
