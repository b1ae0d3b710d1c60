//! Column families: rows of several kinds in one database, each with options of its own, written together.
//!
//! `cargo run --example column_families -p esker -- DIR`; it works on the database that it made before, too.

use esker::{ColumnFamilyOptions, Db, Options, WriteBatch};

fn main() -> esker::Result<()> {
    let dir = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "families.db".to_owned());
    let mut options = Options {
        create_if_missing: true,
        create_missing_column_families: true,
        ..Options::default()
    };
    // A family that `column_families` names is created if it is missing; all others are opened with
    // `column_family`.
    let small = ColumnFamilyOptions {
        write_buffer_size: 4 << 20,
        ..ColumnFamilyOptions::default()
    };
    options.column_families.insert("sessions".to_owned(), small);
    let db = Db::open(&options, dir)?;

    let sessions = db.column_family("sessions").expect("it was opened or created");
    let archive = match db.column_family("archive") {
        Some(archive) => archive,
        None => db.create_column_family("archive", &ColumnFamilyOptions::default())?,
    };

    // One batch is written to all families or to none.
    let mut batch = WriteBatch::new();
    batch.put_cf(&sessions, b"ada", b"open");
    batch.put_cf(&archive, b"ada/1", b"closed");
    db.write(batch)?;

    for family in db.column_families() {
        println!(
            "{}: {} rows",
            family.name(),
            db.range_cf::<&[u8]>(&family, ..).count()
        );
    }
    assert_eq!(db.range_cf::<&[u8]>(&sessions, ..).count(), 1);

    // The rows of a dropped family are gone at once. Its files are deleted with its last handle.
    db.drop_column_family(&archive)?;
    assert!(db.column_family("archive").is_none());
    db.close()
}
