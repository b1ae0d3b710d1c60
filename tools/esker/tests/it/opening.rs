//! Corrupt databases opened for writing: they fail, or readable data is right; and intact data stays.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base::filename::{self, FileKind};
use esker::{Db, Event, EventListener, Options, ReadOptions, WriteBatch, WriteOptions};
use testkit::TestRng;
use wal::dump::{PhysicalRecord, PhysicalRecords};
use wal::format::RecordType;
use wal::{ReaderOptions, RecoveryMode};

use crate::common::*;
use crate::damage::{Damage, covered, files_by_kind, is_unprotected, offset_in, open};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Returns every row, in the format of the files with expected rows.
fn rows(db: &Db, name: &str) -> esker::Result<String> {
    let options = ReadOptions {
        timestamp: (name == "user_timestamps").then(|| TIMESTAMP.to_le_bytes().to_vec()),
        ..ReadOptions::default()
    };
    let mut out = String::new();
    for family in db.column_families() {
        let mut iter = db.iter_cf_opt(&family, &options);
        iter.seek_to_first();
        while iter.valid() {
            out.push_str(&format!(
                "{}\t{}\t{}",
                family.name(),
                hex(iter.key()),
                hex(iter.value())
            ));
            if let Some(columns) = iter.columns()? {
                out.push_str("\tcolumns");
                columns
                    .iter()
                    .for_each(|(name, value)| out.push_str(&format!("\t{}={}", hex(name), hex(value))));
            }
            out.push('\n');
            iter.next();
        }
        iter.status()?;
    }
    Ok(out)
}

fn read_only_rows(dir: &Path, name: &str) -> esker::Result<String> {
    rows(&Db::open_read_only(&Options::default(), dir)?, name)
}

/// True if WAL `path`, truncated at `at`, looks like one that was never longer: a record ends there.
fn looks_whole(path: &Path, at: u64) -> bool {
    let goes_on = |record: &PhysicalRecord| {
        use RecordType::{First, Middle, RecyclableFirst, RecyclableMiddle};
        let kind = record.record_type();
        kind.is_some_and(|kind| matches!(kind, First | Middle | RecyclableFirst | RecyclableMiddle))
    };
    at == 0
        || PhysicalRecords::new(open(path))
            .map(Result::unwrap)
            .any(|record| record.end() == at && !goes_on(&record))
}

/// The readable rows of fixture `name` after `damage` to WAL `path`: the damaged record is lost, and all that
/// follow.
///
/// Only if the file is truncated between two records are the later WALs replayed, in RocksDB 11.8 as well:
/// nothing shows that the file was longer, and sequence numbers may be missing for good reasons.
fn rows_behind(name: &str, path: &Path, damage: Damage) -> esker::Result<String> {
    let Some(FileKind::Wal(number)) = filename::parse(path.file_name().unwrap().to_str().unwrap()) else {
        panic!("{} is not a WAL", path.display());
    };
    let good = fixture(name).join(path.file_name().unwrap());
    let (Damage::Flip(at, _) | Damage::Truncate(at)) = damage;
    let options = ReaderOptions {
        log_number: Some(number),
        mode: RecoveryMode::PointInTime,
    };
    let mut reader = wal::Reader::new(open(&good), options);
    let mut cut = 0;
    while reader.read_record().unwrap().is_some() && reader.record_end() <= at {
        cut = reader.record_end();
    }
    let dir = copy(name);
    let wal = dir.path().join(path.file_name().unwrap());
    let bytes = fs::read(&wal).unwrap();
    fs::write(&wal, &bytes[..cut as usize]).unwrap();
    if !(matches!(damage, Damage::Truncate(_)) && looks_whole(&good, at)) {
        for file in listing(dir.path()).into_keys() {
            if matches!(filename::parse(&file), Some(FileKind::Wal(other)) if other > number) {
                fs::remove_file(dir.path().join(file)).unwrap();
            }
        }
    }
    read_only_rows(dir.path(), name)
}

/// One corrupt file in a copy of a fixture.
struct Case<'a> {
    what: String,
    name: &'a str,
    dir: &'a Path,
    kind: &'a str,
    path: PathBuf,
    good: Vec<u8>,
    damage: Damage,
}

