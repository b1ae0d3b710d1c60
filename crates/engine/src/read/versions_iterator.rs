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
use crate::state::value::{Base, ValueResolver};

/// One version of a key.
struct Version {
    timestamp: Vec<u8>,
    seqno: SeqNo,
    is_deletion: bool,
    value: Vec<u8>,
}

/// Iterates over the versions of the keys of a family with timestamps, from [`ReadOptions::iter_start_ts`] to
/// [`ReadOptions::timestamp`], both inclusive: keys in order, the versions of each key from the newest to the
/// oldest, deletions included. The value of a version that was merged is the result of the merge as of its
/// timestamp. If a key was written several times at one timestamp, only the last write is
/// returned. Versions covered by a range deletion at or below the upper timestamp are not returned, and
/// neither are range deletions.
///
/// Made by [`Db::iter_versions`](crate::Db::iter_versions), as of the moment of that call. A new iterator has
/// no position. Its accessors require [`valid`](VersionsIterator::valid) and panic otherwise. A move to
/// another key costs a seek.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{ColumnFamilyOptions, ReadOptions, UserComparator, WriteBatch};
///
/// let family = ColumnFamilyOptions { comparator: UserComparator::BytewiseU64Ts, ..Default::default() };
/// let family = db.create_column_family("history", &family)?;
/// let mut batch = WriteBatch::new();
/// batch.put_at(&family, b"key", &1_u64.to_le_bytes(), b"old");
/// batch.put_at(&family, b"key", &2_u64.to_le_bytes(), b"new");
/// db.write(batch)?;
///
/// let times = ReadOptions {
///     iter_start_ts: Some(1_u64.to_le_bytes().to_vec()),
///     timestamp: Some(2_u64.to_le_bytes().to_vec()),
///     ..Default::default()
/// };
/// let mut versions = db.iter_versions(&family, &times)?;
/// versions.seek_to_first();
/// assert_eq!((versions.value(), versions.timestamp()), (&b"new"[..], &2_u64.to_le_bytes()[..]));
/// versions.next();
/// assert_eq!(versions.value(), b"old");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct VersionsIterator {
    cursor: MergingCursor,
    family: Arc<Family>,
    /// The super version, held because it keeps the files and memtables alive.
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

    /// The sequence number of the write of the current version; 0 once no snapshot needs it.
    pub fn sequence_number(&self) -> SeqNo {
        self.versions[self.at].seqno
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
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        let key = key.as_ref();
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
    pub fn seek_for_prev(&mut self, key: impl AsRef<[u8]>) {
        let key = key.as_ref();
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

    /// Begins a seek. False if the seek cannot succeed.
    fn start(&mut self) -> bool {
        self.versions.clear();
        self.at = 0;
        self.error = match self.family.is_closed() {
            true => Some(crate::state::error_state::closing()),
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

    /// The cursor is at the first entry of the current key: reads its versions, and the older entries that
    /// their merge operands are merged into.
    fn read_versions(&mut self) -> Result<()> {
        let user = self.family.cmp.user();
        let mut unmerged = Unmerged::default();
        while self.cursor.valid() {
            let entry = ParsedInternalKey::parse(self.cursor.key())?;
            if user
                .compare_without_timestamp(entry.user_key, &user.stamped(&self.key))
                .is_ne()
            {
                break;
            }
            let timestamp = user.timestamp(entry.user_key);
            let visible = entry.seqno <= self.seqno && user.compare_timestamp(timestamp, &self.to).is_le();
            // An entry with the same timestamp as a newer entry was overwritten, unless the newer one is a
            // merge operand.
            let overwritten = || {
                self.versions
                    .last()
                    .is_some_and(|last| last.timestamp == timestamp)
            };
            let is_in_range = user.compare_timestamp(timestamp, &self.from).is_ge();
            let begins = is_in_range && !overwritten();
            if !visible || unmerged.is_empty() && !begins {
                self.cursor.next();
                continue;
            }
            let kind = entry.kind;
            if begins {
                self.versions.push(Version {
                    timestamp: timestamp.to_vec(),
                    seqno: entry.seqno,
                    is_deletion: kind.is_tombstone(),
                    value: Vec::new(),
                });
            }
            let value = self.cursor.value();
            if kind == Kind::Merge {
                unmerged.push(begins, value);
            } else {
                let older = self.versions.len() - usize::from(begins);
                let base = match kind.is_tombstone() {
                    true => Base::Nothing,
                    false => Base::Entry(kind, value),
                };
                unmerged.merge(
                    &self.family.values,
                    entry.user_key,
                    base,
                    self.read,
                    &mut self.versions[..older],
                    &self.key,
                )?;
                if begins && !kind.is_tombstone() {
                    let out = &mut self.versions[older].value;
                    self.family
                        .values
                        .plain(kind, entry.user_key, value, self.read, out)?;
                }
            }
            self.cursor.next();
        }
        self.cursor.status()?;
        unmerged.merge(
            &self.family.values,
            &[],
            Base::Nothing,
            self.read,
            &mut self.versions,
            &self.key,
        )
    }
}

/// The operands of the last versions read, whose base value is not known yet.
#[derive(Default)]
struct Unmerged {
    /// The merge operands of each collected version. Versions and operands are ordered from the newest to the
    /// oldest.
    operands: Vec<Vec<Vec<u8>>>,
}

impl Unmerged {
    fn is_empty(&self) -> bool {
        self.operands.is_empty()
    }

    /// Adds an operand to the last version; it is its first one if the operand `begins` the version.
    fn push(&mut self, begins: bool, operand: &[u8]) {
        if begins {
            self.operands.push(Vec::new());
        }
        if let Some(last) = self.operands.last_mut() {
            last.push(operand.to_vec());
        }
    }

    /// Merges the operands into `base`, whose user key is `base_key`: the value of each version of `key`, the
    /// last ones of `versions`, is the base of the next newer one.
    fn merge(
        &mut self,
        values: &ValueResolver,
        base_key: &[u8],
        base: Base<'_>,
        read: BlobRead,
        versions: &mut [Version],
        key: &[u8],
    ) -> Result<()> {
        let mut merged: Option<(Kind, Vec<u8>)> = None;
        let versions = versions.iter_mut().rev();
        for (version, operands) in versions.zip(self.operands.drain(..).rev()) {
            let operands: Vec<&[u8]> = operands.iter().rev().map(|operand| &operand[..]).collect();
            let user_key = [key, &version.timestamp].concat();
            let (kind, bytes) = match &merged {
                Some((kind, bytes)) => {
                    values.merge_over(Base::Entry(*kind, bytes), &user_key, &operands, read)?
                }
                None => values.merge_over_older(base, base_key, &user_key, &operands, read)?,
            };
            values.plain(kind, &user_key, &bytes, read, &mut version.value)?;
            merged = Some((kind, bytes));
        }
        Ok(())
    }
}
