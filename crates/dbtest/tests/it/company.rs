//! What else goes on while a history runs: a reader who checks that every snapshot is whole, and a writer with a column
//! family of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use dbtest::files;
use esker::{ColumnFamily, Db, FlushOptions, ReadOptions, WriteBatch, WriteOptions};
use testkit::TestRng;

/// The name of the writer's family.
pub const FAMILY: &str = "company";

/// The rows of the writer's family.
pub type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Two threads beside the test's own.
pub struct Company {
    stop: Arc<AtomicBool>,
    reader: JoinHandle<()>,
    writer: JoinHandle<Rows>,
}

impl Company {
    /// Begins to work on `db`, whose family [`FAMILY`] holds `rows`.
    pub fn start(db: &Db, seed: u64, rows: Rows) -> Company {
        let stop = Arc::new(AtomicBool::new(false));
        let reader = {
            let (db, stop) = (db.clone(), stop.clone());
            std::thread::spawn(move || read(&db, &stop, TestRng::with_seed(seed)))
        };
        let writer = {
            let (db, stop) = (db.clone(), stop.clone());
            std::thread::spawn(move || write(&db, &stop, TestRng::with_seed(!seed), rows))
        };
        Company { stop, reader, writer }
    }

    /// Ends both and gives what the writer's family holds now. Panics if one of them did.
    pub fn stop(self) -> Rows {
        self.stop.store(true, Ordering::Relaxed);
        self.reader
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.writer
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Every row, in the order of keys, read in either direction.
pub fn rows(
    db: &Db,
    family: &ColumnFamily,
    options: &ReadOptions,
    backwards: bool,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut iter = db.iter_cf(options, family);
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

/// Of one snapshot all ways of reading tell the same.
fn read(db: &Db, stop: &AtomicBool, mut rng: TestRng) {
    while !stop.load(Ordering::Relaxed) {
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
                let got = db.get_opt(&options, family, key).unwrap();
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
        for (row, got) in forwards.iter().zip(db.multi_get(&options, family, &keys)) {
            assert_eq!(got.unwrap().as_ref(), Some(&row.1));
        }
        std::thread::yield_now();
    }
}

/// Writes, and finds what it wrote.
fn write(db: &Db, stop: &AtomicBool, mut rng: TestRng, mut rows: Rows) -> Rows {
    let family = db.column_family(FAMILY).unwrap();
    while !stop.load(Ordering::Relaxed) {
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
        db.write(&options, batch).unwrap();
        // Its own writes are read back at once.
        let key = format!("c{:04}", rng.u32(..400)).into_bytes();
        assert_eq!(
            db.get_opt(&ReadOptions::default(), &family, &key)
                .unwrap()
                .as_ref(),
            rows.get(&key)
        );
        if rng.one_in(200) {
            db.flush_cf(&FlushOptions::default(), std::slice::from_ref(&family))
                .unwrap();
        }
        if rng.one_in(8) {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
    }
    rows
}
