//! Text tests of the pickers: which compaction is picked from which version.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use base::{Error, InternalComparator, MAX_SEQNO, SeqNo, UserComparator};
use esker_compact::{
    BottommostLevelCompaction, CompactFilesOptions, CompactRangeOptions, CompactionOptionsFifo,
    CompactionOptionsUniversal, CompactionPri, CompactionStopStyle, FileFacts, JobId, LeveledOptions,
    OutputLevel, PickContext, Plan, RangeCompaction, RangePick, RangeRequest, RangeStep, Running, Scores,
    Style, due, pick_files, pick_leveled, pick_range,
};
use manifest::{FileMetadata, FileStats, Version, VersionBuilder, VersionEdit};
use rangedel::{FragmentedTombstones, RangeTombstone};
use testkit::datadriven::{self, TestCase};
use testkit::keys;

struct PickerState {
    options: LeveledOptions,
    version: Version,
    running: Running,
    jobs: Vec<JobId>,
    oldest_snapshot: SeqNo,
    now: u64,
    facts: Facts,
}

/// Files that were written with another compression, and files not worth rewriting.
#[derive(Default)]
struct Facts {
    immovable: Vec<u64>,
    hopeless: Vec<u64>,
    to_rewrite: Vec<u64>,
    tombstones: HashMap<u64, Arc<FragmentedTombstones>>,
    visible: SeqNo,
}

impl FileFacts for Facts {
    fn can_move(&self, file: &FileMetadata, _output_level: usize) -> bool {
        !self.immovable.contains(&file.number)
    }
    fn range_tombstones(&self, file: &FileMetadata) -> Option<Arc<FragmentedTombstones>> {
        self.tombstones.get(&file.number).cloned()
    }
    fn visible_to_all(&self) -> SeqNo {
        self.visible
    }
    fn is_to_be_rewritten(&self, file: &FileMetadata) -> bool {
        self.to_rewrite.contains(&file.number)
    }
    fn worth_rewriting(&self, file: &FileMetadata) -> bool {
        !self.hopeless.contains(&file.number)
    }
}

impl PickerState {
    fn new() -> PickerState {
        PickerState {
            options: LeveledOptions::default(),
            version: empty(),
            running: Running::new(),
            jobs: Vec::new(),
            oldest_snapshot: 0,
            now: 0,
            facts: Facts::default(),
        }
    }

    fn context(&self) -> PickContext<'_> {
        PickContext {
            version: &self.version,
            options: &self.options,
            running: &self.running,
            oldest_snapshot: self.oldest_snapshot,
            now: self.now,
            full_history_ts_low: None,
            facts: &self.facts,
        }
    }

    fn start(&mut self, plan: &Plan) -> usize {
        self.jobs.push(self.running.start(plan));
        self.jobs.len() - 1
    }
}

fn empty() -> Version {
    Version::empty(InternalComparator::new(UserComparator::Bytewise), 7)
}

#[test]
fn picker_leveled() {
    datadriven::run("tests/testdata/picker_leveled", |_| PickerState::new(), run);
}

#[test]
fn picker_universal() {
    datadriven::run("tests/testdata/picker_universal", |_| PickerState::new(), run);
}

#[test]
fn picker_fifo() {
    datadriven::run("tests/testdata/picker_fifo", |_| PickerState::new(), run);
}

#[test]
fn picker_files() {
    datadriven::run("tests/testdata/picker_files", |_| PickerState::new(), run);
}

#[test]
fn picker_range() {
    datadriven::run("tests/testdata/picker_range", |_| PickerState::new(), run);
}

fn run(state: &mut PickerState, case: &mut TestCase) -> String {
    match case.directive.as_str() {
        "options" => set_options(state, case),
        "define" => define(state, case),
        "add" => add(state, case),
        "scores" => scores(state),
        "pick" => pick(state, case),
        "finish" => {
            let job: usize = case.take_arg("job").unwrap();
            state.running.finish(state.jobs[job]);
            String::new()
        }
        "range" => range(state, case),
        "compact-range" => compact_range(state, case),
        "files" => files(state, case),
        "describe" => describe(&state.version),
        other => format!("unknown directive {other}"),
    }
}

