//! Blob files: written by flushes and compactions, garbage-collected, and exchanged with RocksDB.

mod garbage;
mod reads;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use dbtest::by_hand::{everything, flush, rewrite};
use esker::{
    CheckpointOptions, CompactionFilter, CompactionFilterFactory, CompressionType, Db, Decision, ErrorKind,
    FileChecksumGenFactory, FilterContext, Options, ReadOptions, Snapshot, ValueType, WriteBatch,
};
use tempfile::TempDir;
use testkit::{TestRng, oracle};
use vfs::{Action, FaultFs, FileSystem, MemFs, Op, Rule, UnsyncedPolicy};

const DIR: &str = "/db";

/// Options under which values of 100 bytes and more go to blob files, and compactions run only on request.
fn options(fs: Arc<dyn FileSystem>) -> Options {
    let mut options = Options {
        create_if_missing: true,
        fs,
        ..Options::default()
    };
    options.column_family.enable_blob_files = true;
    options.column_family.min_blob_size = 100;
    options.column_family.disable_auto_compactions = true;
    options
}

fn in_memory() -> (MemFs, Options) {
    let fs = MemFs::new();
    let options = options(Arc::new(fs.clone()));
    (fs, options)
}

fn key(i: u32) -> Vec<u8> {
    format!("key{i:04}").into_bytes()
}

/// A value of `len` bytes that contains `i` and `round`.
fn value(i: u32, round: u32, len: usize) -> Vec<u8> {
    let mut value = format!("{i}/{round}/").into_bytes();
    value.resize(len.max(value.len()), b'x');
    value
}

fn put(db: &Db, keys: impl IntoIterator<Item = u32>, round: u32, len: usize) {
    for i in keys {
        db.put(key(i), value(i, round, len)).unwrap();
    }
}

fn property(db: &Db, name: &str) -> u64 {
    db.property_int(&db.default_column_family(), &format!("rocksdb.{name}"))
        .unwrap()
}

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn rows(db: &Db) -> Rows {
    rows_at(db, None)
}

/// The rows at a snapshot.
fn rows_at(db: &Db, snapshot: Option<Snapshot>) -> Rows {
    let mut rows = BTreeMap::new();
    let mut iterator = db.iter_opt(&ReadOptions {
        snapshot,
        ..ReadOptions::default()
    });
    iterator.seek_to_first();
    while iterator.valid() {
        rows.insert(iterator.key().to_vec(), iterator.value().to_vec());
        iterator.next();
    }
    iterator.status().unwrap();
    rows
}

/// The names of the blob files in a directory.
fn on_disk(fs: &dyn FileSystem, dir: &Path) -> BTreeSet<String> {
    let names = fs.list(dir).unwrap();
    names.into_iter().filter(|name| name.ends_with(".blob")).collect()
}

/// Checks that the directory contains exactly the live blob files, and that they agree with the MANIFEST and
/// the tables.
fn check(db: &Db, fs: &dyn FileSystem, dir: &Path) {
    let family = db.default_column_family();
    let files = db.blob_files(&family);
    let live: BTreeSet<u64> = db.live_files().iter().map(|file| file.number).collect();
    let mut sizes = 0;
    for file in &files {
        assert_eq!(fs.size(&file.path).unwrap(), file.size, "{file:?}");
        assert!(file.garbage_blob_count < file.total_blob_count, "{file:?}");
        assert!(
            file.linked_ssts.iter().all(|table| live.contains(table)),
            "{file:?}"
        );
        sizes += file.size;
    }
    assert_eq!(property(db, "num-blob-files"), files.len() as u64);
    assert_eq!(property(db, "live-blob-file-size"), sizes);
    db.verify_checksum().unwrap();
    db.close().unwrap();
    let names = files.iter().map(|file| format!("{:06}.blob", file.number));
    assert_eq!(on_disk(fs, dir), names.collect());
}

fn entity_with_blob(inline: &[u8], index: &[u8]) -> Vec<u8> {
    let mut entity = vec![2, 2];
    // The encoding: the bytes of the sizes of names, of the sizes of values, and of the names; types; sizes;
    // names; values.
    entity.extend_from_slice(&[2, 2, 2, 0x01, 0x11, 1, 1, inline.len() as u8, index.len() as u8]);
    entity.extend_from_slice(b"ab");
    entity.extend_from_slice(inline);
    entity.extend_from_slice(index);
    entity
}

