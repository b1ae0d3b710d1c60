//! A point lookup within a data block: finds the versions of one user key without assembling keys on the way.

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};

use base::internal_key::{self, TRAILER_LEN};
use base::{Result, UserComparator, shared_len};

use super::entries::bad_entry;
use super::{Block, Entry, EntryIndex, KeyForm, Target};

/// The parameters of a lookup, which are the same for every block it searches.
#[derive(Clone, Copy)]
pub(crate) struct Lookup<'a> {
    /// The start of the search.
    pub target: Target<'a>,
    /// The user key as given by the caller, with its timestamp.
    pub user_key: &'a [u8],
    /// Versions newer than this are skipped.
    pub seqno: u64,
    pub form: &'a KeyForm,
    /// The order of the stored user keys.
    pub stored_order: &'a UserComparator,
    /// The order of user keys.
    pub order: &'a UserComparator,
}

/// Why a lookup in a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The visitor wants no more versions, or a later user key was met.
    Done,
    /// Every entry up to the last was before the target or a version of the key: the next block may have
    /// more.
    BlockEnd,
}

/// Calls `visit` with the versions of the user key from newest to oldest: the internal key, and the place of
/// the value in the block.
#[inline]
pub(crate) fn visit_versions(
    block: &Block,
    lookup: &Lookup<'_>,
    visit: &mut impl FnMut(&[u8], Range<usize>) -> ControlFlow<()>,
) -> Result<Outcome> {
    if lookup.stored_order.is_bytewise() && lookup.order.timestamp_size() == 0 {
        let first = match block.entry_index_for_search() {
            Some(index) => first_by_index(block.entries(), index, lookup)?,
            None if block.protection().is_some() => return visit_by_keys(block, lookup, visit),
            None => first_by_restarts(block, lookup)?,
        };
        match first {
            First::Version(version) => return visit_from(block.entries(), version, lookup, visit),
            First::None(outcome) => return Ok(outcome),
            First::Unknown => {}
        }
    }
    visit_by_keys(block, lookup, visit)
}

/// An entry of the sought user key.
struct Version {
    entry: Entry,
    /// The stored trailer.
    trailer: [u8; TRAILER_LEN],
}

/// The first entry at or after the target.
enum First {
    /// The entry is a version of the user key, perhaps too new.
    Version(Version),
    /// The entry is not a version of the user key.
    None(Outcome),
    /// The index cannot decide without whole keys.
    Unknown,
}

#[inline(always)]
fn last_eight(bytes: &[u8]) -> Option<[u8; TRAILER_LEN]> {
    bytes.last_chunk::<TRAILER_LEN>().copied()
}

/// Searches by the entry index: reads only entries whose words equal the target's.
#[inline(always)]
fn first_by_index(entries: &[u8], index: EntryIndex<'_>, lookup: &Lookup<'_>) -> Result<First> {
    let target = lookup.target.user_key;
    let (mut i, mut tie) = index.search(target);
    while tie {
        let at = index.offset(i);
        let entry = Entry::decode(entries, at).ok_or_else(|| bad_entry(at))?;
        let Some(order) = index.compare(&entry, entries, target) else {
            return Ok(First::Unknown);
        };
        match order {
            Ordering::Less => {}
            Ordering::Equal => {
                let trailer = last_eight(entry.suffix(entries)).ok_or_else(|| bad_entry(at))?;
                return Ok(First::Version(Version { entry, trailer }));
            }
            Ordering::Greater => return Ok(First::None(Outcome::Done)),
        }
        (i, tie) = index.next_tie(i);
    }
    Ok(First::None(if i < index.len() {
        Outcome::Done
    } else {
        Outcome::BlockEnd
    }))
}

