//! Blocks made smaller and back, framed as RocksDB frames them (format version 2 and later).
//!
//! | type | stored form |
//! |---|---|
//! | none | the bytes themselves |
//! | Snappy | a Snappy block, which carries its own length |
//! | zlib | varint length, raw deflate of at most 16 KiB window |
//! | bzip2 | varint length, bzip2 stream |
//! | LZ4, LZ4HC | varint length, LZ4 block |
//! | ZSTD | varint length, one zstd frame |
//!
//! zlib, LZ4, LZ4HC and ZSTD may use a dictionary, which the reader must have too; Snappy and bzip2 ignore it.
//!
//! [`Compressor`] and [`Decompressor`] keep what their libraries can reuse between blocks. A length a stored block claims
//! is believed only as far as its algorithm could reach from the bytes that are there.

mod compressor;
mod decompressor;
#[cfg(test)]
mod tests;

pub use compressor::{Compressor, train_dictionary};
pub use decompressor::Decompressor;

/// How a block is stored; the number is its type byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum CompressionType {
    /// As it is.
    None = 0,
    /// Snappy: fast, small gain. LZ4 does both better.
    Snappy = 1,
    /// Deflate.
    Zlib = 2,
    /// bzip2: slow both ways.
    Bzip2 = 3,
    /// LZ4: the cheapest to read.
    Lz4 = 4,
    /// LZ4 written by a slower compressor; read like LZ4.
    Lz4Hc = 5,
    /// Windows' Xpress. Known by name, neither written nor read.
    Xpress = 6,
    /// Zstandard: the best ratio at usable speed.
    Zstd = 7,
    /// Zstandard under its number of the time before its format was final. Read, and written as asked for.
    ZstdNotFinal = 0x40,
}

impl CompressionType {
    /// All of them.
    pub const ALL: [CompressionType; 9] = [
        CompressionType::None,
        CompressionType::Snappy,
        CompressionType::Zlib,
        CompressionType::Bzip2,
        CompressionType::Lz4,
        CompressionType::Lz4Hc,
        CompressionType::Xpress,
        CompressionType::Zstd,
        CompressionType::ZstdNotFinal,
    ];

    /// The type of a block's type byte.
    #[inline]
    pub fn from_byte(byte: u8) -> Option<CompressionType> {
        Some(match byte {
            0 => CompressionType::None,
            1 => CompressionType::Snappy,
            2 => CompressionType::Zlib,
            3 => CompressionType::Bzip2,
            4 => CompressionType::Lz4,
            5 => CompressionType::Lz4Hc,
            6 => CompressionType::Xpress,
            7 => CompressionType::Zstd,
            0x40 => CompressionType::ZstdNotFinal,
            _ => return None,
        })
    }

    /// The name in the property `rocksdb.compression` of SSTs up to format version 6: `ZSTD`.
    pub fn property_name(self) -> &'static str {
        match self {
            CompressionType::None => "NoCompression",
            CompressionType::Snappy => "Snappy",
            CompressionType::Zlib => "Zlib",
            CompressionType::Bzip2 => "BZip2",
            CompressionType::Lz4 => "LZ4",
            CompressionType::Lz4Hc => "LZ4HC",
            CompressionType::Xpress => "Xpress",
            CompressionType::Zstd => "ZSTD",
            CompressionType::ZstdNotFinal => "ZSTDNotFinal",
        }
    }

    /// The type of a [`property_name`](CompressionType::property_name).
    pub fn from_property_name(name: &str) -> Option<CompressionType> {
        CompressionType::ALL
            .into_iter()
            .find(|ty| ty.property_name() == name)
    }

    /// The name in OPTIONS files: `kLZ4Compression`.
    pub fn options_name(self) -> &'static str {
        match self {
            CompressionType::None => "kNoCompression",
            CompressionType::Snappy => "kSnappyCompression",
            CompressionType::Zlib => "kZlibCompression",
            CompressionType::Bzip2 => "kBZip2Compression",
            CompressionType::Lz4 => "kLZ4Compression",
            CompressionType::Lz4Hc => "kLZ4HCCompression",
            CompressionType::Xpress => "kXpressCompression",
            CompressionType::Zstd => "kZSTD",
            CompressionType::ZstdNotFinal => "kZSTDNotFinalCompression",
        }
    }

    /// The type of an [`options_name`](CompressionType::options_name). `kDisableCompressionOption` is no type: it says
    /// that an option is not set.
    pub fn from_options_name(name: &str) -> Option<CompressionType> {
        CompressionType::ALL
            .into_iter()
            .find(|ty| ty.options_name() == name)
    }

    /// True where a dictionary makes a difference.
    pub fn uses_dictionary(self) -> bool {
        matches!(
            self,
            CompressionType::Zlib
                | CompressionType::Lz4
                | CompressionType::Lz4Hc
                | CompressionType::Zstd
                | CompressionType::ZstdNotFinal
        )
    }

    /// Most bytes a block may have, before or after. LZ4 counts them in 31 bits; the others' lengths are 32-bit varints.
    fn longest(self) -> usize {
        match self {
            CompressionType::Lz4 | CompressionType::Lz4Hc => 0x7e00_0000,
            _ => u32::MAX as usize,
        }
    }

    /// True where this engine can write and read it.
    pub fn is_supported(self) -> bool {
        self != CompressionType::Xpress
    }
}

