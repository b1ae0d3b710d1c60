//! Concurrent inserts into memtables: the rows that writers and readers see, and the operations that wait for
//! the writers.

use std::cell::Cell;
use std::cmp::Ordering as Order;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use dbtest::by_hand::flush;
use dbtest::gate::Gate;
use esker::{
    ColumnFamily, ColumnFamilyOptions, Comparator, Db, ErrorKind, Options, ReadOptions, Result, Snapshot,
    UserComparator, WriteBatch, WriteOptions,
};
use testkit::memory::TurnedBit;
use testkit::{Task, TestRng, receive, wait_until};
use vfs::MemFs;

fn options() -> Options {
    Options {
        create_if_missing: true,
        create_missing_column_families: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    }
}

/// The behaviour of the next key comparison of a thread.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Goes,
    /// The comparison waits until the gate lets it pass.
    Stops,
    Panics,
}

thread_local! {
    static NEXT: Cell<Next> = const { Cell::new(Next::Goes) };
}

/// A bytewise comparator with a gate that stops inserting threads.
struct AtGate(Arc<Gate>);

impl Comparator for AtGate {
    fn name(&self) -> &str {
        "gate"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Order {
        match NEXT.replace(Next::Goes) {
            Next::Goes => {}
            Next::Panics => panic!("a comparator that panics"),
            Next::Stops => self.0.pass(),
        }
        a.cmp(b)
    }
}

type Write = Box<dyn FnOnce() -> Result<()> + Send>;

/// A thread that writes.
struct Writer {
    thread: thread::JoinHandle<Result<()>>,
    task: Task,
}

impl Writer {
    fn spawn(write: impl FnOnce() -> Result<()> + Send + 'static) -> Writer {
        let (begun, begins) = mpsc::channel();
        let thread = thread::spawn(move || {
            begun.send(Task::current()).unwrap();
            write()
        });
        let task = receive("the thread", &begins);
        Writer { thread, task }
    }

    fn wait_until_asleep(&self) {
        self.task.wait_until_asleep();
    }

    fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    fn join(self) -> thread::Result<Result<()>> {
        self.thread.join()
    }
}

/// A database in which inserts can be stopped.
struct Gated {
    db: Db,
    gate: Arc<Gate>,
    options: Options,
}

impl Gated {
    fn new(family: ColumnFamilyOptions) -> Gated {
        let gate = Gate::closed();
        let options = Options {
            column_family: ColumnFamilyOptions {
                comparator: UserComparator::Custom(Arc::new(AtGate(gate.clone()))),
                ..family
            },
            ..options()
        };
        let db = Db::open(&options, "/db").unwrap();
        // The gate is in the comparator, so inserted keys reach it only if the memtable has keys to compare
        // them with.
        db.put(b"a", b"").unwrap();
        db.put(b"b", b"").unwrap();
        Gated { db, gate, options }
    }

    /// A write of two rows: with a single row, a writer would keep the queue while no multi-row write is in
    /// progress.
    fn put(&self, key: &'static str) -> Write {
        let db = self.db.clone();
        Box::new(move || {
            let mut batch = WriteBatch::new();
            batch.put(key.as_bytes(), key.as_bytes());
            batch.put(format!("{key} too").as_bytes(), b"");
            db.write(batch)
        })
    }

    fn put_one(&self, key: &'static str) -> Write {
        let db = self.db.clone();
        Box::new(move || db.put(key.as_bytes(), b""))
    }

    fn has(&self, key: &str) -> bool {
        self.db.get(key.as_bytes()).unwrap().is_some()
    }

