//! Ingestion of external files: the rows that are visible afterwards, and the levels of the files.

mod behind;
mod crash;
mod import;
mod latch;
mod oracle;
mod refused;
mod replace;
mod sst_file_reader;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use base::filename::{self, FileKind};
use dbtest::by_hand::{compact, flush};
use dbtest::crash::dump;
use dbtest::files;
use esker::{
    ColumnFamilyOptions, CompressionType, Db, ErrorKind, FileChecksumGenFactory, FilterPolicy,
    IngestExternalFileArg, IngestExternalFileOptions, Options, RangeOpt, ReadOptions, Snapshot,
    SstFileWriter, UserComparator,
};
use testkit::TestRng;

use vfs::{Action, FaultFs, FileSystem, MemFs, Op, Rule};

pub const DIR: &str = "/db";
pub const OUTSIDE: &str = "/outside";

pub type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
pub type Found = BTreeMap<String, Rows>;

pub fn options(fs: Arc<dyn FileSystem>) -> Options {
    let mut family = ColumnFamilyOptions {
        compression: CompressionType::None,
        write_buffer_size: 64 << 10,
        target_file_size_base: 4 << 10,
        max_bytes_for_level_base: 16 << 10,
        merge_operator: base::merge::builtin("StringAppendOperator"),
        ..ColumnFamilyOptions::default()
    };
    family.table.block_size = 256;
    family.table.filter_policy = FilterPolicy::Bloom(10.0);
    Options {
        create_if_missing: true,
        create_missing_column_families: true,
        column_families: BTreeMap::from([("other".to_owned(), family.clone())]),
        column_family: family,
        fs,
        ..Options::default()
    }
}

pub fn fresh() -> (MemFs, Options) {
    let mem = MemFs::new();
    mem.create_dir_all(Path::new(OUTSIDE)).unwrap();
    let options = options(Arc::new(mem.clone()));
    (mem, options)
}

/// Writes a file with entries in the notation of test keys: `a:1`, `b#del`, `c#merge:x`, `[d,f)`.
pub fn write_file(options: &Options, name: &str, entries: &[&str]) -> PathBuf {
    let path = Path::new(OUTSIDE).join(name);
    let mut writer = SstFileWriter::new(options);
    writer.open(&path).unwrap();
    for entry in entries {
        add(&mut writer, entry).unwrap();
    }
    writer.finish().unwrap();
    path
}

/// Writes `value` to each of the keys.
pub fn put(db: &Db, keys: &[&str], value: &str) {
    for key in keys {
        db.put(key.as_bytes(), value.as_bytes()).unwrap();
    }
}

/// An ingestion of `files` that replaces the rows of `range`.
pub fn replacing(db: &Db, files: &[PathBuf], range: Option<RangeOpt>) -> IngestExternalFileArg {
    let options = IngestExternalFileOptions {
        snapshot_consistency: false,
        ..IngestExternalFileOptions::default()
    };
    IngestExternalFileArg {
        atomic_replace_range: range,
        ..IngestExternalFileArg::new(&db.default_column_family(), files, options)
    }
}

fn add(writer: &mut SstFileWriter, entry: &str) -> esker::Result<()> {
    if let Some(range) = entry.strip_prefix('[') {
        let (begin, end) = range.trim_end_matches(')').split_once(',').unwrap();
        writer.delete_range(begin.as_bytes(), end.as_bytes())
    } else if let Some(key) = entry.strip_suffix("#del") {
        writer.delete(key.as_bytes())
    } else if let Some((key, operand)) = entry.split_once("#merge:") {
        writer.merge(key.as_bytes(), operand.as_bytes())
    } else {
        let (key, value) = entry.split_once(':').unwrap();
        writer.put(key.as_bytes(), value.as_bytes())
    }
}

