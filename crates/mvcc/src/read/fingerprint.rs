//! A fingerprint of a history: shows whether two stores have the same history, without a transfer of the
//! history.
//!
//! ```text
//! version, inline value:     + XXH3(u8 1 | u32 bytes of the key | key | i64 wall | i32 logical | value behind its checksum)
//! bounds of what was deleted at a time, or of the span within it:
//!                            + XXH3(u8 2 | the same of bound and time, without a value) where it ends, - where it begins
//!                            little-endian, modulo 2^64
//! ```
//!
//! The sum does not depend on its order, and the sum of two adjoining spans or windows is the sum of both. A
//! bound within a deleted stretch cancels out, so the division into fragments does not matter.

use codec::hash::xxh3_64;

use crate::error::Result;
use crate::key::range_stack::hidden_since;
use crate::key::ranges::Order;
use crate::key::span::Span;
use crate::key::timestamp::Timestamp;
use crate::key::value::without_checksum;
use crate::read::reader::Reader;

const VERSION: u8 = 1;
const BOUND: u8 = 2;

/// A fingerprint that distinguishes histories. It does not protect against someone who constructs two equal
/// ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// Equal for equal histories; for different ones with a probability of 2^-64.
    pub hash: u64,
    /// The number of versions and inline values in the span.
    pub versions: u64,
}

impl std::ops::AddAssign for Fingerprint {
    /// Adds the fingerprint of an adjoining span in the same window, or of an adjoining window of the same
    /// span: the result is that of both together.
    fn add_assign(&mut self, other: Fingerprint) {
        self.hash = self.hash.wrapping_add(other.hash);
        self.versions += other.versions;
    }
}

/// The sum of the hashes so far.
#[derive(Default)]
struct Sum {
    total: Fingerprint,
    /// Scratch buffer of the bytes to hash.
    bytes: Vec<u8>,
}

impl Sum {
    fn hash(&mut self, what: u8, user_key: &[u8], timestamp: Timestamp, value: &[u8]) -> u64 {
        let bytes = &mut self.bytes;
        bytes.clear();
        bytes.push(what);
        bytes.extend_from_slice(&(user_key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(user_key);
        bytes.extend_from_slice(&timestamp.wall.to_le_bytes());
        bytes.extend_from_slice(&timestamp.logical.to_le_bytes());
        bytes.extend_from_slice(value);
        xxh3_64(bytes)
    }

    fn version(&mut self, user_key: &[u8], timestamp: Timestamp, stored: &[u8]) {
        let hash = self.hash(VERSION, user_key, timestamp, without_checksum(stored));
        self.total += Fingerprint { hash, versions: 1 };
    }

    fn deleted(&mut self, start: &[u8], end: &[u8], timestamp: Timestamp) {
        let begins = self.hash(BOUND, start, timestamp, &[]);
        let hash = self.hash(BOUND, end, timestamp, &[]).wrapping_sub(begins);
        self.total += Fingerprint { hash, versions: 0 };
    }
}

impl Reader<'_> {
    /// The fingerprint of the history of `span` above `after` and at or below `until`: its versions with
    /// their times and values, range tombstones, and from [`Timestamp::ZERO`] on inline values as well. It
    /// does not depend on the files the versions are in, nor on the checksums of values. Garbage at a store's
    /// threshold is left out, whether it was removed or not, because no reader can see it. The function is
    /// stable across releases. Reads as much as [`incremental`](Self::incremental).
    ///
    /// # Errors
    /// [`Error::BelowThreshold`](crate::Error::BelowThreshold) if the window begins below a store's threshold
    /// and not with [`Timestamp::ZERO`], or ends at or below it; `InvalidArgument` for invalid times; errors
    /// of the engine.
    pub fn fingerprint(&self, span: Span<'_>, after: Timestamp, until: Timestamp) -> Result<Fingerprint> {
        self.check_window(after, until)?;
        let mut sum = Sum::default();
        if span.is_empty() {
            return Ok(sum.total);
        }
        match after.is_zero() {
            true => self.sum_from_the_beginning(span, until, &mut sum)?,
            false => {
                let mut iter = self.incremental(span, after, until)?;
                while let Some(row) = iter.next()? {
                    sum.version(row.user_key, row.timestamp, row.stored);
                }
            }
        }
        let window = self
            .ranges()
            .map(|ranges| ranges.window(span, after.max(self.threshold), until));
        for tombstone in window.unwrap_or_default().tombstones() {
            for timestamp in tombstone.timestamps {
                sum.deleted(&tombstone.start, &tombstone.end, timestamp);
            }
        }
        Ok(sum.total)
    }

    /// For each key: the versions above the threshold, and the newest version at or below it unless that is
    /// garbage.
    fn sum_from_the_beginning(&self, span: Span<'_>, until: Timestamp, sum: &mut Sum) -> Result<()> {
        let mut iter = self.versions(span)?;
        let mut cover = self.cover(Order::Forwards);
        let mut user_key = Vec::new();
        iter.seek_to_first();
        while let Some(version) = iter.current()? {
            let time = version.timestamp;
            if time > until {
                user_key.clear();
                user_key.extend_from_slice(version.user_key);
                iter.descend(&user_key, until)?;
                continue;
            }
            if time.is_zero() || time > self.threshold {
                let version = iter.version()?;
                sum.version(version.user_key, time, version.stored);
                iter.next();
                continue;
            }
            let deleted = cover
                .as_mut()
                .and_then(|cover| hidden_since(cover.stack(version.user_key)?, time));
            let is_hidden = deleted.is_some_and(|deleted| deleted <= self.threshold);
            if !is_hidden && !iter.is_tombstone()? {
                let version = iter.version()?;
                sum.version(version.user_key, time, version.stored);
            }
            iter.next_key();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_it_always_was() {
        let at = |wall| Timestamp { wall, logical: 3 };
        let mut sum = Sum::default();
        sum.version(b"key", at(7), b"\x01\x02\x03\x04\x03value");
        let first = sum.total;
        sum.version(b"key", at(6), b"");
        sum.deleted(b"a", b"m", at(5));
        assert_eq!((first.hash, first.versions), (14335265682523653610, 1));
        assert_eq!((sum.total.hash, sum.total.versions), (8305821119680444387, 2));
    }

    #[test]
    fn a_stretch_may_be_cut_anywhere() {
        let time = Timestamp::from_secs(9);
        let (mut whole, mut cut) = (Sum::default(), Sum::default());
        whole.deleted(b"a", b"z", time);
        cut.deleted(b"m", b"z", time);
        cut.deleted(b"a", b"m", time);
        assert_eq!(whole.total, cut.total);
        cut.deleted(b"z", b"zz", time);
        assert_ne!(whole.total, cut.total);
    }
}
