use codec::CompressionType;
use testkit::rng;

use super::*;
use crate::format::{HEADER_LEN, put_record};
use crate::test_files::{Bytes, MODES, Outcome, read, read_all, writer};
use crate::{Writer, WriterOptions};

const LOG: u64 = 7;

fn options(recyclable: bool, compressed: bool) -> WriterOptions {
    WriterOptions {
        log_number: LOG,
        recyclable,
        compression: if compressed {
            CompressionType::Zstd
        } else {
            CompressionType::None
        },
        ..WriterOptions::default()
    }
}

/// Writes records `0..` of these lengths, each filled with its number and incompressible noise. Returns the
/// file's bytes and the offsets of the records, including the end of the last.
fn wal(options: WriterOptions, lens: &[usize]) -> (Vec<u8>, Vec<usize>) {
    let (mut writer, sink) = writer(options);
    let mut ends = vec![writer.len() as usize];
    for (i, &len) in lens.iter().enumerate() {
        writer.add_record(&record(i, len)).unwrap();
        ends.push(writer.len() as usize);
    }
    (sink.bytes(), ends)
}

fn record(number: usize, len: usize) -> Vec<u8> {
    let mut rng = testkit::TestRng::with_seed(number as u64);
    let mut bytes = rng.bytes(len);
    if let Some(first) = bytes.first_mut() {
        *first = number as u8;
    }
    bytes
}

/// The numbers of the records read.
fn numbers(outcome: &Outcome) -> Vec<usize> {
    outcome
        .records
        .iter()
        .map(|bytes| {
            let number = usize::from(bytes[0]);
            assert_eq!(*bytes, record(number, bytes.len()));
            number
        })
        .collect()
}

/// The expected end of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    Well,
    Fails,
    Stops,
}

fn ends(outcome: &Outcome) -> Ends {
    match (&outcome.error, &outcome.stopped) {
        (None, None) => Ends::Well,
        (Some(error), None) => {
            assert!(error.is_corruption(), "{error}");
            assert!(error.file().is_some() && error.offset().is_some(), "{error}");
            Ends::Fails
        }
        (None, Some(error)) => {
            assert!(error.is_corruption(), "{error}");
            Ends::Stops
        }
        (Some(_), Some(_)) => unreachable!(),
    }
}

/// A row of the table: the file, and the result in each mode (in the order of [`MODES`]).
struct Row {
    what: &'static str,
    bytes: Vec<u8>,
    expected: [(Vec<usize>, Ends); 4],
}

impl Row {
    fn new(what: &'static str, bytes: Vec<u8>, expected: [(&[usize], Ends); 4]) -> Row {
        Row {
            what,
            bytes,
            expected: expected.map(|(numbers, ends)| (numbers.to_vec(), ends)),
        }
    }
}

/// Small records in block 0; record 2 extends into block 1, record 4 into block 2.
const LENS: [usize; 6] = [100, 100, 33_000, 100, 33_000, 100];

