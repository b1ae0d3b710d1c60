//! The assumptions of a replay about the machine and the tables that the engine writes.

/// The assumptions of a prediction that do not follow from options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Bytes that one compaction reads and writes in a second, together. Default: 150 MB.
    pub compaction_bytes_per_second: u64,
    /// Compactions that run at the same time. Default: 1.
    pub compactions_at_once: usize,
    /// Bytes of a table for each byte of the keys and values in it: what compression, indexes and filters
    /// make of a row. Default: 1.
    pub table_bytes_per_raw_byte: f64,
    /// Bytes of a memtable that a row takes besides its key and value. Default: 40.
    pub memtable_bytes_per_row: u64,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine {
            compaction_bytes_per_second: 150_000_000,
            compactions_at_once: 1,
            table_bytes_per_raw_byte: 1.0,
            memtable_bytes_per_row: 40,
        }
    }
}
