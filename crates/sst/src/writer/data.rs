//! The data section of a table: the blocks on their way to the file, and the index over them.
//!
//! With a compression dictionary the first blocks wait in memory until there is enough data to make the
//! dictionary. Their separators are in the index already, and their handles follow when they are written. The
//! same is true of blocks that other threads compress.

use base::{InternalComparator, Result};
use cache::EntryRole;
use codec::compression::train_dictionary;
use codec::{CompressionOptions, CompressionType, Compressor};

use super::copied_block::CopiedBlock;
use super::index::IndexBuilder;
use super::options::TableWriterOptions;
use super::parallel::ParallelCompression;
use super::sink::{BlockSink, Stored};
use crate::cache_reservation::CacheReservation;
use crate::format::{BlockHandle, IndexType};

/// Blocks are held until they have this many times the bytes of the samples, so that the samples come from
/// all of them.
const HELD_PER_SAMPLE: usize = 64;
/// The minimum bytes of blocks that are held, in tables that have as many. RocksDB holds all blocks.
const MIN_HELD: usize = 4 << 20;
/// The maximum bytes of blocks that are held.
const MAX_HELD: usize = 64 << 20;
/// Samples are taken at steps of this prime modulo the number of blocks. This visits all blocks in an order
/// far from sorted. The number is RocksDB's.
const SAMPLE_STEP: u64 = 545_055_921_143;

/// The blocks that wait for the dictionary.
struct BufferedBlocks {
    blocks: Vec<Vec<u8>>,
    bytes: usize,
    limit: usize,
    /// The charge of the blocks to a cache, if they are charged.
    charge: Option<CacheReservation>,
}

pub(super) struct DataSection {
    pub sink: BlockSink,
    pub index: IndexBuilder,
    compression: CompressionType,
    compression_opts: CompressionOptions,
    /// The compressor of data blocks. `None` if nothing is compressed, and as long as data blocks are held in
    /// memory to make a dictionary from them.
    compressor: Option<Compressor>,
    /// The threads that compress blocks, if the table uses them.
    parallel: Option<ParallelCompression>,
    may_be_parallel: bool,
    held: Option<BufferedBlocks>,
    /// The compression dictionary. Empty if there is none.
    pub dictionary: Vec<u8>,
    /// The alignment of data blocks.
    alignment: Option<u64>,
    /// The end of each block, if the caller asked for the ends.
    pub block_ends: Vec<u64>,
    keeps_ends: bool,
    pub num_blocks: u64,
    pub num_rejected: u64,
    pub num_bypassed: u64,
}

/// The bytes of samples for a dictionary.
fn sample_bytes(options: &CompressionOptions) -> usize {
    match options.zstd_max_train_bytes {
        0 => options.max_dict_bytes as usize,
        train_bytes => train_bytes as usize,
    }
}

/// False if passing a block to another thread costs about as much as compressing it.
fn is_worth_handing_over(compression: CompressionType, options: &CompressionOptions) -> bool {
    match compression {
        CompressionType::Snappy | CompressionType::Lz4 => false,
        CompressionType::Zstd | CompressionType::ZstdNotFinal => options.level >= 0,
        _ => true,
    }
}

