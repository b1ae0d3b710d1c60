//! The entry index: what a block in the cache carries so that a search touches one entry and not a dozen.
//!
//! Per entry four bytes of its user key, those behind what all keys of the block have in common, and its offset:
//!
//! ```text
//! word u32 × n, offset u16 × n, common prefix
//! ```
//!
//! Words of a bytewise order ascend, so the first entry at or after a key is found by counting the words below the
//! key's own. Entries of equal words need a look at the entry; that is rare, since blocks hold neighbours, which differ
//! early once their common part is gone.
//!
//! Prefix compression makes a key depend on the keys before it. Here it seldom does: the shared bytes are the common
//! prefix and some of the word, unless an entry shares more than `common + 4` bytes ([`EntryIndex::knows_shared`]).
//! That makes backward steps as cheap as forward ones.

use std::cell::RefCell;
use std::cmp::Ordering;

use base::internal_key::TRAILER_LEN;
use cache::Buffer;

use super::Entry;

/// Bytes of a user key in its word.
const WORD: usize = 4;
/// Offsets are 16 bits.
const MAX_ENTRIES_LEN: usize = 1 << 16;
/// Above this the words are first narrowed down by halving, then counted.
const COUNT_LIMIT: usize = 64;
/// Entries between restarts where a block does not tell; for the estimate only.
const USUAL_RESTART_INTERVAL: usize = 16;

/// See the module. A view of bytes that a block owns.
#[derive(Clone, Copy)]
pub(crate) struct EntryIndex<'a> {
    bytes: &'a [u8],
    len: usize,
    common_len: usize,
}

/// What one pass over the entries remembers of each.
#[derive(Clone, Copy)]
struct Seen {
    at: u16,
    key: u16,
    shared: u16,
    user_key_len: u16,
}

thread_local! {
    static SEEN: RefCell<Vec<Seen>> = const { RefCell::new(Vec::new()) };
}

impl<'a> EntryIndex<'a> {
    /// The bytes and counts of an index, as [`build`](EntryIndex::build) gave them.
    #[inline(always)]
    pub fn new(bytes: &'a [u8], counts: u32) -> EntryIndex<'a> {
        EntryIndex {
            bytes,
            len: (counts >> 16) as usize,
            common_len: (counts & 0xffff) as usize,
        }
    }

    /// Of a block whose entries end at `entries_end`, in so many zeros. `None` if it is empty, too large, or damaged.
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
            let mut bytes = zeroed(seen.len() * (WORD + 2) + common_len);
            EntryIndex::fill(&mut bytes, data, seen, common_len);
            Some((bytes, (seen.len() as u32) << 16 | common_len as u32))
        })
    }

    fn fill(bytes: &mut [u8], data: &[u8], seen: &[Seen], common_len: usize) {
        let (words, rest) = bytes.split_at_mut(seen.len() * WORD);
        let (offsets, common) = rest.split_at_mut(seen.len() * 2);
        common.copy_from_slice(&data[usize::from(seen[0].key)..][..common_len]);
        // The four bytes behind the common prefix of the raw key, trailer not left out: the next entry may share it.
        let mut window = 0u32;
        for ((entry, word), offset) in seen
            .iter()
            .zip(words.chunks_exact_mut(WORD))
            .zip(offsets.chunks_exact_mut(2))
        {
            let keep = usize::from(entry.shared).saturating_sub(common_len).min(WORD);
            if keep < WORD {
                // The key's own bytes go that far: a raw key is at least eight bytes longer than the common prefix.
                let own = usize::from(entry.key) + common_len + keep - usize::from(entry.shared);
                let fresh = u64::from(u32_be(data, own)) >> (8 * keep);
                window = (u64::from(window) & !(u64::from(u32::MAX) >> (8 * keep)) | fresh) as u32;
            }
            let valid = (usize::from(entry.user_key_len) - common_len).min(WORD);
            let mask = !(u64::from(u32::MAX) >> (8 * valid)) as u32;
            word.copy_from_slice(&(window & mask).to_ne_bytes());
            offset.copy_from_slice(&entry.at.to_ne_bytes());
        }
    }

    /// Bytes an index may take for a block of this shape, without looking at it.
    pub fn estimate(entries_end: usize, num_restarts: usize) -> usize {
        if entries_end >= MAX_ENTRIES_LEN {
            return 0;
        }
        let most = entries_end / (TRAILER_LEN + 3);
        (num_restarts * USUAL_RESTART_INTERVAL).min(most) * (WORD + 2)
    }

    /// Entries in the block, at least 1.
    #[inline(always)]
    pub fn len(self) -> usize {
        self.len
    }

    /// What all user keys of the block begin with.
    #[inline(always)]
    pub fn common(self) -> &'a [u8] {
        &self.bytes[self.len() * (WORD + 2)..]
    }

    #[inline(always)]
    fn words(self) -> &'a [u8] {
        &self.bytes[..self.len() * WORD]
    }

    /// The word of an entry.
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        let bytes = &self.bytes[i * WORD..][..WORD];
        u32::from_ne_bytes(bytes.try_into().expect("a slice of four"))
    }

    /// Where an entry begins.
    #[inline(always)]
    pub fn offset(self, i: usize) -> usize {
        let bytes = &self.bytes[self.len() * WORD + i * 2..][..2];
        usize::from(u16::from_ne_bytes(bytes.try_into().expect("a slice of two")))
    }

    /// Which entry begins at `offset`, one that does.
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

    /// For a bytewise order: the number of entries whose words say that they are before `user_key`, and whether the
    /// words of the entry after those cannot tell it from `user_key`.
    #[inline(always)]
    pub fn search(self, user_key: &[u8]) -> (usize, bool) {
        let common = self.common();
        let Some(rest) = user_key.strip_prefix(common) else {
            let all_before = user_key > common;
            return (if all_before { self.len() } else { 0 }, false);
        };
        let word = word_of(rest);
        let at = count_below(self.words(), word);
        (at, at < self.len() && self.word(at) == word)
    }

    /// After entry `i`, which [`search`](EntryIndex::search) or this could not tell from the key: as `search`, of the
    /// entry that follows.
    #[inline(always)]
    pub fn next_tie(self, i: usize) -> (usize, bool) {
        let next = i + 1;
        (next, next < self.len() && self.word(next) == self.word(i))
    }

    /// For a bytewise order: the user key of entry `i`, whose word is that of `user_key`, compared with it. `None` if
    /// only the entries before it know.
    #[inline(always)]
    pub fn compare(self, entry: &Entry, entries: &[u8], user_key: &[u8]) -> Option<Ordering> {
        if !self.knows_shared(entry) {
            return None;
        }
        Some(match user_key.get(entry.shared..) {
            Some(rest) => entries[entry.key..entry.value - TRAILER_LEN].cmp(rest),
            // The words are equal, so what the entry's key has beyond the end of `user_key` is zeros.
            None => Ordering::Greater,
        })
    }

    /// Makes `key`, which begins with the common prefix, the bytes that entry `i` takes over from the key before it.
    /// Requires [`EntryIndex::knows_shared`].
    #[inline(always)]
    pub fn set_shared(self, i: usize, entry: &Entry, key: &mut Vec<u8>) {
        if entry.shared > self.common_len {
            key.truncate(self.common_len);
            key.extend_from_slice(&self.word(i).to_be_bytes());
        }
        key.truncate(entry.shared);
    }

    /// True if what `entry` shares is part of the common prefix and its word. Shared bytes that reach into a trailer are
    /// not: words end with the user key.
    #[inline(always)]
    pub fn knows_shared(self, entry: &Entry) -> bool {
        entry.shared <= self.common_len + WORD && entry.shared + TRAILER_LEN <= entry.key_len()
    }
}

