//! After a crash that may have taken the newest writes: finds how much survived, and checks that against the
//! promises.
//!
//! The surviving rows must be a prefix: the rows of all operations up to a sequence number and of none after
//! it, including everything that was promised. Rows written without WAL are a prefix in each family
//! separately. An operation that was in progress may have been done, as a whole, if everything that existed
//! when it began survived.

use base::SeqNo;

use crate::expected_value::ExpectedValue;
use crate::trace::{Change, Events, Operation, Together};

/// A trace and the state it begins at.
#[derive(Debug)]
pub struct History {
    /// The values at the start of the trace, by family and key.
    pub base: Vec<ExpectedValue>,
    /// The number of keys of each family.
    pub keys: u64,
    pub events: Events,
    /// True if no acknowledged operation may be missing.
    pub all_acknowledged: bool,
}

/// The surviving state.
#[derive(Debug)]
pub struct Survived {
    /// The value of every key.
    pub values: Vec<ExpectedValue>,
    /// The number of acknowledged operations whose rows are lost; if families are separate, an operation on
    /// two families counts twice.
    pub lost: usize,
    /// The number of operations in progress whose rows survived.
    pub came_true: usize,
}

/// The part of an operation that concerns some families.
struct FamilyPart<'a> {
    operation: &'a Operation,
    changes: Vec<Change>,
}

impl History {
    /// Finds the prefix of the operations after which the database is as `found`: the numbers of the writes
    /// found, by family and key.
    ///
    /// # Errors
    ///
    /// The rows that are missing, or that cannot be there.
    pub fn restore(&self, found: &[Option<u32>]) -> Result<Survived, String> {
        let families = self.base.len() / self.keys as usize;
        let mut survived = Survived {
            values: self.base.clone(),
            lost: 0,
            came_true: 0,
        };
        match self.events.together {
            Together::All => self.restore_families(&mut survived, &|_| true, found)?,
            Together::EachFamily => {
                for family in 0..families {
                    self.restore_families(&mut survived, &|other| other == family, found)?;
                }
            }
        }
        Ok(survived)
    }

    fn index(&self, family: usize, key: u64) -> usize {
        family * self.keys as usize + key as usize
    }

    /// Calls `set` with each key of a change and its new value.
    fn effect(&self, change: Change, values: &[ExpectedValue], set: &mut dyn FnMut(usize, ExpectedValue)) {
        let (family, range) = match change {
            Change::Set { family, key, value } => return set(self.index(family, key), value),
            Change::DeleteRange { family, start, end } => (family, start..end),
            Change::Clear { family } => (family, 0..self.keys),
        };
        for key in range {
            let index = self.index(family, key);
            set(index, values[index].begin_delete().settle());
        }
    }

    fn apply(
        &self,
        changes: &[Change],
        values: &mut [ExpectedValue],
        changed: &mut dyn FnMut(usize, &[ExpectedValue]),
    ) {
        for &change in changes {
            let mut set = Vec::new();
            self.effect(change, values, &mut |index, value| set.push((index, value)));
            for (index, value) in set {
                values[index] = value;
                changed(index, values);
            }
        }
    }

    fn restore_families(
        &self,
        survived: &mut Survived,
        concerns: &dyn Fn(usize) -> bool,
        found: &[Option<u32>],
    ) -> Result<(), String> {
        let parts = self.events.operations.iter().filter_map(|operation| {
            let changes = operation.changes.iter().copied();
            let changes: Vec<Change> = changes.filter(|change| concerns(family_of(change))).collect();
            (!changes.is_empty()).then_some(FamilyPart { operation, changes })
        });
        let (mut done, pending): (Vec<FamilyPart<'_>>, Vec<FamilyPart<'_>>) =
            parts.partition(|part| part.operation.seqno.is_some());
        done.sort_by_key(seqno);
        self.clear(&mut done, &mut survived.values);
        let floor = self.floor(&done, concerns);

        // The operations up to the end of the prefix survived.
        let mut values = survived.values.clone();
        let under_way = self.under_way(&pending, &values);
        let wrong = |index: usize, values: &[ExpectedValue]| {
            concerns(index / self.keys as usize) && !under_way[index] && found[index] != shown(values[index])
        };
        let mut is_wrong: Vec<bool> = (0..values.len()).map(|index| wrong(index, &values)).collect();
        let mut wrongs = is_wrong.iter().filter(|wrong| **wrong).count();
        let mut nearest = (wrongs, 0);
        let (mut fits, mut fits_below) = (None, None);
        for count in 0..=done.len() {
            if wrongs < nearest.0 {
                nearest = (wrongs, count);
            }
            let next = done.get(count).map_or(SeqNo::MAX, seqno);
            if wrongs == 0 && self.came_true(&pending, next, &values, found).is_some() {
                if count >= floor {
                    fits = Some(count);
                } else {
                    fits_below = Some(count);
                }
            }
            let Some(part) = done.get(count) else { break };
            self.apply(&part.changes, &mut values, &mut |index, values| {
                let now = wrong(index, values);
                wrongs = wrongs + usize::from(now) - usize::from(is_wrong[index]);
                is_wrong[index] = now;
            });
        }
        let at = |count: usize| count.checked_sub(1).map_or(0, |last| seqno(&done[last]));
        let Some(count) = fits else {
            return Err(match fits_below {
                Some(count) => format!(
                    "what was promised is gone: there is everything up to sequence number {}, and {} was promised, by {:?}",
                    at(count),
                    at(floor),
                    done[floor - 1].changes
                ),
                None => self.no_prefix(&done, &pending, survived, found, nearest.1, floor, concerns),
            });
        };
        let values = &mut survived.values;
        for part in &done[..count] {
            self.apply(&part.changes, values, &mut |_, _| ());
        }
        let next = done.get(count).map_or(SeqNo::MAX, seqno);
        let came_true = self.came_true(&pending, next, values, found).unwrap_or_default();
        for part in &came_true {
            self.apply(&part.changes, values, &mut |_, _| ());
        }
        survived.lost += done.len() - count;
        survived.came_true += came_true.len();
        Ok(())
    }

