//! Rows that expire: a time to live for each row, which every read respects.
//!
//! `cargo run --example ttl -p esker -- DIR`

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use esker::{DbWithTtl, FamilyTtl, ManualClock, Options, TtlOptions};

fn main() -> esker::Result<()> {
    let dir = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "sessions.db".to_owned());
    // The example advances this clock. A database without a clock of its own uses the system's.
    let clock = Arc::new(ManualClock::default());
    let options = Options {
        create_if_missing: true,
        clock: clock.clone(),
        ..Options::default()
    };
    // A row expires after an hour unless its write sets another time to live. `DbWithTtl::open` with seconds
    // makes RocksDB's kind instead, whose expired rows are visible until a compaction drops them.
    let ttl = TtlOptions {
        default: FamilyTtl::PerKey(Some(Duration::from_secs(3600))),
        families: BTreeMap::new(),
        read_only: false,
    };
    let db = DbWithTtl::open_with(&options, dir, &ttl)?;

    db.put("session", "an hour")?;
    db.put_with_ttl("code", "a minute", Duration::from_secs(60))?;
    clock.advance(Duration::from_secs(61));
    assert_eq!(db.get("code")?, None);
    assert_eq!(db.get("session")?.as_deref(), Some(&b"an hour"[..]));
    println!("the code has expired, the session has not");
    db.db().close()
}
