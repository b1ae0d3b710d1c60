//! Point reads.

use base::{Error, Result};

use crate::keys::random_number;
use crate::op::Op;
use crate::params::Params;
use crate::runner::Thread;

pub fn random(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let mut key = params.keys.allocate();
    let (mut read, mut found, mut bytes) = (0u64, 0u64, 0);
    let mut pace = thread.pace(params.flags.duration, params.reads);
    while !pace.done(1) {
        let number = random_number(params.flags, &mut thread.rng);
        params.keys.write(number, &mut key);
        thread.wait_to_read(1);
        if let Some(value) = params
            .db
            .get_pinned_cf_opt(params.family(number), &key, &params.read)?
        {
            found += 1;
            bytes += key.len() + value.len();
        }
        read += 1;
        thread.finished(1, Op::Read);
    }
    finish(thread, found, read, bytes)
}

/// Refuses `readtorowcache` without the flags that it needs.
pub fn require_row_cache(params: &mut Params<'_>) -> Result<()> {
    match params.flags.use_existing_keys && params.flags.row_cache_size > 0 {
        true => Ok(()),
        false => Err(Error::invalid_argument(
            "Please set use_existing_keys to true and specify a row cache size in readtorowcache benchmark",
        )),
    }
}

/// Reads every key once, whatever `--reads` and `--duration` say, so that the row cache holds their rows.
pub fn to_row_cache(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let mut key = params.keys.allocate();
    let (mut found, mut bytes) = (0u64, 0);
    let num = params.num as u64;
    for number in 0..num {
        params.keys.write(number, &mut key);
        thread.wait_to_read(1);
        if let Some(value) = params
            .db
            .get_pinned_cf_opt(params.family(number), &key, &params.read)?
        {
            found += 1;
            bytes += key.len() + value.len();
        }
        thread.finished(1, Op::Read);
    }
    finish(thread, found, num, bytes)
}

pub fn multi_random(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let flags = params.flags;
    let batch = params.batch as u64;
    let stride = flags.multiread_stride.max(0) as u64;
    let mut keys: Vec<Vec<u8>> = (0..batch).map(|_| params.keys.allocate()).collect();
    let mut families = vec![0; batch as usize];
    let (mut read, mut found, mut bytes) = (0u64, 0u64, 0);
    let mut pace = thread.pace(flags.duration, params.reads);
    while !pace.done(params.batch) {
        let first = random_number(flags, &mut thread.rng);
        let first = first.min((flags.num as u64).saturating_sub(batch * stride));
        for (at, key) in keys.iter_mut().enumerate() {
            let number = match stride {
                0 if at > 0 => random_number(flags, &mut thread.rng),
                _ => first + at as u64 * stride,
            };
            families[at] = number % params.families.len() as u64;
            params.keys.write(number, key);
        }
        thread.wait_to_read(batch);
        for value in multi_get(params, &keys, &families)? {
            found += 1;
            bytes += params.keys.key_size + value;
        }
        read += batch;
        thread.finished(batch, Op::Read);
    }
    finish(thread, found, read, bytes)
}

/// The lengths of the values found.
fn multi_get(params: &Params<'_>, keys: &[Vec<u8>], families: &[u64]) -> Result<Vec<usize>> {
    let mut lengths = Vec::with_capacity(keys.len());
    for (id, family) in params.families.iter().enumerate() {
        let of_family: Vec<&[u8]> = keys
            .iter()
            .zip(families)
            .filter(|(_, of)| **of == id as u64)
            .map(|(key, _)| key.as_slice())
            .collect();
        for value in params
            .db
            .multi_get_pinned_cf_opt(family, &of_family, &params.read)
        {
            lengths.extend(value?.map(|value| value.len()));
        }
    }
    Ok(lengths)
}

