//! A cursor over the entries of one data block, which it holds.

use std::cmp::Ordering;
use std::ops::Range;

use base::internal_key::TRAILER_LEN;
use base::{Error, UserComparator, shared_len};
use cache::prefetch;

use super::entries::bad_entry;
use super::key_buffer::KeyBuffer;
use super::pin::HeldEntries;
use super::search::{compare, restart_before_target};
use super::{Block, BlockPin, Entry, EntryIndex, KeyForm, PinnedBytes, Target};

/// A cursor over a data block.
///
/// Keys of restart points, and all keys of blocks without prefix compression, are not copied; others are
/// assembled in a buffer, of which each step changes only the end.
///
/// Steps back use the block's entry index if the entry can be decoded alone. Otherwise the entries since the
/// restart point are decoded once and remembered.
pub(crate) struct BlockCursor {
    held: HeldEntries,
    form: KeyForm,
    /// The offset of the current entry.
    at: usize,
    /// The current entry; its end is the offset of the next one.
    entry: Entry,
    place: KeyPlace,
    /// The stored key, if `place` is not `Block`.
    buffer: KeyBuffer,
    /// The key as read, if it differs from the stored one.
    rewritten: Vec<u8>,
    /// The number of this entry, after a step back; forward steps do not maintain it.
    ordinal: Option<usize>,
    /// The entries before the current one, the nearest last.
    behind: Interval,
    valid: bool,
    /// True if an entry needs more work than the copy of its key: it is stored in another form, or has a
    /// checksum.
    special: bool,
    /// True if the stored keys differ from the keys as read: they lack a timestamp or have a global sequence
    /// number.
    rewrites: bool,
    error: Option<Error>,
}

/// The location of the current key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyPlace {
    /// The key is in the block.
    Block,
    /// The key is in `buffer`.
    Buffer,
    /// The key is in `rewritten`; the stored key is in `buffer`.
    Rewritten,
}

/// Consecutive decoded entries with their keys.
#[derive(Default)]
struct Interval {
    keys: Vec<u8>,
    entries: Vec<Remembered>,
}

struct Remembered {
    at: usize,
    entry: Entry,
    key: Range<usize>,
}

/// The capacity in bytes that is reserved for a key at once; it suffices for most internal keys.
const USUAL_KEY: usize = 64;

/// The number of bytes that a seek prefetches around its entry: a walk nearly always follows, and the
/// processor would detect its direction only after several misses. Walks prefetch as far ahead.
const SEEK_PREFETCH: usize = 512;
/// The number of bytes that a seek prefetches on the other side of the entry.
const SEEK_PREFETCH_ASIDE: usize = 256;
/// The number of bytes that a step prefetches: two lines hold a usual entry.
const STEP_PREFETCH: usize = 128;

const NO_ENTRY: Entry = Entry {
    shared: 0,
    key: 0,
    value: 0,
    end: 0,
};

impl BlockCursor {
    /// A cursor without a block, which is not valid.
    pub fn new(form: KeyForm) -> BlockCursor {
        BlockCursor {
            held: HeldEntries::default(),
            form,
            at: 0,
            entry: NO_ENTRY,
            place: KeyPlace::Buffer,
            buffer: KeyBuffer::new(),
            rewritten: Vec::new(),
            ordinal: None,
            behind: Interval::default(),
            valid: false,
            special: false,
            rewrites: !form.is_plain(),
            error: None,
        }
    }

    /// Replaces the block of the cursor with `block`. The cursor is not valid until it is positioned.
    #[inline]
    pub fn set_block(&mut self, pin: BlockPin) {
        self.special = self.rewrites || pin.protection().is_some();
        self.held = HeldEntries::new(pin);
        self.behind.entries.clear();
        self.leave();
    }

    /// Releases the block. Not valid.
    pub fn clear(&mut self) {
        self.held = HeldEntries::default();
        self.behind.entries.clear();
        self.leave();
    }

    /// The block.
    #[inline]
    pub fn block(&self) -> Option<&Block> {
        self.held.block()
    }

    #[inline(always)]
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// True at the first entry.
    #[inline(always)]
    pub fn at_first(&self) -> bool {
        self.at == 0 && self.valid
    }

