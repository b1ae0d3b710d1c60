//! Databases that recycle WALs: such a database does not notice a cursor that another process creates, and
//! would overwrite WALs that the cursor needs.

use std::path::Path;

use base::{Error, ErrorKind, Result, filename};
use vfs::FileLock;

use crate::options::Options;
use crate::options::file::OptionsFile;

/// Takes the lock of the database in `dir` if its options recycle WALs, so that no other process opens it
/// while a cursor is created.
pub(crate) fn lock_if_it_recycles(options: &Options, dir: &Path) -> Result<Option<Box<dyn FileLock>>> {
    let recycles = match OptionsFile::newest(&*options.fs, dir)? {
        Some((_, file)) => file.options().0.recycled_wals() > 0,
        None => false,
    };
    if !recycles {
        return Ok(None);
    }
    match options.fs.lock(&filename::lock(dir)) {
        Err(error) if error.kind() == ErrorKind::LockHeld => Err(Error::not_supported(
            "a database that recycles WALs and is open elsewhere gets no new cursor: the WALs may be overwritten already",
        )),
        lock => Ok(Some(lock?)),
    }
}
