//! mixgraph: Gets, Puts and Seeks of one sequence, whatever the number of threads.

use std::hint::black_box;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use base::{Error, Result};

use crate::mixgraph::{Done, Implied, Kind, Mixgraph, Operation, Shared, SineRate};
use crate::op::Op;
use crate::params::Params;
use crate::runner::Thread;
use crate::values::Values;

/// Makes the sequence of operations and prints its properties.
pub fn prepare(params: &mut Params<'_>) -> Result<()> {
    let flags = params.flags;
    let operations = Mixgraph::new(flags, params.workload_seed).map_err(Error::invalid_argument)?;
    print!("{}", Implied::new(&operations, flags.threads.max(1)));
    if let Some(total) = operations.total() {
        params.reads = (total / flags.threads.max(1) as u64) as i64;
    }
    params.mixgraph = Some(Arc::new(Shared {
        operations,
        rate: SineRate::new(flags, params.workload_seed),
        done: Mutex::default(),
    }));
    Ok(())
}

pub fn run(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    let Some(shared) = &params.mixgraph else {
        return Err(Error::invalid_argument("mixgraph has no operations to do"));
    };
    let mut key = params.keys.allocate();
    let mut values = params.values.clone();
    let mut copy = Vec::new();
    let mut done = Done::default();
    // A run ends with the sequence of operations, unless the time limit ends it before.
    let mut pace = thread.pace(params.flags.duration, i64::MAX);
    for operation in shared.operations.share() {
        if pace.done(1) {
            break;
        }
        params.keys.write(operation.key, &mut key);
        limit(params, shared.rate.as_ref(), thread, operation);
        match operation.kind {
            Kind::Get => {
                done.gets += 1;
                let family = params.family(operation.key);
                if let Some(value) = params.db.get_pinned_cf_opt(family, &key, &params.read)? {
                    done.found += 1;
                    done.bytes += key.len() + value.len();
                }
                thread.finished(1, Op::Read);
            }
            Kind::Put => {
                put(params, operation, &key, &mut values, &mut done)?;
                thread.finished(1, Op::Write);
            }
            Kind::Seek => {
                seek(params, operation, &key, &mut copy, &mut done)?;
                thread.finished(1, Op::Seek);
            }
        }
    }
    thread.add_bytes(done.bytes as u64);
    lock(&shared.done).add(&done);
    Ok(())
}

/// The counts of all threads, for the result line.
pub fn message(params: &Params<'_>) -> String {
    let Some(shared) = &params.mixgraph else {
        return String::new();
    };
    let done = lock(&shared.done);
    let average = |sum: f64, count: u64| if count == 0 { 0.0 } else { sum / count as f64 };
    format!(
        "( Gets:{} Puts:{} Seek:{}, reads {} in {} found, avg size: {:.1} value, {:.1} scan)\n",
        done.gets,
        done.puts,
        done.seeks,
        done.found,
        done.gets + done.seeks,
        average(done.value_bytes as f64, done.puts),
        average(done.steps as f64, done.seeks),
    )
}

fn lock(done: &Mutex<Done>) -> MutexGuard<'_, Done> {
    done.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for `--sine_mix_rate`, or for the limits of all workloads.
fn limit(params: &Params<'_>, rate: Option<&SineRate>, thread: &mut Thread<'_>, operation: Operation) {
    if let Some(rate) = rate {
        if let Some(schedule) = rate.schedule(Instant::now()) {
            thread.wait_for(&schedule, 1);
        }
        return;
    }
    match operation.kind {
        Kind::Put => thread.wait_to_write((params.keys.key_size + operation.value_size) as u64),
        Kind::Get | Kind::Seek => thread.wait_to_read(1),
    }
}

fn put(
    params: &Params<'_>,
    operation: Operation,
    key: &[u8],
    values: &mut Values,
    done: &mut Done,
) -> Result<()> {
    done.puts += 1;
    let value = values.value_of(operation.value_size);
    done.value_bytes += value.len();
    params
        .db
        .put_cf_opt(params.family(operation.key), key, value, &params.write)
}

fn seek(
    params: &Params<'_>,
    operation: Operation,
    key: &[u8],
    copy: &mut Vec<u8>,
    done: &mut Done,
) -> Result<()> {
    done.seeks += 1;
    let mut entries = params.db.iter_cf_opt(params.family(operation.key), &params.read);
    entries.seek(key);
    done.found += u64::from(entries.valid() && entries.key() == key);
    let mut steps = 0;
    while steps < operation.scan_length && entries.valid() {
        let value = entries.value();
        copy.clear();
        copy.extend_from_slice(value);
        black_box(&copy);
        done.bytes += entries.key().len() + value.len();
        entries.next();
        steps += 1;
    }
    done.steps += steps;
    entries.status()
}
