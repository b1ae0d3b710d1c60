//! The reading side: recovery of a WAL, and of a MANIFEST.
//!
//! # What each mode does
//!
//! | met | Tolerate | Absolute | PointInTime | SkipAny |
//! |---|---|---|---|---|
//! | end of file, zeros to the end of a block, a record of the file's former life | end | end | end | end; goes on behind the old record |
//! | header or body cut off by the end of the file; fragments without the last | end | error | stop | end |
//! | checksum mismatch, impossible length, bad fragment order, unknown type below 128 | error | error | stop | drop, go on |
//! | unknown type from 128 on | passed over | ← | ← | ← |
//! | reading fails | error | ← | ← | ← |
//!
//! *Drop* takes the rest of the block where the length cannot be trusted, else the record. *Stop* ends the file as if
//! it ended there, and [`Reader::stopped`] says why: whether later WALs may still be replayed depends on their sequence
//! numbers, which the engine knows. What was dropped, in whatever mode, is in [`Reader::dropped`].
//!
//! Three cases are finer than the table. A checksum mismatch in a recycled file is the end under Tolerate: behind the last
//! record lies the middle of an old one. And a log whose space is claimed ahead is torn differently: a process that dies
//! while appending leaves zeros in place of the end of its record, and then zeros up to the end of the file. Under Tolerate
//! that is a record cut off, like one cut by the end of the file; the other modes treat both alike anyway.
//!
//! The same goes for a record at the very end of the file of which whole sectors are zeros: the power went while it was
//! written.
//!
//! A damaged log number makes a record look old: with RocksDB it ends the file without a word. Here its checksum, which is
//! right with the number the log has, gives it away. One thing no reader can see: SkipAny may skip the record that says how the file is compressed; what follows then comes out as it is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Error, Result};
use codec::CompressionType;
use vfs::RandomAccessFile;

use crate::compression::FrameReader;
use crate::format::{self, BLOCK_SIZE, Header, PredecessorWal, RecordType};

/// Memory for a record that is kept for the next one, in bytes; what is larger is given back first.
const KEPT_CAPACITY: usize = 1 << 20;

/// Blocks fetched at a time.
const CHUNK_BLOCKS: usize = 8;

/// Bytes that reach a disk together.
const SECTOR: u64 = 512;

/// What to make of damage. The numbers are those of the option `wal_recovery_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RecoveryMode {
    /// A record cut off at the end is dropped, all other damage is an error. The mode of every MANIFEST.
    TolerateCorruptedTailRecords = 0,
    /// All damage is an error.
    AbsoluteConsistency = 1,
    /// Reading stops at damage. RocksDB's default.
    #[default]
    PointInTime = 2,
    /// What is damaged is left out, and reading goes on behind it.
    SkipAnyCorruptedRecords = 3,
}

/// How a log is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReaderOptions {
    /// Number in the file's name. Recyclable records of another number are of the file's former life. `None` (the
    /// default): the first recyclable record tells.
    pub log_number: Option<u64>,
    /// What to make of damage. Default [`RecoveryMode::PointInTime`].
    pub mode: RecoveryMode,
}

/// Bytes that were not given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Where in the file they were found, or what showed that they are lost.
    pub offset: u64,
    /// How many; headers may or may not be among them, as with RocksDB.
    pub bytes: u64,
    /// Why, in RocksDB's words.
    pub reason: String,
}

/// Reads logical records from the front to the end.
#[derive(Debug)]
pub struct Reader {
    file: Arc<dyn RandomAccessFile>,
    mode: RecoveryMode,
    log_number: Option<u32>,

    /// Some whole blocks of the file; the last may be short where the file ends.
    chunk: Vec<u8>,
    chunk_offset: u64,
    /// Blocks read at a time, where the file has as many.
    chunk_blocks: usize,
    /// In `chunk`: the next physical record, and the end of its block.
    position: usize,
    block_end: usize,
    /// Where in the file the physical record met last begins.
    found_at: u64,

    /// Of the logical record under way, where it is not whole in `chunk`: its bytes so far.
    fragments: Vec<u8>,
    in_fragments: bool,
    fragments_offset: u64,

    frames: Option<FrameReader>,
    record_offset: u64,
    record_end: u64,
    /// Bytes of unused blocks passed since the last logical record, fill before a record that must not be cut aside.
    unused: u64,
    /// Whether the first record, compression type aside, was recyclable.
    recycled: Option<bool>,
    timestamp_sizes: BTreeMap<u32, u16>,
    predecessor: Option<PredecessorWal>,

