//! The LSM tree of a replay: tables whose rows are in memory, and compactions that take time.

use std::collections::HashMap;
use std::sync::Arc;

use base::{InternalComparator, Kind, SeqNo, internal_key};
use compact::picker::rewritten::Circumstances;
use compact::stall::{StallInputs, WriteBufferLimits, condition};
use compact::{
    JobId, LeveledOptions, NoFacts, OutputSplitter, PickContext, Plan, Running, Scores, StallCondition, pick,
};
use manifest::{FileMetadata, Version, VersionBuilder, VersionEdit};

use crate::machine::Machine;
use crate::rows::{Row, newest};
use crate::workload::Workload;

/// The Unix time in seconds at which every replay begins, for the ages of tables.
const BEGINNING: u64 = 1_000_000_000;

/// Bytes of tables that jobs wrote and read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) flushed: u64,
    pub(crate) compaction_read: u64,
    pub(crate) compaction_written: u64,
    pub(crate) compactions: u64,
}

/// A simulated compaction that is running.
struct Job {
    id: JobId,
    plan: Plan,
    circumstances: Circumstances,
    /// The time in microseconds at which the compaction ends.
    ends: u64,
}

/// The tables of one family.
pub(crate) struct Tree<'a> {
    workload: &'a Workload,
    options: LeveledOptions,
    machine: &'a Machine,
    pub(crate) version: Version,
    running: Running,
    jobs: Vec<Job>,
    /// The rows of each table, by number.
    contents: HashMap<u64, Vec<Row>>,
    next_file: u64,
    next_epoch: u64,
    pub(crate) seqno: SeqNo,
    pub(crate) traffic: Traffic,
}

