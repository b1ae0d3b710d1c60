//! A file system under test, for the suites of this crate and of crates with file systems of their own.

use std::path::PathBuf;
use std::sync::Arc;

use esker_vfs::{FileSystem, MemFs};
use tempfile::TempDir;

/// A file system and an empty directory in it.
pub struct Subject {
    pub name: &'static str,
    pub fs: Arc<dyn FileSystem>,
    pub dir: PathBuf,
    _guard: Option<TempDir>,
}

impl Subject {
    pub fn on_disk(name: &'static str, fs: impl FileSystem + 'static, guard: TempDir) -> Subject {
        Subject {
            name,
            fs: Arc::new(fs),
            dir: guard.path().to_path_buf(),
            _guard: Some(guard),
        }
    }

    pub fn in_memory(
        name: &'static str,
        wrap: impl FnOnce(Arc<dyn FileSystem>) -> Arc<dyn FileSystem>,
    ) -> Subject {
        let fs = wrap(Arc::new(MemFs::new()));
        let dir = PathBuf::from("/db");
        fs.create_dir_all(&dir).unwrap();
        Subject {
            name,
            fs,
            dir,
            _guard: None,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

/// Runs `check` on each of `subjects`. A failure shows the name of the subject.
pub fn check_each(subjects: Vec<Subject>, check: impl Fn(&Subject)) {
    for subject in subjects {
        let name = subject.name;
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&subject)));
        if let Err(panic) = result {
            eprintln!("on the file system \"{name}\"");
            std::panic::resume_unwind(panic);
        }
    }
}
