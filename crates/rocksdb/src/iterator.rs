//! Iterators.

use std::iter::FusedIterator;
use std::marker::PhantomData;

use crate::{DBAccess, Error, ReadOptions};

/// A row of an iterator: key and value.
pub type KVBytes = (Box<[u8]>, Box<[u8]>);

/// A raw iterator, which is moved by calls. It is invalid before the first one.
///
/// ```
/// use esker_rocksdb::DB;
///
/// # let dir = tempfile::tempdir().unwrap();
/// let db = DB::open_default(dir.path()).unwrap();
/// db.put(b"a", b"1").unwrap();
/// db.put(b"b", b"2").unwrap();
/// let mut rows = db.raw_iterator();
/// rows.seek(b"aa");
/// assert_eq!(rows.item(), Some((&b"b"[..], &b"2"[..])));
/// rows.prev();
/// assert_eq!(rows.key(), Some(&b"a"[..]));
/// ```
pub struct DBRawIteratorWithThreadMode<'a, D: DBAccess> {
    inner: Result<esker::DbIterator, Error>,
    /// True if each step forwards sees later writes.
    tailing: bool,
    /// For an iterator that ends with the prefix it began with (`prefix_same_as_start`): the lower bound, at
    /// which a walk from the front begins, if there is one.
    prefix: Option<Option<Vec<u8>>>,
    /// The number of bytes at the end of each value that hold the time of its write, which the caller does
    /// not see.
    suffix: usize,
    _db: PhantomData<&'a D>,
}

impl<'a, D: DBAccess> DBRawIteratorWithThreadMode<'a, D> {
    pub(crate) fn new(
        db: &D,
        inner: Result<esker::DbIterator, Error>,
        options: &ReadOptions,
    ) -> DBRawIteratorWithThreadMode<'a, D> {
        let options = &options.inner;
        DBRawIteratorWithThreadMode {
            inner,
            tailing: options.tailing,
            prefix: options
                .prefix_same_as_start
                .then(|| options.iterate_lower_bound.clone()),
            suffix: db.value_suffix(),
            _db: PhantomData,
        }
    }

    fn moved(&mut self, step: impl FnOnce(&mut esker::DbIterator)) {
        if let Ok(inner) = &mut self.inner {
            step(inner);
        }
    }

    fn here(&self) -> Option<&esker::DbIterator> {
        self.inner.as_ref().ok().filter(|inner| inner.valid())
    }

    /// True if the iterator is at a row. Otherwise [`status`](Self::status) is the error, or `Ok` at the end.
    pub fn valid(&self) -> bool {
        self.here().is_some()
    }

    /// The error of the iterator.
    ///
    /// # Errors
    /// The error that stopped the iterator.
    pub fn status(&self) -> Result<(), Error> {
        match &self.inner {
            Ok(inner) => Ok(inner.status()?),
            Err(error) => Err(error.clone()),
        }
    }

    /// Reads the present state of the database, without a snapshot, and becomes invalid.
    ///
    /// # Errors
    /// `Not implemented` if the iterator also reads a batch.
    pub fn refresh(&mut self) -> Result<(), Error> {
        match &mut self.inner {
            Ok(inner) => Ok(inner.refresh(None)?),
            Err(error) => Err(error.clone()),
        }
    }

    /// Moves to the first row. With `prefix_same_as_start` the iterator then ends with the prefix of the
    /// lower bound, or of that row.
    pub fn seek_to_first(&mut self) {
        match self.prefix.clone() {
            Some(Some(lower)) => self.seek(lower),
            prefix => {
                self.moved(esker::DbIterator::seek_to_first);
                if let Some(key) = self.key().filter(|_| prefix.is_some()).map(<[u8]>::to_vec) {
                    self.seek(key);
                }
            }
        }
    }

    /// Moves to the last row. With `prefix_same_as_start` the iterator then ends with the prefix of that row.
    pub fn seek_to_last(&mut self) {
        self.moved(esker::DbIterator::seek_to_last);
        if let Some(key) = self.key().filter(|_| self.prefix.is_some()).map(<[u8]>::to_vec) {
            self.seek_for_prev(key);
        }
    }

    /// Moves to the row of `key`, or the first after it.
    pub fn seek<K: AsRef<[u8]>>(&mut self, key: K) {
        self.moved(|inner| inner.seek(key.as_ref()));
    }

    /// Moves to the row of `key`, or the last before it.
    pub fn seek_for_prev<K: AsRef<[u8]>>(&mut self, key: K) {
        self.moved(|inner| inner.seek_for_prev(key.as_ref()));
    }

    /// Moves to the next row. An invalid iterator stays invalid.
    pub fn next(&mut self) {
        if !self.valid() {
            return;
        }
        if self.tailing {
            // A tailing iterator sees later writes only at a seek.
            let Some(key) = self.key().map(<[u8]>::to_vec) else {
                return;
            };
            self.seek(&key);
            if self.key() != Some(&key[..]) {
                return;
            }
        }
        self.moved(esker::DbIterator::next);
    }

    /// Moves to the previous row. An invalid iterator stays invalid.
    pub fn prev(&mut self) {
        if self.valid() {
            self.moved(esker::DbIterator::prev);
        }
    }

    fn bare<'v>(&self, value: &'v [u8]) -> &'v [u8] {
        &value[..value.len().saturating_sub(self.suffix)]
    }

    /// The key of the current row.
    pub fn key(&self) -> Option<&[u8]> {
        self.here().map(esker::DbIterator::key)
    }

    /// The value of the current row.
    pub fn value(&self) -> Option<&[u8]> {
        self.here().map(|inner| self.bare(inner.value()))
    }

    /// The timestamp of the row; empty without timestamps.
    pub fn timestamp(&self) -> Option<&[u8]> {
        self.here().map(esker::DbIterator::timestamp)
    }

    /// The key and the value.
    pub fn item(&self) -> Option<(&[u8], &[u8])> {
        self.here().map(|inner| (inner.key(), self.bare(inner.value())))
    }
}

