//! Random histories, compacted in random ways: no reader may see a difference.
//!
//! A history is divided by time into the entries below, the entries to compact and the entries above. The
//! view of every key in every snapshot, computed in the simplest way, must be the same before and after, and
//! again after the output has been compacted together with the entries below it.

use std::cmp::Ordering;
use std::sync::Arc;

use base::internal_key::{self, TRAILER_LEN};
use base::merge::MergeOperator;
use base::{InternalComparator, Kind, MAX_SEQNO, SeqNo, UserComparator};
use esker_compact::{
    BeyondOutput, CompactionCursor, CompactionRules, CompactionTombstones, KeyRange, OutputRange,
    OutputSplitter, SplitLimits, write_outputs,
};
use manifest::FileMetadata;
use rangedel::{FragmentedTombstones, RangeTombstone};
use testkit::model::{Model, Op};
use testkit::{TestRng, VecCursor, rng};

use crate::text::{Collector, Keys, OutputFile, check_files};

/// The entries of one or several levels: points in any order, tombstones as they are read.
#[derive(Clone, Debug, Default)]
struct LevelEntries {
    points: Vec<(Vec<u8>, Vec<u8>)>,
    tombstones: Vec<RangeTombstone>,
}

impl LevelEntries {
    fn print(&self, keys: Keys) -> String {
        let points = self.points.iter().map(|(key, value)| keys.entry(key, value));
        let ranges = self.tombstones.iter().map(|tombstone| keys.tombstone(tombstone));
        points.chain(ranges).collect::<Vec<_>>().join("\n")
    }

    fn of_files(files: &[OutputFile], cmp: &UserComparator) -> LevelEntries {
        let mut run = LevelEntries::default();
        for file in files {
            run.points.extend(file.points.iter().cloned());
            run.tombstones.extend(file_tombstones(file, cmp).tombstones());
        }
        run
    }
}

/// A file's tombstones as the engine reads them: truncated to the file's bounds.
fn file_tombstones(file: &OutputFile, cmp: &UserComparator) -> FragmentedTombstones {
    FragmentedTombstones::build(file.tombstones.iter().cloned(), cmp).truncate(
        cmp,
        &file.bounds.smallest,
        &file.bounds.largest,
    )
}

/// The value that a reader at `seqno`, and at `timestamp` if there are timestamps, finds for `key` (without
/// timestamp).
fn view(
    runs: &[&LevelEntries],
    cmp: &UserComparator,
    operator: &dyn MergeOperator,
    key: &[u8],
    seqno: SeqNo,
    timestamp: u64,
) -> Option<Vec<u8>> {
    let stamps = cmp.timestamp_size() > 0;
    let stamp = |user_key: &[u8]| match stamps {
        true => u64::from_le_bytes(cmp.timestamp(user_key).try_into().unwrap()),
        false => 0,
    };
    let tombstones: Vec<(u64, SeqNo)> = runs
        .iter()
        .flat_map(|run| &run.tombstones)
        .filter(|tombstone| {
            let bare = |key| cmp.strip_timestamp(key);
            tombstone.seqno <= seqno
                && stamp(&tombstone.start) <= timestamp
                && bare(&tombstone.start[..]) <= key
                && key < bare(&tombstone.end[..])
        })
        .map(|tombstone| (stamp(&tombstone.start), tombstone.seqno))
        .collect();
    let mut versions: Vec<(u64, SeqNo, Kind, &[u8])> = runs
        .iter()
        .flat_map(|run| &run.points)
        .filter_map(|(internal, value)| {
            let user_key = internal_key::user_key(internal);
            let kind = Kind::from_byte(internal_key::kind_byte(internal))?;
            (cmp.strip_timestamp(user_key) == key)
                .then(|| (stamp(user_key), internal_key::seqno(internal), kind, &value[..]))
        })
        .filter(|version| version.1 <= seqno && version.0 <= timestamp)
        .collect();
    versions.sort_by_key(|version| std::cmp::Reverse((version.0, version.1)));

    let mut operands: Vec<&[u8]> = Vec::new();
    let mut base = None;
    for (at, seqno, kind, value) in versions {
        if tombstones
            .iter()
            .any(|&(stamp, covering)| stamp >= at && covering > seqno)
        {
            break;
        }
        match kind {
            Kind::Merge => operands.push(value),
            Kind::Value => {
                base = Some(value);
                break;
            }
            Kind::ValuePreferredSeqno => {
                base = Some(&value[..value.len() - 8]);
                break;
            }
            _ => break,
        }
    }
    if operands.is_empty() {
        return base.map(<[u8]>::to_vec);
    }
    operands.reverse();
    operator.full_merge(key, base, &operands)
}

