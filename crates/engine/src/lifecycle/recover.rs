//! Recovery: rows in WALs that are in no table yet are replayed, and a session begins.
//!
//! 1. Replay the WALs that some family may need, in order, into memtables. A full memtable becomes a table of
//!    L0 at once.
//! 2. Flush the remaining memtables to tables, except with `avoid_flush_during_recovery` if no table was
//!    written yet and every WAL is intact with its beginning. A row that is too large for a table is skipped,
//!    and its WAL is kept in `lost` ([`set_aside`](super::set_aside)).
//! 3. Begin a MANIFEST with the recovered state, which needs no old WAL, and make CURRENT name it.
//! 4. Begin a WAL; delete every file that is not part of the database.
//!
//! Until step 3 is durable, no existing file is changed. A crash before that repeats the recovery from the
//! same files; the tables that the first one wrote belong to no version, and step 4 of the second deletes
//! them.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::env::thread_cpu;
use base::filename::{self, FileKind};
use base::statistics::Ticker;
use base::sync::MutexGuard;
use base::user_code::catch_or_fail;
use base::{Error, ErrorKind, Kind, MAX_SEQNO, Result, SeqNo};
use manifest::{ManifestState, VersionBuilder, VersionEdit};
use vfs::RandomAccessFile;
use wal::{PredecessorWal, ReaderOptions, RecoveryMode};

use crate::batch::operation::{Operations, set_sequence};
use crate::events::{Event, RowTooLargeOutcome};
use crate::files::lost::Lost;
use crate::lifecycle::manifest_tail::{LONGEST_FILL, ManifestTail, read_manifest};
use crate::lifecycle::moment::{Moment, write_identity};
use crate::lifecycle::set_aside::LargeRows;
use crate::lifecycle::tracked_wals::TrackedWal;
use crate::lifecycle::wal_dir;
use crate::lifecycle::wal_filter::{Filtered, applied_in_place_of};
use crate::log::log_line;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_inner::RECOVERY_JOB;
use crate::state::db_state::PreparedSection;
use crate::state::db_state::{DbState, LiveWal};
use crate::state::log_and_apply::manifest_state;
use crate::state::sections::{Applied, Sections};
use crate::write::pipeline::deletion_kind;
use crate::write::predecessor::Predecessor;
use crate::write::two_phase::encode_section;

/// The minimum length in bytes of a record whose buffer is freed at once.
const LONG_RECORD: usize = 1 << 20;

/// The progress of a replay.
struct Replayed {
    /// The sequence number that the next batch must have; `None` before the first batch.
    next_seqno: Option<SeqNo>,
    /// The highest sequence number read so far.
    last_seqno: SeqNo,
    /// The WAL at whose damage the replay stopped, and the error, until a later WAL is found to continue
    /// without a gap.
    stopped: Option<(u64, Error)>,
    /// The last WAL with a record, and the end of its records.
    end: Predecessor,
    /// The facts about the last WAL that was read, with which the description in the next WAL is compared
    /// (`track_and_verify_wals`).
    observed: Option<PredecessorWal>,
    /// The end of the WAL's last record.
    observed_end: u64,
    /// The WALs read so far.
    wals: Vec<u64>,
    /// The oldest WAL that a family needs, according to the MANIFEST.
    oldest_needed: u64,
    /// A WAL that is needed and does not exist: the next WAL names it.
    missing: Option<u64>,
    /// The WALs that may be overwritten while they are read, because they are recycled.
    recycled: Vec<u64>,
    /// True if part of a WAL was not used, or the beginning of a WAL is lost.
    damaged: bool,
    /// True if a memtable was full and has been flushed to a table.
    flushed: bool,
    /// The rows that were skipped because they are too large.
    large: LargeRows,
    /// The prepared sections without a commit or rollback so far.
    sections: Sections,
    /// True if [`next_seqno`](Self::next_seqno) is a lower bound: the rows after it belong to a section whose
    /// WAL was deleted, so their number is unknown.
    ends_open: bool,
}

