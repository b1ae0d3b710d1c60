//! Bugs of archived WALs, of readers of updates in them, and of files that are dropped by range.

use super::Canary;
use super::Catcher::Tests;

const ARCHIVE: &[&str] = &["-p", "esker-dbtest", "--test", "it", "wal::archive::"];
const FEEDS: &[&str] = &["-p", "esker-dbtest", "--test", "it", "feeds::"];
const UPDATES: &[&str] = &["-p", "esker", "--test", "it", "wal_iterator::"];

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "a WAL that recovery did not read is archived with those it read",
        file: "crates/engine/src/files/wal_archive.rs",
        right: "let _ = self.unread.set(unread);",
        wrong: "let _ = self.unread.set(BTreeSet::new());",
        caught_by: Tests(ARCHIVE),
    },
    Canary {
        name: "WALs are written over while others are archived",
        file: "crates/engine/src/options/db.rs",
        right: "            _ if self.wal_ttl_seconds > 0 || self.wal_size_limit_mb > 0 => 0,\n",
        wrong: "",
        caught_by: Tests(ARCHIVE),
    },
    Canary {
        name: "the size of the archive is looked at after the next WAL alone",
        file: "crates/engine/src/files/wal_archive.rs",
        right: "true if total > limit =>",
        wrong: "true if total > limit.saturating_add(size) =>",
        caught_by: Tests(ARCHIVE),
    },
    Canary {
        name: "a transaction whose section lies in an older WAL comes without its rows",
        file: "crates/engine/src/db/feed/stream.rs",
        right: "            if !self.sections.holds(name)\n",
        wrong: "            if self.sections.holds(name)\n",
        caught_by: Tests(UPDATES),
    },
    Canary {
        name: "updates go on over a gap",
        file: "crates/engine/src/db/wal_iterator.rs",
        right: "                Some(expected) if expected != update.sequence => {\n",
        wrong: "                Some(expected) if expected > update.sequence => {\n",
        caught_by: Tests(UPDATES),
    },
    Canary {
        name: "a WAL that moves to the archive between two listings is in neither",
        file: "crates/engine/src/db/feed/wals.rs",
        right: "        let live = wals_in(&*self.fs, &self.wal_dir)?;\n        let archived = archived(&*self.fs, &self.wal_dir)?;\n",
        wrong: "        let archived = archived(&*self.fs, &self.wal_dir)?;\n        let live = wals_in(&*self.fs, &self.wal_dir)?;\n",
        caught_by: Tests(UPDATES),
    },
    Canary {
        name: "the current WAL is archived while it is asked for, and there is none",
        file: "crates/engine/src/db/wal_iterator.rs",
        right: "inner.state.lock().current_wal() != number =>",
        wrong: "inner.state.lock().current_wal() < number =>",
        caught_by: Tests(UPDATES),
    },
    Canary {
        name: "a cursor is acknowledged before its rows are durable",
        file: "crates/engine/src/db/feed/mod.rs",
        right: "        self.sync_rows(keep)?;\n",
        wrong: "        self.db.as_ref().map_or(Ok(()), |db| db.flush_wal(false))?;\n",
        caught_by: Tests(FEEDS),
    },
    Canary {
        name: "a new cursor is created before the rows ahead of it are durable",
        file: "crates/engine/src/db/feed/mod.rs",
        right: "                self.sync_rows(live)?;\n",
        wrong: "",
        caught_by: Tests(FEEDS),
    },
    Canary {
        name: "a flush makes rows durable whose WAL, which a cursor needs, is not",
        file: "crates/engine/src/jobs/flush.rs",
        right: "syncs_wals: syncs_wals || self.has_cursors(),",
        wrong: "syncs_wals,",
        caught_by: Tests(FEEDS),
    },
    Canary {
        name: "a cursor keeps no WAL of a section that is outstanding",
        file: "crates/engine/src/db/feed/stream.rs",
        right: "        self.section_wals.values().copied().chain(self.reading()).min()\n",
        wrong: "        self.reading()\n",
        caught_by: Tests(FEEDS),
    },
    Canary {
        name: "an acknowledgement keeps WALs from where the feed has read to",
        file: "crates/engine/src/db/feed/mod.rs",
        right: "is_some_and(|(from, _)| *from <= position)",
        wrong: "is_some_and(|(from, _)| *from <= position + 100)",
        caught_by: Tests(FEEDS),
    },
    Canary {
        name: "damage in a WAL before the one that a cursor came to is a gap",
        file: "crates/engine/src/db/feed/mod.rs",
        right: "damage.is_some_and(|(wal, _)| wal >= self.read)",
        wrong: "damage.is_some()",
        caught_by: Tests(FEEDS),
    },
    Canary {
        name: "sequence numbers that go back behind a cursor are no gap",
        file: "crates/engine/src/db/feed/mod.rs",
        right: "damage.is_some_and(|(wal, _)| wal >= self.read)",
        wrong: "damage.is_some_and(|(wal, _)| wal > self.read)",
        caught_by: Tests(FEEDS),
    },
    Canary {
        name: "a feed shows rows of a WAL that recovery did not read",
        file: "crates/engine/src/db/feed/wals.rs",
        right: "        all.retain(|number, _| !unread.contains(number));\n",
        wrong: "",
        caught_by: Tests(FEEDS),
    },
    Canary {
        name: "an open after a crash archives the WALs that the open before left out",
        file: "crates/engine/src/files/wal_archive.rs",
        right: "            Ok(before) => unread.extend(before.iter().copied().filter(is_older)),\n",
        wrong: "            Ok(_) => {}\n",
        caught_by: Tests(FEEDS),
    },
    Canary {
        name: "a recovery forgets that the one before left out a WAL that it reads",
        file: "crates/engine/src/files/wal_archive.rs",
        right: "let is_older = |number: &u64| !there.contains(number);",
        wrong: "let is_older = |number: &u64| *number > 0 || there.is_empty();",
        caught_by: Tests(FEEDS),
    },
    Canary {
        name: "cursors that an open cannot read are none",
        file: "crates/engine/src/files/wal_archive.rs",
        right: "            self.has_cursors.store(true, Ordering::Relaxed);\n",
        wrong: "",
        caught_by: Tests(FEEDS),
    },
    Canary {
        name: "the name of a dropped family is forgotten",
        file: "crates/engine/src/jobs/families.rs",
        right: "        self.inner().remember_family(&family.0)?;\n",
        wrong: "",
        caught_by: Tests(FEEDS),
    },
    Canary {
        name: "the limit of a range of files is always in it",
        file: "crates/engine/src/jobs/delete_files.rs",
        right: "            false => Bound::Excluded(limit),\n",
        wrong: "            false => Bound::Included(limit),\n",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "scripts::compaction"]),
    },
    Canary {
        name: "a clipped family keeps its last row",
        file: "crates/engine/src/db/clip.rs",
        right: "            self.delete_cf_opt(family, &last, &writes)?;\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "scripts::compaction"]),
    },
    Canary {
        name: "a value that another writer replaces meanwhile is recorded",
        file: "crates/engine/src/write/recorded.rs",
        right: "            unchanged.extend_from_slice(keys);\n",
        wrong: "            unchanged = keys.to_vec();\n",
        caught_by: Tests(FEEDS),
    },
    Canary {
        name: "a row of a batch does not replace what the row before it left",
        file: "crates/engine/src/write/recorded.rs",
        right: "            so_far.add_row(id, kind, key, value);\n",
        wrong: "            let _ = value;\n",
        caught_by: Tests(FEEDS),
    },
    Canary {
        name: "a WAL that a cursor needs is recycled",
        file: "crates/engine/src/write/wals.rs",
        right: "            && !self.has_cursors()\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "metamorphic::"]),
    },
];
