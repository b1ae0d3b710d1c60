//! The frame around the blocks of a table: block handles, block trailers, the footer, and the names in the
//! metaindex.
//!
//! ```text
//! block  = contents ‖ compression type u8 ‖ checksum u32          a handle's size leaves the trailer out
//! footer = checksum type u8 ‖ part 2 [40] ‖ format version u32 ‖ magic u64          the last 53 bytes of the file
//!   part 2, format version 2-5:  metaindex handle ‖ index handle ‖ zeros
//!   part 2, format version 6-7:  3e 00 7a 00 ‖ footer checksum u32 ‖ base context checksum u32
//!                                ‖ metaindex size u32 ‖ zeros [24]
//! ```
//!
//! From format version 6 on every stored checksum also depends on its offset in the file
//! ([`context_modifier`]), so that a block at the wrong place does not verify.

use base::coding::{self, Reader};
use base::{Error, Result};
use codec::checksum::{ChecksumType, context_modifier};

/// Magic number of block-based tables.
pub const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
/// LevelDB's magic number: a footer without a version.
pub const LEGACY_MAGIC: u64 = 0xdb47_7524_8b80_fb57;
/// The magic numbers of tables that are not block-based, with the name of each format.
const OTHER_MAGICS: [(u64, &str); 3] = [
    (0x8242_2296_63bf_9564, "plain table"),
    (0x4f34_18eb_7a8f_13b8, "legacy plain table"),
    (0x9267_89d0_c5f1_7873, "cuckoo table"),
];

/// Bytes after a block's contents: compression type and checksum.
pub const BLOCK_TRAILER_LEN: usize = 5;
/// Bytes of the footer.
pub const FOOTER_LEN: usize = 53;
/// Longest encoding of a [`BlockHandle`].
pub const MAX_HANDLE_LEN: usize = 2 * coding::MAX_VARINT64;

/// Lowest format version read and written.
pub const MIN_FORMAT_VERSION: u32 = 2;
/// Highest format version read and written.
pub const MAX_FORMAT_VERSION: u32 = 7;

/// The first format version whose index keys may be user keys.
pub const FV_USER_KEY_INDEX: u32 = 3;
/// The first format version whose index values may be delta-coded.
pub const FV_DELTA_INDEX: u32 = 4;
/// The first format version whose filters hash with XXPH3.
pub const FV_NEW_FILTERS: u32 = 5;
/// The first format version whose checksums depend on their context, and whose index is found through the
/// metaindex.
pub const FV_CONTEXT_CHECKSUMS: u32 = 6;
/// The first format version whose property `rocksdb.compression` names a manager and the types in use.
pub const FV_COMPRESSION_MANAGER: u32 = 7;

/// Names in the metaindex.
pub mod meta {
    /// Prefix of the entry of a full filter; the policy's name follows.
    pub const FULL_FILTER_PREFIX: &str = "fullfilter.";
    /// Prefix of the entry of a partitioned filter's top-level index; the policy's name follows.
    pub const PARTITIONED_FILTER_PREFIX: &str = "partitionedfilter.";
    /// The name of all built-in filters of RocksDB, whatever their implementation.
    pub const BUILTIN_FILTER: &str = "rocksdb.BuiltinBloomFilter";
    /// A full filter of a built-in policy.
    pub const FULL_FILTER: &str = "fullfilter.rocksdb.BuiltinBloomFilter";
    /// The top-level index of a partitioned filter of a built-in policy.
    pub const PARTITIONED_FILTER: &str = "partitionedfilter.rocksdb.BuiltinBloomFilter";
    /// The compression dictionary of the data blocks.
    pub const COMPRESSION_DICT: &str = "rocksdb.compression_dict";
    /// Hints of a hash index: for each prefix its length and its blocks.
    pub const HASH_INDEX_METADATA: &str = "rocksdb.hashindex.metadata";
    /// Hints of a hash index: the prefixes themselves.
    pub const HASH_INDEX_PREFIXES: &str = "rocksdb.hashindex.prefixes";
    /// The index, from format version 6.
    pub const INDEX: &str = "rocksdb.index";
    /// The properties.
    pub const PROPERTIES: &str = "rocksdb.properties";
    /// The range deletions.
    pub const RANGE_DEL: &str = "rocksdb.range_del";
}

