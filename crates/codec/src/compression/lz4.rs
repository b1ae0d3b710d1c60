//! LZ4 and LZ4HC blocks: `lz4_flex` compresses without a dictionary, the C library behind `lzzzz` does the
//! rest.

use base::Result;
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};
use lzzzz::{lz4, lz4_hc};

use super::bounds::{Sizes, bad, fill};
use super::{CompressionOptions, CompressionType, failed};

/// LZ4HC's own default level.
const HC_LEVEL: i32 = lz4_hc::CLEVEL_DEFAULT;
/// The maximum number of bytes that one byte expands to: a byte of length adds 255.
const RATIO: u64 = 255;

pub(super) enum Encoder {
    Lz4(CompressTable),
    Accelerated { acceleration: i32 },
    WithDictionary(Box<WithDictionary>),
    Hc { level: i32 },
    HcWithDictionary(Box<HcWithDictionary>),
}

/// The hash table of the dictionary is built once, and attached to the compressor of each block.
pub(super) struct WithDictionary {
    dictionary: lz4::Compressor<'static>,
    block: lz4::Compressor<'static>,
    acceleration: i32,
}

pub(super) struct HcWithDictionary {
    dictionary: lz4_hc::Compressor<'static>,
    block: lz4_hc::Compressor<'static>,
    level: i32,
}

impl Encoder {
    pub fn new(
        ty: CompressionType,
        options: &CompressionOptions,
        dictionary: Option<&[u8]>,
    ) -> Result<Encoder> {
        if ty == CompressionType::Lz4Hc {
            return Encoder::hc(ty, options, dictionary);
        }
        let acceleration = options.level_or(-1).saturating_neg().max(1);
        Ok(match dictionary {
            None if acceleration == 1 => Encoder::Lz4(CompressTable::small()),
            None => Encoder::Accelerated { acceleration },
            Some(dictionary) => Encoder::WithDictionary(Box::new(WithDictionary {
                dictionary: lz4::Compressor::with_dict(dictionary.to_vec())
                    .map_err(|error| failed(ty, error))?,
                block: lz4::Compressor::new().map_err(|error| failed(ty, error))?,
                acceleration,
            })),
        })
    }

    fn hc(ty: CompressionType, options: &CompressionOptions, dictionary: Option<&[u8]>) -> Result<Encoder> {
        // In RocksDB and in the library 0 means the default.
        let level = options.level_or(HC_LEVEL).max(0);
        Ok(match dictionary {
            None => Encoder::Hc { level },
            Some(dictionary) => Encoder::HcWithDictionary(Box::new(HcWithDictionary {
                dictionary: lz4_hc::Compressor::with_dict(dictionary.to_vec(), level)
                    .map_err(|error| failed(ty, error))?,
                block: lz4_hc::Compressor::new().map_err(|error| failed(ty, error))?,
                level,
            })),
        })
    }

    /// Appends the compressed form to `out`, which has the decompressed length already.
    pub fn compress(&mut self, ty: CompressionType, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        // The block of an empty input is one empty token; the bindings would write no byte, which is not a
        // valid block.
        if raw.is_empty() {
            out.push(0);
            return Ok(());
        }
        match self {
            Encoder::Lz4(table) => {
                let start = out.len();
                out.resize(start + get_maximum_output_size(raw.len()), 0);
                let len = compress_into_with_table(raw, &mut out[start..], table)
                    .map_err(|error| failed(ty, error))?;
                out.truncate(start + len);
                Ok(())
            }
            Encoder::Accelerated { acceleration } => done(ty, lz4::compress_to_vec(raw, out, *acceleration)),
            Encoder::Hc { level } => done(ty, lz4_hc::compress_to_vec(raw, out, *level)),
            Encoder::WithDictionary(lz4) => {
                // Detaching the dictionary also clears the previous block; an attached dictionary serves one
                // block only.
                lz4.block.attach_dict(None);
                lz4.block.attach_dict(Some(&mut lz4.dictionary));
                done(ty, lz4.block.next_to_vec(raw, out, lz4.acceleration))
            }
            Encoder::HcWithDictionary(lz4) => {
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

pub(super) fn decompress(
    ty: CompressionType,
    body: &[u8],
    claimed: u32,
    dictionary: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let sizes = Sizes {
        claimed,
        stored: body.len(),
        ratio: RATIO,
    };
    fill(ty, &sizes, out, |out| {
        let written = match dictionary {
            None => lz4::decompress(body, out),
            Some(dictionary) => lz4::decompress_with_dict(body, out, dictionary),
        };
        written.map_err(|_| bad(ty, "malformed"))
    })
}
