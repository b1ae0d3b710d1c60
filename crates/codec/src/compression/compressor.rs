//! Compression: one [`Compressor`] for each file being written, which reuses the library's state from block
//! to block.

use std::fmt;
use std::io::{Cursor, Write};

use base::coding::put_varint32;
use base::{Error, Result};
use flate2::{Compress, FlushCompress, Status};
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};
use lzzzz::{lz4, lz4_hc};
use zstd::zstd_safe::{self, CCtx, CDict, CParameter};

use super::{CompressionOptions, CompressionType};

/// zlib's own default.
const ZLIB_LEVEL: i32 = 6;
/// LZ4HC's own default.
const LZ4_HC_LEVEL: i32 = lz4_hc::CLEVEL_DEFAULT;
/// ZSTD's own default.
const ZSTD_LEVEL: i32 = zstd::DEFAULT_COMPRESSION_LEVEL;

/// Compresses blocks one after the other, each independently, with fixed settings.
pub struct Compressor {
    ty: CompressionType,
    body: Body,
}

enum Body {
    None,
    Snappy(Box<snap::raw::Encoder>),
    Zlib(Zlib),
    Bzip2,
    Lz4(CompressTable),
    Lz4Accelerated { acceleration: i32 },
    Lz4WithDictionary(Box<Lz4WithDictionary>),
    Lz4Hc { level: i32 },
    Lz4HcWithDictionary(Box<Lz4HcWithDictionary>),
    Zstd(Zstd),
}

struct Zlib {
    state: Compress,
    dictionary: Box<[u8]>,
}

/// The dictionary's hash table is built once; each block starts from it.
struct Lz4WithDictionary {
    dictionary: lz4::Compressor<'static>,
    block: lz4::Compressor<'static>,
    acceleration: i32,
}

struct Lz4HcWithDictionary {
    dictionary: lz4_hc::Compressor<'static>,
    block: lz4_hc::Compressor<'static>,
    level: i32,
}

struct Zstd {
    context: CCtx<'static>,
    dictionary: Option<CDict<'static>>,
    /// Whether frames end in a checksum.
    checksum: bool,
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor")
            .field("ty", &self.ty)
            .finish_non_exhaustive()
    }
}

/// The error of a library; blocks of ordinary size with ordinary settings never cause it.
#[cold]
fn failed(ty: CompressionType, what: impl fmt::Display) -> Error {
    Error::invalid_argument(format!("cannot compress with {}: {what}", ty.property_name()))
}

impl Compressor {
    /// Sets up the library and the dictionary. `NotSupported` for Xpress; `InvalidArgument` if ZSTD cannot
    /// use the dictionary. Takes from nothing (LZ4) to a megabyte (ZSTD, LZ4HC) of memory, held until
    /// dropped.
    pub fn new(
        ty: CompressionType,
        options: &CompressionOptions,
        dictionary: Option<&[u8]>,
    ) -> Result<Compressor> {
        let dictionary = dictionary.filter(|bytes| !bytes.is_empty());
        let body = match ty {
            CompressionType::None => Body::None,
            CompressionType::Snappy => Body::Snappy(Box::new(snap::raw::Encoder::new())),
            CompressionType::Zlib => Body::Zlib(Zlib::new(options, dictionary)),
            CompressionType::Bzip2 => Body::Bzip2,
            CompressionType::Lz4 => {
                let acceleration = options.level_or(-1).saturating_neg().max(1);
                match dictionary {
                    None if acceleration == 1 => Body::Lz4(CompressTable::small()),
                    None => Body::Lz4Accelerated { acceleration },
                    Some(dictionary) => Body::Lz4WithDictionary(Box::new(Lz4WithDictionary {
                        dictionary: lz4::Compressor::with_dict(dictionary.to_vec())
                            .map_err(|error| failed(ty, error))?,
                        block: lz4::Compressor::new().map_err(|error| failed(ty, error))?,
                        acceleration,
                    })),
                }
            }
            CompressionType::Lz4Hc => {
                // In RocksDB and in the library 0 means the default.
                let level = options.level_or(LZ4_HC_LEVEL).max(0);
                match dictionary {
                    None => Body::Lz4Hc { level },
                    Some(dictionary) => Body::Lz4HcWithDictionary(Box::new(Lz4HcWithDictionary {
                        dictionary: lz4_hc::Compressor::with_dict(dictionary.to_vec(), level)
                            .map_err(|error| failed(ty, error))?,
                        block: lz4_hc::Compressor::new().map_err(|error| failed(ty, error))?,
                        level,
                    })),
                }
            }
            CompressionType::Zstd | CompressionType::ZstdNotFinal => {
                Body::Zstd(Zstd::new(options, dictionary).map_err(|what| failed(ty, what))?)
            }
            CompressionType::Xpress => {
                return Err(Error::not_supported("Xpress compression"));
            }
        };
        Ok(Compressor { ty, body })
    }