/// `64M` in bytes.
fn bytes(text: &str) -> u64 {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 'K')) => (&text[..at], 1 << 10),
        Some((at, 'M')) => (&text[..at], 1 << 20),
        Some((at, 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    number
        .parse::<u64>()
        .unwrap_or_else(|_| panic!("{text} is not a size"))
        * unit
}

fn set_options(state: &mut PickerState, case: &mut TestCase) -> String {
    let options = &mut state.options;
    let mut size = |name: &str, field: &mut u64| {
        if let Some(text) = case.try_take_arg::<String>(name).unwrap() {
            *field = bytes(&text);
        }
    };
    size("max-bytes-for-level-base", &mut options.max_bytes_for_level_base);
    size("target-file-size-base", &mut options.target_file_size_base);
    size(
        "target-file-size-multiplier",
        &mut options.target_file_size_multiplier,
    );
    size("max-compaction-bytes", &mut options.max_compaction_bytes);
    size("ttl", &mut options.ttl);
    size("preclude", &mut options.preclude_last_level_data_seconds);
    size(
        "periodic-compaction-seconds",
        &mut options.periodic_compaction_seconds,
    );
    size(
        "bottommost-file-compaction-delay",
        &mut options.bottommost_file_compaction_delay,
    );
    if let Some(trigger) = case.try_take_arg("level0-trigger").unwrap() {
        options.level0_file_num_compaction_trigger = trigger;
    }
    if let Some(multiplier) = case.try_take_arg("multiplier").unwrap() {
        options.max_bytes_for_level_multiplier = multiplier;
    }
    if let Some(dynamic) = case.try_take_arg("dynamic").unwrap() {
        options.level_compaction_dynamic_level_bytes = dynamic;
    }
    if let Some(pri) = case.try_take_arg::<String>("pri").unwrap() {
        options.compaction_pri = CompactionPri::from_name(&pri).expect("a priority");
    }
    if let Some(levels) = case.try_take_arg("levels").unwrap() {
        options.num_levels = levels;
    }
    if let Some(stop) = case.try_take_arg("level0-stop").unwrap() {
        options.level0_stop_writes_trigger = stop;
    }
    if let Some(slowdown) = case.try_take_arg("level0-slowdown").unwrap() {
        options.level0_slowdown_writes_trigger = Some(slowdown);
    }
    if let Some(bytes_of) = case.try_take_arg::<String>("write-buffer-size").unwrap() {
        options.write_buffer_size = bytes(&bytes_of);
    }
    match case.try_take_arg::<String>("style").unwrap().as_deref() {
        None => {}
        Some("level") => options.style = Style::Level,
        Some("none") => options.style = Style::None,
        Some("fifo") => options.style = Style::Fifo(fifo(case)),
        Some("universal") => {
            options.level_compaction_dynamic_level_bytes = false;
            options.style = Style::Universal(universal(case));
        }
        Some(other) => panic!("unknown style {other}"),
    }
    String::new()
}

fn universal(case: &mut TestCase) -> CompactionOptionsUniversal {
    let mut options = CompactionOptionsUniversal::default();
    let mut number = |name: &str, field: &mut u32| {
        if let Some(number) = case.try_take_arg(name).unwrap() {
            *field = number;
        }
    };
    number("size-ratio", &mut options.size_ratio);
    number("min-merge-width", &mut options.min_merge_width);
    number("max-merge-width", &mut options.max_merge_width);
    number("max-size-amp", &mut options.max_size_amplification_percent);
    if let Some(percent) = case.try_take_arg("compress-percent").unwrap() {
        options.compression_size_percent = percent;
    }
    if let Some(runs) = case.try_take_arg("max-read-amp").unwrap() {
        options.max_read_amp = runs;
    }
    if case.take_flag("similar").unwrap() {
        options.stop_style = CompactionStopStyle::SimilarSize;
    }
    options.allow_trivial_move = case.take_flag("move").unwrap();
    options
}

fn fifo(case: &mut TestCase) -> CompactionOptionsFifo {
    let mut options = CompactionOptionsFifo::default();
    let mut size = |name: &str, field: &mut u64| {
        if let Some(text) = case.try_take_arg::<String>(name).unwrap() {
            *field = bytes(&text);
        }
    };
    size("max-table-files-size", &mut options.max_table_files_size);
    size("max-data-files-size", &mut options.max_data_files_size);
    options.allow_compaction = case.take_flag("allow-compaction").unwrap();
    options
}

/// One file per line: number, bounds, size, then words. A bound is a user key or an entry's key.
///
/// ```text
/// L1
///   12 a..c 64M
///   13 c@max#rangedel..f 64M marked seqno=3-9 ancestor=100 created=200 deletes=50/60 rangedel=10M busy fixed hopeless rewrite
/// ```
fn define(state: &mut PickerState, case: &mut TestCase) -> String {
    state.running = Running::new();
    state.jobs.clear();
    state.facts = Facts::default();
    state.version = Version::empty(
        InternalComparator::new(UserComparator::Bytewise),
        state.options.num_levels,
    );
    add(state, case)
}

/// Adds files to the current version, newer than those of L0.
fn add(state: &mut PickerState, case: &mut TestCase) -> String {
    let mut level = 0;
    let mut edit = VersionEdit::default();
    let mut busy = Vec::new();
    let newest = 1_000_000 * (1 + state.version.num_files() as u64);
    for line in case.input.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(number) = line.strip_prefix('L') {
            level = number.parse().expect("a level");
            continue;
        }
        let mut words = line.split_whitespace();
        let number = words.next().unwrap().parse().expect("a file number");
        let (smallest, largest) = words
            .next()
            .expect("bounds")
            .split_once("..")
            .expect("two bounds");
        let bound = |text: &str, seqno: u64| match text.contains('@') {
            true => keys::key(text),
            false => keys::key(&format!("{text}@{seqno}")),
        };
        let mut file = FileMetadata {
            number,
            smallest: bound(smallest, 100).into(),
            largest: bound(largest, 1).into(),
            size: bytes(words.next().expect("a size")),
            smallest_seqno: 1,
            largest_seqno: 100,
            // The first file of a level is the newest.
            epoch_number: Some(newest - edit.new_files.len() as u64),
            ..FileMetadata::default()
        };
        for word in words {
            match word.split_once('=').unwrap_or((word, "")) {
                ("marked", _) => file.marked_for_compaction = true,
                ("seqno", span) => {
                    let (low, high) = span.split_once('-').expect("two seqnos");
                    file.smallest_seqno = low.parse().unwrap();
                    file.largest_seqno = high.parse().unwrap();
                }
                ("ancestor", time) => file.oldest_ancestor_time = time.parse().unwrap(),
                ("created", time) => file.file_creation_time = time.parse().unwrap(),
                ("deletes", of) => {
                    let (deletes, entries) = of.split_once('/').expect("deletes/entries");
                    let num_entries: u64 = entries.parse().unwrap();
                    let stats = FileStats {
                        num_entries,
                        num_deletions: deletes.parse().unwrap(),
                        raw_key_size: 10 * num_entries,
                        raw_value_size: 90 * num_entries,
                        ..FileStats::default()
                    };
                    file.stats.set(stats).unwrap();
                }
                ("tombstones", written) => {
                    let stats = FileStats {
                        num_range_deletions: 1,
                        ..FileStats::default()
                    };
                    file.stats.set(stats).unwrap();
                    let tombstones = keys::tombstones(&written.replace('+', " ")).into_iter();
                    let tombstones = tombstones.map(|tombstone| RangeTombstone {
                        start: tombstone.start,
                        end: tombstone.end,
                        seqno: tombstone.seqno,
                    });
                    let set = FragmentedTombstones::build(tombstones, &UserComparator::Bytewise);
                    state.facts.tombstones.insert(number, Arc::new(set));
                }
                ("rangedel", size) => file.compensated_range_deletion_size = bytes(size),
                ("busy", _) => busy.push(number),
                ("fixed", _) => state.facts.immovable.push(number),
                ("rewrite", _) => state.facts.to_rewrite.push(number),
                ("hopeless", _) => state.facts.hopeless.push(number),
                _ => panic!("unknown word {word}"),
            }
        }
        edit.new_files.push((level, Arc::new(file)));
    }
    match apply(&state.version, &edit) {
        Ok(version) => state.version = version,
        Err(error) => return format!("{error}\n"),
    }
    for (_, file) in state
        .version
        .all_files()
        .filter(|(_, file)| busy.contains(&file.number))
    {
        file.set_being_compacted(true);
    }
    String::new()
}

