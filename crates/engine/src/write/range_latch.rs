//! Writers of keys that an ingestion has latched wait for it; all others go on.

use base::sync::MutexGuard;
use base::{Error, ErrorKind, Result, perf};

use crate::options::WriteOptions;
use crate::state::db_inner::DbInner;
use crate::state::db_state::DbState;
use crate::state::range_latch::RangeLatch;
use crate::state::write_queue::DrainedQueue;
use crate::write::commit::Commit;

/// The error of writes that must not wait.
const LATCHED: &str = "Write stall: an ingestion is in progress in the range of the keys";

impl DbInner {
    /// Waits until no ingestion is in progress in the range of the keys of `commit`, with the write queue's
    /// lock released. True if it has waited.
    #[cold]
    pub(super) fn wait_for_ingestion(
        &self,
        writer: &mut DrainedQueue<'_>,
        options: &WriteOptions,
        commit: &Commit<'_>,
    ) -> Result<bool> {
        let state = self.state.lock();
        let holds = match &state.range_latch {
            Some(latch) => is_latched(latch, commit)?,
            None => false,
        };
        if !holds {
            return Ok(false);
        }
        if options.no_slowdown {
            return Err(Error::new(ErrorKind::Incomplete, LATCHED));
        }
        let _timer = perf::time_wait(|cells| &cells.write_delay_time);
        writer.unlocked(|| self.wait_for_latch(state));
        Ok(true)
    }

    /// Returns with the write queue's lock once no ingestion is in progress. The queue's lock is released
    /// while it waits.
    pub(super) fn wait_until_unlatched(&self, writer: &mut DrainedQueue<'_>) -> Result<()> {
        loop {
            let state = self.state.lock();
            state.check_writable()?;
            if state.range_latch.is_none() {
                return Ok(());
            }
            writer.unlocked(|| self.wait_for_latch(state));
        }
    }

    /// Waits until the range latch is released, or nothing can be written anyway.
    pub(crate) fn wait_for_latch(&self, mut state: MutexGuard<'_, DbState>) {
        while state.range_latch.is_some() && state.check_writable().is_ok() {
            self.changed.wait(&mut state);
        }
    }
}

/// True if a row of `commit` may be in a latched range.
fn is_latched(latch: &RangeLatch, commit: &Commit<'_>) -> Result<bool> {
    match commit {
        Commit::Single(family, operation) => {
            let (kind, value) = operation.row();
            Ok(latch.holds(family.id, kind, operation.key, value))
        }
        Commit::Batch(batch) => {
            for operation in batch.operations() {
                if let Some((family, kind, key, value)) = operation?.row()
                    && latch.holds(family, kind, key, value)
                {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}
