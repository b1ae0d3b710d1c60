//! Errors, and how to go on after each.
//!
//! `cargo run --example errors -p esker -- DIR`

use esker::{Db, Error, ErrorKind, Options};

/// Says what a program can do about `error`.
fn way_out(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::LockHeld => {
            "another process has the database open: close it there, or open it read-only or as a secondary"
        }
        ErrorKind::NoSpace => "free some space; the database resumes by itself, or at once by Db::resume",
        ErrorKind::Corruption => "run `esker verify DIR`, then restore a backup or run `esker repair DIR`",
        ErrorKind::InvalidArgument => "the call or an option can never work as it is: the message names it",
        ErrorKind::Busy | ErrorKind::TryAgain | ErrorKind::TimedOut => "the same call may succeed later",
        ErrorKind::ReadOnly => "writes are refused after a failure: Db::resume, or close and open again",
        _ => "see the message",
    }
}

fn main() -> esker::Result<()> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "errors.db".to_owned());
    // Nothing is created unless it is asked for.
    let missing = Db::open(&Options::default(), format!("{dir}/missing")).expect_err("no database is there");
    println!("{missing}\n  {}", way_out(&missing));
    assert_eq!(missing.kind(), ErrorKind::InvalidArgument);

    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let db = Db::open(&options, &dir)?;
    let locked = Db::open(&options, &dir).expect_err("a database is opened once");
    println!("{locked}\n  {}", way_out(&locked));
    assert_eq!(locked.kind(), ErrorKind::LockHeld);

    // After a close every call fails, and loses nothing.
    db.put(b"key", b"value")?;
    db.close()?;
    let closed = db.get(b"key").unwrap_err();
    println!("{closed}\n  {}", way_out(&closed));
    assert_eq!(closed.kind(), ErrorKind::ShutdownInProgress);
    Ok(())
}
