//! Bugs of files, descriptors and locks.

use super::Canary;
use super::Catcher::Tests;

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a WAL that was flushed stays open until the next sync",
        file: "crates/engine/src/write/wals.rs",
        right: "self.wal_tail.forget_older(needed)",
        wrong: "self.wal_tail.forget_older(needed.min(0))",
        caught_by: Tests(&["-p", "esker-dbtest", "open_files::no_deleted_file"]),
    },
    Canary {
        name: "the drop of a family does not say which WALs are left",
        file: "crates/engine/src/jobs/families.rs",
        right: "recorded.min_log_number_to_keep = recorded.min_log_number_to_keep.max(needed);",
        wrong: "recorded.min_log_number_to_keep = recorded.min_log_number_to_keep.max(needed.min(0));",
        caught_by: Tests(&["-p", "esker-dbtest", "open_files::no_wal_of_dropped"]),
    },
    Canary {
        name: "a log keeps a part of an append that had no room",
        file: "crates/vfs/src/posix/log.rs",
        right: "appended.map_err(|error| self.cut_back(start, error))",
        wrong: "appended.inspect_err(|_| self.position = start)",
        caught_by: Tests(&["-p", "esker-vfs", "process::"]),
    },
    Canary {
        name: "a write-back that was lost is a lack of room to resume from",
        file: "crates/vfs/src/posix/log.rs",
        right: "error(\"sync_file_range\", &self.handle.path, e).with_kind(ErrorKind::Io)",
        wrong: "error(\"sync_file_range\", &self.handle.path, e)",
        caught_by: Tests(&["-p", "esker-vfs", "a_lost_write_back"]),
    },
    Canary {
        name: "the log in memory keeps a part of an append that had no room",
        file: "crates/vfs/src/mem/file.rs",
        right: "    data.tear(part);\n",
        wrong: "    shared.grow(data, data.written + part.len());\n    data.extend(data.written + part.len());\n    data.write(part);\n",
        caught_by: Tests(&["-p", "esker-dbtest", "resume::"]),
    },
    Canary {
        name: "LOCK is lost when the process that holds it looks at it",
        file: "crates/vfs/src/posix/lock.rs",
        right: "lock_as(path, &[LockKind::OpenFile, LockKind::Process])",
        wrong: "lock_as(path, &[LockKind::Process])",
        caught_by: Tests(&["-p", "esker-vfs", "process::a_lock"]),
    },
    Canary {
        name: "a forked child keeps LOCK when it is given back",
        file: "crates/vfs/src/posix/lock.rs",
        right: "            let _ = sys::unlock_whole(&file, self.kind);\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-vfs", "posix::lock::"]),
    },
    Canary {
        name: "logs are mapped where copies share their blocks",
        file: "crates/vfs/src/posix/log.rs",
        right: "Ok(XFS) if !sys::xfs_shares_blocks(file) => Backing::Disk,",
        wrong: "Ok(XFS) if sys::xfs_shares_blocks(file) => Backing::Disk,",
        caught_by: Tests(&["-p", "esker-vfs", "process::a_log_whose_blocks"]),
    },
    Canary {
        name: "CURRENT names a MANIFEST whose own name may be lost",
        file: "crates/engine/src/state/version_set.rs",
        right: "    fs.sync_dir(dir)?;\n    let name = format!",
        wrong: "    let name = format!",
        caught_by: Tests(&["-p", "esker-dbtest", "crash::power_lost"]),
    },
];
