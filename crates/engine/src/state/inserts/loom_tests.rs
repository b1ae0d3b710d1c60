//! Every interleaving of a few writers, within loom's limits.

use std::sync::Arc;

use loom::model::Builder;
use loom::thread;

use crate::state::inserts::sync::{AtomicU64, Mutex, Ordering};
use crate::state::inserts::*;

/// Rows are flags that are read and written without ordering of their own: only the published number
/// guarantees that they are there.
struct Fixture {
    last: Mutex<SeqNo>,
    inserts: Inserts,
    published: AtomicU64,
    rows: [AtomicU64; 4],
}

fn model(preemptions: usize, body: impl Fn(Arc<Fixture>) + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        body(Arc::new(Fixture {
            last: Mutex::new(0),
            inserts: Inserts::new(),
            published: AtomicU64::new(0),
            rows: std::array::from_fn(|_| AtomicU64::new(0)),
        }));
    });
}

impl Fixture {
    /// Writes a row with a ticket, as the engine does. Returns its sequence number.
    fn write(&self, done: bool) -> SeqNo {
        let mut last = self.last.lock();
        *last += 1;
        let seqno = *last;
        let ticket = self.inserts.begin(seqno, true);
        drop(last);
        self.rows[seqno as usize - 1].store(seqno, Ordering::Relaxed);
        self.inserts.finish(ticket, done, |end| {
            assert_eq!(self.published.load(Ordering::Relaxed), end - 1, "in order");
            self.published.store(end, Ordering::Release);
        });
        self.inserts.wait(ticket);
        seqno
    }

    /// Every published row is visible.
    fn read(&self) -> SeqNo {
        let published = self.published.load(Ordering::Acquire);
        for seqno in 1..=published {
            let row = self.rows[seqno as usize - 1].load(Ordering::Relaxed);
            assert_eq!(row, seqno, "of {published}");
        }
        published
    }

    fn writer(self: &Arc<Self>, done: bool) -> thread::JoinHandle<()> {
        let fixture = self.clone();
        thread::spawn(move || {
            let seqno = fixture.write(done);
            assert!(!done || fixture.read() >= seqno, "it reads what it wrote");
        })
    }
}

#[test]
fn three_writers_read_what_they_wrote() {
    model(3, |fixture| {
        let writers = [(); 2].map(|()| fixture.writer(true));
        let seqno = fixture.write(true);
        assert!(fixture.read() >= seqno);
        for writer in writers {
            writer.join().unwrap();
        }
        assert_eq!(fixture.read(), 3);
        assert!(fixture.inserts.is_idle());
    });
}

#[test]
fn a_reader_sees_no_hole() {
    model(3, |fixture| {
        let writers = [(); 2].map(|()| fixture.writer(true));
        let before = fixture.read();
        assert!(before <= fixture.read());
        for writer in writers {
            writer.join().unwrap();
        }
        assert_eq!(fixture.read(), 2);
    });
}

/// A thread that drains under the lock finds everything published, and then publishes on its own.
#[test]
fn a_drain_waits_for_all_who_have_begun() {
    model(3, |fixture| {
        let writers = [(); 2].map(|()| fixture.writer(true));
        let mut last = fixture.last.lock();
        fixture.inserts.drain();
        assert!(fixture.inserts.is_idle());
        assert_eq!(fixture.read(), *last);
        *last += 1;
        fixture.rows[*last as usize - 1].store(*last, Ordering::Relaxed);
        fixture.published.store(*last, Ordering::Release);
        drop(last);
        for writer in writers {
            writer.join().unwrap();
        }
        assert_eq!(fixture.read(), 3);
    });
}

#[test]
fn after_a_failure_nothing_is_published_and_nobody_hangs() {
    model(3, |fixture| {
        let failing = {
            let fixture = fixture.clone();
            thread::spawn(move || fixture.write(false))
        };
        let writer = {
            let fixture = fixture.clone();
            thread::spawn(move || fixture.write(true))
        };
        let last = fixture.last.lock();
        fixture.inserts.drain();
        drop(last);
        let failed = failing.join().unwrap();
        writer.join().unwrap();
        assert_eq!(fixture.read(), failed - 1);
        assert!(!fixture.inserts.is_idle());
    });
}
