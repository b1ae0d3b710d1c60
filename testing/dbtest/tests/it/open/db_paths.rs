//! Tables in several directories, `db_paths` and `cf_paths`: the placement by compactions, and lookups of the
//! files in all of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreOptions};
use base::env::Rng;
use esker::{
    BlobGarbageCollectionPolicy, BottommostLevelCompaction, CheckpointOptions, ColumnFamily,
    ColumnFamilyOptions, CompactRangeOptions, CompressionType, Db, DbPath, ErrorKind, Options,
};
use tempfile::TempDir;
use testkit::oracle;
use vfs::{FileSystem, MemFs, UnsyncedPolicy};

const KB: u64 = 1 << 10;

/// Directories `/path0` and so on, with the given target sizes in bytes.
fn paths(home: &Path, targets: &[u64]) -> Vec<DbPath> {
    let numbered = targets.iter().enumerate();
    numbered
        .map(|(at, &target)| DbPath::new(home.join(format!("path{at}")), target))
        .collect()
}

/// Options with 64 KiB each for L0 and L1, and 256 KiB for L2.
fn options(fs: Arc<dyn FileSystem>, home: &Path, targets: &[u64]) -> Options {
    Options {
        create_if_missing: true,
        db_paths: paths(home, targets),
        column_family: ColumnFamilyOptions {
            write_buffer_size: 64 << 10,
            level0_file_num_compaction_trigger: 2,
            target_file_size_base: 16 << 10,
            max_bytes_for_level_base: 64 << 10,
            max_bytes_for_level_multiplier: 4.0,
            num_levels: 4,
            compression: CompressionType::None,
            ..ColumnFamilyOptions::default()
        },
        fs,
        ..Options::default()
    }
}

fn key(number: u64) -> Vec<u8> {
    format!("{:08}", number * 7919 % 100_000).into_bytes()
}

fn write(db: &Db, family: &ColumnFamily, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let value = [&number.to_le_bytes()[..], &[b'v'; 400]].concat();
        db.put_cf(family, key(number), &value).unwrap();
    }
}

fn check(db: &Db, family: &ColumnFamily, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let value = db.get_cf(family, key(number)).unwrap();
        assert_eq!(value.unwrap()[..8], number.to_le_bytes(), "{number}");
    }
}

/// The level of each file, and the number of its directory.
fn places(db: &Db, home: &Path) -> Vec<(usize, usize)> {
    let files = db.live_files();
    let of = |path: &PathBuf| {
        let dirs = (0..4).map(|at| home.join(format!("path{at}")));
        dirs.into_iter()
            .position(|dir| path.parent() == Some(&dir))
            .unwrap()
    };
    let mut places: Vec<_> = files.iter().map(|file| (file.level, of(&file.path))).collect();
    places.sort();
    places.dedup();
    places
}

fn compact_all(db: &Db, options: &CompactRangeOptions) {
    db.compact_range_cf_opt(&db.default_column_family(), None, None, options)
        .unwrap();
}

#[test]
fn upper_levels_lie_in_the_first_directories() {
    let (fs, home) = (MemFs::new(), Path::new("/home"));
    let options = options(Arc::new(fs.clone()), home, &[128 * KB, 256 * KB, 0]);
    let db = Db::open(&options, home.join("db")).unwrap();
    let family = db.default_column_family();
    assert!(!family.options().level_compaction_dynamic_level_bytes);
    write(&db, &family, 0..2000);
    db.flush().unwrap();
    db.wait_for_compact().unwrap();
    check(&db, &family, 0..2000);
    let found = places(&db, home);
    assert!(found.iter().any(|(level, _)| *level >= 2), "{found:?}");
    for (level, path) in found {
        assert_eq!(path, [0, 0, 1, 2][level], "L{level}");
    }
    // Files replaced by compactions, and files that an open finds in no version, are deleted in every
    // directory.
    db.wait_for_purge().unwrap();
    let in_use = db.live_files().len();
    db.close().unwrap();
    let tables = |fs: &MemFs| -> usize {
        let dirs = (0..3).map(|at| home.join(format!("path{at}")));
        let names = dirs.flat_map(|dir| fs.list(&dir).unwrap());
        names.filter(|name| name.ends_with(".sst")).count()
    };
    assert_eq!(tables(&fs), in_use);
    fs.write_file(&home.join("path2/000900.sst"), b"nobody's")
        .unwrap();
    let db = Db::open(&options, home.join("db")).unwrap();
    db.wait_for_purge().unwrap();
    assert_eq!(tables(&fs), in_use);
    check(&db, &db.default_column_family(), 0..2000);
    db.close().unwrap();
    Db::destroy(&options, home.join("db")).unwrap();
    assert!(!fs.exists(&home.join("path1")).unwrap() && !fs.exists(&home.join("db")).unwrap());
}

