//! Concurrent work during a history: a reader that checks the consistency of snapshots, and a writer with a
//! column family of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use dbtest::files;
use esker::{ColumnFamily, Db, ReadOptions, WriteBatch, WriteOptions};
use testkit::TestRng;

/// The name of the concurrent writer's column family.
pub const FAMILY: &str = "company";

/// The rows of the concurrent writer's column family.
pub type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Two threads that use the database concurrently with the test.
pub struct Company {
    pace: Arc<Pace>,
    reader: JoinHandle<()>,
    writer: JoinHandle<Rows>,
}

impl Company {
    /// Starts both threads on `db`, whose family [`FAMILY`] contains `rows`.
    pub fn start(db: &Db, seed: u64, rows: Rows) -> Company {
        let pace = Arc::new(Pace::default());
        pace.change(|state| state.steps = 1);
        let reader = {
            let (db, pace) = (db.clone(), pace.clone());
            std::thread::spawn(move || read(&db, &pace, TestRng::with_seed(seed)))
        };
        let writer = {
            let (db, pace) = (db.clone(), pace.clone());
            std::thread::spawn(move || write(&db, &pace, TestRng::with_seed(!seed), rows))
        };
        Company { pace, reader, writer }
    }

    /// Counts a step of the test, during which both threads have some turns.
    pub fn step(&self) {
        self.pace.change(|state| state.steps += 1);
    }

    /// Ends both threads and returns the rows of the writer's family. Panics if one of them did.
    pub fn stop(self) -> Rows {
        self.pace.change(|state| state.stopped = true);
        self.reader
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.writer
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Limits the progress of the threads to a number of turns for each step of the test, so that their work
/// depends on the test and not on the speed of the machine.
#[derive(Default)]
struct Pace {
    state: Mutex<PaceState>,
    changed: Condvar,
}

#[derive(Default)]
struct PaceState {
    steps: u64,
    stopped: bool,
}

impl Pace {
    fn change(&self, change: impl FnOnce(&mut PaceState)) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
    }

    /// Waits until turn number `turn` may begin, with `each` turns per step; false if it never will.
    fn wait_for_turn(&self, turn: u64, each: u64) -> bool {
        let state = self.state.lock().unwrap();
        let waits = |state: &mut PaceState| !state.stopped && turn >= state.steps * each;
        let state = self.changed.wait_while(state, waits).unwrap();
        !state.stopped
    }
}

/// Every row in the order of keys, read in the direction given.
pub fn rows(
    db: &Db,
    family: &ColumnFamily,
    options: &ReadOptions,
    backwards: bool,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut iter = db.iter_cf_opt(family, options);
    let mut rows = Vec::new();
    if backwards {
        iter.seek_to_last()
    } else {
        iter.seek_to_first()
    }
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        if backwards { iter.prev() } else { iter.next() }
    }
    iter.status().unwrap();
    if backwards {
        rows.reverse();
    }
    rows
}

/// The body of the concurrent reader: checks that all ways of reading one snapshot agree.
fn read(db: &Db, pace: &Pace, mut rng: TestRng) {
    let mut turns = 0..;
    while turns.next().is_some_and(|turn| pace.wait_for_turn(turn, 1)) {
        if rng.one_in(10) {
            assert_eq!(files::check(db).unwrap(), "");
        }
        let options = ReadOptions {
            snapshot: Some(db.snapshot()),
            ..ReadOptions::default()
        };
        let families = db.column_families();
        let family = rng.pick(&families);
        let forwards = rows(db, family, &options, false);
        assert_eq!(
            forwards,
            rows(db, family, &options, true),
            "family {}",
            family.name()
        );
        for (key, value) in &forwards {
            if rng.one_in(20) {
                let got = db.get_cf_opt(family, key, &options).unwrap();
                assert_eq!(
                    got.as_ref(),
                    Some(value),
                    "{} of {}",
                    key.escape_ascii(),
                    family.name()
                );
            }
        }
        let keys: Vec<&Vec<u8>> = forwards.iter().take(30).map(|row| &row.0).collect();
        for (row, got) in forwards.iter().zip(db.multi_get_cf_opt(family, &keys, &options)) {
            assert_eq!(got.unwrap().as_ref(), Some(&row.1));
        }
    }
}

/// The body of the concurrent writer: writes, and checks that reads return the writes.
fn write(db: &Db, pace: &Pace, mut rng: TestRng, mut rows: Rows) -> Rows {
    let family = db.column_family(FAMILY).unwrap();
    let mut turns = 0..;
    while turns.next().is_some_and(|turn| pace.wait_for_turn(turn, 8)) {
        let mut batch = WriteBatch::new();
        for _ in 0..rng.usize(1..10) {
            let key = format!("c{:04}", rng.u32(..400)).into_bytes();
            if rng.one_in(4) {
                batch.delete_cf(&family, &key);
                rows.remove(&key);
            } else {
                let len = rng.usize(..100);
                let value = rng.bytes(len);
                batch.put_cf(&family, &key, &value);
                rows.insert(key, value);
            }
        }
        let options = WriteOptions {
            sync: rng.one_in(10),
            ..WriteOptions::default()
        };
        db.write_opt(batch, &options).unwrap();
        // The thread's own writes are visible at once.
        let key = format!("c{:04}", rng.u32(..400)).into_bytes();
        assert_eq!(db.get_cf(&family, &key).unwrap().as_ref(), rows.get(&key));
        if rng.one_in(200) {
            db.flush_cf(std::slice::from_ref(&family)).unwrap();
        }
    }
    rows
}
