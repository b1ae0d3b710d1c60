//! Recycled WALs, which a cursor that their database does not know of would lose.

use std::path::Path;

use base::{Error, ErrorKind, Result, filename};
use vfs::FileLock;

use crate::options::Options;
use crate::options::file::OptionsFile;

/// The lock of the database in `dir` if its options have it recycle WALs, which a cursor that it does not
/// know of would not prevent.
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
