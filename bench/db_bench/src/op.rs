//! The kind of an operation.

/// The kinds of operations that have their own distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// The read of a key, or of an entry of a scan.
    Read,
    /// The write of a batch.
    Write,
    /// A deletion.
    Delete,
    /// A seek and the steps after it.
    Seek,
    /// A merge.
    Merge,
    /// A read of a value and a write of the same value.
    Update,
    /// The compression of a block.
    Compress,
    /// The decompression of a block.
    Uncompress,
    /// The computation of a CRC.
    Crc,
    /// The computation of a hash.
    Hash,
    /// Any other operation.
    Other,
}

impl Op {
    /// RocksDB's word for the kind.
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Delete => "delete",
            Op::Seek => "seek",
            Op::Merge => "merge",
            Op::Update => "update",
            Op::Compress => "compress",
            Op::Uncompress => "uncompress",
            Op::Crc => "crc",
            Op::Hash => "hash",
            Op::Other => "op",
        }
    }
}
