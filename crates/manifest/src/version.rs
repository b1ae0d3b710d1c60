//! Versions: the files of a column family at one moment.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use base::{InternalComparator, KeyPrefixes, UserComparator};

use crate::blob_file::BlobFileMetadata;
use crate::file::FileMetadata;

/// The maximum number of levels. RocksDB's default is 7; the bound prevents a corrupt MANIFEST from causing
/// large allocations.
pub const MAX_LEVELS: usize = 64;

/// The number of levels in RocksDB's default options.
pub const DEFAULT_NUM_LEVELS: usize = 7;

/// The files of one level. Versions that do not differ in a level share it.
#[derive(Clone, Debug)]
pub struct Level {
    files: Vec<Arc<FileMetadata>>,
    /// Prefixes of the smallest and the largest keys, so that most searches read no file's metadata. Empty
    /// for L0, whose files overlap.
    smallest: KeyPrefixes,
    largest: KeyPrefixes,
    /// Each file's number and position, by number.
    places: Vec<(u64, usize)>,
    bytes: u64,
    /// The highest epoch number; `None` if a file has none.
    highest_epoch: Option<u64>,
}

impl Default for Level {
    fn default() -> Level {
        Level {
            files: Vec::new(),
            smallest: KeyPrefixes::default(),
            largest: KeyPrefixes::default(),
            places: Vec::new(),
            bytes: 0,
            highest_epoch: Some(0),
        }
    }
}

impl Level {
    /// The files: in L0 newest first, elsewhere by smallest key and without overlap.
    pub fn files(&self) -> &[Arc<FileMetadata>] {
        &self.files
    }

    /// The bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if the file is in this level. Costs a time logarithmic in the number of files.
    pub fn contains(&self, number: u64) -> bool {
        self.file(number).is_some()
    }

    /// The file of that number, if it is in this level. Costs a time logarithmic in the number of files.
    pub fn file(&self, number: u64) -> Option<&Arc<FileMetadata>> {
        let place = self.places.binary_search_by_key(&number, |place| place.0).ok()?;
        Some(&self.files[self.places[place].1])
    }

    /// True if every file has an epoch number.
    pub(crate) fn all_have_epochs(&self) -> bool {
        self.highest_epoch.is_some()
    }

    /// A level of sorted, checked `files`. `origin(i)` is the position of file `i` in `old`, if it is there.
    pub(crate) fn new(
        cmp: &UserComparator,
        level: usize,
        files: Vec<Arc<FileMetadata>>,
        old: &Level,
        origin: impl Fn(usize) -> Option<usize>,
    ) -> Level {
        let (smallest, largest) = if level == 0 {
            (KeyPrefixes::default(), KeyPrefixes::default())
        } else {
            let low = |i: usize| cmp.strip_timestamp(files[i].smallest_user_key());
            let high = |i: usize| cmp.strip_timestamp(files[i].largest_user_key());
            (
                KeyPrefixes::derive(cmp, files.len(), low, &old.smallest, &origin),
                KeyPrefixes::derive(cmp, files.len(), high, &old.largest, &origin),
            )
        };
        let mut places: Vec<_> = files.iter().map(|file| file.number).zip(0..).collect();
        places.sort_unstable();
        let highest_epoch = files
            .iter()
            .try_fold(0, |highest, file| Some(file.epoch_number?.max(highest)));
        Level {
            bytes: files
                .iter()
                .fold(0, |sum: u64, file| sum.saturating_add(file.size)),
            files,
            smallest,
            largest,
            places,
            highest_epoch,
        }
    }
}

/// The files of a column family at one moment. Immutable; share it in an `Arc`. A clone copies one pointer
/// per level.
#[derive(Clone)]
pub struct Version {
    cmp: InternalComparator,
    levels: Vec<Arc<Level>>,
    /// The level of all files, if they are in a single level below L0.
    only_level: Option<usize>,
    blob_files: Arc<BTreeMap<u64, Arc<BlobFileMetadata>>>,
}

