//! The testers tested: bugs planted one at a time, each of which a named test must catch.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use Catcher::{CrashTest, PowerLoss, Simulation, Stress, Tests};

use crate::shell::{self, Outcome};

/// A bug, as the replacement of one piece of one file.
pub struct Canary {
    /// What breaks.
    pub name: &'static str,
    /// The file, from the root.
    pub file: &'static str,
    /// What stands there, exactly once.
    pub right: &'static str,
    /// What is put in its place.
    pub wrong: &'static str,
    /// What must find it.
    pub caught_by: Catcher,
}

/// What finds a bug.
#[derive(Clone, Copy, PartialEq)]
pub enum Catcher {
    /// `cargo test` with these arguments, in one run. Random tests draw as many histories as they have time for.
    Tests(&'static [&'static str]),
    /// `db_stress`, within so many runs, each of its own seed and about a second.
    Stress(u32, &'static [&'static str]),
    /// `db_crashtest`, within so many runs of twelve seconds.
    CrashTest(u32),
    /// `simulate`, within so many histories.
    Simulation(u32),
    /// `db_crashtest --simulate`, within so many runs of twelve seconds.
    PowerLoss(u32),
}

/// A second of everything: several families, small files, snapshots, range deletions, reopenings.
const EVERYTHING: &[&str] = &[
    "--threads=2",
    "--ops_per_thread=20000",
    "--max_key=300",
    "--column_families=3",
    "--reopen=3",
    "--use_merge",
    "--readpercent=15",
    "--prefixpercent=10",
    "--writepercent=45",
    "--delpercent=10",
    "--delrangepercent=5",
    "--iterpercent=15",
    "--acquire_snapshot_one_in=50",
    "--snapshot_hold_ops=500",
    "--flush_one_in=1000",
    "--compact_range_one_in=1000",
    "--compact_files_one_in=500",
    "--clear_column_family_one_in=0",
    "--subcompactions=3",
    "--cache_size=200000",
    "--write_buffer_size=16384",
    "--target_file_size_base=4096",
    "--max_bytes_for_level_base=32768",
    "--progress_reports=false",
];

/// Writes to many families that are flushed each in its own time, and reopenings that leave their WALs in use.
const MANY_FAMILIES: &[&str] = &[
    "--threads=4",
    "--ops_per_thread=5000",
    "--max_key=300",
    "--column_families=10",
    "--reopen=10",
    "--readpercent=5",
    "--prefixpercent=0",
    "--writepercent=85",
    "--delpercent=10",
    "--iterpercent=0",
    "--clear_column_family_one_in=0",
    "--batch_one_in=3",
    "--value_size_mult=100",
    "--write_buffer_size=16384",
    "--target_file_size_base=65536",
    "--avoid_flush_during_recovery=true",
    "--progress_reports=false",
];

/// Reads that fail, of which none may be taken for a row that is not there.
const FAILED_READS: &[&str] = &[
    "--threads=2",
    "--ops_per_thread=10000",
    "--max_key=300",
    "--column_families=2",
    "--reopen=1",
    "--cache_size=0",
    "--read_fault_one_in=100",
    "--clear_column_family_one_in=0",
    "--write_buffer_size=16384",
    "--target_file_size_base=4096",
    "--max_bytes_for_level_base=32768",
    "--progress_reports=false",
];

