//! Snapshots: the database as it was at a sequence number, for as long as somebody holds on to it.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use base::SeqNo;
use base::env::Clock;
use base::per_thread::PerThread;
use base::sync::{Condvar, Mutex};

use super::Handle;
use super::column_family::Family;
use super::pins::PinnedSnapshot;
use crate::read::super_version::SuperVersion;

/// The snapshots alive. Each thread keeps those it takes in a part of its own: who takes one waits for nobody who takes
/// another. Whoever lists them looks at one part after the other, which is enough: of a part already looked at, a later snapshot
/// shows at least what was published when the listing began.
pub(crate) struct SnapshotList {
    clock: Arc<dyn Clock>,
    parts: PerThread<Arc<Part>>,
    gate: Gate,
}

/// Whether snapshots may be taken now.
#[derive(Default)]
struct Gate {
    /// Read with a part locked, so that whoever set it and then had the lock of each part knows that no one is between
    /// this and the end of taking a snapshot.
    closed: AtomicBool,
    /// Held while it is opened, and by who waits for that.
    opening: Mutex<()>,
    opened: Condvar,
}

/// Keeps snapshots from being taken until it is dropped.
pub(crate) struct ClosedGate<'a>(&'a Gate);

impl Drop for ClosedGate<'_> {
    fn drop(&mut self) {
        let _opening = self.0.opening.lock();
        self.0.closed.store(false, Ordering::Relaxed);
        self.0.opened.notify_all();
    }
}

/// The snapshots that one thread took, or a few did. They may be released by others.
#[derive(Default)]
struct Part {
    moments: Mutex<Moments>,
    /// The oldest one was released.
    released: AtomicBool,
}

/// Ascending: snapshots are taken of what is newest. The first and the last one are held by somebody.
#[derive(Default)]
struct Moments(VecDeque<Moment>);

/// The snapshots of one sequence number.
#[derive(Clone, Copy)]
struct Moment {
    seqno: SeqNo,
    /// How many there are; 0 between others that are held.
    holders: usize,
    since: Duration,
}

impl Moments {
    fn held(&self) -> impl Iterator<Item = &Moment> {
        self.0.iter().filter(|moment| moment.holders > 0)
    }

    fn add(&mut self, seqno: SeqNo, now: impl FnOnce() -> Duration) {
        let at = match self.0.back() {
            Some(last) if last.seqno >= seqno => self.0.partition_point(|moment| moment.seqno < seqno),
            _ => self.0.len(),
        };
        if let Some(moment) = self.0.get_mut(at).filter(|moment| moment.seqno == seqno) {
            moment.holders += 1;
            return;
        }
        let moment = Moment {
            seqno,
            holders: 1,
            since: now(),
        };
        self.0.insert(at, moment);
    }

    /// True if it was the last of the oldest.
    fn remove(&mut self, seqno: SeqNo) -> bool {
        let moments = &mut self.0;
        // Most are let go while they are the newest.
        let newest = moments.back().is_some_and(|last| last.seqno == seqno);
        let at = match newest {
            true => Ok(moments.len() - 1),
            false => moments.binary_search_by_key(&seqno, |moment| moment.seqno),
        };
        let Ok(at) = at else { return false };
        moments[at].holders -= 1;
        if moments[at].holders > 0 {
            return false;
        }
        while moments.back().is_some_and(|last| last.holders == 0) {
            moments.pop_back();
        }
        while moments.front().is_some_and(|first| first.holders == 0) {
            moments.pop_front();
        }
        // Behind one that is held for long others come and go.
        if moments.len() == moments.capacity() {
            moments.retain(|moment| moment.holders > 0);
            let room = moments.len() + 16;
            moments.reserve(room);
        }
        at == 0
    }
}

impl SnapshotList {
    /// None yet.
    pub fn new(clock: Arc<dyn Clock>) -> SnapshotList {
        SnapshotList {
            clock,
            parts: PerThread::default(),
            gate: Gate::default(),
        }
    }

