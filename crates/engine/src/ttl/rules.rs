//! The suffix of values: encoding, decoding, and the expiry of rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::env::Clock;
use base::{Error, Result};

use crate::files::pinned_value::PinnedValue;

/// The expiry of a family's rows.
///
/// See the example of [`TtlOptions`](super::TtlOptions).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyTtl {
    /// Compatible with RocksDB's `DBWithTTL`: a row written more than this many seconds ago is dropped by the
    /// next compaction that reads it, and visible until then; 0 or less: no row expires. A merge makes a row
    /// new. Values take 4 more bytes.
    RocksDb(i32),
    /// Each row has a time to live of its own, or else this one; with `None` it does not expire. After its
    /// expiry no read returns it, whatever its snapshot, and the next compaction that reads it drops it.
    /// Merges are not supported. Values take 8 more bytes. RocksDB has no such kind: it shows values with
    /// their suffix.
    PerKey(Option<Duration>),
}

/// The lowest valid time of RocksDB's values in Unix seconds: 9 May 2013.
const MIN_TIMESTAMP: u32 = 1_368_146_402;

/// The treatment of a family's values.
pub(super) struct Rules {
    by_key: bool,
    /// The time to live: seconds as an `i32`, or microseconds per key; 0: no expiry.
    ttl: AtomicU64,
    clock: Arc<dyn Clock>,
}

impl Rules {
    pub fn new(ttl: FamilyTtl, clock: Arc<dyn Clock>) -> Arc<Rules> {
        Arc::new(Rules {
            by_key: matches!(ttl, FamilyTtl::PerKey(_)),
            ttl: AtomicU64::new(encoded(ttl)),
            clock,
        })
    }

    pub fn is_by_key(&self) -> bool {
        self.by_key
    }

    pub fn set(&self, ttl: FamilyTtl) -> Result<()> {
        if self.by_key != matches!(ttl, FamilyTtl::PerKey(_)) {
            return Err(Error::invalid_argument(
                "the kind of time to live of a column family cannot change: its values are stored in that form",
            ));
        }
        self.ttl.store(encoded(ttl), Ordering::Relaxed);
        Ok(())
    }

    pub fn ttl(&self) -> FamilyTtl {
        let ttl = self.ttl.load(Ordering::Relaxed);
        match self.by_key {
            true => FamilyTtl::PerKey((ttl > 0).then(|| Duration::from_micros(ttl))),
            false => FamilyTtl::RocksDb((ttl as u32).cast_signed()),
        }
    }

    pub fn check_merges(&self) -> Result<()> {
        match self.by_key {
            true => Err(Error::not_supported(
                "merges (merge_operator) in a family whose rows have a time to live by key",
            )),
            false => Ok(()),
        }
    }

    /// The length of the suffix in bytes.
    pub fn suffix_len(&self) -> usize {
        if self.by_key { 8 } else { 4 }
    }

    /// The Unix time: in seconds, or per key in microseconds.
    pub fn now(&self) -> u64 {
        match self.by_key {
            true => self.clock.unix_micros(),
            false => self.clock.unix_seconds(),
        }
    }

    /// `value` with the suffix for a write at this moment, with a time to live of its own or the family's.
    pub fn stamped(&self, value: &[u8], own: Option<Duration>) -> Result<Vec<u8>> {
        let mut stamped = Vec::with_capacity(value.len() + self.suffix_len());
        stamped.extend_from_slice(value);
        if self.by_key {
            let ttl = match own {
                Some(own) => micros(own).max(1),
                None => self.ttl.load(Ordering::Relaxed),
            };
            let expires = match ttl {
                0 => 0,
                ttl => self.now().saturating_add(ttl).max(1),
            };
            stamped.extend_from_slice(&expires.to_le_bytes());
        } else if own.is_some() {
            return Err(Error::not_supported(
                "a row's own time to live in a family that is not FamilyTtl::PerKey",
            ));
        } else {
            // With an earlier time no reader would accept the row, here and in RocksDB.
            let written = (self.now() as u32).max(MIN_TIMESTAMP);
            stamped.extend_from_slice(&written.to_le_bytes());
        }
        Ok(stamped)
    }

    /// Splits a value from its suffix.
    pub fn split<'a>(&self, value: &'a [u8]) -> Result<(&'a [u8], u64)> {
        if self.by_key {
            let (value, suffix) = value.split_last_chunk().ok_or_else(too_short)?;
            return Ok((value, u64::from_le_bytes(*suffix)));
        }
        let (value, suffix) = value.split_last_chunk().ok_or_else(too_short)?;
        let written = u32::from_le_bytes(*suffix);
        match written < MIN_TIMESTAMP {
            true => Err(Error::corruption("Error: Timestamp < ttl feature release time!")),
            false => Ok((value, u64::from(written))),
        }
    }

    /// True if a row with that time in its suffix may be dropped.
    pub fn is_expired(&self, stamp: u64, now: u64) -> bool {
        if self.by_key {
            return stamp != 0 && stamp <= now;
        }
        let ttl = (self.ttl.load(Ordering::Relaxed) as u32).cast_signed();
        ttl > 0 && stamp.saturating_add(u64::from(ttl.cast_unsigned())) < now
    }

    /// True if a row with that time in its suffix must not be returned to readers.
    pub fn is_hidden(&self, stamp: u64, now: u64) -> bool {
        self.by_key && self.is_expired(stamp, now)
    }

    /// The part of a stored value that a reader gets; `None` if the row is hidden.
    pub fn shown(&self, mut value: Vec<u8>, now: u64) -> Result<Option<Vec<u8>>> {
        let (bare, stamp) = self.split(&value)?;
        let len = bare.len();
        value.truncate(len);
        Ok((!self.is_hidden(stamp, now)).then_some(value))
    }

    /// Returns a pinned value as readers see it, by the rules of [`shown`](Self::shown).
    pub fn shown_pinned(&self, value: PinnedValue, now: u64) -> Result<Option<PinnedValue>> {
        let (bare, stamp) = self.split(&value)?;
        let len = bare.len();
        Ok((!self.is_hidden(stamp, now)).then(|| value.first(len)))
    }
}

fn encoded(ttl: FamilyTtl) -> u64 {
    match ttl {
        FamilyTtl::RocksDb(seconds) => u64::from(seconds.cast_unsigned()),
        FamilyTtl::PerKey(ttl) => ttl.map_or(0, |ttl| micros(ttl).max(1)),
    }
}

fn micros(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_micros()).unwrap_or(u64::MAX)
}

fn too_short() -> Error {
    Error::corruption("Error: value's length less than timestamp's")
}
