//! The room that compactions need under an SST file manager with a limit.

use std::time::Duration;

use base::Result;
use base::statistics::Ticker;
use base::sync::SIMULATED;
use compact::Plan;

use crate::log::log_line;
use crate::options::sst_file_manager::Reserved;
use crate::state::db_inner::DbInner;
use crate::state::db_state::DbState;
use crate::state::error_state::too_large;

/// The time after which a compaction without room is tried again, as in RocksDB.
const RETRY: Duration = Duration::from_secs(1);

/// The interval at which the clock of the options is checked.
const LOOK: Duration = Duration::from_millis(50);

impl DbInner {
    /// Reserves room for the outputs of a compaction until the result is dropped; `None` if it needs none.
    ///
    /// # Errors
    /// `CompactionTooLarge` if the files' manager allows too little space.
    pub(crate) fn reserve_room(&self, plan: &Plan) -> Result<Option<Reserved>> {
        let manager = self.sst_file_manager();
        let Some(manager) = manager.filter(|_| !plan.deletion && !plan.trivial_move) else {
            return Ok(None);
        };
        if let Some(reserved) = manager.reserve(plan.input_bytes()) {
            return Ok(Some(reserved));
        }
        log_line!(self.log, Info, "Cancelled compaction because not enough room");
        self.stats.count(Ticker::CompactionCancelled, 1);
        Err(too_large())
    }

    /// Has a compaction of family `id` that had no room begin again after some time: other databases, or the
    /// deletion of trash, may make some.
    pub(crate) fn await_room(&self, state: &mut DbState, id: u32) {
        if let Some(own) = state.families.get_mut(&id) {
            own.awaits_room = true;
        }
        self.changed.notify_all();
        self.obsolete.wake();
    }

    /// Lets compactions that had no room begin again if it is time. Returns the time until then; `None`: no
    /// compaction waits.
    pub(crate) fn retry_for_room_when_due(&self, due: &mut Option<Duration>) -> Option<Duration> {
        let mut state = self.state.lock();
        if !state.awaits_room() {
            *due = None;
            return None;
        }
        let now = self.options.clock.now();
        let at = *due.get_or_insert(now + RETRY);
        if now >= at {
            *due = None;
            { state.families.values_mut() }.for_each(|own| own.awaits_room = false);
            self.work.notify_all();
            return None;
        }
        let wait = at - now;
        Some(if SIMULATED { wait } else { wait.min(LOOK) })
    }
}
