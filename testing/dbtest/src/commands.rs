//! The commands of data-driven tests: one set for all tests that use a database as its users do.
//!
//! Keys and values are written as in [`testkit::keys`]: printable, with `\xNN` for other bytes, `""` if
//! empty. `<100>` is a value of 100 bytes that do not compress. In a family with timestamps a written key has
//! the form `key/5`. Each command that may start background work waits for it to end, unless it has
//! `no_wait`, so that its output is deterministic.
//!
//! | command | does |
//! |---|---|
//! | `new [gate]` | a database in an empty file system, with default options and those of the lines below: `name=value`, as in [`settings::set`] |
//! | `hold`, `go` | pauses and continues compactions, and flushes that merge, inside user code; for a database made with `new gate` |
//! | `open [read_only] [second]` | closes the database, and opens it with default options and those of the lines below; `second` does not close it |
//! | `reopen [read_only] [kill]` | closes the database, or with `kill` ends its process, and opens it with the previous options and those of the lines below |
//! | `close`, `destroy` | |
//! | `write [sync] [disable_wal] [no_slowdown] [ignore_missing_column_families] [no_wait]` | one batch: `put K V`, `del K`, `sdel K`, `merge K V`, `delrange A B`, `entity K NAME=V ...`, `log TEXT`; after `@FAMILY`, in that family |
//! | `fill from= to= [len=] [step=] [no_slowdown] [cf=]` | puts `key000000`, ... one by one |
//! | `get`, `multi_get` | keys, one a line |
//! | `get_entity`, `multi_get_entity` | keys, one a line: their columns |
//! | `get_operands [max=]` | keys, one a line: their merge operands |
//! | `scan [reverse]` | every row |
//! | `scan_families [reverse] [groups]` | families, one a line: every key with its columns, or with `groups` those of each family |
//! | `iter [as=]` | `first`, `last`, `next`, `prev`, `seek K`, `seek_for_prev K`, `refresh [SNAPSHOT]`, each printing the position; `as` keeps the iterator under a name |
//! | `snapshot as=`, `release as=` | takes a snapshot; releases a snapshot, iterator or handle |
//! | `flush`, `wait`, `sync_wal` | |
//! | `compact [begin=] [end=] [bottommost=] [change_level] [target=]` | a manual compaction |
//! | `lsm [entries]` | levels and files, with `entries` also their contents |
//! | `check` | the invariants of [`files`] |
//! | `property name=`, `approximate_sizes` | |
//! | `files` | the number of files of each kind, for a closed database: an open one deletes files in the background |
//! | `events` | the number of events of each kind since the last `events` or `new`, for a closed database, because events arrive with a delay |
//! | `create_cf as=`, `drop_cf as=`, `cfs` | |
//!
//! Reads take `cf=`, `snapshot=`, `lower=`, `upper=`, `ts=`, `prefix_same_as_start`,
//! `auto_refresh_iterator_with_snapshot`.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use base::InternalComparator;
use base::filename::{self, FileKind};
use esker::{
    BottommostLevelCompaction, ColumnFamily, Columns, CompactRangeOptions, CompactionFilter,
    CompactionFilterFactory, Db, DbIterator, Error, Event, FilterContext, LiveFile, MergeOperator, Options,
    ReadOptions, Result, Snapshot, WriteBatch, WriteOptions,
};
use sst::{BlockReadOptions, Table, TableReadOptions};
use testkit::datadriven::TestCase;
use testkit::keys::{Tombstone, escape, print_entry, unescape};
use vfs::{FileSystem, MemFs};

use crate::by_hand::at_once;
use crate::events::Recorder;
use crate::gate::Gate;
use crate::{files, settings};

/// The path of the database in the file system in memory.
const PATH: &str = "/db";

/// The length in bytes from which on a value is printed as its length.
const LONG: usize = 40;

