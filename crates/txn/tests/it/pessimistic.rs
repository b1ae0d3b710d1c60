//! Tests of transactions with locks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Weak};
use std::time::Duration;

use base::Result;
use base::sync::Mutex;
use esker::{ColumnFamilyOptions, ManualClock, Options, ReadOptions, Snapshot, WriteBatch, WriteOptions};
use esker_txn::{
    Tracking, TransactionDB, TransactionDBOptions, TransactionNotifier, TransactionOptions, TransactionState,
};
use vfs::layer::{Call, Layer};
use vfs::{FileSystem, MemFs, Op};

use super::common::*;

#[test]
fn writes_are_seen_by_their_transaction_until_it_is_committed() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    db.put_cf(&family, b"a", b"0").unwrap();
    let mut first = begin(&db);
    first.put_cf(&family, b"a", b"1").unwrap();
    first.delete_cf(&family, b"b").unwrap();
    first.merge_cf(&family, b"c", b"x").unwrap();
    first.single_delete_cf(&family, b"d").unwrap();
    first.put_log_data(b"note");
    assert_eq!(
        (
            first.num_puts(),
            first.num_deletes(),
            first.num_merges(),
            first.num_keys()
        ),
        (1, 2, 1, 4)
    );
    let read = ReadOptions::default();
    assert_eq!(
        first.get_cf_opt(&family, b"a", &read).unwrap().as_deref(),
        Some(&b"1"[..])
    );
    assert_eq!(get(db.db(), &family, b"a"), "0");
    first.commit().unwrap();
    assert_eq!(get(db.db(), &family, b"a"), "1");
    assert_eq!(get(db.db(), &family, b"c"), "x");
    assert_eq!(first.state(), TransactionState::Committed);
    assert_eq!(
        text(first.commit()),
        "Invalid argument: Transaction has already been committed."
    );
    assert_eq!(
        text(first.rollback()),
        "Invalid argument: This transaction has already been committed."
    );
    assert!(db.lock_status().is_empty());
}

#[test]
fn an_empty_transaction_is_committed() {
    let db = open(&MemFs::new());
    begin(&db).commit().unwrap();
    assert_eq!(db.db().latest_sequence_number(), 0);
}

#[test]
fn a_key_has_one_writer_at_a_time_also_outside_of_transactions() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    first.put_cf(&family, b"a", b"1").unwrap();
    let mut second = begin(&db);
    assert_eq!(text(second.put_cf(&family, b"a", b"2")), TIMED_OUT);
    assert_eq!(read(&mut second, &family, b"a"), TIMED_OUT);
    let write = WriteOptions::default();
    assert_eq!(text(db.put_cf_opt(&family, b"a", b"3", &write)), TIMED_OUT);
    assert_eq!(text(db.delete_cf_opt(&family, b"a", &write)), TIMED_OUT);
    assert_eq!(text(db.merge_cf_opt(&family, b"a", b"3", &write)), TIMED_OUT);
    let mut batch = WriteBatch::new();
    batch.put(b"z", b"3");
    batch.put(b"a", b"3");
    assert_eq!(text(db.write_opt(batch.clone(), &write)), TIMED_OUT);
    assert_eq!(db.lock_status().len(), 1, "what failed holds nothing");
    assert_eq!(second.num_keys(), 0);
    first.rollback().unwrap();
    assert_eq!(first.state(), TransactionState::Started);
    db.write_opt(batch, &write).unwrap();
    second.put_cf(&family, b"a", b"2").unwrap();
    first.put_cf(&family, b"b", b"after the rollback").unwrap();
    first.commit().unwrap();
    second.commit().unwrap();
    assert_eq!(get(db.db(), &family, b"a"), "2");
}

#[test]
fn a_dropped_transaction_gives_its_locks_back() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    first.put_cf(&family, b"a", b"1").unwrap();
    assert_eq!(db.lock_status()[0].1.ids, [first.id()]);
    drop(first);
    assert!(db.lock_status().is_empty());
    assert_eq!(get(db.db(), &family, b"a"), "-");
}