/// The files of a family in the form `L0 ... L6`, with first key and sequence number.
pub fn shape(db: &Db, family: &str) -> String {
    let mut files: Vec<_> = db.live_files();
    files.retain(|file| file.column_family == family);
    files.sort_by(|a, b| (a.level, &a.smallest_key, a.number).cmp(&(b.level, &b.smallest_key, b.number)));
    let line = |file: &esker::LiveFile| {
        format!(
            "L{} {}..{}@{}",
            file.level,
            String::from_utf8_lossy(&file.smallest_key),
            String::from_utf8_lossy(&file.largest_key),
            file.largest_seqno
        )
    };
    files.iter().map(line).collect::<Vec<_>>().join(", ")
}

pub fn rows_of(db: &Db) -> Vec<String> {
    let found = dump(db).unwrap();
    let row = |(key, value): (&Vec<u8>, &Vec<u8>)| {
        format!(
            "{}={}",
            String::from_utf8_lossy(key),
            String::from_utf8_lossy(value)
        )
    };
    found["default"].iter().map(row).collect()
}

fn ingest(db: &Db, files: &[PathBuf]) -> esker::Result<()> {
    db.ingest_external_file(files, &IngestExternalFileOptions::default())
        .map(drop)
}

pub fn tables_in(fs: &dyn FileSystem) -> Vec<String> {
    let mut names = fs.list(Path::new(DIR)).unwrap();
    names.retain(|name| {
        matches!(
            filename::parse(name),
            Some(FileKind::Table(_) | FileKind::Temp) | None
        )
    });
    names
}

/// The tables in the directory of the database, after its close, that do not belong to it.
pub fn strays(fs: &dyn FileSystem, db: Db) -> Vec<String> {
    db.wait_for_compact().unwrap();
    let live = live_names(&db);
    drop(db);
    let mut names = tables_in(fs);
    names.retain(|name| !live.contains(name));
    names
}

pub fn live_names(db: &Db) -> Vec<String> {
    let name = |file: esker::LiveFile| format!("{:06}.sst", file.number);
    db.live_files().into_iter().map(name).collect()
}

/// RocksDB before 7.10 knows no epoch numbers, and orders L0 by sequence numbers alone.
#[test]
fn sequence_numbers_of_l0_files_do_not_span_those_of_an_ingested_file() {
    let (_mem, mut options) = fresh();
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, DIR).unwrap();
    db.put(b"a", b"1").unwrap();
    db.put(b"z", b"1").unwrap();
    flush(&db);
    // The ingested file has a key of the table, so it is placed above the table. It does not have the key in
    // the memtable.
    db.put(b"m", b"1").unwrap();
    let file = write_file(&options, "a.sst", &["a:2"]);
    db.ingest_external_file(&[file], &IngestExternalFileOptions::default())
        .unwrap();
    db.put(b"n", b"1").unwrap();
    flush(&db);
    let mut ranges: Vec<_> = db
        .live_files()
        .iter()
        .map(|file| (file.level, file.smallest_seqno, file.largest_seqno))
        .collect();
    ranges.sort_unstable();
    assert_eq!(ranges, [(0, 1, 2), (0, 3, 3), (0, 4, 4), (0, 5, 5)]);
}

