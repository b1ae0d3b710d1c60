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
    Canary {
        name: "an entry of a clock cache is in sight before its cell is known",
        file: "crates/cache/src/clock_shard.rs",
        right: "        let mut in_table = true;\n        while !self.clock.add_to_table(hash, index) {\n            if self.clock.is_fixed() {\n                // Others came and went so fast that no free cell was met: it lives as long as it is pinned.\n                self.clock.vacate();\n                in_table = false;\n                break;\n            }\n            // So many came at once that no cell is left.\n            drop(passage);\n            self.grow_if_full();\n            passage = self.clock.pass();\n        }\n        // SAFETY: the frame is empty and on no list: it is this thread's.\n        unsafe { frame.fill(insertion.value, in_table, !fits) };\n",
        wrong: "        // SAFETY: the frame is empty and on no list: it is this thread's.\n        unsafe { frame.fill(insertion.value, true, !fits) };\n        while !self.clock.add_to_table(hash, index) {\n            if self.clock.is_fixed() {\n                self.clock.vacate();\n                while !frame.park(frame.state(), true) {}\n                break;\n            }\n            drop(passage);\n            self.grow_if_full();\n            passage = self.clock.pass();\n        }\n",
        caught_by: Tests(&[
            "--config",
            "build.rustflags=['--cfg','loom']",
            "--release",
            "-p",
            "esker-cache",
            "--lib",
            "loom_tests::erase_against",
        ]),
    },
    Canary {
        name: "a MultiGet takes its sequence number after an ingestion that its super version does not show",
        file: "crates/engine/src/db/multi_get.rs",
        right: "if options.snapshot.is_some() || Arc::ptr_eq(&super_version, &family.super_version.load()) {",
        wrong: "if options.snapshot.is_some() || seqno <= family.published.load(std::sync::atomic::Ordering::Acquire) {",
        caught_by: Tests(&[
            "--config",
            "build.rustflags=['--cfg','simulate']",
            "-p",
            "simulate",
            "--test",
            "it",
            "ingest::",
        ]),
    },
    Canary {
        name: "files that nothing changes are compacted without end",
        file: "crates/compact/src/picker/settled.rs",
        right: "        let settled = self.files.get(&file.number)?;",
        wrong: "        let settled = self.files.get(&file.number).filter(|_| context.now == 0)?;",
        caught_by: Tests(&[
            "-p",
            "esker-dbtest",
            "--test",
            "it",
            "compactions_rest::with_every_option_of_tables",
        ]),
    },
    Canary {
        name: "files with timestamps are rewritten although history has not ended",
        file: "crates/compact/src/picker/leveled.rs",
        right: "        let Some(low) = self.context.full_history_ts_low else {\n            return false;",
        wrong: "        let Some(low) = self.context.full_history_ts_low else {\n            return true;",
        caught_by: Tests(&[
            "-p",
            "esker-dbtest",
            "--test",
            "it",
            "compactions_rest::with_every_option_of_tables",
        ]),
    },
    Canary {
        name: "numbers of orphan tables are used again after a crash",
        file: "crates/engine/src/db/recover.rs",
        right: "                        FileKind::Table(number)\n                        | FileKind::Blob(number)",
        wrong: "                        FileKind::Blob(number)",
        caught_by: Tests(&["-p", "esker", "--test", "it", "numbers::"]),
    },
    Canary {
        name: "a new MANIFEST forgets full_history_ts_low",
        file: "crates/engine/src/version_set.rs",
        right: "                full_history_ts_low: family.full_history_ts_low.clone(),",
        wrong: "                full_history_ts_low: Box::default(),",
        caught_by: Tests(&["-p", "esker", "--test", "it", "numbers::"]),
    },
    Canary {
        name: "a new MANIFEST forgets the highest family id",
        file: "crates/engine/src/version_set.rs",
        right: "        max_column_family: state.max_family,",
        wrong: "        max_column_family: state.families.keys().max().copied().unwrap_or(0),",
        caught_by: Tests(&["-p", "esker", "--test", "it", "numbers::"]),
    },
    Canary {
        name: "a database made anew under the same MANIFEST name looks as the old one",
        file: "tools/esker/src/top/observe.rs",
        right: "known.filter(|known| known.goes_on(&mut reader))",
        wrong: "known.filter(|known| known.goes_on(&mut reader) || known.edits > 0)",
        caught_by: Tests(&["-p", "esker-cli", "--bins", "top::"]),
    },
    Canary {
        name: "tables in other directories are looked for in the database's own",
        file: "crates/manifest/src/state.rs",
        right: "find(|(_, file)| file.path_id != 0)",
        wrong: "find(|(_, file)| file.path_id > 3)",
        caught_by: Tests(&["-p", "esker", "--test", "it", "numbers::"]),
    },
    Canary {
        name: "a covering range tombstone does not end the search of older memtables",
        file: "crates/engine/src/db/get.rs",
        right: "context.done() || context.covering > 0",
        wrong: "context.done()",
        caught_by: Tests(&["-p", "esker-dbtest", "memtable_filter::a_covering"]),
    },
];
