//! Directories of tables: `db_paths` and `cf_paths`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::filename;
use manifest::FileMetadata;

/// A directory of tables, and how much it should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbPath {
    /// The directory. It is created where it is missing.
    pub path: PathBuf,
    /// Bytes of tables that it should hold. Compactions choose by it, from what levels should hold; nothing enforces it, and the last
    /// directory takes what the others have no room for.
    pub target_size: u64,
}

impl DbPath {
    /// `path`, which should hold so many bytes.
    pub fn new(path: impl Into<PathBuf>, target_size: u64) -> DbPath {
        DbPath {
            path: path.into(),
            target_size,
        }
    }
}

/// The directories of a family, by the number that a MANIFEST has of each.
#[derive(Clone, Debug)]
pub(crate) struct TablePaths {
    paths: Arc<[PathBuf]>,
    targets: Arc<[u64]>,
}

impl TablePaths {
    /// `paths`, or `dir` if there are none.
    pub fn new(paths: &[DbPath], dir: &Path) -> TablePaths {
        let default = [DbPath::new(dir, u64::MAX)];
        let paths = if paths.is_empty() { &default[..] } else { paths };
        TablePaths {
            paths: paths.iter().map(|path| path.path.clone()).collect(),
            targets: paths.iter().map(|path| path.target_size).collect(),
        }
    }

    /// How many there are, which is one at least.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }

    /// The target size of each directory.
    pub fn targets(&self) -> &[u64] {
        &self.targets
    }

    /// Directory `path_id`; the last one where there are not so many: a copy of a database has all its tables in one, whatever its MANIFEST
    /// says of the number.
    pub fn dir(&self, path_id: u32) -> &Path {
        let at = (path_id as usize).min(self.paths.len() - 1);
        &self.paths[at]
    }

    /// Where `file` lies.
    pub fn table(&self, file: &FileMetadata) -> PathBuf {
        filename::table(self.dir(file.path_id), file.number)
    }

    /// The number of `dir`, if it is one of them.
    pub fn id_of(&self, dir: &Path) -> Option<u32> {
        self.iter().position(|path| path == dir).map(|at| at as u32)
    }
}
