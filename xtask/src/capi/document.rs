//! `docs/capi.md`: what there is of the C interface.

use std::collections::BTreeMap;

use super::{Origin, Tables, object};

const HEAD: &str = "\
# The C library

`crates/capi` is RocksDB's C interface over Esker: the names and signatures of `rocksdb/c.h` of RocksDB 11.8, in a shared and a
static library. This page is written by `cargo xtask gen` from the tables of that crate.

* **works**: does what RocksDB's does. A field of an options object goes to the engine when a database is opened.
* **kept**: a field that is stored and read back, and means nothing to the engine.
* **not implemented**: through `errptr` comes `Not implemented: NAME`; where there is none, a line goes to the standard error
  output and the function returns zero.

`cargo xtask judge c_test` compiles RocksDB's own test of the interface against the library, runs it and counts the phases passed.

";

/// The whole page.
pub fn text(tables: &Tables) -> String {
    let origins = tables.origins();
    let mut families: BTreeMap<String, [Vec<&str>; 3]> = BTreeMap::new();
    let mut counts = [0usize; 3];
    for function in &tables.functions {
        let which = match origins.get(function.name.as_str()) {
            Some(Origin::Kept) => 1,
            Some(Origin::Stub) | None => 2,
            Some(_) => 0,
        };
        counts[which] += 1;
        let family = function
            .parameters
            .first()
            .and_then(|parameter| object(&parameter.kind))
            .or(object(&function.returns))
            .unwrap_or("others");
        families.entry(family.to_owned()).or_default()[which].push(&function.name);
    }
    let mut out = HEAD.to_owned();
    out.push_str("| | functions |\n|---|---|\n");
    for (what, count) in ["works", "kept", "not implemented"].iter().zip(counts) {
        out.push_str(&format!("| {what} | {count} |\n"));
    }
    for (family, lists) in families {
        out.push_str(&format!("\n## {family}\n\n"));
        for (what, names) in ["works", "kept", "not implemented"].iter().zip(lists) {
            if !names.is_empty() {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                out.push_str(&format!("* **{what}**: {}\n", names.join(", ")));
            }
        }
    }
    out
}
