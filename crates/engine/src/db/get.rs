//! Get: memtables, then L0 from the newest file, then one file a level, until something says what the key is.
//!
//! One number travels down with it: the highest sequence number of a range tombstone over the key seen so far. Sources are
//! visited from new to old, so an entry below that number is gone, and the search ends there.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::internal_key::ParsedInternalKey;
use base::{Error, ErrorKind, Kind, Result, SeqNo, sync};
use manifest::FileMetadata;
use memtable::Memtable;
use sst::{BlockReadOptions, LookupKey, Value};

use super::column_family::{ColumnFamily, Family};
use super::{Db, DbInner};
use crate::options::{ReadOptions, ReadTier};
use crate::read::super_version::SuperVersion;
use crate::read::value::{Base, PinnedValue};
use crate::stats::Ticker;

impl Db {
    /// The value of `key` in the default family, or `None`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let family = &self.inner().default_family;
        Ok(self
            .inner()
            .get(&ReadOptions::default(), family, key)?
            .map(PinnedValue::into_vec))
    }

    /// The value of `key`, or `None`.
    pub fn get_opt(
        &self,
        options: &ReadOptions,
        family: &ColumnFamily,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        Ok(self.get_pinned(options, family, key)?.map(PinnedValue::into_vec))
    }

    /// The value of `key` where it lies, without a copy if that is a block of a table; or `None`.
    /// Takes no lock and allocates nothing when the block is in the cache.
    pub fn get_pinned(
        &self,
        options: &ReadOptions,
        family: &ColumnFamily,
        key: &[u8],
    ) -> Result<Option<PinnedValue>> {
        let inner = self.inner();
        inner.check_owns(&family.0)?;
        inner.get(options, &family.0, key)
    }

    /// Whether `key` has a value, as far as memory tells: memtables, filters, and blocks in the cache. Reads nothing from the file
    /// system, and takes no longer than a [`get_pinned`](Db::get_pinned) of a cached row.
    ///
    /// # Errors
    /// Those of `get_pinned` but for `Incomplete`.
    pub fn key_may_exist(
        &self,
        options: &ReadOptions,
        family: &ColumnFamily,
        key: &[u8],
    ) -> Result<KeyMayExist> {
        let options = ReadOptions {
            read_tier: ReadTier::BlockCache,
            ..options.clone()
        };
        match self.get_pinned(&options, family, key) {
            Ok(Some(value)) => Ok(KeyMayExist::Yes(value)),
            Ok(None) => Ok(KeyMayExist::No),
            Err(error) if error.kind() == ErrorKind::Incomplete => Ok(KeyMayExist::Maybe),
            Err(error) => Err(error),
        }
    }

    /// The values of `keys`, in their order, all read from the same state of the database.
    pub fn multi_get<K: AsRef<[u8]>>(
        &self,
        options: &ReadOptions,
        family: &ColumnFamily,
        keys: &[K],
    ) -> Vec<Result<Option<Vec<u8>>>> {
        let inner = self.inner();
        if let Err(error) = inner.check_owns(&family.0) {
            return keys.iter().map(|_| Err(error.clone())).collect();
        }
        let super_version = family.0.super_version_of(options.snapshot.as_ref());
        sync::point("super version");
        let seqno = inner.read_seqno(&super_version, options);
        sync::point("read");
        let read = |key: &K| {
            let value = inner.get_from(&super_version, seqno, options, &family.0, key.as_ref())?;
            Ok(value.map(PinnedValue::into_vec))
        };
        keys.iter().map(read).collect()
    }
}

/// What memory tells of a key: see [`Db::key_may_exist`].
#[derive(Debug)]
pub enum KeyMayExist {
    /// There is no value.
    No,
    /// Only the file system knows.
    Maybe,
    /// This is the value.
    Yes(PinnedValue),
}

/// What a Get has found so far.
pub(crate) struct GetContext<'a> {
    family: &'a Family,
    user_key: &'a [u8],
    /// The highest sequence number of a visible range tombstone over the key in the sources visited.
    covering: SeqNo,
    /// Merge operands, newest first.
    operands: Vec<Vec<u8>>,
    outcome: Option<Result<Option<PinnedValue>>>,
}

/// A value where a Get met it.
enum Found<'a> {
    Memory(memtable::Value<'a>, &'a Arc<Memtable>),
    Table(Value<'a>),
}

