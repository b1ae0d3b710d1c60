//! Planted bugs of WAL directories, missing WALs, torn MANIFESTs and the families of a repair.

use super::Canary;
use super::Catcher::Tests;

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "WALs in a directory that is not read are deleted",
        file: "crates/engine/src/lifecycle/recover.rs",
        right: "                    Some(FileKind::Wal(_)) if dir != &self.wal_dir => true,\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "wal::dirs"]),
    },
    Canary {
        name: "an open passes over rows in WALs of another directory",
        file: "crates/engine/src/lifecycle/recover.rs",
        right: "        self.check_unread_wals()?;\n        self.check_any_wal(",
        wrong: "        self.check_any_wal(",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "wal::dirs"]),
    },
    Canary {
        name: "a copy of a database takes the WALs of the one that is copied",
        file: "crates/engine/src/lifecycle/wal_dir.rs",
        right: "        Ok(!was_copied)\n",
        wrong: "        Ok(was_copied)\n",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "wal::dirs"]),
    },
    Canary {
        name: "a second database takes a directory of WALs",
        file: "crates/engine/src/lifecycle/wal_dir.rs",
        right: "        if owner.id != now.id && holds_wals(self.fs(), self.wal_dir)? {",
        wrong: "        if owner.id != now.id && false {",
        caught_by: Tests(&["-p", "esker-backup", "--test", "it", "engine"]),
    },
    Canary {
        name: "a checkpoint has its source's id though no MANIFEST records it",
        file: "crates/engine/src/lifecycle/checkpoint.rs",
        right: "let has_same_id = self.options.write_dbid_to_manifest && self.options.write_identity_file;",
        wrong: "let has_same_id = self.options.write_identity_file;",
        caught_by: Tests(&["-p", "esker", "--test", "it", "identity"]),
    },
    Canary {
        name: "updates since the middle of a batch begin with the next one",
        file: "crates/engine/src/db/feed/stream.rs",
        right: "self.sequence < wanted && self.next_sequence() <= wanted",
        wrong: "self.sequence < wanted",
        caught_by: Tests(&["-p", "esker", "--test", "it", "wal_iterator"]),
    },
    Canary {
        name: "tables that no version holds stay in a directory of tables",
        file: "crates/engine/src/lifecycle/recover.rs",
        right: "let has_tables = dir == &self.dir || others.contains(dir);",
        wrong: "let has_tables = dir == &self.dir;",
        caught_by: Tests(&["-p", "esker", "--test", "it", "table_paths"]),
    },
    Canary {
        name: "OPTIONS of a checkpoint names the WAL directory of its source",
        file: "crates/engine/src/report/live_files.rs",
        right: "file.without(\"wal_dir\").text()",
        wrong: "file.text()",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "wal::dirs"]),
    },
    Canary {
        name: "a WAL that is missing in the middle goes unnoticed",
        file: "crates/engine/src/lifecycle/recover/replay.rs",
        right: "let is_needed = (self.oldest_needed..number).contains(&named);",
        wrong: "let is_needed = (number..self.oldest_needed).contains(&named);",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "missing_wals"]),
    },
    Canary {
        name: "WALs of a dropped family go without a word in the MANIFEST",
        file: "crates/engine/src/jobs/families.rs",
        right: "            min_log_number_to_keep: Some(needed),\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "missing_wals"]),
    },
    Canary {
        name: "what the lost end of a MANIFEST named is deleted",
        file: "crates/engine/src/lifecycle/recover.rs",
        right: "        self.set_orphans_aside(manifest, &replayed)?;\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "torn_manifest"]),
    },
    Canary {
        name: "a copy is written through a link that was made although it failed",
        file: "crates/engine/src/files/copy.rs",
        right: "    let reader = open(fs, from)?;\n    if fs.exists(to)? {\n        fs.remove(to)?;\n    }\n",
        wrong: "    let reader = open(fs, from)?;\n",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "torn_manifest"]),
    },
    Canary {
        name: "repair does not ask the MANIFEST for families",
        file: "crates/engine/src/lifecycle/repair.rs",
        right: "recorded: Recorded::read(fs, dir).unwrap_or_default(),",
        wrong: "recorded: Recorded::default(),",
        caught_by: Tests(&["-p", "esker", "--test", "it", "repair"]),
    },
];