fn apply(version: &Version, edit: &VersionEdit) -> Result<Version, Error> {
    let mut builder = VersionBuilder::new(version);
    builder.apply(edit)?;
    builder.build()
}

fn describe(version: &Version) -> String {
    let mut out = String::new();
    for level in 0..version.num_levels() {
        let files = version.files(level);
        if !files.is_empty() {
            let files: Vec<String> = files.iter().map(|file| format!("{:06}", file.number)).collect();
            writeln!(out, "L{level}: {}", files.join(" ")).unwrap();
        }
    }
    out
}

fn megabytes(bytes: u64) -> String {
    match bytes {
        u64::MAX => "-".to_owned(),
        bytes => format!("{}M", bytes >> 20),
    }
}

fn scores(state: &PickerState) -> String {
    let scores = Scores::new(&state.version, &state.options);
    let targets = &scores.targets;
    let mut out = format!("base level {}", targets.base_level);
    if let Some(lowest) = targets.lowest_unnecessary_level {
        write!(out, ", unnecessary up to {lowest}").unwrap();
    }
    let sizes: Vec<String> = targets.max_bytes[targets.base_level..]
        .iter()
        .map(|&bytes| megabytes(bytes))
        .collect();
    writeln!(out, ", targets {}", sizes.join(" ")).unwrap();
    for due in scores.levels.iter().filter(|due| due.score > 0.0) {
        writeln!(out, "L{} {:.3}", due.level, due.score).unwrap();
    }
    writeln!(out, "pending {}", megabytes(scores.pending_compaction_bytes)).unwrap();
    out
}

