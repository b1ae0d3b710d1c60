//! MultiGet: many keys of one family at one moment, looked up side by side.
//!
//! A Get waits for memory three or four times, each time for what the load before told it: the filter's line, the block's
//! frame, the entry index, the entry. Keys do not depend on each other, so a batch does each step for all of its keys,
//! asks for the memory of the next one meanwhile, and waits about as long as one Get does.
//!
//! Keys are taken in their order, so that those of one file are neighbours: a file's table is found once for them.

use std::ops::Range;
use std::sync::Arc;

use base::{Result, SeqNo, perf, sync};
use blob::BlobIndex;
use manifest::FileMetadata;
use sst::blocks::IO_COALESCE_THRESHOLD;
use sst::{BlockReadOptions, BlocksInFlight, HeldBlocks, HeldLookups, Located, LookupKey, LookupsInFlight};

use super::column_family::{ColumnFamily, Family};
use super::get::{self, GetContext};
use super::{Db, DbInner};
use crate::options::ReadOptions;
use crate::read::blob_cache::BlobRead;
use crate::read::super_version::SuperVersion;
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
        let inner = self.inner();
        match inner.stats.shared().is_some() || perf::counts() {
            false => inner.multi_get(options, family, keys),
            true => inner.observe_multi_get(|| inner.multi_get(options, family, keys)),
        }
    }
}

impl DbInner {
    fn multi_get<K: AsRef<[u8]>>(
        &self,
        options: &ReadOptions,
        family: &ColumnFamily,
        keys: &[K],
    ) -> Vec<Found> {
        let inner = self;
        let _charged = inner.charged_reads(options);
        if let Err(error) = inner.check_owns(&family.0) {
            return keys.iter().map(|_| Err(error.clone())).collect();
        }
        let family = &family.0;
        let super_version = family.super_version_of(options.snapshot.as_ref());
        sync::point("super version");
        let seqno = inner.read_seqno(&super_version, options);
        sync::point("read");
        let mut found: Vec<Found> = Vec::new();
        if family.cmp.user().timestamp_size() > 0 || options.timestamp.is_some() {
            let get = |key: &K| inner.get_from::<false>(&super_version, seqno, options, family, key.as_ref());
            found.extend(keys.iter().map(get));
            return found;
        }
        found.resize_with(keys.len(), || Ok(None));
        let user = family.cmp.user();
        let mut order: Vec<usize> = (0..keys.len()).collect();
        if !keys.is_sorted_by(|a, b| user.compare(a.as_ref(), b.as_ref()).is_le()) {
            order.sort_unstable_by(|&a, &b| user.compare(keys[a].as_ref(), keys[b].as_ref()));
        }
        let mut batch = Vec::with_capacity(ABREAST.min(keys.len()));
        let mut blobs = Vec::new();
        for places in order.chunks(ABREAST) {
            batch.clear();
            batch.extend(places.iter().map(|&place| {
                let key = keys[place].as_ref();
                Underway {
                    place,
                    context: GetContext::new(family, key, BlobRead::from(options)).deferring_blob(),
                    lookup: LookupKey::new(key, seqno, user),
                    located: None,
                    asked: 0,
                    failed: None,
                }
            }));
            inner.get_abreast(&super_version, seqno, options, family, &mut batch);
            for mut key in batch.drain(..) {
                if let Some(index) = key.context.deferred_blob() {
                    blobs.push((key.place, index));
                    continue;
                }
                found[key.place] = match key.failed {
                    Some(error) => Err(error),
                    None => inner.conclude(key.context),
                };
            }
        }
        if !blobs.is_empty() {
            read_blobs(options, family, &blobs, keys, &mut found);
        }
        found
    }
}

/// A key on its way down.
struct Underway<'a> {
    /// Its place among the keys asked for.
    place: usize,
    context: GetContext<'a>,
    lookup: LookupKey,
    /// Where in the table at hand it must be.
    located: Option<Located>,
    /// Its number among the keys whose blocks of that table are read together.
    asked: usize,
    failed: Option<base::Error>,
}

