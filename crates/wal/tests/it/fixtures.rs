//! The WALs and MANIFESTs of databases RocksDB wrote.

use std::path::PathBuf;

use base::filename::{self, FileKind};
use esker_wal::dump::{PhysicalRecords, RecordState};
use esker_wal::{Reader, ReaderOptions, RecoveryMode};

use crate::{batch_header, open, testdata};

/// The files of the fixtures, with database and number.
fn files(wanted: impl Fn(&FileKind) -> Option<u64>) -> Vec<(String, u64, PathBuf)> {
    let mut found = Vec::new();
    for database in std::fs::read_dir(testdata("rocksdb-11.9")).unwrap() {
        let database = database.unwrap();
        if !database.file_type().unwrap().is_dir() {
            continue;
        }
        for file in std::fs::read_dir(database.path()).unwrap() {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            if let Some(number) = filename::parse(&name).as_ref().and_then(&wanted) {
                found.push((database.file_name().into_string().unwrap(), number, file.path()));
            }
        }
    }
    found.sort();
    found
}

const MODES: [RecoveryMode; 4] = [
    RecoveryMode::TolerateCorruptedTailRecords,
    RecoveryMode::AbsoluteConsistency,
    RecoveryMode::PointInTime,
    RecoveryMode::SkipAnyCorruptedRecords,
];

#[test]
fn every_wal_reads_in_every_mode_and_its_sequences_join() {
    let wals = files(|kind| match kind {
        FileKind::Wal(number) => Some(*number),
        _ => None,
    });
    assert!(wals.len() > 20);
    let (mut operations, mut recycled, mut compressed, mut timestamps, mut stale) = (0, 0, 0, 0, 0);
    for (database, number, path) in wals {
        let kinds: Vec<_> = PhysicalRecords::new(open(&path)).map(Result::unwrap).collect();
        let is_recycled = kinds.iter().any(|record| record.log_number.is_some());
        recycled += usize::from(is_recycled);
        compressed += usize::from(kinds.first().is_some_and(|record| record.type_byte == 9));

        let mut counts = None;
        for mode in MODES {
            let mut reader = Reader::new(
                open(&path),
                ReaderOptions {
                    log_number: Some(number),
                    mode,
                },
            );
            let what = format!("{database}, WAL {number}, {mode:?}");
            let (mut next, mut records) = (None, 0);
            let error = loop {
                let batch = match reader.read_record() {
                    Ok(Some(batch)) => batch,
                    Ok(None) => break None,
                    Err(error) => break Some(error),
                };
                let (sequence, count) = batch_header(batch);
                assert!(
                    next.is_none_or(|next| next == sequence),
                    "{what}: {next:?}, {sequence}"
                );
                next = Some(sequence + u64::from(count));
                records += 1;
                operations += u64::from(count);
            };
            timestamps += reader.timestamp_sizes().len();
            assert!(records > 0 || kinds.is_empty(), "{what}");
            assert_eq!(*counts.get_or_insert(records), records, "{what}");
            if is_recycled && !reader.dropped().is_empty() {
                // After the last record comes the middle of one of the file's former contents.
                stale += 1;
                assert_eq!(
                    error.is_some(),
                    mode == RecoveryMode::AbsoluteConsistency,
                    "{what}"
                );
                assert_eq!(
                    reader.stopped().is_some(),
                    mode == RecoveryMode::PointInTime,
                    "{what}"
                );
                assert!(reader.dropped()[0].offset >= reader.record_end(), "{what}");
            } else {
                assert!(error.is_none(), "{what}: {error:?}");
                assert!(reader.stopped().is_none(), "{what}: {:?}", reader.stopped());
                assert!(reader.dropped().is_empty(), "{what}: {:?}", reader.dropped());
            }
        }
    }
    assert_eq!(stale, 4, "one of the fixtures, in every mode");
    assert!(operations > 10_000);
    assert!(recycled > 0 && compressed > 0 && timestamps > 0);
}

#[test]
fn every_manifest_reads_and_is_all_good_records() {
    let manifests = files(|kind| match kind {
        FileKind::Manifest(number) => Some(*number),
        _ => None,
    });
    assert!(manifests.len() >= 20);
    for (database, _, path) in manifests {
        let mut reader = Reader::for_manifest(open(&path));
        let mut edits = 0;
        while reader.read_record().unwrap().is_some() {
            edits += 1;
        }
        assert!(edits > 1 && reader.dropped().is_empty(), "{database}");
        assert_eq!(reader.record_end(), reader.file().len(), "{database}");
        for record in PhysicalRecords::new(open(&path)) {
            assert_eq!(record.unwrap().state, RecordState::Good, "{database}");
        }
    }
}