impl<'a> Tree<'a> {
    /// The tree at the beginning of `workload`.
    pub(crate) fn new(workload: &'a Workload, options: LeveledOptions, machine: &'a Machine) -> Tree<'a> {
        let deepest = workload.tables.iter().map(|table| table.level).max();
        let levels = options.num_levels.max(deepest.map_or(1, |level| level + 1));
        let cmp = InternalComparator::new(workload.keys.cmp.clone());
        let mut tree = Tree {
            workload,
            options,
            machine,
            version: Version::empty(cmp, levels),
            running: Running::new(),
            jobs: Vec::new(),
            contents: HashMap::new(),
            next_file: 1,
            next_epoch: 1,
            seqno: workload.last_seqno,
            traffic: Traffic::default(),
        };
        let mut edit = VersionEdit::default();
        for table in &workload.tables {
            let file = tree.table(table.rows.clone(), table.size, table.epoch);
            edit.new_files.push((table.level as u32, file));
            tree.next_epoch = tree.next_epoch.max(table.epoch + 1);
        }
        tree.apply(&edit);
        tree
    }

    /// The bytes of a row's key and value, before compression and without its share of indexes and filters.
    fn raw_bytes(&self, row: &Row) -> u64 {
        self.workload.keys.bytes(row.key).len() as u64 + row.value_bytes()
    }

    /// Returns the bytes of a table whose rows have `raw` bytes before compression.
    fn table_bytes(&self, raw_bytes: u64) -> u64 {
        let bytes = (raw_bytes * self.workload.weight) as f64 * self.machine.table_bytes_per_raw_byte;
        (bytes as u64).max(1)
    }

    /// The bytes of the newest row of each key, without older versions.
    pub(crate) fn live_bytes(&self) -> u64 {
        let all = self.contents.values().flatten().copied().collect();
        let live = newest(all).into_iter().filter(|row| !row.is_deletion());
        self.table_bytes(live.map(|row| self.raw_bytes(&row)).sum())
    }

    fn table(&mut self, rows: Vec<Row>, size: u64, epoch: u64) -> Arc<FileMetadata> {
        let key = |row: &Row| {
            let kind = if row.is_deletion() {
                Kind::Deletion
            } else {
                Kind::Value
            };
            internal_key::encode(self.workload.keys.bytes(row.key), row.seqno, kind).into()
        };
        let seqnos = || rows.iter().map(|row| row.seqno);
        let file = FileMetadata {
            number: self.next_file,
            size,
            smallest: rows.first().map(key).unwrap_or_default(),
            largest: rows.last().map(key).unwrap_or_default(),
            smallest_seqno: seqnos().min().unwrap_or(0),
            largest_seqno: seqnos().max().unwrap_or(0),
            epoch_number: Some(epoch),
            oldest_ancestor_time: BEGINNING,
            file_creation_time: BEGINNING,
            ..FileMetadata::default()
        };
        self.next_file += 1;
        self.contents.insert(file.number, rows);
        Arc::new(file)
    }

    fn apply(&mut self, edit: &VersionEdit) {
        let mut builder = VersionBuilder::new(&self.version);
        let built = builder.apply(edit).and_then(|()| builder.build());
        self.version = built.expect("pickers change versions into versions");
        for (_, number) in &edit.deleted_files {
            if self.version.level_of(*number).is_none() {
                self.contents.remove(number);
            }
        }
    }

    /// Adds the table of a memtable to L0.
    pub(crate) fn flush(&mut self, rows: Vec<Row>) {
        let raw_bytes = rows.iter().map(|row| self.raw_bytes(row)).sum();
        let size = self.table_bytes(raw_bytes);
        self.traffic.flushed += size;
        let epoch = self.next_epoch;
        self.next_epoch += 1;
        let file = self.table(rows, size, epoch);
        self.apply(&VersionEdit {
            new_files: vec![(0, file)],
            ..VersionEdit::default()
        });
    }

    /// Installs all compactions that end by `now`, and starts those that become due, in the order of time.
    pub(crate) fn advance(&mut self, now: u64) {
        while let Some(at) = self.first_to_end()
            && self.jobs[at].ends <= now
        {
            let ended = self.jobs[at].ends;
            self.finish(at);
            self.start_due(ended);
        }
        self.start_due(now);
    }

    /// The time at which the next compaction ends.
    pub(crate) fn next_end(&self) -> Option<u64> {
        self.jobs.iter().map(|job| job.ends).min()
    }

    /// Runs compactions until none is due.
    pub(crate) fn come_to_rest(&mut self, mut now: u64) -> u64 {
        self.advance(now);
        while let Some(end) = self.next_end() {
            now = now.max(end);
            self.advance(now);
        }
        now
    }

    fn first_to_end(&self) -> Option<usize> {
        let by_end = |&at: &usize| self.jobs[at].ends;
        (0..self.jobs.len()).min_by_key(by_end)
    }

    fn context(&self, now: u64) -> PickContext<'_> {
        PickContext {
            version: &self.version,
            options: &self.options,
            running: &self.running,
            oldest_snapshot: self.seqno,
            now: BEGINNING + now / 1_000_000,
            full_history_ts_low: None,
            facts: &NoFacts,
        }
    }

    fn start_due(&mut self, now: u64) {
        if self.options.disable_auto_compactions {
            return;
        }
        while self.jobs.len() < self.machine.compactions_at_once.max(1) {
            let context = self.context(now);
            let Some(plan) = pick(&context) else { return };
            let circumstances = Circumstances::of(&context);
            let reads_and_writes = match plan.trivial_move || plan.deletion {
                true => 0,
                false => plan.input_bytes() * 2,
            };
            let speed = self.machine.compaction_bytes_per_second.max(1);
            let takes = u128::from(reads_and_writes) * 1_000_000 / u128::from(speed);
            let id = self.running.start(&plan);
            self.jobs.push(Job {
                id,
                plan,
                circumstances,
                ends: now + takes as u64,
            });
            if takes == 0 {
                self.finish(self.jobs.len() - 1);
            }
        }
    }

    /// Installs the outputs of a compaction.
    fn finish(&mut self, at: usize) {
        let Job {
            id,
            plan,
            circumstances,
            ..
        } = self.jobs.swap_remove(at);
        let mut edit = VersionEdit::default();
        let leaves = |level: usize| !plan.trivial_move || level != plan.output_level;
        for (level, file) in plan.files().filter(|(level, _)| leaves(*level)) {
            edit.deleted_files.insert((level as u32, file.number));
        }
        let outputs = if plan.deletion {
            Vec::new()
        } else if plan.trivial_move {
            plan.moved_files().map(|(_, file)| Arc::clone(file)).collect()
        } else {
            self.traffic.compactions += 1;
            self.traffic.compaction_read += plan.input_bytes();
            let outputs = self.merge(&plan);
            self.traffic.compaction_written += outputs.iter().map(|file| file.size).sum::<u64>();
            outputs
        };
        let numbers: Vec<u64> = outputs.iter().map(|file| file.number).collect();
        let level = plan.output_level as u32;
        edit.new_files
            .extend(outputs.into_iter().map(|file| (level, file)));
        self.apply(&edit);
        self.running.finish(id);
        self.running
            .record_rewritten(&plan, &circumstances, &numbers, &self.version);
    }

    /// Returns the output tables of the compaction `plan`: its rows without overwritten versions, divided
    /// into files as the engine divides them.
    fn merge(&mut self, plan: &Plan) -> Vec<Arc<FileMetadata>> {
        let rows = plan.files().flat_map(|(_, file)| &self.contents[&file.number]);
        let mut rows = newest(rows.copied().collect());
        let mut beyond = plan.beyond();
        rows.retain(|row| !row.is_deletion() || beyond.may_contain(self.workload.keys.bytes(row.key)));
        if plan.bottommost {
            rows.iter_mut().for_each(|row| row.seqno = 0);
        }
        let epochs = plan.files().filter_map(|(_, file)| file.epoch_number);
        let epoch = epochs.min().unwrap_or(1);
        let mut splitter = OutputSplitter::new(plan.comparator().clone(), plan.split_limits(Arc::default()));
        let mut outputs = Vec::new();
        let (mut open, mut raw_bytes): (Vec<Row>, u64) = (Vec::new(), 0);
        for row in rows {
            let key = internal_key::encode(self.workload.keys.bytes(row.key), row.seqno, Kind::Value);
            let size = (!open.is_empty()).then(|| self.table_bytes(raw_bytes));
            if splitter.should_stop_before(&key, size, true) {
                let size = self.table_bytes(raw_bytes);
                outputs.push(self.table(std::mem::take(&mut open), size, epoch));
                raw_bytes = 0;
            }
            raw_bytes += self.raw_bytes(&row);
            open.push(row);
        }
        if !open.is_empty() {
            let size = self.table_bytes(raw_bytes);
            outputs.push(self.table(open, size, epoch));
        }
        outputs
    }

    /// Whether writes may proceed.
    pub(crate) fn stall(&self, buffers: WriteBufferLimits) -> StallCondition {
        let inputs = StallInputs {
            unflushed_memtables: 0,
            l0_files: self.options.files_that_stall(&self.version),
            pending_compaction_bytes: Scores::new(&self.version, &self.options).pending_compaction_bytes,
        };
        condition(inputs, &self.options, buffers)
    }

    /// The tables whose key range includes `key`, the newest first, each with its level and whether it has
    /// the key.
    pub(crate) fn tables_of(&self, key: u32) -> impl Iterator<Item = (usize, bool)> + '_ {
        let has = move |file: &Arc<FileMetadata>| {
            let rows = &self.contents[&file.number];
            let (first, last) = (rows.first()?, rows.last()?);
            let holds = first.key <= key && key <= last.key;
            holds.then(|| rows.binary_search_by_key(&key, |row| row.key).is_ok())
        };
        let level_0 = self
            .version
            .files(0)
            .iter()
            .filter_map(move |file| Some((0, has(file)?)));
        let below = (1..self.version.num_levels()).filter_map(move |level| {
            let files = self.version.files(level);
            let at = files.partition_point(|file| {
                self.contents[&file.number]
                    .last()
                    .is_some_and(|row| row.key < key)
            });
            Some((level, has(files.get(at)?)?))
        });
        level_0.chain(below)
    }

    /// The number of sorted runs with a row at or after `key`.
    pub(crate) fn runs_from(&self, key: u32) -> u64 {
        let reaches = |file: &Arc<FileMetadata>| {
            let last = self.contents[&file.number].last();
            last.is_some_and(|row| row.key >= key)
        };
        let level_0 = self.version.files(0).iter().filter(|file| reaches(file)).count();
        let below = (1..self.version.num_levels())
            .filter(|&level| self.version.files(level).last().is_some_and(reaches))
            .count();
        (level_0 + below) as u64
    }

    /// Bytes of all tables, and of the outputs of running compactions, estimated by the size of their inputs.
    pub(crate) fn bytes_in_use(&self) -> u64 {
        let outputs = self.jobs.iter().map(|job| job.plan.input_bytes());
        self.version.total_bytes() + outputs.sum::<u64>()
    }

    /// The lowest level with a table.
    pub(crate) fn last_level(&self) -> usize {
        self.version.num_non_empty_levels().saturating_sub(1)
    }
}
