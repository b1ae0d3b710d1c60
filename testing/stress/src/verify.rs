//! Reads every key in several ways and compares the results with the expected state.

use std::ops::Range;
use std::path::PathBuf;

use base::Result;
use esker::{ColumnFamily, Db, DbIterator, ReadOptions};

use crate::failure::{Failure, Outcome};
use crate::keys;
use crate::stress::{Open, Stress};
use crate::wal_dirs::places;

/// The number of keys of a MultiGet.
const BATCH: u64 = 64;

/// The ways to read all keys.
#[derive(Clone, Copy, Debug)]
enum How {
    Forwards,
    Backwards,
    Get,
    MultiGet,
}

/// The number of keys read at a time, so that memory does not grow with the number of keys.
const PART: u64 = 1 << 16;

impl Stress {
    /// Compares every key with the expected state, while no thread writes. Reads each family in every way.
    pub fn verify(&self, open: &Open) -> Outcome {
        for (family, handle) in open.families.iter().enumerate() {
            self.verify_family(&open.db, family, &handle.read())?;
        }
        self.verify_feed(open)
    }

    /// Compares every key of a family, which is `handle` in `db`, while no thread changes it.
    pub fn verify_family(&self, db: &Db, family: usize, handle: &ColumnFamily) -> Outcome {
        for start in (0..self.expected.keys()).step_by(PART as usize) {
            let keys = start..(start + PART).min(self.expected.keys());
            for how in [How::Forwards, How::Backwards, How::Get, How::MultiGet] {
                let rows = rows(db, handle, keys.clone(), how)?;
                self.compare(family, keys.clone(), rows, &format!("{how:?}"))?;
            }
        }
        Ok(())
    }

    /// Compares `rows`, in order, with the expected values of `keys`; their locks are held.
    pub fn compare(&self, family: usize, keys: Range<u64>, rows: Vec<Row>, how: &str) -> Outcome {
        let mut rows = rows.into_iter().peekable();
        for key in keys {
            let found = rows.next_if(|row| row.0 == keys::key(key)).map(|row| row.1);
            self.check(family, key, self.expected.get(family, key), found.as_deref(), how)?;
        }
        match rows.next() {
            None => Ok(()),
            Some((key, _)) => Err(Failure::Mismatch(format!(
                "column family {family}: {how} finds a key that is none or out of order: {key:02x?}"
            ))),
        }
    }

    /// Checks the files of the database, without reading rows.
    pub fn check_files(&self, open: &Open) -> Outcome {
        let found = dbtest::files::check(&open.db)?;
        if found.is_empty() {
            Ok(())
        } else {
            Err(Failure::Mismatch(found))
        }
    }

    /// Waits for background work to end, while no thread works, and reports deleted files that are still
    /// open. A secondary in the same process may have some of these open, because it reads old files until it
    /// catches up.
    pub fn check_descriptors(&self, open: &Open) -> Outcome {
        if open.secondary.is_some() || open.is_latched() {
            return Ok(());
        }
        match dbtest::files::come_to_rest(&open.db) {
            // The wait may fail: injected failures have left compactions without space, which have not
            // resumed.
            Err(error) if self.is_injected(&error.clone().into()) => return Ok(()),
            rested => rested?,
        }
        let directories = self.directories().into_iter();
        let mut open_files: Vec<String> = directories
            .flat_map(|dir| dbtest::files::deleted_but_open(&dir))
            .collect();
        if let Some((mem, is_dead)) = &self.memory {
            let count = mem.open_without_name();
            // Once the file system is dead, nothing can be closed in order.
            if count > 0 && !is_dead() {
                open_files.push(format!("{count} in memory"));
            }
        }
        match open_files.is_empty() {
            true => Ok(()),
            false => Err(Failure::Mismatch(format!(
                "deleted files are open: {open_files:?}"
            ))),
        }
    }

    /// The directories of the database's files, with those that its WALs may be in.
    fn directories(&self) -> Vec<PathBuf> {
        let options = &self.options;
        let wals = places(&self.path).into_iter().chain([options.wal_dir.clone()]);
        let named = wals.filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let tables = options.db_paths.iter().map(|place| place.path.clone());
        [self.path.clone()]
            .into_iter()
            .chain(named)
            .chain(tables)
            .collect()
    }
}

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

fn rows(db: &Db, family: &ColumnFamily, keys: Range<u64>, how: How) -> Result<Vec<Row>> {
    let options = ReadOptions {
        iterate_lower_bound: Some(keys::key(keys.start).to_vec()),
        iterate_upper_bound: Some(keys::key(keys.end).to_vec()),
        ..ReadOptions::default()
    };
    match how {
        How::Forwards => forwards(db.iter_cf_opt(family, &options)),
        How::Backwards => backwards(db.iter_cf_opt(family, &options)),
        How::Get => {
            let mut rows = Vec::new();
            for key in keys.map(keys::key) {
                if let Some(value) = db.get_cf_opt(family, key, &options)? {
                    rows.push((key.to_vec(), value));
                }
            }
            Ok(rows)
        }
        How::MultiGet => {
            let mut rows = Vec::new();
            for from in keys.clone().step_by(BATCH as usize) {
                let batch: Vec<_> = (from..keys.end.min(from + BATCH)).map(keys::key).collect();
                for (key, value) in batch.iter().zip(db.multi_get_cf_opt(family, &batch, &options)) {
                    if let Some(value) = value? {
                        rows.push((key.to_vec(), value));
                    }
                }
            }
            Ok(rows)
        }
    }
}

/// The row that an iterator is positioned on, with its value read if that was deferred; `None` at the end or
/// after an error.
pub fn row(iter: &mut DbIterator) -> Option<(&[u8], &[u8])> {
    (iter.valid() && iter.prepare_value()).then(|| (iter.key(), iter.value()))
}

/// All rows of an iterator, from the first to the last.
pub fn forwards(mut iter: DbIterator) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    iter.seek_to_first();
    while let Some((key, value)) = row(&mut iter) {
        rows.push((key.to_vec(), value.to_vec()));
        iter.next();
    }
    iter.status().map(|()| rows)
}

/// All rows of an iterator, read from the last to the first.
pub fn backwards(mut iter: DbIterator) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    iter.seek_to_last();
    while let Some((key, value)) = row(&mut iter) {
        rows.push((key.to_vec(), value.to_vec()));
        iter.prev();
    }
    rows.reverse();
    iter.status().map(|()| rows)
}
