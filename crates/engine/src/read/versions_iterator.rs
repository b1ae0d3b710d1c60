//! Every version of every key between two timestamps: RocksDB's iterators with `iter_start_ts`.
//!
//! All versions of the current key are in memory, newest first; the position of the cursor is unspecified. A
//! move to another key seeks to that key's first entry and reads all of its entries.

use std::sync::Arc;

use base::internal_key::{self, ParsedInternalKey};
use base::{Cursor, Error, Kind, Result, SeqNo};

use super::merging_cursor::{MergingCursor, after_key, before_key};
use super::sources::{self, SourceOptions};
use crate::files::blob_cache::BlobRead;
use crate::state::column_family::Family;
use crate::state::handle::Handle;
use crate::state::read_options::ReadOptions;
use crate::state::super_version::SuperVersion;

/// One version of a key.
struct Version {
    timestamp: Vec<u8>,
    is_deletion: bool,
    value: Vec<u8>,
}

/// Iterates over the versions of the keys of a family with timestamps, from [`ReadOptions::iter_start_ts`] to
/// [`ReadOptions::timestamp`], both inclusive: keys in order, the versions of each key from the newest to the
/// oldest, deletions included. If a key was written several times at one timestamp, only the last write is
/// returned. Versions covered by a range deletion at or below the upper timestamp are not returned, and
/// neither are range deletions.
///
/// Made by [`Db::iter_versions`](crate::Db::iter_versions), as of the moment of that call. A new iterator has
/// no position. Its accessors require [`valid`](VersionsIterator::valid) and panic otherwise. A move to
/// another key costs a seek.
pub struct VersionsIterator {
    cursor: MergingCursor,
    family: Arc<Family>,
    /// Held because it keeps the files and memtables alive.
    _super_version: Arc<SuperVersion>,
    seqno: SeqNo,
    from: Vec<u8>,
    to: Vec<u8>,
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
    read: BlobRead,
    /// The current key, without a timestamp.
    key: Vec<u8>,
    /// The versions of the current key, newest first.
    versions: Vec<Version>,
    at: usize,
    error: Option<Error>,
    /// Why the iterator can never be valid.
    broken: Option<Error>,
    target: Vec<u8>,
    /// Keeps the database open. The last field, so that it is dropped last.
    _handle: Arc<Handle>,
}

impl VersionsIterator {
    /// `from` and `to` are timestamps of the family's size.
    pub(crate) fn new(
        super_version: Arc<SuperVersion>,
        family: Arc<Family>,
        seqno: SeqNo,
        options: &ReadOptions,
        (from, to): (&[u8], &[u8]),
        handle: Arc<Handle>,
    ) -> VersionsIterator {
        let sources = SourceOptions::of(options);
        let (cursor, missing) = sources::merged(&family, &super_version, seqno, None, Some(to), &sources);
        VersionsIterator {
            cursor,
            family,
            _super_version: super_version,
            seqno,
            from: from.to_vec(),
            to: to.to_vec(),
            lower: options.iterate_lower_bound.clone(),
            upper: options.iterate_upper_bound.clone(),
            read: BlobRead::from(options),
            key: Vec::new(),
            versions: Vec::new(),
            at: 0,
            error: missing.clone(),
            broken: missing,
            target: Vec::new(),
            _handle: handle,
        }
    }

    /// True while the iterator is at a version.
    pub fn valid(&self) -> bool {
        self.at < self.versions.len()
    }

    /// The error that ended the iteration, if one did.
    pub fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// The current key, without its timestamp.
    pub fn key(&self) -> &[u8] {
        assert!(self.valid(), "the iterator is not valid");
        &self.key
    }

    /// The current version's timestamp.
    pub fn timestamp(&self) -> &[u8] {
        &self.versions[self.at].timestamp
    }

    /// The current version's value; empty for a deletion.
    pub fn value(&self) -> &[u8] {
        &self.versions[self.at].value
    }

    /// True if the current version deletes the key.
    pub fn is_deletion(&self) -> bool {
        self.versions[self.at].is_deletion
    }

    /// Moves to the newest version of the first key.
    pub fn seek_to_first(&mut self) {
        match self.lower.clone() {
            Some(lower) => self.seek(&lower),
            None if self.start() => {
                self.cursor.seek_to_first();
                self.find_forwards();
            }
            None => {}
        }
    }

    /// Moves to the oldest version of the last key.
    pub fn seek_to_last(&mut self) {
        if !self.start() {
            return;
        }
        match &self.upper {
            Some(upper) => {
                before_key(&mut self.target, self.family.cmp.user(), upper);
                self.cursor.seek_for_prev(&self.target);
            }
            None => self.cursor.seek_to_last(),
        }
        self.find_backwards();
    }

    /// Moves to the newest version of the first key at or after `key`.
    pub fn seek(&mut self, key: &[u8]) {
        if !self.start() {
            return;
        }
        let user = self.family.cmp.user();
        let lower = self.lower.as_deref().filter(|lower| {
            let (key, lower) = (user.stamped(key), user.stamped(lower));
            user.compare_without_timestamp(&key, &lower).is_lt()
        });
        before_key(&mut self.target, user, lower.unwrap_or(key));
        self.cursor.seek(&self.target);
        self.find_forwards();
    }