#[test]
fn readers_for_update_share_a_key_and_one_of_them_writes_it() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let (mut first, mut second) = (begin(&db), begin(&db));
    let options = ReadOptions::default();
    for transaction in [&mut first, &mut second] {
        transaction
            .get_for_update_cf_opt(&family, b"a", false, true, &options)
            .unwrap();
    }
    assert_eq!(text(first.put_cf(&family, b"a", b"1")), TIMED_OUT);
    second.undo_get_for_update(&family, b"a");
    first.put_cf(&family, b"a", b"1").unwrap();
    assert_eq!(read(&mut second, &family, b"a"), TIMED_OUT);
    let mut snapshot = ReadOptions::default();
    snapshot.snapshot = Some(db.db().snapshot());
    let refused = second.get_for_update_cf_opt(&family, b"b", true, false, &snapshot);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "Invalid argument: If do_validate is false then GetForUpdate with snapshot is not defined."
    );
}

#[test]
fn a_key_written_since_the_snapshot_is_a_conflict() {
    for flushes in [false, true] {
        let db = open(&MemFs::new());
        let family = family(db.db());
        let write = WriteOptions::default();
        db.put_cf_opt(&family, b"a", b"0", &write).unwrap();
        let mut first = begin(&db);
        first.set_snapshot();
        let mut upgraded = begin(&db);
        upgraded.lock_for_update(&family, b"c", false, true).unwrap();
        db.put_cf_opt(&family, b"a", b"1", &write).unwrap();
        db.db().delete_range_cf_opt(&family, b"x", b"z", &write).unwrap();
        if flushes {
            flush(db.db());
            compact(db.db());
        }
        assert_eq!(text(first.put_cf(&family, b"a", b"2")), BUSY);
        assert_eq!(
            text(first.delete_cf(&family, b"y")),
            BUSY,
            "under a range deletion"
        );
        assert_eq!(read(&mut first, &family, b"a"), BUSY);
        assert_eq!(db.lock_status().len(), 1, "what failed holds nothing");
        first.put_cf(&family, b"b", b"2").unwrap();
        first
            .put_cf_opt(&family, b"a", b"2", Tracking::Untracked)
            .unwrap();
        first.commit().unwrap();
        assert_eq!(get(db.db(), &family, b"a"), "2");
        // A snapshot that is set does not change plain reads.
        let mut third = begin(&db);
        third.set_snapshot();
        db.db().put(b"b", b"3").unwrap();
        let now = third.get_cf(&family, b"b").unwrap();
        assert_eq!(now.as_deref(), Some(&b"3"[..]));
        let then = ReadOptions {
            snapshot: third.snapshot().cloned(),
            ..ReadOptions::default()
        };
        assert_eq!(
            third.get_cf_opt(&family, b"b", &then).unwrap().as_deref(),
            Some(&b"2"[..])
        );
        third.clear_snapshot();
        third.put_cf(&family, b"b", b"4").unwrap();
    }
}

#[test]
fn a_lock_that_was_upgraded_in_vain_is_shared_as_before() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    first.lock_for_update(&family, b"a", false, false).unwrap();
    // Without a snapshot the transaction does not notice writes to the underlying database.
    db.db().put(b"a", b"1").unwrap();
    first.set_snapshot();
    first.put_cf(&family, b"b", b"1").unwrap();
    db.db().put(b"a", b"2").unwrap();
    let mut second = begin(&db);
    second.set_snapshot();
    second.lock_for_update(&family, b"c", false, false).unwrap();
    // The key was tracked before the snapshot, so it needs no check.
    first.put_cf(&family, b"a", b"3").unwrap();
    let exclusive: Vec<bool> = db.lock_status().iter().map(|(_, lock)| lock.exclusive).collect();
    assert_eq!(exclusive, [true, true, false]);
}

struct Told(Mutex<Vec<u64>>);

impl TransactionNotifier for Told {
    fn snapshot_created(&self, snapshot: &Snapshot) {
        self.0.lock().push(snapshot.sequence_number());
    }
}

