//! Conditional writes: they succeed only if some keys were not written since a sequence number. Transactions
//! validate by them.
//!
//! ```text
//! before the queue:   memtables and tables as they are now | nothing newer than asked
//! with the queue:     nothing numbered since: done | tables as they were: memtables again, from that of
//! before on | else: all over again
//! ```
//!
//! No file is read under the write queue's lock. Only memtables that took rows since the first check are
//! searched again. If a flush, a compaction or an ingestion has changed the tables meanwhile, the queue is
//! released and the whole check is repeated.

use std::cell::Cell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use base::internal_key::ParsedInternalKey;
use base::statistics::Ticker;
use base::{Error, MAX_SEQNO, Result, SeqNo};
use sst::{BlockReadOptions, LookupKey};

use super::commit::Commit;
use super::unchanged_range::UnchangedRange;
use crate::batch::write_batch::WriteBatch;
use crate::options::WriteOptions;
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::db_inner::DbInner;
use crate::state::error_state::closing;
use crate::state::handle::Db;
use crate::state::super_version::SuperVersion;
use crate::write::guard::Guard;
use crate::write::guard::Looked;
use crate::write::guard::changed;
use crate::write::guard::newest_in;
use crate::write::unchanged_range::check_no_timestamps;

/// A key that must be unchanged: see [`Db::write_if_unchanged`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{UnchangedKey, WriteBatch, WriteOptions};
///
/// let read_at = db.latest_sequence_number();
/// db.put(b"a", b"by another writer")?;
/// let mut batch = WriteBatch::new();
/// batch.put(b"a", b"2");
/// let unchanged = [UnchangedKey { family: 0, key: b"a", since: read_at }];
/// assert!(db.write_if_unchanged(&mut batch, &unchanged, &[], &WriteOptions::default()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct UnchangedKey<'a> {
    /// The id of the key's column family.
    pub family: u32,
    /// The key, without a timestamp.
    pub key: &'a [u8],
    /// The range must have no row with a higher sequence number, and no range deletion with a higher one may
    /// overlap it.
    pub since: SeqNo,
}

impl Db {
    /// The sequence number of the newest row of `key`, or of the newest range deletion over it, if that is
    /// above `above`: RocksDB's `GetLatestSequenceForKey`. Searches memtables, then tables that have rows
    /// above `above`. Rows of writes in progress may count. A removal by
    /// [`delete_files_in_range`](Db::delete_files_in_range) or
    /// [`atomic_replace_range`](crate::IngestExternalFileArg::atomic_replace_range) counts with the sequence
    /// number that it took, and as newer than every row while it is in progress.
    ///
    /// If the caller holds a snapshot of `above`, the answer is exact. Otherwise compactions may have made
    /// newer rows look old, or dropped them.
    ///
    /// # Errors
    /// `NotSupported` in families with timestamps; the errors of the file system.
    pub fn newest_sequence_number(
        &self,
        family: &ColumnFamily,
        key: &[u8],
        above: SeqNo,
    ) -> Result<Option<SeqNo>> {
        let inner = self.inner();
        inner.check_owns(&family.0)?;
        let super_version = family.0.super_version.load_full();
        if super_version.is_closed() {
            return Err(closing());
        }
        check_no_timestamps(&family.0)?;
        let newest = newest_of(&family.0, &super_version, key, above)?;
        Ok(newest.filter(|&newest| newest > above))
    }

    /// `InvalidArgument` unless the family belongs to this database.
    pub fn check_column_family(&self, family: &ColumnFamily) -> Result<()> {
        self.inner().check_owns(&family.0)
    }

