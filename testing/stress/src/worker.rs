//! One thread: draws an operation, does it, checks the result.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::Ordering;

use base::{Error, ErrorKind, user_code};
use esker::{
    BottommostLevelCompaction, ColumnFamily, CompactRangeOptions, DbIterator, IoPriority, MultiScanArgs,
    ReadOptions, Snapshot, WriteOptions,
};
use fastrand::Rng;

use crate::done::{Done, What};
use crate::expected_value::ExpectedValue;
use crate::failure::{Failure, Outcome};
use crate::keys;
use crate::stress::{Open, Stress, is_called_off};
use crate::verify;

/// The number of keys that an iterator visits.
pub(super) const SCAN_WIDTH: u64 = 100;

/// The most keys of a MultiGet or a batch.
pub(super) const BATCH: usize = 16;

/// A worker thread of the stress test.
pub struct Worker<'a> {
    pub(super) stress: &'a Stress,
    pub(super) open: &'a Open,
    pub(super) rng: Rng,
    /// The seed of this thread alone.
    pub(super) seed: u64,
    /// The number of operations begun.
    pub(super) at: u64,
    /// True while an operation changes the database: if it fails, its effect is unknown.
    pub(super) changing: bool,
    /// The held snapshots; the first is released first.
    pub(super) snapshots: VecDeque<HeldSnapshot>,
    /// The run of ascending keys that the thread writes.
    pub(super) run: AscendingKeys,
    pub done: Done,
}

/// A snapshot, and the values of some keys that it must show.
pub(super) struct HeldSnapshot {
    pub(super) release_at: u64,
    pub(super) snapshot: Snapshot,
    pub(super) handle: ColumnFamily,
    pub(super) seen: Seen,
}

/// The values of some keys of a family at one moment.
pub(super) struct Seen {
    pub(super) family: usize,
    pub(super) keys: Range<u64>,
    pub(super) values: Vec<ExpectedValue>,
}

impl Seen {
    /// The numbers of the keys that existed, and of their last writes.
    pub(super) fn rows(&self) -> Vec<(u64, u32)> {
        let values = self.keys.clone().zip(&self.values);
        let there = values.filter(|(_, value)| value.exists());
        there.map(|(key, value)| (key, value.write())).collect()
    }
}

