//! Random histories, compared with a model: after any flush, compaction or reopening, every reader sees the
//! rows that a slow and obvious computation finds for its sequence number.
//!
//! `ESKER_SEED` replays a history (background jobs still interleave differently); `ESKER_MODEL_HISTORIES` is
//! the number of histories.

mod reads;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::{SeqNo, UserComparator};
use dbtest::{draws, files, settings};
use esker::{
    BlobGarbageCollectionPolicy, BottommostLevelCompaction, CheckpointOptions, ColumnFamily,
    ColumnFamilyOptions, CompactFilesOptions, CompactRangeOptions, Db, ErrorKind, Event, EventListener,
    FlushOptions, Options, ReadOptions, RowLimit, Snapshot, WriteBatch, WriteOptions,
};
use tempfile::TempDir;
use testkit::model::{Model, Op, Row};
use testkit::{TestRng, Watchdog};
use vfs::{FileSystem, MemFs, PosixFs};

use crate::company::{self, Company};
use reads::Walk;

/// The number of histories in a normal test run.
const HISTORIES: u64 = 16;

/// The maximum length of a value in bytes, much longer than the results of merges.
const ROW_LIMIT: usize = 1 << 16;

/// The possible numbers of steps of a history.
const STEPS: [usize; 3] = [200, 700, 3000];

/// A history without a step for this time hangs.
const HANGS_AFTER: Duration = Duration::from_secs(240);

#[test]
fn histories_equal_the_model() {
    let heart = Heart::start();
    let mut histories = 0;
    let mut work = [0; 4];
    let wanted = testkit::rng::runs("ESKER_MODEL_HISTORIES", HISTORIES);
    for seed in testkit::rng::seeds(wanted) {
        let done = History::new(TestRng::with_seed(seed), heart.clone()).run();
        work.iter_mut().zip(done).for_each(|(all, done)| *all += done);
        histories += 1;
    }
    assert_eq!(histories, testkit::rng::seeds_of(wanted));
    // A single history may be too short for each kind of work.
    if histories >= HISTORIES {
        assert!(work.iter().all(|&done| done > 0), "{work:?}");
    }
    testkit::record(
        "model_histories",
        &[("histories", histories), ("seeds", histories)],
    );
    let [flushes, compactions, divided, moves] = work;
    eprintln!(
        "{histories} histories, {flushes} flushes, {compactions} compactions ({divided} divided), {moves} moves"
    );
}

/// Notifies the watchdog of every step of a history.
struct Heart {
    watchdog: Watchdog,
    place: Arc<Mutex<HistoryProgress>>,
}

/// The progress of a history.
#[derive(Default)]
struct HistoryProgress {
    seed: u64,
    options: String,
    /// The text of the last step.
    step: String,
}

impl Heart {
    fn start() -> Arc<Heart> {
        let place: Arc<Mutex<HistoryProgress>> = Arc::default();
        let watched = place.clone();
        let watchdog = Watchdog::new("histories_equal_the_model", HANGS_AFTER, move || {
            let place = watched.lock().unwrap();
            format!(
                "ESKER_SEED={} after {}\n{}",
                place.seed, place.step, place.options
            )
        });
        Arc::new(Heart { watchdog, place })
    }
}

/// A column family in the database and in the model.
struct Family {
    handle: ColumnFamily,
    options: ColumnFamilyOptions,
    /// The family's id in the model. The model does not reuse ids either.
    id: u32,
    /// The keys that are only written by puts and single deletions, and whether each exists.
    single: HashMap<Vec<u8>, bool>,
}

/// A snapshot of the database and of the model.
struct HeldSnapshot {
    snapshot: Snapshot,
    seqno: SeqNo,
}

