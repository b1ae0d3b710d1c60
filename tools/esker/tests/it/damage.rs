//! Copies of every kind of file with flipped bits and truncated ends, inspected from outside.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::filename::{self, FileKind};
use base::{InternalComparator, UserComparator};
use blob::BlobFile;
use codec::checksum::ChecksumType;
use sst::format::FOOTER_LEN;
use sst::{Table, TableReadOptions};
use testkit::TestRng;
use vfs::{FileSystem, OpenOptions, PosixFs, RandomAccessFile};
use wal::dump::{PhysicalRecords, RecordState};

use crate::common::*;

/// A modification of a file.
#[derive(Clone, Copy, Debug)]
pub enum Damage {
    /// Flips the bit of this number at this offset.
    Flip(u64, u32),
    /// Truncates the file here.
    Truncate(u64),
}

impl Damage {
    pub fn apply(self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        match self {
            Damage::Flip(at, bit) => bytes[at as usize] ^= 1 << bit,
            Damage::Truncate(len) => bytes.truncate(len as usize),
        }
        bytes
    }
}

/// The files of `dir` by kind.
pub fn files_by_kind(dir: &Path) -> BTreeMap<&'static str, Vec<PathBuf>> {
    let mut kinds: BTreeMap<&str, Vec<PathBuf>> = BTreeMap::new();
    for name in listing(dir).into_keys() {
        let kind = match filename::parse(&name).unwrap() {
            FileKind::Wal(_) => "wal",
            FileKind::Table(_) => "table",
            FileKind::Blob(_) => "blob",
            FileKind::Manifest(_) => "manifest",
            FileKind::Options(_) => "options",
            FileKind::Current => "current",
            FileKind::Identity => "identity",
            FileKind::Temp | FileKind::Lock | FileKind::InfoLog => panic!("{name} in a fixture"),
        };
        kinds.entry(kind).or_default().push(dir.join(name));
    }
    kinds
}

pub fn open(path: &Path) -> Arc<dyn RandomAccessFile> {
    PosixFs::new().open_random(path, &OpenOptions::default()).unwrap()
}

/// The bytes of a file that a checksum covers, checksums included.
pub fn covered(path: &Path) -> Vec<Range<u64>> {
    let file = open(path);
    let name = path.file_name().unwrap().to_str().unwrap();
    match filename::parse(name).unwrap() {
        FileKind::Wal(number) => records(file, Some(number)),
        FileKind::Manifest(_) => records(file, None),
        FileKind::Table(_) => blocks(file),
        FileKind::Blob(_) => {
            let end = file.len();
            let blobs = BlobFile::open(file).unwrap();
            assert!(blobs.footer().is_some(), "{name}");
            let mut records = blobs.records();
            let first = records.next().unwrap().unwrap().offset;
            std::iter::once(first..end).collect()
        }
        _ => Vec::new(),
    }
}

fn records(file: Arc<dyn RandomAccessFile>, number: Option<u64>) -> Vec<Range<u64>> {
    let records = PhysicalRecords::new(file).map(Result::unwrap);
    records
        .take_while(|record| {
            record
                .log_number
                .is_none_or(|found| Some(u64::from(found)) == number)
        })
        .filter(|record| record.state == RecordState::Good)
        .map(|record| record.offset..record.end())
        .collect()
}

/// True for a table whose writer was configured without checksums: its results with corruption are undefined.
pub fn is_unprotected(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sst") && covered(path).is_empty()
}

/// The length of a block's trailer.
const TRAILER: u64 = 5;

fn blocks(file: Arc<dyn RandomAccessFile>) -> Vec<Range<u64>> {
    let end = file.len();
    let options = TableReadOptions::new(InternalComparator::new(UserComparator::Bytewise));
    let table = Table::open(file, options).unwrap();
    let footer = sst::dump::footer(&table);
    if footer.checksum == ChecksumType::None {
        return Vec::new();
    }
    let mut covered = Vec::new();
    // Ingestion in RocksDB's old way writes the sequence number into the properties without changing their
    // checksum.
    let patched = table.properties().external_sst_file_global_seqno.is_some();
    let verified = table.verify(0, &mut |block| {
        if !(patched && block.what == "rocksdb.properties") {
            covered.push(block.offset..block.offset + block.size + TRAILER);
        }
    });
    verified.unwrap();
    if footer.index.is_none() {
        covered.push(end - FOOTER_LEN as u64..end);
    }
    covered
}

