//! Snapshots: the database as it was at a sequence number, for as long as somebody holds on to it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::SeqNo;
use base::sync::Mutex;

use super::column_family::Family;
use crate::read::super_version::SuperVersion;

/// The snapshots alive: their sequence numbers, each with how many hold it.
#[derive(Default)]
pub(crate) struct SnapshotList {
    held: Mutex<BTreeMap<SeqNo, usize>>,
}

impl SnapshotList {
    /// A snapshot of what `published` shows. Reading it under the list's lock is what lets a job that lists the snapshots
    /// trust that every later one is at least as new as what was published when it looked.
    pub fn take(self: &Arc<Self>, published: &AtomicU64) -> Snapshot {
        let mut held = self.held.lock();
        let seqno = published.load(Ordering::Acquire);
        *held.entry(seqno).or_default() += 1;
        Snapshot(Arc::new(Held {
            seqno,
            list: self.clone(),
            view: None,
        }))
    }

    /// A snapshot of a secondary: it holds the super versions themselves, because nobody asks the primary to keep their rows.
    pub fn take_view(self: &Arc<Self>, view: Arc<View>) -> Snapshot {
        *self.held.lock().entry(view.seqno).or_default() += 1;
        Snapshot(Arc::new(Held {
            seqno: view.seqno,
            list: self.clone(),
            view: Some(view),
        }))
    }

    /// The sequence numbers held, ascending.
    pub fn seqnos(&self) -> Vec<SeqNo> {
        self.held.lock().keys().copied().collect()
    }

    /// How many snapshots are held.
    pub fn len(&self) -> usize {
        self.held.lock().values().sum()
    }

    /// The oldest one's sequence number.
    pub fn oldest(&self) -> Option<SeqNo> {
        self.held.lock().first_key_value().map(|(&seqno, _)| seqno)
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
        let mut held = self.list.held.lock();
        if let Some(count) = held.get_mut(&self.seqno) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.seqno);
            }
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
    use super::*;

    #[test]
    fn a_snapshot_is_held_until_its_last_clone_goes() {
        let list = Arc::new(SnapshotList::default());
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
}
