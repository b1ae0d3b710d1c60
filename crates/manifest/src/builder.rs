//! Applies version edits to a version.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic;

use base::{Error, InternalComparator, Result, UserComparator};

use crate::blob_file::{BlobFileAddition, BlobFileGarbage, BlobFileMetadata};
use crate::edit::VersionEdit;
use crate::file::FileMetadata;
use crate::version::{DEFAULT_NUM_LEVELS, Level, MAX_LEVELS, Version};

/// Applies edits to a version and builds the next one. Checks the invariants of a version:
///
/// * a deleted file existed, and an added one did not;
/// * files below L0 do not overlap, and no smallest key exceeds the largest;
/// * L0 files have an order: by epoch number if all files of the family have one, otherwise by sequence
///   numbers that do not nest;
/// * blob garbage belongs to an existing blob file, and does not exceed its size.
///
/// Levels that no edit touches are shared with the old version, so the cost of a build is that of the levels
/// touched. After an error the builder must be dropped.
#[derive(Clone, Debug)]
pub struct VersionBuilder {
    base: Version,
    levels: Vec<LevelChanges>,
    /// The level of each file that an edit touched, `None`: no level any more.
    touched: HashMap<u64, Option<usize>>,
    /// The blob files that an edit touched, in their current state.
    blobs: BTreeMap<u64, BlobFileMetadata>,
}

#[derive(Clone, Debug, Default)]
struct LevelChanges {
    /// The deleted files of the base version.
    deleted: BTreeSet<u64>,
    added: BTreeMap<u64, Arc<FileMetadata>>,
}

impl LevelChanges {
    fn is_empty(&self) -> bool {
        self.deleted.is_empty() && self.added.is_empty()
    }
}

fn corruption(message: String) -> Error {
    Error::corruption(format!("VersionBuilder: {message}"))
}

impl VersionBuilder {
    /// A builder that starts from `base`.
    pub fn new(base: &Version) -> VersionBuilder {
        VersionBuilder {
            base: base.clone(),
            levels: Vec::new(),
            touched: HashMap::new(),
            blobs: BTreeMap::new(),
        }
    }

    /// A builder for a replay from nothing, whose order of keys is not known yet.
    pub(crate) fn of_nothing() -> VersionBuilder {
        let cmp = InternalComparator::new(UserComparator::Bytewise);
        VersionBuilder::new(&Version::empty(cmp, DEFAULT_NUM_LEVELS))
    }

    /// Applies one edit, regardless of the family it names. Fields that do not concern files are ignored.
    pub fn apply(&mut self, edit: &VersionEdit) -> Result<()> {
        for addition in &edit.blob_file_additions {
            self.add_blob_file(addition)?;
        }
        for garbage in &edit.blob_file_garbages {
            self.add_blob_garbage(garbage)?;
        }
        for &(level, number) in &edit.deleted_files {
            self.delete_file(level, number)?;
        }
        for (level, file) in &edit.new_files {
            self.add_file(*level, file)?;
        }
        Ok(())
    }

    fn level_of(&self, number: u64) -> Option<usize> {
        match self.touched.get(&number) {
            Some(level) => *level,
            None => self.base.level_of(number),
        }
    }

    fn changes(&mut self, level: usize) -> &mut LevelChanges {
        if self.levels.len() <= level {
            self.levels.resize_with(level + 1, LevelChanges::default);
        }
        &mut self.levels[level]
    }

    fn delete_file(&mut self, level: u32, number: u64) -> Result<()> {
        let current = self.level_of(number);
        let Some(current) = current.filter(|&current| current as u64 == u64::from(level)) else {
            let place = current.map_or("not in the LSM tree".to_owned(), |current| {
                format!("on level {current}")
            });
            return Err(corruption(format!(
                "Cannot delete table file #{number} from level {level} since it is {place}"
            )));
        };
        let file = match self.changes(current).added.remove(&number) {
            Some(file) => Some(file),
            None => {
                self.changes(current).deleted.insert(number);
                self.base.level(current).file(number).cloned()
            }
        };
        self.touched.insert(number, None);
        if let Some(blob) = file.and_then(|file| file.oldest_blob_file_number)
            && let Some(blob) = self.blob_mut(blob)
        {
            blob.linked_ssts.remove(&number);
        }
        Ok(())
    }

