//! Opens of the database under stress.

use base::{Error, ErrorKind};
use esker::{Db, Options, OptionsFile};
use parking_lot::RwLock;

use crate::failure::Outcome;
use crate::stress::{Open, Stress};
use crate::transaction_db::Transactions;
use crate::wal_dirs::places;

impl Stress {
    /// Opens the database; `after_failure` if it follows an injected failure. An open that fails by injection
    /// is repeated, in the end without injected failures.
    pub fn open(&self, after_failure: bool) -> Outcome<Open> {
        const ATTEMPTS: usize = 4;
        if let Some(faults) = &self.faults {
            for _ in 0..ATTEMPTS {
                faults.begin_open(after_failure);
                let opened = self.open_once();
                faults.end();
                match opened {
                    Err(failure) if self.is_injected(&failure) => {}
                    opened => return opened,
                }
            }
        }
        self.open_once()
    }

    /// Opens the database and its families, and creates missing ones.
    fn open_once(&self) -> Outcome<Open> {
        let db = self.open_somewhere()?;
        let transactions = Transactions::over(&self.flags, &db)?;
        let mut families = vec![RwLock::new(db.default_column_family())];
        for index in 1..self.flags.column_families as usize {
            let own = format!("{index}.");
            let found = db
                .column_families()
                .into_iter()
                .find(|family| family.name().starts_with(&own));
            families.push(RwLock::new(match found {
                Some(family) => family,
                None => db.create_column_family(&format!("{own}0"), &self.options.column_family)?,
            }));
        }
        self.drop_imported(&db)?;
        let secondary = self.open_secondary()?;
        Ok(Open {
            db,
            families,
            secondary,
            transactions,
        })
    }

    /// Opens the database; with `--change_wal_dir`, with a directory of WALs drawn at random.
    ///
    /// A loss of power in the middle of an open may leave no WAL, which `track_and_verify_wals` refuses: such
    /// a database is opened without it. Rows that were lost with a WAL are found by the comparison with the
    /// expected state.
    pub fn open_somewhere(&self) -> Outcome<Db> {
        let opened = self.open_with(&self.options)?;
        let opened = match opened {
            Err(error) if misses_wals(&error) => self.open_with(&Options {
                track_and_verify_wals: false,
                ..self.options.clone()
            })?,
            opened => opened,
        };
        Ok(opened?)
    }

    /// Opens the database. The inner result is that of the open, the outer one that of the test.
    fn open_with(&self, options: &Options) -> Outcome<base::Result<Db>> {
        let with = |wal_dir: &str| Options {
            wal_dir: wal_dir.to_owned(),
            ..options.clone()
        };
        if !self.flags.change_wal_dir {
            return Ok(Db::open(options, &self.path));
        }
        let fs = &*self.options.fs;
        let stored = match fs.exists(&self.path)? {
            true => OptionsFile::newest(fs, &self.path)?,
            false => None,
        };
        let places = places(&self.path);
        let drawn = places[self.wal_dirs.rng.lock().usize(..places.len())].clone();
        // OPTIONS is written at the end of an open. An open that failed may have left a torn WAL in any of
        // the directories.
        let stored = stored.map(|(_, stored)| stored.options().0.wal_dir);
        let before = stored.into_iter().chain(places);
        let mut opened = Db::open(&with(&drawn), &self.path);
        let mut now = drawn.clone();
        for wal_dir in before.filter(|wal_dir| *wal_dir != drawn) {
            let refuses_the_directory = |error: &Error| {
                misses_wals(error) || misses_recorded_wal(error) || error.kind() == ErrorKind::InvalidArgument
            };
            if !opened.as_ref().is_err_and(refuses_the_directory) {
                break;
            }
            opened = Db::open(&with(&wal_dir), &self.path);
            now = wal_dir;
        }
        if opened.is_ok() {
            let before = std::mem::replace(&mut *self.wal_dirs.now.lock(), now.clone());
            if before != now {
                self.rare.changed_wal_dir();
            }
        }
        Ok(opened)
    }
}

/// True for the error of `track_and_verify_wals` in a directory without WALs.
fn misses_wals(error: &Error) -> bool {
    error.kind() == ErrorKind::Corruption && error.message().contains("no WAL files")
}

/// True for the errors of `track_and_verify_wals_in_manifest` in a directory without a WAL that the MANIFEST
/// names, or with a leftover of its number: an open that failed in one directory does not keep one in another
/// from using the number.
fn misses_recorded_wal(error: &Error) -> bool {
    let is_of_another = |message: &str| {
        message.contains("Missing WAL with log number") || message.contains("Size mismatch: WAL")
    };
    error.kind() == ErrorKind::Corruption && is_of_another(error.message())
}
