//! Snapshots: the state of the database at a sequence number, readable while the snapshot is held.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use base::env::Clock;
use base::per_thread::PerThread;
use base::sync::{Condvar, Mutex};
use base::{InternalComparator, SeqNo};

use crate::state::super_version::SuperVersion;

/// The open snapshots. Each thread registers those it takes in a shard of its own, so that threads do not
/// contend. A listing reads one shard after the other, which is sufficient: a snapshot that is added later to
/// a shard already read shows at least everything published when the listing began.
pub(crate) struct SnapshotList {
    clock: Arc<dyn Clock>,
    shards: PerThread<Arc<SnapshotShard>>,
    gate: Gate,
}

/// A gate that can be closed to prevent new snapshots.
#[derive(Default)]
struct Gate {
    /// True while new snapshots are prevented; read with a shard locked. A thread that sets it and then locks
    /// each shard once knows that no other thread is between this check and the end of taking a snapshot.
    closed: AtomicBool,
    /// The mutex that is locked while the gate is opened, and by threads that wait until it is open.
    opening: Mutex<()>,
    opened: Condvar,
}

/// Prevents new snapshots until it is dropped.
pub(crate) struct ClosedGate<'a>(&'a Gate);

impl Drop for ClosedGate<'_> {
    fn drop(&mut self) {
        let _opening = self.0.opening.lock();
        self.0.closed.store(false, Ordering::Relaxed);
        self.0.opened.notify_all();
    }
}

/// The snapshots taken by one thread, or by a few. Other threads may release them.
#[derive(Default)]
struct SnapshotShard {
    moments: Mutex<Moments>,
    /// True if the oldest snapshot was released.
    released: AtomicBool,
}

/// The entries in ascending order, because snapshots are taken of the newest state. The first and the last
/// one have holders.
#[derive(Default)]
struct Moments(VecDeque<Moment>);

/// The snapshots of one sequence number.
#[derive(Clone, Copy)]
struct Moment {
    seqno: SeqNo,
    /// The number of holders. It can be 0 only for entries between others that have holders.
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

    /// Removes a snapshot. True if it was the last one of the oldest sequence number.
    fn remove(&mut self, seqno: SeqNo) -> bool {
        let moments = &mut self.0;
        // Most snapshots are released while they are the newest.
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
        // Some snapshots are held while many newer ones are taken and released.
        if moments.len() == moments.capacity() {
            moments.retain(|moment| moment.holders > 0);
            let room = moments.len() + 16;
            moments.reserve(room);
        }
        at == 0
    }
}

impl SnapshotList {
    /// A list without snapshots.
    pub fn new(clock: Arc<dyn Clock>) -> SnapshotList {
        SnapshotList {
            clock,
            shards: PerThread::default(),
            gate: Gate::default(),
        }
    }

    /// Closes the gate: threads that take a snapshot wait until the result is dropped. One at a time: the
    /// caller has the range latch.
    pub fn close_gate(&self) -> ClosedGate<'_> {
        self.gate.closed.store(true, Ordering::Relaxed);
        for shard in self.shards.iter() {
            drop(shard.moments.lock());
        }
        ClosedGate(&self.gate)
    }

    /// Takes a snapshot of the rows that `published` shows. Reading `published` under the shard's lock
    /// guarantees to a job that lists the snapshots that every later one is at least as new as the number
    /// published when it began.
    ///
    /// The snapshot holds `database` until it is dropped.
    pub fn take(&self, published: &AtomicU64, database: Option<OpenDatabase>) -> Snapshot {
        let shard = self.shards.own();
        loop {
            let mut moments = shard.moments.lock();
            if !self.gate.closed.load(Ordering::Relaxed) {
                let seqno = published.load(Ordering::Acquire);
                moments.add(seqno, || self.clock.now());
                drop(moments);
                return held(shard, seqno, None, database);
            }
            drop(moments);
            let mut opening = self.gate.opening.lock();
            while self.gate.closed.load(Ordering::Relaxed) {
                self.gate.opened.wait(&mut opening);
            }
        }
    }

    /// Takes a snapshot of a secondary: it holds the super versions themselves, because the primary does not
    /// keep their rows for it.
    pub fn take_view(&self, view: Arc<View>, database: Option<OpenDatabase>) -> Snapshot {
        let shard = self.shards.own();
        shard.moments.lock().add(view.seqno, || self.clock.now());
        held(shard, view.seqno, Some(view), database)
    }

    /// The held snapshots, in no order; several may have one sequence number.
    fn collect(&self) -> Vec<Moment> {
        let mut all = Vec::new();
        for shard in self.shards.iter() {
            all.extend(shard.moments.lock().held());
        }
        all
    }

    /// The held sequence numbers, ascending.
    pub fn seqnos(&self) -> Vec<SeqNo> {
        let mut seqnos: Vec<SeqNo> = self.collect().iter().map(|moment| moment.seqno).collect();
        seqnos.sort_unstable();
        seqnos.dedup();
        seqnos
    }

    /// The number of held snapshots.
    pub fn len(&self) -> usize {
        self.collect().iter().map(|moment| moment.holders).sum()
    }

    /// The sequence number of the oldest snapshot.
    pub fn oldest(&self) -> Option<SeqNo> {
        let fronts = self
            .shards
            .iter()
            .map(|shard| shard.moments.lock().0.front().map(|moment| moment.seqno));
        fronts.flatten().min()
    }

    /// The time at which the oldest snapshot was taken, by the clock of the options.
    pub fn oldest_since(&self) -> Option<Duration> {
        let fronts = self.shards.iter().map(|shard| {
            let moments = shard.moments.lock();
            moments.0.front().map(|moment| (moment.seqno, moment.since))
        });
        fronts.flatten().min().map(|(_, since)| since)
    }

    /// The sequence number of the oldest snapshot, at most the one that `published` shows: no later snapshot
    /// is older.
    pub fn oldest_or(&self, published: &AtomicU64) -> SeqNo {
        let published = published.load(Ordering::Acquire);
        self.oldest().map_or(published, |oldest| oldest.min(published))
    }

    /// True if a snapshot that may have been the oldest was released since the last call.
    pub fn take_released(&self) -> bool {
        let shards = self.shards.iter();
        let released = shards.map(|shard| shard.released.swap(false, Ordering::AcqRel));
        released.fold(false, |any, of_one| any | of_one)
    }

    /// All held snapshots, oldest first.
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

