//! Options changed while a database is open.
//!
//! `cargo run --example change_options -p esker -- DIR`

use esker::{Db, ErrorKind, Options};

fn main() -> esker::Result<()> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "options.db".to_owned());
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(&options, dir)?;
    let family = db.default_column_family();

    // The names and values of options are RocksDB's texts. One call makes all its changes or none, and writes
    // them to the OPTIONS file.
    db.set_options(
        &family,
        &[("write_buffer_size", "16777216"), ("compression", "kZSTD")],
    )?;
    assert_eq!(family.current_options().write_buffer_size, 16 << 20);
    db.set_db_options(&[("max_background_jobs", "4"), ("bytes_per_sync", "1048576")])?;
    assert_eq!(db.current_options().max_background_jobs, 4);

    // The call refuses an option that cannot be changed in an existing family, and a name that no option has.
    // The error names both.
    for change in [("comparator", "x"), ("write_bufer_size", "1")] {
        let error = db.set_options(&family, &[change]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        println!("{error}");
    }
    db.close()
}
