//! Physical records one by one, intact or corrupt: to inspect a file, not to recover it.

use std::sync::Arc;

use base::Result;
use vfs::RandomAccessFile;

use crate::format::{BLOCK_SIZE, Header, RecordType};

/// The state of a physical record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordState {
    /// The checksum matches.
    Good,
    /// The checksum does not match: the record has `stored`, its bytes give `computed` (both masked).
    BadChecksum {
        /// The checksum in the record.
        stored: u32,
        /// The checksum of the record's bytes.
        computed: u32,
    },
    /// The header or the length extends past the block, or past the file. The fields describe the existing
    /// bytes.
    Truncated,
    /// Space without a record, up to the end of a block; adjacent blocks of it are reported as one.
    ZeroFill,
}

/// A physical record in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhysicalRecord {
    /// The offset of the record's header in the file.
    pub offset: u64,
    /// The type byte; 0 if the header is incomplete.
    pub type_byte: u8,
    /// The length of the header: 7 or 11; 0 for fill and for an incomplete header.
    pub header_len: usize,
    /// The length of the payload according to the header, whatever bytes exist; for fill, all of its bytes;
    /// for an incomplete header, the existing bytes.
    pub payload_len: u64,
    /// For recyclable records: the low half of the log number they were written for.
    pub log_number: Option<u32>,
    /// Whether the record is intact.
    pub state: RecordState,
}

impl PhysicalRecord {
    /// The end of the record according to its header.
    pub fn end(&self) -> u64 {
        self.offset + self.header_len as u64 + self.payload_len
    }

    /// The type of the record, if the type byte is a known one.
    pub fn record_type(&self) -> Option<RecordType> {
        RecordType::from_byte(self.type_byte)
    }
}

/// Iterates over the physical records of a log. After a bad checksum it continues by the record's length,
/// after an impossible length at the next block. Unused bytes at the end of a block that are too few for a
/// header are not reported.
#[derive(Debug)]
pub struct PhysicalRecords {
    file: Arc<dyn RandomAccessFile>,
    block: Vec<u8>,
    block_offset: u64,
    position: usize,
    done: bool,
}

impl PhysicalRecords {
    /// Iterates from the start of `file`.
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

