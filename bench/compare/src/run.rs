//! The run of a workload: the same operations for every engine. Those that read are here.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use paired::Cost;

use crate::burden::Burden;
use crate::data::{Data, key, missing_key};
use crate::engine::{Engine, Scan};
use crate::threads::{Done, Pace, Shape, by_threads};
use crate::workload::Workload::{
    self, FwdRangeWhileWriting, Load, MultiReadRandom, ReadMissing, ReadReverse, ReadSeq, ReadWhileDeleting,
    RevRangeWhileWriting, SeekRandom, SeekReverse,
};
use crate::write::{self, fill_unique_random, fill_unique_random_and};

/// Creates the database of a reading workload.
fn load<E: Engine>(db: &E, data: &Data, shape: Shape) {
    match shape {
        Shape::Streams => write_streams(db, data),
        Shape::Written => fill_unique_random(db, data),
        Shape::Tombstones => write_under_tombstones(db, data),
        Shape::Compacted | Shape::Overwritten => {
            fill_unique_random(db, data);
            db.flush();
            db.compact();
        }
    }
    if shape == Shape::Overwritten {
        db.settle();
        let mut rng = fastrand::Rng::with_seed(11);
        for at in 0..data.num {
            db.put(&key(rng.u64(..data.num)), data.value(at));
        }
    }
    db.flush();
    db.settle();
}

fn write_streams<E: Engine>(db: &E, data: &Data) {
    let each = data.num.div_ceil(STREAMS);
    let of_streams = (0..each).flat_map(|at| (0..STREAMS).map(move |stream| stream * each + at));
    for number in of_streams.filter(|&number| number < data.num) {
        db.put(&key(number), data.value(number));
    }
}

fn write_under_tombstones<E: Engine>(db: &E, data: &Data) {
    let mut rng = fastrand::Rng::with_seed(13);
    fill_unique_random_and(db, data, |puts| {
        if puts.is_multiple_of(PUTS_PER_TOMBSTONE) {
            let from = rng.u64(..data.num);
            db.delete_range(&key(from), &key(from + PUTS_PER_TOMBSTONE));
        }
    });
}

/// The number of tombstones of [`Shape::Tombstones`], and of the keys under each.
const PUTS_PER_TOMBSTONE: u64 = 100;

/// The number of streams of [`Shape::Streams`].
const STREAMS: u64 = 8;

/// Reads everything into the cache and finds it there a few times: so each block has the index that it gets
/// when it is searched again, and the processor has learnt the code.
fn warm_up<E: Engine>(db: &E, data: &Data, direct: bool) {
    db.scan(Scan::Forward, u64::MAX);
    let lookups = if direct { DIRECT_LOOKUPS } else { usize::MAX };
    for at in (0..data.num).step_by(LOOKUPS_STEP).take(lookups) {
        // Keys that are written one after the other should not be adjacent in the database.
        let number = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) % data.num;
        black_box(db.get(&key(number)));
    }
}

/// The warm-up looks up one key in this many: about eight of each block, or four if older versions are in
/// lower levels.
const LOOKUPS_STEP: usize = 4;

/// The maximum number of lookups of the warm-up if a lookup waits for the disk.
const DIRECT_LOOKUPS: usize = 5_000;

/// Runs a workload over an empty database, or over a loaded one if it reads. Preparations are not timed.
pub(crate) fn run<E: Engine>(db: &E, workload: Workload, data: &Data, pace: &Pace) -> Done {
    if workload == Load {
        load(db, data, pace.shape);
        return Done::default();
    }
    if !workload.is_read() {
        return write::run(db, workload, data, pace);
    }
    warm_up(db, data, pace.direct);
    if let ReadWhileDeleting(tombstones) = workload {
        for at in 0..tombstones {
            delete_some(db, data, at);
        }
    }
    let before = Cost::of_self();
    let done = if workload.changes_what_it_reads() {
        beside_a_writer(db, workload, data, pace)
    } else {
        read_by_threads(db, workload, data, pace)
    };
    Done {
        cost: Cost::of_self().since(&before),
        ..done
    }
}

