//! Copies and links files and whole directories.

use std::path::Path;
use std::sync::Arc;

use base::{Error, ErrorKind, Progress, Result, filename};
use codec::checksum::crc32c_extend;
use vfs::{Access, CreateOptions, FileSystem, OpenOptions, RandomAccessFile};

/// Makes a finished directory durable and renames it to its final name.
pub(crate) fn publish(fs: &dyn FileSystem, temporary: &Path, dir: &Path) -> Result<()> {
    fs.sync_dir(temporary)?;
    fs.rename(temporary, dir)?;
    match dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => fs.sync_dir(parent),
        None => fs.sync_dir(Path::new(".")),
    }
}

/// Removes a directory of files, if it exists.
pub(crate) fn remove_dir(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    if !fs.exists(dir)? {
        return Ok(());
    }
    for name in fs.list(dir)? {
        fs.remove(&dir.join(name))?;
    }
    fs.remove_dir(dir)
}

/// Creates a second name for a file that no longer changes, or copies the file if linking fails. An existing
/// copy of the same size is kept if its bytes are equal.
pub(crate) fn link_or_copy(fs: &dyn FileSystem, from: &Path, to: &Path, progress: &Progress) -> Result<()> {
    let linked = to.with_extension("link");
    match fs.link(from, &linked) {
        Ok(()) => {
            // A rename between two names of one file does nothing, so the old name is removed first.
            if fs.exists(to)? {
                fs.remove(to)?;
            }
            fs.rename(&linked, to)?;
            progress.advance(fs.size(to)?)
        }
        Err(error) if error.kind() == ErrorKind::NoSpace => Err(error),
        Err(_) => {
            // Linking has failed: the directory is on another file system. If the link exists nevertheless,
            // it is removed.
            if fs.exists(&linked)? {
                fs.remove(&linked)?;
            }
            if !fs.exists(to)? || !same_bytes(fs, from, to)? {
                return copy(fs, from, to, progress);
            }
            // A copy that an interrupted checkpoint has left may not be synced.
            fs.sync_file(to)?;
            progress.advance(fs.size(to)?)
        }
    }
}

fn same_bytes(fs: &dyn FileSystem, a: &Path, b: &Path) -> Result<bool> {
    let checksum = |path: &Path| -> Result<(u64, u32)> {
        let file = open(fs, path)?;
        let mut crc = 0;
        file.for_each_piece(&mut |bytes| {
            crc = crc32c_extend(crc, bytes);
            Ok(())
        })?;
        Ok((file.len(), crc))
    };
    Ok(checksum(a)? == checksum(b)?)
}

fn open(fs: &dyn FileSystem, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
    let options = OpenOptions {
        access: Access::Sequential,
        ..OpenOptions::default()
    };
    fs.open_random(path, &options)
}

/// Copies a file to a new file and syncs it. An existing `to` is removed rather than overwritten: a link that
/// reported an error may have been made, and `to` is then a second name of `from`.
pub(crate) fn copy(fs: &dyn FileSystem, from: &Path, to: &Path, progress: &Progress) -> Result<()> {
    let reader = open(fs, from)?;
    if fs.exists(to)? {
        fs.remove(to)?;
    }
    let mut writer = fs.create(to, &CreateOptions::default())?;
    reader.for_each_piece(&mut |bytes| {
        writer.append(bytes)?;
        progress.advance(bytes.len() as u64)
    })?;
    writer.sync()?;
    writer.close()
}

/// Creates a directory and its missing parents, and makes their names durable: after a crash, a durable
/// database must still be found under its path.
pub(crate) fn create_dir(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    let above = |dir: &Path| match dir.parent() {
        Some(above) if !above.as_os_str().is_empty() => above.to_path_buf(),
        _ => Path::new(".").to_path_buf(),
    };
    let mut missing = Vec::new();
    for dir in dir.ancestors().filter(|dir| !dir.as_os_str().is_empty()) {
        if fs.exists(dir)? {
            break;
        }
        missing.push(above(dir));
    }
    fs.create_dir_all(dir)?;
    // The directory exists, but the process that created it may have crashed before it synced the parent.
    if missing.is_empty() && !fs.exists(&filename::current(dir))? {
        missing.extend(dir.parent().map(|_| above(dir)));
    }
    missing.iter().try_for_each(|above| match fs.sync_dir(above) {
        // A parent directory may permit access to its files and not to its list of names: then it cannot be
        // opened for a sync.
        Err(error) if is_denied(&error) => Ok(()),
        result => result,
    })
}

fn is_denied(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<std::io::Error>());
    source.is_some_and(|source| source.kind() == std::io::ErrorKind::PermissionDenied)
}