fn rows() -> Vec<Row> {
    use Ends::{Fails, Stops, Well};
    let all: &[usize] = &[0, 1, 2, 3, 4, 5];
    let (good, ends) = wal(options(false, false), &LENS);
    let (recycled, recycled_ends) = wal(options(true, false), &LENS);
    let mut rows = vec![
        Row::new(
            "clean",
            good.clone(),
            [(all, Well), (all, Well), (all, Well), (all, Well)],
        ),
        Row::new(
            "empty",
            vec![],
            [(&[], Well), (&[], Well), (&[], Well), (&[], Well)],
        ),
    ];

    let mut bytes = good.clone();
    bytes.resize(5 * BLOCK_SIZE, 0);
    rows.push(Row::new(
        "zero tail",
        bytes,
        [(all, Well), (all, Well), (all, Well), (all, Well)],
    ));

    // The file has zeros from the end of record 1 to the end of block 0, and then a whole block of zeros.
    let mut bytes = good[..ends[2]].to_vec();
    bytes.resize(2 * BLOCK_SIZE, 0);
    let mut sink = crate::test_files::Sink::default();
    vfs::WritableFile::append(&mut sink, &bytes).unwrap();
    let mut writer = Writer::new(Box::new(sink.clone()), options(false, false)).unwrap();
    writer.add_record(&record(2, 50)).unwrap();
    let gap: &[usize] = &[0, 1, 2];
    rows.push(Row::new(
        "zero gap",
        sink.bytes(),
        [(gap, Well), (gap, Well), (gap, Well), (gap, Well)],
    ));

    let cut: &[usize] = &[0, 1, 2, 3, 4];
    let dropped = [(cut, Well), (cut, Fails), (cut, Stops), (cut, Well)];
    rows.push(Row::new("truncated body", good[..ends[6] - 1].to_vec(), dropped));
    rows.push(Row::new(
        "truncated header",
        good[..ends[5] + 3].to_vec(),
        dropped,
    ));
    let cut: &[usize] = &[0, 1, 2, 3];
    let dropped = [(cut, Well), (cut, Fails), (cut, Stops), (cut, Well)];
    rows.push(Row::new(
        "first without last",
        good[..2 * BLOCK_SIZE].to_vec(),
        dropped,
    ));
    rows.push(Row::new(
        "recycled, first without last, then an old record",
        {
            let mut bytes = recycled[..2 * BLOCK_SIZE].to_vec();
            put_record(&mut bytes, RecordType::RecyclableLast, 3, &record(4, 300));
            bytes
        },
        // Skipping continues after the old record, and then the file ends inside the record.
        dropped,
    ));

    let mut bytes = good.clone();
    bytes[ends[1] + 20] ^= 1;
    rows.push(Row::new(
        "bad checksum in the middle",
        bytes.clone(),
        [(&[0], Fails), (&[0], Fails), (&[0], Stops), (&[0, 3, 4, 5], Well)],
    ));
    let mut bytes = good.clone();
    bytes[ends[6] - 1] ^= 1;
    let before: &[usize] = &[0, 1, 2, 3, 4];
    rows.push(Row::new(
        "bad checksum in the last record",
        bytes.clone(),
        [(before, Fails), (before, Fails), (before, Stops), (before, Well)],
    ));
    let mut bytes = recycled.clone();
    bytes[recycled_ends[1] + 20] ^= 1;
    rows.push(Row::new(
        "bad checksum in a recycled file",
        bytes,
        [(&[0], Well), (&[0], Fails), (&[0], Stops), (&[0, 3, 4, 5], Well)],
    ));
    let mut bytes = good.clone();
    bytes[ends[1] + 5] = 0xff;
    rows.push(Row::new(
        "length beyond the block",
        bytes,
        [(&[0], Fails), (&[0], Fails), (&[0], Stops), (&[0, 3, 4, 5], Well)],
    ));
    let mut bytes = good.clone();
    bytes[ends[5] + 5] = 0xff;
    rows.push(Row::new(
        "length beyond the file",
        bytes,
        [(before, Well), (before, Fails), (before, Stops), (before, Well)],
    ));

    let odd = |ty: u8| {
        let mut bytes = good[..ends[2]].to_vec();
        let at = bytes.len();
        put_record(&mut bytes, RecordType::Full, 0, b"of another kind");
        bytes[at + 6] = ty;
        let crc = Header::masked_crc_of(&bytes[at..]);
        bytes[at..at + 4].copy_from_slice(&crc.to_le_bytes());
        put_record(&mut bytes, RecordType::Full, 0, &record(2, 60));
        bytes
    };
    let skipped: [(&[usize], Ends); 4] = [
        (&[0, 1], Fails),
        (&[0, 1], Fails),
        (&[0, 1], Stops),
        (&[0, 1, 2], Well),
    ];
    for ty in [12, 0x7f, 0] {
        rows.push(Row::new("unknown type below 128", odd(ty), skipped));
    }
    for ty in [128, 132, 255] {
        rows.push(Row::new(
            "unknown type from 128 on",
            odd(ty),
            [(gap, Well), (gap, Well), (gap, Well), (gap, Well)],
        ));
    }
    rows.push(Row::new(
        "middle without first",
        odd(RecordType::Middle as u8),
        skipped,
    ));
    rows.push(Row::new(
        "last without first",
        odd(RecordType::Last as u8),
        skipped,
    ));
    rows.push(Row::new(
        "first, then full",
        odd(RecordType::First as u8),
        skipped,
    ));

    // Old releases left an empty first fragment at the end of a block.
    let mut bytes = good[..ends[2]].to_vec();
    put_record(&mut bytes, RecordType::First, 0, b"");
    put_record(&mut bytes, RecordType::Full, 0, &record(2, 60));
    rows.push(Row::new(
        "empty first, then full",
        bytes,
        [(gap, Well), (gap, Well), (gap, Well), (gap, Well)],
    ));

    // A record of the file's former contents precedes current records: only the mode that skips corrupt
    // records reaches these.
    let mut bytes = recycled[..recycled_ends[2]].to_vec();
    put_record(&mut bytes, RecordType::RecyclableFull, 3, b"of the former life");
    put_record(&mut bytes, RecordType::RecyclableFull, LOG as u32, &record(2, 60));
    rows.push(Row::new(
        "old record",
        bytes,
        [
            (&[0, 1], Well),
            (&[0, 1], Well),
            (&[0, 1], Well),
            (&[0, 1, 2], Well),
        ],
    ));
    let mut bytes = good[..ends[2]].to_vec();
    put_record(&mut bytes, RecordType::RecyclableFull, LOG as u32, b"recyclable");
    rows.push(Row::new(
        "recyclable record in a classic file",
        bytes,
        [
            (&[0, 1], Fails),
            (&[0, 1], Fails),
            (&[0, 1], Stops),
            (&[0, 1], Well),
        ],
    ));

    // The writer died during an append to preallocated space.
    let mut bytes = good.clone();
    bytes.truncate(ends[6] - 30);
    bytes.resize(5 * BLOCK_SIZE, 0);
    let torn = [(before, Well), (before, Fails), (before, Stops), (before, Well)];
    rows.push(Row::new("torn in zeros", bytes, torn));
    let mut bytes = good[..2 * BLOCK_SIZE].to_vec();
    bytes.resize(5 * BLOCK_SIZE, 0);
    rows.push(Row::new("first without last, then zeros", bytes, dropped));
    rows
}

