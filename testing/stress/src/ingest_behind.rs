//! Files that are ingested behind all data: their rows are visible only where no entry ever was.

use esker::{ErrorKind, IngestExternalFileArg, IngestExternalFileOptions, SstFileWriter};

use crate::done::What;
use crate::expected_value::ExpectedValue;
use crate::failure::Outcome;
use crate::keys;
use crate::worker::Worker;

impl Worker<'_> {
    /// Writes up to `width` keys, from a random one on, into a file that is ingested behind all others. Rows
    /// of keys that were never written become visible. Other keys keep their state: the file has unwritten
    /// values for them. An ingestion without a place is refused.
    pub(super) fn ingest_behind(&mut self, width: u64) -> Outcome {
        let (family, start) = (self.family(), self.key());
        let range = start..start.saturating_add(width).min(self.stress.expected.keys());
        let handle = self.open.families[family].read();
        let _locks = self.stress.lock_range(family, range.start, range.end);
        // A row is hidden by a deletion that certainly covers it: one made since the database was opened, in
        // a family that is not cleared meanwhile.
        let forgets = self.stress.flags.clear_column_family_one_in > 0;
        let when_opened = self.stress.when_opened.read();
        let may_show = |key, expected: ExpectedValue| {
            !expected.exists()
                && (forgets || when_opened[self.stress.expected.index(family, key)] == expected)
        };
        let mut shown: Vec<(u64, ExpectedValue)> = Vec::new();
        let mut rows: Vec<(u64, u32)> = Vec::new();
        for key in range {
            let expected = self.settled(family, key)?;
            let written = expected.begin_write();
            // A key that single deletions delete is left out: after a deletion there may be no entry that
            // hides the row of the file.
            match self.stress.is_single(key) {
                true => {}
                false if expected == ExpectedValue::NEVER => {
                    shown.push((key, written));
                    rows.push((key, written.settle().write()));
                }
                false if may_show(key, expected) => {}
                false => rows.push((key, written.settle().next_write())),
            }
        }
        drop(when_opened);
        if rows.is_empty() {
            return Ok(());
        }
        let path = self.stress.beside(&format!("behind-{:x}.sst", self.seed));
        let mut writer = SstFileWriter::new(&self.stress.options);
        writer.open(&path)?;
        for &(key, write) in &rows {
            writer.put(&keys::key(key), &self.stress.value(key, write))?;
        }
        writer.finish()?;
        self.changing = true;
        for &(key, written) in &shown {
            self.stress.expected.set(family, key, written)?;
        }
        let (move_files, link_files) = [(true, false), (false, true), (false, false)][self.rng.usize(..3)];
        let options = IngestExternalFileOptions {
            ingest_behind: true,
            move_files,
            link_files,
            verify_checksums_before_ingest: self.rng.bool(),
            ..IngestExternalFileOptions::default()
        };
        let arg = IngestExternalFileArg::new(&handle, std::slice::from_ref(&path), options);
        let ingested = match self.open.db.ingest_external_files(&[arg]) {
            Ok(_) => true,
            // The last level has a file in this key range, or the family does not allow files to be ingested
            // behind.
            Err(error) if error.kind() == ErrorKind::InvalidArgument => false,
            Err(error) => return Err(error.into()),
        };
        for &(key, written) in &shown {
            let now = match ingested {
                true => written.settle(),
                false => written.roll_back(),
            };
            self.stress.expected.set(family, key, now)?;
        }
        // If the file was moved, it no longer exists here; a file that cannot be removed is replaced by the
        // next of its name.
        let _ = self.stress.options.fs.remove(&path);
        if ingested {
            self.done.count(What::IngestBehind);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use esker::WriteOptions;

    use super::*;
    use crate::expected_state::ExpectedState;
    use crate::flags::Flags;
    use crate::stress::Stress;

    #[test]
    fn what_was_absent_when_the_database_was_opened_hides_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let flags = Flags {
            max_key: 2,
            column_families: 1,
            nooverwritepercent: 0,
            clear_column_family_one_in: 0,
            compaction_style: 1,
            ..Flags::default()
        };
        let mut options = flags.options().unwrap();
        options.create_if_missing = true;
        options.allow_ingest_behind = true;
        let expected = Arc::new(ExpectedState::in_memory(1, 2, false));
        // In the first family the row and its deletion were lost when the family was cleared.
        let deleted = ExpectedValue::NEVER
            .begin_write()
            .settle()
            .begin_delete()
            .settle();
        expected.set(0, 1, deleted).unwrap();
        let stress = Stress::new(flags, options, dir.path().join("db"), expected.clone());
        let open = stress.open(false).unwrap();
        stress.recover(&open).unwrap();
        // In the second family the row and its deletion exist.
        let family = open.db.default_column_family();
        let write = WriteOptions::default();
        open.db
            .put_cf_opt(&family, keys::key(0), stress.value(0, 1), &write)
            .unwrap();
        open.db.delete_cf_opt(&family, keys::key(0), &write).unwrap();
        expected.set(0, 0, deleted).unwrap();
        let mut worker = Worker::new(&stress, &open, 1);
        while worker.done.to_string().is_empty() {
            worker.ingest_behind(2).unwrap();
        }
        stress.verify(&open).unwrap();
    }
}
