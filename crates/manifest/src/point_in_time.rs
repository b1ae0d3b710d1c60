//! Best-efforts recovery: the newest state of each family whose files exist.
//!
//! The edits are replayed as always, and before an edit that makes the state of a family impossible, because
//! a file does not exist, that state is kept. At the end each family has the last state that was possible:
//! all of its files exist, or only its newest files of L0 do not, whose rows are then missing. A family
//! without such a state is empty.
//!
//! Families whose edits came in an atomic group leave the state before the group only together, and with all
//! files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::Result;

use crate::blob_file::BlobFileAddition;
use crate::builder::VersionBuilder;
use crate::edit::VersionEdit;
use crate::file::FileMetadata;
use crate::state::{ComparatorFor, ManifestState, Pending, Replay};

/// Looks for the files that a MANIFEST names.
pub trait FilesPresent {
    /// True if the table exists and is the one recorded. `comparator` is the name of the family's order, if
    /// the MANIFEST has it.
    fn has_table(&mut self, family: &str, comparator: Option<&str>, file: &FileMetadata) -> Result<bool>;

    /// True if the blob file exists and is the one recorded.
    fn has_blob(&mut self, family: &str, blob: &BlobFileAddition) -> Result<bool>;
}

/// The files of a family's current state that do not exist.
#[derive(Clone, Default)]
struct Missing {
    /// The level of each table.
    tables: BTreeMap<u64, u32>,
    /// The blob files, with the tables that existed before each, which cannot refer to it.
    blobs: BTreeMap<u64, BTreeSet<u64>>,
    /// True if an edit of the family came in an atomic group.
    in_group: bool,
}

impl Missing {
    fn is_nothing(&self) -> bool {
        self.tables.is_empty() && self.blobs.is_empty()
    }

    /// True if no table of `files` that exists can refer to a missing blob file.
    fn spares_blobs(&self, files: &VersionBuilder) -> bool {
        let refers = |file: &FileMetadata| {
            let is_there = !self.tables.contains_key(&file.number);
            let oldest = file.oldest_blob_file_number.filter(|_| is_there);
            oldest.is_some_and(|oldest| {
                let mut later = self.blobs.range(oldest..);
                later.any(|(_, before)| !before.contains(&file.number))
            })
        };
        self.blobs.is_empty() || !files.added_files().any(|(_, file)| refers(file))
    }

    fn is_complete(&self, files: &VersionBuilder) -> bool {
        self.tables.is_empty() && self.spares_blobs(files)
    }

    /// True if the missing tables are the newest of L0.
    fn only_newest_level0(&self, files: &VersionBuilder) -> bool {
        if self.tables.values().any(|&level| level > 0) {
            return false;
        }
        let mut level0: Vec<&Arc<FileMetadata>> = files
            .added_files()
            .filter(|(level, _)| *level == 0)
            .map(|(_, file)| file)
            .collect();
        let by_epoch = level0.iter().all(|file| file.epoch_number.is_some());
        level0.sort_by_key(|file| {
            let epoch = file.epoch_number.filter(|_| by_epoch);
            std::cmp::Reverse((epoch, file.largest_seqno, file.smallest_seqno, file.number))
        });
        level0
            .iter()
            .take(self.tables.len())
            .all(|file| self.tables.contains_key(&file.number))
    }

    fn is_possible(&self, files: &VersionBuilder) -> bool {
        self.is_complete(files)
            || !self.in_group && self.only_newest_level0(files) && self.spares_blobs(files)
    }

    /// The state without the missing files.
    fn remaining(&self, files: &VersionBuilder) -> Result<VersionBuilder> {
        let mut files = files.clone();
        files.apply(&VersionEdit {
            deleted_files: self
                .tables
                .iter()
                .map(|(&number, &level)| (level, number))
                .collect(),
            ..VersionEdit::default()
        })?;
        self.blobs.keys().for_each(|&number| files.forget_blob(number));
        Ok(files)
    }
}

/// Replays a MANIFEST whose files may be missing.
///
/// Pass the records in order to [`apply_record`](PointInTime::apply_record), then get the state from
/// [`finish`](PointInTime::finish). While files are missing, each edit costs as much as its family has files.
pub struct PointInTime<'a> {
    replay: Replay,
    files: &'a mut dyn FilesPresent,
    missing: BTreeMap<u32, Missing>,
    /// The last possible state of each family.
    kept: BTreeMap<u32, VersionBuilder>,
    /// The edits of the atomic group in progress.
    group: Vec<VersionEdit>,
    /// The first possible state of each family after an atomic group, until all families have one. Empty if
    /// no group is open.
    after_group: BTreeMap<u32, Option<VersionBuilder>>,
}