impl DbInner {
    /// Recovers for writing: see the module's documentation. `manifest` is the current MANIFEST, already
    /// read.
    pub(crate) fn recover(&self, manifest: &ManifestTail) -> Result<()> {
        self.versions.mark_used(manifest.number());
        if let Some(torn) = manifest.torn() {
            self.notify(&Event::ManifestTorn {
                path: torn.path.display().to_string(),
                offset: torn.offset,
                bytes: torn.bytes,
            });
        }
        let there = self.wals_to_replay()?;
        let wals = self.wals_to_recover(manifest, &there)?;
        let job = RECOVERY_JOB;
        self.notify(&Event::RecoveryBegun {
            job,
            wals: wals.clone(),
        });
        let mut replayed = self.replay(self.open_wals(&wals)?, None)?;
        replayed.damaged |= manifest.gave_up();
        self.set_aside(&replayed.large.rows)?;
        let wal = self.versions.new_file_number();
        let unread = there.iter().find(|number| !replayed.wals.contains(number));
        if let (Some(&unread), Some(archive)) = (unread, self.obsolete.archive()) {
            archive.leave_unread(unread..wal);
        }
        self.sync_for_cursors(&wals)?;
        let mut state = self.state.lock();
        let mut predecessor = (Predecessor::NONE, None);
        // Damage is read only once: later recoveries must not depend on finding it unchanged. With two-phase
        // commit no older WAL is kept: outstanding sections are written to the new WAL.
        let keeps_wals = self.options.avoid_flush_during_recovery && !self.options.allow_2pc;
        if !keeps_wals || replayed.flushed || replayed.damaged {
            let flushed = catch_or_fail(|| self.flush_recovered(&mut state));
            flushed.map_err(|error| match (error.kind(), wals.last()) {
                (ErrorKind::Panicked, Some(&last)) => error.in_file(&filename::wal(&self.wal_dir, last)),
                _ => error,
            })?;
            state.families.values_mut().for_each(|family| {
                family.log_number = wal;
                family.mem.first_wal = wal;
            });
            state.wals.clear();
        } else {
            self.sync_wals(&wals)?;
            predecessor = (replayed.end, replayed.observed);
            self.keep_wals(&mut state, &wals);
        }
        let begun = self.options.clock.now();
        state.wals.push_back(LiveWal {
            number: wal,
            size: 0,
            begun,
        });
        state.first_own_wal = wal;
        self.check_identity(&mut state)?;
        state.families.values_mut().for_each(|family| {
            family.install_super_version();
            family.update_stall();
        });
        drop(state);
        self.set_orphans_aside(manifest, &replayed)?;
        let first = self.write.queue.lock().last_seqno + 1;
        let carried = self.carry_sections(&replayed.sections, wal, predecessor, first)?;
        self.begin_session_manifest()?;
        let mut writer = self.write.queue.lock();
        let log = match carried {
            Some(log) => log,
            None => self.create_wal(wal, None, predecessor, first)?,
        };
        self.wal_tail.begin(wal, &log);
        writer.begin(log);
        drop(writer);
        self.notify(&Event::WalCreated { wal });
        self.write.attention.store(true, Ordering::Relaxed);
        self.track_files()?;
        self.delete_orphans()?;
        self.notify(&Event::Recovered { job });
        Ok(())
    }

    /// The WALs among `there` whose rows are recovered: none, if the MANIFEST was read to an older state.
    fn wals_to_recover(&self, manifest: &ManifestTail, there: &[u64]) -> Result<Vec<u64>> {
        if manifest.gave_up() {
            let path = filename::manifest(&self.dir, manifest.number());
            log_line!(
                self.log,
                Warn,
                "best_efforts_recovery: files are missing, the database opens in an older state of {}; WALs are not replayed",
                path.display()
            );
            return Ok(Vec::new());
        }
        self.check_no_sections()?;
        // If both checks fail, the caller gets the error that names the directory of the WALs.
        self.check_unread_wals()?;
        self.check_any_wal(manifest.number())?;
        self.check_recorded_wals(manifest.wals())?;
        Ok(there.to_vec())
    }

    /// Counts `wals`, whose rows stay in memtables, as live.
    fn keep_wals(&self, state: &mut DbState, wals: &[u64]) {
        let begun = self.options.clock.now();
        let sizes = wals.iter().map(|&number| {
            let path = filename::wal(&self.wal_dir, number);
            let size = self.options.fs.size(&path).unwrap_or(0);
            LiveWal { number, size, begun }
        });
        state.wals = sizes.collect();
        if self.options.track_and_verify_wals_in_manifest {
            state.recorded.wals = state.wals.iter().map(|wal| (wal.number, wal.size)).collect();
        }
        let older_bytes = state.wals.iter().map(|wal| wal.size).sum();
        self.wal_tail.older_bytes.store(older_bytes, Ordering::Relaxed);
    }

    /// Begins WAL `number` with the outstanding prepared sections, if there are any, and makes it durable:
    /// the next MANIFEST needs no older WAL. After a crash in between, the sections are in both WALs.
    fn carry_sections(
        &self,
        sections: &Sections,
        number: u64,
        predecessor: (Predecessor, Option<PredecessorWal>),
        sequence: SeqNo,
    ) -> Result<Option<wal::Writer>> {
        if sections.is_empty() {
            return Ok(None);
        }
        let mut log = self.create_wal(number, None, predecessor, sequence)?;
        let mut state = self.state.lock();
        state.marked = true;
        for (name, batch) in sections.iter() {
            let mut record = encode_section(batch, name);
            set_sequence(&mut record, sequence);
            log.add_record_and_flush(&record)?;
            let section = PreparedSection {
                wal: number,
                recovered: Some(Arc::new(batch.clone())),
            };
            state.sections.insert(name.to_vec(), section);
        }
        drop(state);
        let fs = &*self.options.fs;
        fs.sync_file(&filename::wal(&self.wal_dir, number))?;
        fs.sync_dir(&self.wal_dir)?;
        Ok(Some(log))
    }