    /// A drop of a family is durable when it returns, and its rows do not matter any more: operations on
    /// families before they were cleared become part of the base.
    fn clear(&self, done: &mut Vec<FamilyPart<'_>>, values: &mut [ExpectedValue]) {
        let mut cleared: Vec<Option<SeqNo>> = Vec::new();
        for part in &*done {
            for change in &part.changes {
                if let Change::Clear { family } = *change {
                    cleared.resize(cleared.len().max(family + 1), None);
                    cleared[family] = Some(seqno(part));
                }
            }
        }
        for part in &mut *done {
            let at = seqno(part);
            let is_past = |change: &Change| {
                let cleared = cleared.get(family_of(change)).copied().flatten();
                cleared.is_some_and(|cleared| at <= cleared)
            };
            let past: Vec<Change> = part.changes.extract_if(.., |change| is_past(change)).collect();
            self.apply(&past, values, &mut |_, _| ());
        }
        done.retain(|part| !part.changes.is_empty());
    }

    /// The number of the first operations that must have survived.
    fn floor(&self, done: &[FamilyPart<'_>], concerns: &dyn Fn(usize) -> bool) -> usize {
        if self.all_acknowledged {
            return done.len();
        }
        let floors = self.events.floors.iter().map(|floor| {
            let last = done.iter().rposition(|part| {
                seqno(part) <= floor.upto
                    && floor.family.is_none_or(|family| {
                        concerns(family) && part.changes.iter().any(|change| family_of(change) == family)
                    })
            });
            last.map_or(0, |last| last + 1)
        });
        floors.max().unwrap_or(0)
    }

    /// The keys of operations in progress.
    fn under_way(&self, pending: &[FamilyPart<'_>], values: &[ExpectedValue]) -> Vec<bool> {
        let mut under_way = vec![false; values.len()];
        for change in pending.iter().flat_map(|part| &part.changes) {
            self.effect(*change, values, &mut |index, _| under_way[index] = true);
        }
        under_way
    }

    /// The operations in progress that were done; `next` is the first sequence number that did not survive.
    /// `None` if an operation survived in part, or if its keys have neither the old values nor the new.
    fn came_true<'a, 'b>(
        &self,
        pending: &'a [FamilyPart<'b>],
        next: SeqNo,
        values: &[ExpectedValue],
        found: &[Option<u32>],
    ) -> Option<Vec<&'a FamilyPart<'b>>> {
        let mut came_true = Vec::new();
        for part in pending {
            let (mut as_before, mut as_after) = (true, true);
            for &change in &part.changes {
                // A drop that was in progress is allowed in any case, because the drop of a family may
                // survive independently of other operations.
                let may_be_there = matches!(change, Change::Clear { .. }) || next > part.operation.after;
                self.effect(change, values, &mut |index, value| {
                    as_before &= found[index] == shown(values[index]);
                    as_after &= may_be_there && found[index] == shown(value);
                });
            }
            match (as_before, as_after) {
                (_, true) => came_true.push(part),
                (true, false) => {}
                (false, false) => return None,
            }
        }
        Some(came_true)
    }

    /// Describes how the rows found differ from those after the first `count` operations, the prefix that
    /// fits best.
    #[expect(clippy::too_many_arguments, reason = "a message about all of it")]
    fn no_prefix(
        &self,
        done: &[FamilyPart<'_>],
        pending: &[FamilyPart<'_>],
        survived: &Survived,
        found: &[Option<u32>],
        count: usize,
        floor: usize,
        concerns: &dyn Fn(usize) -> bool,
    ) -> String {
        let mut values = survived.values.clone();
        for part in &done[..count] {
            self.apply(&part.changes, &mut values, &mut |_, _| ());
        }
        let up_to = count.checked_sub(1).map_or(0, |last| seqno(&done[last]));
        let mut message = format!(
            "what is there is no prefix of what was written: of {} operations {count}, up to sequence number {up_to}, fit best, {floor} were promised; {} were under way",
            done.len(),
            pending.len()
        );
        let wrong = (0..values.len())
            .filter(|&index| concerns(index / self.keys as usize) && found[index] != shown(values[index]));
        for index in wrong.take(8) {
            let (family, key) = (index / self.keys as usize, index as u64 % self.keys);
            message += &format!(
                "\n  column family {family}, key {key}: found is write {:?}, expected {:?}",
                found[index],
                shown(values[index])
            );
            for part in done.iter().skip(count.saturating_sub(1)).chain(pending) {
                let mut touches = false;
                for &change in &part.changes {
                    self.effect(change, &values, &mut |other, _| touches |= other == index);
                }
                if touches {
                    message += &format!("; {:?}", part.operation);
                    break;
                }
            }
        }
        message
    }
}

fn family_of(change: &Change) -> usize {
    match *change {
        Change::Set { family, .. } | Change::DeleteRange { family, .. } | Change::Clear { family } => family,
    }
}

fn seqno(part: &FamilyPart<'_>) -> SeqNo {
    part.operation.seqno.unwrap_or(SeqNo::MAX)
}

/// The number of the write that a reader finds.
fn shown(value: ExpectedValue) -> Option<u32> {
    value.exists().then(|| value.write())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Floor;

    const KEYS: u64 = 4;

    fn written(times: u32) -> ExpectedValue {
        (0..times).fold(ExpectedValue::NEVER, |value, _| value.begin_write().settle())
    }

    /// A write with number `write` of `key` of `family`.
    fn set(family: usize, key: u64, write: u32) -> Change {
        Change::Set {
            family,
            key,
            value: written(write),
        }
    }

    fn operation(after: SeqNo, seqno: Option<SeqNo>, changes: &[Change]) -> Operation {
        Operation {
            after,
            seqno,
            changes: changes.to_vec(),
        }
    }

    /// A history of two families of four keys, none of which was ever written.
    fn history(operations: Vec<Operation>) -> History {
        History {
            base: vec![ExpectedValue::NEVER; 2 * KEYS as usize],
            keys: KEYS,
            events: Events {
                operations,
                ..Events::default()
            },
            all_acknowledged: false,
        }
    }

    /// The writes found, by family, key and number.
    fn found(rows: &[(usize, u64, u32)]) -> Vec<Option<u32>> {
        let mut found = vec![None; 2 * KEYS as usize];
        for &(family, key, write) in rows {
            found[family * KEYS as usize + key as usize] = Some(write);
        }
        found
    }

    #[test]
    fn what_survives_is_a_prefix() {
        // The order of acknowledgement differs from the order of sequence numbers.
        let all = history(vec![
            operation(0, Some(2), &[set(1, 0, 1)]),
            operation(0, Some(1), &[set(0, 0, 1)]),
            operation(2, Some(3), &[set(0, 0, 2), set(1, 1, 1)]),
        ]);
        let lost = |rows: &[(usize, u64, u32)]| all.restore(&found(rows)).map(|survived| survived.lost);
        assert_eq!(lost(&[]), Ok(3));
        assert_eq!(lost(&[(0, 0, 1)]), Ok(2));
        assert_eq!(lost(&[(0, 0, 1), (1, 0, 1)]), Ok(1));
        assert_eq!(lost(&[(0, 0, 2), (1, 0, 1), (1, 1, 1)]), Ok(0));
        // Rows with a gap, with half of a batch, or with a write that was never made fit no prefix of the
        // history.
        for wrong in [
            &[(1, 0, 1)][..],
            &[(0, 0, 2), (1, 0, 1)],
            &[(0, 0, 1), (1, 0, 1), (1, 1, 1)],
            &[(0, 0, 1), (0, 3, 1)],
        ] {
            let message = lost(wrong).unwrap_err();
            assert!(message.contains("no prefix"), "{message}");
        }
    }

    #[test]
    fn what_was_promised_is_in_it() {
        let mut all = history(vec![
            operation(0, Some(1), &[set(0, 0, 1)]),
            operation(1, Some(2), &[set(1, 0, 1)]),
            operation(2, Some(3), &[set(0, 1, 1)]),
        ]);
        let rows = [(0, 0, 1)];
        assert_eq!(all.restore(&found(&rows)).unwrap().lost, 2);
        // A flush of the first family promises nothing about the row of the other.
        all.events.floors = vec![Floor {
            family: Some(0),
            upto: 2,
        }];
        assert_eq!(all.restore(&found(&rows)).unwrap().lost, 2);
        all.events.floors = vec![Floor {
            family: None,
            upto: 2,
        }];
        let message = all.restore(&found(&rows)).unwrap_err();
        assert!(message.contains("what was promised is gone"), "{message}");
        all.events.floors.clear();
        all.all_acknowledged = true;
        assert!(all.restore(&found(&rows)).is_err());
        assert_eq!(
            all.restore(&found(&[(0, 0, 1), (1, 0, 1), (0, 1, 1)]))
                .unwrap()
                .lost,
            0
        );
    }

    #[test]
    fn without_wal_each_family_is_a_prefix_by_itself() {
        let mut all = history(vec![
            operation(0, Some(1), &[set(0, 0, 1), set(1, 0, 1)]),
            operation(1, Some(2), &[set(1, 1, 1)]),
        ]);
        let rows = found(&[(1, 0, 1), (1, 1, 1)]);
        assert!(all.restore(&rows).is_err());
        all.events.together = Together::EachFamily;
        let survived = all.restore(&rows).unwrap();
        assert_eq!(survived.lost, 1);
        assert_eq!(survived.values[0], ExpectedValue::NEVER);
        assert_eq!(survived.values[KEYS as usize], written(1));
        all.events.floors = vec![Floor {
            family: Some(0),
            upto: 1,
        }];
        assert!(all.restore(&rows).is_err());
        // Rows that survive with a gap before them are an error in this case, too.
        assert!(all.restore(&found(&[(0, 0, 1), (1, 1, 1)])).is_err());
    }

    #[test]
    fn what_was_under_way_is_there_as_a_whole_or_not_at_all() {
        let all = history(vec![
            operation(0, Some(1), &[set(0, 0, 1)]),
            operation(1, None, &[set(0, 1, 1), set(1, 1, 1)]),
            operation(0, None, &[set(1, 2, 1)]),
        ]);
        let came_true = |rows: &[(usize, u64, u32)]| {
            let survived = all.restore(&found(rows))?;
            let shown_now: Vec<Option<u32>> = survived.values.iter().map(|value| shown(*value)).collect();
            assert_eq!(shown_now, found(rows));
            Ok::<_, String>(survived.came_true)
        };
        assert_eq!(came_true(&[(0, 0, 1)]), Ok(0));
        assert_eq!(came_true(&[(0, 0, 1), (0, 1, 1), (1, 1, 1)]), Ok(1));
        assert_eq!(
            came_true(&[(1, 2, 1)]),
            Ok(1),
            "it began before the other was there"
        );
        assert!(came_true(&[(0, 0, 1), (0, 1, 1)]).is_err(), "half of it");
        assert!(
            came_true(&[(0, 1, 1), (1, 1, 1)]).is_err(),
            "without what was there when it began"
        );
    }

    #[test]
    fn a_family_that_was_cleared_is_empty_whatever_else_survives() {
        let deletion = Change::DeleteRange {
            family: 0,
            start: 0,
            end: 2,
        };
        let all = history(vec![
            operation(0, Some(1), &[set(0, 0, 1), set(1, 0, 1)]),
            operation(1, Some(2), &[set(0, 1, 1)]),
            operation(2, Some(2), &[Change::Clear { family: 1 }]),
            operation(2, Some(3), &[set(1, 0, 2)]),
            operation(3, Some(4), &[deletion]),
        ]);
        for (rows, lost) in [
            (&[][..], Some(4)),
            (&[(0, 0, 1)], Some(3)),
            (&[(0, 0, 1), (0, 1, 1)], Some(2)),
            (&[(0, 0, 1), (0, 1, 1), (1, 0, 2)], Some(1)),
            (&[(1, 0, 2)], Some(0)),
            (&[(0, 0, 1), (1, 0, 1)], None),
        ] {
            let survived = all.restore(&found(rows));
            assert_eq!(survived.map(|survived| survived.lost).ok(), lost, "{rows:?}");
        }
        // The last operation of the history was in progress at the crash.
        let all = history(vec![
            operation(0, Some(1), &[set(0, 0, 1), set(1, 0, 1)]),
            operation(1, None, &[Change::Clear { family: 1 }]),
        ]);
        for rows in [&[][..], &[(0, 0, 1)], &[(0, 0, 1), (1, 0, 1)]] {
            assert!(all.restore(&found(rows)).is_ok(), "{rows:?}");
        }
        assert!(all.restore(&found(&[(1, 0, 1)])).is_err());
    }
}
