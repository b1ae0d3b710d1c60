//! Creation of iterators: the view of the database that each reads.

use base::statistics::Ticker;
use std::sync::Arc;

use base::{Error, SeqNo};

use crate::read::db_iterator::DbIterator;
use crate::read::multi_scan::{MultiScan, MultiScanArgs};
use crate::read::sources::check_history;
use crate::read::versions_iterator::VersionsIterator;
use crate::state::batch_view::BatchView;
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::db_inner::DbInner;
use crate::state::error_state::closing;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;
use crate::state::read_options::TAILING_WITH_SNAPSHOT;
use crate::state::super_version::SuperVersion;

impl Db {
    /// Returns an iterator over the default family, without a position. An error during its creation is in
    /// its [`status`](DbIterator::status).
    pub fn iter(&self) -> DbIterator {
        self.iter_opt(&ReadOptions::default())
    }

    /// Returns an iterator over the default family that reads as `options` say; see [`iter`](Db::iter).
    pub fn iter_opt(&self, options: &ReadOptions) -> DbIterator {
        let mut iter = self.inner().iterator(&self.inner().default_family, options);
        iter.keep_open(self);
        iter
    }

    /// Returns an iterator over `family`; see [`iter`](Db::iter).
    pub fn iter_cf(&self, family: &ColumnFamily) -> DbIterator {
        self.iter_cf_opt(family, &ReadOptions::default())
    }

    /// Returns an iterator over `family` that reads as `options` say; see [`iter`](Db::iter).
    pub fn iter_cf_opt(&self, family: &ColumnFamily, options: &ReadOptions) -> DbIterator {
        let mut iter = self.inner().iterator(&family.0, options);
        iter.keep_open(self);
        iter
    }

    /// Returns an iterator over all versions of the keys of `family`, which has timestamps, between
    /// [`ReadOptions::iter_start_ts`] and [`ReadOptions::timestamp`]. The other options that it supports are
    /// the snapshot, the bounds, and those for reading blocks.
    ///
    /// # Errors
    /// `InvalidArgument` if one of the two timestamps is missing, the family has no timestamps, or the
    /// history after the first is incomplete. Read errors are in its [`status`](VersionsIterator::status).
    pub fn iter_versions(
        &self,
        family: &ColumnFamily,
        options: &ReadOptions,
    ) -> Result<VersionsIterator, Error> {
        let inner = self.inner();
        inner.check_owns(&family.0)?;
        let (Some(from), Some(to)) = (&options.iter_start_ts, &options.timestamp) else {
            return Err(Error::invalid_argument(
                "versions are read from iter_start_ts to timestamp: set both",
            ));
        };
        let (super_version, seqno) = family.0.view(options.snapshot.as_ref());
        if super_version.is_closed() {
            return Err(closing());
        }
        if family.0.cmp.user().timestamp_size() == 0 {
            return Err(Error::invalid_argument("the column family has no timestamps"));
        }
        for timestamp in [from, to] {
            let at = ReadOptions {
                timestamp: Some(timestamp.clone()),
                iter_start_ts: None,
                ..options.clone()
            };
            check_timestamp(&family.0, &super_version, &at)?;
        }
        let range = (&from[..], &to[..]);
        let handle = self.0.clone();
        let family = family.0.clone();
        Ok(VersionsIterator::new(
            super_version,
            family,
            seqno,
            options,
            range,
            handle,
        ))
    }

    /// Reads many ranges of `family`, in their order and as of one moment. The result is that of separate
    /// iterators, but blocks are read together: neighbours with one read, and with
    /// [`use_async_io`](MultiScanArgs::use_async_io) all of them concurrently. The bounds in `options` are
    /// ignored.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = esker::Db::open(&esker::Options { create_if_missing: true, ..Default::default() }, dir.path()).unwrap();
    /// for key in ["a1", "a2", "b1", "c1"] {
    ///     db.put(key.as_bytes(), b"value").unwrap();
    /// }
    /// let args = esker::MultiScanArgs {
    ///     ranges: vec![(b"a".to_vec(), Some(b"b".to_vec())), (b"c".to_vec(), None)],
    ///     ..Default::default()
    /// };
    /// let family = db.default_column_family();
    /// let mut scan = db.multi_scan(&family, args, &Default::default()).unwrap();
    /// let mut keys = Vec::new();
    /// while let Some(range) = scan.next_range() {
    ///     while range.valid() {
    ///         keys.push(range.key().to_vec());
    ///         range.next();
    ///     }
    ///     range.status().unwrap();
    /// }
    /// assert_eq!(keys, [b"a1", b"a2", b"c1"]);
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for ranges that overlap or are out of order. Read errors are in the status of the
    /// iterators.
    pub fn multi_scan(
        &self,
        family: &ColumnFamily,
        args: MultiScanArgs,
        options: &ReadOptions,
    ) -> Result<MultiScan, Error> {
        let options = ReadOptions {
            iterate_lower_bound: None,
            iterate_upper_bound: None,
            async_io: args.use_async_io,
            ..options.clone()
        };
        MultiScan::new(self.iter_cf_opt(family, &options), family.0.cmp.user(), args)
    }
}

impl DbInner {
    pub(crate) fn iterator(&self, family: &Arc<Family>, options: &ReadOptions) -> DbIterator {
        self.iterator_with(None, family, options)
    }

    /// Creates an iterator that also reads rows of a batch that are not written yet.
    pub(crate) fn iterator_with(
        &self,
        unwritten: Option<BatchView>,
        family: &Arc<Family>,
        options: &ReadOptions,
    ) -> DbIterator {
        let (super_version, seqno) = family.view(options.snapshot.as_ref());
        self.iterator_over(super_version, seqno, unwritten, family, options)
    }

    pub(crate) fn iterator_over(
        &self,
        super_version: Arc<SuperVersion>,
        seqno: SeqNo,
        unwritten: Option<BatchView>,
        family: &Arc<Family>,
        options: &ReadOptions,
    ) -> DbIterator {
        self.stats.count(Ticker::IteratorsCreated, 1);
        let open = match super_version.is_closed() {
            true => Err(closing()),
            false => Ok(()),
        };
        let usable = open
            .and_then(|()| self.check_owns(family))
            .and_then(|()| check_timestamp(family, &super_version, options))
            .and_then(|()| match options.tailing && options.snapshot.is_some() {
                true => Err(Error::invalid_argument(TAILING_WITH_SNAPSHOT)),
                false => Ok(()),
            });
        DbIterator::new(super_version, family.clone(), seqno, unwritten, options, usable)
    }
}

/// `InvalidArgument` if a family with timestamps is read without one, or at one with incomplete history, or
/// if a family without timestamps is read at one.
pub(crate) fn check_timestamp(
    family: &Family,
    super_version: &SuperVersion,
    options: &ReadOptions,
) -> Result<(), Error> {
    if options.iter_start_ts.is_some() {
        return Err(Error::invalid_argument(
            "iter_start_ts is for Db::iter_versions: an iterator shows one version of a key",
        ));
    }
    let user = family.cmp.user();
    let size = user.timestamp_size();
    match &options.timestamp {
        None if size > 0 => Err(Error::invalid_argument(
            "the column family has timestamps: set ReadOptions::timestamp",
        )),
        Some(timestamp) if timestamp.len() != size => Err(Error::invalid_argument(format!(
            "the timestamp has {} bytes, the timestamps of the column family have {size}",
            timestamp.len()
        ))),
        Some(timestamp) => check_history(family, super_version, timestamp),
        None => Ok(()),
    }
}