    /// The fill that begins at `offset`, including the following blocks of fill.
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

/// True if the record at `offset`, which a reader took for unfinished, was finished and is corrupt: it is
/// complete with another length, or intact records follow it. Reads the rest of its block.
pub fn is_finished(file: &dyn RandomAccessFile, offset: u64) -> Result<bool> {
    let mut rest = vec![0; BLOCK_SIZE - (offset % BLOCK_SIZE as u64) as usize];
    let len = file.read_at(offset, &mut rest)?;
    let rest = &rest[..len];
    let whole = Header::parse(rest).is_some_and(|header| {
        let mut ends = header.len()..=len;
        ends.any(|end| Header::masked_crc_of(&rest[..end]) == header.masked_crc)
    });
    let is_good = |at: usize| {
        let record = &rest[at..];
        Header::parse(record).is_some_and(|header| {
            RecordType::from_byte(header.type_byte).is_some_and(|ty| ty != RecordType::Zero)
                && record
                    .get(..header.record_len())
                    .is_some_and(|record| Header::masked_crc_of(record) == header.masked_crc)
        })
    };
    Ok(whole || (1..len).any(is_good))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WriterOptions;
    use crate::format::{HEADER_LEN, RECYCLABLE_HEADER_LEN, put_record};
    use crate::test_files::{Bytes, writer};

    fn dump(bytes: &[u8]) -> Vec<PhysicalRecord> {
        PhysicalRecords::new(Bytes::new(bytes))
            .map(Result::unwrap)
            .collect()
    }

    fn summary(records: &[PhysicalRecord]) -> Vec<(u64, u8, u64, RecordState)> {
        records
            .iter()
            .map(|record| (record.offset, record.type_byte, record.payload_len, record.state))
            .collect()
    }

    #[test]
    fn every_fragment_is_shown_with_its_place() {
        let (mut writer, sink) = writer(WriterOptions {
            log_number: 9,
            recyclable: true,
            ..WriterOptions::default()
        });
        writer.add_record(b"abc").unwrap();
        writer.add_record(&vec![1; 40_000]).unwrap();
        let records = dump(&sink.bytes());
        let first = (BLOCK_SIZE - 3 - 2 * RECYCLABLE_HEADER_LEN) as u64;
        assert_eq!(
            summary(&records),
            [
                (0, 5, 3, RecordState::Good),
                (14, 6, first, RecordState::Good),
                (BLOCK_SIZE as u64, 8, 40_000 - first, RecordState::Good),
            ]
        );
        assert!(records.iter().all(|record| record.log_number == Some(9)));
        assert_eq!(records[0].record_type(), Some(RecordType::RecyclableFull));
    }

    #[test]
    fn damage_is_shown_and_passed() {
        let mut bytes = Vec::new();
        put_record(&mut bytes, RecordType::Full, 0, b"first");
        put_record(&mut bytes, RecordType::Full, 0, b"second");
        let second = HEADER_LEN + 5;
        bytes[second + HEADER_LEN] ^= 1;
        let third = bytes.len();
        put_record(&mut bytes, RecordType::Full, 0, b"third");
        bytes[third + 5] = 0xff;
        bytes.resize(BLOCK_SIZE, 7);
        put_record(&mut bytes, RecordType::Full, 0, b"fourth");
        bytes.extend_from_slice(&[1, 2, 3]);
        let records = dump(&bytes);
        assert!(matches!(
            records[1].state,
            RecordState::BadChecksum { stored, computed } if stored != computed
        ));
        assert_eq!(records[1].offset, second as u64);
        assert_eq!(
            (records[2].offset, records[2].state),
            (third as u64, RecordState::Truncated)
        );
        assert_eq!(
            summary(&records[3..]),
            [
                (BLOCK_SIZE as u64, 1, 6, RecordState::Good),
                (BLOCK_SIZE as u64 + 13, 0, 3, RecordState::Truncated),
            ]
        );
    }

    #[test]
    fn an_unfinished_record_is_told_from_a_damaged_length() {
        let mut bytes = Vec::new();
        put_record(&mut bytes, RecordType::Full, 0, &[7; 300]);
        let second = bytes.len();
        put_record(&mut bytes, RecordType::Full, 0, &[0; 300]);
        let finished = |bytes: &[u8], at: usize| is_finished(&*Bytes::new(bytes), at as u64).unwrap();
        for len in second + 1..bytes.len() {
            assert!(!finished(&bytes[..len], second), "cut to {len}");
        }
        bytes[second + 5] ^= 0x40;
        assert!(finished(&bytes, second));
        bytes[second + 5] ^= 0x40;
        bytes[5] ^= 0x40;
        assert!(finished(&bytes, 0) && finished(&bytes[..second], 0));
        assert!(!finished(&bytes[..second - 1], 0));
    }

    #[test]
    fn blocks_of_fill_are_shown_as_one() {
        let mut bytes = Vec::new();
        put_record(&mut bytes, RecordType::Full, 0, b"first");
        bytes.resize(3 * BLOCK_SIZE, 0);
        put_record(&mut bytes, RecordType::Full, 0, b"second");
        bytes.resize(bytes.len() + 100, 0);
        let end = 3 * BLOCK_SIZE as u64;
        assert_eq!(
            summary(&dump(&bytes)),
            [
                (0, 1, 5, RecordState::Good),
                (12, 0, end - 12, RecordState::ZeroFill),
                (end, 1, 6, RecordState::Good),
                (end + 13, 0, 100, RecordState::ZeroFill),
            ]
        );
        assert!(dump(&[]).is_empty());
    }

    #[test]
    fn garbage_never_panics_and_ends() {
        let mut rng = testkit::rng();
        for _ in 0..100 {
            let mut bytes = vec![0; rng.usize(0..70_000)];
            for byte in &mut bytes {
                *byte = rng.u8(0..12);
            }
            assert!(dump(&bytes).len() <= bytes.len() / HEADER_LEN + 1);
        }
    }

    #[test]
    fn a_failing_read_ends_the_walk() {
        let mut bytes = Vec::new();
        put_record(&mut bytes, RecordType::Full, 0, &[0; 32_000]);
        bytes.resize(2 * BLOCK_SIZE, 1);
        let mut records = PhysicalRecords::new(Arc::new(Bytes {
            bytes,
            fails_from: BLOCK_SIZE as u64,
        }));
        assert!(records.next().unwrap().is_ok());
        let last = records.by_ref().last().unwrap();
        assert!(last.is_err());
        assert!(records.next().is_none());
    }
}