    /// The error that made the cursor invalid, with its offset within the block.
    pub fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }

    /// The internal key. Requires `valid`.
    #[inline(always)]
    pub fn key(&self) -> &[u8] {
        match self.place {
            KeyPlace::Block => self.entry.suffix(self.held.get()),
            KeyPlace::Buffer => &self.buffer,
            KeyPlace::Rewritten => &self.rewritten,
        }
    }

    /// The key as it is stored.
    #[inline]
    fn stored_key(&self) -> &[u8] {
        match self.place {
            KeyPlace::Block => self.entry.suffix(self.held.get()),
            KeyPlace::Buffer | KeyPlace::Rewritten => &self.buffer,
        }
    }

    /// The value. Requires `valid`.
    #[inline(always)]
    pub fn value(&self) -> &[u8] {
        self.entry.value(self.held.get())
    }

    /// The value as a pin. Requires `valid`.
    pub fn value_pin(&self) -> PinnedBytes {
        match self.held.pin() {
            Some(pin) => {
                PinnedBytes::in_block(pin.clone(), self.entry.value, self.entry.end - self.entry.value)
            }
            None => PinnedBytes::copied(&[]),
        }
    }

    #[inline(always)]
    fn leave(&mut self) {
        self.buffer.clear();
        self.valid = false;
        self.place = KeyPlace::Buffer;
        self.entry = NO_ENTRY;
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, at: usize) {
        self.leave();
        self.error = Some(bad_entry(at));
    }

    /// Moves to the first entry.
    #[inline]
    pub fn seek_to_first(&mut self) {
        self.leave();
        self.step(0);
    }

    /// Moves to the last entry.
    pub fn seek_to_last(&mut self) {
        self.leave();
        self.at = self.held.get().len();
        self.ordinal = None;
        self.before(true);
    }

    /// Moves to the next entry. Requires `valid`.
    #[inline(always)]
    pub fn next(&mut self) {
        let ahead = self.held.get().as_ptr().addr() + self.entry.end + SEEK_PREFETCH;
        prefetch(ahead, STEP_PREFETCH);
        self.step(self.entry.end);
    }

    /// Moves as [`next`](BlockCursor::next) does. Returns the number of bytes that the stored key has in
    /// common with the previous one, and its other bytes as they are in the block: the assembled key was
    /// written a moment ago, and a read of it would wait for that write. Meaningful if the cursor is valid.
    #[inline(always)]
    pub fn next_sharing(&mut self) -> (usize, &[u8]) {
        let entries = self.held.get();
        let common = match Entry::decode(entries, self.entry.end) {
            Some(entry) => {
                let (before, suffix) = (self.stored_key(), entry.suffix(entries));
                match before.get(entry.shared) {
                    Some(byte) if suffix.first() == Some(byte) => {
                        entry.shared + shared_len(&before[entry.shared..], suffix)
                    }
                    _ => entry.shared,
                }
            }
            None => 0,
        };
        self.next();
        let own = self.entry.suffix(self.held.get());
        let rest = own.get(common - self.entry.shared.min(common)..);
        (common, rest.unwrap_or_default())
    }

    /// Moves to the previous entry. Requires `valid`.
    #[inline]
    pub fn prev(&mut self) {
        self.before(false);
    }

    /// Moves to the entry at `at`, which follows the current one, or is a restart point, or is the end.
    #[inline(always)]
    fn step(&mut self, at: usize) {
        let entries = self.held.get();
        if at >= entries.len() {
            self.valid = false;
            return;
        }
        let Some(entry) = Entry::decode(entries, at) else {
            return self.fail(at);
        };
        if entry.key_len() < TRAILER_LEN {
            return self.fail(at);
        }
        if entry.shared == 0 {
            self.place = KeyPlace::Block;
        } else {
            if self.place == KeyPlace::Block {
                let before = self.entry.suffix(entries);
                self.buffer.clear();
                self.buffer.make_room(USUAL_KEY);
                self.buffer.extend_from_slice(before);
                self.place = KeyPlace::Buffer;
            }
            if entry.shared > self.buffer.len() {
                return self.fail(at);
            }
            self.buffer.truncate(entry.shared);
            self.buffer.extend_from_slice(entry.suffix(entries));
        }
        self.at = at;
        self.entry = entry;
        self.ordinal = None;
        self.valid = true;
        if self.special {
            self.arrive();
        }
    }

    /// Verifies the entry that was reached, and computes the key as read.
    #[inline(never)]
    fn arrive(&mut self) {
        let entries = self.held.get();
        if let Some(protection) = self.held.block().and_then(Block::protection)
            && let Err(error) = protection.verify(self.at, self.stored_key(), &self.entry, entries)
        {
            self.leave();
            self.error = Some(error);
            return;
        }
        if !self.form.is_plain() {
            self.rewrite();
        }
    }

    /// Computes the key as read from the stored one.
    #[inline(never)]
    fn rewrite(&mut self) {
        if self.place == KeyPlace::Block {
            self.buffer.clear();
            self.buffer.extend_from_slice(self.entry.suffix(self.held.get()));
        }
        self.form.rewrite(&self.buffer, &mut self.rewritten);
        self.place = KeyPlace::Rewritten;
    }

    /// Moves to the entry before `self.at`, which is the offset of an entry or, with `from_end`, the end.
    #[inline]
    fn before(&mut self, from_end: bool) {
        if self.at == 0 {
            self.valid = false;
            return;
        }
        let Some(block) = self.held.block() else {
            return self.leave();
        };
        let Some(index) = block.entry_index() else {
            return self.before_by_interval();
        };
        let i = match self.ordinal {
            _ if from_end => index.len() - 1,
            Some(ordinal) => ordinal - 1,
            None => index.ordinal(self.at) - 1,
        };
        let at = index.offset(i);
        let entries = self.held.get();
        let ahead = at.saturating_sub(SEEK_PREFETCH);
        prefetch(entries.as_ptr().addr() + ahead, STEP_PREFETCH);
        let Some(entry) = Entry::decode(entries, at) else {
            return self.fail(at);
        };
        if !set_key(index, i, &entry, entries, &mut self.place, &mut self.buffer) {
            self.before_by_interval();
            self.ordinal = Some(i);
            return;
        }
        self.at = at;
        self.entry = entry;
        self.ordinal = Some(i);
        self.valid = true;
        if self.special {
            self.arrive();
        }
    }

    /// Moves as `before` does, by decoding the entries from the restart point on, unless an earlier step has
    /// done that.
    #[inline(never)]
    fn before_by_interval(&mut self) {
        if self
            .behind
            .entries
            .last()
            .is_none_or(|last| last.entry.end != self.at)
            && let Err(at) = self.fill_interval()
        {
            return self.fail(at);
        }
        let Some(last) = self.behind.entries.pop() else {
            // No entry ends at `self.at`: the block is corrupt.
            return self.fail(self.at);
        };
        self.buffer.clear();
        self.buffer.extend_from_slice(&self.behind.keys[last.key.clone()]);
        self.behind.keys.truncate(last.key.start);
        self.place = KeyPlace::Buffer;
        self.at = last.at;
        self.entry = last.entry;
        self.ordinal = None;
        self.valid = true;
        if self.special {
            self.arrive();
        }
    }

    /// Decodes the entries from the nearest restart point before `self.at` up to it. `Err` is the offset of
    /// an entry that does not decode.
    fn fill_interval(&mut self) -> Result<(), usize> {
        let Interval {
            keys,
            entries: behind,
        } = &mut self.behind;
        keys.clear();
        behind.clear();
        let Some(block) = self.held.block() else {
            return Ok(());
        };
        let entries = self.held.get();
        let mut at = block.restart(block.restart_before(self.at - 1));
        let mut last = 0..0;
        while at < self.at {
            let entry = Entry::decode(entries, at)
                .filter(|entry| entry.shared <= last.len() && entry.key_len() >= TRAILER_LEN)
                .ok_or(at)?;
            let start = keys.len();
            keys.extend_from_within(last.start..last.start + entry.shared);
            keys.extend_from_slice(entry.suffix(entries));
            last = start..keys.len();
            behind.push(Remembered {
                at,
                entry,
                key: last.clone(),
            });
            at = entry.end;
        }
        if at != self.at {
            behind.clear();
        }
        Ok(())
    }

    /// Moves to the first entry at or after `target`; not valid if all are before it.
    #[inline]
    pub fn seek(&mut self, target: &Target<'_>, stored_order: &UserComparator) {
        self.leave();
        match self.search(target, stored_order) {
            ByIndex::At { entry, .. } => self.seek_to(entry, SEEK_PREFETCH_ASIDE, SEEK_PREFETCH),
            ByIndex::End => {}
            ByIndex::Unknown => self.seek_by_keys(target, stored_order),
            ByIndex::Bad(at) => self.fail(at),
        }
    }

    /// Moves to the last entry at or before `target`; not valid if all are after it, and then
    /// [`prev`](BlockCursor::prev) does not change that.
    #[inline]
    pub fn seek_for_prev(&mut self, target: &Target<'_>, stored_order: &UserComparator) {
        self.leave();
        self.at = 0;
        match self.search(target, stored_order) {
            ByIndex::At { entry, exact } => {
                let last = if exact { Some(entry) } else { entry.checked_sub(1) };
                if let Some(entry) = last {
                    self.seek_to(entry, SEEK_PREFETCH, SEEK_PREFETCH_ASIDE);
                }
            }
            ByIndex::End => self.seek_to_last(),
            ByIndex::Unknown => {
                self.seek_by_keys(target, stored_order);
                if !self.valid {
                    if self.error.is_none() {
                        self.seek_to_last();
                    }
                } else if compare(self.stored_key(), target, stored_order, &self.form) != Ordering::Equal {
                    self.prev();
                }
            }
            ByIndex::Bad(at) => self.fail(at),
        }
    }

    /// The position of `target` according to the entry index.
    #[inline(always)]
    fn search(&self, target: &Target<'_>, stored_order: &UserComparator) -> ByIndex {
        match self.held.block() {
            Some(block) if !block.is_empty() => match block.entry_index_for_search() {
                Some(index) if stored_order.is_bytewise() => {
                    by_index(index, self.held.get(), target, &self.form)
                }
                _ => ByIndex::Unknown,
            },
            _ => ByIndex::End,
        }
    }

    /// Moves to entry `i`. Prefetches the given numbers of bytes before and after its start.
    #[inline]
    fn seek_to(&mut self, i: usize, before: usize, behind: usize) {
        let Some(index) = self.held.block().and_then(Block::entry_index) else {
            return;
        };
        let (at, end) = (
            index.offset(i),
            if i + 1 < index.len() {
                index.offset(i + 1)
            } else {
                self.held.get().len()
            },
        );
        let entries = self.held.get();
        let near = at.saturating_sub(before)..entries.len().min(at + behind);
        prefetch(entries.as_ptr().addr() + near.start, near.len());
        let Some(entry) = Entry::decode(entries, at) else {
            return self.fail(at);
        };
        if set_key(index, i, &entry, entries, &mut self.place, &mut self.buffer) {
            self.at = at;
            self.entry = entry;
            self.ordinal = Some(i);
            self.valid = true;
            if self.special {
                self.arrive();
            }
        } else {
            self.at = end;
            self.before_by_interval();
        }
    }

    /// Seeks by the restart points, then key by key.
    #[inline(never)]
    fn seek_by_keys(&mut self, target: &Target<'_>, stored_order: &UserComparator) {
        let Some(block) = self.held.block() else {
            return;
        };
        let at = match restart_before_target(block, stored_order, target, &self.form) {
            Ok(restart) => block.restart(restart),
            Err(error) => {
                self.error = Some(error);
                return;
            }
        };
        let form = std::mem::replace(&mut self.form, KeyForm::PLAIN);
        self.step(at);
        while self.valid && compare(self.key(), target, stored_order, &form) == Ordering::Less {
            self.step(self.entry.end);
        }
        self.form = form;
        if self.valid && !form.is_plain() {
            self.rewrite();
        }
    }
}