/// The parameters of a history.
struct Setting {
    cmp: UserComparator,
    operator: Arc<dyn MergeOperator>,
    keys: Vec<Vec<u8>>,
    /// All readers: those of the snapshots and of the newest state, and with timestamps those as of a time
    /// not before `full_history_ts_low`.
    readers: Vec<(SeqNo, u64)>,
    snapshots: Vec<SeqNo>,
    ts_low: Option<u64>,
}

impl Setting {
    fn views(&self, runs: &[&LevelEntries]) -> Vec<(SeqNo, u64, String, Option<Vec<u8>>)> {
        let mut views = Vec::new();
        for key in &self.keys {
            for &(seqno, timestamp) in &self.readers {
                let value = view(runs, &self.cmp, &*self.operator, key, seqno, timestamp);
                views.push((seqno, timestamp, String::from_utf8_lossy(key).into_owned(), value));
            }
        }
        views
    }

    /// The user key of the entry of `key` that operation `seqno` wrote.
    fn stamped(&self, key: &[u8], seqno: SeqNo) -> Vec<u8> {
        let mut user_key = key.to_vec();
        if self.cmp.timestamp_size() > 0 {
            // Timestamps rise more slowly than sequence numbers, so that some versions share a timestamp.
            user_key.extend_from_slice(&(seqno / 2).to_le_bytes());
        }
        user_key
    }
}

/// A history of `len` operations as entries, one sequence number each, and as a model.
fn history(rng: &mut TestRng, setting: &Setting, len: usize) -> (Vec<LevelEntries>, Model) {
    let stamps = setting.cmp.timestamp_size() > 0;
    let mut model = Model::new();
    model.create_family(0, UserComparator::Bytewise, Some(Arc::clone(&setting.operator)));
    let mut runs = vec![LevelEntries::default(); len];
    // The keys that begin with `s` are deleted only by single deletions, each after one put.
    let mut written = vec![false; setting.keys.len()];
    for (run, seqno) in runs.iter_mut().zip(1..) {
        let at = rng.usize(..setting.keys.len());
        let key = setting.keys[at].clone();
        let value = format!("v{seqno}").into_bytes();
        let kind_of_op = rng.u32(..20);
        let op = if key.starts_with(b"s") {
            written[at] = !written[at];
            match written[at] {
                true => Op::Put(key, value),
                false => Op::SingleDelete(key),
            }
        } else {
            match kind_of_op {
                0..8 => Op::Put(key, value),
                8..12 => Op::Delete(key),
                12..17 => Op::Merge(key, value),
                _ => {
                    let other = rng.pick(&setting.keys).clone();
                    let (start, end) = if key < other { (key, other) } else { (other, key) };
                    // Single deletions and range deletions must not be mixed for one key.
                    let end = if end.starts_with(b"s") { b"n".to_vec() } else { end };
                    Op::DeleteRange(start, end)
                }
            }
        };
        let entry = |key: &[u8], kind| internal_key::encode(&setting.stamped(key, seqno), seqno, kind);
        match &op {
            Op::Put(key, value) if rng.one_in(4) => {
                let preferred = rng.u64(..seqno);
                let packed = [&value[..], &preferred.to_le_bytes()].concat();
                run.points.push((entry(key, Kind::ValuePreferredSeqno), packed));
            }
            Op::Put(key, value) => run.points.push((entry(key, Kind::Value), value.clone())),
            Op::Delete(key) => {
                let kind = if stamps {
                    Kind::DeletionWithTimestamp
                } else {
                    Kind::Deletion
                };
                run.points.push((entry(key, kind), Vec::new()));
            }
            Op::SingleDelete(key) => run.points.push((entry(key, Kind::SingleDeletion), Vec::new())),
            Op::Merge(key, value) => run.points.push((entry(key, Kind::Merge), value.clone())),
            Op::DeleteRange(start, end) if start < end => run.tombstones.push(RangeTombstone {
                start: setting.stamped(start, seqno),
                end: setting.stamped(end, seqno),
                seqno,
            }),
            Op::DeleteRange(..) => {}
        }
        assert_eq!(model.apply(0, &op), seqno);
    }
    (runs, model)
}

fn concat(runs: &[LevelEntries]) -> LevelEntries {
    let mut all = LevelEntries::default();
    for run in runs {
        all.points.extend(run.points.iter().cloned());
        all.tombstones.extend(run.tombstones.iter().cloned());
    }
    all
}

