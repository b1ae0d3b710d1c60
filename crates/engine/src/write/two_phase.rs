//! Two-phase commit: the writes of a transaction go to the WAL first, and become visible by a marker that
//! follows later, or never.
//!
//! ```text
//! prepare    BeginPrepare, rows, EndPrepare NAME     to the WAL alone; no row takes a sequence number
//! commit     [rows of its own] Commit NAME [rows]    to the WAL; all rows go into memtables, numbered from the marker's record on
//! rollback   Rollback NAME                           to the WAL; there are no rows
//! ```
//!
//! The record of a prepared section counts its rows, as in RocksDB, and shares its sequence number with the
//! next record. The rows of a section are in no other record, so its WAL is kept: first while the section is
//! outstanding, then while its rows are in memtables that are not flushed. A replay finds the marker in a
//! later WAL and needs the section too. Each memtable remembers the oldest such WAL.
//!
//! Rows that were added to the transaction after it was prepared are in no section: they follow the marker.
//!
//! The two changes of these records, in `sections` and in the memtables, are made under the write queue's
//! lock: neither WAL nor memtable is switched between a record and its bookkeeping.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::coding;
use base::statistics::{Histogram, Ticker};
use base::sync::MutexGuard;
use base::user_code::{catch, catch_or_fail};
use base::{Error, Result, SeqNo};
use manifest::VersionEdit;

use super::commit::Commit;
use super::pipeline::{INSERT, MAKE_ROOM};
use crate::batch::operation::set_sequence;
use crate::batch::operation::{HEADER_LEN, tag};
use crate::batch::write_batch::WriteBatch;
use crate::log::log_line;
use crate::options::WriteOptions;
use crate::state::db_inner::DbInner;
use crate::state::db_state::PreparedSection;
use crate::state::db_state::{APPEND_TO_WAL, DbState};
use crate::state::handle::Db;
use crate::state::section_rows::SectionRows;
use crate::state::write_queue::WriteSize;
use crate::state::writer::Writer;

/// A transaction that was prepared in an earlier session: see [`Db::recovered_transactions`].
///
/// ```
/// use esker::{Db, Options, WriteBatch, WriteOptions};
///
/// # let dir = tempfile::tempdir()?;
/// let options = Options { create_if_missing: true, allow_2pc: true, ..Default::default() };
/// let db = Db::open(&options, dir.path())?;
/// let mut batch = WriteBatch::new();
/// batch.put(b"a", b"1");
/// db.prepare(b"transfer", &batch, &WriteOptions::default())?;
/// db.close()?;
///
/// let db = Db::open(&options, dir.path())?;
/// for transaction in db.recovered_transactions() {
///     let (name, rows) = (&transaction.name, &transaction.batch);
///     db.commit_prepared(name, &WriteBatch::new(), rows, &WriteOptions::default())?;
/// }
/// assert!(db.get(b"a")?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RecoveredTransaction {
    /// The name of the transaction.
    pub name: Vec<u8>,
    /// The rows that the transaction writes.
    pub batch: Arc<WriteBatch>,
}

/// The effect of a record on a section, whose rows are given.
enum Mark<'a> {
    Prepare(SectionRows),
    /// The batch begins with the rows of the section.
    Commit(SectionRows, &'a WriteBatch),
    Rollback,
}

impl Db {
    /// Writes `batch` to the WAL under `name`, where it stays until it is [committed](Self::commit_prepared)
    /// or [rolled back](Self::rollback_prepared): the first of two phases. The rows are not visible, and take
    /// no sequence numbers. They are written to the WAL even with [`disable_wal`](WriteOptions::disable_wal).
    ///
    /// # Errors
    /// `InvalidArgument` for the name of an outstanding section, and unless the database was opened with
    /// [`allow_2pc`](crate::Options::allow_2pc); the errors of [`write`](Self::write).
    pub fn prepare(&self, name: &[u8], batch: &WriteBatch, options: &WriteOptions) -> Result<()> {
        let inner = self.inner();
        inner.check_two_phase()?;
        inner.check_section(options, batch)?;
        let (rows, record) = (SectionRows::of(batch), encode_section(batch, name));
        inner
            .commit_marked(options, name, Mark::Prepare(rows), record, WriteBatch::new())
            .map(drop)
    }

