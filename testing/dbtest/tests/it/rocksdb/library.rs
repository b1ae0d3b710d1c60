//! Directories that RocksDB 7.8's library and Esker open alternately: WALs read as a change feed, and merges in
//! families with timestamps. RocksDB's tools have neither.

use std::path::Path;

use base::merge::builtin;
use dbtest::by_hand::{flush, rewrite};
use esker::{Db, FeedEvent, FeedOptions, Operation, Options, ReadOptions, UserComparator, WriteBatch};
use tempfile::TempDir;
use testkit::oracle;

/// Opens the database in the second argument in the way that the first one names, applies the operations in
/// the other arguments, and exits without closing it.
const SCRIPT: &str = r#"
import ctypes, os, sys
lib = ctypes.CDLL("librocksdb.so.7.8")
P, S, L, U = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64
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
kind, path, *work = sys.argv[1:]
options = fn("options_create", P)()
fn("options_set_create_if_missing", None, P, ctypes.c_ubyte)(options, 1)
if kind == "stamped":
    comparator = lib._ZN7rocksdb27BytewiseComparatorWithU64TsEv
    comparator.restype = P
    fn("options_set_comparator", None, P, P)(options, comparator())
    fn("options_set_uint64add_merge_operator", None, P)(options)
else:
    fn("options_set_WAL_ttl_seconds", None, P, U)(options, 1000000)
db = fn("open", P, P, S, E)(options, path.encode())
write = fn("writeoptions_create", P)()
stamp = lambda number: int(number).to_bytes(8, "little")
def apply(count, *records):
    # A batch of rows as it is stored: number, count, and the kind, key and value of each.
    rep = bytes(8) + count.to_bytes(4, "little")
    for kind, *strings in records:
        rep += bytes([kind]) + b"".join(bytes([len(s)]) + s for s in strings)
    batch = fn("writebatch_create_from", P, S, L)(rep, len(rep))
    fn("write", None, P, P, P, E)(db, write, batch)
for what in work:
    verb, _, rest = what.partition("=")
    if verb == "put":
        pairs = [pair.encode().split(b":") for pair in rest.split(",")]
        apply(len(pairs), *((1, key, value) for key, value in pairs))
    elif verb == "merge":
        key, timestamp, number = rest.split(":")
        apply(1, (2, key.encode() + stamp(timestamp), stamp(number)))
    elif verb == "delete":
        key, timestamp = rest.split(":")
        fn("delete_with_ts", None, P, P, S, L, S, L, E)(db, write, key.encode(), len(key), stamp(timestamp), 8)
    elif verb == "flush":
        fn("flush", None, P, P, E)(db, fn("flushoptions_create", P)())
    elif verb == "compact":
        fn("compact_range", None, P, S, L, S, L)(db, None, 0, None, 0)
    elif verb == "at":
        read = fn("readoptions_create", P)()
        timestamp, key = rest.split(":")
        at, length = stamp(timestamp), L()
        fn("readoptions_set_timestamp", None, P, S, L)(read, at, 8)
        value = fn("get", P, P, P, S, L, ctypes.POINTER(L), E)(db, read, key.encode(), len(key), ctypes.byref(length))
        print(int.from_bytes(ctypes.string_at(value, length.value), "little") if value else "-")
    elif verb == "updates":
        updates = fn("get_updates_since", P, P, U, P, E)(db, int(rest), None)
        while fn("wal_iter_valid", ctypes.c_ubyte, P)(updates):
            number, length = U(), L()
            batch = fn("wal_iter_get_batch", P, P, ctypes.POINTER(U))(updates, ctypes.byref(number))
            data = fn("writebatch_data", P, P, ctypes.POINTER(L))(batch, ctypes.byref(length))
            rows, at = [], 12
            rep = ctypes.string_at(data, length.value)
            while at < len(rep):
                kind, pair, at = rep[at], [], at + 1
                # A put, or what a program logs besides rows.
                for _ in range({1: 2, 3: 1}[kind]):
                    end = at + 1 + rep[at]
                    pair.append(rep[at + 1:end].decode())
                    at = end
                if kind == 1:
                    rows.append(":".join(pair))
            if rows:
                print(number.value, ",".join(rows))
            fn("wal_iter_next", None, P)(updates)
        fn("wal_iter_status", None, P, E)(updates)
sys.stdout.flush()
os._exit(0)
"#;

/// The lines that RocksDB prints; `None` if its library is not installed.
fn rocksdb(kind: &str, dir: &Path, work: &[&str]) -> Option<Vec<String>> {
    let mut python = oracle::librocksdb()?;
    let said = python
        .args(["-c", SCRIPT, kind])
        .arg(dir)
        .args(work)
        .output()
        .unwrap();
    assert!(
        said.status.success(),
        "{work:?}: {}",
        String::from_utf8_lossy(&said.stderr)
    );
    let said = String::from_utf8(said.stdout).unwrap();
    Some(said.lines().map(str::to_owned).collect())
}

/// The puts of a batch, as the script prints them.
fn shown(batch: &WriteBatch) -> String {
    let put = |operation| match operation {
        Ok(Operation::Put { key, value, .. }) => {
            format!("{}:{}", key.escape_ascii(), value.escape_ascii())
        }
        other => panic!("{other:?}"),
    };
    let puts: Vec<String> = batch.operations().map(put).collect();
    puts.join(",")
}

