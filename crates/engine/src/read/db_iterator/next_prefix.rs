//! Moves from a key to the first key with another prefix: by steps over the entries between, or by a seek
//! past them.

use base::Cursor;
use base::internal_key::{self, TRAILER_LEN};
use base::steps::StepsBeforeSeek;

use super::{DbIterator, DbPosition, Direction};
use crate::read::merging_cursor::before_key;

/// The cost of a move to the [next prefix](DbIterator::next_prefix).
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{ColumnFamilyOptions, prefix_extractors::Fixed};
/// use std::sync::Arc;
///
/// let family = ColumnFamilyOptions { prefix_extractor: Some(Arc::new(Fixed::new(1))), ..Default::default() };
/// let family = db.create_column_family("letters", &family)?;
/// for key in ["a1", "a2", "b1"] {
///     db.put_cf(&family, key, b"")?;
/// }
/// let mut iter = db.iter_cf(&family);
/// iter.seek_to_first();
/// let cost = iter.next_prefix();
/// assert_eq!(iter.key(), b"b1");
/// println!("{} steps, sought: {}", cost.steps, cost.sought);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefixMove {
    /// The number of steps, over entries of the prefix and to the first entry of another.
    pub steps: u32,
    /// True if a seek skipped the remaining entries.
    pub sought: bool,
}

impl DbIterator {
    /// Moves to the first key after the current one that has another prefix by the family's
    /// [`prefix_extractor`](crate::ColumnFamilyOptions::prefix_extractor). A key without a prefix counts as a
    /// prefix of its own, and without an extractor this is [`next`](Self::next). Keys with the same prefix
    /// must be adjacent in the family's order.
    ///
    /// It costs less than steps from key to key, because entries of the prefix are skipped without decoding
    /// them. After some steps it seeks, if the extractor has a
    /// [`successor`](crate::PrefixExtractor::successor). The number of steps adapts between 1 and
    /// [10](Self::set_max_prefix_steps): one more next time if the steps were enough, one fewer if not. With
    /// [`prefix_same_as_start`](crate::ReadOptions::prefix_same_as_start) it ends the iteration. RocksDB has
    /// no such method.
    #[inline]
    pub fn next_prefix(&mut self) -> PrefixMove {
        let mut moved = PrefixMove::default();
        self.moving(|iter| match iter.observed {
            false => moved = iter.forward_prefix(),
            true => iter.observe_step(|iter| moved = iter.forward_prefix(), true),
        });
        moved
    }

    /// Limits the steps that [`next_prefix`](Self::next_prefix) tries before it seeks, and resets what it has
    /// learnt; 0: it always seeks.
    pub fn set_max_prefix_steps(&mut self, most: u32) {
        self.prefix_steps = StepsBeforeSeek::new(most);
    }

    #[inline]
    fn forward_prefix(&mut self) -> PrefixMove {
        if self.outdated() {
            let mut moved = PrefixMove::default();
            self.move_outdated(|iter| moved = iter.step_over_prefix());
            return moved;
        }
        self.step_over_prefix()
    }

    fn step_over_prefix(&mut self) -> PrefixMove {
        self.skipped = 0;
        let mut moved = PrefixMove::default();
        let user = self.family.cmp.user();
        match self.place {
            DbPosition::Cursor => {
                self.saved_key.clear();
                self.saved_key
                    .extend_from_slice(internal_key::user_key(self.cursor.key()));
            }
            DbPosition::Saved => {}
            DbPosition::Nowhere | DbPosition::Pinned => panic!("the iterator is not valid"),
        }
        let key = user.strip_timestamp(&self.saved_key);
        let extractor = self.family.prefix_extractor.as_deref();
        let Some((extractor, prefix)) = extractor.and_then(|own| Some((own, own.prefix_of(key)?))) else {
            self.step_forward();
            moved.steps = 1;
            return moved;
        };
        if self.prefix.is_some() {
            self.place = DbPosition::Nowhere;
            return moved;
        }
        let behind_key = user.timestamp_size() + TRAILER_LEN;
        let backwards = self.direction == Direction::Backward;
        self.direction = Direction::Forward;
        // The condition is false if the cursor is before the key, perhaps far before it, and not among the
        // entries to skip.
        let mut at_entry = self.place == DbPosition::Saved && !backwards;
        let mut limit = match backwards {
            true => 0,
            false => self.prefix_steps.get(),
        };
        loop {
            if at_entry {
                if !self.cursor.valid() {
                    break;
                }
                // An entry that is too short to be an internal key is reported below.
                let entry = self.cursor.key();
                let end = entry.len().saturating_sub(behind_key);
                if extractor.prefix_of(&entry[..end]) != Some(prefix) {
                    break;
                }
            }
            if moved.steps >= limit {
                self.successor.clear();
                if extractor.successor(key, user, &mut self.successor) {
                    moved.sought = true;
                    break;
                }
                limit = u32::MAX;
                if backwards {
                    before_key(&mut self.target, user, key);
                    self.cursor.seek(&self.target);
                    at_entry = true;
                    continue;
                }
            }
            self.cursor.next();
            moved.steps = moved.steps.saturating_add(1);
            at_entry = true;
        }
        match moved.sought {
            false => self.prefix_steps.found(),
            true if backwards => {}
            true => self.prefix_steps.missed(),
        }
        if moved.sought {
            let ends = self.upper.as_ref().is_some_and(|upper| {
                let next = user.stamped(&self.successor);
                user.compare_without_timestamp(&next, upper).is_ge()
            });
            if ends {
                self.place = DbPosition::Nowhere;
                return moved;
            }
            before_key(&mut self.target, user, &self.successor);
            self.seek_cursor();
        }
        self.find_next(false);
        moved
    }
}
