//! Entries that are likely to be garbage soon: those that follow a newer version of their key. Their values
//! may go to blob files from a smaller size on than others, so that compactions do not rewrite them until
//! they are collected.
//!
//! This only affects where a value is stored. A version counts as older only if its newer version is among
//! the inputs.

use base::Kind;

use crate::filter::BlobHook;

/// The newer entries before the current one, and the sizes from which its value goes to a blob file.
pub(super) struct OlderVersions {
    min_newest: usize,
    /// The size in bytes for older versions, at most `min_newest`.
    min_older: usize,
    /// The user key is an older version of a key that hides it.
    is_older: bool,
    /// An entry of the user key was yielded that hides the later entries of the key.
    hides_entries: bool,
    /// Whether the newest entry yielded of the user key hides older versions of the key. `None`: no entry of
    /// it was yielded.
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

    /// False if both sizes are equal, so that newer entries make no difference.
    #[inline]
    pub fn matter(&self) -> bool {
        self.min_older < self.min_newest
    }

    /// Another user key begins. `is_version`: it is an older version of the previous one.
    pub fn begin_key(&mut self, is_version: bool) {
        self.is_older = is_version && (self.is_older || self.hides_versions == Some(true));
        self.hides_entries = false;
        self.hides_versions = None;
    }

    /// An entry of the user key is written. In a family with `timestamps` a deletion is a version; in any
    /// other family it removes the version, as if it had never existed.
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
