//! Writes: fills, overwrites, deletions, and the background writer of readers.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use base::env::Rng;
use base::{Error, Result};
use esker::WriteBatch;

use crate::op::Op;
use crate::params::Params;
use crate::runner::Thread;
use crate::workloads::streams::Streams;

/// The order of the numbers of keys.
enum Numbers {
    Sequential(u64),
    /// Sequential numbers of several streams.
    Streams(Streams),
    Random(u64),
    /// All numbers, each once, in random order, and the position of the next one.
    Unique(Vec<u64>, usize),
}

impl Numbers {
    fn unique(num: u64, seed: u64) -> Numbers {
        let mut numbers: Vec<u64> = (0..num).collect();
        Rng::with_seed(seed).shuffle(&mut numbers);
        Numbers::Unique(numbers, 0)
    }

    /// The next number; `None` after the last.
    #[inline]
    fn next_number(&mut self, rng: &mut Rng) -> Option<u64> {
        match self {
            Numbers::Sequential(next) => {
                *next += 1;
                Some(*next - 1)
            }
            Numbers::Streams(streams) => Some(streams.next_number()),
            Numbers::Random(num) => Some(rng.u64(..*num)),
            Numbers::Unique(numbers, next) => {
                *next += 1;
                numbers.get(*next - 1).copied()
            }
        }
    }
}

/// Recently written keys, some of which `--overwrite_probability` writes again.
struct Recent {
    probability: f64,
    window: usize,
    numbers: VecDeque<u64>,
    overwrites: u64,
    unique: u64,
}

impl Recent {
    fn choose(&mut self, numbers: &mut Numbers, rng: &mut Rng) -> Option<u64> {
        if !self.numbers.is_empty() && rng.f64() < self.probability {
            self.overwrites += 1;
            return Some(self.numbers[rng.usize(..self.numbers.len())]);
        }
        let number = numbers.next_number(rng)?;
        self.unique += 1;
        if self.numbers.len() == self.window {
            self.numbers.pop_front();
        }
        self.numbers.push_back(number);
        Some(number)
    }
}

/// Range deletions between the writes, as the `range_tombstone` flags ask for.
struct RangeDeletions {
    begin: Vec<u8>,
    end: Vec<u8>,
    written: i64,
    count: u64,
}

impl RangeDeletions {
    fn new(params: &Params<'_>) -> RangeDeletions {
        RangeDeletions {
            begin: params.keys.allocate(),
            end: params.keys.allocate(),
            written: 0,
            count: 0,
        }
    }

    /// Counts a write; true if a range deletion is due after it.
    fn is_due(&mut self, params: &Params<'_>) -> bool {
        let flags = params.flags;
        self.written += 1;
        let since = self.written - flags.writes_before_delete_range;
        let every = flags.writes_per_range_tombstone;
        every > 0 && since > 0 && since / every <= flags.max_num_range_tombstones && since % every == 0
    }

    /// Adds the deletion of the range from `first` to `batch`.
    fn add(&mut self, params: &Params<'_>, first: u64, batch: &mut WriteBatch) {
        self.count += 1;
        let family = params.family(first);
        let width = params.flags.range_tombstone_width.max(0) as u64;
        if params.flags.expand_range_tombstones {
            for number in first..first + width {
                params.keys.write(number, &mut self.begin);
                batch.delete_cf(family, &self.begin);
            }
            return;
        }
        params.keys.write(first, &mut self.begin);
        params.keys.write(first + width, &mut self.end);
        batch.delete_range_cf(family, &self.begin, &self.end);
    }
}

pub fn sequential(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let numbers = match Streams::from_flags(params.flags)? {
        None => Numbers::Sequential(0),
        Some(streams) => {
            thread.message = format!("({})", streams.text());
            Numbers::Streams(streams)
        }
    };
    fill(params, thread, numbers, 0)
}

pub fn random(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    fill(
        params,
        thread,
        Numbers::Random(params.num as u64),
        params.flags.duration,
    )
}

pub fn unique_random(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let spare = params.flags.max_num_range_tombstones.max(0);
    fill(
        params,
        thread,
        Numbers::unique((params.num + spare) as u64, params.workload_seed),
        0,
    )
}

