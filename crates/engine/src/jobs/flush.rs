//! Flush: full memtables become a table of L0, and tables of the streams that need not go there.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::sync::MutexGuard;
use base::{Error, ErrorKind, Result, SeqNo};
use codec::compression::CompressionType;
use compact::{
    BeyondOutput, CompactionCursor, CompactionRules, CompactionTombstones, FileBounds, OutputRange,
    OutputSink, OutputSplitter, write_outputs,
};
use manifest::{FileMetadata, VersionEdit};
use memtable::Memtable;
use rangedel::{FragmentedTombstones, RangeTombstone};

use super::output::{Destination, TableOutputs};
use super::streams::PlacedStream;
use crate::db::DbInner;
use crate::db::column_family::Family;
use crate::db::state::DbState;
use crate::events::{Event, FlushReason};
use crate::level_stats::thread_cpu;
use crate::read::merging_cursor::{MergingCursor, Source};
use crate::stats::Ticker;

impl DbInner {
    /// Flushes what is immutable of family `id`, if that is due. Called with the database mutex, which it releases while
    /// it writes. One flush of a family at a time, so that its tables are installed in the order of their rows.
    pub(crate) fn flush_family(&self, state: &mut MutexGuard<'_, DbState>, id: u32) -> Result<()> {
        let current_wal = state.current_wal();
        let Some(own) = state.families.get_mut(&id).filter(|own| own.wants_flush()) else {
            return Ok(());
        };
        own.flushing = true;
        let family = own.family.clone();
        // Oldest first; those switched while this flush writes wait for the next.
        let memtables: Vec<Arc<Memtable>> = own
            .immutable
            .iter_mut()
            .map(|immutable| {
                immutable.flushing = true;
                immutable.memory.table.clone()
            })
            .collect();
        // Rows of other families that came before these may lie in a WAL that is not synced. If they were lost while these
        // survive in a table, recovery would find a hole.
        let several_families = state.families.len() > 1;
        let Some(own) = state.families.get_mut(&id) else {
            return Ok(());
        };
        let reason = own.flush_requested.unwrap_or(FlushReason::WriteBufferFull);
        let log_number = if own.mem.table.is_empty() {
            current_wal
        } else {
            own.mem.first_wal
        };
        let version = own.version.clone();
        let epoch_number = version.next_epoch_number();
        state.running_flushes += 1;
        let job = self.new_job();
        let start = self.options.clock.now();
        let streams = MutexGuard::unlocked(state, || {
            self.notify(&Event::FlushBegun {
                family: family.name.clone(),
                job,
                memtables: memtables.len(),
                entries: memtables.iter().map(|mem| mem.num_entries()).sum(),
                deletes: memtables.iter().map(|mem| mem.num_deletes()).sum(),
                memory_bytes: memtables.iter().map(|mem| mem.memory_usage() as u64).sum(),
                reason,
            });
            self.streams_of(&family, &version, &memtables)
        });
        let placed = self.place(state, id, streams);
        let written = MutexGuard::unlocked(state, || {
            if several_families {
                self.sync_wal(self.wal_tail.records.load(Ordering::Acquire))?;
            }
            let before = thread_cpu();
            let tables = self.write_memtables(&family, &memtables, &placed, epoch_number, job)?;
            Ok((tables, thread_cpu().saturating_sub(before)))
        });
        let installed = written.and_then(|(tables, cpu)| {
            let edit = VersionEdit {
                column_family: id,
                log_number: Some(log_number),
                new_files: tables.iter().map(Flushed::in_edit).collect(),
                ..VersionEdit::default()
            };
            let written = tables.iter().map(|table| table.file.number);
            let took = self.options.clock.now().saturating_sub(start);
            self.apply_edit(state, edit, |own| {
                own.retire(memtables.len());
                if !tables.is_empty() {
                    let bytes = tables.iter().map(|table| table.file.size).sum();
                    own.stats.flushed(bytes, took, cpu);
                }
            })
            .inspect_err(|error| self.discard_of_dropped(error, written))?;
            Ok(tables)
        });
        self.release(state, id, &placed);
        state.running_flushes -= 1;
        let mut stall = None;
        let mut shape = (Vec::new(), 0);
        if let Some(own) = state.families.get_mut(&id) {
            shape = (own.level_files(), own.immutable.len());
            own.flushing = false;
            if installed.is_ok() {
                own.flush_requested = own.flush_requested.filter(|_| !own.immutable.is_empty());
                stall = self.note_stall(own);
            } else {
                own.immutable
                    .iter_mut()
                    .for_each(|immutable| immutable.flushing = false);
            }
        }
        if installed.is_ok() {
            self.drop_unneeded_wals(state);
        }
        state.stall_events.extend(stall);
        self.changed.notify_all();
        self.work.notify_all();
        let took = self.options.clock.now().saturating_sub(start);
        MutexGuard::unlocked(state, || {
            self.report_flush(&family, job, &installed, took, shape);
            self.tell_stalls();
        });
        installed.map(drop)
    }

