//! Collections while other threads write: the garbage found is checked again when it is removed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use esker::{Db, WriteOptions};
use mvcc::{BatchOptions, Error, GcOptions, MvccReadOptions, MvccStore, Result, Span, Timestamp, Value};
use testkit::rng::{self, TestRng};
use vfs::MemFs;

use super::model::{NOW, open, plain};

/// For each key, the value that a reader must see, and whether it is inline.
type Live = BTreeMap<Vec<u8>, (Vec<u8>, bool)>;

/// The number of keys is so high that a search through all of them takes as long as several writes.
const KEYS: u32 = 500;

struct Writer<'a> {
    store: &'a MvccStore,
    clock: &'a AtomicI64,
    rng: TestRng,
    live: Live,
}

impl Writer<'_> {
    /// Keys are mostly deleted, so that there are runs of garbage; cleared keys become inline ones, and these
    /// become versions again.
    fn step(&mut self) -> Result<()> {
        let at = Timestamp::from_nanos(self.clock.fetch_add(1, Ordering::Relaxed));
        let first = self.rng.u32(..KEYS);
        let name = |at: u32| format!("key{at:03}").into_bytes();
        let mut batch = self.store.begin(NOW);
        let mut live = self.live.clone();
        let text = format!("value {at}").into_bytes();
        for key in (first..first + self.rng.u32(1..40)).map(name) {
            let is_inline = live.get(&key).is_some_and(|(_, is_inline)| *is_inline);
            match self.rng.u32(..16) {
                0 | 1 => {
                    let end = mvcc::next_user_key(&key);
                    batch.clear_range(Span::new(&key, &end))?;
                    live.remove(&key);
                    if self.rng.bool() {
                        batch.put_inline(&key, Some(Value::Bytes(&text)))?;
                        live.insert(key, (text.clone(), true));
                    }
                }
                2 if is_inline => {
                    batch.put_inline(&key, None)?;
                    live.remove(&key);
                }
                _ if is_inline => {}
                3..6 => {
                    batch.put(&key, at, Value::Bytes(&text))?;
                    live.insert(key, (text.clone(), false));
                }
                _ => {
                    batch.delete(&key, at)?;
                    live.remove(&key);
                }
            }
        }
        batch.commit(&WriteOptions::default())?;
        self.live = live;
        Ok(())
    }
}

fn found(store: &MvccStore) -> Live {
    let found = store.scan(Span::ALL, Timestamp::MAX, &MvccReadOptions::default());
    let rows = found.unwrap().rows;
    let live = rows.iter().map(|row| {
        let value = plain(row.stored, row.user_key).unwrap();
        (row.user_key.to_vec(), (value, row.timestamp.is_zero()))
    });
    live.collect()
}

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn collect_while_writing(db: &Db, min_run_versions: u64) {
    let options = BatchOptions {
        min_range_entries: 3,
        ..BatchOptions::default()
    };
    let store = MvccStore::open(db, &db.default_column_family(), options, NOW).unwrap();
    let (clock, done) = (AtomicI64::new(1), AtomicBool::new(false));
    let seed = rng::rng().u64(..);
    let live = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut writer = Writer {
                store: &store,
                clock: &clock,
                rng: TestRng::with_seed(seed),
                live: Live::new(),
            };
            while !done.load(Ordering::Relaxed) {
                match writer.step() {
                    Ok(()) | Err(Error::BelowThreshold { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            writer.live
        });
        let stop = StopOnDrop(&done);
        let options = GcOptions {
            page_versions: 16,
            min_run_versions,
            ..GcOptions::default()
        };
        for _ in 0..20 {
            let before = clock.load(Ordering::Relaxed);
            while clock.load(Ordering::Relaxed) < before + 20 && !writer.is_finished() {
                std::thread::yield_now();
            }
            let threshold = Timestamp::from_nanos(clock.load(Ordering::Relaxed) - 2);
            store.collect_garbage_at(threshold, NOW, &options).unwrap();
        }
        drop(stop);
        writer.join().unwrap()
    });
    let found = found(&store);
    let names = found.keys().chain(live.keys());
    let lost: Vec<_> = names.filter(|key| found.get(*key) != live.get(*key)).collect();
    assert!(lost.is_empty(), "{lost:?}, seed {seed}");
    assert_eq!(store.stats(NOW).unwrap(), store.recount(NOW).unwrap());
}

#[test]
fn what_came_into_the_place_of_garbage_stays() {
    for min_run_versions in [0, 4] {
        collect_while_writing(&open(Arc::new(MemFs::new())), min_run_versions);
    }
}