#[test]
fn a_snapshot_is_taken_with_the_next_operation() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let told = Arc::new(Told(Mutex::new(Vec::new())));
    let mut first = begin(&db);
    first.set_snapshot_on_next_operation(Some(told.clone()));
    db.db().put(b"a", b"1").unwrap();
    assert!(first.snapshot().is_none());
    first.put_cf(&family, b"a", b"2").unwrap();
    assert_eq!(first.snapshot().map(Snapshot::sequence_number), Some(1));
    assert_eq!(*told.0.lock(), [1]);
    first.put_cf(&family, b"b", b"2").unwrap();
    assert_eq!(told.0.lock().len(), 1);
}

#[test]
fn save_points_take_back_writes_and_locks() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    assert_eq!(text(first.rollback_to_save_point()), "NotFound: ");
    assert_eq!(text(first.pop_save_point()), "NotFound: ");
    first.put_cf(&family, b"a", b"1").unwrap();
    first.set_save_point();
    first.put_cf(&family, b"a", b"2").unwrap();
    first.put_cf(&family, b"b", b"2").unwrap();
    first.set_save_point();
    first.put_cf(&family, b"c", b"3").unwrap();
    // After the newest save point is popped, the key belongs to the save point below.
    first.pop_save_point().unwrap();
    assert_eq!((first.num_keys(), first.num_puts()), (3, 4));
    first.rollback_to_save_point().unwrap();
    assert_eq!((first.num_keys(), first.num_puts()), (1, 1));
    let keys: Vec<Vec<u8>> = db.lock_status().into_iter().map(|(_, lock)| lock.key).collect();
    assert_eq!(keys, [b"a"]);
    let seen = first.get_cf(&family, b"a").unwrap();
    assert_eq!(seen.as_deref(), Some(&b"1"[..]));
    first.commit().unwrap();
    assert_eq!(get(db.db(), &family, b"b"), "-");
}

#[test]
fn a_read_for_update_is_undone_within_its_save_point_alone() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    let lock = |transaction: &mut esker_txn::Transaction, key: &[u8]| {
        transaction.lock_for_update(&family, key, true, true).unwrap();
    };
    lock(&mut first, b"a");
    lock(&mut first, b"a");
    first.undo_get_for_update(&family, b"a");
    assert_eq!(first.num_keys(), 1, "read twice");
    first.set_save_point();
    first.undo_get_for_update(&family, b"a");
    assert_eq!(first.num_keys(), 1, "read before the save point");
    lock(&mut first, b"b");
    first.undo_get_for_update(&family, b"b");
    assert_eq!(first.num_keys(), 1);
    first.put_cf(&family, b"c", b"1").unwrap();
    lock(&mut first, b"c");
    first.undo_get_for_update(&family, b"c");
    assert_eq!(db.lock_status().len(), 2, "written");
}

#[test]
fn iterators_go_both_ways_over_batch_and_database() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    for key in [b"a", b"c", b"e"] {
        db.db().put(key, b"base").unwrap();
    }
    let mut first = begin(&db);
    first.put_cf(&family, b"b", b"own").unwrap();
    first.delete_cf(&family, b"c").unwrap();
    let mut iter = first.iter_cf(&family).unwrap();
    iter.seek_to_first();
    first.put_cf(&family, b"d", b"later").unwrap();
    let mut keys = Vec::new();
    while iter.valid() {
        keys.push(iter.key()[0]);
        iter.next();
    }
    assert_eq!(keys, b"abe");
    iter.seek_to_last();
    keys.clear();
    while iter.valid() {
        keys.push(iter.key()[0]);
        iter.prev();
    }
    assert_eq!(keys, b"eba");
}