impl Found<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Found::Memory(value, _) => value.bytes(),
            Found::Table(value) => value.bytes(),
        }
    }

    fn keep(self) -> PinnedValue {
        match self {
            Found::Memory(value, mem) => PinnedValue::in_memtable(value.pin(mem)),
            Found::Table(value) => PinnedValue::pinned(value.pin()),
        }
    }
}

impl GetContext<'_> {
    /// Takes the next older version of the key. Breaks once the answer is known.
    #[inline]
    fn visit(&mut self, seqno: SeqNo, kind: Kind, value: Found<'_>) -> ControlFlow<()> {
        if seqno < self.covering {
            self.finish(Base::Nothing);
            return ControlFlow::Break(());
        }
        match kind {
            Kind::Value if self.operands.is_empty() => {
                self.outcome = Some(Ok(Some(value.keep())));
                ControlFlow::Break(())
            }
            Kind::Merge => {
                self.operands.push(value.bytes().to_vec());
                ControlFlow::Continue(())
            }
            kind if kind.is_tombstone() => {
                self.finish(Base::Nothing);
                ControlFlow::Break(())
            }
            kind => {
                self.finish(Base::Entry(kind, value.bytes()));
                ControlFlow::Break(())
            }
        }
    }

    /// Nothing older matters: resolves what was found over `base`.
    fn finish(&mut self, base: Base<'_>) {
        let values = &self.family.values;
        let outcome = if self.operands.is_empty() {
            match base {
                Base::Nothing => Ok(None),
                Base::Entry(kind, value) => {
                    let mut plain = Vec::new();
                    values
                        .plain(kind, self.user_key, value, &mut plain)
                        .map(|()| Some(PinnedValue::owned(plain)))
                }
            }
        } else {
            let operands: Vec<&[u8]> = self.operands.iter().rev().map(|operand| &operand[..]).collect();
            values
                .merge_over(base, self.user_key, &operands)
                .and_then(|(kind, bytes)| {
                    let mut plain = Vec::new();
                    values.plain(kind, self.user_key, &bytes, &mut plain)?;
                    Ok(Some(PinnedValue::owned(plain)))
                })
        };
        self.outcome = Some(outcome);
    }

    fn done(&self) -> bool {
        self.outcome.is_some()
    }
}

impl DbInner {
    /// The sequence number a read sees. To be asked after the super version was loaded: then everything up to it that the
    /// super version held when it was loaded is still there.
    #[inline]
    pub(crate) fn read_seqno(&self, super_version: &SuperVersion, options: &ReadOptions) -> SeqNo {
        match &options.snapshot {
            Some(snapshot) => snapshot.sequence_number(),
            None => self.published.load(Ordering::Acquire).min(super_version.visible),
        }
    }

    pub(crate) fn get(
        &self,
        options: &ReadOptions,
        family: &Arc<Family>,
        key: &[u8],
    ) -> Result<Option<PinnedValue>> {
        let super_version = family.super_version_of(options.snapshot.as_ref());
        sync::point("super version");
        let seqno = self.read_seqno(&super_version, options);
        sync::point("read");
        self.get_from(&super_version, seqno, options, family, key)
    }

    fn get_from(
        &self,
        super_version: &Arc<SuperVersion>,
        seqno: SeqNo,
        options: &ReadOptions,
        family: &Arc<Family>,
        key: &[u8],
    ) -> Result<Option<PinnedValue>> {
        self.stats.count(Ticker::KeysRead, 1);
        if family.cmp.user().timestamp_size() > 0 {
            return self.get_at_timestamp(super_version, seqno, options, family, key);
        }
        if options.timestamp.is_some() {
            return Err(Error::invalid_argument(
                "the column family has no timestamps, but the read names one",
            ));
        }
        let mut context = GetContext {
            family,
            user_key: key,
            covering: 0,
            operands: Vec::new(),
            outcome: None,
        };
        search_memtables(super_version, seqno, &mut context)?;
        if context.done() {
            self.stats.count(Ticker::MemtableHit, 1);
        } else {
            self.stats.count(Ticker::MemtableMiss, 1);
            self.search_tables(super_version, seqno, options, &mut context)?;
        }
        let found = match context.outcome.take() {
            Some(outcome) => outcome?,
            None => {
                context.finish(Base::Nothing);
                context.outcome.take().unwrap_or(Ok(None))?
            }
        };
        if let Some(value) = &found {
            self.stats.count(Ticker::BytesRead, value.len() as u64);
        }
        Ok(found)
    }

