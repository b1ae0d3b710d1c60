//! Snapshots that are found again by a timestamp, RocksDB's `CreateTimestampedSnapshot`.

use std::sync::Arc;

use base::{Error, Result};

use crate::timestamped_snapshot::{TimestampedSnapshot, entry};
use crate::transaction::{Control, Transaction, TransactionNotifier};
use crate::transaction_db::TransactionDB;

impl TransactionDB {
    /// Takes a snapshot and keeps it under `timestamp`, until it is
    /// [released](Self::release_timestamped_snapshots_older_than) or the database is dropped: RocksDB's
    /// `CreateTimestampedSnapshot`. The caller prevents writes meanwhile. If the newest of these snapshots
    /// has the same timestamp and nothing was written since, it is returned.
    ///
    /// # Errors
    /// `InvalidArgument` if the timestamp is `u64::MAX`, if a snapshot with a larger timestamp exists, or if
    /// one with the same timestamp is older than the last write.
    pub fn create_timestamped_snapshot(&self, timestamp: u64) -> Result<TimestampedSnapshot> {
        if timestamp == u64::MAX {
            return Err(Error::invalid_argument("invalid ts"));
        }
        self.shared
            .timestamped_snapshots
            .lock()
            .create(&self.shared.db, timestamp)
    }

    /// The snapshot of this timestamp, if it exists: RocksDB's `GetTimestampedSnapshot`. `u64::MAX`: the
    /// newest one.
    pub fn timestamped_snapshot(&self, timestamp: u64) -> Option<TimestampedSnapshot> {
        let snapshots = self.shared.timestamped_snapshots.lock();
        match timestamp {
            u64::MAX => snapshots.latest(),
            _ => snapshots.0.get_key_value(&timestamp).map(entry),
        }
    }

    /// The snapshot with the largest timestamp: RocksDB's `GetLatestTimestampedSnapshot`.
    pub fn latest_timestamped_snapshot(&self) -> Option<TimestampedSnapshot> {
        self.timestamped_snapshot(u64::MAX)
    }

    /// The snapshots whose timestamps are at least `from` and below `until`, in their order: RocksDB's
    /// `GetTimestampedSnapshots`.
    ///
    /// # Errors
    /// `InvalidArgument` unless `from` is below `until`.
    pub fn timestamped_snapshots(&self, from: u64, until: u64) -> Result<Vec<TimestampedSnapshot>> {
        if from >= until {
            return Err(Error::invalid_argument(
                "timestamp lower bound must be smaller than upper bound",
            ));
        }
        let snapshots = self.shared.timestamped_snapshots.lock();
        Ok(snapshots.0.range(from..until).map(entry).collect())
    }

    /// Releases the snapshots whose timestamps are below `timestamp`: RocksDB's
    /// `ReleaseTimestampedSnapshotsOlderThan`. Clones of them that a caller holds stay readable.
    pub fn release_timestamped_snapshots_older_than(&self, timestamp: u64) {
        let released = {
            let mut snapshots = self.shared.timestamped_snapshots.lock();
            let kept = snapshots.0.split_off(&timestamp);
            std::mem::replace(&mut snapshots.0, kept)
        };
        // The snapshots are dropped after the mutex is released, because the release of a snapshot takes
        // locks of the database.
        drop(released);
    }
}

impl Transaction {
    /// Commits, as [`commit`](Self::commit) does, and then takes a snapshot, in which the writes of the
    /// transaction are visible, and keeps it under `timestamp`, as
    /// [`create_timestamped_snapshot`](TransactionDB::create_timestamped_snapshot) does: RocksDB's
    /// `CommitAndTryCreateSnapshot`. `None`: the transaction is committed, and the timestamp is not larger
    /// than that of an earlier snapshot. `notifier` is called with the snapshot. The caller ensures that
    /// transactions which commit at the same time get timestamps in the order of their commits.
    ///
    /// # Errors
    /// `InvalidArgument` if the timestamp is `u64::MAX`; `NotSupported` for an optimistic transaction; those
    /// of [`commit`](Self::commit).
    pub fn commit_and_try_create_snapshot(
        &mut self,
        notifier: Option<Arc<dyn TransactionNotifier>>,
        timestamp: u64,
    ) -> Result<Option<TimestampedSnapshot>> {
        if timestamp == u64::MAX {
            return Err(Error::invalid_argument("Commit timestamp unset"));
        }
        let shared = match &self.control {
            Control::Locks(locking) => Arc::clone(&locking.shared),
            Control::Validation { .. } => {
                return Err(Error::not_supported(
                    "timestamped snapshots of optimistic transactions",
                ));
            }
        };
        self.commit()?;
        let created = shared.timestamped_snapshots.lock().create(&shared.db, timestamp);
        let Ok(created) = created else {
            return Ok(None);
        };
        if let Some(notifier) = notifier {
            notifier.snapshot_created(&created.snapshot);
        }
        Ok(Some(created))
    }
}
