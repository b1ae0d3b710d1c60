//! Deletion of backups, and of files that belong to none.

use base::{Error, Result};

use crate::catalog::not_found;
use crate::names;
use crate::{BackupEngine, BackupId};

impl BackupEngine {
    /// Deletes a backup, good or corrupt, with all files that no other backup needs. `NotFound` if there is
    /// none of that number.
    pub fn delete_backup(&mut self, id: BackupId) -> Result<()> {
        self.check_writable()?;
        self.delete_without_garbage(id)?;
        self.garbage_collect()
    }

    /// Deletes all good backups except the newest `num_backups_to_keep`. Corrupt ones stay.
    pub fn purge_old_backups(&mut self, num_backups_to_keep: usize) -> Result<()> {
        self.check_writable()?;
        let too_many = self.catalog.backups.len().saturating_sub(num_backups_to_keep);
        let old: Vec<BackupId> = self.catalog.backups.keys().take(too_many).copied().collect();
        for id in old {
            self.delete_without_garbage(id)?;
        }
        self.garbage_collect()
    }

    /// Deletes files left by interrupted backups and deletions. While there is a backup whose meta file
    /// cannot be read, shared files stay, because they may be its.
    ///
    /// Creating and deleting a backup call this.
    pub fn garbage_collect(&mut self) -> Result<()> {
        self.check_writable()?;
        let mut first = None;
        let mut take = |result: Result<()>| {
            if let Err(error) = result {
                first.get_or_insert(error);
            }
        };
        take(self.remove_temporary());
        for part in [names::SHARED, names::SHARED_CHECKSUM] {
            take(self.remove_unnamed(part));
        }
        take(self.remove_private());
        first.map_or(Ok(()), |error: Error| {
            Err(error.context("While collecting garbage"))
        })
    }

    fn delete_without_garbage(&mut self, id: BackupId) -> Result<()> {
        let fs = &*self.options.fs;
        let dir = &self.options.backup_dir;
        if !self.catalog.has(id) {
            return Err(not_found(id));
        }
        self.remove_meta_of(id)?;
        for name in self.catalog.remove(id) {
            fs.remove(&dir.join(name))?;
        }
        self.remove_private_of(id)
    }

    /// Removes the meta file of backup `id`, after which the backup does not exist, and its other files are
    /// garbage.
    pub(crate) fn remove_meta_of(&self, id: BackupId) -> Result<()> {
        let fs = &*self.options.fs;
        let dir = &self.options.backup_dir;
        let meta = names::meta(dir, id);
        if fs.exists(&meta)? {
            fs.remove(&meta)?;
        }
        if self.options.sync {
            // Without this sync the meta file might be back after a loss of power, and the backup's other
            // files might not.
            fs.sync_dir(&dir.join(names::META))?;
        }
        Ok(())
    }

    /// Removes the private files of backup `id`, and their directory.
    pub(crate) fn remove_private_of(&self, id: BackupId) -> Result<()> {
        self.remove_dir(&id.to_string())
    }

    /// Removes files that were being written.
    pub(crate) fn remove_temporary(&self) -> Result<()> {
        let fs = &*self.options.fs;
        for part in [names::META, names::SHARED, names::SHARED_CHECKSUM] {
            let dir = self.options.backup_dir.join(part);
            if !fs.exists(&dir)? {
                continue;
            }
            for name in fs.list(&dir)? {
                if names::is_temporary(&name) {
                    fs.remove(&dir.join(name))?;
                }
            }
        }
        Ok(())
    }

    fn remove_unnamed(&self, part: &str) -> Result<()> {
        let fs = &*self.options.fs;
        let dir = self.options.backup_dir.join(part);
        if !fs.exists(&dir)? {
            return Ok(());
        }
        for name in fs.list(&dir)? {
            let relative = format!("{part}/{name}");
            // A file whose name no backup uses does not belong to the backups.
            if names::db_file_name(&relative, 0).is_some() && !self.catalog.is_named(&relative) {
                fs.remove(&dir.join(name))?;
            }
        }
        Ok(())
    }

    fn remove_private(&self) -> Result<()> {
        let names = self
            .options
            .fs
            .list(&self.options.backup_dir.join(names::PRIVATE))?;
        for name in names {
            // Very old releases created a backup in `ID.tmp`.
            let unfinished = name
                .strip_suffix(".tmp")
                .is_some_and(|id| names::backup_id(id).is_some());
            let belongs_to_none = names::backup_id(&name).is_some_and(|id| !self.catalog.has(id));
            if unfinished || belongs_to_none {
                self.remove_dir(&name)?;
            }
        }
        Ok(())
    }

    fn remove_dir(&self, name: &str) -> Result<()> {
        let fs = &*self.options.fs;
        let dir = self.options.backup_dir.join(names::PRIVATE).join(name);
        if !fs.exists(&dir)? {
            return Ok(());
        }
        for name in fs.list(&dir)? {
            fs.remove(&dir.join(name))?;
        }
        fs.remove_dir(&dir)
    }
}
