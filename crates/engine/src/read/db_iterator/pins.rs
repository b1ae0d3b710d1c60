//! Rows that an iterator keeps in memory as long as it exists, and the properties of an iterator.

use base::{Error, Result};

use super::{DbIterator, DbPosition};
use crate::files::pinned_value::PinnedValue;

/// The rows that the iterator was at. None of their bytes moves as long as this exists.
pub(super) struct Pins {
    /// The user keys, timestamps included.
    keys: Vec<Box<[u8]>>,
    values: Vec<PinnedValue>,
    /// The place of the current row in the iterator, which is at [`DbPosition::Pinned`].
    pub(super) place: DbPosition,
}

impl Pins {
    pub(super) fn new() -> Pins {
        Pins {
            keys: Vec::new(),
            values: Vec::new(),
            place: DbPosition::Nowhere,
        }
    }
}

impl DbIterator {
    /// Keeps the current row, if rows are pinned. Called after each move.
    pub(super) fn pin_row(&mut self) {
        if self.place == DbPosition::Nowhere || self.pins.is_none() {
            return;
        }
        let (key, value) = (self.full_key().into(), self.value_pinned());
        if let Some(pins) = &mut self.pins {
            pins.keys.push(key);
            pins.values.push(value);
            pins.place = std::mem::replace(&mut self.place, DbPosition::Pinned);
        }
    }

    /// Returns to the row's own place. Called before each move.
    pub(super) fn leave_pinned(&mut self) {
        self.place = self.own_place();
    }

    /// The place of the current row in the cursor or the buffers, pinned or not.
    pub(super) fn own_place(&self) -> DbPosition {
        match (self.place, &self.pins) {
            (DbPosition::Pinned, Some(pins)) => pins.place,
            (place, _) => place,
        }
    }

    /// The user key, timestamp included, of a row at [`DbPosition::Pinned`].
    #[cold]
    pub(super) fn pinned_key(&self) -> &[u8] {
        let keys = self.pins.as_ref().and_then(|pins| pins.keys.last());
        keys.map_or(&[], |key| key)
    }

    /// The value of a row at [`DbPosition::Pinned`].
    #[cold]
    pub(super) fn current_pinned_value(&self) -> &[u8] {
        let values = self.pins.as_ref().and_then(|pins| pins.values.last());
        values.map_or(&[], |value| value)
    }

    /// A property of the iterator, by RocksDB's name:
    ///
    /// * `rocksdb.iterator.is-key-pinned` and `rocksdb.iterator.is-value-pinned`: `1` if the bytes of the
    ///   current key or value stay where they are as long as the iterator exists, as with
    ///   [`pin_data`](crate::ReadOptions::pin_data), else `0`; `Iterator is not valid.` without a row;
    /// * `rocksdb.iterator.super-version-number`: the number of the super version that it reads;
    /// * `rocksdb.iterator.internal-key`: the current user key, timestamp included.
    ///
    /// # Errors
    /// `InvalidArgument` for another name.
    pub fn property(&self, name: &str) -> Result<Vec<u8>> {
        let bytes = match name {
            "rocksdb.iterator.is-key-pinned" | "rocksdb.iterator.is-value-pinned" => match self.place {
                DbPosition::Nowhere => "Iterator is not valid.",
                DbPosition::Pinned => "1",
                DbPosition::Cursor | DbPosition::Saved => "0",
            }
            .as_bytes()
            .to_vec(),
            "rocksdb.iterator.super-version-number" => self.super_version.number.to_string().into_bytes(),
            "rocksdb.iterator.internal-key" if self.valid() => self.full_key().to_vec(),
            "rocksdb.iterator.internal-key" => Vec::new(),
            _ => return Err(Error::invalid_argument("Unidentified property.")),
        };
        Ok(bytes)
    }
}