    /// Makes the batch that was [prepared](Self::prepare) under `name` visible. `rows` begins with its rows.
    /// The rows of `commit_time` come before them. These, and the rows that follow the prepared ones in
    /// `rows`, are written with the marker. Returns the sequence number of the first row.
    ///
    /// The marker is written to the WAL even with [`disable_wal`](WriteOptions::disable_wal): without it the
    /// next recovery would consider the transaction outstanding. Rows of families that were dropped meanwhile
    /// are ignored.
    ///
    /// # Errors
    /// `InvalidArgument` if no section of that name is outstanding, or if `rows` does not begin with its
    /// rows; the errors of [`write`](Self::write).
    pub fn commit_prepared(
        &self,
        name: &[u8],
        commit_time: &WriteBatch,
        rows: &WriteBatch,
        options: &WriteOptions,
    ) -> Result<SeqNo> {
        let inner = self.inner();
        inner.check_open()?;
        inner.check_section(options, commit_time)?;
        let section = inner.state.lock().outstanding(name)?.rows;
        let (late, count) = section.behind(rows).ok_or_else(|| other_rows(name))?;
        let record = encode_commit(commit_time, name, late, count);
        let mut all = commit_time.clone();
        all.append(rows);
        inner.stats.count(Ticker::KeysWritten, u64::from(all.count()));
        inner.commit_marked(options, name, Mark::Commit(section, rows), record, all)
    }

    /// Rolls back the batch that was [prepared](Self::prepare) under `name`.
    ///
    /// # Errors
    /// The errors of [`commit_prepared`](Self::commit_prepared).
    pub fn rollback_prepared(&self, name: &[u8], options: &WriteOptions) -> Result<()> {
        let record = encode_rollback(name);
        self.inner()
            .commit_marked(options, name, Mark::Rollback, record, WriteBatch::new())
            .map(drop)
    }

    /// The transactions that recovery found prepared and that are still outstanding, by name.
    pub fn recovered_transactions(&self) -> Vec<RecoveredTransaction> {
        let state = self.inner().state.lock();
        let recovered = state.sections.iter().filter_map(|(name, section)| {
            Some(RecoveredTransaction {
                name: name.clone(),
                batch: section.recovered.clone()?,
            })
        });
        recovered.collect()
    }
}

impl Db {
    /// Writes a line to the info log, for layers above the database.
    pub fn log_warning(&self, message: &str) {
        log_line!(self.inner().log, Warn, "{message}");
    }
}

impl DbInner {
    fn check_two_phase(&self) -> Result<()> {
        match self.options.allow_2pc {
            true => Ok(()),
            false => Err(Error::invalid_argument(
                "a transaction is prepared, but the database was opened without allow_2pc",
            )),
        }
    }

    /// Makes the same checks as for a write of the batch. A batch with a range deletion is inserted under the
    /// write queue's lock.
    fn check_section(&self, options: &WriteOptions, batch: &WriteBatch) -> Result<()> {
        if options.before_images {
            return Err(Error::not_supported("before_images of two-phase writes"));
        }
        // Keys of range deletions are compared.
        catch_or_fail(|| self.check_batch(options, batch)).map(drop)
    }

    fn commit_marked(
        &self,
        options: &WriteOptions,
        name: &[u8],
        mark: Mark<'_>,
        record: Vec<u8>,
        rows: WriteBatch,
    ) -> Result<SeqNo> {
        self.check_open()?;
        let options = WriteOptions {
            disable_wal: false,
            ignore_missing_column_families: true,
            ..options.clone()
        };
        let started = self.stats.start();
        let written = catch_or_fail(|| self.write_marked(&options, name, &mark, record, rows));
        self.stats.stop(started, Histogram::DbWrite);
        written
    }

