//! The content of a write.

use std::sync::Arc;

use crate::batch::operation::SingleOperation;
use crate::batch::write_batch::WriteBatch;
use crate::state::column_family::Family;

/// The content of a write.
pub(crate) enum Commit<'a> {
    Single(&'a Arc<Family>, SingleOperation<'a>),
    Batch(&'a mut WriteBatch),
}
