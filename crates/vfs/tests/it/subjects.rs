//! The file systems under test.

use std::path::Path;
use std::sync::Arc;

use esker_vfs::{FaultFs, LogFs, PosixFs};
use tempfile::TempDir;

use crate::subject;
pub use crate::subject::Subject;

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

/// Runs `check` on each file system under test. A failure shows the name of the file system.
pub fn on_each(check: impl Fn(&Subject)) {
    subject::check_each(subjects(), check);
}
