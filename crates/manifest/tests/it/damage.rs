//! Corrupt bytes cause errors with their position, never panics.

use manifest::{Replay, VersionEdit, builtin_comparator};
use testkit::TestRng;

use crate::support::{current_manifest, fixtures, hex, records, vectors};

fn all_records() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = vectors()["version_edit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|vector| hex(vector["hex"].as_str().unwrap()))
        .collect();
    for (_, dir) in fixtures() {
        let records = records(&current_manifest(&dir));
        all.extend(records.into_iter().filter(|record| record.len() < 600).take(8));
    }
    all
}

/// Decodes, and checks that encoding and decoding the result changes nothing.
fn decode(bytes: &[u8]) -> Option<VersionEdit> {
    match VersionEdit::decode(bytes) {
        Ok(edit) => {
            let mut again = Vec::new();
            edit.encode(&mut again);
            assert_eq!(VersionEdit::decode(&again).unwrap(), edit, "{bytes:02x?}");
            Some(edit)
        }
        Err(error) => {
            assert!(error.is_corruption(), "{error}");
            let offset = error.offset().unwrap_or_else(|| panic!("no offset: {error}"));
            assert!(offset <= bytes.len() as u64, "{error}");
            None
        }
    }
}

/// Applies an edit after a possible beginning of a MANIFEST.
fn apply(edit: VersionEdit) {
    let mut replay = Replay::new();
    let start = VersionEdit {
        log_number: Some(1),
        next_file_number: Some(2),
        last_sequence: Some(0),
        ..VersionEdit::default()
    };
    replay.apply(start).unwrap();
    let applied = replay
        .apply(edit)
        .and_then(|()| replay.finish(&mut builtin_comparator));
    if let Ok(state) = applied {
        for family in state.families.values() {
            let version = &family.version;
            for level in 1..version.num_levels() {
                for file in version.files(level) {
                    let place = version.find_file(level, &file.largest);
                    assert_eq!(version.files(level)[place].number, file.number);
                }
            }
            manifest::snapshot_edits(&state);
        }
    }
}

#[test]
fn every_truncation_and_bit_flip_is_survived() {
    for record in all_records() {
        for len in 0..record.len() {
            if let Some(edit) = decode(&record[..len]) {
                apply(edit);
            }
        }
        let mut flipped = record.clone();
        for bit in 0..record.len() * 8 {
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Some(edit) = decode(&flipped) {
                apply(edit);
            }
            flipped[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

fn mangle(rng: &mut TestRng, record: &mut Vec<u8>) {
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(..record.len());
        match rng.u8(..4) {
            0 => record[at] = rng.u8(..),
            1 => {
                record.remove(at);
            }
            2 => record.insert(at, *rng.pick(&[0, 1, 0x7f, 0x80, 0xff])),
            _ => {
                let other = rng.usize(..record.len());
                record.swap(at, other);
            }
        }
        if record.is_empty() {
            record.push(0);
        }
    }
}

#[test]
fn mangled_records_are_survived() {
    let mut rng = testkit::rng();
    let all = all_records();
    for _ in 0..20_000 {
        let mut record = rng.pick(&all).clone();
        if record.is_empty() {
            continue;
        }
        mangle(&mut rng, &mut record);
        if let Some(edit) = decode(&record) {
            apply(edit);
        }
    }
}

#[test]
fn a_manifest_with_damaged_records_is_an_error_or_a_state() {
    let mut rng = testkit::rng();
    for (_, dir) in fixtures() {
        let records = records(&current_manifest(&dir));
        for _ in 0..60 {
            let mut replay = Replay::new();
            let damaged = rng.usize(..records.len());
            let outcome = records.iter().enumerate().try_for_each(|(i, record)| {
                let mut record = record.clone();
                if i == damaged && !record.is_empty() {
                    mangle(&mut rng, &mut record);
                }
                replay.apply_record(&record)
            });
            if outcome.is_ok() {
                let _ = replay.finish(&mut builtin_comparator);
            }
        }
    }
}

#[test]
fn claims_beyond_the_end_allocate_nothing() {
    // A comparator name, an unknown field and a new file's key, each with a length of 4 GiB.
    for start in [
        &[0x01][..],
        &[0xff, 0x7f],
        &[0x67, 0x00, 0x05, 0x09],
        &[0x88, 0x40],
    ] {
        let bytes = [start, &[0xff, 0xff, 0xff, 0xff, 0x0f]].concat();
        let error = VersionEdit::decode(&bytes).unwrap_err();
        assert_eq!(error.offset(), Some(start.len() as u64), "{error}");
    }
}
