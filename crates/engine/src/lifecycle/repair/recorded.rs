//! Column families in a readable MANIFEST: their names, ids and comparators, the dropped ones, and the family
//! of each table.
//!
//! Tables and WALs name families by id, and a WAL may hold rows of families that were dropped since. OPTIONS
//! has names without ids.

use std::collections::BTreeMap;
use std::path::Path;

use base::Result;
use base::filename::{self, FileKind};
use manifest::VersionEdit;
use vfs::{FileSystem, OpenOptions};
use wal::Reader;

use crate::lifecycle::moment::parse_current;

/// A family that the MANIFEST records as existing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordedFamily {
    pub name: String,
    pub comparator: Option<String>,
    pub persist_timestamps: bool,
}

/// The contents of a MANIFEST up to its first unreadable place.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub families: BTreeMap<u32, RecordedFamily>,
    /// The highest family id ever used.
    pub max_column_family: u32,
    pub db_id: Option<String>,
    /// True if the MANIFEST was read completely: then families that it does not name do not exist.
    is_whole: bool,
    /// The family of each table it names, including tables that were removed from their version.
    tables: BTreeMap<u64, u32>,
}

impl Recorded {
    /// Reads the MANIFEST that CURRENT names or, if that one records nothing, the newest one that does.
    /// `None` if no MANIFEST records anything.
    pub fn read(fs: &dyn FileSystem, dir: &Path) -> Option<Recorded> {
        let current = fs.read_file(&filename::current(dir)).ok();
        let named = current.and_then(|text| parse_current(&text).ok());
        let mut others: Vec<(u64, String)> = fs
            .list(dir)
            .ok()?
            .into_iter()
            .filter_map(|name| match filename::parse(&name) {
                Some(FileKind::Manifest(number)) => Some((number, name)),
                _ => None,
            })
            .collect();
        others.sort();
        let others = others.into_iter().rev().map(|(_, name)| name);
        let mut names = named.into_iter().chain(others);
        names.find_map(|name| Recorded::read_manifest(fs, &dir.join(name)))
    }

    fn read_manifest(fs: &dyn FileSystem, path: &Path) -> Option<Recorded> {
        let file = fs.open_random(path, &OpenOptions::default()).ok()?;
        let mut reader = Reader::for_manifest(file);
        let mut recorded = Recorded::default();
        let default = RecordedFamily {
            name: crate::lifecycle::repair::DEFAULT_COLUMN_FAMILY.to_owned(),
            persist_timestamps: true,
            ..RecordedFamily::default()
        };
        recorded.families.insert(0, default);
        let mut edits = 0;
        let mut next = || -> Result<bool> {
            let Some(record) = reader.read_record()? else {
                return Ok(false);
            };
            recorded.apply(VersionEdit::decode(record)?);
            edits += 1;
            Ok(true)
        };
        let ended = loop {
            match next() {
                Ok(true) => {}
                Ok(false) => break true,
                Err(_) => break false,
            }
        };
        recorded.is_whole = ended && reader.dropped().is_empty();
        (edits > 0).then_some(recorded)
    }

    fn apply(&mut self, edit: VersionEdit) {
        let id = edit.column_family;
        self.max_column_family = self
            .max_column_family
            .max(id)
            .max(edit.max_column_family.unwrap_or(0));
        self.db_id = edit.db_id.or(self.db_id.take());
        self.tables
            .extend(edit.new_files.iter().map(|(_, file)| (file.number, id)));
        if let Some(name) = edit.column_family_add {
            let family = RecordedFamily {
                name,
                persist_timestamps: true,
                ..RecordedFamily::default()
            };
            self.families.insert(id, family);
        }
        if edit.column_family_drop {
            self.families.remove(&id);
        }
        if let (Some(family), Some(comparator)) = (self.families.get_mut(&id), edit.comparator) {
            family.comparator = Some(comparator);
            family.persist_timestamps = edit.persist_user_defined_timestamps.unwrap_or(true);
        }
    }

    /// True if the family was dropped, or never existed.
    pub fn is_dropped(&self, id: u32) -> bool {
        id != 0 && !self.families.contains_key(&id) && (self.is_whole || id <= self.max_column_family)
    }

    /// The family of a table. The table itself may not know it, for instance if it comes from another
    /// database.
    pub fn family_of(&self, table: u64) -> Option<u32> {
        self.tables.get(&table).copied()
    }

    /// True if the MANIFEST names every family.
    pub fn knows_all(&self) -> bool {
        self.is_whole
    }
}
