//! The cost of hashing a key, in nanoseconds. `cargo bench -p esker-codec --bench hash [-- FILTER]`.
//!
//! `xxph3_64` is the hash of filters of format version 5 and later, `hash32` that of older ones and of the
//! hash index of a data block; keys have 8 to 128 bytes. The results show the fixed part of a Get that no
//! filter can save.

use divan::{Bencher, black_box};
use esker_codec::hash::{BLOOM_SEED, hash32, xxph3_64};
use testkit::bench::half_compressible;

const KEY_LENS: [usize; 4] = [8, 16, 32, 128];

fn main() {
    divan::main();
}

#[divan::bench(name = "xxph3_64", args = KEY_LENS, sample_size = 1000)]
fn xxph3(bencher: Bencher, len: usize) {
    let key = half_compressible(len);
    bencher.bench_local(|| xxph3_64(black_box(&key)));
}

#[divan::bench(name = "hash32", args = KEY_LENS, sample_size = 1000)]
fn legacy(bencher: Bencher, len: usize) {
    let key = half_compressible(len);
    bencher.bench_local(|| hash32(black_box(&key), BLOOM_SEED));
}
