//! The open iterators of a family: the age of each, its super version, and the memory it holds itself.
//!
//! An iterator takes a place when it is opened and frees it when it is dropped: one compare-and-swap each, no
//! lock. It writes its own data to its place, and a reader of the list looks at all places. The places are in
//! rows, each twice as long as the previous one, which are allocated when needed and never freed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The number of places that share one word of "taken" bits.
const PLACES: usize = u64::BITS as usize;

/// The number of rows of groups: beyond sixty million open iterators, further ones are not listed.
const ROWS: usize = 20;

/// The value of [`IteratorSlot::opened`] while the slot is free, or its iterator has not written its data
/// yet.
const NOBODY: u64 = u64::MAX;

struct IteratorSlot {
    /// The time of opening, in microseconds of the database's clock.
    opened: AtomicU64,
    super_version: AtomicU64,
    bytes: AtomicUsize,
}

impl IteratorSlot {
    /// The iterator at this place, if there is one.
    fn look(&self) -> Option<OpenIterator> {
        loop {
            let opened = self.opened.load(Ordering::Acquire);
            if opened == NOBODY {
                return None;
            }
            let found = OpenIterator {
                opened: Duration::from_micros(opened),
                super_version: self.super_version.load(Ordering::Acquire),
                bytes: self.bytes.load(Ordering::Acquire),
            };
            // Another iterator may have taken the place meanwhile, and `found` may mix the data of the two.
            if self.opened.load(Ordering::Relaxed) == opened {
                return Some(found);
            }
        }
    }
}

struct Group {
    /// One bit per place.
    taken: AtomicU64,
    places: [IteratorSlot; PLACES],
}

impl Group {
    fn new() -> Group {
        let place = |_| IteratorSlot {
            opened: AtomicU64::new(NOBODY),
            super_version: AtomicU64::new(0),
            bytes: AtomicUsize::new(0),
        };
        Group {
            taken: AtomicU64::new(0),
            places: std::array::from_fn(place),
        }
    }
}

/// The data of one open iterator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenIterator {
    /// The time of opening by the database's clock, exact to within some milliseconds.
    pub opened: Duration,
    /// The number of the super version that the iterator reads.
    pub super_version: u64,
    /// The memory that the iterator holds itself, in bytes.
    pub bytes: usize,
}

/// The place of an iterator in the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed(usize);

/// The list of open iterators; see the module documentation.
#[derive(Default)]
pub(crate) struct OpenIterators {
    rows: [OnceLock<Box<[Group]>>; ROWS],
    /// A hint: groups before this index are probably full.
    full: AtomicUsize,
}

impl OpenIterators {
    /// Group `at`, if the index is in range; allocated if `make`.
    fn group(&self, at: usize, make: bool) -> Option<&Group> {
        let row = (at + 1).ilog2() as usize;
        let groups = match make {
            true => self
                .rows
                .get(row)?
                .get_or_init(|| (0..1 << row).map(|_| Group::new()).collect()),
            false => self.rows.get(row)?.get()?,
        };
        groups.get(at + 1 - (1 << row))
    }

    fn place(&self, listed: Listed) -> Option<&IteratorSlot> {
        let group = self.group(listed.0 / PLACES, false)?;
        group.places.get(listed.0 % PLACES)
    }

    /// Adds an opened iterator to the list. `None` if the list is full: then the iterator is not listed.
    pub fn enter(&self, iterator: OpenIterator) -> Option<Listed> {
        let from = self.full.load(Ordering::Relaxed);
        let mut at = from;
        loop {
            let group = self.group(at, true)?;
            let taken = group.taken.load(Ordering::Relaxed);
            if taken == u64::MAX {
                at += 1;
                continue;
            }
            let place = taken.trailing_ones() as usize;
            let with_it = taken | 1 << place;
            let claimed =
                group
                    .taken
                    .compare_exchange_weak(taken, with_it, Ordering::Acquire, Ordering::Relaxed);
            if claimed.is_ok() {
                if at != from {
                    self.full.store(at, Ordering::Relaxed);
                }
                let listed = Listed(at * PLACES + place);
                self.say(Some(listed), iterator.super_version, iterator.bytes);
                let opened = iterator.opened.as_micros() as u64;
                group.places[place].opened.store(opened, Ordering::Release);
                return Some(listed);
            }
        }
    }

