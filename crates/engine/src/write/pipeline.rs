//! From a batch to WAL and memtable.
//!
//! ```text
//! lock the write queue | make room if something wants attention | stamp sequence numbers | append to the WAL
//!     alone, or a small row:     insert into memtables | publish the last sequence number | unlock
//!     more, and others write:    take a ticket | unlock | insert | publish, when all who came before have inserted
//! sync if asked to
//! ```
//!
//! A writer with a ticket (`inserts.rs`) releases the queue to others while it inserts its rows into
//! memtables. All holders of the lock other than writers wait until no ticket is left ([`DrainedQueue`]), so
//! that every numbered row is inserted: memtables and WALs are not switched, families are not created or
//! dropped, and nothing is ingested during a write. A write with a range deletion waits for that too and
//! keeps the lock, because a memtable knows exactly which of its rows are newer than which range deletions
//! only if no rows are added at the same time.
//!
//! Invariants:
//! 1. A row is in the WAL before it is in a memtable, unless the write asked for no WAL.
//! 2. Readers see sequence numbers in order: `published` advances only when every row up to it is in its
//!    memtable. A write returns when its own rows are published.
//! 3. Without `sync` a write costs no system call: the end of the WAL is memory that the kernel already owns.
//! 4. Writers that wait for a sync share one: the first of them syncs everything appended so far.
//! 5. After a failed append, insertion or sync nothing more is acknowledged. The contents of the WAL are then
//!    unknown, or memtables have a part of a batch, so an acknowledged row could follow a missing one. A
//!    panic of user code (a comparator, a prefix extractor) is such a failure, and its sequence numbers are
//!    not used again, because the WAL may have them.

use base::perf;
use base::statistics::{Histogram, Ticker};
use std::cell::Cell;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::sync::{self, MutexGuard};
use base::user_code::{catch, catch_or_fail};
use base::{Error, ErrorKind, Kind, Protection, Result, SeqNo, filename};
use memtable::Memtable;

use super::guard::Guard;
use super::obstacle::Obstacle;
use super::stalled_writers::check_may_wait;
use wal::PredecessorWal;

use super::predecessor::Predecessor;
use crate::batch::operation::set_sequence;
use crate::batch::operation::{Operation, Operations, SingleKind, SingleOperation};
use crate::batch::protection;
use crate::batch::write_batch::{self, WriteBatch};
use crate::events::{Event, FlushReason};
use crate::log::log_line;
use crate::options::WriteOptions;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{
    APPEND_TO_WAL, DbState, FamilyState, Immutable, LiveWal, MEMORY_LIMIT, MEMTABLE_LIMIT, Memory, SWITCH_WAL,
};
use crate::state::write_queue::{DrainedQueue, WriteSize};
use crate::state::writer::Writer;
use crate::write::commit::Commit;

/// The name of a failed insertion in errors.
pub(crate) const INSERT: &str = "insert into the memtable";

/// The names, in errors, of the other steps that a write may include.
pub(crate) const MAKE_ROOM: &str = "make room for a write";
const SWITCH: &str = "switch the memtables";

/// The progress of a write while it holds the write queue's lock.
enum Stage {
    /// The rows of the write are visible.
    Published,
    /// The write is in the WAL, and its rows are to be inserted without the write queue's lock.
    Logged(WriteSize),
}

impl DbInner {
    /// Writes `batch`, and returns the sequence number of its first row.
    pub(crate) fn write_batch(&self, options: &WriteOptions, batch: &mut WriteBatch) -> Result<SeqNo> {
        if batch.is_empty() {
            self.check_open()?;
            return Ok(self.latest_sequence_number());
        }
        self.stats.count(Ticker::KeysWritten, u64::from(batch.count()));
        let started = self.stats.start();
        let written = self.commit(options, Commit::Batch(batch));
        self.stats.stop(started, Histogram::DbWrite);
        written
    }

