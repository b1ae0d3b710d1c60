//! Memtables by name: `memtable_factory`.

use std::fs;
use std::path::Path;

use dbtest::by_hand::flush;
use dbtest::crash::dump;
use esker::option_table::OptionTable;
use esker::{Db, MemtableFactory, Options, ReadOptions};
use tempfile::TempDir;
use testkit::oracle;

use crate::rocksdb::interop::run;

fn options(memtables: &str) -> Options {
    let mut options = Options {
        create_if_missing: true,
        allow_concurrent_memtable_write: false,
        ..Options::default()
    };
    options.column_family.set("memtable_factory", memtables).unwrap();
    options
}

fn options_file(dir: &Path) -> String {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let newest = names
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("OPTIONS-")
        })
        .max();
    fs::read_to_string(newest.unwrap()).unwrap()
}

#[test]
fn a_vector_reads_as_a_skip_list_does() {
    let mut rng = testkit::rng();
    let skip_list = TempDir::new().unwrap();
    let vector = TempDir::new().unwrap();
    let dbs = [
        Db::open(&options("skip_list"), skip_list.path()).unwrap(),
        Db::open(&options("vector:100"), vector.path()).unwrap(),
    ];
    let mut reader = None;
    for round in 0..30 {
        for _ in 0..rng.usize(1..300) {
            let key = format!("key{:03}", rng.u32(..400)).into_bytes();
            let end = format!("key{:03}", rng.u32(..400)).into_bytes();
            let what = rng.u8(..20);
            for db in &dbs {
                match what {
                    0 if key < end => db.delete_range(&key, &end).unwrap(),
                    1..=3 => db.delete(&key).unwrap(),
                    _ => db.put(&key, format!("{round}").as_bytes()).unwrap(),
                }
            }
            if rng.u8(..50) == 0 {
                assert_eq!(dbs[0].get(&key).unwrap(), dbs[1].get(&key).unwrap());
            }
        }
        let snapshot = dbs[1].snapshot();
        match rng.u8(..4) {
            0 => dbs.iter().for_each(flush),
            1 => {
                // An iterator that lives while rows are appended sees the rows of its creation.
                let mut iter = dbs[1].iter_opt(&ReadOptions {
                    snapshot: Some(snapshot),
                    ..ReadOptions::default()
                });
                iter.seek_to_first();
                reader = Some((iter, dump(&dbs[0]).unwrap()));
            }
            _ => assert_eq!(dump(&dbs[0]).unwrap(), dump(&dbs[1]).unwrap()),
        }
        if round % 5 == 4
            && let Some((mut iter, expected)) = reader.take()
        {
            for (key, value) in &expected["default"] {
                assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
                iter.next();
            }
            assert!(!iter.valid());
        }
    }
    drop(reader);
    let expected = dump(&dbs[0]).unwrap();
    drop(dbs);
    // The rows in the WAL and in tables are the same for every kind of memtable.
    for memtables in ["vector", "skip_list:16"] {
        let db = Db::open(&options(memtables), vector.path()).unwrap();
        assert_eq!(dump(&db).unwrap(), expected);
    }
}

#[test]
fn options_files_name_it_as_rocksdb_does() {
    for (name, written) in [
        ("skip_list", "SkipListFactory"),
        ("skip_list:16", "SkipListFactory:16"),
        ("vector", "{id=VectorRepFactory;count=0;}"),
        ("vector:500", "{id=VectorRepFactory;count=500;}"),
    ] {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("db");
        let db = Db::open(&options(name), &path).unwrap();
        db.put(b"key", b"value").unwrap();
        flush(&db);
        drop(db);
        let text = options_file(&path);
        assert!(
            text.contains(&format!("\n  memtable_factory={written}\n")),
            "{text}"
        );
        assert!(
            text.contains("\n  allow_concurrent_memtable_write=false\n"),
            "{text}"
        );
        if let Some(mut ldb) = oracle::ldb() {
            let arguments = ["get", "key"];
            let answer = run(ldb.arg(format!("--db={}", path.display())).args(arguments));
            assert_eq!(answer, "value\n", "{name}");
        }
    }
    let Some(mut python) = oracle::rocksdict() else {
        return;
    };
    let dir = TempDir::new().unwrap();
    let script = "import sys, rocksdict\n\
                  o = rocksdict.Options(raw_mode=True)\n\
                  o.create_if_missing(True)\n\
                  o.set_allow_concurrent_memtable_write(False)\n\
                  o.set_memtable_factory(rocksdict.MemtableFactory.vector())\n\
                  db = rocksdict.Rdict(sys.argv[1], o)\n\
                  db[b'key'] = b'value'\n\
                  db.close()";
    let path = dir.path().join("db");
    run(python.arg("-c").arg(script).arg(&path));
    let (_, theirs) = esker::OptionsFile::newest(&vfs::PosixFs::new(), &path)
        .unwrap()
        .unwrap();
    let (options, _) = theirs.options();
    assert_eq!(
        options.column_family.memtable_factory,
        MemtableFactory::Vector { count: 0 }
    );
    assert!(!options.allow_concurrent_memtable_write);
    let db = Db::open(&options, &path).unwrap();
    assert_eq!(db.get(b"key").unwrap().unwrap(), b"value");
}
