//! The end of a table, after the data blocks: filter, index, dictionary, range deletions, properties,
//! metaindex, footer.

use std::cmp::Ordering;
use std::sync::Arc;

use base::internal_key;
use base::{Error, InternalComparator, Kind, MAX_SEQNO, Result, UserComparator};
use codec::{CompressionType, Compressor};
use rangedel::{FragmentedTombstones, RangeTombstone};
use vfs::FileSync;

use super::index::IndexBuilder;
use super::index_block::IndexBlock;
use super::options::{TableSummary, TableWriterOptions, base_context_checksum, compression_options_text};
use super::prefixes::PrefixBlocks;
use super::sink::BlockSink;
use super::{SeqNo, TableWriter};
use crate::block::builder::BlockBuilder;
use crate::filter::{FilterBuilder, FilterPartition};
use crate::format::{
    BLOCK_TRAILER_LEN, BlockHandle, FV_COMPRESSION_MANAGER, FV_CONTEXT_CHECKSUMS, Footer, meta,
};
use crate::properties::{NONE, TableProperties};

/// The compression manager whose types are those of [`CompressionType`].
const COMPRESSION_MANAGER: &str = "BuiltinV2";
/// The `rocksdb.external_sst_file.version` of a file with room for a global sequence number.
const EXTERNAL_VERSION: u32 = 2;

/// The smallest and the largest internal key of a table.
struct Bounds {
    smallest: Vec<u8>,
    largest: Vec<u8>,
    smallest_seqno: SeqNo,
    largest_seqno: SeqNo,
}

impl Bounds {
    /// Widens the bounds to hold `tombstone`.
    fn add(&mut self, cmp: &InternalComparator, tombstone: &RangeTombstone) {
        let [start, end] = tombstone_bounds(cmp, tombstone);
        if self.smallest.is_empty() || cmp.compare(&start, &self.smallest) == Ordering::Less {
            self.smallest = start;
        }
        if self.largest.is_empty() || cmp.compare(&end, &self.largest) == Ordering::Greater {
            self.largest = end;
        }
        self.smallest_seqno = self.smallest_seqno.min(tombstone.seqno);
        self.largest_seqno = self.largest_seqno.max(tombstone.seqno);
    }

    /// Completes the bounds of `entries` entries: puts back the timestamps of `size` bytes that the stored
    /// keys lack, the minimum one, and the maximum one in the sentinel of a range tombstone's end.
    fn complete(&mut self, entries: u64, size: usize) {
        if entries == 0 {
            self.smallest_seqno = 0;
        }
        let sentinel = internal_key::pack_trailer(MAX_SEQNO, Kind::RangeDeletion as u8);
        for key in [&mut self.smallest, &mut self.largest] {
            if let Some(end) = key.len().checked_sub(internal_key::TRAILER_LEN) {
                let is_sentinel = internal_key::trailer(key) == sentinel;
                let fill = if is_sentinel { 0xff } else { 0 };
                key.splice(end..end, std::iter::repeat_n(fill, size));
            }
        }
    }
}

/// The smallest and the largest internal key of a table that holds nothing but `tombstone`.
pub fn tombstone_bounds(cmp: &InternalComparator, tombstone: &RangeTombstone) -> [Vec<u8>; 2] {
    let start = internal_key::encode(&tombstone.start, tombstone.seqno, Kind::RangeDeletion);
    // Every version of the end key sorts after this: the end itself is not covered.
    let mut end_key = tombstone.end.clone();
    let timestamp = end_key.len() - cmp.user().timestamp_size();
    end_key[timestamp..].fill(0xff);
    [
        start,
        internal_key::encode(&end_key, MAX_SEQNO, Kind::RangeDeletion),
    ]
}