impl DataSection {
    pub fn new(sink: BlockSink, options: &TableWriterOptions) -> Result<DataSection> {
        let compression = options.compression;
        let opts = &options.compression_opts;
        let held = (opts.max_dict_bytes > 0 && compression.uses_dictionary()).then(|| BufferedBlocks {
            blocks: Vec::new(),
            bytes: 0,
            limit: sample_bytes(opts)
                .saturating_mul(HELD_PER_SAMPLE)
                .clamp(MIN_HELD, MAX_HELD)
                .min(match opts.max_dict_buffer_bytes {
                    0 => MAX_HELD,
                    most => usize::try_from(most).unwrap_or(MAX_HELD),
                }),
            charge: options
                .dictionary_buffer_cache
                .clone()
                .map(|cache| CacheReservation::new(cache, EntryRole::CompressionDictionaryBuildingBuffer)),
        });
        let compressor = match compression {
            CompressionType::None => None,
            _ if held.is_some() => None,
            _ => Some(Compressor::new(compression, opts, None)?),
        };
        // The ends of index partitions depend on the handles of blocks, which other threads would deliver too
        // late.
        let may_be_parallel = opts.parallel_threads > 1
            && options.index_type != IndexType::TwoLevel
            && is_worth_handing_over(compression, opts);
        let parallel = match compressor {
            Some(_) if may_be_parallel => {
                ParallelCompression::start(compression, opts, None, sink.statistics())?
            }
            _ => None,
        };
        Ok(DataSection {
            sink,
            index: IndexBuilder::new(options),
            compression,
            compression_opts: opts.clone(),
            compressor,
            parallel,
            may_be_parallel,
            held,
            dictionary: Vec::new(),
            alignment: options.block_align.then(|| (options.block_size as u64).min(4096)),
            block_ends: Vec::new(),
            keeps_ends: !options.block_property_collectors.is_empty(),
            num_blocks: 0,
            num_rejected: 0,
            num_bypassed: 0,
        })
    }

    /// The bytes of blocks and index so far. Held blocks count uncompressed.
    #[inline]
    pub fn estimated_size(&self) -> u64 {
        let held = self.held.as_ref().map_or(0, |held| held.bytes);
        let on_their_way = self.parallel.as_ref().map_or(0, ParallelCompression::bytes);
        self.sink.offset() + (held + on_their_way + self.index.estimated_size()) as u64
    }

    /// Takes over the block in `contents`, a buffer that the section may change. `first` is the first key of
    /// the table, `last` the last key of the block and `next` the first key of the next block, if there is
    /// one. Returns true if the block begins a partition of the index.
    pub fn add_block(
        &mut self,
        cmp: &InternalComparator,
        contents: &mut Vec<u8>,
        first: &[u8],
        last: &[u8],
        next: Option<&[u8]>,
    ) -> Result<bool> {
        self.index.add_separator(cmp, first, last, next);
        let Some(held) = &mut self.held else {
            return self.write_block(contents);
        };
        held.bytes += contents.len();
        held.blocks.push(std::mem::take(contents));
        let has_room = held
            .charge
            .as_ref()
            .is_none_or(|charge| charge.set(held.bytes).is_ok());
        if held.bytes >= held.limit || !has_room {
            self.release()?;
        }
        Ok(false)
    }

    /// Adds a block as [`add_block`](DataSection::add_block) does, for one that is in its stored form and
    /// while no blocks are held.
    pub fn add_copied(
        &mut self,
        cmp: &InternalComparator,
        copied: &mut CopiedBlock,
        first: &[u8],
        last: &[u8],
        next: Option<&[u8]>,
    ) -> Result<bool> {
        self.index.add_separator(cmp, first, last, next);
        // Blocks that are still being compressed are written before this block.
        self.collect(true)?;
        let handle = self
            .sink
            .append_copied(&mut copied.bytes, copied.type_byte, copied.placeless)?;
        let stored = match (copied.type_byte, self.compression) {
            (0, CompressionType::None) => Stored::Raw,
            (0, _) => Stored::Rejected,
            _ => Stored::Compressed,
        };
        self.written(handle, stored)
    }

    /// True if the table may have a dictionary.
    pub fn has_dictionary(&self) -> bool {
        self.held.is_some() || !self.dictionary.is_empty()
    }

    fn write_block(&mut self, contents: &mut Vec<u8>) -> Result<bool> {
        if let Some(parallel) = &mut self.parallel {
            parallel.push(contents);
            return self.collect(false).map(|()| false);
        }
        let (handle, stored) = self.sink.write(contents, self.compressor.as_mut())?;
        self.written(handle, stored)
    }

