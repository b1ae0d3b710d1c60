//! timeseries: one thread writes entries of random ids at increasing times, the others read all entries of
//! random ids, and old entries expire. A key is the number of its id in eight bytes, then its time in eight.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Error, Result};
use esker::{CompactionFilter, CompactionFilterFactory, Decision, FilterContext, ValueType};

use crate::flags::Flags;
use crate::op::Op;
use crate::params::{Params, Time};
use crate::runner::Thread;

/// The size of an id, and of a time, in bytes.
const PART: usize = 8;

/// The removal of entries older than `--time_range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expire {
    /// No entries are removed.
    None,
    /// Compactions remove expired rows.
    CompactionFilter,
    /// The first `--num_deletion_threads` readers delete expired entries.
    Delete,
}

/// The removal that `--expire_style` asks for.
pub fn expire_style(flags: &Flags) -> Result<Expire> {
    match flags.expire_style.as_str() {
        "none" => Ok(Expire::None),
        "compaction_filter" => Ok(Expire::CompactionFilter),
        "delete" => Ok(Expire::Delete),
        other => Err(Error::invalid_argument(format!(
            "--expire_style={other}: not none, compaction_filter or delete"
        ))),
    }
}

fn expired(time: &AtomicU64, range: u64, key: &[u8]) -> bool {
    let written = key
        .get(PART..2 * PART)
        .and_then(|bytes| bytes.try_into().ok())
        .map(u64::from_be_bytes);
    written.is_some_and(|written| time.load(Ordering::Relaxed).saturating_sub(written) > range)
}

/// Drops expired entries when they are compacted.
pub struct ExpiredTimeFilter {
    /// The current time.
    pub time: Time,
    /// Entries older than this are dropped.
    pub range: u64,
}

impl CompactionFilterFactory for ExpiredTimeFilter {
    fn name(&self) -> &str {
        "ExpiredTimeFilter"
    }

    fn create(&self, _: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(Box::new(ExpiredTimeFilter {
            time: self.time.clone(),
            range: self.range,
        }))
    }
}

impl CompactionFilter for ExpiredTimeFilter {
    fn filter(&mut self, _: usize, key: &[u8], _: ValueType, _: &[u8]) -> Decision {
        if expired(&self.time, self.range, key) {
            Decision::Remove
        } else {
            Decision::Keep
        }
    }
}

/// Runs one thread of the workload.
pub fn run(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    if params.keys.key_size < 2 * PART {
        return Err(Error::invalid_argument(
            "timeseries needs --key_size of 16 or more",
        ));
    }
    if thread.id == 0 {
        return write(params, thread);
    }
    let deletes = expire_style(params.flags)? == Expire::Delete
        && thread.id <= params.flags.num_deletion_threads.max(0) as usize;
    read_or_delete(params, thread, deletes)
}

fn random_id(params: &Params<'_>, thread: &mut Thread<'_>) -> u64 {
    thread.rng.u64(..params.flags.key_id_range.max(1) as u64)
}

fn write(params: &Params<'_>, thread: &mut Thread<'_>) -> Result<()> {
    thread.excluded = true;
    let mut values = params.values.clone();
    let mut key = params.keys.allocate();
    let mut pace = thread.pace(params.flags.duration, params.writes);
    while !pace.done(1) {
        let id = random_id(params, thread);
        params.keys.write(id, &mut key);
        let now = params.time.fetch_add(1, Ordering::Relaxed);
        key[PART..2 * PART].copy_from_slice(&now.to_be_bytes());
        let value = values.next_value();
        params
            .db
            .put_cf_opt(params.family(id), &key, value, &params.write)?;
        let bytes = (key.len() + value.len()) as u64;
        thread.add_bytes(bytes);
        thread.finished(1, Op::Write);
    }
    print!("{}", thread.summary().text("timeseries write"));
    Ok(())
}

/// Until the writer is done, reads all entries of random ids, or deletes those that have expired.
fn read_or_delete(params: &Params<'_>, thread: &mut Thread<'_>, deletes: bool) -> Result<()> {
    let mut key = params.keys.allocate();
    let (mut read, mut found, mut bytes) = (0u64, 0u64, 0);
    while thread.shared.finished.load(Ordering::SeqCst) == 0 {
        let id = random_id(params, thread);
        let family = params.family(id);
        params.keys.write(id, &mut key);
        let prefix = &key[..PART];
        read += 1;
        thread.wait_to_read(1);
        let mut entries = params.db.iter_cf_opt(family, &params.read);
        entries.seek(prefix);
        found += u64::from(entries.valid() && entries.key().starts_with(prefix));
        while entries.valid() && entries.key().starts_with(prefix) {
            bytes += entries.key().len();
            if !deletes {
                bytes += entries.value().len();
                black_box(entries.value());
                thread.finished(1, Op::Read);
            } else if expired(&params.time, params.flags.time_range, entries.key()) {
                params.db.delete_cf_opt(family, entries.key(), &params.write)?;
                thread.finished(1, Op::Delete);
            } else {
                break;
            }
            entries.next();
        }
        entries.status()?;
    }
    thread.add_bytes(bytes as u64);
    thread.message = format!("({found} of {read} found)");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_expire_when_they_are_older_than_the_range() {
        let time = Time::new(AtomicU64::new(100));
        let key = |written: u64| [[7; PART], written.to_be_bytes()].concat();
        assert!(!expired(&time, 50, &key(50)));
        assert!(expired(&time, 50, &key(49)));
        assert!(!expired(&time, 50, &key(101)), "of the future");
        assert!(!expired(&time, 50, b"short"));
        let mut filter = ExpiredTimeFilter { time, range: 50 };
        assert_eq!(filter.filter(1, &key(0), ValueType::Value, b""), Decision::Remove);
        assert_eq!(filter.filter(1, &key(99), ValueType::Value, b""), Decision::Keep);
    }
}
