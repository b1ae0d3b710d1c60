//! The conformance suite of every [`Cursor`]: blocks, tables, levels, memtables, merges.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use base::internal_key::{self, TRAILER_LEN};
use base::{BlockwiseCursor, Cursor, InternalComparator, shared_len};

use crate::keys::{print_entry, print_key};
use crate::rng::TestRng;

/// A cursor over a sorted vector: the simplest correct one. A source for tests of cursors over cursors.
#[derive(Clone, Debug)]
pub struct VecCursor {
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    cmp: InternalComparator,
    at: Option<usize>,
    /// The number of entries in a block; 0: there are no blocks.
    per_block: usize,
}

impl VecCursor {
    /// A cursor over internal keys and values, which it sorts.
    pub fn new(mut entries: Vec<(Vec<u8>, Vec<u8>)>, cmp: InternalComparator) -> VecCursor {
        entries.sort_by(|a, b| cmp.compare(&a.0, &b.0));
        VecCursor {
            entries,
            cmp,
            at: None,
            per_block: 0,
        }
    }

    /// Makes the cursor behave as if each `per_block` entries were in a block, between whose keys no other
    /// source has any. 0: no blocks.
    pub fn in_blocks(self, per_block: usize) -> VecCursor {
        VecCursor { per_block, ..self }
    }

    /// The end of the block that the cursor is at the start of.
    fn end_of_block(&self) -> Option<usize> {
        let at = self.at.filter(|_| self.per_block > 0)?;
        at.is_multiple_of(self.per_block)
            .then(|| self.entries.len().min(at + self.per_block))
    }

    fn current(&self) -> &(Vec<u8>, Vec<u8>) {
        &self.entries[self.at.expect("a valid cursor")]
    }
}