#[test]
fn blob_files_are_durable_beside_tables_in_another_directory() {
    let home = Path::new("/db");
    let mut fs = MemFs::new();
    let with_blobs = |fs: &MemFs| {
        let mut options = options(Arc::new(fs.clone()), home, &[0, u64::MAX]);
        options.column_family.enable_blob_files = true;
        options.column_family.disable_auto_compactions = true;
        options
    };
    for rewrites in [false, true] {
        let db = Db::open(&with_blobs(&fs), home).unwrap();
        let family = db.default_column_family();
        if rewrites {
            compact_all(
                &db,
                &CompactRangeOptions {
                    bottommost_level_compaction: BottommostLevelCompaction::Force,
                    blob_garbage_collection_policy: BlobGarbageCollectionPolicy::Force,
                    blob_garbage_collection_age_cutoff: Some(1.0),
                    ..CompactRangeOptions::default()
                },
            );
        } else {
            write(&db, &family, 0..20);
            db.flush().unwrap();
        }
        // Flushes write to the first directory.
        let path = usize::from(rewrites);
        assert!(places(&db, home).iter().all(|&(_, of_table)| of_table == path));
        // After a loss of power, names and bytes that were not synced are gone.
        fs = fs.crash_clone(&mut Rng::with_seed(1), UnsyncedPolicy::Lose);
        let db = Db::open(&with_blobs(&fs), home).unwrap();
        check(&db, &db.default_column_family(), 0..20);
        db.close().unwrap();
    }
}

/// A database on disk with two families, one of which has directories of its own, and files in all
/// directories.
fn on_disk(home: &Path) -> (Options, Db) {
    let mut options = options(Arc::new(vfs::PosixFs::new()), home, &[64 * KB, u64::MAX]);
    options.create_missing_column_families = true;
    let own = ColumnFamilyOptions {
        cf_paths: vec![
            DbPath::new(home.join("path2"), 64 * KB),
            DbPath::new(home.join("path3"), u64::MAX),
        ],
        enable_blob_files: true,
        min_blob_size: 100,
        ..options.column_family.clone()
    };
    options.column_families.insert("own".to_owned(), own);
    let db = Db::open(&options, home.join("db")).unwrap();
    for family in db.column_families() {
        write(&db, &family, 0..100);
        db.compact_range_cf(&family, None, None).unwrap();
        write(&db, &family, 100..120);
        db.flush_cf(std::slice::from_ref(&family)).unwrap();
    }
    let mut used: Vec<usize> = places(&db, home).into_iter().map(|(_, path)| path).collect();
    used.sort();
    used.dedup();
    assert_eq!(used, [0, 1, 2, 3]);
    (options, db)
}

fn check_families(db: &Db) {
    let families = db.column_families();
    assert_eq!(families.len(), 2);
    families.iter().for_each(|family| check(db, family, 0..120));
}

#[test]
fn copies_have_everything_in_one_directory_and_repair_finds_all() {
    let home = TempDir::new().unwrap();
    let (options, db) = on_disk(home.path());
    let copy = home.path().join("copy");
    db.create_checkpoint(&copy, &CheckpointOptions::default())
        .unwrap();
    let backups = BackupEngineOptions::new(home.path().join("backups"));
    let mut engine = BackupEngine::open(backups).unwrap();
    engine
        .create_new_backup(&db, &CreateBackupOptions::default())
        .unwrap();
    let restored = home.path().join("restored");
    engine
        .restore_db_from_latest_backup(&restored, &restored, &RestoreOptions::default())
        .unwrap();
    let secondary =
        Db::open_as_secondary(&options, home.path().join("db"), home.path().join("secondary")).unwrap();
    check_families(&secondary);
    drop(secondary);
    db.close().unwrap();
    drop(db);
    for copied in [&copy, &restored] {
        check_families(&Db::open(&Options::default(), copied).unwrap());
        // The MANIFEST of a copy names the first directory for every table, however many there are.
        let more = Options {
            db_paths: vec![
                DbPath::new(copied.clone(), 64 * KB),
                DbPath::new(home.path().join("elsewhere"), u64::MAX),
            ],
            ..Options::default()
        };
        check_families(&Db::open(&more, copied).unwrap());
    }
    // The MANIFEST is deleted, and a repair creates one with the directories of the files.
    for entry in std::fs::read_dir(home.path().join("db")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("MANIFEST") || name == "CURRENT" {
            std::fs::remove_file(path).unwrap();
        }
    }
    let report = Db::repair(&options, home.path().join("db")).unwrap();
    assert!(report.lost.is_empty(), "{:?}", report.lost);
    let db = Db::open(&options, home.path().join("db")).unwrap();
    check_families(&db);
    db.close().unwrap();
    // A repair whose options lack some directories of tables neither treats the files there as lost nor
    // ignores them.
    let mut fewer = options.clone();
    fewer.column_families.clear();
    fewer.db_paths.push(DbPath::new(home.path().join("path2"), 0));
    fewer.db_paths.push(DbPath::new(home.path().join("path3"), 0));
    fewer.column_families.insert(
        "own".to_owned(),
        ColumnFamilyOptions {
            cf_paths: vec![DbPath::new(home.path().join("path2"), 0)],
            ..ColumnFamilyOptions::default()
        },
    );
    let error = Db::repair(&fewer, home.path().join("db")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("path3"), "{error}");
    let db = Db::open(&options, home.path().join("db")).unwrap();
    check_families(&db);
}