    /// Writes `commit` and returns its first sequence number. See the module documentation. A panic of user
    /// code becomes an error.
    pub(crate) fn commit(&self, options: &WriteOptions, commit: Commit<'_>) -> Result<SeqNo> {
        catch_or_fail(|| self.write(options, commit, None))
    }

    /// Same as [`commit`](Self::commit), if `guard` [confirms](Guard::confirm) that its keys have not
    /// changed.
    pub(crate) fn commit_guarded(
        &self,
        options: &WriteOptions,
        commit: Commit<'_>,
        guard: &Guard<'_>,
    ) -> Result<SeqNo> {
        catch_or_fail(|| self.write(options, commit, Some(guard)))
    }

    #[inline(always)]
    fn write(
        &self,
        options: &WriteOptions,
        mut commit: Commit<'_>,
        guard: Option<&Guard<'_>>,
    ) -> Result<SeqNo> {
        if options.sync && options.disable_wal {
            return Err(Error::invalid_argument("Sync writes has to enable WAL."));
        }
        let mut single = None;
        if options.protection_bytes_per_key != 0 {
            single = protect(options, &mut commit)?;
        }
        let deletes_range = match &commit {
            Commit::Single(family, operation) => check_single(family, operation)?,
            Commit::Batch(batch) => self.check_batch(options, batch).map_err(|error| {
                // An operation that seems impossible may have been damaged in memory.
                batch.verify_checksum().err().unwrap_or(error)
            })?,
        };
        if options.low_pri || options.rate_limiter_priority.is_some() {
            self.throttle(options, &commit)?;
        }
        let (mut writer, has_waited) = self.write.queue.lock_to_write();
        let is_alone = deletes_range || !self.options.allow_concurrent_memtable_write;
        if is_alone || self.write.attention.load(Ordering::Relaxed) {
            let mut drained = self.write.queue.drain(writer);
            // While this thread waited, inserts of other writers may have failed or filled a memtable.
            if self.write.attention.load(Ordering::Relaxed) {
                self.guarded(MAKE_ROOM, || self.make_room_for(&mut drained, options, &commit))?;
            }
            writer = drained.into_writer();
        }
        if let Some(guard) = guard {
            let drained = self.write.queue.drain(writer);
            guard.confirm(&drained)?;
            writer = drained.into_writer();
        }
        let first = writer.last_seqno + 1;
        let count = match &commit {
            Commit::Single(..) => 1,
            Commit::Batch(batch) => u64::from(batch.count()),
        };
        let rows = first..=first + count - 1;
        let may_leave = (!is_alone).then_some(has_waited);
        // The step in progress, set once the WAL may hold a part of the write.
        let action = Cell::new(None);
        let logged = catch(|| {
            let writer = &mut *writer;
            self.log_and_insert(writer, options, &mut commit, (single, &rows), may_leave, &action)
        });
        let stage = match logged {
            Ok(Ok(stage)) => stage,
            Ok(Err(error)) => return Err(self.give_up(&mut writer, action.get(), rows, error)),
            Err(panicked) => return Err(self.give_up(&mut writer, action.get(), rows, panicked)),
        };
        let records = self.wal_tail.records.load(Ordering::Relaxed);
        match stage {
            Stage::Published => drop(writer),
            Stage::Logged(size) => self.insert_beside_others(writer, &commit, single, rows, size)?,
        }
        if options.sync {
            self.sync_wal(records)?;
        }
        Ok(first)
    }