impl<'a> Worker<'a> {
    pub fn new(stress: &'a Stress, open: &'a Open, seed: u64) -> Worker<'a> {
        Worker {
            stress,
            open,
            rng: Rng::with_seed(seed),
            seed,
            at: 0,
            changing: false,
            snapshots: VecDeque::new(),
            run: AscendingKeys::default(),
            done: Done::default(),
        }
    }

    /// Calls `go`. A read passes on a panic of user code, which becomes a failure of the read.
    pub(super) fn survive(&mut self, go: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        user_code::catch(|| go(self)).unwrap_or_else(|panicked| Err(panicked.into()))
    }

    /// Returns success for an injected failure; but if no thread can write any more, or an effect is unknown,
    /// all threads must stop.
    pub(super) fn excuse(&mut self, failure: Failure) -> Outcome {
        if !self.stress.is_injected(&failure) {
            return Err(failure);
        }
        if self.changing || self.open.is_latched() && !self.resume() {
            self.stress.interrupt();
        }
        self.done.count(What::Failed);
        Ok(())
    }

    /// Tries a few times, while failures are still injected, to resume writes. False if that fails.
    fn resume(&mut self) -> bool {
        let resumed = (0..3).any(|_| self.open.db.resume().is_ok());
        if resumed {
            self.done.count(What::Resumed);
            self.stress.rare.resumed();
        }
        resumed
    }

    pub(super) fn one_in(&mut self, times: u64) -> bool {
        times > 0 && self.rng.u64(..times) == 0
    }

    pub(super) fn family(&mut self) -> usize {
        self.rng.usize(..self.open.families.len())
    }

    pub(super) fn key(&mut self) -> u64 {
        self.rng.u64(..self.stress.expected.keys())
    }

    pub(super) fn read_options(&mut self) -> ReadOptions {
        let flags = &self.stress.flags;
        ReadOptions {
            verify_checksums: flags.verify_checksum,
            fill_cache: flags.fill_cache && (!self.rng.bool() || self.rng.bool()),
            readahead_size: flags.readahead_size as usize,
            adaptive_readahead: flags.adaptive_readahead,
            auto_readahead_size: flags.auto_readahead_size,
            async_io: flags.async_io,
            auto_refresh_iterator_with_snapshot: flags.auto_refresh_iterator_with_snapshot,
            allow_unprepared_value: flags.allow_unprepared_value,
            rate_limiter_priority: flags.rate_limit_user_ops.then_some(IoPriority::User),
            ..ReadOptions::default()
        }
    }

    // The operations that read.

    /// Makes an iterator over `keys` of `family`, or a snapshot, and returns what it must show: none of the
    /// keys changes while `take` runs.
    pub(super) fn see<T>(
        &self,
        family: usize,
        keys: Range<u64>,
        take: impl FnOnce(&ColumnFamily) -> T,
    ) -> Outcome<(T, Seen)> {
        let handle = self.open.families[family].read();
        let held = self.stress.hold_range(family, keys.start, keys.end);
        let taken = take(&handle);
        let values = keys.clone().map(|key| self.settled(family, key));
        let values = values.collect::<Outcome<_>>()?;
        drop(held);
        Ok((taken, Seen { family, keys, values }))
    }

    /// The expected value of a key whose lock is held. An error if a change of it is still pending: that
    /// change failed with an unknown effect.
    pub(super) fn settled(&self, family: usize, key: u64) -> Outcome<ExpectedValue> {
        let expected = self.stress.expected.get(family, key);
        if expected.is_pending() {
            let message = format!("a change of {} failed", self.stress.name(family, key));
            return Err(Error::new(ErrorKind::Aborted, message).into());
        }
        Ok(expected)
    }

    pub(super) fn bounded(&mut self, keys: &Range<u64>) -> ReadOptions {
        ReadOptions {
            auto_prefix_mode: self.rng.u32(..4) == 0,
            iterate_lower_bound: Some(keys::key(keys.start).to_vec()),
            iterate_upper_bound: Some(keys::key(keys.end).to_vec()),
            ..self.read_options()
        }
    }

    /// Compares the rows of an iterator, in either direction, with the ones seen.
    pub(super) fn compare(&mut self, iter: DbIterator, seen: &Seen, how: &str) -> Outcome {
        let rows = if self.rng.bool() {
            verify::forwards(iter)?
        } else {
            verify::backwards(iter)?
        };
        let expected = seen.rows();
        let at = (0..rows.len().max(expected.len())).find(|&at| {
            let wanted = expected
                .get(at)
                .map(|&(key, write)| (keys::key(key).to_vec(), self.stress.value(key, write)));
            wanted.as_ref() != rows.get(at)
        });
        let Some(at) = at else { return Ok(()) };
        Err(Failure::Mismatch(format!(
            "column family {}, keys {:?}: {how} of {} rows, expected are {}; row {at} is {:02x?}, expected is (key, write) {:?}",
            seen.family,
            seen.keys,
            rows.len(),
            expected.len(),
            rows.get(at),
            expected.get(at)
        )))
    }

    /// Scans ranges of keys, one after the other.
    pub(super) fn scan_ranges(&mut self) -> Outcome {
        let (family, start) = (self.family(), self.key());
        let keys = start..(start + SCAN_WIDTH).min(self.stress.expected.keys());
        let mut ends: Vec<u64> = (0..2 * self.rng.usize(1..4))
            .map(|_| self.rng.u64(keys.clone()))
            .collect();
        ends.sort_unstable();
        let ranges: Vec<Range<u64>> = ends.chunks(2).map(|ends| ends[0]..ends[1]).collect();
        let bounds = ranges.iter().map(|range| {
            let end = keys::key(range.end).to_vec();
            (keys::key(range.start).to_vec(), Some(end))
        });
        let args = MultiScanArgs {
            ranges: bounds.collect(),
            max_prefetch_size: if self.rng.bool() { 0 } else { 10_000 },
            use_async_io: self.stress.flags.multiscan_use_async_io,
            ..MultiScanArgs::default()
        };
        let options = self.read_options();
        let (scan, seen) = self.see(family, keys, |handle| {
            self.open.db.multi_scan(handle, args.clone(), &options)
        })?;
        self.done.count(What::Iterate);
        let (mut scan, rows) = (scan?, seen.rows());
        for range in ranges {
            let Some(iter) = scan.next_range() else {
                return Err(Failure::Mismatch(format!(
                    "a multi-scan ends before its range {range:?}"
                )));
            };
            for &(key, write) in rows.iter().filter(|row| range.contains(&row.0)) {
                let found = verify::row(iter);
                if found != Some((&keys::key(key)[..], &self.stress.value(key, write)[..])) {
                    let (name, found) = (self.stress.name(family, key), format!("{found:02x?}"));
                    iter.status()?;
                    return Err(Failure::Mismatch(format!(
                        "{name}: a multi-scan finds {found} there, expected is write {write}"
                    )));
                }
                iter.next();
            }
            let more = iter.valid().then(|| iter.key().to_vec());
            iter.status()?;
            if let Some(key) = more {
                return Err(Failure::Mismatch(format!(
                    "column family {family}: range {range:?} of a multi-scan goes on to {key:02x?}"
                )));
            }
        }
        Ok(())
    }

    // The operations with snapshots.

    // The operations that ask for background work.

    pub(super) fn compact_range(&mut self) -> Outcome {
        let (family, start) = (self.family(), self.key());
        let end = start.saturating_add(self.stress.flags.compact_range_width.max(1) as u64);
        let options = CompactRangeOptions {
            change_level: self.rng.u32(..8) == 0,
            bottommost_level_compaction: [
                BottommostLevelCompaction::Skip,
                BottommostLevelCompaction::IfHaveCompactionFilter,
                BottommostLevelCompaction::Force,
                BottommostLevelCompaction::ForceOptimized,
            ][self.rng.usize(..4)],
            max_subcompactions: self.rng.u32(..4),
            exclusive_manual_compaction: self.rng.u32(..4) == 0,
            allow_write_stall: self.rng.bool(),
            canceled: self.rng.bool().then(|| self.stress.canceled.clone()),
            ..CompactRangeOptions::default()
        };
        // The wait also covers background work that other threads have caused.
        self.stress
            .canceled
            .store(self.rng.u32(..8) == 0, Ordering::Relaxed);
        let handle = self.open.families[family].read();
        let (begin, end) = (keys::key(start), keys::key(end));
        self.done.count(What::CompactRange);
        match self
            .open
            .db
            .compact_range_cf_opt(&handle, Some(&begin), Some(&end), &options)
        {
            Err(error) if !is_called_off(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// Keys of one family that are written in ascending order.
#[derive(Default)]
pub(super) struct AscendingKeys {
    pub(super) family: usize,
    pub(super) next: u64,
    pub(super) left: u64,
}

impl Worker<'_> {
    pub(super) fn write_options(&mut self) -> WriteOptions {
        let flags = &self.stress.flags;
        WriteOptions {
            no_slowdown: self.one_in(flags.no_slowdown_one_in),
            low_pri: self.one_in(flags.low_pri_one_in),
            sync: flags.sync,
            disable_wal: flags.disable_wal,
            protection_bytes_per_key: flags.batch_protection_bytes_per_key as usize,
            rate_limiter_priority: flags.rate_limit_auto_wal_flush.then_some(IoPriority::User),
            ..WriteOptions::default()
        }
    }
}
