//! The C object `rocksdb_column_family_handle_t`.

use esker::ColumnFamily;

use crate::ffi::*;

/// The C object `rocksdb_column_family_handle_t`.
pub struct rocksdb_column_family_handle_t(pub ColumnFamily);

/// Creates a handle for the caller.
pub fn handle(family: ColumnFamily) -> *mut rocksdb_column_family_handle_t {
    boxed(rocksdb_column_family_handle_t(family))
}

/// A family's handle as an argument; NULL is the default family.
pub type FamilyPtr = *mut rocksdb_column_family_handle_t;

/// Returns the family of a handle.
///
/// # Safety
/// The handle is NULL, or it was not destroyed.
pub unsafe fn family<'a>(handle: FamilyPtr) -> Option<&'a ColumnFamily> {
    handle.as_ref().map(|handle| &handle.0)
}
