//! Physical records one by one, good or not: for looking at a file, not for recovering it.

use std::sync::Arc;

use base::Result;
use vfs::RandomAccessFile;

use crate::format::{BLOCK_SIZE, Header, RecordType};

/// How a physical record fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordState {
    /// Its checksum is right.
    Good,
    /// Its checksum is `computed`, but it holds `stored` (both masked).
    BadChecksum {
        /// What it holds.
        stored: u32,
        /// What it should hold.
        computed: u32,
    },
    /// Its header or its length runs past the block, or past the file. What is shown of it is what is there.
    Truncated,
    /// Space without a record, up to the end of a block; such blocks next to each other are shown as one.
    ZeroFill,
}

/// A physical record as it stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhysicalRecord {
    /// Where its header begins.
    pub offset: u64,
    /// Its type byte; 0 where not even the header is whole.
    pub type_byte: u8,
    /// Bytes of its header: 7 or 11; 0 for fill and where the header is not whole.
    pub header_len: usize,
    /// Bytes of its payload as its header says, whatever is there; for fill, all of its bytes; where the header is not
    /// whole, those that are there.
    pub payload_len: u64,
    /// Of recyclable records: the low half of the log number they were written for.
    pub log_number: Option<u32>,
    /// Whether it can be believed.
    pub state: RecordState,
}

impl PhysicalRecord {
    /// Its type, if it is a known one.
    pub fn record_type(&self) -> Option<RecordType> {
        RecordType::from_byte(self.type_byte)
    }
}

/// Walks the physical records of a log. Behind a bad checksum it goes on by the record's length, behind an impossible
/// length at the next block. Unused bytes at the end of a block that are too few for a header are not shown.
#[derive(Debug)]
pub struct PhysicalRecords {
    file: Arc<dyn RandomAccessFile>,
    block: Vec<u8>,
    block_offset: u64,
    position: usize,
    done: bool,
}

impl PhysicalRecords {
    /// From the start of `file`.
    pub fn new(file: Arc<dyn RandomAccessFile>) -> PhysicalRecords {
        PhysicalRecords {
            file,
            block: Vec::new(),
            block_offset: 0,
            position: 0,
            done: false,
        }
    }

    /// Reads the next block; false at the end of the file.
    fn next_block(&mut self) -> Result<bool> {
        if !self.block.len().is_multiple_of(BLOCK_SIZE) {
            return Ok(false);
        }
        self.block_offset += self.block.len() as u64;
        self.position = 0;
        self.block.resize(BLOCK_SIZE, 0);
        let read = self.file.read_at(self.block_offset, &mut self.block);
        self.block.truncate(*read.as_ref().unwrap_or(&0));
        Ok(read? > 0)
    }

    fn next_record(&mut self) -> Result<Option<PhysicalRecord>> {
        loop {
            let rest = &self.block[self.position..];
            let offset = self.block_offset + self.position as u64;
            let Some(header) = Header::parse(rest) else {
                let cut = rest.len();
                self.position = self.block.len();
                if cut > 0 && self.block.len() < BLOCK_SIZE {
                    return Ok(Some(PhysicalRecord {
                        offset,
                        type_byte: 0,
                        header_len: 0,
                        payload_len: cut as u64,
                        log_number: None,
                        state: RecordState::Truncated,
                    }));
                }
                if !self.next_block()? {
                    return Ok(None);
                }
                continue;
            };
            if header.is_zero() {
                return self.zero_fill(offset).map(Some);
            }
            let state = match rest.get(..header.record_len()) {
                None => {
                    self.position = self.block.len();
                    RecordState::Truncated
                }
                Some(record) => {
                    let computed = Header::masked_crc_of(record);
                    self.position += record.len();
                    if computed == header.masked_crc {
                        RecordState::Good
                    } else {
                        RecordState::BadChecksum {
                            stored: header.masked_crc,
                            computed,
                        }
                    }
                }
            };
            return Ok(Some(PhysicalRecord {
                offset,
                type_byte: header.type_byte,
                header_len: header.len(),
                payload_len: header.payload_len as u64,
                log_number: header.log_number,
                state,
            }));
        }
    }

    /// The fill that begins at `offset`, with the blocks of fill behind it.
    fn zero_fill(&mut self, offset: u64) -> Result<PhysicalRecord> {
        loop {
            self.position = self.block.len();
            let goes_on =
                self.next_block()? && Header::parse(&self.block).is_some_and(|header| header.is_zero());
            if !goes_on {
                break;
            }
        }
        Ok(PhysicalRecord {
            offset,
            type_byte: 0,
            header_len: 0,
            payload_len: self.block_offset + self.position as u64 - offset,
            log_number: None,
            state: RecordState::ZeroFill,
        })
    }
}

impl Iterator for PhysicalRecords {
    type Item = Result<PhysicalRecord>;

    fn next(&mut self) -> Option<Result<PhysicalRecord>> {
        if self.done {
            return None;
        }
        let next = self.next_record().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}
