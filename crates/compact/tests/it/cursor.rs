//! Text tests of the compaction cursor and of the splitting of its output.

use std::sync::Arc;

use base::{MAX_SEQNO, SeqNo, UserComparator};
use esker_compact::{
    BeyondOutput, CompactionCursor, CompactionFilter, CompactionRules, CompactionTombstones, Decision,
    KeyRange, OutputRange, OutputSplitter, SplitLimits, ValueType, write_outputs,
};
use manifest::FileMetadata;
use rangedel::{FragmentedTombstones, RangeTombstone};
use testkit::VecCursor;
use testkit::datadriven::{self, TestCase};

use crate::text::{Collector, Keys, check_files};

/// The inputs of the last `define`.
#[derive(Default)]
struct CursorInputs {
    cmp: Option<UserComparator>,
    points: Vec<(Vec<u8>, Vec<u8>)>,
    ranges: Vec<RangeTombstone>,
}

impl CursorInputs {
    fn cmp(&self) -> UserComparator {
        self.cmp.clone().unwrap_or(UserComparator::Bytewise)
    }
}

#[test]
fn compaction_cursor() {
    datadriven::run(
        "tests/testdata/compaction_cursor",
        |_| CursorInputs::default(),
        run,
    );
}

#[test]
fn split() {
    datadriven::run("tests/testdata/split", |_| CursorInputs::default(), run);
}

fn run(state: &mut CursorInputs, case: &mut TestCase) -> String {
    match case.directive.as_str() {
        "define" => {
            state.cmp = case
                .try_take_arg::<String>("comparator")
                .unwrap()
                .map(|name| UserComparator::builtin(&name).expect("a built-in comparator"));
            let cmp = state.cmp();
            (state.points, state.ranges) = Keys::of(&cmp).items(&cmp, &case.input);
            String::new()
        }
        "compact" => compact(state, case),
        other => format!("unknown directive {other}"),
    }
}

fn seqnos(case: &mut TestCase, name: &str) -> Vec<SeqNo> {
    case.try_take_args(name).unwrap().unwrap_or_default()
}

/// `b-d` as a range of user keys.
fn key_range(text: &str) -> KeyRange {
    let (smallest, largest) = text.split_once('-').expect("two keys and a dash");
    KeyRange {
        smallest: smallest.as_bytes().into(),
        largest: largest.as_bytes().into(),
    }
}

/// `b-d-100` as a file of 100 bytes; `b-d-open-100` ends in a sentinel.
fn file(text: &str) -> Arc<FileMetadata> {
    let (range, size) = text.rsplit_once('-').expect("a range, a dash and a size");
    let (range, sentinel) = range
        .strip_suffix("-open")
        .map_or((range, false), |range| (range, true));
    let KeyRange { smallest, largest } = key_range(range);
    let largest = if sentinel {
        base::internal_key::encode(&largest, MAX_SEQNO, base::Kind::RangeDeletion)
    } else {
        base::internal_key::encode(&largest, 1, base::Kind::Value)
    };
    Arc::new(FileMetadata {
        size: size.parse().expect("a size"),
        smallest: base::internal_key::encode(&smallest, 1, base::Kind::Value).into(),
        largest: largest.into(),
        ..FileMetadata::default()
    })
}

/// A filter whose decisions are words: the value of each entry, or the default column of an entity, names
/// its decision.
struct ByValue;

/// `a:1,b:2` as columns.
fn columns(text: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pairs = text
        .split(',')
        .map(|pair| pair.split_once(':').expect("a name and a value"));
    pairs.map(|(name, value)| (name.into(), value.into())).collect()
}

impl CompactionFilter for ByValue {
    fn filter(&mut self, level: usize, _key: &[u8], value_type: ValueType, value: &[u8]) -> Decision {
        let text = String::from_utf8_lossy(value);
        match text.split_once('=') {
            Some(("change", to)) => Decision::ChangeValue(to.as_bytes().to_vec()),
            Some(("skip", to)) => Decision::RemoveAndSkipUntil(to.as_bytes().to_vec()),
            Some(("entity", to)) => Decision::ChangeWideColumnEntity(columns(to)),
            _ if text == "remove" => Decision::Remove,
            _ if text == "what" => Decision::ChangeValue(format!("{value_type:?} of L{level}").into_bytes()),
            _ => Decision::Keep,
        }
    }

    fn filter_entity(&mut self, level: usize, key: &[u8], columns: &[(&[u8], &[u8])]) -> Decision {
        match columns {
            [(b"", b"what"), columns @ ..] => {
                let text = { columns.iter() }.map(|(name, value)| [name, &b"="[..], value].concat());
                Decision::ChangeValue(text.collect::<Vec<_>>().join(&b';'))
            }
            [(b"", value), ..] => self.filter(level, key, ValueType::Value, value),
            _ => Decision::Keep,
        }
    }
}

