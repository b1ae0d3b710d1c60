//! Families that are flushed together: after a crash, a batch without a WAL is there in all families or in
//! none.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use base::sync::Mutex;
use dbtest::crash::{any_loss, images_of_changes};
use dbtest::events::Recorder;
use dbtest::gate::{Gate, OpensOnDrop};
use esker::{
    ColumnFamily, ColumnFamilyOptions, Db, ErrorKind, Event, FlushOptions, IngestExternalFileOptions,
    NullLogger, Options, SstFileWriter, WriteBatch, WriteOptions,
};
use tempfile::TempDir;
use testkit::{Task, oracle, receive};
use vfs::layer::{Call, Layer};
use vfs::{FaultFs, FileSystem, MemFs, Op, PosixFs};

const DIR: &str = "/db";
const FAMILIES: [&str; 3] = ["default", "one", "two"];

fn options(fs: Arc<dyn FileSystem>) -> Options {
    Options {
        atomic_flush: true,
        create_if_missing: true,
        column_family: ColumnFamilyOptions {
            write_buffer_size: 64 << 10,
            min_write_buffer_number_to_merge: 2,
            max_write_buffer_number: 4,
            ..ColumnFamilyOptions::default()
        },
        // There is no info log: each of its lines would be one more moment for a crash.
        info_log: Some(Arc::new(NullLogger)),
        fs,
        ..Options::default()
    }
}

/// Opens a database with all families.
fn open(options: &Options, dir: &Path) -> Db {
    let db = Db::open(options, dir).unwrap();
    for name in &FAMILIES[1..] {
        if db.column_family(name).is_none() {
            db.create_column_family(name, &options.column_family).unwrap();
        }
    }
    db
}

fn families(db: &Db) -> Vec<ColumnFamily> {
    let named = FAMILIES.iter().filter_map(|name| db.column_family(name));
    named.collect()
}

/// Writes `number` to every family in one batch without a WAL, with `more` additional bytes in one of them.
fn write(db: &Db, number: u64, more: usize) -> base::Result<()> {
    let unlogged = WriteOptions {
        disable_wal: true,
        ..WriteOptions::default()
    };
    let mut batch = WriteBatch::new();
    for (at, family) in families(db).iter().enumerate() {
        batch.put_cf(family, b"number", &number.to_le_bytes());
        if at as u64 == number % 3 {
            batch.put_cf(family, format!("long{number:05}").as_bytes(), &vec![b'v'; more]);
        }
    }
    db.write_opt(batch, &unlogged)
}

/// The number that [`write`] has put into each family; 0 if there is none.
fn numbers(db: &Db) -> Vec<u64> {
    let families = families(db);
    let numbers = families.iter().map(|family| {
        let value = db.get_cf(family, b"number").unwrap();
        value.map_or(0, |value| u64::from_le_bytes(value[..8].try_into().unwrap()))
    });
    numbers.collect()
}

/// Opens the database after a crash and returns the number that all families have.
fn common_number(image: MemFs) -> u64 {
    let db = Db::open(&options(Arc::new(image)), DIR).unwrap();
    let found = numbers(&db);
    assert!(
        found.windows(2).all(|two| two[0] == two[1]),
        "half of a batch: {found:?}"
    );
    found[0]
}

#[test]
fn a_crash_leaves_a_batch_in_all_families_or_in_none() {
    let mem = MemFs::new();
    let faults = FaultFs::new(Arc::new(mem.clone()));
    let db = open(&options(Arc::new(faults.clone())), Path::new(DIR));
    let ((), images) = images_of_changes(&mem, &faults, 20, || {
        for number in 1..=75 {
            // Eight of these writes fill a memtable, of one family earlier than of the others.
            write(&db, number, 16 << 10).unwrap();
            match number {
                10 => db.flush_cf(&families(&db)).unwrap(),
                // The compaction flushes its family, and `atomic_flush` makes it flush the other families
                // too.
                20 => db.compact_range(None, None).unwrap(),
                _ => {}
            }
        }
        // A close flushes rows without a WAL.
        db.close().unwrap();
    });
    assert!(images.len() > 50, "{}", images.len());
    let mut found: Vec<u64> = Vec::new();
    for [lost, left] in images {
        found.push(common_number(left));
        // The state after a loss of power changes little from one moment to the next, so only every third
        // state is checked.
        if found.len().is_multiple_of(3) {
            common_number(lost);
        }
    }
    assert!(found.is_sorted(), "what was flushed stays: {found:?}");
    assert!(found.contains(&10) && found.contains(&20), "{found:?}");
    assert_eq!(
        common_number(any_loss(&mem, &mut base::env::Rng::with_seed(21))),
        75
    );
    found.dedup();
    assert!(found.len() > 5, "flushes that begin by themselves: {found:?}");
}

