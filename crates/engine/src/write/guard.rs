//! The last check of a conditional write.

use crate::state::column_family::Family;
use crate::state::error_state::closing;
use crate::state::super_version::SuperVersion;
use crate::state::writer::Writer;
use crate::write::unchanged_range::UnchangedRange;
use base::Error;
use base::ErrorKind;
use base::MAX_SEQNO;
use base::Result;
use base::SeqNo;
use memtable::Memtable;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The keys and ranges of one family that must be unchanged, and the super version in which they were checked
/// first.
pub(crate) struct Looked<'a> {
    pub family: Arc<Family>,
    pub super_version: Arc<SuperVersion>,
    pub keys: Vec<(&'a [u8], SeqNo)>,
    pub ranges: Vec<UnchangedRange<'a>>,
}

/// Keys that were found unchanged by the first check.
pub(crate) struct Guard<'a> {
    pub looked: Vec<Looked<'a>>,
    /// The sequence number up to which the first check covers every row.
    pub seen: SeqNo,
    /// True if the tables have changed since the first check searched them.
    pub is_stale: Cell<bool>,
}

impl Guard<'_> {
    /// Makes the second check, under the write queue's lock, when every numbered row is in its memtable. An
    /// error if a key has changed, or if the tables have changed: then the guard [is stale](Self::is_stale).
    pub fn confirm(&self, writer: &Writer) -> Result<()> {
        self.looked.iter().try_for_each(Looked::confirm_removals)?;
        if writer.last_seqno == self.seen {
            return Ok(());
        }
        self.looked.iter().try_for_each(|own| self.confirm_family(own))
    }

    fn confirm_family(&self, own: &Looked<'_>) -> Result<()> {
        let now = own.family.super_version.load();
        if now.is_closed() {
            return Err(closing());
        }
        let before = &own.super_version;
        // The memtables with rows that were written after the first check of the keys, newest first. The last
        // is the memtable that was mutable during that check.
        let mut newer = vec![&now.mem];
        if !Arc::ptr_eq(&now.mem, &before.mem) {
            let at = now
                .immutable
                .iter()
                .position(|table| Arc::ptr_eq(table, &before.mem));
            match at {
                Some(at) => newer.extend(&now.immutable[..=at]),
                None => return Err(self.stale()),
            }
        }
        if !Arc::ptr_eq(&now.version, &before.version) {
            return Err(self.stale());
        }
        for &(key, since) in &own.keys {
            for table in &newer {
                if newest_in(&own.family, table, key)?.is_some_and(|newest| newest > since) {
                    return Err(changed());
                }
            }
        }
        for range in &own.ranges {
            for table in &newer {
                if range.is_written_in(&own.family, table)? {
                    return Err(changed());
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn stale(&self) -> Error {
        self.is_stale.set(true);
        Error::new(ErrorKind::TryAgain, "the tables have changed")
    }
}

impl Looked<'_> {
    /// An error if rows of a key or a range were removed without a tombstone.
    pub fn confirm_removals(&self) -> Result<()> {
        let (user, removals) = (self.family.cmp.user(), &self.family.removals);
        let is_key_gone = |&(key, since): &(&[u8], SeqNo)| removals.newest_of(user, key) > since;
        let is_range_gone =
            |range: &UnchangedRange<'_>| removals.newest_in(user, range.begin, range.end) > range.since;
        if !removals.is_empty()
            && (self.keys.iter().any(is_key_gone) || self.ranges.iter().any(is_range_gone))
        {
            return Err(changed());
        }
        Ok(())
    }
}

pub(crate) fn changed() -> Error {
    Error::new(ErrorKind::Busy, "")
}

/// The newest sequence number of `key` in a memtable.
pub(crate) fn newest_in(family: &Family, table: &Memtable, key: &[u8]) -> Result<Option<SeqNo>> {
    if table.is_empty() {
        return Ok(None);
    }
    let tombstones = table.range_tombstones();
    let mut newest = match tombstones.is_empty() {
        true => 0,
        false => tombstones.covering_seqno(key, MAX_SEQNO),
    };
    if table.may_contain(key) != Some(false) {
        let first = |seqno, _, _: memtable::Value<'_>| {
            newest = newest.max(seqno);
            ControlFlow::Break(())
        };
        table
            .get(key, MAX_SEQNO, first)
            .map_err(|error| family.in_memory(error))?;
    }
    Ok((newest > 0).then_some(newest))
}
