//! Decompression: one [`Decompressor`] for each file, which any number of threads use at once.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, OnceLock};

use base::coding::varint32;
use base::{Error, Result};
use flate2::{Decompress, FlushDecompress, Status};
use lzzzz::lz4;
use zstd::zstd_safe::{self, DCtx, DDict};

use super::CompressionType;

/// The maximum number of bytes that one byte can expand to, rounded up: Snappy copies 64 bytes by a tag of 3,
/// LZ4 adds 255 by a byte of length, deflate copies 258 bytes by 2 bits.
const SNAPPY_RATIO: u64 = 22;
const LZ4_RATIO: u64 = 255;
const ZLIB_RATIO: u64 = 1032;
/// The maximum size of a block of a zstd frame.
const ZSTD_BLOCK: u64 = 128 << 10;
/// Claimed lengths below this are not checked.
const SMALL_CLAIM: u64 = 128 << 10;

thread_local! {
    // Contexts outlive the files they served: they are expensive, and a thread uses one at a time.
    static INFLATE: RefCell<Decompress> = RefCell::new(Decompress::new(false));
    static ZSTD: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// Decompresses blocks, with the dictionary of their file if it has one. All readers of a file share it: it
/// has no locks, and the libraries' working memory is per thread.
pub struct Decompressor {
    dictionary: Option<Arc<[u8]>>,
    /// The dictionary in ZSTD's form, from the first ZSTD block on. Inner `None`: it is not usable.
    zstd_dictionary: OnceLock<Option<DDict<'static>>>,
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor")
            .field(
                "dictionary_len",
                &self.dictionary.as_ref().map(|bytes| bytes.len()),
            )
            .finish_non_exhaustive()
    }
}

#[cold]
fn bad(ty: CompressionType, what: impl fmt::Display) -> Error {
    Error::corruption(format!("bad {} block: {what}", ty.property_name()))
}

#[cold]
fn excessive(ty: CompressionType, claimed: u32, stored: usize) -> Error {
    bad(
        ty,
        format_args!("{stored} bytes cannot decompress to the claimed {claimed}"),
    )
}

impl Decompressor {
    /// A decompressor for blocks written with this dictionary, or with none. The dictionary is not processed
    /// until a block needs it.
    pub fn new(dictionary: Option<Arc<[u8]>>) -> Decompressor {
        Decompressor {
            dictionary: dictionary.filter(|bytes| !bytes.is_empty()),
            zstd_dictionary: OnceLock::new(),
        }
    }

    /// Decompresses `stored`, of type `ty`, into `out`. The previous contents of `out` do not matter, but its
    /// existing length need not be zeroed: reuse it without clearing.
    ///
    /// `Corruption` if the bytes are not a valid block, or claim an impossible length; then `out` is empty.
    /// `NotSupported` for Xpress. Takes no lock, and allocates nothing beyond `out` (except on a thread's
    /// first zlib or ZSTD block, and for bzip2).
    pub fn decompress(&self, ty: CompressionType, stored: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let result = self.decompress_or_leave(ty, stored, out);
        if result.is_err() {
            out.clear();
        }
        result
    }

    fn decompress_or_leave(&self, ty: CompressionType, stored: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match ty {
            CompressionType::None => {
                out.clear();
                out.extend_from_slice(stored);
                return Ok(());
            }
            CompressionType::Snappy => return snappy(stored, out),
            CompressionType::Xpress => return Err(Error::not_supported("Xpress compression")),
            _ => {}
        }
        let (claimed, prefix) = varint32(stored).ok_or_else(|| bad(ty, "truncated length"))?;
        let body = &stored[prefix..];
        let len = claimed as usize;
        if len.max(body.len()) > ty.longest() {
            return Err(excessive(ty, claimed, body.len()));
        }
        match ty {
            CompressionType::Lz4 | CompressionType::Lz4Hc => {
                check_ratio(ty, claimed, body.len(), LZ4_RATIO)?;
                prepare(out, len);
                let written = match &self.dictionary {
                    None => lz4::decompress(body, out),
                    Some(dictionary) => lz4::decompress_with_dict(body, out, dictionary),
                };
                expect(ty, claimed, written.map_err(|_| bad(ty, "malformed"))?)
            }
            CompressionType::Zstd | CompressionType::ZstdNotFinal => {
                if u64::from(claimed) > SMALL_CLAIM && u64::from(claimed) > zstd_most(body) {
                    return Err(excessive(ty, claimed, body.len()));
                }
                out.clear();
                out.reserve(len);
                expect(ty, claimed, self.zstd(ty, body, out)?)
            }
            CompressionType::Zlib => {
                check_ratio(ty, claimed, body.len(), ZLIB_RATIO)?;
                prepare(out, len);
                let written = INFLATE
                    .with_borrow_mut(|state| inflate(state, self.dictionary.as_deref(), body, out))
                    .map_err(|what| bad(ty, what))?;
                expect(ty, claimed, written)
            }
            CompressionType::Bzip2 => {
                bzip2(body, len, out).map_err(|what| bad(ty, what))?;
                expect(ty, claimed, out.len())
            }
            CompressionType::None | CompressionType::Snappy | CompressionType::Xpress => Ok(()),
        }
    }