fn compact(state: &CursorInputs, case: &mut TestCase) -> String {
    let cmp = state.cmp();
    let keys = Keys::of(&cmp);
    let mut rules = CompactionRules::new(cmp.clone());
    rules.snapshots = seqnos(case, "snapshots");
    if let Some(seqno) = case.try_take_arg("conflict-snapshot").unwrap() {
        rules.earliest_write_conflict_snapshot = seqno;
    }
    rules.bottommost = case.take_flag("bottommost").unwrap();
    if rules.bottommost {
        rules.beyond = BeyondOutput::nothing(cmp.clone());
    }
    if let Some(below) = case.try_take_args::<String>("below").unwrap() {
        let run = below.iter().map(|range| key_range(range)).collect();
        rules.beyond = BeyondOutput::new(cmp.clone(), vec![run]);
    }
    if let Some(name) = case.try_take_arg::<String>("merge").unwrap() {
        rules.merge_operator = Some(base::merge::builtin(&name).expect("a built-in operator"));
    }
    if case.take_flag("filter").unwrap() {
        rules.filter = Some(Box::new(ByValue));
        rules.level = 2;
    }
    if let Some(low) = case.try_take_arg::<u64>("ts-low").unwrap() {
        rules.full_history_ts_low = Some(low.to_le_bytes().to_vec());
    }
    rules.keep_unknown_kinds = case.take_flag("keep-unknown").unwrap();
    let start = case.try_take_arg::<String>("start").unwrap();
    let end = case.try_take_arg::<String>("end").unwrap();
    rules.end = end.as_ref().map(|end| end.clone().into_bytes());
    let fragments = FragmentedTombstones::build(state.ranges.iter().cloned(), &cmp);
    rules.tombstones = CompactionTombstones::new(cmp.clone(), &[&fragments]);

    let target: Option<u64> = case.try_take_arg("target").unwrap();
    let grandparents = case
        .try_take_args::<String>("grandparents")
        .unwrap()
        .unwrap_or_default();
    let splitter = match target {
        None => OutputSplitter::never(cmp.clone()),
        Some(target_file_size) => {
            let limits = SplitLimits {
                borders: Default::default(),
                output_level: 1,
                target_file_size,
                max_output_file_size: if grandparents.is_empty() {
                    target_file_size
                } else {
                    target_file_size * 2
                },
                max_compaction_bytes: case.try_take_arg("max-compaction").unwrap().unwrap_or(u64::MAX),
                grandparents: grandparents.iter().map(|text| file(text)).collect(),
            };
            OutputSplitter::new(cmp.clone(), limits)
        }
    };
    let show_bounds = case.take_flag("bounds").unwrap() || target.is_some();
    let show_stats = case.take_flag("stats").unwrap();

    let order = base::InternalComparator::new(cmp.clone());
    let mut cursor = CompactionCursor::new(VecCursor::new(state.points.clone(), order), rules);
    match &start {
        Some(start) => cursor.seek(start.as_bytes()),
        None => cursor.seek_to_first(),
    }
    let range = OutputRange {
        start: start.as_deref().map(str::as_bytes),
        end: end.as_deref().map(str::as_bytes),
    };
    let mut sink = Collector::new(if target.is_some() { 100 } else { 0 });
    let result = write_outputs(&mut cursor, range, splitter, &mut sink);
    check_files(&cmp, &sink.files);

    let mut out = String::new();
    for file in &sink.files {
        if show_bounds {
            let bounds = &file.bounds;
            out.push_str(&format!(
                "file {} .. {}, seqno {}..{}\n",
                keys.entry(&bounds.smallest, b""),
                keys.entry(&bounds.largest, b""),
                bounds.smallest_seqno,
                bounds.largest_seqno
            ));
        }
        let indent = if show_bounds { "  " } else { "" };
        for (key, value) in &file.points {
            out.push_str(&format!("{indent}{}\n", keys.entry(key, value)));
        }
        for tombstone in &file.tombstones {
            out.push_str(&format!("{indent}{}\n", keys.tombstone(tombstone)));
        }
    }
    if let Err(error) = result {
        out.push_str(&format!("{error}\n"));
    }
    if show_stats {
        // The names and values of the counters, one per line, without those that are 0 and without the sizes.
        let stats = format!("{:#?}", cursor.stats());
        for line in stats
            .lines()
            .filter(|line| line.contains("num_") && !line.contains(": 0,"))
        {
            out.push_str(&format!("{}\n", line.trim().trim_end_matches(',')));
        }
    }
    if out.is_empty() {
        out.push_str("nothing\n");
    }
    out
}
