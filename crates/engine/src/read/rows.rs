//! The rows of a range as a Rust iterator, from both ends.

use std::cmp::Ordering;
use std::iter::FusedIterator;
use std::ops::{Bound, ControlFlow};

use base::{Error, Result, UserComparator};

use super::db_iterator::DbIterator;

/// The bounds of a range of keys.
pub(crate) type KeyBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Opens an iterator. The iterators at both ends of a range are opened by the same function, and read the
/// same state of the database.
pub(crate) type OpenCursor = Box<dyn Fn() -> DbIterator + Send + Sync>;

/// The rows of a range in the order of their keys: an iterator over `Result<(key, value)>`, also from the
/// end by [`rev`](Iterator::rev).
///
/// It reads the database as of its creation, or as of
/// [`ReadOptions::snapshot`](crate::ReadOptions::snapshot), and keeps that view alive until it is dropped.
/// The first error ends it. Each row is copied into two allocations; [`for_each_row`](Self::for_each_row)
/// lends them instead. [`DbIterator`] seeks and changes its direction.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// for key in ["apple", "banana", "cherry"] {
///     db.put(key, b"fruit")?;
/// }
/// let keys: Vec<_> = db.range("b"..).map(|row| row.map(|(key, _)| key)).collect::<Result<_, _>>()?;
/// assert_eq!(keys, [Box::from(&b"banana"[..]), Box::from(&b"cherry"[..])]);
/// let (last, _) = db.range(.."b").next_back().unwrap()?;
/// assert_eq!(&*last, b"apple");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Rows {
    open: OpenCursor,
    comparator: UserComparator,
    bounds: KeyBounds,
    /// The cursor of [`next`](Iterator::next), on the row that it returned last; none before the first call.
    front: Option<DbIterator>,
    /// The cursor of [`next_back`](DoubleEndedIterator::next_back); `None` until the first call.
    back: Option<DbIterator>,
    /// The error that the next call returns if the range cannot be read.
    refused: Option<Error>,
    done: bool,
}

impl Rows {
    pub(crate) fn new(open: OpenCursor, comparator: UserComparator, bounds: KeyBounds) -> Rows {
        Rows {
            open,
            comparator,
            bounds,
            front: None,
            back: None,
            refused: None,
            done: false,
        }
    }

    /// Creates an iterator that returns only `error`.
    pub(crate) fn refused(open: OpenCursor, comparator: UserComparator, error: Error) -> Rows {
        let mut rows = Rows::new(open, comparator, (Bound::Unbounded, Bound::Unbounded));
        rows.refused = Some(error);
        rows
    }

