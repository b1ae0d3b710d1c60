//! The timestamp below which compactions drop old versions.

use base::{Error, Result};
use manifest::VersionEdit;

use crate::jobs::cut_timestamps::newest_timestamp;
use crate::state::column_family::ColumnFamily;
use crate::state::handle::Db;

impl Db {
    /// Allows compactions of `family` to drop versions older than `timestamp` that are hidden by newer
    /// versions also older than it, and makes reads at older timestamps fail: RocksDB's
    /// `IncreaseFullHistoryTsLow`. The timestamp is recorded in the MANIFEST. Setting the current timestamp
    /// again does nothing.
    ///
    /// # Errors
    /// `InvalidArgument` if the family has no timestamps or timestamps of another length, or if the current
    /// one is newer.
    pub fn increase_full_history_ts_low(&self, family: &ColumnFamily, timestamp: &[u8]) -> Result<()> {
        let inner = self.inner();
        self.check_timestamps(family)?;
        family.0.check_writable()?;
        if inner.read_only {
            return Err(Error::not_supported("the database is open for reading only"));
        }
        let user = family.comparator();
        if timestamp.len() != user.timestamp_size() {
            return Err(Error::invalid_argument(format!(
                "the timestamp has {} bytes, the timestamps of the column family have {}",
                timestamp.len(),
                user.timestamp_size()
            )));
        }
        let mut state = inner.state.lock();
        // While this thread has claimed the MANIFEST, no other thread changes the timestamp.
        inner.claim_manifest(&mut state)?;
        let order = match state.family_mut(family.id()) {
            Ok(own) if own.full_history_ts_low.is_empty() => std::cmp::Ordering::Greater,
            Ok(own) => user.compare_timestamp(timestamp, &own.full_history_ts_low),
            Err(error) => {
                inner.disclaim_manifest(&mut state);
                return Err(error);
            }
        };
        if order.is_le() {
            inner.disclaim_manifest(&mut state);
            return match order.is_eq() {
                true => Ok(()),
                false => Err(Error::invalid_argument(
                    "full_history_ts_low can only be increased: a newer one holds already",
                )),
            };
        }
        let edit = VersionEdit {
            column_family: family.id(),
            full_history_ts_low: Some(timestamp.into()),
            ..VersionEdit::default()
        };
        inner.apply_claimed(&mut state, vec![edit], None, |own| {
            own.full_history_ts_low = timestamp.into();
        })
    }

    /// The timestamp below which compactions of `family` drop versions; empty if there is none. RocksDB's
    /// `GetFullHistoryTsLow`.
    ///
    /// # Errors
    /// `InvalidArgument` if the family has no timestamps.
    pub fn full_history_ts_low(&self, family: &ColumnFamily) -> Result<Vec<u8>> {
        self.check_timestamps(family)?;
        let mut state = self.inner().state.lock();
        Ok(state.family_mut(family.id())?.full_history_ts_low.to_vec())
    }

    /// The newest timestamp that `family` has seen; `None` if there is none: RocksDB's
    /// `GetNewestUserDefinedTimestamp`. It is the newest timestamp of the newest memtable with rows. If no
    /// memtable has rows, it is the newest timestamp that the last flush has removed from the rows that it
    /// wrote. The call reads each row of that memtable.
    ///
    /// # Errors
    /// `InvalidArgument` if the family has no timestamps, `NotSupported` if its tables have timestamps.
    pub fn newest_user_defined_timestamp(&self, family: &ColumnFamily) -> Result<Option<u64>> {
        self.check_timestamps(family)?;
        if family.options().persist_user_defined_timestamps {
            return Err(Error::not_supported(
                "GetNewestUserDefinedTimestamp doesn't support the case when user defined timestamps are persisted.",
            ));
        }
        let super_version = family.0.super_version.load();
        for memtable in std::iter::once(&super_version.mem).chain(&super_version.immutable) {
            if let Some(newest) = newest_timestamp(memtable)? {
                return Ok(Some(newest));
            }
        }
        let low = self.full_history_ts_low(family)?;
        let low = <[u8; size_of::<u64>()]>::try_from(low).map(u64::from_le_bytes);
        let has_files = super_version.version.num_files() > 0;
        Ok(low.ok().filter(|_| has_files).map(|low| low.saturating_sub(1)))
    }

    fn check_timestamps(&self, family: &ColumnFamily) -> Result<()> {
        self.inner().check_open()?;
        self.inner().check_owns(&family.0)?;
        match family.comparator().timestamp_size() {
            0 => Err(Error::invalid_argument("the column family has no timestamps")),
            _ => Ok(()),
        }
    }
}