    dropped: Vec<Dropped>,
    end: Option<End>,
    /// Bytes of the first block to be fetched that were read before.
    skip: usize,
}

/// Why nothing more will be read.
#[derive(Debug)]
enum End {
    OfFile,
    Stopped(Error),
    Failed(Error),
}

/// What stands at the reader's position.
enum Physical {
    /// A record whose checksum is right; its payload within `chunk`.
    Record {
        type_byte: u8,
        start: usize,
        end: usize,
    },
    EndOfFile,
    /// The unused rest of a block.
    ZeroFill,
    /// Of the file's former life.
    OldRecord,
    /// Cut off by the end of the file.
    Truncated {
        bytes: usize,
        reason: &'static str,
    },
    /// The rest of the block cannot be trusted.
    Bad {
        bytes: usize,
        reason: &'static str,
        /// Where the record's last byte lies, if its length may be believed.
        last_byte: Option<u64>,
    },
}

/// Where the logical record just read lies.
enum Place {
    Chunk { start: usize, end: usize },
    Fragments,
}

/// Whether to go on after damage was reported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Go {
    On,
    NoFurther,
}

/// What a good physical record amounts to.
enum Taken {
    Whole(Place),
    /// No logical record, or not the whole of one.
    Part,
    NoFurther,
}

impl Reader {
    /// Reads `file` from its start. Nothing is read before the first record is asked for.
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

    /// Reads `readahead_size` bytes at a time, rounded up to blocks; 0 leaves it at 256 KiB. The memory is taken once, and no more than
    /// the file needs.
    pub fn with_readahead(mut self, readahead_size: usize) -> Reader {
        if readahead_size > 0 {
            self.chunk_blocks = readahead_size.div_ceil(BLOCK_SIZE);
        }
        self
    }

    /// Reads a MANIFEST: a record cut off at the end is dropped, all other damage is an error.
    pub fn for_manifest(file: Arc<dyn RandomAccessFile>) -> Reader {
        Reader::new(
            file,
            ReaderOptions {
                log_number: None,
                mode: RecoveryMode::TolerateCorruptedTailRecords,
            },
        )
    }

    /// The next logical record, or `None` at the end or where the mode stops; what follows an error or the end is the
    /// same again. A record that is whole in its block is not copied.
    ///
    /// Damage is `Corruption` with file and offset. `NotSupported` for a WAL compressed in a way RocksDB does not.
    pub fn read_record(&mut self) -> Result<Option<&[u8]>> {
        match self.read_place()? {
            Some(Place::Chunk { start, end }) => Ok(Some(&self.chunk[start..end])),
            Some(Place::Fragments) => Ok(Some(&self.fragments)),
            None => Ok(None),
        }
    }

    /// As [`read_record`](Reader::read_record), into memory of the caller's; false where there is no record, and nothing in it then. One
    /// that is not whole in its block is handed over, not copied: no other memory has it.
    pub fn read_record_into(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        record.clear();
        if record.capacity() > KEPT_CAPACITY {
            *record = Vec::new();
        }
        match self.read_place()? {
            Some(Place::Chunk { start, end }) => record.extend_from_slice(&self.chunk[start..end]),
            Some(Place::Fragments) => std::mem::swap(record, &mut self.fragments),
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Where the next record lies.
    fn read_place(&mut self) -> Result<Option<Place>> {
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

    /// Declares the record read last damaged although its checksum is right, say a batch too short to be one. An error, a
    /// stop or nothing, as the mode has it.
    pub fn reject(&mut self, bytes: usize, reason: &str) -> Result<()> {
        match self.report(self.record_offset, bytes, reason) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.end = Some(End::Failed(error.clone()));
                Err(error)
            }
        }
    }

    /// Reads on at `offset`, whatever was the end before: for a file that is still written to, whose end may have moved. `offset` is 0
    /// or where a record that was given out begins or ends. What the file has said of itself up to there stays known, what was
    /// dropped is forgotten.
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

    /// Why reading stopped before the end of the file, if it did: [`RecoveryMode::PointInTime`] alone. In a recycled
    /// file this is the usual end.
    pub fn stopped(&self) -> Option<&Error> {
        match &self.end {
            Some(End::Stopped(error)) => Some(error),
            _ => None,
        }
    }

    /// All that was not given out so far, as it was met.
    pub fn dropped(&self) -> &[Dropped] {
        &self.dropped
    }

    /// Timestamp sizes of column families announced so far.
    pub fn timestamp_sizes(&self) -> &BTreeMap<u32, u16> {
        &self.timestamp_sizes
    }

    /// What this WAL says of the one before it, once read.
    pub fn predecessor(&self) -> Option<&PredecessorWal> {
        self.predecessor.as_ref()
    }

    /// True if the records read so far are of a kind that allows the file to have held others before.
    pub fn is_recycled(&self) -> bool {
        self.recycled == Some(true)
    }

    /// Where in the file the record read last begins.
    pub fn record_offset(&self) -> u64 {
        self.record_offset
    }

    /// Bytes between the record read last and the one before it, or the start of the file, that hold no record although
    /// there was space claimed for some. More than the few that fill up a block: something is missing there.
    pub fn unused_before(&self) -> u64 {
        self.unused
    }

    /// Where in the file the record read last ends.
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

    fn next_record(&mut self) -> Result<Option<Place>> {
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

    /// Does what the physical record just found asks for.
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
                    return Ok(Taken::Whole(Place::Chunk { start, end }));
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
            // With a payload; without one it is fill and not a record.
            RecordType::Zero => self.take_unknown(type_byte, end - start),
        }
    }