/// Every planted bug. `tidy` checks that each still fits its file.
pub const CANARIES: &[Canary] = &[
    Canary {
        name: "a Get takes its sequence number before its super version",
        file: "crates/engine/src/db/get.rs",
        right: "        let super_version = family.super_version_of(options.snapshot.as_ref());\n        sync::point(\"super version\");\n        let seqno = self.read_seqno(&super_version, options);\n",
        wrong: "        let seqno = self.read_seqno(&family.super_version.load(), options);\n        sync::point(\"super version\");\n        let super_version = family.super_version_of(options.snapshot.as_ref());\n",
        caught_by: Simulation(20_000),
    },
    Canary {
        name: "a sync covers what was appended while it ran",
        file: "crates/engine/src/write/pipeline.rs",
        right: "        group.synced = upto;",
        wrong: "        group.synced = upto.max(self.wal_tail.records.load(Ordering::Acquire));",
        caught_by: Simulation(1000),
    },
    Canary {
        name: "a secondary takes files for the MANIFEST's that came or went since it was read",
        file: "crates/engine/src/db/secondary.rs",
        right: "if *moment != Moment::of(&self.options, &self.dir)? {",
        wrong: "if *moment == Moment::of(&self.options, &self.dir)? && false {",
        caught_by: Tests(&["-p", "esker-dbtest", "secondary::"]),
    },
    Canary {
        name: "a family that came and went while a secondary looked was never there",
        file: "crates/manifest/src/state.rs",
        right: "self.max_column_family == other.max_column_family && self.families",
        wrong: "self.families",
        caught_by: Tests(&["-p", "esker-dbtest", "secondary::a_family_that_comes"]),
    },
    Canary {
        name: "a secondary keeps rows in memory that a table has",
        file: "crates/engine/src/db/secondary/followed_wals.rs",
        right: "*rows = rows.split_off(&family.log_number);",
        wrong: "*rows = rows.split_off(&family.log_number.min(1));",
        caught_by: Tests(&["-p", "esker-dbtest", "secondary::"]),
    },
    Canary {
        name: "the last blob file of a job has no footer when the MANIFEST is told of it",
        file: "crates/engine/src/jobs/blob_outputs.rs",
        right: "        self.finish()?;\n        Ok(std::mem::take(&mut self.additions))",
        wrong: "        Ok(std::mem::take(&mut self.additions))",
        caught_by: Tests(&["-p", "esker-dbtest", "blob_files::"]),
    },
    Canary {
        name: "rows lose the sequence numbers that tell their age",
        file: "crates/engine/src/db/seqno_to_time.rs",
        right: "times.map_or(SeqNo::MAX, |times| times.oldest_sequence_number(oldest))",
        wrong: "times.map_or(SeqNo::MAX, |times| times.oldest_sequence_number(oldest).max(SeqNo::MAX))",
        caught_by: Tests(&["-p", "esker-dbtest", "seqno_to_time::"]),
    },
    Canary {
        name: "blobs that a compaction keeps are garbage",
        file: "crates/engine/src/jobs/output.rs",
        right: "            *count = count.saturating_sub(1);",
        wrong: "            *count = count.saturating_sub(0);",
        caught_by: Tests(&["-p", "esker-dbtest", "blob_files::"]),
    },
    Canary {
        name: "a table does not say which blob file it needs",
        file: "crates/engine/src/jobs/output.rs",
        right: "            oldest_blob_file_number: open.oldest_blob,",
        wrong: "            oldest_blob_file_number: open.oldest_blob.filter(|_| self.destination.level.is_none()),",
        caught_by: Tests(&["-p", "esker-dbtest", "blob_files::"]),
    },
    Canary {
        name: "a varint of 64 bits may overflow",
        file: "crates/base/src/coding.rs",
        right: "if i == MAX_VARINT64 - 1 && byte > 1 {",
        wrong: "if i == MAX_VARINT64 && byte > 1 {",
        caught_by: Tests(&["-p", "esker-base"]),
    },
    Canary {
        name: "the oldest version sorts first",
        file: "crates/base/src/internal_key.rs",
        right: "trailer(b).cmp(&trailer(a))",
        wrong: "trailer(a).cmp(&trailer(b))",
        caught_by: Tests(&["-p", "esker-base"]),
    },
    Canary {
        name: "damaged blocks of tables verify",
        file: "crates/sst/src/format.rs",
        right: "*trailer == block_trailer(checksum, contents, trailer[0], base_context, offset)",
        wrong: "trailer[1..] != [0; 4] || block_trailer(checksum, contents, trailer[0], base_context, offset) == *trailer",
        caught_by: Tests(&["-p", "esker-sst"]),
    },
    Canary {
        name: "records of a recycled WAL's former life are replayed",
        file: "crates/wal/src/reader.rs",
        right: "if expected != log_number {",
        wrong: "if expected == u32::MAX {",
        caught_by: Tests(&["-p", "esker-wal"]),
    },
    Canary {
        name: "a record whose type is damaged ends a WAL as if it were of a former life",
        file: "crates/wal/src/reader.rs",
        right: "if expected != log_number && header.was_of_log(rest, expected) {",
        wrong: "if expected != log_number && self.mode == RecoveryMode::SkipAnyCorruptedRecords && header.was_of_log(rest, expected) {",
        caught_by: Tests(&["-p", "esker-dbtest", "bit_flips"]),
    },
    Canary {
        name: "a table is installed that holds other values than were written",
        file: "crates/engine/src/jobs/output_check.rs",
        right: "self.hash = mix(mix(self.hash, key), value);",
        wrong: "self.hash = mix(self.hash, &key[..value.len().min(key.len())]);",
        caught_by: Tests(&["-p", "esker", "output_check"]),
    },
    Canary {
        name: "looking for rot passes over what has no checksum of the whole file",
        file: "crates/engine/src/jobs/verifier.rs",
        right: "Ok(false) => verify_pieces(live, file),",
        wrong: "Ok(false) => Ok(Vec::new()),",
        caught_by: Tests(&["-p", "esker-dbtest", "background_verify"]),
    },
    Canary {
        name: "checksums of whole files leave out the last piece",
        file: "crates/engine/src/jobs/file_checksum.rs",
        right: "self.sum.lock().update(data);",
        wrong: "self.sum.lock().update(&data[..data.len() - data.len() % 2]);",
        caught_by: Tests(&["-p", "esker-dbtest", "file_checksums"]),
    },
    Canary {
        name: "flushes and compactions write without asking the rate limiter",
        file: "crates/engine/src/jobs/output_file.rs",
        right: "self.await_permission(data.len() as u64)?;",
        wrong: "self.await_permission(data.len() as u64 / (1 << 40))?;",
        caught_by: Tests(&["-p", "esker-dbtest", "stalls::jobs_ask"]),
    },
    Canary {
        name: "delayed writers save up the time in which nobody wrote",
        file: "crates/engine/src/write/controller.rs",
        right: "let from = self.until.max(now.saturating_sub(LEAST_WAIT));",
        wrong: "let from = self.until.max(now.saturating_sub(LEAST_WAIT * 1000));",
        caught_by: Tests(&["-p", "esker", "--lib", "controller"]),
    },
    Canary {
        name: "delayed writes fill L0 before its compaction is done",
        file: "crates/compact/src/pace.rs",
        right: "between.min(2.0 * even)",
        wrong: "between.max(2.0 * even)",
        caught_by: Tests(&["-p", "esker-compact", "--lib", "pace"]),
    },
    Canary {
        name: "compactions drop deletions that still hide something below",
        file: "crates/compact/src/cursor/rules.rs",
        right: "!self.beyond.may_contain(&self.key[..self.key.len() - TRAILER_LEN])",
        wrong: "self.beyond.may_contain(&self.key[..self.key.len() - TRAILER_LEN]) || self.key.len() >= TRAILER_LEN",
        caught_by: Tests(&["-p", "esker-compact"]),
    },
    Canary {
        name: "compactions drop what only a snapshot sees",
        file: "crates/engine/src/jobs/rewrite.rs",
        right: "snapshots: db.snapshots.seqnos(),",
        wrong: "snapshots: Vec::new(),",
        caught_by: Tests(&["-p", "esker-dbtest", "model"]),
    },
    Canary {
        name: "an iterator that refreshes itself leaves its snapshot",
        file: "crates/engine/src/read/db_iterator.rs",
        right: "self.family.view(self.snapshot.as_ref())",
        wrong: "self.family.view(None)",
        caught_by: Tests(&["-p", "esker-dbtest", "iterators::"]),
    },
    Canary {
        name: "Get passes over the range tombstones of tables",
        file: "crates/engine/src/db/get.rs",
        right: "context.covering = context.covering.max(covering);",
        wrong: "context.covering = context.covering.max(covering.min(0));",
        caught_by: Tests(&["-p", "esker-dbtest", "model"]),
    },
    Canary {
        name: "keys without timestamps are compared as if they had one",
        file: "crates/engine/src/db/get.rs",
        right: ".compare_without_timestamp(&user.stamped(iter.key()), &user.stamped(key))",
        wrong: ".compare_without_timestamp(iter.key(), key)",
        caught_by: Tests(&["-p", "esker-dbtest", "timestamps"]),
    },
    Canary {
        name: "tables of L0 that meet in a key are moved side by side",
        file: "crates/compact/src/picker.rs",
        right: "order::boundaries(order.user(), &pair[0].largest, &pair[1].smallest) == Ordering::Less",
        wrong: "order.compare(&pair[0].largest, &pair[1].smallest) == Ordering::Less",
        caught_by: Tests(&["-p", "esker-compact"]),
    },
    Canary {
        name: "universal compactions put sorted runs into the level of an older one",
        file: "crates/compact/src/picker/universal.rs",
        right: "Some(next) => next.level.saturating_sub(1),",
        wrong: "Some(next) => next.level,",
        caught_by: Tests(&["-p", "esker-compact"]),
    },
    Canary {
        name: "files are dropped under range tombstones that a snapshot does not see",
        file: "crates/compact/src/picker/covered.rs",
        right: "file.largest_seqno < seqno && seqno <= visible",
        wrong: "file.largest_seqno < seqno && visible > 0",
        caught_by: Tests(&["-p", "esker-dbtest", "compaction_hooks"]),
    },
    Canary {
        name: "FIFO compactions drop the newest tables",
        file: "crates/compact/src/picker/fifo.rs",
        right: "0 => files.iter().rev().collect(),",
        wrong: "0 => files.iter().collect(),",
        caught_by: Tests(&["-p", "esker-dbtest", "scripts"]),
    },
    Canary {
        name: "a flush leaves WALs unsynced that hold older rows of other families",
        file: "crates/engine/src/jobs/flush.rs",
        right: "if several_families {",
        wrong: "if several_families && self.read_only {",
        caught_by: Tests(&["-p", "esker-dbtest", "crash"]),
    },
    Canary {
        name: "a sync that failed is tried again",
        file: "crates/engine/src/write/pipeline.rs",
        right: "if let Some(error) = &group.failed {",
        wrong: "if let Some(error) = group.failed.as_ref().filter(|_| self.read_only) {",
        caught_by: Tests(&["-p", "esker-dbtest", "crash"]),
    },
    Canary {
        name: "WALs a dead process left stay unsynced",
        file: "crates/engine/src/db/recover.rs",
        right: "self.sync_wals(&wals)?;",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "crash"]),
    },
    Canary {
        name: "recovery does not see that the end of a WAL is lost",
        file: "crates/engine/src/db/recover.rs",
        right: "Some(before) => replayed.next_seqno == Some(before.next_seqno),",
        wrong: "Some(_) => true,",
        caught_by: Tests(&["-p", "esker", "recovery"]),
    },
    Canary {
        name: "recovery takes what lies behind a hole in a WAL",
        file: "crates/engine/src/db/recover.rs",
        right: "if mode == RecoveryMode::PointInTime && hole {",
        wrong: "if mode == RecoveryMode::PointInTime && hole && self.read_only {",
        caught_by: Tests(&["-p", "esker", "recovery"]),
    },
    Canary {
        name: "a write with sync returns before the WAL is on the disk",
        file: "crates/engine/src/write/pipeline.rs",
        right: "wals.iter().try_for_each(|wal| wal.sync.sync());",
        wrong: "wals.iter().skip(1).try_for_each(|wal| wal.sync.sync());",
        caught_by: Tests(&["-p", "esker-dbtest", "crash"]),
    },
    Canary {
        name: "tables are named in the MANIFEST before they are on the disk",
        file: "crates/sst/src/writer/sink.rs",
        right: "self.file.sync()?;",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "crash"]),
    },
    Canary {
        name: "edits of the MANIFEST are not synced",
        file: "crates/engine/src/version_set.rs",
        right: "manifest.log.add_record(&record)?;\n        }\n        manifest.log.sync()",
        wrong: "manifest.log.add_record(&record)?;\n        }\n        Ok(())",
        caught_by: Tests(&["-p", "esker-dbtest", "crash"]),
    },
    Canary {
        name: "what is ingested over older rows gets no sequence number",
        file: "crates/engine/src/ingest/levels.rs",
        right: "seqno = last + 1;\n        }\n        Ok(",
        wrong: "}\n        Ok(",
        caught_by: Tests(&["-p", "esker-dbtest", "ingest"]),
    },
    Canary {
        name: "memtables that overlap what is ingested are not flushed",
        file: "crates/engine/src/ingest/commit.rs",
        right: "let mut to_flush = overlapping(families)?;",
        wrong: "let mut to_flush = { drop(overlapping); Vec::new() };",
        caught_by: Tests(&["-p", "esker-dbtest", "ingest"]),
    },
    Canary {
        name: "a memtable spans the sequence number of a file ingested to L0",
        file: "crates/engine/src/ingest/commit.rs",
        right: "if numbered && in_memory {",
        wrong: "if numbered && in_memory && false {",
        caught_by: Tests(&["-p", "esker-dbtest", "ingest"]),
    },
    Canary {
        name: "compactions drop deletions that hide what is ingested behind them",
        file: "crates/engine/src/jobs/compaction.rs",
        right: "plan.keep_for_what_comes_below();",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "ingest_behind"]),
    },
    Canary {
        name: "the WAL is not synced before files are ingested",
        file: "crates/engine/src/ingest/commit.rs",
        right: "self.sync_wal(self.wal_tail.records.load(Ordering::Acquire))?;",
        wrong: "",
        caught_by: Tests(&["-p", "esker-dbtest", "ingest_crash"]),
    },
    Canary {
        name: "the directory is not synced after CURRENT was renamed",
        file: "crates/engine/src/version_set.rs",
        right: "fs.rename(temp, path)?;\n    fs.sync_dir(dir)",
        wrong: "fs.rename(temp, path)",
        caught_by: Tests(&["-p", "esker-dbtest", "crash"]),
    },
    Canary {
        name: "a WAL is deleted that a family still needs",
        file: "crates/engine/src/jobs/flush.rs",
        right: "wal.number < needed)",
        wrong: "wal.number <= needed)",
        caught_by: CrashTest(3),
    },
    Canary {
        name: "the first record of a WAL is not synced before a flush",
        file: "crates/engine/src/write/pipeline.rs",
        right: "            self.unsynced.lock().push(UnsyncedWal { number, sync });\n            self.records.fetch_add(1, Ordering::Release);",
        wrong: "            self.unsynced.lock().push(UnsyncedWal { number, sync });",
        caught_by: Tests(&["-p", "esker-dbtest", "a_wal_whose_beginning"]),
    },
    Canary {
        name: "rows without WAL are not flushed when the database is closed",
        file: "crates/engine/src/db/close.rs",
        right: "unlogged && !self.read_only",
        wrong: "unlogged && self.read_only",
        caught_by: PowerLoss(3),
    },
    Canary {
        name: "writers that wait for a sync share one that began before their rows were appended",
        file: "crates/engine/src/write/pipeline.rs",
        right: "        group.synced = upto;",
        wrong: "        group.synced = upto + 1;",
        caught_by: PowerLoss(3),
    },
    Canary {
        name: "the MANIFEST says that rows of a memtable are flushed which are not",
        file: "crates/engine/src/jobs/flush.rs",
        right: "own.mem.first_wal\n        };",
        wrong: "current_wal\n        };",
        caught_by: Stress(3, MANY_FAMILIES),
    },
    Canary {
        name: "a record of a WAL that lies in several fragments is dropped",
        file: "crates/wal/src/reader.rs",
        right: "                self.add_fragment(start, end, last)\n            }\n            RecordType::SetCompressionType",
        wrong: "                if last {\n                    self.in_fragments = false;\n                    self.fragments.clear();\n                    return Ok(Taken::Part);\n                }\n                self.add_fragment(start, end, last)\n            }\n            RecordType::SetCompressionType",
        caught_by: CrashTest(3),
    },
    Canary {
        name: "after recovery sequence numbers are given a second time",
        file: "crates/engine/src/db/recover.rs",
        right: "replayed.last_seqno = replayed.last_seqno.max((seqno + count).saturating_sub(1));",
        wrong: "replayed.last_seqno = replayed.last_seqno.max(seqno);",
        caught_by: Tests(&["-p", "esker-dbtest", "metamorphic"]),
    },
    Canary {
        name: "the part of a range tombstone behind the end of an output file is lost",
        file: "crates/compact/src/tombstones.rs",
        right: "Some(lower) if order::bare(cmp, fragment.start, lower) == Ordering::Less => lower,",
        wrong: "Some(lower) if order::bare(cmp, fragment.start, lower) == Ordering::Less => continue,",
        caught_by: Stress(5, EVERYTHING),
    },
    Canary {
        name: "an iterator forgets a range tombstone behind the last entry of its file",
        file: "crates/engine/src/read/level_cursor.rs",
        right: "if self.tombstones.is_some() && self.place != Place::LargestBound {",
        wrong: "if self.tombstones.is_some() && self.place == Place::Nowhere {",
        caught_by: Tests(&["-p", "esker-dbtest", "metamorphic"]),
    },
    Canary {
        name: "sequence numbers become 0 above older data",
        file: "crates/compact/src/cursor.rs",
        right: "zero_below: if rules.bottommost {",
        wrong: "zero_below: if rules.bottommost || stripes.latest() > 0 {",
        caught_by: Stress(5, EVERYTHING),
    },
    Canary {
        name: "sequence numbers become 0 that snapshots tell apart",
        file: "crates/compact/src/cursor.rs",
        right: "(stripes.earliest() + 1).min(",
        wrong: "(stripes.earliest().max(stripes.latest()) + 1).min(",
        caught_by: Stress(5, EVERYTHING),
    },
    Canary {
        name: "flushes drop what only a snapshot sees",
        file: "crates/engine/src/jobs/memtable_tables.rs",
        right: "            snapshots: self.snapshots.clone(),",
        wrong: "            snapshots: Vec::new(),",
        caught_by: Stress(5, EVERYTHING),
    },
    Canary {
        name: "the cache gives a block of another table",
        file: "crates/engine/src/read/table_cache.rs",
        right: "map_or(0, |cache| cache.new_id_of(self.cache_owner))",
        wrong: "map_or(0, |cache| cache.new_id_of(self.cache_owner) % 16)",
        caught_by: Stress(5, EVERYTHING),
    },
    Canary {
        name: "the secondary cache gives a block of another table",
        file: "crates/cache/src/secondary.rs",
        right: "                .insert_as(key, saved, charge, Priority::Low, role)",
        wrong: "                .insert_as(CacheKey { id: 1, ..key }, saved, charge, Priority::Low, role)",
        caught_by: Tests(&["-p", "esker-cache", "--lib", "secondary"]),
    },
    Canary {
        name: "the last byte of what goes down to the secondary cache is cut off",
        file: "crates/cache/src/secondary.rs",
        right: "let done = compressor.compress(bytes, &mut out);",
        wrong: "let done = compressor.compress(&bytes[..bytes.len() - 1], &mut out);",
        caught_by: Tests(&["-p", "esker-cache", "--lib", "secondary"]),
    },
    Canary {
        name: "what is erased from the cache is still in the secondary cache",
        file: "crates/cache/src/cache.rs",
        right: "Some(secondary) => secondary.erase(key) || erased,",
        wrong: "Some(_) => erased,",
        caught_by: Tests(&["-p", "esker-cache", "--lib", "secondary"]),
    },
    Canary {
        name: "an index that comes back from the secondary cache leads one block astray",
        file: "crates/sst/src/index/saved.rs",
        right: "let handle = self.handle(i);",
        wrong: "let handle = self.handle(i.saturating_sub(1));",
        caught_by: Tests(&["-p", "esker-sst", "--test", "it", "secondary"]),
    },
    Canary {
        name: "blocks of an obsolete table are looked for, however few are found",
        file: "crates/sst/src/reader/uncache.rs",
        right: "+ 1.5) >= self.threshold",
        wrong: "+ 1.5) >= 0.0",
        caught_by: Tests(&["-p", "esker-sst", "--lib", "uncache"]),
    },
    Canary {
        name: "an index goes into the cache without its checksum being verified",
        file: "crates/sst/src/reader/parts.rs",
        right: "let block = self.fetcher.meta_block(handle, self.verify_checksums)?;",
        wrong: "let block = self.fetcher.meta_block(handle, false)?;",
        caught_by: Tests(&["-p", "esker-sst", "--test", "it", "parts"]),
    },
    Canary {
        name: "a clock cache leaves what was erased while it was pinned in sight of slots",
        file: "crates/cache/src/clock_shard.rs",
        right: "if !frame.park(seen, true) {",
        wrong: "if !frame.park(seen, false) {",
        caught_by: Tests(&["-p", "esker-cache", "--lib"]),
    },
    Canary {
        name: "a clock cache's lookup takes the tag for the key",
        file: "crates/cache/src/clock_shard.rs",
        right: "if !state.is_visible() || self.clock.entry(index).key() != key {\n                return None;",
        wrong: "if !state.is_visible() {\n                return None;",
        caught_by: Tests(&["-p", "esker-cache", "--lib"]),
    },
    Canary {
        name: "a cursor skips the index partition behind the one it stands in",
        file: "crates/sst/src/cursor.rs",
        right: "self.open_part(self.partition + 1)",
        wrong: "self.open_part(self.partition + 2)",
        caught_by: Tests(&["-p", "esker-sst", "--test", "it", "parts"]),
    },
    Canary {
        name: "operands are merged without the value that lies below",
        file: "crates/compact/src/cursor/merge.rs",
        right: "&& self.ends_here() =>",
        wrong: "&& (self.ends_here() || !self.bottommost) =>",
        caught_by: Tests(&["-p", "esker-dbtest", "metamorphic"]),
    },
    Canary {
        name: "a subcompaction loses the key it begins with",
        file: "crates/compact/src/cursor.rs",
        right: "internal_key::set_seek_target(&mut seek, &target, MAX_SEQNO);",
        wrong: "internal_key::set_seek_target(&mut seek, &target, 0);",
        caught_by: Stress(5, EVERYTHING),
    },
    Canary {
        name: "rows are seen before all of their batch is there",
        file: "crates/engine/src/write/pipeline.rs",
        right: "        let (inserted, count) = match &commit {",
        wrong: "        self.published.store(first + 5, Ordering::Release);\n        let (inserted, count) = match &commit {",
        caught_by: Tests(&["-p", "esker-dbtest", "batches_are_seen_whole"]),
    },
    Canary {
        name: "files are deleted although deletions are disabled",
        file: "crates/engine/src/jobs/obsolete_files.rs",
        right: "let nothing_to_do = queue.files.is_empty() || queue.held > 0;",
        wrong: "let nothing_to_do = queue.files.is_empty();",
        caught_by: Tests(&["-p", "esker-dbtest", "model"]),
    },
    Canary {
        name: "whoever fails to open a database takes the info log of the one who has it",
        file: "crates/engine/src/db/open.rs",
        right: "        lock = Some(fs.lock(&filename::lock(dir))?);",
        wrong: "        lock = Some(fs.lock(&filename::lock(dir)).inspect_err(|_| drop(InfoLog::open(options, dir)))?);",
        caught_by: Tests(&["-p", "esker-dbtest", "info_log"]),
    },
    Canary {
        name: "compactions do not tell the info log that they ended",
        file: "crates/engine/src/log/event_logger.rs",
        right: "self.event(\"compaction_finished\", *job, |json| {",
        wrong: "self.event(\"compaction_started\", *job, |json| {",
        caught_by: Tests(&["-p", "esker-dbtest", "info_log"]),
    },
    Canary {
        name: "a block that cannot be read has no row for a Get",
        file: "crates/engine/src/db/get.rs",
        right: "table.get(lookup, read, &mut context.visitor(&mut damaged))?;",
        wrong: "table\n            .get(lookup, read, &mut context.visitor(&mut damaged))\n            .unwrap_or_default();",
        caught_by: Stress(3, FAILED_READS),
    },
    Canary {
        name: "a block that cannot be read has no row for a MultiGet",
        file: "crates/engine/src/db/multi_get.rs",
        right: "            self.failed = Some(error);\n",
        wrong: "            drop(error);\n",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "multi_get::"]),
    },
    Canary {
        name: "an iterator takes a block that cannot be read for the end",
        file: "crates/engine/src/read/merging_cursor.rs",
        right: "            && let Err(error) = self.sources[lane].status()\n",
        wrong: "            && self.sources.is_empty()\n            && let Err(error) = self.sources[lane].status()\n",
        caught_by: Stress(3, FAILED_READS),
    },
    Canary {
        name: "what could not be read ahead is taken for the file's bytes",
        file: "crates/sst/src/fetch.rs",
        right: "            span.bytes.clear();\n",
        wrong: "            span.bytes.truncate(len);\n",
        caught_by: Tests(&["-p", "esker-dbtest", "told_faults::"]),
    },
    Canary {
        name: "a flush that the drop of its family called off succeeds",
        file: "crates/engine/src/db/maintain.rs",
        right: "durable.\n        families.iter().try_for_each(|family| family.check_writable())\n",
        wrong: "durable.\n        Ok(())\n",
        caught_by: Tests(&["-p", "esker-dbtest", "flush_and_drop"]),
    },
    Canary {
        name: "a backup that failed leaves its meta file to stand without its tables",
        file: "crates/backup/src/create.rs",
        right: "if self.remove_meta_of(id).is_ok() {",
        wrong: "if id > 0 {",
        caught_by: Tests(&["-p", "esker-backup", "crash"]),
    },
    Canary {
        name: "a backup is announced before the names of its tables are on the disk",
        file: "crates/backup/src/create.rs",
        right: "fs.sync_dir(&dir.join(shared_dir(&self.options)))?;",
        wrong: "fs.exists(&dir.join(shared_dir(&self.options)))?;",
        caught_by: Tests(&["-p", "esker-backup", "crash"]),
    },
    Canary {
        name: "files of a backup are deleted before its end is on the disk",
        file: "crates/backup/src/collect.rs",
        right: "fs.sync_dir(&dir.join(names::META))?;",
        wrong: "fs.exists(&dir.join(names::META))?;",
        caught_by: Tests(&["-p", "esker-backup", "crash"]),
    },
    Canary {
        name: "a table in another's place is read",
        file: "crates/engine/src/read/table_cache.rs",
        right: "Some(recorded) if !properties.has_unique_id(recorded) => Err(",
        wrong: "Some(recorded) if recorded == &[0; 16] => Err(",
        caught_by: Tests(&["-p", "esker", "--test", "it", "unique_ids::"]),
    },
    Canary {
        name: "a memtable whose filter lacks the key is not asked for range tombstones",
        file: "crates/engine/src/db/get.rs",
        right: "        let tombstones = mem.range_tombstones();\n        if !tombstones.is_empty() {\n            context.covering",
        wrong: "        let tombstones = mem.range_tombstones();\n        if !tombstones.is_empty() && mem.may_contain(context.user_key) != Some(false) {\n            context.covering",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "memtable_filter::"]),
    },
    Canary {
        name: "rows with checksums are not put into the memtable's filter",
        file: "crates/memtable/src/memtable.rs",
        right: "        if kind != Kind::RangeDeletion {\n            self.add_to_filter(user_key);",
        wrong: "        if kind != Kind::RangeDeletion && entry.is_null() {\n            self.add_to_filter(user_key);",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "memtable_filter::"]),
    },
    Canary {
        name: "an entry whose block was not read comes to the top of the heap",
        file: "crates/engine/src/read/merging_cursor.rs",
        right: "unread += usize::from(self.sources[lane].is_unread());",
        wrong: "unread += usize::from(self.sources[lane].is_unread() && lane + 1 < self.sources.len());",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "disk_reads::"]),
    },
    Canary {
        name: "the first key that an index tells is not compared with its block's",
        file: "crates/sst/src/cursor.rs",
        right: "self.block_failed() || self.block.valid() && self.block.key() == self.deferred_key()",
        wrong: "self.block_failed() || self.block.valid()",
        caught_by: Tests(&["-p", "esker-sst", "--test", "it", "first_keys"]),
    },
    Canary {
        name: "flushes do not verify the checksums of a memtable's rows",
        file: "crates/memtable/src/cursor.rs",
        right: "self.entry.map_or(Ok(()), |entry| checks.verify(entry.as_ptr()))",
        wrong: "Ok(())",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "protection::"]),
    },
    Canary {
        name: "iterators do not verify the checksums of a cached block's entries",
        file: "crates/sst/src/block/cursor.rs",
        right: "let Err(error) = protection.verify(self.at, self.stored_key(), &self.entry, entries)",
        wrong: "let (Some(error), _) = (self.error.clone(), (protection, self.stored_key()))",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "protection::"]),
    },
    Canary {
        name: "a batch is not compared with its checksums before the WAL has it",
        file: "crates/engine/src/write/pipeline.rs",
        right: "protection.verify(batch.data(), Some(first))?;",
        wrong: "let _ = protection;",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "protection::"]),
    },
    Canary {
        name: "a partition of an index leaves out its last block",
        file: "crates/sst/src/writer/partitions.rs",
        right: "        let ends = self.starts.iter().copied().chain([blocks]);",
        wrong: "        let ends = self.starts.iter().map(|start| start - 1).chain([blocks]);",
        caught_by: Tests(&["-p", "esker-sst"]),
    },
    Canary {
        name: "a partition of a filter does not know the prefix of the key behind it",
        file: "crates/sst/src/filter/builder.rs",
        right: "        if let Some(prefix) = next.and_then(|next| self.prefix_hash(next)) {",
        wrong: "        if let Some(prefix) = next.and_then(|next| self.prefix_hash(next)).filter(|_| false) {",
        caught_by: Tests(&["-p", "esker-sst"]),
    },
    Canary {
        name: "what is read ahead does not end at the bounds of a scan",
        file: "crates/sst/src/readahead.rs",
        right: "lower..upper.map_or(index.len(), |last| (last + 1).min(index.len()))",
        wrong: "lower..upper.map_or(index.len(), |_| index.len())",
        caught_by: Tests(&["-p", "esker-sst", "--test", "it", "readahead::"]),
    },
    Canary {
        name: "a Ribbon filter is made of keys that contradict each other",
        file: "crates/sst/src/filter/ribbon/builder.rs",
        right: "                return result == 0;",
        wrong: "                return true;",
        caught_by: Tests(&["-p", "esker-sst"]),
    },
    Canary {
        name: "the dictionary stands in the table and no block is compressed with it",
        file: "crates/sst/src/writer/data.rs",
        right: "            Some(&self.dictionary),\n",
        wrong: "            None,\n",
        caught_by: Tests(&["-p", "esker-sst"]),
    },
    Canary {
        name: "maps are read as the kernel guesses",
        file: "crates/vfs/src/posix/sys.rs",
        right: "Access::Random => libc::MADV_RANDOM,",
        wrong: "Access::Random => libc::MADV_NORMAL,",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "mapped_reads::"]),
    },
    Canary {
        name: "compactions read through the descriptors of users",
        file: "crates/engine/src/read/level_cursor.rs",
        right: "if let Some(open) = &self.own_files {",
        wrong: "if let Some(open) = self.own_files.as_ref().filter(|_| self.with_tombstones) {",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "disk_reads::"]),
    },
    Canary {
        name: "a direct read that was begun gives what lies before what was asked for",
        file: "crates/vfs/src/posix/started.rs",
        right: "        memory.narrow(self.skip, self.len);\n",
        wrong: "        memory.narrow(0, self.len);\n",
        caught_by: Tests(&["-p", "esker-vfs", "--test", "it", "started::"]),
    },
    Canary {
        name: "blocks read side by side are not looked at again where they could not be read",
        file: "crates/sst/src/blocks.rs",
        right: "            return self.get_located(key, located, options, visit);\n        };\n        let index",
        wrong: "            return Ok(());\n        };\n        let index",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "disk_reads::"]),
    },
    Canary {
        name: "a partition of a filter does not know a key that only has older versions in it",
        file: "crates/sst/src/filter/builder.rs",
        right: "partitions.last_key == next)",
        wrong: "partitions.last_key == next && false)",
        caught_by: Tests(&["-p", "esker-sst"]),
    },
    Canary {
        name: "a multi-scan takes a block of another run for the one it comes to",
        file: "crates/sst/src/blocks.rs",
        right: "let at = self.blocks.binary_search_by_key(&number, |block| block.0).ok()?;",
        wrong: "let at = self.blocks.len().checked_sub(1).filter(|_| number > 0)?;",
        caught_by: Tests(&["-p", "esker-dbtest", "--test", "it", "multi_scan::"]),
    },
];

