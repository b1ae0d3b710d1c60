//! Copies an encrypted database to a new directory, unencrypted.

use std::io::Write;
use std::sync::Arc;

use base::Error;
use encryption::{EncryptedFs, KeyRing, decrypt_directory};
use vfs::FileSystem;

use crate::args::DecryptArgs;
use crate::directory;
use crate::output::{Failure, Out};
use crate::text::{count, show_size};

/// Copies the files of the directory, and of the directories in it.
pub fn decrypt(args: &DecryptArgs, out: &mut Out) -> Result<(), Failure> {
    directory::check_is_new(&args.to)?;
    let disk = directory::fs();
    let text = String::from_utf8(disk.read_file(&args.master_keys)?)
        .map_err(|_| Error::invalid_argument("the master keys are not text").in_file(&args.master_keys))?;
    let keys = KeyRing::from_text(&text).map_err(|error| error.in_file(&args.master_keys))?;
    // The database's lock is held until the copy is complete.
    let lock_path = base::filename::lock(&args.db);
    let _lock = match disk.exists(&lock_path)? {
        true => Some(disk.lock(&lock_path)?),
        false => None,
    };
    let mut encrypted = EncryptedFs::new(Arc::new(directory::fs()), Arc::new(keys));
    if args.plain_files {
        encrypted = encrypted.reading_plain_files();
    }
    let copied = decrypt_directory(&encrypted, &args.db, &disk, &args.to)?;
    writeln!(
        out,
        "{} of {} decrypted to {}",
        count(copied.files, "file"),
        show_size(copied.bytes),
        args.to.display()
    )?;
    Ok(())
}
