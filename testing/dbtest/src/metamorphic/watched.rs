//! A change feed with a durable cursor, which must return every row that was written, once and in order.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use esker::{Db, FeedEvent, FeedOptions, FeedRow, Operation, Result};
use testkit::model::Op;

use super::Outcome;
use super::esker_store::told;

/// The name of the cursor.
const CURSOR: &str = "metamorphic";

/// A row that was written, as the feed must return it.
#[derive(Debug)]
struct Written {
    family: String,
    op: Op,
    /// The timestamp after the key; empty in a family without timestamps.
    timestamp: Vec<u8>,
}

/// The rows that were written and not acknowledged, which are kept while the database is closed.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    rows: Rc<RefCell<VecDeque<Written>>>,
}

impl Written {
    fn is(&self, row: &FeedRow<'_>) -> bool {
        if row.family != Some(&self.family) {
            return false;
        }
        let has = |found: &[u8], key: &[u8]| found.strip_suffix(&self.timestamp[..]) == Some(key);
        match (&self.op, row.operation) {
            // A value may be followed by its time to live.
            (
                Op::Put(key, value),
                Operation::Put {
                    key: found,
                    value: of,
                    ..
                },
            ) => has(found, key) && of.starts_with(value),
            (Op::Put(key, _), Operation::Entity { key: found, .. })
            | (Op::Delete(key), Operation::Delete { key: found, .. })
            | (Op::SingleDelete(key), Operation::SingleDelete { key: found, .. }) => has(found, key),
            (
                Op::Merge(key, value),
                Operation::Merge {
                    key: found, operand, ..
                },
            ) => has(found, key) && operand.starts_with(value),
            (Op::DeleteRange(from, to), Operation::DeleteRange { begin, end, .. }) => {
                has(begin, from) && has(end, to)
            }
            _ => false,
        }
    }
}

impl Watched {
    /// Creates the cursor of a new database.
    pub fn begin(&self, db: &Db) -> Result<()> {
        db.feed(&options()).map(drop)
    }

    /// Records that a row was written.
    pub fn note(&self, family: &str, op: Op, timestamp: Vec<u8>) {
        self.rows.borrow_mut().push_back(Written {
            family: family.to_owned(),
            op,
            timestamp,
        });
    }

    /// Reads the feed to its end, compares, and acknowledges.
    pub fn check(&self, db: &Db) -> Outcome {
        told(db.flush_wal(false))?;
        let mut rows = self.rows.borrow_mut();
        let mut feed = told(db.feed(&options()))?;
        while let Some(event) = told(feed.next())? {
            let FeedEvent::Batch(batch) = event else {
                return Err(format!("the feed has {event:?}"));
            };
            for row in batch.rows() {
                let row = told(row)?;
                let expected = rows.pop_front();
                if !expected.as_ref().is_some_and(|expected| expected.is(&row)) {
                    return Err(format!("the feed has {row:?} in place of {expected:?}"));
                }
            }
        }
        if let Some(missing) = rows.front() {
            return Err(format!("the feed lacks {missing:?}"));
        }
        told(feed.acknowledge(feed.position()))
    }
}

fn options() -> FeedOptions {
    FeedOptions {
        cursor: Some(CURSOR.to_owned()),
        ..FeedOptions::default()
    }
}