/// The location of a block: the offset of its first byte in the file and the size of its contents without the
/// trailer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlockHandle {
    /// The offset of the first byte, from the start of the file.
    pub offset: u64,
    /// The size of the contents as stored, in bytes, without the trailer.
    pub size: u64,
}

impl BlockHandle {
    /// A handle of `size` bytes of contents at `offset`.
    pub const fn new(offset: u64, size: u64) -> BlockHandle {
        BlockHandle { offset, size }
    }

    /// Appends the handle as two varints.
    pub fn encode(self, out: &mut Vec<u8>) {
        coding::put_varint64(out, self.offset);
        coding::put_varint64(out, self.size);
    }

    /// Reads a handle: two varints.
    pub fn decode(reader: &mut Reader<'_>) -> Result<BlockHandle> {
        Ok(BlockHandle {
            offset: reader.varint64("block handle")?,
            size: reader.varint64("block handle")?,
        })
    }

    /// The offset of the first byte after the trailer. `None` if it does not fit 64 bits.
    pub fn end(self) -> Option<u64> {
        self.offset
            .checked_add(self.size)?
            .checked_add(BLOCK_TRAILER_LEN as u64)
    }
}

/// The form of a table's index. The properties of the table hold its number.
///
/// ```
/// # use esker_sst::format as esker;
/// use esker::{IndexShortening, IndexType};
///
/// // Set as `BlockBasedOptions::index_type` and `BlockBasedOptions::index_shortening`.
/// let (index, shortening) = (IndexType::TwoLevel, IndexShortening::SeparatorsAndSuccessor);
/// assert_eq!(IndexType::from_u32(2), Some(index));
/// assert_ne!(shortening, IndexShortening::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum IndexType {
    /// One block of separators, found by binary search.
    #[default]
    BinarySearch = 0,
    /// One block of separators, with hints by prefix in two more blocks.
    HashSearch = 1,
    /// A top-level block of separators over partitions.
    TwoLevel = 2,
    /// One block of separators. Each entry also holds the first internal key of its data block.
    BinarySearchWithFirstKey = 3,
}

impl IndexType {
    /// The index type with that number.
    pub fn from_u32(number: u32) -> Option<IndexType> {
        Some(match number {
            0 => IndexType::BinarySearch,
            1 => IndexType::HashSearch,
            2 => IndexType::TwoLevel,
            3 => IndexType::BinarySearchWithFirstKey,
            _ => return None,
        })
    }

    /// The name that RocksDB writes in OPTIONS files.
    pub fn name(self) -> &'static str {
        match self {
            IndexType::BinarySearch => "kBinarySearch",
            IndexType::HashSearch => "kHashSearch",
            IndexType::TwoLevel => "kTwoLevelIndexSearch",
            IndexType::BinarySearchWithFirstKey => "kBinarySearchWithFirstKey",
        }
    }
}

/// The separators of an index that are made shorter than the keys they come from.
///
/// See the example of [`IndexType`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexShortening {
    /// No separator is shortened: each is the last key of its block.
    None,
    /// The separators between two blocks are shortened.
    #[default]
    Separators,
    /// The separators between two blocks and the one after the last block are shortened.
    SeparatorsAndSuccessor,
}

/// The trailer of a block at `offset` of its file whose contents as stored are `contents`. `base_context`
/// comes from the footer; it is 0 below format version 6.
pub fn block_trailer(
    checksum: ChecksumType,
    contents: &[u8],
    type_byte: u8,
    base_context: u32,
    offset: u64,
) -> [u8; BLOCK_TRAILER_LEN] {
    moved_trailer(
        type_byte,
        checksum.block(contents, type_byte),
        base_context,
        offset,
    )
}

