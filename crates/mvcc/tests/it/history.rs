//! Scripts over a store: its results, the data afterwards, and its statistics.
//!
//! ```text
//! run [ok|error] [stats] [steps=N]
//! with k=a
//!   put ts=1 v=abc
//! get k=a ts=2
//! ----
//! get: "a" -> "abc" @1.000000000,0
//! >> at end:
//! data: "a"/1.000000000,0 -> "abc"
//! ```
//!
//! Commands: put put_blind put_inline cput cput_inline increment increment_inline del del_range
//! del_range_inline del_range_pred del_range_ts import_range clear_range gc_whole revert get scan gc
//! gc_ranges scan_versions iter collect_garbage score scan_counters is_span_empty split_key fingerprint
//! ranges export flush compact reopen. Arguments: k end ts (seconds) v int by cond ttl max target; flags
//! stand alone. `+foo` as a key is the key directly after foo. Arguments of `with` apply to the lines
//! indented under it. Each command is a batch of its own; after each the statistics are compared with a
//! recount. A script stops at its first error, which `run error` demands.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use esker::{CompressionType, Db, WriteOptions};
use mvcc::{
    BatchOptions, Error, ExportOptions, GcKey, GcOptions, KeyTypes, MvccIterator, MvccKey, MvccReadOptions,
    MvccStats, MvccStore, PredicateDeleteOptions, RangeTombstone, RangeTombstoneOptions, ReadCounters,
    Result, Resume, RevertOptions, Span, Timestamp, Value, VersionPosition, VersionScanOptions,
};
use vfs::MemFs;

use super::model::{NOW, blobs, old_blobs, open, open_with, range_tombstones};

struct ScriptState {
    db: Db,
    store: MvccStore,
    /// True to flush after each command.
    flushes: bool,
}

fn store(db: &Db, max_steps: u32) -> MvccStore {
    let options = BatchOptions {
        checksums: false,
        max_steps,
        range_tombstones: true,
        ..BatchOptions::default()
    };
    MvccStore::open(db, &db.default_column_family(), options, NOW).unwrap()
}

#[test]
fn histories() {
    run_all(|_| {
        let db = open(Arc::new(MemFs::new()));
        ScriptState {
            store: store(&db, 10),
            db,
            flushes: false,
        }
    });
}

/// The histories with every value in a blob file, deletions too; and with every value that follows a newer
/// version.
#[test]
fn histories_in_blob_files() {
    if std::env::var_os("REWRITE").is_some() {
        return;
    }
    for (compression, only_old) in [
        (CompressionType::None, false),
        (CompressionType::Lz4, false),
        (CompressionType::None, true),
    ] {
        run_all(|path| {
            let db = open_with(Arc::new(MemFs::new()), "/db", |options| match only_old {
                true => old_blobs(options, 1, compression),
                false => blobs(options, 0, compression),
            });
            // Scripts that count costs only run in memory: reads of files cost more.
            let counts = std::fs::read_to_string(path).unwrap().contains("counters");
            ScriptState {
                store: store(&db, 10),
                db,
                flushes: !counts,
            }
        });
    }
}

fn run_all(start: impl FnMut(&Path) -> ScriptState) {
    testkit::datadriven::run("tests/testdata/histories", start, |state, case| {
        assert_eq!(case.directive, "run");
        let wants_error = case.take_flag("error").unwrap();
        let wants_ok = case.take_flag("ok").unwrap();
        assert!(wants_error != wants_ok, "run ok, or run error");
        let stats = case.take_flag("stats").unwrap();
        if let Some(steps) = case.args.remove("steps") {
            state.store = store(&state.db, steps[0].parse().unwrap());
        }
        let mut out = String::new();
        let failed = run(state, &case.input, stats, &mut out);
        assert_eq!(failed.is_some(), wants_error, "{}: {failed:?}", case.input);
        out.push_str(">> at end:\n");
        dump(&state.db, &mut out);
        if let Some(error) = failed {
            writeln!(out, "error: {error}").unwrap();
        }
        out
    });
}

