//! A merge operator: counters that are incremented without being read.
//!
//! `cargo run --example merge_counter -p esker -- DIR`

use std::sync::Arc;

use esker::{Db, MergeOperator, Options};

/// Adds little-endian numbers. (RocksDB's own `uint64add` does the same, and is known by name to RocksDB's
/// tools.)
struct Add;

fn number(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

impl MergeOperator for Add {
    // Tables and the OPTIONS file hold the name; a database is opened with the operator that wrote it.
    fn name(&self) -> &str {
        "example.add"
    }

    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let mut sum = existing.map_or(Some(0), number)?;
        for operand in operands {
            sum = sum.wrapping_add(number(operand)?);
        }
        Some(sum.to_le_bytes().to_vec())
    }

    // A partial merge lets flushes and compactions shorten a long list of increments without the value below
    // it.
    fn partial_merge(&self, key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        self.full_merge(key, Some(older), &[newer])
    }
}

fn main() -> esker::Result<()> {
    let dir = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "counters.db".to_owned());
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.merge_operator = Some(Arc::new(Add));
    let db = Db::open(&options, dir)?;

    let family = db.default_column_family();
    let before = db.get(b"visits")?.as_deref().and_then(number).unwrap_or(0);
    for _ in 0..1000 {
        db.merge_cf(&family, b"visits", 1u64.to_le_bytes())?;
    }
    let after = db.get(b"visits")?.as_deref().and_then(number);
    println!("{before} visits before, {after:?} now");
    assert_eq!(after, Some(before + 1000));
    db.close()
}
