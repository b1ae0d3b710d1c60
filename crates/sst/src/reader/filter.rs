//! The filter of an open table: the keys that the table cannot hold.

use base::internal_key;
use base::{Error, Result};
use codec::hash::{hash32, xxph3_64};

use super::cached_parts::PartKind;
use super::table::Table;
use crate::block_trace::TableReaderCaller;
use crate::filter::table_filter::{FilterHandle, TableFilter};
use crate::filter::{FilterReader, LEGACY_SEED, PartitionedFilter};
use crate::format::BlockHandle;
use crate::index::{self, IndexCoding};
use crate::lookup_key::LookupKey;
use crate::read_options::BlockReadOptions;

impl Table {
    /// The filter's kind (that of the first partition), the number of its partitions (0 for a filter in one
    /// block), and its bytes in memory. `None` without a filter.
    ///
    /// Errors: those of reading the filter.
    pub(crate) fn describe_filter(&self) -> Result<Option<(&'static str, usize, usize)>> {
        let partitions = match self.filter_handle {
            FilterHandle::Partitioned(handle) => self.partitions(handle)?.len(),
            FilterHandle::Full(_) | FilterHandle::None => 0,
        };
        let read;
        let filter = match self.caches_parts() {
            true => {
                read = self.load_filter()?;
                read.as_ref()
            }
            false => self.filter()?,
        };
        Ok(filter.map(|filter| {
            let kind = match filter {
                TableFilter::Full(filter) => filter.kind(),
                TableFilter::Partitioned(filter) => {
                    filter.partition(|_| false).map_or("none", FilterReader::kind)
                }
            };
            (kind, partitions, filter.memory_usage())
        }))
    }

    #[inline]
    pub(super) fn filter(&self) -> Result<Option<&TableFilter>> {
        Ok(self.filter.get_or_try(|| self.load_filter())?.as_ref())
    }

    fn load_filter(&self) -> Result<Option<TableFilter>> {
        if !matches!(self.filter_handle, FilterHandle::None) {
            base::perf::count(|cells| &cells.filter_block_read_count, 1);
        }
        let _timer = base::perf::time(|cells| &cells.read_filter_block_nanos);
        let verify = self.verify_checksums;
        let read = |handle: BlockHandle| {
            self.fetcher
                .raw(handle, verify, |contents| FilterReader::new(contents))?
                .map_err(|error| self.fetcher.in_block(error, handle))
        };
        Ok(match self.filter_handle {
            FilterHandle::None => None,
            FilterHandle::Full(handle) => Some(TableFilter::Full(read(handle)?)),
            FilterHandle::Partitioned(handle) => {
                let block = self.fetcher.meta_block(handle, verify)?;
                let coding = IndexCoding::of(&self.properties).top_level();
                let mut partitions = Vec::new();
                let mut end = 0;
                index::decode_block(&block, coding, |entry| {
                    if entry.handle.offset < end {
                        return Err(Error::corruption("filter partitions overlap"));
                    }
                    end = entry.handle.end().unwrap_or(u64::MAX);
                    partitions.push(Ok((entry.separator.to_vec(), read(entry.handle)?)));
                    Ok(())
                })
                .map_err(|error| self.fetcher.in_block(error, handle))?;
                Some(TableFilter::Partitioned(PartitionedFilter::new(partitions)?))
            }
        })
    }

    /// False if the filter excludes every version of the key. Range deletions are not considered. True if the
    /// table has no filter, or none that can decide.
    ///
    /// Errors: those of reading the filter, on the first call.
    #[inline]
    pub fn may_contain(&self, key: &LookupKey) -> Result<bool> {
        if self.caches_parts() {
            let options = BlockReadOptions {
                caller: TableReaderCaller::UserGet,
                ..BlockReadOptions::default()
            };
            return self.parts_may_contain(key, &options);
        }
        self.owned_filter_may_contain(key)
    }

    #[inline]
    pub(super) fn owned_filter_may_contain(&self, key: &LookupKey) -> Result<bool> {
        let Some(filter) = self.filter()? else {
            return Ok(true);
        };
        if self.filter_has_whole_keys {
            let legacy = || key.legacy_filter_hash();
            let may_match = match filter {
                TableFilter::Full(filter) => filter.may_match(key.filter_hash(), legacy),
                TableFilter::Partitioned(filter) => {
                    self.partition_may_match(filter, key.internal_key(), key.filter_hash(), legacy)
                }
            };
            return Ok(self.record_filtered(true, may_match));
        }
        let Some(extractor) = &self.filter_prefixes else {
            return Ok(true);
        };
        match extractor.prefix_of(key.user_key_without_timestamp()) {
            Some(prefix) => Ok(self.filter_may_match(filter, key.internal_key(), prefix)),
            None => Ok(true),
        }
    }

