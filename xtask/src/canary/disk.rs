//! Bugs of files, descriptors and locks.

use super::Canary;
use super::Catcher::Tests;

const BEST_EFFORTS: &[&str] = &["-p", "esker-dbtest", "--test", "it", "best_efforts::"];

const RECORDED_WALS: &[&str] = &["-p", "esker", "--test", "it", "wals_in_manifest::"];

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a WAL is deleted while the MANIFEST names it",
        file: "crates/engine/src/state/recorded_wals.rs",
        right: "        (oldest < needed).then(|| VersionEdit {",
        wrong: "        (oldest > needed).then(|| VersionEdit {",
        caught_by: Tests(RECORDED_WALS),
    },
    Canary {
        name: "a recorded WAL may be shorter",
        file: "crates/engine/src/lifecycle/tracked_wals.rs",
        right: "if actual < size {",
        wrong: "if actual > size {",
        caught_by: Tests(RECORDED_WALS),
    },
    Canary {
        name: "a new MANIFEST forgets the WALs",
        file: "crates/manifest/src/snapshot.rs",
        right: "if !state.wals.is_empty() {",
        wrong: "if state.wals.len() > 64 {",
        caught_by: Tests(RECORDED_WALS),
    },
    Canary {
        name: "best-efforts recovery takes a state that lacks tables below L0",
        file: "crates/manifest/src/point_in_time.rs",
        right: "if self.tables.values().any(|&level| level > 0) {",
        wrong: "if self.tables.values().any(|&level| level > 64) {",
        caught_by: Tests(BEST_EFFORTS),
    },
    Canary {
        name: "best-efforts recovery takes a part of an atomic flush",
        file: "crates/manifest/src/point_in_time.rs",
        right: "            self.missing.entry(edit.column_family).or_default().in_group = true;\n",
        wrong: "",
        caught_by: Tests(BEST_EFFORTS),
    },
    Canary {
        name: "best-efforts recovery replays WALs after rows that are lost",
        file: "crates/engine/src/lifecycle/best_efforts.rs",
        right: "tail.gives_up_newer(!whole || !newest);",
        wrong: "tail.gives_up_newer(!whole && !newest);",
        caught_by: Tests(BEST_EFFORTS),
    },
    Canary {
        name: "a table that refers to a missing blob file is used",
        file: "crates/manifest/src/point_in_time.rs",
        right: "later.any(|(_, before)| !before.contains(&file.number))",
        wrong: "later.any(|(_, before)| before.contains(&file.number))",
        caught_by: Tests(BEST_EFFORTS),
    },
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
        name: "the tables of a flush that are synced together are not",
        file: "crates/engine/src/jobs/memtable_tables.rs",
        right: "            unsynced.iter().try_for_each(Unsynced::sync)?;\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "streams::tables_of_streams_are_durable"]),
    },
    Canary {
        name: "slow flushes of many small tables do not raise the size of a stream's table",
        file: "crates/engine/src/jobs/memtable_tables.rs",
        right: "placed.len() * usize::from(on_disk),",
        wrong: "placed.len().min(0) * usize::from(on_disk),",
        caught_by: Tests(&["-p", "esker-dbtest", "streams_on_disk::small_tables_that_take"]),
    },
    Canary {
        name: "compactions end files of any size where streams continue",
        file: "crates/compact/src/split.rs",
        right: "self.min_at_border = self.min_at_border.max(bytes);",
        wrong: "self.min_at_border = self.min_at_border.max(bytes.min(0));",
        caught_by: Tests(&["-p", "esker-compact", "files_end_at_borders"]),
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
        right: "Some(XFS) if !shares_blocks() => Backing::Disk,",
        wrong: "Some(XFS) if shares_blocks() => Backing::Disk,",
        caught_by: Tests(&["-p", "esker-vfs", "--lib", "posix::log::"]),
    },
    Canary {
        name: "CURRENT names a MANIFEST whose own name may be lost",
        file: "crates/engine/src/state/version_set.rs",
        right: "    fs.sync_dir(dir)?;\n    let name = format!",
        wrong: "    let name = format!",
        caught_by: Tests(&["-p", "esker-dbtest", "crash::power_lost"]),
    },
    Canary {
        name: "blocks in the cache keep deleted files mapped",
        file: "crates/sst/src/reader/uncache.rs",
        right: "            self.uncache(EVERY_BLOCK);\n",
        wrong: "            self.uncache(0);\n",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "open_files::no_block_in"]),
    },
];
