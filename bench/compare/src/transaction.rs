//! Transactions: each reads a few rows for update and writes them again.

use crate::burden::Burden;
use crate::data::{Data, KEY_SIZE, key};
use crate::threads::{Done, Pace, by_threads};

/// The method by which a transaction excludes others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// A transaction excludes others by locks.
    Locks,
    /// A transaction excludes others by locks, and is prepared before the commit.
    TwoPhases,
    /// A transaction is validated at the commit.
    Optimistic,
}

/// The keys that transactions choose among.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Keys are drawn from all keys of the database.
    Cold,
    /// Keys are drawn from the first [`HOT`] keys.
    Hot,
}

/// The number of hot keys.
const HOT: u64 = 1_000;

/// The rows of a transaction.
const ROWS: usize = 2;

/// The rows of a transaction that fills the database.
const FILLED_AT_ONCE: u64 = 100;

/// A database opened for transactions.
pub trait Transactions: Sync {
    /// Reads the rows for update, in this order, and puts `value` into each. False on a conflict: then
    /// nothing is done.
    fn change(&self, keys: &[[u8; KEY_SIZE]], value: &[u8]) -> bool;
}

/// Fills the database, and changes rows from threads; each transaction is repeated until it is committed. The
/// fill is not timed.
pub(crate) fn run(db: &dyn Transactions, keys: Keys, data: &Data, pace: &Pace) -> Done {
    for first in (0..data.num).step_by(FILLED_AT_ONCE as usize) {
        let rows: Vec<_> = (first..data.num.min(first + FILLED_AT_ONCE)).map(key).collect();
        assert!(
            db.change(&rows, data.value(first)),
            "nothing is in the way of a fill"
        );
    }
    let before = paired::Cost::of_self();
    let among = match keys {
        Keys::Cold => data.num,
        Keys::Hot => data.num.min(HOT),
    };
    let done = by_threads(pace.threads, |thread| {
        let mut rng = fastrand::Rng::with_seed(pace.seed * 1_000 + thread);
        let burden = &mut Burden::new(pace.slow_down);
        let transactions = data.reads / pace.threads;
        for at in 0..transactions {
            let mut rows: Vec<_> = (0..ROWS).map(|_| key(rng.u64(..among))).collect();
            // Every transaction locks its rows in one order, so that no two wait for each other.
            rows.sort_unstable();
            rows.dedup();
            while !db.change(&rows, data.value(at)) {}
            burden.bear();
        }
        Done {
            operations: transactions,
            ..Done::default()
        }
    });
    Done {
        cost: paired::Cost::of_self().since(&before),
        ..done
    }
}