    /// Recovers into memory only. `moment` was read before the MANIFEST: `TryAgain` if the MANIFEST has been
    /// written to since.
    pub(crate) fn recover_read_only(&self, moment: &Moment, manifest: &ManifestTail) -> Result<()> {
        let gone = |error: Error| match error.kind() {
            ErrorKind::NotFound => error.with_kind(ErrorKind::TryAgain),
            _ => error,
        };
        // A writer of an earlier release deletes a WAL without a MANIFEST edit if the families that may need
        // it have no rows in it.
        let wals = match manifest.gave_up() {
            true => Vec::new(),
            false => {
                self.check_unread_wals()?;
                self.open_wals(&self.wals_to_replay()?).map_err(gone)?
            }
        };
        {
            let state = self.state.lock();
            let mut families = state.families.values();
            families
                .try_for_each(|own| self.hold_files(&own.family, &own.version))
                .map_err(gone)?;
        }
        // Every file that the MANIFEST needs is open now, and stays readable even if it is deleted.
        if *moment != Moment::of(&self.options, &self.dir)? {
            return Err(Error::new(ErrorKind::TryAgain, "the MANIFEST has changed").in_file(&self.dir));
        }
        let replayed = self.replay(wals, Some(moment))?;
        self.report_large_rows(&replayed.large.rows, |_| RowTooLargeOutcome::PassedOver);
        // A recycled WAL is renamed before it is overwritten, so a WAL that still has its name was read
        // intact.
        for &number in &replayed.recycled {
            if !self.options.fs.exists(&filename::wal(&self.wal_dir, number))? {
                return Err(Error::new(ErrorKind::TryAgain, "a WAL was written over").in_file(&self.dir));
            }
        }
        // A family that was created or dropped during the recovery was so before some of the rows, so the
        // rows may be incomplete.
        if *moment != Moment::of(&self.options, &self.dir)? {
            let (_, now) = read_manifest(&self.options, &self.dir)?;
            if !self.families_are_those_of(&now) {
                return Err(Error::new(ErrorKind::TryAgain, "the families have changed").in_file(&self.dir));
            }
        }
        self.state
            .lock()
            .families
            .values()
            .for_each(|family| family.install_super_version());
        Ok(())
    }

    /// True if no family was created or dropped up to the state `now` of the MANIFEST, not even one that was
    /// created and dropped since.
    fn families_are_those_of(&self, now: &ManifestState) -> bool {
        let state = self.state.lock();
        now.max_column_family == state.max_family && now.families.keys().eq(state.families.keys())
    }

    /// The numbers of the WALs that may hold rows of no table, in ascending order. Marks every number in use.
    fn wals_to_replay(&self) -> Result<Vec<u64>> {
        let fs = &*self.options.fs;
        let state = self.state.lock();
        let oldest = state.oldest_recorded_wal();
        let mut wals = BTreeSet::new();
        let others = self.options.other_table_directories(&self.dir);
        for dir in others.iter().chain([&self.dir, &self.wal_dir]) {
            for name in fs.list(dir)? {
                match filename::parse(&name) {
                    Some(FileKind::Wal(number)) => {
                        self.versions.mark_used(number);
                        if number >= oldest && dir == &self.wal_dir {
                            wals.insert(number);
                        }
                    }
                    Some(
                        FileKind::Table(number)
                        | FileKind::Blob(number)
                        | FileKind::Manifest(number)
                        | FileKind::Options(number),
                    ) => self.versions.mark_used(number),
                    _ => {}
                }
            }
        }
        Ok(wals.into_iter().collect())
    }

    /// Replays the WALs. If `live` is given, it is the moment of a MANIFEST that another process may be
    /// writing, along with the WALs; then nothing is flushed.
    fn replay(&self, wals: Vec<(u64, Arc<dyn RandomAccessFile>)>, live: Option<&Moment>) -> Result<Replayed> {
        let last_seqno = self.published.load(Ordering::Acquire);
        let mut replayed = Replayed {
            next_seqno: None,
            last_seqno,
            stopped: None,
            end: Predecessor::NONE,
            observed: None,
            observed_end: 0,
            wals: Vec::new(),
            oldest_needed: self.state.lock().oldest_recorded_wal_of_rows(),
            missing: None,
            recycled: Vec::new(),
            damaged: false,
            flushed: false,
            large: LargeRows::new(self.options.row_limit),
            sections: Sections::new(self.options.allow_2pc),
            ends_open: false,
        };
        self.notify_wal_filter_of_families()?;
        for (number, file) in wals {
            if !self.replay_wal(number, file, &mut replayed, live)? {
                break;
            }
        }
        if let Some((number, error)) = &replayed.stopped {
            let state = self.state.lock();
            let ahead = state
                .families
                .values()
                .find(|family| family.log_number > *number && family.version.num_files() > 0);
            if let Some(ahead) = ahead {
                return Err(Error::corruption(format!(
                    "SST file is ahead of WALs in CF {}: {error}",
                    ahead.family.name
                ))
                .in_file(&filename::wal(&self.wal_dir, *number)));
            }
        }
        self.write.queue.lock().last_seqno = replayed.last_seqno;
        self.published.store(replayed.last_seqno, Ordering::Release);
        for own in self.state.lock().families.values() {
            own.family.file_changes.recovered(replayed.last_seqno);
        }
        Ok(replayed)
    }