#[test]
fn files_go_to_the_lowest_level_that_has_nothing_in_their_way() {
    let (_mem, mut options) = fresh();
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, DIR).unwrap();
    // In an empty database the ingested file goes to the last level, without a sequence number.
    ingest(&db, &[write_file(&options, "1", &["c:1", "m:1"])]).unwrap();
    assert_eq!(shape(&db, "default"), "L6 c..m@0");
    // The ingested file is between keys of the file in the last level, which therefore cannot take it; no key
    // overlaps, so it needs no sequence number.
    ingest(&db, &[write_file(&options, "2", &["d:2", "e:2"])]).unwrap();
    assert_eq!(shape(&db, "default"), "L0 d..e@0, L6 c..m@0");
    // The next ingested file has one of the existing keys.
    ingest(&db, &[write_file(&options, "3", &["m:3", "n:3"])]).unwrap();
    assert_eq!(shape(&db, "default"), "L0 d..e@0, L0 m..n@1, L6 c..m@0");
    assert_eq!(rows_of(&db), ["c=1", "d=2", "e=2", "m=3", "n=3"]);
    assert_eq!(db.latest_sequence_number(), 1);
    // A memtable that has a key of the ingested file is flushed first.
    db.put(b"n", b"4").unwrap();
    ingest(&db, &[write_file(&options, "4", &["[a,o)", "b:5"])]).unwrap();
    assert_eq!(
        shape(&db, "default"),
        "L0 a..o@3, L0 d..e@0, L0 m..n@1, L0 n..n@2, L6 c..m@0"
    );
    assert_eq!(rows_of(&db), ["b=5"]);
    // A memtable that does not overlap the ingested file is not flushed.
    db.put(b"x", b"6").unwrap();
    ingest(&db, &[write_file(&options, "5", &["y:7"])]).unwrap();
    assert!(
        shape(&db, "default").ends_with("L6 c..m@0, L6 y..y@0"),
        "{}",
        shape(&db, "default")
    );
    assert_eq!(rows_of(&db), ["b=5", "x=6", "y=7"]);
    compact(&db);
    assert_eq!(rows_of(&db), ["b=5", "x=6", "y=7"]);
    assert_eq!(files::check(&db).unwrap(), "");
    drop(db);
    let db = Db::open(&options, DIR).unwrap();
    assert_eq!(rows_of(&db), ["b=5", "x=6", "y=7"]);
}

#[test]
fn files_that_overlap_each_other_go_one_above_the_other_in_their_order() {
    let (_mem, mut options) = fresh();
    options.column_family.level_compaction_dynamic_level_bytes = false;
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, DIR).unwrap();
    let files = [
        write_file(&options, "1", &["a:1", "c:1"]),
        write_file(&options, "2", &["d:1", "f:1"]),
        write_file(&options, "3", &["[b,e)", "e:3"]),
        write_file(&options, "4", &["c:4", "d#merge:4"]),
    ];
    ingest(&db, &files).unwrap();
    assert_eq!(
        shape(&db, "default"),
        "L4 c..d@4, L5 b..e@3, L6 a..c@1, L6 d..f@2"
    );
    assert_eq!(rows_of(&db), ["a=1", "c=4", "d=4", "e=3", "f=1"]);
    assert_eq!(files::check(&db).unwrap(), "");
    // A compaction keeps the order of the files.
    compact(&db);
    assert_eq!(rows_of(&db), ["a=1", "c=4", "d=4", "e=3", "f=1"]);
}

/// Two ingested files are compacted within L0. Their output must keep its place relative to memtables of the
/// time between them.
#[test]
fn files_of_level_0_have_an_order_whatever_is_merged_there() {
    let (_mem, mut options) = fresh();
    options.column_family.disable_auto_compactions = true;
    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    let mut flushed = 0;
    for round in 0..3 {
        db.put(b"a", b"beside").unwrap();
        for file in ["1", "2"] {
            let value = format!("m:{round}{file}");
            ingest(&db, &[write_file(&options, file, &[&value])]).unwrap();
            db.put(b"b", b"beside").unwrap();
        }
        let mut level_0 = db.live_files();
        level_0.retain(|file| file.level == 0);
        let ingested = level_0.iter().filter(|file| file.smallest_key == b"m");
        let numbers: Vec<u64> = ingested.map(|file| file.number).collect();
        flushed += level_0.len() - numbers.len();
        db.compact_files(&family, &numbers, 0, &esker::CompactFilesOptions::default())
            .unwrap();
        db.put(b"m", b"after").unwrap();
        flush(&db);
        assert_eq!(rows_of(&db), ["a=beside", "b=beside", "m=after"]);
        assert_eq!(files::check(&db).unwrap(), "");
    }
    assert!(flushed > 0);
    drop(family);
    drop(db);
    let db = Db::open(&options, DIR).unwrap();
    assert_eq!(rows_of(&db), ["a=beside", "b=beside", "m=after"]);
}

