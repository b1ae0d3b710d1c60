//! Anomalies in the histories of concurrent transactions, found in the way of Elle.
//!
//! Each key holds a list of numbers, and each write appends a number that is written nowhere else. So a value
//! shows which transactions wrote it, in which order, and every read shows which writes it followed and
//! preceded. These are the edges of a graph of transactions; a cycle in it is an anomaly:
//!
//! ```text
//! lost update   two have appended to one list: no value has both numbers
//! G0            a cycle of writes
//! G1            a cycle of writes and of reads of written values; also a read of an uncommitted or intermediate value
//! G-single      a cycle in which one edge goes from a read to the write that followed it
//! G2            a cycle with several such edges: write skew, and with ranges phantoms
//! ```
//!
//! A read of a range is a read of every list in it, including empty ones: a phantom is a write that it did
//! not see.

//!
//! Transactions whose commit did not return, because of a crash, are settled first: see [`History::settle`].

use std::collections::{BTreeSet, HashMap};

/// A transaction: the values that it read of each key before it wrote the key, and the numbers that it
/// appended.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    /// The keys and the lists that were read.
    pub reads: Vec<(u8, Vec<u32>)>,
    /// The keys and the appended numbers.
    pub appends: Vec<(u8, u32)>,
}

/// The transactions of a history.
#[derive(Debug, Default)]
pub struct History {
    /// The transactions whose commit has returned.
    pub committed: Vec<Accesses>,
    /// The transactions whose commit was called and did not return: each may have been committed.
    pub uncertain: Vec<Accesses>,
}

/// The ways in which a history deviates from one in which each transaction ran alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Anomaly {
    /// A committed append is missing.
    LostUpdate,
    /// A cycle of writes.
    G0,
    /// A cycle of writes and reads of written values; or a read, or a final value, of a transaction that did
    /// not commit.
    G1,
    /// A cycle with one edge from a read to the write that followed it.
    GSingle,
    /// A cycle with several such edges.
    G2,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    Write,
    Read,
    /// An anti-dependency: from a read to the write that overwrote the row that was read.
    Anti,
}

/// The numbers of a value.
///
/// # Panics
///
/// Panics if the value is no list of numbers.
pub fn list(value: &[u8]) -> Vec<u32> {
    let text = std::str::from_utf8(value).expect("a list is text");
    let numbers = text.split(',').filter(|number| !number.is_empty());
    numbers
        .map(|number| number.parse().expect("a list has numbers"))
        .collect()
}

/// The value of a list.
pub fn text_of(list: &[u32]) -> Vec<u8> {
    let numbers: Vec<String> = list.iter().map(u32::to_string).collect();
    numbers.join(",").into_bytes()
}

impl Accesses {
    /// True if the transaction has appended to the list of `key`.
    pub fn has_written(&self, key: u8) -> bool {
        self.appends.iter().any(|(written, _)| *written == key)
    }

    /// Records a value that was read, unless it is the transaction's own.
    pub fn note(&mut self, key: u8, value: Option<&[u8]>) {
        if !self.has_written(key) {
            self.reads.push((key, value.map(list).unwrap_or_default()));
        }
    }
}

impl History {
    /// Counts each uncertain transaction as committed if one of its numbers is in the final lists; the others
    /// have had no effect, or only read.
    pub fn settle(&mut self, lists: &[Vec<u32>]) {
        let there: BTreeSet<u32> = lists.iter().flatten().copied().collect();
        let is_there = |own: &Accesses| own.appends.iter().any(|(_, number)| there.contains(number));
        self.committed.extend(self.uncertain.drain(..).filter(is_there));
    }
}

/// The graph of a history.
struct Graph<'a> {
    committed: &'a [Accesses],
    lists: &'a [Vec<u32>],
    /// The transaction that has appended each number.
    writers: HashMap<u32, usize>,
    edges: BTreeSet<(usize, usize, Edge)>,
    found: BTreeSet<Anomaly>,
}

/// The anomalies of committed transactions, given the final list of each key.
pub fn anomalies(committed: &[Accesses], lists: &[Vec<u32>]) -> BTreeSet<Anomaly> {
    let numbers =
        |(at, own): (usize, &Accesses)| own.appends.iter().map(|(_, number)| (*number, at)).collect();
    let writers = committed
        .iter()
        .enumerate()
        .flat_map::<Vec<_>, _>(numbers)
        .collect();
    let mut graph = Graph {
        committed,
        lists,
        writers,
        edges: BTreeSet::new(),
        found: BTreeSet::new(),
    };
    graph.add_writes();
    for (at, own) in committed.iter().enumerate() {
        own.reads
            .iter()
            .for_each(|(key, read)| graph.add_read(at, *key, read));
    }
    let Graph {
        mut edges, mut found, ..
    } = graph;
    edges.retain(|(a, b, _)| a != b);
    found.extend(cycles(committed.len(), &edges));
    found
}

