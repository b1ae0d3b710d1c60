//! Opens of the database with another directory of WALs: an open is refused while rows are in the old WALs
//! alone, and succeeds otherwise.

use std::path::Path;

use fastrand::Rng;
use parking_lot::Mutex;
use vfs::FileSystem;

/// The directory of the WALs of the database under stress, and the next one.
pub struct WalDirs {
    pub(super) rng: Mutex<Rng>,
    pub(super) now: Mutex<String>,
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
pub(super) fn places(path: &Path) -> [String; 3] {
    let beside = |nth: u32| format!("{}.wals-{nth}", path.display());
    [String::new(), beside(1), beside(2)]
}
