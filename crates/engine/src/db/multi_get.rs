//! MultiGet: many keys of one family at one moment, looked up side by side.
//!
//! A Get waits for memory four or five times, each time for what the load before told it: the filter's line, the leaf of the index, the
//! block's frame, the entry index, the entry. Keys do not depend on each other, so a batch does each step for all of its keys,
//! asks for the memory of the next one meanwhile, and waits about as long as one Get does.
//!
//! Keys go down in waves, each on its own: in a wave a key passes by the tables whose filters say no, whatever run they are of, and
//! stops at the first that may hold it. So the batch waits once for keys that are in different levels, and nearly all of them
//! need one wave.

use std::sync::Arc;

use base::{Result, SeqNo, sync};
use blob::BlobIndex;
use manifest::FileMetadata;
use sst::blocks::IO_COALESCE_THRESHOLD;
use sst::{
    Approached, BlockReadOptions, BlocksInFlight, HeldBlocks, HeldLookups, Located, LookupKey,
    LookupsInFlight, Table,
};

use super::column_family::{ColumnFamily, Family};
use super::get::{self, Answer, GetContext, NO_RUN, RUNS_AHEAD, Run};
use super::state::closing;
use super::{Db, DbInner};
use crate::options::ReadOptions;
use crate::read::blob_cache::BlobRead;
use crate::read::super_version::SuperVersion;
use crate::read::table_cache::TableCache;
use crate::read::table_place::OpenTable;
use crate::read::value::PinnedValue;

/// Keys under way at once: as many as keep the memory busy, and few enough that what they carry stays close.
const ABREAST: usize = 32;

/// What a read of a key gives.
pub(super) type Found = Result<Option<PinnedValue>>;

impl Db {
    /// The values of many keys of one family, all as of one moment, in the order of `keys`.
    ///
    /// Cheaper than as many Gets: 32 keys at a time wait for memory together. Not in families with timestamps, where each version is a
    /// key of its own and each Get a short scan: there it costs as much as they do, one after the other.
    pub fn multi_get<K: AsRef<[u8]>>(
        &self,
        options: &ReadOptions,
        family: &ColumnFamily,
        keys: &[K],
    ) -> Vec<Result<Option<Vec<u8>>>> {
        let found = self.multi_get_pinned(options, family, keys);
        let copied = |value: Found| Ok(value?.map(PinnedValue::into_vec));
        found.into_iter().map(copied).collect()
    }

    /// As [`multi_get`](Db::multi_get), without copies: the values stay where they lie, as those of
    /// [`get_pinned`](Db::get_pinned).
    pub fn multi_get_pinned<K: AsRef<[u8]>>(
        &self,
        options: &ReadOptions,
        family: &ColumnFamily,
        keys: &[K],
    ) -> Vec<Found> {
        self.inner()
            .multi_get(options, family, keys, Answer::DeferredBlob)
    }
}

impl DbInner {
    /// Looks for `answer` of each key, and counts that.
    pub(super) fn multi_get<K: AsRef<[u8]>>(
        &self,
        options: &ReadOptions,
        family: &ColumnFamily,
        keys: &[K],
        answer: Answer,
    ) -> Vec<Found> {
        if self.query_trace.is_on() {
            self.query_trace
                .multi_get(keys.iter().map(|key| (family.0.id, key.as_ref())));
        }
        self.observed_multi_get(|| self.multi_get_now(options, family, keys, answer))
    }

    fn multi_get_now<K: AsRef<[u8]>>(
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
            // Files ingested in between may hold rows up to `seqno` that this super version does not show beside later ones that it does.
            if options.snapshot.is_some() || Arc::ptr_eq(&super_version, &family.super_version.load()) {
                break (super_version, seqno);
            }
        };
        self.multi_get_from(&super_version, seqno, options, family, keys, answer)
    }

    /// Looks for `answer` of each key in one view.
    pub(super) fn multi_get_from<K: AsRef<[u8]>>(
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
        if family.cmp.user().timestamp_size() > 0 || options.timestamp.is_some() {
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
        // With a limit the size of a blob is to be known at once.
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
            self.get_abreast(super_version, seqno, options, family, &mut batch);
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

/// A key on its way down.
struct Underway<'a, R> {
    /// Its place among the keys asked for.
    place: usize,
    context: GetContext<'a>,
    lookup: &'a LookupKey,
    ahead: Ahead<'a, R>,
    /// The run at hand: its level, and its files that were not searched.
    level: usize,
    files: &'a [Arc<FileMetadata>],
    stop: Option<Stop<'a>>,
    failed: Option<base::Error>,
}

/// The sorted runs that may hold a key, from the newest on.
struct Ahead<'a, R> {
    runs: R,
    /// Those whose filters were asked for, and how many of them were taken.
    near: [Run<'a>; RUNS_AHEAD],
    len: usize,
    taken: usize,
}

/// Where a key stops in a wave.
struct Stop<'a> {
    table: OpenTable<'a>,
    approached: Approached,
    /// Where in it the key must be, once that is known; `None` if it is not in it.
    located: Option<Located>,
    /// If blocks of many tables are read together: the number of the table, and that of the key among those of the table.
    asked: (usize, usize),
}

