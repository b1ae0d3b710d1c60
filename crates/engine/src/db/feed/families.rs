//! Names of families for the rows of change feeds. Rows of a dropped family stay in WALs, but the MANIFEST no
//! longer has the family's name. So the name is written to a file of the archive before the family is
//! dropped: one line a family, `ID NAME`, the name in hexadecimal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Result;
use vfs::FileSystem;

use crate::files::dropped_families::dropped;
use crate::lifecycle::manifest_tail::read_manifest;
use crate::options::Options;
use crate::state::handle::Db;

/// Finds names of families.
pub(crate) struct Names {
    fs: Arc<dyn FileSystem>,
    wal_dir: PathBuf,
    source: Source,
    /// The names found so far.
    known: BTreeMap<u32, Arc<str>>,
}

/// The source of the names of families that exist.
pub(crate) enum Source {
    /// The database that this process has open.
    Db(Db),
    /// The MANIFEST of a database in a directory.
    Manifest(Box<Options>, PathBuf),
}

impl Names {
    pub fn new(fs: Arc<dyn FileSystem>, wal_dir: &Path, source: Source) -> Names {
        Names {
            fs,
            wal_dir: wal_dir.to_path_buf(),
            source,
            known: BTreeMap::new(),
        }
    }

    /// The name of family `id`. `None` if the family was dropped while there was neither an archive nor a
    /// cursor in this directory of WALs.
    pub fn of(&mut self, id: u32) -> Result<Option<Arc<str>>> {
        if let Some(name) = self.known.get(&id) {
            return Ok(Some(name.clone()));
        }
        let name = match self.existing(id)? {
            Some(name) => Some(name),
            None => dropped(&*self.fs, &self.wal_dir)?.remove(&id),
        };
        Ok(name.map(|name| self.known.entry(id).or_insert(name.into()).clone()))
    }

    fn existing(&self, id: u32) -> Result<Option<String>> {
        match &self.source {
            Source::Db(db) => Ok(db.inner().family_by_id(id).map(|family| family.name.clone())),
            Source::Manifest(options, dir) => {
                let (_, mut state) = read_manifest(options, dir)?;
                Ok(state.families.remove(&id).map(|family| family.name))
            }
        }
    }
}