/// A database in memory, and the snapshots, iterators and handles that a script holds.
pub struct Session {
    fs: MemFs,
    options: Options,
    db: Option<Db>,
    snapshots: BTreeMap<String, Snapshot>,
    iterators: BTreeMap<String, DbIterator>,
    /// Handles of families that were taken before the families were dropped.
    handles: BTreeMap<String, ColumnFamily>,
    /// The events that are counted, each as its [`word`].
    events: Arc<Recorder<String>>,
    gate: Arc<Gate>,
}

/// The [`word`] for an event that is counted.
fn counted(event: &Event) -> Option<String> {
    // These events are not counted: the event at the end of a job repeats its beginning, and the number of
    // deletions, and of flushes for waiting writers, is random.
    let told_elsewhere = matches!(
        event,
        Event::FileDeleted { .. }
            | Event::MemtableSealed { .. }
            | Event::SubcompactionBegun { .. }
            | Event::SubcompactionCompleted { .. }
            | Event::FlushBegun { .. }
            | Event::CompactionBegun { .. }
            | Event::JobEnded { .. }
            | Event::TableCreationStarted { .. }
            | Event::TableCreationFailed { .. }
            | Event::BlobFileCreationStarted { .. }
            | Event::BlobFileCreationFailed { .. }
            | Event::TableCreated { .. }
            | Event::BlobFileCreated { .. }
            | Event::WalCreated { .. }
            | Event::RecoveryBegun { .. }
            | Event::Recovered { .. }
    );
    (!told_elsewhere && !event.is_memtable_stall()).then(|| word(event))
}

/// Pauses background work in user code: in a compaction filter factory that returns no filter, and in a merge
/// operator.
struct PausesAt(Arc<Gate>);

impl CompactionFilterFactory for PausesAt {
    fn name(&self) -> &str {
        "dbtest.Gate"
    }

    fn create(&self, _context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        self.0.pass();
        None
    }
}

impl MergeOperator for PausesAt {
    fn name(&self) -> &str {
        "dbtest.Gate"
    }

    fn full_merge(&self, _key: &[u8], _existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        self.0.pass();
        operands.last().map(|operand| operand.to_vec())
    }
}

fn word(event: &Event) -> String {
    match event {
        Event::Flushed { family, .. } => format!("[{family}] flushed"),
        Event::Compacted { family, .. } => format!("[{family}] compacted"),
        Event::Dropped { family, reason, .. } => format!("[{family}] dropped for {reason}"),
        Event::Moved { family, .. } => format!("[{family}] moved"),
        other => other.to_string(),
    }
}

impl Default for Session {
    fn default() -> Session {
        Session::new()
    }
}

impl Session {
    /// Creates a session without a database.
    pub fn new() -> Session {
        Session {
            fs: MemFs::new(),
            options: Options::default(),
            db: None,
            snapshots: BTreeMap::new(),
            iterators: BTreeMap::new(),
            handles: BTreeMap::new(),
            events: Recorder::of(counted),
            gate: Arc::default(),
        }
    }

    /// Runs one command and returns its output. Errors are part of the output.
    pub fn run(&mut self, case: &mut TestCase) -> String {
        let mut out = String::new();
        if let Err(error) = self.command(case, &mut out) {
            // The number of a MANIFEST is cut off: it depends on the number of files that background work has
            // created.
            let text = error.to_string();
            let text = match text.split_once("/MANIFEST-") {
                Some((before, _)) => format!("{before}/MANIFEST"),
                None => text,
            };
            out.push_str(&format!("{text}\n"));
        }
        out
    }

