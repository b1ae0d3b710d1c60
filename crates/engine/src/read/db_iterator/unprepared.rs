//! Values in blob files that are read when they are asked for, and not as the iterator comes by.

use base::statistics::Ticker;
use base::{Cursor, Kind, Result, perf};
use blob::BlobIndex;
use codec::compression::CompressionType;

use super::{DbIterator, Place};
use crate::read::blob_cache::BlobRead;
use crate::read::charged_reads::ChargedReads;

/// What is known of a value that was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnpreparedValue {
    /// Bytes it takes where it lies.
    pub stored_size: u64,
    /// It lies there compressed; otherwise `stored_size` is its own.
    pub is_compressed: bool,
}

impl DbIterator {
    /// Reads the current value, if that was [left out](crate::ReadOptions::allow_unprepared_value): [`value`](Self::value) is all of it from then
    /// on. False if that failed: the iterator stands nowhere then, and [`status`](Self::status) says why. Costs what a read of a blob costs,
    /// and nothing where the value is there, as it always is without that option. Panics if the iterator is not [valid](Self::valid).
    pub fn prepare_value(&mut self) -> bool {
        assert!(self.valid(), "the iterator is not valid");
        if self.is_value_prepared() {
            return true;
        }
        let _charged = self.charge.clone().map(ChargedReads::begin);
        let mut value = std::mem::take(&mut self.value);
        let (key, read) = (self.full_key(), BlobRead::from(&self.sources.read));
        let read = self
            .family
            .values
            .plain(Kind::BlobIndex, key, self.blob_index(), read, &mut value);
        self.value = value;
        match read {
            Ok(()) => self.unprepared = false,
            Err(error) => self.fail(error),
        }
        if self.observed && self.valid() {
            let bytes = self.value.len() as u64;
            self.family.tables.stats().count(Ticker::IterBytesRead, bytes);
            perf::count(|cells| &cells.iter_read_bytes, bytes);
        }
        self.valid()
    }

    /// True if [`value`](Self::value) is the current value, and not empty because that was not read. Not one of RocksDB's.
    #[inline]
    pub fn is_value_prepared(&self) -> bool {
        self.kind != Kind::BlobIndex || !self.unprepared
    }

    /// What is known of the current value without reading it; `None` if it is there. Not one of RocksDB's.
    ///
    /// # Errors
    /// `Corruption` if what tells where it lies is damaged.
    pub fn unprepared_value(&self) -> Result<Option<UnpreparedValue>> {
        if !self.valid() || self.is_value_prepared() {
            return Ok(None);
        }
        Ok(Some(match BlobIndex::decode(self.blob_index())? {
            BlobIndex::InlinedTtl { value, .. } => UnpreparedValue {
                stored_size: value.len() as u64,
                is_compressed: false,
            },
            BlobIndex::Blob { location, .. } => UnpreparedValue {
                stored_size: location.size,
                is_compressed: location.compression != CompressionType::None,
            },
        }))
    }

    /// Where the current value lies, which is that of a blob and not read.
    fn blob_index(&self) -> &[u8] {
        match self.place {
            Place::Cursor => self.cursor.value(),
            _ => &self.entity,
        }
    }

    /// True if the value of an entry of `kind`, which becomes the current one, is not to be read now. Its index is then to be left where
    /// [`blob_index`](Self::blob_index) looks for it.
    pub(super) fn leaves_unread(&mut self, kind: Kind) -> bool {
        self.unprepared = self.allow_unprepared && kind == Kind::BlobIndex;
        if self.unprepared {
            self.value.clear();
            self.kind = kind;
        }
        self.unprepared
    }
}
