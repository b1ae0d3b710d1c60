//! Wide-column entities: written and read in every way, over several families, and by RocksDB.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use dbtest::by_hand::flush;
use esker::{
    AttributeGroup, ColumnFamily, Columns, Db, ErrorKind, Options, ReadOptions, UserComparator, WriteBatch,
    WriteBatchWithIndex, WriteOptions,
};
use tempfile::TempDir;
use testkit::oracle;
use testkit::rng::TestRng;
use vfs::MemFs;

fn options() -> Options {
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    options.column_family.merge_operator = base::merge::builtin("stringappend");
    options
}

/// The contents of each family: columns by key.
type Model = Vec<BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, Vec<u8>>>>;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:03}").into_bytes()
}

/// Writes a random key of a random family to the batch and to the model.
fn write(rng: &mut TestRng, batch: &mut WriteBatch, families: &[&ColumnFamily], model: &mut Model) {
    let at = rng.usize(..families.len());
    let (family, rows) = (families[at], &mut model[at]);
    let key = key(rng.u32(..60));
    let value = |rng: &mut TestRng| format!("v{}", rng.u32(..1000)).into_bytes();
    match rng.u32(..10) {
        0..4 => {
            let mut columns = BTreeMap::new();
            for _ in 0..rng.u32(..4) {
                columns.insert(
                    ["", "a", "b", "c"][rng.usize(..4)].as_bytes().to_vec(),
                    value(rng),
                );
            }
            // The columns are given in any order.
            let given: Vec<(&[u8], &[u8])> = columns
                .iter()
                .rev()
                .map(|(name, value)| (&name[..], &value[..]))
                .collect();
            batch.put_entity_cf(family, &key, &given).unwrap();
            rows.insert(key, columns);
        }
        4..6 => {
            let value = value(rng);
            batch.put_cf(family, &key, &value);
            rows.insert(key, BTreeMap::from([(Vec::new(), value)]));
        }
        6..8 => {
            let value = value(rng);
            batch.merge_cf(family, &key, &value);
            match rows.get_mut(&key) {
                None => drop(rows.insert(key, BTreeMap::from([(Vec::new(), value)]))),
                Some(columns) => {
                    let old = columns.entry(Vec::new()).or_default();
                    *old = [&old[..], b",", &value].concat();
                }
            }
        }
        8 => {
            batch.delete_cf(family, &key);
            rows.remove(&key);
        }
        _ => {
            let end = [&key[..], b"~"].concat();
            batch.delete_range_cf(family, &key, &end);
            rows.remove(&key);
        }
    }
}