#[test]
fn each_mode_does_what_the_table_says() {
    for row in rows() {
        for (mode, (expected, how)) in MODES.into_iter().zip(&row.expected) {
            let outcome = read(&row.bytes, mode, Some(LOG));
            assert_eq!(numbers(&outcome), *expected, "{}, {mode:?}", row.what);
            assert_eq!(ends(&outcome), *how, "{}, {mode:?}: {outcome:?}", row.what);
            if *how != Ends::Well {
                assert!(!outcome.dropped.is_empty(), "{}, {mode:?}", row.what);
            }
        }
    }
}

#[test]
fn what_is_dropped_is_told_with_place_and_size() {
    let (mut bytes, ends) = wal(options(false, false), &LENS);
    bytes[ends[1] + 20] ^= 1;
    let outcome = read(&bytes, RecoveryMode::SkipAnyCorruptedRecords, None);
    // The dropped bytes are the rest of block 0, and the part of record 2 in block 1.
    let in_block_1 = 33_000 - (BLOCK_SIZE - ends[2] - HEADER_LEN);
    let expected = [
        (ends[1], BLOCK_SIZE - ends[1], "checksum mismatch"),
        (BLOCK_SIZE, in_block_1, "missing start of fragmented record"),
    ];
    let dropped: Vec<_> = outcome
        .dropped
        .iter()
        .map(|dropped| {
            (
                dropped.offset as usize,
                dropped.bytes as usize,
                &dropped.reason[..],
            )
        })
        .collect();
    assert_eq!(dropped, expected);
}

