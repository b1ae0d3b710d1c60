//! Directories of tables: `db_paths` and `cf_paths`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::filename;
use manifest::FileMetadata;

/// A directory of tables, and its target size.
///
/// ```
/// use esker::{DbPath, Options};
///
/// // Up to 100 GiB of tables on the fast disk, the others on the large one.
/// let options = Options {
///     db_paths: vec![DbPath::new("/fast/db", 100 << 30), DbPath::new("/large/db", u64::MAX)],
///     ..Default::default()
/// };
/// assert_eq!(options.db_paths[0].target_size, 100 << 30);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbPath {
    /// The directory. It is created if it does not exist.
    pub path: PathBuf,
    /// The target size of its tables in bytes. Compactions choose directories by it and by the target sizes
    /// of levels. It is not enforced, and the last directory takes what does not fit elsewhere.
    pub target_size: u64,
}

impl DbPath {
    /// `path` with a target size in bytes.
    pub fn new(path: impl Into<PathBuf>, target_size: u64) -> DbPath {
        DbPath {
            path: path.into(),
            target_size,
        }
    }
}

/// The directories of a family, by their index, which the MANIFEST records.
#[derive(Clone, Debug)]
pub(crate) struct TablePaths {
    paths: Arc<[PathBuf]>,
    targets: Arc<[u64]>,
}

impl TablePaths {
    /// The directories `paths`, or `dir` if there are none.
    pub fn new(paths: &[DbPath], dir: &Path) -> TablePaths {
        let default = [DbPath::new(dir, u64::MAX)];
        let paths = if paths.is_empty() { &default[..] } else { paths };
        TablePaths {
            paths: paths.iter().map(|path| path.path.clone()).collect(),
            targets: paths.iter().map(|path| path.target_size).collect(),
        }
    }

    /// The number of directories, at least one.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// The directories in order.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }

    /// The target size of each directory.
    pub fn targets(&self) -> &[u64] {
        &self.targets
    }

    /// Directory `path_id`, or the last one if there are fewer: a copy of a database has all its tables in
    /// one directory, whatever its MANIFEST records.
    pub fn dir(&self, path_id: u32) -> &Path {
        let at = (path_id as usize).min(self.paths.len() - 1);
        &self.paths[at]
    }

    /// The path of `file`.
    pub fn table(&self, file: &FileMetadata) -> PathBuf {
        filename::table(self.dir(file.path_id), file.number)
    }

    /// The index of `dir`, if it is one of the directories.
    pub fn id_of(&self, dir: &Path) -> Option<u32> {
        self.iter().position(|path| path == dir).map(|at| at as u32)
    }
}
