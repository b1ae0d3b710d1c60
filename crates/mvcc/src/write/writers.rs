//! The locks of a store's writers, and the state that they guard.
//!
//! A writer of known keys holds `shared` for reading and the latches of its keys; a batch, a collection and
//! a change of the threshold hold `shared` alone. The totals are locked for as long as one write takes. Lock
//! order: `shared`, latches in ascending order, `totals`, `waiting`.

use std::sync::{Arc, OnceLock};

use base::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use codec::hash::xxh3_64;
use esker::{WriteBatch, WriteOptions};

use crate::error::Result;
use crate::key::stats::MvccStats;
use crate::key::timestamp::Timestamp;
use crate::write::batch::{MvccBatch, Touched};
use crate::write::recent_keys::{Epoch, RecentKeys, RecentVersion};

/// The number of latches: a power of two. Two keys share one with a probability of 1 in this number.
const LATCHES: usize = 256;

/// The maximum number of bytes of rows in one write of the engine for several writers.
const GROUP_BYTES: usize = 1 << 20;

/// The locks of a store's writers.
pub(crate) struct Writers {
    shared: RwLock<Shared>,
    latches: Box<[Latch]>,
    totals: Mutex<Totals>,
    /// The changes of writers that wait for `totals`.
    waiting: Mutex<Vec<Waiting>>,
}

/// The state that no writer changes while another one writes.
#[derive(Clone, Copy)]
pub(crate) struct Shared {
    /// The time of the last collection: garbage at this time is not counted, and compactions may have dropped
    /// it or not.
    pub collected: Timestamp,
    /// True if batches record the keys that they write.
    pub is_watched: bool,
    /// The number of batches that were written alone.
    pub batches: u64,
}

/// The state that each write changes.
pub(crate) struct Totals {
    pub stats: MvccStats,
    /// The latest version that was removed above the threshold.
    pub distrusted: Timestamp,
    /// The keys written, while a watch records them.
    pub touched: Option<Touched>,
}

/// A latch in a cache line of its own, with the newest versions of some of its keys.
#[repr(align(64))]
#[derive(Default)]
struct Latch(Mutex<RecentKeys>);

/// The guards of the only writer.
pub(crate) struct Alone<'a> {
    pub shared: RwLockWriteGuard<'a, Shared>,
    pub totals: MutexGuard<'a, Totals>,
}

/// The guards of a writer of known keys. The latches are released first.
pub(crate) struct Latched<'a> {
    latches: Vec<(usize, MutexGuard<'a, RecentKeys>)>,
    pub shared: RwLockReadGuard<'a, Shared>,
}

/// The changes of a batch that is complete.
pub(crate) struct Changes {
    pub rows: WriteBatch,
    pub stats: MvccStats,
    /// The latest version above the threshold that was removed.
    pub removed_until: Timestamp,
    pub touched: Option<Touched>,
}

/// The changes of a writer that waits for the totals: they are written by its own thread, or by one that has
/// the totals before.
struct Waiting {
    changes: Changes,
    options: WriteOptions,
    written: Outcome,
}

/// The result of a write that another thread may make.
type Outcome = Arc<OnceLock<Result<()>>>;

impl Changes {
    pub fn of(mut batch: MvccBatch<'_>) -> Changes {
        Changes {
            stats: batch.stats(),
            removed_until: batch.removed_until,
            touched: batch.touched.take(),
            rows: batch.into_write_batch(),
        }
    }

    fn append(&mut self, other: Changes) {
        self.rows.append(&other.rows);
        self.stats += other.stats;
        self.removed_until = self.removed_until.max(other.removed_until);
        if let (Some(all), Some(touched)) = (&mut self.touched, other.touched) {
            all.add(touched);
        }
    }
}

/// The latch of a key, and the rest of the key's hash.
fn place_of(key: &[u8]) -> (usize, u64) {
    let hash = xxh3_64(key);
    (hash as usize % LATCHES, hash / LATCHES as u64)
}