#[test]
fn secondaries_and_checkpoints_have_what_was_ingested() {
    let (_mem, options) = fresh();
    let db = Db::open(&options, DIR).unwrap();
    db.put(b"a", b"0").unwrap();
    let secondary = Db::open_as_secondary(&options, DIR, "/secondary").unwrap();
    let other = db.column_family("other").unwrap();
    let usual = IngestExternalFileOptions::default();
    for round in 1..4 {
        let value = format!("{round}");
        let file = write_file(
            &options,
            "1",
            &[&format!("a:{value}"), &format!("b{round}:{value}")],
        );
        let beside = write_file(&options, "2", &[&format!("x:{value}")]);
        let family = db.default_column_family();
        db.ingest_external_files(&[
            IngestExternalFileArg::new(&family, [file], usual.clone()),
            IngestExternalFileArg::new(&other, [beside], usual.clone()),
        ])
        .unwrap();
        secondary.try_catch_up_with_primary().unwrap();
        assert_eq!(dump(&secondary).unwrap(), dump(&db).unwrap(), "round {round}");
        db.put(b"in memory", value.as_bytes()).unwrap();
        secondary.try_catch_up_with_primary().unwrap();
        assert_eq!(dump(&secondary).unwrap(), dump(&db).unwrap(), "round {round}");
    }
    db.create_checkpoint("/checkpoint", &esker::CheckpointOptions::default())
        .unwrap();
    let checkpoint = Db::open(&options, "/checkpoint").unwrap();
    assert_eq!(dump(&checkpoint).unwrap(), dump(&db).unwrap());
}

#[test]
fn a_snapshot_does_not_show_what_is_ingested_after_it() {
    let (_mem, options) = fresh();
    let db = Db::open(&options, DIR).unwrap();
    db.put(b"a", b"0").unwrap();
    let snapshot = db.snapshot();
    ingest(&db, &[write_file(&options, "1", &["b:1"])]).unwrap();
    assert_eq!(shape(&db, "default"), "L6 b..b@2");
    let mut read = ReadOptions {
        snapshot: Some(snapshot),
        ..ReadOptions::default()
    };
    let family = db.default_column_family();
    assert_eq!(db.get_cf_opt(&family, b"b", &read).unwrap(), None);
    assert!(db.get(b"b").unwrap().is_some());
    let mut iter = db.iter_cf_opt(&family, &read);
    iter.seek(b"b");
    assert!(!iter.valid());
    // With `snapshot_consistency` off, an ingestion becomes visible in existing snapshots.
    let careless = IngestExternalFileOptions {
        snapshot_consistency: false,
        ..IngestExternalFileOptions::default()
    };
    db.ingest_external_file(&[write_file(&options, "2", &["c:2"])], &careless)
        .unwrap();
    assert!(db.get_cf_opt(&family, b"c", &read).unwrap().is_some());
    read.snapshot = Some(db.snapshot());
    assert!(db.get_cf_opt(&family, b"b", &read).unwrap().is_some());
}

