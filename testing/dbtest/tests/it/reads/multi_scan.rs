//! Scans of many ranges at once: the same rows as with separate iterators, and the number of reads.

use std::sync::Arc;

use dbtest::by_hand::flush;
use esker::{CompressionType, Db, ErrorKind, IndexType, MultiScanArgs, Options, ReadOptions};
use testkit::rng::{self, TestRng};
use vfs::{Action, FaultFs, FileSystem, LogFs, MemFs, Op, Rule};

const DB: &str = "/db";
const KEYS: u64 = 2_000;

fn key(number: u64) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

fn options(fs: Arc<dyn FileSystem>) -> Options {
    let mut options = Options {
        create_if_missing: true,
        fs,
        ..Options::default()
    };
    let family = &mut options.column_family;
    family.compression = CompressionType::None;
    family.table.block_size = 900;
    family.target_file_size_base = 100_000;
    options
}

/// Rows in several levels, including range deletions.
fn fill(db: &Db, rng: &mut TestRng) {
    for round in 0..6u64 {
        for _ in 0..KEYS / 4 {
            let number = rng.u64(..KEYS);
            db.put(key(number), [round as u8; 300]).unwrap();
        }
        let from = rng.u64(..KEYS);
        db.delete_range(key(from), key(from + 20)).unwrap();
        flush(db);
        if round == 3 {
            let family = db.default_column_family();
            db.compact_range_cf(&family, None, None).unwrap();
        }
    }
    for _ in 0..50 {
        db.put(key(rng.u64(..KEYS)), b"in memory").unwrap();
    }
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// Consecutive ranges, some of them empty; the last may have no end.
fn ranges(rng: &mut TestRng) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let mut ends: Vec<u64> = (0..rng.usize(1..12) * 2).map(|_| rng.u64(..KEYS + 10)).collect();
    ends.sort_unstable();
    let mut ranges: Vec<_> = ends
        .chunks(2)
        .map(|pair| (key(pair[0]), Some(key(pair[1]))))
        .collect();
    if rng.one_in(3) {
        ranges.last_mut().unwrap().1 = None;
    }
    ranges
}

fn separately(db: &Db, ranges: &[(Vec<u8>, Option<Vec<u8>>)]) -> Vec<Rows> {
    let scan = |(start, limit): &(Vec<u8>, Option<Vec<u8>>)| {
        let mut iter = db.iter_opt(&ReadOptions {
            iterate_upper_bound: limit.clone(),
            ..ReadOptions::default()
        });
        iter.seek(start);
        let mut rows = Rows::new();
        while iter.valid() {
            rows.push((iter.key().to_vec(), iter.value().to_vec()));
            iter.next();
        }
        iter.status().unwrap();
        rows
    };
    ranges.iter().map(scan).collect()
}

fn together(db: &Db, reading: &ReadOptions, args: MultiScanArgs) -> esker::Result<Vec<Rows>> {
    let mut scan = db.multi_scan(&db.default_column_family(), args, reading)?;
    let mut found = Vec::new();
    while let Some(range) = scan.next_range() {
        let mut rows = Rows::new();
        while range.valid() {
            rows.push((range.key().to_vec(), range.value().to_vec()));
            range.next();
        }
        range.status()?;
        found.push(rows);
    }
    Ok(found)
}

fn drawn(rng: &mut TestRng, ranges: &[(Vec<u8>, Option<Vec<u8>>)]) -> MultiScanArgs {
    MultiScanArgs {
        ranges: ranges.to_vec(),
        io_coalesce_threshold: *rng.pick(&[0, 2_000, 16 << 10]),
        max_prefetch_size: *rng.pick(&[0, 0, 5_000, 100_000]),
        use_async_io: rng.bool(),
    }
}

#[test]
fn the_same_rows_as_by_separate_iterators() {
    let mut rng = rng::rng();
    for (no_cache, cached_index) in [
        (false, None),
        (true, None),
        (false, Some(IndexType::BinarySearch)),
        (false, Some(IndexType::TwoLevel)),
    ] {
        let mut options = options(Arc::new(MemFs::new()));
        let table = &mut options.column_family.table;
        table.no_block_cache = no_cache;
        table.cache_index_and_filter_blocks = cached_index.is_some();
        table.metadata_block_size = 200;
        table.index_type = cached_index.unwrap_or(IndexType::BinarySearch);
        let db = Db::open(&options, DB).unwrap();
        fill(&db, &mut rng);
        for _ in 0..60 {
            let ranges = ranges(&mut rng);
            let reading = ReadOptions {
                fill_cache: rng.bool(),
                ..ReadOptions::default()
            };
            let args = drawn(&mut rng, &ranges);
            let (expected, found) = (
                separately(&db, &ranges),
                together(&db, &reading, args.clone()).unwrap(),
            );
            assert!(found == expected, "{args:?}");
        }
        db.close().unwrap();
    }
}