/// See [`Version::only_level`].
fn only_level_of(levels: &[Arc<Level>]) -> Option<usize> {
    let mut filled = (0..levels.len()).filter(|&level| !levels[level].files.is_empty());
    filled
        .next()
        .filter(|&level| level > 0 && filled.next().is_none())
}

impl Version {
    /// No files, in `num_levels` levels (at least 1, at most [`MAX_LEVELS`]).
    pub fn empty(cmp: InternalComparator, num_levels: usize) -> Version {
        let level = Arc::new(Level::default());
        Version {
            cmp,
            levels: vec![level; num_levels.clamp(1, MAX_LEVELS)],
            only_level: None,
            blob_files: Arc::default(),
        }
    }

    /// Returns a version with the same files in `num_levels` levels, or in as many as have files if those are
    /// more. At most [`MAX_LEVELS`].
    pub fn with_num_levels(&self, num_levels: usize) -> Version {
        let mut version = self.clone();
        let num_levels = num_levels.clamp(self.num_non_empty_levels().max(1), MAX_LEVELS);
        version.levels.resize_with(num_levels, Arc::default);
        version
    }

    /// Returns a version with the same files except those of the last level, and one level less. At least L0
    /// remains.
    pub fn without_last_level(&self) -> Version {
        let mut version = self.clone();
        version
            .levels
            .truncate(self.levels.len().saturating_sub(1).max(1));
        version.only_level = only_level_of(&version.levels);
        version
    }

    /// Returns a version with the same files; files that `other` has too, on whatever level, share its
    /// metadata, so that the engine's state of them stays useful. Costs as much as there are files.
    pub fn sharing_files_of(&self, other: &Version) -> Version {
        let mut version = self.clone();
        for level in &mut version.levels {
            let known = |file: &Arc<FileMetadata>| {
                let known = other.levels.iter().find_map(|level| level.file(file.number))?;
                (!Arc::ptr_eq(file, known) && known.is_same_table(file)).then(|| known.clone())
            };
            let known: Vec<_> = level.files.iter().map(known).collect();
            if known.iter().any(Option::is_some) {
                let level = Arc::make_mut(level);
                for (file, known) in level.files.iter_mut().zip(known) {
                    *file = known.unwrap_or_else(|| file.clone());
                }
            }
        }
        let mut blobs = BTreeMap::clone(&version.blob_files);
        for (number, blob) in &mut blobs {
            if let Some(known) = other.blob_files.get(number)
                && known.shared.addition == blob.shared.addition
            {
                Arc::make_mut(blob).shared = known.shared.clone();
            }
        }
        version.blob_files = Arc::new(blobs);
        version
    }

    pub(crate) fn from_parts(
        cmp: InternalComparator,
        levels: Vec<Arc<Level>>,
        blob_files: Arc<BTreeMap<u64, Arc<BlobFileMetadata>>>,
    ) -> Version {
        Version {
            cmp,
            only_level: only_level_of(&levels),
            levels,
            blob_files,
        }
    }

    pub(crate) fn level_arc(&self, level: usize) -> Option<&Arc<Level>> {
        self.levels.get(level)
    }

    pub(crate) fn blob_files_arc(&self) -> &Arc<BTreeMap<u64, Arc<BlobFileMetadata>>> {
        &self.blob_files
    }

    /// The order of the family's keys.
    pub fn cmp(&self) -> &InternalComparator {
        &self.cmp
    }

    /// The number of levels, including empty ones.
    pub fn num_levels(&self) -> usize {
        self.levels.len()
    }

    /// The number of levels up to the last that has files, or 0 without files.
    pub fn num_non_empty_levels(&self) -> usize {
        let last = self.levels.iter().rposition(|level| !level.files.is_empty());
        last.map_or(0, |last| last + 1)
    }

    /// The level of all files, if they are in a single level below L0: then they are one sorted run.
    #[inline]
    pub fn only_level(&self) -> Option<usize> {
        self.only_level
    }

