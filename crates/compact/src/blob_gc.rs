//! The blob files whose values compactions relocate, and the tables that are compacted for that purpose
//! alone.

use std::sync::Arc;

use manifest::{BlobFileMetadata, Version};

/// The options of garbage collection in blob files. The names are RocksDB's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlobGarbageCollection {
    /// The part of the blob files, the oldest first, whose values compactions relocate: 0 to 1.
    pub age_cutoff: f64,
    /// The garbage threshold of the blob files below the age cutoff, as a fraction of their bytes. If at
    /// least this fraction is garbage, the tables that refer to the oldest of these files are compacted to
    /// release it. From 1 on: never.
    pub force_threshold: f64,
}

/// Whether a manual compaction relocates values of old blob files, regardless of the family's options.
///
/// See the example of [`CompactRangeOptions`](crate::CompactRangeOptions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlobGarbageCollectionPolicy {
    /// Values of old blob files are relocated.
    Force,
    /// No values are relocated.
    Disable,
    /// The family's `enable_blob_garbage_collection` decides.
    #[default]
    UseDefault,
}

/// The blob garbage collection that the caller of a compaction asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlobGarbageRequest {
    /// Whether garbage is collected.
    pub policy: BlobGarbageCollectionPolicy,
    /// With [`Force`](BlobGarbageCollectionPolicy::Force): the part of the blob files that counts as old.
    /// `None`: the family's option.
    pub age_cutoff: Option<f64>,
}

impl BlobGarbageRequest {
    /// The garbage collection of a compaction with this request. `own` are the family's options, which hold
    /// if `enabled`. `None`: no garbage collection.
    pub fn over(self, own: BlobGarbageCollection, enabled: bool) -> Option<BlobGarbageCollection> {
        let age_cutoff = self.age_cutoff.unwrap_or(own.age_cutoff);
        match self.policy {
            BlobGarbageCollectionPolicy::Force => Some(BlobGarbageCollection { age_cutoff, ..own }),
            BlobGarbageCollectionPolicy::Disable => None,
            BlobGarbageCollectionPolicy::UseDefault => enabled.then_some(own),
        }
    }
}

impl BlobGarbageCollection {
    /// The number of blob files of `version`, the oldest first, that are to be emptied.
    fn old_files(&self, version: &Version) -> usize {
        let files = version.blob_files().len();
        ((self.age_cutoff * files as f64) as usize).min(files)
    }

    /// Compactions of `version` relocate the values of blob files whose numbers are below this one. 0: of
    /// none.
    pub fn cutoff(&self, version: &Version) -> u64 {
        match self.old_files(version) {
            0 => 0,
            old => version.blob_files().keys().nth(old).copied().unwrap_or(u64::MAX),
        }
    }

    /// The oldest blob file of `version`, if the files to be emptied hold enough garbage. The tables linked
    /// to it are compacted: they relocate its live values, and the file becomes obsolete. Cost: a pass over
    /// the blob files.
    pub fn due(&self, version: &Version) -> Option<Arc<BlobFileMetadata>> {
        let old = self.old_files(version);
        if self.force_threshold >= 1.0 || old == 0 {
            return None;
        }
        let files = version.blob_files().values().take(old);
        let (total, garbage) = files.fold((0u64, 0u64), |(total, garbage), file| {
            (
                total.saturating_add(file.total_blob_bytes()),
                garbage.saturating_add(file.garbage_blob_bytes),
            )
        });
        let oldest = version.blob_files().values().next()?;
        ((garbage as f64) >= self.force_threshold * total as f64).then(|| oldest.clone())
    }
}

#[cfg(test)]
mod tests {
    use base::{InternalComparator, UserComparator};
    use manifest::{BlobFileAddition, BlobFileGarbage, FileMetadata, VersionBuilder, VersionEdit};

    use super::*;

    /// Blob files 1 to 8 of 100 bytes, with garbage. Each has one linked table, 11 to 18.
    fn version(garbage: &[(u64, u64)]) -> Version {
        let addition = |number| BlobFileAddition {
            number,
            total_blob_count: 100,
            total_blob_bytes: 100,
            ..BlobFileAddition::default()
        };
        let table = |number: u64| {
            let key = base::internal_key::encode(&[number as u8], 1, base::Kind::Value);
            let file = FileMetadata {
                number: 10 + number,
                smallest: key.clone().into(),
                largest: key.into(),
                oldest_blob_file_number: Some(number),
                ..FileMetadata::default()
            };
            (1, Arc::new(file))
        };
        let edit = VersionEdit {
            blob_file_additions: (1..=8).map(addition).collect(),
            new_files: (1..=8).map(table).collect(),
            blob_file_garbages: garbage
                .iter()
                .map(|&(number, bytes)| BlobFileGarbage {
                    number,
                    garbage_blob_count: bytes,
                    garbage_blob_bytes: bytes,
                    ..BlobFileGarbage::default()
                })
                .collect(),
            ..VersionEdit::default()
        };
        let cmp = InternalComparator::new(UserComparator::Bytewise);
        let mut builder = VersionBuilder::new(&Version::empty(cmp, 7));
        builder.apply(&edit).unwrap();
        builder.build().unwrap()
    }

    fn collection(age_cutoff: f64, force_threshold: f64) -> BlobGarbageCollection {
        BlobGarbageCollection {
            age_cutoff,
            force_threshold,
        }
    }

    #[test]
    fn the_oldest_files_are_emptied() {
        let version = version(&[]);
        let cutoff = |part| collection(part, 1.0).cutoff(&version);
        assert_eq!(
            [cutoff(0.0), cutoff(0.1), cutoff(0.125), cutoff(0.5), cutoff(1.0)],
            [0, 0, 2, 5, u64::MAX]
        );
        let none = Version::empty(InternalComparator::new(UserComparator::Bytewise), 7);
        assert_eq!(collection(1.0, 1.0).cutoff(&none), 0);
    }

    #[test]
    fn garbage_of_all_old_files_counts_and_the_oldest_goes() {
        let version = version(&[(1, 10), (2, 90), (7, 99)]);
        let due = |age, force| collection(age, force).due(&version).map(|file| file.number());
        assert_eq!(due(0.25, 0.5), Some(1));
        assert_eq!(due(0.25, 0.51), None, "100 of 200");
        assert_eq!(due(0.5, 0.25), Some(1), "100 of 400");
        assert_eq!(due(0.5, 0.3), None);
        assert_eq!(due(1.0, 1.0), None, "never");
        assert_eq!(due(0.0, 0.0), None, "no file is old");
    }
}