/// The path of the only MANIFEST, and its contents.
fn manifest(fs: &dyn FileSystem, dir: &Path) -> (PathBuf, Vec<u8>) {
    let names = fs.list(dir).unwrap();
    let mut manifests = names.iter().filter(|name| name.starts_with("MANIFEST"));
    let path = dir.join(manifests.next().unwrap());
    assert!(manifests.next().is_none());
    let bytes = fs.read_file(&path).unwrap();
    (path, bytes)
}

#[test]
fn recovery_drops_a_group_that_is_not_whole() {
    let fs = MemFs::new();
    let db = open(&options(Arc::new(fs.clone())), Path::new(DIR));
    for number in [1, 2] {
        write(&db, number, 100).unwrap();
        if number == 1 {
            db.flush_cf(&families(&db)).unwrap();
        }
    }
    // The MANIFEST that the open replaced is deleted in the background.
    db.wait_for_purge().unwrap();
    let (path, before) = manifest(&fs, Path::new(DIR));
    db.flush_cf(&families(&db)).unwrap();
    let (_, after) = manifest(&fs, Path::new(DIR));
    let image = fs.process_death_clone();
    drop(db);
    assert!(after.starts_with(&before) && after.len() - before.len() > 3 * 30);
    for len in before.len()..=after.len() {
        let cut = image.process_death_clone();
        cut.truncate(&path, len as u64).unwrap();
        let expected = if len == after.len() { 2 } else { 1 };
        assert_eq!(common_number(cut), expected, "{len} of {} bytes", after.len());
    }
}

#[test]
fn pipelined_writes_are_refused_beside_it() {
    let mut options = options(Arc::new(MemFs::new()));
    options
        .kept_options
        .insert("enable_pipelined_write".to_owned(), "1".to_owned());
    let refused = Db::open(&options, DIR).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        refused.message(),
        "atomic_flush is incompatible with enable_pipelined_write"
    );
    options.atomic_flush = false;
    Db::open(&options, DIR).unwrap();
}

#[test]
fn a_flush_can_ask_for_it() {
    let mem = MemFs::new();
    let faults = FaultFs::new(Arc::new(mem.clone()));
    let mut options = options(Arc::new(faults.clone()));
    options.atomic_flush = false;
    let db = open(&options, Path::new(DIR));
    let together = FlushOptions {
        force_atomic_flush: true,
        ..FlushOptions::default()
    };
    let ((), images) = images_of_changes(&mem, &faults, 22, || {
        for number in 1..=3 {
            write(&db, number, 100).unwrap();
            db.flush_cf_opt(&families(&db), &together).unwrap();
        }
    });
    for [lost, left] in images {
        common_number(lost);
        common_number(left);
    }
    assert_eq!(common_number(mem.process_death_clone()), 3);
}

type Then = Box<dyn FnOnce() + Send>;

/// A file system that calls a function when a certain number of tables has been created.
#[derive(Clone)]
struct AtTable {
    fs: MemFs,
    created: Arc<AtomicUsize>,
    at: usize,
    then: Arc<Mutex<Option<Then>>>,
}

impl std::fmt::Debug for AtTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AtTable")
    }
}

impl Layer for AtTable {
    fn below(&self) -> &dyn FileSystem {
        &self.fs
    }

    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> base::Result<T>) -> base::Result<T> {
        let is_table = call.path.extension().is_some_and(|name| name == "sst");
        if call.op == Op::Create && is_table && self.created.fetch_add(1, Ordering::SeqCst) == self.at {
            let then = self.then.lock().take();
            then.into_iter().for_each(|then| then());
        }
        perform()
    }
}

#[test]
fn a_family_that_is_dropped_meanwhile_does_not_keep_the_others() {
    let fs = AtTable {
        fs: MemFs::new(),
        created: Arc::default(),
        at: 2,
        then: Arc::default(),
    };
    let db = open(&options(Arc::new(fs.clone())), Path::new(DIR));
    write(&db, 1, 100).unwrap();
    let other = db.clone();
    *fs.then.lock() = Some(Box::new(move || {
        let one = other.column_family("one").unwrap();
        other.drop_column_family(&one).unwrap();
    }));
    let flushed = db.flush_cf(&families(&db));
    assert_eq!(flushed.unwrap_err().kind(), ErrorKind::ColumnFamilyDropped);
    db.put(b"goes", b"on").unwrap();
    db.wait_for_purge().unwrap();
    let image = fs.fs.process_death_clone();
    drop(db);
    let names = image.list(Path::new(DIR)).unwrap();
    assert_eq!(names.iter().filter(|name| name.ends_with(".sst")).count(), 2);
    assert_eq!(common_number(image), 1);
}