#[test]
fn many_keys_are_read_at_one_moment() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    db.db().put(b"a", b"1").unwrap();
    let mut first = begin(&db);
    first.put_cf(&family, b"b", b"2").unwrap();
    let keys = [(&family, b"a"), (&family, b"b"), (&family, b"c")];
    let values = |found: Vec<base::Result<Option<esker::PinnedValue>>>| -> Vec<String> {
        found
            .into_iter()
            .map(|value| shown(value.unwrap().as_deref()))
            .collect()
    };
    assert_eq!(
        values(first.multi_get_cf_opt(&keys, &ReadOptions::default())),
        ["1", "2", "-"]
    );
    assert_eq!(db.lock_status().len(), 1);
    let locked = values(first.multi_get_for_update_cf_opt(&keys, &ReadOptions::default()));
    assert_eq!(
        (locked.join(" "), db.lock_status().len()),
        ("1 2 -".to_owned(), 3)
    );
    let mut second = begin(&db);
    let failed = second.multi_get_for_update_cf_opt(&keys, &ReadOptions::default());
    assert!(failed.iter().all(|value| value.is_err()));
}

#[test]
fn an_expired_transaction_loses_its_locks_and_is_not_committed() {
    let clock = Arc::new(ManualClock::default());
    let options = Options {
        clock: clock.clone(),
        ..options(&MemFs::new())
    };
    let db = TransactionDB::open(&options, &no_wait(), DIR).unwrap();
    let family = family(db.db());
    let expiring = TransactionOptions {
        expiration: 100,
        ..TransactionOptions::default()
    };
    let begin_expiring = || db.begin_transaction(&WriteOptions::default(), &expiring);
    let (mut stolen, mut late, mut prepared) = (begin_expiring(), begin_expiring(), begin_expiring());
    stolen.put_cf(&family, b"a", b"1").unwrap();
    late.put_cf(&family, b"b", b"1").unwrap();
    prepared.put_cf(&family, b"c", b"1").unwrap();
    prepared.set_name(b"c").unwrap();
    clock.advance(Duration::from_millis(99));
    assert_eq!(text(db.put_cf(&family, b"a", b"2")), TIMED_OUT);
    prepared.prepare().unwrap();
    clock.advance(Duration::from_millis(1));
    db.put_cf(&family, b"a", b"2").unwrap();
    assert_eq!(stolen.state(), TransactionState::LocksStolen);
    assert_eq!(text(stolen.commit()), "Operation expired: ");
    assert_eq!(text(late.commit()), "Operation expired: ");
    assert_eq!(get(db.db(), &family, b"a"), "2");
    late.rollback().unwrap();
    // A prepared transaction does not expire.
    clock.advance(Duration::from_secs(100));
    let taken = text(db.put_cf(&family, b"c", b"2"));
    assert_eq!(taken, TIMED_OUT);
    prepared.commit().unwrap();
    assert_eq!(get(db.db(), &family, b"c"), "1");
}

#[test]
fn limits_of_locks_and_of_the_batch() {
    let limited = TransactionDBOptions {
        max_num_locks: 2,
        ..no_wait()
    };
    let db = TransactionDB::open(&options(&MemFs::new()), &limited, DIR).unwrap();
    let family = family(db.db());
    let small = TransactionOptions {
        max_write_batch_size: 40,
        ..TransactionOptions::default()
    };
    let mut first = db.begin_transaction(&WriteOptions::default(), &small);
    first.put_cf(&family, b"a", b"1").unwrap();
    assert_eq!(
        text(first.put_cf(&family, b"b", &[0; 30])),
        "Operation aborted: Memory limit reached"
    );
    assert_eq!(first.num_keys(), 1, "what does not fit is not locked");
    first.put_cf(&family, b"b", b"1").unwrap();
    assert_eq!(
        text(first.put_cf(&family, b"c", b"1")),
        "Operation aborted: Failed to acquire lock due to max_num_locks limit"
    );
    first.commit().unwrap();
}