/// Why a canary no longer fits, if it does not.
pub fn stale(canary: &Canary, root: &Path) -> Option<String> {
    match std::fs::read_to_string(root.join(canary.file)) {
        Err(error) => Some(error.to_string()),
        Ok(text) => match text.matches(canary.right).count() {
            1 => None,
            count => Some(format!("what it replaces stands there {count} times, not once")),
        },
    }
}

/// Plants each bug whose name has one of `words`, which commas divide, into a checkout of HEAD of its own and demands that it is caught.
pub fn run(words: &str) -> Outcome {
    let place = Place {
        checkout: shell::root().join("target/canary/checkout"),
        build: shell::root().join("target/canary/build"),
    };
    let remove = || {
        shell::succeeds(
            shell::command("git")
                .args(["worktree", "remove", "--force"])
                .arg(&place.checkout),
        );
    };
    remove();
    shell::output(
        shell::command("git")
            .args(["worktree", "add", "--detach"])
            .arg(&place.checkout)
            .arg("HEAD"),
    )?;
    let mut sound = Vec::new();
    let mut survivors = Vec::new();
    let mut caught = 0;
    for canary in CANARIES
        .iter()
        .filter(|canary| words.split(',').any(|words| canary.name.contains(words)))
    {
        match place.plant(canary, &mut sound) {
            Ok(Some((run, end))) => {
                caught += 1;
                let by = match end {
                    End::Hung => " by the watchdog",
                    End::Passed | End::Failed => "",
                };
                eprintln!("caught in run {run}{by}: {}", canary.name);
            }
            Ok(None) => survivors.push(canary.name.to_owned()),
            Err(error) => survivors.push(format!("{} ({error})", canary.name)),
        }
    }
    remove();
    if survivors.is_empty() {
        eprintln!("{caught} planted bugs, all caught");
        Ok(())
    } else {
        Err(format!("not caught: {}", survivors.join("; ")))
    }
}

