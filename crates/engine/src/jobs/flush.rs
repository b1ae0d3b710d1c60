//! Flush: immutable memtables become a table of L0, and streams that need not go to L0 become tables of lower
//! levels. With `atomic_flush` the tables of all families are installed in one step.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::env::thread_cpu;
use base::statistics::{Histogram, Ticker};
use base::sync::MutexGuard;
use base::user_code::{catch, catch_or_fail};
use base::{Error, ErrorKind, Result};
use codec::compression::CompressionType;
use manifest::{Version, VersionEdit};
use memtable::Memtable;

use super::memtable_tables::{Flushed, FlushedTable};
use super::streams::PlacedStream;
use crate::events::{Event, FlushReason};
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::{DbState, FLUSH};

/// A flush in progress: of one family, or of several whose tables are installed in one step.
struct FlushJob {
    families: Vec<FamilyFlush>,
    /// True if the WALs must be synced before the tables are installed: because there are other families,
    /// because WALs may hold prepared sections, or because a change feed must not lose rows that a table has.
    syncs_wals: bool,
    job: u64,
    start: Duration,
}

/// The part of one family in a flush.
struct FamilyFlush {
    id: u32,
    family: Arc<Family>,
    /// The memtables, oldest first.
    memtables: Vec<Arc<Memtable>>,
    epoch_number: Option<u64>,
    reason: FlushReason,
    /// The oldest WAL that the family needs after the flush.
    log_number: u64,
}

/// The tables that a flush has installed for a family; `ColumnFamilyDropped` if the family is gone.
type Outcome = Result<Vec<Installed>>;

/// The facts about an installed table that listeners get. They hold no file: a listener that takes its time
/// would otherwise keep tables alive that a compaction has replaced.
#[derive(Clone)]
struct Installed {
    number: u64,
    level: usize,
    compression: CompressionType,
    entries: u64,
    bytes: u64,
}

impl Installed {
    fn of(table: &FlushedTable) -> Installed {
        let FlushedTable {
            level,
            compression,
            file,
        } = table;
        Installed {
            number: file.number,
            level: *level,
            compression: *compression,
            entries: file.stats.get().map_or(0, |stats| stats.num_entries),
            bytes: file.size,
        }
    }
}

/// The files written for a family, and the CPU time used.
type Written = (Flushed, Duration);

impl DbInner {
    /// Flushes the immutable memtables of the families `ids`, which [are due](DbState::due_flush): the
    /// MANIFEST gets the tables of all of them or of none. Called with the database mutex, which it releases
    /// while it writes. At most one flush of a family runs at a time, so that its tables are installed in the
    /// order of their rows.
    ///
    /// A panic, for example in user code, becomes an error: reservations are released, and the memtables can
    /// be flushed again.
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

