use testkit::rng;

use super::*;
use crate::RecoveryMode;
use crate::test_files::{MODES, read, writer};

fn options(recyclable: bool, compressed: bool) -> WriterOptions {
    WriterOptions {
        log_number: 0x1_0000_0007,
        recyclable,
        compression: if compressed {
            CompressionType::Zstd
        } else {
            CompressionType::None
        },
        ..WriterOptions::default()
    }
}

const ALL: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

/// Reads `bytes` in every mode and expects `records`, with nothing dropped.
fn expect(bytes: &[u8], records: &[Vec<u8>], what: &str) {
    for mode in MODES {
        let outcome = read(bytes, mode, Some(0x1_0000_0007));
        assert!(outcome.error.is_none(), "{what}, {mode:?}: {:?}", outcome.error);
        assert!(outcome.stopped.is_none() && outcome.dropped.is_empty());
        assert!(outcome.records == records, "{what}, {mode:?}");
    }
}

#[test]
fn records_go_round_at_every_distance_from_the_end_of_a_block() {
    let mut rng = rng();
    for (recyclable, compressed) in ALL {
        for left in (0..60).chain([BLOCK_SIZE - 20, BLOCK_SIZE - 12]) {
            let (mut writer, sink) = writer(options(recyclable, compressed));
            let header = writer.header_len();
            // The record fills the first block except for about `left` bytes. Noise does not compress, so the
            // length is exact enough.
            let first = (BLOCK_SIZE - left).saturating_sub(header + writer.block_used);
            let mut records = vec![rng.bytes(first)];
            records.extend([0, 1, 7, 40, 300].map(|len| rng.bytes(len)));
            records.push(rng.bytes(BLOCK_SIZE - header));
            records.push(rng.bytes(3 * BLOCK_SIZE + 11));
            records.push(vec![b'x'; 200_000]);
            records.push(Vec::new());
            for record in &records {
                writer.add_record(record).unwrap();
            }
            assert_eq!(writer.len(), sink.bytes().len() as u64);
            expect(&sink.bytes(), &records, &format!("{left} left"));
        }
    }
}

#[test]
fn random_records_go_round() {
    let mut rng = rng();
    for (recyclable, compressed) in ALL {
        let (mut writer, sink) = writer(options(recyclable, compressed));
        let records: Vec<Vec<u8>> = (0..400)
            .map(|_| {
                let len = match rng.u8(0..10) {
                    0 => rng.usize(0..100_000),
                    1..4 => rng.usize(0..5000),
                    _ => rng.usize(0..300),
                };
                if rng.bool() {
                    rng.bytes(len)
                } else {
                    vec![rng.u8(..); len]
                }
            })
            .collect();
        for record in &records {
            writer.add_record(record).unwrap();
        }
        expect(&sink.bytes(), &records, "random");
    }
}

#[test]
fn a_record_is_one_append() {
    let (mut writer, sink) = writer(options(false, false));
    for (i, len) in [10, BLOCK_SIZE, 500_000, 0].into_iter().enumerate() {
        writer.add_record(&vec![1; len]).unwrap();
        assert_eq!(sink.appends(), i + 1);
    }
}

#[test]
fn a_block_with_room_for_a_header_gets_an_empty_first_fragment() {
    let (mut writer, sink) = writer(options(false, false));
    writer.add_record(&vec![1; BLOCK_SIZE - 2 * HEADER_LEN]).unwrap();
    writer.add_record(b"abc").unwrap();
    let bytes = sink.bytes();
    let at_end = &bytes[BLOCK_SIZE - HEADER_LEN..BLOCK_SIZE];
    assert_eq!(at_end[4..], [0, 0, RecordType::First as u8]);
    assert_eq!(
        bytes[BLOCK_SIZE + 4..BLOCK_SIZE + 7],
        [3, 0, RecordType::Last as u8]
    );
    assert_eq!(bytes.len(), BLOCK_SIZE + HEADER_LEN + 3);
}

#[test]
fn too_little_room_for_a_header_is_zeros() {
    let (mut writer, sink) = writer(options(true, false));
    writer
        .add_record(&vec![1; BLOCK_SIZE - 2 * RECYCLABLE_HEADER_LEN + 1])
        .unwrap();
    writer.add_record(b"").unwrap();
    let bytes = sink.bytes();
    assert_eq!(bytes[BLOCK_SIZE - RECYCLABLE_HEADER_LEN + 1..BLOCK_SIZE], [0; 10]);
    assert_eq!(bytes.len(), BLOCK_SIZE + RECYCLABLE_HEADER_LEN);
}

#[test]
fn a_failed_append_may_be_tried_again() {
    for (recyclable, compressed) in ALL {
        let (mut writer, sink) = writer(options(recyclable, compressed));
        let records = [vec![1; 100], vec![2; 70_000], vec![3; 5]];
        for record in &records {
            sink.fail_next();
            let error = writer.add_record(record).unwrap_err();
            assert_eq!(error.kind(), base::ErrorKind::NoSpace);
            writer.add_record(record).unwrap();
        }
        expect(&sink.bytes(), &records, "after failures");
    }
}

