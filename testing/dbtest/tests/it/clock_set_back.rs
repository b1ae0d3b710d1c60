//! The wall clock of the machine is set, back above all, while a database is open.

use std::sync::Arc;
use std::time::Duration;

use dbtest::by_hand::{flush, rewrite};
use esker::{
    Db, DbWithTtl, ErrorKind, FamilyTtl, FeedEvent, FeedOptions, Operation, Options, ReadOptions, TtlOptions,
    feed_cursors,
};
use testkit::SteppedClock;
use vfs::MemFs;

/// A time later than the earliest that RocksDB accepts as the time of a row.
const START: Duration = Duration::from_secs(1_500_000_000);

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn options() -> (Options, Arc<SteppedClock>) {
    let clock = Arc::new(SteppedClock::at(START));
    let mut options = Options {
        create_if_missing: true,
        fs: Arc::new(MemFs::with_clock(clock.clone())),
        clock: clock.clone(),
        ..Options::default()
    };
    options.column_family.disable_auto_compactions = true;
    (options, clock)
}

#[test]
fn rows_of_rocksdbs_kind_live_by_the_clock_that_there_is() {
    let (options, clock) = options();
    let db = DbWithTtl::open(&options, "/db", 100).unwrap();
    let get = |key: &str| {
        db.get(key)
            .unwrap()
            .map(|value| String::from_utf8(value).unwrap())
    };
    let gone = |keys: &[&str]| {
        flush(db.db());
        rewrite(db.db());
        keys.iter().all(|key| get(key).is_none())
    };
    db.put("before", "1").unwrap();
    // An hour back: the row is from the future, and is not expired.
    clock.set_wall(START - seconds(3600));
    db.put("after", "2").unwrap();
    assert!(!gone(&["before"]) && !gone(&["after"]));
    clock.advance(seconds(101));
    assert!(gone(&["after"]));
    assert_eq!(get("before").as_deref(), Some("1"));
    // Forth again: the row lives as long as it would have.
    clock.set_wall(START + seconds(100));
    assert!(!gone(&["before"]));
    clock.advance(seconds(1));
    assert!(gone(&["before"]));
    // A clock that has lost its time begins before the earliest time of rows. Such a row can be read.
    clock.set_wall(seconds(5));
    db.put("lost", "3").unwrap();
    flush(db.db());
    rewrite(db.db());
    assert_eq!(get("lost").as_deref(), Some("3"));
    clock.set_wall(START);
    assert_eq!(get("lost").as_deref(), Some("3"), "until a compaction comes");
    assert!(gone(&["lost"]));
}

#[test]
fn rows_with_a_time_of_their_own_live_by_the_clock_that_there_is() {
    let (options, clock) = options();
    let ttl = TtlOptions {
        default: FamilyTtl::PerKey(None),
        families: Default::default(),
        read_only: false,
    };
    let db = DbWithTtl::open_with(&options, "/db", &ttl).unwrap();
    let get = |key: &str| db.get(key).unwrap().is_some();
    db.put("kept", "1").unwrap();
    for key in ["hidden", "dropped"] {
        db.put_with_ttl(key, "1", seconds(60)).unwrap();
    }
    clock.advance(seconds(61));
    assert!(!get("hidden") && !get("dropped"));
    // The time of rows in memory has not come yet by the earlier clock.
    clock.set_wall(START);
    assert!(get("hidden") && get("dropped"));
    clock.set_wall(START + seconds(61));
    flush(db.db());
    rewrite(db.db());
    // A compaction has dropped them, whatever the clock shows later.
    clock.set_wall(START);
    assert!(get("kept") && !get("hidden") && !get("dropped"));
    // A row that is written by the earlier clock expires by it.
    clock.set_wall(START - seconds(3600));
    db.put_with_ttl("early", "1", seconds(60)).unwrap();
    clock.advance(seconds(59));
    assert!(get("early"));
    clock.advance(seconds(1));
    assert!(!get("early"));
    // Neither the largest time to live nor the earliest time overflows.
    clock.set_wall(Duration::ZERO);
    db.put_with_ttl("always", "1", Duration::MAX).unwrap();
    db.put_with_ttl("soon", "1", Duration::from_micros(1)).unwrap();
    assert!(get("always") && get("soon"));
    clock.advance(START);
    assert!(get("always") && !get("soon"));
}