fn as_columns(columns: &BTreeMap<Vec<u8>, Vec<u8>>) -> Columns {
    columns
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Compares every way of reading with the model.
fn check(db: &Db, families: &[&ColumnFamily], model: &Model) {
    let read = ReadOptions::default();
    let keys: Vec<Vec<u8>> = (0..60).map(key).collect();
    for (family, rows) in families.iter().zip(model) {
        let many = db.multi_get_entity(family, &keys, &read);
        for (key, found) in keys.iter().zip(many) {
            let wanted = rows.get(key).map(as_columns);
            assert_eq!(found.unwrap(), wanted, "{key:?}");
            assert_eq!(
                db.get_entity_cf_opt(family, key, &read).unwrap(),
                wanted,
                "{key:?}"
            );
            let plain = rows
                .get(key)
                .map(|columns| columns.get(&b""[..]).cloned().unwrap_or_default());
            assert_eq!(db.get_cf_opt(family, key, &read).unwrap(), plain, "{key:?}");
        }
    }
    // The expected rows of an iterator over several families.
    let mut all: BTreeMap<Vec<u8>, Vec<(u32, Columns)>> = BTreeMap::new();
    for (family, rows) in families.iter().zip(model) {
        for (key, columns) in rows {
            let group = (family.id(), as_columns(columns));
            all.entry(key.clone()).or_default().push(group);
        }
    }
    let mut iter = db.multi_cf_iterator(families, &read).unwrap();
    iter.seek_to_first();
    for (key, groups) in &all {
        assert_eq!(iter.key(), key);
        let shown = iter.attribute_groups().unwrap();
        let shown: Vec<(u32, Columns)> = shown
            .into_iter()
            .map(|(family, columns)| (family.id(), columns))
            .collect();
        assert_eq!(&shown, groups, "{key:?}");
        let mut coalesced = BTreeMap::new();
        groups
            .iter()
            .for_each(|(_, columns)| coalesced.extend(columns.iter().cloned()));
        assert_eq!(iter.columns().unwrap(), as_columns(&coalesced), "{key:?}");
        let value = coalesced.get(&b""[..]).cloned().unwrap_or_default();
        assert_eq!(iter.value().unwrap(), value, "{key:?}");
        iter.next();
    }
    assert!(!iter.valid());
    iter.status().unwrap();
    iter.seek_to_last();
    for key in all.keys().rev() {
        assert_eq!(iter.key(), key);
        iter.prev();
    }
    assert!(!iter.valid());
    let groups = db.get_attribute_groups(&key(7), families, &read);
    for (found, rows) in groups.into_iter().zip(model) {
        assert_eq!(found.unwrap(), rows.get(&key(7)).map(as_columns));
    }
    let many = db.multi_get_attribute_groups(&keys, families, &read);
    for (key, found) in keys.iter().zip(many) {
        for (found, rows) in found.into_iter().zip(model) {
            assert_eq!(found.unwrap(), rows.get(key).map(as_columns));
        }
    }
}

#[test]
fn random_rows_read_as_the_model_has_them() {
    let mut rng = testkit::rng();
    let options = options();
    let db = Db::open(&options, "/db").unwrap();
    let second = db.create_column_family("second", &options.column_family).unwrap();
    let third = db.create_column_family("third", &options.column_family).unwrap();
    let first = db.default_column_family();
    let families = [&first, &second, &third];
    let mut model: Model = vec![BTreeMap::new(); 3];
    for round in 0..12 {
        for _ in 0..30 {
            let mut batch = WriteBatch::new();
            for _ in 0..rng.u32(1..4) {
                write(&mut rng, &mut batch, &families, &mut model);
            }
            db.write(batch).unwrap();
        }
        check(&db, &families, &model);
        match round % 3 {
            0 => flush(&db),
            1 => {
                for family in families {
                    db.compact_range_cf(family, None, None).unwrap();
                }
            }
            _ => {}
        }
        check(&db, &families, &model);
    }
}

/// Changes of direction of an iterator over several families, compared with the sorted keys.
#[test]
fn it_turns_round_wherever_it_stands() {
    let mut rng = testkit::rng();
    let options = options();
    let db = Db::open(&options, "/db").unwrap();
    let first = db.default_column_family();
    let second = db.create_column_family("second", &options.column_family).unwrap();
    let families = [&first, &second];
    let mut model: Model = vec![BTreeMap::new(); 2];
    for _ in 0..120 {
        let mut batch = WriteBatch::new();
        write(&mut rng, &mut batch, &families, &mut model);
        db.write(batch).unwrap();
    }
    let mut keys: Vec<&Vec<u8>> = model.iter().flat_map(BTreeMap::keys).collect();
    keys.sort();
    keys.dedup();
    let mut iter = db.multi_cf_iterator(&families, &ReadOptions::default()).unwrap();
    let mut at: Option<usize> = None;
    for _ in 0..2000 {
        let sought = key(rng.u32(..61));
        at = match (rng.u32(..8), at) {
            (0..3, Some(at)) => {
                iter.next();
                Some(at + 1).filter(|&at| at < keys.len())
            }
            (3..6, Some(at)) => {
                iter.prev();
                at.checked_sub(1)
            }
            (0..7, _) => {
                iter.seek(&sought);
                keys.iter().position(|key| **key >= sought)
            }
            _ => {
                iter.seek_for_prev(&sought);
                keys.iter().rposition(|key| **key <= sought)
            }
        };
        assert_eq!(iter.valid(), at.is_some());
        if let Some(at) = at {
            assert_eq!(iter.key(), keys[at]);
        }
    }
}

#[test]
fn what_cannot_be_an_entity_is_refused_and_leaves_the_batch_as_it_was() {
    let mut options = options();
    options.column_family.merge_operator = None;
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    let mut stamped = options.column_family.clone();
    stamped.comparator = UserComparator::BytewiseU64Ts;
    let stamped = db.create_column_family("stamped", &stamped).unwrap();
    let write = WriteOptions::default();
    let mut batch = WriteBatch::new();
    batch.put(b"k", b"v");
    let before = batch.data().to_vec();
    let twice: &[(&[u8], &[u8])] = &[(b"a", b"1"), (b"b", b"2"), (b"a", b"3")];
    let error = batch.put_entity(b"k", twice).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert_eq!(error.message(), "Wide columns out of order");
    let error = batch.put_entity_cf(&stamped, b"k", &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let error = batch.put_attribute_groups(b"k", &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let groups = [
        AttributeGroup {
            family: &family,
            columns: &[(b"a", b"1")],
        },
        AttributeGroup {
            family: &family,
            columns: twice,
        },
    ];
    batch.put_attribute_groups(b"k", &groups).unwrap_err();
    assert_eq!(batch.data(), before);
    batch.status().unwrap();
    assert_eq!(
        db.put_entity_cf_opt(&stamped, b"k", &[], &write)
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidArgument
    );
    let none = db.multi_cf_iterator(&[], &ReadOptions::default()).err().unwrap();
    assert_eq!(none.kind(), ErrorKind::InvalidArgument);
    let mixed = db
        .multi_cf_iterator(&[&family, &stamped], &ReadOptions::default())
        .err()
        .unwrap();
    assert_eq!(mixed.kind(), ErrorKind::InvalidArgument);
    let other = Db::open(&self::options(), "/other").unwrap();
    let foreign = other.default_column_family();
    assert!(
        db.new_iterators(&[&family, &foreign], &ReadOptions::default())
            .is_err()
    );
    assert!(
        db.get_entity_cf_opt(&foreign, b"k", &ReadOptions::default())
            .is_err(),
        "a family of another database"
    );
    db.close().unwrap();
    let closed = db
        .get_entity_cf_opt(&family, b"k", &ReadOptions::default())
        .unwrap_err();
    assert_eq!(closed.kind(), db.get(b"k").unwrap_err().kind());
    let closed = db.get_attribute_groups(b"k", &[&family], &ReadOptions::default());
    assert!(closed[0].is_err());
}

#[test]
fn a_group_of_families_is_written_at_once_and_read_at_one_moment() {
    let options = options();
    let db = Db::open(&options, "/db").unwrap();
    let first = db.default_column_family();
    let second = db.create_column_family("second", &options.column_family).unwrap();
    let write = |number: u32| {
        let value = number.to_string();
        let columns: &[(&[u8], &[u8])] = &[(b"n", value.as_bytes())];
        let groups = [&first, &second].map(|family| AttributeGroup { family, columns });
        db.put_attribute_groups(b"k", &groups, &WriteOptions::default())
            .unwrap();
    };
    write(0);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (db, first, second, done) = (&db, &first, &second, &done);
        let reader = scope.spawn(move || {
            let read = ReadOptions::default();
            let mut reads = 0;
            while reads < 50 || !done.load(std::sync::atomic::Ordering::Relaxed) {
                let found = db.get_attribute_groups(b"k", &[first, second], &read);
                let found: Vec<_> = found.into_iter().map(Result::unwrap).collect();
                assert_eq!(found[0], found[1]);
                let mut iterators = db.new_iterators(&[first, second], &read).unwrap();
                iterators.iter_mut().for_each(|iter| iter.seek(b"k"));
                assert_eq!(iterators[0].columns().unwrap(), iterators[1].columns().unwrap());
                reads += 1;
            }
        });
        for number in 1..2000 {
            write(number);
            if number % 100 == 0 {
                db.flush_cf(std::slice::from_ref(first)).unwrap();
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        reader.join().unwrap();
    });
}

#[test]
fn entities_of_a_batch_are_seen_before_they_are_written() {
    let db = Db::open(&options(), "/db").unwrap();
    let family = db.default_column_family();
    let read = ReadOptions::default();
    db.put_entity_cf_opt(
        &family,
        b"k",
        &[(b"", b"old"), (b"a", b"1")],
        &WriteOptions::default(),
    )
    .unwrap();
    let mut batch = WriteBatchWithIndex::new();
    batch.merge(b"k", b"new");
    batch.put_entity_cf(&family, b"l", &[(b"b", b"2")]).unwrap();
    let get = |key: &[u8]| {
        batch
            .get_entity_from_batch_and_db(&db, &family, key, &read)
            .unwrap()
    };
    let column = |name: &[u8], value: &[u8]| (name.to_vec(), value.to_vec());
    assert_eq!(get(b"k"), Some(vec![column(b"", b"old,new"), column(b"a", b"1")]));
    assert_eq!(get(b"l"), Some(vec![column(b"b", b"2")]));
    assert_eq!(get(b"m"), None);
    let mut iter = batch.iter_with_base(&db, &family, &read).unwrap();
    iter.seek(b"l");
    assert_eq!(iter.columns().unwrap(), Some(vec![column(b"b", b"2")]));
}

/// Prints the entities that it finds, and writes some.
const ROCKSDICT: &str = r#"
import sys
from rocksdict import Rdict, Options
db = Rdict(sys.argv[1], Options(raw_mode=True))
for key, columns in db.entities():
    print(key.decode() + ":" + "".join(" %s=%s" % (n.decode(), v.decode()) for n, v in columns))
db.put_entity(b"theirs", [b"z", b"", b"m"], [b"26", b"default", b"13"])
db.put_entity(b"ours", [b"only"], [b"changed"])
db.flush()
db.put_entity(b"unflushed", [b"w"], [b"1"])
db.close()
"#;

fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

fn on_disk(path: &Path) -> Db {
    let mut options = options();
    options.fs = Options::default().fs;
    Db::open(&options, path).unwrap()
}

/// Writes an entity to a table, one to the WAL, and one with merge operands.
fn write_ours(path: &Path) {
    let db = on_disk(path);
    let (write, family) = (WriteOptions::default(), db.default_column_family());
    db.put_entity_cf_opt(
        &family,
        b"ours",
        &[(b"b", b"2"), (b"", b"default"), (b"a", b"1")],
        &write,
    )
    .unwrap();
    db.put_entity_cf_opt(&family, b"merged", &[(b"a", b"1")], &write)
        .unwrap();
    flush(&db);
    db.merge_cf_opt(&family, b"merged", b"x", &write).unwrap();
    db.compact_range_cf(&family, None, None).unwrap();
    db.put_entity_cf_opt(&family, b"in the WAL", &[(b"w", b"3")], &write)
        .unwrap();
    db.put(b"plain", b"value").unwrap();
}

#[test]
fn rocksdb_reads_our_entities_and_we_read_its() {
    let Some(mut python) = oracle::rocksdict() else {
        return;
    };
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    write_ours(&path);
    assert_eq!(
        printed(python.args(["-c", ROCKSDICT]).arg(&path)),
        "in the WAL: w=3\nmerged: =,x a=1\nours: =default a=1 b=2\nplain: =value\n"
    );
    let db = on_disk(&path);
    let (read, family) = (ReadOptions::default(), db.default_column_family());
    let column = |name: &[u8], value: &[u8]| (name.to_vec(), value.to_vec());
    let get = |key: &[u8]| db.get_entity_cf_opt(&family, key, &read).unwrap().unwrap();
    assert_eq!(get(b"ours"), [column(b"only", b"changed")]);
    assert_eq!(
        get(b"theirs"),
        [column(b"", b"default"), column(b"m", b"13"), column(b"z", b"26")]
    );
    assert_eq!(get(b"unflushed"), [column(b"w", b"1")]);
}

#[test]
fn ldb_reads_our_entities() {
    let Some(mut ldb) = oracle::ldb() else {
        return;
    };
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    write_ours(&path);
    let db = format!("--db={}", path.display());
    assert_eq!(
        printed(ldb.args([&db, "scan"])),
        "in the WAL : \nmerged : ,x\nours : default\nplain : value\n"
    );
}