fn fill(params: &Params<'_>, thread: &mut Thread<'_>, mut numbers: Numbers, seconds: i32) -> Result<()> {
    let flags = params.flags;
    let mut values = params.values.clone();
    let mut key = params.keys.allocate();
    let mut ranges = RangeDeletions::new(params);
    let probability = if matches!(numbers, Numbers::Unique(..)) {
        flags.overwrite_probability
    } else {
        0.0
    };
    let window = flags.overwrite_window_size.max(1) as usize;
    let mut recent = Recent {
        probability,
        window,
        numbers: VecDeque::new(),
        overwrites: 0,
        unique: 0,
    };
    let operations = if params.writes == 0 {
        params.num
    } else {
        params.writes
    };
    if params.num != flags.num {
        thread.message = format!("({} ops)", params.num);
    }
    // A batch of one operation is written as a put, without a batch.
    let single = params.batch == 1 && flags.writes_per_range_tombstone <= 0;
    let mut pace = thread.pace(seconds, operations);
    let mut bytes = 0;
    'batches: while !pace.done(params.batch) {
        if let Numbers::Streams(streams) = &numbers
            && streams.switches()
        {
            // If each stream were written by its own run of db_bench, the rows of earlier streams would have
            // been flushed before it.
            params.db.flush_cf(params.families)?;
        }
        let mut batch = WriteBatch::new();
        let mut batch_bytes = 0;
        for _ in 0..params.batch {
            let number = match probability > 0.0 {
                true => recent.choose(&mut numbers, &mut thread.rng),
                false => numbers.next_number(&mut thread.rng),
            };
            let Some(number) = number else { break 'batches };
            params.keys.write(number, &mut key);
            let value = values.next_value();
            batch_bytes += (key.len() + value.len()) as u64;
            if single {
                thread.wait_to_write(batch_bytes);
                params
                    .db
                    .put_cf_opt(params.family(number), &key, value, &params.write)?;
                continue;
            }
            batch.put_cf(params.family(number), &key, value);
            if ranges.is_due(params)
                && let Some(first) = numbers.next_number(&mut thread.rng)
            {
                ranges.add(params, first, &mut batch);
            }
        }
        bytes += batch_bytes;
        if !single {
            thread.wait_to_write(batch_bytes);
            params.db.write_opt(batch, &params.write)?;
        }
        thread.finished(params.batch as u64, Op::Write);
    }
    if probability > 0.0 {
        println!(
            "Number of unique keys inserted: {}.\nNumber of overwrites: {}",
            recent.unique, recent.overwrites
        );
    }
    if ranges.count > 0 {
        println!("Number of range deletions: {}", ranges.count);
    }
    thread.add_bytes(bytes);
    Ok(())
}

pub fn delete_sequential(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    delete(params, thread, Numbers::Sequential(0), 0)
}

pub fn delete_random(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    delete(
        params,
        thread,
        Numbers::Random(params.flags.num as u64),
        params.flags.duration,
    )
}

fn delete(params: &Params<'_>, thread: &mut Thread<'_>, mut numbers: Numbers, seconds: i32) -> Result<()> {
    let mut key = params.keys.allocate();
    let mut pace = thread.pace(seconds, params.deletes);
    while !pace.done(params.batch) {
        let mut batch = WriteBatch::new();
        for _ in 0..params.batch {
            let Some(number) = numbers.next_number(&mut thread.rng) else {
                break;
            };
            params.keys.write(number, &mut key);
            batch.delete_cf(params.family(number), &key);
        }
        params.db.write_opt(batch, &params.write)?;
        thread.finished(params.batch as u64, Op::Delete);
    }
    Ok(())
}

pub fn update(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    read_and_write(params, thread, true, |_, value| value.to_vec())
}

/// Reads random keys and writes the exclusive or of the old value and a new one of the same length.
pub fn xor_update(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    read_and_write(params, thread, false, |old, value| match old {
        Some(mut old) => {
            for (old, new) in old.iter_mut().zip(value.iter().cycle()) {
                *old ^= new;
            }
            old
        }
        None => value.to_vec(),
    })
}

pub fn append(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    read_and_write(params, thread, false, |old, value| match old {
        Some(mut old) => {
            old.push(b',');
            old.extend_from_slice(value);
            old
        }
        None => value.to_vec(),
    })
}

