//! A bit flips between the disk and the reader: at every read in turn, and in every way of reading. Checksums
//! detect it.

use std::path::Path;
use std::sync::Arc;

use dbtest::by_hand::everything;
use dbtest::events::Recorder;
use dbtest::small::{self, DIR, OTHER, SmallDatabase};
use esker::{CheckpointOptions, Db, Event, FileChecksumGenFactory, Options, Result};
use tempfile::TempDir;
use vfs::{Action, FaultFs, FileSystem, MemFs, Op, PosixFs, Rule};

/// Reads, flushes, rewrites every table, copies: all operations that read a file.
fn work(options: &Options, right: &dyn Fn(&small::Rows)) -> Result<()> {
    let db = Db::open(options, DIR)?;
    right(&small::rows(&db)?);
    let other = db.column_family(OTHER).expect("it is there");
    let default = db.default_column_family();
    db.flush_cf(&[default.clone(), other.clone()])?;
    let whole = everything();
    for family in [&default, &other] {
        db.compact_range_cf_opt(family, None, None, &whole)?;
    }
    right(&small::rows(&db)?);
    db.create_checkpoint("/checkpoint", &CheckpointOptions::default())?;
    db.verify_checksum()?;
    db.verify_file_checksums()?;
    db.close()
}

/// Flips a bit at each read in turn of the files whose path contains `part`; returns the numbers of detected
/// and of harmless flips.
fn turn_at_each_read(whole: &SmallDatabase, part: &str, paranoid: bool) -> (u64, u64) {
    let checksums = FileChecksumGenFactory::Crc32c;
    let (mut noticed, mut harmless) = (0, 0);
    for at in 0.. {
        let mem = MemFs::new();
        whole.put(&mem, Path::new(DIR)).unwrap();
        let faults = FaultFs::new(Arc::new(mem.clone()));
        let rule = Rule::new(Action::BitFlip).on([Op::Read]).path_contains(part);
        let rule = faults.add(rule.nth(at).with_seed(at));
        // Recovery reports that it skipped rows of a WAL.
        let dropped = Recorder::selected(|event| matches!(event, Event::WalDropped { .. }));
        let options = |fs: Arc<dyn FileSystem>| {
            let mut options = small::options(fs, checksums);
            options.listeners = vec![dropped.clone()];
            options.column_family.paranoid_file_checks = paranoid;
            for family in options.column_families.values_mut() {
                family.paranoid_file_checks = paranoid;
            }
            options
        };
        let right = |rows: &small::Rows| {
            let good = match dropped.count() > 0 {
                true => whole.states.contains(rows),
                false => rows == whole.rows(),
            };
            assert!(good, "read {at} of {part}: wrong rows");
        };
        let worked = work(&options(Arc::new(faults.clone())), &right);
        if faults.fired(rule) == 0 {
            assert!(worked.is_ok() && at > 0, "{at} reads of {part}: {worked:?}");
            return (noticed, harmless);
        }
        match worked {
            Err(error) => {
                assert!(error.file().is_some(), "read {at} of {part}: {error}");
                noticed += 1;
            }
            Ok(()) if dropped.count() > 0 => noticed += 1,
            Ok(()) => harmless += 1,
        }
        // The bits were only flipped in reads: the disk itself is intact.
        let db = Db::open(&options(Arc::new(mem)), DIR).unwrap();
        right(&small::rows(&db).unwrap());
    }
    unreachable!("a script reads so often and no more")
}

#[test]
fn a_bit_turned_at_any_read_is_noticed() {
    let whole = SmallDatabase::make(FileChecksumGenFactory::Crc32c).unwrap();
    for paranoid in [false, true] {
        for part in [".sst", ".blob", ".log", "MANIFEST-", "CURRENT"] {
            let (noticed, harmless) = turn_at_each_read(&whole, part, paranoid);
            println!("{part}: {noticed} noticed, {harmless} harmless");
            // Opening a table reads its last 8 KiB, which include data blocks that it does not use. An open
            // reads CURRENT and both ends of the MANIFEST once more, to detect later changes.
            assert!(
                noticed > 0 && (harmless == 0 || [".sst", "MANIFEST-", "CURRENT"].contains(&part)),
                "{part}: {noticed} {harmless}"
            );
        }
    }
}

/// Flips a bit of a file on disk and reads everything.
fn flipped_on_disk(fs: &dyn FileSystem, dir: &Path, whole: &SmallDatabase, options: &Options) {
    let mut rng = testkit::rng();
    for (name, good) in &whole.files {
        if !name.ends_with(".sst") && !name.ends_with(".blob") {
            continue;
        }
        for _ in 0..60 {
            let (at, bit) = (rng.usize(..good.len()), rng.u32(..8));
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            fs.write_file(&dir.join(name), &bad).unwrap();
            let read = Db::open_read_only(options, dir).and_then(|db| {
                // The rows are read before any verification.
                let rows = small::rows(&db);
                let verified = db.verify_file_checksums();
                assert!(verified.is_err(), "{name} byte {at} bit {bit} is not found");
                rows
            });
            if let Ok(rows) = read {
                assert_eq!(rows, *whole.rows(), "{name} byte {at} bit {bit}");
            }
        }
        fs.write_file(&dir.join(name), good).unwrap();
    }
    let db = Db::open_read_only(options, dir).unwrap();
    assert_eq!(small::rows(&db).unwrap(), *whole.rows());
}

#[test]
fn every_way_of_reading_verifies() {
    let checksums = FileChecksumGenFactory::Crc32c;
    let whole = SmallDatabase::make(checksums).unwrap();
    let place = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(PosixFs::new());
    whole.put(&*fs, place.path()).unwrap();
    for (mmap, direct) in [(false, false), (true, false), (false, true)] {
        let mut options = small::options(fs.clone(), checksums);
        options.allow_mmap_reads = mmap;
        options.use_direct_reads = direct;
        match Db::open_read_only(&options, place.path()) {
            // The file system does not support O_DIRECT.
            Err(error) if direct && error.kind() == esker::ErrorKind::NotSupported => continue,
            opened => drop(opened.unwrap()),
        }
        flipped_on_disk(&*fs, place.path(), &whole, &options);
    }
}
