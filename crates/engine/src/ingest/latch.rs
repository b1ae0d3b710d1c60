//! The range latch of an ingestion, and the sequence numbers reserved for it.
//!
//! ```text
//! latch the ranges | flush memtables with rows of them | reserve sequence numbers | sync the WAL | install
//! release the latch
//! ```
//!
//! The write queue's lock is held only for the first step, for the reservation and at the end, each time for
//! a moment. Rows outside of the ranges are written meanwhile; those written after the reservation have
//! higher sequence numbers than the files.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{Error, Result, SeqNo};

use super::prepare::PreparedFamily;
use crate::state::column_family::Family;
use crate::state::db_inner::DbInner;
use crate::state::range_latch::RangeLatch;
use crate::state::removals::KeyRange;
use crate::state::snapshot::ClosedGate;
use crate::state::write_queue::DrainedQueue;

/// The latch on the ranges of an ingestion, released when it is dropped.
pub(super) struct HeldLatch<'a>(&'a DbInner);

impl Drop for HeldLatch<'_> {
    fn drop(&mut self) {
        self.0.state.lock().range_latch = None;
        self.0.changed.notify_all();
    }
}

/// Reserved sequence numbers, which no row gets.
pub(super) struct Reserved<'a> {
    /// The last sequence number before the reserved ones.
    pub before: SeqNo,
    /// The last of the reserved sequence numbers.
    pub last: SeqNo,
    /// The number of records of the WAL that must be synced before the files are installed.
    pub records: u64,
    /// The closed gate of snapshots. Until it is dropped no snapshot is taken: such a snapshot would show the
    /// ingested files only later.
    pub gate: Option<ClosedGate<'a>>,
}

impl DbInner {
    /// Keeps writers out of the ranges of the files, and of the ranges that files replace. One ingestion at a
    /// time has the latch. When this returns, every row of the ranges is in a memtable or a table.
    pub(super) fn latch_ranges(&self, families: &[PreparedFamily]) -> Result<HeldLatch<'_>> {
        let mut writer = self.write.queue.lock();
        loop {
            self.wait_until_wal_unlocked(&mut writer)?;
            let mut state = self.state.lock();
            if state.range_latch.is_some() {
                writer.unlocked(|| self.wait_for_latch(state));
                continue;
            }
            for own in families {
                own.family.check_writable()?;
            }
            // Files that are ingested behind all others are older than every row, so rows may be written
            // meanwhile.
            let latched = families.iter().filter(|own| !own.options.ingest_behind);
            let latched = latched.map(|own| (own.family.clone(), own.ranges()));
            state.range_latch = Some(RangeLatch::new(latched));
            self.write.attention.store(true, Ordering::Relaxed);
            return Ok(HeldLatch(self));
        }
    }

    /// Flushes the memtables that hold rows of the latched ranges.
    pub(super) fn flush_overlapping(&self, families: &[PreparedFamily]) -> Result<()> {
        let to_flush = {
            let mut writer = self.write.queue.lock();
            self.switch_overlapping(&mut writer, families)?
        };
        match to_flush.is_empty() {
            true => Ok(()),
            false => self.finish_flush(&to_flush),
        }
    }

    /// Switches the memtables that hold rows older than the ingested files. Returns when the WAL is not
    /// locked, with the families to flush.
    fn switch_overlapping(
        &self,
        writer: &mut DrainedQueue<'_>,
        families: &[PreparedFamily],
    ) -> Result<Vec<u32>> {
        loop {
            self.wait_until_wal_unlocked(writer)?;
            let to_flush = overlapping(families)?;
            let to_flush = self.state.lock().switched_with(to_flush);
            if to_flush.is_empty() || !self.switch_to_flush(writer, &to_flush)? {
                return Ok(to_flush);
            }
        }
    }

    /// Reserves the sequence numbers that the files may need. Memtables of the families `spanned` are
    /// switched and flushed: each later row of them has a higher number than the files.
    pub(super) fn reserve_seqnos(
        &self,
        families: &[PreparedFamily],
        spanned: &[u32],
    ) -> Result<Reserved<'_>> {
        let files: usize = families.iter().map(|own| own.files.len()).sum();
        let kept = families.iter().flat_map(|own| &own.files);
        let kept = kept
            .filter_map(|file| file.external.seqnos)
            .map(|(_, largest)| largest)
            .max();
        let mut writer = self.write.queue.lock();
        loop {
            self.wait_until_wal_unlocked(&mut writer)?;
            let to_flush = self.state.lock().switched_with(spanned.to_vec());
            if to_flush.is_empty() || !self.switch_to_flush(&mut writer, &to_flush)? {
                break;
            }
        }
        // The WAL is written out first: a crash must not lose earlier rows and keep the ingested ones.
        self.flush_wal_of(&mut writer)?;
        let consistent = families.iter().any(|own| own.options.snapshot_consistency);
        let gate = consistent.then(|| self.snapshots.close_gate());
        let before = writer.last_seqno;
        // The replacement of a range takes a sequence number of its own.
        let replaced = u64::from(families.iter().any(|own| own.replace.is_some()));
        let last = (before + files as u64).max(kept.unwrap_or(0)) + replaced;
        writer.last_seqno = last;
        Ok(Reserved {
            before,
            last,
            records: self.wal_tail.records.load(Ordering::Acquire),
            gate,
        })
    }

    /// Ends a reservation of which the sequence numbers up to `used` were used. If no row was written and no
    /// WAL begun since the reservation, returns `used`; otherwise returns a number higher than that of every
    /// row written so far.
    pub(super) fn settle_seqnos(&self, reserved: &Reserved<'_>, used: SeqNo) -> SeqNo {
        let mut writer = self.write.queue.lock();
        if !writer.take_back(reserved.last, used) {
            writer.last_seqno += 1;
        }
        self.published.fetch_max(writer.last_seqno, Ordering::AcqRel);
        writer.last_seqno
    }

    /// Ends a reservation of sequence numbers that were not used.
    pub(super) fn release_seqnos(&self, reserved: Reserved<'_>) {
        drop(reserved.gate);
        let mut writer = self.write.queue.lock();
        writer.take_back(reserved.last, reserved.before);
    }
}

