//! A plain copy of an encrypted directory.

use std::path::Path;

use base::Result;
use vfs::{CreateOptions, FileSystem, OpenOptions};

/// The number of files and bytes of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decrypted {
    /// The number of copied files.
    pub files: u64,
    /// The bytes in the contents of the copied files.
    pub bytes: u64,
}

/// Copies the files of `from`, read through `encrypted`, and those of the directories in it to `to`, a
/// directory of `plain` that is created. `LOCK` is left out. The copy is durable when the call returns. No
/// program may write to `from` meanwhile.
///
/// # Errors
/// Those of the file systems; a file exists in `to` already: `InvalidArgument`.
pub fn decrypt_directory(
    encrypted: &dyn FileSystem,
    from: &Path,
    plain: &dyn FileSystem,
    to: &Path,
) -> Result<Decrypted> {
    plain.create_dir_all(to)?;
    let mut decrypted = Decrypted::default();
    for name in encrypted.list(from)? {
        if name == "LOCK" {
            continue;
        }
        let (source, target) = (from.join(&name), to.join(&name));
        // The source is a directory if it can be listed.
        if encrypted.list(&source).is_ok() {
            let below = decrypt_directory(encrypted, &source, plain, &target)?;
            decrypted.files += below.files;
            decrypted.bytes += below.bytes;
            continue;
        }
        if plain.exists(&target)? {
            return Err(base::Error::invalid_argument("the file exists").in_file(&target));
        }
        let file = encrypted.open_random(&source, &OpenOptions::default())?;
        let mut copy = plain.create(&target, &CreateOptions::default())?;
        file.for_each_piece(&mut |piece| copy.append(piece))?;
        copy.sync()?;
        copy.close()?;
        decrypted.files += 1;
        decrypted.bytes += file.len();
    }
    plain.sync_dir(to)?;
    Ok(decrypted)
}