fn show(plan: &Plan, detailed: bool) -> String {
    let mut out = format!("{plan}\n");
    if detailed {
        let numbers: Vec<String> = plan
            .grandparents
            .iter()
            .map(|file| format!("{:06}", file.number))
            .collect();
        writeln!(out, "  grandparents [{}]", numbers.join(" ")).unwrap();
        writeln!(
            out,
            "  user keys {}..{}, target {}, max {}{}",
            keys::escape(&plan.smallest_user_key),
            keys::escape(&plan.largest_user_key),
            megabytes(plan.target_file_size),
            megabytes(plan.max_output_file_size),
            match (plan.is_full_compaction, plan.compression) {
                (true, None) => ", full",
                (false, None) => "",
                (true, Some(_)) => ", full, not compressed",
                (false, Some(_)) => ", not compressed",
            }
        )
        .unwrap();
        for (i, input) in plan.inputs.iter().enumerate() {
            for (j, file) in input.files.iter().enumerate() {
                let (smallest, largest) = plan.tombstone_bounds(i, j);
                if (smallest, largest) != (&file.smallest[..], &file.largest[..]) {
                    let (smallest, largest) = (keys::print_key(smallest), keys::print_key(largest));
                    writeln!(
                        out,
                        "  tombstones of {:06} within {smallest} .. {largest}",
                        file.number
                    )
                    .unwrap();
                }
            }
        }
    }
    out
}