    fn command(&mut self, case: &mut TestCase, out: &mut String) -> Result<()> {
        match case.directive.clone().as_str() {
            "new" => {
                self.close()?;
                self.fs = MemFs::new();
                self.events = Recorder::of(counted);
                self.reset_options();
                if flag(case, "gate") {
                    let family = &mut self.options.column_family;
                    family.compaction_filter_factory = Some(Arc::new(PausesAt(self.gate.clone())));
                    family.merge_operator = Some(Arc::new(PausesAt(self.gate.clone())));
                }
                self.open(case)
            }
            "hold" => {
                self.gate.close();
                Ok(())
            }
            "go" => {
                self.gate.open();
                self.settle(case)
            }
            "open" => {
                if !flag(case, "second") {
                    self.close()?;
                }
                self.reset_options();
                self.open(case)
            }
            "reopen" => {
                if flag(case, "kill") {
                    // The new database opens a copy of the file system as the death of a process leaves it;
                    // the old database is closed in the original.
                    self.fs = self.fs.process_death_clone();
                }
                self.close()?;
                self.open(case)
            }
            "close" => self.close(),
            "destroy" => Db::destroy(&self.options, PATH),
            "write" => self.write(case),
            "fill" => self.fill(case),
            "get" => self.get(case, out),
            "multi_get" => self.multi_get(case, out),
            "get_entity" => self.get_entity(case, out),
            "multi_get_entity" => self.multi_get_entity(case, out),
            "get_operands" => self.get_operands(case, out),
            "scan" => self.scan(case, out),
            "scan_families" => self.scan_families(case, out),
            "iter" => self.iter(case, out),
            "snapshot" => {
                let snapshot = self.db()?.snapshot();
                self.snapshots.insert(required(case, "as")?, snapshot);
                Ok(())
            }
            "release" => {
                let name: String = required(case, "as")?;
                let held = self.snapshots.remove(&name).is_some() | self.iterators.remove(&name).is_some();
                if held | self.handles.remove(&name).is_some() {
                    Ok(())
                } else {
                    Err(misuse(format!("nothing is held as {name}")))
                }
            }
            "flush" => {
                let family = self.family(case)?;
                self.db()?.flush_cf_opt(&[family], &at_once())?;
                self.settle(case)
            }
            "wait" => self.db()?.wait_for_compact(),
            "sync_wal" => self.db()?.sync_wal(),
            "compact" => self.compact(case),
            "lsm" => self.lsm(case, out),
            "check" => {
                out.push_str(&files::check(self.db()?)?);
                Ok(())
            }
            "property" => {
                let (family, name) = (self.family(case)?, required::<String>(case, "name")?);
                out.push_str(
                    &self
                        .db()?
                        .property(&family, &name)
                        .unwrap_or_else(|| "unknown".to_owned()),
                );
                Ok(())
            }
            "approximate_sizes" => self.approximate_sizes(case, out),
            "files" => self.files(out),
            "events" => {
                self.must_be_closed()?;
                let mut counts: BTreeMap<String, usize> = BTreeMap::new();
                for word in self.events.take() {
                    *counts.entry(word).or_default() += 1;
                }
                for (word, count) in counts {
                    // The number is omitted for a stall condition: it depends on which job ends first.
                    let times = if word.contains("] writes ") {
                        String::new()
                    } else {
                        format!(": {count}")
                    };
                    out.push_str(&format!("{word}{times}\n"));
                }
                Ok(())
            }
            "create_cf" => self.create_family(case),
            "drop_cf" => {
                let name: String = required(case, "as")?;
                let family = self.named_family(&name)?;
                self.db()?.drop_column_family(&family)?;
                self.options.column_families.remove(&name);
                self.handles.insert(name, family);
                Ok(())
            }
            "cfs" => {
                let names = Db::list_column_families(&self.options, PATH)?;
                out.push_str(&names.join(" "));
                Ok(())
            }
            other => Err(misuse(format!("unknown command {other}"))),
        }
    }

    // The commands that open and close.

    fn reset_options(&mut self) {
        self.options = Options {
            create_if_missing: true,
            ..Options::default()
        };
        self.options.listeners.push(self.events.clone());
    }