    fn add_file(&mut self, level: u32, file: &Arc<FileMetadata>) -> Result<()> {
        let number = file.number;
        if let Some(current) = self.level_of(number) {
            return Err(corruption(format!(
                "Cannot add table file #{number} to level {level} since it is already in the LSM tree on level {current}"
            )));
        }
        let level = level as usize;
        if level >= MAX_LEVELS {
            return Err(corruption(format!(
                "Cannot add table file #{number} to level {level}: there are at most {MAX_LEVELS}"
            )));
        }
        self.changes(level).added.insert(number, Arc::clone(file));
        self.touched.insert(number, Some(level));
        if let Some(blob) = file.oldest_blob_file_number
            && let Some(blob) = self.blob_mut(blob)
        {
            blob.linked_ssts.insert(number);
        }
        Ok(())
    }

    /// The current state of the blob file, for a change; `None` if no blob file has that number.
    fn blob_mut(&mut self, number: u64) -> Option<&mut BlobFileMetadata> {
        if !self.blobs.contains_key(&number) {
            let base = self.base.blob_files().get(&number)?;
            self.blobs.insert(number, BlobFileMetadata::clone(base));
        }
        self.blobs.get_mut(&number)
    }

    fn add_blob_file(&mut self, addition: &BlobFileAddition) -> Result<()> {
        let number = addition.number;
        if self.blobs.contains_key(&number) || self.base.blob_files().contains_key(&number) {
            return Err(corruption(format!("Blob file #{number} already added")));
        }
        self.blobs.insert(number, BlobFileMetadata::new(addition.clone()));
        Ok(())
    }

    fn add_blob_garbage(&mut self, garbage: &BlobFileGarbage) -> Result<()> {
        let number = garbage.number;
        let blob = self
            .blob_mut(number)
            .ok_or_else(|| corruption(format!("Blob file #{number} not found")))?;
        let count = blob.garbage_blob_count.checked_add(garbage.garbage_blob_count);
        let bytes = blob.garbage_blob_bytes.checked_add(garbage.garbage_blob_bytes);
        match (count, bytes) {
            (Some(count), Some(bytes))
                if count <= blob.total_blob_count() && bytes <= blob.total_blob_bytes() =>
            {
                (blob.garbage_blob_count, blob.garbage_blob_bytes) = (count, bytes);
                Ok(())
            }
            _ => Err(corruption(format!("Garbage overflow for blob file #{number}"))),
        }
    }

    /// The files added so far, for a replay that learns only at the end how to interpret their bounds.
    pub(crate) fn added_files_mut(&mut self) -> impl Iterator<Item = &mut Arc<FileMetadata>> {
        self.levels.iter_mut().flat_map(|level| level.added.values_mut())
    }

    /// The files added so far, with their levels.
    pub(crate) fn added_files(&self) -> impl Iterator<Item = (usize, &Arc<FileMetadata>)> {
        let levels = self.levels.iter().enumerate();
        levels.flat_map(|(level, changes)| changes.added.values().map(move |file| (level, file)))
    }

    /// Removes a blob file that an edit added.
    pub(crate) fn forget_blob(&mut self, number: u64) {
        self.blobs.remove(&number);
    }

    /// Changes the order of keys. Only for a builder that started from an empty version.
    pub(crate) fn set_cmp(&mut self, cmp: InternalComparator) {
        base::invariant!(self.base.num_files() == 0);
        self.base = Version::empty(cmp, self.base.num_levels());
    }

