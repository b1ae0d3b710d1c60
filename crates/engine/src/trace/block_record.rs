//! The records of a trace of the block cache and their encoding: `docs/format/trace.md`.

use base::coding::{self, Reader};
use base::{Error, Result};
use sst::TableReaderCaller;
use sst::block_trace::{BlockAccess, TracedBlock};

use super::accesses::{AccessTraceReader, all_taken, sealed};

/// Reads a trace of the block cache.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let options = esker::Options { create_if_missing: true, ..Default::default() };
/// # let db = esker::Db::open(&options, dir.path())?;
/// use esker::{BlockCacheTraceOptions, BlockCacheTraceReader, FileTraceWriter};
///
/// let (fs, path) = (&*options.fs, dir.path().join("trace"));
/// let writer = FileTraceWriter::create(fs, &path)?;
/// db.start_block_cache_trace(&BlockCacheTraceOptions::default(), Box::new(writer))?;
/// db.get(b"key")?;
/// db.end_block_cache_trace()?;
///
/// let mut reader = BlockCacheTraceReader::open(fs, &path)?;
/// while let Some(record) = reader.next_record()? {
///     println!("{:?} of {}: hit {}", record.block_type, record.cf_name, record.is_cache_hit);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type BlockCacheTraceReader = AccessTraceReader<BlockCacheTraceRecord>;

/// One lookup of a block.
///
/// See the example of [`BlockCacheTraceReader`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockCacheTraceRecord {
    /// The time of the lookup in microseconds since 1970.
    pub access_timestamp: u64,
    /// The kind of block.
    pub block_type: TracedBlock,
    /// The key of the block in the cache. Esker's is two varints: the number of the table in the cache, and
    /// the block's offset in the file.
    pub block_key: Vec<u8>,
    /// The bytes that the block is charged in the cache.
    pub block_size: u64,
    /// The id of the column family.
    pub cf_id: u64,
    /// The name of the column family.
    pub cf_name: String,
    /// The level of the file; `u32::MAX` if the level is not known.
    pub level: u32,
    /// The number of the file.
    pub sst_fd_number: u64,
    /// The caller of the lookup: a Get, an iterator, a compaction and so on.
    pub caller: TableReaderCaller,
    /// True if the block was in the cache.
    pub is_cache_hit: bool,
    /// True if the lookup does not insert the block into the cache after a miss.
    pub no_insert: bool,
    /// The id of the Get or MultiGet, the same for all its lookups; 0 for other callers.
    pub get_id: u64,
    /// True if the Get reads as of a snapshot of the caller.
    pub get_from_user_specified_snapshot: bool,
    /// The internal key that a Get searches for; empty for other callers, and for index and filter blocks of
    /// a MultiGet.
    pub referenced_key: Vec<u8>,
    /// The bytes of the key's versions in the data block, values included; 0 except for data blocks of Gets.
    pub referenced_data_size: u64,
    /// The approximate number of entries of the data block; 0 except for data blocks of Gets.
    pub num_keys_in_block: u64,
    /// True if the key was in the data block.
    pub referenced_key_exist_in_block: bool,
}

impl BlockCacheTraceRecord {
    /// The offset of the block in its file; `None` if [`block_key`](Self::block_key) does not contain it.
    /// Esker's keys do. RocksDB's keys have been hashes of 16 bytes since 6.30.
    pub fn block_offset(&self) -> Option<u64> {
        let (_, len) = coding::varint64(&self.block_key)?;
        let (offset, rest) = coding::varint64(&self.block_key[len..])?;
        (len + rest == self.block_key.len()).then_some(offset)
    }
}

/// Encodes the payload of a lookup of a block of a column family, given by id and name, at `level`.
pub(super) fn encode(out: &mut Vec<u8>, access: &BlockAccess<'_>, (id, name): (u32, &str), level: u32) {
    coding::put_length_prefixed(out, access.block_key);
    coding::put_u64(out, access.size);
    coding::put_u64(out, u64::from(id));
    coding::put_length_prefixed(out, name.as_bytes());
    coding::put_u32(out, level);
    coding::put_u64(out, access.file_number);
    out.extend([
        access.caller as u8,
        u8::from(access.is_hit),
        u8::from(access.no_insert),
    ]);
    if let Some(get) = &access.get {
        coding::put_u64(out, get.get_id);
        out.push(u8::from(get.from_snapshot));
        coding::put_length_prefixed(out, get.key);
        if access.block == TracedBlock::Data {
            coding::put_u64(out, get.referenced_data_size);
            coding::put_u64(out, get.num_keys_in_block);
            out.push(u8::from(get.key_exists));
        }
    }
}

fn block_type(kind: u8) -> Option<TracedBlock> {
    let all = [
        TracedBlock::Index,
        TracedBlock::Filter,
        TracedBlock::Data,
        TracedBlock::Dictionary,
        TracedBlock::RangeDeletion,
    ];
    all.into_iter().find(|block| *block as u8 == kind)
}

impl sealed::Decoded for BlockCacheTraceRecord {
    fn is_of_type(kind: u8) -> bool {
        block_type(kind).is_some()
    }

    fn decode(timestamp: u64, kind: u8, payload: &[u8]) -> Result<BlockCacheTraceRecord> {
        let block_type = block_type(kind).ok_or_else(|| Error::corruption("unknown type of block").at(0))?;
        let mut reader = Reader::new(payload);
        let block_key = reader.length_prefixed("key of a traced block")?.to_vec();
        let block_size = reader.u64("size of a traced block")?;
        let cf_id = reader.u64("column family of a traced block")?;
        let cf_name = reader.length_prefixed("column family of a traced block")?;
        let cf_name = String::from_utf8_lossy(cf_name).into_owned();
        let level = reader.u32("level of a traced block")?;
        let sst_fd_number = reader.u64("file of a traced block")?;
        let at = reader.position() as u64;
        let caller = reader.u8("caller of a traced lookup")?;
        let caller = TableReaderCaller::ALL
            .get(usize::from(caller).wrapping_sub(1))
            .copied();
        let caller = caller.ok_or_else(|| Error::corruption("unknown caller of a traced lookup").at(at))?;
        let is_cache_hit = flag(&mut reader)?;
        let mut record = BlockCacheTraceRecord {
            access_timestamp: timestamp,
            block_type,
            block_key,
            block_size,
            cf_id,
            cf_name,
            level,
            sst_fd_number,
            caller,
            is_cache_hit,
            no_insert: flag(&mut reader)?,
            get_id: 0,
            get_from_user_specified_snapshot: false,
            referenced_key: Vec::new(),
            referenced_data_size: 0,
            num_keys_in_block: 0,
            referenced_key_exist_in_block: false,
        };
        if caller.is_get() {
            record.get_id = reader.u64("id of a traced Get")?;
            record.get_from_user_specified_snapshot = flag(&mut reader)?;
            record.referenced_key = reader.length_prefixed("key of a traced Get")?.to_vec();
            if block_type == TracedBlock::Data {
                record.referenced_data_size = reader.u64("bytes of a traced Get")?;
                record.num_keys_in_block = reader.u64("entries of a traced block")?;
                record.referenced_key_exist_in_block = flag(&mut reader)?;
            }
        }
        all_taken(&reader)?;
        Ok(record)
    }
}

/// Reads the next byte, which must be 0 or 1, as a boolean.
fn flag(reader: &mut Reader<'_>) -> Result<bool> {
    let at = reader.position() as u64;
    match reader.u8("flag of a traced lookup")? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Error::corruption("a flag of a traced lookup is neither 0 nor 1").at(at)),
    }
}