#[test]
fn a_writer_goes_on_where_the_file_ends() {
    let (mut first, sink) = writer(WriterOptions::default());
    first.add_record(&vec![1; 32_000]).unwrap();
    let mut second = Writer::new(Box::new(sink.clone()), WriterOptions::default()).unwrap();
    second.add_record(&vec![2; 2000]).unwrap();
    expect(&sink.bytes(), &[vec![1; 32_000], vec![2; 2000]], "second writer");
}

#[test]
fn timestamp_sizes_are_announced_once_and_before_what_follows() {
    for (recyclable, compressed) in ALL {
        for left in 0..40 {
            let (mut writer, sink) = writer(options(recyclable, compressed));
            let fill = BLOCK_SIZE - left - writer.header_len() - writer.block_used;
            let noise = rng().bytes(fill);
            writer.add_record(&noise).unwrap();
            writer.add_timestamp_sizes(&[(3, 8), (4, 0), (3, 8)]).unwrap();
            let appends = sink.appends();
            writer.add_timestamp_sizes(&[(3, 8), (4, 0)]).unwrap();
            assert_eq!(sink.appends(), appends);
            writer.add_timestamp_sizes(&[(5, 16)]).unwrap();
            writer.add_record(b"batch").unwrap();
            assert!(writer.add_timestamp_sizes(&[(5, 8)]).is_err());
            assert!(writer.add_timestamp_sizes(&[(9, 8), (9, 7)]).is_err());

            expect(&sink.bytes(), &[noise, b"batch".to_vec()], "timestamps");
            let file = crate::test_files::Bytes::new(sink.bytes());
            let mut reader = crate::Reader::new(file, crate::ReaderOptions::default());
            while reader.read_record().unwrap().is_some() {}
            let sizes: Vec<_> = reader.timestamp_sizes().iter().map(|(&f, &s)| (f, s)).collect();
            assert_eq!(sizes, [(3, 8), (5, 16)]);
        }
    }
}

#[test]
fn very_many_timestamp_sizes_take_several_records() {
    let (mut writer, sink) = writer(options(true, false));
    let sizes: Vec<(u32, u16)> = (0..20_000).map(|family| (family, 8)).collect();
    writer.add_timestamp_sizes(&sizes).unwrap();
    let file = crate::test_files::Bytes::new(sink.bytes());
    let mut reader = crate::Reader::new(file, crate::ReaderOptions::default());
    assert!(reader.read_record().unwrap().is_none());
    assert!(reader.stopped().is_none());
    assert_eq!(reader.timestamp_sizes().len(), sizes.len());
}

#[test]
fn compression_a_wal_cannot_have_is_refused() {
    let options = WriterOptions {
        compression: CompressionType::Lz4,
        ..WriterOptions::default()
    };
    let error = Writer::new(Box::new(crate::test_files::Sink::default()), options).unwrap_err();
    assert_eq!(error.kind(), base::ErrorKind::NotSupported);
}

#[test]
fn what_is_kept_comes_to_the_file_by_a_flush() {
    let manual = || {
        writer(WriterOptions {
            manual_flush: true,
            ..WriterOptions::default()
        })
    };
    let (mut writer, sink) = manual();
    writer.add_record(b"one").unwrap();
    writer.add_record(b"two").unwrap();
    assert!(writer.is_unflushed() && sink.bytes().is_empty());
    assert_eq!(writer.len(), 20);
    // A failed flush loses nothing, and adds nothing.
    sink.fail_next();
    writer.flush().unwrap_err();
    sink.fail_next();
    writer.add_record_and_flush(b"never").unwrap_err();
    assert!(writer.is_unflushed() && writer.len() == 20);
    writer.flush().unwrap();
    assert_eq!((writer.is_unflushed(), sink.appends()), (false, 1));
    writer.add_record(b"three").unwrap();
    writer.add_record_and_flush(b"four").unwrap();
    assert!(!writer.is_unflushed());
    writer.add_record(b"five").unwrap();
    writer.close().unwrap();
    let records = read(&sink.bytes(), RecoveryMode::AbsoluteConsistency, None).records;
    assert_eq!(records, [&b"one"[..], b"two", b"three", b"four", b"five"]);
    // The buffer is bounded.
    let (mut writer, sink) = manual();
    for _ in 0..40 {
        writer.add_record(&[7; 100_000]).unwrap();
    }
    assert!(sink.bytes().len() > 2 << 20);
    sink.fail_next();
    let before = writer.len();
    writer.add_record(&vec![8; 1 << 20]).unwrap_err();
    assert_eq!(writer.len(), before);
    writer.close().unwrap();
    let records = read(&sink.bytes(), RecoveryMode::AbsoluteConsistency, None).records;
    assert_eq!(records, vec![vec![7; 100_000]; 40]);
}
