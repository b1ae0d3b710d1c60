//! Writers of known keys, at once with each other, with batches of any keys and with collections.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

use esker::{Db, ErrorKind, Options, WriteOptions};
use mvcc::{
    BatchOptions, CompactionGc, Error, GcOptions, MvccReadOptions, MvccStore, Span, Timestamp, Value,
};
use testkit::TestRng;
use vfs::MemFs;

/// The first time of the clock.
const BEGIN: i64 = 1_700_000_000_000_000_000;
const THREADS: u64 = 6;
const STEPS: u64 = 300;
/// The number of accounts. Their sum never changes.
const ACCOUNTS: u64 = 12;

fn open() -> (Db, CompactionGc) {
    let gc = CompactionGc::new();
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::new()),
        ..Options::default()
    };
    mvcc::configure(&mut options.column_family);
    gc.configure(&mut options.column_family);
    options.column_family.write_buffer_size = 64 << 10;
    (Db::open(&options, "/db").unwrap(), gc)
}

fn store(db: &Db, gc: &CompactionGc) -> MvccStore {
    let family = db.default_column_family();
    MvccStore::open_with_compactions(db, &family, BatchOptions::default(), BEGIN, Some(gc.clone())).unwrap()
}

fn account(at: u64) -> Vec<u8> {
    format!("account{at:02}").into_bytes()
}

struct Bank<'a> {
    store: &'a MvccStore,
    clock: AtomicI64,
}

impl Bank<'_> {
    fn now(&self) -> i64 {
        self.clock.fetch_add(1_000_000, Ordering::Relaxed)
    }

    /// Moves an amount from one account to another, by keys or by a batch of everything.
    fn transfer(&self, rng: &mut TestRng) -> Result<(), Error> {
        let (from, to, by) = (
            account(rng.u64(..ACCOUNTS)),
            account(rng.u64(..ACCOUNTS)),
            rng.i64(0..100),
        );
        if rng.one_in(8) {
            let mut batch = self.store.begin(self.now());
            let at = Timestamp::from_nanos(self.now());
            if from != to {
                batch.increment(&from, at, -by)?;
                batch.increment(&to, at, by)?;
            }
            return batch.commit(&WriteOptions::default());
        }
        let mut batch = self.store.begin_keys(&[&from, &to], self.now());
        // The latches are held: no later version of these keys can be written meanwhile.
        let at = Timestamp::from_nanos(self.now());
        if from != to {
            batch.increment(&from, at, -by)?;
            batch.increment(&to, at, by)?;
        }
        batch.commit(&WriteOptions {
            sync: rng.one_in(4),
            ..WriteOptions::default()
        })
    }

    /// Counts a step in a key of the thread, by inline values and versions in turn.
    fn count(&self, thread: u64, step: u64) -> Result<(), Error> {
        let (versions, inline) = (format!("steps{thread}"), format!("inline{thread}"));
        let keys = [versions.as_bytes(), inline.as_bytes()];
        let mut batch = self.store.begin_keys(&keys, self.now());
        let at = Timestamp::from_nanos(self.now());
        assert_eq!(batch.increment(keys[0], at, 1)?, step as i64 + 1);
        assert_eq!(batch.increment_inline(keys[1], 1)?, step as i64 + 1);
        batch.commit(&WriteOptions::default())
    }

    /// The sum of all accounts, as of now; `None` if the thread was delayed until now was collected.
    fn sum(&self) -> Option<i64> {
        let at = Timestamp::from_nanos(self.now());
        let span = Span::new(b"account", b"account\xff");
        let found = match self.store.scan(span, at, &MvccReadOptions::default()) {
            Err(Error::BelowThreshold { .. }) => return None,
            found => found.unwrap(),
        };
        let values = found.rows.iter().map(|row| row.value().unwrap());
        let numbers = values.map(|value| match value {
            Some(Value::Int(number)) => number,
            other => panic!("{other:?}"),
        });
        Some(numbers.sum())
    }
}