impl Underway<'_> {
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
}

/// Neighbours among the keys that one file may hold.
struct Group<'a> {
    file: &'a Arc<FileMetadata>,
    table: OpenTable<'a>,
    keys: Range<usize>,
    /// The files behind it in its level. Versions of one key may go on there, though files we write never part them.
    rest: &'a [Arc<FileMetadata>],
}

impl DbInner {
    /// Finds the keys, which are in their order, as far as they can be found.
    fn get_abreast(
        &self,
        super_version: &SuperVersion,
        seqno: SeqNo,
        options: &ReadOptions,
        family: &Arc<Family>,
        batch: &mut [Underway<'_>],
    ) {
        for key in &mut *batch {
            key.step(|key| self.search_memory(super_version, seqno, &mut key.context));
            key.step(|_| get::may_search_tables(options));
        }
        let read = get::block_read_options(options);
        let version = &super_version.version;
        let user = family.cmp.user();
        let levels = version.num_non_empty_levels();
        let mut groups = Vec::new();
        for file in version.files(0) {
            let holds = |key: &Underway<'_>| {
                let user_key = Some(key.lookup.user_key());
                !key.done() && file.overlaps(user, user_key, user_key)
            };
            // The keys a file may hold are neighbours; those in between that are done take no more steps.
            if let Some(first) = batch.iter().position(holds) {
                let last = batch.iter().rposition(holds).unwrap_or(first);
                group(
                    family,
                    file,
                    &[],
                    read.cache_only,
                    first..last + 1,
                    batch,
                    &mut groups,
                );
                self.search_groups(family, &read, batch, &mut groups, (0, levels == 1));
            }
        }
        for level in 1..levels {
            let files = version.files(level);
            if files.is_empty() {
                continue;
            }
            let mut at = 0;
            while at < batch.len() {
                let first = at;
                at += 1;
                if batch[first].done() {
                    continue;
                }
                let i = version.find_file(level, batch[first].lookup.internal_key());
                let Some(file) = files.get(i) else { break };
                if file.is_after(user, batch[first].lookup.user_key()) {
                    continue;
                }
                let holds = |key: &Underway<'_>| {
                    let target = key.lookup.internal_key();
                    family.cmp.compare(target, &file.largest).is_le()
                };
                while at < batch.len() && holds(&batch[at]) {
                    at += 1;
                }
                group(
                    family,
                    file,
                    &files[i + 1..],
                    read.cache_only,
                    first..at,
                    batch,
                    &mut groups,
                );
            }
            self.search_groups(family, &read, batch, &mut groups, (level, level + 1 == levels));
        }
    }

    /// Searches each group's table for its keys, step by step, and forgets the groups. They are of a level, which may be the last.
    fn search_groups(
        &self,
        family: &Family,
        read: &BlockReadOptions,
        batch: &mut [Underway<'_>],
        groups: &mut Vec<Group<'_>>,
        (level, is_last): (usize, bool),
    ) {
        let mut each = |step: &mut dyn FnMut(&Group<'_>, &mut Underway<'_>) -> Result<()>| {
            for group in &*groups {
                for key in &mut batch[group.keys.clone()] {
                    key.step(|key| step(group, key));
                }
            }
        };
        each(&mut |group, key| {
            key.located = None;
            if !get::pass_over(group.file, &mut key.context) {
                get::cover(group.file, &group.table, &key.lookup, &mut key.context);
                match is_last {
                    true => group.table.approach(&key.lookup),
                    false => group.table.prefetch_filter(&key.lookup),
                }
            }
            Ok(())
        });
        each(&mut |group, key| {
            key.located = group.table.locate(&key.lookup)?;
            Ok(())
        });
        each(&mut |group, key| {
            if let Some(located) = key.located {
                group.table.prefetch_block_of(located);
            }
            Ok(())
        });
        each(&mut |group, key| {
            if let Some(located) = key.located {
                group.table.prefetch_entry_of(&key.lookup, located);
            }
            Ok(())
        });
        let held = match read.async_io {
            true => hold_blocks(read, batch, groups),
            false => Default::default(),
        };
        let mut each = |step: &mut dyn FnMut(usize, &Group<'_>, &mut Underway<'_>) -> Result<()>| {
            for (number, group) in groups.iter().enumerate() {
                for key in &mut batch[group.keys.clone()] {
                    key.step(|key| step(number, group, key));
                }
            }
        };
        each(&mut |number, group, key| {
            if let Some(located) = key.located {
                let (table, lookup) = (&*group.table, &key.lookup);
                match held.get(number) {
                    Some(Held::Blocks(held)) => {
                        get::read_held(table, lookup, located, held, read, &mut key.context)?
                    }
                    Some(Held::Lookups(held)) => {
                        get::read_looked_up(table, lookup, key.asked, held, read, &mut key.context)?
                    }
                    None => get::read_located(table, lookup, located, read, &mut key.context)?,
                }
            }
            for file in group.rest {
                if key.context.done() || file.is_after(family.cmp.user(), key.lookup.user_key()) {
                    break;
                }
                get::search_table(file, &key.lookup, read, &mut key.context)?;
            }
            if key.context.done() {
                self.count_hit(level);
            }
            Ok(())
        });
        groups.clear();
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

/// Reads the blocks of all groups that are not in the cache, side by side.
#[cold]
fn hold_blocks(read: &BlockReadOptions, batch: &mut [Underway<'_>], groups: &[Group<'_>]) -> Vec<Held> {
    enum Begun {
        Blocks(BlocksInFlight),
        Lookups(LookupsInFlight),
    }
    let begun: Vec<Begun> = vfs::together(|| {
        let mut begin = |group: &Group<'_>| {
            let asks = |key: &Underway<'_>| !key.done() && key.located.is_some();
            let asking = batch[group.keys.clone()].iter_mut().filter(|key| asks(key));
            asking.enumerate().for_each(|(asked, key)| key.asked = asked);
            let keys = || batch[group.keys.clone()].iter().filter(|key| asks(key));
            let (table, coalesce) = (&group.table, IO_COALESCE_THRESHOLD);
            match table.caches_parts() {
                true => Begun::Lookups(table.start_lookups(keys().map(|key| &key.lookup), read, coalesce)),
                false => {
                    let located = keys().filter_map(|key| key.located);
                    Begun::Blocks(table.start_blocks(located, read, coalesce))
                }
            }
        };
        groups.iter().map(&mut begin).collect()
    });
    let finish = |(group, begun): (&Group<'_>, Begun)| match begun {
        Begun::Blocks(begun) => Held::Blocks(group.table.finish_blocks(begun, read)),
        Begun::Lookups(begun) => Held::Lookups(group.table.finish_lookups(begun, read)),
    };
    groups.iter().zip(begun).map(finish).collect()
}

/// Opens the table of `file` for these keys. What goes wrong is their answer.
fn group<'a>(
    family: &Family,
    file: &'a Arc<FileMetadata>,
    rest: &'a [Arc<FileMetadata>],
    cache_only: bool,
    keys: Range<usize>,
    batch: &mut [Underway<'_>],
    groups: &mut Vec<Group<'a>>,
) {
    let tables = &family.tables;
    let in_memory = match cache_only {
        true => tables.check_in_memory(file),
        false => Ok(()),
    };
    match in_memory.and_then(|()| tables.open_table_of(file)) {
        Ok(table) => groups.push(Group {
            file,
            table,
            keys,
            rest,
        }),
        Err(error) => {
            for key in &mut batch[keys] {
                key.step(|_| Err(error.clone()));
            }
        }
    }
}
