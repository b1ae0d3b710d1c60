//! What `cargo xtask gen` writes, and what it calls.

pub mod fields;
pub mod objects;
pub mod stubs;

use esker::option_table::OptionTable;
use esker::Result;

/// Hands a field to the engine's row `name`. What is outside the row's range is brought into it, as RocksDB does with its own.
fn apply<S: OptionTable>(options: &mut S, name: &str, number: f64, text: &str) -> Result<()> {
    let Some(row) = S::row(name) else {
        return Err(esker::Error::not_supported(format!("option {name}")));
    };
    match row.range {
        Some((low, _)) if number < low => options.set(name, &low.to_string()),
        Some((_, high)) if number > high => options.set(name, &high.to_string()),
        _ => options.set(name, text),
    }
}