/// How hard to compress, and what with. Nothing of it is needed to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressionOptions {
    /// In the library's own scale; [`DEFAULT_LEVEL`](CompressionOptions::DEFAULT_LEVEL) (the default) leaves it to the
    /// library: zlib 6, LZ4HC 9, ZSTD 3. LZ4: a negative level is the acceleration. Snappy and bzip2 have none.
    pub level: i32,
    /// zlib: base 2 logarithm of the window, negative as RocksDB has it (-14, the default). RocksDB reads with a window
    /// of 16 KiB, so larger ones are cut to 14.
    pub window_bits: i32,
    /// zlib's strategy, carried for OPTIONS files: ours always uses the default one, which every reader reads.
    pub strategy: i32,
    /// Largest dictionary in bytes; 0 (the default): none.
    pub max_dict_bytes: u32,
    /// ZSTD: bytes of samples a dictionary is trained from; 0 (the default): samples are the dictionary as they are.
    pub zstd_max_train_bytes: u32,
    /// The compressed form is kept if it is no larger than this many bytes for each 1,024; above 1,023 counts as that.
    /// Default 896.
    pub max_compressed_bytes_per_kb: i32,
    /// Bytes of data blocks held in memory, at most, for a dictionary to be made of; 0 (the default): 64 MiB.
    pub max_dict_buffer_bytes: u64,
    /// ZSTD frames end in a checksum of their contents, which is verified whenever they are read. Default false: blocks have
    /// checksums of their own.
    pub checksum: bool,
    /// Of the options for the last level: they are used in place of those for all levels. Default false.
    pub enabled: bool,
    /// Threads that compress the data blocks of each table, beside the one that makes and writes them. 1: that one does it all. Default 1.
    pub parallel_threads: u32,
    /// Carried for OPTIONS files: with `zstd_max_train_bytes` it must be true, the default.
    pub use_zstd_dict_trainer: bool,
}

impl CompressionOptions {
    /// The level that stands for the library's own choice.
    pub const DEFAULT_LEVEL: i32 = 32767;

    /// True if `compressed_len` bytes are enough of a gain over `raw_len` to be stored in their place.
    #[inline]
    pub fn keeps(&self, raw_len: usize, compressed_len: usize) -> bool {
        let per_kb = self.max_compressed_bytes_per_kb.clamp(0, 1023) as u64;
        compressed_len as u64 <= raw_len as u64 * per_kb / 1024
    }

    fn level_or(&self, default: i32) -> i32 {
        if self.level == CompressionOptions::DEFAULT_LEVEL {
            default
        } else {
            self.level
        }
    }
}

impl Default for CompressionOptions {
    fn default() -> CompressionOptions {
        CompressionOptions {
            level: CompressionOptions::DEFAULT_LEVEL,
            window_bits: -14,
            strategy: 0,
            max_dict_bytes: 0,
            zstd_max_train_bytes: 0,
            max_compressed_bytes_per_kb: 896,
            max_dict_buffer_bytes: 0,
            checksum: false,
            enabled: false,
            parallel_threads: 1,
            use_zstd_dict_trainer: true,
        }
    }
}