#[test]
fn every_truncation_yields_the_whole_records_before_it() {
    // The block boundary inside the second record makes both kinds of cut.
    let lens = [40, 32_700, 0, 30, 200];
    for (recyclable, compressed) in [(false, false), (true, false), (false, true), (true, true)] {
        let (bytes, ends) = wal(options(recyclable, compressed), &lens);
        let near = |at: usize| ends.iter().any(|&end| end.abs_diff(at) < 60) || at.abs_diff(BLOCK_SIZE) < 60;
        for len in (0..=bytes.len()).filter(|&at| near(at) || at % 997 == 0) {
            let whole = ends[1..].iter().filter(|&&end| end <= len).count();
            // Fill is not part of a record, but only a block's end shows that it is fill.
            let last_end = ends.iter().rfind(|&&end| end <= len).map_or(0, |&end| end);
            let fill = bytes[last_end..len].iter().all(|&byte| byte == 0);
            let clean = len == 0 || len == last_end || len == BLOCK_SIZE && fill;
            for mode in MODES {
                let outcome = read(&bytes[..len], mode, Some(LOG));
                assert_eq!(outcome.records.len(), whole, "{len} bytes, {mode:?}");
                for (i, bytes) in outcome.records.iter().enumerate() {
                    assert_eq!(*bytes, record(i, lens[i]));
                }
                let expected = match mode {
                    _ if clean => Ends::Well,
                    RecoveryMode::AbsoluteConsistency => Ends::Fails,
                    // Zeros cut off anywhere are not a missing record.
                    RecoveryMode::PointInTime if fill => Ends::Well,
                    RecoveryMode::PointInTime => Ends::Stops,
                    _ => Ends::Well,
                };
                assert_eq!(super::tests::ends(&outcome), expected, "{len} bytes, {mode:?}");
            }
        }
    }
}

/// Tears of a file whose space was claimed ahead: zeros replace the missing bytes.
#[test]
fn every_tear_before_zeros_is_a_truncation_under_tolerate() {
    let lens = [40, 32_700, 0, 30, 200];
    for (recyclable, compressed) in [(false, false), (true, false), (false, true)] {
        let (bytes, ends) = wal(options(recyclable, compressed), &lens);
        let near = |at: usize| ends.iter().any(|&end| end.abs_diff(at) < 60) || at.abs_diff(BLOCK_SIZE) < 60;
        for len in (0..=bytes.len()).filter(|&at| near(at) || at % 997 == 0) {
            let mut torn = bytes[..len].to_vec();
            torn.resize(3 * BLOCK_SIZE, 0);
            // A record may itself end in zeros.
            let whole = ends[1..]
                .iter()
                .filter(|&&end| torn[..end] == bytes[..end])
                .count();
            for mode in [
                RecoveryMode::TolerateCorruptedTailRecords,
                RecoveryMode::PointInTime,
                RecoveryMode::SkipAnyCorruptedRecords,
            ] {
                let outcome = read(&torn, mode, Some(LOG));
                assert_eq!(outcome.records.len(), whole, "{len} bytes, {mode:?}");
                assert!(
                    outcome.error.is_none(),
                    "{len} bytes, {mode:?}: {:?}",
                    outcome.error
                );
            }
        }
    }
}

#[test]
fn every_flipped_bit_yields_a_prefix_or_a_part() {
    let mut rng = rng();
    let lens = [40, 0, 200, 32_500, 90];
    for (recyclable, compressed) in [(false, false), (true, false), (false, true), (true, true)] {
        let (bytes, _) = wal(options(recyclable, compressed), &lens);
        let written: Vec<Vec<u8>> = lens.iter().enumerate().map(|(i, &len)| record(i, len)).collect();
        let all_bits = (0..400 * 8).chain((bytes.len() - 200) * 8..bytes.len() * 8);
        let some_bits: Vec<usize> = (0..200).map(|_| rng.usize(..bytes.len() * 8)).collect();
        for bit in all_bits.chain(some_bits) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            for mode in MODES {
                let outcome = read(&flipped, mode, Some(LOG));
                // If the compression record is skipped, the following records come in their stored form.
                let compression_lost = compressed && bit < 8 * (HEADER_LEN + 4);
                if mode == RecoveryMode::SkipAnyCorruptedRecords {
                    if compression_lost {
                        continue;
                    }
                    assert!(outcome.error.is_none(), "bit {bit}: {:?}", outcome.error);
                    let mut rest = written.iter();
                    for read in &outcome.records {
                        assert!(rest.any(|record| record == read), "bit {bit}");
                    }
                } else {
                    assert!(written.starts_with(&outcome.records), "bit {bit}, {mode:?}");
                }
                assert!(outcome.records.len() < written.len(), "bit {bit}, {mode:?}");
            }
        }
    }
}

