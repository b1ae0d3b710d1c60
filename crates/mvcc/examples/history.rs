//! A table with history: written, read as of a time, and garbage collected.
//! `cargo run -p esker-mvcc --example history`.

use std::time::Duration;

use esker::{Db, Options, WriteOptions};
use esker_mvcc::{BatchOptions, MvccReadOptions, MvccStore, Span, Timestamp, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    // Sets the order of versioned keys, and filters over user keys.
    esker_mvcc::configure(&mut options.column_family);
    let db = Db::open(&options, dir.path())?;
    let family = db.default_column_family();
    let day = |day: i64| Timestamp::from_secs(day * 86_400);
    let store = MvccStore::open(&db, &family, BatchOptions::default(), day(1).wall)?;

    // Prices change, and one is withdrawn. The writes of a batch become visible together.
    let mut batch = store.begin(day(1).wall);
    batch.put(b"apple", day(1), Value::Int(30))?;
    batch.put(b"pear", day(1), Value::Int(45))?;
    batch.commit(&WriteOptions::default())?;
    let mut batch = store.begin(day(2).wall);
    batch.increment(b"apple", day(2), 5)?;
    batch.delete(b"pear", day(2))?;
    batch.commit(&WriteOptions::default())?;

    // Every read is as of a time.
    for at in [day(1), day(2)] {
        let found = store.scan(Span::ALL, at, &MvccReadOptions::default())?;
        println!("at {at}:");
        for row in found.rows.iter() {
            println!("  {} = {:?}", row.user_key.escape_ascii(), row.value()?);
        }
    }

    // A version below an existing one is refused: the error names the first free time, and nothing is
    // written.
    let mut batch = store.begin(day(2).wall);
    println!("{}", batch.put(b"apple", day(1), Value::Int(1)).unwrap_err());
    drop(batch);

    // The statistics are exact, including the amount of garbage.
    let now = day(9).wall;
    let stats = store.stats(now).ok_or("no statistics")?;
    println!(
        "{} versions, {} bytes of garbage",
        stats.val_count,
        stats.gc_bytes()
    );

    // A week of history is kept. Versions that were hidden before that are removed, and earlier times can no
    // longer be read.
    let report = store.collect_garbage(Duration::from_secs(7 * 86_400), now, &Default::default())?;
    println!("{} versions removed", report.removed.versions);
    assert_eq!((report.threshold, report.removed.versions), (day(2), 3));
    println!(
        "{}",
        store
            .get(b"pear", day(1), &MvccReadOptions::default())
            .unwrap_err()
    );
    let today = store.scan(Span::ALL, day(9), &MvccReadOptions::default())?;
    println!("{} row today", today.rows.len());
    assert_eq!(today.rows.len(), 1);
    assert_eq!(store.stats(now), Some(store.recount(now)?));
    Ok(())
}
