//! FIFO compaction: drops the oldest files, unread, when their data is too old or there is too much data. All
//! files are in L0; files that an earlier style left in other levels are dropped first.

use std::sync::Arc;

use manifest::FileMetadata;

use super::context::PickContext;
use super::inputs::{cheap_level0, keys_are_reserved, total_bytes};
use crate::due::is_past_ttl;
use crate::options::multiply;
use crate::plan::{CompactionReason, LevelFiles, Parts, Plan};
use crate::score::fifo_bytes;
use crate::styles::CompactionOptionsFifo;

/// The files to drop; or one to rewrite for its temperature; or, with `allow_compaction`, files to merge.
/// `None` if there are none. Only one such plan runs at a time, because dropping is quick.
pub fn pick_fifo(context: &PickContext<'_>, options: &CompactionOptionsFifo) -> Option<Plan> {
    if context.running.is_exclusive() || context.running.level0_busy() {
        return None;
    }
    let picker = Picker { context, options };
    picker
        .pick_ttl()
        .or_else(|| picker.pick_size())
        .or_else(|| picker.pick_temperature())
        .or_else(|| picker.pick_merge())
}

struct Picker<'a> {
    context: &'a PickContext<'a>,
    options: &'a CompactionOptionsFifo,
}

impl Picker<'_> {
    /// The files of L0, from the oldest on, whose data is older than `ttl`, if the rest is small enough then.
    /// Otherwise `pick_size` drops more.
    fn pick_ttl(&self) -> Option<Plan> {
        let context = self.context;
        let old = context.version.files(0).iter().rev();
        let old = old.take_while(|file| is_past_ttl(file, context.options, context.now));
        let dropped: Vec<_> = old.cloned().collect();
        if dropped.is_empty() {
            return None;
        }
        let (limit, with_blobs) = self.options.limit();
        let bytes = total_bytes(&dropped);
        let left = match with_blobs {
            // Blobs are dropped with the tables that refer to them: each table counts with its share.
            true => {
                let tables = context.version.total_bytes().max(1);
                let all = fifo_bytes(context.version, true) as f64;
                (all * tables.saturating_sub(bytes) as f64 / tables as f64) as u64
            }
            false => total_bytes(context.version.files(0)).saturating_sub(bytes),
        };
        (left <= limit).then(|| self.drop_files(0, dropped, CompactionReason::FIFOTtl))
    }

    /// The oldest files, until the rest is small enough. In levels below L0 the age of files is unknown: the
    /// smallest keys are dropped first.
    fn pick_size(&self) -> Option<Plan> {
        let version = self.context.version;
        let (limit, with_blobs) = self.options.limit();
        let mut bytes = fifo_bytes(version, with_blobs);
        let level = version.num_non_empty_levels().checked_sub(1)?;
        if bytes <= limit {
            return None;
        }
        let files = version.files(level);
        let share = (bytes / files.len() as u64).max(1);
        let by_age: Vec<_> = match level {
            0 => files.iter().rev().collect(),
            _ => files.iter().filter(|file| !file.is_being_compacted()).collect(),
        };
        let mut dropped = Vec::new();
        for file in by_age {
            if bytes <= limit {
                break;
            }
            bytes = bytes.saturating_sub(if with_blobs { share } else { file.size });
            dropped.push(Arc::clone(file));
        }
        (!dropped.is_empty()).then(|| self.drop_files(level, dropped, CompactionReason::FIFOMaxSize))
    }

    /// The oldest file whose age requires another temperature. Its rewritten file keeps its place and its
    /// age.
    fn pick_temperature(&self) -> Option<Plan> {
        let (version, now) = (self.context.version, self.context.now);
        if version.num_non_empty_levels() > 1 {
            return None;
        }
        let mut idle = version.files(0).iter().rev().filter(|file| file.is_idle());
        let (file, temperature) = idle.find_map(|file| {
            let due = self.options.temperature_due(file, now)?;
            (due != file.temperature).then_some((file, due))
        })?;
        let mut plan = self.plan(0, vec![file.clone()], CompactionReason::ChangeTemperature);
        plan.output_temperature = Some(temperature);
        plan.keep_for_what_comes_below();
        Some(plan)
    }

    /// Small files of L0 to merge. The result must stay small, or it would never be dropped for its age.
    fn pick_merge(&self) -> Option<Plan> {
        let options = self.context.options;
        let files = self.context.version.files(0);
        if !self.options.allow_compaction {
            return None;
        }
        let (end, bytes_per_file) = cheap_level0(files, options.max_compaction_bytes())?;
        let small = bytes_per_file < multiply(options.write_buffer_size, 1.1);
        let enough = end >= options.level0_file_num_compaction_trigger.max(2);
        let plan = (small && enough)
            .then(|| self.plan(0, files[..end].to_vec(), CompactionReason::FIFOReduceNumFiles));
        plan.filter(|plan| !keys_are_reserved(self.context, &plan.inputs))
    }

    fn drop_files(&self, level: usize, mut files: Vec<Arc<FileMetadata>>, reason: CompactionReason) -> Plan {
        if level == 0 {
            // The files are in the order of L0: the newest first.
            files.reverse();
        }
        let mut plan = self.plan(level, files, reason);
        plan.deletion = true;
        plan
    }

    fn plan(&self, level: usize, files: Vec<Arc<FileMetadata>>, reason: CompactionReason) -> Plan {
        Plan::new(Parts {
            version: self.context.version,
            inputs: vec![LevelFiles { level, files }],
            output_level: level,
            grandparents: Vec::new(),
            trivial_move: false,
            target_file_size: u64::MAX,
            max_compaction_bytes: u64::MAX,
            reason,
            score: 0.0,
        })
    }
}
