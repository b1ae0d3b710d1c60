//! The reads of a serializable transaction: single keys, and the ranges that its iterators have passed. Its
//! commit validates them.

use std::collections::HashMap;
use std::ops::Bound;

use base::sync::{Mutex, MutexGuard};
use base::{SeqNo, UserComparator};
use esker::{ColumnFamily, Snapshot, UnchangedKey, UnchangedRange};

use crate::key_range::{KeyRange, compare_begins, compare_ends};

/// The reads of a transaction, which its iterators share. They add to it while the transaction is used.
#[derive(Debug, Default)]
pub(crate) struct ReadSet(Mutex<Reads>);

/// Keys and ranges by families.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// The oldest snapshot of a read: compactions must not make newer entries look older.
    oldest: Option<Snapshot>,
    /// True if not everything was read as of one moment.
    mixed: bool,
    families: HashMap<u32, FamilyReads>,
    last_iterator: u64,
    /// The number of reads and of movements of iterators so far.
    recorded: u64,
}

#[derive(Debug)]
struct FamilyReads {
    comparator: UserComparator,
    /// The sequence number as of which each key was first read.
    keys: HashMap<Vec<u8>, SeqNo>,
    /// Ranges that iterators are passing now, by the numbers of the iterators.
    passing: HashMap<u64, ReadRange>,
    passed: Vec<ReadRange>,
    /// The number of ranges after overlapping ones were last merged.
    merged: usize,
}

#[derive(Clone, Debug)]
struct ReadRange {
    range: KeyRange,
    seqno: SeqNo,
}

/// The number of ranges above which overlapping ones are merged.
const MERGED_FROM: usize = 32;

impl ReadSet {
    pub fn lock(&self) -> MutexGuard<'_, Reads> {
        self.0.lock()
    }
}

impl Reads {
    /// Records the moment of a read.
    fn read_at(&mut self, snapshot: &Snapshot) {
        self.recorded += 1;
        match &self.oldest {
            None => self.oldest = Some(snapshot.clone()),
            Some(oldest) => {
                self.mixed |= oldest.sequence_number() != snapshot.sequence_number();
                if oldest.sequence_number() > snapshot.sequence_number() {
                    self.oldest = Some(snapshot.clone());
                }
            }
        }
    }

    fn family(&mut self, family: &ColumnFamily) -> &mut FamilyReads {
        self.families.entry(family.id()).or_insert_with(|| FamilyReads {
            comparator: family.comparator().clone(),
            keys: HashMap::new(),
            passing: HashMap::new(),
            passed: Vec::new(),
            merged: 0,
        })
    }

    /// Records the read of a key.
    pub fn add_key(&mut self, family: &ColumnFamily, key: &[u8], snapshot: &Snapshot) {
        self.read_at(snapshot);
        let seqno = snapshot.sequence_number();
        let keys = &mut self.family(family).keys;
        match keys.get_mut(key) {
            Some(known) => *known = seqno.min(*known),
            None => drop(keys.insert(key.to_vec(), seqno)),
        }
    }

    /// Records the read of a range.
    pub fn add_range(&mut self, family: &ColumnFamily, range: KeyRange, snapshot: &Snapshot) {
        self.read_at(snapshot);
        let seqno = snapshot.sequence_number();
        self.family(family).add(ReadRange { range, seqno });
    }

    /// A number for an iterator that reads as of `snapshot`.
    pub fn new_iterator(&mut self, snapshot: &Snapshot) -> u64 {
        self.read_at(snapshot);
        self.last_iterator += 1;
        self.last_iterator
    }

    /// Records that the iterator begins to pass a new range.
    pub fn begin_to_pass(&mut self, family: &ColumnFamily, iterator: u64, range: KeyRange, seqno: SeqNo) {
        self.recorded += 1;
        let own = self.family(family);
        if let Some(before) = own.passing.insert(iterator, ReadRange { range, seqno }) {
            own.add(before);
        }
    }

    /// Moves the end of the range that the iterator passes further on.
    pub fn pass_on(&mut self, family: u32, iterator: u64, end: Bound<&[u8]>) {
        let Some((user, passing)) = self.passing(family, iterator) else {
            return;
        };
        let further = KeyRange {
            begin: None,
            end: end.map(<[u8]>::to_vec),
        };
        if compare_ends(&user, &further, &passing.range).is_gt() {
            passing.range.end = further.end;
        }
    }

