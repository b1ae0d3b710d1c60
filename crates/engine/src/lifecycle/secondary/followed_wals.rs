//! WALs that another process writes, read incrementally.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Error, ErrorKind, Kind, MAX_SEQNO, Result, SeqNo};
use manifest::ManifestState;
use memtable::Memtable;
use wal::{Reader, ReaderOptions, RecoveryMode};

use crate::batch::operation::{HEADER_LEN, Operations};
use crate::events::RowTooLargeOutcome;
use crate::lifecycle::manifest_tail::LONGEST_FILL;
use crate::lifecycle::recover::replay::{check_timestamp_size, missing_wal};
use crate::lifecycle::set_aside::LargeRows;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::db_state::Memory;
use crate::state::memtables::new_memtable;
use crate::state::sections::{Applied, Sections};
use crate::write::pipeline::deletion_kind;
use crate::write::predecessor::Predecessor;

/// The contents of the primary's WALs read so far.
#[derive(Default)]
pub(super) struct FollowedWals {
    /// The WALs that still exist, in ascending order.
    wals: Vec<Wal>,
    /// The rows by family and WAL.
    memtables: BTreeMap<u32, BTreeMap<u64, Rows>>,
    /// The sequence number after the last row that was read.
    next_seqno: Option<SeqNo>,
    /// True if [`next_seqno`](Self::next_seqno) is a lower bound: the last record commits a section whose WAL
    /// was deleted.
    ends_open: bool,
    /// Prepared sections without a commit or rollback so far.
    sections: Sections,
    /// The sequence number of the last row that was read.
    last_seqno: SeqNo,
}

struct Wal {
    number: u64,
    reader: Reader,
    /// The offset in the WAL at which the last record that was used ends.
    consumed: u64,
    /// True if a record of the WAL was used.
    begun: bool,
}

struct Rows {
    table: Arc<Memtable>,
    /// True if readers can see the memtable.
    installed: bool,
}

/// The outcome of reading the WALs.
pub(super) enum Read {
    /// The WALs have no new rows.
    Nothing,
    Rows,
    /// The records found need files that were created since: the read must be repeated.
    Changed(Error),
}

/// The reason why a record was not used.
enum Stop {
    /// The record is incomplete, or there is no further record.
    End,
    /// A corruption, or a record that is being written.
    Unclean(Error),
    /// The previous WAL is not complete.
    Incomplete(Error),
    /// Files have changed: see [`Read::Changed`].
    Changed(Error),
}

impl FollowedWals {
    /// Forgets everything read: the next read begins at the start of the WALs, with new memtables.
    pub fn forget(&mut self) {
        *self = FollowedWals {
            sections: self.sections.none_yet(),
            ..FollowedWals::default()
        };
    }

    /// Creates an empty state. Without `two_phase`, WALs with prepared sections are refused.
    pub fn new(two_phase: bool) -> FollowedWals {
        FollowedWals {
            sections: Sections::new(two_phase),
            ..FollowedWals::default()
        }
    }

    /// The sequence number of the last row that was read.
    pub fn last_seqno(&self) -> SeqNo {
        self.last_seqno
    }

    /// The memtables of family `id`, oldest first.
    pub fn memories(&self, id: u32) -> impl Iterator<Item = Memory> {
        let rows = self.memtables.get(&id).into_iter().flatten();
        rows.map(|(&first_wal, rows)| Memory {
            table: rows.table.clone(),
            first_wal,
            oldest_section: None,
        })
    }

    /// The number of each WAL, and the number of bytes that were read from it.
    pub fn sizes(&self) -> impl Iterator<Item = (u64, u64)> {
        self.wals.iter().map(|wal| (wal.number, wal.consumed))
    }

    /// Records that readers use all memtables now.
    pub fn installed(&mut self) {
        let rows = self.memtables.values_mut().flat_map(BTreeMap::values_mut);
        rows.for_each(|rows| rows.installed = true);
    }

    /// Opens the WALs `listed` and closes all others. False if one of them does not exist any more.
    pub fn open(&mut self, db: &DbInner, listed: &[u64]) -> Result<bool> {
        self.wals.retain(|wal| listed.contains(&wal.number));
        let newest = self.wals.last().map_or(0, |wal| wal.number);
        if listed.iter().any(|&number| {
            number < newest && self.wals.binary_search_by_key(&number, |wal| wal.number).is_err()
        }) {
            // A WAL older than those read has reappeared: read all of them again in order.
            self.forget();
        }
        for &number in listed {
            if self.wals.iter().any(|wal| wal.number == number) {
                continue;
            }
            let file = match db.open_wals(&[number]) {
                Ok(mut opened) => opened.remove(0).1,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(error),
            };
            let options = ReaderOptions {
                log_number: Some(number),
                mode: RecoveryMode::PointInTime,
            };
            self.wals.push(Wal {
                number,
                reader: Reader::new(file, options).with_readahead(db.options.log_readahead_size),
                consumed: 0,
                begun: false,
            });
        }
        Ok(true)
    }