    /// Same as [`write_if_unchanged`](Db::write_if_unchanged), without before images.
    pub(crate) fn write_unless_changed(
        &self,
        options: &WriteOptions,
        batch: &mut WriteBatch,
        keys: &[UnchangedKey<'_>],
        ranges: &[UnchangedRange<'_>],
    ) -> Result<SeqNo> {
        let inner = self.inner();
        inner.stats.count(Ticker::KeysWritten, u64::from(batch.count()));
        loop {
            let guard = inner.look_at(keys, ranges)?;
            if batch.is_empty() {
                // An empty batch is not written. The first check has shown that its keys are unchanged at
                // this moment.
                return Ok(self.latest_sequence_number());
            }
            let written = inner.commit_guarded(options, Commit::Batch(batch), &guard);
            if !guard.is_stale.get() {
                return written;
            }
        }
    }
}

impl DbInner {
    /// The first check of `keys` and `ranges`. `Busy` if one has changed.
    fn look_at<'a>(&self, keys: &[UnchangedKey<'a>], ranges: &[UnchangedRange<'a>]) -> Result<Guard<'a>> {
        // The sequence number is loaded first: super versions that are loaded afterwards have every row up
        // to it.
        let seen = self.published.load(Ordering::Acquire);
        let mut by_family: HashMap<u32, Looked<'a>> = HashMap::new();
        for key in keys {
            let looked = self.looked_of(&mut by_family, key.family)?;
            looked.keys.push((key.key, key.since));
        }
        for range in ranges {
            self.looked_of(&mut by_family, range.family)?.ranges.push(*range);
        }
        let looked: Vec<Looked<'a>> = by_family.into_values().collect();
        for own in &looked {
            if own.super_version.is_closed() {
                return Err(closing());
            }
            for &(key, since) in &own.keys {
                if newest_of(&own.family, &own.super_version, key, since)?
                    .is_some_and(|newest| newest > since)
                {
                    return Err(changed());
                }
            }
            for range in &own.ranges {
                if range.is_written(&own.family, &own.super_version)? {
                    return Err(changed());
                }
            }
        }
        Ok(Guard {
            looked,
            seen,
            is_stale: Cell::new(false),
        })
    }

    fn looked_of<'a, 'b>(
        &self,
        by_family: &'b mut HashMap<u32, Looked<'a>>,
        id: u32,
    ) -> Result<&'b mut Looked<'a>> {
        match by_family.entry(id) {
            Entry::Occupied(looked) => Ok(looked.into_mut()),
            Entry::Vacant(place) => {
                let family = self
                    .family_by_id(id)
                    .ok_or_else(|| Error::invalid_argument(format!("Could not access column family {id}")))?;
                check_no_timestamps(&family)?;
                Ok(place.insert(Looked {
                    super_version: family.super_version.load_full(),
                    family,
                    keys: Vec::new(),
                    ranges: Vec::new(),
                }))
            }
        }
    }
}

/// The newest sequence number of `key` in memory, or else in tables that have rows above `above`.
fn newest_of(
    family: &Family,
    super_version: &SuperVersion,
    key: &[u8],
    above: SeqNo,
) -> Result<Option<SeqNo>> {
    let removed = family.removals.newest_of(family.cmp.user(), key);
    if removed > above {
        return Ok(Some(removed));
    }
    for table in std::iter::once(&super_version.mem).chain(&super_version.immutable) {
        let newest = newest_in(family, table, key)?;
        if newest.is_some() {
            return Ok(newest);
        }
    }
    newest_in_tables(family, super_version, key, above)
}

fn newest_in_tables(
    family: &Family,
    super_version: &SuperVersion,
    key: &[u8],
    above: SeqNo,
) -> Result<Option<SeqNo>> {
    let user = family.cmp.user();
    let lookup = LookupKey::new(key, MAX_SEQNO, user);
    let read = BlockReadOptions::default();
    let mut newest = 0;
    for (_, files) in super_version.version.runs_of(lookup.internal_key()) {
        for file in files {
            if file.is_after(user, key) {
                break;
            }
            if file.largest_seqno <= above.max(newest) {
                continue;
            }
            family.tables.with_table(file, |table| {
                if !table.range_tombstones().is_empty() {
                    let tombstones = family.tables.tombstones_within_bounds(file, table);
                    newest = newest.max(tombstones.covering_seqno(user, key, MAX_SEQNO));
                }
                let mut damaged = None;
                table.get(&lookup, &read, &mut |key, _| {
                    match ParsedInternalKey::parse(key) {
                        Ok(entry) => newest = newest.max(entry.seqno),
                        Err(error) => damaged = Some(error),
                    }
                    ControlFlow::Break(())
                })?;
                damaged.map_or(Ok(()), Err)
            })?;
        }
        // The key's versions in older sorted runs are older.
        if newest > above {
            break;
        }
    }
    Ok((newest > 0).then_some(newest))
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;
    use std::sync::Arc;

    use base::ErrorKind;
    use vfs::MemFs;

    use super::*;
    use crate::options::Options;

    /// The test writes between the two checks, in place of another thread.
    #[test]
    fn a_write_between_the_two_checks_is_noticed_under_the_lock() {
        let options = Options {
            create_if_missing: true,
            fs: Arc::new(MemFs::new()),
            ..Options::default()
        };
        let db = Db::open(&options, "/db").unwrap();
        let outcome = |keys: &[&[u8]], ranges: &[(&[u8], &[u8])], between: &dyn Fn()| {
            let since = db.latest_sequence_number();
            let key = |key| UnchangedKey {
                family: 0,
                key,
                since,
            };
            let keys: Vec<_> = keys.iter().copied().map(key).collect();
            let range = |&(begin, end)| UnchangedRange {
                family: 0,
                begin: Some(begin),
                end: Bound::Excluded(end),
                since,
            };
            let ranges: Vec<_> = ranges.iter().map(range).collect();
            let guard = db.inner().look_at(&keys, &ranges).unwrap();
            between();
            let mut batch = WriteBatch::new();
            batch.put(b"z", b"guarded");
            let commit = Commit::Batch(&mut batch);
            let written = db
                .inner()
                .commit_guarded(&WriteOptions::default(), commit, &guard);
            let error = written.err().map(|error| error.kind());
            (error, guard.is_stale.get())
        };
        let put = |key: &'static [u8]| move |db: &Db| db.put(key, b"between").unwrap();
        let noticed = (Some(ErrorKind::Busy), false);
        let range: (&[u8], &[u8]) = (b"b", b"d");
        assert_eq!(outcome(&[b"b"], &[range], &|| ()), (None, false));
        assert_eq!(outcome(&[b"b"], &[], &|| put(b"b")(&db)), noticed);
        assert_eq!(outcome(&[b"b"], &[], &|| put(b"c")(&db)), (None, false));
        assert_eq!(outcome(&[], &[range], &|| put(b"c")(&db)), noticed);
        assert_eq!(outcome(&[], &[range], &|| put(b"d")(&db)), (None, false));
        let covers = || db.delete_range(b"a", b"c").unwrap();
        assert_eq!(outcome(&[b"b"], &[], &covers), noticed);
        assert_eq!(outcome(&[], &[range], &covers), noticed);
        let flushes = || db.flush().unwrap();
        assert_eq!(
            outcome(&[b"b"], &[], &|| {
                put(b"e")(&db);
                flushes();
            }),
            (Some(ErrorKind::TryAgain), true)
        );
    }
}
