//! The replay of a workload.

use std::collections::HashMap;

use compact::StallCondition;
use compact::stall::WriteBufferLimits;
use esker::{ColumnFamilyOptions, FilterPolicy};

use crate::machine::Machine;
use crate::prediction::Prediction;
use crate::rows::{DELETION, Row};
use crate::tree::Tree;
use crate::workload::{Action, Operation, Workload};

/// The rate of delayed writes in bytes per second: RocksDB's default of `delayed_write_rate`.
const DELAYED_BYTES_PER_SECOND: u64 = 16 << 20;

/// Replays `workload` under `options`.
///
/// Times are those of the workload: compactions take the time that follows from `machine`; where the options
/// stop writes, the next write waits, and all later operations are delayed by as much. Merge operands, wide
/// columns and rows of other kinds count as values; blob files, subcompactions and compaction filters are not
/// modelled.
///
/// Cost: for each operation a search in each level; for each compaction a sort of its rows.
pub fn predict(workload: &Workload, options: &ColumnFamilyOptions, machine: &Machine) -> Prediction {
    let mut replay = Replay {
        tree: Tree::new(workload, options.leveled(), machine),
        memtable: HashMap::new(),
        memtable_bytes: 0,
        buffers: WriteBufferLimits {
            max_write_buffer_number: options.max_write_buffer_number as usize,
            min_write_buffer_number_to_merge: options.min_write_buffer_number_to_merge as usize,
        },
        full_bytes: options.write_buffer_size * options.min_write_buffer_number_to_merge.max(1) as u64,
        false_positives: false_positives(&options.table.filter_policy),
        filters_at_the_bottom: !options.optimize_filters_for_hits,
        workload,
        machine,
        prediction: Prediction::default(),
    };
    replay.tree.advance(0);
    replay.watch_space();
    for operation in &workload.operations {
        replay.run(operation);
    }
    replay.finish()
}

/// The share of absent keys that a filter lets through; 1 without a filter.
fn false_positives(policy: &FilterPolicy) -> f64 {
    let bits = match policy {
        FilterPolicy::None => 0.0,
        FilterPolicy::Bloom(bits) => *bits,
        FilterPolicy::Ribbon { bits_per_key, .. } => *bits_per_key,
    };
    // The formula assumes a Bloom filter with the best number of probes.
    0.618_503_137_8_f64.powf(bits)
}

struct Replay<'a> {
    tree: Tree<'a>,
    memtable: HashMap<u32, Row>,
    /// Bytes of the memtable, each version of a key counted.
    memtable_bytes: u64,
    /// Bytes at which the memtables are flushed.
    full_bytes: u64,
    buffers: WriteBufferLimits,
    false_positives: f64,
    filters_at_the_bottom: bool,
    workload: &'a Workload,
    machine: &'a Machine,
    prediction: Prediction,
}

impl Replay<'_> {
    fn run(&mut self, operation: &Operation) {
        self.prediction.micros = operation.at;
        let now = self.now();
        self.tree.advance(now);
        match operation.action {
            Action::Put(value) => self.write(operation.key, value),
            Action::Delete => self.write(operation.key, DELETION),
            Action::Get => self.get(operation.key),
            Action::Seek => {
                self.prediction.seeks += 1;
                self.prediction.runs_sought += self.tree.runs_from(operation.key);
            }
        }
    }

    /// Microseconds since the beginning, stalls included.
    fn now(&self) -> u64 {
        self.prediction.micros + self.prediction.stalled_micros
    }

    fn write(&mut self, key: u32, value: u32) {
        self.tree.seqno += 1;
        let row = Row {
            seqno: self.tree.seqno,
            key,
            value,
        };
        let bytes = self.workload.keys.bytes(key).len() as u64 + row.value_bytes();
        self.memtable.insert(key, row);
        self.prediction.user_bytes += bytes * self.workload.weight;
        self.memtable_bytes += (bytes + self.machine.memtable_bytes_per_row) * self.workload.weight;
        if self.memtable_bytes >= self.full_bytes {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let mut rows: Vec<Row> = self.memtable.drain().map(|(_, row)| row).collect();
        if rows.is_empty() {
            return;
        }
        rows.sort_unstable_by_key(|row| row.key);
        let bytes = std::mem::take(&mut self.memtable_bytes);
        self.tree.flush(rows);
        let now = self.now();
        self.tree.advance(now);
        self.watch_space();
        self.wait_for_room(bytes);
    }

    /// Advances the time while the options stop writes, and by the delay of writing the next memtable while
    /// they delay them.
    fn wait_for_room(&mut self, bytes: u64) {
        loop {
            match self.tree.stall(self.buffers) {
                StallCondition::Normal => return,
                StallCondition::Delayed { .. } => {
                    let takes = bytes * 1_000_000 / DELAYED_BYTES_PER_SECOND;
                    self.prediction.stalled_micros += takes;
                    let now = self.now();
                    return self.tree.advance(now);
                }
                StallCondition::Stopped { .. } => {
                    let Some(end) = self.tree.next_end() else { return };
                    self.prediction.stalled_micros += end.saturating_sub(self.now());
                    self.tree.advance(end);
                    self.watch_space();
                }
            }
        }
    }

    /// Records the space that is taken now.
    fn watch_space(&mut self) {
        let bytes = self.tree.bytes_in_use();
        self.prediction.peak_table_bytes = self.prediction.peak_table_bytes.max(bytes);
    }

    fn get(&mut self, key: u32) {
        self.prediction.gets += 1;
        if self.memtable.contains_key(&key) {
            return;
        }
        let last_level = self.tree.last_level();
        for (level, found) in self.tree.tables_of(key) {
            self.prediction.tables_asked += 1;
            if found {
                self.prediction.blocks_read += 1.0;
                return;
            }
            let has_filter = self.filters_at_the_bottom || level < last_level;
            self.prediction.blocks_read += if has_filter { self.false_positives } else { 1.0 };
        }
    }

    fn finish(mut self) -> Prediction {
        let now = self.now();
        self.flush();
        self.tree.come_to_rest(now);
        let traffic = self.tree.traffic;
        let counted = self.prediction;
        let weight = self.workload.weight;
        Prediction {
            flushed_bytes: traffic.flushed,
            compaction_read_bytes: traffic.compaction_read,
            compaction_written_bytes: traffic.compaction_written,
            compactions: traffic.compactions,
            live_bytes: self.tree.live_bytes(),
            table_bytes: self.tree.version.total_bytes(),
            gets: counted.gets * weight,
            tables_asked: counted.tables_asked * weight,
            blocks_read: counted.blocks_read * weight as f64,
            seeks: counted.seeks * weight,
            runs_sought: counted.runs_sought * weight,
            ..counted
        }
    }
}