impl BlockwiseCursor for VecCursor {
    fn at_block_start(&self) -> bool {
        self.end_of_block().is_some()
    }
    fn lone_block_bound(&self) -> Option<&[u8]> {
        let last = self.end_of_block()?.checked_sub(1)?;
        Some(internal_key::user_key(&self.entries[last].0))
    }
    fn walk_block(&mut self, mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> bool {
        let (Some(at), Some(end)) = (self.at, self.end_of_block()) else {
            return false;
        };
        let mut entries = self.entries[at..end].iter();
        entries.all(|(key, value)| visit(key, value).is_continue())
    }
    fn leave_block(&mut self) {
        self.at = self.end_of_block().filter(|&end| end < self.entries.len());
    }
    fn run(&mut self, stop: u64, mut visit: impl FnMut(&[u8], usize, &[u8]) -> ControlFlow<()>) {
        self.next();
        while let Some(at) = self.at
            && self.per_block > 0
            && !at.is_multiple_of(self.per_block)
            && self.cmp.user().is_bytewise()
        {
            let (key, value) = &self.entries[at];
            let ends = internal_key::prefix(internal_key::user_key(key)) >= stop;
            let common = shared_len(&self.entries[at - 1].0, key);
            if ends || visit(key, common, value).is_break() {
                break;
            }
            self.next();
        }
    }
}

impl Cursor for VecCursor {
    fn valid(&self) -> bool {
        self.at.is_some()
    }
    fn seek_to_first(&mut self) {
        self.at = (!self.entries.is_empty()).then_some(0);
    }
    fn seek_to_last(&mut self) {
        self.at = self.entries.len().checked_sub(1);
    }
    fn seek(&mut self, target: &[u8]) {
        self.at = first_at_or_after(&self.entries, &self.cmp, target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.at = last_at_or_before(&self.entries, &self.cmp, target);
    }
    fn next(&mut self) {
        let next = self.at.expect("a valid cursor") + 1;
        self.at = (next < self.entries.len()).then_some(next);
    }
    fn prev(&mut self) {
        self.at = self.at.expect("a valid cursor").checked_sub(1);
    }
    fn key(&self) -> &[u8] {
        &self.current().0
    }
    fn value(&self) -> &[u8] {
        &self.current().1
    }
    fn status(&self) -> base::Result<()> {
        Ok(())
    }
}

type Entries = [(Vec<u8>, Vec<u8>)];

fn first_at_or_after(entries: &Entries, cmp: &InternalComparator, target: &[u8]) -> Option<usize> {
    let at = entries.partition_point(|entry| cmp.compare(&entry.0, target) == Ordering::Less);
    (at < entries.len()).then_some(at)
}

fn last_at_or_before(entries: &Entries, cmp: &InternalComparator, target: &[u8]) -> Option<usize> {
    entries
        .partition_point(|entry| cmp.compare(&entry.0, target) != Ordering::Greater)
        .checked_sub(1)
}

/// The maximum number of entries at which every key is a target: checks of the whole range cost O(n) each, so
/// above it the targets are a random part.
const MOST_TARGETS: usize = 2_000;

/// Panics unless the cursors of `make` fulfil the contract of [`Cursor`] over exactly `entries`: internal
/// keys and values, in strictly ascending order of `cmp`.
///
/// Each of these is compared with the vector: a new cursor is not valid; full scans in both directions;
/// `seek` and `seek_for_prev` at every key, just around it and outside all keys, each on a cursor that was
/// used elsewhere and each followed by a step in either direction; random walks that turn round, seek again
/// and run off both ends; `status` after each. Costs about 20 seeks an entry, bounded for large inputs.
/// `seed` drives the random parts and is named on failure.
pub fn check_cursor<C: Cursor>(
    mut make: impl FnMut() -> C,
    entries: &[(Vec<u8>, Vec<u8>)],
    cmp: &InternalComparator,
    seed: u64,
) {
    assert!(
        entries.is_sorted_by(|a, b| cmp.compare(&a.0, &b.0) == Ordering::Less),
        "the expected entries are not in order"
    );
    let mut rng = TestRng::with_seed(seed);
    let targets = targets(entries, &mut rng);

    check_scans(&mut Checked::new(make(), entries, cmp));
    check_seeks(&mut make, entries, cmp, &targets);
    let steps = (entries.len() * 4).clamp(200, 20_000);
    for _ in 0..3 {
        random_walk(&mut Checked::new(make(), entries, cmp), &targets, &mut rng, steps);
    }
}

/// Internal keys at, just before, just after and far from the entries.
fn targets(entries: &Entries, rng: &mut TestRng) -> Vec<Vec<u8>> {
    let mut chosen: Vec<&[u8]> = entries.iter().map(|entry| &entry.0[..]).collect();
    if chosen.len() > MOST_TARGETS / 8 {
        rng.shuffle(&mut chosen);
        // Off-by-one errors are most likely at the ends.
        chosen.truncate(MOST_TARGETS / 8 - 2);
        chosen.extend([&entries[0].0[..], &entries[entries.len() - 1].0[..]]);
    }
    let seek_target = |user_key: &[u8], seqno| {
        let mut target = Vec::new();
        internal_key::set_seek_target(&mut target, user_key, seqno);
        target
    };
    let mut targets = vec![
        seek_target(b"", base::MAX_SEQNO),
        internal_key::encode(b"", 0, base::Kind::Deletion),
        seek_target(&[0xff; 40], base::MAX_SEQNO),
        internal_key::encode(&[0xff; 40], 0, base::Kind::Deletion),
    ];
    for key in chosen {
        let user_key = &key[..key.len() - TRAILER_LEN];
        let trailer = internal_key::trailer(key);
        targets.push(key.to_vec());
        targets.push(seek_target(user_key, base::MAX_SEQNO));
        targets.push(internal_key::encode(user_key, 0, base::Kind::Deletion));
        for neighbour in [trailer.checked_add(1), trailer.checked_sub(1)]
            .into_iter()
            .flatten()
        {
            targets.push([user_key, &neighbour.to_le_bytes()].concat());
        }
        // The targets include user keys next to each key: a longer one, a shorter one, and one with the last
        // byte incremented. Comparators with timestamps see them as other keys or other timestamps; any order
        // is allowed.
        targets.push(seek_target(&[user_key, b"\0"].concat(), base::MAX_SEQNO));
        if let Some((last, head)) = user_key.split_last() {
            targets.push(seek_target(head, base::MAX_SEQNO));
            targets.push(seek_target(
                &[head, &[last.wrapping_add(1)]].concat(),
                base::MAX_SEQNO,
            ));
        }
    }
    targets
}

/// A cursor, its expected position, and how it got there.
struct Checked<'a, C> {
    cursor: C,
    entries: &'a Entries,
    cmp: &'a InternalComparator,
    at: Option<usize>,
    /// The last moves, for the message.
    moves: Vec<String>,
}

const MOVES_KEPT: usize = 12;

impl<'a, C: Cursor> Checked<'a, C> {
    fn new(cursor: C, entries: &'a Entries, cmp: &'a InternalComparator) -> Checked<'a, C> {
        assert!(!cursor.valid(), "a new cursor is valid before any seek");
        cursor.status().expect("the status of a new cursor");
        Checked {
            cursor,
            entries,
            cmp,
            at: None,
            moves: Vec::new(),
        }
    }