    /// Syncs the WALs of a former process that stay in use: rows that this process syncs later must not
    /// survive a crash without the rows before them.
    fn sync_wals(&self, wals: &[u64]) -> Result<()> {
        let fs = &*self.options.fs;
        wals.iter()
            .try_for_each(|&number| fs.sync_file(&filename::wal(&self.wal_dir, number)))?;
        fs.sync_dir(&self.wal_dir)
    }

    /// Syncs the recovered WALs before tables with their rows are written, if a change feed has a cursor: the
    /// feed must not lose rows that a table has.
    pub(crate) fn sync_for_cursors(&self, wals: &[u64]) -> Result<()> {
        match self.has_cursors() {
            true => self.sync_wals(wals),
            false => Ok(()),
        }
    }

    /// Replays one WAL. False if the WALs after it must not be replayed.
    fn replay_wal(
        &self,
        number: u64,
        file: Arc<dyn RandomAccessFile>,
        replayed: &mut Replayed,
        live: Option<&Moment>,
    ) -> Result<bool> {
        let path = filename::wal(&self.wal_dir, number);
        let mode = self.options.wal_recovery_mode;
        let mut reader = wal::Reader::new(
            file,
            ReaderOptions {
                log_number: Some(number),
                mode,
            },
        )
        .with_readahead(self.options.log_readahead_size);
        let mut state = self.state.lock();
        let mut checked_timestamps = 0;
        let mut record = Vec::new();
        // The offset at which the last replayed record ends.
        let mut end = 0;
        let mut dropped = LiveDropped::default();
        let mut tracked = TrackedWal::new(number);
        loop {
            let read = reader.read_record_into(&mut record);
            // The end of a live WAL may be half written at any time, and damage before other records may have
            // been written while it was read.
            let ended = matches!(read, Ok(false)) && reader.stopped().is_none();
            if live.is_some() && !ended && dropped.may_be_gone(&reader, end) {
                dropped.read_again(&mut reader, end);
                continue;
            }
            let read = read?;
            if !self.may_follow(&mut tracked, &reader, replayed)? {
                return Ok(false);
            }
            if !read {
                break;
            }
            if record.len() < crate::batch::operation::HEADER_LEN {
                let len = record.len();
                reader.reject(len, "log record too small")?;
                continue;
            }
            let in_wal = |error: Error, at: u64| error.offset_by(at).in_file(&path);
            let operations = Operations::new(&record)?;
            let (seqno, count) = (operations.sequence(), u64::from(operations.promised()));
            let hole = reader.unused_before() > LONGEST_FILL && replayed.next_seqno != Some(seqno);
            // A hole in a live WAL may have been filled during the read, since the bytes after it were read
            // later: read it again.
            if hole && live.is_some() && !dropped.was_read_again(end) {
                dropped.read_again(&mut reader, end);
                continue;
            }
            if mode == RecoveryMode::PointInTime && hole {
                // The tail of a WAL reaches the disk page by page, in any order: after a power failure, zeros
                // may precede rows that survived. The rows after the hole follow rows that are lost, so they
                // are not decoded: the record with the compression of this WAL may be lost too.
                let error =
                    Error::corruption("rows are missing before this record").at(reader.record_offset());
                self.report_dropped(&path, "rows are missing in the middle");
                replayed.damaged = true;
                replayed.stopped.get_or_insert((number, error));
                replayed.wals.push(number);
                return Ok(true);
            }
            if seqno > MAX_SEQNO - count {
                let error =
                    Error::corruption(format!("Sequence number {seqno} of {count} rows is too large"));
                return Err(in_wal(error, reader.record_offset()));
            }
            if let Some(next) = replayed.next_seqno.filter(|next| seqno < *next) {
                let error =
                    Error::corruption(format!("Out of order sequence number {seqno}, {next} expected"));
                return Err(in_wal(error, reader.record_offset()));
            }
            let predecessor = Predecessor::decode(Operations::new(&record)?)?;
            if let Some(missing) = replayed.lost_before(number, predecessor, &reader) {
                replayed.missing = Some(missing);
                if !self.passes_over_missing(missing, &path, replayed, live.is_some())? {
                    return Ok(false);
                }
            }
            let before = predecessor.filter(|before| replayed.wals.contains(&before.number));
            let goes_on = match before {
                Some(before) => replayed.goes_on_at(before.next_seqno),
                None => replayed.stopped.is_none() || replayed.goes_on_at(seqno),
            };
            if !goes_on {
                let error = Error::corruption("it does not continue where the previous WAL ends");
                match mode {
                    RecoveryMode::AbsoluteConsistency => return Err(in_wal(error, reader.record_offset())),
                    RecoveryMode::PointInTime => {
                        self.report_dropped(&path, error.message());
                        replayed.damaged = true;
                        replayed.stopped.get_or_insert((number, error));
                        return Ok(false);
                    }
                    RecoveryMode::TolerateCorruptedTailRecords | RecoveryMode::SkipAnyCorruptedRecords => {}
                }
            }
            // The previous WAL has lost its beginning, and with it the end of its own predecessor. No rows
            // are missing, as the WALs before it show; those may be deleted when this WAL is read again.
            replayed.damaged |= before.is_some_and(|before| before.number != replayed.end.number);
            replayed.stopped = None;
            let offset = reader.record_offset();
            if let Some(moment) = live {
                self.check_families_are_known(&state, operations.clone(), moment)?;
            }
            let changed = match self
                .filter_record(number, &path, &record)
                .map_err(|error| in_wal(error, offset))?
            {
                Filtered::AsItIs => None,
                Filtered::Changed(batch) => Some(batch),
                Filtered::Stop => {
                    self.report_dropped(&path, "the WAL filter stopped the replay");
                    replayed.damaged = true;
                    replayed.wals.push(number);
                    return Ok(false);
                }
                Filtered::Corrupted(reason) => {
                    reader.reject(record.len(), &reason)?;
                    continue;
                }
            };
            let operations = match &changed {
                Some(batch) => batch.operations(),
                None => operations,
            };
            // A WAL with records that were not applied is not read again.
            replayed.damaged |= changed.is_some();
            let acknowledged = replayed.large.begin_batch(number, &operations, record.len());
            let applied = catch_or_fail(|| self.replay_batch(&mut state, number, operations, replayed))
                .map_err(|error| in_wal(error, offset))?;
            let applied = match changed {
                Some(_) => applied_in_place_of(&record, applied)?,
                None => applied,
            };
            let next = applied.next;
            if next > MAX_SEQNO {
                let error = Error::corruption(format!("Sequence number {next} after a commit is too large"));
                return Err(in_wal(error, offset));
            }
            // A memtable may be flushed below, which needs as much memory again as its longest row: free the
            // long record first.
            if record.len() > LONG_RECORD {
                record = Vec::new();
            }
            end = reader.record_end();
            tracked.note(seqno);
            replayed.next_seqno = Some(if acknowledged { next } else { seqno });
            replayed.ends_open = applied.ends_open;
            replayed.end = Predecessor {
                number,
                next_seqno: next,
                kept: true,
            };
            // A batch without rows has a sequence number too, and a batch written after it must not have a
            // lower one.
            replayed.last_seqno = replayed.last_seqno.max(next.saturating_sub(1));
            if reader.timestamp_sizes().len() != checked_timestamps {
                checked_timestamps = reader.timestamp_sizes().len();
                check_timestamp_sizes(&state, reader.timestamp_sizes())
                    .map_err(|error| in_wal(error, offset))?;
            }
            if live.is_none() {
                let flushed = catch_or_fail(|| self.flush_full(&mut state));
                replayed.flushed |= flushed.map_err(|error| match error.kind() {
                    ErrorKind::Panicked => in_wal(error, offset),
                    _ => error,
                })?;
            }
        }
        drop(state);
        // Skipped rows are reported once, and their WAL is not read again.
        replayed.damaged |= !replayed.large.rows.is_empty();
        replayed.wals.push(number);
        if reader.is_recycled() {
            replayed.recycled.push(number);
        }
        if let Some(error) = reader.stopped() {
            replayed.stopped = Some((number, error.clone()));
        }
        replayed.observed = self.observe(&tracked)?;
        replayed.observed_end = end;
        let dropped = dropped.all(&reader);
        replayed.damaged |= !dropped.is_empty();
        self.report_all_dropped(&path, &dropped);
        Ok(true)
    }

