//! Bugs planted in reads, the block cache, picking of compactions, and what tools make of files.

use super::Canary;
use super::Catcher::Tests;

pub const CANARIES: &[Canary] = &[
    Canary {
        name: "db_bench writes an option that RocksDB 7.8 does not know",
        file: "tools/db_bench/src/flags.rs",
        right: "    universal_reduce_file_locking: bool = true;",
        wrong: "    universal_reduce_file_locking: bool = false;",
        caught_by: Tests(&["-p", "db_bench", "--lib", "defaults_are_those_of_rocksdb"]),
    },
    Canary {
        name: "options of later releases are written at their defaults",
        file: "crates/engine/src/options/fields.rs",
        right: "(field.1)(options) != (field.1)(&default) || !later.iter().any(|(later, _)| *later == field.0)",
        wrong: "(field.1)(options) != (field.1)(&default) || later.len() < 20",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "rocksdb_tools::"]),
    },
];
