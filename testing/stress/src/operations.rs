//! The operations of a thread, drawn one after the other.

use base::ErrorKind;
use esker::{
    CheckpointOptions, ColumnFamily, ColumnFamilyOptions, CompactFilesOptions, CompressionType,
    FileChecksumGenFactory, FlushOptions, ReadOptions, ReadTier, Temperature,
};

use crate::done::What;
use crate::expected_value::{ExpectedValue, Window};
use crate::failure::{Failure, Outcome};
use crate::keys;
use crate::stress::{is_called_off, is_collision};
use crate::trace::{Change, Trace};
use crate::verify;
use crate::worker::{BATCH, HeldSnapshot, SCAN_WIDTH, Worker};

impl<'a> Worker<'a> {
    /// Does `operations`, or as many as possible before a failure or until the database must be reopened, and
    /// returns their number. `progress` is called after every thousand.
    pub fn run(&mut self, operations: u64, progress: &dyn Fn(u64)) -> Outcome<u64> {
        const STEP: u64 = 1000;
        let mut outcome = Ok(());
        while outcome.is_ok()
            && self.at < operations
            && !self.stress.failed()
            && !self.stress.is_interrupted()
        {
            self.at += 1;
            if self.at.is_multiple_of(STEP) {
                progress(STEP);
            }
            self.changing = false;
            outcome = self.survive(|worker| worker.maintain().and_then(|()| worker.operate()));
            outcome = outcome.or_else(|failure| self.excuse(failure));
        }
        progress(self.at % STEP);
        outcome?;
        self.changing = false;
        while let Some(held) = self.snapshots.pop_front() {
            self.survive(|worker| worker.release(held))
                .or_else(|failure| self.excuse(failure))?;
        }
        Ok(self.at)
    }

    /// Does the occasional work besides the operations.
    fn maintain(&mut self) -> Outcome {
        let flags = &self.stress.flags;
        let (flush, range, files, clear, snapshot, sync, checksum, file_checksums, checkpoint) = (
            flags.flush_one_in,
            flags.compact_range_one_in,
            flags.compact_files_one_in,
            flags.clear_column_family_one_in,
            flags.acquire_snapshot_one_in,
            flags.sync_wal_one_in,
            flags.verify_checksum_one_in,
            flags.verify_file_checksums_one_in,
            flags.checkpoint_one_in,
        );
        if self.one_in(flush) {
            self.flush()?;
        }
        if self.one_in(range) {
            self.compact_range()?;
        }
        if self.one_in(files) {
            self.compact_files()?;
        }
        if self.one_in(clear) {
            self.changing = true;
            self.clear_family()?;
            self.changing = false;
        }
        if self.one_in(self.stress.flags.large_row_one_in) {
            self.large_row()?;
        }
        if self.one_in(self.stress.flags.ingest_external_file_one_in) {
            self.ingest()?;
            self.changing = false;
        }
        if self.one_in(sync) {
            let upto = self.open.db.latest_sequence_number();
            self.open.db.sync_wal()?;
            // The sync of a WAL that no write uses promises nothing.
            if !self.stress.flags.disable_wal {
                self.stress.promised(None, upto)?;
            }
            self.done.count(What::SyncWal);
        }
        self.ask()?;
        if self.one_in(checksum) {
            let options = self.read_options();
            self.open.db.verify_checksum_opt(&options)?;
            self.done.count(What::VerifyChecksum);
        }
        if self.one_in(file_checksums) {
            self.verify_file_checksums()?;
        }
        if self.one_in(checkpoint) {
            self.checkpoint()?;
        }
        if self.one_in(self.stress.flags.set_cache_capacity_one_in) {
            self.set_cache_capacity();
        }
        self.control()?;
        if self.one_in(self.stress.flags.backup_one_in) {
            self.backup()?;
        }
        if self.one_in(self.stress.flags.export_column_family_one_in) {
            self.export()?;
        }
        if self.one_in(self.stress.flags.secondary_catch_up_one_in) {
            self.check_secondary()?;
        }
        if self.one_in(self.stress.flags.open_read_only_one_in) {
            self.open_read_only()?;
        }
        if self.one_in(snapshot) {
            self.acquire()?;
        }
        while self
            .snapshots
            .front()
            .is_some_and(|held| held.release_at <= self.at)
        {
            if let Some(held) = self.snapshots.pop_front() {
                self.release(held)?;
            }
        }
        Ok(())
    }