/// The user keys of a run, without timestamps, as ranges of files.
fn ranges(rng: &mut TestRng, run: &LevelEntries, cmp: &UserComparator) -> Vec<KeyRange> {
    let mut spans: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let bare = |key: &[u8]| cmp.strip_timestamp(key).to_vec();
    for (key, _) in &run.points {
        let key = bare(internal_key::user_key(key));
        spans.push((key.clone(), key));
    }
    for tombstone in &run.tombstones {
        spans.push((bare(&tombstone.start), bare(&tombstone.end)));
    }
    spans.sort();
    let mut files: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for (start, end) in spans {
        match files.last_mut() {
            // Files do not overlap; now and then one is larger than necessary.
            Some(last) if last.1 >= start || rng.one_in(3) => last.1 = end.max(last.1.clone()),
            _ => files.push((start, end)),
        }
    }
    let range = |(smallest, largest): (Vec<u8>, Vec<u8>)| KeyRange {
        smallest: smallest.into(),
        largest: largest.into(),
    };
    files.into_iter().map(range).collect()
}

/// Random limits on the size of files, and grandparents at random places.
fn splitter(rng: &mut TestRng, cmp: &UserComparator, keys: &[Vec<u8>]) -> OutputSplitter {
    if rng.one_in(4) {
        return OutputSplitter::never(cmp.clone());
    }
    let mut grandparents = Vec::new();
    let mut from = 0;
    while from < keys.len() && !rng.one_in(4) {
        let to = rng.usize(from..keys.len());
        let stamp = vec![0; cmp.timestamp_size()];
        let bound = |key: &[u8]| [key, &stamp].concat();
        grandparents.push(Arc::new(FileMetadata {
            size: rng.u64(1..50),
            smallest: internal_key::encode(&bound(&keys[from]), 1, Kind::Value).into(),
            largest: internal_key::encode(&bound(&keys[to]), 1, Kind::Value).into(),
            ..FileMetadata::default()
        }));
        from = to + 1;
    }
    let target_file_size = rng.u64(1..60);
    let limits = SplitLimits {
        borders: Default::default(),
        output_level: 1,
        grandparents,
        target_file_size,
        max_output_file_size: target_file_size * 2,
        max_compaction_bytes: rng.u64(1..200),
    };
    OutputSplitter::new(cmp.clone(), limits)
}

/// Compacts `inputs` in one or two parts.
fn compact(
    rng: &mut TestRng,
    setting: &Setting,
    points: &[(Vec<u8>, Vec<u8>)],
    tombstones: &[FragmentedTombstones],
    bottommost: bool,
    beyond: &BeyondOutput,
) -> Vec<OutputFile> {
    let cmp = &setting.cmp;
    let split_at = rng.one_in(3).then(|| rng.pick(&setting.keys).clone());
    let parts = match &split_at {
        None => vec![OutputRange::default()],
        Some(key) => vec![
            OutputRange {
                start: None,
                end: Some(key),
            },
            OutputRange {
                start: Some(key),
                end: None,
            },
        ],
    };
    let mut sink = Collector::new(3);
    let conflict_snapshot = match rng.one_in(2) {
        true => setting.snapshots.iter().min().copied().unwrap_or(MAX_SEQNO),
        false => MAX_SEQNO,
    };
    let mut read = 0;
    let merges = !rng.one_in(4);
    for range in parts {
        let mut rules = CompactionRules::new(cmp.clone());
        rules.snapshots = setting.snapshots.clone();
        rules.earliest_write_conflict_snapshot = conflict_snapshot;
        rules.bottommost = bottommost;
        rules.beyond = beyond.clone();
        rules.tombstones = CompactionTombstones::new(cmp.clone(), &tombstones.iter().collect::<Vec<_>>());
        rules.merge_operator = merges.then(|| Arc::clone(&setting.operator));
        rules.full_history_ts_low = setting.ts_low.map(|low| low.to_le_bytes().to_vec());
        rules.end = range.end.map(<[u8]>::to_vec);
        let order = InternalComparator::new(cmp.clone());
        let input = VecCursor::new(points.to_vec(), order).in_blocks(rng.usize(0..5));
        let mut cursor = CompactionCursor::new(input, rules);
        match range.start {
            Some(start) => cursor.seek(start),
            None => cursor.seek_to_first(),
        }
        let splitter = splitter(rng, cmp, &setting.keys);
        write_outputs(&mut cursor, range, splitter, &mut sink).unwrap();
        read += cursor.stats().num_input_records;
    }
    assert_eq!(read, points.len() as u64, "every entry is read once");
    check_files(cmp, &sink.files);
    if bottommost && merges {
        check_bottom(setting, &sink.files);
    }
    sink.files
}

/// At the bottom and without snapshots only the newest values remain.
fn check_bottom(setting: &Setting, files: &[OutputFile]) {
    if !setting.snapshots.is_empty() || setting.cmp.timestamp_size() > 0 {
        return;
    }
    let points: Vec<_> = files.iter().flat_map(|file| &file.points).collect();
    for (key, _) in &points {
        assert_eq!(
            internal_key::trailer(key),
            internal_key::pack_trailer(0, Kind::Value as u8),
            "{key:?}"
        );
    }
    let user_key = |key: &[u8]| key[..key.len() - TRAILER_LEN].to_vec();
    assert!(points.is_sorted_by(|a, b| user_key(&a.0).cmp(&user_key(&b.0)) == Ordering::Less));
    assert!(files.iter().all(|file| file.tombstones.is_empty()));
}

