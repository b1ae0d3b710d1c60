//! Random trees: files are flushed, several compactions run at once and end in any order, key ranges are
//! compacted by hand. Every read must find the newest version, the builder must accept every version, and in
//! the end no level is too large.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use base::{InternalComparator, Kind, SeqNo, UserComparator, internal_key};
use esker_compact::{
    BottommostLevelCompaction, CompactRangeOptions, CompactionOptionsUniversal, CompactionPri,
    CompactionStopStyle, JobId, LeveledOptions, NoFacts, PickContext, Plan, RangeCompaction, RangeStep,
    Running, Scores, Style, pick,
};
use manifest::{FileMetadata, Version, VersionBuilder, VersionEdit};
use testkit::{TestRng, rng};

/// A version of a key: its sequence number, and whether it is a deletion.
type Write = (SeqNo, bool);

struct Tree {
    options: LeveledOptions,
    version: Version,
    running: Running,
    /// The running jobs and their plans.
    jobs: Vec<(JobId, Plan)>,
    /// The contents of the files, by number.
    contents: HashMap<u64, BTreeMap<u8, Write>>,
    /// The newest version of each key.
    newest: BTreeMap<u8, Write>,
    seqno: SeqNo,
    next_file: u64,
    next_epoch: u64,
}

const ENTRY_BYTES: u64 = 10;

fn universal(rng: &mut TestRng) -> CompactionOptionsUniversal {
    CompactionOptionsUniversal {
        size_ratio: rng.u32(..100),
        min_merge_width: rng.u32(..4),
        max_merge_width: if rng.bool() { u32::MAX } else { rng.u32(2..5) },
        max_size_amplification_percent: rng.u32(..300),
        max_read_amp: *rng.pick(&[-1, 0, 4, 8]),
        stop_style: *rng.pick(&[CompactionStopStyle::SimilarSize, CompactionStopStyle::TotalSize]),
        allow_trivial_move: rng.bool(),
        ..CompactionOptionsUniversal::default()
    }
}

impl Tree {
    fn new(rng: &mut TestRng) -> Tree {
        let target_file_size_base = rng.u64(2..10) * ENTRY_BYTES;
        let style = match rng.bool() {
            true => Style::Level,
            false => Style::Universal(universal(rng)),
        };
        let options = LeveledOptions {
            num_levels: match style {
                Style::Level => rng.usize(2..8),
                _ => rng.usize(1..8),
            },
            write_buffer_size: rng.u64(1..10) * ENTRY_BYTES,
            level0_file_num_compaction_trigger: rng.usize(1..5),
            max_bytes_for_level_base: rng.u64(5..30) * ENTRY_BYTES,
            max_bytes_for_level_multiplier: rng.u32(2..5).into(),
            level_compaction_dynamic_level_bytes: rng.bool(),
            target_file_size_base,
            max_compaction_bytes: if rng.bool() {
                0
            } else {
                target_file_size_base * rng.u64(2..20)
            },
            compaction_pri: *rng.pick(&CompactionPri::ALL),
            ttl: if rng.one_in(3) { 100 } else { 0 },
            style,
            ..LeveledOptions::default()
        };
        Tree {
            version: Version::empty(
                InternalComparator::new(UserComparator::Bytewise),
                options.num_levels,
            ),
            options,
            running: Running::new(),
            jobs: Vec::new(),
            contents: HashMap::new(),
            newest: BTreeMap::new(),
            seqno: 0,
            next_file: 1,
            next_epoch: 1,
        }
    }