impl<'a> Case<'a> {
    /// Damages the file at `path`, of kind `kind`, in `dir`, a copy of fixture `name`.
    fn new(name: &'a str, dir: &'a Path, kind: &'a str, path: PathBuf, damage: Damage) -> Case<'a> {
        let good = fs::read(&path).unwrap();
        fs::write(&path, damage.apply(&good)).unwrap();
        Case {
            what: format!("{name} {} {damage:?}", path.file_name().unwrap().display()),
            name,
            dir,
            kind,
            path,
            good,
            damage,
        }
    }

    fn check(&self) {
        let what = &self.what;
        let before = listing(self.dir);
        // A truncated MANIFEST has the state of the time when it had that length: reading and writing must
        // agree on it.
        let read_only = read_only_rows(self.dir, self.name);
        match Db::open(&Options::default(), self.dir) {
            Err(error) => {
                assert!(error.file().is_some(), "{what}: {error}");
                let after = listing(self.dir);
                for (file, bytes) in &before {
                    assert_eq!(after.get(file), Some(bytes), "{what}: {error}: {file} changed");
                }
                fs::write(&self.path, &self.good).unwrap();
            }
            Ok(db) => {
                let found = rows(&db, self.name);
                // The put may fail, because a background compaction may have met the corruption as well.
                let _ = db.close();
                drop(db);
                self.check_rows(found, read_only);
                match self.kind {
                    // As many rows as possible have been recovered if a file of these kinds is damaged.
                    "wal" | "manifest" | "current" => return,
                    // The contents of the OPTIONS file were copied into the OPTIONS file that the open has
                    // written.
                    "options" => {
                        let is_options =
                            |file: &String| matches!(filename::parse(file), Some(FileKind::Options(_)));
                        for file in listing(self.dir).into_keys().filter(is_options) {
                            fs::remove_file(self.dir.join(file)).unwrap();
                        }
                        fs::write(&self.path, &self.good).unwrap();
                    }
                    _ if self.path.exists() => fs::write(&self.path, &self.good).unwrap(),
                    _ => {}
                }
            }
        }
        let restored = read_only_rows(self.dir, self.name).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_same(
            &format!("{what}, corruption undone"),
            &restored,
            &expected(self.name),
        );
    }

    fn check_rows(&self, found: esker::Result<String>, read_only: esker::Result<String>) {
        let what = &self.what;
        let truncated = matches!(self.damage, Damage::Truncate(_));
        match (found, self.kind) {
            (Err(error), "wal" | "manifest" | "identity" | "current") => panic!("{what}: {error}"),
            (Err(error), _) => assert!(
                error.file().is_some() || self.kind == "options",
                "{what}: {error}"
            ),
            (Ok(found), "wal") if found != expected(self.name) => {
                let left = rows_behind(self.name, &self.path, self.damage).unwrap();
                assert_same(what, &found, &left);
            }
            (Ok(found), "manifest") if truncated => assert_same(what, &found, &read_only.unwrap()),
            // An option may determine how merges are resolved.
            (Ok(_), "options") => {}
            (Ok(found), _) => assert_same(what, &found, &expected(self.name)),
        }
    }
}

fn damages(rng: &mut TestRng, path: &Path, len: u64) -> [Damage; 2] {
    let covered = covered(path);
    let at = match covered.is_empty() {
        true => rng.u64(0..len),
        false => offset_in(rng, &covered),
    };
    [Damage::Flip(at, rng.u32(0..8)), Damage::Truncate(rng.u64(0..len))]
}

#[test]
fn what_was_good_is_not_lost() {
    let mut rng = testkit::rng();
    eprintln!("ESKER_SEED={}", rng.seed());
    for name in fixtures() {
        for kind in files_by_kind(&fixture(&name)).into_keys() {
            for which in 0..2 {
                let dir = copy(&name);
                let paths = files_by_kind(dir.path()).remove(kind).unwrap();
                let path = rng.pick(&paths).clone();
                let len = fs::metadata(&path).unwrap().len();
                if len == 0 {
                    continue;
                }
                let damage = damages(&mut rng, &path, len)[which];
                if matches!(damage, Damage::Flip(..)) && is_unprotected(&path) {
                    // A compaction turns wrong rows into an intact table.
                    continue;
                }
                Case::new(&name, dir.path(), kind, path, damage).check();
            }
        }
    }
}

#[test]
fn a_wal_that_is_cut_between_two_records_looks_whole() {
    let (name, file) = ("cfs_fv7_lz4", "000034.log");
    let records = PhysicalRecords::new(open(&fixture(name).join(file)));
    let ends: Vec<u64> = records.map(|record| record.unwrap().end()).collect();
    let cuts = ends.iter().step_by(4).flat_map(|end| [end - 1, *end]);
    for at in std::iter::once(0).chain(cuts) {
        let dir = copy(name);
        let path = dir.path().join(file);
        Case::new(name, dir.path(), "wal", path, Damage::Truncate(at)).check();
    }

    // The truncated WAL has rows up to number 7906. Two families have all later rows in their tables, and so
    // lose nothing; in the third, rows of the later WALs exist.
    let dir = copy(name);
    let path = dir.path().join(file);
    Case::new(name, dir.path(), "wal", path, Damage::Truncate(2261));
    let found = rows(&Db::open(&Options::default(), dir.path()).unwrap(), name).unwrap();
    let of = |rows: &str, family: &str| -> Vec<String> {
        let rows = rows.lines().filter(|row| row.starts_with(family));
        rows.map(str::to_owned).collect()
    };
    let good = expected(name);
    for family in ["default\t", "alpha\t"] {
        assert_eq!(of(&found, family), of(&good, family));
    }
    let (found, good) = (of(&found, "beta\t"), of(&good, "beta\t"));
    assert_ne!(found, good);
    // The very last row, 9200, belongs to the third family.
    let last = |row: &&String| row.contains("\t6B6579303030303030303032333736\t");
    assert!(good.iter().any(|row| last(&row)));
    assert_eq!(found.iter().find(last), good.iter().find(last));
}

/// Records what recovery dropped.
#[derive(Default)]
struct Dropped(Mutex<Vec<String>>);

impl EventListener for Dropped {
    fn on_event(&self, event: &Event) {
        if let Event::WalDropped { path, reason } = event {
            self.0.lock().unwrap().push(format!("{path}: {reason}"));
        }
    }
}

#[test]
fn rows_lost_with_a_damaged_wal_are_told() {
    let dir = copy("wal_only");
    let path = dir.path().join("000010.log");
    let damage = Damage::Flip(fs::metadata(&path).unwrap().len() / 2, 3);
    Case::new("wal_only", dir.path(), "wal", path.clone(), damage);
    let dropped = Arc::new(Dropped::default());
    let options = Options {
        listeners: vec![dropped.clone()],
        ..Options::default()
    };
    let db = Db::open(&options, dir.path()).unwrap();
    assert_same(
        "a prefix",
        &rows(&db, "wal_only").unwrap(),
        &rows_behind("wal_only", &path, damage).unwrap(),
    );
    assert!(
        dropped
            .0
            .lock()
            .unwrap()
            .iter()
            .any(|told| told.contains("000010.log"))
    );
}

/// Creates a database whose transactions may have two phases.
fn with_two_phases(dir: &Path) -> Db {
    let options = Options {
        create_if_missing: true,
        allow_2pc: true,
        ..Options::default()
    };
    Db::open(&options, dir).unwrap()
}

/// Readers see committed sections, whichever WAL they are in, and no prepared ones.
#[test]
fn prepared_transactions_are_looked_past() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("db");
    let db = with_two_phases(&dir);
    let write = WriteOptions::default();
    let batch = |key: &[u8]| {
        let mut batch = WriteBatch::new();
        batch.put(key, b"1");
        batch
    };
    for key in [&b"committed"[..], b"prepared"] {
        db.prepare(key, &batch(key), &write).unwrap();
    }
    db.put(b"flushed", b"1").unwrap();
    db.flush().unwrap();
    db.commit_prepared(b"committed", &WriteBatch::new(), &batch(b"committed"), &write)
        .unwrap();
    let expected = ["committed", "flushed"];
    let keys = |said: String| {
        let keys = expected.iter().chain(&["prepared"]);
        keys.filter(|key| said.contains(**key))
            .copied()
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(esker("scan", &dir, &[]).good()), expected);
    let salvaged = place.path().join("salvaged");
    let said = esker("salvage", &dir, &["--to", salvaged.to_str().unwrap()]);
    drop(said);
    let found = Db::open(&Options::default(), &salvaged).unwrap();
    for (key, there) in [
        (&b"committed"[..], true),
        (b"flushed", true),
        (b"prepared", false),
    ] {
        assert_eq!(found.get(key).unwrap().is_some(), there, "{}", key.escape_ascii());
    }
}

