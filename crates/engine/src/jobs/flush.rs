//! Flush: full memtables become a table of L0, and tables of the streams that need not go there. With `atomic_flush` those of all families
//! are put in place in one step.

use std::path::PathBuf;
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

use super::memtable_tables::{Flushed, FlushedTable};
use super::streams::PlacedStream;
use crate::db::DbInner;
use crate::db::column_family::Family;
use crate::db::state::{DbState, FLUSH};
use crate::events::{Event, FlushReason};

/// A flush at work: of one family, or of several whose tables are put in place in one step.
struct FlushJob {
    families: Vec<FamilyFlush>,
    /// WALs are synced first: there are other families, or WALs may hold prepared sections.
    syncs_wals: bool,
    job: u64,
    start: Duration,
}

/// The part of one family in a flush.
struct FamilyFlush {
    id: u32,
    family: Arc<Family>,
    /// Oldest first.
    memtables: Vec<Arc<Memtable>>,
    epoch_number: Option<u64>,
    reason: FlushReason,
    /// The oldest WAL that the family needs afterwards.
    log_number: u64,
}

/// The tables of a family that a flush has put in place; `ColumnFamilyDropped` where the family is gone.
type Outcome = Result<Vec<FlushedTable>>;

/// The files of a family, and the CPU time they took.
type Written = (Flushed, Duration);

impl DbInner {
    /// Flushes what is immutable of the families `ids`, which [are due](DbState::due_flush): the MANIFEST has the tables of all of them or of
    /// none. Called with the database mutex, which it releases while it writes. One flush of a family at a time, so that its tables are
    /// installed in the order of their rows.
    ///
    /// A panic on the way, of user code say, is an error like others: what was reserved is given back, and the memtables can be flushed again.
    pub(crate) fn flush_families(&self, state: &mut MutexGuard<'_, DbState>, ids: &[u32]) -> Result<()> {
        let Some((job, versions)) = self.begin_flush(state, ids) else {
            return Ok(());
        };
        let mut placed: Vec<Vec<PlacedStream>> = Vec::new();
        placed.resize_with(job.families.len(), Vec::new);
        let installed = catch_or_fail(|| self.run_flush(state, &job, versions, &mut placed));
        for (own, placed) in job.families.iter().zip(&placed) {
            self.release(state, own.id, placed);
        }
        self.end_flush(state, &job, installed)
    }

    /// Takes the memtables for a flush that is due. Gives the families' versions as well.
    fn begin_flush(&self, state: &mut DbState, ids: &[u32]) -> Option<(FlushJob, Vec<Arc<Version>>)> {
        state.flush_groups.retain(|group| group.families != ids);
        let current_wal = state.current_wal();
        let syncs_wals = state.families.len() > 1 || state.two_phase;
        let start = self.options.clock.now();
        let (mut families, mut versions) = (Vec::new(), Vec::new());
        for &id in ids {
            let own = state.families.get_mut(&id).filter(|own| own.unflushed() > 0);
            let Some(own) = own else {
                continue;
            };
            own.flushing = true;
            own.unreported_flushes += 1;
            // Those switched while this flush writes wait for the next.
            let taken = own.immutable.iter_mut().map(|immutable| {
                immutable.flushing = true;
                immutable.memory.table.clone()
            });
            families.push(FamilyFlush {
                id,
                family: own.family.clone(),
                memtables: taken.collect(),
                epoch_number: own.version.next_epoch_number(),
                reason: own.flush_requested.unwrap_or(FlushReason::WriteBufferFull),
                log_number: match own.mem.table.is_empty() {
                    true => current_wal,
                    false => own.mem.first_wal,
                },
            });
            versions.push(own.version.clone());
        }
        if families.is_empty() {
            return None;
        }
        let job = FlushJob {
            families,
            syncs_wals,
            job: self.new_job(),
            start,
        };
        state.running_flushes += 1;
        // Another thread may find another.
        self.work.notify_all();
        Some((job, versions))
    }

    /// Writes the tables and installs them. `placed` is what it reserves on the way. Gives the outcome of each family.
    fn run_flush(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        flush: &FlushJob,
        versions: Vec<Arc<Version>>,
        placed: &mut [Vec<PlacedStream>],
    ) -> Result<Vec<Outcome>> {
        for ((own, version), placed) in flush.families.iter().zip(versions).zip(placed.iter_mut()) {
            let streams = MutexGuard::unlocked(state, || {
                self.tell_flush_begun(own, flush.job);
                // The version goes with this: it keeps files alive that are replaced meanwhile.
                self.streams_of(&own.family, version, &own.memtables)
            });
            self.place(state, own.id, streams, placed);
        }
        let written = MutexGuard::unlocked(state, || self.write_tables(flush, placed))?;
        self.install_tables(state, flush, written)
    }