#[test]
fn families_of_others_and_dropped_ones_are_refused() {
    let db = open(&MemFs::new());
    let stranger = open(&MemFs::new());
    let mut first = begin(&db);
    let refused = text(first.put_cf(&family(stranger.db()), b"a", b"1"));
    assert!(refused.contains("another database"), "{refused}");
    let own = db
        .create_column_family("own", &ColumnFamilyOptions::default())
        .unwrap();
    first.put_cf(&own, b"a", b"1").unwrap();
    db.drop_column_family(&own).unwrap();
    assert_eq!(
        text(first.put_cf(&own, b"b", b"1")),
        "Invalid argument: Column family id not found: 1"
    );
    assert!(first.commit().is_err());
    assert!(db.lock_status().is_empty());
}

#[test]
fn a_batch_is_done_again_with_its_locks() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"1");
    batch.delete(b"b");
    batch.merge(b"c", b"x");
    batch.put_log_data(b"note");
    let mut first = begin(&db);
    first.rebuild_from_write_batch(&batch).unwrap();
    assert_eq!(first.write_batch(), &batch);
    assert_eq!(db.lock_status().len(), 3);
    first.commit().unwrap();
    assert_eq!(get(db.db(), &family, b"c"), "x");
    let mut range = WriteBatch::new();
    range.delete_range(b"a", b"d");
    let mut second = begin(&db);
    second.rebuild_from_write_batch(&range).unwrap();
    assert_eq!(db.range_lock_status().len(), 1);
    second.commit().unwrap();
    assert_eq!(get(db.db(), &family, b"c"), "-");
}

#[test]
fn a_closed_database_takes_nothing() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    first.put_cf(&family, b"a", b"1").unwrap();
    db.db().close().unwrap();
    assert!(first.get_cf(&family, b"z").is_err());
    assert!(first.commit().is_err());
}

#[test]
fn many_save_points_and_many_locks() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    let count = 100_000u32;
    for at in 0..count {
        first.set_save_point();
        first.put_cf(&family, &at.to_be_bytes(), b"1").unwrap();
    }
    assert_eq!(db.lock_status().len(), count as usize);
    for _ in 0..count / 2 {
        first.rollback_to_save_point().unwrap();
    }
    for _ in 0..count / 2 {
        first.pop_save_point().unwrap();
    }
    assert_eq!(text(first.pop_save_point()), "NotFound: ");
    assert_eq!(db.lock_status().len(), count as usize / 2);
    first.commit().unwrap();
    assert!(db.lock_status().is_empty());
    assert_eq!(db.db().latest_sequence_number(), u64::from(count) / 2);
}

/// `ESKER_TXN_LOCKS=1000000` locks a million keys.
#[test]
fn a_transaction_locks_very_many_keys() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let count = testkit::rng::runs("ESKER_TXN_LOCKS", 100_000);
    let mut holder = begin(&db);
    for at in 0..count {
        holder
            .get_for_update_cf_opt(
                &family,
                at.to_be_bytes(),
                at % 2 == 0,
                true,
                &ReadOptions::default(),
            )
            .unwrap();
    }
    assert_eq!(db.lock_status().len() as u64, count);
    let mut other = begin(&db);
    assert_eq!(
        text(other.put_cf(&family, (count - 1).to_be_bytes(), b"1")),
        TIMED_OUT
    );
    assert_eq!(text(other.lock_range(&family, None, None, false)), TIMED_OUT);
    holder.rollback().unwrap();
    assert!(db.lock_status().is_empty());
    other.lock_range(&family, None, None, true).unwrap();
}

#[test]
fn a_key_that_is_assumed_to_be_tracked_must_be() {
    let db = open(&MemFs::new());
    let family = family(db.db());
    let mut first = begin(&db);
    let assume = |first: &mut esker_txn::Transaction, key: &[u8]| {
        text(first.put_cf_opt(&family, key, b"1", Tracking::AssumeTracked))
    };
    let not_tracked = "Invalid argument: assume_tracked is set but it is not tracked yet";
    assert_eq!(assume(&mut first, b"a"), not_tracked);
    // The lock of a read for update becomes exclusive with the write.
    let read = ReadOptions::default();
    for (key, exclusive) in [(b"a", true), (b"b", false)] {
        first
            .get_for_update_cf_opt(&family, key, exclusive, true, &read)
            .unwrap();
        assert_eq!(assume(&mut first, key), "ok");
    }
    assert!(db.lock_status().iter().all(|(_, lock)| lock.exclusive));
    assert_eq!(assume(&mut first, b"c"), not_tracked);
    assert_eq!(db.lock_status().len(), 2);
    first.commit().unwrap();
    assert_eq!(get(db.db(), &family, b"a"), "1");
}

