//! WALs: `ldb dump_wal`, one line for each write batch.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use base::{Error, UserComparator};
use esker::{Operation, Operations};
use wal::format::RECYCLABLE_HEADER_LEN;
use wal::{ReaderOptions, RecoveryMode};

use crate::directory;
use crate::output::Failure;
use crate::rocksdb_text::{columns, key, prefixed_hex};

/// The form of a dump, and the state that one file passes to the next.
pub struct Dump {
    /// A line of titles comes first.
    pub header: bool,
    /// Values are printed.
    pub values: bool,
    /// Only batches are printed whose sequence number does not follow that of the batch before.
    pub only_seqno_gaps: bool,
    /// True if transactions take sequence numbers when they are committed.
    pub write_committed: bool,
    /// The orders of the families that are open, by id.
    pub comparators: BTreeMap<u32, UserComparator>,
    /// The sequence number and the count of the last batch.
    pub previous: Option<(u64, u64)>,
}

/// The offset of a record as RocksDB counts it: the zeros that end the block before it belong to it.
fn with_fill(before: u64, offset: u64) -> u64 {
    match offset.saturating_sub(before) < RECYCLABLE_HEADER_LEN as u64 {
        true => before.min(offset),
        false => offset,
    }
}

impl Dump {
    /// A dump of every batch with titles and values.
    pub fn full(comparators: BTreeMap<u32, UserComparator>) -> Dump {
        Dump {
            header: true,
            values: true,
            only_seqno_gaps: false,
            write_committed: true,
            comparators,
            previous: None,
        }
    }

    /// Dumps the WAL at `path`.
    ///
    /// Errors: those of opening it, with RocksDB's words before them; a batch that cannot be decoded.
    pub fn file(&mut self, path: &Path, out: &mut dyn Write) -> Result<(), Failure> {
        let file = directory::open(path).map_err(|error| error.context("Failed to open WAL file"))?;
        let options = ReaderOptions {
            log_number: directory::wal_number(path),
            mode: RecoveryMode::SkipAnyCorruptedRecords,
        };
        let mut reader = wal::Reader::new(file, options);
        if self.header {
            let values = if self.values { " : value " } else { "" };
            writeln!(out, "Sequence,Count,ByteSize,Physical Offset,Key(s){values}")?;
        }
        let mut met = BTreeSet::new();
        let mut record = Vec::new();
        let mut before = 0;
        while let Some(bytes) = reader.read_record()? {
            record.clear();
            record.extend_from_slice(bytes);
            let offset = with_fill(before, reader.record_offset());
            before = reader.record_end();
            let result = self.batch(&record, offset, &mut met, out);
            result.map_err(|failure| match failure {
                Failure::Error(error) => Failure::Error(error.in_file(path).at(offset)),
                other => other,
            })?;
        }
        for dropped in reader.dropped() {
            eprintln!(
                "Corruption detected in log file Corruption: {}, file {}, offset {}",
                dropped.reason,
                path.display(),
                dropped.offset
            );
        }
        Ok(self.unopened(&met, out)?)
    }

    fn batch(
        &mut self,
        record: &[u8],
        offset: u64,
        met: &mut BTreeSet<u32>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let operations = Operations::new(record)
            .map_err(|error| Error::corruption(format!("Parsing write batch failed: {}", error.message())))?;
        let (sequence, count) = (operations.sequence(), u64::from(operations.promised()));
        let mut row = String::new();
        let previous = self.previous.replace((sequence, count));
        if self.only_seqno_gaps {
            match previous {
                Some((before, len)) if before + len != sequence => {
                    row = format!("Prev batch sequence number: {before}, prev batch count: {len}, ");
                }
                _ => return Ok(()),
            }
        }
        row += &format!("{sequence},{count},{},{offset},", record.len());
        for operation in operations {
            let operation = operation.map_err(|error| {
                Error::corruption(format!("Print write batch error: {}", error.message()))
            })?;
            met.extend(operation.family());
            row += &self.operation(&operation)?;
        }
        row.push('\n');
        Ok(out.write_all(row.as_bytes())?)
    }

