//! Point reads.

use std::time::Instant;

use base::{Error, Result};
use esker::ColumnFamily;

use crate::keys::random_number;
use crate::op::Op;
use crate::params::Params;
use crate::runner::Thread;

pub fn random(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    random_by(params, thread, |family, key| {
        let value = params.db.get_pinned_cf_opt(family, key, &params.read)?;
        Ok(value.map(|value| value.len()))
    })
}

/// Reads the operands of random keys. The only operand of a key that was put and never merged is its value.
pub fn operands(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    random_by(params, thread, |family, key| {
        let operands = params
            .db
            .get_merge_operands(family, key, usize::MAX, &params.read)?;
        let bytes = operands.iter().map(Vec::len).sum();
        Ok((!operands.is_empty()).then_some(bytes))
    })
}

/// Reads the columns of random keys.
pub fn entities(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    random_by(params, thread, |family, key| {
        let columns = params.db.get_entity_cf_opt(family, key, &params.read)?;
        Ok(columns.as_ref().map(bytes_of_columns))
    })
}

fn bytes_of_columns(columns: &esker::Columns) -> usize {
    columns.iter().map(|(name, value)| name.len() + value.len()).sum()
}

/// Reads random keys with `read_one`, which returns the number of bytes that it found, without those of the
/// key.
fn random_by(
    params: &Params<'_>,
    thread: &mut Thread<'_>,
    read_one: impl Fn(&ColumnFamily, &[u8]) -> Result<Option<usize>>,
) -> Result<()> {
    let mut key = params.keys.allocate();
    let (mut read, mut found, mut bytes) = (0u64, 0u64, 0);
    let mut pace = thread.pace(params.flags.duration, params.reads);
    while !pace.done(1) {
        let number = random_number(params.flags, &mut thread.rng);
        params.keys.write(number, &mut key);
        thread.wait_to_read(1);
        if let Some(value) = read_one(params.family(number), &key)? {
            found += 1;
            bytes += key.len() + value;
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
    multi_random_by(params, thread, |family, keys| {
        let values = params.db.multi_get_pinned_cf_opt(family, keys, &params.read);
        let lengths = values
            .into_iter()
            .map(|value| Ok(value?.map(|value| value.len())));
        lengths.collect()
    })
}

/// Reads the columns of random keys, a batch at a time.
pub fn multi_entities(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    multi_random_by(params, thread, |family, keys| {
        let entities = params.db.multi_get_entity(family, keys, &params.read);
        let lengths = entities
            .into_iter()
            .map(|columns| Ok(columns?.as_ref().map(bytes_of_columns)));
        lengths.collect()
    })
}

/// Reads random keys, a batch at a time, with `read_all`, which returns the number of bytes of each value
/// found.
fn multi_random_by(
    params: &Params<'_>,
    thread: &mut Thread<'_>,
    read_all: impl Fn(&ColumnFamily, &[&[u8]]) -> Result<Vec<Option<usize>>>,
) -> Result<()> {
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
        for (id, family) in params.families.iter().enumerate() {
            let of_family = keys.iter().zip(&families);
            let of_family: Vec<&[u8]> = of_family
                .filter(|(_, of)| **of == id as u64)
                .map(|(key, _)| key.as_slice())
                .collect();
            for value in read_all(family, &of_family)?.into_iter().flatten() {
                found += 1;
                bytes += params.keys.key_size + value;
            }
        }
        read += batch;
        thread.finished(batch, Op::Read);
    }
    finish(thread, found, read, bytes)
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

/// Reads random keys. After every hundred keys it checks the clock and the limits.
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

/// Asks for the number of rows that memtables have in ranges of `--batch_size` keys.
pub fn approximate_memtable_stats(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let (num, batch) = (params.flags.num as u64, params.batch as u64);
    let (mut start, mut end) = (params.keys.allocate(), params.keys.allocate());
    let (mut counted, mut asked) = (0, 0u64);
    let mut pace = thread.pace(params.flags.duration, params.reads);
    while !pace.done(1) {
        let first = thread.rng.u64(..num.saturating_sub(batch).max(1));
        params.keys.write(first, &mut start);
        params.keys.write(first + batch, &mut end);
        counted += params
            .db
            .approximate_memtable_stats(&params.families[0], &start, &end)?
            .count;
        asked += 1;
        thread.finished(1, Op::Other);
    }
    let average = counted as f64 / asked.max(1) as f64;
    thread.message = format!("(Avg entry count={average:.1}, expected {batch})");
    Ok(())
}

/// The number of operands that `getmergeoperands` merges into its key.
const LISTS: u64 = 1_000;
/// The number of numbers in each operand that `getmergeoperands` merges.
const LIST_LEN: u64 = 99;

/// Merges lists of numbers into one key, then looks for a number in the merged value, and in the operands one
/// by one.
pub fn merge_operands(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let (family, key) = (&params.families[0], b"my_key");
    for list in 0..LISTS {
        let from = list * (LIST_LEN + 1);
        let numbers: Vec<String> = (from + 1..=from + LIST_LEN)
            .map(|number| number.to_string())
            .collect();
        let operand = numbers.join(",");
        params.db.merge_cf_opt(family, key, operand, &params.write)?;
    }
    let begun = Instant::now();
    let value = params
        .db
        .get_cf_opt(family, key, &params.read)?
        .unwrap_or_default();
    let by_get = holds_number(&value, "1");
    let get = begun.elapsed();
    thread.finished(1, Op::Read);
    let begun = Instant::now();
    let operands = params
        .db
        .get_merge_operands(family, key, usize::MAX, &params.read)?;
    let by_operands = operands.iter().any(|operand| holds_number(operand, "1"));
    let operands_time = begun.elapsed();
    thread.finished(1, Op::Read);
    thread.message = format!(
        "(Get: {:.6} seconds, found {by_get}; GetMergeOperands: {:.6} seconds, found {by_operands}, {} operands)",
        get.as_secs_f64(),
        operands_time.as_secs_f64(),
        operands.len()
    );
    Ok(())
}

/// True if a list of numbers in their order, separated by commas, has `number`.
fn holds_number(list: &[u8], number: &str) -> bool {
    let mut numbers = list.split(|byte| *byte == b',');
    numbers.any(|one| one == number.as_bytes())
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
