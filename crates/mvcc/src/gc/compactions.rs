//! Garbage that is not removed by writes, but dropped when the engine's compactions rewrite the files that
//! hold it.
//!
//! Once garbage at a time C is *collected*, it makes no visible difference whether it still exists: reads at
//! or below C are refused, later reads see the version that hides it, and statistics give it no weight
//! ([`KeyStats`](crate::key::stats::KeyStats)). So a compaction may drop such garbage at any time, and
//! statistics stay exact without an update. Exactness is established at the moment when C rises: a walk over
//! a snapshot weighs the new garbage, the keys written meanwhile are weighed again, and the sum becomes
//! durable together with C.
//!
//! A compaction drops a version if directly before it, in the same key, it saw a *hider*: a version at or
//! below C. Deletions stay if nothing hides them, because the versions they hide may be in files that the
//! compaction does not read. A version at or below C is not always a hider:
//!
//! * A version that the engine has since deleted may still be in the files, while the version it hid is
//!   visible again. Versions at or below the threshold are only ever removed together with all below them.
//!   Others may be removed alone, by [`revert_to`](crate::MvccBatch::revert_to) and similar operations. So
//!   the store remembers the latest version ever removed above the threshold, and no version up to it is a
//!   hider (`distrusted`).
//! * A snapshot of the engine taken before C rose may be read as of times below C. So the store remembers the
//!   write at which C rose, and a compaction uses the C of its oldest snapshot
//!   ([`FilterContext::oldest_snapshot`]).
//!
//! Range tombstones are not hiders, and stay. The newest version that one hides is kept, so that a read that
//! asks for deletions finds the same key with and without a compaction.
//! [`collect_garbage`](MvccStore::collect_garbage) removes that version, and then the range tombstone.

use std::time::Duration;

use esker::LiveFile;

use super::hidden::is_worth_it;
use super::pages::threshold_of;
use crate::error::{Error, Result};
use crate::key::comparator::compare;
use crate::key::mvcc_key::next_user_key;
use crate::key::span::Span;
use crate::key::stats::MvccStats;
use crate::read::count_stats::weigh_garbage;
use crate::write::store::MvccStore;

impl MvccStore {
    /// Collects versions that have been garbage for longer than `ttl` at `now` nanoseconds, and leaves their
    /// removal to compactions. Nothing is deleted: the garbage no longer counts, and it is dropped as its
    /// files are compacted. Files at the bottom with much garbage are rewritten for that
    /// ([`suggest_compactions`](Self::suggest_compactions)). Garbage that an older snapshot of the engine
    /// sees stays until that snapshot is closed. If a key is deleted, its deletion stays until
    /// [`collect_garbage`](Self::collect_garbage) removes it. Reads all data twice; other threads read and
    /// write meanwhile. Returns the collected garbage as statistics.
    ///
    /// # Errors
    /// `InvalidArgument` for a store that was not [opened with compactions](Self::open_with_compactions), or
    /// keeps no statistics; errors of the engine.
    pub fn collect_in_compactions(&self, ttl: Duration, now: i64) -> Result<MvccStats> {
        let Some(gc) = self.compaction_gc() else {
            return Err(Error::invalid_argument(
                "the store was not opened with the CompactionGc of its family's options, or keeps no statistics",
            ));
        };
        let _alone = self.collecting.lock();
        self.advance_threshold(threshold_of(ttl, now))?;
        let until = self.threshold();
        let (then, from) = self.begin_watch();
        let walked = weigh_garbage(&then, Span::ALL, now, from, until);
        let garbage = self.end_watch(|alone, touched| {
            let mut garbage = walked?;
            let reader = self.written(alone.shared.collected);
            if touched.all {
                garbage = weigh_garbage(&reader, Span::ALL, now, from, until)?;
            }
            for key in touched.keys.iter().filter(|_| !touched.all) {
                let end = next_user_key(key);
                garbage -= weigh_garbage(&then, Span::new(key, &end), now, from, until)?;
                garbage += weigh_garbage(&reader, Span::new(key, &end), now, from, until)?;
            }
            let mut total = alone.totals.stats;
            total -= garbage;
            self.write_collected(alone, until, total)?;
            gc.rise(until, self.db().latest_sequence_number(), self.oldest_snapshot());
            Ok(garbage)
        })?;
        // The reader's snapshot is older than the collection.
        drop(then);
        self.begin_scans_anew();
        self.suggest_compactions()?;
        Ok(garbage)
    }
}

/// True if no older table among `files`, those of its family, overlaps `file`.
fn is_bottommost(files: &[LiveFile], file: &LiveFile) -> bool {
    !files.iter().any(|other| {
        let is_older = other.level > file.level
            || other.level == 0 && file.level == 0 && other.largest_seqno < file.largest_seqno;
        is_older
            && compare(&other.smallest_key, &file.largest_key).is_le()
            && compare(&file.smallest_key, &other.largest_key).is_le()
    })
}

impl MvccStore {
    /// Asks the engine to rewrite tables in the background, when nothing more urgent is due: tables with
    /// nothing below them, of which compactions would drop enough
    /// ([`set_min_garbage`](crate::CompactionGc::set_min_garbage)) of the collected garbage. Returns their
    /// number. [`collect_in_compactions`](Self::collect_in_compactions) ends with this call. A call by itself
    /// is worthwhile when readers and snapshots have been closed that were open then, because the versions
    /// they saw were kept. Reads the properties of all tables. Does nothing for a store that was not [opened
    /// with compactions](Self::open_with_compactions).
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn suggest_compactions(&self) -> Result<usize> {
        let Some(gc) = self.compaction_gc() else {
            return Ok(0);
        };
        let (after, until) = gc.hiders(self.oldest_snapshot());
        if after >= until {
            return Ok(0);
        }
        let fraction = gc.min_garbage();
        let properties = self.db().properties_of_all_tables(self.family())?;
        let mut files = self.db().live_files();
        files.retain(|file| file.column_family == self.family().name());
        let worth = files.iter().filter(|file| {
            properties
                .get(&file.path)
                .is_some_and(|properties| is_worth_it(properties, after, until, fraction))
        });
        let numbers: Vec<u64> = worth
            .filter(|file| is_bottommost(&files, file))
            .map(|file| file.number)
            .collect();
        self.db().suggest_compact_files(self.family(), &numbers)?;
        Ok(numbers.len())
    }
}
