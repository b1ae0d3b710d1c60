//! RocksDB as a database of metamorphic runs, under options drawn as Esker's are.

use std::path::PathBuf;

use dbtest::metamorphic::{Database, Outcome, Plan, Step, View, Walk};
use dbtest::settings;
use rocksdb::{
    BlockBasedOptions, BottommostLevelCompaction, Cache, ChecksumType, ColumnFamilyDescriptor,
    CompactOptions, DBCompressionType, DBRawIteratorWithThreadMode, DBWithThreadMode, Error, MergeOperands,
    MultiThreaded, Options, ReadOptions, SliceTransform, SnapshotWithThreadMode, WriteBatch, WriteOptions,
};
use testkit::TestRng;
use testkit::model::{Op, Row};

type Rocks = DBWithThreadMode<MultiThreaded>;

/// Opens the database again and again, each time with other options.
pub struct RocksDbStore {
    path: PathBuf,
    plan: Plan,
    rng: TestRng,
    levels: i32,
}

/// An open database.
pub struct RocksDb<'a> {
    db: Rocks,
    store: &'a RocksDbStore,
    options: Vec<Options>,
}

impl RocksDbStore {
    pub fn new(plan: &Plan, path: PathBuf, levels: i32, rng: TestRng) -> RocksDbStore {
        RocksDbStore {
            path,
            plan: plan.clone(),
            rng,
            levels,
        }
    }

    pub fn open(&mut self) -> Outcome<RocksDb<'_>> {
        let all = draw_db(&mut self.rng);
        let families = self.plan.families.clone();
        let options: Vec<Options> = families
            .iter()
            .map(|family| {
                let mut options = draw_family(&mut self.rng);
                options.set_num_levels(self.levels);
                set_order(&mut options, family.comparator);
                set_merge(&mut options, family.merge_operator);
                options
            })
            .collect();
        let described = families
            .iter()
            .zip(&options)
            .map(|(family, options)| ColumnFamilyDescriptor::new(&family.name, options.clone()));
        let db =
            Rocks::open_cf_descriptors(&all, &self.path, described).map_err(|error| error.to_string())?;
        Ok(RocksDb {
            db,
            store: self,
            options,
        })
    }
}

fn draw_db(rng: &mut TestRng) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_keep_log_file_num(2);
    options.set_max_open_files(*rng.pick(&[-1, 20]));
    options.set_max_background_jobs(*rng.pick(&[1, 2, 4]));
    options.set_max_subcompactions(*rng.pick(&[1, 3]));
    options.set_max_manifest_file_size(*rng.pick(&[4096, 1 << 30]));
    options.set_wal_compression_type(*rng.pick(&[DBCompressionType::None, DBCompressionType::Zstd]));
    options
}

fn draw_family(rng: &mut TestRng) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_size(*rng.pick(&[256, 4096]));
    table.set_block_restart_interval(*rng.pick(&[1, 4, 16]));
    table.set_format_version(*rng.pick(&[2, 3, 4, 5, 6, 7]));
    table.set_checksum_type(match rng.u32(..4) {
        0 => ChecksumType::CRC32c,
        1 => ChecksumType::XXHash,
        2 => ChecksumType::XXHash64,
        _ => ChecksumType::XXH3,
    });
    table.set_whole_key_filtering(rng.bool());
    if rng.bool() {
        table.set_bloom_filter(10.0, false);
    }
    table.set_block_cache(&Cache::new_lru_cache(100_000));
    let mut options = Options::default();
    options.set_block_based_table_factory(&table);
    options.set_write_buffer_size(*rng.pick(&[64 << 10, 1 << 20]));
    options.set_target_file_size_base(*rng.pick(&[4 << 10, 64 << 10]));
    options.set_max_bytes_for_level_base(*rng.pick(&[16 << 10, 256 << 10]));
    options.set_level_zero_file_num_compaction_trigger(*rng.pick(&[2, 4]));
    options.set_level_compaction_dynamic_level_bytes(rng.bool());
    options.set_compression_type(*rng.pick(&[
        DBCompressionType::None,
        DBCompressionType::Snappy,
        DBCompressionType::Zlib,
        DBCompressionType::Lz4,
        DBCompressionType::Zstd,
    ]));
    if rng.one_in(3) {
        options.set_prefix_extractor(SliceTransform::create_fixed_prefix(3));
    }
    options.set_disable_auto_compactions(rng.one_in(8));
    options
}

fn set_order(options: &mut Options, comparator: &str) {
    match comparator {
        "bytewise" => {}
        // The crate does not offer RocksDB's built-in reverse comparator, but one with the same name and
        // order is equivalent.
        "reverse" => options.set_comparator("rocksdb.ReverseBytewiseComparator", Box::new(|a, b| b.cmp(a))),
        "length" => options.set_comparator(
            "dbtest.ByLength",
            Box::new(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b))),
        ),
        other => panic!("unknown order {other}"),
    }
}

/// Our merge operators, under their names.
fn set_merge(options: &mut Options, name: &str) {
    let Some(operator) = settings::merge_operator(name).filter(|_| name != "nullptr") else {
        return;
    };
    let own_name = operator.name().to_owned();
    let full = move |key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands| {
        let operands: Vec<&[u8]> = operands.iter().collect();
        operator.full_merge(key, existing, &operands)
    };
    let partial = |_: &[u8], _: Option<&[u8]>, _: &MergeOperands| None;
    options.set_merge_operator(own_name.as_str(), full, partial);
}