    /// Passes over an addition of later releases, reports any other type, and either way gives up an open record.
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
            // Without it every record would come out as other bytes than went in; no mode may pass over that.
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
        Ok(Taken::Whole(Place::Fragments))
    }

    /// The physical record is good and yet makes no sense: it is reported, and with it the open record, if any.
    fn damaged(&mut self, bytes: usize, reason: &str) -> Result<Taken> {
        if self.report(self.found_at, bytes, reason)? == Go::NoFurther {
            return Ok(Taken::NoFurther);
        }
        self.lose_fragments(reason)?;
        Ok(Taken::Part)
    }

    /// Reports an open record that another interrupts. One without a byte is none: old releases wrote such first
    /// fragments at the end of a block.
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
    fn end_of_file(&mut self) -> Result<Option<Place>> {
        if self.in_fragments {
            self.in_fragments = false;
            let (offset, bytes) = (self.fragments_offset, self.fragments.len());
            self.cut_off(offset, bytes, "error reading trailing data")?;
        }
        Ok(None)
    }

    /// Drops what a writer did not finish; for two of the modes that is damage.
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

    /// Does with damage what the mode says.
    fn report(&mut self, offset: u64, bytes: usize, reason: &str) -> Result<Go> {
        self.note(offset, bytes, reason);
        if self.mode == RecoveryMode::SkipAnyCorruptedRecords {
            return Ok(Go::On);
        }
        let error = Error::corruption(reason).at(offset).in_file(self.file.path());
        if self.mode == RecoveryMode::PointInTime {
            // What stopped it first is what the user should see.
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

    /// Finds the next physical record and moves behind it.
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
                // Zeros claimed ahead and cut off: after power failed a log may end anywhere in them.
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

    /// Gives up the rest of the block.
    fn bad(&mut self, reason: &'static str, last_byte: Option<u64>) -> Physical {
        let bytes = self.block_end - self.position;
        self.position = self.block_end;
        Physical::Bad {
            bytes,
            reason,
            last_byte,
        }
    }

    /// True in the last block, if the file's end cuts it.
    fn in_short_block(&self) -> bool {
        !self.block_end.is_multiple_of(BLOCK_SIZE)
    }

    /// Moves to the block behind this one, which is a whole one. False at the end of the file.
    fn next_block(&mut self) -> Result<bool> {
        if self.block_end == self.chunk.len() {
            self.chunk_offset += self.chunk.len() as u64;
            let known = self.file.len().saturating_sub(self.chunk_offset);
            let blocks = (known as usize).div_ceil(BLOCK_SIZE).clamp(1, self.chunk_blocks);
            self.chunk.resize(blocks * BLOCK_SIZE, 0);
            self.position = 0;
            self.block_end = 0;
            let read = self.file.read_at(self.chunk_offset, &mut self.chunk);
            // An error leaves nothing to be mistaken for the file's bytes.
            self.chunk.truncate(*read.as_ref().unwrap_or(&0));
            read?;
        }
        let start = self.block_end;
        self.block_end = (start + BLOCK_SIZE).min(self.chunk.len());
        self.position = (start + std::mem::take(&mut self.skip)).min(self.block_end);
        Ok(self.position < self.block_end)
    }

    /// True if the record just found, which fails its checksum, was torn while its writer died: its end is zeros, and so is
    /// all behind it. At the very end of the file, a sector at least must be zeros to its end: of a record that was handed to
    /// the disk in one piece some sectors may have got there, and of the others their place.
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

    /// True if the file goes on beyond `offset` and holds zeros alone from there.
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
