//! What users ask of background work: flush now, compact a range, wait until nothing is left to do.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::sync::MutexGuard;
use base::{Error, ErrorKind, Result};
use compact::stall::StallCondition;
use memtable::Memtable;

use super::column_family::{ColumnFamily, Family};
use super::state::{DbState, FamilyState, FlushGroup};
use super::{Db, DbInner};
use crate::events::FlushReason;
use crate::options::{CompactFilesOptions, CompactRangeOptions, FlushOptions};
use crate::write::queue::Settled;

impl Db {
    /// Writes the default family's memtable to a table; see [`flush_cf`](Db::flush_cf).
    pub fn flush(&self, options: &FlushOptions) -> Result<()> {
        self.inner().check_open()?;
        self.inner()
            .flush(options, &[self.inner().default_family.clone()])
    }

    /// Writes the memtables of `families` to tables, so that no WAL is needed for them. With [`atomic_flush`](crate::Options::atomic_flush) or
    /// [`force_atomic_flush`](FlushOptions::force_atomic_flush) their tables come into the database in one step: a crash leaves those of all
    /// these families or of none. Families that are not named stay as they are.
    pub fn flush_cf(&self, options: &FlushOptions, families: &[ColumnFamily]) -> Result<()> {
        self.inner().check_open()?;
        let families: Vec<_> = families.iter().map(|family| family.0.clone()).collect();
        self.inner().flush(options, &families)
    }

    /// Compacts the keys of `family` from `begin` to `end`, both inclusive, `None` for the first and the last: flushes,
    /// then merges level by level down to the last that holds such keys. Returns when that is done.
    ///
    /// # Errors
    /// `InvalidArgument` for options that cannot be, each by its name. `Incomplete` if it is called off:
    /// [`canceled`](CompactRangeOptions::canceled), [`disable_manual_compaction`](Db::disable_manual_compaction).
    pub fn compact_range(
        &self,
        family: &ColumnFamily,
        options: &CompactRangeOptions,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Result<()> {
        self.inner().check_open()?;
        self.inner().compact_range(&family.0, options, begin, end)
    }

    /// Compacts the files of these [numbers](super::property::LiveFile::number) to `output_level`, with what else must go along so
    /// that newer data stays above older: files of L0 that are older and overlap them, and the files in their key range in every
    /// level down to the output. On the caller's thread; gives the numbers of the files that take their place.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such file or level, or the output lies above a file. `Aborted` if a file that is needed
    /// is in another compaction.
    pub fn compact_files(
        &self,
        family: &ColumnFamily,
        options: &CompactFilesOptions,
        numbers: &[u64],
        output_level: usize,
    ) -> Result<Vec<u64>> {
        let inner = self.inner();
        inner.check_open()?;
        inner.check_owns(&family.0)?;
        family.0.check_writable()?;
        check_path_id(&family.0, options.output_path_id)?;
        inner.compact_named_files(&family.0, options, numbers, output_level)
    }

    /// Returns when no flush and no compaction is at work or due: by what was written before, and by snapshots that were released. A failure that
    /// stops writes, or compactions as long as they have no room, is the error.
    pub fn wait_for_compact(&self) -> Result<()> {
        self.inner().check_open()?;
        self.inner().wait_for_compact()
    }

    /// Returns when every obsolete file is closed, and deleted unless somebody [holds](Db::hold_file_deletions) it: what RocksDB's
    /// `WaitForCompactOptions::wait_for_purge` adds to a wait for compactions.
    pub fn wait_for_purge(&self) -> Result<()> {
        let inner = self.inner();
        inner.check_open()?;
        inner.obsolete.wait_for_purge();
        Ok(())
    }
}

/// `InvalidArgument` for a directory that the family has not.
fn check_path_id(family: &Family, path_id: Option<u32>) -> Result<()> {
    match path_id {
        Some(id) if id as usize >= family.paths.len() => {
            Err(Error::invalid_argument("Invalid target path ID"))
        }
        _ => Ok(()),
    }
}

impl DbInner {
    pub(crate) fn flush(&self, options: &FlushOptions, families: &[Arc<Family>]) -> Result<()> {
        if self.read_only {
            return Err(Error::not_supported("the database is open for reading only"));
        }
        for family in families {
            self.check_owns(family)?;
            family.check_writable()?;
        }
        let ids: Vec<u32> = families.iter().map(|family| family.id).collect();
        if !options.allow_write_stall {
            self.wait_for_mild_flush(&ids)?;
        }
        {
            let mut writer = self.writer.lock();
            self.wait_to_switch(&mut writer, &ids)?;
            match options.force_atomic_flush && !self.options.atomic_flush && ids.len() > 1 {
                true => self.switch_together(&mut writer, &ids)?,
                false => self.switch_memtables(&mut writer, &ids)?,
            }
        }
        let pending = self.request_flush(&ids, FlushReason::ManualFlush);
        if !options.wait {
            return Ok(());
        }
        self.wait_for_flush(&pending, DbState::check_writable)?;
        if options.listener_wait {
            self.wait_for_flush_reports(&ids)?;
        }
        // A flush that a drop called off has made nothing durable.
        families.iter().try_for_each(|family| family.check_writable())
    }

