//! Writes tables.
//!
//! Entries go into the data block being built ([`BlockBuilder`]). A block is closed when the entry after it
//! arrives, and not before, for two reasons: the size of that entry decides whether the block is full, and
//! its key determines the block's separator in the index. Between the last key "the quick brown fox" and the
//! next key "the who" the separator is "the r". So the index entry of a block is added then, from the last
//! key, which the block builder keeps.
//!
//! Files have RocksDB's layout:
//!
//! ```text
//! data block* ‖ filter ‖ index ‖ compression dictionary ‖ range deletions ‖ properties ‖ metaindex ‖ footer
//! ```

mod copied_block;
mod copy;
mod data;
mod index;
mod index_block;
mod meta;
mod options;
mod parallel;
mod partitions;
mod prefixes;
mod sink;

pub use meta::tombstone_bounds;
pub use options::{CompressionTally, TableSummary, TableWriterOptions};

use std::cmp::Ordering;

use base::entry_type::EntryType;
use base::internal_key::{TRAILER_LEN, trailer, user_key};
use base::{Error, Kind, Result, SeqNo, UserComparator, shared_len};
use rangedel::RangeTombstone;
use vfs::WritableFile;

use crate::block::builder::BlockBuilder;
use crate::block_properties::BlockProperties;
use crate::filter::FilterBuilder;
use crate::format::IndexType;
use crate::properties::TableProperties;
use copied_block::CopiedBlock;
use data::DataSection;
use prefixes::PrefixBlocks;
use sink::BlockSink;

/// Writes one table, in order of its keys.
///
/// After an error the file is useless: drop or [`abandon`](TableWriter::abandon) the writer and remove the
/// file.
pub struct TableWriter {
    options: TableWriterOptions,
    data: DataSection,
    block: BlockBuilder,
    /// The target size of the current block: the options' `block_size`, or less if the block is to end
    /// sooner.
    block_size: usize,
    /// The current block cannot be full while it is no larger than this. 0 while a copied block waits.
    never_full_up_to: usize,
    /// A block copied from another table. Its entries are the last that were added, and the current block is
    /// empty then.
    copied: CopiedBlock,
    /// The bytes of a block without entries.
    empty_block: usize,
    /// A buffer for a key.
    copied_key: Vec<u8>,
    /// The property that records the compressor's options.
    compression_options: Vec<u8>,
    filter: Option<FilterBuilder>,
    /// True if partitions of the filter end with those of the index.
    coupled_filter: bool,
    /// The prefixes of a hash index.
    prefixes: Option<PrefixBlocks>,
    timestamp_size: usize,
    /// The bytes of the timestamps that are cut off from the keys; 0 if keys are stored whole.
    cut: usize,
    /// The order of whole keys, which the properties name.
    order: UserComparator,
    /// A buffer for a key without its timestamp.
    bare: Vec<u8>,
    range_tombstones: Vec<RangeTombstone>,
    block_properties: Option<Box<BlockProperties>>,
    /// The approximate size of the file without the current block.
    estimate: u64,
    /// True if user keys are in bytewise order and have no timestamps.
    plain_order: bool,
    /// The properties; their counts are up to date.
    properties: TableProperties,
    first_key: Vec<u8>,
    smallest_seqno: SeqNo,
    largest_seqno: SeqNo,
    /// The oldest and the newest timestamp, in families with timestamps.
    timestamps: Option<(Vec<u8>, Vec<u8>)>,
    failed: bool,
}

