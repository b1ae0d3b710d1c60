//! Interleavings of insertions, splits and reads in small trees, whose nodes have four slots here and whose
//! leaves are reopened once: all of them up to a number of preemptions.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p esker-memtable --release loom`

use std::sync::Arc;

use base::internal_key::{pack_trailer, user_key};
use base::{InternalComparator, Kind, MAX_SEQNO, UserComparator};
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use crate::arena::Arena;
use crate::entry::{Entry, Target};
use crate::filter::{Filter, FilterOptions};
use crate::insert::Near;
use crate::tree::{LeafPosition, Tree, found};

/// All keys begin with the same bytes, so that nodes skip some of them.
fn key(n: u8) -> [u8; 3] {
    [b'k', b'0' + n / 10, b'0' + n % 10]
}

fn number(key: &[u8]) -> u8 {
    (key[1] - b'0') * 10 + key[2] - b'0'
}

fn trailer() -> u64 {
    pack_trailer(1, Kind::Value as u8)
}

struct Fixture {
    tree: Tree,
}

impl Fixture {
    /// Creates a tree with these keys.
    fn new(keys: &[u8]) -> Arc<Fixture> {
        let cmp = InternalComparator::new(UserComparator::Bytewise);
        let fixture = Fixture {
            tree: Tree::new(cmp, Default::default(), Arena::new(4 << 10, false)),
        };
        for &n in keys {
            assert!(fixture.insert(n));
        }
        Arc::new(fixture)
    }

    fn insert(&self, n: u8) -> bool {
        self.tree
            .insert(&key(n), trailer(), &[n], std::ptr::null(), &mut Near::new())
    }

    fn has(&self, n: u8) -> bool {
        let key = key(n);
        let target = Target {
            user_key: &key,
            trailer: pack_trailer(MAX_SEQNO, 0xff),
        };
        let place = self.tree.first_version(&target);
        // SAFETY: the place is of this tree.
        let entry = found(unsafe { self.tree.entry(&place) });
        if let Some(entry) = entry {
            // SAFETY: an entry of this tree.
            unsafe {
                assert_eq!(user_key(Entry::key(entry.as_ptr())), key);
                assert_eq!(Entry::value(entry.as_ptr()), [n]);
            }
        }
        entry.is_some()
    }

    /// Returns up to `most` keys from a place on.
    fn walk_from(&self, mut place: LeafPosition, most: usize) -> Vec<u8> {
        let mut keys = Vec::new();
        // SAFETY: places come from this tree, and are at entries where they are used.
        unsafe {
            while let Some(entry) = found(self.tree.entry(&place))
                && keys.len() < most
            {
                keys.push(number(Entry::key(entry.as_ptr())));
                place = self.tree.next(&place);
            }
        }
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        keys
    }

    fn walk(&self) -> Vec<u8> {
        self.walk_from(self.tree.first(), usize::MAX)
    }

    fn walk_back(&self) -> Vec<u8> {
        let mut keys = Vec::new();
        let mut place = self.tree.last();
        // SAFETY: the places are of this tree, and at entries wherever the walk continues from them.
        unsafe {
            while let Some(entry) = found(self.tree.entry(&place)) {
                keys.push(number(Entry::key(entry.as_ptr())));
                place = self.tree.prev(&place);
            }
        }
        keys.reverse();
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        keys
    }

    /// Checks the tree after all threads have ended.
    fn check(&self, mut keys: Vec<u8>) {
        keys.sort();
        assert_eq!(self.walk(), keys);
        assert_eq!(self.walk_back(), keys);
        for (i, &n) in keys.iter().enumerate() {
            assert!(self.has(n));
            let target = Target {
                user_key: &key(n),
                trailer: trailer(),
            };
            let behind = &keys[i..keys.len().min(i + 3)];
            assert_eq!(self.walk_from(self.tree.first_at_or_after(&target), 3), behind);
        }
    }
}

fn model(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 50_000;
    // Two writers of one leaf under a closed inner node have several times as many permutations; all other
    // models end before.
    builder.max_permutations = Some(200_000);
    builder.check(run);
}