    /// Appends the frame's content to `out`, up to its capacity, and returns its length.
    fn zstd(&self, ty: CompressionType, body: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        let dictionary = match &self.dictionary {
            None => None,
            Some(bytes) => {
                let prepared = self
                    .zstd_dictionary
                    .get_or_init(|| DDict::try_create(bytes))
                    .as_ref();
                Some(prepared.ok_or_else(|| bad(ty, "its dictionary is unusable"))?)
            }
        };
        ZSTD.with_borrow_mut(|context| match dictionary {
            None => context.decompress(out, body),
            Some(dictionary) => context.decompress_using_ddict(out, body, dictionary),
        })
        .map_err(|code| bad(ty, zstd_safe::get_error_name(code)))
    }
}

/// Sets the length of `out`, whatever its contents: only growth is zeroed, and no old bytes are moved.
#[inline]
fn prepare(out: &mut Vec<u8>, len: usize) {
    if out.capacity() < len {
        out.clear();
    }
    out.resize(len, 0);
}

#[inline]
fn check_ratio(ty: CompressionType, claimed: u32, stored: usize, ratio: u64) -> Result<()> {
    if u64::from(claimed) > stored as u64 * ratio {
        return Err(excessive(ty, claimed, stored));
    }
    Ok(())
}

#[inline]
fn expect(ty: CompressionType, claimed: u32, written: usize) -> Result<()> {
    if written != claimed as usize {
        return Err(bad(ty, format_args!("{written} bytes where it claims {claimed}")));
    }
    Ok(())
}

fn snappy(stored: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let ty = CompressionType::Snappy;
    let (claimed, prefix) = varint32(stored).ok_or_else(|| bad(ty, "truncated length"))?;
    check_ratio(ty, claimed, stored.len() - prefix, SNAPPY_RATIO)?;
    prepare(out, claimed as usize);
    let written = snap::raw::Decoder::new()
        .decompress(stored, out)
        .map_err(|error| bad(ty, error))?;
    expect(ty, claimed, written)
}

fn inflate(
    state: &mut Decompress,
    dictionary: Option<&[u8]>,
    body: &[u8],
    out: &mut [u8],
) -> Result<usize, String> {
    state.reset(false);
    if let Some(dictionary) = dictionary {
        state
            .set_dictionary(dictionary)
            .map_err(|error| error.to_string())?;
    }
    match state.decompress(body, out, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) => Ok(state.total_out() as usize),
        Ok(_) => Err("does not end at its claimed length".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// bzip2 can expand a few dozen bytes to megabytes, so its claim proves nothing: `out` grows with the actual
/// output.
fn bzip2(body: &[u8], claimed: usize, out: &mut Vec<u8>) -> Result<(), String> {
    out.clear();
    // One byte more than claimed, so that the end of the stream is reached before the end of the room.
    out.reserve((claimed + 1).min(SMALL_CLAIM as usize));
    let mut state = bzip2::Decompress::new(false);
    loop {
        let (read, written) = (state.total_in(), out.len());
        let status = state
            .decompress_vec(&body[read as usize..], out)
            .map_err(|error| error.to_string())?;
        if status == bzip2::Status::StreamEnd {
            return Ok(());
        }
        if out.len() > claimed {
            return Err(format!("more than the {claimed} bytes it claims"));
        }
        if out.len() == out.capacity() {
            out.reserve((claimed + 1 - out.len()).min(out.len()).max(1));
        } else if state.total_in() == read && out.len() == written {
            return Err("truncated".into());
        }
    }
}

/// The maximum size of the content of the zstd frames in `body`, from the headers of their blocks: a run's
/// length is real however few bytes it takes. 0 if they are not frames; the decoder reports why.
fn zstd_most(mut body: &[u8]) -> u64 {
    let mut most = 0;
    while !body.is_empty() {
        let Some((frame, rest)) = zstd_frame_most(body) else {
            return most;
        };
        most += frame;
        body = rest;
    }
    most
}

const ZSTD_MAGIC: [u8; 4] = 0xfd2f_b528u32.to_le_bytes();

/// The maximum size of the content of the first frame in `body`, and the bytes after it.
fn zstd_frame_most(body: &[u8]) -> Option<(u64, &[u8])> {
    let rest = body.strip_prefix(&ZSTD_MAGIC)?;
    let (&descriptor, rest) = rest.split_first()?;
    let single_segment = descriptor & 0x20 != 0;
    let window = usize::from(!single_segment);
    let dictionary_id = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_size = [usize::from(single_segment), 2, 4, 8][usize::from(descriptor >> 6)];
    let mut rest = rest.get(window + dictionary_id + content_size..)?;
    let mut most = 0;
    loop {
        let (header, after) = rest.split_first_chunk::<3>()?;
        let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let (last, kind, size) = (header & 1 != 0, header >> 1 & 3, (header >> 3) as usize);
        let (stored, restored) = match kind {
            0 => (size, size as u64),
            1 => (1, size as u64),
            _ => (size, ZSTD_BLOCK),
        };
        most += restored.min(ZSTD_BLOCK);
        rest = after.get(stored..)?;
        if last {
            let checksum = usize::from(descriptor & 4 != 0) * 4;
            return Some((most, rest.get(checksum..)?));
        }
    }
}
