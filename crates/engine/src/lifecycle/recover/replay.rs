//! The replay of WALs into memtables, in order: where it skips, where it stops, and where it fails.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::filename;
use base::sync::MutexGuard;
use base::user_code::catch_or_fail;
use base::{Error, ErrorKind, Kind, MAX_SEQNO, Result, SeqNo};
use vfs::RandomAccessFile;
use wal::{PredecessorWal, ReaderOptions, RecoveryMode};

use crate::batch::operation::{HEADER_LEN, Operations};
use crate::batch::write_batch::WriteBatch;
use crate::events::Event;
use crate::lifecycle::manifest_tail::LONGEST_FILL;
use crate::lifecycle::moment::Moment;
use crate::lifecycle::set_aside::LargeRows;
use crate::lifecycle::tracked_wals::TrackedWal;
use crate::lifecycle::wal_filter::{Filtered, applied_in_place_of};
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::DbState;
use crate::state::sections::{Applied, Sections};
use crate::write::pipeline::deletion_kind;
use crate::write::predecessor::Predecessor;

/// The minimum length in bytes of a record whose buffer is freed at once.
const LONG_RECORD: usize = 1 << 20;

/// The progress of a replay.
pub(super) struct Replayed {
    /// The sequence number that the next batch must have; `None` before the first batch.
    next_seqno: Option<SeqNo>,
    /// The highest sequence number read so far.
    last_seqno: SeqNo,
    /// The WAL at whose damage the replay stopped, and the error, until a later WAL is found to continue
    /// without a gap.
    stopped: Option<(u64, Error)>,
    /// The last WAL with a record, and the end of its records.
    pub end: Predecessor,
    /// The facts about the last WAL that was read, with which the description in the next WAL is compared
    /// (`track_and_verify_wals`).
    pub observed: Option<PredecessorWal>,
    /// The end of the WAL's last record.
    observed_end: u64,
    /// The WALs read so far.
    pub wals: Vec<u64>,
    /// The oldest WAL that a family needs, according to the MANIFEST.
    oldest_needed: u64,
    /// A WAL that is needed and does not exist: the next WAL names it.
    pub missing: Option<u64>,
    /// The WALs that may be overwritten while they are read, because they are recycled.
    pub recycled: Vec<u64>,
    /// True if part of a WAL was not used, or the beginning of a WAL is lost.
    pub damaged: bool,
    /// True if a memtable was full and has been flushed to a table.
    pub flushed: bool,
    /// The rows that were skipped because they are too large.
    pub large: LargeRows,
    /// The prepared sections without a commit or rollback so far.
    pub sections: Sections,
    /// True if [`next_seqno`](Self::next_seqno) is a lower bound: the rows after it belong to a section whose
    /// WAL was deleted, so their number is unknown.
    ends_open: bool,
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

impl DbInner {
    /// Replays the WALs. If `live` is given, it is the moment of a MANIFEST that another process may be
    /// writing, along with the WALs; then nothing is flushed.
    pub(super) fn replay(
        &self,
        wals: Vec<(u64, Arc<dyn RandomAccessFile>)>,
        live: Option<&Moment>,
    ) -> Result<Replayed> {
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

    /// Replays one WAL. False if the WALs after it must not be replayed.
    fn replay_wal(
        &self,
        number: u64,
        file: Arc<dyn RandomAccessFile>,
        replayed: &mut Replayed,
        live: Option<&Moment>,
    ) -> Result<bool> {
        let mut wal = WalReplay::new(self, number, file, replayed, live);
        let mut state = self.state.lock();
        let mut record = Vec::new();
        loop {
            match wal.replay_next(&mut state, &mut record)? {
                Next::Record => {}
                Next::End => break,
                Next::Stop { later_wals } => return Ok(later_wals),
            }
        }
        drop(state);
        wal.finish()?;
        Ok(true)
    }
}

/// The next part of a replay.
enum Next {
    /// The record after this one; or this one again, which may have been incomplete when it was read.
    Record,
    /// The WAL is at its end.
    End,
    /// Nothing more of the WAL is replayed. The WALs after it are replayed if `later_wals` is true.
    Stop { later_wals: bool },
}

/// The replay of one WAL.
struct WalReplay<'a> {
    db: &'a DbInner,
    number: u64,
    path: PathBuf,
    reader: wal::Reader,
    /// The moment of the MANIFEST, if another process may be writing the WAL.
    live: Option<&'a Moment>,
    /// The progress over all WALs.
    replayed: &'a mut Replayed,
    /// The offset at which the last replayed record ends.
    end: u64,
    dropped: LiveDropped,
    tracked: TrackedWal,
    /// The number of families whose sizes of timestamps were checked.
    checked_timestamps: usize,
}

impl<'a> WalReplay<'a> {
    fn new(
        db: &'a DbInner,
        number: u64,
        file: Arc<dyn RandomAccessFile>,
        replayed: &'a mut Replayed,
        live: Option<&'a Moment>,
    ) -> WalReplay<'a> {
        let options = ReaderOptions {
            log_number: Some(number),
            mode: db.options.wal_recovery_mode,
        };
        WalReplay {
            db,
            number,
            path: filename::wal(&db.wal_dir, number),
            reader: wal::Reader::new(file, options).with_readahead(db.options.log_readahead_size),
            live,
            replayed,
            end: 0,
            dropped: LiveDropped::default(),
            tracked: TrackedWal::new(number),
            checked_timestamps: 0,
        }
    }

