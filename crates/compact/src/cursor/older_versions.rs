//! Entries that are likely to be garbage soon: those that follow a newer version of their key. Their values
//! may go to blob files from a smaller size on than others, so that compactions do not rewrite them until
//! they are collected.
//!
//! This only affects where a value is stored. A version counts as older only if its newer version is among
//! the inputs.

use base::Kind;

use crate::filter::BlobHook;

/// Decides the size from which the current entry's value goes to a blob file, by the newer entries of its
/// key.
pub(super) struct OlderVersions {
    min_newest: usize,
    /// The size in bytes for older versions, at most `min_newest`.
    min_older: usize,
    /// True if the user key is an older version of a key, and the newer version hides it.
    is_older: bool,
    /// True if an entry of the user key was yielded that hides the later entries of the key.
    hides_entries: bool,
    /// Whether the newest entry yielded of the user key hides older versions of the key. `None`: no entry of
    /// the key was yielded.
    hides_versions: Option<bool>,
}

impl OlderVersions {
    /// State with the sizes that `blobs` configures.
    pub fn new(blobs: Option<&dyn BlobHook>) -> OlderVersions {
        let min_newest = blobs.map_or(usize::MAX, BlobHook::min_blob_size);
        OlderVersions {
            min_newest,
            min_older: blobs.map_or(usize::MAX, |blobs| {
                blobs.min_older_version_blob_size().min(min_newest)
            }),
            is_older: false,
            hides_entries: false,
            hides_versions: None,
        }
    }

    /// True if the two sizes differ, so that newer entries make a difference.
    #[inline]
    pub fn matter(&self) -> bool {
        self.min_older < self.min_newest
    }

    /// Begins another user key. `is_version`: the key is an older version of the previous user key.
    pub fn begin_key(&mut self, is_version: bool) {
        self.is_older = is_version && (self.is_older || self.hides_versions == Some(true));
        self.hides_entries = false;
        self.hides_versions = None;
    }

    /// Records that an entry of the user key is written. In a family with `timestamps` a deletion is a
    /// version of the key; in any other family the deletion removes the version, as if it had never existed.
    #[inline]
    pub fn shown(&mut self, kind: Kind, timestamps: bool) {
        let hides = kind != Kind::Merge;
        self.hides_entries |= hides;
        self.hides_versions
            .get_or_insert(hides && (timestamps || !kind.is_tombstone()));
    }

    /// The size in bytes from which the value of the next entry goes to a blob file.
    #[inline]
    pub fn min_blob_size(&self) -> usize {
        match self.is_older || self.hides_entries {
            true => self.min_older,
            false => self.min_newest,
        }
    }
}