/// An ingestion waits for files that another job moves to a new level meanwhile.
#[test]
fn files_that_change_their_level_meanwhile_are_waited_for() {
    let mem = MemFs::new();
    mem.create_dir_all(Path::new(OUTSIDE)).unwrap();
    let faults = FaultFs::new(Arc::new(mem));
    let mut options = options(Arc::new(faults.clone()));
    options.column_family.level_compaction_dynamic_level_bytes = false;
    options.column_family.disable_auto_compactions = true;
    let file = write_file(&options, "f", &["m:new"]);
    let db = Arc::new(Db::open(&options, DIR).unwrap());
    db.put(b"a", b"1").unwrap();
    db.put(b"z", b"1").unwrap();
    db.flush().unwrap();
    // While the ingestion looks for overlapping keys, another thread is about to move the file that the
    // ingestion reads.
    let promotion: Arc<Mutex<Option<JoinHandle<esker::Result<()>>>>> = Arc::default();
    let hook = {
        let (db, promotion) = (db.clone(), promotion.clone());
        move |_: Op, path: &Path| {
            let mut promotion = promotion.lock().unwrap();
            if promotion.is_some() || !path.starts_with(DIR) {
                return;
            }
            let moved = db.clone();
            *promotion = Some(std::thread::spawn(move || {
                moved.promote_l0(&moved.default_column_family(), 2)
            }));
            while db.property_int(&db.default_column_family(), "rocksdb.num-running-compactions") != Some(1) {
                std::thread::yield_now();
            }
        }
    };
    let rule = faults.add(Rule::new(Action::Call(Arc::new(hook))).on([Op::Read]));
    ingest(&db, &[file]).unwrap();
    faults.remove_rule(rule);
    promotion.lock().unwrap().take().unwrap().join().unwrap().unwrap();
    assert_eq!(shape(&db, "default"), "L2 a..z@2, L6 m..m@0");
    assert_eq!(rows_of(&db), ["a=1", "m=new", "z=1"]);
}

#[test]
fn random_ingestions_read_as_a_map_does() {
    let mut rng = testkit::rng();
    for _ in 0..12 {
        random_history(&mut rng);
    }
}

fn key(rng: &mut TestRng) -> Vec<u8> {
    format!("k{:03}", rng.u32(..120)).into_bytes()
}

fn random_history(rng: &mut TestRng) {
    let (mem, mut options) = fresh();
    let family = &mut options.column_family;
    family.level_compaction_dynamic_level_bytes = rng.bool();
    family.compaction_style = *rng.pick(&[
        esker::CompactionStyle::Level,
        esker::CompactionStyle::Universal,
        esker::CompactionStyle::Fifo,
    ]);
    family.cf_allow_ingest_behind =
        family.compaction_style == esker::CompactionStyle::Universal && rng.bool();
    family.table.format_version = rng.u32(2..=7);
    family.table.index_type = *rng.pick(&[esker::IndexType::BinarySearch, esker::IndexType::TwoLevel]);
    family.write_buffer_size = *rng.pick(&[4 << 10, 64 << 10]);
    options.file_checksum_gen_factory =
        *rng.pick(&[FileChecksumGenFactory::None, FileChecksumGenFactory::Crc32c]);
    let mut db = Db::open(&options, DIR).unwrap();
    let mut rows = Rows::new();
    let mut snapshots: Vec<(Snapshot, Rows)> = Vec::new();
    for step in 0..60 {
        match rng.u32(..12) {
            0..4 => {
                for _ in 0..rng.u32(1..12) {
                    let (key, value) = (key(rng), rng.bytes(10));
                    db.put(&key, &value).unwrap();
                    rows.insert(key, value);
                }
            }
            4 => {
                let (from, to) = (key(rng), key(rng));
                if from < to {
                    let family = db.default_column_family();
                    db.delete_range_cf(&family, &from, &to).unwrap();
                    rows.retain(|key, _| *key < from || *key >= to);
                }
            }
            5 => db.flush().unwrap(),
            6 if rng.one_in(3) => {
                let family = db.default_column_family();
                db.compact_range_cf(&family, None, None).unwrap();
            }
            6 => {
                let mut level_0 = db.live_files();
                level_0.retain(|file| file.level == 0);
                let numbers: Vec<u64> = level_0.iter().map(|file| file.number).collect();
                let chosen = &numbers[..rng.usize(..=numbers.len())];
                let family = db.default_column_family();
                // The result is ignored: the compaction fails if some files are in another compaction or do
                // not exist any more.
                let _ = db.compact_files(&family, chosen, 0, &esker::CompactFilesOptions::default());
            }
            7 => snapshots.push((db.snapshot(), rows.clone())),
            8 if rng.one_in(3) => {
                snapshots.clear();
                drop(db);
                db = Db::open(&options, DIR).unwrap();
            }
            9.. => ingest_randomly(rng, &db, &options, &mut rows, step),
            _ => snapshots.truncate(1),
        }
        if rng.one_in(4) {
            assert_eq!(dump(&db).unwrap()["default"], rows, "step {step}");
            for (snapshot, rows) in &snapshots {
                assert_eq!(&rows_at(&db, snapshot), rows, "a snapshot at step {step}");
            }
        }
    }
    assert_eq!(dump(&db).unwrap()["default"], rows);
    assert_eq!(files::check(&db).unwrap(), "");
    db.verify_checksum().unwrap();
    db.wait_for_compact().unwrap();
    drop((db, snapshots));
    assert_eq!(strays(&mem, Db::open(&options, DIR).unwrap()), [""; 0]);
}

