//! MultiGet: lookups of many keys of one family at one moment, run concurrently.
//!
//! A Get waits for memory four or five times, because each load gives the address of the next: the filter's
//! cache line, the leaf of the index, the block's frame, the entry index, the entry. Keys do not depend on
//! each other. A batch therefore does each step for all of its keys and prefetches the memory of the next
//! step meanwhile, so that it waits about as long as one Get.
//!
//! Keys go down the levels in waves, each at its own pace: in a wave a key skips the tables whose filters
//! exclude it, in any sorted run, and stops at the first table that may hold it. The batch thus waits once
//! for keys in different levels, and nearly all keys need one wave.

use std::sync::Arc;

use base::env::Stopwatch;
use base::{Result, SeqNo, sync};
use blob::BlobIndex;
use manifest::FileMetadata;
use sst::IO_COALESCE_THRESHOLD;
use sst::{
    BlockReadOptions, BlockSource, BlocksInFlight, HeldBlocks, HeldLookups, IndexSeek, Located, LookupKey,
    LookupsInFlight, Table, TableReaderCaller,
};

use crate::files::blob_cache::BlobRead;
use crate::files::pinned_value::PinnedValue;
use crate::files::table_cache::TableCache;
use crate::files::table_place::OpenTable;
use crate::read::get::{self, Answer, GetContext, NO_RUN, RUNS_AHEAD, SortedRun};
use crate::read::observed::Found;
use crate::state::column_family::{ColumnFamily, Family};
use crate::state::db_inner::DbInner;
use crate::state::error_state::closing;
use crate::state::handle::Db;
use crate::state::read_options::ReadOptions;
use crate::state::super_version::SuperVersion;

/// The number of keys processed concurrently: enough to keep the memory busy, and few enough that their state
/// stays in the CPU cache.
const ABREAST: usize = 32;

/// The result of the lookup of a key.
impl Db {
    /// Returns the values of many keys of the default family; see
    /// [`multi_get_cf_opt`](Db::multi_get_cf_opt).
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<Result<Option<Vec<u8>>>> {
        self.multi_get_cf(&self.default_column_family(), keys)
    }

    /// Returns the values of many keys of `family`; see [`multi_get_cf_opt`](Db::multi_get_cf_opt).
    pub fn multi_get_cf<K: AsRef<[u8]>>(
        &self,
        family: &ColumnFamily,
        keys: &[K],
    ) -> Vec<Result<Option<Vec<u8>>>> {
        self.multi_get_cf_opt(family, keys, &ReadOptions::default())
    }

    /// Returns the values of many keys of `family`, all as of one moment, in the order of `keys`.
    ///
    /// The call is cheaper than as many Gets, because 32 keys at a time wait for memory together. In families
    /// with timestamps each version is a key of its own and each Get a short scan: there the call costs as
    /// much as the Gets.
    pub fn multi_get_cf_opt<K: AsRef<[u8]>>(
        &self,
        family: &ColumnFamily,
        keys: &[K],
        options: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>>> {
        let found = self.multi_get_pinned_cf_opt(family, keys, options);
        let copied = |value: Found| Ok(value?.map(PinnedValue::into_vec));
        found.into_iter().map(copied).collect()
    }

    /// Same as [`multi_get`](Db::multi_get), without copies: the values stay in the blocks or memtables that
    /// hold them, as those of [`get_pinned`](Db::get_pinned) do.
    pub fn multi_get_pinned<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<Found> {
        self.multi_get_pinned_cf(&self.default_column_family(), keys)
    }

    /// Same as [`multi_get_cf`](Db::multi_get_cf), without copies; see
    /// [`multi_get_pinned`](Db::multi_get_pinned).
    pub fn multi_get_pinned_cf<K: AsRef<[u8]>>(&self, family: &ColumnFamily, keys: &[K]) -> Vec<Found> {
        self.multi_get_pinned_cf_opt(family, keys, &ReadOptions::default())
    }

    /// Same as [`multi_get_cf_opt`](Db::multi_get_cf_opt), without copies; see
    /// [`multi_get_pinned`](Db::multi_get_pinned).
    pub fn multi_get_pinned_cf_opt<K: AsRef<[u8]>>(
        &self,
        family: &ColumnFamily,
        keys: &[K],
        options: &ReadOptions,
    ) -> Vec<Found> {
        self.inner()
            .multi_get(options, family, keys, Answer::DeferredBlob)
    }
}

impl DbInner {
    /// Looks up each of `keys`, and counts the call. `answer` is the part of a key's state that is wanted.
    pub(crate) fn multi_get<K: AsRef<[u8]>>(
        &self,
        options: &ReadOptions,
        family: &ColumnFamily,
        keys: &[K],
        answer: Answer,
    ) -> Vec<Found> {
        if self.traces.query.is_on() {
            self.trace_multi_get(options, keys.iter().map(|key| (family.0.id, key.as_ref())));
        }
        self.observed_multi_get(|| self.multi_get_now(options, family, keys, answer))
    }