/// The direction of an iterator.
#[derive(Clone, Copy)]
pub enum Direction {
    /// The iterator moves to greater keys.
    Forward,
    /// The iterator moves to smaller keys.
    Reverse,
}

/// The start of an iterator.
#[derive(Clone, Copy)]
pub enum IteratorMode<'a> {
    /// The iterator goes forwards from the first row.
    Start,
    /// The iterator goes backwards from the last row.
    End,
    /// The row of this key, or the next one in the direction.
    From(&'a [u8], Direction),
}

/// A Rust iterator over rows.
///
/// ```
/// use esker_rocksdb::{DB, Direction, IteratorMode};
///
/// # let dir = tempfile::tempdir().unwrap();
/// let db = DB::open_default(dir.path()).unwrap();
/// db.put(b"a", b"1").unwrap();
/// db.put(b"b", b"2").unwrap();
/// let keys = |mode| -> Vec<Vec<u8>> { db.iterator(mode).map(|row| row.unwrap().0.into_vec()).collect() };
/// assert_eq!(keys(IteratorMode::Start), [b"a", b"b"]);
/// assert_eq!(keys(IteratorMode::From(b"b", Direction::Reverse)), [b"b", b"a"]);
/// ```
pub struct DBIteratorWithThreadMode<'a, D: DBAccess> {
    raw: DBRawIteratorWithThreadMode<'a, D>,
    direction: Direction,
    done: bool,
}

impl<'a, D: DBAccess> DBIteratorWithThreadMode<'a, D> {
    pub(crate) fn new(
        db: &D,
        inner: Result<esker::DbIterator, Error>,
        options: &ReadOptions,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'a, D> {
        let mut iterator = DBIteratorWithThreadMode {
            raw: DBRawIteratorWithThreadMode::new(db, inner, options),
            direction: Direction::Forward,
            done: false,
        };
        iterator.set_mode(mode);
        iterator
    }

    /// Restarts the iterator at the first row of `mode`.
    pub fn set_mode(&mut self, mode: IteratorMode<'_>) {
        self.done = false;
        self.direction = match mode {
            IteratorMode::Start => {
                self.raw.seek_to_first();
                Direction::Forward
            }
            IteratorMode::End => {
                self.raw.seek_to_last();
                Direction::Reverse
            }
            IteratorMode::From(key, Direction::Forward) => {
                self.raw.seek(key);
                Direction::Forward
            }
            IteratorMode::From(key, Direction::Reverse) => {
                self.raw.seek_for_prev(key);
                Direction::Reverse
            }
        };
    }

    /// Reads the present state of the database, and starts again.
    ///
    /// # Errors
    /// The errors of [`DBRawIteratorWithThreadMode::refresh`].
    pub fn refresh(&mut self, mode: IteratorMode<'_>) -> Result<(), Error> {
        self.raw.refresh()?;
        self.set_mode(mode);
        Ok(())
    }
}

impl<D: DBAccess> Iterator for DBIteratorWithThreadMode<'_, D> {
    type Item = Result<KVBytes, Error>;

    fn next(&mut self) -> Option<Result<KVBytes, Error>> {
        if self.done {
            return None;
        }
        let Some((key, value)) = self.raw.item() else {
            self.done = true;
            return self.raw.status().err().map(Err);
        };
        let row = (Box::from(key), Box::from(value));
        match self.direction {
            Direction::Forward => self.raw.next(),
            Direction::Reverse => self.raw.prev(),
        }
        Some(Ok(row))
    }
}

impl<D: DBAccess> FusedIterator for DBIteratorWithThreadMode<'_, D> {}

impl<'a, D: DBAccess> From<DBIteratorWithThreadMode<'a, D>> for DBRawIteratorWithThreadMode<'a, D> {
    fn from(iterator: DBIteratorWithThreadMode<'a, D>) -> DBRawIteratorWithThreadMode<'a, D> {
        iterator.raw
    }
}
