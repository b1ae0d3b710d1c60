//! The iterator over versions that every operation uses.

use base::steps::StepsBeforeSeek;
use esker::DbIterator;

use crate::error::{Error, Result};
use crate::key::mvcc_key::{MvccKey, encode_key};
use crate::key::timestamp::Timestamp;
use crate::read::counters::ReadCounters;

/// The version at an iterator's position, with its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version<'a> {
    pub user_key: &'a [u8],
    /// The time of the version; [`Timestamp::ZERO`] for an inline value.
    pub timestamp: Timestamp,
    pub stored: &'a [u8],
}

/// A version that a backward walk has found; the iterator may have moved past it.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The time of the version; [`Timestamp::ZERO`] for an inline value.
    pub timestamp: Timestamp,
    /// The stored value, empty while it has not been read.
    pub stored: Vec<u8>,
    pub is_read: bool,
    /// The length of a value that is not read, if it is known.
    pub unread_len: Option<usize>,
}

/// The maximum length of a compressed deletion, which is an empty value; with a large margin.
const MAX_COMPRESSED_NOTHING: u64 = 64;

/// An iterator over versions: user keys in order, the newest version of each first.
pub(crate) struct VersionIter {
    pub(crate) iter: DbIterator,
    pub counters: ReadCounters,
    pub(crate) target: Vec<u8>,
    pub steps: StepsBeforeSeek,
}

