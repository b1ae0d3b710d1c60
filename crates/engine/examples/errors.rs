//! Errors, and how to go on after each.
//!
//! `cargo run --example errors -p esker -- DIR`

use esker::{Db, Error, ErrorKind, Options};

/// Prints an error, and the call or option that helps after it.
fn explain(error: &Error) {
    println!(
        "{error}\n  {}",
        error.kind().way_out().unwrap_or("see the message")
    );
}

fn main() -> esker::Result<()> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "errors.db".to_owned());
    // An open creates no database unless `create_if_missing` is set.
    let missing = Db::open(&Options::default(), format!("{dir}/missing")).expect_err("no database is there");
    explain(&missing);
    assert_eq!(missing.kind(), ErrorKind::NoDatabase);

    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(&options, &dir)?;
    let locked = Db::open(&options, &dir).expect_err("a database is opened once");
    explain(&locked);
    assert_eq!(locked.kind(), ErrorKind::LockHeld);

    // After a close every call on the database fails, and no data is lost.
    db.put(b"key", b"value")?;
    db.close()?;
    let closed = db.get(b"key").unwrap_err();
    explain(&closed);
    assert_eq!(closed.kind(), ErrorKind::ShutdownInProgress);
    Ok(())
}