/// Reads from all threads: each does the same share of the operations, over keys that it draws.
fn read_by_threads<E: Engine>(db: &E, workload: Workload, data: &Data, pace: &Pace) -> Done {
    by_threads(pace.threads, |thread| read(db, workload, data, pace, thread))
}

/// Reads until the share of one thread is done.
fn read<E: Engine>(db: &E, workload: Workload, data: &Data, pace: &Pace, thread: u64) -> Done {
    let mut rng = fastrand::Rng::with_seed(pace.seed * 1_000 + thread);
    let burden = &mut Burden::new(pace.slow_down);
    let num = data.num;
    let reads = data.reads / pace.threads;
    let mut found = 0;
    let operations = match workload {
        ReadMissing => {
            for _ in 0..reads {
                found += u64::from(black_box(db.get(&missing_key(rng.u64(..num)))).is_some());
                burden.bear();
            }
            reads
        }
        MultiReadRandom(batch) => {
            let mut keys = Vec::with_capacity(batch as usize);
            for _ in 0..reads / batch {
                keys.clear();
                keys.extend((0..batch).map(|_| key(rng.u64(..num))));
                found += black_box(db.multi_get(&keys));
                burden.bear();
            }
            reads / batch * batch
        }
        ReadSeq | ReadReverse => {
            let from = if workload == ReadSeq {
                Scan::Forward
            } else {
                Scan::Backward
            };
            found = db.scan(from, u64::MAX).entries;
            burden.burn();
            found
        }
        SeekRandom(steps)
        | SeekReverse(steps)
        | FwdRangeWhileWriting(steps)
        | RevRangeWhileWriting(steps) => {
            let back = matches!(workload, SeekReverse(_) | RevRangeWhileWriting(_));
            let seeks = (reads * 2 / (steps + 8)).max(1);
            for _ in 0..seeks {
                let key = key(rng.u64(..num));
                let from = if back {
                    Scan::BackFrom(&key)
                } else {
                    Scan::From(&key)
                };
                found += db.scan(from, steps.max(1)).entries;
                burden.bear();
            }
            seeks
        }
        _ => {
            for _ in 0..reads {
                found += u64::from(black_box(db.get(&key(rng.u64(..num)))).is_some());
                burden.bear();
            }
            reads
        }
    };
    Done {
        operations,
        found,
        ..Done::default()
    }
}

/// The writes from one range tombstone to the next, as in the report on reads under tombstones.
const WRITES_PER_TOMBSTONE: u64 = 50;

/// The number of keys under one range tombstone.
const TOMBSTONE_WIDTH: u64 = 10;

/// A range tombstone at a random place.
fn delete_some<E: Engine>(db: &E, data: &Data, at: u64) {
    let mut rng = fastrand::Rng::with_seed(at);
    let from = rng.u64(..data.num - TOMBSTONE_WIDTH);
    db.delete_range(&key(from), &key(from + TOMBSTONE_WIDTH));
}

/// The readers, while one thread overwrites keys at the given pace.
fn beside_a_writer<E: Engine>(db: &E, workload: Workload, data: &Data, pace: &Pace) -> Done {
    let stop = &AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut rng = fastrand::Rng::with_seed(pace.seed ^ 0x5eed);
            let start = Instant::now();
            let mut written = 0u64;
            while !stop.load(Ordering::Relaxed) {
                let due = (start.elapsed().as_secs_f64() * pace.writes_per_second as f64) as u64;
                while written < due && !stop.load(Ordering::Relaxed) {
                    db.put(&key(rng.u64(..data.num)), data.value(written));
                    written += 1;
                    if matches!(workload, ReadWhileDeleting(_))
                        && written.is_multiple_of(WRITES_PER_TOMBSTONE)
                    {
                        delete_some(db, data, rng.u64(..));
                    }
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        let done = read_by_threads(db, workload, data, pace);
        stop.store(true, Ordering::Relaxed);
        done
    });
    // The number of found entries is not compared, because it depends on the progress of the concurrent
    // writer.
    Done { found: 0, ..done }
}