    fn open(&mut self, case: &mut TestCase) -> Result<()> {
        for (name, value) in case
            .input
            .split_whitespace()
            .filter_map(|setting| setting.split_once('='))
        {
            settings::set(&mut self.options, name, value)?;
        }
        self.options.fs = Arc::new(self.fs.clone());
        let path = Path::new(PATH);
        let db = if flag(case, "read_only") {
            Db::open_read_only(&self.options, path)?
        } else {
            Db::open(&self.options, path)?
        };
        self.db = Some(db);
        self.settle(case)
    }

    fn close(&mut self) -> Result<()> {
        self.snapshots.clear();
        self.handles.clear();
        self.db.take().map_or(Ok(()), |db| db.close())
    }

    fn db(&self) -> Result<&Db> {
        self.db.as_ref().ok_or_else(|| misuse("no database is open"))
    }

    /// Waits for the end of background work, unless it is paused.
    fn settle(&self, case: &mut TestCase) -> Result<()> {
        let held = flag(case, "no_wait") | flag(case, "read_only") | !self.gate.is_open();
        if held {
            Ok(())
        } else {
            self.db()?.wait_for_compact()
        }
    }

    // The commands about families.

    fn create_family(&mut self, case: &mut TestCase) -> Result<()> {
        let name: String = required(case, "as")?;
        let mut options = self.options.column_family.clone();
        for (name, value) in case
            .input
            .split_whitespace()
            .filter_map(|setting| setting.split_once('='))
        {
            settings::set_family(&mut options, name, value)?;
        }
        self.db()?.create_column_family(&name, &options)?;
        self.options.column_families.insert(name, options);
        Ok(())
    }

    fn family(&self, case: &mut TestCase) -> Result<ColumnFamily> {
        match optional::<String>(case, "cf")? {
            Some(name) => self.named_family(&name),
            None => Ok(self.db()?.default_column_family()),
        }
    }

    fn named_family(&self, name: &str) -> Result<ColumnFamily> {
        let held = self.handles.get(name).cloned();
        held.or(self.db()?.column_family(name))
            .ok_or_else(|| misuse(format!("no column family {name}")))
    }

    // The commands that write.

    fn write(&mut self, case: &mut TestCase) -> Result<()> {
        let options = WriteOptions {
            sync: flag(case, "sync"),
            disable_wal: flag(case, "disable_wal"),
            no_slowdown: flag(case, "no_slowdown"),
            ignore_missing_column_families: flag(case, "ignore_missing_column_families"),
            ..WriteOptions::default()
        };
        let mut batch = WriteBatch::new();
        for line in case.input.lines() {
            let mut words = line.split_whitespace().peekable();
            let family = match words.next_if(|word| word.starts_with('@')) {
                Some(name) => self.named_family(&name[1..])?,
                None => self.db()?.default_column_family(),
            };
            let words: Vec<&str> = words.collect();
            add_to_batch(&mut batch, &family, &words).map_err(|error| error.context(line))?;
        }
        self.db()?.write_opt(batch, &options)?;
        self.settle(case)
    }

    fn fill(&mut self, case: &mut TestCase) -> Result<()> {
        let (from, to): (usize, usize) = (required(case, "from")?, required(case, "to")?);
        let len = optional(case, "len")?.unwrap_or(20);
        let step = optional(case, "step")?.unwrap_or(1);
        let options = WriteOptions {
            no_slowdown: flag(case, "no_slowdown"),
            ..WriteOptions::default()
        };
        let (db, family) = (self.db()?, self.family(case)?);
        for number in (from..to).step_by(step) {
            db.put_cf_opt(
                &family,
                format!("key{number:06}").as_bytes(),
                filler(number, len),
                &options,
            )?;
        }
        self.settle(case)
    }

    // The commands that read.

    fn snapshot(&self, name: &str) -> Result<&Snapshot> {
        let held = self.snapshots.get(name);
        held.ok_or_else(|| misuse(format!("no snapshot {name}")))
    }

