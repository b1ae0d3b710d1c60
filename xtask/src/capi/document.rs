//! `docs/capi.md`: the functions of the C interface.

use std::collections::BTreeMap;

use super::tables::{Origin, Tables, object};

const HEAD: &str = "\
# The C library

`crates/capi` is RocksDB's C interface over Esker: the names and signatures of `rocksdb/c.h` of RocksDB 11.8, in a shared and a
static library. This page is written by `cargo xtask gen` from the tables of that crate.

* **works**: does what RocksDB's does. A field of an options object is passed to the engine when a database is opened.
* **kept**: a field that is stored and can be read back, and has no effect in the engine. `rocksdb_set_options` takes the names of those
  that RocksDB changes in an open database, and checks their values. A transaction keeps its timestamps: it refuses families with timestamps, and no
  others use them.

Every function of `rocksdb/c.h` is one of these two. A call that asks for something the engine does not have fails with `Not implemented: NAME`
through its `errptr`; a legacy function without an `errptr` writes that line to standard error, and returns zero.

`cargo xtask judge c_test` compiles RocksDB's own test of the interface against the library, runs it and counts the phases passed:
[judges.md](judges.md) has its count and those of other programs.

With `ESKER_CHECKED_HANDLES=1` in its environment the library reports on standard error each object that the program releases twice, or that
the library did not create, and leaves it alone. Objects that `rocksdb_free` releases are not checked: a transaction's snapshot, the batch of a
transaction, arrays.

A compaction service and `rocksdb_open_and_compact` are the two ends of remote compaction, in RocksDB's serialized form: either end may be RocksDB.
The database runs a compaction itself if a result cannot be used, and those of families with blob files. With `allow_resumption` a worker
deletes what an earlier attempt left in the output directory, and begins anew.

[lab/c_interface.md](lab/c_interface.md) has the cost of single calls, beside those of the Rust interface and of RocksDB's library.

A length that no buffer can have, of 2^63 bytes and more, is refused before a byte is read: `Invalid argument: no buffer has a length of N`. A batch
that got one is not written, an iterator that got one is invalid, and both have that error. A callback that returns such a length is reported on standard
error, and its row stays as it was. An operation over the `max_bytes` of a batch is not added, and the batch is refused when it is written: `Operation aborted:
Memory limit reached`. RocksDB drops the operation and writes the others.

A database belongs to the process that opened it. In a child of `fork`, functions that take the database or a transaction fail with `IO error: the database
was opened before a fork`, and closing it there touches neither its files nor its lock; its iterators may only be destroyed there. A child must
not open a database while its parent had one open at the `fork`: the background threads and their queues stayed in the parent, as with RocksDB, and the
child may wait for them without end. Fork before the first open, or `exec`. Two copies of the library in one process, or the library beside RocksDB, are kept apart by the lock of the directory.

";

const GENERATIONS: &str = "
## Generations

A program expects the signatures, the numbers of tickers and histograms, and the defaults of the release that it was written for. The library
has four generations: 7.8, 10.4, 10.9 and 11.8. The name under which it is loaded decides, so that one file serves programs linked to
`librocksdb.so.7.8` and to `librocksdb.so.11.8`, each by its own link. Loaded under a name without a number, and as an archive, it has the generation
that was set when it was built by the variable `ESKER_ROCKSDB_GENERATION`, or 11.8. A release between two has the generation of the older one; 9
has that of 10.4.

Differing defaults are in `crates/capi/fields.tsv`: `format_version` is 5 in 7.8, which reads no later one, 6 up to 10.9, and 7 in 11.8;
compression is Snappy up to 10.9 and LZ4 in 11.8. These functions exist only in older generations, or had other parameters up to the named one:

| function | last generation |
|---|---|
";

/// Returns the whole page.
pub fn text(tables: &Tables) -> String {
    let origins = tables.origins();
    let mut families: BTreeMap<String, [Vec<&str>; 2]> = BTreeMap::new();
    let mut counts = [0usize; 2];
    for function in &tables.functions {
        let which = usize::from(origins.get(function.name.as_str()) == Some(&Origin::Kept));
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
    for (what, count) in ["works", "kept"].iter().zip(counts) {
        out.push_str(&format!("| {what} | {count} |\n"));
    }
    out.push_str(GENERATIONS);
    for old in &tables.legacy {
        out.push_str(&format!("| `{}` | {} |\n", old.function.name, old.last));
    }
    for (family, lists) in families {
        out.push_str(&format!("\n## {family}\n\n"));
        for (what, names) in ["works", "kept"].iter().zip(lists) {
            if !names.is_empty() {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                out.push_str(&format!("* **{what}**: {}\n", names.join(", ")));
            }
        }
    }
    out
}