    /// The version after all edits. It has as many levels as the old one, or as the files need.
    pub fn build(self) -> Result<Version> {
        let cmp = self.base.cmp().clone();
        let num_levels = self.base.num_levels().max(self.levels.len());
        let empty_level = Arc::new(Level::default());
        let no_changes = LevelChanges::default();
        let old = |level: usize| self.base.level_arc(level).unwrap_or(&empty_level);
        let changes = |level: usize| self.levels.get(level).unwrap_or(&no_changes);

        let mut levels = Vec::with_capacity(num_levels);
        // L0 is built last: its order depends on every file.
        levels.push(Arc::clone(&empty_level));
        for level in 1..num_levels {
            levels.push(if changes(level).is_empty() {
                Arc::clone(old(level))
            } else {
                Arc::new(build_level(&cmp, level, old(level), changes(level))?)
            });
        }
        let all_have_epochs = |levels: &[Arc<Level>]| levels.iter().all(|level| level.all_have_epochs());
        let l0_changes = changes(0);
        let by_epoch = all_have_epochs(&levels[1..])
            && old(0)
                .files()
                .iter()
                .filter(|file| !l0_changes.deleted.contains(&file.number))
                .chain(l0_changes.added.values())
                .all(|file| file.epoch_number.is_some());
        let was_by_epoch = (0..self.base.num_levels()).all(|level| old(level).all_have_epochs());
        let same_order = by_epoch == was_by_epoch || old(0).files().len() < 2;
        levels[0] = if l0_changes.is_empty() && same_order {
            Arc::clone(old(0))
        } else {
            Arc::new(build_level0(&cmp, old(0), l0_changes, by_epoch)?)
        };
        let blob_files = build_blob_files(&self.base, self.blobs)?;
        Ok(Version::from_parts(cmp, levels, blob_files))
    }
}

/// The files of L0, the newest first.
fn build_level0(
    cmp: &InternalComparator,
    old: &Level,
    changes: &LevelChanges,
    by_epoch: bool,
) -> Result<Level> {
    let kept = old.files().iter();
    let kept = kept.filter(|file| !changes.deleted.contains(&file.number));
    let mut files: Vec<_> = kept.chain(changes.added.values()).cloned().collect();
    let by_seqno = |a: &FileMetadata, b: &FileMetadata| {
        let rank = |file: &FileMetadata| (file.largest_seqno, file.smallest_seqno, file.number);
        rank(b).cmp(&rank(a))
    };
    if by_epoch {
        files.sort_by(|a, b| b.epoch_number.cmp(&a.epoch_number).then_with(|| by_seqno(a, b)));
        check_epochs(cmp, &files)?;
    } else {
        files.sort_by(|a, b| by_seqno(a, b));
        check_seqnos(&files)?;
    }
    for file in changes.added.values() {
        check_bounds(cmp, file)?;
        file.level.store(0, atomic::Ordering::Relaxed);
    }
    Ok(Level::new(cmp.user(), 0, files, old, |_| None))
}

/// Files of one epoch come from one ingestion or atomic flush and must not have different versions of one
/// key.
fn check_epochs(cmp: &InternalComparator, newest_first: &[Arc<FileMetadata>]) -> Result<()> {
    for same in newest_first.chunk_by(|a, b| a.epoch_number == b.epoch_number) {
        if same.len() < 2 {
            continue;
        }
        let mut by_key: Vec<_> = same.iter().collect();
        by_key.sort_by(|a, b| cmp.compare(&a.smallest, &b.smallest));
        if let Some(pair) = by_key
            .windows(2)
            .find(|pair| cmp.compare(&pair[0].largest, &pair[1].smallest).is_ge())
        {
            return Err(corruption(format!(
                "L0 files of same epoch number but overlapping range #{} vs. file #{}",
                pair[0].number, pair[1].number
            )));
        }
    }
    Ok(())
}

/// Without epoch numbers only the sequence numbers determine which file is newer: a newer file must begin
/// later. Ingested files have one sequence number for all their entries, which no newer data shares.
/// LevelDB's files have no sequence numbers and are ordered by file number.
fn check_seqnos(newest_first: &[Arc<FileMetadata>]) -> Result<()> {
    for pair in newest_first.windows(2) {
        let (newer, older) = (&pair[0], &pair[1]);
        if [newer, older]
            .iter()
            .any(|file| file.smallest_seqno > file.largest_seqno)
        {
            continue;
        }
        let ordered = if older.smallest_seqno == older.largest_seqno {
            older.largest_seqno < newer.largest_seqno || older.largest_seqno == 0
        } else {
            newer.smallest_seqno > older.smallest_seqno
        };
        if !ordered {
            return Err(corruption(format!(
                "L0 files seqno {} {} vs. {} {}: which of files #{} and #{} is newer is not known",
                newer.smallest_seqno,
                newer.largest_seqno,
                older.smallest_seqno,
                older.largest_seqno,
                newer.number,
                older.number
            )));
        }
    }
    Ok(())
}