    /// From now on whoever takes a snapshot waits until the gate is dropped. One at a time: whoever closes it has the write queue's
    /// lock.
    pub fn close_gate(&self) -> ClosedGate<'_> {
        self.gate.closed.store(true, Ordering::Relaxed);
        for part in self.parts.iter() {
            drop(part.moments.lock());
        }
        ClosedGate(&self.gate)
    }

    /// A snapshot of what `published` shows. Reading it under the part's lock is what lets a job that lists the snapshots
    /// trust that every later one is at least as new as what was published when it looked.
    ///
    /// It keeps the database of `handle` open.
    pub fn take(&self, published: &AtomicU64, handle: Option<&Arc<Handle>>) -> Snapshot {
        let part = self.parts.own();
        loop {
            let mut moments = part.moments.lock();
            if !self.gate.closed.load(Ordering::Relaxed) {
                let seqno = published.load(Ordering::Acquire);
                moments.add(seqno, || self.clock.now());
                drop(moments);
                return held(part, seqno, None, handle);
            }
            drop(moments);
            let mut opening = self.gate.opening.lock();
            while self.gate.closed.load(Ordering::Relaxed) {
                self.gate.opened.wait(&mut opening);
            }
        }
    }

    /// A snapshot of a secondary: it holds the super versions themselves, because nobody asks the primary to keep their rows.
    pub fn take_view(&self, view: Arc<View>, handle: Option<&Arc<Handle>>) -> Snapshot {
        let part = self.parts.own();
        part.moments.lock().add(view.seqno, || self.clock.now());
        held(part, view.seqno, Some(view), handle)
    }

    /// Those held, of which several may have one sequence number, in no order.
    fn collect(&self) -> Vec<Moment> {
        let mut all = Vec::new();
        for part in self.parts.iter() {
            all.extend(part.moments.lock().held());
        }
        all
    }

    /// The sequence numbers held, ascending.
    pub fn seqnos(&self) -> Vec<SeqNo> {
        let mut seqnos: Vec<SeqNo> = self.collect().iter().map(|moment| moment.seqno).collect();
        seqnos.sort_unstable();
        seqnos.dedup();
        seqnos
    }

    /// How many snapshots are held.
    pub fn len(&self) -> usize {
        self.collect().iter().map(|moment| moment.holders).sum()
    }

    /// The oldest one's sequence number.
    pub fn oldest(&self) -> Option<SeqNo> {
        let fronts = self
            .parts
            .iter()
            .map(|part| part.moments.lock().0.front().map(|moment| moment.seqno));
        fronts.flatten().min()
    }

    /// Since when the oldest one is held, by the clock of the options.
    pub fn oldest_since(&self) -> Option<Duration> {
        let fronts = self.parts.iter().map(|part| {
            let moments = part.moments.lock();
            moments.0.front().map(|moment| (moment.seqno, moment.since))
        });
        fronts.flatten().min().map(|(_, since)| since)
    }

    /// The oldest one's sequence number, at most what `published` shows: no snapshot taken from now on is older.
    pub fn oldest_or(&self, published: &AtomicU64) -> SeqNo {
        let published = published.load(Ordering::Acquire);
        self.oldest().map_or(published, |oldest| oldest.min(published))
    }

    /// True if a snapshot was released since this was asked last that may have been the oldest.
    pub fn take_released(&self) -> bool {
        let parts = self.parts.iter();
        let released = parts.map(|part| part.released.swap(false, Ordering::AcqRel));
        released.fold(false, |any, part| any | part)
    }

    /// All of them, oldest first.
    pub fn pins(&self, now: Duration) -> Vec<PinnedSnapshot> {
        let mut all = self.collect();
        all.sort_unstable_by_key(|moment| (moment.seqno, moment.since));
        all.dedup_by(|next, first| {
            let same = next.seqno == first.seqno;
            first.holders += if same { next.holders } else { 0 };
            same
        });
        let pinned = all.iter().map(|moment| PinnedSnapshot {
            sequence_number: moment.seqno,
            holders: moment.holders,
            age: now.saturating_sub(moment.since),
        });
        pinned.collect()
    }
}

fn held(part: &Arc<Part>, seqno: SeqNo, view: Option<Arc<View>>, handle: Option<&Arc<Handle>>) -> Snapshot {
    Snapshot(Arc::new(Held {
        seqno,
        part: part.clone(),
        view,
        _handle: handle.cloned(),
    }))
}

struct Held {
    seqno: SeqNo,
    /// Where it is listed.
    part: Arc<Part>,
    /// What it reads, of a secondary.
    view: Option<Arc<View>>,
    /// Keeps the database open. The last field: the snapshot is gone before it may close.
    _handle: Option<Arc<Handle>>,
}

/// All families at one moment.
#[derive(Default)]
pub(crate) struct View {
    /// The last row of it.
    pub seqno: SeqNo,
    /// By family id.
    pub super_versions: HashMap<u32, Arc<SuperVersion>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.part.moments.lock().remove(self.seqno) && !self.part.released.load(Ordering::Relaxed) {
            self.part.released.store(true, Ordering::Release);
        }
    }
}

/// The database as it was when the snapshot was taken, for [`ReadOptions::snapshot`](crate::ReadOptions::snapshot).
/// Compactions keep what it sees until the last clone is dropped.
#[derive(Clone)]
pub struct Snapshot(Arc<Held>);

impl Snapshot {
    /// The sequence number it reads at.
    pub fn sequence_number(&self) -> SeqNo {
        self.0.seqno
    }

    /// Of a secondary: what the snapshot holds of `family`. One that came later is empty.
    #[inline]
    pub(crate) fn super_version_of(&self, family: &Family) -> Option<Arc<SuperVersion>> {
        let view = self.0.view.as_ref()?;
        let held = view.super_versions.get(&family.id).cloned();
        Some(held.unwrap_or_else(|| Arc::new(SuperVersion::empty(&family.cmp))))
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snapshot({})", self.0.seqno)
    }
}

