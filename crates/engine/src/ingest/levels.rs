//! The placement of files: the lowest level such that neither it nor any level above has the file's keys, and
//! the sequence number that makes the file newer than the data below.

use base::{Error, ErrorKind, Result, SeqNo, UserComparator};
use compact::levels::LevelTargets;
use compact::picker::Running;
use manifest::Version;
use memtable::Memtable;

use super::inspect::ExternalFile;
use super::prepare::PreparedFamily;
use crate::options::CompactionStyle;
use crate::read::overlap::{has_entry, table_overlaps};
use crate::state::column_family::Family;
use crate::state::super_version::SuperVersion;

/// The placement of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FilePlacement {
    pub level: usize,
    /// The sequence number of all entries; 0 if the file needs none.
    pub seqno: SeqNo,
}

/// Whether each level has keys of a file, for each file.
pub(super) type Overlaps = Vec<Vec<bool>>;

impl PreparedFamily {
    /// True if a memtable has keys of a file, or of the range that the files replace.
    pub fn overlaps_memtables(&self, super_version: &SuperVersion) -> Result<bool> {
        let user = self.family.cmp.user();
        if let Some(range) = &self.replace {
            return range.meets_memtables(user, super_version);
        }
        for mem in std::iter::once(&super_version.mem).chain(&super_version.immutable) {
            if mem.is_empty() {
                continue;
            }
            let tombstones = mem.range_tombstones().snapshot();
            for file in &self.files {
                let (start, limit) = (file.external.start(), file.external.limit());
                let overlaps = tombstones.overlaps(user, start, limit);
                if overlaps || has_entry(&mut Memtable::cursor(mem), user, start, limit)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Searches the tables of `version` whose ranges overlap the files.
    pub fn overlaps(&self, version: &Version) -> Result<Overlaps> {
        let levels = 0..version.num_levels();
        let of_file = |file: &ExternalFile| {
            levels
                .clone()
                .map(|level| level_overlaps(&self.family, version, level, file, self.options.fill_cache))
                .collect()
        };
        self.files.iter().map(|file| of_file(&file.external)).collect()
    }

    /// Determines the placement of each file. Files that overlap each other are placed above one another, in
    /// order. `last` is the database's last sequence number; files that need sequence numbers raise it.
    pub fn place(
        &self,
        version: &Version,
        running: &Running,
        overlaps: &Overlaps,
        snapshots: bool,
        last: &mut SeqNo,
    ) -> Result<Vec<FilePlacement>> {
        let finder = Finder {
            prepared: self,
            version,
            running,
            base_level: match self.family.options.compaction_style {
                CompactionStyle::Level => {
                    LevelTargets::new(version, &self.family.current().leveled()).base_level
                }
                _ => 0,
            },
            files_overlap: self.files_overlap(),
            force_seqno: self.options.snapshot_consistency && snapshots,
        };
        let user = self.family.cmp.user();
        let mut places: Vec<FilePlacement> = Vec::new();
        // The earlier files of the current batch, which do not overlap each other, and the level above which
        // the batch must be placed.
        let mut batch_start = 0;
        let mut below: Option<usize> = None;
        for (at, file) in self.files.iter().enumerate() {
            let file = &file.external;
            // As in RocksDB, a file begins a new batch if it overlaps the range of the whole batch, even
            // between two of its files.
            if overlaps_batch(&self.files[batch_start..at], file, user) {
                below = places[batch_start..].iter().map(|place| place.level).min();
                batch_start = at;
            }
            let place = finder.place(file, &overlaps[at], below, *last)?;
            self.check_seqno(file, place.seqno)?;
            *last = place.seqno.max(*last);
            places.push(place);
        }
        Ok(places)
    }

    fn check_seqno(&self, file: &ExternalFile, seqno: SeqNo) -> Result<()> {
        if self.options.allow_db_generated_files && seqno != 0 {
            return Err(Error::invalid_argument(
                "An ingested file overlaps with existing data in the DB and has been assigned a non-zero sequence number, \
                 which is not allowed when 'allow_db_generated_files' is enabled.",
            ));
        }
        let stored = file.properties.external_sst_file_global_seqno.unwrap_or(0);
        if stored != seqno && !self.options.allow_global_seqno && !self.options.allow_db_generated_files {
            return Err(Error::invalid_argument("Global seqno is required, but disabled"));
        }
        Ok(())
    }
}

fn overlaps_batch(
    batch: &[super::prepare::PreparedFile],
    file: &ExternalFile,
    user: &UserComparator,
) -> bool {
    let before = |other: &ExternalFile| {
        user.compare_without_timestamp(other.limit(), file.start())
            .is_lt()
    };
    let behind = |other: &ExternalFile| {
        user.compare_without_timestamp(file.limit(), other.start())
            .is_lt()
    };
    !batch.iter().all(|other| before(&other.external)) && !batch.iter().all(|other| behind(&other.external))
}

/// The data that determines the placement of a family's files.
struct Finder<'a> {
    prepared: &'a PreparedFamily,
    version: &'a Version,
    running: &'a Running,
    base_level: usize,
    files_overlap: bool,
    force_seqno: bool,
}

impl Finder<'_> {
    fn place(
        &self,
        file: &ExternalFile,
        overlaps: &[bool],
        below: Option<usize>,
        last: SeqNo,
    ) -> Result<FilePlacement> {
        let options = &self.prepared.options;
        let user = self.prepared.family.cmp.user();
        let num_levels = self.version.num_levels();
        if options.ingest_behind {
            return self.place_behind(file);
        }
        let style = self.prepared.family.options.compaction_style;
        let only_level_0 = below == Some(0) || style == CompactionStyle::Fifo;
        let keeps_seqnos = options.allow_db_generated_files;
        let mut seqno = 0;
        if self.force_seqno || !keeps_seqnos && (self.files_overlap || only_level_0) {
            seqno = last + 1;
            if only_level_0 {
                self.check_bottommost(0)?;
                return Ok(FilePlacement { level: 0, seqno });
            }
        }
        let end = match only_level_0 {
            true => 0,
            false => below.unwrap_or(num_levels),
        };
        // Files that keep their sequence numbers must not overlap any data of the family.
        let looked_at = if keeps_seqnos { num_levels } else { end };
        let (start, limit) = (file.start(), file.limit());
        let mut level = 0;
        let mut overlaps_db = false;
        for (candidate, &overlaps) in overlaps.iter().enumerate().take(looked_at) {
            if candidate > 0 && candidate < self.base_level {
                continue;
            }
            // Data that a running compaction writes to the level counts as if the level contained it already.
            if overlaps || self.running.writes_to(user, candidate, start, limit) {
                overlaps_db = true;
                break;
            }
            // The level has no key of the ingested file, but the range of one of its tables may still include
            // the file's range.
            let fits = candidate == 0 || !self.version.overlaps(candidate, Some(start), Some(limit));
            if candidate < end && fits {
                level = candidate;
            }
        }
        self.check_bottommost(level)?;
        if overlaps_db {
            if user.timestamp_size() > 0 {
                return Err(Error::invalid_argument(
                    "Column family enables user-defined timestamps, please make sure the key range (without timestamp) of \
                     external file does not overlap with key range (without timestamp) in the db",
                ));
            }
            seqno = last + 1;
        }
        Ok(FilePlacement { level, seqno })
    }

    /// The placement of a file in the last level, in which every file was ingested with `ingest_behind`.
    fn place_behind(&self, file: &ExternalFile) -> Result<FilePlacement> {
        let last = self.version.num_levels() - 1;
        let (start, limit) = (Some(file.start()), Some(file.limit()));
        if self.version.overlaps(last, start, limit) {
            return Err(Error::invalid_argument(
                "Can't ingest_behind file as it doesn't fit at the last level!",
            ));
        }
        let upper = (0..last).flat_map(|level| self.version.files(level));
        if let Some(file) = { upper }.find(|file| file.smallest_seqno == 0) {
            return Err(Error::invalid_argument(format!(
                "Can't ingest_behind file as despite cf_allow_ingest_behind=true there are files with 0 seqno in database at \
                 upper levels: {:06}.sst",
                file.number
            )));
        }
        Ok(FilePlacement {
            level: last,
            seqno: 0,
        })
    }

    fn check_bottommost(&self, level: usize) -> Result<()> {
        if self.prepared.options.fail_if_not_bottommost_level && level + 1 < self.version.num_levels() {
            return Err(Error::new(
                ErrorKind::TryAgain,
                "Files cannot be ingested to Lmax. Please make sure key range of Lmax and ongoing compaction's output to Lmax \
                 does not overlap with files to ingest. Input files overlapping with each other can cause some file to be \
                 assigned to non Lmax level.",
            ));
        }
        Ok(())
    }
}

/// True if `level` has an entry or a range tombstone for keys in the range of `file`.
fn level_overlaps(
    family: &Family,
    version: &Version,
    level: usize,
    file: &ExternalFile,
    fill_cache: bool,
) -> Result<bool> {
    let (start, limit) = (file.start(), file.limit());
    for candidate in version.overlapping(level, Some(start), Some(limit)) {
        if table_overlaps(family, &candidate, start, limit, fill_cache)? {
            return Ok(true);
        }
    }
    Ok(false)
}
