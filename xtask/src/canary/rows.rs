//! Bugs of rows that are too large: the checks of the limit, and the treatment of rows beyond it.

use super::Canary;
use super::Catcher::Tests;

/// The tests of a database whose limit is lowered.
const LOWERED: &[&str] = &["-p", "esker-dbtest", "--test", "it", "row_limit::"];
/// The scripts of a database whose limit is lowered.
const SCRIPTS: &[&str] = &["-p", "esker-dbtest", "--test", "it", "scripts::writes"];
/// The tests of refusals at the real limit.
const REAL: &[&str] = &["-p", "esker", "--test", "it", "row_limit::"];

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "an operation over the limit of a batch stays in it",
        file: "crates/engine/src/batch/write_batch.rs",
        right: "        self.rep.truncate(len);\n        self.refuse(",
        wrong: "        self.refuse(",
        caught_by: Tests(&["-p", "esker", "--lib", "batch::write_batch::"]),
    },
    Canary {
        name: "the versions of keys include those of the end of the range",
        file: "crates/engine/src/read/key_versions.rs",
        right: "                    .is_ge()\n",
        wrong: "                    .is_gt()\n",
        caught_by: Tests(&["-p", "esker", "--lib", "key_versions::"]),
    },
    Canary {
        name: "a write of one row takes any length",
        file: "crates/engine/src/write/pipeline.rs",
        right: "        _ => limit.check(key, value)?,\n",
        wrong: "        _ => {}\n",
        caught_by: Tests(LOWERED),
    },
    Canary {
        name: "the end of a range may have any length",
        file: "crates/engine/src/write/pipeline.rs",
        right: "limit.check_key(key).and_then(|()| limit.check_key(value))?",
        wrong: "limit.check_key(key)?",
        caught_by: Tests(REAL),
    },
    Canary {
        name: "a batch made from bytes takes any length",
        file: "crates/engine/src/batch/write_batch.rs",
        right: ".try_for_each(|operation| operation?.check(RowLimit::MAX))?;",
        wrong: ".try_for_each(|operation| operation.map(drop))?;",
        caught_by: Tests(REAL),
    },
    Canary {
        name: "a batch is written without the operation that it refused",
        file: "crates/engine/src/write/pipeline.rs",
        right: "        batch.status()?;\n        let mut deletes_range",
        wrong: "        let mut deletes_range",
        caught_by: Tests(REAL),
    },
    Canary {
        name: "an ingested file is not looked through for rows that are too large",
        file: "crates/engine/src/ingest/inspect.rs",
        right: "let walk = walk || may_hold_large_rows(table.properties(), entries.limit, blocks);",
        wrong: "let walk = walk || may_hold_large_rows(table.properties(), RowLimit::MAX, blocks);",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "MVCC encodes a key of any length",
        file: "crates/mvcc/src/write/batch.rs",
        right: "match limit.allows(key_len, value_len) {",
        wrong: "match limit.allows(0, value_len) {",
        caught_by: Tests(&["-p", "esker-mvcc", "--test", "it", "row_limit::"]),
    },
    Canary {
        name: "recovery puts a row that is too large into a memtable",
        file: "crates/engine/src/lifecycle/recover/replay.rs",
        right: "            if large.takes(id, seqno, kind, key, value) {\n                return;\n            }\n",
        wrong: "            large.takes(id, seqno, kind, key, value);\n",
        caught_by: Tests(LOWERED),
    },
    Canary {
        name: "a WAL with a row that was left out is deleted",
        file: "crates/engine/src/lifecycle/recover.rs",
        right: "        self.set_aside(&replayed.large.rows)?;\n",
        wrong: "",
        caught_by: Tests(LOWERED),
    },
    Canary {
        name: "a WAL with a row that was left out is read again",
        file: "crates/engine/src/lifecycle/recover/replay.rs",
        right: "        replayed.damaged |= !replayed.large.rows.is_empty();\n",
        wrong: "",
        caught_by: Tests(LOWERED),
    },
    Canary {
        name: "a repair loses rows that are too large without a word",
        file: "crates/engine/src/lifecycle/repair/wals.rs",
        right: "let errors = damage.into_iter().chain(rows);",
        wrong: "let errors = damage.into_iter().chain(rows.take(0));",
        caught_by: Tests(LOWERED),
    },
    Canary {
        name: "a compaction that meets a larger row stops writes",
        file: "crates/engine/src/jobs/compaction.rs",
        right: "            Err(error) if is_failure(error) && done.refused.is_none() => {\n",
        wrong: "            Err(error) if is_failure(error) => {\n",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "writes stall for what lies over a file that is left alone",
        file: "crates/engine/src/state/db_state.rs",
        right: "if !self.left_alone.is_empty() {",
        wrong: "if self.left_alone.len() > 1_000 {",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "a compaction merges operands to more than a row may hold",
        file: "crates/compact/src/cursor/merge.rs",
        right: "match value.filter(|value| self.row_limit.allows(0, value.len())) {",
        wrong: "match value {",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "a compaction combines operands to more than a row may hold",
        file: "crates/compact/src/cursor/operands.rs",
        right: "combined.filter(|combined| limit.allows(0, combined.len()))",
        wrong: "combined.filter(|_| limit.bytes() > 0)",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "a filter's value of any length goes into a table",
        file: "crates/compact/src/cursor/filter.rs",
        right: "Ok(decision) => self.within_limit(decision),",
        wrong: "Ok(decision) => decision,",
        caught_by: Tests(LOWERED),
    },
    Canary {
        name: "recovery keeps a long record while a memtable is written to a table",
        file: "crates/engine/src/lifecycle/recover/replay.rs",
        right: "        if record.len() > LONG_RECORD {\n            *record = Vec::new();\n        }\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker", "--test", "it", "long_values::"]),
    },
    Canary {
        name: "salvage writes rows of any length",
        file: "tools/esker/src/salvage.rs",
        right: "let fits = self.row_limit.check(user_key(key), value);",
        wrong: "let fits = RowLimit::MAX.check(user_key(key), value);",
        caught_by: Tests(&["-p", "esker-cli", "--bins", "salvage::"]),
    },
    Canary {
        name: "a table of an SstFileWriter has rows of any length",
        file: "crates/engine/src/ingest/sst_file_writer.rs",
        right: "        self.table.row_limit.check(key, value)?;\n",
        wrong: "",
        caught_by: Tests(SCRIPTS),
    },
];