fn told<T>(result: Result<T, Error>) -> Outcome<T> {
    result.map_err(|error| {
        let text = error.to_string();
        text.split_once(':')
            .map_or(text.as_str(), |(words, _)| words)
            .to_owned()
    })
}

impl RocksDb<'_> {
    fn name(&self, family: usize) -> &str {
        &self.store.plan.families[family].name
    }

    fn family(&self, family: usize) -> std::sync::Arc<rocksdb::BoundColumnFamily<'_>> {
        self.db
            .cf_handle(self.name(family))
            .expect("every family of the plan is open")
    }

    /// Waits for background work.
    pub fn settle(&self) {
        self.db
            .wait_for_compact(&rocksdb::WaitForCompactOptions::default())
            .expect("wait for compactions");
    }

    fn read_options(&self, at: Option<&SnapshotWithThreadMode<'_, Rocks>>) -> ReadOptions {
        let mut options = ReadOptions::default();
        // Families may have prefix extractors, and the reads of whole ranges must not use them.
        options.set_total_order_seek(true);
        if let Some(snapshot) = at {
            options.set_snapshot(snapshot);
        }
        options
    }
}

impl Database for RocksDb<'_> {
    type Snapshot<'a>
        = SnapshotWithThreadMode<'a, Rocks>
    where
        Self: 'a;
    type Walk<'a>
        = RocksDbWalk<'a>
    where
        Self: 'a;

    fn write(&self, writes: &[(usize, Op)], sync: bool) -> Outcome {
        let mut batch = WriteBatch::default();
        for (family, op) in writes {
            let family = &self.family(*family);
            match op {
                Op::Put(key, value) => batch.put_cf(family, key, value),
                Op::Delete(key) => batch.delete_cf(family, key),
                Op::SingleDelete(key) => batch.single_delete_cf(family, key),
                Op::Merge(key, operand) => batch.merge_cf(family, key, operand),
                Op::DeleteRange(begin, end) => batch.delete_range_cf(family, begin, end),
            }
        }
        let mut options = WriteOptions::default();
        options.set_sync(sync);
        told(self.db.write_opt(batch, &options))
    }

    fn get<'a>(
        &'a self,
        family: usize,
        key: &[u8],
        at: Option<&Self::Snapshot<'a>>,
    ) -> Outcome<Option<Vec<u8>>> {
        told(
            self.db
                .get_cf_opt(&self.family(family), key, &self.read_options(at)),
        )
    }

    fn multi_get<'a>(
        &'a self,
        family: usize,
        keys: &[Vec<u8>],
        at: Option<&Self::Snapshot<'a>>,
    ) -> Vec<Outcome<Option<Vec<u8>>>> {
        let family = &self.family(family);
        let found = self
            .db
            .batched_multi_get_cf_opt(family, keys, false, &self.read_options(at));
        found
            .into_iter()
            .map(|value| told(value).map(|value| value.map(|value| value.to_vec())))
            .collect()
    }

    fn walk<'a>(&'a self, view: &View, at: Option<&Self::Snapshot<'a>>) -> RocksDbWalk<'a> {
        let mut options = self.read_options(at);
        if let Some(lower) = &view.lower {
            options.set_iterate_lower_bound(lower.clone());
        }
        if let Some(upper) = &view.upper {
            options.set_iterate_upper_bound(upper.clone());
        }
        RocksDbWalk(self.db.raw_iterator_cf_opt(&self.family(view.family), options))
    }

    fn snapshot(&self) -> SnapshotWithThreadMode<'_, Rocks> {
        self.db.snapshot()
    }

    fn flush(&self, families: &[usize]) -> Outcome {
        families
            .iter()
            .try_for_each(|&family| told(self.db.flush_cf(&self.family(family))))
    }

    fn compact(&self, family: usize, begin: Option<&[u8]>, end: Option<&[u8]>, force: bool) -> Outcome {
        let mut options = CompactOptions::default();
        if force {
            options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        }
        self.db
            .compact_range_cf_opt(&self.family(family), begin, end, &options);
        Ok(())
    }

    fn recreate(&self, family: usize) -> Outcome {
        told(self.db.drop_cf(self.name(family)))?;
        told(self.db.create_cf(self.name(family), &self.options[family]))
    }
}

/// An iterator.
pub struct RocksDbWalk<'a>(DBRawIteratorWithThreadMode<'a, Rocks>);

impl Walk for RocksDbWalk<'_> {
    fn step(&mut self, step: &Step) {
        match step {
            Step::First => self.0.seek_to_first(),
            Step::Last => self.0.seek_to_last(),
            Step::Seek(key) => self.0.seek(key),
            Step::SeekForPrev(key) => self.0.seek_for_prev(key),
            Step::Next => self.0.next(),
            Step::Prev => self.0.prev(),
        }
    }

    fn row(&self) -> Option<Row> {
        Some((self.0.key()?.to_vec(), self.0.value()?.to_vec()))
    }

    fn status(&self) -> Outcome {
        told(self.0.status())
    }
}
