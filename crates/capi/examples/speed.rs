//! The costs of single operations through the Rust interface; speed.c does the same through the C interface.
//! `speed DIR ROWS [OPERATION]` prints the nanoseconds of each operation, or of one, in the time of the
//! thread: other programs of the machine do not count.

use std::hint::black_box;

use esker::{
    BlockCache, CacheOptions, ColumnFamily, CompressionType, Db, Options, ReadOptions, Result, WriteBatch,
    WriteOptions,
};

const KEY: usize = 16;
const VALUE: usize = 100;
const BATCH: u64 = 100;

struct SpeedDatabase {
    db: Db,
    family: ColumnFamily,
    reads: ReadOptions,
    writes: WriteOptions,
    rows: u64,
}

impl SpeedDatabase {
    /// Visits every row once, in an order without a pattern.
    fn key(&self, i: u64) -> [u8; KEY] {
        let mut row = i * 7919 % self.rows;
        let mut key = [0; KEY];
        for digit in key.iter_mut().rev() {
            *digit = b'0' + (row % 10) as u8;
            row /= 10;
        }
        key
    }

    fn put(&self) -> Result<u64> {
        for i in 0..self.rows {
            self.db
                .put_cf_opt(&self.family, self.key(i), [b'v'; VALUE], &self.writes)?;
        }
        Ok(self.rows)
    }

    fn batch(&self) -> Result<u64> {
        let mut rows = WriteBatch::new();
        for i in 0..self.rows {
            rows.put(self.key(i), [b'v'; VALUE]);
            if i % BATCH == BATCH - 1 {
                self.db.write_in_place(&mut rows, &self.writes)?;
                rows.clear();
            }
        }
        Ok(self.rows)
    }

    fn get(&self) -> Result<u64> {
        for i in 0..self.rows {
            let value = self.db.get_cf_opt(&self.family, self.key(i), &self.reads)?;
            assert_eq!(black_box(&value).as_ref().map(Vec::len), Some(VALUE));
        }
        Ok(self.rows)
    }

    fn get_pinned(&self) -> Result<u64> {
        for i in 0..self.rows {
            let value = self
                .db
                .get_pinned_cf_opt(&self.family, self.key(i), &self.reads)?;
            assert_eq!(black_box(&value).as_ref().map(|value| value.len()), Some(VALUE));
        }
        Ok(self.rows)
    }

    fn step(&self) -> Result<u64> {
        let mut iter = self.db.iter_cf_opt(&self.family, &self.reads);
        let (mut steps, mut bytes) = (0, 0);
        iter.seek_to_first();
        while iter.valid() {
            bytes += black_box(iter.key()).len() + black_box(iter.value()).len();
            steps += 1;
            iter.next();
        }
        iter.status()?;
        assert_eq!((steps, bytes), (self.rows, self.rows as usize * (KEY + VALUE)));
        Ok(steps)
    }
}

type SpeedTest = fn(&SpeedDatabase) -> Result<u64>;

/// The operations, and whether they read tables.
const OPERATIONS: &[(&str, SpeedTest, bool)] = &[
    ("put", SpeedDatabase::put, false),
    ("batch", SpeedDatabase::batch, false),
    ("get of a memtable", SpeedDatabase::get, false),
    ("get", SpeedDatabase::get, true),
    ("get_pinned", SpeedDatabase::get_pinned, true),
    ("iterator step", SpeedDatabase::step, true),
];

/// The part that is measured: callgrind counts its instructions by name.
#[inline(never)]
fn measured(place: &SpeedDatabase, run: SpeedTest) -> Result<u64> {
    let count = run(place);
    black_box(count)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let (Some(dir), Some(rows)) = (args.get(1), args.get(2)) else {
        return Err("speed DIR ROWS [OPERATION]".into());
    };
    let mut options = Options {
        create_if_missing: true,
        ..Options::default()
    };
    options.column_family.compression = CompressionType::None;
    options.column_family.write_buffer_size = 1 << 30;
    options.column_family.table.block_cache = Some(BlockCache::lru(CacheOptions {
        capacity: 1 << 28,
        ..CacheOptions::default()
    }));
    let db = Db::open(&options, dir)?;
    let place = SpeedDatabase {
        family: db.default_column_family(),
        db,
        reads: ReadOptions::default(),
        writes: WriteOptions {
            disable_wal: true,
            ..WriteOptions::default()
        },
        rows: rows.parse()?,
    };
    place.put()?;
    let mut in_tables = false;
    for (name, run, from_tables) in OPERATIONS {
        if args.get(3).is_some_and(|only| only != name) {
            continue;
        }
        if *from_tables && !in_tables {
            place.db.flush()?;
            place.db.compact_range_cf(&place.family, None, None)?;
            in_tables = true;
        }
        // The first pass fills caches.
        run(&place)?;
        let begin = base::env::thread_cpu();
        let count = measured(&place, *run)?;
        println!(
            "{name}\t{:.1}",
            (base::env::thread_cpu() - begin).as_nanos() as f64 / count as f64
        );
    }
    place.db.close()?;
    Ok(())
}