/// Threads move amounts between accounts while others collect garbage in both ways. The sum of the accounts
/// stays the same, every step takes effect, and the statistics match the data.
#[test]
fn threads_write_their_keys_at_once() {
    let (db, gc) = open();
    let store = store(&db, &gc);
    let bank = Bank {
        store: &store,
        clock: AtomicI64::new(BEGIN),
    };
    thread::scope(|scope| {
        for number in 0..THREADS {
            let bank = &bank;
            scope.spawn(move || {
                let mut rng = TestRng::with_seed(number);
                for step in 0..STEPS {
                    match rng.bool() {
                        true => bank.transfer(&mut rng).unwrap(),
                        false => assert_eq!(bank.sum().unwrap_or(0), 0),
                    }
                    bank.count(number, step).unwrap();
                }
            });
        }
        let bank = &bank;
        scope.spawn(move || {
            // The lifetime is so long that a collection never reaches the times at which the threads read and
            // write.
            let ttl = Duration::from_millis(500);
            for turn in 0..10 {
                match turn % 2 {
                    0 => drop(bank.store.collect_in_compactions(ttl, bank.now()).unwrap()),
                    _ => drop(
                        bank.store
                            .collect_garbage(ttl, bank.now(), &GcOptions::default())
                            .unwrap(),
                    ),
                }
            }
        });
    });
    assert_eq!(bank.sum(), Some(0));
    let now = bank.now();
    assert_eq!(store.stats(now).unwrap(), store.recount(now).unwrap());
}

#[test]
fn only_the_keys_of_a_batch_are_written() {
    let (db, gc) = open();
    let store = store(&db, &gc);
    let at = Timestamp::from_nanos(BEGIN);
    let mut batch = store.begin_keys(&[b"b", b"a"], BEGIN);
    batch.put(b"a", at, Value::Bytes(b"1")).unwrap();
    let refused = [
        batch.put(b"c", at, Value::Bytes(b"1")),
        batch.put_blind(b"", at, Value::Bytes(b"1")),
        batch.delete(b"aa", at).map(drop),
        batch.increment(b"c", at, 1).map(drop),
        batch.conditional_put(b"c", at, Value::Int(1), None, false),
        batch.put_inline(b"c", Some(Value::Int(1))).map(drop),
        batch.conditional_put_inline(b"c", Some(Value::Int(1)), None, false),
        batch.increment_inline(b"c", 1).map(drop),
    ];
    for result in refused {
        match result {
            Err(Error::Engine(error)) => assert_eq!(error.kind(), ErrorKind::InvalidArgument),
            other => panic!("{other:?}"),
        }
    }
    // After a refused write, the earlier writes of the batch stay in it.
    batch.commit(&WriteOptions::default()).unwrap();
    let mut batch = store.begin_keys(&[b"b"], BEGIN);
    assert!(batch.is_empty());
    let found = batch.get(b"a", at, &MvccReadOptions::default()).unwrap();
    assert!(found.found.is_some());
    assert!(matches!(batch.delete(b"b", at), Ok(false)));
    // A batch that is dropped writes nothing.
    drop(batch);
    assert_eq!(store.stats(BEGIN).unwrap().key_count, 1);
}

#[test]
fn a_batch_of_one_key_waits_for_no_other_key() {
    let (db, gc) = open();
    let store = store(&db, &gc);
    let at = Timestamp::from_nanos(BEGIN);
    let mut held = store.begin_keys(&[b"held"], BEGIN);
    held.put(b"held", at, Value::Bytes(b"1")).unwrap();
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut batch = store.begin_keys(&[b"other"], BEGIN);
            batch.put(b"other", at, Value::Bytes(b"2")).unwrap();
            batch.commit(&WriteOptions::default()).unwrap();
        });
        other.join().unwrap();
    });
    held.commit(&WriteOptions::default()).unwrap();
    assert_eq!(store.stats(BEGIN).unwrap().live_count, 2);
    assert_eq!(store.stats(BEGIN), Some(store.recount(BEGIN).unwrap()));
}