impl Catcher {
    /// Runs within which it must find a bug.
    fn runs(self) -> u32 {
        match self {
            Tests(_) | Simulation(_) => 1,
            Stress(runs, _) | CrashTest(runs) | PowerLoss(runs) => runs,
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    /// It had not ended after the time it was given, and was killed: what a bug may do too.
    Hung,
}

/// Runs `command`, which says nothing, for `limit` at most, and then kills it with all it has started.
fn run_within(command: &mut Command, limit: Duration) -> End {
    // A group of its own: cargo does not pass on to tests what is sent to cargo.
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let Ok(mut child) = child else {
        return End::Failed;
    };
    let end = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < end => std::thread::park_timeout(LOOK),
            Ok(None) => {
                let group = format!("-{}", child.id());
                shell::succeeds(shell::command("kill").args(["-KILL", "--", &group]));
                let _ = child.wait();
                return End::Hung;
            }
            Ok(Some(status)) if status.success() => return End::Passed,
            _ => return End::Failed,
        }
    }
}

/// How often a run is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What a run may take where it has not been seen yet how long it takes.
const FIRST_RUN: Duration = Duration::from_secs(1800);

/// What a run with a bug in it may take, of a catcher that has `taken` so long without: more than any machine varies by.
fn limit(taken: Duration) -> Duration {
    taken * 10 + Duration::from_secs(60)
}