/// Picks once, or with `all` as long as there is a compaction; each pick is started.
fn pick(state: &mut PickerState, case: &mut TestCase) -> String {
    state.oldest_snapshot = case.try_take_arg("oldest-snapshot").unwrap().unwrap_or(0);
    state.now = case.try_take_arg("now").unwrap().unwrap_or(0);
    state.facts.visible = case.try_take_arg("visible").unwrap().unwrap_or(0);
    let all = case.take_flag("all").unwrap();
    let dry = case.take_flag("dry").unwrap();
    let detailed = case.take_flag("detailed").unwrap();
    let mut out = String::new();
    loop {
        let context = state.context();
        let Some(mut plan) = esker_compact::pick(&context) else {
            out.push_str("none\n");
            break;
        };
        plan.place_by_age(&state.options, &state.version);
        // A caller that wants a file rewritten asks for a pick even if no compaction is due.
        let due = Scores::new(&state.version, &state.options).needs_compaction()
            || !state.facts.to_rewrite.is_empty()
            || due::is_due(&state.version, &state.options, state.now, state.oldest_snapshot);
        assert!(due, "{plan} is picked, but would not be looked for");
        if dry {
            out.push_str(&show(&plan, detailed));
            break;
        }
        let job = state.start(&plan);
        write!(out, "job {job}: {}", show(&plan, detailed)).unwrap();
        if !all {
            break;
        }
    }
    out
}

fn range(state: &mut PickerState, case: &mut TestCase) -> String {
    let begin = case.try_take_arg::<String>("begin").unwrap();
    let end = case.try_take_arg::<String>("end").unwrap();
    let output = match case.try_take_arg("output").unwrap() {
        Some(level) => OutputLevel::Level(level),
        None => OutputLevel::Base,
    };
    let request = RangeRequest {
        input_level: case.take_arg("level").unwrap(),
        output,
        begin: begin.as_deref().map(str::as_bytes),
        end: end.as_deref().map(str::as_bytes),
        max_file_num_to_ignore: case.try_take_arg("older-than").unwrap(),
        allow_trivial_move: !case.take_flag("no-move").unwrap(),
    };
    match pick_range(&state.context(), &request) {
        RangePick::Plan { plan, rest } => {
            let mut out = show(&plan, case.take_flag("detailed").unwrap());
            if let Some(rest) = rest {
                writeln!(out, "rest from {}", keys::escape(&rest)).unwrap();
            }
            out
        }
        RangePick::Nothing => "nothing\n".to_owned(),
        RangePick::Conflict => "conflict\n".to_owned(),
    }
}

/// The compaction of the named files.
fn files(state: &mut PickerState, case: &mut TestCase) -> String {
    let numbers: Vec<u64> = case.take_args("named").unwrap();
    let options = CompactFilesOptions {
        output_file_size_limit: case
            .try_take_arg::<String>("limit")
            .unwrap()
            .map(|text| bytes(&text)),
        allow_trivial_move: case.take_flag("move").unwrap(),
        ..CompactFilesOptions::default()
    };
    let output_level = case.take_arg("to").unwrap();
    match pick_files(&state.context(), &numbers, output_level, &options) {
        Ok(plan) => show(&plan, case.take_flag("detailed").unwrap()),
        Err(error) => format!("{error}\n"),
    }
}

