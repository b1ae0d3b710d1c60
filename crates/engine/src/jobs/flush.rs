//! Flush: full memtables become a table of L0, and tables of the streams that need not go there.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::env::thread_cpu;
use base::statistics::{Histogram, Ticker};
use base::sync::MutexGuard;
use base::user_code::{catch, catch_or_fail};
use base::{Error, ErrorKind, Result};
use manifest::{Version, VersionEdit};
use memtable::Memtable;

use super::memtable_tables::FlushedTable;
use super::streams::PlacedStream;
use crate::db::DbInner;
use crate::db::column_family::Family;
use crate::db::state::{DbState, FLUSH};
use crate::events::{Event, FlushReason};

/// A flush at work.
struct FlushJob {
    id: u32,
    family: Arc<Family>,
    /// Oldest first.
    memtables: Vec<Arc<Memtable>>,
    epoch_number: Option<u64>,
    reason: FlushReason,
    /// The oldest WAL that the family needs afterwards.
    log_number: u64,
    /// WALs are synced first: there are other families, or WALs may hold prepared sections.
    syncs_wals: bool,
    job: u64,
    start: Duration,
}

impl DbInner {
    /// Flushes what is immutable of family `id`, if that is due. Called with the database mutex, which it releases while
    /// it writes. One flush of a family at a time, so that its tables are installed in the order of their rows.
    ///
    /// A panic on the way, of user code say, is an error like others: what was reserved is given back, and the memtables can be flushed again.
    pub(crate) fn flush_family(&self, state: &mut MutexGuard<'_, DbState>, id: u32) -> Result<()> {
        let Some((job, version)) = self.begin_flush(state, id) else {
            return Ok(());
        };
        let mut placed = Vec::new();
        let installed = catch_or_fail(|| self.run_flush(state, &job, version, &mut placed));
        self.release(state, id, &placed);
        self.end_flush(state, &job, installed)
    }

    /// Takes the memtables for a flush that is due. Gives the family's version as well.
    fn begin_flush(&self, state: &mut DbState, id: u32) -> Option<(FlushJob, Arc<Version>)> {
        let current_wal = state.current_wal();
        let syncs_wals = state.families.len() > 1 || state.two_phase;
        let start = self.options.clock.now();
        let own = state.families.get_mut(&id).filter(|own| own.wants_flush())?;
        own.flushing = true;
        own.unreported_flushes += 1;
        // Those switched while this flush writes wait for the next.
        let taken = own.immutable.iter_mut().map(|immutable| {
            immutable.flushing = true;
            immutable.memory.table.clone()
        });
        let memtables = taken.collect();
        let version = own.version.clone();
        let job = FlushJob {
            id,
            family: own.family.clone(),
            memtables,
            epoch_number: version.next_epoch_number(),
            reason: own.flush_requested.unwrap_or(FlushReason::WriteBufferFull),
            log_number: match own.mem.table.is_empty() {
                true => current_wal,
                false => own.mem.first_wal,
            },
            syncs_wals,
            job: self.new_job(),
            start,
        };
        state.running_flushes += 1;
        Some((job, version))
    }

    /// Writes the tables and installs them. `placed` is what it reserves on the way.
    fn run_flush(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        flush: &FlushJob,
        version: Arc<Version>,
        placed: &mut Vec<PlacedStream>,
    ) -> Result<Vec<FlushedTable>> {
        let &FlushJob {
            id,
            job,
            epoch_number,
            ..
        } = flush;
        let (family, memtables) = (&flush.family, &flush.memtables);
        let streams = MutexGuard::unlocked(state, || {
            let memory_bytes = memtables.iter().map(|mem| mem.memory_allocated() as u64).sum();
            self.stats
                .record(Histogram::FlushMemtableMemoryBytes, memory_bytes);
            self.notify(&Event::FlushBegun {
                family: family.name.clone(),
                job,
                memtables: memtables.len(),
                entries: memtables.iter().map(|mem| mem.num_entries()).sum(),
                deletes: memtables.iter().map(|mem| mem.num_deletes()).sum(),
                memory_bytes,
                reason: flush.reason,
            });
            // The version goes with this: it keeps files alive that are replaced meanwhile.
            self.streams_of(family, version, memtables)
        });
        self.place(state, id, streams, placed);
        let (flushed, cpu) = MutexGuard::unlocked(state, || -> Result<_> {
            // Rows of other families that came before these may lie in a WAL that is not synced. If they were lost while these
            // survive in a table, recovery would find a hole; so it would where it reads a WAL once more for a prepared section.
            if flush.syncs_wals {
                self.sync_wal(self.wal_tail.records.load(Ordering::Acquire))?;
            }
            let before = thread_cpu();
            let flushed = self.write_memtables(family, memtables, placed, epoch_number, job)?;
            Ok((flushed, thread_cpu().saturating_sub(before)))
        })?;
        let tables = flushed.tables.clone();
        let blob_bytes = flushed.blob_files.iter().map(|blob| blob.total_blob_bytes).sum();
        let blobs: Vec<u64> = flushed.blob_files.iter().map(|blob| blob.number).collect();
        let edit = VersionEdit {
            column_family: id,
            log_number: Some(flush.log_number),
            // A family without rows says nothing of WALs it needs no more, and no WAL goes before the MANIFEST lets it go.
            min_log_number_to_keep: Some(state.oldest_needed_wal_after(Some((id, memtables.len())))),
            new_files: flushed.new_files(),
            blob_file_additions: flushed.blob_files,
            ..VersionEdit::default()
        };
        let written = tables.iter().map(|table| table.file.number);
        let took = self.options.clock.now().saturating_sub(flush.start);
        self.apply_edit(state, edit, |own| {
            own.retire(memtables.len());
            if !tables.is_empty() {
                let bytes = tables.iter().map(|table| table.file.size).sum();
                own.stats.flushed(bytes, took, cpu);
                own.stats.flushed_blobs(blob_bytes);
            }
        })
        .inspect_err(|error| self.discard_of_dropped(error, family, written, blobs))?;
        self.stats.add(Ticker::FlushWriteBytes, blob_bytes);
        Ok(tables)
    }