#[test]
fn another_thread_sees_what_a_transaction_waits_for() {
    let without_limit = TransactionDBOptions {
        transaction_lock_timeout: -1,
        ..TransactionDBOptions::default()
    };
    let db = TransactionDB::open(&options(&MemFs::new()), &without_limit, DIR).unwrap();
    let family = family(db.db());
    let mut holder = begin(&db);
    holder.put_cf(&family, b"a", b"1").unwrap();
    let mut waiter = begin(&db);
    let waits = waiter.waits();
    assert_eq!((waits.current(), holder.waits().current()), (None, None));
    let found = std::thread::scope(|scope| {
        let put = scope.spawn(|| text(waiter.put_cf(&family, b"a", b"2")));
        testkit::wait_until("the lock is waited for", || waits.current().is_some());
        let found = waits.current().unwrap();
        holder.rollback().unwrap();
        assert_eq!(put.join().unwrap(), "ok");
        found
    });
    assert_eq!((found.column_family_id, &found.key[..]), (0, &b"a"[..]));
    assert_eq!(found.transaction_ids, [holder.id()]);
    assert_eq!(waits.current(), None, "the lock is its own now");
    // A lock request that gives up leaves no lock and no wait behind.
    let at_once = TransactionOptions {
        lock_timeout: 0,
        ..TransactionOptions::default()
    };
    let mut third = db.begin_transaction(&WriteOptions::default(), &at_once);
    assert_eq!(text(third.put_cf(&family, b"a", b"3")), TIMED_OUT);
    assert_eq!(third.waits().current(), None);
}

/// A file system that lists the locks, on another thread, before each read of a table.
#[derive(Clone, Default)]
struct ListsLocks {
    fs: MemFs,
    db: Arc<Mutex<Weak<TransactionDB>>>,
    reads: Arc<AtomicUsize>,
}

impl std::fmt::Debug for ListsLocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ListsLocks")
    }
}

impl Layer for ListsLocks {
    fn below(&self) -> &dyn FileSystem {
        &self.fs
    }

    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> Result<T>) -> Result<T> {
        let is_table = call.path.extension().is_some_and(|end| end == "sst");
        let db = self.db.lock().upgrade();
        if let (true, Op::Read, Some(db)) = (is_table, call.op, db) {
            let (send, locks) = mpsc::channel();
            std::thread::spawn(move || send.send(db.lock_status().len()));
            let locked = testkit::receive("the list of locks", &locks);
            assert_eq!(locked, 1, "the key that is validated is locked");
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
        perform()
    }
}

#[test]
fn a_validation_reads_tables_without_the_mutex_of_its_stripe() {
    let lists = ListsLocks::default();
    let options = Options {
        fs: Arc::new(lists.clone()),
        ..options(&lists.fs)
    };
    let one_stripe = TransactionDBOptions {
        num_stripes: 1,
        ..no_wait()
    };
    let db = Arc::new(TransactionDB::open(&options, &one_stripe, DIR).unwrap());
    let family = family(db.db());
    let mut early = begin(&db);
    early.set_snapshot();
    db.put(b"a", b"1").unwrap();
    db.put(b"c", b"1").unwrap();
    flush(db.db());
    *lists.db.lock() = Arc::downgrade(&db);
    assert_eq!(text(early.put_cf(&family, b"a", b"2")), BUSY);
    assert_eq!(read(&mut early, &family, b"b"), "-");
    *lists.db.lock() = Weak::new();
    assert!(lists.reads.load(Ordering::Relaxed) > 0, "the table was read");
    early.commit().unwrap();
}
