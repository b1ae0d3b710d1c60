//! Bugs of ingestions with concurrent writers, and of tables that are cut.

use super::Canary;
use super::Catcher::Tests;

const LATCH: &[&str] = &["-p", "esker-dbtest", "--test", "it", "ingest::latch::"];

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a compaction within L0 is picked where a file is about to be ingested",
        file: "crates/compact/src/picker/inputs.rs",
        right: "(context.running).reserves(files.cmp, user(bounds.smallest), user(bounds.largest))",
        wrong: "(context.running).reserves(files.cmp, user(bounds.largest), user(bounds.smallest))",
        caught_by: Tests(&["-p", "esker-compact", "--test", "it", "picker::"]),
    },
    Canary {
        name: "an import leaves older WALs unsynced",
        file: "crates/engine/src/ingest/import.rs",
        right: "            self.sync_wal(self.wal_tail.records.load(Ordering::Acquire))?;\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "ingest::import::"]),
    },
    Canary {
        name: "a table in L0 spans the number of a file that is ingested",
        file: "crates/engine/src/ingest/commit.rs",
        right: "        if numbered && (in_memory || in_level0) {\n",
        wrong: "        if numbered && in_memory {\n",
        caught_by: Tests(LATCH),
    },
    Canary {
        name: "a writer of keys that are ingested does not wait",
        file: "crates/engine/src/write/range_latch.rs",
        right: "        if !holds {\n",
        wrong: "        if !holds || options.no_slowdown {\n",
        caught_by: Tests(LATCH),
    },
    Canary {
        name: "a writer of other keys waits for an ingestion",
        file: "crates/engine/src/write/range_latch.rs",
        right: "            Some(latch) => is_latched(latch, commit)?,\n",
        wrong: "            Some(latch) => is_latched(latch, commit)? || true,\n",
        caught_by: Tests(LATCH),
    },
    Canary {
        name: "the first write beside an ingestion opens its range",
        file: "crates/engine/src/write/pipeline.rs",
        right: ".store(state.range_latch.is_some(), Ordering::Relaxed);",
        wrong: ".store(false, Ordering::Relaxed);",
        caught_by: Tests(LATCH),
    },
    Canary {
        name: "rows that are older than ingested files are less durable than they",
        file: "crates/engine/src/ingest/commit.rs",
        right: "        self.sync_wal(reserved.records)?;\n",
        wrong: "",
        caught_by: Tests(LATCH),
    },
    Canary {
        name: "the rows behind a replaced range go with it",
        file: "crates/engine/src/ingest/cut.rs",
        right: "            behind.map(|start| OutputRange {\n",
        wrong: "            behind.filter(|_| false).map(|start| OutputRange {\n",
        caught_by: Tests(LATCH),
    },
    Canary {
        name: "the pieces of a cut table are deleted",
        file: "crates/engine/src/ingest/cut.rs",
        right: "        if self.recorded {\n            return;\n        }\n",
        wrong: "",
        caught_by: Tests(LATCH),
    },
    Canary {
        name: "the pieces of a cut that failed stay",
        file: "crates/engine/src/ingest/cut.rs",
        right: "            pieces.for_each(|piece| self.db.obsolete.add(own.family.paths.table(piece)));\n",
        wrong: "            drop(pieces);\n",
        caught_by: Tests(LATCH),
    },
    Canary {
        name: "numbers that an ingestion gives back are used in a WAL that began above them",
        file: "crates/engine/src/state/writer.rs",
        right: "self.last_seqno == reserved && self.logged_next <= kept + 1;",
        wrong: "self.last_seqno == reserved;",
        caught_by: Tests(LATCH),
    },
];