/// Searches by the restart points and then entry by entry, comparing only bytes that the previous entry did
/// not have.
fn first_by_restarts(block: &Block, lookup: &Lookup<'_>) -> Result<First> {
    let entries = block.entries();
    let target = lookup.target.user_key;
    if entries.is_empty() {
        return Ok(First::None(Outcome::BlockEnd));
    }
    let mut at = block.restart(restart_before_target(
        block,
        lookup.stored_order,
        &lookup.target,
        lookup.form,
    )?);
    // The stored bytes of the previous entry, including the trailer, share this many bytes with the target
    // ...
    let mut matched = 0;
    // ... and the order of the following bytes relative to those of the target.
    let mut beyond = Ordering::Less;
    while at < entries.len() {
        let entry = Entry::decode(entries, at).ok_or_else(|| bad_entry(at))?;
        let user_key_len = entry
            .key_len()
            .checked_sub(TRAILER_LEN)
            .ok_or_else(|| bad_entry(at))?;
        if entry.shared <= matched {
            let (own, wanted) = (entry.suffix(entries), &target[entry.shared..]);
            (matched, beyond) = match (own.first(), wanted.first()) {
                // Usually the first bytes of the keys differ.
                (Some(own), Some(wanted)) if own != wanted => (entry.shared, own.cmp(wanted)),
                _ => {
                    let equal = shared_len(own, wanted);
                    (entry.shared + equal, own.get(equal).cmp(&wanted.get(equal)))
                }
            };
        }
        let order = if user_key_len > matched {
            beyond
        } else if user_key_len == target.len() {
            Ordering::Equal
        } else {
            Ordering::Less
        };
        match order {
            Ordering::Less => at = entry.end,
            Ordering::Equal => {
                return Ok(match last_eight(entry.suffix(entries)) {
                    Some(trailer) => First::Version(Version { entry, trailer }),
                    None => First::Unknown,
                });
            }
            Ordering::Greater => return Ok(First::None(Outcome::Done)),
        }
    }
    Ok(First::None(Outcome::BlockEnd))
}

/// Visits entries from a first version on, as long as they are of the same user key.
#[inline(always)]
fn visit_from(
    entries: &[u8],
    mut version: Version,
    lookup: &Lookup<'_>,
    visit: &mut impl FnMut(&[u8], Range<usize>) -> ControlFlow<()>,
) -> Result<Outcome> {
    let user_key = lookup.target.user_key;
    loop {
        let entry = version.entry;
        let trailer = lookup.form.trailer(u64::from_le_bytes(version.trailer));
        if trailer <= lookup.target.trailer {
            let value = entry.value..entry.end;
            let flow = if entry.shared == 0 && lookup.form.is_plain() {
                visit(entry.suffix(entries), value)
            } else {
                with_internal_key(lookup.user_key, trailer, |key| visit(key, value))
            };
            if flow.is_break() {
                return Ok(Outcome::Done);
            }
        }
        let at = entry.end;
        if at >= entries.len() {
            return Ok(Outcome::BlockEnd);
        }
        let entry = Entry::decode(entries, at).ok_or_else(|| bad_entry(at))?;
        if entry.key_len() != user_key.len() + TRAILER_LEN {
            return Ok(Outcome::Done);
        }
        let own = entry.suffix(entries);
        let trailer = match own.split_last_chunk::<TRAILER_LEN>() {
            Some((own_user_key, trailer)) => {
                if own_user_key != &user_key[entry.shared..] {
                    return Ok(Outcome::Done);
                }
                *trailer
            }
            // The version shares the whole user key with the previous one, and the first bytes of the trailer
            // too.
            None => {
                let mut trailer = version.trailer;
                trailer[TRAILER_LEN - own.len()..].copy_from_slice(own);
                trailer
            }
        };
        version = Version { entry, trailer };
    }
}

/// The maximum size of an internal key that is assembled on the stack.
const INLINE_KEY: usize = 128;

