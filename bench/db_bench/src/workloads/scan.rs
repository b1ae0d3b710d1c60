//! Iterators: whole scans, and seeks with steps after them.

use std::hint::black_box;

use base::Result;
use esker::{DbIterator, MultiScanArgs, ReadOptions};

use crate::op::Op;
use crate::params::Params;
use crate::runner::Thread;

pub fn forward(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    scan(params, thread, false)
}

pub fn backward(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    scan(params, thread, true)
}

fn read_options(params: &Params<'_>) -> ReadOptions {
    let mut options = params.read.clone();
    if params.flags.explicit_snapshot {
        options.snapshot = Some(params.db.snapshot());
    }
    options
}

fn scan(params: &Params<'_>, thread: &mut Thread<'_>, reverse: bool) -> Result<()> {
    let options = read_options(params);
    let (mut read, mut bytes) = (0, 0);
    for family in params.families {
        let mut entries = params.db.iter_cf_opt(family, &options);
        if reverse {
            entries.seek_to_last()
        } else {
            entries.seek_to_first()
        }
        while read < params.reads && entries.valid() {
            bytes += entries.key().len() + entries.value().len();
            thread.finished(1, Op::Read);
            read += 1;
            thread.wait_to_read(1);
            if reverse { entries.prev() } else { entries.next() }
        }
        entries.status()?;
    }
    thread.add_bytes(bytes as u64);
    Ok(())
}

/// Scans the default family from its first key to its last, repeatedly, as many steps as there are reads to
/// do; its operations count among those of the readers, as in RocksDB.
pub fn background(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let mut entries = params.db.iter_cf_opt(&params.families[0], &read_options(params));
    let mut pace = thread.pace(params.flags.duration, params.reads);
    while !pace.done(1) {
        if entries.valid() {
            entries.next();
        } else {
            entries.status()?;
            entries.seek_to_first();
        }
        thread.finished(1, Op::Seek);
    }
    entries.status()
}

/// Runs fillseq, then seeks to every key in order, `--seek_nexts` of them reached by steps; only the seeks
/// are timed.
pub fn fill_and_seek(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let num = params.flags.num as u64;
    super::write::sequential(params, thread)?;
    thread.restart();
    let mut entries = params.db.iter_cf_opt(&params.families[0], &read_options(params));
    let mut key = params.keys.allocate();
    let expect = |found: bool, number: u64| match found {
        true => Ok(()),
        false => Err(base::Error::corruption(format!(
            "key {number} was written and is not found"
        ))),
    };
    let mut number = 0;
    while number < num {
        params.keys.write(number, &mut key);
        entries.seek(&key);
        entries.status()?;
        expect(entries.valid() && entries.key() == key, number)?;
        thread.finished(1, Op::Seek);
        let mut steps = 0;
        while steps < params.seek_nexts && number + 1 < num {
            entries.next();
            entries.status()?;
            (steps, number) = (steps + 1, number + 1);
            params.keys.write(number, &mut key);
            expect(entries.valid() && entries.key() == key, number)?;
            thread.finished(1, Op::Seek);
        }
        entries.seek(&key);
        expect(entries.valid() && entries.key() == key, number)?;
        thread.finished(1, Op::Seek);
        number += 1;
    }
    Ok(())
}

pub fn new_iterator(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let options = read_options(params);
    let mut pace = thread.pace(params.flags.duration, params.reads);
    while !pace.done(1) {
        let number = thread.rng.u64(..params.flags.num as u64);
        black_box(params.db.iter_cf_opt(params.family(number), &options));
        thread.finished(1, Op::Other);
    }
    Ok(())
}

pub fn seek_random(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let flags = params.flags;
    let num = flags.num as u64;
    let mut options = read_options(params);
    let (mut key, mut bound) = (params.keys.allocate(), params.keys.allocate());
    let (mut read, mut found, mut bytes) = (0u64, 0u64, 0);
    // RocksDB's db_bench copies this many bytes of each value that a scan reads.
    let mut copy = [0; 256];
    let mut tailing = Vec::new();
    if options.tailing {
        tailing.extend(
            params
                .families
                .iter()
                .map(|family| params.db.iter_cf_opt(family, &options)),
        );
    }
    let mut pace = thread.pace(flags.duration, params.reads);
    while !pace.done(1) {
        let number = thread.rng.u64(..num);
        params.keys.write(number, &mut key);
        if flags.seek_missing_prefix {
            // After the eight bytes of the number a prefix is filled with `0`s.
            key[8] = b'1';
        }
        if flags.max_scan_distance > 0 {
            let distance = flags.max_scan_distance as u64;
            if params.reverse {
                params.keys.write(number.saturating_sub(distance), &mut bound);
                options.iterate_lower_bound = Some(bound.clone());
            } else {
                params.keys.write((number + distance).min(num), &mut bound);
                options.iterate_upper_bound = Some(bound.clone());
            }
        }
        thread.wait_to_read(1);
        let mut fresh;
        let entries = match &mut tailing[..] {
            [] => {
                fresh = params.db.iter_cf_opt(params.family(number), &options);
                &mut fresh
            }
            kept => {
                let entries = &mut kept[params.family_index(number)];
                entries.set_bounds(
                    options.iterate_lower_bound.as_deref(),
                    options.iterate_upper_bound.as_deref(),
                );
                entries
            }
        };
        entries.seek(&key);
        read += 1;
        found += u64::from(entries.valid() && entries.key() == key);
        let mut steps = 0;
        while steps < params.seek_nexts && entries.valid() {
            let value = entries.value();
            let len = value.len().min(copy.len());
            copy[..len].copy_from_slice(&value[..len]);
            black_box(&copy);
            bytes += entries.key().len() + value.len();
            if params.reverse {
                entries.prev()
            } else {
                entries.next()
            }
            steps += 1;
        }
        let mut deleted = 0;
        while deleted < flags.seek_nexts_to_delete && entries.valid() {
            params
                .db
                .delete_cf_opt(params.family(number), entries.key(), &params.write)?;
            if params.reverse {
                entries.prev()
            } else {
                entries.next()
            }
            deleted += 1;
        }
        entries.status()?;
        thread.finished(1, Op::Seek);
    }
    thread.add_bytes(bytes as u64);
    thread.message = format!("({found} of {read} found)\n");
    Ok(())
}

