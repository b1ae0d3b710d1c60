//! Values in blob files that are read on request, and not when the iterator reaches them.

use base::statistics::Ticker;
use base::{Cursor, Kind, Result, perf};
use blob::BlobIndex;
use codec::compression::CompressionType;
use vfs::ReadTimeout;

use super::{DbIterator, DbPosition};
use crate::files::blob_cache::BlobRead;
use crate::files::charged_reads::ChargedReads;

/// The size of a value that was not read, as stored.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::ReadOptions;
///
/// db.put(b"key", b"value")?;
/// let mut iter = db.iter_opt(&ReadOptions { allow_unprepared_value: true, ..Default::default() });
/// iter.seek_to_first();
/// if let Some(unprepared) = iter.unprepared_value()? {
///     println!("{} bytes in a blob file, not read yet", unprepared.stored_size);
/// }
/// assert!(iter.prepare_value());
/// assert_eq!(iter.value(), b"value");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnpreparedValue {
    /// The stored size in bytes.
    pub stored_size: u64,
    /// True if the value is compressed; otherwise `stored_size` is the size of the value itself.
    pub is_compressed: bool,
}

impl DbIterator {
    /// Reads the current value if it was [left unread](crate::ReadOptions::allow_unprepared_value); from then
    /// on [`value`](Self::value) returns it. False if the read failed: the iterator is then not valid, and
    /// [`status`](Self::status) returns the error. Costs a read of a blob, or nothing if the value is there,
    /// which is always so without that option. Panics if the iterator is not [valid](Self::valid).
    pub fn prepare_value(&mut self) -> bool {
        assert!(self.valid(), "the iterator is not valid");
        if self.is_value_prepared() {
            return true;
        }
        let _charged = self.charge.clone().map(ChargedReads::begin);
        let _timeout = self.io_timeout.map(ReadTimeout::begin);
        self.leave_pinned();
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
        self.pin_row();
        self.valid()
    }

    /// True if [`value`](Self::value) returns the current value, and not an empty slice because the value was
    /// not read. RocksDB has no such method.
    #[inline]
    pub fn is_value_prepared(&self) -> bool {
        self.kind != Kind::BlobIndex || !self.unprepared
    }

    /// The stored size of the current value, found without reading it; `None` if the value was read. RocksDB
    /// has no such method.
    ///
    /// # Errors
    /// `Corruption` if the blob index of the value is damaged.
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

    /// The blob index of the current value, which was not read.
    fn blob_index(&self) -> &[u8] {
        match self.own_place() {
            DbPosition::Cursor => self.cursor.value(),
            _ => &self.entity,
        }
    }

    /// True if the value of an entry of `kind`, which becomes the current one, is not to be read now. The
    /// caller then leaves its index where [`blob_index`](Self::blob_index) looks for it.
    pub(super) fn leaves_unread(&mut self, kind: Kind) -> bool {
        self.unprepared = self.allow_unprepared && kind == Kind::BlobIndex;
        if self.unprepared {
            self.value.clear();
            self.kind = kind;
        }
        self.unprepared
    }
}
