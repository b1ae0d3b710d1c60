//! Inserts into memtables by writers that have released the write queue's lock.
//!
//! ```text
//! with the lock    begin: a ticket, and the sequence number up to which its rows go
//! without it       rows go into memtables | finish: the ticket is done | wait: until it is published
//! with the lock    drain: until no ticket is left
//! ```
//!
//! Tickets are published in their order, which is the order of sequence numbers. The thread that finishes the
//! oldest ticket also publishes the later tickets that are done already, so that no thread waits for another
//! that has nothing left to do. One word holds the whole state:
//!
//! ```text
//! | first ticket not published (46 bits, wraps) | ASLEEP | FAILED | done, of the first ticket and the 15 behind it |
//! ```
//!
//! The bit of the first ticket is never set, because the thread that would set it publishes the ticket in the
//! same step. So one thread at a time publishes: the one with the first ticket.
//!
//! Tickets after a failed ticket are never published. They are still finished, so that no thread waits
//! indefinitely.

mod sync;

use crossbeam_utils::CachePadded;

use base::SeqNo;

use sync::{AtomicU64, Condvar, Mutex, Ordering, happens_soon, sleep};

/// The maximum number of tickets at a time. Further threads hold the write queue's lock and wait for the
/// oldest ticket, which must be published before theirs in any case.
const PLACES: u64 = 16;
const DONE: u64 = (1 << PLACES) - 1;
/// The flag that the first ticket has failed, so that no ticket is published any more.
const FAILED: u64 = 1 << PLACES;
/// The flag that a thread sleeps until a ticket is published.
const ASLEEP: u64 = FAILED << 1;
const FIRST_SHIFT: u32 = (ASLEEP << 1).trailing_zeros();

/// The inserts into memtables that are in progress.
pub(crate) struct Inserts {
    state: CachePadded<AtomicU64>,
    given: CachePadded<Given>,
    asleep: Mutex<()>,
    woken: Condvar,
}

/// The fields that are written under the write queue's lock.
struct Given {
    /// The number of the next ticket.
    next: AtomicU64,
    /// The number of the last ticket of a large write.
    large: AtomicU64,
    /// For each ticket, by its number: the sequence number of its last row; [`LOST`] if it has failed.
    ends: [AtomicU64; PLACES as usize],
}

/// The end of a ticket whose rows will never all be in their memtables.
const LOST: SeqNo = SeqNo::MAX;

/// A writer's right to insert its rows without the write queue's lock, until the ticket is finished.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket(u64);

/// The number of the first ticket that is not published.
fn first(state: u64) -> u64 {
    state >> FIRST_SHIFT
}

fn numbered(ticket: u64) -> u64 {
    ticket & (u64::MAX >> FIRST_SHIFT)
}

/// True if the ticket is published or given up, so that no thread has to wait for it.
fn is_over(state: u64, ticket: Ticket) -> bool {
    // Ticket numbers wrap around, and no thread is ever behind by half of their range.
    (first(state).wrapping_sub(ticket.0) << FIRST_SHIFT).cast_signed() > 0
}

impl Inserts {
    /// An instance without tickets.
    pub fn new() -> Inserts {
        Inserts::with_first(0)
    }

    fn with_first(ticket: u64) -> Inserts {
        Inserts {
            state: CachePadded::new(AtomicU64::new(ticket << FIRST_SHIFT)),
            given: CachePadded::new(Given {
                next: AtomicU64::new(ticket),
                large: AtomicU64::new(numbered(ticket.wrapping_sub(1))),
                ends: std::array::from_fn(|_| AtomicU64::new(0)),
            }),
            asleep: Mutex::new(()),
            woken: Condvar::new(),
        }
    }

    /// True if no ticket is left and none has failed. The caller holds the write queue's lock.
    #[inline]
    pub fn is_idle(&self) -> bool {
        // `Acquire`: a thread that finds the queue idle sees everything published before.
        self.state.load(Ordering::Acquire) == self.given.next.load(Ordering::Relaxed) << FIRST_SHIFT
    }