fn check_bounds(cmp: &InternalComparator, file: &FileMetadata) -> Result<()> {
    // The equal bounds of a file of one key need no comparison, which might call a comparator of the user.
    if file.smallest != file.largest && cmp.compare(&file.smallest, &file.largest).is_gt() {
        return Err(corruption(format!(
            "file #{} smallest key {} is beyond its largest key {}",
            file.number,
            file.smallest.escape_ascii(),
            file.largest.escape_ascii()
        )));
    }
    Ok(())
}

/// Builds a level below L0: the remaining old files merged with the new files, by smallest key.
fn build_level(cmp: &InternalComparator, level: usize, old: &Level, changes: &LevelChanges) -> Result<Level> {
    let mut added: Vec<&Arc<FileMetadata>> = changes.added.values().collect();
    added.sort_by(|a, b| cmp.compare(&a.smallest, &b.smallest));
    for file in &added {
        check_bounds(cmp, file)?;
        file.level
            .store(u8::try_from(level).unwrap_or(u8::MAX), atomic::Ordering::Relaxed);
    }
    let mut added = added.into_iter().peekable();
    let capacity = old.files().len() + added.len();
    let mut files: Vec<Arc<FileMetadata>> = Vec::with_capacity(capacity);
    let mut origins: Vec<Option<usize>> = Vec::with_capacity(capacity);
    let mut push = |file: &Arc<FileMetadata>, origin: Option<usize>| -> Result<()> {
        // Two old neighbours were checked when they became neighbours.
        let checked = origin.is_some() && origins.last().is_some_and(|last| last.is_some());
        if let Some(last) = files.last().filter(|_| !checked)
            && cmp.compare(&last.largest, &file.smallest).is_ge()
        {
            return Err(corruption(format!(
                "L{level} has overlapping ranges: file #{} largest key: {} vs. file #{} smallest key: {}",
                last.number,
                last.largest.escape_ascii(),
                file.number,
                file.smallest.escape_ascii()
            )));
        }
        files.push(Arc::clone(file));
        origins.push(origin);
        Ok(())
    };
    for (i, file) in old.files().iter().enumerate() {
        if changes.deleted.contains(&file.number) {
            continue;
        }
        while let Some(new) =
            added.next_if(|new| cmp.compare(&new.smallest, &file.smallest) != Ordering::Greater)
        {
            push(new, None)?;
        }
        push(file, Some(i))?;
    }
    for new in added {
        push(new, None)?;
    }
    Ok(Level::new(cmp.user(), level, files, old, |i| origins[i]))
}

/// Blob files are kept while an SST refers to them or to an older one, and while not all of their records are
/// garbage.
fn build_blob_files(
    base: &Version,
    changed: BTreeMap<u64, BlobFileMetadata>,
) -> Result<Arc<BTreeMap<u64, Arc<BlobFileMetadata>>>> {
    if changed.is_empty() {
        return Ok(Arc::clone(base.blob_files_arc()));
    }
    let mut blobs = base.blob_files().clone();
    blobs.extend(changed.into_iter().map(|(number, blob)| (number, Arc::new(blob))));
    let oldest = blobs.values().find(|blob| !blob.linked_ssts.is_empty());
    let Some(oldest) = oldest.map(|blob| blob.number()) else {
        return Ok(Arc::default());
    };
    blobs.retain(|&number, blob| number >= oldest && !(blob.linked_ssts.is_empty() && blob.is_all_garbage()));
    if let Some(blob) = blobs.values().find(|blob| blob.is_all_garbage()) {
        return Err(corruption(format!(
            "Blob file #{} consists entirely of garbage",
            blob.number()
        )));
    }
    Ok(Arc::new(blobs))
}
