//! The times at which rows were written, for families that preserve them: sampled periodically, kept in
//! memory and in tables.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::{Result, SeqNo};
use compact::SeqnoToTimeMapping;
use manifest::FileMetadata;

use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::handle::Db;

/// The number of samples within the shortest time that a family preserves.
const PAIRS: u64 = 100;

impl Db {
    /// Returns the known times of sequence numbers that are in memory: see
    /// [`preserve_internal_time_seconds`](crate::ColumnFamilyOptions::preserve_internal_time_seconds). A
    /// table has those of its rows in its property `rocksdb.seqno.time.map`, for
    /// [`SeqnoToTimeMapping::decode`].
    pub fn seqno_to_time_mapping(&self) -> SeqnoToTimeMapping {
        self.inner().jobs.seqno_to_time.lock().clone()
    }
}

impl DbInner {
    /// Samples the last sequence number and the time when `due`, and returns the time until the next sample:
    /// a hundredth of the shortest time that a family preserves. `None` if no family preserves times.
    pub(crate) fn record_seqno_time_when_due(&self, due: &mut Duration) -> Option<Duration> {
        let (mut shortest, mut longest) = (u64::MAX, 0);
        for own in self.state.lock().families.values() {
            let seconds = own.family.current().recorded_seconds();
            if seconds > 0 {
                (shortest, longest) = (shortest.min(seconds), longest.max(seconds));
            }
        }
        if longest == 0 {
            return None;
        }
        let now = self.options.clock.now();
        if now >= *due {
            self.record_seqno_time();
            let oldest = self.options.clock.unix_seconds().saturating_sub(longest);
            self.jobs.seqno_to_time.lock().truncate_before(oldest);
            *due = now + Duration::from_secs(shortest.div_ceil(PAIRS));
        }
        Some(due.saturating_sub(now))
    }

    /// Samples the last sequence number and the time.
    pub(crate) fn record_seqno_time(&self) {
        let seqno = self.published.load(Ordering::Acquire);
        let time = self.options.clock.unix_seconds();
        self.jobs.seqno_to_time.lock().append(seqno, time);
    }

    /// The times of sequence numbers for the output of a flush or a compaction of `files`. `None` if the
    /// family does not preserve times.
    pub(crate) fn times_of<'f>(
        &self,
        family: &Family,
        files: impl IntoIterator<Item = &'f Arc<FileMetadata>>,
    ) -> Result<Option<SeqnoToTimeMapping>> {
        if family.current().recorded_seconds() == 0 {
            return Ok(None);
        }
        self.record_seqno_time();
        let mut times = self.jobs.seqno_to_time.lock().clone();
        for file in files {
            let of_table = family.tables.with_table(file, |table| {
                SeqnoToTimeMapping::decode(&table.properties().seqno_to_time_mapping)
                    .map_err(|error| error.in_file(table.path()))
            });
            times.merge(&of_table?);
        }
        Ok(Some(times))
    }

    /// Same as [`preserved_from`](DbInner::preserved_from), with the times that are in memory.
    pub(crate) fn preserved_as_far_as_known(&self, family: &Family) -> SeqNo {
        match family.current().recorded_seconds() {
            0 => SeqNo::MAX,
            _ => self.preserved_from(family, Some(&*self.jobs.seqno_to_time.lock())),
        }
    }

    /// The first sequence number that compactions must keep instead of zeroing it, because `times` needs it
    /// to show the age of its row.
    pub(crate) fn preserved_from(&self, family: &Family, times: Option<&SeqnoToTimeMapping>) -> SeqNo {
        let preserved = family.current().recorded_seconds();
        let oldest = self.options.clock.unix_seconds().saturating_sub(preserved);
        times.map_or(SeqNo::MAX, |times| times.oldest_sequence_number(oldest))
    }

    /// Rows with higher sequence numbers are too recent for the last level, as far as `times` knows.
    pub(crate) fn recent_after(&self, family: &Family, times: Option<&SeqnoToTimeMapping>) -> SeqNo {
        times.map_or(0, |times| {
            times.oldest_sequence_number(self.precluded_time(family))
        })
    }

    /// Rows that were written later, in Unix seconds, are too recent for the last level.
    pub(crate) fn precluded_time(&self, family: &Family) -> u64 {
        let age = family.current().preclude_last_level_data_seconds;
        self.options.clock.unix_seconds().saturating_sub(age)
    }
}