    fn read_options(&self, case: &mut TestCase) -> Result<ReadOptions> {
        let snapshot = optional::<String>(case, "snapshot")?.map(|name| self.snapshot(&name).cloned());
        Ok(ReadOptions {
            snapshot: snapshot.transpose()?,
            iterate_lower_bound: optional_bytes(case, "lower")?,
            iterate_upper_bound: optional_bytes(case, "upper")?,
            prefix_same_as_start: flag(case, "prefix_same_as_start"),
            auto_refresh_iterator_with_snapshot: flag(case, "auto_refresh_iterator_with_snapshot"),
            timestamp: optional::<u64>(case, "ts")?.map(|timestamp| timestamp.to_le_bytes().to_vec()),
            ..ReadOptions::default()
        })
    }

    fn get(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, family) = (self.read_options(case)?, self.family(case)?);
        for key in case.input.lines() {
            let value = self.db()?.get_cf_opt(&family, &bytes(key)?, &options);
            print_found(out, key, value);
        }
        Ok(())
    }

    fn multi_get(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, family) = (self.read_options(case)?, self.family(case)?);
        let keys: Vec<Vec<u8>> = case.input.lines().map(bytes).collect::<Result<_>>()?;
        for (key, value) in case
            .input
            .lines()
            .zip(self.db()?.multi_get_cf_opt(&family, &keys, &options))
        {
            print_found(out, key, value);
        }
        Ok(())
    }

    fn get_entity(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, family) = (self.read_options(case)?, self.family(case)?);
        for key in case.input.lines() {
            let columns = self.db()?.get_entity_cf_opt(&family, &bytes(key)?, &options);
            print_columns(out, key, columns);
        }
        Ok(())
    }

    fn multi_get_entity(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, family) = (self.read_options(case)?, self.family(case)?);
        let keys: Vec<Vec<u8>> = case.input.lines().map(bytes).collect::<Result<_>>()?;
        let found = self.db()?.multi_get_entity(&family, &keys, &options);
        for (key, columns) in case.input.lines().zip(found) {
            print_columns(out, key, columns);
        }
        Ok(())
    }

    fn get_operands(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, family) = (self.read_options(case)?, self.family(case)?);
        let most = optional(case, "max")?.unwrap_or(usize::MAX);
        for key in case.input.lines() {
            let found = self
                .db()?
                .get_merge_operands(&family, &bytes(key)?, most, &options);
            out.push_str(&match found {
                Ok(operands) => {
                    let operands: Vec<String> = operands.iter().map(|operand| show(operand)).collect();
                    format!("{key}: [{}]\n", operands.join("] ["))
                }
                Err(error) => format!("{key}: {error}\n"),
            });
        }
        Ok(())
    }

    fn scan_families(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let options = self.read_options(case)?;
        let (reverse, groups) = (flag(case, "reverse"), flag(case, "groups"));
        let families = case.input.lines().map(|name| self.named_family(name));
        let families = families.collect::<Result<Vec<_>>>()?;
        let families: Vec<&ColumnFamily> = families.iter().collect();
        let mut iter = self.db()?.multi_cf_iterator(&families, &options)?;
        if reverse {
            iter.seek_to_last()
        } else {
            iter.seek_to_first()
        }
        while iter.valid() {
            let key = escape(iter.key());
            if groups {
                for (family, columns) in iter.attribute_groups()? {
                    let named = format!("{key} @{}", family.name());
                    print_columns(out, &named, Ok(Some(columns)));
                }
            } else {
                print_columns(out, &key, iter.columns().map(Some));
            }
            if reverse { iter.prev() } else { iter.next() }
        }
        iter.status()
    }

    fn scan(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (options, family, reverse) = (
            self.read_options(case)?,
            self.family(case)?,
            flag(case, "reverse"),
        );
        let mut iter = self.db()?.iter_cf_opt(&family, &options);
        if reverse {
            iter.seek_to_last()
        } else {
            iter.seek_to_first()
        }
        while iter.valid() {
            out.push_str(&place(&iter)?);
            out.push('\n');
            if reverse { iter.prev() } else { iter.next() }
        }
        iter.status()
    }

    fn iter(&mut self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let name: Option<String> = optional(case, "as")?;
        let mut iter = match name.as_ref().and_then(|name| self.iterators.remove(name)) {
            Some(held) => held,
            None => self
                .db()?
                .iter_cf_opt(&self.family(case)?, &self.read_options(case)?),
        };
        for line in case.input.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["first"] => iter.seek_to_first(),
                ["last"] => iter.seek_to_last(),
                ["seek", key] => iter.seek(&bytes(key)?),
                ["seek_for_prev", key] => iter.seek_for_prev(&bytes(key)?),
                ["next"] if iter.valid() => iter.next(),
                ["prev"] if iter.valid() => iter.prev(),
                ["refresh"] => iter.refresh(None)?,
                ["refresh", snapshot] => iter.refresh(Some(self.snapshot(snapshot)?))?,
                ["next" | "prev"] => return Err(misuse(format!("{line} of an iterator that is not valid"))),
                _ => return Err(misuse(format!("unknown step {line}"))),
            }
            out.push_str(&format!("{line}: {}\n", place(&iter)?));
        }
        if let Some(name) = name {
            self.iterators.insert(name, iter);
        }
        Ok(())
    }

    // The commands about files and levels.

    fn compact(&self, case: &mut TestCase) -> Result<()> {
        let family = self.family(case)?;
        let bottommost = match optional::<String>(case, "bottommost")?.as_deref() {
            None => BottommostLevelCompaction::IfHaveCompactionFilter,
            Some("skip") => BottommostLevelCompaction::Skip,
            Some("force") => BottommostLevelCompaction::Force,
            Some("force_optimized") => BottommostLevelCompaction::ForceOptimized,
            Some(other) => return Err(misuse(format!("unknown bottommost={other}"))),
        };
        let options = CompactRangeOptions {
            change_level: flag(case, "change_level"),
            target_level: optional(case, "target")?,
            bottommost_level_compaction: bottommost,
            max_subcompactions: optional(case, "subcompactions")?.unwrap_or(0),
            ..CompactRangeOptions::default()
        };
        let (begin, end) = (optional_bytes(case, "begin")?, optional_bytes(case, "end")?);
        self.db()?
            .compact_range_cf_opt(&family, begin.as_deref(), end.as_deref(), &options)?;
        self.settle(case)
    }

    fn lsm(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let (family, entries) = (self.family(case)?, flag(case, "entries"));
        let mut level = None;
        for file in self
            .db()?
            .live_files()
            .iter()
            .filter(|file| file.column_family == family.name())
        {
            if level != Some(file.level) {
                level = Some(file.level);
                out.push_str(&format!("L{}\n", file.level));
            }
            let (smallest, largest) = (escape(&file.smallest_key), escape(&file.largest_key));
            out.push_str(&format!("  {smallest}..{largest}"));
            if entries {
                out.push(':');
                self.entries(&family, file, out)?;
            }
            out.push('\n');
        }
        Ok(())
    }

    fn entries(&self, family: &ColumnFamily, file: &LiveFile, out: &mut String) -> Result<()> {
        let options = TableReadOptions {
            largest_seqno: Some(file.largest_seqno),
            ..TableReadOptions::new(InternalComparator::new(family.comparator().clone()))
        };
        let table = Table::open(self.fs.open_random(&file.path, &Default::default())?, options)?;
        let mut cursor = table.cursor(BlockReadOptions::default());
        cursor.seek_to_first();
        while cursor.valid() {
            let long = format!("<{}>", cursor.value().len());
            let value = if cursor.value().len() > LONG {
                long.as_bytes()
            } else {
                cursor.value()
            };
            out.push_str(&format!(" {}", print_entry(cursor.key(), value)));
            cursor.next();
        }
        cursor.status()?;
        for tombstone in table.range_tombstones().tombstones() {
            out.push_str(&format!(
                " {}",
                Tombstone::new(tombstone.start, tombstone.end, tombstone.seqno)
            ));
        }
        Ok(())
    }

    fn approximate_sizes(&self, case: &mut TestCase, out: &mut String) -> Result<()> {
        let family = self.family(case)?;
        let mut ranges = Vec::new();
        for line in case.input.lines() {
            let (begin, end) = line
                .split_once(' ')
                .ok_or_else(|| misuse("a range is two keys"))?;
            ranges.push((bytes(begin)?, bytes(end)?));
        }
        let borrowed: Vec<(&[u8], &[u8])> =
            ranges.iter().map(|(begin, end)| (&begin[..], &end[..])).collect();
        for (line, size) in case
            .input
            .lines()
            .zip(self.db()?.approximate_sizes(&family, &borrowed)?)
        {
            // Sizes are rounded to kilobytes: the properties of tables vary from run to run.
            out.push_str(&format!("{line}: {} kB\n", size / 1000));
        }
        Ok(())
    }

    fn must_be_closed(&self) -> Result<()> {
        if self.db.is_some() {
            Err(misuse("close the database first"))
        } else {
            Ok(())
        }
    }

    /// Prints the number of files of each kind.
    fn files(&self, out: &mut String) -> Result<()> {
        self.must_be_closed()?;
        let path = Path::new(PATH);
        if !self.fs.exists(path)? {
            out.push_str("no directory");
            return Ok(());
        }
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        // Info logs are not counted: there are as many as opens.
        let mut names = self.fs.list(path)?;
        names.retain(|name| filename::parse(name) != Some(FileKind::InfoLog));
        for name in names {
            let kind = match name.split_once(['.', '-']) {
                Some((number, extension)) if number.bytes().all(|byte| byte.is_ascii_digit()) => extension,
                Some((kind, _)) => kind,
                None => &name,
            };
            *kinds.entry(kind.to_owned()).or_default() += 1;
        }
        out.push_str(
            &kinds
                .iter()
                .map(|(kind, count)| format!("{kind}: {count}"))
                .collect::<Vec<_>>()
                .join(", "),
        );
        Ok(())
    }
}