    fn operate(&mut self) -> Outcome {
        let flags = &self.stress.flags;
        let shares = [
            flags.readpercent,
            flags.prefixpercent,
            flags.writepercent,
            flags.delpercent,
            flags.delrangepercent,
        ];
        let mut draw = self.rng.i32(0..100);
        let drawn = shares.iter().position(|share| {
            draw -= share;
            draw < 0
        });
        self.changing = matches!(drawn, Some(2..=4));
        match drawn {
            Some(0) => self.read(),
            Some(1) => self.scan_prefix(),
            Some(2) => self.write(),
            Some(3) => self.delete(),
            Some(4) => self.delete_range(),
            _ => self.iterate(),
        }
    }

    fn read(&mut self) -> Outcome {
        let mut options = self.read_options();
        // Now and then the read uses memory alone: it then returns the value, or that the value is not in
        // memory.
        options.read_tier = match self.rng.u32(..20) {
            0 => ReadTier::BlockCache,
            1 => ReadTier::Memtable,
            _ => options.read_tier,
        };
        let in_memory = options.read_tier != ReadTier::All;
        match self.read_by(options) {
            Err(Failure::Error(error)) if in_memory && error.kind() == ErrorKind::Incomplete => Ok(()),
            outcome => outcome,
        }
    }

    fn read_by(&mut self, mut options: ReadOptions) -> Outcome {
        let many = self.stress.flags.use_multiget && self.rng.bool();
        let family = self.family();
        let keys: Vec<u64> = (0..if many { BATCH } else { 1 }).map(|_| self.key()).collect();
        // At one moment, a MultiGet and Gets return the same.
        let flags = &self.stress.flags;
        let compares = flags.check_multiget_consistency && !flags.changes_snapshots();
        let twice = many && compares && self.rng.bool();
        let expected = |key: &u64| self.stress.expected.get(family, *key);
        let before: Vec<ExpectedValue> = keys.iter().map(expected).collect();
        let found: Vec<Option<Vec<u8>>> = {
            let handle = self.open.families[family].read();
            let (db, names) = (&self.open.db, keys.iter().map(|&key| keys::key(key)));
            if many && self.stress.flags.use_multi_get_entity && self.rng.bool() {
                self.read_entities(&options, family, &handle, &keys)?
            } else if many {
                let names: Vec<_> = names.collect();
                options.snapshot = twice.then(|| db.snapshot());
                let values = db.multi_get_cf_opt(&handle, &names, &options).into_iter();
                let found = values.collect::<base::Result<Vec<_>>>()?;
                for (at, name) in names.iter().enumerate().filter(|_| twice) {
                    if db.get_cf_opt(&handle, name, &options)? != found[at] {
                        return Err(Failure::Mismatch(format!(
                            "{}: a MultiGet finds {:02x?}, a Get at the same snapshot does not",
                            self.stress.name(family, keys[at]),
                            found[at]
                        )));
                    }
                }
                found
            } else if self.stress.flags.use_get_entity && self.rng.bool() {
                self.read_entities(&options, family, &handle, &keys)?
            } else if self.rng.bool() {
                let values = names.map(|key| db.get_cf_opt(&handle, key, &options));
                values.collect::<base::Result<_>>()?
            } else {
                let values = names.map(|key| db.get_pinned_cf_opt(&handle, key, &options));
                let copied = values.map(|value| Ok(value?.map(|value| value.to_vec())));
                copied.collect::<base::Result<_>>()?
            }
        };
        let after: Vec<ExpectedValue> = keys.iter().map(expected).collect();
        self.done.count(if many { What::MultiGet } else { What::Get });
        for (at, &key) in keys.iter().enumerate() {
            let window = Window {
                before: before[at],
                after: after[at],
            };
            let write = match &found[at] {
                None if window.may_be_absent() => continue,
                None => None,
                Some(value) => Some(self.stress.write_of(family, key, value)?),
            };
            if write.is_none_or(|write| !window.may_hold(write)) {
                return Err(Failure::Mismatch(format!(
                    "{}: a read finds {write:?}, which was there at no moment of {window:?}",
                    self.stress.name(family, key)
                )));
            }
        }
        Ok(())
    }

