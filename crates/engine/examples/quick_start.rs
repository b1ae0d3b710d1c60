//! The quick start of the README. It can be run again over the database that it has created.

use esker::{ColumnFamilyOptions, Db, Options, ReadOptions, WriteBatch, WriteOptions};

fn main() -> esker::Result<()> {
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(&options, "people.db")?; // or a directory that RocksDB has written

    db.put(b"ada", b"1815")?;
    assert_eq!(db.get(b"ada")?.as_deref(), Some(&b"1815"[..]));

    let before = db.snapshot();
    let mut batch = WriteBatch::new();
    batch.put(b"grace", b"1906");
    batch.delete(b"ada");
    db.write(&WriteOptions::default(), batch)?; // all or nothing, also across column families

    let mut rows = db.iter(&ReadOptions {
        snapshot: Some(before),
        ..ReadOptions::default()
    });
    rows.seek_to_first();
    while rows.valid() {
        println!("{:?} = {:?}", rows.key(), rows.value()); // the snapshot still has ada
        rows.next();
    }
    rows.status()?;

    // Existing column families are opened together with the database.
    let years = match db.column_family("years") {
        Some(years) => years,
        None => db.create_column_family("years", &ColumnFamilyOptions::default())?,
    };
    db.put_opt(&WriteOptions::default(), &years, b"1815", b"ada")
}
