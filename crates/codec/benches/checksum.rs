//! The cost of the checksum of a block or of a WAL record: nanoseconds each, and bytes a second.
//! `cargo bench -p esker-codec --bench checksum [-- FILTER]`.
//!
//! `block` is the checksum of every block of a table, by type, over 4 KiB and 16 KiB; `crc32c_extend` is that
//! of a WAL record: the type byte, then a payload of 100 bytes to 4 KiB. The results show the cost of
//! `verify_checksums` for a read from the file, that of a checksum type for a flush, and CRC-32C's part of a
//! Put.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use esker_codec::ChecksumType;
use esker_codec::checksum::{crc32c, crc32c_extend};
use testkit::bench::half_compressible;

const BLOCK_SIZES: [usize; 2] = [4 << 10, 16 << 10];

fn main() {
    divan::main();
}

#[divan::bench(args = ChecksumType::ALL, consts = BLOCK_SIZES, sample_size = 200)]
fn block<const BLOCK_SIZE: usize>(bencher: Bencher, ty: ChecksumType) {
    let contents = half_compressible(BLOCK_SIZE);
    bencher
        .counter(BytesCount::new(BLOCK_SIZE))
        .bench_local(|| ty.block(black_box(&contents), 0));
}

#[divan::bench(name = "crc32c_extend", args = [100, 1000, 4096], sample_size = 200)]
fn wal_record(bencher: Bencher, len: usize) {
    let payload = half_compressible(len);
    let of_type = crc32c(&[1]);
    bencher
        .counter(BytesCount::new(len))
        .bench_local(|| crc32c_extend(black_box(of_type), black_box(&payload)));
}