/// The snapshots of one sequence number.
///
/// See the example of [`Pins`](crate::Pins).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PinnedSnapshot {
    /// The sequence number that these snapshots read.
    pub sequence_number: SeqNo,
    /// The number of snapshots.
    pub holders: usize,
    /// The age of the oldest snapshot.
    pub age: Duration,
}

fn held(
    shard: &Arc<SnapshotShard>,
    seqno: SeqNo,
    view: Option<Arc<View>>,
    database: Option<OpenDatabase>,
) -> Snapshot {
    Snapshot(Arc::new(HeldSnapshot {
        seqno,
        shard: shard.clone(),
        view,
        _database: database,
    }))
}

/// A reference that keeps the database open: the database's handle. A snapshot uses nothing else of it.
pub(crate) type OpenDatabase = Arc<dyn Any + Send + Sync>;

struct HeldSnapshot {
    seqno: SeqNo,
    /// The shard of the snapshot list that contains this snapshot.
    shard: Arc<SnapshotShard>,
    /// The super versions that the snapshot reads, in a secondary.
    view: Option<Arc<View>>,
    /// The database, which stays open. It is the last field, so that the snapshot is released before the
    /// database may close.
    _database: Option<OpenDatabase>,
}

/// The super versions of all families at one moment.
#[derive(Default)]
pub(crate) struct View {
    /// The sequence number of the last row that the snapshot sees.
    pub seqno: SeqNo,
    /// The super versions by family id.
    pub super_versions: HashMap<u32, Arc<SuperVersion>>,
}

impl Drop for HeldSnapshot {
    fn drop(&mut self) {
        if self.shard.moments.lock().remove(self.seqno) && !self.shard.released.load(Ordering::Relaxed) {
            self.shard.released.store(true, Ordering::Release);
        }
    }
}

/// The state of the database when the snapshot was taken, for
/// [`ReadOptions::snapshot`](crate::ReadOptions::snapshot). Compactions keep the rows it sees until its last
/// clone is dropped.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::ReadOptions;
///
/// db.put(b"key", b"old")?;
/// let snapshot = db.snapshot();
/// db.put(b"key", b"new")?;
/// let options = ReadOptions { snapshot: Some(snapshot), ..Default::default() };
/// let value = db.get_cf_opt(&db.default_column_family(), b"key", &options)?;
/// assert_eq!(value.as_deref(), Some(&b"old"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Snapshot(Arc<HeldSnapshot>);

impl Snapshot {
    /// The sequence number that the snapshot reads at.
    pub fn sequence_number(&self) -> SeqNo {
        self.0.seqno
    }

    /// Returns the super version that the snapshot of a secondary reads of family `id`, whose keys are in the
    /// order `cmp`. A family that was created later is empty.
    #[inline]
    pub(crate) fn super_version_of(&self, id: u32, cmp: &InternalComparator) -> Option<Arc<SuperVersion>> {
        let view = self.0.view.as_ref()?;
        let held = view.super_versions.get(&id).cloned();
        Some(held.unwrap_or_else(|| Arc::new(SuperVersion::empty(cmp))))
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
        // The snapshot is released by another thread than the one that took it.
        held.remove(0);
        assert!(list.take_released() && !list.take_released());
        assert_eq!(list.oldest_or(&published), 6);
        held.clear();
        assert_eq!(
            (list.len(), list.oldest(), list.oldest_or(&published)),
            (0, None, 7)
        );
    }

    /// Runs `body` while two threads take snapshots, each of which they pass to `taken`.
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
            // Simulates a job that drops the versions that no snapshot sees.
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
                // Snapshots that exist now and were not listed are newer than the number published then.
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
        // The published number is odd while a change is only half done.
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
            // The previous snapshot is released after a newer one is taken.
            let next = list.take(&published, None);
            last = Some(next);
        }
        assert_eq!(list.seqnos(), [1, 99_999]);
        assert!(list.shards.own().moments.lock().0.len() < 100);
        drop(last);
        assert_eq!((list.len(), list.oldest()), (1, Some(1)));
    }
}