    /// `shape`: the files of each level, and the immutable memtables.
    fn report_flush(
        &self,
        family: &Family,
        job: u64,
        installed: &Result<Vec<Flushed>>,
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
                    // The family was dropped meanwhile: nothing is wrong.
                    Err(error) if error.kind() == ErrorKind::ColumnFamilyDropped => {}
                    Err(error) => self.latch("flush", error.clone()),
                    Ok(_) => {}
                }
                return;
            }
        };
        let (level_files, immutable_memtables) = shape;
        for Flushed {
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

    /// Writes memtables, oldest first, as a part of `job`: each stream of `placed`, which are in the order of their keys, to a table
    /// of its own, all else to one of L0. No table is written that would be empty.
    pub(crate) fn write_memtables(
        &self,
        family: &Family,
        memtables: &[Arc<Memtable>],
        placed: &[PlacedStream],
        epoch_number: Option<u64>,
        job: u64,
    ) -> Result<Vec<Flushed>> {
        let writer = MemtableWriter::new(self, family, memtables)?;
        let rest = Destination {
            level: None,
            flushed: true,
            bottommost: false,
            compression: family.options.compression_for(0, 1, false),
        };
        let mut outputs = vec![TableOutputs::new(self, family, rest, 0, job)];
        let destinations = placed.iter().map(|placed| Destination {
            level: Some(placed.level),
            flushed: true,
            bottommost: placed.bottommost,
            compression: placed.compression,
        });
        outputs.extend(destinations.map(|to| TableOutputs::new(self, family, to, 0, job)));
        let written = match placed {
            [] => writer.write(None, None, false, &mut outputs[0]),
            _ => writer.write_apart(placed, &mut outputs),
        };
        // They lie in one directory.
        let some = outputs.iter().find(|outputs| !outputs.files.is_empty());
        if let Err(error) = written.and_then(|()| some.map_or(Ok(()), TableOutputs::sync_dir)) {
            outputs.into_iter().for_each(TableOutputs::discard);
            return Err(match error.file() {
                Some(_) => error,
                None => family.in_memory(error),
            });
        }
        let tables = outputs.iter_mut().flat_map(|outputs| {
            let (level, compression) = (outputs.destination.level, outputs.destination.compression);
            outputs.files.drain(..).map(move |file| Flushed {
                level: level.unwrap_or(0),
                compression,
                file: Arc::new(FileMetadata { epoch_number, ..file }),
            })
        });
        Ok(tables.collect())
    }

    /// Deletes the tables a job wrote for a family that was dropped before they could be installed. After other failures
    /// the MANIFEST may name them.
    pub(crate) fn discard_of_dropped(&self, error: &Error, tables: impl IntoIterator<Item = u64>) {
        if error.kind() == ErrorKind::ColumnFamilyDropped {
            tables
                .into_iter()
                .for_each(|number| self.obsolete.add_table(number));
        }
    }

    /// Lets go of WALs that hold nothing any family still needs.
    pub(crate) fn drop_unneeded_wals(&self, state: &mut DbState) {
        let needed = state.oldest_needed_wal();
        while state.wals.len() > 1 && state.wals.front().is_some_and(|wal| wal.number < needed) {
            if let Some(wal) = state.wals.pop_front() {
                self.older_wal_bytes.fetch_sub(wal.size, Ordering::Relaxed);
                self.obsolete.add(base::filename::wal(&self.wal_dir, wal.number));
            }
        }
    }
}

/// A table that a flush wrote.
#[derive(Clone)]
pub(crate) struct Flushed {
    pub level: usize,
    pub compression: CompressionType,
    pub file: Arc<FileMetadata>,
}

impl Flushed {
    /// As a version edit adds it.
    pub fn in_edit(&self) -> (u32, Arc<FileMetadata>) {
        (self.level as u32, self.file.clone())
    }
}

