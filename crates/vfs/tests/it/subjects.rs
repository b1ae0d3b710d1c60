//! The file systems under test.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use esker_vfs::{FaultFs, FileSystem, LogFs, MemFs, PosixFs};
use tempfile::TempDir;

/// A file system and an empty directory in it.
pub struct Subject {
    pub name: &'static str,
    pub fs: Arc<dyn FileSystem>,
    pub dir: PathBuf,
    _guard: Option<TempDir>,
}

impl Subject {
    fn on_disk(name: &'static str, fs: impl FileSystem + 'static, guard: TempDir) -> Subject {
        Subject {
            name,
            fs: Arc::new(fs),
            dir: guard.path().to_path_buf(),
            _guard: Some(guard),
        }
    }

    fn in_memory(
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

/// A directory on the disk of the build.
pub fn disk_dir() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A directory in memory, if the system has one.
pub fn memory_dir() -> Option<TempDir> {
    let dir = TempDir::new_in("/dev/shm").ok();
    if dir.is_none() {
        testkit::skip("a file system in memory at /dev/shm");
    }
    dir
}

/// All file systems under test.
pub fn subjects() -> Vec<Subject> {
    let mut subjects = vec![
        Subject::on_disk("posix", PosixFs::new(), disk_dir()),
        Subject::on_disk(
            "posix, logs not mapped",
            PosixFs::without_mapped_logs(),
            disk_dir(),
        ),
        Subject::on_disk(
            "fault over posix",
            FaultFs::new(Arc::new(PosixFs::new())),
            disk_dir(),
        ),
        Subject::in_memory("mem", |mem| mem),
        Subject::in_memory("fault over mem", |mem| Arc::new(FaultFs::new(mem))),
        Subject::in_memory("log over mem", |mem| {
            Arc::new(LogFs::new(mem, Path::new("/db")).with_appends().with_queries())
        }),
    ];
    if let Some(dir) = memory_dir() {
        subjects.push(Subject::on_disk("posix in memory", PosixFs::new(), dir));
    }
    subjects
}

/// Runs `check` on each, and names it on a failure.
pub fn on_each(check: impl Fn(&Subject)) {
    for subject in subjects() {
        let name = subject.name;
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&subject)));
        if let Err(panic) = result {
            eprintln!("on the file system \"{name}\"");
            std::panic::resume_unwind(panic);
        }
    }
}