impl<'a, R: Iterator<Item = Run<'a>>> Ahead<'a, R> {
    fn new(runs: R) -> Ahead<'a, R> {
        Ahead {
            runs,
            near: [NO_RUN; RUNS_AHEAD],
            len: 0,
            taken: 0,
        }
    }

    /// Asks for the filters of the next runs.
    fn approach(&mut self, tables: &TableCache, lookup: &LookupKey) {
        (self.len, self.taken) = (0, 0);
        for (place, run) in self.near.iter_mut().zip(&mut self.runs) {
            *place = run;
            self.len += 1;
            if let Some(table) = get::first_open(tables, run.1) {
                table.prefetch_filter(lookup);
            }
        }
    }

    fn next(&mut self, tables: &TableCache, lookup: &LookupKey) -> Option<Run<'a>> {
        if self.taken == self.len {
            self.approach(tables, lookup);
        }
        let run = self.near[..self.len].get(self.taken)?;
        self.taken += 1;
        Some(*run)
    }
}

impl<'a, R: Iterator<Item = Run<'a>>> Underway<'a, R> {
    fn done(&self) -> bool {
        self.failed.is_some() || self.context.done()
    }

    /// Takes one step, unless the answer is known; an error is the answer.
    fn step(&mut self, step: impl FnOnce(&mut Self) -> Result<()>) {
        if !self.done()
            && let Err(error) = step(self)
        {
            self.failed = Some(error);
        }
    }

    /// Takes one step at the table where it stopped, unless the answer is known.
    fn step_at_stop(&mut self, step: impl FnOnce(&mut Stop<'a>, &LookupKey) -> Result<()>) {
        let lookup = self.lookup;
        self.step(|key| key.stop.as_mut().map_or(Ok(()), |stop| step(stop, lookup)));
    }

    /// Goes on to the next table that may hold the key, if there is one.
    fn advance(&mut self, family: &'a Family, read: &BlockReadOptions) -> Result<()> {
        let user = family.cmp.user();
        let tables = &family.tables;
        self.stop = None;
        loop {
            // Versions of one key may go on in the next file of a run, though files we write never part them.
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
                    approached: table.approach_index(self.lookup),
                    table,
                    located: None,
                    asked: (0, 0),
                });
                return Ok(());
            }
        }
    }
}

impl DbInner {
    /// Finds the keys, which are in their order, as far as they can be found.
    fn get_abreast<'a, R: Iterator<Item = Run<'a>>>(
        &self,
        super_version: &SuperVersion,
        seqno: SeqNo,
        options: &ReadOptions,
        family: &'a Family,
        batch: &mut [Underway<'a, R>],
    ) {
        let read = get::block_read_options(options);
        for key in &mut *batch {
            key.ahead.approach(&family.tables, key.lookup);
        }
        for key in &mut *batch {
            key.step(|key| self.search_memory(super_version, seqno, &mut key.context));
            key.step(|_| self.may_search_tables(options));
        }
        while self.wave(family, &read, batch) {}
    }

    /// Takes each key to the next table that may hold it, and searches there. False if none is left.
    fn wave<'a, R: Iterator<Item = Run<'a>>>(
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
                stop.located = stop.table.locate(lookup, stop.approached)?;
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
        for key in &mut *batch {
            key.step_at_stop(|stop, lookup| {
                stop.located
                    .inspect(|&located| stop.table.prefetch_entry_of(lookup, located));
                Ok(())
            });
        }
        let held = match read.async_io {
            true => hold_blocks(read, batch),
            false => Default::default(),
        };
        for key in &mut *batch {
            key.step(|key| {
                let Some(stop) = &key.stop else { return Ok(()) };
                let Some(located) = stop.located else {
                    return Ok(());
                };
                let (table, lookup) = (&*stop.table, key.lookup);
                let (number, asked) = stop.asked;
                match held.get(number) {
                    Some(Held::Blocks(held)) => {
                        get::read_held(table, lookup, located, held, read, &mut key.context)?
                    }
                    Some(Held::Lookups(held)) => {
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
        true
    }
}

/// Reads blobs that are the answers for keys, given with their places: file by file, and each from front to back.
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
            // It is in the index, or that is damaged.
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

/// What is held of a table for its keys.
enum Held {
    Blocks(HeldBlocks),
    /// Of a table whose index lies in the cache: what the index says, too.
    Lookups(HeldLookups),
}

/// Reads the blocks of all keys that are not in the cache, side by side; numbers the tables, and in each the keys.
#[cold]
fn hold_blocks<'a, R: Iterator<Item = Run<'a>>>(
    read: &BlockReadOptions,
    batch: &mut [Underway<'a, R>],
) -> Vec<Held> {
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
    // Keys of one table become neighbours, and stay in their order.
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
            Begun::Blocks(begun) => Held::Blocks(table.finish_blocks(begun, read)),
            Begun::Lookups(begun) => Held::Lookups(table.finish_lookups(begun, read)),
        }
    };
    of_tables.iter().zip(begun).map(finish).collect()
}