    fn context(&self) -> PickContext<'_> {
        PickContext {
            version: &self.version,
            options: &self.options,
            running: &self.running,
            oldest_snapshot: self.seqno,
            now: self.seqno,
            full_history_ts_low: None,
            facts: &NoFacts,
        }
    }

    fn file(
        &mut self,
        entries: BTreeMap<u8, Write>,
        epoch: u64,
        oldest: u64,
        zeroed: bool,
    ) -> Arc<FileMetadata> {
        let (&first, first_write) = entries.first_key_value().expect("a file has entries");
        let (&last, last_write) = entries.last_key_value().expect("a file has entries");
        let key = |key: u8, write: &Write| internal_key::encode(&[key], write.0, Kind::Value).into();
        let seqnos = || entries.values().map(|write| if zeroed { 0 } else { write.0 });
        let file = FileMetadata {
            number: self.next_file,
            size: entries.len() as u64 * ENTRY_BYTES,
            smallest: key(first, first_write),
            largest: key(last, last_write),
            smallest_seqno: seqnos().min().unwrap_or(0),
            largest_seqno: seqnos().max().unwrap_or(0),
            epoch_number: Some(epoch),
            oldest_ancestor_time: oldest,
            ..FileMetadata::default()
        };
        self.next_file += 1;
        self.contents.insert(file.number, entries);
        Arc::new(file)
    }

    fn flush(&mut self, rng: &mut TestRng) {
        let mut entries = BTreeMap::new();
        // The ranges are narrow or wide, and some are far from all others.
        let (start, width) = (
            rng.u8(..),
            if rng.bool() { rng.u8(1..=5) } else { rng.u8(1..=60) },
        );
        for _ in 0..rng.usize(1..12) {
            self.seqno += 1;
            let write = (self.seqno, rng.one_in(3));
            let key = start.wrapping_add(rng.u8(..width));
            entries.insert(key, write);
            self.newest.insert(key, write);
        }
        let epoch = self.next_epoch;
        self.next_epoch += 1;
        let file = self.file(entries, epoch, self.seqno, false);
        let mut edit = VersionEdit::default();
        edit.new_files.push((0, file));
        self.apply(&edit);
    }

    fn apply(&mut self, edit: &VersionEdit) {
        let mut builder = VersionBuilder::new(&self.version);
        let built = builder.apply(edit).and_then(|()| builder.build());
        self.version = built.unwrap_or_else(|error| panic!("{error}\n{:?}\n{edit:?}", self.version));
        self.check();
    }

    /// Every read finds the newest version of its key.
    fn check(&self) {
        for key in 0..=u8::MAX {
            let found = self.version.all_files().find_map(|(_, file)| {
                let user_key = [key];
                let overlaps = file.overlaps(&UserComparator::Bytewise, Some(&user_key), Some(&user_key));
                if overlaps {
                    self.contents[&file.number].get(&key)
                } else {
                    None
                }
            });
            let found = found.filter(|write| !write.1);
            let expected = self.newest.get(&key).filter(|write| !write.1);
            assert_eq!(found, expected, "key {key} in\n{:?}", self.version);
        }
    }

    fn start(&mut self, plan: Plan) -> JobId {
        assert!(plan.files().all(|(_, file)| !file.is_being_compacted()), "{plan}");
        let id = self.running.start(&plan);
        self.jobs.push((id, plan));
        id
    }

    /// Executes the plan and installs its result.
    fn finish(&mut self, at: usize, rng: &mut TestRng) {
        let (id, plan) = self.jobs.swap_remove(at);
        let mut edit = VersionEdit::default();
        let files: Vec<_> = plan
            .files()
            .map(|(level, file)| (level, Arc::clone(file)))
            .collect();
        for (level, file) in &files {
            if !plan.trivial_move || *level != plan.output_level {
                edit.deleted_files.insert((*level as u32, file.number));
            }
        }
        if plan.trivial_move {
            for (_, file) in plan.moved_files() {
                edit.new_files.push((plan.output_level as u32, Arc::clone(file)));
            }
        } else if rng.one_in(20) {
            // The job failed: nothing changes.
            self.running.finish(id);
            return;
        } else {
            let mut merged: BTreeMap<u8, Write> = BTreeMap::new();
            for (_, file) in &files {
                for (&key, &write) in &self.contents[&file.number] {
                    let newest = merged.entry(key).or_insert(write);
                    *newest = write.max(*newest);
                }
            }
            let mut beyond = plan.beyond();
            merged.retain(|&key, write| !write.1 || beyond.may_contain(&[key]));
            let epoch = files
                .iter()
                .filter_map(|(_, file)| file.epoch_number)
                .min()
                .unwrap_or(1);
            let oldest = files
                .iter()
                .map(|(_, file)| file.oldest_ancestor_time)
                .min()
                .unwrap_or(0);
            let mut merged: Vec<_> = merged.into_iter().collect();
            while !merged.is_empty() {
                let len = match plan.output_level {
                    0 => merged.len(),
                    _ => ((plan.target_file_size / ENTRY_BYTES).max(1) as usize).min(merged.len()),
                };
                let entries = merged.drain(..len).collect();
                let file = self.file(entries, epoch, oldest, plan.bottommost);
                edit.new_files.push((plan.output_level as u32, file));
            }
        }
        self.apply(&edit);
        self.running.finish(id);
    }

    /// Runs a manual compaction to its end, with other jobs in between.
    fn compact_range(&mut self, rng: &mut TestRng) {
        let mut bounds = [rng.u8(..), rng.u8(..)];
        bounds.sort_unstable();
        let [begin, end] = bounds;
        let options = CompactRangeOptions {
            change_level: rng.one_in(4),
            target_level: None,
            bottommost_level_compaction: *rng.pick(&[
                BottommostLevelCompaction::Skip,
                BottommostLevelCompaction::IfHaveCompactionFilter,
                BottommostLevelCompaction::Force,
                BottommostLevelCompaction::ForceOptimized,
            ]),
            ..CompactRangeOptions::default()
        };
        let begin = (!rng.one_in(3)).then_some([begin]);
        let end = (!rng.one_in(3)).then_some([end]);
        let mut compaction = RangeCompaction::new(
            options,
            begin.as_ref().map(|key| &key[..]),
            end.as_ref().map(|key| &key[..]),
            rng.one_in(4),
            self.next_file,
        );
        for _ in 0..10_000 {
            match compaction.step(&self.context()) {
                Ok(RangeStep::Compact(plan)) => {
                    let id = self.start(*plan);
                    // Other jobs begin and end while the manual compaction runs.
                    for _ in 0..rng.usize(..12) {
                        if rng.bool() {
                            self.flush(rng);
                        }
                        if let Some(plan) = pick(&self.context()) {
                            self.start(plan);
                        }
                        let at = rng.usize(..self.jobs.len());
                        if self.jobs[at].0 != id {
                            self.finish(at, rng);
                        }
                    }
                    let at = self.jobs.iter().position(|job| job.0 == id).expect("it runs");
                    self.finish(at, rng);
                }
                Ok(RangeStep::Wait) => {
                    assert!(!self.jobs.is_empty(), "no job to wait for");
                    let at = rng.usize(..self.jobs.len());
                    self.finish(at, rng);
                }
                Ok(RangeStep::Done) => return,
                // The levels between have files: the move is refused.
                Err(error) => return assert!(!error.is_corruption(), "{error}"),
            }
            if rng.one_in(10) {
                self.flush(rng);
            }
        }
        panic!("a manual compaction has no end:\n{:?}", self.version);
    }
}