    /// Appends a write to the WAL, with its rows numbered from the given sequence number. Inserts it too,
    /// unless `may_leave` is `Some` and the write should insert without the queue's lock. `may_leave` holds
    /// whether the write has waited for the queue.
    #[inline(always)]
    fn log_and_insert(
        &self,
        writer: &mut Writer,
        options: &WriteOptions,
        commit: &mut Commit<'_>,
        (single, rows): (Option<Protection>, &RangeInclusive<SeqNo>),
        may_leave: Option<bool>,
        action: &Cell<Option<&'static str>>,
    ) -> Result<Stage> {
        let (first, last) = (*rows.start(), *rows.end());
        let Writer {
            wal,
            logged_next,
            logged_record,
            scratch,
            unlogged,
            last_seqno,
            delayed_bytes,
            ..
        } = writer;
        let rep = match commit {
            Commit::Single(_, operation) => {
                write_batch::encode_single(scratch, operation);
                set_sequence(scratch, first);
                if let Some(single) = single {
                    protection::verify_single(single, scratch, first)?;
                }
                &scratch[..]
            }
            Commit::Batch(batch) => {
                set_sequence(batch.data_mut(), first);
                if let Some(protection) = batch.protection() {
                    protection.verify(batch.data(), Some(first))?;
                }
                batch.data()
            }
        };
        let bytes = rep.len() as u64;
        *delayed_bytes += bytes;
        self.stats.add_locked(Ticker::BytesWritten, bytes);
        self.stats.add_locked(Ticker::WriteDone, 1);
        self.stats.record(Histogram::BytesPerWrite, bytes);
        if options.disable_wal {
            *unlogged = true;
        } else {
            let wal = wal
                .as_mut()
                .ok_or_else(|| Error::not_supported("the database is open for reading only"))?;
            action.set(Some(APPEND_TO_WAL));
            self.append_to_wal(wal, options, rep)?;
        }
        sync::point("logged");
        if !options.disable_wal {
            *logged_next = last + 1;
            *logged_record = first;
        }
        if self.traces.query.is_on() {
            self.traces.query.write(rep);
        }
        let size = WriteSize::of(last + 1 - first, bytes);
        action.set(Some(INSERT));
        if let Some(has_waited) = may_leave
            && self.write.queue.should_leave(size, has_waited)
        {
            *last_seqno = last;
            return Ok(Stage::Logged(size));
        }
        self.insert(commit, single, first)?;
        *last_seqno = last;
        self.published.store(last, Ordering::Release);
        sync::point("published");
        Ok(Stage::Published)
    }

    /// Appends a record whose last row, if it has rows, has sequence number `last`.
    pub(crate) fn append_marked(
        &self,
        writer: &mut Writer,
        options: &WriteOptions,
        record: &[u8],
        last: SeqNo,
    ) -> Result<()> {
        let wal = writer
            .wal
            .as_mut()
            .ok_or_else(|| Error::not_supported("the database is open for reading only"))?;
        self.append_to_wal(wal, options, record)?;
        writer.delayed_bytes += record.len() as u64;
        writer.logged_next = last + 1;
        writer.logged_record = Operations::new(record)?.sequence();
        Ok(())
    }

