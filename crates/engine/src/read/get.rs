//! Get: searches memtables, then L0 from the newest file, then one file per level, until an entry determines
//! the value.
//!
//! The search carries one number: the highest sequence number of a range tombstone over the key found so far.
//! Sources are searched from new to old, so an entry below that number is deleted, and the search ends there.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::internal_key::ParsedInternalKey;
use base::statistics::Ticker;
use base::{Error, ErrorKind, Kind, Result, SeqNo, perf, sync};
use manifest::FileMetadata;
use memtable::Memtable;
use sst::{
    BlockReadOptions, HeldBlocks, HeldLookups, IndexSeek, Located, LookupKey, PinnedBytes, Table,
    TableReaderCaller, Value,
};

use vfs::ReadTimeout;

use crate::files::blob_cache::BlobRead;
use crate::files::charged_reads::{ChargedReads, charge_of};
use crate::files::pinned_value::PinnedValue;
use crate::files::row_cache::RowCache;
use crate::files::table_cache::TableCache;
use crate::files::table_place::OpenTable;
use crate::options::ReadTier;
use crate::read::db_iterator::DbIterator;
use crate::read::deadline::check_deadline;
use crate::state::batch_view::BatchView;
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::db_inner::DbInner;
use crate::state::error_state::closing;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;
use crate::state::super_version::SuperVersion;
use crate::state::value::Base;
use crate::stats::Stats;

impl Db {
    /// The value of `key` in the default family, or `None`.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        Ok(self.get_pinned(key)?.map(PinnedValue::into_vec))
    }

    /// The value of `key` in `family`, or `None`.
    pub fn get_cf(&self, family: &ColumnFamily, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.get_cf_opt(family, key, &ReadOptions::default())
    }

    /// The value of `key` in `family`, read as `options` say, or `None`.
    pub fn get_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &ReadOptions,
    ) -> Result<Option<Vec<u8>>> {
        Ok(self
            .get_pinned_cf_opt(family, key, options)?
            .map(PinnedValue::into_vec))
    }

    /// The value of `key` in the default family, or `None`. A value in a block of a table is not copied.
    /// Takes no lock and allocates nothing if the block is in the cache.
    pub fn get_pinned(&self, key: impl AsRef<[u8]>) -> Result<Option<PinnedValue>> {
        let inner = self.inner();
        inner.get(&ReadOptions::default(), &inner.default_family, key.as_ref())
    }

    /// The value of `key` in `family`, or `None`; see [`get_pinned`](Db::get_pinned).
    pub fn get_pinned_cf(&self, family: &ColumnFamily, key: impl AsRef<[u8]>) -> Result<Option<PinnedValue>> {
        self.get_pinned_cf_opt(family, key, &ReadOptions::default())
    }

    /// The value of `key` in `family`, read as `options` say, or `None`; see
    /// [`get_pinned`](Db::get_pinned).
    pub fn get_pinned_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &ReadOptions,
    ) -> Result<Option<PinnedValue>> {
        let inner = self.inner();
        inner.check_owns(&family.0)?;
        inner.get(options, &family.0, key.as_ref())
    }

    /// Checks whether `key` of the default family has a value; see
    /// [`key_may_exist_cf_opt`](Db::key_may_exist_cf_opt).
    ///
    /// # Errors
    /// The errors of `get_pinned` except `Incomplete`.
    pub fn key_may_exist(&self, key: impl AsRef<[u8]>) -> Result<KeyMayExist> {
        self.key_may_exist_cf(&self.default_column_family(), key)
    }

    /// Checks whether `key` of `family` has a value; see
    /// [`key_may_exist_cf_opt`](Db::key_may_exist_cf_opt).
    ///
    /// # Errors
    /// The errors of `get_pinned` except `Incomplete`.
    pub fn key_may_exist_cf(&self, family: &ColumnFamily, key: impl AsRef<[u8]>) -> Result<KeyMayExist> {
        self.key_may_exist_cf_opt(family, key, &ReadOptions::default())
    }

    /// Checks whether `key` of `family` has a value, as far as memory shows: memtables, filters, and blocks
    /// in the cache. Reads nothing from the file system, and takes no longer than a
    /// [`get_pinned`](Db::get_pinned) of a cached row.
    ///
    /// # Errors
    /// The errors of `get_pinned` except `Incomplete`.
    pub fn key_may_exist_cf_opt(
        &self,
        family: &ColumnFamily,
        key: impl AsRef<[u8]>,
        options: &ReadOptions,
    ) -> Result<KeyMayExist> {
        let options = ReadOptions {
            read_tier: ReadTier::BlockCache,
            ..options.clone()
        };
        match self.get_pinned_cf_opt(family, key, &options) {
            Ok(Some(value)) => Ok(KeyMayExist::Yes(value)),
            Ok(None) => Ok(KeyMayExist::No),
            Err(error) if error.kind() == ErrorKind::Incomplete => Ok(KeyMayExist::Maybe),
            Err(error) => Err(error),
        }
    }
}