#[test]
fn reads_stay_right_and_levels_small() {
    let mut rng = rng();
    for _ in 0..60 {
        let mut tree = Tree::new(&mut rng);
        for _ in 0..rng.usize(20..150) {
            match rng.u32(..12) {
                0..5 => tree.flush(&mut rng),
                5..8 => {
                    if tree.jobs.len() < 4
                        && let Some(plan) = pick(&tree.context())
                    {
                        tree.start(plan);
                    }
                }
                8..11 => {
                    if !tree.jobs.is_empty() {
                        let at = rng.usize(..tree.jobs.len());
                        tree.finish(at, &mut rng);
                    }
                }
                _ => {
                    if rng.bool() {
                        tree.compact_range(&mut rng);
                    }
                }
            }
        }
        while !tree.jobs.is_empty() {
            tree.finish(0, &mut rng);
        }
        let mut steps = 0;
        while let Some(plan) = pick(&tree.context()) {
            steps += 1;
            assert!(
                steps < 3000,
                "compactions have no end: {plan}\n{:?}",
                tree.version
            );
            tree.start(plan);
            tree.finish(0, &mut rng);
        }
        let scores = Scores::new(&tree.version, &tree.options);
        let universal = matches!(tree.options.style, Style::Universal(_));
        assert!(
            universal || !scores.needs_compaction(),
            "{scores:?}\n{:?}",
            tree.version
        );
    }
}