struct History {
    rng: TestRng,
    heart: Arc<Heart>,
    options: Options,
    path: PathBuf,
    db: Option<Db>,
    model: Model,
    families: Vec<Family>,
    next_family: u32,
    snapshots: Vec<HeldSnapshot>,
    walks: Vec<Walk>,
    /// The number of distinct keys.
    keys: usize,
    max_value: usize,
    /// True if some rows are written without a WAL.
    without_wal: bool,
    /// The steps, for the analysis of a failure.
    log: Vec<String>,
    events: Arc<Events>,
    /// The concurrent threads, in some histories.
    company: Option<Company>,
    company_rows: Option<company::Rows>,
    /// The directory of the database, if it is on disk; deleted last.
    directory: Option<TempDir>,
}

/// The background jobs of the database.
#[derive(Default)]
struct Events(Mutex<Vec<String>>);

impl EventListener for Events {
    fn on_event(&self, event: &Event) {
        self.0.lock().unwrap().push(event.to_string());
    }
}

impl Drop for History {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.describe());
            let from = self.log.len().saturating_sub(40);
            self.log[from..].iter().for_each(|step| eprintln!("  {step}"));
            let events = self.events.0.lock().unwrap();
            events[events.len().saturating_sub(60)..]
                .iter()
                .for_each(|event| eprintln!("  {event}"));
        }
    }
}

impl History {
    fn new(mut rng: TestRng, heart: Arc<Heart>) -> History {
        heart.place.lock().unwrap().seed = rng.seed();
        // Most databases are in memory, which is faster, but only databases on a disk have mapped WALs.
        let directory = rng.one_in(10).then(|| TempDir::new().unwrap());
        let fs: Arc<dyn FileSystem> = match &directory {
            Some(_) => Arc::new(PosixFs::new()),
            None => Arc::new(MemFs::new()),
        };
        let path = directory
            .as_ref()
            .map_or(PathBuf::from("/db"), |directory| directory.path().join("db"));
        let mut options = Options {
            create_if_missing: true,
            fs,
            ..Options::default()
        };
        settings::draw_of_database(&mut rng, &mut options);
        options.row_limit = RowLimit::at_most(ROW_LIMIT);
        let events = Arc::new(Events::default());
        options.listeners.push(events.clone());
        options.column_family = family_options(&mut rng, options.allow_concurrent_memtable_write);
        let keys = *rng.pick(&[5, 40, 200, 1000]);
        let max_value = *rng.pick(&[8, 50, 400, 5000]);
        let without_wal = rng.one_in(5);
        let mut history = History {
            rng,
            heart,
            options,
            path,
            db: None,
            model: Model::new(),
            families: Vec::new(),
            next_family: 0,
            snapshots: Vec::new(),
            walks: Vec::new(),
            keys,
            max_value,
            without_wal,
            log: Vec::new(),
            events,
            company: None,
            company_rows: None,
            directory,
        };
        let db = Db::open(&history.options, &history.path).unwrap();
        history.add_family(db.default_column_family(), history.options.column_family.clone());
        history.db = Some(db);
        for _ in 0..history.rng.usize(..3) {
            history.create_family();
        }
        if history.rng.one_in(3) {
            let together = history.options.allow_concurrent_memtable_write;
            let mut options = family_options(&mut history.rng, together);
            options.comparator = UserComparator::Bytewise;
            history
                .db()
                .create_column_family(company::FAMILY, &options)
                .unwrap();
            history
                .options
                .column_families
                .insert(company::FAMILY.to_owned(), options);
            history.company_rows = Some(company::Rows::new());
            history.start_company();
        }
        history
    }

    fn describe(&self) -> String {
        let mut text = format!("options: {}", settings::differing(&self.options));
        for family in &self.families {
            let (name, options) = (family.handle.name(), &family.options);
            let own = [settings::differing(options), settings::differing(&options.table)].join(" ");
            let operator = options
                .merge_operator
                .as_ref()
                .map_or("none", |operator| operator.name());
            text += &format!("\nfamily {name}: {own} {:?} {operator}", options.comparator);
        }
        text
    }

