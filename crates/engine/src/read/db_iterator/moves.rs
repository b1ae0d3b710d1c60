//! The moves of the iterator, and their statistics.

use std::mem;
use std::sync::atomic::Ordering;

use base::perf;
use base::statistics::{Histogram, Ticker};
use base::{Error, ErrorKind};
use vfs::ReadTimeout;

use super::{DbIterator, DbPosition};
use crate::files::charged_reads::ChargedReads;
use crate::read::deadline::check_deadline;
use crate::state::error_state::closing;

/// A guard for a move in progress: if the move panics, the iterator is not valid afterwards.
struct Moving<'a>(&'a mut DbIterator);

impl Drop for Moving<'_> {
    #[cold]
    fn drop(&mut self) {
        self.0.break_off();
    }
}

impl DbIterator {
    /// Runs `go`, which moves the iterator, and returns its result.
    #[inline(always)]
    pub(super) fn moving<T>(&mut self, go: impl FnOnce(&mut DbIterator) -> T) -> T {
        let moving = Moving(self);
        let moved = go(moving.0);
        mem::forget(moving);
        moved
    }

    /// Called after a move has panicked, for example in user code. The position of the sources is unknown.
    #[cold]
    fn break_off(&mut self) {
        let error = Error::new(ErrorKind::Panicked, "a move of the iterator");
        self.place = DbPosition::Nowhere;
        self.error = Some(error.clone());
        self.broken.get_or_insert(error);
    }

    /// If a move has panicked, opens the sources of the same super version again.
    #[cold]
    pub(super) fn mend(&mut self) {
        let broken = self.broken.as_ref().map(Error::kind);
        if broken == Some(ErrorKind::Panicked)
            && let Err(error) = self.move_to(self.super_version.clone(), self.seqno)
        {
            self.broken = Some(error);
        }
    }

    /// Called before a move if the iterator is [`outdated`](Self::outdated). False, with the error set, if
    /// the database is closed or the deadline has passed.
    #[cold]
    pub(super) fn may_move(&mut self) -> bool {
        let may = match (self.family.is_closed(), self.deadline) {
            (true, _) => Err(closing()),
            (false, None) => Ok(()),
            (false, Some(deadline)) => check_deadline(&*self.family.clock, deadline),
        };
        may.map_err(|error| self.fail(error)).is_ok()
    }

    /// True if there is a newer super version that the iterator should move to.
    #[cold]
    pub(super) fn has_newer(&self) -> bool {
        self.auto_refresh && self.family.super_version_number.load(Ordering::Relaxed) > self.number
    }

    /// Moves to the first key within the bounds.
    pub fn seek_to_first(&mut self) {
        self.seek_by(DbIterator::find_first);
    }

    /// Moves to the last key within the bounds.
    pub fn seek_to_last(&mut self) {
        self.seek_by(DbIterator::find_last);
    }