    fn tell_flush_begun(&self, own: &FamilyFlush, job: u64) {
        let memtables = &own.memtables;
        let memory_bytes = memtables.iter().map(|mem| mem.memory_allocated() as u64).sum();
        self.stats
            .record(Histogram::FlushMemtableMemoryBytes, memory_bytes);
        self.notify(&Event::FlushBegun {
            family: own.family.name.clone(),
            job,
            memtables: memtables.len(),
            entries: memtables.iter().map(|mem| mem.num_entries()).sum(),
            deletes: memtables.iter().map(|mem| mem.num_deletes()).sum(),
            memory_bytes,
            reason: own.reason,
        });
    }

    /// Writes the tables of each family in turn. If one cannot be written none stays.
    fn write_tables(&self, flush: &FlushJob, placed: &[Vec<PlacedStream>]) -> Result<Vec<Written>> {
        // Rows of other families that came before these may lie in a WAL that is not synced. If they were lost while these
        // survive in a table, recovery would find a hole; so it would where it reads a WAL once more for a prepared section.
        if flush.syncs_wals {
            self.sync_wal(self.wal_tail.records.load(Ordering::Acquire))?;
        }
        let mut all: Vec<Written> = Vec::with_capacity(flush.families.len());
        for (own, placed) in flush.families.iter().zip(placed) {
            let before = thread_cpu();
            let written =
                self.write_memtables(&own.family, &own.memtables, placed, own.epoch_number, flush.job);
            match written {
                Ok(written) => all.push((written, thread_cpu().saturating_sub(before))),
                Err(error) => {
                    for (own, (flushed, _)) in flush.families.iter().zip(&all) {
                        self.discard_flushed(&own.family, flushed);
                    }
                    return Err(error);
                }
            }
        }
        Ok(all)
    }

    /// Puts what was written in place, in one step, of the families that are still there.
    fn install_tables(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        flush: &FlushJob,
        written: Vec<Written>,
    ) -> Result<Vec<Outcome>> {
        let mut edits: Vec<VersionEdit> = flush
            .families
            .iter()
            .zip(&written)
            .map(|(own, (flushed, _))| VersionEdit {
                column_family: own.id,
                log_number: Some(own.log_number),
                new_files: flushed.new_files(),
                blob_file_additions: flushed.blob_files.clone(),
                ..VersionEdit::default()
            })
            .collect();
        self.claim_manifest(state).inspect_err(|_| {
            edits.iter().for_each(|edit| self.doubt_files_of(state, edit));
        })?;
        // From here on no family goes.
        edits.retain(|edit| state.families.contains_key(&edit.column_family));
        let flushed: Vec<(u32, usize)> = edits
            .iter()
            .filter_map(|edit| flush.families.iter().find(|own| own.id == edit.column_family))
            .map(|own| (own.id, own.memtables.len()))
            .collect();
        // A family without rows says nothing of WALs it needs no more, and no WAL goes before the MANIFEST lets it go.
        let needed = state.oldest_needed_wal_after(&flushed);
        edits
            .iter_mut()
            .for_each(|edit| edit.min_log_number_to_keep = Some(needed));
        let outcomes = flush.families.iter().zip(&written).map(|(own, (tables, _))| {
            if flushed.iter().any(|(id, _)| *id == own.id) {
                return Ok(tables.tables.clone());
            }
            self.discard_flushed(&own.family, tables);
            Err(Error::new(
                ErrorKind::ColumnFamilyDropped,
                own.family.name.clone(),
            ))
        });
        let outcomes: Vec<Outcome> = outcomes.collect();
        if edits.is_empty() {
            self.disclaim_manifest(state);
            return Ok(outcomes);
        }
        let took = self.options.clock.now().saturating_sub(flush.start);
        let all = || flush.families.iter().zip(&written);
        self.apply_claimed(state, edits, None, |family| {
            if let Some((own, (flushed, cpu))) = all().find(|(own, _)| own.id == family.family.id) {
                family.retire(own.memtables.len());
                if !flushed.tables.is_empty() {
                    let bytes = flushed.tables.iter().map(|table| table.file.size).sum();
                    family.stats.flushed(bytes, took, *cpu);
                    family.stats.flushed_blobs(flushed.blob_bytes());
                }
            }
        })?;
        let blob_bytes = all().filter(|(own, _)| flushed.iter().any(|(id, _)| *id == own.id));
        let blob_bytes = blob_bytes.map(|(_, (flushed, _))| flushed.blob_bytes()).sum();
        self.stats.add(Ticker::FlushWriteBytes, blob_bytes);
        Ok(outcomes)
    }

