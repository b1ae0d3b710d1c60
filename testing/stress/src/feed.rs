//! A change feed with a durable cursor, read while no thread writes: the last write to each key that it
//! shows is what a read finds.

use std::collections::HashMap;

use esker::{Db, FeedEvent, FeedOptions, FeedRow, Operation};

use crate::failure::{Failure, Outcome};
use crate::stress::{Open, Stress};

/// The name of the cursor.
const CURSOR: &str = "db_stress";

/// The last write to each key, by family: its value, or that it was deleted. Keys whose state a write alone
/// does not tell are not among them.
type Last = HashMap<(u32, Vec<u8>), Option<Vec<u8>>>;

impl Stress {
    /// Reads the feed from where it was acknowledged last, compares, and acknowledges. Not while failures are
    /// injected: one of a sync would stop the writes.
    ///
    /// A new cursor begins after the rows that exist: families dropped before there was a cursor have no name
    /// in the feed.
    pub fn verify_feed(&self, open: &Open) -> Outcome {
        if !self.flags.test_feed || self.faults.is_some() {
            return Ok(());
        }
        let db = &open.db;
        db.flush_wal(false)?;
        let options = FeedOptions {
            cursor: Some(CURSOR.to_owned()),
            since: Some(db.latest_sequence_number() + 1),
            ..FeedOptions::default()
        };
        let mut feed = db.feed(&options)?;
        let mut last = Last::new();
        let mut next = feed.position();
        while let Some(event) = feed.next()? {
            let batch = match event {
                FeedEvent::Batch(batch) => batch,
                FeedEvent::Gap { from, to } if from <= to && from >= next => {
                    // Sequence numbers that are in no WAL may belong to any key.
                    last.clear();
                    next = to + 1;
                    continue;
                }
                FeedEvent::Gap { from, to } => {
                    return Err(wrong(format!(
                        "a gap from {from} to {to} where {next} comes next"
                    )));
                }
            };
            for row in batch.rows() {
                let row = row?;
                // The names of families that were dropped while the database had another `wal_dir` are there,
                // and not beside this cursor.
                let is_nameless = row.family.is_none() && !self.flags.change_wal_dir;
                if row.sequence < next || is_nameless {
                    return Err(wrong(format!("{row:?} where {next} comes next")));
                }
                next = row.sequence + 1;
                note(&mut last, &row);
            }
        }
        // After the last row of the feed there may be rows without a WAL. A filter and FIFO compaction change
        // what was written.
        let is_all = feed.position() == db.latest_sequence_number() + 1;
        let changes = self.flags.enable_compaction_filter || self.flags.compaction_style == 2;
        if is_all && !changes {
            compare(db, &last)?;
        }
        feed.acknowledge(feed.position())?;
        Ok(())
    }
}

fn wrong(message: String) -> Failure {
    Failure::Mismatch(format!("the change feed has {message}"))
}

fn note(last: &mut Last, row: &FeedRow<'_>) {
    let family = row.family_id;
    let of = |key: &[u8]| (family, key.to_vec());
    match row.operation {
        Operation::Put { key, value, .. } => drop(last.insert(of(key), Some(value.to_vec()))),
        Operation::Delete { key, .. } | Operation::SingleDelete { key, .. } => {
            drop(last.insert(of(key), None))
        }
        Operation::DeleteRange { begin, end, .. } => {
            for ((other, key), value) in last.iter_mut() {
                if *other == family && &**key >= begin && &**key < end {
                    *value = None;
                }
            }
        }
        Operation::Merge { key, .. } | Operation::Entity { key, .. } => drop(last.remove(&of(key))),
        _ => {}
    }
}

fn compare(db: &Db, last: &Last) -> Outcome {
    let families = db.column_families();
    for ((id, key), value) in last {
        // Rows of a family that was dropped since are read nowhere.
        let Some(family) = families.iter().find(|family| family.id() == *id) else {
            continue;
        };
        // A deleted key may have a row again that no sequence number shows: an ingested file has number 0 if
        // compactions have dropped all rows of its keys.
        let Some(value) = value else {
            continue;
        };
        let found = db.get_cf(family, key)?;
        if found.as_ref() != Some(value) {
            return Err(wrong(format!(
                "{value:02x?} for key {key:02x?} of column family {id}, and a read finds {found:02x?}"
            )));
        }
    }
    Ok(())
}
