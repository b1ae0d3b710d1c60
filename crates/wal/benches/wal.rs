//! The cost of appending a record to the WAL: nanoseconds each, and payload bytes a second.
//! `cargo bench -p esker-wal --bench wal [-- FILTER]`.
//!
//! * `add_record`: into a file that discards its bytes: framing, CRC-32C and copy alone; `plain`, with the
//!   headers of a recycled WAL, and compressed by ZSTD
//! * `to_the_kernel`: into a file in the machine's temporary directory, opened as the engine opens a WAL:
//!   what a write without `sync` waits for. The file grows, so first accesses of its pages are included. The
//!   cost that a disk adds to a `sync` is measured by `db_bench --benchmarks=fillsync`
//!
//! Records have 100 bytes (a Put of a small value) to 4 KiB (a batch). The results show the WAL's part of a
//! Put.

use std::path::Path;
use std::sync::Arc;

use base::Result;
use codec::CompressionType;
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use esker_wal::{Writer, WriterOptions};
use testkit::bench::half_compressible;
use vfs::{CreateOptions, FileSync, FileSystem, PosixFs, WritableFile};

const PAYLOAD_LENS: [usize; 3] = [100, 1000, 4096];

fn main() {
    divan::main();
}

/// Counts the bytes it is given, and discards them.
#[derive(Debug, Default)]
struct Forgetful(u64);

impl WritableFile for Forgetful {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.0 += black_box(data).len() as u64;
        Ok(())
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
    fn sync_all(&mut self) -> Result<()> {
        Ok(())
    }
    fn len(&self) -> u64 {
        self.0
    }
    fn close(&mut self) -> Result<()> {
        Ok(())
    }
    fn path(&self) -> &Path {
        Path::new("000007.log")
    }
    fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        None
    }
}

fn append(bencher: Bencher, len: usize, file: Box<dyn WritableFile>, options: WriterOptions) {
    let mut writer = Writer::new(file, options).expect("a log of its own");
    let payload = half_compressible(len);
    bencher.counter(BytesCount::new(len)).bench_local(|| {
        writer
            .add_record(black_box(&payload))
            .expect("a file that takes it");
    });
    assert!(!writer.is_empty());
    writer.close().expect("a file that takes it");
}

#[divan::bench_group(sample_size = 200)]
mod add_record {
    use super::*;

    #[divan::bench(args = PAYLOAD_LENS)]
    fn plain(bencher: Bencher, len: usize) {
        append(
            bencher,
            len,
            Box::<Forgetful>::default(),
            WriterOptions::default(),
        );
    }

    #[divan::bench(args = PAYLOAD_LENS)]
    fn recyclable(bencher: Bencher, len: usize) {
        let options = WriterOptions {
            log_number: 7,
            recyclable: true,
            ..WriterOptions::default()
        };
        append(bencher, len, Box::<Forgetful>::default(), options);
    }

    #[divan::bench(args = PAYLOAD_LENS)]
    fn zstd(bencher: Bencher, len: usize) {
        let options = WriterOptions {
            compression: CompressionType::Zstd,
            ..WriterOptions::default()
        };
        append(bencher, len, Box::<Forgetful>::default(), options);
    }
}

#[divan::bench(args = PAYLOAD_LENS, sample_size = 200)]
fn to_the_kernel(bencher: Bencher, len: usize) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let options = CreateOptions {
        log: true,
        ..CreateOptions::default()
    };
    let file = PosixFs::new()
        .create(&dir.path().join("000007.log"), &options)
        .expect("a new file");
    append(bencher, len, file, WriterOptions::default());
}
