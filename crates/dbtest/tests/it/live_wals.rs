//! A WAL that is read while it is written: what its reader was too early for is read again, what is damaged is not taken for that.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dbtest::crash::dump;
use dbtest::events::Events;
use esker::{CompressionType, Db, Event, Options, RecoveryMode};
use tempfile::TempDir;
use vfs::{Action, FaultFs, Op, PosixFs, Rule};

const BLOCK: usize = 32 << 10;
/// Of a record: checksum, length, type.
const HEADER: usize = 7;
/// The type of a record's first fragment.
const FIRST: u8 = 2;

/// The physical records of the first block.
fn records(wal: &[u8]) -> Vec<Range<usize>> {
    let mut records = Vec::new();
    let mut at = 0;
    while at + HEADER < BLOCK {
        let len = usize::from(u16::from_le_bytes([wal[at + 4], wal[at + 5]]));
        records.push(at..at + HEADER + len);
        at += HEADER + len;
    }
    records
}

/// A database whose rows are all in one WAL of some blocks.
fn database(dir: &Path, compression: CompressionType) -> (Db, PathBuf) {
    let options = Options {
        create_if_missing: true,
        wal_compression: compression,
        ..Options::default()
    };
    let db = Db::open(&options, dir).unwrap();
    let mut rng = testkit::rng();
    for key in 0..300 {
        let value: Vec<u8> = (0..rng.usize(300..900)).map(|_| rng.u8(..)).collect();
        db.put(format!("key{key}").as_bytes(), &value).unwrap();
    }
    let is_wal = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "log");
    let files = std::fs::read_dir(dir).unwrap();
    let wal = files.map(|file| file.unwrap().path()).find(is_wal).unwrap();
    (db, wal)
}

/// Opens the database for reading. If `whole` is given, the WAL is that from its second read on.
fn read(dir: &Path, mode: RecoveryMode, whole: Option<(&Path, &[u8])>) -> (esker::Result<Db>, Arc<Events>) {
    let faults = FaultFs::new(Arc::new(PosixFs::new()));
    if let Some((wal, bytes)) = whole {
        let (wal, bytes) = (wal.to_path_buf(), bytes.to_vec());
        let write = move |_: Op, _: &Path| std::fs::write(&wal, &bytes).unwrap();
        let rule = Rule::new(Action::Call(Arc::new(write))).on([Op::Read]);
        faults.add(rule.path_ends_with(".log").nth(1));
    }
    let events = Arc::new(Events::default());
    let options = Options {
        wal_recovery_mode: mode,
        listeners: vec![events.clone()],
        fs: Arc::new(faults),
        ..Options::default()
    };
    (Db::open_read_only(&options, dir), events)
}

fn dropped(events: &Events) -> usize {
    let dropped = |event: &&Event| matches!(event, Event::WalDropped { .. });
    events.all().iter().filter(dropped).count()
}

#[test]
fn what_was_written_while_it_was_read_is_read_again() {
    let modes = [
        RecoveryMode::TolerateCorruptedTailRecords,
        RecoveryMode::AbsoluteConsistency,
        RecoveryMode::PointInTime,
        RecoveryMode::SkipAnyCorruptedRecords,
    ];
    for compression in [CompressionType::None, CompressionType::Zstd] {
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (db, wal) = database(dir.path(), compression);
        let rows = dump(&db).unwrap();
        db.close().unwrap();
        let whole = std::fs::read(&wal).unwrap();
        let records = records(&whole);
        let last = records.last().unwrap();
        assert!(records.len() > 20 && whole.len() > 2 * BLOCK);
        assert_eq!(whole[last.start + 6], FIRST, "the next block has its end");
        let middle = &records[records.len() / 2];
        // The first fragment of a record; the body of another, and its end; some whole ones.
        let missing = [
            last.start..BLOCK,
            middle.start + HEADER..middle.end,
            middle.end - 100..middle.end,
            middle.start..BLOCK,
        ];
        for missing in missing {
            for mode in modes {
                let what = format!("{compression:?}, {mode:?}, {missing:?}");
                let mut early = whole.clone();
                early[missing.clone()].fill(0);
                std::fs::write(&wal, &early).unwrap();
                let (reader, events) = read(dir.path(), mode, Some((&wal, &whole)));
                let reader = reader.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(dump(&reader).unwrap(), rows, "{what}");
                assert_eq!(dropped(&events), 0, "{what}");
                drop(reader);
                assert_eq!(std::fs::read(&wal).unwrap(), whole, "{what}: it was read twice");

                // It stays as it is: that is damage.
                std::fs::write(&wal, &early).unwrap();
                let (reader, events) = read(dir.path(), mode, None);
                match reader {
                    Ok(reader) => {
                        let found = dump(&reader).unwrap();
                        assert!(found != rows, "{what}");
                        let all = &rows["default"];
                        let wrong = found["default"].iter().find(|row| all.get(row.0) != Some(row.1));
                        assert_eq!(wrong, None, "{what}");
                    }
                    Err(error) => assert!(
                        error.is_corruption() && error.file() == Some(&*wal),
                        "{what}: {error}"
                    ),
                }
                assert!(dropped(&events) <= 2, "{what}: {:?}", events.all());
            }
        }
    }
}