/// An offset in `ranges`, with equal probability for each range, so that small ones are met too.
pub fn offset_in(rng: &mut TestRng, ranges: &[Range<u64>]) -> u64 {
    let range = rng.pick(ranges).clone();
    rng.u64(range)
}

/// Two flips and a truncation for a file of `len` bytes.
fn damages(rng: &mut TestRng, path: &Path, len: u64) -> Vec<Damage> {
    let covered = covered(path);
    let mut damages = vec![
        Damage::Flip(rng.u64(0..len), rng.u32(0..8)),
        Damage::Truncate(rng.u64(0..len)),
    ];
    if !covered.is_empty() {
        damages.push(Damage::Flip(offset_in(rng, &covered), rng.u32(0..8)));
    }
    damages
}

#[test]
fn damage_is_found_and_named_and_reading_changes_nothing() {
    let mut rng = testkit::rng();
    eprintln!("ESKER_SEED={}", rng.seed());
    for name in fixtures() {
        let dir = copy(&name);
        for (kind, paths) in files_by_kind(dir.path()) {
            let path = rng.pick(&paths).clone();
            let good = fs::read(&path).unwrap();
            if good.is_empty() {
                continue;
            }
            for damage in damages(&mut rng, &path, good.len() as u64) {
                let what = format!("{name} {} {damage:?}", path.file_name().unwrap().display());
                let (is_covered, kind) = match damage {
                    Damage::Flip(..) if is_unprotected(&path) => (false, "unprotected"),
                    Damage::Flip(at, _) => (covered(&path).iter().any(|range| range.contains(&at)), kind),
                    Damage::Truncate(_) => (false, kind),
                };
                fs::write(&path, damage.apply(&good)).unwrap();
                look_at_damage(&what, &name, dir.path(), kind, &path, damage, is_covered);
                fs::write(&path, &good).unwrap();
            }
        }
        assert_same(&name, &scan(&name, dir.path()).good(), &expected(&name));
    }
}

/// Checks the results of `verify` and `scan` for a database with one corrupt file.
fn look_at_damage(
    what: &str,
    name: &str,
    dir: &Path,
    kind: &str,
    path: &Path,
    damage: Damage,
    is_covered: bool,
) {
    let file = path.file_name().unwrap().to_str().unwrap();
    let before = listing(dir);
    let verified = esker("verify", dir, &[]);
    let scanned = scan(name, dir);
    // The dumps show what they can. Each run checks that they end, with or without an error.
    match kind {
        "table" | "unprotected" => drop(look("sst", path, &["--all"])),
        "manifest" => {
            look("manifest", path, &[]);
            esker("lsm", dir, &[]);
        }
        "wal" => drop(look("wal", path, &["--physical"])),
        "current" => drop(esker("lsm", dir, &[])),
        _ => {}
    }
    assert_eq!(listing(dir), before, "{what}");
    let names_it = |text: &str| text.contains(file) && text.contains("offset ");
    if is_covered {
        assert!(names_it(&verified.stdout), "{what}: {}", verified.stdout);
        assert!(names_it(&verified.stderr), "{what}: {}", verified.stderr);
    }
    let cut_blocks = matches!(damage, Damage::Truncate(_)) && matches!(kind, "table" | "blob");
    if cut_blocks {
        assert!(names_it(&verified.stdout), "{what}: {}", verified.stdout);
    }
    match kind {
        // Neither an OPTIONS file nor an unprotected file has a checksum, and options determine how merges
        // are resolved.
        "options" | "unprotected" => {}
        "identity" => assert_same(what, &scanned.good(), &expected(name)),
        "current" if scanned.status == 0 => assert_same(what, &scanned.stdout, &expected(name)),
        "current" => assert!(
            scanned.stderr.contains("CURRENT") || scanned.stderr.contains("MANIFEST"),
            "{what}: {}",
            scanned.stderr
        ),
        // A file truncated between two records is as intact as one that was never longer.
        "wal" | "manifest"
            if scanned.status == 0 && verified.status == 0 && matches!(damage, Damage::Truncate(_)) => {}
        _ if scanned.status == 0 => {
            assert!(!cut_blocks, "{what}");
            assert_same(what, &scanned.stdout, &expected(name));
        }
        // The state in a truncated MANIFEST may not match the existing files.
        "manifest" if matches!(damage, Damage::Truncate(_)) => {}
        _ => assert!(names_it(&scanned.stderr), "{what}: {}", scanned.stderr),
    }
}

