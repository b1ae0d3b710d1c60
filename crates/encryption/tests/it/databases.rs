//! Databases over the encrypting file system.

use std::path::Path;
use std::sync::Arc;

use base::env::Rng;
use esker::{CompactRangeOptions, Db, Options, SstFileManager, SstFileManagerOptions, WriteOptions};
use esker_encryption::{EncryptedFs, KeyRing, decrypt_directory};
use vfs::{FileSystem, MemFs, UnsyncedPolicy};

use crate::subjects::over;

const DIR: &str = "/db";

fn options(fs: impl FileSystem + 'static) -> Options {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(fs),
        recycle_log_file_num: 2,
        ..Options::default()
    };
    options.column_family.write_buffer_size = 64 << 10;
    options
}

fn value(step: u32) -> Vec<u8> {
    format!("secret value {step} ").repeat(5).into_bytes()
}

/// Every file below a directory.
fn files(fs: &dyn FileSystem, dir: &Path) -> Vec<std::path::PathBuf> {
    let names = fs.list(dir).unwrap().into_iter().map(|name| dir.join(name));
    names
        .flat_map(|path| match fs.list(&path) {
            Ok(_) => files(fs, &path),
            Err(_) => vec![path],
        })
        .collect()
}

fn contains(fs: &dyn FileSystem, word: &[u8]) -> bool {
    let mut files = files(fs, Path::new(DIR)).into_iter();
    files.any(|path| {
        let bytes = fs.read_file(&path).unwrap();
        bytes.windows(word.len()).any(|part| part == word)
    })
}

#[test]
fn no_file_shows_what_was_written() {
    let mem = MemFs::new();
    let mut options = options(over(mem.clone()));
    options.column_family.compression = esker::CompressionType::None;
    let db = Db::open(&options, DIR).unwrap();
    for step in 0..5000 {
        db.put(format!("secret key {step:05}"), value(step)).unwrap();
    }
    db.compact_range(None, None).unwrap();
    db.put("secret key", "in the WAL").unwrap();
    for word in [&b"secret"[..], b"leveldb.BytewiseComparator", b"MANIFEST"] {
        assert!(contains(&over(mem.clone()), word) && !contains(&mem, word));
    }
    assert_eq!(db.get("secret key 00017").unwrap().unwrap()[..], value(17));
    assert_eq!(db.prefix("").count(), 5001);
    db.verify_checksum().unwrap();
    db.close().unwrap();
    let wrong = EncryptedFs::new(Arc::new(mem), Arc::new(KeyRing::new("test", [9; 32])));
    let error = Db::open(
        &Options {
            fs: Arc::new(wrong),
            ..options
        },
        DIR,
    )
    .unwrap_err();
    assert!(error.to_string().contains("master key"), "{error}");
}

/// After a loss of power each row that was synced is there, and no row is there that was never written.
#[test]
fn synced_rows_survive_a_loss_of_power() {
    let mut rng = testkit::rng();
    let policies = [
        UnsyncedPolicy::Lose,
        UnsyncedPolicy::Keep,
        UnsyncedPolicy::Random,
        UnsyncedPolicy::RandomPages,
    ];
    let mut mem = MemFs::new();
    let (mut written, mut durable) = (0, 0);
    for round in 0..40 {
        let db = Db::open(&options(over(mem.clone())), DIR).unwrap();
        let mut found = 0;
        for row in db.prefix("") {
            let (key, row) = row.unwrap();
            assert_eq!(*key, *format!("{found:06}").as_bytes());
            assert_eq!(*row, *value(found));
            found += 1;
        }
        assert!(
            durable <= found && found <= written,
            "{durable} {found} {written} in round {round}"
        );
        written = found;
        for _ in 0..rng.u32(..600) {
            let sync = rng.one_in(50);
            let write = WriteOptions {
                sync,
                ..WriteOptions::default()
            };
            let family = db.default_column_family();
            db.put_cf_opt(&family, format!("{written:06}"), value(written), &write)
                .unwrap();
            written += 1;
            if sync {
                durable = written;
            }
            if rng.one_in(300) {
                db.flush().unwrap();
                durable = written;
            }
        }
        let crashed = match rng.usize(..5) {
            4 => mem.process_death_clone(),
            policy => mem.crash_clone(&mut Rng::with_seed(rng.u64(..)), policies[policy]),
        };
        drop(db);
        mem = crashed;
        durable = durable.min(written);
    }
}