    fn start_company(&mut self) {
        if let Some(rows) = self.company_rows.take() {
            self.company = Some(Company::start(&self.db(), self.rng.u64(..), rows));
        }
    }

    /// Ends the other threads and checks their rows.
    fn stop_company(&mut self) {
        if let Some(company) = self.company.take() {
            self.company_rows = Some(company.stop());
            self.check_company();
        }
    }

    fn check_company(&self) {
        if let Some(expected) = &self.company_rows {
            let (db, read) = (self.db(), ReadOptions::default());
            let family = db.column_family(company::FAMILY).unwrap();
            let rows = company::rows(&db, &family, &read, false);
            let key = |row: &Row| show_key(&row.0);
            let expected: Vec<Row> = expected
                .iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            assert_eq!(
                rows.iter().map(key).collect::<Vec<_>>(),
                expected.iter().map(key).collect::<Vec<_>>()
            );
            assert!(rows == expected, "values of the company's family");
        }
    }

    fn db(&self) -> Db {
        self.db.clone().expect("open between steps")
    }

    fn note(&mut self, step: String) {
        self.heart.place.lock().unwrap().step.clone_from(&step);
        self.log.push(step);
        self.heart.watchdog.beat();
        if let Some(company) = &self.company {
            company.step();
        }
    }

    /// Runs the history, and returns the numbers of flushes, compactions and moves.
    fn run(mut self) -> [usize; 4] {
        let most = if self.directory.is_some() {
            STEPS[0]
        } else {
            usize::MAX
        };
        for _ in 0..most.min(*self.rng.pick(&STEPS)) {
            self.heart.place.lock().unwrap().options = self.describe();
            match self.rng.u32(..100) {
                0..30 => self.write_batch(),
                30..45 => self.write_single(),
                45..55 => self.get(),
                55..60 => self.multi_get(),
                60..66 => self.scan(),
                66..72 => self.start_walk(),
                72..82 => self.go_on_walking(),
                82..86 => self.take_snapshot(),
                86..88 => self.release_snapshot(),
                88..92 => self.flush(),
                92..94 => self.compact_range(),
                94 => self.compact_files(),
                95 => self.checkpoint(),
                96 => self.create_family(),
                97 => self.drop_family(),
                98 => self.reopen(),
                _ => self.read_only(),
            }
        }
        self.check_files();
        self.check_everything();
        self.reopen();
        self.check_everything();
        self.check_files();
        self.stop_company();
        let events = self.events.0.lock().unwrap();
        ["flushed", "compacted", "subcompactions", "moved"]
            .map(|word| events.iter().filter(|event| event.contains(word)).count())
    }

    // Steps about column families.

    fn add_family(&mut self, handle: ColumnFamily, options: ColumnFamilyOptions) {
        let id = self.next_family;
        self.next_family += 1;
        self.model
            .create_family(id, options.comparator.clone(), options.merge_operator.clone());
        self.families.push(Family {
            handle,
            options,
            id,
            single: HashMap::new(),
        });
    }

    fn create_family(&mut self) {
        if self.families.len() > 3 {
            return;
        }
        let name = format!("family{}", self.next_family);
        let together = self.options.allow_concurrent_memtable_write;
        let options = family_options(&mut self.rng, together);
        let handle = self.db().create_column_family(&name, &options).unwrap();
        self.note(format!("create {name}"));
        self.options.column_families.insert(name, options.clone());
        self.add_family(handle, options);
    }

