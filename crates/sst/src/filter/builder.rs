//! Collects the keys of a table and builds its filter.

use std::sync::Arc;

use base::internal_key::TRAILER_LEN;
use base::prefix::PrefixExtractor;
use cache::EntryRole;
use codec::hash::{hash32, xxph3_64};

use super::policy::{FilterPolicy, Kind};
use super::ribbon::{RibbonBuilder, Shape};
use super::{LEGACY_SEED, bloom, legacy_bloom};
use crate::cache_reservation::CacheReservation;
use crate::read_options::BlockCache;

#[derive(Debug)]
enum Hashes {
    /// The hashes for FastLocalBloom and Ribbon: 8 bytes a key until the filter is built.
    Xxph3(Vec<u64>),
    /// The hashes for the legacy filter.
    Hash32(Vec<u32>),
}

/// Collects hashes while a table is written, 8 bytes for each, and builds a filter at the end; or several
/// filters, each over a range of keys.
pub struct FilterBuilder {
    policy: FilterPolicy,
    kind: Kind,
    optimize_for_memory: bool,
    whole_key_filtering: bool,
    prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    hashes: Hashes,
    /// The hash of the last prefix added. Whole keys and prefixes are interleaved, so the last hash alone
    /// would not show that a prefix was added already.
    last_prefix: Option<u64>,
    partitions: Option<Partitions>,
    /// The charge of the builder's memory to a cache, if it is charged.
    charge: Option<CacheReservation>,
}

/// The partitions of a filter.
struct Partitions {
    /// The number of hashes at which a partition is full.
    keys: usize,
    /// True if partitions end where they are full; if false, the writer of the table ends them.
    decoupled: bool,
    /// The number of zero bytes that represent the timestamp in the key of a partition.
    timestamp_size: usize,
    /// The last key added.
    last_key: Vec<u8>,
    done: Vec<FilterPartition>,
    /// The hashes and the bytes of the finished partitions.
    num_done: usize,
    bytes_done: usize,
}

/// A filter over the keys up to and including `last_key`.
pub struct FilterPartition {
    /// An internal key at or after all keys of the filter, and before those of the next partition.
    pub last_key: Vec<u8>,
    /// The filter.
    pub contents: Vec<u8>,
}

impl FilterBuilder {
    /// A builder for a table of `format_version`, at `level`, or -1 for a flush. `None` if `policy` requests
    /// no filter, or if neither whole keys nor prefixes are to be added.
    pub fn new(
        policy: FilterPolicy,
        format_version: u32,
        level: i32,
        whole_key_filtering: bool,
        prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    ) -> Option<FilterBuilder> {
        (policy.millibits_per_key() > 0 && (whole_key_filtering || prefix_extractor.is_some())).then(|| {
            let kind = policy.kind(format_version, level);
            FilterBuilder {
                policy,
                kind,
                optimize_for_memory: false,
                whole_key_filtering,
                prefix_extractor,
                hashes: match kind {
                    Kind::LegacyBloom => Hashes::Hash32(Vec::new()),
                    Kind::Bloom | Kind::Ribbon(_) => Hashes::Xxph3(Vec::new()),
                },
                last_prefix: None,
                partitions: None,
                charge: None,
            }
        })
    }

    /// The same builder with partitions of `partition_size` bytes. They end where they are full if
    /// `decoupled`, and otherwise where [`cut`](FilterBuilder::cut) is called. Keys had timestamps of
    /// `timestamp_size` bytes.
    pub fn partitioned(self, partition_size: usize, decoupled: bool, timestamp_size: usize) -> FilterBuilder {
        let keys = self.keys_per_partition(partition_size);
        FilterBuilder {
            partitions: Some(Partitions {
                keys,
                decoupled,
                timestamp_size,
                last_key: Vec::new(),
                done: Vec::new(),
                num_done: 0,
                bytes_done: 0,
            }),
            ..self
        }
    }

    /// Makes Bloom filters use the best number of probes for their actual bits, which are whole lines.
    pub fn optimized_for_memory(self, optimize_for_memory: bool) -> FilterBuilder {
        FilterBuilder {
            optimize_for_memory,
            ..self
        }
    }

    /// Charges the memory of the builder to `cache`.
    pub fn charged_to(self, cache: Option<Arc<BlockCache>>) -> FilterBuilder {
        let charge = cache.map(|cache| CacheReservation::new(cache, EntryRole::FilterConstruction));
        FilterBuilder { charge, ..self }
    }

    /// Adjusts the charge to the hashes and the finished partitions. A cache without room refuses no key.
    pub fn update_charge(&self) {
        if let Some(charge) = &self.charge {
            let done = self.partitions.as_ref();
            let done = done.map_or(0, |partitions| partitions.bytes_done);
            let _ = charge.set(self.hashes.memory() + done);
        }
    }

