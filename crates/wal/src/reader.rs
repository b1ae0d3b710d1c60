//! Reads of a log: recovery of a WAL, and of a MANIFEST.
//!
//! # The recovery modes
//!
//! | found | Tolerate | Absolute | PointInTime | SkipAny |
//! |---|---|---|---|---|
//! | end of file, zeros to the end of a block, a record of the file's former contents | end | end | end | end; continues after the old record |
//! | header or body cut off by the end of the file; fragments without the last | end | error | stop | end |
//! | checksum mismatch, impossible length, bad fragment order, unknown type below 128 | error | error | stop | drop, continue |
//! | unknown type from 128 on | skipped | ← | ← | ← |
//! | a read of the file fails | error | ← | ← | ← |
//!
//! *Drop* discards the rest of the block if the length is not trustworthy, otherwise the record. *Stop* ends
//! the reading as if the file ended there, and [`Reader::stopped`] has the reason: whether later WALs may
//! still be replayed depends on their sequence numbers, which the engine knows. In every mode,
//! [`Reader::dropped`] lists the discarded bytes.
//!
//! Three cases are finer than the table. A checksum mismatch in a recycled file is the end under Tolerate:
//! after the last record comes the middle of an old one. A log whose space is claimed ahead tears
//! differently: a process that dies during an append leaves zeros in place of the end of its record, and then
//! zeros up to the end of the file. Under Tolerate that counts as a record cut off, like one cut by the end
//! of the file; the other modes treat both in the same way anyway.
//!
//! The same holds for a record at the very end of the file of which whole sectors are zeros: the power failed
//! while it was written.
//!
//! A corrupt log number makes a record look old: RocksDB then ends the file silently. Here its checksum,
//! which matches with the log's own number, reveals the corruption. One case no reader can detect: SkipAny
//! may skip the record that announces the file's compression; the following records are then returned in
//! their stored form.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Error, Result};
use codec::CompressionType;
use vfs::RandomAccessFile;

#[cfg(feature = "zstd")]
use crate::compression::FrameReader;
use crate::format::{self, BLOCK_SIZE, Header, PredecessorWal, RecordType};
#[cfg(not(feature = "zstd"))]
use crate::no_compression::FrameReader;

/// Bytes of record memory that are kept for the next record; larger buffers are shrunk first.
const KEPT_CAPACITY: usize = 1 << 20;

/// The number of blocks per read.
const CHUNK_BLOCKS: usize = 8;

/// Bytes that reach a disk together.
const SECTOR: u64 = 512;

/// The treatment of corruption. The numbers are those of the option `wal_recovery_mode`.
///
/// ```
/// # use esker_wal as esker;
/// use esker::RecoveryMode;
///
/// // Set as `Options::wal_recovery_mode`.
/// let mode = RecoveryMode::PointInTime;
/// assert_ne!(mode, RecoveryMode::AbsoluteConsistency);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RecoveryMode {
    /// A record cut off at the end is dropped; all other corruption is an error. The mode of every MANIFEST.
    TolerateCorruptedTailRecords = 0,
    /// All corruption is an error.
    AbsoluteConsistency = 1,
    /// Reading stops at corruption. RocksDB's default.
    #[default]
    PointInTime = 2,
    /// Corrupt records are skipped, and reading continues after them.
    SkipAnyCorruptedRecords = 3,
}

/// The options of a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReaderOptions {
    /// The number in the file's name. Recyclable records with another number belong to the file's former
    /// contents. `None` (the default): the first recyclable record determines it.
    pub log_number: Option<u64>,
    /// The treatment of corruption. Default: [`RecoveryMode::PointInTime`].
    pub mode: RecoveryMode,
}

/// Bytes that were not returned as records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The offset of the dropped bytes, or the offset at which their loss was detected.
    pub offset: u64,
    /// The number of lost bytes; as in RocksDB, headers may or may not be included.
    pub bytes: u64,
    /// The reason, in RocksDB's words.
    pub reason: String,
}

