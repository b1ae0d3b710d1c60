//! Bugs of resuming after a failure, and of stopping for good.

use super::Canary;
use super::Catcher::Tests;

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a WAL that had no room to begin leaves the database read-only",
        file: "crates/engine/src/state/failures.rs",
        right: "FLUSH | COMPACTION | SWITCH_WAL | WRITE_MANIFEST",
        wrong: "FLUSH | COMPACTION | WRITE_MANIFEST",
        caught_by: Tests(&["-p", "esker-dbtest", "resume::each_step"]),
    },
    Canary {
        name: "a WAL is not among the live ones when the one before cannot be closed",
        file: "crates/engine/src/write/pipeline.rs",
        right: "        state.wals.push_back(LiveWal {\n            number,\n            size: 0,\n            begun,\n        });\n        drop(state);\n        self.notify(&Event::WalCreated { wal: number });\n        let closed = old.map_or(Ok(()), |mut old| old.close());\n",
        wrong: "        drop(state);\n        let closed = old.map_or(Ok(()), |mut old| old.close());\n        if closed.is_ok() {\n            self.state.lock().wals.push_back(LiveWal { number, size: 0, begun });\n        }\n        self.notify(&Event::WalCreated { wal: number });\n",
        caught_by: Tests(&["-p", "esker-dbtest", "resume::each_step"]),
    },
    Canary {
        name: "files of a change that came too late are never deleted",
        file: "crates/engine/src/jobs/error_handler.rs",
        right: "            self.delete_files_in_doubt(&mut state);\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "resume::"]),
    },
    Canary {
        name: "the database resumes by itself whatever has failed",
        file: "crates/engine/src/state/error_state.rs",
        right: "            Automatic::Due if resumable && is_of_the_disk => Automatic::Due,",
        wrong: "            Automatic::Due => Automatic::Due,",
        caught_by: Tests(&["-p", "esker-dbtest", "auto_resume::a_worse_failure"]),
    },
    Canary {
        name: "nothing asks for free space before it tries again",
        file: "crates/engine/src/jobs/error_handler.rs",
        right: "if lacks_room(&error) && !self.has_room(&error) {",
        wrong: "if lacks_room(&error) && !self.has_room(&error) && false {",
        caught_by: Tests(&["-p", "esker-dbtest", "auto_resume::a_disk_with_room"]),
    },
    Canary {
        name: "a Get reads a closed database",
        file: "crates/engine/src/read/get.rs",
        right: "        sync::point(\"super version\");\n        if super_version.is_closed() {\n            return Err(closing());\n        }\n        let seqno",
        wrong: "        sync::point(\"super version\");\n        let seqno",
        caught_by: Tests(&["-p", "esker-dbtest", "closed::each_call"]),
    },
    Canary {
        name: "an iterator moves on in a closed database",
        file: "crates/engine/src/read/db_iterator.rs",
        right: "        self.family.super_version_number.load(Ordering::Relaxed) > self.watched\n",
        wrong: "        self.auto_refresh && self.family.super_version_number.load(Ordering::Relaxed) > self.watched\n",
        caught_by: Tests(&["-p", "esker-dbtest", "closed::an_iterator"]),
    },
    Canary {
        name: "a second close does not wait for the first",
        file: "crates/engine/src/lifecycle/close.rs",
        right: "                    Close::Begun => self.changed.wait(&mut state),",
        wrong: "                    Close::Begun => return Ok(()),",
        caught_by: Tests(&["-p", "esker-dbtest", "closed::a_second"]),
    },
    Canary {
        name: "an iterator does not keep its database open",
        file: "crates/engine/src/read/db_iterator.rs",
        right: "        self.handle = Some(db.0.clone());",
        wrong: "        self.handle = Some(db.0.clone()).filter(|_| false);",
        caught_by: Tests(&["-p", "esker-dbtest", "closed::what_reads"]),
    },
    Canary {
        name: "timestamps whose versions may be gone are read",
        file: "crates/engine/src/read/scan.rs",
        right: "            match !low.is_empty() && user.compare_timestamp",
        wrong: "            match low.is_empty() && user.compare_timestamp",
        caught_by: Tests(&["-p", "esker", "--test", "it", "full_history"]),
    },
    Canary {
        name: "a compaction that had no room stops writes",
        file: "crates/engine/src/jobs/compaction.rs",
        right: "        if error.kind() == ErrorKind::NoSpace\n            && state.record_soft_error(",
        wrong: "        if error.kind() == ErrorKind::Busy\n            && state.record_soft_error(",
        caught_by: Tests(&["-p", "esker-dbtest", "auto_resume::writes_go_on"]),
    },
    Canary {
        name: "a write waits for a compaction that does not come",
        file: "crates/engine/src/state/failures.rs",
        right: "            Some(error) if self.recovery.automatic == Automatic::Never && self.running_compactions == 0 => {\n",
        wrong: "            Some(error) if self.closing && self.running_compactions == 0 => {\n",
        caught_by: Tests(&["-p", "esker-dbtest", "auto_resume::writes_wait"]),
    },
    Canary {
        name: "an open without a database is an error of the arguments",
        file: "crates/engine/src/lifecycle/open.rs",
        right: "ErrorKind::NoDatabase,",
        wrong: "ErrorKind::InvalidArgument,",
        caught_by: Tests(&["-p", "esker", "--test", "it", "errors"]),
    },
    Canary {
        name: "a refused write does not have the failure as its source",
        file: "crates/base/src/error.rs",
        right: "        error.0.source = Some(Arc::new(self.clone()));\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-base", "--lib", "error"]),
    },
    Canary {
        name: "a directory in the place of the database is not taken as one",
        file: "tools/esker/src/first_argument.rs",
        right: "    if !Path::new(dir).is_dir() {",
        wrong: "    if Path::new(dir).is_dir() {",
        caught_by: Tests(&["-p", "esker-cli", "first_argument"]),
    },
    Canary {
        name: "options from a map are not compared with their ranges",
        file: "crates/engine/src/options/table.rs",
        right: "        row.check(self)\n",
        wrong: "        Ok(())\n",
        caught_by: Tests(&["-p", "esker", "--lib", "--features", "serde", "serialized"]),
    },
];
