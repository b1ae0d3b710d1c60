//! Compares predictions with a database that runs the same workload.

use std::sync::Arc;

use base::UserComparator;
use esker::file_system::MemFs;
use esker::{
    ColumnFamilyOptions, CompactionStyle, CompressionType, Db, FilterPolicy, Options, Statistics, Ticker,
};
use esker_advise::{Machine, Prediction, Workload, WorkloadBuilder, predict};
use testkit::{TestRng, rng};

const KEYS: u64 = 20_000;
const ROWS: u64 = 40_000;
/// The rows of a memtable.
const MEMTABLE: u64 = 1_000;
const VALUE: usize = 100;

fn key(number: u64) -> String {
    format!("key{number:08}")
}

/// The keys that are written, and those that are read afterwards, one in five of which is absent.
fn choices(rng: &mut TestRng) -> (Vec<u64>, Vec<u64>) {
    let mut hot = |most: u64| (most as f64 * rng.f64().powi(3)) as u64;
    let writes = (0..ROWS).map(|_| hot(KEYS)).collect();
    let reads = (0..10_000).map(|_| hot(KEYS * 5 / 4)).collect();
    (writes, reads)
}

fn options() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions {
        // This size is never reached: the test flushes memtables after a fixed number of rows.
        write_buffer_size: 64 << 20,
        target_file_size_base: 128 << 10,
        max_bytes_for_level_base: 400 << 10,
        compression: CompressionType::None,
        ..ColumnFamilyOptions::default()
    };
    options.table.filter_policy = FilterPolicy::Bloom(10.0);
    options
}

struct Measured {
    flushed: u64,
    compacted: u64,
    table_bytes: u64,
    raw_bytes: u64,
    tables_asked: u64,
}

/// Runs the workload. Compactions come to rest after each flush, so that the result depends on no thread.
fn run(options: &ColumnFamilyOptions, writes: &[u64], reads: &[u64]) -> Measured {
    let statistics = Statistics::new();
    let options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        statistics: Some(statistics.clone()),
        column_family: options.clone(),
        ..Options::default()
    };
    let db = Db::open(&options, "/db").unwrap();
    for (i, &number) in writes.iter().enumerate() {
        db.put(key(number), [b'v'; VALUE]).unwrap();
        if (i as u64 + 1).is_multiple_of(MEMTABLE) {
            db.flush().unwrap();
            db.wait_for_compact().unwrap();
        }
    }
    let asked = || {
        statistics.get_ticker_count(Ticker::BloomFilterUseful)
            + statistics.get_ticker_count(Ticker::BloomFilterFullPositive)
    };
    let before = asked();
    for &number in reads {
        db.get(key(number)).unwrap();
    }
    let properties = db.properties_of_all_tables(&db.default_column_family()).unwrap();
    let raw = properties
        .values()
        .map(|table| table.raw_key_size - 8 * table.num_entries + table.raw_value_size);
    Measured {
        flushed: statistics.get_ticker_count(Ticker::FlushWriteBytes),
        compacted: statistics.get_ticker_count(Ticker::CompactWriteBytes),
        table_bytes: db
            .property_int(&db.default_column_family(), "rocksdb.total-sst-files-size")
            .unwrap(),
        raw_bytes: raw.sum(),
        tables_asked: asked() - before,
    }
}

fn workload(writes: &[u64], reads: &[u64]) -> Workload {
    let mut builder = WorkloadBuilder::new(UserComparator::Bytewise, 1);
    for (at, &number) in writes.iter().enumerate() {
        builder.put(at as u64, key(number).as_bytes(), VALUE);
    }
    for (at, &number) in reads.iter().enumerate() {
        builder.get(ROWS + at as u64, key(number).as_bytes());
    }
    builder.finish()
}

fn predicted(options: &ColumnFamilyOptions, workload: &Workload, measured: &Measured) -> Prediction {
    let row = key(0).len() as u64 + VALUE as u64;
    let machine = Machine {
        // The prediction assumes that compactions take no time.
        compaction_bytes_per_second: u64::MAX,
        table_bytes_per_raw_byte: measured.table_bytes as f64 / measured.raw_bytes as f64,
        memtable_bytes_per_row: 0,
        ..Machine::default()
    };
    let options = ColumnFamilyOptions {
        write_buffer_size: row * MEMTABLE,
        ..options.clone()
    };
    predict(workload, &options, &machine)
}

#[track_caller]
fn assert_near(predicted: f64, measured: f64, tolerance: f64, name: &str) {
    let off = (predicted / measured - 1.0).abs();
    assert!(
        off <= tolerance,
        "{name}: {predicted:.3} predicted, {measured:.3} measured"
    );
}

#[test]
fn a_prediction_is_near_what_a_database_does() {
    let (writes, reads) = choices(&mut rng());
    let workload = workload(&writes, &reads);
    let sets = [
        ("leveled", options()),
        (
            "a trigger of 8",
            ColumnFamilyOptions {
                level0_file_num_compaction_trigger: 8,
                ..options()
            },
        ),
        (
            "levels of fixed sizes",
            ColumnFamilyOptions {
                level_compaction_dynamic_level_bytes: false,
                max_bytes_for_level_multiplier: 4.0,
                ..options()
            },
        ),
        (
            "universal",
            ColumnFamilyOptions {
                compaction_style: CompactionStyle::Universal,
                ..options()
            },
        ),
    ];
    for (name, options) in sets {
        let measured = run(&options, &writes, &reads);
        let predicted = predicted(&options, &workload, &measured);
        let amplification = (measured.flushed + measured.compacted) as f64 / measured.flushed as f64;
        assert_near(predicted.write_amplification(), amplification, 0.1, name);
        assert_near(
            predicted.table_bytes as f64,
            measured.table_bytes as f64,
            0.1,
            name,
        );
        assert_near(
            predicted.tables_asked as f64,
            measured.tables_asked as f64,
            0.1,
            name,
        );
    }
}
