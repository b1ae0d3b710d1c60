//! Many ranges of keys read one after the other, their blocks read together.

use base::{Error, Result, UserComparator};

use super::db_iterator::DbIterator;

/// What a [`MultiScan`] reads, and how: RocksDB's `MultiScanArgs`.
#[derive(Clone, Debug)]
pub struct MultiScanArgs {
    /// From which key on, and up to before which, if to any: each range behind the one before. Default: none.
    pub ranges: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Blocks with no more than so many bytes between them are read by one read. Default: 16 KiB.
    pub io_coalesce_threshold: u64,
    /// Bytes of blocks that are read beforehand at most; what is beyond is read when it is come to. They are in memory until they
    /// are walked through, so a limit belongs to ranges that may be long. 0 sets none. Default: 0.
    pub max_prefetch_size: u64,
    /// All reads are begun at once, by io_uring where the kernel has it, and waited for when they are come to. Without it each is done
    /// when it is come to. Default: false.
    pub use_async_io: bool,
}

impl Default for MultiScanArgs {
    fn default() -> MultiScanArgs {
        MultiScanArgs {
            ranges: Vec::new(),
            io_coalesce_threshold: sst::blocks::IO_COALESCE_THRESHOLD,
            max_prefetch_size: 0,
            use_async_io: false,
        }
    }
}

impl MultiScanArgs {
    /// `InvalidArgument` unless each range begins at or before its end, and at or behind the end of the one before.
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

/// Ranges of keys of a family, one after the other; see [`Db::multi_scan`](crate::Db::multi_scan).
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

    /// An iterator on the first key of the next range, which ends where the range does; `None` after the last range. An empty range is
    /// an iterator that is not valid. [`status`](DbIterator::status) tells an end from an error.
    pub fn next_range(&mut self) -> Option<&mut DbIterator> {
        let (start, limit) = self.ranges.next()?;
        self.iter.set_bounds(Some(&start), limit.as_deref());
        self.iter.seek(&start);
        Some(&mut self.iter)
    }
}