fn assert_same(
    setting: &Setting,
    expected: &[(SeqNo, u64, String, Option<Vec<u8>>)],
    runs: &[&LevelEntries],
    inputs: &LevelEntries,
) {
    let found = setting.views(runs);
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!(
            expected,
            found,
            "snapshots {:?}, limit {:?}\ninputs:\n{}\noutputs:\n{}\n",
            setting.snapshots,
            setting.ts_low,
            inputs.print(Keys::of(&setting.cmp)),
            runs.iter()
                .map(|run| run.print(Keys::of(&setting.cmp)))
                .collect::<Vec<_>>()
                .join("\n--\n")
        );
    }
}

fn one_history(rng: &mut TestRng, cmp: UserComparator) {
    let len = rng.usize(1..40);
    let stamps = cmp.timestamp_size() > 0;
    let mut keys: Vec<Vec<u8>> = (0..rng.usize(1..6))
        .map(|i| format!("k{i}").into_bytes())
        .collect();
    keys.extend((0..rng.usize(..3)).map(|i| format!("s{i}").into_bytes()));
    let snapshots: Vec<SeqNo> = (0..rng.usize(..5)).map(|_| rng.u64(1..=len as u64)).collect();
    let ts_low = (stamps && !rng.one_in(4)).then(|| rng.u64(..len as u64 / 2 + 3));
    let mut readers = Vec::new();
    for seqno in snapshots.iter().copied().chain([len as u64]) {
        if stamps {
            let low = ts_low.unwrap_or(0);
            readers.extend((low..=(len as u64 / 2 + 3).max(low)).map(|timestamp| (seqno, timestamp)));
        } else {
            readers.push((seqno, 0));
        }
    }
    let operator = base::merge::builtin("stringappend").unwrap();
    let setting = Setting {
        cmp,
        operator,
        keys,
        readers,
        snapshots,
        ts_low,
    };
    let (runs, model) = history(rng, &setting, len);

    let all = concat(&runs);
    let expected = setting.views(&[&all]);
    if !stamps {
        for (seqno, _, key, value) in &expected {
            assert_eq!(
                &model.get(0, key.as_bytes(), *seqno).unwrap(),
                value,
                "the `view` of this test is wrong"
            );
        }
    }

    let below_end = if rng.one_in(3) { 0 } else { rng.usize(..len) };
    let inputs_end = rng.usize(below_end..=len);
    let below = concat(&runs[..below_end]);
    let inputs = concat(&runs[below_end..inputs_end]);
    let above = concat(&runs[inputs_end..]);

    // Tombstones come from several files; each is a set of its own.
    let sets: Vec<FragmentedTombstones> = inputs
        .tombstones
        .chunks(rng.usize(1..4))
        .map(|chunk| FragmentedTombstones::build(chunk.iter().cloned(), &setting.cmp))
        .collect();
    let (bottommost, beyond) = if below_end == 0 {
        (true, BeyondOutput::nothing(setting.cmp.clone()))
    } else if rng.one_in(3) {
        (false, BeyondOutput::anything(setting.cmp.clone()))
    } else {
        let files = ranges(rng, &below, &setting.cmp);
        (false, BeyondOutput::new(setting.cmp.clone(), vec![files]))
    };
    let files = compact(rng, &setting, &inputs.points, &sets, bottommost, &beyond);
    let output = LevelEntries::of_files(&files, &setting.cmp);
    assert_same(&setting, &expected, &[&above, &output, &below], &inputs);

    // The outputs are compacted again, together with the entries below.
    let mut sets: Vec<FragmentedTombstones> = files
        .iter()
        .map(|file| file_tombstones(file, &setting.cmp))
        .collect();
    sets.push(FragmentedTombstones::build(
        below.tombstones.iter().cloned(),
        &setting.cmp,
    ));
    let both = concat(&[output, below]);
    let files = compact(
        rng,
        &setting,
        &both.points,
        &sets,
        true,
        &BeyondOutput::nothing(setting.cmp.clone()),
    );
    let output = LevelEntries::of_files(&files, &setting.cmp);
    assert_same(&setting, &expected, &[&above, &output], &both);
}

#[test]
fn no_reader_notices_a_compaction() {
    let mut rng = rng();
    for _ in 0..4000 {
        one_history(&mut rng, UserComparator::Bytewise);
    }
}

#[test]
fn no_reader_notices_a_compaction_with_timestamps() {
    let mut rng = rng();
    for _ in 0..2000 {
        one_history(&mut rng, UserComparator::BytewiseU64Ts);
    }
}