/// While one family is being flushed alone, a flush of all families is requested: none of them is flushed
/// before the others.
#[test]
fn a_family_waits_for_those_it_is_to_be_flushed_with() {
    let fs = AtTable {
        fs: MemFs::new(),
        created: Arc::default(),
        at: 0,
        then: Arc::default(),
    };
    let events = Recorder::events();
    let mut options = options(Arc::new(fs.clone()));
    options.atomic_flush = false;
    options.column_family.min_write_buffer_number_to_merge = 1;
    options.max_background_jobs = 8;
    options.listeners = vec![events.clone()];
    let db = open(&options, Path::new(DIR));
    let (leave, may_leave) = std::sync::mpsc::channel::<()>();
    *fs.then.lock() = Some(Box::new(move || may_leave.recv().unwrap()));
    let flush = FlushOptions {
        wait: false,
        ..FlushOptions::default()
    };
    db.put(b"first", b"row").unwrap();
    db.flush_cf_opt(&[db.default_column_family()], &flush).unwrap();
    testkit::wait_until("the first table", || fs.created.load(Ordering::SeqCst) == 1);
    write(&db, 1, 100).unwrap();
    let together = FlushOptions {
        force_atomic_flush: true,
        ..flush
    };
    db.flush_cf_opt(&families(&db), &together).unwrap();
    // Another thread has no work except flushes of the other families, and must not begin one.
    for _ in 0..200 {
        std::thread::yield_now();
        assert!(db.live_files().is_empty());
    }
    leave.send(()).unwrap();
    let jobs = || -> Vec<u64> {
        let all = events.all().into_iter().filter_map(|event| match event {
            Event::Flushed { job, .. } => Some(job),
            _ => None,
        });
        all.collect()
    };
    testkit::wait_until("all are flushed", || jobs().len() == 4);
    let jobs = jobs();
    assert!(jobs[0] != jobs[1] && jobs[1..] == [jobs[1]; 3], "{jobs:?}");
}

/// Writes a batch without a WAL into three families, flushes them together, does so again, and exits without
/// closing the database; prints the length of the MANIFEST in between. With `read` it prints the number in
/// each family.
const SCRIPT: &str = r#"
import ctypes, os, sys
lib = ctypes.CDLL("librocksdb.so.7.8")
P, S, L, I = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int
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
flag = lambda object, name, value: fn(name, None, P, ctypes.c_ubyte)(object, value)
options = fn("options_create", P)()
flag(options, "options_set_create_if_missing", 1)
flag(options, "options_set_create_missing_column_families", 1)
flag(options, "options_set_atomic_flush", 1)
names = (S * 3)(b"default", b"one", b"two")
handles = (P * 3)()
db = fn("open_column_families", P, P, S, I, P, P, P, E)(
    options, sys.argv[2].encode(), 3, names, (P * 3)(options, options, options), handles)
fn("disable_file_deletions", None, P, E)(db)
if sys.argv[1] == "read":
    read = fn("readoptions_create", P)()
    for handle in handles:
        length = L()
        get = fn("get_cf", P, P, P, P, S, L, ctypes.POINTER(L), E)
        value = get(db, read, handle, b"number", 6, ctypes.byref(length))
        print(int.from_bytes(ctypes.string_at(value, length.value), "little") if value else 0)
else:
    write = fn("writeoptions_create", P)()
    fn("writeoptions_disable_WAL", None, P, I)(write, 1)
    for number in (1, 2):
        batch = fn("writebatch_create", P)()
        for handle in handles:
            fn("writebatch_put_cf", None, P, P, S, L, S, L)(
                batch, handle, b"number", 6, number.to_bytes(8, "little"), 8)
        fn("write", None, P, P, P, E)(db, write, batch)
        # It flushes all families for the sake of one.
        fn("compact_range_cf", None, P, P, S, L, S, L)(db, handles[0], None, 0, None, 0)
        if number == 1:
            manifest = [name for name in os.listdir(sys.argv[2]) if name.startswith("MANIFEST")][0]
            print(os.path.getsize(os.path.join(sys.argv[2], manifest)))
sys.stdout.flush()
os._exit(0)
"#;

fn rocksdb(verb: &str, dir: &Path) -> Option<Vec<u64>> {
    let mut python = oracle::librocksdb()?;
    let said = python.args(["-c", SCRIPT, verb]).arg(dir).output().unwrap();
    assert!(
        said.status.success(),
        "{verb}: {}",
        String::from_utf8_lossy(&said.stderr)
    );
    let said = String::from_utf8(said.stdout).unwrap();
    Some(said.lines().map(|line| line.parse().unwrap()).collect())
}