/// The checksum in `trailer`, of a block at `offset` of its file, without the part that depends on the
/// offset. [`moved_trailer`] turns it into the checksum of the same block at another offset.
pub fn placeless_checksum(trailer: &[u8; BLOCK_TRAILER_LEN], base_context: u32, offset: u64) -> u32 {
    coding::u32_at(trailer, 1).wrapping_sub(context_modifier(base_context, offset))
}

/// The trailer at `offset` of a file for a block whose checksum without the part that depends on the offset
/// is `placeless`; see [`placeless_checksum`].
pub fn moved_trailer(
    type_byte: u8,
    placeless: u32,
    base_context: u32,
    offset: u64,
) -> [u8; BLOCK_TRAILER_LEN] {
    let sum = placeless
        .wrapping_add(context_modifier(base_context, offset))
        .to_le_bytes();
    [type_byte, sum[0], sum[1], sum[2], sum[3]]
}

/// True if the checksum in `trailer` is that of `contents`. In a file without checksums every block stores 0.
/// A block with another value shows that the footer names the wrong checksum type.
pub fn trailer_verifies(
    checksum: ChecksumType,
    contents: &[u8],
    trailer: &[u8; BLOCK_TRAILER_LEN],
    base_context: u32,
    offset: u64,
) -> bool {
    *trailer == block_trailer(checksum, contents, trailer[0], base_context, offset)
}

/// The last bytes of a table. A reader needs them to find everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// The format version, 2 to 7.
    pub format_version: u32,
    /// The checksum type of every block, and from format version 6 of the footer too.
    pub checksum: ChecksumType,
    /// The context mixed into every checksum from format version 6 on. In older versions, which have no
    /// context, it is 0.
    pub base_context_checksum: u32,
    /// The metaindex block.
    pub metaindex: BlockHandle,
    /// The index block. `None` from format version 6: the metaindex names it.
    pub index: Option<BlockHandle>,
}

/// The first bytes of part 2 from format version 6. No metaindex handle of an older version can begin with
/// them.
const EXTENDED_MARK: [u8; 4] = [0x3e, 0x00, 0x7a, 0x00];

impl Footer {
    /// The bytes of a footer at `footer_offset` of its file.
    pub fn encode(&self, footer_offset: u64) -> [u8; FOOTER_LEN] {
        let mut part2 = Vec::with_capacity(2 * MAX_HANDLE_LEN);
        if self.format_version >= FV_CONTEXT_CHECKSUMS {
            part2.extend_from_slice(&EXTENDED_MARK);
            coding::put_u32(&mut part2, 0);
            coding::put_u32(&mut part2, self.base_context_checksum);
            coding::put_u32(&mut part2, self.metaindex.size as u32);
        } else {
            self.metaindex.encode(&mut part2);
            self.index.unwrap_or_default().encode(&mut part2);
        }
        let mut footer = [0; FOOTER_LEN];
        footer[0] = self.checksum as u8;
        footer[1..][..part2.len()].copy_from_slice(&part2);
        footer[41..45].copy_from_slice(&self.format_version.to_le_bytes());
        footer[45..].copy_from_slice(&MAGIC.to_le_bytes());
        if self.format_version >= FV_CONTEXT_CHECKSUMS {
            let sum = self.whole_checksum(&footer, footer_offset);
            footer[5..9].copy_from_slice(&sum.to_le_bytes());
        }
        footer
    }

    /// The checksum over a footer whose checksum field is zero.
    fn whole_checksum(&self, footer: &[u8; FOOTER_LEN], footer_offset: u64) -> u32 {
        self.checksum
            .whole(footer)
            .wrapping_add(context_modifier(self.base_context_checksum, footer_offset))
    }

