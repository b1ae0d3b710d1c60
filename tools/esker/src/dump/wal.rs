//! Dumps a WAL: its batches, and their physical records.

use std::io::Write;
use std::path::Path;

use base::Error;
use base::filename::FileKind;
use esker::{Operation, Operations};
use wal::dump::{PhysicalRecords, RecordState};
use wal::{ReaderOptions, RecoveryMode};

use crate::args::WalArgs;
use crate::directory;
use crate::log;
use crate::output::{Failure, Out};
use crate::text::{Form, count};

/// Dumps WALs.
pub fn dump(args: &WalArgs, out: &mut Out) -> Result<(), Failure> {
    let paths = args
        .source
        .paths("WAL", |kind| matches!(kind, FileKind::Wal(_)))?;
    super::each(&paths, |path| {
        writeln!(out, "{}", path.display())?;
        dump_file(path, args, out)
    })
}

fn dump_file(path: &Path, args: &WalArgs, out: &mut Out) -> Result<(), Failure> {
    let number = directory::wal_number(path);
    if args.physical {
        physical(path, out)?;
    }
    let logical = batches(path, number, args, out);
    let check = log::check(&directory::open(path)?, number.or_else(|| first_log_number(path)))?;
    if let Some(offset) = check.former_life {
        writeln!(
            out,
            "the contents from before the file was recycled begin at {offset}"
        )?;
    }
    match (check.damage.into_iter().next(), check.former_life) {
        (Some(damage), _) => Err(damage.into()),
        // Recovery stops there as at corruption.
        (None, Some(_)) => match logical {
            Err(Failure::Error(error)) if error.is_corruption() => Ok(()),
            other => other,
        },
        (None, None) => logical,
    }
}

/// The log number of the first record, for a file whose name has none.
fn first_log_number(path: &Path) -> Option<u64> {
    let first = PhysicalRecords::new(directory::open(path).ok()?).next()?.ok()?;
    first.log_number.map(u64::from)
}

fn physical(path: &Path, out: &mut Out) -> Result<(), Failure> {
    for record in PhysicalRecords::new(directory::open(path)?) {
        let record = record?;
        let ty = match (record.state, record.record_type()) {
            (RecordState::ZeroFill, _) => "zeros".to_owned(),
            (_, Some(ty)) => format!("{ty:?}"),
            (_, None) => format!("type {:#04x}", record.type_byte),
        };
        let log_number = record
            .log_number
            .map_or(String::new(), |number| format!("  log {number}"));
        let state = match record.state {
            RecordState::Good | RecordState::ZeroFill => String::new(),
            RecordState::BadChecksum { stored, computed } => {
                format!("  BAD CHECKSUM: stored {stored:#010x}, computed {computed:#010x}")
            }
            RecordState::Truncated => "  CUT OFF".to_owned(),
        };
        writeln!(
            out,
            "record at {}  {ty}  {}+{} bytes{log_number}{state}",
            record.offset, record.header_len, record.payload_len
        )?;
    }
    Ok(())
}

/// Shows batches up to the end or the first corruption.
fn batches(path: &Path, log_number: Option<u64>, args: &WalArgs, out: &mut Out) -> Result<(), Failure> {
    let options = ReaderOptions {
        log_number,
        mode: RecoveryMode::PointInTime,
    };
    let mut reader = wal::Reader::new(directory::open(path)?, options);
    let form = Form::new(args.hex);
    let (mut batches, mut operations) = (0u64, 0u64);
    let mut record = Vec::new();
    while let Some(bytes) = reader.read_record()? {
        record.clear();
        record.extend_from_slice(bytes);
        let offset = reader.record_offset();
        let in_record = |error: Error| Error::corruption(error.message()).in_file(path).at(offset);
        let mut decoded = Operations::new(&record).map_err(in_record)?;
        batches += 1;
        operations += u64::from(decoded.promised());
        writeln!(
            out,
            "batch at {offset}  seqno {}  {}  {} bytes",
            decoded.sequence(),
            count(decoded.promised().into(), "operation"),
            record.len()
        )?;
        for operation in decoded.by_ref() {
            let operation = operation.map_err(in_record)?;
            if !args.headers {
                writeln!(out, "  {}", show(&operation, form))?;
            }
        }
        decoded.check_count().map_err(in_record)?;
    }
    if let Some(predecessor) = reader.predecessor() {
        writeln!(
            out,
            "the preceding WAL: {:06}, {} bytes, last seqno {}",
            predecessor.log_number, predecessor.size, predecessor.last_seqno
        )?;
    }
    for (family, size) in reader.timestamp_sizes() {
        writeln!(out, "column family {family} has timestamps of {size} bytes")?;
    }
    writeln!(
        out,
        "{}, {}",
        count(batches, "batch"),
        count(operations, "operation")
    )?;
    match reader.stopped() {
        Some(error) => Err(error.clone().into()),
        None => Ok(()),
    }
}

fn show(operation: &Operation<'_>, form: Form) -> String {
    let with = |name: &str, family: u32, key: &[u8]| format!("{name}({family}) {}", form.show(key));
    let with_value = |name: &str, family: u32, key: &[u8], value: &[u8]| {
        format!("{} = {}", with(name, family, key), form.show(value))
    };
    match *operation {
        Operation::Put { family, key, value } => with_value("Put", family, key, value),
        Operation::Delete { family, key } => with("Delete", family, key),
        Operation::SingleDelete { family, key } => with("SingleDelete", family, key),
        Operation::Merge { family, key, operand } => with_value("Merge", family, key, operand),
        Operation::DeleteRange { family, begin, end } => {
            format!("{} .. {}", with("DeleteRange", family, begin), form.show(end))
        }
        Operation::BlobIndex { family, key, index } => with_value("BlobIndex", family, key, index),
        Operation::Entity { family, key, entity } => with_value("Entity", family, key, entity),
        Operation::TimedPut {
            family,
            key,
            value,
            write_time,
        } => {
            let value = &value[..value.len().saturating_sub(8)];
            format!(
                "{} written at {write_time}",
                with_value("TimedPut", family, key, value)
            )
        }
        Operation::LogData(data) => format!("LogData {}", form.show(data)),
        Operation::Noop => "Noop".to_owned(),
        Operation::BeginPrepare { persisted } => format!("BeginPrepare persisted={persisted}"),
        Operation::BeginUnprepare => "BeginUnprepare".to_owned(),
        Operation::EndPrepare { xid } => format!("EndPrepare {}", form.show(xid)),
        Operation::Commit { xid } => format!("Commit {}", form.show(xid)),
        Operation::CommitWithTimestamp { timestamp, xid } => {
            format!(
                "CommitWithTimestamp {} {}",
                Form::Hex.show(timestamp),
                form.show(xid)
            )
        }
        Operation::Rollback { xid } => format!("Rollback {}", form.show(xid)),
    }
}