    /// Looks up each of `keys`, without a trace and without a count of the call.
    pub(crate) fn multi_get_now<K: AsRef<[u8]>>(
        &self,
        options: &ReadOptions,
        family: &ColumnFamily,
        keys: &[K],
        answer: Answer,
    ) -> Vec<Found> {
        if let Err(error) = self.check_owns(&family.0) {
            return keys.iter().map(|_| Err(error.clone())).collect();
        }
        let family = &family.0;
        let (super_version, seqno) = loop {
            let super_version = family.super_version_of(options.snapshot.as_ref());
            sync::point("super version");
            if super_version.is_closed() {
                return keys.iter().map(|_| Err(closing())).collect();
            }
            let seqno = self.read_seqno(&super_version, options);
            sync::point("read");
            // Files ingested after the super version was loaded may hold rows up to `seqno` that it does not
            // have, although it has later rows.
            if options.snapshot.is_some() || Arc::ptr_eq(&super_version, &family.super_version.load()) {
                break (super_version, seqno);
            }
        };
        self.multi_get_from(&super_version, seqno, options, family, keys, answer)
    }

    /// Looks up `answer` of each key in one view.
    pub(crate) fn multi_get_from<K: AsRef<[u8]>>(
        &self,
        super_version: &Arc<SuperVersion>,
        seqno: SeqNo,
        options: &ReadOptions,
        family: &Arc<Family>,
        keys: &[K],
        answer: Answer,
    ) -> Vec<Found> {
        let _charged = self.charged_reads(options);
        let mut found: Vec<Found> = Vec::new();
        let by_rows = family.tables.rows().is_some()
            && matches!(answer, Answer::Value | Answer::DeferredBlob)
            && options.value_size_soft_limit == u64::MAX;
        if family.cmp.user().timestamp_size() > 0 || options.timestamp.is_some() || by_rows {
            let get = |key: &K| self.get_from::<false>(super_version, seqno, options, family, key.as_ref());
            found.extend(keys.iter().map(get));
            return found;
        }
        found.resize_with(keys.len(), || Ok(None));
        let user = family.cmp.user();
        let mut order: Vec<usize> = (0..keys.len()).collect();
        if !keys.is_sorted_by(|a, b| user.compare(a.as_ref(), b.as_ref()).is_le()) {
            order.sort_unstable_by(|&a, &b| user.compare(keys[a].as_ref(), keys[b].as_ref()));
        }
        let mut blobs = Vec::new();
        let limit = options.value_size_soft_limit;
        // With a limit for the size of all values, the size of each blob must be known at once.
        let answer = match answer {
            Answer::DeferredBlob if limit != u64::MAX => Answer::Value,
            answer => answer,
        };
        let mut bytes: u64 = 0;
        for places in order.chunks(ABREAST) {
            let over = match bytes > limit {
                true => Err(over_limit()),
                false => self.check_deadline(options),
            };
            if let Err(error) = over {
                places.iter().for_each(|&place| found[place] = Err(error.clone()));
                continue;
            }
            let lookup = |&place: &usize| LookupKey::new(keys[place].as_ref(), seqno, user);
            let lookups: Vec<LookupKey> = places.iter().map(lookup).collect();
            let underway = |(&place, lookup)| Underway {
                place,
                context: GetContext::new(family, keys[place].as_ref(), BlobRead::from(options))
                    .reading(options)
                    .answering(answer),
                lookup,
                ahead: Ahead::new(super_version.version.runs_of(lookup.internal_key())),
                level: 0,
                files: &[],
                stop: None,
                failed: None,
            };
            let mut batch: Vec<_> = places.iter().zip(&lookups).map(underway).collect();
            self.get_batch(super_version, seqno, options, family, &mut batch);
            for mut key in batch {
                if let Some(index) = key.context.deferred_blob() {
                    blobs.push((key.place, index));
                    continue;
                }
                found[key.place] = match key.failed {
                    _ if bytes > limit => Err(over_limit()),
                    Some(error) => Err(error),
                    None => self.conclude(key.context),
                };
                if limit != u64::MAX
                    && let Ok(Some(value)) = &found[key.place]
                {
                    bytes += value.len() as u64;
                }
            }
        }
        if !blobs.is_empty() {
            read_blobs(options, family, &blobs, keys, &mut found);
        }
        found
    }
}

#[cold]
fn over_limit() -> base::Error {
    base::Error::new(
        base::ErrorKind::Aborted,
        "the values before are more than value_size_soft_limit",
    )
}

/// The state of one key in its lookup.
struct Underway<'a, R> {
    /// The index of the key in the caller's list.
    place: usize,
    context: GetContext<'a>,
    lookup: &'a LookupKey,
    ahead: Ahead<'a, R>,
    /// The current sorted run of the key: its level, and its files that have not been searched.
    level: usize,
    files: &'a [Arc<FileMetadata>],
    stop: Option<Stop<'a>>,
    failed: Option<base::Error>,
}