    fn scan_prefix(&mut self) -> Outcome {
        let bytes = (keys::KEY_LEN as u32).saturating_sub(self.stress.flags.prefix_size.max(0) as u32);
        let (family, key) = (self.family(), self.key());
        // The number of keys with the prefix, or of all keys if the prefix is empty.
        let width = 1u64.checked_shl(8 * bytes).unwrap_or(u64::MAX);
        let start = key / width * width;
        let end = start.saturating_add(width).min(self.stress.expected.keys());
        // A scan visits only some of the keys if there are many; its bound is the end of the prefix only if
        // it visits all of them.
        let all = end - start <= PREFIX_WIDTH;
        let keys = if all {
            start..end
        } else {
            key..end.min(key + PREFIX_WIDTH)
        };
        let has_prefixes = self.stress.options.column_family.prefix_extractor.is_some();
        let by_prefix = all && has_prefixes && self.rng.bool();
        let options = match by_prefix {
            true => ReadOptions {
                prefix_same_as_start: true,
                // The empty prefix is also that of the keys outside the expected state.
                iterate_upper_bound: (self.stress.flags.prefix_size == 0)
                    .then(|| keys::key(self.stress.expected.keys()).to_vec()),
                ..self.read_options()
            },
            false => self.bounded(&keys),
        };
        let (mut iter, seen) = self.see(family, keys, |handle| self.open.db.iter_cf_opt(handle, &options))?;
        self.done.count(What::Prefix);
        if !by_prefix {
            return self.compare(iter, &seen, "a scan of a prefix");
        }
        iter.seek(&keys::key(start));
        for (key, write) in seen.rows() {
            let found = verify::row(&mut iter);
            if found != Some((&keys::key(key)[..], &self.stress.value(key, write)[..])) {
                let (name, found) = (self.stress.name(family, key), format!("{found:02x?}"));
                // A scan that failed ends early.
                iter.status()?;
                return Err(Failure::Mismatch(format!(
                    "{name}: a scan of its prefix finds {found}, expected is write {write}"
                )));
            }
            iter.next();
        }
        let more = iter.valid().then(|| iter.key().to_vec());
        iter.status()?;
        match more {
            Some(key) => Err(Failure::Mismatch(format!(
                "column family {family}: a scan of a prefix goes on to {key:02x?}"
            ))),
            None => Ok(()),
        }
    }

    fn acquire(&mut self) -> Outcome {
        let (family, start) = (self.family(), self.key());
        let keys = start..(start + SCAN_WIDTH).min(self.stress.expected.keys());
        let take = |handle: &ColumnFamily| (self.open.db.snapshot(), handle.clone());
        let ((snapshot, handle), seen) = self.see(family, keys, take)?;
        let flags = &self.stress.flags;
        // Snapshots are released in the order in which they were taken.
        let hold = match flags.long_running_snapshots && self.rng.u32(..8) == 0 {
            true => flags.snapshot_hold_ops.saturating_mul(10),
            false => flags.snapshot_hold_ops,
        };
        self.snapshots.push_back(HeldSnapshot {
            release_at: self.at.saturating_add(hold),
            snapshot,
            handle,
            seen,
        });
        self.done.count(What::Snapshot);
        Ok(())
    }

    /// Checks that a snapshot still shows what it showed when it was taken, and releases it.
    fn release(&mut self, held: HeldSnapshot) -> Outcome {
        let HeldSnapshot {
            snapshot,
            handle,
            seen,
            ..
        } = held;
        let options = ReadOptions {
            snapshot: Some(snapshot.clone()),
            ..self.read_options()
        };
        for (key, &expected) in seen.keys.clone().zip(&seen.values) {
            let found = self.open.db.get_cf_opt(&handle, keys::key(key), &options)?;
            self.stress
                .check(seen.family, key, expected, found.as_deref(), "a snapshot")?;
        }
        let options = ReadOptions {
            snapshot: Some(snapshot),
            ..self.bounded(&seen.keys)
        };
        let iter = self.open.db.iter_cf_opt(&handle, &options);
        self.compare(iter, &seen, "a scan of a snapshot")
    }

    fn flush(&mut self) -> Outcome {
        // A family that is flushed without the others would be ahead of them.
        let families = match self.rng.bool() || self.stress.options.atomic_flush {
            true => 0..self.open.families.len(),
            false => {
                let family = self.family();
                family..family + 1
            }
        };
        let upto = self.open.db.latest_sequence_number();
        let handles: Vec<ColumnFamily> = families
            .clone()
            .map(|family| self.open.families[family].read().clone())
            .collect();
        self.done.count(What::Flush);
        let options = FlushOptions {
            allow_write_stall: self.rng.bool(),
            force_atomic_flush: self.rng.bool(),
            ..FlushOptions::default()
        };
        match self.open.db.flush_cf_opt(&handles, &options) {
            // The family was cleared meanwhile.
            Err(error) if error.kind() == esker::ErrorKind::ColumnFamilyDropped => return Ok(()),
            outcome => outcome?,
        }
        families
            .into_iter()
            .try_for_each(|family| self.stress.promised(Some(family), upto))
    }

