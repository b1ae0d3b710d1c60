//! One bit of every byte of a small database is flipped, one byte at a time: some reader must detect it, and
//! no reader may get a wrong row.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use base::filename::{self, FileKind};
use dbtest::events::Recorder;
use dbtest::small::{self, DIR, SmallDatabase};
use esker::{Db, Error, Event, FileChecksumGenFactory, Options, RecoveryMode};
use vfs::{FileSystem, MemFs};

/// The operation that detected a flip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Finder {
    /// The open failed.
    Open,
    /// The open succeeded and reported to its listeners that part of a WAL was dropped.
    OpenDropped,
    /// A call of `Db::verify_checksum` or `Db::verify_file_checksums`.
    Verify,
    /// A read detects the flip, after the open and the verification have detected nothing.
    Read,
    /// No operation: the byte is not used.
    Nobody,
}

/// The reason why a flip at `at` of a file need not be detected; `None` if it must be.
fn unused(name: &str, bytes: &[u8], at: usize, checksums: bool) -> Option<&'static str> {
    match filename::parse(name)? {
        FileKind::Identity => Some("the MANIFEST holds the id; esker verify compares them"),
        FileKind::Options(_) => Some("text for people and tools; the options given to open count"),
        FileKind::Table(_) if !checksums => {
            // The footer: checksum type, two handles, zeros up to byte 41, version, magic number.
            let at_version = bytes.len() - sst::format::FOOTER_LEN + 41;
            (at == at_version && bytes[at] < 6).then_some("versions 2 to 5 are read alike")
        }
        _ => None,
    }
}

/// The number of detections, by kind of file and by operation.
#[derive(Default)]
struct Tally(BTreeMap<(&'static str, Finder), u32>);

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|((kind, finder), count)| writeln!(f, "{kind:10} {finder:?}: {count}"))
    }
}

fn kind(name: &str) -> &'static str {
    match filename::parse(name).unwrap_or_else(|| panic!("{name} is no file of a database")) {
        FileKind::Wal(_) => "WAL",
        FileKind::Table(_) => "table",
        FileKind::Blob(_) => "blob file",
        FileKind::Manifest(_) => "MANIFEST",
        FileKind::Options(_) => "OPTIONS",
        FileKind::Current => "CURRENT",
        FileKind::Identity => "IDENTITY",
        FileKind::Temp | FileKind::Lock | FileKind::InfoLog => panic!("{name} in a closed database"),
    }
}

/// Opens the database in `fs`, reads all of it, and returns the operation that detected a flip. Panics for a
/// wrong row.
fn look(what: &str, whole: &SmallDatabase, options: &Options, in_wal: bool, writable: bool) -> Finder {
    let dropped = Recorder::selected(|event| matches!(event, Event::WalDropped { .. }));
    let options = Options {
        listeners: vec![dropped.clone()],
        ..options.clone()
    };
    let opened = match writable {
        true => Db::open(&options, DIR),
        false => Db::open_read_only(&options, DIR),
    };
    let db = match opened {
        Ok(db) => db,
        Err(error) => return reported(what, &error, Finder::Open),
    };
    let dropped = dropped.count() > 0;
    let verified = db
        .verify_checksum()
        .and_then(|()| match options.file_checksum_gen_factory {
            FileChecksumGenFactory::None => Ok(()),
            FileChecksumGenFactory::Crc32c => db.verify_file_checksums(),
        });
    let verified = verified.map_err(|error| reported(what, &error, Finder::Verify));
    let read = match small::rows(&db) {
        Ok(rows) => {
            let good = match dropped && in_wal {
                true => whole.states.contains(&rows),
                false => rows == *whole.rows(),
            };
            assert!(good, "{what}: wrong rows");
            Ok(())
        }
        Err(error) => Err(reported(what, &error, Finder::Read)),
    };
    drop(db);
    match (verified, dropped, read) {
        (Err(finder), ..) => finder,
        (_, true, _) => Finder::OpenDropped,
        (_, _, Err(finder)) => finder,
        _ => Finder::Nobody,
    }
}

/// Checks that an error names its file.
fn reported(what: &str, error: &Error, finder: Finder) -> Finder {
    assert!(error.file().is_some(), "{what}: {error} names no file");
    finder
}

