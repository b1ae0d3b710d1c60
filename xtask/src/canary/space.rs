//! Bugs of the SST file manager (paced deletion, the limit of space), and of WALs that describe each other.

use super::Canary;
use super::Catcher::Tests;

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a corrupt backup counts as one that a reader has opened",
        file: "crates/backup/src/catalog.rs",
        right: "            if catalog.backups.len() == limit {",
        wrong: "            if catalog.backups.len() + catalog.corrupt.len() >= limit {",
        caught_by: Tests(&["-p", "esker-backup", "--test", "it", "engine::"]),
    },
    Canary {
        name: "trash is deleted without a pause",
        file: "crates/engine/src/options/sst_file_manager/trash.rs",
        right: "        if now < queue.pace.due {",
        wrong: "        if now < queue.pace.began {",
        caught_by: Tests(&["-p", "esker", "--lib", "trash::tests::each_file_waits"]),
    },
    Canary {
        name: "a file that a checkpoint has too is cut",
        file: "crates/engine/src/options/sst_file_manager/trash.rs",
        right: " && fs.links(path).is_ok_and(|links| links == 1) {",
        wrong: " {",
        caught_by: Tests(&["-p", "esker", "--lib", "trash::tests::a_large_file"]),
    },
    Canary {
        name: "trash of an earlier process stays",
        file: "crates/engine/src/lifecycle/recover.rs",
        right: "        self.track_files()?;\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "sst_file_manager::the_next_open"]),
    },
    Canary {
        name: "an ingested file takes no space",
        file: "crates/engine/src/state/log_and_apply.rs",
        right: "            self.obsolete.deletion().track(&family.paths, edit, &version);\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "sst_file_manager::every_table"]),
    },
    Canary {
        name: "a flush that reaches the limit of space does not stop writes",
        file: "crates/engine/src/jobs/flush.rs",
        right: "            self.latch_anew(state, FLUSH, limit);\n",
        wrong: "            let _ = (&*state, limit);\n",
        caught_by: Tests(&["-p", "esker-dbtest", "sst_file_manager::a_flush"]),
    },
    Canary {
        name: "a database that has reached the limit of space resumes without room",
        file: "crates/engine/src/jobs/error_handler.rs",
        right: "        if let Some(manager) = self.sst_file_manager()\n            && !manager.has_room_for(needed)\n",
        wrong: "        if let Some(manager) = self.sst_file_manager()\n            && !manager.has_room_for(needed)\n            && needed == 0\n",
        caught_by: Tests(&["-p", "esker-dbtest", "sst_file_manager::a_flush"]),
    },
    Canary {
        name: "a compaction does not end at the limit of space",
        file: "crates/engine/src/jobs/output.rs",
        right: "            false => self.db.check_space(),",
        wrong: "            false => Ok(()),",
        caught_by: Tests(&["-p", "esker-dbtest", "sst_file_manager::a_compaction_that"]),
    },
    Canary {
        name: "a compaction that had no room is not tried again",
        file: "crates/engine/src/jobs/room.rs",
        right: "            { state.families.values_mut() }.for_each(|own| own.awaits_room = false);\n",
        wrong: "            return None;\n",
        caught_by: Tests(&["-p", "esker-dbtest", "sst_file_manager::a_compaction_without"]),
    },
    Canary {
        name: "a compaction that found room still waits for it",
        file: "crates/engine/src/jobs/compaction.rs",
        right: "            own.running.finish(job.running);\n            // If another compaction of the family still has no room, the next attempt finds that.\n            own.awaits_room = false;\n",
        wrong: "            own.running.finish(job.running);\n",
        caught_by: Tests(&[
            "-p",
            "esker-dbtest",
            "sst_file_manager::a_compaction_that_found_room",
        ]),
    },
    Canary {
        name: "the last sequence number of the WAL before is not compared",
        file: "crates/engine/src/lifecycle/tracked_wals.rs",
        right: "    if observed.last_seqno != recorded.last_seqno {",
        wrong: "    if observed.last_seqno > recorded.last_seqno {",
        caught_by: Tests(&["-p", "esker", "--test", "it", "track_wals::a_wal_that"]),
    },
    Canary {
        name: "a WAL describes the one before it by its last row, and not by its last record",
        file: "crates/engine/src/write/pipeline.rs",
        right: "            *logged_record = first;",
        wrong: "            *logged_record = last;",
        caught_by: Tests(&["-p", "esker", "--test", "it", "track_wals::each_wal"]),
    },
];
