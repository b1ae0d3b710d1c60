//! Snapshots and their timestamps.

use std::collections::BTreeMap;

use base::{Error, Result};
use esker::{Db, Snapshot};

/// A snapshot and the timestamp that its creator has given to it. Cheap to clone: clones are the same
/// snapshot, which is released when the last one is dropped.
///
/// ```
/// # use esker::{Options, ReadOptions};
/// # use esker_txn::{TransactionDB, TransactionDBOptions};
/// # let dir = tempfile::tempdir()?;
/// # let options = Options { create_if_missing: true, ..Default::default() };
/// let db = TransactionDB::open(&options, &TransactionDBOptions::default(), dir.path())?;
/// db.put("key", "old")?;
/// db.create_timestamped_snapshot(10)?;
/// db.put("key", "new")?;
///
/// let then = db.timestamped_snapshot(10).map(|found| found.snapshot);
/// let options = ReadOptions { snapshot: then, ..Default::default() };
/// let family = db.db().default_column_family();
/// assert_eq!(db.db().get_cf_opt(&family, "key", &options)?.as_deref(), Some(&b"old"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TimestampedSnapshot {
    /// The timestamp that the creator gave to the snapshot.
    pub timestamp: u64,
    /// The snapshot, for [`ReadOptions::snapshot`](esker::ReadOptions::snapshot).
    pub snapshot: Snapshot,
}

/// The snapshots that a database holds, by timestamp. Later snapshots have larger timestamps, and sequence
/// numbers that are not smaller.
#[derive(Default)]
pub(crate) struct TimestampedSnapshots(pub BTreeMap<u64, Snapshot>);

impl TimestampedSnapshots {
    /// The newest snapshot.
    pub fn latest(&self) -> Option<TimestampedSnapshot> {
        self.0.last_key_value().map(entry)
    }

    /// Takes a snapshot of `db`. Returns the newest existing snapshot instead if it has the same timestamp
    /// and nothing was written since.
    pub fn create(&mut self, db: &Db, timestamp: u64) -> Result<TimestampedSnapshot> {
        let snapshot = db.snapshot();
        let seqno = snapshot.sequence_number();
        if let Some(latest) = self.latest() {
            let latest_seqno = latest.snapshot.sequence_number();
            if latest.timestamp > timestamp {
                return Err(Error::invalid_argument(format!(
                    "snapshot exists with larger timestamp {} > {timestamp}",
                    latest.timestamp
                )));
            }
            if latest.timestamp == timestamp && latest_seqno < seqno {
                return Err(Error::invalid_argument(format!(
                    "Allocated seq is {seqno}, while snapshot exists with smaller seq {latest_seqno} but same timestamp {timestamp}"
                )));
            }
            if latest.timestamp == timestamp {
                return Ok(latest);
            }
        }
        self.0.insert(timestamp, snapshot.clone());
        Ok(TimestampedSnapshot { timestamp, snapshot })
    }
}

/// A snapshot from an entry of the map by timestamp.
pub(crate) fn entry((timestamp, snapshot): (&u64, &Snapshot)) -> TimestampedSnapshot {
    TimestampedSnapshot {
        timestamp: *timestamp,
        snapshot: snapshot.clone(),
    }
}
