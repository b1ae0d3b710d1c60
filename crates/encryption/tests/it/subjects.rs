//! The file systems under test.

use std::sync::Arc;

use esker_encryption::{EncryptedFs, KeyRing};
use tempfile::TempDir;
use vfs::{FileSystem, PosixFs};

use crate::subject;
pub use crate::subject::Subject;

/// Encrypts with a fixed master key.
pub fn over(fs: impl FileSystem + 'static) -> EncryptedFs {
    over_shared(Arc::new(fs))
}

fn over_shared(fs: Arc<dyn FileSystem>) -> EncryptedFs {
    EncryptedFs::new(fs, Arc::new(KeyRing::new("test", [1; 32])))
}

/// Runs `check` on each test subject, and names the subject on a failure.
pub fn on_each(check: impl Fn(&Subject)) {
    let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let subjects = vec![
        Subject::in_memory("over mem", |mem| Arc::new(over_shared(mem))),
        Subject::on_disk("over posix", over(PosixFs::new()), dir),
    ];
    subject::check_each(subjects, check);
}