fn add_to_batch(batch: &mut WriteBatch, family: &ColumnFamily, words: &[&str]) -> Result<()> {
    // A key and its timestamp, which is empty in a family without timestamps.
    let stamped = |word: &str| -> Result<(Vec<u8>, Vec<u8>)> {
        match word
            .rsplit_once('/')
            .filter(|_| family.comparator().timestamp_size() > 0)
        {
            Some((key, timestamp)) => {
                let timestamp: u64 = timestamp.parse().map_err(|_| misuse("a timestamp is a number"))?;
                Ok((bytes(key)?, timestamp.to_le_bytes().to_vec()))
            }
            None => Ok((bytes(word)?, Vec::new())),
        }
    };
    match *words {
        ["put", key, value] => {
            let (key, timestamp) = stamped(key)?;
            batch.put_at(family, &key, &timestamp, &value_of(value)?);
        }
        ["put", key] => {
            let (key, timestamp) = stamped(key)?;
            batch.put_at(family, &key, &timestamp, b"");
        }
        ["del", key] => {
            let (key, timestamp) = stamped(key)?;
            batch.delete_at(family, &key, &timestamp);
        }
        ["sdel", key] => batch.single_delete_cf(family, &bytes(key)?),
        ["merge", key, operand] => {
            let (key, timestamp) = stamped(key)?;
            batch.merge_at(family, &key, &timestamp, &value_of(operand)?);
        }
        ["delrange", begin, end] => {
            let (begin, timestamp) = stamped(begin)?;
            batch.delete_range_at(family, &begin, &bytes(end)?, &timestamp);
        }
        ["entity", key, ref columns @ ..] => {
            let column = |word: &&str| -> Result<(Vec<u8>, Vec<u8>)> {
                let (name, value) = word.split_once('=').ok_or_else(|| misuse("NAME=VALUE"))?;
                Ok((
                    unescape(name).map_err(|error| misuse(error.to_string()))?,
                    value_of(value)?,
                ))
            };
            let columns = columns.iter().map(column).collect::<Result<Vec<_>>>()?;
            let columns: Vec<(&[u8], &[u8])> = columns
                .iter()
                .map(|(name, value)| (&name[..], &value[..]))
                .collect();
            batch.put_entity_cf(family, &bytes(key)?, &columns)?;
        }
        ["log", text] => batch.put_log_data(text.as_bytes()),
        _ => return Err(misuse("no such write")),
    }
    Ok(())
}