/// The families whose memtables overlap the files, and must be flushed first. The ranges are latched, so that
/// no row is added afterwards.
fn overlapping(families: &[PreparedFamily]) -> Result<Vec<u32>> {
    let mut overlapping = Vec::new();
    for own in families {
        // Files that are ingested behind all others are older than every row, so no memtable must be flushed
        // for them.
        if own.options.ingest_behind || !own.overlaps_memtables(&own.family.super_version.load())? {
            continue;
        }
        own.check_may_flush()?;
        if own.family.cmp.user().timestamp_size() > 0 {
            return Err(Error::invalid_argument(
                "Column family enables user-defined timestamps, please make sure the key range (without timestamp) of \
                 external file does not overlap with key range in the memtables.",
            ));
        }
        overlapping.push(own.family.id);
    }
    Ok(overlapping)
}

impl PreparedFamily {
    /// The ranges that the files change.
    fn ranges(&self) -> Vec<KeyRange> {
        if let Some(range) = &self.replace {
            return vec![range.to_key_range()];
        }
        let files = self.files.iter().map(|file| KeyRange {
            begin: Some(file.external.start().to_vec()),
            end: Bound::Included(file.external.limit().to_vec()),
        });
        files.collect()
    }

    /// The range that the ingestion changes in the view of transactions; `None` unless the files have
    /// sequence numbers or replace a range.
    pub(super) fn written_range(&self, numbered: bool) -> Option<(Arc<Family>, KeyRange)> {
        if let Some(range) = &self.replace {
            return Some((self.family.clone(), range.to_key_range()));
        }
        let user = self.family.cmp.user();
        let files = || self.files.iter().map(|file| &file.external);
        let by_key = |a: &&[u8], b: &&[u8]| user.compare_without_timestamp(a, b);
        let begin = files()
            .map(|file| file.start())
            .min_by(by_key)
            .filter(|_| numbered)?;
        let end = files().map(|file| file.limit()).max_by(by_key)?;
        let range = KeyRange {
            begin: Some(begin.to_vec()),
            end: Bound::Included(end.to_vec()),
        };
        Some((self.family.clone(), range))
    }
}