    /// A level, which must be below [`num_levels`](Self::num_levels).
    #[inline]
    pub fn level(&self, level: usize) -> &Level {
        &self.levels[level]
    }

    /// The files of `level`: in L0 newest first, elsewhere by smallest key and without overlap. Empty beyond
    /// the last level.
    #[inline]
    pub fn files(&self, level: usize) -> &[Arc<FileMetadata>] {
        self.levels.get(level).map_or(&[], |level| &level.files)
    }

    /// All files with their levels.
    pub fn all_files(&self) -> impl Iterator<Item = (usize, &Arc<FileMetadata>)> {
        let levels = self.levels.iter().enumerate();
        levels.flat_map(|(number, level)| level.files.iter().map(move |file| (number, file)))
    }

    /// The number of files in all levels.
    pub fn num_files(&self) -> usize {
        self.levels.iter().map(|level| level.files.len()).sum()
    }

    /// The bytes of the files of `level`.
    pub fn level_bytes(&self, level: usize) -> u64 {
        self.levels.get(level).map_or(0, |level| level.bytes)
    }

    /// The bytes of the files of all levels, without blob files.
    pub fn total_bytes(&self) -> u64 {
        self.levels
            .iter()
            .fold(0, |sum: u64, level| sum.saturating_add(level.bytes))
    }

    /// The level the file is in, if it is in the version. Logarithmic.
    pub fn level_of(&self, number: u64) -> Option<usize> {
        self.levels.iter().position(|level| level.contains(number))
    }

    /// The live blob files by number.
    pub fn blob_files(&self) -> &BTreeMap<u64, Arc<BlobFileMetadata>> {
        &self.blob_files
    }

    /// In a level below L0: the index of the first file whose largest key is not before `internal_key`, or
    /// the number of files if there is none.
    #[inline]
    pub fn find_file(&self, level: usize, internal_key: &[u8]) -> usize {
        let level = &self.levels[level];
        let user_key = self
            .cmp
            .user()
            .strip_timestamp(base::internal_key::user_key(internal_key));
        level.largest.partition_point(user_key, |i| {
            self.cmp.compare(&level.files[i].largest, internal_key).is_lt()
        })
    }

    /// The sorted runs whose ranges may have versions of the internal key's user key at or after it, the
    /// newest first: the level of each, and its files from the first such file on. In L0 each file is a run.
    #[inline]
    pub fn runs_of(&self, internal_key: &[u8]) -> impl Iterator<Item = (usize, &[Arc<FileMetadata>])> {
        let user = self.cmp.user();
        let user_key = base::internal_key::user_key(internal_key);
        let holds = move |file: &&Arc<FileMetadata>| file.overlaps(user, Some(user_key), Some(user_key));
        let level_0 = self
            .files(0)
            .iter()
            .filter(holds)
            .map(|file| (0, std::slice::from_ref(file)));
        let below = (1..self.num_non_empty_levels()).filter(|&level| !self.files(level).is_empty());
        let below = below.filter_map(move |level| Some((level, self.run_of(level, internal_key)?)));
        level_0.chain(below)
    }

    /// In a level below L0: its files from the first on whose range may have versions of the internal key's
    /// user key at or after it; `None` if there is none.
    #[inline]
    pub fn run_of(&self, level: usize, internal_key: &[u8]) -> Option<&[Arc<FileMetadata>]> {
        let files = &self.files(level)[self.find_file(level, internal_key)..];
        let user_key = base::internal_key::user_key(internal_key);
        let has_room = !files.first()?.is_after(self.cmp.user(), user_key);
        has_room.then_some(files)
    }

    /// In a level below L0: the files that may hold versions of `user_key` (with or without its timestamp:
    /// see `has_timestamp`). Nearly always none or one; more if versions of one key span files.
    #[inline]
    pub fn files_for_user_key(&self, level: usize, user_key: &[u8]) -> &[Arc<FileMetadata>] {
        let range = self.overlapping_range(level, Some(user_key), Some(user_key));
        &self.levels[level].files[range]
    }