    fn write_marked(
        &self,
        options: &WriteOptions,
        name: &[u8],
        mark: &Mark<'_>,
        mut record: Vec<u8>,
        mut rows: WriteBatch,
    ) -> Result<SeqNo> {
        let deletes_range = self.check_batch(options, &rows)?;
        let (writer, has_waited) = self.write.queue.lock_to_write();
        let mut drained = self.write.queue.drain(writer);
        if self.write.attention.load(Ordering::Relaxed) {
            let commit = Commit::Batch(&mut rows);
            self.guarded(MAKE_ROOM, || self.make_room_for(&mut drained, options, &commit))?;
        }
        self.state.lock().check_mark(name, mark)?;
        let mut writer = drained.into_writer();
        let first = writer.last_seqno + 1;
        let last = writer.last_seqno + u64::from(rows.count());
        set_sequence(&mut record, first);
        set_sequence(rows.data_mut(), first);
        let action = Cell::new(None);
        let logged = catch(|| self.log_marked(&mut writer, options, name, mark, &record, last, &action));
        if let Err(error) = logged.and_then(|logged| logged) {
            return Err(self.give_up(&mut writer, action.get(), first..=last, error));
        }
        if self.traces.query.is_on() && !rows.is_empty() {
            self.traces.query.write(rows.data());
        }
        let records = self.wal_tail.records.load(Ordering::Relaxed);
        let commit = Commit::Batch(&mut rows);
        let size = WriteSize::of(last + 1 - first, record.len() as u64);
        let is_alone = deletes_range || !self.options.allow_concurrent_memtable_write;
        if !is_alone && last >= first && self.write.queue.should_leave(size, has_waited) {
            writer.last_seqno = last;
            self.insert_beside_others(writer, &commit, None, first..=last, size)?;
        } else {
            self.insert_alone(writer, &commit, first, last)?;
        }
        if options.sync {
            self.sync_wal(records)?;
        }
        Ok(first)
    }