/// Reads and writes random keys, `--readwritepercent` of the operations reads.
pub fn and_write(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let flags = params.flags;
    let mut values = params.values.clone();
    let mut key = params.keys.allocate();
    let (mut reads, mut writes, mut found, mut bytes) = (0u64, 0u64, 0u64, 0);
    let total = params.readwrites();
    let mut pace = thread.pace(flags.duration, total);
    while !pace.done(1) {
        let number = thread.rng.u64(..flags.num as u64);
        params.keys.write(number, &mut key);
        if thread.rng.i32(0..100) < flags.readwritepercent {
            reads += 1;
            if let Some(value) = params
                .db
                .get_pinned_cf_opt(params.family(number), &key, &params.read)?
            {
                found += 1;
                bytes += key.len() + value.len();
            }
            thread.finished(1, Op::Read);
        } else {
            writes += 1;
            let value = values.next_value();
            params
                .db
                .put_cf_opt(params.family(number), &key, value, &params.write)?;
            bytes += key.len() + value.len();
            thread.finished(1, Op::Write);
        }
    }
    thread.add_bytes(bytes as u64);
    thread.message = format!("( reads:{reads} writes:{writes} total:{total} found:{found})");
    Ok(())
}

/// Reads random keys, a hundred between looks at the clock and at the limits.
pub fn fast(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    const AT_ONCE: u64 = 100;
    // As in RocksDB, keys are drawn below the next power of two, so that some of them were never written.
    let num = params.flags.num as u64;
    let range = num.next_power_of_two();
    let mut key = params.keys.allocate();
    let (mut read, mut found, mut absent) = (0u64, 0u64, 0u64);
    let mut pace = thread.pace(params.flags.duration, params.reads);
    while !pace.done(AT_ONCE as i64) {
        thread.wait_to_read(AT_ONCE);
        for _ in 0..AT_ONCE {
            let number = thread.rng.u64(..range);
            params.keys.write(number, &mut key);
            let value = params
                .db
                .get_pinned_cf_opt(params.family(number), &key, &params.read)?;
            found += u64::from(value.is_some());
            absent += u64::from(number >= num);
        }
        read += AT_ONCE;
        thread.finished(AT_ONCE, Op::Read);
    }
    thread.message = format!("({found} of {read} found, issued {absent} non-exist keys)\n");
    Ok(())
}

/// Asks for the sizes of `--batch_size` random ranges at a time.
pub fn approximate_sizes(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let mut keys = vec![(params.keys.allocate(), params.keys.allocate()); params.batch as usize];
    let (mut sum, mut sizes) = (0, 0u64);
    let mut pace = thread.pace(params.flags.duration, params.reads);
    while !pace.done(1) {
        for (left, right) in &mut keys {
            let one = random_number(params.flags, &mut thread.rng);
            let other = random_number(params.flags, &mut thread.rng);
            params.keys.write(one.min(other), left);
            params.keys.write(one.max(other), right);
        }
        let ranges: Vec<(&[u8], &[u8])> = keys.iter().map(|(left, right)| (&left[..], &right[..])).collect();
        sum += params
            .db
            .approximate_sizes(&params.families[0], &ranges)?
            .iter()
            .sum::<u64>();
        sizes += ranges.len() as u64;
        thread.finished(ranges.len() as u64, Op::Other);
    }
    thread.message = format!("(Avg approx size={})", sum as f64 / sizes.max(1) as f64);
    Ok(())
}

fn finish(thread: &mut Thread<'_>, found: u64, read: u64, bytes: usize) -> Result<()> {
    thread.add_bytes(bytes as u64);
    thread.message = format!("({found} of {read} found)\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use base::env::Rng;

    use super::*;
    use crate::flags::Flags;

    #[test]
    fn skewed_numbers_repeat_and_stay_in_range() {
        let mut rng = Rng::with_seed(3);
        let distinct = |range: f64, rng: &mut Rng| {
            let flags = Flags {
                num: 10_000,
                read_random_exp_range: range,
                ..Flags::default()
            };
            let mut drawn: Vec<u64> = (0..10_000).map(|_| random_number(&flags, rng)).collect();
            assert!(drawn.iter().all(|number| *number < 10_000));
            drawn.sort_unstable();
            drawn.dedup();
            drawn.len()
        };
        let (even, skewed) = (distinct(0.0, &mut rng), distinct(25.0, &mut rng));
        assert!(skewed * 2 < even, "{skewed} of {even}");
    }
}