/// Columns that RocksDB 11 put into blob files stay readable: compactions record which blob files their
/// tables need.
#[test]
fn columns_in_blob_files_survive_compactions() {
    for collected in [false, true] {
        let (fs, mut options) = in_memory();
        options.column_family.enable_blob_garbage_collection = collected;
        options.column_family.blob_garbage_collection_age_cutoff = 1.0;
        // The database is made by a repair from a blob file and a table.
        fs.create_dir_all(Path::new(DIR)).unwrap();
        let cmp = base::InternalComparator::new(base::UserComparator::Bytewise);
        let create = |path: &Path| fs.create(path, &Default::default()).unwrap();
        let blob_options = blob::BlobWriterOptions {
            file_number: 9,
            column_family_id: 0,
            compression: CompressionType::None,
            compression_options: Default::default(),
        };
        let path = base::filename::blob(Path::new(DIR), 9);
        let mut blobs = blob::BlobWriter::new(create(&path), blob_options).unwrap();
        let path = base::filename::table(Path::new(DIR), 10);
        let mut table = sst::TableWriter::new(create(&path), sst::TableWriterOptions::new(cmp)).unwrap();
        for i in 0..5 {
            let mut index = Vec::new();
            let value = value(i, 0, 200);
            blobs.add(&key(i), &value).unwrap().encode(&mut index);
            let internal =
                base::internal_key::encode(&key(i), u64::from(i) + 1, base::Kind::WideColumnEntity);
            table
                .add(&internal, &entity_with_blob(b"inline", &index))
                .unwrap();
        }
        blobs.finish().unwrap();
        table.finish().unwrap();
        Db::repair(&options, DIR).unwrap();
        let db = Db::open(&options, DIR).unwrap();
        // One key is overwritten, so that a compaction has garbage.
        put(&db, [0], 1, 300);
        flush(&db);
        for _ in 0..3 {
            rewrite(&db);
        }
        let mut iterator = db.iter();
        iterator.seek(&key(1));
        for i in 1..5 {
            let columns = iterator.columns().unwrap().unwrap();
            assert_eq!(columns[0], (b"a".to_vec(), b"inline".to_vec()));
            assert_eq!(columns[1], (b"b".to_vec(), value(i, 0, 200)));
            iterator.next();
        }
        drop(iterator);
        let files = db.blob_files(&db.default_column_family());
        let old = files.iter().find(|file| file.number == 9);
        assert_eq!(
            old.map(|file| (file.garbage_blob_count, file.total_blob_count)),
            (!collected).then_some((1, 5))
        );
        check(&db, &fs, Path::new(DIR));
    }
}

/// A filter that removes rows, keeps them, or reads their values, depending on the key.
struct ByKey;

impl CompactionFilter for ByKey {
    fn filter(&mut self, _: usize, key: &[u8], kind: ValueType, value: &[u8]) -> Decision {
        if kind == ValueType::MergeOperand {
            return Decision::Keep;
        }
        assert!(
            !key.ends_with(b"0") && !key.ends_with(b"1"),
            "decided without its value"
        );
        match key.ends_with(b"2") {
            true => Decision::ChangeValue([b"changed:", &value[..8]].concat()),
            false => Decision::Keep,
        }
    }

    fn filter_blob_by_key(&mut self, _: usize, key: &[u8]) -> Option<Decision> {
        match key.last() {
            Some(b'0') => Some(Decision::Remove),
            Some(b'1') => Some(Decision::Keep),
            _ => None,
        }
    }
}

struct ByKeyFactory;

impl CompactionFilterFactory for ByKeyFactory {
    fn name(&self) -> &str {
        "ByKey"
    }
    fn create(&self, _: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(ByKey))
    }
}