    /// Reads the next record into `record`, and applies it unless the replay ends before it.
    fn replay_next(&mut self, state: &mut MutexGuard<'_, DbState>, record: &mut Vec<u8>) -> Result<Next> {
        let read = self.reader.read_record_into(record);
        // The end of a live WAL may be half written at any time, and damage before other records may have
        // been written while it was read.
        let ended = matches!(read, Ok(false)) && self.reader.stopped().is_none();
        if self.live.is_some() && !ended && self.dropped.may_be_gone(&self.reader, self.end) {
            self.dropped.read_again(&mut self.reader, self.end);
            return Ok(Next::Record);
        }
        let read = read?;
        if !self.may_follow()? {
            return Ok(Next::Stop { later_wals: false });
        }
        if !read {
            return Ok(Next::End);
        }
        if record.len() < HEADER_LEN {
            self.reader.reject(record.len(), "log record too small")?;
            return Ok(Next::Record);
        }
        self.replay_record(state, record)
    }

    /// False if the replay ends before this WAL, because its description of its predecessor does not match
    /// the WAL before it.
    fn may_follow(&mut self) -> Result<bool> {
        let observed = self.replayed.observed;
        let observed = observed.filter(|_| self.replayed.stopped.is_none());
        let end = self.replayed.observed_end;
        let differs = self
            .db
            .check_predecessor(&mut self.tracked, &self.reader, observed, end)?;
        let Some(error) = differs else {
            return Ok(true);
        };
        self.report_dropped(error.message());
        self.replayed.damaged = true;
        self.replayed.stopped = observed.map(|observed| (observed.log_number, error));
        Ok(false)
    }

