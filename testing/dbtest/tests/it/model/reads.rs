//! The steps of a history that read: now and at snapshots, and with iterators that live while the database
//! changes.

use std::ops::Bound;

use base::{SeqNo, UserComparator};
use esker::{DbIterator, ReadOptions};
use testkit::model::Row;

use super::{HeldSnapshot, History, show_key};

/// An iterator that lives while the database changes, and its expected rows.
pub(super) struct Walk {
    iter: DbIterator,
    rows: Vec<Row>,
    /// The index of the current row.
    at: Option<usize>,
    cmp: UserComparator,
}

impl History {
    /// A random point in the history to read at: the present, or a snapshot.
    fn when(&mut self) -> (ReadOptions, SeqNo) {
        let mut options = ReadOptions {
            fill_cache: !self.rng.one_in(5),
            auto_refresh_iterator_with_snapshot: self.rng.bool(),
            allow_unprepared_value: self.rng.bool(),
            ..ReadOptions::default()
        };
        if self.snapshots.is_empty() || self.rng.one_in(2) {
            return (options, self.model.last_seqno());
        }
        let held = self.rng.pick(&self.snapshots);
        options.snapshot = Some(held.snapshot.clone());
        (options, held.seqno)
    }

    pub(super) fn any_key(&mut self) -> Vec<u8> {
        match self.rng.u32(..8) {
            0 => format!("s{:05}", self.rng.usize(..100)).into_bytes(),
            1 => [&self.key()[..], b"x"].concat(),
            _ => self.key(),
        }
    }

    pub(super) fn get(&mut self) {
        let (options, seqno) = self.when();
        for _ in 0..10 {
            let (at, key) = (self.some_family(), self.any_key());
            let family = &self.families[at];
            let got = self.db().get_cf_opt(&family.handle, &key, &options).unwrap();
            let expected = self.model.get(family.id, &key, seqno).unwrap();
            assert_eq!(
                got,
                expected,
                "get {} of {} at {seqno}",
                show_key(&key),
                family.id
            );
            let pinned = self
                .db()
                .get_pinned_cf_opt(&family.handle, &key, &options)
                .unwrap();
            assert_eq!(pinned.as_deref(), expected.as_deref());
        }
        self.note("get".to_owned());
    }

    pub(super) fn multi_get(&mut self) {
        let (options, seqno) = self.when();
        let at = self.some_family();
        let keys: Vec<Vec<u8>> = (0..self.rng.usize(1..40)).map(|_| self.any_key()).collect();
        let family = &self.families[at];
        let got = self.db().multi_get_cf_opt(&family.handle, &keys, &options);
        for (key, got) in keys.iter().zip(got) {
            assert_eq!(
                got.unwrap(),
                self.model.get(family.id, key, seqno).unwrap(),
                "multi_get {}",
                show_key(key)
            );
        }
        self.note("multi_get".to_owned());
    }

    /// An iterator and its expected rows.
    fn walk(&mut self) -> Walk {
        let (mut options, seqno) = self.when();
        let at = self.some_family();
        if self.rng.one_in(3) {
            options.iterate_lower_bound = Some(self.any_key());
        }
        if self.rng.one_in(3) {
            options.iterate_upper_bound = Some(self.any_key());
        }
        if self.rng.one_in(5) {
            options.readahead_size = 4096;
        }
        let family = &self.families[at];
        let lower = options
            .iterate_lower_bound
            .as_deref()
            .map_or(Bound::Unbounded, Bound::Included);
        let upper = options
            .iterate_upper_bound
            .as_deref()
            .map_or(Bound::Unbounded, Bound::Excluded);
        let rows = self.model.scan(family.id, seqno, lower, upper).unwrap();
        let iter = self.db().iter_cf_opt(&family.handle, &options);
        let bound = |key: &Option<Vec<u8>>| key.as_ref().map_or("-".to_owned(), |key| show_key(key));
        let what = format!(
            "iterator {} of {} at {seqno}, {} {}",
            self.walks.len(),
            family.id,
            bound(&options.iterate_lower_bound),
            bound(&options.iterate_upper_bound)
        );
        let cmp = family.options.comparator.clone();
        self.note(what);
        Walk {
            iter,
            rows,
            at: None,
            cmp,
        }
    }

