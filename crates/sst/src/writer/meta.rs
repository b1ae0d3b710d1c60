//! The end of a table, after the data blocks: filter, index, dictionary, range deletions, properties,
//! metaindex, footer.

use std::cmp::Ordering;
use std::sync::Arc;

use base::internal_key;
use base::{Error, InternalComparator, Kind, MAX_SEQNO, Result, UserComparator};
use codec::CompressionType;
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
    let cmp = &options.cmp;
    let data_size = data.sink.offset();
    let mut bounds = Bounds {
        smallest: first_key,
        largest: block.last_key().to_vec(),
        smallest_seqno,
        largest_seqno,
    };
    let dictionary = data.dictionary.clone();
    properties.num_data_blocks = data.num_blocks;
    properties.num_data_blocks_compression_rejected = Some(data.num_rejected);
    properties.num_data_blocks_compression_bypassed = Some(data.num_bypassed);
    let (mut sink, index, mut index_compressor) = data.into_parts()?;
    let mut metaindex = Vec::new();

    if let Some(filter) = &mut filter
        && let Some(entry) = write_filter(&mut sink, filter, &index, block.last_key(), &mut properties)?
    {
        metaindex.push(entry);
    }

    if let Some([prefixes, hints]) = prefixes.and_then(PrefixBlocks::finish) {
        for (name, mut contents) in [
            (meta::HASH_INDEX_PREFIXES, prefixes),
            (meta::HASH_INDEX_METADATA, hints),
        ] {
            metaindex.push((name, sink.write(&mut contents, index_compressor.as_mut())?.0));
        }
    }
    let coding = index.coding();
    let index = index.finish(|contents| {
        let compressor = index_compressor
            .as_mut()
            .filter(|_| options.enable_index_compression);
        Ok(sink.write(contents, compressor)?.0)
    })?;
    properties.index_size = (index.size + BLOCK_TRAILER_LEN) as u64;
    if let Some((partitions, top_level_size)) = index.partitions {
        properties.index_partitions = Some(partitions as u64);
        properties.top_level_index_size = Some(top_level_size as u64);
    }
    if options.format_version >= FV_CONTEXT_CHECKSUMS {
        metaindex.push((meta::INDEX, index.handle));
    }

    if !dictionary.is_empty() {
        let mut contents = dictionary;
        metaindex.push((meta::COMPRESSION_DICT, sink.write_plain(&mut contents)?));
    }

    let tombstones = FragmentedTombstones::build(range_tombstones, cmp.user());
    if !tombstones.is_empty() {
        let handle = write_range_deletions(&mut sink, &tombstones, |tombstone| {
            properties.num_entries += 1;
            properties.num_deletions += 1;
            properties.num_range_deletions += 1;
            properties.raw_key_size += (tombstone.start.len() + internal_key::TRAILER_LEN) as u64;
            properties.raw_value_size += tombstone.end.len() as u64;
            bounds.add(cmp, tombstone);
        })?;
        metaindex.push((meta::RANGE_DEL, handle));
        properties.entry_largest_seqno = Some(largest_seqno);
    }
    bounds.complete(properties.num_entries, cut);

    properties.data_size = data_size;
    properties.tail_start_offset = Some(data_size);
    properties.index_type = options.index_type;
    properties.index_key_is_user_key = !coding.internal_keys;
    properties.index_value_is_delta_encoded = coding.delta;
    properties.index_block_restart_interval = Some(coding.restart_interval as u64);
    properties.decoupled_partitioned_filters =
        (options.partitions_filter() && filter.is_some()).then_some(!coupled_filter);
    properties.key_smallest_seqno = Some(bounds.smallest_seqno);
    properties.key_largest_seqno = Some(bounds.largest_seqno);
    if let Some((min, max)) = timestamps {
        (properties.timestamp_min, properties.timestamp_max) = (min, max);
    }
    properties.compression = compression_property(&options, &sink);
    describe(&mut properties, &options, (&order, cut == 0));
    metaindex.push((meta::PROPERTIES, write_properties(&mut sink, &properties)?));

    let metaindex = write_metaindex(&mut sink, metaindex)?;
    let footer = Footer {
        format_version: options.format_version,
        checksum: options.checksum,
        base_context_checksum: base_context_checksum(&options),
        metaindex,
        index: (options.format_version < FV_CONTEXT_CHECKSUMS).then_some(index.handle),
    }
    .encode(sink.offset());
    let compressed = sink.tally();
    let (file_size, unsynced) = sink.finish(&footer, sync)?;
    let summary = TableSummary {
        file_size,
        properties,
        smallest: bounds.smallest,
        largest: bounds.largest,
        smallest_seqno: bounds.smallest_seqno,
        largest_seqno: bounds.largest_seqno,
        compressed,
    };
    Ok((summary, unsynced))
}

/// Writes the filter, if it has entries. Returns its entry in the metaindex.
fn write_filter(
    sink: &mut BlockSink,
    filter: &mut FilterBuilder,
    index: &IndexBuilder,
    last_key: &[u8],
    properties: &mut TableProperties,
) -> Result<Option<(&'static str, BlockHandle)>> {
    let (name, mut contents) = match filter.finish_partitions(last_key) {
        None => match filter.finish() {
            None => return Ok(None),
            Some(contents) => (meta::FULL_FILTER, contents),
        },
        Some(partitions) if partitions.is_empty() => return Ok(None),
        Some(partitions) => {
            let mut top_level = IndexBlock::new(index.coding());
            for FilterPartition {
                last_key,
                mut contents,
            } in partitions
            {
                properties.filter_size += contents.len() as u64;
                top_level.add(&last_key, sink.write_plain(&mut contents)?, None);
            }
            (meta::PARTITIONED_FILTER, top_level.finish())
        }
    };
    properties.num_filter_entries = filter.num_added() as u64;
    properties.filter_size += contents.len() as u64;
    Ok(Some((name, sink.write_plain(&mut contents)?)))
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

fn write_range_deletions(
    sink: &mut BlockSink,
    tombstones: &FragmentedTombstones,
    mut count: impl FnMut(&RangeTombstone),
) -> Result<BlockHandle> {
    let mut block = BlockBuilder::new(1);
    let mut key = Vec::new();
    for tombstone in tombstones.tombstones() {
        key.clear();
        internal_key::append(&mut key, &tombstone.start, tombstone.seqno, Kind::RangeDeletion);
        block.add(&key, &tombstone.end);
        count(&tombstone);
    }
    sink.write_plain(block.finish().0)
}

fn write_properties(sink: &mut BlockSink, properties: &TableProperties) -> Result<BlockHandle> {
    // One restart point for the whole block, so that names share their prefixes.
    let mut block = BlockBuilder::new(usize::MAX);
    for (name, value) in properties.entries() {
        block.add(&name, &value);
    }
    sink.write_plain(block.finish().0)
}

fn write_metaindex(sink: &mut BlockSink, mut entries: Vec<(&str, BlockHandle)>) -> Result<BlockHandle> {
    entries.sort_by_key(|entry| entry.0);
    let mut block = BlockBuilder::new(1);
    let mut value = Vec::new();
    for (name, handle) in entries {
        value.clear();
        handle.encode(&mut value);
        block.add(name.as_bytes(), &value);
    }
    sink.write_plain(block.finish().0)
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