/// Where bugs are planted.
struct Place {
    checkout: PathBuf,
    build: PathBuf,
}

impl Place {
    fn cargo(&self, args: &[&str]) -> Command {
        let mut command = shell::cargo();
        command
            .current_dir(&self.checkout)
            .args(args)
            .env("CARGO_TARGET_DIR", &self.build);
        command
    }

    fn builds(&self, catcher: Catcher) -> bool {
        match catcher {
            Tests(args) => shell::succeeds(self.cargo(&["test", "--no-run"]).args(args)),
            Stress(..) | CrashTest(_) | PowerLoss(_) => {
                shell::succeeds(&mut self.cargo(&["build", "-p", "db_stress"]))
            }
            Simulation(_) => shell::succeeds(&mut self.simulated("build")),
        }
    }

    /// Cargo for the program whose threads a seed decides about.
    fn simulated(&self, verb: &str) -> Command {
        let mut command = self.cargo(&[verb, "-p", "simulate"]);
        command
            .env("RUSTFLAGS", "--cfg simulate")
            .env("CARGO_TARGET_DIR", self.build.join("simulate"));
        command
    }

    /// One run, of `limit` at most.
    fn run(&self, catcher: Catcher, limit: Duration) -> End {
        let program = |name: &str| Command::new(self.build.join("debug").join(name));
        match catcher {
            Tests(args) => run_within(self.cargo(&["test"]).args(args), limit),
            Stress(_, flags) => run_within(program("db_stress").args(flags), limit),
            Simulation(histories) => {
                let mut command = self.simulated("run");
                command.args(["--", "--seconds=600", "--threads=1", "--no_shrink"]);
                run_within(command.arg(format!("--histories={histories}")), limit)
            }
            CrashTest(_) | PowerLoss(_) => {
                let kept = self.build.join("crashed");
                let mut command = program("db_crashtest");
                command.args(["--duration=12", "--interval=1"]);
                if matches!(catcher, PowerLoss(_)) {
                    command.arg("--simulate");
                }
                let end = run_within(command.arg(format!("--dir={}", kept.display())), limit);
                // What it keeps of a bug we planted is of no use to anybody; it may have kept nothing.
                let _ = std::fs::remove_dir_all(kept);
                end
            }
        }
    }

