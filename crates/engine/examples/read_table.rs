//! A table file read outside of any database: its properties, its checksums and its rows.
//!
//! `cargo run --example read_table -p esker -- FILE.sst`, or without an argument over a file that it writes.

use esker::{Options, SstFileReader, SstFileWriter};

fn main() -> esker::Result<()> {
    let options = Options::default();
    let path = match std::env::args().nth(1) {
        Some(path) if path.ends_with(".sst") => path,
        dir => {
            let path = format!("{}.sst", dir.unwrap_or_else(|| "fruit".to_owned()));
            let mut writer = SstFileWriter::new(&options);
            writer.open(&path)?;
            for (fruit, price) in [("apple", "3"), ("cherry", "9"), ("pear", "4")] {
                writer.put(fruit.as_bytes(), price.as_bytes())?;
            }
            writer.finish()?;
            path
        }
    };

    // The file must have been written with the comparator and the merge operator in the options.
    let reader = SstFileReader::open(&options, &path)?;
    reader.verify_checksum()?;
    let properties = reader.table_properties();
    println!(
        "{path}: {} entries, {} bytes of data, ordered by {}",
        properties.num_entries,
        properties.data_size,
        properties.comparator_name()
    );
    let mut iter = reader.iter();
    iter.seek_to_first();
    while iter.valid() {
        println!("{} = {}", iter.key().escape_ascii(), iter.value().escape_ascii());
        iter.next();
    }
    iter.status()
}