    /// Continues reading up to the first incomplete record, and inserts the rows into memtables. Readers of
    /// installed memtables see rows up to `published`. `still` returns true if the MANIFEST still has the
    /// state `state`.
    pub fn read(
        &mut self,
        db: &DbInner,
        state: &ManifestState,
        families: &BTreeMap<u32, Arc<Family>>,
        published: SeqNo,
        still: &dyn Fn() -> Result<bool>,
    ) -> Result<Read> {
        self.drop_flushed(state);
        let mut stopped: Option<(u64, Error)> = None;
        let mut taken = false;
        // The WALs may be read again as many times as there are WALs: once for each WAL that was found
        // incomplete.
        let mut rereads = self.wals.len() + 1;
        let mut at = 0;
        let mut confirmed = 0;
        while at < self.wals.len() {
            if self.wals.get(at + 1).is_some_and(|next| next.begun) {
                // The WAL is complete: otherwise the next one would not have been read.
                at += 1;
                continue;
            }
            self.wals[at].rewind();
            let stop = loop {
                match self.take(db, at, state, families, published, still, &stopped, confirmed)? {
                    None => {
                        taken = true;
                        stopped = None;
                    }
                    Some(stop) => break stop,
                }
            };
            match stop {
                Stop::End => {}
                // In a recycled file, part of an old record follows the last record.
                Stop::Unclean(_) if self.wals[at].reader.is_recycled() => {}
                Stop::Unclean(error) => {
                    stopped.get_or_insert((self.wals[at].number, error));
                }
                Stop::Changed(error) => return Ok(Read::Changed(error)),
                // Rows of this WAL exist, so the previous WAL is complete by now; it may have been incomplete
                // when it was read.
                Stop::Incomplete(_) if rereads > 0 && confirmed < at => {
                    rereads -= 1;
                    confirmed = at;
                    stopped = None;
                    at -= 1;
                    continue;
                }
                Stop::Incomplete(error) => return Err(error.in_file(&self.path(db, at))),
            }
            at += 1;
        }
        if let Some((number, error)) = stopped {
            // If tables have rows that were written after the damaged record, older rows are missing.
            let ahead = state
                .families
                .values()
                .any(|family| family.log_number > number && family.version.num_files() > 0);
            if ahead {
                return Err(error.context("rows after it are in tables"));
            }
        }
        Ok(if taken { Read::Rows } else { Read::Nothing })
    }

    fn path(&self, db: &DbInner, at: usize) -> std::path::PathBuf {
        base::filename::wal(&db.wal_dir, self.wals[at].number)
    }

    /// Drops the rows that are in tables.
    fn drop_flushed(&mut self, state: &ManifestState) {
        self.memtables.retain(|id, rows| {
            let Some(family) = state.families.get(id) else {
                return false;
            };
            *rows = rows.split_off(&family.log_number);
            !rows.is_empty()
        });
    }

