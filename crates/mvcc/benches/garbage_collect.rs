//! What it costs to collect the garbage of keys, by how much goes and how much stays: nanoseconds a call.
//! `cargo bench -p esker-mvcc --bench garbage_collect`.
//!
//! The parameters are those of CockroachDB's `MVCCGarbageCollect` (pull request 51462): keys and values of 128 random bytes, 1 or 1024 keys of
//! 2 or 1024 versions, of which the oldest 1 to 1023 go. All of it lies in the memtable. Each call begins a batch, collects, and drops the
//! batch, so that every call finds the same.
//!
//! * `in_memory`, `in_memory_with_statistics`: as there
//! * `in_files`: the same flushed and compacted, in the block cache
//! * `committed`, `scanned_after`: one key's versions removed and written; a scan of what is left, over the deletions
//! * `kept`: 1 of 2 to 65,536 versions of one key goes: what stays is not to be paid for
//!
//! A reader learns whether a collection may be done page by page, and whether statistics can stay on.

mod database;

use std::fmt;
use std::sync::OnceLock;

use divan::Bencher;
use esker::{ColumnFamily, Db, FlushOptions, WriteBatch, WriteOptions};
use esker_mvcc::{
    BatchOptions, GcKey, MvccBatch, MvccReadOptions, Reader, Span, Timestamp, Value, encode_key,
};
use testkit::bench::size;

fn main() {
    divan::main();
}

const LEN: usize = 128;
/// The first of January 2000.
const BASE: i64 = 946_684_800_000_000_000;

/// So many keys of so many versions, of each of which the oldest so many go.
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
            db.write(&unlogged, batch).expect("a write");
        }
        if in_files {
            db.flush(&FlushOptions::default()).expect("a flush");
            db.compact_range(&family, &Default::default(), None, None)
                .expect("a compaction");
        }
        Loaded {
            db,
            family,
            keys: user_keys,
        }
    }

    /// The data of a case, made once: no call changes them.
    fn of(case: Case, in_files: bool) -> &'static Loaded {
        static LOADED: [OnceLock<Loaded>; 8] = [const { OnceLock::new() }; 8];
        let at = usize::from(case.keys > 1) * 4 + usize::from(case.versions > 2) * 2 + usize::from(in_files);
        LOADED[at].get_or_init(|| Loaded::new(case.keys, case.versions, in_files))
    }

    /// Removes the oldest so many versions of the first key, for good.
    fn commit(&self, delete: usize) {
        let mut keys = [GcKey {
            user_key: self.keys[0].clone(),
            timestamp: time(delete - 1),
        }];
        let mut batch = MvccBatch::new(&self.db, &self.family, BatchOptions::default(), BASE + 2);
        batch.garbage_collect(&mut keys).expect("a collection");
        let batch = batch.into_write_batch();
        self.db.write(&WriteOptions::default(), batch).expect("a write");
    }

    fn collect(&self, keys: &mut [GcKey], statistics: bool) {
        let options = BatchOptions {
            statistics,
            ..BatchOptions::default()
        };
        let mut batch = MvccBatch::new(&self.db, &self.family, options, BASE + 2);
        divan::black_box(batch.garbage_collect(keys).expect("a collection"));
    }
}

fn time(version: usize) -> Timestamp {
    Timestamp::from_nanos(BASE + version as i64 + 1)
}

fn bench(bencher: Bencher<'_, '_>, case: Case, loaded: &Loaded, statistics: bool) {
    let keys = loaded.keys.iter().map(|user_key| GcKey {
        user_key: user_key.clone(),
        timestamp: time(case.delete - 1),
    });
    let mut keys: Vec<GcKey> = keys.collect();
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

const OF_1024: [usize; 6] = [1, 16, 32, 512, 1015, 1023];

fn loaded_for_commit() -> Loaded {
    Loaded::new(1, 1024, false)
}

#[divan::bench(args = OF_1024, sample_count = 20, sample_size = 1)]
fn committed(bencher: Bencher<'_, '_>, delete: usize) {
    bencher
        .with_inputs(loaded_for_commit)
        .bench_local_refs(|loaded| loaded.commit(delete));
}

#[divan::bench(args = OF_1024, sample_count = 20, sample_size = 1)]
fn scanned_after(bencher: Bencher<'_, '_>, delete: usize) {
    let loaded = || {
        let loaded = loaded_for_commit();
        loaded.commit(delete);
        loaded
    };
    bencher.with_inputs(loaded).bench_local_refs(|loaded| {
        let reader = Reader::new(&loaded.db, &loaded.family);
        let found = reader.scan(Span::ALL, Timestamp::MAX, &MvccReadOptions::default());
        assert_eq!(found.expect("a scan").rows.len(), 1);
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