    /// In a level below L0: the indices of the files whose ranges overlap the user keys from `begin` to
    /// `end`, both inclusive, `None`: unbounded. Timestamps are ignored.
    #[inline]
    pub fn overlapping_range(&self, level: usize, begin: Option<&[u8]>, end: Option<&[u8]>) -> Range<usize> {
        let user = self.cmp.user();
        let level = &self.levels[level];
        let first = begin.map_or(0, |begin| {
            let key = user.strip_timestamp(begin);
            level
                .largest
                .partition_point(key, |i| level.files[i].is_before(user, begin))
        });
        let last = end.map_or(level.files.len(), |end| {
            let rank = level.smallest.rank(user.strip_timestamp(end));
            let reaches = |i: usize| match level.smallest.compare_at(i, rank) {
                Ordering::Less => true,
                Ordering::Equal => !level.files[i].is_after(user, end),
                Ordering::Greater => false,
            };
            // The run is nearly always short, so a linear search comes before the binary one.
            let (mut low, mut high) = (first, level.files.len());
            while low < first + 4 {
                if low == high || !reaches(low) {
                    return low;
                }
                low += 1;
            }
            while low < high {
                let middle = low + (high - low) / 2;
                if reaches(middle) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            low
        });
        first..last
    }

    /// The files of any level whose ranges overlap the user keys from `begin` to `end`, both inclusive,
    /// `None`: unbounded, in the level's order.
    pub fn overlapping(
        &self,
        level: usize,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Vec<Arc<FileMetadata>> {
        if level == 0 {
            let overlaps = |file: &&Arc<FileMetadata>| file.overlaps(self.cmp.user(), begin, end);
            return self.files(0).iter().filter(overlaps).cloned().collect();
        }
        if level >= self.num_levels() {
            return Vec::new();
        }
        self.levels[level].files[self.overlapping_range(level, begin, end)].to_vec()
    }

    /// True if the range of a file of `level` overlaps the user keys from `begin` to `end`, both inclusive,
    /// `None`: unbounded.
    pub fn overlaps(&self, level: usize, begin: Option<&[u8]>, end: Option<&[u8]>) -> bool {
        if level == 0 {
            return self
                .files(0)
                .iter()
                .any(|file| file.overlaps(self.cmp.user(), begin, end));
        }
        level < self.num_levels() && !self.overlapping_range(level, begin, end).is_empty()
    }

    /// The epoch number for the next flushed or ingested file: one more than the highest, if every file has
    /// one. Otherwise `None`: then new files must not have one either (see `docs/format/manifest.md`).
    pub fn next_epoch_number(&self) -> Option<u64> {
        let mut levels = self.levels.iter();
        let highest = levels.try_fold(0, |highest: u64, level| Some(level.highest_epoch?.max(highest)))?;
        (highest > 0).then(|| highest.checked_add(1))?
    }
}

/// The numbers of the blob files that are in `old` and no longer in `new`: no live SST refers to one of their
/// records or to an older blob file. They may be deleted when `old` and all versions before it are released.
pub fn obsolete_blob_files<'a>(old: &'a Version, new: &'a Version) -> impl Iterator<Item = u64> + 'a {
    let numbers = old.blob_files.keys().copied();
    numbers.filter(|number| !new.blob_files.contains_key(number))
}

impl fmt::Debug for Version {
    /// One line per file, as `describe` prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, level) in self.levels.iter().enumerate() {
            if level.files.is_empty() {
                continue;
            }
            writeln!(f, "L{number}: {} files, {} bytes", level.files.len(), level.bytes)?;
            for file in &level.files {
                writeln!(f, "  {file:?}")?;
            }
        }
        for blob in self.blob_files.values() {
            writeln!(
                f,
                "blob #{} records={} bytes={} garbage={}/{} linked={:?}",
                blob.number(),
                blob.total_blob_count(),
                blob.total_blob_bytes(),
                blob.garbage_blob_count,
                blob.garbage_blob_bytes,
                blob.linked_ssts
            )?;
        }
        Ok(())
    }
}
