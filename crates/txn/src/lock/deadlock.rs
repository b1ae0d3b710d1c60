//! The graph of waits: cycles of transactions that wait for each other's locks, and the most recent ones.

use std::collections::{HashMap, VecDeque};

use super::TransactionId;
use crate::key_range::KeyRange;

/// A transaction in a cycle, and the lock that it waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockInfo {
    /// The id of the transaction that waits.
    pub transaction_id: TransactionId,
    /// The column family of the key the transaction waited for.
    pub column_family_id: u32,
    /// True if the transaction asked for an exclusive lock.
    pub exclusive: bool,
    /// The key; for a range, its first key, or empty without a lower bound.
    pub waiting_key: Vec<u8>,
    /// The range that the transaction waited for, if it waited for a range.
    pub waiting_range: Option<KeyRange>,
}

/// A cycle of transactions that would have waited for each other without end: each waits for the next one,
/// the last one for the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadlockPath {
    /// The transactions of the cycle. Empty if the search was given up.
    pub path: Vec<DeadlockInfo>,
    /// True if the search reached [`deadlock_detect_depth`](crate::TransactionOptions::deadlock_detect_depth)
    /// and was given up. That counts as a deadlock.
    pub limit_exceeded: bool,
    /// The time at which the deadlock was found, in seconds since 1970.
    pub deadlock_time: u64,
}

/// A transaction that waits for a lock.
struct Waiter {
    info: DeadlockInfo,
    /// The holders of the lock that the transaction waits for.
    wait_ids: Vec<TransactionId>,
}

/// The waiting transactions that look for deadlocks.
pub(crate) struct WaitGraph {
    waiters: HashMap<TransactionId, Waiter>,
    /// The number of transactions that wait for each transaction.
    waited_for: HashMap<TransactionId, usize>,
    /// The most recent cycles, newest first.
    recent: VecDeque<DeadlockPath>,
    max_recent: usize,
}

impl WaitGraph {
    /// A graph without waits. It keeps the last `max_recent` cycles.
    pub fn new(max_recent: u32) -> WaitGraph {
        WaitGraph {
            waiters: HashMap::new(),
            waited_for: HashMap::new(),
            recent: VecDeque::new(),
            max_recent: max_recent as usize,
        }
    }

    /// Records that the transaction of `info` begins to wait for those of `wait_ids`. Returns false, and
    /// records nothing, if that would be a deadlock, or if the search goes beyond `depth` transactions.
    pub fn begin_to_wait(
        &mut self,
        info: DeadlockInfo,
        wait_ids: &[TransactionId],
        depth: usize,
        now: impl FnOnce() -> u64,
    ) -> bool {
        let id = info.transaction_id;
        let wait_ids = wait_ids.to_vec();
        for &holder in &wait_ids {
            *self.waited_for.entry(holder).or_default() += 1;
        }
        self.waiters.insert(id, Waiter { info, wait_ids });
        if !self.waited_for.contains_key(&id) {
            return true;
        }
        let found = self.search(id, depth);
        let Some(path) = found else {
            return true;
        };
        self.keep(DeadlockPath {
            limit_exceeded: path.is_empty(),
            path,
            deadlock_time: now(),
        });
        self.end_to_wait(id);
        false
    }

    /// Records that the transaction no longer waits.
    pub fn end_to_wait(&mut self, id: TransactionId) {
        let Some(waiter) = self.waiters.remove(&id) else {
            return;
        };
        for holder in waiter.wait_ids {
            if let Some(count) = self.waited_for.get_mut(&holder) {
                *count -= 1;
                if *count == 0 {
                    self.waited_for.remove(&holder);
                }
            }
        }
    }

