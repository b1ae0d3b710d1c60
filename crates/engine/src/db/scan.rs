//! Iterators: at what they read.

use std::sync::Arc;

use base::{Error, SeqNo};

use super::column_family::{ColumnFamily, Family};
use super::{Db, DbInner};
use crate::options::ReadOptions;
use crate::read::db_iterator::{DbIterator, TAILING_WITH_SNAPSHOT};
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
        let (super_version, seqno) = family.view(options.snapshot.as_ref());
        self.iterator_over(super_version, seqno, family, options)
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
            .and_then(|()| check_timestamp(family, options))
            .and_then(|()| match options.tailing && options.snapshot.is_some() {
                true => Err(Error::invalid_argument(TAILING_WITH_SNAPSHOT)),
                false => Ok(()),
            });
        DbIterator::new(super_version, family.clone(), seqno, options, usable)
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
