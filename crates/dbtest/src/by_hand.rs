//! Flushes and compactions that a test asks for and nothing may prevent.

use esker::{BottommostLevelCompaction, ColumnFamily, CompactRangeOptions, Db, FlushOptions};

/// Flushes the default family, and waits for it.
pub fn flush(db: &Db) {
    db.flush(&FlushOptions::default()).unwrap();
}

/// Flushes the default family, and waits until no compaction is due.
pub fn flush_and_settle(db: &Db) {
    flush(db);
    db.wait_for_compact().unwrap();
}

/// Compacts the default family with the defaults of a manual compaction.
pub fn compact(db: &Db) {
    db.compact_range(
        &db.default_column_family(),
        &CompactRangeOptions::default(),
        None,
        None,
    )
    .unwrap();
}

/// What rewrites the last level, too.
pub fn everything() -> CompactRangeOptions {
    CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    }
}

/// Rewrites all tables of the default family.
pub fn rewrite(db: &Db) {
    rewrite_family(db, &db.default_column_family());
}

/// Rewrites all tables of `family`.
pub fn rewrite_family(db: &Db, family: &ColumnFamily) {
    db.compact_range(family, &everything(), None, None).unwrap();
}
