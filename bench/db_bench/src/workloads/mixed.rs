//! Reads and writes by the same thread.

use std::collections::HashMap;

use base::Result;
use base::env::Rng;
use esker::{ReadOptions, WriteBatch};

use crate::op::Op;
use crate::params::Params;
use crate::runner::Thread;

/// Merges and reads of random keys, `--mergereadpercent` of the operations merges.
pub fn read_or_merge(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    super::write::need_merge_operator(params, "readrandommergerandom")?;
    let mut values = params.values.clone();
    let mut key = params.keys.allocate();
    let (mut gets, mut merges, mut hits, mut longest) = (0u64, 0u64, 0u64, 0);
    let total = params.readwrites();
    let mut pace = thread.pace(params.flags.duration, total);
    while !pace.done(1) {
        let number = thread.rng.u64(..params.merge_keys() as u64);
        params.keys.write(number, &mut key);
        let family = params.family(number);
        if thread.rng.i32(0..100) < params.flags.mergereadpercent {
            let value = values.next_value();
            params.db.merge_cf_opt(family, &key, value, &params.write)?;
            merges += 1;
            thread.finished(1, Op::Merge);
        } else {
            if let Some(value) = params.db.get_pinned_cf_opt(family, &key, &params.read)? {
                longest = longest.max(value.len());
                hits += 1;
            }
            gets += 1;
            thread.finished(1, Op::Read);
        }
    }
    thread.message = format!("(reads:{gets} merges:{merges} total:{total} hits:{hits} maxlength:{longest})");
    Ok(())
}

/// The suffixes under which randomwithverify writes the value of a key, in the order in which it reads them.
const COPIES: [u8; 3] = *b"012";

/// Writes each value under three keys in one batch, deletes them together, and reads them at one snapshot:
/// the three values must agree.
pub fn with_verify(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let flags = params.flags;
    let distinct = flags.numdistinct.max(1) as u64;
    let mut values = params.values.clone();
    let mut key = params.keys.allocate();
    let mut last = key.len();
    let total = params.readwrites();
    let (mut gets, mut puts, mut deletes, mut found) = (0u64, 0u64, 0u64, 0u64);
    // The numbers of operations left in the current hundred: reads come first, then writes, then deletions.
    let (mut get_weight, mut put_weight, mut delete_weight) = (0, 0, 0);
    let mut pace = thread.pace(0, total);
    while !pace.done(1) {
        if get_weight == 0 && put_weight == 0 && delete_weight == 0 {
            get_weight = flags.readwritepercent.clamp(0, 100);
            delete_weight = flags.deletepercent.clamp(0, 100 - get_weight);
            put_weight = 100 - get_weight - delete_weight;
        }
        let number = thread.rng.u64(..distinct);
        key.truncate(last);
        params.keys.write(number, &mut key);
        last = key.len();
        key.push(0);
        let family = params.family(number);
        if get_weight > 0 {
            let options = ReadOptions {
                snapshot: Some(params.db.snapshot()),
                ..params.read.clone()
            };
            let mut read = Vec::with_capacity(COPIES.len());
            for copy in COPIES {
                key[last] = copy;
                read.push(params.db.get_cf_opt(family, &key, &options)?);
            }
            if read.iter().any(|value| *value != read[0]) {
                return Err(base::Error::corruption(format!(
                    "inconsistent values for key {}",
                    key[..last].escape_ascii()
                )));
            }
            found += u64::from(read[0].is_some());
            (get_weight, gets) = (get_weight - 1, gets + 1);
            thread.finished(1, Op::Read);
            continue;
        }
        let mut batch = WriteBatch::new();
        let value = values.next_value();
        for copy in COPIES.into_iter().rev() {
            key[last] = copy;
            if put_weight > 0 {
                batch.put_cf(family, &key, value);
            } else {
                batch.delete_cf(family, &key);
            }
        }
        params.db.write_opt(batch, &params.write)?;
        if put_weight > 0 {
            (put_weight, puts) = (put_weight - 1, puts + 1);
            thread.finished(1, Op::Write);
        } else {
            (delete_weight, deletes) = (delete_weight - 1, deletes + 1);
            thread.finished(1, Op::Delete);
        }
    }
    thread.message = format!("( get:{gets} put:{puts} del:{deletes} total:{total} found:{found})");
    Ok(())
}

/// The number of successors that each key gets, one after the other.
const SUCCESSORS: u64 = 50;

/// Replaces random keys, chosen around the middle one: deletes a key and writes its successor. A snapshot
/// that was taken at the start is held, so that no deleted entry can be dropped.
pub fn replace_keys(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let flags = params.flags;
    let distinct = flags.numdistinct.max(1) as u64;
    let mut values = params.values.clone();
    let mut key = params.keys.allocate();
    for id in 0..distinct {
        let number = id * SUCCESSORS;
        params.keys.write(number, &mut key);
        params
            .db
            .put_cf_opt(params.family(number), &key, values.next_value(), &params.write)?;
    }
    let _held = params.db.snapshot();
    let mut counters: HashMap<u64, u64> = HashMap::new();
    let mut pace = thread.pace(flags.duration, flags.num);
    while !pace.done(1) {
        let id = around_the_middle(&mut thread.rng, distinct, flags.stddev);
        let counter = counters.entry(id).or_default();
        let old = id * SUCCESSORS + *counter;
        params.keys.write(old, &mut key);
        if flags.use_single_deletes {
            params
                .db
                .single_delete_cf_opt(params.family(old), &key, &params.write)?;
        } else {
            params.db.delete_cf_opt(params.family(old), &key, &params.write)?;
        }
        *counter = (*counter + 1) % SUCCESSORS;
        let new = id * SUCCESSORS + *counter;
        params.keys.write(new, &mut key);
        params
            .db
            .put_cf_opt(params.family(new), &key, b"", &params.write)?;
        thread.finished(1, Op::Other);
    }
    thread.message = format!(
        "use single deletes: {}, standard deviation: {:.6}\n",
        i32::from(flags.use_single_deletes),
        flags.stddev
    );
    Ok(())
}

/// A number below `count`, normally distributed around the middle one.
fn around_the_middle(rng: &mut Rng, count: u64, deviation: f64) -> u64 {
    // The Box-Muller transform of two uniform numbers into a normal one.
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    let normal = radius * (std::f64::consts::TAU * rng.f64()).cos();
    ((count as f64 / 2.0 + deviation * normal).max(0.0) as u64).min(count - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_to_replace_lie_around_the_middle() {
        let mut rng = Rng::with_seed(5);
        let drawn: Vec<u64> = (0..10_000)
            .map(|_| around_the_middle(&mut rng, 1_000, 50.0))
            .collect();
        let near = drawn.iter().filter(|id| id.abs_diff(500) <= 50).count();
        assert!(
            (6_500..7_200).contains(&near),
            "{near} of 10000 within a deviation"
        );
        assert!((0..1_000).all(|_| around_the_middle(&mut rng, 3, 1e9) < 3));
    }
}
