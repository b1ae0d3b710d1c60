//! Rows with a time to live: for all rows of a family as in RocksDB, and for each key.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::merge::builtin;
use dbtest::by_hand::flush;
use dbtest::events::Recorder;
use esker::{
    BottommostLevelCompaction, ColumnFamily, CompactRangeOptions, CompactionFilter, CompactionFilterFactory,
    Db, DbWithTtl, Decision, ErrorKind, Event, FamilyTtl, FilterContext, ManualClock, Options, ReadOptions,
    TtlOptions, ValueType, WriteBatch, WriteOptions,
};
use tempfile::TempDir;
use testkit::oracle;
use vfs::MemFs;

/// A start of the clock later than the earliest time that RocksDB accepts as a timestamp.
const START: Duration = Duration::from_secs(1_500_000_000);
const READ: fn() -> ReadOptions = ReadOptions::default;
const WRITE: fn() -> WriteOptions = WriteOptions::default;

fn options() -> (Options, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    clock.advance(START);
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        clock: clock.clone(),
        ..Options::default()
    };
    (options, clock)
}

fn by_key(default: Option<Duration>) -> TtlOptions {
    TtlOptions {
        default: FamilyTtl::PerKey(default),
        families: BTreeMap::new(),
        read_only: false,
    }
}

fn compact(db: &DbWithTtl, family: &ColumnFamily) {
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.db()
        .compact_range_cf_opt(family, None, None, &options)
        .unwrap();
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn rows_of_rocksdbs_kind_go_with_the_compaction_after_their_time() {
    let (mut options, clock) = options();
    options.column_family.merge_operator = builtin("stringappend");
    let db = DbWithTtl::open(&options, "/db", 10).unwrap();
    let family = db.db().default_column_family();
    db.put_cf_opt(&family, b"old", b"1", &WRITE()).unwrap();
    db.merge_cf_opt(&family, b"merged", b"a", &WRITE()).unwrap();
    let stored = db.db().get(b"old").unwrap().unwrap();
    assert_eq!(
        stored,
        [&b"1"[..], &(START.as_secs() as u32).to_le_bytes()].concat()
    );
    clock.advance(seconds(10));
    db.put_cf_opt(&family, b"new", b"2", &WRITE()).unwrap();
    db.merge_cf_opt(&family, b"merged", b"b", &WRITE()).unwrap();
    compact(&db, &family);
    let get = |key: &[u8]| db.get_cf_opt(&family, key, &READ()).unwrap();
    assert_eq!(get(b"old").unwrap(), b"1", "ten seconds are not more than ten");
    clock.advance(seconds(1));
    assert_eq!(get(b"old").unwrap(), b"1", "it is read until a compaction comes");
    compact(&db, &family);
    assert_eq!(get(b"old"), None);
    assert_eq!(get(b"new").unwrap(), b"2");
    assert_eq!(get(b"merged").unwrap(), b"a,b", "a merge made it new");
    db.set_ttl(&family, FamilyTtl::RocksDb(0)).unwrap();
    assert_eq!(db.ttl(&family).unwrap(), FamilyTtl::RocksDb(0));
    clock.advance(seconds(1000));
    compact(&db, &family);
    assert_eq!(get(b"new").unwrap(), b"2");
    let other = db.set_ttl(&family, FamilyTtl::PerKey(None)).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::InvalidArgument);
    // Without an operator in the options, the operator that the OPTIONS file names is used.
    drop(db);
    options.column_family.merge_operator = None;
    let db = DbWithTtl::open(&options, "/db", 10).unwrap();
    let family = db.db().default_column_family();
    db.merge_cf_opt(&family, b"merged", b"c", &WRITE()).unwrap();
    assert_eq!(
        db.get_cf_opt(&family, b"merged", &READ()).unwrap().unwrap(),
        b"a,b,c"
    );
}

