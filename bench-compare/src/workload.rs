//! The workloads, and the data they work on: the same for every engine.

use std::hint::black_box;
use std::time::{Duration, Instant};

use paired::Cost;

use crate::engine::{Engine, Scan};

/// Bytes of a key: a big-endian number, then `0`s, as db_bench makes them.
const KEY_SIZE: usize = 16;

/// Operations from one look at the clock to the next of a [`Burden`].
const BURDEN_STEP: u64 = 64;

/// Keys and values.
pub struct Data {
    /// Distinct keys.
    pub num: u64,
    /// Point reads; scans do fewer.
    pub reads: u64,
    /// Pool that values are slices of; compresses to about half.
    pool: Vec<u8>,
    value_size: usize,
}

impl Data {
    pub fn new(num: u64, reads: u64, value_size: usize) -> Data {
        let mut rng = fastrand::Rng::with_seed(301);
        let mut pool = Vec::with_capacity(1 << 20);
        while pool.len() < (1 << 20) + value_size {
            let piece: Vec<u8> = (0..50).map(|_| rng.u8(b' '..b'~')).collect();
            pool.extend_from_slice(&piece);
            pool.extend_from_slice(&piece);
        }
        Data {
            num,
            reads,
            pool,
            value_size,
        }
    }

    fn value(&self, at: u64) -> &[u8] {
        let start = (at as usize * self.value_size) % (self.pool.len() - self.value_size);
        &self.pool[start..start + self.value_size]
    }

    /// Bytes of a key and a value.
    pub fn entry_size(&self) -> u64 {
        (KEY_SIZE + self.value_size) as u64
    }
}

