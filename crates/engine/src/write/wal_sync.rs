//! Syncs of the WALs.

use base::statistics::{Histogram, Ticker};
use base::{Error, Result, perf};
use manifest::VersionEdit;

use crate::state::db_inner::DbInner;
use crate::state::sync_group::{SyncEnv, UnsyncedWal};

impl DbInner {
    /// Returns when the WALs are on disk up to their `records`th record.
    pub(crate) fn sync_wal(&self, records: u64) -> Result<()> {
        self.wal_tail.sync(records, self)?;
        match self.options.track_and_verify_wals_in_manifest {
            true => self.record_synced_wals(),
            false => Ok(()),
        }
    }

    /// Records the closed WALs that are on disk in the MANIFEST.
    fn record_synced_wals(&self) -> Result<()> {
        let mut state = self.state.lock();
        let synced = || self.wal_tail.directory();
        if state.wals_to_record(synced()).is_empty() {
            return Ok(());
        }
        self.claim_manifest(&mut state)?;
        // Meanwhile another thread may have recorded these WALs, or no recovery needs them any more.
        let wal_additions = state.wals_to_record(synced());
        if wal_additions.is_empty() {
            self.disclaim_manifest(&mut state);
            return Ok(());
        }
        let recorded = wal_additions
            .iter()
            .map(|wal| (wal.number, wal.synced_size.unwrap_or(0)));
        let recorded: Vec<(u64, u64)> = recorded.collect();
        let edit = VersionEdit {
            wal_additions,
            ..VersionEdit::default()
        };
        self.log_claimed(&mut state, edit)?;
        state.recorded.wals.extend(recorded);
        self.rotate_manifest(&mut state)
    }
}

impl SyncEnv for DbInner {
    fn sync(&self, wals: &[UnsyncedWal], directory: u64) -> Result<u64> {
        let started = self.stats.start();
        let timer = perf::time(|cells| &cells.write_wal_time);
        let synced = wals.iter().try_for_each(|wal| wal.sync.sync());
        drop(timer);
        self.stats.stop(started, Histogram::WalFileSyncMicros);
        synced?;
        let newest = wals.last().map_or(directory, |wal| wal.number);
        if directory < newest {
            self.options.fs.sync_dir(&self.wal_dir)?;
        }
        self.stats.add(Ticker::WalSynced, 1);
        Ok(newest.max(directory))
    }

    fn latch(&self, action: &'static str, error: &Error) {
        self.latch_in(&mut self.state.lock(), action, error);
    }

    fn report(&self, action: &'static str, error: &Error) {
        self.notify_failure(action, error.clone());
    }
}