/// A flip of any single byte of a MANIFEST, of a WAL's first records and of a small table is detected.
#[test]
fn no_covered_byte_is_left_out() {
    let mut rng = testkit::rng();
    for (name, file, limit) in [
        ("wide_columns", "MANIFEST-000005", u64::MAX),
        ("wide_columns", "000008.log", 300),
        ("wal_recycled_zstd", "000057.log", 200),
        ("wal_recycled_zstd", "000054.sst", 400),
        ("range_deletes", "000109.sst", 400),
        ("blob_files", "000064.blob", 200),
    ] {
        let dir = tempfile::TempDir::new().unwrap();
        let place = dir.path().join("db");
        fs::create_dir(&place).unwrap();
        let path = place.join(file);
        fs::copy(fixture(name).join(file), &path).unwrap();
        fs::copy(fixture(name).join("CURRENT"), place.join("CURRENT")).unwrap();
        if !file.starts_with("MANIFEST") {
            fs::copy(
                fixture(name).join("MANIFEST-000005"),
                place.join("MANIFEST-000005"),
            )
            .unwrap();
        }
        let good = fs::read(&path).unwrap();
        let offsets: Vec<u64> = covered(&path).into_iter().flatten().collect();
        // All bytes of a short file are tested, and a sample of the bytes of a long one.
        let share = (offsets.len() as u64).div_ceil(limit);
        for at in offsets {
            if rng.u64(0..share) != 0 {
                continue;
            }
            fs::write(&path, Damage::Flip(at, rng.u32(0..8)).apply(&good)).unwrap();
            let verified = esker("verify", &place, &["--quiet"]);
            let named = verified
                .stdout
                .lines()
                .any(|line| line.contains(file) && line.contains(", offset "));
            assert!(named, "{name} {file} {at}: {}", verified.stdout);
        }
    }
}

/// A WAL in the middle is missing, and the MANIFEST does not record it: the next WAL reveals the loss.
#[test]
fn a_missing_wal_is_named() {
    let place = tempfile::TempDir::new().unwrap();
    let dir = place.path().join("db");
    let options = esker::Options {
        create_if_missing: true,
        ..esker::Options::default()
    };
    let db = esker::Db::open(&options, &dir).unwrap();
    for (nth, key) in ["a", "b", "c"].into_iter().enumerate() {
        // A checkpoint begins a WAL and flushes nothing.
        let with_wals = esker::CheckpointOptions {
            log_size_for_flush: u64::MAX,
        };
        let copy = place.path().join(format!("copy{nth}"));
        db.create_checkpoint(copy, &with_wals).unwrap();
        db.put(key.as_bytes(), b"value").unwrap();
    }
    db.close().unwrap();
    assert!(esker("verify", &dir, &[]).good().contains("all good"));
    let names = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let mut wals: Vec<PathBuf> = names
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    wals.sort();
    let [.., missing, last] = &wals[..] else {
        panic!("{wals:?}");
    };
    let (held, name) = (
        fs::read(missing).unwrap(),
        missing.file_name().unwrap().to_str().unwrap(),
    );
    fs::remove_file(missing).unwrap();
    let said = esker("verify", &dir, &[]).bad();
    let behind = last.file_name().unwrap().to_str().unwrap();
    let expected = format!("Missing WAL {name}: {behind} follows it");
    assert!(said.contains(&expected), "{said}");
    fs::write(missing, held).unwrap();
    // The last WAL can be missing unnoticed, because no later WAL records its size.
    fs::remove_file(last).unwrap();
    assert!(esker("verify", &dir, &[]).good().contains("all good"));
}
