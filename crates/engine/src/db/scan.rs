//! Iterators: which sources they merge.

use std::sync::Arc;

use base::{Error, SeqNo, sync};
use rangedel::{FragmentedTombstones, TombstoneCursor, TombstoneSource};
use sst::BlockReadOptions;

use super::column_family::{ColumnFamily, Family};
use super::{Db, DbInner};
use crate::options::ReadOptions;
use crate::read::db_iterator::DbIterator;
use crate::read::level_cursor::LevelCursor;
use crate::read::merging_cursor::{MergingCursor, Source};
use crate::read::super_version::SuperVersion;
use crate::stats::Ticker;

impl Db {
    /// An iterator over the default family, standing nowhere. An error met while making it is its
    /// [`status`](DbIterator::status).
    pub fn iter(&self, options: &ReadOptions) -> DbIterator {
        self.inner().iterator(&self.inner().default_family, options)
    }

    /// An iterator over `family`; see [`iter`](Db::iter).
    pub fn iter_cf(&self, options: &ReadOptions, family: &ColumnFamily) -> DbIterator {
        self.inner().iterator(&family.0, options)
    }
}

impl DbInner {
    pub(crate) fn iterator(&self, family: &Arc<Family>, options: &ReadOptions) -> DbIterator {
        loop {
            let super_version = family.super_version.load_full();
            sync::point("super version");
            let seqno = self.read_seqno(options);
            sync::point("read");
            // If a memtable was switched in between, rows up to `seqno` may lie where this super version does not look.
            if options.snapshot.is_some() || Arc::ptr_eq(&super_version, &family.super_version.load()) {
                return self.iterator_over(super_version, seqno, family, options);
            }
        }
    }

    pub(crate) fn iterator_over(
        &self,
        super_version: Arc<SuperVersion>,
        seqno: SeqNo,
        family: &Arc<Family>,
        options: &ReadOptions,
    ) -> DbIterator {
        self.stats.count(Ticker::IteratorsCreated, 1);
        let usable = self
            .check_owns(family)
            .and_then(|()| check_timestamp(family, options));
        let mut error = usable.err();
        let read = BlockReadOptions {
            verify_checksums: options.verify_checksums,
            fill_cache: options.fill_cache,
            readahead_size: options.readahead_size,
        };
        let tombstones = |source: TombstoneSource| {
            let cursor = TombstoneCursor::new(family.cmp.user().clone(), [source]);
            cursor.with_read_timestamp(options.timestamp.as_deref())
        };
        let nothing = || tombstones(FragmentedTombstones::empty().into());
        let version = &super_version.version;
        let mut lanes = Vec::with_capacity(
            2 + super_version.immutable.len() + version.files(0).len() + version.num_levels(),
        );
        for mem in std::iter::once(&super_version.mem).chain(&super_version.immutable) {
            // The memtable written to is looked into even when empty: it may not be when the iterator seeks.
            lanes.push((
                Source::Memtable(mem.cursor()),
                tombstones(mem.range_tombstones().source()),
            ));
        }
        for file in version.files(0) {
            match family.tables.table(file) {
                Ok(table) => {
                    let covered = if table.range_tombstones().is_empty() {
                        nothing()
                    } else {
                        tombstones(
                            family
                                .tables
                                .tombstones_within_bounds(file, &table)
                                .clone()
                                .into(),
                        )
                    };
                    lanes.push((Source::Table(Box::new(table.cursor(read))), covered));
                }
                Err(failed) => error = error.or(Some(failed)),
            }
        }
        for level in 1..version.num_non_empty_levels() {
            if !version.files(level).is_empty() {
                let cursor = LevelCursor::new(family.tables.clone(), version.clone(), level, read, true);
                lanes.push((Source::Level(Box::new(cursor)), nothing()));
            }
        }
        let cursor = MergingCursor::with_tombstones(family.cmp.clone(), lanes, seqno);
        let iterator = DbIterator::new(cursor, super_version.clone(), family.clone(), seqno, options);
        match error {
            Some(error) => iterator.failed(error),
            None => iterator,
        }
    }
}

/// A family with timestamps is read at one, another is not.
fn check_timestamp(family: &Family, options: &ReadOptions) -> Result<(), Error> {
    let size = family.cmp.user().timestamp_size();
    match &options.timestamp {
        None if size > 0 => Err(Error::invalid_argument(
            "the column family has timestamps: read it at one",
        )),
        Some(timestamp) if timestamp.len() != size => Err(Error::invalid_argument(format!(
            "a timestamp of {} bytes, not {size}",
            timestamp.len()
        ))),
        _ => Ok(()),
    }
}