/// Decodes every entry into `seen` and gives the length of what all user keys begin with.
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
            let wanted = &first[entry.shared..common_len];
            let equal = wanted
                .iter()
                .zip(&entries[entry.key..])
                .take_while(|(a, b)| a == b)
                .count();
            common_len = entry.shared + equal;
        }
        seen.push(Seen {
            at: at as u16,
            key: entry.key as u16,
            shared: entry.shared as u16,
            user_key_len: user_key_len as u16,
        });
        at = entry.end;
    }
    Some(common_len)
}

/// The four bytes at `at`, which may reach into the restart array: it is at least eight bytes long with the packed word.
#[inline(always)]
fn u32_be(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(data[at..at + WORD].try_into().expect("a slice of four"))
}

/// The word of what follows the common prefix in a key.
#[inline(always)]
fn word_of(rest: &[u8]) -> u32 {
    match rest.first_chunk::<WORD>() {
        Some(word) => u32::from_be_bytes(*word),
        None => {
            let mut word = [0; WORD];
            word[..rest.len()].copy_from_slice(rest);
            u32::from_be_bytes(word)
        }
    }
}

/// How many of the ascending `words` are below `word`. A damaged block may have them out of order; then the answer is
/// some number not above their count.
#[inline(always)]
fn count_below(mut words: &[u8], word: u32) -> usize {
    let at = |words: &[u8], i: usize| {
        u32::from_ne_bytes(words[i * WORD..][..WORD].try_into().expect("a slice of four"))
    };
    let mut before = 0;
    while words.len() > COUNT_LIMIT * WORD {
        let half = words.len() / WORD / 2;
        if at(words, half - 1) < word {
            before += half;
            words = &words[half * WORD..];
        } else {
            words = &words[..half * WORD];
        }
    }
    let below: u32 = words
        .chunks_exact(WORD)
        .map(|bytes| u32::from(u32::from_ne_bytes(bytes.try_into().expect("a chunk of four")) < word))
        .sum();
    before + below as usize
}