/// A power loss may take the header of a file that was never synced, and leave bytes after it. Leftover tables,
/// trash and archived WALs like that are counted and deleted, and do not keep the database from opening.
#[test]
fn leftovers_without_a_header_do_not_keep_a_database_from_opening() {
    let mem = MemFs::new();
    let paced = SstFileManagerOptions {
        rate_bytes_per_sec: 1 << 30,
        max_trash_db_ratio: 1000.0,
        ..SstFileManagerOptions::default()
    };
    let manager = SstFileManager::new(paced).unwrap();
    let mut options = options(over(mem.clone()));
    options.recycle_log_file_num = 0;
    options.sst_file_manager = Some(manager.clone());
    options.wal_size_limit_mb = 1;
    let db = Db::open(&options, DIR).unwrap();
    db.put("key", "value").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let headless = [&[0; 4096][..], b"what survived"].concat();
    let (mut damaged, dir) = (Vec::new(), Path::new(DIR));
    for name in ["000900.sst", "000901.sst.trash", "archive/000001.log"] {
        mem.write_file(&dir.join(name), &headless).unwrap();
        damaged.push(dir.join(name));
    }
    let db = Db::open(&options, DIR).unwrap();
    assert_eq!(db.get("key").unwrap().as_deref(), Some(&b"value"[..]));
    db.put("other", "value").unwrap();
    db.flush().unwrap();
    manager.wait_for_empty_trash();
    db.close().unwrap();
    let left: Vec<_> = damaged.iter().filter(|path| mem.exists(path).unwrap()).collect();
    assert_eq!(left, [&dir.join("archive/000001.log")]);
}

/// A database is copied with its directory of WALs. The probe for one directory under two names finds a
/// leftover file of its own name that lost its header.
#[test]
fn a_damaged_probe_is_not_the_one_just_written() {
    let mem = MemFs::new();
    let with_wals = |wal_dir: &str| Options {
        wal_dir: wal_dir.to_owned(),
        ..options(over(mem.clone()))
    };
    Db::open(&with_wals("/wals"), DIR).unwrap().close().unwrap();
    for (from, to) in [(DIR, "/copy"), ("/wals", "/copied")] {
        mem.create_dir_all(Path::new(to)).unwrap();
        for path in files(&mem, Path::new(from)) {
            let bytes = mem.read_file(&path).unwrap();
            mem.write_file(&Path::new(to).join(path.file_name().unwrap()), &bytes)
                .unwrap();
        }
    }
    let headless = [&[0; 4096][..], b"what survived"].concat();
    mem.write_file(Path::new("/wals/OWNER.tmp"), &headless).unwrap();
    mem.write_file(Path::new("/db/000000.dbtmp"), &headless).unwrap();
    Db::open(&with_wals("/copied"), "/copy").unwrap().close().unwrap();
}

/// A database is encrypted, and gets another master key, by compactions alone; then a plain copy is made.
#[test]
fn master_keys_change_by_compaction_and_a_plain_copy_is_plain() {
    let mem = MemFs::new();
    let fill = |db: &Db| {
        for step in 0..2000 {
            db.put(format!("{step:06}"), value(step)).unwrap();
        }
        db.flush().unwrap();
    };
    let plain = Db::open(&options(mem.clone()), DIR).unwrap();
    fill(&plain);
    plain.close().unwrap();
    let ring = |name: &str| match name {
        "2025" => KeyRing::new("2025", [5; 32]),
        _ => KeyRing::new("2026", [6; 32]).with_older("2025", [5; 32]),
    };
    for name in ["2025", "2026"] {
        let fs = EncryptedFs::new(Arc::new(mem.clone()), Arc::new(ring(name))).reading_plain_files();
        let db = Db::open(&options(fs.clone()), DIR).unwrap();
        assert_eq!(db.prefix("").count(), 2000);
        let all = CompactRangeOptions {
            bottommost_level_compaction: esker::BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        let family = db.default_column_family();
        db.compact_range_cf_opt(&family, None, None, &all).unwrap();
        db.close().unwrap();
        // The second open begins a new MANIFEST and a new OPTIONS file, which have the new master key.
        Db::open(&options(fs.clone()), DIR).unwrap().close().unwrap();
        let keys: Vec<_> = files(&mem, Path::new(DIR))
            .into_iter()
            .filter(|path| !path.ends_with("LOCK"))
            .map(|path| (fs.master_key_of(&path).unwrap(), path))
            .collect();
        let others: Vec<_> = keys
            .iter()
            .filter(|(key, _)| key.as_deref() != Some(name))
            .collect();
        // Only small files that are not rewritten may stay as they are: IDENTITY, an old LOG or OPTIONS.
        let is_kept = |path: &Path| {
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            ["IDENTITY", "LOG", "OPTIONS"]
                .iter()
                .any(|kept| file.starts_with(kept))
        };
        assert!(others.iter().all(|(_, path)| is_kept(path)), "{others:?}");
    }
    let fs = EncryptedFs::new(Arc::new(mem.clone()), Arc::new(ring("2026"))).reading_plain_files();
    let copied = decrypt_directory(&fs, Path::new(DIR), &mem, Path::new("/copy")).unwrap();
    assert!(copied.files > 3 && copied.bytes > 1000, "{copied:?}");
    let copy = Db::open(&options(mem.clone()), "/copy").unwrap();
    assert_eq!(copy.prefix("").count(), 2000);
    copy.close().unwrap();
    let error = decrypt_directory(&fs, Path::new(DIR), &mem, Path::new("/copy")).unwrap_err();
    assert!(error.to_string().contains("exists"), "{error}");
}
