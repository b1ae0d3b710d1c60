//! The cost of garbage collection of given keys, by the numbers of versions removed and kept, in nanoseconds
//! a call. `cargo bench -p esker-mvcc --bench garbage_collect`.
//!
//! The parameters are those of CockroachDB's `MVCCGarbageCollect` (pull request 51462): keys and values of
//! 128 random bytes, 1 or 1024 keys of 2 or 1024 versions, of which the oldest 1 to 1023 are removed. All
//! data is in the memtable. Each call begins a batch, collects, and drops the batch, so that every call finds
//! the same data.
//!
//! * `in_memory`, `in_memory_with_statistics`: as in CockroachDB's benchmark
//! * `in_files`, `in_files_with_statistics`: the same data flushed and compacted, in the block cache
//! * `under_range_tombstones`, `under_range_tombstones_with_statistics`: in memory, with 1 or 2 range
//!   tombstones over keys of 2 versions, 1 or 100 over those of 1024: the first over all keys and below all
//!   versions, the others between random keys and versions
//! * `committed`, `committed_with_statistics`: removed and written, of 1 key and of 1024
//! * `scanned_after`: a scan of the remaining data, over the deletions
//! * `kept`: 1 of 2 to 65,536 versions of one key is removed: the kept versions should cost nothing
//!
//! The results show whether a collection may be done page by page, and whether statistics can stay on.

mod database;

use std::fmt;
use std::sync::OnceLock;

use divan::Bencher;
use esker::{ColumnFamily, Db, WriteBatch, WriteOptions};
use esker_mvcc::{
    BatchOptions, GcKey, MvccBatch, MvccReadOptions, MvccStore, RangeTombstone, Reader, Span, Timestamp,
    Value, encode_key, next_user_key,
};
use testkit::bench::size;

fn main() {
    divan::main();
}

const LEN: usize = 128;
/// The first of January 2000.
const BASE: i64 = 946_684_800_000_000_000;

/// A number of keys and of versions of each, and how many of the oldest versions are removed.
#[derive(Clone, Copy)]
struct Case {
    keys: usize,
    versions: usize,
    delete: usize,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "keys {} versions {} delete {}",
            self.keys, self.versions, self.delete
        )
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for keys in [1, size(1024, 4)] {
        for (versions, deletes) in [(2, &[1][..]), (1024, &[1, 16, 32, 512, 1015, 1023])] {
            cases.extend(deletes.iter().map(|&delete| Case {
                keys,
                versions,
                delete,
            }));
        }
    }
    cases
}

struct Loaded {
    db: Db,
    family: ColumnFamily,
    keys: Vec<Vec<u8>>,
}

impl Loaded {
    fn new(keys: usize, versions: usize, in_files: bool) -> Loaded {
        let (db, family) = database::open(|family| family.write_buffer_size = 8 << 30);
        let unlogged = database::unlogged();
        let mut rng = fastrand::Rng::with_seed(51462);
        let mut bytes = || (0..LEN).map(|_| rng.u8(..)).collect::<Vec<u8>>();
        let user_keys: Vec<Vec<u8>> = (0..keys).map(|_| bytes()).collect();
        let value = bytes();
        let (mut key, mut stored) = (Vec::new(), Vec::new());
        for user_key in &user_keys {
            let mut batch = WriteBatch::new();
            for version in 0..versions {
                key.clear();
                stored.clear();
                encode_key(&mut key, user_key, time(version));
                Value::Bytes(&value).encode(&mut stored, user_key, false);
                batch.put_cf(&family, &key, &stored);
            }
            db.write_opt(batch, &unlogged).expect("a write");
        }
        if in_files {
            db.flush().expect("a flush");
            db.compact_range_cf(&family, None, None).expect("a compaction");
        }
        Loaded {
            db,
            family,
            keys: user_keys,
        }
    }

    /// The data of a case, created once: no call changes it.
    fn of(case: Case, in_files: bool) -> &'static Loaded {
        static LOADED: [OnceLock<Loaded>; 8] = [const { OnceLock::new() }; 8];
        let at = usize::from(case.keys > 1) * 4 + usize::from(case.versions > 2) * 2 + usize::from(in_files);
        LOADED[at].get_or_init(|| Loaded::new(case.keys, case.versions, in_files))
    }

    /// The request to remove the oldest `delete` versions of each key.
    fn garbage(&self, delete: usize) -> Vec<GcKey> {
        let keys = self.keys.iter().map(|user_key| GcKey {
            user_key: user_key.clone(),
            timestamp: time(delete - 1),
        });
        keys.collect()
    }

    /// Removes the versions and commits.
    fn commit(&self, keys: &mut [GcKey], statistics: bool) {
        let mut batch = MvccBatch::new(&self.db, &self.family, options(statistics), BASE + 2);
        batch.garbage_collect(keys).expect("a collection");
        let batch = batch.into_write_batch();
        self.db.write(batch).expect("a write");
    }

    fn collect(&self, keys: &mut [GcKey], statistics: bool) {
        let mut batch = MvccBatch::new(&self.db, &self.family, options(statistics), BASE + 2);
        divan::black_box(batch.garbage_collect(keys).expect("a collection"));
    }

    /// Writes `count` range tombstones: the first one below all versions and over all keys, the others over
    /// random keys and at random times.
    fn delete_ranges(&self, count: usize, versions: usize) {
        let options = BatchOptions {
            range_tombstones: true,
            ..options(false)
        };
        let store = MvccStore::open(&self.db, &self.family, options, BASE).expect("a store");
        let mut rng = fastrand::Rng::with_seed(87517);
        let mut keys = self.keys.clone();
        keys.sort_unstable();
        let tombstones: Vec<RangeTombstone> = (0..count)
            .map(|nth| {
                let (a, b) = (rng.usize(..keys.len()), rng.usize(..keys.len()));
                let (first, last, at) = match nth {
                    0 => (0, keys.len() - 1, Timestamp::from_nanos(BASE)),
                    _ => (a.min(b), a.max(b), time(rng.usize(..versions)).next()),
                };
                RangeTombstone {
                    start: keys[first].clone(),
                    end: next_user_key(&keys[last]),
                    timestamps: vec![at],
                }
            })
            .collect();
        let mut batch = store.begin(BASE);
        batch
            .import_range_tombstones(&tombstones)
            .expect("range tombstones");
        batch.commit(&WriteOptions::default()).expect("a write");
    }
}

