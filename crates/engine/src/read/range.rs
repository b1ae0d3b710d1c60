//! Ranges of rows as Rust iterators.

use std::ops::RangeBounds;

use base::Error;

use super::rows::{OpenCursor, Rows, prefix_bounds};
use crate::state::column_family::ColumnFamily;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;

impl Db {
    /// The rows of the default family whose keys are in `range`, as an iterator from both ends; see [`Rows`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let options = esker::Options { create_if_missing: true, ..Default::default() };
    /// # let db = esker::Db::open(&options, dir.path())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// db.put(b"c", b"3")?;
    /// assert_eq!(db.range("a".."c").count(), 2);
    /// assert_eq!(db.range("a"..="c").count(), 3);
    /// for row in db.range::<&[u8]>(..).rev() {
    ///     let (key, value) = row?;
    ///     println!("{}={}", key.escape_ascii(), value.escape_ascii());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Rows {
        self.range_cf(&self.default_column_family(), range)
    }

    /// The rows of `family` whose keys are in `range`; see [`Rows`].
    pub fn range_cf<K: AsRef<[u8]>>(&self, family: &ColumnFamily, range: impl RangeBounds<K>) -> Rows {
        self.range_cf_opt(family, range, &ReadOptions::default())
    }

    /// The rows of `family` whose keys are in `range`, read as `options` say; see [`Rows`]. The bounds of
    /// `options` apply as well. With [`tailing`](ReadOptions::tailing) the first row is an
    /// `InvalidArgument` error.
    pub fn range_cf_opt<K: AsRef<[u8]>>(
        &self,
        family: &ColumnFamily,
        range: impl RangeBounds<K>,
        options: &ReadOptions,
    ) -> Rows {
        let owned = |key: &K| key.as_ref().to_vec();
        let bounds = (range.start_bound().map(owned), range.end_bound().map(owned));
        let (open, order) = (self.cursors(options, family), family.comparator().clone());
        if options.tailing {
            let error = Error::invalid_argument("a range is read as of one moment: tailing cannot be set");
            return Rows::refused(open, order, error);
        }
        Rows::new(open, order, bounds)
    }

    /// The rows of the default family whose keys begin with `prefix`; see [`prefix_cf`](Self::prefix_cf).
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let options = esker::Options { create_if_missing: true, ..Default::default() };
    /// # let db = esker::Db::open(&options, dir.path())?;
    /// db.put(b"user:1", b"Ada")?;
    /// db.put(b"user:2", b"Grace")?;
    /// db.put(b"visit:1", b"user:2")?;
    /// assert_eq!(db.prefix("user:").count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Rows {
        self.prefix_cf(&self.default_column_family(), prefix)
    }

    /// The rows of `family` whose keys begin with `prefix`, as an iterator from both ends. It needs no
    /// prefix extractor, and queries no filter.
    ///
    /// With a comparator of the user's the first row is an `InvalidArgument` error, since keys with one
    /// prefix need not be neighbours in its order.
    pub fn prefix_cf(&self, family: &ColumnFamily, prefix: impl AsRef<[u8]>) -> Rows {
        let order = family.comparator().clone();
        let open = self.cursors(&ReadOptions::default(), family);
        match prefix_bounds(&order, prefix.as_ref()) {
            Ok(bounds) => Rows::new(open, order, bounds),
            Err(error) => Rows::refused(open, order, error),
        }
    }

    /// Opens cursors that all read one view of `family`.
    fn cursors(&self, options: &ReadOptions, family: &ColumnFamily) -> OpenCursor {
        let mut options = options.clone();
        options.snapshot.get_or_insert_with(|| self.snapshot());
        let (db, family) = (self.clone(), family.clone());
        Box::new(move || db.iter_cf_opt(&family, &options))
    }
}