    /// Records that the iterator reads another super version, or holds more or less memory.
    pub fn say(&self, listed: Option<Listed>, super_version: u64, bytes: usize) {
        if let Some(place) = listed.and_then(|listed| self.place(listed)) {
            // `Release` orders these stores after the previous iterator's departure: a reader that sees one
            // of them sees the departure too.
            place.super_version.store(super_version, Ordering::Release);
            place.bytes.store(bytes, Ordering::Release);
        }
    }

    /// Frees the place of an iterator that is dropped.
    pub fn leave(&self, listed: Option<Listed>) {
        let Some(listed) = listed else { return };
        let at = listed.0 / PLACES;
        let Some(group) = self.group(at, false) else {
            return;
        };
        let place = listed.0 % PLACES;
        group.places[place].opened.store(NOBODY, Ordering::Relaxed);
        group.taken.fetch_and(!(1 << place), Ordering::Release);
        // If another thread's store replaces this one, the place freed here is found again after the next
        // departure of an iterator in an earlier group.
        if at < self.full.load(Ordering::Relaxed) {
            self.full.store(at, Ordering::Relaxed);
        }
    }

    /// All listed iterators, in no order. An iterator that is opened or dropped meanwhile may be missing or
    /// present.
    pub fn list(&self) -> Vec<OpenIterator> {
        let mut found = Vec::new();
        for group in self.rows.iter().filter_map(OnceLock::get).flatten() {
            found.extend(group.places.iter().filter_map(IteratorSlot::look));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use base::sync;

    use super::*;

    fn iterator(opened: u64) -> OpenIterator {
        OpenIterator {
            opened: Duration::from_micros(opened),
            super_version: 2 * opened,
            bytes: 3 * opened as usize,
        }
    }

    fn opened(open: &OpenIterators) -> Vec<u64> {
        let mut found: Vec<u64> = open
            .list()
            .iter()
            .map(|found| {
                let at = found.opened.as_micros() as u64;
                assert_eq!(*found, iterator(at));
                at
            })
            .collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn who_is_there_is_listed_and_places_are_taken_again() {
        let open = OpenIterators::default();
        assert!(opened(&open).is_empty());
        let mut listed: Vec<_> = (0..1000).map(|at| open.enter(iterator(at))).collect();
        assert_eq!(opened(&open), (0..1000).collect::<Vec<_>>());
        open.say(listed[7], 1, 1);
        assert!(open.list().contains(&OpenIterator {
            opened: Duration::from_micros(7),
            super_version: 1,
            bytes: 1
        }));
        let rows = || open.rows.iter().filter(|row| row.get().is_some()).count();
        let made = rows();
        for round in 0..10 {
            for listed in listed.drain(..) {
                open.leave(listed);
            }
            assert!(opened(&open).is_empty());
            listed.extend((0..1000).map(|at| open.enter(iterator(1000 * round + at))));
            assert_eq!(open.list().len(), 1000);
        }
        assert_eq!(rows(), made);
    }

    #[test]
    fn threads_take_places_of_their_own() {
        let open = OpenIterators::default();
        sync::thread::scope(|scope| {
            for thread in 0..4 {
                let open = &open;
                scope.spawn(move || {
                    for round in 0..200 {
                        let at = 1_000_000 * (thread + 1) + 1000 * round;
                        let listed: Vec<_> = (0..100).map(|i| open.enter(iterator(at + i))).collect();
                        let mine = opened(open);
                        assert!((at..at + 100).all(|at| mine.binary_search(&at).is_ok()));
                        for listed in listed {
                            open.leave(listed);
                        }
                    }
                });
            }
        });
        assert!(opened(&open).is_empty());
    }
}