    /// Inserts under the write queue's lock, so that no other thread inserts meanwhile.
    fn insert_alone(
        &self,
        mut writer: MutexGuard<'_, Writer>,
        commit: &Commit<'_>,
        first: SeqNo,
        last: SeqNo,
    ) -> Result<()> {
        match catch(|| self.insert(commit, None, first)).and_then(|inserted| inserted) {
            Ok(()) => {
                writer.last_seqno = last;
                self.published.store(last, Ordering::Release);
                Ok(())
            }
            Err(error) => Err(self.give_up(&mut writer, Some(INSERT), first..=last, error)),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what a marked write knows")]
    fn log_marked(
        &self,
        writer: &mut Writer,
        options: &WriteOptions,
        name: &[u8],
        mark: &Mark<'_>,
        record: &[u8],
        last: SeqNo,
        action: &Cell<Option<&'static str>>,
    ) -> Result<()> {
        let bytes = record.len() as u64;
        self.stats.add_locked(Ticker::BytesWritten, bytes);
        self.stats.add_locked(Ticker::WriteDone, 1);
        self.stats.record(Histogram::BytesPerWrite, bytes);
        action.set(Some(APPEND_TO_WAL));
        self.append_marked(writer, options, record, last)?;
        base::sync::point("logged");
        self.state.lock().record_mark(name, mark);
        Ok(())
    }
}

impl DbInner {
    /// Releases WALs with markers whose rows are all in tables: RocksDB opens such WALs only as a transaction
    /// database of the same write policy.
    pub(crate) fn leave_marks(&self) -> Result<()> {
        let mut state = self.state.lock();
        let needed = state.oldest_needed_wal();
        let edit = VersionEdit {
            min_log_number_to_keep: Some(needed),
            ..VersionEdit::default()
        };
        self.log_edit(&mut state, edit)?;
        let recorded = &mut state.recorded;
        recorded.min_log_number_to_keep = recorded.min_log_number_to_keep.max(needed);
        self.drop_unneeded_wals(&mut state);
        self.rotate_manifest(&mut state)
    }

    /// Logs the outstanding transactions when the database is closed.
    pub(crate) fn report_sections(&self) {
        for name in self.state.lock().sections.keys() {
            log_line!(
                self.log,
                Warn,
                "Shutdown: transaction {} is prepared and outstanding",
                name.escape_ascii()
            );
        }
    }
}

impl DbState {
    /// True if WALs have markers, none of which is needed, and the database has no background error.
    pub fn may_leave_marks(&self) -> bool {
        self.marked && self.sections.is_empty() && self.background_error.is_none()
    }

    /// The outstanding section `name`, or `InvalidArgument`.
    fn outstanding(&self, name: &[u8]) -> Result<&PreparedSection> {
        self.sections.get(name).ok_or_else(|| {
            Error::invalid_argument(format!(
                "no transaction is prepared under the name {}",
                name.escape_ascii()
            ))
        })
    }

    /// `InvalidArgument` for a section that exists already, that does not exist, or that has other rows.
    fn check_mark(&self, name: &[u8], mark: &Mark<'_>) -> Result<()> {
        match mark {
            Mark::Prepare(_) if self.sections.contains_key(name) => {
                Err(Error::invalid_argument("Transaction name must be unique."))
            }
            Mark::Prepare(_) => Ok(()),
            Mark::Rollback => self.outstanding(name).map(drop),
            Mark::Commit(rows, _) => match self.outstanding(name)?.rows == *rows {
                true => Ok(()),
                // Another thread has ended the transaction meanwhile, and prepared another of the same name.
                false => Err(other_rows(name)),
            },
        }
    }

    /// Records a mark that was written to the WAL. Called under the write queue's lock, before a row of it is
    /// inserted.
    fn record_mark(&mut self, name: &[u8], mark: &Mark<'_>) {
        self.marked = true;
        match mark {
            Mark::Prepare(rows) => {
                let section = PreparedSection {
                    wal: self.current_wal(),
                    rows: *rows,
                    recovered: None,
                };
                self.sections.insert(name.to_vec(), section);
            }
            Mark::Commit(_, rows) => {
                if let Some(section) = self.sections.remove(name) {
                    self.refer_to_section(section.wal, rows);
                }
            }
            Mark::Rollback => drop(self.sections.remove(name)),
        }
    }

    /// The caller calls this function before memtables take the rows of a section in WAL `wal`. `rows` also
    /// has the rows behind the marker: a replay numbers them after those of the section, so it needs the
    /// section as long as it needs them.
    fn refer_to_section(&mut self, wal: u64, rows: &WriteBatch) {
        let mut last = None;
        for id in rows
            .operations()
            .map_while(Result::ok)
            .filter_map(|row| row.family())
        {
            // Rows of one family are usually adjacent.
            if last.replace(id) == Some(id) {
                continue;
            }
            if let Some(family) = self.families.get_mut(&id) {
                let oldest = &mut family.mem.oldest_section;
                *oldest = Some(oldest.map_or(wal, |oldest| oldest.min(wal)));
            }
        }
    }
}

/// The record of a prepared section: `batch` between its marks.
pub(crate) fn encode_section(batch: &WriteBatch, name: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(batch.data_size() + name.len() + 12);
    record.extend_from_slice(&batch.data()[..HEADER_LEN]);
    record.push(tag::BEGIN_PREPARE);
    record.extend_from_slice(&batch.data()[HEADER_LEN..]);
    record.push(tag::END_PREPARE);
    coding::put_length_prefixed(&mut record, name);
    record
}

/// The record of a commit. `late` are operations, `count` of them rows, that follow those of the section.
fn encode_commit(commit_time: &WriteBatch, name: &[u8], late: &[u8], count: u32) -> Vec<u8> {
    let mut record = Vec::with_capacity(commit_time.data_size() + name.len() + late.len() + 6);
    record.extend_from_slice(commit_time.data());
    record.push(tag::COMMIT);
    coding::put_length_prefixed(&mut record, name);
    record.extend_from_slice(late);
    let count = commit_time.count().saturating_add(count);
    record[HEADER_LEN - 4..HEADER_LEN].copy_from_slice(&count.to_le_bytes());
    record
}

fn other_rows(name: &[u8]) -> Error {
    Error::invalid_argument(format!(
        "the batch does not begin with the rows that were prepared under the name {}",
        name.escape_ascii()
    ))
}

fn encode_rollback(name: &[u8]) -> Vec<u8> {
    let mut record = vec![0; HEADER_LEN];
    record.push(tag::ROLLBACK);
    coding::put_length_prefixed(&mut record, name);
    record
}
