//! One iterator over the keys of several families.
//!
//! The iterator of each family is at its first key at or after the current one, in the direction of
//! iteration. The iterators at the current key are `current`, in the order of the families. A step moves
//! these and then finds the smallest key again (the largest, going backwards).

use base::{Result, UserComparator};

use super::db_iterator::DbIterator;
use crate::state::column_family::ColumnFamily;
use crate::state::value::Columns;

/// Iterates over the keys of several families in order, in either direction. Each key appears once, with the
/// columns that the families have for it.
///
/// [`columns`](MultiCfIterator::columns) and [`value`](MultiCfIterator::value) return the same as RocksDB's
/// `NewCoalescingIterator`: the columns of all families together; a column of a later family replaces one of
/// the same name of an earlier family. [`attribute_groups`](MultiCfIterator::attribute_groups) returns the
/// same as `NewAttributeGroupIterator`: the columns family by family.
///
/// Made by [`Db::multi_cf_iterator`](crate::Db::multi_cf_iterator). A new iterator has no position. `next`,
/// `prev`, `key` and the accessors of values require [`valid`](MultiCfIterator::valid) and panic otherwise. A
/// step costs one comparison per family.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// let years = db.create_column_family("years", &Default::default())?;
/// let default = db.default_column_family();
/// db.put_cf(&default, b"ada", b"1815")?;
/// db.put_cf(&years, b"grace", b"1906")?;
/// let mut iter = db.multi_cf_iterator(&[&default, &years], &Default::default())?;
/// iter.seek_to_first();
/// while iter.valid() {
///     println!("{:?} = {:?}", iter.key(), iter.value()?);
///     iter.next();
/// }
/// iter.status()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MultiCfIterator {
    families: Vec<(ColumnFamily, DbIterator)>,
    /// Indexes of the families whose iterator is at the current key.
    current: Vec<usize>,
    backwards: bool,
}

impl MultiCfIterator {
    pub(crate) fn new(families: Vec<(ColumnFamily, DbIterator)>) -> MultiCfIterator {
        MultiCfIterator {
            families,
            current: Vec::new(),
            backwards: false,
        }
    }

    /// True while the iterator is at a key.
    pub fn valid(&self) -> bool {
        !self.current.is_empty()
    }

    /// The first error of the families' iterators; it ended the iteration.
    pub fn status(&self) -> Result<()> {
        self.families.iter().try_for_each(|(_, iter)| iter.status())
    }

    /// Moves to the smallest key of all families.
    pub fn seek_to_first(&mut self) {
        self.each(false, DbIterator::seek_to_first);
    }

    /// Moves to the largest key of all families.
    pub fn seek_to_last(&mut self) {
        self.each(true, DbIterator::seek_to_last);
    }

    /// Moves to the first key at or after `key`.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        self.each(false, |iter| iter.seek(key.as_ref()));
    }

    /// Moves to the last key at or before `key`.
    pub fn seek_for_prev(&mut self, key: impl AsRef<[u8]>) {
        self.each(true, |iter| iter.seek_for_prev(key.as_ref()));
    }

    /// Moves to the next key. After a move backwards it costs a seek in each family.
    pub fn next(&mut self) {
        assert!(self.valid(), "the iterator is not valid");
        if self.backwards {
            let key = self.key().to_vec();
            self.seek(&key);
        }
        self.step(DbIterator::next);
    }

    /// Moves to the previous key. After a move forwards it costs a seek in each family.
    pub fn prev(&mut self) {
        assert!(self.valid(), "the iterator is not valid");
        if !self.backwards {
            let key = self.key().to_vec();
            self.seek_for_prev(&key);
        }
        self.step(DbIterator::prev);
    }

    /// The current key, without a timestamp.
    pub fn key(&self) -> &[u8] {
        let first = *self.current.first().expect("the iterator is not valid");
        self.families[first].1.key()
    }

    /// The value of the column without a name, from the last family that has one for the current key; empty
    /// if none has.
    ///
    /// # Errors
    /// Errors of reads of blob files, and of damaged entities.
    pub fn value(&self) -> Result<Vec<u8>> {
        let named = |(name, value): (Vec<u8>, Vec<u8>)| name.is_empty().then_some(value);
        Ok(self
            .columns()?
            .into_iter()
            .next()
            .and_then(named)
            .unwrap_or_default())
    }

    /// The columns of all families for the current key, by name. If several families have a column of one
    /// name, the last family's is returned. Errors as for [`value`](MultiCfIterator::value).
    pub fn columns(&self) -> Result<Columns> {
        let mut all = Columns::new();
        for &place in &self.current {
            all.extend(self.families[place].1.columns_or_value()?);
        }
        // The sort is stable: a column of a later family is after one of the same name of an earlier family.
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let mut columns = Columns::with_capacity(all.len());
        for column in all {
            match columns.last_mut() {
                Some(last) if last.0 == column.0 => *last = column,
                _ => columns.push(column),
            }
        }
        Ok(columns)
    }

    /// The families that have the current key, in the order given at creation, each with its columns for the
    /// key. Errors as for [`value`](MultiCfIterator::value).
    pub fn attribute_groups(&self) -> Result<Vec<(ColumnFamily, Columns)>> {
        let group = |&place: &usize| {
            let (family, iter) = &self.families[place];
            Ok((family.clone(), iter.columns_or_value()?))
        };
        self.current.iter().map(group).collect()
    }

    /// Reads values in blob files that were [left unread](crate::ReadOptions::allow_unprepared_value). False
    /// if that failed: the iterator is then not valid. Panics if it is not [valid](MultiCfIterator::valid)
    /// before.
    pub fn prepare_value(&mut self) -> bool {
        assert!(self.valid(), "the iterator is not valid");
        let mut prepared = true;
        for &place in &self.current {
            prepared &= self.families[place].1.prepare_value();
        }
        if !prepared {
            self.current.clear();
        }
        prepared
    }

    fn each(&mut self, backwards: bool, mut seek: impl FnMut(&mut DbIterator)) {
        self.backwards = backwards;
        self.families.iter_mut().for_each(|(_, iter)| seek(iter));
        self.find_current();
    }

    fn step(&mut self, step: impl Fn(&mut DbIterator)) {
        // After a change of direction the iterator may be invalid: its seek has failed.
        for &place in &self.current {
            step(&mut self.families[place].1);
        }
        self.find_current();
    }

    /// Finds the next key in the direction of iteration, and the families that are at it; none after an
    /// error.
    fn find_current(&mut self) {
        self.current.clear();
        if self.status().is_err() {
            return;
        }
        let user: UserComparator = self.families[0].0.comparator().clone();
        let mut current: Vec<usize> = std::mem::take(&mut self.current);
        for (place, (_, iter)) in self
            .families
            .iter()
            .enumerate()
            .filter(|(_, (_, iter))| iter.valid())
        {
            let order = current.first().map(|&first| {
                let (key, foremost) = (
                    user.stamped(iter.key()),
                    user.stamped(self.families[first].1.key()),
                );
                user.compare_without_timestamp(&key, &foremost)
            });
            match order.map(|order| if self.backwards { order.reverse() } else { order }) {
                Some(std::cmp::Ordering::Greater) => {}
                Some(std::cmp::Ordering::Equal) => current.push(place),
                Some(std::cmp::Ordering::Less) | None => {
                    current.clear();
                    current.push(place);
                }
            }
        }
        self.current = current;
    }
}
