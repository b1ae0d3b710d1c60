//! MultiGet returns the results of as many Gets, for any shape of the tree, and an unreadable block is an
//! error of its keys alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dbtest::by_hand::flush;
use esker::{
    Cache, CacheOptions, ColumnFamily, Db, ErrorKind, FilterPolicy, Options, ReadOptions, ReadTier,
    WriteBatch, WriteOptions,
};
use testkit::rng::{self, TestRng};
use vfs::{Action, FaultFs, MemFs, Op, Rule};

/// The number of written keys; as many between them are not written.
const KEYS: u64 = 2000;

fn key(number: u64) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

fn options(fs: Arc<dyn vfs::FileSystem>, filter: FilterPolicy) -> Options {
    let mut options = Options {
        create_if_missing: true,
        fs,
        ..Options::default()
    };
    let family = &mut options.column_family;
    family.merge_operator = base::merge::builtin("StringAppendOperator");
    family.target_file_size_base = 8 << 10;
    family.max_bytes_for_level_base = 24 << 10;
    family.level0_file_num_compaction_trigger = 3;
    family.table.block_size = 256;
    family.table.filter_policy = filter;
    // The block cache is too small for all blocks, so that some of them are read from the files.
    family.table.block_cache = Some(Cache::lru(CacheOptions {
        capacity: 48 << 10,
        ..CacheOptions::default()
    }));
    options
}

/// Rows in the memtable, in L0 and on three levels below, including deletions, merge operands and range
/// tombstones.
fn fill(db: &Db, rng: &mut TestRng) {
    let family = db.default_column_family();
    let write = WriteOptions::default();
    for step in 0..3 * KEYS {
        let number = 2 * rng.u64(..KEYS);
        match rng.u64(..100) {
            0..80 => db.put(key(number), format!("value {step} {}", "x".repeat(30)).as_bytes()),
            80..88 => db.delete(key(number)),
            88..98 => db.merge_cf_opt(&family, key(number), b"operand", &write),
            _ => db.delete_range_cf_opt(&family, key(number), key(number + 40), &write),
        }
        .unwrap();
        if step % 500 == 499 && step < 3 * KEYS - 600 {
            flush(db);
            if rng.bool() {
                db.wait_for_compact().unwrap();
            }
        }
    }
}

fn draw(rng: &mut TestRng) -> Vec<Vec<u8>> {
    let most = *rng.pick(&[1, 3, 33, 200]);
    let mut keys: Vec<Vec<u8>> = (0..rng.usize(..=most))
        .map(|_| key(rng.u64(..2 * KEYS + 10)))
        .collect();
    if rng.bool() {
        keys.sort();
    }
    if rng.bool() && !keys.is_empty() {
        keys.push(keys[0].clone());
    }
    keys
}

#[test]
fn a_batch_is_as_good_as_its_gets() {
    let rng = &mut TestRng::with_seed(rng::seed());
    for (filter, compacts) in [
        (FilterPolicy::Bloom(10.0), true),
        (FilterPolicy::None, true),
        // There are more sorted runs than are prefetched together.
        (FilterPolicy::Bloom(10.0), false),
    ] {
        let mut options = options(Arc::new(MemFs::new()), filter);
        options.column_family.disable_auto_compactions = !compacts;
        let db = Db::open(&options, "/db").unwrap();
        fill(&db, rng);
        let family = db.default_column_family();
        let snapshot = db.snapshot();
        for number in 0..KEYS / 10 {
            db.put(key(20 * number), b"behind the snapshot").unwrap();
        }
        let mut found = 0;
        for _ in 0..300 {
            let read = ReadOptions {
                snapshot: rng.bool().then(|| snapshot.clone()),
                async_io: rng.bool(),
                ..ReadOptions::default()
            };
            let keys = draw(rng);
            let batch = db.multi_get_pinned_cf_opt(&family, &keys, &read);
            assert_eq!(batch.len(), keys.len());
            for (key, value) in keys.iter().zip(batch) {
                let one = db.get_pinned_cf_opt(&family, key, &read).unwrap();
                found += u64::from(one.is_some());
                assert_eq!(
                    one.as_deref(),
                    value.unwrap().as_deref(),
                    "{}",
                    String::from_utf8_lossy(key)
                );
            }
        }
        assert!(found > 1000, "{found} rows found");
    }
}