    /// Lets others go on, and tells.
    fn end_flush(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        flush: &FlushJob,
        mut installed: Result<Vec<FlushedTable>>,
    ) -> Result<()> {
        let mut stall = None;
        let mut shape = (Vec::new(), 0);
        if let Some(own) = state.families.get_mut(&flush.id) {
            shape = (own.level_files(), own.immutable.len());
            own.flushing = false;
            if installed.is_ok() {
                own.flush_requested = own.flush_requested.filter(|_| !own.immutable.is_empty());
                match catch(|| self.note_stall(own)) {
                    Ok(noted) => stall = noted,
                    Err(error) => installed = Err(error),
                }
            } else {
                own.immutable
                    .iter_mut()
                    .for_each(|immutable| immutable.flushing = false);
            }
        }
        // Before anybody takes the job for ended. Where the family was dropped meanwhile nothing is wrong.
        if let Err(error) = &installed
            && error.kind() != ErrorKind::ColumnFamilyDropped
        {
            self.latch_in(state, FLUSH, error);
        }
        state.running_flushes -= 1;
        if installed.is_ok() {
            self.drop_unneeded_wals(state);
        }
        state.stall_events.extend(stall);
        self.note_released(state);
        self.changed.notify_all();
        self.work.notify_all();
        let took = self.options.clock.now().saturating_sub(flush.start);
        MutexGuard::unlocked(state, || {
            self.report_flush(&flush.family, flush.job, &installed, took, shape);
            self.tell_stalls();
        });
        if let Some(own) = state.families.get_mut(&flush.id) {
            own.unreported_flushes -= 1;
            self.changed.notify_all();
        }
        installed.map(drop)
    }

    /// `shape`: the files of each level, and the immutable memtables.
    fn report_flush(
        &self,
        family: &Family,
        job: u64,
        installed: &Result<Vec<FlushedTable>>,
        took: Duration,
        shape: (Vec<usize>, usize),
    ) {
        let tables = match installed {
            Ok(tables) if !tables.is_empty() => tables,
            _ => {
                self.notify(&Event::JobEnded {
                    family: family.name.clone(),
                    job,
                    action: "flush",
                    error: installed.as_ref().err().cloned(),
                });
                match installed {
                    Err(error) if error.kind() == ErrorKind::ColumnFamilyDropped => {}
                    Err(error) => self.tell_failure(FLUSH, error.clone()),
                    Ok(_) => {}
                }
                return;
            }
        };
        self.stats.record(Histogram::FlushTime, took.as_micros() as u64);
        let (level_files, immutable_memtables) = shape;
        for FlushedTable {
            level,
            compression,
            file,
        } in tables
        {
            self.stats.add(Ticker::FlushWriteBytes, file.size);
            self.notify(&Event::Flushed {
                family: family.name.clone(),
                job,
                compression: *compression,
                level_files: level_files.clone(),
                immutable_memtables,
                file: file.number,
                level: *level,
                entries: file.stats.get().map_or(0, |stats| stats.num_entries),
                bytes: file.size,
                micros: took.as_micros() as u64,
            });
        }
    }

    /// Deletes the files a job wrote for a family that was dropped before they could be installed. After other failures
    /// the MANIFEST may name them.
    pub(crate) fn discard_of_dropped(
        &self,
        error: &Error,
        family: &Family,
        tables: impl IntoIterator<Item = u64>,
        blobs: impl IntoIterator<Item = u64>,
    ) {
        if error.kind() == ErrorKind::ColumnFamilyDropped {
            tables.into_iter().for_each(|number| {
                self.obsolete
                    .add_table(base::filename::table(&family.dir, number), 0)
            });
            blobs
                .into_iter()
                .for_each(|number| self.obsolete.add(base::filename::blob(&family.dir, number)));
        }
    }

    /// Lets go of WALs that hold nothing any family still needs, as the MANIFEST says: keeps them to be written over, or deletes them. A
    /// WAL that is missing although the MANIFEST does not say so is taken for lost by the next recovery. A sync leaves those out.
    pub(crate) fn drop_unneeded_wals(&self, state: &mut DbState) {
        let needed = state.oldest_needed_wal().min(state.oldest_recorded_wal());
        self.obsolete.close_files(self.wal_tail.forget_older(needed));
        while state.wals.len() > 1 && state.wals.front().is_some_and(|wal| wal.number < needed) {
            if let Some(wal) = state.wals.pop_front() {
                self.older_wal_bytes.fetch_sub(wal.size, Ordering::Relaxed);
                if self.may_recycle(state, wal.number) {
                    state.recyclable_wals.push_back(wal.number);
                } else {
                    self.obsolete.add(base::filename::wal(&self.wal_dir, wal.number));
                }
            }
        }
    }

    /// Whether WAL `number`, which nobody needs, may be written over. Not while somebody may be copying it, and not before the MANIFEST
    /// says that no recovery replays it: after a loss of power it may have its old name and a part of its new bytes.
    fn may_recycle(&self, state: &DbState, number: u64) -> bool {
        state.recyclable_wals.len() < self.options.recycled_wals()
            && (state.first_own_wal..state.oldest_recorded_wal()).contains(&number)
            && !self.obsolete.is_held()
    }
}