    /// The cycle through `id`, which waits; empty if the search was given up; `None` if there is none. The
    /// search is breadth first, so that it finds the shortest.
    fn search(&self, id: TransactionId, depth: usize) -> Option<Vec<DeadlockInfo>> {
        // The queue has each transaction with the index of the transaction that waits for it.
        let mut queue: Vec<(TransactionId, Option<usize>)> = Vec::new();
        let mut next = Some((id, None));
        for head in 0..depth {
            if let Some((waiter, parent)) = next.take() {
                let holders = self.waiters[&waiter].wait_ids.iter();
                let room = depth - queue.len();
                queue.extend(holders.take(room).map(|&holder| (holder, parent)));
            }
            let &(holder, _) = queue.get(head)?;
            if holder == id {
                return Some(self.path_to(&queue, head));
            }
            next = self.waiters.contains_key(&holder).then_some((holder, Some(head)));
        }
        Some(Vec::new())
    }

    /// The cycle that ends at index `last` of the queue.
    fn path_to(&self, queue: &[(TransactionId, Option<usize>)], last: usize) -> Vec<DeadlockInfo> {
        let mut path = Vec::new();
        let mut at = Some(last);
        while let Some(place) = at {
            let (id, parent) = queue[place];
            path.extend(self.waiters.get(&id).map(|waiter| waiter.info.clone()));
            at = parent;
        }
        path.reverse();
        path
    }

    fn keep(&mut self, path: DeadlockPath) {
        self.recent.push_front(path);
        self.recent.truncate(self.max_recent);
    }

    /// True while the transaction waits.
    #[cfg(test)]
    pub fn is_waiting(&self, id: TransactionId) -> bool {
        self.waiters.contains_key(&id)
    }

    /// The last cycles, newest first.
    pub fn recent(&self) -> Vec<DeadlockPath> {
        self.recent.iter().cloned().collect()
    }

    /// Sets the number of cycles that are kept.
    pub fn set_max_recent(&mut self, max_recent: u32) {
        self.max_recent = max_recent as usize;
        self.recent.truncate(self.max_recent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(graph: &mut WaitGraph, id: TransactionId, wait_ids: &[TransactionId], depth: usize) -> bool {
        let info = DeadlockInfo {
            transaction_id: id,
            column_family_id: 0,
            exclusive: true,
            waiting_key: id.to_string().into_bytes(),
            waiting_range: None,
        };
        graph.begin_to_wait(info, wait_ids, depth, || 7)
    }

    fn ids(path: &DeadlockPath) -> Vec<TransactionId> {
        path.path.iter().map(|info| info.transaction_id).collect()
    }

    #[test]
    fn a_circle_is_found_by_who_closes_it() {
        let mut graph = WaitGraph::new(5);
        assert!(wait(&mut graph, 1, &[2], 50));
        assert!(wait(&mut graph, 2, &[3, 4], 50));
        assert!(!wait(&mut graph, 4, &[1], 50));
        assert_eq!(ids(&graph.recent()[0]), [1, 2, 4]);
        assert_eq!(graph.recent()[0].deadlock_time, 7);
        // The wait of transaction 4 was refused, so transaction 5 may wait for it.
        assert!(wait(&mut graph, 5, &[4], 50));
        // The cycle does not exist any more after one of its transactions has stopped waiting.
        graph.end_to_wait(2);
        assert!(wait(&mut graph, 4, &[1], 50));
    }

    #[test]
    fn a_search_that_goes_too_far_is_taken_for_a_deadlock() {
        let mut graph = WaitGraph::new(5);
        for id in 1..10 {
            assert!(wait(&mut graph, id, &[id + 1], 3));
        }
        assert!(wait(&mut graph, 20, &[1], 3), "no one waits for it");
        assert!(wait(&mut graph, 21, &[20], 3));
        graph.end_to_wait(20);
        assert!(!wait(&mut graph, 20, &[1], 3));
        assert!(graph.recent()[0].limit_exceeded && graph.recent()[0].path.is_empty());
    }

    #[test]
    fn the_last_paths_are_kept() {
        let mut graph = WaitGraph::new(2);
        assert!(wait(&mut graph, 1, &[2, 3, 4], 50));
        for id in [2, 3, 4] {
            assert!(!wait(&mut graph, id, &[1], 50));
        }
        let recent = graph.recent();
        assert_eq!(recent.iter().map(ids).collect::<Vec<_>>(), [[1, 4], [1, 3]]);
        graph.set_max_recent(1);
        assert_eq!(graph.recent().len(), 1);
    }
}