#[test]
fn filters_and_merges_see_blobs() {
    let (fs, mut options) = in_memory();
    options.column_family.compaction_filter_factory = Some(Arc::new(ByKeyFactory));
    options.column_family.merge_operator = base::merge::builtin("stringappend");
    let db = Db::open(&options, DIR).unwrap();
    put(&db, 0..10, 0, 150);
    flush(&db);
    db.merge(key(3), b"more").unwrap();
    db.merge(key(99), vec![b'm'; 300]).unwrap();
    flush(&db);
    rewrite(&db);
    let found = rows(&db);
    assert_eq!(found.get(&key(0)), None);
    assert_eq!(found[&key(1)], value(1, 0, 150));
    assert!(found[&key(2)].starts_with(b"changed:"));
    assert_eq!(found[&key(3)], [&value(3, 0, 150)[..], b",more"].concat());
    assert_eq!(found[&key(99)].len(), 300);
    let files = db.blob_files(&db.default_column_family());
    let counts = files
        .iter()
        .map(|file| (file.garbage_blob_count, file.total_blob_count));
    // Some values were removed, shortened or merged; merged values are blobs too.
    assert_eq!(counts.collect::<Vec<_>>(), [(3, 10), (0, 2)]);
    check(&db, &fs, Path::new(DIR));
}

#[test]
fn several_threads_write_files_of_their_own() {
    let (fs, mut options) = in_memory();
    options.max_subcompactions = 4;
    options.column_family.target_file_size_base = 1000;
    options.column_family.enable_blob_garbage_collection = true;
    options.column_family.blob_garbage_collection_age_cutoff = 1.0;
    options.column_family.blob_file_size = 20_000;
    let db = Db::open(&options, DIR).unwrap();
    for round in 0..3 {
        put(&db, (0..500).filter(|i| i % (round + 1) == 0), round, 150);
        flush(&db);
        rewrite(&db);
    }
    let found = rows(&db);
    for i in 0..500 {
        let round = (0..3).rev().find(|round| i % (round + 1) == 0).unwrap();
        assert_eq!(found[&key(i)], value(i, round, 150));
    }
    let files = db.blob_files(&db.default_column_family());
    assert_eq!(
        files
            .iter()
            .map(|file| file.total_blob_count - file.garbage_blob_count)
            .sum::<u64>(),
        500
    );
    check(&db, &fs, Path::new(DIR));
}

#[test]
fn checkpoints_secondaries_and_repairs_have_them() {
    let (fs, mut options) = in_memory();
    options.column_family.enable_blob_garbage_collection = true;
    let db = Db::open(&options, DIR).unwrap();
    for round in 0..5 {
        put(&db, round * 4..round * 4 + 12, round, 150);
        flush(&db);
    }
    rewrite(&db);
    put(&db, 3..5, 9, 170);
    let expected = rows(&db);
    db.create_checkpoint("/checkpoint", &CheckpointOptions::default())
        .unwrap();
    let secondary = Db::open_as_secondary(&options, DIR, "/own").unwrap();
    assert_eq!(rows(&secondary), expected);
    // The secondary can still read after the primary has deleted the files that it reads.
    put(&db, 0..40, 10, 150);
    flush(&db);
    rewrite(&db);
    assert_eq!(rows(&secondary), expected);
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(rows(&secondary), rows(&db));
    drop(secondary);
    let after = rows(&db);
    check(&db, &fs, Path::new(DIR));
    drop(db);
    let checkpoint = Db::open(&options, "/checkpoint").unwrap();
    assert_eq!(rows(&checkpoint), expected);
    check(&checkpoint, &fs, Path::new("/checkpoint"));
    for wal in [false, true] {
        if wal {
            let db = Db::open(&options, DIR).unwrap();
            put(&db, 100..120, 0, 150);
            // The handle is leaked, so that the rows stay in the WAL and in no other file.
            std::mem::forget(db);
        }
        let fs = fs.crash_clone(&mut base::env::Rng::with_seed(1), UnsyncedPolicy::Keep);
        let options = Options {
            fs: Arc::new(fs.clone()),
            ..options.clone()
        };
        let _ = fs.remove(&Path::new(DIR).join("CURRENT"));
        Db::repair(&options, DIR).unwrap();
        let repaired = Db::open(&options, DIR).unwrap();
        let found = rows(&repaired);
        assert!(after.iter().all(|(key, value)| found.get(key) == Some(value)));
        rewrite(&repaired);
        assert_eq!(rows(&repaired), found);
        check(&repaired, &fs, Path::new(DIR));
    }
}