    /// Makes a checkpoint while some keys are locked, opens it, and checks these keys.
    fn checkpoint(&mut self) -> Outcome {
        let (family, start) = (self.family(), self.key());
        let keys = start..(start + SCAN_WIDTH).min(self.stress.expected.keys());
        let name = format!("checkpoint-{:x}", self.seed);
        let options = CheckpointOptions {
            log_size_for_flush: [0, u64::MAX][self.rng.usize(..2)],
        };
        let make = |handle: &ColumnFamily| {
            let made = self.stress.make_checkpoint(&self.open.db, &name, &options);
            (made, handle.name().to_owned())
        };
        let ((made, handle), seen) = self.see(family, keys, make)?;
        self.done.count(What::Checkpoint);
        let checkpoint = self.stress.open_checkpoint(made?)?;
        let options = self.bounded(&seen.keys);
        let Some(handle) = checkpoint.db.column_family(&handle) else {
            return Err(Failure::Mismatch(format!("a checkpoint has no family {handle}")));
        };
        let iter = checkpoint.db.iter_cf_opt(&handle, &options);
        self.compare(iter, &seen, "a scan of a checkpoint")?;
        drop(handle);
        self.stress.remove_checkpoint(checkpoint)
    }

    fn verify_file_checksums(&mut self) -> Outcome {
        let db = &self.open.db;
        if db.options().file_checksum_gen_factory != FileChecksumGenFactory::None {
            db.verify_file_checksums()?;
            self.done.count(What::VerifyFileChecksums);
        }
        Ok(())
    }

    fn compact_files(&mut self) -> Outcome {
        let family = self.family();
        let handle = self.open.families[family].read();
        let mut files = self.open.db.live_files();
        files.retain(|file| file.column_family == handle.name());
        if files.is_empty() {
            return Ok(());
        }
        // The compaction gets a few neighbouring files, so that their key ranges are likely to overlap.
        let from = self.rng.usize(..files.len());
        let until = self.rng.usize(from..files.len()) + 1;
        let chosen = &files[from..until.min(from + BATCH)];
        let lowest = chosen.iter().map(|file| file.level).max().unwrap_or(0);
        let numbers: Vec<u64> = chosen.iter().map(|file| file.number).collect();
        let levels = handle.options().num_levels as usize;
        let output_level = self.rng.usize(lowest..levels.min(lowest + 2));
        let options = CompactFilesOptions {
            output_file_size_limit: self.rng.bool().then_some(64 << 10),
            allow_trivial_move: self.rng.bool(),
            max_subcompactions: self.rng.u32(..4),
            compression: self.rng.bool().then_some(CompressionType::None),
            output_temperature_override: self.rng.bool().then_some(Temperature::COLD),
            ..CompactFilesOptions::default()
        };
        self.done.count(What::CompactFiles);
        match self
            .open
            .db
            .compact_files(&handle, &numbers, output_level, &options)
        {
            Err(error) if !is_collision(&error) && !is_called_off(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Drops a family and creates an empty one in its place.
    fn clear_family(&mut self) -> Outcome {
        let family = self.family();
        // The default family cannot be dropped.
        if family == 0 {
            return Ok(());
        }
        let keys = 0..self.stress.expected.keys();
        let mut handle = self.open.families[family].write();
        let _locks = self.stress.lock_range(family, keys.start, keys.end);
        let all = self.begin_delete(family, keys)?;
        let (index, generation) = handle.name().split_once('.').unwrap_or_default();
        let generation: u64 = generation.parse().unwrap_or(0);
        let name = format!("{index}.{}", generation + 1);
        let options: &ColumnFamilyOptions = &self.stress.options.column_family;
        let db = &self.open.db;
        let trace = self.stress.expected.trace();
        let begin = |trace: &Trace| trace.begin(db.latest_sequence_number(), &[Change::Clear { family }]);
        let operation = trace.map(begin).transpose()?;
        self.stress.families.forget(handle.id());
        let made_anew = db
            .drop_column_family(&handle)
            .and_then(|()| db.create_column_family(&name, options));
        *handle = match made_anew {
            Ok(created) => created,
            Err(error) => {
                // The expected state is changed before the handle is released: the other threads see the
                // family as dropped until the database is reopened.
                if self.stress.faults.is_some() {
                    self.stress.interrupt();
                }
                return Err(error.into());
            }
        };
        if let (Some(trace), Some(operation)) = (trace, operation) {
            trace.end(operation, db.latest_sequence_number())?;
        }
        self.finish_delete(family, 0, &all)?;
        self.stress.families.know(handle.id(), family);
        self.done.count(What::ClearFamily);
        Ok(())
    }
}

/// The number of keys that a scan of a prefix visits.
const PREFIX_WIDTH: u64 = 512;
