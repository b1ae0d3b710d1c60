//! Verifies backups.

use base::{Error, Progress, Result};

use crate::copy::{Copier, for_all};
use crate::{BackupEngine, BackupFileInfo, BackupId};

impl BackupEngine {
    /// Checks that the files of a backup exist and have their sizes, and with `verify_with_checksum` that
    /// they have their checksums, which reads all of them, at the rate limit of creating backups.
    ///
    /// # Errors
    /// `Corruption` with the first bad file and the number of bad files; `NotFound` if there is none of that
    /// number; `Aborted` if `progress` was asked to stop.
    pub fn verify_backup(
        &self,
        id: BackupId,
        verify_with_checksum: bool,
        progress: Option<&Progress>,
    ) -> Result<()> {
        let files = self.catalog.files_of(self.catalog.good(id)?);
        let unwatched = Progress::new();
        let progress = progress.unwrap_or(&unwatched);
        if verify_with_checksum {
            progress.expect(files.iter().map(|file| file.size).sum());
        }
        let copier = Copier {
            limiter: self.options.backup_limiter()?,
            sync: false,
            progress,
        };
        let threads = self.options.max_background_operations;
        let checked = for_all(threads, &files, |file| {
            match self.check_file(file, verify_with_checksum.then_some(&copier)) {
                Err(error) if error.is_corruption() => Ok(Some(error)),
                result => result.map(|()| None),
            }
        })?;
        let mut bad = checked.into_iter().flatten();
        match (bad.next(), bad.count()) {
            (None, _) => Ok(()),
            (Some(first), 0) => Err(first),
            (Some(first), more) => Err(first.context(&format!("{} bad files, the first", more + 1))),
        }
    }

    fn check_file(&self, file: &BackupFileInfo, copier: Option<&Copier<'_>>) -> Result<()> {
        let fs = &*self.options.fs;
        let path = self.options.backup_dir.join(&file.relative_filename);
        if !fs.exists(&path)? {
            return Err(Error::corruption("File missing").in_file(&path));
        }
        let size = fs.size(&path)?;
        if size != file.size {
            let message = format!("File size mismatch: expected {}, found {size}", file.size);
            return Err(Error::corruption(message).in_file(&path));
        }
        let (Some(copier), Some(expected)) = (copier, file.crc32c) else {
            return Ok(());
        };
        let computed = copier.verify(fs, &path, file.size)?;
        match computed == expected {
            true => Ok(()),
            false => Err(Error::corruption(format!(
                "Checksum mismatch: expected {expected:08x}, computed {computed:08x}"
            ))
            .in_file(&path)),
        }
    }
}
