//! `wal_ttl_seconds` and `wal_size_limit_mb`: WALs that no recovery needs move to `archive`, and go by age
//! and size.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::filename::{self, FileKind};
use dbtest::by_hand::flush;
use dbtest::crash::images_of_changes;
use esker::{CheckpointOptions, Db, ManualClock, Options, RecoveryMode};
use vfs::{FaultFs, FileSystem, LogFs, MemFs, PosixFs};

use crate::rocksdb::interop::ldb;

const DIR: &str = "/db";
/// A time to live in seconds that no WAL exceeds, by the test's clock or by the machine's.
const AGES: u64 = 1 << 40;

fn options(fs: Arc<dyn FileSystem>, ttl: u64, megabytes: u64) -> Options {
    let mut options = Options {
        create_if_missing: true,
        wal_ttl_seconds: ttl,
        wal_size_limit_mb: megabytes,
        fs,
        ..Options::default()
    };
    options.column_family.disable_auto_compactions = true;
    options
}

/// The numbers of the WALs in `dir`, ascending.
fn wals(fs: &dyn FileSystem, dir: &Path) -> Vec<u64> {
    if !fs.exists(dir).unwrap() {
        return Vec::new();
    }
    let names = fs.list(dir).unwrap();
    let mut numbers: Vec<u64> = names
        .iter()
        .filter_map(|name| match filename::parse(name) {
            Some(FileKind::Wal(number)) => Some(number),
            _ => None,
        })
        .collect();
    numbers.sort_unstable();
    numbers
}

fn archived(fs: &dyn FileSystem) -> Vec<u64> {
    wals(fs, &Path::new(DIR).join("archive"))
}

/// Writes a row of `bytes` bytes and has its WAL become obsolete.
fn round(db: &Db, key: u64, bytes: usize) {
    db.put(format!("{key:06}").as_bytes(), vec![b'v'; bytes]).unwrap();
    flush(db);
    db.wait_for_purge().unwrap();
}

#[test]
fn obsolete_wals_move_and_go_when_they_are_too_old() {
    let clock = Arc::new(ManualClock::default());
    let fs: Arc<dyn FileSystem> = Arc::new(MemFs::with_clock(clock.clone()));
    let options = Options {
        clock: clock.clone(),
        ..options(fs.clone(), 100, 0)
    };
    let db = Db::open(&options, DIR).unwrap();
    let first = wals(&*fs, Path::new(DIR));
    round(&db, 1, 10);
    clock.advance(Duration::from_secs(60));
    round(&db, 2, 10);
    let found = archived(&*fs);
    assert!(found.len() == 2 && found[..1] == first, "{found:?}");
    assert!(
        wals(&*fs, Path::new(DIR))
            .iter()
            .all(|live| !found.contains(live))
    );
    // The first archived WAL is older than 100 seconds now, and the second is not.
    clock.advance(Duration::from_secs(50));
    round(&db, 3, 10);
    let left = archived(&*fs);
    assert!(left.len() == 2 && left[0] == found[1], "{left:?}");
    db.close().unwrap();
    // After the clock was set back no WAL counts as old, and an open moves the WALs that recovery has read.
    let back = Arc::new(ManualClock::default());
    let live = wals(&*fs, Path::new(DIR));
    let db = Db::open(
        &Options {
            clock: back,
            ..options.clone()
        },
        DIR,
    )
    .unwrap();
    db.wait_for_purge().unwrap();
    let now = archived(&*fs);
    assert_eq!(now, [&left[..], &live[..]].concat());
    drop(db);
    // Without the options of the archive obsolete WALs are deleted, and archived WALs stay.
    let plain = self::options(fs.clone(), 0, 0);
    let db = Db::open(&plain, DIR).unwrap();
    round(&db, 4, 10);
    assert_eq!(archived(&*fs), now);
    assert_eq!(wals(&*fs, Path::new(DIR)).len(), 1);
    drop(db);
    Db::destroy(&plain, DIR).unwrap();
    assert!(!fs.exists(Path::new(DIR)).unwrap());
}

#[test]
fn the_oldest_go_when_they_are_too_many() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    let db = Db::open(&options(fs.clone(), 0, 1), DIR).unwrap();
    for key in 0..6 {
        round(&db, key, 300_000);
        let kept = archived(&*fs);
        assert_eq!(kept.len() as u64, (key + 1).min(3), "{kept:?}");
        let sizes = kept.iter().map(|&number| {
            let path = filename::wal(&Path::new(DIR).join("archive"), number);
            fs.size(&path).unwrap()
        });
        assert!(sizes.sum::<u64>() <= 1 << 20);
    }
}