#[test]
fn garbage_never_panics() {
    let mut rng = rng();
    for _ in 0..200 {
        let len = rng.usize(0..70_000);
        let mut bytes = rng.bytes(len);
        // Long runs of zeros and of small numbers look more like headers.
        for byte in &mut bytes {
            if rng.u8(..) < 200 {
                *byte = rng.u8(0..12);
            }
        }
        for mode in MODES {
            read(&bytes, mode, Some(LOG));
        }
    }
}

#[test]
fn rejecting_a_record_is_damage_like_any_other() {
    let (bytes, ends) = wal(options(false, false), &[50, 5, 50]);
    for mode in MODES {
        let mut reader = Reader::new(
            Bytes::new(&bytes[..]),
            ReaderOptions {
                log_number: None,
                mode,
            },
        );
        assert_eq!(reader.read_record().unwrap().unwrap().len(), 50);
        assert_eq!(reader.record_end(), ends[1] as u64);
        assert_eq!(reader.read_record().unwrap().unwrap().len(), 5);
        assert_eq!(reader.record_offset(), ends[1] as u64);
        assert_eq!(reader.record_end(), ends[2] as u64);
        let rejected = reader.reject(5, "log record too small");
        match mode {
            RecoveryMode::TolerateCorruptedTailRecords | RecoveryMode::AbsoluteConsistency => {
                let error = rejected.unwrap_err();
                assert_eq!(error.offset(), Some(ends[1] as u64));
                assert!(reader.read_record().is_err());
            }
            RecoveryMode::PointInTime => {
                rejected.unwrap();
                assert!(reader.read_record().unwrap().is_none());
                assert_eq!(reader.stopped().unwrap().message(), "log record too small");
            }
            RecoveryMode::SkipAnyCorruptedRecords => {
                rejected.unwrap();
                assert_eq!(reader.read_record().unwrap().unwrap().len(), 50);
                assert!(reader.read_record().unwrap().is_none());
            }
        }
        assert_eq!(reader.dropped()[0].reason, "log record too small");
    }
}

#[test]
fn a_failing_disk_is_an_error_in_every_mode() {
    // The file is longer than the first chunk, so that a part of it is read before the disk fails.
    let lens = [1000; 600];
    let (bytes, _) = wal(options(false, false), &lens);
    for mode in MODES {
        let file = Arc::new(Bytes {
            bytes: bytes.clone(),
            fails_from: 300_000,
        });
        let mut reader = Reader::new(
            file,
            ReaderOptions {
                log_number: None,
                mode,
            },
        );
        let outcome = read_all(&mut reader);
        assert_eq!(outcome.error.unwrap().kind(), base::ErrorKind::Io);
        assert!(outcome.records.len() > 200);
    }
}

#[test]
fn a_manifest_is_read_like_tolerate() {
    let (bytes, ends) = wal(options(false, false), &[60, 0, 60]);
    let mut reader = Reader::for_manifest(Bytes::new(&bytes[..ends[3] - 1]));
    assert_eq!(read_all(&mut reader).records.len(), 2);
    let mut bytes = bytes;
    bytes[10] ^= 1;
    let mut reader = Reader::for_manifest(Bytes::new(bytes));
    assert!(reader.read_record().unwrap_err().is_corruption());
}

#[test]
fn without_a_number_the_first_record_tells() {
    let (mut bytes, _) = wal(options(true, false), &[10, 20]);
    put_record(&mut bytes, RecordType::RecyclableFull, 3, b"old");
    let outcome = read(&bytes, RecoveryMode::AbsoluteConsistency, None);
    assert_eq!((numbers(&outcome), ends(&outcome)), (vec![0, 1], Ends::Well));
    let outcome = read(&bytes, RecoveryMode::AbsoluteConsistency, Some(3));
    assert_eq!(outcome.records.len(), 0);
}