#[test]
fn families_have_times_of_their_own() {
    let (options, clock) = options();
    let db = DbWithTtl::open(&options, "/db", 0).unwrap();
    let column_family = Options::default().column_family;
    let short = db
        .create_column_family("short", &column_family, FamilyTtl::RocksDb(5))
        .unwrap();
    let mixed = db
        .create_column_family("mixed", &column_family, FamilyTtl::PerKey(Some(seconds(5))))
        .unwrap();
    let default = db.db().default_column_family();
    let mut batch = WriteBatch::new();
    for family in [&default, &short, &mixed] {
        batch.put_cf(family, b"k", b"v");
        batch.put_cf(family, b"gone", b"v");
        batch.delete_cf(family, b"gone");
    }
    batch.delete_range_cf(&default, b"x", b"y");
    batch.put_log_data(b"note");
    db.write_opt(&batch, &WRITE()).unwrap();
    clock.advance(seconds(6));
    let get = |family| db.get_cf_opt(family, b"k", &READ()).unwrap();
    assert_eq!(get(&mixed), None);
    for family in [&default, &short, &mixed] {
        compact(&db, family);
        assert_eq!(db.get_cf_opt(family, b"gone", &READ()).unwrap(), None);
    }
    assert_eq!(get(&default).unwrap(), b"v");
    assert_eq!(get(&short), None);
    let plain = db.db().create_column_family("plain", &column_family).unwrap();
    let unknown = db.put_cf_opt(&plain, b"k", b"v", &WRITE()).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::InvalidArgument);
}

/// Compares scans in both directions, Gets and a MultiGet with the rows that have not expired.
fn check(db: &DbWithTtl, model: &BTreeMap<Vec<u8>, (Vec<u8>, u64)>, now: u64) {
    let family = db.db().default_column_family();
    let alive: Vec<(Vec<u8>, Vec<u8>)> = model
        .iter()
        .filter(|(_, (_, expires))| *expires == 0 || *expires > now)
        .map(|(key, (value, _))| (key.clone(), value.clone()))
        .collect();
    let mut iter = db.iter_cf_opt(&family, &READ()).unwrap();
    let mut forwards = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        forwards.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    assert_eq!(forwards, alive);
    iter.seek_to_last();
    for (key, value) in alive.iter().rev() {
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
        iter.prev();
    }
    assert!(!iter.valid());
    let keys: Vec<&Vec<u8>> = model.keys().collect();
    let found = db.multi_get_cf_opt(&family, &keys, &READ());
    for (key, found) in keys.iter().zip(found) {
        let wanted = alive.iter().find(|row| row.0 == **key).map(|row| row.1.clone());
        assert_eq!(found.unwrap(), wanted);
        assert_eq!(db.get_cf_opt(&family, key, &READ()).unwrap(), wanted);
    }
}

#[test]
fn no_read_returns_a_row_after_its_time() {
    let mut rng = testkit::rng();
    let (mut options, clock) = options();
    options.column_family.write_buffer_size = 4096;
    let ttl = by_key(Some(seconds(20)));
    let mut db = DbWithTtl::open_with(&options, "/db", &ttl).unwrap();
    let mut model: BTreeMap<Vec<u8>, (Vec<u8>, u64)> = BTreeMap::new();
    let mut now = START.as_micros() as u64;
    for step in 0..1200 {
        let family = db.db().default_column_family();
        let key = format!("key{:02}", rng.u32(..40)).into_bytes();
        let value = format!("value {step}").into_bytes();
        match rng.u32(..20) {
            0..6 => {
                db.put_cf_opt(&family, &key, &value, &WRITE()).unwrap();
                model.insert(key, (value, now + 20_000_000));
            }
            6..12 => {
                let ttl = Duration::from_micros(rng.u64(1..40_000_000));
                db.put_with_ttl_cf_opt(&family, &key, &value, ttl, &WRITE())
                    .unwrap();
                model.insert(key, (value, now + ttl.as_micros() as u64));
            }
            12 => {
                db.set_ttl(&family, FamilyTtl::PerKey(None)).unwrap();
                db.put_cf_opt(&family, &key, &value, &WRITE()).unwrap();
                db.set_ttl(&family, FamilyTtl::PerKey(Some(seconds(20)))).unwrap();
                model.insert(key, (value, 0));
            }
            13 => {
                let mut batch = WriteBatch::new();
                batch.put(&key, &value);
                db.write_with_ttl(&batch, seconds(3), &WRITE()).unwrap();
                model.insert(key, (value, now + 3_000_000));
            }
            14 => {
                db.delete_cf_opt(&family, &key, &WRITE()).unwrap();
                model.remove(&key);
            }
            15 | 16 => {
                let step = Duration::from_micros(rng.u64(..8_000_000));
                clock.advance(step);
                now += step.as_micros() as u64;
            }
            17 => flush(db.db()),
            18 => compact(&db, &family),
            _ if step % 10 == 0 => {
                drop(db);
                db = DbWithTtl::open_with(&options, "/db", &ttl).unwrap();
            }
            _ => {}
        }
        if step % 20 == 0 {
            check(&db, &model, now);
        }
    }
    check(&db, &model, now);
}