/// Finishes a table whose data blocks are written. Also returns the handle that syncs it if it is not synced.
fn finish(writer: TableWriter, sync: bool) -> Result<(TableSummary, Option<Arc<dyn FileSync>>)> {
    let TableWriter {
        options,
        data,
        block,
        mut filter,
        coupled_filter,
        prefixes,
        range_tombstones,
        mut properties,
        first_key,
        smallest_seqno,
        largest_seqno,
        timestamps,
        cut,
        order,
        ..
    } = writer;
    let mut bounds = Bounds {
        smallest: first_key,
        largest: block.last_key().to_vec(),
        smallest_seqno,
        largest_seqno,
    };
    let data_size = data.sink.offset();
    properties.data_size = data_size;
    properties.tail_start_offset = Some(data_size);
    properties.num_data_blocks = data.num_blocks;
    properties.num_data_blocks_compression_rejected = Some(data.num_rejected);
    properties.num_data_blocks_compression_bypassed = Some(data.num_bypassed);
    properties.decoupled_partitioned_filters =
        (options.partitions_filter() && filter.is_some()).then_some(!coupled_filter);
    if let Some((min, max)) = timestamps {
        (properties.timestamp_min, properties.timestamp_max) = (min, max);
    }
    let dictionary = data.dictionary.clone();
    let (sink, index, compressor) = data.into_parts()?;
    let mut tail = Tail {
        options: &options,
        sink,
        compressor,
        properties,
        metaindex: Vec::new(),
    };
    if let Some(filter) = &mut filter {
        tail.write_filter(filter, &index, block.last_key())?;
    }
    if let Some(blocks) = prefixes.and_then(PrefixBlocks::finish) {
        tail.write_hash_index(blocks)?;
    }
    let index = tail.write_index(&index)?;
    if !dictionary.is_empty() {
        tail.write_dictionary(dictionary)?;
    }
    let tombstones = FragmentedTombstones::build(range_tombstones, options.cmp.user());
    if !tombstones.is_empty() {
        tail.write_range_deletions(&tombstones, &mut bounds)?;
        tail.properties.entry_largest_seqno = Some(largest_seqno);
    }
    bounds.complete(tail.properties.num_entries, cut);
    describe(&mut tail.properties, &options, (&order, cut == 0));
    tail.write_properties(&bounds)?;
    tail.finish(index, bounds, sync)
}

/// The end of a table while it is written: the blocks after the data blocks, and the entries of the metaindex
/// that lead to them.
struct Tail<'a> {
    options: &'a TableWriterOptions,
    sink: BlockSink,
    /// The compressor of the blocks of indexes.
    compressor: Option<Compressor>,
    properties: TableProperties,
    metaindex: Vec<(&'static str, BlockHandle)>,
}