/// Runs a manual compaction to its end: a move moves files, any other step makes one file of all inputs.
fn compact_range(state: &mut PickerState, case: &mut TestCase) -> String {
    let begin = case.try_take_arg::<String>("begin").unwrap();
    let end = case.try_take_arg::<String>("end").unwrap();
    let bottommost = case.try_take_arg::<String>("bottommost").unwrap();
    let options = CompactRangeOptions {
        change_level: case.take_flag("change-level").unwrap(),
        target_level: case.try_take_arg("target-level").unwrap(),
        bottommost_level_compaction: match bottommost.as_deref() {
            None => BottommostLevelCompaction::IfHaveCompactionFilter,
            Some("skip") => BottommostLevelCompaction::Skip,
            Some("force") => BottommostLevelCompaction::Force,
            Some("force-optimized") => BottommostLevelCompaction::ForceOptimized,
            Some(other) => panic!("unknown handling {other}"),
        },
        ..CompactRangeOptions::default()
    };
    let mut next_file_number = 1 + state
        .version
        .all_files()
        .map(|(_, file)| file.number)
        .max()
        .unwrap_or(0);
    let mut compaction = RangeCompaction::new(
        options,
        begin.as_deref().map(str::as_bytes),
        end.as_deref().map(str::as_bytes),
        case.take_flag("filter").unwrap(),
        next_file_number,
    );
    let mut out = String::new();
    loop {
        match compaction.step(&state.context()) {
            Ok(RangeStep::Compact(plan)) => {
                writeln!(out, "{plan}").unwrap();
                let job = state.running.start(&plan);
                let edit = result(&plan, &mut next_file_number);
                state.version = apply(&state.version, &edit).unwrap_or_else(|error| panic!("{error}"));
                state.running.finish(job);
            }
            Ok(RangeStep::Wait) => {
                out.push_str("wait\n");
                return out;
            }
            Ok(RangeStep::Done) => return out + &describe(&state.version),
            Err(error) => {
                writeln!(out, "{error}").unwrap();
                return out;
            }
        }
    }
}

fn result(plan: &Plan, next_file_number: &mut u64) -> VersionEdit {
    let mut edit = VersionEdit::default();
    for (level, file) in plan.files() {
        if !plan.trivial_move || level != plan.output_level {
            edit.deleted_files.insert((level as u32, file.number));
        }
    }
    if plan.trivial_move {
        let moved = plan
            .moved_files()
            .map(|(_, file)| (plan.output_level as u32, Arc::clone(file)));
        edit.new_files.extend(moved);
    } else if !plan.deletion {
        let key =
            |user_key: &[u8], seqno| base::internal_key::encode(user_key, seqno, base::Kind::Value).into();
        edit.new_files.push((
            plan.output_level as u32,
            Arc::new(FileMetadata {
                number: *next_file_number,
                smallest: key(&plan.smallest_user_key, 100),
                largest: key(&plan.largest_user_key, 1),
                size: plan.input_bytes(),
                smallest_seqno: 1,
                largest_seqno: 100,
                epoch_number: Some(1),
                ..FileMetadata::default()
            }),
        ));
        *next_file_number += 1;
    }
    edit
}

#[test]
fn reserved_ranges_are_kept_free() {
    let mut state = PickerState::new();
    let mut running = Running::new();
    let job = running.reserve(6, b"c", b"d");
    let cmp = UserComparator::Bytewise;
    assert!(running.writes_to(&cmp, 6, b"a", b"c") && running.writes_to(&cmp, 6, b"d", b"z"));
    assert!(!running.writes_to(&cmp, 6, b"a", b"bz") && !running.writes_to(&cmp, 5, b"a", b"z"));
    assert!(!running.level0_busy());
    running.finish(job);
    assert!(running.is_empty());
    state.running = running;
    assert!(pick_leveled(&state.context()).is_none());
}