impl<'a> PointInTime<'a> {
    /// A replay before the first record, which looks for files through `files`.
    pub fn new(files: &'a mut dyn FilesPresent) -> PointInTime<'a> {
        PointInTime {
            replay: Replay::new(),
            files,
            missing: BTreeMap::new(),
            kept: BTreeMap::new(),
            group: Vec::new(),
            after_group: BTreeMap::new(),
        }
    }

    /// Decodes one record and applies it. An error's offset is within the record.
    pub fn apply_record(&mut self, record: &[u8]) -> Result<()> {
        self.apply(VersionEdit::decode(record)?)
    }

    /// Applies one edit; the edits of an atomic group once the last of them is there.
    pub fn apply(&mut self, edit: VersionEdit) -> Result<()> {
        let Some(remaining) = edit.atomic_group_remaining else {
            return self.apply_alone(edit);
        };
        if remaining > 0 {
            self.group.push(edit.clone());
            return self.replay.apply(edit);
        }
        self.begin_group()?;
        self.replay.apply(edit.clone())?;
        let mut group = std::mem::take(&mut self.group);
        group.push(edit);
        for edit in group.iter().filter(|edit| is_about_files(edit)) {
            let absent = self.absent(edit)?;
            self.note(edit, absent);
            self.missing.entry(edit.column_family).or_default().in_group = true;
        }
        Ok(())
    }

    fn apply_alone(&mut self, edit: VersionEdit) -> Result<()> {
        let id = edit.column_family;
        if !is_about_files(&edit) || !self.replay.families.contains_key(&id) {
            let drops = edit.column_family_drop;
            self.replay.apply(edit)?;
            if drops {
                self.missing.remove(&id);
                self.kept.remove(&id);
                self.after_group.remove(&id);
                self.leave_group();
            }
            return Ok(());
        }
        let absent = self.absent(&edit)?;
        let nothing = absent.is_nothing() && self.missing.get(&id).is_none_or(Missing::is_nothing);
        let before = match nothing {
            true => None,
            false => self.possible(id)?,
        };
        self.replay.apply(edit.clone())?;
        self.note(&edit, absent);
        if let Some(before) = before
            && self.replay.has_counters()
            && self.possible(id)?.is_none()
        {
            self.keep(id, before);
        }
        Ok(())
    }

    /// The files among those that `edit` adds that do not exist.
    fn absent(&mut self, edit: &VersionEdit) -> Result<Missing> {
        let mut absent = Missing::default();
        let Some(Pending {
            name,
            comparator,
            builder,
            ..
        }) = self.replay.families.get(&edit.column_family)
        else {
            return Ok(absent);
        };
        for (level, file) in &edit.new_files {
            if !self.files.has_table(name, comparator.as_deref(), file)? {
                absent.tables.insert(file.number, *level);
            }
        }
        for blob in &edit.blob_file_additions {
            if !self.files.has_blob(name, blob)? {
                let added: BTreeSet<u64> = edit.new_files.iter().map(|(_, file)| file.number).collect();
                let before = builder.added_files().map(|(_, file)| file.number);
                absent.blobs.insert(
                    blob.number,
                    before.filter(|number| !added.contains(number)).collect(),
                );
            }
        }
        Ok(absent)
    }

    /// Records that `edit` was applied, some of whose files do not exist.
    fn note(&mut self, edit: &VersionEdit, absent: Missing) {
        let missing = self.missing.entry(edit.column_family).or_default();
        for (_, number) in &edit.deleted_files {
            missing.tables.remove(number);
        }
        missing.tables.extend(absent.tables);
        missing.blobs.extend(absent.blobs);
    }

    /// The current state of the family without its missing files; `None` if it is not possible.
    fn possible(&self, id: u32) -> Result<Option<VersionBuilder>> {
        let Some(family) = self.replay.families.get(&id) else {
            return Ok(None);
        };
        match self.missing.get(&id) {
            Some(missing) if !missing.is_possible(&family.builder) => Ok(None),
            Some(missing) => missing.remaining(&family.builder).map(Some),
            None => Ok(Some(family.builder.clone())),
        }
    }

    fn keep(&mut self, id: u32, state: VersionBuilder) {
        match self.after_group.get_mut(&id) {
            Some(after) => *after = Some(state),
            None => drop(self.kept.insert(id, state)),
        }
        self.leave_group();
    }

    /// When every family has a state after the atomic group, these states become current.
    fn leave_group(&mut self) {
        if self.after_group.values().all(Option::is_some) {
            let states = std::mem::take(&mut self.after_group).into_iter();
            self.kept
                .extend(states.filter_map(|(id, state)| Some((id, state?))));
        }
    }

    fn keep_all_possible(&mut self) -> Result<()> {
        let ids: Vec<u32> = self.replay.families.keys().copied().collect();
        for id in ids {
            if let Some(state) = self.possible(id)? {
                self.keep(id, state);
            }
        }
        Ok(())
    }

    /// Begins an atomic group, in which every family may have a part.
    fn begin_group(&mut self) -> Result<()> {
        if self.replay.has_counters() {
            self.keep_all_possible()?;
        }
        let families = self.replay.families.keys();
        self.after_group = families.map(|&id| (id, None)).collect();
        Ok(())
    }

    /// The last possible state, and whether it is that of the last record, with all files. The arguments and
    /// errors are those of [`Replay::finish`].
    pub fn finish(mut self, comparator_for: &mut ComparatorFor<'_>) -> Result<(ManifestState, bool)> {
        self.keep_all_possible()?;
        let is_complete = |(id, family): (&u32, &Pending)| {
            let missing = self.missing.get(id);
            missing.is_none_or(|missing| missing.is_complete(&family.builder))
        };
        let whole = self.after_group.is_empty() && self.replay.families.iter().all(is_complete);
        for (id, family) in &mut self.replay.families {
            family.builder = self.kept.remove(id).unwrap_or_else(VersionBuilder::of_nothing);
        }
        Ok((self.replay.finish(comparator_for)?, whole))
    }
}

/// True if the edit changes the files of its family: RocksDB ignores files in edits of other kinds.
fn is_about_files(edit: &VersionEdit) -> bool {
    let about_wals = !edit.wal_additions.is_empty() || edit.wal_deletion.is_some_and(|number| number != 0);
    edit.column_family_add.is_none() && !edit.column_family_drop && !about_wals
}