#[test]
fn an_unknown_compression_is_not_supported_in_any_mode() {
    for (ty, kind) in [
        (4u32, base::ErrorKind::NotSupported),
        (0, base::ErrorKind::NotFound),
    ] {
        let mut bytes = Vec::new();
        put_record(&mut bytes, RecordType::SetCompressionType, 0, &ty.to_le_bytes());
        put_record(&mut bytes, RecordType::Full, 0, &record(0, 10));
        for mode in MODES {
            let outcome = read(&bytes, mode, None);
            match ty {
                0 => assert_eq!(numbers(&outcome), [0]),
                _ => assert_eq!(outcome.error.unwrap().kind(), kind),
            }
        }
    }
}

#[test]
fn compression_records_in_the_wrong_place_are_damage() {
    let (good, _) = wal(options(false, true), &[10]);
    let compression = &good[..HEADER_LEN + 4];
    let (plain, _) = wal(options(false, false), &[10]);
    for bytes in [
        [&good[..], compression].concat(),
        [&plain[..], compression].concat(),
    ] {
        let outcome = read(&bytes, RecoveryMode::SkipAnyCorruptedRecords, None);
        assert_eq!(numbers(&outcome), [0]);
        assert_eq!(outcome.dropped.len(), 1);
        assert_eq!(
            ends(&read(&bytes, RecoveryMode::AbsoluteConsistency, None)),
            Ends::Fails
        );
    }
}

#[test]
fn a_compressed_record_that_does_not_decompress_is_damage() {
    let (mut bytes, _) = wal(options(false, true), &[10]);
    put_record(&mut bytes, RecordType::Full, 0, b"no frame at all");
    // The compressed frame lacks its end.
    let (good, ends_of_good) = wal(options(false, true), &[5000]);
    put_record(
        &mut bytes,
        RecordType::Full,
        0,
        &good[ends_of_good[0] + HEADER_LEN..][..2000],
    );
    // The preceding record comes again, now in two fragments, with an intact record after it: each record
    // begins a new frame.
    put_record(
        &mut bytes,
        RecordType::First,
        0,
        &good[ends_of_good[0] + HEADER_LEN..][..1000],
    );
    put_record(
        &mut bytes,
        RecordType::Last,
        0,
        &good[ends_of_good[0] + HEADER_LEN..][1000..2000],
    );
    put_record(
        &mut bytes,
        RecordType::Full,
        0,
        &good[ends_of_good[0] + HEADER_LEN..],
    );
    let outcome = read(&bytes, RecoveryMode::SkipAnyCorruptedRecords, None);
    assert_eq!(outcome.records, [record(0, 10), record(0, 5000)]);
    assert_eq!(ends(&read(&bytes, RecoveryMode::PointInTime, None)), Ends::Stops);
}

#[test]
fn records_of_later_releases_inside_another_give_it_up_silently() {
    let mut bytes = Vec::new();
    put_record(&mut bytes, RecordType::First, 0, b"part");
    let at = bytes.len();
    put_record(&mut bytes, RecordType::Full, 0, b"?");
    bytes[at + 6] = 200;
    let crc = Header::masked_crc_of(&bytes[at..]);
    bytes[at..at + 4].copy_from_slice(&crc.to_le_bytes());
    put_record(&mut bytes, RecordType::Full, 0, &record(0, 10));
    let outcome = read(&bytes, RecoveryMode::AbsoluteConsistency, None);
    assert_eq!((numbers(&outcome), ends(&outcome)), (vec![0], Ends::Well));
    assert_eq!(outcome.dropped[0].bytes, 4);
}

#[test]
fn announcements_that_contradict_or_do_not_decode_are_damage() {
    for payload in [&[1, 0, 0, 0, 8][..], &[1, 0, 0, 0, 8, 0, 1, 0, 0, 0, 9, 0]] {
        let mut bytes = Vec::new();
        put_record(&mut bytes, RecordType::UserDefinedTimestampSize, 0, payload);
        put_record(&mut bytes, RecordType::Full, 0, &record(0, 10));
        assert_eq!(ends(&read(&bytes, RecoveryMode::PointInTime, None)), Ends::Stops);
        let outcome = read(&bytes, RecoveryMode::SkipAnyCorruptedRecords, None);
        assert_eq!(numbers(&outcome), [0]);
    }
    let mut bytes = Vec::new();
    put_record(&mut bytes, RecordType::PredecessorWalInfo, 0, &[0; 23]);
    assert_eq!(
        ends(&read(&bytes, RecoveryMode::AbsoluteConsistency, None)),
        Ends::Fails
    );
}