/// Key number `number`.
fn key(number: u64) -> [u8; KEY_SIZE] {
    let mut key = [b'0'; KEY_SIZE];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

/// Key number `number` of stream `stream`.
fn stream_key(stream: u64, number: u64) -> [u8; KEY_SIZE] {
    let mut key = [0; KEY_SIZE];
    key[..8].copy_from_slice(&stream.to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// A planted slow-down: burns a share of the time the operations themselves take. Without one it costs as much itself,
/// so that both sides of a self-check carry the same instrument.
pub struct Burden {
    share: f64,
    operations: u64,
    last: Instant,
}

impl Burden {
    pub fn new(share: f64) -> Burden {
        Burden {
            share,
            operations: 0,
            last: Instant::now(),
        }
    }

    /// Called after each operation.
    #[inline]
    fn bear(&mut self) {
        self.operations += 1;
        if self.operations.is_multiple_of(BURDEN_STEP) {
            self.burn();
        }
    }

    fn burn(&mut self) {
        let now = Instant::now();
        let burning = (now - self.last).mul_f64(self.share);
        while now.elapsed() < burning {
            std::hint::spin_loop();
        }
        self.last = Instant::now();
    }
}

/// What a workload did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    pub operations: u64,
    /// Entries found or walked; every engine must find as many.
    pub found: u64,
    /// Entries written.
    pub written: u64,
    pub time: Duration,
    /// What the operations cost, and the flushes and compactions they left to be done.
    pub cost: Cost,
}

/// True if the workload reads a database loaded before.
pub fn is_read(benchmark: &str) -> bool {
    benchmark.starts_with("read") || benchmark.starts_with("seek")
}

/// The names there are, for messages.
pub const NAMES: &str = "fillseq, fillseqdesc, fillstreams<N> (at once), fillstreamsinturn<N>, fillrandom, overwrite, \
                         overwriteandwait, readrandom, readmissing, readseq, readreverse, seekrandom<N steps>";

/// The number behind the name, as in `seekrandom100`.
fn number(benchmark: &str, name: &str) -> Option<u64> {
    benchmark
        .strip_prefix(name)?
        .parse()
        .ok()
        .filter(|number| *number > 0)
}

/// Fails if there is no such workload.
pub fn check(benchmark: &str) -> Result<(), String> {
    const PLAIN: &[&str] = &[
        "fillseq",
        "fillseqdesc",
        "fillrandom",
        "overwrite",
        "overwriteandwait",
        "readrandom",
        "readmissing",
        "readseq",
        "readreverse",
    ];
    const NUMBERED: &[&str] = &["fillstreams", "fillstreamsinturn", "seekrandom"];
    let known = PLAIN.contains(&benchmark) || NUMBERED.iter().any(|name| number(benchmark, name).is_some());
    if known {
        Ok(())
    } else {
        Err(format!("unknown benchmark {benchmark:?}; there are {NAMES}"))
    }
}

/// Brings the database of a reading workload into being: every key once, in random order, then compacted.
pub fn load<E: Engine>(db: &E, data: &Data) {
    fill_unique_random(db, data);
    db.flush();
    db.compact();
    db.settle();
}

/// Runs a workload over an empty database, or over a loaded one if it reads. What must come before it is not timed.
pub fn run<E: Engine>(db: &E, benchmark: &str, data: &Data, seed: u64, slow_down: f64) -> Done {
    match benchmark {
        "overwrite" | "overwriteandwait" => {
            fill_unique_random(db, data);
            db.settle();
        }
        _ if is_read(benchmark) => {
            // Everything into the cache.
            db.scan(Scan::Forward, u64::MAX);
        }
        _ => {}
    }
    let before = Cost::of_self();
    let burden = &mut Burden::new(slow_down);
    let start = Instant::now();
    let mut done = body(db, benchmark, data, seed, burden);
    done.time = start.elapsed();
    if done.written > 0 {
        db.flush();
        db.settle();
    }
    done.cost = Cost::of_self().since(&before);
    done
}

fn body<E: Engine>(db: &E, benchmark: &str, data: &Data, seed: u64, burden: &mut Burden) -> Done {
    let num = data.num;
    if let Some(streams) = number(benchmark, "fillstreams") {
        return fill(db, data, burden, |at| stream_key(at % streams, at / streams));
    }
    if let Some(streams) = number(benchmark, "fillstreamsinturn") {
        let each = num.div_ceil(streams);
        return fill(db, data, burden, |at| stream_key(at / each, at % each));
    }
    if let Some(steps) = number(benchmark, "seekrandom") {
        return seek_random(db, data, steps, seed, burden);
    }
    match benchmark {
        "fillseq" => fill(db, data, burden, key),
        "fillseqdesc" => fill(db, data, burden, |at| key(num - 1 - at)),
        "fillrandom" | "overwrite" | "overwriteandwait" => {
            let mut rng = fastrand::Rng::with_seed(seed);
            let done = fill(db, data, burden, |_| key(rng.u64(..num)));
            if benchmark == "overwriteandwait" {
                db.settle();
            }
            done
        }
        "readrandom" | "readmissing" => {
            let missing = u64::from(benchmark == "readmissing") * num;
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut found = 0;
            for _ in 0..data.reads {
                found += u64::from(black_box(db.get(&key(missing + rng.u64(..num)))).is_some());
                burden.bear();
            }
            walked(data.reads, found)
        }
        "readseq" | "readreverse" => {
            let scan = if benchmark == "readseq" {
                Scan::Forward
            } else {
                Scan::Backward
            };
            let found = db.scan(scan, u64::MAX);
            burden.burn();
            walked(found, found)
        }
        other => unreachable!("{other} was checked"),
    }
}

fn walked(operations: u64, found: u64) -> Done {
    Done {
        operations,
        found,
        ..Done::default()
    }
}

fn fill<E: Engine>(
    db: &E,
    data: &Data,
    burden: &mut Burden,
    mut key: impl FnMut(u64) -> [u8; KEY_SIZE],
) -> Done {
    for at in 0..data.num {
        db.put(&key(at), data.value(at));
        burden.bear();
    }
    Done {
        operations: data.num,
        written: data.num,
        ..Done::default()
    }
}

/// Every key once, in random order.
fn fill_unique_random<E: Engine>(db: &E, data: &Data) {
    let mut numbers: Vec<u64> = (0..data.num).collect();
    fastrand::Rng::with_seed(7).shuffle(&mut numbers);
    for (at, number) in numbers.into_iter().enumerate() {
        db.put(&key(number), data.value(at as u64));
    }
}

fn seek_random<E: Engine>(db: &E, data: &Data, steps: u64, seed: u64, burden: &mut Burden) -> Done {
    let seeks = (data.reads * 2 / (steps + 8)).max(1);
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut found = 0;
    for _ in 0..seeks {
        found += db.scan(Scan::From(&key(rng.u64(..data.num))), steps);
        burden.bear();
    }
    walked(seeks, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for name in [
            "fillseq",
            "fillstreams8",
            "fillstreamsinturn2",
            "seekrandom100",
            "readmissing",
        ] {
            check(name).unwrap();
        }
        for name in ["", "fillstreams", "fillstreams0", "seekrandomx", "readsq"] {
            assert!(check(name).unwrap_err().contains("fillstreamsinturn"), "{name}");
        }
    }

    #[test]
    fn a_burden_burns_its_share() {
        let mut burden = Burden::new(0.5);
        let start = Instant::now();
        let mut worked = Duration::ZERO;
        for _ in 0..20 * BURDEN_STEP {
            let operation = Instant::now();
            while operation.elapsed() < Duration::from_micros(2) {}
            worked += operation.elapsed();
            burden.bear();
        }
        // Never less than its share, however busy the machine.
        assert!(
            start.elapsed() >= worked.mul_f64(1.5),
            "{:?} {worked:?}",
            start.elapsed()
        );
    }

    #[test]
    fn streams_stay_apart() {
        assert!(stream_key(0, u64::MAX) < stream_key(1, 0));
        assert!(stream_key(1, 1) < stream_key(1, 256));
        assert!(key(255) < key(256));
    }
}