    /// Reads and applies the next record of WAL `at`. Returns `None` if a record was applied, otherwise the
    /// reason why none was.
    #[expect(clippy::too_many_arguments, reason = "what a catch-up knows")]
    fn take(
        &mut self,
        db: &DbInner,
        at: usize,
        state: &ManifestState,
        families: &BTreeMap<u32, Arc<Family>>,
        published: SeqNo,
        still: &dyn Fn() -> Result<bool>,
        stopped: &Option<(u64, Error)>,
        confirmed: usize,
    ) -> Result<Option<Stop>> {
        let before = at.checked_sub(1).map(|before| self.wals[before].number);
        let wal = &mut self.wals[at];
        let (number, expected, begun) = (wal.number, self.next_seqno, wal.begun);
        let mut record = Vec::new();
        if !wal.reader.read_record_into(&mut record)? {
            return Ok(Some(match wal.reader.stopped() {
                Some(error) => Stop::Unclean(error.clone()),
                None => Stop::End,
            }));
        }
        let offset = wal.reader.record_offset();
        let in_wal = |error: Error| error.offset_by(offset).in_file(wal.reader.file().path());
        if record.len() < HEADER_LEN {
            return Ok(Some(Stop::Unclean(in_wal(Error::corruption(
                "log record too small",
            )))));
        }
        let operations = Operations::new(&record)?;
        let (seqno, count) = (operations.sequence(), u64::from(operations.promised()));
        if wal.reader.unused_before() > LONGEST_FILL && expected != Some(seqno) {
            // The missing rows were written during this read, or they are lost.
            let error = Error::corruption("rows are missing before this record");
            return Ok(Some(Stop::Unclean(in_wal(error))));
        }
        if seqno > MAX_SEQNO - count {
            return Err(in_wal(Error::corruption(format!(
                "Sequence number {seqno} of {count} rows is too large"
            ))));
        }
        if let Some(next) = expected.filter(|&next| seqno < next) {
            return Err(in_wal(Error::corruption(format!(
                "Out of order sequence number {seqno}, {next} expected"
            ))));
        }
        let ends_open = self.ends_open;
        let goes_on_at = |seqno: SeqNo| match expected {
            Some(expected) if ends_open => expected <= seqno,
            expected => expected == Some(seqno),
        };
        let gap = || Error::corruption("it does not continue where the previous WAL ends").at(offset);
        let told = Predecessor::decode(Operations::new(&record)?)?;
        if let Some(missing) = told.filter(|told| told.kept && told.number < number)
            && missing.number >= state.oldest_needed_wal()
            && self.wals.iter().all(|wal| wal.number != missing.number)
        {
            // The WAL was deleted since the directory was listed, was created during the listing, or is lost.
            let path = base::filename::wal(&db.wal_dir, missing.number);
            let error = missing_wal(missing.number, &format!("{number:06}.log")).in_file(&path);
            return match !still()? || db.options.fs.exists(&path)? {
                true => Ok(Some(Stop::Changed(error.with_kind(ErrorKind::TryAgain)))),
                false => Err(error),
            };
        }
        match told.filter(|told| Some(told.number) == before) {
            Some(told) if goes_on_at(told.next_seqno) => {}
            Some(_) => return Ok(Some(Stop::Incomplete(gap()))),
            None => {
                let goes_on = expected.is_none() || goes_on_at(seqno);
                if stopped.is_some() && !goes_on {
                    return Ok(Some(Stop::Incomplete(gap())));
                }
                // Rows written without a WAL leave gaps too: then the previous WAL has no more records and is
                // still needed as it is.
                if !begun && before.is_some() && !goes_on && (confirmed < at || !still()?) {
                    return Ok(Some(Stop::Incomplete(gap())));
                }
            }
        }
        let mut large = LargeRows::new(db.options.row_limit);
        let acknowledged = large.begin_batch(number, &operations, record.len());
        let inserted = self.insert(at, operations, state, families, published, still, &mut large)?;
        let Applied { next, ends_open } = match inserted {
            Ok(applied) => applied,
            Err(stop) => return Ok(Some(stop)),
        };
        db.report_large_rows(&large.rows, |_| RowTooLargeOutcome::PassedOver);
        let wal = &mut self.wals[at];
        wal.begun = true;
        wal.consumed = wal.reader.record_end();
        let sizes = wal.reader.timestamp_sizes();
        for family in families.values() {
            check_timestamp_size(family, sizes)
                .map_err(|error| error.in_file(&base::filename::wal(&db.wal_dir, number)))?;
        }
        self.next_seqno = Some(if acknowledged { next } else { seqno });
        self.ends_open = ends_open;
        self.last_seqno = self.last_seqno.max(next.saturating_sub(1));
        Ok(None)
    }

    /// Inserts the rows of a batch of WAL `at` into memtables.
    #[expect(clippy::too_many_arguments, reason = "what a catch-up knows")]
    fn insert(
        &mut self,
        at: usize,
        operations: Operations<'_>,
        state: &ManifestState,
        families: &BTreeMap<u32, Arc<Family>>,
        published: SeqNo,
        still: &dyn Fn() -> Result<bool>,
        large: &mut LargeRows,
    ) -> Result<Result<Applied, Stop>> {
        let number = self.wals[at].number;
        // The loop below reports an operation that cannot be decoded.
        for operation in operations.clone().map_while(Result::ok) {
            let newer = operation.family().is_some_and(|id| id > state.max_column_family);
            // The family was created after the MANIFEST was read. If the operation were skipped, its rows
            // would be lost.
            if newer && !still()? {
                return Ok(Err(Stop::Changed(Error::new(
                    ErrorKind::TryAgain,
                    "a column family was created",
                ))));
            }
        }
        let mut late = false;
        let path = self.wals[at].reader.file().path().to_path_buf();
        let memtables = &mut self.memtables;
        let applied = self.sections.apply(operations, |id, seqno, kind, key, value| {
            let needed = state
                .families
                .get(&id)
                .is_some_and(|family| number >= family.log_number);
            let Some(family) = families.get(&id).filter(|_| needed) else {
                return;
            };
            let rows = memtables.entry(id).or_default().entry(number);
            let rows = rows.or_insert_with(|| Rows {
                table: new_memtable(&family.cmp, &family.current()),
                installed: false,
            });
            if rows.installed && seqno <= published {
                late = true;
                return;
            }
            let kind = match kind {
                Kind::Deletion => deletion_kind(family),
                kind => kind,
            };
            if !large.takes(id, seqno, kind, key, value) {
                rows.table.add(seqno, kind, key, value);
            }
        });
        let applied = applied.map_err(|error| {
            error
                .offset_by(self.wals[at].reader.record_offset())
                .in_file(&path)
        })?;
        if late {
            // The MANIFEST had rows that reached the WAL later. Current readers must not see them appear, so
            // all rows go to new memtables without readers.
            self.forget();
            return Ok(Err(Stop::Changed(Error::new(
                ErrorKind::TryAgain,
                "rows came late",
            ))));
        }
        Ok(Ok(applied))
    }
}

impl Wal {
    /// Resumes the reader after the last record that was used.
    fn rewind(&mut self) {
        self.reader.resume_from(self.consumed);
    }
}
