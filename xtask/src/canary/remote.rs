//! Planted bugs of compactions in other processes.

use super::Canary;
use super::Catcher::{Stress, Tests};

const REMOTE: &[&str] = &["-p", "esker-dbtest", "--test", "it", "compaction::remote::"];

/// Compactions by workers, which keep the rows of snapshots.
const WORKERS: &[&str] = &[
    "--threads=2",
    "--ops_per_thread=10000",
    "--max_key=300",
    "--column_families=4",
    "--reopen=1",
    "--remote_compaction_worker_threads=2",
    "--readpercent=10",
    "--prefixpercent=5",
    "--writepercent=45",
    "--delpercent=10",
    "--delrangepercent=5",
    "--iterpercent=25",
    "--acquire_snapshot_one_in=50",
    "--snapshot_hold_ops=500",
    "--flush_one_in=500",
    "--compact_range_one_in=500",
    "--clear_column_family_one_in=0",
    "--write_buffer_size=16384",
    "--target_file_size_base=4096",
    "--max_bytes_for_level_base=32768",
    "--progress_reports=false",
];

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a compaction that its service has failed is done all the same",
        file: "crates/engine/src/jobs/compaction.rs",
        right: "if let Some(written) = self.offer_to_service(family, &version, plan, job.job)? {",
        wrong: "if let Ok(Some(written)) = self.offer_to_service(family, &version, plan, job.job) {",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "compaction::service::"]),
    },
    Canary {
        name: "a worker keeps no rows for snapshots",
        file: "crates/engine/src/lifecycle/open_and_compact.rs",
        right: "rewrite.keeping(snapshots).within(part)",
        wrong: "rewrite.keeping(snapshots.split_off(0).drain(..0).collect()).within(part)",
        caught_by: Tests(REMOTE),
    },
    Canary {
        name: "a worker that is asked for a part writes everything",
        file: "crates/engine/src/lifecycle/open_and_compact.rs",
        right: "end: self.input.end.as_deref(),",
        wrong: "end: None,",
        caught_by: Tests(REMOTE),
    },
    Canary {
        name: "a worker runs the compaction of another database",
        file: "crates/engine/src/lifecycle/open_and_compact.rs",
        right: "id.filter(|id| id != wanted && !wanted.is_empty())",
        wrong: "id.filter(|id| id != wanted && wanted.is_empty())",
        caught_by: Tests(REMOTE),
    },
    Canary {
        name: "a worker's table is installed whatever keys it is said to have",
        file: "crates/engine/src/jobs/compaction_service.rs",
        right: "if !is_within || ",
        wrong: "if (!is_within && before.is_some()) || ",
        caught_by: Tests(REMOTE),
    },
    Canary {
        name: "a worker's table is installed though it is another one",
        file: "crates/engine/src/jobs/compaction_service.rs",
        right: "id.is_some() && output.unique_id != id",
        wrong: "id.is_none() && output.unique_id != id",
        caught_by: Tests(REMOTE),
    },
    Canary {
        name: "rows behind the bounds of a worker's table are not looked for",
        file: "crates/engine/src/jobs/compaction_service.rs",
        right: "family.cmp.compare(&output.largest, rows.key()).is_lt()",
        wrong: "family.cmp.compare(&output.largest, rows.key()).is_gt()",
        caught_by: Tests(REMOTE),
    },
    Canary {
        name: "the tables of an unusable result stay in the database's directory",
        file: "crates/engine/src/jobs/compaction_service.rs",
        right: "taken.into_iter().for_each(|path| self.obsolete.add(path))",
        wrong: "taken.into_iter().for_each(|path| drop(path))",
        caught_by: Tests(REMOTE),
    },
    Canary {
        name: "a result that was cut off is read",
        file: "crates/engine/src/jobs/service_text.rs",
        right: "if !text.ends_with(';') || !is_balanced(text) {",
        wrong: "if !text.ends_with(';') && !is_balanced(text) {",
        caught_by: Tests(&["-p", "esker", "--lib", "service_text::"]),
    },
    Canary {
        name: "the job of a worker names no snapshots",
        file: "crates/engine/src/jobs/compaction_service.rs",
        right: "            snapshots: self.snapshots.seqnos(),\n",
        wrong: "            snapshots: Vec::new(),\n",
        caught_by: Stress(2, WORKERS),
    },
    Canary {
        name: "a result of an earlier job is taken for that of a new one",
        file: "tools/esker/src/ldb/remote_compaction.rs",
        right: "fs::remove_file(self.dir.join(RESULT))",
        wrong: "fs::metadata(self.dir.join(RESULT)).map(drop)",
        caught_by: Tests(&[
            "-p",
            "esker-cli",
            "--test",
            "it",
            "a_worker_does_the_compaction_of_a_primary",
        ]),
    },
    Canary {
        name: "a worker of db_stress takes its next job at once",
        file: "testing/stress/src/remote.rs",
        right: "self.looks.push(now + Duration::from_micros(micros));",
        wrong: "self.looks.push(now + Duration::from_micros(micros / 1000));",
        caught_by: Tests(&["-p", "db_stress", "--lib", "remote::"]),
    },
];