/// The position of an iterator, as text: its row, or `.` for none.
fn place(iter: &DbIterator) -> Result<String> {
    if !iter.valid() {
        iter.status()?;
        return Ok(".".to_owned());
    }
    let timestamp = match iter.timestamp().try_into() {
        Ok(timestamp) => format!("/{}", u64::from_le_bytes(timestamp)),
        Err(_) => String::new(),
    };
    Ok(format!(
        "{}{timestamp} = {}",
        escape(iter.key()),
        show(iter.value())
    ))
}

fn print_found(out: &mut String, key: &str, value: Result<Option<Vec<u8>>>) {
    out.push_str(&match value {
        Ok(Some(value)) => format!("{key} = {}\n", show(&value)),
        Ok(None) => format!("{key}: not found\n"),
        Err(error) => format!("{key}: {error}\n"),
    });
}

fn print_columns(out: &mut String, key: &str, columns: Result<Option<Columns>>) {
    out.push_str(&match columns {
        Ok(Some(columns)) => {
            let column = |(name, value): &(Vec<u8>, Vec<u8>)| format!(" {}={}", escape(name), show(value));
            format!("{key}:{}\n", columns.iter().map(column).collect::<String>())
        }
        Ok(None) => format!("{key}: not found\n"),
        Err(error) => format!("{key}: {error}\n"),
    });
}

