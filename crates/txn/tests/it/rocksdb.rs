//! Directories that RocksDB's TransactionDB and Esker's open alternately, with outstanding prepared
//! transactions.

use std::path::Path;
use std::process::Command;

use esker::{ColumnFamilyOptions, Db, Options};
use esker_txn::{Transaction, TransactionDB};
use testkit::oracle;

use super::common::{begin, family, get, no_wait};

/// Applies the other arguments to the database in the first argument, and exits without closing it. Prints
/// the prepared transactions and the values of keys.
const SCRIPT: &str = r#"
import ctypes, os, sys
lib = ctypes.CDLL("librocksdb.so.7.8")
P, S, L = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
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
E = ctypes.POINTER(S)
options = fn("options_create", P)()
fn("options_set_create_if_missing", None, P, ctypes.c_ubyte)(options, 1)
write, read = fn("writeoptions_create", P)(), fn("readoptions_create", P)()
db = fn("transactiondb_open", P, P, P, S, E)(options, fn("transactiondb_options_create", P)(), sys.argv[1].encode())
begin = fn("transaction_begin", P, P, P, P, P)
set_name, prepare = fn("transaction_set_name", None, P, S, L, E), fn("transaction_prepare", None, P, E)
put = fn("transaction_put", None, P, S, L, S, L, E)
commit, rollback = fn("transaction_commit", None, P, E), fn("transaction_rollback", None, P, E)
get_name = fn("transaction_get_name", P, P, ctypes.POINTER(L))
count = L()
prepared = fn("transactiondb_get_prepared_transactions", ctypes.POINTER(P), P, ctypes.POINTER(L))(db, ctypes.byref(count))
named = {}
for i in range(count.value):
    length = L()
    name = get_name(prepared[i], ctypes.byref(length))
    named[ctypes.string_at(name, length.value).decode()] = prepared[i]
print("prepared:", " ".join(sorted(named)))
topt = fn("transaction_options_create", P)()
for what in sys.argv[2:]:
    verb, _, name = what.partition("=")
    if verb == "prepare":
        txn = begin(db, write, topt, None)
        set_name(txn, name.encode(), len(name))
        for key in (name + "1", name + "2"):
            put(txn, key.encode(), len(key), b"rocksdb", 7)
        prepare(txn)
        named[name] = txn
    elif verb == "commit":
        commit(named.pop(name))
    elif verb == "rollback":
        rollback(named.pop(name))
    elif verb == "put":
        fn("transactiondb_put", None, P, P, S, L, S, L, E)(db, write, name.encode(), len(name), b"rocksdb", 7)
    elif verb == "flush":
        fn("transactiondb_flush", None, P, P, E)(db, fn("flushoptions_create", P)())
    elif verb == "get":
        length = L()
        value = fn("transactiondb_get", P, P, P, S, L, ctypes.POINTER(L), E)(db, read, name.encode(), len(name), ctypes.byref(length))
        print(name + ":", ctypes.string_at(value, length.value).decode() if value else "-")
sys.stdout.flush()
os._exit(0)
"#;

fn rocksdb(mut python: Command, dir: &Path, what: &[&str]) -> String {
    let said = python.args(["-c", SCRIPT]).arg(dir).args(what).output().unwrap();
    assert!(
        said.status.success(),
        "{what:?}: {}",
        String::from_utf8_lossy(&said.stderr)
    );
    String::from_utf8(said.stdout).unwrap()
}

fn open(dir: &Path) -> TransactionDB {
    let options = Options {
        create_if_missing: true,
        column_family: ColumnFamilyOptions::default(),
        ..Options::default()
    };
    TransactionDB::open(&options, &no_wait(), dir).unwrap()
}

fn prepare(db: &TransactionDB, name: &str) -> Transaction {
    let mut transaction = begin(db);
    transaction.set_name(name.as_bytes()).unwrap();
    for key in [format!("{name}1"), format!("{name}2")] {
        transaction
            .put_cf(&family(db.db()), key.as_bytes(), b"esker")
            .unwrap();
    }
    transaction.prepare().unwrap();
    transaction
}