/// Reads logical records from the front to the end.
#[derive(Debug)]
pub struct Reader {
    file: Arc<dyn RandomAccessFile>,
    mode: RecoveryMode,
    log_number: Option<u32>,

    /// Some whole blocks of the file; the last may be short at the end of the file.
    chunk: Vec<u8>,
    chunk_offset: u64,
    /// The number of blocks per read, or fewer at the end of the file.
    chunk_blocks: usize,
    /// Offsets in `chunk`: the next physical record, and the end of its block.
    position: usize,
    block_end: usize,
    /// The offset in the file of the last physical record met.
    found_at: u64,

    /// The bytes so far of the current logical record, if it is not whole in `chunk`.
    fragments: Vec<u8>,
    in_fragments: bool,
    fragments_offset: u64,

    frames: Option<FrameReader>,
    record_offset: u64,
    record_end: u64,
    /// Bytes of unused blocks since the last logical record, except fill before a record that must not be
    /// fragmented.
    unused: u64,
    /// Whether the first record, other than the compression type, was recyclable.
    recycled: Option<bool>,
    timestamp_sizes: BTreeMap<u32, u16>,
    predecessor: Option<PredecessorWal>,

    dropped: Vec<Dropped>,
    end: Option<End>,
    /// Bytes of the first block to read that were returned before.
    skip: usize,
}

/// The reason why reading has ended.
#[derive(Debug)]
enum End {
    OfFile,
    Stopped(Error),
    Failed(Error),
}

/// The object at the reader's position.
enum Physical {
    /// A record whose checksum matches; its payload is in `chunk`.
    Record {
        type_byte: u8,
        start: usize,
        end: usize,
    },
    EndOfFile,
    /// The unused rest of a block.
    ZeroFill,
    /// A record of the file's former contents.
    OldRecord,
    /// The record is cut off by the end of the file.
    Truncated {
        bytes: usize,
        reason: &'static str,
    },
    /// The rest of the block is not trustworthy, because a record in it is corrupt.
    Bad {
        bytes: usize,
        reason: &'static str,
        /// The offset of the record's last byte, if its length may be trusted.
        last_byte: Option<u64>,
    },
}

/// The location of the last logical record.
enum RecordLocation {
    Chunk { start: usize, end: usize },
    Fragments,
}

/// Whether reading continues after reported corruption.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Go {
    On,
    NoFurther,
}

/// The result of an intact physical record.
enum Taken {
    Whole(RecordLocation),
    /// No logical record, or only a part of one.
    Part,
    NoFurther,
}

impl Reader {
    /// Reads `file` from its start. Nothing is read before the first record is requested.
    pub fn new(file: Arc<dyn RandomAccessFile>, options: ReaderOptions) -> Reader {
        Reader {
            file,
            mode: options.mode,
            log_number: options.log_number.map(|number| number as u32),
            chunk: Vec::new(),
            chunk_offset: 0,
            chunk_blocks: CHUNK_BLOCKS,
            position: 0,
            block_end: 0,
            found_at: 0,
            fragments: Vec::new(),
            in_fragments: false,
            fragments_offset: 0,
            frames: None,
            record_offset: 0,
            record_end: 0,
            unused: 0,
            recycled: None,
            timestamp_sizes: BTreeMap::new(),
            predecessor: None,
            dropped: Vec::new(),
            end: None,
            skip: 0,
        }
    }

    /// Reads `readahead_size` bytes at a time, rounded up to blocks; 0 means 256 KiB. The memory is allocated
    /// once, and no more than the file needs.
    pub fn with_readahead(mut self, readahead_size: usize) -> Reader {
        if readahead_size > 0 {
            self.chunk_blocks = readahead_size.div_ceil(BLOCK_SIZE);
        }
        self
    }

    /// Reads a MANIFEST: a record cut off at the end is dropped, all other corruption is an error.
    pub fn for_manifest(file: Arc<dyn RandomAccessFile>) -> Reader {
        Reader::new(
            file,
            ReaderOptions {
                log_number: None,
                mode: RecoveryMode::TolerateCorruptedTailRecords,
            },
        )
    }

