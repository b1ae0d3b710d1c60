//! Checksums and compression by themselves.

use std::hint::black_box;
use std::sync::atomic::{AtomicPtr, Ordering};

use base::Result;
use codec::checksum::{self, ChecksumType};
use codec::compression::{CompressionOptions, CompressionType, Compressor, Decompressor};

use crate::op::Op;
use crate::params::Params;
use crate::runner::Thread;
use flags::engine::compression;

/// The number of bytes that are checksummed, compressed and decompressed, as in RocksDB; `--duration` limits
/// the time instead.
const CHECKSUM_BYTES: u64 = 5_000 << 20;
const COMPRESS_BYTES: u64 = 3 << 30;
const UNCOMPRESS_BYTES: u64 = 20 << 30;

fn sum(params: &Params<'_>, thread: &mut Thread<'_>, op: Op, sum: impl Fn(&[u8]) -> u32) -> Result<()> {
    let size = params.flags.block_size.max(1);
    let data = vec![b'x'; size as usize];
    let operations = CHECKSUM_BYTES.div_ceil(size);
    let mut pace = thread.pace(params.flags.duration, operations as i64);
    while !pace.done(1) {
        black_box(sum(black_box(&data)));
        thread.finished(1, op);
        thread.add_bytes(size);
    }
    thread.message = format!("({size} per op)");
    Ok(())
}

/// Loads an atomic pointer, a thousand times an operation.
pub fn acquire_load(_: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let value = 0u64;
    let pointer = AtomicPtr::new(std::ptr::from_ref(&value).cast_mut());
    thread.message = "(each op is 1000 loads)".to_owned();
    for _ in 0..100_000 {
        for _ in 0..1_000 {
            black_box(pointer.load(Ordering::Acquire));
        }
        thread.finished(1, Op::Other);
    }
    Ok(())
}

pub fn crc32c(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    sum(params, thread, Op::Crc, checksum::crc32c)
}

pub fn xxhash(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    sum(params, thread, Op::Hash, |data| ChecksumType::XxHash.whole(data))
}

pub fn xxhash64(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    sum(params, thread, Op::Hash, |data| {
        ChecksumType::XxHash64.whole(data)
    })
}

pub fn xxh3(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    sum(params, thread, Op::Hash, |data| ChecksumType::Xxh3.whole(data))
}

/// A compressor of the type asked for; `None`, with the reason in the line, if there is nothing to compress.
fn compressor(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<Option<(CompressionType, Compressor)>> {
    let ty = compression(&params.flags.compression_type)?;
    if ty == CompressionType::None {
        thread.message = "(compression type not supported)".to_owned();
        return Ok(None);
    }
    let options = CompressionOptions {
        level: params.flags.compression_level,
        ..CompressionOptions::default()
    };
    Ok(Some((ty, Compressor::new(ty, &options, None)?)))
}

pub fn compress(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let Some((_, mut compressor)) = compressor(params, thread)? else {
        return Ok(());
    };
    let size = params.flags.block_size.max(1);
    let mut values = params.values.resized(size as usize);
    let input = values.next_value();
    let operations = COMPRESS_BYTES.div_ceil(size);
    let mut pace = thread.pace(params.flags.duration, operations as i64);
    let mut out = Vec::new();
    let (mut produced, mut consumed) = (0, 0);
    while !pace.done(1) {
        compressor.compress(black_box(input), &mut out)?;
        produced += out.len() as u64;
        consumed += size;
        thread.finished(1, Op::Compress);
    }
    thread.add_bytes(consumed);
    thread.message = format!(
        "(output: {:.1}%)",
        produced as f64 * 100.0 / consumed.max(1) as f64
    );
    Ok(())
}

pub fn uncompress(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let Some((ty, mut compressor)) = compressor(params, thread)? else {
        return Ok(());
    };
    let size = params.flags.block_size.max(1);
    let mut values = params.values.resized(size as usize);
    let mut stored = Vec::new();
    compressor.compress(values.next_value(), &mut stored)?;
    let decompressor = Decompressor::new(None);
    let operations = UNCOMPRESS_BYTES.div_ceil(size);
    let mut pace = thread.pace(params.flags.duration, operations as i64);
    let mut out = Vec::new();
    while !pace.done(1) {
        decompressor.decompress(ty, black_box(&stored), &mut out)?;
        thread.finished(1, Op::Uncompress);
        thread.add_bytes(size);
    }
    Ok(())
}
