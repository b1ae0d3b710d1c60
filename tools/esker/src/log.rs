//! Checks whether a WAL or a MANIFEST is intact, distinguishing corruption from the regular ways in which a
//! file may end.
//!
//! A log may end in zeros, which were claimed ahead, and a recycled one in its former contents: whole records
//! of a lower log number, or the middle of one. Everything else that is not an intact record is corruption.
//! That includes the unfinished end that a dead writer leaves: recovery drops it, but a verification reports
//! it.

use std::sync::Arc;

use base::{Error, Result};
use codec::checksum::{crc32c, crc32c_extend, mask};
use vfs::RandomAccessFile;
use wal::RecordType;
use wal::dump::{PhysicalRecord, PhysicalRecords, RecordState};
use wal::format::{BLOCK_SIZE, HEADER_LEN, RECYCLABLE_HEADER_LEN};

/// The result of a walk over the physical records of a log.
#[derive(Debug, Default)]
pub struct LogCheck {
    /// The number of intact records.
    pub records: u64,
    /// The corruption found, in order.
    pub damage: Vec<Error>,
    /// The end of the log, if the file is longer.
    pub former_life: Option<u64>,
}

/// Checks every physical record of a log. `number` is that of a WAL, `None` for a MANIFEST.
///
/// Errors: those of reading the file. Corruption is not an error but a result.
pub fn check(file: &Arc<dyn RandomAccessFile>, number: Option<u64>) -> Result<LogCheck> {
    let first = walk(file, number)?;
    if first.damage.is_empty() {
        return Ok(first);
    }
    // A partial record at the end is read again, because another process may be appending it.
    let mut second = walk(file, number)?;
    let seen_before = |error: &Error| {
        first
            .damage
            .iter()
            .any(|before| before.offset() == error.offset())
    };
    second.damage.retain(seen_before);
    Ok(second)
}

fn walk(file: &Arc<dyn RandomAccessFile>, number: Option<u64>) -> Result<LogCheck> {
    let mut walk = Walk {
        file,
        log_number: number.map(|number| number as u32),
        recyclable: false,
        pending: None,
        check: LogCheck::default(),
    };
    for record in PhysicalRecords::new(file.clone()) {
        if !walk.take(&record?)? {
            break;
        }
    }
    Ok(walk.finish())
}

/// At most this many zeros may end a block, because they are too few for a header.
const LONGEST_FILL: u64 = RECYCLABLE_HEADER_LEN as u64 - 1;

struct Walk<'a> {
    file: &'a Arc<dyn RandomAccessFile>,
    log_number: Option<u32>,
    /// True once an intact recyclable record of this log was met.
    recyclable: bool,
    /// A record that is corruption if intact records of this log follow, and the end of the log if none do.
    pending: Option<Pending>,
    check: LogCheck,
}

enum Pending {
    Zeros(u64),
    FormerLife(u64),
}

impl Walk<'_> {
    /// False if the log has ended.
    fn take(&mut self, record: &PhysicalRecord) -> Result<bool> {
        let offset = record.offset;
        match record.state {
            RecordState::Good if self.is_of_former_life(record) => {
                self.check.former_life.get_or_insert(offset);
                return Ok(false);
            }
            RecordState::Good => {
                match self.pending.take() {
                    Some(Pending::Zeros(at)) => self.damaged(at, "zeros where records should be"),
                    Some(Pending::FormerLife(at)) => {
                        self.damaged(at, "not a record, but intact records follow it")
                    }
                    None => {}
                }
                self.recyclable |= record.log_number.is_some();
                self.check.records += 1;
            }
            RecordState::ZeroFill if record.payload_len <= LONGEST_FILL => {}
            RecordState::ZeroFill => {
                self.pending.get_or_insert(Pending::Zeros(offset));
            }
            RecordState::BadChecksum { stored, computed } => {
                if self.may_be_former_life(record)? {
                    self.pending.get_or_insert(Pending::FormerLife(offset));
                } else {
                    self.damaged(
                        offset,
                        &format!("checksum mismatch: stored {stored:#010x}, computed {computed:#010x}"),
                    );
                }
            }
            RecordState::Truncated => {
                if self.may_be_former_life(record)? {
                    self.pending.get_or_insert(Pending::FormerLife(offset));
                } else if record.end() > self.file.len() {
                    self.damaged(offset, "record cut off by the end of the file");
                } else {
                    self.damaged(offset, "record extends beyond its block");
                }
            }
        }
        Ok(true)
    }

    /// True for an intact record of the file's former contents.
    fn is_of_former_life(&self, record: &PhysicalRecord) -> bool {
        record
            .log_number
            .is_some_and(|number| Some(number) != self.log_number)
    }

    /// True if a bad record of a recycled log has no sign of this log: neither its number nor, with one field
    /// of its header corrected, its checksum.
    fn may_be_former_life(&self, record: &PhysicalRecord) -> Result<bool> {
        let Some(log_number) = self.log_number.filter(|_| self.recyclable) else {
            return Ok(false);
        };
        if record.log_number == Some(log_number) {
            return Ok(false);
        }
        let mut bytes = vec![0; BLOCK_SIZE - record.offset as usize % BLOCK_SIZE];
        let len = self.file.read_at(record.offset, &mut bytes)?;
        let bytes = &bytes[..len];
        let Some((header, payload)) = bytes.split_at_checked(RECYCLABLE_HEADER_LEN) else {
            return Ok(true);
        };
        if header[HEADER_LEN..] == log_number.to_le_bytes() {
            return Ok(false);
        }
        let stored = base::coding::u32_at(header, 0);
        let payload_len = usize::from(u16::from_le_bytes([header[4], header[5]]));
        let Some(payload) = payload.get(..payload_len) else {
            return Ok(true);
        };
        let recyclable =
            (0..=u8::MAX).filter(|&byte| RecordType::from_byte(byte).is_some_and(RecordType::is_recyclable));
        let mut checksums = recyclable.map(|type_byte| {
            let crc = crc32c_extend(crc32c(&[type_byte]), &log_number.to_le_bytes());
            mask(crc32c_extend(crc, payload))
        });
        Ok(checksums.all(|checksum| checksum != stored))
    }

    /// Records corruption, once per block: after a bad record a reader is out of step up to the next block.
    fn damaged(&mut self, offset: u64, what: &str) {
        let block = |offset: u64| offset / BLOCK_SIZE as u64;
        let last = self.check.damage.last().and_then(Error::offset);
        if last.is_none_or(|last| block(last) != block(offset)) {
            self.check
                .damage
                .push(Error::corruption(what).in_file(self.file.path()).at(offset));
        }
    }

    fn finish(mut self) -> LogCheck {
        if let Some(Pending::FormerLife(at)) = self.pending {
            self.check.former_life.get_or_insert(at);
        }
        self.check
    }
}