    /// Waits until a flush of each of `families` would neither delay nor stop writes, or its memtable is another than now, or nothing is to be
    /// expected that helps.
    fn wait_for_mild_flush(&self, families: &[u32]) -> Result<()> {
        let mut state = self.state.lock();
        let of = |state: &DbState, id: &u32| Some(state.families.get(id)?.mem.table.clone());
        let before: Vec<_> = families.iter().map(|id| of(&state, id)).collect();
        let helps = |state: &DbState, own: &FamilyState| {
            let flushes = own.wants_flush() || own.flushing;
            let begins = state.recovery.soft_error.is_none() && self.wants_compaction(state, own);
            let compacts = begins || !own.running.is_empty();
            state.background_paused == 0 && (flushes || compacts)
        };
        self.wait_until(&mut state, DbState::check_writable, |state| {
            families.iter().zip(&before).all(|(id, before)| {
                let own = state.families.get(id).zip(before.as_ref());
                own.is_none_or(|(own, before)| {
                    let is_same = Arc::ptr_eq(&own.mem.table, before);
                    !is_same || !own.flush_would_stall() || !helps(state, own)
                })
            })
        })
    }

    /// Makes what the memtables of `families` hold now immutable, with the write queue's lock, which it releases while it waits for room. As
    /// writers do it waits while writes are stopped; it is not delayed. True if it has waited.
    pub(crate) fn switch_to_flush(&self, writer: &mut Settled<'_>, families: &[u32]) -> Result<bool> {
        let waited = self.wait_to_switch(writer, families)?;
        self.switch_memtables(writer, families)?;
        Ok(waited)
    }

    /// Waits until the memtables of `families` may become immutable; see [`switch_to_flush`](Self::switch_to_flush).
    fn wait_to_switch(&self, writer: &mut Settled<'_>, families: &[u32]) -> Result<bool> {
        let mut waited = false;
        loop {
            let mut state = self.state.lock();
            state.check_writable()?;
            let is_stopped = matches!(state.stall(), StallCondition::Stopped { .. });
            if state.may_switch(families) && !is_stopped {
                return Ok(waited);
            }
            if is_stopped {
                state.check_compactions_go_on()?;
            }
            waited = true;
            writer.unlocked(move || {
                self.work.notify_all();
                self.changed.wait(&mut state);
            });
        }
    }

    /// Makes the memtables of `families` immutable so that one flush takes them all. From before they are, no flush takes one of them alone.
    fn switch_together(&self, writer: &mut Settled<'_>, families: &[u32]) -> Result<()> {
        self.state.lock().flush_groups.push(FlushGroup {
            families: families.to_vec(),
            switched: false,
        });
        let switched = self.switch_memtables(writer, families);
        let mut state = self.state.lock();
        // With the write queue's lock nobody else forms one.
        match switched {
            Ok(()) => state
                .flush_groups
                .iter_mut()
                .for_each(|group| group.switched = true),
            Err(_) => state.flush_groups.retain(|group| group.switched),
        }
        switched
    }

