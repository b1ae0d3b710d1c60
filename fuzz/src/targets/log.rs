//! Logs: WAL and MANIFEST.

use codec::checksum::{crc32c, mask};
use manifest::{Replay, VersionEdit, builtin_comparator};
use wal::{Reader, ReaderOptions, RecoveryMode};

use super::file_of;

const BLOCK: usize = 32 << 10;
/// The size of CRC, length and type; recyclable records also have the log number.
const HEADER: usize = 7;
const MODES: [RecoveryMode; 4] = [
    RecoveryMode::TolerateCorruptedTailRecords,
    RecoveryMode::AbsoluteConsistency,
    RecoveryMode::PointInTime,
    RecoveryMode::SkipAnyCorruptedRecords,
];

/// A WAL in the recovery mode of the first byte. With its bit 7 checksums are adjusted first, so that records
/// which they would have rejected are decoded.
pub fn log(data: &[u8]) {
    let Some((&how, bytes)) = data.split_first() else {
        return;
    };
    let mut bytes = bytes.to_vec();
    if how & 0x80 != 0 {
        mend_checksums(&mut bytes);
    }
    let options = ReaderOptions {
        mode: MODES[usize::from(how & 3)],
        log_number: (how & 4 != 0).then_some(52),
    };
    let mut reader = Reader::new(file_of(&bytes), options);
    let mut records = 0;
    // After an error a caller may read on, but the reader must come to an end.
    while let Ok(Some(record)) = reader.read_record() {
        let _ = esker::WriteBatch::from_data(record);
        records += 1;
        assert!(records <= bytes.len(), "more records than bytes");
    }
    let _ = (
        reader.stopped(),
        reader.dropped().len(),
        reader.timestamp_sizes().len(),
    );
    let physical = wal::dump::PhysicalRecords::new(file_of(&bytes));
    assert!(
        physical.take(bytes.len() + 2).count() <= bytes.len() + 1,
        "more records than bytes"
    );
}

/// Adjusts the checksum of every record that has room for its length.
fn mend_checksums(bytes: &mut [u8]) {
    for block in bytes.chunks_mut(BLOCK) {
        let mut at = 0;
        while at + HEADER <= block.len() {
            let len = usize::from(u16::from_le_bytes([block[at + 4], block[at + 5]]));
            let recyclable = matches!(block[at + 6], 5..=8 | 11 | 131);
            let end = at + HEADER + if recyclable { 4 } else { 0 } + len;
            if end > block.len() {
                break;
            }
            let crc = mask(crc32c(&block[at + 6..end]));
            block[at..at + 4].copy_from_slice(&crc.to_le_bytes());
            at = end;
        }
    }
}

/// The input is one version edit: if it decodes, its encoding must decode to the same edit.
pub fn version_edit(data: &[u8]) {
    let Ok(edit) = VersionEdit::decode(data) else {
        return;
    };
    let mut encoded = Vec::new();
    edit.encode(&mut encoded);
    let again = VersionEdit::decode(&encoded).expect("what was encoded decodes");
    let mut twice = Vec::new();
    again.encode(&mut twice);
    assert_eq!(encoded, twice);
    let _ = Replay::new().apply(edit);
}

/// A MANIFEST: its checksums are adjusted, and its records replayed into versions.
pub fn manifest(data: &[u8]) {
    let mut bytes = data.to_vec();
    mend_checksums(&mut bytes);
    let mut reader = Reader::for_manifest(file_of(&bytes));
    let mut replay = Replay::new();
    while let Ok(Some(record)) = reader.read_record() {
        if replay.apply_record(record).is_err() {
            return;
        }
    }
    let finished = replay.finish(&mut |family, recorded| builtin_comparator(family, recorded));
    let Ok(state) = finished else { return };
    let mut again = Replay::new();
    for edit in manifest::snapshot_edits(&state) {
        again.apply(edit).expect("what we write ourselves is applied");
    }
    again
        .finish(&mut |family, recorded| builtin_comparator(family, recorded))
        .expect("what we write ourselves is whole");
}