    /// Moves to the first key at or after `key`, within the bounds.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        let key = key.as_ref();
        if self.family.query_trace.is_on() {
            self.trace_seek(false, key);
        }
        self.seek_by(|iter| iter.find(key));
    }

    /// Moves as [`seek`](Self::seek) does, among the rows of memtables alone: up to the next seek the
    /// iterator is one with [`ReadTier::Memtable`](crate::ReadTier::Memtable). For a caller whose keys hold
    /// versions, each written above the older ones: the newest version in memtables is then the newest of
    /// all, and no table is read for a version that was written a short time ago.
    ///
    /// False if that need not be so; the iterator is not valid then, and `seek` must follow. There may be no
    /// rows in memory, or some of those in memory were written before a file was
    /// [ingested](crate::Db::ingest_external_file), or before the database was opened.
    ///
    /// ```
    /// # fn main() -> esker::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = esker::Options { create_if_missing: true, ..Default::default() };
    /// let db = esker::Db::open(&options, dir.path())?;
    /// db.put(b"a", b"in a table")?;
    /// db.flush()?;
    /// db.put(b"b", b"in a memtable")?;
    /// let mut iter = db.iter();
    /// assert!(iter.seek_in_memtables(b"a"));
    /// assert_eq!(iter.key(), b"b");
    /// iter.seek(b"a");
    /// assert_eq!(iter.key(), b"a");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn seek_in_memtables(&mut self, key: impl AsRef<[u8]>) -> bool {
        if !self.memtables_are_newest() {
            self.place = DbPosition::Nowhere;
            return false;
        }
        let key = key.as_ref();
        if self.family.query_trace.is_on() {
            self.trace_seek(false, key);
        }
        self.seek_among(true, |iter| iter.find(key));
        // The seek may have moved to a newer super version.
        let is_newest = self.memtables_are_newest();
        if !is_newest {
            self.place = DbPosition::Nowhere;
        }
        is_newest
    }

    fn memtables_are_newest(&self) -> bool {
        let until = self.family.file_changes.ingested_until();
        self.super_version.memtables_are_newest(until)
    }

    /// Moves to the last key at or before `key`, within the bounds.
    pub fn seek_for_prev(&mut self, key: impl AsRef<[u8]>) {
        let key = key.as_ref();
        if self.family.query_trace.is_on() {
            self.trace_seek(true, key);
        }
        self.seek_by(|iter| iter.find_for_prev(key));
    }

    /// Records a seek of a user in the trace of queries. The engine's own iterators hold no database handle.
    #[cold]
    fn trace_seek(&self, for_prev: bool, key: &[u8]) {
        if self.handle.is_none() {
            return;
        }
        let timestamp = self.family.cmp.user().timestamp_size();
        let bounds = [&self.lower, &self.upper].map(|bound| {
            let bound = bound.as_deref().unwrap_or_default();
            &bound[..bound.len().saturating_sub(timestamp)]
        });
        self.family
            .query_trace
            .seek(for_prev, self.family.id, key, bounds);
    }

    /// Moves to the next key.
    #[inline]
    pub fn next(&mut self) {
        self.moving(|iter| match iter.observed {
            false => iter.forward(),
            true => iter.observe_step(DbIterator::forward, true),
        });
    }

    /// Moves to the previous key.
    pub fn prev(&mut self) {
        self.moving(|iter| match iter.observed {
            false => iter.backward(),
            true => iter.observe_step(DbIterator::backward, false),
        });
    }

    #[inline]
    fn seek_by(&mut self, seek: impl FnOnce(&mut DbIterator)) {
        self.seek_among(false, seek);
    }

    #[inline]
    fn seek_among(&mut self, memtables_only: bool, seek: impl FnOnce(&mut DbIterator)) {
        self.memtables_only = memtables_only;
        self.observed = self.family.tables.stats().shared().is_some()
            || perf::counts()
            || self.charge.is_some()
            || self.io_timeout.is_some()
            || self.pins.is_some();
        self.moving(|iter| match iter.observed {
            false => seek(iter),
            true => iter.observe_seek(seek),
        });
    }

    #[cold]
    fn observe_seek(&mut self, seek: impl FnOnce(&mut DbIterator)) {
        let _charged = self.charge.clone().map(ChargedReads::begin);
        let _timeout = self.io_timeout.map(ReadTimeout::begin);
        self.leave_pinned();
        let started = self.family.tables.stats().start();
        let timers = (
            perf::time(|cells| &cells.seek_internal_seek_time),
            perf::time_cpu(|cells| &cells.iter_seek_cpu_nanos),
        );
        seek(self);
        drop(timers);
        perf::count(|cells| &cells.iter_seek_count, 1);
        self.family.tables.stats().stop(started, Histogram::DbSeek);
        self.count_move(Ticker::Seeks, Ticker::SeeksFound);
        self.pin_row();
    }

    #[cold]
    pub(super) fn observe_step(&mut self, step: impl FnOnce(&mut DbIterator), forward: bool) {
        let _charged = self.charge.clone().map(ChargedReads::begin);
        let _timeout = self.io_timeout.map(ReadTimeout::begin);
        self.leave_pinned();
        let timers = (
            perf::time(|cells| &cells.find_next_user_entry_time),
            match forward {
                true => perf::time_cpu(|cells| &cells.iter_next_cpu_nanos),
                false => perf::time_cpu(|cells| &cells.iter_prev_cpu_nanos),
            },
        );
        step(self);
        drop(timers);
        if forward {
            perf::count(|cells| &cells.iter_next_count, 1);
            self.count_move(Ticker::Nexts, Ticker::NextsFound);
        } else {
            perf::count(|cells| &cells.iter_prev_count, 1);
            self.count_move(Ticker::Prevs, Ticker::PrevsFound);
        }
        self.pin_row();
    }

    fn count_move(&self, moves: Ticker, found: Ticker) {
        let stats = self.family.tables.stats();
        stats.count(moves, 1);
        perf::count(|cells| &cells.internal_key_skipped_count, self.skipped);
        if self.valid() {
            let bytes = (self.key().len() + self.value().len()) as u64;
            stats.count(found, 1);
            stats.count(Ticker::IterBytesRead, bytes);
            perf::count(|cells| &cells.iter_read_bytes, bytes);
        }
    }
}
