//! The checks of WALs against the records about them.
//!
//! `track_and_verify_wals_in_manifest`: the MANIFEST names closed WALs and their sizes.
//! `track_and_verify_wals`: each WAL describes the one before it, in RocksDB's record, and recovery compares
//! the description with what it has read.

use std::collections::BTreeMap;

use base::filename::{self, FileKind};
use base::{Error, ErrorKind, Result, SeqNo};
use wal::{PredecessorWal, RecoveryMode};

use crate::state::db_inner::DbInner;

/// The number of the MANIFEST of a database that was never opened before.
const FIRST_MANIFEST: u64 = 1;

/// A WAL while it is replayed.
pub(super) struct TrackedWal {
    pub number: u64,
    /// The sequence number of the last record in the WAL; 0: the WAL has no record.
    last_seqno: SeqNo,
    /// True once the WAL's description of its predecessor was compared.
    compared: bool,
}

impl TrackedWal {
    pub fn new(number: u64) -> TrackedWal {
        TrackedWal {
            number,
            last_seqno: 0,
            compared: false,
        }
    }

    /// A record was replayed.
    pub fn record(&mut self, seqno: SeqNo) {
        self.last_seqno = seqno;
    }
}

impl DbInner {
    /// `Corruption` if the database was opened before and has no WAL: such a database has a WAL at every
    /// moment.
    pub(super) fn check_any_wal(&self, manifest: u64) -> Result<()> {
        if !self.options.track_and_verify_wals || manifest == FIRST_MANIFEST {
            return Ok(());
        }
        let names = self.options.fs.list(&self.wal_dir)?;
        let is_wal = |name: &String| matches!(filename::parse(name), Some(FileKind::Wal(_)));
        match names.iter().any(is_wal) {
            true => Ok(()),
            false => {
                Err(Error::corruption("Opening an existing DB with no WAL files").in_file(&self.wal_dir))
            }
        }
    }

    /// `Corruption` if a WAL that the MANIFEST names as synced is missing or shorter.
    pub(super) fn check_recorded_wals(&self, recorded: &BTreeMap<u64, Option<u64>>) -> Result<()> {
        if !self.options.track_and_verify_wals_in_manifest {
            return Ok(());
        }
        for (&number, &size) in recorded {
            let Some(size) = size else { continue };
            let path = filename::wal(&self.wal_dir, number);
            let actual = match self.options.fs.size(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let message = format!("Missing WAL with log number: {number}.");
                    return Err(Error::corruption(message).in_file(&path));
                }
                actual => actual?,
            };
            if actual < size {
                let message = format!(
                    "Size mismatch: WAL (log number: {number}) in MANIFEST is {size} bytes , but actually is {actual} bytes on disk."
                );
                return Err(Error::corruption(message).in_file(&path));
            }
        }
        Ok(())
    }

    /// The description of a WAL that was read to its end.
    pub(super) fn observe(&self, wal: &TrackedWal) -> Result<Option<PredecessorWal>> {
        if !self.options.track_and_verify_wals {
            return Ok(None);
        }
        let size = self.options.fs.size(&filename::wal(&self.wal_dir, wal.number))?;
        Ok(Some(PredecessorWal {
            log_number: wal.number,
            size,
            last_seqno: wal.last_seqno,
        }))
    }

    /// Compares `observed`, the WAL that was read before `wal` and whose last record ends at `end`, with the
    /// description of it in `wal`, once the reader has found the description. Returns the difference where
    /// recovery may end before `wal`.
    pub(super) fn check_predecessor(
        &self,
        wal: &mut TrackedWal,
        reader: &wal::Reader,
        observed: Option<PredecessorWal>,
        end: u64,
    ) -> Result<Option<Error>> {
        if !self.options.track_and_verify_wals || wal.compared {
            return Ok(None);
        }
        wal.compared = true;
        let mode = self.options.wal_recovery_mode;
        let (Some(recorded), Some(observed)) = (reader.predecessor(), observed) else {
            // Nothing is compared for the first WAL that is read: a WAL missing before it is found without
            // this check.
            return Ok(None);
        };
        let path = filename::wal(&self.wal_dir, wal.number);
        let what = difference(recorded, &observed, end, &path.display().to_string());
        let error = what.map(|what| Error::corruption(what).in_file(&path));
        match (mode, error) {
            (RecoveryMode::SkipAnyCorruptedRecords, _) | (_, None) => Ok(None),
            (RecoveryMode::PointInTime, Some(error)) => Ok(Some(error)),
            (_, Some(error)) => Err(error),
        }
    }
}

/// The first difference between the description of a WAL and its contents, whose last record ends at `end`,
/// in RocksDB's words. A WAL may have zeros after its records, if its process crashed before it truncated the
/// WAL.
fn difference(recorded: &PredecessorWal, observed: &PredecessorWal, end: u64, path: &str) -> Option<String> {
    let number = recorded.log_number;
    if observed.log_number != number {
        return Some(format!(
            "Mismatched predecessor log number of WAL file {path} Recorded {number}. Observed {}",
            observed.log_number
        ));
    }
    if observed.last_seqno != recorded.last_seqno {
        return Some(format!(
            "Mismatched last sequence number recorded in the WAL of log number {number}. Recorded {}. Observed {}. (Last sequence number equal to 0 indicates no WAL records)",
            recorded.last_seqno, observed.last_seqno
        ));
    }
    let has_zeros = observed.size > recorded.size && end <= recorded.size;
    (observed.size != recorded.size && !has_zeros).then(|| {
        format!(
            "Mismatched size of the WAL of log number {number}. Recorded {} bytes. Observed {} bytes.",
            recorded.size, observed.size
        )
    })
}
