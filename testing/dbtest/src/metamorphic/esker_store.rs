//! An Esker database under drawn options, with additional behaviour that must not change results.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;

use esker::{
    BottommostLevelCompaction, ColumnFamily, ColumnFamilyOptions, CompactFilesOptions, CompactRangeOptions,
    CompressionType, Db, DbPath, Error, FlushOptions, Options, ReadOptions, Snapshot, Temperature,
    WriteBatch, WriteOptions,
};
use testkit::TestRng;
use testkit::model::Op;

use super::layer::{EXPIRED, EskerWalk, Layer, OpenLayer, ShiftedClock};
use super::watched::Watched;
use super::{Database, FamilyPlan, Outcome, Plan, View};
use crate::settings;

/// Behaviour that must not change a history, and is not an option.
#[derive(Clone, Copy, Debug, Default)]
pub struct Habits {
    /// Flush and compact at random times.
    pub meddles: bool,
    /// Write rows without a WAL, and close the database before each reopening.
    pub without_wal: bool,
    /// Draw new options at each reopening.
    pub redraws: bool,
    /// Write some values as the default columns of entities.
    pub entities: bool,
    /// Keep tables in several directories.
    pub paths: bool,
    /// The layer that rows pass through.
    pub layer: Layer,
    /// Read a change feed with a durable cursor, which must return every row. Not with
    /// [`without_wal`](Self::without_wal).
    pub feed: bool,
}

/// A database that is opened repeatedly, under changing options.
pub struct EskerStore {
    options: Options,
    path: PathBuf,
    plan: Plan,
    habits: Habits,
    rng: TestRng,
    watched: Watched,
    clock: Arc<ShiftedClock>,
    opened: bool,
}

/// An open database of an [`EskerStore`]. Its drop closes it, or leaves it without a close.
pub struct EskerDatabase {
    db: Db,
    layer: OpenLayer,
    families: RefCell<Vec<ColumnFamily>>,
    plans: Vec<FamilyPlan>,
    watched: Option<Watched>,
    habits: Habits,
    rng: RefCell<TestRng>,
    close: bool,
    /// The timestamps of writes and reads.
    time: Cell<(u64, u64)>,
}

impl EskerStore {
    /// A database at `path` with `options`, and random behaviour from `rng`.
    pub fn new(plan: &Plan, options: Options, path: PathBuf, habits: Habits, rng: TestRng) -> EskerStore {
        let mut store = EskerStore {
            options,
            path,
            plan: plan.clone(),
            habits,
            rng,
            watched: Watched::default(),
            clock: Arc::default(),
            opened: false,
        };
        store.options.create_if_missing = true;
        store.options.create_missing_column_families = true;
        if habits.paths {
            // The first directory has room for a table or two.
            let path = |name: &str, target| DbPath::new(store.path.with_extension(name), target);
            store.options.db_paths = vec![path("small", 10_000), path("large", 1 << 30)];
        }
        for family in &plan.families {
            let own = store.options.column_family.clone();
            let own = with_semantics(own, family.comparator, family.merge_operator);
            match family.name.as_str() {
                "default" => store.options.column_family = own,
                name => drop(store.options.column_families.insert(name.to_owned(), own)),
            }
        }
        store
    }

    /// Draws the options of the database and of every family from their domains. The number of levels stays
    /// the same after the first opening.
    pub fn draw(&mut self, keep_levels: bool) {
        let rng = &mut self.rng;
        settings::draw_of_database(rng, &mut self.options);
        let together = self.options.allow_concurrent_memtable_write;
        let families = self.options.column_families.values_mut();
        for options in std::iter::once(&mut self.options.column_family).chain(families) {
            draw_family(rng, options, keep_levels, together);
        }
    }

    /// Opens the database.
    pub fn open(&mut self) -> Outcome<EskerDatabase> {
        let opened = OpenLayer::open(
            self.habits.layer,
            &self.options,
            &self.path,
            &self.plan,
            &self.clock,
        );
        let (db, layer) = opened.map_err(|error| error.to_string())?;
        let watched = self.habits.feed.then(|| self.watched.clone());
        if let Some(watched) = &watched
            && !self.opened
        {
            told(watched.begin(&db))?;
        }
        self.opened = true;
        let families = self.plan.families.iter().map(|family| {
            db.column_family(&family.name)
                .ok_or_else(|| format!("family {} is gone", family.name))
        });
        let families = families.collect::<Outcome<Vec<_>>>()?;
        let opened = EskerDatabase {
            db,
            layer,
            families: RefCell::new(families),
            plans: self.plan.families.clone(),
            watched,
            habits: self.habits,
            time: Cell::default(),
            close: self.habits.without_wal || self.rng.bool(),
            rng: RefCell::new(TestRng::with_seed(self.rng.u64(..))),
        };
        if self.habits.redraws {
            self.draw(true);
        }
        Ok(opened)
    }