    /// Moves the beginning of the range that the iterator passes further back.
    pub fn pass_back(&mut self, family: u32, iterator: u64, begin: Option<&[u8]>) {
        let Some((user, passing)) = self.passing(family, iterator) else {
            return;
        };
        let further = KeyRange {
            begin: begin.map(<[u8]>::to_vec),
            end: Bound::Unbounded,
        };
        if compare_begins(&user, &further, &passing.range).is_lt() {
            passing.range.begin = further.begin;
        }
    }

    fn passing(&mut self, family: u32, iterator: u64) -> Option<(UserComparator, &mut ReadRange)> {
        self.recorded += 1;
        let own = self.families.get_mut(&family)?;
        Some((own.comparator.clone(), own.passing.get_mut(&iterator)?))
    }

    /// Records that the iterator is gone. Its last range is kept.
    pub fn end_to_pass(&mut self, family: u32, iterator: u64) {
        if let Some(own) = self.families.get_mut(&family)
            && let Some(range) = own.passing.remove(&iterator)
        {
            own.add(range);
        }
    }

    /// True if nothing was read, or everything as of one moment: if the transaction writes nothing, that
    /// moment is its place in the serial order.
    pub fn is_one_moment(&self) -> bool {
        !self.mixed
    }

    /// A number that rises with each read: the set has not changed since the number was the same.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// The keys, with the sequence numbers as of which they were read.
    pub fn keys(&self) -> impl Iterator<Item = UnchangedKey<'_>> {
        self.families.iter().flat_map(|(&family, own)| {
            own.keys
                .iter()
                .map(move |(key, &since)| UnchangedKey { family, key, since })
        })
    }

    /// The ranges, with the sequence numbers as of which they were read.
    pub fn ranges(&self) -> impl Iterator<Item = UnchangedRange<'_>> {
        self.families.iter().flat_map(|(&family, own)| {
            let ranges = own.passed.iter().chain(own.passing.values());
            ranges.map(move |read| UnchangedRange {
                family,
                begin: read.range.begin.as_deref(),
                end: read.range.end(),
                since: read.seqno,
            })
        })
    }
}

impl FamilyReads {
    fn add(&mut self, added: ReadRange) {
        let user = &self.comparator;
        let known = self.passed.last();
        if known.is_some_and(|known| known.seqno <= added.seqno && known.range.covers(user, &added.range)) {
            return;
        }
        self.passed.push(added);
        if self.passed.len() >= MERGED_FROM.max(2 * self.merged) {
            self.merge();
        }
    }

    /// Merges overlapping ranges, so that many short scans of one place cost no more than a long one.
    fn merge(&mut self) {
        let user = &self.comparator;
        self.passed.sort_by(|a, b| {
            a.seqno
                .cmp(&b.seqno)
                .then(compare_begins(user, &a.range, &b.range))
        });
        self.passed.dedup_by(|next, before| {
            let meets = next.seqno == before.seqno && before.range.meets(user, &next.range);
            if meets && compare_ends(user, &next.range, &before.range).is_gt() {
                before.range.end = next.range.end.clone();
            }
            meets
        });
        self.merged = self.passed.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family_reads() -> FamilyReads {
        FamilyReads {
            comparator: UserComparator::Bytewise,
            keys: HashMap::new(),
            passing: HashMap::new(),
            passed: Vec::new(),
            merged: 0,
        }
    }

    fn read(begin: u8, end: u8, seqno: SeqNo) -> ReadRange {
        ReadRange {
            range: KeyRange {
                begin: Some(vec![begin]),
                end: Bound::Included(vec![end]),
            },
            seqno,
        }
    }

    #[test]
    fn ranges_that_meet_become_one() {
        let mut reads = family_reads();
        for begin in (0..200).rev() {
            reads.add(read(begin, begin + 1, 7));
        }
        reads.add(read(10, 20, 9));
        reads.add(read(220, 230, 7));
        reads.merge();
        let shown: Vec<_> = reads
            .passed
            .iter()
            .map(|own| (own.range.clone(), own.seqno))
            .collect();
        let expected = [read(0, 200, 7), read(220, 230, 7), read(10, 20, 9)];
        assert_eq!(shown, expected.map(|own| (own.range, own.seqno)));
    }

    #[test]
    fn many_scans_leave_few_ranges() {
        let mut reads = family_reads();
        for round in 0..10_000u32 {
            let begin = (round % 200) as u8;
            reads.add(read(begin, begin + 1, 7));
        }
        assert!(reads.passed.len() <= 2 * MERGED_FROM, "{}", reads.passed.len());
    }
}