    fn note(&mut self, text: String) {
        if self.moves.len() == MOVES_KEPT {
            self.moves.remove(0);
        }
        self.moves.push(text);
    }

    /// Compares the cursor's state with the vector.
    #[track_caller]
    fn check(&self) {
        let found = self
            .cursor
            .valid()
            .then(|| (self.cursor.key(), self.cursor.value()));
        let expected = self
            .at
            .map(|at| (&self.entries[at].0[..], &self.entries[at].1[..]));
        if found != expected {
            let print = |entry: Option<(&[u8], &[u8])>| match entry {
                Some((key, value)) => print_entry(key, value),
                None => "not valid".to_owned(),
            };
            panic!(
                "after {}: the cursor is at {}, should be at {} (status {:?})",
                self.moves.join(", "),
                print(found),
                print(expected),
                self.cursor.status()
            );
        }
        if let Err(error) = self.cursor.status() {
            panic!("after {}: status {error}", self.moves.join(", "));
        }
    }

    #[track_caller]
    fn seek_to_first(&mut self) {
        self.note("seek_to_first".to_owned());
        self.at = (!self.entries.is_empty()).then_some(0);
        self.cursor.seek_to_first();
        self.check();
    }

    #[track_caller]
    fn seek_to_last(&mut self) {
        self.note("seek_to_last".to_owned());
        self.at = self.entries.len().checked_sub(1);
        self.cursor.seek_to_last();
        self.check();
    }

    #[track_caller]
    fn seek(&mut self, target: &[u8]) {
        self.note(format!("seek {}", print_key(target)));
        self.at = first_at_or_after(self.entries, self.cmp, target);
        self.cursor.seek(target);
        self.check();
    }

    #[track_caller]
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.note(format!("seek_for_prev {}", print_key(target)));
        self.at = last_at_or_before(self.entries, self.cmp, target);
        self.cursor.seek_for_prev(target);
        self.check();
    }

    #[track_caller]
    fn next(&mut self) {
        self.note("next".to_owned());
        self.at = self.at.map(|at| at + 1).filter(|&at| at < self.entries.len());
        self.cursor.next();
        self.check();
    }

    #[track_caller]
    fn prev(&mut self) {
        self.note("prev".to_owned());
        self.at = self.at.and_then(|at| at.checked_sub(1));
        self.cursor.prev();
        self.check();
    }
}

fn check_scans<C: Cursor>(checked: &mut Checked<'_, C>) {
    // The scan runs twice: the second round starts from beyond an end.
    for _ in 0..2 {
        checked.seek_to_first();
        while checked.at.is_some() {
            checked.next();
        }
        checked.seek_to_last();
        while checked.at.is_some() {
            checked.prev();
        }
    }
}

fn check_seeks<C: Cursor>(
    make: &mut impl FnMut() -> C,
    entries: &Entries,
    cmp: &InternalComparator,
    targets: &[Vec<u8>],
) {
    let mut used = Checked::new(make(), entries, cmp);
    for (i, target) in targets.iter().enumerate() {
        // The walk begins with a new cursor now and then: the first move of a cursor has its own code paths.
        if i % 64 == 0 {
            Checked::new(make(), entries, cmp).seek(target);
            Checked::new(make(), entries, cmp).seek_for_prev(target);
        }
        for turn in 0..4 {
            if turn % 2 == 0 {
                used.seek(target);
            } else {
                used.seek_for_prev(target);
            }
            match (used.at, turn < 2) {
                (Some(_), true) => used.next(),
                (Some(_), false) => used.prev(),
                (None, _) => {}
            }
        }
    }
}

fn random_walk<C: Cursor>(
    checked: &mut Checked<'_, C>,
    targets: &[Vec<u8>],
    rng: &mut TestRng,
    steps: usize,
) {
    for _ in 0..steps {
        match rng.u32(..20) {
            0 => checked.seek(rng.pick::<Vec<u8>>(targets)),
            1 => checked.seek_for_prev(rng.pick::<Vec<u8>>(targets)),
            2 if rng.one_in(4) => checked.seek_to_first(),
            3 if rng.one_in(4) => checked.seek_to_last(),
            4..12 if checked.at.is_some() => checked.next(),
            12..20 if checked.at.is_some() => checked.prev(),
            _ if checked.at.is_none() => checked.seek(rng.pick::<Vec<u8>>(targets)),
            _ => checked.next(),
        }
    }
}

#[cfg(test)]
mod tests;
