//! Planted bugs of the C interface.

use super::Canary;
use super::Catcher::Tests;

/// Runs programs of `crates/capi/tests/c`, each by its test.
const TESTS: &[&str] = &["-p", "esker-capi", "--test", "it", "c_program::"];

/// One of them: with the bug, others would not end.
const ROWS: &[&str] = &[
    "-p",
    "esker-capi",
    "--test",
    "it",
    "c_program::rows_families_and_batches",
];

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a child of fork uses its parent's database",
        file: "crates/capi/src/process.rs",
        right: "    FORKS.fetch_add(1, Ordering::Relaxed);\n",
        wrong: "    FORKS.fetch_add(0, Ordering::Relaxed);\n",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "a batch forgets that it refused a row",
        file: "crates/capi/src/batch.rs",
        right: "        batch.refuse(error);\n",
        wrong: "        drop(error);\n",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "a tailing iterator stays with the rows that it began with",
        file: "crates/capi/src/iterator.rs",
        right: "if self.options.tailing && !self.seek_again() {",
        wrong: "if self.options.tailing && !self.iter.valid() {",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "an iterator of C keeps the row that it has left",
        file: "crates/capi/src/iterator.rs",
        right: "        self.row = Row::NONE;\n        let result = go(self);\n",
        wrong: "        let result = go(self);\n",
        caught_by: Tests(ROWS),
    },
    Canary {
        name: "the memory of a checked pinned value is used again",
        file: "crates/capi/src/pinned.rs",
        right: "    if checked::is_on() {\n",
        wrong: "    if checked::is_on() && object.is_null() {\n",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "a deletion in a database with transactions takes no lock",
        file: "crates/capi/src/db.rs",
        right: "                Kind::Locks(db) => db.$name(family, $($arg,)* options),\n",
        wrong: "                Kind::Locks(db) => db.db().$name(family, $($arg,)* options),\n",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "timestamps set for a whole batch leave its old checksums",
        file: "crates/engine/src/batch/timestamps.rs",
        right: "        self.protect_again();\n",
        wrong: "        if self.is_empty() {\n            self.protect_again();\n        }\n",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "a batch with an index is read without the timestamps that it was given",
        file: "crates/engine/src/write/batch_index.rs",
        right: "        self.batch.update_timestamps(timestamp, size_of)?;\n        self.families.get_mut().clear();\n",
        wrong: "        self.batch.update_timestamps(timestamp, size_of)?;\n",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "read options that are set after a read have no effect",
        file: "crates/capi/src/read_options.rs",
        right: "        self.translated.take();\n",
        wrong: "",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "background threads keep their priorities",
        file: "crates/engine/src/options/thread_preparation.rs",
        right: "        self.version += 1;\n",
        wrong: "        self.version += 0;\n",
        caught_by: Tests(TESTS),
    },
    Canary {
        name: "an opened database has no SST file manager",
        file: "crates/capi/src/options.rs",
        right: "self.sst_file_manager.as_ref().map(|manager| manager.0.clone());",
        wrong: "self.sst_file_manager.as_ref().map(|manager| manager.0.clone()).filter(|_| false);",
        caught_by: Tests(TESTS),
    },
];
