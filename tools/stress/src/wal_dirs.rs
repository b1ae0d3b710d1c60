//! Opens of the database with another directory of WALs: an open is refused while rows are in the old WALs
//! alone, and succeeds otherwise.

use std::path::Path;

use base::ErrorKind;
use esker::{Db, Options, OptionsFile};
use fastrand::Rng;
use parking_lot::Mutex;
use vfs::FileSystem;

use crate::stress::{Outcome, Stress};

/// The directory of the WALs of the database under stress, and the next one.
pub struct WalDirs {
    rng: Mutex<Rng>,
    now: Mutex<String>,
}

impl WalDirs {
    /// The directories of a database that is first opened with `wal_dir`.
    pub fn new(seed: u64, wal_dir: &str) -> WalDirs {
        WalDirs {
            rng: Mutex::new(Rng::with_seed(seed)),
            now: Mutex::new(wal_dir.to_owned()),
        }
    }

    /// The option `wal_dir` of the last open.
    pub fn now(&self) -> String {
        self.now.lock().clone()
    }
}

/// Removes the files of another database from the directories that a database at `path` may use.
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
    /// Opens the database; with `--change_wal_dir`, with a directory of WALs drawn at random.
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
        // OPTIONS is written at the end of an open. An open that failed may have left a torn WAL in any of
        // the directories.
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

    /// The options of another database, such as a copy of this one. Its WALs are in its own directory.
    pub fn options_of_copy(&self) -> Options {
        Options {
            wal_dir: String::new(),
            db_paths: Vec::new(),
            ..self.options.clone()
        }
    }
}
