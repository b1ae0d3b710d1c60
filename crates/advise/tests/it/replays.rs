//! Replays of small workloads.

use base::UserComparator;
use esker::{ColumnFamilyOptions, FilterPolicy};
use esker_advise::{Machine, WorkloadBuilder, predict};

fn builder() -> WorkloadBuilder {
    WorkloadBuilder::new(UserComparator::Bytewise, 1)
}

#[test]
fn tables_at_the_beginning_are_read_the_newest_first() {
    let mut builder = builder();
    builder.table(6, 1_000, 1);
    builder.row(b"a", 0, Some(100));
    builder.row(b"c", 0, Some(100));
    builder.table(0, 100, 2);
    builder.row(b"a", 7, None);
    builder.row(b"d", 8, Some(10));
    for key in [b"a", b"b", b"c", b"e"] {
        builder.get(0, key);
    }
    builder.seek(0, b"b");
    builder.seek(0, b"d");
    let mut options = ColumnFamilyOptions::default();
    options.table.filter_policy = FilterPolicy::None;
    let prediction = predict(&builder.finish(), &options, &Machine::default());
    // `a` is found in L0; `b` and `c` are in the range of both tables, `e` is in the range of no table.
    assert_eq!((prediction.gets, prediction.tables_asked), (4, 5));
    assert_eq!(prediction.blocks_read, 5.0);
    assert_eq!((prediction.seeks, prediction.runs_sought), (2, 3));
    assert_eq!((prediction.table_bytes, prediction.flushed_bytes), (1_100, 0));
    assert_eq!(prediction.live_bytes, 2 + 110);
}

#[test]
fn writes_stand_still_while_compactions_are_behind() {
    let mut builder = builder();
    for i in 0..20_000u64 {
        builder.put(i, format!("{:06}", i * 7_919 % 20_000).as_bytes(), 100);
    }
    let workload = builder.finish();
    let options = ColumnFamilyOptions {
        write_buffer_size: 64 << 10,
        max_bytes_for_level_base: 256 << 10,
        ..ColumnFamilyOptions::default()
    };
    let with = |bytes_per_second| {
        let machine = Machine {
            compaction_bytes_per_second: bytes_per_second,
            ..Machine::default()
        };
        predict(&workload, &options, &machine)
    };
    let (fast, slow) = (with(u64::MAX), with(1_000_000));
    assert_eq!(fast.stalled_micros, 0);
    assert!(slow.stalled_share() > 0.9, "{slow:?}");
    assert!(slow.peak_table_bytes > fast.peak_table_bytes);
}

#[test]
fn a_sample_of_the_keys_predicts_the_whole() {
    let of = |one_in| {
        let mut builder = WorkloadBuilder::new(UserComparator::Bytewise, one_in);
        for i in 0..200_000u64 {
            builder.put(i, format!("{:06}", i * 7_919 % 50_000).as_bytes(), 100);
        }
        let options = ColumnFamilyOptions {
            write_buffer_size: 1 << 20,
            max_bytes_for_level_base: 4 << 20,
            target_file_size_base: 1 << 20,
            ..ColumnFamilyOptions::default()
        };
        predict(&builder.finish(), &options, &Machine::default())
    };
    let (whole, sample) = (of(1), of(10));
    let off = sample.write_amplification() / whole.write_amplification() - 1.0;
    assert!(off.abs() < 0.15, "{whole:?} {sample:?}");
    let off = sample.user_bytes as f64 / whole.user_bytes as f64 - 1.0;
    assert!(off.abs() < 0.05, "{whole:?} {sample:?}");
}

#[test]
fn nothing_is_written_by_a_workload_of_nothing() {
    let prediction = predict(
        &builder().finish(),
        &ColumnFamilyOptions::default(),
        &Machine::default(),
    );
    assert_eq!(prediction.write_amplification(), 0.0);
    assert_eq!(prediction.blocks_per_get(), 0.0);
}
