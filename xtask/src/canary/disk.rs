//! Bugs of files, descriptors and locks.

use super::Canary;
use super::Catcher::Tests;

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a WAL that was flushed stays open until the next sync",
        file: "crates/engine/src/jobs/flush.rs",
        right: "self.wal_tail.forget_older(excluded)",
        wrong: "self.wal_tail.forget_older(excluded.min(0))",
        caught_by: Tests(&["-p", "esker-dbtest", "open_files::no_deleted_file"]),
    },
    Canary {
        name: "the drop of a family does not say which WALs are left",
        file: "crates/engine/src/db/families.rs",
        right: "recorded.min_log_number_to_keep = recorded.min_log_number_to_keep.max(needed);",
        wrong: "recorded.min_log_number_to_keep = recorded.min_log_number_to_keep.max(needed.min(0));",
        caught_by: Tests(&["-p", "esker-dbtest", "open_files::no_wal_of_dropped"]),
    },
];