fn options(statistics: bool) -> BatchOptions {
    BatchOptions {
        statistics,
        ..BatchOptions::default()
    }
}

fn time(version: usize) -> Timestamp {
    Timestamp::from_nanos(BASE + version as i64 + 1)
}

fn bench(bencher: Bencher<'_, '_>, case: Case, loaded: &Loaded, statistics: bool) {
    let mut keys = loaded.garbage(case.delete);
    bencher.bench_local(|| loaded.collect(&mut keys, statistics));
}

#[divan::bench(args = cases())]
fn in_memory(bencher: Bencher<'_, '_>, case: Case) {
    bench(bencher, case, Loaded::of(case, false), false);
}

#[divan::bench(args = cases())]
fn in_memory_with_statistics(bencher: Bencher<'_, '_>, case: Case) {
    bench(bencher, case, Loaded::of(case, false), true);
}

#[divan::bench(args = cases())]
fn in_files(bencher: Bencher<'_, '_>, case: Case) {
    bench(bencher, case, Loaded::of(case, true), false);
}

#[divan::bench(args = cases())]
fn in_files_with_statistics(bencher: Bencher<'_, '_>, case: Case) {
    bench(bencher, case, Loaded::of(case, true), true);
}

/// A case with a number of range tombstones.
#[derive(Clone, Copy)]
struct Covered {
    case: Case,
    tombstones: usize,
}

impl fmt::Display for Covered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} range tombstones {}", self.case, self.tombstones)
    }
}

fn covered() -> Vec<Covered> {
    let of = |case: Case| {
        let counts = if case.versions == 2 { [1, 2] } else { [1, 100] };
        counts.map(|tombstones| Covered { case, tombstones })
    };
    cases().into_iter().flat_map(of).collect()
}

fn bench_covered(bencher: Bencher<'_, '_>, Covered { case, tombstones }: Covered, statistics: bool) {
    static LOADED: [OnceLock<Loaded>; 8] = [const { OnceLock::new() }; 8];
    let at =
        usize::from(case.keys > 1) * 4 + usize::from(case.versions > 2) * 2 + usize::from(tombstones > 1);
    let loaded = LOADED[at].get_or_init(|| {
        let loaded = Loaded::new(case.keys, case.versions, false);
        loaded.delete_ranges(tombstones, case.versions);
        loaded
    });
    let store = MvccStore::open(&loaded.db, &loaded.family, options(statistics), BASE).expect("a store");
    let mut keys = loaded.garbage(case.delete);
    bencher.bench_local(|| {
        let mut batch = store.begin(BASE + 2);
        divan::black_box(batch.garbage_collect(&mut keys).expect("a collection"));
    });
}

#[divan::bench(args = covered())]
fn under_range_tombstones(bencher: Bencher<'_, '_>, covered: Covered) {
    bench_covered(bencher, covered, false);
}

#[divan::bench(args = covered())]
fn under_range_tombstones_with_statistics(bencher: Bencher<'_, '_>, covered: Covered) {
    bench_covered(bencher, covered, true);
}

fn of_1024_versions() -> Vec<Case> {
    let all = cases().into_iter();
    all.filter(|case| case.versions == 1024).collect()
}

/// The batch is dropped, so each call finds data that was not collected yet.
fn bench_committed(bencher: Bencher<'_, '_>, case: Case, statistics: bool) {
    let loaded = || {
        let loaded = Loaded::new(case.keys, case.versions, false);
        let keys = loaded.garbage(case.delete);
        (loaded, keys)
    };
    bencher
        .with_inputs(loaded)
        .bench_local_refs(|(loaded, keys)| loaded.commit(keys, statistics));
}

#[divan::bench(args = of_1024_versions(), sample_count = 5, sample_size = 1)]
fn committed(bencher: Bencher<'_, '_>, case: Case) {
    bench_committed(bencher, case, false);
}

#[divan::bench(args = of_1024_versions(), sample_count = 5, sample_size = 1)]
fn committed_with_statistics(bencher: Bencher<'_, '_>, case: Case) {
    bench_committed(bencher, case, true);
}

/// The remaining data is the same with statistics and without.
#[divan::bench(args = of_1024_versions(), sample_count = 20, sample_size = 1)]
fn scanned_after(bencher: Bencher<'_, '_>, case: Case) {
    let loaded = Loaded::new(case.keys, case.versions, false);
    loaded.commit(&mut loaded.garbage(case.delete), false);
    bencher.bench_local(|| {
        let reader = Reader::new(&loaded.db, &loaded.family);
        let found = reader.scan(Span::ALL, Timestamp::MAX, &MvccReadOptions::default());
        assert_eq!(found.expect("a scan").rows.len(), case.keys as u64);
    });
}

#[divan::bench(args = [2, 1024, 65_536])]
fn kept(bencher: Bencher<'_, '_>, versions: usize) {
    let versions = size(versions, 2);
    let case = Case {
        keys: 1,
        versions,
        delete: 1,
    };
    bench(bencher, case, &Loaded::new(1, versions, false), false);
}
