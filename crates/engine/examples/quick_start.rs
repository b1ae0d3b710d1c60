//! The quick start of the README. It can be run again over the database that it has created.

use esker::{ColumnFamilyOptions, Db, Options, WriteBatch};

fn main() -> esker::Result<()> {
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(&options, "people.db")?; // or a directory that RocksDB has written
    let years = match db.column_family("years") {
        Some(years) => years, // existing families are opened together with the database
        None => db.create_column_family("years", &ColumnFamilyOptions::default())?,
    };
    let mut batch = WriteBatch::new();
    batch.put("ada", "1815");
    batch.put_cf(&years, "1815", "ada");
    db.write(batch)?; // all or nothing, across column families

    assert_eq!(db.get("ada")?.as_deref(), Some(&b"1815"[..]));
    for row in db.prefix("a") {
        let (key, value) = row?;
        println!("{key:?} = {value:?}");
    }
    Ok(())
}
