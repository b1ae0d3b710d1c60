//! Compression and decompression of blocks, in RocksDB's framing (format version 2 and later).
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
//! zlib, LZ4, LZ4HC and ZSTD may use a dictionary, which the reader must have too; Snappy and bzip2 ignore
//! it.
//!
//! [`Compressor`] and [`Decompressor`] keep the library state that can be reused between blocks. The length
//! that a stored block claims is trusted only as far as its algorithm could reach from the existing bytes.

#[cfg_attr(not(feature = "default"), allow(dead_code, reason = "the codecs use it"))]
mod bounds;
mod codecs;
mod compressor;
mod decompressor;
#[cfg(test)]
mod features;
#[cfg(all(test, feature = "default"))]
mod tests;

// All codecs are default features.
#[cfg(not(feature = "default"))]
#[cfg_attr(
    not(feature = "default"),
    allow(dead_code, reason = "the codecs that are built in do not use it")
)]
mod absent;
#[cfg(feature = "bzip2")]
mod bzip2_stream;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "snappy")]
mod snappy;
#[cfg(feature = "zlib")]
mod zlib;
#[cfg(feature = "zstd")]
mod zstandard;

use std::fmt;

use base::Error;

pub use codecs::zstandard::train_dictionary;
pub use compressor::Compressor;
pub use decompressor::Decompressor;

/// The error of a library; blocks of ordinary size with ordinary settings never cause it.
#[cold]
fn failed(ty: CompressionType, what: impl fmt::Display) -> Error {
    Error::invalid_argument(format!("cannot compress with {}: {what}", ty.property_name()))
}

/// The compression of a block; the number is its type byte.
///
/// ```
/// # use esker_codec::compression as esker;
/// use esker::CompressionType;
///
/// assert_eq!(CompressionType::from_options_name("kZSTD"), Some(CompressionType::Zstd));
/// // True unless the program was built without the feature.
/// assert!(CompressionType::Zstd.is_supported() || CompressionType::Zstd.feature() == "zstd");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum CompressionType {
    /// The data is stored uncompressed.
    None = 0,
    /// Snappy: fast, small gain. LZ4 is better in both.
    Snappy = 1,
    /// Deflate.
    Zlib = 2,
    /// bzip2: slow in both directions.
    Bzip2 = 3,
    /// LZ4: the cheapest to decompress.
    Lz4 = 4,
    /// LZ4 written by a slower compressor; read like LZ4.
    Lz4Hc = 5,
    /// Windows' Xpress. Known by name, neither written nor read.
    Xpress = 6,
    /// Zstandard: the best ratio at usable speed.
    Zstd = 7,
    /// Zstandard under its number from before its format was final. Read and written on request.
    ZstdNotFinal = 0x40,
}

impl CompressionType {
    /// All compression types.
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

    /// The type of an [`options_name`](CompressionType::options_name). `kDisableCompressionOption` is not a
    /// type: it means that an option is not set.
    pub fn from_options_name(name: &str) -> Option<CompressionType> {
        CompressionType::ALL
            .into_iter()
            .find(|ty| ty.options_name() == name)
    }

    /// True if the type uses a dictionary.
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

    /// The maximum size of a block, raw or compressed. LZ4 uses 31 bits; the others' lengths are 32-bit
    /// varints.
    fn longest(self) -> usize {
        match self {
            CompressionType::Lz4 | CompressionType::Lz4Hc => 0x7e00_0000,
            _ => u32::MAX as usize,
        }
    }

    /// True if this build can write and read the type: all but Xpress, unless the feature of its codec is
    /// off.
    pub fn is_supported(self) -> bool {
        match self {
            CompressionType::None => true,
            CompressionType::Snappy => cfg!(feature = "snappy"),
            CompressionType::Zlib => cfg!(feature = "zlib"),
            CompressionType::Bzip2 => cfg!(feature = "bzip2"),
            CompressionType::Lz4 | CompressionType::Lz4Hc => cfg!(feature = "lz4"),
            CompressionType::Xpress => false,
            CompressionType::Zstd | CompressionType::ZstdNotFinal => cfg!(feature = "zstd"),
        }
    }