    /// The options that differ from their defaults, and the habits, as text.
    pub fn describe(&self) -> String {
        let mut text = format!(
            "{:?}\noptions: {}",
            self.habits,
            settings::differing(&self.options)
        );
        for family in &self.plan.families {
            let options = self.options.column_families.get(&family.name);
            let options = options.unwrap_or(&self.options.column_family);
            text += &format!(
                "\nfamily {}: {} {} {} {}",
                family.name,
                family.comparator,
                family.merge_operator,
                settings::differing(options),
                settings::differing(&options.table)
            );
        }
        text
    }
}

fn with_semantics(
    mut options: ColumnFamilyOptions,
    comparator: &str,
    merge_operator: &str,
) -> ColumnFamilyOptions {
    options.comparator = settings::comparator(comparator).expect("a known order");
    options.merge_operator = settings::merge_operator(merge_operator);
    options
}

fn draw_family(rng: &mut TestRng, options: &mut ColumnFamilyOptions, keep_levels: bool, together: bool) {
    let levels = options.num_levels;
    // The sizes are small in any case, so that a few hundred rows make several files and levels.
    options.write_buffer_size = 16 << 10;
    options.target_file_size_base = 4 << 10;
    options.max_bytes_for_level_base = 16 << 10;
    settings::draw(rng, options);
    settings::draw(rng, &mut options.table);
    options.memtable_factory = settings::memtable_factory(rng, together);
    if keep_levels {
        options.num_levels = levels;
    }
    if options.comparator.timestamp_size() > 0 {
        // Without timestamps in tables, flushes decide which history can be read.
        options.persist_user_defined_timestamps = true;
    }
    options.disable_auto_compactions = rng.one_in(8);
    // If shorter keys come first, keys with a common prefix are not adjacent, and reads must not use
    // prefixes.
    let extractors: &[&str] = match options.comparator.name() {
        "dbtest.ByLength" => &["nullptr", "noop"],
        _ => &["nullptr", "noop", "fixed:3", "capped:4"],
    };
    let mut set = |name: &str, value: &str| {
        settings::set_family(options, name, value).expect("a component of that name");
    };
    set("prefix_extractor", rng.pick::<&str>(extractors));
    if rng.one_in(3) {
        set(
            "block_cache",
            rng.pick::<&str>(&[
                "0",
                "20000",
                "1000000",
                "20000:auto_hyper_clock_cache",
                "100000:fixed_hyper_clock_cache",
                "1000:lru_cache:100000",
                "1000:auto_hyper_clock_cache:20000:allow_all",
            ]),
        );
    }
}

pub(super) fn has_timestamps(family: &ColumnFamily) -> bool {
    family.comparator().timestamp_size() > 0
}

/// Adds a write at `timestamp` to `batch`.
fn add_at(batch: &mut WriteBatch, family: &ColumnFamily, op: &Op, timestamp: &[u8]) {
    match op {
        Op::Put(key, value) => batch.put_at(family, key, timestamp, value),
        Op::Delete(key) => batch.delete_at(family, key, timestamp),
        Op::SingleDelete(key) => batch.single_delete_cf(family, [&key[..], timestamp].concat()),
        Op::Merge(key, operand) => batch.merge_at(family, key, timestamp, operand),
        Op::DeleteRange(begin, end) => batch.delete_range_at(family, begin, end, timestamp),
    }
}

/// Adds a write without a timestamp to `batch`.
pub(super) fn add(batch: &mut WriteBatch, family: &ColumnFamily, op: &Op) {
    match op {
        Op::Put(key, value) => batch.put_cf(family, key, value),
        Op::Delete(key) => batch.delete_cf(family, key),
        Op::SingleDelete(key) => batch.single_delete_cf(family, key),
        Op::Merge(key, operand) => batch.merge_cf(family, key, operand),
        Op::DeleteRange(begin, end) => batch.delete_range_cf(family, begin, end),
    }
}

/// The first words of the text of RocksDB's status for this error.
pub(super) fn words(error: &Error) -> String {
    let words = error.kind().words();
    words.split_once(':').map_or(words, |(first, _)| first).to_owned()
}

pub(super) fn told<T>(result: esker::Result<T>) -> Outcome<T> {
    result.map_err(|error| words(&error))
}

impl EskerDatabase {
    /// Returns the database of the crate `esker`.
    pub fn db(&self) -> &Db {
        &self.db
    }

    fn family(&self, family: usize) -> ColumnFamily {
        self.families.borrow()[family].clone()
    }

