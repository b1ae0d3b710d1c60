//! Changes that writers and background threads must notice: stalls, memory, limits.

use std::sync::atomic::Ordering;

use base::sync::{MutexGuard, lock_soon};
use compact::stall::StallCondition;

use crate::events::Event;
use crate::options::Options;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{DbState, FamilyState};

impl DbInner {
    /// Reports the size of the memtables to the write buffer manager, if there is one. True if writers should
    /// take action.
    pub(crate) fn record_share(&self) -> bool {
        self.write.share.as_ref().is_some_and(|share| {
            let _noting = lock_soon(&share.noting);
            let index = self.index.load();
            let (mut mutable, mut immutable) = (0, 0);
            for family in index.by_id.values() {
                let super_version = family.super_version.load();
                if !super_version.mem.is_empty() {
                    mutable += super_version.mem.memory_allocated() as u64;
                }
                let waiting = super_version.immutable.iter();
                immutable += waiting.map(|mem| mem.memory_allocated() as u64).sum::<u64>();
            }
            share.set(mutable, immutable)
        })
    }

    /// Called after the files of a family changed: updates its stall and whether a compaction is due. Returns
    /// the event for listeners, to be sent with [`DbState::stall_events`].
    pub(crate) fn record_stall(&self, family: &mut FamilyState) -> Option<Event> {
        self.record_share();
        let before = family.stall_of_all();
        family.update_stall();
        family.memtables_stall &= !family.has_room_for_immutable();
        if family.stall != StallCondition::Normal {
            self.write.attention.store(true, Ordering::Relaxed);
        }
        family.stall_event(before, self.current.load().delayed_write_rate)
    }

    /// Makes all background threads and waiting writers check again whether there is work or a stall.
    pub(crate) fn wake_jobs_and_writers(&self, state: &mut MutexGuard<'_, DbState>) {
        let limit = wal_limit(&self.current.load(), state);
        self.wal_tail.max_bytes.store(limit, Ordering::Relaxed);
        self.write.attention.store(true, Ordering::Relaxed);
        self.work.notify_all();
        self.changed.notify_all();
    }
}

/// The limit for the bytes of WALs beyond which memtables are flushed: from the options, or derived from the
/// families of `state`.
pub(crate) fn wal_limit(options: &Options, state: &DbState) -> u64 {
    let of = |family: &FamilyState| {
        let options = family.family.current();
        options
            .write_buffer_size
            .saturating_mul(options.max_write_buffer_number as u64)
    };
    match options.max_total_wal_size {
        0 => {
            let buffers = state.families.values().map(of).fold(0, u64::saturating_add);
            buffers.saturating_mul(4)
        }
        limit => limit,
    }
}