#[test]
fn an_expired_row_hides_older_ones_and_is_gone_for_snapshots_too() {
    let (options, clock) = options();
    let db = DbWithTtl::open_with(&options, "/db", &by_key(None)).unwrap();
    let family = db.db().default_column_family();
    db.put_cf_opt(&family, b"k", b"for good", &WRITE()).unwrap();
    flush(db.db());
    db.put_with_ttl_cf_opt(&family, b"k", b"for a while", seconds(5), &WRITE())
        .unwrap();
    let read = ReadOptions {
        snapshot: Some(db.db().snapshot()),
        ..READ()
    };
    let mut iter = db.iter_cf_opt(&family, &read).unwrap();
    iter.seek(b"k");
    assert_eq!(iter.ttl_timestamp(), START.as_micros() as u64 + 5_000_000);
    assert_eq!(
        db.get_cf_opt(&family, b"k", &read).unwrap().unwrap(),
        b"for a while"
    );
    clock.advance(seconds(5));
    assert_eq!(db.get_cf_opt(&family, b"k", &read).unwrap(), None);
    iter.seek(b"k");
    assert!(!iter.valid());
    drop((iter, read));
    for _ in 0..2 {
        compact(&db, &family);
        assert_eq!(db.get_cf_opt(&family, b"k", &READ()).unwrap(), None);
    }
    assert_eq!(db.db().get(b"k").unwrap(), None, "it is gone below, too");
}

/// A filter that sees values without their suffix, and changes some.
struct Shout;

impl CompactionFilter for Shout {
    fn filter(&mut self, _level: usize, _key: &[u8], _type: ValueType, value: &[u8]) -> Decision {
        match value {
            b"drop" => Decision::Remove,
            b"quiet" => Decision::ChangeValue(b"LOUD".to_vec()),
            _ => Decision::Keep,
        }
    }
}

impl CompactionFilterFactory for Shout {
    fn name(&self) -> &str {
        "ttl.Shout"
    }

    fn create(&self, _context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(Shout))
    }
}

#[test]
fn a_users_filter_sees_values_without_their_suffix() {
    for ttl in [FamilyTtl::RocksDb(10), FamilyTtl::PerKey(Some(seconds(10)))] {
        let (mut options, clock) = options();
        options.column_family.compaction_filter_factory = Some(Arc::new(Shout));
        let ttl = TtlOptions {
            default: ttl,
            ..by_key(None)
        };
        let db = DbWithTtl::open_with(&options, "/db", &ttl).unwrap();
        let family = db.db().default_column_family();
        for value in [&b"drop"[..], b"quiet", b"kept"] {
            db.put_cf_opt(&family, value, value, &WRITE()).unwrap();
        }
        compact(&db, &family);
        let get = |key: &[u8]| db.get_cf_opt(&family, key, &READ()).unwrap();
        assert_eq!(get(b"drop"), None);
        assert_eq!(get(b"quiet").unwrap(), b"LOUD");
        assert_eq!(get(b"kept").unwrap(), b"kept");
        clock.advance(seconds(11));
        compact(&db, &family);
        assert_eq!(get(b"quiet"), None, "it kept its time");
    }
}