impl Tail<'_> {
    /// Writes the filter, if it has entries.
    fn write_filter(
        &mut self,
        filter: &mut FilterBuilder,
        index: &IndexBuilder,
        last_key: &[u8],
    ) -> Result<()> {
        let (name, mut contents) = match filter.finish_partitions(last_key) {
            None => match filter.finish() {
                None => return Ok(()),
                Some(contents) => (meta::FULL_FILTER, contents),
            },
            Some(partitions) if partitions.is_empty() => return Ok(()),
            Some(partitions) => {
                let mut top_level = IndexBlock::new(index.coding());
                for FilterPartition {
                    last_key,
                    mut contents,
                } in partitions
                {
                    self.properties.filter_size += contents.len() as u64;
                    top_level.add(&last_key, self.sink.write_plain(&mut contents)?, None);
                }
                (meta::PARTITIONED_FILTER, top_level.finish())
            }
        };
        self.properties.num_filter_entries = filter.num_added() as u64;
        self.properties.filter_size += contents.len() as u64;
        self.metaindex.push((name, self.sink.write_plain(&mut contents)?));
        Ok(())
    }

    /// Writes the prefixes of a hash index, and the blocks in which they are.
    fn write_hash_index(&mut self, [prefixes, hints]: [Vec<u8>; 2]) -> Result<()> {
        for (name, mut contents) in [
            (meta::HASH_INDEX_PREFIXES, prefixes),
            (meta::HASH_INDEX_METADATA, hints),
        ] {
            let (handle, ..) = self.sink.write(&mut contents, self.compressor.as_mut())?;
            self.metaindex.push((name, handle));
        }
        Ok(())
    }

    /// Writes the index, and returns the handle of its top-level block.
    fn write_index(&mut self, index: &IndexBuilder) -> Result<BlockHandle> {
        let coding = index.coding();
        let index = index.finish(|contents| {
            let compressor = self
                .compressor
                .as_mut()
                .filter(|_| self.options.enable_index_compression);
            Ok(self.sink.write(contents, compressor)?.0)
        })?;
        let properties = &mut self.properties;
        properties.index_size = (index.size + BLOCK_TRAILER_LEN) as u64;
        if let Some((partitions, top_level_size)) = index.partitions {
            properties.index_partitions = Some(partitions as u64);
            properties.top_level_index_size = Some(top_level_size as u64);
        }
        properties.index_type = self.options.index_type;
        properties.index_key_is_user_key = !coding.internal_keys;
        properties.index_value_is_delta_encoded = coding.delta;
        properties.index_block_restart_interval = Some(coding.restart_interval as u64);
        if self.options.format_version >= FV_CONTEXT_CHECKSUMS {
            self.metaindex.push((meta::INDEX, index.handle));
        }
        Ok(index.handle)
    }

    fn write_dictionary(&mut self, mut dictionary: Vec<u8>) -> Result<()> {
        let handle = self.sink.write_plain(&mut dictionary)?;
        self.metaindex.push((meta::COMPRESSION_DICT, handle));
        Ok(())
    }

    /// Writes the range tombstones, counts them as entries, and widens the bounds to hold them.
    fn write_range_deletions(
        &mut self,
        tombstones: &FragmentedTombstones,
        bounds: &mut Bounds,
    ) -> Result<()> {
        let properties = &mut self.properties;
        let mut block = BlockBuilder::new(1);
        let mut key = Vec::new();
        for tombstone in tombstones.tombstones() {
            key.clear();
            internal_key::append(&mut key, &tombstone.start, tombstone.seqno, Kind::RangeDeletion);
            block.add(&key, &tombstone.end);
            properties.num_entries += 1;
            properties.num_deletions += 1;
            properties.num_range_deletions += 1;
            properties.raw_key_size += (tombstone.start.len() + internal_key::TRAILER_LEN) as u64;
            properties.raw_value_size += tombstone.end.len() as u64;
            bounds.add(&self.options.cmp, &tombstone);
        }
        let handle = self.sink.write_plain(block.finish().0)?;
        self.metaindex.push((meta::RANGE_DEL, handle));
        Ok(())
    }

    fn write_properties(&mut self, bounds: &Bounds) -> Result<()> {
        let properties = &mut self.properties;
        properties.key_smallest_seqno = Some(bounds.smallest_seqno);
        properties.key_largest_seqno = Some(bounds.largest_seqno);
        properties.compression = compression_property(self.options, &self.sink);
        // One restart point for the whole block, so that names share their prefixes.
        let mut block = BlockBuilder::new(usize::MAX);
        for (name, value) in properties.entries() {
            block.add(&name, &value);
        }
        let handle = self.sink.write_plain(block.finish().0)?;
        self.metaindex.push((meta::PROPERTIES, handle));
        Ok(())
    }

    fn write_metaindex(&mut self) -> Result<BlockHandle> {
        self.metaindex.sort_by_key(|entry| entry.0);
        let mut block = BlockBuilder::new(1);
        let mut value = Vec::new();
        for (name, handle) in &self.metaindex {
            value.clear();
            handle.encode(&mut value);
            block.add(name.as_bytes(), &value);
        }
        self.sink.write_plain(block.finish().0)
    }

    /// Writes metaindex and footer, and closes the file. `index` is the block that leads to the data blocks.
    fn finish(
        mut self,
        index: BlockHandle,
        bounds: Bounds,
        sync: bool,
    ) -> Result<(TableSummary, Option<Arc<dyn FileSync>>)> {
        let metaindex = self.write_metaindex()?;
        let options = self.options;
        let footer = Footer {
            format_version: options.format_version,
            checksum: options.checksum,
            base_context_checksum: base_context_checksum(options),
            metaindex,
            index: (options.format_version < FV_CONTEXT_CHECKSUMS).then_some(index),
        }
        .encode(self.sink.offset());
        let compressed = self.sink.tally();
        let (file_size, unsynced) = self.sink.finish(&footer, sync)?;
        let summary = TableSummary {
            file_size,
            properties: self.properties,
            smallest: bounds.smallest,
            largest: bounds.largest,
            smallest_seqno: bounds.smallest_seqno,
            largest_seqno: bounds.largest_seqno,
            compressed,
        };
        Ok((summary, unsynced))
    }
}