    fn read_options(&self, family: &ColumnFamily, at: Option<&Snapshot>) -> ReadOptions {
        let mut rng = self.rng.borrow_mut();
        ReadOptions {
            timestamp: has_timestamps(family).then(|| self.time.get().1.to_le_bytes().to_vec()),
            snapshot: at.cloned(),
            fill_cache: !rng.one_in(5),
            verify_checksums: rng.bool(),
            readahead_size: if rng.one_in(5) { 4096 } else { 0 },
            adaptive_readahead: rng.bool(),
            auto_readahead_size: rng.bool(),
            async_io: rng.one_in(3),
            auto_prefix_mode: rng.one_in(3),
            auto_refresh_iterator_with_snapshot: rng.bool(),
            allow_unprepared_value: rng.bool(),
            ..ReadOptions::default()
        }
    }

    /// Records a row for the change feed.
    fn note(&self, family: usize, op: Op) {
        if let Some(watched) = &self.watched {
            let family = self.family(family);
            let timestamp = match has_timestamps(&family) {
                true => self.time.get().0.to_le_bytes().to_vec(),
                false => Vec::new(),
            };
            watched.note(family.name(), op, timestamp);
        }
    }

    /// Writes by a transaction, by a call for a single row, or as a batch.
    fn write_to_layer(&self, writes: &[(usize, Op)], options: &WriteOptions) -> Outcome {
        let owned: Vec<(ColumnFamily, &Op)> = { writes.iter() }
            .map(|(family, op)| (self.family(*family), op))
            .collect();
        let entities = self.habits.entities && self.layer.takes_entities();
        let mut rng = self.rng.borrow_mut();
        if !rng.one_in(4)
            && let Some(outcome) = self
                .layer
                .write_in_transaction(&self.db, &owned, options, entities, &mut rng)
        {
            return outcome;
        }
        if let [(family, op)] = &owned[..]
            && self.layer.takes_entities()
            && !has_timestamps(family)
            && rng.bool()
        {
            let db = &self.db;
            return told(match op {
                Op::Put(key, value) => db.put_cf_opt(family, key, value, options),
                Op::Delete(key) => db.delete_cf_opt(family, key, options),
                Op::SingleDelete(key) => db.single_delete_cf_opt(family, key, options),
                Op::Merge(key, operand) => db.merge_cf_opt(family, key, operand, options),
                Op::DeleteRange(begin, end) => db.delete_range_cf_opt(family, begin, end, options),
            });
        }
        let protection = *rng.pick(&[0, 0, 8]);
        let mut batch = WriteBatch::with_protection(protection).expect("a width there is");
        for (family, op) in &owned {
            match op {
                _ if has_timestamps(family) => {
                    add_at(&mut batch, family, op, &self.time.get().0.to_le_bytes());
                }
                Op::Put(key, value) if entities && rng.bool() => {
                    let columns: [(&[u8], &[u8]); 2] = [(b"", value), (b"column", key)];
                    told(batch.put_entity_cf(family, key, &columns))?;
                }
                op => add(&mut batch, family, op),
            }
        }
        told(self.layer.write(&self.db, batch, options))
    }

    /// Starts random background work.
    fn meddle(&self) {
        if !self.habits.meddles || !self.rng.borrow_mut().one_in(15) {
            return;
        }
        let mut rng = self.rng.borrow_mut();
        let family = rng.pick(&self.families.borrow()).clone();
        // The result is ignored: a job that conflicts with another one is refused, and changes nothing.
        let _ = match rng.u32(..3) {
            0 => self.db.flush_cf_opt(
                &[family],
                &FlushOptions {
                    wait: rng.bool(),
                    allow_write_stall: rng.bool(),
                    ..FlushOptions::default()
                },
            ),
            1 => {
                let options = CompactRangeOptions {
                    change_level: rng.one_in(4),
                    bottommost_level_compaction: BottommostLevelCompaction::Force,
                    max_subcompactions: rng.u32(..4),
                    ..CompactRangeOptions::default()
                };
                self.db.compact_range_cf_opt(&family, None, None, &options)
            }
            _ => {
                let live = self.db.live_files();
                let own = live.iter().filter(|file| file.column_family == family.name());
                let files: Vec<_> = own.filter(|_| rng.one_in(3)).collect();
                let lowest = files.iter().map(|file| file.level).max().unwrap_or(0);
                let numbers: Vec<u64> = files.iter().map(|file| file.number).collect();
                let options = CompactFilesOptions {
                    output_file_size_limit: rng.bool().then_some(2000),
                    allow_trivial_move: rng.bool(),
                    max_subcompactions: rng.u32(..4),
                    compression: rng.bool().then_some(CompressionType::None),
                    output_temperature_override: rng.bool().then_some(Temperature::WARM),
                    output_path_id: None,
                };
                let level = rng.usize(lowest..family.options().num_levels as usize);
                self.db
                    .compact_files(&family, &numbers, level, &options)
                    .map(drop)
            }
        };
    }
}