impl VersionIter {
    /// The key at the current position; `None` at an end.
    #[inline]
    pub fn current(&self) -> Result<Option<MvccKey<'_>>> {
        if !self.iter.valid() {
            self.iter.status()?;
            return Ok(None);
        }
        Ok(Some(MvccKey::decode(self.iter.key())?))
    }

    /// The version at the current position with its value, which is read if it is in a blob file. Requires
    /// that [`current`](Self::current) returns a key.
    #[inline]
    pub fn version(&mut self) -> Result<Version<'_>> {
        self.prepare()?;
        let key = MvccKey::decode(self.iter.key())?;
        Ok(Version {
            user_key: key.user_key,
            timestamp: key.timestamp,
            stored: self.iter.value(),
        })
    }

    #[inline]
    fn prepare(&mut self) -> Result<()> {
        if !self.iter.is_value_prepared() && !self.iter.prepare_value() {
            self.iter.status()?;
        }
        Ok(())
    }

    /// The length of the current value, if the value is not read and the length is known nevertheless.
    #[inline]
    pub fn unread_len(&self) -> Result<Option<usize>> {
        if self.iter.is_value_prepared() {
            return Ok(None);
        }
        let unread = self.iter.unprepared_value()?;
        let own_size = unread.filter(|unread| !unread.is_compressed);
        // If no value can have the stored size, the read of the value reports the corruption.
        Ok(own_size.and_then(|unread| u32::try_from(unread.stored_size).ok()?.try_into().ok()))
    }

    /// The length of the current value, which is read if the length is unknown otherwise. Requires that
    /// [`current`](Self::current) returns a key.
    #[inline]
    pub fn value_len(&mut self) -> Result<usize> {
        if let Some(len) = self.unread_len()? {
            return Ok(len);
        }
        self.prepare()?;
        Ok(self.iter.value().len())
    }

    /// True at a deletion. Requires that [`current`](Self::current) returns a version.
    #[inline]
    pub fn is_tombstone(&mut self) -> Result<bool> {
        if !self.iter.is_value_prepared()
            && let Some(unread) = self.iter.unprepared_value()?
            && unread.is_compressed
            && unread.stored_size > MAX_COMPRESSED_NOTHING
        {
            return Ok(false);
        }
        Ok(self.value_len()? == 0)
    }

    /// The time of the current version, if it is a version of `user_key`.
    #[inline]
    pub fn time_of(&self, user_key: &[u8]) -> Result<Option<Timestamp>> {
        if !self.iter.valid() {
            self.iter.status()?;
            return Ok(None);
        }
        let key = MvccKey::decode(self.iter.key())?;
        Ok((key.user_key == user_key).then_some(key.timestamp))
    }

    /// The current engine key. Requires that [`current`](Self::current) returns a key.
    #[inline]
    pub fn engine_key(&self) -> &[u8] {
        self.iter.key()
    }

    pub fn seek_to_first(&mut self) {
        self.counters.seeks += 1;
        self.iter.seek_to_first();
    }

    pub fn seek_to_last(&mut self) {
        self.counters.seeks += 1;
        self.iter.seek_to_last();
    }

    /// Moves to the first entry of `user_key`, its inline value or its newest version, or to the first entry
    /// after the key.
    pub fn seek_key(&mut self, user_key: &[u8]) {
        self.counters.seeks += 1;
        self.target.clear();
        encode_key(&mut self.target, user_key, Timestamp::ZERO);
        self.iter.seek(&self.target);
    }

    /// Moves to the newest version of `user_key`, or to its inline value, and returns its time.
    ///
    /// A version is written above all older ones of its key, so the versions in memtables are newer than
    /// those in tables: tables are read only if memtables have none.
    pub fn seek_newest(&mut self, user_key: &[u8]) -> Result<Option<Timestamp>> {
        self.seek_memtables_first(user_key, Timestamp::ZERO)
    }

    /// Moves to the newest version of `user_key` at or below `timestamp`, and returns its time. Memtables are
    /// read first, as [`seek_newest`](Self::seek_newest) does.
    pub fn seek_newest_at(&mut self, user_key: &[u8], timestamp: Timestamp) -> Result<Option<Timestamp>> {
        debug_assert!(
            timestamp.check().is_ok(),
            "{timestamp} is encoded as above all versions"
        );
        self.seek_memtables_first(user_key, timestamp)
    }

    /// Moves to the first entry at or after that of `user_key` at `timestamp`. Returns its time if it is a
    /// version of `user_key`.
    fn seek_memtables_first(&mut self, user_key: &[u8], timestamp: Timestamp) -> Result<Option<Timestamp>> {
        self.counters.seeks += 1;
        self.target.clear();
        encode_key(&mut self.target, user_key, timestamp);
        if self.iter.seek_in_memtables(&self.target)
            && let Some(found) = self.time_of(user_key)?
        {
            return Ok(Some(found));
        }
        self.iter.seek(&self.target);
        self.time_of(user_key)
    }

    /// Moves to the first version of `user_key` at or below `timestamp`, which must be a valid time of a
    /// version, or to the first entry after the key.
    pub fn seek(&mut self, user_key: &[u8], timestamp: Timestamp) {
        debug_assert!(
            timestamp.check().is_ok(),
            "{timestamp} is encoded as above all versions"
        );
        self.counters.seeks += 1;
        self.target.clear();
        encode_key(&mut self.target, user_key, timestamp);
        self.iter.seek(&self.target);
    }

    /// Moves to the last version of `user_key` at or above `timestamp`, which must be a valid time of a
    /// version, or to the entry before it.
    pub fn seek_for_prev(&mut self, user_key: &[u8], timestamp: Timestamp) {
        debug_assert!(
            timestamp.check().is_ok(),
            "{timestamp} is encoded as above all versions"
        );
        self.counters.seeks += 1;
        self.target.clear();
        encode_key(&mut self.target, user_key, timestamp);
        self.iter.seek_for_prev(&self.target);
    }

    /// Moves past all entries.
    pub fn seek_behind_all(&mut self) {
        if self.iter.valid() {
            self.iter.seek_to_last();
            self.iter.next();
        }
    }

    #[inline]
    pub fn next(&mut self) {
        self.counters.steps += 1;
        self.iter.next();
    }

    #[inline]
    pub fn prev(&mut self) {
        self.counters.steps += 1;
        self.iter.prev();
    }

    /// Moves from a version of `user_key` down to the newest at or below `timestamp`. False if there is none:
    /// the iterator is then after the key.
    pub fn descend(&mut self, user_key: &[u8], timestamp: Timestamp) -> Result<bool> {
        for _ in 0..self.steps.get() {
            self.counters.skipped += 1;
            self.next();
            match self.time_of(user_key)? {
                Some(time) if time > timestamp => {}
                found => {
                    self.steps.found();
                    return Ok(found.is_some());
                }
            }
        }
        self.counters.skipped += 1;
        self.steps.missed();
        self.seek(user_key, timestamp);
        Ok(self.time_of(user_key)?.is_some())
    }

    /// Moves from a version to the first entry after its key.
    pub fn next_key(&mut self) {
        let moved = self.iter.next_prefix();
        self.counters.steps += u64::from(moved.steps);
        self.counters.seeks += u64::from(moved.sought);
        // The last step, if no seek followed, left the key.
        self.counters.skipped += u64::from(moved.steps.saturating_sub(u32::from(!moved.sought)));
    }

    /// Moves from a version of `user_key` to the entry before all versions of the key.
    pub fn prev_key(&mut self, user_key: &[u8]) -> Result<()> {
        for _ in 0..self.steps.get() {
            self.prev();
            if self.time_of(user_key)?.is_none() {
                self.steps.found();
                return Ok(());
            }
            self.counters.skipped += 1;
        }
        self.steps.missed();
        self.seek_before(user_key)
    }

    /// Moves to the entry before all versions of `user_key`.
    pub fn seek_before(&mut self, user_key: &[u8]) -> Result<()> {
        self.counters.seeks += 1;
        self.target.clear();
        encode_key(&mut self.target, user_key, Timestamp::ZERO);
        self.iter.seek_for_prev(&self.target);
        if self.time_of(user_key)?.is_some() {
            self.prev();
        }
        Ok(())
    }

    /// Moves from the oldest version of `user_key`, at or below `timestamp`, up to the newest such version,
    /// which is stored in `found`, perhaps not [read](Self::read). True if the iterator is then before the
    /// key already.
    pub fn climb(&mut self, user_key: &[u8], timestamp: Timestamp, found: &mut Found) -> Result<bool> {
        for _ in 0..self.steps.get() {
            self.take(found)?;
            self.prev();
            match self.time_of(user_key)? {
                None => {
                    self.steps.found();
                    return Ok(true);
                }
                Some(time) if time.is_zero() => return Err(mixed(user_key)),
                // Either this version is too new for the reader, or the previous one was older than this one:
                // one of the two is skipped.
                Some(time) => {
                    self.counters.skipped += 1;
                    if time > timestamp {
                        self.steps.found();
                        return Ok(false);
                    }
                }
            }
        }
        self.steps.missed();
        self.seek(user_key, timestamp);
        self.take(found)?;
        Ok(false)
    }

    /// Stores the current version in `found`, with its value if that is available.
    pub fn take(&self, found: &mut Found) -> Result<()> {
        if let Some(version) = self.current()? {
            found.timestamp = version.timestamp;
            found.stored.clear();
            found.stored.extend_from_slice(self.iter.value());
            found.is_read = self.iter.is_value_prepared();
            found.unread_len = self.unread_len()?;
        }
        Ok(())
    }

    /// Reads the value of a version of `user_key` that was found, moving back to it.
    #[cold]
    pub fn read(&mut self, user_key: &[u8], found: &mut Found) -> Result<()> {
        if self.time_of(user_key)? != Some(found.timestamp) {
            match found.timestamp.is_zero() {
                true => self.seek_key(user_key),
                false => self.seek(user_key, found.timestamp),
            }
        }
        if self.current()?.is_some() {
            self.prepare()?;
        }
        self.take(found)
    }
}

/// The error of a key that has both an inline value and versions.
#[cold]
pub(crate) fn mixed(user_key: &[u8]) -> Error {
    Error::corruption(format!(
        "{} has an inline value and versions",
        crate::error::Shown(user_key)
    ))
}