    /// False if the replay ends before WAL `tracked`, because the description of its predecessor does not
    /// match the WAL before it.
    fn may_follow(
        &self,
        tracked: &mut TrackedWal,
        reader: &wal::Reader,
        replayed: &mut Replayed,
    ) -> Result<bool> {
        let observed = replayed.observed.filter(|_| replayed.stopped.is_none());
        let Some(error) = self.check_predecessor(tracked, reader, observed, replayed.observed_end)? else {
            return Ok(true);
        };
        self.report_dropped(&filename::wal(&self.wal_dir, tracked.number), error.message());
        replayed.damaged = true;
        replayed.stopped = observed.map(|observed| (observed.log_number, error));
        Ok(false)
    }

    fn report_all_dropped(&self, path: &std::path::Path, all: &[wal::Dropped]) {
        for dropped in all {
            let wal::Dropped {
                bytes,
                offset,
                reason,
            } = dropped;
            self.report_dropped(path, &format!("{bytes} bytes at {offset}: {reason}"));
        }
    }

    /// True if the replay continues although WAL `missing`, which the WAL in `path` names, does not exist.
    /// Under `PointInTime`, the replay stops before the naming WAL.
    fn passes_over_missing(
        &self,
        missing: u64,
        path: &std::path::Path,
        replayed: &mut Replayed,
        live: bool,
    ) -> Result<bool> {
        let gone = filename::wal(&self.wal_dir, missing);
        let behind = path.file_name().unwrap_or_default().to_string_lossy();
        let error = missing_wal(missing, &behind).in_file(&gone);
        if live && self.options.fs.exists(&gone)? {
            // The missing WAL exists now: it was created while the directory was listed.
            return Err(error.with_kind(ErrorKind::TryAgain));
        }
        let mode = self.options.wal_recovery_mode;
        if matches!(
            mode,
            RecoveryMode::AbsoluteConsistency | RecoveryMode::TolerateCorruptedTailRecords
        ) {
            return Err(error);
        }
        self.report_dropped(path, error.message());
        replayed.damaged = true;
        if mode == RecoveryMode::PointInTime {
            replayed.stopped.get_or_insert((missing, error));
            return Ok(false);
        }
        Ok(true)
    }