    /// Writes blocks that other threads have compressed: the ones beyond the limit, or `all`.
    fn collect(&mut self, all: bool) -> Result<()> {
        while let Some(parallel) = &mut self.parallel
            && let Some(finished) = parallel.pop(all)
        {
            let mut block = finished?;
            let handle = self.sink.write_finished(
                &mut block.contents,
                &mut block.compressed,
                block.stored,
                self.compression,
            )?;
            let stored = block.stored;
            parallel.give_back(block);
            self.written(handle, stored)?;
        }
        Ok(())
    }

    /// Updates the index and the offsets after a block was written to the file. True if the block begins a
    /// partition of the index.
    fn written(&mut self, handle: BlockHandle, stored: Stored) -> Result<bool> {
        if let Some(alignment) = self.alignment {
            self.sink.pad(alignment)?;
        }
        if self.keeps_ends {
            self.block_ends.push(self.sink.offset());
        }
        let begins_partition = self.index.add_handle(handle);
        self.num_blocks += 1;
        match stored {
            Stored::Compressed => {}
            Stored::Rejected => self.num_rejected += 1,
            Stored::Raw => self.num_bypassed += 1,
        }
        Ok(begins_partition)
    }

    /// Makes the dictionary from the held blocks, if there are any, and writes them.
    fn release(&mut self) -> Result<()> {
        let Some(held) = self.held.take() else {
            return Ok(());
        };
        self.dictionary = held.dictionary(self.compression, &self.compression_opts);
        self.compressor = Some(Compressor::new(
            self.compression,
            &self.compression_opts,
            Some(&self.dictionary),
        )?);
        if self.may_be_parallel {
            let dictionary = Some(&self.dictionary[..]);
            let statistics = self.sink.statistics();
            self.parallel =
                ParallelCompression::start(self.compression, &self.compression_opts, dictionary, statistics)?;
        }
        for mut block in held.blocks {
            self.write_block(&mut block)?;
        }
        Ok(())
    }

    /// Writes the held blocks and those that are being compressed. No data blocks follow.
    pub fn finish(&mut self) -> Result<()> {
        self.release()?;
        self.collect(true)?;
        self.parallel = None;
        Ok(())
    }

    /// The file, the index, and the compressor of index blocks, which never uses the dictionary. The
    /// compressor is `None` if nothing is compressed.
    pub fn into_parts(self) -> Result<(BlockSink, IndexBuilder, Option<Compressor>)> {
        let compressor = if self.dictionary.is_empty() {
            self.compressor
        } else {
            Some(Compressor::new(self.compression, &self.compression_opts, None)?)
        };
        Ok((self.sink, self.index, compressor))
    }
}

impl BufferedBlocks {
    /// A dictionary trained from samples, or the samples themselves. Empty if the samples are too few to
    /// train from.
    fn dictionary(&self, compression: CompressionType, options: &CompressionOptions) -> Vec<u8> {
        let (samples, lens) = self.samples(sample_bytes(options));
        let is_zstd = matches!(compression, CompressionType::Zstd | CompressionType::ZstdNotFinal);
        if is_zstd && options.zstd_max_train_bytes > 0 {
            // Samples that are too few or too much alike are no failure of the table: it has no dictionary
            // then.
            train_dictionary(&samples, &lens, options.max_dict_bytes as usize).unwrap_or_default()
        } else {
            samples
        }
    }

    /// Up to `max` bytes of samples, back to back, and their lengths.
    fn samples(&self, max: usize) -> (Vec<u8>, Vec<usize>) {
        let (mut samples, mut lens) = (Vec::new(), Vec::new());
        let num_blocks = self.blocks.len();
        let mut at = num_blocks / 2;
        for _ in 0..num_blocks {
            let block = &self.blocks[at];
            let len = block.len().min(max - samples.len());
            if len == 0 {
                break;
            }
            samples.extend_from_slice(&block[..len]);
            lens.push(len);
            at = (at + (SAMPLE_STEP % num_blocks as u64) as usize) % num_blocks;
        }
        (samples, lens)
    }
}