    /// The next logical record, or `None` at the end or where the mode stops. After an error or the end,
    /// every further call returns the same. A record that is whole in its block is not copied.
    ///
    /// Corruption is `Corruption` with file and offset. `NotSupported` for a WAL with a compression that
    /// RocksDB does not use.
    pub fn read_record(&mut self) -> Result<Option<&[u8]>> {
        match self.read_place()? {
            Some(RecordLocation::Chunk { start, end }) => Ok(Some(&self.chunk[start..end])),
            Some(RecordLocation::Fragments) => Ok(Some(&self.fragments)),
            None => Ok(None),
        }
    }

    /// Reads a record as [`read_record`](Reader::read_record) does, into the caller's memory; false, with the
    /// memory empty, if there is no record. A record that is not whole in its block is moved, not copied.
    pub fn read_record_into(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        record.clear();
        if record.capacity() > KEPT_CAPACITY {
            *record = Vec::new();
        }
        match self.read_place()? {
            Some(RecordLocation::Chunk { start, end }) => record.extend_from_slice(&self.chunk[start..end]),
            Some(RecordLocation::Fragments) => std::mem::swap(record, &mut self.fragments),
            None => return Ok(false),
        }
        Ok(true)
    }

    /// The location of the next record.
    fn read_place(&mut self) -> Result<Option<RecordLocation>> {
        match &self.end {
            None => {}
            Some(End::OfFile | End::Stopped(_)) => return Ok(None),
            Some(End::Failed(error)) => return Err(error.clone()),
        }
        match self.next_record() {
            Ok(Some(place)) => Ok(Some(place)),
            Ok(None) => {
                self.end.get_or_insert(End::OfFile);
                Ok(None)
            }
            Err(error) => {
                self.end = Some(End::Failed(error.clone()));
                Err(error)
            }
        }
    }