/// The sorted runs that may hold a key, from the newest on.
struct Ahead<'a, R> {
    runs: R,
    /// The prefetched runs: those whose filters have been prefetched, their number, and the number of those
    /// that have been taken.
    near: [SortedRun<'a>; RUNS_AHEAD],
    len: usize,
    taken: usize,
}

/// The table at which a key stops in a wave, and the state of its search there.
struct Stop<'a> {
    table: OpenTable<'a>,
    index_seek: IndexSeek,
    /// The position in the table at which the key must be, once known; `None` if the table does not have the
    /// key.
    located: Option<Located>,
    /// The place that the block is read from.
    source: BlockSource,
    /// If the blocks of many tables are read together: the number of the table, and that of the key within
    /// the table.
    asked: (usize, usize),
}

impl<'a, R: Iterator<Item = SortedRun<'a>>> Ahead<'a, R> {
    fn new(runs: R) -> Ahead<'a, R> {
        Ahead {
            runs,
            near: [NO_RUN; RUNS_AHEAD],
            len: 0,
            taken: 0,
        }
    }

    /// Prefetches the filters of the next runs.
    fn prefetch_filters(&mut self, tables: &TableCache, lookup: &LookupKey) {
        (self.len, self.taken) = (0, 0);
        for (place, run) in self.near.iter_mut().zip(&mut self.runs) {
            *place = run;
            self.len += 1;
            if let Some(table) = get::first_open(tables, run.1) {
                table.prefetch_filter(lookup);
            }
        }
    }

    fn next(&mut self, tables: &TableCache, lookup: &LookupKey) -> Option<SortedRun<'a>> {
        if self.taken == self.len {
            self.prefetch_filters(tables, lookup);
        }
        let run = self.near[..self.len].get(self.taken)?;
        self.taken += 1;
        Some(*run)
    }
}

impl<'a, R: Iterator<Item = SortedRun<'a>>> Underway<'a, R> {
    fn done(&self) -> bool {
        self.failed.is_some() || self.context.done()
    }

    /// Takes one step unless the result is known; an error becomes the result.
    fn step(&mut self, step: impl FnOnce(&mut Self) -> Result<()>) {
        if !self.done()
            && let Err(error) = step(self)
        {
            self.failed = Some(error);
        }
    }

    /// Takes one step at the table where the key stopped, unless the result is known.
    fn step_at_stop(&mut self, step: impl FnOnce(&mut Stop<'a>, &LookupKey) -> Result<()>) {
        let lookup = self.lookup;
        self.step(|key| key.stop.as_mut().map_or(Ok(()), |stop| step(stop, lookup)));
    }

    /// Advances to the next table that may hold the key, if there is one.
    fn advance(&mut self, family: &'a Family, read: &BlockReadOptions) -> Result<()> {
        let user = family.cmp.user();
        let tables = &family.tables;
        self.stop = None;
        loop {
            // Versions of one key may continue in the next file of a run, although files of this engine never
            // split them.
            let goes_on = |file: &&Arc<FileMetadata>| !file.is_after(user, self.lookup.user_key());
            let (file, rest) = match self.files.split_first().filter(|(file, _)| goes_on(file)) {
                Some(next) => next,
                None => {
                    let Some((level, files)) = self.ahead.next(tables, self.lookup) else {
                        return Ok(());
                    };
                    self.level = level;
                    let Some(first) = files.split_first() else {
                        continue;
                    };
                    first
                }
            };
            self.files = rest;
            if get::pass_over(file, &mut self.context) {
                return Ok(());
            }
            if read.cache_only {
                tables.check_in_memory(file)?;
            }
            let table = tables.open_table_of(file)?;
            get::cover(file, &table, self.lookup, &mut self.context);
            if table.passes_filter(self.lookup)? {
                self.stop = Some(Stop {
                    index_seek: table.begin_index_seek(self.lookup),
                    table,
                    located: None,
                    source: BlockSource::Memory,
                    asked: (0, 0),
                });
                return Ok(());
            }
        }
    }
}