    /// Reads the footer from `tail`, the last bytes of a file: at least [`FOOTER_LEN`] of them if the file is
    /// that long. `footer_offset` is the offset of the last [`FOOTER_LEN`] bytes in the file.
    ///
    /// Errors: `Corruption` for bytes that are no footer, `NotSupported` for kinds of tables and format
    /// versions that are not read. Offsets in errors are offsets in the file.
    pub fn decode(tail: &[u8], footer_offset: u64) -> Result<Footer> {
        let Some(footer) = tail.last_chunk::<FOOTER_LEN>() else {
            return Err(Error::corruption(format!(
                "file of {} bytes is too short to be an sstable",
                tail.len()
            ))
            .at(0));
        };
        Footer::decode_exact(footer, footer_offset).map_err(|error| error.offset_by(footer_offset))
    }

    /// Decodes as [`Footer::decode`] does, but exactly the bytes of a footer, with offsets within it.
    fn decode_exact(bytes: &[u8; FOOTER_LEN], footer_offset: u64) -> Result<Footer> {
        let magic = coding::u64_at(bytes, 45);
        if magic != MAGIC {
            return Err(match OTHER_MAGICS.iter().find(|other| other.0 == magic) {
                _ if magic == LEGACY_MAGIC => Error::not_supported("table of format version 0 (LevelDB)"),
                Some((_, what)) => Error::not_supported(format!("{what} files are not supported")),
                None => Error::corruption(format!(
                    "Bad table magic number: expected {MAGIC:#x}, found {magic:#x}"
                )),
            }
            .at(45));
        }
        let format_version = coding::u32_at(bytes, 41);
        if !(MIN_FORMAT_VERSION..=MAX_FORMAT_VERSION).contains(&format_version) {
            return Err(Error::corruption(format!(
                "Corrupt or unsupported format_version: {format_version}"
            ))
            .at(41));
        }
        let checksum = ChecksumType::from_byte(bytes[0]).ok_or_else(|| {
            Error::corruption(format!("Corrupt or unsupported checksum type: {}", bytes[0])).at(0)
        })?;
        if format_version < FV_CONTEXT_CHECKSUMS {
            let mut part2 = Reader::new(&bytes[1..41]);
            let metaindex = BlockHandle::decode(&mut part2).map_err(|error| error.offset_by(1))?;
            let index = BlockHandle::decode(&mut part2).map_err(|error| error.offset_by(1))?;
            return Ok(Footer {
                format_version,
                checksum,
                base_context_checksum: 0,
                metaindex,
                index: Some(index),
            });
        }
        if bytes[1..5] != EXTENDED_MARK {
            return Err(Error::corruption(format!(
                "Bad extended magic number in footer: {:02x?}",
                &bytes[1..5]
            ))
            .at(1));
        }
        if bytes[33..41] != [0; 8] {
            return Err(Error::corruption("File uses a future feature not supported in this version").at(33));
        }
        let metaindex_size = u64::from(coding::u32_at(bytes, 13));
        let metaindex_offset = footer_offset
            .checked_sub(metaindex_size + BLOCK_TRAILER_LEN as u64)
            .ok_or_else(|| {
                Error::corruption(format!("metaindex of {metaindex_size} bytes in a smaller file")).at(13)
            })?;
        let footer = Footer {
            format_version,
            checksum,
            base_context_checksum: coding::u32_at(bytes, 9),
            metaindex: BlockHandle::new(metaindex_offset, metaindex_size),
            index: None,
        };
        let mut zeroed = *bytes;
        zeroed[5..9].fill(0);
        let (stored, computed) = (
            coding::u32_at(bytes, 5),
            footer.whole_checksum(&zeroed, footer_offset),
        );
        if stored != computed && !matches!(checksum, ChecksumType::None) {
            return Err(Error::corruption(format!(
                "Footer checksum mismatch: stored {stored:#010x}, computed {computed:#010x}, type {}",
                checksum.name()
            ))
            .at(5));
        }
        Ok(footer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{unhex, vectors};

    #[test]
    fn footers_of_every_version_decode_and_encode() {
        for vector in vectors("footer") {
            let bytes = unhex(&vector["footer_hex"]);
            let number = |name: &str| vector[name].as_u64().unwrap();
            let offset = number("footer_offset");
            let footer = Footer::decode(&bytes, offset).unwrap();
            assert_eq!(u64::from(footer.format_version), number("format_version"));
            assert_eq!(footer.checksum as u64, number("checksum_type"));
            let handle = |name: &str| {
                let pair = vector[name].as_array()?;
                Some(BlockHandle::new(
                    pair[0].as_u64().unwrap(),
                    pair[1].as_u64().unwrap(),
                ))
            };
            assert_eq!(Some(footer.metaindex), handle("metaindex_handle"));
            if footer.format_version < FV_CONTEXT_CHECKSUMS {
                assert_eq!(footer.index, handle("index_handle"));
            }
            assert_eq!(footer.encode(offset).to_vec(), bytes);
            // The bytes of the footer are decoded at another offset, which only a footer with a context
            // checksum detects.
            let moved = Footer::decode(&bytes, offset + 4096);
            assert_eq!(moved.is_err(), footer.base_context_checksum != 0);
        }
    }

    #[test]
    fn footers_of_other_kinds_are_refused() {
        let footer = Footer {
            format_version: 5,
            checksum: ChecksumType::Xxh3,
            base_context_checksum: 0,
            metaindex: BlockHandle::new(10, 20),
            index: Some(BlockHandle::new(30, 40)),
        };
        let refused = |change: &dyn Fn(&mut [u8])| {
            let mut bytes = footer.encode(1000);
            change(&mut bytes);
            Footer::decode(&bytes, 1000).unwrap_err()
        };
        let put_magic = |bytes: &mut [u8], magic: u64| bytes[45..].copy_from_slice(&magic.to_le_bytes());
        for (magic, _) in OTHER_MAGICS {
            let error = refused(&|bytes| put_magic(bytes, magic));
            assert_eq!(error.kind(), base::ErrorKind::NotSupported);
        }
        let error = refused(&|bytes| put_magic(bytes, LEGACY_MAGIC));
        assert_eq!(error.kind(), base::ErrorKind::NotSupported);
        assert!(refused(&|bytes| put_magic(bytes, 7)).is_corruption());
        for version in [0, 1, 8, u32::MAX] {
            let error = refused(&|bytes| bytes[41..45].copy_from_slice(&version.to_le_bytes()));
            assert!(error.is_corruption());
            assert_eq!(error.offset(), Some(1041));
        }
        assert!(refused(&|bytes| bytes[0] = 5).is_corruption());
        assert!(refused(&|bytes| bytes[1..21].fill(0xff)).is_corruption());
        assert!(Footer::decode(&[0; 52], 0).unwrap_err().is_corruption());
    }

    #[test]
    fn trailers_of_every_checksum() {
        let file = std::fs::read(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../testdata/format_vectors.json"
        ));
        let all: serde_json::Value = serde_json::from_slice(&file.unwrap()).unwrap();
        for vector in all["block_checksum"]["vectors"].as_array().unwrap() {
            let number = |name: &str| vector[name].as_u64().unwrap();
            let checksum = ChecksumType::from_byte(number("checksum_type") as u8).unwrap();
            let contents = unhex(&vector["block_hex"]);
            let (base, offset) = (number("base_context_checksum") as u32, number("block_offset"));
            let type_byte = number("compression_type_byte") as u8;
            let trailer = block_trailer(checksum, &contents, type_byte, base, offset);
            let stored = (number("stored_checksum") as u32).to_le_bytes();
            assert_eq!((trailer[0], &trailer[1..]), (type_byte, &stored[..]));
            assert!(trailer_verifies(checksum, &contents, &trailer, base, offset));
            let mut flipped = contents.clone();
            flipped[0] ^= 1;
            let verifies = trailer_verifies(checksum, &flipped, &trailer, base, offset);
            assert_eq!(verifies, checksum == ChecksumType::None);
            // One flipped bit of a footer turns most types into type 0, no checksum.
            let none = trailer_verifies(ChecksumType::None, &contents, &trailer, base, offset);
            assert_eq!(none, checksum == ChecksumType::None);
        }
    }
}
