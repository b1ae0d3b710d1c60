//! The database of a bench: it is opened with the options of the flags, closed, and removed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use base::{Error, Result};
use esker::Db;

use super::Bench;
use crate::handles::Handles;
use crate::secondary::CatchUp;
use crate::transactions::Transactions;

impl Bench {
    /// Closes the database and opens it again.
    pub fn reopen(&mut self) -> Result<()> {
        self.close()?;
        let start = Instant::now();
        let db = self.open_db()?;
        if self.flags.report_open_timing {
            println!("OpenDb:     {} milliseconds", start.elapsed().as_secs_f64() * 1e3);
        }
        let mut families = vec![db.default_column_family()];
        for number in 1..self.flags.num_column_families {
            let name = format!("column_family_name_{number:06}");
            families.push(match db.column_family(&name) {
                Some(family) => family,
                None => db.create_column_family(&name, &self.options.column_family)?,
            });
        }
        let transactions = Transactions::over(&self.flags, &db)?;
        self.db = Some(Handles {
            db,
            families,
            transactions,
        });
        Ok(())
    }

    fn open_db(&mut self) -> Result<Db> {
        let (flags, options) = (&self.flags, &self.options);
        if flags.readonly {
            return Db::open_read_only(options, &self.path);
        }
        if flags.use_secondary_db {
            let own = match flags.secondary_path.as_str() {
                "" => ::flags::test_directory()
                    .map_err(Error::invalid_argument)?
                    .join("dbbench_secondary"),
                path => PathBuf::from(path),
            };
            let db = Db::open_as_secondary(options, &self.path, own)?;
            if let Ok(seconds @ 1..) = u64::try_from(flags.secondary_update_interval) {
                self.catch_up = Some(CatchUp::start(db.clone(), Duration::from_secs(seconds)));
            }
            return Ok(db);
        }
        match flags.open_as_follower {
            true => Db::open_as_follower(options, &self.path, &flags.leader_path),
            false => Db::open(options, &self.path),
        }
    }

    /// Closes the database and reports a failure.
    pub fn close(&mut self) -> Result<()> {
        if let Some(catch_up) = self.catch_up.take() {
            self.secondary_updates += catch_up.stop();
        }
        match self.db.take() {
            Some(handles) => handles.db.close(),
            None => Ok(()),
        }
    }

    /// Removes the database from the disk.
    pub(super) fn destroy(&mut self) -> Result<()> {
        self.close()?;
        Db::destroy(&self.options, &self.path)
    }

    /// With `--use_existing_keys`, reads all keys of the default family, which represent the numbers from now
    /// on; `--num` becomes their count.
    pub(super) fn load_existing_keys(&mut self) -> Result<()> {
        if !self.flags.use_existing_keys {
            return Ok(());
        }
        let handles = self.handles();
        let mut entries = handles.db.iter_cf(&handles.families[0]);
        let mut keys: Vec<Box<[u8]>> = Vec::new();
        entries.seek_to_first();
        while entries.valid() {
            keys.push(entries.key().into());
            entries.next();
        }
        entries.status()?;
        drop(entries);
        if keys.is_empty() {
            return Err(Error::invalid_argument(
                "--use_existing_keys: the database has no keys",
            ));
        }
        self.flags.num = keys.len() as i64;
        if self.flags.bgwriter_num > self.flags.num {
            return Err(Error::invalid_argument(
                "--bgwriter_num is greater than the keys that --use_existing_keys found",
            ));
        }
        self.existing_keys = Some(keys.into());
        Ok(())
    }
}
