//! Snapshots: the database as it was at a sequence number, for as long as somebody holds on to it.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use base::SeqNo;
use base::env::Clock;
use base::sync::{Condvar, Mutex};

use super::column_family::Family;
use super::pins::PinnedSnapshot;
use crate::read::super_version::SuperVersion;

/// The snapshots alive.
pub(crate) struct SnapshotList {
    clock: Arc<dyn Clock>,
    /// Ascending: snapshots are taken of what is newest. The first and the last one are held by somebody.
    moments: Mutex<VecDeque<Moment>>,
    /// The oldest one was released.
    released: AtomicBool,
    /// No snapshot is taken now. Changed with `moments` locked.
    closed: AtomicBool,
    opened: Condvar,
}

/// Keeps snapshots from being taken until it is dropped.
pub(crate) struct ClosedGate<'a>(&'a SnapshotList);

impl Drop for ClosedGate<'_> {
    fn drop(&mut self) {
        let _moments = self.0.moments.lock();
        self.0.closed.store(false, Ordering::Relaxed);
        self.0.opened.notify_all();
    }
}

/// The snapshots of one sequence number.
struct Moment {
    seqno: SeqNo,
    /// How many there are; 0 between others that are held.
    holders: usize,
    since: Duration,
}

impl SnapshotList {
    /// None yet.
    pub fn new(clock: Arc<dyn Clock>) -> SnapshotList {
        SnapshotList {
            clock,
            moments: Mutex::default(),
            released: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            opened: Condvar::new(),
        }
    }

    /// From now on whoever takes a snapshot waits until the gate is dropped. One at a time: whoever closes it has the write queue's
    /// lock.
    pub fn close_gate(&self) -> ClosedGate<'_> {
        let _moments = self.moments.lock();
        self.closed.store(true, Ordering::Relaxed);
        ClosedGate(self)
    }

    /// A snapshot of what `published` shows. Reading it under the list's lock is what lets a job that lists the snapshots
    /// trust that every later one is at least as new as what was published when it looked.
    pub fn take(self: &Arc<Self>, published: &AtomicU64) -> Snapshot {
        let mut moments = self.moments.lock();
        while self.closed.load(Ordering::Relaxed) {
            self.opened.wait(&mut moments);
        }
        let seqno = published.load(Ordering::Acquire);
        self.add(&mut moments, seqno);
        drop(moments);
        self.held(seqno, None)
    }

    /// A snapshot of a secondary: it holds the super versions themselves, because nobody asks the primary to keep their rows.
    pub fn take_view(self: &Arc<Self>, view: Arc<View>) -> Snapshot {
        self.add(&mut self.moments.lock(), view.seqno);
        self.held(view.seqno, Some(view))
    }

    fn held(self: &Arc<Self>, seqno: SeqNo, view: Option<Arc<View>>) -> Snapshot {
        Snapshot(Arc::new(Held {
            seqno,
            list: self.clone(),
            view,
        }))
    }

    fn add(&self, moments: &mut VecDeque<Moment>, seqno: SeqNo) {
        let at = match moments.back() {
            Some(last) if last.seqno >= seqno => moments.partition_point(|moment| moment.seqno < seqno),
            _ => moments.len(),
        };
        if let Some(moment) = moments.get_mut(at).filter(|moment| moment.seqno == seqno) {
            moment.holders += 1;
            return;
        }
        let moment = Moment {
            seqno,
            holders: 1,
            since: self.clock.now(),
        };
        moments.insert(at, moment);
    }

    fn release(&self, seqno: SeqNo) {
        let mut moments = self.moments.lock();
        // Most are let go while they are the newest.
        let newest = moments.back().is_some_and(|last| last.seqno == seqno);
        let at = match newest {
            true => Ok(moments.len() - 1),
            false => moments.binary_search_by_key(&seqno, |moment| moment.seqno),
        };
        let Ok(at) = at else { return };
        moments[at].holders -= 1;
        if moments[at].holders > 0 {
            return;
        }
        while moments.back().is_some_and(|last| last.holders == 0) {
            moments.pop_back();
        }
        if at == 0 {
            self.released.store(true, Ordering::Release);
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
    }

    /// The sequence numbers held, ascending.
    pub fn seqnos(&self) -> Vec<SeqNo> {
        let moments = self.moments.lock();
        let held = moments.iter().filter(|moment| moment.holders > 0);
        held.map(|moment| moment.seqno).collect()
    }

    /// How many snapshots are held.
    pub fn len(&self) -> usize {
        self.moments.lock().iter().map(|moment| moment.holders).sum()
    }

    /// The oldest one's sequence number.
    pub fn oldest(&self) -> Option<SeqNo> {
        self.moments.lock().front().map(|moment| moment.seqno)
    }

    /// The oldest one's sequence number; without any what `published` gives, which no snapshot taken meanwhile is older than.
    pub fn oldest_or(&self, published: impl FnOnce() -> SeqNo) -> SeqNo {
        let moments = self.moments.lock();
        moments.front().map_or_else(published, |moment| moment.seqno)
    }

    /// True if a snapshot was released since this was asked last that was the oldest.
    pub fn take_released(&self) -> bool {
        self.released.swap(false, Ordering::AcqRel)
    }

    /// All of them, oldest first.
    pub fn pins(&self, now: Duration) -> Vec<PinnedSnapshot> {
        let moments = self.moments.lock();
        let held = moments.iter().filter(|moment| moment.holders > 0);
        held.map(|moment| PinnedSnapshot {
            sequence_number: moment.seqno,
            holders: moment.holders,
            age: now.saturating_sub(moment.since),
        })
        .collect()
    }
}

struct Held {
    seqno: SeqNo,
    list: Arc<SnapshotList>,
    /// What it reads, of a secondary.
    view: Option<Arc<View>>,
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
        self.list.release(self.seqno);
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
        let first = list.take(&published);
        let again = first.clone();
        published.store(9, Ordering::Release);
        let second = list.take(&published);
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
    fn snapshots_come_and_go_behind_one_that_stays() {
        let list = Arc::new(SnapshotList::new(Arc::new(ManualClock::default())));
        let published = AtomicU64::new(1);
        let _first = list.take(&published);
        let mut last = None;
        for seqno in 2..100_000 {
            published.store(seqno, Ordering::Relaxed);
            // The one before goes when there is a newer one.
            let next = list.take(&published);
            last = Some(next);
        }
        assert_eq!(list.seqnos(), [1, 99_999]);
        assert!(list.moments.lock().len() < 100);
        drop(last);
        assert_eq!((list.len(), list.oldest()), (1, Some(1)));
    }
}
