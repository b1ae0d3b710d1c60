//! Bugs of the handling of panics in user code.

use super::Canary;
use super::Catcher::Tests;

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a commit of two phases whose insertion panics stops no writes",
        file: "crates/engine/src/write/two_phase.rs",
        right: "        match catch(|| self.insert(commit, None, first)).and_then(|inserted| inserted) {\n",
        wrong: "        match self.insert(commit, None, first) {\n",
        caught_by: Tests(&["-p", "esker-dbtest", "panics_in_writes"]),
    },
    Canary {
        name: "a marker whose append panics stops no writes",
        file: "crates/engine/src/write/two_phase.rs",
        right: "        let logged = catch(|| self.log_marked(&mut writer, options, name, mark, &record, last, &action));\n        if let Err(error) = logged.and_then(|logged| logged) {\n",
        wrong: "        let logged = self.log_marked(&mut writer, options, name, mark, &record, last, &action);\n        if let Err(error) = logged {\n",
        caught_by: Tests(&["-p", "esker-dbtest", "panics_in_writes"]),
    },
    Canary {
        name: "a thread of a backup ends with the panic of an observer",
        file: "crates/backup/src/copy.rs",
        right: "catch_or_fail(|| work(item))",
        wrong: "work(item)",
        caught_by: Tests(&["-p", "esker-backup", "--lib", "copy::"]),
    },
    Canary {
        name: "a change of options unwinds with the panic of a listener",
        file: "crates/engine/src/jobs/options_file.rs",
        right: "catch_or_fail(|| self.replace_options_file())",
        wrong: "self.replace_options_file()",
        caught_by: Tests(&["-p", "esker-dbtest", "panics_in_writes"]),
    },
    Canary {
        name: "records of the WAL that a listener panicked behind are appended again",
        file: "crates/wal/src/writer.rs",
        right: "        let mut records = std::mem::take(&mut self.unflushed);\n",
        wrong: "        let mut records = self.unflushed.clone();\n",
        caught_by: Tests(&["-p", "esker-dbtest", "panics_in_writes"]),
    },
    Canary {
        name: "a write goes on after one whose comparator panicked behind its WAL record",
        file: "crates/engine/src/write/pipeline.rs",
        right: "        self.latch(action, error.clone());\n        error\n    }\n",
        wrong: "        if error.kind() != ErrorKind::Panicked {\n            self.latch(action, error.clone());\n        }\n        error\n    }\n",
        caught_by: Tests(&["-p", "esker-dbtest", "panics_in_writes"]),
    },
    Canary {
        name: "a write goes on after one beside it whose comparator panicked",
        file: "crates/engine/src/write/pipeline.rs",
        right: "        if let Err(error) = &inserted {\n",
        wrong: "        if let Err(error) = &inserted\n            && error.kind() != ErrorKind::Panicked\n        {\n",
        caught_by: Tests(&[
            "-p",
            "esker-dbtest",
            "--test",
            "it",
            "concurrent_inserts::nothing_behind_a_thread",
        ]),
    },
    Canary {
        name: "an open whose comparator panics does not say at which record of a WAL",
        file: "crates/engine/src/lifecycle/recover/replay.rs",
        right: "catch_or_fail(|| self.replay_batch(state, operations))",
        wrong: "self.replay_batch(state, operations)",
        caught_by: Tests(&["-p", "esker-dbtest", "panics_in_writes"]),
    },
    Canary {
        name: "a flush whose code panics stays counted as running",
        file: "crates/engine/src/jobs/flush.rs",
        right: "catch_or_fail(|| self.run_flush(state, &job, versions, &mut placed))",
        wrong: "self.run_flush(state, &job, versions, &mut placed)",
        caught_by: Tests(&["-p", "esker-dbtest", "panics_in_jobs"]),
    },
    Canary {
        name: "a compaction whose code panics keeps its inputs",
        file: "crates/engine/src/jobs/compaction.rs",
        right: "catch_or_fail(|| self.compact(state, &job, &mut done))",
        wrong: "self.compact(state, &job, &mut done)",
        caught_by: Tests(&["-p", "esker-dbtest", "panics_in_jobs"]),
    },
    Canary {
        name: "an ingestion whose code panics keeps the MANIFEST",
        file: "crates/engine/src/ingest/commit.rs",
        right: "let planned = self.guarded_in(&mut state, INGESTION, |state| {",
        wrong: "let planned = Ok(&mut state).and_then(|state| {",
        caught_by: Tests(&["-p", "esker-dbtest", "panics_in_jobs"]),
    },
    Canary {
        name: "nobody hears that a listener panicked",
        file: "crates/engine/src/log/listeners.rs",
        right: "                self.record_panic(error);\n            }\n        }\n    }\n",
        wrong: "                drop(error);\n            }\n        }\n    }\n",
        caught_by: Tests(&["-p", "esker-dbtest", "panics_in_jobs"]),
    },
    Canary {
        name: "an iterator goes on with sources that a panic has left anywhere",
        file: "crates/engine/src/read/db_iterator/moves.rs",
        right: "        self.broken.get_or_insert(error);\n    }\n",
        wrong: "    }\n",
        caught_by: Tests(&["-p", "esker-dbtest", "panics_in_reads"]),
    },
    Canary {
        name: "a panic of the file system ends a close half way",
        file: "crates/engine/src/lifecycle/close.rs",
        right: "        let closed_manifest = catch_or_fail(|| self.versions.close());\n",
        wrong: "        let closed_manifest = self.versions.close();\n",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "closed::a_panic"]),
    },
];