/// Arguments by name; flags have none.
type Args = BTreeMap<String, Option<String>>;

fn parse(line: &str) -> Args {
    line.split_whitespace()
        .map(|word| match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (word.to_owned(), None),
        })
        .collect()
}

fn run(state: &mut ScriptState, input: &str, stats: bool, out: &mut String) -> Option<Error> {
    // The arguments of the enclosing blocks, by indentation.
    let mut blocks: Vec<(usize, Args)> = Vec::new();
    for line in input.lines() {
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        blocks.retain(|(at, _)| *at < indent);
        let (command, rest) = text.split_once(' ').unwrap_or((text, ""));
        if command == "with" {
            blocks.push((indent, parse(rest)));
            continue;
        }
        let mut args: Args = BTreeMap::new();
        blocks.iter().for_each(|(_, block)| args.extend(block.clone()));
        args.extend(parse(rest));
        if stats {
            writeln!(out, ">> {text}").unwrap();
        }
        let before = state.store.recount(NOW).unwrap();
        let mut line = Line { args };
        let result = line.execute(state, command, out);
        if result.is_ok() {
            let left: Vec<_> = line
                .args
                .keys()
                .filter(|name| !blocks.iter().any(|(_, block)| block.contains_key(*name)))
                .collect();
            assert!(left.is_empty(), "{text}: unknown arguments: {left:?}");
        }
        if state.flushes {
            state.db.flush().unwrap();
        }
        let after = state.store.recount(NOW).unwrap();
        assert_eq!(state.store.stats(NOW), Some(after), "{text}");
        assert!(after.is_plausible(), "{text}");
        if stats {
            let mut delta = after;
            delta -= before;
            writeln!(out, "stats: {}", text_of(&delta)).unwrap();
        }
        if let Err(error) = result {
            return Some(error);
        }
    }
    None
}

fn text_of(delta: &MvccStats) -> String {
    let fields = [
        ("key_count", delta.key_count),
        ("key_bytes", delta.key_bytes),
        ("val_count", delta.val_count),
        ("val_bytes", delta.val_bytes),
        ("live_count", delta.live_count),
        ("live_bytes", delta.live_bytes),
        ("range_key_count", delta.range_key_count),
        ("range_key_bytes", delta.range_key_bytes),
        ("range_val_count", delta.range_val_count),
        ("gc_bytes_age", delta.gc_bytes_age),
    ];
    let changed: Vec<String> = fields
        .iter()
        .filter(|(_, change)| *change != 0)
        .map(|(name, change)| format!("{name}={change:+}"))
        .collect();
    match changed.is_empty() {
        true => "no change".to_owned(),
        false => changed.join(" "),
    }
}