    fn report_dropped(&self, path: &std::path::Path, reason: &str) {
        self.notify(&Event::WalDropped {
            path: path.display().to_string(),
            reason: reason.to_owned(),
        });
    }

    /// `TryAgain` if the batch is for a family that was created after the MANIFEST was read: skipping its
    /// rows would leave a hole.
    fn check_families_are_known(
        &self,
        state: &DbState,
        operations: Operations<'_>,
        moment: &Moment,
    ) -> Result<()> {
        // The replay reports an operation that cannot be decoded.
        for operation in operations.map_while(Result::ok) {
            let newer = operation.family().is_some_and(|id| id > state.max_family);
            if newer && *moment != Moment::of(&self.options, &self.dir)? {
                return Err(Error::new(ErrorKind::TryAgain, "a column family was created").in_file(&self.dir));
            }
        }
        Ok(())
    }

    /// Inserts a batch of WAL `number` into the memtables of the families that need it, without rows that are
    /// too large. Rows of a prepared section count as rows of the WAL that commits it, because the commit put
    /// them into a memtable.
    fn replay_batch(
        &self,
        state: &mut DbState,
        number: u64,
        operations: Operations<'_>,
        replayed: &mut Replayed,
    ) -> Result<Applied> {
        let Replayed { large, sections, .. } = replayed;
        sections.apply(operations, |id, seqno, kind, key, value| {
            // The rows of a family that was dropped, or has flushed them, still use up sequence numbers.
            let Some(family) = state
                .families
                .get(&id)
                .filter(|family| number >= family.log_number)
            else {
                return;
            };
            let kind = match kind {
                Kind::Deletion => deletion_kind(&family.family),
                kind => kind,
            };
            if large.takes(id, seqno, kind, key, value) {
                return;
            }
            family.mem.table.add(seqno, kind, key, value);
        })
    }

    /// Flushes the memtables that recovery has filled to tables. True if there were any.
    pub(crate) fn flush_full(&self, state: &mut MutexGuard<'_, DbState>) -> Result<bool> {
        let full: Vec<u32> = {
            let full = state.families.values().filter(|family| family.mem_is_full());
            full.map(|family| family.family.id).collect()
        };
        for &id in &full {
            self.flush_one_recovered(state, id)?;
        }
        Ok(!full.is_empty())
    }

    pub(crate) fn flush_recovered(&self, state: &mut MutexGuard<'_, DbState>) -> Result<()> {
        let ids: Vec<u32> = state.families.keys().copied().collect();
        ids.into_iter()
            .try_for_each(|id| self.flush_one_recovered(state, id))
    }

    /// Flushes a family's memtable to a table that is in its version but not in a MANIFEST yet.
    fn flush_one_recovered(&self, state: &mut MutexGuard<'_, DbState>, id: u32) -> Result<()> {
        let own = state.family_mut(id)?;
        if own.mem.table.is_empty() {
            return Ok(());
        }
        let (family, table) = (own.family.clone(), own.mem.table.clone());
        let epoch_number = own.version.next_epoch_number();
        let (start, before) = (self.options.clock.now(), thread_cpu());
        let flushed = self.write_memtables(&family, &[table], &[], epoch_number, RECOVERY_JOB)?;
        if let Some(low) = flushed.raised_low(&family, &own.full_history_ts_low) {
            own.full_history_ts_low = low;
        }
        if !flushed.tables.is_empty() {
            let bytes: u64 = flushed.tables.iter().map(|table| table.file.size).sum();
            let took = self.options.clock.now().saturating_sub(start);
            own.stats
                .recovered(bytes, took, thread_cpu().saturating_sub(before));
            let blob_bytes = flushed.blob_bytes();
            own.stats.flushed_blobs(blob_bytes);
            self.stats.add(Ticker::FlushWriteBytes, bytes + blob_bytes);
            let edit = VersionEdit {
                column_family: id,
                new_files: flushed.new_files(),
                blob_file_additions: flushed.blob_files,
                ..VersionEdit::default()
            };
            let mut builder = VersionBuilder::new(&own.version);
            builder.apply(&edit)?;
            own.version = Arc::new(builder.build()?);
        }
        own.mem.table = self.new_memtable(&family);
        Ok(())
    }

