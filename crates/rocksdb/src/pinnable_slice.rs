//! Pinned values.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// A pinned value, which is not copied if it is in a block of a table.
pub struct DBPinnableSlice<'a> {
    value: esker::PinnedValue,
    _db: PhantomData<&'a ()>,
}

impl DBPinnableSlice<'_> {
    pub(crate) fn new<'a>(value: esker::PinnedValue) -> DBPinnableSlice<'a> {
        DBPinnableSlice {
            value,
            _db: PhantomData,
        }
    }
}

impl Deref for DBPinnableSlice<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.value
    }
}

impl AsRef<[u8]> for DBPinnableSlice<'_> {
    fn as_ref(&self) -> &[u8] {
        &self.value
    }
}

impl fmt::Debug for DBPinnableSlice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// An owned value.
#[derive(Clone, Debug)]
pub struct CSlice(pub(crate) Vec<u8>);

impl AsRef<[u8]> for CSlice {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