pub fn multi_scan(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let flags = params.flags;
    let (num, len) = (flags.num as u64, params.seek_nexts.max(1) as u64);
    let step = len + flags.multiscan_stride.max(0) as u64;
    let count = flags.multiscan_size.max(0) as u64;
    let most = num.saturating_sub(step * count.max(1)).max(1);
    multi_scan_of(params, thread, |thread| {
        let first = thread.rng.u64(..most);
        (0..count).map(|range| (first + range * step, len)).collect()
    })
}

/// The maximum number of ranges in one scan of `multiscanrandom`.
const MOST_RANGES: u64 = 64;
/// The maximum size in bytes of a range of `multiscanrandom`.
const MOST_RANGE_BYTES: usize = 1 << 20;

/// Scans a drawn number of ranges of drawn lengths that do not overlap.
pub fn multi_scan_random(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let num = params.flags.num as u64;
    let row = (params.flags.key_size + params.flags.value_size).max(1) as usize;
    let longest = (MOST_RANGE_BYTES / row).max(1) as u64;
    multi_scan_of(params, thread, |thread| {
        let count = 1 + thread.rng.u64(..MOST_RANGES);
        let mut drawn: Vec<(u64, u64)> = (0..count)
            .map(|_| {
                let len = 1 + thread.rng.u64(..longest);
                (thread.rng.u64(..=num.saturating_sub(len)), len)
            })
            .collect();
        drawn.sort_unstable();
        without_overlaps(drawn)
    })
}

/// The parts of ranges that no earlier range covers. The ranges are sorted by their starts.
fn without_overlaps(ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    let mut end = 0;
    let mut parts = Vec::with_capacity(ranges.len());
    for (start, len) in ranges {
        let from = start.max(end);
        if start + len > from {
            parts.push((from, start + len - from));
            end = start + len;
        }
    }
    parts
}

/// Scans the ranges that `draw` returns, each with its first key and its length in keys.
fn multi_scan_of(
    params: &Params<'_>,
    thread: &mut Thread<'_>,
    mut draw: impl FnMut(&mut Thread<'_>) -> Vec<(u64, u64)>,
) -> Result<()> {
    let flags = params.flags;
    let options = read_options(params);
    let (mut rows, mut bytes, mut scans) = (0u64, 0, 0u64);
    let mut key = params.keys.allocate();
    let mut pace = thread.pace(flags.duration, params.reads);
    while !pace.done(1) {
        let drawn = draw(thread);
        let first = drawn.first().map_or(0, |(start, _)| *start);
        let mut ranges = Vec::with_capacity(drawn.len());
        for (start, len) in drawn {
            params.keys.write(start, &mut key);
            let from = key.clone();
            params.keys.write(start + len, &mut key);
            ranges.push((from, Some(key.clone())));
        }
        let family = params.family(first);
        let mut walk = |entries: &mut DbIterator| {
            while entries.valid() {
                rows += 1;
                bytes += entries.key().len() + black_box(entries.value()).len();
                entries.next();
            }
            scans += 1;
            entries.status()
        };
        thread.wait_to_read(1);
        if flags.use_multiscan {
            let args = MultiScanArgs {
                ranges,
                io_coalesce_threshold: flags.multiscan_coalesce_threshold,
                max_prefetch_size: flags.multiscan_max_prefetch_size,
                use_async_io: flags.multiscan_use_async_io,
            };
            let mut scan = params.db.multi_scan(family, args, &options)?;
            while let Some(entries) = scan.next_range() {
                walk(entries)?;
            }
        } else {
            let mut entries = params.db.iter_cf_opt(family, &options);
            for (start, limit) in &ranges {
                entries.set_bounds(Some(start), limit.as_deref());
                entries.seek(start);
                walk(&mut entries)?;
            }
        }
        thread.finished(1, Op::Seek);
    }
    thread.add_bytes(bytes as u64);
    thread.message = format!("({rows} rows of {scans} ranges)\n");
    Ok(())
}