    /// The type byte for the results of [`compress`](Compressor::compress).
    pub fn compression_type(&self) -> CompressionType {
        self.ty
    }

    /// Replaces the contents of `out` by the stored form of `raw`, which is at most a little longer than
    /// `raw`. [`CompressionOptions::keeps`] decides whether it is worth storing. Allocates nothing once `out`
    /// has grown.
    pub fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let ty = self.ty;
        if raw.len() > ty.longest() {
            return Err(failed(ty, format_args!("{} bytes at once", raw.len())));
        }
        match &mut self.body {
            Body::None => {
                out.extend_from_slice(raw);
                return Ok(());
            }
            Body::Snappy(encoder) => {
                out.resize(snap::raw::max_compress_len(raw.len()), 0);
                let len = encoder.compress(raw, out).map_err(|error| failed(ty, error))?;
                out.truncate(len);
                return Ok(());
            }
            _ => put_varint32(out, raw.len() as u32),
        }
        match &mut self.body {
            Body::None | Body::Snappy(_) => Ok(()),
            Body::Zlib(zlib) => zlib.compress(raw, out).map_err(|error| failed(ty, error)),
            Body::Bzip2 => bzip2(raw, out).map_err(|error| failed(ty, error)),
            Body::Zstd(zstd) => zstd.compress(raw, out).map_err(|error| failed(ty, error)),
            // The LZ4 block of an empty input is one empty token; the bindings would write no byte, which is
            // not a valid block.
            _ if raw.is_empty() => {
                out.push(0);
                Ok(())
            }
            Body::Lz4(table) => {
                let start = out.len();
                out.resize(start + get_maximum_output_size(raw.len()), 0);
                let len = compress_into_with_table(raw, &mut out[start..], table)
                    .map_err(|error| failed(ty, error))?;
                out.truncate(start + len);
                Ok(())
            }
            Body::Lz4Accelerated { acceleration } => done(ty, lz4::compress_to_vec(raw, out, *acceleration)),
            Body::Lz4Hc { level } => done(ty, lz4_hc::compress_to_vec(raw, out, *level)),
            Body::Lz4WithDictionary(lz4) => {
                // Detaching also clears the previous block; the dictionary stays attached for one block only.
                lz4.block.attach_dict(None);
                lz4.block.attach_dict(Some(&mut lz4.dictionary));
                done(ty, lz4.block.next_to_vec(raw, out, lz4.acceleration))
            }
            Body::Lz4HcWithDictionary(lz4) => {
                lz4.block.attach_dict(None, lz4.level);
                lz4.block.attach_dict(Some(&lz4.dictionary), lz4.level);
                done(ty, lz4.block.next_to_vec(raw, out))
            }
        }
    }
}

fn done(ty: CompressionType, result: lzzzz::Result<usize>) -> Result<()> {
    result.map(|_| ()).map_err(|error| failed(ty, error))
}