impl TableWriter {
    /// A writer to `file`, which must be empty.
    ///
    /// Errors: `InvalidArgument` for options that contradict each other, `NotSupported` for a compression
    /// type that is not written.
    pub fn new(file: Box<dyn WritableFile>, mut options: TableWriterOptions) -> Result<TableWriter> {
        options.check()?;
        let order = options.cmp.user().clone();
        let cut = options.cut_timestamps();
        let sink = BlockSink::new(
            file,
            options.checksum,
            options::base_context_checksum(&options),
            options.compression_opts.clone(),
            options.statistics.clone(),
        );
        let mut block = BlockBuilder::of_data(
            options.block_restart_interval,
            options.use_delta_encoding,
            options.hash_table_util_ratio(),
        );
        if options.separate_key_value_in_data_block {
            block = block.with_values_apart();
        }
        let data = DataSection::new(sink, &options)?;
        let filter = FilterBuilder::new(
            options.filter,
            options.format_version,
            options.level,
            options.whole_key_filtering,
            options.prefix_extractor.clone(),
        )
        .map(|filter| {
            filter
                .optimized_for_memory(options.optimize_filters_for_memory)
                .charged_to(options.filter_construction_cache.clone())
        });
        let timestamp_size = options.cmp.user().timestamp_size();
        // Blocks that wait for a dictionary have no handles, and the ends of index partitions depend on
        // handles.
        let decoupled = options.decouple_partitioned_filters || data.has_dictionary();
        let partitioned = |filter: FilterBuilder| match options.partitions_filter() {
            true => filter.partitioned(options.filter_partition_size(), decoupled, timestamp_size),
            false => filter,
        };
        let mut writer = TableWriter {
            prefixes: match (options.index_type, &options.prefix_extractor) {
                (IndexType::HashSearch, Some(extractor)) => Some(PrefixBlocks::new(extractor.clone())),
                _ => None,
            },
            coupled_filter: options.partitions_filter() && !decoupled && filter.is_some(),
            filter: filter.map(partitioned),
            data,
            block_size: 0,
            never_full_up_to: 0,
            empty_block: block.size(),
            copied: CopiedBlock::default(),
            copied_key: Vec::new(),
            compression_options: options::compression_options_text(
                &options.compression_opts,
                options.compression,
            ),
            block,
            estimate: 0,
            plain_order: options.cmp.user().is_bytewise() && timestamp_size == 0,
            timestamp_size,
            cut,
            order,
            bare: Vec::new(),
            range_tombstones: Vec::new(),
            block_properties: BlockProperties::new(&options.block_property_collectors),
            properties: TableProperties::default(),
            first_key: Vec::new(),
            smallest_seqno: SeqNo::MAX,
            largest_seqno: 0,
            timestamps: None,
            failed: false,
            options,
        };
        writer.end_block_at(writer.options.block_size);
        writer.estimate();
        Ok(writer)
    }

    /// Makes the current block end at that size.
    fn end_block_at(&mut self, block_size: usize) {
        self.block_size = block_size;
        // An empty block is never closed, however small the block size.
        self.never_full_up_to = match self.options.block_align {
            true => self.empty_block,
            false => self.options.early_end(block_size).max(self.empty_block),
        };
    }

    /// Adds an entry. It must sort after all earlier ones.
    ///
    /// Errors: `Corruption` for an entry out of order: entries may come from damaged tables without
    /// checksums, and must not be lost in a table that cannot be searched. `InvalidArgument` for a key that
    /// is no internal key, for a range tombstone, and for keys and values beyond
    /// [`row_limit`](TableWriterOptions::row_limit). Also those of the file.
    pub fn add(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        if self.cut > 0 {
            return self.add_cut(internal_key, value);
        }
        let common = shared_len(self.block.last_key(), internal_key);
        self.add_sharing(internal_key, common, value)
    }

    /// Adds an entry without its key's timestamp.
    #[cold]
    fn add_cut(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        let Some(bare) = internal_key.len().checked_sub(TRAILER_LEN + self.cut) else {
            return Err(bad_entry(internal_key, value));
        };
        let mut key = std::mem::take(&mut self.bare);
        key.clear();
        key.extend_from_slice(&internal_key[..bare]);
        key.extend_from_slice(&internal_key[bare + self.cut..]);
        let common = shared_len(self.block.last_key(), &key);
        let added = self.add_sharing(&key, common, value);
        self.bare = key;
        added
    }

