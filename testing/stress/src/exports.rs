//! Exports of a family's tables while all threads write, and imports: into the database itself, or into one
//! made for it. The result must show the values of some keys that were locked.

use std::path::{Path, PathBuf};

use base::{ErrorKind, Result};
use esker::{Db, ExportImportFilesMetaData, ImportColumnFamilyOptions, Options};

use crate::done::What;
use crate::failure::{Failure, Outcome};
use crate::stress::Stress;
use crate::worker::{SCAN_WIDTH, Seen, Worker};

/// The prefix of the names of families that are not part of the expected state.
const IMPORTED: &str = "imported-";

impl Stress {
    /// Drops families that interrupted imports left.
    pub(super) fn drop_imported(&self, db: &Db) -> Result<()> {
        let mut families = db.column_families().into_iter();
        families.try_for_each(|family| match family.name().starts_with(IMPORTED) {
            true => db.drop_column_family(&family),
            false => Ok(()),
        })
    }

    /// A path next to the database's where nothing exists.
    fn room(&self, name: &str) -> Result<PathBuf> {
        let path = self.beside(name);
        self.remove_files(&path)?;
        Ok(path)
    }

    fn remove_files(&self, dir: &Path) -> Result<()> {
        let fs = &*self.options.fs;
        if !fs.exists(dir)? {
            return Ok(());
        }
        for name in fs.list(dir)? {
            fs.remove(&dir.join(name))?;
        }
        fs.remove_dir(dir)
    }
}

impl Worker<'_> {
    /// Exports a family while some keys are locked, and imports it.
    pub(super) fn export(&mut self) -> Outcome {
        let (family, start) = (self.family(), self.key());
        let keys = start..(start + SCAN_WIDTH).min(self.stress.expected.keys());
        let dir = self.stress.room(&format!("export-{:x}", self.seed))?;
        let db = &self.open.db;
        let (exported, seen) = self.see(family, keys, |handle| db.export_column_family(handle, &dir))?;
        let exported = match exported {
            // Values in blob files cannot be exported.
            Err(error) if error.kind() == ErrorKind::NotSupported => return Ok(()),
            exported => exported?,
        };
        if exported.files.is_empty() {
            let rows = seen.rows().len();
            return match rows {
                0 => Ok(self.stress.remove_files(&dir)?),
                _ => Err(Failure::Mismatch(format!(
                    "column family {family}: an export of no files where {rows} rows are"
                ))),
            };
        }
        match self.rng.bool() {
            true => self.import(db, &exported, &seen)?,
            false => self.import_elsewhere(&exported, &seen)?,
        }
        self.stress.remove_files(&dir)?;
        self.done.count(What::Export);
        Ok(())
    }

    /// Imports into `db`, as a family that is dropped after the comparison.
    fn import(&mut self, db: &Db, exported: &ExportImportFilesMetaData, seen: &Seen) -> Outcome {
        let name = format!("{IMPORTED}{:x}", self.seed);
        // An import that failed may have left the family.
        if let Some(left) = db.column_family(&name) {
            db.drop_column_family(&left)?;
        }
        let importing = ImportColumnFamilyOptions {
            move_files: self.rng.bool(),
        };
        let options = &self.stress.options.column_family;
        let handle = db.create_column_family_with_import(&name, options, &[exported], &importing)?;
        let bounds = self.bounded(&seen.keys);
        self.compare(db.iter_cf_opt(&handle, &bounds), seen, "an imported family")?;
        Ok(db.drop_column_family(&handle)?)
    }

    /// Imports into a database of its own, which is reopened before the comparison.
    fn import_elsewhere(&mut self, exported: &ExportImportFilesMetaData, seen: &Seen) -> Outcome {
        let path = self.stress.beside(&format!("imported-{:x}", self.seed));
        let options = Options {
            ..self.stress.options_of_copy()
        };
        Db::destroy(&options, &path)?;
        let db = Db::open(&options, &path)?;
        let importing = ImportColumnFamilyOptions {
            move_files: self.rng.bool(),
        };
        let handle =
            db.create_column_family_with_import(IMPORTED, &options.column_family, &[exported], &importing)?;
        drop(handle);
        db.close()?;
        drop(db);
        let db = Db::open(&options, &path)?;
        let Some(handle) = db.column_family(IMPORTED) else {
            return Err(Failure::Mismatch("an imported family is gone".to_owned()));
        };
        let bounds = self.bounded(&seen.keys);
        self.compare(
            db.iter_cf_opt(&handle, &bounds),
            seen,
            "a family imported elsewhere",
        )?;
        drop(handle);
        db.close()?;
        drop(db);
        Ok(Db::destroy(&options, &path)?)
    }
}