    /// Flushes `family` for something that is not a flush; with `atomic_flush` all others with it.
    pub(crate) fn flush_for(&self, options: &FlushOptions, family: &Arc<Family>) -> Result<()> {
        match self.options.atomic_flush {
            true => self.flush_all(options),
            false => self.flush(options, std::slice::from_ref(family)),
        }
    }

    /// Flushes every family, however many there are by then.
    pub(crate) fn flush_all(&self, options: &FlushOptions) -> Result<()> {
        loop {
            let mut families: Vec<_> = self.index.load().by_id.values().cloned().collect();
            families.retain(|family| !family.dropped.load(Ordering::Acquire));
            match self.flush(options, &families) {
                // The others have to be flushed all the same.
                Err(error) if error.kind() == ErrorKind::ColumnFamilyDropped => {}
                outcome => return outcome,
            }
        }
    }

    /// Flushes the immutable memtables of `families`.
    pub(crate) fn finish_flush(&self, families: &[u32]) -> Result<()> {
        let pending = self.request_flush(families, FlushReason::ManualFlush);
        self.wait_for_flush(&pending, DbState::check_writable)
    }

    /// Has the immutable memtables of `families` flushed, and gives the newest of each. Those switched later are somebody else's
    /// business.
    pub(super) fn request_flush(&self, families: &[u32], reason: FlushReason) -> Vec<(u32, Arc<Memtable>)> {
        let mut state = self.state.lock();
        let mut pending = Vec::new();
        for &id in families {
            if let Some(family) = state.families.get_mut(&id)
                && let Some(newest) = family.immutable.back()
            {
                pending.push((id, newest.memory.table.clone()));
                family.flush_requested = Some(reason);
            }
        }
        self.work.notify_all();
        pending
    }

    /// Waits until those memtables are in tables, as long as it `may`.
    pub(super) fn wait_for_flush(
        &self,
        pending: &[(u32, Arc<Memtable>)],
        may: impl Fn(&DbState) -> Result<()>,
    ) -> Result<()> {
        self.wait_until(&mut self.state.lock(), may, |state| {
            pending.iter().all(|(id, newest)| {
                state.families.get(id).is_none_or(|family| {
                    !family
                        .immutable
                        .iter()
                        .any(|immutable| Arc::ptr_eq(&immutable.memory.table, newest))
                })
            })
        })
    }

    /// Waits until listeners have heard of the flushes of `families`.
    fn wait_for_flush_reports(&self, families: &[u32]) -> Result<()> {
        let all_reported = |state: &DbState| {
            let own = families.iter().filter_map(|id| state.families.get(id));
            own.map(|own| own.unreported_flushes).sum::<u32>() == 0
        };
        self.wait_until(&mut self.state.lock(), |_| Ok(()), all_reported)
    }

    /// Waits until it is `done`, as long as it `may`.
    pub(crate) fn wait_until(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        may: impl Fn(&DbState) -> Result<()>,
        done: impl Fn(&DbState) -> bool,
    ) -> Result<()> {
        while !done(state) {
            may(state)?;
            self.work.notify_all();
            self.changed.wait(state);
        }
        Ok(())
    }

    fn compact_range(
        &self,
        family: &Arc<Family>,
        options: &CompactRangeOptions,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Result<()> {
        family.check_writable()?;
        options.check()?;
        check_path_id(family, options.target_path_id)?;
        let flush = FlushOptions {
            allow_write_stall: options.allow_write_stall,
            ..FlushOptions::default()
        };
        self.flush_for(&flush, family)?;
        self.compact_range_steps(family, options, begin, end)
    }

    pub(crate) fn wait_for_compact(&self) -> Result<()> {
        let mut state = self.state.lock();
        // What was released before this was called is due as well, though no job has looked since.
        self.note_released(&mut state);
        let may = |state: &DbState| {
            state.check_writable()?;
            state.check_no_soft_error()
        };
        self.wait_until(&mut state, may, |state| {
            let idle = state.running_flushes == 0 && state.running_compactions == 0;
            idle && state
                .families
                .values()
                .all(|family| !family.wants_flush() && !self.wants_compaction(state, family))
        })?;
        may(&state)
    }
}