    fn key(&self, family: u32, bytes: &[u8]) -> String {
        let cmp = self.comparators.get(&family);
        match cmp.map_or(0, UserComparator::timestamp_size) {
            0 => prefixed_hex(bytes),
            size if bytes.len() < size => "CORRUPT KEY".to_owned(),
            size => {
                let (bare, timestamp) = bytes.split_at(bytes.len() - size);
                format!("{}|timestamp:{}", prefixed_hex(bare), key::timestamp(timestamp))
            }
        }
    }

    fn with_value(&self, name: &str, family: u32, key: &[u8], value: &[u8]) -> String {
        let key = self.key(family, key);
        match self.values {
            true => format!("{name}({family}) : {key} : {} ", prefixed_hex(value)),
            false => format!("{name}({family}) : {key} "),
        }
    }

    fn operation(&self, operation: &Operation<'_>) -> Result<String, Error> {
        Ok(match *operation {
            Operation::Put { family, key, value } => self.with_value("PUT", family, key, value),
            Operation::Merge { family, key, operand } => self.with_value("MERGE", family, key, operand),
            Operation::BlobIndex { family, key, index } => {
                self.with_value("PUT_BLOB_INDEX", family, key, index)
            }
            Operation::TimedPut {
                family, key, value, ..
            } => {
                let value = &value[..value.len().saturating_sub(8)];
                self.with_value("TIMED_PUT", family, key, value)
            }
            Operation::Entity { family, key, entity } => {
                let key = self.key(family, key);
                match self.values {
                    true => {
                        let columns = columns::of_entity(entity, true)?;
                        let columns = String::from_utf8_lossy(&columns);
                        format!("PUT_ENTITY({family}) : {key} : {columns} ")
                    }
                    false => format!("PUT_ENTITY({family}) : {key} "),
                }
            }
            Operation::Delete { family, key } => format!("DELETE({family}) : {} ", self.key(family, key)),
            Operation::SingleDelete { family, key } => {
                format!("SINGLE_DELETE({family}) : {} ", self.key(family, key))
            }
            Operation::DeleteRange { family, begin, end } => format!(
                "DELETE_RANGE({family}) : {} {} ",
                self.key(family, begin),
                self.key(family, end)
            ),
            Operation::LogData(_) => String::new(),
            Operation::Noop => "NOOP ".to_owned(),
            Operation::BeginPrepare { persisted } if persisted != self.write_committed => {
                "BEGIN_PREPARE(false) ".to_owned()
            }
            Operation::BeginUnprepare if !self.write_committed => "BEGIN_PREPARE(true) ".to_owned(),
            Operation::BeginPrepare { .. } | Operation::BeginUnprepare => {
                return Err(Error::not_supported(match self.write_committed {
                    true => "WritePrepared/WriteUnprepared txn tag when write_after_commit_ is enabled",
                    false => "WriteCommitted txn tag when write_after_commit_ is disabled",
                }));
            }
            Operation::EndPrepare { xid } => format!("END_PREPARE({}) ", prefixed_hex(xid)),
            Operation::Commit { xid } => format!("COMMIT({}) ", prefixed_hex(xid)),
            Operation::CommitWithTimestamp { timestamp, xid } => format!(
                "COMMIT_WITH_TIMESTAMP({}, {}) ",
                prefixed_hex(xid),
                prefixed_hex(timestamp)
            ),
            Operation::Rollback { xid } => format!("ROLLBACK({}) ", prefixed_hex(xid)),
        })
    }

    /// Names the families of the file that are not open.
    fn unopened(&self, met: &BTreeSet<u32>, out: &mut dyn Write) -> io::Result<()> {
        let ids = met.iter().filter(|id| !self.comparators.contains_key(id));
        let ids: Vec<String> = ids.map(u32::to_string).collect();
        match ids.is_empty() {
            true => Ok(()),
            false => writeln!(
                out,
                "(Column family id: [{}] contained in WAL are not opened in DB. Applied default hex formatting \
                 for user key. Specify --db=<db_path> to open DB for better user key formatting if it contains \
                 timestamp.)",
                ids.join(",")
            ),
        }
    }
}
