//! Tables compressed by several threads are equal to tables compressed by one.

use codec::CompressionOptions;

use super::*;

fn table(entries: &Entries, options: TableWriterOptions) -> (Vec<u8>, u64) {
    let scratch = Scratch::new();
    let mut writer = scratch.writer(options);
    let mut sizes = 0;
    for (key, value) in entries {
        writer.add(key, value).unwrap();
        sizes = sizes.max(writer.file_size());
    }
    let summary = writer.finish().unwrap();
    let bytes = std::fs::read(scratch.path()).unwrap();
    assert_eq!(bytes.len() as u64, summary.file_size);
    (bytes, sizes)
}

#[test]
fn many_threads_write_what_one_writes() {
    let mut rng = testkit::rng();
    for compression in [
        CompressionType::None,
        CompressionType::Snappy,
        CompressionType::Lz4,
        CompressionType::Lz4Hc,
        CompressionType::Zlib,
        CompressionType::Zstd,
    ] {
        for round in 0..6 {
            let count = rng.u32(0..3000);
            let mut entries = Entries::new();
            for number in 0..count {
                let key = internal_key::encode(format!("key{number:06}").as_bytes(), 5, Kind::Value);
                // Some blocks are worth compressing, others are not.
                let value = match rng.u32(..4) {
                    0 => rng.bytes(100),
                    _ => vec![b'v'; rng.usize(..200)],
                };
                entries.push((key, value));
            }
            let dictionary = round % 3 == 2 && compression == CompressionType::Zstd;
            let written = |parallel_threads| TableWriterOptions {
                compression,
                compression_opts: CompressionOptions {
                    parallel_threads,
                    max_dict_bytes: if dictionary { 1024 } else { 0 },
                    ..CompressionOptions::default()
                },
                index_type: match round {
                    1 => IndexType::TwoLevel,
                    _ => IndexType::BinarySearch,
                },
                ..options(bytewise())
            };
            let (expected, _) = table(&entries, written(1));
            for threads in [2, 4, u32::MAX] {
                let (found, largest) = table(&entries, written(threads));
                assert!(
                    found == expected,
                    "{compression:?}, {threads} threads, {count} entries"
                );
                // The size that decides where files are cut does not depend on the threads' progress.
                assert_eq!(largest, table(&entries, written(threads)).1);
            }
        }
    }
}

#[test]
fn a_table_that_is_given_up_leaves_no_thread() {
    let scratch = Scratch::new();
    let mut writer = scratch.writer(TableWriterOptions {
        compression: CompressionType::Zstd,
        compression_opts: CompressionOptions {
            parallel_threads: 3,
            level: 19,
            ..CompressionOptions::default()
        },
        ..options(bytewise())
    });
    for number in 0..2000 {
        let key = internal_key::encode(format!("key{number:06}").as_bytes(), 5, Kind::Value);
        writer.add(&key, &[b'v'; 300]).unwrap();
    }
    writer.abandon();
}
