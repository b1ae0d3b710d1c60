//! The database is opened with its WALs in another directory than before: refused while rows are in them alone, and right otherwise.

use std::path::Path;

use base::ErrorKind;
use esker::{Db, Options, OptionsFile};
use fastrand::Rng;
use parking_lot::Mutex;
use vfs::FileSystem;

use crate::stress::{Outcome, Stress};

/// Where the WALs of the database under stress lie, and where they lie next.
pub struct WalDirs {
    rng: Mutex<Rng>,
    now: Mutex<String>,
}

impl WalDirs {
    /// Those of a database that is opened with `wal_dir` first.
    pub fn new(seed: u64, wal_dir: &str) -> WalDirs {
        WalDirs {
            rng: Mutex::new(Rng::with_seed(seed)),
            now: Mutex::new(wal_dir.to_owned()),
        }
    }

    /// The option `wal_dir` that the database was opened with last.
    pub fn now(&self) -> String {
        self.now.lock().clone()
    }
}

/// Removes what another database left in the directories that a database at `path` may have.
pub fn remove_all(fs: &dyn FileSystem, path: &Path) -> base::Result<()> {
    for wal_dir in places(path).iter().filter(|wal_dir| !wal_dir.is_empty()) {
        let wal_dir = Path::new(wal_dir);
        if fs.exists(wal_dir)? {
            for name in fs.list(wal_dir)? {
                fs.remove(&wal_dir.join(name))?;
            }
            fs.remove_dir(wal_dir)?;
        }
    }
    Ok(())
}

/// Values of the option `wal_dir` for a database at `path`.
fn places(path: &Path) -> [String; 3] {
    let beside = |nth: u32| format!("{}.wals-{nth}", path.display());
    [String::new(), beside(1), beside(2)]
}

impl Stress {
    /// Opens the database, with `--change_wal_dir` in a directory that is drawn.
    pub fn open_somewhere(&self) -> Outcome<Db> {
        let with = |wal_dir: &str| Options {
            wal_dir: wal_dir.to_owned(),
            ..self.options.clone()
        };
        if !self.flags.change_wal_dir {
            return Ok(Db::open(&self.options, &self.path)?);
        }
        let fs = &*self.options.fs;
        let stored = match fs.exists(&self.path)? {
            true => OptionsFile::newest(fs, &self.path)?,
            false => None,
        };
        let places = places(&self.path);
        let drawn = places[self.wal_dirs.rng.lock().usize(..places.len())].clone();
        // OPTIONS is written when an open ends. One that failed before may have left a torn WAL in any of the directories.
        let stored = stored.map(|(_, stored)| stored.options().0.wal_dir);
        let before = stored.into_iter().chain(places);
        let mut opened = Db::open(&with(&drawn), &self.path);
        let mut now = drawn.clone();
        for wal_dir in before.filter(|wal_dir| *wal_dir != drawn) {
            if !matches!(&opened, Err(error) if error.kind() == ErrorKind::InvalidArgument) {
                break;
            }
            opened = Db::open(&with(&wal_dir), &self.path);
            now = wal_dir;
        }
        let db = opened?;
        *self.wal_dirs.now.lock() = now;
        Ok(db)
    }

    /// The options of another database: one made of this one, say. Its WALs lie beside its other files.
    pub fn options_of_copy(&self) -> Options {
        Options {
            wal_dir: String::new(),
            db_paths: Vec::new(),
            ..self.options.clone()
        }
    }
}