    /// Applies `record`, if nothing is missing before it and the filter of the options permits it.
    fn replay_record(&mut self, state: &mut MutexGuard<'_, DbState>, record: &mut Vec<u8>) -> Result<Next> {
        let operations = Operations::new(record)?;
        if let Some(next) = self.hole_before(operations.sequence()) {
            return Ok(next);
        }
        self.check_seqno(&operations)?;
        let predecessor = Predecessor::decode(operations.clone())?;
        if !self.passes_over_missing(predecessor)? || !self.continues(predecessor, operations.sequence())? {
            return Ok(Next::Stop { later_wals: false });
        }
        if let Some(moment) = self.live {
            self.check_families_are_known(state, operations, moment)?;
        }
        let changed = match self
            .db
            .filter_record(self.number, &self.path, record)
            .map_err(|error| self.in_wal(error))?
        {
            Filtered::AsItIs => None,
            Filtered::Changed(batch) => Some(batch),
            Filtered::Stop => {
                self.report_dropped("the WAL filter stopped the replay");
                self.replayed.damaged = true;
                self.replayed.wals.push(self.number);
                return Ok(Next::Stop { later_wals: false });
            }
            Filtered::Corrupted(reason) => {
                self.reader.reject(record.len(), &reason)?;
                return Ok(Next::Record);
            }
        };
        self.apply(state, record, changed)?;
        // A memtable may be flushed below, which needs as much memory again as its longest row: free the long
        // record first.
        if record.len() > LONG_RECORD {
            *record = Vec::new();
        }
        self.check_timestamps(state)?;
        if self.live.is_none() {
            self.flush_full(state)?;
        }
        Ok(Next::Record)
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
            if newer && *moment != Moment::of(&self.db.options, &self.db.dir)? {
                let error = Error::new(ErrorKind::TryAgain, "a column family was created");
                return Err(error.in_file(&self.db.dir));
            }
        }
        Ok(())
    }

    /// Returns the next part of the replay if rows before the record with the sequence number `seqno` are
    /// missing in the middle of the WAL, and the record is not used.
    fn hole_before(&mut self, seqno: SeqNo) -> Option<Next> {
        let mode = self.db.options.wal_recovery_mode;
        let hole = self.reader.unused_before() > LONGEST_FILL && self.replayed.next_seqno != Some(seqno);
        // A hole in a live WAL may have been filled during the read, since the bytes after it were read
        // later: read it again.
        if hole && self.live.is_some() && !self.dropped.was_read_again(self.end) {
            self.dropped.read_again(&mut self.reader, self.end);
            return Some(Next::Record);
        }
        if mode == RecoveryMode::PointInTime && hole {
            // The tail of a WAL reaches the disk page by page, in any order: after a power failure, zeros may
            // precede rows that survived. The rows after the hole follow rows that are lost, so they are not
            // decoded: the record with the compression of this WAL may be lost too.
            let error = Error::corruption("rows are missing before this record");
            let error = error.at(self.reader.record_offset());
            self.report_dropped("rows are missing in the middle");
            self.replayed.damaged = true;
            self.replayed.stopped.get_or_insert((self.number, error));
            self.replayed.wals.push(self.number);
            return Some(Next::Stop { later_wals: true });
        }
        None
    }

    /// `Corruption` if the sequence numbers of a batch are too large, or below those that are used up.
    fn check_seqno(&self, operations: &Operations<'_>) -> Result<()> {
        let (seqno, count) = (operations.sequence(), u64::from(operations.promised()));
        if seqno > MAX_SEQNO - count {
            let error = Error::corruption(format!("Sequence number {seqno} of {count} rows is too large"));
            return Err(self.in_wal(error));
        }
        if let Some(next) = self.replayed.next_seqno.filter(|next| seqno < *next) {
            let error = Error::corruption(format!("Out of order sequence number {seqno}, {next} expected"));
            return Err(self.in_wal(error));
        }
        Ok(())
    }

    /// False if the replay stops before this WAL, because a WAL before it does not exist. `predecessor` is
    /// the WAL that the current record names.
    fn passes_over_missing(&mut self, predecessor: Option<Predecessor>) -> Result<bool> {
        let missing = self.replayed.lost_before(self.number, predecessor, &self.reader);
        let Some(missing) = missing else {
            return Ok(true);
        };
        self.replayed.missing = Some(missing);
        let gone = filename::wal(&self.db.wal_dir, missing);
        let behind = self.path.file_name().unwrap_or_default().to_string_lossy();
        let error = missing_wal(missing, &behind).in_file(&gone);
        if self.live.is_some() && self.db.options.fs.exists(&gone)? {
            // The missing WAL exists now: it was created while the directory was listed.
            return Err(error.with_kind(ErrorKind::TryAgain));
        }
        let mode = self.db.options.wal_recovery_mode;
        if matches!(
            mode,
            RecoveryMode::AbsoluteConsistency | RecoveryMode::TolerateCorruptedTailRecords
        ) {
            return Err(error);
        }
        self.report_dropped(error.message());
        self.replayed.damaged = true;
        if mode == RecoveryMode::PointInTime {
            self.replayed.stopped.get_or_insert((missing, error));
            return Ok(false);
        }
        Ok(true)
    }

    /// False if the replay stops before the record with the sequence number `seqno`, because it does not
    /// continue where the previous WAL ends. `predecessor` is the WAL that the record names.
    fn continues(&mut self, predecessor: Option<Predecessor>, seqno: SeqNo) -> Result<bool> {
        let replayed = &*self.replayed;
        let before = predecessor.filter(|before| replayed.wals.contains(&before.number));
        let goes_on = match before {
            Some(before) => replayed.goes_on_at(before.next_seqno),
            None => replayed.stopped.is_none() || replayed.goes_on_at(seqno),
        };
        if !goes_on {
            let error = Error::corruption("it does not continue where the previous WAL ends");
            match self.db.options.wal_recovery_mode {
                RecoveryMode::AbsoluteConsistency => return Err(self.in_wal(error)),
                RecoveryMode::PointInTime => {
                    self.report_dropped(error.message());
                    self.replayed.damaged = true;
                    self.replayed.stopped.get_or_insert((self.number, error));
                    return Ok(false);
                }
                RecoveryMode::TolerateCorruptedTailRecords | RecoveryMode::SkipAnyCorruptedRecords => {}
            }
        }
        // The previous WAL has lost its beginning, and with it the end of its own predecessor. No rows are
        // missing, as the WALs before it show; those may be deleted when this WAL is read again.
        let end = self.replayed.end.number;
        self.replayed.damaged |= before.is_some_and(|before| before.number != end);
        self.replayed.stopped = None;
        Ok(true)
    }

    /// Applies `record`, or the batch `changed` in its place, and records how far the replay is.
    fn apply(&mut self, state: &mut DbState, record: &[u8], changed: Option<WriteBatch>) -> Result<()> {
        let original = Operations::new(record)?;
        let seqno = original.sequence();
        let operations = match &changed {
            Some(batch) => batch.operations(),
            None => original,
        };
        let replayed = &mut *self.replayed;
        // A WAL with records that were not applied is not read again.
        replayed.damaged |= changed.is_some();
        let acknowledged = replayed.large.begin_batch(self.number, &operations, record.len());
        let applied =
            catch_or_fail(|| self.replay_batch(state, operations)).map_err(|error| self.in_wal(error))?;
        let applied = match changed {
            Some(_) => applied_in_place_of(record, applied)?,
            None => applied,
        };
        let next = applied.next;
        if next > MAX_SEQNO {
            let error = Error::corruption(format!("Sequence number {next} after a commit is too large"));
            return Err(self.in_wal(error));
        }
        self.end = self.reader.record_end();
        self.tracked.record(seqno);
        let replayed = &mut *self.replayed;
        replayed.next_seqno = Some(if acknowledged { next } else { seqno });
        replayed.ends_open = applied.ends_open;
        replayed.end = Predecessor {
            number: self.number,
            next_seqno: next,
            kept: true,
        };
        // A batch without rows has a sequence number too, and a batch written after it must not have a lower
        // one.
        replayed.last_seqno = replayed.last_seqno.max(next.saturating_sub(1));
        Ok(())
    }

    /// Inserts a batch into the memtables of the families that need it, without rows that are too large. Rows
    /// of a prepared section count as rows of the WAL that commits it, because the commit put them into a
    /// memtable.
    fn replay_batch(&mut self, state: &mut DbState, operations: Operations<'_>) -> Result<Applied> {
        let number = self.number;
        let Replayed { large, sections, .. } = &mut *self.replayed;
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

    /// Checks the sizes of timestamps that the WAL has announced since the last check.
    fn check_timestamps(&mut self, state: &DbState) -> Result<()> {
        let sizes = self.reader.timestamp_sizes();
        if sizes.len() == self.checked_timestamps {
            return Ok(());
        }
        self.checked_timestamps = sizes.len();
        check_timestamp_sizes(state, sizes).map_err(|error| self.in_wal(error))
    }

    /// Flushes the memtables that are full.
    fn flush_full(&mut self, state: &mut MutexGuard<'_, DbState>) -> Result<()> {
        let flushed = catch_or_fail(|| self.db.flush_full(state));
        let flushed = flushed.map_err(|error| match error.kind() {
            ErrorKind::Panicked => self.in_wal(error),
            _ => error,
        })?;
        self.replayed.flushed |= flushed;
        Ok(())
    }

    /// Records the facts about a WAL that was read to its end, and reports its damage.
    fn finish(self) -> Result<()> {
        let replayed = &mut *self.replayed;
        // Skipped rows are reported once, and their WAL is not read again.
        replayed.damaged |= !replayed.large.rows.is_empty();
        replayed.wals.push(self.number);
        if self.reader.is_recycled() {
            replayed.recycled.push(self.number);
        }
        if let Some(error) = self.reader.stopped() {
            replayed.stopped = Some((self.number, error.clone()));
        }
        replayed.observed = self.db.observe(&self.tracked)?;
        replayed.observed_end = self.end;
        let dropped = self.dropped.all(&self.reader);
        replayed.damaged |= !dropped.is_empty();
        for wal::Dropped {
            bytes,
            offset,
            reason,
        } in dropped
        {
            self.report_dropped(&format!("{bytes} bytes at {offset}: {reason}"));
        }
        Ok(())
    }

    fn report_dropped(&self, reason: &str) {
        self.db.notify(&Event::WalDropped {
            path: self.path.display().to_string(),
            reason: reason.to_owned(),
        });
    }

    /// Adds the WAL, and the offset of the current record, to `error`.
    fn in_wal(&self, error: Error) -> Error {
        error.offset_by(self.reader.record_offset()).in_file(&self.path)
    }
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
    fn all<'a>(&'a self, reader: &'a wal::Reader) -> Vec<&'a wal::Dropped> {
        self.before.iter().chain(reader.dropped()).collect()
    }
}

/// The error for WAL `missing`, which does not exist although the WAL with the name `behind` needs it.
pub(crate) fn missing_wal(missing: u64, behind: &str) -> Error {
    Error::corruption(format!(
        "Missing WAL {missing:06}.log: {behind} follows it, and the MANIFEST does not record that its rows are in tables"
    ))
}

/// `InvalidArgument` if a WAL was written with timestamps of other sizes than its families have now.
fn check_timestamp_sizes(state: &DbState, recorded: &BTreeMap<u32, u16>) -> Result<()> {
    let families = recorded.keys().filter_map(|id| state.families.get(id));
    families
        .map(|family| &*family.family)
        .try_for_each(|family| check_timestamp_size(family, recorded))
}

/// Same as [`check_timestamp_sizes`], for one family.
pub(crate) fn check_timestamp_size(family: &Family, recorded: &BTreeMap<u32, u16>) -> Result<()> {
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
