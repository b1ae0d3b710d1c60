//! Bugs of merges in families with timestamps, and of tables read alone.

use super::Canary;
use super::Catcher::Tests;

const TIMESTAMPS: &[&str] = &["-p", "esker-dbtest", "--test", "it", "timestamps"];
const READER: &[&str] = &["-p", "esker-dbtest", "--test", "it", "sst_file_reader::"];
const SCRIPTS: &[&str] = &["-p", "esker-dbtest", "--test", "it", "scripts::timestamps"];
const ROW_CACHE: &[&str] = &["-p", "esker-dbtest", "--test", "it", "row_cache::"];

pub(super) const CANARIES: &[Canary] = &[
    Canary {
        name: "tables of unknown timestamps are rewritten before their history has ended",
        file: "crates/compact/src/picker/leveled.rs",
        right: "            true => self\n                .context\n",
        wrong: "            true if file.number > 0 => true,\n            true => self\n                .context\n",
        caught_by: Tests(&["-p", "esker", "--test", "it", "max_timestamps::"]),
    },
    Canary {
        name: "a Get as of a timestamp leaves a blob unread",
        file: "crates/engine/src/read/get.rs",
        right: "            allow_unprepared_value: false,\n",
        wrong: "",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "an operand is merged into a value below a range deletion of its timestamp",
        file: "crates/compact/src/cursor/merge.rs",
        right: "        if self.is_cut_off(user_key, seqno) {",
        wrong: "        if self.is_cut_off(user_key, seqno) && self.ts_size == 0 {",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "an iterator moves to files without the history of its timestamp",
        file: "crates/engine/src/read/sources.rs",
        right: "timestamp.and_then(|at| check_history(",
        wrong: "timestamp.filter(|_| seqno == 0).and_then(|at| check_history(",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "the newest timestamp of a family without memtables is the one after it",
        file: "crates/engine/src/jobs/full_history.rs",
        right: "map(|low| low.saturating_sub(1))",
        wrong: "map(|low| low.saturating_sub(0))",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "a blob below operands of a later timestamp is read under their key",
        file: "crates/engine/src/read/db_iterator/merges.rs",
        right: "            true => base_key,\n",
        wrong: "            true => &self.saved_key,\n",
        caught_by: Tests(TIMESTAMPS),
    },
    Canary {
        name: "a file of unknown or newer timestamps is not trimmed",
        file: "crates/compact/src/picker/trim.rs",
        right: "compare_timestamp(newest, trim_ts) == Ordering::Greater",
        wrong: "compare_timestamp(newest, trim_ts) == Ordering::Less",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "a trimmed range deletion still hides",
        file: "crates/compact/src/tombstones.rs",
        right: "                if self.is_trimmed(timestamp) {\n",
        wrong: "                if self.is_trimmed(timestamp) && timestamp.is_empty() {\n",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "the key of a blob loses its timestamp at the last level",
        file: "crates/compact/src/cursor/show.rs",
        right: "if !may_refer_to_blobs(kind as u8) {",
        wrong: "if kind != Kind::SingleDeletion {",
        caught_by: Tests(TIMESTAMPS),
    },
    Canary {
        name: "merge operands as of a timestamp show those of a snapshot's future",
        file: "crates/engine/src/read/merge_operands.rs",
        right: "if entry.seqno <= seqno {",
        wrong: "if entry.seqno <= seqno.max(entry.seqno) {",
        caught_by: Tests(TIMESTAMPS),
    },
    Canary {
        name: "a merged version ignores what is older than the range",
        file: "crates/engine/src/read/versions_iterator.rs",
        right: "if !visible || unmerged.is_empty() && !begins {",
        wrong: "if !visible || !begins && (unmerged.is_empty() || !is_in_range) {",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "range deletions count among the entries of a table read alone",
        file: "crates/engine/src/ingest/sst_file_reader.rs",
        right: ".saturating_sub(properties.num_range_deletions)",
        wrong: ".saturating_sub(0)",
        caught_by: Tests(READER),
    },
    Canary {
        name: "a table read alone ignores the snapshot",
        file: "crates/engine/src/ingest/sst_file_reader.rs",
        right: "snapshot.map_or(MAX_SEQNO, |snapshot| snapshot.sequence_number())",
        wrong: "snapshot.map_or(MAX_SEQNO, |_| MAX_SEQNO)",
        caught_by: Tests(READER),
    },
    Canary {
        name: "readers of a snapshot share the rows of others",
        file: "crates/engine/src/files/row_cache.rs",
        right: "            false => seqno + 1,\n",
        wrong: "            false => 0,\n",
        caught_by: Tests(ROW_CACHE),
    },
    Canary {
        name: "a row of a table is found for another table",
        file: "crates/engine/src/files/row_cache.rs",
        right: "        put_varint64(&mut key, file.number);\n",
        wrong: "",
        caught_by: Tests(ROW_CACHE),
    },
    Canary {
        name: "a row that was written after one of a newer timestamp comes back without timestamps",
        file: "crates/engine/src/jobs/cut_timestamps.rs",
        right: "*of == key && *seqno <= row.seqno",
        wrong: "*of == key && *seqno == row.seqno",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "a flush that cuts timestamps off lets them be read",
        file: "crates/engine/src/jobs/flush.rs",
        right: "                    family.full_history_ts_low = low;\n",
        wrong: "                    drop(low);\n",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "a recovery that cuts timestamps off lets them be read",
        file: "crates/engine/src/lifecycle/recover.rs",
        right: "            own.full_history_ts_low = low;\n",
        wrong: "            drop(low);\n",
        caught_by: Tests(SCRIPTS),
    },
    Canary {
        name: "an ingested file without timestamps is recorded as one with them",
        file: "crates/engine/src/ingest/commit.rs",
        right: "        user_defined_timestamps_persisted: !family.cuts_timestamps(),\n        padded_timestamp_size: family.cut_timestamp_size(),\n",
        wrong: "",
        caught_by: Tests(&["-p", "esker", "--lib", "ingest::commit"]),
    },
];
