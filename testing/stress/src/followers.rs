//! Other instances that open the database while it is written: a secondary or a follower, and read-only
//! opens.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use esker::{ColumnFamily, Db, DbIterator, Error, ErrorKind, Options};

use crate::done::What;
use crate::failure::{Failure, Outcome};
use crate::secondary::{Secondary, until_it_keeps_up};
use crate::stress::{Open, Stress};
use crate::worker::{SCAN_WIDTH, Worker};

impl Stress {
    /// True if other instances see exactly the expected state: there is a WAL.
    fn others_see_everything(&self) -> bool {
        !self.flags.disable_wal
    }

    fn secondary_path(&self) -> PathBuf {
        match self.flags.secondaries_base.is_empty() {
            true => self.beside("secondary"),
            false => PathBuf::from(&self.flags.secondaries_base),
        }
    }

    /// The options of other instances. Their files stay open, so that they can be read after the primary
    /// deletes them.
    fn options_of_others(&self) -> Options {
        Options {
            max_open_files: -1,
            create_if_missing: false,
            follower_refresh_catchup_period_ms: 10,
            listeners: Vec::new(),
            wal_dir: self.wal_dirs.now(),
            ..self.options.clone()
        }
    }

    /// Opens a secondary, or for every second seed a follower, if flags ask for one.
    pub fn open_secondary(&self) -> Outcome<Option<Secondary>> {
        if !self.flags.test_secondary {
            return Ok(None);
        }
        let (options, own) = (self.options_of_others(), self.secondary_path());
        let db = until_it_keeps_up(|| match self.flags.seed % 2 {
            0 => Db::open_as_secondary(&options, &self.path, &own),
            _ => Db::open_as_follower(&options, &own, &self.path),
        })?;
        Ok(Some(Secondary {
            reached: AtomicU64::new(db.latest_sequence_number()),
            db,
        }))
    }

    /// Verifies every key of a secondary that has caught up while no thread writes.
    pub fn verify_secondary(&self, open: &Open) -> Outcome {
        let Some(secondary) = open.secondary.as_ref().filter(|_| self.others_see_everything()) else {
            return Ok(());
        };
        secondary.catch_up()?;
        for (family, handle) in open.families.iter().enumerate() {
            let seen = family_of(&secondary.db, &handle.read(), "a secondary")?;
            let verified = self.verify_family(&secondary.db, family, &seen);
            verified.map_err(|failure| match failure {
                Failure::Mismatch(what) => Failure::Mismatch(format!("in a secondary: {what}")),
                error => error,
            })?;
        }
        Ok(())
    }
}

fn family_of(db: &Db, family: &ColumnFamily, whose: &str) -> Outcome<ColumnFamily> {
    db.column_family(family.name()).ok_or_else(|| {
        let message = format!("{whose} has no family {}", family.name());
        Error::new(ErrorKind::ColumnFamilyDropped, message).into()
    })
}

impl Worker<'_> {
    /// Lets the secondary catch up while some keys are locked, and checks these keys.
    pub(super) fn check_secondary(&mut self) -> Outcome {
        let open = self.open;
        let Some(secondary) = &open.secondary else {
            return Ok(());
        };
        self.check_other("a scan of a secondary", |_| {
            secondary.catch_up()?;
            Ok(secondary.db.clone())
        })?;
        self.done.count(What::Secondary);
        Ok(())
    }

    /// Opens the database read-only while some keys are locked, and checks these keys; then rewrites the data
    /// that it reads.
    pub(super) fn open_read_only(&mut self) -> Outcome {
        let (stress, options) = (self.stress, self.stress.options_of_others());
        self.check_other("a scan of a database opened for reading", |db| {
            let opened = Db::open_read_only(&options, &stress.path)?;
            // A family that is flushed without the others would be ahead of them.
            match stress.options.atomic_flush {
                true => db.flush_cf(&db.column_families()),
                false => db.flush(),
            }
            .or_else(|error| match error.kind() {
                // A family was cleared meanwhile.
                ErrorKind::ColumnFamilyDropped => Ok(()),
                _ => Err(error),
            })?;
            Ok(opened)
        })?;
        self.done.count(What::ReadOnly);
        Ok(())
    }

    fn check_other(&mut self, how: &str, other: impl FnOnce(&Db) -> Outcome<Db>) -> Outcome {
        let (family, start) = (self.family(), self.key());
        let keys = start..(start + SCAN_WIDTH).min(self.stress.expected.keys());
        let options = self.bounded(&keys);
        let primary = &self.open.db;
        let look = |handle: &ColumnFamily| -> Outcome<(Db, Option<DbIterator>)> {
            let db = other(primary)?;
            // Rows without WAL, and their families, become visible when they are flushed.
            let sees = self.stress.others_see_everything();
            let seen = sees.then(|| family_of(&db, handle, how)).transpose()?;
            let iter = seen.map(|handle| db.iter_cf_opt(&handle, &options));
            Ok((db, iter))
        };
        let (looked, seen) = self.see(family, keys, look)?;
        let (db, iter) = looked?;
        let compared = iter.map_or(Ok(()), |iter| self.compare(iter, &seen, how));
        drop(db);
        compared
    }

    /// Checks the secondary now and then while the other threads are `working`.
    pub fn watch_secondary(&mut self, working: &AtomicBool) -> Outcome {
        let interval = Duration::from_millis(self.stress.flags.continuous_verification_interval);
        while working.load(Ordering::Acquire) && !self.stress.failed() && !self.stress.is_interrupted() {
            self.check_secondary().or_else(|failure| self.excuse(failure))?;
            thread::park_timeout(interval);
        }
        Ok(())
    }
}
