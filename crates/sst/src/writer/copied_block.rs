//! A block that another table stores, while it is copied into this table.

/// A copied block in its stored form, kept until the entry after it is known.
#[derive(Default)]
pub(super) struct CopiedBlock {
    /// True while the copied block waits to be written.
    pub waits: bool,
    /// The bytes as stored, without trailer.
    pub bytes: Vec<u8>,
    pub type_byte: u8,
    /// The block's checksum without the part that depends on its offset.
    pub placeless: u32,
    /// The bytes of the uncompressed contents.
    pub contents_len: usize,
}
