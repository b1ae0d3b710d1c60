//! The cost of compressing and decompressing a block, for each compression type: nanoseconds a block, and raw
//! bytes a second. `cargo bench -p esker-codec --bench compression [-- FILTER]`.
//!
//! Blocks have 4 KiB (the default block size) and 16 KiB, half compressible as `db_bench`'s values are,
//! without a dictionary and at the default level. The results show the cost that a compression type adds to
//! each block that a flush or compaction writes, and to each read that misses the block cache.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use esker_codec::{CompressionOptions, CompressionType, Compressor, Decompressor};
use testkit::bench::half_compressible;

/// The compression types whose costs differ.
const TYPES: [CompressionType; 7] = [
    CompressionType::None,
    CompressionType::Snappy,
    CompressionType::Lz4,
    CompressionType::Lz4Hc,
    CompressionType::Zlib,
    CompressionType::Zstd,
    CompressionType::Bzip2,
];
const BLOCK_SIZES: [usize; 2] = [4 << 10, 16 << 10];

fn main() {
    divan::main();
}

fn compressor(ty: CompressionType) -> Compressor {
    Compressor::new(ty, &CompressionOptions::default(), None).expect("a type we can write")
}

#[divan::bench(args = TYPES, consts = BLOCK_SIZES, sample_size = 10)]
fn compress<const BLOCK_SIZE: usize>(bencher: Bencher, ty: CompressionType) {
    let raw = half_compressible(BLOCK_SIZE);
    let mut compressor = compressor(ty);
    let mut out = Vec::new();
    bencher.counter(BytesCount::new(BLOCK_SIZE)).bench_local(|| {
        compressor
            .compress(black_box(&raw), &mut out)
            .expect("a small block");
        out.len()
    });
}

#[divan::bench(args = TYPES, consts = BLOCK_SIZES, sample_size = 10)]
fn decompress<const BLOCK_SIZE: usize>(bencher: Bencher, ty: CompressionType) {
    let raw = half_compressible(BLOCK_SIZE);
    let mut stored = Vec::new();
    compressor(ty).compress(&raw, &mut stored).expect("a small block");
    let decompressor = Decompressor::new(None);
    let mut out = Vec::new();
    bencher.counter(BytesCount::new(BLOCK_SIZE)).bench_local(|| {
        decompressor
            .decompress(ty, black_box(&stored), &mut out)
            .expect("what was compressed");
        out.len()
    });
    assert!(out == raw, "{ty:?} gave other bytes back");
}