#[test]
fn a_family_keeps_its_kind_and_a_database_opened_without_says_so() {
    let (mut options, _) = options();
    let open = |options: &Options, path: &str, ttl| {
        let ttl = TtlOptions {
            default: ttl,
            ..by_key(None)
        };
        DbWithTtl::open_with(options, path, &ttl)
    };
    open(&options, "/by key", FamilyTtl::PerKey(None)).unwrap();
    open(&options, "/rocksdb", FamilyTtl::RocksDb(7)).unwrap();
    Db::open(&options, "/plain").unwrap().put(b"k", b"v").unwrap();
    for (path, ttl) in [
        ("/by key", FamilyTtl::RocksDb(7)),
        ("/rocksdb", FamilyTtl::PerKey(None)),
        ("/plain", FamilyTtl::PerKey(None)),
    ] {
        let error = open(&options, path, ttl).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{path}");
    }
    // RocksDB cannot distinguish plain values either, and reports each value as corrupt.
    let db = open(&options, "/plain", FamilyTtl::RocksDb(7)).unwrap();
    let family = db.db().default_column_family();
    assert!(db.get_cf_opt(&family, b"k", &READ()).unwrap_err().is_corruption());
    let mut iter = db.iter_cf_opt(&family, &READ()).unwrap();
    iter.seek_to_first();
    assert!(!iter.valid() && iter.status().unwrap_err().is_corruption());
    drop((db, iter));
    for path in ["/by key", "/rocksdb"] {
        let lost = Recorder::of(|event| matches!(event, Event::OptionLost { .. }).then(|| event.to_string()));
        options.listeners = vec![lost.clone()];
        for _ in 0..2 {
            drop(Db::open(&options, path).unwrap());
            let said = lost.take();
            assert!(said.iter().any(|line| line.contains("time to live")), "{said:?}");
        }
        options.listeners.clear();
    }
    open(&options, "/by key", FamilyTtl::PerKey(None)).unwrap();
    options.column_family.merge_operator = builtin("put");
    let error = open(&options, "/by key", FamilyTtl::PerKey(None)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
}

#[test]
fn what_has_no_time_to_live_is_refused() {
    let (options, _) = options();
    let db = DbWithTtl::open_with(&options, "/db", &by_key(None)).unwrap();
    let family = db.db().default_column_family();
    let error = db.merge_cf_opt(&family, b"k", b"v", &WRITE()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    let mut batch = WriteBatch::new();
    batch.put_entity(b"k", &[(b"a", b"1")]).unwrap();
    let error = db.write_opt(&batch, &WRITE()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    let db = DbWithTtl::open(&options, "/other", 3).unwrap();
    let foreign = db.put_cf_opt(&family, b"k", b"v", &WRITE()).unwrap_err();
    assert_eq!(foreign.kind(), ErrorKind::InvalidArgument);
    let family = db.db().default_column_family();
    let error = db
        .put_with_ttl_cf_opt(&family, b"k", b"v", seconds(1), &WRITE())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
}

/// Opens a database with a time to live through RocksDB's C interface; prints one row and writes another.
const ROCKSDB: &str = r#"
import ctypes, sys
lib = ctypes.CDLL("librocksdb.so.7.8")
P, S = ctypes.c_void_p, ctypes.c_size_t
def call(name, result, *args):
    f = getattr(lib, name); f.restype = result
    return f(*args)
error = ctypes.c_char_p()
def check():
    if error.value: sys.exit(error.value.decode())
options = P(call("rocksdb_options_create", P))
call("rocksdb_options_set_create_if_missing", None, options, ctypes.c_ubyte(1))
db = P(call("rocksdb_open_with_ttl", P, options, sys.argv[1].encode(), ctypes.c_int(int(sys.argv[2])), ctypes.byref(error))); check()
reads, writes, size = P(call("rocksdb_readoptions_create", P)), P(call("rocksdb_writeoptions_create", P)), S()
value = call("rocksdb_get", P, db, reads, b"ours", S(4), ctypes.byref(size), ctypes.byref(error)); check()
print(ctypes.string_at(value, size.value).decode() if value else "nothing")
call("rocksdb_put", None, db, writes, b"theirs", S(6), b"their value", S(11), ctypes.byref(error)); check()
call("rocksdb_compact_range", None, db, None, S(0), None, S(0))
call("rocksdb_close", None, db)
"#;

fn rocksdb(path: &Path, ttl: i32) -> Option<String> {
    let output = oracle::librocksdb()?
        .args(["-c", ROCKSDB])
        .arg(path)
        .arg(ttl.to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[test]
fn rocksdb_opens_ours_with_its_time_to_live_and_we_open_its() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    let (mut options, clock) = options();
    options.fs = Options::default().fs;
    // By RocksDB's clock the row was written long ago; by Esker's clock, now.
    let db = DbWithTtl::open(&options, &path, 100).unwrap();
    db.put_cf_opt(&db.db().default_column_family(), b"ours", b"our value", &WRITE())
        .unwrap();
    drop(db);
    let Some(said) = rocksdb(&path, 0) else {
        return;
    };
    assert_eq!(said, "our value");
    let db = DbWithTtl::open(&options, &path, 100).unwrap();
    let family = db.db().default_column_family();
    let get = |db: &DbWithTtl, key: &[u8]| db.get_cf_opt(&family, key, &READ()).unwrap();
    assert_eq!(get(&db, b"theirs").unwrap(), b"their value");
    assert_eq!(get(&db, b"ours").unwrap(), b"our value");
    clock.advance(seconds(101));
    compact(&db, &family);
    assert_eq!(get(&db, b"ours"), None, "its time is over by our clock");
    assert_eq!(get(&db, b"theirs").unwrap(), b"their value");
    db.put_cf_opt(&family, b"ours", b"again", &WRITE()).unwrap();
    drop(db);
    // The row has expired by RocksDB's clock too.
    assert_eq!(rocksdb(&path, 100).unwrap(), "again");
    assert_eq!(rocksdb(&path, 100).unwrap(), "nothing");
}