/// A MultiGet reads the blobs of a file from its start to its end.
#[test]
fn many_blobs_are_read_in_their_order() {
    let mem = MemFs::new();
    let faults = FaultFs::new(Arc::new(mem.clone()));
    let options = options(Arc::new(faults.clone()));
    let db = Db::open(&options, DIR).unwrap();
    let mut rng = testkit::rng();
    // Keys in the order of the table, with blobs in two files.
    put(&db, 0..50, 0, 300);
    flush(&db);
    put(&db, 50..100, 0, 300);
    flush(&db);
    rewrite(&db);
    put(&db, (0..100).step_by(3), 1, 300);
    flush(&db);
    let read = Arc::new(Mutex::new(Vec::new()));
    let seen = read.clone();
    faults.add(
        Rule::new(Action::Call(Arc::new(move |_, path| {
            seen.lock().unwrap().push(path.to_path_buf());
        })))
        .on([Op::Read])
        .path_ends_with(".blob"),
    );
    let mut keys: Vec<u32> = (0..100).collect();
    rng.shuffle(&mut keys);
    let names: Vec<_> = keys.iter().map(|&i| key(i)).collect();
    let found = db.multi_get(&names);
    for (&i, found) in keys.iter().zip(found) {
        assert_eq!(found.unwrap().unwrap(), value(i, u32::from(i % 3 == 0), 300));
    }
    let read = read.lock().unwrap();
    assert!(read.len() >= 100);
    assert!(read.is_sorted(), "one file after the other");
}

/// Rows of random sizes are written, deleted and compacted under random options, and agree with a map.
#[test]
fn random_histories_are_what_a_map_says() {
    let mut rng = testkit::rng();
    for _ in 0..6 {
        let (fs, mut options) = in_memory();
        let family = &mut options.column_family;
        family.min_blob_size = *rng.pick(&[0, 50, 150]);
        family.min_older_version_blob_size = *rng.pick(&[0, 1, 50]);
        family.blob_file_size = *rng.pick(&[1, 500, 5000, 1 << 28]);
        family.blob_compression_type = *rng.pick(&[CompressionType::None, CompressionType::Lz4]);
        family.enable_blob_garbage_collection = rng.bool();
        family.blob_garbage_collection_age_cutoff = *rng.pick(&[0.3, 0.7, 1.0]);
        family.blob_garbage_collection_force_threshold = *rng.pick(&[0.2, 1.0]);
        family.disable_auto_compactions = rng.bool();
        family.blob_compaction_readahead_size = *rng.pick(&[0, 1000]);
        family.target_file_size_base = 2000;
        family.write_buffer_size = 64 << 10;
        let mut db = Db::open(&options, DIR).unwrap();
        let mut model = BTreeMap::new();
        let mut held: Option<(Snapshot, Rows)> = None;
        for step in 0..400u32 {
            if rng.one_in(20) {
                if let Some((snapshot, then)) = held.take() {
                    assert_eq!(rows_at(&db, Some(snapshot)), then);
                } else {
                    held = Some((db.snapshot(), model.clone()));
                }
            }
            let i = rng.u32(..60);
            match rng.u32(..100) {
                0..70 => {
                    let len = *rng.pick(&[10, 60, 120, 200, 900]);
                    db.put(key(i), value(i, step, len)).unwrap();
                    model.insert(key(i), value(i, step, len));
                }
                70..80 => {
                    db.delete(key(i)).unwrap();
                    model.remove(&key(i));
                }
                80..83 => {
                    let mut batch = WriteBatch::new();
                    batch.delete_range(&key(i), &key(i + 10));
                    db.write(batch).unwrap();
                    model.retain(|found, _| !(key(i)..key(i + 10)).contains(found));
                }
                83..94 => flush(&db),
                94..97 => rewrite(&db),
                97..98 => {
                    held = None;
                    db.close().unwrap();
                    drop(db);
                    db = Db::open(&options, DIR).unwrap();
                }
                _ => assert_eq!(rows(&db), model),
            }
        }
        drop(held);
        assert_eq!(rows(&db), model);
        let keys: Vec<_> = (0..60).map(key).collect();
        let found = db.multi_get(&keys);
        for (key, found) in keys.iter().zip(found) {
            assert_eq!(found.unwrap().as_ref(), model.get(key));
        }
        db.wait_for_compact().unwrap();
        check(&db, &fs, Path::new(DIR));
    }
}