/// The updates from row `since`, as the script prints them.
fn updates(db: &Db, since: u64) -> Vec<String> {
    let mut found = Vec::new();
    let mut updates = db.get_updates_since(since).unwrap();
    while let Some((number, batch)) = updates.batch() {
        found.push(format!("{number} {}", shown(batch)));
        updates.next();
    }
    updates.status().unwrap();
    found
}

#[test]
fn updates_of_the_other_are_read_from_live_and_archived_wals() {
    let place = TempDir::new().unwrap();
    let dir = place.path().join("db");
    let theirs = |work: &[&str]| rocksdb("plain", &dir, work);
    let Some(_) = theirs(&["put=a:1,b:2", "put=c:3", "flush", "put=d:4", "flush", "put=e:5"]) else {
        return;
    };
    let options = Options {
        wal_ttl_seconds: 1_000_000,
        ..Options::default()
    };
    let db = Db::open(&options, &dir).unwrap();
    let of_rocksdb = ["1 a:1,b:2", "3 c:3", "4 d:4", "5 e:5"];
    assert_eq!(updates(&db, 1), of_rocksdb);
    assert_eq!(updates(&db, 4), of_rocksdb[2..]);
    let mut feed = db.feed(&FeedOptions::default()).unwrap();
    let mut fed = Vec::new();
    while let Some(event) = feed.next().unwrap() {
        match event {
            FeedEvent::Batch(batch) => fed.push(shown(batch.batch())),
            gap => panic!("{gap:?}"),
        }
    }
    assert_eq!(fed, ["a:1,b:2", "c:3", "d:4", "e:5"]);
    drop(feed);
    // Esker's rows are in an archived WAL and in a live one.
    db.put(b"f", b"6").unwrap();
    flush(&db);
    let mut batch = WriteBatch::new();
    batch.put(b"g", b"7");
    batch.put(b"h", b"8");
    db.write(batch).unwrap();
    assert!(db.get_sorted_wal_files().unwrap().len() > 2);
    db.close().unwrap();
    drop(db);
    let ours = ["6 f:6", "7 g:7,h:8"];
    let all: Vec<&str> = of_rocksdb.into_iter().chain(ours).collect();
    assert_eq!(theirs(&["updates=1"]).unwrap(), all);
    assert_eq!(theirs(&["updates=6", "put=i:9"]).unwrap(), ours);
    let db = Db::open(&options, &dir).unwrap();
    assert_eq!(updates(&db, 6), ["6 f:6", "7 g:7,h:8", "9 i:9"]);
    assert_eq!(updates(&db, 1).len(), 7);
}

#[test]
fn merges_of_the_other_are_resolved_as_of_a_timestamp() {
    let place = TempDir::new().unwrap();
    let dir = place.path().join("db");
    let theirs = |work: &[&str]| rocksdb("stamped", &dir, work);
    let begun = theirs(&[
        "merge=a:1:5",
        "merge=a:3:10",
        "flush",
        "merge=a:5:100",
        "delete=b:2",
        "merge=b:4:7",
        "at=3:a",
        "at=9:b",
        "flush",
    ]);
    let Some(begun) = begun else {
        return;
    };
    assert_eq!(begun, ["15", "7"]);
    let mut options = Options::default();
    options.column_family.comparator = UserComparator::BytewiseU64Ts;
    options.column_family.merge_operator = builtin("uint64add");
    let get = |db: &Db, timestamp: u64, key: &str| {
        let at = ReadOptions {
            timestamp: Some(timestamp.to_le_bytes().to_vec()),
            ..ReadOptions::default()
        };
        let family = db.default_column_family();
        let value = db.get_cf_opt(&family, key.as_bytes(), &at).unwrap();
        value.map(|value| u64::from_le_bytes(value.try_into().unwrap()))
    };
    let db = Db::open(&options, &dir).unwrap();
    let seen = |db: &Db| [1, 2, 3, 5, 9].map(|timestamp| get(db, timestamp, "a"));
    assert_eq!(seen(&db), [5, 5, 15, 115, 115].map(Some));
    assert_eq!(
        [1, 3, 4].map(|timestamp| get(&db, timestamp, "b")),
        [None, None, Some(7)]
    );
    // Esker adds operands to those of RocksDB: in memory, in a table of their own, and compacted into one
    // table.
    let family = db.default_column_family();
    let merge = |timestamp: u64, key: &str, number: u64| {
        let mut batch = WriteBatch::new();
        let (stamp, number) = (timestamp.to_le_bytes(), number.to_le_bytes());
        batch.merge_at(&family, key.as_bytes(), &stamp, &number);
        db.write(batch).unwrap();
    };
    merge(6, "a", 1000);
    merge(7, "b", 70);
    assert_eq!(get(&db, 6, "a"), Some(1115));
    flush(&db);
    let asked = [
        "at=1:a", "at=4:a", "at=5:a", "at=6:a", "at=3:b", "at=6:b", "at=7:b",
    ];
    let answers = ["5", "15", "115", "1115", "-", "7", "77"];
    db.close().unwrap();
    assert_eq!(theirs(&asked).unwrap(), answers);
    let db = Db::open(&options, &dir).unwrap();
    rewrite(&db);
    db.close().unwrap();
    assert_eq!(theirs(&asked).unwrap(), answers);
    let compacted: Vec<&str> = ["compact"].into_iter().chain(asked).collect();
    assert_eq!(theirs(&compacted).unwrap(), answers);
    let db = Db::open(&options, &dir).unwrap();
    assert_eq!(seen(&db), [5, 5, 15, 115, 1115].map(Some));
    assert_eq!(get(&db, 7, "b"), Some(77));
}