#[test]
fn no_wal_is_written_over_while_they_are_archived() {
    let mem: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    let log = LogFs::new(mem.clone(), DIR);
    let options = Options {
        recycle_log_file_num: 2,
        wal_recovery_mode: RecoveryMode::PointInTime,
        ..options(Arc::new(log.clone()), AGES, 0)
    };
    let db = Db::open(&options, DIR).unwrap();
    (0..5).for_each(|key| round(&db, key, 10));
    assert!(!log.take().lines().any(|line| line.starts_with("reuse")));
    assert_eq!(archived(&*mem).len(), 5);
}

#[test]
fn a_checkpoint_has_no_archive_and_the_own_directory_of_wals_has_it() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
    let options = Options {
        wal_dir: "/wals".to_owned(),
        ..options(fs.clone(), AGES, 0)
    };
    let db = Db::open(&options, DIR).unwrap();
    round(&db, 1, 10);
    assert_eq!(wals(&*fs, Path::new("/wals/archive")).len(), 1);
    assert!(archived(&*fs).is_empty());
    db.create_checkpoint(Path::new("/copy"), &CheckpointOptions::default())
        .unwrap();
    assert!(!fs.exists(Path::new("/copy/archive")).unwrap());
    drop(db);
    Db::destroy(&options, DIR).unwrap();
    assert!(!fs.exists(Path::new("/wals")).unwrap());
}

/// Whatever state a crash leaves of the move of a WAL to the archive, no row is lost, each WAL has one name,
/// and the next open moves the rest.
#[test]
fn a_crash_between_moves_loses_nothing() {
    let mem = MemFs::new();
    let faults = FaultFs::new(Arc::new(mem.clone()));
    let ((), images) = images_of_changes(&mem, &faults, 7, || {
        let db = Db::open(&options(Arc::new(faults.clone()), AGES, 0), DIR).unwrap();
        for key in 0..4 {
            round(&db, key, 10);
        }
        db.close().unwrap();
    });
    let (mut moves_left, mut unread) = (0, 0);
    for image in images.into_iter().flatten().step_by(3) {
        let fs: Arc<dyn FileSystem> = Arc::new(image);
        if !fs.exists(&filename::current(Path::new(DIR))).unwrap() {
            continue;
        }
        let (live, before) = (wals(&*fs, Path::new(DIR)), archived(&*fs));
        assert!(
            live.iter().all(|number| !before.contains(number)),
            "{live:?} {before:?}"
        );
        moves_left += usize::from(live.len() > 1);
        let db = Db::open(&options(fs.clone(), AGES, 0), DIR).unwrap();
        db.wait_for_purge().unwrap();
        let is_there = |key: u32| db.get(format!("{key:06}").as_bytes()).unwrap().is_some();
        let there: Vec<bool> = (0..4).map(is_there).collect();
        assert!(there.is_sorted_by(|left, right| left >= right), "{there:?}");
        assert_eq!(wals(&*fs, Path::new(DIR)).len(), 1);
        let after = archived(&*fs);
        // Rows that recovery did not read are not archived: they are not in the database.
        let log = String::from_utf8(fs.read_file(&Path::new(DIR).join("LOG")).unwrap()).unwrap();
        let was_read = |number: &u64| {
            let passed_over = format!("{number:06}.log: it does not continue where the previous WAL ends");
            !log.contains(&passed_over)
        };
        unread += live.iter().filter(|number| !was_read(number)).count();
        let read = before.into_iter().chain(live.into_iter().filter(was_read));
        assert!(after.iter().copied().eq(read), "{after:?}: {log}");
    }
    assert!(moves_left > 5 && unread > 0, "{moves_left} {unread}");
}

/// RocksDB keeps its archive in the same place, under the same options.
#[test]
fn rocksdb_reads_the_options_and_the_archived_wals() {
    let dir = tempfile::tempdir().unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(PosixFs::new());
    let db = Db::open(&options(fs.clone(), 1_000_000, 64), dir.path()).unwrap();
    (0..3).for_each(|key| round(&db, key, 10));
    db.close().unwrap();
    let kept = wals(&*fs, &dir.path().join("archive"));
    assert_eq!(kept.len(), 3);
    let wal = filename::wal(&dir.path().join("archive"), kept[0]);
    let walfile = format!("--walfile={}", wal.display());
    let told = ldb(dir.path(), &["dump_wal", &walfile, "--print_value"]);
    assert!(told.contains("PUT(0)"), "{told}");
    let told = ldb(dir.path(), &["scan"]);
    assert_eq!(
        told.lines().filter(|line| line.starts_with("0000")).count(),
        3,
        "{told}"
    );
    let options_files = fs.list(dir.path()).unwrap();
    let newest = options_files
        .iter()
        .filter(|name| name.starts_with("OPTIONS-"))
        .max()
        .unwrap();
    let text = fs.read_file(&dir.path().join(newest)).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains("WAL_ttl_seconds=1000000\n") && text.contains("WAL_size_limit_MB=64\n"),
        "{text}"
    );
}
