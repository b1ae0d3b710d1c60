//! Options changed, and background work held and called off, while everything goes on: nobody who reads is to notice.

use esker::option_table::OptionTable;
use esker::{BlockBasedOptions, ColumnFamilyOptions, CompactionStyle, Error, ErrorKind, Options};

use crate::done::What;
use crate::keys;
use crate::stress::{Failure, Outcome};
use crate::worker::Worker;

/// Reads while background work, or manual compactions, are held.
const MEANWHILE: usize = 20;

impl Worker<'_> {
    /// What is done to the engine itself now and then.
    pub(super) fn control(&mut self) -> Outcome {
        let flags = &self.stress.flags;
        let (flush_wal, lock_wal) = (flags.manual_wal_flush_one_in, flags.lock_wal_one_in);
        let (options, pause, manual, promote) = (
            flags.set_options_one_in,
            flags.pause_background_one_in,
            flags.disable_manual_compaction_one_in,
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
        if self.one_in(promote) {
            self.promote()?;
        }
        Ok(())
    }

    fn flush_wal(&mut self) -> Outcome {
        let (sync, upto) = (self.rng.bool(), self.open.db.latest_sequence_number());
        self.open.db.flush_wal(sync)?;
        // What is flushed alone may go with the power, and of a WAL nobody writes to a sync says nothing.
        if sync && !self.stress.flags.disable_wal {
            self.stress.promised(None, upto)?;
        }
        self.done.count(What::FlushWal);
        Ok(())
    }

    /// Nobody writes while the WAL is locked.
    fn lock_wal(&mut self) -> Outcome {
        self.open.db.lock_wal()?;
        let before = self.open.db.latest_sequence_number();
        let read = self.read_some();
        let after = self.open.db.latest_sequence_number();
        self.open.db.unlock_wal()?;
        self.done.count(What::LockWal);
        read?;
        if before != after {
            return Err(Failure::Wrong(format!(
                "the last row is {after} under a lock of the WAL that was taken when it was {before}"
            )));
        }
        Ok(())
    }

    /// Reads of the default family, which is never cleared: who waits to clear another waits for somebody who may wait for what is
    /// paused.
    fn read_some(&mut self) -> Outcome {
        // A read that panics must not keep what is held from being let go.
        self.survive(|worker| {
            let family = worker.open.db.default_column_family();
            for _ in 0..MEANWHILE {
                let (key, options) = (keys::key(worker.key()), worker.read_options());
                worker.open.db.get_opt(&options, &family, &key)?;
            }
            Ok(())
        })
    }

    /// An option that may be changed, with a value of its domain. What contradicts others is refused.
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
            // What FIFO compaction drops for its age would be missed.
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

/// Options that may be changed and have a domain, with it.
fn drawable<S: OptionTable>() -> Vec<(&'static str, &'static [&'static str])> {
    let rows = S::rows()
        .iter()
        .filter(|row| row.mutable && !row.domain.is_empty());
    rows.map(|row| (row.name, row.domain)).collect()
}

fn is_refused(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::NotSupported)
}

/// True of a compaction that somebody asked for and another thread called off.
pub(super) fn is_called_off(error: &Error) -> bool {
    error.kind() == ErrorKind::Incomplete && error.to_string().contains("Manual compaction paused")
}