#[test]
fn a_deadline_is_a_time_of_the_clock_that_there_is() {
    let (options, clock) = options();
    let db = Db::open(&options, "/db").unwrap();
    let family = db.default_column_family();
    for key in [b"a", b"b", b"c"] {
        db.put(key, b"value").unwrap();
        flush(&db);
    }
    let limited = ReadOptions {
        deadline: Some(START + seconds(1)),
        ..ReadOptions::default()
    };
    let get = || db.get_cf_opt(&family, b"a", &limited);
    let mut iter = db.iter_cf_opt(&family, &limited);
    iter.seek_to_first();
    assert!(iter.valid() && get().is_ok());
    clock.advance(seconds(2));
    assert_eq!(get().unwrap_err().kind(), ErrorKind::TimedOut);
    iter.seek_to_first();
    assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::TimedOut);
    // Set back, the deadline is ahead again, for reads and for the iterator.
    clock.set_wall(START);
    assert_eq!(get().unwrap().as_deref(), Some(&b"value"[..]));
    iter.seek_to_first();
    iter.status().unwrap();
    let mut keys = 0;
    while iter.valid() {
        keys += 1;
        iter.next();
    }
    iter.status().unwrap();
    assert_eq!(keys, 3);
    clock.set_wall(Duration::ZERO);
    assert!(get().is_ok());
}

/// The keys that a feed has left, which must have no gap.
fn rest(feed: &mut esker::Feed) -> Vec<String> {
    let mut keys = Vec::new();
    while let Some(event) = feed.next().unwrap() {
        let FeedEvent::Batch(batch) = event else {
            panic!("the feed has a gap");
        };
        for row in batch.rows() {
            if let Operation::Put { key, .. } = row.unwrap().operation {
                keys.push(String::from_utf8(key.to_vec()).unwrap());
            }
        }
    }
    keys
}

#[test]
fn a_feed_keeps_its_rows() {
    let (mut options, clock) = options();
    options.wal_ttl_seconds = 100;
    let db = Db::open(&options, "/db").unwrap();
    let named = FeedOptions {
        cursor: Some("reader".to_owned()),
        ..FeedOptions::default()
    };
    let mut feed = db.feed(&named).unwrap();
    let round = |key: &str| {
        db.put(key, "value").unwrap();
        flush(&db);
        db.wait_for_purge().unwrap();
    };
    let archived = || {
        let names = options.fs.list("/db/archive".as_ref()).unwrap_or_default();
        names.len()
    };
    let mut written = Vec::new();
    let steps: [fn(&SteppedClock); 5] = [
        |_| (),
        |clock| clock.set_wall(START - seconds(3600)),
        |clock| clock.advance(seconds(200)),
        |clock| clock.set_wall(Duration::ZERO),
        |clock| clock.advance(START + seconds(7200)),
    ];
    for (number, step) in steps.iter().enumerate() {
        step(&clock);
        written.push(format!("key{number}"));
        round(&written[number]);
    }
    // The cursor keeps WALs however old they are, and its own age is no less than 0.
    assert_eq!(rest(&mut feed), written);
    clock.set_wall(START - seconds(10));
    let cursors = feed_cursors(&options, "/db").unwrap();
    assert_eq!((cursors.len(), cursors[0].age), (1, Duration::ZERO));
    feed.acknowledge(feed.position()).unwrap();
    clock.advance(seconds(50));
    let cursors = feed_cursors(&options, "/db").unwrap();
    assert_eq!(cursors[0].age, seconds(50));
    // A WAL of the future is not old, and is deleted once its time has passed.
    round("of the future");
    clock.set_wall(START - seconds(86_400));
    round("last");
    assert_eq!(rest(&mut feed), ["of the future", "last"]);
    feed.acknowledge(feed.position()).unwrap();
    clock.advance(seconds(200));
    round("kept");
    assert!(archived() > 1);
    assert_eq!(rest(&mut feed), ["kept"]);
    feed.acknowledge(feed.position()).unwrap();
    drop(feed);
    clock.set_wall(START + seconds(20_000));
    clock.advance(seconds(100));
    round("end");
    let left = archived();
    assert!(left <= 2, "{left}");
}