    /// Lets others go on, and tells.
    fn end_flush(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        flush: &FlushJob,
        installed: Result<Vec<Outcome>>,
    ) -> Result<()> {
        let mut outcomes = match installed {
            Ok(outcomes) => outcomes,
            Err(error) => vec![Err(error); flush.families.len()],
        };
        let mut shapes = Vec::with_capacity(flush.families.len());
        let mut stalls = Vec::new();
        for (part, outcome) in flush.families.iter().zip(&mut outcomes) {
            let Some(own) = state.families.get_mut(&part.id) else {
                shapes.push((Vec::new(), 0));
                continue;
            };
            shapes.push((own.level_files(), own.immutable.len()));
            own.flushing = false;
            if outcome.is_ok() {
                own.flush_requested = own.flush_requested.filter(|_| !own.immutable.is_empty());
                match catch(|| self.note_stall(own)) {
                    Ok(noted) => stalls.extend(noted),
                    Err(error) => *outcome = Err(error),
                }
            } else {
                own.immutable
                    .iter_mut()
                    .for_each(|immutable| immutable.flushing = false);
            }
        }
        // Before anybody takes the job for ended. Where a family was dropped meanwhile nothing is wrong.
        let mut errors = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        let failure = errors
            .find(|error| error.kind() != ErrorKind::ColumnFamilyDropped)
            .cloned();
        match &failure {
            Some(error) => {
                self.latch_in(state, FLUSH, error);
                // They are still to come together.
                state.regroup(flush.families.iter().map(|own| own.id));
            }
            None => self.drop_unneeded_wals(state),
        }
        state.running_flushes -= 1;
        state.stall_events.extend(stalls);
        self.note_released(state);
        self.changed.notify_all();
        self.work.notify_all();
        let took = self.options.clock.now().saturating_sub(flush.start);
        MutexGuard::unlocked(state, || {
            for ((own, outcome), shape) in flush.families.iter().zip(&outcomes).zip(shapes) {
                self.report_flush(&own.family, flush.job, outcome, took, shape);
            }
            if let Some(error) = &failure {
                self.tell_failure(FLUSH, error.clone());
            }
            self.tell_stalls();
        });
        for own in &flush.families {
            if let Some(own) = state.families.get_mut(&own.id) {
                own.unreported_flushes -= 1;
            }
        }
        self.changed.notify_all();
        failure.map_or(Ok(()), Err)
    }

    /// `shape`: the files of each level, and the immutable memtables.
    fn report_flush(
        &self,
        family: &Family,
        job: u64,
        installed: &Outcome,
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

    /// Deletes what a flush has written that is not put in place.
    fn discard_flushed(&self, family: &Family, flushed: &Flushed) {
        let tables = flushed.tables.iter().map(|table| family.paths.table(&table.file));
        self.discard(family, tables, flushed.blob_files.iter().map(|blob| blob.number));
    }

    /// Deletes the files a job wrote for a family that was dropped before they could be installed. After other failures
    /// the MANIFEST may name them.
    pub(crate) fn discard_of_dropped(
        &self,
        error: &Error,
        family: &Family,
        tables: impl IntoIterator<Item = PathBuf>,
        blobs: impl IntoIterator<Item = u64>,
    ) {
        if error.kind() == ErrorKind::ColumnFamilyDropped {
            self.discard(family, tables, blobs);
        }
    }

    fn discard(
        &self,
        family: &Family,
        tables: impl IntoIterator<Item = PathBuf>,
        blobs: impl IntoIterator<Item = u64>,
    ) {
        tables
            .into_iter()
            .for_each(|path| self.obsolete.add_table(path, 0));
        blobs
            .into_iter()
            .for_each(|number| self.obsolete.add(base::filename::blob(&family.dir, number)));
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