    /// The number of hashes for which a filter takes about that many bytes.
    fn capacity(&self, bytes: usize) -> usize {
        match self.kind {
            Kind::LegacyBloom => legacy_bloom::capacity(bytes, self.policy.whole_bits_per_key()),
            Kind::Bloom => bloom::capacity(bytes, self.policy.millibits_per_key()),
            Kind::Ribbon(ribbon) => ribbon.capacity(bytes),
        }
    }

    /// RocksDB's number of keys in a partition.
    fn keys_per_partition(&self, partition_size: usize) -> usize {
        let mut keys = self.capacity(partition_size);
        // The requested size may be less than that of the smallest filter.
        let mut larger = (partition_size + 4).max(16);
        while keys == 0 {
            keys = self.capacity(larger);
            larger += larger / 4;
        }
        // One place is left free, because the prefix of the next partition's first key will be added too.
        match keys > 1 && self.prefix_extractor.is_some() {
            true => keys - 1,
            false => keys,
        }
    }

    /// Adds a user key without its timestamp. Keys come in order, without duplicates: of several versions of
    /// a key, the caller adds the key with the first version only.
    #[inline]
    pub fn add(&mut self, key: &[u8]) {
        if self.partitions.is_some() {
            self.before_add(key);
        }
        self.add_hashes(key);
    }

    #[inline]
    fn add_hashes(&mut self, key: &[u8]) {
        if self.prefix_extractor.is_some() {
            return self.add_with_prefix(key);
        }
        self.hashes.push(self.hashes.hash(key));
    }

    #[inline(never)]
    fn before_add(&mut self, key: &[u8]) {
        let wants_cut = self.wants_cut();
        let Some(partitions) = &mut self.partitions else {
            return;
        };
        if wants_cut && partitions.decoupled {
            let mut last_key = partitions.last_key.clone();
            // The minimum timestamp, sequence number 0 and the lowest kind sort at or after every version of
            // the key.
            last_key.resize(last_key.len() + partitions.timestamp_size + TRAILER_LEN, 0);
            self.cut(last_key, Some(key));
        }
        if let Some(partitions) = &mut self.partitions {
            partitions.last_key.clear();
            partitions.last_key.extend_from_slice(key);
        }
    }

    /// True if the partition is full.
    pub fn wants_cut(&self) -> bool {
        let full = |partitions: &Partitions| self.hashes.len() >= partitions.keys;
        self.partitions.as_ref().is_some_and(full)
    }

    /// Ends the partition, which may be empty. `last_key` is an internal key at or after all keys added.
    /// `next` is the user key without timestamp of the next entry, if there is one; it may equal the last
    /// one.
    ///
    /// A prefix may be queried for any key that begins with it: therefore both the partition before the first
    /// such key and that after the last one include the prefix.
    pub fn cut(&mut self, last_key: Vec<u8>, next: Option<&[u8]>) {
        if let Some(prefix) = next.and_then(|next| self.prefix_hash(next)) {
            match self.whole_key_filtering {
                true => self.push_with_prefix(prefix, prefix),
                false => self.hashes.push(prefix),
            }
        }
        let contents = self.build();
        let last_prefix = match &mut self.partitions {
            None => None,
            Some(partitions) => {
                partitions.num_done += self.hashes.len();
                partitions.bytes_done += contents.len();
                partitions.done.push(FilterPartition { last_key, contents });
                let known = next.and(Some(&partitions.last_key));
                known.and_then(|key| prefix_hash(self.prefix_extractor.as_ref(), &self.hashes, key))
            }
        };
        self.hashes.clear();
        self.last_prefix = None;
        if let Some(prefix) = last_prefix {
            self.hashes.push(prefix);
        }
        // Older versions of the last key follow: they are queried in this partition.
        if let Some(next) = next
            && self
                .partitions
                .as_ref()
                .is_some_and(|partitions| partitions.last_key == next)
        {
            self.add_hashes(next);
        }
    }

    fn prefix_hash(&self, key: &[u8]) -> Option<u64> {
        prefix_hash(self.prefix_extractor.as_ref(), &self.hashes, key)
    }

    #[inline(never)]
    fn add_with_prefix(&mut self, key: &[u8]) {
        match (self.prefix_hash(key), self.whole_key_filtering) {
            (Some(prefix), true) => self.push_with_prefix(self.hashes.hash(key), prefix),
            (Some(prefix), false) => self.hashes.push(prefix),
            (None, true) => self.hashes.push(self.hashes.hash(key)),
            (None, false) => {}
        }
    }

    /// Adds a key and its prefix, the prefix first, as far as they were not added yet.
    fn push_with_prefix(&mut self, key: u64, prefix: u64) {
        let last = self.hashes.last();
        let last_prefix = self.last_prefix.replace(prefix);
        if last_prefix != Some(prefix) && prefix != key && last != Some(prefix) {
            self.hashes.push(prefix);
        }
        if last != Some(key) && last_prefix != Some(key) {
            self.hashes.push(key);
        }
    }

    /// The number of hashes added so far, which `rocksdb.num.filter_entries` reports.
    pub fn num_added(&self) -> usize {
        self.hashes.len()
            + self
                .partitions
                .as_ref()
                .map_or(0, |partitions| partitions.num_done)
    }