/// The marks of two-phase transactions are shown, by the names of `esker wal` and by those of `ldb`.
#[test]
fn wals_show_the_marks_of_transactions() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("db");
    let db = with_two_phases(&dir);
    let write = WriteOptions::default();
    let mut row = WriteBatch::new();
    row.put(b"k", b"v");
    for name in [&b"kept"[..], b"undone"] {
        db.prepare(name, &row, &write).unwrap();
    }
    db.commit_prepared(b"kept", &WriteBatch::new(), &row, &write)
        .unwrap();
    db.rollback_prepared(b"undone", &write).unwrap();
    let wal = db.get_current_wal_file().unwrap().path;
    let shown = esker("wal", &dir, &[]).good();
    let marks = [
        "BeginPrepare",
        "EndPrepare kept",
        "EndPrepare undone",
        "Commit kept",
        "Rollback undone",
    ];
    let places: Vec<Option<usize>> = marks.iter().map(|mark| shown.find(mark)).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{shown}"
    );
    let walfile = format!("--walfile={}", wal.display());
    let mut ldb = command();
    ldb.args(["ldb", "dump_wal", &walfile, "--print_value"]);
    let dumped = run(ldb).good();
    let marks = ["BEGIN_PREPARE", "END_PREPARE(0x", "COMMIT(0x", "ROLLBACK(0x"];
    let places: Vec<Option<usize>> = marks.iter().map(|mark| dumped.find(mark)).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{dumped}"
    );
}
