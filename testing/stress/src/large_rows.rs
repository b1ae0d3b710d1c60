//! Rows that are a byte too long: as they are written, in ingested files, as results of merges, and as values
//! of the compaction filter.

use base::internal_key::TRAILER_LEN;
use base::{Error, ErrorKind, RowLimit};
use esker::{ColumnFamily, DbIterator, SstFileWriter, WriteBatch, WriteBatchWithIndex};

use crate::done::What;
use crate::failure::{Failure, Outcome};
use crate::keys;
use crate::outside;
use crate::verify;
use crate::worker::Worker;
use crate::writes::was_done;

/// The most keys of an ingestion with a row that is too long.
const FEW: u64 = 10;

impl Worker<'_> {
    /// Tries to get a row into the database that is too long.
    pub(super) fn large_row(&mut self) -> Outcome {
        match self.rng.u32(..8) {
            0 if !self.stress.flags.disable_wal => self.ingest_large_row(),
            1..4 => self.merge_to_large_row(),
            _ => self.write_large_row(),
        }
    }

    /// Writes a row that is a byte too long: it is refused, with everything in the same batch.
    fn write_large_row(&mut self) -> Outcome {
        let (family, key) = (self.family(), self.key());
        let handle = self.open.families[family].read();
        let large = vec![0; self.stress.options.row_limit.bytes() + 1];
        // The key is one byte too long, counting its trailer of sequence number and kind.
        let long_key = &large[..large.len() - TRAILER_LEN];
        let (db, options, name) = (&self.open.db, self.write_options(), keys::key(key));
        let written = match self.rng.u32(..8) {
            0 => db.put_cf_opt(&handle, name, &large, &options),
            1 => db.merge_cf_opt(&handle, name, &large, &options),
            2 => db.put_cf_opt(&handle, long_key, b"value", &options),
            3 => db.delete_cf_opt(&handle, long_key, &options),
            4 => db.delete_range_cf_opt(&handle, [], long_key, &options),
            5 => {
                let mut batch = self.new_batch()?;
                batch.delete_cf(&handle, &name);
                batch.put_cf(&handle, &name, &large);
                db.write_opt(batch, &options)
            }
            6 => {
                let batch = indexed(&handle, &name, &large);
                let read = batch.get_from_batch_and_db(db, &handle, name, &self.read_options());
                read.map(drop)
            }
            _ => db.write_opt(indexed(&handle, &name, &large).into_write_batch(), &options),
        };
        self.is_refused(written)
    }

    /// Success if a row was refused for its size.
    fn is_refused(&mut self, written: Result<(), impl Into<Failure>>) -> Outcome {
        match written.map_err(Into::into) {
            Err(Failure::Error(error)) if error.to_string().contains("is too large") => {
                self.done.count(What::LargeRow);
                self.stress.rare.refused_row();
                Ok(())
            }
            Err(failure) => Err(failure),
            Ok(()) => Err(Failure::Mismatch("a row that is too long was written".to_owned())),
        }
    }

    /// Writes a row that is a byte too long into a file: the writer refuses it, or the database refuses all
    /// files of the ingestion. No other row of theirs may appear, which were never written.
    fn ingest_large_row(&mut self) -> Outcome {
        let (family, start) = (self.family(), self.key());
        let end = start.saturating_add(FEW).min(self.stress.expected.keys());
        let large = self.rng.u64(start..end);
        let limited = self.rng.bool();
        let mut options = self.stress.options.clone();
        if !limited {
            options.row_limit = RowLimit::MAX;
        }
        let handle = self.open.families[family].read();
        let mut paths = Vec::new();
        for (nth, keys) in [start..large, large..end].into_iter().enumerate() {
            if keys.is_empty() {
                continue;
            }
            let path = self.stress.beside(&format!("large-{:x}-{nth}.sst", self.seed));
            let mut writer = SstFileWriter::new(&options);
            writer.open(&path)?;
            paths.push(path);
            for key in keys {
                if key != large {
                    writer.put(keys::key(key), self.stress.value(key, u32::MAX))?;
                    continue;
                }
                let value = vec![0; self.stress.options.row_limit.bytes() + 1];
                let written = writer.put(keys::key(key), value);
                if limited {
                    self.is_refused(written)?;
                } else {
                    written?;
                }
            }
            if limited && nth == 1 {
                break;
            }
            writer.finish()?;
        }
        let ingested = match limited {
            true => Ok(()),
            false => {
                let ingested = self.ingest_files(&handle, &paths, None);
                self.is_refused(ingested.map(drop))
            }
        };
        for path in paths {
            // A file that cannot be removed is replaced by the next of its name.
            let _ = self.stress.options.fs.remove(&path);
        }
        ingested
    }

    /// Merges operands into a row outside the expected state until no row can hold the result. Reads fail by
    /// name until the key is written again or deleted; the row may also stay as it is.
    fn merge_to_large_row(&mut self) -> Outcome {
        let (family, key) = (self.family(), self.key());
        let handle = self.open.families[family].read();
        let _lock = self.stress.lock(family, key);
        let name = outside::key(key);
        let found = self.read_outside(&handle, &name)?;
        // A failure, or the end of a process, may have left it in each of the states of this operation.
        if !found.as_ref().is_none_or(|found| self.is_of_outside(found)) {
            return Err(Failure::Mismatch(format!(
                "column family {family}: a row outside the expected state is {found:02x?}"
            )));
        }
        let first = self.rng.usize(..=outside::BASES.len());
        if let Some(base) = outside::BASES.get(first)
            && !self.write_outside(&handle, &name, Some(*base))?
        {
            return Ok(());
        }
        let operand = vec![outside::OPERAND; self.stress.options.row_limit.bytes() / 2 + 1];
        for _ in 0..self.rng.usize(2..4) {
            let options = self.write_options();
            let merged = self.open.db.merge_cf_opt(&handle, &name, &operand, &options);
            if was_done(&options, merged)?.is_none() {
                return Ok(());
            }
            // A flush of one family would put it ahead of the others.
            if !self.stress.options.atomic_flush && self.one_in(8) {
                self.open.db.flush_cf(std::slice::from_ref(&*handle))?;
            }
        }
        match self.read_outside(&handle, &name)? {
            Some(Row::TooLarge) => self.done.count(What::LargeMerge),
            found => {
                return Err(Failure::Mismatch(format!(
                    "column family {family}: operands that no row can hold are read as {found:02x?}"
                )));
            }
        }
        let last = self.rng.usize(..=outside::BASES.len() + 1);
        if last > outside::BASES.len() {
            return Ok(());
        }
        let value = outside::BASES.get(last).copied();
        if !self.write_outside(&handle, &name, value)? {
            return Ok(());
        }
        let found = self.read_outside(&handle, &name)?;
        if found != value.map(|value| Row::Value(value.to_vec())) {
            return Err(Failure::Mismatch(format!(
                "column family {family}: a row outside the expected state is {found:02x?}, and not {value:02x?}"
            )));
        }
        Ok(())
    }

    /// Puts `value`, or deletes the row. False if the write was refused instead of waiting.
    fn write_outside(&mut self, handle: &ColumnFamily, key: &[u8], value: Option<&[u8]>) -> Outcome<bool> {
        let (db, options) = (&self.open.db, self.write_options());
        let written = match value {
            Some(value) => db.put_cf_opt(handle, key, value, &options),
            None => db.delete_cf_opt(handle, key, &options),
        };
        Ok(was_done(&options, written)?.is_some())
    }

    /// Reads a row outside the expected state, by one of the ways to read.
    fn read_outside(&mut self, handle: &ColumnFamily, key: &[u8]) -> Outcome<Option<Row>> {
        let (db, mut options) = (&self.open.db, self.read_options());
        let found = match self.rng.u32(..4) {
            0 => db.get_cf_opt(handle, key, &options),
            1 => db
                .get_pinned_cf_opt(handle, key, &options)
                .map(|value| value.map(|value| value.to_vec())),
            2 => {
                let keys = [key, &keys::key(0)];
                let mut found = db.multi_get_cf_opt(handle, &keys, &options).into_iter();
                found.next().unwrap_or(Ok(None))
            }
            _ => {
                // The next row outside the expected state may be too long, too.
                options.iterate_upper_bound = Some([key, &[0]].concat());
                value_at(&mut db.iter_cf_opt(handle, &options), key)
            }
        };
        match found {
            Ok(value) => Ok(value.map(Row::Value)),
            Err(error) if is_too_large(&error) => Ok(Some(Row::TooLarge)),
            Err(error) => Err(error.into()),
        }
    }

    /// True if a row outside the expected state may be `row`.
    fn is_of_outside(&self, row: &Row) -> bool {
        let Row::Value(value) = row else { return true };
        let is_base = |base: &&[u8]| value.starts_with(base);
        let base = outside::BASES.into_iter().find(is_base).map_or(0, <[u8]>::len);
        let operands = &value[base..];
        value.len() <= self.stress.options.row_limit.bytes()
            && operands.iter().all(|byte| *byte == outside::OPERAND)
    }
}

/// A row outside the expected state.
#[derive(Debug, PartialEq, Eq)]
enum Row {
    Value(Vec<u8>),
    /// No row can hold the result of the merge.
    TooLarge,
}

/// True for the error of a merge whose result no row can hold.
fn is_too_large(error: &Error) -> bool {
    error.kind() == ErrorKind::MergeFailed && error.to_string().contains("value is too large")
}

/// The value that an iterator finds at `key`.
fn value_at(iter: &mut DbIterator, key: &[u8]) -> esker::Result<Option<Vec<u8>>> {
    iter.seek(key);
    let found = verify::row(iter).and_then(|(found, value)| (found == key).then(|| value.to_vec()));
    iter.status().map(|()| found)
}

/// An indexed batch with a row that is too long.
fn indexed(handle: &ColumnFamily, key: &[u8], large: &[u8]) -> WriteBatchWithIndex {
    let mut batch = WriteBatch::new();
    batch.delete_cf(handle, key);
    let mut indexed = WriteBatchWithIndex::from(batch);
    indexed.put_cf(handle, key, large);
    indexed
}