fn show(value: &[u8]) -> String {
    if value.len() > LONG {
        format!("<{}>", value.len())
    } else {
        escape(value)
    }
}

fn bytes(text: &str) -> Result<Vec<u8>> {
    if text == "\"\"" {
        return Ok(Vec::new());
    }
    unescape(text).map_err(|error| misuse(error.to_string()))
}

fn value_of(word: &str) -> Result<Vec<u8>> {
    match word.strip_prefix('<').and_then(|word| word.strip_suffix('>')) {
        Some(len) => Ok(filler(
            0,
            len.parse().map_err(|_| misuse("a length is a number"))?,
        )),
        None => bytes(word),
    }
}

/// Bytes that do not compress, derived from `number`.
fn filler(number: usize, len: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(number as u64);
    (0..len).map(|_| rng.alphanumeric() as u8).collect()
}

fn misuse(message: impl Into<String>) -> Error {
    Error::invalid_argument(format!("test: {}", message.into()))
}

fn flag(case: &mut TestCase, name: &str) -> bool {
    // A flag that was given a value is not taken, so that the case fails with an argument that is not
    // understood.
    case.take_flag(name).unwrap_or(false)
}

/// A type that an argument of a command can have.
trait Argument: FromStr<Err: std::error::Error + Send + Sync + 'static> {}

impl<T: FromStr<Err: std::error::Error + Send + Sync + 'static>> Argument for T {}

fn optional<T: Argument>(case: &mut TestCase, name: &str) -> Result<Option<T>> {
    case.try_take_arg(name).map_err(|error| misuse(error.to_string()))
}

fn optional_bytes(case: &mut TestCase, name: &str) -> Result<Option<Vec<u8>>> {
    optional::<String>(case, name)?
        .map(|text| bytes(&text))
        .transpose()
}

fn required<T: Argument>(case: &mut TestCase, name: &str) -> Result<T> {
    optional(case, name)?.ok_or_else(|| misuse(format!("{name}= is missing")))
}
