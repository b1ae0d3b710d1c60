//! Random concurrent transactions whose histories are searched for anomalies, in the way of Elle: which
//! levels may show which.
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

use std::collections::{BTreeMap, BTreeSet, HashMap};

use esker::{ColumnFamily, Db, ReadOptions, WriteOptions};
use esker_txn::{IsolationLevel, OptimisticTransactionOptions, Transaction, TransactionOptions};
use testkit::rng::{self, TestRng};
use vfs::MemFs;

use super::common::*;

const KEYS: u8 = 5;

/// A committed transaction: the values that it read of each key before it wrote the key, and the numbers that
/// it appended.
#[derive(Default)]
struct Committed {
    reads: Vec<(u8, Vec<u32>)>,
    appends: Vec<(u8, u32)>,
}

/// A transaction in progress.
struct Running {
    transaction: Transaction,
    history: Committed,
}

/// The way in which a transaction reads.
#[derive(Clone, Copy, PartialEq)]
enum Reads {
    /// The transaction reads the newest committed state.
    Latest,
    /// The transaction reads from its snapshot, although its isolation level does not require that.
    Snapshot,
    /// The transaction reads as a serializable transaction does.
    Serializable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Anomaly {
    LostUpdate,
    G0,
    G1,
    GSingle,
    G2,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    Write,
    Read,
    /// An anti-dependency: from a read to the write that overwrote the row that was read.
    Anti,
}

fn list(value: &[u8]) -> Vec<u32> {
    let text = std::str::from_utf8(value).unwrap();
    let numbers = text.split(',').filter(|number| !number.is_empty());
    numbers.map(|number| number.parse().unwrap()).collect()
}

fn text_of(list: &[u32]) -> Vec<u8> {
    let numbers: Vec<String> = list.iter().map(u32::to_string).collect();
    numbers.join(",").into_bytes()
}

fn key(at: u8) -> [u8; 1] {
    [b'a' + at]
}

impl Running {
    fn options(&self, reads: Reads) -> ReadOptions {
        ReadOptions {
            snapshot: self
                .transaction
                .snapshot()
                .filter(|_| reads == Reads::Snapshot)
                .cloned(),
            ..ReadOptions::default()
        }
    }

    fn has_written(&self, at: u8) -> bool {
        self.history.appends.iter().any(|(key, _)| *key == at)
    }

    /// Records a value that was read, if it is not the transaction's own.
    fn note(&mut self, at: u8, value: Option<&[u8]>) {
        if !self.has_written(at) {
            self.history.reads.push((at, value.map(list).unwrap_or_default()));
        }
    }

    fn read(&mut self, family: &ColumnFamily, at: u8, reads: Reads) -> base::Result<Vec<u8>> {
        let value = self
            .transaction
            .get_cf_opt(family, &key(at), &self.options(reads))?;
        self.note(at, value.as_deref());
        Ok(value.map(|value| value.to_vec()).unwrap_or_default())
    }

    /// Reads a range by an iterator, upwards or downwards.
    fn scan(&mut self, rng: &mut TestRng, family: &ColumnFamily, reads: Reads) -> base::Result<()> {
        let (a, b) = (rng.u8(..KEYS), rng.u8(..KEYS));
        let (first, last) = (a.min(b), a.max(b));
        let mut found: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        let mut options = self.options(reads);
        let mut add = |key: &[u8], value: &[u8]| drop(found.insert(key[0] - b'a', value.to_vec()));
        match rng.u32(..3) {
            0 => {
                options.iterate_lower_bound = Some(key(first).to_vec());
                options.iterate_upper_bound = Some(key(last + 1).to_vec());
                let mut iter = self.transaction.iter_cf_opt(family, &options)?;
                iter.seek_to_first();
                while iter.valid() {
                    add(iter.key(), iter.value());
                    iter.next();
                }
                iter.status()?;
            }
            1 => {
                let mut iter = self.transaction.scan(family, &options)?;
                iter.seek(&key(first));
                while iter.valid() && iter.key() <= &key(last)[..] {
                    add(iter.key(), iter.value());
                    iter.next();
                }
                iter.status()?;
            }
            _ => {
                let mut iter = self.transaction.scan(family, &options)?;
                iter.seek_for_prev(&key(last));
                while iter.valid() && iter.key() >= &key(first)[..] {
                    add(iter.key(), iter.value());
                    iter.prev();
                }
                iter.status()?;
            }
        }
        for at in first..=last {
            self.note(at, found.get(&at).map(|value| &value[..]));
        }
        Ok(())
    }

