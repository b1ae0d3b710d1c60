//! The wall clock of the machine is set back or forth while transactions wait and expire: their times are
//! durations.

use std::sync::Arc;
use std::time::Duration;

use esker::{Options, WriteOptions};
use esker_txn::{TransactionDB, TransactionOptions, TransactionState};
use testkit::SteppedClock;
use vfs::MemFs;

use super::common::*;

const START: Duration = Duration::from_secs(1_500_000_000);
const DAY: Duration = Duration::from_secs(86_400);

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn open_with_clock() -> (TransactionDB, Arc<SteppedClock>) {
    let clock = Arc::new(SteppedClock::at(START));
    let options = Options {
        clock: clock.clone(),
        ..options(&MemFs::new())
    };
    let db = TransactionDB::open(&options, &no_wait(), DIR).unwrap();
    (db, clock)
}

#[test]
fn a_transaction_expires_after_its_time_whatever_the_wall_clock_shows() {
    let (db, clock) = open_with_clock();
    let family = family(db.db());
    let expiring = TransactionOptions {
        expiration: 100,
        ..TransactionOptions::default()
    };
    for wall in [START - DAY, START + DAY, Duration::ZERO] {
        let begin = || db.begin_transaction(&WriteOptions::default(), &expiring);
        let (mut kept, mut stolen, mut late) = (begin(), begin(), begin());
        kept.put_cf(&family, b"a", b"kept").unwrap();
        stolen.put_cf(&family, b"b", b"stolen").unwrap();
        late.put_cf(&family, b"c", b"late").unwrap();
        clock.set_wall(wall);
        // Neither a jump forth expires a transaction, nor does one back keep it.
        clock.advance(ms(99));
        assert_eq!(text(db.put_cf(&family, b"b", b"other")), TIMED_OUT, "{wall:?}");
        kept.commit().unwrap();
        clock.advance(ms(1));
        db.put_cf(&family, b"b", b"other").unwrap();
        assert_eq!(stolen.state(), TransactionState::LocksStolen);
        assert_eq!(text(late.commit()), "Operation expired: ");
        late.rollback().unwrap();
        assert_eq!(get(db.db(), &family, b"a"), "kept");
        assert_eq!(get(db.db(), &family, b"b"), "other");
        assert_eq!(get(db.db(), &family, b"c"), "-");
        clock.set_wall(START);
    }
}

#[test]
fn a_wait_for_a_lock_lasts_its_time_whatever_the_wall_clock_shows() {
    let (db, clock) = open_with_clock();
    let family = family(db.db());
    let mut holder = begin(&db);
    holder.put_cf(&family, b"k", b"1").unwrap();
    let patient = TransactionOptions {
        lock_timeout: 50,
        ..TransactionOptions::default()
    };
    for wall in [START - DAY, START + DAY, Duration::ZERO] {
        let mut waiter = db.begin_transaction(&WriteOptions::default(), &patient);
        let waits = waiter.waits();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| text(waiter.put_cf(&family, b"k", b"2")));
            let is_waiting = || waits.current().is_some();
            testkit::wait_until("the lock is waited for", is_waiting);
            clock.set_wall(wall);
            clock.advance(ms(49));
            testkit::wait_until("the lock is still waited for", is_waiting);
            clock.advance(ms(1));
            assert_eq!(waiting.join().unwrap(), TIMED_OUT, "{wall:?}");
        });
    }
    holder.commit().unwrap();
    assert_eq!(get(db.db(), &family, b"k"), "1");
}