impl DbInner {
    /// Looks up the keys, which must be sorted. Blobs are left to the caller.
    fn get_batch<'a, R: Iterator<Item = SortedRun<'a>>>(
        &self,
        super_version: &SuperVersion,
        seqno: SeqNo,
        options: &ReadOptions,
        family: &'a Family,
        batch: &mut [Underway<'a, R>],
    ) {
        let read = BlockReadOptions {
            caller: TableReaderCaller::UserMultiGet,
            ..get::block_read_options(options)
        };
        for key in &mut *batch {
            key.ahead.prefetch_filters(&family.tables, key.lookup);
        }
        for key in &mut *batch {
            key.step(|key| self.search_memory(super_version, seqno, &mut key.context));
            key.step(|_| self.may_search_tables(options));
        }
        while self.wave(family, &read, batch) {}
    }

    /// Advances each key to the next table that may hold it, and searches there. False if no table is left.
    fn wave<'a, R: Iterator<Item = SortedRun<'a>>>(
        &self,
        family: &'a Family,
        read: &BlockReadOptions,
        batch: &mut [Underway<'a, R>],
    ) -> bool {
        for key in &mut *batch {
            key.step(|key| key.advance(family, read));
        }
        if batch.iter().all(|key| key.done() || key.stop.is_none()) {
            return false;
        }
        for key in &mut *batch {
            key.step_at_stop(|stop, lookup| {
                stop.located = stop.table.locate(lookup, stop.index_seek)?;
                Ok(())
            });
        }
        for key in &mut *batch {
            key.step_at_stop(|stop, _| {
                stop.located
                    .inspect(|&located| stop.table.prefetch_block_of(located));
                Ok(())
            });
        }
        let (mut from_files, mut unknown) = (0, 0);
        for key in &mut *batch {
            key.step_at_stop(|stop, lookup| {
                if let Some(located) = stop.located {
                    stop.source = stop.table.prefetch_entry_of(lookup, located);
                    from_files += u32::from(stop.source == BlockSource::File);
                    unknown += u32::from(stop.source == BlockSource::Unknown);
                }
                Ok(())
            });
        }
        let mut held = self.begin_reads(family, read, batch, from_files);
        // The first read from a file shows whether reads wait for the disk.
        let mut shows = held.is_empty() && from_files + unknown > 1;
        let (stopwatch, reads) = (Stopwatch::start(), vfs::io_stats::reads());
        for at in 0..batch.len() {
            if shows && vfs::io_stats::reads() != reads {
                shows = false;
                family.disk_waits.record(stopwatch.nanos());
                // The other keys of tables whose indexes are in the cache are expected to wait too: they do
                // so concurrently.
                if unknown > 1 && family.disk_waits.are_likely() {
                    held = hold_blocks(read, &mut batch[at..]);
                }
            }
            self.search_at_stop(read, &mut batch[at], &held);
        }
        true
    }

    /// Searches a key in the table where it stopped.
    #[inline]
    fn search_at_stop<'a, R: Iterator<Item = SortedRun<'a>>>(
        &self,
        read: &BlockReadOptions,
        key: &mut Underway<'a, R>,
        held: &[TableBlocks],
    ) {
        key.step(|key| {
            let Some(stop) = &key.stop else { return Ok(()) };
            let Some(located) = stop.located else {
                return Ok(());
            };
            let (table, lookup) = (&*stop.table, key.lookup);
            let (number, asked) = stop.asked;
            match held.get(number) {
                Some(TableBlocks::Blocks(held)) => {
                    get::read_held(table, lookup, located, held, read, &mut key.context)?
                }
                Some(TableBlocks::Lookups(held)) => {
                    get::read_looked_up(table, lookup, asked, held, read, &mut key.context)?
                }
                None => get::read_located(table, lookup, located, read, &mut key.context)?,
            }
            if key.context.done() {
                self.count_hit(key.level);
            }
            Ok(())
        });
    }

    /// If several keys, `from_files`, must read their blocks from files, and the reads are direct or expected
    /// to wait for the disk, lets these reads overlap. Returns the blocks of direct reads; the others will be
    /// in the page cache.
    #[inline]
    fn begin_reads<'a, R: Iterator<Item = SortedRun<'a>>>(
        &self,
        family: &Family,
        read: &BlockReadOptions,
        batch: &mut [Underway<'a, R>],
        from_files: u32,
    ) -> Vec<TableBlocks> {
        if read.async_io {
            return hold_blocks(read, batch);
        }
        if from_files < 2 || read.cache_only {
            return Vec::new();
        }
        if self.options.use_direct_reads {
            return hold_blocks(read, batch);
        }
        if family.disk_waits.are_likely() {
            prefetch_from_files(batch);
        }
        Vec::new()
    }
}

/// Starts to read the blocks that are in files alone into the page cache.
#[cold]
fn prefetch_from_files<'a, R: Iterator<Item = SortedRun<'a>>>(batch: &mut [Underway<'a, R>]) {
    let mut last = None;
    for key in batch {
        key.step_at_stop(|stop, _| {
            let place = stop
                .located
                .map(|located| (std::ptr::from_ref::<Table>(&stop.table), located));
            // Keys are in order: those of one block follow each other.
            if stop.source == BlockSource::File && place != last {
                stop.located
                    .inspect(|&located| stop.table.prefetch_from_file(located));
                last = place;
            }
            Ok(())
        });
    }
}

/// Reads the blobs of keys, which come with their indexes: file by file, each from front to back.
#[cold]
fn read_blobs<K: AsRef<[u8]>>(
    options: &ReadOptions,
    family: &Family,
    blobs: &[(usize, Vec<u8>)],
    keys: &[K],
    found: &mut [Found],
) {
    let mut located = Vec::with_capacity(blobs.len());
    for (place, index) in blobs {
        match BlobIndex::decode(index) {
            Ok(BlobIndex::Blob { location, .. }) => {
                located.push((location.file_number, location.offset, *place, index));
            }
            // The value is not in a blob file: it is in the index entry, or the entry is corrupt.
            _ => located.push((0, 0, *place, index)),
        }
    }
    located.sort_unstable_by_key(|&(file, offset, place, _)| (file, offset, place));
    for (_, _, place, index) in located {
        let value = family
            .values
            .blob(keys[place].as_ref(), index, BlobRead::from(options));
        found[place] = value.map(Some);
    }
}

/// The blocks of a table that are held for the keys looked up in it.
enum TableBlocks {
    Blocks(HeldBlocks),
    /// The blocks and the results of the index lookups, for a table whose index is in the cache.
    Lookups(HeldLookups),
}

/// Reads the blocks of all keys that are not in the cache, concurrently; numbers the tables, and the keys of
/// each.
#[cold]
fn hold_blocks<'a, R: Iterator<Item = SortedRun<'a>>>(
    read: &BlockReadOptions,
    batch: &mut [Underway<'a, R>],
) -> Vec<TableBlocks> {
    enum Begun {
        Blocks(BlocksInFlight),
        Lookups(LookupsInFlight),
    }
    let mut stops: Vec<(&LookupKey, &mut Stop<'_>)> = batch
        .iter_mut()
        .filter(|key| !key.done())
        .filter_map(|key| Some((key.lookup, key.stop.as_mut()?)))
        .filter(|(_, stop)| stop.located.is_some())
        .collect();
    // Groups the keys by table, in stable order.
    stops.sort_by_key(|(_, stop)| std::ptr::from_ref::<Table>(&stop.table));
    let mut of_tables: Vec<_> = stops
        .chunk_by_mut(|a, b| std::ptr::eq::<Table>(&*a.1.table, &*b.1.table))
        .collect();
    for (number, stops) in of_tables.iter_mut().enumerate() {
        for (asked, (_, stop)) in stops.iter_mut().enumerate() {
            stop.asked = (number, asked);
        }
    }
    let begun: Vec<Begun> = vfs::together(|| {
        let begin = |stops: &&mut [(&LookupKey, &mut Stop<'_>)]| {
            let (table, coalesce) = (&stops[0].1.table, IO_COALESCE_THRESHOLD);
            match table.caches_parts() {
                true => {
                    let lookups = stops.iter().map(|(lookup, _)| *lookup);
                    Begun::Lookups(table.start_lookups(lookups, read, coalesce))
                }
                false => {
                    let located = stops.iter().filter_map(|(_, stop)| stop.located);
                    Begun::Blocks(table.start_blocks(located, read, coalesce))
                }
            }
        };
        of_tables.iter().map(begin).collect()
    });
    let finish = |(stops, begun): (&&mut [(&LookupKey, &mut Stop<'_>)], Begun)| {
        let table = &stops[0].1.table;
        match begun {
            Begun::Blocks(begun) => TableBlocks::Blocks(table.finish_blocks(begun, read)),
            Begun::Lookups(begun) => TableBlocks::Lookups(table.finish_lookups(begun, read)),
        }
    };
    of_tables.iter().zip(begun).map(finish).collect()
}