fn rows_at(db: &Db, snapshot: &Snapshot) -> Rows {
    let read = ReadOptions {
        snapshot: Some(snapshot.clone()),
        ..ReadOptions::default()
    };
    let family = db.default_column_family();
    let mut iter = db.iter_cf_opt(&family, &read);
    let mut rows = Rows::new();
    iter.seek_to_first();
    while iter.valid() {
        let got = db.get_cf_opt(&family, iter.key(), &read).unwrap();
        assert_eq!(got.as_deref(), Some(iter.value()));
        rows.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().unwrap();
    rows
}

/// Ingests up to three files, which may overlap each other and all existing rows.
fn ingest_randomly(rng: &mut TestRng, db: &Db, options: &Options, rows: &mut Rows, step: u32) {
    let mut files = Vec::new();
    for nth in 0..rng.u32(1..=3) {
        let path = Path::new(OUTSIDE).join(format!("{step}-{nth}.sst"));
        let mut writer = if rng.bool() {
            SstFileWriter::new(options)
        } else {
            SstFileWriter::for_column_family(options, &db.default_column_family())
        };
        writer.open(&path).unwrap();
        let mut points: Rows = (0..rng.u32(..20)).map(|_| (key(rng), rng.bytes(8))).collect();
        if rng.bool() {
            // The ingested file has rows in one contiguous range.
            let from = key(rng);
            points = points.split_off(&from);
        }
        for _ in 0..rng.u32(..2) {
            let (from, to) = (key(rng), key(rng));
            if from < to {
                writer.delete_range(&from, &to).unwrap();
                rows.retain(|key, _| *key < from || *key >= to);
            }
        }
        for (key, value) in points {
            match rng.u32(..6) {
                0 => {
                    writer.delete(&key).unwrap();
                    rows.remove(&key);
                }
                1 => {
                    writer.merge(&key, &value).unwrap();
                    let old = rows.remove(&key).map(|old| [&old[..], b","].concat());
                    rows.insert(key, [old.unwrap_or_default(), value].concat());
                }
                _ => {
                    writer.put(&key, &value).unwrap();
                    rows.insert(key, value);
                }
            }
        }
        match writer.finish() {
            Ok(info) => {
                assert_eq!(info.file_size, options.fs.size(&path).unwrap());
                files.push(path);
            }
            Err(error) => assert_eq!(error.message(), "Cannot create sst file with no entries"),
        }
    }
    if files.is_empty() {
        return;
    }
    let (move_files, link_files) = *rng.pick(&[(true, false), (false, true), (false, false)]);
    let ingestion = IngestExternalFileOptions {
        move_files,
        link_files,
        verify_checksums_before_ingest: rng.bool(),
        write_global_seqno: rng.one_in(4),
        fill_cache: rng.bool(),
        ..IngestExternalFileOptions::default()
    };
    let family = db.default_column_family();
    if rng.bool() {
        db.ingest_external_file(&files, &ingestion).unwrap();
    } else {
        // The files are prepared first, and committed in the order of their handles.
        let handles = files
            .iter()
            .map(|file| {
                let arg = IngestExternalFileArg::new(&family, [file], ingestion.clone());
                db.prepare_file_ingestion(&[arg]).unwrap()
            })
            .collect();
        db.commit_file_ingestion_handles(handles).unwrap();
    }
    for file in files {
        assert_eq!(options.fs.exists(&file).unwrap(), !move_files);
    }
}

#[test]
fn a_writer_takes_keys_in_order_and_says_what_it_wrote() {
    let (mem, options) = fresh();
    let mut writer = SstFileWriter::new(&options);
    let refused = |result: esker::Result<()>, text: &str| {
        let error = result.unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::InvalidArgument, text)
        );
    };
    refused(writer.put(b"a", b""), "File is not opened");
    refused(writer.finish().map(drop), "File is not opened");
    writer.open("/outside/1").unwrap();
    refused(writer.open("/outside/2"), "File is already opened");
    refused(
        writer.finish().map(drop),
        "Cannot create sst file with no entries",
    );
    writer.delete_range(b"x", b"z").unwrap();
    writer.delete_range(b"d", b"y").unwrap();
    writer.delete_range(b"e", b"e").unwrap();
    refused(writer.delete_range(b"f", b"e"), "end key comes before start key");
    writer.put(b"b", b"1").unwrap();
    for disorder in [
        writer.put(b"b", b"2"),
        writer.delete(b"a"),
        writer.merge(b"", b"x"),
    ] {
        refused(disorder, "Keys must be added in strict ascending order.");
    }
    writer.single_delete(b"c").unwrap();
    writer.put_entity(b"e", &[(b"y", b"2"), (b"x", b"1")]).unwrap();
    assert!(writer.file_size() > 0);
    let info = writer.finish().unwrap();
    assert_eq!(info.file_size, mem.size(&info.file_path).unwrap());
    let keys = [
        &info.smallest_key,
        &info.largest_key,
        &info.smallest_range_del_key,
        &info.largest_range_del_key,
    ];
    assert_eq!(keys, [b"b", b"e", b"d", b"z"]);
    assert_eq!(
        (info.num_entries, info.num_range_del_entries, info.version),
        (3, 2, 2)
    );
    assert_eq!(writer.file_size(), 0);
    // A file that was not finished does not exist.
    writer.open("/outside/2").unwrap();
    drop(writer);
    assert_eq!(mem.list(Path::new(OUTSIDE)).unwrap(), ["1"]);
}