    /// The size of the filter of the keys added so far.
    pub fn estimated_size(&self) -> usize {
        let done = self
            .partitions
            .as_ref()
            .map_or(0, |partitions| partitions.bytes_done);
        let hashes = self.hashes.len();
        done + match (self.kind, &self.hashes) {
            (Kind::Ribbon(ribbon), Hashes::Xxph3(all)) => match all.first() {
                None => 0,
                Some(&first) => match ribbon.shape(hashes, first) {
                    Shape::Bloom(len) | Shape::Ribbon(_, len) => len,
                },
            },
            (_, Hashes::Xxph3(_)) => bloom::size(hashes, self.policy.millibits_per_key()),
            (_, Hashes::Hash32(_)) => legacy_bloom::size(hashes, self.policy.whole_bits_per_key()),
        }
    }

    /// Builds the filter of the hashes; a filter of no hashes never matches.
    fn build(&self) -> Vec<u8> {
        let millibits = self.policy.millibits_per_key();
        match (self.kind, &self.hashes) {
            _ if self.hashes.len() == 0 => Vec::new(),
            (Kind::Ribbon(ribbon), Hashes::Xxph3(hashes)) => self
                .build_ribbon(ribbon, hashes)
                .unwrap_or_else(|| bloom::build(hashes, millibits, self.optimize_for_memory)),
            (_, Hashes::Xxph3(hashes)) => bloom::build(hashes, millibits, self.optimize_for_memory),
            (_, Hashes::Hash32(hashes)) => legacy_bloom::build(hashes, self.policy.whole_bits_per_key()),
        }
    }

    /// A Ribbon filter; `None` if a Bloom filter is to be built, because it is smaller, no seed fits, or the
    /// cache that is charged has no room for the equations.
    fn build_ribbon(&self, ribbon: RibbonBuilder, hashes: &[u64]) -> Option<Vec<u8>> {
        let Some(charge) = &self.charge else {
            return ribbon.build(hashes);
        };
        let equations = ribbon.memory_of_equations(hashes);
        charge.add(equations).ok()?;
        let built = ribbon.build(hashes);
        charge.subtract(equations);
        built
    }

    /// The contents of the filter block; `None` if nothing was added, because then a table has no filter.
    pub fn finish(&self) -> Option<Vec<u8>> {
        self.update_charge();
        let contents = (self.num_added() > 0).then(|| self.build())?;
        if let Some(charge) = &self.charge {
            // The builder lives until the filter is written.
            let _ = charge.add(contents.len());
        }
        Some(contents)
    }

    /// The partitions, including the last one: `last_key` is an internal key at or after all keys. Empty if
    /// nothing was added, because then a table has no filter; `None` for a filter in one block.
    pub fn finish_partitions(&mut self, last_key: &[u8]) -> Option<Vec<FilterPartition>> {
        self.partitions.as_ref()?;
        if self.hashes.len() > 0 {
            self.cut(last_key.to_vec(), None);
        }
        let partitions = self.partitions.as_mut()?;
        match partitions.num_done {
            0 => Some(Vec::new()),
            _ => Some(std::mem::take(&mut partitions.done)),
        }
    }
}

fn prefix_hash(extractor: Option<&Arc<dyn PrefixExtractor>>, hashes: &Hashes, key: &[u8]) -> Option<u64> {
    let prefix = extractor?.prefix_of(key)?;
    Some(hashes.hash(prefix))
}

impl Hashes {
    #[inline]
    fn hash(&self, key: &[u8]) -> u64 {
        match self {
            Hashes::Xxph3(_) => xxph3_64(key),
            Hashes::Hash32(_) => u64::from(hash32(key, LEGACY_SEED)),
        }
    }

    fn last(&self) -> Option<u64> {
        match self {
            Hashes::Xxph3(hashes) => hashes.last().copied(),
            Hashes::Hash32(hashes) => hashes.last().map(|&hash| hash.into()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Hashes::Xxph3(hashes) => hashes.len(),
            Hashes::Hash32(hashes) => hashes.len(),
        }
    }

    /// The bytes of the hashes.
    fn memory(&self) -> usize {
        match self {
            Hashes::Xxph3(hashes) => hashes.capacity() * size_of::<u64>(),
            Hashes::Hash32(hashes) => hashes.capacity() * size_of::<u32>(),
        }
    }

    fn clear(&mut self) {
        match self {
            Hashes::Xxph3(hashes) => hashes.clear(),
            Hashes::Hash32(hashes) => hashes.clear(),
        }
    }

    /// Adds a hash unless it equals the last one.
    #[inline]
    fn push(&mut self, hash: u64) {
        match self {
            Hashes::Xxph3(hashes) if hashes.last() != Some(&hash) => hashes.push(hash),
            Hashes::Hash32(hashes) if hashes.last() != Some(&(hash as u32)) => hashes.push(hash as u32),
            _ => {}
        }
    }
}