/// Opens a database with two directories; with `write` writes to it, flushes and compacts; prints the values
/// of some keys.
const SCRIPT: &str = r#"
import ctypes, os, sys
lib = ctypes.CDLL("librocksdb.so.7.8")
P, S, L = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
E = ctypes.POINTER(S)
def fn(name, result, *args):
    f = getattr(lib, "rocksdb_" + name)
    f.restype, f.argtypes = result, list(args)
    def call(*given):
        error = S()
        out = f(*given, ctypes.byref(error))
        if error.value is not None:
            sys.exit("%s: %s" % (name, error.value.decode()))
        return out
    return call if args and args[-1] is E else f
home = sys.argv[2]
options = fn("options_create", P)()
fn("options_set_create_if_missing", None, P, ctypes.c_ubyte)(options, 1)
fn("options_set_max_bytes_for_level_base", None, P, ctypes.c_uint64)(options, 65536)
path = fn("dbpath_create", P, S, ctypes.c_uint64)
paths = (P * 2)(path((home + "/path0").encode(), 65536), path((home + "/path1").encode(), 1 << 40))
fn("options_set_db_paths", None, P, P, L)(options, paths, 2)
db = fn("open", P, P, S, E)(options, (home + "/db").encode())
if sys.argv[1] == "write":
    write = fn("writeoptions_create", P)()
    put = fn("put", None, P, P, S, L, S, L, E)
    flush = fn("flush", None, P, P, E)
    for number in range(100):
        put(db, write, b"%03d" % number, 3, b"v" * 400, 400)
    flush(db, fn("flushoptions_create", P)())
    compact = fn("compactoptions_create", P)()
    fn("compactoptions_set_bottommost_level_compaction", None, P, ctypes.c_ubyte)(compact, 2)
    fn("compactoptions_set_target_path_id", None, P, ctypes.c_int)(compact, 1) if hasattr(lib, "rocksdb_compactoptions_set_target_path_id") else None
    fn("compact_range_opt", None, P, P, S, L, S, L)(db, compact, None, 0, None, 0)
    put(db, write, b"100", 3, b"last", 4)
    flush(db, fn("flushoptions_create", P)())
read = fn("readoptions_create", P)()
for key in sys.argv[3:]:
    length = L()
    value = fn("get", P, P, P, S, L, ctypes.POINTER(L), E)(db, read, key.encode(), len(key), ctypes.byref(length))
    print(key, length.value if value else "-")
fn("close", None, P)(db)
"#;

fn rocksdb(verb: &str, home: &Path, keys: &[&str]) -> Option<String> {
    let mut python = oracle::librocksdb()?;
    let said = python
        .args(["-c", SCRIPT, verb])
        .arg(home)
        .args(keys)
        .output()
        .unwrap();
    assert!(
        said.status.success(),
        "{verb}: {}",
        String::from_utf8_lossy(&said.stderr)
    );
    Some(String::from_utf8(said.stdout).unwrap())
}

#[test]
fn rocksdb_and_we_find_each_others_tables() {
    let home = TempDir::new().unwrap();
    let Some(said) = rocksdb("write", home.path(), &["000", "100"]) else {
        return;
    };
    assert_eq!(said, "000 400\n100 4\n");
    let options = options(Arc::new(vfs::PosixFs::new()), home.path(), &[64 * KB, 1 << 40]);
    let db = Db::open(&options, home.path().join("db")).unwrap();
    let family = db.default_column_family();
    assert_eq!(db.get(b"000").unwrap().unwrap().len(), 400);
    assert_eq!(db.get(b"100").unwrap().unwrap(), b"last");
    write(&db, &family, 0..200);
    let to = |target_path_id| CompactRangeOptions {
        target_path_id,
        ..CompactRangeOptions::default()
    };
    compact_all(&db, &to(Some(1)));
    write(&db, &family, 200..210);
    db.flush().unwrap();
    let mut used: Vec<usize> = places(&db, home.path()).iter().map(|place| place.1).collect();
    used.sort();
    used.dedup();
    assert_eq!(used, [0, 1]);
    db.close().unwrap();
    drop(db);
    let keys = [key(3), key(205)].map(|key| String::from_utf8(key).unwrap());
    let said = rocksdb("read", home.path(), &["000", "100", &keys[0], &keys[1]]).unwrap();
    assert_eq!(
        said,
        format!("000 400\n100 4\n{} 408\n{} 408\n", keys[0], keys[1])
    );
}