thread_local! {
    /// For keys too long for the stack, and for whole keys; taken out while in use.
    static KEY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Concatenates user key and trailer.
#[inline(always)]
fn with_internal_key<R>(user_key: &[u8], trailer: u64, then: impl FnOnce(&[u8]) -> R) -> R {
    let len = user_key.len() + TRAILER_LEN;
    if len <= INLINE_KEY {
        let mut key = [0; INLINE_KEY];
        key[..user_key.len()].copy_from_slice(user_key);
        key[user_key.len()..len].copy_from_slice(&trailer.to_le_bytes());
        return then(&key[..len]);
    }
    let mut key = KEY.take();
    key.clear();
    key.extend_from_slice(user_key);
    key.extend_from_slice(&trailer.to_le_bytes());
    let result = then(&key);
    KEY.set(key);
    result
}

/// The last restart point whose key is before the target, or the first one: the first entry at or after the
/// target is not before it. The block must have entries.
pub(crate) fn restart_before_target(
    block: &Block,
    stored_order: &UserComparator,
    target: &Target<'_>,
    form: &KeyForm,
) -> Result<usize> {
    let entries = block.entries();
    let (mut low, mut high) = (0, block.num_restarts());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let at = block.restart(middle);
        let key = Entry::decode(entries, at)
            .filter(|entry| entry.shared == 0 && entry.key_len() >= TRAILER_LEN)
            .ok_or_else(|| bad_entry(at))?
            .suffix(entries);
        if compare(key, target, stored_order, form) == Ordering::Less {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// Compares a stored internal key with a target.
#[inline(always)]
pub(crate) fn compare(
    stored: &[u8],
    target: &Target<'_>,
    stored_order: &UserComparator,
    form: &KeyForm,
) -> Ordering {
    let user_keys = stored_order.compare(internal_key::user_key(stored), target.user_key);
    user_keys.then_with(|| target.trailer.cmp(&form.trailer(internal_key::trailer(stored))))
}

/// Searches by whole keys: for any order, for timestamps, and for blocks with checksums.
#[inline(never)]
fn visit_by_keys(
    block: &Block,
    lookup: &Lookup<'_>,
    visit: &mut impl FnMut(&[u8], Range<usize>) -> ControlFlow<()>,
) -> Result<Outcome> {
    let entries = block.entries();
    if entries.is_empty() {
        return Ok(Outcome::BlockEnd);
    }
    // Corrupt keys may mislead the search, but not past the corrupt entry, which is verified below.
    let restart = restart_before_target(block, lookup.stored_order, &lookup.target, lookup.form)?;
    let protection = block.protection();
    let (mut key, mut rewritten) = (KEY.take(), Vec::new());
    let mut walk = || {
        let mut at = block.restart(restart);
        let mut reached = false;
        key.clear();
        while at < entries.len() {
            let entry = Entry::decode(entries, at)
                .filter(|entry| entry.shared <= key.len() && entry.key_len() >= TRAILER_LEN)
                .ok_or_else(|| bad_entry(at))?;
            key.truncate(entry.shared);
            key.extend_from_slice(entry.suffix(entries));
            if let Some(protection) = protection {
                protection.verify(at, &key, &entry, entries)?;
            }
            at = entry.end;
            reached =
                reached || compare(&key, &lookup.target, lookup.stored_order, lookup.form) != Ordering::Less;
            if !reached {
                continue;
            }
            let key = if lookup.form.is_plain() {
                &key
            } else {
                lookup.form.rewrite(&key, &mut rewritten);
                &rewritten
            };
            let user_key = internal_key::user_key(key);
            if lookup.order.compare_without_timestamp(user_key, lookup.user_key) != Ordering::Equal {
                return Ok(Outcome::Done);
            }
            if internal_key::seqno(key) <= lookup.seqno && visit(key, entry.value..entry.end).is_break() {
                return Ok(Outcome::Done);
            }
        }
        Ok(Outcome::BlockEnd)
    };
    let result = walk();
    KEY.set(key);
    result
}