#[test]
fn space_without_records_is_measured() {
    const FULL: usize = BLOCK_SIZE - HEADER_LEN;
    let (bytes, _) = wal(options(false, false), &[FULL, FULL, FULL, 100]);
    let unused = |bytes: &[u8]| {
        let options = ReaderOptions {
            log_number: Some(LOG),
            mode: RecoveryMode::PointInTime,
        };
        let mut reader = Reader::new(Bytes::new(bytes), options);
        let mut unused = Vec::new();
        while reader.read_record().unwrap().is_some() {
            unused.push(reader.unused_before());
        }
        unused
    };
    assert_eq!(unused(&bytes), [0; 4]);
    let mut holed = bytes.clone();
    holed[..BLOCK_SIZE].fill(0);
    holed[2 * BLOCK_SIZE..3 * BLOCK_SIZE].fill(0);
    assert_eq!(unused(&holed), [BLOCK_SIZE as u64; 2]);
    // The writer puts fill in front of an announcement, which must not be fragmented.
    let (mut announced, sink) = writer(options(false, false));
    announced
        .add_record(&record(0, BLOCK_SIZE - 2 * HEADER_LEN))
        .unwrap();
    announced.add_timestamp_sizes(&[(1, 8)]).unwrap();
    announced.add_record(&record(1, 10)).unwrap();
    assert_eq!(unused(&sink.bytes()), [0, 0]);
}

#[test]
fn sectors_of_the_last_record_that_did_not_reach_the_disk_are_a_tear() {
    let (bytes, ends) = wal(options(false, false), &[900, 1500]);
    let tolerate = |bytes: &[u8]| read(bytes, RecoveryMode::TolerateCorruptedTailRecords, Some(LOG));
    for sector in (1024..ends[2]).step_by(512) {
        let mut torn = bytes.clone();
        torn[sector..].fill(0);
        let outcome = tolerate(&torn);
        assert!(
            outcome.error.is_none(),
            "zeros from {sector}: {:?}",
            outcome.error
        );
        assert_eq!(numbers(&outcome), [0]);
        // In the middle of the file zeros are corruption, and so are zero sectors before the last record.
        let mut damaged = bytes.clone();
        damaged[sector + 1..].fill(0);
        if damaged[sector] != 0 && sector + 512 > ends[2] {
            assert!(tolerate(&damaged).error.is_some(), "zeros from {}", sector + 1);
        }
    }
    let mut damaged = bytes.clone();
    damaged[512..1024].fill(0);
    assert!(tolerate(&damaged).error.is_some());
}

/// A record with a corrupt log number or type looks like one of the file's former contents, and must not end
/// the log as such.
#[test]
fn a_damaged_log_number_or_type_is_no_former_life() {
    for recyclable in [false, true] {
        let options = WriterOptions {
            log_number: 7,
            recyclable,
            ..WriterOptions::default()
        };
        let (mut writer, sink) = writer(options);
        writer.add_record(b"first").unwrap();
        writer.add_record(b"second").unwrap();
        let good = sink.bytes();
        let header = if recyclable { 6..11 } else { 6..7 };
        for (at, bit) in header.flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            let options = |mode| ReaderOptions {
                log_number: Some(7),
                mode,
            };
            let mut reader = Reader::new(Bytes::new(&bad[..]), options(RecoveryMode::AbsoluteConsistency));
            let error = reader.read_record().unwrap_err();
            assert!(
                error.is_corruption() && error.offset() == Some(0),
                "{at} {bit}: {error}"
            );
            let mut reader = Reader::new(Bytes::new(&bad[..]), options(RecoveryMode::PointInTime));
            assert_eq!(reader.read_record().unwrap(), None);
            assert!(reader.stopped().is_some(), "{at} {bit}");
        }
    }
}
