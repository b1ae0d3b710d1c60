//! The entry index of a cached block, with which a search touches one entry instead of a dozen.
//!
//! For each entry it has the bytes of its user key after the common prefix of all keys of the block, and its
//! offset:
//!
//! ```text
//! word u16 or u32 × n, offset i8 or u16 × n, common prefix
//! ```
//!
//! Words have two bytes if two distinguish the same keys as four would, which is usual. Offsets have one byte
//! if each entry is near the offset that it would have if all entries were of one size: then the byte is the
//! distance from there. Every byte matters: it takes cache space from blocks, and a lookup waits for it.
//!
//! Words of a bytewise order ascend, so the first entry at or after a key is found by counting the words
//! below the key's own. Equal words require a look at the entry. That is rare, because the keys of a block
//! are neighbours, which differ early after their common prefix.
//!
//! With prefix compression a key depends on the previous keys. Here it seldom does: the shared bytes are the
//! common prefix and a part of the word, unless an entry shares more than those
//! ([`EntryIndex::knows_shared`]). That makes backward steps as cheap as forward ones.

use std::cell::RefCell;
use std::cmp::Ordering;

use base::internal_key::TRAILER_LEN;
use base::shared_len;
use cache::Buffer;

use super::Entry;

/// The number of bytes of a user key in a wide word, and in a narrow one.
const WIDE: usize = 4;
const NARROW: usize = 2;
/// The number of bytes of an offset, and of a distance.
const OFFSET: usize = 2;
const DISTANCE: usize = 1;
/// A bit of the counts: words are wide. There are fewer than 2^15 entries, because each takes at least three
/// bytes.
const WIDE_BIT: u32 = 1 << 31;
/// A bit of the counts: offsets, not distances.
const OFFSETS_BIT: u32 = 1 << 15;
/// The maximum length of the common prefix; further common bytes are ignored.
const MAX_COMMON_LEN: usize = 0x7fff;
/// Offsets have 16 bits.
const MAX_ENTRIES_LEN: usize = 1 << 16;
/// The number of words up to which all of them are counted; more words are first narrowed down by binary
/// search.
const COUNT_LIMIT: usize = 64;
/// The assumed number of entries between two restart points, and after the last one. Only for the estimate of
/// the index's size.
const USUAL_RESTART_INTERVAL: usize = 16;
const USUAL_LAST_INTERVAL: usize = 8;

/// The entry index: see the module. A view of bytes that a block owns.
#[derive(Clone, Copy)]
pub(crate) struct EntryIndex<'a> {
    bytes: &'a [u8],
    len: usize,
    common_len: usize,
    /// The width of a word in bytes.
    width: usize,
    /// The width of an offset in bytes.
    offset_width: usize,
    /// The end of the entries.
    entries_end: u32,
}

/// The facts about each entry that one pass over the entries collects.
#[derive(Clone, Copy)]
struct Seen {
    at: u16,
    key: u16,
    shared: u16,
    user_key_len: u16,
    /// The first four bytes after the common prefix.
    word: u32,
}

thread_local! {
    static SEEN: RefCell<Vec<Seen>> = const { RefCell::new(Vec::new()) };
}

