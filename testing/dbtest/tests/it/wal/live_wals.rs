//! A WAL that is read while it is written: data that was not there yet is read again, and damage is not
//! mistaken for such data.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dbtest::crash::dump;
use dbtest::events::Recorder;
use dbtest::small::Rows;
use esker::{CompressionType, Db, Event, Options, RecoveryMode};
use tempfile::TempDir;
use testkit::TestRng;
use vfs::{Action, FaultFs, Op, PosixFs, Rule};

const BLOCK: usize = 32 << 10;
/// The header of a record in bytes: checksum, length, type.
const HEADER: usize = 7;
/// The type of a record's first fragment.
const FIRST: u8 = 2;

/// The physical records of the first block of a WAL.
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

/// A closed database with all rows in one WAL of several blocks.
struct Closed {
    dir: TempDir,
    rows: Rows,
    wal: PathBuf,
    /// The complete contents of the WAL.
    whole: Vec<u8>,
    /// The physical records of the first block of the WAL.
    records: Vec<Range<usize>>,
}

impl Closed {
    /// Creates the database with values of the lengths that `len` returns.
    fn new(
        rng: &mut TestRng,
        compression: CompressionType,
        len: &mut dyn FnMut(&mut TestRng) -> usize,
    ) -> Closed {
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let options = Options {
            create_if_missing: true,
            wal_compression: compression,
            ..Options::default()
        };
        let db = Db::open(&options, dir.path()).unwrap();
        for key in 0..300 {
            let len = len(rng);
            db.put(format!("key{key:03}").as_bytes(), rng.bytes(len)).unwrap();
        }
        let rows = dump(&db).unwrap();
        db.close().unwrap();
        let is_wal = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "log");
        let mut files = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|file| file.unwrap().path());
        let wal = files.find(is_wal).unwrap();
        let whole = std::fs::read(&wal).unwrap();
        assert!(whole.len() > 2 * BLOCK);
        let records = records(&whole);
        Closed {
            dir,
            rows,
            wal,
            whole,
            records,
        }
    }

    /// The last record that begins in the first block of the WAL.
    fn last(&self) -> Range<usize> {
        self.records.last().unwrap().clone()
    }

    /// True if the last record of the first block continues in the second.
    fn goes_on(&self) -> bool {
        self.whole[self.last().start + HEADER - 1] == FIRST
    }

    /// Opens the database with zeros in place of `missing`: once if the bytes are filled during the read, and
    /// once if they stay missing.
    fn check(&self, missing: Range<usize>, mode: RecoveryMode, what: &str) {
        let what = format!("{what}, {mode:?}, {missing:?}");
        let (dir, rows, wal, whole) = (self.dir.path(), &self.rows, &self.wal, &self.whole);
        let mut early = whole.clone();
        early[missing].fill(0);
        std::fs::write(wal, &early).unwrap();
        let (reader, events) = read(dir, mode, Some((wal, whole)));
        let reader = reader.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(dump(&reader).unwrap(), *rows, "{what}");
        assert_eq!(dropped(&events), 0, "{what}");
        drop(reader);
        assert_eq!(std::fs::read(wal).unwrap(), *whole, "{what}: it was read twice");

        // The bytes of the WAL stay missing this time, so they are reported as corruption.
        std::fs::write(wal, &early).unwrap();
        let (reader, events) = read(dir, mode, None);
        match reader {
            Ok(reader) => {
                let found = dump(&reader).unwrap();
                assert!(found != *rows, "{what}");
                let all = &rows["default"];
                let wrong = found["default"].iter().find(|row| all.get(row.0) != Some(row.1));
                assert_eq!(wrong, None, "{what}");
            }
            Err(error) => assert!(
                error.is_corruption() && error.file() == Some(wal),
                "{what}: {error}"
            ),
        }
        assert!(dropped(&events) <= 2, "{what}: {:?}", events.all());
    }
}

/// Opens the database for reading. With `whole`, the WAL at that path has the given contents from its second
/// read on.
fn read(dir: &Path, mode: RecoveryMode, whole: Option<(&Path, &[u8])>) -> (esker::Result<Db>, Arc<Recorder>) {
    let faults = FaultFs::new(Arc::new(PosixFs::new()));
    if let Some((wal, bytes)) = whole {
        let (wal, bytes) = (wal.to_path_buf(), bytes.to_vec());
        let write = move |_: Op, _: &Path| std::fs::write(&wal, &bytes).unwrap();
        let rule = Rule::new(Action::Call(Arc::new(write))).on([Op::Read]);
        faults.add(rule.path_ends_with(".log").nth(1));
    }
    let events = Recorder::events();
    let options = Options {
        wal_recovery_mode: mode,
        listeners: vec![events.clone()],
        fs: Arc::new(faults),
        ..Options::default()
    };
    (Db::open_read_only(&options, dir), events)
}

fn dropped(events: &Recorder) -> usize {
    let dropped = |event: &&Event| matches!(event, Event::WalDropped { .. });
    events.all().iter().filter(dropped).count()
}

const MODES: [RecoveryMode; 4] = [
    RecoveryMode::TolerateCorruptedTailRecords,
    RecoveryMode::AbsoluteConsistency,
    RecoveryMode::PointInTime,
    RecoveryMode::SkipAnyCorruptedRecords,
];

#[test]
fn what_was_written_while_it_was_read_is_read_again() {
    let mut rng = testkit::rng();
    for compression in [CompressionType::None, CompressionType::Zstd] {
        let closed = loop {
            let closed = Closed::new(&mut rng, compression, &mut |rng| rng.usize(300..900));
            // In one of a hundred cases, a record ends exactly at the end of the block.
            if closed.goes_on() {
                break closed;
            }
        };
        let (last, middle) = (closed.last(), closed.records[closed.records.len() / 2].clone());
        // The ranges to fill with zeros: the first fragment of a record; the body of another, and its end;
        // several whole records; a body and a whole block after it.
        let missing = [
            last.start..BLOCK,
            middle.start + HEADER..middle.end,
            middle.end - 100..middle.end,
            middle.start..BLOCK,
            middle.start + HEADER..2 * BLOCK,
        ];
        for missing in missing {
            for mode in MODES {
                closed.check(missing.clone(), mode, &format!("{compression:?}"));
            }
        }
    }
}

/// The record after a hole may follow closely, in the next block.
#[test]
fn a_hole_at_the_end_of_a_block_is_read_twice_at_most() {
    let mut rng = testkit::rng();
    let mut with_first = |first: usize| {
        let mut lens = std::iter::once(first).chain(std::iter::repeat(600));
        Closed::new(&mut rng, CompressionType::None, &mut |_| lens.next().unwrap())
    };
    let usual = with_first(600);
    // All records have the same length except the first one, whose length shifts the others.
    let len = usual.records[usual.records.len() / 2].len();
    for hole in [8, 11, 12, 13, 18, 21, 22, 23, 40] {
        let closed = with_first(600 + (BLOCK - hole + len - usual.last().start) % len);
        assert!(closed.goes_on() && closed.last().start == BLOCK - hole);
        for mode in MODES {
            closed.check(BLOCK - hole..BLOCK, mode, "");
        }
    }
}