    /// Calls `each` with the key and the value of every row that is left, in order and without a copy,
    /// until it breaks.
    ///
    /// # Errors
    /// The error that ended the rows.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let options = esker::Options { create_if_missing: true, ..Default::default() };
    /// # let db = esker::Db::open(&options, dir.path())?;
    /// db.put(b"a", b"12")?;
    /// db.put(b"b", b"345")?;
    /// let mut bytes = 0;
    /// db.range::<&[u8]>(..).for_each_row(|_, value| {
    ///     bytes += value.len();
    ///     std::ops::ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(bytes, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_each_row(mut self, mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> Result<()> {
        while let Some(row) = self.advance() {
            let row = row?;
            if each(row.key(), row.value()).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Moves the front to its next row, if one is left.
    fn advance(&mut self) -> Option<Result<&DbIterator>> {
        if let Some(end) = self.end() {
            return end.map(Err);
        }
        match &mut self.front {
            Some(front) => front.next(),
            None => self.front = Some(first(&self.open, &self.comparator, &self.bounds.0)),
        }
        let (front, order) = (self.front.as_ref()?, &self.comparator);
        let within = front.valid()
            && match &self.bounds.1 {
                Bound::Unbounded => true,
                Bound::Included(end) => compare(order, front.key(), end).is_le(),
                Bound::Excluded(end) => compare(order, front.key(), end).is_lt(),
            };
        let met = |back: &DbIterator| compare(order, front.key(), back.key()).is_ge();
        if within && !self.back.as_ref().is_some_and(met) {
            return Some(Ok(front));
        }
        self.done = true;
        front.status().err().map(Err)
    }

    /// Moves the back to the row before, if one is left.
    fn retreat(&mut self) -> Option<Result<&DbIterator>> {
        if let Some(end) = self.end() {
            return end.map(Err);
        }
        match &mut self.back {
            Some(back) => back.prev(),
            None => self.back = Some(last(&self.open, &self.comparator, &self.bounds.1)),
        }
        let (back, order) = (self.back.as_ref()?, &self.comparator);
        let within = back.valid()
            && match &self.bounds.0 {
                Bound::Unbounded => true,
                Bound::Included(start) => compare(order, back.key(), start).is_ge(),
                Bound::Excluded(start) => compare(order, back.key(), start).is_gt(),
            };
        let met = |front: &DbIterator| compare(order, front.key(), back.key()).is_ge();
        if within && !self.front.as_ref().is_some_and(met) {
            return Some(Ok(back));
        }
        self.done = true;
        back.status().err().map(Err)
    }

    /// Returns `Some` if the iterator has already ended. If the range was refused, the first call returns the
    /// error.
    fn end(&mut self) -> Option<Option<Error>> {
        if let Some(error) = self.refused.take() {
            self.done = true;
            return Some(Some(error));
        }
        self.done.then_some(None)
    }
}

/// A cursor on the first row within `start`.
fn first(open: &OpenCursor, order: &UserComparator, start: &Bound<Vec<u8>>) -> DbIterator {
    let mut cursor = open();
    match start {
        Bound::Unbounded => cursor.seek_to_first(),
        Bound::Included(key) => cursor.seek(key),
        Bound::Excluded(key) => {
            cursor.seek(key);
            if cursor.valid() && compare(order, cursor.key(), key).is_eq() {
                cursor.next();
            }
        }
    }
    cursor
}

/// A cursor on the last row within `end`.
fn last(open: &OpenCursor, order: &UserComparator, end: &Bound<Vec<u8>>) -> DbIterator {
    let mut cursor = open();
    match end {
        Bound::Unbounded => cursor.seek_to_last(),
        Bound::Included(key) => cursor.seek_for_prev(key),
        Bound::Excluded(key) => {
            cursor.seek_for_prev(key);
            if cursor.valid() && compare(order, cursor.key(), key).is_eq() {
                cursor.prev();
            }
        }
    }
    cursor
}

/// Compares keys that carry no timestamps.
fn compare(order: &UserComparator, a: &[u8], b: &[u8]) -> Ordering {
    order.compare_without_timestamp(&order.stamped(a), &order.stamped(b))
}

fn copied(row: &DbIterator) -> (Box<[u8]>, Box<[u8]>) {
    (row.key().into(), row.value().into())
}

impl Iterator for Rows {
    type Item = Result<(Box<[u8]>, Box<[u8]>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().map(|row| row.map(copied))
    }
}

impl DoubleEndedIterator for Rows {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.retreat().map(|row| row.map(copied))
    }
}

impl FusedIterator for Rows {}

/// The bounds of the keys that begin with `prefix`.
///
/// # Errors
/// `InvalidArgument` for an order of the user's, in which keys with one prefix need not be neighbours.
pub(crate) fn prefix_bounds(order: &UserComparator, prefix: &[u8]) -> Result<KeyBounds> {
    let begin = Bound::Included(prefix.to_vec());
    // The least key that is greater than all keys with the prefix, in the order of bytes.
    let end = match prefix.iter().rposition(|&byte| byte != u8::MAX) {
        Some(last) => {
            let mut end = prefix[..=last].to_vec();
            end[last] += 1;
            Bound::Excluded(end)
        }
        None => Bound::Unbounded,
    };
    match order {
        UserComparator::Bytewise | UserComparator::BytewiseU64Ts => Ok((begin, end)),
        UserComparator::ReverseBytewise | UserComparator::ReverseBytewiseU64Ts => Ok((end, begin)),
        UserComparator::Custom(custom) => Err(Error::invalid_argument(format!(
            "the comparator {} does not keep the keys of a prefix together: read a range",
            custom.name()
        ))),
    }
}