#[test]
fn a_file_that_was_linked_is_not_written_over() {
    let (_mem, options) = fresh();
    let db = Db::open(&options, DIR).unwrap();
    let linked = IngestExternalFileOptions {
        link_files: true,
        ..IngestExternalFileOptions::default()
    };
    let file = write_file(&options, "f", &["a:1", "b:1"]);
    db.ingest_external_file(&[&file], &linked).unwrap();
    let file = write_file(&options, "f", &["c:2"]);
    db.verify_checksum().unwrap();
    db.ingest_external_file(&[&file], &linked).unwrap();
    assert_eq!(rows_of(&db), ["a=1", "b=1", "c=2"]);
    drop(db);
    assert_eq!(rows_of(&Db::open(&options, DIR).unwrap()), ["a=1", "b=1", "c=2"]);
}

#[test]
fn a_handle_that_is_dropped_leaves_nothing() {
    let (mem, options) = fresh();
    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    let file = write_file(&options, "1", &["a:1"]);
    let arg = IngestExternalFileArg::new(&family, [&file], IngestExternalFileOptions::default());
    let prepare = || db.prepare_file_ingestion(std::slice::from_ref(&arg)).unwrap();
    let handle = prepare();
    assert_eq!(tables_in(&mem).len(), 1);
    handle.abort().unwrap();
    drop(prepare());
    assert_eq!(tables_in(&mem), [""; 0]);
    assert_eq!(dump(&db).unwrap()["default"].len(), 0);
    // A file prepared by another database is refused.
    let other = Db::open(&options, "/other").unwrap();
    let error = other.commit_file_ingestion_handle(prepare()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    // After a close the directory may belong to another process.
    let handle = prepare();
    db.close().unwrap();
    assert_eq!(
        db.commit_file_ingestion_handle(handle).unwrap_err().kind(),
        ErrorKind::ShutdownInProgress
    );
    drop(db);
    assert_eq!(tables_in(&mem).len(), 1);
    drop(Db::open(&options, DIR).unwrap());
    assert_eq!(tables_in(&mem), [""; 0]);
}

#[test]
fn tables_of_a_database_keep_their_sequence_numbers() {
    let (_mem, options) = fresh();
    let source = Db::open(&options, "/source").unwrap();
    for round in 0..3 {
        for i in 0..20 {
            source
                .put(format!("k{i:02}").as_bytes(), format!("{round}").as_bytes())
                .unwrap();
        }
        source.delete(b"k05").unwrap();
        flush(&source);
    }
    let expected = dump(&source).unwrap();
    let mut tables = source.live_files();
    // The tables are ingested in the order from the oldest to the newest.
    tables.sort_by_key(|file| (std::cmp::Reverse(file.level), file.largest_seqno));
    let paths: Vec<PathBuf> = tables.into_iter().map(|file| file.path).collect();
    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    let ingestion = IngestExternalFileOptions {
        allow_db_generated_files: true,
        link_files: true,
        snapshot_consistency: false,
        ..IngestExternalFileOptions::default()
    };
    db.ingest_external_file_cf(&family, &paths, &ingestion).unwrap();
    assert_eq!(dump(&db).unwrap()["default"], expected["default"]);
    assert_eq!(db.latest_sequence_number(), source.latest_sequence_number());
    db.put(b"k00", b"newer").unwrap();
    db.compact_range_cf(&family, None, None).unwrap();
    assert_eq!(db.get(b"k00").unwrap().as_deref(), Some(&b"newer"[..]));
    assert_eq!(db.get(b"k05").unwrap(), None);
    assert_eq!(files::check(&db).unwrap(), "");
}

#[test]
fn families_with_timestamps_take_files_that_overlap_nothing() {
    let (_mem, mut options) = fresh();
    options.column_family.comparator = UserComparator::BytewiseU64Ts;
    options.column_family.merge_operator = None;
    options.column_families.clear();
    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    let at = |key: &str, timestamp: u64| [key.as_bytes(), &timestamp.to_le_bytes()].concat();
    let write = |name: &str, keys: &[(&str, u64)]| {
        let path = Path::new(OUTSIDE).join(name);
        let mut writer = SstFileWriter::new(&options);
        writer.open(&path).unwrap();
        for (key, timestamp) in keys {
            writer.put(&at(key, *timestamp), b"v").unwrap();
        }
        writer.finish().unwrap();
        path
    };
    ingest(&db, &[write("1", &[("a", 9), ("a", 5), ("b", 7)])]).unwrap();
    let read = |timestamp: u64, key: &[u8]| {
        let read = ReadOptions {
            timestamp: Some(timestamp.to_le_bytes().to_vec()),
            ..ReadOptions::default()
        };
        db.get_cf_opt(&family, key, &read).unwrap().is_some()
    };
    assert!(read(5, b"a") && read(9, b"a") && !read(4, b"a") && !read(6, b"b"));
    let error = ingest(&db, &[write("2", &[("b", 99)])]).unwrap_err();
    assert!(error.to_string().contains("user-defined timestamps"), "{error}");
    db.put(at("c", 3), b"v").unwrap();
    let error = ingest(&db, &[write("3", &[("c", 99)])]).unwrap_err();
    assert!(error.to_string().contains("memtables"), "{error}");
    let error = ingest(&db, &[write("4", &[("d", 9)]), write("5", &[("d", 8)])]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
}
