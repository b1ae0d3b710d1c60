//! RocksDB's own reader over our WALs.

use codec::CompressionType;
use esker_wal::{Reader, ReaderOptions, RecoveryMode, Writer, WriterOptions};
use testkit::TestRng;
use vfs::{CreateOptions, FileSystem, PosixFs};

use crate::{batch_header, open};

const BLOCK_SIZE: u64 = esker_wal::format::BLOCK_SIZE as u64;

/// A batch of one put at `sequence` with a random value of any length up to some blocks.
fn put(sequence: u64, rng: &mut TestRng) -> Vec<u8> {
    let len = match rng.u8(0..12) {
        0 => rng.usize(0..100_000),
        1 => rng.usize(32_000..33_500),
        _ => rng.usize(0..400),
    };
    let value = match rng.bool() {
        true => rng.bytes(len),
        false => vec![b'v'; len],
    };
    let mut batch = sequence.to_le_bytes().to_vec();
    batch.extend_from_slice(&1u32.to_le_bytes());
    batch.push(1);
    base::coding::put_length_prefixed(&mut batch, format!("key{sequence:06}").as_bytes());
    base::coding::put_length_prefixed(&mut batch, &value);
    batch
}

#[test]
fn rocksdb_dumps_our_wals() {
    if testkit::oracle::ldb().is_none() {
        return;
    }
    let mut rng = testkit::rng();
    let dir = tempfile::tempdir().unwrap();
    let fs = PosixFs::new();
    for (number, recyclable, compression) in [
        (5, false, CompressionType::None),
        (6, true, CompressionType::None),
        (7, false, CompressionType::Zstd),
        (8, true, CompressionType::Zstd),
    ] {
        let path = base::filename::wal(dir.path(), number);
        let create = CreateOptions {
            log: true,
            ..CreateOptions::default()
        };
        let file = match recyclable {
            // The records are written over an old file with records of the same kind, so that stale records
            // follow the live ones.
            true => {
                let old = base::filename::wal(dir.path(), 100 + number);
                let mut writer = Writer::new(
                    fs.create(&old, &create).unwrap(),
                    WriterOptions {
                        log_number: 100 + number,
                        recyclable,
                        compression,
                        ..WriterOptions::default()
                    },
                )
                .unwrap();
                for sequence in 0..1000 {
                    writer.add_record(&put(sequence, &mut rng)).unwrap();
                }
                drop(writer);
                fs.reuse(&old, &path, &create).unwrap()
            }
            false => fs.create(&path, &create).unwrap(),
        };
        let mut writer = Writer::new(
            file,
            WriterOptions {
                log_number: number,
                recyclable,
                compression,
                ..WriterOptions::default()
            },
        )
        .unwrap();
        for sequence in 1..=500 {
            writer.add_record(&put(sequence, &mut rng)).unwrap();
        }
        writer.flush().unwrap();
        // The state after process death: the file keeps the bytes after the data.
        drop(writer);

        let mut ours = String::new();
        let mut reader = Reader::new(
            open(&path),
            ReaderOptions {
                log_number: Some(number),
                mode: RecoveryMode::PointInTime,
            },
        );
        while let Some(batch) = reader.read_record().unwrap().map(<[u8]>::to_vec) {
            let (sequence, count) = batch_header(&batch);
            let offset = reader.record_offset();
            ours += &format!("{sequence},{count},{},{offset},\n", batch.len());
        }
        assert_eq!(ours.lines().count(), 500);
        assert!(recyclable || reader.stopped().is_none());

        let output = testkit::oracle::ldb()
            .unwrap()
            .arg("dump_wal")
            .arg(format!("--walfile={}", path.display()))
            .output()
            .unwrap();
        let theirs: String = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter(|line| line.as_bytes().first().is_some_and(u8::is_ascii_digit))
            .map(|line| {
                let fields: Vec<&str> = line.splitn(5, ',').collect();
                let mut offset: u64 = fields[3].parse().unwrap();
                // RocksDB attributes the unused end of a block to the next record.
                let left = offset.next_multiple_of(BLOCK_SIZE) - offset;
                if left < if recyclable { 11 } else { 7 } {
                    offset += left;
                }
                format!("{},{offset},\n", fields[..3].join(","))
            })
            .collect();
        assert_eq!(
            theirs,
            ours,
            "WAL {number}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
