//! The rocksdb crate over a database that a program without any option made with Esker, under the options
//! that the database itself stores.

use rocksdb::{Cache, ColumnFamilyDescriptor, DB, Env, IteratorMode, Options};
use tempfile::TempDir;

type Rows = Vec<(Box<[u8]>, Box<[u8]>)>;

const FAMILIES: [&str; 2] = ["default", "two"];

/// Makes a database whose rows are in tables of several levels and in a WAL.
fn make(place: &std::path::Path) {
    let options = esker::Options {
        create_if_missing: true,
        ..esker::Options::default()
    };
    let db = esker::Db::open(&options, place).unwrap();
    db.create_column_family("two", &options.column_family).unwrap();
    let writes = esker::WriteOptions::default();
    for round in 0..3 {
        for (number, name) in FAMILIES.iter().enumerate() {
            let family = db.column_family(name).unwrap();
            for i in 0..500 {
                let key = format!("key{:04}", i * (number + 1)).into_bytes();
                let value = format!("{name} {round} {i}").into_bytes();
                db.put_cf_opt(&family, &key, &value, &writes).unwrap();
            }
            db.delete_range_cf_opt(&family, b"key0100", b"key0150", &writes)
                .unwrap();
            match round {
                0 => db.compact_range_cf(&family, None, None).unwrap(),
                1 => db.flush().unwrap(),
                // The other rows stay in the WAL.
                _ => {}
            }
        }
    }
    db.close().unwrap();
}

fn rows_of_esker(place: &std::path::Path) -> Vec<Rows> {
    let db = esker::Db::open(&esker::Options::default(), place).unwrap();
    db.verify_checksum().unwrap();
    let rows = FAMILIES.map(|name| {
        let mut iter = db.iter_cf(&db.column_family(name).unwrap());
        let mut rows = Rows::new();
        iter.seek_to_first();
        while iter.valid() {
            rows.push((iter.key().into(), iter.value().into()));
            iter.next();
        }
        iter.status().unwrap();
        rows
    });
    db.close().unwrap();
    rows.to_vec()
}

fn rows_of_rocksdb(db: &DB) -> Vec<Rows> {
    let rows = FAMILIES.map(|name| {
        let family = db.cf_handle(name).unwrap();
        let rows: Rows = db
            .iterator_cf(&family, IteratorMode::Start)
            .map(Result::unwrap)
            .collect();
        for (key, value) in &rows {
            assert_eq!(db.get_cf(&family, key).unwrap().as_deref(), Some(&**value));
        }
        rows
    });
    rows.to_vec()
}

#[test]
fn the_crate_takes_what_is_written_with_default_options() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("db");
    make(&place);
    let expected = rows_of_esker(&place);
    assert_eq!(expected.iter().map(Vec::len).collect::<Vec<_>>(), [450, 475]);
    let mut listed = DB::list_cf(&Options::default(), &place).unwrap();
    listed.sort();
    assert_eq!(listed, FAMILIES);
    // Unknown options are not ignored: RocksDB knows each that is stored.
    let stored = || -> (Options, Vec<ColumnFamilyDescriptor>) {
        let cache = Cache::new_lru_cache(8 << 20);
        Options::load_latest(&place, Env::new().unwrap(), false, cache).unwrap()
    };
    let plain = || (Options::default(), FAMILIES.map(family_without_options).into());
    for (options, families) in [stored(), plain()] {
        let db = DB::open_cf_descriptors(&options, &place, families).unwrap();
        assert_eq!(rows_of_rocksdb(&db), expected);
        for name in FAMILIES {
            db.compact_range_cf(&db.cf_handle(name).unwrap(), None::<&[u8]>, None::<&[u8]>);
        }
        assert_eq!(rows_of_rocksdb(&db), expected);
        drop(db);
        assert_eq!(rows_of_esker(&place), expected);
    }
}

fn family_without_options(name: &str) -> ColumnFamilyDescriptor {
    ColumnFamilyDescriptor::new(name, Options::default())
}