#[test]
fn a_tier_bounds_a_batch_as_it_bounds_a_get() {
    let rng = &mut TestRng::with_seed(rng::seed());
    let db = Db::open(&options(Arc::new(MemFs::new()), FilterPolicy::None), "/db").unwrap();
    fill(&db, rng);
    let family = db.default_column_family();
    let (mut known, mut unknown) = (0, 0);
    for read_tier in [ReadTier::Memtable, ReadTier::BlockCache] {
        let read = ReadOptions {
            read_tier,
            ..ReadOptions::default()
        };
        for _ in 0..100 {
            let keys = draw(rng);
            for (key, value) in keys.iter().zip(db.multi_get_cf_opt(&family, &keys, &read)) {
                match value {
                    Ok(value) => {
                        known += 1;
                        assert_eq!(db.get(key).unwrap(), value);
                    }
                    Err(error) => {
                        unknown += 1;
                        assert_eq!(error.kind(), ErrorKind::Incomplete);
                    }
                }
            }
        }
    }
    assert!(known > 0 && unknown > 0, "{known} {unknown}");
}

#[test]
fn a_block_that_cannot_be_read_is_an_error_of_its_keys_alone() {
    let rng = &mut TestRng::with_seed(rng::seed());
    let faults = FaultFs::new(Arc::new(MemFs::new()));
    let db = Db::open(&options(Arc::new(faults.clone()), FilterPolicy::None), "/db").unwrap();
    fill(&db, rng);
    db.wait_for_compact().unwrap();
    let family = db.default_column_family();
    let (mut right, mut failed) = (0, 0);
    for _ in 0..100 {
        let keys = draw(rng);
        let rule = Rule::new(Action::Fail(ErrorKind::Io))
            .on([Op::Read])
            .path_contains(".sst");
        let rule = faults.add(rule.nth(rng.u64(..8)));
        let batch = db.multi_get_cf(&family, &keys);
        let fired = faults.fired(rule);
        faults.remove_rule(rule);
        let errors = batch.iter().filter(|value| value.is_err()).count();
        assert!(errors as u64 >= fired.min(1), "a read failed, and no key");
        for (key, value) in keys.iter().zip(batch) {
            match value {
                Ok(value) => {
                    right += 1;
                    assert_eq!(db.get(key).unwrap(), value);
                }
                Err(error) => {
                    failed += 1;
                    assert_eq!(error.kind(), ErrorKind::Io);
                    assert!(error.file().is_some(), "{error}");
                }
            }
        }
    }
    assert!(failed > 0 && right > failed, "{right} right, {failed} failed");
}

/// The values of keys of several families.
fn values_of(db: &Db, keys: &[(&ColumnFamily, &[u8])], options: &ReadOptions) -> Vec<Option<Vec<u8>>> {
    let found = db.multi_get_families(keys, options).into_iter();
    found
        .map(|value| value.unwrap().map(|value| value.to_vec()))
        .collect()
}

#[test]
fn keys_of_several_families_are_read_at_one_moment() {
    const WRITES: u32 = 2000;
    let options = options(Arc::new(MemFs::new()), FilterPolicy::Bloom(10.0));
    let db = Db::open(&options, "/db").unwrap();
    let (one, two) = (
        db.default_column_family(),
        db.create_column_family("two", &options.column_family).unwrap(),
    );
    db.put_cf(&one, "a", "in one").unwrap();
    db.put_cf(&two, "b", "in two").unwrap();
    let before = ReadOptions {
        snapshot: Some(db.snapshot()),
        ..ReadOptions::default()
    };
    db.put_cf(&two, "a", "in two, too").unwrap();
    db.flush_cf(std::slice::from_ref(&two)).unwrap();
    // The values come in the order of the keys, whichever their families.
    let keys: [(&ColumnFamily, &[u8]); 4] = [(&two, b"b"), (&one, b"a"), (&two, b"a"), (&one, b"b")];
    let text = |text: &str| Some(text.as_bytes().to_vec());
    assert_eq!(
        values_of(&db, &keys, &ReadOptions::default()),
        [text("in two"), text("in one"), text("in two, too"), None]
    );
    assert_eq!(
        values_of(&db, &keys, &before),
        [text("in two"), text("in one"), None, None]
    );
    // A batch of both families is seen as a whole or not at all.
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..WRITES {
                let mut batch = WriteBatch::new();
                batch.put_cf(&one, b"n", &number.to_le_bytes());
                batch.put_cf(&two, b"n", &number.to_le_bytes());
                db.write(batch).unwrap();
                if number % 500 == 0 {
                    db.flush_cf(&[one.clone(), two.clone()]).unwrap();
                }
            }
            done.store(true, Ordering::Release);
        });
        while !done.load(Ordering::Acquire) {
            let found = values_of(&db, &[(&two, b"n"), (&one, b"n")], &ReadOptions::default());
            assert_eq!(found[0], found[1]);
        }
    });
    let last = Some((WRITES - 1).to_le_bytes().to_vec());
    assert_eq!(
        values_of(&db, &[(&two, b"n"), (&one, b"n")], &ReadOptions::default()),
        [last.clone(), last]
    );
}