impl Latched<'_> {
    /// The newest version of `key`, a key of the latches, if it is known in `epoch`.
    pub fn recent(&self, key: &[u8], epoch: Epoch) -> Option<RecentVersion> {
        let (place, hash) = place_of(key);
        let at = self.latches.binary_search_by_key(&place, |(place, _)| *place);
        self.latches[at.ok()?].1.get(hash, key, epoch)
    }

    /// Sets the newest version of `key`, a key of the latches; `None` forgets it.
    pub fn set_recent(&mut self, key: &[u8], version: Option<(RecentVersion, Epoch)>) {
        let (place, hash) = place_of(key);
        if let Ok(at) = self.latches.binary_search_by_key(&place, |(place, _)| *place) {
            self.latches[at].1.set(hash, key, version);
        }
    }
}

impl Writers {
    pub fn new(shared: Shared, totals: Totals) -> Writers {
        Writers {
            shared: RwLock::new(shared),
            latches: (0..LATCHES).map(|_| Latch::default()).collect(),
            totals: Mutex::new(totals),
            waiting: Mutex::new(Vec::new()),
        }
    }

    /// Waits for all other writers.
    pub fn alone(&self) -> Alone<'_> {
        Alone {
            shared: self.shared.write(),
            totals: self.totals.lock(),
        }
    }

    /// Waits for the writers of `keys`, and for one that is alone.
    pub fn latch(&self, keys: &[&[u8]]) -> Latched<'_> {
        let shared = self.shared.read();
        let mut places: Vec<usize> = keys.iter().map(|key| place_of(key).0).collect();
        places.sort_unstable();
        places.dedup();
        Latched {
            latches: places
                .into_iter()
                .map(|place| (place, self.latches[place].0.lock()))
                .collect(),
            shared,
        }
    }

    /// The totals. They match the written data while the guard is held.
    pub fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock()
    }

    /// Writes `changes` with `write`. A writer that finds others waiting for the totals writes their changes
    /// with its own, if their options are the same.
    ///
    /// # Errors
    /// The error of `write`, which all writers of a group get.
    pub fn commit(
        &self,
        changes: Changes,
        options: &WriteOptions,
        write: impl FnOnce(&mut Totals, Changes) -> Result<()>,
    ) -> Result<()> {
        if let Some(mut totals) = self.totals.try_lock() {
            return write(&mut totals, changes);
        }
        let own = Outcome::default();
        self.waiting.lock().push(Waiting {
            changes,
            options: options.clone(),
            written: own.clone(),
        });
        let mut totals = self.totals.lock();
        // Only a thread that holds the totals takes changes or sets an outcome.
        if let Some(written) = own.get() {
            return written.clone();
        }
        let Some((changes, group)) = self.take_group(&own) else {
            let message = "the thread that wrote the rows with its own has panicked";
            return Err(base::Error::new(base::ErrorKind::Aborted, message).into());
        };
        let written = write(&mut totals, changes);
        for other in group {
            let _ = other.set(written.clone());
        }
        written
    }

    /// Takes the changes of `own`, and with them those of waiting writers with the same options. Also returns
    /// the outcomes to set for these.
    fn take_group(&self, own: &Outcome) -> Option<(Changes, Vec<Outcome>)> {
        let mut waiting = self.waiting.lock();
        let at = waiting
            .iter()
            .position(|other| Arc::ptr_eq(&other.written, own))?;
        let Waiting {
            mut changes, options, ..
        } = waiting.remove(at);
        let mut group = Vec::new();
        let mut bytes = changes.rows.data_size();
        let joins = |other: &mut Waiting| {
            let is_joined = other.options == options && bytes + other.changes.rows.data_size() <= GROUP_BYTES;
            if is_joined {
                bytes += other.changes.rows.data_size();
            }
            is_joined
        };
        for other in waiting.extract_if(.., joins) {
            changes.append(other.changes);
            group.push(other.written);
        }
        Some((changes, group))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use base::{ErrorKind, sync};

    use super::*;
    use crate::error::Error;

    fn writers() -> Writers {
        let shared = Shared {
            collected: Timestamp::ZERO,
            is_watched: false,
            batches: 0,
        };
        let totals = Totals {
            stats: MvccStats::at(0),
            distrusted: Timestamp::ZERO,
            touched: None,
        };
        Writers::new(shared, totals)
    }

    /// Returns a batch with one row of `key`.
    fn row(key: u8) -> Changes {
        let mut rows = WriteBatch::new();
        rows.put(&[key], b"value");
        Changes {
            rows,
            stats: MvccStats {
                key_count: 1,
                ..MvccStats::at(0)
            },
            removed_until: Timestamp::from_nanos(i64::from(key)),
            touched: Some(Touched {
                keys: [vec![key]].into(),
                all: key == 2,
            }),
        }
    }

    /// Ten writers wait for the totals: the first one to get them writes the rows of all.
    fn commit_ten(
        options: impl Fn(u8) -> WriteOptions + Sync,
        fails: bool,
    ) -> (usize, usize, Vec<Result<()>>) {
        let writers = writers();
        let (writes, rows) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let held = writers.totals();
        let commit = |key| {
            writers.commit(row(key), &options(key), |totals, changes| {
                assert_eq!(changes.stats.key_count, i64::from(changes.rows.count()));
                totals.stats += changes.stats;
                writes.fetch_add(1, Ordering::Relaxed);
                rows.fetch_add(changes.rows.count() as usize, Ordering::Relaxed);
                match fails {
                    true => Err(Error::invalid_argument("refused")),
                    false => Ok(()),
                }
            })
        };
        let results = thread::scope(|scope| {
            let commit = &commit;
            let threads: Vec<_> = (0..10).map(|key| scope.spawn(move || commit(key))).collect();
            while writers.waiting.lock().len() < 10 {
                sync::thread::yield_now();
            }
            drop(held);
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(writers.totals().stats.key_count, 10);
        (writes.into_inner(), rows.into_inner(), results)
    }

    #[test]
    fn one_write_takes_the_rows_of_all_that_wait() {
        let (writes, rows, results) = commit_ten(|_| WriteOptions::default(), false);
        assert_eq!((writes, rows), (1, 10));
        assert!(results.iter().all(Result::is_ok));
        // All writers of a group get its error.
        let (writes, rows, results) = commit_ten(|_| WriteOptions::default(), true);
        assert_eq!((writes, rows), (1, 10));
        let refused = |result: &Result<()>| matches!(result, Err(Error::Engine(error)) if error.kind() == ErrorKind::InvalidArgument);
        assert!(results.iter().all(refused));
    }

    #[test]
    fn writes_with_other_options_are_no_part_of_a_group() {
        let sync = |key| WriteOptions {
            sync: key % 2 == 0,
            ..WriteOptions::default()
        };
        let (writes, rows, results) = commit_ten(sync, false);
        assert_eq!((writes, rows), (2, 10));
        assert!(results.iter().all(Result::is_ok));
    }

    #[test]
    fn a_group_has_a_limit() {
        let mut large = row(1);
        large.rows.put(b"large", &vec![0; GROUP_BYTES]);
        let writers = writers();
        for (key, changes) in [(0, row(0)), (1, large), (2, row(2))] {
            writers.waiting.lock().push(Waiting {
                changes,
                options: WriteOptions::default(),
                written: Outcome::default(),
            });
            assert_eq!(writers.waiting.lock().len(), key + 1);
        }
        let own = writers.waiting.lock()[0].written.clone();
        let (changes, group) = writers.take_group(&own).unwrap();
        assert_eq!((changes.rows.count(), group.len()), (2, 1));
        assert_eq!(changes.removed_until, Timestamp::from_nanos(2));
        let touched = changes.touched.unwrap();
        assert!(touched.all && touched.keys.len() == 2);
        assert!(writers.take_group(&own).is_none());
        assert_eq!(writers.waiting.lock().len(), 1);
    }

    #[test]
    fn keys_are_latched_until_the_guard_is_dropped() {
        let writers = writers();
        let is_free = |key: &[u8]| writers.latches[place_of(key).0].0.try_lock().is_some();
        // A key that is named twice is latched once.
        let held = writers.latch(&[b"ada", b"grace", b"ada"]);
        assert!(!is_free(b"ada") && !is_free(b"grace") && is_free(b"edsger"));
        // Meanwhile no writer has all keys to itself, and other keys can be latched.
        assert!(writers.shared.try_write().is_none());
        drop(writers.latch(&[b"edsger"]));
        drop(held);
        assert!(is_free(b"ada") && is_free(b"grace"));
        let alone = writers.alone();
        assert!(writers.shared.try_read().is_none() && writers.totals.try_lock().is_none());
        drop(alone);
    }
}
