//! Ingestion: some keys are written into tables, which the database then ingests.

use std::path::PathBuf;

use esker::{ColumnFamily, IngestExternalFileArg, IngestExternalFileOptions, RangeOpt, SstFileWriter};

use crate::done::What;
use crate::expected_value::ExpectedValue;
use crate::failure::Outcome;
use crate::keys;
use crate::trace::Change;
use crate::worker::Worker;

/// The most files of an ingestion.
const FILES: usize = 3;

impl Worker<'_> {
    /// Writes keys of a range into some files, perhaps with a last file that deletes them all, and ingests
    /// the files.
    pub(super) fn ingest(&mut self) -> Outcome {
        let flags = &self.stress.flags;
        let (width, delete_one_in, behind_one_in) = (
            flags.ingest_external_file_width.max(1) as u64,
            flags.test_ingest_standalone_range_deletion_one_in,
            flags.ingest_behind_one_in,
        );
        if self.stress.options.allow_ingest_behind && self.one_in(behind_one_in) {
            return self.ingest_behind(width);
        }
        let (family, start) = (self.family(), self.key());
        let range = start..start.saturating_add(width).min(self.stress.expected.keys());
        let deletes = self.one_in(delete_one_in);
        // A replacement removes every key of the range, also those that other threads may write.
        let replaces = !deletes
            && self.one_in(self.stress.flags.ingest_replace_range_one_in)
            && !range.clone().any(|key| self.stress.is_single(key));
        let handle = self.open.families[family].read();
        let _locks = self.stress.lock_range(family, range.start, range.end);
        let mut pending: Vec<(u64, ExpectedValue)> = Vec::new();
        for key in range.clone() {
            let expected = self.settled(family, key)?;
            // A key that is written only while absent may or may not exist when the file is ingested.
            match deletes {
                true => pending.push((key, expected.begin_delete())),
                false if self.stress.is_single(key) => {}
                false => pending.push((key, expected.begin_write())),
            }
        }
        if pending.is_empty() {
            return Ok(());
        }
        let files = self.write_files(&handle, &pending, deletes.then_some(range.end))?;
        let changes: Vec<Change> = match deletes {
            true => vec![Change::DeleteRange {
                family,
                start: range.start,
                end: range.end,
            }],
            false => {
                let set = |&(key, value): &(u64, ExpectedValue)| Change::Set {
                    family,
                    key,
                    value: value.settle(),
                };
                pending.iter().map(set).collect()
            }
        };
        self.changing = true;
        for &(key, value) in &pending {
            self.stress.expected.set(family, key, value)?;
        }
        let db = &self.open.db;
        let trace = self.stress.expected.trace();
        let operation = match trace {
            Some(trace) => Some(trace.begin(db.latest_sequence_number(), &changes)?),
            None => None,
        };
        let replaced = replaces.then(|| RangeOpt {
            start: Some(keys::key(range.start).to_vec()),
            limit: Some(keys::key(range.end).to_vec()),
        });
        let seqno = self.ingest_files(&handle, &files, replaced)?;
        if let (Some(trace), Some(operation)) = (trace, operation) {
            trace.end(operation, seqno)?;
            self.stress.promised(None, seqno)?;
        }
        for &(key, value) in &pending {
            self.stress.expected.set(family, key, value.settle())?;
        }
        for file in files {
            // Files that were copied are removed. A file that cannot be removed is replaced by the next of
            // its name.
            let _ = self.stress.options.fs.remove(&file);
        }
        self.done.count(match replaces {
            true => What::IngestReplace,
            false => What::Ingest,
        });
        Ok(())
    }

    /// Writes `pending` into up to three files, followed by a file that deletes the range up to `deleted_to`.
    fn write_files(
        &mut self,
        handle: &ColumnFamily,
        pending: &[(u64, ExpectedValue)],
        deleted_to: Option<u64>,
    ) -> Outcome<Vec<PathBuf>> {
        let options = &self.stress.options;
        // Another thread must not write a key that is written only while absent, even if the ingestion
        // deletes it at once.
        let written = pending.iter().filter(|(key, _)| !self.stress.is_single(*key));
        let written: Vec<_> = written.copied().collect();
        let count = self.rng.usize(1..=FILES).min(written.len());
        let mut writers = Vec::new();
        let mut paths = Vec::new();
        for nth in 0..count + usize::from(deleted_to.is_some()) {
            let path = self.stress.beside(&format!("ingest-{:x}-{nth}.sst", self.seed));
            let mut writer = match self.rng.bool() {
                true => SstFileWriter::for_column_family(options, handle),
                false => SstFileWriter::new(options),
            };
            writer.open(&path)?;
            writers.push(writer);
            paths.push(path);
        }
        // Each file has a part of the range, or all files spread over the whole range.
        let apart = self.rng.bool();
        for (at, &(key, value)) in written.iter().enumerate() {
            let writer = match apart {
                true => at * count / written.len(),
                false => at % count,
            };
            let name = keys::key(key);
            let bytes = self.stress.value(key, value.settle().write());
            let merges = self.stress.flags.use_merge && self.rng.u32(..4) == 0;
            match merges {
                true => writers[writer].merge(&name, &bytes)?,
                false => writers[writer].put(&name, &bytes)?,
            }
        }
        if let (Some(end), Some(&(start, _)), Some(last)) = (deleted_to, pending.first(), writers.last_mut())
        {
            last.delete_range(&keys::key(start), &keys::key(end))?;
        }
        for writer in &mut writers {
            writer.finish()?;
        }
        Ok(paths)
    }

    /// Ingests `files`, in place of every row of `replaced`, if that is a range.
    pub(super) fn ingest_files(
        &mut self,
        handle: &ColumnFamily,
        files: &[PathBuf],
        replaced: Option<RangeOpt>,
    ) -> Outcome<u64> {
        let (move_files, link_files) = [(true, false), (false, true), (false, false)][self.rng.usize(..3)];
        let options = IngestExternalFileOptions {
            move_files,
            link_files,
            verify_checksums_before_ingest: self.rng.bool(),
            verify_checksums_readahead_size: if self.rng.bool() { 1 << 20 } else { 0 },
            write_global_seqno: self.rng.u32(..8) == 0,
            fill_cache: self.rng.u32(..4) == 0,
            snapshot_consistency: replaced.is_none(),
            ..IngestExternalFileOptions::default()
        };
        let arg = |files: &[PathBuf]| IngestExternalFileArg::new(handle, files, options.clone());
        let db = &self.open.db;
        if replaced.is_some() {
            let arg = IngestExternalFileArg {
                atomic_replace_range: replaced,
                ..arg(files)
            };
            return Ok(db.ingest_external_files(&[arg])?);
        }
        let phases = self.stress.flags.ingest_external_file_prepare_commit_one_in;
        if !self.one_in(phases) {
            return Ok(db.ingest_external_files(&[arg(files)])?);
        }
        let each = if self.rng.bool() { 1 } else { files.len() };
        let handles = files
            .chunks(each)
            .map(|files| db.prepare_file_ingestion(&[arg(files)]));
        let mut handles = handles.collect::<base::Result<Vec<_>>>()?;
        if self.rng.u32(..8) == 0 {
            // The files are prepared once more.
            handles.drain(..).try_for_each(|handle| handle.abort())?;
            handles.push(db.prepare_file_ingestion(&[arg(files)])?);
        }
        Ok(db.commit_file_ingestion_handles(handles)?)
    }
}