/// Reads random keys and writes the result of `change` on the old value and a new one. If `limited`,
/// `--benchmark_write_rate_limit` is kept, of the key and the new value.
fn read_and_write(
    params: &Params<'_>,
    thread: &mut Thread<'_>,
    limited: bool,
    change: impl Fn(Option<Vec<u8>>, &[u8]) -> Vec<u8>,
) -> Result<()> {
    let mut values = params.values.clone();
    let mut key = params.keys.allocate();
    let (mut found, mut bytes, mut operations) = (0u64, 0, 0u64);
    let mut pace = thread.pace(params.flags.duration, params.readwrites());
    while !pace.done(1) {
        let number = thread.rng.u64(..params.flags.num as u64);
        params.keys.write(number, &mut key);
        let value = values.next_value();
        if limited {
            // Before the read, so that the latency is of the whole update.
            thread.wait_to_write((key.len() + value.len()) as u64);
        }
        let family = params.family(number);
        let old = params.db.get_cf_opt(family, &key, &params.read)?;
        found += u64::from(old.is_some());
        bytes += old.as_ref().map_or(0, |old| key.len() + old.len());
        let new = change(old, value);
        params.db.put_cf_opt(family, &key, &new, &params.write)?;
        bytes += key.len() + new.len();
        operations += 1;
        thread.finished(1, Op::Update);
    }
    thread.add_bytes(bytes as u64);
    thread.message = format!("( updates:{operations} found:{found})");
    Ok(())
}

/// Refuses `workload` if neither a flag nor the OPTIONS file names a merge operator.
pub fn need_merge_operator(params: &Params<'_>, workload: &str) -> Result<()> {
    if params.families[0].options().merge_operator.is_none() {
        return Err(Error::invalid_argument(format!(
            "{workload} needs --merge_operator"
        )));
    }
    Ok(())
}

pub fn merge(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    need_merge_operator(params, "mergerandom")?;
    let mut values = params.values.clone();
    let mut key = params.keys.allocate();
    let (mut bytes, mut operations) = (0, 0u64);
    let mut pace = thread.pace(params.flags.duration, params.readwrites());
    while !pace.done(1) {
        let number = thread.rng.u64(..params.merge_keys() as u64);
        params.keys.write(number, &mut key);
        let value = values.next_value();
        params
            .db
            .merge_cf_opt(params.family(number), &key, value, &params.write)?;
        bytes += key.len() + value.len();
        operations += 1;
        thread.finished(1, Op::Merge);
    }
    thread.add_bytes(bytes as u64);
    thread.message = format!("( updates:{operations})");
    Ok(())
}

/// Overwrites random keys until the other threads are done; its operations are not counted among theirs.
pub fn background(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    in_background(params, thread, false)
}

/// Merges into random keys until the other threads are done.
pub fn background_merges(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    need_merge_operator(params, "merging beside readers")?;
    in_background(params, thread, true)
}

fn in_background(params: &Params<'_>, thread: &mut Thread<'_>, merges: bool) -> Result<()> {
    thread.excluded = true;
    let flags = params.flags;
    let num = if flags.bgwriter_num > 0 {
        flags.bgwriter_num
    } else {
        flags.num
    } as u64;
    let mut values = params.values.clone();
    let mut key = params.keys.allocate();
    let mut ranges = RangeDeletions::new(params);
    let mut written = 0;
    loop {
        let readers_done = thread.shared.finished.load(Ordering::SeqCst) + 1 >= thread.shared.threads;
        let writes_done = written >= params.writes;
        if if flags.finish_after_writes {
            writes_done
        } else {
            readers_done
        } {
            break;
        }
        let number = thread.rng.u64(..num);
        params.keys.write(number, &mut key);
        let value = values.next_value();
        thread.wait_to_write((key.len() + value.len()) as u64);
        if merges {
            params
                .db
                .merge_cf_opt(params.family(number), &key, value, &params.write)?;
        } else {
            params
                .db
                .put_cf_opt(params.family(number), &key, value, &params.write)?;
        }
        written += 1;
        thread.finished(1, Op::Write);
        if ranges.is_due(params) {
            let mut batch = WriteBatch::new();
            ranges.add(params, thread.rng.u64(..flags.num as u64), &mut batch);
            params.db.write_opt(batch, &params.write)?;
        }
    }
    if ranges.count > 0 {
        println!("Number of range deletions: {}", ranges.count);
    }
    Ok(())
}