impl Graph<'_> {
    fn add_writes(&mut self) {
        for (key, list) in self.lists.iter().enumerate() {
            let is_missing = |&(own, number): &(u8, u32)| usize::from(own) == key && !list.contains(&number);
            // A missing append was overwritten by a transaction that had not read it.
            if self
                .committed
                .iter()
                .any(|own| own.appends.iter().any(is_missing))
            {
                self.found.insert(Anomaly::LostUpdate);
            }
            // A number that no committed transaction has appended comes from one that was rolled back.
            if list.iter().any(|number| !self.writers.contains_key(number)) {
                self.found.insert(Anomaly::G1);
            }
            for pair in list.windows(2) {
                if let (Some(&a), Some(&b)) = (self.writers.get(&pair[0]), self.writers.get(&pair[1])) {
                    self.edges.insert((a, b, Edge::Write));
                }
            }
        }
    }

    /// Adds the edges of transaction `at`, which has read a list.
    fn add_read(&mut self, at: usize, key: u8, read: &[u32]) {
        match read.last().map(|last| (last, self.writers.get(last))) {
            None => {}
            // The value that was read comes from a transaction that did not commit.
            Some((_, None)) => drop(self.found.insert(Anomaly::G1)),
            Some((last, Some(&by))) => {
                // It must be that transaction's last value of the key.
                let mut of_key = self.committed[by]
                    .appends
                    .iter()
                    .filter(|(other, _)| *other == key);
                if of_key.next_back().is_some_and(|(_, number)| number != last) {
                    self.found.insert(Anomaly::G1);
                }
                self.edges.insert((by, at, Edge::Read));
            }
        }
        let list = &self.lists[usize::from(key)];
        let next = list.iter().find(|number| !read.contains(number));
        if let Some(&by) = next.and_then(|number| self.writers.get(number)) {
            self.edges.insert((at, by, Edge::Anti));
        }
    }
}

/// The kinds of cycles in the graph: each is classified by the weakest edges that close one.
fn cycles(count: usize, edges: &BTreeSet<(usize, usize, Edge)>) -> BTreeSet<Anomaly> {
    let reach = |kinds: &[Edge]| {
        let mut next = vec![Vec::new(); count];
        for (a, b, kind) in edges {
            if kinds.contains(kind) {
                next[*a].push(*b);
            }
        }
        (0..count)
            .map(|from| {
                let (mut seen, mut stack) = (vec![false; count], next[from].clone());
                while let Some(at) = stack.pop() {
                    if !std::mem::replace(&mut seen[at], true) {
                        stack.extend(&next[at]);
                    }
                }
                seen
            })
            .collect::<Vec<_>>()
    };
    let writes = reach(&[Edge::Write]);
    let known = reach(&[Edge::Write, Edge::Read]);
    let all = reach(&[Edge::Write, Edge::Read, Edge::Anti]);
    let closes = |reach: &[Vec<bool>]| (0..count).any(|at| reach[at][at]);
    let mut found = BTreeSet::new();
    if closes(&writes) {
        found.insert(Anomaly::G0);
    }
    if closes(&known) {
        found.insert(Anomaly::G1);
    }
    for (a, b, _) in edges.iter().filter(|(_, _, kind)| *kind == Edge::Anti) {
        if known[*b][*a] {
            found.insert(Anomaly::GSingle);
        } else if all[*b][*a] {
            found.insert(Anomaly::G2);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_finds_what_histories_show() {
        let committed = |reads: &[(u8, &[u32])], appends: &[(u8, u32)]| Accesses {
            reads: reads.iter().map(|(key, read)| (*key, read.to_vec())).collect(),
            appends: appends.to_vec(),
        };
        let skew = [
            committed(&[(0, &[]), (1, &[])], &[(0, 1)]),
            committed(&[(0, &[]), (1, &[])], &[(1, 2)]),
        ];
        let found = |history: &[Accesses], lists: &[&[u32]]| {
            let lists: Vec<Vec<u32>> = lists.iter().map(|list| list.to_vec()).collect();
            anomalies(history, &lists).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(found(&skew, &[&[1], &[2]]), [Anomaly::G2]);
        let fractured = [
            committed(&[], &[(0, 1), (1, 2)]),
            committed(&[(0, &[1]), (1, &[])], &[]),
        ];
        assert_eq!(found(&fractured, &[&[1], &[2]]), [Anomaly::GSingle]);
        let lost = [
            committed(&[(0, &[])], &[(0, 1)]),
            committed(&[(0, &[])], &[(0, 2)]),
        ];
        assert!(found(&lost, &[&[2]]).contains(&Anomaly::LostUpdate));
        let half = [
            committed(&[], &[(0, 1), (1, 2)]),
            committed(&[], &[(0, 3), (1, 4)]),
        ];
        assert_eq!(found(&half, &[&[1, 3], &[4, 2]]), [Anomaly::G0, Anomaly::G1]);
        let aborted = [committed(&[(0, &[9])], &[(1, 1)])];
        assert_eq!(found(&aborted, &[&[], &[1]]), [Anomaly::G1]);
        let in_order = [
            committed(&[(0, &[])], &[(0, 1)]),
            committed(&[(0, &[1])], &[(0, 2)]),
        ];
        assert_eq!(found(&in_order, &[&[1, 2]]), []);
    }

    #[test]
    fn what_did_not_return_is_settled_by_the_final_lists() {
        let own = |appends: &[(u8, u32)]| Accesses {
            appends: appends.to_vec(),
            ..Accesses::default()
        };
        let mut history = History {
            committed: vec![own(&[(0, 1)])],
            uncertain: vec![own(&[(0, 2)]), own(&[(1, 3)]), own(&[])],
        };
        let lists = [vec![1, 2], vec![]];
        history.settle(&lists);
        assert_eq!(history.committed.len(), 2);
        assert_eq!(anomalies(&history.committed, &lists), BTreeSet::new());
        let mut half = History {
            uncertain: vec![own(&[(0, 2), (1, 3)])],
            ..history
        };
        half.settle(&lists);
        assert!(anomalies(&half.committed, &lists).contains(&Anomaly::LostUpdate));
        let rolled_back = [vec![1, 2, 9], vec![]];
        assert!(anomalies(&half.committed, &rolled_back).contains(&Anomaly::G1));
    }
}