fn copy_of(dir: &Path) -> TempDir {
    let copy = TempDir::new().unwrap();
    for file in std::fs::read_dir(dir).unwrap() {
        let file = file.unwrap().path();
        if file.is_file() {
            std::fs::copy(&file, copy.path().join(file.file_name().unwrap())).unwrap();
        }
    }
    copy
}

/// Lengths at which a MANIFEST of `from` to `to` bytes is cut: some near its ends, and some in between.
fn cuts(from: u64, to: u64) -> impl Iterator<Item = u64> {
    let step = ((to - from) / 5).max(1) as usize;
    (from..to).step_by(step).chain([to - 1, to])
}

#[test]
fn rocksdb_reads_our_groups_whole_or_not_at_all() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    let db = open(&options(Arc::new(PosixFs::new())), &path);
    // The MANIFEST that the open replaced is deleted in the background.
    db.wait_for_purge().unwrap();
    let mut len = 0;
    for number in [1, 2] {
        len = manifest(&PosixFs::new(), &path).1.len() as u64;
        write(&db, number, 100).unwrap();
        db.flush_cf(&families(&db)).unwrap();
    }
    let whole = copy_of(&path);
    drop(db);
    let (manifest, bytes) = manifest(&PosixFs::new(), whole.path());
    let manifest = manifest.file_name().unwrap().to_owned();
    for cut in cuts(len, bytes.len() as u64) {
        let copy = copy_of(whole.path());
        std::fs::write(copy.path().join(&manifest), &bytes[..cut as usize]).unwrap();
        let expected = if cut == bytes.len() as u64 { 2 } else { 1 };
        let Some(found) = rocksdb("read", copy.path()) else {
            return;
        };
        assert_eq!(found, [expected; 3], "{cut} of {} bytes", bytes.len());
    }
}

#[test]
fn we_read_rocksdbs_groups_whole_or_not_at_all() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    let Some(len) = rocksdb("write", &path) else {
        return;
    };
    let (manifest, bytes) = manifest(&PosixFs::new(), &path);
    let manifest = manifest.file_name().unwrap().to_owned();
    let options = options(Arc::new(PosixFs::new()));
    let mut all = Vec::new();
    for cut in cuts(len[0], bytes.len() as u64) {
        let copy = copy_of(&path);
        std::fs::write(copy.path().join(&manifest), &bytes[..cut as usize]).unwrap();
        let db = Db::open(&options, copy.path()).unwrap();
        let found = numbers(&db);
        assert_eq!(found, [found[0]; 3], "{cut} of {} bytes", bytes.len());
        all.push(found[0]);
        // After RocksDB has used the database, Esker can write to it again.
        write(&db, 3, 10).unwrap();
        db.flush_cf(&families(&db)).unwrap();
        db.close().unwrap();
        assert_eq!(rocksdb("read", copy.path()).unwrap(), [3; 3]);
    }
    assert!(all.is_sorted() && all[..2] == [1; 2], "{all:?}");
    assert_eq!(all.last(), Some(&2));
}

#[test]
fn an_ingestion_waits_for_a_running_flush_of_older_rows() {
    for atomic_flush in [true, false] {
        let gate = Gate::closed();
        let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
        let mut options = Options {
            atomic_flush,
            ..options(fs)
        };
        options
            .listeners
            .push(gate.listener(|event| matches!(event, Event::FlushBegun { .. })));
        let db = open(&options, Path::new(DIR));
        let mut writer = SstFileWriter::new(&options);
        writer.open("/file.sst").unwrap();
        writer.put(b"key", b"new").unwrap();
        writer.finish().unwrap();
        db.put(b"key", b"old").unwrap();
        thread::scope(|scope| {
            let _opens = OpensOnDrop(gate.clone());
            let flush = scope.spawn(|| db.flush());
            gate.wait_for(1);
            let ((begin, begun), (end, ended), (go, going)) = (channel(), channel(), channel());
            let ingestion = scope.spawn({
                let db = &db;
                move || {
                    begin.send(Task::current()).unwrap();
                    let ingested =
                        db.ingest_external_file(&["/file.sst"], &IngestExternalFileOptions::default());
                    end.send(()).unwrap();
                    going.recv().unwrap();
                    ingested
                }
            });
            receive("the ingestion", &begun).wait_until_asleep();
            let has_ended = ended.try_recv().is_ok();
            go.send(()).unwrap();
            assert!(!has_ended, "the ingestion did not wait");
            gate.open();
            flush.join().unwrap().unwrap();
            ingestion.join().unwrap().unwrap();
        });
        assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"new"[..]));
        db.close().unwrap();
        assert_eq!(
            open(&options, Path::new(DIR)).get(b"key").unwrap().as_deref(),
            Some(&b"new"[..])
        );
    }
}
