//! Bytes from Python: `bytes` are borrowed; any other buffer is copied, because its owner may change it
//! meanwhile.

use std::ops::Deref;

use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

/// A bytes-like argument. `TypeError` for a `str`, and for other objects without a buffer.
pub enum Bytes<'a> {
    /// The memory of a `bytes` object.
    Borrowed(&'a [u8]),
    /// A copy of another buffer: a `bytearray`, a `memoryview`, an array.
    Owned(Vec<u8>),
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Borrowed(bytes) => bytes,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Bytes<'_> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Bytes<'a> {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Bytes<'a>> {
        match <&'a [u8]>::extract(object) {
            Ok(bytes) => Ok(Bytes::Borrowed(bytes)),
            Err(_) => copied(&object).map(Bytes::Owned),
        }
    }
}

/// Copies the bytes of any buffer.
fn copied(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let bytes = PyMemoryView::from(object)?.call_method0("tobytes")?;
    Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec())
}

/// Returns the bytes of a bytes-like object, owned.
pub fn owned(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match object.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes().to_vec()),
        Err(_) => copied(object),
    }
}