    /// True if a ticket of a large write is left; only the last large ticket is remembered. The caller holds
    /// the write queue's lock.
    pub fn is_large_under_way(&self) -> bool {
        let large = Ticket(self.given.large.load(Ordering::Relaxed));
        !is_over(self.state.load(Ordering::Acquire), large)
    }

    /// Returns a ticket for rows up to sequence number `end`, which is not below those of earlier tickets.
    /// The caller holds the write queue's lock.
    pub fn begin(&self, end: SeqNo, is_large: bool) -> Ticket {
        let ticket = Ticket(self.given.next.load(Ordering::Relaxed));
        let has_place = |state| numbered(ticket.0.wrapping_sub(first(state))) < PLACES;
        if !has_place(self.state.load(Ordering::Acquire)) {
            self.wait_until(has_place);
        }
        self.given.ends[(ticket.0 % PLACES) as usize].store(end, Ordering::Relaxed);
        let next = numbered(ticket.0.wrapping_add(1));
        self.given.next.store(next, Ordering::Relaxed);
        if is_large {
            self.given.large.store(ticket.0, Ordering::Relaxed);
        }
        ticket
    }

    /// Called when all rows of `ticket` are in their memtables (`done`), or will never be. Publishes all
    /// tickets that it can, by calls of `publish` with increasing sequence numbers. No other thread publishes
    /// before it returns.
    pub fn finish(&self, ticket: Ticket, done: bool, mut publish: impl FnMut(SeqNo)) {
        let end = |ticket: u64| &self.given.ends[(ticket % PLACES) as usize];
        if !done {
            end(ticket.0).store(LOST, Ordering::Relaxed);
        }
        let mut state = self.state.load(Ordering::Acquire);
        let mut seen_to = 0;
        let mut failed = false;
        loop {
            // Once this ticket is the first, only this thread advances the first ticket.
            let first = first(state);
            let place = numbered(ticket.0.wrapping_sub(first));
            let mut next = state | 1 << place;
            failed |= state & FAILED != 0;
            let over = u64::from((next & DONE).trailing_ones());
            for place in seen_to..over {
                let end = end(first.wrapping_add(place)).load(Ordering::Relaxed);
                failed |= end == LOST;
                if !failed {
                    publish(end);
                }
            }
            seen_to = seen_to.max(over);
            if over > 0 {
                let failed = if failed { FAILED } else { 0 };
                next = first.wrapping_add(over) << FIRST_SHIFT | failed | (next & DONE) >> over;
            }
            let exchanged =
                self.state
                    .compare_exchange_weak(state, next, Ordering::AcqRel, Ordering::Acquire);
            match exchanged {
                Ok(_) if over > 0 && state & ASLEEP != 0 => return self.wake(),
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
    }

    /// Waits until `ticket`, which is finished, is published or can never be published.
    pub fn wait(&self, ticket: Ticket) {
        let is_over = |state| is_over(state, ticket);
        if !is_over(self.state.load(Ordering::Acquire)) {
            self.wait_until(is_over);
        }
    }

    /// Waits until no ticket is left. The caller holds the write queue's lock, so no ticket is added.
    #[inline]
    pub fn drain(&self) {
        let next = self.given.next.load(Ordering::Relaxed);
        if first(self.state.load(Ordering::Acquire)) != next {
            self.wait_until(|state| first(state) == next);
        }
    }

    /// Waits for a condition that a publication makes true: first by spinning, then asleep.
    #[cold]
    fn wait_until(&self, is_so: impl Fn(u64) -> bool) {
        let look = || self.state.load(Ordering::Acquire);
        if happens_soon(|| is_so(look())) {
            return;
        }
        let mut asleep = self.asleep.lock();
        loop {
            let state = look();
            if is_so(state) {
                return;
            }
            // The thread that publishes the next ticket sees the flag, and takes the lock before it wakes the
            // sleepers.
            let marked =
                self.state
                    .compare_exchange(state, state | ASLEEP, Ordering::AcqRel, Ordering::Relaxed);
            if marked.is_ok() {
                asleep = sleep(&self.woken, asleep);
            }
        }
    }

    #[cold]
    fn wake(&self) {
        drop(self.asleep.lock());
        self.woken.notify_all();
    }
}

#[cfg(all(loom, test))]
mod loom_tests;

#[cfg(all(not(loom), test))]
mod tests {
    use super::*;

    const NOTHING: [SeqNo; 0] = [];

    /// Returns inserts with the maximum number of tickets in progress, whose numbers wrap around.
    fn full() -> (Inserts, Vec<Ticket>) {
        let inserts = Inserts::with_first(numbered(u64::MAX) - 5);
        let tickets = (1..=PLACES)
            .map(|end| inserts.begin(end * 10, end == 5))
            .collect();
        (inserts, tickets)
    }

    fn finish(inserts: &Inserts, ticket: Ticket, done: bool) -> Vec<SeqNo> {
        let mut published = Vec::new();
        inserts.finish(ticket, done, |end| published.push(end));
        published
    }

    #[test]
    fn whoever_finishes_the_first_publishes_what_is_done_behind_it() {
        let (inserts, tickets) = full();
        assert!(!inserts.is_idle());
        for at in [3, 1, 2, 15] {
            assert_eq!(finish(&inserts, tickets[at], true), NOTHING);
        }
        assert_eq!(finish(&inserts, tickets[0], true), [10, 20, 30, 40]);
        (0..4).for_each(|at| inserts.wait(tickets[at]));
        assert!(inserts.is_large_under_way());
        for at in (5..15).rev() {
            assert_eq!(finish(&inserts, tickets[at], true), NOTHING);
        }
        let rest: Vec<SeqNo> = (5..=PLACES).map(|end| end * 10).collect();
        assert_eq!(finish(&inserts, tickets[4], true), rest);
        assert!(!inserts.is_large_under_way());
        tickets.iter().for_each(|ticket| inserts.wait(*ticket));
        inserts.drain();
        assert!(inserts.is_idle());
    }

    #[test]
    fn nothing_is_published_behind_a_failure_and_nobody_waits_for_ever() {
        let (inserts, tickets) = full();
        assert_eq!(finish(&inserts, tickets[1], true), NOTHING);
        assert_eq!(finish(&inserts, tickets[0], true), [10, 20]);
        assert_eq!(finish(&inserts, tickets[3], false), NOTHING);
        for ticket in &tickets[4..] {
            assert_eq!(finish(&inserts, *ticket, true), NOTHING);
        }
        assert_eq!(finish(&inserts, tickets[2], true), [30]);
        tickets.iter().for_each(|ticket| inserts.wait(*ticket));
        inserts.drain();
        assert!(!inserts.is_idle(), "whoever comes must notice");
        let late = inserts.begin(200, false);
        assert_eq!(finish(&inserts, late, true), NOTHING);
        inserts.wait(late);
    }

    #[test]
    fn many_threads_publish_in_order() {
        const THREADS: u64 = 24;
        let writers = Mutex::new(0);
        let inserts = Inserts::new();
        let published = AtomicU64::new(0);
        let seed = testkit::rng().u64(..);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (writers, inserts, published) = (&writers, &inserts, &published);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(seed ^ thread);
                    for _ in 0..2000 {
                        let mut last = writers.lock();
                        if rng.u32(..50) == 0 {
                            inserts.drain();
                            assert!(inserts.is_idle());
                            assert_eq!(published.load(Ordering::Acquire), *last);
                        }
                        *last += rng.u64(1..5);
                        let end = *last;
                        let ticket = inserts.begin(end, false);
                        drop(last);
                        if rng.u32(..20) == 0 {
                            std::thread::yield_now();
                        }
                        inserts.finish(ticket, true, |end| {
                            let before = published.swap(end, Ordering::AcqRel);
                            assert!(before < end, "{before} before {end}");
                        });
                        inserts.wait(ticket);
                        assert!(published.load(Ordering::Acquire) >= end);
                    }
                });
            }
        });
        assert!(inserts.is_idle());
        assert_eq!(published.load(Ordering::Acquire), *writers.lock());
    }
}
