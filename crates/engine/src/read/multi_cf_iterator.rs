//! One iterator over the keys of several families.
//!
//! Each family's iterator stands on its first key at or behind the current one, in the direction of the walk; those that stand on the
//! current key are `current`, in the order of the families. A step moves these, and looks for the foremost again.

use base::{Result, UserComparator};

use super::db_iterator::DbIterator;
use super::value::Columns;
use crate::db::column_family::ColumnFamily;

/// Walks the keys of several families in order, in either direction, each key once; what it shows are the families' columns for the key.
///
/// [`columns`](MultiCfIterator::columns) and [`value`](MultiCfIterator::value) are what RocksDB's `NewCoalescingIterator` shows: the
/// columns of all families together, where of two that have one name that of the later family counts.
/// [`attribute_groups`](MultiCfIterator::attribute_groups) is what `NewAttributeGroupIterator` shows: the columns family by family.
///
/// Made by [`Db::multi_cf_iterator`](crate::Db::multi_cf_iterator). It stands nowhere at first; `next`, `prev`, `key` and what it shows
/// require [`valid`](MultiCfIterator::valid), and panic otherwise. A step costs a comparison for each family.
pub struct MultiCfIterator {
    families: Vec<(ColumnFamily, DbIterator)>,
    /// Those that stand on the current key.
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

    /// True while it stands on a key.
    pub fn valid(&self) -> bool {
        !self.current.is_empty()
    }

    /// The first error of a family's iterator, which ended the iteration.
    pub fn status(&self) -> Result<()> {
        self.families.iter().try_for_each(|(_, iter)| iter.status())
    }

    /// Moves to the first key of all.
    pub fn seek_to_first(&mut self) {
        self.each(false, DbIterator::seek_to_first);
    }

    /// Moves to the last key of all.
    pub fn seek_to_last(&mut self) {
        self.each(true, DbIterator::seek_to_last);
    }

    /// Moves to the first key at or after `key`.
    pub fn seek(&mut self, key: &[u8]) {
        self.each(false, |iter| iter.seek(key));
    }

    /// Moves to the last key at or before `key`.
    pub fn seek_for_prev(&mut self, key: &[u8]) {
        self.each(true, |iter| iter.seek_for_prev(key));
    }

    /// Moves to the next key. Costs a seek of each family after a move backwards.
    pub fn next(&mut self) {
        assert!(self.valid(), "the iterator is not valid");
        if self.backwards {
            let key = self.key().to_vec();
            self.seek(&key);
        }
        self.step(DbIterator::next);
    }

    /// Moves to the key before. Costs a seek of each family after a move forwards.
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

    /// The column without a name, of the last family that has one for the current key; empty if none has.
    ///
    /// # Errors
    /// Those of reads of blob files, and of damaged entities.
    pub fn value(&self) -> Result<Vec<u8>> {
        let named = |(name, value): (Vec<u8>, Vec<u8>)| name.is_empty().then_some(value);
        Ok(self
            .columns()?
            .into_iter()
            .next()
            .and_then(named)
            .unwrap_or_default())
    }

    /// The columns of all families for the current key, by name; of those of one name that of the later family. As
    /// [`value`](MultiCfIterator::value).
    pub fn columns(&self) -> Result<Columns> {
        let mut all = Columns::new();
        for &place in &self.current {
            all.extend(self.families[place].1.columns_or_value()?);
        }
        // Stable: the later family stands behind the earlier one.
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

    /// The families that have the current key, in the order they were given in, and its columns there. As
    /// [`value`](MultiCfIterator::value).
    pub fn attribute_groups(&self) -> Result<Vec<(ColumnFamily, Columns)>> {
        let group = |&place: &usize| {
            let (family, iter) = &self.families[place];
            Ok((family.clone(), iter.columns_or_value()?))
        };
        self.current.iter().map(group).collect()
    }

    /// Reads values in blob files that were [left out](crate::ReadOptions::allow_unprepared_value). False if that failed: it stands nowhere
    /// then. Panics if it is not [valid](MultiCfIterator::valid).
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
        // After a turn it may stand nowhere: the seek has failed.
        for &place in &self.current {
            step(&mut self.families[place].1);
        }
        self.find_current();
    }

    /// The foremost key, and the families that stand on it; none after an error.
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
