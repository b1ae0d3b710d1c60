//! Blob files: RocksDB's `BlobDumpTool`.

use std::io::{self, Write};
use std::path::Path;

use blob::BlobFile;
use codec::CompressionType;

use crate::directory;
use crate::output::Failure;
use crate::rocksdb_text::hex_if;

/// The form of a dump.
#[derive(Clone, Copy, Default)]
pub struct Form {
    /// Keys in hexadecimal.
    pub key_hex: bool,
    /// Values in hexadecimal.
    pub value_hex: bool,
    /// Values are shown as they were written, instead of as they are stored.
    pub uncompressed: bool,
}

/// Dumps the blob file at `path`. An error is printed on standard error and does not fail the command.
pub fn dump(path: &Path, form: Form, out: &mut dyn Write) -> Result<(), Failure> {
    match dump_file(path, form, out) {
        Err(Failure::Error(error)) => {
            eprintln!("Failed: {error}");
            Ok(())
        }
        other => other,
    }
}

fn expirations((first, last): (u64, u64)) -> String {
    match (first, last) {
        (0, 0) => "nil".to_owned(),
        _ => format!("({first}, {last})"),
    }
}

fn dump_file(path: &Path, form: Form, out: &mut dyn Write) -> Result<(), Failure> {
    let file = BlobFile::open(directory::open(path)?)?;
    let header = file.header();
    writeln!(
        out,
        "Blob log header:\n  Version          : {}\n  Column Family ID : {}\n  Compression      : {}\n  \
         Expiration range : {}",
        blob::format::VERSION,
        header.column_family_id,
        header.compression.options_name(),
        expirations(header.expirations)
    )?;
    match file.footer() {
        Some(footer) => writeln!(
            out,
            "Blob log footer:\n  Blob count       : {}\n  Expiration Range : {}",
            footer.blob_count,
            expirations(footer.expirations)
        )?,
        None => writeln!(out, "No blob log footer.")?,
    }
    let compressed = header.compression != CompressionType::None;
    let mut sums = [0u64; 4];
    let mut records = file.records();
    let read = loop {
        match records.next() {
            Ok(Some(record)) => {
                let value = record.value()?;
                show(&record, &value, form, out)?;
                let sizes = [1, record.key.len(), record.stored.len(), value.len()];
                sums.iter_mut()
                    .zip(sizes)
                    .for_each(|(sum, size)| *sum += size as u64);
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    writeln!(
        out,
        "Summary:\n  total records: {}\n  total key size: {}\n  total blob size: {}",
        sums[0], sums[1], sums[2]
    )?;
    if compressed {
        writeln!(out, "  total raw blob size: {}", sums[3])?;
    }
    Ok(read?)
}

fn show(record: &blob::Record<'_>, value: &[u8], form: Form, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "Read record with offset {:#x} ({}):\n  key size   : {}\n  value size : {}\n  expiration : {}",
        record.offset,
        record.offset,
        record.key.len(),
        record.stored.len(),
        record.expiration
    )?;
    out.write_all(b"  key        : ")?;
    out.write_all(&hex_if(form.key_hex, record.key))?;
    let (name, bytes) = match form.uncompressed {
        // As in RocksDB, the decompressed value of a blob file without compression is shown as empty.
        true => ("\n  raw blob   : ", value),
        false => ("\n  blob       : ", record.stored),
    };
    out.write_all(name.as_bytes())?;
    out.write_all(&hex_if(form.value_hex, bytes))?;
    out.write_all(b"\n")
}
