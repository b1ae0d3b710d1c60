//! Changes of options, and pauses and cancellations of background work, while the threads work: no reader may
//! notice.

use esker::option_table::OptionTable;
use esker::{BlockBasedOptions, ColumnFamilyOptions, CompactionStyle, Error, ErrorKind, Options};

use crate::done::What;
use crate::failure::{Failure, Outcome};
use crate::keys;
use crate::stress::is_called_off;
use crate::worker::Worker;

/// Reads while background work, or manual compactions, are paused.
const MEANWHILE: usize = 20;

impl Worker<'_> {
    /// Calls a maintenance function of the engine now and then, as the flags ask.
    pub(super) fn control(&mut self) -> Outcome {
        let flags = &self.stress.flags;
        let (flush_wal, lock_wal) = (flags.manual_wal_flush_one_in, flags.lock_wal_one_in);
        let (options, pause, manual, abort, promote) = (
            flags.set_options_one_in,
            flags.pause_background_one_in,
            flags.disable_manual_compaction_one_in,
            flags.abort_and_resume_compactions_one_in,
            flags.promote_l0_one_in,
        );
        if self.one_in(flush_wal) {
            self.flush_wal()?;
        }
        if self.one_in(lock_wal) {
            self.lock_wal()?;
        }
        if self.one_in(options) {
            self.set_options()?;
        }
        if self.one_in(pause) {
            self.open.db.pause_background_work()?;
            let read = self.read_some();
            self.open.db.continue_background_work()?;
            self.done.count(What::Pause);
            read?;
        }
        if self.one_in(manual) {
            self.open.db.disable_manual_compaction();
            let read = self.read_some();
            self.open.db.enable_manual_compaction()?;
            self.done.count(What::DisableManual);
            read?;
        }
        if self.one_in(abort) {
            self.open.db.abort_all_compactions();
            let read = self.read_some();
            self.open.db.resume_all_compactions()?;
            self.done.count(What::AbortCompactions);
            read?;
        }
        if self.one_in(promote) {
            self.promote()?;
        }
        Ok(())
    }

    fn flush_wal(&mut self) -> Outcome {
        let (sync, upto) = (self.rng.bool(), self.open.db.latest_sequence_number());
        self.open.db.flush_wal(sync)?;
        // Data that is flushed without a sync may be lost with the power, and the sync of a WAL that no write
        // uses promises nothing.
        if sync && !self.stress.flags.disable_wal {
            self.stress.promised(None, upto)?;
        }
        self.done.count(What::FlushWal);
        Ok(())
    }

    /// Locks the WAL for a moment, and checks that no write happens in that time.
    fn lock_wal(&mut self) -> Outcome {
        self.open.db.lock_wal()?;
        let before = self.open.db.latest_sequence_number();
        let read = self.read_some();
        let after = self.open.db.latest_sequence_number();
        self.open.db.unlock_wal()?;
        self.done.count(What::LockWal);
        read?;
        if before != after {
            return Err(Failure::Mismatch(format!(
                "the last row is {after} under a lock of the WAL that was taken when it was {before}"
            )));
        }
        Ok(())
    }

    /// Reads from the default family, which is never cleared: a thread that waits to clear another family may
    /// wait for a thread that waits for the paused work.
    fn read_some(&mut self) -> Outcome {
        // A read that panics must not keep the paused work from being resumed.
        self.survive(|worker| {
            let family = worker.open.db.default_column_family();
            for _ in 0..MEANWHILE {
                let (key, options) = (keys::key(worker.key()), worker.read_options());
                worker.open.db.get_cf_opt(&family, key, &options)?;
            }
            Ok(())
        })
    }

    /// Changes an option that can be changed to a value of its domain. A value that contradicts other options
    /// is refused.
    fn set_options(&mut self) -> Outcome {
        let of_tables = drawable::<BlockBasedOptions>();
        let of_families: Vec<_> = drawable::<ColumnFamilyOptions>();
        let of_database = drawable::<Options>();
        let all = [&of_families[..], &of_tables[..], &of_database[..]].concat();
        let at = self.rng.usize(..all.len());
        let (name, domain) = all[at];
        let value = domain[self.rng.usize(..domain.len())];
        self.done.count(What::SetOptions);
        let result = if at >= of_families.len() + of_tables.len() {
            self.open.db.set_db_options(&[(name, value)])
        } else {
            let family = self.family();
            let handle = self.open.families[family].read();
            // `ttl` is not changed with FIFO compaction: the verification would miss data that is dropped for
            // its age.
            if name == "ttl" && handle.options().compaction_style == CompactionStyle::Fifo {
                return Ok(());
            }
            self.open.db.set_options(&handle, &[(name, value)])
        };
        match result {
            Err(error) if !is_refused(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn promote(&mut self) -> Outcome {
        let (family, key) = (self.family(), keys::key(self.key()));
        let handle = self.open.families[family].read();
        self.done.count(What::Promote);
        if self.rng.bool() {
            return Ok(self.open.db.suggest_compact_range(&handle, Some(&key), None)?);
        }
        if self.rng.bool() {
            let mut files = self.open.db.live_files();
            files.retain(|file| file.column_family == handle.name() && self.rng.bool());
            let numbers: Vec<u64> = files.iter().map(|file| file.number).collect();
            return Ok(self.open.db.suggest_compact_files(&handle, &numbers)?);
        }
        let level = self.rng.usize(..=handle.options().num_levels as usize);
        match self.open.db.promote_l0(&handle, level) {
            Err(error) if !is_refused(&error) && !is_called_off(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// The options that can be changed and have a domain, with their domains.
fn drawable<S: OptionTable>() -> Vec<(&'static str, &'static [&'static str])> {
    let rows = S::rows()
        .iter()
        .filter(|row| row.mutable && !row.domain.is_empty());
    rows.map(|row| (row.name, row.domain)).collect()
}

fn is_refused(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::NotSupported)
}