    /// The run in which the planted bug was found, if it was, and how that run ended. `sound` holds what has passed without a bug,
    /// and how long it took.
    fn plant(
        &self,
        canary: &Canary,
        sound: &mut Vec<(Catcher, Duration)>,
    ) -> Result<Option<(u32, End)>, String> {
        if let Some(reason) = stale(canary, &self.checkout) {
            return Err(reason);
        }
        let catcher = canary.caught_by;
        let known = sound.iter().find(|(known, _)| *known == catcher);
        let taken = match known {
            Some((_, taken)) => *taken,
            None => {
                let built = self.builds(catcher);
                let start = Instant::now();
                match built.then(|| self.run(catcher, FIRST_RUN)) {
                    Some(End::Passed) => sound.push((catcher, start.elapsed())),
                    Some(End::Hung) => return Err("what should catch it hangs without it".into()),
                    _ => return Err("what should catch it fails without it".into()),
                }
                start.elapsed()
            }
        };
        let path = self.checkout.join(canary.file);
        let right = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let write = |text: &str| std::fs::write(&path, text).map_err(|error| error.to_string());
        write(&right.replace(canary.right, canary.wrong))?;
        // A bug that does not compile would count as caught.
        let found = if self.builds(catcher) {
            let runs = (1..=catcher.runs()).map(|run| (run, self.run(catcher, limit(taken))));
            Ok({ runs }.find(|(_, end)| *end != End::Passed))
        } else {
            Err("it does not compile".into())
        };
        write(&right)?;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_killed_with_all_it_has_started() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let long = Duration::from_secs(600);
        assert_eq!(run_within(&mut shell("exit 0"), long), End::Passed);
        assert_eq!(run_within(&mut shell("exit 3"), long), End::Failed);
        let dir = std::env::temp_dir().join(format!("esker-canary-{}", std::process::id()));
        let script = format!("(sleep 1000; true) & echo $! > {0}; wait", dir.display());
        // Until the script has told whom it started.
        let mut limit = Duration::from_millis(100);
        let started = loop {
            assert_eq!(run_within(&mut shell(&script), limit), End::Hung);
            match std::fs::read_to_string(&dir) {
                Ok(id) if !id.trim().is_empty() => break id,
                _ => limit *= 2,
            }
        };
        std::fs::remove_file(&dir).unwrap();
        // Whoever has died may wait for somebody to take note of it.
        let stat = format!("/proc/{}/stat", started.trim());
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            std::thread::yield_now();
        }
    }
}