/// Two threads each add keys to a tree of `before`; then all keys must be there.
fn two_writers(preemptions: usize, before: &'static [u8], one: &'static [u8], other: &'static [u8]) {
    model(preemptions, move || {
        let fixture = Fixture::new(before);
        let writer = {
            let fixture = fixture.clone();
            thread::spawn(move || {
                for &n in one {
                    assert!(fixture.insert(n));
                }
            })
        };
        for &n in other {
            assert!(fixture.insert(n));
        }
        writer.join().unwrap();
        fixture.check([before, one, other].concat());
    });
}

/// How a reader searches.
#[derive(Clone, Copy, Debug)]
enum Look {
    /// Looks up the greatest key of `before`.
    Get,
    Forwards,
    Backwards,
}

/// A reader sees the keys of `before`, and those that a writer has announced, in order.
fn writer_and_reader(preemptions: usize, before: &'static [u8], added: &'static [u8], look: Look) {
    model(preemptions, move || {
        let fixture = Fixture::new(before);
        let done = Arc::new(AtomicUsize::new(0));
        let writer = {
            let (fixture, done) = (fixture.clone(), done.clone());
            thread::spawn(move || {
                for (i, &n) in added.iter().enumerate() {
                    assert!(fixture.insert(n));
                    done.store(i + 1, Ordering::Release);
                }
            })
        };
        let there = [before, &added[..done.load(Ordering::Acquire)]].concat();
        let seen = match look {
            Look::Get => {
                assert!(there.iter().max().is_none_or(|&n| fixture.has(n)));
                there.clone()
            }
            Look::Forwards => fixture.walk(),
            Look::Backwards => fixture.walk_back(),
        };
        assert!(there.iter().all(|n| seen.contains(n)), "{there:?} {seen:?}");
        writer.join().unwrap();
        fixture.check([before, added].concat());
    });
}

#[test]
fn one_leaf_takes_in_from_two_threads() {
    two_writers(8, &[], &[10, 30], &[20]);
}

#[test]
fn an_entry_is_taken_from_one_of_two_threads() {
    model(8, || {
        let fixture = Fixture::new(&[5]);
        let writer = {
            let fixture = fixture.clone();
            thread::spawn(move || fixture.insert(7))
        };
        let mine = fixture.insert(7);
        assert_ne!(mine, writer.join().unwrap());
        fixture.check(vec![5, 7]);
    });
}

#[test]
fn a_closed_root_leaf_is_split_by_two_threads() {
    two_writers(8, &[30, 10, 40, 20], &[15], &[35]);
}

#[test]
fn a_closed_leaf_is_split_by_two_threads() {
    // The insertions begin with two leaves, [10 20 ...] and [30 40 50 60]; the second one is closed.
    two_writers(5, &[30, 10, 40, 20, 60, 50], &[45], &[35]);
}

#[test]
fn ascending_keys_from_two_threads() {
    two_writers(8, &[10, 20, 30, 40], &[50], &[60]);
}

#[test]
fn descending_keys_from_two_threads() {
    two_writers(6, &[40, 30, 20, 19], &[10], &[5]);
}

/// A closed root over leaves of which one is closed too, that of 33 to 63.
const CLOSED_ROOT: [u8; 9] = [11, 62, 65, 84, 87, 33, 12, 47, 63];
/// A closed root over leaves of which three are closed.
const CLOSED_LEAVES: [u8; 12] = [13, 10, 12, 23, 45, 37, 87, 81, 31, 64, 19, 50];
/// One more leaf would close the root; all leaves are closed.
const ALMOST_CLOSED: [u8; 10] = [10, 12, 44, 15, 55, 19, 76, 34, 22, 71];
/// Keys are added in ascending order, which makes a closed root over closed leaves.
const ASCENDING: [u8; 16] = [0, 6, 12, 18, 24, 30, 36, 42, 48, 54, 60, 66, 72, 78, 84, 90];
/// Three levels; the upper halves of the first inner node and of some leaves are in a neighbour already.
const HALF_SPLIT: [u8; 14] = [50, 10, 60, 20, 70, 80, 30, 40, 90, 25, 57, 54, 22, 53];

