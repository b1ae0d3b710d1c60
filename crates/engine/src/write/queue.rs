//! The write queue's lock, and what it means to have it.
//!
//! Writers take it to number their rows and to append them to the WAL, and may give it back before the rows are in memtables (`inserts.rs`). Everybody else
//! means by it that no write is half way, so [`WriteQueue::lock`] waits for those that are, and only [`DbInner::commit`](crate::db::DbInner::commit) asks
//! for less.
//!
//! Who waits for it waits awake, and may lose its processor to a flush meanwhile; whoever has another could then write alone for as long as the flush
//! takes. Where somebody waits and has not had it for [`IN_A_ROW`] writes, the next one sleeps for a moment first: that leaves a processor to who waits.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;

use base::sync::{self, Condvar, Mutex, MutexGuard, SIMULATED};

use super::inserts::Inserts;
use super::pipeline::Writer;

/// Writes that found the queue free, one after another, after which those who wait for it come first: half a millisecond's.
const IN_A_ROW: u32 = if SIMULATED { 4 } else { 1000 };

/// How long a writer sleeps to let another in, at least; kernels add their timers' slack, another 50 us.
const MOMENT: Duration = Duration::from_micros(50);

/// How long the rows of a write take to be inserted, as compared with what it costs two processors to hand each other what the lock guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteSize {
    Small,
    Large,
}

impl WriteSize {
    /// Measured: with one row of a few hundred bytes nothing is won and up to a fifth lost, with two nothing is lost.
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
    /// Writers that wait for it.
    waiting: CachePadded<AtomicUsize>,
    /// Where writers sleep to let others in. Nobody is woken there: it is for a moment.
    asleep: Mutex<()>,
    moment: Condvar,
    /// Writes that have left the queue with rows that are not visible yet.
    pub(super) inserts: Inserts,
}

/// The write queue's lock, with every row that has a sequence number in its memtable and visible.
pub(crate) struct Settled<'a> {
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

    /// Takes the lock, and waits for writes that are under way.
    pub fn lock(&self) -> Settled<'_> {
        self.settle(sync::lock_soon(&self.writer))
    }

    /// As [`lock`](Self::lock), if nobody writes just now.
    pub fn try_lock(&self) -> Option<Settled<'_>> {
        let writer = self.writer.try_lock()?;
        self.inserts.is_idle().then(|| self.settle(writer))
    }

    /// Takes the lock alone, to write. True if it waited for others, who had the lock or were let in.
    #[inline]
    pub(super) fn lock_to_write(&self) -> (MutexGuard<'_, Writer>, bool) {
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

    /// Does without the lock for a moment if somebody waits for it. As [`lock_to_write`](Self::lock_to_write).
    #[cold]
    fn let_others_in<'a>(&'a self, mut writer: MutexGuard<'a, Writer>) -> (MutexGuard<'a, Writer>, bool) {
        writer.in_a_row = 0;
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return (writer, false);
        }
        drop(writer);
        // Not with the lock itself: who wakes there sleeps until it is free, and must be woken again.
        self.moment.wait_for(&mut self.asleep.lock(), MOMENT);
        (self.wait_to_write(), true)
    }

    /// True if a writer should give the lock back before it inserts: there are others, and what is inserted takes longer than it takes to hand the lock
    /// over. False if it should keep the lock: then nobody inserts but this one. The caller holds the lock; `has_waited` for it, or not.
    #[inline]
    pub(super) fn should_leave(&self, size: WriteSize, has_waited: bool) -> bool {
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
        // Unless one has failed. Then nothing is published but what has a ticket, and that is not either.
        !self.inserts.is_idle()
    }

    /// Waits for writes that are under way.
    pub(super) fn settle<'a>(&'a self, writer: MutexGuard<'a, Writer>) -> Settled<'a> {
        self.inserts.drain();
        Settled {
            writer,
            inserts: &self.inserts,
        }
    }
}

impl<'a> Settled<'a> {
    /// Releases the lock while `body` runs, and waits for those who have written meanwhile.
    pub fn unlocked<U>(&mut self, body: impl FnOnce() -> U) -> U {
        let result = MutexGuard::unlocked(&mut self.writer, body);
        self.inserts.drain();
        result
    }

    /// The lock alone, to write.
    pub(super) fn into_writer(self) -> MutexGuard<'a, Writer> {
        self.writer
    }
}

impl Deref for Settled<'_> {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl DerefMut for Settled<'_> {
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