/// The result of [`Db::key_may_exist`]: the state of a key as far as memory shows it.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::KeyMayExist;
///
/// db.put(b"key", b"value")?;
/// match db.key_may_exist(b"key")? {
///     KeyMayExist::No => println!("absent"),
///     KeyMayExist::Maybe => println!("only the disk knows"),
///     KeyMayExist::Yes(value) => assert_eq!(value, b"value"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum KeyMayExist {
    /// The key has no value.
    No,
    /// The key may have a value: only a read of a file would decide.
    Maybe,
    /// The key has this value.
    Yes(PinnedValue),
}

/// The kinds of answers that a search for a key can return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The value; for an entity, the value of the column without a name.
    Value,
    /// The value. A value in a blob file is not read: the caller gets the blob's index.
    DeferredBlob,
    /// The value, or the undecoded bytes of an entity: [`PinnedValue::entity`].
    Columns,
    /// The value and its unmerged operands.
    Operands,
}

/// The state of a Get.
pub(crate) struct GetContext<'a> {
    family: &'a Family,
    user_key: &'a [u8],
    /// The highest sequence number of a visible range tombstone over the key in the sources searched so far.
    covering: SeqNo,
    /// The merge operands, newest first; or the index of a deferred blob.
    operands: Vec<Vec<u8>>,
    /// The options by which blobs are read.
    blobs: BlobRead,
    answer: Answer,
    ignores_tombstones: bool,
    /// True if the answer is a blob that the caller must read.
    has_deferred: bool,
    outcome: Option<Result<Option<PinnedValue>>>,
}

/// A value that a Get found, pinned in its block or memtable.
enum Found<'a> {
    Memory(memtable::Value<'a>, &'a Arc<Memtable>),
    Table(Value<'a>),
    /// A value of a row in the row cache.
    Row(&'a [u8]),
}

impl Found<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Found::Memory(value, _) => value.bytes(),
            Found::Table(value) => value.bytes(),
            Found::Row(value) => value,
        }
    }
}