#[cfg(test)]
mod tests {
    use base::env::ManualClock;

    use super::*;

    #[test]
    fn a_snapshot_is_held_until_its_last_clone_goes() {
        let list = Arc::new(SnapshotList::new(Arc::new(ManualClock::default())));
        let published = AtomicU64::new(7);
        let first = list.take(&published, None);
        let again = first.clone();
        published.store(9, Ordering::Release);
        let second = list.take(&published, None);
        assert_eq!(
            (list.seqnos(), list.len(), list.oldest()),
            (vec![7, 9], 2, Some(7))
        );
        drop(first);
        assert_eq!(list.seqnos(), [7, 9]);
        drop((again, second));
        assert!(list.seqnos().is_empty());
    }

    #[test]
    fn threads_list_theirs_apart_and_all_are_seen() {
        let list = Arc::new(SnapshotList::new(Arc::new(ManualClock::default())));
        let published = AtomicU64::new(0);
        let mut held: Vec<Snapshot> = Vec::new();
        for seqno in [5, 6, 6, 7] {
            published.store(seqno, Ordering::Release);
            held.push(std::thread::scope(|scope| {
                scope.spawn(|| list.take(&published, None)).join().unwrap()
            }));
        }
        assert_eq!(
            (list.seqnos(), list.len(), list.oldest()),
            (vec![5, 6, 7], 4, Some(5))
        );
        let pins: Vec<(SeqNo, usize)> = list
            .pins(Duration::ZERO)
            .iter()
            .map(|pin| (pin.sequence_number, pin.holders))
            .collect();
        assert_eq!(pins, [(5, 1), (6, 2), (7, 1)]);
        assert!(!list.take_released());
        // Released by another thread than the one that took it.
        held.remove(0);
        assert!(list.take_released() && !list.take_released());
        assert_eq!(list.oldest_or(&published), 6);
        held.clear();
        assert_eq!(
            (list.len(), list.oldest(), list.oldest_or(&published)),
            (0, None, 7)
        );
    }

    /// Does `body` while two threads go on taking snapshots, each of which they show to `taken`.
    fn beside_takers(
        list: &SnapshotList,
        published: &AtomicU64,
        taken: impl Fn(&Snapshot) + Sync,
        body: impl FnOnce(),
    ) {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        taken(&list.take(published, None));
                    }
                });
            }
            body();
            over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn who_lists_misses_none_that_is_older_than_what_was_published() {
        let list = SnapshotList::new(Arc::new(ManualClock::default()));
        let published = AtomicU64::new(1);
        let taken = |snapshot: &Snapshot| {
            // As a job does that drops what no snapshot sees.
            published.fetch_add(1, Ordering::AcqRel);
            let seqno = snapshot.sequence_number();
            let seqnos = list.seqnos();
            assert!(
                seqnos.binary_search(&seqno).is_ok(),
                "{seqno} is not in {seqnos:?}"
            );
            assert!(list.oldest_or(&published) <= seqno);
        };
        beside_takers(&list, &published, taken, || {
            for _ in 0..2000 {
                let before = published.load(Ordering::Acquire);
                let listed = list.seqnos();
                let gate = list.close_gate();
                let at_rest = list.seqnos();
                // Those that are there now and were not listed are newer than what was published then.
                for seqno in at_rest {
                    assert!(
                        seqno >= before || listed.contains(&seqno),
                        "{seqno} {before} {listed:?}"
                    );
                }
                drop(gate);
            }
        });
    }

    #[test]
    fn nobody_takes_a_snapshot_while_the_gate_is_closed() {
        let list = SnapshotList::new(Arc::new(ManualClock::default()));
        // Odd while something is half done.
        let published = AtomicU64::new(0);
        let taken = |snapshot: &Snapshot| assert_eq!(snapshot.sequence_number() % 2, 0);
        beside_takers(&list, &published, taken, || {
            for _ in 0..5000 {
                let gate = list.close_gate();
                published.fetch_add(1, Ordering::AcqRel);
                std::thread::yield_now();
                published.fetch_add(1, Ordering::AcqRel);
                drop(gate);
            }
        });
    }

    #[test]
    fn snapshots_come_and_go_behind_one_that_stays() {
        let list = Arc::new(SnapshotList::new(Arc::new(ManualClock::default())));
        let published = AtomicU64::new(1);
        let _first = list.take(&published, None);
        let mut last = None;
        for seqno in 2..100_000 {
            published.store(seqno, Ordering::Relaxed);
            // The one before goes when there is a newer one.
            let next = list.take(&published, None);
            last = Some(next);
        }
        assert_eq!(list.seqnos(), [1, 99_999]);
        assert!(list.parts.own().moments.lock().0.len() < 100);
        drop(last);
        assert_eq!((list.len(), list.oldest()), (1, Some(1)));
    }
}