#[test]
fn the_shapes_are_what_the_names_say() {
    model(1, || {
        for (keys, shape) in [
            (&CLOSED_ROOT[..], "[2 4! 2 1]!"),
            (&CLOSED_LEAVES, "[4! 4! 4! 2]!"),
            (&ALMOST_CLOSED, "[4! 4! 4!]"),
            (&ASCENDING, "[4! 4! 4! 4!]!"),
            (&HALF_SPLIT, "[[4! 2 4! 1]! [2 3 2 1]!]"),
        ] {
            assert_eq!(Fixture::new(keys).tree.shape(), shape);
        }
    });
}

#[test]
fn a_closed_inner_node_is_split_by_two_threads() {
    two_writers(1, &CLOSED_ROOT, &[40], &[50]);
}

#[test]
fn a_closed_inner_node_is_split_in_two_places() {
    two_writers(2, &CLOSED_LEAVES, &[11], &[30]);
}

#[test]
fn an_inner_node_is_closed_and_split_under_a_writer() {
    two_writers(1, &ALMOST_CLOSED, &[20, 60], &[50]);
}

#[test]
fn splits_begun_are_finished_by_two_threads() {
    two_writers(3, &HALF_SPLIT, &[21], &[23]);
}

#[test]
fn readers_of_a_leaf_being_split() {
    for look in [Look::Get, Look::Forwards, Look::Backwards] {
        writer_and_reader(8, &[30, 10, 40, 20], &[25], look);
        writer_and_reader(6, &[30, 10, 40, 20, 60, 50], &[45], look);
    }
}

#[test]
fn readers_of_an_inner_node_being_split() {
    for look in [Look::Get, Look::Forwards, Look::Backwards] {
        writer_and_reader(4, &CLOSED_ROOT, &[50], look);
        writer_and_reader(4, &HALF_SPLIT, &[21], look);
    }
}

#[test]
fn readers_of_the_last_leaf_under_a_closed_root() {
    for look in [Look::Get, Look::Forwards, Look::Backwards] {
        writer_and_reader(3, &ASCENDING, &[81], look);
        writer_and_reader(3, &ASCENDING, &[95], look);
    }
}

#[test]
fn readers_of_ascending_keys() {
    for look in [Look::Get, Look::Forwards, Look::Backwards] {
        writer_and_reader(6, &[10, 20, 30, 40], &[50, 60], look);
    }
}

#[test]
fn the_arena_gives_each_piece_to_one() {
    model(4, || {
        let arena = Arc::new(Arena::new(2 << 10, false));
        let take = |arena: &Arena| [400, 500, 400].map(|len| (arena.allocate_entry(len).addr().get(), len));
        let other = {
            let arena = arena.clone();
            thread::spawn(move || take(&arena))
        };
        let mut pieces = [take(&arena), other.join().unwrap()].concat();
        pieces.sort();
        assert!(
            pieces.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0),
            "{pieces:?}"
        );
        assert_eq!(arena.allocated() % (1 << 10), 0);
        assert!((2600..=8 << 10).contains(&arena.allocated()));
    });
}

/// Two writers fill one line, and a reader that one of them has notified of its row always finds it.
#[test]
fn a_filter_never_denies_what_was_published() {
    model(6, || {
        let options = FilterOptions {
            bytes: 1,
            whole_keys: true,
            prefix_extractor: None,
        };
        let filter = Arc::new(Filter::new(options, UserComparator::Bytewise));
        let published = Arc::new(AtomicUsize::new(0));
        let writers = [1, 2].map(|n: u8| {
            let (filter, published) = (filter.clone(), published.clone());
            thread::spawn(move || {
                filter.add(&key(n));
                published.fetch_or(n.into(), Ordering::Release);
            })
        });
        let seen = published.load(Ordering::Acquire);
        for n in [1, 2] {
            assert!(
                seen & usize::from(n) == 0 || filter.may_contain(&key(n)),
                "{n} of {seen}"
            );
        }
        for writer in writers {
            writer.join().unwrap();
        }
        assert!(filter.may_contain(&key(1)) && filter.may_contain(&key(2)));
    });
}
