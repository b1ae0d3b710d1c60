//! Manual flushes and compactions that do not depend on background work.

use esker::{BottommostLevelCompaction, ColumnFamily, CompactRangeOptions, Db, FlushOptions};

/// Options of a flush that does not wait for compactions, which a test may pause.
pub fn at_once() -> FlushOptions {
    FlushOptions {
        allow_write_stall: true,
        ..FlushOptions::default()
    }
}

/// Flushes the default family, even if that stalls writes, and waits for it.
pub fn flush(db: &Db) {
    db.flush_opt(&at_once()).unwrap();
}

/// Flushes the default family, and waits until no compaction is due.
pub fn flush_and_settle(db: &Db) {
    flush(db);
    db.wait_for_compact().unwrap();
}

/// Compacts the default family with the default options of a manual compaction.
pub fn compact(db: &Db) {
    db.compact_range(None, None).unwrap();
}

/// Options of a compaction that also rewrites the last level.
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
    db.compact_range_cf_opt(family, None, None, &everything())
        .unwrap();
}
