//! Zstandard frames, by the crate `zstd`.

use std::cell::RefCell;
use std::io::Cursor;
use std::sync::{Arc, OnceLock};

use base::{Error, Result};
use zstd::zstd_safe::{self, CCtx, CDict, CParameter, DCtx, DDict};

use super::bounds::{SMALL_CLAIM, bad, excessive, expect};
use super::{CompressionOptions, CompressionType, failed};

/// Zstandard's own default level.
const LEVEL: i32 = zstd::DEFAULT_COMPRESSION_LEVEL;
/// The maximum size of a block of a frame.
const BLOCK: u64 = 128 << 10;

thread_local! {
    // The decompression context is kept per thread, not per file: its creation is expensive, and a thread
    // uses one at a time.
    static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

pub(super) struct Encoder {
    context: CCtx<'static>,
    dictionary: Option<CDict<'static>>,
    /// Whether frames end in a checksum.
    checksum: bool,
}

impl Encoder {
    pub fn new(
        ty: CompressionType,
        options: &CompressionOptions,
        dictionary: Option<&[u8]>,
    ) -> Result<Encoder> {
        let level = options.level_or(LEVEL);
        let named = |code| failed(ty, zstd_safe::get_error_name(code));
        let mut context = CCtx::try_create().ok_or_else(|| failed(ty, "out of memory"))?;
        context
            .set_parameter(CParameter::CompressionLevel(level))
            .map_err(named)?;
        context
            .set_parameter(CParameter::ChecksumFlag(options.checksum))
            .map_err(named)?;
        let dictionary = match dictionary {
            None => None,
            Some(bytes) => {
                Some(CDict::try_create(bytes, level).ok_or_else(|| failed(ty, "unusable dictionary"))?)
            }
        };
        Ok(Encoder {
            context,
            dictionary,
            checksum: options.checksum,
        })
    }

    /// Appends the compressed form to `out`, which has the decompressed length already.
    pub fn compress(&mut self, ty: CompressionType, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let head = out.len() as u64;
        out.reserve(zstd_safe::compress_bound(raw.len()));
        let mut tail = Cursor::new(out);
        tail.set_position(head);
        match &self.dictionary {
            None => self.context.compress2(&mut tail, raw),
            // `compress_using_cdict` ignores the parameters of the context, and with them the checksum of a
            // frame.
            Some(dictionary) if self.checksum => self
                .context
                .ref_cdict(dictionary)
                .and_then(|_| self.context.compress2(&mut tail, raw)),
            Some(dictionary) => self.context.compress_using_cdict(&mut tail, raw, dictionary),
        }
        .map(|_| ())
        .map_err(|code| failed(ty, zstd_safe::get_error_name(code)))
    }
}

/// The dictionary in the decoder's form, created for the first block that needs it. The inner `None`: the
/// dictionary is not usable.
#[derive(Default)]
pub(super) struct Prepared(OnceLock<Option<DDict<'static>>>);

pub(super) fn decompress(
    ty: CompressionType,
    body: &[u8],
    claimed: u32,
    dictionary: Option<&Arc<[u8]>>,
    prepared: &Prepared,
    out: &mut Vec<u8>,
) -> Result<()> {
    if u64::from(claimed) > SMALL_CLAIM && u64::from(claimed) > frames_most(body) {
        return Err(excessive(ty, claimed, body.len()));
    }
    out.clear();
    out.reserve(claimed as usize);
    let dictionary = match dictionary {
        None => None,
        Some(bytes) => {
            let prepared = prepared.0.get_or_init(|| DDict::try_create(bytes)).as_ref();
            Some(prepared.ok_or_else(|| bad(ty, "its dictionary is unusable"))?)
        }
    };
    let written = CONTEXT
        .with_borrow_mut(|context| match dictionary {
            None => context.decompress(out, body),
            Some(dictionary) => context.decompress_using_ddict(out, body, dictionary),
        })
        .map_err(|code| bad(ty, zstd_safe::get_error_name(code)))?;
    expect(ty, claimed, written)
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

/// The maximum size of the content of the frames in `body`, from the headers of their blocks: a run's
/// length is real however few bytes it takes. 0 if they are not frames; the decoder reports why.
fn frames_most(mut body: &[u8]) -> u64 {
    let mut most = 0;
    while !body.is_empty() {
        let Some((frame, rest)) = frame_most(body) else {
            return most;
        };
        most += frame;
        body = rest;
    }
    most
}

const MAGIC: [u8; 4] = 0xfd2f_b528u32.to_le_bytes();

/// The maximum size of the content of the first frame in `body`, and the bytes after it.
fn frame_most(body: &[u8]) -> Option<(u64, &[u8])> {
    let rest = body.strip_prefix(&MAGIC)?;
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
            _ => (size, BLOCK),
        };
        most += restored.min(BLOCK);
        rest = after.get(stored..)?;
        if last {
            let checksum = usize::from(descriptor & 4 != 0) * 4;
            return Some((most, rest.get(checksum..)?));
        }
    }
}