impl<'a> GetContext<'a> {
    /// The state of a Get before its search.
    #[inline]
    pub fn new(family: &'a Family, user_key: &'a [u8], blobs: BlobRead) -> GetContext<'a> {
        GetContext {
            family,
            user_key,
            covering: 0,
            operands: Vec::new(),
            blobs,
            answer: Answer::Value,
            ignores_tombstones: false,
            has_deferred: false,
            outcome: None,
        }
    }

    /// Applies [`ReadOptions::ignore_range_deletions`].
    #[inline]
    pub fn reading(mut self, options: &ReadOptions) -> GetContext<'a> {
        self.ignores_tombstones = options.ignore_range_deletions;
        self
    }

    /// Sets the kind of answer.
    pub fn answering(mut self, answer: Answer) -> GetContext<'a> {
        self.answer = answer;
        self
    }

    /// After the search for [`Answer::Operands`]: the value and operands found, oldest first.
    pub fn into_operands(mut self) -> Result<Vec<Vec<u8>>> {
        if !self.done() {
            self.finish(Base::Nothing);
        }
        if let Some(value) = self.outcome.unwrap_or(Ok(None))? {
            return Ok(vec![value.into_vec()]);
        }
        self.operands.reverse();
        Ok(self.operands)
    }

    /// The answer after the search.
    #[inline]
    pub fn into_answer(mut self) -> Result<Option<PinnedValue>> {
        if !self.done() {
            self.finish(Base::Nothing);
        }
        self.outcome.unwrap_or(Ok(None))
    }

    /// The index of the blob, if the answer is a blob that has not been read.
    pub fn deferred_blob(&mut self) -> Option<Vec<u8>> {
        std::mem::take(&mut self.has_deferred)
            .then(|| self.operands.pop())
            .flatten()
    }

    /// Processes the next older version of the key. Breaks once the answer is known.
    #[inline]
    fn visit(&mut self, seqno: SeqNo, kind: Kind, value: Found<'_>) -> ControlFlow<()> {
        if seqno < self.covering {
            self.finish(Base::Nothing);
            return ControlFlow::Break(());
        }
        match kind {
            Kind::Value if self.operands.is_empty() => {
                match value {
                    Found::Memory(value, mem) => {
                        self.outcome = Some(Ok(Some(PinnedValue::in_memtable(value.pin(mem)))));
                    }
                    Found::Table(value) => value.keep(),
                    Found::Row(value) => {
                        self.outcome = Some(Ok(Some(PinnedValue::owned(value.to_vec()))));
                    }
                }
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

    /// Ends the search: merges the operands found so far over `base`.
    fn finish(&mut self, base: Base<'_>) {
        let values = &self.family.values;
        let outcome = if self.answer == Answer::Operands {
            self.take_base_operand(base).map(|()| None)
        } else if self.operands.is_empty() {
            match base {
                Base::Nothing => Ok(None),
                Base::Entry(Kind::WideColumnEntity, entity) if self.answer == Answer::Columns => {
                    Ok(Some(PinnedValue::of_entity(entity.to_vec())))
                }
                Base::Entry(Kind::BlobIndex, index) if self.answer == Answer::DeferredBlob => {
                    self.operands.push(index.to_vec());
                    self.has_deferred = true;
                    Ok(None)
                }
                Base::Entry(Kind::BlobIndex, index) => {
                    values.blob(self.user_key, index, self.blobs).map(Some)
                }
                Base::Entry(kind, value) => {
                    let mut plain = Vec::new();
                    values
                        .plain(kind, self.user_key, value, self.blobs, &mut plain)
                        .map(|()| Some(PinnedValue::owned(plain)))
                }
            }
        } else {
            let operands: Vec<&[u8]> = self.operands.iter().rev().map(|operand| &operand[..]).collect();
            values
                .merge_over(base, self.user_key, &operands, self.blobs)
                .and_then(|(kind, bytes)| {
                    if kind == Kind::WideColumnEntity && self.answer == Answer::Columns {
                        return Ok(Some(PinnedValue::of_entity(bytes)));
                    }
                    let mut plain = Vec::new();
                    values.plain(kind, self.user_key, &bytes, self.blobs, &mut plain)?;
                    Ok(Some(PinnedValue::owned(plain)))
                })
        };
        self.outcome = Some(outcome);
    }

    /// The entry below the merge operands counts as the oldest operand.
    fn take_base_operand(&mut self, base: Base<'_>) -> Result<()> {
        if let Base::Entry(kind, value) = base {
            let mut plain = Vec::new();
            let values = &self.family.values;
            values.plain(kind, self.user_key, value, self.blobs, &mut plain)?;
            self.operands.push(plain);
        }
        Ok(())
    }

    /// Keeps the value that the search of a table has pinned.
    #[inline]
    fn take(&mut self, kept: Option<PinnedBytes>) {
        if let Some(value) = kept {
            self.outcome = Some(Ok(Some(PinnedValue::pinned(value))));
        }
    }

    /// True once older entries are irrelevant.
    #[inline]
    pub fn done(&self) -> bool {
        self.outcome.is_some()
    }

    /// Processes the entries of a table; an error for an invalid key is stored in `damaged`.
    #[inline(always)]
    fn visitor<'c>(
        &'c mut self,
        damaged: &'c mut Option<Error>,
    ) -> impl FnMut(&[u8], Value<'_>) -> ControlFlow<()> + use<'a, 'c> {
        |key, value| match ParsedInternalKey::parse(key) {
            Ok(entry) => self.visit(entry.seqno, entry.kind, Found::Table(value)),
            Err(error) => {
                *damaged = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

impl DbInner {
    /// The sequence number that a read sees. Must be called after the super version was loaded: then every
    /// row up to it that the super version held when it was loaded still exists.
    #[inline]
    pub(crate) fn read_seqno(&self, super_version: &SuperVersion, options: &ReadOptions) -> SeqNo {
        match &options.snapshot {
            Some(snapshot) => snapshot.sequence_number(),
            None => self.published.load(Ordering::Acquire).min(super_version.visible),
        }
    }

    /// Charges the reads of this thread to the rate limiter, and gives them a timeout, while the guards
    /// exist, if `options` request it.
    #[inline]
    pub(crate) fn charged_reads(&self, options: &ReadOptions) -> (Option<ChargedReads>, Option<ReadTimeout>) {
        let charge = charge_of(&self.options.rate_limiter, options.rate_limiter_priority);
        let timeout = options.io_timeout.map(ReadTimeout::begin);
        (charge.map(ChargedReads::begin), timeout)
    }

    pub(crate) fn get(
        &self,
        options: &ReadOptions,
        family: &Arc<Family>,
        key: &[u8],
    ) -> Result<Option<PinnedValue>> {
        let _charged = self.charged_reads(options);
        let super_version = family.super_version_of(options.snapshot.as_ref());
        sync::point("super version");
        if super_version.is_closed() {
            return Err(closing());
        }
        let seqno = self.read_seqno(&super_version, options);
        sync::point("read");
        if self.traces.query.is_on() {
            self.trace_get(options, family, key, seqno);
        }
        match self.stats.shared().is_some() || perf::counts() {
            false => self.get_from::<false>(&super_version, seqno, options, family, key),
            true => self.observe_get(|| self.get_from::<true>(&super_version, seqno, options, family, key)),
        }
    }

    /// Same as `get`, with the unwritten rows of a batch searched first.
    pub(crate) fn get_over(
        &self,
        unwritten: &BatchView,
        options: &ReadOptions,
        family: &Arc<Family>,
        key: &[u8],
        answer: Answer,
    ) -> Result<Option<PinnedValue>> {
        let _charged = self.charged_reads(options);
        let (super_version, seqno) = family.view(options.snapshot.as_ref());
        if super_version.is_closed() {
            return Err(closing());
        }
        if self.traces.query.is_on() {
            self.begin_traced_get(options, key, seqno);
        }
        if family.cmp.user().timestamp_size() > 0 {
            return self.get_at_timestamp(&super_version, seqno, Some(unwritten), options, family, key);
        }
        let mut context = GetContext::new(family, key, BlobRead::from(options))
            .reading(options)
            .answering(answer);
        search_memtable(&unwritten.table, unwritten.limit, &self.stats, &mut context)?;
        if !context.done() {
            self.search(&super_version, seqno, options, &mut context)?;
        }
        self.conclude(context)
    }

    /// Searches memory and then the tables.
    pub(crate) fn search(
        &self,
        super_version: &SuperVersion,
        seqno: SeqNo,
        options: &ReadOptions,
        context: &mut GetContext<'_>,
    ) -> Result<()> {
        self.search_memory(super_version, seqno, context)?;
        if context.done() {
            return Ok(());
        }
        let lookup = LookupKey::new(context.user_key, seqno, context.family.cmp.user());
        self.search_tables(super_version, &lookup, None, options, context)
    }

    /// The body of a Get. With `OBSERVED`, times are measured if the thread's perf level asks for it.
    pub(crate) fn get_from<const OBSERVED: bool>(
        &self,
        super_version: &Arc<SuperVersion>,
        seqno: SeqNo,
        options: &ReadOptions,
        family: &Arc<Family>,
        key: &[u8],
    ) -> Result<Option<PinnedValue>> {
        if family.cmp.user().timestamp_size() > 0 {
            return self.get_at_timestamp(super_version, seqno, None, options, family, key);
        }
        if options.timestamp.is_some() {
            return Err(Error::invalid_argument(
                "the column family has no timestamps, but the read names one",
            ));
        }
        let mut context = GetContext::new(family, key, BlobRead::from(options)).reading(options);
        let lookup = LookupKey::new(key, seqno, family.cmp.user());
        let index_seek = match super_version.has_rows_in_memory() {
            true => begin_only_run(super_version, &family.tables, &lookup),
            false => None,
        };
        let timer = OBSERVED.then(|| perf::time(|cells| &cells.get_from_memtable_time));
        self.search_memory(super_version, seqno, &mut context)?;
        drop(timer);
        if !context.done() {
            let _timer = OBSERVED.then(|| perf::time(|cells| &cells.get_from_output_files_time));
            self.search_tables(super_version, &lookup, index_seek, options, &mut context)?;
        }
        if OBSERVED {
            self.observe_operands(context.operands.len());
        }
        self.conclude(context)
    }

    /// Searches the memtables.
    #[inline]
    pub(crate) fn search_memory(
        &self,
        super_version: &SuperVersion,
        seqno: SeqNo,
        context: &mut GetContext<'_>,
    ) -> Result<()> {
        search_memtables(super_version, seqno, &self.stats, context)?;
        let ticker = match context.done() {
            true => Ticker::MemtableHit,
            false => Ticker::MemtableMiss,
        };
        self.stats.count(ticker, 1);
        Ok(())
    }

    /// Returns the answer after the search.
    #[inline]
    pub(crate) fn conclude(&self, context: GetContext<'_>) -> Result<Option<PinnedValue>> {
        context.into_answer()
    }

    /// Counts a key found in a table of `level`.
    #[inline]
    pub(crate) fn count_hit(&self, level: usize) {
        let ticker = match level {
            0 => Ticker::GetHitL0,
            1 => Ticker::GetHitL1,
            _ => Ticker::GetHitL2AndUp,
        };
        self.stats.count(ticker, 1);
    }

    fn search_tables(
        &self,
        super_version: &SuperVersion,
        lookup: &LookupKey,
        index_seek: Option<(SortedRun<'_>, IndexSeek)>,
        options: &ReadOptions,
        context: &mut GetContext<'_>,
    ) -> Result<()> {
        self.may_search_tables(options)?;
        let version = &super_version.version;
        let read = block_read_options(options);
        let tables = &context.family.tables;
        if let Some((run, index_seek)) = index_seek {
            return self.search_run(run, lookup, index_seek, &read, context);
        }
        // A single sorted run skips the preparations for several runs: with them a Get of an absent key took
        // a quarter longer.
        if let Some(level) = version.only_level() {
            return match version.run_of(level, lookup.internal_key()) {
                Some(files) => {
                    let index_seek = begin_last_run(tables, files, lookup, false);
                    self.search_run((level, files), lookup, index_seek, &read, context)
                }
                None => Ok(()),
            };
        }
        let mut runs = version.runs_of(lookup.internal_key());
        loop {
            let mut ahead = [NO_RUN; RUNS_AHEAD];
            let taken = ahead
                .iter_mut()
                .zip(&mut runs)
                .map(|(place, run)| *place = run)
                .count();
            let Some(((_, oldest), newer)) = ahead[..taken].split_last() else {
                return Ok(());
            };
            for (_, files) in newer {
                if let Some(table) = first_open(tables, files) {
                    table.prefetch_filter(lookup);
                }
            }
            let index_seek = begin_last_run(tables, oldest, lookup, true);
            for (i, run) in ahead[..taken].iter().enumerate() {
                let index_seek = match i + 1 == taken {
                    true => index_seek,
                    false => IndexSeek::default(),
                };
                self.search_run(*run, lookup, index_seek, &read, context)?;
                if context.done() {
                    return Ok(());
                }
                self.check_deadline(options)?;
            }
        }
    }

    #[inline(always)]
    fn search_run(
        &self,
        (level, files): SortedRun<'_>,
        lookup: &LookupKey,
        mut index_seek: IndexSeek,
        read: &BlockReadOptions,
        context: &mut GetContext<'_>,
    ) -> Result<()> {
        // Versions of one key may continue in the next file, though files that we write never separate them.
        for (i, file) in files.iter().enumerate() {
            if i > 0 && file.is_after(context.family.cmp.user(), context.user_key) {
                break;
            }
            search_table(file, lookup, std::mem::take(&mut index_seek), read, context)?;
            if context.done() {
                self.count_hit(level);
                break;
            }
        }
        Ok(())
    }

    /// In a family with timestamps the versions of a key are separate keys, so a Get is a short scan.
    fn get_at_timestamp(
        &self,
        super_version: &Arc<SuperVersion>,
        seqno: SeqNo,
        unwritten: Option<&BatchView>,
        options: &ReadOptions,
        family: &Arc<Family>,
        key: &[u8],
    ) -> Result<Option<PinnedValue>> {
        let found = self.iterator_at(super_version, seqno, unwritten, options, family, key)?;
        Ok(found.map(|iter| iter.value_pinned()))
    }

    /// An iterator at `key`, if the key exists as of the timestamp of `options`.
    pub(crate) fn iterator_at(
        &self,
        super_version: &Arc<SuperVersion>,
        seqno: SeqNo,
        unwritten: Option<&BatchView>,
        options: &ReadOptions,
        family: &Arc<Family>,
        key: &[u8],
    ) -> Result<Option<DbIterator>> {
        let options = ReadOptions {
            iterate_lower_bound: None,
            iterate_upper_bound: None,
            iter_start_ts: None,
            // These options are for callers that move the iterator.
            allow_unprepared_value: false,
            max_skippable_internal_keys: 0,
            ..options.clone()
        };
        let mut iter = self.iterator_over(super_version.clone(), seqno, unwritten.cloned(), family, &options);
        iter.status()?;
        iter.seek(key);
        let user = family.cmp.user();
        let found = iter.valid()
            && user
                .compare_without_timestamp(&user.stamped(iter.key()), &user.stamped(key))
                .is_eq();
        iter.status()?;
        Ok(found.then_some(iter))
    }
}

#[inline]
fn count_memtable_filter(stats: &Stats, may_contain: bool) {
    match may_contain {
        true => {
            stats.count(Ticker::MemtableFilterHit, 1);
            perf::count(|cells| &cells.bloom_memtable_hit_count, 1);
        }
        false => {
            stats.count(Ticker::MemtableFilterMiss, 1);
            perf::count(|cells| &cells.bloom_memtable_miss_count, 1);
        }
    }
}

fn search_memtables(
    super_version: &SuperVersion,
    seqno: SeqNo,
    stats: &Stats,
    context: &mut GetContext<'_>,
) -> Result<()> {
    for mem in std::iter::once(&super_version.mem).chain(&super_version.immutable) {
        search_memtable(mem, seqno, stats, context)?;
        // A tombstone that covers the key is newer than every row of the older memtables.
        if context.done() || context.covering > 0 {
            break;
        }
    }
    Ok(())
}

#[inline]
fn search_memtable(
    mem: &Arc<Memtable>,
    seqno: SeqNo,
    stats: &Stats,
    context: &mut GetContext<'_>,
) -> Result<()> {
    if mem.is_empty() {
        return Ok(());
    }
    let tombstones = mem.range_tombstones();
    if !tombstones.is_empty() && !context.ignores_tombstones {
        context.covering = context
            .covering
            .max(tombstones.covering_seqno(context.user_key, seqno));
    }
    if let Some(may_contain) = mem.may_contain(context.user_key) {
        count_memtable_filter(stats, may_contain);
        if !may_contain {
            return Ok(());
        }
    }
    mem.get(context.user_key, seqno, |seqno, kind, value| {
        context.visit(seqno, kind, Found::Memory(value, mem))
    })
    .map_err(|error| context.family.in_memory(error))
}

/// The number of sorted runs whose filters are prefetched together, so that their cache misses overlap.
pub(crate) const RUNS_AHEAD: usize = 8;
/// A sorted run: its level, and its files from the first that may hold the key.
pub(crate) type SortedRun<'a> = (usize, &'a [Arc<FileMetadata>]);
pub(crate) const NO_RUN: SortedRun<'static> = (0, &[]);

/// The table of the first file, if it is open.
#[inline(always)]
pub(crate) fn first_open<'a>(tables: &TableCache, files: &'a [Arc<FileMetadata>]) -> Option<OpenTable<'a>> {
    files.first().and_then(|file| tables.open_already(file))
}

/// Called before memtables with rows are searched, if the tables are one sorted run: prefetches the memory
/// that its search reads first, so that the cache misses overlap. Most rows are in tables. (For several runs
/// this takes as long as it saves, and so does keeping them for the search.)
#[inline]
fn begin_only_run<'a>(
    super_version: &'a SuperVersion,
    tables: &TableCache,
    lookup: &LookupKey,
) -> Option<(SortedRun<'a>, IndexSeek)> {
    let version = &super_version.version;
    let level = version.only_level()?;
    let files = version.run_of(level, lookup.internal_key())?;
    let table = first_open(tables, files)?;
    table.prefetch_filter(lookup);
    Some(((level, files), table.begin_index_seek(lookup)))
}

/// Called before the last of several runs is searched, where a key is most likely: prefetches its filter and
/// index. A run that is searched alone, without `others` before it, is prefetched only if its blocks are read
/// without the block cache, because those reads evict filter and index from the CPU's cache.
#[inline(always)]
fn begin_last_run(
    tables: &TableCache,
    files: &[Arc<FileMetadata>],
    lookup: &LookupKey,
    others: bool,
) -> IndexSeek {
    match first_open(tables, files) {
        Some(table) if others || table.reads_past_cache() => table.begin_get(lookup),
        _ => IndexSeek::default(),
    }
}

impl DbInner {
    /// `Incomplete` if the read may search only memtables; `TimedOut` if its deadline has passed.
    #[inline]
    pub(crate) fn may_search_tables(&self, options: &ReadOptions) -> Result<()> {
        match options.read_tier {
            ReadTier::Memtable => Err(Error::new(ErrorKind::Incomplete, "the memtables do not know")),
            _ => self.check_deadline(options),
        }
    }

    /// `TimedOut` if the deadline of the read has passed.
    #[inline]
    pub(crate) fn check_deadline(&self, options: &ReadOptions) -> Result<()> {
        match options.deadline {
            None => Ok(()),
            Some(deadline) => check_deadline(&*self.options.clock, deadline),
        }
    }
}

/// The options with which a Get reads blocks.
#[inline]
pub(crate) fn block_read_options(options: &ReadOptions) -> BlockReadOptions {
    BlockReadOptions {
        verify_checksums: options.verify_checksums,
        fill_cache: options.fill_cache,
        cache_only: options.read_tier == ReadTier::BlockCache,
        async_io: options.async_io,
        caller: TableReaderCaller::UserGet,
        ..Default::default()
    }
}

/// Searches one file for the key, unless none of its entries can be relevant. `index_seek` is its table, if
/// it was prefetched.
#[inline]
pub(crate) fn search_table(
    file: &Arc<FileMetadata>,
    lookup: &LookupKey,
    index_seek: IndexSeek,
    read: &BlockReadOptions,
    context: &mut GetContext<'_>,
) -> Result<()> {
    if pass_over(file, context) {
        return Ok(());
    }
    let family = context.family;
    if let Some(rows) = family.tables.rows() {
        return search_rows(rows, file, lookup, index_seek, read, context);
    }
    if read.cache_only {
        family.tables.check_in_memory(file)?;
    }
    family.tables.with_table(file, |table| {
        cover(file, table, lookup, context);
        let mut damaged = None;
        let kept = table.get_with_seek(lookup, index_seek, read, &mut context.visitor(&mut damaged))?;
        context.take(kept);
        if context.done() {
            table.record_true_positive();
        }
        damaged.map_or(Ok(()), Err)
    })
}

/// Same as [`search_table`], with a row cache.
#[inline(never)]
fn search_rows(
    rows: &RowCache,
    file: &Arc<FileMetadata>,
    lookup: &LookupKey,
    index_seek: IndexSeek,
    read: &BlockReadOptions,
    context: &mut GetContext<'_>,
) -> Result<()> {
    let tables = &context.family.tables;
    let place = rows.place(file, context.user_key, lookup.seqno());
    // The row cache replaces the search of the table only if no range tombstone hides an entry of the row.
    let stands = context.covering == 0
        && file
            .stats
            .get()
            .is_some_and(|stats| stats.num_range_deletions == 0);
    if stands && let Some(row) = place.find() {
        tables.stats().count(Ticker::RowCacheHit, 1);
        return row.replay(|seqno, kind, value| context.visit(seqno, kind, Found::Row(value)));
    }
    tables.stats().count(Ticker::RowCacheMiss, 1);
    if read.cache_only {
        tables.check_in_memory(file)?;
    }
    tables.with_table(file, |table| {
        cover(file, table, lookup, context);
        let collects = read.fill_cache && context.covering == 0 && table.range_tombstones().is_empty();
        let mut row = collects.then(|| place.collect());
        let mut damaged = None;
        let kept = {
            let mut visit = context.visitor(&mut damaged);
            let mut visit = |key: &[u8], value: Value<'_>| {
                if let Some(row) = &mut row {
                    row.add(key, value.bytes());
                }
                visit(key, value)
            };
            table.get_with_seek(lookup, index_seek, read, &mut visit)?
        };
        context.take(kept);
        if context.done() {
            table.record_true_positive();
        }
        damaged.map_or(Ok(()), Err)?;
        if let Some(row) = row {
            place.insert(row);
        }
        Ok(())
    })
}

/// True if the range tombstone over the key is newer than every entry of the file: then neither this file nor
/// older ones need to be read, and the answer is known. Otherwise the caller reads the file, and this
/// function counts the read if it is sampled.
#[inline]
pub(crate) fn pass_over(file: &FileMetadata, context: &mut GetContext<'_>) -> bool {
    if context.covering <= file.largest_seqno {
        file.sample_read();
        return false;
    }
    context.finish(Base::Nothing);
    true
}

/// Adds the file's range tombstones over the key to the state of the Get.
#[inline]
pub(crate) fn cover(
    file: &Arc<FileMetadata>,
    table: &Table,
    lookup: &LookupKey,
    context: &mut GetContext<'_>,
) {
    if !table.range_tombstones().is_empty() && !context.ignores_tombstones {
        let family = context.family;
        let tombstones = family.tables.tombstones_within_bounds(file, table);
        let covering = tombstones.covering_seqno(family.cmp.user(), context.user_key, lookup.seqno());
        context.covering = context.covering.max(covering);
    }
}

/// Searches the block of the table that may hold the key.
#[inline]
pub(crate) fn read_located(
    table: &Table,
    lookup: &LookupKey,
    located: Located,
    read: &BlockReadOptions,
    context: &mut GetContext<'_>,
) -> Result<()> {
    let mut damaged = None;
    let kept = table.get_located(lookup, located, read, &mut context.visitor(&mut damaged))?;
    context.take(kept);
    if context.done() {
        table.record_true_positive();
    }
    damaged.map_or(Ok(()), Err)
}

/// Same as [`read_located`], using a held block if it may hold the key.
pub(crate) fn read_held(
    table: &Table,
    lookup: &LookupKey,
    located: Located,
    held: &HeldBlocks,
    read: &BlockReadOptions,
    context: &mut GetContext<'_>,
) -> Result<()> {
    let mut damaged = None;
    let kept = table.get_held(lookup, located, held, read, &mut context.visitor(&mut damaged))?;
    context.take(kept);
    damaged.map_or(Ok(()), Err)
}

/// Same as [`read_held`], for the key with index `at` among those looked up in a table whose index is in the
/// cache.
pub(crate) fn read_looked_up(
    table: &Table,
    lookup: &LookupKey,
    at: usize,
    held: &HeldLookups,
    read: &BlockReadOptions,
    context: &mut GetContext<'_>,
) -> Result<()> {
    let mut damaged = None;
    let kept = table.get_looked_up(lookup, at, held, read, &mut context.visitor(&mut damaged))?;
    context.take(kept);
    damaged.map_or(Ok(()), Err)
}
