//! The open iterators of a family: how old each is, what it reads, what it holds for itself.
//!
//! An iterator takes a place when it is opened and gives it back when it is dropped: a compare-and-swap each, no lock, and what it says of
//! itself it writes there. Whoever asks looks at all places. They lie in rows, each twice as long as the one before, which are made when
//! they are needed and stay.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Places that share a word which says which are taken.
const PLACES: usize = u64::BITS as usize;

/// Rows of groups: with more than sixty million iterators the others are not listed.
const ROWS: usize = 20;

/// In the place of a time: nobody is there, or he has not written yet.
const NOBODY: u64 = u64::MAX;

struct Place {
    /// Microseconds of the database's clock.
    opened: AtomicU64,
    super_version: AtomicU64,
    bytes: AtomicUsize,
}

impl Place {
    /// Who is there.
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
            // Another may have come meanwhile, and some of it may be his.
            if self.opened.load(Ordering::Relaxed) == opened {
                return Some(found);
            }
        }
    }
}

struct Group {
    /// A bit for each place.
    taken: AtomicU64,
    places: [Place; PLACES],
}

impl Group {
    fn new() -> Group {
        let place = |_| Place {
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

/// What is known of an open iterator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenIterator {
    /// When it was opened, by the database's clock, to within some milliseconds.
    pub opened: Duration,
    /// The number of the super version it reads.
    pub super_version: u64,
    /// What it holds for itself.
    pub bytes: usize,
}

/// Where an iterator is listed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed(usize);

/// See the module's head.
#[derive(Default)]
pub(crate) struct OpenIterators {
    rows: [OnceLock<Box<[Group]>>; ROWS],
    /// Groups before this one are full, as far as anybody knows.
    full: AtomicUsize,
}

impl OpenIterators {
    /// Group `at`, if there can be one; made if `make`.
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

    fn place(&self, listed: Listed) -> Option<&Place> {
        let group = self.group(listed.0 / PLACES, false)?;
        group.places.get(listed.0 % PLACES)
    }

    /// An iterator is opened. `None`: there are too many to list it.
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

    /// It reads another super version, or holds more or less.
    pub fn say(&self, listed: Option<Listed>, super_version: u64, bytes: usize) {
        if let Some(place) = listed.and_then(|listed| self.place(listed)) {
            // Whoever reads one of them sees that who was here before has left.
            place.super_version.store(super_version, Ordering::Release);
            place.bytes.store(bytes, Ordering::Release);
        }
    }

    /// It is dropped.
    pub fn leave(&self, listed: Option<Listed>) {
        let Some(listed) = listed else { return };
        let at = listed.0 / PLACES;
        let Some(group) = self.group(at, false) else {
            return;
        };
        let place = listed.0 % PLACES;
        group.places[place].opened.store(NOBODY, Ordering::Relaxed);
        group.taken.fetch_and(!(1 << place), Ordering::Release);
        // If this is lost to another who says so, what is left free here is taken after the next of them who leaves.
        if at < self.full.load(Ordering::Relaxed) {
            self.full.store(at, Ordering::Relaxed);
        }
    }

    /// All there are, in no order. One that is opened or dropped meanwhile may be in it or not.
    pub fn list(&self) -> Vec<OpenIterator> {
        let mut found = Vec::new();
        for group in self.rows.iter().filter_map(OnceLock::get).flatten() {
            found.extend(group.places.iter().filter_map(Place::look));
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
