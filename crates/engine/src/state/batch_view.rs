//! The rows of a batch that are read before those of the database.

use std::sync::Arc;

use base::SeqNo;
use memtable::Memtable;

/// The sequence number of the first row of a batch that is not written yet. The rows of a database never
/// reach this number.
pub(crate) const UNWRITTEN: SeqNo = 1 << 55;

/// The rows of a batch for a family at one moment, read before those of the database.
#[derive(Clone)]
pub(crate) struct BatchView {
    pub table: Arc<Memtable>,
    /// The sequence number of the last row at that moment.
    pub limit: SeqNo,
}