/// The bits of a byte to flip: a random one, or all if the environment asks for it, and in a WAL, which is
/// short.
fn bits(rng: &mut testkit::TestRng, in_wal: bool) -> Vec<u32> {
    match std::env::var_os("ESKER_ALL_BITS") {
        None if !in_wal => vec![rng.u32(0..8)],
        _ => (0..8).collect(),
    }
}

/// The distance between tested bytes: tables, blob files and OPTIONS, whose text no open depends on, have most
/// of the bytes, and not all are tested unless the environment asks for all bits.
fn stride(name: &str) -> usize {
    match kind(name) {
        _ if std::env::var_os("ESKER_ALL_BITS").is_some() => 1,
        "table" | "blob file" => 3,
        "OPTIONS" => 16,
        _ => 1,
    }
}

/// Flips a bit of every byte of the files that `flipped` takes by their kinds.
fn every_byte(checksums: FileChecksumGenFactory, flipped: impl Fn(&str) -> bool) {
    let mut rng = testkit::rng();
    eprintln!("ESKER_SEED={}", rng.seed());
    let whole = SmallDatabase::make(checksums).unwrap();
    let fs = MemFs::new();
    let dir = Path::new(DIR);
    whole.put(&fs, dir).unwrap();
    let options = small::options(Arc::new(fs.clone()), checksums);
    let strict = Options {
        wal_recovery_mode: RecoveryMode::AbsoluteConsistency,
        ..options.clone()
    };
    assert_eq!(look("whole", &whole, &options, false, false), Finder::Nobody);
    let mut tally = Tally::default();
    let mut kinds = BTreeMap::new();
    for (name, good) in &whole.files {
        *kinds.entry(kind(name)).or_insert(0) += 1;
        if !flipped(kind(name)) {
            continue;
        }
        let path = dir.join(name);
        let in_wal = kind(name) == "WAL";
        let stride = stride(name);
        for at in (rng.usize(..stride)..good.len()).step_by(stride) {
            for bit in bits(&mut rng, in_wal) {
                let what = format!("{name} byte {at} bit {bit}");
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                fs.write_file(&path, &bad).unwrap();
                let finder = look(&what, &whole, &options, in_wal, false);
                *tally.0.entry((kind(name), finder)).or_insert(0) += 1;
                let may_pass = unused(name, good, at, checksums != FileChecksumGenFactory::None);
                assert!(
                    finder != Finder::Nobody || may_pass.is_some(),
                    "{what}: the flip was not detected\n{tally}"
                );
                if in_wal {
                    let finder = look(&what, &whole, &strict, true, false);
                    assert_eq!(finder, Finder::Open, "{what}: absolute consistency");
                }
                // An open for writing, which recovers in another way than one for reading, gets a copy of the
                // files, because it changes them.
                if kind(name) != "table" || rng.one_in(16) {
                    let copy = MemFs::new();
                    for (name, _) in &whole.files {
                        let bytes = fs.read_file(&dir.join(name)).unwrap();
                        copy.create_dir_all(dir).unwrap();
                        copy.write_file(&dir.join(name), &bytes).unwrap();
                    }
                    let options = Options {
                        fs: Arc::new(copy),
                        ..options.clone()
                    };
                    let finder = look(&what, &whole, &options, in_wal, true);
                    assert!(
                        finder != Finder::Nobody || may_pass.is_some(),
                        "{what}: the flip was not detected by an open for writing"
                    );
                }
            }
        }
        fs.write_file(&path, good).unwrap();
    }
    assert_eq!(kinds.len(), 7, "{kinds:?}");
    assert!(kinds["table"] > 4, "{kinds:?}");
    println!("{tally}");
}

#[test]
fn a_flip_of_any_byte_is_noticed() {
    every_byte(FileChecksumGenFactory::None, |_| true);
}

#[test]
fn with_checksums_of_whole_files_no_byte_of_a_table_is_unused() {
    // The files without such checksums are those of the other test.
    every_byte(FileChecksumGenFactory::Crc32c, |kind| {
        matches!(kind, "table" | "blob file" | "MANIFEST")
    });
}