    /// Moves to the oldest version of the last key at or before `key`.
    pub fn seek_for_prev(&mut self, key: &[u8]) {
        if !self.start() {
            return;
        }
        let user = self.family.cmp.user();
        match self.upper.as_deref() {
            Some(upper)
                if user
                    .compare_without_timestamp(&user.stamped(key), &user.stamped(upper))
                    .is_ge() =>
            {
                before_key(&mut self.target, user, upper);
            }
            _ => after_key(&mut self.target, user, key),
        }
        self.cursor.seek_for_prev(&self.target);
        self.find_backwards();
    }

    /// Moves to the next older version, or to the newest version of the next key.
    pub fn next(&mut self) {
        assert!(self.valid(), "the iterator is not valid");
        self.at += 1;
        if self.at == self.versions.len() && self.start() {
            after_key(&mut self.target, self.family.cmp.user(), &self.key);
            self.cursor.seek(&self.target);
            self.find_forwards();
        }
    }

    /// Moves to the next newer version, or to the oldest version of the previous key.
    pub fn prev(&mut self) {
        assert!(self.valid(), "the iterator is not valid");
        match self.at.checked_sub(1) {
            Some(at) => self.at = at,
            None if self.start() => {
                before_key(&mut self.target, self.family.cmp.user(), &self.key);
                self.cursor.seek_for_prev(&self.target);
                self.find_backwards();
            }
            None => {}
        }
    }

    /// Begins a seek. False if it cannot succeed.
    fn start(&mut self) -> bool {
        self.versions.clear();
        self.at = 0;
        self.error = match self.family.is_closed() {
            true => Some(crate::state::db_state::closing()),
            false => self.broken.clone(),
        };
        self.error.is_none()
    }

    fn fail(&mut self, error: Error) {
        self.versions.clear();
        self.at = 0;
        self.error = Some(error);
    }

    /// The cursor is at the first entry of a key: reads keys forwards from there until one has a version to
    /// return.
    fn find_forwards(&mut self) {
        while self.take_key() {
            let user = self.family.cmp.user();
            let beyond = self.upper.as_deref().is_some_and(|upper| {
                let (key, upper) = (user.stamped(&self.key), user.stamped(upper));
                user.compare_without_timestamp(&key, &upper).is_ge()
            });
            if beyond {
                return;
            }
            if let Err(error) = self.read_versions() {
                return self.fail(error);
            }
            if !self.versions.is_empty() {
                return;
            }
        }
    }

    /// The cursor is at the last entry of a key: reads keys backwards from there until one has a version to
    /// return.
    fn find_backwards(&mut self) {
        while self.take_key() {
            let user = self.family.cmp.user();
            let beyond = self.lower.as_deref().is_some_and(|lower| {
                let (key, lower) = (user.stamped(&self.key), user.stamped(lower));
                user.compare_without_timestamp(&key, &lower).is_lt()
            });
            if beyond {
                return;
            }
            before_key(&mut self.target, user, &self.key);
            self.cursor.seek(&self.target);
            if let Err(error) = self.read_versions() {
                return self.fail(error);
            }
            if !self.versions.is_empty() {
                self.at = self.versions.len() - 1;
                return;
            }
            before_key(&mut self.target, self.family.cmp.user(), &self.key);
            self.cursor.seek_for_prev(&self.target);
        }
    }

    /// Makes the cursor's key the current one. False if the cursor is not valid.
    fn take_key(&mut self) -> bool {
        if !self.cursor.valid() {
            if let Err(error) = self.cursor.status() {
                self.fail(error);
            }
            return false;
        }
        let bare = self
            .family
            .cmp
            .user()
            .strip_timestamp(internal_key::user_key(self.cursor.key()));
        self.key.clear();
        self.key.extend_from_slice(bare);
        true
    }

    /// The cursor is at the first entry of the current key: reads all entries of the key.
    fn read_versions(&mut self) -> Result<()> {
        let user = self.family.cmp.user();
        while self.cursor.valid() {
            let entry = ParsedInternalKey::parse(self.cursor.key())?;
            if user
                .compare_without_timestamp(entry.user_key, &user.stamped(&self.key))
                .is_ne()
            {
                break;
            }
            let timestamp = user.timestamp(entry.user_key);
            let shown = entry.seqno <= self.seqno
                && user.compare_timestamp(timestamp, &self.to).is_le()
                && user.compare_timestamp(timestamp, &self.from).is_ge()
                // Older entries of the same timestamp were overwritten.
                && self.versions.last().is_none_or(|last| last.timestamp != timestamp);
            if shown {
                let is_deletion = entry.kind.is_tombstone();
                let mut value = Vec::new();
                match entry.kind {
                    Kind::Merge => return Err(Error::not_supported("merges in families with timestamps")),
                    _ if is_deletion => {}
                    kind => self.family.values.plain(
                        kind,
                        entry.user_key,
                        self.cursor.value(),
                        self.read,
                        &mut value,
                    )?,
                }
                self.versions.push(Version {
                    timestamp: timestamp.to_vec(),
                    is_deletion,
                    value,
                });
            }
            self.cursor.next();
        }
        self.cursor.status()
    }
}
