//! Moves of an iterator over several families, which shows each key once.

use std::ops::Range;

use esker::{ColumnFamily, MultiCfIterator};

use crate::done::What;
use crate::failure::{Failure, Outcome};
use crate::keys;
use crate::moves::{Move, STEPS};
use crate::worker::{SCAN_WIDTH, Worker};

/// A key, and the families that have it: their places among those of the iterator, with the number of the
/// last write to the key.
type Row = (u64, Vec<(usize, u32)>);

impl Move {
    fn make_over(self, iter: &mut MultiCfIterator) {
        match self {
            Move::Next => iter.next(),
            Move::Prev => iter.prev(),
            Move::Seek(key) => iter.seek(keys::key(key)),
            Move::SeekForPrev(key) => iter.seek_for_prev(keys::key(key)),
            Move::SeekToFirst => iter.seek_to_first(),
            Move::SeekToLast => iter.seek_to_last(),
            Move::Refresh(_) => {}
        }
    }
}

impl Worker<'_> {
    /// Moves an iterator over some families, in any order of theirs, and compares its positions with the
    /// expected ones.
    pub(super) fn iterate_families(&mut self) -> Outcome {
        let start = self.key();
        let keys = start..(start + SCAN_WIDTH).min(self.stress.expected.keys());
        let mut chosen: Vec<usize> = (0..self.open.families.len()).collect();
        self.rng.shuffle(&mut chosen);
        chosen.truncate(self.rng.usize(1..=chosen.len()));
        let (mut iter, handles, rows) = self.see_families(&chosen, &keys)?;
        self.done.count(What::IterateFamilies);
        let mut at: Option<usize> = None;
        for _ in 0..self.rng.usize(1..STEPS) {
            let step = match self.draw_move(&keys, at.is_some()) {
                Move::Refresh(_) => Move::SeekToFirst,
                step => step,
            };
            step.make_over(&mut iter);
            iter.status()?;
            at = step.expected(&rows, at);
            let expected = at.map(|at| &rows[at]);
            if iter.valid() != expected.is_some() || iter.valid() && !iter.prepare_value() {
                let place = iter.valid().then(|| iter.key().to_vec());
                iter.status()?;
                return Err(Failure::Mismatch(format!(
                    "column families {chosen:?}, keys {keys:?}: after {step:?} an iterator over families is at {place:02x?}, expected is {expected:?}"
                )));
            }
            if let Some(expected) = expected {
                self.check_families_row(&iter, &chosen, &handles, expected)?;
            }
        }
        Ok(())
    }

    /// Creates the iterator, and returns the rows that it must show.
    fn see_families(
        &mut self,
        chosen: &[usize],
        keys: &Range<u64>,
    ) -> Outcome<(MultiCfIterator, Vec<ColumnFamily>, Vec<Row>)> {
        let options = self.bounded(keys);
        let mut ordered = chosen.to_vec();
        // Locks are taken in the order of the families.
        ordered.sort_unstable();
        let guards: Vec<_> = { ordered.iter() }
            .map(|&family| self.open.families[family].read())
            .collect();
        let hold = |&family: &usize| self.stress.hold_range(family, keys.start, keys.end);
        let held: Vec<_> = ordered.iter().map(hold).collect();
        let place = |family: &usize| ordered.iter().position(|other| other == family);
        let handles: Vec<ColumnFamily> = { chosen.iter().filter_map(place) }
            .map(|place| (*guards[place]).clone())
            .collect();
        let borrowed: Vec<&ColumnFamily> = handles.iter().collect();
        let iter = self.open.db.multi_cf_iterator(&borrowed, &options)?;
        let mut rows = Vec::new();
        for key in keys.clone() {
            let mut there = Vec::new();
            for (place, &family) in chosen.iter().enumerate() {
                let value = self.settled(family, key)?;
                if value.exists() {
                    there.push((place, value.write()));
                }
            }
            if !there.is_empty() {
                rows.push((key, there));
            }
        }
        drop(held);
        Ok((iter, handles, rows))
    }

    /// Compares the row of an iterator: its value, or the columns of each family.
    fn check_families_row(
        &mut self,
        iter: &MultiCfIterator,
        chosen: &[usize],
        handles: &[ColumnFamily],
        (key, there): &Row,
    ) -> Outcome {
        let expected = |&(place, write): &(usize, u32)| (handles[place].id(), self.stress.value(*key, write));
        let mut wanted: Vec<(u32, Vec<u8>)> = there.iter().map(expected).collect();
        let found = match self.stress.flags.use_attribute_group && self.rng.bool() {
            true => {
                let groups = iter.attribute_groups()?;
                let values = groups.into_iter().map(|(group, columns)| {
                    let place = handles.iter().position(|handle| handle.id() == group.id());
                    let family = place.map_or(0, |place| chosen[place]);
                    Ok((group.id(), self.value_of(family, *key, columns)?))
                });
                values.collect::<Outcome<Vec<_>>>()?
            }
            // The value is that of the last family that has the key.
            false => {
                wanted = wanted.split_off(wanted.len() - 1);
                vec![(wanted[0].0, iter.value()?)]
            }
        };
        if iter.key() == keys::key(*key) && found == wanted {
            return Ok(());
        }
        Err(Failure::Mismatch(format!(
            "column families {chosen:?}: an iterator over families finds {:02x?} = {found:02x?}, expected is key {key} = {wanted:02x?}",
            iter.key()
        )))
    }
}