/// Sets the properties that come from the options, for whole keys in the given order, and true if they are
/// stored whole.
fn describe(
    properties: &mut TableProperties,
    options: &TableWriterOptions,
    (order, is_whole): (&UserComparator, bool),
) {
    properties.user_defined_timestamps_persisted = is_whole;
    let name = |name: Option<&str>| name.unwrap_or(NONE).as_bytes().to_vec();
    let extractor = options.prefix_extractor.as_deref();
    properties.whole_key_filtering = Some(options.whole_key_filtering);
    properties.prefix_filtering = Some(extractor.is_some());
    properties.prefix_extractor_name = name(extractor.map(|extractor| extractor.name()));
    properties.filter_policy = options.filter.name().into();
    properties.column_family_id = options.cf_id.into();
    properties.column_family_name = options.cf_name.clone();
    match order.is_told_to_rocksdb() {
        true => properties.comparator = order.name().into(),
        false => properties.untold_comparator = order.name().into(),
    }
    properties.merge_operator = name(options.merge_operator.as_deref());
    properties.property_collectors = options.property_collectors.clone().into();
    properties.compression_options = compression_options_text(&options.compression_opts, options.compression);
    properties.db_id = options.db_id.clone().into();
    properties.db_session_id = options.session_id.clone().into();
    properties.db_host_id = options.host_id.clone().into();
    properties.orig_file_number = options.file_number;
    properties.creation_time = options.creation_time;
    properties.oldest_key_time = options.oldest_key_time;
    properties.newest_key_time = (options.newest_key_time > 0).then_some(options.newest_key_time);
    properties.file_creation_time = options.file_creation_time;
    properties.format_version = options.format_version.into();
    properties.data_block_restart_interval = Some(options.block_restart_interval as u64);
    properties.separate_key_value_in_data_block = options.separate_key_value_in_data_block.into();
    if options.external {
        properties.external_sst_file_version = Some(EXTERNAL_VERSION);
        properties.external_sst_file_global_seqno = Some(0);
    }
    properties.user_collected = options.user_properties.clone();
}

/// The compression types that a reader must know: below format version 7 one name, from 7 on a list.
fn compression_property(options: &TableWriterOptions, sink: &BlockSink) -> Vec<u8> {
    if options.format_version < FV_COMPRESSION_MANAGER {
        // The type is named even if no block was worth compressing, as in RocksDB.
        return options.compression.property_name().into();
    }
    let manager = match options.compression {
        CompressionType::None => "",
        _ => COMPRESSION_MANAGER,
    };
    let types: String = sink.types_used().map(|ty| format!("{:02X}", ty as u8)).collect();
    format!("{manager};{types};").into()
}

impl TableWriter {
    /// Writes the rest of the file, syncs and closes it.
    ///
    /// Errors: those of the file, and `Aborted` if an earlier call failed.
    pub fn finish(self) -> Result<TableSummary> {
        self.finish_file(true).map(|(summary, _)| summary)
    }

    /// Writes the rest of the file and closes it. The second result syncs the file, which the caller must do
    /// before anything relies on it; `None`: it is synced already.
    ///
    /// # Errors
    /// Those of [`finish`](TableWriter::finish).
    pub fn finish_unsynced(self) -> Result<(TableSummary, Option<Arc<dyn FileSync>>)> {
        self.finish_file(false)
    }

    fn finish_file(mut self, sync: bool) -> Result<(TableSummary, Option<Arc<dyn FileSync>>)> {
        if self.failed {
            return Err(Error::new(
                base::ErrorKind::Aborted,
                "an earlier write of the table failed",
            ));
        }
        if self.copied.waits || !self.block.is_empty() {
            self.close_block(None)?;
        }
        self.data.finish()?;
        if let Some(properties) = self.block_properties.take() {
            let properties = properties.finish(&self.data.block_ends);
            self.add_user_properties(properties);
        }
        finish(self, sync)
    }
}