    fn search_tables(
        &self,
        super_version: &SuperVersion,
        seqno: SeqNo,
        options: &ReadOptions,
        context: &mut GetContext<'_>,
    ) -> Result<()> {
        if options.read_tier == ReadTier::Memtable {
            return Err(Error::new(ErrorKind::Incomplete, "the memtables do not know"));
        }
        let version = &super_version.version;
        let user = context.family.cmp.user();
        let lookup = LookupKey::new(context.user_key, seqno, user);
        let read = BlockReadOptions {
            verify_checksums: options.verify_checksums,
            fill_cache: options.fill_cache,
            cache_only: options.read_tier == ReadTier::BlockCache,
            ..Default::default()
        };
        for file in version.files(0) {
            if file.overlaps(user, Some(context.user_key), Some(context.user_key)) {
                search_table(file, &lookup, &read, context)?;
                if context.done() {
                    self.stats.count(Ticker::GetHitL0, 1);
                    return Ok(());
                }
            }
        }
        for level in 1..version.num_non_empty_levels() {
            let files = version.files(level);
            // Versions of one key may go on in the next file, though files we write never part them.
            for file in &files[version.find_file(level, lookup.internal_key())..] {
                if file.is_after(user, context.user_key) {
                    break;
                }
                search_table(file, &lookup, &read, context)?;
                if context.done() {
                    self.stats.count(
                        if level == 1 {
                            Ticker::GetHitL1
                        } else {
                            Ticker::GetHitL2AndUp
                        },
                        1,
                    );
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// In a family with timestamps the versions of a key are keys of their own, so a Get is a short scan.
    fn get_at_timestamp(
        &self,
        super_version: &Arc<SuperVersion>,
        seqno: SeqNo,
        options: &ReadOptions,
        family: &Arc<Family>,
        key: &[u8],
    ) -> Result<Option<PinnedValue>> {
        let options = ReadOptions {
            iterate_lower_bound: None,
            iterate_upper_bound: None,
            ..options.clone()
        };
        let mut iter = self.iterator_over(super_version.clone(), seqno, family, &options);
        iter.status()?;
        iter.seek(key);
        let user = family.cmp.user();
        let found = iter.valid()
            && user
                .compare_without_timestamp(&user.stamped(iter.key()), &user.stamped(key))
                .is_eq();
        iter.status()?;
        Ok(found.then(|| iter.value_pinned()))
    }
}

fn search_memtables(super_version: &SuperVersion, seqno: SeqNo, context: &mut GetContext<'_>) -> Result<()> {
    for mem in std::iter::once(&super_version.mem).chain(&super_version.immutable) {
        if mem.is_empty() {
            continue;
        }
        let tombstones = mem.range_tombstones();
        if !tombstones.is_empty() {
            context.covering = context
                .covering
                .max(tombstones.covering_seqno(context.user_key, seqno));
        }
        mem.get(context.user_key, seqno, |seqno, kind, value| {
            context.visit(seqno, kind, Found::Memory(value, mem))
        })
        .map_err(|error| context.family.in_memory(error))?;
        if context.done() {
            break;
        }
    }
    Ok(())
}

#[inline]
fn search_table(
    file: &Arc<FileMetadata>,
    lookup: &LookupKey,
    read: &BlockReadOptions,
    context: &mut GetContext<'_>,
) -> Result<()> {
    // Nothing in the file can be newer than its largest sequence number: under a newer tombstone it need not be read.
    if context.covering > file.largest_seqno {
        context.finish(Base::Nothing);
        return Ok(());
    }
    let family = context.family;
    if read.cache_only {
        family.tables.check_in_memory(file)?;
    }
    family.tables.with_table(file, |table| {
        if !table.range_tombstones().is_empty() {
            let tombstones = family.tables.tombstones_within_bounds(file, table);
            let covering = tombstones.covering_seqno(family.cmp.user(), context.user_key, lookup.seqno());
            context.covering = context.covering.max(covering);
        }
        let mut damaged = None;
        table.get(
            lookup,
            read,
            &mut |key, value| match ParsedInternalKey::parse(key) {
                Ok(entry) => context.visit(entry.seqno, entry.kind, Found::Table(value)),
                Err(error) => {
                    damaged = Some(error);
                    ControlFlow::Break(())
                }
            },
        )?;
        damaged.map_or(Ok(()), Err)
    })
}