#[test]
fn a_read_that_fails_gives_no_wrong_row() {
    let mut rng = rng::rng();
    let faults = FaultFs::new(Arc::new(MemFs::new()));
    let mut options = options(Arc::new(faults.clone()));
    options.column_family.table.no_block_cache = true;
    let db = Db::open(&options, DB).unwrap();
    fill(&db, &mut rng);
    let (mut failed, mut right) = (0, 0);
    for _ in 0..150 {
        let ranges = ranges(&mut rng);
        let expected = separately(&db, &ranges);
        let action = match rng.usize(..3) {
            0 => Action::Fail(ErrorKind::Io),
            1 => Action::ShortRead,
            _ => Action::BitFlip,
        };
        let often = rng.bool();
        let rule = Rule::new(action).on([Op::Read]).path_ends_with(".sst");
        faults.add(if often { rule } else { rule.nth(rng.u64(..20)) });
        let args = drawn(&mut rng, &ranges);
        let found = together(&db, &ReadOptions::default(), args.clone());
        faults.clear_rules();
        match found {
            Ok(found) => {
                right += 1;
                assert!(found == expected, "{args:?}");
            }
            Err(error) => {
                failed += 1;
                assert!(error.is_corruption() || error.kind() == ErrorKind::Io, "{error}");
            }
        }
    }
    assert!(failed > 10 && right > 10, "{failed} failed, {right} right");
    db.close().unwrap();
}

#[test]
fn blocks_of_all_ranges_are_read_together() {
    for (cached, index_type) in [
        (false, IndexType::BinarySearch),
        (true, IndexType::BinarySearch),
        (true, IndexType::TwoLevel),
    ] {
        blocks_are_read_together(cached, index_type);
    }
}

/// Scans several ranges and counts the reads; `cached` keeps the index in the cache.
fn blocks_are_read_together(cached: bool, index_type: IndexType) {
    let fs = LogFs::new(Arc::new(MemFs::new()), DB).with_queries();
    let mut options = options(Arc::new(fs.clone()));
    let table = &mut options.column_family.table;
    table.no_block_cache = !cached;
    table.cache_index_and_filter_blocks = cached;
    table.index_type = index_type;
    let reading = ReadOptions {
        fill_cache: false,
        ..ReadOptions::default()
    };
    let db = Db::open(&options, DB).unwrap();
    for number in 0..400 {
        db.put(key(number), [1; 980]).unwrap();
    }
    flush(&db);
    db.get(key(0)).unwrap();
    let reads = |args: MultiScanArgs| {
        fs.take();
        let scan = db.multi_scan(&db.default_column_family(), args, &reading);
        let mut scan = scan.unwrap();
        let of_tables = || -> Vec<String> {
            let log = fs.take();
            let reads = log.lines().filter(|line| line.contains(".sst "));
            let what = |line: &str| {
                format!(
                    "{} {}",
                    line.split(' ').next().unwrap(),
                    line.rsplit(' ').next().unwrap()
                )
            };
            reads.map(what).collect()
        };
        let begun = of_tables();
        while let Some(range) = scan.next_range() {
            while range.valid() {
                range.next();
            }
            range.status().unwrap();
        }
        (begun, of_tables())
    };
    let blocks = |first: u64, count: u64| format!("{}+{}", first * 1014, count * 1014);
    let args = MultiScanArgs {
        ranges: [(10, 12), (15, 17), (100, 103)]
            .map(|(start, end)| (key(start), Some(key(end))))
            .to_vec(),
        ..MultiScanArgs::default()
    };
    // The reads include the block of each upper bound: blocks 10 to 13 and 15 to 18 with the gap between them
    // are one read, and 100 to 104 another.
    let expected = |what: &str| {
        vec![
            format!("{what} {}", blocks(10, 8)),
            format!("{what} {}", blocks(100, 4)),
        ]
    };
    assert_eq!(reads(args.clone()), (Vec::new(), expected("read")));
    let side_by_side = MultiScanArgs {
        use_async_io: true,
        ..args.clone()
    };
    assert_eq!(reads(side_by_side), (expected("start_read"), Vec::new()));
    let apart = MultiScanArgs {
        io_coalesce_threshold: 1000,
        use_async_io: true,
        ..args
    };
    assert_eq!(reads(apart).0.len(), 3);
}

#[test]
fn ranges_follow_each_other() {
    let db = Db::open(&options(Arc::new(MemFs::new())), DB).unwrap();
    let refused = |ranges: &[(&[u8], Option<&[u8]>)]| {
        let ranges = ranges
            .iter()
            .map(|(start, limit)| (start.to_vec(), limit.map(<[u8]>::to_vec)));
        let args = MultiScanArgs {
            ranges: ranges.collect(),
            ..MultiScanArgs::default()
        };
        match db.multi_scan(&db.default_column_family(), args, &ReadOptions::default()) {
            Ok(_) => false,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidArgument);
                true
            }
        }
    };
    assert!(!refused(&[(b"a", Some(b"b")), (b"b", Some(b"b")), (b"c", None)]));
    assert!(refused(&[(b"b", Some(b"a"))]));
    assert!(refused(&[(b"a", Some(b"c")), (b"b", Some(b"d"))]));
    assert!(refused(&[(b"a", None), (b"b", None)]));
}