impl<'a> EntryIndex<'a> {
    /// A view of an index from the bytes and counts that [`build`](EntryIndex::build) returned, for a block
    /// whose entries end at `entries_end`.
    #[inline(always)]
    pub fn new(bytes: &'a [u8], counts: u32, entries_end: u32) -> EntryIndex<'a> {
        EntryIndex {
            bytes,
            len: ((counts & !WIDE_BIT) >> 16) as usize,
            common_len: counts as usize & MAX_COMMON_LEN,
            width: if counts & WIDE_BIT != 0 { WIDE } else { NARROW },
            offset_width: if counts & OFFSETS_BIT != 0 {
                OFFSET
            } else {
                DISTANCE
            },
            entries_end,
        }
    }

    /// Builds the index of a block whose entries end at `entries_end`, in memory that `zeros` provides.
    /// `None` if the block is empty, too large, or corrupt.
    pub fn build(
        data: &[u8],
        entries_end: usize,
        zeroed: impl FnOnce(usize) -> Buffer,
    ) -> Option<(Buffer, u32)> {
        if entries_end == 0 || entries_end >= MAX_ENTRIES_LEN {
            return None;
        }
        SEEN.with_borrow_mut(|seen| {
            seen.clear();
            let common_len = survey(&data[..entries_end], seen)?;
            read_words(data, seen, common_len);
            let tied = |shift: u32| {
                let same = |pair: &&[Seen]| pair[0].word >> shift == pair[1].word >> shift;
                seen.windows(2).filter(same).count()
            };
            let width = if tied(16) == tied(0) { NARROW } else { WIDE };
            let distance = |(i, entry): (usize, &Seen)| {
                let even = even_offset(i, seen.len(), entries_end as u32);
                i8::try_from(i64::from(entry.at) - even as i64).ok()
            };
            let even = seen.iter().enumerate().all(|entry| distance(entry).is_some());
            let offset_width = if even { DISTANCE } else { OFFSET };
            let mut bytes = zeroed(seen.len() * (width + offset_width) + common_len);
            let (words, rest) = bytes.split_at_mut(seen.len() * width);
            let (offsets, common) = rest.split_at_mut(seen.len() * offset_width);
            common.copy_from_slice(&data[usize::from(seen[0].key)..][..common_len]);
            for (entry, offset) in seen
                .iter()
                .enumerate()
                .zip(offsets.chunks_exact_mut(offset_width))
            {
                match distance(entry).filter(|_| even) {
                    Some(distance) => offset.copy_from_slice(&distance.to_ne_bytes()),
                    None => offset.copy_from_slice(&entry.1.at.to_ne_bytes()),
                }
            }
            for (entry, word) in seen.iter().zip(words.chunks_exact_mut(width)) {
                match width {
                    NARROW => word.copy_from_slice(&narrow(entry.word).to_ne_bytes()),
                    _ => word.copy_from_slice(&entry.word.to_ne_bytes()),
                }
            }
            let wide = if width == WIDE { WIDE_BIT } else { 0 };
            let offsets = if even { 0 } else { OFFSETS_BIT };
            Some((
                bytes,
                wide | (seen.len() as u32) << 16 | offsets | common_len as u32,
            ))
        })
    }

    /// The usual size of an index for a block of this shape, without looking at it: with narrow words and
    /// distances.
    pub fn estimate(entries_end: usize, num_restarts: usize) -> usize {
        if entries_end >= MAX_ENTRIES_LEN {
            return 0;
        }
        let most = entries_end / (TRAILER_LEN + 3);
        let before_last = num_restarts.saturating_sub(1) * USUAL_RESTART_INTERVAL;
        (before_last + USUAL_LAST_INTERVAL).min(most) * (NARROW + DISTANCE)
    }

    /// The number of entries in the block, at least 1.
    #[inline(always)]
    pub fn len(self) -> usize {
        self.len
    }

    /// The common prefix of all user keys of the block.
    #[inline(always)]
    pub fn common(self) -> &'a [u8] {
        &self.bytes[self.len() * (self.width + self.offset_width)..]
    }