/// The rows of some memtables, to be written in one part or several.
struct MemtableWriter<'a> {
    family: &'a Family,
    memtables: &'a [Arc<Memtable>],
    snapshots: Vec<SeqNo>,
    tombstones: CompactionTombstones,
}

impl<'a> MemtableWriter<'a> {
    fn new(db: &DbInner, family: &'a Family, memtables: &'a [Arc<Memtable>]) -> Result<MemtableWriter<'a>> {
        let snapshots = db.snapshots.seqnos();
        let sets: Vec<Arc<FragmentedTombstones>> = memtables
            .iter()
            .map(|mem| mem.verified_range_tombstones(&snapshots))
            .collect::<Result<_>>()
            .map_err(|error| family.in_memory(error))?;
        let borrowed: Vec<&FragmentedTombstones> = sets.iter().map(|set| &**set).collect();
        Ok(MemtableWriter {
            family,
            memtables,
            tombstones: CompactionTombstones::new(family.cmp.user().clone(), &borrowed),
            snapshots,
        })
    }

    /// Writes the user keys from `start` to before `end` to `sink`. `bottommost`: nothing of that range lies below.
    fn write(
        &self,
        start: Option<&[u8]>,
        end: Option<&[u8]>,
        bottommost: bool,
        sink: &mut impl OutputSink,
    ) -> Result<()> {
        let family = self.family;
        let user = family.cmp.user();
        let sources = self.memtables.iter().rev();
        let sources = sources.map(|mem| Source::Memtable(mem.cursor())).collect();
        let plain = CompactionRules::new(user.clone());
        let rules = CompactionRules {
            snapshots: self.snapshots.clone(),
            tombstones: self.tombstones.clone(),
            merge_operator: family.values.operator(),
            end: end.map(<[u8]>::to_vec),
            bottommost,
            beyond: match bottommost {
                true => BeyondOutput::nothing(user.clone()),
                false => plain.beyond.clone(),
            },
            ..plain
        };
        let mut cursor = CompactionCursor::new(MergingCursor::over(family.cmp.clone(), sources), rules);
        match start {
            Some(start) => cursor.seek(start),
            None => cursor.seek_to_first(),
        }
        let splitter = OutputSplitter::never(user.clone());
        write_outputs(&mut cursor, OutputRange { start, end }, splitter, sink)
    }

    /// Writes what lies between the streams of `placed` to the first of `outputs`, and each stream to one of the others.
    fn write_apart(&self, placed: &[PlacedStream], outputs: &mut [TableOutputs<'_>]) -> Result<()> {
        let (rest, streams) = outputs.split_at_mut(1);
        let mut rest = OneTable {
            outputs: &mut rest[0],
            bounds: FileBounds::default(),
        };
        // Where what is not written yet begins.
        let mut start = None;
        for (placed, outputs) in placed.iter().zip(streams) {
            let stream = &placed.stream;
            let first = Some(&stream.first[..]);
            if start != first {
                self.write(start, first, false, &mut rest)?;
            }
            self.write(first, stream.end.as_deref(), placed.bottommost, outputs)?;
            start = stream.end.as_deref();
            if start.is_none() {
                return rest.finish();
            }
        }
        self.write(start, None, false, &mut rest)?;
        rest.finish()
    }
}

/// What comes in several parts goes to one table. There must be no range tombstones.
struct OneTable<'s, 'a> {
    outputs: &'s mut TableOutputs<'a>,
    bounds: FileBounds,
}

impl OneTable<'_, '_> {
    fn finish(self) -> Result<()> {
        match self.bounds.is_empty() {
            true => Ok(()),
            false => self.outputs.close(self.bounds),
        }
    }
}

impl OutputSink for OneTable<'_, '_> {
    fn open(&mut self) -> Result<()> {
        match self.bounds.is_empty() {
            true => self.outputs.open(),
            false => Ok(()),
        }
    }

    #[inline]
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.outputs.add(key, value)
    }

    fn add_range_tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()> {
        self.outputs.add_range_tombstone(tombstone)
    }

    fn file_size(&self) -> u64 {
        self.outputs.file_size()
    }

    /// The table stays open for the parts to come.
    fn close(&mut self, bounds: FileBounds) -> Result<()> {
        self.bounds.append(bounds);
        Ok(())
    }
}