    /// Checks that IDENTITY and MANIFEST have the same database id, if they have to record it.
    fn check_identity(&self, state: &mut DbState) -> Result<()> {
        state.recorded.db_id = self
            .options
            .write_dbid_to_manifest
            .then(|| self.identity.db_id.clone());
        if !self.options.write_identity_file {
            return Ok(());
        }
        let stored = crate::lifecycle::moment::read_identity(&*self.options.fs, &self.dir)?;
        if stored.as_deref() != Some(&self.identity.db_id) {
            write_identity(&*self.options.fs, &self.dir, &self.identity.db_id)?;
        }
        Ok(())
    }

    /// Begins the MANIFEST of this session with the recovered state.
    fn begin_session_manifest(&self) -> Result<()> {
        let state = self.state.lock();
        let last_sequence = self.published.load(std::sync::atomic::Ordering::Acquire);
        let mut snapshot = manifest_state(&state, last_sequence);
        drop(state);
        self.versions.begin_manifest(|next_file_number| {
            snapshot.next_file_number = next_file_number;
            snapshot
        })?;
        Ok(())
    }

    /// Moves files to `lost/` that the next open would delete although they may hold missing data: after a
    /// torn MANIFEST, every table and blob file that the lost edits may have named; after a missing WAL, the
    /// WALs that were not read; all of them, with the MANIFESTs, if newer states were given up. Called before
    /// the MANIFEST of this session is in force, which is intact and names none of them.
    fn set_orphans_aside(&self, manifest: &ManifestTail, replayed: &Replayed) -> Result<()> {
        let (torn, gave_up) = (manifest.torn(), manifest.gave_up());
        if torn.is_none() && replayed.missing.is_none() && !gave_up {
            return Ok(());
        }
        let fs = &*self.options.fs;
        let may_hold_rows = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            match name.and_then(filename::parse) {
                // A WAL that was replayed is not moved, because its rows are in tables.
                Some(FileKind::Wal(number)) => !replayed.wals.contains(&number),
                Some(FileKind::Table(_) | FileKind::Blob(_)) => torn.is_some() || gave_up,
                _ => false,
            }
        };
        let orphans = self.orphans()?;
        let (aside, others): (Vec<PathBuf>, Vec<PathBuf>) = orphans.into_iter().partition(may_hold_rows);
        if aside.is_empty() {
            return Ok(());
        }
        let lost = Lost::create(fs, &self.dir)?;
        if let Some(torn) = torn {
            lost.keep(&torn.path)?;
        }
        if gave_up {
            // Older MANIFESTs stay until this session's MANIFEST is in force: an open after a crash must find
            // one.
            let is_manifest = |path: &&PathBuf| {
                let name = path.file_name().and_then(|name| name.to_str());
                matches!(name.and_then(filename::parse), Some(FileKind::Manifest(_)))
            };
            for path in others.iter().filter(is_manifest) {
                lost.keep(path)?;
            }
        }
        let mut kept = Vec::with_capacity(aside.len());
        for path in &aside {
            kept.push(lost.keep(path)?.display().to_string());
        }
        lost.sync()?;
        aside.iter().try_for_each(|path| fs.remove(path))?;
        self.notify(&Event::FilesSetAside {
            job: RECOVERY_JOB,
            files: kept,
        });
        Ok(())
    }

    /// Queues the files of the engine that are not part of the database for deletion.
    fn delete_orphans(&self) -> Result<()> {
        let orphans = self.orphans()?;
        orphans.into_iter().for_each(|path| self.obsolete.add(path));
        Ok(())
    }

    /// The files of the engine that are not part of the database. All MANIFESTs count except the one that
    /// this session writes.
    fn orphans(&self) -> Result<Vec<PathBuf>> {
        let fs = &*self.options.fs;
        let state = self.state.lock();
        let wals: VecDeque<LiveWal> = state.wals.clone();
        let (mut tables, mut blobs) = (BTreeSet::new(), BTreeSet::new());
        for family in state.families.values() {
            tables.extend(family.version.all_files().map(|(_, file)| file.number));
            blobs.extend(family.version.blob_files().keys().copied());
        }
        drop(state);
        let manifest = self.versions.manifest_number();
        let mut orphans: Vec<PathBuf> = Vec::new();
        let others = self.options.other_table_directories(&self.dir);
        for dir in others.iter().chain([&self.dir, &self.wal_dir]) {
            let has_tables = dir == &self.dir || others.contains(dir);
            for name in fs.list(dir)? {
                let needed = match filename::parse(&name) {
                    // A WAL outside the WAL directory was not read, so it is kept.
                    Some(FileKind::Wal(_)) if dir != &self.wal_dir => true,
                    Some(FileKind::Wal(number)) => wals.iter().any(|wal| wal.number == number),
                    Some(FileKind::Table(number)) if has_tables => tables.contains(&number),
                    Some(FileKind::Blob(number)) if has_tables => blobs.contains(&number),
                    // Other files in a directory of WALs or tables do not belong to the database and are
                    // kept.
                    _ if dir != &self.dir => dir != &self.wal_dir || name != wal_dir::TEMPORARY,
                    Some(FileKind::Manifest(number)) => number == manifest,
                    Some(FileKind::Temp) => false,
                    _ => true,
                };
                if !needed {
                    orphans.push(dir.join(name));
                }
            }
        }
        orphans.sort();
        orphans.dedup();
        Ok(orphans)
    }
}