/// A file is about to be ingested into L0 with a number between those of the files there. A compaction within
/// L0 would be installed after it, with older and newer rows.
#[test]
fn no_compaction_within_l0_is_picked_where_a_file_is_about_to_be_added() {
    let merging = CompactionOptionsFifo {
        allow_compaction: true,
        ..CompactionOptionsFifo::default()
    };
    let universal = CompactionOptionsUniversal::default();
    for style in [Style::Level, Style::Universal(universal), Style::Fifo(merging)] {
        let mut state = PickerState::new();
        let mut edit = VersionEdit::default();
        let file = |number: u64, size: u64, seqno: SeqNo| {
            Arc::new(FileMetadata {
                number,
                size,
                smallest: keys::key(&format!("b@{seqno}")).into(),
                largest: keys::key(&format!("x@{seqno}")).into(),
                smallest_seqno: seqno,
                largest_seqno: seqno,
                ..FileMetadata::default()
            })
        };
        (1..=6).for_each(|number| edit.new_files.push((0, file(number, 1000, 10 * number))));
        if !matches!(style, Style::Fifo(_)) {
            edit.new_files.push((1, file(9, 100_000_000, 1)));
        }
        state.version = apply(&empty(), &edit).unwrap();
        state.options.level0_file_num_compaction_trigger = 2;
        state.options.level_compaction_dynamic_level_bytes = false;
        state.options.style = style;
        let plan = esker_compact::pick(&state.context()).unwrap();
        assert_eq!((plan.output_level, plan.num_input_files() > 1), (0, true));
        let job = state.running.reserve(0, b"m", b"n");
        assert!(esker_compact::pick(&state.context()).is_none_or(|plan| plan.output_level > 0));
        state.running.finish(job);
        state.running.reserve(0, b"y", b"z");
        assert_eq!(esker_compact::pick(&state.context()).unwrap().output_level, 0);
    }
}

#[test]
fn one_level_has_nothing_to_pick() {
    let mut state = PickerState::new();
    state.version = Version::empty(InternalComparator::new(UserComparator::Bytewise), 1);
    state.oldest_snapshot = MAX_SEQNO;
    assert!(pick_leveled(&state.context()).is_none());
    assert_eq!(Scores::new(&state.version, &state.options).levels.len(), 0);
}

#[test]
fn tombstones_are_cut_to_what_their_file_covers() {
    let mut state = PickerState::new();
    state.options.level0_file_num_compaction_trigger = 1;
    let file = |number, smallest: &str, largest: &str| {
        Arc::new(FileMetadata {
            number,
            size: 10,
            smallest: keys::key(smallest).into(),
            largest: keys::key(largest).into(),
            ..FileMetadata::default()
        })
    };
    let mut edit = VersionEdit::default();
    edit.new_files.push((0, file(9, "a@90", "z@80")));
    // An older release split the versions of d over two files; f begins where a tombstone was truncated.
    edit.new_files.push((6, file(1, "b@20", "d@15")));
    edit.new_files.push((6, file(2, "d@14", "f@max#rangedel")));
    edit.new_files.push((6, file(3, "f@9", "h@8")));
    state.version = apply(&empty(), &edit).unwrap();
    let plan = pick_leveled(&state.context()).unwrap();
    assert_eq!(plan.num_input_files(), 4);

    let cmp = UserComparator::Bytewise;
    let tombstones = plan
        .tombstones(|file| {
            let written = match file.number {
                9 => "[m,n)@85",
                1 => "[a,e)@12",
                2 => "[c,k)@11",
                _ => "[a,z)@7",
            };
            let tombstones = keys::tombstones(written)
                .into_iter()
                .map(|tombstone| RangeTombstone {
                    start: tombstone.start,
                    end: tombstone.end,
                    seqno: tombstone.seqno,
                });
            Ok(Arc::new(FragmentedTombstones::build(tombstones, &cmp)))
        })
        .unwrap();
    let fragments: Vec<String> = tombstones
        .fragments()
        .iter()
        .map(|fragment| {
            let (start, end) = (keys::escape(fragment.start), keys::escape(fragment.end));
            format!("[{start},{end})@{:?}", fragment.seqnos)
        })
        .collect();
    assert_eq!(
        fragments.join(" "),
        "[b,c)@[12] [c,e)@[12, 11] [e,f)@[11] [f,h\\x00)@[7] [m,n)@[85]"
    );
    let rules = plan.rules();
    assert!(rules.bottommost && rules.level == 0);
}