/// RocksDB writes rows that follow the prepare to memtables alone. Esker writes them behind the marker of the
/// commit, where RocksDB's recovery gives them the same sequence numbers.
#[test]
fn rocksdb_reads_the_rows_that_were_written_after_the_prepare() {
    if oracle::librocksdb().is_none() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("db");
    let db = open(&dir);
    db.db().put(b"before", b"esker").unwrap();
    let mut transaction = prepare(&db, "x");
    let other = prepare(&db, "y");
    let family = family(db.db());
    transaction.put_cf(&family, b"x3", b"late").unwrap();
    transaction.put_cf(&family, b"x1", b"late").unwrap();
    transaction.delete_cf(&family, b"x2").unwrap();
    transaction.commit_time_write_batch().put(b"own", b"esker");
    transaction.commit().unwrap();
    db.db().flush_wal(true).unwrap();
    let sequence = db.db().latest_sequence_number();
    let copy = place.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    for file in std::fs::read_dir(&dir).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), copy.join(file.file_name())).unwrap();
    }
    drop((transaction, other, db));
    let theirs = |what: &[&str]| rocksdb(oracle::librocksdb().unwrap(), &copy, what);
    assert_eq!(
        theirs(&["get=x1", "get=x2", "get=x3", "get=own"]),
        "prepared: y\nx1: late\nx2: -\nx3: late\nown: esker\n"
    );
    // RocksDB's recovery has written the rows to a table.
    let recovered = Options {
        allow_2pc: true,
        ..Options::default()
    };
    let tables = Db::open_read_only(&recovered, &copy).unwrap().live_files();
    assert_eq!(
        tables.iter().map(|table| table.largest_seqno).max(),
        Some(sequence)
    );
    assert_eq!(theirs(&["commit=y", "get=y1"]), "prepared: y\ny1: esker\n");
    let db = open(&copy);
    let seen =
        ["x1", "x2", "x3", "y2"].map(|key| get(db.db(), &super::common::family(db.db()), key.as_bytes()));
    assert_eq!(seen, ["late", "-", "late", "esker"]);
}

fn names(found: &[Transaction]) -> Vec<String> {
    let name = |transaction: &Transaction| String::from_utf8(transaction.name().to_vec()).unwrap();
    found.iter().map(name).collect()
}

#[test]
fn what_rocksdb_has_prepared_is_ended_here_and_the_other_way_round() {
    if oracle::librocksdb().is_none() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("db");
    let theirs = |what: &[&str]| rocksdb(oracle::librocksdb().unwrap(), &dir, what);
    theirs(&[
        "put=x",
        "prepare=a",
        "prepare=b",
        "put=y",
        "flush=",
        "prepare=c",
        "prepare=d",
        "commit=c",
        "put=z",
    ]);
    // The rows of transaction c are in a memtable, and its section is in a WAL. The section of transaction a
    // is in a WAL of which no row is needed.
    let db = open(&dir);
    let found = db.get_all_prepared_transactions();
    assert_eq!(names(&found), ["a", "b", "d"]);
    let own = |db: &TransactionDB, key: &str| get(db.db(), &family(db.db()), key.as_bytes());
    for key in ["x", "y", "z", "c1", "c2"] {
        assert_eq!(own(&db, key), "rocksdb", "{key}");
    }
    for mut transaction in found {
        match transaction.name() {
            b"a" => transaction.commit().unwrap(),
            b"b" => transaction.rollback().unwrap(),
            _ => {}
        }
    }
    assert_eq!(
        (own(&db, "a2"), own(&db, "b2"), own(&db, "d2")),
        ("rocksdb".into(), "-".into(), "-".into())
    );
    let (mut committed, _e, mut rolled_back) = (prepare(&db, "p"), prepare(&db, "e"), prepare(&db, "r"));
    db.db().put(b"ours", b"esker").unwrap();
    db.db().flush().unwrap();
    committed.commit().unwrap();
    rolled_back.rollback().unwrap();
    db.db().put(b"last", b"esker").unwrap();
    db.db().close().unwrap();
    drop((committed, _e, rolled_back, db));
    let said = theirs(&[
        "get=a1",
        "get=b1",
        "get=p1",
        "get=p2",
        "get=e1",
        "get=r1",
        "get=ours",
        "get=last",
        "commit=e",
        "rollback=d",
        "get=e2",
        "prepare=f",
    ]);
    assert_eq!(
        said,
        "prepared: d e\na1: rocksdb\nb1: -\np1: esker\np2: esker\ne1: -\nr1: -\nours: esker\nlast: esker\ne2: esker\n"
    );
    let db = open(&dir);
    let mut found = db.get_all_prepared_transactions();
    assert_eq!(names(&found), ["f"]);
    assert_eq!((own(&db, "e1"), own(&db, "d1")), ("esker".into(), "-".into()));
    found[0].commit().unwrap();
    db.db().close().unwrap();
    drop((found, db));
    // No transaction is outstanding: no marker is left, and RocksDB's tools open the database as a plain one.
    if let Some(mut ldb) = oracle::ldb() {
        let said = ldb
            .arg(format!("--db={}", dir.display()))
            .args(["get", "f1"])
            .output()
            .unwrap();
        assert!(
            String::from_utf8_lossy(&said.stdout).starts_with("rocksdb"),
            "{}",
            String::from_utf8_lossy(&said.stderr)
        );
    }
}