    /// Adds an entry as [`add`](TableWriter::add) does, for a key that has exactly `common` leading bytes in
    /// common with the [previous key](TableWriter::last_key). In a table without timestamps it is the key as
    /// it is stored.
    #[inline]
    pub fn add_sharing(&mut self, internal_key: &[u8], common: usize, value: &[u8]) -> Result<()> {
        base::invariant!(common == shared_len(self.block.last_key(), internal_key));
        let suffix = TRAILER_LEN + self.timestamp_size;
        if internal_key.len() < suffix {
            return Err(bad_entry(internal_key, value));
        }
        let key_len = internal_key.len() - TRAILER_LEN;
        if !self.options.row_limit.allows(key_len, value.len()) {
            return Err(self.options.row_limit.error(key_len, value.len()));
        }
        let trailer = trailer(internal_key);
        let kind = trailer as u8;
        if kind == Kind::RangeDeletion as u8 {
            return Err(bad_entry(internal_key, value));
        }
        if self.properties.num_entries > 0 && !self.comes_after_last(internal_key, common) {
            return Err(out_of_order(self.block.last_key(), internal_key));
        }
        if self.block.size() > self.never_full_up_to && self.block_is_full(internal_key, value) {
            self.close_block(Some(internal_key))?;
        }
        if let Some(properties) = &mut self.block_properties {
            let entry = EntryType::of(kind);
            properties.add(user_key(internal_key), value, entry, trailer >> 8);
        }
        let last_len = self.block.last_key().len();
        self.block.add_sharing(internal_key, common, value);
        // Versions of one key differ only in their suffix. The first entry of a table has an empty previous
        // key.
        let is_new = common < internal_key.len() - suffix || last_len != internal_key.len();
        self.record_entry(internal_key, value, trailer, is_new);
        Ok(())
    }

    /// True if an entry with this internal key may follow the previous one, with which it has `common`
    /// leading bytes in common.
    #[inline(always)]
    fn comes_after_last(&self, internal_key: &[u8], common: usize) -> bool {
        let last = self.block.last_key();
        let len = last.len().min(internal_key.len()) - TRAILER_LEN;
        match self.plain_order && common < len {
            true => last[common] < internal_key[common],
            false => self.options.cmp.compare(last, internal_key) == Ordering::Less,
        }
    }

    /// Accounts for an entry of the block that is written next. `is_new`: it is the first version of its user
    /// key.
    #[inline(always)]
    fn record_entry(&mut self, internal_key: &[u8], value: &[u8], trailer: u64, is_new: bool) {
        const DELETIONS: [u8; 3] = [
            Kind::Deletion as u8,
            Kind::SingleDeletion as u8,
            Kind::DeletionWithTimestamp as u8,
        ];
        let key_len = internal_key.len() - TRAILER_LEN - self.timestamp_size;
        let kind = trailer as u8;
        if let Some(filter) = &mut self.filter
            && is_new
        {
            filter.add(&internal_key[..key_len]);
        }
        if let Some(prefixes) = &mut self.prefixes {
            prefixes.add(&internal_key[..key_len], self.data.index.num_separators() as u32);
        }
        self.properties.num_entries += 1;
        self.properties.raw_key_size += internal_key.len() as u64;
        self.properties.raw_value_size += value.len() as u64;
        self.properties.num_deletions += u64::from(DELETIONS.contains(&kind));
        self.properties.num_merge_operands += u64::from(kind == Kind::Merge as u8);
        let seqno = trailer >> 8;
        self.smallest_seqno = self.smallest_seqno.min(seqno);
        self.largest_seqno = self.largest_seqno.max(seqno);
        if self.properties.num_entries == 1 {
            self.first_key.extend_from_slice(internal_key);
        }
        if self.timestamp_size > 0 {
            self.record_timestamp(user_key(internal_key));
        }
    }

    /// Adds a range tombstone. It deletes the versions below `seqno` of the keys from `start` to before
    /// `end`, which are user keys with their timestamps. Tombstones may come in any order and overlap; they
    /// are fragmented when the table is finished. A tombstone that covers nothing is dropped.
    pub fn add_range_tombstone(&mut self, start: &[u8], end: &[u8], seqno: SeqNo) -> Result<()> {
        if start.len().min(end.len()) < self.timestamp_size + self.cut {
            return Err(bad_entry(start, end));
        }
        self.options.row_limit.check_key(start)?;
        self.options.row_limit.check_key(end)?;
        self.range_tombstones.push(RangeTombstone {
            start: start[..start.len() - self.cut].to_vec(),
            end: end[..end.len() - self.cut].to_vec(),
            seqno,
        });
        Ok(())
    }

    /// The approximate size in bytes of the file, if it were finished now.
    #[inline]
    pub fn file_size(&self) -> u64 {
        let block = match (self.copied.waits, self.block.is_empty()) {
            (true, _) => self.copied.bytes.len(),
            (false, true) => 0,
            (false, false) => self.block.size(),
        };
        self.estimate + block as u64
    }

