//! A secondary: another process, or another part of this one, reads a database that its primary goes on
//! writing.
//!
//! `cargo run --example secondary -p esker -- DIR`

use esker::{Db, ErrorKind, Options};

fn main() -> esker::Result<()> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "primary.db".to_owned());
    let options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    let primary = Db::open(&options, &dir)?;
    primary.delete(b"key")?;

    // A secondary needs a directory of its own for its LOG, and takes no lock on the primary's.
    let secondary = Db::open_as_secondary(&options, &dir, format!("{dir}.secondary"))?;
    primary.put(b"key", b"value")?;
    assert_eq!(secondary.get(b"key")?, None);

    // A secondary shows the state of its last catch-up. A follower, `Db::open_as_follower`, catches up by
    // itself.
    secondary.try_catch_up_with_primary()?;
    assert_eq!(secondary.get(b"key")?.as_deref(), Some(&b"value"[..]));
    println!(
        "the secondary has caught up with {}",
        secondary.latest_sequence_number()
    );

    let refused = secondary.put(b"key", b"x").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotSupported);
    secondary.close()?;
    primary.close()
}
