//! Bugs in LOG and in the statistics that scripts read.

use super::Canary;
use super::Catcher::Tests;

const LINES: &[&str] = &["-p", "esker-dbtest", "--test", "it", "info_log::"];

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "LOG names the release of the options alone, and not that of the OPTIONS file",
        file: "crates/engine/src/lifecycle/open.rs",
        right: "options.release(found.as_ref().ok().and_then(Option::as_ref).map(|(_, file)| file))",
        wrong: "options.release(None)",
        caught_by: Tests(LINES),
    },
    Canary {
        name: "files from outside do not count in the statistics",
        file: "crates/engine/src/ingest/commit.rs",
        right: "                own.stats.ingested(ingested_stats(prepared, places));\n",
        wrong: "                let _ = ingested_stats(prepared, places);\n",
        caught_by: Tests(LINES),
    },
    Canary {
        name: "the interval of a dump begins when the database was opened",
        file: "crates/engine/src/state/level_stats.rs",
        right: "let interval = up.saturating_sub(before.up);",
        wrong: "let interval = up;",
        caught_by: Tests(&["-p", "esker", "--lib", "level_stats::"]),
    },
    Canary {
        name: "a WAL of which a filter left records out is read again at the next open",
        file: "crates/engine/src/lifecycle/recover/replay.rs",
        right: "        replayed.damaged |= changed.is_some();\n",
        wrong: "",
        caught_by: Tests(&[
            "-p",
            "esker-dbtest",
            "--test",
            "it",
            "wal::filter::records_are_left_out",
        ]),
    },
    Canary {
        name: "rows that a filter left out leave their numbers to others",
        file: "crates/engine/src/lifecycle/wal_filter.rs",
        right: "        next: applied.next.max(behind),\n",
        wrong: "        next: applied.next.min(behind),\n",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "wal::filter::"]),
    },
    Canary {
        name: "db_bench takes the options of a file and leaves out its merge operator",
        file: "crates/engine/src/options/file.rs",
        right: "                        Merger::Operator(operator) => Some(operator),\n",
        wrong: "                        Merger::Operator(_) => None,\n",
        caught_by: Tests(&["-p", "db_bench", "options_come_from_a_file"]),
    },
    Canary {
        name: "a database closes without the end of its trace of queries",
        file: "crates/engine/src/lifecycle/close.rs",
        right: "        drop(catch(|| self.traces.query.end()));\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker", "--test", "it", "query_trace"]),
    },
    Canary {
        name: "appends in a trace of I/O have no length",
        file: "crates/engine/src/trace/traced_fs.rs",
        right: "            len: Some(data.len() as u64),\n",
        wrong: "            len: None,\n",
        caught_by: Tests(&["-p", "esker", "--test", "it", "io_trace"]),
    },
    Canary {
        name: "a database opened with the options of another is watched by that too",
        file: "crates/vfs/src/observed.rs",
        right: "        Some(self.inner.clone())\n",
        wrong: "        None\n",
        caught_by: Tests(&["-p", "esker", "--test", "it", "io_trace"]),
    },
    Canary {
        name: "a block that was read for a Get is traced as one that was in the cache",
        file: "crates/sst/src/reader/load_block.rs",
        right: "        if block_trace::is_on() {\n            self.trace_data(index, i, &block, false, options);\n        }\n        let charge",
        wrong: "        if block_trace::is_on() {\n            self.trace_data(index, i, &block, true, options);\n        }\n        let charge",
        caught_by: Tests(&["-p", "esker", "--test", "it", "block_cache_trace"]),
    },
];
