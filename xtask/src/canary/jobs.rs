//! Bugs of background work: the families that are flushed together, the directories of files, the threads,
//! and the deletion of files.

use super::Canary;
use super::Catcher::{SimulatedTests, Tests};

const DB_PATHS: &[&str] = &["-p", "esker-dbtest", "--test", "it", "db_paths::"];

const RECENT_ROWS: &[&str] = &["-p", "esker-dbtest", "--test", "it", "scripts::compaction"];

const PICKERS: &[&str] = &["-p", "esker-compact", "--test", "it", "picker_"];

const THREAD_POOL: &[&str] = &["-p", "esker-dbtest", "--test", "it", "thread_pool::"];

const ATOMIC_FLUSH: &[&str] = &["-p", "esker-dbtest", "--test", "it", "atomic_flush::"];

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a running compaction is not aborted with the others",
        file: "crates/engine/src/jobs/rewrite.rs",
        right: ".chain([of_all, &self.db.jobs.compactions_aborted])",
        wrong: ".chain([of_all])",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "scripts::control"]),
    },
    Canary {
        name: "a compaction with full_history_ts_low covers a part of the keys",
        file: "crates/engine/src/jobs/manual_jobs.rs",
        right: "            if begin.is_some() || end.is_some() {",
        wrong: "            if begin.is_some() && end.is_some() {",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "scripts::timestamps"]),
    },
    Canary {
        name: "named files are moved though another compression is asked for",
        file: "crates/compact/src/picker/files.rs",
        right: "options.allow_trivial_move && keeps_contents && ",
        wrong: "options.allow_trivial_move && (keeps_contents || options.compression.is_some()) && ",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "scripts::styles"]),
    },
    Canary {
        name: "the times of rows are not sampled when an option begins to need them",
        file: "crates/engine/src/lifecycle/set_options.rs",
        right: "            self.record_seqno_time();\n            self.obsolete.wake();\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "recent_rows::the_age_of"]),
    },
    Canary {
        name: "no compaction is handed over to the threads of bottom priority",
        file: "crates/engine/src/jobs/compaction.rs",
        right: "plan.output_level == last;",
        wrong: "plan.output_level > last;",
        caught_by: Tests(&["-p", "esker-dbtest", "thread_pool::compactions_into_the_last"]),
    },
    Canary {
        name: "with atomic_flush each family is flushed by a job of its own",
        file: "crates/engine/src/state/db_state.rs",
        right: "return due.then(|| unflushed.map(|(&id, _)| id).collect());",
        wrong: "return due.then(|| unflushed.map(|(&id, _)| id).take(1).collect());",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "scripts::control"]),
    },
    Canary {
        name: "with atomic_flush a full memtable is switched alone",
        file: "crates/engine/src/write/obstacle.rs",
        right: "        let full = state.switched_with(full);\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "scripts::control"]),
    },
    Canary {
        name: "a family that is to be flushed with others is flushed alone",
        file: "crates/engine/src/state/db_state.rs",
        right: "            .filter(|own| !is_grouped(own.family.id))\n",
        wrong: "            .filter(|own| !is_grouped(own.family.id) || own.family.id > 0)\n",
        caught_by: Tests(ATOMIC_FLUSH),
    },
    Canary {
        name: "a flush of several families that fails leaves the tables of the first",
        file: "crates/engine/src/jobs/flush.rs",
        right: "                        self.discard_flushed(&own.family, flushed);\n                    }\n",
        wrong: "                        let _ = (own, flushed);\n                    }\n",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "scripts::control"]),
    },
    Canary {
        name: "a table that is obsolete is looked for in the first directory",
        file: "crates/engine/src/files/table_cache.rs",
        right: "filename::table(self.paths.dir(self.path_id), self.number)",
        wrong: "filename::table(self.paths.dir(self.path_id * 0), self.number)",
        caught_by: Tests(DB_PATHS),
    },
    Canary {
        name: "the directory of blob files is not made durable with that of the tables",
        file: "crates/engine/src/jobs/output.rs",
        right: "        if dir != self.family.dir {\n            fs.sync_dir(&self.family.dir)?;\n        }\n",
        wrong: "",
        caught_by: Tests(DB_PATHS),
    },
    Canary {
        name: "a file is moved to a level of another directory",
        file: "crates/engine/src/jobs/compaction.rs",
        right: "            && file.path_id != self.family.path_of_level(output_level);\n",
        wrong: "            && file.path_id > self.family.path_of_level(output_level);\n",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "scripts::lifecycle"]),
    },
    Canary {
        name: "the MANIFEST of a copy names directories that it has not",
        file: "crates/manifest/src/state.rs",
        right: "                file.path_id = 0;\n",
        wrong: "",
        caught_by: Tests(DB_PATHS),
    },
    Canary {
        name: "repair takes every table for one of the first directory",
        file: "crates/engine/src/lifecycle/repair.rs",
        right: "table.file.path_id = number.ok_or_else(|| elsewhere(&table.path))?;",
        wrong: "table.file.path_id = number.ok_or_else(|| elsewhere(&table.path))? * 0;",
        caught_by: Tests(DB_PATHS),
    },
    Canary {
        name: "a database that has more to do stays at the head of the line",
        file: "crates/engine/src/options/thread_pool.rs",
        right: "tasks.push_back(id);",
        wrong: "tasks.push_front(id);",
        caught_by: Tests(THREAD_POOL),
    },
    Canary {
        name: "a pool that is made smaller keeps its threads",
        file: "crates/engine/src/options/thread_pool.rs",
        right: "            if queue.threads > queue.limit() {\n",
        wrong: "            if queue.threads > queue.limit() + 40 {\n",
        caught_by: Tests(THREAD_POOL),
    },
    Canary {
        name: "a recent range deletion goes to the last level",
        file: "crates/compact/src/outputs.rs",
        right: "if !self.share.has(tombstone.seqno) {",
        wrong: "if !self.share.has(0) {",
        caught_by: Tests(RECENT_ROWS),
    },
    Canary {
        name: "rows of the last level move up past others",
        file: "crates/compact/src/plan.rs",
        right: "        self.upper = Some(UpperOutput { level, keep_through });\n",
        wrong: "        let keep_through = keep_through.min(0);\n        self.upper = Some(UpperOutput { level, keep_through });\n",
        caught_by: Tests(RECENT_ROWS),
    },
    Canary {
        name: "a file of recent rows is moved to the last level",
        file: "crates/engine/src/jobs/compaction.rs",
        right: "leveled.upper_level(output_level).is_some() && !leveled.has_old_rows_only(file, self.now)",
        wrong: "leveled.upper_level(output_level).is_some() && leveled.has_old_rows_only(file, self.now)",
        caught_by: Tests(RECENT_ROWS),
    },
    Canary {
        name: "recent rows have the temperature of the last level",
        file: "crates/engine/src/jobs/output.rs",
        right: ".temperature_at(self.destination.level.unwrap_or(plan.output_level))",
        wrong: ".temperature_at(plan.output_level)",
        caught_by: Tests(RECENT_ROWS),
    },
    Canary {
        name: "two compactions write recent rows to one place",
        file: "crates/compact/src/picker/running.rs",
        right: "(job.output_level == level || job.upper_level == Some(level))",
        wrong: "(job.output_level == level)",
        caught_by: Tests(PICKERS),
    },
    Canary {
        name: "a file of recent rows is rewritten for the last level",
        file: "crates/compact/src/picker/leveled.rs",
        right: "options.upper_level(output_level) == Some(level) && !start.iter().any(may_sink)",
        wrong: "options.upper_level(output_level) == Some(level) && start.is_empty()",
        caught_by: Tests(PICKERS),
    },
    Canary {
        name: "periodic work waits until no file is left to delete",
        file: "crates/engine/src/files/obsolete_files.rs",
        right: "            if !queue.closed {\n                called = true;\n",
        wrong: "            if is_done && !queue.closed {\n                called = true;\n",
        caught_by: Tests(&["-p", "esker", "--lib", "files::obsolete_files::"]),
    },
    Canary {
        name: "an ingestion does not wait for rows that a running atomic flush has taken",
        file: "crates/engine/src/state/db_state.rs",
        right: "is_named(own) || holds_rows(own)",
        wrong: "is_named(own) && holds_rows(own) || holds_rows(own)",
        caught_by: Tests(&["-p", "esker-dbtest", "atomic_flush::an_ingestion_waits"]),
    },
    Canary {
        name: "with atomic_flush the memtable that memory is short of is switched alone",
        file: "crates/engine/src/write/obstacle.rs",
        right: "        early = state.switched_with(early);\n",
        wrong: "",
        caught_by: SimulatedTests(&["-p", "simulate", "--test", "it", "scripts::"]),
    },
    Canary {
        name: "a pause does not end a wait for compactions",
        file: "crates/engine/src/jobs/manual_jobs.rs",
        right: "            if abort_on_pause && state.background_paused > 0 {",
        wrong: "            if abort_on_pause && state.background_paused > 1 {",
        caught_by: Tests(&["-p", "esker-txn", "--test", "it", "together::"]),
    },
];