    /// The internal key of the entry added last.
    pub fn last_key(&self) -> &[u8] {
        self.block.last_key()
    }

    /// Updates the estimated size of the closed blocks and of the metadata for them.
    fn estimate(&mut self) {
        let filter = self.filter.as_ref().map_or(0, |filter| {
            filter.update_charge();
            filter.estimated_size()
        });
        self.estimate = self.data.estimated_size() + filter as u64;
    }

    /// The number of entries added, including each range tombstone as it was added.
    pub fn num_entries(&self) -> u64 {
        self.properties.num_entries + self.range_tombstones.len() as u64
    }

    /// Adds user properties, which are written when the table is finished.
    pub fn add_user_properties(&mut self, properties: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) {
        self.options.user_properties.extend(properties);
    }

    /// Sets the times at which the table's rows were written: the value of `rocksdb.seqno.time.map`.
    pub fn set_seqno_to_time_mapping(&mut self, mapping: Vec<u8>) {
        self.properties.seqno_to_time_mapping = mapping;
    }

    /// Closes the file as it is, to be removed.
    pub fn abandon(self) {
        drop(self);
    }

    /// Decides by RocksDB's rule, so that blocks end where RocksDB's blocks end.
    #[inline]
    fn block_is_full(&self, key: &[u8], value: &[u8]) -> bool {
        if self.copied.waits {
            return true;
        }
        let size_after = self.block.size_after(key.len(), value.len());
        if self.options.block_align {
            let with_trailer = size_after + crate::format::BLOCK_TRAILER_LEN;
            return with_trailer > self.options.block_size;
        }
        self.block.size() >= self.block_size || size_after > self.block_size
    }

    /// Passes the current block to the data section. `next` is the key that comes after it.
    #[inline(never)]
    fn close_block(&mut self, next: Option<&[u8]>) -> Result<()> {
        if self.coupled_filter && self.filter.as_ref().is_some_and(FilterBuilder::wants_cut) {
            self.data.index.request_cut();
        }
        let (cmp, first) = (&self.options.cmp, &self.first_key[..]);
        let (contents_len, written) = if std::mem::take(&mut self.copied.waits) {
            let last = self.block.last_key();
            let written = self.data.add_copied(cmp, &mut self.copied, first, last, next);
            (self.copied.contents_len, written)
        } else {
            let (contents, last) = self.block.finish();
            let contents_len = contents.len();
            let written = self.data.add_block(cmp, contents, first, last, next);
            (contents_len, written)
        };
        if let Some(properties) = &mut self.block_properties {
            properties.end_block(contents_len);
        }
        self.block.reset();
        self.end_block_at(self.options.block_size);
        self.failed |= written.is_err();
        if written? && self.coupled_filter {
            self.cut_filter(next);
        }
        self.estimate();
        Ok(())
    }

    /// Ends the partition of the filter with the block written last.
    fn cut_filter(&mut self, next: Option<&[u8]>) {
        if let Some(filter) = &mut self.filter {
            let next = next.map(|next| self.options.cmp.user().strip_timestamp(user_key(next)));
            filter.cut(self.data.index.last_separator().to_vec(), next);
        }
    }

    #[inline(never)]
    fn record_timestamp(&mut self, user_key: &[u8]) {
        let cmp = self.options.cmp.user();
        let timestamp = cmp.timestamp(user_key);
        let Some((min, max)) = &mut self.timestamps else {
            self.timestamps = Some((timestamp.to_vec(), timestamp.to_vec()));
            return;
        };
        if cmp.compare_timestamp(timestamp, min) == Ordering::Less {
            min.copy_from_slice(timestamp);
        }
        if cmp.compare_timestamp(timestamp, max) == Ordering::Greater {
            max.copy_from_slice(timestamp);
        }
    }
}

#[cold]
fn out_of_order(last: &[u8], key: &[u8]) -> Error {
    Error::corruption(format!(
        "keys out of order: {} after {}",
        key.escape_ascii(),
        last.escape_ascii()
    ))
}

#[cold]
fn bad_entry(key: &[u8], value: &[u8]) -> Error {
    Error::invalid_argument(format!(
        "not an entry of a table: key of {} bytes ending in {:02x?}, value of {} bytes",
        key.len(),
        &key[key.len().saturating_sub(TRAILER_LEN)..],
        value.len()
    ))
}

#[cfg(test)]
mod tests;