/// The keys of a random history, and the newest version of each: its second, and whether it has a value.
type Newest = std::collections::BTreeMap<Vec<u8>, (i64, bool)>;

/// Makes a random change by a batch that waits for all writers, or by a collection.
fn change_otherwise(rng: &mut TestRng, store: &MvccStore, newest: &mut Newest, second: i64) {
    let key = account(rng.u64(..ACCOUNTS));
    match rng.usize(..4) {
        0 => {
            let end = [&key[..], b"z"].concat();
            let mut batch = store.begin(BEGIN);
            batch.clear_range(Span::new(&key, &end)).unwrap();
            batch.commit(&WriteOptions::default()).unwrap();
            newest.retain(|other, _| *other != key);
        }
        1 => {
            let mut batch = store.begin(BEGIN);
            batch
                .put(&key, Timestamp::from_secs(second), Value::Int(1))
                .unwrap();
            batch.commit(&WriteOptions::default()).unwrap();
            newest.insert(key, (second, true));
        }
        2 => {
            let now = (second - 1) * 1_000_000_000;
            let lifetime = Duration::from_secs(5);
            if rng.bool() {
                store
                    .collect_garbage(lifetime, now, &GcOptions::default())
                    .unwrap();
            } else {
                store.collect_in_compactions(lifetime, now).unwrap();
            }
            // Deletions may be gone; later writes are above the threshold.
            newest.retain(|_, (_, is_value)| *is_value);
        }
        _ => store.db().flush().unwrap(),
    }
}

/// Writers of known keys find the newest versions without a read, and see what others have changed since.
#[test]
fn a_remembered_version_is_the_newest() {
    for seed in 0..12 {
        let mut rng = TestRng::with_seed(seed);
        let (db, gc) = open();
        let store = store(&db, &gc);
        let mut newest = Newest::new();
        let (mut unread, mut refused) = (0, 0);
        for second in 10..400 {
            if rng.one_in(9) {
                change_otherwise(&mut rng, &store, &mut newest, second);
                continue;
            }
            let key = account(rng.u64(..ACCOUNTS));
            let mut batch = store.begin_keys(&[&key], BEGIN);
            let before = newest.get(&key).copied();
            if let Some((last, _)) = before.filter(|_| rng.one_in(4)) {
                let at = Timestamp::from_secs(last);
                match batch.put(&key, at, Value::Int(0)) {
                    Err(Error::WriteTooOld { actual, .. }) => assert_eq!(actual, at.next(), "seed {seed}"),
                    Err(Error::BelowThreshold { .. }) => {}
                    other => panic!("seed {seed}: {other:?} at {second}"),
                }
                refused += 1;
            }
            let at = Timestamp::from_secs(second);
            let is_value = match rng.usize(..3) {
                0 => {
                    let was_value = batch.delete(&key, at).unwrap();
                    assert_eq!(
                        was_value,
                        before.is_some_and(|(_, is_value)| is_value),
                        "seed {seed}"
                    );
                    false
                }
                1 => {
                    batch.increment(&key, at, 1).unwrap();
                    true
                }
                _ => {
                    batch.put(&key, at, Value::Int(rng.i64(0..1 << 40))).unwrap();
                    true
                }
            };
            unread += usize::from(batch.counters().seeks == 0);
            if rng.one_in(6) {
                drop(batch);
                continue;
            }
            batch.commit(&WriteOptions::default()).unwrap();
            newest.insert(key, (second, is_value));
        }
        assert!(unread > 50 && refused > 10, "seed {seed}: {unread}, {refused}");
        let now = 1000 * 1_000_000_000;
        assert_eq!(store.stats(now), Some(store.recount(now).unwrap()), "seed {seed}");
    }
}