    #[inline(always)]
    fn append_to_wal(&self, wal: &mut wal::Writer, options: &WriteOptions, rep: &[u8]) -> Result<()> {
        let before = wal.len();
        let timer = perf::time(|cells| &cells.write_wal_time);
        match options.sync {
            true => wal.add_record_and_flush(rep)?,
            false => wal.add_record(rep)?,
        }
        drop(timer);
        self.stats.add_locked(Ticker::WalBytes, wal.len() - before);
        self.stats.count(Ticker::WriteWithWal, 1);
        if !wal.is_unflushed() {
            self.wal_tail.records.fetch_add(1, Ordering::Release);
        }
        if self.wal_tail.older_bytes.load(Ordering::Relaxed) + wal.len()
            > self.wal_tail.max_bytes.load(Ordering::Relaxed)
        {
            self.write.attention.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Handles the failure of a write that holds the write queue's lock. `action` names the step if the WAL
    /// may have a part of the write: then the database stops writes before any other thread gets the queue.
    /// The sequence numbers of rows that may be in the WAL are not used again.
    #[cold]
    #[inline(never)]
    pub(crate) fn give_up(
        &self,
        writer: &mut Writer,
        action: Option<&'static str>,
        rows: RangeInclusive<SeqNo>,
        error: Error,
    ) -> Error {
        let Some(action) = action else {
            return error;
        };
        if action == INSERT || error.kind() == ErrorKind::Panicked {
            writer.last_seqno = *rows.end();
        }
        // Earlier records that were buffered may be in the file, so a sync includes them.
        self.wal_tail.records.fetch_add(1, Ordering::Release);
        self.latch(action, error.clone());
        error
    }

    /// Checks a batch before it is written. True if it deletes a range.
    pub(crate) fn check_batch(&self, options: &WriteOptions, batch: &WriteBatch) -> Result<bool> {
        batch.status()?;
        let mut deletes_range = false;
        for operation in batch.operations() {
            let operation = operation?;
            let Some(id) = operation.family() else {
                match operation {
                    Operation::LogData(_) | Operation::Noop => continue,
                    _ => return Err(Error::not_supported("transaction marks in a write batch")),
                }
            };
            let Some(family) = self.family_by_id(id) else {
                if options.ignore_missing_column_families {
                    continue;
                }
                return Err(Error::invalid_argument(
                    "Invalid column family specified in write batch",
                ));
            };
            family.check_writable()?;
            let Some((_, kind, key, value)) = operation.row() else {
                continue;
            };
            deletes_range |= kind == Kind::RangeDeletion;
            check_row(&family, kind, key, value)?;
        }
        Ok(deletes_range)
    }

    /// Releases the write queue, inserts, and returns when the rows, numbered from the given sequence number,
    /// are visible. Later tickets wait for this one, so the ticket is finished even if user code panics.
    #[inline(never)]
    pub(crate) fn insert_beside_others(
        &self,
        writer: MutexGuard<'_, Writer>,
        commit: &Commit<'_>,
        single: Option<Protection>,
        rows: RangeInclusive<SeqNo>,
        size: WriteSize,
    ) -> Result<()> {
        let (first, last) = rows.into_inner();
        let inserts = &self.write.queue.inserts;
        let ticket = inserts.begin(last, size == WriteSize::Large);
        drop(writer);
        let inserted = catch_or_fail(|| self.insert(commit, single, first));
        // The failure is recorded before the ticket is finished: a later writer whose ticket is not published
        // must find the reason.
        if let Err(error) = &inserted {
            self.latch_in(&mut self.state.lock(), INSERT, error);
        }
        inserts.finish(ticket, inserted.is_ok(), |last| {
            self.published.store(last, Ordering::Release);
            sync::point("published");
        });
        if let Err(error) = inserted {
            self.notify_failure(INSERT, error.clone());
            return Err(error);
        }
        inserts.wait(ticket);
        if self.published.load(Ordering::Acquire) >= last {
            return Ok(());
        }
        self.state.lock().check_no_error()?;
        Err(Error::new(
            ErrorKind::Aborted,
            "rows before this write were not inserted",
        ))
    }

    /// Inserts the rows of a write, numbered from `first`, into memtables. `single` is the checksum of a
    /// single operation.
    #[inline(always)]
    pub(crate) fn insert(&self, commit: &Commit<'_>, single: Option<Protection>, first: SeqNo) -> Result<()> {
        let _timer = perf::time(|cells| &cells.write_memtable_time);
        match (commit, single) {
            (Commit::Single(family, operation), None) => {
                self.insert_single(family, first, operation);
                Ok(())
            }
            (Commit::Single(family, operation), Some(single)) => {
                self.insert_protected(family, first, operation, single)
            }
            (Commit::Batch(batch), _) => self.insert_batch(batch),
        }
    }

    #[inline(always)]
    fn insert_single(&self, family: &Family, seqno: SeqNo, operation: &SingleOperation<'_>) {
        let super_version = family.super_version.load();
        let mem = &super_version.mem;
        let key = operation.key;
        match operation.what {
            SingleKind::Put(value) => mem.add(seqno, Kind::Value, key, value),
            SingleKind::Delete => mem.add(seqno, deletion_kind(family), key, &[]),
            SingleKind::SingleDelete => mem.add(seqno, Kind::SingleDeletion, key, &[]),
            SingleKind::Merge(operand) => mem.add(seqno, Kind::Merge, key, operand),
            SingleKind::DeleteRange(end) => mem.add(seqno, Kind::RangeDeletion, key, end),
        };
        self.record_memory(family, mem);
    }

    #[cold]
    fn insert_protected(
        &self,
        family: &Family,
        seqno: SeqNo,
        operation: &SingleOperation<'_>,
        protection: Protection,
    ) -> Result<()> {
        let super_version = family.super_version.load();
        let mem = &super_version.mem;
        let (kind, value) = operation.row();
        add_protected(family, mem, seqno, kind, operation.key, value, protection)?;
        self.record_memory(family, mem);
        Ok(())
    }

    fn insert_batch(&self, batch: &WriteBatch) -> Result<()> {
        let mut current: Option<(Arc<Family>, Arc<Memtable>)> = None;
        let mut rows = batch.protection().map(|protection| protection.rows().iter());
        let mut failed = None;
        apply(batch.operations(), |id, seqno, kind, key, value| {
            let protection = rows.as_mut().and_then(Iterator::next);
            if current.as_ref().is_none_or(|(family, _)| family.id != id) {
                // The check of the batch has found this family missing, and `ignore_missing_column_families`
                // permits that.
                current = self.family_by_id(id).map(|family| {
                    let mem = family.super_version.load().mem.clone();
                    (family, mem)
                });
            }
            if let Some((family, mem)) = &current
                && family.id == id
            {
                if let Some(&protection) = protection {
                    if failed.is_none() {
                        failed = add_protected(family, mem, seqno, kind, key, value, protection).err();
                    }
                } else {
                    let kind = if kind == Kind::Deletion {
                        deletion_kind(family)
                    } else {
                        kind
                    };
                    mem.add(seqno, kind, key, value);
                }
                sync::point("inserted");
                self.record_memory(family, mem);
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    #[inline]
    fn record_memory(&self, family: &Family, mem: &Memtable) {
        if mem.memory_usage() as u64 >= family.write_buffer_size.load(Ordering::Relaxed)
            || self.write.share.is_some() && self.record_share()
        {
            self.write.attention.store(true, Ordering::Relaxed);
        }
    }

    /// Overcomes each [`Obstacle`] to the next write, under the write queue's lock. Waits if necessary, as
    /// [`hold_back`](Self::hold_back) does: with the write queue's lock released.
    #[cold]
    pub(crate) fn make_room(&self, writer: &mut DrainedQueue<'_>, options: &WriteOptions) -> Result<()> {
        let mut place = None;
        let mut was_delayed = false;
        loop {
            if writer.held_back && place.is_none() && !options.no_slowdown {
                place = Some(self.stand_in_line(writer));
            }
            let mut state = self.state.lock();
            state.check_writable()?;
            match self.obstacle(writer, &mut state) {
                None => {
                    writer.delayed_bytes = 0;
                    self.write
                        .attention
                        .store(state.range_latch.is_some(), Ordering::Relaxed);
                    return Ok(());
                }
                Some(Obstacle::WalLocked) => {
                    check_may_wait(options, "the WAL is locked")?;
                    self.hold_back(writer, &mut place, state, |state| self.wait_for_wal_lock(state));
                }
                Some(Obstacle::Stopped(reason)) => {
                    check_may_wait(options, reason.condition)?;
                    state.check_compactions_go_on()?;
                    self.hold_back(writer, &mut place, state, |state| {
                        self.wait_for_room(state, reason.family, reason.condition);
                    });
                }
                Some(Obstacle::MemtableLimit { full, blocked }) => {
                    check_may_wait(options, MEMTABLE_LIMIT)?;
                    if !self.notify_memtable_stall(&mut state, &full) {
                        self.hold_back(writer, &mut place, state, |state| {
                            self.wait_for_room(state, blocked, MEMTABLE_LIMIT);
                        });
                    }
                }
                Some(Obstacle::FullMemtables(full)) => {
                    drop(state);
                    self.switch_memtables(writer, &full)?;
                }
                Some(Obstacle::EarlyFlush(families, reason)) => {
                    drop(state);
                    self.flush_early(writer, &families, reason)?;
                }
                Some(Obstacle::FlushElsewhere) => {}
                Some(Obstacle::MemoryLimit(manager)) => {
                    check_may_wait(options, MEMORY_LIMIT)?;
                    self.hold_back(writer, &mut place, state, |state| {
                        self.wait_for_memory(state, manager);
                    });
                }
                Some(Obstacle::Delayed(_)) if was_delayed => return Ok(()),
                Some(Obstacle::Delayed(reason)) => {
                    let now = self.options.clock.now();
                    let bytes = std::mem::take(&mut writer.delayed_bytes);
                    let due = writer.paid.charge(now, bytes, reason.write_rate);
                    if due.is_zero() {
                        return Ok(());
                    }
                    check_may_wait(options, reason.condition)?;
                    was_delayed =
                        self.hold_back(writer, &mut place, state, |state| self.delay(state, due, reason));
                }
            }
        }
    }

    /// Makes room for `commit`, and waits until no ingestion is in progress in the range of its keys.
    #[cold]
    pub(crate) fn make_room_for(
        &self,
        writer: &mut DrainedQueue<'_>,
        options: &WriteOptions,
        commit: &Commit<'_>,
    ) -> Result<()> {
        loop {
            self.make_room(writer, options)?;
            if !self.wait_for_ingestion(writer, options, commit)? {
                return Ok(());
            }
        }
    }

    /// Switches memtables that are not full, and schedules their flush.
    pub(crate) fn flush_early(
        &self,
        writer: &mut DrainedQueue<'_>,
        families: &[u32],
        reason: FlushReason,
    ) -> Result<()> {
        self.switch_memtables(writer, families)?;
        // The memtables that were just switched are flushed even if a flush would normally merge more of
        // them: they were not full, so nothing else would flush them soon.
        let mut state = self.state.lock();
        for id in families {
            if let Some(family) = state.families.get_mut(id) {
                family.flush_requested = Some(reason);
            }
        }
        self.work.notify_all();
        Ok(())
    }

    /// Reports, once per stall, that writers are about to wait for flushes of `full`. Returns whether it did;
    /// the database mutex was then released meanwhile.
    fn notify_memtable_stall(&self, state: &mut MutexGuard<'_, DbState>, full: &[u32]) -> bool {
        let mut events = Vec::new();
        let families = state.families.values_mut();
        for family in families.filter(|family| full.contains(&family.family.id)) {
            let blocks = !family.mem.table.is_empty() && !family.has_room_for_immutable();
            if blocks && !family.memtables_stall {
                let before = family.stall_of_all();
                family.memtables_stall = true;
                events.extend(family.stall_event(before, self.current.load().delayed_write_rate));
            }
        }
        let told = !events.is_empty();
        if told {
            state.stall_events.extend(events);
            self.work.notify_all();
            MutexGuard::unlocked(state, || self.notify_stalls());
        }
        told
    }

    /// Gives each of `families` a new memtable and schedules the flush of the old one. Begins a new WAL so
    /// that the old one can become obsolete. Holds the write queue's lock, so that no row is lost between the
    /// two memtables.
    pub(crate) fn switch_memtables(&self, writer: &mut DrainedQueue<'_>, families: &[u32]) -> Result<()> {
        self.guarded(SWITCH, || self.switch_all(writer, families))
    }

    fn switch_all(&self, writer: &mut DrainedQueue<'_>, families: &[u32]) -> Result<()> {
        let head = writer.wal_head;
        // After a failed attempt to begin a WAL no row is written to the previous one: the incomplete file
        // may name it as its predecessor.
        if writer.next_wal.is_some() || writer.wal.as_ref().is_some_and(|wal| wal.len() > head) {
            self.switch_wal(writer)?;
        }
        let to_switch =
            |family: &FamilyState| families.contains(&family.family.id) && !family.mem.table.is_empty();
        let mut state = self.state.lock();
        let sealing = state.families.values().filter(|family| to_switch(family));
        let sealed: Vec<_> = sealing
            .map(|family| Event::sealed(&family.family.name, &family.mem.table))
            .collect();
        // Listeners are notified of the switched memtables before the flush can begin, so that the events of
        // the flush come later.
        MutexGuard::unlocked(&mut state, || sealed.iter().for_each(|event| self.notify(event)));
        let current = state.current_wal();
        let mut stalls = Vec::new();
        for family in state.families.values_mut() {
            if to_switch(family) {
                let fresh = Memory {
                    table: self.new_memtable(&family.family),
                    first_wal: current,
                    oldest_section: None,
                };
                let memory = std::mem::replace(&mut family.mem, fresh);
                family.immutable.push_back(Immutable {
                    memory,
                    flushing: false,
                });
                family.install_super_version();
                if family.may_delay_by_memtables() {
                    stalls.extend(self.record_stall(family));
                }
            } else if family.mem.table.is_empty() {
                family.mem.first_wal = current;
            }
        }
        self.record_share();
        let stalled = !stalls.is_empty();
        state.stall_events.extend(stalls);
        drop(state);
        self.work.notify_all();
        if stalled {
            self.notify_stalls();
        }
        Ok(())
    }

    /// Closes the current WAL, if there is one, and begins the next.
    pub(crate) fn switch_wal(&self, writer: &mut DrainedQueue<'_>) -> Result<()> {
        // The database can resume after a failure of this flush of the WAL.
        self.flush_wal_of(writer)?;
        let result = catch_or_fail(|| self.begin_wal(writer));
        if let Err(error) = &result {
            self.latch(SWITCH_WAL, error.clone());
        }
        result
    }

    /// If the next WAL cannot be begun, the current one continues as if nothing had happened. If the current
    /// one cannot be closed, the next one is used nevertheless.
    fn begin_wal(&self, writer: &mut DrainedQueue<'_>) -> Result<()> {
        let number = writer.next_wal.unwrap_or_else(|| self.versions.new_file_number());
        writer.next_wal = Some(number);
        let mut state = self.state.lock();
        let recycled = state.recyclable_wals.pop_front();
        let predecessor = Predecessor {
            number: state.current_wal(),
            next_seqno: writer.logged_next,
            kept: true,
        };
        drop(state);
        if let Some(old) = recycled {
            log_line!(self.log, Info, "reusing log {old} from recycle list");
        }
        let before = writer.wal.as_ref().map(|wal| PredecessorWal {
            log_number: predecessor.number,
            size: wal.len(),
            last_seqno: writer.logged_record,
        });
        let wal = self
            .create_wal(number, recycled, (predecessor, before), writer.last_seqno + 1)
            .inspect_err(|_| self.remove_unbegun_wal(number, recycled))?;
        writer.next_wal = None;
        let old = writer.begin(wal);
        if let Some(wal) = &writer.wal {
            self.wal_tail.begin(number, wal);
        }
        let size = old.as_ref().map_or(0, wal::Writer::len);
        self.wal_tail.older_bytes.fetch_add(size, Ordering::Relaxed);
        let mut state = self.state.lock();
        if let Some(last) = state.wals.back_mut() {
            last.size = size;
        }
        let begun = self.options.clock.now();
        state.wals.push_back(LiveWal {
            number,
            size: 0,
            begun,
        });
        drop(state);
        self.notify(&Event::WalCreated { wal: number });
        let closed = old.map_or(Ok(()), |mut old| old.close());
        if closed.is_err() {
            let uncut = (predecessor.number, size);
            self.state.lock().recovery.uncut_wals.push(uncut);
        }
        closed
    }

    /// Removes a WAL that could not be begun, and keeps the recycled file that was to be reused if it still
    /// has its name.
    #[cold]
    fn remove_unbegun_wal(&self, number: u64, recycled: Option<u64>) {
        let fs = &self.options.fs;
        // If the removal fails, the next attempt overwrites the file.
        let _ = fs.remove(&filename::wal(&self.wal_dir, number));
        if let Some(old) = recycled
            && fs.exists(&filename::wal(&self.wal_dir, old)).unwrap_or(true)
        {
            self.state.lock().recyclable_wals.push_front(old);
        }
    }
}

/// Computes the checksums of a write before anything else: a batch without checksums gets them, the checksum
/// of a single operation is returned.
#[cold]
fn protect(options: &WriteOptions, commit: &mut Commit<'_>) -> Result<Option<Protection>> {
    protection::check_width(options.protection_bytes_per_key)?;
    match commit {
        Commit::Single(family, operation) => {
            // A row that is too large is refused before it is hashed.
            let (_, value) = operation.row();
            family.values.row_limit.check(operation.key, value)?;
            Ok(Some(operation.protection()))
        }
        Commit::Batch(batch) => batch.protect().map(|()| None),
    }
}

/// Adds a row to a memtable of its family. `protection` is the checksum of the operation, which includes the
/// family.
#[cold]
fn add_protected(
    family: &Family,
    mem: &Memtable,
    seqno: SeqNo,
    kind: Kind,
    key: &[u8],
    value: &[u8],
    protection: Protection,
) -> Result<()> {
    let mut row = protection.toggle_family(family.id).toggle_seqno(seqno);
    let mut added_as = kind;
    if kind == Kind::Deletion {
        added_as = deletion_kind(family);
        row = row.toggle_kind(kind as u8).toggle_kind(added_as as u8);
    }
    mem.add_protected(seqno, added_as, key, value, row)
        .map(drop)
        .map_err(|error| family.in_memory(error))
}

pub(crate) fn deletion_kind(family: &Family) -> Kind {
    if family.cmp.user().timestamp_size() > 0 {
        Kind::DeletionWithTimestamp
    } else {
        Kind::Deletion
    }
}

/// Checks a single operation before it is written. True if it deletes a range.
#[inline]
fn check_single(family: &Family, operation: &SingleOperation<'_>) -> Result<bool> {
    family.check_writable()?;
    let (kind, value) = operation.row();
    check_row(family, kind, operation.key, value)?;
    Ok(kind == Kind::RangeDeletion)
}

/// `InvalidArgument` for a row that `family` cannot take. `value` is the end of the range if `kind` is a
/// range deletion.
#[inline]
pub(crate) fn check_row(family: &Family, kind: Kind, key: &[u8], value: &[u8]) -> Result<()> {
    let user = family.cmp.user();
    let limit = family.values.row_limit;
    match kind {
        Kind::RangeDeletion => limit.check_key(key).and_then(|()| limit.check_key(value))?,
        _ => limit.check(key, value)?,
    }
    if user.timestamp_size() > 0 && key.len() < user.timestamp_size() {
        return Err(Error::invalid_argument(
            "the column family has timestamps: every key needs one",
        ));
    }
    if kind == Kind::RangeDeletion && user.compare_without_timestamp(key, value).is_gt() {
        return Err(Error::invalid_argument("end key comes before start key"));
    }
    Ok(())
}

/// Calls `insert(family, seqno, kind, key, value)` for each row of a batch, in order, with the sequence
/// numbers of a replay.
fn apply<'a>(
    mut operations: Operations<'a>,
    mut insert: impl FnMut(u32, SeqNo, Kind, &'a [u8], &'a [u8]),
) -> Result<SeqNo> {
    let mut seqno = operations.sequence();
    for operation in operations.by_ref() {
        let operation = operation?;
        let Some((family, kind, key, value)) = operation.row() else {
            if matches!(operation, Operation::LogData(_) | Operation::Noop) {
                continue;
            }
            return Err(Error::not_supported("transaction marks in a write batch"));
        };
        insert(family, seqno, kind, key, value);
        seqno += 1;
    }
    operations.check_count()?;
    Ok(seqno)
}