    /// Runs a write in a thread of its own, with `next` as the behaviour of its next comparison.
    fn start(&self, next: Next, write: Write) -> Writer {
        Writer::spawn(move || {
            NEXT.set(next);
            let written = catch_unwind(AssertUnwindSafe(write));
            NEXT.set(Next::Goes);
            written.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// A thread that has written `key` to the WAL and is stopped within its insertion, without the write
    /// queue's lock.
    fn stopped(&self, key: &'static str) -> Writer {
        // A writer that had to wait for the queue leaves it early. The thread that holds the queue meanwhile
        // is stopped in its own insertion.
        let holder = self.start(Next::Stops, self.put("holder"));
        self.gate.wait_for(1);
        let (begun, begins) = mpsc::channel();
        let put = self.put(key);
        let write = move || {
            begun.send(Task::current()).unwrap();
            put()
        };
        let stopped = self.start(Next::Stops, Box::new(write));
        // The thread waits for the queue.
        receive("the writer", &begins).wait_until_asleep();
        self.gate.let_one_pass();
        holder.join().unwrap().unwrap();
        self.gate.wait_for(1);
        stopped
    }
}

#[test]
fn a_row_becomes_visible_when_all_rows_before_it_are_there() {
    let gated = Gated::new(ColumnFamilyOptions::default());
    let (db, gate) = (&gated.db, &gated.gate);
    let first = gated.stopped("first");
    // The second writer reaches its insertion although the first has not finished its own.
    let second = gated.start(Next::Stops, gated.put("second"));
    gate.wait_for(2);
    let third = gated.start(Next::Goes, gated.put_one("third"));
    let before = db.snapshot();
    let number = db.latest_sequence_number();
    third.wait_until_asleep();
    assert!(!third.is_finished(), "those before it are not there");
    for key in ["first", "second", "third"] {
        assert!(!gated.has(key), "{key}");
    }
    // A flush includes the rows of all three writers.
    let flushed = {
        let db = db.clone();
        Writer::spawn(move || db.flush())
    };
    flushed.wait_until_asleep();
    assert!(!flushed.is_finished() && db.live_files().is_empty());
    assert_eq!(db.latest_sequence_number(), number);
    gate.let_one_pass();
    gate.let_one_pass();
    for writer in [first, second, third] {
        writer.join().unwrap().unwrap();
    }
    flushed.join().unwrap().unwrap();
    assert_eq!(db.latest_sequence_number(), number + 5);
    let at = ReadOptions {
        snapshot: Some(before),
        ..ReadOptions::default()
    };
    for key in ["first", "second", "third"] {
        assert!(gated.has(key), "{key}");
        let then = db.get_cf_opt(&db.default_column_family(), key.as_bytes(), &at);
        assert_eq!(then.unwrap(), None, "{key}");
    }
    assert_eq!(
        db.live_files().iter().map(|file| file.num_entries).sum::<u64>(),
        9
    );
}

/// A write between two others fails during its insertion: no later write is acknowledged, earlier ones are,
/// and no thread waits indefinitely.
fn fails_in_the_middle(gated: Gated, failing: Write, next: Next) {
    let db = &gated.db;
    db.put(b"g", b"value").unwrap();
    let first = gated.stopped("first");
    let before = db.latest_sequence_number();
    let turned = {
        let value = db.get_pinned(b"g");
        TurnedBit::new(value.unwrap().unwrap().as_ptr().addr(), 0)
    };
    if turned.is_none() && next == Next::Goes {
        gated.gate.let_one_pass();
        return first.join().unwrap().unwrap();
    }
    let behind = |write: Write| gated.start(Next::Goes, write);
    let failed = gated.start(next, failing);
    wait_until("it fails while the first is still there", || failed.is_finished());
    match next {
        Next::Panics => assert_eq!(failed.join().unwrap().unwrap_err().kind(), ErrorKind::Panicked),
        _ => assert!(failed.join().unwrap().unwrap_err().is_corruption()),
    }
    // The flipped bit is restored before the first writer compares its keys with the corrupt row.
    drop(turned);
    let flushing = db.clone();
    let late = [
        behind(gated.put("third")),
        behind(Box::new(move || flushing.flush())),
    ];
    assert!(!first.is_finished());
    gated.gate.let_one_pass();
    first.join().unwrap().unwrap();
    for late in late {
        assert_eq!(late.join().unwrap().unwrap_err().kind(), ErrorKind::ReadOnly);
    }
    assert_eq!(
        db.latest_sequence_number(),
        before + 2,
        "the first, and nothing else"
    );
    if next == Next::Panics {
        let seen = ["first", "failing", "third"].map(|key| gated.has(key));
        assert_eq!(seen, [true, false, false]);
    }
    assert_eq!(gated.put("third")().unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(db.resume().unwrap_err().kind(), ErrorKind::ReadOnly);
    let Gated { db, options, .. } = gated;
    drop(db.close());
    drop(db);
    let db = Db::open(&options, "/db").unwrap();
    for key in [&b"a"[..], b"b", b"holder", b"first", b"failing"] {
        assert!(db.get(key).unwrap().is_some(), "the WAL has {key:?}");
    }
    assert_eq!(db.get(b"third").unwrap(), None);
    db.put(b"third", b"").unwrap();
}

#[test]
fn nothing_behind_a_thread_that_panics_is_acknowledged() {
    let gated = Gated::new(ColumnFamilyOptions::default());
    let failing = gated.put("failing");
    fails_in_the_middle(gated, failing, Next::Panics);
}

#[test]
fn nothing_behind_an_insertion_that_finds_damage_is_acknowledged() {
    let gated = Gated::new(ColumnFamilyOptions {
        memtable_protection_bytes_per_key: 8,
        memtable_verify_per_key_checksum_on_seek: true,
        ..ColumnFamilyOptions::default()
    });
    let db = gated.db.clone();
    let protect = WriteOptions {
        protection_bytes_per_key: 8,
        ..WriteOptions::default()
    };
    let failing: Write =
        Box::new(move || db.put_cf_opt(&db.default_column_family(), b"failing", b"", &protect));
    fails_in_the_middle(gated, failing, Next::Goes);
}

/// The families that each writer has besides the shared one.
fn families(db: &Db, count: usize) -> Vec<ColumnFamily> {
    let own = (0..count).map(|number| {
        let name = format!("family{number}");
        db.create_column_family(&name, &db.options().column_family)
            .unwrap()
    });
    own.collect()
}

fn at(snapshot: &Snapshot) -> ReadOptions {
    ReadOptions {
        snapshot: Some(snapshot.clone()),
        ..ReadOptions::default()
    }
}

fn number(value: Option<Vec<u8>>) -> u64 {
    value.map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().unwrap()))
}

/// Sets the flag that ends the work of other threads, when dropped.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Each batch of a writer gives all its rows in two families one number. A snapshot shows the same number in
/// all rows of a writer; the number never decreases from one snapshot to the next, stays the same within a
/// snapshot, and is not lower than the writes acknowledged before it.
#[test]
fn snapshots_show_batches_whole_and_in_order_whoever_writes() {
    const WRITERS: usize = 4;
    const ROWS: usize = 12;
    const LOOKS: usize = 500;
    let mut options = options();
    options.column_family.write_buffer_size = 64 << 10;
    let db = Db::open(&options, "/db").unwrap();
    let own = families(&db, WRITERS);
    let shared = db.default_column_family();
    let acknowledged: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let key = |writer: usize, row: usize| format!("{row:02} of {writer}").into_bytes();
    let of = |options: &ReadOptions, writer: usize, row: usize| {
        let family = [&shared, &own[writer]][row % 2];
        number(db.get_cf_opt(family, key(writer, row), options).unwrap())
    };
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (db, acknowledged, stop) = (&db, &acknowledged[writer], &stop);
            let families = [&shared, &own[writer]];
            let (of, key) = (&of, &key);
            scope.spawn(move || {
                for round in 1_u64.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let mut batch = WriteBatch::new();
                    for row in 0..ROWS {
                        batch.put_cf(families[row % 2], &key(writer, row), &round.to_be_bytes());
                    }
                    db.write(batch).unwrap();
                    let row = round as usize % ROWS;
                    assert_eq!(
                        of(&ReadOptions::default(), writer, row),
                        round,
                        "it reads what it wrote"
                    );
                    acknowledged.store(round, Ordering::Release);
                }
            });
        }
        let mut last = [0; WRITERS];
        let mut kept: Vec<(Snapshot, [u64; WRITERS])> = Vec::new();
        let mut rng = testkit::rng();
        // The flag is set even if an assertion fails.
        let _stopped = Stops(&stop);
        for _ in 0..LOOKS {
            let promised: Vec<u64> = acknowledged.iter().map(|n| n.load(Ordering::Acquire)).collect();
            let snapshot = db.snapshot();
            let options = at(&snapshot);
            let mut seen = [0; WRITERS];
            for writer in 0..WRITERS {
                seen[writer] = of(&options, writer, ROWS - 1);
                for row in (0..ROWS).rev() {
                    assert_eq!(of(&options, writer, row), seen[writer], "half of a batch");
                }
                assert!(seen[writer] >= promised[writer] && seen[writer] >= last[writer]);
            }
            last = seen;
            kept.push((snapshot, seen));
            if kept.len() > 20 {
                kept.swap_remove(rng.usize(0..20));
            }
            let (snapshot, seen) = rng.pick(&kept);
            let writer = rng.usize(0..WRITERS);
            assert_eq!(
                of(&at(snapshot), writer, rng.usize(0..ROWS)),
                seen[writer],
                "it has changed"
            );
        }
    });
}

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn scan(db: &Db, family: &ColumnFamily) -> Rows {
    let mut iter = db.iter_cf(family);
    iter.seek_to_first();
    let mut rows = Rows::new();
    while iter.valid() {
        rows.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().unwrap();
    rows
}

/// Writes to keys of one writer, in a shared family and its own; returns the expected rows.
fn write(db: &Db, families: [&ColumnFamily; 2], writer: usize, mut rng: TestRng, ranges: bool) -> [Rows; 2] {
    let mut rows = [Rows::new(), Rows::new()];
    for step in 0..6000 {
        let key = |n: u32| format!("{writer} {n:04}").into_bytes();
        let mut batch = WriteBatch::new();
        for _ in 0..rng.usize(1..4) {
            let family = rng.usize(0..2);
            let at = rng.u32(..500);
            match rng.u8(..20) {
                0 if ranges => {
                    let end = at + rng.u32(..40);
                    batch.delete_range_cf(families[family], &key(at), &key(end));
                    rows[family].retain(|row, _| *row < key(at) || *row >= key(end));
                }
                1..4 => {
                    batch.delete_cf(families[family], &key(at));
                    rows[family].remove(&key(at));
                }
                _ => {
                    let value = vec![b'a' + (step % 26) as u8; rng.usize(0..60)];
                    batch.put_cf(families[family], &key(at), &value);
                    rows[family].insert(key(at), value);
                }
            }
        }
        db.write(batch).unwrap();
        let (family, at) = (rng.usize(0..2), rng.u32(..500));
        let found = db.get_cf(families[family], key(at)).unwrap();
        assert_eq!(found.as_ref(), rows[family].get(&key(at)), "{writer}: {at}");
    }
    rows
}

fn writers_side_by_side(ranges: bool) {
    const WRITERS: usize = 4;
    let mut rng = testkit::rng();
    let mut options = options();
    // The memtable is small, so that memtables are switched often.
    options.column_family.write_buffer_size = 8 << 10;
    options.column_family.max_write_buffer_number = 4;
    options.max_background_jobs = 4;
    let db = Db::open(&options, "/db").unwrap();
    let own = families(&db, WRITERS);
    let shared = db.default_column_family();
    let expected: Vec<[Rows; 2]> = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (db, families) = (&db, [&shared, &own[writer]]);
                let rng = TestRng::with_seed(rng.u64(..));
                scope.spawn(move || write(db, families, writer, rng, ranges))
            })
            .collect();
        // Flushes and other operations that wait for the writers run meanwhile.
        while !writers.iter().all(|writer| writer.is_finished()) {
            flush(&db);
            let short = db
                .create_column_family("short", &db.options().column_family)
                .unwrap();
            db.drop_column_family(&short).unwrap();
            db.lock_wal().unwrap();
            db.unlock_wal().unwrap();
            thread::yield_now();
        }
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let all: Rows = expected.iter().flat_map(|[shared, _]| shared.clone()).collect();
    let check = |db: &Db| {
        assert_eq!(scan(db, &db.default_column_family()), all);
        for (writer, [_, rows]) in expected.iter().enumerate() {
            let family = db.column_family(&format!("family{writer}")).unwrap();
            assert_eq!(scan(db, &family), *rows);
        }
    };
    check(&db);
    drop((own, shared));
    db.close().unwrap();
    drop(db);
    check(&Db::open(&options, "/db").unwrap());
}

#[test]
fn rows_of_many_writers_are_there_whatever_is_switched_meanwhile() {
    writers_side_by_side(false);
}

#[test]
fn ranges_are_deleted_beside_rows_that_are_put() {
    writers_side_by_side(true);
}
