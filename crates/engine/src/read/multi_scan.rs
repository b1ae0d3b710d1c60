//! Several ranges of keys read one after the other, with their blocks read together.

use base::{Error, Result, UserComparator};

use super::db_iterator::DbIterator;

/// The ranges that a [`MultiScan`] reads, and how it reads them: RocksDB's `MultiScanArgs`.
///
/// See the example of [`MultiScan`].
#[derive(Clone, Debug)]
pub struct MultiScanArgs {
    /// The ranges, each from a first key (inclusive) to an optional limit (exclusive), in order and without
    /// overlap. Default: none.
    pub ranges: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Blocks are read together if at most this many bytes are between them, in bytes. Default: 16 KiB.
    pub io_coalesce_threshold: u64,
    /// The limit of prefetched blocks, in bytes; blocks past it are read when the scan reaches them.
    /// Prefetched blocks stay in memory until the scan has passed them, so set a limit for long ranges. 0
    /// sets no limit. Default: 0.
    pub max_prefetch_size: u64,
    /// All reads are started at once, by io_uring if the kernel has it, and awaited when the scan reaches
    /// them. Otherwise each read is made when the scan reaches it. Default: false.
    pub use_async_io: bool,
}

impl Default for MultiScanArgs {
    fn default() -> MultiScanArgs {
        MultiScanArgs {
            ranges: Vec::new(),
            io_coalesce_threshold: sst::IO_COALESCE_THRESHOLD,
            max_prefetch_size: 0,
            use_async_io: false,
        }
    }
}

impl MultiScanArgs {
    /// `InvalidArgument` unless each range begins at or before its end, and at or after the end of the
    /// previous range.
    fn check(&self, user: &UserComparator) -> Result<()> {
        let after = |a: &[u8], b: &[u8]| {
            user.compare_without_timestamp(&user.stamped(a), &user.stamped(b))
                .is_gt()
        };
        let mut end: Option<&[u8]> = None;
        for (number, (start, limit)) in self.ranges.iter().enumerate() {
            let unbounded_before = number > 0 && end.is_none();
            let reversed = limit.as_deref().is_some_and(|limit| after(start, limit));
            if unbounded_before || reversed || end.is_some_and(|end| after(end, start)) {
                return Err(Error::invalid_argument(format!(
                    "range {number} of a multi-scan begins before the end of the one before it, or behind its own"
                )));
            }
            end = limit.as_deref();
        }
        Ok(())
    }
}

/// Ranges of keys of a family, read one after the other; see [`Db::multi_scan`](crate::Db::multi_scan).
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::MultiScanArgs;
///
/// for key in ["a1", "b1", "c1"] {
///     db.put(key, b"")?;
/// }
/// let range = |from: &str, to: &str| (from.into(), Some(to.into()));
/// let args = MultiScanArgs { ranges: vec![range("a", "b"), range("c", "d")], ..Default::default() };
/// let mut scan = db.multi_scan(&db.default_column_family(), args, &Default::default())?;
/// while let Some(rows) = scan.next_range() {
///     while rows.valid() {
///         println!("{:?}", rows.key());
///         rows.next();
///     }
///     rows.status()?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MultiScan {
    iter: DbIterator,
    ranges: std::vec::IntoIter<(Vec<u8>, Option<Vec<u8>>)>,
}

impl MultiScan {
    pub(crate) fn new(mut iter: DbIterator, user: &UserComparator, args: MultiScanArgs) -> Result<MultiScan> {
        args.check(user)?;
        iter.status()?;
        if iter.reads_disk() {
            let budget = match args.max_prefetch_size {
                0 => u64::MAX,
                most => most,
            };
            iter.prepare(&args.ranges, args.io_coalesce_threshold, budget);
        }
        Ok(MultiScan {
            iter,
            ranges: args.ranges.into_iter(),
        })
    }

    /// Returns an iterator at the first key of the next range, which ends at the end of the range; `None`
    /// after the last range. For an empty range the iterator is not valid. [`status`](DbIterator::status)
    /// distinguishes the end from an error.
    pub fn next_range(&mut self) -> Option<&mut DbIterator> {
        let (start, limit) = self.ranges.next()?;
        self.iter.set_bounds(Some(&start), limit.as_deref());
        self.iter.seek(&start);
        Some(&mut self.iter)
    }
}