/// After a crash at any moment while a flush or a compaction writes blob files and tables, no row is lost and
/// no file is left over.
#[test]
fn a_crash_between_blob_file_and_table_loses_nothing() {
    let work = |fs: Arc<dyn FileSystem>| -> base::Result<()> {
        let mut options = options(fs);
        options.column_family.enable_blob_garbage_collection = true;
        options.column_family.blob_garbage_collection_age_cutoff = 1.0;
        options.column_family.blob_file_size = 600;
        let db = Db::open(&options, DIR)?;
        for i in 0..8 {
            db.put(key(i), value(i, 1, 200))?;
        }
        db.flush()?;
        db.put(key(0), value(0, 2, 200))?;
        db.flush()?;
        let whole = everything();
        db.compact_range_cf_opt(&db.default_column_family(), None, None, &whole)?;
        db.close()
    };
    // The database has these rows before the operations that a crash interrupts.
    let start = MemFs::new();
    let db = Db::open(&options(Arc::new(start.clone())), DIR).unwrap();
    put(&db, 0..8, 0, 200);
    db.sync_wal().unwrap();
    db.close().unwrap();
    drop(db);
    let mut rng = testkit::rng();
    let start = start.crash_clone(&mut rng, UnsyncedPolicy::Keep);
    let count = |fs: &MemFs| {
        let faults = FaultFs::new(Arc::new(fs.clone()));
        work(Arc::new(faults.clone())).unwrap();
        faults.changes()
    };
    let changes = count(&start.crash_clone(&mut rng, UnsyncedPolicy::Keep));
    assert!(changes > 50);
    let mut left_over = 0;
    for at in 0..changes {
        let disk = start.crash_clone(&mut rng, UnsyncedPolicy::Keep);
        let faults = FaultFs::new(Arc::new(disk.clone()));
        faults.crash_at(at);
        let _ = work(Arc::new(faults));
        let survived = disk.crash_clone(&mut rng, UnsyncedPolicy::Random);
        let options = options(Arc::new(survived.clone()));
        let before = on_disk(&survived, Path::new(DIR)).len();
        let db = Db::open(&options, DIR).unwrap();
        left_over += usize::from(before > db.blob_files(&db.default_column_family()).len());
        let found = rows(&db);
        for i in 0..8 {
            let found = &found[&key(i)];
            assert!(
                (0..3).any(|round| *found == value(i, round, 200)),
                "crash at {at}, key {i}"
            );
        }
        rewrite(&db);
        check(&db, &survived, Path::new(DIR));
    }
    assert!(left_over > 0, "no crash left a blob file without its table");
}

/// The disk becomes full while a blob file is written: the error is reported, reads continue, and no file is
/// left over.
#[test]
fn a_full_disk_leaves_no_blob_file_behind() {
    for op in [Op::Create, Op::Append, Op::Sync, Op::Close] {
        for in_compaction in [false, true] {
            let mem = MemFs::new();
            let faults = FaultFs::new(Arc::new(mem.clone()));
            let mut options = options(Arc::new(faults.clone()));
            options.column_family.enable_blob_garbage_collection = true;
            options.column_family.blob_garbage_collection_age_cutoff = 1.0;
            let db = Db::open(&options, DIR).unwrap();
            put(&db, 0..20, 0, 200);
            if in_compaction {
                flush(&db);
            }
            let before = on_disk(&mem, Path::new(DIR));
            let full = Rule::new(Action::Fail(ErrorKind::NoSpace))
                .on([op])
                .path_ends_with(".blob");
            faults.add(full);
            let failed = match in_compaction {
                false => db.flush(),
                true => db.compact_range_cf_opt(&db.default_column_family(), None, None, &everything()),
            };
            let error = failed.unwrap_err();
            assert!(error.to_string().contains("injected fault"), "{op:?}: {error}");
            assert!(error.to_string().contains(".blob"), "{op:?}: {error}");
            // Writes continue, because a compaction that fails for lack of space does not stop them.
            assert_eq!(property(&db, "background-errors"), u64::from(!in_compaction));
            assert_eq!(rows(&db).len(), 20, "reads go on");
            faults.clear_rules();
            let _ = db.close();
            drop(db);
            assert_eq!(on_disk(&mem, Path::new(DIR)), before, "{op:?}");
            let db = Db::open(&options, DIR).unwrap();
            assert_eq!(rows(&db).len(), 20);
            rewrite(&db);
            check(&db, &mem, Path::new(DIR));
        }
    }
}