    pub(super) fn scan(&mut self) {
        let mut walk = self.walk();
        if self.rng.bool() {
            walk.iter.seek_to_first();
            for row in &walk.rows {
                assert!(
                    walk.iter.valid(),
                    "ends before {}: {:?}",
                    show_key(&row.0),
                    walk.iter.status()
                );
                assert!(walk.iter.prepare_value());
                assert_eq!(
                    (walk.iter.key(), walk.iter.value()),
                    (&row.0[..], &row.1[..]),
                    "at {}",
                    show_key(&row.0)
                );
                walk.iter.next();
            }
        } else {
            walk.iter.seek_to_last();
            for row in walk.rows.iter().rev() {
                assert!(
                    walk.iter.valid(),
                    "ends before {}: {:?}",
                    show_key(&row.0),
                    walk.iter.status()
                );
                assert!(walk.iter.prepare_value());
                assert_eq!(
                    (walk.iter.key(), walk.iter.value()),
                    (&row.0[..], &row.1[..]),
                    "at {}",
                    show_key(&row.0)
                );
                walk.iter.prev();
            }
        }
        assert!(
            !walk.iter.valid(),
            "has {} to offer",
            walk.iter.key().escape_ascii()
        );
        walk.iter.status().unwrap();
    }

    pub(super) fn start_walk(&mut self) {
        let mut walk = self.walk();
        self.wander(&mut walk);
        if self.walks.len() < 6 {
            self.walks.push(walk);
        }
    }

    pub(super) fn go_on_walking(&mut self) {
        if self.walks.is_empty() {
            return;
        }
        let at = self.rng.usize(..self.walks.len());
        let mut walk = self.walks.swap_remove(at);
        self.note(format!("iterator {at}"));
        self.wander(&mut walk);
        if !self.rng.one_in(4) {
            self.walks.push(walk);
        }
    }

    /// Moves an iterator at random, with changes of direction.
    fn wander(&mut self, walk: &mut Walk) {
        for _ in 0..self.rng.usize(1..40) {
            let Walk { iter, rows, at, cmp } = walk;
            let step;
            match (self.rng.u32(..12), *at) {
                (0..5, Some(place)) => {
                    step = "next".to_owned();
                    iter.next();
                    *at = Some(place + 1).filter(|&place| place < rows.len());
                }
                (5..9, Some(place)) => {
                    step = "prev".to_owned();
                    iter.prev();
                    *at = place.checked_sub(1);
                }
                (9 | 0 | 1, _) => {
                    let key = self.any_key();
                    step = format!("seek {}", show_key(&key));
                    iter.seek(&key);
                    *at = rows.iter().position(|row| cmp.compare(&row.0, &key).is_ge());
                }
                (10 | 2 | 3, _) => {
                    let key = self.any_key();
                    step = format!("seek_for_prev {}", show_key(&key));
                    iter.seek_for_prev(&key);
                    *at = rows.iter().rposition(|row| cmp.compare(&row.0, &key).is_le());
                }
                (11 | 4, _) => {
                    step = "seek_to_first".to_owned();
                    iter.seek_to_first();
                    *at = (!rows.is_empty()).then_some(0);
                }
                _ => {
                    step = "seek_to_last".to_owned();
                    iter.seek_to_last();
                    *at = rows.len().checked_sub(1);
                }
            }
            self.log.push(step.clone());
            iter.status().unwrap();
            assert!(!iter.valid() || iter.prepare_value());
            let got = iter.valid().then(|| (iter.key(), iter.value()));
            let expected = at.map(|at| (&rows[at].0[..], &rows[at].1[..]));
            let key = |row: Option<(&[u8], &[u8])>| row.map(|row| show_key(row.0));
            assert_eq!(key(got), key(expected), "after {step}");
            assert_eq!(got, expected, "after {step}");
            if iter.valid() && self.rng.one_in(10) {
                assert_eq!(&iter.value_pinned()[..], iter.value());
            }
        }
    }

    pub(super) fn take_snapshot(&mut self) {
        if self.snapshots.len() < 8 {
            self.snapshots.push(HeldSnapshot {
                snapshot: self.db().snapshot(),
                seqno: self.model.last_seqno(),
            });
            self.note(format!("snapshot {}", self.model.last_seqno()));
        }
    }

    pub(super) fn release_snapshot(&mut self) {
        if !self.snapshots.is_empty() {
            let at = self.rng.usize(..self.snapshots.len());
            let held = self.snapshots.swap_remove(at);
            self.note(format!("release {}", held.seqno));
        }
    }
}
