//! The write queue's lock, and the guarantees for its holder.
//!
//! Writers take it to number their rows and append them to the WAL, and may release it before the rows are in
//! memtables (`inserts.rs`). All other holders require that no write is half done. Therefore
//! [`WriteQueue::lock`] waits for the inserts in progress, and only
//! [`DbInner::commit`](crate::state::db_inner::DbInner::commit) does without that.
//!
//! Waiters spin first, and may lose their CPU to a flush meanwhile. A thread on another CPU could then write
//! alone for as long as the flush takes. If a thread waits and has not had the lock for [`IN_A_ROW`] writes,
//! the next writer sleeps for a moment first, which leaves a CPU to the waiter.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;

use base::sync::{self, Condvar, Mutex, MutexGuard, SIMULATED};

use crate::state::inserts::Inserts;
use crate::state::writer::Writer;

/// The number of writes in a row that find the queue free before waiters take precedence: half a
/// millisecond's worth.
const IN_A_ROW: u32 = if SIMULATED { 4 } else { 1000 };

/// The minimum time that a writer sleeps to let another in; kernels add their timers' slack, another 50 us.
const MOMENT: Duration = Duration::from_micros(50);

/// The time to insert the rows of a write, compared with the cost of transferring the data guarded by the
/// lock between two CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteSize {
    Small,
    Large,
}

impl WriteSize {
    /// Measured: with one row of a few hundred bytes nothing is gained and up to a fifth lost; with two rows
    /// nothing is lost.
    #[inline]
    pub fn of(rows: u64, bytes: u64) -> WriteSize {
        match rows > 1 || bytes > 4096 {
            true => WriteSize::Large,
            false => WriteSize::Small,
        }
    }
}

/// The write queue.
pub(crate) struct WriteQueue {
    writer: Mutex<Writer>,
    /// The number of writers that wait for the queue.
    waiting: CachePadded<AtomicUsize>,
    /// The lock under which writers sleep to let others in. They are never woken: the sleep is short.
    asleep: Mutex<()>,
    moment: Condvar,
    /// Writes that have left the queue while their rows are not visible yet.
    pub(crate) inserts: Inserts,
}

/// The write queue's lock, with the guarantee that every numbered row is in its memtable and visible.
pub(crate) struct DrainedQueue<'a> {
    writer: MutexGuard<'a, Writer>,
    inserts: &'a Inserts,
}

impl WriteQueue {
    pub fn new(writer: Writer) -> WriteQueue {
        WriteQueue {
            writer: Mutex::new(writer),
            waiting: CachePadded::new(AtomicUsize::new(0)),
            asleep: Mutex::new(()),
            moment: Condvar::new(),
            inserts: Inserts::new(),
        }
    }

    /// Takes the lock, and waits until no insert is in progress.
    pub fn lock(&self) -> DrainedQueue<'_> {
        self.drain(sync::lock_soon(&self.writer))
    }

    /// Same as [`lock`](Self::lock), but fails if a write is in progress.
    pub fn try_lock(&self) -> Option<DrainedQueue<'_>> {
        let writer = self.writer.try_lock()?;
        self.inserts.is_idle().then(|| self.drain(writer))
    }

    /// Takes the lock alone, to write. True if it waited for other threads, which held the lock or were let
    /// in first.
    #[inline]
    pub(crate) fn lock_to_write(&self) -> (MutexGuard<'_, Writer>, bool) {
        match self.writer.try_lock() {
            Some(mut writer) => {
                writer.in_a_row += 1;
                match writer.in_a_row >= IN_A_ROW {
                    false => (writer, false),
                    true => self.let_others_in(writer),
                }
            }
            None => (self.wait_to_write(), true),
        }
    }

    #[cold]
    fn wait_to_write(&self) -> MutexGuard<'_, Writer> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let mut writer = sync::lock_soon(&self.writer);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        writer.in_a_row = 0;
        writer
    }

    /// Releases the lock for a moment if a thread waits for it. Returns the same as
    /// [`lock_to_write`](Self::lock_to_write).
    #[cold]
    fn let_others_in<'a>(&'a self, mut writer: MutexGuard<'a, Writer>) -> (MutexGuard<'a, Writer>, bool) {
        writer.in_a_row = 0;
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return (writer, false);
        }
        drop(writer);
        // The writer does not sleep on the write queue's lock: a thread that wakes there sleeps again until
        // the lock is free, and must be woken once more.
        self.moment.wait_for(&mut self.asleep.lock(), MOMENT);
        (self.wait_to_write(), true)
    }

    /// True if a writer should release the lock before it inserts: there are other writers, and its insert
    /// takes longer than handing over the lock. If false, the writer keeps the lock and is the only one that
    /// inserts. The caller holds the lock; `has_waited` is true if it waited for it.
    #[inline]
    pub(crate) fn should_leave(&self, size: WriteSize, has_waited: bool) -> bool {
        match self.inserts.is_idle() {
            true => size == WriteSize::Large && (has_waited || self.waiting.load(Ordering::Relaxed) > 0),
            false => self.should_join(size),
        }
    }

    #[cold]
    fn should_join(&self, size: WriteSize) -> bool {
        if size == WriteSize::Large || self.inserts.is_large_under_way() {
            return true;
        }
        self.inserts.drain();
        // After `drain` the inserts are idle unless a ticket has failed. Then no further row may be
        // published: the rows of a write with a ticket are not, but a write that keeps the lock would publish
        // its rows.
        !self.inserts.is_idle()
    }

    /// Waits for the inserts in progress.
    pub(crate) fn drain<'a>(&'a self, writer: MutexGuard<'a, Writer>) -> DrainedQueue<'a> {
        self.inserts.drain();
        DrainedQueue {
            writer,
            inserts: &self.inserts,
        }
    }
}

impl<'a> DrainedQueue<'a> {
    /// Releases the lock while `body` runs, and then waits for the inserts that began meanwhile.
    pub fn unlocked<U>(&mut self, body: impl FnOnce() -> U) -> U {
        let result = MutexGuard::unlocked(&mut self.writer, body);
        self.inserts.drain();
        result
    }

    /// Keeps the lock alone, to write.
    pub(crate) fn into_writer(self) -> MutexGuard<'a, Writer> {
        self.writer
    }
}

impl Deref for DrainedQueue<'_> {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl DerefMut for DrainedQueue<'_> {
    fn deref_mut(&mut self) -> &mut Writer {
        &mut self.writer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_let_in_by_who_does_not() {
        let queue = WriteQueue::new(Writer::new(0));
        let lets_in_at = |writes: u32| {
            (1..=writes)
                .filter(|_| queue.lock_to_write().1)
                .collect::<Vec<_>>()
        };
        assert!(lets_in_at(2 * IN_A_ROW).is_empty(), "nobody waits");
        queue.waiting.store(1, Ordering::Relaxed);
        assert_eq!(lets_in_at(2 * IN_A_ROW), [IN_A_ROW, 2 * IN_A_ROW]);
        assert_eq!(queue.waiting.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn who_has_waited_begins_a_new_row() {
        let queue = WriteQueue::new(Writer::new(0));
        queue.waiting.store(1, Ordering::Relaxed);
        for _ in 1..IN_A_ROW {
            assert!(!queue.lock_to_write().1);
        }
        drop(queue.wait_to_write());
        assert!(!queue.lock_to_write().1);
    }
}