/// Sets the stored key of entry `i`. False, with nothing done, if that requires the previous entries.
#[inline(always)]
fn set_key(
    index: EntryIndex<'_>,
    i: usize,
    entry: &Entry,
    entries: &[u8],
    place: &mut KeyPlace,
    buffer: &mut KeyBuffer,
) -> bool {
    if entry.shared == 0 {
        *place = KeyPlace::Block;
        return true;
    }
    if !index.knows_shared(entry) {
        return false;
    }
    // The buffer may hold any key of this block: all of them have the same prefix.
    if buffer.is_empty() {
        buffer.make_room(USUAL_KEY);
        buffer.extend_from_slice(index.common());
    }
    index.set_shared(i, entry, buffer);
    buffer.extend_from_slice(entry.suffix(entries));
    *place = KeyPlace::Buffer;
    true
}

/// The answer of the entry index for a target.
enum ByIndex {
    /// The first entry at or after the target, and true if its key equals the target.
    At { entry: usize, exact: bool },
    /// All entries are before the target.
    End,
    /// The index cannot decide without whole keys.
    Unknown,
    /// The entry at this offset does not decode.
    Bad(usize),
}

#[inline(always)]
fn by_index(index: EntryIndex<'_>, entries: &[u8], target: &Target<'_>, form: &KeyForm) -> ByIndex {
    let (mut i, mut tie) = index.search(target.user_key);
    let mut exact = false;
    while tie {
        let at = index.offset(i);
        let Some(entry) = Entry::decode(entries, at) else {
            return ByIndex::Bad(at);
        };
        match index.compare(&entry, entries, target.user_key) {
            None => return ByIndex::Unknown,
            Some(Ordering::Greater) => break,
            Some(Ordering::Less) => {}
            Some(Ordering::Equal) => {
                let stored = base::internal_key::trailer(entry.suffix(entries));
                let trailer = form.trailer(stored);
                if trailer <= target.trailer {
                    exact = trailer == target.trailer;
                    break;
                }
            }
        }
        (i, tie) = index.next_tie(i);
    }
    if i < index.len() {
        ByIndex::At { entry: i, exact }
    } else {
        ByIndex::End
    }
}