    fn drop_family(&mut self) {
        if self.families.len() < 2 || !self.rng.one_in(3) {
            return;
        }
        let family = self.families.remove(self.rng.usize(1..self.families.len()));
        let name = family.handle.name().to_owned();
        self.note(format!("drop {name}"));
        self.db().drop_column_family(&family.handle).unwrap();
        self.options.column_families.remove(&name);
        // The handle of the dropped family can still be read.
        let rows = self.model.rows(family.id, self.model.last_seqno()).unwrap();
        assert_eq!(
            all_rows(&self.db(), &family.handle, &ReadOptions::default()),
            rows
        );
        let error = self.db().put_cf(&family.handle, b"k", b"v").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ColumnFamilyDropped);
        self.model.drop_family(family.id);
    }

    fn some_family(&mut self) -> usize {
        self.rng.usize(..self.families.len())
    }

    // Steps that write.

    /// A random key from the common set: most are short, some are long, one is empty.
    fn key(&mut self) -> Vec<u8> {
        draws::key(&mut self.rng, self.keys)
    }

    fn value(&mut self) -> Vec<u8> {
        draws::value(&mut self.rng, self.max_value)
    }

    /// A random operation that is valid after the history so far.
    fn operation(&mut self, family: usize) -> Op {
        match self.rng.u32(..20) {
            // With a merge operator the result of a merge onto a row of the maximum length is too long.
            0 if self.families[family].options.merge_operator.is_none() && self.rng.one_in(300) => {
                Op::Put(self.key(), vec![b'l'; ROW_LIMIT])
            }
            0..10 => Op::Put(self.key(), self.value()),
            10..13 => Op::Delete(self.key()),
            13..16 if self.families[family].options.merge_operator.is_some() => {
                let len = self.rng.usize(..=8);
                Op::Merge(self.key(), self.rng.bytes(len))
            }
            16..19 => {
                let key = format!("s{:05}", self.rng.usize(..self.keys.min(100))).into_bytes();
                let exists = self.families[family].single.entry(key.clone()).or_insert(false);
                *exists = !*exists;
                if *exists {
                    Op::Put(key, self.value())
                } else {
                    Op::SingleDelete(key)
                }
            }
            19 => self.range_deletion(family),
            _ => Op::Put(self.key(), self.value()),
        }
    }

    fn range_deletion(&mut self, family: usize) -> Op {
        let cmp = self.families[family].options.comparator.clone();
        let mut bounds = [self.key(), self.key()];
        if self.rng.one_in(4) {
            bounds[1] = format!("s{:05}", self.rng.usize(..100)).into_bytes();
        }
        // Most ranges are short, so that rows are left to read.
        if !self.rng.one_in(4) {
            bounds[1] = [&bounds[0][..], b"~"].concat();
        }
        bounds.sort_by(|a, b| cmp.compare(a, b));
        let [start, end] = bounds;
        for (key, exists) in &mut self.families[family].single {
            if cmp.compare(&start, key).is_le() && cmp.compare(key, &end).is_lt() {
                *exists = false;
            }
        }
        Op::DeleteRange(start, end)
    }

    fn write_options(&mut self) -> WriteOptions {
        let disable_wal = self.without_wal && self.rng.one_in(3);
        WriteOptions {
            disable_wal,
            sync: !disable_wal && self.rng.one_in(20),
            ..WriteOptions::default()
        }
    }

    fn write_batch(&mut self) {
        let mut batch = WriteBatch::new();
        let mut operations = Vec::new();
        for _ in 0..self.rng.usize(1..30) {
            let at = self.some_family();
            let operation = self.operation(at);
            let family = &self.families[at];
            match &operation {
                Op::Put(key, value) => batch.put_cf(&family.handle, key, value),
                Op::Delete(key) => batch.delete_cf(&family.handle, key),
                Op::SingleDelete(key) => batch.single_delete_cf(&family.handle, key),
                Op::Merge(key, operand) => batch.merge_cf(&family.handle, key, operand),
                Op::DeleteRange(start, end) => batch.delete_range_cf(&family.handle, start, end),
            }
            operations.push((family.id, operation));
        }
        self.note(format!(
            "write {}",
            operations
                .iter()
                .map(|(id, op)| format!("{id}:{}", show(op)))
                .collect::<Vec<_>>()
                .join(" ")
        ));
        let options = self.write_options();
        self.db().write_opt(batch, &options).unwrap();
        self.model.write(&operations);
    }

    fn write_single(&mut self) {
        let at = self.some_family();
        if self.rng.one_in(15) {
            return self.write_too_large(at);
        }
        let operation = self.operation(at);
        let options = self.write_options();
        let (db, family) = (self.db(), &self.families[at]);
        let written = match &operation {
            Op::Put(key, value) => db.put_cf_opt(&family.handle, key, value, &options),
            Op::Delete(key) => db.delete_cf_opt(&family.handle, key, &options),
            Op::SingleDelete(key) => db.single_delete_cf_opt(&family.handle, key, &options),
            Op::Merge(key, operand) => db.merge_cf_opt(&family.handle, key, operand, &options),
            Op::DeleteRange(start, end) => db.delete_range_cf_opt(&family.handle, start, end, &options),
        };
        let id = family.id;
        self.note(format!("single {id}:{}", show(&operation)));
        written.unwrap();
        self.model.apply(id, &operation);
    }

    /// A row that is too large is refused, and nothing of its batch is written.
    fn write_too_large(&mut self, at: usize) {
        let (key, options) = (self.key(), self.write_options());
        self.note(format!("too large for {}", self.families[at].handle.name()));
        let (db, family) = (self.db(), &self.families[at].handle);
        let large = vec![b'l'; ROW_LIMIT + 1];
        let long_key = &large[..ROW_LIMIT - 7];
        let written = match self.rng.u32(..4) {
            0 => db.put_cf_opt(family, &key, &large, &options),
            1 => db.delete_cf_opt(family, long_key, &options),
            2 => db.delete_range_cf_opt(family, long_key, &large, &options),
            _ => {
                let mut batch = WriteBatch::new();
                batch.put_cf(family, &key, b"not this");
                batch.delete_cf(family, b"");
                batch.put_cf(family, &key, &large);
                db.write_opt(batch, &options)
            }
        };
        let error = written.unwrap_err();
        assert!(error.message().contains("is too large"), "{error}");
    }

    // Steps of background work.

    fn flush(&mut self) {
        let at = self.some_family();
        let handle = self.families[at].handle.clone();
        self.note(format!("flush {}", handle.name()));
        let mut options = FlushOptions::default();
        (options.wait, options.allow_write_stall) = (!self.rng.one_in(4), self.rng.one_in(2));
        self.db().flush_cf_opt(&[handle], &options).unwrap();
    }

    fn compact_range(&mut self) {
        let at = self.some_family();
        let mut bounds = [self.any_key(), self.any_key()];
        let cmp = &self.families[at].options.comparator;
        bounds.sort_by(|a, b| cmp.compare(a, b));
        let [begin, end] = &bounds;
        let (begin, end) = (
            self.rng.bool().then_some(&begin[..]),
            self.rng.bool().then_some(&end[..]),
        );
        let options = CompactRangeOptions {
            change_level: self.rng.one_in(6),
            bottommost_level_compaction: *self.rng.pick(&[
                BottommostLevelCompaction::Skip,
                BottommostLevelCompaction::IfHaveCompactionFilter,
                BottommostLevelCompaction::Force,
                BottommostLevelCompaction::ForceOptimized,
            ]),
            max_subcompactions: self.rng.u32(..4),
            blob_garbage_collection_policy: *self.rng.pick(&[
                BlobGarbageCollectionPolicy::UseDefault,
                BlobGarbageCollectionPolicy::Force,
                BlobGarbageCollectionPolicy::Disable,
            ]),
            blob_garbage_collection_age_cutoff: self.rng.bool().then(|| self.rng.f64()),
            exclusive_manual_compaction: self.rng.one_in(4),
            allow_write_stall: self.rng.bool(),
            ..CompactRangeOptions::default()
        };
        let handle = self.families[at].handle.clone();
        let bound = |key: Option<&[u8]>| key.map_or("-".to_owned(), show_key);
        self.note(format!(
            "compact {} {} {} {options:?}",
            handle.name(),
            bound(begin),
            bound(end)
        ));
        self.db()
            .compact_range_cf_opt(&handle, begin, end, &options)
            .unwrap();
        if self.rng.one_in(4) {
            self.check_files();
        }
    }

    fn compact_files(&mut self) {
        let at = self.some_family();
        let handle = self.families[at].handle.clone();
        let mut numbers = Vec::new();
        let mut lowest = 0;
        for file in self.db().live_files() {
            if file.column_family == handle.name() && self.rng.one_in(3) {
                numbers.push(file.number);
                lowest = lowest.max(file.level);
            }
        }
        if numbers.is_empty() {
            return;
        }
        let output_level = self.rng.usize(lowest..handle.options().num_levels as usize);
        let options = CompactFilesOptions {
            output_file_size_limit: self.rng.bool().then_some(2000),
            allow_trivial_move: self.rng.bool(),
            max_subcompactions: self.rng.u32(..4),
            ..CompactFilesOptions::default()
        };
        self.note(format!(
            "compact files {numbers:?} of {} to {output_level} {options:?}",
            handle.name()
        ));
        let compacted = self.db().compact_files(&handle, &numbers, output_level, &options);
        if let Err(error) = compacted {
            // The compaction is refused if a background compaction has the files, or has replaced them.
            assert!(
                matches!(error.kind(), ErrorKind::Aborted | ErrorKind::InvalidArgument),
                "{error}"
            );
        }
        if self.rng.one_in(4) {
            self.check_files();
        }
    }

    fn check_files(&mut self) {
        if self.company.is_none() && self.rng.bool() {
            self.db().wait_for_compact().unwrap();
        }
        let found = files::check(&self.db()).unwrap();
        assert!(found.is_empty(), "{found}");
        self.note("check files".to_owned());
    }

    fn check_everything(&mut self) {
        for family in &self.families {
            let mut reads = vec![(ReadOptions::default(), self.model.last_seqno())];
            reads.extend(self.snapshots.iter().map(|held| {
                (
                    ReadOptions {
                        snapshot: Some(held.snapshot.clone()),
                        ..ReadOptions::default()
                    },
                    held.seqno,
                )
            }));
            for (options, seqno) in reads {
                let rows = self.model.rows(family.id, seqno).unwrap();
                let db = self.db();
                assert_eq!(all_rows(&db, &family.handle, &options), rows);
                for (key, value) in &rows {
                    assert_eq!(
                        db.get_cf_opt(&family.handle, key, &options).unwrap().as_ref(),
                        Some(value)
                    );
                }
            }
        }
        self.note("check everything".to_owned());
    }

    fn reopen(&mut self) {
        self.note("reopen".to_owned());
        self.stop_company();
        self.snapshots.clear();
        self.walks.clear();
        let db = self.db.take().expect("open between steps");
        if self.rng.bool() {
            db.close().unwrap();
        }
        drop(db);
        if self.rng.bool() {
            let together = self.options.allow_concurrent_memtable_write;
            settings::draw_of_database(&mut self.rng, &mut self.options);
            // Families keep the kind of memtable they were created with.
            self.options.allow_concurrent_memtable_write = together;
        }
        let db = Db::open(&self.options, &self.path).unwrap();
        for family in &mut self.families {
            family.handle = db.column_family(family.handle.name()).unwrap();
        }
        let others = usize::from(self.company_rows.is_some());
        assert_eq!(db.column_families().len(), self.families.len() + others);
        self.db = Some(db);
        self.check_company();
        self.start_company();
    }

    /// Makes a checkpoint of the current state.
    fn checkpoint(&mut self) {
        let options = CheckpointOptions {
            log_size_for_flush: *self.rng.pick(&[0, 10_000, u64::MAX]),
        };
        let dir = self.path.with_file_name("checkpoint");
        self.note(format!("checkpoint {options:?}"));
        let seqno = self.db().create_checkpoint(&dir, &options).unwrap();
        if self.company.is_none() {
            assert_eq!(seqno, self.db().latest_sequence_number());
        }
        let mut of_copy = self.options.clone();
        of_copy.track_and_verify_wals = false; // a checkpoint may have no WAL
        // Some checkpoints are written to.
        if self.rng.bool() {
            let reader = Db::open_read_only(&of_copy, &dir).unwrap();
            self.assert_as_now(&reader);
        } else {
            let copy = Db::open(&of_copy, &dir).unwrap();
            self.assert_as_now(&copy);
            assert_eq!(files::check(&copy).unwrap(), "");
            copy.put(b"k", b"v").unwrap();
            copy.close().unwrap();
        }
        Db::destroy(&self.options, &dir).unwrap();
    }

    fn assert_as_now(&self, db: &Db) {
        for family in &self.families {
            let handle = db.column_family(family.handle.name()).unwrap();
            let rows = self.model.rows(family.id, self.model.last_seqno()).unwrap();
            assert_eq!(all_rows(db, &handle, &ReadOptions::default()), rows);
        }
    }

    /// Opens a second handle of the same directory for reading.
    fn read_only(&mut self) {
        if self.without_wal || self.company.is_some() {
            return;
        }
        self.db().wait_for_compact().unwrap();
        let reader = Db::open_read_only(&self.options, &self.path).unwrap();
        self.assert_as_now(&reader);
        self.note("read only".to_owned());
    }
}