impl Zlib {
    fn new(options: &CompressionOptions, dictionary: Option<&[u8]>) -> Zlib {
        let level = options.level_or(ZLIB_LEVEL);
        let level = if level < 0 { ZLIB_LEVEL } else { level.min(9) };
        // Raw deflate does not support a window of 8, and RocksDB inflates with 14.
        let window_bits = options.window_bits.unsigned_abs().clamp(9, 14) as u8;
        Zlib {
            state: Compress::new_with_window_bits(flate2::Compression::new(level as u32), false, window_bits),
            dictionary: dictionary.unwrap_or_default().into(),
        }
    }

    fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        self.state.reset();
        if !self.dictionary.is_empty() {
            self.state
                .set_dictionary(&self.dictionary)
                .map_err(|error| error.to_string())?;
        }
        // zlib's bound for any window: a ninth more, plus a constant.
        out.reserve(raw.len() + raw.len() / 8 + raw.len() / 64 + 64);
        loop {
            let rest = &raw[self.state.total_in() as usize..];
            let status = self
                .state
                .compress_vec(rest, out, FlushCompress::Finish)
                .map_err(|error| error.to_string())?;
            match status {
                Status::StreamEnd => return Ok(()),
                Status::Ok | Status::BufError => out.reserve(out.capacity()),
            }
        }
    }
}

/// As in RocksDB: blocks of 100 kB, the smallest, whatever the level.
fn bzip2(raw: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
    let mut encoder = bzip2::write::BzEncoder::new(out, bzip2::Compression::new(1));
    encoder.write_all(raw)?;
    encoder.finish().map(|_| ())
}

impl Zstd {
    fn new(options: &CompressionOptions, dictionary: Option<&[u8]>) -> Result<Zstd, &'static str> {
        let level = options.level_or(ZSTD_LEVEL);
        let mut context = CCtx::try_create().ok_or("out of memory")?;
        context
            .set_parameter(CParameter::CompressionLevel(level))
            .map_err(zstd_safe::get_error_name)?;
        context
            .set_parameter(CParameter::ChecksumFlag(options.checksum))
            .map_err(zstd_safe::get_error_name)?;
        let dictionary = match dictionary {
            None => None,
            Some(bytes) => Some(CDict::try_create(bytes, level).ok_or("unusable dictionary")?),
        };
        Ok(Zstd {
            context,
            dictionary,
            checksum: options.checksum,
        })
    }

    fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
        let head = out.len() as u64;
        out.reserve(zstd_safe::compress_bound(raw.len()));
        let mut tail = Cursor::new(out);
        tail.set_position(head);
        match &self.dictionary {
            None => self.context.compress2(&mut tail, raw),
            // The other call ignores the parameters of the context.
            Some(dictionary) if self.checksum => self
                .context
                .ref_cdict(dictionary)
                .and_then(|_| self.context.compress2(&mut tail, raw)),
            Some(dictionary) => self.context.compress_using_cdict(&mut tail, raw, dictionary),
        }
        .map(|_| ())
        .map_err(zstd_safe::get_error_name)
    }
}

/// A ZSTD dictionary of at most `max` bytes from concatenated samples with the lengths `lens`. The samples
/// should have about 100 times `max` bytes. `InvalidArgument` if the lengths do not add up, or if the samples
/// are too few or too similar to train from; the caller then uses no dictionary.
pub fn train_dictionary(samples: &[u8], lens: &[usize], max: usize) -> Result<Vec<u8>> {
    let total = lens.iter().try_fold(0usize, |sum, &len| sum.checked_add(len));
    if total != Some(samples.len()) {
        return Err(Error::invalid_argument(
            "lengths of the samples do not add up to their bytes",
        ));
    }
    zstd::dict::from_continuous(samples, lens, max)
        .map_err(|error| Error::invalid_argument(format!("cannot train a dictionary: {error}")))
}