    /// Declares the last record corrupt although its checksum matches, for example a batch that is too short.
    /// The mode makes that an error, a stop or nothing.
    pub fn reject(&mut self, bytes: usize, reason: &str) -> Result<()> {
        match self.report(self.record_offset, bytes, reason) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.end = Some(End::Failed(error.clone()));
                Err(error)
            }
        }
    }

    /// Continues at `offset`, whatever the end was before: for a file that is still written to, whose end may
    /// have moved. `offset` is 0, or the start or end of a returned record. The announcements of the file up
    /// to there stay known; the list of dropped bytes is cleared.
    pub fn resume_from(&mut self, offset: u64) {
        if offset == 0 {
            self.frames = None;
            self.recycled = None;
            self.timestamp_sizes.clear();
            self.predecessor = None;
        }
        let block = BLOCK_SIZE as u64;
        self.chunk.clear();
        self.chunk_offset = offset / block * block;
        self.skip = (offset % block) as usize;
        (self.position, self.block_end) = (0, 0);
        self.in_fragments = false;
        self.fragments.clear();
        self.dropped.clear();
        self.end = None;
    }

    /// Why reading stopped before the end of the file, if it did: only in [`RecoveryMode::PointInTime`]. In a
    /// recycled file this is the usual end.
    pub fn stopped(&self) -> Option<&Error> {
        match &self.end {
            Some(End::Stopped(error)) => Some(error),
            _ => None,
        }
    }

    /// All bytes not returned as records so far, in the order they were met.
    pub fn dropped(&self) -> &[Dropped] {
        &self.dropped
    }

    /// The timestamp sizes of column families announced so far.
    pub fn timestamp_sizes(&self) -> &BTreeMap<u32, u16> {
        &self.timestamp_sizes
    }

    /// The description of the preceding WAL in this WAL, once it was read.
    pub fn predecessor(&self) -> Option<&PredecessorWal> {
        self.predecessor.as_ref()
    }

    /// True if the records read so far are recyclable, so that the file may have held others before.
    pub fn is_recycled(&self) -> bool {
        self.recycled == Some(true)
    }

    /// The offset in the file of the last record.
    pub fn record_offset(&self) -> u64 {
        self.record_offset
    }

    /// Bytes between the last record and the one before it, or the start of the file, that hold no record
    /// although space was claimed for some. If there are more than the few that fill up a block, records are
    /// missing there.
    pub fn unused_before(&self) -> u64 {
        self.unused
    }

    /// The end of the last record in the file.
    pub fn record_end(&self) -> u64 {
        self.record_end
    }

    /// The file being read.
    pub fn file(&self) -> &Arc<dyn RandomAccessFile> {
        &self.file
    }

    fn offset_of(&self, position: usize) -> u64 {
        self.chunk_offset + position as u64
    }

    fn next_record(&mut self) -> Result<Option<RecordLocation>> {
        self.in_fragments = false;
        self.fragments.clear();
        self.unused = 0;
        loop {
            match self.next_physical()? {
                Physical::Record {
                    type_byte,
                    start,
                    end,
                } => match self.take(type_byte, start, end)? {
                    Taken::Whole(place) => {
                        self.record_end = self.offset_of(self.position);
                        return Ok(Some(place));
                    }
                    Taken::Part => {}
                    Taken::NoFurther => return Ok(None),
                },
                Physical::EndOfFile => return self.end_of_file(),
                Physical::OldRecord => {
                    if self.mode != RecoveryMode::SkipAnyCorruptedRecords {
                        return self.end_of_file();
                    }
                    self.lose_fragments("error in middle of record")?;
                }
                Physical::ZeroFill => {
                    self.unused += self.offset_of(self.position) - self.found_at;
                    if self.in_fragments
                        && self.mode == RecoveryMode::TolerateCorruptedTailRecords
                        && self.zeros_from(self.found_at)?
                    {
                        return self.end_of_file();
                    }
                    if self.lose_fragments("error in middle of record")? == Go::NoFurther {
                        return Ok(None);
                    }
                }
                Physical::Truncated { bytes, reason } => {
                    self.cut_off(self.found_at, bytes, reason)?;
                    return self.end_of_file();
                }
                Physical::Bad {
                    bytes,
                    reason,
                    last_byte,
                } => {
                    if self.mode == RecoveryMode::TolerateCorruptedTailRecords
                        && (self.recycled == Some(true) || self.is_torn(last_byte)?)
                    {
                        self.cut_off(self.found_at, bytes, reason)?;
                        return self.end_of_file();
                    }
                    if self.report(self.found_at, bytes, reason)? == Go::NoFurther {
                        return Ok(None);
                    }
                    self.lose_fragments("error in middle of record")?;
                }
            }
        }
    }

    /// Processes the physical record that was found last.
    fn take(&mut self, type_byte: u8, start: usize, end: usize) -> Result<Taken> {
        let Some(ty) = RecordType::from_byte(type_byte) else {
            return self.take_unknown(type_byte, end - start);
        };
        match ty {
            RecordType::Full | RecordType::RecyclableFull => {
                if self.expect_no_fragments("partial record without end")? == Go::NoFurther {
                    return Ok(Taken::NoFurther);
                }
                self.record_offset = self.found_at;
                if self.frames.is_none() {
                    return Ok(Taken::Whole(RecordLocation::Chunk { start, end }));
                }
                self.begin_fragments()?;
                self.add_fragment(start, end, true)
            }
            RecordType::First | RecordType::RecyclableFirst => {
                if self.expect_no_fragments("partial record without end")? == Go::NoFurther {
                    return Ok(Taken::NoFurther);
                }
                self.begin_fragments()?;
                self.add_fragment(start, end, false)
            }
            RecordType::Middle
            | RecordType::RecyclableMiddle
            | RecordType::Last
            | RecordType::RecyclableLast => {
                if !self.in_fragments {
                    return self.damaged(end - start, "missing start of fragmented record");
                }
                let last = matches!(ty, RecordType::Last | RecordType::RecyclableLast);
                self.add_fragment(start, end, last)
            }
            RecordType::SetCompressionType => self.take_compression_type(start, end),
            RecordType::UserDefinedTimestampSize | RecordType::RecyclableUserDefinedTimestampSize => {
                if self.expect_no_fragments("timestamp-size record inside another")? == Go::NoFurther {
                    return Ok(Taken::NoFurther);
                }
                match self.take_timestamp_sizes(start, end) {
                    Ok(()) => {
                        self.unused = 0;
                        Ok(Taken::Part)
                    }
                    Err(error) => self.damaged(end - start, error.message()),
                }
            }
            RecordType::PredecessorWalInfo | RecordType::RecyclablePredecessorWalInfo => {
                if self.expect_no_fragments("predecessor-WAL record inside another")? == Go::NoFurther {
                    return Ok(Taken::NoFurther);
                }
                match PredecessorWal::decode(&self.chunk[start..end]) {
                    Ok(predecessor) => {
                        self.predecessor = Some(predecessor);
                        self.unused = 0;
                        Ok(Taken::Part)
                    }
                    Err(error) => self.damaged(end - start, error.message()),
                }
            }
            // Type 0 with a payload is an unknown record. Without one it is fill.
            RecordType::Zero => self.take_unknown(type_byte, end - start),
        }
    }

    /// Skips an addition of later releases, reports any other type, and in both cases abandons an open
    /// record.
    fn take_unknown(&mut self, type_byte: u8, payload_len: usize) -> Result<Taken> {
        if !format::is_ignorable(type_byte) {
            return self.damaged(payload_len, &format!("unknown record type {type_byte}"));
        }
        if self.in_fragments {
            self.note(
                self.fragments_offset,
                self.fragments.len(),
                "record of a later release inside",
            );
            self.in_fragments = false;
            self.fragments.clear();
        }
        Ok(Taken::Part)
    }

    fn take_compression_type(&mut self, start: usize, end: usize) -> Result<Taken> {
        if self.frames.is_some() {
            return self.damaged(end - start, "read multiple SetCompressionType records");
        }
        if self.recycled.is_some() {
            return self.damaged(end - start, "SetCompressionType not the first record");
        }
        let Ok(ty) = <[u8; 4]>::try_from(&self.chunk[start..end]) else {
            return self.damaged(end - start, "could not decode SetCompressionType record");
        };
        const NONE: u32 = CompressionType::None as u32;
        const ZSTD: u32 = CompressionType::Zstd as u32;
        match u32::from_le_bytes(ty) {
            NONE => {}
            ZSTD => self.frames = Some(FrameReader::new()?),
            // Without decompression every record would be returned as different bytes than were written; no
            // mode may ignore that.
            other => {
                return Err(Error::not_supported(format!("WAL compression of type {other}"))
                    .at(self.found_at)
                    .in_file(self.file.path()));
            }
        }
        Ok(Taken::Part)
    }

    fn take_timestamp_sizes(&mut self, start: usize, end: usize) -> Result<()> {
        for (family, size) in format::timestamp_sizes(&self.chunk[start..end])? {
            let before = *self.timestamp_sizes.entry(family).or_insert(size);
            if before != size {
                return Err(Error::corruption(format!(
                    "column family {family} has timestamps of {before} and of {size} bytes"
                )));
            }
        }
        Ok(())
    }

    fn begin_fragments(&mut self) -> Result<()> {
        self.in_fragments = true;
        self.fragments.clear();
        self.fragments_offset = self.found_at;
        match &mut self.frames {
            None => Ok(()),
            Some(frames) => frames.begin(),
        }
    }

    fn add_fragment(&mut self, start: usize, end: usize, last: bool) -> Result<Taken> {
        let piece = &self.chunk[start..end];
        let added = match &mut self.frames {
            None => {
                self.fragments.extend_from_slice(piece);
                Ok(())
            }
            Some(frames) => frames
                .decompress(piece, &mut self.fragments)
                .and_then(|()| frames.check_end(last)),
        };
        if let Err(error) = added {
            return self.damaged(end - start, error.message());
        }
        if !last {
            return Ok(Taken::Part);
        }
        self.record_offset = self.fragments_offset;
        Ok(Taken::Whole(RecordLocation::Fragments))
    }

    /// The physical record is intact but invalid here: reports it, together with the open record, if any.
    fn damaged(&mut self, bytes: usize, reason: &str) -> Result<Taken> {
        if self.report(self.found_at, bytes, reason)? == Go::NoFurther {
            return Ok(Taken::NoFurther);
        }
        self.lose_fragments(reason)?;
        Ok(Taken::Part)
    }

    /// Reports an open record that another one interrupts. One without bytes does not count: old releases
    /// wrote such first fragments at the end of a block.
    fn expect_no_fragments(&mut self, reason: &str) -> Result<Go> {
        if self.fragments.is_empty() {
            self.in_fragments = false;
        }
        self.lose_fragments(reason)
    }

    /// Reports the open record, if there is one, as lost.
    fn lose_fragments(&mut self, reason: &str) -> Result<Go> {
        if !self.in_fragments {
            return Ok(Go::On);
        }
        let bytes = self.fragments.len();
        self.in_fragments = false;
        self.fragments.clear();
        self.report(self.fragments_offset, bytes, reason)
    }

    /// The file ends here; an open record is cut off.
    fn end_of_file(&mut self) -> Result<Option<RecordLocation>> {
        if self.in_fragments {
            self.in_fragments = false;
            let (offset, bytes) = (self.fragments_offset, self.fragments.len());
            self.cut_off(offset, bytes, "error reading trailing data")?;
        }
        Ok(None)
    }

    /// Drops an unfinished record; in two of the recovery modes an unfinished record is corruption.
    fn cut_off(&mut self, offset: u64, bytes: usize, reason: &str) -> Result<()> {
        match self.mode {
            RecoveryMode::TolerateCorruptedTailRecords | RecoveryMode::SkipAnyCorruptedRecords => {
                self.note(offset, bytes, reason);
                Ok(())
            }
            RecoveryMode::AbsoluteConsistency | RecoveryMode::PointInTime => {
                self.report(offset, bytes, reason).map(|_| ())
            }
        }
    }

    /// Treats corruption according to the mode.
    fn report(&mut self, offset: u64, bytes: usize, reason: &str) -> Result<Go> {
        self.note(offset, bytes, reason);
        if self.mode == RecoveryMode::SkipAnyCorruptedRecords {
            return Ok(Go::On);
        }
        let error = Error::corruption(reason).at(offset).in_file(self.file.path());
        if self.mode == RecoveryMode::PointInTime {
            // The first reason for the stop is kept, because that is the one the user should see.
            self.end.get_or_insert(End::Stopped(error));
            return Ok(Go::NoFurther);
        }
        Err(error)
    }

    fn note(&mut self, offset: u64, bytes: usize, reason: &str) {
        self.dropped.push(Dropped {
            offset,
            bytes: bytes as u64,
            reason: reason.to_owned(),
        });
    }

    /// Finds the next physical record and moves past it.
    fn next_physical(&mut self) -> Result<Physical> {
        let (header, rest) = loop {
            let rest = &self.chunk[self.position..self.block_end];
            self.found_at = self.offset_of(self.position);
            if let Some(header) = Header::parse(rest) {
                break (header, rest);
            }
            if self.in_short_block() {
                let bytes = rest.len();
                self.position = self.block_end;
                // The bytes are zeros of claimed space, cut off by the end of the file: after a power failure
                // a log may end anywhere in such zeros.
                let unused = self.mode == RecoveryMode::PointInTime && rest.iter().all(|&byte| byte == 0);
                return Ok(match bytes {
                    0 => Physical::EndOfFile,
                    _ if unused => Physical::EndOfFile,
                    _ => Physical::Truncated {
                        bytes,
                        reason: "truncated header",
                    },
                });
            }
            if !self.next_block()? {
                return Ok(Physical::EndOfFile);
            }
        };
        let bytes = rest.len();
        let record = rest.get(..header.record_len());
        if let Some(log_number) = header.log_number {
            if self.recycled == Some(false) {
                return Ok(self.bad("recyclable record in a WAL that is not recycled", None));
            }
            let expected = *self.log_number.get_or_insert(log_number);
            if expected != log_number && header.was_of_log(rest, expected) {
                return Ok(self.bad("damaged log number or record type", None));
            }
            self.recycled = Some(true);
            if expected != log_number {
                self.position = match record {
                    Some(record) => self.position + record.len(),
                    None => self.block_end,
                };
                return Ok(Physical::OldRecord);
            }
        }
        let Some(record) = record else {
            if self.in_short_block() {
                self.position = self.block_end;
                return Ok(Physical::Truncated {
                    bytes,
                    reason: "truncated record body",
                });
            }
            return Ok(self.bad("bad record length", None));
        };
        if header.is_zero() {
            self.position = self.block_end;
            return Ok(Physical::ZeroFill);
        }
        if Header::masked_crc_of(record) != header.masked_crc {
            let last_byte = self.found_at + record.len() as u64 - 1;
            return Ok(self.bad("checksum mismatch", Some(last_byte)));
        }
        if header.type_byte != RecordType::SetCompressionType as u8 {
            self.recycled.get_or_insert(false);
        }
        let start = self.position + header.len();
        self.position += record.len();
        Ok(Physical::Record {
            type_byte: header.type_byte,
            start,
            end: self.position,
        })
    }

    /// Abandons the rest of the block.
    fn bad(&mut self, reason: &'static str, last_byte: Option<u64>) -> Physical {
        let bytes = self.block_end - self.position;
        self.position = self.block_end;
        Physical::Bad {
            bytes,
            reason,
            last_byte,
        }
    }

    /// True if the current block is the last one and is cut short by the end of the file.
    fn in_short_block(&self) -> bool {
        !self.block_end.is_multiple_of(BLOCK_SIZE)
    }

    /// Moves to the next block; the current block must be whole. False at the end of the file.
    fn next_block(&mut self) -> Result<bool> {
        if self.block_end == self.chunk.len() {
            self.chunk_offset += self.chunk.len() as u64;
            let known = self.file.len().saturating_sub(self.chunk_offset);
            let blocks = (known as usize).div_ceil(BLOCK_SIZE).clamp(1, self.chunk_blocks);
            self.chunk.resize(blocks * BLOCK_SIZE, 0);
            self.position = 0;
            self.block_end = 0;
            let read = self.file.read_at(self.chunk_offset, &mut self.chunk);
            // After an error the chunk holds no bytes that could be mistaken for the file's.
            self.chunk.truncate(*read.as_ref().unwrap_or(&0));
            read?;
        }
        let start = self.block_end;
        self.block_end = (start + BLOCK_SIZE).min(self.chunk.len());
        self.position = (start + std::mem::take(&mut self.skip)).min(self.block_end);
        Ok(self.position < self.block_end)
    }

    /// True if the record just found, whose checksum does not match, was torn when its writer died: its end
    /// is zeros, and so is everything after it. At the very end of the file, at least one sector must be
    /// zeros to its end: if a record was given to the disk in one piece, some sectors may have been written,
    /// and of the others only their space allocated.
    fn is_torn(&self, last_byte: Option<u64>) -> Result<bool> {
        let Some(last_byte) = last_byte else {
            return Ok(false);
        };
        if self.zeros_from(last_byte)? {
            return Ok(true);
        }
        let sector = last_byte / SECTOR * SECTOR;
        let ends_here = self.file.read_at(last_byte + 1, &mut [0])? == 0;
        Ok(ends_here && sector > self.found_at && self.zeros_between(sector, last_byte + 1)?)
    }

    fn zeros_between(&self, start: u64, end: u64) -> Result<bool> {
        let mut bytes = vec![0; (end - start) as usize];
        let read = self.file.read_at(start, &mut bytes)?;
        Ok(bytes[..read].iter().all(|&byte| byte == 0))
    }

    /// True if the file continues beyond `offset` and holds only zeros from there.
    fn zeros_from(&self, offset: u64) -> Result<bool> {
        let mut block = vec![0; BLOCK_SIZE];
        let mut at = offset;
        loop {
            let read = self.file.read_at(at, &mut block)?;
            if block[..read].iter().any(|&byte| byte != 0) {
                return Ok(false);
            }
            at += read as u64;
            if read < block.len() {
                return Ok(at > offset + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests;