fn family_options(rng: &mut TestRng, together: bool) -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions {
        write_buffer_size: 16 << 10,
        target_file_size_base: 4 << 10,
        max_bytes_for_level_base: 16 << 10,
        ..ColumnFamilyOptions::default()
    };
    settings::draw(rng, &mut options);
    settings::draw(rng, &mut options.table);
    options.memtable_factory = settings::memtable_factory(rng, together);
    options.disable_auto_compactions = rng.one_in(8);
    let comparator = *rng.pick(&["bytewise", "bytewise", "reverse", "length"]);
    settings::set_family(&mut options, "comparator", comparator).unwrap();
    let operator = *rng.pick(&["nullptr", "stringappend", "uint64add", "put", "max"]);
    settings::set_family(&mut options, "merge_operator", operator).unwrap();
    let extractor = *rng.pick(&["nullptr", "noop", "fixed:3", "capped:4"]);
    settings::set_family(&mut options, "prefix_extractor", extractor).unwrap();
    if rng.one_in(3) {
        let bytes = *rng.pick(&["0", "20000", "1000000"]);
        settings::set_family(&mut options, "block_cache", bytes).unwrap();
    }
    options
}

fn all_rows(db: &Db, family: &ColumnFamily, options: &ReadOptions) -> Vec<Row> {
    let mut iter = db.iter_cf_opt(family, options);
    let mut rows = Vec::new();
    iter.seek_to_first();
    while iter.valid() && iter.prepare_value() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    rows
}

fn show(operation: &Op) -> String {
    match operation {
        Op::Put(key, value) => format!("put {}={}b", show_key(key), value.len()),
        Op::Delete(key) => format!("del {}", show_key(key)),
        Op::SingleDelete(key) => format!("sdel {}", show_key(key)),
        Op::Merge(key, _) => format!("merge {}", show_key(key)),
        Op::DeleteRange(start, end) => format!("delrange {} {}", show_key(start), show_key(end)),
    }
}

/// A key as text, shortened if it is long.
fn show_key(key: &[u8]) -> String {
    let text = key.escape_ascii().to_string();
    if text.len() <= 24 {
        format!("'{text}'")
    } else {
        format!("'{}..{}'", &text[..14], &text[text.len() - 5..])
    }
}
