//! The obstacles to the next write: the decision is here, [`make_room`](DbInner::make_room) acts and waits.

use std::sync::atomic::Ordering;

use base::sync::MutexGuard;

use crate::events::FlushReason;
use crate::options::write_buffer_manager::WriteBufferManager;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{DbState, StallReason};
use crate::state::writer::Writer;

/// The reason why a write cannot begin at once.
pub(super) enum Obstacle<'a> {
    /// The WAL is locked.
    WalLocked,
    /// Writes are stopped until flushes or compactions of a family are done.
    Stopped(StallReason),
    /// The memtables of the families `full` are to be switched, but the family `blocked` may have no more
    /// immutable memtables.
    MemtableLimit { full: Vec<u32>, blocked: u32 },
    /// The memtables of these families are to be switched.
    FullMemtables(Vec<u32>),
    /// The memtables of these families are to be flushed though they are not full.
    EarlyFlush(Vec<u32>, FlushReason),
    /// Another database with the same write buffer manager has begun a flush: the total memory must be
    /// checked again.
    FlushElsewhere,
    /// The memtables of all databases with the write buffer manager exceed its memory.
    MemoryLimit(&'a WriteBufferManager),
    /// Writes are delayed.
    Delayed(StallReason),
}

impl DbInner {
    /// Returns the first obstacle to the next write, if there is one. The database mutex is released while
    /// other databases with the same write buffer manager are asked to flush.
    pub(super) fn obstacle(
        &self,
        writer: &Writer,
        state: &mut MutexGuard<'_, DbState>,
    ) -> Option<Obstacle<'_>> {
        if state.wal_locks > 0 {
            return Some(Obstacle::WalLocked);
        }
        let reason = state.stall_reason(self.current.load().delayed_write_rate);
        if let Some(reason) = reason.filter(|reason| reason.is_stop()) {
            return Some(Obstacle::Stopped(reason));
        }
        let full: Vec<u32> = {
            let full = state.families.values().filter(|family| family.mem_is_full());
            full.map(|family| family.family.id).collect()
        };
        let full = state.switched_with(full);
        if !full.is_empty() {
            let blocked = full.iter().copied().find(|&id| !state.may_switch(&[id]));
            return Some(match blocked {
                Some(blocked) => Obstacle::MemtableLimit { full, blocked },
                None => Obstacle::FullMemtables(full),
            });
        }
        let mut early = self.families_holding_oldest_wal(writer, state);
        let mut flush_reason = FlushReason::WalFull;
        let manager = self.write.share.as_ref().map(|share| &*share.manager);
        if early.is_empty() && manager.is_some_and(|manager| manager.should_flush()) {
            if MutexGuard::unlocked(state, || self.flush_largest_elsewhere()) {
                return Some(Obstacle::FlushElsewhere);
            }
            flush_reason = FlushReason::WriteBufferManager;
            early.extend(state.largest_memtable());
        }
        early = state.switched_with(early);
        // If no memtable is flushed here, flushes that free the memory are already in progress.
        if !early.is_empty() && state.may_switch(&early) {
            return Some(Obstacle::EarlyFlush(early, flush_reason));
        }
        let over_limit = manager.filter(|manager| manager.should_stall());
        over_limit
            .map(Obstacle::MemoryLimit)
            .or(reason.map(Obstacle::Delayed))
    }

    /// The families to switch so that the oldest WAL becomes obsolete, if all WALs together are too large. If
    /// immutable memtables keep it, their flush begins, however few they are.
    fn families_holding_oldest_wal(&self, writer: &Writer, state: &mut MutexGuard<'_, DbState>) -> Vec<u32> {
        let current = writer.wal.as_ref().map_or(0, wal::Writer::len);
        if self.wal_tail.older_bytes.load(Ordering::Relaxed) + current
            <= self.wal_tail.max_bytes.load(Ordering::Relaxed)
        {
            return Vec::new();
        }
        let oldest = state.oldest_needed_wal();
        let current_wal = state.current_wal();
        let mut written_to = Vec::new();
        for family in state.families.values_mut() {
            if family.oldest_wal(current_wal) != oldest {
                continue;
            }
            if family.immutable.is_empty() {
                if !family.mem.table.is_empty() {
                    written_to.push(family.family.id);
                }
            } else if family.unflushed() > 0 && family.flush_requested.is_none() {
                family.flush_requested = Some(FlushReason::WalFull);
                self.work.notify_all();
            }
        }
        written_to
    }
}
