//! Which entries are likely to be garbage soon: those that stand behind a newer version of their key. Their values may go to blob files
//! where others would stay, so that compactions do not rewrite them while they wait to be collected.
//!
//! Nothing depends on it but where a value lies. A version whose newer one is not among the inputs is not known as older.

use base::Kind;

use crate::filter::BlobHook;

/// What stands before the current entry, and from how many bytes on its value belongs into a blob file.
pub(super) struct OlderVersions {
    min_newest: usize,
    /// Not above the other.
    min_older: usize,
    /// The user key is an older version of one that hides it.
    is_older: bool,
    /// An entry of the user key was shown that hides what comes after of it.
    hides_entries: bool,
    /// The newest entry shown of the user key is one by which older versions of the same are hidden; `None`: nothing was shown of it.
    hides_versions: Option<bool>,
}

impl OlderVersions {
    /// By the sizes that `blobs` tells.
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

    /// False where it does not matter what stands before an entry.
    #[inline]
    pub fn matter(&self) -> bool {
        self.min_older < self.min_newest
    }

    /// Another user key begins, an older version of what the one before is, or something else.
    pub fn begin_key(&mut self, is_version: bool) {
        self.is_older = is_version && (self.is_older || self.hides_versions == Some(true));
        self.hides_entries = false;
        self.hides_versions = None;
    }

    /// An entry of the user key is written. A deletion of a family with `timestamps` is a version; of any other it takes a version away, as if it
    /// had not been.
    #[inline]
    pub fn shown(&mut self, kind: Kind, timestamps: bool) {
        let hides = kind != Kind::Merge;
        self.hides_entries |= hides;
        self.hides_versions
            .get_or_insert(hides && (timestamps || !kind.is_tombstone()));
    }

    /// Bytes from which on the value of the entry to be shown belongs into a blob file.
    #[inline]
    pub fn min_blob_size(&self) -> usize {
        match self.is_older || self.hides_entries {
            true => self.min_older,
            false => self.min_newest,
        }
    }
}
