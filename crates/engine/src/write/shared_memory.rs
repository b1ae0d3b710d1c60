//! The limit of a write buffer manager, which several databases share: a database may have to flush a
//! memtable because another one needs the memory.

use crate::events::FlushReason;
use crate::options::write_buffer_manager::Member;
use crate::state::db_inner::DbInner;

impl Member for DbInner {
    fn flush_immutable(&self) {
        let mut state = self.state.lock();
        let waiting = state
            .families
            .values_mut()
            .filter(|family| family.unflushed() > 0 && family.flush_requested.is_none());
        waiting.for_each(|family| family.flush_requested = Some(FlushReason::WriteBufferManager));
        self.work.notify_all();
        drop(state);
        self.record_share();
    }

    fn flush_for_manager(&self) -> bool {
        let Some(mut writer) = self.write.queue.try_lock() else {
            return false;
        };
        let families = {
            let state = self.state.lock();
            let largest = state
                .largest_memtable()
                .filter(|_| state.check_writable().is_ok());
            let mut families = state.switched_with(largest.into_iter().collect());
            if !state.may_switch(&families) {
                families.clear();
            }
            families
        };
        // An error of this flush stops writes to the flushed database. The database that asked for the memory
        // continues.
        !families.is_empty()
            && self
                .flush_early(&mut writer, &families, FlushReason::WriteBufferManager)
                .is_ok()
    }
}
