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
use dbtest::crash::dump;
use dbtest::files;
use esker::{
    ColumnFamilyOptions, CompressionType, Db, ErrorKind, FileChecksumGenFactory, FilterPolicy,
    IngestExternalFileArg, IngestExternalFileOptions, Options, RangeOpt, ReadOptions, Snapshot,
    SstFileWriter,
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
fn a_writer_writes_one_file_at_a_time() {
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
    writer.put(b"b", b"1").unwrap();
    writer.put_entity(b"e", &[(b"y", b"2"), (b"x", b"1")]).unwrap();
    assert!(writer.file_size() > 0);
    let info = writer.finish().unwrap();
    assert_eq!(info.file_size, mem.size(&info.file_path).unwrap());
    assert_eq!([&info.smallest_key, &info.largest_key], [b"b", b"e"]);
    assert_eq!(writer.file_size(), 0);
    // A file that was not finished does not exist.
    writer.open("/outside/2").unwrap();
    drop(writer);
    assert_eq!(mem.list(Path::new(OUTSIDE)).unwrap(), ["1"]);
}

#[test]
fn a_handle_of_a_closed_database_leaves_its_file_to_the_next_open() {
    let (mem, options) = fresh();
    let db = Db::open(&options, DIR).unwrap();
    let family = db.default_column_family();
    let file = write_file(&options, "1", &["a:1"]);
    let arg = IngestExternalFileArg::new(&family, [&file], IngestExternalFileOptions::default());
    let prepare = || db.prepare_file_ingestion(std::slice::from_ref(&arg)).unwrap();
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