fn show(stored: &[u8], key: &[u8]) -> String {
    if mvcc::is_tombstone(stored) {
        return "<empty>".to_owned();
    }
    match Value::decode_checked(stored, key).unwrap() {
        Value::Bytes(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        Value::Int(number) => format!("int {number}"),
    }
}

fn show_ranges(what: &str, tombstones: &[RangeTombstone], out: &mut String) {
    for tombstone in tombstones {
        let times: Vec<String> = tombstone.timestamps.iter().map(Timestamp::to_string).collect();
        let (start, end) = (quoted(&tombstone.start), quoted(&tombstone.end));
        writeln!(out, "{what}: [{start}, {end}) {}", times.join(" ")).unwrap();
    }
}

fn show_counters(what: &str, cost: &ReadCounters, out: &mut String) {
    writeln!(
        out,
        "{what}: {} steps, {} seeks, {} skipped, {} tombstones, {} rows",
        cost.steps, cost.seeks, cost.skipped, cost.tombstones, cost.rows
    )
    .unwrap();
}

fn dump(db: &Db, out: &mut String) {
    show_ranges("range", &range_tombstones(db), out);
    let mut iter = db.iter();
    iter.seek(&[0, 0]);
    if !iter.valid() {
        out.push_str("<no data>\n");
    }
    while iter.valid() {
        let key = MvccKey::decode(iter.key()).unwrap();
        let value = show(iter.value(), key.user_key);
        match key.timestamp.is_zero() {
            true => writeln!(out, "inline: \"{}\" -> {value}", key.user_key.escape_ascii()).unwrap(),
            false => writeln!(
                out,
                "data: \"{}\"/{} -> {value}",
                key.user_key.escape_ascii(),
                key.timestamp
            )
            .unwrap(),
        }
        iter.next();
    }
    iter.status().unwrap();
}

struct Line {
    args: Args,
}

impl Line {
    fn text(&mut self, name: &str) -> Option<String> {
        self.args.remove(name).map(|value| value.expect("a value"))
    }

    fn key_or_none(&mut self, name: &str) -> Option<Vec<u8>> {
        let text = self.text(name)?;
        Some(match text.strip_prefix('+') {
            Some(before) => mvcc::next_user_key(before.as_bytes()),
            None => text.into_bytes(),
        })
    }

    fn key(&mut self) -> Vec<u8> {
        self.key_or_none("k").unwrap_or_default()
    }

    fn time(&mut self, name: &str) -> Timestamp {
        let text = self.text(name).unwrap_or_else(|| panic!("{name}="));
        text.parse().unwrap()
    }

    fn number<T: std::str::FromStr>(&mut self, name: &str) -> Option<T> {
        self.text(name).map(|text| text.parse().ok().expect("a number"))
    }

    fn flag(&mut self, name: &str) -> bool {
        self.args.remove(name).is_some()
    }

    fn reading(&mut self) -> MvccReadOptions {
        MvccReadOptions {
            max_keys: self.number("max"),
            target_bytes: self.number("target"),
            allow_empty: self.flag("allow_empty"),
            tombstones: self.flag("tombstones"),
            fail_on_more_recent: self.flag("fail_on_more_recent"),
            reverse: self.flag("reverse"),
            whole_rows: self.flag("whole_rows").then_some(row_before_slash),
        }
    }

    fn execute(&mut self, state: &mut ScriptState, command: &str, out: &mut String) -> Result<()> {
        if command == "reopen" {
            state.store = store(&state.db, 10);
            return Ok(());
        }
        let store = &state.store;
        let durable = WriteOptions::default();
        match command {
            "put" | "put_blind" | "cput" => {
                let (key, at) = (self.key(), self.time("ts"));
                let text = self.text("v").unwrap_or_default();
                let value = match self.number("int") {
                    Some(number) => Value::Int(number),
                    None => Value::Bytes(text.as_bytes()),
                };
                let mut batch = store.begin(NOW);
                match command {
                    "put" => batch.put(&key, at, value)?,
                    "put_blind" => batch.put_blind(&key, at, value)?,
                    _ => {
                        let expected = self.text("cond");
                        let expected = expected.as_deref().map(|text| Value::Bytes(text.as_bytes()));
                        let or_none = self.flag("allow_missing");
                        batch.conditional_put(&key, at, value, expected, or_none)?;
                    }
                }
                batch.commit(&durable)
            }
            "put_inline" => {
                let key = self.key();
                let value = self.text("v");
                let mut batch = store.begin(NOW);
                let value = value.as_deref().map(|text| Value::Bytes(text.as_bytes()));
                let found = batch.put_inline(&key, value)?;
                writeln!(out, "put_inline: {}: found {found}", quoted(&key)).unwrap();
                batch.commit(&durable)
            }
            "cput_inline" => {
                let key = self.key();
                let (text, expected) = (self.text("v"), self.text("cond"));
                let bytes = |text: &'_ Option<String>| text.clone().map(String::into_bytes);
                let (text, expected) = (bytes(&text), bytes(&expected));
                let mut batch = store.begin(NOW);
                batch.conditional_put_inline(
                    &key,
                    text.as_deref().map(Value::Bytes),
                    expected.as_deref().map(Value::Bytes),
                    self.flag("allow_missing"),
                )?;
                batch.commit(&durable)
            }
            "increment_inline" => {
                let key = self.key();
                let mut batch = store.begin(NOW);
                let sum = batch.increment_inline(&key, self.number("by").unwrap_or(1))?;
                writeln!(out, "increment_inline: current value = {sum}").unwrap();
                batch.commit(&durable)
            }
            "increment" => {
                let (key, at) = (self.key(), self.time("ts"));
                let mut batch = store.begin(NOW);
                let sum = batch.increment(&key, at, self.number("by").unwrap_or(1))?;
                writeln!(out, "increment: current value = {sum}").unwrap();
                batch.commit(&durable)
            }
            "del" => {
                let (key, at) = (self.key(), self.time("ts"));
                let mut batch = store.begin(NOW);
                let found = batch.delete(&key, at)?;
                writeln!(out, "del: {}: found key {found}", quoted(&key)).unwrap();
                batch.commit(&durable)
            }
            "del_range" | "del_range_inline" => {
                let (start, end) = (self.key(), self.key_or_none("end"));
                let (max, return_keys) = (self.number("max"), self.flag("return_keys"));
                let whole = span(&start, &end);
                let mut batch = store.begin(NOW);
                let result = match command {
                    "del_range" => batch.delete_range(whole, self.time("ts"), max, return_keys)?,
                    _ => batch.delete_range_inline(whole, max, return_keys)?,
                };
                writeln!(out, "{command}: {} keys", result.count).unwrap();
                for key in &result.keys {
                    writeln!(out, "{command}: returned {}", quoted(key)).unwrap();
                }
                resume(command, &result.resume, out);
                batch.commit(&durable)
            }
            "del_range_pred" => {
                let (start, end, at) = (self.key(), self.key_or_none("end"), self.time("ts"));
                let options = PredicateDeleteOptions {
                    after: self.time("after"),
                    min_range_keys: self.number("min_range"),
                    max_keys: self.number("max"),
                    max_bytes: self.number("max_bytes"),
                };
                let mut batch = store.begin(NOW);
                let result = batch.predicate_delete_range(span(&start, &end), at, &options)?;
                writeln!(
                    out,
                    "del_range_pred: {} keys, {} range tombstones",
                    result.keys, result.range_tombstones
                )
                .unwrap();
                resume("del_range_pred", &result.resume, out);
                batch.commit(&durable)
            }
            "del_range_ts" => {
                let (start, end, at) = (self.key(), self.key_or_none("end"), self.time("ts"));
                let whole = span(&start, &end);
                let mut batch = store.begin(NOW);
                let known = self.flag("known");
                let options = RangeTombstoneOptions {
                    idempotent: self.flag("idempotent"),
                    known: known.then(|| mvcc::compute_stats(&batch.reader(), whole, NOW).unwrap()),
                };
                let written = batch.delete_range_using_tombstone(whole, at, &options)?;
                writeln!(out, "del_range_ts: written {written}").unwrap();
                batch.commit(&durable)
            }
            "import_range" => {
                let tombstone = RangeTombstone {
                    start: self.key(),
                    end: self.key_or_none("end").unwrap(),
                    timestamps: vec![self.time("ts")],
                };
                let mut batch = store.begin(NOW);
                batch.import_range_tombstones(&[tombstone])?;
                batch.commit(&durable)
            }
            "gc_ranges" => {
                let (start, end, at) = (self.key(), self.key_or_none("end"), self.time("ts"));
                let mut batch = store.begin(NOW);
                let removed = batch.garbage_collect_range_tombstones(span(&start, &end), at)?;
                writeln!(out, "gc_ranges: {removed} times").unwrap();
                batch.commit(&durable)
            }
            "gc_whole" => {
                let (start, end, at) = (self.key(), self.key_or_none("end"), self.time("ts"));
                let whole = span(&start, &end);
                let mut batch = store.begin(NOW);
                let known = self.flag("known");
                let known = known.then(|| mvcc::compute_stats(&batch.reader(), whole, NOW).unwrap());
                let removed = batch.garbage_collect_whole_span(whole, at, known)?;
                writeln!(out, "gc_whole: {} versions", removed.val_count).unwrap();
                batch.commit(&durable)
            }
            "ranges" => {
                let (start, end) = (self.key(), self.key_or_none("end"));
                let (after, until) = (self.time("after"), self.time("until"));
                let reader = store.reader(Timestamp::MAX)?;
                let found = reader.range_tombstones(span(&start, &end), after, until)?;
                show_ranges("ranges", &found, out);
                Ok(())
            }
            "export" => {
                let (start, end) = (self.key(), self.key_or_none("end"));
                let (after, until) = (self.time("after"), self.time("until"));
                let options = ExportOptions {
                    all_revisions: self.flag("all"),
                    target_bytes: self.number("target"),
                    ..ExportOptions::default()
                };
                let (mut from, path) = (None, std::path::Path::new("/export"));
                loop {
                    let result = store.reader(Timestamp::MAX)?.export_to_sst(
                        span(&start, &end),
                        after,
                        until,
                        from.as_ref(),
                        path,
                        &options,
                    )?;
                    writeln!(out, "export: {} versions", result.versions).unwrap();
                    show_ranges("export", &result.range_tombstones, out);
                    from = result.resume;
                    match &from {
                        Some(left) => writeln!(out, "export: left from {}", quoted(&left.user_key)).unwrap(),
                        None => return Ok(()),
                    }
                }
            }
            "clear_range" => {
                let (start, end) = (self.key(), self.key_or_none("end"));
                let mut batch = store.begin(NOW);
                batch.clear_range(span(&start, &end))?;
                batch.commit(&durable)
            }
            "revert" => {
                let (start, end, at) = (self.key(), self.key_or_none("end"), self.time("ts"));
                let mut batch = store.begin(NOW);
                let options = RevertOptions {
                    until: self.args.contains_key("until").then(|| self.time("until")),
                    max_versions: self.number("max"),
                    max_bytes: self.number("max_bytes"),
                };
                let result = batch.revert_to(span(&start, &end), at, &options)?;
                writeln!(out, "revert: {} versions", result.versions).unwrap();
                if result.range_tombstones > 0 {
                    writeln!(out, "revert: {} range tombstones", result.range_tombstones).unwrap();
                }
                resume("revert", &result.resume, out);
                batch.commit(&durable)
            }
            "get" => {
                let (key, at) = (self.key(), self.time("ts"));
                let costs = self.flag("counters");
                let result = store.get(&key, at, &self.reading())?;
                if costs {
                    show_counters("get", &result.counters, out);
                }
                match &result.found {
                    Some(found) => writeln!(
                        out,
                        "get: {} -> {} @{}",
                        quoted(&key),
                        show(&found.stored, &key),
                        found.timestamp
                    )
                    .unwrap(),
                    None => writeln!(out, "get: {} -> <no data>", quoted(&key)).unwrap(),
                }
                resume("get", &result.resume, out);
                Ok(())
            }
            "scan" => {
                let (start, end, at) = (self.key(), self.key_or_none("end"), self.time("ts"));
                let costs = self.flag("counters");
                let result = store.scan(span(&start, &end), at, &self.reading())?;
                for row in result.rows.iter() {
                    let (key, value) = (quoted(row.user_key), show(row.stored, row.user_key));
                    writeln!(out, "scan: {key} -> {value} @{}", row.timestamp).unwrap();
                }
                if result.rows.is_empty() {
                    out.push_str("scan: <no data>\n");
                }
                resume("scan", &result.resume, out);
                if costs {
                    show_counters("scan", &result.counters, out);
                }
                Ok(())
            }
            "scan_versions" => {
                let (start, end) = (self.key(), self.key_or_none("end"));
                let mut options = VersionScanOptions {
                    max_versions: self.number("max"),
                    target_bytes: self.number("target"),
                    ..VersionScanOptions::default()
                };
                if self.args.contains_key("from") {
                    let user_key = self.key_or_none("from").unwrap();
                    options.from = Some(VersionPosition {
                        user_key,
                        timestamp: self.time("ts"),
                    });
                }
                let reader = store.reader(Timestamp::MAX)?;
                let result = reader.scan_versions(span(&start, &end), &options)?;
                for row in result.rows.iter() {
                    let (key, value) = (quoted(row.user_key), show(row.stored, row.user_key));
                    writeln!(out, "scan_versions: {key} -> {value} @{}", row.timestamp).unwrap();
                }
                if let Some((left, reason)) = result.resume {
                    let key = quoted(&left.user_key);
                    writeln!(
                        out,
                        "scan_versions: left from {key} @{} {reason:?}",
                        left.timestamp
                    )
                    .unwrap();
                }
                Ok(())
            }
            "iter" => {
                let (start, end) = (self.key(), self.key_or_none("end"));
                let types = match self.text("types").as_deref() {
                    Some("points") => KeyTypes::Points,
                    Some("ranges") => KeyTypes::Ranges,
                    _ => KeyTypes::PointsAndRanges,
                };
                let moves = self.text("moves").unwrap();
                let mut iter = store.reader(Timestamp::MAX)?.iter(span(&start, &end), types)?;
                for step in moves.split(';') {
                    walk(&mut iter, step)?;
                    show_place(&mut iter, step, out)?;
                }
                Ok(())
            }
            "scan_counters" => {
                show_counters("scan_counters", &store.scan_counters(), out);
                Ok(())
            }
            "score" => {
                let ttl = Duration::from_secs(self.number("ttl").unwrap());
                let score = store.gc_score(ttl, NOW)?.unwrap();
                writeln!(
                    out,
                    "score: dead {:.4} lifetimes {:.4} wasted {:.4}: {:.4}",
                    score.dead_fraction,
                    score.lifetimes,
                    score.wasted_fraction,
                    score.score()
                )
                .unwrap();
                Ok(())
            }
            "is_span_empty" => {
                let (start, end) = (self.key(), self.key_or_none("end"));
                let (after, until) = (self.time("after"), self.time("until"));
                let empty = store
                    .reader(Timestamp::MAX)?
                    .is_span_empty(span(&start, &end), after, until)?;
                writeln!(out, "is_span_empty: {empty}").unwrap();
                Ok(())
            }
            "fingerprint" => {
                let (start, end) = (self.key(), self.key_or_none("end"));
                let (after, until) = (self.time("after"), self.time("until"));
                let reader = store.reader(Timestamp::MAX)?;
                let found = reader.fingerprint(span(&start, &end), after, until)?;
                writeln!(
                    out,
                    "fingerprint: {:016x} of {} versions",
                    found.hash, found.versions
                )
                .unwrap();
                Ok(())
            }
            "split_key" => {
                let bytes = self.number("bytes").unwrap();
                let key = store.reader(Timestamp::MAX)?.find_split_key(Span::ALL, bytes)?;
                let key = key.map_or("<none>".to_owned(), |key| quoted(&key));
                writeln!(out, "split_key: {key}").unwrap();
                Ok(())
            }
            "gc" => {
                let (key, at) = (self.key(), self.time("ts"));
                let costs = self.flag("counters");
                let mut keys = [GcKey {
                    user_key: key,
                    timestamp: at,
                }];
                let mut batch = store.begin(NOW);
                let removed = batch.garbage_collect(&mut keys)?;
                writeln!(out, "gc: {} versions, {} keys", removed.versions, removed.keys).unwrap();
                if costs {
                    let cost = batch.counters();
                    writeln!(out, "gc: {} steps, {} seeks", cost.steps, cost.seeks).unwrap();
                }
                batch.commit(&durable)
            }
            "collect_garbage" => {
                let ttl = Duration::from_secs(self.number("ttl").unwrap());
                let options = GcOptions {
                    page_versions: self.number("page").unwrap_or(4096),
                    page_bytes: self.number("page_bytes").unwrap_or(1 << 20),
                    min_run_versions: self.number("run").unwrap_or(2000),
                    ..GcOptions::default()
                };
                let report = store.collect_garbage(ttl, NOW, &options)?;
                writeln!(
                    out,
                    "collect_garbage: {} versions, {} keys in {} pages, {} of them runs; threshold {}",
                    report.removed.versions, report.removed.keys, report.pages, report.runs, report.threshold
                )
                .unwrap();
                if report.range_tombstones > 0 {
                    writeln!(
                        out,
                        "collect_garbage: {} range tombstones",
                        report.range_tombstones
                    )
                    .unwrap();
                }
                Ok(())
            }
            "flush" => Ok(state.db.flush()?),
            "compact" => {
                let family = state.db.default_column_family();
                Ok(state.db.compact_range_cf(&family, None, None)?)
            }
            other => panic!("no command {other}"),
        }
    }
}

/// The row of a key: its columns are `row/1`, `row/2`.
fn row_before_slash(key: &[u8]) -> usize {
    key.iter().position(|byte| *byte == b'/').unwrap_or(key.len())
}

/// Moves the iterator by one of `first`, `last`, `next`, `next_key`, `prev`, `seek:b`, `seek:b@5`,
/// `before:b`.
fn walk(iter: &mut MvccIterator, step: &str) -> Result<bool> {
    match step.split_once(':').unwrap_or((step, "")) {
        ("first", _) => iter.seek_to_first(),
        ("last", _) => iter.seek_to_last(),
        ("next", _) => iter.next(),
        ("next_key", _) => iter.next_key(),
        ("prev", _) => iter.prev(),
        ("before", key) => iter.seek_before(key.as_bytes()),
        ("seek", key) => match key.split_once('@') {
            Some((key, time)) => iter.seek(key.as_bytes(), time.parse().unwrap()),
            None => iter.seek(key.as_bytes(), Timestamp::ZERO),
        },
        other => panic!("no move {other:?}"),
    }
}

fn show_place(iter: &mut MvccIterator, step: &str, out: &mut String) -> Result<()> {
    write!(out, "iter: {step}:").unwrap();
    match iter.user_key() {
        Some(key) => write!(out, " {}", quoted(key)).unwrap(),
        None => out.push_str(" nowhere"),
    }
    if let Some(row) = iter.point()? {
        write!(out, " @{} -> {}", row.timestamp, show(row.stored, row.user_key)).unwrap();
    }
    if let Some(range) = iter.range_tombstone() {
        let times: Vec<String> = range.timestamps.iter().map(Timestamp::to_string).collect();
        let (start, end) = (quoted(range.start), quoted(range.end));
        write!(out, " [{start}, {end}) {}", times.join(" ")).unwrap();
    }
    out.push_str(if iter.range_changed() { " changed\n" } else { "\n" });
    Ok(())
}

fn span<'a>(start: &'a [u8], end: &'a Option<Vec<u8>>) -> Span<'a> {
    Span {
        start,
        end: end.as_deref(),
    }
}

fn quoted(key: &[u8]) -> String {
    format!("\"{}\"", key.escape_ascii())
}

fn resume(command: &str, resume: &Option<Resume>, out: &mut String) {
    if let Some(resume) = resume {
        let end = resume.end.as_deref().map_or("<end>".to_owned(), quoted);
        writeln!(
            out,
            "{command}: resume span [{}, {end}) {:?} next_bytes={}",
            quoted(&resume.start),
            resume.reason,
            resume.next_bytes
        )
        .unwrap();
    }
}