    #[inline(always)]
    fn words(self) -> &'a [u8] {
        &self.bytes[..self.len() * self.width]
    }

    /// The word of an entry. The missing bytes of a narrow one are zeros.
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        let bytes = &self.bytes[i * self.width..][..self.width];
        match bytes {
            [a, b] => u32::from(u16::from_ne_bytes([*a, *b])) << 16,
            _ => u32::from_ne_bytes(bytes.try_into().expect("a slice of four")),
        }
    }

    /// The offset of an entry.
    #[inline(always)]
    pub fn offset(self, i: usize) -> usize {
        let bytes = &self.bytes[self.len() * self.width + i * self.offset_width..][..self.offset_width];
        match bytes {
            [distance] => {
                let even = even_offset(i, self.len(), self.entries_end);
                even.wrapping_add_signed(isize::from(distance.cast_signed()))
            }
            _ => usize::from(u16::from_ne_bytes(bytes.try_into().expect("a slice of two"))),
        }
    }

    /// The number of the entry at `offset`, where an entry begins.
    pub fn ordinal(self, offset: usize) -> usize {
        let (mut low, mut high) = (0, self.len());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.offset(middle) <= offset {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// For a bytewise order: the number of entries whose words are less than that of `user_key`, and whether
    /// the next entry's word equals it.
    #[inline(always)]
    pub fn search(self, user_key: &[u8]) -> (usize, bool) {
        let common = self.common();
        let Some(rest) = user_key.strip_prefix(common) else {
            let all_before = user_key > common;
            return (if all_before { self.len() } else { 0 }, false);
        };
        let word = word_of(rest);
        let (word, at) = match self.width {
            NARROW => {
                let narrow = narrow(word);
                (u32::from(narrow) << 16, count_below(self.words(), narrow))
            }
            _ => (word, count_below(self.words(), word)),
        };
        (at, at < self.len() && self.word(at) == word)
    }

    /// After entry `i`, whose word [`search`](EntryIndex::search) or this method found equal to the key's: as
    /// `search`, for the next entry.
    #[inline(always)]
    pub fn next_tie(self, i: usize) -> (usize, bool) {
        let next = i + 1;
        (next, next < self.len() && self.word(next) == self.word(i))
    }

    /// For a bytewise order: compares the user key of entry `i`, whose word equals that of `user_key`, with
    /// it. `None` if that requires the previous entries.
    #[inline(always)]
    pub fn compare(self, entry: &Entry, entries: &[u8], user_key: &[u8]) -> Option<Ordering> {
        if !self.knows_shared(entry) {
            return None;
        }
        Some(match user_key.get(entry.shared..) {
            Some(rest) => entries[entry.key..entry.value - TRAILER_LEN].cmp(rest),
            // The words are equal, so the bytes of the entry's key beyond the end of `user_key` are zeros.
            None => Ordering::Greater,
        })
    }

    /// Sets `key`, which begins with the common prefix, to the bytes that entry `i` shares with the previous
    /// key. Requires [`EntryIndex::knows_shared`].
    #[inline(always)]
    pub fn set_shared(self, i: usize, entry: &Entry, key: &mut Vec<u8>) {
        if entry.shared > self.common_len {
            key.truncate(self.common_len);
            key.extend_from_slice(&self.word(i).to_be_bytes());
        }
        key.truncate(entry.shared);
    }

    /// True if the shared bytes of `entry` are within the common prefix and its word. Shared bytes of a
    /// trailer are not: words end with the user key.
    #[inline(always)]
    pub fn knows_shared(self, entry: &Entry) -> bool {
        entry.shared <= self.common_len + self.width && entry.shared + TRAILER_LEN <= entry.key_len()
    }
}

/// Decodes every entry into `seen` and returns the length of the common prefix of all user keys.
fn survey(entries: &[u8], seen: &mut Vec<Seen>) -> Option<usize> {
    let mut at = 0;
    let mut key_len = 0;
    let mut first: &[u8] = &[];
    let mut common_len = 0;
    while at < entries.len() {
        let entry = Entry::decode(entries, at)?;
        if entry.shared > key_len {
            return None;
        }
        key_len = entry.key_len();
        let user_key_len = key_len.checked_sub(TRAILER_LEN)?;
        if at == 0 {
            first = &entries[entry.key..][..user_key_len];
            common_len = user_key_len;
        }
        common_len = common_len.min(user_key_len);
        if entry.shared < common_len {
            common_len = entry.shared + shared_len(&first[entry.shared..common_len], &entries[entry.key..]);
        }
        seen.push(Seen {
            at: at as u16,
            key: entry.key as u16,
            shared: entry.shared as u16,
            user_key_len: user_key_len as u16,
            word: 0,
        });
        at = entry.end;
    }
    Some(common_len.min(MAX_COMMON_LEN))
}

/// The offset that entry `i` of `len` would have if all were of one size.
#[inline(always)]
fn even_offset(i: usize, len: usize, entries_end: u32) -> usize {
    // There are fewer than 2^15 entries within 2^16 bytes.
    (i as u32 * entries_end / len as u32) as usize
}

/// Sets the words.
fn read_words(data: &[u8], seen: &mut [Seen], common_len: usize) {
    // The four bytes after the common prefix of the raw key, including the trailer, which the next entry may
    // share.
    let mut window = 0u32;
    for entry in seen {
        let keep = usize::from(entry.shared).saturating_sub(common_len).min(WIDE);
        if keep < WIDE {
            // The key's own bytes extend that far: a raw key is at least eight bytes longer than the common
            // prefix.
            let own = usize::from(entry.key) + common_len + keep - usize::from(entry.shared);
            let fresh = u64::from(u32_be(data, own)) >> (8 * keep);
            window = (u64::from(window) & !(u64::from(u32::MAX) >> (8 * keep)) | fresh) as u32;
        }
        let valid = (usize::from(entry.user_key_len) - common_len).min(WIDE);
        let mask = !(u64::from(u32::MAX) >> (8 * valid)) as u32;
        entry.word = window & mask;
    }
}

/// The four bytes at `at`, which may extend into the restart array: that has at least eight bytes, including
/// the packed word.
#[inline(always)]
fn u32_be(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(data[at..at + WIDE].try_into().expect("a slice of four"))
}

/// The first bytes of `rest`, which follow the common prefix of a key, as a wide word.
#[inline(always)]
fn word_of(rest: &[u8]) -> u32 {
    match rest.first_chunk::<WIDE>() {
        Some(word) => u32::from_be_bytes(*word),
        None => {
            let mut word = [0; WIDE];
            word[..rest.len()].copy_from_slice(rest);
            u32::from_be_bytes(word)
        }
    }
}

#[inline(always)]
fn narrow(word: u32) -> u16 {
    (word >> 16) as u16
}

/// A word in the form of the index.
trait Word: Copy + Ord {
    fn read(bytes: &[u8]) -> Self;
}

impl Word for u16 {
    #[inline(always)]
    fn read(bytes: &[u8]) -> u16 {
        u16::from_ne_bytes(bytes.try_into().expect("a narrow word"))
    }
}

impl Word for u32 {
    #[inline(always)]
    fn read(bytes: &[u8]) -> u32 {
        u32::from_ne_bytes(bytes.try_into().expect("a wide word"))
    }
}

/// The number of the ascending `words` that are below `word`. In a corrupt block they may be out of order;
/// then the result is some number up to their count.
#[inline(always)]
fn count_below<W: Word>(mut words: &[u8], word: W) -> usize {
    let width = size_of::<W>();
    let at = |words: &[u8], i: usize| W::read(&words[i * width..][..width]);
    let mut before = 0;
    while words.len() > COUNT_LIMIT * width {
        let half = words.len() / width / 2;
        if at(words, half - 1) < word {
            before += half;
            words = &words[half * width..];
        } else {
            words = &words[..half * width];
        }
    }
    let below: u32 = words
        .chunks_exact(width)
        .map(|bytes| u32::from(W::read(bytes) < word))
        .sum();
    before + below as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use crate::block::builder::BlockBuilder;

    fn block(user_keys: &[Vec<u8>], value_len: impl Fn(usize) -> usize) -> Block {
        let mut builder = BlockBuilder::new(16);
        for (i, user_key) in user_keys.iter().enumerate() {
            let key = base::internal_key::encode(user_key, 7, base::Kind::Value);
            builder.add(&key, &vec![b'v'; value_len(i)]);
        }
        Block::parse(builder.finish().0.clone()).unwrap()
    }

    fn check(block: &Block, user_keys: &[Vec<u8>]) {
        let index = block.entry_index().unwrap();
        let len = user_keys.len() * (index.width + index.offset_width) + index.common_len;
        assert_eq!(index.bytes.len(), len);
        for (i, key) in user_keys.iter().enumerate() {
            let (mut at, mut tie) = index.search(key);
            while at < i {
                assert!(tie);
                (at, tie) = index.next_tie(at);
            }
            assert!(at == i && tie);
            let entry = Entry::decode(block.entries(), index.offset(i)).unwrap();
            assert_eq!(entry.key_len(), key.len() + TRAILER_LEN);
            assert!(key.ends_with(
                &entry.suffix(block.entries())[..entry.suffix(block.entries()).len() - TRAILER_LEN]
            ));
        }
    }

    #[test]
    fn words_are_as_wide_as_it_takes_to_tell_the_keys_apart() {
        let numbers = |of: &[u32]| -> Vec<Vec<u8>> { of.iter().map(|n| n.to_be_bytes().to_vec()).collect() };
        let neighbours: Vec<u32> = (1000..1300).collect();
        let (few, far) = (&neighbours[..40], [&neighbours[..40], &[u32::MAX]].concat());
        let prefixed: Vec<Vec<u8>> = (0..50).map(|i| format!("user{:08}", 1980 + i).into()).collect();
        // Two bytes distinguish none of these keys, and four bytes distinguish only two of them.
        let alike: Vec<Vec<u8>> = (0..30).map(|i| format!("{}same{i:03}", i / 15).into()).collect();
        for (keys, width) in [
            (numbers(few), NARROW),
            (numbers(&neighbours), NARROW),
            (numbers(&far), WIDE),
            (prefixed, WIDE),
            (alike, NARROW),
        ] {
            let block = block(&keys, |_| 5);
            assert_eq!(block.entry_index().unwrap().width, width, "{keys:02x?}");
            check(&block, &keys);
        }
    }

    #[test]
    fn offsets_are_short_where_entries_are_about_of_one_size() {
        let keys: Vec<Vec<u8>> = (0..40).map(|i| format!("user{i:08}").into()).collect();
        type ValueLen = fn(usize) -> usize;
        let sizes: [(ValueLen, usize); 5] = [
            (|_| 100, DISTANCE),
            (|i| 90 + i * 7 % 20, DISTANCE),
            (|_| 0, DISTANCE),
            (|i| i * 10, OFFSET),
            (|i| if i == 20 { 5000 } else { 10 }, OFFSET),
        ];
        for (value_len, width) in sizes {
            let block = block(&keys, value_len);
            assert_eq!(block.entry_index().unwrap().offset_width, width);
            check(&block, &keys);
        }
        let long = vec![vec![b'k'; MAX_COMMON_LEN + 10]];
        check(&block(&long, |_| 5), &long);
    }
}