    /// False if the filter excludes every user key at or after the internal key `target` with `target`'s
    /// prefix. True also if the table was not written with this prefix extractor.
    ///
    /// Errors: those of reading the filter, on the first call.
    pub fn may_contain_prefix_of(&self, target: &[u8], options: &BlockReadOptions) -> Result<bool> {
        let Some(extractor) = &self.filter_prefixes else {
            return Ok(true);
        };
        let user_key = self.cmp.user().strip_timestamp(internal_key::user_key(target));
        if self.caches_parts() {
            return match extractor.prefix_of(user_key) {
                Some(prefix) => self.cached_filter_may_match(target, prefix, options),
                None => Ok(true),
            };
        }
        match (extractor.prefix_of(user_key), self.filter()?) {
            (Some(prefix), Some(filter)) => Ok(self.filter_may_match(filter, target, prefix)),
            _ => Ok(true),
        }
    }

    fn filter_may_match(&self, filter: &TableFilter, internal_key: &[u8], bytes: &[u8]) -> bool {
        let legacy = || hash32(bytes, LEGACY_SEED);
        let may_match = match filter {
            TableFilter::Full(filter) => filter.may_match(xxph3_64(bytes), legacy),
            TableFilter::Partitioned(filter) => {
                self.partition_may_match(filter, internal_key, xxph3_64(bytes), legacy)
            }
        };
        self.record_filtered(false, may_match)
    }

    fn partition_may_match(
        &self,
        filter: &PartitionedFilter,
        internal_key: &[u8],
        hash: u64,
        legacy: impl FnOnce() -> u32,
    ) -> bool {
        let target = self.target(internal_key);
        let user_keys = self.properties.index_key_is_user_key;
        filter
            .partition(|separator| {
                index::separator_is_before(separator, user_keys, &target, &self.stored_order, &self.form)
            })
            .is_none_or(|partition| partition.may_match(hash, legacy))
    }

    /// Prefetches the filter's memory for this key, if the filter is loaded. Useful if several tables will be
    /// searched for one key.
    #[inline]
    pub fn prefetch_filter(&self, key: &LookupKey) {
        if let Some(Some(TableFilter::Full(filter))) = self.filter.value.get() {
            filter.prefetch(key.filter_hash());
        }
    }

    /// [`Table::may_contain`] for tables that keep index and filter in the cache.
    #[inline(never)]
    pub(super) fn parts_may_contain(&self, key: &LookupKey, options: &BlockReadOptions) -> Result<bool> {
        if self.filter_has_whole_keys {
            let legacy = || key.legacy_filter_hash();
            let may_match = self.ask_cached_filter(key.internal_key(), key.filter_hash(), legacy, options)?;
            return Ok(self.record_asked(true, may_match));
        }
        let extractor = self.filter_prefixes.as_ref();
        match extractor.and_then(|extractor| extractor.prefix_of(key.user_key_without_timestamp())) {
            Some(prefix) => self.cached_filter_may_match(key.internal_key(), prefix, options),
            None => Ok(true),
        }
    }

    fn cached_filter_may_match(
        &self,
        internal_key: &[u8],
        bytes: &[u8],
        options: &BlockReadOptions,
    ) -> Result<bool> {
        let legacy = || hash32(bytes, LEGACY_SEED);
        let may_match = self.ask_cached_filter(internal_key, xxph3_64(bytes), legacy, options)?;
        Ok(self.record_asked(false, may_match))
    }

    /// Counts the answer of a filter, if there is one, and returns it.
    fn record_asked(&self, whole_key: bool, may_match: bool) -> bool {
        match self.filter_handle {
            FilterHandle::None => may_match,
            _ => self.record_filtered(whole_key, may_match),
        }
    }

    fn ask_cached_filter(
        &self,
        internal_key: &[u8],
        hash: u64,
        legacy: impl FnOnce() -> u32,
        options: &BlockReadOptions,
    ) -> Result<bool> {
        let slot = &self.cached_parts().filter;
        match self.filter_handle {
            FilterHandle::None => Ok(true),
            FilterHandle::Full(handle) => {
                let filter = self.part(slot, handle, PartKind::Filter, options)?;
                Ok(filter.filter()?.may_match(hash, legacy))
            }
            FilterHandle::Partitioned(handle) => {
                let top = self.top_level_filter(handle, options)?;
                let top = top.index()?;
                let Some(last) = top.len().checked_sub(1) else {
                    return Ok(true);
                };
                // A prefix of a key after all partitions may still be in the last one.
                let partition = self.seek_index(top, &self.target(internal_key)).min(last);
                let (slot, handle) = (&top.place(partition).slot, top.handle(partition));
                let filter = self.part(slot, handle, PartKind::FilterPartition, options)?;
                Ok(filter.filter()?.may_match(hash, legacy))
            }
        }
    }
}