impl Replayed {
    /// True if the next row after the replayed ones may have the number `seqno`.
    fn goes_on_at(&self, seqno: SeqNo) -> bool {
        match self.next_seqno {
            Some(next) if self.ends_open => next <= seqno,
            next => next == Some(seqno),
        }
    }

    /// The missing WAL before WAL `number`, if there is one: it is named in `predecessor`, or in RocksDB's
    /// record for this purpose.
    fn lost_before(
        &self,
        number: u64,
        predecessor: Option<Predecessor>,
        reader: &wal::Reader,
    ) -> Option<u64> {
        let ours = predecessor.filter(|named| named.kept).map(|named| named.number);
        let named = ours.or_else(|| reader.predecessor().map(|named| named.log_number))?;
        let is_needed = (self.oldest_needed..number).contains(&named);
        (is_needed && self.missing != Some(named) && !self.wals.contains(&named)).then_some(named)
    }
}

/// The error for WAL `missing`, which does not exist although the WAL with the name `behind` needs it.
pub(crate) fn missing_wal(missing: u64, behind: &str) -> Error {
    Error::corruption(format!(
        "Missing WAL {missing:06}.log: {behind} follows it, and the MANIFEST does not record that its rows are in tables"
    ))
}

/// The corruptions that a reader of a live WAL has skipped, confirmed by a second read. The writer fills
/// memory that is read in pieces: the front of a record may be missing although the rest is there. A second
/// read finds it complete, as it does every record before it, so a corruption found twice is a corruption on
/// disk.
#[derive(Default)]
struct LiveDropped {
    /// The corruptions found twice, before the position at which the reader was last resumed.
    before: Vec<wal::Dropped>,
    /// The number of later corruptions that were found twice.
    confirmed: usize,
    /// The position at which the reader was last resumed.
    went_on_at: Option<u64>,
}

impl LiveDropped {
    /// True if a corruption after `end`, the end of the last record, was found only once: then the reader
    /// must be resumed at `end`.
    fn may_be_gone(&mut self, reader: &wal::Reader, end: u64) -> bool {
        let met = reader.dropped().len();
        let once = met > self.confirmed && !self.was_read_again(end);
        if !once {
            self.confirmed = met;
        }
        once
    }

    /// True if the reader was already resumed at `end`: then data missing after it is missing on disk.
    fn was_read_again(&self, end: u64) -> bool {
        self.went_on_at == Some(end)
    }

    /// Lets the reader of a WAL continue at `end`.
    fn read_again(&mut self, reader: &mut wal::Reader, end: u64) {
        self.before.extend_from_slice(&reader.dropped()[..self.confirmed]);
        self.confirmed = 0;
        self.went_on_at = Some(end);
        reader.resume_from(end);
    }

    /// All corruptions to report.
    fn all(self, reader: &wal::Reader) -> Vec<wal::Dropped> {
        let mut all = self.before;
        all.extend_from_slice(reader.dropped());
        all
    }
}

/// `InvalidArgument` if a WAL was written with timestamps of other sizes than its families have now.
fn check_timestamp_sizes(state: &DbState, recorded: &std::collections::BTreeMap<u32, u16>) -> Result<()> {
    let families = recorded.keys().filter_map(|id| state.families.get(id));
    families
        .map(|family| &*family.family)
        .try_for_each(|family| check_timestamp_size(family, recorded))
}

/// Same as [`check_timestamp_sizes`], for one family.
pub(crate) fn check_timestamp_size(
    family: &Family,
    recorded: &std::collections::BTreeMap<u32, u16>,
) -> Result<()> {
    if let Some(&size) = recorded.get(&family.id) {
        let now = family.cmp.user().timestamp_size();
        if now != usize::from(size) {
            return Err(Error::invalid_argument(format!(
                "the WAL holds rows of column family {} with timestamps of {size} bytes, its comparator has {now}",
                family.name
            )));
        }
    }
    Ok(())
}