    /// The cheapest type that this build can write: LZ4, else Snappy, else none.
    pub fn cheapest() -> CompressionType {
        [CompressionType::Lz4, CompressionType::Snappy]
            .into_iter()
            .find(|ty| ty.is_supported())
            .unwrap_or(CompressionType::None)
    }

    /// The feature of this crate, and of `esker`, that builds the type in; empty if there is none.
    pub fn feature(self) -> &'static str {
        match self {
            CompressionType::None | CompressionType::Xpress => "",
            CompressionType::Snappy => "snappy",
            CompressionType::Zlib => "zlib",
            CompressionType::Bzip2 => "bzip2",
            CompressionType::Lz4 | CompressionType::Lz4Hc => "lz4",
            CompressionType::Zstd | CompressionType::ZstdNotFinal => "zstd",
        }
    }
}

/// The options of compression. None of them is needed for reads.
///
/// ```
/// # use esker_codec::compression as esker;
/// use esker::CompressionOptions;
///
/// // Set as `ColumnFamilyOptions::compression_opts`.
/// let options = CompressionOptions {
///     level: 3,
///     max_dict_bytes: 16 << 10,
///     zstd_max_train_bytes: 1 << 20,
///     ..Default::default()
/// };
/// assert!(options.keeps(4096, 2048));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressionOptions {
    /// The level in the library's own scale; [`DEFAULT_LEVEL`](CompressionOptions::DEFAULT_LEVEL) (the
    /// default) is the library's: zlib 6, LZ4HC 9, ZSTD 3. LZ4: a negative level is the acceleration. Snappy
    /// and bzip2 have none.
    pub level: i32,
    /// zlib: the base 2 logarithm of the window, negative as in RocksDB (-14, the default). RocksDB reads
    /// with a window of 16 KiB, so larger ones are reduced to 14.
    pub window_bits: i32,
    /// zlib's strategy, kept for OPTIONS files: this engine always uses the default one, which every reader
    /// supports.
    pub strategy: i32,
    /// The maximum size of a dictionary in bytes; 0 (the default): none.
    pub max_dict_bytes: u32,
    /// ZSTD: bytes of samples that a dictionary is trained from; 0 (the default): the raw samples are the
    /// dictionary.
    pub zstd_max_train_bytes: u32,
    /// The compressed form is kept if it is no larger than this many bytes for each 1,024; values above 1,023
    /// count as 1,023. Default: 896.
    pub max_compressed_bytes_per_kb: i32,
    /// The maximum bytes of data blocks held in memory to make a dictionary from; 0 (the default): 64 MiB.
    pub max_dict_buffer_bytes: u64,
    /// Whether ZSTD frames end in a checksum of their contents, which every read verifies. Default: false,
    /// because blocks have checksums of their own.
    pub checksum: bool,
    /// For the options of the last level: whether they replace those for all levels. Default: false.
    pub enabled: bool,
    /// The number of threads that compress the data blocks of each table, besides the thread that builds and
    /// writes them. With 1 that thread compresses too. Default: 1.
    pub parallel_threads: u32,
    /// Kept for OPTIONS files. It must be true with `zstd_max_train_bytes`. Default: true.
    pub use_zstd_dict_trainer: bool,
}

impl CompressionOptions {
    /// The level that means the library's own default.
    pub const DEFAULT_LEVEL: i32 = 32767;

    /// True if `compressed_len` bytes are small enough in relation to `raw_len` to be stored instead.
    #[inline]
    pub fn keeps(&self, raw_len: usize, compressed_len: usize) -> bool {
        let per_kb = self.max_compressed_bytes_per_kb.clamp(0, 1023) as u64;
        compressed_len as u64 <= raw_len as u64 * per_kb / 1024
    }

    #[cfg_attr(not(feature = "default"), allow(dead_code, reason = "the codecs use it"))]
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
