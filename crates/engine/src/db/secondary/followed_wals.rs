//! WALs that somebody else writes, read from where they were read to last.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Error, ErrorKind, Kind, MAX_SEQNO, Result, SeqNo};
use manifest::ManifestState;
use memtable::Memtable;
use wal::{Reader, ReaderOptions, RecoveryMode};

use crate::db::DbInner;
use crate::db::column_family::Family;
use crate::db::families::new_memtable;
use crate::db::recover::{LONGEST_FILL, check_timestamp_size, missing_wal};
use crate::db::sections::{Applied, Sections};
use crate::db::set_aside::LargeRows;
use crate::db::state::Memory;
use crate::events::RowTooLargeOutcome;
use crate::write::batch::{HEADER_LEN, Operations};
use crate::write::pipeline::deletion_kind;
use crate::write::predecessor::Predecessor;

/// What was read of the WALs.
#[derive(Default)]
pub(super) struct FollowedWals {
    /// Ascending, those that are still there.
    wals: Vec<Wal>,
    /// Rows by family and WAL.
    memtables: BTreeMap<u32, BTreeMap<u64, Rows>>,
    /// The sequence number behind the last record.
    next_seqno: Option<SeqNo>,
    /// [`next_seqno`](Self::next_seqno) is the least that it may be: the last record commits a section whose WAL is gone.
    ends_open: bool,
    /// Prepared sections that nothing has ended yet.
    sections: Sections,
    /// That of the last row.
    last_seqno: SeqNo,
}

struct Wal {
    number: u64,
    reader: Reader,
    /// Where the last record that was taken ends.
    consumed: u64,
    /// A record was taken.
    begun: bool,
}

struct Rows {
    table: Arc<Memtable>,
    /// Readers look into it.
    installed: bool,
}

/// What came of reading.
pub(super) enum Read {
    /// There is nothing new.
    Nothing,
    Rows,
    /// What was met can only be understood with files that came since: to be tried again.
    Changed(Error),
}

/// Why a record was not taken.
enum Stop {
    /// It is not whole, or nothing is there.
    End,
    /// Damage, or a record that is being written.
    Unclean(Error),
    /// The WAL before it is not complete.
    Incomplete(Error),
    /// See [`Read::Changed`].
    Changed(Error),
}

impl FollowedWals {
    /// Forgets everything that was read: the next read begins at the front, with memtables nobody looks into.
    pub fn forget(&mut self) {
        *self = FollowedWals {
            sections: self.sections.none_yet(),
            ..FollowedWals::default()
        };
    }

    /// Nothing read yet. Without `two_phase` WALs with sections are refused.
    pub fn new(two_phase: bool) -> FollowedWals {
        FollowedWals {
            sections: Sections::new(two_phase),
            ..FollowedWals::default()
        }
    }

    /// The last row that was read.
    pub fn last_seqno(&self) -> SeqNo {
        self.last_seqno
    }

    /// The rows of family `id`, oldest first.
    pub fn memories(&self, id: u32) -> impl Iterator<Item = Memory> {
        let rows = self.memtables.get(&id).into_iter().flatten();
        rows.map(|(&first_wal, rows)| Memory {
            table: rows.table.clone(),
            first_wal,
            oldest_section: None,
        })
    }

    /// Number of each WAL, and the bytes read of it.
    pub fn sizes(&self) -> impl Iterator<Item = (u64, u64)> {
        self.wals.iter().map(|wal| (wal.number, wal.consumed))
    }

    /// Takes note that readers look into all memtables.
    pub fn installed(&mut self) {
        let rows = self.memtables.values_mut().flat_map(BTreeMap::values_mut);
        rows.for_each(|rows| rows.installed = true);
    }

    /// Opens the WALs `listed`, lets go of others. False if one is not there any more.
    pub fn open(&mut self, db: &DbInner, listed: &[u64]) -> Result<bool> {
        self.wals.retain(|wal| listed.contains(&wal.number));
        let newest = self.wals.last().map_or(0, |wal| wal.number);
        if listed.iter().any(|&number| {
            number < newest && self.wals.binary_search_by_key(&number, |wal| wal.number).is_err()
        }) {
            // One that is older than what was read came back: read all of it in order.
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

    /// Reads on, up to the first record that is not whole, and puts the rows into memtables. Rows up to `published` are seen by readers
    /// of memtables that are installed. `still` tells whether the MANIFEST is still what `state` says.
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
        // Once more over the WALs for each that turned out not to be complete when it was read.
        let mut rereads = self.wals.len() + 1;
        let mut at = 0;
        let mut confirmed = 0;
        while at < self.wals.len() {
            if self.wals.get(at + 1).is_some_and(|next| next.begun) {
                // Complete, or the next one would not have been gone on with.
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
                // In a recycled file what follows the last record is part of an old one.
                Stop::Unclean(_) if self.wals[at].reader.is_recycled() => {}
                Stop::Unclean(error) => {
                    stopped.get_or_insert((self.wals[at].number, error));
                }
                Stop::Changed(error) => return Ok(Read::Changed(error)),
                // Rows of this WAL exist, so the one before is complete by now; it may not have been when it was read.
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
            // Where tables have rows from behind the damage, rows in front of them are missing.
            let ahead = state
                .families
                .values()
                .any(|family| family.log_number > number && family.version.num_files() > 0);
            if ahead {
                return Err(error.context("rows behind it are in tables"));
            }
        }
        Ok(if taken { Read::Rows } else { Read::Nothing })
    }

    fn path(&self, db: &DbInner, at: usize) -> std::path::PathBuf {
        base::filename::wal(&db.wal_dir, self.wals[at].number)
    }

    /// Lets go of rows that are in tables.
    fn drop_flushed(&mut self, state: &ManifestState) {
        self.memtables.retain(|id, rows| {
            let Some(family) = state.families.get(id) else {
                return false;
            };
            *rows = rows.split_off(&family.log_number);
            !rows.is_empty()
        });
    }

    /// Takes the next record of WAL `at`; `None` if there was one.
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
            // What is missing was written while this was read, or is lost.
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
        let gap = || Error::corruption("it does not go on where the WAL before it ends").at(offset);
        let told = Predecessor::decode(Operations::new(&record)?)?;
        if let Some(missing) = told.filter(|told| told.kept && told.number < number)
            && missing.number >= state.oldest_needed_wal()
            && self.wals.iter().all(|wal| wal.number != missing.number)
        {
            // It was deleted since, or came to the directory while that was listed; or it is lost.
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
                // Rows written without WAL leave gaps, too: then the WAL before has no more to give, and is still needed as it is.
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
        db.tell_of_large_rows(&large.rows, |_| RowTooLargeOutcome::PassedOver);
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

    /// Puts the rows of a batch of WAL `at` into memtables.
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
        // One that cannot be decoded is told below.
        for operation in operations.clone().map_while(Result::ok) {
            let newer = operation.family().is_some_and(|id| id > state.max_column_family);
            // The family was created after the MANIFEST was read. Passed over, its rows would be lost.
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
            // The MANIFEST told of rows that came to the WAL later. Those who read now must not see them come, so the rows go to memtables
            // that nobody reads yet, all of them.
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
    /// Goes on behind the last record that was taken.
    fn rewind(&mut self) {
        self.reader.resume_from(self.consumed);
    }
}