    /// Takes the memtables for a flush that is due. Also returns the families' versions.
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
            // Memtables that are switched while this flush writes wait for the next flush.
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
            syncs_wals: syncs_wals || self.has_cursors(),
            job: self.new_job(),
            start,
        };
        state.running_flushes += 1;
        // Another thread may find another flush to run.
        self.work.notify_all();
        Some((job, versions))
    }

    /// Writes the tables and installs them. `placed` collects the reservations. Returns the outcome of each
    /// family.
    fn run_flush(
        &self,
        state: &mut MutexGuard<'_, DbState>,
        flush: &FlushJob,
        versions: Vec<Arc<Version>>,
        placed: &mut [Vec<PlacedStream>],
    ) -> Result<Vec<Outcome>> {
        for ((own, version), placed) in flush.families.iter().zip(versions).zip(placed.iter_mut()) {
            let streams = MutexGuard::unlocked(state, || {
                self.notify_flush_begun(own, flush.job);
                // The version is passed by value and dropped here: a longer reference would keep files that
                // are replaced meanwhile from being deleted.
                self.streams_of(&own.family, version, &own.memtables)
            });
            self.place(state, own.id, streams, placed);
        }
        let written = MutexGuard::unlocked(state, || self.write_tables(flush, placed))?;
        self.install_tables(state, flush, written)
    }

    fn notify_flush_begun(&self, own: &FamilyFlush, job: u64) {
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

    /// Writes the tables of each family in turn. If one cannot be written, all are discarded.
    fn write_tables(&self, flush: &FlushJob, placed: &[Vec<PlacedStream>]) -> Result<Vec<Written>> {
        // Earlier rows of other families may be in a WAL that is not synced. If they were lost while these
        // rows survive in a table, recovery would find rows missing; the same holds if recovery reads a WAL
        // once more for a prepared section.
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

    /// Installs the written tables, in one step, for the families that still exist.
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
        // The MANIFEST is claimed, so that no family is dropped from here on.
        edits.retain(|edit| state.families.contains_key(&edit.column_family));
        let flushed: Vec<(u32, usize)> = edits
            .iter()
            .filter_map(|edit| flush.families.iter().find(|own| own.id == edit.column_family))
            .map(|own| (own.id, own.memtables.len()))
            .collect();
        for edit in &mut edits {
            let own = state.families.get(&edit.column_family);
            let tables = flush
                .families
                .iter()
                .zip(&written)
                .find(|(own, _)| own.id == edit.column_family);
            edit.full_history_ts_low = own
                .zip(tables)
                .and_then(|(own, (_, (tables, _)))| tables.raised_low(&own.family, &own.full_history_ts_low));
        }
        // A family without rows records no WAL number, and no WAL is deleted before the MANIFEST says it is
        // obsolete.
        let needed = state.oldest_needed_wal_after(&flushed);
        edits
            .iter_mut()
            .for_each(|edit| edit.min_log_number_to_keep = Some(needed));
        let outcomes = flush.families.iter().zip(&written).map(|(own, (tables, _))| {
            if flushed.iter().any(|(id, _)| *id == own.id) {
                return Ok(tables.tables.iter().map(Installed::of).collect());
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
                if let Some(low) = flushed.raised_low(&own.family, &family.full_history_ts_low) {
                    family.full_history_ts_low = low;
                }
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

    /// Releases the reservations of the flush and notifies listeners.
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
                match catch(|| self.record_stall(own)) {
                    Ok(noted) => stalls.extend(noted),
                    Err(error) => *outcome = Err(error),
                }
            } else {
                own.immutable
                    .iter_mut()
                    .for_each(|immutable| immutable.flushing = false);
            }
        }
        // The failure is recorded before the job is removed, so that a waiter that sees the job ended sees
        // its failure too. If a family was dropped meanwhile, that is no failure.
        let mut errors = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        let failure = errors
            .find(|error| error.kind() != ErrorKind::ColumnFamilyDropped)
            .cloned();
        match &failure {
            Some(error) => {
                self.latch_in(state, FLUSH, error);
                // If the flush of several families fails, they must be flushed together again.
                state.regroup(flush.families.iter().map(|own| own.id));
            }
            None => self.drop_unneeded_wals(state),
        }
        // The flush has succeeded; if the space limit is reached, the database stops before another flush
        // begins.
        let limit = self.check_space().err().filter(|_| failure.is_none());
        if let Some(limit) = &limit {
            self.latch_anew(state, FLUSH, limit);
        }
        let took = self.options.clock.now().saturating_sub(flush.start);
        self.count_flushed(&outcomes, took);
        state.running_flushes -= 1;
        state.stall_events.extend(stalls);
        self.record_released(state);
        self.changed.notify_all();
        self.work.notify_all();
        MutexGuard::unlocked(state, || {
            for ((own, outcome), shape) in flush.families.iter().zip(&outcomes).zip(shapes) {
                self.report_flush(&own.family, flush.job, outcome, took, shape);
            }
            if let Some(error) = &failure {
                self.notify_failure(FLUSH, error.clone());
            }
            if let Some(limit) = limit {
                self.report_failure(FLUSH, limit);
            }
            self.notify_stalls();
        });
        for own in &flush.families {
            if let Some(own) = state.families.get_mut(&own.id) {
                own.unreported_flushes -= 1;
            }
        }
        self.changed.notify_all();
        failure.map_or(Ok(()), Err)
    }

    /// Counts the tables of a flush. They are counted before waiters see that the flush has ended, so a
    /// waiter sees its counts too; listeners are notified later.
    fn count_flushed(&self, outcomes: &[Outcome], took: Duration) {
        for tables in outcomes.iter().flatten().filter(|tables| !tables.is_empty()) {
            self.stats.record(Histogram::FlushTime, took.as_micros() as u64);
            let bytes = tables.iter().map(|table| table.bytes).sum();
            self.stats.add(Ticker::FlushWriteBytes, bytes);
        }
    }

    /// Notifies listeners. `shape`: the files of each level, and the immutable memtables.
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
        let (level_files, immutable_memtables) = shape;
        for table in tables {
            self.notify(&Event::Flushed {
                family: family.name.clone(),
                job,
                compression: table.compression,
                level_files: level_files.clone(),
                immutable_memtables,
                file: table.number,
                level: table.level,
                entries: table.entries,
                bytes: table.bytes,
                micros: took.as_micros() as u64,
            });
        }
    }

    /// Deletes files that a flush has written and not installed.
    fn discard_flushed(&self, family: &Family, flushed: &Flushed) {
        let tables = flushed.tables.iter().map(|table| family.paths.table(&table.file));
        self.discard(family, tables, flushed.blob_files.iter().map(|blob| blob.number));
    }

    /// Deletes the files that a job wrote for a family that was dropped before they could be installed. After
    /// other failures the files are kept, because the MANIFEST may name them.
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
}
