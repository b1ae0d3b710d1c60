//! A bulk load: sorted rows become tables beside the database, which takes all of them in one step.
//!
//! `cargo run --example bulk_load -p esker -- DIR`

use std::path::Path;

use esker::{Db, IngestExternalFileOptions, Options, SstFileWriter};

const ROWS: u32 = 100_000;

fn main() -> esker::Result<()> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "loaded.db".to_owned());
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(&options, &dir)?;

    // Each table has its own range of keys, in order. Other threads, or other machines, could write them.
    let mut tables = Vec::new();
    for part in 0..4 {
        let path = Path::new(&dir).with_extension(format!("part{part}.sst"));
        let mut writer = SstFileWriter::new(&options);
        writer.open(&path)?;
        for row in part * ROWS / 4..(part + 1) * ROWS / 4 {
            writer.put(&row.to_be_bytes(), format!("row {row}").as_bytes())?;
        }
        writer.finish()?;
        tables.push(path);
    }

    // The files are moved instead of copied. All four tables become visible at once, even after a crash.
    let ingest = IngestExternalFileOptions {
        move_files: true,
        ..IngestExternalFileOptions::default()
    };
    db.ingest_external_file(&tables, &ingest)?;
    assert_eq!(db.range::<&[u8]>(..).count(), ROWS as usize);
    println!("{ROWS} rows; the database has {} tables", db.live_files().len());
    db.close()
}