/// The output of a tool, which must succeed.
fn run(command: &mut Command) -> String {
    let out = command.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn random_value(rng: &mut TestRng) -> Vec<u8> {
    let len = *rng.pick(&[5, 99, 100, 101, 700]);
    let mut value = vec![b'v'; len];
    rng.fill(&mut value[..5]);
    value
}

/// RocksDB and Esker each read and continue a database with blob files of the other.
#[test]
fn rocksdb_goes_on_with_ours_and_we_with_its() {
    let mut rng = testkit::rng();
    for compression in [
        CompressionType::None,
        CompressionType::Snappy,
        CompressionType::Zstd,
    ] {
        let dir = TempDir::new().unwrap();
        let place = dir.path().join("db");
        let mut options = options(Options::default().fs);
        options.column_family.blob_compression_type = compression;
        options.column_family.blob_file_size = 4000;
        options.column_family.min_older_version_blob_size = 50;
        options.column_family.enable_blob_garbage_collection = true;
        options.column_family.blob_garbage_collection_age_cutoff = 0.1;
        options.file_checksum_gen_factory = FileChecksumGenFactory::Crc32c;
        let db = Db::open(&options, &place).unwrap();
        let mut model = BTreeMap::new();
        let mut held = None;
        for round in 0..4 {
            for _ in 0..60 {
                let (i, value) = (rng.u32(..100), random_value(&mut rng));
                db.put(key(i), &value).unwrap();
                model.insert(key(i), value);
            }
            flush(&db);
            rewrite(&db);
            // Old versions that a snapshot keeps go to blob files from a smaller size on than new ones.
            if round < 3 {
                held = Some(db.snapshot());
            }
        }
        assert!(property(&db, "live-blob-file-garbage-size") > 0);
        let newest = model.values().filter(|value| value.len() >= 100).count() as u64;
        let files = db.blob_files(&db.default_column_family());
        let live = files
            .iter()
            .map(|file| file.total_blob_count - file.garbage_blob_count);
        assert!(live.sum::<u64>() > newest, "older versions of 99 bytes, too");
        drop(held);
        db.close().unwrap();
        drop(db);
        if let Some(mut ldb) = oracle::ldb() {
            ldb.args(["scan", "--hex"])
                .arg(format!("--db={}", place.display()));
            let mut found = BTreeMap::new();
            for line in run(&mut ldb).lines() {
                let (key, value) = line.split_once(" : ").unwrap();
                let bytes = |hex: &str| {
                    let hex = &hex.as_bytes()[2..];
                    let byte =
                        |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
                    hex.chunks(2).map(byte).collect::<Vec<u8>>()
                };
                found.insert(bytes(key), bytes(value));
            }
            assert!(found == model, "ldb reads other rows, {compression:?}");
            // ldb opens the database for writing, puts a row, and compacts everything, including blobs.
            for arguments in [&["put", "ldb", "a row of its own"][..], &["compact"]] {
                let mut ldb = oracle::ldb().unwrap();
                ldb.args(arguments)
                    .args(["--enable_blob_files", "--min_blob_size=10"])
                    .args([
                        "--enable_blob_garbage_collection",
                        "--blob_garbage_collection_age_cutoff=1.0",
                    ])
                    .arg(format!("--db={}", place.display()));
                run(&mut ldb);
            }
            model.insert(b"ldb".to_vec(), b"a row of its own".to_vec());
        }
        if let Some(mut python) = oracle::rocksdict() {
            let script = "import sys, rocksdict\n\
                 db = rocksdict.Rdict(sys.argv[1], rocksdict.Options(raw_mode=True))\n\
                 print(len(list(db.items())))\n\
                 db[b'new'] = b'n' * 500\n\
                 db.flush()\n\
                 db.close()\n";
            let out = run(python.args(["-c", script]).arg(&place));
            assert_eq!(out.trim(), model.len().to_string());
            model.insert(b"new".to_vec(), vec![b'n'; 500]);
        }
        let db = Db::open(&options, &place).unwrap();
        assert!(rows(&db) == model, "after RocksDB, {compression:?}");
        db.verify_checksum().unwrap();
        for i in 0..100 {
            db.put(key(i), value(i, 0, 120)).unwrap();
            model.insert(key(i), value(i, 0, 120));
        }
        flush(&db);
        rewrite(&db);
        assert!(rows(&db) == model);
        check(&db, &vfs::PosixFs::new(), &place);
        if let Some(mut ldb) = oracle::ldb() {
            testkit::judges::forget_options(&place);
            ldb.args(["checkconsistency"])
                .arg(format!("--db={}", place.display()));
            run(&mut ldb);
        }
    }
}