impl Drop for EskerDatabase {
    fn drop(&mut self) {
        if let Some(watched) = &self.watched
            && let Err(found) = watched.check(&self.db)
            && !std::thread::panicking()
        {
            panic!("{found}");
        }
        if self.close
            && let Err(error) = self.db.close()
            && !std::thread::panicking()
        {
            panic!("close: {error}");
        }
    }
}

impl Database for EskerDatabase {
    type Snapshot<'a> = Snapshot;
    type Walk<'a> = EskerWalk;

    fn write(&self, writes: &[(usize, Op)], sync: bool) -> Outcome {
        self.meddle();
        let options = WriteOptions {
            sync: sync && !self.habits.without_wal,
            disable_wal: self.habits.without_wal,
            protection_bytes_per_key: *self.rng.borrow_mut().pick(&[0, 0, 8]),
            ..WriteOptions::default()
        };
        if let [(family, Op::Delete(key))] = writes
            && !self.rng.borrow_mut().one_in(3)
            && told(self.layer.expire(&self.family(*family), key, &options))?
        {
            self.note(*family, Op::Put(key.clone(), EXPIRED.to_vec()));
            return Ok(());
        }
        self.write_to_layer(writes, &options)?;
        for (family, op) in writes {
            self.note(*family, op.clone());
        }
        match &self.watched {
            Some(watched) if self.rng.borrow_mut().one_in(20) => watched.check(&self.db),
            _ => Ok(()),
        }
    }

    fn get(&self, family: usize, key: &[u8], at: Option<&Snapshot>) -> Outcome<Option<Vec<u8>>> {
        self.meddle();
        let family = self.family(family);
        let options = self.read_options(&family, at);
        match self.rng.borrow_mut().one_in(2) {
            true => told(self.layer.get(&self.db, &family, key, &options)),
            false => told(self.layer.get_pinned(&self.db, &family, key, &options)),
        }
    }

    fn multi_get(
        &self,
        family: usize,
        keys: &[Vec<u8>],
        at: Option<&Snapshot>,
    ) -> Vec<Outcome<Option<Vec<u8>>>> {
        let family = self.family(family);
        let options = self.read_options(&family, at);
        let found = self.layer.multi_get(&self.db, &family, keys, &options);
        found.into_iter().map(told).collect()
    }

    fn walk(&self, view: &View, at: Option<&Snapshot>) -> EskerWalk {
        self.meddle();
        let family = self.family(view.family);
        let options = ReadOptions {
            iterate_lower_bound: view.lower.clone(),
            iterate_upper_bound: view.upper.clone(),
            ..self.read_options(&family, at)
        };
        let by_transaction = self.rng.borrow_mut().bool();
        self.layer.walk(&self.db, &family, &options, by_transaction)
    }

    fn snapshot(&self) -> Snapshot {
        self.db.snapshot()
    }

    fn flush(&self, families: &[usize]) -> Outcome {
        let families: Vec<ColumnFamily> = families.iter().map(|&family| self.family(family)).collect();
        let wait = !self.rng.borrow_mut().one_in(4);
        told(self.db.flush_cf_opt(
            &families,
            &FlushOptions {
                wait,
                ..FlushOptions::default()
            },
        ))
    }

    fn compact(&self, family: usize, begin: Option<&[u8]>, end: Option<&[u8]>, force: bool) -> Outcome {
        let options = CompactRangeOptions {
            bottommost_level_compaction: match force {
                true => BottommostLevelCompaction::Force,
                false => BottommostLevelCompaction::IfHaveCompactionFilter,
            },
            ..CompactRangeOptions::default()
        };
        told(
            self.db
                .compact_range_cf_opt(&self.family(family), begin, end, &options),
        )
    }

    fn set_time(&self, write: u64, read: u64) {
        self.time.set((write, read));
    }

    fn increase_full_history_ts_low(&self, family: usize, timestamp: u64) -> Outcome {
        let timestamp = timestamp.to_le_bytes();
        told(
            self.db
                .increase_full_history_ts_low(&self.family(family), &timestamp),
        )
    }

    fn recreate(&self, family: usize) -> Outcome {
        let old = self.family(family);
        told(self.db.drop_column_family(&old))?;
        let plan = &self.plans[family];
        let new = told(self.layer.create_column_family(&self.db, plan, old.options()))?;
        self.families.borrow_mut()[family] = new;
        Ok(())
    }
}