    fn step(
        &mut self,
        rng: &mut TestRng,
        family: &ColumnFamily,
        number: u32,
        reads: Reads,
    ) -> base::Result<()> {
        let at = rng.u8(..KEYS);
        match rng.u32(..10) {
            0..=3 => drop(self.read(family, at, reads)?),
            4..=5 => self.scan(rng, family, reads)?,
            6..=7 => {
                // The value that the transaction read earlier, unless it has written the key since, or else
                // the value that it reads now.
                let known = self.history.reads.iter().rev().find(|(key, _)| *key == at);
                let known = known.filter(|_| rng.bool() && !self.has_written(at));
                let mut value = match known {
                    Some((_, read)) => text_of(read),
                    None => self.read(family, at, reads)?,
                };
                if !value.is_empty() {
                    value.push(b',');
                }
                value.extend_from_slice(number.to_string().as_bytes());
                self.transaction.put_cf(family, &key(at), &value)?;
                self.history.appends.push((at, number));
            }
            _ => {
                // This is a write without a read: the merge operator adds the comma.
                self.transaction
                    .merge_cf(family, &key(at), number.to_string().as_bytes())?;
                self.history.appends.push((at, number));
            }
        }
        Ok(())
    }
}

/// Runs transactions, and returns the committed ones and the values of all keys at the end.
fn run(
    seed: u64,
    db: &Db,
    reads: Reads,
    begin: &dyn Fn() -> Transaction,
    prepares: bool,
) -> (Vec<Committed>, Vec<Vec<u32>>) {
    let mut rng = TestRng::with_seed(seed);
    let family = family(db);
    let (mut running, mut committed) = (Vec::<Running>::new(), Vec::new());
    for number in 1..500u32 {
        if running.len() < 4 {
            running.push(Running {
                transaction: begin(),
                history: Committed::default(),
            });
        }
        let at = rng.usize(..running.len());
        let outcome = match rng.u32(..12) {
            0..=1 => {
                let own = &mut running[at].transaction;
                if prepares && rng.bool() && own.name().is_empty() {
                    own.set_name(&number.to_be_bytes()).unwrap();
                    own.prepare()
                } else {
                    own.commit()
                }
                .map(|()| running[at].transaction.state() == esker_txn::TransactionState::Committed)
            }
            2 if rng.u32(..3) == 0 => {
                flush(db);
                if rng.bool() {
                    compact(db);
                }
                Ok(false)
            }
            // A prepared transaction reads and writes on.
            _ => running[at].step(&mut rng, &family, number, reads).map(|()| false),
        };
        match outcome {
            Ok(false) => {}
            Ok(true) => committed.push(running.swap_remove(at).history),
            Err(error) => {
                let text = error.to_string();
                assert!(
                    [BUSY, TIMED_OUT].contains(&&text[..]),
                    "{text}, ESKER_SEED={seed}"
                );
                running.swap_remove(at).transaction.rollback().unwrap();
            }
        }
    }
    drop(running);
    let lists = (0..KEYS).map(|at| db.get(key(at)).unwrap().map_or(Vec::new(), |value| list(&value)));
    (committed, lists.collect())
}

/// The anomalies of a history.
fn anomalies(committed: &[Committed], lists: &[Vec<u32>]) -> BTreeSet<Anomaly> {
    let mut found = BTreeSet::new();
    let mut writer: HashMap<u32, usize> = HashMap::new();
    for (at, own) in committed.iter().enumerate() {
        writer.extend(own.appends.iter().map(|(_, number)| (*number, at)));
    }
    let mut edges: BTreeSet<(usize, usize, Edge)> = BTreeSet::new();
    for (key, list) in lists.iter().enumerate() {
        let here = |own: &&(u8, u32)| usize::from(own.0) == key;
        for own in committed {
            // A missing append was overwritten by a transaction that had not read it.
            let lost = own
                .appends
                .iter()
                .filter(here)
                .any(|(_, number)| !list.contains(number));
            if lost {
                found.insert(Anomaly::LostUpdate);
            }
        }
        for pair in list.windows(2) {
            if let (Some(&a), Some(&b)) = (writer.get(&pair[0]), writer.get(&pair[1])) {
                edges.insert((a, b, Edge::Write));
            }
        }
    }
    for (at, own) in committed.iter().enumerate() {
        for (key, read) in &own.reads {
            let list = &lists[usize::from(*key)];
            if let Some(last) = read.last() {
                match writer.get(last) {
                    // The value that was read comes from a transaction that did not commit, or is not that
                    // transaction's last value of the key.
                    None => drop(found.insert(Anomaly::G1)),
                    Some(&by) => {
                        let mut of_key = committed[by].appends.iter().filter(|(other, _)| other == key);
                        if of_key.next_back().is_some_and(|(_, number)| number != last) {
                            found.insert(Anomaly::G1);
                        }
                        edges.insert((by, at, Edge::Read));
                    }
                }
            }
            let next = list.iter().find(|number| !read.contains(number));
            if let Some(&by) = next.and_then(|number| writer.get(number)) {
                edges.insert((at, by, Edge::Anti));
            }
        }
    }
    edges.retain(|(a, b, _)| a != b);
    found.extend(cycles(committed.len(), &edges));
    found
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

/// The anomalies that the histories of all seeds show together.
fn search(
    reads: Reads,
    prepares: bool,
    run_one: &dyn Fn(u64) -> (Vec<Committed>, Vec<Vec<u32>>),
) -> BTreeSet<Anomaly> {
    let mut found = BTreeSet::new();
    let mut commits = 0;
    for seed in rng::seeds(rng::runs("ESKER_TXN_HISTORIES", 8)) {
        let (committed, lists) = run_one(seed);
        commits += committed.len();
        let own = anomalies(&committed, &lists);
        if reads == Reads::Serializable {
            assert!(own.is_empty(), "{own:?}, prepares {prepares}, ESKER_SEED={seed}");
        }
        found.extend(own);
    }
    assert!(commits > 120, "{commits} commits");
    found
}

fn level(reads: Reads) -> IsolationLevel {
    match reads {
        Reads::Serializable => IsolationLevel::Serializable,
        _ => IsolationLevel::ReadCommitted,
    }
}

fn with_locks(reads: Reads, prepares: bool) -> BTreeSet<Anomaly> {
    search(reads, prepares, &|seed| {
        let db = open(&MemFs::new());
        let options = TransactionOptions {
            set_snapshot: reads == Reads::Snapshot,
            isolation_level: level(reads),
            ..TransactionOptions::default()
        };
        let begin = || db.begin_transaction(&WriteOptions::default(), &options);
        run(seed, db.db(), reads, &begin, prepares)
    })
}

fn optimistic(reads: Reads) -> BTreeSet<Anomaly> {
    search(reads, false, &|seed| {
        let db = open_optimistic(&MemFs::new());
        let options = OptimisticTransactionOptions {
            set_snapshot: reads == Reads::Snapshot,
            isolation_level: level(reads),
        };
        let begin = || db.begin_transaction(&WriteOptions::default(), &options);
        run(seed, db.db(), reads, &begin, false)
    })
}

/// The weakest level: no read of uncommitted data, and no part of a transaction's writes over another's.
#[test]
fn reads_of_what_is_committed_show_no_writes_that_are_not() {
    for found in [with_locks(Reads::Latest, true), optimistic(Reads::Latest)] {
        assert!(!found.contains(&Anomaly::G0), "{found:?}");
        // The search finds anomalies that exist.
        assert!(found.contains(&Anomaly::GSingle), "{found:?}");
    }
    assert!(with_locks(Reads::Latest, false).contains(&Anomaly::LostUpdate));
}

#[test]
fn snapshots_leave_write_skew_and_nothing_worse() {
    for found in [with_locks(Reads::Snapshot, true), optimistic(Reads::Snapshot)] {
        assert_eq!(found, BTreeSet::from([Anomaly::G2]));
    }
}

#[test]
fn serializable_transactions_with_locks_show_no_anomaly() {
    assert_eq!(with_locks(Reads::Serializable, false), BTreeSet::new());
}

#[test]
fn serializable_transactions_in_two_phases_show_no_anomaly() {
    assert_eq!(with_locks(Reads::Serializable, true), BTreeSet::new());
}

#[test]
fn serializable_optimistic_transactions_show_no_anomaly() {
    assert_eq!(optimistic(Reads::Serializable), BTreeSet::new());
}

#[test]
fn the_search_finds_what_histories_show() {
    let committed = |reads: &[(u8, &[u32])], appends: &[(u8, u32)]| Committed {
        reads: reads.iter().map(|(key, read)| (*key, read.to_vec())).collect(),
        appends: appends.to_vec(),
    };
    let skew = [
        committed(&[(0, &[]), (1, &[])], &[(0, 1)]),
        committed(&[(0, &[]), (1, &[])], &[(1, 2)]),
    ];
    let found = |history: &[Committed], lists: &[&[u32]]| {
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
